/* SPDX-License-Identifier: Apache-2.0 */
/* Screen 1: four panes around the current round. On a small terminal one pane shows at a time,
 * with tabs. What is in a pane is in kernel.c, proposal.c, device.c and profile/profile.c; what is
 * decided about a proposal in decide.c. */
#include "views/workbench/private.h"

static const struct {
    const char *name;
    void (*draw)(struct views *views, struct tui_area area);
    void (*note)(const struct views *views, struct buf *note);
} panes[PANE_COUNT] = {
    [PANE_KERNEL] = {"kernel", pane_kernel_draw, pane_kernel_note},
    [PANE_PROPOSAL] = {"proposal", pane_proposal_draw, pane_proposal_note},
    [PANE_DEVICE] = {"device", pane_device_draw, pane_device_note},
    [PANE_PROFILE] = {"profile", pane_profile_draw, pane_profile_note},
};

/* Where a person looks when the loop stops at a step's gate. */
static const enum pane matters[TUNE_STEPS] = {
    [TUNE_STEP_PROFILE] = PANE_PROFILE,    [TUNE_STEP_PLAN] = PANE_PROPOSAL,
    [TUNE_STEP_REWRITE] = PANE_PROPOSAL,   [TUNE_STEP_VERIFY] = PANE_DEVICE,
    [TUNE_STEP_BENCHMARK] = PANE_PROFILE,  [TUNE_STEP_DECIDE] = PANE_PROFILE,
    [TUNE_STEP_SUMMARISE] = PANE_PROPOSAL, [TUNE_STEP_REFLECT] = PANE_PROPOSAL,
};

struct workbench *workbench_of(const struct views *views) {
    return views->own[VIEW_WORKBENCH];
}

/* ---- life ----------------------------------------------------------------------------------- */

static void workbench_forget(struct views *views) {
    struct workbench *bench = workbench_of(views);
    source_free(&bench->kernel);
    diff_free(&bench->diff);
    bench->diff = (struct diff){0};
    calls_forget(&bench->calls);
    buf_free(&bench->costs);
    bench->proposed = NULL;
    bench->costs_seq = -1;
    bench->hunks = bench->zoomed = bench->kernel_moved = bench->stopped = bench->first = false;
    bench->step = bench->stop = -1;
    for (int i = 0; i < PANE_COUNT; i++)
        bench->panes[i] = (struct tui_list){.follow = i == PANE_DEVICE};
}

static void workbench_open(struct views *views) {
    workbench_of(views)->pane = PANE_PROPOSAL;
    workbench_forget(views);
}

static void workbench_leave(struct views *views) {
    workbench_of(views)->hunks = false;
}

void workbench_refocus(struct views *views) {
    struct workbench *bench = workbench_of(views);
    bench->calls.here = -1;
    bench->kernel_moved = bench->hunks = false;
    bench->panes[PANE_PROPOSAL] = (struct tui_list){0};
}

/* ---- drawing -------------------------------------------------------------------------------- */

/* The cursor of the profile pane goes from metric to metric. */
static void point_metric(struct views *views, struct tui_area area) {
    struct workbench *bench = workbench_of(views);
    struct tui_list *list = &bench->panes[PANE_PROFILE];
    int count = 0;
    while (count < area.rows && pane_profile_metric(views, count))
        count++;
    tui_list_fit(list, count, area.rows);
    if (count && bench->pane == PANE_PROFILE)
        tui_lay_paper(area, (struct tui_rect){list->cursor, 0, 1, area.cols}, TUI_PAPER_CURSOR);
}

static void draw_pane(struct views *views, struct tui_area area, enum pane pane) {
    struct workbench *bench = workbench_of(views);
    struct buf note = {0};
    panes[pane].note(views, &note);
    struct tui_area inside =
        tui_frame_title(area, bench->pane == pane, panes[pane].name, note.at ? note.at : "");
    bench->pane_spots[pane] = (struct tui_rect){area.row, area.col, area.rows, area.cols};
    panes[pane].draw(views, inside);
    if (pane == PANE_PROFILE)
        point_metric(views, inside);
    buf_free(&note);
}

static void draw_grid(struct views *views, struct tui_area area) {
    struct workbench *bench = workbench_of(views);
    static const struct tui_share upper_lower[] = {{6, 5}, {6, 4}}, halves[] = {{30, 1}, {30, 1}};
    struct tui_rect whole = {0, 0, area.rows, area.cols}, bands[2], spots[PANE_COUNT];
    tui_split_rows(whole, upper_lower, 2, 1, bands);
    tui_split_cols(bands[0], halves, 2, 1, spots);
    tui_split_cols(bands[1], halves, 2, 1, spots + 2);
    for (int i = 0; i < PANE_COUNT; i++)
        tui_frame_edges(tui_area_part(area, spots[i]), false);
    tui_frame_edges(tui_area_part(area, spots[bench->pane]), true);
    for (int i = 0; i < PANE_COUNT; i++)
        draw_pane(views, tui_area_part(area, spots[i]), (enum pane)i);
}

static void draw_tabs(struct views *views, struct tui_area area) {
    struct workbench *bench = workbench_of(views);
    const char *names[PANE_COUNT];
    struct tui_rect spots[PANE_COUNT];
    for (int i = 0; i < PANE_COUNT; i++)
        names[i] = panes[i].name;
    struct tui_area tabs = tui_area_part(area, (struct tui_rect){0, 1, 1, area.cols - 2});
    tui_tabs_draw(tabs, names, PANE_COUNT, (int)bench->pane, spots);
    for (int i = 0; i < PANE_COUNT; i++)
        bench->pane_spots[i] = spots[i];
    struct tui_area rest = tui_area_part(area, (struct tui_rect){1, 0, area.rows - 1, area.cols});
    tui_frame_edges(rest, true);
    draw_pane(views, rest, bench->pane);
}

/* Going through hunks ends with its step: its keys would hide those of the next one. */
static void end_hunks(struct views *views) {
    struct workbench *bench = workbench_of(views);
    if (!decide_has_hunks(views) || bench->hunks_step != views->state->step)
        bench->hunks = false;
}

/* Where the loop stops at findings, the pane that has them is gone to, however many panes show:
 * there Enter opens the line. */
static void show_what_failed(struct views *views) {
    struct workbench *bench = workbench_of(views);
    const struct tune_state *state = views->state;
    bool stopped = state->wait != TUNE_WAIT_NOTHING, gate = state->wait == TUNE_WAIT_GATE;
    enum tune_step step = gate ? state->wait_step : state->step;
    bool failed = stopped && state->steps[step].is == TUNE_IS_FAILED;
    if (failed && !bench->stopped && pane_device_has_cause(views)) {
        bench->pane = PANE_DEVICE;
        bench->zoomed = false;
    }
    bench->stopped = stopped;
}

/* Where one pane shows, what the device says of the first kernel is shown instead of a proposal
 * that is not there yet; Tab still goes to others. */
static void show_first(struct views *views, bool tabs) {
    struct workbench *bench = workbench_of(views);
    bool first = views->state->steps[TUNE_STEP_PROFILE].is == TUNE_IS_RUNNING;
    if (first && !bench->first && tabs && !bench->zoomed && bench->pane == PANE_PROPOSAL)
        bench->pane = PANE_DEVICE;
    bench->first = first;
}

/* Where one pane shows, a new stop brings the one that matters, once: Tab still goes to others. A
 * zoomed proposal makes room for what came of it; other panes stay zoomed until a person goes. */
static void show_what_waits(struct views *views, bool tabs) {
    struct workbench *bench = workbench_of(views);
    int stop = views->state->wait == TUNE_WAIT_GATE ? (int)views->state->wait_step : -1;
    show_first(views, tabs);
    if (stop >= 0 && stop != bench->stop) {
        if (bench->pane == PANE_PROPOSAL && matters[stop] != PANE_PROPOSAL)
            bench->zoomed = false;
        if (tabs && !bench->zoomed)
            bench->pane = matters[stop];
    }
    bench->stop = stop;
    show_what_failed(views);
}

static void workbench_draw(struct views *views, struct tui_area area) {
    struct workbench *bench = workbench_of(views);
    end_hunks(views);
    const int status = status_rows(views, area); /* the last of them is the line itself */
    const struct tui_share lines[] = {{1, 0}, {1, 0}, {8, 1}, {1, 0}, {status, 0}, {1, 0}};
    struct tui_rect whole = {0, 0, area.rows, area.cols}, parts[6];
    tui_split_rows(whole, lines, 6, 0, parts);
    bench->lane_spot = (struct tui_rect){0, 0, 0, 0};
    if (lanes_any(views)) {
        workbench_lanes(views,
                        tui_area_part(area, (struct tui_rect){parts[2].row, 0, 1, area.cols}));
        parts[2].row++;
        parts[2].rows--;
    }
    chrome_header(views, tui_area_part(area, parts[0]));
    workbench_steps(views, tui_area_part(area, parts[1]));
    struct tui_area body = tui_area_part(area, parts[2]);
    bool tabs = body.cols < 100 || body.rows < 20;
    show_what_waits(views, tabs);
    for (int i = 0; i < PANE_COUNT; i++)
        bench->pane_spots[i] = (struct tui_rect){0, 0, 0, 0};
    if (bench->zoomed) {
        tui_frame_edges(body, true);
        draw_pane(views, body, bench->pane);
    } else if (tabs) {
        draw_tabs(views, body);
    } else {
        draw_grid(views, body);
    }
    workbench_plan(views, tui_area_part(area, parts[3]));
    struct tui_rect last = {parts[4].row + parts[4].rows - 1, 0, 1, area.cols};
    chrome_status(views, tui_area_part(area, last));
    chrome_keys(views, tui_area_part(area, parts[5]));
}

/* ---- moving --------------------------------------------------------------------------------- */

static struct tui_list *workbench_list(struct views *views) {
    struct workbench *bench = workbench_of(views);
    return &bench->panes[bench->pane];
}

static const char *metric_at(const struct views *views, int row) {
    const char *metric = pane_profile_metric(views, row);
    return metric ? metric : "";
}

static struct str workbench_line(const void *data, int row) {
    const struct views *views = data;
    const struct workbench *bench = workbench_of(views);
    struct str line;
    if (bench->pane == PANE_PROPOSAL && calls_line(views, row, &line))
        return line;
    switch (bench->pane) {
    case PANE_KERNEL: return source_line(&bench->kernel, row + 1);
    case PANE_PROPOSAL: return diff_line(&bench->diff, diff_has_sides(views), row);
    case PANE_DEVICE: return log_line(data, row);
    default: return str_of(glossary_word(metric_at(views, row)));
    }
}

/* Moving through the proposal moves the kernel, too. */
static void take_kernel_along(struct views *views) {
    struct workbench *bench = workbench_of(views);
    bool sides = diff_has_sides(views);
    bench->kernel_moved |= bench->pane == PANE_KERNEL || bench->pane == PANE_PROPOSAL;
    if (bench->pane != PANE_PROPOSAL)
        return;
    int row = bench->panes[PANE_PROPOSAL].cursor;
    size_t count = sides ? bench->diff.sides.len : bench->diff.unified.len;
    const struct diff_row *rows = sides ? bench->diff.sides.at : bench->diff.unified.at;
    if (row >= 0 && (size_t)row < count && rows[row].old_line > 0)
        tui_list_go(&bench->panes[PANE_KERNEL], rows[row].old_line - 1);
}

static void workbench_moved(struct views *views, enum tui_move how) {
    struct workbench *bench = workbench_of(views);
    if (how == TUI_MOVE_LAST && bench->pane == PANE_DEVICE)
        bench->panes[PANE_DEVICE].follow = true;
    take_kernel_along(views);
}

/* While hunks are gone through, up and down go from one to the next. */
static bool workbench_move(struct views *views, enum tui_move how) {
    struct workbench *bench = workbench_of(views);
    if (!bench->hunks || how > TUI_MOVE_DOWN)
        return false;
    int last = (int)bench->diff.n_hunks - 1, step = how == TUI_MOVE_UP ? -1 : 1;
    bench->hunk = MAX_OF(0, MIN_OF(bench->hunk + step, last));
    return true;
}

static bool workbench_is_open(const struct views *views) {
    const struct workbench *bench = workbench_of(views);
    return bench->hunks || bench->zoomed || bench->step >= 0;
}

static bool workbench_back(struct views *views) {
    struct workbench *bench = workbench_of(views);
    bool any = workbench_is_open(views);
    if (bench->hunks)
        bench->hunks = false;
    else if (bench->zoomed)
        bench->zoomed = false;
    else
        bench->step = -1;
    return any;
}

static bool workbench_widen(struct views *views) {
    struct workbench *bench = workbench_of(views);
    bool could = !bench->zoomed || bench->pane != PANE_PROPOSAL;
    bench->pane = PANE_PROPOSAL;
    bench->zoomed = true;
    return could;
}

static int pane_at(const struct workbench *bench, const struct tui_event *event) {
    for (int i = 0; i < PANE_COUNT; i++)
        if (tui_rect_has(bench->pane_spots[i], event->row, event->col))
            return i;
    return -1;
}

static bool workbench_click(struct views *views, const struct tui_event *event) {
    struct workbench *bench = workbench_of(views);
    int pane = pane_at(bench, event);
    if (workbench_lane_click(views, event->row, event->col))
        return true;
    for (int i = 0; i < TUNE_STEPS; i++)
        if (tui_rect_has(bench->step_spots[i], event->row, event->col))
            bench->step = i;
    if (pane < 0)
        return true;
    bench->pane = (enum pane)pane;
    struct tui_list *list = &bench->panes[pane];
    tui_list_go(list, list->top + event->row - bench->pane_spots[pane].row - 1);
    take_kernel_along(views);
    return true;
}

static bool workbench_wheel(struct views *views, const struct tui_event *event) {
    struct workbench *bench = workbench_of(views);
    int pane = pane_at(bench, event);
    if (pane >= 0)
        tui_list_scroll(&bench->panes[pane], event->wheel * 3);
    return pane >= 0;
}

static void workbench_enter(struct views *views, struct views_request *request) {
    struct workbench *bench = workbench_of(views);
    (void)request;
    switch (bench->pane) {
    case PANE_DEVICE: log_open(views, bench->panes[PANE_DEVICE].cursor); break;
    case PANE_KERNEL: kernel_show_line(views, bench->panes[PANE_KERNEL].cursor + 1); break;
    case PANE_PROFILE: views_show(views, VIEW_PROFILE); break;
    default: bench->zoomed = !bench->zoomed; break;
    }
}

/* What the cursor is at: a line, a finding, a metric. */
static enum explain_what workbench_explain(const struct views *views, struct buf *out) {
    const struct workbench *bench = workbench_of(views);
    int row = bench->panes[bench->pane].cursor;
    struct str line = bench->pane == PANE_KERNEL || bench->pane == PANE_PROPOSAL
                          ? workbench_line(views, row)
                          : STR("");
    if (bench->pane == PANE_DEVICE)
        return log_explain(views, row, out);
    if (bench->pane == PANE_PROFILE)
        buf_puts(out, metric_at(views, row));
    if (bench->pane == PANE_PROFILE)
        return out->len ? EXPLAIN_WORD : EXPLAIN_NOTHING;
    if (bench->pane == PANE_KERNEL && kernel_explain(views, views_parent(views), row + 1, out))
        return EXPLAIN_SAID;
    buf_add(out, line.at, line.len);
    return line.len ? EXPLAIN_SOURCE : EXPLAIN_NOTHING;
}

/* While hunks are gone through, their keys come first. */
static const char *workbench_mode_key(const struct views *views, struct tui_key key) {
    static const struct {
        uint32_t code;
        const char *name;
    } keys[] = {{'n', "down"}, {'p', "up"}, {' ', "take"}, {TUI_KEY_ENTER, "hunks"}};
    for (size_t i = 0; workbench_of(views)->hunks && i < COUNT_OF(keys); i++)
        if (keys[i].code == key.code && !key.modifiers)
            return keys[i].name;
    return NULL;
}

static const char *const *workbench_mode_hints(const struct views *views) {
    static const char *const hints[] = {"Space",   "take/leave", "n/p",  "hunk", "a",
                                        "approve", "Esc",        "done", NULL};
    static const char *const looking[] = {"n/p", "hunk", "Esc", "done", NULL};
    if (!workbench_of(views)->hunks)
        return NULL;
    return decide_in_hunks(views) ? hints : looking;
}

/* ---- commands ------------------------------------------------------------------------------- */

static void go_pane(struct views *views, int step) {
    struct workbench *bench = workbench_of(views);
    bench->pane = (enum pane)(((int)bench->pane + step + PANE_COUNT) % PANE_COUNT);
    bench->hunks = false;
    views->shift = 0;
}

static void do_next_pane(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    go_pane(views, 1);
}

static void do_previous_pane(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    go_pane(views, -1);
}

/* Going to a step brings the pane to the front that shows the step's result. */
static void go_step(struct views *views, int by) {
    static const enum pane shows[TUNE_STEPS] = {
        [TUNE_STEP_PROFILE] = PANE_PROFILE,   [TUNE_STEP_PLAN] = PANE_PROPOSAL,
        [TUNE_STEP_REWRITE] = PANE_PROPOSAL,  [TUNE_STEP_VERIFY] = PANE_DEVICE,
        [TUNE_STEP_BENCHMARK] = PANE_DEVICE,  [TUNE_STEP_DECIDE] = PANE_PROFILE,
        [TUNE_STEP_SUMMARISE] = PANE_PROFILE, [TUNE_STEP_REFLECT] = PANE_PROFILE,
    };
    struct workbench *bench = workbench_of(views);
    int step = bench->step < 0 ? (int)views->state->step : bench->step + by;
    bench->step = MAX_OF(0, MIN_OF(step, TUNE_STEPS - 1));
    bench->pane = shows[bench->step];
    bench->hunks = false;
}

static void do_next_step(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    go_step(views, 1);
}

static void do_previous_step(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    go_step(views, -1);
}

static void do_zoom(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    workbench_of(views)->zoomed = !workbench_of(views)->zoomed;
}

#define NONE TUNE_ACTIONS
static const struct command commands[] = {
    {"next-call", "next call", "show the answer of the next model that is being asked", WHERE_OWN,
     PLACE_LOOP, NONE, calls_next, calls_many, NULL},
    {"previous-call", "", "show the answer of the model before", WHERE_OWN, PLACE_LOOP, NONE,
     calls_previous, calls_many, NULL},
    {"take", "take/leave", "take this hunk of the proposal, or leave it out: take [why not]",
     WHERE_OWN, PLACE_LOOP, NONE, decide_take, decide_in_hunks, NULL},
    {"hunks", "hunks", "go through the hunks of the proposal one by one", WHERE_OWN, PLACE_EDIT,
     NONE, decide_hunks, decide_has_hunks, NULL},
    {"plans", "plans", "choose another one of the plans", WHERE_OWN, PLACE_EDIT, NONE, decide_plans,
     decide_has_plans, NULL},
    {"write", "write it myself", "write the next kernel in $EDITOR", WHERE_OWN, PLACE_REFUSE,
     TUNE_ACT_WRITE_KERNEL, decide_write, NULL, NULL},
    {"overrule", "overrule", "overrule the decision: keep, revert or inconclusive", WHERE_OWN,
     PLACE_REFUSE, TUNE_ACT_OVERRULE, decide_overrule, decide_is_measured, NULL},
    {"measure", "measure", "measure the candidate once more", WHERE_OWN, PLACE_REFUSE,
     TUNE_ACT_MEASURE, NULL, NULL, NULL},
    {"next-pane", "pane", "go to the next pane", WHERE_OWN, PLACE_OPEN, NONE, do_next_pane, NULL,
     NULL},
    {"previous-pane", "", "go to the previous pane", WHERE_OWN, PLACE_OPEN, NONE, do_previous_pane,
     NULL, NULL},
    {"zoom", "zoom", "one pane over the whole screen, and back", WHERE_OWN, PLACE_OPEN, NONE,
     do_zoom, NULL, NULL},
    {"previous-step", "", "show what the step before produced", WHERE_OWN, PLACE_OPEN, NONE,
     do_previous_step, NULL, NULL},
    {"next-step", "", "show what the next step produced", WHERE_OWN, PLACE_OPEN, NONE, do_next_step,
     NULL, NULL},
};

static const struct refusal refusals[] = {
    {"next-call", "there are no answers of several models to go through: only one is asked"},
    {"previous-call", "there are no answers of several models to go through: only one is asked"},
    {"take", "h goes through the hunks of a proposal; then Space takes or leaves one"},
    {"hunks", "there is no proposal with hunks to go through"},
    {"plans", "there is no other plan to choose"},
    {"overrule", "nothing to overrule: the verdict on a measured kernel can be overruled, and this "
                 "one was not measured"},
    {NULL, NULL}};

static const char keys[] = "e edit\nn another\nw write\nh hunks\nSpace take\nd side-by-side\n"
                           "f filter-phase\nF filter-level\nP plans\no overrule\nm measure\n"
                           "S send\ni answer\np answer-here\nc next-call\nC previous-call\n"
                           "Tab next-pane\nS-Tab previous-pane\n[ previous-step\n] next-step\n"
                           "z zoom\n";

const struct screen workbench_screen = {
    .name = "workbench",
    .about = "",
    .command = {"workbench", "", "screen 1: kernel, proposal, device and profile at once",
                WHERE_TUNING, PLACE_OPEN, NONE, NULL, NULL, NULL},
    .key = "1",
    .takes = "approve reject another next-lane previous-lane next-open-lane send answer "
             "answer-here side-by-side filter filter-phase filter-level",
    .keys = keys,
    .refusals = refusals,
    .commands = commands,
    .n_commands = COUNT_OF(commands),
    .size = sizeof(struct workbench),
    .draws_all = true,
    .open = workbench_open,
    .forget = workbench_forget,
    .draw = workbench_draw,
    .leave = workbench_leave,
    .list = workbench_list,
    .moved = workbench_moved,
    .line_of = workbench_line,
    .filter = log_filter_by,
    .move = workbench_move,
    .back = workbench_back,
    .is_open = workbench_is_open,
    .differs = decide_has_hunks,
    .widen = workbench_widen,
    .click = workbench_click,
    .wheel = workbench_wheel,
    .enter = workbench_enter,
    .explain = workbench_explain,
    .words = GLOSSARY_METRIC,
    .edit = act_edit_waiting,
    .can_edit = act_can_edit_waiting,
    .mode_key = workbench_mode_key,
    .mode_hints = workbench_mode_hints,
};
