/* SPDX-License-Identifier: Apache-2.0 */
/* Screen 0: the values of this session and where each came from. */
#include "views/inner.h"

#include <math.h>
#include <stdio.h>

struct setting {
    char name[24], value[128], origin[96];
    const char *help;
    int step; /* a gate: which; else -1 */
};

struct settings {
    struct tui_list list;
    VEC(struct setting) rows;
    struct buf searched; /* the row that a search looks at */
};

static struct settings *own(const struct views *views) {
    return views->own[VIEW_SETTINGS];
}

static struct setting *add(struct views *views, const char *name, const char *help, int step) {
    struct setting *setting = vec_push(&own(views)->rows);
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
        snprintf(setting->value, sizeof setting->value, "%.*s", (int)sizeof setting->value - 1,
                 value);
    set_origin(views, setting, name, 0);
    return setting;
}

static void budget_value(const struct tune_state *state, enum tune_budget budget, struct buf *out) {
    double spent = tune_budget_spent(state, budget), held = tune_budget_held(state, budget);
    bool guessed =
        isnan(state->budgets[budget].spent) ? !isnan(spent) : spent > state->budgets[budget].spent;
    buf_puts(out, guessed ? "about " : "");
    tune_amount_print(out, budget, spent);
    if (budget == TUNE_BUDGET_ROUNDS) /* the title counts the one that runs */
        buf_puts(out, " done");
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
        ":budget device 600: seconds of the device, (+) for what runs now; or none",
        ":budget tokens 1000000: (+) for open questions; or none",
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

/* A row for each model of the role. */
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

/* Which models are asked for what; nothing when the proposer asks no models. */
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

/* The widths of a beam search. Those that --search names came from there, as the search did. */
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
                        "--search greedy or beam:2,3; can change when a session is opened"),
               "search", 0);
    for (size_t i = 0; i < COUNT_OF(widths) && lanes_may(views); i++) {
        char text[80];
        snprintf(text, sizeof text, "%d %s", widths[i].value, widths[i].what);
        set_origin(views, add_text(views, widths[i].name, text, help),
                   at ? "search" : widths[i].name, 0);
        at = at ? strchr(at + 1, ',') : NULL;
    }
}

/* What limits the work of this process, where it applies. */
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
    own(views)->rows.len = 0;
    add_gates(views);
    snprintf(text, sizeof text, "%g relative L2", state->tolerance);
    struct setting *tolerance = add_text(views, "tolerance", text, ":tolerance 2e-5");
    set_origin(views, tolerance, "tolerance", TUNE_BY_HAND_TOLERANCE);
    struct setting *precision =
        add_text(views, "precision", state->precision, ":precision keep, split or any");
    set_origin(views, precision, "precision", TUNE_BY_HAND_PRECISION);
    add_budgets(views);
    snprintf(text, sizeof text, "%s%s", state->device ? state->device : "-",
             state->lnc > 1 ? ", two cores" : "");
    add_text(views, "device", text, "hone --device, when a session begins");
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
    add_text(views, "reference", state->reference_path, "the file that says what is correct");
}

static int origin_col(struct tui_area area) {
    return MAX_OF(area.cols - 44, 46);
}

static void draw_setting(struct views *views, struct tui_area area, int row, int index) {
    const struct setting *setting = &own(views)->rows.at[index];
    int from = origin_col(area);
    tui_say(tui_ink(area, TUI_DIM), row, 1, "%s", setting->name);
    tui_put_short(tui_ink(area, TUI_STRONG), row, (struct tui_rect){0, 18, 1, from - 20},
                  str_of(setting->value));
    find_mark(views, area, row, 1, str_of(setting->name));
    find_mark(views, area, row, 18, str_of(setting->value));
    tui_put_short(tui_ink(area, TUI_DIM), row, (struct tui_rect){0, from, 1, area.cols - from - 1},
                  str_of(setting->origin));
}

static const struct setting *setting_here(const struct views *views) {
    const struct settings *settings = own(views);
    int row = settings->list.cursor;
    return row >= 0 && (size_t)row < settings->rows.len ? &settings->rows.at[row] : NULL;
}

static void settings_draw(struct views *views, struct tui_area body) {
    struct tui_area inside =
        tui_frame(body, true, "values of this session", "where each came from");
    collect(views);
    int rows = inside.rows - 2;
    rows_draw(views, tui_area_part(inside, (struct tui_rect){0, 0, rows, inside.cols}),
              &own(views)->list, (int)own(views)->rows.len, draw_setting);
    const struct setting *setting = setting_here(views);
    struct tui_rect line = {0, 1, 1, inside.cols - 2};
    if (!setting)
        return;
    if ((int)text_columns(str_of(setting->value)) > origin_col(inside) - 20) /* it was cut above */
        tui_put_short(inside, rows, line, str_of(setting->value));
    tui_put_short(tui_ink(inside, TUI_HUNK), rows + 1, line, str_of(setting->help));
}

static void settings_enter(struct views *views, struct views_request *request) {
    const struct setting *setting = setting_here(views);
    (void)request;
    if (!setting)
        return;
    if (setting->step < 0) {
        views_say(views, false, "%s", setting->help);
        return;
    }
    enum tune_gate gate = (views->state->steps[setting->step].gate + 1) % TUNE_GATES;
    views_act(views, &(struct tune_action){.kind = TUNE_ACT_SET_GATE,
                                           .step = (enum tune_step)setting->step,
                                           .gate = gate});
}

static struct tui_list *settings_list(struct views *views) {
    return &own(views)->list;
}

/* What a search looks through: name and value. */
static struct str settings_line(const void *data, int row) {
    struct settings *settings = own(data);
    if (row < 0 || (size_t)row >= settings->rows.len)
        return STR("");
    buf_clear(&settings->searched);
    buf_printf(&settings->searched, "%s %s", settings->rows.at[row].name,
               settings->rows.at[row].value);
    return buf_str(&settings->searched);
}

static void settings_forget(struct views *views) {
    buf_free(&own(views)->searched);
    vec_free(&own(views)->rows);
    own(views)->list = (struct tui_list){0};
}

const struct screen settings_screen = {
    .name = "settings",
    .about = "Enter changes a gate; : sets a value",
    .command = {"settings", "", "screen 0: values, gates and budgets", WHERE_TUNING, PLACE_OPEN,
                TUNE_ACTIONS, NULL, NULL, NULL},
    .key = "0",
    .takes = "approve",
    .keys = "n next-match\nN previous-match\n",
    .size = sizeof(struct settings),
    .forget = settings_forget,
    .draw = settings_draw,
    .list = settings_list,
    .line_of = settings_line,
    .enter = settings_enter,
};
