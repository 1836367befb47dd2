/* SPDX-License-Identifier: Apache-2.0 */
/* What a person left out of a candidate that was taken: the lines and the reason, as rejections
 * that later prompts show. Which hunks are left out is decided in act/proposal.c. */
#include "tune/state/inner.h"

#define HUNK_LINES 20 /* of each side of a declined hunk that are kept */

/* The lines that a hunk would have taken away and put in their place. */
static const char *hunk_text(struct tune_state *state, const struct tune_candidate *candidate,
                             const struct tune_hunk *hunk) {
    const struct tune_attempt *parent = tune_state_attempt(state, candidate->parent);
    const struct {
        const char *source;
        int first, count;
        char mark;
    } sides[] = {{parent ? tune_source(state, parent) : "", hunk->old_line, hunk->old_count, '-'},
                 {candidate->proposed, hunk->new_line, hunk->new_count, '+'}};
    struct buf out = {0};
    for (size_t i = 0; i < COUNT_OF(sides); i++) {
        struct str rest = str_of(sides[i].source), line;
        int last = sides[i].first + MIN_OF(sides[i].count, HUNK_LINES);
        for (int number = 1; number < last && str_next(&rest, '\n', &line); number++)
            if (number >= sides[i].first)
                buf_printf(&out, "  %c " STR_FMT "\n", sides[i].mark, STR_ARG(line));
    }
    const char *text = tune_keep(state, out.at ? out.at : "");
    buf_free(&out);
    return text;
}

/* Keeps it as a rejection, so that it is not proposed again. */
static void declined_note(struct tune_state *state, int lane) {
    const struct tune_candidate *candidate = &state->lanes.at[lane].candidate;
    const struct tune_plan *plan = tune_lane_plan(state, lane);
    for (size_t i = 0; i < candidate->hunks.len; i++) {
        const struct tune_hunk *hunk = &candidate->hunks.at[i];
        struct tune_rejection row = {.round = state->round,
                                     .attempt = candidate->attempt,
                                     .step = TUNE_STEP_REWRITE,
                                     .title = plan ? plan->title : NULL,
                                     .reason = hunk->why};
        if (!hunk->left)
            continue;
        row.hunk = hunk_text(state, candidate, hunk);
        tune_rejection_add(state, lane, row);
    }
}

void tune_declined_note(struct tune_state *state) {
    for (size_t i = 0; i < state->lanes.len; i++) {
        const struct tune_lane *lane = &state->lanes.at[i];
        if (!lane->closed && lane->candidate.exists && lane->step == TUNE_STEP_REWRITE)
            declined_note(state, (int)i);
    }
}
