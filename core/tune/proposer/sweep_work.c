/* SPDX-License-Identifier: Apache-2.0 */
/* Sweeps in the loop. Nobody needs to think of their plans or to write their kernels, so these come
 * from here instead of from the proposer. */
#include "tune/proposer/inner.h"
#include "tune/state/state.h"
#include "tune/sums/sums.h"

static void plans_emit(struct tune_session *session, int lane, const struct tune_plan *plans,
                       size_t count) {
    if (tune_emit(session, lane, TUNE_EVENT(PLANS, plans, .plans = {plans, count})))
        tune_step_done(session, lane, TUNE_STEP_PLAN, TUNE_IS_OK, "%s; %zu more of the sweep",
                       plans[0].title, count - 1);
}

bool tune_sweep_plan(struct tune_session *session, int lane) {
    struct arena *arena = arena_new();
    struct tune_plan plans[TUNE_SWEEP_MOST];
    size_t count = tune_sweep_pending(session->state, arena, plans);
    if (count)
        plans_emit(session, lane, plans, count);
    arena_free(arena);
    return count > 0;
}

/* The plans at hand that belong to the chosen plan's sweep and are still to do. */
static size_t members(const struct tune_state *state, int most[TUNE_SWEEP_MOST]) {
    const struct tune_plan *plan = tune_lane_plan(state, tune_lane_first(state));
    size_t count = 0;
    if (!tune_sweep_is_one(plan))
        return 0;
    for (size_t i = 0; i < state->plans.len && count < TUNE_SWEEP_MOST; i++)
        if (tune_sweep_is_one(&state->plans.at[i]) &&
            !strcmp(state->plans.at[i].sweep, plan->sweep) &&
            !tune_sweep_is_done(state, &state->plans.at[i]))
            most[count++] = (int)i;
    return count;
}

bool tune_sweep_wants_lanes(const struct tune_session *session) {
    const struct tune_state *state = session->state;
    int list[TUNE_SWEEP_MOST];
    return state->way->opens && state->step == TUNE_STEP_PLAN &&
           state->steps[TUNE_STEP_PLAN].is == TUNE_IS_OK && members(state, list) > 1;
}

void tune_sweep_lanes_begin(struct tune_session *session) {
    const struct tune_state *state = session->state;
    int list[TUNE_SWEEP_MOST];
    size_t count = members(state, list);
    struct tune_event_one_lane lanes[TUNE_SWEEP_MOST];
    for (size_t i = 0; i < count; i++)
        lanes[i] = (struct tune_event_one_lane){state->incumbent, (int)i, list[i]};
    tune_emit(session, TUNE_ALL_LANES,
              TUNE_EVENT(LANES, lanes, .lanes = {lanes, count}, .planned = true));
}

void tune_sweep_rewrite(const struct tune_context *context, const struct tune_plan *plan,
                        struct tune_reply *reply) {
    struct buf source = {0};
    struct err err = {0};
    tune_reply_author(reply, plan->author ? plan->author : "you");
    if (tune_sweep_apply(plan->key, str_of(context->source), context->function, &source, &err))
        tune_reply_candidate(reply, buf_str(&source));
    else
        tune_reply_failed(reply, err.text);
    buf_free(&source);
}

void tune_sweep_tell(struct tune_session *session, const struct tune_plan *plan) {
    struct tune_sweep sweep;
    if (!tune_sweep_is_one(plan) || !tune_sweep_ends(session->state) ||
        !tune_sweep_parse(str_of(plan->sweep), &sweep, NULL))
        return;
    for (size_t i = 0; i < tune_sweep_combinations(&sweep); i++) {
        struct buf line = {0};
        tune_sweep_line(session->state, &sweep, i, &line);
        tune_emit_log(session, TUNE_ALL_LANES, TUNE_LEVEL_INFO, "sweep", "%s", line.at);
        buf_free(&line);
    }
}
