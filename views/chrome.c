/* SPDX-License-Identifier: Apache-2.0 */
/* What stands around every screen: the head, with what is tuned and how good it is, and the keys
 * that make sense now. What waits for the person is in status.c. */
#include "views/inner.h"

#include <math.h>
#include <stdio.h>

const char *spinner_at(int64_t now_ms) {
    static const char *const frames[] = {"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"};
    return frames[now_ms / 100 % (int64_t)COUNT_OF(frames)];
}

/* A part of the head. Where there is no room, what can be seen elsewhere goes first (the highest
 * ranks), then the others are said in fewer words, one after the other, then the task's name is
 * cut, and only then more goes. */
struct piece {
    char text[96], brief[48]; /* brief "": there is no shorter form */
    enum tui_role role;
    int rank, turn; /* turn: when it gets shorter, from 1 */
};
#define EXTRA 5      /* ranks from here on can be seen elsewhere */
#define TURNS 4      /* forms that get shorter */
#define NAME_LESS 16 /* columns of a task's name that is cut */

/* How much of the pieces shows. */
struct head_form {
    int rank, turn; /* the highest that shows, the last that is brief */
};

static const char *piece_text(const struct piece *piece, struct head_form form) {
    bool brief = piece->brief[0] && piece->turn <= form.turn;
    return piece->rank > form.rank ? "" : brief ? piece->brief : piece->text;
}

static int piece_cols(const struct piece *piece, struct head_form form) {
    int cols = (int)text_columns(str_of(piece_text(piece, form)));
    return !piece->turn && form.turn > TURNS ? MIN_OF(cols, NAME_LESS) : cols;
}

static bool pieces_fit(const struct piece *pieces, size_t count, struct head_form form, int cols) {
    int gap = cols >= 103 ? 3 : 2, width = -gap;
    for (size_t i = 0; i < count; i++)
        if (piece_text(&pieces[i], form)[0])
            width += piece_cols(&pieces[i], form) + gap;
    return width <= cols;
}

/* The fullest form that fits into the columns. */
static struct head_form form_for(const struct piece *pieces, size_t count, int cols) {
    struct head_form form = {9, 0};
    while (!pieces_fit(pieces, count, form, cols) && (form.rank > 0 || form.turn <= TURNS)) {
        bool less = form.rank >= EXTRA || form.turn > TURNS;
        form.rank -= less;
        form.turn += !less;
    }
    return form;
}

static void draw_pieces(struct tui_area area, int col, const struct piece *pieces, size_t count) {
    struct head_form form = form_for(pieces, count, area.cols - col);
    int gap = area.cols - col >= 103 ? 3 : 2;
    for (size_t i = 0; i < count; i++) {
        const char *text = piece_text(&pieces[i], form);
        int cols = MIN_OF(piece_cols(&pieces[i], form), area.cols - col);
        if (!text[0])
            continue;
        tui_put_short(tui_ink(area, pieces[i].role), 0, (struct tui_rect){0, col, 1, cols},
                      str_of(text));
        col += cols + gap;
    }
}

static void spent_text(const struct tune_state *state, char *text, size_t size) {
    double dollars = state->budgets[TUNE_BUDGET_DOLLARS].spent;
    double tokens = state->budgets[TUNE_BUDGET_TOKENS].spent;
    char money[32] = "";
    if (isfinite(dollars) && dollars > 0)
        snprintf(money, sizeof money, "$%.2f  ", dollars);
    if (isfinite(tokens) && tokens > 0)
        snprintf(text, size, "%s%s tok", money, show_count(tokens).text);
    else
        snprintf(text, size, "%s", money);
}

/* Where kernels are evaluated, and how the connection is, where there is one. */
static void place_piece(const struct views *views, int cols, struct piece *piece) {
    struct buf text = {0};
    bool trouble = place_in_trouble(views), brief = place_is_remote(views) && cols < 110;
    if (!brief)
        place_name(views, &text);
    if (place_is_remote(views)) {
        buf_puts(&text, brief ? "" : " · ");
        place_state(views, brief, &text);
    }
    if (trouble) {
        piece->role = place_role(views);
        piece->rank = 0;
    }
    snprintf(piece->text, sizeof piece->text, "%s", text.at);
    buf_free(&text);
}

/* How the loop stands, in one word. A word for what waits for the person stands out. */
static void state_piece(const struct views *views, struct piece *piece) {
    static const char person[] = "waits for you: ";
    struct buf text = {0};
    piece->role = status_word(views->state, &text);
    snprintf(piece->text, sizeof piece->text, "%s", text.at);
    if (str_starts(buf_str(&text), person))
        snprintf(piece->brief, sizeof piece->brief, "waits: %.32s", text.at + strlen(person));
    buf_free(&text);
}

static void best_pieces(const struct tune_attempt *best, struct piece *latency,
                        struct piece *gain) {
    if (!best || !isfinite(best->latency_us)) {
        snprintf(latency->text, sizeof latency->text, "best -");
        return;
    }
    struct shown us = show_latency(best->latency_us), times = show_speedup(best->speedup);
    const char *precision = best->precision ? tune_precision_word(best->precision) : "";
    snprintf(latency->text, sizeof latency->text, "best %s", us.text);
    snprintf(latency->brief, sizeof latency->brief, "%s", us.text);
    snprintf(gain->text, sizeof gain->text, "%s (#%d%s%s)", times.text, best->id,
             *precision ? ", " : "", precision);
    snprintf(gain->brief, sizeof gain->brief, "%s%s%s", times.text, *precision ? " " : "",
             precision);
}

void chrome_header(struct views *views, struct tui_area area) {
    const struct tune_state *state = views->state;
    struct tui_area bar = tui_paper(area, TUI_PAPER_BAR);
    tui_clear(bar);
    int col = tui_say(tui_ink(bar, TUI_BRAND), 0, 1, "hone") + 2;
    struct piece pieces[7] = {
        {.role = TUI_STRONG, .rank = 0},           {.role = TUI_PLAIN, .rank = 6, .turn = 9},
        {.role = TUI_PLAIN, .rank = 3, .turn = 2}, {.role = TUI_PLAIN, .rank = 2, .turn = 4},
        {.role = TUI_GOOD, .rank = 1, .turn = 1},  {.role = TUI_DIM, .rank = 7, .turn = 9},
        {.role = TUI_DIM, .rank = 0, .turn = 3}};
    snprintf(pieces[0].text, sizeof pieces[0].text, "%s", state->task ? state->task : "-");
    place_piece(views, area.cols, &pieces[1]);
    for (size_t i = 2; i < COUNT_OF(pieces) && pieces[1].rank == 0; i++)
        pieces[i].rank++; /* a lost connection matters more than numbers */
    snprintf(pieces[2].text, sizeof pieces[2].text, "round %d/%d", state->round, state->rounds);
    snprintf(pieces[2].brief, sizeof pieces[2].brief, "r%d/%d", state->round, state->rounds);
    best_pieces(tune_state_attempt(state, state->best), &pieces[3], &pieces[4]);
    spent_text(state, pieces[5].text, sizeof pieces[5].text);
    state_piece(views, &pieces[6]);
    struct shown clock = show_clock(views->now_ms, 0);
    struct tui_rect left = {0, 0, 1, area.cols - 7};
    draw_pieces(tui_area_part(bar, left), col, pieces, COUNT_OF(pieces));
    tui_say_right(tui_ink(bar, TUI_DIM), 0, area.cols - 1, "%s", clock.text);
}

/* ---- keys ----------------------------------------------------------------------------------- */

/* Draws one "key hint"; false when it does not fit. */
static bool put_hint(struct tui_area area, int *col, const char *key, const char *hint) {
    int width = (int)(text_columns(str_of(key)) + text_columns(str_of(hint))) + 1;
    if (*col + width > area.cols - 1)
        return false;
    int end = tui_say(tui_ink(area, TUI_KEY), 0, *col, "%s", key);
    *col = tui_say(area, 0, end + 1, "%s", hint) + 2;
    return true;
}

/* A screen's own purpose comes before the loop's keys: in a list what is done to its rows, in
 * several lanes what is decided about them. */
static enum command_place place_of(const struct views *views, const struct command *command) {
    if (screen_here(views)->own_first)
        return command->where == WHERE_OWN ? PLACE_OWN_FIRST : command->place;
    bool of_lane = command->action == TUNE_ACT_REJECT && lanes_any(views);
    return of_lane ? PLACE_LOOK : command->place;
}

static void put_command(const struct views *views, struct tui_area area, int *col,
                        const struct command *command) {
    struct tui_key first;
    struct buf key = {0}, hint = {0};
    if (tui_bindings_key_of(&views->bindings, screen_here(views)->name, command->name, &first))
        tui_key_print(first, &key);
    if (command->says)
        command->says(views, &hint);
    else
        buf_puts(&hint, command->hint);
    if (hint.len && (key.len || command->place == PLACE_RIGHT))
        put_hint(area, col, key.at ? key.at : "", hint.at);
    buf_free(&key);
    buf_free(&hint);
}

static void put_place(const struct views *views, struct tui_area area, int *col,
                      enum command_place place) {
    const struct command *command;
    for (size_t i = 0; (command = command_at(i)); i++)
        if (command->hint[0] && place_of(views, command) == place &&
            command_is_here(views, command) && command_can(views, command))
            put_command(views, area, col, command);
}

void chrome_keys(struct views *views, struct tui_area area) {
    const struct screen *screen = screen_here(views);
    const char *const *mode = screen->mode_hints ? screen->mode_hints(views) : NULL;
    struct tui_area bar = tui_paper(area, TUI_PAPER_BAR);
    tui_clear(bar);
    if (views->over.is != OVERLAY_NONE) /* these keys go to the box, which names its own */
        return;
    int col = 1, right = area.cols - 27, general = right + 1;
    struct tui_area left = tui_area_part(bar, (struct tui_rect){0, 0, 1, right});
    put_place(views, bar, &general, PLACE_RIGHT);
    for (int i = 0; i < PLACE_RIGHT && !mode; i++)
        put_place(views, left, &col, (enum command_place)i);
    for (; mode && *mode; mode += 2)
        put_hint(left, &col, mode[0], mode[1]);
}

/* The second row of a screen other than the workbench. */
void chrome_title(struct views *views, struct tui_area area) {
    const struct screen *screen = screen_here(views);
    int col = tui_say(tui_ink(area, TUI_TITLE), 0, 1, "%s", screen->name);
    tui_say(tui_ink(area, TUI_DIM), 0, col + 2, "%s", screen->about);
}

/* While the log is read only the name is certain: the rest is still from the past. */
void chrome_opening(const struct views *views, struct tui_area area) {
    const struct tune_state *state = views->state;
    struct tui_rect inner = {MAX_OF(0, area.rows / 2 - 3), 2, area.rows, area.cols - 4};
    struct tui_area box = tui_area_part(area, inner);
    struct buf key = {0};
    struct tui_key quit;
    int percent = (int)(fmin(fmax(state->opened, 0), 1) * 100);
    tui_say(tui_ink(box, TUI_BRAND), 0, 0, "hone");
    tui_put_short(tui_ink(box, TUI_STRONG), 0, (struct tui_rect){0, 6, 1, box.cols - 6},
                  str_of(state->task ? state->task : ""));
    tui_say(box, 1, 0, "opening: %d %%", percent);
    tui_chart_bar(tui_area_part(box, (struct tui_rect){2, 0, 1, MIN_OF(box.cols, 40)}),
                  state->opened, TUI_BAR);
    if (tui_bindings_key_of(&views->bindings, screen_here(views)->name, "leave", &quit)) {
        tui_key_print(quit, &key);
        tui_say(tui_ink(box, TUI_DIM), 4, 0, "%s quits; the session is kept", key.at);
    }
    buf_free(&key);
}

void chrome_notice(struct views *views, struct tui_area area) {
    const struct tune_state *state = views->state;
    struct tui_rect inner = {0, 1, area.rows, area.cols - 2};
    struct tui_area box = tui_area_part(area, inner);
    int row = MAX_OF(0, area.rows / 2 - 3);
    tui_say(tui_ink(box, TUI_BRAND), row++, 0, "hone");
    tui_say(box, row++, 0, "needs %d x %d, this is %d x %d", VIEWS_MIN_COLS, VIEWS_MIN_ROWS,
            area.cols, area.rows);
    if (!state)
        return;
    const struct tune_attempt *best = tune_state_attempt(state, state->best);
    row++;
    tui_say(box, row++, 0, "%s", state->task ? state->task : "");
    tui_say(tui_ink(box, TUI_GOOD), row++, 0, "round %d/%d  best %s  %s", state->round,
            state->rounds, show_latency(best ? best->latency_us : NAN).text,
            show_speedup(best ? best->speedup : NAN).text);
    tui_put_short(tui_ink(box, TUI_WAITING), row, (struct tui_rect){0, 0, 1, box.cols},
                  str_of(state->wait_text ? state->wait_text : ""));
}
