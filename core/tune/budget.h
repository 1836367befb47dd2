/* SPDX-License-Identifier: Apache-2.0 */
/* What the next step is expected to cost, what is spent, what is spoken for by what is under way,
 * and what is left of each limit. Amounts are in the budgets' own units: rounds, seconds of the
 * loop at work, seconds of the device, tokens, dollars. */
#ifndef HONE_TUNE_BUDGET_H
#define HONE_TUNE_BUDGET_H

#include "tune/state.h"

/* A question before it is asked. */
struct tune_asking {
    enum tune_role role;
    size_t which;  /* of the role's models */
    double prompt; /* tokens, estimated; NAN: as this role's prompts usually are */
    double hold_tokens, hold_dollars; /* what it may come to; NAN */
};

/* What something will cost. NAN: it costs some, but nobody knows how much. */
struct tune_expected {
    double cost[TUNE_BUDGETS];
    double prompt, answer; /* tokens of a question; 0 of what asks none */
    double cached;         /* the share of the prompt that comes from the service's cache */
    bool own;              /* by what it took in this session before; else by a default */
    const char *unpriced;  /* a model without a price; NULL: none */
};

/* A question costs its prompt, corrected by what services counted before, and an answer as long as
 * the longest of the role's last ones; before the first one a default of the role (expect.c). */
struct tune_expected tune_expect_call(const struct tune_state *state,
                                      const struct tune_asking *asking);
/* A step is expected to take what its longest one took in this session, a quarter more on the
 * device. Before the first one: an evaluation takes what the seed kernel's took, that one a
 * default; time has none. */
struct tune_expected tune_expect_step(const struct tune_state *state, enum tune_step step);
/* Seconds of the device that a step takes. */
double tune_expect_device(const struct tune_state *state, enum tune_step step);
/* A whole round without repairs, with as many plans and rewrites as the search makes. */
struct tune_expected tune_expect_round(const struct tune_state *state);

/* What is spent, with an estimate for calls that ended without anybody telling what they took; NAN:
 * nothing is known to be spent. */
double tune_budget_spent(const struct tune_state *state, enum tune_budget budget);
/* Spoken for: by questions that wait for an answer, by evaluations that run. */
double tune_budget_held(const struct tune_state *state, enum tune_budget budget);
/* What is neither spent nor spoken for; NAN: there is no limit. */
double tune_budget_left(const struct tune_state *state, enum tune_budget budget);
/* The option of the command line that sets a limit: "wall", "device-time". */
const char *tune_budget_option(enum tune_budget budget);
/* "$4.91", "61.2k", "12 s"; "not reported". */
void tune_amount_print(struct buf *out, enum tune_budget budget, double amount);
/* With its noun: "$4.91", "61.2k tokens", "12 s of device". */
void tune_budget_print(struct buf *out, enum tune_budget budget, double amount);
/* The same for what something will cost, shortly: "about 3.1k tokens, $0.03"; unknown parts are
 * said to be. Nothing where it costs neither. */
void tune_expected_print(struct buf *out, const struct tune_expected *expected);
/* A limit in dollars with a model that has no price cannot be kept: false, and *why says so. */
bool tune_budget_is_priced(const struct tune_state *state, struct buf *why);
/* Whether it fits into all limits; if not, *why gets the sentence: which limit, how much is spent,
 * what it would take, how to go on. `what` is "another round", "plan". */
bool tune_budget_allows(const struct tune_state *state, const struct tune_expected *expected,
                        const char *what, struct buf *why);

#endif
