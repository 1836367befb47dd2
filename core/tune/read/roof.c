/* SPDX-License-Identifier: Apache-2.0 */
/* How far an attempt is from the roof. Every number, chart and list uses this one definition. */
#include "tune/read/read.h"
#include "tune/state/inner.h"

#include <math.h>

static double least(double a, double b) {
    return !(b > 0) ? a : !(a <= b) ? b : a;
}

/* The FLOPs of the reference's products. Where nobody knows them, those of the attempt's own
 * products without transposes, as near as its device tells. */
static double useful_flops(const struct tune_attempt *attempt) {
    double task = tune_attempt_metric(attempt, "task_flops");
    if (!isnan(task))
        return task;
    double model = tune_attempt_metric(attempt, "model_flops");
    double hardware = tune_attempt_metric(attempt, "hardware_flops");
    double transposes = tune_attempt_metric(attempt, "transpose_flops");
    return !isnan(model) ? model : hardware - (isnan(transposes) ? 0 : transposes);
}

static struct tune_kept_roof roof_of_all(const struct tune_state *state) {
    struct tune_kept_roof roof = {true, {NAN, NAN, NAN}, NAN};
    for (size_t i = 0; i < state->attempts.len; i++) {
        const struct tune_attempt *attempt = &state->attempts.at[i];
        if (attempt->verdict.correct != TUNE_ANSWER_YES)
            continue;
        for (int k = 0; k < TUNE_PRECISIONS; k++)
            roof.floors_us[k] =
                least(roof.floors_us[k], tune_floor_in(attempt, (enum tune_precision)k));
        roof.flops = least(roof.flops, useful_flops(attempt));
    }
    return roof;
}

struct tune_roof tune_roof_of(const struct tune_state *state) {
    const struct tune_attempt *best = tune_state_attempt(state, state->best);
    struct tune_kept_roof *kept = &state->own->roof;
    if (!kept->known)
        *kept = roof_of_all(state);
    struct tune_roof roof = {.flops = kept->flops};
    memcpy(roof.floors_us, kept->floors_us, sizeof roof.floors_us);
    roof.floor_us = roof.floors_us[best ? best->precision : TUNE_PRECISION_KEEP];
    return roof;
}

double tune_roof_share(const struct tune_roof *roof, const struct tune_attempt *attempt) {
    double floor_us = attempt ? roof->floors_us[attempt->precision] : (double)NAN;
    return floor_us > 0 && attempt->latency_us > 0 ? floor_us / attempt->latency_us : (double)NAN;
}
