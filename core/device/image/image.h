/* SPDX-License-Identifier: Apache-2.0 */
/* A NeuronCore: its generations, limits, the execution of a program, and its timing.
 *
 *     program ──device_load──▶ image ──┬─▶ device_execute  numbers, once per seed
 *     (limits checked, engines chosen, └─▶ device_time     the schedule: latency, metrics, timeline
 *      life spans and placement known)
 */
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
/* Row by row; NULL past the last. */
const struct device_generation *device_generation_at(size_t index);

/* The name that was asked for; that of the default where it is NULL. */
const char *device_name(const char *asked);
/* The generation that was asked for, the default where it is NULL. NULL with *err (which there are)
 * when there is none such. */
const struct device_generation *device_generation_ask(const char *asked, struct err *err);

/* ---- loading -------------------------------------------------------------------------------- */

/* A program made ready for one generation. Immutable: one image serves several threads. */
struct device_image;

/* Checks every limit (partition and free sizes, engines and buffers, dtypes, capacity, placement,
 * accumulation) and reports all it finds, up to 50 errors, with file, line, column, what was found
 * and what is allowed. NULL when there was an error. The program must outlive the image. */
struct device_image *device_load(const struct nki_program *program,
                                 const struct device_generation *generation,
                                 struct diag_list *diags) CC_MUST_USE;
void device_unload(struct device_image *image); /* accepts NULL */
const struct nki_program *device_image_program(const struct device_image *image);
/* The engine that runs instruction i. */
enum nki_engine device_image_engine(const struct device_image *image, size_t i);

/* ---- execution ------------------------------------------------------------------------------ */

/* What one execution will take at the least, and the places (of program->locs) most of it goes to.
 * What a whole storage (several blocks used at once) takes is counted as kept to the end. */
struct device_work {
    double seconds; /* of one thread */
    uint64_t bytes; /* at once */
    uint32_t slow_loc, large_loc;
};
void device_expect(const struct device_image *image, struct device_work *work);

struct device_limits {
    uint64_t memory_bytes;      /* for HBM, SBUF and PSUM contents; 0: 16 GiB */
    const volatile int *cancel; /* non-zero stops it; may be NULL */
};
/* Runs the program on the kernel's array inputs (in the order of nki_storage.input; dtypes and
 * shapes as specialised) and allocates the data of outputs[0 .. program->outputs.len): free each
 * with free. Rounding to operand types, fp32 accumulation in PSUM, uninitialised memory reads as
 * NaN (integers: 4). False with *err: kernel errors (indirect index out of bounds) name the
 * line. */
bool device_execute(const struct device_image *image, const struct array *inputs, size_t n_inputs,
                    struct array *outputs, const struct device_limits *limits,
                    struct err *err) CC_MUST_USE;
/* Conversions used at the edges: n elements between a dtype's bytes and float, rounding to nearest
 * even, saturating for integers. */
void device_to_float(enum dtype dtype, const void *from, float *to, size_t n);
void device_from_float(enum dtype dtype, const float *from, void *to, size_t n);

/* The environment ("NAME=value") that a process which executes programs should be started with, so
 * that OpenBLAS uses kernels made for this processor; NULL when it does already. */
const char *device_blas_environment(void);

/* ---- timing --------------------------------------------------------------------------------- */

/* A row of the timeline: what issues instructions in order, for an engine or for DMA. */
struct device_queue {
    const char *name; /* "Tensor", "qSyIoDma0" */
    enum nki_engine engine;
};
/* What an instruction occupied, in ns from the kernel's start. */
struct device_span {
    uint32_t instr; /* index into the program */
    uint16_t queue;
    double start_ns, end_ns;
};
/* A number under the name and unit Neuron's tools use (total_time, dma_active_time_percent,
 * hbm_read_bytes ..). Times are in seconds, percents 0..100, as summary-json has them. */
struct device_metric {
    const char *name, *unit; /* unit: "s", "%", "bytes", "count", "flops", "ratio" */
    double value;
};
/* What a source line costs: its share of the critical path (all lines sum to 1) and what it keeps
 * busy. */
struct device_line {
    uint32_t file, line;
    double share;
    double engine_ns[NKI_ENGINE_COUNT];
    uint64_t instructions;
    uint64_t hbm_bytes;
};
/* A resource that can bind: how busy it is, and the latency if it were infinitely fast. */
struct device_bound {
    const char *name; /* "Tensor", "Vector", "Scalar", "GpSimd", "DMA", "latency" */
    double busy_ns;
    double without_ns;
};

struct device_profile {
    struct arena *arena; /* owns all of it */
    double latency_us;
    double floor_us;         /* roofline: no kernel with these inputs, outputs and matrix
                              * products can be faster on this generation */
    const char *floor_bound; /* "HBM" or "Tensor" */
    const char *bound;       /* name of the resource that limits it now */
    VEC(struct device_metric) metrics;
    VEC(struct device_line) lines; /* by descending share */
    VEC(struct device_bound) bounds;
    VEC(struct device_queue) queues;
    VEC(struct device_span) spans; /* by queue, then start */
};
/* Schedules every instruction on its engine and every transfer on its queue. Deterministic. */
struct device_profile *device_time(const struct device_image *image) CC_MUST_USE;
void device_profile_free(struct device_profile *profile); /* accepts NULL */
/* The floor of a launch on that many physical cores, in microseconds, of the floor on one: each has
 * engines and a share of HBM bandwidth of its own, and work that divides evenly has both. */
double device_floor_on(double floor_us, int cores);
/* The value of a metric, or `missing`. */
double device_profile_metric(const struct device_profile *profile, const char *name,
                             double missing);

#endif
