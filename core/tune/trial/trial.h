/* SPDX-License-Identifier: Apache-2.0 */
/* Trying a kernel: what is said about it before it runs, evaluations and what they tell, and beside
 * them the device model and the compiler. */
#ifndef HONE_TUNE_TRIAL_H
#define HONE_TUNE_TRIAL_H

#include "tune/session/session.h"

struct tune_evaluation;
struct tune_work;

/* baseline.c, verify.c, benchmark.c: the steps that run a kernel. */
void tune_baseline_start(struct tune_session *session, int lane);
void tune_verify_start(struct tune_session *session, int lane);
void tune_benchmark_start(struct tune_session *session, int lane);
/* Whether it was faster at first, but not in the second evaluation, which has to confirm it. */
bool tune_not_again(const struct tune_attempt *attempt);

/* evaluate.c: starts the evaluation once more; `waiting` is one that waits to, and stays the
 * caller's. */
void tune_evaluation_repeat(const struct tune_evaluation *waiting);
/* The model or the compiler answered: what waited for it goes on. */
void tune_evaluation_go_on(struct tune_session *session);

/* again.c: an evaluation on this machine ended with this failure. True: that says nothing about the
 * kernel and is dealt with (the evaluation begins again, or the loop pauses). False: the kernel is
 * to be judged, and *failure is then about it. */
bool tune_disturbed(struct tune_evaluation *evaluation, struct err *failure);
/* Tells in an event that an evaluation was disturbed; `wait`: seconds until it begins again, or
 * NAN. */
void tune_disturbed_tell(const struct tune_evaluation *evaluation, const struct err *failure,
                         int tries, double wait);

/* inspect.c: what is said about a candidate before anything is spent on it: tune_verify_go_on or
 * tune_verify_refuse comes of it, at once or later. */
void tune_inspect(struct tune_session *session, int lane);
/* Tells in the log what the seed kernel uses beyond what candidates may use. */
void tune_beyond_tell(struct tune_session *session);
/* verify.c */
void tune_verify_go_on(struct tune_session *session, int lane);
/* The candidate is not run: `why` stands in place of a compiler's complaint. */
void tune_verify_refuse(struct tune_session *session, int lane, const char *why);
void tune_diagnostic_emit(const struct tune_work *work, int attempt, const struct diag *diag,
                          int64_t heard);

/* hear.c: a runner_event_fn for a struct tune_evaluation. */
void tune_evaluation_hear(void *evaluation, const struct runner_event *event);

/* tell.c: metrics, lines and bounds of a result as events have them. Texts stay the result's. */
struct tune_profile {
    struct tune_metric *metrics;
    struct tune_line_cost *lines;
    struct tune_bound *bounds;
};
struct tune_profile tune_result_profile(struct arena *arena, const struct runner_result *result);

/* beside.c: the device model beside a place that measures. It is asked for what a device does not
 * tell: the floor, and what each line costs. */
void tune_beside_ask(struct tune_session *session, const struct tune_attempt *attempt);
/* Whether its answer about the attempt may still come. */
bool tune_beside_pends(const struct tune_session *session, int attempt);
/* The latency it gives; NAN when there is no answer. */
double tune_beside_latency(const struct tune_session *session, int attempt);
/* Whether the model cannot tell the attempt from its parent: only the place can. False also when it
 * said nothing of one of them. */
bool tune_beside_unsure(const struct tune_session *session, const struct tune_attempt *attempt);
/* Puts its answer, if there is one, where the measured result has none. */
void tune_beside_fill(const struct tune_work *work, int attempt);
void tune_beside_free(struct tune_session *session);

/* hear.c: the compiler's prediction of an attempt as an event. */
void tune_predicted_emit(struct tune_session *session, int lane, int attempt,
                         const struct runner_prediction *found);

/* opinion.c: asks for the prediction where it is wanted before or beside an evaluation. */
void tune_opinion_ask(struct tune_session *session, int lane, const struct tune_attempt *attempt);
bool tune_opinion_pends(const struct tune_session *session, int attempt);
void tune_opinion_free(struct tune_session *session);
/* doubt.c: the verdict says so when the latencies of two modelled kernels differ by less than the
 * model can tell apart. */
void tune_doubt_judge(const struct tune_attempt *parent, const struct tune_attempt *attempt,
                      struct task_verdict *verdict);
/* held.c: whether what the attempt's plan predicted held, as an event. */
void tune_score(struct tune_session *session, int lane, int attempt);

#endif
