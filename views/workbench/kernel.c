/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel with its colours and what each line costs: the pane of the workbench and the screen of
 * its own. Costs come with the attempt; nothing is measured or parsed here. */
#include "views/workbench/private.h"

#include <math.h>

/* Columns before the text: cost bar, mark, line number. */
#define GUTTER 7
#define COST_COLS 5 /* behind a line: " 89% " */
#define SAID_ROWS 4 /* rows about the line under the cursor, at most */

static struct tune_lines costs_of(const struct views *views, const struct tune_attempt *attempt) {
    return attempt ? tune_lines(views->state, attempt) : (struct tune_lines){NULL, 0};
}

static const struct tune_line_cost *cost_of(const struct views *views,
                                            const struct tune_attempt *attempt, int line) {
    struct tune_lines lines = costs_of(views, attempt);
    for (size_t i = 0; i < lines.len; i++)
        if (lines.at[i].line == line)
            return &lines.at[i];
    return NULL;
}

/* What is said behind a line takes room from it. */
static int cost_cols(const struct tune_line_cost *cost) {
    return cost && cost->share >= 0.01 ? COST_COLS : 0;
}

static enum tui_role heat_of(double share) {
    return share >= 0.25   ? TUI_HEAT_4
           : share >= 0.10 ? TUI_HEAT_3
           : share >= 0.03 ? TUI_HEAT_2
                           : TUI_HEAT_1;
}

/* The gravest finding at a line; of equal ones the first. Lines of imported files do not count
 * here. */
static const struct tune_diagnostic *diagnostic_of(const struct tune_state *state, int attempt,
                                                   int line) {
    const struct tune_diagnostic *diag, *found = NULL;
    size_t at = 0;
    while ((diag = tune_diagnostic_next(state, attempt, &at)))
        if (diag->line == line && !log_other_file(state, diag) &&
            (!found || diag->severity < found->severity))
            found = diag;
    return found;
}

bool kernel_explain(const struct views *views, const struct tune_attempt *attempt, int line,
                    struct buf *out) {
    const struct tune_diagnostic *diag =
        diagnostic_of(views->state, attempt ? attempt->id : -1, line);
    if (diag)
        buf_printf(out, "%s%s%s%s", diag->message ? diag->message : "",
                   diag->code && *diag->code ? " [" : "", diag->code ? diag->code : "",
                   diag->code && *diag->code ? "]" : "");
    return diag != NULL;
}

static void draw_cost(struct tui_area area, int row, const struct tune_line_cost *cost,
                      double most) {
    if (!cost || !(cost->share > 0))
        return;
    struct tui_area heat = tui_ink(area, heat_of(cost->share));
    if (most > 0)
        tui_chart_bar(tui_area_part(heat, (struct tui_rect){row, 0, 1, 2}), cost->share / most,
                      heat_of(cost->share));
    if (cost->share >= 0.01)
        tui_say_right(heat, row, area.cols, " %.0f%% ", cost->share * 100);
}

/* The columns that the lines in sight are moved to the left: as many as the person moved them,
 * else, where one of them would be cut, what they are all indented by. */
static int shift_of(const struct views *views, struct tui_area area,
                    const struct kernel_shown *shown) {
    int least = -1, first = shown->list->top + 1, most = 0;
    for (int line = first; line < first + area.rows; line++) {
        struct str text = source_line(shown->source, line);
        int indent = source_indent(text), right = cost_cols(cost_of(views, shown->attempt, line));
        if (indent < 0)
            continue;
        least = least < 0 ? indent : MIN_OF(least, indent);
        most = MAX_OF(most, (int)text_columns(text) + right);
    }
    bool cut = most > area.cols - GUTTER;
    return views->shift || !cut || least < 0 ? views->shift : least;
}

static void draw_row(struct views *views, struct tui_area area, int row,
                     const struct kernel_shown *shown, int shift) {
    const struct tune_attempt *attempt = shown->attempt;
    const struct source *source = shown->source;
    int line = shown->list->top + row + 1;
    const struct tune_plan *plan = tune_lane_plan(views->state, views->lane);
    int id = attempt ? attempt->id : -1;
    const struct tune_candidate *candidate = &tune_lane_of(views->state, views->lane)->candidate;
    int parent =
        candidate->exists ? candidate->parent : tune_lane_parent(views->state, views->lane);
    bool aimed = plan && tune_plan_is_at(plan, line) && id == parent;
    const struct tune_diagnostic *diag = diagnostic_of(views->state, id, line);
    struct str text = source_line(source, line);
    tui_say_right(tui_ink(area, TUI_LINE_NUMBER), row, GUTTER - 1, "%d", line);
    if (diag)
        tui_say(tui_ink(area, diag->severity == DIAG_ERROR ? TUI_BAD : TUI_WARN), row, 2, "!");
    else if (aimed)
        tui_say(tui_ink(area, TUI_ACTIVE), row, 2, "%s", line == plan->first_line ? "▸" : "│");
    int right = cost_cols(cost_of(views, attempt, line));
    struct tui_area rest =
        tui_area_part(area, (struct tui_rect){row, GUTTER, 1, area.cols - GUTTER - right});
    source_draw_line(rest, 0, shift, text, source->quote.at[line - 1]);
    find_mark(views, rest, 0, -shift, text);
}

/* Rows of a source with gutter, cost and colours. */
static void kernel_draw(struct views *views, struct tui_area area,
                        const struct kernel_shown *shown) {
    const struct tune_attempt *attempt = shown->attempt;
    struct tui_list *list = shown->list;
    struct tune_lines lines = costs_of(views, attempt);
    double most = 0;
    for (size_t i = 0; i < lines.len; i++)
        most = fmax(most, lines.at[i].share);
    tui_list_fit(list, (int)shown->source->lines.len, area.rows);
    int shift = shift_of(views, area, shown);
    for (int row = 0; row < area.rows && list->top + row < list->count; row++) {
        draw_row(views, area, row, shown, shift);
        draw_cost(area, row, cost_of(views, attempt, list->top + row + 1), most);
        if (list->top + row == list->cursor && shown->cursor)
            tui_lay_paper(area, (struct tui_rect){row, 3, 1, area.cols - 3}, TUI_PAPER_CURSOR);
    }
    tui_list_draw_bar(list, area);
}

/* Where to look until the person goes elsewhere: at what the plan is about, else at the dearest
 * line. */
static int line_of_interest(const struct views *views, const struct tune_attempt *attempt) {
    const struct tune_state *state = views->state;
    int line = 1;
    double most = 0;
    struct tune_lines lines = costs_of(views, attempt);
    for (size_t i = 0; i < lines.len; i++)
        if (lines.at[i].share > most) {
            most = lines.at[i].share;
            line = lines.at[i].line;
        }
    const struct tune_plan *plan = tune_lane_plan(state, views->lane);
    int parent = tune_lane_of(state, views->lane)->candidate.exists
                     ? tune_lane_of(state, views->lane)->candidate.parent
                     : tune_lane_parent(state, views->lane);
    bool aims = plan && attempt && parent == attempt->id && plan->first_line > 0;
    return aims && !tune_plan_is_at(plan, line) ? plan->first_line : line;
}

void pane_kernel_note(const struct views *views, struct buf *note) {
    const struct tune_attempt *parent = views_parent(views);
    const char *path = views->state->kernel_path;
    if (path)
        buf_puts(note, path_base(path));
    if (parent)
        buf_printf(note, "  #%d", parent->id);
    if (parent && isfinite(parent->latency_us))
        buf_printf(note, "  %s", show_latency(parent->latency_us).text);
    if (parent && parent->id != views->state->incumbent && views->state->incumbent >= 0)
        buf_printf(note, "  best is #%d", views->state->incumbent);
}

void pane_kernel_draw(struct views *views, struct tui_area area) {
    struct workbench *bench = workbench_of(views);
    const struct tune_attempt *parent = views_parent(views);
    const char *source = parent ? tune_source(views->state, parent) : views->state->kernel_source;
    struct tui_list *list = &bench->panes[PANE_KERNEL];
    bool cursor = bench->pane == PANE_KERNEL || bench->kernel_moved;
    source_set(&bench->kernel, source);
    if (!bench->kernel_moved) {
        list->cursor = line_of_interest(views, parent) - 1;
        list->top = MAX_OF(0, list->cursor - area.rows / 2);
    }
    kernel_draw(views, area, &(struct kernel_shown){&bench->kernel, parent, list, cursor});
}

/* ---- the screen ----------------------------------------------------------------------------- */

struct kernel {
    struct tui_list list;
    struct source source;
    int attempt; /* -1: what candidates start from; -2: the candidate */
};

static struct kernel *own(const struct views *views) {
    return views->own[VIEW_KERNEL];
}

void kernel_show_line(struct views *views, int line) {
    views_show(views, VIEW_KERNEL);
    if (line > 0)
        tui_list_aim(&own(views)->list, line - 1);
}

void kernel_show(struct views *views, int attempt, int line) {
    own(views)->attempt = attempt;
    kernel_show_line(views, line);
}

/* What is said about the line under the cursor: what it costs, what was found there. */
static void describe_line(struct views *views, const struct tune_attempt *attempt, int line,
                          struct buf *out) {
    const struct tune_line_cost *cost = cost_of(views, attempt, line);
    const struct tune_diagnostic *diag =
        diagnostic_of(views->state, attempt ? attempt->id : -1, line);
    buf_printf(out, "line %d   ", line);
    if (cost && cost->share > 0)
        buf_printf(out, "%s  ", show_latency(cost->us).text);
    if (cost)
        tune_line_cost_print(attempt, cost, out);
    else if (!diag)
        buf_puts(out, "costs nothing by itself");
    if (diag)
        buf_printf(out, "%s%s: %s", cost ? "   " : "", diag_severity_name(diag->severity),
                   diag->message ? diag->message : "");
    if (diag && diag->code && *diag->code)
        buf_printf(out, " [%s]", diag->code);
}

static enum tui_role said_role(const struct views *views, const struct tune_attempt *attempt,
                               int line) {
    const struct tune_diagnostic *diag =
        diagnostic_of(views->state, attempt ? attempt->id : -1, line);
    return !diag ? TUI_PLAIN : diag->severity == DIAG_ERROR ? TUI_BAD : TUI_WARN;
}

static void screen_draw(struct views *views, struct tui_area body) {
    struct kernel *kernel = own(views);
    const struct tune_state *state = views->state;
    const struct tune_attempt *attempt =
        kernel->attempt >= 0 ? tune_state_attempt(state, kernel->attempt) : views_parent(views);
    const char *text = attempt ? tune_source(state, attempt) : state->kernel_source;
    bool candidate = kernel->attempt == -2 && tune_lane_of(state, views->lane)->candidate.exists;
    if (candidate) {
        attempt = tune_state_attempt(state, tune_lane_of(state, views->lane)->candidate.attempt);
        text = tune_lane_of(state, views->lane)->candidate.source;
    }
    source_set(&kernel->source, text);
    struct buf note = {0};
    if (attempt)
        buf_printf(&note, "attempt #%d  %s", attempt->id, show_latency(attempt->latency_us).text);
    else if (candidate && tune_lane_of(state, views->lane)->candidate.parent >= 0)
        buf_printf(&note, "from #%d, not verified yet",
                   tune_lane_of(state, views->lane)->candidate.parent);
    struct buf said = {0};
    describe_line(views, attempt, kernel->list.cursor + 1, &said);
    struct tui_rect measure = {0, 1, 0, body.cols - 2};
    int rows = tui_put_wrapped(tui_area_part(body, measure), 0, buf_str(&said));
    rows = MAX_OF(1, MIN_OF(rows, SAID_ROWS));
    struct tui_rect frame = {0, 0, body.rows - rows, body.cols};
    bool parent = attempt && attempt->id == tune_lane_parent(state, views->lane);
    int mine = tune_lane_attempt(state, views->lane);
    candidate = candidate || (attempt && attempt->id > 0 && attempt->id == mine &&
                              attempt->id != state->incumbent);
    const char *who = candidate                                    ? "candidate"
                      : attempt && attempt->id == state->incumbent ? "incumbent"
                      : parent                                     ? "parent"
                                                                   : "kernel";
    struct tui_area inside =
        tui_frame(tui_area_part(body, frame), true, who, note.at ? note.at : "");
    views->list_spot = (struct tui_rect){inside.row, inside.col, inside.rows, inside.cols};
    kernel_draw(views, inside,
                &(struct kernel_shown){&kernel->source, attempt, &kernel->list, true});
    struct tui_rect below = {body.rows - rows, 1, rows, body.cols - 2};
    struct tui_area ink = tui_ink(body, said_role(views, attempt, kernel->list.cursor + 1));
    tui_put_lines(tui_area_part(ink, below), buf_str(&said));
    buf_free(&said);
    buf_free(&note);
}

static void do_other_kernel(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    own(views)->attempt = own(views)->attempt == -2 ? -1 : -2;
}

static bool can_show_tiles(const struct views *views) {
    return views->model.tiles && own(views)->source.text;
}

/* "break 3": of the third instruction that comes from the line. */
static void do_break(struct views *views, struct str args, struct views_request *request) {
    const struct kernel *kernel = own(views);
    long long round = 1;
    (void)request;
    if (str_trim(args).len &&
        (!str_to_int(str_trim(args), &round) || round < 1 || round > 1000000)) {
        views_say(views, true, "break takes a number: which of the line's instructions");
        return;
    }
    int line = kernel->list.cursor + 1;
    views_say(views, false, "running the kernel up to line %d, with the first seed", line);
    views->model.tiles(views->model.context, kernel->source.text, line, (int)round);
}

static struct tui_list *screen_list(struct views *views) {
    return &own(views)->list;
}

static struct str screen_line(const void *data, int row) {
    const struct views *views = data;
    return source_line(&own(views)->source, row + 1);
}

static enum explain_what screen_explain(const struct views *views, struct buf *out) {
    const struct kernel *kernel = own(views);
    const struct tune_state *state = views->state;
    const struct tune_attempt *attempt =
        kernel->attempt >= 0    ? tune_state_attempt(state, kernel->attempt)
        : kernel->attempt == -2 ? tune_attempt_in(state, views->lane)
                                : views_parent(views);
    struct str line = source_line(&kernel->source, kernel->list.cursor + 1);
    if (kernel_explain(views, attempt, kernel->list.cursor + 1, out))
        return EXPLAIN_SAID;
    buf_add(out, line.at, line.len);
    return line.len ? EXPLAIN_SOURCE : EXPLAIN_NOTHING;
}

static void screen_forget(struct views *views) {
    source_free(&own(views)->source);
    *own(views) = (struct kernel){.attempt = -1};
}

static const struct command commands[] = {
    {"other-kernel", "candidate/incumbent", "show the other kernel", WHERE_OWN, PLACE_OPEN,
     TUNE_ACTIONS, do_other_kernel, NULL, NULL},
    {"break", "tiles",
     "show what the line reads and writes, with the first seed (break N: its N-th "
     "instruction)",
     WHERE_OWN, PLACE_OPEN, TUNE_ACTIONS, do_break, can_show_tiles, NULL},
};

const struct screen kernel_screen = {
    .name = "kernel",
    .about = "the source with what each line costs",
    .command = {"kernel", "", "screen 2: the whole kernel with what each line costs", WHERE_TUNING,
                PLACE_OPEN, TUNE_ACTIONS, NULL, NULL, NULL},
    .key = "2",
    .takes = "approve reject",
    .keys = "n next-match\nN previous-match\nv other-kernel\nb break\n",
    .commands = commands,
    .n_commands = COUNT_OF(commands),
    .size = sizeof(struct kernel),
    .open = screen_forget,
    .forget = screen_forget,
    .draw = screen_draw,
    .list = screen_list,
    .line_of = screen_line,
    .explain = screen_explain,
};
