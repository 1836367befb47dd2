/* SPDX-License-Identifier: Apache-2.0 */
/* What is proposed: the plan while it is one, then the difference to
 * the parent, hunk by hunk. Also the screen that compares two attempts. */
#include "views/private.h"

#include <math.h>
#include <stdio.h>

/* ---- differences ---------------------------------------------------------------------------- */

static bool is_left(const struct tune_candidate *candidate, int hunk) {
    return candidate && hunk >= 0 && (size_t)hunk < candidate->hunks.len &&
           candidate->hunks.at[hunk].left;
}

static void draw_head(struct views *views, struct tui_area area, int row, const struct diff *diff,
                      const struct diff_row *at, const struct tune_candidate *candidate) {
    bool here = views->hunks && views->hunk == at->hunk, left = is_left(candidate, at->hunk);
    struct tui_area look = tui_ink(area, here ? TUI_STRONG : TUI_HUNK);
    if (here) {
        look = tui_paper(look, TUI_PAPER_CURSOR);
        tui_fill(look, (struct tui_rect){row, 0, 1, area.cols}, " ");
    }
    int col = tui_say(look, row, 0, "%s @@ %d → %d", here ? "›" : " ", at->old_line, at->new_line);
    if (!candidate)
        return;
    char told[48];
    snprintf(told, sizeof told, "hunk %d/%d %s", at->hunk + 1, (int)diff->n_hunks,
             left ? "✗ left out" : "✓");
    int right = area.cols - 1 - (int)text_columns(str_of(told));
    tui_say(tui_ink(look, left ? TUI_BAD : TUI_GOOD), row, right, "%s", told);
    if (left && candidate->hunks.at[at->hunk].why)
        tui_put_short(tui_ink(look, TUI_DIM), row,
                      (struct tui_rect){0, col + 2, 1, MAX_OF(right - col - 4, 0)},
                      str_of(candidate->hunks.at[at->hunk].why));
}

struct side {
    struct tui_area area;
    const struct source *source;
    int line, other_line;
    const struct source *other;
    bool added, left;
};

/* One line of a difference: number, sign, text, and the words that differ. */
static void draw_side(struct views *views, const struct side *side, int row) {
    struct tui_area area = side->area;
    struct str text = source_line(side->source, side->line);
    enum tui_role ink = side->left ? TUI_DIM : side->added ? TUI_ADDED : TUI_REMOVED;
    enum tui_role paper = side->left    ? TUI_PLAIN
                          : side->added ? TUI_PAPER_ADDED
                                        : TUI_PAPER_REMOVED;
    struct tui_area ground = tui_paper(area, paper);
    tui_fill(ground, (struct tui_rect){row, 5, 1, area.cols - 5}, " ");
    tui_say_right(tui_ink(area, ink), row, 4, "%d", side->line);
    tui_say(tui_ink(ground, ink), row, 5, side->added ? "+" : "-");
    struct tui_area rest = tui_area_part(ground, (struct tui_rect){row, 7, 1, area.cols - 7});
    if (side->left)
        tui_put(tui_ink(rest, TUI_DIM), 0, -views->shift, text);
    else
        source_draw_line(rest, 0, views->shift, text, side->source->quote.at[side->line - 1]);
    size_t start, end, other_end;
    if (side->other_line && !side->left &&
        diff_words(text, source_line(side->other, side->other_line), &start, &end, &other_end) &&
        end > start) {
        int col = (int)text_columns((struct str){text.at, start}) - views->shift;
        int width = (int)text_columns((struct str){text.at + start, end - start});
        tui_lay_paper(rest, (struct tui_rect){0, col, 1, width},
                      side->added ? TUI_PAPER_ADDED_WORD : TUI_PAPER_REMOVED_WORD);
    }
    mark_found(views, rest, 0, -views->shift, text);
}

static void draw_same(struct views *views, struct tui_area area, int row,
                      const struct source *source, int line) {
    struct str text = source_line(source, line);
    tui_say_right(tui_ink(area, TUI_LINE_NUMBER), row, 4, "%d", line);
    struct tui_area rest = tui_area_part(area, (struct tui_rect){row, 7, 1, area.cols - 7});
    source_draw_line(rest, 0, views->shift, text, source->quote.at[line - 1]);
    mark_found(views, rest, 0, -views->shift, text);
}

static void draw_unified(struct views *views, struct tui_area area, int row, struct diff *diff,
                         const struct diff_row *at, bool left) {
    if (at->kind == DIFF_SAME) {
        draw_same(views, area, row, &diff->new_, at->new_line);
        return;
    }
    bool added = at->kind == DIFF_ADDED;
    const struct side side = {
        area,      added ? &diff->new_ : &diff->old, added ? at->new_line : at->old_line,
        at->other, added ? &diff->old : &diff->new_, added,
        left};
    draw_side(views, &side, row);
}

static void draw_sides(struct views *views, struct tui_area area, int row, struct diff *diff,
                       const struct diff_row *at, bool left) {
    int half = area.cols / 2;
    struct tui_area one = tui_area_part(area, (struct tui_rect){0, 0, area.rows, half});
    struct tui_area two =
        tui_area_part(area, (struct tui_rect){0, half, area.rows, area.cols - half});
    if (at->kind == DIFF_SAME) {
        draw_same(views, one, row, &diff->old, at->old_line);
        draw_same(views, two, row, &diff->new_, at->new_line);
        return;
    }
    bool pair = at->kind == DIFF_CHANGED;
    const struct side a = {one,         &diff->old, at->old_line, pair ? at->new_line : 0,
                           &diff->new_, false,      left};
    const struct side b = {two,        &diff->new_, at->new_line, pair ? at->old_line : 0,
                           &diff->old, true,        left};
    if (at->old_line)
        draw_side(views, &a, row);
    if (at->new_line)
        draw_side(views, &b, row);
}

/* While hunks are gone through, the one under the cursor stays in sight. */
static void follow_hunk(struct views *views, const struct diff *diff, struct tui_list *list) {
    size_t count = views->side_by_side ? diff->sides.len : diff->unified.len;
    const struct diff_row *rows = views->side_by_side ? diff->sides.at : diff->unified.at;
    for (size_t i = 0; i < count; i++)
        if (rows[i].kind == DIFF_HEAD && rows[i].hunk == views->hunk) {
            list->cursor = (int)i;
            list->top = (int)i;
        }
}

void diff_draw(struct views *views, struct tui_area area, struct diff *diff,
               const struct tune_candidate *candidate, struct tui_list *list) {
    bool sides = views->side_by_side && area.cols >= 60;
    size_t count = sides ? diff->sides.len : diff->unified.len;
    const struct diff_row *rows = sides ? diff->sides.at : diff->unified.at;
    if (views->hunks && candidate)
        follow_hunk(views, diff, list);
    tui_list_fit(list, (int)count, area.rows);
    for (int row = 0; row < area.rows && list->top + row < list->count; row++) {
        const struct diff_row *at = &rows[list->top + row];
        if (at->kind == DIFF_HEAD)
            draw_head(views, area, row, diff, at, candidate);
        else if (sides)
            draw_sides(views, area, row, diff, at, is_left(candidate, at->hunk));
        else
            draw_unified(views, area, row, diff, at, is_left(candidate, at->hunk));
        if (list->top + row == list->cursor && !views->hunks)
            tui_say(tui_ink(area, TUI_KEY), row, at->kind == DIFF_HEAD ? 0 : 4, "›");
    }
    tui_list_draw_bar(list, area);
}

/* ---- plans ---------------------------------------------------------------------------------- */

static int put_field(struct tui_area area, int row, const char *name, const char *text) {
    if (!text || !*text || row >= area.rows)
        return row;
    tui_say(tui_ink(area, TUI_DIM), row, 1, "%s", name);
    struct tui_rect rest = {row, 11, area.rows - row, area.cols - 13};
    return row + tui_put_wrapped(tui_area_part(area, rest), 0, str_of(text));
}

/* What carrying it out is expected to cost, worked out when something happened. */
static const char *plan_costs(struct views *views) {
    if (views->costs_seq == views->state->seq)
        return views->costs.at;
    struct tune_expected expected = tune_expect_step(views->state, TUNE_STEP_REWRITE);
    buf_clear(&views->costs);
    tune_expected_print(&views->costs, &expected);
    if (views->costs.len)
        buf_puts(&views->costs, expected.own ? " to write it, as before" : " to write it, a guess");
    views->costs_seq = views->state->seq;
    return views->costs.len ? views->costs.at : NULL;
}

static void draw_plan(struct views *views, struct tui_area area) {
    const struct tune_state *state = views->state;
    const struct tune_plan *plan = tune_state_plan(state);
    if (!plan)
        return;
    const struct tune_rejection *last =
        state->rejections.len ? &state->rejections.at[state->rejections.len - 1] : NULL;
    int top = 0;
    if (state->wait == TUNE_WAIT_REJECTED && last)
        top = put_field(tui_ink(area, TUI_BAD), 0, "rejected",
                        last->reason ? last->reason : "by you") +
              1;
    struct tui_rect title = {top, 1, area.rows - top, area.cols - 3};
    int row = top +
              tui_put_wrapped(tui_ink(tui_area_part(area, title), TUI_STRONG), 0,
                              str_of(plan->title ? plan->title : plan->key)) +
              1;
    row = put_field(area, row, "what", plan->what);
    row = put_field(area, row, "why", plan->why);
    struct buf text = {0};
    plan_prediction(plan, &text);
    row = put_field(area, row, "predicts", text.at);
    row = put_field(area, row, "strategy", plan->strategy);
    buf_clear(&text);
    if (plan->first_line > 0)
        buf_printf(&text, plan->last_line > plan->first_line ? "%d to %d" : "%d", plan->first_line,
                   plan->last_line);
    row = put_field(area, row, "lines", text.at);
    buf_clear(&text);
    buf_printf(&text, "%s%s%s", plan->author ? plan->author : "-", plan->edited ? ", edited" : "",
               plan->revised ? ", revised after a rejection" : "");
    row = put_field(area, row, "from", text.at);
    buf_free(&text);
    if (state->wait == TUNE_WAIT_GATE && state->wait_step == TUNE_STEP_PLAN)
        row = put_field(area, row, "costs", plan_costs(views));
    if (tune_can(state, TUNE_ACT_CHOOSE_PLAN))
        tui_say(tui_ink(area, TUI_DIM), row + 1, 1, "%d more; P chooses among them",
                (int)state->plans.len - 1);
}

static void draw_nothing(struct views *views, struct tui_area area) {
    const struct tune_state *state = views->state;
    const char *text = state->running ? "The next proposal shows here as soon as there is one."
                                      : "No proposal yet. s starts the loop: profile, plan, "
                                        "rewrite, verify, benchmark, decide, summarise, reflect. "
                                        "w writes the next kernel yourself.";
    tui_put_wrapped(
        tui_ink(tui_area_part(area, (struct tui_rect){1, 2, area.rows, area.cols - 4}), TUI_DIM), 0,
        str_of(text));
}

static bool shows_plan(const struct views *views) {
    const struct tune_state *state = views->state;
    return !state->candidate.exists || views->step == TUNE_STEP_PLAN;
}

void pane_proposal_draw(struct views *views, struct tui_area area) {
    const struct tune_state *state = views->state;
    const struct tune_candidate *candidate = &state->candidate;
    const struct tune_attempt *parent = tune_state_attempt(state, candidate->parent);
    if (views->proposed != candidate->proposed)
        views->panes[PANE_PROPOSAL] = (struct tui_list){0};
    views->proposed = candidate->proposed;
    if (candidate->exists && candidate->proposed && parent)
        diff_set(&views->diff, parent->source, candidate->proposed, candidate->hunks.at,
                 candidate->hunks.len);
    if (calls_draw(views, area))
        return;
    if (shows_plan(views) && tune_state_plan(state))
        draw_plan(views, area);
    else if (!candidate->exists)
        draw_nothing(views, area);
    else
        diff_draw(views, area, &views->diff, candidate, &views->panes[PANE_PROPOSAL]);
}

/* ---- the screen that compares two attempts -------------------------------------------------- */

static void choose_pair(struct views *views, const struct tune_attempt **a,
                        const struct tune_attempt **b) {
    const struct tune_state *state = views->state;
    *a = tune_state_attempt(state, views->marks[0] >= 0 ? views->marks[0] : 0);
    *b = tune_state_attempt(state, views->marks[1]);
    if (!*b && views->marks[0] < 0)
        *b = views_incumbent(views);
    if (!*b)
        *b = *a;
}

static void draw_attempt_line(struct tui_area area, const struct tune_attempt *attempt,
                              const char *sign) {
    int col = tui_say(tui_ink(area, TUI_STRONG), 0, 1, "%s #%d", sign, attempt->id) + 2;
    col = tui_say(area, 0, col, "%s  %s", show_latency(attempt->latency_us).text,
                  show_speedup(attempt->speedup).text) +
          2;
    const char *title = attempt->id == 0 ? "the seed" : attempt->plan.title;
    tui_put_short(tui_ink(area, TUI_DIM), 0, (struct tui_rect){0, col, 1, area.cols - col - 1},
                  str_of(title ? title : ""));
}

void diff_screen_draw(struct views *views, struct tui_area area) {
    struct tui_area body = chrome_screen(views, area);
    const struct tune_attempt *a, *b;
    choose_pair(views, &a, &b);
    if (!a || !b || !a->source || !b->source) {
        tui_say(tui_ink(body, TUI_DIM), 1, 2, "no two attempts yet; mark them in the history (7)");
        return;
    }
    draw_attempt_line(tui_area_part(body, (struct tui_rect){0, 0, 1, body.cols}), a, "-");
    draw_attempt_line(tui_area_part(body, (struct tui_rect){1, 0, 1, body.cols}), b, "+");
    if (views->compare.old.text != a->source || views->compare.new_.text != b->source) {
        size_t count;
        struct tune_hunk *hunks = tune_hunks(str_of(a->source), str_of(b->source), &count);
        diff_set(&views->compare, a->source, b->source, hunks, count);
        mem_free_(hunks);
    }
    struct tui_rect rest = {2, 0, body.rows - 2, body.cols};
    if (body.cols >= 110) {
        struct tui_rect side = {2, body.cols - 46, body.rows - 2, 46};
        rest.cols -= 45;
        profile_pair_draw(tui_frame(tui_area_part(body, side), false, "metrics", ""), a, b);
    }
    struct buf note = {0};
    buf_printf(&note, "+%d -%d  %s", views->compare.added, views->compare.removed,
               show_change(a->latency_us, b->latency_us).text);
    struct tui_area inside = tui_frame(tui_area_part(body, rest), true, "source", note.at);
    buf_free(&note);
    views->list_spot = (struct tui_rect){inside.row, inside.col, inside.rows, inside.cols};
    if (views->compare.n_hunks == 0)
        tui_say(tui_ink(inside, TUI_DIM), 1, 2, "the sources are equal");
    diff_draw(views, inside, &views->compare, NULL, &views->diff_list);
}
