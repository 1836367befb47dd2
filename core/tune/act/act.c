/* SPDX-License-Identifier: Apache-2.0 */
/* The actions of a person: whether one makes sense, which lane it is about, and how its event is
 * applied. What can be undone is put aside first. */
#include "tune/act/private.h"
#include "tune/sums/inner.h"

static const struct {
    void (*does)(struct tune_state *state, const struct tune_action *act);
    enum tune_undo_kind undo;
} actions[] = {
#define ACTION(id, when, does, undo) [TUNE_ACT_##id] = {tune_do_##does, TUNE_UNDO_##undo},
#include "tune/act/actions.def"
#undef ACTION
};

int tune_act_lane(const struct tune_state *state, const struct tune_action *action) {
    bool known = (unsigned)action->kind < TUNE_ACTIONS;
    if (action->lane != TUNE_ANY_LANE || !known || !tune_act_is_of_lane(action->kind))
        return action->lane;
    for (size_t i = 0; i < state->lanes.len; i++)
        if (tune_act_can(state, (int)i, action->kind))
            return (int)i;
    return tune_lane_first(state);
}

bool tune_can(const struct tune_state *state, int lane, enum tune_action_kind kind) {
    if ((unsigned)kind >= TUNE_ACTIONS || state->read_only)
        return false;
    const struct tune_action action = {.kind = kind, .lane = lane};
    return tune_act_can(state, tune_act_lane(state, &action), kind);
}

static void undo_keep(struct tune_state *state, const struct tune_action *act, bool listed) {
    enum tune_undo_kind undo = actions[act->kind].undo;
    struct buf what = {0};
    tune_act_print(state, act, &what);
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
    if (!reads || !tune_act_can(state, act.lane, act.kind))
        return;
    enum tune_undo_kind undo = actions[act.kind].undo;
    bool listed = undo == TUNE_UNDO_NOTE || undo == TUNE_UNDO_MEMORY;
    if (listed && (act.index < 0 || (size_t)act.index >= tune_act_index_limit(state, &act)))
        return;
    undo_keep(state, &act, listed);
    actions[act.kind].does(state, &act);
}
