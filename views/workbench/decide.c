/* SPDX-License-Identifier: Apache-2.0 */
/* What a person decides on the workbench about a proposal: its hunks, another plan, a kernel of
 * their own, another verdict. */
#include "views/workbench/private.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

bool decide_has_hunks(const struct views *views) {
    return views->state && tune_lane_of(views->state, views->lane)->candidate.exists &&
           workbench_of(views)->diff.n_hunks > 0;
}

bool decide_in_hunks(const struct views *views) {
    return workbench_of(views)->hunks && views_can(views, TUNE_ACT_LEAVE_HUNK);
}

bool decide_has_plans(const struct views *views) {
    return views_can(views, TUNE_ACT_CHOOSE_PLAN) || views_can(views, TUNE_ACT_TAKE_PLAN);
}

bool decide_is_measured(const struct views *views) {
    const struct tune_attempt *attempt = tune_attempt_in(views->state, views->lane);
    return attempt && attempt->id > 0 && isfinite(attempt->latency_us);
}

void decide_hunks(struct views *views, struct str args, struct views_request *request) {
    struct workbench *bench = workbench_of(views);
    (void)args;
    (void)request;
    bench->hunks = !bench->hunks;
    bench->hunk =
        diff_hunk_at(&bench->diff, diff_has_sides(views), bench->panes[PANE_PROPOSAL].cursor);
    bench->hunks_step = views->state->step;
    bench->pane = PANE_PROPOSAL;
    bench->step = -1; /* shows what the action is about, not what a step came to */
}

void decide_write(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    const struct tune_attempt *incumbent = views_incumbent(views);
    const char *source =
        incumbent ? tune_source(views->state, incumbent) : views->state->kernel_source;
    buf_clear(&views->editing.text);
    buf_puts(&views->editing.text, source ? source : "");
    int line = workbench_of(views)->panes[PANE_KERNEL].cursor + 1;
    act_open_editor(views, (struct tune_action){.kind = TUNE_ACT_WRITE_KERNEL}, "kernel.py", line,
                    request);
}

static void overrule_with(struct views *views, struct str text, struct views_request *request) {
    static const char *const words[] = {"keep", "revert", "inconclusive"};
    (void)request;
    long long number;
    if (str_to_int(text, &number) && number >= 0 && number < (int)COUNT_OF(words))
        text = str_of(words[number]);
    act_text(views, TUNE_ACT_OVERRULE, text);
}

void decide_overrule(struct views *views, struct str args, struct views_request *request) {
    if (args.len || !views_can(views, TUNE_ACT_OVERRULE)) {
        overrule_with(views, args, request);
        return;
    }
    views->over.rows.len = 0;
    views_menu_row(views, 0, "", "keep", "the candidate becomes the incumbent");
    views_menu_row(views, 1, "", "revert", "the incumbent stays");
    views_menu_row(views, 2, "", "inconclusive", "neither faster nor slower: the incumbent stays");
    views_open_menu(views, "decide otherwise", overrule_with);
}

static void choose_plan(struct views *views, struct str text, struct views_request *request) {
    (void)request;
    long long index;
    if (!str_to_int(text, &index))
        return;
    int plans = (int)views->state->plans.len;
    struct tune_action act = {.kind = TUNE_ACT_CHOOSE_PLAN, .index = (int)index};
    if (index >= plans) /* the rows of the stock follow those of the round */
        act = (struct tune_action){.kind = TUNE_ACT_TAKE_PLAN, .index = (int)index - plans};
    views_act(views, &act);
}

static bool is_of_round(const struct tune_state *state, const char *key) {
    for (size_t i = 0; i < state->plans.len; i++)
        if (state->plans.at[i].key && !strcmp(state->plans.at[i].key, key))
            return true;
    return false;
}

/* Plans of earlier rounds that were not tried. */
static void stock_rows(struct views *views) {
    const struct tune_state *state = views->state;
    size_t at[TUNE_STOCK_SHOWN], count = tune_stock_list(state, at, TUNE_STOCK_SHOWN);
    struct buf text = {0};
    for (size_t i = 0; i < count; i++) {
        const struct tune_plan *plan = &state->stock.at[at[i]].plan;
        if (is_of_round(state, plan->key))
            continue;
        buf_clear(&text);
        buf_printf(&text, "round %d, not tried", state->stock.at[at[i]].round);
        if (plan->latency < 0)
            buf_printf(&text, ", latency %+.0f %%", plan->latency * 100);
        buf_printf(&text, ".  %s", plan->why ? plan->why : plan->what ? plan->what : "");
        views_menu_row(views, (int)(state->plans.len + at[i]), "", plan->title, text.at);
    }
    buf_free(&text);
}

struct offered {
    double latency; /* predicted; without one a plan comes last */
    size_t index;   /* as they were proposed */
};

static int by_latency(const void *a, const void *b) {
    const struct offered *x = a, *y = b;
    double one = isnan(x->latency) ? INFINITY : x->latency;
    double other = isnan(y->latency) ? INFINITY : y->latency;
    return one < other ? -1 : one > other ? 1 : x->index < y->index ? -1 : 1;
}

void decide_plans(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    VEC(struct offered) offers = {0};
    views->over.rows.len = 0;
    for (size_t i = 0; i < views->state->plans.len; i++)
        *vec_push(&offers) = (struct offered){rows_latency(&views->state->plans.at[i]), i};
    if (offers.len)
        qsort(offers.at, offers.len, sizeof *offers.at, by_latency);
    struct buf text = {0};
    for (size_t k = 0; k < offers.len; k++) {
        size_t i = offers.at[k].index;
        const struct tune_plan *plan = &views->state->plans.at[i];
        bool here = (int)i == tune_lane_of(views->state, views->lane)->plan;
        buf_clear(&text);
        rows_prediction_latency(plan, &text);
        buf_printf(&text, "%s%s", text.len ? ".  " : "", plan->why ? plan->why : "");
        views_menu_row(views, (int)i, here ? "*" : "", plan->title ? plan->title : plan->key,
                       text.at);
    }
    buf_free(&text);
    vec_free(&offers);
    stock_rows(views);
    views_open_menu(views, "plans, by the latency they predict; earlier rounds last", choose_plan);
    tui_menu_at(&views->over.menu, tune_lane_of(views->state, views->lane)->plan);
}

void decide_take(struct views *views, struct str args, struct views_request *request) {
    int hunk = workbench_of(views)->hunk;
    (void)request;
    char why[400];
    snprintf(why, sizeof why, STR_FMT, STR_ARG(args));
    bool done = views_act(views, &(struct tune_action){.kind = TUNE_ACT_LEAVE_HUNK,
                                                       .index = hunk,
                                                       .text = *why ? why : NULL});
    const struct tune_candidate *candidate = &tune_lane_of(views->state, views->lane)->candidate;
    struct buf fault = {0};
    bool is_left = (size_t)hunk < candidate->hunks.len && candidate->hunks.at[hunk].left;
    if (done && tune_left_fault(views->state, views->lane, &fault))
        views_say(views, true, "what is left does not hold together: %s", fault.at);
    else if (done && !*why && is_left)
        views_say(views, false,
                  "left out; :take WHY leaves it out with a reason that models are told");
    buf_free(&fault);
}
