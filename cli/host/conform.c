/* SPDX-License-Identifier: Apache-2.0 */
/* hone conform: whether a Neuron SDK is as hone knows it, here or on a host, as a report to send
 * in. The runner knows what to check (core/runner/remote/hone_runner/conform.py). */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/host/private.h"
#include "cli/kit/kit.h"
#include "runner/runner.h"

/* -- on this machine -------------------------------------------------------------------------- */

struct local {
    bool done;
    int status;
};

static void on_exit_local(void *data, const struct loop_exit *exited) {
    struct local *local = data;
    local->done = true;
    local->status = exited->end == LOOP_EXITED ? exited->status : CLI_ENVIRONMENT_FAILED;
}

static const char *python_of(const struct cli *cli, const struct config *config) {
    const char *given = cli_value(cli, "python");
    const char *set = config_get(config, "defaults", "nki_python", NULL);
    bool named = set && *set && strcmp(set, "none") != 0 && strcmp(set, RUNNER_NKI_FOUND) != 0;
    return given ? given : named ? set : NULL;
}

/* The runner prints its own lines and asks nobody. */
static int run_local(const struct cli *cli, const char *file, const char *python) {
    const char *own = getenv("HONE_PYTHON"), *argv[8];
    size_t count = 0;
    argv[count++] = own && *own ? own : "python3";
    argv[count++] = file;
    argv[count++] = "conform";
    if (python) {
        argv[count++] = "--python";
        argv[count++] = python;
    }
    if (cli_has(cli, "json"))
        argv[count++] = "--json";
    argv[count] = NULL;
    struct local local = {0};
    struct err err = {0};
    struct loop_child_spec spec = {.argv = argv,
                                   .interactive = true,
                                   .out = LOOP_INHERIT,
                                   .err = LOOP_INHERIT,
                                   .on_exit = on_exit_local,
                                   .data = &local};
    struct loop *loop = loop_new();
    bool fine = loop_child_start(loop, &spec, &err) != NULL;
    if (fine)
        loop_run_until(loop, &local.done, 0);
    loop_free(loop);
    return fine ? local.status : cli_fail(cli, &err);
}

/* Saves the runner for a machine that has the SDK's wheels but no hone. */
static int save(const struct cli *cli, const char *path) {
    struct err err = {0};
    size_t size = 0;
    char *data = runner_packed(&size, &err);
    bool fine = data && file_write(path, data, size, &err);
    free(data);
    if (!fine)
        return cli_fail(cli, &err);
    cli_say(stdout, "%s is written. On a machine with the SDK's wheels: python3 %s conform\n", path,
            path_base(path));
    return CLI_OK;
}

int cli_conform(const struct cli *cli) {
    struct err err = {0};
    if (cli_value(cli, "save"))
        return save(cli, cli_value(cli, "save"));
    struct config *config = settings_load(NULL, &err);
    char *file = config ? runner_packed_file(&err) : NULL;
    int status = file ? run_local(cli, file, python_of(cli, config)) : cli_fail(cli, &err);
    free(file);
    config_free(config);
    return status;
}

/* -- on a host -------------------------------------------------------------------------------- */

struct remote {
    bool told;
    int bad;
};

static void on_line(void *data, struct str line) {
    struct buf safe = {0};
    (void)data;
    text_sanitise(&safe, line);
    printf("%s\n", safe.at ? safe.at : "");
    fflush(stdout);
    buf_free(&safe);
}

static void on_event(void *data, const char *name, const cJSON *event) {
    struct remote *remote = data;
    const cJSON *bad = cJSON_GetObjectItemCaseSensitive(event, "bad");
    if (strcmp(name, "conform") != 0 || !cJSON_IsNumber(bad))
        return;
    remote->told = true;
    remote->bad = bad->valueint;
}

static bool ask(struct reach *reach, bool json, struct remote *remote, struct err *err) {
    const char *const argv[] = {"conform", "--events", json ? "--json" : NULL, NULL};
    struct target_ask_spec spec = {
        .argv = argv, .on_event = on_event, .on_line = on_line, .data = remote};
    if (!reach_wait(reach, err) || !reach_ask(reach, &spec, err))
        return false;
    return remote->told || err_set(err, ERR_ENVIRONMENT, "the runner there ended without a report");
}

int host_conform(const struct cli *cli) {
    struct remote remote = {0};
    struct reach reach;
    struct err err = {0};
    struct config *config = settings_load(NULL, &err);
    if (!config)
        return cli_fail(cli, &err);
    bool json = cli_has(cli, "json");
    bool fine =
        reach_open(&reach, cli->args.at[1], config, json, &err) && ask(&reach, json, &remote, &err);
    int status = remote.bad ? CLI_KERNEL_FAILED : CLI_OK;
    if (!fine)
        status = reach.interrupted ? CLI_ENVIRONMENT_FAILED : cli_fail(cli, &err);
    status = reach_close(&reach, status);
    config_free(config);
    return status;
}
