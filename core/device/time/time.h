/* SPDX-License-Identifier: Apache-2.0 */
/* How long a program takes, and what keeps it. */
#ifndef HONE_DEVICE_TIME_H
#define HONE_DEVICE_TIME_H

#include "device/image/image.h"
#include "device/time/constants.h"

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
    double floor_split_us;   /* the same with each product of fp32 as three of bf16 (the two halves
                              * of each operand, without low times low), where that is less */
    double floor_any_us;     /* the same with no product in more than bf16: what no kernel can pass
                              * whatever it does with numbers */
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

/* ---- doubt ---------------------------------------------------------------------------------- */

/* What hardware took of what the clock said, for eight of ten kernels like this one: from `low`
 * times to `high` times. Found on that many measured kernels; 0: on none. */
struct device_interval {
    double low, high;
    size_t rows;
};
/* Of kernels of that generation ("trn2"), dialect ("legacy", "current") and bound ("DMA"); where
 * there are too few, of all bounds together. Arguments may be NULL. */
struct device_interval device_interval_of(const char *generation, const char *dialect,
                                          const char *bound);

/* In what two kernels of one task differ most: the first of these that is not the same. */
enum device_edit {
    DEVICE_EDIT_TRAFFIC,    /* bytes from and to HBM */
    DEVICE_EDIT_ARITHMETIC, /* work of the Tensor engine */
    DEVICE_EDIT_TILING,     /* instructions: the same work in other pieces, or fused */
    DEVICE_EDIT_ENGINES,    /* which engines they are on */
    DEVICE_EDIT_TRANSFERS,  /* the pieces in which bytes move */
    DEVICE_EDIT_ORDER,      /* nothing that is counted: order, buffers */
    DEVICE_EDITS
};
/* What a profile counts, by its metrics. */
struct device_counts {
    double hbm_bytes, flops;
    double instructions[4]; /* of Tensor, Vector, Scalar and GpSimd engine */
    double packets;
};
enum device_edit device_edit_between(const struct device_counts *one,
                                     const struct device_counts *other);
/* "other tiles". */
const char *device_edit_word(enum device_edit edit);
/* From which ratio of two latencies on, 1.05, the clock named the faster one right nine times of
 * ten, for kernels that differ in this. Below it lies inside the clock's error. */
double device_edit_least(enum device_edit edit);

#endif
