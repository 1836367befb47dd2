/* SPDX-License-Identifier: Apache-2.0 */
/* Private to act: what its files share. */
#ifndef HONE_TUNE_ACT_PRIVATE_H
#define HONE_TUNE_ACT_PRIVATE_H

#include "tune/act/inner.h"
#include "tune/state/inner.h"

/* act_arguments.c: an action with everything it needs, as the event has it; whether it is about a
 * lane; how long the list is that its index points into. */
bool tune_act_read(const struct tune_event_act *event, struct tune_action *act) CC_MUST_USE;
bool tune_act_is_of_lane(enum tune_action_kind kind);
size_t tune_act_index_limit(const struct tune_state *state, const struct tune_action *action);
/* act_print.c: what it does to the state, and to what in it: "gate of plan: ask", "drop note of
 * round 3". */
void tune_act_print(const struct tune_state *state, const struct tune_action *action,
                    struct buf *out);

/* can.c: whether an action makes sense now, about this lane; whether the loop waits at a gate after
 * one of these steps; whether a model is asked for the candidate of the lane. */
bool tune_act_can(const struct tune_state *state, int lane, enum tune_action_kind kind);
bool tune_act_at_gate(const struct tune_state *state, enum tune_step first, enum tune_step last);
bool tune_act_is_asked(const struct tune_state *state, int lane);

/* proposal.c: the loop runs and waits for nothing. An edited text's first line, and the rest; both
 * are the state's. */
void tune_act_go_on(struct tune_state *state);
void tune_act_text_split(struct tune_state *state, const char *text, const char **first,
                         const char **rest);

/* What each action does (actions.def): proposal.c, settings.c, lessons.c, undo.c. */
#define ACTION(id, when, does, undo) \
    void tune_do_##does(struct tune_state *state, const struct tune_action *act);
#include "tune/act/actions.def"
#undef ACTION

/* undo.c: puts aside what a step may change. Whether a person's or the loop's last step can be done
 * again. */
void tune_undo_push(struct tune_state *state, enum tune_undo_kind kind, size_t index, int lane,
                    const char *what);
bool tune_undo_can_again(const struct tune_state *state);

#endif
