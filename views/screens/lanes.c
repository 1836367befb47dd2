/* SPDX-License-Identifier: Apache-2.0 */
/* The directions of a round that follows several at once, in a list. */
#include "views/inner.h"

#include <math.h>
#include <stdio.h>

struct lanes {
    struct tui_list list;
};

static struct lanes *own(const struct views *views) {
    return views->own[VIEW_LANES];
}

int lanes_cursor(const struct views *views) {
    return own(views)->list.cursor;
}

void lanes_go(struct views *views, int lane) {
    tui_list_go(&own(views)->list, lane);
}

/* ---- drawing -------------------------------------------------------------------------------- */

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

/* The column of who planned it, where the title ends. */
static int author_col(struct tui_area area) {
    return does_col(area) - (is_wide(area) ? 15 : 0);
}

/* The rest of a row behind the number of an attempt. */
static struct tui_area behind_number(const struct views *views, struct tui_area area) {
    return rows_behind(area, views->state->attempts.len, 4);
}

static void draw_head(const struct views *views, struct tui_area area) {
    struct tui_area dim = tui_ink(area, TUI_DIM);
    tui_say_right(dim, 0, COL_NUMBER, "lane");
    dim = behind_number(views, dim);
    tui_say_right(dim, 0, COL_ATTEMPT, "#");
    dim = behind_number(views, dim);
    area = dim;
    tui_say_right(dim, 0, COL_PARENT, "of");
    tui_say(dim, 0, COL_TITLE, "plan");
    if (is_wide(area))
        tui_say(dim, 0, author_col(area), "planned by");
    tui_say(dim, 0, does_col(area), "does");
    tui_say_right(dim, 0, area.cols - 10, "latency");
    tui_say_right(dim, 0, area.cols - 1, "to it");
}

static void draw_numbers(const struct tune_state *state, struct tui_area area, int row, int index) {
    const struct tune_attempt *attempt = tune_attempt_in(state, index);
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
    int attempt = tune_lane_attempt(state, index);
    const struct tune_plan *plan = tune_lane_plan(state, index);
    struct rows_look look = lane_look(state, index);
    struct tui_area text = lane->closed ? tui_ink(area, TUI_DIM) : area;
    struct buf does = {0};
    if (index == views->lane)
        tui_say(tui_ink(area, TUI_KEY), row, COL_MARK, "▸");
    tui_say_right(text, row, COL_NUMBER, "%d", index + 1);
    tui_say(tui_ink(area, look.role), row, COL_GLYPH, "%s", look.glyph);
    area = behind_number(views, area);
    if (attempt >= 0)
        tui_say_right(lane->closed ? tui_ink(area, TUI_DIM) : area, row, COL_ATTEMPT, "#%d",
                      attempt);
    area = behind_number(views, area);
    int from = does_col(area), by = author_col(area);
    text = lane->closed ? tui_ink(area, TUI_DIM) : area;
    tui_say_right(tui_ink(area, TUI_DIM), row, COL_PARENT, "#%d", lane->parent);
    tui_put_short(text, row, (struct tui_rect){0, COL_TITLE, 1, by - COL_TITLE - 1},
                  str_of(lane_title(state, index)));
    if (by < from && plan && plan->author)
        tui_put_short(tui_ink(area, TUI_DIM), row, (struct tui_rect){0, by, 1, from - by - 1},
                      str_of(plan->author));
    find_mark(views, area, row, COL_TITLE, str_of(lane_title(state, index)));
    lane_does(state, index, &does);
    tui_put_short(tui_ink(area, look.role), row,
                  (struct tui_rect){0, from, 1, area.cols - 19 - from}, buf_str(&does));
    draw_numbers(state, area, row, index);
    buf_free(&does);
}

static struct str lanes_line(const void *data, int row) {
    const struct views *views = data;
    return str_of(lane_at(views->state, row) ? lane_title(views->state, row) : "");
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

/* Everything about the lane under the cursor that its row has no room for. */
static void draw_detail(struct views *views, struct tui_area area, int index) {
    const struct tune_state *state = views->state;
    const struct tune_lane *lane = lane_at(state, index);
    const struct tune_plan *plan = tune_lane_plan(state, index);
    struct buf text = {0};
    if (!lane)
        return;
    struct tui_rect title = {0, 1, area.rows, area.cols - 2};
    int row = tui_put_wrapped(tui_ink(tui_area_part(area, title), TUI_STRONG), 0,
                              str_of(plan ? lane_title(state, index) : "no plan yet"));
    row = rows_field(area, row, 11, "closed", lane->closed);
    bool at_work = lane->is == TUNE_IS_RUNNING || lane->is == TUNE_IS_WAITING;
    if (at_work && !lane->closed)
        lane_does(state, index, &text);
    row = rows_field(area, row, 11, "does", text.at);
    buf_clear(&text);
    if (!lane->closed && lane->step > TUNE_STEP_PLAN)
        tune_lane_told(&text, lane);
    row = rows_field(area, row, 11, tune_step_word(lane->step), text.at);
    buf_clear(&text);
    author_print(plan, tune_lane_candidate(state, index), &text);
    row = rows_field(area, row, 11, "from", text.at);
    row = rows_predicted(views, area, row, index);
    row = rows_field(area, row, 11, "what", plan ? plan->what : NULL);
    rows_field(area, row, 11, "why", plan ? plan->why : NULL);
    buf_free(&text);
}

/* Where the round started from, how the lanes stand, and what the beam is. */
static void draw_round(struct views *views, struct tui_area area) {
    const struct tune_state *state = views->state;
    int closed = lanes_count(state) - tune_lanes_open(state), running = 0;
    for (size_t i = 0; i < state->lanes.len; i++)
        running += state->lanes.at[i].is == TUNE_IS_RUNNING;
    struct buf text = {0};
    buf_printf(&text, "round %d: %d lane%s", state->round, lanes_count(state),
               PLURAL(lanes_count(state)));
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
    draw_head(views, area);
    rows_draw(views, tui_area_part(area, (struct tui_rect){1, 0, area.rows - 1, area.cols}),
              &own(views)->list, lanes_count(views->state), draw_row);
}

static void lanes_draw(struct views *views, struct tui_area body) {
    const struct tune_state *state = views->state;
    int detail = body.rows >= 30 ? 12 : 8;
    struct tui_rect table = {0, 0, body.rows - detail, body.cols};
    draw_table(views, tui_frame(tui_area_part(body, table), true, "lanes",
                                "▸ marks the lane that the workbench shows"));
    struct buf which = {0};
    int here = own(views)->list.cursor;
    if (lane_at(state, here))
        lane_which(state, here, &which);
    char name[32];
    snprintf(name, sizeof name, "lane %d", here + 1);
    struct tui_rect below = {body.rows - detail, 0, detail, body.cols};
    draw_detail(views,
                tui_frame(tui_area_part(body, below), false, lanes_any(views) ? name : "lane",
                          which.at ? which.at : ""),
                here);
    buf_free(&which);
    if (!lanes_any(views))
        tui_put_lines(
            tui_ink(tui_area_part(body, (struct tui_rect){2, 2, 4, body.cols - 4}), TUI_DIM),
            STR("No lanes now: a beam search opens them when a round begins to plan."));
}

/* ---- what the keys do ----------------------------------------------------------------------- */

static void lanes_show(struct views *views, struct str args, struct views_request *request) {
    long long number;
    (void)request;
    if (args.len == 0) {
        own(views)->list.cursor = MAX_OF(views->lane, 0);
        views_show(views, VIEW_LANES);
    } else if (!str_to_int(args, &number) || number < 1 || number > lanes_count(views->state)) {
        views_say(views, true, "give the number of a lane, 1 to %d: lanes 3",
                  lanes_count(views->state));
    } else {
        lanes_focus(views, (int)number - 1);
    }
}

static void lanes_enter(struct views *views, struct views_request *request) {
    (void)request;
    if (!lanes_any(views))
        return;
    lanes_focus(views, own(views)->list.cursor);
    views_show(views, VIEW_WORKBENCH);
}

static struct tui_list *lanes_list(struct views *views) {
    return &own(views)->list;
}

static void lanes_forget(struct views *views) {
    own(views)->list = (struct tui_list){0};
}

const struct screen lanes_screen = {
    .name = "lanes",
    .about = "the directions of this round; Enter looks at one",
    .command = {"lanes", "lanes",
                "the directions of this round in a list; with a number: look at that one",
                WHERE_TUNING, PLACE_DECIDE, TUNE_ACTIONS, lanes_show, lanes_may, NULL},
    .key = "l",
    .takes = "approve reject another next-lane previous-lane next-open-lane",
    .keys = "n another\ne edit\n",
    .size = sizeof(struct lanes),
    .enters = "look at it",
    .forget = lanes_forget,
    .draw = lanes_draw,
    .above = draw_round,
    .list = lanes_list,
    .line_of = lanes_line,
    .enter = lanes_enter,
    .edit = act_edit_waiting,
    .can_edit = act_can_edit_waiting,
};
