/* SPDX-License-Identifier: Apache-2.0 */
/* What a person can do: when each action makes sense, what undo puts back, and what it does to the
 * state. An action about a proposal names its lane. The driver starts and stops the work that
 * follows. */
#include <math.h>
#include <stdlib.h>

#include "tune/act/private.h"
#include "tune/sums/inner.h"

static bool at_gate(const struct tune_state *state, enum tune_step first, enum tune_step last) {
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

/* ------------------------------------------------------------------------ when it makes sense */

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
    return at_gate(state, TUNE_STEP_PLAN, TUNE_STEP_REFLECT) && !is_closed(state, lane);
}
/* Whether a model is asked for the candidate of the lane. */
static bool is_asked(const struct tune_state *state, int lane) {
    int tag = tune_lane_tag(state, lane);
    bool mine = tag < 0;
    for (size_t i = tune_calls_open_from(state); i < state->calls.len && !mine; i++)
        mine = !state->calls.at[i].ended_ms && state->calls.at[i].lane == tag;
    return mine && tune_call_runs(state);
}
static bool can_another(const struct tune_state *state, int lane) {
    return (at_gate(state, TUNE_STEP_PLAN, TUNE_STEP_BENCHMARK) && !is_closed(state, lane)) ||
           state->wait == TUNE_WAIT_REJECTED || is_asked(state, lane);
}
static bool can_choose(const struct tune_state *state, int lane) {
    (void)lane;
    return !state->way->divides && at_gate(state, TUNE_STEP_PLAN, TUNE_STEP_PLAN) &&
           state->plans.len > 1;
}
static bool can_edit_plan(const struct tune_state *state, int lane) {
    return at_gate(state, TUNE_STEP_PLAN, TUNE_STEP_PLAN) && tune_lane_plan(state, lane) &&
           !is_closed(state, lane);
}
static bool can_edit_kernel(const struct tune_state *state, int lane) {
    return at_gate(state, TUNE_STEP_REWRITE, TUNE_STEP_VERIFY) &&
           tune_lane_candidate(state, lane) && !is_closed(state, lane);
}
static bool can_write(const struct tune_state *state, int lane) {
    (void)lane;
    return has_baseline(state);
}
static bool can_leave(const struct tune_state *state, int lane) {
    const struct tune_candidate *candidate = tune_lane_candidate(state, lane);
    return at_gate(state, TUNE_STEP_REWRITE, TUNE_STEP_REWRITE) && candidate &&
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
    return at_gate(state, TUNE_STEP_BENCHMARK, TUNE_STEP_DECIDE) &&
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

/* ------------------------------------------------------------------------------ what it does */

typedef void act_fn(struct tune_state *state, const struct tune_action *act);

static void go_on(struct tune_state *state) {
    state->running = true;
    state->finished = false;
    tune_wait_set(state, TUNE_WAIT_NOTHING, NULL);
}

/* After a stop: a plateau counts anew, and a step that found nothing is tried again. */
static void act_start(struct tune_state *state, const struct tune_action *act) {
    (void)act;
    if (state->finished)
        state->plateau = 0;
    state->stopped_by_environment = false;
    if (state->finished && state->step <= TUNE_STEP_PLAN) {
        tune_steps_rewind(state, state->step);
        tune_lanes_try_again(state);
    }
    go_on(state);
}

static void act_pause(struct tune_state *state, const struct tune_action *act) {
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

/* Drops the proposal of a lane, with the reason. */
static void proposal_drop(struct tune_state *state, int lane, const char *reason) {
    const struct tune_plan *plan = tune_lane_plan(state, lane);
    int id = tune_lane_attempt(state, lane);
    struct tune_attempt *open = id > 0 ? &state->attempts.at[id] : NULL;
    struct tune_rejection row = {.round = state->round,
                                 .attempt = open ? open->id : -1,
                                 .step = state->step,
                                 .title = plan ? plan->title : NULL,
                                 .key = plan ? plan->key : NULL,
                                 .reason = tune_keep(state, reason)};
    tune_rejection_add(state, lane, row);
    if (!open)
        return;
    if (state->incumbent == open->id)
        state->incumbent = tune_state_kept_ancestor(state, open->id);
    tune_status_set(state, open, TUNE_STATUS_REJECTED, tune_keep(state, reason));
    tune_state_find_best(state);
    tune_beam_choose(state);
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

static void act_reject(struct tune_state *state, const struct tune_action *act) {
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

static void act_another(struct tune_state *state, const struct tune_action *act) {
    const char *reason = act->text && *act->text ? act->text : "another one was asked for";
    int lane = act->lane;
    if (is_asked(state, lane) && state->step == TUNE_STEP_PLAN) {
        plan_ask_again(state, lane, act->text);
    } else if (state->wait != TUNE_WAIT_REJECTED) { /* else it was dropped already */
        proposal_drop(state, lane, reason);
        proposal_again(state, lane);
    }
    go_on(state);
}

static void act_choose(struct tune_state *state, const struct tune_action *act) {
    if (act->index >= 0 && (size_t)act->index < state->plans.len)
        state->lanes.at[act->lane].plan = act->index;
}

/* Splits a text that a person edited into its first line and the rest. */
static void text_split(struct tune_state *state, const char *text, const char **first,
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

static void act_edit_plan(struct tune_state *state, const struct tune_action *act) {
    int index = tune_lane_of(state, act->lane)->plan;
    if (index < 0 || (size_t)index >= state->plans.len)
        return;
    struct tune_plan *plan = &state->plans.at[index];
    text_split(state, act->text, &plan->title, &plan->what);
    plan->edited = true;
}

/* An edited kernel is looked at before anything runs it. After a failed check it waits where a
 * rewrite waits, and is checked again; in a round of several lanes when the others go on. */
static void act_edit_kernel(struct tune_state *state, const struct tune_action *act) {
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

static void act_write_kernel(struct tune_state *state, const struct tune_action *act) {
    bool joins = state->way->joins && !state->own->round_over;
    int lane = own_lane(state, joins);
    if (lane < 0)
        return;
    *vec_push(&state->plans) = (struct tune_plan){.title = "Written by you",
                                                  .author = "you",
                                                  .what = "",
                                                  .why = "",
                                                  .metric = "latency",
                                                  .size = NAN,
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
    go_on(state);
}

static void act_sweep(struct tune_state *state, const struct tune_action *act) {
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
    go_on(state);
}

static void act_leave(struct tune_state *state, const struct tune_action *act) {
    struct tune_candidate *candidate = &state->lanes.at[act->lane].candidate;
    if (act->index < 0 || (size_t)act->index >= candidate->hunks.len)
        return;
    struct tune_hunk *hunk = &candidate->hunks.at[act->index];
    hunk->left = !hunk->left;
    hunk->why = hunk->left && act->text && *act->text ? tune_keep(state, act->text) : NULL;
    tune_candidate_compose(state, act->lane);
}

static void act_revert(struct tune_state *state, const struct tune_action *act) {
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

static void act_overrule(struct tune_state *state, const struct tune_action *act) {
    int id = act->attempt > 0 ? act->attempt : tune_lane_attempt(state, act->lane);
    if (id <= 0 || !tune_state_attempt(state, id))
        return;
    struct tune_attempt *attempt = &state->attempts.at[id];
    enum tune_status status;
    if (!tune_status_find(act->text, &status))
        return;
    tune_status_set(state, attempt, status, "overruled by you");
    if (attempt->status == TUNE_STATUS_KEEP)
        state->incumbent = id;
    else if (state->incumbent == id)
        state->incumbent = tune_state_kept_ancestor(state, id);
    tune_state_find_best(state);
    tune_beam_choose(state);
}

static void act_measure(struct tune_state *state, const struct tune_action *act) {
    tune_lane_again(state, act->lane, TUNE_STEP_BENCHMARK);
    go_on(state);
}

static void act_undo(struct tune_state *state, const struct tune_action *act) {
    (void)act;
    tune_undo_step(state, false);
}

static void act_redo(struct tune_state *state, const struct tune_action *act) {
    (void)act;
    tune_undo_step(state, true);
}

static void act_take_back(struct tune_state *state, const struct tune_action *act) {
    (void)act;
    tune_undo_last(state, false);
}

static void act_do_again(struct tune_state *state, const struct tune_action *act) {
    (void)act;
    tune_undo_last(state, true);
}

static void act_gate(struct tune_state *state, const struct tune_action *act) {
    for (int i = 0; i < TUNE_STEPS; i++)
        if (act->step == TUNE_STEPS || (int)act->step == i) {
            state->steps[i].gate = act->gate;
            state->by_hand |= (unsigned)TUNE_BY_HAND_GATE << i;
        }
}

static void act_budget(struct tune_state *state, const struct tune_action *act) {
    if (act->index < 0 || act->index >= TUNE_BUDGETS)
        return;
    state->budgets[act->index].limit = act->number;
    state->by_hand |= (unsigned)TUNE_BY_HAND_BUDGET << act->index;
    if (act->index == TUNE_BUDGET_ROUNDS && act->number >= 0 && act->number < 1e6)
        state->rounds = (int)act->number;
}

/* What was not correct by the old tolerance may be correct by the new one. */
static void lanes_verify_again(struct tune_state *state) {
    for (size_t i = 0; i < state->lanes.len; i++) {
        const struct tune_attempt *attempt = tune_attempt_in(state, (int)i);
        if (attempt && !state->lanes.at[i].closed && attempt->status == TUNE_STATUS_OPEN)
            tune_lane_again(state, (int)i, TUNE_STEP_VERIFY);
    }
}

static void act_tolerance(struct tune_state *state, const struct tune_action *act) {
    state->tolerance = act->number;
    state->by_hand |= TUNE_BY_HAND_TOLERANCE;
    if (!at_gate(state, TUNE_STEP_VERIFY, TUNE_STEP_VERIFY))
        return;
    lanes_verify_again(state);
    go_on(state);
}

static void act_precision(struct tune_state *state, const struct tune_action *act) {
    state->precision = tune_keep(state, act->text);
    state->by_hand |= TUNE_BY_HAND_PRECISION;
}

static bool can_allow(const struct tune_state *state, int lane) {
    (void)lane;
    return !state->allows_seed;
}

static void act_allow(struct tune_state *state, const struct tune_action *act) {
    (void)act;
    state->allows_seed = true;
}

/* The event "closure" says which files these are. */
static void act_take_files(struct tune_state *state, const struct tune_action *act) {
    (void)act;
    state->changed.len = 0;
    state->keeps_files = false;
    go_on(state);
}

static void act_keep_files(struct tune_state *state, const struct tune_action *act) {
    (void)act;
    state->changed.len = 0;
    state->keeps_files = true;
    if (state->wait != TUNE_WAIT_GATE)
        go_on(state);
}

static struct tune_note *note_of(struct tune_state *state, const struct tune_action *act) {
    return act->index >= 0 && (size_t)act->index < state->notes.len ? &state->notes.at[act->index]
                                                                    : NULL;
}

static struct tune_experience *memory_of(struct tune_state *state, const struct tune_action *act) {
    return act->index >= 0 && (size_t)act->index < state->memory.len ? &state->memory.at[act->index]
                                                                     : NULL;
}

static void act_edit_note(struct tune_state *state, const struct tune_action *act) {
    struct tune_note *note = note_of(state, act);
    if (!note)
        return;
    struct str text = str_trim(str_of(act->text));
    note->lesson = tune_keep_str(state, text);
    note->edited = true;
}

static void act_pin_note(struct tune_state *state, const struct tune_action *act) {
    struct tune_note *note = note_of(state, act);
    if (note)
        note->pinned = !note->pinned;
}

static void act_drop_note(struct tune_state *state, const struct tune_action *act) {
    struct tune_note *note = note_of(state, act);
    if (note)
        note->dropped = !note->dropped;
}

static void act_approve_memory(struct tune_state *state, const struct tune_action *act) {
    struct tune_experience *item = memory_of(state, act);
    if (!item)
        return;
    item->is = TUNE_EXPERIENCE_APPROVED;
    item->expired = NULL;
}

static void act_edit_memory(struct tune_state *state, const struct tune_action *act) {
    struct tune_experience *item = memory_of(state, act);
    if (!item)
        return;
    text_split(state, act->text, &item->title, &item->summary);
    item->edited = true;
    tune_memory_index(state, (size_t)act->index);
}

static void act_expire_memory(struct tune_state *state, const struct tune_action *act) {
    struct tune_experience *item = memory_of(state, act);
    if (item)
        item->is = item->is == TUNE_EXPERIENCE_EXPIRED ? TUNE_EXPERIENCE_APPROVED
                                                       : TUNE_EXPERIENCE_EXPIRED;
}

static void act_delete_memory(struct tune_state *state, const struct tune_action *act) {
    struct tune_experience *item = memory_of(state, act);
    if (item)
        item->is = TUNE_EXPERIENCE_DELETED;
}

/* The row of a part; it is made where there is none. */
static struct tune_part_change *part_row(struct tune_state *state, const struct tune_action *act) {
    for (size_t i = 0; i < state->parts.len; i++)
        if (state->parts.at[i].role == act->role && !strcmp(state->parts.at[i].part, act->part))
            return &state->parts.at[i];
    struct tune_part_change *row = vec_push(&state->parts);
    *row = (struct tune_part_change){.role = act->role, .part = tune_keep(state, act->part)};
    return row;
}

static void part_drop_empty(struct tune_state *state) {
    size_t left = 0;
    for (size_t i = 0; i < state->parts.len; i++)
        if (state->parts.at[i].off || state->parts.at[i].text)
            state->parts.at[left++] = state->parts.at[i];
    state->parts.len = left;
}

static void act_switch_part(struct tune_state *state, const struct tune_action *act) {
    struct tune_part_change *row = part_row(state, act);
    row->off = !row->off;
    part_drop_empty(state);
}

static void act_edit_part(struct tune_state *state, const struct tune_action *act) {
    struct tune_part_change *row = part_row(state, act);
    row->text = tune_keep(state, act->text);
    row->off = false;
}

static void act_restore_part(struct tune_state *state, const struct tune_action *act) {
    part_row(state, act)->text = NULL;
    part_drop_empty(state);
}

/* The event "answered" says what the answer is. */
static void act_answer(struct tune_state *state, const struct tune_action *act) {
    (void)state, (void)act;
}

/* The event "sent" says what was sent. */
static void act_send(struct tune_state *state, const struct tune_action *act) {
    (void)state, (void)act;
}

static void act_hold(struct tune_state *state, const struct tune_action *act) {
    (void)act;
    state->holds = !state->holds;
}

/* Whether it is about an attempt of this round. */
static bool is_of_round(const struct tune_state *state, const struct tune_experience *item) {
    bool mine = false;
    for (size_t i = 0; i < state->lanes.len; i++)
        mine = mine || (item->attempt >= 0 && state->lanes.at[i].attempt == item->attempt);
    return mine && !item->imported;
}

static void act_approve(struct tune_state *state, const struct tune_action *act) {
    if (state->wait_step == TUNE_STEP_REWRITE)
        tune_declined_note(state);
    if (state->wait_step == TUNE_STEP_SUMMARISE)
        for (size_t i = 0; i < state->memory.len; i++)
            if (is_of_round(state, &state->memory.at[i]) &&
                state->memory.at[i].is == TUNE_EXPERIENCE_PROPOSED)
                state->memory.at[i].is = TUNE_EXPERIENCE_APPROVED;
    act_start(state, act);
}

/* --------------------------------------------------------------------------------- the table */

static const struct {
    can_fn *can;
    act_fn *fn;
    enum tune_undo_kind undo;
} actions[] = {
    [TUNE_ACT_START] = {can_start, act_start, TUNE_UNDO_NONE},
    [TUNE_ACT_PAUSE] = {can_pause, act_pause, TUNE_UNDO_NONE},
    [TUNE_ACT_APPROVE] = {can_approve, act_approve, TUNE_UNDO_FLOW},
    [TUNE_ACT_REJECT] = {can_reject, act_reject, TUNE_UNDO_FLOW},
    [TUNE_ACT_ANOTHER] = {can_another, act_another, TUNE_UNDO_FLOW},
    [TUNE_ACT_CHOOSE_PLAN] = {can_choose, act_choose, TUNE_UNDO_FLOW},
    [TUNE_ACT_EDIT_PLAN] = {can_edit_plan, act_edit_plan, TUNE_UNDO_FLOW},
    [TUNE_ACT_EDIT_KERNEL] = {can_edit_kernel, act_edit_kernel, TUNE_UNDO_FLOW},
    [TUNE_ACT_WRITE_KERNEL] = {can_write, act_write_kernel, TUNE_UNDO_FLOW},
    [TUNE_ACT_SWEEP] = {can_write, act_sweep, TUNE_UNDO_FLOW},
    [TUNE_ACT_LEAVE_HUNK] = {can_leave, act_leave, TUNE_UNDO_FLOW},
    [TUNE_ACT_REVERT] = {can_revert, act_revert, TUNE_UNDO_FLOW},
    [TUNE_ACT_OVERRULE] = {can_overrule, act_overrule, TUNE_UNDO_FLOW},
    [TUNE_ACT_MEASURE] = {can_measure, act_measure, TUNE_UNDO_FLOW},
    [TUNE_ACT_UNDO] = {can_undo, act_undo, TUNE_UNDO_NONE},
    [TUNE_ACT_REDO] = {can_redo, act_redo, TUNE_UNDO_NONE},
    [TUNE_ACT_TAKE_BACK] = {can_take_back, act_take_back, TUNE_UNDO_NONE},
    [TUNE_ACT_DO_AGAIN] = {can_do_again, act_do_again, TUNE_UNDO_NONE},
    [TUNE_ACT_SET_GATE] = {can_always, act_gate, TUNE_UNDO_SETTINGS},
    [TUNE_ACT_SET_BUDGET] = {can_always, act_budget, TUNE_UNDO_SETTINGS},
    [TUNE_ACT_SET_TOLERANCE] = {can_always, act_tolerance, TUNE_UNDO_SETTINGS},
    [TUNE_ACT_SET_PRECISION] = {can_always, act_precision, TUNE_UNDO_SETTINGS},
    [TUNE_ACT_EDIT_NOTE] = {can_note, act_edit_note, TUNE_UNDO_NOTE},
    [TUNE_ACT_PIN_NOTE] = {can_note, act_pin_note, TUNE_UNDO_NOTE},
    [TUNE_ACT_DROP_NOTE] = {can_note, act_drop_note, TUNE_UNDO_NOTE},
    [TUNE_ACT_APPROVE_MEMORY] = {can_memory, act_approve_memory, TUNE_UNDO_MEMORY},
    [TUNE_ACT_EDIT_MEMORY] = {can_memory, act_edit_memory, TUNE_UNDO_MEMORY},
    [TUNE_ACT_EXPIRE_MEMORY] = {can_memory, act_expire_memory, TUNE_UNDO_MEMORY},
    [TUNE_ACT_DELETE_MEMORY] = {can_memory, act_delete_memory, TUNE_UNDO_MEMORY},
    [TUNE_ACT_SWITCH_PART] = {can_always, act_switch_part, TUNE_UNDO_PARTS},
    [TUNE_ACT_EDIT_PART] = {can_always, act_edit_part, TUNE_UNDO_PARTS},
    [TUNE_ACT_RESTORE_PART] = {can_restore, act_restore_part, TUNE_UNDO_PARTS},
    [TUNE_ACT_ANSWER] = {can_answer, act_answer, TUNE_UNDO_NONE},
    [TUNE_ACT_HOLD] = {can_always, act_hold, TUNE_UNDO_SETTINGS},
    [TUNE_ACT_SEND] = {can_send, act_send, TUNE_UNDO_NONE},
    [TUNE_ACT_TAKE_FILES] = {can_take_files, act_take_files, TUNE_UNDO_NONE},
    [TUNE_ACT_KEEP_FILES] = {can_keep_files, act_keep_files, TUNE_UNDO_NONE},
    [TUNE_ACT_ALLOW] = {can_allow, act_allow, TUNE_UNDO_SETTINGS},
};

static bool can(const struct tune_state *state, int lane, enum tune_action_kind kind) {
    if (tune_act_is_of_lane(kind) && !is_there(state, lane))
        return false;
    return actions[kind].can(state, lane);
}

int tune_act_lane(const struct tune_state *state, const struct tune_action *action) {
    bool known = (unsigned)action->kind < TUNE_ACTIONS;
    if (action->lane != TUNE_ANY_LANE || !known || !tune_act_is_of_lane(action->kind))
        return action->lane;
    for (size_t i = 0; i < state->lanes.len; i++)
        if (can(state, (int)i, action->kind))
            return (int)i;
    return tune_lane_first(state);
}

bool tune_can(const struct tune_state *state, int lane, enum tune_action_kind kind) {
    if ((unsigned)kind >= TUNE_ACTIONS || state->read_only)
        return false;
    const struct tune_action action = {.kind = kind, .lane = lane};
    return can(state, tune_act_lane(state, &action), kind);
}

static void undo_keep(struct tune_state *state, const struct tune_action *act, bool listed) {
    enum tune_undo_kind undo = actions[act->kind].undo;
    struct buf what = {0};
    buf_puts(&what, tune_action_name(act->kind));
    if (undo == TUNE_UNDO_FLOW)
        buf_printf(&what, " (%s, round %d)", tune_step_word(state->step), state->round);
    tune_undo_push(state, undo, listed ? (size_t)act->index : 0,
                   tune_act_is_of_lane(act->kind) ? act->lane : -1, what.at);
    buf_free(&what);
}

void tune_act_apply(struct tune_state *state, const struct tune_event_act *event) {
    struct tune_action act;
    bool reads = tune_act_read(event, &act);
    if (reads && act.kind == TUNE_ACT_LEAVE_HUNK)
        tune_candidate_ready(state, act.lane);
    if (!reads || !can(state, act.lane, act.kind))
        return;
    enum tune_undo_kind undo = actions[act.kind].undo;
    bool listed = undo == TUNE_UNDO_NOTE || undo == TUNE_UNDO_MEMORY;
    if (listed && (act.index < 0 || (size_t)act.index >= tune_act_index_limit(state, &act)))
        return;
    undo_keep(state, &act, listed);
    actions[act.kind].fn(state, &act);
}
