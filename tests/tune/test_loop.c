// SPDX-License-Identifier: Apache-2.0
/* The loop alone: rounds, decisions, the guard, repair turns, plateau, budgets, predictions. */
#include "base/config/testing.h"
#include "tune/ask/context.h"
#include "tune/fake.h"

#define SOURCE(latency, hbm, more) \
    "def kernel(): x = '''\n    # latency " latency "\n    # hbm " hbm "\n    # " more "\n'''\n"

static void run(struct fake *fake) {
    fake_act(fake, (struct tune_action){.kind = TUNE_ACT_START});
}

static void gains_are_kept_and_losses_reverted(void **unused) {
    (void)unused;
    static const struct fake_plan plans[] = {{"better", SOURCE("800", "500", "one"), 0.4, NULL},
                                             {"worse", SOURCE("900", "500", "two"), 0.4, NULL},
                                             {"best", SOURCE("500", "450", "three"), 0.9, NULL},
                                             {"astray", SOURCE("5000", "450", "four"), NAN, NULL}};
    struct fake fake;
    fake_begin(&fake, plans, COUNT_OF(plans), TUNE_GATE_AUTO);
    run(&fake);
    const struct tune_state *state = fake_state(&fake);
    assert_true(state->finished);
    assert_non_null(strstr(state->wait_text, "nothing left"));
    assert_int_equal(state->attempts.len, 5); /* what was kept is not tried again */
    const struct tune_attempt *at = state->attempts.at;
    assert_int_equal(at[0].status, TUNE_STATUS_KEEP);
    assert_int_equal(at[0].seeds.len, 5);
    assert_int_equal(at[1].status, TUNE_STATUS_KEEP);
    assert_int_equal(at[1].seeds.len, 5);
    assert_non_null(strstr(at[1].verdict.correct_why, "5 seeds, ")); /* of both evaluations */
    assert_float_equal(at[1].speedup, 1.25, 1e-9);
    assert_int_equal(at[1].plan.held, TUNE_ANSWER_YES);
    assert_float_equal(at[1].plan.moved, -0.5, 1e-9);
    assert_int_equal(state->best, state->incumbent);
    assert_float_equal(state->attempts.at[state->best].latency_us, 500, 1e-9);
    fake_end(&fake);
}

static const struct tune_attempt *attempt_titled(const struct tune_state *state,
                                                 const char *title) {
    for (size_t i = 1; i < state->attempts.len; i++)
        if (!strcmp(state->attempts.at[i].plan.title, title))
            return &state->attempts.at[i];
    fail_msg("no attempt \"%s\"", title);
    return NULL;
}

/* The rewriter times what it proposes on the clock that judges it, which is no prediction. On a
 * device it is one. */
static void a_prediction_of_the_judge_is_computed(void **unused) {
    (void)unused;
    struct tune_attempt attempt = {.modelled = true,
                                   .plan = {.author = "rewriter",
                                            .metric = "hbm_read_bytes",
                                            .held = TUNE_ANSWER_YES,
                                            .moved = -0.5,
                                            .size = 0.5}};
    struct buf said = {0};
    assert_true(tune_prediction_computed(&attempt));
    tune_prediction_print(&said, &attempt);
    assert_string_equal(said.at, " hbm_read_bytes moved by -50.0 %, as computed (-50 %).");
    buf_clear(&said);
    attempt.modelled = false;
    assert_false(tune_prediction_computed(&attempt));
    tune_prediction_print(&said, &attempt);
    assert_string_equal(said.at, " hbm_read_bytes moved by -50.0 %, as predicted (-50 %).");
    attempt.modelled = true;
    attempt.plan.author = "you";
    assert_false(tune_prediction_computed(&attempt));
    assert_false(tune_prediction_computed(NULL));
    buf_free(&said);
}

/* Persons and models need not end their sentences; the next one begins behind a stop, once. */
static void sentences_are_joined_with_one_stop(void **unused) {
    (void)unused;
    static const struct {
        const char *before, *all;
    } rows[] = {{"no", "no. Only 1 of 2 hunks was taken: a person left the rest out."},
                {"no.", "no. Only 1 of 2 hunks was taken: a person left the rest out."},
                {"why?", "why? Only 1 of 2 hunks was taken: a person left the rest out."},
                {"too much…", "too much… Only 1 of 2 hunks was taken: a person left the rest out."},
                {"", "Only 1 of 2 hunks was taken: a person left the rest out."}};
    struct tune_attempt attempt = {.hunks = 2, .left_out = 1};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct buf said = {0};
        buf_puts(&said, rows[i].before);
        tune_part_tried_print(&said, &attempt);
        assert_string_equal(said.at, rows[i].all);
        buf_free(&said);
    }
}

/* 1.01x with other tiles is less than the model can tell apart, in either direction. */
static void what_lies_inside_the_models_error_is_not_kept_unasked(void **unused) {
    (void)unused;
    static const struct fake_plan plans[] = {
        {"hardly", SOURCE("990", "1000", "tiles 20"), NAN, NULL},
        {"clearly", SOURCE("700", "1000", "tiles 30"), NAN, NULL}};
    static const enum tune_status hardly[] = {TUNE_STATUS_INCONCLUSIVE, TUNE_STATUS_KEEP};
    for (int keeps = 0; keeps < 2; keeps++) {
        struct fake fake;
        struct err err = {0};
        fake_begin(&fake, plans, COUNT_OF(plans), TUNE_GATE_AUTO);
        tune_session_close(fake.session);
        setenv("XDG_CONFIG_HOME", fake.folder, 1);
        struct config *config = config_load(NULL, &err);
        assert_non_null(config);
        assert_true(config_set(config, "search", "keep_inside", keeps ? "yes" : "no", &err));
        fake.options.config = config;
        fake.options.fresh = true;
        fake.options.use = &fake.proposer.vtable;
        fake.place = (struct fake_place){.loop = fake.loop};
        fake_open(&fake);
        run(&fake);
        const struct tune_state *state = fake_state(&fake);
        const struct tune_attempt *attempt = attempt_titled(state, "hardly");
        assert_int_equal(attempt->verdict.faster, TUNE_ANSWER_INCONCLUSIVE);
        assert_non_null(strstr(attempt->verdict.faster_why, "with other tiles"));
        assert_non_null(strstr(attempt->reason, "inside the model's error"));
        assert_int_equal(attempt->status, hardly[keeps]);
        attempt = attempt_titled(state, "clearly");
        assert_int_equal(attempt->verdict.faster, TUNE_ANSWER_YES);
        assert_int_equal(attempt->status, TUNE_STATUS_KEEP);
        fake_end(&fake);
        config_free(config);
    }
}

/* Seeds that were not run are no seeds on which it is wrong. */
static void the_gate_says_why_seeds_were_not_run(void **unused) {
    (void)unused;
    static const struct fake_plan plans[] = {{"slower", SOURCE("1200", "500", "a"), 0.4, NULL}};
    struct fake fake;
    fake_begin(&fake, plans, COUNT_OF(plans), TUNE_GATE_AUTO);
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_SET_GATE,
                                         .step = TUNE_STEP_VERIFY,
                                         .gate = TUNE_GATE_ASK});
    run(&fake);
    const struct tune_step_view *verify = &fake_state(&fake)->steps[TUNE_STEP_VERIFY];
    assert_int_equal(verify->is, TUNE_IS_OK);
    assert_string_equal(verify->summary,
                        "correct on the first seed; the other 4 were not run: it is not faster");
    fake_end(&fake);
}

static void each_way_to_end_is_told_apart(void **unused) {
    (void)unused;
    static const struct fake_plan plans[] = {{"slower", SOURCE("1200", "500", "a"), 0.4, NULL},
                                             {"astray", SOURCE("5000", "1000", "b"), 0.4, NULL},
                                             {"incorrect", SOURCE("100", "10", "wrong"), 0.4, NULL},
                                             {"tiny", SOURCE("999", "1000", "c"), NAN, NULL}};
    struct fake fake;
    fake_begin(&fake, plans, COUNT_OF(plans), TUNE_GATE_AUTO);
    run(&fake);
    const struct tune_state *state = fake_state(&fake);
    assert_int_equal(state->attempts.len, 5);
    assert_int_equal(state->incumbent, 0);
    const struct tune_attempt *slower = attempt_titled(state, "slower");
    assert_int_equal(slower->status, TUNE_STATUS_REVERT);
    assert_int_equal(slower->plan.held, TUNE_ANSWER_YES);
    assert_int_equal(slower->seeds.len, 1);
    assert_non_null(strstr(slower->verdict.correct_why, "other 4 were not run"));
    assert_non_null(strstr(attempt_titled(state, "astray")->reason, "divergence guard: 400 %"));
    assert_int_equal(attempt_titled(state, "astray")->plan.held, TUNE_ANSWER_NO);
    const struct tune_attempt *wrong = attempt_titled(state, "incorrect");
    assert_int_equal(wrong->status, TUNE_STATUS_FAILED);
    assert_non_null(strstr(wrong->reason, "relative L2"));
    assert_non_null(strstr(attempt_titled(state, "tiny")->reason, "below"));
    assert_int_equal(state->notes.len, 4);
    assert_int_equal(state->notes.at[0].category, TUNE_CATEGORY_REGRESSION);
    assert_int_equal(state->notes.at[2].category, TUNE_CATEGORY_ERROR);
    assert_int_equal(state->memory.len, 2); /* both losses of 1.15x and more */
    assert_true(state->memory.at[0].speedup < 1);
    fake_end(&fake);
}

static void a_broken_candidate_gets_three_repair_turns(void **unused) {
    (void)unused;
    static const struct fake_plan plans[] = {
        {"hopeless", SOURCE("1", "1", "broken"), NAN, SOURCE("2", "2", "broken still")},
        {"mended", SOURCE("1", "1", "broken"), NAN, SOURCE("700", "900", "mended")}};
    struct fake fake;
    fake_begin(&fake, plans, COUNT_OF(plans), TUNE_GATE_AUTO);
    run(&fake);
    const struct tune_state *state = fake_state(&fake);
    const struct tune_attempt *hopeless = attempt_titled(state, "hopeless");
    assert_int_equal(hopeless->status, TUNE_STATUS_FAILED);
    assert_non_null(strstr(hopeless->reason, "256 partitions"));
    const struct tune_attempt *mended = attempt_titled(state, "mended");
    assert_int_equal(mended->status, TUNE_STATUS_KEEP);
    assert_int_equal(mended->repairs, 1);
    assert_float_equal(mended->latency_us, 700, 1e-9);
    assert_in_range(fake.proposer.repairs, 2, 4);
    fake_end(&fake);
}

static void the_compilers_own_error_gets_one_repair_turn(void **unused) {
    (void)unused;
    static const struct fake_plan plans[] = {{"internal", SOURCE("1", "1", "broken internal"), NAN,
                                              SOURCE("2", "2", "broken internal")}};
    struct fake fake;
    fake_begin(&fake, plans, COUNT_OF(plans), TUNE_GATE_AUTO);
    run(&fake);
    const struct tune_state *state = fake_state(&fake);
    assert_int_equal(fake.proposer.repairs, 1);
    assert_int_equal(state->attempts.len, 2); /* and the direction is closed */
    assert_int_equal(state->attempts.at[1].status, TUNE_STATUS_FAILED);
    assert_string_equal(state->diagnostics.at[state->diagnostics.len - 1].cause, "internal");
    fake_end(&fake);
}

static void what_has_to_be_repaired_is_told_with_class_line_and_meaning(void **unused) {
    (void)unused;
    static const struct fake_plan plans[] = {
        {"internal", SOURCE("1", "1", "broken internal"), NAN, SOURCE("700", "2", "fine")}};
    struct fake fake;
    fake_begin(&fake, plans, COUNT_OF(plans), TUNE_GATE_AUTO);
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_SET_GATE,
                                         .step = TUNE_STEP_VERIFY,
                                         .gate = TUNE_GATE_ASK});
    run(&fake);
    struct tune_context *context = tune_context_build(fake_state(&fake), 0);
    assert_non_null(context->repair_error);
    assert_non_null(strstr(context->repair_error, "internal error, line 2: tile has 256"));
    assert_non_null(strstr(context->repair_error, "    # latency 1\n"));
    assert_non_null(strstr(context->repair_error, "NCC_IXGM002: the compiler failed on a dynamic"));
    tune_context_free(context);
    fake_end(&fake);
}

static void wrong_numbers_are_repaired_by_their_diagnosis(void **unused) {
    (void)unused;
    static const struct fake_plan plans[] = {
        {"wrong", SOURCE("1", "1", "wrong here"), NAN, SOURCE("700", "2", "fine")},
        {"blind", SOURCE("1", "3", "wrong"), NAN, SOURCE("600", "4", "never asked for")}};
    struct fake fake;
    fake_begin(&fake, plans, COUNT_OF(plans), TUNE_GATE_AUTO);
    run(&fake);
    const struct tune_state *state = fake_state(&fake);
    const struct tune_attempt *mended = attempt_titled(state, "wrong");
    assert_int_equal(mended->status, TUNE_STATUS_KEEP);
    assert_int_equal(mended->repairs, 1);
    assert_float_equal(mended->latency_us, 700, 1e-9);
    /* Where nothing is suspected, there is nothing to go by. */
    assert_int_equal(attempt_titled(state, "blind")->status, TUNE_STATUS_FAILED);
    assert_int_equal(attempt_titled(state, "blind")->repairs, 0);
    fake_end(&fake);
}

static void what_a_diagnosis_says_is_what_has_to_be_repaired(void **unused) {
    (void)unused;
    static const struct fake_plan plans[] = {
        {"wrong", SOURCE("1", "1", "wrong here"), NAN, SOURCE("700", "2", "fine")}};
    struct fake fake;
    fake_begin(&fake, plans, COUNT_OF(plans), TUNE_GATE_AUTO);
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_SET_GATE,
                                         .step = TUNE_STEP_VERIFY,
                                         .gate = TUNE_GATE_ASK});
    run(&fake);
    struct tune_context *context = tune_context_build(fake_state(&fake), 0);
    assert_non_null(context->repair_error);
    assert_non_null(strstr(context->repair_error, "This is repair turn 1 of 3."));
    assert_non_null(strstr(context->repair_error, "wrong numbers: seed 0: relative L2 0.5"));
    assert_non_null(strstr(context->repair_error, "line 2: suspect 1: what this activation"));
    assert_non_null(strstr(context->repair_error, "    # latency 1\n"));
    tune_context_free(context);
    fake_end(&fake);
}

static void what_cannot_be_carried_out_is_not_asked_again(void **unused) {
    (void)unused;
    static const struct fake_plan plans[] = {{"impossible", NULL, NAN, NULL},
                                             {"possible", SOURCE("700", "1", "x"), NAN, NULL}};
    struct fake fake;
    fake_begin(&fake, plans, COUNT_OF(plans), TUNE_GATE_AUTO);
    run(&fake);
    const struct tune_state *state = fake_state(&fake);
    assert_int_equal(state->attempts.at[1].status, TUNE_STATUS_KEEP);
    assert_int_equal(state->attempts.at[1].round, 1); /* the same round continued */
    int failed = 0;
    for (size_t i = 0; i < state->rejections.len; i++)
        failed += !strcmp(state->rejections.at[i].key, "impossible");
    assert_int_equal(failed, 1);
    fake_end(&fake);
}

static void the_plateau_stops(void **unused) {
    (void)unused;
    static const struct fake_plan plans[] = {
        {"1", SOURCE("1100", "1", "1"), NAN, NULL},   {"2", SOURCE("1100", "1", "2"), NAN, NULL},
        {"3", SOURCE("1", "1", "broken"), NAN, NULL}, {"4", SOURCE("1100", "1", "4"), NAN, NULL},
        {"5", SOURCE("1", "1", "wrong"), NAN, NULL},  {"6", SOURCE("1100", "1", "6"), NAN, NULL},
        {"7", SOURCE("500", "1", "7"), NAN, NULL}};
    struct fake fake;
    fake_begin(&fake, plans, COUNT_OF(plans), TUNE_GATE_AUTO);
    run(&fake);
    const struct tune_state *state = fake_state(&fake);
    assert_true(state->finished);
    assert_int_equal(state->round, 5);
    assert_non_null(strstr(state->wait_text, "5 rounds in a row"));
    run(&fake); /* continuing all the same finds the gain */
    assert_float_equal(state->attempts.at[state->best].latency_us, 500, 1e-9);
    fake_end(&fake);
}

static void budgets_stop_before_they_are_passed(void **unused) {
    (void)unused;
    static const struct fake_plan plans[] = {{"1", SOURCE("900", "1", "1"), NAN, NULL},
                                             {"2", SOURCE("800", "1", "2"), NAN, NULL},
                                             {"3", SOURCE("700", "1", "3"), NAN, NULL},
                                             {"4", SOURCE("600", "1", "4"), NAN, NULL}};
    struct fake fake;
    fake_begin(&fake, plans, COUNT_OF(plans), TUNE_GATE_AUTO);
    fake_act(&fake, (struct tune_action){
                        .kind = TUNE_ACT_SET_BUDGET, .index = TUNE_BUDGET_ROUNDS, .number = 2});
    run(&fake);
    const struct tune_state *state = fake_state(&fake);
    assert_int_equal(state->round, 2);
    assert_non_null(strstr(state->wait_text, "all 2 rounds"));
    fake_act(&fake, (struct tune_action){
                        .kind = TUNE_ACT_SET_BUDGET, .index = TUNE_BUDGET_ROUNDS, .number = 50});
    double spent = state->budgets[TUNE_BUDGET_DEVICE_S].spent;
    assert_true(spent >= 2.5); /* half a second an evaluation: one, and two a round */
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_SET_BUDGET,
                                         .index = TUNE_BUDGET_DEVICE_S,
                                         .number = spent + 0.1});
    run(&fake);
    assert_int_equal(state->round, 2);
    assert_non_null(strstr(state->wait_text, "device"));
    assert_true(isnan(state->budgets[TUNE_BUDGET_TOKENS].spent));
    fake_end(&fake);
}

static void a_wrong_seed_kernel_stops_at_once(void **unused) {
    (void)unused;
    static const struct fake_plan plans[] = {{"1", SOURCE("900", "1", "1"), NAN, NULL}};
    struct fake fake;
    fake_begin(&fake, plans, COUNT_OF(plans), TUNE_GATE_AUTO);
    tune_session_close(fake.session);
    fake_file(fake.folder, "kernel.py", "def kernel(): x = '''\n    # wrong\n'''\n");
    fake.options.fresh = true;
    fake_open(&fake);
    run(&fake);
    const struct tune_state *state = fake_state(&fake);
    assert_true(state->finished);
    assert_non_null(strstr(state->wait_text, "the seed kernel itself is wrong"));
    assert_int_equal(fake.proposer.asked, 0);
    assert_int_equal(state->incumbent, -1);
    fake_end(&fake);
}

/* Evaluations are tried again twice, at once. */
static struct config *soon_again(struct fake *fake) {
    struct err err = {0};
    struct config *config = config_load(NULL, &err);
    assert_non_null(config);
    assert_true(config_set(config, "limits", "retries", "2", &err));
    assert_true(config_set(config, "limits", "retry_wait_s", "0.001", &err));
    tune_session_close(fake->session);
    fake->options.config = config;
    fake_open(fake);
    return config;
}

static void who_kills_a_runner_says_nothing_of_its_kernel(void **unused) {
    (void)unused;
    static const struct fake_plan plans[] = {{"1", SOURCE("900", "1", "crash"), NAN, NULL},
                                             {"2", SOURCE("900", "2", "2"), NAN, NULL}};
    struct fake fake;
    fake_begin(&fake, plans, COUNT_OF(plans), TUNE_GATE_AUTO);
    struct config *config = soon_again(&fake);
    run(&fake);
    const struct tune_state *state = fake_state(&fake);
    assert_false(state->running);
    assert_int_equal(state->wait, TUNE_WAIT_PAUSED);
    assert_non_null(strstr(state->wait_text, "killed by signal 9 (tried 3 times)"));
    assert_int_equal(state->attempts.len, 2);
    assert_int_equal(state->attempts.at[1].status, TUNE_STATUS_OPEN);
    assert_int_equal(state->attempts.at[1].verdict.compiles, TUNE_ANSWER_UNKNOWN);
    assert_int_equal(state->diagnostics.len, 0);
    assert_int_equal(state->steps[TUNE_STEP_VERIFY].is, TUNE_IS_RUNNING);
    assert_int_equal(state->memory.len, 0);
    fake_end(&fake);
    config_free(config);
}

static void what_passes_leaves_no_trace(void **unused) {
    (void)unused;
    static const struct fake_plan plans[] = {{"1", SOURCE("500", "1", "1"), NAN, NULL}};
    struct fake fake;
    fake_begin(&fake, plans, COUNT_OF(plans), TUNE_GATE_AUTO);
    struct config *config = soon_again(&fake);
    fake.place.fails = 2;
    run(&fake);
    const struct tune_state *state = fake_state(&fake);
    assert_int_equal(state->attempts.at[0].status, TUNE_STATUS_KEEP);
    assert_int_equal(state->attempts.at[0].seeds.len, state->seeds.len);
    assert_int_equal(state->attempts.at[1].status, TUNE_STATUS_KEEP);
    assert_int_equal(state->incumbent, 1);
    fake_end(&fake);
    config_free(config);
}

static void what_crashes_every_time_is_the_kernel(void **unused) {
    (void)unused;
    static const struct fake_plan plans[] = {{"1", SOURCE("900", "1", "dies"), NAN, NULL},
                                             {"2", SOURCE("500", "2", "2"), NAN, NULL}};
    struct fake fake;
    fake_begin(&fake, plans, COUNT_OF(plans), TUNE_GATE_AUTO);
    struct config *config = soon_again(&fake);
    run(&fake);
    const struct tune_state *state = fake_state(&fake);
    assert_int_equal(state->attempts.at[1].status, TUNE_STATUS_FAILED);
    assert_non_null(
        strstr(state->attempts.at[1].verdict.correct_why, "this happened each of 3 times"));
    assert_string_equal(state->diagnostics.at[0].cause, "crash");
    assert_int_equal(state->incumbent, 2);
    fake_end(&fake);
    config_free(config);
}

static char *read_in(const struct fake *fake, const char *name) {
    char *path = path_join(tune_session_folder(fake->session), name);
    struct err err = {0};
    size_t size = 0;
    char *text = file_read(path, 0, &size, &err);
    if (!text)
        fail_msg("%s", err.text);
    free(path);
    return text;
}

static void the_files_for_others_are_written(void **unused) {
    (void)unused;
    static const struct fake_plan plans[] = {{"gain", SOURCE("500", "400", "one"), 0.4, NULL},
                                             {"loss", SOURCE("700", "400", "two"), 0.4, NULL}};
    struct fake fake;
    fake_begin(&fake, plans, COUNT_OF(plans), TUNE_GATE_AUTO);
    run(&fake);
    char *text = read_in(&fake, "experiments.jsonl");
    struct str rest = str_of(text), line;
    static const char *const status[] = {"baseline", "improved", "no_improvement"};
    for (size_t i = 0; i < COUNT_OF(status); i++) {
        assert_true(str_next(&rest, '\n', &line));
        cJSON *object = cJSON_ParseWithLength(line.at, line.len);
        assert_string_equal(tune_json_text(object, "status"), status[i]);
        assert_true(tune_json_number(object, "latency_ms") > 0);
        assert_non_null(tune_json_at(object, "profile"));
        cJSON_Delete(object);
    }
    free(text);
    text = read_in(&fake, "optimization_memory/rewrites.json");
    cJSON *list = cJSON_Parse(text);
    assert_int_equal(cJSON_GetArraySize(list), 2);
    assert_string_equal(tune_json_text(cJSON_GetArrayItem(list, 0), "title"), "gain");
    cJSON_Delete(list);
    free(text);
    const struct tune_attempt *best = &fake_state(&fake)->attempts.at[1];
    text = read_in(&fake, best->path);
    assert_string_equal(text, tune_source(fake_state(&fake), best));
    free(text);
    size_t count = 0;
    struct tune_recent *recent = tune_recent_list(&count);
    assert_true(count >= 1);
    assert_string_equal(recent[0].path, fake.folder);
    assert_non_null(strstr(recent[0].last, "2.00x"));
    tune_recent_free(recent, count);
    fake_end(&fake);
}

static void a_plan_that_was_left_is_known(void **unused) {
    (void)unused;
    static const struct fake_plan plan = {"gain", "# latency 500\n", NAN, NULL};
    struct fake fake;
    fake_begin(&fake, &plan, 1, TUNE_GATE_AUTO);
    run(&fake);
    const struct tune_state *state = fake_state(&fake);
    assert_int_equal(state->incumbent, 1);
    struct tune_context *context = tune_context_build(state, 0);
    assert_int_equal(context->left.len, 0);
    tune_context_free(context);
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_REVERT, .attempt = 0});
    context = tune_context_build(state, 0);
    assert_int_equal(context->left.len, 1);
    assert_string_equal(context->left.at[0], state->attempts.at[1].plan.key);
    tune_context_free(context);
    fake_end(&fake);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gains_are_kept_and_losses_reverted),
        cmocka_unit_test(a_prediction_of_the_judge_is_computed),
        cmocka_unit_test(sentences_are_joined_with_one_stop),
        cmocka_unit_test(what_lies_inside_the_models_error_is_not_kept_unasked),
        cmocka_unit_test(the_gate_says_why_seeds_were_not_run),
        cmocka_unit_test(each_way_to_end_is_told_apart),
        cmocka_unit_test(a_broken_candidate_gets_three_repair_turns),
        cmocka_unit_test(the_compilers_own_error_gets_one_repair_turn),
        cmocka_unit_test(what_has_to_be_repaired_is_told_with_class_line_and_meaning),
        cmocka_unit_test(wrong_numbers_are_repaired_by_their_diagnosis),
        cmocka_unit_test(what_a_diagnosis_says_is_what_has_to_be_repaired),
        cmocka_unit_test(what_cannot_be_carried_out_is_not_asked_again),
        cmocka_unit_test(the_plateau_stops),
        cmocka_unit_test(budgets_stop_before_they_are_passed),
        cmocka_unit_test(a_wrong_seed_kernel_stops_at_once),
        cmocka_unit_test(who_kills_a_runner_says_nothing_of_its_kernel),
        cmocka_unit_test(what_passes_leaves_no_trace),
        cmocka_unit_test(what_crashes_every_time_is_the_kernel),
        cmocka_unit_test(the_files_for_others_are_written),
        cmocka_unit_test(a_plan_that_was_left_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
