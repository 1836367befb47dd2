/* SPDX-License-Identifier: Apache-2.0 */
/* A round consists of lanes: one, or the many that a beam search or a sweep opens. All lanes do a
 * step before the next step begins. So a person sees one step at a time, a gate stands once, and
 * the outcome does not depend on whose answer came first. Within a step the lanes work side by
 * side, as many as the proposer and the place can take. How many they are does not change how a
 * step goes. */
#include <math.h>
#include <stdlib.h>

#include "tune/drive/private.h"
#include "tune/state/state.h"
#include "tune/sums/sums.h"

/* ------------------------------------------------------------------------------------- opening */

static bool wants_lanes(const struct tune_session *session) {
    const struct tune_state *state = session->state;
    return state->way->opens && tune_search_is_wide(state) && state->step == TUNE_STEP_PROFILE &&
           tune_lane_next(state, 0) == TUNE_STEP_PLAN && state->incumbent >= 0 &&
           tune_sweep_ends(state);
}

/* Asks for N plans for each of the parents that the last round left, at most B. */
static void lanes_begin(struct tune_session *session) {
    const struct tune_state *state = session->state;
    int parents[1 + TUNE_MAX_PARENTS] = {state->incumbent}, count = 1;
    for (size_t i = 0; i < state->beam.len && count < state->width.parents; i++)
        if (state->beam.at[i] != state->incumbent && count < TUNE_MAX_PARENTS)
            parents[count++] = state->beam.at[i];
    VEC(struct tune_event_one_lane) lanes = {0};
    for (int p = 0; p < count; p++)
        for (int draw = 0; draw < state->width.plans; draw++)
            *vec_push(&lanes) = (struct tune_event_one_lane){parents[p], draw, -1};
    tune_emit(session, TUNE_ALL_LANES, TUNE_EVENT(LANES, lanes, .lanes = {lanes.at, lanes.len}));
    vec_free(&lanes);
}

/* Whether its plan is a value of a sweep: written again, the kernel comes out the same. */
static bool is_swept(const struct tune_state *state, int lane) {
    return tune_sweep_is_one(tune_lane_plan(state, lane));
}

/* A proposer whose answers differ each time writes every plan several times. */
static void lanes_fan(struct tune_session *session) {
    const struct tune_state *state = session->state;
    if (!state->way->joins || !session->proposer->draws || state->width.rewrites < 2)
        return;
    for (size_t i = 0, count = state->lanes.len; i < count && !session->halted; i++) {
        const struct tune_lane *lane = &state->lanes.at[i];
        bool first = tune_lane_next(state, (int)i) == TUNE_STEP_REWRITE && lane->sample == 0 &&
                     tune_lane_attempt(state, (int)i) < 0 && !is_swept(state, (int)i);
        for (size_t k = 0; k < count && first; k++)
            first = k == i || state->lanes.at[k].parent != lane->parent ||
                    state->lanes.at[k].draw != lane->draw;
        if (!first)
            continue;
        tune_emit(session, TUNE_ALL_LANES,
                  TUNE_EVENT(LANE_FAN, lane_fan, .lane = (int)i, .samples = state->width.rewrites));
    }
}

/* ------------------------------------------------------------------------------- a step's end */

static void counts_print(const struct tune_state *state, enum tune_step step, struct buf *out,
                         enum tune_step_is *is) {
    size_t count[TUNE_STEP_STATES] = {0};
    for (size_t i = 0; i < state->lanes.len; i++)
        if (state->lanes.at[i].step == step)
            count[state->lanes.at[i].is]++;
    static const char *const words[TUNE_STEP_STATES] = {
        [TUNE_IS_OK] = "ok", [TUNE_IS_FAILED] = "failed", [TUNE_IS_SKIPPED] = "skipped"};
    for (int s = 0; s < TUNE_STEP_STATES; s++)
        if (words[s] && count[s])
            buf_printf(out, "%s%zu %s", out->len ? ", " : "", count[s], words[s]);
    *is = count[TUNE_IS_OK] ? TUNE_IS_OK : count[TUNE_IS_FAILED] ? TUNE_IS_FAILED : TUNE_IS_SKIPPED;
}

static void beam_print(const struct tune_state *state, struct buf *out) {
    buf_puts(out, "; goes on from");
    for (size_t i = 0; i < state->beam.len; i++)
        buf_printf(out, "%s #%d", i ? "," : "", state->beam.at[i]);
}

static void step_end(struct tune_session *session, enum tune_step step) {
    const struct tune_state *state = session->state;
    struct buf text = {0};
    enum tune_step_is is;
    bool ok = true;
    if (step == TUNE_STEP_PLAN)
        ok = tune_emit(session, TUNE_ALL_LANES, TUNE_EVENT_ONLY(LANES_ASSIGN));
    if (step == TUNE_STEP_DECIDE)
        ok = tune_emit(session, TUNE_ALL_LANES, TUNE_EVENT_ONLY(BEAM));
    counts_print(state, step, &text, &is);
    if (step == TUNE_STEP_DECIDE)
        beam_print(state, &text);
    if (ok && step == TUNE_STEP_DECIDE)
        tune_sweep_tell(session, tune_lane_plan(state, tune_lane_first(state)));
    if (ok)
        tune_emit(session, TUNE_ALL_LANES,
                  TUNE_EVENT(STEP_END, step_end, .step = step, .is = is,
                             .summary = text.at ? text.at : ""));
    buf_free(&text);
    if (ok && step == TUNE_STEP_PLAN && is != TUNE_IS_OK && !session->halted)
        tune_stop(session, TUNE_ALL_LANES, "nothing more was proposed for any of the parents");
}

void tune_lane_done(struct tune_session *session, int lane, enum tune_step step,
                    enum tune_step_is is, const char *text) {
    const struct tune_state *state = session->state;
    enum tune_step next = tune_step_after(session, lane, step, is);
    /* Without a candidate, or without an attempt, there is nothing to go on with. */
    bool closes = (step == TUNE_STEP_REWRITE || step == TUNE_STEP_VERIFY) && is == TUNE_IS_FAILED &&
                  tune_lane_attempt(state, lane) < 0;
    struct tune_event event =
        tune_form_end(state, &(struct tune_event_lane_end){
                                 .step = step,
                                 .is = is,
                                 .summary = text,
                                 .next = next == (enum tune_step)(step + 1) ? TUNE_STEPS : next,
                                 .closed = closes ? text : NULL});
    tune_emit(session, lane, &event);
}

/* --------------------------------------------------------------------------- within a step */

static int at_once(const struct tune_session *session, enum tune_step step) {
    switch (step) {
    case TUNE_STEP_VERIFY:
    case TUNE_STEP_BENCHMARK: return MAX_OF(session->place.parallel, 1);
    case TUNE_STEP_DECIDE: return 1;
    default: return MAX_OF(1, MIN_OF(session->questions, MAX_OF(session->proposer->parallel, 1)));
    }
}

/* The first lane that has its part of this step still to do, and nothing under way; -1. */
static int lane_due(const struct tune_session *session) {
    const struct tune_state *state = session->state;
    for (size_t i = 0; i < state->lanes.len; i++) {
        const struct tune_lane *lane = &state->lanes.at[i];
        bool due = !lane->closed && lane->next == state->step &&
                   (lane->is == TUNE_IS_WAITING ||
                    (lane->is == TUNE_IS_RUNNING && !tune_works_in(session, (int)i)));
        if (due)
            return (int)i;
    }
    return -1;
}

static int lanes_at_work(const struct tune_session *session) {
    int count = 0;
    for (size_t i = 0; i < session->state->lanes.len; i++)
        count += tune_works_in(session, (int)i);
    return count;
}

bool tune_lanes_can_start(const struct tune_session *session) {
    const struct tune_state *state = session->state;
    return state->steps[state->step].is == TUNE_IS_RUNNING &&
           lanes_at_work(session) < at_once(session, state->step) && lane_due(session) >= 0 &&
           !tune_budget_waits(session, lane_due(session), state->step);
}

/* A proposer that offers a list is asked once for each parent. */
static bool is_asked_already(const struct tune_session *session, int lane) {
    const struct tune_state *state = session->state;
    if (state->step != TUNE_STEP_PLAN || session->proposer->draws)
        return false;
    for (int i = 0; i < lane; i++)
        if (state->lanes.at[i].parent == state->lanes.at[lane].parent &&
            state->lanes.at[i].step == TUNE_STEP_PLAN && !state->lanes.at[i].closed)
            return true;
    return false;
}

static void lane_start(struct tune_session *session, int lane, enum tune_step step) {
    const struct tune_event begins = tune_form_begin(session->state, step);
    const char *skipped = "";
    if (is_asked_already(session, lane))
        tune_lane_done(session, lane, step, TUNE_IS_OK, "");
    else if (!tune_step_wanted(session, lane, step, &skipped))
        tune_lane_done(session, lane, step, TUNE_IS_SKIPPED, skipped);
    else if (!tune_budget_stops_step(session, lane, step) && tune_emit(session, lane, &begins))
        tune_step_run(session, lane, step);
}

/* ----------------------------------------------------------------------------- a step begins */

/* What a lane does next. Where its step failed and the log does not say what follows, it is decided
 * here. */
static enum tune_step lane_next(const struct tune_session *session, int number) {
    const struct tune_lane *lane = tune_lane_of(session->state, number);
    enum tune_step next = tune_lane_next(session->state, number);
    bool failed = lane->is == TUNE_IS_FAILED && next == (enum tune_step)(lane->step + 1);
    return failed ? tune_step_after(session, number, lane->step, lane->is) : next;
}

static enum tune_step next_step(const struct tune_session *session) {
    enum tune_step first = TUNE_STEPS;
    for (size_t i = 0; i < session->state->lanes.len; i++)
        first = MIN_OF(first, lane_next(session, (int)i));
    return first;
}

/* The lanes of the round whose next step this is; the step begins with the first of them. */
static void step_begin(struct tune_session *session, enum tune_step step) {
    const struct tune_state *state = session->state;
    bool ok = true;
    if (step == TUNE_STEP_REWRITE)
        lanes_fan(session);
    VEC(int) lanes = {0};
    for (size_t i = 0; i < state->lanes.len; i++)
        if (lane_next(session, (int)i) == step)
            *vec_push(&lanes) = (int)i;
    if (state->way->counts)
        ok = tune_emit(session, TUNE_ALL_LANES,
                       TUNE_EVENT(STEP, step, .step = step, .lanes = {lanes.at, lanes.len, true}));
    if (ok && lanes.len)
        lane_start(session, lanes.at[0], step);
    vec_free(&lanes);
}

/* ---------------------------------------------------------------------------------- forward */

void tune_round_go_on(struct tune_session *session) {
    const struct tune_state *state = session->state;
    enum tune_step step = state->step, next = next_step(session);
    bool runs = state->steps[step].is == TUNE_IS_RUNNING;
    if (runs && lane_due(session) >= 0)
        lane_start(session, lane_due(session), step);
    else if (runs)
        step_end(session, step);
    else if (tune_sweep_wants_lanes(session))
        tune_sweep_lanes_begin(session);
    else if (wants_lanes(session))
        lanes_begin(session);
    else if (next < TUNE_STEPS)
        step_begin(session, next);
    else if (tune_emit(session, TUNE_ALL_LANES, TUNE_EVENT_ONLY(ROUND_END)))
        tune_recent_note(session);
}
