/* SPDX-License-Identifier: Apache-2.0 */
/* The compiler's own prediction. It is kept with the attempt as an opinion, and shown as one. Where
 * candidates are pruned by it, it is asked for before a host compiles anything. */
#include "tune/apply/apply.h"
#include "tune/fake.h"

#include "base/config/testing.h"
#include "runner/runner.h"

#define KERNEL(latency, predicts, more)                                                         \
    "def kernel(): x = '''\n    # latency " latency "\n    # hbm 500\n    # predicts " predicts \
    "\n" more "'''\n"

static const struct fake_plan plan = {
    .key = "faster", .source = KERNEL("800", "700.5", ""), .size = 0.5};

struct asked {
    const char *prune, *by;
};

/* One round on a place that measures. The seed kernel takes 1000 us and is predicted at 900. */
static struct config *go(struct fake *fake, const struct fake_plan *one,
                         const struct asked *asked) {
    struct err err = {0};
    struct config *config = config_load(NULL, &err);
    assert_non_null(config);
    if (asked) {
        assert_true(config_set(config, "search", "prune", asked->prune, &err));
        assert_true(config_set(config, "search", "prune_by", asked->by, &err));
    }
    fake_measured = true;
    fake_begin(fake, one, 1, TUNE_GATE_AUTO);
    tune_session_close(fake->session);
    fake_file(fake->folder, "kernel.py", KERNEL("1000", "900", ""));
    fake->options.config = config;
    fake->options.fresh = true;
    fake_open(fake);
    fake_act(fake, (struct tune_action){
                       .kind = TUNE_ACT_SET_BUDGET, .index = TUNE_BUDGET_ROUNDS, .number = 1});
    fake_act(fake, (struct tune_action){.kind = TUNE_ACT_START});
    return config;
}

static void end(struct fake *fake, struct config *config) {
    fake_end(fake);
    config_free(config);
}

static void a_prediction_stays_with_the_attempt_and_is_no_measurement(void **state) {
    (void)state;
    struct fake fake;
    struct config *config = go(&fake, &plan, NULL);
    const struct tune_attempt *attempt = tune_state_attempt(fake_state(&fake), 1);
    assert_true(attempt->prediction.us == 700.5);
    assert_string_equal(attempt->prediction.by, "nki 0.6");
    assert_string_equal(attempt->prediction.optimised, "off");
    assert_int_equal(attempt->prediction.engine_count, 1);
    assert_true(isnan(attempt->prediction.macs));
    assert_int_equal(attempt->samples.len, 10);
    assert_true(attempt->latency_us == 800);
    assert_false(attempt->modelled);
    assert_int_equal(attempt->status, TUNE_STATUS_KEEP);
    assert_int_equal(fake.place.predicted, 0); /* it came with the evaluation */
    struct buf text = {0};
    tune_predicted_print(&text, attempt);
    assert_non_null(strstr(text.at, "(nki 0.6, not measured): vector 72 %"));
    buf_free(&text);
    end(&fake, config);
}

static void it_is_in_the_experiments_and_in_a_session_that_is_opened_again(void **state) {
    (void)state;
    struct fake fake;
    struct config *config = go(&fake, &plan, NULL);
    char *path = path_join(tune_session_folder(fake.session), "experiments.jsonl");
    char *text = file_read(path, 0, NULL, NULL);
    assert_non_null(text);
    assert_non_null(strstr(text, "\"predicted_us\":700.5"));
    assert_non_null(strstr(text, "\"predicted_utilisation\":{\"vector\":71.5}"));
    free(text);
    free(path);
    tune_session_close(fake.session);
    fake.options.fresh = false;
    fake_open(&fake);
    assert_true(tune_state_attempt(fake_state(&fake), 1)->prediction.us == 700.5);
    end(&fake, config);
}

static void a_candidate_that_is_predicted_far_slower_is_not_measured(void **state) {
    (void)state;
    static const struct {
        const char *source, *by;
        bool pruned;
        int asked;
    } rows[] = {
        {KERNEL("800", "1500", ""), "compiler", true, 1}, /* 1.67 times, the limit is 1.5 */
        {KERNEL("800", "1300", ""), "compiler", false, 1},
        {KERNEL("800", "1500", "    # nki 0.7\n"), "compiler", false, 1}, /* not comparable */
        {"def kernel(): x = '''\n    # latency 800\n    # hbm 500\n'''\n", "compiler", false, 1},
        {KERNEL("800", "1500", ""), "both", false, 1}, /* the device model says nothing */
        {KERNEL("800", "1500", ""), "model", false, 0},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct fake_plan one = {.key = "faster", .source = rows[i].source, .size = 0.5};
        struct asked asked = {"1.5", rows[i].by};
        struct fake fake;
        struct config *config = go(&fake, &one, &asked);
        const struct tune_state *now = fake_state(&fake);
        const struct tune_attempt *attempt = tune_state_attempt(now, 1);
        print_message("row %zu\n", i);
        assert_int_equal(fake.place.predicted, rows[i].asked);
        assert_int_equal(attempt->status, rows[i].pruned ? TUNE_STATUS_REVERT : TUNE_STATUS_KEEP);
        assert_int_equal(now->steps[TUNE_STEP_VERIFY].is,
                         rows[i].pruned ? TUNE_IS_SKIPPED : TUNE_IS_OK);
        if (rows[i].pruned)
            assert_string_equal(attempt->reason, "not measured: its compiler predicts 1.67 times "
                                                 "its parent, the limit is 1.50");
        end(&fake, config);
    }
}

static void a_session_that_is_closed_while_it_is_asked_leaves_nothing(void **state) {
    (void)state;
    struct asked asked = {"1.5", "compiler"};
    struct fake fake;
    struct config *config = go(&fake, &plan, &asked);
    fake.place.slow = true;
    fake_act(&fake, (struct tune_action){
                        .kind = TUNE_ACT_SET_BUDGET, .index = TUNE_BUDGET_ROUNDS, .number = 2});
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_START});
    end(&fake, config);
}

static void words_that_make_no_sense_are_no_prediction(void **state) {
    (void)state;
    struct tune_state *now = tune_state_new();
    tune_state_apply(now, 1, 0, "attempt", "{\"attempt\":0,\"parent\":-1,\"source\":\"x = 1\"}");
    static const char *const payloads[] = {"{\"attempt\":0}",
                                           "{\"attempt\":0,\"us\":-1}",
                                           "{\"attempt\":0,\"us\":\"x\"}",
                                           "{\"attempt\":7,\"us\":5}",
                                           "{\"us\":5}",
                                           "[]"};
    for (size_t i = 0; i < COUNT_OF(payloads); i++) {
        tune_state_apply(now, 2, 0, "predicted", payloads[i]);
        assert_false(tune_predicted(tune_state_attempt(now, 0)));
    }
    tune_state_apply(now, 3, 0, "predicted",
                     "{\"attempt\":0,\"us\":5,\"utilisation\":{\"a\":\"b\",\"c\":7}}");
    assert_int_equal(tune_state_attempt(now, 0)->prediction.engine_count, 2);
    assert_true(isnan(tune_state_attempt(now, 0)->prediction.engines[0].percent));
    tune_state_apply(now, 4, 0, "predicted", "{\"attempt\":0,\"us\":6,\"utilisation\":[1,2]}");
    tune_state_free(now);
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "runner") == 0)
        return runner_main();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_prediction_stays_with_the_attempt_and_is_no_measurement),
        cmocka_unit_test(it_is_in_the_experiments_and_in_a_session_that_is_opened_again),
        cmocka_unit_test(a_candidate_that_is_predicted_far_slower_is_not_measured),
        cmocka_unit_test(a_session_that_is_closed_while_it_is_asked_leaves_nothing),
        cmocka_unit_test(words_that_make_no_sense_are_no_prediction),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
