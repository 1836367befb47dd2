/* SPDX-License-Identifier: Apache-2.0 */
/* What the next step is expected to cost, what is spent, what is held for work under way, and what
 * is left of each limit. Amounts are in the units of the budgets: rounds, seconds of the loop at
 * work, seconds of the device, tokens, dollars. */
#ifndef HONE_TUNE_BUDGET_H
#define HONE_TUNE_BUDGET_H

#include "tune/state/state.h"

/* A question before it is asked. */
struct tune_asking {
    enum tune_role role;
    size_t which;  /* of the role's models */
    double prompt; /* tokens, estimated; NAN: as this role's prompts usually are */
    double hold_tokens, hold_dollars; /* the most it may come to; NAN */
};

/* What something will cost. NAN: it costs some, but nobody knows how much. */
struct tune_expected {
    double cost[TUNE_BUDGETS];
    double prompt, answer; /* tokens of a question; 0 of what asks none */
    double cached;         /* the share of the prompt that comes from the service's cache */
    bool own;              /* by what it cost in this session before; else by a default */
    const char *unpriced;  /* a model without a price; NULL: none */
};

/* A question costs its prompt, corrected by what services counted before, and an answer as long
 * as the longest of the role's last ones. Before the first answer the role has a default
 * (expect.c). */
struct tune_expected tune_expect_call(const struct tune_state *state,
                                      const struct tune_asking *asking);
/* A step is expected to take as long as its longest one took in this session, a quarter more on the
 * device. Before the first one an evaluation takes what the seed kernel's took, and that one a
 * default. There is no default for time. */
struct tune_expected tune_expect_step(const struct tune_state *state, int lane,
                                      enum tune_step step);
/* A whole round without repairs, with as many plans and rewrites as the search makes. */
struct tune_expected tune_expect_round(const struct tune_state *state);

/* What something will cost, in few words: "about 3.1k tokens, $0.03". Parts that are not known are
 * said to be unknown. Nothing where it costs neither. */
void tune_expected_print(struct buf *out, const struct tune_expected *expected);
/* A limit in dollars with a model that has no price cannot be kept: false, and *why says so. */
bool tune_budget_is_priced(const struct tune_state *state, double dollars, struct buf *why);
/* Whether it fits into all limits; if not, *why gets the sentence: which limit, how much is spent,
 * what it would take, how to go on. `what` is "another round", "plan". */
bool tune_budget_allows(const struct tune_state *state, const struct tune_expected *expected,
                        const char *what, struct buf *why);

/* Parts of that sentence: "1.2M tokens spent, about 3.1k needed; more with ..", where `cost` is 0
 * for what runs already; "the limit of 5 rounds would be passed by another round: ". */
void tune_limit_sentence(const struct tune_state *state, enum tune_budget budget, double spent,
                         double cost, struct buf *out);
void tune_limit_passed_print(const struct tune_state *state, enum tune_budget budget,
                             const char *what, struct buf *out);

#endif
