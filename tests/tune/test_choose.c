// SPDX-License-Identifier: Apache-2.0
/* Which of several models is asked next: cheap ones, without forgetting the others. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tune/apply/apply.h"
#include "tune/state/inner.h"
#include "tune/tune.h"

#define MODEL(label) \
    { .name = label, .asked = "openai, x" }
static const struct tune_role_model models[] = {MODEL("a"), MODEL("b"), MODEL("c")};

struct bench {
    struct tune_state *state;
    struct tune_role_view roles[TUNE_ROLES];
    int64_t seq;
};

static CC_PRINTF(3, 4) void event(struct bench *bench, const char *type, const char *format, ...) {
    struct buf text = {0};
    va_list args;
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    bench->seq++;
    tune_state_apply(bench->state, bench->seq, bench->seq * 1000, type, text.at);
    buf_free(&text);
}

static void begin(struct bench *bench, size_t count) {
    *bench = (struct bench){.state = tune_state_new()};
    bench->roles[TUNE_ROLE_PLANNER] =
        (struct tune_role_view){.models = models, .count = count, .by_gain = true};
    bench->state->roles = bench->roles;
    event(bench, "attempt", "{\"attempt\":0,\"parent\":-1,\"source\":\"x\"}");
    event(bench, "measured", "{\"attempt\":0,\"latency_us\":1000,\"modelled\":true}");
    event(bench, "decided", "{\"attempt\":0,\"status\":\"keep\"}");
}

static size_t next_of(struct bench *bench, size_t count) {
    return tune_role_turn(bench->state, TUNE_ROLE_PLANNER, count);
}

static void asked(struct bench *bench, size_t model) {
    event(bench, "asked", "{\"role\":\"planner\",\"model\":\"%s\",\"estimate\":100}",
          models[model].name);
}

static void answered(struct bench *bench, const char *cost) {
    event(bench, "answered", "{\"call\":%zu,%s}", bench->state->calls.len - 1, cost);
}

/* One question. What the model proposed makes the kernel this many times faster, or is not kept. */
static void asks(struct bench *bench, size_t model, const char *cost, double gain) {
    asked(bench, model);
    answered(bench, cost);
    int id = (int)bench->state->attempts.len, parent = MAX_OF(bench->state->incumbent, 0);
    double us = bench->state->attempts.at[parent].latency_us / gain;
    event(bench, "attempt",
          "{\"attempt\":%d,\"parent\":%d,\"source\":\"x\",\"plan\":{\"author\":"
          "\"%s\",\"title\":\"t\"}}",
          id, parent, models[model].name);
    event(bench, "measured", "{\"attempt\":%d,\"latency_us\":%.12g,\"modelled\":true}", id, us);
    event(bench, "decided", "{\"attempt\":%d,\"status\":\"%s\"}", id, gain > 1 ? "keep" : "revert");
}

static void the_cheaper_of_two_equals_is_preferred_and_the_other_explored(void **unused) {
    (void)unused;
    struct bench bench;
    int count[2] = {0}, late = 0;
    begin(&bench, 2);
    for (int round = 0; round < 60; round++) {
        size_t next = next_of(&bench, 2);
        assert_true(next < 2);
        count[next]++;
        late += next == 0 && round >= 30;
        asks(&bench, next,
             next ? "\"input\":100,\"dollars\":0.01" : "\"input\":100,\"dollars\":0.04", 1.01);
    }
    assert_true(count[1] >= 2 * count[0]);
    assert_true(count[0] >= 3);
    assert_true(late >= 1); /* it is still asked, later on */
    tune_state_free(bench.state);
}

static void each_is_tried_first_also_while_others_run(void **unused) {
    (void)unused;
    struct bench bench;
    begin(&bench, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(next_of(&bench, 3), i);
        asked(&bench, i); /* nobody has answered yet */
    }
    assert_true(next_of(&bench, 3) < 3);
    tune_state_free(bench.state);
}

static void nothing_is_divided_by_nothing(void **unused) {
    (void)unused;
    static const char *const costs[] = {"\"dollars\":0,\"input\":0", "\"dollars\":0", "\"input\":0",
                                        "\"failure\":\"no\"", "\"tries\":1"};
    for (size_t i = 0; i < COUNT_OF(costs); i++)
        for (int gain = 0; gain < 2; gain++) {
            struct bench bench;
            struct tune_choice choice;
            begin(&bench, 2);
            for (int round = 0; round < 8; round++)
                asks(&bench, next_of(&bench, 2), costs[i], gain ? 1.1 : 1);
            tune_choice_make(bench.state, TUNE_ROLE_PLANNER, &choice);
            for (size_t k = 0; k < choice.rows.len; k++) {
                assert_true(isfinite(choice.rows.at[k].share));
                assert_true(isfinite(choice.rows.at[k].bonus));
                assert_in_range(choice.rows.at[k].asked, 1, 7);
            }
            tune_choice_free(&choice);
            tune_state_free(bench.state);
        }
}

static enum tune_choice_by by_after(const char *first, const char *second) {
    struct bench bench;
    struct tune_choice choice;
    begin(&bench, 2);
    asks(&bench, 0, first, 1.1);
    asks(&bench, 1, second, 1.1);
    tune_choice_make(bench.state, TUNE_ROLE_PLANNER, &choice);
    enum tune_choice_by by = choice.by;
    tune_choice_free(&choice);
    tune_state_free(bench.state);
    return by;
}

static void what_is_not_known_of_one_is_not_compared(void **unused) {
    (void)unused;
    assert_int_equal(by_after("\"input\":9,\"dollars\":1", "\"input\":9,\"dollars\":1"),
                     TUNE_CHOICE_DOLLARS);
    assert_int_equal(by_after("\"input\":9,\"dollars\":1", "\"input\":9"), TUNE_CHOICE_TOKENS);
    assert_int_equal(by_after("\"input\":9,\"dollars\":1", "\"guess_answer\":9"),
                     TUNE_CHOICE_TOKENS);
    assert_int_equal(by_after("\"input\":9,\"dollars\":1", "\"tries\":1"), TUNE_CHOICE_EVEN);
}

static void a_free_model_is_the_best_but_not_the_only_one(void **unused) {
    (void)unused;
    struct bench bench;
    int count[2] = {0};
    begin(&bench, 2);
    for (int round = 0; round < 60; round++) {
        size_t next = next_of(&bench, 2);
        count[next]++;
        asks(&bench, next, next ? "\"input\":9,\"dollars\":0" : "\"input\":9,\"dollars\":0.05",
             1.01);
    }
    assert_true(count[1] > count[0] && count[0] >= 3);
    tune_state_free(bench.state);
}

static void even_is_even_even_where_an_answer_had_to_be_mended(void **unused) {
    (void)unused;
    struct bench bench;
    begin(&bench, 2);
    bench.roles[TUNE_ROLE_PLANNER].by_gain = false;
    for (int round = 0; round < 6; round++) {
        size_t next = next_of(&bench, 2);
        assert_int_equal(next, round % 2);
        asks(&bench, next, "\"dollars\":0.01", round % 2 ? 1.2 : 1);
        asks(&bench, next, "\"dollars\":0.01", 1);
    }
    tune_state_free(bench.state);
}

static void the_same_log_gives_the_same_choice(void **unused) {
    (void)unused;
    size_t chosen[2][20];
    for (int run = 0; run < 2; run++) {
        struct bench bench;
        begin(&bench, 3);
        for (int round = 0; round < 20; round++) {
            chosen[run][round] = next_of(&bench, 3);
            asks(&bench, chosen[run][round], round % 3 ? "\"dollars\":0.02" : "\"dollars\":0.01",
                 round % 4 ? 1 : 1.05);
        }
        tune_state_free(bench.state);
    }
    assert_memory_equal(chosen[0], chosen[1], sizeof chosen[0]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cheaper_of_two_equals_is_preferred_and_the_other_explored),
        cmocka_unit_test(each_is_tried_first_also_while_others_run),
        cmocka_unit_test(nothing_is_divided_by_nothing),
        cmocka_unit_test(what_is_not_known_of_one_is_not_compared),
        cmocka_unit_test(a_free_model_is_the_best_but_not_the_only_one),
        cmocka_unit_test(even_is_even_even_where_an_answer_had_to_be_mended),
        cmocka_unit_test(the_same_log_gives_the_same_choice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
