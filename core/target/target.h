/* SPDX-License-Identifier: Apache-2.0 */
/* A place where kernels are evaluated: `sim`, the device model on this machine; a host over SSH; a
 * cluster under Slurm. */
#ifndef HONE_TARGET_TARGET_H
#define HONE_TARGET_TARGET_H

#include "target/board/board.h"

struct target;
/* A target by name: "sim"; a [host NAME] or [cluster NAME] of the configuration; an alias of
 * ~/.ssh/config or user@host. It returns at once and connects in the background. NULL and *err
 * (usage) with the names there are, when it is none of these. */
struct target *target_open(struct loop *loop, const char *name,
                           const struct target_options *options, struct err *err) CC_MUST_USE;
/* Ends what still runs, without further callbacks; not from within on_event. Accepts NULL. */
void target_free(struct target *target);
const struct target_info *target_describe(const struct target *target);

/* Starts an evaluation; any number may be started, `parallel` of them run and the rest wait their
 * turn. Callbacks as with runner_start: on_done comes once for each, last. The job is copied. NULL
 * and *err when it cannot be started at all. */
struct target_run;
struct target_run *target_start(struct target *target, const struct runner_job *job,
                                const struct runner_callbacks *callbacks,
                                struct err *err) CC_MUST_USE;
/* on_done still comes, with a cancelled failure. The handle is gone once on_done was called. */
void target_cancel(struct target_run *run);

/* -------------------------------------------------------------- what goes on there, for people */

/* `changed` comes after the status or the question did, from the loop's thread. */
void target_listen(struct target *target, void (*changed)(void *data), void *data);
const struct target_status *target_look(const struct target *target);
/* Somebody watches: cores, memory and disk are kept fresh (10 s) for the next half minute, as they
 * are while jobs run. */
void target_watch(struct target *target);
/* The question that waits for a person; NULL: none. */
const struct target_question *target_asks(const struct target *target);
void target_answer(struct target *target, const char *answer); /* NULL declines */
/* Connects again now, after TARGET_FAILED or while TARGET_LOST waits for its next try. */
void target_retry(struct target *target);

/* ---------------------------------------------------------------------- commands of the runner */

struct target_ask;
/* NULL and *err when the target is not TARGET_READY, or is one without a runner (sim). Callbacks
 * never come before it returns. */
struct target_ask *target_ask_start(struct target *target, const struct target_ask_spec *spec,
                                    struct err *err) CC_MUST_USE;
/* Ends it without further callbacks, before the target is freed. Accepts NULL. */
void target_ask_drop(struct target_ask *ask);

#endif
