/* SPDX-License-Identifier: Apache-2.0 */
/* The state as a function of the event log. */
#ifndef HONE_TUNE_APPLY_H
#define HONE_TUNE_APPLY_H

#include "tune/state/state.h"

/* Applies one stored event. Payloads that make no sense change nothing. */
void tune_state_apply(struct tune_state *state, int64_t seq, int64_t wall_ms, const char *type,
                      const char *payload);
/* The same for an event that was read before (tune_event_hear). It may be changed to the form that
 * the state has. */
void tune_state_apply_read(struct tune_state *state, int64_t seq, int64_t wall_ms,
                           struct tune_event_said *said);

#endif
