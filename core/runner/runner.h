/* SPDX-License-Identifier: Apache-2.0 */
/* Runners of this machine: hone itself as a child, and the runner for hosts. This header brings all
 * that others may know of evaluations. */
#ifndef HONE_RUNNER_RUNNER_H
#define HONE_RUNNER_RUNNER_H

#include "runner/embedded/embedded.h"
#include "runner/machine/machine.h"
#include "runner/messages/messages.h"
#include "runner/protocol/protocol.h"

/* Starts hone itself as a runner. `done` comes once, as the last call, and never before this
 * returns. The receiver may read the result during the call, and keeps it by taking its content
 * (zero the struct). `on_event` may be NULL. */
struct runner;
typedef void runner_done_fn(void *data, struct runner_result *result);
struct runner_callbacks {
    runner_event_fn *on_event;
    runner_done_fn *on_done;
    void *data;
};
struct runner *runner_start(struct loop *loop, const struct runner_job *job,
                            const struct runner_callbacks *callbacks, struct err *err) CC_MUST_USE;
/* Kills the runner. `done` still comes, with the failure "cancelled". Accepts NULL. */
void runner_cancel(struct runner *runner);
/* Kills the runner and frees it, without further callbacks. Not to be called from on_event. */
void runner_drop(struct runner *runner);

/* A child that checks kernels (a job with check_only), one after the other, as soon as it is asked:
 * it has started before, and what it finds comes from runner_check. Callbacks as for a runner.
 * `ask` is false while another check is at work (*err stays as it is), and where no child can be
 * started. `drop` gives up the check of these callbacks' data, which are not called again. */
struct runner_checks;
struct runner_checks *runner_checks_new(struct loop *loop);
bool runner_checks_ask(struct runner_checks *checks, const struct runner_job *job,
                       const struct runner_callbacks *callbacks, struct err *err) CC_MUST_USE;
void runner_checks_drop(struct runner_checks *checks, const void *data);
void runner_checks_free(struct runner_checks *checks); /* accepts NULL */

/* The runner for hosts (REMOTE.md): the built-in one, or, for work on it, the file that HONE_RUNNER
 * names. Free it. NULL and *err when there is none. */
char *runner_packed(size_t *size, struct err *err) CC_MUST_USE;
/* Puts it into a file on this machine, below the cache. Returns its path, to be freed. */
char *runner_packed_file(struct err *err) CC_MUST_USE;
/* Whether this machine seems to have an environment with the package nki where the runner looks for
 * one. Looks at names of files only. */
bool runner_finds_nki(void);
/* Asks this machine's compiler for its prediction (the event RUNNER_PREDICTION) in a child.
 * `python` is the folder of an environment or its Python, or RUNNER_NKI_FOUND. When there is no
 * prediction, that is no failure: a log event says why. */
#define RUNNER_NKI_FOUND "auto"
#define RUNNER_PREDICT_LIMIT_S 240.0
struct runner *runner_predict(struct loop *loop, const struct runner_job *job, const char *python,
                              const struct runner_callbacks *callbacks,
                              struct err *err) CC_MUST_USE;

#endif
