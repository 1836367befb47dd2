/* SPDX-License-Identifier: Apache-2.0 */
/* The directions of a round that follows several at once: the screen that lists them, the row of
 * the workbench that says which one is looked at, and going from one to another. What is shown of
 * the one that is looked at (plan, candidate, profile) is drawn by the panes, as for any round. */
#include "views/private.h"

#include <math.h>
#include <stdio.h>

/* ---- which ---------------------------------------------------------------------------------- */

static const struct tune_lane *lane_at(const struct tune_state *state, int lane) {
    return lane >= 0 && (size_t)lane < state->lanes.len ? &state->lanes.at[lane] : NULL;
}

bool lanes_any(const struct views *views) {
    return views->state && views->state->lanes.len > 0;
}

bool lanes_may(const struct views *views) {
    const struct tune_width *width = &views->state->width;
    return lanes_any(views) || width->parents > 1 || width->plans > 1 || width->rewrites > 1;
}

/* What a command is about: on the screen of the lanes the one under the cursor. */
int lanes_here(const struct views *views) {
    return views->view == VIEW_LANES ? views->lanes_list.cursor : views->state->lane;
}

bool lanes_is_open(const struct views *views) {
    const struct tune_lane *lane = lane_at(views->state, lanes_here(views));
    return !views->state->lanes.len || (lane && !lane->closed);
}

/* Looks at a lane from now on. */
static bool focus(struct views *views, int lane) {
    if (lane == views->state->lane)
        return true;
    if (!views_act(views, &(struct tune_action){.kind = TUNE_ACT_FOCUS, .index = lane}))
        return false;
    views->call_here = -1;
    views->kernel_moved = views->hunks = false;
    views->panes[PANE_PROPOSAL] = (struct tui_list){0};
    return true;
}

bool lanes_take_cursor(struct views *views) {
    const struct tune_lane *lane = lane_at(views->state, lanes_here(views));
    if (lane && lane->closed) {
        views_say(views, true, "lane %d is closed: %s", lanes_here(views) + 1, lane->closed);
        return false;
    }
    return views->view != VIEW_LANES || !lane || focus(views, lanes_here(views));
}

static void go(struct views *views, int step, bool open) {
    const struct tune_state *state = views->state;
    int count = (int)state->lanes.len, at = lanes_here(views);
    if (!count) {
        views_say(views, false, "this round follows one direction");
        return;
    }
    for (int i = 0; i < count; i++) {
        at = (at + step + count) % count;
        if (!open || !state->lanes.at[at].closed)
            break;
    }
    if (views->view == VIEW_LANES)
        tui_list_go(&views->lanes_list, at);
    else if (open && state->lanes.at[at].closed)
        views_say(views, false, "no lane is open");
    else
        focus(views, at);
}

void lanes_next(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    go(views, 1, false);
}

void lanes_previous(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    go(views, -1, false);
}

void lanes_next_open(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    go(views, 1, true);
}

void lanes_show(struct views *views, struct str args, struct views_request *request) {
    long long number;
    (void)request;
    if (args.len == 0) {
        views->lanes_list.cursor = MAX_OF(views->state->lane, 0);
        views_show(views, VIEW_LANES);
    } else if (!str_to_int(args, &number) || number < 1 ||
               number > (long long)views->state->lanes.len) {
        views_say(views, true, "say the number of a lane, 1 to %d: lanes 3",
                  (int)views->state->lanes.len);
    } else {
        focus(views, (int)number - 1);
    }
}

void lanes_enter(struct views *views, struct views_request *request) {
    (void)request;
    if (lanes_any(views) && focus(views, views->lanes_list.cursor))
        views_show(views, VIEW_WORKBENCH);
}

/* ---- what one is and does ------------------------------------------------------------------- */

/* The question of the lane that is under way; NULL. */
static const struct tune_call *call_of(const struct tune_state *state, int lane) {
    for (size_t i = state->calls.len; i-- > 0;) {
        const struct tune_call *call = &state->calls.at[i];
        if (!call->ended_ms && call->lane == lane && call->round == state->round)
            return call;
    }
    return NULL;
}

struct look {
    const char *glyph;
    enum tui_role role;
};

static struct look look_of(const struct tune_state *state, int index) {
    static const struct look looks[TUNE_STEP_STATES] = {[TUNE_IS_WAITING] = {"·", TUI_DIM},
                                                        [TUNE_IS_RUNNING] = {"▶", TUI_ACTIVE},
                                                        [TUNE_IS_OK] = {"✓", TUI_GOOD},
                                                        [TUNE_IS_FAILED] = {"✗", TUI_BAD},
                                                        [TUNE_IS_SKIPPED] = {"−", TUI_DIM}};
    const struct tune_lane *lane = &state->lanes.at[index];
    const struct tune_call *call = call_of(state, index);
    enum tui_role role;
    if (lane->closed)
        return (struct look){"×", TUI_DIM};
    if (call && (call->waits || call->held))
        return (struct look){"◆", TUI_WAITING};
    const struct tune_attempt *attempt = tune_state_attempt(state, tune_lane_attempt(state, index));
    if (lane->is == TUNE_IS_OK && attempt && attempt->status != TUNE_STATUS_OPEN) {
        const char *glyph = history_glyph(attempt->status, &role);
        return (struct look){glyph, role};
    }
    return looks[lane->is];
}

static void running_print(const struct tune_state *state, int index, struct buf *out) {
    const struct tune_lane *lane = &state->lanes.at[index];
    const struct tune_call *call = call_of(state, index);
    if (call) {
        buf_printf(out, "%s ", call->model ? call->model : "-");
        calls_state_print(call, out);
        return;
    }
    buf_puts(out, tune_step_word(lane->next));
    if (lane->doing && strcmp(lane->doing, tune_step_word(lane->next)) != 0)
        buf_printf(out, " %s", lane->doing);
    if (isfinite(lane->total) && lane->total > 0 && isfinite(lane->done))
        buf_printf(out, " %.0f/%.0f", lane->done, lane->total);
}

/* A plan stands in a column of its own. */
static void ended_print(const struct tune_lane *lane, struct buf *out) {
    bool tells = lane->summary && *lane->summary && lane->step != TUNE_STEP_PLAN;
    bool failed = lane->is == TUNE_IS_FAILED;
    buf_puts(out, tune_step_word(lane->step));
    if (failed || !tells)
        buf_puts(out, failed ? " failed" : " done");
    if (tells)
        buf_printf(out, ": %s", lane->summary);
}

/* What it does now, or what came of what it did last, in few words. */
void lanes_does(const struct tune_state *state, int index, struct buf *out) {
    const struct tune_lane *lane = &state->lanes.at[index];
    const struct tune_attempt *attempt = tune_state_attempt(state, tune_lane_attempt(state, index));
    if (lane->closed)
        buf_printf(out, "closed: %s", lane->closed);
    else if (lane->is == TUNE_IS_RUNNING)
        running_print(state, index, out);
    else if (lane->is == TUNE_IS_WAITING)
        buf_printf(out, "%s waits", tune_step_word(lane->next));
    else if (lane->step == TUNE_STEP_PROFILE)
        buf_puts(out, "to be planned");
    else if (attempt && attempt->status != TUNE_STATUS_OPEN)
        buf_printf(out, "%s%s", tune_status_word(attempt->status),
                   tune_beam_has(state, attempt->id) ? ", in the beam" : "");
    else if (lane->is == TUNE_IS_SKIPPED)
        buf_printf(out, "%s left out", tune_step_word(lane->step));
    else
        ended_print(lane, out);
}

/* "#12 of #4, plan 2, rewrite 1": which of those of its parent it is. */
void lanes_which(const struct tune_state *state, int index, struct buf *out) {
    const struct tune_lane *lane = &state->lanes.at[index];
    int attempt = tune_lane_attempt(state, index);
    bool several = false;
    for (size_t i = 0; i < state->lanes.len; i++)
        several = several || state->lanes.at[i].sample > 0;
    if (attempt >= 0)
        buf_printf(out, "#%d ", attempt);
    buf_printf(out, "of #%d, plan %d", lane->parent, lane->draw + 1);
    if (several)
        buf_printf(out, ", rewrite %d", lane->sample + 1);
}

void lanes_running(const struct tune_state *state, struct buf *out) {
    for (size_t i = 0; i < state->lanes.len; i++) {
        const struct tune_lane *lane = &state->lanes.at[i];
        int attempt = tune_lane_attempt(state, (int)i);
        if (lane->is != TUNE_IS_RUNNING)
            continue;
        buf_puts(out, out->len ? ", " : "");
        if (attempt >= 0)
            buf_printf(out, "#%d", attempt);
        else
            buf_printf(out, "lane %zu", i + 1);
        if (lane->doing)
            buf_printf(out, " %s", lane->doing);
    }
}

static const char *title_of(const struct tune_state *state, int index) {
    const struct tune_plan *plan = tune_lane_plan(state, index);
    return !plan ? "" : plan->title ? plan->title : plan->key ? plan->key : "";
}

/* ---- the row of the workbench --------------------------------------------------------------- */

/* A cell for each lane; of many, those around the one that is looked at. Returns the column
 * after. */
static int draw_cells(struct views *views, struct tui_area area, int col, int most) {
    const struct tune_state *state = views->state;
    int count = (int)state->lanes.len, shown = MIN_OF(count, most);
    int first = MAX_OF(0, MIN_OF(state->lane - shown / 2, count - shown));
    views->lane_first = first;
    views->lane_spot = (struct tui_rect){area.row, area.col + col, 1, shown};
    for (int i = 0; i < shown; i++) {
        struct look look = look_of(state, first + i);
        struct tui_area ink = tui_ink(area, look.role);
        if (first + i == state->lane)
            ink = tui_paper(ink, TUI_PAPER_CURSOR);
        tui_say(ink, 0, col + i, "%s", look.glyph);
    }
    return col + shown;
}

void chrome_lanes(struct views *views, struct tui_area area) {
    const struct tune_state *state = views->state;
    int col = draw_cells(views, area, 1, MAX_OF(area.cols / 4, 16)) + 2;
    const struct tune_lane *lane = lane_at(state, state->lane);
    if (!lane)
        return;
    struct buf text = {0};
    col = tui_say(tui_ink(area, TUI_STRONG), 0, col, "lane %d/%d", state->lane + 1,
                  (int)state->lanes.len) +
          2;
    lanes_which(state, state->lane, &text);
    col = tui_put(area, 0, col, buf_str(&text)) + 2;
    buf_clear(&text);
    lanes_does(state, state->lane, &text);
    tui_put_short(tui_ink(area, look_of(state, state->lane).role), 0,
                  (struct tui_rect){0, col, 1, area.cols - col - 1}, buf_str(&text));
    buf_free(&text);
}

bool lanes_click(struct views *views, int row, int col) {
    if (!lanes_any(views) || !tui_rect_has(views->lane_spot, row, col))
        return false;
    focus(views, views->lane_first + col - views->lane_spot.col);
    return true;
}

/* ---- the screen ----------------------------------------------------------------------------- */

/* Columns of the table; what a lane does and its numbers stand at the right. */
enum {
    COL_MARK = 1,
    COL_NUMBER = 5,
    COL_GLYPH = 7,
    COL_ATTEMPT = 13,
    COL_PARENT = 19,
    COL_TITLE = 21
};

static bool is_wide(struct tui_area area) {
    return area.cols >= 110;
}

static int does_col(struct tui_area area) {
    return area.cols - 20 - (is_wide(area) ? 28 : 18);
}

/* Where who planned it stands, and the title ends. */
static int author_col(struct tui_area area) {
    return does_col(area) - (is_wide(area) ? 15 : 0);
}

static void draw_head(struct tui_area area) {
    struct tui_area dim = tui_ink(area, TUI_DIM);
    tui_say_right(dim, 0, COL_NUMBER, "lane");
    tui_say_right(dim, 0, COL_ATTEMPT, "#");
    tui_say_right(dim, 0, COL_PARENT, "of");
    tui_say(dim, 0, COL_TITLE, "plan");
    if (is_wide(area))
        tui_say(dim, 0, author_col(area), "planned by");
    tui_say(dim, 0, does_col(area), "does");
    tui_say_right(dim, 0, area.cols - 10, "latency");
    tui_say_right(dim, 0, area.cols - 1, "to it");
}

static void draw_numbers(const struct tune_state *state, struct tui_area area, int row, int index) {
    const struct tune_attempt *attempt = tune_state_attempt(state, tune_lane_attempt(state, index));
    const struct tune_attempt *parent = tune_state_attempt(state, state->lanes.at[index].parent);
    if (!attempt || !isfinite(attempt->latency_us))
        return;
    bool best = attempt->id == state->best;
    tui_say_right(best ? tui_ink(area, TUI_GOOD) : area, row, area.cols - 10, "%s",
                  show_latency(attempt->latency_us).text);
    if (parent)
        tui_say_right(tui_ink(area, TUI_DIM), row, area.cols - 1, "%s",
                      show_change(parent->latency_us, attempt->latency_us).text);
}

static void draw_row(struct views *views, struct tui_area area, int row, int index) {
    const struct tune_state *state = views->state;
    const struct tune_lane *lane = &state->lanes.at[index];
    int attempt = tune_lane_attempt(state, index), from = does_col(area), by = author_col(area);
    const struct tune_plan *plan = tune_lane_plan(state, index);
    struct look look = look_of(state, index);
    struct tui_area text = lane->closed ? tui_ink(area, TUI_DIM) : area;
    struct buf does = {0};
    if (index == state->lane)
        tui_say(tui_ink(area, TUI_KEY), row, COL_MARK, "▸");
    tui_say_right(text, row, COL_NUMBER, "%d", index + 1);
    tui_say(tui_ink(area, look.role), row, COL_GLYPH, "%s", look.glyph);
    if (attempt >= 0)
        tui_say_right(text, row, COL_ATTEMPT, "#%d", attempt);
    tui_say_right(tui_ink(area, TUI_DIM), row, COL_PARENT, "#%d", lane->parent);
    tui_put_short(text, row, (struct tui_rect){0, COL_TITLE, 1, by - COL_TITLE - 1},
                  str_of(title_of(state, index)));
    if (by < from && plan && plan->author)
        tui_put_short(tui_ink(area, TUI_DIM), row, (struct tui_rect){0, by, 1, from - by - 1},
                      str_of(plan->author));
    mark_found(views, area, row, COL_TITLE, str_of(title_of(state, index)));
    lanes_does(state, index, &does);
    tui_put_short(tui_ink(area, look.role), row,
                  (struct tui_rect){0, from, 1, area.cols - 19 - from}, buf_str(&does));
    draw_numbers(state, area, row, index);
    buf_free(&does);
}

struct str lanes_line(const void *data, int row) {
    const struct views *views = data;
    return str_of(lane_at(views->state, row) ? title_of(views->state, row) : "");
}

static int put_field(struct tui_area area, int row, const char *name, const char *text) {
    if (!text || !*text || row >= area.rows)
        return row;
    tui_say(tui_ink(area, TUI_DIM), row, 1, "%s", name);
    struct tui_rect rest = {row, 11, area.rows - row, area.cols - 12};
    return row + tui_put_wrapped(tui_area_part(area, rest), 0, str_of(text));
}

static void author_print(const struct tune_plan *plan, const struct tune_candidate *candidate,
                         struct buf *out) {
    if (plan)
        buf_printf(out, "planned by %s%s", plan->author ? plan->author : "-",
                   plan->edited ? ", edited" : "");
    if (candidate)
        buf_printf(out, "%swritten by %s%s", out->len ? ", " : "",
                   candidate->author ? candidate->author : "-",
                   candidate->edited ? ", edited" : "");
    if (candidate && candidate->repair)
        buf_printf(out, ", repair %d", candidate->repair);
}

/* All about the one under the cursor that its row has no room for. */
static void draw_detail(struct views *views, struct tui_area area, int index) {
    const struct tune_state *state = views->state;
    const struct tune_lane *lane = lane_at(state, index);
    const struct tune_plan *plan = tune_lane_plan(state, index);
    struct buf text = {0};
    if (!lane)
        return;
    struct tui_rect title = {0, 1, area.rows, area.cols - 2};
    int row = tui_put_wrapped(tui_ink(tui_area_part(area, title), TUI_STRONG), 0,
                              str_of(plan ? title_of(state, index) : "no plan yet"));
    row = put_field(area, row, "closed", lane->closed);
    bool at_work = lane->is == TUNE_IS_RUNNING || lane->is == TUNE_IS_WAITING;
    if (at_work && !lane->closed)
        lanes_does(state, index, &text);
    row = put_field(area, row, "does", text.at);
    bool tells = !lane->closed && lane->step > TUNE_STEP_PLAN;
    row = put_field(area, row, tune_step_word(lane->step), tells ? lane->summary : NULL);
    buf_clear(&text);
    author_print(plan, tune_lane_candidate(state, index), &text);
    row = put_field(area, row, "from", text.at);
    buf_clear(&text);
    if (plan)
        plan_prediction(plan, &text);
    row = put_field(area, row, "predicts", text.at);
    row = put_field(area, row, "what", plan ? plan->what : NULL);
    put_field(area, row, "why", plan ? plan->why : NULL);
    buf_free(&text);
}

/* Where the round started from, how the lanes stand, and what the beam is. */
static void draw_round(const struct tune_state *state, struct tui_area area) {
    int closed = (int)state->lanes.len - tune_lanes_open(state), running = 0;
    for (size_t i = 0; i < state->lanes.len; i++)
        running += state->lanes.at[i].is == TUNE_IS_RUNNING;
    struct buf text = {0};
    buf_printf(&text, "round %d: %d lanes", state->round, (int)state->lanes.len);
    if (running)
        buf_printf(&text, ", %d at work", running);
    if (closed)
        buf_printf(&text, ", %d closed", closed);
    for (size_t i = 0; i < state->beam.len; i++)
        buf_printf(&text, "%s#%d", i ? " " : "   beam: ", state->beam.at[i]);
    tui_put_short(area, 0, (struct tui_rect){0, 1, 1, area.cols - 2}, buf_str(&text));
    buf_free(&text);
}

static void draw_table(struct views *views, struct tui_area area) {
    struct tui_list *list = &views->lanes_list;
    draw_head(area);
    struct tui_area rows = tui_area_part(area, (struct tui_rect){1, 0, area.rows - 1, area.cols});
    views->list_spot = (struct tui_rect){rows.row, rows.col, rows.rows, rows.cols};
    tui_list_fit(list, (int)views->state->lanes.len, rows.rows);
    for (int row = 0; row < rows.rows && list->top + row < list->count; row++) {
        draw_row(views, rows, row, list->top + row);
        if (list->top + row == list->cursor)
            tui_lay_paper(rows, (struct tui_rect){row, 0, 1, rows.cols}, TUI_PAPER_CURSOR);
    }
    tui_list_draw_bar(list, rows);
}

void lanes_draw(struct views *views, struct tui_area area) {
    const struct tune_state *state = views->state;
    struct tui_area body = chrome_screen(views, area);
    draw_round(state, tui_area_part(area, (struct tui_rect){2, 0, 1, area.cols}));
    int detail = body.rows >= 30 ? 12 : 8;
    struct tui_rect table = {0, 0, body.rows - detail, body.cols};
    draw_table(views, tui_frame(tui_area_part(body, table), true, "lanes",
                                "▸ is looked at in the workbench"));
    struct buf which = {0};
    int here = views->lanes_list.cursor;
    if (lane_at(state, here))
        lanes_which(state, here, &which);
    char name[32];
    snprintf(name, sizeof name, "lane %d", here + 1);
    struct tui_rect below = {body.rows - detail, 0, detail, body.cols};
    draw_detail(views,
                tui_frame(tui_area_part(body, below), false, state->lanes.len ? name : "lane",
                          which.at ? which.at : ""),
                here);
    buf_free(&which);
    if (state->lanes.len == 0)
        tui_put_wrapped(
            tui_ink(tui_area_part(body, (struct tui_rect){2, 2, 4, body.cols - 4}), TUI_DIM), 0,
            STR("No lanes now: a round of a beam search opens them when it begins to plan."));
}
