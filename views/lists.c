/* SPDX-License-Identifier: Apache-2.0 */
/* The screens that are a list with a detail below: notes, memory, settings, start. */
#include "views/private.h"

#include <math.h>
#include <stdio.h>

/* A framed list at the top and a frame for what is under the cursor below. */
struct pair {
    struct tui_area list, detail;
};

/* `more`: rows that the frame below has more than its share, where there is room. */
static struct pair draw_pair(struct views *views, struct tui_area body, int more,
                             const char *const titles[3]) {
    const char *title = titles[0], *note = titles[1], *below = titles[2];
    int share = MAX_OF(body.rows / 2 - 1, 6);
    int detail = MIN_OF(MAX_OF(share, MIN_OF(share + more, body.rows - 6)), 14);
    struct tui_rect upper = {0, 0, body.rows - detail, body.cols};
    struct tui_rect lower = {body.rows - detail, 0, detail, body.cols};
    struct pair pair = {tui_frame(tui_area_part(body, upper), true, title, note),
                        tui_frame(tui_area_part(body, lower), false, below, "")};
    views->list_spot =
        (struct tui_rect){pair.list.row, pair.list.col, pair.list.rows, pair.list.cols};
    return pair;
}

static void lay_cursor(struct tui_area area, const struct tui_list *list, int row) {
    if (list->top + row == list->cursor)
        tui_lay_paper(area, (struct tui_rect){row, 0, 1, area.cols}, TUI_PAPER_CURSOR);
}

static int put_field(struct tui_area area, int row, const char *name, const char *text) {
    if (!text || !*text || row >= area.rows)
        return row;
    tui_say(tui_ink(area, TUI_DIM), row, 1, "%s", name);
    struct tui_rect rest = {row, 13, area.rows - row, area.cols - 14};
    return row + tui_put_wrapped(tui_area_part(area, rest), 0, str_of(text));
}

/* ---- notes ---------------------------------------------------------------------------------- */

static const struct {
    const char *glyph;
    enum tui_role role;
} categories[TUNE_CATEGORIES] = {
    [TUNE_CATEGORY_IMPROVED] = {"✓", TUI_GOOD},   [TUNE_CATEGORY_NO_IMPROVEMENT] = {"=", TUI_DIM},
    [TUNE_CATEGORY_REGRESSION] = {"↓", TUI_WARN}, [TUNE_CATEGORY_ERROR] = {"✗", TUI_BAD},
    [TUNE_CATEGORY_REJECTED] = {"×", TUI_DIM},
};

static const char *held_word(enum tune_answer held) {
    static const char *const words[TUNE_ANSWERS] = {"-", "failed", "held", "open"};
    return words[held];
}

static void draw_note(struct tui_area area, int row, const struct tune_note *note) {
    struct tui_area ink = note->dropped ? tui_ink(area, TUI_DIM) : area;
    tui_say(tui_ink(area, TUI_KEY), row, 1, "%s", note->pinned ? "▸" : " ");
    tui_say(tui_ink(area, TUI_DIM), row, 3, "round %-3d", note->round);
    tui_say(tui_ink(area, categories[note->category].role), row, 13, "%s %s",
            categories[note->category].glyph, tune_category_word(note->category));
    tui_say(ink, row, 31, "%s", held_word(note->held));
    tui_put_short(ink, row, (struct tui_rect){0, 40, 1, area.cols - 42}, str_of(note->lesson));
    if (note->dropped)
        tui_say_right(tui_ink(area, TUI_WARN), row, area.cols - 1, " dropped");
}

static const char *diagnosis_word(enum tune_answer diagnosis) {
    static const char *const words[TUNE_ANSWERS] = {"not judged", "wrong", "right", "unclear"};
    return words[diagnosis];
}

static void draw_note_detail(struct tui_area area, const struct tune_note *note) {
    char text[128];
    int row = put_field(area, 0, "lesson", note->lesson);
    row = put_field(area, row, "evidence", note->evidence);
    row = put_field(area, row, "plan", note->plan);
    snprintf(text, sizeof text, "%s; entered %d prompt%s%s%s%s",
             note->held == TUNE_ANSWER_UNKNOWN ? "none" : held_word(note->held), note->entered,
             note->entered == 1 ? "" : "s", note->pinned ? "; pinned" : "",
             note->dropped ? "; dropped" : "", note->edited ? "; edited by you" : "");
    row = put_field(area, row, "prediction", text);
    snprintf(text, sizeof text, "%s%s%.60s", diagnosis_word(note->diagnosis),
             note->author ? ", says " : "", note->author ? note->author : "");
    put_field(area, row, "diagnosis", text);
}

void notes_draw(struct views *views, struct tui_area area) {
    const struct tune_state *state = views->state;
    struct tui_area body = chrome_screen(views, area);
    const char *const titles[] = {"notes", "▸ pinned", views->scores ? "scores" : "note"};
    struct pair pair = draw_pair(views, body, views->scores ? 4 : 0, titles);
    struct tui_list *list = &views->notes_list;
    tui_list_fit(list, (int)state->notes.len, pair.list.rows);
    for (int row = 0; row < pair.list.rows && list->top + row < list->count; row++) {
        draw_note(pair.list, row, &state->notes.at[list->top + row]);
        lay_cursor(pair.list, list, row);
    }
    tui_list_draw_bar(list, pair.list);
    if (views->scores)
        scores_draw(views, pair.detail);
    else if (list->count)
        draw_note_detail(pair.detail, &state->notes.at[list->cursor]);
    if (!list->count)
        tui_say(tui_ink(pair.list, TUI_DIM), 1, 2,
                "No notes yet: the reflect step writes one after every round.");
}

/* ---- memory --------------------------------------------------------------------------------- */

#define ORIGIN_COLS 100 /* where there is room for whose it is */

static void draw_experience(const struct tune_state *state, struct tui_area area, int row,
                            const struct tune_experience *item) {
    static const enum tui_role roles[TUNE_EXPERIENCE_STATES] = {
        [TUNE_EXPERIENCE_PROPOSED] = TUI_WAITING,
        [TUNE_EXPERIENCE_APPROVED] = TUI_GOOD,
        [TUNE_EXPERIENCE_EXPIRED] = TUI_DIM,
        [TUNE_EXPERIENCE_DELETED] = TUI_DIM};
    tui_say(tui_ink(area, roles[item->is]), row, 1, "%s", tune_experience_word(item->is));
    tui_say_right(tui_ink(area, item->speedup >= 1                  ? TUI_GOOD
                                : item->speedup < 1 || item->closed ? TUI_BAD
                                                                    : TUI_DIM),
                  row, 18, "%s", item->closed ? "closed" : show_speedup(item->speedup).text);
    bool here = tune_memory_applies(state, item) && item->is < TUNE_EXPERIENCE_EXPIRED;
    int right = area.cols - 2;
    struct str origin = {item->source, item->source ? strcspn(item->source, ",") : 0};
    if (item->imported && origin.len && origin.len < 30 && area.cols >= ORIGIN_COLS) {
        tui_say_right(tui_ink(area, TUI_DIM), row, right, STR_FMT, STR_ARG(origin));
        right -= (int)origin.len + 2;
    }
    tui_put_short(here ? area : tui_ink(area, TUI_DIM), row,
                  (struct tui_rect){0, 20, 1, right - 20}, str_of(item->title));
}

static void applies_print(const struct tune_state *state, const struct tune_experience *item,
                          struct buf *out) {
    const char *const fields[] = {item->family, item->generation, item->dialect};
    bool some = false;
    for (size_t i = 0; i < COUNT_OF(fields); i++)
        some = some || fields[i];
    for (size_t i = 0; i < COUNT_OF(fields) && some; i++)
        if (fields[i])
            buf_printf(out, "%s%s", out->len ? ", " : "", fields[i]);
    if (item->applies_to)
        buf_printf(out, some ? " (%s)" : "%s", item->applies_to);
    if (!out->len)
        buf_puts(out, "not known");
    buf_puts(out, tune_memory_applies(state, item) ? ": here too" : ": not here");
}

static void evidence_print(const struct tune_experience *item, struct buf *out) {
    if (item->attempt >= 0)
        buf_printf(out, "attempt #%d against #%d", item->attempt, item->against);
    else
        buf_puts(out, item->source ? item->source : "from before");
    if (item->evidence)
        buf_printf(out, ", %s", item->evidence);
    if (item->merged)
        buf_printf(out, "; found %d times", item->merged + 1);
    if (item->edited)
        buf_puts(out, "; edited by you");
}

/* Which prompts it was in, and what came of them. */
static void earned_print(const struct tune_state *state, int index, struct buf *out) {
    struct tune_earned earned = tune_memory_earned(state, (size_t)index);
    int entered = state->memory.at[index].entered;
    buf_printf(out, "entered %d%s", entered,
               earned.n_calls ? ""
               : entered == 1 ? " prompt"
                              : " prompts");
    for (int i = 0; i < earned.n_calls; i++)
        buf_printf(out, "%s%d", i ? ", " : ": question ", earned.calls[i] + 1);
    if (earned.attempts)
        buf_printf(out, "; of %d attempt%s from them %d kept", earned.attempts,
                   earned.attempts == 1 ? "" : "s", earned.kept);
    if (earned.kept)
        buf_printf(out, ", %s together", show_speedup(earned.gain).text);
}

/* Another agent's summary may be a page: whose it is, and what for, comes first. */
static void draw_experience_detail(const struct tune_state *state, struct tui_area area,
                                   int index) {
    const struct tune_experience *item = &state->memory.at[index];
    struct buf text = {0};
    int row = put_field(area, 0, "expired", item->expired);
    applies_print(state, item, &text);
    row = put_field(area, row, "applies to", text.at);
    buf_clear(&text);
    evidence_print(item, &text);
    row = put_field(area, row, "evidence", text.at);
    buf_clear(&text);
    earned_print(state, index, &text);
    row = put_field(area, row, "prompts", text.at);
    buf_free(&text);
    row = put_field(area, row, item->closed ? "directions" : "summary", item->summary);
    row = put_field(area, row, "slow", item->slow);
    put_field(area, row, "fast", item->fast);
}

void memory_draw(struct views *views, struct tui_area area) {
    const struct tune_state *state = views->state;
    struct tui_area body = chrome_screen(views, area);
    const char *const titles[] = {"experiences", "", "experience"};
    struct pair pair = draw_pair(views, body, 2, titles);
    struct tui_list *list = &views->memory_list;
    tui_list_fit(list, (int)state->memory.len, pair.list.rows);
    for (int row = 0; row < pair.list.rows && list->top + row < list->count; row++) {
        draw_experience(state, pair.list, row, &state->memory.at[list->top + row]);
        lay_cursor(pair.list, list, row);
    }
    tui_list_draw_bar(list, pair.list);
    if (list->count)
        draw_experience_detail(state, pair.detail, list->cursor);
    else
        tui_say(tui_ink(pair.list, TUI_DIM), 1, 2,
                "Nothing yet: the summarise step proposes what gained 1.04x or lost 1.15x.");
}

/* ---- settings ------------------------------------------------------------------------------- */

static struct setting *add(struct views *views, const char *name, const char *help, int step) {
    struct setting *setting = vec_push(&views->settings);
    *setting = (struct setting){.help = help, .step = step};
    snprintf(setting->name, sizeof setting->name, "%s", name);
    snprintf(setting->value, sizeof setting->value, "-");
    snprintf(setting->origin, sizeof setting->origin, "-");
    return setting;
}

/* Where its value came from; `bit` is set when a person changed it since. */
static void set_origin(const struct views *views, struct setting *setting, const char *name,
                       unsigned bit) {
    const char *origin = tune_state_origin(views->state, name, bit);
    if (origin)
        snprintf(setting->origin, sizeof setting->origin, "%s", origin);
}

static struct setting *add_text(struct views *views, const char *name, const char *value,
                                const char *help) {
    struct setting *setting = add(views, name, help, -1);
    if (value && *value)
        snprintf(setting->value, sizeof setting->value, "%s", value);
    set_origin(views, setting, name, 0);
    return setting;
}

static void budget_value(const struct tune_state *state, enum tune_budget budget, struct buf *out) {
    double spent = tune_budget_spent(state, budget), held = tune_budget_held(state, budget);
    bool guessed =
        isnan(state->budgets[budget].spent) ? !isnan(spent) : spent > state->budgets[budget].spent;
    buf_puts(out, guessed ? "about " : "");
    tune_amount_print(out, budget, spent);
    if (held > 0) {
        buf_puts(out, " + ");
        tune_amount_print(out, budget, held);
    }
    buf_puts(out, isnan(state->budgets[budget].limit) ? ", no limit" : " of ");
    if (!isnan(state->budgets[budget].limit))
        tune_amount_print(out, budget, state->budgets[budget].limit);
}

static void add_budgets(struct views *views) {
    static const char *const help[TUNE_BUDGETS] = {
        ":budget rounds 20", ":budget wall 3600: seconds that the loop works by itself; or none",
        ":budget device 600: seconds of the device; what runs is spoken for (+); or none",
        ":budget tokens 1000000: open questions are spoken for (+); or none",
        ":budget dollars 5: needs a price for every model; or none"};
    for (int i = 0; i < TUNE_BUDGETS; i++) {
        enum tune_budget budget = (enum tune_budget)i;
        char name[24];
        struct buf value = {0};
        snprintf(name, sizeof name, "%s budget", tune_budget_word(budget));
        struct setting *setting = add(views, name, help[i], -1);
        budget_value(views->state, budget, &value);
        snprintf(setting->value, sizeof setting->value, "%s", value.at);
        snprintf(setting->origin, sizeof setting->origin, "%s", i ? "default" : "-");
        set_origin(views, setting, tune_budget_option(budget), (unsigned)TUNE_BY_HAND_BUDGET << i);
        buf_free(&value);
    }
}

static void add_gates(struct views *views) {
    for (int i = 0; i < TUNE_STEPS; i++) {
        char name[24];
        snprintf(name, sizeof name, "gate %s", tune_step_word((enum tune_step)i));
        struct setting *setting = add(views, name, "Enter changes it: ask, auto, auto-green", i);
        snprintf(setting->value, sizeof setting->value, "%s",
                 tune_gate_word(views->state->steps[i].gate));
        set_origin(views, setting, "gate", (unsigned)TUNE_BY_HAND_GATE << i);
    }
}

/* What is known of the host or the cluster; nothing for the device model. */
static void add_place(struct views *views) {
    if (!place_is_remote(views))
        return;
    const struct tune_place_view *place = views->state->place;
    static const char whole[] = "the connection; 4 shows the cores and the queue";
    struct buf state = {0};
    place_state(views, false, &state);
    add_text(views, "connection", state.at, whole);
    add_text(views, "host", place->status->host, whole);
    add_text(views, "toolchain", place->status->release, "what the host compiles and runs with");
    buf_free(&state);
}

static void role_print(const struct tune_role_model *model, struct buf *out) {
    buf_printf(out, "%s (%s)", model->name, model->asked);
    if (!isnan(model->price_input) && !isnan(model->price_output))
        buf_printf(out, " $%.4g/$%.4g", model->price_input, model->price_output);
    else if (!model->person)
        buf_puts(out, " price not known");
}

/* A row for each model that shares the role. */
static void add_role(struct views *views, enum tune_role is) {
    static const char help[] = "[roles] and [model NAME] of the configuration; dollars a million "
                               "tokens in/out";
    const struct tune_role_view *role = &views->state->roles[is];
    if (!role->count)
        add_text(views, tune_role_word(is), "hone itself, no model", help);
    for (size_t k = 0; k < role->count; k++) {
        char name[24];
        struct buf text = {0};
        snprintf(name, sizeof name, "%s %zu", tune_role_word(is), k + 1);
        role_print(&role->models[k], &text);
        struct setting *setting =
            add_text(views, role->count > 1 ? name : tune_role_word(is), text.at, help);
        snprintf(setting->origin, sizeof setting->origin, "%s",
                 role->models[k].origin ? role->models[k].origin : "default");
        buf_free(&text);
    }
}

/* Who is asked for what; nothing for a proposer that asks no models. */
static void add_roles(struct views *views) {
    bool share = false, by_gain = false;
    for (int i = 0; views->state->roles && i < TUNE_ROLES; i++) {
        add_role(views, (enum tune_role)i);
        share = share || views->state->roles[i].count > 1;
        by_gain = by_gain || views->state->roles[i].by_gain;
    }
    if (share)
        add_text(views, "choose",
                 by_gain ? "gain: mostly who gains most for its cost"
                         : "even: models of a role take turns",
                 "choose in [roles]: even or gain; 6 Tab tells who is next and why");
}

/* The widths of a beam search. Those that --search names itself have its origin. */
static void add_search(struct views *views) {
    const struct tune_state *state = views->state;
    static const char help[] =
        "--search beam:PARENTS,PLANS,REWRITES, or [search] in the configuration";
    const struct {
        const char *name;
        int value;
        const char *what;
    } widths[] = {{"parents", state->width.parents, "attempts that a round starts from"},
                  {"plans", state->width.plans, "plans for each of them"},
                  {"rewrites", state->width.rewrites, "of each plan, where models write"}};
    const char *at = state->search ? strchr(state->search, ':') : NULL;
    set_origin(views,
               add_text(views, "search", state->search,
                        "--search greedy or beam:2,3; a session takes another when it is opened"),
               "search", 0);
    for (size_t i = 0; i < COUNT_OF(widths) && lanes_may(views); i++) {
        char text[80];
        snprintf(text, sizeof text, "%d %s", widths[i].value, widths[i].what);
        set_origin(views, add_text(views, widths[i].name, text, help),
                   at ? "search" : widths[i].name, 0);
        at = at ? strchr(at + 1, ',') : NULL;
    }
}

/* What limits the work of this process, where it means something here. */
static void add_search_limits(struct views *views) {
    const struct tune_state *state = views->state;
    char text[80];
    struct setting *setting;
    if (state->roles && state->questions_from) {
        snprintf(text, sizeof text, "%d to models at once", state->questions);
        setting = add_text(views, "questions", text, "[search] questions, each time hone starts");
        snprintf(setting->origin, sizeof setting->origin, "%s", state->questions_from);
    }
    if (place_is_remote(views) || state->prune_from) {
        snprintf(text, sizeof text, "off: every candidate is measured");
        if (state->prune_from)
            snprintf(text, sizeof text, "above %g times its parent, as %s", state->prune,
                     state->prune_by == TUNE_PRUNE_MODEL      ? "modelled"
                     : state->prune_by == TUNE_PRUNE_COMPILER ? "its compiler predicts"
                                                              : "both expect");
        setting = add_text(views, "prune", text,
                           "[search] prune, each time hone starts: on a host, what the "
                           "device model finds too slow is not measured");
        snprintf(setting->origin, sizeof setting->origin, "%s",
                 state->prune_from ? state->prune_from : "default");
    }
}

static void collect(struct views *views) {
    const struct tune_state *state = views->state;
    char text[96];
    views->settings.len = 0;
    add_gates(views);
    snprintf(text, sizeof text, "%g relative L2", state->tolerance);
    struct setting *tolerance = add_text(views, "tolerance", text, ":tolerance 2e-5");
    set_origin(views, tolerance, "tolerance", TUNE_BY_HAND_TOLERANCE);
    struct setting *precision =
        add_text(views, "precision", state->precision, ":precision keep, or any");
    set_origin(views, precision, "precision", TUNE_BY_HAND_PRECISION);
    add_budgets(views);
    add_text(views, "device", state->device, "hone --device, when a session begins");
    add_text(views, "target", state->target,
             "hone --target, when a session begins: another host "
             "has other times");
    add_place(views);
    add_text(views, "proposer", state->proposer, "hone run --proposer, when a session begins");
    add_roles(views);
    add_search(views);
    add_search_limits(views);
    snprintf(text, sizeof text, "%.0f %% of the menu in a prompt", state->menu_keep * 100);
    struct setting *keep =
        add_text(views, "strategies", text, "[search] menu_keep, when a session begins");
    set_origin(views, keep, "menu_keep", 0);
    add_text(views, "kernel", state->kernel_path, "the file that the session began with");
    add_text(views, "reference", state->reference_path, "what is correct: its file");
}

void settings_draw(struct views *views, struct tui_area area) {
    struct tui_area inside = tui_frame(chrome_screen(views, area), true, "values of this session",
                                       "where each came from");
    collect(views);
    struct tui_list *list = &views->settings_list;
    int rows = inside.rows - 2, from = MAX_OF(inside.cols - 44, 46);
    struct tui_area table = tui_area_part(inside, (struct tui_rect){0, 0, rows, inside.cols});
    tui_list_fit(list, (int)views->settings.len, rows);
    views->list_spot = (struct tui_rect){table.row, table.col, table.rows, table.cols};
    for (int row = 0; row < rows && list->top + row < list->count; row++) {
        const struct setting *setting = &views->settings.at[list->top + row];
        tui_say(tui_ink(table, TUI_DIM), row, 1, "%s", setting->name);
        tui_put_short(tui_ink(table, TUI_STRONG), row, (struct tui_rect){0, 18, 1, from - 20},
                      str_of(setting->value));
        tui_put_short(tui_ink(table, TUI_DIM), row,
                      (struct tui_rect){0, from, 1, table.cols - from - 1},
                      str_of(setting->origin));
        lay_cursor(table, list, row);
    }
    tui_list_draw_bar(list, table);
    if (list->cursor < 0 || (size_t)list->cursor >= views->settings.len)
        return;
    const struct setting *setting = &views->settings.at[list->cursor];
    struct tui_rect line = {0, 1, 1, inside.cols - 2};
    if ((int)text_columns(str_of(setting->value)) > from - 20) /* it was cut above */
        tui_put_short(inside, rows, line, str_of(setting->value));
    tui_put_short(tui_ink(inside, TUI_HUNK), rows + 1, line, str_of(setting->help));
}

void settings_enter(struct views *views, struct views_request *request) {
    (void)request;
    int row = views->settings_list.cursor;
    if (row < 0 || (size_t)row >= views->settings.len)
        return;
    int step = views->settings.at[row].step;
    if (step < 0) {
        views_say(views, false, "%s", views->settings.at[row].help);
        return;
    }
    enum tune_gate gate = (views->state->steps[step].gate + 1) % TUNE_GATES;
    views_act(views, &(struct tune_action){
                         .kind = TUNE_ACT_SET_GATE, .step = (enum tune_step)step, .gate = gate});
}

/* ---- start ---------------------------------------------------------------------------------- */

static void draw_recent(struct views *views, struct tui_area area, int row,
                        const struct tune_recent *item) {
    struct tui_area name = tui_ink(area, item->is_gone ? TUI_DIM : TUI_STRONG);
    /* Where there is no room for both, the last result says more than what the task is about. */
    bool wide = area.cols >= 110, both = wide || !item->last || item->is_gone;
    int about = 27, end = area.cols - 12, last = wide ? area.cols - 50 : both ? end : about;
    tui_say(tui_ink(area, item->used_ms ? TUI_ACTIVE : TUI_DIM), row, 1, "%s",
            item->used_ms ? "●" : "○");
    tui_put_short(name, row, (struct tui_rect){0, 3, 1, about - 5}, str_of(item->task));
    const char *text = item->is_gone ? "its files are gone"
                       : item->about ? item->about
                                     : item->path;
    int room = (item->last && last < end ? last - 2 : end) - about;
    if (both)
        tui_put_short(area, row, (struct tui_rect){0, about, 1, room}, str_of(text));
    if (item->last && last < end)
        tui_put_short(tui_ink(area, TUI_GOOD), row, (struct tui_rect){0, last, 1, end - last},
                      str_of(item->last));
    tui_say_right(tui_ink(area, TUI_DIM), row, area.cols - 1, "%s",
                  item->used_ms   ? show_ago(item->used_ms, views->now_ms).text
                  : item->is_seed ? "seed"
                                  : "");
}

static void draw_welcome(struct tui_area area) {
    tui_say(tui_ink(area, TUI_BRAND), 0, 2, "hone");
    tui_say(area, 0, 8, "makes a kernel faster, step by step, as far as you let it");
    tui_say(tui_ink(area, TUI_DIM), 1, 8,
            "plan, rewrite, verify, benchmark: you approve, edit or take back");
}

void start_draw(struct views *views, struct tui_area area) {
    struct tui_area bottom = tui_area_part(area, (struct tui_rect){area.rows - 1, 0, 1, area.cols});
    draw_welcome(tui_area_part(area, (struct tui_rect){1, 0, 2, area.cols}));
    struct tui_rect box = {4, 1, area.rows - 7, area.cols - 2};
    struct tui_area inside =
        tui_frame(tui_area_part(area, box), true, "choose a task", "● session  ○ seed");
    struct tui_list *list = &views->start;
    tui_list_fit(list, (int)views->model.n_recent, inside.rows);
    views->list_spot = (struct tui_rect){inside.row, inside.col, inside.rows, inside.cols};
    for (int row = 0; row < inside.rows && list->top + row < list->count; row++) {
        draw_recent(views, inside, row, &views->model.recent[list->top + row]);
        lay_cursor(inside, list, row);
    }
    tui_list_draw_bar(list, inside);
    if (list->count == 0)
        tui_say(tui_ink(inside, TUI_DIM), 1, 2,
                "nothing here yet: start hone with a folder that "
                "has kernel.py and reference.py");
    struct tui_rect line = {0, 2, 1, area.cols - 4};
    struct tui_area status = tui_area_part(area, (struct tui_rect){area.rows - 2, 0, 1, area.cols});
    if (views->message[0])
        tui_put_short(tui_ink(status, views->message_bad ? TUI_BAD : TUI_STRONG), 0, line,
                      str_of(views->message));
    else
        tui_say(tui_ink(status, TUI_DIM), 0, 2,
                "your own: hone FOLDER (with kernel.py and "
                "reference.py), or hone kernel.py --reference FILE");
    chrome_keys(views, bottom);
}

void start_enter(struct views *views, struct views_request *request) {
    int row = views->start.cursor;
    if (row < 0 || (size_t)row >= views->model.n_recent)
        return;
    const struct tune_recent *item = &views->model.recent[row];
    if (item->is_gone)
        views_say(views, true, "%s is no longer there", item->path);
    else
        *request = (struct views_request){.wish = VIEWS_OPEN, .task = item->path};
}
