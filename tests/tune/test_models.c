// SPDX-License-Identifier: Apache-2.0
// Language models in the loop: a scripted model plans, rewrites and repairs; the rest is real.
#include "tune/fake.h"

struct scripted {
    struct fake fake;
    struct config *config;
};

/* A session whose models are a script. */
static void begin(struct scripted *scripted, const char *script) {
    struct fake *fake = &scripted->fake;
    struct err err = {0};
    struct buf command = {0};
    fake_begin(fake, NULL, 0, TUNE_GATE_AUTO);
    tune_session_close(fake->session);
    fake_file(fake->folder, "script", script);
    char *config_home = path_join(fake->folder, "config");
    setenv("XDG_CONFIG_HOME", config_home, 1);
    scripted->config = config_load(NULL, &err);
    assert_non_null(scripted->config);
    buf_printf(&command, "/usr/bin/python3 %s/tests/tune/scripted.py %s/script %s/state",
               HONE_SOURCE_DIR, fake->folder, fake->folder);
    assert_true(config_set(scripted->config, "model script", "api", "command", &err));
    assert_true(config_set(scripted->config, "model script", "command", command.at, &err));
    assert_true(config_set(scripted->config, "model script", "retry_wait_s", "0.01", &err));
    fake->options.use = NULL;
    fake->options.proposer = "script";
    fake->options.config = scripted->config;
    fake->options.fresh = true;
    fake->place = (struct fake_place){.loop = fake->loop};
    fake_open(fake);
    fake->options.fresh = false;
    free(config_home);
    buf_free(&command);
}

static void end(struct scripted *scripted) {
    fake_end(&scripted->fake);
    config_free(scripted->config);
    unsetenv("XDG_CONFIG_HOME");
}

static char *last_prompt(struct scripted *scripted, const char *file) {
    struct err err = {0};
    char *path = path_join(scripted->fake.folder, file);
    char *text = file_read(path, 0, NULL, &err);
    assert_non_null(text);
    free(path);
    return text;
}

static void run(struct scripted *scripted) {
    fake_act(&scripted->fake, (struct tune_action){.kind = TUNE_ACT_START});
}

#define PLAN(number) \
    "=== planner\ntitle: plan " number "\nwhat: change number " number "\nmetric: hbm_read_bytes\n" \
    "direction: down\nsize: 40 %\n"
#define EDIT(from, to) \
    "=== rewriter\n<<<<<<< SEARCH\n" from "\n=======\n" to "\n>>>>>>> REPLACE\n"

static void a_model_plans_and_rewrites(void **unused) {
    (void)unused;
    struct scripted scripted;
    begin(&scripted, PLAN("one") PLAN("one") EDIT("# latency 1000", "# latency 700"));
    scripted.fake.options.rounds = 1;
    run(&scripted);
    const struct tune_state *state = fake_state(&scripted.fake);
    assert_int_equal(state->attempts.len, 2);
    const struct tune_attempt *attempt = &state->attempts.at[1];
    assert_int_equal(attempt->status, TUNE_STATUS_KEEP);
    assert_string_equal(attempt->author, "script");
    assert_string_equal(attempt->plan.author, "script");
    assert_non_null(strstr(attempt->source, "    # latency 700"));
    assert_true(state->calls.len >= 2);
    assert_string_equal(state->calls.at[0].role, "planner");
    assert_non_null(state->calls.at[0].prompt);
    assert_non_null(state->calls.at[0].answer);
    assert_true(isnan(state->calls.at[0].dollars));
    assert_true(isnan(state->budgets[TUNE_BUDGET_DOLLARS].spent));
    end(&scripted);
}

static void an_answer_that_cannot_be_read_gets_one_more_turn(void **unused) {
    (void)unused;
    struct scripted scripted;
    begin(&scripted, "=== planner\nI think it is fine.\n" PLAN("one") PLAN("one")
                         EDIT("nowhere", "# latency 700") EDIT("# latency 1000", "# latency 700"));
    run(&scripted);
    const struct tune_state *state = fake_state(&scripted.fake);
    assert_int_equal(state->attempts.at[1].status, TUNE_STATUS_KEEP);
    assert_string_equal(state->calls.at[1].role, "planner");
    assert_string_equal(state->calls.at[3].role, "rewriter");
    end(&scripted);
}

static void what_does_not_compile_is_repaired_with_its_text(void **unused) {
    (void)unused;
    struct scripted scripted;
    begin(&scripted, PLAN("one") PLAN("one") EDIT("# latency 1000", "# latency 700 # broken")
                         "=== fixer\n<<<<<<< SEARCH\n # broken\n=======\n>>>>>>> REPLACE\n"
                         "=== fixer\n<<<<<<< SEARCH\n    # latency 700 # broken\n=======\n"
                         "    # latency 700\n>>>>>>> REPLACE\n");
    run(&scripted);
    const struct tune_state *state = fake_state(&scripted.fake);
    assert_int_equal(state->attempts.at[1].status, TUNE_STATUS_KEEP);
    assert_int_equal(state->attempts.at[1].repairs, 1);
    end(&scripted);
}

static void the_prompt_holds_what_is_known(void **unused) {
    (void)unused;
    static const char *const words[] = {"SBUF: 128 partitions", "   2      # latency 1000",
                                        "def get_inputs()", "change number one",
                                        "<<<<<<< SEARCH"};
    struct scripted scripted;
    begin(&scripted, PLAN("one") "=== rewriter\nno\n");
    run(&scripted);
    char *prompt = last_prompt(&scripted, "state.rewriter");
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (!strstr(prompt, words[i]))
            fail_msg("\"%s\" is not in the prompt:\n%s", words[i], prompt);
    free(prompt);
    end(&scripted);
}

static void reopening_gives_the_same_state(void **unused) {
    (void)unused;
    struct scripted scripted;
    begin(&scripted, PLAN("one") PLAN("two") PLAN("one") EDIT("# latency 1000", "# latency 700"));
    run(&scripted);
    struct buf before = {0}, after = {0};
    tune_state_print(fake_state(&scripted.fake), &before);
    tune_session_close(scripted.fake.session);
    scripted.fake.options.rounds = 0;
    scripted.fake.options.gate_set = false;
    scripted.fake.options.proposer = NULL;
    scripted.fake.place = (struct fake_place){.loop = scripted.fake.loop};
    fake_open(&scripted.fake);
    tune_state_print(fake_state(&scripted.fake), &after);
    assert_string_equal(before.at, after.at);
    buf_free(&before);
    buf_free(&after);
    end(&scripted);
}

static void no_model_is_a_usage_error(void **unused) {
    (void)unused;
    struct scripted scripted;
    struct err err = {0};
    begin(&scripted, PLAN("one"));
    struct tune_options options = scripted.fake.options;
    tune_session_close(scripted.fake.session);
    scripted.fake.session = NULL;
    scripted.fake.place = (struct fake_place){.loop = scripted.fake.loop};
    options.proposer = "claude";
    options.fresh = true;
    assert_null(tune_session_open(&options, scripted.fake.loop, &err));
    assert_int_equal(err.kind, ERR_USAGE);
    assert_non_null(strstr(err.text, "claude"));
    assert_non_null(strstr(err.text, "script"));
    end(&scripted);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_plans_and_rewrites),
        cmocka_unit_test(an_answer_that_cannot_be_read_gets_one_more_turn),
        cmocka_unit_test(what_does_not_compile_is_repaired_with_its_text),
        cmocka_unit_test(the_prompt_holds_what_is_known),
        cmocka_unit_test(reopening_gives_the_same_state),
        cmocka_unit_test(no_model_is_a_usage_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
