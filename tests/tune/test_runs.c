/* SPDX-License-Identifier: Apache-2.0 */
/* A run of a command has gates and limits of its own. They stay with the run; what it did stays in
 * the session. */
#include "tune/fake.h"

static const struct fake_plan plans[] = {
    {"first", "def kernel(): x = '''\n    # latency 800\n'''\n", 0.4, NULL},
    {"second", "def kernel(): x = '''\n    # latency 700\n'''\n", 0.4, NULL},
    {"third", "def kernel(): x = '''\n    # latency 600\n'''\n", 0.4, NULL}};

static const struct tune_run one_round = {
    .gate_set = true, .gate = TUNE_GATE_AUTO, .limits = {[TUNE_BUDGET_ROUNDS] = 1}};

static enum tune_gate gate_of(const struct fake *fake, enum tune_step step) {
    return fake_state(fake)->steps[step].gate;
}

static void run_begin(struct fake *fake) {
    struct err err = {0};
    assert_true(tune_session_run_begin(fake->session, &one_round, &err));
}

static void reopen(struct fake *fake) {
    tune_session_close(fake->session);
    fake->options.gate_set = false;
    fake->options.rounds = 0;
    fake_open(fake);
}

static void gates_and_limits_stay_with_the_run(void **unused) {
    (void)unused;
    struct fake fake;
    fake_begin(&fake, plans, COUNT_OF(plans), TUNE_GATE_ASK);
    run_begin(&fake);
    assert_int_equal(gate_of(&fake, TUNE_STEP_PLAN), TUNE_GATE_AUTO);
    assert_int_equal(fake_state(&fake)->rounds, 1);
    assert_string_equal(
        tune_state_origin(fake_state(&fake), "gate", TUNE_BY_HAND_GATE << TUNE_STEP_PLAN),
        "this run alone");
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_START});
    assert_int_equal(fake_state(&fake)->attempts.len, 2);
    assert_string_equal(fake_state(&fake)->wait_text, "the one round is done");
    tune_session_run_end(fake.session);
    assert_string_equal(fake_state(&fake)->wait_text, "the run is over: the one round is done");
    for (int again = 0; again < 2; again++) { /* and so says the log */
        assert_int_equal(gate_of(&fake, TUNE_STEP_PLAN), TUNE_GATE_ASK);
        assert_int_equal(fake_state(&fake)->rounds, 50);
        assert_true(fake_state(&fake)->budgets[TUNE_BUDGET_ROUNDS].limit == 50);
        assert_int_equal(fake_state(&fake)->attempts.len, 2);
        assert_int_equal(fake_state(&fake)->by_run, 0);
        reopen(&fake);
    }
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_START});
    assert_int_equal(fake_state(&fake)->round, 2);
    assert_int_equal(fake_state(&fake)->wait, TUNE_WAIT_GATE);
    fake_end(&fake);
}

static void of_a_run_that_was_killed_nothing_stays(void **unused) {
    (void)unused;
    struct fake fake;
    fake_begin(&fake, plans, COUNT_OF(plans), TUNE_GATE_ASK);
    run_begin(&fake);
    reopen(&fake);
    assert_int_equal(gate_of(&fake, TUNE_STEP_PLAN), TUNE_GATE_ASK);
    assert_int_equal(fake_state(&fake)->rounds, 50);
    fake_end(&fake);
}

static void a_second_run_counts_from_what_is_spent(void **unused) {
    (void)unused;
    struct fake fake;
    fake_begin(&fake, plans, COUNT_OF(plans), TUNE_GATE_ASK);
    for (int i = 1; i <= 2; i++) {
        run_begin(&fake);
        fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_START});
        assert_true(fake_state(&fake)->budgets[TUNE_BUDGET_ROUNDS].spent == i);
        tune_session_run_end(fake.session);
    }
    assert_int_equal(fake_state(&fake)->rounds, 50);
    fake_end(&fake);
}

static void what_a_person_set_before_can_be_undone_during_it(void **unused) {
    (void)unused;
    struct fake fake;
    fake_begin(&fake, plans, COUNT_OF(plans), TUNE_GATE_ASK);
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_SET_GATE,
                                         .step = TUNE_STEP_PLAN,
                                         .gate = TUNE_GATE_AUTO_GREEN});
    run_begin(&fake);
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_TAKE_BACK});
    assert_int_equal(gate_of(&fake, TUNE_STEP_PLAN), TUNE_GATE_AUTO);
    tune_session_run_end(fake.session);
    assert_int_equal(gate_of(&fake, TUNE_STEP_PLAN), TUNE_GATE_ASK);
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_DO_AGAIN});
    assert_int_equal(gate_of(&fake, TUNE_STEP_PLAN), TUNE_GATE_AUTO_GREEN);
    fake_end(&fake);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gates_and_limits_stay_with_the_run),
        cmocka_unit_test(of_a_run_that_was_killed_nothing_stays),
        cmocka_unit_test(a_second_run_counts_from_what_is_spent),
        cmocka_unit_test(what_a_person_set_before_can_be_undone_during_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
