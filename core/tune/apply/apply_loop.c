/* SPDX-License-Identifier: Apache-2.0 */
/* Events of the loop: rounds, steps, gates, and the plans and candidates they bring. */
#include <math.h>

#include "tune/apply/private.h"

/* ------------------------------------------------------------------------------ the loop */

void apply_round(struct tune_state *state, const struct tune_event *event, int64_t wall_ms) {
    (void)wall_ms;
    state->round = event->round.round != TUNE_EVENT_NO_INT ? event->round.round : state->round + 1;
    state->own->round_over = false;
    tune_lanes_clear(state);
    tune_steps_rewind(state, TUNE_STEP_PROFILE);
    state->plans.len = 0;
    tune_wait_set(state, TUNE_WAIT_NOTHING, NULL);
}

void apply_step(struct tune_state *state, const struct tune_event *event, int64_t wall_ms) {
    enum tune_step step = event->step.step;
    if (step == TUNE_STEPS)
        return;
    tune_steps_rewind(state, step);
    state->steps[step].is = TUNE_IS_RUNNING;
    state->steps[step].started_ms = wall_ms;
    state->waiting = (struct tune_waiting){0};
    state->own->waited_ms = 0;
    tune_lanes_step(state, &event->step);
    tune_wait_set(state, TUNE_WAIT_NOTHING, NULL);
}

void apply_progress(struct tune_state *state, const struct tune_event *event, int64_t wall_ms) {
    (void)wall_ms;
    enum tune_step step = event->progress.step;
    bool is_own = state->way->counts && tune_lane_at(state, event->lane);
    tune_lane_progress(state, event);
    if (is_own || step == TUNE_STEPS)
        return;
    state->steps[step].doing = tune_keep(state, event->progress.doing);
    state->steps[step].done = event->progress.done;
    state->steps[step].total = event->progress.total;
}

static bool gate_asks(const struct tune_state *state, enum tune_step step) {
    const struct tune_step_view *view = &state->steps[step];
    if (view->is == TUNE_IS_SKIPPED)
        return false;
    const struct tune_plan *plan = tune_lane_plan(state, tune_lane_first(state));
    if (step == TUNE_STEP_PLAN && plan && plan->revised)
        return true;
    if (tune_sweep_passes(state, step))
        return false;
    return view->gate == TUNE_GATE_ASK ||
           (view->gate == TUNE_GATE_AUTO_GREEN && view->is != TUNE_IS_OK);
}

/* What a person can do there, as act/can.c has it: nothing is offered that is refused then. */
static const char *gate_takes(enum tune_step step) {
    if (step < TUNE_STEP_PLAN)
        return "approve goes on";
    return step <= TUNE_STEP_VERIFY ? "approve, edit or reject" : "approve or reject";
}

void apply_step_end(struct tune_state *state, const struct tune_event *event, int64_t wall_ms) {
    enum tune_step step = event->step_end.step;
    if (step == TUNE_STEPS)
        return;
    struct tune_step_view *view = &state->steps[step];
    state->step = step;
    view->is = event->step_end.is < TUNE_STEP_STATES ? event->step_end.is : TUNE_IS_OK;
    view->summary = tune_keep(state, event->step_end.summary);
    view->artefact = tune_keep(state, event->step_end.artefact);
    view->doing = NULL;
    view->done = view->total = NAN;
    view->ended_ms = wall_ms;
    if (view->started_ms)
        tune_step_took(state, step,
                       (double)(wall_ms - view->started_ms - state->own->waited_ms) / 1000);
    if (!gate_asks(state, step))
        return;
    struct buf text = {0};
    buf_printf(&text, "%s is done: %s", tune_step_word(step), gate_takes(step));
    tune_wait_set(state, TUNE_WAIT_GATE, text.at);
    buf_free(&text);
}

/* The round is over: counts it, and whether it brought a new incumbent. */
void apply_round_end(struct tune_state *state, const struct tune_event *event, int64_t wall_ms) {
    (void)event, (void)wall_ms;
    const struct tune_attempt *best = tune_state_attempt(state, state->incumbent);
    bool gain = best && best->id > 0 && best->round == state->round;
    if (state->own->round_over)
        return;
    state->own->round_over = true;
    int counts = !tune_sweep_goes_on(state); /* all of a sweep is one round */
    state->plateau = gain ? 0 : state->plateau + counts;
    state->budgets[TUNE_BUDGET_ROUNDS].spent += counts;
}

void apply_stop(struct tune_state *state, const struct tune_event *event, int64_t wall_ms) {
    (void)wall_ms;
    state->running = false;
    state->finished = true;
    tune_outages_forget(state);
    for (int i = 0; i < TUNE_STEPS; i++)
        if (state->steps[i].is == TUNE_IS_RUNNING)
            tune_step_reset(&state->steps[i]);
    state->stopped_by_environment = event->stop.environment;
    tune_wait_set(state, TUNE_WAIT_STOPPED, event->stop.text);
}

/* The loop pauses by itself: the target or the proposer could not do its part. With `again` what
 * the step did so far does not count. */
void apply_pause(struct tune_state *state, const struct tune_event *event, int64_t wall_ms) {
    (void)wall_ms;
    state->running = false;
    tune_outages_forget(state);
    if (event->pause.again) {
        tune_steps_rewind(state, state->step);
        tune_lanes_rest(state);
    }
    state->stopped_by_environment = event->pause.environment;
    if (state->wait == TUNE_WAIT_NOTHING)
        tune_wait_set(state, TUNE_WAIT_PAUSED, event->pause.text);
}

/* ------------------------------------------------------------------- plans and candidates */

void apply_plans(struct tune_state *state, const struct tune_event *event, int64_t wall_ms) {
    (void)wall_ms;
    if (!state->way->divides)
        state->plans.len = 0;
    for (size_t i = 0; i < event->plans.plans.count; i++) {
        struct tune_plan *place = vec_push(&state->plans);
        *place = event->plans.plans.at[i];
        tune_part_keep(TUNE_PART_PLAN, place, state->own->texts);
        place->revised = state->own->revise;
        place->lane = tune_lane_tag(state, event->lane);
        tune_stock_add(state, place, tune_lane_parent(state, event->lane));
    }
    if (state->way->divides) /* the lanes get them when every question is answered */
        return;
    state->lanes.at[event->lane].plan = state->plans.len ? 0 : -1;
    if (state->plans.len)
        state->own->revise = false;
}

void apply_submitted(struct tune_state *state, const struct tune_event *event, int64_t wall_ms) {
    const struct tune_event_submitted *submitted = &event->submitted;
    if (!submitted->plan)
        return;
    /* The kernel of a plan that came before it. */
    const struct tune_submission *before = tune_submission_of(state, submitted->plan);
    if (before && submitted->source) {
        state->submissions.at[before - state->submissions.at].source =
            tune_keep(state, submitted->source);
        return;
    }
    struct tune_submission row = {.plan = *submitted->plan, .wall_ms = wall_ms};
    tune_part_keep(TUNE_PART_PLAN, &row.plan, state->own->texts);
    row.source = submitted->source ? tune_keep(state, submitted->source) : NULL;
    *vec_push(&state->submissions) = row;
}

void apply_candidate(struct tune_state *state, const struct tune_event *event, int64_t wall_ms) {
    (void)wall_ms;
    const char *source = event->candidate.source;
    if (!source)
        return;
    int number = event->lane;
    struct tune_lane *lane = &state->lanes.at[number];
    int parent = event->candidate.parent;
    lane->candidate.parent = parent != TUNE_EVENT_NO_INT ? parent : tune_lane_parent(state, number);
    lane->candidate.repair = event->candidate.repair;
    lane->candidate.attempt = lane->attempt > 0 ? lane->attempt : tune_attempt_next(state);
    lane->candidate.edited = false;
    if (!state->own->leaves) {
        tune_candidate_set(state, number, source, event->candidate.author);
        return;
    }
    lane->candidate.exists = true;
    lane->candidate.left_seq = state->seq;
    lane->candidate.proposed = lane->candidate.source = NULL;
    lane->candidate.author = tune_keep(state, event->candidate.author);
    lane->candidate.hunks.len = 0;
}

/* A plan that never became an attempt: the proposer could not carry it out. */
void apply_plan_failed(struct tune_state *state, const struct tune_event *event, int64_t wall_ms) {
    (void)wall_ms;
    const struct tune_plan *plan = tune_lane_plan(state, event->lane);
    struct tune_rejection row = {
        .round = state->round,
        .attempt = -1,
        .step = TUNE_STEP_REWRITE,
        .by_loop = true,
        .title = plan ? plan->title : NULL,
        .key = plan ? plan->key : NULL,
        .reason = tune_keep(state, event->plan_failed.text),
    };
    tune_rejection_add(state, event->lane, row);
}
