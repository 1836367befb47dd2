/* SPDX-License-Identifier: Apache-2.0 */
/* Screen 4 and the device pane of the workbench: what the runner said, filtered by phase, level and
 * job, and what it does now. Rows come from the session's state; only their numbers are kept here.
 * The screen has the place and its queue (place.c) above it. */
#include "views/workbench/private.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_PHASES 16
#define MAX_TABS 40

/* The log is the same on the workbench, and so are its filters. */
struct device {
    struct tui_list list;
    struct log_rows rows;
    enum tune_level level; /* the least that shows */
    int phase;             /* 0: all; else index into the known phases */
    int tab, tab_now;      /* attempt whose lines the screen shows; -1: all */
    struct filter filter;
};

static struct device *own(const struct views *views) {
    return views->own[VIEW_DEVICE];
}

/* The phases that occur, in the order they first came. */
static size_t phases_of(const struct tune_state *state, const char **phases) {
    size_t count = 0;
    for (size_t i = 0; i < state->logs.len && count < MAX_PHASES; i++) {
        size_t known = 0;
        while (known < count && strcmp(phases[known], state->logs.at[i].phase) != 0)
            known++;
        if (known == count)
            phases[count++] = state->logs.at[i].phase;
    }
    return count;
}

static const char *log_phase_name(const struct views *views) {
    const char *phases[MAX_PHASES];
    size_t count = own(views)->phase ? phases_of(views->state, phases) : 0;
    return own(views)->phase > 0 && (size_t)own(views)->phase <= count
               ? phases[own(views)->phase - 1]
               : NULL;
}

static void filter_changed(struct views *views) {
    const char *phase = log_phase_name(views);
    own(views)->rows.seq = -1;
    views_say(views, false, "log: %s, %s and above", phase ? phase : "all phases",
              tune_level_word(own(views)->level));
}

void log_filter_phase(struct views *views, struct str args, struct views_request *request) {
    const char *phases[MAX_PHASES];
    int count = (int)phases_of(views->state, phases);
    (void)args;
    (void)request;
    own(views)->phase = (own(views)->phase + 1) % (count + 1);
    filter_changed(views);
}

void log_filter_level(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    own(views)->level = (own(views)->level + 1) % TUNE_LEVELS;
    filter_changed(views);
}

/* In a round of several lanes these are the jobs that are verified or measured now, or else what is
 * not decided yet. */
static bool is_job(const struct tune_state *state, const struct tune_attempt *attempt) {
    if (!attempt->started_ms || attempt->ended_ms)
        return false;
    if (!state->way->numbered)
        return attempt->id == tune_lane_attempt(state, 0) || attempt->status == TUNE_STATUS_OPEN;
    for (size_t i = 0; i < state->lanes.len; i++)
        if (tune_lane_attempt(state, (int)i) == attempt->id)
            return state->lanes.at[i].is == TUNE_IS_RUNNING;
    return false;
}

/* The tabs: all, the jobs that run, and the chosen one even after its end. */
static int tabs_of(const struct views *views, int ids[MAX_TABS]) {
    const struct tune_state *state = views->state;
    int count = 0;
    ids[count++] = -1;
    for (size_t i = 0; i < state->attempts.len && count < MAX_TABS; i++) {
        const struct tune_attempt *attempt = &state->attempts.at[i];
        if (attempt->id == own(views)->tab || is_job(state, attempt))
            ids[count++] = attempt->id;
    }
    return count;
}

static void next_tab(struct views *views, int step) {
    int ids[MAX_TABS], count = tabs_of(views, ids), at = 0;
    for (int i = 0; i < count; i++)
        if (ids[i] == own(views)->tab)
            at = i;
    if (count == 1)
        views_say(views, false, "no job runs; this is the whole log");
    own(views)->tab = ids[(at + step + count) % count];
    own(views)->list.follow = true;
}

static int text_col(const struct views *views) {
    return lanes_may(views) ? 27 + rows_more(views->state->attempts.len, 4) : 22;
}

static void log_filter(struct views *views, int cols) {
    struct device *device = own(views);
    int tab = views->view == VIEW_DEVICE ? device->tab : -1;
    if (tab != device->tab_now)
        device->rows.seq = -1;
    device->tab_now = tab;
    const struct log_filter filter = {device->level, log_phase_name(views), tab, &device->filter};
    log_rows_update(&device->rows, views->state, &filter, cols - text_col(views));
}

static const struct log_row *row_at(const struct views *views, int row) {
    const struct log_rows *rows = &own(views)->rows;
    bool there = row >= 0 && (size_t)row < rows->all.len &&
                 (size_t)rows->all.at[row].log < views->state->logs.len;
    return there ? &rows->all.at[row] : NULL;
}

static const struct tune_log *log_at(const struct views *views, int row) {
    const struct log_row *at = row_at(views, row);
    return at ? &views->state->logs.at[at->log] : NULL;
}

static struct str text_at(const struct views *views, int row) {
    const struct log_row *at = row_at(views, row);
    const struct tune_log *log = log_at(views, row);
    struct str text = {log ? log->text + at->from : "", log ? (size_t)at->len : 0};
    while (text.len && text.at[text.len - 1] == ' ') /* where the line was broken */
        text.len--;
    return text;
}

struct str log_line(const void *data, int row) {
    return text_at(data, row);
}

/* When, what phase, who: of the first row of a line. */
static void draw_margin(const struct views *views, struct tui_area area, int row,
                        const struct tune_log *log) {
    bool many = lanes_may(views);
    tui_say(tui_ink(area, TUI_DIM), row, 1, "%s", show_clock(log->wall_ms, 1).text);
    tui_put_short(tui_ink(area, TUI_CALL), row, (struct tui_rect){0, 10, 1, 10},
                  str_of(log->phase));
    if (many && log->attempt >= 0) /* who of several said it */
        tui_say(tui_ink(area, TUI_DIM), row, 20, "#%d", log->attempt);
    else if (many && log->lane >= 0)
        tui_say(tui_ink(area, TUI_DIM), row, 20, "L%d", log->lane + 1);
}

static void draw_row(struct views *views, struct tui_area area, int row, int index) {
    static const enum tui_role roles[TUNE_LEVELS] = {[TUNE_LEVEL_DEBUG] = TUI_DIM,
                                                     [TUNE_LEVEL_INFO] = TUI_PLAIN,
                                                     [TUNE_LEVEL_WARNING] = TUI_WARN,
                                                     [TUNE_LEVEL_ERROR] = TUI_BAD};
    static const char *const signs[TUNE_LEVELS] = {" ", " ", "!", "✗"};
    const struct log_row *at = row_at(views, index);
    const struct tune_log *log = log_at(views, index);
    struct str text = text_at(views, index);
    int col = text_col(views);
    struct tui_area ink = tui_ink(area, roles[log->level]);
    struct tui_area rest = tui_area_part(ink, (struct tui_rect){row, col, 1, area.cols - col});
    if (!at->from) {
        draw_margin(views, area, row, log);
        tui_say(ink, row, col - 2, "%s", signs[log->level]);
    }
    source_draw_plain(rest, 0, views->shift, text);
    if (at->times > 1)
        tui_say_right(tui_ink(area, TUI_STRONG), row, area.cols - 1, " ×%d", at->times);
    find_mark(views, rest, 0, -views->shift, text);
}

const char *log_other_file(const struct tune_state *state, const struct tune_diagnostic *diag) {
    const char *name = diag->file && *diag->file ? path_base(diag->file) : NULL;
    const char *kernel = state->kernel_path ? path_base(state->kernel_path) : "kernel.py";
    bool same = !name || strcmp(name, kernel) == 0 || strcmp(name, "kernel.py") == 0;
    return same ? NULL : name;
}

/* What the session keeps of a file that belongs to the task; NULL: nothing. */
static char *task_file_text(const struct views *views, const char *name) {
    const struct tune_state *state = views->state;
    for (size_t i = 0; views->model.artefact && i < state->files.len; i++)
        if (strcmp(path_base(state->files.at[i].name), name) == 0)
            return views->model.artefact(views->model.context, state->files.at[i].hash);
    return NULL;
}

/* A file with its lines numbered, below what is said of one of them. Returns where that stands. */
static size_t numbered(struct str rest, int line, struct buf *out) {
    struct str text;
    size_t at = 0;
    for (int number = 1; str_next(&rest, '\n', &text); number++) {
        buf_printf(out, "%s%4d  " STR_FMT "\n", number == line ? "!" : " ", number, STR_ARG(text));
        if (number == line)
            at = out->len;
    }
    return at;
}

static void other_show(struct views *views, const char *name, const struct tune_log *log) {
    char *source = task_file_text(views, name), title[64];
    struct buf text = {0};
    if (!source) {
        views_say(
            views, false,
            "%s:%d is not the kernel, but a file it imports, which the session has no copy of",
            name, log->line);
        return;
    }
    snprintf(title, sizeof title, "%.40s, line %d", name, log->line);
    buf_printf(&text, "%s\n\n", log->text);
    size_t at = numbered(str_of(source), log->line, &text);
    views_show_text_at(views, title, text.at, at);
    buf_free(&text);
    free(source);
}

/* Of what was checked: the attempt, or the candidate where it is none yet. */
void log_open(struct views *views, int row) {
    const struct tune_log *log = log_at(views, row);
    if (!log || log->line <= 0) {
        views_say(views, false, "this line names no line of the kernel");
        return;
    }
    const struct tune_state *state = views->state;
    bool found = log->diagnostic >= 0 && (size_t)log->diagnostic < state->diagnostics.len;
    const char *other =
        found ? log_other_file(state, &state->diagnostics.at[log->diagnostic]) : NULL;
    const struct tune_attempt *attempt = tune_state_attempt(state, log->attempt);
    if (other)
        other_show(views, other, log);
    else
        kernel_show(views, attempt ? log->attempt : -2, log->line);
}

enum explain_what log_explain(const struct views *views, int row, struct buf *out) {
    const struct tune_log *log = log_at(views, row);
    if (log)
        buf_puts(out, log->text);
    return log ? EXPLAIN_SAID : EXPLAIN_NOTHING;
}

/* Why there is no row. A filter is named as the reason only where it hides one. */
static void draw_empty(const struct views *views, struct tui_area area) {
    const struct device *device = own(views);
    const char *phase = log_phase_name(views);
    struct buf text = {0};
    if (!views->state->logs.len)
        buf_puts(&text, "nothing ran yet");
    else if (device->filter.pattern)
        buf_printf(&text, "no line has '%s'; :filter alone shows all", device->filter.text.at);
    else if (phase || device->level > TUNE_LEVEL_INFO)
        buf_printf(&text, "no line of %s, %s and above; f and F change it",
                   phase ? phase : "any phase", tune_level_word(device->level));
    else if (device->tab_now >= 0)
        buf_printf(&text, "#%d has said nothing yet; Tab shows the others", device->tab_now);
    else
        buf_puts(&text, "nothing to report yet; F shows all details");
    struct tui_rect rect = {1, 2, MAX_OF(0, area.rows - 1), area.cols - 4};
    tui_put_lines(tui_ink(tui_area_part(area, rect), TUI_DIM), buf_str(&text));
    buf_free(&text);
}

/* A log that is followed may end with findings. Then their first error stays in sight, because the
 * others mostly come of it, and the cursor is at the one that names a line. */
static bool keep_cause(const struct views *views, struct tui_list *list, int rows) {
    int first = -1;
    int cause = list->follow ? log_rows_cause(&own(views)->rows, views->state, &first) : -1;
    int top = cause - first < rows / 2 ? MIN_OF(first, cause) : cause;
    if (cause >= 0 && top < list->top)
        list->top = top;
    if (cause >= 0)
        list->cursor = cause;
    return cause >= 0;
}

bool pane_device_has_cause(struct views *views) {
    const struct log_rows *rows = &own(views)->rows;
    log_filter(views, rows->cols ? rows->cols + text_col(views) : VIEWS_MIN_COLS);
    int first, cause = log_rows_cause(rows, views->state, &first);
    const struct tune_log *log = log_at(views, cause);
    return log && log->line > 0;
}

static void log_draw(struct views *views, struct tui_area area, struct tui_list *list) {
    log_filter(views, area.cols);
    tui_list_fit(list, (int)own(views)->rows.all.len, area.rows);
    bool points = keep_cause(views, list, area.rows) || !list->follow;
    if (list->count == 0)
        draw_empty(views, area);
    for (int row = 0; row < area.rows && list->top + row < list->count; row++) {
        if (log_at(views, list->top + row))
            draw_row(views, area, row, list->top + row);
        if (points && list->top + row == list->cursor)
            tui_lay_paper(area, (struct tui_rect){row, 0, 1, area.cols}, TUI_PAPER_CURSOR);
    }
    tui_list_draw_bar(list, area);
}

/* What runs now, with its progress where the amount is known. */
static bool draw_doing(struct views *views, struct tui_area area) {
    const struct tune_state *state = views->state;
    const struct tune_step_view *step = &state->steps[state->step];
    if (step->is != TUNE_IS_RUNNING || rows_is_halted(state, step->is) || area.rows < 1)
        return false;
    const char *spinner = area.canvas->ascii ? "*" : spinner_at(views->now_ms);
    int col =
        tui_say(tui_ink(area, TUI_ACTIVE), 0, 1, "%s %s", spinner, tune_step_word(state->step)) + 2;
    struct buf text = {0};
    if (lanes_any(views))
        lanes_running(state, &text);
    else
        buf_puts(&text, step->doing ? step->doing : "");
    tui_put_short(area, 0, (struct tui_rect){0, col, 1, area.cols - col - 8}, buf_str(&text));
    buf_free(&text);
    if (isfinite(step->total) && step->total > 0 && isfinite(step->done) && area.cols > 40)
        tui_say_right(tui_ink(area, TUI_DIM), 0, area.cols - 1, " %.0f/%.0f", step->done,
                      step->total);
    return true;
}

void pane_device_note(const struct views *views, struct buf *note) {
    const char *phase = log_phase_name(views);
    buf_printf(note, "%s", views->state->target ? views->state->target : "");
    if (phase)
        buf_printf(note, "  only %s", phase);
    if (own(views)->filter.pattern)
        buf_printf(note, "  :filter %s", own(views)->filter.text.at);
    if (own(views)->level > TUNE_LEVEL_INFO)
        buf_printf(note, "  %s", tune_level_word(own(views)->level));
    if (!workbench_of(views)->panes[PANE_DEVICE].follow && own(views)->rows.all.len)
        buf_puts(note, "  End follows");
}

void pane_device_draw(struct views *views, struct tui_area area) {
    struct tui_rect last = {area.rows - 1, 0, 1, area.cols};
    bool doing = draw_doing(views, tui_area_part(area, last));
    struct tui_rect rest = {0, 0, area.rows - doing, area.cols};
    log_draw(views, tui_area_part(area, rest), &workbench_of(views)->panes[PANE_DEVICE]);
}

static void draw_tabs(const struct views *views, struct tui_area area, const int *ids, int count) {
    char texts[MAX_TABS][32];
    const char *names[MAX_TABS];
    int chosen = 0;
    for (int i = 0; i < count; i++) {
        const struct tune_attempt *attempt = tune_state_attempt(views->state, ids[i]);
        if (attempt)
            snprintf(texts[i], sizeof texts[i], "#%d%s", ids[i], attempt->ended_ms ? " ended" : "");
        else
            snprintf(texts[i], sizeof texts[i], "all");
        names[i] = texts[i];
        if (ids[i] == own(views)->tab)
            chosen = i;
    }
    tui_tabs_draw(area, names, count, chosen, NULL);
}

static void draw_log(struct views *views, struct tui_area area) {
    const char *phase = log_phase_name(views);
    struct buf note = {0};
    buf_printf(&note, "%s, %s and above%s", phase ? phase : "all phases",
               tune_level_word(own(views)->level),
               own(views)->list.follow ? ", follows the end" : "");
    if (own(views)->filter.pattern)
        buf_printf(&note, ", only '%s'", own(views)->filter.text.at);
    struct tui_area inside = tui_frame(area, true, "log", note.at);
    buf_free(&note);
    int ids[MAX_TABS], count = tabs_of(views, ids);
    if (count > 1) {
        draw_tabs(views, tui_area_part(inside, (struct tui_rect){0, 1, 1, inside.cols - 2}), ids,
                  count);
        inside = tui_area_part(inside, (struct tui_rect){1, 0, inside.rows - 1, inside.cols});
    }
    views->list_spot = (struct tui_rect){inside.row, inside.col, inside.rows, inside.cols};
    log_draw(views, inside, &own(views)->list);
}

/* Place and queue, beside each other where there is room; returns how many rows they took. */
static int draw_place(struct views *views, struct tui_area area) {
    bool roomy = area.rows > 24;
    int half = area.cols / 2;
    bool beside = area.cols >= 160;
    struct tui_rect left = {0, 0, area.rows, beside ? half : area.cols};
    int rows = MIN_OF(place_host_rows(views, tui_area_part(area, left)), roomy ? 12 : 6);
    int entries = (int)views->state->place->status->entries.len;
    int queue = entries ? MIN_OF(entries, roomy ? 6 : 3) + 2 : 0;
    if (beside) {
        rows = MAX_OF(rows, queue);
        place_host_draw(views, tui_area_part(area, (struct tui_rect){0, 0, rows, half}));
        place_queue_draw(views,
                         tui_area_part(area, (struct tui_rect){0, half, rows, area.cols - half}));
        return rows;
    }
    place_host_draw(views, tui_area_part(area, (struct tui_rect){0, 0, rows, area.cols}));
    if (queue)
        place_queue_draw(views, tui_area_part(area, (struct tui_rect){rows, 0, queue, area.cols}));
    return rows + queue;
}

static void device_draw(struct views *views, struct tui_area body) {
    if (views->model.watch)
        views->model.watch(views->model.context);
    int rows = views->state->place ? draw_place(views, body) : 0;
    draw_log(views, tui_area_part(body, (struct tui_rect){rows, 0, body.rows - rows, body.cols}));
}

/* ---- the screen ----------------------------------------------------------------------------- */

static void do_next_tab(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    next_tab(views, 1);
}

static void do_previous_tab(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    next_tab(views, -1);
}

static struct tui_list *device_list(struct views *views) {
    return &own(views)->list;
}

static void device_moved(struct views *views, enum tui_move how) {
    if (how == TUI_MOVE_LAST)
        own(views)->list.follow = true;
}

static void device_enter(struct views *views, struct views_request *request) {
    (void)request;
    log_open(views, own(views)->list.cursor);
}

static enum explain_what device_explain(const struct views *views, struct buf *out) {
    return log_explain(views, own(views)->list.cursor, out);
}

struct filter *log_filter_by(struct views *views) {
    own(views)->rows.seq = -1;
    return &own(views)->filter;
}

/* Level and phase stay as a person set them. */
static void device_forget(struct views *views) {
    struct device *device = own(views);
    filter_free(&device->filter);
    vec_free(&device->rows.all);
    device->rows.seq = -1;
    device->tab = device->tab_now = -1;
    device->list = (struct tui_list){.follow = true};
}

static void device_open(struct views *views) {
    own(views)->level = TUNE_LEVEL_INFO;
    device_forget(views);
}

static const struct command commands[] = {
    {"next-tab", "job", "show the log of one running job, then the next, then all", WHERE_OWN,
     PLACE_OPEN, TUNE_ACTIONS, do_next_tab, NULL, NULL},
    {"previous-tab", "", "show the log of the job before", WHERE_OWN, PLACE_OPEN, TUNE_ACTIONS,
     do_previous_tab, NULL, NULL},
};

const struct screen device_screen = {
    .name = "device",
    .about = "the place, its queue, and what the runner said",
    .command = {"device", "", "screen 4: the whole log", WHERE_TUNING, PLACE_OPEN, TUNE_ACTIONS,
                NULL, NULL, NULL},
    .key = "4",
    .takes = "approve filter filter-phase filter-level",
    .keys = "Tab next-tab\nS-Tab previous-tab\nn next-match\nN previous-match\n"
            "f filter-phase\nF filter-level\n",
    .commands = commands,
    .n_commands = COUNT_OF(commands),
    .size = sizeof(struct device),
    .open = device_open,
    .forget = device_forget,
    .draw = device_draw,
    .list = device_list,
    .moved = device_moved,
    .line_of = log_line,
    .filter = log_filter_by,
    .enter = device_enter,
    .explain = device_explain,
};
