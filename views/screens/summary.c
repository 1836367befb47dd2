/* SPDX-License-Identifier: Apache-2.0 */
/* The summary: what came of the session while nobody looked. It opens by itself when a session is
 * opened that has stopped, and when the loop stops while nobody is at the keys. core/tune counts
 * what it shows. */
#include "views/inner.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define AWAY_MS 60000 /* without a key, so that nobody seems to be there */
#define BAR 14        /* cells of the longest latency */

/* Columns of the ladder. */
enum { AT_TEXT = 10, AT_US = 23, AT_BAR = 25, AT_TITLE = 48 };

/* A line of the summary: text, or a rung of the ladder, or what a model of a role cost. */
struct summary_row {
    const char *head, *text;   /* text: in full */
    const char *title, *ratio; /* of a rung; else NULL */
    double us, share;          /* of a rung: its latency, of the seed kernel's */
    const char *cells[6];      /* of a model; else NULL */
    enum tui_role ink;
    int attempt; /* that it is about, -1 */
};

struct summary {
    struct tui_list list;
    VEC(struct summary_row) rows;
    struct arena *texts;
    int64_t seq;
    bool told; /* the stop was seen */
};

static struct summary *own(const struct views *views) {
    return views->own[VIEW_SUMMARY];
}

/* ---- rows ----------------------------------------------------------------------------------- */

static struct summary_row *row_add(struct views *views, const char *head, enum tui_role ink) {
    struct summary_row *row = vec_push(&own(views)->rows);
    *row = (struct summary_row){.head = head, .ink = ink, .attempt = -1};
    return row;
}

/* `heading` stands before the first row only. */
static CC_PRINTF(4, 5) struct summary_row *say(struct views *views, const char **heading,
                                               enum tui_role ink, const char *format, ...) {
    struct buf text = {0};
    va_list args;
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    for (size_t i = 0; i < text.len; i++)
        if (text.at[i] == '\n')
            text.at[i] = ' ';
    struct summary_row *row = row_add(views, *heading, ink);
    row->text = arena_strdup(own(views)->texts, text.at ? text.at : "");
    *heading = "";
    buf_free(&text);
    return row;
}

static const char *keep(struct views *views, struct buf *text) {
    const char *kept = arena_strdup(own(views)->texts, text->at ? text->at : "");
    buf_clear(text);
    return kept;
}

static void rung_add(struct views *views, const char **heading, const struct tune_attempt *attempt,
                     const char *strategy) {
    struct buf text = {0};
    const char *title = attempt->plan.title ? attempt->plan.title : "by hand";
    tune_ratio_print(&text, views->state, attempt);
    struct summary_row *row =
        say(views, heading, TUI_PLAIN, "#%d, round %d, %s against #%d: %s (%s)%s%s", attempt->id,
            attempt->round, text.at, attempt->parent, title, strategy,
            attempt->author ? ", by " : "", attempt->author ? attempt->author : "");
    buf_clear(&text);
    buf_printf(&text, "%.2fx", attempt->vs_parent);
    if (!attempt->modelled && isfinite(attempt->interval.low) && isfinite(attempt->interval.high))
        buf_printf(&text, "  %.2f-%.2f", attempt->interval.low, attempt->interval.high);
    row->ratio = keep(views, &text);
    row->title = arena_strdup(own(views)->texts, title);
    row->attempt = attempt->id;
    row->share = attempt->latency_us / views->state->attempts.at[0].latency_us;
    row->us = attempt->latency_us;
    buf_free(&text);
}

static void seed_add(struct views *views, const char **heading) {
    const struct tune_attempt *seed = &views->state->attempts.at[0];
    struct summary_row *row = say(views, heading, TUI_PLAIN,
                                  "the seed kernel; ratios are against the parent, with the "
                                  "interval they lie in at 95 %% where it was measured");
    row->title = "the kernel as it came";
    row->ratio = "seed";
    row->attempt = 0;
    row->share = 1;
    row->us = seed->latency_us;
}

/* The best kernels of other classes of precision. */
static void add_others(struct views *views, const struct tune_attempt *best) {
    const struct tune_state *state = views->state;
    for (int i = 0; i < TUNE_PRECISIONS; i++) {
        const struct tune_attempt *other =
            tune_state_attempt(state, tune_best_in(state, (enum tune_precision)i));
        const char *heading = "";
        if (!other || other->precision == best->precision)
            continue;
        struct summary_row *row =
            say(views, &heading, TUI_PLAIN, "%s  %s  #%d, best in precision %s",
                show_latency(other->latency_us).text, show_speedup(other->speedup).text, other->id,
                tune_precision_word(other->precision));
        row->attempt = other->id;
    }
}

static void add_best(struct views *views) {
    const struct tune_state *state = views->state;
    const struct tune_attempt *seed = tune_state_attempt(state, 0);
    const struct tune_attempt *best = tune_state_attempt(state, state->best);
    const char *heading = state->wait == TUNE_WAIT_GATE     ? "waits"
                          : state->wait == TUNE_WAIT_PAUSED ? "paused"
                                                            : "ended";
    say(views, &heading, TUI_STRONG, "%s",
        state->running     ? "not yet; these are the results so far"
        : state->wait_text ? state->wait_text
                           : "-");
    heading = "best";
    if (!seed || !best) {
        say(views, &heading, TUI_DIM, "nothing was measured");
        return;
    }
    struct buf more = {0};
    double floor_us = tune_floor_in(best, best->precision);
    if (isfinite(floor_us))
        buf_printf(&more, ", floor %s", show_latency(floor_us).text);
    if (best->precision || tune_precision_allowed(state))
        buf_printf(&more, ", precision %s", tune_precision_word(best->precision));
    struct summary_row *row =
        say(views, &heading, TUI_GOOD, "%s  %s  #%d%s%s", show_latency(best->latency_us).text,
            show_speedup(best->speedup).text, best->id, more.at ? more.at : "",
            best->modelled    ? ", modelled"
            : best->confirmed ? ", confirmed"
                              : "");
    row->attempt = best->id;
    buf_free(&more);
    if (best->path)
        say(views, &heading, TUI_DIM, "%s", best->path);
    add_others(views, best);
}

static void add_ladder(struct views *views, const struct tune_summary *summary) {
    const struct tune_state *state = views->state;
    const char *heading = "ladder";
    if (!state->attempts.len || isnan(state->attempts.at[0].latency_us))
        return;
    seed_add(views, &heading);
    for (size_t i = 0; i < summary->ladder.len; i++)
        rung_add(views, &heading, &state->attempts.at[summary->ladder.at[i].attempt],
                 summary->ladder.at[i].strategy);
    if (!summary->ladder.len)
        say(views, &heading, TUI_DIM, "nothing was faster");
}

static void add_failed(struct views *views, const struct tune_summary *summary) {
    const char *heading = "failed";
    for (size_t i = 0; i < summary->failed.len; i++) {
        const struct tune_failing *failing = &summary->failed.at[i];
        struct summary_row *row =
            say(views, &heading, TUI_PLAIN, "%3dx %s%s%s", failing->count, failing->what,
                tune_failing_between(failing), failing->why ? failing->why : "");
        row->attempt = failing->attempt;
    }
}

static void add_learnt(struct views *views, const struct tune_summary *summary) {
    const struct tune_state *state = views->state;
    const char *heading = "learnt";
    for (size_t i = 0; i < summary->memory.len; i++) {
        const struct tune_experience *item = &state->memory.at[summary->memory.at[i]];
        struct summary_row *row =
            say(views, &heading, item->speedup >= 1 ? TUI_GOOD : TUI_BAD, "%s %s: %s",
                show_speedup(item->speedup).text, tune_experience_word(item->is),
                item->title ? item->title : "");
        row->attempt = item->attempt;
    }
    for (size_t i = summary->notes.len; i-- > 0;) {
        const struct tune_note *note = &state->notes.at[summary->notes.at[i]];
        struct summary_row *row = say(views, &heading, TUI_PLAIN, "round %d: %s", note->round,
                                      note->lesson ? note->lesson : "");
        row->attempt = note->attempt;
    }
}

static void amount_put(const struct tune_state *state, enum tune_budget budget, struct buf *out) {
    double spent = tune_budget_spent(state, budget);
    if (isnan(spent))
        buf_printf(out, "%s not reported", tune_budget_word(budget));
    else
        tune_budget_print(out, budget, spent);
    if (budget == TUNE_BUDGET_ROUNDS && !isnan(spent))
        buf_puts(out, " done");
}

static void cost_add(struct views *views, const struct tune_cost *cost) {
    struct buf text = {0};
    const char *heading = "", *tokens, *dollars;
    tune_amount_print(&text, TUNE_BUDGET_TOKENS, cost->tokens);
    tokens = keep(views, &text);
    tune_amount_print(&text, TUNE_BUDGET_DOLLARS, cost->dollars);
    dollars = keep(views, &text);
    struct summary_row *row =
        say(views, &heading, TUI_PLAIN,
            "%s, %s: %d asked, %d of them failed; tokens %s%s, dollars %s", cost->role, cost->model,
            cost->asked, cost->failed, cost->guessed ? "about " : "", tokens, dollars);
    row->cells[0] = cost->role;
    row->cells[1] = cost->model;
    buf_printf(&text, "%d", cost->asked);
    row->cells[2] = keep(views, &text);
    buf_printf(&text, "%s%s", cost->guessed ? "~" : "", isnan(cost->tokens) ? "-" : tokens);
    row->cells[3] = keep(views, &text);
    row->cells[4] = isnan(cost->dollars) ? "-" : dollars;
    if (cost->seconds > 0)
        tune_amount_print(&text, TUNE_BUDGET_WALL_S, cost->seconds);
    else
        buf_puts(&text, "-");
    row->cells[5] = keep(views, &text);
    buf_free(&text);
}

static void add_cost(struct views *views, const struct tune_summary *summary) {
    const struct tune_state *state = views->state;
    const char *heading = "cost";
    struct buf text = {0};
    int shown = summary->costs.len ? TUNE_BUDGETS : TUNE_BUDGET_TOKENS;
    for (int i = 0; i < shown; i++) {
        buf_puts(&text, i ? ", " : "");
        amount_put(state, (enum tune_budget)i, &text);
    }
    say(views, &heading, TUI_STRONG, "%s%s", text.at,
        summary->costs.len ? "" : ", no model was asked");
    if (summary->costs.len) {
        static const char *const heads[] = {"role", "model", "asked", "tokens", "dollars", "time"};
        struct summary_row *row = say(views, &heading, TUI_DIM,
                                      "tokens and dollars as reported; ~ when some are estimated "
                                      "from the texts, - when nobody reported any");
        for (size_t i = 0; i < COUNT_OF(heads); i++)
            row->cells[i] = heads[i];
    }
    for (size_t i = 0; i < summary->costs.len; i++)
        cost_add(views, &summary->costs.at[i]);
    buf_free(&text);
}

static void forget_rows(struct summary *summary) {
    vec_free(&summary->rows);
    arena_free(summary->texts);
    summary->texts = NULL;
}

static void collect(struct views *views) {
    struct tune_summary summary;
    if (own(views)->texts && own(views)->seq == views->state->seq)
        return;
    forget_rows(own(views));
    own(views)->texts = arena_new();
    own(views)->seq = views->state->seq;
    tune_summary_make(views->state, &summary);
    add_best(views);
    add_ladder(views, &summary);
    add_failed(views, &summary);
    add_learnt(views, &summary);
    add_cost(views, &summary);
    tune_summary_free(&summary);
}

/* ---- drawing -------------------------------------------------------------------------------- */

static void draw_rung(struct views *views, struct tui_area area, int line,
                      const struct summary_row *row) {
    tui_say(tui_ink(area, TUI_STRONG), line, AT_TEXT, "#%d", row->attempt);
    area = rows_behind(area, views->state->attempts.len, 3);
    tui_say_right(area, line, AT_US, "%s", show_latency(row->us).text);
    struct tui_rect bar = {line, AT_BAR, 1, BAR};
    if (isfinite(row->share))
        tui_chart_bar(tui_area_part(area, bar), fmin(row->share, 1), TUI_BAR);
    int col = tui_say(tui_ink(area, row->attempt ? TUI_GOOD : TUI_DIM), line, AT_BAR + BAR + 1,
                      "%s", row->ratio) +
              2;
    col = MAX_OF(col, AT_TITLE);
    tui_put_short(area, line, (struct tui_rect){0, col, 1, area.cols - col - 1},
                  str_of(row->title));
    find_mark(views, area, line, col, str_of(row->title));
}

static void draw_cells(struct tui_area area, int line, const struct summary_row *row) {
    static const int right[] = {0, 0, 28, 18, 9, 1}; /* columns from the right */
    struct tui_area ink = tui_ink(area, row->ink);
    tui_say(ink, line, AT_TEXT, "%s", row->cells[0]);
    tui_put_short(ink, line, (struct tui_rect){0, AT_TEXT + 11, 1, area.cols - AT_TEXT - 46},
                  str_of(row->cells[1]));
    for (size_t i = 2; i < COUNT_OF(right); i++)
        tui_say_right(ink, line, area.cols - right[i], "%s", row->cells[i]);
}

static void draw_row(struct views *views, struct tui_area area, int line, int index) {
    const struct summary_row *row = &own(views)->rows.at[index];
    tui_say(tui_ink(area, TUI_TITLE), line, 1, "%s", row->head);
    if (row->ratio)
        draw_rung(views, area, line, row);
    else if (row->cells[0])
        draw_cells(area, line, row);
    else
        tui_put_short(tui_ink(area, row->ink), line,
                      (struct tui_rect){0, AT_TEXT, 1, area.cols - AT_TEXT - 1}, str_of(row->text));
    if (!row->ratio && !row->cells[0])
        find_mark(views, area, line, AT_TEXT, str_of(row->text));
}

static const struct summary_row *row_here(const struct views *views) {
    const struct summary *summary = own(views);
    int row = summary->list.cursor;
    return row >= 0 && (size_t)row < summary->rows.len ? &summary->rows.at[row] : NULL;
}

/* A row has one line. The one under the cursor is told in full below. */
static void summary_draw(struct views *views, struct tui_area body) {
    struct buf note = {0};
    collect(views);
    tune_budget_print(&note, TUNE_BUDGET_ROUNDS, views->state->budgets[TUNE_BUDGET_ROUNDS].spent);
    buf_puts(&note, " done"); /* the title counts the one that runs */
    int below = 5;
    struct tui_rect upper = {0, 0, body.rows - below, body.cols};
    struct tui_rect lower = {body.rows - below, 0, below, body.cols};
    struct tui_area inside =
        tui_frame(tui_area_part(body, upper), true, "what came of it", note.at);
    struct tui_area detail = tui_frame(tui_area_part(body, lower), false, "in full", "");
    rows_draw(views, inside, &own(views)->list, (int)own(views)->rows.len, draw_row);
    struct tui_rect text = {0, 1, detail.rows, detail.cols - 2};
    if (row_here(views))
        tui_put_lines(tui_area_part(detail, text), str_of(row_here(views)->text));
    buf_free(&note);
}

static struct str summary_line(const void *data, int row) {
    const struct views *views = data;
    bool there = row >= 0 && (size_t)row < own(views)->rows.len;
    return str_of(there ? own(views)->rows.at[row].text : "");
}

/* Enter shows the attempt a row is about beside its parent. */
static void summary_enter(struct views *views, struct views_request *request) {
    const struct summary_row *row = row_here(views);
    (void)request;
    if (!row || !tune_state_attempt(views->state, row->attempt))
        views_say(views, false, "this line is not about an attempt");
    else
        history_compare(views, row->attempt);
}

/* ---- when it opens -------------------------------------------------------------------------- */

bool summary_is_due(const struct tune_state *state) {
    const struct tune_attempt *seed = state ? tune_state_attempt(state, 0) : NULL;
    return seed && state->wait == TUNE_WAIT_STOPPED && seed->status != TUNE_STATUS_FAILED &&
           isfinite(seed->latency_us);
}

/* Opens when the loop stops and nobody is there. */
static void summary_follow(struct views *views) {
    bool due = summary_is_due(views->state);
    bool away = views->now_ms - views->touched_ms >= AWAY_MS && views->touched_ms;
    if (!views->touched_ms)
        views->touched_ms = views->now_ms;
    if (due && !own(views)->told && away && views->view == VIEW_WORKBENCH &&
        views->over.is == OVERLAY_NONE)
        views_show(views, VIEW_SUMMARY);
    if (!due && own(views)->told && views->view == VIEW_SUMMARY && views->over.is == OVERLAY_NONE)
        views_show(views, VIEW_WORKBENCH); /* the loop goes on: that is where it is seen */
    own(views)->told = due && (own(views)->told || away || views->view == VIEW_SUMMARY);
}

static struct tui_list *summary_list(struct views *views) {
    return &own(views)->list;
}

static void summary_forget(struct views *views) {
    forget_rows(own(views));
    own(views)->list = (struct tui_list){0};
    own(views)->told = true;
}

const struct screen summary_screen = {
    .name = "summary",
    .about = "the results; Enter: the attempt, 1: the workbench",
    .command = {"summary", "",
                "the results: best, ladder, what failed, what was learnt, what it cost",
                WHERE_TUNING, PLACE_OPEN, TUNE_ACTIONS, NULL, NULL, NULL},
    .key = "b",
    .keys = "n next-match\nN previous-match\n",
    .size = sizeof(struct summary),
    .forget = summary_forget,
    .draw = summary_draw,
    .follow = summary_follow,
    .list = summary_list,
    .line_of = summary_line,
    .enter = summary_enter,
};
