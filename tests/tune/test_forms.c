/* SPDX-License-Identifier: Apache-2.0 */
/* How a log describes a round. Some sessions were recorded when rounds of one lane and of many were
 * two things in memory; event by event they must give what they gave then. Each round is written in
 * the form that it has. HONE_REGEN=1 writes the files anew; read the difference before committing
 * it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "tune/apply/apply.h"
#include "tune/state/inner.h"

#define FOLDER HONE_SOURCE_DIR "/tests/tune/logs/"

static char *log_file(const char *name, const char *kind) {
    char path[512];
    struct err err;
    snprintf(path, sizeof path, FOLDER "%s.%s", name, kind);
    char *text = file_read(path, 0, NULL, &err);
    if (!text)
        print_message("%s\n", err.text);
    return text;
}

static void lane_print(const struct tune_state *state, int number, struct buf *out) {
    const struct tune_lane *lane = tune_lane_of(state, number);
    enum tune_step next = tune_lane_next(state, number);
    buf_printf(out, "    of #%d: %s %s, then %s", lane->parent, tune_step_word(lane->step),
               tune_step_is_word(lane->is), next < TUNE_STEPS ? tune_step_word(next) : "nothing");
    if (lane->plan >= 0)
        buf_printf(out, ", plan %d", lane->plan);
    if (lane->candidate.exists)
        buf_printf(out, ", candidate of #%d", lane->candidate.parent);
    if (lane->attempt >= 0)
        buf_printf(out, ", #%d", lane->attempt);
    if (lane->closed)
        buf_printf(out, ", closed: %s", lane->closed);
    buf_puts(out, "\n");
}

/* Prints the state of the loop, and its lanes. */
static void stand_print(const struct tune_state *state, struct buf *out) {
    const struct tune_step_view *step = &state->steps[state->step];
    buf_printf(out, "  round %d, %s %s, %s%s, incumbent %d, best %d", state->round,
               tune_step_word(state->step), tune_step_is_word(step->is),
               state->running ? "runs, " : "", tune_wait_word(state->wait), state->incumbent,
               state->best);
    for (size_t i = 0; i < state->beam.len; i++)
        buf_printf(out, "%s%d", i ? ", " : ", beam ", state->beam.at[i]);
    buf_puts(out, "\n");
    for (int i = 0; i < (int)state->lanes.len; i++)
        lane_print(state, i, out);
}

static struct tune_state *state_after(const char *events, struct buf *trail) {
    struct tune_state *state = tune_state_new();
    struct str rest = str_of(events), line, seq, ms, type;
    struct buf before = {0};
    while (str_next(&rest, '\n', &line)) {
        long long number = 0, wall_ms = 0;
        if (!str_next(&line, ' ', &seq) || !str_next(&line, ' ', &ms) ||
            !str_next(&line, ' ', &type) || !str_to_int(seq, &number) || !str_to_int(ms, &wall_ms))
            continue;
        struct buf word = {0}, payload = {0}, now = {0};
        buf_add(&word, type.at, type.len);
        buf_add(&payload, line.at, line.len);
        tune_state_apply(state, number, wall_ms, word.at, payload.at);
        stand_print(state, &now);
        if (!before.at || strcmp(before.at, now.at) != 0)
            buf_printf(trail, "%lld %s\n%s", number, word.at, now.at);
        buf_free(&before);
        before = now;
        buf_free(&word);
        buf_free(&payload);
    }
    buf_free(&before);
    return state;
}

static void assert_stands_as_then(const char *name) {
    char *events = log_file(name, "events");
    assert_non_null(events);
    struct buf trail = {0};
    tune_state_free(state_after(events, &trail));
    char path[512];
    struct err err;
    snprintf(path, sizeof path, FOLDER "%s.txt", name);
    if (getenv("HONE_REGEN"))
        assert_true(file_write(path, trail.at, trail.len, &err));
    char *expected = log_file(name, "txt");
    assert_non_null(expected);
    assert_string_equal(trail.at, expected);
    free(expected);
    free(events);
    buf_free(&trail);
}

static void recorded_sessions_stand_where_they_stood(void **unused) {
    static const char *const names[] = {"undone", "repaired", "lanes",
                                        "sweep",  "focused",  "waited"};
    (void)unused;
    for (size_t i = 0; i < COUNT_OF(names); i++)
        assert_stands_as_then(names[i]);
}

/* ------------------------------------------------------------------------------------ writing */

static const struct tune_event_lane_end plan_end = {
    .step = TUNE_STEP_PLAN, .is = TUNE_IS_OK, .summary = "a plan", .next = TUNE_STEPS};

static void assert_told(const struct tune_state *state, const char *begin, const char *end) {
    struct tune_event begins = tune_form_begin(state, TUNE_STEP_PLAN);
    struct tune_event ends = tune_form_end(state, &plan_end);
    struct buf text = {0};
    tune_event_write(&begins, tune_lane_tag(state, 0), &text);
    assert_string_equal(text.at, begin);
    buf_clear(&text);
    tune_event_write(&ends, tune_lane_tag(state, 0), &text);
    assert_string_equal(text.at, end);
    buf_free(&text);
}

static void a_round_of_one_is_told_without_a_lane(void **unused) {
    (void)unused;
    struct tune_state *state = tune_state_new();
    assert_told(state, "{\"step\":\"plan\"}",
                "{\"step\":\"plan\",\"is\":\"ok\",\"summary\":\"a plan\"}");
    tune_state_apply(state, 1, 1, "step", "{\"step\":\"plan\"}");
    assert_int_equal(state->lanes.at[0].is, TUNE_IS_RUNNING);
    assert_int_equal(tune_lane_next(state, 0), TUNE_STEP_PLAN);
    tune_state_apply(state, 2, 2, "progress", "{\"step\":\"plan\",\"doing\":\"asks\"}");
    assert_string_equal(state->lanes.at[0].doing, "asks");
    assert_string_equal(state->steps[TUNE_STEP_PLAN].doing, "asks");
    tune_state_apply(state, 3, 3, "step_end", "{\"step\":\"plan\",\"is\":\"failed\"}");
    assert_int_equal(state->lanes.at[0].is, TUNE_IS_FAILED);
    assert_int_equal(tune_lane_next(state, 0), TUNE_STEP_REWRITE);
    tune_state_free(state);
}

static void a_round_of_lanes_names_them(void **unused) {
    (void)unused;
    struct tune_state *state = tune_state_new();
    tune_state_apply(state, 1, 1, "lanes", "{\"lanes\":[{\"parent\":0},{\"parent\":0}]}");
    assert_told(state, "{\"lane\":0}",
                "{\"step\":\"plan\",\"is\":\"ok\",\"summary\":\"a plan\",\"lane\":0}");
    tune_state_apply(state, 2, 2, "step", "{\"step\":\"plan\",\"lanes\":[0,1]}");
    tune_state_apply(state, 3, 3, "lane", "{\"lane\":1}");
    assert_int_equal(state->lanes.at[0].is, TUNE_IS_WAITING);
    assert_int_equal(state->lanes.at[1].is, TUNE_IS_RUNNING);
    tune_state_apply(state, 4, 4, "lane_end", "{\"step\":\"plan\",\"is\":\"ok\",\"lane\":1}");
    assert_int_equal(state->steps[TUNE_STEP_PLAN].is, TUNE_IS_RUNNING);
    assert_true(state->steps[TUNE_STEP_PLAN].done == 1);
    tune_state_free(state);
}

/* What was under way in lanes may still be reported after a person went back to another attempt. */
static void lanes_that_are_gone_change_nothing(void **unused) {
    (void)unused;
    struct tune_state *state = tune_state_new();
    tune_state_apply(state, 1, 1, "lane", "{\"lane\":3}");
    tune_state_apply(state, 2, 2, "lane_end",
                     "{\"step\":\"plan\",\"is\":\"failed\",\"closed\":\"late\",\"lane\":3}");
    assert_int_equal(state->lanes.len, 1);
    assert_int_equal(state->lanes.at[0].is, TUNE_IS_WAITING);
    assert_null(state->lanes.at[0].closed);
    tune_state_free(state);
}

static void apply_all(struct tune_state *state, const char *const (*events)[2], size_t count) {
    for (size_t i = 0; i < count; i++)
        tune_state_apply(state, state->seq + 1, state->seq + 1, events[i][0], events[i][1]);
}

/* Three lanes with a plan each, at the gate. */
static struct tune_state *three_planned(void) {
    static const char *const events[][2] = {
        {"lanes", "{\"lanes\":[{\"parent\":0},{\"parent\":0},{\"parent\":0}]}"},
        {"act", "{\"action\":\"gate\",\"step\":\"plan\",\"gate\":\"ask\"}"},
        {"step", "{\"step\":\"plan\",\"lanes\":[0,1,2]}"},
        {"lane", "{\"lane\":0}"},
        {"plans", "{\"plans\":[{\"key\":\"a\"},{\"key\":\"b\"},{\"key\":\"c\"}],\"lane\":0}"},
        {"lane_end", "{\"step\":\"plan\",\"is\":\"ok\",\"lane\":0}"},
        {"lane_end", "{\"step\":\"plan\",\"is\":\"ok\",\"lane\":1}"},
        {"lane_end", "{\"step\":\"plan\",\"is\":\"ok\",\"lane\":2}"},
        {"lanes_assign", "{}"},
        {"step_end", "{\"step\":\"plan\",\"is\":\"ok\",\"summary\":\"3 ok\"}"}};
    struct tune_state *state = tune_state_new();
    apply_all(state, events, COUNT_OF(events));
    assert_int_equal(state->wait, TUNE_WAIT_GATE);
    assert_int_equal(tune_lanes_open(state), 3);
    return state;
}

static void assert_closed(const struct tune_state *state, const char *a, const char *b,
                          const char *c) {
    const char *const expected[] = {a, b, c};
    for (int i = 0; i < 3; i++) {
        const char *closed = state->lanes.at[i].closed;
        assert_string_equal(closed ? closed : "-", expected[i]);
    }
}

/* They moved from a closed lane to the next one, and an undo moved back. */
static void acts_of_older_logs_are_about_the_lane_that_was_looked_at(void **unused) {
    static const char *const events[][2] = {
        {"act", "{\"action\":\"focus\",\"index\":1}"},
        {"act", "{\"action\":\"reject\",\"text\":\"one\"}"},
        {"act", "{\"action\":\"reject\",\"text\":\"two\"}"},
        {"act", "{\"action\":\"undo\"}"},
        {"act", "{\"action\":\"edit-plan\",\"text\":\"mine\"}"}};
    (void)unused;
    struct tune_state *state = three_planned();
    apply_all(state, events, 2);
    assert_closed(state, "-", "one", "-");
    apply_all(state, events + 2, 1);
    assert_closed(state, "-", "one", "two");
    apply_all(state, events + 3, 2);
    assert_closed(state, "-", "one", "-");
    assert_string_equal(tune_lane_plan(state, 2)->title, "mine");
    tune_state_free(state);
}

static void an_act_that_names_its_lane_is_about_that(void **unused) {
    static const char *const events[][2] = {
        {"act", "{\"action\":\"reject\",\"text\":\"third\",\"lane\":2}"},
        {"act", "{\"action\":\"reject\",\"text\":\"none\",\"lane\":7}"},
        {"act", "{\"action\":\"edit-plan\",\"text\":\"mine\",\"lane\":7000000}"},
        {"act", "{\"action\":\"leave-hunk\",\"index\":0,\"text\":null,\"lane\":-5}"},
        {"act", "{\"action\":\"focus\",\"index\":9}"}};
    (void)unused;
    struct tune_state *state = three_planned();
    apply_all(state, events, COUNT_OF(events));
    assert_closed(state, "-", "-", "third");
    assert_int_equal(state->rejections.len, 1);
    tune_state_free(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_sessions_stand_where_they_stood),
        cmocka_unit_test(a_round_of_one_is_told_without_a_lane),
        cmocka_unit_test(a_round_of_lanes_names_them),
        cmocka_unit_test(lanes_that_are_gone_change_nothing),
        cmocka_unit_test(acts_of_older_logs_are_about_the_lane_that_was_looked_at),
        cmocka_unit_test(an_act_that_names_its_lane_is_about_that),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
