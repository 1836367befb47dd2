/* SPDX-License-Identifier: Apache-2.0 */
/* Whether one question asks for a plan and its kernel. It saves a whole prompt a round; but a
 * person can not see the plan before the kernel is paid for, several models can not divide the
 * work, and a model that mostly fails at both together does better at one after the other. */
#include "tune/sums/sums.h"

#define RECENT 6 /* such questions that tell how a model does */
#define LEAST 3  /* fewer tell nothing */

static bool same(const char *a, const char *b) {
    return a && b && !strcmp(a, b);
}

/* The attempt of a question's round, whose kernel came with the plan; NULL: none did. */
static const struct tune_attempt *attempt_of(const struct tune_state *state,
                                             const struct tune_call *call) {
    for (size_t i = state->attempts.len; i > 1; i--) {
        const struct tune_attempt *attempt = &state->attempts.at[i - 1];
        for (size_t k = 0; attempt->round == call->round && k < state->stock.len; k++)
            if (state->stock.at[k].plan.source &&
                same(state->stock.at[k].plan.key, attempt->plan.key))
                return attempt;
    }
    return NULL;
}

/* Of the last questions for both, those that have been decided about. A kernel that one repair turn
 * made right still took no more questions than two would have. */
static bool goes_well(const struct tune_state *state) {
    int asked = 0, passed = 0;
    for (size_t i = state->calls.len; i > 0 && asked < RECENT; i--) {
        const struct tune_call *call = &state->calls.at[i - 1];
        const struct tune_attempt *attempt;
        if (!call->once || call->mends >= 0 || call->repeats >= 0 || call->failure ||
            call->round >= state->round)
            continue;
        attempt = attempt_of(state, call);
        asked++;
        passed += attempt && attempt->repairs <= 1 && attempt->status != TUNE_STATUS_FAILED;
    }
    return asked < LEAST || 2 * passed >= asked;
}

bool tune_asks_for_both(const struct tune_state *state) {
    if (state->asks == TUNE_ASKS_TWICE || !state->roles || tune_search_is_wide(state))
        return false;
    const struct tune_role_view *plans = &state->roles[TUNE_ROLE_PLANNER];
    const struct tune_role_view *writes = &state->roles[TUNE_ROLE_REWRITER];
    if (!plans->count)
        return false;
    if (state->asks == TUNE_ASKS_ONCE)
        return true;
    return plans->count == 1 && writes->count == 1 && !plans->models->person &&
           same(plans->models->name, writes->models->name) &&
           same(plans->models->asked, writes->models->asked) &&
           state->steps[TUNE_STEP_PLAN].gate == TUNE_GATE_AUTO && goes_well(state);
}
