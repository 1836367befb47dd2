/* SPDX-License-Identifier: Apache-2.0 */
/* A whole beam search with language models that answer in any order. The result is the same each
 * time, and the log replays to the same state. */
#include "tune/fake.h"
#include "base/config/testing.h"
#include "loop/testing.h"

struct thinking {
    struct fake fake;
    struct config *config;
};

static void set(struct thinking *thinking, const char *section, const char *key,
                const char *value) {
    struct err err = {0};
    if (!config_set(thinking->config, section, key, value, &err))
        fail_msg("%s", err.text);
}

static void begin(struct thinking *thinking, const char *search, bool lessons) {
    struct fake *fake = &thinking->fake;
    struct err err = {0};
    struct buf command = {0};
    fake_begin(fake, NULL, 0, TUNE_GATE_AUTO);
    tune_session_close(fake->session);
    char *config_home = path_join(fake->folder, "config");
    setenv("XDG_CONFIG_HOME", config_home, 1);
    thinking->config = config_load(NULL, &err);
    assert_non_null(thinking->config);
    buf_printf(&command, "/usr/bin/python3 -S -E %s/tests/tune/thinker.py --while %s/asked",
               HONE_SOURCE_DIR, fake->folder);
    for (int i = 0; i < 2; i++) {
        set(thinking, i ? "model two" : "model one", "api", "command");
        set(thinking, i ? "model two" : "model one", "command", command.at);
        set(thinking, i ? "model two" : "model one", "retry_wait_s", "0.01");
    }
    set(thinking, "roles", "planner", "one, two");
    if (lessons) {
        set(thinking, "roles", "summariser", "one");
        set(thinking, "roles", "reflector", "two");
    }
    set(thinking, "search", "questions", "4");
    set(thinking, "search", "keep_inside", "yes"); /* steps of a few percent */
    fake->options.use = NULL;
    fake->options.proposer = "models";
    fake->options.config = thinking->config;
    fake->options.search = search;
    fake->options.fresh = true;
    fake->place = (struct fake_place){.loop = fake->loop};
    fake->seen.parallel = 3;
    fake_open(fake);
    fake->options.fresh = false;
    free(config_home);
    buf_free(&command);
}

static void end(struct thinking *thinking) {
    fake_end(&thinking->fake);
    config_free(thinking->config);
    unsetenv("XDG_CONFIG_HOME");
}

static void run(struct thinking *thinking, double rounds) {
    struct fake *fake = &thinking->fake;
    fake_act(fake, (struct tune_action){
                       .kind = TUNE_ACT_SET_BUDGET, .index = TUNE_BUDGET_ROUNDS, .number = rounds});
    struct err err = {0};
    struct tune_action start = {.kind = TUNE_ACT_START};
    for (int tries = 0; tries < 12 && fake_state(fake)->round < (int)rounds; tries++) {
        if (!tune_session_act(fake->session, &start, &err)) /* a plateau stops it */
            fail_msg("%s", err.text);
        assert_true(loop_run_until_idle(fake->loop, 200000));
    }
    assert_int_equal(fake_state(fake)->round, (int)rounds);
}

/* The result: all but times, and the order in which answers came. */
static void outcome_print(const struct tune_state *state, struct buf *out) {
    for (size_t i = 0; i < state->attempts.len; i++) {
        const struct tune_attempt *at = &state->attempts.at[i];
        buf_printf(out, "#%d of #%d round %d %s %.6g repairs %d: %s (%s)\n%s\n", at->id, at->parent,
                   at->round, tune_status_word(at->status), at->latency_us, at->repairs,
                   at->plan.title ? at->plan.title : "", at->author ? at->author : "",
                   tune_source(state, at));
    }
    for (size_t i = 0; i < state->notes.len; i++)
        buf_printf(out, "note of #%d: %s\n", state->notes.at[i].attempt, state->notes.at[i].lesson);
    for (size_t i = 0; i < state->memory.len; i++)
        buf_printf(out, "memory of #%d: %s: %s\n", state->memory.at[i].attempt,
                   state->memory.at[i].title, state->memory.at[i].summary);
    for (size_t i = 0; i < state->rejections.len; i++)
        buf_printf(out, "rejected: %s: %s\n", state->rejections.at[i].title,
                   state->rejections.at[i].reason);
    for (size_t i = 0; i < state->lanes.len; i++)
        buf_printf(out, "lane %zu: #%d %s\n", i, tune_lane_attempt(state, (int)i),
                   state->lanes.at[i].closed ? state->lanes.at[i].closed : "");
    for (size_t i = 0; i < state->beam.len; i++)
        buf_printf(out, "beam #%d\n", state->beam.at[i]);
    buf_printf(out, "incumbent #%d, %zu calls\n", state->incumbent, state->calls.len);
}

static void replay_equals_live(struct fake *fake) {
    struct buf live = {0}, again = {0};
    struct tune_options look = fake->options;
    struct err err = {0};
    tune_state_print(fake_state(fake), &live);
    look.read_only = true;
    struct tune_session *reader = tune_session_open(&look, fake->loop, &err);
    assert_non_null(reader);
    tune_state_print(tune_session_state(reader), &again);
    assert_string_equal(live.at, again.at);
    look.use = NULL;
    tune_session_close(reader);
    buf_free(&live);
    buf_free(&again);
}

static void twenty_rounds_come_out_the_same_whoever_answers_first(void **unused) {
    (void)unused;
    struct buf outcome[2] = {{0}, {0}};
    for (int i = 0; i < 2; i++) {
        struct thinking thinking;
        begin(&thinking, "beam:2,2,1", false);
        run(&thinking, 20);
        const struct tune_state *state = fake_state(&thinking.fake);
        outcome_print(state, &outcome[i]);
        replay_equals_live(&thinking.fake);
        assert_true(state->attempts.len > 40);
        assert_int_equal(state->lanes.len, 4);
        assert_true(tune_state_attempt(state, state->incumbent)->latency_us < 600);
        end(&thinking);
    }
    assert_string_equal(outcome[0].at, outcome[1].at);
    buf_free(&outcome[0]);
    buf_free(&outcome[1]);
}

static void lessons_of_models_stand_in_the_order_of_the_lanes(void **unused) {
    (void)unused;
    struct thinking thinking;
    begin(&thinking, "beam:1,2,2", true);
    run(&thinking, 2);
    const struct tune_state *state = fake_state(&thinking.fake);
    assert_true(state->notes.len >= 4);
    for (size_t i = 1; i < state->notes.len; i++)
        assert_true(state->notes.at[i - 1].attempt < state->notes.at[i].attempt);
    for (size_t i = 0; i < state->notes.len; i++)
        assert_string_equal(state->notes.at[i].author, "two");
    for (size_t i = 1; i < state->memory.len; i++)
        assert_true(state->memory.at[i - 1].attempt <= state->memory.at[i].attempt);
    end(&thinking);
}

static void several_questions_are_open_at_once_and_a_pause_gives_them_up(void **unused) {
    (void)unused;
    struct thinking thinking;
    begin(&thinking, "beam:1,6", false);
    struct fake *fake = &thinking.fake;
    struct err err = {0};
    fake_act(fake, (struct tune_action){.kind = TUNE_ACT_SET_GATE,
                                        .step = TUNE_STEP_PROFILE,
                                        .gate = TUNE_GATE_ASK});
    struct tune_action start = {.kind = TUNE_ACT_START}, yes = {.kind = TUNE_ACT_APPROVE},
                       pause = {.kind = TUNE_ACT_PAUSE};
    assert_true(tune_session_act(fake->session, &start, &err));
    assert_true(loop_run_until_idle(fake->loop, 20000));
    char *asked = path_join(fake->folder, "asked"); /* nobody answers while it is there */
    assert_true(file_write(asked, "", 0, &err));
    assert_true(tune_session_act(fake->session, &yes, &err));
    const struct tune_state *state = fake_state(fake);
    bool never = false; /* a worker looks at the files first */
    for (int i = 0; i < 60000 && state->calls.len < 4; i++)
        loop_run_until(fake->loop, &never, 1);
    assert_int_equal(state->calls.len, 4); /* [search] questions */
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(state->calls.at[i].ended_ms, 0);
        assert_int_equal(state->calls.at[i].lane, (int)i);
        assert_string_equal(state->calls.at[i].model, i % 2 ? "two" : "one");
    }
    assert_true(tune_session_act(fake->session, &pause, &err));
    assert_true(loop_run_until_idle(fake->loop, 20000));
    for (size_t i = 0; i < state->calls.len; i++)
        assert_non_null(state->calls.at[i].failure);
    unlink(asked);
    free(asked);
    assert_true(tune_session_act(fake->session, &start, &err));
    assert_true(loop_run_until_idle(fake->loop, 20000));
    replay_equals_live(fake);
    end(&thinking);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(twenty_rounds_come_out_the_same_whoever_answers_first),
        cmocka_unit_test(lessons_of_models_stand_in_the_order_of_the_lanes),
        cmocka_unit_test(several_questions_are_open_at_once_and_a_pause_gives_them_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
