/* SPDX-License-Identifier: Apache-2.0 */
/* The questions so far on screen 9: what each took and cost, and the texts of one of them. Calls
 * that run now are drawn by workbench/calls.c. */
#include "views/prompt/private.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static struct shown show_seconds(double seconds) {
    struct shown out = {"-"};
    if (isfinite(seconds))
        snprintf(out.text, sizeof out.text, seconds < 100 ? "%.1f s" : "%.0f s", seconds);
    return out;
}

static const char *call_state(const struct tune_call *call) {
    return call->waits       ? "waits for you"
           : call->held      ? "not sent yet"
           : !call->ended_ms ? "runs"
           : call->failure   ? call->failure
           : call->unread    ? call->unread
                             : "";
}

static bool call_is_bad(const struct tune_call *call) {
    return call->failure || call->unread;
}

#define NUMBER_DIGITS 4
static int calls_more(const struct views *views) {
    return rows_more(views->state->calls.len, NUMBER_DIGITS);
}

/* The columns right of the model's name, from the left; without a state where it is narrow. */
static void draw_call(struct views *views, struct tui_area area, int row, int number) {
    const struct tune_call *call = &views->state->calls.at[number];
    bool runs = !call->ended_ms && !call->waits && !call->held;
    struct shown output = show_count(call->output);
    if (runs && call->live.len)
        snprintf(output.text, sizeof output.text, "~%.20s",
                 show_count(tune_tokens_estimate(buf_str(&call->live))).text);
    double elapsed = runs ? (double)(views->now_ms - call->asked_ms) * 1e-3 : call->elapsed_s;
    /* Tokens that went into the cache were read anew; those that came from it were not. */
    double input = isnan(call->cache_write) ? call->input : call->input + call->cache_write;
    const struct {
        struct shown text;
        int width;
    } cols[] = {{show_count(input), 7},
                {output, 7},
                {show_count(call->cache_read), 7},
                {isnan(call->dollars) ? (struct shown){"-"} : show_dollars(call->dollars), 9},
                {show_seconds(call->first_s), 8},
                {show_seconds(elapsed), 8}};
    bool wide = area.cols >= 110;
    int col = wide ? 40 : 27;
    tui_say_right(tui_ink(area, TUI_DIM), row, 4 + calls_more(views), "%d", number);
    area = rows_behind(area, views->state->calls.len, NUMBER_DIGITS);
    bool person = call->waits || call->held, bad = call_is_bad(call);
    tui_say(tui_ink(area, bad              ? TUI_BAD
                          : call->ended_ms ? TUI_GOOD
                          : person         ? TUI_WAITING
                                           : TUI_ACTIVE),
            row, 5, "%s",
            bad              ? "✗"
            : call->ended_ms ? "✓"
            : person         ? "◆"
                             : "▶");
    tui_put_short(area, row, (struct tui_rect){0, 7, 1, 10}, str_of(call->role));
    tui_put_short(tui_ink(area, TUI_STRONG), row, (struct tui_rect){0, 18, 1, col - 19},
                  str_of(call->model));
    for (size_t i = 0; i < COUNT_OF(cols); i++)
        tui_say_right(area, row, col += cols[i].width, "%s", cols[i].text.text);
    if (call->tries > 1)
        tui_say(tui_ink(area, TUI_WARN), row, col + 1, "x%d", call->tries);
    if (wide)
        tui_put_short(tui_ink(area, TUI_DIM), row,
                      (struct tui_rect){0, col + 5, 1, area.cols - col - 6},
                      str_of(call_state(call)));
}

static void draw_call_head(const struct views *views, struct tui_area area) {
    static const struct {
        const char *name;
        int width;
    } cols[] = {{"in", 7}, {"out", 7}, {"cached", 7}, {"cost", 9}, {"first", 8}, {"whole", 8}};
    int col = area.cols >= 110 ? 40 : 27;
    area = rows_behind(area, views->state->calls.len, NUMBER_DIGITS);
    struct tui_area ink = tui_ink(area, TUI_DIM);
    tui_say(ink, 0, 7, "role");
    tui_say(ink, 0, 18, "model");
    for (size_t i = 0; i < COUNT_OF(cols); i++)
        tui_say_right(ink, 0, col += cols[i].width, "%s", cols[i].name);
}

static void draw_call_detail(struct tui_area area, const struct tune_call *call) {
    struct buf text = {0};
    buf_printf(&text, "round %d, ", call->round);
    if (call->lane >= 0)
        buf_printf(&text, "lane %d, ", call->lane + 1);
    buf_printf(&text, "%s; %d %s; Enter shows prompt and answer",
               show_clock(call->asked_ms, 1).text, call->tries ? call->tries : 1,
               call->tries > 1 ? "tries" : "try");
    int row = rows_field(area, 0, 11, "asked", text.at);
    buf_clear(&text);
    buf_printf(&text,
               "of the prompt %s read from the cache, %s written to it; it was estimated at %s",
               show_count(call->cache_read).text, show_count(call->cache_write).text,
               show_count(call->estimate).text);
    row = rows_field(area, row, 11, "tokens", text.at);
    if (call->mends >= 0) {
        buf_clear(&text);
        buf_printf(&text, "the answer to question %d, which could not be used", call->mends);
        row = rows_field(area, row, 11, "mends", text.at);
    }
    rows_field(area, row, 11,
               call->failure  ? "failed"
               : call->unread ? "not used"
                              : "",
               call_state(call));
    buf_free(&text);
}

static void calls_note(const struct tune_state *state, struct buf *out) {
    double tokens = state->budgets[TUNE_BUDGET_TOKENS].spent;
    double dollars = state->budgets[TUNE_BUDGET_DOLLARS].spent;
    if (isnan(tokens))
        buf_puts(out, "tokens not reported");
    else
        buf_printf(out, "%s tokens", show_count(tokens).text);
    buf_printf(out, ", %s%s in all", isnan(dollars) ? "dollars " : "", show_dollars(dollars).text);
}

void prompt_calls_draw(struct views *views, struct tui_area body) {
    struct prompt *screen = prompt_of(views);
    const struct tune_state *state = views->state;
    struct tui_list *list = &screen->lists[PROMPT_CALLS];
    struct buf note = {0};
    calls_note(state, &note);
    const struct tune_call *here = list->cursor >= 0 && (size_t)list->cursor < state->calls.len
                                       ? &state->calls.at[list->cursor]
                                       : NULL;
    bool live = here && !here->ended_ms && here->live.len;
    int split = live ? body.rows - MAX_OF(8, body.rows / 2) : body.rows - 8;
    struct tui_rect upper = {0, 0, split, body.cols},
                    lower = {split, 0, body.rows - split, body.cols};
    struct tui_area inside =
        tui_frame(tui_area_part(body, upper), true, "questions so far", note.at);
    struct tui_area detail = tui_frame(tui_area_part(body, lower), false,
                                       live ? "its answer, as it comes" : "question", "");
    struct tui_area table =
        tui_area_part(inside, (struct tui_rect){1, 0, inside.rows - 1, inside.cols});
    buf_free(&note);
    draw_call_head(views, inside);
    rows_draw(views, table, list, (int)state->calls.len, draw_call);
    if (live)
        calls_draw_live(detail, here);
    else if (list->count)
        draw_call_detail(detail, &state->calls.at[list->cursor]);
    else
        tui_say(tui_ink(table, TUI_DIM), 0, 2, "No model was asked yet.");
}

static void add_artefact(struct views *views, const char *hash, const char *missing,
                         struct buf *out) {
    char *text =
        hash && views->model.artefact ? views->model.artefact(views->model.context, hash) : NULL;
    buf_puts(out, text ? text : missing);
    free(text);
}

void prompt_call_print(struct views *views, int number, struct buf *out) {
    const struct tune_call *call = &views->state->calls.at[number];
    add_artefact(views, call->prompt,
                 call->held ? "(not sent yet: its parts are on the page before)\n"
                            : "(the prompt was not kept)\n",
                 out);
    buf_puts(out, "\n" PROMPT_ANSWER_MARK "\n");
    if (call->answer || call->ended_ms)
        add_artefact(views, call->answer, call->failure ? call->failure : "(nothing came)", out);
    else if (call->live.len)
        buf_add(out, call->live.at, call->live.len);
}

void prompt_call_open(struct views *views, int number) {
    struct prompt *screen = prompt_of(views);
    if (number < 0 || (size_t)number >= views->state->calls.len)
        return;
    buf_clear(&screen->text);
    prompt_call_print(views, number, &screen->text);
    prompt_text_set(views);
    screen->call = number;
    screen->page = PROMPT_CALL;
    screen->lists[PROMPT_CALL] = (struct tui_list){0};
}

void prompt_call_draw(struct views *views, struct tui_area body) {
    struct prompt *screen = prompt_of(views);
    const struct tune_state *state = views->state;
    size_t number = (size_t)screen->call;
    struct buf title = {0};
    if (number < state->calls.len)
        buf_printf(&title, "question %zu: %s, %s", number, state->calls.at[number].role,
                   state->calls.at[number].model);
    struct tui_area inside =
        tui_frame(body, true, title.at ? title.at : "", "Tab: prompt or answer");
    prompt_text_draw(views, inside, &screen->lists[PROMPT_CALL]);
    buf_free(&title);
}
