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

/* undo.c: puts aside what a step may change. Takes back a person's last step with what the loop
 * decided since, or does it again; or the last step alone, a person's or the loop's. */
void tune_undo_push(struct tune_state *state, enum tune_undo_kind kind, size_t index, int lane,
                    const char *what);
void tune_undo_step(struct tune_state *state, bool redo);
void tune_undo_last(struct tune_state *state, bool redo);
bool tune_undo_can_again(const struct tune_state *state);

#endif
