/* SPDX-License-Identifier: Apache-2.0 */
/* Where evaluations run, as the loop sees it: a target, or anything that answers like one. */
#ifndef HONE_TUNE_PLACE_H
#define HONE_TUNE_PLACE_H

#include "target/target.h"

struct tune_session;
struct tune_place {
    void *self;
    bool modelled; /* latencies are the model's: the same each time */
    int parallel;  /* evaluations that run at once */
    bool alone;    /* it measures, and the device model is not asked as well */
    /* As target_start: on_done comes once, later. Returns a handle for cancel, NULL on failure. */
    void *(*start)(void *self, const struct runner_job *job,
                   const struct runner_callbacks *callbacks, struct err *err);
    void (*cancel)(void *run); /* on_done still comes */
    void (*free)(void *self);  /* cancels without further callbacks; may be NULL */
    /* the same place for looking at and answering; NULL: there is nothing to see */
    struct target *target;
};

/* A target by name; false with *err when there is none. */
bool tune_place_open(struct tune_place *place, struct loop *loop, const char *target,
                     const struct target_options *options, struct err *err) CC_MUST_USE;
/* What is to see there, told to the session's listener when it changes. */
void tune_place_follow(struct tune_session *session);

#endif
