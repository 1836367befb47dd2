/* SPDX-License-Identifier: Apache-2.0 */
/* Timing a program as it stands, and why its instructions started when they did; for the device's
 * door, which shortens it before, and for the room that explains it. */
#ifndef HONE_DEVICE_TIME_INNER_H
#define HONE_DEVICE_TIME_INNER_H

#include "device/compile/inner.h"
#include "device/time/time.h"

/* As device_time_with (device.h). `all_spans`: those of rounds that were left out are there, too,
 * with the numbers that their instructions have when nothing is. NULL when the schedule does not
 * become steady in what was kept. */
struct device_profile *time_profile(const struct device_image *image,
                                    const struct device_constants *constants,
                                    bool all_spans) CC_MUST_USE;
/* The latency of such a profile, in microseconds, from one schedule; 0 where there is none. */
double time_latency(const struct device_image *image, const struct device_constants *constants);

double time_latency_changed(const struct device_image *image,
                            const struct device_constants *constants,
                            const struct compile_change *change);

/* ---- reasons -------------------------------------------------------------------------------- */

/* Where an issue comes from. */
enum time_kind { TIME_NOWHERE, TIME_INSTRUCTION, TIME_SAVE, TIME_RELOAD };
struct time_place {
    uint32_t file, line; /* of the program's locs; line 0: unknown */
    uint16_t op;         /* enum nki_op */
    uint8_t queue;       /* index into the trace's lanes */
    uint8_t kind;        /* enum time_kind: an instruction, or a spill that it needs */
};
/* What issues have in common that are one row. */
struct time_key {
    struct time_place place, cause; /* kind TIME_NOWHERE: they waited for no issue */
    enum device_wait wait;
};
/* All times are in ns, summed over all issues of the row, in all rounds of loops. */
struct time_row {
    struct time_key key;
    uint64_t steps;       /* of the critical path */
    double held_ns;       /* .. the part of them before their start: from when what they waited
                           * for was over, so signals, issue and start of transfers .. */
    double run_ns;        /* .. and from their start until the next step */
    uint64_t idles;       /* how often the queue was idle just before one of them */
    double idle_ns;       /* .. and for how long */
    double longest_ns;    /* the longest of these times .. */
    double longest_at_ns; /* .. and when it began, from the kernel's start */
};
struct time_step {
    uint32_t row;
    double start_ns; /* of its span, from the kernel's start */
    double held_ns, run_ns;
};
/* A span of the profile: what it waited for. */
struct time_reason {
    uint32_t instr, row;
    int64_t cause; /* the instruction that it waited for; -1: none */
    uint8_t queue;
    bool is_critical;
    double start_ns;
    double idle_ns; /* for how long its queue had done nothing */
};
#define TIME_LANES 12            /* of one core, or of each of two */
#define TIME_MOST_STEPS 2000000u /* of the path that are kept, from its end; rows count all */
/* Tiles that one place of the source brings in: how they share SBUF or PSUM over time. */
struct time_tile {
    struct time_place place;
    const char *name; /* the variable's, of the program; "": none */
    bool psum;
    uint32_t bytes; /* of the largest, per partition */
    uint64_t count;
    double live_ns;      /* from their first use until their last is over, in all */
    uint64_t most_bytes; /* of all that are there at once, at most */
};
/* What a pass of the compiler (passes.def) did at one place. */
struct time_taken {
    struct time_place place;
    const char *pass, *word; /* static */
    uint64_t times;          /* instructions, in all rounds of loops */
};
struct time_lane {
    const char *name;
    uint64_t issues;
    double busy_ns, lead_ns, tail_ns; /* lead: before its first issue; tail: after its last */
    struct time_place first;
};
/* For each lane with issues, lead + busy + tail + the idle_ns of its rows are latency_ns; so are
 * held_ns + run_ns of all rows. The latency is that with start_ns before and end_ns after it. */
struct time_trace {
    bool wants_spans;
    double start_ns, latency_ns, end_ns;
    uint64_t sbuf_bytes, psum_bytes; /* peaks, per partition, in program order .. */
    uint64_t sbuf_flight,
        psum_flight;              /* .. and as scheduled, where what comes later begins early */
    VEC(struct time_tile) tiles;  /* those that fill most bytes at once first */
    VEC(struct time_taken) taken; /* by line */
    VEC(struct time_row) rows;
    VEC(struct time_step) path; /* first to last; of a very long one, the end */
    struct time_lane lanes[TIME_LANES];
    int lane_count;
    VEC(struct time_reason) spans; /* by lane, then start; none where rounds were left out */
};
/* Schedules the program once more and keeps why. `constants` as for time_profile. Of several cores
 * the lanes are those of all, the path ends with the one that ends last and goes on in another one
 * where that is waited for, and tiles, bytes and passes are those of the one that ends last. NULL
 * when the schedule does not become steady in what was kept of the program. Free it with
 * time_trace_free. */
struct time_trace *time_trace_make(const struct device_image *image,
                                   const struct device_constants *constants,
                                   bool wants_spans) CC_MUST_USE;
void time_trace_free(struct time_trace *trace); /* accepts NULL */

#endif
