/* SPDX-License-Identifier: Apache-2.0 */
/* A place where kernels are evaluated: `sim`, the device model on this machine; a host over SSH; a
 * cluster under Slurm. */
#ifndef HONE_TARGET_TARGET_H
#define HONE_TARGET_TARGET_H

#include "target/board/board.h"

struct target;
/* Opens a target by name: "sim"; a [host NAME] or [cluster NAME] of the configuration; an alias of
 * ~/.ssh/config or user@host. Returns at once and connects in the background. When the name is none
 * of these, NULL and *err (usage) with the names there are. */
struct target *target_open(struct loop *loop, const char *name,
                           const struct target_options *options, struct err *err) CC_MUST_USE;
/* Ends what still runs, without further callbacks. Not to be called from on_event. Accepts NULL. */
void target_free(struct target *target);
const struct target_info *target_describe(const struct target *target);

/* Starts an evaluation. Any number may be started: `parallel` of them run, and the rest wait for
 * their turn. Callbacks are as with runner_start: on_done comes once for each, as the last call.
 * The job is copied. NULL and *err when it cannot be started at all. */
struct target_run;
struct target_run *target_start(struct target *target, const struct runner_job *job,
                                const struct runner_callbacks *callbacks,
                                struct err *err) CC_MUST_USE;
/* Cancels an evaluation. on_done still comes, with the failure "cancelled". The handle is gone when
 * on_done was called. */
void target_cancel(struct target_run *run);

/* -------------------------------------------------------------- what goes on there, for people */

/* `changed` is called after the status or the question changed, from the loop's thread. */
void target_listen(struct target *target, void (*changed)(void *data), void *data);
const struct target_status *target_look(const struct target *target);
/* Somebody watches. For the next half minute cores, memory and disk are kept fresh (10 s), as they
 * are while jobs run. */
void target_watch(struct target *target);
/* The question that waits for a person; NULL: none. */
const struct target_question *target_asks(const struct target *target);
void target_answer(struct target *target, const char *answer); /* NULL declines */
/* Connects again now, after TARGET_FAILED, or while TARGET_LOST waits for its next try. */
void target_retry(struct target *target);

/* ---------------------------------------------------------------------- commands of the runner */

struct target_ask;
/* Runs a command of the runner. NULL and *err when the target is not TARGET_READY, or has no runner
 * (sim). Callbacks never come before this returns. */
struct target_ask *target_ask_start(struct target *target, const struct target_ask_spec *spec,
                                    struct err *err) CC_MUST_USE;
/* Ends the command without further callbacks, before the target is freed. Accepts NULL. */
void target_ask_drop(struct target_ask *ask);

#endif
