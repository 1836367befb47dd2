// SPDX-License-Identifier: Apache-2.0
/* Kernels that agents hand in: each goes through the loop as any other proposal does, and what
 * became of it can be told. */
#include "tune/fake.h"
#include "loop/testing.h"
#include "tune/sums/submission.h"

#define FAST "def kernel(): x = '''\n    # latency 800\n    # hbm 400\n'''\n"
#define FASTER "def kernel(): x = '''\n    # latency 700\n    # hbm 400\n'''\n"
#define SLOW "def kernel(): x = '''\n    # latency 1200\n    # hbm 400\n'''\n"
#define WRONG "def kernel(): x = '''\n    # latency 700\n    # wrong\n'''\n"
#define BROKEN "def kernel(): x = '''\n    # latency 700\n    # broken\n'''\n"
#define FIRST "def kernel(): x = '''\n    # latency 1000\n    # hbm 1000\n'''\n"

static int submit(struct fake *fake, const char *title, const char *source, struct err *err) {
    struct tune_plan plan = {
        .title = title, .author = "agent/test", .size = NAN, .latency = NAN, .lane = -1};
    return tune_session_submit(fake->session, &plan, source, err);
}

/* Hands it in, and has the loop go on if it stands. */
static struct tune_submission_view through(struct fake *fake, const char *source) {
    struct tune_submission_view view;
    struct err err = {0};
    int number = submit(fake, "a title", source, &err);
    if (!number)
        fail_msg("%s", err.text);
    if (tune_can(fake_state(fake), TUNE_ANY_LANE, TUNE_ACT_START))
        fake_act(fake, (struct tune_action){.kind = TUNE_ACT_START});
    fake_settle(fake);
    assert_true(tune_submission_look(fake_state(fake), number, &view));
    return view;
}

static void each_is_judged_like_any_other(void **unused) {
    (void)unused;
    struct fake fake;
    fake_begin(&fake, NULL, 0, TUNE_GATE_AUTO);
    const struct tune_state *state = fake_state(&fake);
    struct tune_submission_view view = through(&fake, FAST);
    assert_int_equal(view.is, TUNE_SUBMISSION_ENDED);
    assert_int_equal(view.status, TUNE_STATUS_KEEP);
    assert_int_equal(view.attempt, 1);
    assert_string_equal(state->attempts.at[1].author, "agent/test");
    assert_string_equal(state->attempts.at[1].plan.title, "a title");
    assert_int_equal(state->incumbent, 1);
    assert_int_equal(through(&fake, SLOW).status, TUNE_STATUS_REVERT);
    view = through(&fake, WRONG);
    assert_int_equal(view.status, TUNE_STATUS_FAILED);
    assert_non_null(strstr(view.reason, "relative L2"));
    assert_int_equal(through(&fake, BROKEN).status, TUNE_STATUS_FAILED);
    assert_int_equal(fake.proposer.repairs, 0); /* that is for who handed it in */
    view = through(&fake, FIRST);
    assert_true(view.refused && view.by_loop && view.attempt < 0);
    assert_non_null(strstr(view.reason, "same as #0"));
    assert_int_equal(state->incumbent, 1);
    assert_int_equal(tune_submission_next(state), 0);
    assert_false(tune_submission_look(state, 0, &view) || tune_submission_look(state, 6, &view));
    fake_end(&fake);
}

/* Nothing is kept before a person says so, and their reason is told. */
static void gates_hold(void **unused) {
    (void)unused;
    struct fake fake;
    fake_begin(&fake, NULL, 0, TUNE_GATE_ASK);
    const struct tune_state *state = fake_state(&fake);
    struct tune_submission_view view = through(&fake, FAST);
    assert_int_equal(view.is, TUNE_SUBMISSION_QUEUED); /* behind the first kernel's gate */
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_APPROVE});
    for (int i = TUNE_STEP_PLAN; i <= TUNE_STEP_DECIDE; i++) {
        assert_int_equal(state->wait, TUNE_WAIT_GATE);
        assert_int_equal(state->wait_step, i);
        if (i < TUNE_STEP_DECIDE)
            fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_APPROVE});
    }
    assert_int_equal(state->attempts.at[1].status, TUNE_STATUS_KEEP); /* as it is proposed */
    assert_true(tune_attempt_awaits(state, &state->attempts.at[1]));
    assert_true(tune_submission_look(state, 1, &view));
    assert_int_equal(view.is, TUNE_SUBMISSION_UNDER_WAY);
    fake_act(&fake, (struct tune_action){
                        .kind = TUNE_ACT_REJECT, .lane = TUNE_ANY_LANE, .text = "not readable"});
    assert_true(tune_submission_look(state, 1, &view));
    assert_int_equal(view.status, TUNE_STATUS_REJECTED);
    assert_string_equal(view.reason, "not readable");
    assert_int_equal(state->incumbent, 0);
    view = through(&fake, FASTER);
    assert_int_equal(view.is, TUNE_SUBMISSION_UNDER_WAY);
    fake_act(&fake, (struct tune_action){
                        .kind = TUNE_ACT_REJECT, .lane = TUNE_ANY_LANE, .text = "no such plans"});
    assert_true(tune_submission_look(state, 2, &view));
    assert_true(view.refused && !view.by_loop && view.attempt < 0);
    assert_string_equal(view.reason, "no such plans");
    fake_end(&fake);
}

/* They wait their turn, in the order in which they came, also behind a process that ended. */
static void they_queue_and_survive(void **unused) {
    (void)unused;
    struct fake fake;
    struct err err = {0};
    fake_begin(&fake, NULL, 0, TUNE_GATE_AUTO);
    assert_int_equal(submit(&fake, "one", FAST, &err), 1);
    assert_int_equal(submit(&fake, "two", FASTER, &err), 2);
    tune_session_close(fake.session);
    fake.place = (struct fake_place){.loop = fake.loop};
    fake_open(&fake);
    const struct tune_state *state = fake_state(&fake);
    assert_int_equal(state->submissions.len, 2);
    assert_string_equal(state->submissions.at[1].source, FASTER);
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_START});
    assert_int_equal(state->attempts.len, 3);
    assert_string_equal(state->attempts.at[1].plan.title, "one");
    assert_string_equal(state->attempts.at[2].plan.title, "two");
    assert_int_equal(state->incumbent, 2);
    fake_end(&fake);
}

static void what_cannot_be_taken_says_why(void **unused) {
    (void)unused;
    struct fake fake;
    struct err err = {0};
    fake_begin(&fake, NULL, 0, TUNE_GATE_AUTO);
    assert_int_equal(submit(&fake, " ", FAST, &err), 0);
    assert_non_null(strstr(err.text, "needs a title"));
    assert_int_equal(submit(&fake, "one", "\n", &err), 0);
    assert_non_null(strstr(err.text, "is empty"));
    char *large = mem_alloc(1, (2u << 20) + 1);
    memset(large, '#', 2u << 20);
    assert_int_equal(submit(&fake, "one", large, &err), 0);
    assert_non_null(strstr(err.text, "at most"));
    free(large);
    for (int i = 1; i <= 64; i++)
        assert_int_equal(submit(&fake, "one", FAST, &err), i);
    assert_int_equal(submit(&fake, "one", FAST, &err), 0);
    assert_non_null(strstr(err.text, "64 kernels wait"));
    fake_end(&fake);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_judged_like_any_other),
        cmocka_unit_test(gates_hold),
        cmocka_unit_test(they_queue_and_survive),
        cmocka_unit_test(what_cannot_be_taken_says_why),
    };
    cmocka_set_test_filter(getenv("HONE_TEST"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
