/* SPDX-License-Identifier: Apache-2.0 */
/* hone check: findings about a kernel, printed as a compiler prints them. It works in this process
 * and at once. Only a reference whose shapes are not in the cache yet is run first. */
#include "cli/cli.h"
#include "cli/kit/kit.h"

#include <cjson/cJSON.h>
#include <stdio.h>

static void print_json(const struct cli_job *job, const struct runner_result *result,
                       double elapsed_s) {
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "kernel", job->task->kernel_path);
    cli_json_text(object, "function", result->kernel_name);
    cJSON_AddStringToObject(object, "device", result->device);
    cJSON_AddStringToObject(object, "dialect", result->dialect);
    cli_json_text(object, "release", result->release);
    cli_json_answer(object, "compiles", result->verdict.compiles.answer);
    cJSON_AddNumberToObject(object, "instructions", (double)result->instructions);
    cJSON_AddItemToObject(object, "diagnostics", cli_json_diags(&result->diagnostics));
    cJSON_AddNumberToObject(object, "elapsed_s", elapsed_s);
    cli_json_print(object);
}

static void print_text(const struct cli_job *job, const struct runner_result *result) {
    struct buf text = {0};
    cli_print_diags(&result->diagnostics, job->task, &text);
    fputs(text.at ? text.at : "", stdout);
    buf_free(&text);
    const struct task_judgement *compiles = &result->verdict.compiles;
    if (compiles->answer == TASK_NOT_ASKED)
        cli_say(stderr, "hone check: %s\n", compiles->reason);
}

static bool write_junit(const struct cli *cli, const struct cli_job *job,
                        const struct runner_result *result, double elapsed_s, struct err *err) {
    const char *file = cli_value(cli, "junit");
    struct junit junit = {
        .suite = "hone check", .place = job->task->kernel_path, .seconds = elapsed_s};
    if (!file)
        return true;
    junit_add_diags(&junit, &result->diagnostics);
    bool ok = junit_write(&junit, file, err);
    junit_fini(&junit);
    return ok;
}

int cli_check(const struct cli *cli) {
    struct cli_job job = {.takes_attempts = true};
    struct runner_result result = {0};
    struct err err = {0}, no_shapes = {0};
    uint64_t start = clock_monotonic_ns();
    int status = cli_job_open(cli, &job);
    if (status == CLI_OK) {
        cli_job_prepare(&job.job, true, &no_shapes);
        if (no_shapes.kind != ERR_NONE)
            cli_fail(cli, &no_shapes); /* the source is checked all the same */
        if (!runner_check(&job.job, &result, &err)) {
            status = cli_fail(cli, &err);
        } else {
            cli_job_say_others(&job, "check", result.kernel_name);
            double elapsed_s = (double)(clock_monotonic_ns() - start) * 1e-9;
            if (cli_has(cli, "json"))
                print_json(&job, &result, elapsed_s);
            else
                print_text(&job, &result);
            status = !write_junit(cli, &job, &result, elapsed_s, &err) ? cli_fail(cli, &err)
                     : result.diagnostics.errors                       ? CLI_KERNEL_FAILED
                     : no_shapes.kind != ERR_NONE                      ? err_exit_status(&no_shapes)
                                                                       : CLI_OK;
        }
    }
    runner_result_free(&result);
    cli_job_close(&job);
    return status;
}
