/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the models that share a role is asked next, and why. */
#ifndef HONE_TUNE_CHOOSE_H
#define HONE_TUNE_CHOOSE_H

#include "tune/state/state.h"

/* By what models are compared. EVEN: not at all, they take turns. UNTRIED: one was never asked. */
enum tune_choice_by {
    TUNE_CHOICE_EVEN,
    TUNE_CHOICE_UNTRIED,
    TUNE_CHOICE_TOKENS,
    TUNE_CHOICE_DOLLARS
};

struct tune_choice_row {
    const char *model;
    int asked;              /* questions of this role, those under way too */
    double gain;            /* speedup of its proposals that were kept, multiplied: 1.3; 1: none */
    double tokens, dollars; /* of its questions; NAN: not known of one of them */
    double share;           /* gain for its cost, as a part of the best model's */
    double bonus;           /* for being asked seldom */
};
struct tune_choice {
    enum tune_choice_by by;
    size_t next; /* of the rows, which are in the role's order */
    VEC(struct tune_choice_row) rows;
};

/* UCB1 over the logarithm of the gain for the cost: the model with the largest share + bonus is
 * next, where bonus = sqrt(2 ln(all questions) / its questions); of equals the one named first.
 * Each model is tried once before. A question counts at least a hundredth of a cent, so that a free
 * model is the best one but not the only one. Costs are in dollars where they are known of every
 * question, else in tokens. Where neither is known, and for roles whose answers gain nothing by
 * themselves, models take turns. Only the state decides. Free with tune_choice_free. */
void tune_choice_make(const struct tune_state *state, enum tune_role role,
                      struct tune_choice *choice);
void tune_choice_free(struct tune_choice *choice);
/* "dollars": the word of it. */
const char *tune_choice_word(enum tune_choice_by by);

#endif
