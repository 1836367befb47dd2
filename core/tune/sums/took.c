/* SPDX-License-Identifier: Apache-2.0 */
/* What steps and evaluations took in this session, and what the next ones will take, going by
 * that. */
#include <math.h>

#include "tune/sums/inner.h"

#define LONGER 1.25       /* no two evaluations take the same time */
#define DEVICE_FIRST_S 60 /* guessed for a measured seed kernel, before there is a number */

static double known(double value) {
    return isnan(value) ? 0 : value;
}

void tune_took_note(struct tune_state *state, enum tune_step step, bool rest, double device_s) {
    double *most = &state->own->took[step].device_s[rest];
    *most = fmax(*most, known(device_s));
}

void tune_step_took(struct tune_state *state, enum tune_step step, double wall_s) {
    double *most = &state->own->took[step].wall_s;
    *most = fmax(*most, wall_s);
}

/* A step can take two evaluations: one for the other seeds of a faster kernel, or a second
 * measurement. */
static double evaluation_of(const struct tune_state *state, enum tune_step step) {
    const struct tune_took *took = &state->own->took[step];
    double seed = state->own->took[TUNE_STEP_PROFILE].device_s[0];
    bool measured = state->target && strcmp(state->target, "sim") != 0;
    double first = took->device_s[0], rest = took->device_s[1];
    if (seed <= 0 && measured)
        seed = DEVICE_FIRST_S;
    if (step == TUNE_STEP_BENCHMARK)
        return 2 * fmax(first > 0 ? first : seed, rest);
    return first > 0 && rest > 0 ? first + rest : fmax(first, seed);
}

static bool is_timed_anew(const struct tune_state *state) {
    return state->attempts.len && !state->attempts.at[0].modelled;
}

double tune_expect_device(const struct tune_state *state, enum tune_step step) {
    bool evaluates = (step == TUNE_STEP_PROFILE && state->incumbent < 0) ||
                     step == TUNE_STEP_VERIFY ||
                     (step == TUNE_STEP_BENCHMARK && is_timed_anew(state));
    return evaluates ? evaluation_of(state, step) * LONGER : 0;
}
