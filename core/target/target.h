/* SPDX-License-Identifier: Apache-2.0 */
/* A place where kernels are evaluated. `sim` is the device model on this machine. */
#ifndef HONE_TARGET_TARGET_H
#define HONE_TARGET_TARGET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/base.h"
#include "loop/loop.h"
#include "runner/runner.h"      /* the job, the events and the result */
#include "task/task.h"

struct target_info {
    char name[64];              /* as the user writes it: "sim" */
    char what[120];             /* one line: "device model on this machine, 2 cores" */
    bool modelled;              /* latencies come from the model, not from a device */
    int parallel;               /* evaluations that run at once without slowing each other */
};

struct target;
/* A target by name ("sim"). NULL and *err (usage) with the names there are, when it is unknown. */
struct target *target_open(struct loop *loop, const char *name, struct err *err) CC_MUST_USE;
/* Ends what still runs, without further callbacks; not from within on_event. Accepts NULL. */
void target_free(struct target *target);
const struct target_info *target_describe(const struct target *target);

/* Starts an evaluation; any number may be started, `parallel` of them run and the rest wait their
 * turn. Callbacks as with runner_start: on_done comes once for each, last. The job is copied. NULL
 * and *err when it cannot be started at all. */
struct target_run;
struct target_run *target_start(struct target *target, const struct runner_job *job,
                                const struct runner_callbacks *callbacks, struct err *err)
    CC_MUST_USE;
/* on_done still comes, with a cancelled failure. The handle is gone once on_done was called. */
void target_cancel(struct target_run *run);
/* Names of the kinds of target, in order; NULL when index is past the last. */
const char *target_kind_name(size_t index);

#endif
