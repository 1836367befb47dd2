/* SPDX-License-Identifier: Apache-2.0 */
/* What is spent, what is held for work under way, and what is left of limits. */
#ifndef HONE_TUNE_SPENT_H
#define HONE_TUNE_SPENT_H

#include "tune/state/state.h"

/* What is spent, with an estimate for calls that ended without a report of what they took. NAN:
 * nothing is known to be spent. */
double tune_budget_spent(const struct tune_state *state, enum tune_budget budget);
/* What is held for questions that wait for an answer and for evaluations that run. */
double tune_budget_held(const struct tune_state *state, enum tune_budget budget);
/* What is neither spent nor held; NAN: there is no limit. */
double tune_budget_left(const struct tune_state *state, enum tune_budget budget);
/* The option of the command line that sets a limit: "wall", "device-time". */
const char *tune_budget_option(enum tune_budget budget);
/* "$4.91", "61.2k", "12 s"; "not reported". */
void tune_amount_print(struct buf *out, enum tune_budget budget, double amount);
/* With its noun: "$4.91", "61.2k tokens", "12 s of device". */
void tune_budget_print(struct buf *out, enum tune_budget budget, double amount);
/* "waits for NAME, 3.1 min so far, next try in 12 s: why" at that time of the wall clock. */
void tune_waiting_print(const struct tune_waiting *waiting, int64_t now_ms, struct buf *out);
/* Seconds of the device that a step takes. */
double tune_expect_device(const struct tune_state *state, enum tune_step step);
/* Whether a question waits for a person: to answer it, or to look at it before it goes out. */
bool tune_asks_person(const struct tune_state *state);

#endif
