/* SPDX-License-Identifier: Apache-2.0 */
/* hone sweep: values of a kernel's named constants. Each value is an attempt of the task's session,
 * and a table shows how they did. Without values it shows which constants there are. The loop
 * decides about each attempt. */
#include <cjson/cJSON.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/kit/kit.h"
#include "cli/cli.h"
#include "loop/loop.h"
#include "rewrite/rewrite.h"
#include "task/task.h"
#include "tune/tune.h"

#define EXIT_INTERRUPTED 130

struct sweep_run {
    const struct cli *cli;
    struct loop *loop;
    struct tune_session *session;
    struct ask *ask;
    struct buf text;         /* the values as they were typed */
    struct tune_sweep sweep; /* base is -1 until it began */
    struct err err;
    bool begun, interrupted, looks;
};

/* ---- what there is to sweep ----------------------------------------------------------------- */

static void constant_put(cJSON *list, const struct rewrite_constant *row, const int64_t *values,
                         size_t count) {
    cJSON *object = cJSON_CreateObject(), *try = cJSON_AddArrayToObject(object, "values");
    cJSON_AddItemToArray(list, object);
    cJSON_AddStringToObject(object, "name", row->name);
    cJSON_AddNumberToObject(object, "value", (double)row->value);
    cJSON_AddStringToObject(object, "text", row->text);
    cJSON_AddNumberToObject(object, "line", row->line);
    cJSON_AddNumberToObject(object, "uses", row->uses);
    for (size_t i = 0; i < count; i++)
        cJSON_AddItemToArray(try, cJSON_CreateNumber((double)values[i]));
}

static int constants_print(const struct cli *cli, const struct rewrite_constants *constants) {
    cJSON *list = cli_has(cli, "json") ? cJSON_CreateArray() : NULL;
    for (size_t i = 0; i < constants->all.len; i++) {
        const struct rewrite_constant *row = &constants->all.at[i];
        int64_t values[REWRITE_CONSTANT_VALUES];
        size_t count = rewrite_constant_values(row, values);
        if (list) {
            constant_put(list, row, values, count);
            continue;
        }
        cli_say(stdout, "%-20s %8lld  line %-4d %3d %s  try ", row->name, (long long)row->value,
                row->line, row->uses, row->uses == 1 ? "use " : "uses");
        for (size_t k = 0; k < count; k++)
            cli_say(stdout, "%s%lld", k ? "," : "", (long long)values[k]);
        putchar('\n');
    }
    if (list)
        cli_json_print(list);
    else if (!constants->all.len)
        printf("the kernel has no named constant that can be changed in one place\n");
    return CLI_OK;
}

static int constants_list(const struct cli *cli) {
    struct err err = {0};
    struct task *task = task_open(cli->args.at[0], cli_value(cli, "reference"), &err);
    if (!task)
        return cli_fail(cli, &err);
    struct rewrite_constants *constants =
        rewrite_constants_find(str_of(task->kernel_text), cli_value(cli, "kernel-name"));
    int status = constants_print(cli, constants);
    rewrite_constants_free(constants);
    task_free(task);
    return status;
}

/* ---- nobody else proposes anything meanwhile ------------------------------------------------ */

static void no_plan(void *self, const struct tune_context *context, struct tune_reply *reply) {
    (void)self, (void)context;
    tune_reply_plans(reply, NULL, 0);
}

static void no_kernel(void *self, const struct tune_context *context, const struct tune_plan *plan,
                      struct tune_reply *reply) {
    (void)self, (void)context, (void)plan;
    tune_reply_failed(reply, "hone sweep carries out sweeps only");
}

/* ---- the run -------------------------------------------------------------------------------- */

static const struct tune_state *state_of(const struct sweep_run *run) {
    return tune_session_state(run->session);
}

static void on_event(void *data, int64_t seq, const char *type, const char *json) {
    struct sweep_run *run = data;
    (void)seq;
    if (strcmp(type, "decided") != 0 || cli_has(run->cli, "json"))
        return;
    cJSON *payload = cJSON_Parse(json);
    const cJSON *id = cJSON_GetObjectItemCaseSensitive(payload, "attempt");
    const char *status = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(payload, "status"));
    const char *reason = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(payload, "reason"));
    const struct tune_attempt *attempt =
        tune_state_attempt(state_of(run), cJSON_IsNumber(id) ? id->valueint : -1);
    struct buf line = {0}, safe = {0};
    buf_printf(&line, "#%d %s: %s: %s", attempt ? attempt->id : 0,
               attempt && attempt->plan.title ? attempt->plan.title : "the kernel as it is",
               status ? status : "?", reason ? reason : "");
    text_sanitise(&safe, buf_str(&line));
    printf("%s\n", safe.at ? safe.at : "");
    fflush(stdout);
    buf_free(&line);
    buf_free(&safe);
    cJSON_Delete(payload);
}

/* Allows the one round that the sweep needs, whatever the session's limit is. */
static bool round_allow(struct sweep_run *run) {
    double left = tune_budget_left(state_of(run), TUNE_BUDGET_ROUNDS);
    const struct tune_run more = {.limits = {[TUNE_BUDGET_ROUNDS] = 1}};
    return isnan(left) || left >= 1 || tune_session_run_begin(run->session, &more, &run->err);
}

static bool is_news(const struct sweep_run *run) {
    for (size_t i = 0; i < tune_sweep_combinations(&run->sweep); i++)
        if (!tune_sweep_attempt(state_of(run), &run->sweep, i))
            return true;
    return false;
}

static bool begin(struct sweep_run *run) {
    const struct tune_state *state = state_of(run);
    const struct tune_attempt *from = tune_state_attempt(state, state->incumbent);
    if (!from)
        return err_set(&run->err, ERR_KERNEL, "the kernel as it is could not be measured: %s",
                       state->wait_text ? state->wait_text : "it failed");
    run->begun = true;
    if (!round_allow(run) || !tune_sweep_parse(buf_str(&run->text), &run->sweep, &run->err) ||
        !tune_sweep_resolve(&run->sweep, str_of(tune_source(state, from)), state->function,
                            &run->err))
        return false;
    run->sweep.base = from->id;
    if (!is_news(run))
        return false;
    const struct tune_action action = {.kind = TUNE_ACT_SWEEP, .text = run->text.at};
    return tune_session_act(run->session, &action, &run->err);
}

/* Passes a gate in the middle of a sweep, because the sweep was asked for on this command line. */
static bool pass(struct sweep_run *run) {
    const struct tune_action action = {.kind = TUNE_ACT_APPROVE};
    return state_of(run)->wait == TUNE_WAIT_GATE && !state_of(run)->trouble &&
           tune_session_act(run->session, &action, &run->err);
}

/* After every change: whether there is anything left to wait for. */
static void look(void *data) {
    struct sweep_run *run = data;
    run->looks = false;
    if (tune_session_is_busy(run->session) || pass(run))
        return;
    bool may_begin = !run->begun && !state_of(run)->trouble &&
                     !state_of(run)->stopped_by_environment && run->err.kind == ERR_NONE;
    if (!may_begin || !begin(run))
        loop_stop(run->loop);
}

static void on_answer(void *data, const char *text) {
    struct sweep_run *run = data;
    tune_session_answer(run->session, text);
}

static void on_change(void *data) {
    struct sweep_run *run = data;
    const struct tune_place_view *place = state_of(run)->place;
    if (place) {
        ask_follow(run->ask, place->asks);
        known_note(place->info, place->status);
    }
    if (run->looks || tune_session_is_busy(run->session))
        return;
    run->looks = true;
    loop_post(run->loop, look, run);
}

static void on_signal(void *data, int signum) {
    struct sweep_run *run = data;
    (void)signum;
    run->interrupted = true;
    loop_stop(run->loop);
}

static bool start(struct sweep_run *run) {
    const struct tune_state *state = state_of(run);
    const struct tune_action action = {.kind = TUNE_ACT_START};
    if (state->read_only)
        return err_set(&run->err, ERR_ENVIRONMENT, "%s%s",
                       state->held_by ? "this session is open in " : "nothing can run here: ",
                       state->held_by ? state->held_by : state->why_read_only);
    if (state->wait == TUNE_WAIT_GATE)
        return err_set(&run->err, ERR_USAGE,
                       "in this session something waits for your decision: "
                       "decide in the workbench (hone %s) first",
                       run->cli->args.at[0]);
    return state->incumbent >= 0 || tune_session_act(run->session, &action, &run->err);
}

/* ---- what came of it ------------------------------------------------------------------------ */

static void end_json(const struct sweep_run *run) {
    const struct tune_state *state = state_of(run);
    const char *folder = tune_session_folder(run->session);
    cJSON *root = cJSON_CreateObject(), *rows = cJSON_AddArrayToObject(root, "rows");
    for (size_t i = 0; i < tune_sweep_combinations(&run->sweep); i++)
        cJSON_AddItemToArray(rows, tune_sweep_write(state, &run->sweep, i, folder));
    cJSON_AddNumberToObject(root, "incumbent", state->incumbent);
    cJSON_AddStringToObject(root, "session", folder);
    cli_json_print(root);
}

static void end_text(const struct sweep_run *run) {
    const struct tune_state *state = state_of(run);
    const struct tune_attempt *now = tune_state_attempt(state, state->incumbent);
    struct buf table = {0};
    tune_sweep_table(state, &run->sweep, &table);
    printf("\n%s", table.at ? table.at : "");
    if (now && now->path)
        cli_say(stdout, "\nthe loop goes on from #%d: %s/%s\n", now->id,
                tune_session_folder(run->session), now->path);
    buf_free(&table);
}

static int serve(struct sweep_run *run) {
    struct loop_signal *signals[] = {loop_signal_start(run->loop, SIGINT, on_signal, run),
                                     loop_signal_start(run->loop, SIGTERM, on_signal, run),
                                     loop_signal_start(run->loop, SIGHUP, on_signal, run)};
    tune_session_on_event(run->session, on_event, run);
    tune_session_on_change(run->session, on_change, run);
    if (start(run)) {
        loop_post(run->loop, look, run);
        loop_run(run->loop);
    }
    tune_session_run_end(run->session);
    for (size_t i = 0; i < COUNT_OF(signals); i++)
        loop_signal_stop(signals[i]);
    const struct tune_state *state = state_of(run);
    if (run->err.kind == ERR_NONE && !run->begun && state->trouble)
        err_set(&run->err, ERR_ENVIRONMENT, "%s", state->trouble);
    if (run->err.kind == ERR_NONE && state->stopped_by_environment)
        err_set(&run->err, ERR_ENVIRONMENT, "%s", state->wait_text ? state->wait_text : "stopped");
    if (run->sweep.base >= 0 && cli_has(run->cli, "json"))
        end_json(run);
    else if (run->sweep.base >= 0)
        end_text(run);
    if (run->interrupted)
        return EXIT_INTERRUPTED;
    return run->err.kind == ERR_NONE ? CLI_OK : cli_fail(run->cli, &run->err);
}

static int run_session(struct sweep_run *run, const struct tune_options *options) {
    signal(SIGPIPE, SIG_IGN);
    run->loop = loop_new();
    run->ask = ask_new(run->loop, on_answer, run);
    run->session = tune_session_open(options, run->loop, &run->err);
    int status = run->session ? serve(run) : cli_fail(run->cli, &run->err);
    ask_free(run->ask);
    tune_session_close(run->session);
    loop_free(run->loop);
    return status;
}

int cli_sweep(const struct cli *cli) {
    struct sweep_run run = {.cli = cli, .sweep = {.base = -1}};
    struct tune_proposer nobody = {.name = "hone sweep", .plan = no_plan, .rewrite = no_kernel};
    struct tune_options options = {.task = cli->args.at[0], .use = &nobody};
    struct tune_sweep spelling;
    if (cli->args.len == 1)
        return constants_list(cli);
    for (size_t i = 1; i < cli->args.len; i++)
        buf_printf(&run.text, "%s%s", i > 1 ? " " : "", cli->args.at[i]);
    int status = CLI_OK;
    if (!tune_sweep_parse(buf_str(&run.text), &spelling, &run.err))
        status = cli_fail(cli, &run.err);
    struct config *config = status == CLI_OK ? settings_load(cli->args.at[0], &run.err) : NULL;
    if (status == CLI_OK && !config)
        status = cli_fail(cli, &run.err);
    options.config = config;
    options.reference = cli_value(cli, "reference");
    options.function = cli_value(cli, "kernel-name");
    options.session_dir = cli_value(cli, "session");
    options.device = cli_value(cli, "device");
    options.target = cli_value(cli, "target");
    options.seeds = cli_value(cli, "seeds");
    if (status == CLI_OK)
        status = run_session(&run, &options);
    config_free(config);
    buf_free(&run.text);
    return status;
}
