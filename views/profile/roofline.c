/* SPDX-License-Identifier: Apache-2.0 */
/* How far the attempts are from the roof, as a chart and as a sum that can be checked by hand. The
 * height of a mark is the useful work over the latency, so the faster of two attempts always stands
 * higher. Its distance from the dashed line is the share that other places show as a number. */
#include "views/profile/private.h"

#include <math.h>
#include <stdlib.h>

struct marks {
    VEC(struct tui_mark) all;
    double peak, slope; /* of the device; NAN */
};

static double bytes_of(const struct tune_attempt *attempt) {
    return tune_attempt_metric(attempt, "hbm_read_bytes") +
           tune_attempt_metric(attempt, "hbm_write_bytes");
}

/* What the device could do follows from the share of it that the attempt reached. */
static void learn_device(struct marks *marks, const struct tune_attempt *attempt) {
    double flops = tune_attempt_metric(attempt, "hardware_flops");
    double reached = tune_attempt_metric(attempt, "hfu_estimated_percent") / 100;
    double ratio = tune_attempt_metric(attempt, "peak_flops_bandwidth_ratio");
    if (!(flops > 0) || !(reached > 0) || !(ratio > 0) || !(attempt->latency_us > 0))
        return;
    marks->peak = flops / attempt->latency_us / reached / 1e6;
    marks->slope = marks->peak / ratio;
}

/* The newest comes last, so that it is drawn on top. */
static void collect(const struct tune_state *state, const struct tune_roof *roof,
                    struct marks *marks) {
    for (size_t i = 0; i < state->attempts.len; i++) {
        const struct tune_attempt *attempt = &state->attempts.at[i];
        double bytes = bytes_of(attempt), us = attempt->latency_us;
        bool best = attempt->id == state->best, newest = i + 1 == state->attempts.len;
        learn_device(marks, attempt);
        if (!(bytes > 0) || !(us > 0) || attempt->verdict.correct == TUNE_ANSWER_NO)
            continue;
        *vec_push(&marks->all) = (struct tui_mark){roof->flops / bytes, roof->flops / us / 1e6,
                                                   best     ? "●"
                                                   : newest ? "◆"
                                                            : "○",
                                                   best     ? TUI_GOOD
                                                   : newest ? TUI_ACTIVE
                                                            : TUI_DIM};
    }
}

/* "#4: floor 0.870 ms / 1.12 ms = 78 % roofline" */
static void sum_print(const struct tune_roof *roof, const struct tune_attempt *attempt,
                      struct buf *out) {
    double share = tune_roof_share(roof, attempt);
    if (!isfinite(share))
        return;
    buf_printf(out, "#%d: floor %s / %s = %.0f %% roofline", attempt->id,
               show_latency(roof->floor_us).text, show_latency(attempt->latency_us).text,
               share * 100);
}

static void draw_legend(struct tui_area area, const struct tune_roof *roof,
                        const struct tune_attempt *attempt) {
    struct buf text = {0};
    struct tui_rect rows = {0, 1, area.rows, area.cols - 2};
    sum_print(roof, attempt, &text);
    if (area.cols >= 90 && text.len)
        buf_printf(&text, ".  %.3g GFLOP useful, %s moved", roof->flops / 1e9,
                   show_bytes(bytes_of(attempt)).text);
    tui_put_short(area, 0, (struct tui_rect){0, 1, 1, rows.cols}, buf_str(&text));
    int col = tui_say(tui_ink(area, TUI_DIM), 1, 1, "○ attempt");
    col = tui_say(tui_ink(area, TUI_GOOD), 1, col + 2, "● best");
    col = tui_say(tui_ink(area, TUI_ACTIVE), 1, col + 2, "◆ newest");
    tui_say(tui_ink(area, TUI_GOOD), 1, col + 2, "┄ floor");
    buf_free(&text);
}

bool profile_roofline_draw(struct views *views, struct tui_area area,
                           const struct tune_attempt *attempt) {
    struct tune_roof roof = tune_roof_of(views->state);
    struct marks marks = {.peak = NAN, .slope = NAN};
    collect(views->state, &roof, &marks);
    bool can = marks.all.len && isfinite(marks.peak) && roof.flops > 0 && area.rows > 8;
    if (can) {
        const struct tui_roofline chart = {
            marks.peak,   marks.slope,     roof.flops / roof.floor_us / 1e6,
            "FLOP/byte",  "useful TFLOPS", marks.all.at,
            marks.all.len};
        struct tui_rect plot = {0, 0, area.rows - 2, area.cols};
        tui_chart_roofline(tui_area_part(area, plot), &chart);
        draw_legend(tui_area_part(area, (struct tui_rect){area.rows - 2, 0, 2, area.cols}), &roof,
                    attempt);
    }
    vec_free(&marks.all);
    return can;
}

void profile_roof_print(const struct tune_state *state, const struct tune_attempt *attempt,
                        int cols, struct buf *out) {
    struct tune_roof roof = tune_roof_of(state);
    sum_print(&roof, attempt, out);
    const char *sum = out->at ? strchr(out->at, ' ') : NULL, *unit = sum ? strrchr(sum, ' ') : NULL;
    if (!cols || !unit || (int)text_columns(buf_str(out)) <= cols)
        return;
    struct buf brief = {0};
    buf_add(&brief, sum + 1, (size_t)(unit - sum - 1));
    buf_free(out);
    *out = brief;
}
