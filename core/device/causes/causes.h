/* SPDX-License-Identifier: Apache-2.0 */
/* Why a kernel takes as long as it does: the critical path, folded over the rounds of loops; for
 * what engines and DMA queues wait, and where; what changes would bring, by timing them. One
 * account for prompts, screens, commands and files. */
#ifndef HONE_DEVICE_CAUSES_H
#define HONE_DEVICE_CAUSES_H

#include "device/time/time.h"

/* Where time goes: a line of the kernel, what it does there, and the queue that does it. */
struct device_spot {
    uint32_t file, line; /* 0 and line 0: unknown */
    const char *op;      /* "tensor_reduce"; "spill", "reload"; "": nothing */
    const char *lane;    /* "Vector", "DMA in" */
    const char *module;  /* "gelu.py", an imported file; NULL: the kernel's own */
};
/* A leg of the critical path: a spot, or several legs that repeat. */
struct device_leg {
    struct device_spot spot; /* op "": several legs */
    uint32_t first, count;   /* these: legs[first .. first + count] */
    double times;            /* how often they come one after the other, on average; of a spot 1 */
    double us;               /* of one turn, on average */
    double held_us;          /* of a spot: the part of that before it starts */
    enum device_wait wait;   /* of a spot: for what it waited most */
    struct device_spot cause;
};
/* A part of the critical path, summed over all places where the leg comes. */
struct device_segment {
    uint32_t leg;
    uint64_t times;
    double us; /* in all */
};
/* What a queue does with the latency: these add up to latency_us - launch_us. */
struct device_lane {
    const char *name;
    uint64_t issues;
    double busy_us;
    double idle_us[DEVICE_WAITS]; /* between its first and its last, by what was waited for */
    double lead_us, tail_us;      /* before its first, after its last */
    struct device_spot first;     /* its first */
};
/* Time that a queue is idle again and again: before one spot, for another. */
struct device_stall {
    struct device_spot spot, cause;
    enum device_wait wait;
    uint64_t times;
    uint64_t critical;                /* .. of these about so many on the critical path */
    double us;                        /* in all */
    double longest_us, longest_at_us; /* an example: the longest, and when it begins */
};
/* Tiles that one line brings into SBUF or PSUM, over time. */
struct device_tile {
    struct device_spot spot;
    const char *name; /* the variable's; "": none */
    bool psum;
    uint32_t bytes;      /* of one, in each partition */
    uint64_t times;      /* how many there are in all */
    double live_us;      /* of one, on average: from its first use until its last is over */
    uint64_t most_bytes; /* of those that are there at once, at most */
};
/* What a pass of the compiler did at a line (passes.def). */
struct device_taken {
    struct device_spot spot;
    const char *pass, *word; /* "residency", "is left out where its data is in SBUF already" */
    uint64_t times;          /* instructions */
};
/* A change that was timed: the latency with it. */
struct device_what_if {
    const char *change; /* "line 12 on GpSimd instead of Vector" */
    double us;
};
/* What a span of the profile waited for; in the order of its spans. */
struct device_reason {
    uint32_t wait; /* index into `waits` */
    int64_t cause; /* the instruction that it waited for; -1: none */
    bool is_critical;
    double idle_us; /* for how long its queue had done nothing */
};

struct device_causes {
    struct arena *arena;
    double latency_us;
    double launch_us; /* of it, before the first instruction and after the last */
    VEC(struct device_leg) legs;
    VEC(struct device_segment) segments; /* largest first; with launch_us they are the latency */
    VEC(struct device_lane) lanes;       /* those with work */
    VEC(struct device_stall) stalls;     /* by their time on the critical path, then by all of it */
    VEC(struct device_what_if) ifs;      /* the most useful first */
    VEC(struct device_stall) waits;      /* of reasons: what waits for what */
    VEC(struct device_reason) reasons; /* of each span of the profile, where they were asked for */
    VEC(struct device_tile) tiles;     /* those that fill most at once first */
    VEC(struct device_taken) taken;    /* by line */
    /* Bytes of each partition: the most in use at once in program order, the same as scheduled
     * (later rounds begin while earlier ones are worked on), and what there is. */
    uint64_t sbuf_bytes, sbuf_flight, sbuf_room;
    uint64_t psum_bytes, psum_flight, psum_room;
    double fitted, guessed; /* as struct device_rests; NAN: unknown, as it is until it is set */
};

void device_causes_free(struct device_causes *causes); /* accepts NULL */

/* The wait in words: "an operand", "room in SBUF or PSUM". */
const char *device_wait_word(enum device_wait wait);
/* The same in one word, for files: "operand", "room". */
const char *device_wait_key(enum device_wait wait);
/* "line 12", "line 25 of gelu.py" */
void device_spot_line(const struct device_spot *spot, struct buf *out);
/* Less than DEVICE_CAUSES_TEXT bytes for people and models: what segments add up to the latency,
 * idle time by cause, the largest stalls with an example each, headroom, what changes would bring,
 * what the numbers rest on. */
#define DEVICE_CAUSES_TEXT 2000
void device_causes_print(const struct device_causes *causes, struct buf *out);

#endif
