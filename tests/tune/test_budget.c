// SPDX-License-Identifier: Apache-2.0
/* Limits: what is expected, spent and set aside, and that no limit is exceeded. */
#include "tune/apply/apply.h"
#include "tune/fake.h"
#include "base/config/testing.h"
#include "tune/ask/budget.h"

#define SOURCE(latency, mark) \
    "def kernel(): x = '''\n    # latency " latency "\n    # " mark "\n'''\n"

static const struct fake_plan plans[] = {{"1", SOURCE("900", "1"), NAN, NULL},
                                         {"2", SOURCE("800", "2"), NAN, NULL},
                                         {"3", SOURCE("700", "3"), NAN, NULL},
                                         {"4", SOURCE("600", "4"), NAN, NULL}};

static void limit(struct fake *fake, enum tune_budget budget, double number) {
    fake_act(fake, (struct tune_action){
                       .kind = TUNE_ACT_SET_BUDGET, .index = (int)budget, .number = number});
}

static void run(struct fake *fake) {
    fake_act(fake, (struct tune_action){.kind = TUNE_ACT_START});
}

static void stopped_by(const struct fake *fake, const char *words) {
    const struct tune_state *state = fake_state(fake);
    assert_true(state->finished);
    assert_int_equal(state->wait, TUNE_WAIT_STOPPED);
    if (!strstr(state->wait_text, words))
        fail_msg("\"%s\" is not in \"%s\"", words, state->wait_text);
}

static void rounds_and_device_stop_it_in_time(void **unused) {
    (void)unused;
    struct fake fake;
    fake_begin(&fake, plans, COUNT_OF(plans), TUNE_GATE_AUTO);
    limit(&fake, TUNE_BUDGET_ROUNDS, 2);
    run(&fake);
    stopped_by(&fake, "all 2 rounds");
    limit(&fake, TUNE_BUDGET_ROUNDS, 50);
    double spent = tune_budget_spent(fake_state(&fake), TUNE_BUDGET_DEVICE_S);
    limit(&fake, TUNE_BUDGET_DEVICE_S, spent + 0.9); /* a round takes a second */
    run(&fake);
    stopped_by(&fake, "of device would be passed by another round");
    stopped_by(&fake, ":budget device");
    assert_int_equal(fake_state(&fake)->round, 2);
    limit(&fake, TUNE_BUDGET_DEVICE_S, spent + 1.5);
    run(&fake);
    assert_int_equal(fake_state(&fake)->round, 3);
    assert_true(tune_budget_spent(fake_state(&fake), TUNE_BUDGET_DEVICE_S) <= spent + 1.5);
    fake_end(&fake);
}

static void a_host_is_not_asked_for_more_than_it_may_give(void **unused) {
    (void)unused;
    struct fake fake;
    fake_measured = true;
    fake_begin(&fake, plans, COUNT_OF(plans), TUNE_GATE_AUTO);
    fake_measured = false;
    limit(&fake, TUNE_BUDGET_DEVICE_S, 0.9); /* an eighth of a second an evaluation */
    run(&fake);
    stopped_by(&fake, "of device would be passed by another round");
    double spent = tune_budget_spent(fake_state(&fake), TUNE_BUDGET_DEVICE_S);
    assert_true(spent > 0.4 && spent <= 0.9);
    assert_true(fake_state(&fake)->round >= 1);
    fake_end(&fake);
}

static void what_runs_is_given_up_when_time_is_over(void **unused) {
    (void)unused;
    struct fake fake;
    fake_begin(&fake, plans, COUNT_OF(plans), TUNE_GATE_AUTO);
    fake.place.slow = true;
    limit(&fake, TUNE_BUDGET_WALL_S, 0.3);
    run(&fake);
    stopped_by(&fake, "the limit of 0.3 s would be passed by what runs");
    assert_int_equal(fake.place.cancelled, 1);
    assert_int_equal(fake_state(&fake)->steps[TUNE_STEP_PROFILE].is, TUNE_IS_WAITING);
    assert_true(fake_state(&fake)->budgets[TUNE_BUDGET_WALL_S].spent > 0.1);
    fake.place.slow = false;
    limit(&fake, TUNE_BUDGET_WALL_S, NAN);
    limit(&fake, TUNE_BUDGET_ROUNDS, 1);
    run(&fake); /* it continues with the step that was given up */
    stopped_by(&fake, "the one round is done");
    assert_int_equal(fake_state(&fake)->incumbent, 1);
    fake_end(&fake);
}

static void the_device_models_time_is_a_limit_for_what_runs(void **unused) {
    (void)unused;
    struct fake fake;
    fake_begin(&fake, plans, COUNT_OF(plans), TUNE_GATE_AUTO);
    fake.place.slow = true;
    limit(&fake, TUNE_BUDGET_DEVICE_S, 0.3);
    run(&fake);
    stopped_by(&fake, "0.3 s of device would be passed by what runs");
    fake_end(&fake);
}

/* ---------------------------------------------------------------------------------- questions */

static struct tune_state *replayed(const char *const (*events)[2], size_t count) {
    struct tune_state *state = tune_state_new();
    for (size_t i = 0; i < count; i++)
        tune_state_apply(state, (int64_t)i + 1, 1000 * (int64_t)(i + 1), events[i][0],
                         events[i][1]);
    return state;
}

#define PRICED(label)                                                                 \
    {                                                                                 \
        .name = label, .asked = "anthropic, x", .price_input = 1, .price_output = 10, \
        .price_cache_read = 0.1, .price_cache_write = 1.25                            \
    }
static const struct tune_role_model priced[] = {PRICED("a")};
static const struct tune_role_model stranger[] = {{.name = "b",
                                                   .asked = "openai, b",
                                                   .price_input = NAN,
                                                   .price_output = NAN,
                                                   .price_cache_read = NAN,
                                                   .price_cache_write = NAN}};
static const struct tune_role_model person[] = {{.name = "human",
                                                 .asked = "human, you",
                                                 .price_input = NAN,
                                                 .price_output = NAN,
                                                 .price_cache_read = NAN,
                                                 .price_cache_write = NAN,
                                                 .person = true}};

static const char *const talk[][2] = {
    {"asked", "{\"role\":\"planner\",\"model\":\"a\",\"estimate\":1000,\"hold_tokens\":9000,"
              "\"hold_dollars\":0.09}"},
    {"answered", "{\"call\":0,\"input\":300,\"cache_read\":1200,\"output\":500,\"dollars\":0.006,"
                 "\"elapsed_s\":7}"},
    {"spent", "{\"tokens\":2000,\"dollars\":0.006}"},
    {"asked", "{\"role\":\"planner\",\"model\":\"a\",\"estimate\":2000,\"hold_tokens\":4000,"
              "\"hold_dollars\":0.02}"},
};

static void a_question_costs_what_they_cost_before(void **unused) {
    (void)unused;
    struct tune_role_view roles[TUNE_ROLES] = {{.models = priced, .count = 1}};
    struct tune_state *state = replayed(talk, 3);
    state->roles = roles;
    struct tune_asking asking = {.role = TUNE_ROLE_PLANNER, .prompt = 2000};
    struct tune_expected expected = tune_expect_call(state, &asking);
    assert_true(expected.own);
    assert_float_equal(expected.prompt, 3000, 1e-6); /* 1500 were counted where 1000 were guessed */
    assert_float_equal(expected.answer, 500, 1e-6);
    assert_float_equal(expected.cached, 0.8, 1e-6);
    assert_float_equal(expected.cost[TUNE_BUDGET_TOKENS], 3500, 1e-6);
    assert_float_equal(expected.cost[TUNE_BUDGET_DOLLARS], (600 * 1 + 2400 * 0.1 + 500 * 10) * 1e-6,
                       1e-12);
    asking.prompt = NAN;
    assert_float_equal(tune_expect_call(state, &asking).prompt, 1500, 1e-6);
    tune_state_free(state);
}

static void the_first_question_is_taken_for_a_dear_one(void **unused) {
    (void)unused;
    struct tune_role_view roles[TUNE_ROLES] = {{.models = priced, .count = 1}};
    struct tune_state *state = tune_state_new();
    state->roles = roles;
    struct tune_asking asking = {.role = TUNE_ROLE_PLANNER, .prompt = 1000};
    struct tune_expected expected = tune_expect_call(state, &asking);
    assert_false(expected.own);
    assert_float_equal(expected.prompt, 1200, 1e-6);
    assert_float_equal(expected.cost[TUNE_BUDGET_DOLLARS],
                       (1200 * 1.25 + expected.answer * 10) * 1e-6, 1e-12);
    tune_state_free(state);
}

static void what_is_asked_is_spoken_for_until_it_is_answered(void **unused) {
    (void)unused;
    struct tune_role_view roles[TUNE_ROLES] = {{.models = priced, .count = 1}};
    struct tune_state *state = replayed(talk, COUNT_OF(talk));
    state->roles = roles;
    state->budgets[TUNE_BUDGET_TOKENS].limit = 8000;
    assert_float_equal(tune_budget_spent(state, TUNE_BUDGET_TOKENS), 2000, 1e-6);
    assert_float_equal(tune_budget_held(state, TUNE_BUDGET_TOKENS), 4000, 1e-6);
    assert_float_equal(tune_budget_held(state, TUNE_BUDGET_DOLLARS), 0.02, 1e-9);
    assert_float_equal(tune_budget_left(state, TUNE_BUDGET_TOKENS), 2000, 1e-6);
    struct tune_expected expected = {0};
    struct buf why = {0};
    expected.cost[TUNE_BUDGET_TOKENS] = 2000;
    assert_true(tune_budget_allows(state, &expected, "plan", &why));
    expected.cost[TUNE_BUDGET_TOKENS] = 2001;
    assert_false(tune_budget_allows(state, &expected, "plan", &why));
    assert_string_equal(why.at,
                        "the limit of 8000 tokens would be passed by plan: 2000 tokens spent, "
                        "4000 tokens spoken for, about 2001 tokens needed; more with "
                        ":budget tokens 16000 or hone run --tokens");
    expected.cost[TUNE_BUDGET_TOKENS] = 0; /* what costs none continues */
    assert_true(tune_budget_allows(state, &expected, "verify", &why));
    buf_free(&why);
    tune_state_free(state);
}

static void what_nobody_counted_is_not_nothing(void **unused) {
    (void)unused;
    static const char *const events[][2] = {
        {"asked", "{\"role\":\"planner\",\"model\":\"a\",\"estimate\":1000}"},
        {"answered", "{\"call\":0,\"guess_answer\":400,\"guess_dollars\":0.005}"},
        {"asked", "{\"role\":\"planner\",\"model\":\"a\",\"estimate\":1000}"},
        {"answered", "{\"call\":1,\"failure\":\"401\"}"}};
    struct tune_state *state = replayed(events, COUNT_OF(events));
    assert_true(isnan(state->budgets[TUNE_BUDGET_TOKENS].spent)); /* as reported: nothing */
    assert_float_equal(tune_budget_spent(state, TUNE_BUDGET_TOKENS), 1400, 1e-6);
    assert_float_equal(tune_budget_spent(state, TUNE_BUDGET_DOLLARS), 0.005, 1e-9);
    tune_state_free(state);
}

static void dollars_of_a_stranger_are_refused(void **unused) {
    (void)unused;
    struct tune_role_view roles[TUNE_ROLES] = {{.models = priced, .count = 1},
                                               {.models = stranger, .count = 1}};
    struct tune_state *state = tune_state_new();
    struct tune_expected nothing = {0};
    struct buf why = {0};
    state->roles = roles;
    assert_true(tune_budget_allows(state, &nothing, "plan", &why));
    state->budgets[TUNE_BUDGET_DOLLARS].limit = 5;
    assert_false(tune_budget_allows(state, &nothing, "plan", &why));
    assert_non_null(strstr(why.at, "the price of b is not known"));
    roles[TUNE_ROLE_REWRITER].models = person;
    assert_true(tune_budget_allows(state, &nothing, "plan", &why));
    struct tune_asking asking = {.role = TUNE_ROLE_REWRITER, .prompt = 1000};
    assert_true(tune_expect_call(state, &asking).cost[TUNE_BUDGET_TOKENS] == 0);
    buf_free(&why);
    tune_state_free(state);
}

static void limits_come_from_options_and_the_configuration(void **unused) {
    (void)unused;
    struct fake fake;
    struct err err = {0};
    fake_begin(&fake, plans, COUNT_OF(plans), TUNE_GATE_AUTO);
    tune_session_close(fake.session);
    setenv("XDG_CONFIG_HOME", fake.folder, 1);
    struct config *config = config_load(NULL, &err);
    assert_non_null(config);
    assert_true(config_set(config, "budgets", "tokens", "5000", &err));
    assert_true(config_set(config, "budgets", "device_s", "70", &err));
    fake.options.config = config;
    fake.options.fresh = true;
    fake.options.use = &fake.proposer.vtable;
    fake.options.limits[TUNE_BUDGET_DEVICE_S] = 80;
    fake.options.rounds = 1;
    fake.place = (struct fake_place){.loop = fake.loop};
    fake_open(&fake);
    const struct tune_state *state = fake_state(&fake);
    assert_true(state->budgets[TUNE_BUDGET_TOKENS].limit == 5000);
    assert_true(state->budgets[TUNE_BUDGET_DEVICE_S].limit == 80);
    assert_true(isnan(state->budgets[TUNE_BUDGET_DOLLARS].limit));
    assert_string_equal(tune_state_origin(state, "device-time", 0), "--device-time");
    run(&fake);
    double spent = tune_budget_spent(state, TUNE_BUDGET_DEVICE_S);
    tune_session_close(fake.session);
    fake.options.fresh = false; /* this much more */
    fake.place = (struct fake_place){.loop = fake.loop};
    fake_open(&fake);
    state = fake_state(&fake);
    assert_true(spent > 0);
    assert_float_equal(state->budgets[TUNE_BUDGET_DEVICE_S].limit, 80 + spent, 1e-9);
    assert_true(state->budgets[TUNE_BUDGET_TOKENS].limit == 5000);
    fake_end(&fake);
    config_free(config);
    unsetenv("XDG_CONFIG_HOME");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounds_and_device_stop_it_in_time),
        cmocka_unit_test(a_host_is_not_asked_for_more_than_it_may_give),
        cmocka_unit_test(what_runs_is_given_up_when_time_is_over),
        cmocka_unit_test(the_device_models_time_is_a_limit_for_what_runs),
        cmocka_unit_test(a_question_costs_what_they_cost_before),
        cmocka_unit_test(the_first_question_is_taken_for_a_dear_one),
        cmocka_unit_test(what_is_asked_is_spoken_for_until_it_is_answered),
        cmocka_unit_test(what_nobody_counted_is_not_nothing),
        cmocka_unit_test(dollars_of_a_stranger_are_refused),
        cmocka_unit_test(limits_come_from_options_and_the_configuration),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
