/* SPDX-License-Identifier: Apache-2.0 */
/* Screen 7: every attempt as a tree, or the fastest first. The order is worked out when the session
 * changed, not when a frame is drawn. */
#include "views/inner.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_DEPTH 40

struct history {
    struct tui_list list;
    VEC(int) rows; /* attempt ids in the order shown */
    VEC(uint8_t) depth;
    int64_t seq;
    bool by_latency;
    struct filter filter;
};

static struct history *own(const struct views *views) {
    return views->own[VIEW_HISTORY];
}

/* Rows of other agents follow the attempts: row -2 - i is import i. */
#define IMPORT_ROW(index) (-2 - (index))

static int row_at(const struct views *views, int row) {
    return row >= 0 && (size_t)row < own(views)->rows.len ? own(views)->rows.at[row] : -1;
}

static int history_attempt(const struct views *views) {
    return MAX_OF(row_at(views, own(views)->list.cursor), -1);
}

static const struct tune_import *import_at(const struct views *views, int row) {
    int id = row_at(views, row);
    return id <= -2 && (size_t)IMPORT_ROW(id) < views->state->imports.len
               ? &views->state->imports.at[IMPORT_ROW(id)]
               : NULL;
}

static const char *title_of(const struct tune_attempt *attempt) {
    return attempt->id == 0      ? "the kernel as it came"
           : attempt->plan.title ? attempt->plan.title
                                 : "";
}

/* What a search looks through: the plan, as the row shows it. */
static struct str history_line(const void *data, int row) {
    const struct views *views = data;
    bool there = row >= 0 && (size_t)row < own(views)->rows.len;
    const struct tune_attempt *attempt =
        there ? tune_state_attempt(views->state, own(views)->rows.at[row]) : NULL;
    const struct tune_import *import = import_at(views, row);
    return str_of(attempt ? title_of(attempt) : import && import->title ? import->title : "");
}

static void push(struct views *views, int id, int depth) {
    *vec_push(&own(views)->rows) = id;
    *vec_push(&own(views)->depth) = (uint8_t)MIN_OF(depth, MAX_DEPTH);
}

/* Children follow their parent, one step to the right. Of the roots the last comes first. A parent
 * always has a smaller number than its children. */
static void push_tree(struct views *views) {
    const struct tune_state *state = views->state;
    size_t count = state->attempts.len, top = 0;
    struct node {
        int child, next, depth; /* the last child, the one before it of the same parent; -1 */
    } *nodes = mem_alloc(count + 1, sizeof *nodes);
    int *stack = mem_alloc(count + 1, sizeof *stack);
    for (size_t i = 0; i < count; i++) {
        int parent = state->attempts.at[i].parent;
        nodes[i].child = -1;
        if (parent < 0 || (size_t)parent >= i) {
            stack[top++] = (int)i;
            continue;
        }
        nodes[i].next = nodes[parent].child;
        nodes[parent].child = (int)i;
    }
    while (top > 0) {
        int id = stack[--top];
        push(views, id, nodes[id].depth);
        for (int at = nodes[id].child; at >= 0; at = nodes[at].next) {
            nodes[at].depth = nodes[id].depth + 1;
            stack[top++] = at;
        }
    }
    free(stack);
    free(nodes);
}

struct timed {
    double us; /* NAN: not measured */
    int attempt;
};

static int by_latency(const void *a, const void *b) {
    const struct timed *x = a, *y = b;
    if (isfinite(x->us) != isfinite(y->us))
        return isfinite(x->us) ? -1 : 1;
    return x->us < y->us ? -1 : x->us > y->us ? 1 : x->attempt - y->attempt;
}

/* The fastest first, those without a time last. */
static void sort_by_latency(const struct tune_state *state, int *rows, size_t count) {
    struct timed *all = mem_alloc(count + 1, sizeof *all);
    for (size_t i = 0; i < count; i++)
        all[i] = (struct timed){state->attempts.at[rows[i]].latency_us, rows[i]};
    qsort(all, count, sizeof *all, by_latency);
    for (size_t i = 0; i < count; i++)
        rows[i] = all[i].attempt;
    free(all);
}

/* What a filter is matched with: "#12 keep a plan", "import an agent's plan". */
static bool row_passes(const struct views *views, int id) {
    const struct tune_state *state = views->state;
    const struct tune_attempt *attempt = tune_state_attempt(state, id);
    struct buf text = {0};
    if (attempt)
        buf_printf(&text, "#%d %s %s", id, id ? tune_status_word(attempt->status) : "seed",
                   title_of(attempt));
    else if (id <= -2 && state->imports.at[IMPORT_ROW(id)].title)
        buf_printf(&text, "import %s", state->imports.at[IMPORT_ROW(id)].title);
    bool passes = filter_passes(&own(views)->filter, buf_str(&text));
    buf_free(&text);
    return passes;
}

static void history_filter(struct views *views) {
    struct history *history = own(views);
    size_t kept = 0;
    for (size_t i = 0; i < history->rows.len; i++) {
        if (!row_passes(views, history->rows.at[i]))
            continue;
        history->rows.at[kept] = history->rows.at[i];
        history->depth.at[kept++] = history->depth.at[i];
    }
    history->rows.len = history->depth.len = kept;
}

static void history_order(struct views *views) {
    struct tune_state const *state = views->state;
    struct history *history = own(views);
    if (history->seq == state->seq && history->seq >= 0)
        return;
    int here = row_at(views, history->list.cursor);
    history->seq = state->seq;
    history->rows.len = history->depth.len = 0;
    push_tree(views);
    if (history->by_latency && history->rows.len) {
        sort_by_latency(state, history->rows.at, history->rows.len);
        memset(history->depth.at, 0, history->depth.len);
    }
    for (size_t i = 0; i < state->imports.len; i++)
        push(views, IMPORT_ROW((int)i), 0);
    if (history->filter.pattern)
        history_filter(views);
    for (size_t i = 0; i < history->rows.len; i++)
        if (history->rows.at[i] == here)
            history->list.cursor = (int)i;
}

static void draw_verdict(struct tui_area area, int row, int col,
                         const struct tune_verdict *verdict) {
    static const struct {
        const char *glyph;
        enum tui_role role;
    } marks[TUNE_ANSWERS] = {[TUNE_ANSWER_UNKNOWN] = {"·", TUI_DIM},
                             [TUNE_ANSWER_NO] = {"✗", TUI_BAD},
                             [TUNE_ANSWER_YES] = {"✓", TUI_GOOD},
                             [TUNE_ANSWER_INCONCLUSIVE] = {"?", TUI_WARN}};
    const enum tune_answer answers[] = {verdict->compiles, verdict->correct, verdict->credible,
                                        verdict->faster};
    for (int i = 0; i < 4; i++)
        tui_say(tui_ink(area, marks[answers[i]].role), row, col + i, "%s", marks[answers[i]].glyph);
}

/* Columns of the table, from the left. */
enum {
    COL_MARK = 1,
    COL_ID = 3,
    COL_STATUS = 8,
    COL_VERDICT = 23,
    COL_LATENCY = 38,
    COL_SPEEDUP = 47,
    COL_PARENT = 57,
    COL_TITLE = 59
};

#define ID_DIGITS 3
static struct tui_area behind_id(const struct views *views, struct tui_area area) {
    return rows_behind(area, views->state->attempts.len, ID_DIGITS);
}

/* Its decision is the loop's so far: the gate asks a person about it. */
static bool is_asked_about(const struct tune_state *state, int id) {
    bool asked = false;
    for (int lane = 0; lane < (int)state->lanes.len && !asked; lane++)
        asked = tune_lane_attempt(state, lane) == id;
    return asked && id > 0 && state->wait == TUNE_WAIT_GATE && state->wait_step == TUNE_STEP_DECIDE;
}

static void draw_status(const struct tune_state *state, struct tui_area area, int row,
                        const struct tune_attempt *attempt) {
    struct rows_look look = rows_status_look(attempt->status);
    const char *word = attempt->id == 0 ? "seed" : tune_status_word(attempt->status);
    bool measured = attempt->status == TUNE_STATUS_KEEP || attempt->status == TUNE_STATUS_REVERT ||
                    attempt->status == TUNE_STATUS_INCONCLUSIVE;
    if (measured && is_asked_about(state, attempt->id))
        look = (struct rows_look){.glyph = "?", .role = TUI_WARN};
    tui_say(tui_ink(area, look.role), row, COL_STATUS, "%s %s", look.glyph, word);
}

static void draw_attempt(struct views *views, struct tui_area area, int row,
                         const struct tune_attempt *attempt, int depth) {
    const struct tune_state *state = views->state;
    bool incumbent = attempt->id == state->incumbent, best = attempt->id == state->best;
    bool in_beam = state->beam.len > 1 && tune_beam_has(state, attempt->id);
    bool marked = views->marks[0] == attempt->id || views->marks[1] == attempt->id;
    enum tui_role role = incumbent || best ? TUI_STRONG : TUI_PLAIN;
    tui_say(tui_ink(area, TUI_KEY), row, COL_MARK, "%s",
            marked      ? "◆"
            : incumbent ? "▸"
            : in_beam   ? "•"
                        : " ");
    tui_say(tui_ink(area, role), row, COL_ID, "#%d", attempt->id);
    area = behind_id(views, area);
    struct tui_area strong = tui_ink(area, role);
    draw_status(state, area, row, attempt);
    draw_verdict(area, row, COL_VERDICT, &attempt->verdict);
    tui_say_right(strong, row, COL_LATENCY, "%s", show_latency(attempt->latency_us).text);
    tui_say_right(best ? tui_ink(area, TUI_GOOD) : strong, row, COL_SPEEDUP, "%s",
                  show_speedup(attempt->speedup).text);
    const struct tune_attempt *parent = tune_state_attempt(state, attempt->parent);
    bool wrong = attempt->verdict.correct == TUNE_ANSWER_NO;
    if (parent)
        tui_say_right(
            tui_ink(area, TUI_DIM), row, COL_PARENT, "%s",
            show_change(parent->latency_us, wrong ? (double)NAN : attempt->latency_us).text);
    /* However deep the line of descent, its titles have two thirds of the room. */
    int col = COL_TITLE, deepest = area.cols > COL_TITLE + 30 ? (area.cols - COL_TITLE) / 6 : 0;
    for (int i = 0; i < MIN_OF(depth, deepest); i++)
        col = tui_say(tui_ink(area, TUI_FRAME), row, col,
                      i + 1 == depth     ? "└ "
                      : i + 1 == deepest ? "… "
                                         : "  ");
    if (attempt->precision)
        col = tui_say(tui_ink(area, TUI_WARN), row, col, "%s ",
                      tune_precision_word(attempt->precision));
    struct str title = str_of(title_of(attempt));
    tui_put_short(strong, row, (struct tui_rect){0, col, 1, area.cols - col - 1}, title);
    find_mark(views, area, row, col, title);
}

/* An attempt of another agent cannot be marked, compared or gone back to. */
static void draw_import(struct views *views, struct tui_area area, int row,
                        const struct tune_import *import) {
    struct tui_area dim = tui_ink(area, TUI_DIM);
    tui_say(dim, row, COL_ID, "-");
    area = behind_id(views, area);
    dim = tui_ink(area, TUI_DIM);
    struct tui_rect status = {0, COL_STATUS, 1, COL_LATENCY - COL_STATUS - 9};
    tui_put_short(tui_ink(area, rows_status_look(import->is).role), row, status,
                  str_of(import->status ? import->status : tune_status_word(import->is)));
    tui_say_right(dim, row, COL_LATENCY, "%s", show_latency(import->latency_us).text);
    if (!isnan(import->speedup))
        tui_say_right(dim, row, COL_PARENT, "%s", show_change(import->speedup, 1).text);
    char title[400];
    snprintf(title, sizeof title, "%s%s%s", import->title ? import->title : "",
             import->title ? " · " : "", import->agent ? import->agent : "");
    tui_put_short(dim, row, (struct tui_rect){0, COL_TITLE, 1, area.cols - COL_TITLE - 1},
                  str_of(title));
    find_mark(views, area, row, COL_TITLE, str_of(title));
}

static void draw_import_detail(struct tui_area area, const struct tune_import *import) {
    char from[300];
    snprintf(from, sizeof from, "%s, %s%s%s", import->agent ? import->agent : "another agent",
             import->source ? import->source : "", import->name ? ", " : "",
             import->name ? import->name : "");
    const char *const parts[][2] = {{"from", from},
                                    {"parent", import->parent},
                                    {"plan", import->title},
                                    {"why", import->reason}};
    int row = 0;
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        if (!parts[i][1])
            continue;
        tui_say(tui_ink(area, TUI_DIM), row, 1, "%s", parts[i][0]);
        tui_put_short(area, row++, (struct tui_rect){0, 11, 1, area.cols - 12},
                      str_of(parts[i][1]));
    }
}

static void draw_head(const struct views *views, struct tui_area area) {
    struct tui_area dim = tui_ink(area, TUI_DIM);
    tui_say(dim, 0, COL_ID, "#");
    dim = behind_id(views, dim);
    tui_say(dim, 0, COL_STATUS + 2, "status");
    tui_say(dim, 0, COL_VERDICT, "CREF");
    tui_say_right(dim, 0, COL_LATENCY, "latency");
    tui_say_right(dim, 0, COL_SPEEDUP, "speedup");
    tui_say_right(dim, 0, COL_PARENT, "to parent");
    tui_say(dim, 0, COL_TITLE, "plan");
}

static void draw_sparkline(struct views *views, struct tui_area area) {
    const struct tune_state *state = views->state;
    double values[256], best = 0;
    size_t skip =
               state->attempts.len > COUNT_OF(values) ? state->attempts.len - COUNT_OF(values) : 0,
           count = 0;
    for (size_t i = 0; i < state->attempts.len; i++) {
        const struct tune_attempt *attempt = &state->attempts.at[i];
        bool counts = attempt->id == 0 || attempt->status == TUNE_STATUS_KEEP;
        if (counts && isfinite(attempt->speedup))
            best = fmax(best, attempt->speedup);
        if (i >= skip)
            values[count++] = best > 0 ? best : NAN;
    }
    if (count < 2)
        return;
    int col = tui_say(tui_ink(area, TUI_DIM), 0, 1, "best so far") + 2;
    struct tui_rect chart = {0, col, 1, MIN_OF((int)count, area.cols - col - 20)};
    tui_chart_sparkline(tui_ink(tui_area_part(area, chart), TUI_GOOD), values, count);
    tui_say(tui_ink(area, TUI_GOOD), 0, col + chart.cols + 1, "%s", show_speedup(best).text);
}

/* A text broken between words, in as many rows as leave one each for those that come after it. The
 * last row is cut. Returns the row after it. */
static int put_field(struct tui_area area, int row, int col, const char *text, int after) {
    int most = MAX_OF(area.rows - row - after, 1), cols = area.cols - col - 1, used = 0;
    struct str rest = str_of(text);
    while (used + 1 < most && rest.len) {
        size_t len = tui_line_length(rest, cols);
        if (len == rest.len)
            break;
        tui_put(area, row + used++, col, (struct str){rest.at, len});
        rest = str_trim((struct str){rest.at + len, rest.len - len});
    }
    tui_put_short(area, row + used, (struct tui_rect){0, col, 1, cols}, rest);
    return row + used + 1;
}

/* Why the attempt under the cursor got its verdict. */
static void draw_detail(struct views *views, struct tui_area area) {
    const struct tune_attempt *attempt = tune_state_attempt(views->state, history_attempt(views));
    const struct tune_import *import = import_at(views, own(views)->list.cursor);
    if (import)
        draw_import_detail(area, import);
    if (!attempt)
        return;
    const struct tune_verdict *verdict = &attempt->verdict;
    const struct {
        const char *name, *why;
        enum tune_answer answer;
    } parts[] = {{"compiles", verdict->compiles_why, verdict->compiles},
                 {"correct", verdict->correct_why, verdict->correct},
                 {"credible", verdict->credible_why, verdict->credible},
                 {"faster", verdict->faster_why, verdict->faster}};
    bool rejected = attempt->reason && tune_rejection_of(views->state, attempt->id);
    const char *title = attempt->reason      ? attempt->reason
                        : attempt->plan.what ? attempt->plan.what
                                             : "";
    struct buf said = {0};
    buf_printf(&said, "%s%s", rejected ? "rejected by you: " : "", title);
    tune_part_tried_print(&said, attempt);
    int row = put_field(tui_ink(area, TUI_STRONG), 0, 1, said.len ? said.at : "", COUNT_OF(parts));
    buf_free(&said);
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        tui_say(tui_ink(area, TUI_DIM), row, 1, "%s", parts[i].name);
        tui_say(area, row, 11, "%s", tune_answer_word(parts[i].answer));
        row = put_field(tui_ink(area, TUI_DIM), row, 25, parts[i].why ? parts[i].why : "",
                        (int)(COUNT_OF(parts) - i) - 1);
    }
}

/* Which other attempts came from the same round, when it followed several directions. */
static void siblings_print(const struct tune_state *state, const struct tune_attempt *attempt,
                           struct buf *out) {
    size_t most = 6, count = 0;
    for (size_t i = 1; attempt->id > 0 && i < state->attempts.len; i++)
        count += state->attempts.at[i].round == attempt->round && (int)i != attempt->id;
    if (!count)
        return;
    buf_printf(out, "round %d, with", attempt->round);
    for (size_t i = 1, shown = 0; i < state->attempts.len && shown < most; i++)
        if (state->attempts.at[i].round == attempt->round && (int)i != attempt->id) {
            buf_printf(out, " #%zu", i);
            shown++;
        }
    if (count > most)
        buf_printf(out, " and %zu more", count - most);
}

static void siblings_draw(struct views *views, struct tui_area area) {
    const struct tune_state *state = views->state;
    const struct tune_attempt *attempt = tune_state_attempt(state, history_attempt(views));
    struct buf text = {0};
    if (!attempt)
        return;
    siblings_print(state, attempt, &text);
    if (state->beam.len > 1 && tune_beam_has(state, attempt->id))
        buf_printf(&text, "%snext round starts from it (beam)", text.len ? "; " : "");
    if (text.len)
        tui_say(tui_ink(area, TUI_DIM), 0, 1, "search");
    tui_put_short(area, 0, (struct tui_rect){0, 11, 1, area.cols - 12}, buf_str(&text));
    buf_free(&text);
}

/* What the verdict is worth, including what stood around the code that hone did not write. */
static void detail_title(const struct views *views, char *out, size_t size) {
    const struct tune_attempt *attempt = tune_state_attempt(views->state, history_attempt(views));
    const char *wall = attempt ? attempt->wall : NULL;
    snprintf(out, size, "verdict%s%s", wall ? "  wall: " : "", wall ? wall : "");
}

/* The numbers behind "faster", for a kernel that was measured. */
static void interval_print(const struct views *views, char *out, size_t size) {
    const struct tune_attempt *attempt = tune_state_attempt(views->state, history_attempt(views));
    *out = 0;
    if (attempt && !isnan(attempt->interval.ratio))
        snprintf(out, size, "%.3fx to %.3fx%s  ±%.1f %% would be seen", attempt->interval.low,
                 attempt->interval.high, attempt->confirmed ? ", twice" : "",
                 attempt->interval.seen * 100);
}

static void draw_below(struct views *views, struct tui_area area) {
    char title[60], right[120];
    detail_title(views, title, sizeof title);
    interval_print(views, right, sizeof right);
    struct tui_area below = tui_frame(area, false, title, right);
    draw_detail(views, below);
    siblings_draw(views, tui_area_part(below, (struct tui_rect){5, 0, 1, below.cols}));
}

static void draw_row(struct views *views, struct tui_area area, int row, int index) {
    const struct history *history = own(views);
    const struct tune_attempt *attempt = tune_state_attempt(views->state, history->rows.at[index]);
    if (attempt)
        draw_attempt(views, area, row, attempt, history->depth.at[index]);
    else if (import_at(views, index))
        draw_import(views, area, row, import_at(views, index));
}

static void history_draw(struct views *views, struct tui_area body) {
    struct history *history = own(views);
    int detail = body.rows < 18 ? 0 : lanes_may(views) ? 8 : 7;
    history_order(views);
    struct tui_rect table = {0, 0, body.rows - detail, body.cols};
    char title[80] = "attempts";
    if (history->filter.pattern)
        snprintf(title, sizeof title, "attempts  :filter %.40s", history->filter.text.at);
    struct tui_area inside =
        tui_frame(tui_area_part(body, table), true, title,
                  lanes_may(views) ? "• beam  C compiles  R right  E credible  "
                                     "F faster"
                                   : "C compiles  R right  E credible  F faster");
    draw_head(views, inside);
    struct tui_area list =
        tui_area_part(inside, (struct tui_rect){1, 0, inside.rows - 1, inside.cols});
    rows_draw(views, list, &history->list, (int)history->rows.len, draw_row);
    if (history->rows.len == 0)
        tui_say(tui_ink(list, TUI_DIM), 1, 2, "%s%s",
                history->filter.pattern ? "nothing passes the filter; :filter alone shows all"
                                        : "no attempts yet",
                history->filter.pattern ? "" : rows_starts(views));
    if (detail)
        draw_below(views, tui_area_part(
                              body, (struct tui_rect){body.rows - detail, 0, detail, body.cols}));
}

/* ---- what the keys do ----------------------------------------------------------------------- */

void history_compare(struct views *views, int id) {
    const struct tune_attempt *attempt = tune_state_attempt(views->state, id);
    views->marks[1] = id;
    views->marks[0] = attempt && attempt->parent >= 0 ? attempt->parent : id;
    views_show(views, VIEW_DIFF);
}

static void history_enter(struct views *views, struct views_request *request) {
    (void)request;
    history_compare(views, history_attempt(views));
}

static void do_mark(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    int id = history_attempt(views), *marks = views->marks;
    if (marks[0] == id || marks[1] == id) {
        int other = marks[0] == id ? marks[1] : marks[0];
        marks[0] = other;
        marks[1] = -1;
    } else {
        marks[marks[0] < 0 ? 0 : 1] = id;
    }
    tui_list_move(&own(views)->list, TUI_MOVE_DOWN);
}

static void do_compare(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    int id = history_attempt(views);
    const struct tune_attempt *attempt = tune_state_attempt(views->state, id);
    if (views->marks[0] < 0 && attempt)
        views->marks[0] = attempt->parent >= 0 ? attempt->parent : 0;
    if (views->marks[1] < 0)
        views->marks[1] = id;
    views_show(views, VIEW_DIFF);
}

static void do_view(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    kernel_show(views, history_attempt(views), 0);
}

static void do_order(struct views *views, struct str args, struct views_request *request) {
    struct history *history = own(views);
    (void)args;
    (void)request;
    history->by_latency = !history->by_latency;
    history->seq = -1;
    views_say(views, false, history->by_latency ? "fastest first" : "as a tree");
}

static bool two_there(const struct views *views) {
    return views->state->attempts.len > 1;
}

static struct tui_list *history_list(struct views *views) {
    return &own(views)->list;
}

static struct filter *history_filter_by(struct views *views) {
    own(views)->seq = -1;
    return &own(views)->filter;
}

/* What the status of the attempt means. */
static enum explain_what history_explain(const struct views *views, struct buf *out) {
    const struct tune_attempt *attempt = tune_state_attempt(views->state, history_attempt(views));
    if (!attempt || !attempt->id || attempt->status == TUNE_STATUS_OPEN)
        return EXPLAIN_NOTHING;
    buf_puts(out, tune_status_word(attempt->status));
    return EXPLAIN_WORD;
}

static void history_forget(struct views *views) {
    struct history *history = own(views);
    filter_free(&history->filter);
    vec_free(&history->rows);
    vec_free(&history->depth);
    history->list = (struct tui_list){0};
    history->seq = -1;
}

#define NONE TUNE_ACTIONS
static const struct command commands[] = {
    {"mark", "mark", "mark an attempt; two marked ones are compared", WHERE_OWN, PLACE_BACK, NONE,
     do_mark, NULL, NULL},
    {"compare", "compare", "show two attempts side by side", WHERE_OWN, PLACE_BACK, NONE,
     do_compare, two_there, NULL},
    {"view", "view", "show the attempt's kernel", WHERE_OWN, PLACE_BACK, NONE, do_view, NULL, NULL},
    {"order", "order", "as a tree, or fastest first", WHERE_OWN, PLACE_BACK, NONE, do_order, NULL,
     NULL},
};

const struct screen history_screen = {
    .name = "history",
    .about = "every attempt; nothing is ever deleted",
    .command = {"history", "", "screen 7: every attempt, and going back to one", WHERE_TUNING,
                PLACE_OPEN, NONE, NULL, NULL, NULL},
    .key = "7",
    .takes = "approve filter",
    .keys = "Space mark\nc compare\no order\nv view\nn next-match\nN previous-match\n",
    .commands = commands,
    .n_commands = COUNT_OF(commands),
    .size = sizeof(struct history),
    .open = history_forget,
    .forget = history_forget,
    .draw = history_draw,
    .above = draw_sparkline,
    .list = history_list,
    .line_of = history_line,
    .filter = history_filter_by,
    .enter = history_enter,
    .attempt = history_attempt,
    .explain = history_explain,
};
