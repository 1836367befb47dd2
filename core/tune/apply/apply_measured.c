/* SPDX-License-Identifier: Apache-2.0 */
/* Events that bring numbers of an attempt: what was measured, what the device model adds to it, the
 * verdict. The others of attempts are in apply_attempt.c. */
#include <math.h>
#include <stdlib.h>

#include "tune/apply/private.h"

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* NAN of nothing. */
static double median_of(const double *values, size_t count) {
    if (!count)
        return NAN;
    double *sorted = mem_dup(values, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, by_size);
    double median = (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
    free(sorted);
    return median;
}

/* A profile as an event brings it: what has no name is left out. */
#define PROFILE_SET(state, attempt, from)                                        \
    (metrics_set((state), (attempt), (from)->metrics.at, (from)->metrics.count), \
     lines_set((state), (attempt), (from)->lines.at, (from)->lines.count),       \
     bounds_set((state), (attempt), (from)->bounds.at, (from)->bounds.count))

static bool same_text(const char *a, const char *b) {
    return a == b || (a && b && !strcmp(a, b));
}

/* Whether these are the names of the list, in its order. */
static bool names_are(const struct tune_metrics *list, const struct tune_metric *rows,
                      size_t count) {
    bool same = list->len == count;
    for (size_t i = 0; i < count && same; i++)
        same = same_text(rows[i].name, list->names[i].name) &&
               same_text(rows[i].unit, list->names[i].unit);
    return same;
}

static size_t named_count(const struct tune_metric *rows, size_t count) {
    size_t named = 0;
    for (size_t i = 0; i < count; i++)
        named += rows[i].name != NULL;
    return named;
}

static const struct tune_metric_name *names_make(struct tune_state *state,
                                                 const struct tune_metric *rows, size_t count) {
    size_t len = 0;
    struct tune_metric_name *names =
        ARENA_ARRAY(state->arena, struct tune_metric_name, named_count(rows, count));
    for (size_t i = 0; i < count; i++)
        if (rows[i].name)
            names[len++] = (struct tune_metric_name){tune_keep(state, rows[i].name),
                                                     tune_keep(state, rows[i].unit)};
    return names;
}

/* Attempts mostly have the names of the one before, in the same order: these are there already. */
static void metrics_set(struct tune_state *state, struct tune_attempt *attempt,
                        const struct tune_metric *rows, size_t count) {
    const struct tune_attempt *last = tune_state_attempt(state, attempt->id - 1);
    size_t named = named_count(rows, count), len = 0;
    bool alike = last && names_are(&last->metrics, rows, count);
    struct tune_metrics metrics = {alike ? last->metrics.names : names_make(state, rows, count),
                                   ARENA_ARRAY(state->arena, double, named), named};
    for (size_t i = 0; i < count; i++)
        if (rows[i].name)
            metrics.values[len++] = rows[i].value;
    attempt->metrics = metrics;
}

static void lines_set(struct tune_state *state, struct tune_attempt *attempt,
                      const struct tune_line_cost *rows, size_t count) {
    attempt->lines_kept.len = 0;
    attempt->lines_seq = state->own->leaves ? state->seq : 0;
    if (!state->own->leaves)
        tune_lines_keep(state, attempt, &(struct tune_lines){rows, count});
}

static void bounds_set(struct tune_state *state, struct tune_attempt *attempt,
                       const struct tune_bound *rows, size_t count) {
    attempt->bounds.len = 0;
    vec_reserve_in(state->arena, &attempt->bounds, count, 1);
    for (size_t i = 0; i < count; i++) {
        if (!rows[i].name)
            continue;
        struct tune_bound *row = vec_push(&attempt->bounds);
        *row = rows[i];
        tune_part_keep(TUNE_PART_BOUND, row, state->own->texts);
    }
}

/* How fast it is against the seed kernel and against its parent. A kernel that computes something
 * else is not faster than anything. */
static void speedups_set(const struct tune_state *state, struct tune_attempt *attempt) {
    const struct tune_attempt *seed = &state->attempts.at[0];
    const struct tune_attempt *parent = tune_state_attempt(state, attempt->parent);
    attempt->speedup = attempt->vs_parent = NAN;
    if (attempt->verdict.correct == TUNE_ANSWER_NO)
        return;
    attempt->speedup = seed->latency_us / attempt->latency_us;
    attempt->vs_parent = parent ? parent->latency_us / attempt->latency_us : (double)NAN;
    /* Interleaved samples compare better than two evaluations that lie hours apart. */
    if (attempt->modelled || !parent || !attempt->parent_samples.len || !attempt->samples.len)
        return;
    attempt->vs_parent = median_of(attempt->parent_samples.at, attempt->parent_samples.len) /
                         median_of(attempt->samples.at, attempt->samples.len);
    if (!isnan(parent->speedup)) /* a parent that is wrong has none */
        attempt->speedup = parent->speedup * attempt->vs_parent;
}

void tune_measured_apply(struct tune_state *state, const struct tune_event *event,
                         int64_t wall_ms) {
    (void)wall_ms;
    struct tune_attempt *attempt = tune_attempt_of(state, event->measured.attempt);
    if (!attempt)
        return;
    state->own->roof.known = false;
    attempt->latency_us = event->measured.latency_us;
    state->own->best_stale |= attempt->status == TUNE_STATUS_KEEP;
    attempt->floor_us = event->measured.floor_us;
    attempt->low_us = event->measured.low_us;
    attempt->high_us = event->measured.high_us;
    attempt->floor_split_us = event->measured.floor_split_us;
    attempt->floor_any_us = event->measured.floor_any_us;
    attempt->instructions = event->measured.instructions;
    attempt->lnc = event->measured.lnc;
    attempt->wall = tune_keep(state, event->measured.wall);
    attempt->modelled = event->measured.modelled;
    attempt->bound_by = tune_keep(state, event->measured.bound_by);
    if (event->measured.nki)
        state->nki = tune_keep(state, event->measured.nki);
    PROFILE_SET(state, attempt, &event->measured);
    tune_causes_set(state, attempt, event->measured.causes);
    attempt->floor_modelled = attempt->profile_modelled = false;
    speedups_set(state, attempt);
}

/* What the device model says of a kernel that was measured; it fills in what the host did not
 * tell. */
void tune_modelled_apply(struct tune_state *state, const struct tune_event *event,
                         int64_t wall_ms) {
    (void)wall_ms;
    struct tune_attempt *attempt = tune_attempt_of(state, event->modelled.attempt);
    if (!attempt)
        return;
    state->own->roof.known = false;
    double floor_us = event->modelled.floor_us;
    attempt->modelled_us = event->modelled.latency_us;
    if (isnan(attempt->floor_us) && !isnan(floor_us)) {
        attempt->floor_us = floor_us;
        attempt->floor_split_us = event->modelled.floor_split_us;
        attempt->floor_any_us = event->modelled.floor_any_us;
        attempt->floor_modelled = true;
    }
    tune_causes_set(state, attempt, event->modelled.causes);
    if (!event->modelled.lines.given)
        return;
    attempt->profile_modelled = true;
    PROFILE_SET(state, attempt, &event->modelled);
    const char *bound_by = event->modelled.bound_by;
    if (bound_by)
        attempt->bound_by = tune_keep(state, bound_by);
}

void tune_verdict_apply(struct tune_state *state, const struct tune_event *event, int64_t wall_ms) {
    (void)wall_ms;
    struct tune_attempt *attempt = tune_attempt_of(state, event->verdict.attempt);
    if (!attempt)
        return;
    state->own->roof.known = false;
    const struct tune_event_verdict *said = &event->verdict;
    struct tune_verdict *verdict = &attempt->verdict;
    const struct {
        enum tune_answer said, *answer;
        const char *said_why, **why;
    } all[] = {
        {said->compiles, &verdict->compiles, said->compiles_why, &verdict->compiles_why},
        {said->correct, &verdict->correct, said->correct_why, &verdict->correct_why},
        {said->credible, &verdict->credible, said->credible_why, &verdict->credible_why},
        {said->faster, &verdict->faster, said->faster_why, &verdict->faster_why},
    };
    for (size_t i = 0; i < COUNT_OF(all); i++)
        if (all[i].said < TUNE_ANSWERS) {
            *all[i].answer = all[i].said;
            *all[i].why = tune_keep(state, all[i].said_why);
        }
    if (said->correct < TUNE_ANSWERS && !isnan(attempt->latency_us))
        speedups_set(state, attempt);
    if (isnan(said->ratio))
        return;
    attempt->interval.ratio = event->verdict.ratio;
    attempt->interval.low = event->verdict.low;
    attempt->interval.high = event->verdict.high;
    attempt->interval.seen = event->verdict.seen;
    attempt->confirmed = event->verdict.confirmed;
}
