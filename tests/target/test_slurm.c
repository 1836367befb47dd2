/* SPDX-License-Identifier: Apache-2.0 */
/* What Slurm prints, and the options of a site. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

#include "target/slurm/slurm.h"

static struct str line(char *text, size_t size, const char *const fields[8]) {
    snprintf(text, size, "%-48s%-16s%-20s%-24s%-12s%-12s%-64s%-96s", fields[0], fields[1],
             fields[2], fields[3], fields[4], fields[5], fields[6], fields[7]);
    return str_of(text);
}

static void a_job_is_read_by_columns(void **state) {
    (void)state;
    char text[400];
    struct slurm_job job;
    const char *const fields[8] = {"hone-5f0c",
                                   "123",
                                   "RUNNING",
                                   "2026-11-20T15:04:05",
                                   "2",
                                   "256",
                                   "compute1-dy-queue1-i1-[1-2]",
                                   "None"};
    assert_true(slurm_job_read(line(text, sizeof text, fields), &job));
    assert_string_equal(job.name, "hone-5f0c");
    assert_int_equal(job.id, 123);
    assert_string_equal(job.state, "RUNNING");
    assert_int_equal(job.restarts, 2);
    assert_int_equal(job.exit_code, 256);
    assert_string_equal(job.nodes, "compute1-dy-queue1-i1-[1-2]");
}

static void reasons_keep_blanks_and_lose_controls(void **state) {
    (void)state;
    char text[400];
    struct slurm_job job;
    const char *const fields[8] = {"hone-1", "7", "PENDING", "N/A",
                                   "0",      "0", "",        "Nodes required | \x1b[2J are DOWN"};
    assert_true(slurm_job_read(line(text, sizeof text, fields), &job));
    assert_string_equal(job.reason, "Nodes required | ?[2J are DOWN");
}

static void what_is_no_job_is_not_taken_for_one(void **state) {
    (void)state;
    static const char *const noise[] = {"", "Welcome to the cluster", "slurm_load_jobs error: x",
                                        "hone-1 12 RUNNING"};
    struct slurm_job job;
    for (size_t i = 0; i < COUNT_OF(noise); i++)
        assert_false(slurm_job_read(str_of(noise[i]), &job));
    char text[400];
    const char *const fields[8] = {"hone-1", "-7", "PENDING", "", "", "", "", ""};
    assert_false(slurm_job_read(line(text, sizeof text, fields), &job));
}

static void a_node_is_read(void **state) {
    (void)state;
    struct slurm_node node;
    assert_true(slurm_node_read(str_of("n1|down*|0/0/128/128|Not responding"), &node));
    assert_string_equal(node.name, "n1");
    assert_string_equal(node.state, "down*");
    assert_string_equal(node.reason, "Not responding");
    assert_int_equal(node.cpus, 128);
    assert_true(slurm_node_read(str_of("n2|mixed|1/1/0/2|none"), &node));
    assert_int_equal(node.cpus_busy, 1);
    assert_string_equal(node.reason, "");
    assert_false(slurm_node_read(str_of("Welcome"), &node));
}

static void members_are_found_by_their_whole_name(void **state) {
    (void)state;
    struct str text = str_of("JobId=1 LastJobState=A JobState=TIMEOUT Reason=TimeLimit");
    char value[32];
    assert_true(slurm_member(text, "JobState", value, sizeof value));
    assert_string_equal(value, "TIMEOUT");
    assert_false(slurm_member(text, "State", value, sizeof value));
}

static void expect_reason(const char *reason, const char *start, const char *text) {
    struct buf out = {0};
    slurm_reason_print(reason, start, &out);
    assert_string_equal(out.at ? out.at : "", text);
    buf_free(&out);
}

static void reasons_are_said_in_words(void **state) {
    (void)state;
    expect_reason("JobHeldAdmin", "N/A", "held by the administrator (JobHeldAdmin)");
    expect_reason("Resources", "2026-11-20T15:04:05",
                  "waits for free nodes (Resources); start expected 2026-11-20 15:04");
    expect_reason("None", "N/A", "");
    expect_reason("SomethingNew", "", "SomethingNew");
    expect_reason("None", "2026-11-20T15:04:05", "start expected 2026-11-20 15:04");
}

static void states_say_whether_another_try_helps(void **state) {
    (void)state;
    assert_int_equal(slurm_state_find("NODE_FAIL")->is, SLURM_LOST);
    assert_int_equal(slurm_state_find("PREEMPTED")->is, SLURM_LOST);
    assert_int_equal(slurm_state_find("BOOT_FAIL")->is, SLURM_LOST);
    assert_int_equal(slurm_state_find("TIMEOUT")->is, SLURM_FAILED);
    assert_int_equal(slurm_state_find("COMPLETED")->is, SLURM_DONE);
    assert_int_equal(slurm_state_find("A_NEW_ONE")->is, SLURM_WAITS);
}

static void exit_codes_are_explained(void **state) {
    (void)state;
    static const struct {
        int code;
        const char *text;
    } cases[] = {{0, "exit status 0"}, {3 << 8, "exit status 3"}, {9, "signal 9 (Killed)"}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct buf out = {0};
        slurm_exit_print(cases[i].code, &out);
        assert_string_equal(out.at, cases[i].text);
        buf_free(&out);
    }
}

static void complaints_are_told_apart(void **state) {
    (void)state;
    static const struct {
        const char *text;
        enum slurm_trouble is;
    } cases[] = {
        {"sbatch: error: Batch job submission failed: Invalid partition name specified\n",
         SLURM_REFUSED},
        {"sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect "
         "failure)",
         SLURM_BUSY},
        {"sbatch: error: Batch job submission failed: Socket timed out on send/recv operation",
         SLURM_UNSURE},
        {"slurm_load_jobs error: Invalid job id specified", SLURM_NO_JOB},
        {"sbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job "
         "submit "
         "limit, user's size and/or time limits)",
         SLURM_LIMIT},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_int_equal(slurm_trouble_of(str_of(cases[i].text)), cases[i].is);
    char text[80];
    slurm_complaint_copy(str_of("sbatch: error: invalid partition specified: none\n\n"
                                "sbatch: error: Batch job submission failed: Invalid\x1b[0m\n"),
                         text, sizeof text);
    assert_string_equal(text, "invalid partition specified: none; Batch job submission failed: "
                              "Invalid?[0m");
}

static void expect_words(const char *text, const char *joined) {
    struct arena *arena = arena_new();
    const char **words = NULL;
    struct err err = {0};
    assert_true(slurm_options_split(text, arena, &words, &err));
    struct buf out = {0};
    buf_puts(&out, "");
    for (size_t i = 0; words[i]; i++)
        buf_printf(&out, "<%s>", words[i]);
    assert_string_equal(out.at, joined);
    buf_free(&out);
    arena_free(arena);
}

static void options_are_split_into_words(void **state) {
    (void)state;
    expect_words("", "");
    expect_words("--partition=compute1 --exclusive", "<--partition=compute1><--exclusive>");
    expect_words("  --comment='a  b'\t-C \"x y\" ", "<--comment=a  b><-C><x y>");
    expect_words("a\\ b '\\' \"\\\"\" ''", "<a b><\\><\"><>");
    expect_words("$HOME `id` * ;rm", "<$HOME><`id`><*><;rm>");
}

static void options_that_are_hones_are_refused(void **state) {
    (void)state;
    static const char *const refused[] = {
        "--wrap=id",    "--array=1-9", "-a 1-9",        "-a1-9", "-W",
        "--clusters=x", "--output=/x", "'--test-only'", "'open", "\"open"};
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        struct arena *arena = arena_new();
        const char **words = NULL;
        struct err err = {0};
        assert_false(slurm_options_split(refused[i], arena, &words, &err));
        assert_int_equal(err.kind, ERR_USAGE);
        arena_free(arena);
    }
    expect_words("--account=x --wait-all-nodes=1", "<--account=x><--wait-all-nodes=1>");
}

static void the_partition_is_known(void **state) {
    (void)state;
    static const struct {
        const char *words[4], *partition;
    } cases[] = {{{"--exclusive", "--partition=a,b", NULL}, "a,b"},
                 {{"-p", "a", NULL}, "a"},
                 {{"-pa", NULL}, "a"},
                 {{"-p", NULL}, NULL},
                 {{NULL}, NULL}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const char *found = slurm_options_partition(cases[i].words);
        assert_true(found == cases[i].partition || strcmp(found, cases[i].partition) == 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_is_read_by_columns),
        cmocka_unit_test(reasons_keep_blanks_and_lose_controls),
        cmocka_unit_test(what_is_no_job_is_not_taken_for_one),
        cmocka_unit_test(a_node_is_read),
        cmocka_unit_test(members_are_found_by_their_whole_name),
        cmocka_unit_test(reasons_are_said_in_words),
        cmocka_unit_test(states_say_whether_another_try_helps),
        cmocka_unit_test(exit_codes_are_explained),
        cmocka_unit_test(complaints_are_told_apart),
        cmocka_unit_test(options_are_split_into_words),
        cmocka_unit_test(options_that_are_hones_are_refused),
        cmocka_unit_test(the_partition_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
