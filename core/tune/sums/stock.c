/* SPDX-License-Identifier: Apache-2.0 */
/* The stock: plans that were proposed and not tried, ranked by what they predict. */
#include <math.h>
#include <stdlib.h>

#include "tune/sums/sums.h"

#define UNKNOWN_GAIN 0.02 /* of a plan that predicts nothing: behind those that predict more */
#define AGES 0.9          /* an idea counts for less with each round since it was last proposed */

static bool same(const char *a, const char *b) {
    return a && b && *a && !strcmp(a, b);
}

bool tune_stock_is_open(const struct tune_state *state, size_t index) {
    const struct tune_stocked *row = &state->stock.at[index];
    if (row->tried)
        return false;
    for (size_t i = 0; i < state->lanes.len; i++) {
        const struct tune_plan *plan = tune_lane_plan(state, (int)i);
        if (plan && (same(plan->key, row->plan.key) ||
                     (row->round < state->round && tune_same_direction(plan, &row->plan))))
            return false;
    }
    for (size_t i = 0; i < state->rejections.len; i++)
        if (same(state->rejections.at[i].key, row->plan.key))
            return false;
    return true;
}

/* What the plan predicts. A bound of the profile caps nothing: a change of the named metric often
 * works by another way than lifting that bound, and plans "worth 0 %" brought a third. */
static double worth(const struct tune_state *state, size_t index) {
    const struct tune_stocked *row = &state->stock.at[index];
    double gain = row->plan.latency < 0 ? -row->plan.latency : UNKNOWN_GAIN;
    return gain * pow(AGES, state->round - row->again);
}

size_t tune_stock_list(const struct tune_state *state, size_t at[], size_t most) {
    size_t count = 0;
    double *worths = mem_alloc(most + 1, sizeof *worths);
    for (size_t i = 0; i < state->stock.len; i++) {
        if (!tune_stock_is_open(state, i))
            continue;
        double own = worth(state, i);
        size_t place = count;
        while (place > 0 && worths[place - 1] < own)
            place--;
        if (place >= most)
            continue;
        count = MIN_OF(count + 1, most);
        for (size_t k = count - 1; k > place; k--) {
            worths[k] = worths[k - 1];
            at[k] = at[k - 1];
        }
        worths[place] = own;
        at[place] = i;
    }
    mem_free_(worths);
    return count;
}
