/* SPDX-License-Identifier: Apache-2.0 */
/* Private to apply: events that bring numbers of an attempt. */
#ifndef HONE_TUNE_APPLY_MEASURED_H
#define HONE_TUNE_APPLY_MEASURED_H

#include "tune/state/inner.h"

void tune_measured_apply(struct tune_state *state, const struct tune_event *event, int64_t wall_ms);
void tune_modelled_apply(struct tune_state *state, const struct tune_event *event, int64_t wall_ms);
void tune_verdict_apply(struct tune_state *state, const struct tune_event *event, int64_t wall_ms);

#endif
