/* SPDX-License-Identifier: Apache-2.0 */
/* An action in words, for a person who is asked whether to take it back. */
#include <math.h>

#include "tune/act/private.h"

static void print_gate(const struct tune_action *act, struct buf *out) {
    bool all = act->step >= TUNE_STEPS;
    buf_printf(out, " of %s: %s", all ? "all steps" : tune_step_word(act->step),
               tune_gate_word(act->gate));
}

static void print_budget(const struct tune_action *act, struct buf *out) {
    buf_printf(out, " of %s: ", tune_budget_word((enum tune_budget)act->index));
    if (isfinite(act->number))
        buf_printf(out, "%.10g", act->number);
    else
        buf_puts(out, "none");
}

/* Of what it is; nothing where the name says it all. */
static void print_about(const struct tune_state *state, const struct tune_action *act,
                        struct buf *out) {
    size_t index = (size_t)act->index;
    switch (act->kind) {
    case TUNE_ACT_SET_GATE: print_gate(act, out); break;
    case TUNE_ACT_SET_BUDGET: print_budget(act, out); break;
    case TUNE_ACT_SET_TOLERANCE: buf_printf(out, ": %.3g", act->number); break;
    case TUNE_ACT_SET_PRECISION: buf_printf(out, ": %s", act->text ? act->text : "-"); break;
    case TUNE_ACT_LEAVE_HUNK: buf_printf(out, " %d", act->index + 1); break;
    case TUNE_ACT_REVERT: buf_printf(out, " to #%d", act->attempt); break;
    case TUNE_ACT_OVERRULE: buf_printf(out, ": %s", act->text ? act->text : "-"); break;
    case TUNE_ACT_EDIT_NOTE:
    case TUNE_ACT_PIN_NOTE:
    case TUNE_ACT_DROP_NOTE:
        if (index < state->notes.len)
            buf_printf(out, " of round %d", state->notes.at[index].round);
        break;
    case TUNE_ACT_APPROVE_MEMORY:
    case TUNE_ACT_EDIT_MEMORY:
    case TUNE_ACT_EXPIRE_MEMORY:
    case TUNE_ACT_DELETE_MEMORY:
        if (index < state->memory.len && state->memory.at[index].title)
            buf_printf(out, ": %.60s", state->memory.at[index].title);
        break;
    case TUNE_ACT_SWITCH_PART:
    case TUNE_ACT_EDIT_PART:
    case TUNE_ACT_RESTORE_PART:
        buf_printf(out, " %s of the %s's questions", act->part ? act->part : "-",
                   tune_role_word(act->role));
        break;
    default: break;
    }
}

static bool part_is_off(const struct tune_state *state, const struct tune_action *act) {
    for (size_t i = 0; act->part && i < state->parts.len; i++)
        if (state->parts.at[i].role == act->role && !strcmp(state->parts.at[i].part, act->part))
            return state->parts.at[i].off;
    return false;
}

/* What a person would call it. An action that puts something to and fro is called after what it
 * does now; the state is the one before it. */
static const char *name_of(const struct tune_state *state, const struct tune_action *act) {
    size_t index = (size_t)act->index;
    const struct tune_candidate *candidate = &tune_lane_of(state, act->lane)->candidate;
    switch (act->kind) {
    case TUNE_ACT_LEAVE_HUNK:
        return index < candidate->hunks.len && candidate->hunks.at[index].left ? "take hunk"
                                                                               : "leave out hunk";
    case TUNE_ACT_PIN_NOTE:
        return index < state->notes.len && state->notes.at[index].pinned ? "unpin note"
                                                                         : "pin note";
    case TUNE_ACT_SWITCH_PART: return part_is_off(state, act) ? "switch on" : "switch off";
    default: return tune_action_name(act->kind);
    }
}

void tune_act_print(const struct tune_state *state, const struct tune_action *action,
                    struct buf *out) {
    for (const char *c = name_of(state, action); *c; c++)
        buf_putc(out, *c == '-' ? ' ' : *c);
    print_about(state, action, out);
}
