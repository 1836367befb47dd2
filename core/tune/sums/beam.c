/* SPDX-License-Identifier: Apache-2.0 */
/* The beam: the attempts that the next round starts from, where what is kept lives on beside
 * others. */
#include <math.h>
#include <stdlib.h>

#include "tune/sums/inner.h"

bool tune_search_is_wide(const struct tune_state *state) {
    return state->width.parents > 1 || state->width.plans > 1 || state->width.rewrites > 1;
}

bool tune_beam_has(const struct tune_state *state, int attempt) {
    for (size_t i = 0; i < state->beam.len; i++)
        if (state->beam.at[i] == attempt)
            return true;
    return false;
}

static bool may_live(const struct tune_state *state, const struct tune_attempt *attempt) {
    const struct tune_verdict *verdict = &attempt->verdict;
    const struct tune_attempt *best = tune_state_attempt(state, state->best);
    if (verdict->compiles != TUNE_ANSWER_YES || verdict->correct == TUNE_ANSWER_NO ||
        verdict->credible == TUNE_ANSWER_NO || isnan(attempt->speedup) || attempt->outdated ||
        attempt->precision > tune_precision_allowed(state))
        return false;
    if (attempt->status != TUNE_STATUS_KEEP && attempt->status != TUNE_STATUS_REVERT &&
        attempt->status != TUNE_STATUS_INCONCLUSIVE)
        return false;
    return !best || attempt->speedup * (1 + TUNE_DIVERGENCE) >= best->speedup;
}

static bool is_in(const int *list, size_t count, int id) {
    for (size_t i = 0; i < count; i++)
        if (list[i] == id)
            return true;
    return false;
}

/* Which of two attempts is better to go on from; of equal ones the earlier. */
static bool is_better(const struct tune_state *state, int a, int b) {
    double x = state->attempts.at[a].speedup, y = state->attempts.at[b].speedup;
    return x > y || (x == y && a < b);
}

/* Only the best rewrite of each lane's plan may live on, so that the beam does not fill with
 * variants of one. */
static bool is_best_of_plan(const struct tune_state *state, const struct tune_lane *lane) {
    for (size_t i = 0; i < state->lanes.len; i++) {
        const struct tune_lane *other = &state->lanes.at[i];
        bool rival = other != lane && other->parent == lane->parent && other->draw == lane->draw &&
                     other->attempt > 0 && may_live(state, &state->attempts.at[other->attempt]);
        if (rival && is_better(state, other->attempt, lane->attempt))
            return false;
    }
    return true;
}

/* Whether it is the attempt that a person went back to, or came of it; true when nobody went
 * back. */
static bool is_of_line(const struct tune_state *state, int id) {
    int from = state->own->from;
    for (size_t steps = 0; from >= 0 && id != from && steps <= state->attempts.len; steps++) {
        if (id < 0)
            return false;
        id = state->attempts.at[id].parent;
    }
    return from < 0 || id == from;
}

static void pool_add(struct tune_state *state, int *pool, size_t *count, int id) {
    if (id < 0 || (size_t)id >= state->attempts.len || is_in(pool, *count, id) ||
        !is_of_line(state, id) || !may_live(state, &state->attempts.at[id]))
        return;
    size_t at = (*count)++;
    while (at > 0 && is_better(state, id, pool[at - 1])) {
        pool[at] = pool[at - 1];
        at--;
    }
    pool[at] = id;
}

/* The best kept attempt in the line that is followed. */
static void incumbent_find(struct tune_state *state) {
    int best = state->own->from;
    for (size_t i = 0; i < state->attempts.len; i++)
        if (state->attempts.at[i].status == TUNE_STATUS_KEEP && !state->attempts.at[i].outdated &&
            state->attempts.at[i].precision <= tune_precision_allowed(state) &&
            is_of_line(state, (int)i) && (best < 0 || is_better(state, (int)i, best)))
            best = (int)i;
    if (best >= 0)
        state->incumbent = best;
}

static void beam_choose(struct tune_state *state) {
    tune_state_find_best(state);
    incumbent_find(state);
    size_t most = state->beam.len + state->lanes.len * 2 + 2, count = 0;
    int *pool = mem_alloc(most, sizeof *pool);
    pool_add(state, pool, &count, state->incumbent);
    for (size_t i = 0; i < state->beam.len; i++)
        pool_add(state, pool, &count, state->beam.at[i]);
    for (size_t i = 0; i < state->lanes.len; i++) {
        const struct tune_lane *lane = &state->lanes.at[i];
        pool_add(state, pool, &count, lane->parent);
        if (lane->attempt > 0 && is_best_of_plan(state, lane))
            pool_add(state, pool, &count, lane->attempt);
    }
    size_t width = (size_t)MAX_OF(state->width.parents, 1);
    state->beam.len = 0;
    for (size_t i = 0; i < count && i < width; i++)
        *vec_push(&state->beam) = pool[i];
    free(pool);
}

void tune_beam_apply(struct tune_state *state, const struct tune_event *event, int64_t wall_ms) {
    (void)event, (void)wall_ms;
    beam_choose(state);
}

void tune_beam_choose(struct tune_state *state) {
    if (!state->way->keeps_at_once)
        beam_choose(state);
}
