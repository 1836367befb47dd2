/* SPDX-License-Identifier: Apache-2.0 */
/* Foreign bytes as what Slurm's commands print: rows of the queue, nodes, members, complaints; and
 * as a site's line of options. Every line is read as each of them. */
#include <string.h>

#include "fuzz/fuzz.h"
#include "target/slurm/slurm.h"

/* Printable ASCII with an end, because what is kept may be shown as it is. */
static void check_shown(const char *text, size_t room) {
    size_t len = strnlen(text, room);
    if (len == room)
        HONE_BUG("a text without its end");
    for (size_t i = 0; i < len; i++)
        if (text[i] < 0x20 || text[i] > 0x7e)
            HONE_BUG("a text that a terminal would act on");
}

static void read_line(struct str line) {
    struct slurm_job job;
    struct slurm_node node;
    struct buf words = {0};
    char value[40];
    if (slurm_job_read(line, &job)) {
        check_shown(job.name, sizeof job.name);
        check_shown(job.state, sizeof job.state);
        check_shown(job.nodes, sizeof job.nodes);
        check_shown(job.reason, sizeof job.reason);
        if (job.id <= 0)
            HONE_BUG("a job without a number");
        slurm_reason_print(job.reason, job.start, &words);
        slurm_exit_print(job.exit_code, &words);
        if (!slurm_state_find(job.state))
            HONE_BUG("a state that means nothing");
    }
    if (slurm_node_read(line, &node)) {
        check_shown(node.name, sizeof node.name);
        check_shown(node.state, sizeof node.state);
        check_shown(node.reason, sizeof node.reason);
        if (node.cpus < 0 || node.cpus_busy < 0)
            HONE_BUG("a node with fewer cores than none");
    }
    if (slurm_member(line, "JobState", value, sizeof value))
        check_shown(value, sizeof value);
    check_shown(words.at ? words.at : "", words.len + 1);
    buf_free(&words);
}

static void read_options(const char *text) {
    struct arena *arena = arena_new();
    const char **words = NULL;
    struct err err = {0};
    size_t n = 0;
    if (slurm_options_split(text, arena, &words, &err)) {
        while (words[n])
            n++;
        const char *partition = slurm_options_partition(words);
        if (n > 256 || (partition && !memchr(text, *partition, strlen(text) + 1)))
            HONE_BUG("options that nobody wrote");
    } else if (err.kind != ERR_USAGE || !*err.text) {
        HONE_BUG("options were refused without a reason");
    }
    arena_free(arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *copy = mem_alloc(size + 1, 1);
    memcpy(copy, data, size);
    struct str all = {copy, size}, rest = all, line;
    char complaint[60];
    while (str_next(&rest, '\n', &line))
        read_line(line);
    (void)slurm_trouble_of(all);
    slurm_complaint_copy(all, complaint, sizeof complaint);
    check_shown(complaint, sizeof complaint);
    read_options(copy);
    mem_free_(copy);
    return 0;
}

#ifndef HONE_LIBFUZZER

#define PAD48 "                                                "
static const char *const examples[] = {
    "hone-0123456789abcdef                           12              RUNNING             "
    "2026-01-02T03:04:05     0           0           node1" PAD48 "           None" PAD48 PAD48
    "\n",
    "hone-a" PAD48 "      7               PENDING             N/A                     2           "
    "256         " PAD48 "                (Resources)" PAD48 PAD48 "\n",
    "trn2-01|mixed|3/5/0/8|none\ntrn2-02|down*|0/0/8/8|Not responding [root@2026-01-02]\n",
    "JobId=12 JobName=x\nJobState=COMPLETED Reason=None Dependency=(null) ExitCode=0:9\n",
    "12|NODE_FAIL|0:0\nwelcome to the cluster\n12;cluster\n",
    "sbatch: error: Batch job submission failed: Invalid partition name specified\n",
    "slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n",
    "--partition=a --time 1:00 --comment='a b' --account=\"c \\\" d\" -N1 e\\ f\n",
};
static const char *const pieces[] = {"|",           "JobState=",
                                     "PENDING",     "--wrap=x",
                                     "--array=1-9", "'",
                                     "\"",          "\\",
                                     "/",           "99999999999999999999",
                                     "-1",          "\x1b[2J",
                                     "\n",          "(null)",
                                     "sbatch: ",    PAD48,
                                     "error: ",     "QOSMaxJobsPerUserLimit"};
static const struct fuzz_target target = {
    .name = "slurm", FUZZ_TABLE(example, examples), FUZZ_TABLE(piece, pieces)};

int main(int argc, char **argv) {
    return fuzz_main(&target, argc, argv);
}
#endif
