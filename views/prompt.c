/* SPDX-License-Identifier: Apache-2.0 */
/* Screen 9: what the next question to a model will be, part by part with tokens and what it costs,
 * parts that are off or edited; the questions so far, and the texts of one of them. What a change
 * does is core/tune's; calls that run now are drawn by calls.c. */
#include "views/private.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define ANSWER_MARK "======== the answer"

/* ---- what is shown -------------------------------------------------------------------------- */

struct tui_list *prompt_list(struct views *views) {
    return &views->prompt_lists[views->prompt_page];
}

/* Whose question goes out next: that of the one that is held, else as the loop stands. */
static enum tune_role next_role(const struct views *views) {
    const struct tune_call *held = calls_held(views, NULL);
    enum tune_role role = tune_role_next(views->state);
    if (held)
        tune_role_find(held->role, &role);
    return role;
}

enum tune_role prompt_role(const struct views *views) {
    return views->prompt_chosen ? views->prompt_role : next_role(views);
}

/* The question that is held and is what the screen shows; NULL. */
static const struct tune_call *held_here(const struct views *views) {
    const struct tune_call *held = calls_held(views, NULL);
    return held && held->role && !strcmp(held->role, tune_role_word(prompt_role(views))) ? held
                                                                                         : NULL;
}

/* The model that the question on the screen goes to; NULL: none is asked. */
static const struct tune_role_model *prompt_model(const struct views *views) {
    const struct tune_state *state = views->state;
    enum tune_role role = prompt_role(views);
    const struct tune_role_view *row = state->roles ? &state->roles[role] : NULL;
    const struct tune_call *held = held_here(views);
    for (size_t i = 0; held && row && i < row->count; i++)
        if (held->model && !strcmp(row->models[i].name, held->model))
            return &row->models[i];
    return row && row->count ? &row->models[tune_role_turn(state, role, row->count)] : NULL;
}

/* The prompt as it would go out now; built anew when anything happened. */
struct tune_prompt *prompt_parts_now(struct views *views) {
    enum tune_role role = prompt_role(views);
    int call = held_here(views) ? (int)(held_here(views) - views->state->calls.at) : -1;
    if (views->prompt_parts && views->prompt_seq == views->state->seq &&
        views->prompt_built == role && views->prompt_held == call)
        return views->prompt_parts;
    struct tune_context *context = tune_context_question(views->state, role, call);
    tune_prompt_free(views->prompt_parts);
    const struct tune_role_model *model = prompt_model(views);
    views->prompt_parts = tune_prompt_build(context, role, NULL, 0);
    views->prompt_fits = tune_prompt_fit(views->prompt_parts, context, model ? model->most : 0);
    views->prompt_seq = views->state->seq;
    views->prompt_built = role;
    views->prompt_held = call;
    tune_context_free(context);
    return views->prompt_parts;
}

static const struct tune_prompt_part *part_here(struct views *views) {
    struct tune_prompt *prompt = prompt_parts_now(views);
    int row = views->prompt_lists[PROMPT_PARTS].cursor;
    return row >= 0 && (size_t)row < prompt->parts.len ? &prompt->parts.at[row] : NULL;
}

static const char *part_name(const struct tune_prompt_part *part) {
    return *part->name ? part->name : "(before the first heading)";
}

void prompt_forget(struct views *views) {
    tune_prompt_free(views->prompt_parts);
    views->prompt_parts = NULL;
    source_free(&views->prompt);
    buf_clear(&views->prompt_text);
    views->prompt_page = PROMPT_PARTS;
    views->prompt_chosen = false;
    for (int i = 0; i < PROMPT_PAGES; i++)
        views->prompt_lists[i] = (struct tui_list){0};
}

struct str prompt_line(const void *data, int row) {
    const struct views *views = data;
    if (views->prompt_page == PROMPT_TEXT || views->prompt_page == PROMPT_CALL)
        return source_line(&views->prompt, row + 1);
    const struct tune_prompt *prompt = views->prompt_parts;
    if (views->prompt_page == PROMPT_PARTS && prompt && (size_t)row < prompt->parts.len)
        return str_of(prompt->parts.at[row].name);
    if (views->prompt_page == PROMPT_CALLS && (size_t)row < views->state->calls.len)
        return str_of(views->state->calls.at[row].model);
    return STR("");
}

static void text_set(struct views *views) {
    source_free(&views->prompt);
    if (!views->prompt_text.at)
        buf_puts(&views->prompt_text, "");
    source_set(&views->prompt, views->prompt_text.at);
}

static void text_draw(struct views *views, struct tui_area inside, struct tui_list *list) {
    tui_list_fit(list, (int)views->prompt.lines.len, inside.rows);
    views->list_spot = (struct tui_rect){inside.row, inside.col, inside.rows, inside.cols};
    for (int row = 0; row < inside.rows && list->top + row < list->count; row++) {
        struct str text = views->prompt.lines.at[list->top + row];
        bool mark = str_starts(text, "#") || str_starts(text, "====");
        tui_put(mark ? tui_ink(inside, TUI_TITLE) : inside, row, 1 - views->shift, text);
        mark_found(views, inside, row, 1 - views->shift, text);
        if (list->top + row == list->cursor)
            tui_lay_paper(inside, (struct tui_rect){row, 0, 1, inside.cols}, TUI_PAPER_CURSOR);
    }
    tui_list_draw_bar(list, inside);
}

/* ---- the next call -------------------------------------------------------------------------- */

static void draw_part(struct tui_area area, int row, const struct tune_prompt_part *part) {
    struct buf notes = {0};
    bool system = part->is_system && strcmp(part->name, "system") != 0;
    buf_printf(&notes, "%s%s%s", system ? "  system" : "", part->edited ? "  edited" : "",
               part->off ? "  off" : "");
    if (part->left_out && !part->edited)
        buf_printf(&notes, "  %d lines cut", part->left_out);
    enum tui_role ink = part->off ? TUI_DIM : part->edited ? TUI_WAITING : TUI_PLAIN;
    tui_say(tui_ink(area, part->off ? TUI_DIM : TUI_GOOD), row, 1, "%s", part->off ? "○" : "●");
    int end = area.cols - 9;
    int col = tui_put_short(tui_ink(area, ink), row, (struct tui_rect){0, 3, 1, end - 3},
                            str_of(part_name(part)));
    enum tui_role marks = part->off || part->edited || part->left_out ? TUI_WARN : TUI_DIM;
    tui_put_short(tui_ink(area, marks), row, (struct tui_rect){0, col, 1, end - col},
                  buf_str(&notes));
    tui_say_right(tui_ink(area, TUI_DIM), row, area.cols - 1, "%s",
                  part->off ? "-" : show_count(part->tokens).text);
    buf_free(&notes);
}

/* What the question will cost, in a line, and what of it is known, in a second one. */
static void cost_print(const struct views *views, double tokens, struct buf *out, struct buf *why) {
    const struct tune_state *state = views->state;
    const struct tune_role_model *model = prompt_model(views);
    struct tune_asking asking = {.role = prompt_role(views), .prompt = tokens};
    if (!model) {
        buf_printf(out, "about %s tokens%s", show_count(tokens).text,
                   state->read_only ? "" : "; no model is asked");
        return;
    }
    asking.which = (size_t)(model - state->roles[asking.role].models);
    struct tune_expected expected = tune_expect_call(state, &asking);
    double dollars = expected.cost[TUNE_BUDGET_DOLLARS];
    if (model->person) {
        buf_printf(out, "about %s tokens; you answer", show_count(tokens).text);
        return;
    }
    /* Services count other tokens than the parts were estimated at. */
    buf_printf(out, "%s tokens (counted %s)", show_count(tokens).text,
               show_count(expected.prompt).text);
    buf_printf(out, " + answer %s", show_count(expected.answer).text);
    if (isnan(dollars))
        buf_printf(out, "; price of %s not known", model->name);
    else
        buf_printf(out, ": %s", show_dollars(dollars).text);
    if (!views->prompt_fits) {
        buf_printf(why, "too long: %s takes %s; Space switches parts off", model->name,
                   show_count(model->most).text);
        return;
    }
    buf_puts(why, expected.own ? "answers as long as before" : "no answer yet: a guess");
    if (expected.cached >= 0.005)
        buf_printf(why, ", %.0f %% read from the cache", expected.cached * 100);
    for (int i = TUNE_BUDGET_TOKENS; i <= TUNE_BUDGET_DOLLARS; i++) {
        double left = tune_budget_left(state, (enum tune_budget)i);
        buf_puts(why, isnan(left) ? "" : "; left ");
        if (!isnan(left))
            tune_amount_print(why, (enum tune_budget)i, fmax(left, 0));
    }
}

static void parts_title(const struct views *views, struct buf *out) {
    enum tune_role role = prompt_role(views);
    const struct tune_role_model *model = prompt_model(views);
    const struct tune_call *held = held_here(views);
    buf_printf(out, "%s%s",
               held                       ? "not sent yet: "
               : role == next_role(views) ? "next: "
                                          : "",
               tune_role_word(role));
    if (model)
        buf_printf(out, ", %s", model->name);
    int lane = held ? held->lane : views->state->lane;
    if (lane >= 0 && lanes_any(views))
        buf_printf(out, ", lane %d", lane + 1);
    if (held && held->mends >= 0)
        buf_puts(out, ", again");
    if (!held && model && views->state->holds)
        buf_puts(out, ", will wait for you");
}

static void draw_parts(struct views *views, struct tui_area body) {
    struct tune_prompt *prompt = prompt_parts_now(views);
    struct tui_list *list = &views->prompt_lists[PROMPT_PARTS];
    bool wide = body.cols >= 110;
    int rows = wide ? body.rows : MIN_OF((int)prompt->parts.len + 4, body.rows - 6);
    struct tui_rect one = {0, 0, MAX_OF(rows, 5), wide ? 56 : body.cols};
    struct tui_rect two = {wide ? 0 : one.rows, wide ? 56 : 0, body.rows - (wide ? 0 : one.rows),
                           body.cols - (wide ? 56 : 0)};
    struct buf title = {0}, cost = {0}, why = {0};
    parts_title(views, &title);
    struct tui_area inside = tui_frame(tui_area_part(body, one), true, title.at, "tokens");
    struct tui_area table =
        tui_area_part(inside, (struct tui_rect){0, 0, inside.rows - 2, inside.cols});
    tui_list_fit(list, (int)prompt->parts.len, table.rows);
    views->list_spot = (struct tui_rect){table.row, table.col, table.rows, table.cols};
    for (int row = 0; row < table.rows && list->top + row < list->count; row++) {
        draw_part(table, row, &prompt->parts.at[list->top + row]);
        if (list->top + row == list->cursor)
            tui_lay_paper(table, (struct tui_rect){row, 0, 1, table.cols}, TUI_PAPER_CURSOR);
    }
    tui_list_draw_bar(list, table);
    cost_print(views, tune_prompt_tokens(prompt), &cost, &why);
    struct tui_rect line = {0, 1, 1, inside.cols - 2};
    tui_put_short(tui_ink(inside, TUI_STRONG), inside.rows - 2, line, buf_str(&cost));
    tui_put_short(tui_ink(inside, TUI_DIM), inside.rows - 1, line, buf_str(&why));
    const struct tune_prompt_part *part = part_here(views);
    struct tui_area text =
        tui_frame(tui_area_part(body, two), false, part ? part_name(part) : "", "Enter opens it");
    if (part)
        tui_put_wrapped(
            tui_ink(tui_area_part(text, (struct tui_rect){0, 1, text.rows, text.cols - 2}),
                    part->off ? TUI_DIM : TUI_PLAIN),
            0, part->text);
    buf_free(&title);
    buf_free(&cost);
    buf_free(&why);
}

static void draw_part_text(struct views *views, struct tui_area body) {
    const struct tune_prompt_part *part = part_here(views);
    struct buf note = {0};
    buf_clear(&views->prompt_text);
    if (part)
        buf_add(&views->prompt_text, part->text.at, part->text.len);
    text_set(views);
    if (part)
        buf_printf(&note, "%s%s%s tokens", part->off ? "off, " : "", part->edited ? "edited, " : "",
                   show_count(tune_tokens_estimate(part->text)).text);
    struct tui_area inside =
        tui_frame(body, true, part ? part_name(part) : "", note.at ? note.at : "");
    text_draw(views, inside, &views->prompt_lists[PROMPT_TEXT]);
    buf_free(&note);
}

/* ---- the calls so far ----------------------------------------------------------------------- */

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

/* The columns right of the model's name, from the left; without a state where it is narrow. */
static void draw_call(const struct views *views, struct tui_area area, int row, size_t number) {
    const struct tune_call *call = &views->state->calls.at[number];
    bool runs = !call->ended_ms && !call->waits && !call->held;
    struct shown output = show_count(call->output);
    if (runs && call->live.len)
        snprintf(output.text, sizeof output.text, "~%.20s",
                 show_count(tune_tokens_estimate(buf_str(&call->live))).text);
    double elapsed = runs ? (double)(views->now_ms - call->asked_ms) * 1e-3 : call->elapsed_s;
    /* What went into the cache was read anew; what came from it was not. */
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
    tui_say_right(tui_ink(area, TUI_DIM), row, 4, "%zu", number);
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

static void draw_call_head(struct tui_area area) {
    static const struct {
        const char *name;
        int width;
    } cols[] = {{"in", 7}, {"out", 7}, {"cached", 7}, {"cost", 9}, {"first", 8}, {"whole", 8}};
    struct tui_area ink = tui_ink(area, TUI_DIM);
    int col = area.cols >= 110 ? 40 : 27;
    tui_say(ink, 0, 7, "role");
    tui_say(ink, 0, 18, "model");
    for (size_t i = 0; i < COUNT_OF(cols); i++)
        tui_say_right(ink, 0, col += cols[i].width, "%s", cols[i].name);
}

static int put_line(struct tui_area area, int row, const char *name, const char *text) {
    if (!text || !*text || row >= area.rows)
        return row;
    tui_say(tui_ink(area, TUI_DIM), row, 1, "%s", name);
    struct tui_rect rest = {row, 11, area.rows - row, area.cols - 12};
    return row + tui_put_wrapped(tui_area_part(area, rest), 0, str_of(text));
}

static void draw_call_detail(struct tui_area area, const struct tune_call *call) {
    struct buf text = {0};
    buf_printf(&text, "round %d, ", call->round);
    if (call->lane >= 0)
        buf_printf(&text, "lane %d, ", call->lane + 1);
    buf_printf(&text, "%s; %d %s; Enter shows prompt and answer",
               show_clock(call->asked_ms, 1).text, call->tries ? call->tries : 1,
               call->tries > 1 ? "tries" : "try");
    int row = put_line(area, 0, "asked", text.at);
    buf_clear(&text);
    buf_printf(&text,
               "of the prompt %s read from the cache, %s written to it; it was estimated at %s",
               show_count(call->cache_read).text, show_count(call->cache_write).text,
               show_count(call->estimate).text);
    row = put_line(area, row, "tokens", text.at);
    if (call->mends >= 0) {
        buf_clear(&text);
        buf_printf(&text, "the answer to question %d, which could not be used", call->mends);
        row = put_line(area, row, "mends", text.at);
    }
    put_line(area, row,
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

static void draw_calls(struct views *views, struct tui_area body) {
    const struct tune_state *state = views->state;
    struct tui_list *list = &views->prompt_lists[PROMPT_CALLS];
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
    tui_list_fit(list, (int)state->calls.len, table.rows);
    views->list_spot = (struct tui_rect){table.row, table.col, table.rows, table.cols};
    draw_call_head(inside);
    for (int row = 0; row < table.rows && list->top + row < list->count; row++) {
        draw_call(views, table, row, (size_t)(list->top + row));
        if (list->top + row == list->cursor)
            tui_lay_paper(table, (struct tui_rect){row, 0, 1, table.cols}, TUI_PAPER_CURSOR);
    }
    tui_list_draw_bar(list, table);
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
    buf_puts(out, "\n" ANSWER_MARK "\n");
    if (call->answer || call->ended_ms)
        add_artefact(views, call->answer, call->failure ? call->failure : "(nothing came)", out);
    else if (call->live.len)
        buf_add(out, call->live.at, call->live.len);
}

void prompt_call_open(struct views *views, int number) {
    if (number < 0 || (size_t)number >= views->state->calls.len)
        return;
    buf_clear(&views->prompt_text);
    prompt_call_print(views, number, &views->prompt_text);
    text_set(views);
    views->prompt_call = number;
    views->prompt_page = PROMPT_CALL;
    views->prompt_lists[PROMPT_CALL] = (struct tui_list){0};
}

static void draw_call_text(struct views *views, struct tui_area body) {
    const struct tune_state *state = views->state;
    size_t number = (size_t)views->prompt_call;
    struct buf title = {0};
    if (number < state->calls.len)
        buf_printf(&title, "question %zu: %s, %s", number, state->calls.at[number].role,
                   state->calls.at[number].model);
    struct tui_area inside =
        tui_frame(body, true, title.at ? title.at : "", "Tab: prompt or answer");
    text_draw(views, inside, &views->prompt_lists[PROMPT_CALL]);
    buf_free(&title);
}

void prompt_draw(struct views *views, struct tui_area area) {
    static void (*const pages[PROMPT_PAGES])(struct views *,
                                             struct tui_area) = {[PROMPT_PARTS] = draw_parts,
                                                                 [PROMPT_TEXT] = draw_part_text,
                                                                 [PROMPT_CALLS] = draw_calls,
                                                                 [PROMPT_CALL] = draw_call_text};
    pages[views->prompt_page](views, chrome_screen(views, area));
}

/* ---- what the keys do ----------------------------------------------------------------------- */

void prompt_enter(struct views *views, struct views_request *request) {
    (void)request;
    if (views->prompt_page == PROMPT_CALLS) {
        prompt_call_open(views, views->prompt_lists[PROMPT_CALLS].cursor);
    } else if (views->prompt_page == PROMPT_PARTS && part_here(views)) {
        views->prompt_page = PROMPT_TEXT;
        views->prompt_lists[PROMPT_TEXT] = (struct tui_list){0};
    }
}

bool prompt_back(struct views *views) {
    static const enum prompt_page up[PROMPT_PAGES] = {
        [PROMPT_TEXT] = PROMPT_PARTS, [PROMPT_CALL] = PROMPT_CALLS};
    enum prompt_page page = views->prompt_page;
    views->prompt_page = up[page];
    return page != PROMPT_PARTS;
}

/* In the texts of a call: from the prompt to the answer and back. */
static void other_text(struct views *views) {
    struct tui_list *list = &views->prompt_lists[PROMPT_CALL];
    int answer = 0;
    for (size_t i = 0; i < views->prompt.lines.len; i++)
        if (str_starts(views->prompt.lines.at[i], ANSWER_MARK))
            answer = (int)i;
    int to = list->cursor >= answer ? 0 : answer;
    list->top = to;
    tui_list_go(list, to);
}

void prompt_calls(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    if (views->prompt_page == PROMPT_CALL)
        other_text(views);
    else if (views->prompt_page == PROMPT_CALLS)
        views->prompt_page = PROMPT_PARTS;
    else
        views->prompt_page = PROMPT_CALLS;
    if (views->prompt_page == PROMPT_CALLS && !views->prompt_lists[PROMPT_CALLS].cursor)
        views->prompt_lists[PROMPT_CALLS].cursor = (int)views->state->calls.len - 1;
}

void prompt_next_role(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    views->prompt_role = (prompt_role(views) + 1) % TUNE_ROLES;
    views->prompt_chosen = views->prompt_role != next_role(views);
    views->prompt_page = PROMPT_PARTS;
    views->prompt_lists[PROMPT_PARTS] = (struct tui_list){0};
}

bool prompt_has_part(const struct views *views) {
    return views->prompt_page == PROMPT_PARTS || views->prompt_page == PROMPT_TEXT;
}

static void part_act(struct views *views, enum tune_action_kind kind) {
    const struct tune_prompt_part *part = part_here(views);
    if (part)
        views_act(views, &(struct tune_action){
                             .kind = kind, .role = prompt_role(views), .part = part->name});
}

void prompt_switch(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    part_act(views, TUNE_ACT_SWITCH_PART);
}

bool prompt_is_edited(const struct views *views) {
    const struct tune_prompt *prompt = views->prompt_parts;
    int row = views->prompt_lists[PROMPT_PARTS].cursor;
    return prompt_has_part(views) && prompt && row >= 0 && (size_t)row < prompt->parts.len &&
           prompt->parts.at[row].edited;
}

void prompt_restore(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    part_act(views, TUNE_ACT_RESTORE_PART);
}

void prompt_hold(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    if (views_act(views, &(struct tune_action){.kind = TUNE_ACT_HOLD}))
        views_say(views, false,
                  views->state->holds ? "each question waits until you send it"
                                      : "questions go out at once");
}

void prompt_edit(struct views *views, struct views_request *request) {
    const struct tune_prompt_part *part = part_here(views);
    if (!part || !prompt_has_part(views)) {
        views_say(views, false, "Tab goes back to the parts of the next question");
        return;
    }
    buf_clear(&views->edit_text);
    buf_add(&views->edit_text, part->text.at, part->text.len);
    snprintf(views->edit_part, sizeof views->edit_part, "%s", part->name);
    act_open_editor(views,
                    (struct tune_action){.kind = TUNE_ACT_EDIT_PART,
                                         .role = prompt_role(views),
                                         .part = views->edit_part},
                    "part.md", request);
}
