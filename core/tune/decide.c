/* SPDX-License-Identifier: Apache-2.0 */
/* The steps that judge: whether a prediction held, whether a candidate is kept. They use numbers
 * that are there and run nothing. What is learnt from them is in lessons.c. */
#include <math.h>
#include <stdlib.h>

#include "tune/driver.h"

/* A prediction holds when the metric moved the right way by at least half of what was said; less
 * than that is inconclusive. */
#define HELD_SHARE 0.5
#define MOVED_AT_ALL 0.005
#define SAME 0.0005 /* latencies that differ by less are called the same */

/* Relative change of a metric from the parent to the attempt; NAN when either is not known. */
static double metric_moved(const struct tune_attempt *from, const struct tune_attempt *to,
                           const char *metric) {
    double before = tune_attempt_metric(from, metric), after = tune_attempt_metric(to, metric);
    if (isnan(before) || isnan(after))
        return NAN;
    if (before == 0)
        return after == 0 ? 0 : (double)NAN;
    return (after - before) / fabs(before);
}

static enum tune_answer prediction_held(const struct tune_plan *plan, double moved) {
    if (isnan(moved) || !plan->metric)
        return TUNE_ANSWER_UNKNOWN;
    double right = plan->direction == TUNE_DIRECTION_DOWN ? -moved : moved;
    if (right < MOVED_AT_ALL)
        return TUNE_ANSWER_NO;
    double wanted = isnan(plan->size) ? 0 : plan->size * HELD_SHARE;
    return right >= wanted ? TUNE_ANSWER_YES : TUNE_ANSWER_INCONCLUSIVE;
}

void tune_score(struct tune_session *session, int id) {
    const struct tune_attempt *attempt = tune_state_attempt(session->state, id);
    const struct tune_attempt *parent = tune_state_attempt(session->state, attempt->parent);
    if (!parent || !attempt->plan.metric)
        return;
    double moved = metric_moved(parent, attempt, attempt->plan.metric);
    cJSON *payload = cJSON_CreateObject();
    cJSON_AddNumberToObject(payload, "attempt", id);
    tune_json_put_text(payload, "held", tune_answer_word(prediction_held(&attempt->plan, moved)));
    tune_json_put_number(payload, "moved", moved);
    tune_emit(session, "scored", payload);
}

/* -------------------------------------------------------------------------------------- decide */

struct decision {
    enum tune_status status;
    struct buf reason;
};

void tune_latencies_print(struct buf *out, const struct tune_attempt *from,
                          const struct tune_attempt *to) {
    /* Measured ones were measured beside each other: the parent's time is of that occasion. */
    bool beside = !to->modelled && to->parent_samples.len && isfinite(to->vs_parent);
    double from_us = beside ? to->latency_us * to->vs_parent : from->latency_us;
    clock_print_duration(out, from_us * 1e-6);
    buf_puts(out, " -> ");
    clock_print_duration(out, to->latency_us * 1e-6);
}

/* What the check found wrong, if anything. */
static bool decide_by_check(const struct tune_verdict *verdict, struct decision *decision) {
    if (verdict->compiles != TUNE_ANSWER_YES) {
        decision->status = TUNE_STATUS_FAILED;
        buf_puts(&decision->reason,
                 verdict->compiles_why ? verdict->compiles_why : "it does not compile");
    } else if (verdict->correct == TUNE_ANSWER_NO) {
        decision->status = TUNE_STATUS_FAILED;
        buf_puts(&decision->reason,
                 verdict->correct_why ? verdict->correct_why : "it is not correct");
    } else if (verdict->credible == TUNE_ANSWER_NO) {
        decision->status = TUNE_STATUS_SUSPECT;
        buf_puts(&decision->reason,
                 verdict->credible_why ? verdict->credible_why : "its result is not credible");
    } else {
        return false;
    }
    return true;
}

static void decide_by_speed(const struct tune_state *state, const struct tune_attempt *attempt,
                            struct decision *decision) {
    const struct tune_attempt *parent = tune_state_attempt(state, attempt->parent);
    const struct tune_attempt *best = tune_state_attempt(state, state->best);
    if (!parent || isnan(attempt->latency_us)) {
        decision->status = TUNE_STATUS_INCONCLUSIVE;
        buf_puts(&decision->reason, "it was not measured");
        return;
    }
    double gain = attempt->modelled ? 1 - attempt->latency_us / parent->latency_us
                                    : 1 - 1 / attempt->vs_parent;
    decision->status = TUNE_STATUS_REVERT;
    if (best && attempt->latency_us > best->latency_us * (1 + TUNE_DIVERGENCE)) {
        buf_printf(&decision->reason, "divergence guard: %.0f %% slower than the best, ",
                   (attempt->latency_us / best->latency_us - 1) * 100);
    } else if (attempt->verdict.faster == TUNE_ANSWER_INCONCLUSIVE) {
        decision->status = TUNE_STATUS_INCONCLUSIVE;
        buf_puts(&decision->reason, tune_not_again(attempt) ? "not faster when measured again, "
                                                            : "the samples overlap, ");
    } else if (attempt->verdict.faster == TUNE_ANSWER_YES && gain >= TUNE_MIN_GAIN) {
        decision->status = TUNE_STATUS_KEEP;
        buf_printf(&decision->reason, "%.2fx faster, ", attempt->vs_parent);
    } else if (gain > SAME) {
        buf_printf(&decision->reason, "a gain of %.2f %% is below %.1f %%, ", gain * 100,
                   TUNE_MIN_GAIN * 100);
    } else if (gain < -SAME) {
        buf_printf(&decision->reason, "%.1f %% slower, ", -gain * 100);
    } else {
        buf_puts(&decision->reason, "no change, ");
    }
    tune_latencies_print(&decision->reason, parent, attempt);
}

void tune_decide(struct tune_session *session) {
    const struct tune_state *state = session->state;
    int id = state->current;
    const struct tune_attempt *attempt = tune_state_attempt(state, id);
    struct decision decision = {0};
    if (!decide_by_check(&attempt->verdict, &decision))
        decide_by_speed(state, attempt, &decision);
    cJSON *payload = cJSON_CreateObject();
    cJSON_AddNumberToObject(payload, "attempt", id);
    tune_json_put_text(payload, "status", tune_status_word(decision.status));
    tune_json_put_text(payload, "reason", decision.reason.at);
    if (tune_emit(session, "decided", payload)) {
        tune_export(session, id);
        tune_memory_contradict(session, tune_state_attempt(state, id));
        bool doubtful =
            decision.status == TUNE_STATUS_INCONCLUSIVE || decision.status == TUNE_STATUS_SUSPECT;
        tune_step_done(session, TUNE_STEP_DECIDE, doubtful ? TUNE_IS_FAILED : TUNE_IS_OK, "%s: %s",
                       tune_status_word(decision.status), decision.reason.at);
        if (session->lane < 0)
            tune_sweep_tell(session, &tune_state_attempt(state, id)->plan);
    }
    buf_free(&decision.reason);
}
