/* SPDX-License-Identifier: Apache-2.0 */
/* Services of models that fail in the middle of a session. Nothing is closed because of it, nothing
 * is learnt from it, and the result of the session is what it would have been without. */
#include "tune/fake.h"
#include "base/config/testing.h"

#define WAIT_S 0.002 /* the first pause: 5 s of an hour last this long here */
#define HOUR_S (3600 * WAIT_S / 5)

struct outage {
    struct fake fake;
    struct config *config;
};

static void set(struct outage *outage, const char *section, const char *key, const char *value) {
    struct err err = {0};
    if (!config_set(outage->config, section, key, value, &err))
        fail_msg("%s", err.text);
}

/* `script` NULL: the answers depend only on the prompt. */
static void model(struct outage *outage, const char *name, const char *script) {
    struct buf command = {0}, section = {0};
    buf_printf(&command, "/usr/bin/python3 -S -E %s/tests/tune/%s %s%s%s/state.%s", HONE_SOURCE_DIR,
               script ? "scripted.py" : "thinker.py", script ? outage->fake.folder : "",
               script ? "/script " : "", outage->fake.folder, name);
    buf_printf(&section, "model %s", name);
    set(outage, section.at, "api", "command");
    set(outage, section.at, "command", command.at);
    set(outage, section.at, "retries", "0");
    buf_free(&command);
    buf_free(&section);
}

/* `limit_s`: how long to wait, in seconds of the test. */
static void begin(struct outage *outage, const char *script, const char *planners,
                  const char *limit_s) {
    struct fake *fake = &outage->fake;
    struct err err = {0};
    fake_begin(fake, NULL, 0, TUNE_GATE_AUTO);
    tune_session_close(fake->session);
    if (script)
        fake_file(fake->folder, "script", script);
    char *config_home = path_join(fake->folder, "config");
    setenv("XDG_CONFIG_HOME", config_home, 1);
    free(config_home);
    outage->config = config_load(NULL, &err);
    assert_non_null(outage->config);
    model(outage, "one", script);
    model(outage, "two", script);
    set(outage, "roles", "planner", planners);
    set(outage, "roles", "outage_wait_s", "0.002");
    set(outage, "roles", "outage_limit_s", limit_s);
    fake->options.use = NULL;
    fake->options.proposer = "models";
    fake->options.config = outage->config;
    fake->options.fresh = true;
    fake->options.rounds = 3;
    fake->place = (struct fake_place){.loop = fake->loop};
    fake_open(fake);
    fake->options.fresh = false;
    fake->options.rounds = 0;
}

static void end(struct outage *outage) {
    fake_end(&outage->fake);
    config_free(outage->config);
    unsetenv("XDG_CONFIG_HOME");
}

#define PLAN(name)                                                                              \
    "=== planner\ntitle: plan " name "\nwhat: change number " name "\nmetric: hbm_read_bytes\n" \
    "direction: down\nsize: 40 %\n"
#define EDIT(from, to)                                                                 \
    "=== rewriter\n<<<<<<< SEARCH\n    # latency " from "\n=======\n    # latency " to \
    "\n>>>>>>> REPLACE\n"
#define ROUNDS          \
    PLAN("one")         \
    PLAN("two")         \
    PLAN("three")       \
    EDIT("1000", "900") \
    EDIT("900", "800")  \
    EDIT("800", "700")

/* The next `questions` questions of a model get no answer. */
static void goes_out(struct outage *outage, const char *name, int questions) {
    char file[40], text[20];
    snprintf(file, sizeof file, "state.%s.out", name);
    snprintf(text, sizeof text, "%d", questions);
    fake_file(outage->fake.folder, file, text);
}

static void start(struct outage *outage) {
    fake_act(&outage->fake, (struct tune_action){.kind = TUNE_ACT_START});
}

struct heard {
    struct outage *outage;
    double waited_s;     /* what the events promised */
    int waits, goes_out; /* after this many questions the service fails */
    int asked, out_for;
    bool retry; /* a person makes it try at once */
};

static void on_event(void *data, int64_t seq, const char *type, const char *json) {
    struct heard *heard = data;
    (void)seq;
    cJSON *payload = cJSON_Parse(json);
    double wait_s = tune_json_number(payload, "wait_s");
    if (!strcmp(type, "outage") && wait_s > 0) {
        heard->waits++;
        heard->waited_s += wait_s;
    }
    heard->asked += !strcmp(type, "asked");
    if (!strcmp(type, "asked") && heard->asked == heard->goes_out)
        goes_out(heard->outage, "one", heard->out_for);
    cJSON_Delete(payload);
}

static void listen(struct outage *outage, struct heard *heard) {
    heard->outage = outage;
    tune_session_on_event(outage->fake.session, on_event, heard);
}

/* Prints the result of a session, without times and without the questions that got no answer. */
static void come_of_it(const struct tune_state *state, struct buf *out) {
    int asked = 0;
    for (size_t i = 0; i < state->attempts.len; i++) {
        const struct tune_attempt *attempt = &state->attempts.at[i];
        buf_printf(out, "#%d round %d of %d: %s, %s by %s\n%s\n", attempt->id, attempt->round,
                   attempt->parent, attempt->plan.title ? attempt->plan.title : "",
                   tune_status_word(attempt->status), attempt->author ? attempt->author : "",
                   tune_source(state, attempt));
    }
    for (size_t i = 0; i < state->notes.len; i++)
        buf_printf(out, "note: %s\n", state->notes.at[i].lesson);
    for (size_t i = 0; i < state->memory.len; i++)
        buf_printf(out, "experience: %s\n", state->memory.at[i].title);
    for (size_t i = 0; i < state->rejections.len; i++)
        buf_printf(out, "rejected: %s: %s\n", state->rejections.at[i].title,
                   state->rejections.at[i].reason);
    for (size_t i = 0; i < state->calls.len; i++)
        asked += !state->calls.at[i].failure;
    buf_printf(out, "%d asked, plateau %d, %.0f rounds, %s: %s\n", asked, state->plateau,
               state->budgets[TUNE_BUDGET_ROUNDS].spent, tune_wait_word(state->wait),
               state->wait_text);
}

/* What is asked again is the same question, word for word. */
static void repeats_are_the_same(const struct tune_state *state) {
    for (size_t i = 0; i < state->calls.len; i++) {
        const struct tune_call *call = &state->calls.at[i];
        if (call->repeats >= 0)
            assert_string_equal(call->prompt, state->calls.at[call->repeats].prompt);
    }
}

static void undisturbed(struct buf *out) {
    struct outage outage;
    begin(&outage, ROUNDS, "one", "1000");
    start(&outage);
    come_of_it(fake_state(&outage.fake), out);
    end(&outage);
}

static void replays_the_same(struct outage *outage) {
    struct buf before = {0}, after = {0};
    struct fake *fake = &outage->fake;
    tune_state_print(fake_state(fake), &before);
    tune_session_close(fake->session);
    fake->options.gate_set = false;
    fake->options.proposer = NULL;
    fake->options.read_only = true;
    fake->place = (struct fake_place){.loop = fake->loop};
    fake_open(fake);
    tune_state_print(fake_state(fake), &after);
    assert_string_equal(before.at, after.at);
    buf_free(&before);
    buf_free(&after);
}

static int count_failed(const struct tune_state *state) {
    int failed = 0;
    for (size_t i = 0; i < state->calls.len; i++)
        failed += state->calls.at[i].failure != NULL;
    return failed;
}

/* An hour of tries: 5 s, then twice as long each time, up to 5 min. */
static void hour_in_the_middle(int at_question) {
    struct buf wanted = {0}, had = {0};
    struct outage outage;
    struct heard heard = {.goes_out = at_question, .out_for = 22};
    undisturbed(&wanted);
    begin(&outage, ROUNDS, "one", "1000");
    listen(&outage, &heard);
    start(&outage);
    const struct tune_state *state = fake_state(&outage.fake);
    come_of_it(state, &had);
    assert_string_equal(had.at, wanted.at);
    assert_int_equal(heard.waits, 22);
    assert_true(heard.waited_s > HOUR_S);
    assert_int_equal(count_failed(state), 22);
    repeats_are_the_same(state);
    assert_null(tune_state_waits(state));
    replays_the_same(&outage);
    end(&outage);
    buf_free(&wanted);
    buf_free(&had);
}

static void an_hour_without_a_planner_leaves_the_same_plans(void **unused) {
    (void)unused;
    hour_in_the_middle(3);
}

static void an_hour_without_a_rewriter_leaves_the_same_plans(void **unused) {
    (void)unused;
    hour_in_the_middle(4);
}

static void the_next_model_of_the_role_is_asked_meanwhile(void **unused) {
    (void)unused;
    struct outage outage;
    struct heard heard = {0};
    begin(&outage, ROUNDS, "one, two", "1000");
    listen(&outage, &heard);
    goes_out(&outage, "one", 1000);
    start(&outage);
    const struct tune_state *state = fake_state(&outage.fake);
    assert_int_equal(state->attempts.len, 4);
    assert_int_equal(state->rejections.len, 0);
    assert_int_equal(heard.waits, 0);
    for (size_t i = 0; i < state->calls.len; i++)
        assert_string_equal(state->calls.at[i].model, state->calls.at[i].failure ? "one" : "two");
    assert_true(count_failed(state) > 0);
    repeats_are_the_same(state);
    replays_the_same(&outage);
    end(&outage);
}

static void at_the_limit_the_loop_pauses_and_start_goes_on(void **unused) {
    (void)unused;
    struct buf wanted = {0}, had = {0};
    struct outage outage;
    struct heard heard = {0};
    undisturbed(&wanted);
    begin(&outage, ROUNDS, "one", "0.05");
    listen(&outage, &heard);
    goes_out(&outage, "one", 100000);
    start(&outage);
    const struct tune_state *state = fake_state(&outage.fake);
    assert_int_equal(state->wait, TUNE_WAIT_PAUSED);
    assert_true(state->stopped_by_environment);
    assert_non_null(strstr(state->wait_text, "one does not answer"));
    assert_non_null(strstr(state->wait_text, "outage_limit_s"));
    assert_int_equal(state->rejections.len, 0);
    assert_int_equal(state->step, TUNE_STEP_PLAN);
    goes_out(&outage, "one", 0);
    start(&outage);
    come_of_it(state, &had);
    assert_string_equal(had.at, wanted.at);
    replays_the_same(&outage);
    end(&outage);
    buf_free(&wanted);
    buf_free(&had);
}

/* Several lanes at once: no lane is closed because of it. */
static void beam(struct outage *outage, int out_for, struct buf *out) {
    begin(outage, NULL, "one", "1000");
    tune_session_close(outage->fake.session);
    outage->fake.options.search = "beam:2,2,2";
    outage->fake.options.fresh = true;
    outage->fake.options.rounds = 2;
    outage->fake.place = (struct fake_place){.loop = outage->fake.loop};
    fake_open(&outage->fake);
    outage->fake.options.fresh = false;
    struct heard heard = {.goes_out = 3, .out_for = out_for};
    listen(outage, &heard);
    start(outage);
    assert_true(out_for ? heard.waits > 0 : heard.waits == 0);
    come_of_it(fake_state(&outage->fake), out);
    repeats_are_the_same(fake_state(&outage->fake));
}

static void no_lane_is_closed_by_an_outage(void **unused) {
    (void)unused;
    struct buf wanted = {0}, had = {0};
    struct outage outage;
    beam(&outage, 0, &wanted);
    end(&outage);
    beam(&outage, 30, &had);
    assert_string_equal(had.at, wanted.at);
    outage.fake.options.search = NULL;
    replays_the_same(&outage);
    end(&outage);
    buf_free(&wanted);
    buf_free(&had);
}

/* It lasts so long that only a person, or another process, tries again. */
static void waits_long(struct outage *outage) {
    set(outage, "roles", "outage_wait_s", "3000");
    tune_session_close(outage->fake.session);
    outage->fake.place = (struct fake_place){.loop = outage->fake.loop};
    fake_open(&outage->fake);
}

static bool waits(struct fake *fake) {
    for (int i = 0; i < 2000 && !tune_state_waits(fake_state(fake)); i++)
        loop_run_until(fake->loop, &(bool){false}, 5);
    return tune_state_waits(fake_state(fake)) != NULL;
}

static void what_waits_says_so_and_is_tried_at_once_for_a_person(void **unused) {
    (void)unused;
    struct outage outage;
    struct err err = {0};
    struct buf text = {0};
    begin(&outage, ROUNDS, "one", "1e6");
    waits_long(&outage);
    goes_out(&outage, "one", 1);
    struct tune_session *session = outage.fake.session;
    assert_true(tune_session_act(session, &(struct tune_action){.kind = TUNE_ACT_START}, &err));
    assert_true(waits(&outage.fake));
    const struct tune_state *state = fake_state(&outage.fake);
    const struct tune_waiting *waiting = tune_state_waits(state);
    assert_string_equal(waiting->role, "planner");
    tune_waiting_print(waiting, waiting->since_ms + 1000, &text);
    assert_non_null(strstr(text.at, "waits for one, 1.0 s so far, next try in "));
    assert_non_null(strstr(text.at, "503"));
    assert_true(tune_session_is_busy(session));
    assert_true(tune_can(state, TUNE_ANY_LANE, TUNE_ACT_PAUSE));
    tune_session_retry(session);
    fake_settle(&outage.fake);
    assert_int_equal(state->attempts.len, 4);
    assert_int_equal(count_failed(state), 1);
    buf_free(&text);
    end(&outage);
}

/* The question is given up, and start asks it again. */
static void a_pause_ends_the_waiting(void **unused) {
    (void)unused;
    struct outage outage;
    struct err err = {0};
    begin(&outage, ROUNDS, "one", "1e6");
    waits_long(&outage);
    goes_out(&outage, "one", 1);
    struct tune_session *session = outage.fake.session;
    assert_true(tune_session_act(session, &(struct tune_action){.kind = TUNE_ACT_START}, &err));
    assert_true(waits(&outage.fake));
    fake_act(&outage.fake, (struct tune_action){.kind = TUNE_ACT_PAUSE});
    const struct tune_state *state = fake_state(&outage.fake);
    assert_false(tune_session_is_busy(session));
    assert_null(tune_state_waits(state));
    start(&outage);
    assert_int_equal(state->attempts.len, 4);
    replays_the_same(&outage);
    end(&outage);
}

/* A session that dies while it waits, and is opened again. */
static void a_process_that_ends_while_it_waits_loses_nothing(void **unused) {
    (void)unused;
    struct buf wanted = {0}, had = {0};
    struct outage outage;
    struct err err = {0};
    undisturbed(&wanted);
    begin(&outage, ROUNDS, "one", "1e6");
    waits_long(&outage);
    goes_out(&outage, "one", 1);
    assert_true(
        tune_session_act(outage.fake.session, &(struct tune_action){.kind = TUNE_ACT_START}, &err));
    assert_true(waits(&outage.fake));
    tune_session_close(outage.fake.session);
    outage.fake.place = (struct fake_place){.loop = outage.fake.loop};
    fake_open(&outage.fake);
    assert_int_equal(fake_state(&outage.fake)->outages.len, 0);
    start(&outage);
    come_of_it(fake_state(&outage.fake), &had);
    assert_string_equal(had.at, wanted.at);
    end(&outage);
    buf_free(&wanted);
    buf_free(&had);
}

static void what_was_waited_is_not_how_long_a_step_takes(void **unused) {
    (void)unused;
    struct outage outage;
    struct heard heard = {.goes_out = 3, .out_for = 8};
    begin(&outage, ROUNDS, "one", "1000");
    set(&outage, "roles", "outage_wait_s", "0.01");
    tune_session_close(outage.fake.session);
    outage.fake.place = (struct fake_place){.loop = outage.fake.loop};
    fake_open(&outage.fake);
    listen(&outage, &heard);
    start(&outage);
    const struct tune_state *state = fake_state(&outage.fake);
    assert_true(heard.waited_s > 1);
    assert_true(state->own->took[TUNE_STEP_PLAN].wall_s < heard.waited_s);
    assert_true(state->budgets[TUNE_BUDGET_WALL_S].spent > heard.waited_s * 0.9);
    end(&outage);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_hour_without_a_planner_leaves_the_same_plans),
        cmocka_unit_test(an_hour_without_a_rewriter_leaves_the_same_plans),
        cmocka_unit_test(the_next_model_of_the_role_is_asked_meanwhile),
        cmocka_unit_test(at_the_limit_the_loop_pauses_and_start_goes_on),
        cmocka_unit_test(no_lane_is_closed_by_an_outage),
        cmocka_unit_test(what_waits_says_so_and_is_tried_at_once_for_a_person),
        cmocka_unit_test(a_pause_ends_the_waiting),
        cmocka_unit_test(a_process_that_ends_while_it_waits_loses_nothing),
        cmocka_unit_test(what_was_waited_is_not_how_long_a_step_takes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
