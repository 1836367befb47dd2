/* SPDX-License-Identifier: Apache-2.0 */
/* Sentences about attempts that several places use. */
#include <math.h>

#include "tune/read/read.h"

#define MOVED_AT_ALL 0.005

bool tune_plan_computed(const struct tune_plan *plan, bool modelled) {
    return modelled && plan->author && !strcmp(plan->author, "rewriter");
}

bool tune_prediction_computed(const struct tune_attempt *attempt) {
    return attempt && tune_plan_computed(&attempt->plan, attempt->modelled);
}

void tune_sentence_end(struct buf *out) {
    static const char *const ends[] = {".", "!", "?", "…", ".)", ".\""};
    bool ended = !out->len;
    for (size_t i = 0; i < COUNT_OF(ends); i++)
        ended |= str_ends(buf_str(out), ends[i]);
    if (!ended)
        buf_putc(out, '.');
}

void tune_prediction_print(struct buf *out, const struct tune_attempt *attempt) {
    static const char *const said[] = {[TUNE_ANSWER_YES] = "as ",
                                       [TUNE_ANSWER_NO] = "not as ",
                                       [TUNE_ANSWER_INCONCLUSIVE] =
                                           "the right way, but by less than "};
    const struct tune_plan *plan = &attempt->plan;
    if (!plan->metric || plan->held == TUNE_ANSWER_UNKNOWN)
        return;
    tune_sentence_end(out);
    buf_printf(out, " %s moved by %+.1f %%, %s%s", plan->metric, plan->moved * 100,
               said[plan->held], tune_prediction_computed(attempt) ? "computed" : "predicted");
    if (plan->size >= MOVED_AT_ALL)
        buf_printf(out, " (%s%.0f %%)", plan->direction == TUNE_DIRECTION_DOWN ? "-" : "+",
                   plan->size * 100);
    buf_putc(out, '.');
}

void tune_part_tried_print(struct buf *out, const struct tune_attempt *attempt) {
    int taken = attempt->hunks - attempt->left_out;
    bool tried = attempt->verdict.compiles != TUNE_ANSWER_UNKNOWN;
    if (!attempt->left_out)
        return;
    tune_sentence_end(out);
    buf_printf(out, "%sOnly %d of %d hunks %s %s: a person left the rest out.", out->len ? " " : "",
               taken, attempt->hunks, taken == 1 ? "was" : "were", tried ? "tried" : "taken");
}

void tune_latencies_print(struct buf *out, const struct tune_attempt *from,
                          const struct tune_attempt *to) {
    /* Measured attempts were measured beside each other, so the parent's time is taken from the
     * same occasion. */
    bool beside = !to->modelled && to->parent_samples.len && isfinite(to->vs_parent);
    double from_us = beside ? to->latency_us * to->vs_parent : from->latency_us;
    bool differ = from->precision != to->precision;
    clock_print_duration(out, from_us * 1e-6);
    if (differ)
        buf_printf(out, " (precision %s)", tune_precision_word(from->precision));
    buf_puts(out, " -> ");
    clock_print_duration(out, to->latency_us * 1e-6);
    if (differ)
        buf_printf(out, " (precision %s)", tune_precision_word(to->precision));
}

void tune_candidate_print(struct buf *out, const struct tune_candidate *candidate) {
    int more = 0, less = 0, left = 0, count = (int)candidate->hunks.len;
    if (!candidate->exists)
        return;
    for (size_t i = 0; i < candidate->hunks.len; i++) {
        const struct tune_hunk *hunk = &candidate->hunks.at[i];
        more += hunk->left ? 0 : hunk->new_count;
        less += hunk->left ? 0 : hunk->old_count;
        left += hunk->left;
    }
    buf_printf(out, "+%d -%d in %d hunk%s", more, less, count - left, PLURAL(count - left));
    if (left)
        buf_printf(out, ", %d left out", left);
    if (candidate->edited)
        buf_puts(out, ", edited by you");
}

/* Whether a person changed what is taken of it. */
static bool is_changed(const struct tune_candidate *candidate) {
    bool changed = candidate->edited;
    for (size_t i = 0; i < candidate->hunks.len; i++)
        changed |= candidate->hunks.at[i].left;
    return candidate->exists && changed;
}

void tune_step_told(struct buf *out, const struct tune_state *state, int lane,
                    enum tune_step step) {
    const struct tune_candidate *candidate = &tune_lane_of(state, lane)->candidate;
    const char *summary = state->steps[step].summary;
    if (step == TUNE_STEP_REWRITE && !state->way->counts && is_changed(candidate))
        tune_candidate_print(out, candidate);
    else
        buf_puts(out, summary ? summary : "");
}

void tune_lane_told(struct buf *out, const struct tune_lane *lane) {
    if (lane->step == TUNE_STEP_REWRITE && is_changed(&lane->candidate))
        tune_candidate_print(out, &lane->candidate);
    else
        buf_puts(out, lane->summary ? lane->summary : "");
}
