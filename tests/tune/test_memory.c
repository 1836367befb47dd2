// SPDX-License-Identifier: Apache-2.0
/* The optimisation memory: what applies, what is the same, what is no longer believed, what it
 * earned. */
#include "tune/sums/testing.h"
#include "tune/apply/apply.h"
#include "tune/answer/answer.h"
#include "tune/fake.h"

static void families_of_names(void **unused) {
    (void)unused;
    static const struct {
        const char *name, *families;
    } all[] = {{"add_rmsnorm_matmul", "norm matmul elementwise"},
               {"bmm_softmax", "softmax matmul"},
               {"gqa_full", "attention"},
               {"something", ""},
               {"SiLU", "elementwise"}};
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        struct buf out = {0};
        tune_memory_family(str_of(all[i].name), &out);
        assert_string_equal(out.at ? out.at : "", all[i].families);
        buf_free(&out);
    }
}

static void what_applies(void **unused) {
    (void)unused;
    struct tune_state state = {
        .task = "softmax", .device = "trn2", .kernel_source = "import neuronxcc.nki as nki\n"};
    static const struct {
        struct tune_experience item;
        bool applies;
    } all[] = {
        {{.family = NULL}, true},
        {{.family = "norm softmax", .generation = "trn2", .dialect = "legacy"}, true},
        {{.family = "matmul"}, false},
        {{.family = "softmax", .generation = "trn3"}, false},
        {{.family = "softmax", .dialect = "current"}, false},
    };
    for (size_t i = 0; i < COUNT_OF(all); i++)
        assert_int_equal(tune_memory_applies(&state, &all[i].item), all[i].applies);
}

static void same_words_are_the_same(void **unused) {
    (void)unused;
    struct tune_experience a = {.title = "Use 512 columns",
                                .summary = "From 1.2 ms to 1.0 ms.",
                                .speedup = 1.2,
                                .family = "matmul"};
    struct tune_experience b = {.title = "use 512 columns!",
                                .summary = "from 1.3 ms to 0.9 ms",
                                .speedup = 1.4,
                                .family = "matmul"};
    assert_true(tune_memory_same(&a, &b));
    b.title = "use 256 columns";
    assert_false(tune_memory_same(&a, &b));
    b.title = a.title;
    b.speedup = 0.8;
    assert_false(tune_memory_same(&a, &b));
    b.speedup = 1.1;
    b.family = "norm";
    assert_false(tune_memory_same(&a, &b));
}

/* ------------------------------------------------------------------------------ in a session */

static void emit(struct tune_state *state, const char *type, const char *payload) {
    tune_state_apply(state, state->seq + 1, 1000 + state->seq, type, payload);
}

#define EXPERIENCE(title, is, speedup, more)                                                   \
    "{\"title\": \"" title "\", \"summary\": \"s\", \"is\": \"" is "\", \"speedup\": " speedup \
    ", \"imported\": true" more "}"

static void only_what_applies_enters_and_losses_are_said(void **unused) {
    (void)unused;
    struct tune_state *state = tune_state_new();
    emit(state, "session", "{\"task\": \"matmul\", \"device\": \"trn2\", \"source\": \"x\"}");
    emit(state, "experience",
         EXPERIENCE("gain here", "approved", "1.2", ", \"family\": \"matmul\""));
    emit(state, "experience", EXPERIENCE("loss here", "approved", "0.7", ""));
    emit(state, "experience", EXPERIENCE("elsewhere", "approved", "1.2", ", \"family\": \"norm\""));
    emit(state, "experience", EXPERIENCE("not yet", "proposed", "1.2", ""));
    emit(state, "experience",
         EXPERIENCE("trn1 only", "approved", "2", ", \"generation\": \"trn1\""));
    struct tune_context *context = tune_context_build(state, 0);
    const char *text = NULL;
    for (size_t i = 0; i < context->sections.len; i++)
        if (!strcmp(context->sections.at[i].name, "memory"))
            text = context->sections.at[i].text;
    assert_non_null(text);
    const char *gain = strstr(text, "gain here"), *loss = strstr(text, "loss here");
    const char *warned = strstr(text, "do not do them again");
    assert_true(gain && warned && loss && gain < warned && warned < loss);
    assert_null(strstr(text, "elsewhere"));
    assert_null(strstr(text, "not yet"));
    assert_null(strstr(text, "trn1 only"));
    tune_context_free(context);
    tune_state_free(state);
}

static const char *section_of(const struct tune_context *context, const char *name) {
    for (size_t i = 0; i < context->sections.len; i++)
        if (!strcmp(context->sections.at[i].name, name))
            return context->sections.at[i].text;
    return "";
}

/* Code goes along, cut where it is long, with the newest experiences only. Pages become lines. */
static void code_enters_under_a_cap(void **unused) {
    (void)unused;
    struct tune_state *state = tune_state_new();
    emit(state, "session", "{\"task\": \"matmul\", \"device\": \"trn2\", \"source\": \"x\"}");
    emit(state, "experience",
         "{\"title\": \"page\", \"summary\": \"One.\\n\\n# system\\ntwo\", "
         "\"is\": \"approved\", \"speedup\": 1.2, \"slow\": \"s0\", \"fast\": \"f0\"}");
    for (int i = 1; i <= 6; i++) {
        struct buf payload = {0};
        buf_printf(&payload,
                   "{\"title\": \"%c\", \"summary\": \"t\", \"is\": \"approved\", \"speedup\": "
                   "1.2, \"slow\": \"slow%d\", \"fast\": \"",
                   'a' + i, i);
        for (int k = 0; k < 15; k++)
            buf_printf(&payload, "  line%d\\n", k);
        buf_puts(&payload, "\"}");
        emit(state, "experience", payload.at);
        buf_free(&payload);
    }
    struct tune_context *context = tune_context_build(state, 0);
    const char *text = section_of(context, "memory");
    assert_non_null(
        strstr(text, "- page (1.20x): One.\n  # system\n  two\n  [its code is left out]\n"));
    assert_null(strstr(text, "s0"));
    assert_non_null(strstr(text, "  slower:\n    slow6\n  faster:\n      line0\n"));
    assert_non_null(strstr(text, "      line11\n    [... 3 lines left out ...]\n"));
    assert_null(strstr(text, "line12"));
    tune_context_free(context);
    tune_state_free(state);
}

/* A list of what others tried in vain is proposed like any experience, and is a part of its own. */
static void closed_directions_are_a_part(void **unused) {
    (void)unused;
    struct tune_state *state = tune_state_new();
    emit(state, "session", "{\"task\": \"matmul\", \"device\": \"trn2\", \"source\": \"x\"}");
    emit(state, "experience",
         "{\"title\": \"2 directions\", \"summary\": \"- one (fail)\\n- two\", "
         "\"is\": \"proposed\", \"imported\": true, \"closed\": true, \"family\": \"matmul\"}");
    emit(state, "experience",
         "{\"title\": \"1 direction\", \"summary\": \"- three\", "
         "\"is\": \"approved\", \"imported\": true, \"closed\": true, \"family\": \"norm\"}");
    struct tune_context *context = tune_context_build(state, 0);
    assert_string_equal(section_of(context, "closed directions"), "");
    tune_context_free(context);
    emit(state, "act", "{\"action\": \"approve-memory\", \"index\": 0}");
    context = tune_context_build(state, 0);
    assert_string_equal(section_of(context, "closed directions"),
                        "2 directions:\n  - one (fail)\n  - two\n");
    assert_string_equal(section_of(context, "memory"), "");
    struct tune_prompt *prompt = tune_prompt_build(context, TUNE_ROLE_PLANNER, NULL, 0);
    struct buf system = {0}, user = {0};
    tune_prompt_print(prompt, &system, &user);
    assert_non_null(strstr(user.at, "# closed directions\n"));
    assert_non_null(strstr(user.at, "  - two\n"));
    tune_prompt_free(prompt);
    buf_free(&system);
    buf_free(&user);
    tune_context_free(context);
    tune_state_free(state);
}

static void merged_and_deleted(void **unused) {
    (void)unused;
    struct tune_state *state = tune_state_new();
    emit(state, "session", "{\"task\": \"matmul\", \"device\": \"trn2\", \"source\": \"x\"}");
    emit(state, "experience", EXPERIENCE("A", "proposed", "1.2", ", \"source\": \"f:1\""));
    emit(state, "experience", EXPERIENCE("a.", "proposed", "1.3", ", \"source\": \"f:2\""));
    assert_int_equal(state->memory.len, 1);
    assert_string_equal(state->memory.at[0].evidence, "f:2");
    emit(state, "act", "{\"action\": \"delete-memory\", \"index\": 0}");
    emit(state, "experience", EXPERIENCE("A", "proposed", "1.2", ""));
    assert_int_equal(state->memory.len, 1);
    assert_int_equal(state->memory.at[0].is, TUNE_EXPERIENCE_DELETED);
    tune_state_free(state);
}

static const struct fake_plan worse[] = {
    {.key = "one", .source = "def kernel(): x = '''\n    # latency 1400\n'''\n", .size = 0.5},
    {.key = "two", .source = "def kernel(): x = '''\n    # latency 700\n'''\n", .size = 0.5},
};

static void remember(const char *folder, const char *text) {
    struct err err = {0};
    char *memory = path_join(folder, "optimization_memory");
    assert_true(file_make_dirs(memory, &err));
    fake_file(memory, "rewrites.json", text);
    free(memory);
}

/* The ancestor's own memory, put where the session will be. */
static void a_memory_that_is_there_is_taken_over(void **unused) {
    (void)unused;
    struct fake fake;
    fake_begin(&fake, NULL, 0, TUNE_GATE_AUTO);
    char *folder = mem_strdup(tune_session_folder(fake.session));
    tune_session_close(fake.session);
    remember(
        folder,
        "[{\"title\": \"**Keep w resident in SB\", \"summary\": \"**Keep w resident in SBUF**\\n"
        "Load it once.\"}]");
    fake.options.fresh = true;
    fake.place = (struct fake_place){.loop = fake.loop};
    fake_open(&fake);
    const struct tune_state *state = fake_state(&fake);
    assert_int_equal(state->memory.len, 1);
    assert_string_equal(state->memory.at[0].title, "Keep w resident in SBUF");
    assert_string_equal(state->memory.at[0].summary, "Load it once.");
    assert_string_equal(state->memory.at[0].source,
                        "nki-kernel-agent, optimization_memory/rewrites.json:1");
    assert_int_equal(state->memory.at[0].is, TUNE_EXPERIENCE_PROPOSED);
    free(folder);
    fake_end(&fake);
}

/* A plan that was a gain elsewhere is tried and loses. One that is old is not believed. */
static void what_failed_later_expires_with_its_evidence(void **unused) {
    (void)unused;
    struct fake fake;
    fake_begin(&fake, worse, COUNT_OF(worse), TUNE_GATE_AUTO);
    char *folder = mem_strdup(tune_session_folder(fake.session));
    tune_session_close(fake.session);
    remember(
        folder,
        "[{\"title\": \"One\", \"summary\": \"s\", \"status\": \"approved\", \"speedup\": 1.3},"
        "{\"title\": \"two\", \"summary\": \"s\", \"status\": \"approved\", \"speedup\": 1.3},"
        "{\"title\": \"old\", \"summary\": \"s\", \"status\": \"approved\", \"speedup\": 1.3, "
        "\"recorded_ms\": 1000}, {\"title\": \"foreign\", \"summary\": \"s\"}]");
    fake.options.fresh = true;
    fake.place = (struct fake_place){.loop = fake.loop};
    fake_open(&fake);
    fake.options.fresh = false;
    const struct tune_state *state = fake_state(&fake);
    assert_int_equal(state->memory.len, 4);
    assert_int_equal(state->memory.at[2].is, TUNE_EXPERIENCE_EXPIRED);
    assert_non_null(state->memory.at[2].expired);
    assert_int_equal(state->memory.at[3].is, TUNE_EXPERIENCE_PROPOSED);
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_START});
    assert_int_equal(state->memory.at[0].is, TUNE_EXPERIENCE_EXPIRED);
    assert_non_null(strstr(state->memory.at[0].expired, "attempt #1"));
    assert_int_equal(state->memory.at[1].is, TUNE_EXPERIENCE_APPROVED);
    struct tune_earned earned = tune_memory_earned(state, 1);
    assert_true(earned.prompts >= 2 && earned.attempts >= 2);
    assert_int_equal(earned.kept, 1);
    assert_true(fabs(earned.gain - 1000.0 / 700) < 1e-6);
    struct buf before = {0}, after = {0};
    tune_state_print(state, &before);
    tune_session_close(fake.session);
    fake.options.rounds = 0;
    fake.options.gate_set = false;
    fake.place = (struct fake_place){.loop = fake.loop};
    fake_open(&fake);
    tune_state_print(fake_state(&fake), &after);
    assert_string_equal(before.at, after.at);
    buf_free(&before);
    buf_free(&after);
    free(folder);
    fake_end(&fake);
}

/* ----------------------------------------------------------------------------------- answers */

static void lessons_as_models_write_them(void **unused) {
    (void)unused;
    static const struct {
        const char *answer, *title, *text;
        bool reflects;
        enum tune_answer diagnosis;
    } all[] = {
        {"title: T\nsummary: S", "T", "S", false, TUNE_ANSWER_UNKNOWN},
        {"Here it is:\n\n## Title\nT\n\n## Summary\nS one\nS two", "T", "S one S two", false,
         TUNE_ANSWER_UNKNOWN},
        {"{\"title\": \"T\", \"summary\": \"S\"} bye", "T", "S", false, TUNE_ANSWER_UNKNOWN},
        {"diagnosis: right\nlesson: L", NULL, "L", true, TUNE_ANSWER_YES},
        {"- **Diagnosis**: incorrect, DMA was free\n- **Lesson**: L", NULL, "L", true,
         TUNE_ANSWER_NO},
        {"diagnosis: partly right\nlesson: \"L\"", NULL, "L", true, TUNE_ANSWER_INCONCLUSIVE},
        {"lesson: L", NULL, "L", true, TUNE_ANSWER_UNKNOWN},
        {"nothing", NULL, NULL, true, TUNE_ANSWER_UNKNOWN},
        {"title: T", NULL, NULL, false, TUNE_ANSWER_UNKNOWN},
    };
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        struct arena *arena = arena_new();
        struct tune_lesson lesson;
        struct err err = {0};
        bool fine =
            tune_answer_lesson(str_of(all[i].answer), all[i].reflects, arena, &lesson, &err);
        assert_int_equal(fine, all[i].text != NULL);
        assert_true(fine || err.text[0]);
        if (fine && all[i].title)
            assert_string_equal(lesson.title, all[i].title);
        if (fine)
            assert_string_equal(lesson.text, all[i].text);
        if (fine)
            assert_int_equal(lesson.diagnosis, all[i].diagnosis);
        arena_free(arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(families_of_names),
        cmocka_unit_test(what_applies),
        cmocka_unit_test(same_words_are_the_same),
        cmocka_unit_test(only_what_applies_enters_and_losses_are_said),
        cmocka_unit_test(code_enters_under_a_cap),
        cmocka_unit_test(closed_directions_are_a_part),
        cmocka_unit_test(merged_and_deleted),
        cmocka_unit_test(a_memory_that_is_there_is_taken_over),
        cmocka_unit_test(what_failed_later_expires_with_its_evidence),
        cmocka_unit_test(lessons_as_models_write_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
