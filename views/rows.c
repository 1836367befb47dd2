/* SPDX-License-Identifier: Apache-2.0 */
/* What many screens are made of: a list, a frame below it with fields, and signs for how a step
 * and an attempt ended. */
#include "views/inner.h"

#include <math.h>

const char *rows_starts(const struct views *views) {
    return views_can(views, TUNE_ACT_START) ? "; s starts the loop" : "";
}

void rows_draw(struct views *views, struct tui_area area, struct tui_list *list, int count,
               void (*draw)(struct views *views, struct tui_area area, int row, int index)) {
    tui_list_fit(list, count, area.rows);
    views->list_spot = (struct tui_rect){area.row, area.col, area.rows, area.cols};
    for (int row = 0; row < area.rows && list->top + row < list->count; row++) {
        draw(views, area, row, list->top + row);
        if (list->top + row == list->cursor)
            tui_lay_paper(area, (struct tui_rect){row, 0, 1, area.cols}, TUI_PAPER_CURSOR);
    }
    tui_list_draw_bar(list, area);
}

struct rows_pair rows_pair(struct tui_area body, int more, const char *const titles[3]) {
    int share = MAX_OF(body.rows / 2 - 1, 6);
    int detail = MIN_OF(MAX_OF(share, MIN_OF(share + more, body.rows - 6)), 14);
    struct tui_rect upper = {0, 0, body.rows - detail, body.cols};
    struct tui_rect lower = {body.rows - detail, 0, detail, body.cols};
    return (struct rows_pair){tui_frame(tui_area_part(body, upper), true, titles[0], titles[1]),
                              tui_frame(tui_area_part(body, lower), false, titles[2], "")};
}

int rows_more(size_t most, int digits) {
    int more = -digits;
    for (; most; most /= 10)
        more++;
    return MAX_OF(more, 0);
}

struct tui_area rows_behind(struct tui_area area, size_t most, int digits) {
    int more = MIN_OF(rows_more(most, digits), area.cols);
    return tui_area_part(area, (struct tui_rect){0, more, area.rows, area.cols - more});
}

int rows_field(struct tui_area area, int row, int at, const char *name, const char *text) {
    if (!text || !*text || row >= area.rows)
        return row;
    tui_say(tui_ink(area, TUI_DIM), row, 1, "%s", name);
    struct tui_rect rest = {row, at, area.rows - row, area.cols - at - 1};
    return row + tui_put_wrapped(tui_area_part(area, rest), 0, str_of(text));
}

bool rows_is_halted(const struct tune_state *state, enum tune_step_is is) {
    bool elsewhere = state->read_only && state->held_by;
    return is == TUNE_IS_RUNNING && state->trouble && !elsewhere;
}

struct rows_look rows_step_look(const struct tune_state *state, enum tune_step_is is) {
    static const struct rows_look looks[TUNE_STEP_STATES] = {
        [TUNE_IS_WAITING] = {"·", TUI_DIM}, [TUNE_IS_RUNNING] = {"▶", TUI_ACTIVE},
        [TUNE_IS_OK] = {"✓", TUI_GOOD},     [TUNE_IS_FAILED] = {"✗", TUI_BAD},
        [TUNE_IS_SKIPPED] = {"−", TUI_DIM},
    };
    return rows_is_halted(state, is) ? (struct rows_look){"■", TUI_BAD} : looks[is];
}

struct rows_look rows_status_look(enum tune_status status) {
    static const struct rows_look looks[TUNE_STATUSES] = {
        [TUNE_STATUS_OPEN] = {"▶", TUI_ACTIVE},  [TUNE_STATUS_KEEP] = {"✓", TUI_GOOD},
        [TUNE_STATUS_REVERT] = {"↓", TUI_WARN},  [TUNE_STATUS_INCONCLUSIVE] = {"=", TUI_DIM},
        [TUNE_STATUS_FAILED] = {"✗", TUI_BAD},   [TUNE_STATUS_REJECTED] = {"×", TUI_DIM},
        [TUNE_STATUS_SUSPECT] = {"!", TUI_WARN},
    };
    return looks[status];
}

bool rows_computed(const struct views *views, const struct tune_plan *plan,
                   const struct tune_attempt *attempt) {
    bool timed = attempt && isfinite(attempt->latency_us);
    return tune_plan_computed(plan, timed ? attempt->modelled : !place_is_remote(views));
}

int rows_predicted(const struct views *views, struct tui_area area, int row, int lane) {
    const struct tune_plan *plan = tune_lane_plan(views->state, lane);
    struct buf text = {0};
    if (!plan)
        return row;
    rows_prediction(plan, &text);
    bool computed = rows_computed(views, plan, tune_attempt_in(views->state, lane));
    row = rows_field(area, row, 11, computed ? "computed" : "predicts", text.at);
    buf_free(&text);
    return row;
}

/* A person or an agent who names a metric and no size has predicted nothing. */
static bool predicts_direction(const struct tune_plan *plan) {
    const char *author = plan->author ? plan->author : "";
    return strcmp(author, "you") != 0 && !str_starts(str_of(author), "agent/");
}

void rows_prediction(const struct tune_plan *plan, struct buf *out) {
    if (plan->metric && isfinite(plan->size))
        buf_printf(out, "%s %s%.0f %%", glossary_word(plan->metric),
                   plan->direction == TUNE_DIRECTION_DOWN ? "-" : "+", plan->size * 100);
    else if (plan->metric && predicts_direction(plan))
        buf_printf(out, "%s %s", glossary_word(plan->metric), tune_direction_word(plan->direction));
    bool same = plan->metric && strcmp(plan->metric, "latency") == 0;
    if (!same && isfinite(plan->latency) && plan->latency != 0)
        buf_printf(out, "%slatency %+.0f %%", out->len ? ", " : "", plan->latency * 100);
}

double rows_latency(const struct tune_plan *plan) {
    bool same = plan->metric && strcmp(plan->metric, "latency") == 0;
    if (same && isfinite(plan->size))
        return plan->direction == TUNE_DIRECTION_DOWN ? -plan->size : plan->size;
    return !same && isfinite(plan->latency) && plan->latency != 0 ? plan->latency : (double)NAN;
}

/* Only the latency, also of a plan that is about another metric. */
void rows_prediction_latency(const struct tune_plan *plan, struct buf *out) {
    bool same = plan->metric && strcmp(plan->metric, "latency") == 0;
    if (!same && isfinite(plan->latency) && plan->latency != 0)
        buf_printf(out, "latency %+.0f %%", plan->latency * 100);
    else
        rows_prediction(plan, out);
}
