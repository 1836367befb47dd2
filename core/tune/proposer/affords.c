/* SPDX-License-Identifier: Apache-2.0 */
/* Whether what is left pays for a question, and how long its answer may get. */
#include <math.h>
#include <stdio.h>

#include "model/model.h"
#include "tune/proposer/inner.h"
#include "tune/sums/sums.h"

#define AMPLE 4   /* an answer may be so many times longer than expected */
#define PART 0.25 /* or take this share of what is left, whichever is more */

static double known(double value) {
    return isnan(value) ? 0 : value;
}

/* The longest answer, in tokens, that the rest of the limits pays for; 0: there is no limit. */
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

/* What an answer may take beyond what is expected is held for it, too. */
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
        tune_stop(session, reply->work.lane, "%s", why.at);
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
