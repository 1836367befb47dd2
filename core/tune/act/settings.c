/* SPDX-License-Identifier: Apache-2.0 */
/* What a person sets: gates, limits, what counts as correct, what candidates may use, parts of
 * prompts, and which files are the task. */
#include "tune/act/private.h"
#include "tune/sums/inner.h"

void tune_do_gate(struct tune_state *state, const struct tune_action *act) {
    for (int i = 0; i < TUNE_STEPS; i++)
        if (act->step == TUNE_STEPS || (int)act->step == i) {
            state->steps[i].gate = act->gate;
            state->by_hand |= (unsigned)TUNE_BY_HAND_GATE << i;
        }
}

void tune_do_budget(struct tune_state *state, const struct tune_action *act) {
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

void tune_do_tolerance(struct tune_state *state, const struct tune_action *act) {
    state->tolerance = act->number;
    state->by_hand |= TUNE_BY_HAND_TOLERANCE;
    if (!tune_act_at_gate(state, TUNE_STEP_VERIFY, TUNE_STEP_VERIFY))
        return;
    lanes_verify_again(state);
    tune_act_go_on(state);
}

void tune_do_precision(struct tune_state *state, const struct tune_action *act) {
    enum tune_precision before = tune_precision_allowed(state);
    state->precision = tune_keep(state, act->text);
    state->by_hand |= TUNE_BY_HAND_PRECISION;
    tune_precision_changed(state, before);
}

void tune_do_allow(struct tune_state *state, const struct tune_action *act) {
    (void)act;
    state->allows_seed = true;
}

/* The event "closure" says which files these are. */
void tune_do_take_files(struct tune_state *state, const struct tune_action *act) {
    (void)act;
    state->changed.len = state->own->declined.len = 0;
    state->keeps_files = false;
    tune_act_go_on(state);
}

void tune_do_keep_files(struct tune_state *state, const struct tune_action *act) {
    (void)act;
    for (size_t i = 0; i < state->changed.len; i++)
        *vec_push(&state->own->declined) = state->changed.at[i];
    state->changed.len = 0;
    state->keeps_files = true;
    if (state->wait != TUNE_WAIT_GATE)
        tune_act_go_on(state);
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

void tune_do_switch_part(struct tune_state *state, const struct tune_action *act) {
    struct tune_part_change *row = part_row(state, act);
    row->off = !row->off;
    part_drop_empty(state);
}

void tune_do_edit_part(struct tune_state *state, const struct tune_action *act) {
    struct tune_part_change *row = part_row(state, act);
    row->text = tune_keep(state, act->text);
    row->off = false;
}

void tune_do_restore_part(struct tune_state *state, const struct tune_action *act) {
    part_row(state, act)->text = NULL;
    part_drop_empty(state);
}

/* The event "answered" says what the answer is. */
void tune_do_answer(struct tune_state *state, const struct tune_action *act) {
    (void)state, (void)act;
}

/* The event "sent" says what was sent. */
void tune_do_send(struct tune_state *state, const struct tune_action *act) {
    (void)state, (void)act;
}

void tune_do_hold(struct tune_state *state, const struct tune_action *act) {
    (void)act;
    state->holds = !state->holds;
}
