/* SPDX-License-Identifier: Apache-2.0 */
/* What waits at a gate, as text: plans in full, and candidates as the lines that change. Where a
 * round has several lanes, those of every lane. run/person.c handles the answer. */
#include "cli/person/gate.h"

static void lines_print(struct buf *out, const char *source, int first, int count, char mark) {
    struct str rest = str_of(source), line;
    for (int number = 1; number < first + count && str_next(&rest, '\n', &line); number++)
        if (number >= first)
            buf_printf(out, "%c " STR_FMT "\n", mark, STR_ARG(line));
}

/* Prints the candidate against its parent, changed lines only. */
static void candidate_print(struct buf *out, const struct tune_state *state,
                            const struct tune_candidate *candidate) {
    const struct tune_attempt *parent = tune_state_attempt(state, candidate->parent);
    for (size_t i = 0; parent && i < candidate->hunks.len; i++) {
        const struct tune_hunk *hunk = &candidate->hunks.at[i];
        buf_printf(out, "@@ line %d\n", hunk->old_line);
        lines_print(out, tune_source(state, parent), hunk->old_line, hunk->old_count, '-');
        lines_print(out, candidate->proposed, hunk->new_line, hunk->new_count, '+');
    }
}

static void plan_print(struct buf *out, const struct tune_plan *plan) {
    buf_printf(out, "plan: %s\n%s\n%s\n", plan->title ? plan->title : "",
               plan->what ? plan->what : "", plan->why ? plan->why : "");
}

static void lane_print(struct buf *out, const struct tune_state *state, int index) {
    const struct tune_lane *lane = &state->lanes.at[index];
    const struct tune_plan *plan = tune_lane_plan(state, index);
    const struct tune_candidate *candidate = tune_lane_candidate(state, index);
    int attempt = tune_lane_attempt(state, index);
    buf_printf(out, "---- lane %d", index + 1);
    if (attempt >= 0)
        buf_printf(out, ", #%d", attempt);
    buf_printf(out, " of #%d\n", lane->parent);
    if (plan && state->wait_step == TUNE_STEP_PLAN)
        plan_print(out, plan);
    else if (plan)
        buf_printf(out, "plan: %s\n", plan->title ? plan->title : "");
    if (candidate && state->wait_step == TUNE_STEP_REWRITE)
        candidate_print(out, state, candidate);
    else if (lane->summary && state->wait_step > TUNE_STEP_PLAN) {
        buf_printf(out, "%s: ", tune_step_word(lane->step));
        tune_lane_told(out, lane);
        buf_puts(out, "\n");
    }
}

static void lanes_print(const struct tune_state *state, struct buf *out) {
    int open = tune_lanes_open(state);
    for (size_t i = 0; i < state->lanes.len; i++)
        if (!state->lanes.at[i].closed)
            lane_print(out, state, (int)i);
    buf_printf(out, "%s is done. y approves the %d lane%s, n %sREASON rejects %s, q ends:",
               tune_step_word(state->wait_step), open, PLURAL(open), open == 1 ? "" : "LANE ",
               open == 1 ? "it" : "one");
}

static void one_print(const struct tune_state *state, struct buf *out) {
    const struct tune_plan *plan = tune_lane_plan(state, 0);
    const struct tune_candidate *candidate = tune_lane_candidate(state, 0);
    if (state->wait_step == TUNE_STEP_PLAN && plan)
        plan_print(out, plan);
    if (state->wait_step == TUNE_STEP_REWRITE && candidate)
        candidate_print(out, state, candidate);
    buf_printf(
        out, "%s is done. y approves, n REASON rejects, q ends:", tune_step_word(state->wait_step));
}

void gate_print(const struct tune_state *state, struct buf *out) {
    if (state->way->numbered)
        lanes_print(state, out);
    else
        one_print(state, out);
}
