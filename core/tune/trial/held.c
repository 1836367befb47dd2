/* SPDX-License-Identifier: Apache-2.0 */
/* Whether what a plan predicted held. */
#include <math.h>

#include "tune/session/inner.h"
#include "tune/trial/trial.h"

/* A prediction holds when the metric moved the right way by at least half of what was said. Less
 * than that is inconclusive. */
#define HELD_SHARE 0.5
#define MOVED_AT_ALL 0.005

/* The relative change of a metric from the parent to the attempt; NAN when one of them is not
 * known. */
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

void tune_score(struct tune_session *session, int lane, int id) {
    const struct tune_attempt *attempt = tune_state_attempt(session->state, id);
    const struct tune_attempt *parent = tune_state_attempt(session->state, attempt->parent);
    if (!parent || !attempt->plan.metric)
        return;
    double moved = metric_moved(parent, attempt, attempt->plan.metric);
    tune_emit(session, lane,
              TUNE_EVENT(SCORED, scored, .attempt = id,
                         .held = prediction_held(&attempt->plan, moved), .moved = moved));
}
