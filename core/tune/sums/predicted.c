/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel's own compiler predicts of an attempt: a second opinion beside the device
 * model's. It is kept with the attempt and shown as a prediction. It is never a measurement or a
 * sample, and no verdict comes from it. */
#include <math.h>

#include "tune/sums/predicted.h"
#include "tune/sums/inner.h"

static void engines_set(struct tune_state *state, const struct tune_by_name *rows,
                        struct tune_prediction *found) {
    size_t count = MIN_OF(rows->count, RUNNER_MAX_ENGINES);
    struct tune_utilisation *engines = ARENA_ARRAY(state->arena, struct tune_utilisation, count);
    for (size_t i = 0; i < count; i++)
        engines[i] =
            (struct tune_utilisation){tune_keep(state, rows->at[i].name), rows->at[i].number};
    found->engines = engines;
    found->engine_count = count;
}

void tune_predicted_apply(struct tune_state *state, const struct tune_event *event,
                          int64_t wall_ms) {
    (void)wall_ms;
    struct tune_attempt *attempt = tune_attempt_of(state, event->predicted.attempt);
    double us = event->predicted.us;
    if (!attempt || !(us > 0))
        return;
    attempt->prediction =
        (struct tune_prediction){.us = us,
                                 .by = tune_keep(state, event->predicted.by),
                                 .optimised = tune_keep(state, event->predicted.optimised),
                                 .macs = event->predicted.macs,
                                 .hbm_bytes = event->predicted.hbm_bytes};
    engines_set(state, &event->predicted.utilisation, &attempt->prediction);
}

bool tune_predicted(const struct tune_attempt *attempt) {
    return attempt && attempt->prediction.us > 0;
}

static bool same_text(const char *a, const char *b) {
    return a && b ? !strcmp(a, b) : a == b;
}

double tune_predicted_ratio(const struct tune_attempt *attempt, const struct tune_attempt *parent) {
    if (!tune_predicted(attempt) || !tune_predicted(parent))
        return NAN;
    const struct tune_prediction *now = &attempt->prediction, *was = &parent->prediction;
    bool alike = same_text(now->by, was->by) && same_text(now->optimised, was->optimised);
    return alike ? now->us / was->us : (double)NAN;
}

void tune_predicted_print(struct buf *out, const struct tune_attempt *attempt) {
    const struct tune_prediction *found = &attempt->prediction;
    clock_print_duration(out, found->us * 1e-6);
    buf_printf(out, " (%s, not measured)", found->by ? found->by : "?");
    const char *before = ": ";
    for (size_t i = 0; i < found->engine_count; i++) {
        if (!(found->engines[i].percent >= 1))
            continue;
        buf_printf(out, "%s%s %.0f %%", before, found->engines[i].engine,
                   found->engines[i].percent);
        before = ", ";
    }
    if (found->optimised && !strcmp(found->optimised, "on"))
        buf_puts(out, "; with the back end's own scheduling");
}

void tune_predicted_put(cJSON *object, const struct tune_attempt *attempt) {
    const struct tune_prediction *found = &attempt->prediction;
    if (!tune_predicted(attempt))
        return;
    tune_json_put_number(object, "predicted_us", found->us);
    tune_json_put_text(object, "predicted_by", found->by);
    tune_json_put_text(object, "predicted_optimised", found->optimised);
    cJSON *engines = cJSON_AddObjectToObject(object, "predicted_utilisation");
    for (size_t i = 0; i < found->engine_count; i++)
        tune_json_put_number(engines, found->engines[i].engine, found->engines[i].percent);
    tune_json_put_number(object, "predicted_macs", found->macs);
    tune_json_put_number(object, "predicted_hbm_bytes", found->hbm_bytes);
}
