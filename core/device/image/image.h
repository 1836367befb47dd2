/* SPDX-License-Identifier: Apache-2.0 */
/* A program made ready for one generation, and the table of generations. */
#ifndef HONE_DEVICE_IMAGE_H
#define HONE_DEVICE_IMAGE_H

#include "base/base.h"
#include "nki/nki.h"

/* ---- generations ---------------------------------------------------------------------------- */

/* The hardware numbers of one NeuronCore, the rows of hardware.def. */
#define DEVICE_PE_ROWS 128 /* contraction and stationary columns of a product, all generations */

struct device_generation {
    const char *name; /* "trn2" */
    enum nki_generation generation;
    double clock_ghz[NKI_ENGINE_COUNT]; /* 0: the engine has no instructions of its own */
    uint64_t sbuf_partition_bytes;      /* what a kernel may use */
    uint64_t psum_partition_bytes;
    uint32_t psum_banks;
    uint64_t hbm_bytes;      /* a core's share */
    double hbm_bytes_per_ns; /* a core's share of HBM bandwidth */
    uint32_t dma_engines, dge_blocks;
    double dma_engine_bytes_per_ns;            /* the theoretical rate of one engine */
    uint32_t pe_columns_fp32, pe_columns_bf16; /* that a product takes at once, by its result */
    double pe_tflops_bf16, pe_tflops_fp32, pe_tflops_fp8;
};
/* A row of hardware.def: of trn1, trn2 and trn3 in this order. All are documented. */
struct device_fact {
    const char *what, *unit;
    double value[3];
    const char *source;
};
/* Row by row; NULL past the last. */
const struct device_fact *device_fact_at(size_t index);
/* The most bytes that a core moves to and from HBM in a nanosecond: what its DMA engines move, or
 * its share of HBM bandwidth where that is more. */
double device_memory_bytes_per_ns(const struct device_generation *generation);
/* The same for so many cores of one device together, which share its HBM. */
double device_memory_bytes_per_ns_on(const struct device_generation *generation, int cores);
/* Finds a generation by name ("trn2") or alias ("gen3"). NULL when there is none. */
const struct device_generation *device_generation_find(const char *name);
const struct device_generation *device_generation_of(enum nki_generation generation);

/* The name that was asked for, or the default's where `asked` is NULL. */
const char *device_name(const char *asked);
/* The generation that was asked for, or the default where `asked` is NULL. When there is none of
 * that name: NULL, and *err lists those there are. */
const struct device_generation *device_generation_ask(const char *asked, struct err *err);

/* ---- the image ------------------------------------------------------------------------------ */

/* A program made ready for one generation. It never changes, so several threads may share it. */
struct device_image;

const struct nki_program *device_image_program(const struct device_image *image);

/* Converts n elements between a dtype's bytes and float, for callers outside the device. Rounds to
 * nearest even and saturates integers. */
void device_to_float(enum dtype dtype, const void *from, float *to, size_t n);
void device_from_float(enum dtype dtype, const float *from, void *to, size_t n);

#endif
