/* SPDX-License-Identifier: Apache-2.0 */
/* Whether one question asks for a plan and its kernel. It saves a whole prompt a round; but a
 * person can not see the plan before the kernel is paid for, several models can not divide the
 * work, and a model that mostly fails at both together may do better at one after the other. */
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

/* How a model's last kernels did, of those that were decided about: with the plan in one question
 * (of its questions: an answer may lack the kernel), or after it. A kernel that one repair turn
 * made right still took no more questions than two would have. */
struct tally {
    int asked, passed;
};

static bool did_pass(const struct tune_attempt *attempt) {
    return attempt && attempt->repairs <= 1 && attempt->status != TUNE_STATUS_FAILED;
}

static struct tally together(const struct tune_state *state, const char *model) {
    struct tally tally = {0};
    for (size_t i = state->calls.len; i > 0 && tally.asked < RECENT; i--) {
        const struct tune_call *call = &state->calls.at[i - 1];
        if (!call->once || call->mends >= 0 || call->repeats >= 0 || call->failure ||
            call->round >= state->round || !same(call->model, model))
            continue;
        tally.asked++;
        tally.passed += did_pass(attempt_of(state, call));
    }
    return tally;
}

static bool came_with_plan(const struct tune_state *state, const struct tune_attempt *attempt) {
    for (size_t k = 0; k < state->stock.len; k++)
        if (state->stock.at[k].plan.source && same(state->stock.at[k].plan.key, attempt->plan.key))
            return true;
    return false;
}

static struct tally apart(const struct tune_state *state, const char *model) {
    struct tally tally = {0};
    for (size_t i = state->attempts.len; i > 1 && tally.asked < RECENT; i--) {
        const struct tune_attempt *attempt = &state->attempts.at[i - 1];
        if (!same(attempt->author, model) || attempt->plan.sweep ||
            attempt->status == TUNE_STATUS_OPEN || came_with_plan(state, attempt))
            continue;
        tally.asked++;
        tally.passed += did_pass(attempt);
    }
    return tally;
}

/* Where half of them fail, two questions are tried; they go on as long as they do better. */
static bool goes_well(const struct tune_state *state, const char *model) {
    struct tally one = together(state, model), two = apart(state, model);
    return one.asked < LEAST || 2 * one.passed >= one.asked ||
           (two.asked >= LEAST && two.passed * one.asked <= one.passed * two.asked);
}

/* The one model that plans and writes, where nothing stands between; NULL. */
static const char *one_model(const struct tune_state *state) {
    if (!state->roles || tune_search_is_wide(state) ||
        state->steps[TUNE_STEP_PLAN].gate != TUNE_GATE_AUTO)
        return NULL;
    const struct tune_role_view *plans = &state->roles[TUNE_ROLE_PLANNER];
    const struct tune_role_view *writes = &state->roles[TUNE_ROLE_REWRITER];
    bool one = plans->count == 1 && writes->count == 1 && !plans->models->person &&
               same(plans->models->name, writes->models->name) &&
               same(plans->models->asked, writes->models->asked);
    return one ? plans->models->name : NULL;
}

bool tune_asks_for_both(const struct tune_state *state) {
    if (state->asks == TUNE_ASKS_TWICE || !state->roles || tune_search_is_wide(state) ||
        !state->roles[TUNE_ROLE_PLANNER].count)
        return false;
    if (state->asks == TUNE_ASKS_ONCE)
        return true;
    const char *model = one_model(state);
    return model && goes_well(state, model);
}

void tune_asks_print(const struct tune_state *state, struct buf *out) {
    const char *model = state->asks == TUNE_ASKS_AUTO ? one_model(state) : NULL;
    struct tally one = {0}, two = {0};
    if (!model)
        return;
    one = together(state, model);
    two = apart(state, model);
    if (one.asked < LEAST)
        return;
    buf_printf(out, "%s: in one question %d of %d kernels passed",
               goes_well(state, model) ? "plan with kernel" : "plan alone", one.passed, one.asked);
    if (two.asked)
        buf_printf(out, ", in two %d of %d", two.passed, two.asked);
}
