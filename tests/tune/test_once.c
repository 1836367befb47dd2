// SPDX-License-Identifier: Apache-2.0
// Plan and kernel in one question: what is asked, what is done with the answer, when it is not.
#include "tune/scripted.h"
#include "tune/session/inner.h"
#include "tune/state/inner.h"

#define WORDS(number)                                                  \
    "=== planner\ntitle: plan " number "\nwhat: change number " number \
    "\nmetric: hbm_read_bytes\ndirection: down\nsize: 40 %\n"
#define BLOCK(from, to) "\n<<<<<<< SEARCH\n" from "\n=======\n" to "\n>>>>>>> REPLACE\n"

static int asked(const struct tune_state *state, const char *role) {
    int count = 0;
    for (size_t i = 0; i < state->calls.len; i++)
        count += state->calls.at[i].role && !strcmp(state->calls.at[i].role, role);
    return count;
}

/* Plan and kernel in one answer, with another idea behind them. */
static void one_answer_has_plan_and_kernel(void **unused) {
    (void)unused;
    struct scripted scripted;
    scripted_begin(
        &scripted,
        WORDS("one")
            BLOCK("# latency 1000", "# latency 700") "---\ntitle: "
                                                     "another idea\nwhat: something else, later\n");
    scripted.fake.options.rounds = 1;
    scripted_run(&scripted);
    const struct tune_state *state = fake_state(&scripted.fake);
    const struct tune_attempt *attempt = &state->attempts.at[1];
    assert_int_equal(attempt->status, TUNE_STATUS_KEEP);
    assert_string_equal(attempt->author, "script");
    assert_string_equal(attempt->plan.title, "plan one");
    assert_non_null(strstr(tune_source(state, attempt), "    # latency 700"));
    assert_null(attempt->plan.source); /* the attempt has it */
    assert_int_equal(asked(state, "rewriter"), 0);
    assert_true(state->calls.at[0].once);
    assert_int_equal(state->stock.len, 2);
    assert_string_equal(state->stock.at[1].plan.title, "another idea");
    assert_true(tune_stock_is_open(state, 1));
    char *prompt = scripted_prompt(&scripted, "state.planner");
    assert_non_null(strstr(prompt, "and carry it out"));
    assert_non_null(strstr(prompt, "<<<<<<< SEARCH"));
    free(prompt);
    scripted_end(&scripted);
}

static void a_plan_alone_is_carried_out_by_the_rewriter(void **unused) {
    (void)unused;
    struct scripted scripted;
    scripted_begin(&scripted, WORDS("one") SCRIPTED_EDIT("# latency 1000", "# latency 700"));
    scripted_run(&scripted);
    const struct tune_state *state = fake_state(&scripted.fake);
    assert_int_equal(state->attempts.at[1].status, TUNE_STATUS_KEEP);
    assert_true(asked(state, "rewriter") > 0);
    scripted_end(&scripted);
}

/* A block that stands nowhere goes back, with the plan. */
static void a_kernel_that_cannot_be_read_goes_back(void **unused) {
    (void)unused;
    struct scripted scripted;
    scripted_begin(&scripted, WORDS("one") BLOCK("nowhere", "# latency 700") WORDS("one")
                                  BLOCK("# latency 1000", "# latency 700"));
    scripted_run(&scripted);
    const struct tune_state *state = fake_state(&scripted.fake);
    assert_non_null(state->calls.at[0].unread);
    assert_int_equal(state->calls.at[1].mends, 0);
    assert_true(state->calls.at[1].once);
    assert_int_equal(state->attempts.at[1].status, TUNE_STATUS_KEEP);
    scripted_end(&scripted);
}

/* What a person does not want to see first, and what several answers are wanted of, is asked for
 * in one question; all else in two. */
static void gates_settings_and_models_decide(void **unused) {
    (void)unused;
    struct scripted scripted;
    scripted_begin(&scripted, WORDS("one"));
    struct tune_state *state = scripted.fake.session->state;
    assert_true(tune_asks_for_both(state));
    state->steps[TUNE_STEP_PLAN].gate = TUNE_GATE_ASK;
    assert_false(tune_asks_for_both(state));
    state->asks = TUNE_ASKS_ONCE;
    assert_true(tune_asks_for_both(state));
    state->steps[TUNE_STEP_PLAN].gate = TUNE_GATE_AUTO;
    state->asks = TUNE_ASKS_TWICE;
    assert_false(tune_asks_for_both(state));
    state->asks = TUNE_ASKS_AUTO;
    const struct tune_role_view *own = state->roles;
    struct tune_role_view roles[TUNE_ROLES];
    struct tune_role_model two[2] = {{.name = "a", .asked = "a"}, {.name = "b", .asked = "b"}};
    memcpy(roles, own, sizeof roles);
    roles[TUNE_ROLE_PLANNER] = (struct tune_role_view){.models = two, .count = 2};
    state->roles = roles;
    assert_false(tune_asks_for_both(state));
    roles[TUNE_ROLE_PLANNER].count = 1; /* another one writes */
    assert_false(tune_asks_for_both(state));
    roles[TUNE_ROLE_REWRITER] = roles[TUNE_ROLE_PLANNER];
    assert_true(tune_asks_for_both(state));
    two[0].person = true;
    assert_false(tune_asks_for_both(state));
    state->roles = own;
    scripted_end(&scripted);
}

/* A model whose kernels fail their checks is asked one thing after the other. */
static void what_goes_badly_is_not_gone_on_with(void **unused) {
    (void)unused;
    struct scripted scripted;
    struct buf script = {0};
    for (int i = 1; i <= 6; i++)
        buf_printf(&script,
                   "=== planner\ntitle: plan %d\nwhat: change number %d\nmetric: latency\n"
                   "direction: down\nsize: 5 %%\n\n<<<<<<< SEARCH\n# latency 1000\n=======\n"
                   "# latency %d # broken\n>>>>>>> REPLACE\n",
                   i, i, 900 + i);
    buf_puts(&script, "=== rewriter\nno\n=== fixer\nno\n");
    scripted_begin(&scripted, script.at);
    scripted.fake.options.rounds = 5;
    scripted_run(&scripted);
    const struct tune_state *state = fake_state(&scripted.fake);
    int once = 0;
    for (size_t i = 0; i < state->calls.len; i++)
        once += state->calls.at[i].once;
    assert_int_equal(once, 3);
    assert_true(asked(state, "rewriter") > 0);
    buf_free(&script);
    scripted_end(&scripted);
}

static void calls_of(struct tune_state *state, const char *model, int count, bool pass) {
    for (int i = 0; i < count; i++) {
        char text[16];
        int round = state->round++;
        snprintf(text, sizeof text, "key %d", round);
        const char *key = tune_keep(state, text);
        *vec_push(&state->calls) = (struct tune_call){.role = "planner",
                                                      .model = model,
                                                      .round = round,
                                                      .once = true,
                                                      .mends = -1,
                                                      .repeats = -1};
        *vec_push(&state->stock) = (struct tune_stocked){.plan = {.key = key, .source = "k"}};
        *vec_push(&state->attempts) =
            (struct tune_attempt){.id = (int)state->attempts.len,
                                  .round = round,
                                  .author = model,
                                  .plan = {.key = key},
                                  .status = pass ? TUNE_STATUS_KEEP : TUNE_STATUS_FAILED};
    }
}

/* What another model did says nothing about the one that is asked now; and two questions go on only
 * as long as they do better than one. */
static void each_model_is_measured_by_itself(void **unused) {
    (void)unused;
    struct scripted scripted;
    struct buf said = {0};
    scripted_begin(&scripted, WORDS("one"));
    struct tune_state *state = scripted.fake.session->state;
    calls_of(state, "another", 3, false);
    assert_true(tune_asks_for_both(state));
    calls_of(state, "script", 3, false);
    assert_false(tune_asks_for_both(state));
    tune_asks_print(state, &said);
    assert_string_equal(said.at, "plan alone: in one question 0 of 3 kernels passed");
    for (int i = 0; i < 3; i++) { /* after plans that came alone: they fail, too */
        *vec_push(&state->attempts) = (struct tune_attempt){
            .author = "script", .plan = {.key = "alone"}, .status = TUNE_STATUS_FAILED};
    }
    assert_true(tune_asks_for_both(state));
    buf_clear(&said);
    tune_asks_print(state, &said);
    assert_string_equal(said.at,
                        "plan with kernel: in one question 0 of 3 kernels passed, in two 0 of 3");
    state->attempts.at[state->attempts.len - 1].status = TUNE_STATUS_REVERT;
    assert_false(tune_asks_for_both(state));
    buf_free(&said);
    scripted_end(&scripted);
}

/* The plan that a person edits is another one than that of the kernel. */
static void an_edited_plan_is_written_anew(void **unused) {
    (void)unused;
    struct scripted scripted;
    scripted_begin(&scripted, WORDS("one") BLOCK("# latency 1000", "# latency 700"));
    scripted_run(&scripted);
    struct tune_state *state = scripted.fake.session->state;
    struct tune_plan plan = {.title = "t", .what = "w", .source = "def kernel():\n"};
    state->plans.len = 0;
    *vec_push(&state->plans) = plan;
    state->lanes.at[0].plan = 0;
    state->lanes.at[0].attempt = -1;
    assert_non_null(tune_lane_kernel(state, 0));
    state->plans.at[0].edited = true;
    assert_null(tune_lane_kernel(state, 0));
    scripted_end(&scripted);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_answer_has_plan_and_kernel),
        cmocka_unit_test(a_plan_alone_is_carried_out_by_the_rewriter),
        cmocka_unit_test(a_kernel_that_cannot_be_read_goes_back),
        cmocka_unit_test(gates_settings_and_models_decide),
        cmocka_unit_test(what_goes_badly_is_not_gone_on_with),
        cmocka_unit_test(each_model_is_measured_by_itself),
        cmocka_unit_test(an_edited_plan_is_written_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
