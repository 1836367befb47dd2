/* SPDX-License-Identifier: Apache-2.0 */
/* The loop on a place that measures: samples in place of one modelled time, failures of the place,
 * jobs that outlive hone, and the device model beside it. */
#include "tune/fake.h"

#include "base/config/testing.h"
#include "runner/runner.h"

static const struct fake_plan faster = {
    .key = "faster",
    .source = "def kernel(): x = '''\n    # latency 800\n    # hbm 500\n'''\n",
    .size = 0.5};

static void begin(struct fake *fake, const struct fake_plan *plan, enum tune_gate gate) {
    fake_measured = true;
    fake_begin(fake, plan, 1, gate);
}

static void a_candidate_is_checked_on_all_seeds_and_then_timed_with_the_incumbent(void **state) {
    (void)state;
    struct fake fake;
    begin(&fake, &faster, TUNE_GATE_AUTO);
    fake_act(&fake, (struct tune_action){
                        .kind = TUNE_ACT_SET_BUDGET, .index = TUNE_BUDGET_ROUNDS, .number = 1});
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_START});
    const struct tune_state *now = fake_state(&fake);
    assert_int_equal(fake.place.started, 4); /* what won is measured again */
    assert_int_equal(fake.place.timed, 3);
    assert_int_equal(fake.place.seeds_run, 10);
    assert_string_equal(fake.place.last, "time");
    const struct tune_attempt *attempt = tune_state_attempt(now, 1);
    assert_int_equal(attempt->status, TUNE_STATUS_KEEP);
    assert_int_equal(attempt->samples.len, 10);
    assert_int_equal(attempt->parent_samples.len, 10);
    assert_int_equal(attempt->verdict.faster, TUNE_ANSWER_YES);
    assert_true(fabs(attempt->vs_parent - 1004.5 / 804.5) < 1e-9);
    assert_false(attempt->modelled);
    assert_true(now->budgets[TUNE_BUDGET_DEVICE_S].spent == 4 * 0.125);
    assert_true(attempt->confirmed);
    assert_true(attempt->interval.low > 1.2 && attempt->interval.high < 1.3);
    assert_true(attempt->interval.low < attempt->interval.ratio &&
                attempt->interval.ratio < attempt->interval.high);
    assert_true(attempt->interval.seen > 0 && attempt->interval.seen < 0.05);
    fake_end(&fake);
}

static void a_winner_that_does_not_win_again_is_not_the_incumbent(void **state) {
    (void)state;
    struct fake fake;
    begin(&fake, &faster, TUNE_GATE_AUTO);
    fake.place.lucky = true;
    fake_act(&fake, (struct tune_action){
                        .kind = TUNE_ACT_SET_BUDGET, .index = TUNE_BUDGET_ROUNDS, .number = 1});
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_START});
    const struct tune_attempt *attempt = tune_state_attempt(fake_state(&fake), 1);
    assert_int_equal(fake.place.timed, 3);
    assert_int_equal(attempt->status, TUNE_STATUS_INCONCLUSIVE);
    assert_int_equal(attempt->verdict.faster, TUNE_ANSWER_INCONCLUSIVE);
    assert_non_null(strstr(attempt->reason, "not faster when measured again"));
    assert_false(attempt->confirmed);
    assert_int_equal(attempt->samples.len, 10); /* of the second time */
    assert_int_equal(fake_state(&fake)->incumbent, 0);
    assert_int_equal(fake_state(&fake)->best, 0);
    fake_end(&fake);
}

static void overlapping_samples_are_inconclusive(void **state) {
    (void)state;
    static const struct fake_plan same = {
        .key = "same",
        .source = "def kernel(): x = '''\n    # latency 998\n    # hbm 500\n'''\n",
        .size = 0.5};
    struct fake fake;
    begin(&fake, &same, TUNE_GATE_AUTO);
    fake_act(&fake, (struct tune_action){
                        .kind = TUNE_ACT_SET_BUDGET, .index = TUNE_BUDGET_ROUNDS, .number = 1});
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_START});
    assert_int_equal(tune_state_attempt(fake_state(&fake), 1)->status, TUNE_STATUS_INCONCLUSIVE);
    fake_end(&fake);
}

/* Like a revert it leaves everything as it was, so there is nothing to ask. */
static void auto_green_passes_what_is_inconclusive(void **state) {
    (void)state;
    static const struct fake_plan same = {
        .key = "same", .source = "def kernel(): x = '''\n    # latency 998\n'''\n", .size = 0.5};
    struct fake fake;
    begin(&fake, &same, TUNE_GATE_AUTO_GREEN);
    fake_act(&fake, (struct tune_action){
                        .kind = TUNE_ACT_SET_BUDGET, .index = TUNE_BUDGET_ROUNDS, .number = 1});
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_START});
    assert_int_equal(tune_state_attempt(fake_state(&fake), 1)->status, TUNE_STATUS_INCONCLUSIVE);
    assert_int_equal(fake_state(&fake)->wait, TUNE_WAIT_STOPPED);
    fake_end(&fake);
}

static void a_place_that_fails_is_tried_once_more_and_then_the_loop_pauses(void **state) {
    (void)state;
    struct fake fake;
    begin(&fake, &faster, TUNE_GATE_ASK);
    struct tune_action start = {.kind = TUNE_ACT_START}, yes = {.kind = TUNE_ACT_APPROVE};
    fake.place.fails = 1;
    fake_act(&fake, start);
    const struct tune_state *now = fake_state(&fake);
    assert_int_equal(fake.place.started, 2);
    assert_int_equal(tune_state_attempt(now, 0)->status, TUNE_STATUS_KEEP);
    while (now->step < TUNE_STEP_REWRITE)
        fake_act(&fake, yes);
    fake.place.fails = 2;
    fake_act(&fake, yes);
    assert_int_equal(now->wait, TUNE_WAIT_PAUSED);
    assert_true(now->stopped_by_environment);
    assert_non_null(strstr(now->wait_text, "core 0 does not answer"));
    assert_int_equal(now->step, TUNE_STEP_VERIFY);
    assert_int_equal(tune_state_attempt(now, 1)->status, TUNE_STATUS_OPEN);
    fake_act(&fake, start);
    assert_int_equal(now->steps[TUNE_STEP_VERIFY].is, TUNE_IS_OK);
    assert_int_equal(tune_state_attempt(now, 1)->verdict.correct, TUNE_ANSWER_YES);
    fake_end(&fake);
}

static void a_baseline_that_the_place_fails_is_done_again(void **state) {
    (void)state;
    struct fake fake;
    begin(&fake, &faster, TUNE_GATE_AUTO);
    fake_act(&fake, (struct tune_action){
                        .kind = TUNE_ACT_SET_BUDGET, .index = TUNE_BUDGET_ROUNDS, .number = 1});
    fake.place.fails = 2;
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_START});
    assert_int_equal(fake_state(&fake)->wait, TUNE_WAIT_PAUSED);
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_START});
    assert_int_equal(tune_state_attempt(fake_state(&fake), 1)->status, TUNE_STATUS_KEEP);
    fake_end(&fake);
}

static void measuring_again_is_another_occasion(void **state) {
    (void)state;
    struct fake fake;
    begin(&fake, &faster, TUNE_GATE_ASK);
    struct tune_action start = {.kind = TUNE_ACT_START}, yes = {.kind = TUNE_ACT_APPROVE};
    fake_act(&fake, start);
    for (int i = 0; i < 10 && fake_state(&fake)->step < TUNE_STEP_BENCHMARK; i++)
        fake_act(&fake, yes);
    char before[24];
    snprintf(before, sizeof before, "%s", fake.place.occasion);
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_MEASURE});
    assert_string_not_equal(before, fake.place.occasion);
    assert_int_equal(tune_state_attempt(fake_state(&fake), 1)->samples.len, 10);
    assert_int_equal(tune_state_attempt(fake_state(&fake), 1)->seeds.len, 5);
    fake_end(&fake);
}

/* What waits for a person's yes must not be kept by asking for more numbers. */
static void measuring_again_opens_what_was_decided(void **state) {
    (void)state;
    struct fake fake;
    begin(&fake, &faster, TUNE_GATE_ASK);
    const struct tune_state *now = fake_state(&fake);
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_START});
    for (int i = 0; i < 10 && now->wait_step < TUNE_STEP_DECIDE; i++)
        fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_APPROVE});
    for (int i = 0; i < 2; i++) {
        assert_int_equal(now->wait, TUNE_WAIT_GATE);
        assert_int_equal(now->wait_step, TUNE_STEP_DECIDE);
        assert_int_equal(tune_state_attempt(now, 1)->status, TUNE_STATUS_KEEP);
        fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_MEASURE});
        assert_int_equal(now->wait_step, TUNE_STEP_BENCHMARK);
        assert_int_equal(tune_state_attempt(now, 1)->status, TUNE_STATUS_OPEN);
        assert_int_equal(now->incumbent, 0);
        fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_APPROVE});
    }
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_REJECT, .text = "too good"});
    assert_int_equal(tune_state_attempt(now, 1)->status, TUNE_STATUS_REJECTED);
    assert_int_equal(now->incumbent, 0);
    fake_end(&fake);
}

static size_t count_logs(const struct tune_state *now, const char *text) {
    size_t count = 0;
    for (size_t i = 0; i < now->logs.len; i++)
        count += strcmp(now->logs.at[i].text, text) == 0;
    return count;
}

static void a_session_that_is_opened_again_asks_for_the_same_job(void **state) {
    (void)state;
    struct fake fake;
    begin(&fake, &faster, TUNE_GATE_AUTO);
    fake.place.slow = true;
    struct err err = {0};
    assert_true(
        tune_session_act(fake.session, &(struct tune_action){.kind = TUNE_ACT_START}, &err));
    assert_true(loop_run_until_idle(fake.loop, 60000));
    struct fake_run *run = fake.place.runs;
    struct runner_event event = {.kind = RUNNER_LOG, .name = "compile", .text = "specialised"};
    run->callbacks.on_event(run->callbacks.data, &event);
    event =
        (struct runner_event){.kind = RUNNER_LOG, .name = "host", .text = "lost", .local = true};
    run->callbacks.on_event(run->callbacks.data, &event);
    assert_int_equal(count_logs(fake_state(&fake), "specialised"), 1);
    char before[24];
    snprintf(before, sizeof before, "%s", fake.place.occasion);
    tune_session_close(fake.session);
    assert_int_equal(fake.place.cancelled, 0);
    fake_open(&fake);
    assert_true(
        tune_session_act(fake.session, &(struct tune_action){.kind = TUNE_ACT_START}, &err));
    assert_true(loop_run_until_idle(fake.loop, 60000));
    assert_string_equal(before, fake.place.occasion);
    run = fake.place.runs;
    run->timer = loop_timer_start(fake.loop, 0, 0, fake_finish, run);
    while (fake_state(&fake)->attempts.at[0].status == TUNE_STATUS_OPEN) {
        bool never = false;
        loop_run_until(fake.loop, &never, 1);
    }
    assert_int_equal(count_logs(fake_state(&fake), "specialised"), 1);
    assert_int_equal(tune_state_attempt(fake_state(&fake), 0)->samples.len, 10);
    assert_int_equal(tune_state_attempt(fake_state(&fake), 0)->seeds.len, 5);
    fake_end(&fake);
}

static void a_job_that_was_given_up_is_not_taken_up_again(void **state) {
    (void)state;
    struct fake fake;
    begin(&fake, &faster, TUNE_GATE_ASK);
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_START});
    while (fake_state(&fake)->step < TUNE_STEP_REWRITE)
        fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_APPROVE});
    fake.place.slow = true;
    struct err err = {0};
    struct tune_action yes = {.kind = TUNE_ACT_APPROVE};
    assert_true(tune_session_act(fake.session, &yes, &err));
    assert_true(loop_run_until_idle(fake.loop, 60000));
    assert_non_null(fake.place.runs);
    char before[24];
    snprintf(before, sizeof before, "%s", fake.place.occasion);
    fake.place.slow = false;
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_REVERT, .attempt = 0});
    assert_int_equal(fake.place.cancelled, 1);
    assert_string_equal(before, "1.0");
    assert_int_equal(fake_state(&fake)->attempts.at[1].evaluated, 1);
    fake_end(&fake);
}

/* The seed kernel silu as the task, with what the fake place should measure of it. */
static void real_task(struct fake *fake, const char *latency) {
    struct str kernel = embed_find("seeds/silu/kernel.py");
    struct str reference = embed_find("seeds/silu/reference.py");
    struct buf text = {0};
    assert_non_null(kernel.at);
    buf_printf(&text, STR_FMT "\n# latency %s\n", STR_ARG(kernel), latency);
    tune_session_close(fake->session);
    fake_file(fake->folder, "kernel.py", text.at);
    buf_clear(&text);
    buf_add(&text, reference.at, reference.len);
    fake_file(fake->folder, "reference.py", text.at);
    buf_free(&text);
    fake->seen.alone = false;
    fake->options.fresh = true;
    fake_open(fake);
    fake->options.fresh = false;
}

static void the_device_model_gives_the_floor_and_what_the_host_left_out(void **state) {
    (void)state;
    struct str kernel = embed_find("seeds/silu/kernel.py");
    struct buf text = {0};
    buf_printf(&text, STR_FMT "\nNOTE = '# latency 0.01'\n", STR_ARG(kernel));
    struct fake_plan incredible = {.key = "incredible", .source = text.at, .size = 0.5};
    struct fake fake;
    begin(&fake, &incredible, TUNE_GATE_AUTO);
    real_task(&fake, "100000");
    fake_act(&fake, (struct tune_action){
                        .kind = TUNE_ACT_SET_BUDGET, .index = TUNE_BUDGET_ROUNDS, .number = 1});
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_START});
    const struct tune_attempt *seed = tune_state_attempt(fake_state(&fake), 0);
    const struct tune_attempt *attempt = tune_state_attempt(fake_state(&fake), 1);
    assert_true(seed->floor_modelled && seed->floor_us > 1);
    assert_false(seed->profile_modelled); /* the fake place reports lines */
    assert_int_equal(attempt->status, TUNE_STATUS_SUSPECT);
    assert_int_equal(fake_state(&fake)->best, 0);
    assert_int_equal(fake.place.timed, 2); /* measuring it again gains nothing */
    assert_non_null(strstr(attempt->verdict.credible_why, "(modelled)"));
    buf_free(&text);
    fake_end(&fake);
}

/* The seed task's floor, for a kernel that is measured at `latency`. */
struct at_floor {
    double floor_us;
    enum tune_status status;
    char text[200];
};
static struct at_floor measured_with(int lnc, double latency) {
    struct str kernel = embed_find("seeds/silu/kernel.py");
    struct buf text = {0};
    buf_printf(&text, STR_FMT "\nNOTE = '# latency %.4f'\n", STR_ARG(kernel), latency);
    struct fake_plan plan = {.key = "quick", .source = text.at, .size = 0.5};
    struct fake fake;
    begin(&fake, &plan, TUNE_GATE_AUTO);
    fake.place.lnc = lnc;
    real_task(&fake, "100000");
    fake_act(&fake, (struct tune_action){
                        .kind = TUNE_ACT_SET_BUDGET, .index = TUNE_BUDGET_ROUNDS, .number = 1});
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_START});
    const struct tune_attempt *attempt = tune_state_attempt(fake_state(&fake), 1);
    struct at_floor found = {attempt->floor_us, attempt->status, ""};
    if (attempt->verdict.credible_why)
        snprintf(found.text, sizeof found.text, "%s", attempt->verdict.credible_why);
    buf_free(&text);
    fake_end(&fake);
    return found;
}

static void two_cores_have_half_the_floor_of_one(void **state) {
    (void)state;
    double floor_us = measured_with(1, 50000).floor_us;
    struct at_floor one = measured_with(1, floor_us * 0.75),
                    two = measured_with(2, floor_us * 0.75);
    assert_int_equal(one.status, TUNE_STATUS_SUSPECT);
    assert_float_equal(two.floor_us, floor_us / 2, 1e-9);
    assert_int_equal(two.status, TUNE_STATUS_KEEP);
    two = measured_with(2, floor_us * 0.4);
    assert_int_equal(two.status, TUNE_STATUS_SUSPECT);
    assert_non_null(strstr(two.text, "(modelled, two cores)"));
}

static void samples_that_the_host_does_not_compare_are_not_compared(void **state) {
    (void)state;
    struct fake fake;
    begin(&fake, &faster, TUNE_GATE_AUTO);
    fake.place.doubt = "times are per core, unpaired";
    fake_act(&fake, (struct tune_action){
                        .kind = TUNE_ACT_SET_BUDGET, .index = TUNE_BUDGET_ROUNDS, .number = 1});
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_START});
    const struct tune_attempt *attempt = tune_state_attempt(fake_state(&fake), 1);
    assert_int_equal(attempt->verdict.faster, TUNE_ANSWER_INCONCLUSIVE);
    assert_string_equal(attempt->verdict.faster_why, "times are per core, unpaired");
    assert_int_equal(attempt->status, TUNE_STATUS_INCONCLUSIVE);
    assert_int_equal(fake_state(&fake)->best, 0);
    fake_end(&fake);
}

/* The seed kernel with other tiles; the fake place would find it fast. */
static char *tiled(const char *tile) {
    struct str kernel = embed_find("seeds/silu/kernel.py");
    const char *from = strstr(kernel.at, "TILE_N = 256");
    struct buf text = {0};
    assert_non_null(from);
    buf_add(&text, kernel.at, (size_t)(from - kernel.at));
    buf_printf(&text, "TILE_N = %s", tile);
    from += strlen("TILE_N = 256");
    buf_add(&text, from, kernel.len - (size_t)(from - kernel.at));
    buf_puts(&text, "\nNOTE = '# latency 50000'\n");
    return buf_take(&text);
}

static void what_the_model_times_far_above_its_parent_is_not_measured(void **state) {
    (void)state;
    char *tiles[] = {tiled("32"), tiled("512")};
    for (int keeps = 0; keeps < 2; keeps++) {
        struct fake_plan plan = {.key = "tiles", .source = tiles[keeps], .size = 0.5};
        struct fake fake;
        struct err err = {0};
        struct config *config = config_load(NULL, &err);
        assert_true(config && config_set(config, "search", "prune", "1.5", &err));
        begin(&fake, &plan, TUNE_GATE_AUTO);
        fake.options.config = config;
        real_task(&fake, "100000");
        fake_act(&fake, (struct tune_action){
                            .kind = TUNE_ACT_SET_BUDGET, .index = TUNE_BUDGET_ROUNDS, .number = 1});
        int before = fake.place.started;
        fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_START});
        const struct tune_state *now = fake_state(&fake);
        const struct tune_attempt *attempt = tune_state_attempt(now, 1);
        assert_true(now->attempts.at[0].modelled_us > 0);
        assert_int_equal(fake.place.started - before, keeps ? 4 : 1);
        assert_int_equal(attempt->status, keeps ? TUNE_STATUS_KEEP : TUNE_STATUS_REVERT);
        if (!keeps)
            assert_non_null(strstr(attempt->reason, "the device model times it at"));
        assert_int_equal(now->steps[TUNE_STEP_VERIFY].is, keeps ? TUNE_IS_OK : TUNE_IS_SKIPPED);
        assert_int_equal(now->notes.len, 1);
        fake_end(&fake);
        config_free(config);
    }
    free(tiles[0]);
    free(tiles[1]);
}

static void several_are_measured_at_once_each_on_its_own_occasion(void **state) {
    (void)state;
    static const struct fake_plan both[] = {
        {.key = "a", .source = "def kernel():\n    # latency 800\n    # hbm 500\n    x = 1\n"},
        {.key = "b", .source = "def kernel():\n    # latency 700\n    # hbm 500\n    x = 2\n"}};
    struct fake fake;
    fake_measured = true;
    fake_begin(&fake, both, 2, TUNE_GATE_AUTO);
    tune_session_close(fake.session);
    fake.options.search = "beam:2,2";
    fake.options.fresh = true;
    fake.seen.parallel = 2;
    fake_open(&fake);
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_SET_GATE,
                                         .step = TUNE_STEP_REWRITE,
                                         .gate = TUNE_GATE_ASK});
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_START});
    fake.place.slow = true;
    int before = fake.place.started;
    assert_true(fake_try(&fake, (struct tune_action){.kind = TUNE_ACT_APPROVE}));
    assert_true(loop_run_until_idle(fake.loop, 60000));
    assert_int_equal(fake.place.started - before, 2);
    /* whichever of the two began last */
    assert_true(!strcmp(fake.place.occasion, "1.0") || !strcmp(fake.place.occasion, "2.0"));
    fake.place.slow = false;
    for (struct fake_run *run = fake.place.runs; run; run = run->next)
        run->timer = loop_timer_start(fake.loop, 0, 0, fake_finish, run);
    fake_act(&fake, (struct tune_action){
                        .kind = TUNE_ACT_SET_BUDGET, .index = TUNE_BUDGET_ROUNDS, .number = 1});
    const struct tune_state *now = fake_state(&fake);
    for (int id = 1; id <= 2; id++) {
        assert_true(now->attempts.at[id].confirmed);
        assert_int_equal(now->attempts.at[id].evaluated, 3);
        assert_int_equal(now->attempts.at[id].samples.len, 10);
    }
    assert_int_equal(now->incumbent, 2);
    assert_int_equal(now->beam.len, 2);
    fake_end(&fake);
}

static const char model[] = "[model]\nargv = run {kernel}\nruns = 7\n"
                            "[env]\nHF_TOKEN = hf_abc\nLAYERS = 4\n"
                            "[patterns]\nlatency_ms = took (\\d+)\n[reference]\nlatency_ms = 5\n";

static void a_kernel_inside_a_model_is_checked_with_one_run_and_timed_with_all(void **state) {
    (void)state;
    struct fake fake;
    begin(&fake, &faster, TUNE_GATE_ASK);
    tune_session_close(fake.session);
    fake_file(fake.folder, "model.ini", model);
    fake.options.fresh = true;
    fake.seen.alone = false;
    fake_open(&fake);
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_START});
    assert_non_null(strstr(fake.place.model, "\"runs\":7"));
    assert_non_null(strstr(fake.place.model, "hf_abc"));     /* the kernel's model gets it, */
    assert_null(strstr(fake_state(&fake)->model, "hf_abc")); /* the log does not */
    assert_non_null(strstr(fake_state(&fake)->model, "LAYERS"));
    while (fake_state(&fake)->step < TUNE_STEP_VERIFY)
        fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_APPROVE});
    assert_non_null(strstr(fake.place.model, "\"runs\":1"));
    assert_non_null(strstr(fake_state(&fake)->steps[TUNE_STEP_VERIFY].summary, "the model runs"));
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_APPROVE});
    assert_non_null(strstr(fake.place.model, "\"runs\":7"));
    assert_int_equal(tune_state_attempt(fake_state(&fake), 1)->samples.len, 10);
    fake_end(&fake);
}

static void a_kernel_inside_a_model_cannot_be_tuned_on_the_device_model(void **state) {
    (void)state;
    struct fake fake;
    begin(&fake, &faster, TUNE_GATE_ASK);
    tune_session_close(fake.session);
    fake_file(fake.folder, "model.ini", model);
    struct tune_options options = {.task = fake.folder, .target = "sim", .fresh = true};
    struct err err = {0};
    assert_null(tune_session_open(&options, fake.loop, &err));
    assert_int_equal(err.kind, ERR_USAGE);
    assert_non_null(strstr(err.text, "model.ini"));
    fake.options.fresh = false;
    fake.options.target = "other"; /* nothing was measured, so another target may be given */
    fake_open(&fake);
    fake_end(&fake);
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "runner") == 0)
        return runner_main();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_candidate_is_checked_on_all_seeds_and_then_timed_with_the_incumbent),
        cmocka_unit_test(a_winner_that_does_not_win_again_is_not_the_incumbent),
        cmocka_unit_test(overlapping_samples_are_inconclusive),
        cmocka_unit_test(auto_green_passes_what_is_inconclusive),
        cmocka_unit_test(a_place_that_fails_is_tried_once_more_and_then_the_loop_pauses),
        cmocka_unit_test(a_baseline_that_the_place_fails_is_done_again),
        cmocka_unit_test(measuring_again_is_another_occasion),
        cmocka_unit_test(measuring_again_opens_what_was_decided),
        cmocka_unit_test(a_session_that_is_opened_again_asks_for_the_same_job),
        cmocka_unit_test(a_job_that_was_given_up_is_not_taken_up_again),
        cmocka_unit_test(a_kernel_inside_a_model_is_checked_with_one_run_and_timed_with_all),
        cmocka_unit_test(a_kernel_inside_a_model_cannot_be_tuned_on_the_device_model),
        cmocka_unit_test(the_device_model_gives_the_floor_and_what_the_host_left_out),
        cmocka_unit_test(two_cores_have_half_the_floor_of_one),
        cmocka_unit_test(samples_that_the_host_does_not_compare_are_not_compared),
        cmocka_unit_test(what_the_model_times_far_above_its_parent_is_not_measured),
        cmocka_unit_test(several_are_measured_at_once_each_on_its_own_occasion),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
