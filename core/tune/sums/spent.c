/* SPDX-License-Identifier: Apache-2.0 */
/* What is spent and what is held for work under way: sums over the state, and amounts in words. */
#include <math.h>
#include <stdio.h>

#include "tune/sums/inner.h"

#define MOST_OPEN 64 /* questions among the last that may still be open */

static double known(double value) {
    return isnan(value) ? 0 : value;
}

/* ------------------------------------------------------------------------------------ spending */

static void add(double *sum, double value) {
    if (!isnan(value))
        *sum = isnan(*sum) ? value : *sum + value;
}

/* Whether a question waits for a person: to answer it, or to look at it before it goes out. */
bool tune_asks_person(const struct tune_state *state) {
    size_t open = tune_calls_open_from(state);
    for (size_t i = state->calls.len; i > open && i + MOST_OPEN > state->calls.len; i--) {
        const struct tune_call *call = &state->calls.at[i - 1];
        if (!call->ended_ms && (call->waits || call->held))
            return true;
    }
    return false;
}

/* The loop's clock runs while it works by itself: not while it waits for a person, nor between the
 * processes of a session. */
void tune_budget_clock(struct tune_state *state, enum tune_event_is is, int64_t wall_ms) {
    bool works = state->running && state->wait == TUNE_WAIT_NOTHING && !tune_asks_person(state);
    /* A log may have any time in it, and the difference of two may not fit. */
    double took_ms = (double)wall_ms - (double)state->own->clock_ms;
    if (works && is != TUNE_EVENT_RESUMED && took_ms > 0)
        state->budgets[TUNE_BUDGET_WALL_S].spent += took_ms / 1000;
    state->own->clock_ms = wall_ms;
}

void tune_spent_note(struct tune_state *state, const struct tune_event *event, int64_t wall_ms) {
    (void)wall_ms;
    const struct tune_event_spent *said = &event->spent;
    const double more[TUNE_BUDGETS] = {[TUNE_BUDGET_ROUNDS] = said->rounds,
                                       [TUNE_BUDGET_WALL_S] = said->wall,
                                       [TUNE_BUDGET_DEVICE_S] = said->device,
                                       [TUNE_BUDGET_TOKENS] = said->tokens,
                                       [TUNE_BUDGET_DOLLARS] = said->dollars};
    for (int i = 0; i < TUNE_BUDGETS; i++)
        add(&state->budgets[i].spent, more[i]);
    if (said->step < TUNE_STEPS)
        tune_took_note(state, said->step, said->rest, said->device);
}

void tune_limits_note(struct tune_state *state, const struct tune_by_name *limits) {
    for (size_t i = 0; i < limits->count; i++) {
        enum tune_budget budget;
        if (tune_budget_find(limits->at[i].name, &budget) && !isnan(limits->at[i].number))
            state->budgets[budget].limit = limits->at[i].number;
    }
}

static void guess_add(struct tune_guessed *sums, const struct tune_call *call) {
    if (!call->ended_ms)
        return;
    if (!isnan(call->guess_answer))
        add(&sums->tokens, call->guess_answer + known(call->estimate));
    add(&sums->dollars, call->guess_dollars);
}

/* What was guessed of all calls. Calls that can no longer change are summed up once. */
static struct tune_guessed guessed_of(const struct tune_state *state) {
    struct tune_guessed *kept = &state->own->guessed;
    for (size_t open = tune_calls_open_from(state); kept->count < open; kept->count++)
        guess_add(kept, &state->calls.at[kept->count]);
    struct tune_guessed sums = *kept;
    for (size_t i = sums.count; i < state->calls.len; i++)
        guess_add(&sums, &state->calls.at[i]);
    return sums;
}

double tune_budget_spent(const struct tune_state *state, enum tune_budget budget) {
    double sum = state->budgets[budget].spent;
    bool guessed = budget == TUNE_BUDGET_TOKENS || budget == TUNE_BUDGET_DOLLARS;
    struct tune_guessed sums = guessed ? guessed_of(state) : (struct tune_guessed){0, NAN, NAN};
    add(&sum, budget == TUNE_BUDGET_TOKENS ? sums.tokens : sums.dollars);
    return sum;
}

double tune_budget_held(const struct tune_state *state, enum tune_budget budget) {
    double sum = 0;
    for (size_t i = tune_calls_open_from(state); i < state->calls.len; i++) {
        const struct tune_call *call = &state->calls.at[i];
        if (call->ended_ms)
            continue;
        sum += budget == TUNE_BUDGET_TOKENS    ? known(call->hold_tokens)
               : budget == TUNE_BUDGET_DOLLARS ? known(call->hold_dollars)
                                               : 0;
    }
    for (int i = 0; i < TUNE_STEPS && budget == TUNE_BUDGET_DEVICE_S; i++)
        if (state->steps[i].is == TUNE_IS_RUNNING)
            sum += tune_expect_device(state, (enum tune_step)i) * tune_lanes_running(state);
    return sum;
}

double tune_budget_left(const struct tune_state *state, enum tune_budget budget) {
    double limit = state->budgets[budget].limit;
    return isnan(limit)
               ? (double)NAN
               : limit - known(tune_budget_spent(state, budget)) - tune_budget_held(state, budget);
}

/* --------------------------------------------------------------------------------------- words */

const char *tune_budget_option(enum tune_budget budget) {
    static const char *const options[TUNE_BUDGETS] = {[TUNE_BUDGET_ROUNDS] = "rounds",
                                                      [TUNE_BUDGET_WALL_S] = "wall",
                                                      [TUNE_BUDGET_DEVICE_S] = "device-time",
                                                      [TUNE_BUDGET_TOKENS] = "tokens",
                                                      [TUNE_BUDGET_DOLLARS] = "dollars"};
    return options[budget];
}

static void count_print(struct buf *out, double count) {
    if (count < 10000)
        buf_printf(out, "%.0f", count);
    else if (count < 1e6)
        buf_printf(out, "%.*fk", count < 1e5 ? 1 : 0, count / 1e3);
    else
        buf_printf(out, "%.2fM", count / 1e6);
}

static void seconds_print(struct buf *out, double seconds) {
    if (seconds < 120)
        buf_printf(out, "%.*f s", seconds < 10 ? 1 : 0, seconds);
    else if (seconds < 7200)
        buf_printf(out, "%.1f min", seconds / 60);
    else
        buf_printf(out, "%.1f h", seconds / 3600);
}

void tune_amount_print(struct buf *out, enum tune_budget budget, double amount) {
    if (isnan(amount))
        buf_puts(out, "not reported");
    else if (budget == TUNE_BUDGET_DOLLARS)
        buf_printf(out, amount > 0 && amount < 0.1 ? "$%.4f" : "$%.2f", amount);
    else if (budget == TUNE_BUDGET_WALL_S || budget == TUNE_BUDGET_DEVICE_S)
        seconds_print(out, amount);
    else
        count_print(out, amount);
}

void tune_budget_print(struct buf *out, enum tune_budget budget, double amount) {
    static const char *const nouns[TUNE_BUDGETS] = {[TUNE_BUDGET_ROUNDS] = " rounds",
                                                    [TUNE_BUDGET_DEVICE_S] = " of device",
                                                    [TUNE_BUDGET_TOKENS] = " tokens"};
    tune_amount_print(out, budget, amount);
    if (budget == TUNE_BUDGET_ROUNDS && amount == 1)
        buf_puts(out, " round");
    else
        buf_puts(out, nouns[budget] ? nouns[budget] : "");
}

static void wait_print(struct buf *out, int64_t ms) {
    tune_amount_print(out, TUNE_BUDGET_WALL_S, ceil((double)(ms > 0 ? ms : 0) / 1000));
}

void tune_waiting_print(const struct tune_waiting *waiting, int64_t now_ms, struct buf *out) {
    buf_printf(out, "waits for %s, ", waiting->model ? waiting->model : "a model");
    wait_print(out, now_ms - waiting->since_ms);
    buf_puts(out, " so far, next try in ");
    wait_print(out, waiting->next_ms - now_ms);
    buf_printf(out, ": %s", waiting->text ? waiting->text : "");
}
