/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a schedule while it is made, and the steady state that stands for the rounds of
 * loops that were left out (struct nki_fold). Private to this folder. */
#ifndef HONE_DEVICE_RUN_H
#define HONE_DEVICE_RUN_H

#include "device/time/inner.h"

struct run;
/* For what an issue waited (enum device_wait): at last, and before `since` ns, where another wait
 * followed when it was ready. */
struct reason {
    uint8_t last, before;
    int32_t before_cause; /* the issue that it waited for before */
    double since;         /* -1: there was one wait */
};
#define TIMELINE_PEER (-2)
struct timeline {
    double *start, *end, *visible; /* per issue: busy from start to end; others see its result at
                                    * visible */
    int32_t *cause;                /* per issue: the issue that made it start when it did; -1:
                                    * none; TIMELINE_PEER: the one of the other core that it meets,
                                    * which came later */
    struct reason *why;            /* per issue; NULL where reasons are not kept */
    uint32_t *turn; /* per issue: the how manieth it was to be scheduled; NULL without gaps */
    double latency_ns;
    double throttled_ns; /* time that the Tensor engine lost to a cold clock */
    struct run *run;     /* private: memory for doing it again */
};
struct schedule {
    const struct allocation *allocation;
    const struct depends *depends;
    const struct device_constants *table;
    const struct issue_costs *costs;
};
/* Times every issue. With `lifted` >= 0 that queue takes no time; both DMA queues count as one. */
struct timeline *timeline_make(const struct schedule *schedule, int lifted);
/* Times them again with another queue lifted, in the memory that the timeline has. */
void timeline_again(struct timeline *timeline, int lifted);
/* The latency with another queue lifted, in ns. The timeline stays as it is. Not with gaps. */
double timeline_latency(struct timeline *timeline, int lifted);
/* One that times nothing yet; see timelines_together. */
struct timeline *timeline_new(const struct schedule *schedule);
/* Schedules to come note why issues wait. */
void timeline_keep_reasons(struct timeline *timeline);
void timeline_free(struct timeline *timeline);

#define MOST_DMA_ENGINES 64

struct entry {
    double key;
    uint64_t value;
    uint32_t issue;
};
struct heap {
    VEC(struct entry) all;
};

/* SBUF or PSUM. Residences are granted in order. `returned` is memory that comes back, by time. */
struct pool {
    bool psum;
    uint64_t capacity, used;
    size_t next;    /* the next residence of this memory to grant */
    size_t granted; /* the one granted last, of any */
    struct heap returned;
    double when; /* when the memory granted last became free */
    int32_t cause;
};
struct words {
    VEC(uint64_t) all;
};
struct queue_state {
    VEC(uint32_t) order; /* its issues, where it may not reorder */
    size_t head;
    struct heap later, now; /* ready issues: `later` by time, `now` by number */
    uint32_t held;  /* where it may reorder: the issue, + 1, that it has come to and that .. */
    double held_at; /* .. waits for the other core since then; 0: none */
    double free;
    int32_t last;
};
/* The part of an issue that is looked at most often, in one place. */
struct pending {
    double ready;   /* the earliest time it can start */
    uint32_t waits; /* producers not scheduled yet, and residences not granted yet */
    uint8_t queue;
    uint8_t issuer;    /* of a transfer: the enum nki_engine that triggers it */
    bool done, absent; /* absent: it takes no time */
};
struct use {
    double over;   /* when the last of the users so far is over */
    uint32_t left; /* users still to come */
};
/* The window of the Tensor engine's clock: when it began, and how long the engine was busy in it at
 * the full clock. */
struct pe_clock {
    double since, busy;
    bool slow;
};
/* The parts of the Tensor engine's array, as struct cost has them: when each is free again, after
 * which issue, and when all are. */
#define PE_TILES 16
struct pe_tiles {
    double free[PE_TILES], all_free;
    int32_t last[PE_TILES];
};
/* What the timeline has of an issue. */
struct moment {
    double start, end, visible;
};
struct run {
    const struct schedule *schedule;
    const struct allocation *allocation;
    struct timeline *time;
    bool keeps;        /* the timeline gets the times and causes of issues, not only the latency */
    struct moment now; /* of the issue scheduled last */
    int lifted;
    uint32_t oldest,
        admitted; /* oldest issue not done; issues below `admitted` are in the window */
    struct pending *issues;
    struct use *residences;
    struct queue_state queues[QUEUE_COUNT];
    double starts[QUEUE_COUNT]; /* when each queue could start its next issue; see `stale` */
    uint8_t stale;              /* bits of the queues whose start has to be worked out anew */
    double engine_free[MOST_DMA_ENGINES];
    int32_t engine_last[MOST_DMA_ENGINES];
    uint32_t engines;   /* of DMA, that there are */
    bool engines_alike; /* the first stands for all: most transfers take them all at once */
    double issuer_free[NKI_ENGINE_COUNT];
    int32_t issuer_last[NKI_ENGINE_COUNT];
    struct pool sbuf, psum;
    struct pe_clock pe_clock;
    struct pe_tiles pe_tiles;
    struct hbm *hbm;   /* shared with other cores; NULL: with none */
    struct run *peer;  /* the other core's; NULL: there is none, or they never meet */
    uint32_t *mate;    /* per issue: the issue of the peer that it meets, + 1; 0; NULL as peer */
    double *met;       /* per issue that has met: when both were there */
    double port_free;  /* of SBUF, for Vector or GpSimd, whichever is not port_queue .. */
    int32_t port_last; /* .. and the issue that it waits for */
    uint8_t port_queue;
    uint16_t function_set; /* the set of activation functions that is loaded */
    /* Of a folded program; NULL else. */
    struct cut *cuts;      /* of all gaps, one after the other */
    struct watch *watches; /* per gap */
    uint32_t *seen;        /* the last cut of each state, + 1; by hash; 0: free */
    size_t n_seen;
    struct words words; /* of the state noted last; its memory is used again */
    uint32_t turns;     /* issues scheduled so far */
    bool is_enough;     /* it is known that other periods have to be kept; the rest is of no use */
    uint32_t *cut_of;   /* per issue: cut number + 1 where it begins a period; 0 */
    uint32_t *reach;    /* per gap: the furthest issue that one from there on has touched */
};

/* steady.c: issue s is scheduled at `now`; if it begins a period, the state is noted. */
void steady_note(struct run *run, uint32_t s, double now);
/* Issue s has touched others, up to `touched`. */
void steady_touch(struct run *run, uint32_t s, uint32_t touched);
void steady_open(struct run *run);
void steady_reset(struct run *run);
void steady_close(struct run *run);

/* ---- loops of which rounds were left out ---------------------------------------------------- */

/* alike.c: whether from two times `period` periods before period `at` on the issues are the same
 * after `period` periods, with the same costs, waiting for the same earlier ones; and nothing
 * behind the loop waits for those before period `at`. */
bool alike_issues(const struct schedule *schedule, const struct gap *gap, uint32_t period,
                  uint32_t at);

/* Where a schedule has become steady in a gap: at the start of period `at` the state is that of
 * `period` periods before, later by step_ns. All that was left out then repeats it. */
struct steady {
    uint32_t at, period;
    double step_ns, throttled_ns; /* in `period` periods */
    double since_ns;              /* start of period `at` */
    uint32_t from, since; /* turns: the last steady period is those from `from` to `since` */
};

/* A schedule of a folded program, and what was left out. */
struct folded {
    struct allocation *allocation;
    struct issue_costs *costs;
    struct depends *depends;
    struct schedule schedule;
    struct timeline *time;
    struct steady *steady; /* one for each gap */
    double latency_ns;     /* of the whole program, as throttled_ns */
    double throttled_ns;
    /* Of a core of a launch on several; zero else. */
    uint8_t core;
    const uint32_t *instrs;    /* per instruction: its number in the whole program */
    const struct folded *peer; /* the core that it meets; NULL: it meets none */
};
/* The loops of which rounds were left out, one of each for each. */
struct rounds {
    size_t n;
    const struct gap *gaps;
    const struct nki_fold *folds;
    const struct steady *steady;
};
struct rounds folded_rounds(const struct folded *folded);
/* Of what was scheduled as the `turn`-th: as folded_shift and folded_weight. */
double rounds_shift(const struct rounds *rounds, uint32_t turn);
uint64_t rounds_weight(const struct rounds *rounds, uint32_t turn);
/* What a kernel is timed with: the image, the constants, passes that are left out. */
struct timing {
    const struct device_image *image;
    const struct device_constants *table;
    uint32_t without;
    bool all_spans;     /* the profile's are those of the whole program, not of the rounds kept */
    bool keeps_reasons; /* timelines have `why` */
    const struct compile_change *change; /* of the program; NULL: none */
};
/* Schedules the program, of a folded one so many periods that what was left out is a whole number
 * of steady ones. False, with nothing to free, when too few were kept for that. */
bool folded_make(const struct timing *timing, int lifted, struct folded *folded) CC_MUST_USE;
void folded_free(struct folded *folded);
/* The latency with a queue lifted, by another schedule in the place of the one there is: with other
 * periods kept, where those do not do for it. False, with nothing to free, as folded_make. */
bool folded_again(const struct timing *timing, int lifted, struct folded *folded,
                  double *latency_ns) CC_MUST_USE;
/* For a program without folds: all but the schedule, whose timeline is still to be made. */
void folded_prepare(const struct timing *timing, struct folded *folded);
/* By how much later issue s starts in the whole program. */
double folded_shift(const struct folded *folded, uint32_t s);
/* How often the issue stands for one of the whole program: 1 where nothing was left out. */
uint64_t folded_weight(const struct folded *folded, uint32_t s);

/* ---- the critical path ---------------------------------------------------------------------- */

/* A stretch of the critical path: the time that issue `s` takes of the latency, from when what it
 * waited for let it go until the next of the path goes on. In ns of the whole program, from the
 * start of its first issue. */
struct stretch {
    const struct folded *core; /* s is an issue of it; another one's where cores meet */
    uint32_t s;
    int32_t cause; /* as in struct timeline */
    double from_ns, until_ns;
    double ahead_ns; /* by how much s is later in the whole program than in the schedule */
};
typedef void stretch_fn(void *data, const struct stretch *stretch);
/* way.c: walks back from the issue that ends last. Each stretch begins where the one told after it
 * ends; together they are the latency. Where the core waited for the other one, the way goes on
 * there. */
void way_walk(const struct folded *folded, stretch_fn *fn, void *data);

/* Where a core meets the other one, at issue s: the other one's issue there, and when both had
 * come. */
uint32_t folded_mate(const struct folded *folded, uint32_t s);
double folded_met(const struct folded *folded, uint32_t s);

/* trace.c: where issue s comes from; s negative: nowhere. */
struct time_place trace_place(const struct folded *folded, int64_t s);
/* taken.c: fills trace->taken: why two instructions that look alike take different times. */
void taken_find(const struct folded *folded, struct time_trace *trace);

/* ---- spans ---------------------------------------------------------------------------------- */

/* spans.c: the spans of all rounds, by queue and start. Instructions have their numbers in the
 * program of which nothing was left out. They take much memory, so what they are made of is copied
 * first, and they are made when the schedule is no more; that frees the copy. */
struct spans_copy *spans_copy_make(const struct folded *folded);
void spans_of_whole(struct spans_copy *copy, double start_ns, struct device_profile *profile);
void spans_copy_free(struct spans_copy *copy);
/* Sorts spans by start, then instruction. */
void spans_sort(struct device_span *spans, size_t n);

/* ---- the floor ------------------------------------------------------------------------------ */

/* floor.c: adds a product that takes `once_ns` at the PE array's bf16 peak, and needs `passes` of
 * that in its own precision. */
void floor_add_product(struct floor_parts *parts, double once_ns, int passes);
/* Sets the profile's floors from its parts. */
void floor_set(struct device_profile *profile, const struct device_generation *generation);

/* ---- several cores -------------------------------------------------------------------------- */

/* hbm.c: the HBM that several cores share. Its bandwidth is what they have together, and is handed
 * out in slices of time, so it does not matter in which order transfers ask for it. */
#define MOST_CORES 2
struct hbm {
    double bytes_per_ns;
    VEC(double) taken; /* bytes, per slice */
};
/* By how much a transfer that would last from `first` to `last` ends later, in ns. */
double hbm_delay(struct hbm *hbm, const struct transfer *transfer, double first, double last);
void hbm_free(struct hbm *hbm);

/* schedule.c: times the issues of several cores that begin together and share HBM. */
void timelines_together(struct timeline *const *times, size_t n, struct hbm *hbm, int lifted);

/* Issue s of `one` and issue t of `other` begin together. */
void timelines_meet(struct timeline *one, uint32_t s, struct timeline *other, uint32_t t);

/* The schedules of the cores of a launch, which begin together and share HBM. */
struct together {
    const struct device_image *image; /* of the whole program */
    size_t n;
    struct folded cores[MOST_CORES];
    struct hbm hbm;
};
/* Schedules all cores of an image that has some. */
void together_make(const struct timing *timing, struct together *together);
/* Schedules them again with a queue of each lifted. Returns the latency, in ns. */
double together_again(struct together *together, int lifted);
void together_free(struct together *together);
/* profile.c: the profile of one schedule. `together` is what it belongs to; NULL: it is all there
 * is. NULL when it is not steady. */
struct device_profile *profile_make(const struct timing *timing, struct folded *folded,
                                    struct together *together);
/* cores.c: the profile of all cores: times, metrics and bounds of the one that ends last, and the
 * queues and the work of all. */
struct device_profile *cores_profile(const struct timing *timing);

#endif
