/* SPDX-License-Identifier: Apache-2.0 */
/* Whether what something will cost fits into the limits, and the sentence that says why not. */
#include <math.h>
#include <stdlib.h>

#include "tune/ask/ask.h"
#include "tune/state/inner.h"
#include "tune/sums/sums.h"

static double known(double value) {
    return isnan(value) ? 0 : value;
}

void tune_expected_print(struct buf *out, const struct tune_expected *expected) {
    double tokens = expected->cost[TUNE_BUDGET_TOKENS],
           dollars = expected->cost[TUNE_BUDGET_DOLLARS];
    if (!(tokens > 0))
        return;
    buf_puts(out, "about ");
    tune_budget_print(out, TUNE_BUDGET_TOKENS, tokens);
    if (isnan(dollars)) {
        buf_puts(out, ", dollars not known");
        return;
    }
    buf_puts(out, ", ");
    tune_budget_print(out, TUNE_BUDGET_DOLLARS, dollars);
}

/* -------------------------------------------------------------------------------------- limits */

static const char *unpriced(const struct tune_state *state) {
    for (int role = 0; state->roles && role < TUNE_ROLES; role++)
        for (size_t i = 0; i < state->roles[role].count; i++) {
            const struct tune_role_model *model = &state->roles[role].models[i];
            if (!model->person && (isnan(model->price_input) || isnan(model->price_output)))
                return model->name;
        }
    return NULL;
}

/* Prints what is spent, what is held for work under way, and `cost`, which is 0 for what runs
 * already. */
void tune_limit_sentence(const struct tune_state *state, enum tune_budget budget, double spent,
                         double cost, struct buf *out) {
    const struct tune_budget_view *view = &state->budgets[budget];
    double held = cost > 0 ? tune_budget_held(state, budget) : 0;
    tune_budget_print(out, budget, known(spent));
    buf_puts(out, " spent");
    if (held > 0) {
        buf_puts(out, ", ");
        tune_budget_print(out, budget, held);
        buf_puts(out, " spoken for");
    }
    if (cost > 0) {
        buf_puts(out, ", about ");
        tune_budget_print(out, budget, cost);
        buf_puts(out, " needed");
    }
    buf_printf(out,
               view->limit < 50 ? "; more with :budget %s %.4g" : "; more with :budget %s %.0f",
               tune_budget_word(budget), view->limit * 2);
    buf_printf(out, " or hone run --%s", tune_budget_option(budget));
}

void tune_limit_passed_print(const struct tune_state *state, enum tune_budget budget,
                             const char *what, struct buf *out) {
    buf_puts(out, "the limit of ");
    tune_budget_print(out, budget, state->budgets[budget].limit);
    buf_printf(out, " would be passed by %s: ", what);
}

bool tune_budget_is_priced(const struct tune_state *state, double dollars, struct buf *why) {
    const char *stranger = isnan(dollars) ? NULL : unpriced(state);
    if (stranger)
        buf_printf(
            why,
            "a limit in dollars cannot be kept, because the price of %s is not known. Set "
            "price_input and price_output in its [model], or lift the limit: :budget dollars none",
            stranger);
    return !stranger;
}

bool tune_budget_allows(const struct tune_state *state, const struct tune_expected *expected,
                        const char *what, struct buf *why) {
    if (!tune_budget_is_priced(state, state->budgets[TUNE_BUDGET_DOLLARS].limit, why))
        return false;
    for (int i = 0; i < TUNE_BUDGETS; i++) {
        enum tune_budget budget = (enum tune_budget)i;
        double limit = state->budgets[i].limit, left = tune_budget_left(state, budget);
        double cost = known(expected->cost[i]);
        bool over = budget == TUNE_BUDGET_WALL_S && left <= 0; /* whatever comes next takes some */
        if (isnan(limit) || (!over && (cost <= 0 || cost <= left + limit * 1e-9)))
            continue;
        if (budget == TUNE_BUDGET_ROUNDS) {
            if (limit == 1)
                buf_puts(why, "the one round is done");
            else
                buf_printf(why, "all %.0f rounds are done", limit);
            return false;
        }
        tune_limit_passed_print(state, budget, what, why);
        tune_limit_sentence(state, budget, tune_budget_spent(state, budget), cost, why);
        return false;
    }
    return true;
}
