/* SPDX-License-Identifier: Apache-2.0 */
/* A candidate is inspected before it is run. One that cheats or computes in less precision closes
 * its turn with a text that the repair sees. It costs no time of the place. */
#include "tune/fake.h"

#include "runner/runner.h"
#include "tune/ask/testing.h"

static const char kernel[] = "import nki\nimport nki.isa as nisa\nimport nki.language as nl\n\n\n"
                             "@nki.jit\ndef kernel(x):\n    return x\n";

#define WITH(line)                                                                \
    "import nki\nimport nki.isa as nisa\nimport nki.language as nl\n" line "\n\n" \
    "@nki.jit\ndef kernel(x):\n    return x\n# latency 500\n"

static void begin(struct fake *fake, const struct fake_plan *plan) {
    fake_begin(fake, plan, 1, TUNE_GATE_AUTO);
    tune_session_close(fake->session);
    fake_file(fake->folder, "kernel.py", kernel);
    fake->options.fresh = true;
    fake_open(fake);
    fake_act(fake, (struct tune_action){
                       .kind = TUNE_ACT_SET_BUDGET, .index = TUNE_BUDGET_ROUNDS, .number = 1});
}

static const struct tune_diagnostic *finding(const struct tune_state *state, const char *code) {
    for (size_t i = 0; i < state->diagnostics.len; i++)
        if (strcmp(state->diagnostics.at[i].code, code) == 0)
            return &state->diagnostics.at[i];
    fail_msg("nothing says %s", code);
    return NULL;
}

static void a_candidate_that_cheats_is_not_run_and_goes_into_a_repair_turn(void **unused) {
    (void)unused;
    static const struct fake_plan plan = {"cheat", WITH("import os"), NAN, WITH("N = 4")};
    struct fake fake;
    begin(&fake, &plan);
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_START});
    const struct tune_state *state = fake_state(&fake);
    const struct tune_diagnostic *found = finding(state, "hone-candidate-import");
    assert_int_equal(found->line, 4);
    assert_int_equal(found->attempt, -1); /* of the turn before */
    assert_non_null(strstr(found->message, "'os'"));
    assert_non_null(strstr(found->message, "Remove the import"));
    assert_int_equal(fake.proposer.repairs, 1);
    assert_int_equal(state->attempts.at[1].repairs, 1);
    assert_int_equal(state->attempts.at[1].status, TUNE_STATUS_KEEP);
    assert_int_equal(fake.place.started, 3); /* the baseline, one seed of the repair, the rest */
    fake_end(&fake);
}

static void one_that_cannot_be_repaired_fails_and_costs_nothing(void **unused) {
    (void)unused;
    static const struct fake_plan plan = {"cheat", WITH("x = open('reference.py')"), NAN, NULL};
    struct fake fake;
    begin(&fake, &plan);
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_START});
    const struct tune_state *state = fake_state(&fake);
    const struct tune_attempt *attempt = &state->attempts.at[1];
    assert_int_equal(attempt->status, TUNE_STATUS_FAILED);
    assert_int_equal(attempt->verdict.compiles, TUNE_ANSWER_NO);
    assert_non_null(strstr(attempt->verdict.compiles_why, "refused before it was run: line 4"));
    assert_int_equal(fake.place.started, 1); /* the baseline */
    fake_end(&fake);
}

/* What is told of a name and what helps are two sentences, also where the first one asks. */
static void a_mistyped_name_is_told_in_whole_sentences(void **unused) {
    (void)unused;
    static const struct fake_plan plan = {"typo", WITH("Y = nl.copyy"), NAN, NULL};
    struct fake fake;
    begin(&fake, &plan);
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_START});
    const char *told = finding(fake_state(&fake), "hone-candidate-unknown")->message;
    assert_non_null(strstr(told, "did you mean 'copy'? The file does not define it"));
    fake_end(&fake);
}

static void the_release_that_the_target_reports_counts(void **unused) {
    (void)unused;
    static const struct fake_plan plan = {"loop", WITH("F = nl.fori_loop"), NAN, NULL};
    static const char *const releases[] = {NULL, "0.6.0", "0.5.0"};
    for (size_t i = 0; i < COUNT_OF(releases); i++) {
        struct fake fake;
        begin(&fake, &plan);
        fake.place.nki = releases[i];
        fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_START});
        const struct tune_state *state = fake_state(&fake);
        bool old = releases[i] && !strcmp(releases[i], "0.5.0");
        assert_int_equal(state->attempts.at[1].status, old ? TUNE_STATUS_FAILED : TUNE_STATUS_KEEP);
        if (old)
            assert_non_null(strstr(finding(state, "hone-newer-name")->message,
                                   "it came with NKI 0.6, the target has 0.5.0"));
        struct tune_context *context = tune_context_build(state, 0);
        struct buf prompt = {0};
        tune_context_print(context, &prompt);
        assert_true((strstr(prompt.at, ", NKI 0.") != NULL) == (releases[i] != NULL));
        buf_free(&prompt);
        tune_context_free(context);
        fake_end(&fake);
    }
}

/* A kernel that the parser does not take, as the first kernel of a session, and one of a
 * harness. */
#define ODD "type Number = int\n"
#define HARNESS "import os\n\n\ndef tell():\n    os.getpid()\n\n\n"
#define OLD_KERNEL "import nki\n\n\n@nki.jit\ndef kernel(x):\n    return x\n"
#define NEW_KERNEL(line)                                                     \
    "import nki\n\n\n@nki.jit\ndef kernel(x):\n    " line "\n    return x\n" \
    "# latency 500\n"

static void begin_with(struct fake *fake, const struct fake_plan *plan, const char *original) {
    begin(fake, plan);
    tune_session_close(fake->session);
    fake_file(fake->folder, "kernel.py", original);
    fake_open(fake);
    fake_act(fake, (struct tune_action){
                       .kind = TUNE_ACT_SET_BUDGET, .index = TUNE_BUDGET_ROUNDS, .number = 1});
}

static enum tune_status status_after(const char *original, const char *source, bool allows) {
    const struct fake_plan plan = {"it", source, NAN, NULL};
    struct fake fake;
    begin_with(&fake, &plan, original);
    if (allows)
        fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_ALLOW});
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_START});
    enum tune_status status = fake_state(&fake)->attempts.at[1].status;
    assert_int_equal(fake.place.started > 1, status == TUNE_STATUS_KEEP);
    fake_end(&fake);
    return status;
}

static void there_is_no_way_past_the_list(void **unused) {
    (void)unused;
    static const char bad[] = NEW_KERNEL("open('reference.py')");
    /* So it is when the first kernel does not parse either. What does not parse is not run. */
    assert_int_equal(status_after(ODD, bad, false), TUNE_STATUS_FAILED);
    assert_int_equal(status_after(ODD, NEW_KERNEL("y = x"), false), TUNE_STATUS_KEEP);
    assert_int_equal(status_after(ODD, ODD "# latency 500\n", false), TUNE_STATUS_FAILED);
    assert_int_equal(status_after(kernel, ODD "# latency 500\n", false), TUNE_STATUS_FAILED);
}

static void what_the_first_kernel_uses_is_for_candidates_once_it_is_allowed(void **unused) {
    (void)unused;
    static const char keeps[] = HARNESS NEW_KERNEL("y = x");
    static const char uses[] = HARNESS NEW_KERNEL("os.getpid()");
    assert_int_equal(status_after(HARNESS OLD_KERNEL, keeps, false), TUNE_STATUS_KEEP);
    assert_int_equal(status_after(HARNESS OLD_KERNEL, uses, false), TUNE_STATUS_FAILED);
    assert_int_equal(status_after(HARNESS OLD_KERNEL, uses, true), TUNE_STATUS_KEEP);
}

static bool is_told(const struct tune_state *state, const char *words) {
    for (size_t i = 0; i < state->logs.len; i++)
        if (strstr(state->logs.at[i].text, words))
            return true;
    return false;
}

static void the_person_is_shown_it_and_can_take_the_word_back(void **unused) {
    (void)unused;
    const struct fake_plan plan = {"it", HARNESS NEW_KERNEL("os.getpid()"), NAN, NULL};
    struct fake fake;
    begin_with(&fake, &plan, HARNESS OLD_KERNEL);
    const struct tune_state *state = fake_state(&fake);
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_ALLOW});
    assert_true(state->allows_seed);
    assert_false(fake_try(&fake, (struct tune_action){.kind = TUNE_ACT_ALLOW}));
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_UNDO});
    assert_false(fake_state(&fake)->allows_seed);
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_START});
    state = fake_state(&fake);
    assert_true(is_told(state, "line 1: a candidate may not import 'os'"));
    assert_true(is_told(state, ":allow"));
    for (size_t i = 0; i < state->logs.len; i++)
        if (!strcmp(state->logs.at[i].phase, "guard"))
            assert_true(strlen(state->logs.at[i].text) <= 100);
    assert_int_equal(state->attempts.at[1].status, TUNE_STATUS_FAILED);
    fake_end(&fake);
    begin_with(&fake, &plan, kernel);
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_START});
    assert_false(is_told(fake_state(&fake), "uses what candidates may not"));
    fake_end(&fake);
}

/* ---- with shapes: the program is looked at, on a worker thread ------------------------------ */

static void replace(struct buf *text, const char *what, const char *by) {
    char *at = strstr(text->at, what);
    assert_non_null(at);
    struct buf out = {0};
    buf_add(&out, text->at, (size_t)(at - text->at));
    buf_puts(&out, by);
    buf_puts(&out, at + strlen(what));
    buf_free(text);
    *text = out;
}

/* The seed kernel silu with one change, proposed for it. The reference runs once, for the
 * shapes. */
static void propose(struct fake *fake, struct fake_plan *plan, struct buf *text, const char *what,
                    const char *by) {
    struct str seed = embed_find("seeds/silu/kernel.py");
    struct str reference = embed_find("seeds/silu/reference.py");
    struct buf file = {0};
    buf_add(text, seed.at, seed.len);
    replace(text, what, by);
    buf_puts(text, "# latency 500\n");
    *plan = (struct fake_plan){.key = "it", .source = text->at, .size = NAN};
    fake_begin(fake, plan, 1, TUNE_GATE_AUTO);
    tune_session_close(fake->session);
    buf_add(&file, seed.at, seed.len);
    fake_file(fake->folder, "kernel.py", file.at);
    buf_clear(&file);
    buf_add(&file, reference.at, reference.len);
    fake_file(fake->folder, "reference.py", file.at);
    buf_free(&file);
    fake->options.fresh = true;
    fake_open(fake);
    fake_act(fake, (struct tune_action){
                       .kind = TUNE_ACT_SET_BUDGET, .index = TUNE_BUDGET_ROUNDS, .number = 1});
}

struct waiting {
    bool done;
    struct err err;
};

static void on_inputs(void *data, struct task_inputs *inputs, const struct err *err) {
    struct waiting *waiting = data;
    waiting->done = true;
    if (err)
        waiting->err = *err;
    task_inputs_free(inputs);
}

static void find_shapes(struct fake *fake) {
    struct waiting waiting = {0};
    struct task_reference *reference =
        task_reference_open(fake->loop, fake_state(fake)->reference_path, NULL, &waiting.err);
    assert_non_null(reference);
    task_reference_prepare(reference, 0, on_inputs, &waiting);
    loop_run_until(fake->loop, &waiting.done, 0);
    if (waiting.err.kind != ERR_NONE)
        fail_msg("%s", waiting.err.text);
    task_reference_free(reference);
}

static void run_one(const char *what, const char *by, const char *precision, const char *code) {
    struct fake fake;
    struct fake_plan plan;
    struct buf text = {0};
    propose(&fake, &plan, &text, what, by);
    find_shapes(&fake);
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_SET_PRECISION, .text = precision});
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_START});
    const struct tune_state *state = fake_state(&fake);
    if (code)
        assert_true(finding(state, code)->line > 1);
    assert_int_equal(fake.place.started > 1, code == NULL);
    assert_int_equal(state->attempts.at[1].verdict.compiles,
                     code ? TUNE_ANSWER_NO : TUNE_ANSWER_YES);
    fake_end(&fake);
    buf_free(&text);
}

/* A name that is not there, and beside it what only evaluating shows; not what follows from them.
 */
static void all_that_stops_a_candidate_is_told_in_one_turn(void **unused) {
    (void)unused;
    struct fake fake;
    struct fake_plan plan;
    struct buf text = {0};
    propose(&fake, &plan, &text, "power = nl.exp(negated)",
            "power = nl.expo(negated)\n            nl.multiply(x_tile, negated[0:3])");
    find_shapes(&fake);
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_START});
    const struct tune_state *state = fake_state(&fake);
    size_t at = 0, count = 0;
    const struct tune_diagnostic *diag;
    int lines[3] = {0};
    while ((diag = tune_diagnostic_next(state, 1, &at)) && count < COUNT_OF(lines))
        lines[count++] = diag->line;
    assert_int_equal(count, 2);
    assert_int_equal(lines[1], lines[0] + 1);
    assert_int_equal(finding(state, "hone-candidate-unknown")->line, lines[0]);
    assert_non_null(strstr(state->attempts.at[1].verdict.compiles_why, "nki.language.expo"));
    fake_end(&fake);
    buf_free(&text);
}

static void the_program_tells_what_the_source_hides(void **unused) {
    (void)unused;
    run_one("nl.exp(negated)", "nl.exp(negated, dtype=nl.bfloat16)", "keep",
            "hone-candidate-precision");
    run_one("nl.exp(negated)", "nl.exp(negated, dtype=nl.bfloat16)", "any", NULL);
    run_one("range(M // TILE_M)", "range(M // TILE_M - 1)", "keep", "hone-candidate-unwritten");
    run_one("nl.multiply(x_tile, gate)", "nl.zeros((TILE_M, TILE_N), dtype=x.dtype)", "keep",
            "hone-candidate-constant");
    run_one("TILE_N = 256", "TILE_N = 512", "keep", NULL);
}

/* What the program of a candidate shows, whatever the session allows. */
static void class_of(const char *what, const char *by, enum tune_precision wanted) {
    struct fake fake;
    struct fake_plan plan;
    struct buf text = {0};
    propose(&fake, &plan, &text, what, by);
    find_shapes(&fake);
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_SET_PRECISION, .text = "any"});
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_START});
    const struct tune_state *state = fake_state(&fake);
    assert_int_equal(state->attempts.at[0].precision, TUNE_PRECISION_KEEP);
    assert_int_equal(state->attempts.at[1].precision, wanted);
    assert_int_equal(state->attempts.at[1].status, TUNE_STATUS_KEEP);
    assert_int_equal(state->best, 1);
    assert_int_equal(tune_best_in(state, TUNE_PRECISION_KEEP),
                     wanted == TUNE_PRECISION_KEEP ? 1 : 0);
    fake_end(&fake);
    buf_free(&text);
}

static void an_attempt_has_the_class_that_its_program_shows(void **unused) {
    (void)unused;
    class_of("TILE_N = 256", "TILE_N = 512", TUNE_PRECISION_KEEP);
    class_of("nl.exp(negated)", "nl.exp(negated, dtype=nl.bfloat16)", TUNE_PRECISION_SPLIT);
    class_of("nl.exp(negated)", "nl.exp(negated, dtype=nl.float16)", TUNE_PRECISION_ANY);
}

static void a_kernel_that_is_not_exact_enough_any_more_is_left(void **unused) {
    (void)unused;
    struct fake fake;
    struct fake_plan plan;
    struct buf text = {0};
    propose(&fake, &plan, &text, "nl.exp(negated)", "nl.exp(negated, dtype=nl.bfloat16)");
    find_shapes(&fake);
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_SET_PRECISION, .text = "split"});
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_START});
    const struct tune_state *state = fake_state(&fake);
    assert_int_equal(state->incumbent, 1);
    struct buf said = {0};
    tune_summary_print(state, NULL, NULL, &said);
    assert_non_null(strstr(said.at, ", precision split\n"));
    assert_non_null(strstr(said.at, "attempt 0, the best in precision keep\n"));
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_SET_PRECISION, .text = "keep"});
    assert_int_equal(state->best, 0);
    assert_int_equal(state->incumbent, 0);
    assert_int_equal(state->attempts.at[1].status, TUNE_STATUS_KEEP);
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_SET_PRECISION, .text = "any"});
    assert_int_equal(state->best, 1);
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_UNDO});
    assert_int_equal(state->best, 0);
    fake_end(&fake);
    buf_free(&said);
    buf_free(&text);
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "runner") == 0)
        return runner_main();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_candidate_that_cheats_is_not_run_and_goes_into_a_repair_turn),
        cmocka_unit_test(one_that_cannot_be_repaired_fails_and_costs_nothing),
        cmocka_unit_test(a_mistyped_name_is_told_in_whole_sentences),
        cmocka_unit_test(the_release_that_the_target_reports_counts),
        cmocka_unit_test(there_is_no_way_past_the_list),
        cmocka_unit_test(what_the_first_kernel_uses_is_for_candidates_once_it_is_allowed),
        cmocka_unit_test(the_person_is_shown_it_and_can_take_the_word_back),
        cmocka_unit_test(all_that_stops_a_candidate_is_told_in_one_turn),
        cmocka_unit_test(the_program_tells_what_the_source_hides),
        cmocka_unit_test(an_attempt_has_the_class_that_its_program_shows),
        cmocka_unit_test(a_kernel_that_is_not_exact_enough_any_more_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
