/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the models that share a role is asked next: in turns, or the one that gained the most
 * for its cost, without forgetting the others. It counts from the state and asks nobody. */
#include "tune/ask/choose.h"

#include <math.h>
#include <stdlib.h>

#include "tune/ask/prompt.h"
#include "tune/ask/ask.h"

#define LEAST_DOLLARS 1e-4 /* of a question; without it a free one would be worth everything */
#define LEAST_TOKENS 1

const char *tune_choice_word(enum tune_choice_by by) {
    static const char *const words[] = {[TUNE_CHOICE_EVEN] = "in turns",
                                        [TUNE_CHOICE_UNTRIED] = "each once",
                                        [TUNE_CHOICE_TOKENS] = "gain per token",
                                        [TUNE_CHOICE_DOLLARS] = "gain per dollar"};
    return words[by];
}

static bool is(const char *a, const char *b) {
    return a && b && !strcmp(a, b);
}

/* ----------------------------------------------------------------------------- what there is */

static void count_call(struct tune_choice_row *row, const struct tune_call *call) {
    double parts[] = {call->input, call->output, call->cache_read, call->cache_write};
    double tokens = 0;
    bool counted = !isnan(call->input) || !isnan(call->output);
    row->asked += call->mends < 0 && call->repeats < 0;
    if (!call->ended_ms)
        return;
    for (size_t i = 0; i < COUNT_OF(parts) && counted; i++)
        tokens += isnan(parts[i]) ? 0 : parts[i];
    if (!counted && !isnan(call->guess_answer))
        tokens = call->guess_answer + call->estimate;
    bool failed = call->failure && !counted && isnan(call->guess_answer);
    double dollars = !isnan(call->dollars)         ? call->dollars
                     : !isnan(call->guess_dollars) ? call->guess_dollars
                     : failed                      ? 0
                                                   : (double)NAN;
    row->tokens +=
        counted || failed || !isnan(call->guess_answer) ? fmax(tokens, LEAST_TOKENS) : (double)NAN;
    row->dollars += fmax(dollars, LEAST_DOLLARS) + 0 * dollars; /* NAN stays */
}

static void count_gain(struct tune_choice_row *row, enum tune_role role,
                       const struct tune_attempt *attempt) {
    const char *author = role == TUNE_ROLE_PLANNER ? attempt->plan.author : attempt->author;
    if (attempt->status == TUNE_STATUS_KEEP && attempt->vs_parent > 1 && is(author, row->model))
        row->gain *= attempt->vs_parent;
}

static void count(const struct tune_state *state, enum tune_role role,
                  struct tune_choice_row *row) {
    for (size_t i = 0; i < state->calls.len; i++)
        if (is(state->calls.at[i].role, tune_role_word(role)) &&
            is(state->calls.at[i].model, row->model))
            count_call(row, &state->calls.at[i]);
    bool gains = role != TUNE_ROLE_SUMMARISER && role != TUNE_ROLE_REFLECTOR;
    for (size_t i = 1; i < state->attempts.len && gains; i++)
        count_gain(row, role, &state->attempts.at[i]);
}

/* -------------------------------------------------------------------------------- what is next */

/* The model that was asked least: one that is asked twice about the same does not lose its place to
 * another. */
static size_t in_turns(const struct tune_choice *choice) {
    size_t next = 0;
    for (size_t i = 1; i < choice->rows.len; i++)
        if (choice->rows.at[i].asked < choice->rows.at[next].asked)
            next = i;
    return next;
}

static enum tune_choice_by by_what(const struct tune_choice *choice, enum tune_role role) {
    bool dollars = true, tokens = true;
    if (role == TUNE_ROLE_SUMMARISER || role == TUNE_ROLE_REFLECTOR)
        return TUNE_CHOICE_EVEN;
    for (size_t i = 0; i < choice->rows.len; i++) {
        const struct tune_choice_row *row = &choice->rows.at[i];
        if (!row->asked)
            return TUNE_CHOICE_UNTRIED;
        dollars = dollars && !isnan(row->dollars);
        tokens = tokens && !isnan(row->tokens);
    }
    return dollars ? TUNE_CHOICE_DOLLARS : tokens ? TUNE_CHOICE_TOKENS : TUNE_CHOICE_EVEN;
}

/* Nobody knows what a question under way will cost. A model that has not answered yet has no
 * share. */
static double rate_of(const struct tune_choice_row *row, enum tune_choice_by by) {
    double cost = by == TUNE_CHOICE_DOLLARS ? row->dollars : row->tokens;
    return cost > 0 ? log(row->gain) / cost : 0;
}

static void compare(struct tune_choice *choice) {
    double best = 0, asked = 0, most = -1;
    for (size_t i = 0; i < choice->rows.len; i++) {
        best = fmax(best, rate_of(&choice->rows.at[i], choice->by));
        asked += choice->rows.at[i].asked;
    }
    for (size_t i = 0; i < choice->rows.len; i++) {
        struct tune_choice_row *row = &choice->rows.at[i];
        row->share = best > 0 ? rate_of(row, choice->by) / best : 0;
        row->bonus = sqrt(2 * log(asked) / row->asked);
        if (row->share + row->bonus <= most)
            continue;
        most = row->share + row->bonus;
        choice->next = i;
    }
}

void tune_choice_make(const struct tune_state *state, enum tune_role role,
                      struct tune_choice *choice) {
    const struct tune_role_view *view = state->roles ? &state->roles[role] : NULL;
    *choice = (struct tune_choice){0};
    for (size_t i = 0; view && i < view->count; i++) {
        struct tune_choice_row *row = vec_push(&choice->rows);
        *row = (struct tune_choice_row){.model = view->models[i].name, .gain = 1};
        count(state, role, row);
    }
    choice->by = view && view->by_gain ? by_what(choice, role) : TUNE_CHOICE_EVEN;
    if (choice->by == TUNE_CHOICE_EVEN)
        choice->next = in_turns(choice);
    else if (choice->by != TUNE_CHOICE_UNTRIED)
        compare(choice);
    while (choice->by == TUNE_CHOICE_UNTRIED && choice->rows.at[choice->next].asked)
        choice->next++;
}

void tune_choice_free(struct tune_choice *choice) {
    vec_free(&choice->rows);
}

size_t tune_role_turn(const struct tune_state *state, enum tune_role role, size_t models) {
    struct tune_choice choice;
    tune_choice_make(state, role, &choice);
    size_t next = choice.rows.len == models ? choice.next : 0;
    tune_choice_free(&choice);
    return next;
}
