/* SPDX-License-Identifier: Apache-2.0 */
/* The table below the notes: what became of the plans of each model and of each strategy. */
#include "views/private.h"

#include <math.h>
#include <stdio.h>

/* Columns from the right. */
enum { AT_PLANNED = 56, AT_HELD = 47, AT_RIGHT = 38, AT_KEPT = 29, AT_GAIN = 20, AT_TOKENS = 11,
       AT_DOLLARS = 1 };

static void draw_head(struct tui_area area, int row, bool strategy) {
    static const struct {
        int at;
        const char *word;
    } heads[] = {{AT_PLANNED, "planned"}, {AT_HELD, "held"},     {AT_RIGHT, "right"},
                 {AT_KEPT, "kept"},       {AT_GAIN, "gain"},     {AT_TOKENS, "tokens"},
                 {AT_DOLLARS, "dollars"}};
    tui_say(tui_ink(area, TUI_TITLE), row, 1, "%s", strategy ? "strategy" : "model");
    for (size_t i = 0; i < COUNT_OF(heads) && (!strategy || heads[i].at > AT_TOKENS); i++)
        tui_say_right(tui_ink(area, TUI_DIM), row, area.cols - heads[i].at, "%s", heads[i].word);
}

static void draw_share(struct tui_area area, int row, int at, int part, int whole) {
    if (whole)
        tui_say_right(area, row, area.cols - at, "%d/%d", part, whole);
    else
        tui_say_right(tui_ink(area, TUI_DIM), row, area.cols - at, "-");
}

static void draw_row(struct tui_area area, int row, const struct tune_score *score) {
    struct tui_area dim = tui_ink(area, TUI_DIM);
    int cols = MAX_OF(area.cols - AT_PLANNED - 9, 8);
    tui_put_short(area, row, (struct tui_rect){0, 1, 1, cols}, str_of(score->name));
    tui_say_right(area, row, area.cols - AT_PLANNED, "%d", score->planned);
    draw_share(area, row, AT_HELD, score->held, score->scored);
    draw_share(area, row, AT_RIGHT, score->right, score->judged);
    draw_share(area, row, AT_KEPT, score->kept, score->planned);
    tui_say_right(score->kept ? tui_ink(area, TUI_GOOD) : dim, row, area.cols - AT_GAIN, "%s",
                  score->kept ? show_speedup(score->gain).text : "-");
    if (score->strategy)
        return;
    if (isnan(score->tokens))
        tui_say_right(dim, row, area.cols - AT_TOKENS, "-");
    else
        tui_say_right(area, row, area.cols - AT_TOKENS, "%.0f", score->tokens);
    if (isnan(score->dollars))
        tui_say_right(dim, row, area.cols - AT_DOLLARS, "-");
    else
        tui_say_right(area, row, area.cols - AT_DOLLARS, "%.4f", score->dollars);
}

void scores_draw(struct views *views, struct tui_area area) {
    struct tune_scores scores = {0};
    tune_scores_count(views->state, &scores);
    int row = 0;
    for (int strategy = 0; strategy < 2; strategy++) {
        bool said = false;
        for (size_t i = 0; i < scores.rows.len && row < area.rows; i++) {
            if (scores.rows.at[i].strategy != (strategy == 1))
                continue;
            if (!said)
                draw_head(area, row++, strategy == 1);
            said = true;
            if (row < area.rows)
                draw_row(area, row++, &scores.rows.at[i]);
        }
    }
    if (!scores.rows.len)
        tui_say(tui_ink(area, TUI_DIM), 0, 1, "no attempt has ended yet");
    tune_scores_free(&scores);
}
