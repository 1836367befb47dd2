// SPDX-License-Identifier: Apache-2.0
// Language models in the loop: a scripted model plans, rewrites and repairs; the rest is real.
#include "tune/scripted.h"

#define begin scripted_begin
#define end scripted_end
#define last_prompt scripted_prompt
#define run scripted_run
#define PLAN SCRIPTED_PLAN
#define EDIT SCRIPTED_EDIT

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
    assert_non_null(strstr(tune_source(state, attempt), "    # latency 700"));
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
    begin(&scripted, PLAN("one") PLAN("one")
                         EDIT("# latency 1000",
                              "# latency 700 # broken") "=== fixer\n<<<<<<< SEARCH\n # "
                                                        "broken\n=======\n>>>>>>> REPLACE\n"
                                                        "=== fixer\n<<<<<<< SEARCH\n    # latency "
                                                        "700 # broken\n=======\n"
                                                        "    # latency 700\n>>>>>>> REPLACE\n");
    run(&scripted);
    const struct tune_state *state = fake_state(&scripted.fake);
    assert_int_equal(state->attempts.at[1].status, TUNE_STATUS_KEEP);
    assert_int_equal(state->attempts.at[1].repairs, 1);
    end(&scripted);
}

/* The second turn is told what the first one changed, and what it had to repair. */
static void a_repair_turn_knows_the_turns_before_it(void **unused) {
    (void)unused;
    struct scripted scripted;
    begin(&scripted,
          PLAN("one") PLAN("one")
              EDIT("# latency 1000",
                   "# latency 700 # broken") "=== fixer\n<<<<<<< SEARCH\n    # latency 700 # "
                                             "broken\n=======\n    # latency 701 # "
                                             "broken\n>>>>>>> REPLACE\n=== fixer\nGive up: this "
                                             "device has no such thing.\nNever.\n");
    scripted.fake.options.rounds = 1;
    run(&scripted);
    const struct tune_state *state = fake_state(&scripted.fake);
    const struct tune_attempt *attempt = &state->attempts.at[1];
    assert_int_equal(attempt->status, TUNE_STATUS_FAILED);
    char *prompt = last_prompt(&scripted, "state.fixer");
    const char *turns = strstr(prompt, "# earlier turns\n");
    assert_non_null(turns);
    assert_non_null(strstr(turns, "Turn 1: it failed with \""));
    assert_non_null(strstr(turns, "-     # latency 700 # broken\n"));
    assert_non_null(strstr(turns, "+     # latency 701 # broken\n"));
    free(prompt);
    /* giving up is the model's, with its reason beside what could not be repaired */
    assert_non_null(strstr(attempt->reason, "; script: gave up: this device has no such thing."));
    assert_null(strstr(attempt->reason, "Never"));
    assert_int_equal(state->rejections.len, 1);
    assert_true(state->rejections.at[0].by_loop);
    tune_session_close(scripted.fake.session);
    scripted.fake.options.proposer = NULL;
    scripted.fake.place = (struct fake_place){.loop = scripted.fake.loop};
    scripted.fake.options.rounds = 0;
    scripted.fake.options.gate_set = false;
    fake_open(&scripted.fake);
    assert_non_null(strstr(fake_state(&scripted.fake)->attempts.at[1].turns, "Turn 1: "));
    end(&scripted);
}

static void the_prompt_holds_what_is_known(void **unused) {
    (void)unused;
    static const char *const words[] = {"SBUF: 128 partitions", "   2      # latency 1000",
                                        "def get_inputs()", "change number one", "<<<<<<< SEARCH"};
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

static struct tune_action part_act(enum tune_action_kind kind, const char *part, const char *text) {
    return (struct tune_action){
        .kind = kind, .role = TUNE_ROLE_PLANNER, .part = part, .text = text};
}

/* The whole prompt of the role, as the screen shows it. */
static struct buf shown(const struct tune_state *state, enum tune_role role) {
    struct buf all = {0}, user = {0};
    struct tune_context *context = tune_context_build(state, 0);
    struct tune_prompt *prompt = tune_prompt_build(context, role, NULL, 0);
    tune_prompt_print(prompt, &all, &user);
    buf_putc(&all, '\n');
    buf_add(&all, user.at, user.len);
    buf_putc(&all, '\n');
    tune_prompt_free(prompt);
    tune_context_free(context);
    buf_free(&user);
    return all;
}

static void what_is_switched_off_or_edited_reaches_the_model(void **unused) {
    (void)unused;
    struct scripted scripted;
    begin(&scripted, PLAN("one") PLAN("two") EDIT("# latency 1000", "# latency 700"));
    struct fake *fake = &scripted.fake;
    fake_act(fake, (struct tune_action){
                       .kind = TUNE_ACT_SET_GATE, .step = TUNE_STEPS, .gate = TUNE_GATE_ASK});
    run(&scripted);
    assert_int_equal(fake_state(fake)->wait_step, TUNE_STEP_PROFILE);
    assert_int_equal(tune_role_next(fake_state(fake), 0), TUNE_ROLE_PLANNER);
    fake_act(fake, part_act(TUNE_ACT_SWITCH_PART, "reference", NULL));
    fake_act(fake, part_act(TUNE_ACT_EDIT_PART, "task", "# task\n\nmind the rows\n"));
    assert_false(fake_try(fake, part_act(TUNE_ACT_EDIT_PART, "task", "  ")));
    struct buf expected = shown(fake_state(fake), TUNE_ROLE_PLANNER);
    fake_act(fake, (struct tune_action){.kind = TUNE_ACT_APPROVE});
    const struct tune_state *state = fake_state(fake);
    assert_int_equal(tune_role_next(state, 0), TUNE_ROLE_REWRITER);
    struct err err = {0};
    char *kept = tune_session_artefact(fake->session, state->calls.at[0].prompt, &err);
    assert_non_null(kept);
    assert_string_equal(kept, expected.at);
    char *prompt = last_prompt(&scripted, "state.planner");
    assert_non_null(strstr(prompt, "mind the rows"));
    assert_null(strstr(prompt, "def get_inputs()"));
    free(prompt);
    free(kept);
    buf_free(&expected);
    /* The words were for one call. What is off stays off. */
    fake_act(fake, (struct tune_action){.kind = TUNE_ACT_ANOTHER, .text = ""});
    prompt = last_prompt(&scripted, "state.planner");
    assert_null(strstr(prompt, "mind the rows"));
    assert_null(strstr(prompt, "def get_inputs()"));
    assert_int_equal(fake_state(fake)->parts.len, 1);
    free(prompt);
    struct buf before = {0}, after = {0};
    fake_act(fake, (struct tune_action){.kind = TUNE_ACT_PAUSE});
    tune_state_print(fake_state(fake), &before);
    tune_session_close(fake->session);
    fake->options.rounds = 0;
    fake->options.gate_set = false;
    fake->options.proposer = NULL;
    fake->place = (struct fake_place){.loop = fake->loop};
    fake_open(fake);
    tune_state_print(fake_state(fake), &after);
    assert_string_equal(before.at, after.at);
    assert_int_equal(fake_state(fake)->parts.len, 1);
    buf_free(&before);
    buf_free(&after);
    end(&scripted);
}

static void undo_takes_a_switch_back_but_no_text_that_went_out(void **unused) {
    (void)unused;
    struct scripted scripted;
    begin(&scripted, PLAN("one"));
    struct fake *fake = &scripted.fake;
    fake_act(fake, (struct tune_action){
                       .kind = TUNE_ACT_SET_GATE, .step = TUNE_STEPS, .gate = TUNE_GATE_ASK});
    run(&scripted);
    fake_act(fake, part_act(TUNE_ACT_EDIT_PART, "task", "mind the rows"));
    fake_act(fake, part_act(TUNE_ACT_SWITCH_PART, "profile", NULL));
    fake_act(fake, part_act(TUNE_ACT_RESTORE_PART, "task", NULL));
    assert_int_equal(fake_state(fake)->parts.len, 1);
    fake_act(fake, (struct tune_action){.kind = TUNE_ACT_UNDO});
    assert_int_equal(fake_state(fake)->parts.len, 2);
    assert_string_equal(fake_state(fake)->parts.at[0].text, "mind the rows");
    fake_act(fake, (struct tune_action){.kind = TUNE_ACT_APPROVE});
    assert_int_equal(fake_state(fake)->parts.len, 1);
    fake_act(fake, (struct tune_action){.kind = TUNE_ACT_UNDO});
    fake_act(fake, (struct tune_action){.kind = TUNE_ACT_UNDO});
    assert_int_equal(fake_state(fake)->parts.len, 0);
    end(&scripted);
}

/* Serves the loop until a call waits for a person. */
static int until_it_waits(struct fake *fake) {
    for (int turn = 0; turn < 1000; turn++) {
        const struct tune_state *state = fake_state(fake);
        for (size_t i = 0; i < state->calls.len; i++)
            if (state->calls.at[i].waits)
                return (int)i;
        loop_run_until_idle(fake->loop, 10);
    }
    fail_msg("no call waits");
    return -1;
}

static struct fake *begin_by_hand(struct scripted *scripted) {
    struct fake *fake = &scripted->fake;
    begin(scripted, PLAN("one"));
    tune_session_close(fake->session);
    fake->options.proposer = "human";
    fake->options.fresh = true;
    fake->place = (struct fake_place){.loop = fake->loop};
    fake_open(fake);
    fake->options.fresh = false;
    return fake;
}

static void a_person_answers_and_a_pause_gives_the_question_up(void **unused) {
    (void)unused;
    static const struct tune_action start = {.kind = TUNE_ACT_START},
                                    pause = {.kind = TUNE_ACT_PAUSE};
    struct scripted scripted;
    struct err err = {0};
    struct fake *fake = begin_by_hand(&scripted);
    assert_true(tune_session_act(fake->session, &start, &err));
    int first = until_it_waits(fake);
    assert_false(fake_try(fake, (struct tune_action){.kind = TUNE_ACT_ANSWER,
                                                     .index = first + 1,
                                                     .text = "title: x\nwhat: y\n"}));
    assert_true(tune_session_act(fake->session, &pause, &err));
    assert_false(fake_state(fake)->calls.at[first].waits);
    assert_true(fake_state(fake)->calls.at[first].ended_ms > 0);
    assert_int_equal(fake_state(fake)->wait, TUNE_WAIT_PAUSED);
    assert_false(tune_session_is_busy(fake->session));
    assert_true(tune_session_act(fake->session, &start, &err));
    int second = until_it_waits(fake);
    assert_true(second > first);
    static const struct tune_action another = {.kind = TUNE_ACT_ANOTHER, .text = "smaller"};
    assert_true(tune_session_act(fake->session, &another, &err));
    int third = until_it_waits(fake);
    assert_true(third > second);
    struct buf prompt = shown(fake_state(fake), TUNE_ROLE_PLANNER);
    assert_non_null(strstr(prompt.at, "smaller"));
    buf_free(&prompt);
    assert_true(tune_session_act(fake->session,
                                 &(struct tune_action){.kind = TUNE_ACT_ANSWER,
                                                       .index = third,
                                                       .text = "title: by hand\nwhat: less\n"},
                                 &err));
    /* After "another" a plan is shown, whatever the gate says. */
    loop_run_until_idle(fake->loop, 2000);
    const struct tune_state *state = fake_state(fake);
    assert_non_null(tune_lane_plan(state, 0));
    assert_string_equal(tune_lane_plan(state, 0)->title, "by hand");
    assert_string_equal(tune_lane_plan(state, 0)->author, "human");
    assert_int_equal(state->wait_step, TUNE_STEP_PLAN);
    end(&scripted);
}

#define KERNEL_TOO                                                   \
    "title: by hand\nwhat: less\n\n<<<<<<< SEARCH\n# latency 1000\n" \
    "=======\n# latency 700\n>>>>>>> REPLACE\n"

/* A person who is asked for a plan alone may write the kernel as well. */
static void a_person_may_answer_with_plan_and_kernel(void **unused) {
    (void)unused;
    struct scripted scripted;
    struct fake *fake = begin_by_hand(&scripted);
    assert_true(fake_try(fake, (struct tune_action){.kind = TUNE_ACT_START}));
    int call = until_it_waits(fake);
    assert_false(fake_state(fake)->calls.at[call].once);
    assert_true(fake_try(
        fake, (struct tune_action){.kind = TUNE_ACT_ANSWER, .index = call, .text = KERNEL_TOO}));
    const struct tune_state *state = fake_state(fake);
    for (int i = 0; i < 500 && state->attempts.len < 2; i++)
        loop_run_until_idle(fake->loop, 10);
    assert_int_equal(state->attempts.len, 2);
    assert_string_equal(state->attempts.at[1].plan.title, "by hand");
    assert_non_null(strstr(tune_source(state, &state->attempts.at[1]), "# latency 700"));
    for (size_t i = 0; i < state->calls.len; i++)
        assert_string_not_equal(state->calls.at[i].role, "rewriter");
    end(&scripted);
}

static void a_pause_ends_a_model_that_is_asked(void **unused) {
    (void)unused;
    static const struct tune_action start = {.kind = TUNE_ACT_START};
    struct scripted scripted;
    struct err err = {0};
    begin(&scripted, PLAN("one"));
    struct fake *fake = &scripted.fake;
    tune_session_close(fake->session);
    assert_true(config_set(scripted.config, "model slow", "api", "command", &err));
    fake_file(fake->folder, "slow.py",
              "import sys, time\nsys.stdin.read()\n"
              "print('title: half', flush=True)\ntime.sleep(60)\n");
    struct buf command = {0};
    buf_printf(&command, "/usr/bin/python3 %s/slow.py", fake->folder);
    assert_true(config_set(scripted.config, "model slow", "command", command.at, &err));
    buf_free(&command);
    fake->options.proposer = "slow";
    fake->options.fresh = true;
    fake->place = (struct fake_place){.loop = fake->loop};
    fake_open(fake);
    fake->options.fresh = false;
    assert_true(tune_session_act(fake->session, &start, &err));
    const struct tune_state *state = fake_state(fake);
    for (int turn = 0; turn < 2000 && (!state->calls.len || !state->calls.at[0].live.len); turn++)
        loop_run_until_idle(fake->loop, 10);
    assert_int_equal(state->calls.len, 1);
    assert_int_equal(strncmp(state->calls.at[0].live.at, "title: half", 11), 0);
    assert_int_equal(state->calls.at[0].ended_ms, 0);
    /* It settles at once, not in a minute. */
    fake_act(fake, (struct tune_action){.kind = TUNE_ACT_PAUSE});
    assert_true(state->calls.at[0].ended_ms > 0);
    assert_non_null(state->calls.at[0].failure);
    assert_non_null(state->calls.at[0].answer); /* what had come is kept */
    assert_true(state->calls.at[0].elapsed_s >= state->calls.at[0].first_s);
    assert_int_equal(state->steps[TUNE_STEP_PLAN].is, TUNE_IS_WAITING);
    assert_int_equal(tune_role_next(state, 0), TUNE_ROLE_PLANNER);
    end(&scripted);
}

/* Serves the loop until a question is held. */
static int until_it_is_held(struct fake *fake) {
    for (int turn = 0; turn < 1000; turn++) {
        const struct tune_state *state = fake_state(fake);
        for (size_t i = 0; i < state->calls.len; i++)
            if (state->calls.at[i].held)
                return (int)i;
        loop_run_until_idle(fake->loop, 10);
    }
    fail_msg("no question is held");
    return -1;
}

static void send(struct fake *fake, int call) {
    struct err err = {0};
    if (!tune_session_act(fake->session,
                          &(struct tune_action){.kind = TUNE_ACT_SEND, .index = call}, &err))
        fail_msg("%s", err.text);
}

/* The parts of the question as screen 9 shows them. */
static struct tune_prompt *parts_of(const struct tune_state *state, int call) {
    enum tune_role role = TUNE_ROLES;
    assert_true(tune_role_find(state->calls.at[call].role, &role));
    struct tune_context *context = tune_context_question(state, 0, role, call);
    struct tune_prompt *prompt = tune_prompt_build(context, role, NULL, 0);
    tune_context_free(context);
    return prompt;
}

static const struct tune_prompt_part *part_named(const struct tune_prompt *prompt,
                                                 const char *name) {
    for (size_t i = 0; i < prompt->parts.len; i++)
        if (!strcmp(prompt->parts.at[i].name, name))
            return &prompt->parts.at[i];
    return NULL;
}

static void edit_part(struct fake *fake, const char *part, const char *text) {
    struct err err = {0};
    assert_true(tune_session_act(
        fake->session,
        &(struct tune_action){
            .kind = TUNE_ACT_EDIT_PART, .role = TUNE_ROLE_PLANNER, .part = part, .text = text},
        &err));
}

/* It has what the first one said, its answer, and why that could not be used. */
static void expect_mending(const struct tune_state *state, int call, int first) {
    assert_int_equal(state->calls.at[call].mends, first);
    assert_non_null(state->calls.at[first].unread);
    struct tune_prompt *prompt = parts_of(state, call);
    assert_non_null(strstr(part_named(prompt, "task")->text.at, "mind the rows"));
    assert_string_equal(part_named(prompt, "your answer")->text.at, "I think it is fine.");
    assert_non_null(strstr(part_named(prompt, "what could not be used")->text.at,
                           state->calls.at[first].unread));
    tune_prompt_free(prompt);
}

static void expect_sent(struct scripted *scripted) {
    static const char *const words[] = {"mind the rows", "I think it is fine.",
                                        "Say title and what"};
    char *sent = last_prompt(scripted, "state.planner");
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (!strstr(sent, words[i]))
            fail_msg("\"%s\" is not in what went out:\n%s", words[i], sent);
    free(sent);
}

static char *prompt_of(const struct fake *fake, int call) {
    struct err err = {0};
    char *text =
        tune_session_artefact(fake->session, fake_state(fake)->calls.at[call].prompt, &err);
    assert_non_null(text);
    return text;
}

/* It is as it went out, and more is added, because a service keeps what it has seen before. */
static void expect_begins_alike(const struct fake *fake, int first, int second) {
    char *before = prompt_of(fake, first), *after = prompt_of(fake, second);
    assert_int_equal(strncmp(before, after, strlen(before)), 0);
    free(before);
    free(after);
}

/* Turns that repair what does not compile wait too, and so do those that mend their answers. */
static void repairs_wait_as_well(struct fake *fake) {
    const struct tune_state *state = fake_state(fake);
    int repair = until_it_is_held(fake);
    assert_string_equal(state->calls.at[repair].role, "fixer");
    send(fake, repair);
    int mends = until_it_is_held(fake);
    assert_int_equal(state->calls.at[mends].mends, repair);
    struct err err = {0};
    assert_true(
        tune_session_act(fake->session, &(struct tune_action){.kind = TUNE_ACT_HOLD}, &err));
    assert_true(state->calls.at[mends].held); /* this one is still for the person */
    send(fake, mends);
}

static void a_question_that_is_held_is_looked_at_and_edited_first(void **unused) {
    (void)unused;
    struct scripted scripted;
    struct err err = {0};
    begin(&scripted, "=== planner\nI think it is fine.\n" PLAN("one")
                         EDIT("# latency 1000",
                              "# latency 700 # broken") "=== fixer\nI cannot.\n"
                                                        "=== fixer\n<<<<<<< SEARCH\n    # latency "
                                                        "700 # broken\n=======\n"
                                                        "    # latency 700\n>>>>>>> REPLACE\n");
    struct fake *fake = &scripted.fake;
    const struct tune_state *state = fake_state(fake);
    assert_false(state->holds);
    fake_act(fake, (struct tune_action){.kind = TUNE_ACT_HOLD});
    assert_true(state->holds);
    assert_true(
        tune_session_act(fake->session, &(struct tune_action){.kind = TUNE_ACT_START}, &err));
    int first = until_it_is_held(fake);
    assert_null(state->calls.at[first].prompt);
    edit_part(fake, "task", "# task\n\nmind the rows\n");
    assert_int_equal(state->parts.len, 1);
    send(fake, first);
    assert_int_equal(state->parts.len, 0);
    assert_non_null(state->calls.at[first].prompt);

    /* The answer cannot be read. What goes back waits as well, with what went out before. */
    int second = until_it_is_held(fake);
    expect_mending(state, second, first);
    edit_part(fake, "what could not be used", "Say title and what, please.\n");
    assert_false(fake_try(fake, (struct tune_action){.kind = TUNE_ACT_SEND, .index = first}));
    send(fake, second);
    int third = until_it_is_held(fake);
    expect_sent(&scripted);
    expect_begins_alike(fake, first, second);
    assert_string_equal(state->calls.at[third].role, "rewriter");
    send(fake, third);
    repairs_wait_as_well(fake);
    fake_settle(fake);
    assert_int_equal(state->attempts.at[1].status, TUNE_STATUS_KEEP);
    end(&scripted);
}

static void a_held_question_can_be_given_up(void **unused) {
    (void)unused;
    static const struct tune_action start = {.kind = TUNE_ACT_START};
    struct scripted scripted;
    struct err err = {0};
    begin(&scripted, PLAN("one"));
    struct fake *fake = &scripted.fake;
    fake_act(fake, (struct tune_action){.kind = TUNE_ACT_HOLD});
    assert_true(tune_session_act(fake->session, &start, &err));
    int first = until_it_is_held(fake);
    fake_act(fake, (struct tune_action){.kind = TUNE_ACT_PAUSE});
    const struct tune_state *state = fake_state(fake);
    assert_false(state->calls.at[first].held);
    assert_non_null(state->calls.at[first].failure);
    assert_int_equal(state->wait, TUNE_WAIT_PAUSED);
    fake_act(fake, (struct tune_action){.kind = TUNE_ACT_UNDO});
    assert_false(state->holds);
    end(&scripted);
}

static void a_plan_that_was_closed_is_asked_for_once_more(void **unused) {
    (void)unused;
    struct scripted scripted;
    begin(&scripted,
          PLAN("one") PLAN("one") PLAN("two") PLAN("one") EDIT("# latency 1000", "# latency 1100")
              EDIT("# latency 1000", "# latency 1100") EDIT("# latency 1000", "# latency 700"));
    run(&scripted);
    const struct tune_state *state = fake_state(&scripted.fake);
    assert_string_equal(state->attempts.at[1].plan.title, "plan one");
    assert_int_equal(state->attempts.at[1].status, TUNE_STATUS_REVERT);
    /* The same plan again: this is reported, and another one comes. */
    const struct tune_call *again = &state->calls.at[2];
    assert_string_equal(again->role, "planner");
    assert_non_null(strstr(again->unread, "\"plan one\" (attempt 1: revert)"));
    assert_int_equal(state->calls.at[3].mends, 2);
    /* The same for the same kernel again. */
    assert_string_equal(state->calls.at[4].role, "rewriter");
    assert_non_null(strstr(state->calls.at[4].unread, "same as #1 ("));
    assert_string_equal(state->attempts.at[2].plan.title, "plan two");
    assert_int_equal(state->attempts.at[2].status, TUNE_STATUS_KEEP);
    /* Nothing else comes, so it ends and says why. */
    assert_int_equal(state->wait, TUNE_WAIT_STOPPED);
    assert_non_null(strstr(state->wait_text, "tried and closed already"));
    assert_int_equal(state->calls.len, 8);
    end(&scripted);
}

static bool is_logged(const struct tune_state *state, const char *text) {
    for (size_t i = 0; i < state->logs.len; i++)
        if (!strcmp(state->logs.at[i].text, text))
            return true;
    return false;
}

static void a_closed_plan_beside_a_new_one_is_left_out_with_the_reason(void **unused) {
    (void)unused;
    struct scripted scripted;
    begin(&scripted,
          PLAN("one") PLAN("one") "---\ntitle: plan two\nwhat: change number two\n" EDIT(
              "# latency 1000", "# latency 1100") EDIT("# latency 1000", "# latency 700"));
    scripted.fake.options.rounds = 2;
    run(&scripted);
    const struct tune_state *state = fake_state(&scripted.fake);
    assert_string_equal(state->attempts.at[2].plan.title, "plan two");
    assert_true(is_logged(
        state, "left out: \"plan one\" was tried and closed already (attempt 1: revert)"));
    end(&scripted);
}

static void the_roles_say_who_is_asked(void **unused) {
    (void)unused;
    struct scripted scripted;
    begin(&scripted, PLAN("one"));
    const struct tune_role_view *roles = fake_state(&scripted.fake)->roles;
    assert_non_null(roles);
    assert_int_equal(roles[TUNE_ROLE_PLANNER].count, 1);
    assert_string_equal(roles[TUNE_ROLE_PLANNER].models[0].name, "script");
    assert_true(isnan(roles[TUNE_ROLE_PLANNER].models[0].price_input));
    assert_string_equal(roles[TUNE_ROLE_FIXER].models[0].origin, "as the planner");
    assert_int_equal(roles[TUNE_ROLE_REFLECTOR].count, 0);
    end(&scripted);
}

/* ------------------------------------------------------------------------------------- lessons */

/* The same script answers for the roles that write. */
static void begin_writing(struct scripted *scripted, const char *script) {
    struct err err = {0};
    begin(scripted, script);
    tune_session_close(scripted->fake.session);
    assert_true(config_set(scripted->config, "roles", "summariser", "script", &err));
    assert_true(config_set(scripted->config, "roles", "reflector", "script", &err));
    scripted->fake.options.fresh = true;
    scripted->fake.place = (struct fake_place){.loop = scripted->fake.loop};
    fake_open(&scripted->fake);
    scripted->fake.options.fresh = false;
}

static void models_write_what_was_learnt(void **unused) {
    (void)unused;
    struct scripted scripted;
    begin_writing(&scripted, PLAN("one") PLAN("one")
                                 EDIT("# latency 1000",
                                      "# latency 700") "=== summariser\nSure!\n**Title:** Read w "
                                                       "once\n\n**Summary:** The loop read w\n"
                                                       "again and again.\n"
                                                       "=== reflector\n```json\n{\"diagnosis\": "
                                                       "\"wrong\", \"lesson\": \"Look at DMA.\"}\n"
                                                       "```\n");
    run(&scripted);
    const struct tune_state *state = fake_state(&scripted.fake);
    assert_int_equal(state->memory.len, 1);
    assert_string_equal(state->memory.at[0].title, "Read w once");
    assert_string_equal(state->memory.at[0].summary, "The loop read w again and again.");
    assert_int_equal(state->memory.at[0].is, TUNE_EXPERIENCE_PROPOSED);
    assert_string_equal(state->memory.at[0].generation, "trn2");
    const struct tune_note *note = &state->notes.at[0];
    assert_string_equal(note->lesson, "Look at DMA.");
    assert_string_equal(note->author, "script");
    assert_int_equal(note->diagnosis, TUNE_ANSWER_NO);
    char *prompt = last_prompt(&scripted, "state.summariser");
    static const char *const words[] = {"1.429 times as fast", "# latency 700", "# latency 1000",
                                        "plan one"};
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (!strstr(prompt, words[i]))
            fail_msg("\"%s\" is not in the prompt:\n%s", words[i], prompt);
    free(prompt);
    struct tune_scores scores = {0};
    tune_scores_count(state, &scores);
    assert_int_equal(scores.rows.len, 2);
    assert_string_equal(scores.rows.at[0].name, "script");
    assert_true(scores.rows.at[0].kept == 1 && scores.rows.at[0].calls >= 4);
    assert_true(scores.rows.at[0].judged >= 1 && scores.rows.at[0].right == 0);
    assert_true(scores.rows.at[0].scored == 1 && scores.rows.at[0].computed == 0);
    assert_string_equal(scores.rows.at[1].name, "hbm_read_bytes down");
    tune_scores_free(&scores);
    end(&scripted);
}

static void hone_writes_when_a_model_does_not(void **unused) {
    (void)unused;
    struct scripted scripted;
    begin_writing(&scripted,
                  PLAN("one") PLAN("one")
                      EDIT("# latency 1000",
                           "# latency 700") "=== summariser\nNo idea.\n=== reflector\nNo idea.\n");
    run(&scripted);
    const struct tune_state *state = fake_state(&scripted.fake);
    int asked = 0;
    for (size_t i = 0; i < state->calls.len; i++)
        asked += !strcmp(state->calls.at[i].role, "summariser");
    assert_int_equal(asked, 2);
    assert_int_equal(state->memory.len, 1);
    assert_string_equal(state->memory.at[0].title, "plan one");
    assert_non_null(strstr(state->notes.at[0].lesson, "\"plan one\" worked"));
    assert_null(state->notes.at[0].author);
    end(&scripted);
}

static void strategies_are_offered_and_counted(void **unused) {
    (void)unused;
    struct scripted scripted;
    begin(&scripted, PLAN("one") "strategy: **Interchange** of two loops\n" PLAN("one")
                         EDIT("# latency 1000", "# latency 700"));
    scripted.fake.options.rounds = 1;
    run(&scripted);
    const struct tune_state *state = fake_state(&scripted.fake);
    char *prompt = last_prompt(&scripted, "state.planner");
    assert_non_null(strstr(prompt, "\n# strategies\n"));
    assert_non_null(strstr(prompt, "\n# dead ends\n"));
    free(prompt);
    assert_string_equal(state->attempts.at[1].plan.strategy, "interchange");
    struct tune_scores scores = {0};
    tune_scores_count(state, &scores);
    assert_string_equal(scores.rows.at[1].name, "interchange");
    assert_true(scores.rows.at[1].strategy && scores.rows.at[1].kept == 1);
    tune_scores_free(&scores);
    end(&scripted);
}

#define SWEEP                                                                  \
    "=== planner\ntitle: other latencies\nwhat: try other values of LATENCY\n" \
    "sweep: `LATENCY` in 900, 800, 950 (must stay below 1000)\n"

/* The same with a kernel that has a constant. */
static void begin_with_constant(struct scripted *scripted, const char *script,
                                enum tune_gate gate) {
    begin(scripted, script);
    tune_session_close(scripted->fake.session);
    fake_file(scripted->fake.folder, "kernel.py",
              "def kernel():\n    LATENCY = 1000\n    return LATENCY\n");
    scripted->fake.options.fresh = true;
    scripted->fake.options.gate = gate;
    fake_open(&scripted->fake);
    scripted->fake.options.fresh = false;
}

static int planner_calls(const struct tune_state *state) {
    int count = 0;
    for (size_t i = 0; i < state->calls.len; i++)
        count += !strcmp(state->calls.at[i].role, "planner");
    return count;
}

static void a_sweep_costs_one_question(void **unused) {
    (void)unused;
    struct scripted scripted;
    begin_with_constant(&scripted, SWEEP "=== planner\nno\n", TUNE_GATE_AUTO);
    run(&scripted);
    const struct tune_state *state = fake_state(&scripted.fake);
    assert_int_equal(state->attempts.len, 4);
    assert_int_equal(state->incumbent, 2);
    assert_string_equal(state->attempts.at[2].plan.title, "LATENCY = 800");
    assert_string_equal(state->attempts.at[2].plan.author, "script");
    assert_string_equal(state->attempts.at[2].author, "script");
    assert_string_equal(state->attempts.at[2].plan.strategy, "tile");
    assert_int_equal(planner_calls(state), 3); /* one for the sweep, and two that brought no plan */
    assert_int_equal(state->calls.len, 3);
    end(&scripted);
}

static void what_cannot_be_swept_is_a_plan_as_any(void **unused) {
    (void)unused;
    struct scripted scripted;
    begin_with_constant(&scripted,
                        "=== planner\ntitle: t\nwhat: w\nsweep: WIDTH in 1, 2\n"
                        "=== planner\nno\n" EDIT("LATENCY = 1000", "LATENCY = 700"),
                        TUNE_GATE_AUTO);
    run(&scripted);
    const struct tune_state *state = fake_state(&scripted.fake);
    assert_int_equal(state->attempts.len, 2);
    assert_string_equal(state->attempts.at[1].plan.title, "t");
    assert_null(state->attempts.at[1].plan.sweep);
    end(&scripted);
}

static void a_sweep_that_is_rejected_is_over(void **unused) {
    (void)unused;
    struct scripted scripted;
    begin_with_constant(&scripted, SWEEP PLAN("other"), TUNE_GATE_ASK);
    run(&scripted);
    const struct tune_state *state = fake_state(&scripted.fake);
    fake_act(&scripted.fake, (struct tune_action){.kind = TUNE_ACT_APPROVE});
    assert_int_equal(state->wait_step, TUNE_STEP_PLAN);
    assert_int_equal(state->plans.len, 3);
    fake_act(&scripted.fake, (struct tune_action){.kind = TUNE_ACT_REJECT, .text = "no"});
    fake_act(&scripted.fake, (struct tune_action){.kind = TUNE_ACT_START});
    assert_string_equal(tune_lane_plan(state, 0)->title, "plan other");
    end(&scripted);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_plans_and_rewrites),
        cmocka_unit_test(an_answer_that_cannot_be_read_gets_one_more_turn),
        cmocka_unit_test(what_does_not_compile_is_repaired_with_its_text),
        cmocka_unit_test(a_repair_turn_knows_the_turns_before_it),
        cmocka_unit_test(the_prompt_holds_what_is_known),
        cmocka_unit_test(reopening_gives_the_same_state),
        cmocka_unit_test(no_model_is_a_usage_error),
        cmocka_unit_test(models_write_what_was_learnt),
        cmocka_unit_test(hone_writes_when_a_model_does_not),
        cmocka_unit_test(what_is_switched_off_or_edited_reaches_the_model),
        cmocka_unit_test(undo_takes_a_switch_back_but_no_text_that_went_out),
        cmocka_unit_test(a_person_answers_and_a_pause_gives_the_question_up),
        cmocka_unit_test(a_person_may_answer_with_plan_and_kernel),
        cmocka_unit_test(a_pause_ends_a_model_that_is_asked),
        cmocka_unit_test(a_question_that_is_held_is_looked_at_and_edited_first),
        cmocka_unit_test(a_held_question_can_be_given_up),
        cmocka_unit_test(a_plan_that_was_closed_is_asked_for_once_more),
        cmocka_unit_test(a_closed_plan_beside_a_new_one_is_left_out_with_the_reason),
        cmocka_unit_test(the_roles_say_who_is_asked),
        cmocka_unit_test(strategies_are_offered_and_counted),
        cmocka_unit_test(a_sweep_costs_one_question),
        cmocka_unit_test(what_cannot_be_swept_is_a_plan_as_any),
        cmocka_unit_test(a_sweep_that_is_rejected_is_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
