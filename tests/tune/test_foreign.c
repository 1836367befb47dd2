// SPDX-License-Identifier: Apache-2.0
/* Other agents' files: every format as their agents write it, and damage. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "nki/nki.h"
#include "tune/foreign/foreign.h"

static void read_text(struct tune_foreign *foreign, const char *name, const char *text) {
    tune_foreign_text(name, str_of(text), foreign);
}

static const char EXPERIMENTS[] =
    "{\"round\": 1, \"status\": \"improved\", \"latency_ms\": 1.5, \"score\": 1.2, "
    "\"plan\": \"Wider tiles\", \"error\": \"\", \"profile\": {\"ttft_ms\": 3.0}}\n"
    "\n"
    "{\"round\": 2, \"status\": \"compile_fail\", \"latency_ms\": Infinity, \"score\": NaN, "
    "\"plan\": \"Keep -Infinity in quotes\", \"error\": \"no \\\"code\\\" block\", \"profile\": "
    "{}}\n"
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
    assert_string_equal(foreign.attempts.at[0].source, "old/experiments.jsonl:1");
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
    tune_foreign_close(&foreign);
    assert_int_equal(foreign.experiences.len, 1);
    assert_true(foreign.experiences.at[0].closed);
    assert_string_equal(foreign.experiences.at[0].summary,
                        "- Keep -Infinity in quotes (compile_fail): no \"code\" block\n"
                        "- Split (no_improvement, 0.94x)");
    tune_foreign_free(&foreign);
}

/* As its json.dumps writes it: ASCII with escapes, surrogates too; 0.0 and Infinity for what was
 * not measured; a score that is none; a plan cut after a hundred characters, in Markdown. */
static void experiments_as_they_are(void **unused) {
    (void)unused;
    struct tune_foreign foreign = {0};
    read_text(
        &foreign, "experiments.jsonl",
        "{\"round\": 1, \"status\": \"improved\", \"latency_ms\": 650.5, \"score\": 0.0, "
        "\"plan\": \"**Keep the gain in SBUF** The kernel loads it for every row \\u2014 32 ti\", "
        "\"error\": \"\", \"profile\": {}}\n"
        "{\"round\": 2, \"status\": \"correctness_fail\", \"latency_ms\": 0.0, \"score\": 0.0, "
        "\"plan\": \"## Optimization Plan: Transpose by DMA \\ud83d\\ude80\", \"error\": "
        "\"Accuracy check failed after optimization\", \"profile\": {}}\n"
        "{\"round\": 3, \"status\": \"compile_fail\", \"latency_ms\": 0.0, \"score\": 0.0, "
        "\"plan\": \"Fuse\", \"error\": \"No code block in executor response\", \"profile\": {}}\n"
        "{\"round\": 4, \"status\": \"divergence_revert\", \"latency_ms\": Infinity, "
        "\"score\": 0.0, \"plan\": \"I'll apply two banks\", \"error\": \"\", \"profile\": {}}\n"
        "{\"round\": 5, \"status\": \"improved\", \"latency_ms\": 520.4, \"score\": NaN, "
        "\"plan\": \"Wider tiles\", \"error\": \"\", \"profile\": {}}\n"
        "{\"round\": 6, \"status\": \"no_improvement\", \"latency_ms\": 530.0, \"score\": 0.0, "
        "\"plan\": \"Wider tiles\", \"error\": \"\", \"profile\": {}}\n");
    assert_int_equal(foreign.complaints.len, 0);
    assert_int_equal(foreign.attempts.len, 6);
    const struct tune_import *rows = foreign.attempts.at;
    assert_string_equal(rows[0].title, "Keep the gain in SBUF");
    assert_true(isnan(rows[0].speedup));
    assert_string_equal(rows[1].title, "Transpose by DMA \xf0\x9f\x9a\x80");
    assert_true(isnan(rows[1].latency_us) && isnan(rows[3].latency_us));
    assert_int_equal(rows[3].is, TUNE_STATUS_REVERT);
    assert_string_equal(rows[3].title, "two banks");
    assert_true(fabs(rows[4].speedup - 1.25) < 1e-9);
    tune_foreign_close(&foreign);
    assert_int_equal(foreign.experiences.len, 1);
    const struct tune_experience *closed = &foreign.experiences.at[0];
    assert_string_equal(closed->title, "2 directions that did not work for nki-kernel-agent");
    assert_non_null(strstr(closed->summary, "- Transpose by DMA"));
    assert_null(strstr(closed->summary, "Fuse"));  /* there was no kernel */
    assert_null(strstr(closed->summary, "Wider")); /* it worked the other time */
    assert_null(closed->family);
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
    assert_false(item->closed);
    assert_string_equal(item->source, "nki-kernel-agent, optimization_memory/rewrites.json:1");
    assert_int_equal(item->is, TUNE_EXPERIENCE_PROPOSED);
    assert_true(item->imported);
    assert_null(item->family);
    assert_true(isnan(item->speedup));
    assert_int_equal(foreign.complaints.len, 2);
    assert_true(
        str_starts(str_of(foreign.complaints.at[0]), "optimization_memory/rewrites.json:1: "));
    assert_true(
        str_starts(str_of(foreign.complaints.at[1]), "optimization_memory/rewrites.json:2: "));
    read_text(&foreign, "b/rewrites.json", "[{\"title\": \"x\",\n\n \"summary\" \"y\"}]");
    assert_true(str_starts(str_of(foreign.complaints.at[2]), "b/rewrites.json:3: "));
    tune_foreign_free(&foreign);
}

/* Its title is the first fifty bytes of the summary, with stars that do not close. The code is at
 * the end of the summary. */
static void rewrites_as_they_are(void **unused) {
    (void)unused;
    struct tune_foreign foreign = {0};
    read_text(
        &foreign, "rewrites.json",
        "[\n  {\n    \"title\": \"**Keep what no row changes resident in SBUF across th\",\n"
        "    \"summary\": \"**Keep what no row changes resident in SBUF across the loop**\\n"
        "Load it once \\u2014 before the loop.\\nOriginal code:\\n```python\\nfor i in rows:\\n"
        "    g = nl.load(gain)\\n```\\n\\n**Optimized code:**\\n```\\ng = nl.load(gain)\\n"
        "for i in rows:\\n    pass\\n```\\nMore words.\"\n  }\n]");
    assert_int_equal(foreign.complaints.len, 0);
    assert_int_equal(foreign.experiences.len, 1);
    const struct tune_experience *item = &foreign.experiences.at[0];
    assert_string_equal(item->title, "Keep what no row changes resident in SBUF across the loop");
    assert_string_equal(item->summary, "Load it once \xe2\x80\x94 before the loop.");
    assert_string_equal(item->slow, "for i in rows:\n    g = nl.load(gain)\n");
    assert_string_equal(item->fast, "g = nl.load(gain)\nfor i in rows:\n    pass\n");
    assert_string_equal(item->source, "nki-kernel-agent, rewrites.json:2");
    tune_foreign_free(&foreign);
}

static char *folder_new(void) {
    char *folder = path_join("/tmp", "hone_foreign_XXXXXX");
    assert_non_null(mkdtemp(folder));
    return folder;
}

static void folder_remove(char *folder) {
    struct err err = {0};
    assert_true(file_remove_tree(folder, &err));
    free(folder);
}

static void put(const char *folder, const char *name, const char *text) {
    struct err err = {0};
    char *path = path_join(folder, name), *parent = path_folder(path);
    assert_true(file_make_dirs(parent, &err) && file_write(path, text, strlen(text), &err));
    free(parent);
    free(path);
}

/* "spec_code" is the reference. The plans are in another file, by number. What has no code at all
 * was not tried. */
static const char EXECUTOR[] =
    "{\"exp_date\": \"d\", \"executor_results\": [{\"service_name\": \"bmm_softmax_ID0\", "
    "\"case_name\": \"c0\",\n \"plan_0_0\": {\"body\": \"import neuronxcc.nki as nki\\nfast\","
    " \"baseline\": \"import neuronxcc.nki as nki\\nslow\", \"spec_code\": \"import numpy as np\", "
    "\"problem\": \"bmm_softmax\", \"kernel_metadata\": \"{\\\"rel_diffs\\\": NaN}\", "
    "\"latency\": 2.0, \"speedup\": 1.5},\n \"plan_0_1\": {\"body\": \"nl.x\", \"problem\": "
    "\"bmm_softmax\", \"error\": \"Traceback:\\n  File\\nSyntaxError: no "
    "\\u201ctile\\u201d\\n\"},\n"
    " \"plan_1_0\": {\"body\": \"nl.b\", \"baseline\": \"nl.a\", \"spec_code\": \"s\", "
    "\"problem\": "
    "\"bmm\", \"latency\": 9, \"speedup\": 0.5},\n"
    " \"plan_1_1\": {\"error\": \"No implementation found\"},\n"
    " \"plan_2_0\": {\"body\": \"nl.c\", \"problem\": \"bmm\", \"latency\": 1, \"speedup\": "
    "null}}]}";

static void accelopt(void **unused) {
    (void)unused;
    struct tune_foreign foreign = {0};
    struct err err = {0};
    char *folder = folder_new();
    put(folder, "11-11/executor_results.json", EXECUTOR);
    put(folder, "11-11/planner_results.json",
        "[{\"service_name\": \"bmm_softmax_ID0\", \"reasonings\": [\"r\", null], \"plans\": "
        "[\"Looking at it.\\n\\n**Optimization: Keep rows in SBUF**\\nAll of them.\", \"Split "
        "K\"]}]");
    assert_true(tune_foreign_read(folder, &foreign, &err));
    assert_int_equal(foreign.complaints.len, 0);
    assert_int_equal(foreign.attempts.len, 5);
    assert_string_equal(foreign.attempts.at[0].name, "plan_0_0");
    assert_string_equal(foreign.attempts.at[0].title, "Keep rows in SBUF");
    assert_string_equal(foreign.attempts.at[0].source, "11-11/executor_results.json:2");
    assert_string_equal(foreign.attempts.at[1].reason,
                        "SyntaxError: no \xe2\x80\x9ctile\xe2\x80\x9d");
    assert_string_equal(foreign.attempts.at[4].title, "plan_2_0 of bmm");
    /* What failed there is recognised by its kernel. What did not fail there is no reason against
     * running it. */
    assert_string_equal(foreign.attempts.at[1].normal, nki_source_hash(STR("nl.x  # x")).hex);
    assert_null(foreign.attempts.at[0].normal);
    assert_null(foreign.attempts.at[3].normal);
    assert_int_equal(foreign.attempts.at[4].is, TUNE_STATUS_INCONCLUSIVE);
    assert_int_equal(foreign.experiences.len, 3);
    const struct tune_experience *gain = &foreign.experiences.at[0];
    assert_string_equal(gain->family, "softmax matmul");
    assert_string_equal(gain->dialect, "legacy");
    assert_string_equal(gain->title, "Keep rows in SBUF");
    assert_non_null(strstr(gain->summary, "All of them."));
    assert_non_null(strstr(gain->slow, "slow"));
    assert_true(foreign.experiences.at[1].speedup < 1);
    assert_string_equal(foreign.experiences.at[1].slow, "nl.b");
    /* plan_0_1 failed with a plan that plan_0_0 carried out. */
    assert_string_equal(foreign.experiences.at[2].summary, "- Split K (slower, 0.50x)");
    tune_foreign_free(&foreign);
    folder_remove(folder);
}

static void accelopt_memory(void **unused) {
    (void)unused;
    struct tune_foreign foreign = {0};
    read_text(
        &foreign, "rewrites/aggregated_rewrites_list.json",
        "[{\"service_name\": \"rope\", \"id\": \"plan_1\", \"speedup_original\": 0.5, "
        "\"speedup\": 2.0, \"slow_kernel\": \"nl.s\", \"fast_kernel\": \"nl.f\", \"summary\": "
        "\"**Pack the Halves**\\nInto one tile.\", \"title\": \"**Pack the Halves**\"},\n"
        "{\"service_name\": \"rope\", \"title\": \"**No optimization found**\", \"speedup\": "
        "1.2},\n"
        "{\"service_name\": \"rope\", \"title\": \"\", \"summary\": \"Undo it.\", "
        "\"speedup\": 1.1, \"fast_kernel\": \"import triton\\n@triton.jit\"}]");
    assert_int_equal(foreign.complaints.len, 0);
    assert_int_equal(foreign.experiences.len, 2);
    assert_true(foreign.experiences.at[0].speedup < 1);
    assert_string_equal(foreign.experiences.at[0].title, "Pack the Halves");
    assert_string_equal(foreign.experiences.at[0].summary, "Into one tile.");
    assert_string_equal(foreign.experiences.at[0].source,
                        "AccelOpt, rewrites/aggregated_rewrites_list.json:1");
    assert_string_equal(foreign.experiences.at[1].title, "Undo it");
    assert_string_equal(foreign.experiences.at[1].dialect, "other"); /* so it is not for here */
    tune_foreign_free(&foreign);
}

/* Speedups are over the baseline, and verdicts are sentences. Decisions have no kernel and no
 * numbers. */
static const char CANDIDATES[] =
    "{\"id\": \"n_v1\", \"op\": \"rmsnorm\", \"candidate\": \"runs/n_v1.py\", \"parent\": "
    "\"baseline:n_0.py\", \"passed\": true, \"verdict\": \"PROMOTED (phase-1; DAG root)\", "
    "\"latency_ms\": 2.0, \"baseline_latency_ms\": 1.0, \"speedup\": 0.5, \"structure\": "
    "\"rows in one pass; then stored\", \"metrics\": {\"PE_pct\": 94}, \"notes\": \"First one.\"}\n"
    "{\"id\": \"n_v2\", \"op\": \"rmsnorm\", \"candidate\": \"runs/n_v2.py (kept)\", \"parent\": "
    "\"n_v1\", \"passed\": true, \"verdict\": \"promoted\", \"latency_ms\": 1.0, \"speedup\": 1.0, "
    "\"direction\": \"D1\", \"notes\": \"Reads x once.\"}\n"
    "{\"id\": \"n_v3\", \"op\": \"rmsnorm\", \"candidate\": \"runs/n_v3.py\", \"parent\": "
    "\"n_v2\", "
    "\"passed\": true, \"verdict\": \"NOT PROMOTED -- byte-identical no-op\", \"latency_ms\": 1.0, "
    "\"speedup\": 1.9, \"lever\": \"wider transfers\", \"decision\": \"Leave it.\"}\n"
    "{\"id\": \"n_v4\", \"op\": \"rmsnorm\", \"candidate\": \"runs/n_v4.py\", \"parent\": "
    "\"n_v2\", "
    "\"passed\": true, \"verdict\": \"measured-reject\", \"latency_ms\": 2.0, \"speedup\": 1.5, "
    "\"notes\": \"Four products.\"}\n"
    "{\"id\": \"n_v2_again\", \"op\": \"rmsnorm\", \"candidate\": \"runs/n_v2.py\", \"parent\": "
    "\"n_v2\", \"passed\": true, \"verdict\": \"control\", \"latency_ms\": 0.9, \"speedup\": 1.1}\n"
    "{\"id\": \"n_d5\", \"op\": \"rmsnorm\", \"candidate\": null, \"parent\": \"n_v2\", "
    "\"passed\": "
    "null, \"kind\": \"closed-direction-record-only\", \"direction\": \"D5: fewer products\", "
    "\"closure_rationale\": \"The precision is pinned.\"}\n"
    "{\"id\": \"n_v6\", \"op\": \"rmsnorm\", \"parent\": \"n_v1\", \"passed\": false, "
    "\"verdict\": \"infeasible\", \"latency_ms\": null, \"notes\": \"wrong on seed 21\"}\n";

static void kda(void **unused) {
    (void)unused;
    struct tune_foreign foreign = {0};
    struct err err = {0};
    char *folder = folder_new();
    put(folder, "norm/candidates.jsonl", CANDIDATES);
    put(folder, "norm/runs/n_v1.py", "import nki\na = 1\n");
    put(folder, "norm/runs/n_v2.py", "import nki\na = 2\n");
    put(folder, "norm/runs/n_v4.py", "import nki\na = 4\n");
    assert_true(tune_foreign_read(folder, &foreign, &err));
    assert_int_equal(foreign.complaints.len, 0);
    static const enum tune_status is[] = {
        TUNE_STATUS_KEEP,         TUNE_STATUS_KEEP,   TUNE_STATUS_REVERT, TUNE_STATUS_REJECTED,
        TUNE_STATUS_INCONCLUSIVE, TUNE_STATUS_REVERT, TUNE_STATUS_FAILED};
    assert_int_equal(foreign.attempts.len, COUNT_OF(is));
    for (size_t i = 0; i < COUNT_OF(is); i++)
        assert_int_equal(foreign.attempts.at[i].is, is[i]);
    assert_string_equal(foreign.attempts.at[0].title, "rows in one pass");
    assert_string_equal(foreign.attempts.at[0].status, "PROMOTED");
    assert_string_equal(foreign.attempts.at[1].title, "n_v2: Reads x once"); /* not "D1" */
    assert_true(fabs(foreign.attempts.at[1].speedup - 2) < 1e-9);
    assert_string_equal(foreign.attempts.at[2].status, "NOT PROMOTED");
    assert_true(fabs(foreign.attempts.at[3].speedup - 0.5) < 1e-9);
    assert_string_equal(foreign.attempts.at[5].reason, "The precision is pinned.");
    assert_int_equal(foreign.experiences.len, 3);
    const struct tune_experience *gain = &foreign.experiences.at[0];
    assert_string_equal(gain->source, "KDA, norm/candidates.jsonl:2");
    assert_string_equal(gain->slow, "import nki\na = 1\n");
    assert_string_equal(gain->fast, "import nki\na = 2\n");
    assert_string_equal(foreign.experiences.at[1].summary, "Four products.");
    assert_string_equal(foreign.experiences.at[1].fast, "import nki\na = 2\n");
    const struct tune_experience *closed = &foreign.experiences.at[2];
    assert_string_equal(closed->title, "4 directions that did not work for KDA on rmsnorm");
    assert_string_equal(closed->family, "norm");
    assert_non_null(strstr(closed->summary,
                           "- D5: fewer products (closed-direction-record-only): The "
                           "precision is pinned.\n"));
    tune_foreign_free(&foreign);
    folder_remove(folder);
}

/* A row may not name a file elsewhere as its kernel. */
static void kernels_are_below_the_folder(void **unused) {
    (void)unused;
    struct tune_foreign foreign = {.arena = arena_new()};
    char *folder = folder_new();
    put(folder, "secret.py", "a key\n");
    put(folder, "norm/candidates.jsonl", "");
    char *path = path_join(folder, "norm/candidates.jsonl"), *out = path_join(folder, "secret.py");
    char *inside = path_join(folder, "norm/link.py");
    assert_int_equal(symlink(out, inside), 0);
    struct foreign_place place = {.out = &foreign, .path = path, .line = 1};
    assert_null(foreign_beside(&place, "../secret.py"));
    assert_null(foreign_beside(&place, out));
    assert_null(foreign_beside(&place, "link.py"));
    assert_null(foreign_beside(&place, "none.py"));
    char *same = foreign_beside(&place, "candidates.jsonl");
    assert_string_equal(same, "");
    free(same);
    free(inside);
    free(path);
    free(out);
    tune_foreign_free(&foreign);
    folder_remove(folder);
}

#define PLANNED                                                                               \
    "CodeCandidate(parent=CodeCandidate(parent=None,\nplan=None,\ncode='''import nki\n"       \
    "x = \\'a\\'\n''',\nscore=4.0,\ntranslation_score=None,\nhw_feedback=[],\n"               \
    "plan_gen_model='None',\ncode_gen_model='None',\nstdout=None,\nstderr=None),\n"           \
    "plan='''## Analysis of Current Code\n\nIt is slow.\n\n**Selected Optimization: Use the " \
    "scalar "                                                                                 \
    "engine\\'s port**\n''',\ncode='''import nki\nprint(\"a\\nb\")\n''',\n"

static void autocomp(void **unused) {
    (void)unused;
    struct tune_foreign foreign = {0};
    read_text(
        &foreign, "out/candidates-iter-3/candidate_1.txt",
        PLANNED
        "score=2.0,\ntranslation_score=None,\nhw_feedback=['a, b', (1, 2), {'k': "
        "[None]}],\nplan_gen_model='m',\ncode_gen_model='m',\nstdout='Latency: 2.327 ms (P99)\\n',"
        "\nstderr=\"it's\")");
    assert_int_equal(foreign.complaints.len, 0);
    assert_int_equal(foreign.attempts.len, 1);
    assert_int_equal(foreign.attempts.at[0].round, 3);
    assert_true(fabs(foreign.attempts.at[0].speedup - 2) < 1e-9);
    assert_true(fabs(foreign.attempts.at[0].latency_us - 2327) < 1e-9);
    assert_int_equal(foreign.experiences.len, 1);
    const struct tune_experience *item = &foreign.experiences.at[0];
    assert_string_equal(item->title, "Use the scalar engine's port");
    assert_string_equal(item->slow, "import nki\nx = 'a'\n");
    assert_string_equal(item->fast, "import nki\nprint(\"a\\nb\")\n");
    assert_string_equal(item->dialect, "current");
    /* It survived. The same one in the next iteration is no second attempt. */
    read_text(&foreign, "out/candidates-iter-4/candidate_0.txt", PLANNED "score=2.0)");
    assert_int_equal(foreign.attempts.len, 1);
    assert_int_equal(foreign.experiences.len, 1);
    read_text(&foreign, "c/candidate_2.txt", "CodeCandidate(parent=None,\nplan='''never ends");
    read_text(&foreign, "c/candidate_3.txt",
              "CodeCandidate(parent=__import__('os').system('x'),\ncode='')");
    assert_int_equal(foreign.complaints.len, 2);
    assert_true(str_starts(str_of(foreign.complaints.at[0]), "c/candidate_2.txt:2: "));
    assert_true(str_starts(str_of(foreign.complaints.at[1]), "c/candidate_3.txt:1: "));
    tune_foreign_free(&foreign);
}

/* Older files escape nothing, have other names for fields, and have kernels with three quotes in
 * them. */
static void autocomp_of_old(void **unused) {
    (void)unused;
    struct tune_foreign foreign = {0};
    read_text(
        &foreign, "candidate_0.txt",
        "CodeCandidate(parent=CodeCandidate(parent=None,\nplan=None,\ncode='''\ndef test(a):\n"
        "  '''It's a doc'''\n  nl.matmul(a, a)\n''',\nscore=28.68,\nspad_acc_stats=[],\n"
        "plan_gen_model='None',\ncode_gen_model='None'),\nplan='''Selected optimization: Add loop "
        "levels so that larger blocks are loaded\n\nWhat\xe2\x80\x99s "
        "inefficient''',\ncode='''x''',"
        "\nscore=14.34,\nspad_acc_stats=[],\nplan_gen_model='o4-mini',\ncode_gen_model='gpt-5')");
    assert_int_equal(foreign.complaints.len, 0);
    assert_int_equal(foreign.experiences.len, 1);
    const struct tune_experience *item = &foreign.experiences.at[0];
    assert_string_equal(item->title, "Add loop levels so that larger blocks are loaded");
    assert_string_equal(item->slow, "\ndef test(a):\n  '''It's a doc'''\n  nl.matmul(a, a)\n");
    assert_true(isnan(foreign.attempts.at[0].latency_us)); /* a score alone has no unit */
    tune_foreign_free(&foreign);
}

/* What failed is only among the results: first the candidate, then the outcome beside it. */
static void autocomp_results(void **unused) {
    (void)unused;
    struct tune_foreign foreign = {0};
    struct err err = {0};
    char *folder = folder_new();
    put(folder, "eval-results-iter-2/code_0_result_full.txt",
        "{'correct': False, 'latency': None, 'stdout': '', 'stderr': 'Traceback:\n  File "
        "\"x\"\n'}\n"
        "Prev latency: 4.0\n\n" PLANNED "score=None,\ntranslation_score=None)");
    put(folder, "eval-results-iter-2/code_0_result.txt",
        "{\n    \"correct\": false,\n    \"latency\": null,\n    \"stdout\": \"\",\n    "
        "\"stderr\": "
        "\"Traceback:\\n  File x\\nTypeError: missing a required argument: 'data1'\\n\"\n}");
    put(folder, "run_metadata.json", "{}");
    assert_true(tune_foreign_read(folder, &foreign, &err));
    assert_int_equal(foreign.files, 1);
    assert_int_equal(foreign.complaints.len, 0);
    assert_int_equal(foreign.attempts.len, 1);
    assert_int_equal(foreign.attempts.at[0].is, TUNE_STATUS_FAILED);
    assert_int_equal(foreign.attempts.at[0].round, 2);
    assert_string_equal(foreign.attempts.at[0].reason,
                        "TypeError: missing a required argument: 'data1'");
    assert_int_equal(foreign.experiences.len, 1);
    assert_string_equal(foreign.experiences.at[0].title,
                        "1 direction that did not work for Autocomp");
    assert_string_equal(foreign.experiences.at[0].dialect, "current");
    tune_foreign_free(&foreign);
    folder_remove(folder);
}

static void titles(void **unused) {
    (void)unused;
    static const struct {
        const char *text, *title;
    } all[] = {
        {"## Analysis\nLooking at it\n## Use `nl.var` for it\n", "Use nl.var for it"},
        {"1. **Hoist the load**: it is done every time", "Hoist the load"},
        {"Strategy: 5 (fuse), then more; and more words", "5 (fuse), then more"},
        {"\n\n  \n", ""},
        {"***", ""},
        {"Let me see.\nBelow is it", "Let me see"},
    };
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        struct buf out = {0};
        foreign_title(all[i].text, &out);
        assert_string_equal(out.at ? out.at : "", all[i].title);
        buf_free(&out);
    }
    struct buf out = {0}, text = {0};
    for (int i = 0; i < 300; i++)
        buf_puts(&text, "\xc3\xa4");
    foreign_title(text.at, &out);
    assert_true(out.len <= 104 && str_ends(buf_str(&out), "\xc3\xa4..."));
    buf_free(&out);
    buf_free(&text);
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(experiments_of_the_ancestor),
        cmocka_unit_test(experiments_as_they_are),
        cmocka_unit_test(rewrites_of_the_ancestor),
        cmocka_unit_test(rewrites_as_they_are),
        cmocka_unit_test(accelopt),
        cmocka_unit_test(accelopt_memory),
        cmocka_unit_test(kda),
        cmocka_unit_test(kernels_are_below_the_folder),
        cmocka_unit_test(autocomp),
        cmocka_unit_test(autocomp_of_old),
        cmocka_unit_test(autocomp_results),
        cmocka_unit_test(titles),
        cmocka_unit_test(depth_and_number_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
