/* SPDX-License-Identifier: Apache-2.0 */
/* Where the time goes: incumbent and candidate next to each other, engines as bars, bounds,
 * roofline, samples, cost per line. The numbers come with the attempts. */
#include "views/profile/private.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define MFU "mfu_estimated_percent"

/* The metrics that the profile pane shows, in this order, by their names in Neuron's tools. The
 * glossary has the words for them. */
static const struct {
    const char *metric, *unit;
} rows[] = {
    {"latency", "us"},
    {"modelled", "us"},  /* of a measured one: what the device model says */
    {"predicted", "us"}, /* what the compiler says */
    {"hbm_read_bytes", "bytes"},
    {"hbm_write_bytes", "bytes"},
    {"dma_transfer_count", "count"},
    {"instructions", "count"},
    {MFU, "%"},
};

static const struct {
    const char *metric;
    enum tui_role role;
} engines[] = {
    {"tensor_engine_active_time_percent", TUI_LANE_1},
    {"vector_engine_active_time_percent", TUI_LANE_2},
    {"scalar_engine_active_time_percent", TUI_LANE_3},
    {"gpsimd_engine_active_time_percent", TUI_LANE_4},
    {"dma_active_time_percent", TUI_LANE_5},
};

#define ROOF_COLS 23  /* "  roofline 100 → 100 % " */
#define SAVES_COLS 19 /* " (22 % less without)" */

struct profile *profile_of(const struct views *views) {
    return views->own[VIEW_PROFILE];
}

/* Of a kernel without products there is nothing to say about the peak of products. */
static double share_of_peak(double percent) {
    return percent > 0 ? percent : (double)NAN;
}

static double metric(const struct tune_attempt *attempt, const char *name) {
    if (strcmp(name, MFU) == 0)
        return share_of_peak(tune_attempt_metric(attempt, name));
    if (attempt && attempt->instructions > 0 && strcmp(name, "instructions") == 0)
        return (double)attempt->instructions;
    if (attempt && strcmp(name, "modelled") == 0)
        return attempt->modelled_us;
    if (strcmp(name, "predicted") == 0)
        return tune_predicted(attempt) ? attempt->prediction.us : (double)NAN;
    return attempt ? tune_attempt_metric(attempt, name) : NAN;
}

/* A row shows where one of the two has the number. */
static bool has_row(const struct tune_attempt *a, const struct tune_attempt *b, const char *name) {
    return isfinite(metric(a, name)) || isfinite(metric(b, name));
}

/* Of a task with several shapes each has its latency as a metric of its own. The next one of the
 * attempt, from metric number *at on; NULL: there are no more. */
#define OF_SHAPE "latency_us."
static const char *next_shape(const struct tune_attempt *attempt, size_t *at) {
    while (attempt && *at < attempt->metrics.len) {
        const char *name = attempt->metrics.names[(*at)++].name;
        if (str_starts(str_of(name), OF_SHAPE))
            return name;
    }
    return NULL;
}

const char *pane_profile_metric(const struct views *views, int row) {
    const struct tune_attempt *a, *b;
    views_pair(views, &a, &b);
    if (!a || !isfinite(a->latency_us))
        return NULL;
    for (size_t i = 0, at = 0; i < COUNT_OF(rows) + COUNT_OF(engines); i++) {
        const char *name = i < COUNT_OF(rows) ? rows[i].metric : engines[i - COUNT_OF(rows)].metric;
        if (has_row(a, b, name) && row-- == 0)
            return name;
        while (i == 0 && next_shape(a, &at))
            if (row-- == 0)
                return rows[0].metric;
    }
    return NULL;
}

static enum tui_role role_of_change(double from, double to, bool less_is_better) {
    if (!isfinite(from) || !isfinite(to) || fabs(to - from) <= 0.0005 * fabs(from))
        return TUI_DIM;
    return (to < from) == less_is_better ? TUI_GOOD : TUI_BAD;
}

/* A row of one metric, where one of the two has it; returns the next row. */
static int draw_value(struct tui_area area, int row, const struct profile_pair *pair,
                      const char *name, const char *word, const char *unit) {
    bool wide = area.cols >= 52;
    int value = wide ? 26 : 20, other = wide ? 40 : 29, change = wide ? 51 : area.cols - 1;
    double from = metric(pair->a, name), to = metric(pair->b, name);
    if (!has_row(pair->a, pair->b, name))
        return row;
    tui_say(tui_ink(area, TUI_DIM), row, 1, "%s", word);
    tui_say_right(pair->b ? area : tui_ink(area, TUI_STRONG), row, value, "%s",
                  show_value(from, unit).text);
    if (pair->b) {
        if (wide)
            tui_say(tui_ink(area, TUI_DIM), row, value + 1, "→");
        tui_say_right(tui_ink(area, TUI_STRONG), row, other, "%s", show_value(to, unit).text);
        bool less = strcmp(name, MFU) != 0;
        tui_say_right(tui_ink(area, role_of_change(from, to, less)), row, change, "%s",
                      show_change(from, to).text);
    }
    return row + 1;
}

static int draw_values(struct tui_area area, int row, const struct profile_pair *pair) {
    for (size_t i = 0, at = 0; i < COUNT_OF(rows); i++) {
        const char *shape;
        row = draw_value(area, row, pair, rows[i].metric, glossary_word(rows[i].metric),
                         rows[i].unit);
        while (i == 0 && (shape = next_shape(pair->a, &at))) {
            char word[20];
            snprintf(word, sizeof word, "  %.12s", shape + strlen(OF_SHAPE));
            row = draw_value(area, row, pair, shape, word, "us");
        }
    }
    return row;
}

static int draw_engines(struct tui_area area, int row, const struct tune_attempt *a,
                        const struct tune_attempt *b) {
    int room = area.cols - 26;
    for (size_t i = 0; i < COUNT_OF(engines); i++) {
        double from = metric(a, engines[i].metric), to = metric(b, engines[i].metric);
        double shown = b && isfinite(to) ? to : from;
        if (!has_row(a, b, engines[i].metric))
            continue;
        tui_say(tui_ink(area, TUI_DIM), row, 1, "%s", glossary_word(engines[i].metric));
        struct tui_rect bar = {row, 9, 1, room};
        if (room > 4) {
            tui_fill(tui_ink(area, TUI_BAR_OTHER), bar, "·");
            tui_chart_bar(tui_area_part(area, bar), shown / 100, engines[i].role);
            if (b && isfinite(from) && from > 0 && from < 100)
                tui_say(tui_ink(area, TUI_STRONG), row, 9 + (int)(from / 100 * room), "│");
        }
        struct tui_area ink = tui_ink(area, TUI_STRONG);
        if (b && isfinite(to) && isfinite(from))
            tui_say_right(ink, row, area.cols - 1, "%.0f → %.0f %%", from, to);
        else
            tui_say_right(ink, row, area.cols - 1, "%.0f %%", shown);
        row++;
    }
    return row;
}

/* What the word stands for: an engine may limit and be idle more often than another, which works
 * beside it. */
static int say_saves(struct tui_area area, int row, int col, const struct tune_attempt *shown) {
    double saves = tune_limited_saves(shown);
    if (!isfinite(saves) || area.cols - col <= ROOF_COLS + SAVES_COLS)
        return col;
    return tui_say(tui_ink(area, TUI_DIM), row, col, " (%.0f %% less without)", saves * 100);
}

static void draw_bound(struct tui_area area, int row, const struct profile_pair *pair) {
    const struct tune_attempt *a = pair->a, *b = pair->b;
    struct buf was = {0}, is = {0};
    int col = 1;
    tune_limited_print(a, &was);
    if (b)
        tune_limited_print(b, &is);
    if (was.len)
        col = tui_say(area, row, col, "bound by %s", was.at);
    if (was.len && is.len && strcmp(was.at, is.at) != 0)
        col = tui_say(area, row, col, " → %s", is.at);
    if (was.len)
        col = say_saves(area, row, col, b && is.len ? b : a);
    buf_free(&was);
    buf_free(&is);
    double from = tune_roof_share(&pair->roof, a), to = tune_roof_share(&pair->roof, b);
    if (!isfinite(from) || area.cols - col <= ROOF_COLS)
        return;
    if (isfinite(to))
        tui_say_right(area, row, area.cols - 1, "roofline %.0f → %.0f %%", from * 100, to * 100);
    else
        tui_say_right(area, row, area.cols - 1, "roofline %.0f %%", from * 100);
}

/* How far a modelled latency can be believed, and the gain: rows that are there when it is known.
 */
static int draw_doubt(struct tui_area area, int row, const struct profile_pair *pair) {
    const struct tune_attempt *shown = pair->b ? pair->b : pair->a;
    struct tui_area ink = tui_ink(area, TUI_DIM);
    if (shown->modelled && shown->low_us > 0)
        tui_say(ink, row++, 1, "on hardware %s to %s (8 of 10)", show_latency(shown->low_us).text,
                show_latency(shown->high_us).text);
    struct tune_rests rests = tune_gain_rests(pair->a, pair->b);
    double fitted = 100 * rests.fitted, guessed = 100 * rests.guessed;
    bool some = fitted >= 0.5, more = guessed >= 0.5; /* what is shown as 0 says nothing */
    int col = some ? tui_say(ink, row, 1, "gain: %.0f %% on fitted rules", fitted) : 1;
    if (more)
        tui_say(ink, row, col, some ? ", %.0f %% guessed" : "gain: %.0f %% on guessed rules",
                guessed);
    return row + (some || more);
}

void profile_pair_draw(struct tui_area area, const struct profile_pair *pair) {
    int row = draw_values(area, 0, pair);
    row = draw_engines(area, row, pair->a, pair->b);
    draw_bound(area, row, pair);
    draw_doubt(area, row + 1, pair);
}

void pane_profile_note(const struct views *views, struct buf *note) {
    const struct tune_attempt *a, *b;
    views_pair(views, &a, &b);
    if (a && b)
        buf_printf(note, "#%d → #%d", a->id, b->id);
    else if (a && isfinite(a->latency_us))
        buf_printf(note, "#%d", a->id);
}

/* The best latency after each attempt, as a step line with its ends labelled. */
static void draw_progress(struct views *views, struct tui_area area) {
    const struct tune_state *state = views->state;
    double values[256], best = NAN;
    size_t count = MIN_OF(state->attempts.len, COUNT_OF(values));
    for (size_t i = 0; i < count; i++) {
        const struct tune_attempt *attempt = &state->attempts.at[i];
        bool counts = attempt->verdict.correct == TUNE_ANSWER_YES && attempt->latency_us > 0;
        if (counts && !(best <= attempt->latency_us))
            best = attempt->latency_us;
        values[i] = best;
    }
    if (area.rows < 3 || count < 2)
        return;
    tui_say(tui_ink(area, TUI_DIM), 0, 1, "best so far");
    struct tui_rect plot = {1, 12, area.rows - 1, area.cols - 14};
    if (!tui_chart_steps(tui_area_part(area, plot), values, count, TUI_GOOD))
        return;
    tui_say_right(tui_ink(area, TUI_DIM), 1, 11, "%s", show_latency(values[0]).text);
    tui_say_right(tui_ink(area, TUI_GOOD), area.rows - 1, 11, "%s", show_latency(best).text);
}

void pane_profile_draw(struct views *views, struct tui_area area) {
    const struct tune_attempt *a, *b;
    views_pair(views, &a, &b);
    if (!a || !isfinite(a->latency_us)) {
        tui_say(tui_ink(area, TUI_DIM), 1, 2, "not measured yet");
        return;
    }
    struct profile_pair pair = {a, b, tune_roof_of(views->state)};
    int row = draw_values(area, 0, &pair);
    row = draw_engines(area, row, a, b);
    draw_bound(area, row, &pair);
    row = draw_doubt(area, row + 1, &pair) - 1;
    struct tui_rect rest = {row + 2, 0, MIN_OF(area.rows - row - 2, 6), area.cols};
    if (rest.rows >= 3)
        draw_progress(views, tui_area_part(area, rest));
}

/* ---- the screen ----------------------------------------------------------------------------- */

/* How long each resource is busy, and what its limit costs: the latency if it took no time. */
static void draw_bounds(struct tui_area area, const struct tune_attempt *attempt) {
    double latency = attempt->latency_us;
    for (size_t i = 0; i < attempt->bounds.len && (int)i < area.rows; i++) {
        const struct tune_bound *bound = &attempt->bounds.at[i];
        int row = (int)i;
        tui_put_short(tui_ink(area, TUI_DIM), row, (struct tui_rect){0, 1, 1, 9},
                      str_of(bound->name));
        tui_say_right(area, row, 18, "%s", show_latency(bound->busy_us).text);
        struct tui_rect bar = {row, 20, 1, area.cols - 43};
        if (bar.cols > 3 && latency > 0)
            tui_chart_bar(tui_area_part(area, bar), bound->busy_us / latency, TUI_BAR);
        tui_say_right(tui_ink(area, TUI_STRONG), row, area.cols - 10, "%s",
                      show_latency(bound->without_us).text);
        tui_say_right(tui_ink(area, TUI_DIM), row, area.cols - 1, "%s",
                      show_change(latency, bound->without_us).text);
    }
    if (attempt->bounds.len == 0)
        tui_say(tui_ink(area, TUI_DIM), 0, 1, "not reported");
}

static int by_share(const void *a, const void *b) {
    const struct tune_line_cost *const *x = a, *const *y = b;
    return (*x)->share < (*y)->share ? 1 : (*x)->share > (*y)->share ? -1 : 0;
}

#define MAX_HOT 200
#define TEXT_AT 34   /* behind number, share and time on the critical path, engine */
#define BUSY_COLS 15 /* for how long the engine is busy with it, where that is known */

static bool knows_busy(const struct tune_lines *lines) {
    for (size_t i = 0; i < lines->len; i++)
        if (lines->at[i].busy_us > 0)
            return true;
    return false;
}

static void draw_hot(struct views *views, struct tui_area area,
                     const struct tune_attempt *attempt) {
    const struct tune_line_cost *hot[MAX_HOT];
    struct tune_lines lines = tune_lines(views->state, attempt);
    size_t count = 0;
    for (size_t i = 0; i < lines.len && count < MAX_HOT; i++)
        hot[count++] = &lines.at[i];
    qsort(hot, count, sizeof *hot, by_share);
    struct profile *profile = profile_of(views);
    struct tui_list *list = &profile->list;
    tui_list_fit(list, (int)count, area.rows);
    source_set(&profile->source, tune_source(views->state, attempt));
    profile->hot.len = 0;
    int text_at = TEXT_AT + (knows_busy(&lines) ? BUSY_COLS : 0);
    for (size_t i = 0; i < count; i++)
        *vec_push(&profile->hot) = hot[i]->line;
    for (int row = 0; row < area.rows && list->top + row < list->count; row++) {
        const struct tune_line_cost *cost = hot[list->top + row];
        tui_say_right(tui_ink(area, TUI_LINE_NUMBER), row, 5, "%d", cost->line);
        tui_say_right(area, row, 13, "%.1f %%", cost->share * 100);
        tui_say_right(tui_ink(area, TUI_DIM), row, 24, "%s", show_latency(cost->us).text);
        tui_say(tui_ink(area, TUI_DIM), row, 26, "%s", cost->engine ? cost->engine : "");
        if (cost->busy_us > 0)
            tui_say_right(tui_ink(area, TUI_DIM), row, text_at - 2, "busy %s",
                          show_latency(cost->busy_us).text);
        struct str text = str_trim(source_line(&profile->source, cost->line));
        struct tui_area rest =
            tui_area_part(area, (struct tui_rect){row, text_at, 1, area.cols - text_at});
        source_draw_line(rest, 0, views->shift, text, 0);
        find_mark(views, rest, 0, -views->shift, text);
        if (list->top + row != list->cursor)
            continue;
        profile->line = cost->line;
        profile->attempt = attempt->id;
        tui_lay_paper(area, (struct tui_rect){row, 0, 1, area.cols}, TUI_PAPER_CURSOR);
    }
    tui_list_draw_bar(list, area);
}

static void draw_samples(struct tui_area area, const struct tune_attempt *attempt) {
    if (attempt->samples.len == 0) {
        tui_say(tui_ink(area, TUI_DIM), 0, 1, "no samples");
        return;
    }
    double low = INFINITY, high = -INFINITY, sum = 0;
    for (size_t i = 0; i < attempt->samples.len; i++) {
        low = fmin(low, attempt->samples.at[i]);
        high = fmax(high, attempt->samples.at[i]);
        sum += attempt->samples.at[i];
    }
    struct buf text = {0};
    int count = (int)attempt->samples.len;
    buf_printf(&text, "%d sample%s, mean %s", count, PLURAL(count),
               show_latency(sum / (double)attempt->samples.len).text);
    if (attempt->modelled)
        buf_puts(&text, " (modelled: the same each time)");
    else
        buf_printf(&text, ", %s to %s", show_latency(low).text, show_latency(high).text);
    if (attempt->profile_modelled)
        buf_puts(&text, "; metrics and costs of lines are the device model's");
    if (tune_predicted(attempt)) {
        buf_puts(&text, "; its compiler predicts ");
        tune_predicted_print(&text, attempt);
    }
    struct tui_rect inside = {0, 1, area.rows, area.cols - 2};
    tui_put_lines(tui_area_part(area, inside), buf_str(&text));
    buf_free(&text);
}

static void draw_numbers(const struct views *views, struct tui_area area,
                         const struct tune_attempt *a, const struct tune_attempt *b) {
    static const struct tui_share halves[] = {{0, 1}, {0, 1}};
    struct tui_rect parts[2];
    struct buf title = {0};
    tui_split_cols((struct tui_rect){0, 0, area.rows, area.cols}, halves, 2, 1, parts);
    buf_printf(&title, b ? "metrics  #%d → #%d" : "metrics  #%d", a->id, b ? b->id : 0);
    const struct profile_pair pair = {a, b, tune_roof_of(views->state)};
    profile_pair_draw(tui_frame(tui_area_part(area, parts[0]), false, title.at, ""), &pair);
    struct tui_area right =
        tui_frame(tui_area_part(area, parts[1]), false, "bounds",
                  area.cols >= 110 ? "busy, latency without it" : "busy, without it");
    draw_bounds(tui_area_part(right, (struct tui_rect){0, 0, 6, right.cols}), b ? b : a);
    struct buf sum = {0};
    profile_roof_print(views->state, b ? b : a, right.cols - 2, &sum);
    tui_put_short(right, 7, (struct tui_rect){0, 1, 1, right.cols - 2}, buf_str(&sum));
    buf_free(&sum);
    draw_samples(tui_area_part(right, (struct tui_rect){8, 0, 3, right.cols}), b ? b : a);
    buf_free(&title);
}

static void draw_lines_part(struct views *views, struct tui_area area,
                            const struct tune_attempt *attempt) {
    if (area.cols >= 110 && area.rows >= 8) {
        struct tui_rect chart = {0, area.cols - 50, area.rows, 50};
        if (profile_roofline_draw(views, tui_area_part(area, chart), attempt))
            area = tui_area_part(area, (struct tui_rect){0, 0, area.rows, area.cols - 52});
    }
    views->list_spot = (struct tui_rect){area.row, area.col, area.rows, area.cols};
    draw_hot(views, area, attempt);
}

/* Without a matrix product there is no chart over operations, but the sum is still there. */
static void draw_no_roofline(const struct views *views, struct tui_area area,
                             const struct tune_attempt *attempt) {
    struct buf text = {0};
    profile_roof_print(views->state, attempt, 0, &text);
    buf_printf(&text, "%s",
               text.len ? ". There is no chart: the profile has no matrix product."
                        : "no roofline: the profile has no operations, bytes and peak");
    struct tui_rect rect = {1, 2, MAX_OF(area.rows - 1, 0), area.cols - 4};
    tui_put_lines(tui_ink(tui_area_part(area, rect), TUI_DIM), buf_str(&text));
    buf_free(&text);
}

/* What the timeline is drawn beside: a candidate beside what it is to replace, an attempt beside
 * the one that is marked, else beside its parent. NULL: there is none. */
static const struct tune_attempt *beside(const struct views *views,
                                         const struct tune_attempt *attempt) {
    const struct tune_attempt *a, *b;
    views_pair(views, &a, &b);
    const struct tune_attempt *marked = tune_state_attempt(views->state, views->marks[0]);
    const struct tune_attempt *other = b        ? a
                                       : marked ? marked
                                                : tune_state_attempt(views->state, attempt->parent);
    return other != attempt ? other : NULL;
}

static void draw_part(struct views *views, struct tui_area area,
                      const struct tune_attempt *attempt) {
    switch (profile_of(views)->part) {
    case PROFILE_TIMELINE:
        profile_timeline_draw(views, area, attempt, beside(views, attempt));
        break;
    case PROFILE_QUERY: profile_query_draw(views, area); break;
    case PROFILE_ACCOUNT: profile_account_draw(views, area, attempt); break;
    case PROFILE_ROOFLINE:
        if (!profile_roofline_draw(views, area, attempt))
            draw_no_roofline(views, area, attempt);
        break;
    default: draw_lines_part(views, area, attempt); break;
    }
}

static void profile_draw(struct views *views, struct tui_area body) {
    static const char *const titles[PROFILE_PARTS] = {"cost per line", "engine timeline",
                                                      "roofline", "why it takes that long",
                                                      "questions in SQL"};
    static const struct tui_share rows_of[] = {{14, 0}, {4, 1}};
    const struct tune_attempt *a, *b;
    views_pair(views, &a, &b);
    if (!a || !isfinite(a->latency_us)) {
        tui_say(tui_ink(body, TUI_DIM), 1, 2, "not measured yet%s", rows_starts(views));
        return;
    }
    /* On a small terminal the chart gets the rows only when the numbers go. */
    bool alone = profile_of(views)->part != PROFILE_LINES && body.rows < 26;
    struct tui_rect whole = {0, 0, body.rows, body.cols}, parts[2] = {whole, whole};
    if (!alone) {
        tui_split_rows(whole, rows_of, 2, 1, parts);
        draw_numbers(views, tui_area_part(body, parts[0]), a, b);
    }
    const struct tune_attempt *shown = b ? b : a;
    char note[48];
    profile_of(views)->shown = shown->id;
    snprintf(note, sizeof note, "%s #%d",
             b                                      ? "candidate"
             : shown->id == views->state->incumbent ? "incumbent"
                                                    : "parent",
             shown->id);
    draw_part(views,
              tui_frame(tui_area_part(body, parts[1]), true, titles[profile_of(views)->part], note),
              shown);
}

/* ---- what the keys do ----------------------------------------------------------------------- */

/* Enter goes to the line in the kernel. */
static void profile_enter(struct views *views, struct views_request *request) {
    const struct profile *profile = profile_of(views);
    (void)request;
    if (profile->line > 0 && profile->part != PROFILE_QUERY)
        kernel_show(views, profile->attempt, profile->line);
}

static bool in_timeline(const struct views *views) {
    return profile_of(views)->part == PROFILE_TIMELINE;
}

static void do_timeline(struct views *views, struct str args, struct views_request *request) {
    struct profile *profile = profile_of(views);
    (void)args;
    (void)request;
    profile->part = (profile->part + 1) % PROFILE_PARTS;
    profile->list.cursor = in_timeline(views) ? profile_timeline_busiest(&profile->timeline) : 0;
    profile->line = 0;
}

static void do_why(struct views *views, struct str args, struct views_request *request) {
    struct profile *profile = profile_of(views);
    (void)args;
    (void)request;
    profile->part = profile->part == PROFILE_ACCOUNT ? PROFILE_LINES : PROFILE_ACCOUNT;
    profile->line = 0;
}

/* Along the critical path in the timeline, and to the next match elsewhere. */
static void do_next(struct views *views, struct str args, struct views_request *request) {
    if (in_timeline(views))
        profile_timeline_path(views, 1);
    else
        find_next(views, args, request);
}

static void do_previous(struct views *views, struct str args, struct views_request *request) {
    if (in_timeline(views))
        profile_timeline_path(views, -1);
    else
        find_previous(views, args, request);
}

static bool can_go_on(const struct views *views) {
    return in_timeline(views) || find_any(views);
}

/* In lists the search's own hint stands. */
static void say_path(const struct views *views, struct buf *out) {
    buf_puts(out, in_timeline(views) ? "critical path" : "");
}

static void do_zoom_in(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    profile_timeline_zoom(views, 0.5);
}

static void do_zoom_out(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    profile_timeline_zoom(views, 2);
}

static bool profile_sideways(struct views *views, int step) {
    if (in_timeline(views))
        profile_timeline_step(views, step);
    return in_timeline(views);
}

static bool profile_moving(const struct views *views) {
    return profile_of(views)->timeline.text || profile_of(views)->other.text;
}

/* A line of the source; the other parts of the screen have no text of their own. */
static struct str profile_line(const void *data, int row) {
    const struct profile *profile = profile_of(data);
    if (profile->part == PROFILE_QUERY)
        return profile_query_line(&profile->query, row);
    if (profile->part == PROFILE_ACCOUNT)
        return profile_account_line(&profile->account, row);
    bool there = profile->part == PROFILE_LINES && row >= 0 && (size_t)row < profile->hot.len;
    return there ? str_trim(source_line(&profile->source, profile->hot.at[row])) : STR("");
}

/* The names of NKI in the line of the kernel; elsewhere the words. */
static enum explain_what profile_explain(const struct views *views, struct buf *out) {
    const struct profile *profile = profile_of(views);
    struct str line =
        profile->part == PROFILE_LINES ? profile_line(views, profile->list.cursor) : STR("");
    buf_add(out, line.at, line.len);
    return line.len ? EXPLAIN_SOURCE : EXPLAIN_NOTHING;
}

static struct tui_list *profile_list(struct views *views) {
    struct profile *profile = profile_of(views);
    return profile->part == PROFILE_QUERY     ? &profile->query.list
           : profile->part == PROFILE_ACCOUNT ? &profile->account.list
                                              : &profile->list;
}

/* W opened it, and Esc closes it. */
static bool profile_back(struct views *views) {
    struct profile *profile = profile_of(views);
    bool is_open = profile->part == PROFILE_ACCOUNT;
    if (is_open)
        profile->part = PROFILE_LINES;
    return is_open;
}

/* The part of the screen that shows stays the same. */
static void profile_forget(struct views *views) {
    struct profile *profile = profile_of(views);
    source_free(&profile->source);
    profile_timeline_free(&profile->timeline);
    profile_timeline_free(&profile->other);
    profile_query_forget(&profile->query);
    profile_account_forget(&profile->account);
    profile->list = (struct tui_list){0};
    vec_free(&profile->hot);
    profile->line = 0;
}

#define NONE TUNE_ACTIONS
static const struct command commands[] = {
    {"timeline", "timeline/roofline",
     "show cost per line, the engine timeline, the roofline, why it takes that long, questions in "
     "SQL",
     WHERE_OWN, PLACE_LOOK, NONE, do_timeline, NULL, NULL},
    {"why", "why",
     "show why it takes that long: critical path, idle time, stalls, memory, timed changes, and "
     "back",
     WHERE_OWN, PLACE_LOOK, NONE, do_why, NULL, NULL},
    {"zoom-in", "zoom in", "zoom in: show half as much of the timeline, around the cursor",
     WHERE_OWN, PLACE_LOOK, NONE, do_zoom_in, in_timeline, NULL},
    {"zoom-out", "zoom out", "zoom out: show twice as much of the timeline", WHERE_OWN, PLACE_LOOK,
     NONE, do_zoom_out, in_timeline, NULL},
    {"next-critical", "critical path",
     "go to the next instruction on the critical path of the timeline, or to the next match",
     WHERE_OWN, PLACE_LOOK, NONE, do_next, can_go_on, say_path},
    {"previous-critical", "",
     "go to the instruction before on the critical path of the timeline, or to the match before",
     WHERE_OWN, PLACE_LOOK, NONE, do_previous, can_go_on, NULL},
    {"query", "ask in SQL",
     "ask the profile and the session in SQL, as :query SELECT ..; without a question: choose one "
     "that is ready or was asked before",
     WHERE_OWN, PLACE_LOOK, NONE, profile_query_run, profile_query_can, NULL},
    {"type-query", "", "type a question in SQL; Tab completes names, Up brings questions back",
     WHERE_OWN, PLACE_LOOK, NONE, profile_query_type, profile_query_can, NULL},
};

const struct screen profile_screen = {
    .name = "profile",
    .about = "where the time goes",
    .command = {"profile", "", "screen 5: metrics, bounds, causes, roofline, timeline",
                WHERE_TUNING, PLACE_OPEN, NONE, NULL, NULL, NULL},
    .key = "5",
    .takes = "approve",
    .keys = "t timeline\nW why\n+ zoom-in\n= zoom-in\n- zoom-out\nn next-critical\nN "
            "previous-critical\n"
            "Q query\ni type-query\n",
    .commands = commands,
    .n_commands = COUNT_OF(commands),
    .size = sizeof(struct profile),
    .forget = profile_forget,
    .draw = profile_draw,
    .moving = profile_moving,
    .list = profile_list,
    .line_of = profile_line,
    .explain = profile_explain,
    .sideways = profile_sideways,
    .back = profile_back,
    .complete = profile_query_complete,
    .enter = profile_enter,
    .words = GLOSSARY_METRIC,
};
