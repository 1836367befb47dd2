/* SPDX-License-Identifier: Apache-2.0 */
/* When each action makes sense. */
#include "tune/act/private.h"
#include "tune/sums/inner.h"

bool tune_act_at_gate(const struct tune_state *state, enum tune_step first, enum tune_step last) {
    return state->wait == TUNE_WAIT_GATE && state->wait_step >= first && state->wait_step <= last;
}

static bool is_closed(const struct tune_state *state, int lane) {
    return tune_lane_of(state, lane)->closed != NULL;
}

static bool is_there(const struct tune_state *state, int lane) {
    return lane >= 0 && (size_t)lane < state->lanes.len;
}

static bool has_baseline(const struct tune_state *state) {
    return state->incumbent >= 0;
}

/* `lane`: the one that the action is about; it does not matter for the others. */
typedef bool can_fn(const struct tune_state *state, int lane);

static bool can_always(const struct tune_state *state, int lane) {
    (void)state, (void)lane;
    return true;
}
static bool can_start(const struct tune_state *state, int lane) {
    (void)lane;
    return state->trouble ||
           (!state->running && state->wait != TUNE_WAIT_GATE && !state->changed.len);
}
static bool can_pause(const struct tune_state *state, int lane) {
    (void)lane;
    return state->running;
}
static bool can_approve(const struct tune_state *state, int lane) {
    (void)lane;
    return state->wait == TUNE_WAIT_GATE;
}
static bool can_reject(const struct tune_state *state, int lane) {
    return tune_act_at_gate(state, TUNE_STEP_PLAN, TUNE_STEP_REFLECT) && !is_closed(state, lane);
}
/* Whether a model is asked for the candidate of the lane. */
bool tune_act_is_asked(const struct tune_state *state, int lane) {
    int tag = tune_lane_tag(state, lane);
    bool mine = tag < 0;
    for (size_t i = tune_calls_open_from(state); i < state->calls.len && !mine; i++)
        mine = !state->calls.at[i].ended_ms && state->calls.at[i].lane == tag;
    return mine && tune_call_runs(state);
}
static bool can_another(const struct tune_state *state, int lane) {
    return (tune_act_at_gate(state, TUNE_STEP_PLAN, TUNE_STEP_BENCHMARK) &&
            !is_closed(state, lane)) ||
           state->wait == TUNE_WAIT_REJECTED || tune_act_is_asked(state, lane);
}
static bool can_choose(const struct tune_state *state, int lane) {
    (void)lane;
    return !state->way->divides && tune_act_at_gate(state, TUNE_STEP_PLAN, TUNE_STEP_PLAN) &&
           state->plans.len > 1;
}
static bool can_take_plan(const struct tune_state *state, int lane) {
    size_t first;
    (void)lane;
    return !state->way->divides && tune_act_at_gate(state, TUNE_STEP_PLAN, TUNE_STEP_PLAN) &&
           tune_stock_list(state, &first, 1) > 0;
}
static bool can_edit_plan(const struct tune_state *state, int lane) {
    return tune_act_at_gate(state, TUNE_STEP_PLAN, TUNE_STEP_PLAN) && tune_lane_plan(state, lane) &&
           !is_closed(state, lane);
}
static bool can_edit_kernel(const struct tune_state *state, int lane) {
    return tune_act_at_gate(state, TUNE_STEP_REWRITE, TUNE_STEP_VERIFY) &&
           tune_lane_candidate(state, lane) && !is_closed(state, lane);
}
static bool can_write(const struct tune_state *state, int lane) {
    (void)lane;
    return has_baseline(state);
}
static bool can_leave(const struct tune_state *state, int lane) {
    const struct tune_candidate *candidate = tune_lane_candidate(state, lane);
    return tune_act_at_gate(state, TUNE_STEP_REWRITE, TUNE_STEP_REWRITE) && candidate &&
           candidate->hunks.len && !is_closed(state, lane);
}
static bool can_revert(const struct tune_state *state, int lane) {
    (void)lane;
    return has_baseline(state) && state->attempts.len > 1;
}
static bool can_overrule(const struct tune_state *state, int lane) {
    (void)lane;
    return state->attempts.len > 1;
}
static bool can_measure(const struct tune_state *state, int lane) {
    return tune_act_at_gate(state, TUNE_STEP_BENCHMARK, TUNE_STEP_DECIDE) &&
           tune_lane_attempt(state, lane) > 0 && !is_closed(state, lane);
}
static bool can_undo(const struct tune_state *state, int lane) {
    (void)lane;
    return state->undo_count > 0;
}
static bool can_redo(const struct tune_state *state, int lane) {
    (void)lane;
    return state->redo_count > 0;
}
static bool can_take_back(const struct tune_state *state, int lane) {
    (void)lane;
    return state->own->undo.len > 0;
}
static bool can_do_again(const struct tune_state *state, int lane) {
    (void)lane;
    return tune_undo_can_again(state);
}
static bool can_note(const struct tune_state *state, int lane) {
    (void)lane;
    return state->notes.len > 0;
}
static bool can_memory(const struct tune_state *state, int lane) {
    (void)lane;
    return state->memory.len > 0;
}
static bool can_restore(const struct tune_state *state, int lane) {
    (void)lane;
    return state->parts.len > 0;
}
static bool can_answer(const struct tune_state *state, int lane) {
    (void)lane;
    for (size_t i = tune_calls_open_from(state); i < state->calls.len; i++)
        if (state->calls.at[i].waits)
            return true;
    return false;
}
static bool can_send(const struct tune_state *state, int lane) {
    (void)lane;
    for (size_t i = tune_calls_open_from(state); i < state->calls.len; i++)
        if (state->calls.at[i].held)
            return true;
    return false;
}

static bool can_take_files(const struct tune_state *state, int lane) {
    (void)lane;
    return state->changed.len > 0 || state->keeps_files;
}
static bool can_keep_files(const struct tune_state *state, int lane) {
    (void)lane;
    return state->changed.len > 0;
}
static bool can_allow(const struct tune_state *state, int lane) {
    (void)lane;
    return !state->allows_seed;
}

static can_fn *const whens[] = {
#define ACTION(id, when, does, undo) [TUNE_ACT_##id] = can_##when,
#include "tune/act/actions.def"
#undef ACTION
};
enum {
    ROWS = 0
#define ACTION(id, when, does, undo) +1
#include "tune/act/actions.def"
#undef ACTION
};
_Static_assert((int)ROWS == (int)TUNE_ACTIONS, "actions.def has a row for each action");

bool tune_act_can(const struct tune_state *state, int lane, enum tune_action_kind kind) {
    if (tune_act_is_of_lane(kind) && !is_there(state, lane))
        return false;
    return whens[kind](state, lane);
}
