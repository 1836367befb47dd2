/* SPDX-License-Identifier: Apache-2.0 */
/* What events change in the sums. For the rooms of tune. */
#ifndef HONE_TUNE_SUMS_INNER_H
#define HONE_TUNE_SUMS_INNER_H

#include "tune/state/inner.h"
#include "tune/sums/sums.h"

/* beam.c: an event. The attempts the next round starts from, where there is a beam: the best of the
 * last ones and of what the lanes brought. */
void tune_beam_apply(struct tune_state *state, const struct tune_event *event, int64_t wall_ms);
void tune_beam_choose(struct tune_state *state);
/* predicted.c: an event. */
void tune_predicted_apply(struct tune_state *state, const struct tune_event *event,
                          int64_t wall_ms);
/* spent.c: the clock goes on to the time of an event; the event "spent"; limits of "session". */
void tune_budget_clock(struct tune_state *state, enum tune_event_is is, int64_t wall_ms);
void tune_limits_note(struct tune_state *state, const struct tune_by_name *limits);
void tune_spent_note(struct tune_state *state, const struct tune_event *event, int64_t wall_ms);
/* took.c: an evaluation, a whole step ended. */
void tune_took_note(struct tune_state *state, enum tune_step step, bool rest, double device_s);
void tune_step_took(struct tune_state *state, enum tune_step step, double wall_s);

#endif
