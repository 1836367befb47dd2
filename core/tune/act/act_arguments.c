/* SPDX-License-Identifier: Apache-2.0 */
/* The arguments of what a person can do: how they are asked for, the sentence for a wrong one, and
 * how the event holds them. What actions do is in the files beside this one. */
#include <math.h>

#include "tune/act/private.h"
#include "tune/sums/inner.h"

#define X(id, name, fields) [TUNE_ACT_##id] = {name, fields},
static const struct { const char *name, *fields; } names[] = {TUNE_ACTION_TABLE(X)};
#undef X

const char *tune_action_name(enum tune_action_kind kind) {
    return (unsigned)kind < TUNE_ACTIONS ? names[kind].name : "?";
}

static bool reads(enum tune_action_kind kind, const char *field) {
    struct str fields = str_of(names[kind].fields), one;
    while (str_next(&fields, ' ', &one))
        if (str_is(one, field))
            return true;
    return false;
}

static bool text_check(const struct tune_action *action, struct err *err) {
    struct str text = str_trim(str_of(action->text));
    if (action->kind == TUNE_ACT_ANOTHER)
        return true;
    if (!text.len)
        return err_set(err, ERR_USAGE, "%s needs a text", tune_action_name(action->kind));
    enum tune_status status;
    if (action->kind == TUNE_ACT_OVERRULE &&
        (!tune_status_find(action->text, &status) || status == TUNE_STATUS_OPEN ||
         status == TUNE_STATUS_FAILED || status == TUNE_STATUS_REJECTED))
        return err_set(err, ERR_USAGE,
                       "overrule takes keep, revert, inconclusive or suspect, not \"%.60s\"",
                       action->text);
    return true;
}

bool tune_act_is_of_lane(enum tune_action_kind kind) {
    return reads(kind, "lane");
}

/* How long the list is that action->index points into. */
size_t tune_act_index_limit(const struct tune_state *state, const struct tune_action *action) {
    enum tune_action_kind kind = action->kind;
    if (kind == TUNE_ACT_CHOOSE_PLAN)
        return state->plans.len;
    if (kind == TUNE_ACT_TAKE_PLAN)
        return state->stock.len;
    if (kind == TUNE_ACT_LEAVE_HUNK)
        return tune_lane_of(state, action->lane)->candidate.hunks.len;
    if (kind == TUNE_ACT_SET_BUDGET)
        return TUNE_BUDGETS;
    if (kind == TUNE_ACT_ANSWER || kind == TUNE_ACT_SEND)
        return state->calls.len;
    return kind >= TUNE_ACT_EDIT_NOTE && kind <= TUNE_ACT_DROP_NOTE ? state->notes.len
                                                                    : state->memory.len;
}

static bool attempt_check(const struct tune_state *state, const struct tune_action *action,
                          struct err *err) {
    bool by_default = action->kind == TUNE_ACT_OVERRULE && action->attempt == 0;
    int id = by_default ? tune_lane_attempt(state, action->lane) : action->attempt;
    const struct tune_attempt *attempt = tune_state_attempt(state, id);
    if (!attempt || (action->kind == TUNE_ACT_OVERRULE && id == 0))
        return err_set(err, ERR_USAGE, "there is no attempt %d to %s", id,
                       tune_action_name(action->kind));
    if (attempt->verdict.compiles != TUNE_ANSWER_YES || isnan(attempt->latency_us))
        return err_set(err, ERR_USAGE, "attempt %d did not compile or was never measured", id);
    if (action->kind == TUNE_ACT_REVERT && id == state->incumbent && state->way->opens &&
        !tune_lane_candidate(state, 0))
        return err_set(err, ERR_USAGE, "attempt %d is the incumbent already", id);
    return true;
}

/* Why the action cannot be done now: what everything waits for, where that is known. */
static bool not_now(const struct tune_state *state, enum tune_action_kind kind, struct err *err) {
    const char *name = tune_action_name(kind);
    bool measures =
        kind == TUNE_ACT_SWEEP || kind == TUNE_ACT_WRITE_KERNEL || kind == TUNE_ACT_REVERT;
    if (kind == TUNE_ACT_UNDO || kind == TUNE_ACT_TAKE_BACK)
        return err_set(err, ERR_USAGE, "there is nothing to take back");
    if (kind == TUNE_ACT_REDO || kind == TUNE_ACT_DO_AGAIN)
        return err_set(err, ERR_USAGE, "nothing was taken back, so there is nothing to do again");
    if (measures && state->incumbent < 0)
        return err_set(err, ERR_USAGE,
                       "%s needs the first kernel's time: start the loop, which measures it first",
                       name);
    if (kind == TUNE_ACT_REVERT || kind == TUNE_ACT_OVERRULE)
        return err_set(err, ERR_USAGE, "%s has nothing to choose from: there is one attempt", name);
    if (kind == TUNE_ACT_START && state->changed.len)
        return err_set(err, ERR_USAGE,
                       "%s changed on disk: take it in (:take-files), or keep the session's "
                       "(:keep-files)",
                       state->changed.at[0].name);
    if (kind == TUNE_ACT_TAKE_FILES || kind == TUNE_ACT_KEEP_FILES)
        return err_set(err, ERR_USAGE, "no file of this task changed on disk");
    if (kind == TUNE_ACT_START && state->wait == TUNE_WAIT_GATE)
        return err_set(err, ERR_USAGE,
                       "%s waits for you: approve goes on, reject and another ask for a new one",
                       tune_step_word(state->wait_step));
    return err_set(err, ERR_USAGE, "%s makes no sense now%s%s", name, state->wait_text ? ": " : "",
                   state->wait_text ? state->wait_text : "");
}

static bool number_check(const struct tune_action *action, struct err *err) {
    if (action->kind == TUNE_ACT_SET_TOLERANCE)
        return (action->number > 0 && action->number < 1) ||
               err_set(err, ERR_USAGE, "a tolerance must be between 0 and 1, not %g",
                       action->number);
    return isnan(action->number) || action->number >= 0 ||
           err_set(err, ERR_USAGE, "a budget cannot be negative: %g", action->number);
}

static bool sweep_check(const struct tune_state *state, const char *text, struct err *err) {
    struct arena *arena = arena_new();
    struct tune_plan plans[TUNE_SWEEP_MOST];
    size_t count = tune_sweep_asked(state, text, arena, plans, err);
    arena_free(arena);
    if (!count && err)
        err->kind = ERR_USAGE;
    return count > 0;
}

static bool lane_check(const struct tune_state *state, const struct tune_action *action,
                       struct err *err) {
    int lane = action->lane, count = (int)state->lanes.len;
    if (lane >= 0 && lane < count)
        return true;
    return err_set(err, ERR_USAGE, "%s: there is no lane %d; this round has %d",
                   tune_action_name(action->kind), lane + 1, count);
}

static bool is_empty(const struct tune_lane *lane) {
    const struct tune_candidate *candidate = &lane->candidate;
    size_t left = 0;
    for (size_t i = 0; i < candidate->hunks.len; i++)
        left += candidate->hunks.at[i].left;
    return !lane->closed && candidate->exists && left && left == candidate->hunks.len;
}

/* Only a new action is refused, not one that an older log has: a replay never comes here. */
static bool change_check(const struct tune_state *state, struct err *err) {
    bool empty = false;
    for (size_t i = 0; state->wait_step == TUNE_STEP_REWRITE && i < state->lanes.len; i++)
        empty = empty || is_empty(&state->lanes.at[i]);
    return !empty || err_set(err, ERR_USAGE,
                             "every hunk is left out, so there is nothing to try: take one in "
                             "again, or reject the change");
}

bool tune_act_check(const struct tune_state *state, const struct tune_action *action,
                    struct err *err) {
    if ((unsigned)action->kind >= TUNE_ACTIONS)
        return err_set(err, ERR_USAGE, "there is no such action");
    if (state->read_only)
        return err_set(err, ERR_USAGE, "this session is open for reading only: %s",
                       state->why_read_only ? state->why_read_only : "another process has it");
    if (tune_act_is_of_lane(action->kind) && !lane_check(state, action, err))
        return false;
    if (!tune_can(state, action->lane, action->kind))
        return not_now(state, action->kind, err);
    if (action->kind == TUNE_ACT_APPROVE && !change_check(state, err))
        return false;
    if (reads(action->kind, "text") && !text_check(action, err))
        return false;
    if (action->kind == TUNE_ACT_SWEEP && !sweep_check(state, action->text, err))
        return false;
    if (reads(action->kind, "number") && !number_check(action, err))
        return false;
    if (reads(action->kind, "attempt") && !attempt_check(state, action, err))
        return false;
    if (reads(action->kind, "index") &&
        (action->index < 0 || (size_t)action->index >= tune_act_index_limit(state, action)))
        return err_set(err, ERR_USAGE, "%s: there is no number %d", tune_action_name(action->kind),
                       action->index);
    if (action->kind == TUNE_ACT_ANSWER && !state->calls.at[action->index].waits)
        return err_set(err, ERR_USAGE, "question %d does not wait for an answer", action->index);
    if (action->kind == TUNE_ACT_SEND && !state->calls.at[action->index].held)
        return err_set(err, ERR_USAGE, "question %d has been sent already", action->index);
    if (reads(action->kind, "part") && ((unsigned)action->role >= TUNE_ROLES || !action->part))
        return err_set(err, ERR_USAGE, "%s needs a role and a part of its prompt",
                       tune_action_name(action->kind));
    if (reads(action->kind, "gate") &&
        ((unsigned)action->gate >= TUNE_GATES || (unsigned)action->step > TUNE_STEPS))
        return err_set(err, ERR_USAGE, "there is no such gate");
    return true;
}

struct tune_event tune_act_event(const struct tune_state *state, const struct tune_action *action) {
    enum tune_action_kind kind = action->kind;
    struct tune_event event = tune_event_empty(TUNE_EVENT_ACT);
    struct tune_event_act *act = &event.act;
    act->action = tune_action_name(kind);
    if (reads(kind, "lane"))
        act->lane = tune_lane_tag(state, action->lane);
    if (reads(kind, "step"))
        act->step = action->step == TUNE_STEPS ? "all" : tune_step_word(action->step);
    if (reads(kind, "gate"))
        act->gate = action->gate;
    if (reads(kind, "attempt"))
        act->attempt = action->attempt;
    if (reads(kind, "role"))
        act->role = action->role;
    if (reads(kind, "part"))
        act->part = action->part;
    if (reads(kind, "index"))
        act->index = action->index;
    if (reads(kind, "number"))
        act->number = action->number;
    if (reads(kind, "text") || reads(kind, "why"))
        act->text = action->text;
    event.form = kind == TUNE_ACT_SET_BUDGET   ? TUNE_FORM_ACT_LIMIT
                 : kind == TUNE_ACT_ANOTHER    ? TUNE_FORM_ACT_REASON
                 : kind == TUNE_ACT_LEAVE_HUNK ? TUNE_FORM_ACT_LEAVE
                                               : TUNE_FORM_WHOLE;
    return event;
}

bool tune_act_read(const struct tune_event_act *event, struct tune_action *act) {
    *act = (struct tune_action){.kind = TUNE_ACTIONS,
                                .step = TUNE_STEPS,
                                .gate = event->gate < TUNE_GATES ? event->gate : (enum tune_gate)0,
                                .attempt = event->attempt != TUNE_EVENT_NO_INT ? event->attempt : 0,
                                .lane = event->lane,
                                .index = event->index,
                                .number = event->number,
                                .role = event->role,
                                .part = event->part,
                                .text = event->text};
    tune_step_find(event->step, &act->step);
    for (int i = 0; event->action && i < TUNE_ACTIONS; i++)
        if (!strcmp(names[i].name, event->action))
            act->kind = (enum tune_action_kind)i;
    if (act->kind == TUNE_ACTIONS)
        return false;
    if (reads(act->kind, "part") && (act->role == TUNE_ROLES || !act->part))
        return false;
    return !reads(act->kind, "text") || act->text || act->kind == TUNE_ACT_ANOTHER;
}
