/* SPDX-License-Identifier: Apache-2.0 */
/* The engine timeline: one queue per engine and direction of DMA, from the profile that is stored
 * with an attempt. Read in slices, so that no frame waits for a long one. It knows nothing of how
 * the times came about. */
#include "views/profile/private.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* times the last instruction: further away, latency and timeline are not of one run */
#define LONGEST_END 1.5
#define SPAN_ROWS 3   /* what is said of the instruction under the cursor */
#define LEAST_LANES 2 /* of launches on two cores there are twelve, not all of which may fit */
#define SLICE 20000   /* spans a frame reads: a few milliseconds */
#define MAX_SPANS 1000000
#define LEAST_NS 20.0 /* the narrowest window */
#define NAME_COLS 10
#define BUSY_COLS 7

/* ---- reading -------------------------------------------------------------------------------- */

void profile_timeline_free(struct timeline *timeline) {
    for (int i = 0; i < TIMELINE_QUEUES; i++) {
        vec_free(&timeline->queues[i].spans);
        vec_free(&timeline->queues[i].busy);
    }
    vec_free(&timeline->order);
    vec_free(&timeline->waits);
    free(timeline->text);
    *timeline = (struct timeline){0};
}

/* What follows "name": [ ; NULL when it is not there. */
static const char *list_named(const char *text, const char *name) {
    const char *at = strstr(text, name);
    at = at ? strchr(at, '[') : NULL;
    return at ? at + 1 : NULL;
}

/* A text in quotation marks, cut to fit; false at the end of the list. */
bool timeline_read_text(const char **at, char *out, size_t size) {
    const char *from = *at + strcspn(*at, "\"]");
    if (*from != '"')
        return false;
    from++;
    size_t length = strcspn(from, "\"");
    if (from[length] != '"')
        return false;
    snprintf(out, size, "%.*s", (int)MIN_OF(length, size - 1), from);
    *at = from + length + 1;
    return true;
}

/* Digits with a fraction, whatever the locale; false when something else comes. */
bool timeline_read_number(const char **at, double *value) {
    const char *from = *at + strspn(*at, ", [\n\r\t");
    double sum = 0, unit = 1;
    const char *digit = from;
    for (; *digit >= '0' && *digit <= '9'; digit++)
        sum = sum * 10 + (*digit - '0');
    if (digit == from)
        return false;
    if (*digit == '.')
        for (digit++; *digit >= '0' && *digit <= '9'; digit++)
            sum += (*digit - '0') * (unit /= 10);
    *at = digit;
    *value = sum;
    return true;
}

/* [instruction, queue, operation, line, start, end] */
static bool read_span(struct timeline *timeline, const char **at) {
    struct timeline_span span = {0};
    double instr, queue, line;
    if (!timeline_read_number(at, &instr) || !timeline_read_number(at, &queue) ||
        !timeline_read_text(at, span.name, sizeof span.name) || !timeline_read_number(at, &line) ||
        !timeline_read_number(at, &span.start) || !timeline_read_number(at, &span.end))
        return false;
    *at += strspn(*at, " ]");
    *vec_push(&timeline->order) = queue < timeline->n_queues ? (uint8_t)queue : UINT8_MAX;
    if (queue >= timeline->n_queues || instr > UINT32_MAX || line > INT32_MAX)
        return true;
    span.instr = (uint32_t)instr;
    span.line = (int)line;
    *vec_push(&timeline->queues[(int)queue].spans) = span;
    timeline->end = fmax(timeline->end, span.end);
    return true;
}

static int by_start(const void *a, const void *b) {
    const struct timeline_span *x = a, *y = b;
    return x->start < y->start ? -1 : x->start > y->start;
}

/* In order of time, and as stretches without gaps, because transfers on several rings overlap. The
 * axis ends with the latency that other places show: what a launch costs after the last instruction
 * belongs to it. */
static void finish(struct timeline *timeline, const struct tune_attempt *attempt) {
    for (int i = 0; i < timeline->n_queues; i++) {
        struct timeline_queue *queue = &timeline->queues[i];
        queue->cursor = 0;
        if (queue->spans.len)
            qsort(queue->spans.at, queue->spans.len, sizeof *queue->spans.at, by_start);
        for (size_t k = 0; k < queue->spans.len; k++) {
            const struct timeline_span *span = &queue->spans.at[k];
            struct tui_busy *last = queue->busy.len ? &queue->busy.at[queue->busy.len - 1] : NULL;
            if (last && span->start <= last->end)
                last->end = fmax(last->end, span->end);
            else
                *vec_push(&queue->busy) = (struct tui_busy){span->start, span->end};
        }
    }
    vec_free(&timeline->order);
    free(timeline->text);
    timeline->text = NULL;
    if (attempt->latency_us * 1e3 < LONGEST_END * timeline->end)
        timeline->end = fmax(timeline->end, attempt->latency_us * 1e3);
    timeline->own_end = timeline->end;
    timeline->window = (struct tui_busy){0, timeline->end};
}

/* The reasons of the spans come behind them. False: there are none. */
static bool start_reasons(struct timeline *timeline) {
    const char *from = timeline->text + timeline->at;
    const char *waits = list_named(from, "\"waits\""), *reasons = list_named(from, "\"reasons\"");
    timeline->reads_reasons = waits && reasons && waits < reasons;
    if (!timeline->reads_reasons)
        return false;
    timeline_read_waits(timeline, waits);
    timeline->at = (size_t)(reasons - timeline->text);
    return true;
}

static bool read_row(struct timeline *timeline, const char **at) {
    if (timeline->reads_reasons)
        return timeline_read_reason(timeline, at);
    if (timeline->count++ < MAX_SPANS && read_span(timeline, at))
        return true;
    timeline->at = (size_t)(*at - timeline->text);
    if (!start_reasons(timeline))
        return false;
    *at = timeline->text + timeline->at;
    return timeline_read_reason(timeline, at);
}

static void read_slice(struct timeline *timeline, const struct tune_attempt *attempt) {
    const char *at = timeline->text + timeline->at;
    bool more = true;
    for (int i = 0; i < SLICE && more; i++)
        more = read_row(timeline, &at);
    timeline->at = (size_t)(at - timeline->text);
    if (!more)
        finish(timeline, attempt);
}

static void start_reading(const struct views *views, struct timeline *timeline, const char *hash) {
    profile_timeline_free(timeline);
    snprintf(timeline->hash, sizeof timeline->hash, "%s", hash);
    timeline->text =
        views->model.artefact ? views->model.artefact(views->model.context, hash) : NULL;
    const char *queues = timeline->text ? list_named(timeline->text, "\"lanes\"") : NULL;
    const char *spans = timeline->text ? list_named(timeline->text, "\"spans\"") : NULL;
    while (queues && timeline->n_queues < TIMELINE_QUEUES &&
           timeline_read_text(&queues, timeline->queues[timeline->n_queues].name,
                              sizeof timeline->queues[0].name))
        timeline->n_queues++;
    if (spans && timeline->n_queues) {
        timeline->at = (size_t)(spans - timeline->text);
        return;
    }
    free(timeline->text);
    timeline->text = NULL;
}

/* ---- moving --------------------------------------------------------------------------------- */

static struct timeline_queue *queue_here(struct views *views) {
    struct profile *profile = profile_of(views);
    int queue = profile->list.cursor;
    return queue >= 0 && queue < profile->timeline.n_queues ? &profile->timeline.queues[queue]
                                                            : NULL;
}

static const struct timeline_span *span_here(struct views *views) {
    const struct timeline_queue *queue = queue_here(views);
    return queue && queue->cursor < queue->spans.len ? &queue->spans.at[queue->cursor] : NULL;
}

/* The window keeps its width and stays inside the whole. */
static void show_window(struct timeline *timeline, double start, double width) {
    width = fmin(fmax(width, LEAST_NS), timeline->end);
    start = fmax(0, fmin(start, timeline->end - width));
    timeline->window = (struct tui_busy){start, start + width};
}

void profile_timeline_zoom(struct views *views, double factor) {
    struct timeline *timeline = &profile_of(views)->timeline;
    const struct timeline_span *span = span_here(views);
    double width = timeline->window.end - timeline->window.start;
    double middle = timeline->window.start + width / 2;
    if (span && span->start >= timeline->window.start && span->start < timeline->window.end)
        middle = (span->start + span->end) / 2;
    show_window(timeline, middle - width * factor / 2, width * factor);
}

/* Moves to the next instruction of the queue that is drawn in another column, by at least one. */
void profile_timeline_step(struct views *views, int step) {
    struct timeline *timeline = &profile_of(views)->timeline;
    struct timeline_queue *queue = queue_here(views);
    if (!queue || queue->spans.len == 0)
        return;
    double width = timeline->window.end - timeline->window.start;
    double column = width / MAX_OF(timeline->cols, 1);
    double from = queue->spans.at[queue->cursor].start;
    size_t last = queue->spans.len - 1;
    while (step > 0 ? queue->cursor < last : queue->cursor > 0) {
        queue->cursor += step > 0 ? 1 : (size_t)-1;
        if (fabs(queue->spans.at[queue->cursor].start - from) >= column)
            break;
    }
    double now = queue->spans.at[queue->cursor].start;
    if (now < timeline->window.start || now >= timeline->window.end)
        show_window(timeline, now - width / 2, width);
}

int profile_timeline_busiest(const struct timeline *timeline) {
    int busiest = 0;
    double most = 0;
    for (int i = 0; i < timeline->n_queues; i++) {
        double sum = 0;
        for (size_t k = 0; k < timeline->queues[i].busy.len; k++)
            sum += timeline->queues[i].busy.at[k].end - timeline->queues[i].busy.at[k].start;
        if (sum > most) {
            most = sum;
            busiest = i;
        }
    }
    return busiest;
}

void profile_timeline_path(struct views *views, int step) {
    struct profile *profile = profile_of(views);
    struct timeline *timeline = &profile->timeline;
    if (!timeline->text && timeline->n_queues && !timeline->reads_reasons) {
        views_say(views, false,
                  "what each instruction waited for is not known here: the profile is a device's, "
                  "or too long");
        return;
    }
    if (!timeline_step_critical(timeline, &profile->list.cursor, step)) {
        views_say(views, false, "no instruction of the critical path is %s here",
                  step > 0 ? "behind" : "before");
        return;
    }
    double now = span_here(views)->start, width = timeline->window.end - timeline->window.start;
    if (now < timeline->window.start || now >= timeline->window.end)
        show_window(timeline, now - width / 2, width);
}

/* ---- drawing -------------------------------------------------------------------------------- */

/* Of the part of the window that the attempt takes: the axis may be that of a longer one. */
static double busy_share(const struct timeline *timeline, const struct timeline_queue *queue,
                         struct tui_busy window) {
    double sum = 0;
    window.end = fmin(window.end, timeline->own_end);
    for (size_t i = 0; i < queue->busy.len; i++)
        sum += fmax(0, fmin(queue->busy.at[i].end, window.end) -
                           fmax(queue->busy.at[i].start, window.start));
    return window.end > window.start ? sum / (window.end - window.start) * 100 : 0;
}

static void draw_queue(struct views *views, struct tui_area area, int index) {
    static const enum tui_role roles[] = {TUI_LANE_1, TUI_LANE_2, TUI_LANE_3, TUI_LANE_4,
                                          TUI_LANE_5};
    struct timeline *timeline = &profile_of(views)->timeline;
    struct timeline_queue *queue = &timeline->queues[index];
    bool here = profile_of(views)->list.cursor == index;
    tui_say(tui_ink(area, TUI_KEY), 0, 0, "%s", here ? "▸" : " ");
    tui_put_short(tui_ink(area, here ? TUI_STRONG : TUI_DIM), 0,
                  (struct tui_rect){0, 2, 1, NAME_COLS - 2}, str_of(queue->name));
    struct tui_rect plot = {0, NAME_COLS, 1, timeline->cols};
    tui_fill(tui_ink(area, TUI_BAR_OTHER), plot, "·");
    tui_chart_busy(tui_area_part(area, plot), queue->busy.at, queue->busy.len, timeline->window,
                   roles[MIN_OF(index, (int)COUNT_OF(roles) - 1)]);
    tui_say_right(area, 0, area.cols - 1, "%.0f %%", busy_share(timeline, queue, timeline->window));
    const struct timeline_span *span = here ? span_here(views) : NULL;
    if (!span)
        return;
    double scale = timeline->cols / (timeline->window.end - timeline->window.start);
    int from = (int)((span->start - timeline->window.start) * scale);
    int to = (int)ceil((span->end - timeline->window.start) * scale);
    from = MAX_OF(from, 0);
    to = MIN_OF(MAX_OF(to, from + 1), timeline->cols);
    if (from < timeline->cols && to > from)
        tui_lay_paper(area, (struct tui_rect){0, NAME_COLS + from, 1, to - from}, TUI_PAPER_CURSOR);
}

static void draw_axis(const struct timeline *timeline, struct tui_area area) {
    struct tui_area dim = tui_ink(area, TUI_DIM);
    double width = timeline->window.end - timeline->window.start;
    tui_say(dim, 0, NAME_COLS, "%s", show_latency(timeline->window.start / 1e3).text);
    if (width < timeline->end * 0.999)
        tui_say(dim, 0, NAME_COLS + timeline->cols / 2 - 4, "zoom %.0fx", timeline->end / width);
    tui_say_right(dim, 0, NAME_COLS + timeline->cols, "%s",
                  show_latency(timeline->window.end / 1e3).text);
    tui_say_right(dim, 0, area.cols - 1, "busy");
}

/* The instruction under the cursor, and the line it came from. */
static void draw_span(struct views *views, struct tui_area area,
                      const struct tune_attempt *attempt) {
    const struct timeline_span *span = span_here(views);
    struct profile *profile = profile_of(views);
    if (!span) {
        tui_say(tui_ink(area, TUI_DIM), 0, 2, "nothing ran here");
        return;
    }
    profile->line = span->line;
    profile->attempt = attempt->id;
    int col = tui_say(tui_ink(area, TUI_CALL), 0, 2, "%s", span->name);
    tui_say(area, 0, col, "  instruction %u  at %s  takes %s", span->instr,
            show_latency(span->start / 1e3).text,
            show_latency((span->end - span->start) / 1e3).text);
    source_set(&profile->source, tune_source(views->state, attempt));
    tui_say_right(tui_ink(area, TUI_LINE_NUMBER), 1, 7, "%d", span->line);
    source_draw_line(tui_area_part(area, (struct tui_rect){1, 9, 1, area.cols - 10}), 0, 0,
                     str_trim(source_line(&profile->source, span->line)), 0);
    struct tui_rect cause = {2, 0, 1, area.cols};
    timeline_draw_cause(&profile->timeline, tui_area_part(area, cause), span);
}

/* What the attempt before did, on the same axis, to be seen beside it. */
static void draw_other(struct views *views, struct tui_area area, int row,
                       const struct tune_attempt *attempt) {
    const struct timeline *shown = &profile_of(views)->timeline;
    struct timeline *other = &profile_of(views)->other;
    if (other->text || row + 1 + other->n_queues > area.rows)
        return;
    int col = tui_say(tui_ink(area, TUI_STRONG), row, 2, "beside #%d", attempt->id);
    tui_say(tui_ink(area, TUI_DIM), row, col, "  %s  on the same axis",
            show_latency(attempt->latency_us).text);
    for (int i = 0; i < other->n_queues; i++) {
        struct tui_area line = tui_area_part(area, (struct tui_rect){row + 1 + i, 0, 1, area.cols});
        struct tui_rect plot = {0, NAME_COLS, 1, shown->cols};
        const struct timeline_queue *queue = &other->queues[i];
        tui_put_short(tui_ink(line, TUI_DIM), 0, (struct tui_rect){0, 2, 1, NAME_COLS - 2},
                      str_of(queue->name));
        tui_fill(tui_ink(line, TUI_BAR_OTHER), plot, "·");
        tui_chart_busy(tui_area_part(line, plot), queue->busy.at, queue->busy.len, shown->window,
                       TUI_BAR_OTHER);
        tui_say_right(tui_ink(line, TUI_DIM), 0, area.cols - 1, "%.0f %%",
                      busy_share(other, queue, shown->window));
    }
}

/* Reads the other timeline, too. The axis is as long as the longer of both. */
static void read_other(struct views *views, const struct tune_attempt *attempt) {
    struct timeline *shown = &profile_of(views)->timeline, *other = &profile_of(views)->other;
    if (strcmp(attempt->timeline, other->hash) != 0)
        start_reading(views, other, attempt->timeline);
    if (other->text)
        read_slice(other, attempt);
    if (other->text || other->end <= shown->end)
        return;
    bool whole = shown->window.end - shown->window.start >= shown->end * 0.999;
    shown->end = other->end;
    if (whole)
        shown->window = (struct tui_busy){0, shown->end};
}

void profile_timeline_draw(struct views *views, struct tui_area area,
                           const struct tune_attempt *attempt, const struct tune_attempt *other) {
    struct timeline *timeline = &profile_of(views)->timeline;
    const char *hash = attempt->timeline;
    if (hash && strcmp(hash, timeline->hash) != 0)
        start_reading(views, timeline, hash);
    if (hash && timeline->text) {
        read_slice(timeline, attempt);
        if (!timeline->text)
            profile_of(views)->list.cursor = profile_timeline_busiest(timeline);
    }
    if (!hash || timeline->n_queues == 0 || timeline->text || !(timeline->end > 0)) {
        const char *why = attempt->modelled ? "" : ": its device reported none";
        if (hash && timeline->text)
            tui_say(tui_ink(area, TUI_DIM), 1, 2, "reading the timeline");
        else
            tui_say(tui_ink(area, TUI_DIM), 1, 2, "this attempt has no timeline%s", why);
        return;
    }
    timeline->cols = MAX_OF(area.cols - NAME_COLS - BUSY_COLS, 1);
    struct tui_list *list = &profile_of(views)->list;
    bool all = area.rows >= timeline->n_queues + 2 + SPAN_ROWS;
    int rows = all ? timeline->n_queues
                   : MIN_OF(timeline->n_queues, MAX_OF(area.rows - 1 - SPAN_ROWS, LEAST_LANES));
    bool compared = other && other->timeline && isfinite(other->latency_us) &&
                    area.rows >= 2 * timeline->n_queues + 7;
    if (compared)
        read_other(views, other);
    tui_list_fit(list, timeline->n_queues, rows);
    views->list_spot = (struct tui_rect){area.row + 1, area.col, rows, area.cols};
    draw_axis(timeline, area);
    for (int i = 0; i < rows; i++)
        draw_queue(views, tui_area_part(area, (struct tui_rect){1 + i, 0, 1, area.cols}),
                   list->top + i);
    struct tui_rect below = {rows + 1 + all, 0, SPAN_ROWS, area.cols};
    draw_span(views, tui_area_part(area, below), attempt);
    if (compared)
        draw_other(views, area, below.row + 4, other);
}
