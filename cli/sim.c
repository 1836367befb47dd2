/* SPDX-License-Identifier: Apache-2.0 */
/* hone sim: one evaluation on the embedded device model. How it is printed is in sim_json.c and
 * sim_text.c. */
#include "cli/sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "device/device.h"
#include "target/target.h"

/* ---- the evaluation ------------------------------------------------------------------------- */

static void on_event(void *data, const struct runner_event *event) {
    struct sim *sim = data;
    if (event->kind == RUNNER_LOG && event->name)
        buf_printf(&sim->shown, "%s\n", event->text);
    if (!sim->shows_progress)
        return;
    if (event->kind == RUNNER_PHASE && event->seconds < 0)
        fprintf(stderr, "\r\033[K%s ...", event->name);
    else if (event->kind == RUNNER_CORRECTNESS)
        fprintf(stderr, "\r\033[Kseed %lld: relative L2 %.3g", (long long)event->seed,
                event->value);
}

static void on_done(void *data, struct runner_result *result) {
    struct sim *sim = data;
    sim->result = *result;
    *result = (struct runner_result){0};
    sim->done = true;
    if (sim->shows_progress)
        fputs("\r\033[K", stderr);
}

/* ---- the compiler's opinion ----------------------------------------------------------------- */

static void on_predict_event(void *data, const struct runner_event *event) {
    struct sim *sim = data;
    if (event->kind != RUNNER_LOG)
        return;
    buf_clear(&sim->unpredicted);
    buf_puts(&sim->unpredicted, event->text); /* the last line says why there is none */
}

static void on_predicted(void *data, struct runner_result *result) {
    struct sim *sim = data;
    sim->prediction = result->prediction;
    sim->predicted = true;
    if (result->failure.kind == ERR_NONE)
        return;
    buf_clear(&sim->unpredicted);
    buf_puts(&sim->unpredicted, result->failure.text);
}

/* Where to ask for a prediction; NULL: nowhere. */
static const char *predictor_of(const struct sim *sim) {
    const char *set = config_get(sim->config, "defaults", "nki_python", NULL);
    if (sim->job.job.no_time || (set && strcmp(set, "none") == 0))
        return NULL;
    if (set && *set)
        return set;
    return runner_finds_nki() ? RUNNER_NKI_FOUND : NULL;
}

/* It works beside the device model. When it cannot be asked, that is no failure. */
static struct runner *predict_start(struct sim *sim, struct loop *loop) {
    const char *where = predictor_of(sim);
    struct runner_callbacks callbacks = {on_predict_event, on_predicted, sim};
    struct err err = {0};
    struct runner *runner =
        where ? runner_predict(loop, &sim->job.job, where, &callbacks, &err) : NULL;
    sim->predicted = !runner;
    if (err.kind != ERR_NONE)
        buf_puts(&sim->unpredicted, err.text);
    return runner;
}

static bool evaluate(struct sim *sim, struct err *err) {
    struct loop *loop = loop_new();
    struct target *target = target_open(loop, "sim", NULL, err);
    struct runner_callbacks callbacks = {on_event, on_done, sim};
    bool ok = target && target_start(target, &sim->job.job, &callbacks, err);
    struct runner *predicting = ok ? predict_start(sim, loop) : NULL;
    if (ok)
        loop_run_until(loop, &sim->done, 0);
    bool of_use = sim->result.verdict.compiles.answer == TASK_YES;
    if (ok && of_use)
        loop_run_until(loop, &sim->predicted, 0);
    if (!sim->predicted)
        runner_drop(predicting);
    target_free(target);
    loop_free(loop);
    return ok;
}

/* ---- the profile's file --------------------------------------------------------------------- */

/* Finds, before the work, whether the profile can be written at its end. */
static bool profile_can_be_written(const char *file, struct err *err) {
    char *target = path_target(file), *folder = path_folder(target ? target : file);
    bool can = file_is_dir(folder) && access(file_exists(file) ? file : folder, W_OK) == 0;
    free(folder);
    free(target);
    return can || err_set(err, ERR_ENVIRONMENT,
                          "cannot write %s: its folder does not exist or cannot be written", file);
}

/* A new folder in which the runner leaves it. */
static char *profile_folder(const char *file, struct err *err) {
    const char *temporary = getenv("TMPDIR");
    char name[48]; /* os_sweep_scratch removes it, should this process be killed */
    snprintf(name, sizeof name, "hone-%ld-profile-XXXXXX", (long)getpid());
    char *pattern = path_join(temporary && *temporary ? temporary : "/tmp", name);
    if (profile_can_be_written(file, err) &&
        (mkdtemp(pattern) || err_set(err, ERR_ENVIRONMENT, "cannot make the folder %s", pattern)))
        return pattern;
    free(pattern);
    return NULL;
}

static bool place_profile(const struct sim *sim, const char *file, const char *folder,
                          struct err *err) {
    bool ok = true;
    for (size_t i = 0; i < sim->result.artifacts.len; i++) {
        size_t size = 0;
        if (strcmp(sim->result.artifacts.at[i].name, "profile") != 0)
            continue;
        char *text = file_read(sim->result.artifacts.at[i].path, 0, &size, err);
        ok = text && file_write(file, text, size, err);
        free(text);
    }
    (void)!file_remove_tree(folder, NULL);
    return ok;
}

/* ---- what a limit says ---------------------------------------------------------------------- */

bool cli_sim_is_too_slow(const struct sim *sim, struct buf *why) {
    if (!(sim->limit_us > 0) || !(sim->result.latency_us > sim->limit_us))
        return false;
    buf_printf(why, "%.6g µs is above %.6g µs", sim->result.latency_us, sim->limit_us);
    return true;
}

/* Adds the reason for each "no" as a finding, so that a script reads it among the others. */
static void explain_answers(struct sim *sim) {
    struct runner_result *result = &sim->result;
    const struct {
        const char *name;
        const struct task_judgement *judgement;
    } rows[] = {{"correct", &result->verdict.correct}, {"credible", &result->verdict.credible}};
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (rows[i].judgement->answer == TASK_NO && rows[i].judgement->reason[0])
            diag_add(&result->diagnostics, DIAG_ERROR, "", sim->job.task->kernel_path, 0, 0,
                     "not %s: %s", rows[i].name, rows[i].judgement->reason);
    struct buf why = {0};
    if (cli_sim_is_too_slow(sim, &why))
        diag_add(&result->diagnostics, DIAG_ERROR, "", sim->job.task->kernel_path, 0, 0,
                 "too slow: %s", why.at);
    buf_free(&why);
}

/* ---- JUnit ---------------------------------------------------------------------------------- */

static void add_limit(struct junit *junit, const struct sim *sim) {
    struct buf name = {0}, why = {0};
    buf_printf(&name, "latency at most %.6g µs", sim->limit_us);
    bool known = sim->result.latency_us > 0, failed = cli_sim_is_too_slow(sim, &why);
    if (!known)
        buf_puts(&why, "there is no latency");
    junit_add(junit, name.at, failed ? JUNIT_FAILED : known ? JUNIT_PASSED : JUNIT_SKIPPED, why.at);
    buf_free(&name);
    buf_free(&why);
}

static bool write_junit(const struct sim *sim, struct err *err) {
    const char *file = cli_value(sim->cli, "junit");
    struct junit junit = {.suite = "hone sim", .place = sim->job.task->kernel_path};
    if (!file)
        return true;
    junit_add_result(&junit, &sim->result);
    if (sim->limit_us > 0 && sim->result.failure.kind == ERR_NONE)
        add_limit(&junit, sim);
    bool ok = junit_write(&junit, file, err);
    junit_fini(&junit);
    return ok;
}

/* ---- the command ---------------------------------------------------------------------------- */

static int read_limit(struct sim *sim) {
    const char *text = cli_value(sim->cli, "fail-above");
    double seconds = 0;
    if (!text)
        return CLI_OK;
    if (!clock_read_duration(str_of(text), &seconds))
        return cli_wrong_usage(
            sim->cli, "--fail-above must be a time such as 400us or 1.5ms, not '%s'", text);
    if (cli_has(sim->cli, "no-time"))
        return cli_wrong_usage(sim->cli, "--fail-above needs the timing that --no-time leaves out");
    sim->limit_us = seconds * 1e6;
    return CLI_OK;
}

/* The constants of a host. Its generation is the device if none is given. */
static bool read_constants(struct sim *sim) {
    const char *host = cli_value(sim->cli, "constants");
    struct runner_job *job = &sim->job.job;
    struct err err = {0};
    bool ok = !host || calibrate_load(host, &sim->host, &err);
    if (ok && host && job->device && strcmp(job->device, sim->host.device) != 0)
        ok = err_set(&err, ERR_USAGE, "the constants of %s are for %s, not for %s", host,
                     sim->host.device, job->device);
    if (ok && host) {
        job->constants = sim->host.constants;
        job->device = sim->host.device;
    }
    if (!ok)
        (void)cli_fail(sim->cli, &err);
    return ok;
}

/* --break LINE or LINE:N */
static bool read_break(const struct cli *cli, struct runner_job *job) {
    const char *text = cli_value(cli, "break");
    long long line = 0, round = 1;
    if (!text)
        return true;
    struct str rest = str_of(text), first;
    bool ok = str_next(&rest, ':', &first) && str_to_int(first, &line) &&
              (!rest.len || str_to_int(rest, &round));
    if (!ok || line < 1 || line > INT32_MAX || round < 1 || round > INT32_MAX || job->no_verify) {
        (void)cli_wrong_usage(cli, job->no_verify
                                       ? "--break needs the run that --no-verify leaves out"
                                       : "--break is a line of the kernel, or LINE:N for the "
                                         "N-th instruction that comes from it");
        return false;
    }
    job->break_line = (int)line;
    job->break_round = (int)round;
    return true;
}

static int read_options(struct sim *sim) {
    const struct cli *cli = sim->cli;
    struct runner_job *job = &sim->job.job;
    int status = cli_job_open(cli, &sim->job);
    if (status == CLI_OK)
        status = read_limit(sim);
    if (status != CLI_OK)
        return status;
    if (!cli_number(cli, "tolerance", 1e-12, 1e6, &job->tolerance) ||
        !cli_number(cli, "time-limit", 0.1, 1e6, &job->time_limit_s))
        return CLI_WRONG_USAGE;
    if (!read_constants(sim))
        return CLI_WRONG_USAGE;
    job->no_verify = cli_has(cli, "no-verify");
    job->no_time = cli_has(cli, "no-time");
    if (job->no_time && cli_has(cli, "profile"))
        return cli_wrong_usage(cli, "--profile needs the timing that --no-time leaves out");
    if (job->no_verify && cli_has(cli, "save-outputs"))
        return cli_wrong_usage(cli, "--save-outputs needs the run that --no-verify leaves out");
    job->output_folder = cli_value(cli, "save-outputs");
    if (!read_break(cli, job))
        return CLI_WRONG_USAGE;
    job->all_seeds = true;
    if (cli_value(cli, "compare")) {
        struct err err = {0};
        sim->compared = file_read(cli_value(cli, "compare"), NKI_MAX_SOURCE, NULL, &err);
        if (!sim->compared)
            return cli_fail(cli, &err);
        job->parent_text = sim->compared;
    }
    sim->config = settings_load(NULL, NULL); /* other commands complain about a wrong one */
    sim->shows_progress = isatty(STDERR_FILENO) && isatty(STDOUT_FILENO);
    return CLI_OK;
}

static int exit_status(const struct sim *sim) {
    const struct task_verdict *verdict = &sim->result.verdict;
    struct buf why = {0};
    if (sim->result.failure.kind != ERR_NONE)
        return cli_fail(sim->cli, &sim->result.failure);
    bool too_slow = cli_sim_is_too_slow(sim, &why);
    if (too_slow)
        cli_say(stderr, "hone sim: the kernel is too slow: %s (--fail-above)\n", why.at);
    buf_free(&why);
    return task_verdict_is_green(verdict) && !too_slow ? CLI_OK : CLI_KERNEL_FAILED;
}

static int evaluate_and_print(struct sim *sim) {
    struct err err = {0};
    const char *file = cli_value(sim->cli, "profile");
    char *folder = file ? profile_folder(file, &err) : NULL;
    sim->job.job.artifact_folder = folder;
    sim->job.job.unrounded = cli_has(sim->cli, "unrounded");
    if ((file && !folder) || !evaluate(sim, &err)) {
        free(folder);
        return cli_fail(sim->cli, &err);
    }
    if (folder && !place_profile(sim, file, folder, &err) && sim->result.failure.kind == ERR_NONE)
        sim->result.failure = err;
    free(folder);
    if (!write_junit(sim, &err) && sim->result.failure.kind == ERR_NONE)
        sim->result.failure = err;
    cli_job_say_others(&sim->job, "sim", sim->result.kernel_name);
    if (cli_has(sim->cli, "json")) {
        explain_answers(sim);
        cli_sim_print_json(sim);
    } else if (sim->result.failure.kind == ERR_NONE || sim->result.diagnostics.all.len) {
        cli_sim_print_text(sim);
    }
    return exit_status(sim);
}

int cli_sim(const struct cli *cli) {
    struct sim sim = {.cli = cli, .job.takes_attempts = true};
    int status = read_options(&sim);
    if (status == CLI_OK)
        status = evaluate_and_print(&sim);
    runner_result_free(&sim.result);
    buf_free(&sim.unpredicted);
    buf_free(&sim.shown);
    config_free(sim.config);
    free(sim.compared);
    calibrate_record_free(&sim.host);
    cli_job_close(&sim.job);
    return status;
}

int cli_runner(const struct cli *cli) {
    (void)cli;
    return runner_main();
}
