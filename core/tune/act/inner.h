/* SPDX-License-Identifier: Apache-2.0 */
/* What the rooms of tune share about actions: checking, storing and applying them. */
#ifndef HONE_TUNE_ACT_INNER_H
#define HONE_TUNE_ACT_INNER_H

#include "tune/act/act.h"

/* Applies the event of an action (type "act"). */
void tune_act_apply(struct tune_state *state, const struct tune_event_act *event);
/* The loop is about to decide about an attempt. That decision can be taken back by itself. */
void tune_undo_decided(struct tune_state *state, int attempt, const char *status);
/* The event of an action. It says its lane where the round has several; its texts are the
 * action's. */
struct tune_event tune_act_event(const struct tune_state *state,
                                 const struct tune_action *action) CC_MUST_USE;

/* The session allows another precision than before: what is the best follows; a kernel that is not
 * exact enough any more is left, and a plan that waits for a person is made anew. */
void tune_precision_changed(struct tune_state *state, enum tune_precision before);

#endif
