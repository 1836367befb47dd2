/* SPDX-License-Identifier: Apache-2.0 */
/* hone model: the models of the configuration, and whether they can be asked.
 * core/tune/proposer/preflight.c does the asking; here it is printed. */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "cli/kit/kit.h"
#include "loop/loop.h"
#include "model/model.h"
#include "tune/tune.h"

#define STEP_COLUMN 10 /* after the state */
#define TEXT_COLUMN 20

/* -- list ------------------------------------------------------------------------------------- */

struct row {
    const char *name, *api, *model, *effort;
    char *address, *key;
};

static void row_json(cJSON *list, const struct row *row) {
    const struct {
        const char *key, *value;
    } fields[] = {{"name", row->name},       {"api", row->api}, {"model", row->model},
                  {"address", row->address}, {"key", row->key}, {"effort", row->effort}};
    cJSON *object = cJSON_CreateObject();
    cJSON_AddItemToArray(list, object);
    for (size_t i = 0; i < COUNT_OF(fields); i++)
        cJSON_AddStringToObject(object, fields[i].key, fields[i].value);
}

static void row_print(const struct row *row) {
    cli_say(stdout, "%s\n  %-9s%s, %s%s%s\n  %-9s", row->name, "model", row->api, row->model,
            *row->effort ? ", effort " : "", row->effort, "address");
    host_say(11, row->address);
    cli_say(stdout, "  %-9s", "key");
    host_say(11, row->key);
}

static bool list_one(const struct config *config, const char *name, cJSON *list, struct err *err) {
    struct tune_models_one one = {0};
    if (!tune_models_look(config, name, &one, err))
        return false;
    struct buf address = {0}, key = {0};
    model_address_print(one.endpoint, &address);
    model_key_print(one.endpoint, &key);
    const char *model = one.endpoint->model ? one.endpoint->model : "";
    struct row row = {name,       one.endpoint->api,
                      model,      model_effort_word(one.endpoint->effort),
                      address.at, key.at};
    if (list)
        row_json(list, &row);
    else
        row_print(&row);
    buf_free(&address);
    buf_free(&key);
    tune_models_look_end(&one);
    return true;
}

static int model_list(const struct cli *cli) {
    struct err err = {0};
    struct config *config = settings_load(NULL, &err);
    if (!config)
        return cli_fail(cli, &err);
    cJSON *list = cli_has(cli, "json") ? cJSON_CreateArray() : NULL;
    bool fine = true, any = false;
    const char *name;
    for (size_t i = 0; fine && (name = config_name(config, "model", i)); i++, any = true)
        if (cli_has(cli, "names"))
            cli_say(stdout, "%s\n", name);
        else
            fine = list_one(config, name, list, &err);
    if (fine && list) {
        cli_json_print(list);
        list = NULL;
    } else if (fine && !any && !cli_has(cli, "names")) {
        printf("No [model NAME] is in your configuration; SERVICE/MODEL needs none.\n");
    }
    cJSON_Delete(list);
    config_free(config);
    return fine ? CLI_OK : cli_fail(cli, &err);
}

/* -- test ------------------------------------------------------------------------------------- */

struct test {
    bool json, done;
    char model[80]; /* the model whose heading was printed last */
    struct err err;
};

static void step_json(const struct tune_preflight_step *step) {
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "event", "check");
    cJSON_AddStringToObject(object, "model", step->model);
    cJSON_AddStringToObject(object, "name", step->step);
    cJSON_AddStringToObject(object, "state", step->fine ? "ok" : "failed");
    cJSON_AddStringToObject(object, "found", step->found);
    cli_json_line(object);
}

static void on_step(void *data, const struct tune_preflight_step *step) {
    struct test *test = data;
    if (test->json) {
        step_json(step);
        return;
    }
    if (strncmp(test->model, step->model, sizeof test->model - 1) != 0)
        cli_say(stdout, "%s\n", step->model);
    snprintf(test->model, sizeof test->model, "%s", step->model);
    cli_say(stdout, "  %-*s%-*s", STEP_COLUMN - 2, step->fine ? "ok" : "FAILED",
            TEXT_COLUMN - STEP_COLUMN, step->step);
    host_say(TEXT_COLUMN, step->found);
}

static void on_done(void *data, const struct err *err) {
    struct test *test = data;
    test->err = *err;
    test->done = true;
}

static void end_json(const struct test *test) {
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "event", "end");
    cJSON_AddBoolToObject(object, "ok", test->err.kind == ERR_NONE);
    if (test->err.kind != ERR_NONE)
        cJSON_AddStringToObject(object, "reason", test->err.text);
    cli_json_line(object);
}

static int model_test(const struct cli *cli) {
    struct test test = {.json = cli_has(cli, "json")};
    struct tune_preflight_hooks hooks = {on_step, on_done, &test};
    struct err err = {0};
    struct config *config = settings_load(NULL, &err);
    if (!config)
        return cli_fail(cli, &err);
    struct loop *loop = loop_new();
    const char *name = cli->args.len > 1 ? cli->args.at[1] : "models";
    struct tune_preflight *preflight = tune_preflight_start(loop, config, name, true, &hooks, &err);
    while (preflight && !test.done)
        loop_run_until(loop, &test.done, 1000);
    tune_preflight_free(preflight);
    loop_free(loop);
    config_free(config);
    if (!preflight)
        return cli_fail(cli, &err);
    if (test.json)
        end_json(&test);
    return test.err.kind == ERR_NONE ? CLI_OK : CLI_ENVIRONMENT_FAILED;
}

/* -- which one -------------------------------------------------------------------------------- */

int cli_model(const struct cli *cli) {
    const char *what = cli->args.at[0];
    if (!strcmp(what, "test") && !cli_has(cli, "names"))
        return model_test(cli);
    if (!strcmp(what, "test"))
        return cli_wrong_usage(cli, "--names makes no sense with hone model test");
    if (strcmp(what, "list") != 0)
        return cli_wrong_usage(cli, "there is no hone model %s; there are test and list", what);
    if (cli->args.len > 1)
        return cli_wrong_usage(cli, "one argument too many: '%s'", cli->args.at[1]);
    return model_list(cli);
}
