/* SPDX-License-Identifier: Apache-2.0 */
/* hone mcp: holds a session and serves it to the agent at standard input and output. Nothing else
 * is printed to stdout. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/mcp/private.h"
#include "loop/loop.h"
#include "mcp/mcp.h"
#include "tune/tune.h"
#include "version.h"

#define EXIT_SIGNAL 128 /* plus its number, as shells report a signal */
#define LAST_MS 2000    /* for what is still to be written at the end */

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

struct serving {
    const struct cli *cli;
    struct loop *loop;
    struct config *config;
    struct tune_session *session;
    struct tune_run own; /* gates and limits that hold for this run alone */
    struct mcp_server *server;
    struct mcp_stream *stream;
    struct mcp_client *client;
    struct loop_signal *signals[COUNT_OF(signals)];
    int ended_by;
};

static void on_line(void *data, struct str line, bool whole) {
    struct serving *serving = data;
    mcp_client_line(serving->client, line, whole);
}

static void on_end(void *data) {
    struct serving *serving = data;
    loop_stop(serving->loop);
}

static void on_signal(void *data, int signum) {
    struct serving *serving = data;
    serving->ended_by = signum;
    loop_stop(serving->loop);
}

static void on_send(void *data, struct str line) {
    struct serving *serving = data;
    mcp_stream_send(serving->stream, line);
}

static void on_change(void *data) {
    struct serving *serving = data;
    mcp_server_changed(serving->server);
}

/* --------------------------------------------------------------------------------- the command */

static bool options_read(struct serving *serving, struct tune_options *options) {
    const struct cli *cli = serving->cli;
    const char *gate = cli_value(cli, "gate");
    if (!cli_number(cli, "rounds", 1, 100000, &serving->own.limits[TUNE_BUDGET_ROUNDS]) ||
        !cli_limits(cli, serving->own.limits))
        return false;
    serving->own.gate_set = gate && tune_gate_find(gate, &serving->own.gate);
    *options = (struct tune_options){.task = cli->args.len ? cli->args.at[0] : ".",
                                     .reference = cli_value(cli, "reference"),
                                     .function = cli_value(cli, "kernel-name"),
                                     .session_dir = cli_value(cli, "session"),
                                     .device = cli_value(cli, "device"),
                                     .target = cli_value(cli, "target"),
                                     .precision = cli_value(cli, "precision"),
                                     .agents = true,
                                     .config = serving->config};
    return true;
}

static bool files_choose(struct serving *serving, struct err *err) {
    const char *which = cli_value(serving->cli, "changed");
    struct tune_action action = {.kind = TUNE_ACT_TAKE_FILES};
    if (!which || !tune_session_state(serving->session)->changed.len)
        return true;
    if (!strcmp(which, "keep"))
        action.kind = TUNE_ACT_KEEP_FILES;
    return tune_session_act(serving->session, &action, err);
}

/* A session that somebody else holds can be looked at, and nothing can be handed in. */
static bool begin(struct serving *serving, const struct tune_options *options, struct err *err) {
    serving->session = tune_session_open(options, serving->loop, err);
    if (!serving->session)
        return false;
    const struct tune_state *state = tune_session_state(serving->session);
    bool limited = serving->own.gate_set;
    for (int i = 0; i < TUNE_BUDGETS; i++)
        limited = limited || serving->own.limits[i] > 0;
    return state->read_only ||
           (files_choose(serving, err) &&
            (!limited || tune_session_run_begin(serving->session, &serving->own, err)));
}

static void serve(struct serving *serving) {
    const struct mcp_options options = {.loop = serving->loop,
                                        .session = serving->session,
                                        .config = serving->config,
                                        .version = HONE_VERSION,
                                        .drives = true,
                                        .approves = serving->own.gate_set &&
                                                    serving->own.gate == TUNE_GATE_AUTO};
    const struct mcp_stream_hooks hooks = {on_line, on_end, serving};
    for (size_t i = 0; i < COUNT_OF(signals); i++)
        serving->signals[i] = loop_signal_start(serving->loop, signals[i], on_signal, serving);
    serving->server = mcp_server_new(&options);
    serving->stream = mcp_stream_new(serving->loop, STDIN_FILENO, STDOUT_FILENO, &hooks);
    serving->client = mcp_client_new(serving->server, on_send, serving);
    tune_session_on_change(serving->session, on_change, serving);
    loop_run(serving->loop);
    mcp_client_free(serving->client);
    mcp_stream_flush(serving->stream, LAST_MS);
    mcp_stream_free(serving->stream);
    tune_session_on_change(serving->session, NULL, NULL);
    mcp_server_free(serving->server);
    for (size_t i = 0; i < COUNT_OF(signals); i++)
        loop_signal_stop(serving->signals[i]);
}

static void end(struct serving *serving) {
    struct buf said = {0};
    if (serving->session && saved_elsewhere(serving->session, "TASK", &said))
        cli_say(stderr, "hone mcp: %s\n", said.at);
    if (serving->session && !tune_session_state(serving->session)->read_only)
        tune_session_run_end(serving->session);
    buf_free(&said);
    tune_session_close(serving->session);
    loop_free(serving->loop);
    config_free(serving->config);
}

int cli_mcp(const struct cli *cli) {
    struct serving serving = {.cli = cli};
    struct tune_options options = {0};
    struct err err = {0};
    if (cli_value(cli, "print-config"))
        return mcp_config_print(cli, cli_value(cli, "print-config"));
    serving.config = settings_load(cli->args.len ? cli->args.at[0] : ".", &err);
    if (!serving.config)
        return cli_fail(cli, &err);
    int status = options_read(&serving, &options) ? CLI_OK : CLI_WRONG_USAGE;
    signal(SIGPIPE, SIG_IGN);
    serving.loop = loop_new();
    if (status == CLI_OK && begin(&serving, &options, &err))
        serve(&serving);
    else if (status == CLI_OK)
        status = cli_fail(cli, &err);
    end(&serving);
    return serving.ended_by ? EXIT_SIGNAL + serving.ended_by : status;
}
