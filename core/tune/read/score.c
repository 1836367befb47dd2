/* SPDX-License-Identifier: Apache-2.0 */
/* What became of the plans of each model and of each strategy: counted from the state, which is a
 * function of the log. It ranks nobody. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "rewrite/rewrite.h"
#include "tune/read/score.h"
#include "tune/read/read.h"

static struct tune_score *row_of(struct tune_scores *scores, const char *name, bool strategy) {
    for (size_t i = 0; i < scores->rows.len; i++)
        if (scores->rows.at[i].strategy == strategy && !strcmp(scores->rows.at[i].name, name))
            return &scores->rows.at[i];
    struct tune_score *row = vec_push(&scores->rows);
    *row = (struct tune_score){.strategy = strategy, .gain = 1, .tokens = NAN, .dollars = NAN};
    snprintf(row->name, sizeof row->name, "%s", name);
    return row;
}

static void count(struct tune_score *row, const struct tune_attempt *attempt,
                  enum tune_answer diagnosis) {
    row->planned++;
    bool computed = tune_prediction_computed(attempt);
    bool checked = attempt->plan.held != TUNE_ANSWER_UNKNOWN;
    row->computed += checked && computed;
    row->scored += checked && !computed;
    row->held += attempt->plan.held == TUNE_ANSWER_YES && !computed;
    row->judged += diagnosis == TUNE_ANSWER_YES || diagnosis == TUNE_ANSWER_NO;
    row->right += diagnosis == TUNE_ANSWER_YES;
    if (attempt->status != TUNE_STATUS_KEEP)
        return;
    row->kept++;
    if (attempt->vs_parent > 0)
        row->gain *= attempt->vs_parent;
}

void tune_strategy_of(const struct tune_plan *plan, char name[80]) {
    const char *colon = plan->key ? strchr(plan->key, ':') : NULL;
    bool said = plan->key && str_starts(str_of(plan->key), "said:");
    const char *strategy = plan->strategy ? plan->strategy : rewrite_strategy(plan->key);
    size_t rule = plan->key ? strcspn(plan->key, ":@ +") : 0;
    if (strategy)
        snprintf(name, 80, "%.60s", strategy);
    else if (plan->metric && (said || !colon))
        snprintf(name, 80, "%.60s %s", plan->metric, tune_direction_word(plan->direction));
    else if (rule && !said)
        snprintf(name, 80, "%.*s", (int)MIN_OF(rule, 60), plan->key);
    else
        snprintf(name, 80, "other");
}

static enum tune_answer diagnosis_of(const struct tune_state *state,
                                     const struct tune_attempt *attempt) {
    for (size_t i = attempt->notes.len; i-- > 0;) {
        size_t note = (size_t)attempt->notes.at[i];
        if (note < state->notes.len && !state->notes.at[note].dropped)
            return state->notes.at[note].diagnosis;
    }
    return TUNE_ANSWER_UNKNOWN;
}

static void add(double *sum, double value) {
    if (!isnan(value))
        *sum = isnan(*sum) ? value : *sum + value;
}

static void costs(struct tune_scores *scores, const struct tune_state *state) {
    for (size_t i = 0; i < state->calls.len; i++) {
        const struct tune_call *call = &state->calls.at[i];
        struct tune_score *row = row_of(scores, call->model ? call->model : "?", false);
        const double tokens[] = {call->input, call->output, call->cache_read, call->cache_write};
        row->calls++;
        for (size_t k = 0; k < COUNT_OF(tokens); k++)
            add(&row->tokens, tokens[k]);
        add(&row->dollars, call->dollars);
    }
}

void tune_scores_count(const struct tune_state *state, struct tune_scores *scores) {
    scores->rows.len = 0;
    for (size_t i = 1; i < state->attempts.len; i++) {
        const struct tune_attempt *attempt = &state->attempts.at[i];
        const char *author = attempt->plan.author ? attempt->plan.author : attempt->author;
        char strategy[80];
        if (attempt->status == TUNE_STATUS_OPEN)
            continue;
        enum tune_answer diagnosis = diagnosis_of(state, attempt);
        tune_strategy_of(&attempt->plan, strategy);
        count(row_of(scores, author ? author : "you", false), attempt, diagnosis);
        count(row_of(scores, strategy, true), attempt, diagnosis);
    }
    costs(scores, state);
}

void tune_scores_free(struct tune_scores *scores) {
    vec_free(&scores->rows);
}
