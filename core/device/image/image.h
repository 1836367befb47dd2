/* SPDX-License-Identifier: Apache-2.0 */
/* A program made ready for one generation, and the generations there are. */
#ifndef HONE_DEVICE_IMAGE_H
#define HONE_DEVICE_IMAGE_H

#include "base/base.h"
#include "nki/nki.h"

/* ---- generations ---------------------------------------------------------------------------- */

/* The hardware numbers of one NeuronCore; sources beside the table in generation.c. */
struct device_generation {
    const char *name; /* "trn2" */
    enum nki_generation generation;
    double clock_ghz[NKI_ENGINE_COUNT]; /* 0 where an engine has no instructions of its own */
    uint64_t sbuf_partition_bytes;      /* usable by a kernel */
    uint64_t psum_partition_bytes;
    uint32_t psum_banks;
    uint64_t hbm_bytes;      /* a core's share */
    double hbm_bytes_per_ns; /* a core's share of HBM bandwidth, for the floor */
    uint32_t dma_engines;
    double dma_engine_bytes_per_ns; /* of one engine, theoretical */
    double pe_tflops_bf16, pe_tflops_fp32, pe_tflops_fp8;
};
/* By name ("trn2") or alias ("gen3"); NULL when there is none such. */
const struct device_generation *device_generation_find(const char *name);
const struct device_generation *device_generation_of(enum nki_generation generation);

/* The name that was asked for; that of the default where it is NULL. */
const char *device_name(const char *asked);
/* The generation that was asked for, the default where it is NULL. NULL with *err (which there are)
 * when there is none such. */
const struct device_generation *device_generation_ask(const char *asked, struct err *err);

/* ---- the image ------------------------------------------------------------------------------ */

/* A program made ready for one generation. Immutable: one image serves several threads. */
struct device_image;

const struct nki_program *device_image_program(const struct device_image *image);

/* Conversions used at the edges: n elements between a dtype's bytes and float, rounding to nearest
 * even, saturating for integers. */
void device_to_float(enum dtype dtype, const void *from, float *to, size_t n);
void device_from_float(enum dtype dtype, const float *from, void *to, size_t n);

#endif
