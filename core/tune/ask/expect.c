/* SPDX-License-Identifier: Apache-2.0 */
/* What the next question, evaluation, step and round will cost, going by what they cost in this
 * session before. It decides nothing; limits are budget.c's. */
#include <math.h>
#include <stdlib.h>

#include "model/model.h"
#include "tune/state/inner.h"
#include "tune/state/state.h"
#include "tune/ask/ask.h"
#include "tune/sums/sums.h"

#define RECENT 10     /* calls of a role that tell how long its answers are */
#define UNCOUNTED 1.2 /* times the estimate, for a prompt that no service counted */

/* Tokens of the first answer of a role: a plan is a page, a lesson a paragraph. A kernel is as long
 * as the present one and half as much again, with some words around it. */
static const struct {
    double tokens, kernels;
} first_answer[TUNE_ROLES] = {
    [TUNE_ROLE_PLANNER] = {1500, 0},  [TUNE_ROLE_REWRITER] = {1000, 1.5},
    [TUNE_ROLE_FIXER] = {1000, 1.5},  [TUNE_ROLE_SUMMARISER] = {500, 0},
    [TUNE_ROLE_REFLECTOR] = {500, 0},
};

static double first_of(const struct tune_state *state, enum tune_role role) {
    bool both = role == TUNE_ROLE_PLANNER && tune_asks_for_both(state);
    const struct tune_attempt *at = tune_state_attempt(state, state->incumbent);
    const char *source = at ? tune_source(state, at) : state->kernel_source;
    double kernels = first_answer[both ? TUNE_ROLE_REWRITER : role].kernels;
    return first_answer[role].tokens +
           kernels * model_tokens_estimate(str_of(source ? source : ""));
}

static double known(double value) {
    return isnan(value) ? 0 : value;
}

/* ----------------------------------------------------------------------------------- questions */

static const struct tune_role_model *model_of(const struct tune_state *state,
                                              const struct tune_asking *asking) {
    const struct tune_role_view *role = state->roles ? &state->roles[asking->role] : NULL;
    return role && asking->which < role->count ? &role->models[asking->which] : NULL;
}

/* What the calls of a role, and of a model, tell. */
struct past {
    double prompt, answer, seconds; /* the largest of the last ones; 0: none */
    double counted, estimated;      /* tokens of prompts, as services and as hone count them */
    double read, written;           /* of the counted ones, from and into the cache */
};

static void look_back(const struct tune_state *state, const struct tune_asking *asking,
                      const char *model, struct past *past) {
    int recent = 0;
    for (size_t i = state->calls.len; i-- > 0;) {
        const struct tune_call *call = &state->calls.at[i];
        bool own = call->role && !strcmp(call->role, tune_role_word(asking->role));
        double input = known(call->input) + known(call->cache_read) + known(call->cache_write);
        if (!call->ended_ms)
            continue;
        if (own && recent < RECENT && !call->failure) {
            double answer = isnan(call->output) ? call->guess_answer : call->output;
            past->answer = fmax(past->answer, known(answer));
            past->prompt = fmax(past->prompt, known(call->estimate));
            past->seconds = fmax(past->seconds, known(call->elapsed_s));
            recent++;
        }
        if (input <= 0 || !(call->estimate > 0) || !model || !call->model ||
            strcmp(call->model, model) != 0)
            continue;
        past->counted += input;
        past->estimated += call->estimate;
        past->read += own ? known(call->cache_read) : 0;
        past->written += own ? known(call->cache_write) : 0;
    }
}

/* Shares of the prompt that the cache had before. For a model that was not asked yet, all of it
 * costs as much as writing to the cache. */
static double dollars_of(const struct tune_role_model *model, const struct past *past,
                         const struct tune_expected *expected) {
    struct model_price price = {model->price_input, model->price_output, model->price_cache_read,
                                model->price_cache_write, model->price_up_to};
    struct model_usage usage = {.input = expected->prompt, .output = expected->answer};
    double read = past->counted > 0 ? past->read / past->counted : 0;
    double written =
        past->counted > 0 ? past->written / past->counted : price.cache_write > price.input;
    if (!isnan(price.cache_read))
        usage.cache_read = expected->prompt * read;
    if (!isnan(price.cache_write))
        usage.cache_write = expected->prompt * written;
    usage.input -= usage.cache_read + usage.cache_write;
    return model_price_of(&price, &usage);
}

struct tune_expected tune_expect_call(const struct tune_state *state,
                                      const struct tune_asking *asking) {
    const struct tune_role_model *model = model_of(state, asking);
    struct tune_expected expected = {0};
    struct past past = {0};
    if (!model)
        return expected;
    look_back(state, asking, model->name, &past);
    expected.own = past.answer > 0;
    expected.cost[TUNE_BUDGET_WALL_S] = past.seconds;
    expected.prompt = isnan(asking->prompt) ? past.prompt : asking->prompt;
    expected.prompt *= past.estimated > 0 ? past.counted / past.estimated : UNCOUNTED;
    expected.answer = past.answer > 0 ? past.answer : first_of(state, asking->role);
    expected.cached = past.counted > 0 ? past.read / past.counted : 0;
    if (model->person)
        return expected;
    expected.cost[TUNE_BUDGET_TOKENS] = expected.prompt + expected.answer;
    expected.cost[TUNE_BUDGET_DOLLARS] = dollars_of(model, &past, &expected);
    expected.unpriced = isnan(expected.cost[TUNE_BUDGET_DOLLARS]) ? model->name : NULL;
    return expected;
}

/* A role's next question; the prompt is built here where there was none before. */
static struct tune_expected next_call(const struct tune_state *state, int lane,
                                      enum tune_role role) {
    size_t models = state->roles ? state->roles[role].count : 0;
    struct tune_asking asking = {
        .role = role, .which = tune_role_turn(state, role, models), .prompt = NAN};
    bool asked = !models;
    for (size_t i = 0; i < state->calls.len && !asked; i++)
        asked = state->calls.at[i].ended_ms && state->calls.at[i].role &&
                !state->calls.at[i].failure &&
                !strcmp(state->calls.at[i].role, tune_role_word(role));
    if (!asked) {
        struct tune_context *context = tune_context_build(state, lane);
        struct tune_prompt *prompt = tune_prompt_build(context, role, NULL, 0);
        if (asking.which < models)
            tune_prompt_fit(prompt, context, state->roles[role].models[asking.which].most);
        asking.prompt = tune_prompt_tokens(prompt);
        tune_prompt_free(prompt);
        tune_context_free(context);
    }
    return tune_expect_call(state, &asking);
}

/* --------------------------------------------------------------------------------------- steps */

/* Whether the kernel comes with the plan, that of the lane or the next one. */
static bool comes_with_plan(const struct tune_state *state, int lane) {
    return tune_lane_plan(state, lane) ? tune_lane_kernel(state, lane) != NULL
                                       : tune_asks_for_both(state);
}

struct tune_expected tune_expect_step(const struct tune_state *state, int lane,
                                      enum tune_step step) {
    static const enum tune_role roles[TUNE_STEPS] = {[TUNE_STEP_PLAN] = TUNE_ROLE_PLANNER,
                                                     [TUNE_STEP_REWRITE] = TUNE_ROLE_REWRITER,
                                                     [TUNE_STEP_SUMMARISE] = TUNE_ROLE_SUMMARISER,
                                                     [TUNE_STEP_REFLECT] = TUNE_ROLE_REFLECTOR};
    struct tune_expected expected = {0};
    enum tune_role role = roles[step];
    const struct tune_attempt *open = tune_attempt_in(state, lane);
    bool repairs = step == TUNE_STEP_REWRITE && open && open->id > 0 && tune_is_broken(state, open);
    bool swept = step == TUNE_STEP_PLAN ? !tune_sweep_ends(state)
                                        : tune_sweep_is_one(tune_lane_plan(state, lane));
    bool written = step == TUNE_STEP_REWRITE && !repairs && comes_with_plan(state, lane);
    if ((step == TUNE_STEP_PLAN || role) && !swept && !written)
        expected = next_call(state, lane, repairs ? TUNE_ROLE_FIXER : role);
    expected.cost[TUNE_BUDGET_DEVICE_S] = tune_expect_device(state, step);
    expected.cost[TUNE_BUDGET_WALL_S] = state->own->took[step].wall_s;
    expected.own = expected.own || state->own->took[step].wall_s > 0;
    return expected;
}

/* How often a step is done in a round: a beam search has lanes, which do it side by side. */
static double times_of(const struct tune_state *state, enum tune_step step) {
    double parents = fmax(MIN_OF((int)state->beam.len, state->width.parents), 1);
    double plans = parents * fmax(state->width.plans, 1);
    return step == TUNE_STEP_PROFILE ? state->incumbent < 0
           : step == TUNE_STEP_PLAN  ? plans
                                     : plans * fmax(state->width.rewrites, 1);
}

struct tune_expected tune_expect_round(const struct tune_state *state) {
    struct tune_expected whole = {.own = true};
    for (int step = 0; step < TUNE_STEPS; step++) {
        struct tune_expected one =
            tune_expect_step(state, tune_lane_first(state), (enum tune_step)step);
        double times = times_of(state, (enum tune_step)step);
        for (int i = 0; i < TUNE_BUDGETS; i++)
            whole.cost[i] += one.cost[i] * (i == TUNE_BUDGET_WALL_S && times > 0 ? 1 : times);
        whole.prompt += one.prompt * times;
        whole.answer += one.answer * times;
        whole.own = whole.own && one.own;
        whole.unpriced = whole.unpriced ? whole.unpriced : one.unpriced;
    }
    whole.cost[TUNE_BUDGET_ROUNDS] = 1;
    if (!tune_sweep_ends(state)) /* nobody is asked, and the step was counted when it began */
        whole.cost[TUNE_BUDGET_ROUNDS] = whole.cost[TUNE_BUDGET_TOKENS] =
            whole.cost[TUNE_BUDGET_DOLLARS] = 0;
    return whole;
}
