/* SPDX-License-Identifier: Apache-2.0 */
/* Private to cli: from the options that sim and check share to a job, and findings on paper. */
#ifndef HONE_CLI_JOB_H
#define HONE_CLI_JOB_H

#include "cli/kit/kit.h"
#include "runner/runner.h"
#include "task/task.h"

struct cli_job {
    struct task *task;
    struct config *config; /* the job's wall points into it */
    struct runner_job job;
    VEC(struct runner_input) inputs;
    VEC(char *) files; /* names that the inputs point to */
    int64_t seeds[TASK_MAX_SEEDS];
    size_t seed_count;
};
/* Reads the kernel, the reference and the options; CLI_OK or the exit status, after a message. */
int cli_job_open(const struct cli *cli, struct cli_job *job);
void cli_job_close(struct cli_job *job);

/* Findings as a compiler prints them, each with its source line and a mark below it. */
void cli_print_diags(const struct diag_list *diags, const struct task *task, struct buf *out);

struct cJSON;
/* [{file, line, column, severity, code, message}, ...] */
struct cJSON *cli_json_diags(const struct diag_list *diags);
/* true, false, or null where it was not asked or not found out. */
void cli_json_answer(struct cJSON *object, const char *name, enum task_answer answer);
/* Prints the object with line ends to stdout and deletes it. */
void cli_json_print(struct cJSON *object);

#endif
