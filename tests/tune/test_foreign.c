// SPDX-License-Identifier: Apache-2.0
// Other agents' files: every format as their agents write it, damage, and what becomes of it in a
// session.
#include "tune/fake.h"
#include "tune/foreign.h"
#include "tune/memory.h"

static void read_text(struct tune_foreign *foreign, const char *name, const char *text) {
    tune_foreign_text(name, str_of(text), foreign);
}

static const char EXPERIMENTS[] =
    "{\"round\": 1, \"status\": \"improved\", \"latency_ms\": 1.5, \"score\": 1.2, "
    "\"plan\": \"Wider tiles\", \"error\": \"\", \"profile\": {\"ttft_ms\": 3.0}}\n"
    "\n"
    "{\"round\": 2, \"status\": \"compile_fail\", \"latency_ms\": Infinity, \"score\": NaN, "
    "\"plan\": \"Keep -Infinity in quotes\", \"error\": \"no \\\"code\\\" block\", \"profile\": {}}\n"
    "{\"round\": 3, \"status\": \"impro\n"
    "[1, 2]\n"
    "{\"round\": 4}\n"
    "{\"round\": 5, \"status\": \"no_improvement\", \"latency_ms\": 1.6, \"plan\": \"Split\"}\n";

static void experiments_of_the_ancestor(void **unused) {
    (void)unused;
    struct tune_foreign foreign = {0};
    read_text(&foreign, "old/experiments.jsonl", EXPERIMENTS);
    assert_int_equal(foreign.attempts.len, 3);
    assert_string_equal(foreign.attempts.at[0].agent, "nki-kernel-agent");
    assert_string_equal(foreign.attempts.at[0].source, "experiments.jsonl:1");
    assert_true(fabs(foreign.attempts.at[0].latency_us - 1500) < 1e-9);
    assert_int_equal(foreign.attempts.at[0].is, TUNE_STATUS_KEEP);
    assert_true(isnan(foreign.attempts.at[1].latency_us));
    assert_string_equal(foreign.attempts.at[1].title, "Keep -Infinity in quotes");
    assert_string_equal(foreign.attempts.at[1].reason, "no \"code\" block");
    assert_int_equal(foreign.attempts.at[1].is, TUNE_STATUS_FAILED);
    assert_int_equal(foreign.attempts.at[2].round, 5);
    assert_int_equal(foreign.complaints.len, 3);
    assert_true(str_starts(str_of(foreign.complaints.at[0]), "old/experiments.jsonl:4: "));
    assert_true(str_starts(str_of(foreign.complaints.at[1]), "old/experiments.jsonl:5: "));
    assert_true(str_starts(str_of(foreign.complaints.at[2]), "old/experiments.jsonl:6: "));
    assert_int_equal(foreign.experiences.len, 0);
    tune_foreign_free(&foreign);
}

static void rewrites_of_the_ancestor(void **unused) {
    (void)unused;
    struct tune_foreign foreign = {0};
    read_text(&foreign, "optimization_memory/rewrites.json",
              "[{\"title\": \"Reuse the weights\", \"summary\": \"Load w once.\"}, 7,\n"
              " {\"title\": \"\"}]");
    assert_int_equal(foreign.experiences.len, 1);
    const struct tune_experience *item = &foreign.experiences.at[0];
    assert_string_equal(item->title, "Reuse the weights");
    assert_string_equal(item->source, "nki-kernel-agent, rewrites.json:1");
    assert_int_equal(item->is, TUNE_EXPERIENCE_PROPOSED);
    assert_true(item->imported);
    assert_null(item->family);
    assert_true(isnan(item->speedup));
    assert_int_equal(foreign.complaints.len, 2);
    assert_true(str_starts(str_of(foreign.complaints.at[0]), "optimization_memory/rewrites.json:1: "));
    assert_true(str_starts(str_of(foreign.complaints.at[1]), "optimization_memory/rewrites.json:2: "));
    read_text(&foreign, "b/rewrites.json", "[{\"title\": \"x\",\n\n \"summary\" \"y\"}]");
    assert_true(str_starts(str_of(foreign.complaints.at[2]), "b/rewrites.json:3: "));
    tune_foreign_free(&foreign);
}

static void accelopt(void **unused) {
    (void)unused;
    struct tune_foreign foreign = {0};
    read_text(&foreign, "executor_results.json",
              "{\"exp_date\": \"d\", \"executor_results\": [{\"service_name\": \"bmm_softmax\", "
              "\"case_name\": \"c0\", \"plan_0_0\": {\"body\": \"import neuronxcc.nki as nki\\nfast\","
              " \"baseline\": \"import neuronxcc.nki as nki\\nslow\", \"spec_code\": \"Keep rows in "
              "SBUF\\nmore\", \"problem\": \"bmm_softmax\", \"latency\": 2.0, \"speedup\": 1.5}, "
              "\"plan_0_1\": {\"error\": \"timeout\"}, \"plan_1_0\": {\"body\": \"b\", "
              "\"spec_code\": \"Split\", \"problem\": \"bmm\", \"latency\": 9, \"speedup\": 0.5}}]}");
    assert_int_equal(foreign.attempts.len, 3);
    assert_string_equal(foreign.attempts.at[0].name, "plan_0_0");
    assert_string_equal(foreign.attempts.at[1].reason, "timeout");
    assert_int_equal(foreign.experiences.len, 2);
    const struct tune_experience *gain = &foreign.experiences.at[0];
    assert_string_equal(gain->family, "softmax matmul");
    assert_string_equal(gain->dialect, "legacy");
    assert_string_equal(gain->title, "Keep rows in SBUF");
    assert_non_null(strstr(gain->slow, "slow"));
    assert_true(foreign.experiences.at[1].speedup < 1);
    assert_string_equal(foreign.experiences.at[1].slow, "b");
    read_text(&foreign, "aggregated_rewrites_list.json",
              "[{\"service_name\": \"rope\", \"id\": \"plan_1\", \"speedup_original\": 0.5, "
              "\"speedup\": 2.0, \"slow_kernel\": \"s\", \"fast_kernel\": \"f\", \"summary\": \"S\", "
              "\"title\": \"T\"}, {\"service_name\": \"rope\", \"title\": \"No optimization found\"}]");
    assert_int_equal(foreign.experiences.len, 3);
    assert_true(foreign.experiences.at[2].speedup < 1);
    assert_string_equal(foreign.experiences.at[2].source, "AccelOpt, aggregated_rewrites_list.json:1");
    assert_int_equal(foreign.complaints.len, 0);
    tune_foreign_free(&foreign);
}

static void kda(void **unused) {
    (void)unused;
    struct tune_foreign foreign = {0};
    read_text(&foreign, "candidates.jsonl",
              "{\"id\": \"c1\", \"op\": \"rmsnorm\", \"candidate\": \"v1\", \"parent\": null, "
              "\"passed\": true, \"verdict\": \"promoted\", \"latency_ms\": 0.5, \"speedup\": 1.3, "
              "\"structure\": \"one pass\", \"metrics\": {}, \"notes\": \"Reads x once.\"}\n"
              "{\"id\": \"c2\", \"op\": \"rmsnorm\", \"parent\": \"c1\", \"passed\": false, "
              "\"verdict\": \"fail\", \"notes\": \"wrong on seed 21\"}\n");
    assert_int_equal(foreign.attempts.len, 2);
    assert_string_equal(foreign.attempts.at[1].parent, "c1");
    assert_int_equal(foreign.attempts.at[1].is, TUNE_STATUS_FAILED);
    assert_int_equal(foreign.experiences.len, 1);
    assert_string_equal(foreign.experiences.at[0].family, "norm");
    assert_string_equal(foreign.experiences.at[0].title, "one pass");
    tune_foreign_free(&foreign);
}

static void autocomp(void **unused) {
    (void)unused;
    struct tune_foreign foreign = {0};
    read_text(&foreign, "out/candidates-iter-3/candidate_1.txt",
              "CodeCandidate(parent=CodeCandidate(parent=None,\nplan=None,\ncode='''import nki\n"
              "x = \\'a\\'\n''',\nscore=4.0,\ntranslation_score=None,\nhw_feedback=[],\n"
              "plan_gen_model='None',\ncode_gen_model='None',\nstdout=None,\nstderr=None),\n"
              "plan='''Use the scalar engine\\'s port''',\ncode='''import nki\nprint(\"a\\nb\")\n''',\n"
              "score=2.0,\ntranslation_score=None,\nhw_feedback=['a, b', (1, 2), {'k': [None]}],\n"
              "plan_gen_model='m',\ncode_gen_model='m',\nstdout='it\\'s\\n',\nstderr=\"x\")");
    assert_int_equal(foreign.complaints.len, 0);
    assert_int_equal(foreign.attempts.len, 1);
    assert_int_equal(foreign.attempts.at[0].round, 3);
    assert_true(fabs(foreign.attempts.at[0].speedup - 2) < 1e-9);
    assert_int_equal(foreign.experiences.len, 1);
    const struct tune_experience *item = &foreign.experiences.at[0];
    assert_string_equal(item->title, "Use the scalar engine's port");
    assert_string_equal(item->slow, "import nki\nx = 'a'\n");
    assert_string_equal(item->fast, "import nki\nprint(\"a\\nb\")\n");
    assert_string_equal(item->dialect, "current");
    read_text(&foreign, "c/candidate_2.txt", "CodeCandidate(parent=None,\nplan='''never ends");
    read_text(&foreign, "c/candidate_3.txt",
              "CodeCandidate(parent=__import__('os').system('x'),\ncode='')");
    assert_int_equal(foreign.complaints.len, 2);
    assert_true(str_starts(str_of(foreign.complaints.at[0]), "c/candidate_2.txt:2: "));
    assert_true(str_starts(str_of(foreign.complaints.at[1]), "c/candidate_3.txt:1: "));
    tune_foreign_free(&foreign);
}

static void depth_and_number_are_bounded(void **unused) {
    (void)unused;
    struct tune_foreign foreign = {0};
    struct buf text = {0};
    for (int i = 0; i < 5000; i++)
        buf_puts(&text, "CodeCandidate(parent=");
    read_text(&foreign, "candidate_1.txt", text.at);
    buf_clear(&text);
    buf_puts(&text, "CodeCandidate(hw_feedback=");
    for (int i = 0; i < 5000; i++)
        buf_puts(&text, "[");
    read_text(&foreign, "candidate_2.txt", text.at);
    assert_int_equal(foreign.complaints.len, 2);
    buf_clear(&text);
    for (int i = 0; i < FOREIGN_ATTEMPTS + 10; i++)
        buf_printf(&text, "{\"round\": %d, \"status\": \"improved\"}\n", i);
    read_text(&foreign, "experiments.jsonl", text.at);
    assert_int_equal(foreign.attempts.len, FOREIGN_ATTEMPTS);
    assert_int_equal(foreign.complaints.len, 3);
    buf_clear(&text);
    for (int i = 0; i < 1000; i++)
        buf_puts(&text, "nonsense\n");
    read_text(&foreign, "experiments.jsonl", text.at);
    assert_int_equal(foreign.complaints.len, FOREIGN_COMPLAINTS);
    assert_true(foreign.left_out > 0);
    buf_free(&text);
    tune_foreign_free(&foreign);
}

/* ---------------------------------------------------------------------------- into a session */

static void import_twice(void **unused) {
    (void)unused;
    struct fake fake;
    struct err err = {0};
    struct tune_import_report report = {0};
    fake_begin(&fake, NULL, 0, TUNE_GATE_AUTO);
    char *folder = path_join(fake.folder, "old");
    assert_true(file_make_dirs(folder, &err));
    fake_file(folder, "experiments.jsonl", EXPERIMENTS);
    fake_file(folder, "rewrites.json",
              "[{\"title\": \"Reuse the weights\", \"summary\": \"Load w once.\"},\n"
              " {\"title\": \"reuse THE weights!\", \"summary\": \"Load w, once\"}]");
    fake_file(folder, "other.json", "{");
    assert_true(tune_session_import(fake.session, folder, &report, &err));
    const struct tune_state *state = fake_state(&fake);
    assert_int_equal(report.files, 2);
    assert_int_equal(state->memory.len, 1);
    assert_int_equal(state->memory.at[0].is, TUNE_EXPERIENCE_PROPOSED);
    assert_int_equal(state->memory.at[0].merged, 1);
    assert_non_null(strstr(state->memory.at[0].evidence, "rewrites.json:2"));
    assert_int_equal(state->imports.len, 3);
    assert_non_null(strstr(report.complaints.at, "experiments.jsonl:4: "));
    buf_free(&report.complaints);
    report = (struct tune_import_report){0};
    assert_true(tune_session_import(fake.session, folder, &report, &err));
    assert_int_equal(report.experiences, 0);
    assert_int_equal(report.attempts, 0);
    assert_int_equal(report.known, 5);
    assert_int_equal(state->memory.len, 1);
    assert_int_equal(state->imports.len, 3);
    buf_free(&report.complaints);
    assert_false(tune_session_import(fake.session, "/nowhere/at/all", &report, &err));
    assert_int_equal(err.kind, ERR_USAGE);
    free(folder);
    fake_end(&fake);
}

static const struct fake_plan plans[] = {
    {.key = "one", .source = "def kernel():\n    # latency 700\n    # hbm 500\n", .size = 0.5},
};

static char *read_in(const char *folder, const char *name) {
    struct err err = {0};
    char *path = path_join(folder, name);
    char *text = file_read(path, 0, NULL, &err);
    if (!text)
        fail_msg("%s", err.text);
    free(path);
    return text;
}

static void export_and_read_it_again(void **unused) {
    (void)unused;
    struct fake fake;
    struct err err = {0};
    fake_begin(&fake, plans, COUNT_OF(plans), TUNE_GATE_AUTO);
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_START});
    const char *session = tune_session_folder(fake.session);
    char *folder = path_join(fake.folder, "given");
    assert_true(tune_bundle_write(session, folder, &err));
    static const struct {
        const char *name, *has;
    } files[] = {{"kernel.py", "# latency 700"},     {"reference.py", "def get_inputs()"},
                 {"attempts/000.py", "# latency 1000"}, {"attempts/001.py", "# latency 700"},
                 {"attempts/001.json", "\"decision\":\t\"keep\""},
                 {"README.md", "hone sim . --device trn2"}, {"events.jsonl", "\"event\":\"decided\""},
                 {"experiments.jsonl", "\"status\":\"improved\""},
                 {"optimization_memory/rewrites.json", "\"title\":\t\"one\""},
                 {"session.json", "\"seeds\""}};
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        char *text = read_in(folder, files[i].name);
        if (!strstr(text, files[i].has))
            fail_msg("%s lacks %s:\n%s", files[i].name, files[i].has, text);
        free(text);
    }
    assert_false(tune_bundle_write(session, folder, &err));
    assert_false(tune_bundle_write(fake.folder, "/tmp/hone_never_made", &err));
    struct tune_foreign foreign = {0};
    assert_true(tune_foreign_read(folder, &foreign, &err));
    assert_int_equal(foreign.attempts.len, 2);
    assert_string_equal(foreign.attempts.at[1].agent, "hone");
    assert_string_equal(foreign.attempts.at[1].parent, "#0");
    assert_int_equal(foreign.experiences.len, 1);
    assert_string_equal(foreign.experiences.at[0].generation, "trn2");
    assert_int_equal(foreign.complaints.len, 0);
    tune_foreign_free(&foreign);
    free(folder);
    fake_end(&fake);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(experiments_of_the_ancestor),
        cmocka_unit_test(rewrites_of_the_ancestor),
        cmocka_unit_test(accelopt),
        cmocka_unit_test(kda),
        cmocka_unit_test(autocomp),
        cmocka_unit_test(depth_and_number_are_bounded),
        cmocka_unit_test(import_twice),
        cmocka_unit_test(export_and_read_it_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
