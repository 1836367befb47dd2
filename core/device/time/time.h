/* SPDX-License-Identifier: Apache-2.0 */
/* How long a program takes, and what limits it. */
#ifndef HONE_DEVICE_TIME_H
#define HONE_DEVICE_TIME_H

#include "device/image/image.h"
#include "device/cost/cost.h"

/* A row of the timeline: a queue that issues instructions, for an engine or for DMA. */
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
/* A number under the name and unit that Neuron's tools use (total_time, dma_active_time_percent,
 * hbm_read_bytes ..). As in summary-json, times are in seconds and percents are 0..100. */
struct device_metric {
    const char *name, *unit; /* unit: "s", "%", "bytes", "count", "flops", "ratio" */
    double value;
};
/* What a source line costs: its share of the latency along the critical path (those of all lines,
 * launch and end sum to 1), and how long it keeps engines and DMA busy. */
struct device_line {
    uint32_t file, line;
    double share;
    double engine_ns[NKI_ENGINE_COUNT];
    uint64_t engine_calls[NKI_ENGINE_COUNT]; /* instructions, also those of spills */
    uint64_t instructions;
    uint64_t hbm_bytes;
};
/* A resource that can limit: how busy it is, and the latency if it were infinitely fast. */
struct device_bound {
    const char *name; /* "Tensor", "Vector", "Scalar", "GpSimd", "DMA", "latency" */
    double busy_ns;
    double without_ns;
};

/* Floors by the precision of products: their own; those of fp32 as three of bf16 (two halves of
 * each operand, without low times low); all in bf16. */
enum { FLOOR_KEEP, FLOOR_SPLIT, FLOOR_ANY, FLOOR_PRECISIONS };
/* The parts of a floor: bytes from and to HBM, and the time of products at the PE array's peak. */
struct floor_parts {
    double read_bytes, written_bytes, pe_ns[FLOOR_PRECISIONS];
};

struct device_profile {
    struct arena *arena; /* owns all of the profile */
    int cores;           /* physical cores that work; metrics are those of the one that ends last */
    double latency_us;
    double floor_us;         /* roofline: no kernel with these inputs, outputs and matrix products
                              * is faster on this generation */
    double floor_split_us;   /* the same with each fp32 product as three of bf16 (two halves of each
                              * operand, without low times low), where that is less */
    double floor_any_us;     /* the same with all products in bf16: no kernel passes it, whatever it
                              * does with numbers */
    const char *floor_bound; /* "HBM" or "Tensor" */
    struct floor_parts floor_parts;
    const char *bound; /* name of the resource that limits it now */
    VEC(struct device_metric) metrics;
    VEC(struct device_line) lines; /* in descending order of share */
    VEC(struct device_bound) bounds;
    VEC(struct device_queue) queues;
    VEC(struct device_span) spans; /* by queue, then start */
};
/* Shares of the latency, 0 to 1, that rest on fitted and on guessed constants: by how much of a
 * small worsening of all of them it grows. The rest is documented or measured; constants that are
 * not those of constants.def were measured on a host. */
struct device_rests {
    double fitted, guessed;
};
struct device_rests device_rests_of(const struct device_image *image,
                                    const struct device_constants *constants);
/* The latency of a program of which nothing was left out, in microseconds, with times that are not
 * rounded, as a fit of the constants needs it. */
double device_latency(const struct device_image *image, const struct device_constants *constants);
void device_profile_free(struct device_profile *profile); /* accepts NULL */
/* What a task needs whatever its kernel does: bytes, and products by the width of their
 * operands. */
enum { DEVICE_NEED_FP32, DEVICE_NEED_BF16, DEVICE_NEED_FP8, DEVICE_NEED_WIDTHS };
struct device_need {
    double read_bytes, written_bytes, multiply_adds[DEVICE_NEED_WIDTHS];
};
/* Lowers the floors of a kernel's profile to what its task needs, where that is less. The kernel
 * may read twice what it needs once, or compute what nobody needs. */
void device_floor_of_task(struct device_profile *profile,
                          const struct device_generation *generation,
                          const struct device_need *need);
/* The floor of a launch on `cores` physical cores, in microseconds, from the floor on one core.
 * Each core has its own engines and its own share of HBM bandwidth, and work that divides evenly
 * uses all of them. */
double device_floor_on(double floor_us, int cores);

/* ---- waiting -------------------------------------------------------------------------------- */

/* For what an instruction or a transfer waits before it starts. */
enum device_wait {
    DEVICE_WAIT_NOTHING, /* it could start at once */
    DEVICE_WAIT_OPERAND, /* a result that it reads */
    DEVICE_WAIT_BUFFER,  /* a tile that it writes, and others still read or write */
    DEVICE_WAIT_ORDER,   /* the start of an instruction that has to come before */
    DEVICE_WAIT_ROOM,    /* bytes of SBUF or PSUM */
    DEVICE_WAIT_QUEUE,   /* its own engine or queue, which works in order */
    DEVICE_WAIT_PORT,    /* the port to SBUF that Vector and GpSimd share */
    DEVICE_WAIT_ISSUER,  /* the engine that triggers a transfer */
    DEVICE_WAIT_DMA,     /* the DMA engines that carry it */
    DEVICE_WAIT_WINDOW,  /* the compiler, which reorders so far and no further */
    DEVICE_WAIT_PEER,    /* the other core of the launch, which it meets here */
    DEVICE_WAITS
};

/* ---- doubt ---------------------------------------------------------------------------------- */

/* What hardware took, against what the clock said: for eight of ten kernels like this one,
 * between `low` and `high` times as long. `rows` is how many measured kernels show it; 0: none. */
struct device_interval {
    double low, high;
    size_t rows;
};
/* The interval for kernels of a generation ("trn2"), dialect ("legacy", "current") and bound
 * ("DMA"). Where too few were measured, that of all bounds together. Arguments may be NULL. */
struct device_interval device_interval_of(const char *generation, const char *dialect,
                                          const char *bound);

/* In what two kernels of one task differ most: the first of these that is not the same. */
enum device_edit {
    DEVICE_EDIT_TRAFFIC,    /* bytes from and to HBM */
    DEVICE_EDIT_ARITHMETIC, /* work of the Tensor engine */
    DEVICE_EDIT_TILING,     /* instructions: the same work in other pieces, or fused */
    DEVICE_EDIT_ENGINES,    /* which engines run the instructions */
    DEVICE_EDIT_TRANSFERS,  /* the pieces in which bytes move */
    DEVICE_EDIT_ORDER,      /* nothing that is counted: order, buffers */
    DEVICE_EDITS
};
/* What a profile counts, by its metrics. */
struct device_counts {
    double hbm_bytes, flops;
    double instructions[4]; /* of the Tensor, Vector, Scalar and GpSimd engines */
    double packets;
};
/* Reads them by the names of metrics; false where one is not known (NaN). */
typedef double device_metric_fn(const void *data, const char *name);
bool device_counts_read(struct device_counts *counts, device_metric_fn *metric, const void *data);
enum device_edit device_edit_between(const struct device_counts *one,
                                     const struct device_counts *other);
/* The edit's name in words, such as "other tiles". */
const char *device_edit_word(enum device_edit edit);
/* The least ratio of two latencies, such as 1.05, from which on the clock named the faster kernel
 * right nine times of ten, for kernels that differ in this. A smaller ratio lies inside the clock's
 * error. */
double device_edit_least(enum device_edit edit);

/* ---- the trace ------------------------------------------------------------------------------ */

/* All that queues did, each with what it moves or computes and what it waited for: what questions
 * to a profile are answered from. */
enum device_event_kind {
    DEVICE_EVENT_INSTR,
    DEVICE_EVENT_SAVE,
    DEVICE_EVENT_RELOAD
}; /* two: of spills */
struct device_event {
    uint32_t instr; /* index into the program; of a spill: the instruction that needs it */
    uint16_t queue; /* as the queues of a device_profile: those of each core follow each other */
    uint8_t kind;   /* enum device_event_kind */
    uint8_t issuer; /* of a transfer: the enum nki_engine that triggers it */
    uint8_t passes; /* of a product: how often it passes through the PE array */
    bool transpose; /* of a product: it only moves data */
    bool software;  /* of a transfer: GpSimd writes its descriptors */
    bool is_transfer, reads_hbm, writes_hbm;
    uint8_t first_engine, engines; /* of a transfer: the DMA engines it uses */
    uint32_t descriptors;          /* of a transfer */
    int32_t cause;                 /* the event that made it start when it did; -1: none */
    double start_ns, end_ns;       /* from the kernel's start */
    double waited_ns;              /* its queue was free before it, for so long */
    uint64_t bytes;                /* of a transfer: bytes moved */
    double flops;                  /* of a product: as Neuron's profiler counts them */
};
/* The consumer waits for the producer's result; with `order` only for it to have started. */
struct device_edge {
    uint32_t producer, consumer; /* events */
    bool order;
};
struct device_trace {
    VEC(struct device_event) events; /* of each core, in the order they are issued */
    VEC(struct device_edge) edges;   /* by producer */
};
/* Traces a program of which nothing was left out (no folds); NULL for `constants`: the
 * generation's. Free it with device_trace_free. */
struct device_trace *device_trace_make(const struct device_image *image,
                                       const struct device_constants *constants) CC_MUST_USE;
void device_trace_free(struct device_trace *trace); /* accepts NULL */

#endif
