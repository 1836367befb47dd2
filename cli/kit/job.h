/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a job from the options that sim and check share, and prints findings. Private to cli. */
#ifndef HONE_CLI_JOB_H
#define HONE_CLI_JOB_H

#include "cli/kit/kit.h"
#include "runner/runner.h"
#include "task/task.h"
#include "tune/tune.h"

struct cli_job {
    struct task *task;
    struct config *config; /* the job's wall points into it */
    struct runner_job job;
    bool takes_attempts;                /* TASK#N is a kernel, too: to be set before it is opened */
    struct tune_session_kernel attempt; /* that it is; without a source: none */
    char *function;    /* what the task's session names as its kernel; NULL: nothing */
    struct buf others; /* kernels of the file that could have been meant; empty: one was named, or
                        * there is no doubt */
    struct buf path;   /* under which an attempt's findings are told; empty: no attempt */
    VEC(struct runner_input) inputs;
    VEC(char *) files; /* holds the names that inputs point to */
    int64_t seeds[TASK_MAX_SEEDS];
    size_t seed_count;
};
/* Reads the kernel, the reference and the options. CLI_OK, or, after a message, the exit status. */
int cli_job_open(const struct cli *cli, struct cli_job *job);
void cli_job_close(struct cli_job *job);
/* Says on stderr which of several kernels of the file was taken, where none was named. */
void cli_job_say_others(const struct cli_job *job, const char *command, const char *taken);

/* Makes the reference put the inputs of the job's first seed into the cache, or, where shapes are
 * enough, those of any seed, unless they are there. *err says why it could not. */
void cli_job_prepare(const struct runner_job *job, bool shapes_only, struct err *err);

/* Prints findings as a compiler does, each with its source line and a mark below it. */
void cli_print_diags(const struct diag_list *diags, const struct task *task, struct buf *out);

struct cJSON;
/* [{file, line, column, severity, code, message}, ...] */
struct cJSON *cli_json_diags(const struct diag_list *diags);
/* Adds a text; null when it is empty. */
void cli_json_text(struct cJSON *object, const char *name, const char *text);
/* true, false, or null where it was not asked or not found out. */
void cli_json_answer(struct cJSON *object, const char *name, enum task_answer answer);
/* Prints the object to stdout, over lines or on one, as UTF-8 that is safe on a terminal, and
 * deletes it. */
void cli_json_print(struct cJSON *object);
void cli_json_line(struct cJSON *object);

#endif
