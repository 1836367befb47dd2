/* SPDX-License-Identifier: Apache-2.0 */
/* How much of a gain on the device model rests on rules that were fitted or guessed. */
#include "tune/read/read.h"

#include <math.h>

#define LEAST_PERCENT 0.5 /* less is shown as 0, and says nothing */

/* The part of the gain that comes from the constants of one kind: their part of the one latency
 * less that of the other. */
static double share_of(const struct tune_attempt *parent, const struct tune_attempt *attempt,
                       const char *metric) {
    double gain = parent->latency_us - attempt->latency_us;
    double part = parent->latency_us * tune_attempt_metric(parent, metric) -
                  attempt->latency_us * tune_attempt_metric(attempt, metric);
    if (!isfinite(part) || !(gain > 0))
        return NAN;
    return fmin(1, fmax(0, part / 100 / gain));
}

struct tune_rests tune_gain_rests(const struct tune_attempt *parent,
                                  const struct tune_attempt *attempt) {
    if (!parent || !attempt || !parent->modelled || !attempt->modelled)
        return (struct tune_rests){NAN, NAN};
    return (struct tune_rests){share_of(parent, attempt, "fitted_rules_percent"),
                               share_of(parent, attempt, "guessed_rules_percent")};
}

void tune_rests_print(struct buf *out, const struct tune_rests *rests) {
    double fitted = isfinite(rests->fitted) ? 100 * rests->fitted : 0;
    double guessed = isfinite(rests->guessed) ? 100 * rests->guessed : 0;
    bool some = fitted >= LEAST_PERCENT, more = guessed >= LEAST_PERCENT;
    if (some)
        buf_printf(out, "%.0f %% of the gain rests on fitted rules", fitted);
    if (more)
        buf_printf(
            out, some ? ", %.0f %% on guessed ones" : "%.0f %% of the gain rests on guessed rules",
            guessed);
}
