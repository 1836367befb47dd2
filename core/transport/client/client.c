/* SPDX-License-Identifier: Apache-2.0 */
/* The way over the system's ssh. One child holds the connection (ssh -M -N, with its control socket
 * in a private folder), and sessions run over that socket. This file starts, watches and ends the
 * child, and passes its questions on. The child itself reads the user's ssh_config. */
#include "transport/client/own.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define LOOK_MS 20 /* between two looks for the control socket */
#define WAIT_FOR_REASON_MS 2000
#define SAID_LIMIT ((size_t)1 << 15)

struct client {
    struct transport *transport;
    struct client_folder folder;
    struct asker *asker;
    struct loop_child *master;
    struct mux *mux;
    char *socket;
    struct buf said;
    struct loop_timer *look, *limit, *reason;
    enum transport_ask asked; /* the question that is open */
    bool connected, ended;
};

static void end_with(struct client *client, const struct err *err) {
    if (client->ended)
        return;
    client->ended = true;
    loop_timer_stop(client->look);
    loop_timer_stop(client->limit);
    loop_timer_stop(client->reason);
    client->look = client->limit = client->reason = NULL;
    transport_end(client->transport, err);
}

static void end_as_said(struct client *client) {
    struct err err;
    client_explain(&client->transport->route, buf_str(&client->said), client->connected, &err);
    end_with(client, &err);
}

/* ---------------------------------------------------------------------------------- the limit */

static void on_limit(void *data) {
    struct client *client = data;
    const struct transport_route *route = &client->transport->route;
    struct err err;
    client->limit = NULL;
    err_set(&err, ERR_ENVIRONMENT,
            "cannot reach %s: no connection within %.3g s. Is it switched on, "
            "and does a firewall or security group let you in?",
            route->name, route->connect_limit_s);
    end_with(client, &err);
}

/* The time a person takes to answer does not count. */
static void start_limit(struct client *client) {
    double limit_s = client->transport->route.connect_limit_s;
    loop_timer_stop(client->limit);
    client->limit = loop_timer_start(client->transport->loop, (uint64_t)(limit_s * 1000) + 1, 0,
                                     on_limit, client);
}

/* ---------------------------------------------------------------------------------- the socket */

/* How the person logged in, from ssh's line at its verbose level: Authenticated to HOST
 * ([ADDRESS]:PORT) using "publickey". */
static void describe(struct client *client) {
    struct transport *transport = client->transport;
    const struct transport_route *route = &transport->route;
    static const char mark[] = "using \"";
    const char *at = client->said.at ? strstr(client->said.at, mark) : NULL;
    char method[40] = "";
    if (at)
        snprintf(method, sizeof method, ", %.*s", (int)strcspn(at + sizeof mark - 1, "\"\n"),
                 at + sizeof mark - 1);
    if (route->port != 22)
        snprintf(transport->description, sizeof transport->description,
                 "%s@%s:%d (the system's ssh%s)", route->user, route->host, route->port, method);
    else
        snprintf(transport->description, sizeof transport->description,
                 "%s@%s (the system's ssh%s)", route->user, route->host, method);
}

static void on_mux_ready(void *data) {
    struct client *client = data;
    client->connected = true;
    loop_timer_stop(client->limit);
    client->limit = NULL;
    describe(client);
    transport_ready(client->transport);
}

static void on_no_reason(void *data) {
    struct client *client = data;
    client->reason = NULL;
    end_as_said(client);
}

/* ssh is about to end and to say why, unless the problem is between ssh and hone. */
static void on_mux_gone(void *data, const char *why) {
    struct client *client = data;
    struct err err;
    if (client->connected && client->master && !client->ended) {
        client->reason =
            loop_timer_start(client->transport->loop, WAIT_FOR_REASON_MS, 0, on_no_reason, client);
        return;
    }
    err_set(&err, ERR_ENVIRONMENT, "cannot use the connection to %s: %s",
            client->transport->route.name, why);
    end_with(client, &err);
}

static void on_look(void *data) {
    struct client *client = data;
    struct mux_callbacks callbacks = {on_mux_ready, on_mux_gone, client};
    client->mux = mux_open(client->transport->loop, client->socket, &callbacks);
    if (!client->mux)
        return;
    loop_timer_stop(client->look);
    client->look = NULL;
}

/* ----------------------------------------------------------------------------------- the child */

static void on_said(void *data, enum loop_stream stream, struct str text, bool whole) {
    struct client *client = data;
    (void)stream;
    (void)whole;
    if (client->said.len < SAID_LIMIT) {
        buf_add(&client->said, text.at, MIN_OF(text.len, (size_t)1024));
        buf_putc(&client->said, '\n');
    }
}

static void on_master_exit(void *data, const struct loop_exit *result) {
    struct client *client = data;
    (void)result;
    client->master = NULL;
    end_as_said(client);
}

static bool start_master(struct client *client, struct err *err) {
    const struct transport_route *route = &client->transport->route;
    /* Of the user's configuration hone needs only what makes the connection: no forwardings, no
     * commands, no connection that outlives hone. */
    const char *const more[] = {"-M",
                                "-N",
                                "-T",
                                "-x",
                                "-a",
                                "-S",
                                client->socket,
                                "-oControlPersist=no",
                                "-oPermitLocalCommand=no",
                                "-oClearAllForwardings=yes",
                                "-oTunnel=no",
                                "-oEscapeChar=none",
                                NULL};
    char **argv = client_command_line(&client->folder, route, more);
    struct loop_child_spec spec = {.argv = (const char *const *)argv,
                                   .own_session = true,
                                   .environment = LOOP_WHOLE, /* for the agent, tickets, Match */
                                   .env = asker_environment(client->asker),
                                   .out = LOOP_DISCARD,
                                   .err = LOOP_LINES,
                                   .on_output = on_said,
                                   .on_exit = on_master_exit,
                                   .data = client};
    client->master = loop_child_start(client->transport->loop, &spec, err);
    client_free_words(argv);
    return client->master != NULL;
}

/* ----------------------------------------------------------------------------------- questions */

static void on_question(void *data, const struct transport_question *question) {
    struct client *client = data;
    loop_timer_stop(client->limit);
    client->limit = NULL;
    client->asked = question->ask;
    transport_ask(client->transport, question);
}

static void on_note(void *data, const char *text) {
    struct client *client = data;
    transport_note(client->transport, "%s", text);
}

static void client_answer(struct transport *transport, const char *answer) {
    struct client *client = transport->own;
    bool is_key = client->asked == TRANSPORT_ASK_HOST_KEY;
    if (answer && (!is_key || !strcmp(answer, "yes"))) {
        start_limit(client);
        asker_answer(client->asker, answer);
        return;
    }
    struct err err;
    err_set(&err, ERR_CANCELLED,
            is_key ? "the key of %s was not accepted; nothing was sent to it"
                   : "cannot reach %s: a question was not answered",
            transport->route.name);
    end_with(client, &err);
}

/* ------------------------------------------------------------------------------------- the way */

static void client_open(struct transport *transport) {
    struct client *client = mem_alloc(1, sizeof *client);
    struct asker_callbacks callbacks = {on_question, on_note, client};
    struct err err;
    transport->own = client;
    client->transport = transport;
    if (!client_folder_make(&client->folder, &transport->route, &err)) {
        end_with(client, &err);
        return;
    }
    client->socket = client_folder_file(&client->folder, "c");
    client->asker = asker_new(transport->loop, &client->folder, &callbacks, &err);
    if (!client->asker || !start_master(client, &err)) {
        end_with(client, &err);
        return;
    }
    start_limit(client);
    client->look = loop_timer_start(transport->loop, LOOK_MS, LOOK_MS, on_look, client);
}

static void client_close(struct transport *transport) {
    struct client *client = transport->own;
    loop_timer_stop(client->look);
    loop_timer_stop(client->limit);
    loop_timer_stop(client->reason);
    mux_free(client->mux);
    asker_free(client->asker);
    if (client->master) {
        loop_child_forget(client->master);
        loop_child_kill(client->master, 0);
    }
    client_folder_remove(&client->folder);
    buf_free(&client->said);
    free(client->socket);
    free(client);
}

static void client_command_start(struct transport_command *command) {
    const struct client *client = command->transport->own;
    mux_command_start(client->mux, command);
}

const struct transport_ops transport_client_ops = {
    .open = client_open,
    .answer = client_answer,
    .close = client_close,
    .command_start = client_command_start,
    .command_input = mux_command_input,
    .command_kill = mux_command_kill,
    .command_drop = mux_command_drop,
};
