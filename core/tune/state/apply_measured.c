/* SPDX-License-Identifier: Apache-2.0 */
/* Events that bring numbers of an attempt: what was measured, what the device model adds to it, the
 * verdict. The other events are in apply.c. */
#include <math.h>
#include <stdlib.h>

#include "tune/state/inner.h"

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double tune_median(const double *values, size_t count) {
    if (!count)
        return NAN;
    double *sorted = mem_dup(values, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, by_size);
    double median = (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
    free(sorted);
    return median;
}

static void metrics_read(struct tune_state *state, const cJSON *list,
                         struct tune_attempt *attempt) {
    attempt->metrics.len = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, list) {
        const char *name = tune_json_text(item, "name");
        if (!name)
            continue;
        *vec_push(&attempt->metrics) = (struct tune_metric){
            tune_keep(state, name), tune_keep(state, tune_json_text(item, "unit")),
            tune_json_number(item, "value")};
    }
}

static void lines_read(struct tune_state *state, const cJSON *list, struct tune_attempt *attempt) {
    attempt->lines.len = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, list) * vec_push(&attempt->lines) =
        (struct tune_line_cost){.line = tune_json_int(item, "line", 0),
                                .us = tune_json_number(item, "us"),
                                .share = tune_json_number(item, "share"),
                                .engine = tune_keep(state, tune_json_text(item, "engine"))};
}

static void bounds_read(struct tune_state *state, const cJSON *list, struct tune_attempt *attempt) {
    attempt->bounds.len = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, list) {
        const char *name = tune_json_text(item, "name");
        if (name)
            *vec_push(&attempt->bounds) =
                (struct tune_bound){tune_keep(state, name), tune_json_number(item, "busy_us"),
                                    tune_json_number(item, "without_us")};
    }
}

void tune_measured_apply(struct tune_state *state, const cJSON *payload, int64_t wall_ms) {
    (void)wall_ms;
    struct tune_attempt *attempt = tune_attempt_of(state, payload);
    if (!attempt)
        return;
    attempt->latency_us = tune_json_number(payload, "latency_us");
    attempt->floor_us = tune_json_number(payload, "floor_us");
    attempt->instructions = tune_json_int64(payload, "instructions", 0);
    attempt->lnc = (int)tune_json_int64(payload, "lnc", 0);
    attempt->wall = tune_keep(state, tune_json_text(payload, "wall"));
    attempt->modelled = tune_json_bool(payload, "modelled");
    attempt->bound_by = tune_keep(state, tune_json_text(payload, "bound_by"));
    if (tune_json_text(payload, "nki"))
        state->nki = tune_keep(state, tune_json_text(payload, "nki"));
    metrics_read(state, tune_json_at(payload, "metrics"), attempt);
    lines_read(state, tune_json_at(payload, "lines"), attempt);
    bounds_read(state, tune_json_at(payload, "bounds"), attempt);
    attempt->floor_modelled = attempt->profile_modelled = false;
    const struct tune_attempt *seed = &state->attempts.at[0];
    const struct tune_attempt *parent = tune_state_attempt(state, attempt->parent);
    attempt->speedup = seed->latency_us / attempt->latency_us;
    attempt->vs_parent = parent ? parent->latency_us / attempt->latency_us : (double)NAN;
    /* Interleaved samples compare what two evaluations, hours apart, cannot. */
    if (attempt->modelled || !parent || !attempt->parent_samples.len || !attempt->samples.len)
        return;
    attempt->vs_parent = tune_median(attempt->parent_samples.at, attempt->parent_samples.len) /
                         tune_median(attempt->samples.at, attempt->samples.len);
    attempt->speedup = parent->speedup * attempt->vs_parent;
}

/* What the device model says of a kernel that was measured: it fills what the host left open. */
void tune_modelled_apply(struct tune_state *state, const cJSON *payload, int64_t wall_ms) {
    (void)wall_ms;
    struct tune_attempt *attempt = tune_attempt_of(state, payload);
    if (!attempt)
        return;
    double floor_us = tune_json_number(payload, "floor_us");
    attempt->modelled_us = tune_json_number(payload, "latency_us");
    if (isnan(attempt->floor_us) && !isnan(floor_us)) {
        attempt->floor_us = floor_us;
        attempt->floor_modelled = true;
    }
    if (!tune_json_at(payload, "lines"))
        return;
    attempt->profile_modelled = true;
    metrics_read(state, tune_json_at(payload, "metrics"), attempt);
    lines_read(state, tune_json_at(payload, "lines"), attempt);
    bounds_read(state, tune_json_at(payload, "bounds"), attempt);
    const char *bound_by = tune_json_text(payload, "bound_by");
    if (bound_by)
        attempt->bound_by = tune_keep(state, bound_by);
}

void tune_verdict_apply(struct tune_state *state, const cJSON *payload, int64_t wall_ms) {
    (void)wall_ms;
    struct tune_attempt *attempt = tune_attempt_of(state, payload);
    if (!attempt)
        return;
    struct tune_verdict *verdict = &attempt->verdict;
    const struct {
        const char *key, *why_key;
        enum tune_answer *answer;
        const char **why;
    } all[] = {
        {"compiles", "compiles_why", &verdict->compiles, &verdict->compiles_why},
        {"correct", "correct_why", &verdict->correct, &verdict->correct_why},
        {"credible", "credible_why", &verdict->credible, &verdict->credible_why},
        {"faster", "faster_why", &verdict->faster, &verdict->faster_why},
    };
    for (size_t i = 0; i < COUNT_OF(all); i++)
        if (tune_answer_find(tune_json_text(payload, all[i].key), all[i].answer))
            *all[i].why = tune_keep(state, tune_json_text(payload, all[i].why_key));
    const cJSON *ratio = tune_json_at(payload, "ratio");
    if (!ratio)
        return;
    attempt->interval.ratio = tune_json_number(payload, "ratio");
    attempt->interval.low = tune_json_number(payload, "low");
    attempt->interval.high = tune_json_number(payload, "high");
    attempt->interval.seen = tune_json_number(payload, "seen");
    attempt->confirmed = tune_json_bool(payload, "confirmed");
}
