/* SPDX-License-Identifier: Apache-2.0 */
/* The precision is a person's decision: the question opens by itself once, with the first plan,
 * where another precision would bring much; and with the command. */
#include "views/inner.h"

#include <math.h>

static const char *const means[TUNE_PRECISIONS] = {
    [TUNE_PRECISION_KEEP] = "never in narrower types than the first kernel",
    [TUNE_PRECISION_SPLIT] = "products of fp32 as sums of bf16 products",
    [TUNE_PRECISION_ANY] = "whatever the tolerance takes",
};

bool precision_set(struct views *views, struct str word) {
    int which = 0;
    while (which < TUNE_PRECISIONS &&
           !str_is(word, tune_precision_word((enum tune_precision)which)))
        which++;
    if (which == TUNE_PRECISIONS)
        return false;
    const char *known = tune_precision_word((enum tune_precision)which);
    if (views_act(views, &(struct tune_action){.kind = TUNE_ACT_SET_PRECISION, .text = known}))
        views_say(views, false, "precision %s: %s", known, means[which]);
    return true;
}

static void choose(struct views *views, struct str text, struct views_request *request) {
    long long which;
    (void)request;
    if (str_to_int(text, &which) && which >= 0 && which < TUNE_PRECISIONS)
        precision_set(views, str_of(tune_precision_word((enum tune_precision)which)));
}

/* The question that opened by itself is answered by leaving it, too: it is not put again. */
static void choose_or_leave(struct views *views, struct str text, struct views_request *request) {
    const char *word = tune_precision_word(tune_precision_allowed(views->state));
    if (text.len)
        choose(views, text, request);
    else if (views_act(views, &(struct tune_action){.kind = TUNE_ACT_SET_PRECISION, .text = word}))
        views_say(views, false, "precision stays %s; :precision changes it", word);
}

static void ask(struct views *views, views_answer_fn *answer) {
    const struct tune_state *state = views->state;
    views->over.rows.len = 0;
    for (int i = 0; i < TUNE_PRECISIONS; i++) {
        struct buf text = {0};
        if (!isnan(state->offer_us[i]))
            buf_printf(&text, "%-8s ", show_latency(state->offer_us[i]).text);
        buf_puts(&text, means[i]);
        views_menu_row(views, i, (int)tune_precision_allowed(state) == i ? "now" : "",
                       tune_precision_word((enum tune_precision)i), text.at);
        buf_free(&text);
    }
    views_open_question(views, "precision: you decide (times are computed)", answer);
    tui_menu_at(&views->over.menu, (int)tune_precision_allowed(state));
}

void precision_ask(struct views *views) {
    ask(views, choose);
}

/* Only where nobody decided, on the command line or in a file either. */
static bool is_open(const struct tune_state *state) {
    const char *from = tune_state_origin(state, "precision", TUNE_BY_HAND_PRECISION);
    return from && strcmp(from, "default") == 0 && !isnan(state->offer_us[TUNE_PRECISION_KEEP]) &&
           state->wait == TUNE_WAIT_GATE && state->wait_step == TUNE_STEP_PLAN;
}

void precision_follow(struct views *views) {
    if (!views->state || views->precision_asked || views->state->read_only ||
        views->over.is != OVERLAY_NONE || !is_open(views->state))
        return;
    views->precision_asked = true;
    ask(views, choose_or_leave);
}
