// SPDX-License-Identifier: Apache-2.0
/* Sweeps in the loop: each value is an attempt, no model is asked for it, and the best one
 * remains. */
#include "tune/fake.h"
#include "loop/testing.h"
#include "tune/sums/sweep.h"

#define KERNEL "def kernel():\n    LATENCY = 1000\n    TILE = 4\n    return LATENCY + TILE\n"

/* A session about that kernel. */
static void begin(struct fake *fake, const struct fake_plan *plans, size_t count,
                  enum tune_gate gate) {
    fake_begin(fake, plans, count, gate);
    tune_session_close(fake->session);
    fake_file(fake->folder, "kernel.py", KERNEL);
    fake->options.fresh = true;
    fake_open(fake);
    fake->options.fresh = false;
    fake_act(fake, (struct tune_action){.kind = TUNE_ACT_START});
}

static void sweep(struct fake *fake, const char *text) {
    fake_act(fake, (struct tune_action){.kind = TUNE_ACT_SWEEP, .text = text});
}

static struct err refused(struct fake *fake, const char *text) {
    struct err err = {0};
    const struct tune_action action = {.kind = TUNE_ACT_SWEEP, .text = text};
    assert_false(tune_session_act(fake->session, &action, &err));
    return err;
}

static void each_value_is_an_attempt_and_the_best_is_left(void **unused) {
    (void)unused;
    struct fake fake;
    begin(&fake, NULL, 0, TUNE_GATE_AUTO);
    const struct tune_state *state = fake_state(&fake);
    assert_int_equal(fake.proposer.asked, 1);
    sweep(&fake, "LATENCY in 900, 1000, 700, 2000, 1100, 1200, 1300");
    assert_int_equal(state->attempts.len, 7); /* what the kernel has already is attempt 0 */
    assert_string_equal(state->attempts.at[1].plan.title, "LATENCY = 900");
    assert_string_equal(state->attempts.at[1].author, "you");
    assert_int_equal(state->attempts.at[1].status, TUNE_STATUS_KEEP);
    assert_int_equal(state->attempts.at[2].status, TUNE_STATUS_KEEP);
    assert_int_equal(state->attempts.at[3].status, TUNE_STATUS_REVERT);
    assert_int_equal(state->incumbent, 2);
    assert_non_null(
        strstr(tune_source(state, &state->attempts.at[2]), "    LATENCY = 700\n    TILE = 4\n"));
    assert_int_equal(fake.proposer.asked, 2); /* before and after */
    assert_int_equal(fake.proposer.repairs, 0);
    assert_true(state->budgets[TUNE_BUDGET_ROUNDS].spent <= 2);
    assert_non_null(strstr(refused(&fake, "LATENCY=900,700").text, "was tried"));
    assert_non_null(strstr(refused(&fake, "WIDTH=1").text, "no constant \"WIDTH\""));
    assert_int_equal(refused(&fake, "LATENCY=x").kind, ERR_USAGE);
    struct tune_sweep all;
    struct buf table = {0};
    assert_true(tune_sweep_parse(str_of(state->attempts.at[1].plan.sweep), &all, NULL));
    tune_sweep_table(state, &all, &table);
    assert_non_null(strstr(table.at, "LATENCY = 700            keep"));
    assert_non_null(strstr(table.at, "0.700 ms  1.429x  #2  best\n"));
    assert_non_null(strstr(table.at, "LATENCY = 1000           keep"));
    buf_clear(&table);
    tune_sweep_line(state, &all, 2, &table);
    assert_string_equal(table.at, "LATENCY = 700: 1.429x, keep (#2)");
    buf_free(&table);
    fake_end(&fake);
}

static void all_combinations_are_tried_once(void **unused) {
    (void)unused;
    struct fake fake;
    begin(&fake, NULL, 0, TUNE_GATE_AUTO);
    const struct tune_state *state = fake_state(&fake);
    sweep(&fake, "LATENCY=800,900 TILE=2,4");
    assert_int_equal(state->attempts.len, 5);
    assert_string_equal(state->attempts.at[4].plan.title, "LATENCY = 900, TILE = 4");
    /* From the new incumbent, which has one of the values. */
    sweep(&fake, "TILE=2,4,8");
    assert_int_equal(state->attempts.len, 6);
    assert_string_equal(state->attempts.at[5].plan.title, "TILE = 8");
    fake_end(&fake);
}

/* A person decides when it begins and when it ends. */
static void gates_let_the_middle_pass(void **unused) {
    (void)unused;
    static const struct fake_plan plans[] = {{"one", NULL, 0.4, NULL}};
    struct fake fake;
    begin(&fake, plans, 1, TUNE_GATE_ASK);
    const struct tune_state *state = fake_state(&fake);
    assert_int_equal(state->wait_step, TUNE_STEP_PROFILE);
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_APPROVE});
    assert_int_equal(state->wait_step, TUNE_STEP_PLAN);
    sweep(&fake, "LATENCY=900,800,950");
    assert_int_equal(state->wait, TUNE_WAIT_GATE);
    assert_int_equal(state->wait_step, TUNE_STEP_VERIFY); /* of all of them */
    assert_int_equal(state->attempts.len, 4);
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_UNDO});
    assert_int_equal(state->wait_step, TUNE_STEP_PLAN);
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_REDO});
    while (state->wait_step != TUNE_STEP_DECIDE)
        fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_APPROVE});
    assert_int_equal(state->incumbent, 2);
    fake_end(&fake);
}

/* As many at once as the place takes, all against the same parent. */
static void several_are_evaluated_at_once(void **unused) {
    (void)unused;
    struct fake fake;
    begin(&fake, NULL, 0, TUNE_GATE_AUTO);
    const struct tune_action action = {.kind = TUNE_ACT_SWEEP, .text = "LATENCY=900,800,700,950"};
    struct err err = {0};
    tune_session_close(fake.session);
    fake.place = (struct fake_place){.loop = fake.loop, .slow = true};
    fake.seen.parallel = 3;
    fake_open(&fake);
    const struct tune_state *state = fake_state(&fake);
    assert_true(tune_session_act(fake.session, &action, &err));
    assert_true(loop_run_until_idle(fake.loop, 20000));
    assert_int_equal(state->lanes.len, 4);
    assert_int_equal(fake.place.started, 3);
    fake.place.slow = false;
    for (struct fake_run *run = fake.place.runs; run; run = run->next)
        run->timer = loop_timer_start(fake.loop, 0, 0, fake_finish, run);
    fake_settle(&fake);
    assert_int_equal(state->attempts.len, 5);
    for (size_t i = 1; i < state->attempts.len; i++)
        assert_int_equal(state->attempts.at[i].parent, 0);
    assert_float_equal(state->attempts.at[state->incumbent].latency_us, 700, 1e-9);
    assert_int_equal(state->best, state->incumbent);
    fake_end(&fake);
}

/* A session that is opened again continues where it was. */
static void it_goes_on_after_the_process_ended(void **unused) {
    (void)unused;
    struct fake fake;
    begin(&fake, NULL, 0, TUNE_GATE_AUTO);
    sweep(&fake, "LATENCY=900");
    fake.options.rounds = 0;
    fake.options.gate_set = false;
    fake.place.slow = true;
    const struct tune_action action = {.kind = TUNE_ACT_SWEEP, .text = "TILE=1,2,8"};
    struct err err = {0};
    assert_true(tune_session_act(fake.session, &action, &err));
    assert_true(loop_run_until_idle(fake.loop, 60000));
    tune_session_close(fake.session);
    fake.place = (struct fake_place){.loop = fake.loop};
    fake_open(&fake);
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_START});
    assert_int_equal(fake_state(&fake)->attempts.len, 5);
    fake_end(&fake);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_value_is_an_attempt_and_the_best_is_left),
        cmocka_unit_test(all_combinations_are_tried_once),
        cmocka_unit_test(gates_let_the_middle_pass),
        cmocka_unit_test(several_are_evaluated_at_once),
        cmocka_unit_test(it_goes_on_after_the_process_ended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
