/* SPDX-License-Identifier: Apache-2.0 */
/* Plans that were not chosen stay, and can be taken later. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

#include "tune/apply/apply.h"
#include "tune/ask/testing.h"
#include "tune/state/inner.h"
#include "tune/sums/sums.h"
#include "tune/tune.h"

static void apply(struct tune_state *state, const char *type, const char *payload) {
    tune_state_apply(state, state->seq + 1, 1000, type, payload);
}

#define PLAN(key, author, more)                                           \
    "{\"key\":\"" key "\",\"title\":\"Title " key "\",\"what\":\"do " key \
    "\",\"author\":\"" author "\"" more "}"

/* A round in which a model proposed three plans, and the first one was carried out. */
static struct tune_state *after_a_round(void) {
    struct tune_state *state = tune_state_new();
    apply(state, "session", "{\"task\":\"t\",\"source\":\"import nki\\n\",\"device\":\"trn2\"}");
    apply(state, "attempt", "{\"attempt\":0,\"parent\":-1,\"source\":\"import nki\\n\"}");
    apply(state, "measured",
          "{\"attempt\":0,\"latency_us\":100,\"modelled\":true,\"bounds\":["
          "{\"name\":\"DMA\",\"busy_us\":90,\"without_us\":60},"
          "{\"name\":\"Vector\",\"busy_us\":30,\"without_us\":98}]}");
    state->incumbent = 0;
    apply(state, "round", "{\"round\":1}");
    apply(state, "plans",
          "{\"plans\":[" PLAN("first", "m", ",\"latency\":-0.1") "," PLAN(
              "vector", "m",
              ",\"latency\":-0.3,\"metric\":\"vector_engine_active_"
              "time\"") "," PLAN("dma", "m",
                                 ",\"latency\":-0.2,\"metric\":\"hbm_"
                                 "read_bytes\"") "," PLAN("menu", "rewriter",
                                                          ",\"latency\""
                                                          ":-0.9") "]"
                                                                   "}");
    apply(state, "attempt",
          "{\"attempt\":1,\"parent\":0,\"source\":\"import nki\\nx = 1\\n\","
          "\"plan\":" PLAN("first", "m", "") "}");
    apply(state, "round_end", "{}");
    apply(state, "round", "{\"round\":2}");
    return state;
}

static const char *stocked(const struct tune_state *state, size_t place) {
    size_t at[TUNE_STOCK_SHOWN], count = tune_stock_list(state, at, TUNE_STOCK_SHOWN);
    return place < count ? state->stock.at[at[place]].plan.key : NULL;
}

static void what_was_not_chosen_stays_and_is_ranked(void **unused) {
    (void)unused;
    struct tune_state *state = after_a_round();
    /* What predicts most is first, whatever the profile says of the engine that it names. */
    assert_string_equal(stocked(state, 0), "vector");
    assert_string_equal(stocked(state, 1), "dma");
    assert_null(stocked(state, 2)); /* what was tried is not there, nor what the rewriter offers */
    size_t one;
    assert_int_equal(tune_stock_list(state, &one, 1), 1);
    assert_string_equal(state->stock.at[one].plan.key, "vector");
    tune_state_free(state);
}

static void the_next_question_shows_it(void **unused) {
    (void)unused;
    struct tune_state *state = after_a_round();
    struct buf all = {0};
    struct tune_context *context = tune_context_build(state, 0);
    tune_context_print(context, &all);
    const char *part = strstr(all.at, "# proposed, not tried yet\n");
    assert_non_null(part);
    assert_non_null(strstr(part, "- \"Title vector\" (round 1, for attempt 0): do vector. "
                                 "Predicted: latency -30 %.\n"
                                 "- \"Title dma\" (round 1, for attempt 0): do dma. "
                                 "Predicted: latency -20 %.\n"));
    buf_free(&all);
    tune_context_free(context);
    tune_state_free(state);
}

static void a_person_takes_one(void **unused) {
    (void)unused;
    struct tune_state *state = after_a_round();
    apply(state, "step", "{\"step\":\"plan\"}");
    apply(state, "plans", "{\"plans\":[" PLAN("new", "m", "") "]}");
    apply(state, "step_end", "{\"step\":\"plan\",\"is\":\"ok\"}");
    assert_int_equal(state->wait, TUNE_WAIT_GATE);
    assert_true(tune_can(state, 0, TUNE_ACT_TAKE_PLAN));
    apply(state, "act", "{\"action\":\"take-plan\",\"index\":2}");
    assert_string_equal(tune_lane_plan(state, 0)->key, "dma");
    assert_string_equal(stocked(state, 0), "vector");
    assert_string_equal(stocked(state, 1), "new");                 /* set aside in its turn */
    apply(state, "act", "{\"action\":\"take-plan\",\"index\":0}"); /* it was tried */
    assert_string_equal(tune_lane_plan(state, 0)->key, "dma");
    apply(state, "act", "{\"action\":\"take-back\"}");
    apply(state, "act", "{\"action\":\"take-back\"}");
    assert_string_equal(tune_lane_plan(state, 0)->key, "new");
    assert_string_equal(stocked(state, 1), "dma");
    tune_state_free(state);
}

static char *asked(const struct tune_state *state, bool *closed) {
    struct tune_context *context = tune_context_build(state, 0);
    struct buf all = {0};
    tune_context_print(context, &all);
    const char *how = tune_context_closed_how(context, &(struct tune_plan){.key = "first"});
    *closed = how != NULL;
    buf_printf(&all, "\nclosed: %s\n", how ? how : "no");
    tune_context_free(context);
    return buf_take(&all);
}

static void cost_is(struct tune_attempt *attempt, int line, double us) {
    *vec_push(&attempt->lines_kept) =
        (struct tune_line_cost){.line = line, .us = us, .share = us / 100, .busy_us = us};
}

static void has(const char *text, const char *words, bool is_there) {
    if (!strstr(text, words) == is_there)
        fail_msg("%s \"%s\":\n%s", is_there ? "there is no" : "there is", words,
                 strstr(text, "# tried before"));
}

/* The metric moved as predicted, the latency did not: once more with the difference by line, and
 * then closed by what stood in the way. */
static void a_direction_that_did_what_it_said_has_a_second_turn(void **unused) {
    (void)unused;
    struct tune_state *state = after_a_round();
    struct tune_attempt *attempt = &state->attempts.at[1];
    bool closed;
    attempt->status = TUNE_STATUS_REVERT;
    attempt->plan.held = TUNE_ANSWER_YES;
    attempt->plan.metric = "hbm_read_bytes";
    attempt->plan.moved = -0.5;
    *vec_push_in(state->arena, &attempt->bounds, 1) = (struct tune_bound){"DMA", 60, 80};
    cost_is(&state->attempts.at[0], 1, 40);
    cost_is(attempt, 1, 75);
    char *text = asked(state, &closed);
    assert_false(closed);
    has(text,
        "hbm_read_bytes moved by -50.0 %, as predicted. Of the critical path: +35.0 us on "
        "line 1.",
        true);
    has(text,
        "DMA busy 90 -> 60 us. The latency did not follow; +35.0 us on line 1: this "
        "direction may be proposed once more",
        true);
    free(text);
    apply(state, "attempt",
          "{\"attempt\":2,\"parent\":0,\"source\":\"import nki\\nx = 2\\n\",\"plan\":" PLAN(
              "first", "m", "") "}");
    apply(state, "measured",
          "{\"attempt\":2,\"latency_us\":104,\"modelled\":true,\"bounds\":["
          "{\"name\":\"Scalar\",\"busy_us\":90,\"without_us\":20}]}");
    state->attempts.at[2].status = TUNE_STATUS_REVERT;
    text = asked(state, &closed);
    assert_true(closed);
    has(text, "may be proposed once more", false);
    has(text, "This was its second turn, and it is closed; what stands in the way:", true);
    has(text, "closed: attempt 2: revert in its second turn, it is limited by Scalar\n", true);
    free(text);
    tune_state_free(state);
}

/* A plan that removes what stood in the way says something else, under the same title. */
static void a_direction_is_taken_up_again_under_its_title(void **unused) {
    (void)unused;
    struct tune_state *state = after_a_round();
    struct tune_attempt *attempt = &state->attempts.at[1];
    attempt->status = TUNE_STATUS_REVERT;
    attempt->plan.held = TUNE_ANSWER_YES;
    apply(state, "attempt",
          "{\"attempt\":2,\"parent\":0,\"source\":\"import nki\\nx = 2\\n\",\"plan\":{\"key\":"
          "\"other\",\"title\":\"TITLE: first.\",\"what\":\"more\",\"author\":\"m\"}}");
    apply(state, "measured",
          "{\"attempt\":2,\"latency_us\":104,\"modelled\":true,\"bounds\":["
          "{\"name\":\"Scalar\",\"busy_us\":90,\"without_us\":20}]}");
    attempt = &state->attempts.at[2];
    attempt->status = TUNE_STATUS_REVERT;
    attempt->plan.held = TUNE_ANSWER_YES;
    bool closed;
    char *text = asked(state, &closed);
    assert_true(closed);
    has(text, "may be proposed once more", false);
    has(text, "This was its second turn, and it is closed; what stands in the way:", true);
    free(text);
    struct tune_context *context = tune_context_build(state, 0);
    struct tune_plan plan = {.key = "third", .title = "title first"};
    assert_string_equal(tune_context_closed_how(context, &plan),
                        "attempt 2: revert in its second turn, it is limited by Scalar");
    plan.title = "title firsts";
    assert_null(tune_context_closed_how(context, &plan));
    tune_context_free(context);
    tune_state_free(state);
}

static void a_stocked_plan_is_tried_under_its_title(void **unused) {
    (void)unused;
    struct tune_state *state = after_a_round();
    assert_string_equal(stocked(state, 0), "vector");
    apply(state, "attempt",
          "{\"attempt\":2,\"parent\":0,\"source\":\"import nki\\nx = 2\\n\",\"plan\":{\"key\":"
          "\"again\",\"title\":\"title vector\",\"what\":\"more\",\"author\":\"m\"}}");
    assert_string_equal(stocked(state, 0), "dma");
    tune_state_free(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_not_chosen_stays_and_is_ranked),
        cmocka_unit_test(the_next_question_shows_it),
        cmocka_unit_test(a_person_takes_one),
        cmocka_unit_test(a_direction_that_did_what_it_said_has_a_second_turn),
        cmocka_unit_test(a_direction_is_taken_up_again_under_its_title),
        cmocka_unit_test(a_stocked_plan_is_tried_under_its_title),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
