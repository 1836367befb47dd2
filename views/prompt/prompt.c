/* SPDX-License-Identifier: Apache-2.0 */
/* Screen 9: what the next question to a model will be, part by part, with tokens and cost, and with
 * parts that are off or edited. core/tune knows what a change does. */
#include "views/prompt/private.h"

#include <math.h>
#include <stdio.h>

/* ---- what is shown -------------------------------------------------------------------------- */

struct prompt *prompt_of(const struct views *views) {
    return views->own[VIEW_PROMPT];
}

static struct tui_list *prompt_list(struct views *views) {
    return &prompt_of(views)->lists[prompt_of(views)->page];
}

/* The role whose question goes out next: that of a question that is held, else as the loop
 * stands. */
static enum tune_role next_role(const struct views *views) {
    const struct tune_call *held = calls_held(views, NULL);
    enum tune_role role = tune_role_next(views->state, views->lane);
    if (held)
        tune_role_find(held->role, &role);
    return role;
}

static enum tune_role prompt_role(const struct views *views) {
    return prompt_of(views)->chosen ? prompt_of(views)->role : next_role(views);
}

/* The question that is held, when it is the one on the screen; NULL. */
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
    struct prompt *screen = prompt_of(views);
    enum tune_role role = prompt_role(views);
    int call = held_here(views) ? (int)(held_here(views) - views->state->calls.at) : -1;
    int lane = call >= 0 && lanes_any(views) ? held_here(views)->lane : views->lane;
    if (screen->parts && screen->seq == views->state->seq && screen->built == role &&
        screen->held == call && screen->lane == lane)
        return screen->parts;
    struct tune_context *context = tune_context_question(views->state, lane, role, call);
    tune_prompt_free(screen->parts);
    const struct tune_role_model *model = prompt_model(views);
    screen->parts = tune_prompt_build(context, role, NULL, 0);
    screen->fits = tune_prompt_fit(screen->parts, context, model ? model->most : 0);
    screen->seq = views->state->seq;
    screen->built = role;
    screen->held = call;
    screen->lane = lane;
    tune_context_free(context);
    return screen->parts;
}

static const struct tune_prompt_part *part_here(struct views *views) {
    struct tune_prompt *prompt = prompt_parts_now(views);
    int row = prompt_of(views)->lists[PROMPT_PARTS].cursor;
    return row >= 0 && (size_t)row < prompt->parts.len ? &prompt->parts.at[row] : NULL;
}

static const char *part_name(const struct tune_prompt_part *part) {
    return *part->name ? part->name : "(before the first heading)";
}

static void prompt_forget(struct views *views) {
    struct prompt *screen = prompt_of(views);
    tune_prompt_free(screen->parts);
    screen->parts = NULL;
    source_free(&screen->lines);
    buf_free(&screen->text);
    screen->seq = -1;
    screen->page = PROMPT_PARTS;
    screen->chosen = false;
    for (int i = 0; i < PROMPT_PAGES; i++)
        screen->lists[i] = (struct tui_list){0};
}

static struct str prompt_line(const void *data, int row) {
    const struct views *views = data;
    const struct prompt *screen = prompt_of(views);
    if (screen->page == PROMPT_TEXT || screen->page == PROMPT_CALL)
        return source_line(&screen->lines, row + 1);
    const struct tune_prompt *prompt = screen->parts;
    if (screen->page == PROMPT_PARTS && prompt && (size_t)row < prompt->parts.len)
        return str_of(prompt->parts.at[row].name);
    if (screen->page == PROMPT_CALLS && (size_t)row < views->state->calls.len)
        return str_of(views->state->calls.at[row].model);
    return STR("");
}

void prompt_text_set(struct views *views) {
    struct prompt *screen = prompt_of(views);
    source_free(&screen->lines);
    if (!screen->text.at)
        buf_puts(&screen->text, "");
    source_set(&screen->lines, screen->text.at);
}

static void draw_text_row(struct views *views, struct tui_area area, int row, int index) {
    struct str text = prompt_of(views)->lines.lines.at[index];
    bool mark = str_starts(text, "#") || str_starts(text, "====");
    struct tui_area rest = tui_area_part(area, (struct tui_rect){row, 1, 1, area.cols - 2});
    source_draw_plain(mark ? tui_ink(rest, TUI_TITLE) : rest, 0, views->shift, text);
    find_mark(views, rest, 0, -views->shift, text);
}

void prompt_text_draw(struct views *views, struct tui_area inside, struct tui_list *list) {
    rows_draw(views, inside, list, (int)prompt_of(views)->lines.lines.len, draw_text_row);
}

/* ---- the next call -------------------------------------------------------------------------- */

#define PRICE_COLS 9 /* "<$0.0001", and a gap */

static double expected_dollars(const struct views *views, const struct tune_role_model *model,
                               double tokens) {
    struct tune_asking asking = {.role = prompt_role(views), .prompt = tokens};
    asking.which = (size_t)(model - views->state->roles[asking.role].models);
    return tune_expect_call(views->state, &asking).cost[TUNE_BUDGET_DOLLARS];
}

/* What the question would cost less without the part; NAN: the model has no price. */
static double part_dollars(const struct views *views, const struct tune_prompt_part *part) {
    const struct tune_role_model *model = prompt_model(views);
    if (!model || model->person)
        return NAN;
    double all = tune_prompt_tokens(prompt_of(views)->parts);
    return expected_dollars(views, model, all) - expected_dollars(views, model, all - part->tokens);
}

static void draw_part(struct views *views, struct tui_area area, int row, int index) {
    const struct tune_prompt_part *part = &prompt_of(views)->parts->parts.at[index];
    struct buf notes = {0};
    bool system = part->is_system && strcmp(part->name, "system") != 0;
    buf_printf(&notes, "%s%s%s", system ? "  system" : "", part->edited ? "  edited" : "",
               part->off ? "  off" : "");
    if (part->left_out && !part->edited)
        buf_printf(&notes, "  %d line%s cut", part->left_out, PLURAL(part->left_out));
    enum tui_role ink = part->off ? TUI_DIM : part->edited ? TUI_WAITING : TUI_PLAIN;
    tui_say(tui_ink(area, part->off ? TUI_DIM : TUI_GOOD), row, 1, "%s", part->off ? "○" : "●");
    double dollars = part_dollars(views, part);
    int right = isfinite(dollars) ? area.cols - PRICE_COLS : area.cols;
    int end = right - 9, from = part->is_page ? 5 : 3;
    int col = tui_put_short(tui_ink(area, ink), row, (struct tui_rect){0, from, 1, end - from},
                            str_of(part_name(part)));
    enum tui_role marks = part->off || part->edited || part->left_out ? TUI_WARN : TUI_DIM;
    tui_put_short(tui_ink(area, marks), row, (struct tui_rect){0, col, 1, end - col},
                  buf_str(&notes));
    tui_say_right(tui_ink(area, TUI_DIM), row, right - 1, "%s",
                  part->off ? "-" : show_count(part->tokens).text);
    if (isfinite(dollars) && !part->off)
        tui_say_right(tui_ink(area, TUI_DIM), row, area.cols - 1, "%s",
                      dollars < 1e-4 ? "<$0.0001" : show_dollars(dollars).text);
    buf_free(&notes);
}

static void asks_print(const struct tune_state *state, struct buf *why) {
    struct buf asks = {0};
    tune_asks_print(state, &asks);
    if (asks.len)
        buf_printf(why, "%s%s", why->len ? "; " : "", asks.at);
    buf_free(&asks);
}

/* What the question will cost, in a line; in a second one, how much of that is known. */
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
    /* Services count tokens in another way than the parts were estimated. */
    buf_printf(out, "%s tokens (counted %s)", show_count(tokens).text,
               show_count(expected.prompt).text);
    buf_printf(out, " + answer %s", show_count(expected.answer).text);
    if (isnan(dollars)) /* the model is in the title, and a narrow line has no room for it again */
        buf_puts(why, "price not known");
    else
        buf_printf(out, ": %s", show_dollars(dollars).text);
    if (!prompt_of(views)->fits) {
        buf_clear(why);
        buf_printf(why, "too long: %s takes %s; Space switches parts off", model->name,
                   show_count(model->most).text);
        return;
    }
    if (asking.role == TUNE_ROLE_PLANNER)
        asks_print(state, why);
    buf_printf(why, "%s%s", why->len ? "; " : "",
               expected.own ? "answers as long as before" : "no answer yet: a guess");
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
    if (role == TUNE_ROLE_PLANNER && (held ? held->once : tune_asks_for_both(views->state)))
        buf_puts(out, ", plan and kernel");
    int lane = held ? held->lane : views->lane;
    if (lane >= 0 && lanes_any(views))
        buf_printf(out, ", lane %d", lane + 1);
    if (held && held->mends >= 0)
        buf_puts(out, ", again");
    if (!held && model && views->state->holds)
        buf_puts(out, ", will wait for you");
}

static void draw_parts(struct views *views, struct tui_area body) {
    struct tune_prompt *prompt = prompt_parts_now(views);
    struct tui_list *list = &prompt_of(views)->lists[PROMPT_PARTS];
    bool wide = body.cols >= 110;
    int rows = wide ? body.rows : MIN_OF((int)prompt->parts.len + 4, body.rows - 6);
    struct tui_rect one = {0, 0, MAX_OF(rows, 5), wide ? 56 : body.cols};
    struct tui_rect two = {wide ? 0 : one.rows, wide ? 56 : 0, body.rows - (wide ? 0 : one.rows),
                           body.cols - (wide ? 56 : 0)};
    struct buf title = {0}, cost = {0}, why = {0};
    parts_title(views, &title);
    bool priced = prompt->parts.len && isfinite(part_dollars(views, &prompt->parts.at[0]));
    struct tui_area inside =
        tui_frame(tui_area_part(body, one), true, title.at, priced ? "tokens, price" : "tokens");
    struct tui_area table =
        tui_area_part(inside, (struct tui_rect){0, 0, inside.rows - 2, inside.cols});
    rows_draw(views, table, list, (int)prompt->parts.len, draw_part);
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
    buf_clear(&prompt_of(views)->text);
    if (part)
        buf_add(&prompt_of(views)->text, part->text.at, part->text.len);
    prompt_text_set(views);
    if (part)
        buf_printf(&note, "%s%s%s tokens", part->off ? "off, " : "", part->edited ? "edited, " : "",
                   show_count(tune_tokens_estimate(part->text)).text);
    struct tui_area inside =
        tui_frame(body, true, part ? part_name(part) : "", note.at ? note.at : "");
    prompt_text_draw(views, inside, &prompt_of(views)->lists[PROMPT_TEXT]);
    buf_free(&note);
}

static void prompt_draw(struct views *views, struct tui_area area) {
    static void (*const pages[PROMPT_PAGES])(struct views *,
                                             struct tui_area) = {[PROMPT_PARTS] = draw_parts,
                                                                 [PROMPT_TEXT] = draw_part_text,
                                                                 [PROMPT_CALLS] = prompt_calls_draw,
                                                                 [PROMPT_CALL] = prompt_call_draw};
    pages[prompt_of(views)->page](views, area);
}

/* ---- what the keys do ----------------------------------------------------------------------- */

static void prompt_enter(struct views *views, struct views_request *request) {
    struct prompt *screen = prompt_of(views);
    (void)request;
    if (screen->page == PROMPT_CALLS) {
        prompt_call_open(views, screen->lists[PROMPT_CALLS].cursor);
    } else if (screen->page == PROMPT_PARTS && part_here(views)) {
        screen->page = PROMPT_TEXT;
        screen->lists[PROMPT_TEXT] = (struct tui_list){0};
    }
}

static bool prompt_back(struct views *views) {
    struct prompt *screen = prompt_of(views);
    static const enum prompt_page up[PROMPT_PAGES] = {
        [PROMPT_TEXT] = PROMPT_PARTS, [PROMPT_CALL] = PROMPT_CALLS};
    enum prompt_page page = screen->page;
    screen->page = up[page];
    if (page != PROMPT_PARTS)
        views->shift = 0;
    return page != PROMPT_PARTS;
}

/* In the texts of a call: from the prompt to the answer and back. */
static void other_text(struct views *views) {
    struct prompt *screen = prompt_of(views);
    struct tui_list *list = &screen->lists[PROMPT_CALL];
    int answer = 0;
    for (size_t i = 0; i < screen->lines.lines.len; i++)
        if (str_starts(screen->lines.lines.at[i], PROMPT_ANSWER_MARK))
            answer = (int)i;
    int to = list->cursor >= answer ? 0 : answer;
    list->top = to;
    tui_list_go(list, to);
}

static void do_calls(struct views *views, struct str args, struct views_request *request) {
    struct prompt *screen = prompt_of(views);
    (void)args;
    (void)request;
    if (screen->page == PROMPT_CALL)
        other_text(views);
    else if (screen->page == PROMPT_CALLS)
        screen->page = PROMPT_PARTS;
    else
        screen->page = PROMPT_CALLS;
    if (screen->page == PROMPT_CALLS && !screen->lists[PROMPT_CALLS].cursor)
        screen->lists[PROMPT_CALLS].cursor = (int)views->state->calls.len - 1;
}

static void do_next_role(struct views *views, struct str args, struct views_request *request) {
    struct prompt *screen = prompt_of(views);
    (void)args;
    (void)request;
    screen->role = (prompt_role(views) + 1) % TUNE_ROLES;
    screen->chosen = screen->role != next_role(views);
    screen->page = PROMPT_PARTS;
    screen->lists[PROMPT_PARTS] = (struct tui_list){0};
}

static bool prompt_has_part(const struct views *views) {
    struct prompt *screen = prompt_of(views);
    return screen->page == PROMPT_PARTS || screen->page == PROMPT_TEXT;
}

static void part_act(struct views *views, enum tune_action_kind kind) {
    const struct tune_prompt_part *part = part_here(views);
    if (part)
        views_act(views, &(struct tune_action){
                             .kind = kind, .role = prompt_role(views), .part = part->name});
}

static void do_switch(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    part_act(views, TUNE_ACT_SWITCH_PART);
}

static bool prompt_is_edited(const struct views *views) {
    const struct tune_prompt *prompt = prompt_of(views)->parts;
    int row = prompt_of(views)->lists[PROMPT_PARTS].cursor;
    return prompt_has_part(views) && prompt && row >= 0 && (size_t)row < prompt->parts.len &&
           prompt->parts.at[row].edited;
}

static void do_restore(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    part_act(views, TUNE_ACT_RESTORE_PART);
}

static void do_hold(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    if (views_act(views, &(struct tune_action){.kind = TUNE_ACT_HOLD}))
        views_say(views, false,
                  views->state->holds ? "each question waits until you send it"
                                      : "questions go out at once");
}

static void prompt_edit(struct views *views, struct views_request *request) {
    struct prompt *screen = prompt_of(views);
    const struct tune_prompt_part *part = part_here(views);
    if (!part || !prompt_has_part(views)) {
        views_say(views, false, "Tab goes back to the parts of the next question");
        return;
    }
    buf_clear(&views->editing.text);
    buf_add(&views->editing.text, part->text.at, part->text.len);
    snprintf(screen->edited, sizeof screen->edited, "%s", part->name);
    act_open_editor(views,
                    (struct tune_action){.kind = TUNE_ACT_EDIT_PART,
                                         .role = prompt_role(views),
                                         .part = screen->edited},
                    "part.md", 0, request);
}

static void calls_says(const struct views *views, struct buf *out) {
    static const char *const hints[PROMPT_PAGES] = {"calls", "calls", "parts", "prompt/answer"};
    buf_puts(out, hints[prompt_of(views)->page]);
}

/* The hint of the key that holds questions. On other pages the row has no room for it. */
static void hold_says(const struct views *views, struct buf *out) {
    if (prompt_has_part(views))
        buf_puts(out, views->state->holds ? "send at once" : "hold");
}

static int prompt_page(const struct views *views) {
    return (int)prompt_of(views)->page;
}

static void prompt_open(struct views *views) {
    prompt_of(views)->seq = -1;
}

#define NONE TUNE_ACTIONS
static const struct command commands[] = {
    {"switch-part", "on/off", "leave this part out of this role's prompts, or put it back",
     WHERE_OWN, PLACE_EDIT, NONE, do_switch, prompt_has_part, NULL},
    {"restore-part", "restore", "restore the template's text of an edited part", WHERE_OWN,
     PLACE_EDIT, NONE, do_restore, prompt_is_edited, NULL},
    {"calls", "calls", "show the next question or earlier ones; there: its prompt or its answer",
     WHERE_OWN, PLACE_EDIT, NONE, do_calls, NULL, calls_says},
    {"next-role", "role", "show what another role would be asked", WHERE_OWN, PLACE_EDIT, NONE,
     do_next_role, prompt_has_part, NULL},
    {"hold", "hold",
     "hold each question until you have looked at it and send it; again: send questions at once",
     WHERE_OWN, PLACE_EDIT, TUNE_ACT_HOLD, do_hold, NULL, hold_says},
};

const struct screen prompt_screen = {
    .name = "prompt",
    .about = "what goes to a model next, and what went before",
    .command = {"prompt", "",
                "screen 9: what goes to a model next, part by part, and what went before",
                WHERE_TUNING, PLACE_OPEN, NONE, NULL, NULL, NULL},
    .key = "9",
    .takes = "approve send answer answer-here",
    .keys = "n next-match\nN previous-match\nSpace switch-part\ne edit\nx restore-part\n"
            "Tab calls\no next-role\ni answer\np answer-here\nS send\nh hold\n",
    .commands = commands,
    .n_commands = COUNT_OF(commands),
    .size = sizeof(struct prompt),
    .open = prompt_open,
    .forget = prompt_forget,
    .draw = prompt_draw,
    .page = prompt_page,
    .list = prompt_list,
    .line_of = prompt_line,
    .find = prompt_find,
    .back = prompt_back,
    .enter = prompt_enter,
    .edit = prompt_edit,
    .can_edit = prompt_has_part,
};
