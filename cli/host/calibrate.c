/* SPDX-License-Identifier: Apache-2.0 */
/* hone calibrate HOST: measures the suite on the host, fits the constants of the device model to
 * it, and keeps them. calibrate_say.c prints. */
#include "cli/host/calibrate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LEAST_ROWS 3 /* fewer rows show nothing */
#define LEAST_ERROR 0.005

/* ---- one kernel ----------------------------------------------------------------------------- */

static void inputs_of(const struct calibrate_kernel *kernel, struct runner_job *job,
                      struct runner_input inputs[CALIBRATE_INPUTS]) {
    size_t n = 0;
    for (; n < CALIBRATE_INPUTS && kernel->inputs[n].name; n++) {
        const struct calibrate_input *from = &kernel->inputs[n];
        bool number = from->dtype == DTYPE_NONE;
        inputs[n] = (struct runner_input){.dtype = from->dtype,
                                          .ndim = number ? 0 : 2,
                                          .shape = {from->rows, from->columns},
                                          .value = (double)from->number,
                                          .is_whole = number};
        snprintf(inputs[n].name, sizeof inputs[n].name, "%s", from->name);
    }
    job->inputs = inputs;
    job->input_count = n;
}

static void on_done(void *data, struct runner_result *result) {
    struct calibration *c = data;
    c->run = NULL;
    c->result = *result;
    *result = (struct runner_result){0};
    c->reach.over = true;
}

/* Serves the loop until the kernel is done. An interrupt cancels it on the host. */
static bool serve(struct calibration *c) {
    loop_run_until(c->reach.loop, &c->reach.over, 0);
    if (c->run) {
        target_cancel(c->run);
        c->reach.over = false;
        loop_run_until(c->reach.loop, &c->reach.over, CANCEL_MS);
    }
    return !c->reach.interrupted;
}

static bool run_kernel(struct calibration *c, const struct calibrate_kernel *kernel,
                       struct err *err) {
    struct runner_input inputs[CALIBRATE_INPUTS];
    struct str text = calibrate_text(c->dialect);
    char *source = mem_dup(text.at, text.len + 1);
    struct runner_job job = {.kernel_path = "suite.py",
                             .kernel_text = source,
                             .kernel_name = kernel->function,
                             .device = nki_generation_name(c->generation),
                             .occasion = c->occasion,
                             .no_verify = true};
    struct runner_callbacks callbacks = {NULL, on_done, c};
    inputs_of(kernel, &job, inputs);
    runner_result_free(&c->result);
    c->reach.over = false;
    c->run = target_start(c->reach.target, &job, &callbacks, err);
    free(source);
    if (!c->run)
        return false;
    return serve(c) || err_set(err, ERR_CANCELLED, "interrupted");
}

/* Why the kernel that was run shows nothing. NULL: it shows something. */
static const char *why_left_out(const struct calibration *c) {
    const struct runner_result *result = &c->result;
    if (result->failure.kind != ERR_NONE)
        return result->failure.text;
    if (result->verdict.compiles.answer == TASK_NO)
        return result->verdict.compiles.reason;
    return result->latency_us > 0 ? NULL : "no latency was told";
}

/* The relative standard error of what was measured. */
static double error_of(const struct runner_result *result) {
    double sum = 0, squares = 0, n = (double)result->samples_us.len;
    for (size_t i = 0; i < result->samples_us.len; i++) {
        sum += result->samples_us.at[i];
        squares += result->samples_us.at[i] * result->samples_us.at[i];
    }
    if (n < 2 || !(sum > 0))
        return LEAST_ERROR;
    double mean = sum / n, variance = fmax(0, squares / n - mean * mean);
    return fmax(LEAST_ERROR, sqrt(variance / (n - 1)) / mean);
}

static void leave_out(struct calibration *c, const char *name, const char *why) {
    *vec_push(&c->left_out) =
        (struct left_out){arena_strdup(c->arena, name), arena_strdup(c->arena, why)};
    calibrate_say_left_out(c, name, why);
}

static void take(struct calibration *c, const struct calibrate_kernel *kernel) {
    struct calibrate_made made;
    struct err err = {0};
    if (!calibrate_make(kernel, c->dialect, c->generation, &made, &err)) {
        leave_out(c, kernel->name, err.text);
        calibrate_unmake(&made);
        return;
    }
    *vec_push(&c->made) = made;
    *vec_push(&c->rows) = (struct calibrate_row){.name = kernel->name,
                                                 .image = made.image,
                                                 .measured_us = c->result.latency_us,
                                                 .error = error_of(&c->result)};
    calibrate_say_measured(c, kernel->name, c->result.latency_us);
}

/* ---- all kernels ---------------------------------------------------------------------------- */

/* Whether --kernels names it. Without --kernels every kernel is asked for. */
static bool is_asked(const struct calibration *c, const struct calibrate_kernel *kernel) {
    struct str rest = str_of(cli_value(c->cli, "kernels")), name;
    bool all = !rest.len;
    while (!all && str_next(&rest, ',', &name))
        if (str_is(str_trim(name), kernel->name))
            return true;
    return all;
}

/* Whether it is run after the first kernel, which shows the dialect. */
static bool is_run(const struct calibration *c, const struct calibrate_kernel *kernel) {
    bool can = !kernel->current_only || c->dialect != NKI_DIALECT_LEGACY;
    return can && is_asked(c, kernel);
}

static size_t count_of(const struct calibration *c) {
    const struct calibrate_kernel *kernel;
    size_t n = 1;
    for (size_t i = 1; (kernel = calibrate_kernel_at(i)); i++)
        n += is_run(c, kernel);
    return n;
}

static size_t first_word(const char *name) {
    return strcspn(name, "_");
}

/* What the suite has that begins with the same word as `name`; otherwise the words with which its
 * kernels begin. */
static const char *names_like(const struct calibration *c, struct str name) {
    const struct calibrate_kernel *kernel;
    struct buf list = {0}, words = {0};
    size_t word = first_word(arena_printf(c->arena, STR_FMT, STR_ARG(name))), same = 0;
    for (size_t i = 0; (kernel = calibrate_kernel_at(i)); i++) {
        size_t own = first_word(kernel->name);
        const char *begins = arena_printf(c->arena, "%.*s", (int)own, kernel->name);
        if (own == word && !strncmp(begins, name.at, word))
            buf_printf(&list, "%s%s", same++ ? ", " : "", kernel->name);
        if (!words.at || !strstr(words.at, begins))
            buf_printf(&words, "%s%s", words.len ? ", " : "", begins);
    }
    const char *text = same ? arena_printf(c->arena, "it has %s", list.at)
                            : arena_printf(c->arena, "names begin with %s", words.at);
    buf_free(&list);
    buf_free(&words);
    return text;
}

/* Names in --kernels must be names of kernels. */
static bool names_are_known(const struct calibration *c, struct err *err) {
    struct str rest = str_of(cli_value(c->cli, "kernels")), name;
    while (rest.len && str_next(&rest, ',', &name)) {
        const struct calibrate_kernel *kernel;
        size_t i = 0;
        name = str_trim(name);
        while ((kernel = calibrate_kernel_at(i)) && !str_is(name, kernel->name))
            i++;
        if (!kernel)
            return err_set(err, ERR_USAGE, "there is no kernel " STR_FMT " in the suite; %s",
                           STR_ARG(name), names_like(c, name));
    }
    return true;
}

/* A release that has the package nki compiles the current dialect, older ones the legacy one; the
 * first kernel says whether that is so. */
static bool choose_dialect(struct calibration *c, struct err *err) {
    const struct calibrate_kernel *first = calibrate_kernel_at(0);
    bool current = strstr(target_look(c->reach.target)->release, "nki ") != NULL;
    const enum nki_dialect both[] = {NKI_DIALECT_CURRENT, NKI_DIALECT_LEGACY};
    char why[2][200] = {"", ""};
    for (size_t i = 0; i < 2; i++) {
        c->dialect = both[current ? i : 1 - i];
        c->total = count_of(c);
        calibrate_say_next(c, first->name);
        if (!run_kernel(c, first, err))
            return false;
        if (!why_left_out(c)) {
            take(c, first);
            return true;
        }
        snprintf(why[i], sizeof why[i], "%.199s", why_left_out(c));
    }
    return err_set(err, ERR_ENVIRONMENT,
                   "no kernel compiles and runs on %s. In the %s dialect: %s. In the other: %s",
                   c->host, current ? "current" : "legacy", why[0], why[1]);
}

/* When the place fails this ends it, because the other kernels would fail too. */
static bool go_on(struct calibration *c, const struct calibrate_kernel *kernel, struct err *err) {
    calibrate_say_next(c, kernel->name);
    if (!run_kernel(c, kernel, err))
        return false;
    const char *why = why_left_out(c);
    if (c->result.failure.kind == ERR_ENVIRONMENT)
        return err_set(
            err, ERR_ENVIRONMENT,
            "%s failed at kernel %zu of %zu (%s): %.300s. Nothing was kept: run it again", c->host,
            c->done + 1, c->total, kernel->name, why);
    if (why)
        leave_out(c, kernel->name, why);
    else
        take(c, kernel);
    return true;
}

static bool measure(struct calibration *c, struct err *err) {
    const struct calibrate_kernel *kernel;
    if (!choose_dialect(c, err))
        return false;
    c->done = 1;
    for (size_t i = 1; (kernel = calibrate_kernel_at(i)); i++) {
        if (is_run(c, kernel) && !go_on(c, kernel, err))
            return false;
        c->done += is_run(c, kernel);
    }
    calibrate_say_next(c, NULL);
    return c->rows.len >= LEAST_ROWS ||
           err_set(err, ERR_ENVIRONMENT,
                   "only %zu kernels could be measured on %s, which tells too little", c->rows.len,
                   c->host);
}

/* ---- the fit -------------------------------------------------------------------------------- */

static void fit_work(void *data) {
    struct calibration *c = data;
    c->fitted = calibrate_fit(c->rows.at, c->rows.len, c->generation, &c->cancel, &c->fit);
}

static void fit_done(void *data) {
    struct calibration *c = data;
    c->fit_over = true;
    c->reach.over = true;
}

static bool fit(struct calibration *c, struct err *err) {
    c->reach.over = c->fit_over = false;
    loop_job_start(c->reach.loop, fit_work, fit_done, c);
    loop_run_until(c->reach.loop, &c->reach.over, 0);
    c->cancel = !c->fit_over;
    loop_run_until(c->reach.loop, &c->fit_over, 0);
    return c->fitted || err_set(err, ERR_CANCELLED, "interrupted");
}

/* ---- the command ---------------------------------------------------------------------------- */

/* The generation of --device, otherwise the one in the host's section, otherwise trn2. */
static bool choose_generation(struct calibration *c, const struct config *config, struct err *err) {
    const char *asked = cli_value(c->cli, "device");
    const char *kinds[] = {"host", "cluster"};
    for (size_t i = 0; i < COUNT_OF(kinds) && !asked; i++) {
        char *section = arena_printf(c->arena, "%s %s", kinds[i], c->host);
        asked = config_get(config, section, "device", NULL);
    }
    const struct device_generation *found = device_generation_ask(asked, err);
    if (found)
        c->generation = found->generation;
    return found != NULL;
}

static bool calibrate(struct calibration *c, const struct config *config, struct err *err) {
    if (!names_are_known(c, err) || !choose_generation(c, config, err) ||
        !reach_open(&c->reach, c->host, config, cli_has(c->cli, "json"), err) ||
        !reach_wait(&c->reach, err) || !measure(c, err) || !fit(c, err))
        return false;
    if (cli_has(c->cli, "dry-run"))
        return true;
    c->path = calibrate_path(c->host);
    return calibrate_keep(c->host, target_look(c->reach.target)->release, &c->fit, c->rows.at,
                          c->rows.len, err);
}

static void calibration_free(struct calibration *c) {
    for (size_t i = 0; i < c->made.len; i++)
        calibrate_unmake(&c->made.at[i]);
    vec_free(&c->made);
    vec_free(&c->rows);
    vec_free(&c->left_out);
    calibrate_fit_free(&c->fit);
    runner_result_free(&c->result);
    free(c->path);
    arena_free(c->arena);
}

static int forget(const struct cli *cli, const char *host) {
    struct err err = {0};
    char *path = calibrate_path(host);
    bool gone = unlink(path) == 0;
    if (gone)
        cli_say(stdout, "%s is gone; the device model takes its own constants for %s again\n", path,
                host);
    else
        err_set(&err, ERR_USAGE, "%s has no constants of its own", host);
    free(path);
    return gone ? CLI_OK : cli_fail(cli, &err);
}

int cli_calibrate(const struct cli *cli) {
    const char *host = cli->args.at[0];
    if (cli_has(cli, "forget"))
        return forget(cli, host);
    struct err err = {0};
    struct config *config = settings_load(NULL, &err);
    if (!config)
        return cli_fail(cli, &err);
    struct calibration c = {.cli = cli, .host = host, .arena = arena_new()};
    c.occasion = arena_printf(c.arena, "calibrate-%lld", (long long)clock_wall_ms());
    bool fine = calibrate(&c, config, &err);
    int status = CLI_OK;
    calibrate_say_next(&c, NULL);
    if (fine)
        calibrate_say_all(&c);
    else if (!c.reach.interrupted)
        status = cli_fail(cli, &err);
    if (c.reach.loop)
        status = reach_close(&c.reach, status);
    calibration_free(&c);
    config_free(config);
    return status;
}
