/* SPDX-License-Identifier: Apache-2.0 */
/* Below the notes: which model is asked next and why, and what became of the plans of each model
 * and of each strategy. */
#include "views/inner.h"

#include <math.h>
#include <stdio.h>

/* Columns from the right. */
enum {
    AT_PLANNED = 56,
    AT_HELD = 47,
    AT_RIGHT = 38,
    AT_KEPT = 29,
    AT_GAIN = 20,
    AT_TOKENS = 11,
    AT_DOLLARS = 1
};

static void draw_head(struct tui_area area, int row, bool strategy) {
    static const struct {
        int at;
        const char *word;
    } heads[] = {{AT_PLANNED, "planned"}, {AT_HELD, "held"}, {AT_RIGHT, "right"},
                 {AT_KEPT, "kept"},       {AT_GAIN, "gain"}, {AT_TOKENS, "tokens"},
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
    if (score->computed && !score->scored)
        tui_say_right(dim, row, area.cols - AT_HELD, "computed");
    else
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

static void choice_print(const struct tune_choice *choice, struct buf *out) {
    buf_printf(out, "%s is next, %s", choice->rows.at[choice->next].model,
               tune_choice_word(choice->by));
    bool compared = choice->by == TUNE_CHOICE_DOLLARS || choice->by == TUNE_CHOICE_TOKENS;
    if (compared)
        buf_puts(out, " and how seldom it was asked");
    for (size_t i = 0; i < choice->rows.len; i++) {
        const struct tune_choice_row *row = &choice->rows.at[i];
        buf_printf(out, "%s%s", i ? ", " : ": ", row->model);
        if (compared)
            buf_printf(out, " %.2f + %.2f", row->share, row->bonus);
        else
            buf_printf(out, " asked %dx", row->asked);
    }
}

/* Which of the models that share a role is next, and why. */
static int draw_choices(const struct views *views, struct tui_area area, int row) {
    const struct tune_state *state = views->state;
    for (int i = 0; state->roles && i < TUNE_ROLES && row < area.rows; i++) {
        struct tune_choice choice;
        struct buf text = {0};
        if (state->roles[i].count < 2)
            continue;
        tune_choice_make(state, (enum tune_role)i, &choice);
        choice_print(&choice, &text);
        tui_say(tui_ink(area, TUI_TITLE), row, 1, "%s", tune_role_word((enum tune_role)i));
        struct tui_rect rest = {row, 12, area.rows - row, area.cols - 13};
        row += tui_put_wrapped(tui_area_part(area, rest), 0, buf_str(&text));
        buf_free(&text);
        tune_choice_free(&choice);
    }
    return row;
}

void scores_draw(struct views *views, struct tui_area area) {
    struct tune_scores scores = {0};
    tune_scores_count(views->state, &scores);
    int row = draw_choices(views, area, 0);
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
