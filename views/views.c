/* SPDX-License-Identifier: Apache-2.0 */
/* The life of the screens, which of them shows, and the way of an event to a command. What a screen
 * shows and does is in its own file; screens.def lists them. */
#include "views/inner.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const struct screen *const screens[VIEW_COUNT] = {
#define SCREEN(id, name) [VIEW_##id] = &name##_screen,
#include "views/screens.def"
#undef SCREEN
};

const struct screen *screen_at(enum view_id id) {
    return screens[id];
}

const struct screen *screen_here(const struct views *views) {
    return screens[views->view];
}

/* ---- life ----------------------------------------------------------------------------------- */

struct views *views_new(const char *bindings, const char *bindings_file, struct err *err) {
    struct views *views = mem_alloc(1, sizeof *views);
    views->marks[0] = views->marks[1] = -1;
    views->over.texts = arena_new();
    views->over.note.many_lines = true;
    for (int i = 0; i < VIEW_COUNT; i++) {
        views->own[i] = mem_alloc(1, MAX_OF(screens[i]->size, (size_t)1));
        if (screens[i]->open)
            screens[i]->open(views);
    }
    if (!help_bind(&views->bindings, err) ||
        (bindings && !tui_bindings_parse(&views->bindings, str_of(bindings), bindings_file,
                                         command_exists, err))) {
        views_free(views);
        return NULL;
    }
    return views;
}

static void forget(struct views *views) {
    for (int i = 0; i < VIEW_COUNT; i++)
        if (screens[i]->forget)
            screens[i]->forget(views);
}

void views_free(struct views *views) {
    if (!views)
        return;
    forget(views);
    for (int i = 0; i < VIEW_COUNT; i++) {
        free(views->own[i]);
        buf_free(&views->searched[i].text);
        pattern_free(views->searched[i].pattern);
    }
    over_free(&views->over);
    tui_bindings_free(&views->bindings);
    buf_free(&views->editing.text);
    tui_canvas_free(views->scratch);
    free(views);
}

void views_set_model(struct views *views, const struct views_model *model) {
    bool opening = model->state && model->state->opening;
    bool other = views->model.state != model->state || views->opening != opening;
    views->opening = opening;
    views->model = *model;
    views->state = model->state;
    if (!other)
        return;
    forget(views);
    question_close(views);
    views->lane_seen.seq = views->lane_seen.seq_before = -1;
    lanes_follow(views);
    views->marks[0] = views->marks[1] = -1;
    views->touched_ms = 0;
    views->view = !views->state                  ? VIEW_START
                  : summary_is_due(views->state) ? VIEW_SUMMARY
                                                 : VIEW_WORKBENCH;
}

void views_show(struct views *views, enum view_id view) {
    if (view != VIEW_START && !views->state)
        return;
    if (screen_here(views)->leave)
        screen_here(views)->leave(views);
    views->view = view;
    views->shift = 0;
}

struct tui_list *views_list(struct views *views) {
    return screen_here(views)->list(views);
}

void views_say(struct views *views, bool bad, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(views->message, sizeof views->message, format, args);
    va_end(args);
    views->message_bad = bad;
    views->message_ms = 0;
    status_message_said(views);
}

bool views_can(const struct views *views, enum tune_action_kind kind) {
    return tune_can(views->state, views->lane, kind);
}

bool views_act(struct views *views, const struct tune_action *action) {
    struct err err = {0};
    struct tune_action mine = *action;
    mine.lane = views->lane;
    bool done = views->model.act && views->model.act(views->model.context, &mine, &err);
    lanes_follow(views);
    if (done)
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
        tune_state_attempt(state, tune_lane_parent(state, views->lane));
    return parent ? parent : views_incumbent(views);
}

void views_pair(const struct views *views, const struct tune_attempt **a,
                const struct tune_attempt **b) {
    const struct tune_state *state = views->state;
    *a = views_parent(views);
    *b = tune_attempt_in(state, views->lane);
    if (*a && *b == *a) {
        const struct tune_attempt *parent = tune_state_attempt(state, (*a)->parent);
        *b = parent ? *a : NULL;
        *a = parent ? parent : *a;
    }
    if (*b && !isfinite((*b)->latency_us))
        *b = NULL;
}

bool views_is_moving(const struct views *views) {
    if (!views->state || views->state->opening)
        return false;
    if (screen_here(views)->moving && screen_here(views)->moving(views))
        return true;
    if (place_in_trouble(views))
        return true;
    for (int i = 0; i < TUNE_STEPS; i++)
        if (views->state->steps[i].is == TUNE_IS_RUNNING && !views->state->trouble)
            return true;
    return false;
}

/* ---- events --------------------------------------------------------------------------------- */

static void run_named(struct views *views, const char *name, struct views_request *request) {
    const struct command *command = name ? command_find(str_of(name)) : NULL;
    if (command)
        command_run(views, command, STR(""), request);
}

static void key_event(struct views *views, struct tui_key key, struct views_request *request) {
    const struct screen *screen = screen_here(views);
    const char *name = screen->mode_key ? screen->mode_key(views, key) : NULL;
    if (!name)
        name = tui_bindings_find(&views->bindings, screen->name, key);
    if (name) {
        run_named(views, name, request);
        return;
    }
    struct buf text = {0};
    const char *there = tui_bindings_find(&views->bindings, screens[VIEW_WORKBENCH]->name, key);
    tui_key_print(key, &text);
    if (there && views->state)
        views_say(views, false, "%s (%s) is a key of the workbench; Esc goes there", text.at,
                  there);
    else
        views_say(views, false, "%s does nothing here; ? lists the keys", text.at);
    buf_free(&text);
}

static void click_event(struct views *views, const struct tui_event *event) {
    struct tui_list *list = views_list(views);
    if (screen_here(views)->click && screen_here(views)->click(views, event))
        return;
    if (list && tui_rect_has(views->list_spot, event->row, event->col))
        tui_list_go(list, list->top + event->row - views->list_spot.row);
}

static void wheel_event(struct views *views, const struct tui_event *event) {
    struct tui_list *list = views_list(views);
    if (screen_here(views)->wheel && screen_here(views)->wheel(views, event))
        return;
    if (list)
        tui_list_scroll(list, event->wheel * 3);
}

static struct tui_area rows_of(struct tui_area area, int row, int rows) {
    return tui_area_part(area, (struct tui_rect){row, 0, rows, area.cols});
}

static void draw_screen(struct views *views, struct tui_area area) {
    const struct screen *screen = screen_here(views);
    if (screen->draws_all) {
        screen->draw(views, area);
        return;
    }
    chrome_header(views, rows_of(area, 0, 1));
    chrome_title(views, rows_of(area, 1, 1));
    chrome_status(views, rows_of(area, area.rows - 2, 1));
    chrome_keys(views, rows_of(area, area.rows - 1, 1));
    if (screen->above)
        screen->above(views, rows_of(area, 2, 1));
    screen->draw(views, rows_of(area, 3, area.rows - 4 - status_rows(views, area)));
}

/* Keys that were typed before the first frame of a screen need its rows: they are counted by
 * drawing it out of sight. */
static void settle(struct views *views) {
    if (!views->scratch)
        views->scratch = tui_canvas_new(VIEWS_MIN_ROWS, VIEWS_MIN_COLS, false);
    draw_screen(views, tui_area_all(views->scratch));
}

static int page_of(const struct views *views) {
    return screen_here(views)->page ? screen_here(views)->page(views) : 0;
}

/* While the log is read, the only thing to do is to leave. */
static struct views_request opening_event(struct views *views, const struct tui_event *event) {
    static const struct {
        const char *command;
        enum views_wish wish;
    } all[] = {{"leave", VIEWS_QUIT},
               {"quit", VIEWS_QUIT},
               {"suspend", VIEWS_SUSPEND},
               {"repaint", VIEWS_REPAINT}};
    struct views_request request = {.wish = VIEWS_NOTHING};
    const char *name =
        event->kind == TUI_EVENT_KEY
            ? tui_bindings_find(&views->bindings, screen_here(views)->name, event->key)
            : NULL;
    for (size_t i = 0; name && i < COUNT_OF(all); i++)
        if (!strcmp(name, all[i].command))
            request.wish = all[i].wish;
    return request;
}

struct views_request views_event(struct views *views, const struct tui_event *event) {
    enum view_id before = views->view;
    int page = page_of(views);
    struct views_request request = {.wish = VIEWS_NOTHING};
    if (views->state && views->state->opening)
        return opening_event(views, event);
    views->message[0] = 0;
    lanes_follow(views);
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
    status_message_said(views);
    bool other = views->view != before || page_of(views) != page;
    if (other && (views->state || views->view == VIEW_START))
        settle(views);
    return request;
}

/* ---- drawing -------------------------------------------------------------------------------- */

void views_draw(struct views *views, struct tui_area area, int64_t now_ms) {
    views->now_ms = now_ms;
    if (views->state && views->state->opening) {
        tui_clear(area);
        area.canvas->cursor_row = -1;
        chrome_opening(views, area);
        return;
    }
    lanes_follow(views);
    question_follow(views);
    changed_follow(views);
    precision_follow(views);
    status_message_follow(views);
    for (int i = 0; i < VIEW_COUNT; i++)
        if (screens[i]->follow)
            screens[i]->follow(views);
    views->diff_is_shown = false;
    tui_clear(area);
    area.canvas->cursor_row = -1;
    if (area.rows < VIEWS_MIN_ROWS || area.cols < VIEWS_MIN_COLS)
        chrome_notice(views, area);
    else
        draw_screen(views, area);
    status_message(views, area);
    over_draw(views, area);
}
