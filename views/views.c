/* SPDX-License-Identifier: Apache-2.0 */
/* The table of screens, what lies over them (prompts, menus, questions), and the way of an event to
 * a command. What a screen shows is in its own file. */
#include "views/private.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static struct tui_list *start_list(struct views *views) {
    return &views->start;
}
static struct tui_list *pane_list(struct views *views) {
    return &views->panes[views->pane];
}
static struct tui_list *kernel_list(struct views *views) {
    return &views->kernel_list;
}
static struct tui_list *diff_list(struct views *views) {
    return &views->diff_list;
}
static struct tui_list *device_list(struct views *views) {
    return &views->device_list;
}
static struct tui_list *profile_list(struct views *views) {
    return &views->profile_list;
}
static struct tui_list *notes_list(struct views *views) {
    return &views->notes_list;
}
static struct tui_list *history_list(struct views *views) {
    return &views->history_list;
}
static struct tui_list *memory_list(struct views *views) {
    return &views->memory_list;
}
static struct tui_list *settings_list(struct views *views) {
    return &views->settings_list;
}

static struct tui_list *summary_list(struct views *views) {
    return &views->summary_list;
}
static struct tui_list *lanes_list(struct views *views) {
    return &views->lanes_list;
}

/* ---- what a search looks through ------------------------------------------------------------ */

static struct str lines_at(const struct source *source, int row) {
    return source_line(source, row + 1);
}

static struct str diff_line(const struct diff *diff, bool sides, int row) {
    size_t count = sides ? diff->sides.len : diff->unified.len;
    if (row < 0 || (size_t)row >= count)
        return STR("");
    const struct diff_row *at = sides ? &diff->sides.at[row] : &diff->unified.at[row];
    return at->new_line ? source_line(&diff->new_, at->new_line)
                        : source_line(&diff->old, at->old_line);
}

static struct str pane_line(const void *data, int row) {
    const struct views *views = data;
    struct str line;
    if (views->pane == PANE_PROPOSAL && calls_line(views, row, &line))
        return line;
    switch (views->pane) {
    case PANE_KERNEL: return lines_at(&views->kernel, row);
    case PANE_PROPOSAL: return diff_line(&views->diff, views->side_by_side, row);
    case PANE_DEVICE: return log_line(data, row);
    default: return STR("");
    }
}

static struct str kernel_line(const void *data, int row) {
    return lines_at(&((const struct views *)data)->full, row);
}

static struct str compare_line(const void *data, int row) {
    const struct views *views = data;
    return diff_line(&views->compare, views->side_by_side, row);
}

static struct str note_line(const void *data, int row) {
    const struct views *views = data;
    bool there = row >= 0 && (size_t)row < views->state->notes.len;
    return str_of(there ? views->state->notes.at[row].lesson : "");
}

static struct str memory_line(const void *data, int row) {
    const struct views *views = data;
    bool there = row >= 0 && (size_t)row < views->state->memory.len;
    return str_of(there ? views->state->memory.at[row].title : "");
}

static void diff_enter(struct views *views, struct views_request *request) {
    (void)request;
    views_show(views, VIEW_HISTORY);
}

/* Enter in the log goes to the line it speaks of. */
static void log_enter(struct views *views, struct views_request *request) {
    (void)request;
    struct tui_list *list = views_list(views);
    const struct tune_log *log = log_at(views, list->cursor);
    if (!log || log->line <= 0) {
        views_say(views, false, "this line names no line of the kernel");
        return;
    }
    views->kernel_attempt = log->attempt;
    views_show(views, VIEW_KERNEL);
    views->kernel_list.cursor = log->line - 1;
}

static void pane_enter(struct views *views, struct views_request *request) {
    if (views->pane == PANE_DEVICE) {
        log_enter(views, request);
    } else if (views->pane == PANE_KERNEL) {
        views_show(views, VIEW_KERNEL);
        views->kernel_list.cursor = views->panes[PANE_KERNEL].cursor;
    } else if (views->pane == PANE_PROFILE) {
        views_show(views, VIEW_PROFILE);
    } else {
        views->zoomed = !views->zoomed;
    }
}

static void history_enter(struct views *views, struct views_request *request) {
    (void)request;
    views->marks[1] = history_attempt(views);
    const struct tune_attempt *attempt = tune_state_attempt(views->state, views->marks[1]);
    views->marks[0] = attempt && attempt->parent >= 0 ? attempt->parent : views->marks[1];
    views_show(views, VIEW_DIFF);
}

static const struct view screens[VIEW_COUNT] = {
    [VIEW_START] = {"start", "start", "recent sessions and seeds", start_draw, start_list, NULL,
                    start_enter, NULL},
    [VIEW_WORKBENCH] = {"workbench", "workbench", "", workbench_draw, pane_list, pane_moved,
                        pane_enter, pane_line},
    [VIEW_KERNEL] = {"kernel", "kernel", "the source with what each line costs", kernel_screen_draw,
                     kernel_list, NULL, NULL, kernel_line},
    [VIEW_DIFF] = {"diff", "diff", "two attempts, source and metrics", diff_screen_draw, diff_list,
                   NULL, diff_enter, compare_line},
    [VIEW_DEVICE] = {"device", "device", "the place, its queue, and what the runner said",
                     device_screen_draw, device_list, NULL, log_enter, log_line},
    [VIEW_PROFILE] = {"profile", "profile", "where the time goes", profile_screen_draw,
                      profile_list, NULL, profile_enter, NULL},
    [VIEW_NOTES] = {"notes", "notes", "what was learned, and which prompts it enters", notes_draw,
                    notes_list, NULL, NULL, note_line},
    [VIEW_HISTORY] = {"history", "history", "every attempt; nothing is ever deleted", history_draw,
                      history_list, NULL, history_enter, history_line},
    [VIEW_MEMORY] = {"memory", "memory", "experiences that other sessions profit from", memory_draw,
                     memory_list, NULL, NULL, memory_line},
    [VIEW_PROMPT] = {"prompt", "prompt", "what goes to a model next, and what went", prompt_draw,
                     prompt_list, NULL, prompt_enter, prompt_line, prompt_find},
    [VIEW_SETTINGS] = {"settings", "settings", "Enter changes a gate; : sets a value",
                       settings_draw, settings_list, NULL, settings_enter, NULL},
    [VIEW_SUMMARY] = {"summary", "summary", "what came of it; Enter: the attempt, 1: the workbench",
                      summary_draw, summary_list, NULL, summary_enter, summary_line},
    [VIEW_LANES] = {"lanes", "lanes", "the directions of this round; Enter looks at one",
                    lanes_draw, lanes_list, NULL, lanes_enter, lanes_line},
};

const struct view *view_at(enum view_id id) {
    return &screens[id];
}

/* ---- life ----------------------------------------------------------------------------------- */

struct views *views_new(const char *bindings, const char *bindings_file, struct err *err) {
    struct views *views = mem_alloc(1, sizeof *views);
    views->marks[0] = views->marks[1] = -1;
    views->step = -1;
    views->kernel_attempt = -1;
    views->log_level = TUNE_LEVEL_INFO;
    views->pane = PANE_PROPOSAL;
    views->over.texts = arena_new();
    views->over.note.many_lines = true;
    views->panes[PANE_DEVICE].follow = views->device_list.follow = true;
    views->history_seq = views->log_seq = views->prompt_seq = -1;
    if (!tui_bindings_parse(&views->bindings, str_of(command_keys), "built-in keys", command_exists,
                            err) ||
        (bindings && !tui_bindings_parse(&views->bindings, str_of(bindings), bindings_file,
                                         command_exists, err))) {
        views_free(views);
        return NULL;
    }
    return views;
}

static void free_caches(struct views *views) {
    source_free(&views->kernel);
    source_free(&views->full);
    prompt_forget(views);
    source_free(&views->asked);
    views->asked_call = -1;
    diff_free(&views->diff);
    diff_free(&views->compare);
    profile_timeline_free(&views->timeline);
    vec_free(&views->log_rows);
    vec_free(&views->history);
    vec_free(&views->history_depth);
    vec_free(&views->settings);
    summary_forget(views);
    views->history_seq = views->log_seq = views->prompt_seq = views->costs_seq = -1;
}

void views_free(struct views *views) {
    if (!views)
        return;
    free_caches(views);
    over_free(&views->over);
    tui_bindings_free(&views->bindings);
    buf_free(&views->edit_text);
    buf_free(&views->prompt_text);
    buf_free(&views->asked_text);
    buf_free(&views->costs);
    buf_free(&views->search);
    tui_canvas_free(views->scratch);
    free(views);
}

void views_set_model(struct views *views, const struct views_model *model) {
    bool other = views->model.state != model->state;
    views->model = *model;
    views->state = model->state;
    if (!other)
        return;
    free_caches(views);
    question_close(views);
    views->hunks = views->zoomed = views->kernel_moved = false;
    views->step = views->kernel_attempt = views->marks[0] = views->marks[1] = -1;
    views->log_tab = views->log_tab_now = -1;
    views->view = !views->state                  ? VIEW_START
                  : summary_is_due(views->state) ? VIEW_SUMMARY
                                                 : VIEW_WORKBENCH;
    views->summary_list = views->lanes_list = (struct tui_list){0};
    views->call_here = -1;
    views->touched_ms = 0;
    views->summary_told = true;
    views->history_list = views->kernel_list = views->notes_list = (struct tui_list){0};
    for (int i = 0; i < PANE_COUNT; i++)
        views->panes[i] = (struct tui_list){.follow = i == PANE_DEVICE};
}

void views_show(struct views *views, enum view_id view) {
    if (view != VIEW_START && !views->state)
        return;
    views->view = view;
    views->hunks = false;
    views->shift = 0;
}

struct tui_list *views_list(struct views *views) {
    return view_at(views->view)->list(views);
}

void views_say(struct views *views, bool bad, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(views->message, sizeof views->message, format, args);
    va_end(args);
    views->message_bad = bad;
}

bool views_act(struct views *views, const struct tune_action *action) {
    struct err err = {0};
    if (views->model.act && views->model.act(views->model.context, action, &err))
        return true;
    views_say(views, true, "%s", err.text);
    return false;
}

const struct tune_attempt *views_incumbent(const struct views *views) {
    const struct tune_state *state = views->state;
    int id = state->incumbent >= 0 ? state->incumbent : 0;
    return tune_state_attempt(state, id);
}

const struct tune_attempt *views_parent(const struct views *views) {
    const struct tune_state *state = views->state;
    const struct tune_attempt *parent =
        state->lanes.len ? tune_state_attempt(state, tune_state_parent(state)) : NULL;
    return parent ? parent : views_incumbent(views);
}

void views_pair(const struct views *views, const struct tune_attempt **a,
                const struct tune_attempt **b) {
    const struct tune_state *state = views->state;
    *a = views_parent(views);
    *b = tune_state_attempt(state, state->current);
    if (*a && *b == *a) {
        const struct tune_attempt *parent = tune_state_attempt(state, (*a)->parent);
        *b = parent ? *a : NULL;
        *a = parent ? parent : *a;
    }
    if (*b && !isfinite((*b)->latency_us))
        *b = NULL;
}

bool views_is_moving(const struct views *views) {
    if (!views->state)
        return false;
    if (views->view == VIEW_PROFILE && views->timeline.text)
        return true;
    if (place_in_trouble(views))
        return true;
    for (int i = 0; i < TUNE_STEPS; i++)
        if (views->state->steps[i].is == TUNE_IS_RUNNING)
            return true;
    return false;
}

/* ---- events --------------------------------------------------------------------------------- */

static void run_named(struct views *views, const char *name, struct views_request *request) {
    const struct command *command = name ? command_find(str_of(name)) : NULL;
    if (command)
        command_run(views, command, STR(""), request);
}

/* While hunks are gone through, their keys come first. */
static const char *hunk_command(const struct views *views, struct tui_key key) {
    static const struct {
        uint32_t code;
        const char *name;
    } keys[] = {{'n', "down"}, {'p', "up"}, {' ', "take"}, {TUI_KEY_ENTER, "hunks"}};
    for (size_t i = 0; views->hunks && i < COUNT_OF(keys); i++)
        if (keys[i].code == key.code && !key.modifiers)
            return keys[i].name;
    return NULL;
}

static void key_event(struct views *views, struct tui_key key, struct views_request *request) {
    const char *name = hunk_command(views, key);
    if (!name)
        name = tui_bindings_find(&views->bindings, view_at(views->view)->name, key);
    if (name) {
        run_named(views, name, request);
        return;
    }
    struct buf text = {0};
    tui_key_print(key, &text);
    views_say(views, false, "%s does nothing here; ? lists the keys", text.at);
    buf_free(&text);
}

static void click_event(struct views *views, const struct tui_event *event) {
    struct tui_list *list = views_list(views);
    if (views->view == VIEW_WORKBENCH) {
        if (lanes_click(views, event->row, event->col))
            return;
        for (int i = 0; i < TUNE_STEPS; i++)
            if (tui_rect_has(views->step_spots[i], event->row, event->col))
                views->step = i;
        for (int i = 0; i < PANE_COUNT; i++)
            if (tui_rect_has(views->pane_spots[i], event->row, event->col)) {
                views->pane = (enum pane)i;
                list = views_list(views);
                tui_list_go(list, list->top + event->row - views->pane_spots[i].row - 1);
                pane_moved(views);
            }
        return;
    }
    if (list && tui_rect_has(views->list_spot, event->row, event->col))
        tui_list_go(list, list->top + event->row - views->list_spot.row);
}

static void wheel_event(struct views *views, const struct tui_event *event) {
    if (views->view == VIEW_WORKBENCH)
        for (int i = 0; i < PANE_COUNT; i++)
            if (tui_rect_has(views->pane_spots[i], event->row, event->col)) {
                tui_list_scroll(&views->panes[i], event->wheel * 3);
                return;
            }
    struct tui_list *list = views_list(views);
    if (list)
        tui_list_scroll(list, event->wheel * 3);
}

/* Keys that are typed ahead of the frame find the rows of a screen that was just opened: they are
 * counted by drawing it where nobody looks. */
static void settle(struct views *views) {
    if (!views->scratch)
        views->scratch = tui_canvas_new(VIEWS_MIN_ROWS, VIEWS_MIN_COLS, false);
    view_at(views->view)->draw(views, tui_area_all(views->scratch));
}

struct views_request views_event(struct views *views, const struct tui_event *event) {
    enum view_id before = views->view;
    enum prompt_page page = views->prompt_page;
    struct views_request request = {.wish = VIEWS_NOTHING};
    views->message[0] = 0;
    views->touched_ms = views->now_ms;
    if (views->over.is != OVERLAY_NONE)
        over_event(views, event, &request);
    else if (event->kind == TUI_EVENT_KEY)
        key_event(views, event->key, &request);
    else if (event->kind == TUI_EVENT_CLICK)
        click_event(views, event);
    else if (event->kind == TUI_EVENT_WHEEL)
        wheel_event(views, event);
    else if (!calls_paste(views, event->paste))
        views_say(views, false, "pasted text does nothing here; : and / take it");
    bool other = views->view != before || views->prompt_page != page;
    if (other && (views->state || views->view == VIEW_START))
        settle(views);
    return request;
}

/* ---- drawing -------------------------------------------------------------------------------- */

void views_draw(struct views *views, struct tui_area area, int64_t now_ms) {
    views->now_ms = now_ms;
    question_follow(views);
    summary_follow(views);
    tui_clear(area);
    area.canvas->cursor_row = -1;
    if (area.rows < VIEWS_MIN_ROWS || area.cols < VIEWS_MIN_COLS)
        notice_draw(views, area);
    else
        view_at(views->view)->draw(views, area);
    over_draw(views, area);
}
