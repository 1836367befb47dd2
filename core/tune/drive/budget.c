/* SPDX-License-Identifier: Apache-2.0 */
/* The limits of a session while it runs: asked before a step and before a round, and by a timer for
 * what runs. What things will cost is guessed in ask/expect.c; which step is next is decided in
 * drive.c. */
#include <math.h>
#include <stdlib.h>

#include "loop/loop.h"
#include "tune/drive/private.h"
#include "tune/sums/sums.h"

#define EARLY 0.1   /* a deadline comes before the limit by this share of what is left, */
#define EARLY_S 2.0 /* by no more than this: what runs has to be given up before */

static double known(double value) {
    return isnan(value) ? 0 : value;
}

/* --------------------------------------------------------------------------- the loop's side */

bool tune_budget_stops(struct tune_session *session, int lane, const struct tune_expected *expected,
                       const char *what) {
    struct buf why = {0};
    bool allowed = tune_budget_allows(session->state, expected, what, &why);
    if (!allowed)
        tune_stop(session, lane, "%s", why.at);
    buf_free(&why);
    return !allowed;
}

void tune_budget_tell(struct tune_session *session, const struct tune_expected *expected) {
    struct buf text = {0};
    const char *between = "left of limits: ";
    tune_expected_print(&text, expected);
    for (int i = TUNE_BUDGET_WALL_S; i < TUNE_BUDGETS; i++) {
        double left = tune_budget_left(session->state, (enum tune_budget)i);
        if (isnan(left))
            continue;
        buf_printf(&text, "%s%s", text.len && *between == 'l' ? "; " : "", between);
        tune_budget_print(&text, (enum tune_budget)i, fmax(left, 0));
        between = ", ";
    }
    if (text.len)
        tune_emit_log(session, TUNE_ALL_LANES, TUNE_LEVEL_INFO, "budget", "next round: %s",
                      text.at);
    buf_free(&text);
}

/* Whether the limits are asked about this step: when a question is too dear, hone writes lessons
 * itself. */
static bool is_limited(const struct tune_state *state, enum tune_step step) {
    bool limited = false;
    for (int i = TUNE_BUDGET_WALL_S; i < TUNE_BUDGETS; i++)
        limited = limited || !isnan(state->budgets[i].limit);
    return limited && step < TUNE_STEP_DECIDE;
}

bool tune_budget_stops_step(struct tune_session *session, int lane, enum tune_step step) {
    if (!is_limited(session->state, step))
        return false;
    struct tune_expected expected = tune_expect_step(session->state, lane, step);
    return tune_budget_stops(session, lane, &expected, tune_step_word(step));
}

bool tune_budget_waits(const struct tune_session *session, int lane, enum tune_step step) {
    if (!is_limited(session->state, step) || !tune_works(session))
        return false;
    struct tune_expected expected = tune_expect_step(session->state, lane, step);
    struct buf why = {0};
    bool allowed = tune_budget_allows(session->state, &expected, "", &why);
    buf_free(&why);
    return !allowed;
}

/* ----------------------------------------------------------------------------------- deadlines */

/* Seconds since the last event by the clock. They also count for each evaluation of the device
 * model, whose time is the clock's. */
static double under_way(const struct tune_session *session, enum tune_budget budget, int *running) {
    const struct tune_state *state = session->state;
    uint64_t now = clock_monotonic_ns();
    double seconds = 0;
    *running = budget == TUNE_BUDGET_WALL_S && tune_works(session) && !tune_asks_person(state);
    if (*running)
        return fmax((double)(loop_wall_ms(session->loop) - state->own->clock_ms) / 1000, 0);
    for (const struct tune_evaluation *at = session->evaluations; at; at = at->next) {
        bool runs = at->run && !at->given_up && session->place.modelled;
        if (budget != TUNE_BUDGET_DEVICE_S || !runs)
            continue;
        seconds += (double)(now - at->began_ns) * 1e-9;
        ++*running;
    }
    return seconds;
}

static void on_deadline(void *data) {
    struct tune_session *session = data;
    const struct tune_state *state = session->state;
    enum tune_budget budget = session->deadline_of;
    int running = 0;
    struct buf text = {0};
    session->deadline = NULL;
    if (session->closing || session->halted || !state->running)
        return;
    tune_limit_passed_print(state, budget, "what runs", &text);
    tune_limit_sentence(
        state, budget,
        known(tune_budget_spent(state, budget)) + under_way(session, budget, &running), 0, &text);
    tune_stop(session, TUNE_ALL_LANES, "%s", text.at);
    buf_free(&text);
    tune_work_cancel(session);
    tune_advance(session);
}

/* Seconds until what runs reaches a limit; NAN: never. */
static double runs_out(const struct tune_session *session, enum tune_budget budget) {
    const struct tune_state *state = session->state;
    double limit = state->budgets[budget].limit;
    int running = 0;
    if (isnan(limit))
        return NAN;
    double left =
        limit - known(tune_budget_spent(state, budget)) - under_way(session, budget, &running);
    return running ? fmax(left - fmin(left * EARLY, EARLY_S), 0) / running : (double)NAN;
}

void tune_budget_watch(struct tune_session *session) {
    static const enum tune_budget all[] = {TUNE_BUDGET_WALL_S, TUNE_BUDGET_DEVICE_S};
    double first = NAN;
    loop_timer_stop(session->deadline);
    session->deadline = NULL;
    if (session->closing || session->halted || !session->state->running)
        return;
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        double seconds = runs_out(session, all[i]);
        if (isnan(seconds) || (!isnan(first) && seconds >= first))
            continue;
        first = seconds;
        session->deadline_of = all[i];
    }
    if (!isnan(first) && first < 1e9)
        session->deadline =
            loop_timer_start(session->loop, (uint64_t)(first * 1000), 0, on_deadline, session);
}
