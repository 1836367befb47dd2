/* SPDX-License-Identifier: Apache-2.0 */
/* Plans that were proposed: each one once, whatever became of it. Which of them are still to be
 * tried, and in which order, is worked out in sums/stock.c. Nothing leaves the list, so the number
 * of a plan in the log means the same plan for ever. */
#include <math.h>

#include "tune/state/inner.h"

static bool same(const char *a, const char *b) {
    return a && b && *a && !strcmp(a, b);
}

/* The rewriter makes its plans anew from each kernel, and a sweep knows its own values. */
static bool is_kept(const struct tune_plan *plan) {
    bool own = plan->author && !strcmp(plan->author, "rewriter");
    return plan->key && *plan->key && plan->title && !plan->sweep && !own;
}

void tune_stock_add(struct tune_state *state, const struct tune_plan *plan, int parent) {
    if (!is_kept(plan))
        return;
    for (size_t i = 0; i < state->stock.len; i++)
        if (same(state->stock.at[i].plan.key, plan->key)) {
            state->stock.at[i].again = state->round;
            return;
        }
    *vec_push(&state->stock) = (struct tune_stocked){
        .plan = *plan, .round = state->round, .again = state->round, .parent = parent};
}

void tune_stock_tried(struct tune_state *state, const struct tune_plan *plan) {
    for (size_t i = 0; i < state->stock.len; i++) {
        struct tune_stocked *row = &state->stock.at[i];
        if (same(row->plan.key, plan->key) ||
            (row->round < state->round && tune_same_direction(&row->plan, plan)))
            row->tried = true;
    }
}
