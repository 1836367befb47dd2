/* SPDX-License-Identifier: Apache-2.0 */
/* What is worked out of the state for decisions: what is spent and left, what a sweep has tried,
 * which experiences apply, what the compiler predicts, where the next round starts. */
#ifndef HONE_TUNE_SUMS_SUMS_H
#define HONE_TUNE_SUMS_SUMS_H

#include "tune/state/state.h"
#include "tune/sums/memory.h"
#include "tune/sums/predicted.h"
#include "tune/sums/spent.h"
#include "tune/sums/sweep.h"

/* Whether rounds of the search are opened into lanes. */
bool tune_search_is_wide(const struct tune_state *state);
/* Whether the next round of a beam search starts from the attempt, as far as one knows now. */
bool tune_beam_has(const struct tune_state *state, int attempt);

#endif
