/* SPDX-License-Identifier: Apache-2.0 */
#include "task/workbench.h"

#include <stdlib.h>

#include "loop/testing.h"
#include "target/target.h"

#define PATIENCE_MS 90000

struct outcome {
    struct err failure;
    int *ended, before; /* how many ended before it; NULL: nobody asks */
    int done;
    int *running, most; /* how many ran at once */
};

static void on_event(void *data, const struct runner_event *event) {
    struct outcome *outcome = data;
    if (event->kind == RUNNER_PHASE && ++*outcome->running > outcome->most)
        outcome->most = *outcome->running;
}

static void on_done(void *data, struct runner_result *result) {
    struct outcome *outcome = data;
    outcome->failure = result->failure;
    outcome->done++;
    if (outcome->ended)
        outcome->before = (*outcome->ended)++;
    --*outcome->running;
}

static void an_unknown_target_is_refused_with_what_there_is(void **state) {
    (void)state;
    struct loop *loop = loop_new();
    struct err err = {0};
    assert_null(target_open(loop, "moon", NULL, &err));
    assert_int_equal(err.kind, ERR_USAGE);
    assert_non_null(strstr(err.text, "sim"));
    loop_free(loop);
}

static void sim_describes_itself(void **state) {
    (void)state;
    struct loop *loop = loop_new();
    struct target *target = target_open(loop, "sim", NULL, NULL);
    const struct target_info *info = target_describe(target);
    assert_string_equal(info->name, "sim");
    assert_true(info->modelled);
    assert_true(info->parallel >= 1);
    target_free(target);
    loop_free(loop);
}

static const char *const slow[] = {
    "/bin/sh", "-c",
    "cat >/dev/null; echo '@hone {\"event\":\"phase\",\"name\":\"time\"}'; sleep 0.1;"
    "echo '@hone {\"event\":\"result\"}'",
    NULL};

static void what_is_to_be_first_does_not_wait_for_the_others(void **state) {
    (void)state;
    struct loop *loop = loop_new();
    struct target *target = target_open(loop, "sim", NULL, NULL);
    int parallel = target_describe(target)->parallel, running = 0, ended = 0;
    int n = 4 * parallel;
    struct outcome *outcomes = mem_alloc((size_t)n, sizeof *outcomes);
    for (int i = 0; i < n; i++) {
        outcomes[i] = (struct outcome){.running = &running, .ended = &ended};
        struct runner_job job = {.kernel_path = "k", .command = slow, .first = i == n - 1};
        struct runner_callbacks callbacks = {on_event, on_done, &outcomes[i]};
        assert_non_null(target_start(target, &job, &callbacks, NULL));
    }
    assert_true(loop_run_until_idle(loop, PATIENCE_MS));
    assert_int_equal(ended, n);
    /* It is started as soon as one of the first ended; the others still wait then. */
    assert_true(outcomes[n - 1].before < n - parallel);
    free(outcomes);
    target_free(target);
    loop_free(loop);
}

static void runs_wait_their_turn(void **state) {
    (void)state;
    struct loop *loop = loop_new();
    struct target *target = target_open(loop, "sim", NULL, NULL);
    struct outcome outcomes[8];
    memset(outcomes, 0, sizeof outcomes);
    int running = 0;
    for (size_t i = 0; i < COUNT_OF(outcomes); i++) {
        char path[16];
        snprintf(path, sizeof path, "k%zu", i);
        outcomes[i].running = &running;
        struct runner_job job = {.kernel_path = path, .command = slow};
        struct runner_callbacks callbacks = {on_event, on_done, &outcomes[i]};
        assert_non_null(target_start(target, &job, &callbacks, NULL));
    }
    assert_true(loop_run_until_idle(loop, PATIENCE_MS));
    for (size_t i = 0; i < COUNT_OF(outcomes); i++) {
        assert_int_equal(outcomes[i].done, 1);
        assert_int_equal(outcomes[i].failure.kind, ERR_NONE);
        assert_true(outcomes[i].most <= target_describe(target)->parallel);
    }
    target_free(target);
    loop_free(loop);
}

static void waiting_and_running_ones_can_be_cancelled(void **state) {
    (void)state;
    static const char *const sleeping[] = {"sleep", "600", NULL};
    struct loop *loop = loop_new();
    struct target *target = target_open(loop, "sim", NULL, NULL);
    enum { N = 40 };
    struct outcome outcomes[N];
    memset(outcomes, 0, sizeof outcomes);
    struct target_run *runs[N];
    int running = N;
    for (size_t i = 0; i < N; i++) {
        outcomes[i].running = &running;
        struct runner_job job = {.kernel_path = "k", .command = sleeping};
        struct runner_callbacks callbacks = {on_event, on_done, &outcomes[i]};
        runs[i] = target_start(target, &job, &callbacks, NULL);
    }
    for (size_t i = 0; i < N; i++)
        target_cancel(runs[i]);
    assert_true(loop_run_until_idle(loop, PATIENCE_MS));
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(outcomes[i].done, 1);
        assert_int_equal(outcomes[i].failure.kind, ERR_CANCELLED);
    }
    target_free(target);
    loop_free(loop);
}

static void a_runner_that_cannot_start_is_told_later(void **state) {
    (void)state;
    static const char *const missing[] = {"/no/such/runner", NULL};
    struct loop *loop = loop_new();
    struct target *target = target_open(loop, "sim", NULL, NULL);
    int running = 1;
    struct outcome outcome = {.running = &running};
    struct runner_job job = {.kernel_path = "k", .command = missing};
    struct runner_callbacks callbacks = {on_event, on_done, &outcome};
    assert_non_null(target_start(target, &job, &callbacks, NULL));
    assert_int_equal(outcome.done, 0);
    assert_true(loop_run_until_idle(loop, PATIENCE_MS));
    assert_int_equal(outcome.failure.kind, ERR_ENVIRONMENT);
    assert_non_null(strstr(outcome.failure.text, "/no/such/runner"));
    target_free(target);
    loop_free(loop);
}

static void freeing_a_target_ends_its_runs_silently(void **state) {
    (void)state;
    struct loop *loop = loop_new();
    struct target *target = target_open(loop, "sim", NULL, NULL);
    int running = 8;
    struct outcome outcomes[8];
    memset(outcomes, 0, sizeof outcomes);
    for (size_t i = 0; i < COUNT_OF(outcomes); i++) {
        outcomes[i].running = &running;
        struct runner_job job = {.kernel_path = "k", .command = slow};
        struct runner_callbacks callbacks = {on_event, on_done, &outcomes[i]};
        assert_non_null(target_start(target, &job, &callbacks, NULL));
    }
    target_free(target);
    assert_true(loop_run_until_idle(loop, PATIENCE_MS));
    for (size_t i = 0; i < COUNT_OF(outcomes); i++)
        assert_int_equal(outcomes[i].done, 0);
    loop_free(loop);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_unknown_target_is_refused_with_what_there_is),
        cmocka_unit_test(sim_describes_itself),
        cmocka_unit_test(runs_wait_their_turn),
        cmocka_unit_test(what_is_to_be_first_does_not_wait_for_the_others),
        cmocka_unit_test(waiting_and_running_ones_can_be_cancelled),
        cmocka_unit_test(a_runner_that_cannot_start_is_told_later),
        cmocka_unit_test(freeing_a_target_ends_its_runs_silently),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
