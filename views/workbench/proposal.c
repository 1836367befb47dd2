/* SPDX-License-Identifier: Apache-2.0 */
/* The proposal pane of the workbench: the plan while it is one, then the difference to the parent,
 * hunk by hunk. */
#include "views/workbench/private.h"

#include <math.h>
#include <stdio.h>

void pane_proposal_note(const struct views *views, struct buf *note) {
    const struct tune_candidate *candidate = &tune_lane_of(views->state, views->lane)->candidate;
    if (!candidate->exists) {
        const struct tune_plan *plan = tune_lane_plan(views->state, views->lane);
        buf_puts(note, plan ? "plan" : "");
        return;
    }
    int added = 0, removed = 0, left = 0;
    for (size_t i = 0; i < candidate->hunks.len; i++) {
        const struct tune_hunk *hunk = &candidate->hunks.at[i];
        added += hunk->left ? 0 : hunk->new_count;
        removed += hunk->left ? 0 : hunk->old_count;
        left += hunk->left;
    }
    if (candidate->attempt >= 0)
        buf_printf(note, "#%d", candidate->attempt);
    else /* it has no number before it is verified */
        buf_printf(note, "from #%d", candidate->parent);
    buf_printf(note, "  +%d -%d  %d hunk%s", added, removed, (int)candidate->hunks.len,
               PLURAL(candidate->hunks.len));
    if (left)
        buf_printf(note, ", %d left out", left);
    if (candidate->repair)
        buf_printf(note, "  repair %d", candidate->repair);
    if (candidate->edited)
        buf_puts(note, "  edited");
}

/* What carrying out the plan is expected to cost; worked out anew when something happened. */
static const char *plan_costs(struct views *views) {
    struct workbench *bench = workbench_of(views);
    if (bench->costs_seq == views->state->seq && bench->costs_lane == views->lane)
        return bench->costs.at;
    struct tune_expected expected = tune_expect_step(views->state, views->lane, TUNE_STEP_REWRITE);
    buf_clear(&bench->costs);
    tune_expected_print(&bench->costs, &expected);
    if (bench->costs.len)
        buf_puts(&bench->costs, expected.own ? " to write it, as before" : " to write it, a guess");
    bench->costs_seq = views->state->seq;
    bench->costs_lane = views->lane;
    return bench->costs.len ? bench->costs.at : NULL;
}

/* How the plan that shows was turned down: by the last rejection, until another plan is there. */
static const struct tune_rejection *rejection_of(const struct views *views,
                                                 const struct tune_plan *plan) {
    const struct tune_state *state = views->state;
    const struct tune_rejection *last =
        state->rejections.len ? &state->rejections.at[state->rejections.len - 1] : NULL;
    bool same = last && last->round == state->round && last->key && plan->key &&
                !strcmp(last->key, plan->key);
    bool planning = state->step == TUNE_STEP_PLAN && state->steps[TUNE_STEP_PLAN].is != TUNE_IS_OK;
    return same && (state->wait == TUNE_WAIT_REJECTED || planning) ? last : NULL;
}

/* What agents handed in meanwhile. They wait at the end, in their order. */
static void draw_waiting(const struct tune_state *state, struct tui_area area, int row) {
    struct tune_submission_view view;
    size_t count = state->submissions.len, first = count;
    while (first && tune_submission_look(state, (int)first, &view) &&
           view.is == TUNE_SUBMISSION_QUEUED)
        first--;
    if (first == count)
        return;
    const struct tune_plan *plan = &state->submissions.at[first].plan;
    const char *author = plan->author ? plan->author : "an agent";
    const char *title = plan->title ? plan->title : "";
    if (count - first == 1)
        tui_say(tui_ink(area, TUI_DIM), row, 1, "%s waits its turn: %s", author, title);
    else
        tui_say(tui_ink(area, TUI_DIM), row, 1, "%s waits its turn, as %zu more: %s", author,
                count - first - 1, title);
}

static void draw_plan(struct views *views, struct tui_area area) {
    const struct tune_state *state = views->state;
    const struct tune_plan *plan = tune_lane_plan(state, views->lane);
    if (!plan)
        return;
    struct tui_area fields = tui_area_part(area, (struct tui_rect){0, 0, area.rows, area.cols - 1});
    const struct tune_rejection *last = rejection_of(views, plan);
    int top = 0;
    if (last)
        top = rows_field(tui_ink(fields, TUI_BAD), 0, 11, "rejected",
                         last->reason ? last->reason : "by you") +
              1;
    struct tui_rect title = {top, 1, area.rows - top, area.cols - 3};
    int row = top +
              tui_put_lines(tui_ink(tui_area_part(area, title), TUI_STRONG),
                            str_of(plan->title ? plan->title : plan->key)) +
              1;
    row = rows_field(fields, row, 11, "what", plan->what);
    row = rows_field(fields, row, 11, "why", plan->why);
    row = rows_predicted(views, fields, row, views->lane);
    row = rows_field(fields, row, 11, "strategy", plan->strategy);
    struct buf text = {0};
    tune_plan_lines_print(&text, plan);
    row = rows_field(fields, row, 11, "lines", text.at);
    buf_clear(&text);
    buf_printf(&text, "%s%s%s", plan->author ? plan->author : "-", plan->edited ? ", edited" : "",
               plan->revised ? ", after a rejection" : "");
    row = rows_field(fields, row, 11, "from", text.at);
    buf_free(&text);
    if (state->wait == TUNE_WAIT_GATE && state->wait_step == TUNE_STEP_PLAN)
        row = rows_field(fields, row, 11, "costs", plan_costs(views));
    bool more = views_can(views, TUNE_ACT_CHOOSE_PLAN);
    draw_waiting(state, area, row + (more || views_can(views, TUNE_ACT_TAKE_PLAN)) + 1);
    if (more)
        tui_say(tui_ink(area, TUI_DIM), row + 1, 1, "%d more; P chooses among them",
                (int)state->plans.len - 1);
    else if (views_can(views, TUNE_ACT_TAKE_PLAN))
        tui_put(tui_ink(area, TUI_DIM), row + 1, 1,
                STR("P shows plans of earlier rounds that were not tried"));
}

static void draw_nothing(struct views *views, struct tui_area area) {
    const struct tune_state *state = views->state;
    bool goes_on = state->running || state->wait == TUNE_WAIT_GATE;
    const struct tune_verdict *seed = state->attempts.len ? &state->attempts.at[0].verdict : NULL;
    bool wrong = !goes_on && seed && state->incumbent < 0 && !state->is_lost &&
                 (seed->compiles == TUNE_ANSWER_NO || seed->correct == TUNE_ANSWER_NO ||
                  seed->credible == TUNE_ANSWER_NO);
    const char *text =
        !goes_on && status_is_dry(state)
            ? "No proposal: none is left for this kernel. w writes the next one "
              "yourself, R goes on from another attempt, and a language model may "
              "find more (hone model --help)."
        : wrong            ? "No proposal: the kernel it would start from is not right yet. The "
                             "device pane has the findings, Enter there opens the line. "
                             "Correct the file, then s starts again."
        : goes_on          ? "The next proposal shows here as soon as there is one."
        : state->read_only ? "No proposal yet."
        : views_can(views, TUNE_ACT_WRITE_KERNEL)
            ? "No proposal yet. s goes on with the loop; w writes the next kernel yourself."
            : "No proposal yet. s starts the loop: profile, plan, rewrite, verify, "
              "benchmark, decide, summarise, reflect. Once this kernel is measured, "
              "w writes the next one yourself.";
    tui_put_lines(
        tui_ink(tui_area_part(area, (struct tui_rect){1, 2, area.rows, area.cols - 4}), TUI_DIM),
        str_of(text));
}

static bool shows_plan(const struct views *views) {
    const struct tune_state *state = views->state;
    return !tune_lane_of(state, views->lane)->candidate.exists ||
           workbench_of(views)->step == TUNE_STEP_PLAN;
}

void pane_proposal_draw(struct views *views, struct tui_area area) {
    struct workbench *bench = workbench_of(views);
    const struct tune_state *state = views->state;
    const struct tune_candidate *candidate = &tune_lane_of(state, views->lane)->candidate;
    const struct tune_attempt *parent = tune_state_attempt(state, candidate->parent);
    if (bench->proposed != candidate->proposed)
        bench->panes[PANE_PROPOSAL] = (struct tui_list){0};
    bench->proposed = candidate->proposed;
    if (candidate->exists && candidate->proposed && parent)
        diff_set(&bench->diff, tune_source(state, parent), candidate->proposed, candidate->hunks.at,
                 candidate->hunks.len);
    if (calls_draw(views, area))
        return;
    const struct diff_shown shown = {&bench->diff, candidate, &bench->panes[PANE_PROPOSAL],
                                     bench->hunks ? bench->hunk : -1};
    if (shows_plan(views) && tune_lane_plan(state, views->lane))
        draw_plan(views, area);
    else if (!candidate->exists)
        draw_nothing(views, area);
    else
        diff_draw(views, area, &shown);
}
