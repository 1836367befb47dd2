/* SPDX-License-Identifier: Apache-2.0 */
/* The step that judges whether a candidate is kept. It uses numbers that are there and runs
 * nothing. What is learnt from them is in lessons.c. */
#include <math.h>
#include <stdlib.h>

#include "tune/drive/private.h"

#define SAME 0.0005 /* latencies that differ by less are called the same */

/* -------------------------------------------------------------------------------------- decide */

struct decision {
    enum tune_status status;
    struct buf reason;
};

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
    if (attempt->precision > tune_precision_allowed(state)) {
        decision->status = TUNE_STATUS_REVERT;
        buf_printf(&decision->reason, "it computes in precision %s, and the session wants %s; ",
                   tune_precision_word(attempt->precision),
                   tune_precision_word(tune_precision_allowed(state)));
        tune_latencies_print(&decision->reason, parent, attempt);
        return;
    }
    double gain = attempt->modelled ? 1 - attempt->latency_us / parent->latency_us
                                    : 1 - 1 / attempt->vs_parent;
    bool inside = attempt->modelled && attempt->verdict.faster == TUNE_ANSWER_INCONCLUSIVE;
    decision->status = TUNE_STATUS_REVERT;
    if (best && attempt->latency_us > best->latency_us * (1 + TUNE_DIVERGENCE)) {
        buf_printf(&decision->reason, "divergence guard: %.0f %% slower than the best, ",
                   (attempt->latency_us / best->latency_us - 1) * 100);
    } else if (inside && gain >= TUNE_MIN_GAIN) {
        decision->status = state->keeps_inside ? TUNE_STATUS_KEEP : TUNE_STATUS_INCONCLUSIVE;
        buf_printf(&decision->reason, "%.2fx faster, inside the model's error, ",
                   attempt->vs_parent);
    } else if (attempt->verdict.faster == TUNE_ANSWER_INCONCLUSIVE && !inside) {
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

void tune_decide(struct tune_session *session, int lane) {
    const struct tune_state *state = session->state;
    int id = tune_lane_attempt(state, lane);
    const struct tune_attempt *attempt = tune_state_attempt(state, id);
    struct decision decision = {0};
    if (!decide_by_check(&attempt->verdict, &decision))
        decide_by_speed(state, attempt, &decision);
    if (tune_emit(session, lane,
                  TUNE_EVENT(DECIDED, decided, .attempt = id, .status = decision.status,
                             .reason = decision.reason.at))) {
        tune_export(session, id);
        tune_memory_contradict(session, lane, tune_state_attempt(state, id));
        /* A gain that is not certain is no gain, and costs nothing: like a revert it leaves the
         * incumbent as it was. A result that cannot be believed needs a person. */
        bool suspect = decision.status == TUNE_STATUS_SUSPECT;
        tune_step_done(session, lane, TUNE_STEP_DECIDE, suspect ? TUNE_IS_FAILED : TUNE_IS_OK,
                       "%s: %s", tune_status_word(decision.status), decision.reason.at);
        if (state->way->keeps_at_once)
            tune_sweep_tell(session, &tune_state_attempt(state, id)->plan);
    }
    buf_free(&decision.reason);
}
