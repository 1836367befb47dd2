/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of its parent that a plan is about. */
#ifndef HONE_TUNE_AIM_H
#define HONE_TUNE_AIM_H

#include "base/base.h"
#include "tune/events/events.h"

/* Sets the plan's lines to those that a text names, up to `most`: "40-52", "lines 40 to 52", "44",
 * "31, 38 and 40 to 52". None, where it names none in order. Texts go into the arena. */
void tune_plan_aim(struct tune_plan *plan, struct str said, int most, struct arena *arena);
/* Sets them to the lines of `old` that are other ones in `now`. Where lines are only added, the
 * plan's lines stay. */
void tune_plan_aim_at(struct tune_plan *plan, struct str old, struct str now, struct arena *arena);
bool tune_plan_is_at(const struct tune_plan *plan, int line);
/* Appends "31, 38 to 40"; nothing where the plan names none. */
void tune_plan_lines_print(struct buf *out, const struct tune_plan *plan);

#endif
