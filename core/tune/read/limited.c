/* SPDX-License-Identifier: Apache-2.0 */
/* What limits an attempt, by one rule for prompts, lessons and steps. */
#include <math.h>

#include "tune/read/read.h"

#define COUNTS 0.03 /* of the latency: a bound that saves less does not limit */
#define ALIKE 0.9   /* of what the best saves: those that save as much limit alike */

/* The latency that bounds are about: the model's where they are the model's. */
static double latency_of(const struct tune_attempt *attempt) {
    return attempt->profile_modelled ? attempt->modelled_us : attempt->latency_us;
}

static double saved(const struct tune_attempt *attempt, const struct tune_bound *bound) {
    return 1 - bound->without_us / latency_of(attempt);
}

static bool has_bounds(const struct tune_attempt *attempt) {
    return attempt->bounds.len && latency_of(attempt) > 0;
}

/* In the order of the alphabet: which of those that limit alike saves a little more says nothing.
 */
void tune_limited_names(const struct tune_attempt *attempt, struct buf *out) {
    double best = COUNTS;
    const char *last = "";
    for (size_t i = 0; has_bounds(attempt) && i < attempt->bounds.len; i++)
        best = fmax(best, saved(attempt, &attempt->bounds.at[i]));
    for (size_t turn = 0; has_bounds(attempt) && turn < attempt->bounds.len; turn++) {
        const char *next = NULL;
        for (size_t i = 0; i < attempt->bounds.len; i++) {
            const struct tune_bound *bound = &attempt->bounds.at[i];
            bool limits = saved(attempt, bound) >= fmax(COUNTS, best * ALIKE);
            if (limits && strcmp(bound->name, last) > 0 && (!next || strcmp(bound->name, next) < 0))
                next = bound->name;
        }
        if (!next)
            return;
        buf_printf(out, "%s%s", *last ? " " : "", next);
        last = next;
    }
}

double tune_limited_saves(const struct tune_attempt *attempt) {
    double best = NAN;
    for (size_t i = 0; has_bounds(attempt) && i < attempt->bounds.len; i++)
        if (saved(attempt, &attempt->bounds.at[i]) >= COUNTS)
            best = fmax(best, saved(attempt, &attempt->bounds.at[i]));
    return best;
}

void tune_limited_print(const struct tune_attempt *attempt, struct buf *out) {
    struct buf names = {0};
    tune_limited_names(attempt, &names);
    struct str rest = buf_str(&names), one;
    int count = 0;
    while (str_next(&rest, ' ', &one))
        if (one.len)
            buf_printf(out, "%s" STR_FMT, count++ ? " and " : "", STR_ARG(one));
    buf_puts(out, count > 1 ? " alike" : "");
    if (!count && has_bounds(attempt))
        buf_puts(out, "nothing by itself");
    else if (!count && attempt->bound_by)
        buf_puts(out, attempt->bound_by);
    buf_free(&names);
}
