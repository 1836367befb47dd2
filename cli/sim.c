/* SPDX-License-Identifier: Apache-2.0 */
/* hone sim: one evaluation on the embedded device model, as text or as one JSON object. */
#include "cli/cli.h"
#include "cli/kit/kit.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "calibrate/calibrate.h"
#include "device/device.h"
#include "target/target.h"

#define COSTLY_LINES 8

struct sim {
    const struct cli *cli;
    struct cli_job job;
    struct runner_result result;
    struct runner_prediction prediction; /* by the SDK's compiler, where there is one */
    struct buf unpredicted;              /* why there is no prediction */
    struct config *config;
    double limit_us;              /* --fail-above; 0: none */
    struct calibrate_record host; /* of --constants */
    bool done, predicted, shows_progress;
};

/* ---- the evaluation ------------------------------------------------------------------------- */

static void on_event(void *data, const struct runner_event *event) {
    struct sim *sim = data;
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

/* ---- JSON ----------------------------------------------------------------------------------- */

static void add_known(cJSON *object, const char *name, double value, bool known) {
    if (known && isfinite(value))
        cJSON_AddNumberToObject(object, name, value);
    else
        cJSON_AddNullToObject(object, name);
}

static void add_seeds(cJSON *object, const struct runner_result *result) {
    cJSON *rows = cJSON_AddArrayToObject(object, "seeds");
    for (size_t i = 0; i < result->seeds.len; i++) {
        cJSON *row = cJSON_CreateObject();
        cJSON_AddNumberToObject(row, "seed", (double)result->seeds.at[i].seed);
        add_known(row, "rel_l2", result->seeds.at[i].rel_l2, true);
        cJSON_AddItemToArray(rows, row);
    }
}

static void add_metrics(cJSON *object, const struct runner_result *result) {
    cJSON *metrics = cJSON_AddObjectToObject(object, "metrics");
    for (size_t i = 0; i < result->metrics.len; i++)
        add_known(metrics, result->metrics.at[i].name, result->metrics.at[i].value, true);
}

static void add_elapsed(cJSON *object, const struct runner_result *result) {
    cJSON *elapsed = cJSON_AddObjectToObject(object, "elapsed_s");
    for (size_t i = 0; i < result->phases.len; i++)
        cJSON_AddNumberToObject(elapsed, result->phases.at[i].name, result->phases.at[i].seconds);
    cJSON_AddNumberToObject(elapsed, "total", result->elapsed_s);
}

/* Adds the files of --save-outputs. seed is null where the inputs were given. */
static void add_outputs(cJSON *object, const struct sim *sim) {
    cJSON *rows = cJSON_AddArrayToObject(object, "outputs");
    for (size_t i = 0; i < sim->result.artifacts.len; i++) {
        const struct runner_artifact *artifact = &sim->result.artifacts.at[i];
        if (artifact->array.dtype == DTYPE_NONE)
            continue;
        cJSON *row = cJSON_CreateObject();
        cJSON_AddStringToObject(row, "name", artifact->name);
        bool has_seed = sim->job.job.reference_path && !sim->job.job.input_count;
        add_known(row, "seed", (double)artifact->seed, has_seed);
        cJSON_AddStringToObject(row, "file", artifact->path);
        cJSON_AddStringToObject(row, "dtype", dtype_name(artifact->array.dtype));
        cJSON *shape = cJSON_AddArrayToObject(row, "shape");
        for (int d = 0; d < artifact->array.ndim; d++)
            cJSON_AddItemToArray(shape, cJSON_CreateNumber((double)artifact->array.shape[d]));
        cJSON_AddItemToArray(rows, row);
    }
}

static void add_prediction(cJSON *object, const struct runner_prediction *found) {
    add_known(object, "predicted_us", found->us, found->us > 0);
    if (!(found->us > 0))
        return;
    cJSON_AddStringToObject(object, "predicted_by", found->by);
    cJSON *engines = cJSON_AddObjectToObject(object, "predicted_utilisation");
    for (size_t i = 0; i < found->engine_count; i++)
        add_known(engines, found->engines[i].engine, found->engines[i].percent, true);
    add_known(object, "predicted_macs", found->macs, true);
    add_known(object, "predicted_hbm_bytes", found->hbm_bytes, true);
}

/* Adds why there is no whole answer, and whose fault that is. */
static void add_failure(cJSON *object, const struct err *failure) {
    if (failure->kind == ERR_NONE)
        return;
    cJSON *row = cJSON_AddObjectToObject(object, "failure");
    cJSON_AddStringToObject(row, "kind", err_kind_name(failure->kind));
    cJSON_AddStringToObject(row, "text", failure->text);
}

static void print_json(const struct sim *sim) {
    const struct runner_result *result = &sim->result;
    const char *device = device_name(sim->job.job.device);
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "kernel", sim->job.task->kernel_path);
    cJSON_AddStringToObject(object, "device", result->device[0] ? result->device : device);
    cJSON_AddStringToObject(object, "dialect", result->dialect);
    cli_json_answer(object, "compiles", result->verdict.compiles.answer);
    cli_json_answer(object, "correct", result->verdict.correct.answer);
    cli_json_answer(object, "credible", result->verdict.credible.answer);
    cJSON_AddStringToObject(object, "wall", result->wall);
    add_seeds(object, result);
    add_known(object, "latency_us", result->latency_us, result->latency_us > 0);
    add_known(object, "low_us", result->low_us, result->low_us > 0);
    add_known(object, "high_us", result->high_us, result->high_us > 0);
    add_known(object, "floor_us", result->floor_us, result->floor_us > 0);
    add_known(object, "floor_split_us", result->floor_split_us, result->floor_us > 0);
    add_known(object, "floor_any_us", result->floor_any_us, result->floor_us > 0);
    cJSON_AddNumberToObject(object, "instructions", (double)result->instructions);
    add_prediction(object, &sim->prediction);
    add_metrics(object, result);
    if (cli_has(sim->cli, "save-outputs"))
        add_outputs(object, sim);
    cJSON_AddItemToObject(object, "diagnostics", cli_json_diags(&result->diagnostics));
    add_elapsed(object, result);
    add_failure(object, &result->failure);
    cli_json_print(object);
}

/* Prints why the latency is more than --fail-above allows, as a sentence without its end. False: it
 * is not, or there is no limit or no latency. */
static bool is_too_slow(const struct sim *sim, struct buf *why) {
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
    if (is_too_slow(sim, &why))
        diag_add(&result->diagnostics, DIAG_ERROR, "", sim->job.task->kernel_path, 0, 0,
                 "too slow: %s", why.at);
    buf_free(&why);
}

/* ---- text ----------------------------------------------------------------------------------- */

static void print_judgement(struct buf *out, const char *name,
                            const struct task_judgement *judgement) {
    buf_printf(out, "%-9s %s%s%s\n", name, task_answer_name(judgement->answer),
               judgement->reason[0] ? ": " : "", judgement->reason);
}

/* Prints the floors in other precisions, where they are lower. */
static void print_floors(struct buf *out, const struct runner_result *result) {
    if (!(result->floor_any_us < result->floor_us))
        return;
    buf_puts(out, ", ");
    clock_print_duration(out, result->floor_split_us * 1e-6);
    buf_puts(out, " with fp32 products split into bf16, ");
    clock_print_duration(out, result->floor_any_us * 1e-6);
    buf_puts(out, " all in bf16");
}

static void print_latency(struct buf *out, const struct runner_result *result) {
    if (!(result->latency_us > 0))
        return;
    buf_puts(out, "latency   ");
    clock_print_duration(out, result->latency_us * 1e-6);
    buf_puts(out, " (modelled); floor ");
    clock_print_duration(out, result->floor_us * 1e-6);
    if (result->floor_bound[0])
        buf_printf(out, " (%s)", result->floor_bound);
    print_floors(out, result);
    if (result->bound[0])
        buf_printf(out, "; limited by %s", result->bound);
    buf_putc(out, '\n');
    if (!(result->low_us > 0))
        return;
    buf_puts(out, "error     eight of ten kernels like this took ");
    clock_print_duration(out, result->low_us * 1e-6);
    buf_puts(out, " to ");
    clock_print_duration(out, result->high_us * 1e-6);
    buf_puts(out, " on hardware\n");
}

/* What the latency rests on that nobody documented or measured. */
static void print_rests(struct buf *out, const struct runner_result *result) {
    double fitted = NAN, guessed = NAN;
    for (size_t i = 0; i < result->metrics.len; i++) {
        const struct runner_metric *metric = &result->metrics.at[i];
        if (!strcmp(metric->name, "fitted_rules_percent"))
            fitted = metric->value;
        else if (!strcmp(metric->name, "guessed_rules_percent"))
            guessed = metric->value;
    }
    if (isfinite(fitted) && isfinite(guessed))
        buf_printf(out, "rests on  fitted rules for %.0f %%, guessed ones for %.0f %%\n", fitted,
                   guessed);
}

static void print_limit(struct buf *out, const struct sim *sim) {
    struct buf why = {0};
    if (is_too_slow(sim, &why))
        buf_printf(out, "limit     no: %s\n", why.at);
    else if (sim->limit_us > 0 && sim->result.latency_us > 0)
        buf_puts(out, "limit     yes\n");
    buf_free(&why);
}

static struct str why_not(const struct buf *said) {
    static const char start[] = "the compiler predicts nothing: ";
    struct str text = buf_str(said);
    if (!str_starts(text, start))
        return text;
    return (struct str){text.at + sizeof start - 1, text.len - (sizeof start - 1)};
}

/* Why there is no prediction interests only those who asked for one. */
static void print_prediction(struct buf *out, const struct sim *sim) {
    const struct runner_prediction *found = &sim->prediction;
    const char *set = config_get(sim->config, "defaults", "nki_python", NULL);
    if (!(found->us > 0)) {
        if (set && *set && sim->unpredicted.len)
            buf_printf(out, "compiler  no prediction: " STR_FMT "\n",
                       STR_ARG(why_not(&sim->unpredicted)));
        return;
    }
    buf_puts(out, "compiler  predicts ");
    clock_print_duration(out, found->us * 1e-6);
    buf_printf(out, " (%s)", found->by);
    for (size_t i = 0, said = 0; i < found->engine_count; i++)
        if (found->engines[i].percent >= 1)
            buf_printf(out, "%s%s %.0f %%", said++ ? ", " : ": ", found->engines[i].engine,
                       found->engines[i].percent);
    buf_putc(out, '\n');
}

static void print_lines(struct buf *out, const struct sim *sim) {
    const struct runner_result *result = &sim->result;
    if (result->lines.len)
        buf_puts(out, "\n  share  engine   line\n");
    for (size_t i = 0; i < result->lines.len && i < COSTLY_LINES; i++) {
        const struct runner_line *line = &result->lines.at[i];
        struct str rest = {sim->job.task->kernel_text, sim->job.task->kernel_len}, text = {0};
        for (int n = 0; n < line->line; n++)
            if (!str_next(&rest, '\n', &text))
                text = (struct str){"", 0};
        text = str_trim(text);
        buf_printf(out, "%6.1f%%  %-7s %5d  %.*s\n", line->share * 100, line->engine, line->line,
                   (int)MIN_OF(text.len, (size_t)56), text.at);
    }
}

static void print_outputs(struct buf *out, const struct runner_result *result) {
    for (size_t i = 0; i < result->artifacts.len; i++) {
        const struct runner_artifact *artifact = &result->artifacts.at[i];
        if (artifact->array.dtype == DTYPE_NONE)
            continue;
        buf_printf(out, "%-9s %s (%s", artifact->name, artifact->path,
                   dtype_name(artifact->array.dtype));
        for (int d = 0; d < artifact->array.ndim; d++)
            buf_printf(out, "%c%lld", d ? 'x' : ' ', (long long)artifact->array.shape[d]);
        buf_puts(out, ")\n");
    }
}

static void print_text(const struct sim *sim) {
    const struct runner_result *result = &sim->result;
    struct buf raw = {0}, safe = {0};
    cli_print_diags(&result->diagnostics, sim->job.task, &safe);
    buf_printf(&raw, "kernel    %s (%s, %s dialect) on %s, %llu instructions\n",
               sim->job.task->kernel_path, result->kernel_name[0] ? result->kernel_name : "?",
               result->dialect[0] ? result->dialect : "unknown", result->device,
               (unsigned long long)result->instructions);
    print_judgement(&raw, "compiles", &result->verdict.compiles);
    print_judgement(&raw, "correct", &result->verdict.correct);
    print_judgement(&raw, "credible", &result->verdict.credible);
    if (result->wall[0])
        buf_printf(&raw, "wall      %s\n", result->wall);
    print_latency(&raw, result);
    print_rests(&raw, result);
    print_limit(&raw, sim);
    print_prediction(&raw, sim);
    print_outputs(&raw, result);
    print_lines(&raw, sim);
    text_sanitise(&safe, buf_str(&raw));
    fputs(safe.at, stdout);
    buf_free(&raw);
    buf_free(&safe);
}

/* ---- JUnit ---------------------------------------------------------------------------------- */

static void add_limit(struct junit *junit, const struct sim *sim) {
    struct buf name = {0}, why = {0};
    buf_printf(&name, "latency at most %.6g µs", sim->limit_us);
    bool known = sim->result.latency_us > 0, failed = is_too_slow(sim, &why);
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
    job->pessimistic = cli_has(sim->cli, "pessimistic");
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
    job->all_seeds = true;
    sim->config = settings_load(NULL, NULL); /* other commands complain about a wrong one */
    sim->shows_progress = isatty(STDERR_FILENO) && isatty(STDOUT_FILENO);
    return CLI_OK;
}

static int exit_status(const struct sim *sim) {
    const struct task_verdict *verdict = &sim->result.verdict;
    struct buf why = {0};
    if (sim->result.failure.kind != ERR_NONE)
        return cli_fail(sim->cli, &sim->result.failure);
    bool too_slow = is_too_slow(sim, &why);
    if (too_slow)
        fprintf(stderr, "hone sim: the kernel is too slow: %s (--fail-above)\n", why.at);
    buf_free(&why);
    return task_verdict_is_green(verdict) && !too_slow ? CLI_OK : CLI_KERNEL_FAILED;
}

static int evaluate_and_print(struct sim *sim) {
    struct err err = {0};
    const char *file = cli_value(sim->cli, "profile");
    char *folder = file ? profile_folder(file, &err) : NULL;
    sim->job.job.artifact_folder = folder;
    if ((file && !folder) || !evaluate(sim, &err)) {
        free(folder);
        return cli_fail(sim->cli, &err);
    }
    if (folder && !place_profile(sim, file, folder, &err) && sim->result.failure.kind == ERR_NONE)
        sim->result.failure = err;
    free(folder);
    if (!write_junit(sim, &err) && sim->result.failure.kind == ERR_NONE)
        sim->result.failure = err;
    if (cli_has(sim->cli, "json")) {
        explain_answers(sim);
        print_json(sim);
    } else if (sim->result.failure.kind == ERR_NONE || sim->result.diagnostics.all.len) {
        print_text(sim);
    }
    return exit_status(sim);
}

int cli_sim(const struct cli *cli) {
    struct sim sim = {.cli = cli};
    int status = read_options(&sim);
    if (status == CLI_OK)
        status = evaluate_and_print(&sim);
    runner_result_free(&sim.result);
    buf_free(&sim.unpredicted);
    config_free(sim.config);
    calibrate_record_free(&sim.host);
    cli_job_close(&sim.job);
    return status;
}

int cli_runner(const struct cli *cli) {
    (void)cli;
    return runner_main();
}
