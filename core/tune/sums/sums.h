/* SPDX-License-Identifier: Apache-2.0 */
/* What is worked out of the state for decisions: what is spent and left, what a sweep has tried,
 * which experiences apply, what the compiler predicts, where the next round starts. */
#ifndef HONE_TUNE_SUMS_SUMS_H
#define HONE_TUNE_SUMS_SUMS_H

#include "tune/state/state.h"
#include "tune/sums/memory.h"
#include "tune/sums/predicted.h"
#include "tune/sums/spent.h"
#include "tune/sums/submission.h"
#include "tune/sums/sweep.h"

/* Whether rounds of the search are opened into lanes. */
bool tune_search_is_wide(const struct tune_state *state);
/* Whether the next round of a beam search starts from the attempt, as far as one knows now. */
bool tune_beam_has(const struct tune_state *state, int attempt);

/* once.c: whether the next plan is asked for together with its kernel: as the setting says, never
 * in a wide search; by itself where one model does both, no gate stands between them, and at least
 * half of its last kernels that came in this way passed their checks, or did after one repair turn;
 * or where those that it wrote after a plan did no better. */
bool tune_asks_for_both(const struct tune_state *state);
/* What that was decided by, where it was measured: "plan alone: in one question 1 of 3 kernels
 * passed"; nothing otherwise. */
void tune_asks_print(const struct tune_state *state, struct buf *out);

#define TUNE_STOCK_SHOWN 8 /* plans of the stock that a question and a list show */
/* stock.c: whether a plan of state->stock is still to be tried: no attempt carried it out, no lane
 * follows it now, and nobody rejected it. */
bool tune_stock_is_open(const struct tune_state *state, size_t index);
/* The plans still to be tried, as indices into state->stock, at most so many; the best first: by
 * the latency that they predict, less for each round since they were proposed last. Returns how
 * many. */
size_t tune_stock_list(const struct tune_state *state, size_t at[], size_t most);

#endif
