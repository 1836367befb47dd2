/* SPDX-License-Identifier: Apache-2.0 */
/* hone import and hone export. Import brings what other agents learnt into a session. Export writes
 * a session into a folder for others; the export is evaluated once on this machine before it
 * appears. */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "loop/loop.h"
#include "runner/runner.h"
#include "store/store.h"
#include "tune/tune.h"

/* One evaluation of what was exported, as its receiver would run it. */
struct trial {
    const struct cli *cli;
    const struct config *config;
    struct loop *loop;
    struct task_verdict verdict;
    struct err failure;
    bool skipped;    /* it was not wanted, or nothing here can run it */
    struct buf note; /* why nothing shows that it is right; empty: all is well */
};

static void on_trial_done(void *data, struct runner_result *result) {
    struct trial *trial = data;
    trial->verdict = result->verdict;
    trial->failure = result->failure;
    loop_stop(trial->loop);
}

static void trial_run(struct trial *trial, const struct tune_bundle_made *made) {
    struct runner_job job = {.kernel_path = made->kernel,
                             .kernel_name = made->function,
                             .reference_path = made->reference,
                             .device = made->device,
                             .release = made->release,
                             .tracing = made->tracing,
                             .lnc = made->lnc,
                             .seeds = &made->seed,
                             .seed_count = 1,
                             .tolerance = made->tolerance,
                             .wall = {config_get(trial->config, "wall", "level", NULL),
                                      config_get(trial->config, "wall", "read", NULL)}};
    struct runner_callbacks callbacks = {NULL, on_trial_done, trial};
    runner_limits(&job, trial->config);
    if (runner_start(trial->loop, &job, &callbacks, &trial->failure))
        loop_run(trial->loop);
}

static const char *trial_wrong(const struct trial *trial) {
    const struct task_verdict *verdict = &trial->verdict;
    if (verdict->compiles.answer != TASK_YES)
        return verdict->compiles.reason[0] ? verdict->compiles.reason : "it does not compile";
    if (verdict->correct.answer == TASK_NO)
        return verdict->correct.reason[0] ? verdict->correct.reason : "it is not correct";
    return NULL;
}

/* What the device model ran in the session must run here too, otherwise the export is useless. What
 * ran on another target need not. */
static bool on_made(void *data, const struct tune_bundle_made *made, struct err *err) {
    struct trial *trial = data;
    if (trial->skipped)
        return true;
    if (made->lacks)
        return err_set(err, ERR_USAGE,
                       "%.200s is too large to be kept with the session, and no longer there as it "
                       "was: put it back, or write the export without it with --no-verify",
                       made->lacks);
    if (made->is_inside_model)
        return true;
    trial->loop = loop_new();
    trial_run(trial, made);
    loop_free(trial->loop);
    bool ran = trial->failure.kind == ERR_NONE || trial->failure.kind == ERR_KERNEL;
    const char *wrong = trial_wrong(trial);
    if (!ran)
        buf_printf(&trial->note, "not evaluated: %s", trial->failure.text);
    else if (wrong && !made->holds)
        buf_printf(&trial->note, "the kernel is wrong, as it was in the session: %s", wrong);
    else if (wrong)
        return err_set(err, ERR_KERNEL,
                       "the exported kernel does not run as it did in the session: %.300s. With "
                       "--no-verify it is written anyway",
                       wrong);
    return true;
}

static bool export_to(const struct cli *cli, const char *session, const char *folder,
                      struct err *err) {
    struct config *config = settings_load(NULL, err);
    struct trial trial = {.cli = cli, .config = config, .skipped = cli_has(cli, "no-verify")};
    bool ok = config && tune_bundle_write(session, folder, on_made, &trial, err);
    if (ok && trial.note.len) {
        struct buf safe = {0};
        text_sanitise(&safe, buf_str(&trial.note));
        fprintf(stderr, "hone export: it was written, but %s\n", safe.at);
        buf_free(&safe);
    }
    buf_free(&trial.note);
    config_free(config);
    return ok;
}

int cli_export(const struct cli *cli) {
    const char *what = cli->args.at[0], *output = cli_value(cli, "output");
    struct err err = {0};
    struct buf folder = {0};
    char *session = cli_session_of(what, &err);
    if (!session)
        return cli_wrong_usage(cli, "%s", err.text);
    if (output)
        buf_puts(&folder, output);
    else
        buf_printf(&folder, "%s-export", path_base(session));
    bool ok = export_to(cli, session, folder.at, &err);
    if (ok)
        cli_say(stdout, "%s\n", folder.at);
    free(session);
    buf_free(&folder);
    return ok ? CLI_OK : cli_fail(cli, &err);
}

/* -------------------------------------------------------------------------------------- import */

struct into {
    char *kernel, *reference, *session;
};

/* Finds where a file of the session is now: where the session says, or beside the .hone folder that
 * the session is in. */
static void find_again(char **path, const char *session) {
    if (!*path || file_exists(*path))
        return;
    char *whole = path_absolute(session), *hone = path_folder(whole), *task = path_folder(hone);
    char *beside = path_join(task, path_base(*path));
    if (file_exists(beside)) { /* otherwise it may be a seed's */
        free(*path);
        *path = mem_strdup(beside);
    }
    free(beside);
    free(task);
    free(hone);
    free(whole);
}

/* A session's folder names its kernel. Anything else is a task. */
static bool into_find(struct into *into, const char *what, const char *session, struct err *err) {
    if (session)
        into->session = mem_strdup(session);
    if (!session && store_exists(what)) {
        into->session = mem_strdup(what);
        bool ok = tune_session_about(what, &into->kernel, &into->reference, err);
        find_again(&into->kernel, what);
        find_again(&into->reference, what);
        return ok;
    }
    into->kernel = mem_strdup(what);
    return true;
}

static void into_free(struct into *into) {
    free(into->kernel);
    free(into->reference);
    free(into->session);
}

static void print_report(const struct cli *cli, const struct tune_import_report *report,
                         const char *folder) {
    if (cli_has(cli, "json")) {
        cJSON *object = cJSON_CreateObject();
        cJSON_AddNumberToObject(object, "files", (double)report->files);
        cJSON_AddNumberToObject(object, "experiences", (double)report->experiences);
        cJSON_AddNumberToObject(object, "fit", (double)report->fit);
        cJSON_AddNumberToObject(object, "attempts", (double)report->attempts);
        cJSON_AddNumberToObject(object, "known", (double)report->known);
        cJSON_AddNumberToObject(object, "altered", (double)report->altered);
        cJSON_AddStringToObject(object, "session", folder);
        cli_json_line(object);
        return;
    }
    cli_say(stdout, "%zu file%s: %zu experience%s proposed", report->files, PLURAL(report->files),
            report->experiences, PLURAL(report->experiences));
    if (report->fit < report->experiences)
        printf(", %zu of them for kernels like this one", report->fit);
    cli_say(stdout, ", %zu attempt%s to look at", report->attempts, PLURAL(report->attempts));
    if (report->known)
        printf(", %zu known already", report->known);
    cli_say(stdout,
            "\nThey are in %s. Nothing enters a prompt before you approve it: hone %s, screen 8.\n",
            folder, cli->args.len > 1 ? cli->args.at[1] : ".");
}

static void print_complaints(const struct cli *cli, const struct buf *complaints) {
    struct str rest = buf_str(complaints), line;
    while (str_next(&rest, '\n', &line) && line.len) {
        struct buf safe = {0};
        text_sanitise(&safe, line);
        fprintf(stderr, "hone %s: %s\n", cli->command->name, safe.at ? safe.at : "");
        buf_free(&safe);
    }
}

static int import_into(const struct cli *cli, const struct into *into, struct loop *loop) {
    struct tune_options options = {.task = into->kernel,
                                   .reference = into->reference,
                                   .session_dir = into->session,
                                   .idle = true};
    struct tune_import_report report = {0};
    struct err err = {0};
    struct tune_session *session = tune_session_open(&options, loop, &err);
    bool ok = session && tune_session_import(session, cli->args.at[0], &report, &err);
    print_complaints(cli, &report.complaints);
    if (ok)
        print_report(cli, &report, tune_session_folder(session));
    bool nothing = !report.experiences && !report.attempts && !report.known;
    if (ok && nothing)
        err_set(&err, ERR_USAGE, "%.200s: nothing in it could be used", cli->args.at[0]);
    tune_session_close(session);
    buf_free(&report.complaints);
    return ok && !nothing ? CLI_OK : cli_fail(cli, &err);
}

int cli_import(const struct cli *cli) {
    struct err err = {0};
    struct into into = {0};
    if (!into_find(&into, cli->args.len > 1 ? cli->args.at[1] : ".", cli_value(cli, "session"),
                   &err)) {
        into_free(&into);
        return cli_fail(cli, &err);
    }
    if (cli_value(cli, "reference")) {
        free(into.reference);
        into.reference = mem_strdup(cli_value(cli, "reference"));
    }
    struct loop *loop = loop_new();
    int status = import_into(cli, &into, loop);
    loop_free(loop);
    into_free(&into);
    return status;
}
