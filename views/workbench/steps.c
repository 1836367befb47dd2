/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of the workbench around its panes: the steps of the round, its lanes where it follows
 * several, and the plan, or what came of the step that is looked at. */
#include "views/workbench/private.h"

#include <math.h>
#include <stdio.h>

/* ---- the steps ------------------------------------------------------------------------------ */

/* How much the line of steps says; where there is no room, less. */
enum steps_form { STEPS_WIDE, STEPS_CLOSE, STEPS_SHORT, STEPS_LEAST };

static const char *step_name(enum tune_step step, enum steps_form form) {
    static const char *const brief[TUNE_STEPS] = {
        [TUNE_STEP_BENCHMARK] = "bench", [TUNE_STEP_SUMMARISE] = "sum"};
    return form >= STEPS_SHORT && brief[step] ? brief[step] : tune_step_word(step);
}

static void step_text(const struct views *views, int i, enum steps_form form, struct buf *out) {
    const struct tune_step_view *step = &views->state->steps[i];
    bool halted = rows_is_halted(views->state, step->is);
    bool wide = form == STEPS_WIDE, running = step->is == TUNE_IS_RUNNING && !halted,
         waits = views->state->wait == TUNE_WAIT_GATE && (int)views->state->wait_step == i;
    const char *glyph = waits ? "◆" : rows_step_look(views->state, step->is).glyph;
    buf_printf(out, "%s%s%s", glyph, wide ? " " : "", step_name((enum tune_step)i, form));
    int64_t ms = (running ? views->now_ms : step->ended_ms) - step->started_ms;
    bool counts = running && lanes_any(views) && step->total > 0;
    if (counts)
        buf_printf(out, " %.0f/%.0f", step->done, step->total);
    if ((counts && !wide) || form == STEPS_LEAST) /* how long it takes is said below */
        return;
    if (halted && wide)
        buf_puts(out, " halted");
    if (step->started_ms && (running || (wide && step->ended_ms && ms >= 100)))
        buf_printf(out, " %s", show_elapsed(ms).text);
}

/* One word for the gates: the setting that all have, or that they differ. */
static const char *gates_word(const struct tune_state *state) {
    for (int i = 1; i < TUNE_STEPS; i++)
        if (state->steps[i].gate != state->steps[0].gate)
            return "mixed";
    return tune_gate_word(state->steps[0].gate);
}

static int steps_width(const struct views *views, enum steps_form form) {
    int width = 1;
    for (int i = 0; i < TUNE_STEPS; i++) {
        struct buf text = {0};
        step_text(views, i, form, &text);
        width += (int)text_columns(buf_str(&text)) + (form == STEPS_WIDE ? 2 : 1);
        buf_free(&text);
    }
    return width;
}

void workbench_steps(struct views *views, struct tui_area area) {
    struct workbench *bench = workbench_of(views);
    const struct tune_state *state = views->state;
    struct buf gate = {0};
    buf_printf(&gate, "gate: %s", gates_word(state));
    enum steps_form form = STEPS_WIDE;
    while (form < STEPS_LEAST && steps_width(views, form) + (int)gate.len + 1 > area.cols)
        form++;
    int gap = form == STEPS_WIDE ? 2 : 1, col = 1;
    for (int i = 0; i < TUNE_STEPS; i++) {
        const struct tune_step_view *step = &state->steps[i];
        bool waits = state->wait == TUNE_WAIT_GATE && (int)state->wait_step == i;
        struct tui_area look =
            tui_ink(area, waits ? TUI_WAITING : rows_step_look(state, step->is).role);
        if (bench->step == i)
            look = tui_paper(look, TUI_PAPER_CURSOR);
        struct buf text = {0};
        step_text(views, i, form, &text);
        int end = tui_put(look, 0, col, buf_str(&text));
        bench->step_spots[i] = (struct tui_rect){area.row, area.col + col, 1, end - col};
        col = end + gap;
        buf_free(&text);
    }
    if (col + (int)gate.len < area.cols)
        tui_say_right(tui_ink(area, TUI_DIM), 0, area.cols - 1, "%s", gate.at);
    buf_free(&gate);
}

#define PLAN_TITLE 24 /* columns that the title gets before the prediction is shortened */

/* ---- the plan ------------------------------------------------------------------------------- */

struct look {
    const char *text;
    enum tui_role role;
};

static void held_text(struct tui_area area, const struct tune_plan *plan, bool computed, int *end) {
    static const struct look looks[TUNE_ANSWERS] = {
        [TUNE_ANSWER_YES] = {"✓ prediction held", TUI_GOOD},
        [TUNE_ANSWER_NO] = {"✗ prediction failed", TUI_BAD},
        [TUNE_ANSWER_INCONCLUSIVE] = {"prediction open", TUI_WARN},
    };
    struct look look = computed ? (struct look){"computed", TUI_DIM} : looks[plan->held];
    if (look.text)
        *end = tui_say_right(tui_ink(area, look.role), 0, area.cols - 1, "%s", look.text) - 2;
}

static void draw_step(struct views *views, struct tui_area area) {
    struct workbench *bench = workbench_of(views);
    const struct tune_step_view *step = &views->state->steps[bench->step];
    bool halted = rows_is_halted(views->state, step->is);
    int col = tui_say(tui_ink(area, TUI_STRONG), 0, 1, "%s",
                      tune_step_word((enum tune_step)bench->step)) +
              2;
    col = tui_say(tui_ink(area, rows_step_look(views->state, step->is).role), 0, col, "%s",
                  halted ? "halted" : tune_step_is_word(step->is)) +
          2;
    if (step->ended_ms)
        col = tui_say(tui_ink(area, TUI_DIM), 0, col, "%s",
                      show_elapsed(step->ended_ms - step->started_ms).text) +
              2;
    int end = tui_say_right(tui_ink(area, TUI_DIM), 0, area.cols - 1, "gate: %s",
                            tune_gate_word(step->gate)) -
              2;
    struct buf text = {0};
    tune_step_told(&text, views->state, views->lane, (enum tune_step)bench->step);
    if (halted)
        buf_printf(&text, "%s; s goes on with it", views->state->trouble);
    else if (!text.len && step->doing)
        buf_puts(&text, step->doing);
    tui_put_short(area, 0, (struct tui_rect){0, col, 1, end - col}, buf_str(&text));
    buf_free(&text);
}

void workbench_plan(struct views *views, struct tui_area area) {
    struct workbench *bench = workbench_of(views);
    const struct tune_plan *plan = tune_lane_plan(views->state, views->lane);
    if (bench->step >= 0) {
        draw_step(views, area);
        return;
    }
    int end = area.cols - 1;
    tui_say(tui_ink(area, TUI_DIM), 0, 1, "plan");
    if (!plan) {
        tui_say(tui_ink(area, TUI_DIM), 0, 7, "none yet");
        return;
    }
    const struct tune_attempt *attempt = tune_attempt_in(views->state, views->lane);
    bool computed = rows_computed(views, plan, attempt);
    held_text(area, plan, computed, &end);
    const char *verb = computed ? "" : "Predicts ";
    struct buf predicts = {0};
    rows_prediction(plan, &predicts);
    int room = predicts.len ? (int)(predicts.len + strlen(verb) + strlen("  .")) : 0;
    bool fits = room + 7 + PLAN_TITLE < end;
    if (!fits) { /* the latency is what a plan is judged by */
        buf_clear(&predicts);
        rows_prediction_latency(plan, &predicts);
        room = predicts.len ? (int)predicts.len + 2 : 0;
    }
    struct tui_rect place = {0, 7, 1, MAX_OF(end - room - 7, 4)};
    struct str title = str_of(plan->title ? plan->title : plan->key);
    const char *dot = (int)text_columns(title) <= place.cols ? "." : "";
    int col = tui_put_short(tui_ink(area, TUI_STRONG), 0, place, title);
    if (predicts.len && fits)
        tui_say(area, 0, col, "%s  %s%s.", dot, verb, predicts.at);
    else if (predicts.len)
        tui_say(area, 0, col, "  %s", predicts.at);
    buf_free(&predicts);
}

/* ---- the lanes ------------------------------------------------------------------------------ */

/* A cell for each lane; where there are many, for those around the one that is looked at. Returns
 * the column after them. */
static int draw_cells(struct views *views, struct tui_area area, int col, int most) {
    struct workbench *bench = workbench_of(views);
    const struct tune_state *state = views->state;
    int count = lanes_count(state), shown = MIN_OF(count, most);
    int first = MAX_OF(0, MIN_OF(views->lane - shown / 2, count - shown));
    bench->lane_first = first;
    bench->lane_spot = (struct tui_rect){area.row, area.col + col, 1, shown};
    for (int i = 0; i < shown; i++) {
        struct rows_look look = lane_look(state, first + i);
        struct tui_area ink = tui_ink(area, look.role);
        if (first + i == views->lane)
            ink = tui_paper(ink, TUI_PAPER_CURSOR);
        tui_say(ink, 0, col + i, "%s", look.glyph);
    }
    return col + shown;
}

void workbench_lanes(struct views *views, struct tui_area area) {
    const struct tune_state *state = views->state;
    int col = draw_cells(views, area, 1, MAX_OF(area.cols / 4, 16)) + 2;
    const struct tune_lane *lane = lane_at(state, views->lane);
    if (!lane)
        return;
    struct buf text = {0};
    col = tui_say(tui_ink(area, TUI_STRONG), 0, col, "lane %d/%d", views->lane + 1,
                  lanes_count(state)) +
          2;
    lane_which(state, views->lane, &text);
    col = tui_put(area, 0, col, buf_str(&text)) + 2;
    buf_clear(&text);
    lane_does(state, views->lane, &text);
    tui_put_short(tui_ink(area, lane_look(state, views->lane).role), 0,
                  (struct tui_rect){0, col, 1, area.cols - col - 1}, buf_str(&text));
    buf_free(&text);
}

bool workbench_lane_click(struct views *views, int row, int col) {
    struct workbench *bench = workbench_of(views);
    if (!lanes_any(views) || !tui_rect_has(bench->lane_spot, row, col))
        return false;
    lanes_focus(views, bench->lane_first + col - bench->lane_spot.col);
    return true;
}
