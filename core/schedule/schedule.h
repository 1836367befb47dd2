/* SPDX-License-Identifier: Apache-2.0 */
/* Searches the choices of a written kernel by the clock. A schedule is judged by writing its kernel
 * and timing it on the device model; nothing is executed, so whether the kernel is right is for
 * others to find. How far the search goes is counted in schedules and not in seconds: the same one
 * comes out of a slow machine, later. */
#ifndef HONE_SCHEDULE_H
#define HONE_SCHEDULE_H

#include "nki/nki.h"
#include "write/write.h"

#define SCHEDULE_BUDGET 300 /* schedules, where nobody says how many */
/* Bytes of kernels, the same on every machine: of one of 40000 lines a dozen schedules are enough.
 */
#define SCHEDULE_TEXT ((size_t)50 << 20)

/* Everything in it stays the caller's. */
struct schedule_request {
    struct write_spec spec; /* its settings are a person's: the search leaves them as they are */
    enum nki_generation generation;
    bool pessimistic; /* the model's fitted and guessed constants at their unfavourable end */
    const struct nki_input *inputs; /* the kernel's arguments; shapes are enough */
    size_t n_inputs;
    size_t budget; /* schedules to judge; 0: SCHEDULE_BUDGET */
    size_t text;   /* bytes of the kernels after which no more are judged; 0: SCHEDULE_TEXT */
    int threads;   /* that judge at once; 0: as many as processors */
    const volatile int *cancel; /* may be NULL */
};
/* One choice that is not as it would be by itself. */
struct schedule_step {
    const char *key, *title;
    int line; /* of the reference */
    int64_t from, to;
    const char *note; /* what it means for the result's error, in words; may be "" */
    double saved_us;  /* of what the steps before it left; not above 0: it makes way for another */
};
/* `source` is whose lines they are: "line 12 of the reference, sums leave PSUM: by both in turn,
 * not by Scalar" */
void schedule_step_print(const struct schedule_step *step, const char *source, struct buf *out);
struct schedule {
    struct arena *arena; /* owns all texts */
    const char *text;    /* the kernel */
    VEC(struct schedule_step) steps;
    VEC(struct write_setting) settings; /* that make it, those of the request among them */
    double start_us, latency_us;        /* with the choices as they are by themselves, and found */
    size_t judged, refused;             /* schedules that were timed; that the device refuses */
    bool ended; /* no step and no pair of steps within a stage is better; else the budget ended */
};
/* NULL and *err: nothing was recorded, a part cannot be written (usage), no schedule is legal
 * (kernel), or it was cancelled (environment). */
struct schedule *schedule_search(const struct schedule_request *request,
                                 struct err *err) CC_MUST_USE;
void schedule_free(struct schedule *schedule); /* accepts NULL */

#endif
