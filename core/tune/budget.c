/* SPDX-License-Identifier: Apache-2.0 */
/* Limits: what is spent, what is spoken for, what is left, and the sentence with which the loop
 * stops before it passes one. What things will cost is guessed in expect.c; which step is next is
 * drive.c's. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "loop/loop.h"
#include "model/model.h"
#include "tune/driver.h"
#include "tune/models.h"

#define AMPLE 4      /* an answer may be so many times longer than expected, */
#define PART 0.25    /* or take this part of what is left, whatever is more */
#define MOST_OPEN 64 /* questions among the last that may still be open */
#define EARLY 0.1    /* a deadline comes before the limit by this part of what is left, */
#define EARLY_S 2.0  /* at most so much: what runs has to be given up before */

static double known(double value) {
    return isnan(value) ? 0 : value;
}

/* ------------------------------------------------------------------------------------ spending */

/* Whether a question waits for a person: to answer it, or to look at it before it goes out. */
static bool asks_person(const struct tune_state *state) {
    for (size_t i = state->calls.len; i > 0 && i + MOST_OPEN > state->calls.len; i--) {
        const struct tune_call *call = &state->calls.at[i - 1];
        if (!call->ended_ms && (call->waits || call->held))
            return true;
    }
    return false;
}

/* The loop's clock runs while it works by itself: not while it waits for a person, nor between the
 * processes of a session. */
void tune_budget_clock(struct tune_state *state, const char *type, int64_t wall_ms) {
    bool works = state->running && state->wait == TUNE_WAIT_NOTHING && !asks_person(state);
    if (works && strcmp(type, "resumed") != 0 && wall_ms > state->own->clock_ms)
        state->budgets[TUNE_BUDGET_WALL_S].spent += (double)(wall_ms - state->own->clock_ms) / 1000;
    state->own->clock_ms = wall_ms;
}

void tune_spent_note(struct tune_state *state, const cJSON *payload, int64_t wall_ms) {
    (void)wall_ms;
    enum tune_step step;
    for (int i = 0; i < TUNE_BUDGETS; i++) {
        double more = tune_json_number(payload, tune_budget_word((enum tune_budget)i));
        double *spent = &state->budgets[i].spent;
        if (!isnan(more))
            *spent = isnan(*spent) ? more : *spent + more;
    }
    if (tune_step_find(tune_json_text(payload, "step"), &step))
        tune_took_note(state, step, tune_json_bool(payload, "rest"),
                       tune_json_number(payload, tune_budget_word(TUNE_BUDGET_DEVICE_S)));
}

void tune_limits_note(struct tune_state *state, const cJSON *limits) {
    const cJSON *limit;
    cJSON_ArrayForEach(limit, limits) {
        enum tune_budget budget;
        if (tune_budget_find(limit->string, &budget) && cJSON_IsNumber(limit))
            state->budgets[budget].limit = limit->valuedouble;
    }
}

static void add(double *sum, double value) {
    if (!isnan(value))
        *sum = isnan(*sum) ? value : *sum + value;
}

double tune_budget_spent(const struct tune_state *state, enum tune_budget budget) {
    double sum = state->budgets[budget].spent;
    for (size_t i = 0; i < state->calls.len; i++) {
        const struct tune_call *call = &state->calls.at[i];
        if (call->ended_ms && budget == TUNE_BUDGET_TOKENS && !isnan(call->guess_answer))
            add(&sum, call->guess_answer + known(call->estimate));
        if (call->ended_ms && budget == TUNE_BUDGET_DOLLARS)
            add(&sum, call->guess_dollars);
    }
    return sum;
}

double tune_budget_held(const struct tune_state *state, enum tune_budget budget) {
    double sum = 0;
    for (size_t i = 0; i < state->calls.len; i++) {
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

void tune_expected_print(struct buf *out, const struct tune_expected *expected) {
    double tokens = expected->cost[TUNE_BUDGET_TOKENS],
           dollars = expected->cost[TUNE_BUDGET_DOLLARS];
    if (!(tokens > 0))
        return;
    buf_puts(out, "about ");
    tune_budget_print(out, TUNE_BUDGET_TOKENS, tokens);
    if (isnan(dollars)) {
        buf_puts(out, ", dollars not known");
        return;
    }
    buf_puts(out, ", ");
    tune_budget_print(out, TUNE_BUDGET_DOLLARS, dollars);
}

/* -------------------------------------------------------------------------------------- limits */

static const char *unpriced(const struct tune_state *state) {
    for (int role = 0; state->roles && role < TUNE_ROLES; role++)
        for (size_t i = 0; i < state->roles[role].count; i++) {
            const struct tune_role_model *model = &state->roles[role].models[i];
            if (!model->person && (isnan(model->price_input) || isnan(model->price_output)))
                return model->name;
        }
    return NULL;
}

/* `spent`, then what is spoken for, then `cost`, which is 0 for what runs already. */
static void sentence(const struct tune_state *state, enum tune_budget budget, double spent,
                     double cost, struct buf *out) {
    const struct tune_budget_view *view = &state->budgets[budget];
    double held = cost > 0 ? tune_budget_held(state, budget) : 0;
    tune_budget_print(out, budget, known(spent));
    buf_puts(out, " spent");
    if (held > 0) {
        buf_puts(out, ", ");
        tune_budget_print(out, budget, held);
        buf_puts(out, " spoken for");
    }
    if (cost > 0) {
        buf_puts(out, ", about ");
        tune_budget_print(out, budget, cost);
        buf_puts(out, " needed");
    }
    buf_printf(out,
               view->limit < 50 ? "; more with :budget %s %.4g" : "; more with :budget %s %.0f",
               tune_budget_word(budget), view->limit * 2);
    buf_printf(out, " or hone run --%s", tune_budget_option(budget));
}

static void passed_print(const struct tune_state *state, enum tune_budget budget, const char *what,
                         struct buf *out) {
    buf_puts(out, "the limit of ");
    tune_budget_print(out, budget, state->budgets[budget].limit);
    buf_printf(out, " would be passed by %s: ", what);
}

bool tune_budget_is_priced(const struct tune_state *state, struct buf *why) {
    const char *stranger =
        isnan(state->budgets[TUNE_BUDGET_DOLLARS].limit) ? NULL : unpriced(state);
    if (stranger)
        buf_printf(why,
                   "a limit in dollars cannot be kept: what %s costs is not known. Give its "
                   "[model] price_input and price_output, or lift the limit: :budget dollars none",
                   stranger);
    return !stranger;
}

bool tune_budget_allows(const struct tune_state *state, const struct tune_expected *expected,
                        const char *what, struct buf *why) {
    if (!tune_budget_is_priced(state, why))
        return false;
    for (int i = 0; i < TUNE_BUDGETS; i++) {
        enum tune_budget budget = (enum tune_budget)i;
        double limit = state->budgets[i].limit, left = tune_budget_left(state, budget);
        double cost = known(expected->cost[i]);
        bool over = budget == TUNE_BUDGET_WALL_S && left <= 0; /* whatever is next takes some */
        if (isnan(limit) || (!over && (cost <= 0 || cost <= left + limit * 1e-9)))
            continue;
        if (budget == TUNE_BUDGET_ROUNDS) {
            buf_printf(why, "all %.0f rounds are done", limit);
            return false;
        }
        passed_print(state, budget, what, why);
        sentence(state, budget, tune_budget_spent(state, budget), cost, why);
        return false;
    }
    return true;
}

/* --------------------------------------------------------------------------- the loop's side */

bool tune_budget_stops(struct tune_session *session, const struct tune_expected *expected,
                       const char *what) {
    struct buf why = {0};
    bool allowed = tune_budget_allows(session->state, expected, what, &why);
    if (!allowed)
        tune_stop(session, "%s", why.at);
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
        tune_emit_log(session, TUNE_LEVEL_INFO, "budget", "next round: %s", text.at);
    buf_free(&text);
}

/* Whether a step is asked about at all: hone does the last ones itself when a question is dear. */
static bool is_limited(const struct tune_state *state, enum tune_step step) {
    bool limited = false;
    for (int i = TUNE_BUDGET_WALL_S; i < TUNE_BUDGETS; i++)
        limited = limited || !isnan(state->budgets[i].limit);
    return limited && step < TUNE_STEP_DECIDE;
}

bool tune_budget_stops_step(struct tune_session *session, enum tune_step step) {
    if (!is_limited(session->state, step))
        return false;
    struct tune_expected expected = tune_expect_step(session->state, step);
    return tune_budget_stops(session, &expected, tune_step_word(step));
}

bool tune_budget_waits(const struct tune_session *session, enum tune_step step) {
    if (!is_limited(session->state, step) || !tune_works(session))
        return false;
    struct tune_expected expected = tune_expect_step(session->state, step);
    struct buf why = {0};
    bool allowed = tune_budget_allows(session->state, &expected, "", &why);
    buf_free(&why);
    return !allowed;
}

/* The longest answer that what is left can pay for; 0: no limit says. */
static double most_of(const struct tune_state *state, const struct tune_asking *asking,
                      const struct tune_expected *expected) {
    const struct tune_role_model *model = &state->roles[asking->role].models[asking->which];
    double tokens = tune_budget_left(state, TUNE_BUDGET_TOKENS) - expected->prompt;
    double prompt =
        expected->cost[TUNE_BUDGET_DOLLARS] - expected->answer * model->price_output * 1e-6;
    double dollars = tune_budget_left(state, TUNE_BUDGET_DOLLARS) - known(prompt);
    double paid = model->price_output > 0 ? dollars / (model->price_output * 1e-6) : (double)NAN;
    double most = fmin(tokens, paid); /* of a number and NAN: the number */
    if (isnan(most))
        return 0;
    return fmin(most, fmax(expected->answer * AMPLE, most * PART));
}

/* What an answer may be longer than expected is spoken for, too. */
static void lengthen(const struct tune_state *state, struct tune_asking *asking,
                     const struct tune_expected *expected, int *max_tokens) {
    const struct tune_role_model *model = &state->roles[asking->role].models[asking->which];
    double most = floor(most_of(state, asking, expected));
    if (model->person || most < 1)
        return;
    most = fmin(most, *max_tokens > 0 ? *max_tokens : MODEL_MAX_TOKENS);
    *max_tokens = (int)most;
    asking->hold_tokens += fmax(most - expected->answer, 0);
    asking->hold_dollars += fmax(most - expected->answer, 0) * model->price_output * 1e-6;
}

bool tune_reply_affords(struct tune_reply *reply, struct tune_asking *asking, int *max_tokens,
                        struct err *err) {
    struct tune_session *session = reply->work.session;
    struct tune_expected expected = tune_expect_call(session->state, asking);
    bool lesson = asking->role == TUNE_ROLE_SUMMARISER || asking->role == TUNE_ROLE_REFLECTOR;
    struct buf why = {0};
    char what[60];
    snprintf(what, sizeof what, "a question to the %s", tune_role_word(asking->role));
    asking->hold_tokens = expected.cost[TUNE_BUDGET_TOKENS];
    asking->hold_dollars = expected.cost[TUNE_BUDGET_DOLLARS];
    expected.cost[TUNE_BUDGET_WALL_S] = 0; /* that is the step's */
    bool allowed = tune_budget_allows(session->state, &expected, what, &why);
    if (allowed) {
        lengthen(session->state, asking, &expected, max_tokens);
    } else if (lesson) {
        err_set(err, ERR_CANCELLED, "%s", why.at);
    } else {
        reply->done = true;
        tune_stop(session, "%s", why.at);
    }
    buf_free(&why);
    return allowed;
}

void tune_budget_guess(const struct tune_state *state, int number, struct str answer,
                       struct tune_call *values) {
    const struct tune_call *call = &state->calls.at[number];
    const struct tune_role_model *model = NULL;
    enum tune_role role;
    double tokens = model_tokens_estimate(answer);
    bool known_role = tune_role_find(call->role, &role) && state->roles;
    for (size_t i = 0; known_role && i < state->roles[role].count && !model; i++)
        if (call->model && !strcmp(state->roles[role].models[i].name, call->model))
            model = &state->roles[role].models[i];
    if (!(tokens > 0) || (model && model->person))
        return;
    bool counted = !isnan(values->input) || !isnan(values->output);
    if (!counted)
        values->guess_answer = tokens;
    if (model && !counted && isnan(values->dollars))
        values->guess_dollars =
            (call->estimate * model->price_input + tokens * model->price_output) * 1e-6;
}

/* ----------------------------------------------------------------------------------- deadlines */

/* What the clock shows since the last event; the same for each evaluation of the device model,
 * whose time is the clock's. */
static double under_way(const struct tune_session *session, enum tune_budget budget, int *running) {
    const struct tune_state *state = session->state;
    uint64_t now = clock_monotonic_ns();
    double seconds = 0;
    *running = budget == TUNE_BUDGET_WALL_S && tune_works(session) && !asks_person(state);
    if (*running)
        return fmax((double)(clock_wall_ms() - state->own->clock_ms) / 1000, 0);
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
    passed_print(state, budget, "what runs", &text);
    sentence(state, budget,
             known(tune_budget_spent(state, budget)) + under_way(session, budget, &running), 0,
             &text);
    tune_stop(session, "%s", text.at);
    buf_free(&text);
    tune_work_cancel(session);
    tune_advance(session);
}

/* Seconds until a limit is reached by what runs; NAN: never. */
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
