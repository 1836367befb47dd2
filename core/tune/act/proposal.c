/* SPDX-License-Identifier: Apache-2.0 */
/* What a person does to the loop and to what it proposes. The driver starts and stops the work that
 * follows. */
#include <math.h>
#include <stdlib.h>

#include "tune/act/private.h"
#include "tune/sums/inner.h"

void tune_act_go_on(struct tune_state *state) {
    state->running = true;
    state->finished = false;
    tune_wait_set(state, TUNE_WAIT_NOTHING, NULL);
}

/* After a stop: a plateau counts anew, and a step that found nothing is tried again. */
void tune_do_start(struct tune_state *state, const struct tune_action *act) {
    (void)act;
    if (state->finished)
        state->plateau = 0;
    state->stopped_by_environment = false;
    if (state->finished && state->step <= TUNE_STEP_PLAN) {
        tune_steps_rewind(state, state->step);
        tune_lanes_try_again(state);
    }
    tune_act_go_on(state);
}

void tune_do_pause(struct tune_state *state, const struct tune_action *act) {
    (void)act;
    state->running = false;
    bool gives_up = tune_call_runs(state) || tune_state_waits(state);
    tune_outages_forget(state);
    if (gives_up) {
        tune_steps_rewind(state, state->step);
        tune_lanes_rest(state);
    }
    if (state->wait == TUNE_WAIT_NOTHING)
        tune_wait_set(state, TUNE_WAIT_PAUSED,
                      gives_up ? "paused by you; the question was given up and start asks it again"
                               : "paused by you");
}

/* What was learnt from an attempt that nobody wants any more is no lesson; what a person pinned or
 * worded stays. */
static void lessons_forget(struct tune_state *state, int attempt) {
    for (size_t i = 0; i < state->notes.len; i++) {
        struct tune_note *note = &state->notes.at[i];
        note->dropped |= note->attempt == attempt && !note->pinned && !note->edited;
    }
    for (size_t i = 0; i < state->memory.len; i++) {
        struct tune_experience *item = &state->memory.at[i];
        if (item->attempt == attempt && !item->imported && !item->edited)
            item->is = TUNE_EXPERIENCE_DELETED;
    }
}

static void attempt_drop(struct tune_state *state, int id, const char *reason) {
    if (state->incumbent == id)
        state->incumbent = tune_state_kept_ancestor(state, id);
    tune_status_set(state, &state->attempts.at[id], TUNE_STATUS_REJECTED, reason);
    lessons_forget(state, id);
    tune_state_find_best(state);
    tune_beam_choose(state);
}

/* After undo the round stands before attempts that it has made already: they go with the proposal
 * that they came from. In a round of several lanes nobody knows which that was. */
static void undone_drop(struct tune_state *state, const char *reason) {
    for (size_t i = state->attempts.len; i > 1 && !state->way->numbered; i--) {
        const struct tune_attempt *attempt = &state->attempts.at[i - 1];
        if (attempt->round != state->round)
            return;
        if (attempt->status == TUNE_STATUS_OPEN)
            attempt_drop(state, attempt->id, reason);
    }
}

/* Drops the proposal of a lane, with the reason. */
static void proposal_drop(struct tune_state *state, int lane, const char *reason) {
    const struct tune_plan *plan = tune_lane_plan(state, lane);
    int id = tune_lane_attempt(state, lane);
    const struct tune_attempt *open = id > 0 ? &state->attempts.at[id] : NULL;
    struct tune_rejection row = {.round = state->round,
                                 .attempt = open ? open->id : -1,
                                 .step = state->step,
                                 .title = plan ? plan->title : NULL,
                                 .key = plan ? plan->key : NULL,
                                 .reason = tune_keep(state, reason)};
    tune_rejection_add(state, lane, row);
    if (open)
        attempt_drop(state, open->id, row.reason);
    undone_drop(state, row.reason);
}

/* Has the next proposal of the lane made. In a round of one direction it is shown, whatever the
 * gate; in one of several the others go on meanwhile. */
static void proposal_again(struct tune_state *state, int lane) {
    struct tune_lane *at = &state->lanes.at[lane];
    at->attempt = -1;
    at->candidate.exists = false;
    if (state->way->divides)
        at->plan = -1;
    else
        state->own->revise = true;
    tune_lane_again(state, lane, TUNE_STEP_PLAN);
}

static void lesson_drop(struct tune_state *state, int lane, enum tune_step step) {
    int attempt = tune_lane_attempt(state, lane);
    for (size_t i = 0; i < state->notes.len && step == TUNE_STEP_REFLECT; i++)
        if (state->notes.at[i].round == state->round && state->notes.at[i].attempt == attempt)
            state->notes.at[i].dropped = true;
    for (size_t i = 0; i < state->memory.len && step == TUNE_STEP_SUMMARISE; i++)
        if (state->memory.at[i].attempt == attempt && !state->memory.at[i].imported)
            state->memory.at[i].is = TUNE_EXPERIENCE_DELETED;
}

/* The lane is not followed any further. False when it is the only one; else the others wait at the
 * gate as before. */
static bool proposal_end(struct tune_state *state, int lane, const char *reason) {
    proposal_drop(state, lane, reason);
    if (!state->way->tries_again)
        return !tune_lane_close(state, lane, reason);
    proposal_again(state, lane);
    return true;
}

void tune_do_reject(struct tune_state *state, const struct tune_action *act) {
    bool lesson = state->wait_step >= TUNE_STEP_SUMMARISE;
    if (lesson)
        lesson_drop(state, act->lane, state->wait_step);
    if (lesson ? state->way->numbered : !proposal_end(state, act->lane, act->text))
        return;
    state->running = false;
    if (lesson)
        tune_wait_set(state, TUNE_WAIT_PAUSED, "you rejected it; start goes on");
    else
        tune_wait_set(state, TUNE_WAIT_REJECTED,
                      state->way->tries_again
                          ? "you rejected the proposal; start asks for another one with your reason"
                          : "you rejected all of them; start goes on with the next round");
}

/* While a plan is asked for there is nothing to drop yet: the question is put again. */
static void plan_unwanted(struct tune_state *state, int lane, const char *text) {
    struct tune_rejection row = {.round = state->round,
                                 .attempt = -1,
                                 .step = TUNE_STEP_PLAN,
                                 .title = "a plan that nobody waited for",
                                 .reason = tune_keep(state, text)};
    if (text && *text)
        tune_rejection_add(state, lane, row);
}

static void plan_ask_again(struct tune_state *state, int lane, const char *text) {
    plan_unwanted(state, lane, text);
    if (state->way->divides)
        state->lanes.at[lane].is = TUNE_IS_WAITING;
    else
        proposal_again(state, lane);
}

void tune_do_another(struct tune_state *state, const struct tune_action *act) {
    const char *reason = act->text && *act->text ? act->text : "another one was asked for";
    int lane = act->lane;
    if (tune_act_is_asked(state, lane) && state->step == TUNE_STEP_PLAN) {
        plan_ask_again(state, lane, act->text);
    } else if (state->wait != TUNE_WAIT_REJECTED) { /* else it was dropped already */
        proposal_drop(state, lane, reason);
        proposal_again(state, lane);
    }
    tune_act_go_on(state);
}

void tune_do_choose(struct tune_state *state, const struct tune_action *act) {
    if (act->index >= 0 && (size_t)act->index < state->plans.len)
        state->lanes.at[act->lane].plan = act->index;
}

/* A plan of an earlier round joins those of this one. */
void tune_do_take_plan(struct tune_state *state, const struct tune_action *act) {
    if (act->index < 0 || (size_t)act->index >= state->stock.len ||
        !tune_stock_is_open(state, (size_t)act->index))
        return;
    struct tune_plan plan = state->stock.at[act->index].plan;
    plan.lane = tune_lane_tag(state, act->lane);
    if (tune_lane_parent(state, act->lane) != state->stock.at[act->index].parent) {
        plan.first_line = plan.last_line = 0; /* lines of another kernel */
        plan.lines = NULL;
        plan.source = NULL;
    }
    *vec_push(&state->plans) = plan;
    state->lanes.at[act->lane].plan = (int)state->plans.len - 1;
}

/* Splits a text that a person edited into its first line and the rest. */
void tune_act_text_split(struct tune_state *state, const char *text, const char **first,
                         const char **rest) {
    struct str left = str_trim(str_of(text)), line = {0};
    if (!str_next(&left, '\n', &line))
        return;
    line = str_trim(line);
    left = str_trim(left);
    *first = tune_keep_str(state, line);
    if (left.len)
        *rest = tune_keep_str(state, left);
}

void tune_do_edit_plan(struct tune_state *state, const struct tune_action *act) {
    int index = tune_lane_of(state, act->lane)->plan;
    if (index < 0 || (size_t)index >= state->plans.len)
        return;
    struct tune_plan *plan = &state->plans.at[index];
    tune_act_text_split(state, act->text, &plan->title, &plan->what);
    plan->edited = true;
}

/* An edited kernel is looked at before anything runs it. After a failed check it waits where a
 * rewrite waits, and is checked again; in a round of several lanes when the others go on. */
void tune_do_edit_kernel(struct tune_state *state, const struct tune_action *act) {
    struct tune_candidate *candidate = &state->lanes.at[act->lane].candidate;
    tune_candidate_set(state, act->lane, act->text, candidate->author);
    candidate->edited = true;
    if (state->wait_step != TUNE_STEP_VERIFY)
        return;
    tune_lane_again(state, act->lane, TUNE_STEP_VERIFY);
    state->running = true;
    if (state->way->counts)
        return;
    struct tune_step_view *step = &state->steps[TUNE_STEP_REWRITE];
    step->is = TUNE_IS_OK;
    step->summary = "edited by you; a verifies it";
    state->step = TUNE_STEP_REWRITE;
    state->finished = false;
    tune_wait_set(state, TUNE_WAIT_GATE, "you edited the kernel: approve, edit or reject");
}

static void open_attempts_reject(struct tune_state *state, const char *why) {
    for (size_t i = 1; i < state->attempts.len; i++)
        if (state->attempts.at[i].status == TUNE_STATUS_OPEN)
            tune_status_set(state, &state->attempts.at[i], TUNE_STATUS_REJECTED, why);
}

/* What a person did needs no doing: the loop goes on behind `last`, the step that it stands for.
 * Between two rounds it begins the next round. */
static void steps_are_done(struct tune_state *state, enum tune_step last) {
    state->round += state->own->round_over;
    state->own->round_over = false;
    for (int i = TUNE_STEP_PROFILE; i <= (int)last; i++)
        if (state->steps[i].is != TUNE_IS_OK) {
            tune_step_reset(&state->steps[i]);
            state->steps[i].is = i == (int)last ? TUNE_IS_OK : TUNE_IS_SKIPPED;
        }
}

/* The lane of a person's own kernel: beside the others of the round, or in their place. -1 when
 * there are too many. */
static int own_lane(struct tune_state *state, bool joins) {
    if (joins)
        return tune_lane_join(state);
    open_attempts_reject(state, "you wrote another one");
    tune_lanes_clear(state);
    state->plans.len = 0;
    return 0;
}

void tune_do_write_kernel(struct tune_state *state, const struct tune_action *act) {
    bool joins = state->way->joins && !state->own->round_over;
    int lane = own_lane(state, joins);
    if (lane < 0)
        return;
    *vec_push(&state->plans) = (struct tune_plan){.title = "Written by you",
                                                  .author = "you",
                                                  .what = "",
                                                  .why = "",
                                                  .size = NAN, /* nothing is predicted */
                                                  .latency = NAN,
                                                  .lane = -1,
                                                  .moved = NAN};
    struct tune_lane *own = &state->lanes.at[lane];
    own->plan = (int)state->plans.len - 1;
    own->candidate = (struct tune_candidate){
        .parent = state->incumbent, .attempt = tune_attempt_next(state), .edited = true};
    tune_candidate_set(state, lane, act->text, "you");
    if (joins) /* it is checked together with the others */
        return;
    steps_are_done(state, TUNE_STEP_REWRITE);
    tune_lane_again(state, lane, TUNE_STEP_VERIFY);
    tune_act_go_on(state);
}

void tune_do_sweep(struct tune_state *state, const struct tune_action *act) {
    struct tune_plan plans[TUNE_SWEEP_MOST];
    size_t count = tune_sweep_asked(state, act->text, state->arena, plans, NULL);
    if (!count)
        return;
    open_attempts_reject(state, "you asked for a sweep");
    tune_lanes_clear(state);
    state->plans.len = 0;
    for (size_t i = 0; i < count; i++)
        *vec_push(&state->plans) = plans[i];
    state->lanes.at[0].plan = 0;
    steps_are_done(state, TUNE_STEP_PLAN);
    tune_lane_again(state, 0, TUNE_STEP_REWRITE);
    state->step = TUNE_STEP_PLAN;
    tune_act_go_on(state);
}

void tune_do_leave(struct tune_state *state, const struct tune_action *act) {
    struct tune_candidate *candidate = &state->lanes.at[act->lane].candidate;
    if (act->index < 0 || (size_t)act->index >= candidate->hunks.len)
        return;
    struct tune_hunk *hunk = &candidate->hunks.at[act->index];
    hunk->left = !hunk->left;
    hunk->why = hunk->left && act->text && *act->text ? tune_keep(state, act->text) : NULL;
    tune_candidate_compose(state, act->lane);
}

void tune_do_revert(struct tune_state *state, const struct tune_action *act) {
    if (!tune_state_attempt(state, act->attempt))
        return;
    open_attempts_reject(state, "you went back to another attempt");
    tune_lanes_clear(state);
    state->beam.len = 0;
    state->incumbent = state->own->from = act->attempt;
    state->plans.len = 0;
    bool running = state->running;
    tune_steps_rewind(state, TUNE_STEP_PROFILE);
    tune_wait_set(state, running ? TUNE_WAIT_NOTHING : TUNE_WAIT_PAUSED,
                  running ? NULL : "you went back to an earlier attempt; start goes on from it");
}

void tune_precision_changed(struct tune_state *state, enum tune_precision before) {
    if (tune_precision_allowed(state) == before)
        return;
    state->own->best_stale = true;
    tune_state_find_best(state);
    const struct tune_attempt *now = tune_state_attempt(state, state->incumbent);
    if (now && now->precision > tune_precision_allowed(state) && state->best >= 0) {
        struct tune_action back = {.attempt = state->best};
        tune_do_revert(state, &back);
    } else if (tune_act_at_gate(state, TUNE_STEP_PLAN, TUNE_STEP_PLAN) && !state->way->divides) {
        proposal_again(state, 0);
        tune_act_go_on(state);
    }
}

static void status_change(struct tune_state *state, struct tune_attempt *attempt,
                          enum tune_status status, const char *reason) {
    tune_status_set(state, attempt, status, reason);
    if (status == TUNE_STATUS_KEEP)
        state->incumbent = attempt->id;
    else if (state->incumbent == attempt->id)
        state->incumbent = tune_state_kept_ancestor(state, attempt->id);
    tune_state_find_best(state);
    tune_beam_choose(state);
}

void tune_do_overrule(struct tune_state *state, const struct tune_action *act) {
    int id = act->attempt > 0 ? act->attempt : tune_lane_attempt(state, act->lane);
    if (id <= 0 || !tune_state_attempt(state, id))
        return;
    struct tune_attempt *attempt = &state->attempts.at[id];
    enum tune_status status;
    if (!tune_status_find(act->text, &status))
        return;
    status_change(state, attempt, status, "overruled by you");
}

/* What was decided about it by the numbers so far is open again. */
void tune_do_measure(struct tune_state *state, const struct tune_action *act) {
    int id = tune_lane_attempt(state, act->lane);
    if (id > 0 && state->attempts.at[id].status != TUNE_STATUS_OPEN)
        status_change(state, &state->attempts.at[id], TUNE_STATUS_OPEN, NULL);
    tune_lane_again(state, act->lane, TUNE_STEP_BENCHMARK);
    tune_act_go_on(state);
}

/* Whether it is about an attempt of this round. */
static bool is_of_round(const struct tune_state *state, const struct tune_experience *item) {
    bool mine = false;
    for (size_t i = 0; i < state->lanes.len; i++)
        mine = mine || (item->attempt >= 0 && state->lanes.at[i].attempt == item->attempt);
    return mine && !item->imported;
}

void tune_do_approve(struct tune_state *state, const struct tune_action *act) {
    if (state->wait_step == TUNE_STEP_REWRITE)
        tune_declined_note(state);
    if (state->wait_step == TUNE_STEP_SUMMARISE)
        for (size_t i = 0; i < state->memory.len; i++)
            if (is_of_round(state, &state->memory.at[i]) &&
                state->memory.at[i].is == TUNE_EXPERIENCE_PROPOSED)
                state->memory.at[i].is = TUNE_EXPERIENCE_APPROVED;
    tune_do_start(state, act);
}
