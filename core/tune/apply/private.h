/* SPDX-License-Identifier: Apache-2.0 */
/* What applies each kind of event; the table in apply.c names them all. */
#ifndef HONE_TUNE_APPLY_PRIVATE_H
#define HONE_TUNE_APPLY_PRIVATE_H

#include "tune/state/inner.h"
#include "tune/sums/inner.h"

typedef void apply_fn(struct tune_state *state, const struct tune_event *event, int64_t wall_ms);

/* apply_task.c */
apply_fn apply_session, apply_closure, apply_changed, apply_resumed, apply_run, apply_run_end;
/* apply_loop.c */
apply_fn apply_round, apply_step, apply_progress, apply_step_end, apply_round_end, apply_stop,
    apply_pause, apply_plans, apply_submitted, apply_candidate, apply_plan_failed;
/* apply_attempt.c */
apply_fn apply_attempt, apply_anew, apply_disturbed, apply_evaluate, apply_settled, apply_precision,
    apply_offer, apply_seed, apply_sample, apply_scored, apply_decided, apply_timeline;
/* apply_measured.c */
apply_fn tune_measured_apply, tune_modelled_apply, tune_verdict_apply;

#endif
