/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this room share: an evaluation that starts, the steps that take its result, and
 * what becomes events of it. Attempts are named by their id, lanes by their number. */
#ifndef HONE_TUNE_TRIAL_PRIVATE_H
#define HONE_TUNE_TRIAL_PRIVATE_H

#include "tune/session/inner.h"
#include "tune/trial/trial.h"

/* What a step makes of the result of an evaluation that came to its end. Both stay the caller's. */
typedef void tune_settle_fn(struct tune_session *session, struct tune_evaluation *evaluation,
                            struct runner_result *result);
/* Starts the evaluation of a step for the attempt of a lane. `second`: what is left to do after a
 * first one, the other seeds or the confirmation. `last`: one that was disturbed and waited to
 * begin again, or NULL; it stays the caller's. */
typedef void tune_job_fn(struct tune_session *session, int lane, bool second,
                         const struct tune_evaluation *last);

/* baseline.c, verify.c, benchmark.c */
tune_settle_fn tune_baseline_settle, tune_verify_settle, tune_benchmark_settle;
tune_job_fn tune_baseline_job, tune_verify_job, tune_benchmark_job;
/* The answer came that a held evaluation waited for: it is run, unless it is pruned. */
void tune_held_go_on(struct tune_evaluation *evaluation);

/* evaluate.c: starts a job for the attempt of a lane; `job` has what is special about it, the rest
 * is filled in. A failure to start becomes the step's. */
void tune_evaluation_start(struct tune_work work, bool second, struct runner_job *job,
                           const struct tune_evaluation *last);

/* tell.c: events. The source of attempt `id` of a lane is to be tried: a new one, or the next turn
 * of it. It is written beside the log, too. False: the session came to a halt. */
bool tune_attempt_emit(struct tune_session *session, int lane, int id,
                       const struct tune_candidate *candidate);
void tune_verdict_emit(struct tune_session *session, int lane, int attempt,
                       const struct task_verdict *verdict);
/* The answer "faster" with the numbers behind it. */
void tune_speed_emit(const struct tune_work *work, int attempt, const struct task_verdict *verdict,
                     struct task_ratio ratio, bool confirmed);
void tune_measured_emit(struct tune_evaluation *evaluation, const struct runner_result *result);
/* What an evaluation cost of the device's time, also of one that was given up. */
void tune_device_time_emit(struct tune_evaluation *evaluation, const struct runner_result *result);
void tune_decided_emit(const struct tune_work *work, int attempt, enum tune_status status,
                       const char *reason);
/* Why an attempt is wrong, as its verdict says; NULL when it is not. */
const char *tune_why_wrong(const struct tune_attempt *attempt);

#endif
