/* SPDX-License-Identifier: Apache-2.0 */
/* hone mcp: serves a session to the agent at standard input and output. Nothing else is printed to
 * stdout. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/mcp/private.h"

#define EXIT_SIGNAL 128 /* plus its number, as shells report a signal */
#define LAST_MS 2000    /* for what is still to be written at the end */
#define LOOK_MS 100     /* between two looks for a session that changes hands */
#define HANDS_MS 10000  /* for that */
#define OPENS_MS 1000   /* for who holds it to begin to listen, at the start */
#define WISH_MS 120000  /* for a workbench that was promised it */
#define MOST_QUEUED ((size_t)32 << 20)

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

/* ------------------------------------------------------------------------- where the session is */

/* Whether the process that held the session when it was opened is no more. */
static bool holder_is_gone(const struct serving *serving) {
    const char *holder = tune_session_state(serving->session)->held_by;
    char host[100] = "", own[100] = "";
    long pid = 0;
    return holder && sscanf(holder, "process %ld on %99s", &pid, host) == 2 && pid > 0 &&
           !gethostname(own, sizeof own - 1) && !strcmp(host, own) && kill((pid_t)pid, 0) &&
           errno == ESRCH;
}

/* A session that somebody else held, who could not be joined, was only looked at until now: it may
 * be free, or somebody holds it who listens. That is looked for when the agent asks something, so
 * that a server that nobody asks does nothing. */
static void onlooker_goes_over(struct serving *serving) {
    struct err nobody = {0};
    if (!tune_session_state(serving->session)->held_by || !mcp_client_rests(serving->client))
        return;
    int fd = mcp_join(tune_session_folder(serving->session), &nobody);
    if (fd < 0 && !holder_is_gone(serving))
        return;
    serving_release(serving, NULL);
    if (fd >= 0)
        serving_join(serving, fd);
    else
        serving_look_again(serving);
}

static void line_take(struct serving *serving, struct str line) {
    if (serving->client)
        onlooker_goes_over(serving);
    if (serving->client)
        mcp_client_line(serving->client, line, true);
    else if (serving->other)
        serving_pass(serving, line);
    else if (serving->queue.len < MOST_QUEUED)
        buf_printf(&serving->queue, STR_FMT "\n", STR_ARG(line));
}

static void queue_take(struct serving *serving) {
    struct buf queue = serving->queue;
    struct str rest = buf_str(&queue), line;
    serving->queue = (struct buf){0};
    while (rest.len && str_next(&rest, '\n', &line))
        if (line.len)
            line_take(serving, line);
    buf_free(&queue);
}

/* A new holder has to know how the connection began. The answer went to the agent long ago. */
static void on_nothing(void *data, struct str line) {
    (void)data, (void)line;
}

static void revision_tell(struct serving *serving) {
    if (!serving->first.len || !serving->server)
        return;
    struct mcp_client *silent = mcp_client_new(serving->server, on_nothing, NULL);
    mcp_client_line(silent, buf_str(&serving->first), true);
    mcp_client_goes_on(serving->client, silent);
    mcp_client_free(silent);
}

/* Whether a workbench is about to hold it. To open it meanwhile, only to look, would take it. */
static bool is_wished(const struct serving *serving) {
    struct err none = {0};
    const char *own = serving->options.session_dir;
    char *folder = own ? mem_strdup(own) : cli_session_of(serving->options.task, &none);
    bool wished = folder && clock_monotonic_ns() < serving->wish_until_ns && mcp_is_wished(folder);
    free(folder);
    return wished;
}

/* Joins who holds the session, or holds it. *waits: it is held by somebody who cannot be joined
 * yet. False with *err when there is no session to be had. */
static bool attach(struct serving *serving, bool *waits, struct err *err) {
    struct err nobody = {0};
    *waits = is_wished(serving);
    if (*waits) {
        serving->until_ns = clock_monotonic_ns() + (uint64_t)HANDS_MS * 1000000;
        return true;
    }
    serving->session = tune_session_open(&serving->options, serving->loop, err);
    if (!serving->session)
        return false;
    bool held = tune_session_state(serving->session)->held_by != NULL;
    int fd = held ? mcp_join(tune_session_folder(serving->session), &nobody) : -1;
    *waits = held && fd < 0 && clock_monotonic_ns() < serving->until_ns;
    if (fd >= 0 || *waits) {
        tune_session_close(serving->session);
        serving->session = NULL;
    }
    if (*waits)
        return true;
    if (fd >= 0)
        serving_join(serving, fd);
    else if (!serving_hold(serving, err))
        return false;
    revision_tell(serving);
    queue_take(serving);
    return true;
}

static void on_again(void *data) {
    struct serving *serving = data;
    struct err err = {0};
    bool waits = false;
    serving->again = NULL;
    if (!attach(serving, &waits, &err)) {
        serving->status = cli_fail(serving->cli, &err);
        loop_stop(serving->loop);
    } else if (waits) {
        serving->again = loop_timer_start(serving->loop, LOOK_MS, 0, on_again, serving);
    }
}

void serving_look_again(struct serving *serving) {
    uint64_t now = clock_monotonic_ns();
    serving->until_ns = now + (uint64_t)HANDS_MS * 1000000;
    serving->wish_until_ns = now + (uint64_t)WISH_MS * 1000000;
    serving->again = loop_timer_start(serving->loop, LOOK_MS, 0, on_again, serving);
}

/* ------------------------------------------------------------------------------------ the agent */

static void first_note(struct serving *serving, struct str line) {
    struct mcp_message message;
    enum mcp_error code;
    const char *why;
    if (serving->first.len || line.len > 65536)
        return;
    if (mcp_message_read(line, &message, &code, &why) && message.is == MCP_REQUEST &&
        !strcmp(message.method, "initialize"))
        buf_add(&serving->first, line.at, line.len);
    mcp_message_free(&message);
}

static void on_line(void *data, struct str line, bool whole) {
    struct serving *serving = data;
    struct buf said = {0};
    if (whole) {
        line_take(serving, line);
        first_note(serving, line);
        return;
    }
    mcp_error_print(NULL, MCP_INVALID_REQUEST, "this message is longer than 8 MiB", NULL, &said);
    mcp_stream_send(serving->stream, buf_str(&said));
    buf_free(&said);
}

static void on_end(void *data) {
    struct serving *serving = data;
    loop_stop(serving->loop);
}

static void on_signal(void *data, int signum) {
    struct serving *serving = data;
    serving->status = EXIT_SIGNAL + signum;
    loop_stop(serving->loop);
}

/* --------------------------------------------------------------------------------- the command */

static bool options_read(struct serving *serving) {
    const struct cli *cli = serving->cli;
    const char *gate = cli_value(cli, "gate");
    double tolerance = 0;
    if (!cli_number(cli, "rounds", 1, 100000, &serving->own.limits[TUNE_BUDGET_ROUNDS]) ||
        !cli_number(cli, "tolerance", 1e-12, 0.999, &tolerance) ||
        !cli_limits(cli, serving->own.limits))
        return false;
    serving->own.gate_set = gate && tune_gate_find(gate, &serving->own.gate);
    serving->options = (struct tune_options){.task = cli->args.len ? cli->args.at[0] : ".",
                                             .reference = cli_value(cli, "reference"),
                                             .function = cli_value(cli, "kernel-name"),
                                             .session_dir = cli_value(cli, "session"),
                                             .device = cli_value(cli, "device"),
                                             .release = cli_release(cli, NULL),
                                             .tracing = cli_value(cli, "tracing"),
                                             .target = cli_value(cli, "target"),
                                             .precision = cli_value(cli, "precision"),
                                             .seeds = cli_value(cli, "seeds"),
                                             .tolerance = tolerance,
                                             .agents = true,
                                             .config = serving->config};
    return true;
}

static void serve(struct serving *serving) {
    const struct mcp_stream_hooks hooks = {on_line, on_end, serving};
    struct loop_signal *watched[COUNT_OF(signals)];
    struct err err = {0};
    bool waits = false;
    for (size_t i = 0; i < COUNT_OF(signals); i++)
        watched[i] = loop_signal_start(serving->loop, signals[i], on_signal, serving);
    serving->stream = mcp_stream_new(serving->loop, STDIN_FILENO, STDOUT_FILENO, &hooks);
    serving->wish_until_ns = clock_monotonic_ns() + (uint64_t)WISH_MS * 1000000;
    serving->until_ns = clock_monotonic_ns() + (uint64_t)OPENS_MS * 1000000;
    if (!attach(serving, &waits, &err)) {
        serving->status = cli_fail(serving->cli, &err);
    } else {
        if (waits)
            serving->again = loop_timer_start(serving->loop, LOOK_MS, 0, on_again, serving);
        loop_run(serving->loop);
    }
    loop_timer_stop(serving->again);
    serving_part(serving);
    serving_release(serving, NULL);
    mcp_stream_flush(serving->stream, LAST_MS);
    mcp_stream_free(serving->stream);
    for (size_t i = 0; i < COUNT_OF(signals); i++)
        loop_signal_stop(watched[i]);
}

int cli_mcp(const struct cli *cli) {
    struct serving serving = {.cli = cli};
    struct err err = {0};
    if (cli_value(cli, "print-config"))
        return mcp_config_print(cli, cli_value(cli, "print-config"));
    serving.config = settings_load(cli->args.len ? cli->args.at[0] : ".", &err);
    if (!serving.config)
        return cli_fail(cli, &err);
    signal(SIGPIPE, SIG_IGN);
    serving.loop = loop_new();
    if (options_read(&serving))
        serve(&serving);
    else
        serving.status = CLI_WRONG_USAGE;
    loop_free(serving.loop);
    config_free(serving.config);
    buf_free(&serving.first);
    buf_free(&serving.queue);
    return serving.status;
}
