/* SPDX-License-Identifier: Apache-2.0 */
/* A transport for tests. Commands are children of this process, in a folder that plays the login
 * folder, and copies are files there. The test says when the line is cut, refused or asked about.
 * It replaces core/transport in the program that includes it. */
#ifndef HONE_TESTS_TARGET_DOUBLE_H
#define HONE_TESTS_TARGET_DOUBLE_H

#include <stdio.h>
#include <stdlib.h>

#include "transport/transport.h"

/* What the test decides, for all transports of the program. */
struct line {
    char *home;
    bool cut;              /* connecting fails until it is false */
    enum err_kind refuses; /* connecting fails with this kind; ERR_NONE: it does not */
    const char *asks;      /* a question before it is ready; "yes" is the answer */
    const char *put_fails; /* copies to there fail with this text */
    int opened, commands, puts, gets;
    struct transport *open[64]; /* the connections there are */
};
static struct line line;

struct transport {
    struct loop *loop;
    struct transport_callbacks callbacks;
    struct loop_timer *timer;
    bool ready, ended;
    struct err why;
    VEC(struct transport_command *) commands;
    VEC(struct transport_copy *) copies;
};
struct transport_command {
    struct transport *transport;
    struct transport_command_spec spec;
    struct loop_child *child;
    bool killed;
};
struct transport_copy {
    struct transport *transport;
    struct transport_copy_spec spec;
    char *remote, *local;
    void *data;
    struct loop_timer *timer;
    bool cancelled;
};

static void line_forget(struct transport *transport) {
    for (size_t i = 0; i < COUNT_OF(line.open); i++)
        if (line.open[i] == transport)
            line.open[i] = NULL;
}

/* ------------------------------------------------------------------------------------ commands */

static void command_free(struct transport_command *command) {
    struct transport *transport = command->transport;
    size_t kept = 0;
    for (size_t i = 0; i < transport->commands.len; i++)
        if (transport->commands.at[i] != command)
            transport->commands.at[kept++] = transport->commands.at[i];
    transport->commands.len = kept;
    free(command);
}

static void command_output(void *data, enum loop_stream stream, struct str text, bool whole) {
    struct transport_command *command = data;
    if (command->spec.on_output)
        command->spec.on_output(command->spec.data, stream, text, whole);
}

static void command_exit(void *data, const struct loop_exit *how) {
    struct transport_command *command = data;
    struct transport_exit told = {.end = command->killed           ? TRANSPORT_KILLED
                                         : how->end == LOOP_EXITED ? TRANSPORT_EXITED
                                                                   : TRANSPORT_SIGNALLED,
                                  .status = how->status,
                                  .signal = "KILL"};
    command->child = NULL;
    command->spec.on_exit(command->spec.data, &told);
    command_free(command);
}

struct transport_command *transport_command_start(struct transport *transport,
                                                  const struct transport_command_spec *spec,
                                                  struct err *err) {
    if (!transport->ready || transport->ended) {
        err_set(err, ERR_ENVIRONMENT, "not connected");
        return NULL;
    }
    struct transport_command *command = mem_alloc(1, sizeof *command);
    command->transport = transport;
    command->spec = *spec;
    struct buf home = {0};
    buf_printf(&home, "HOME=%s", line.home);
    const char *const env[] = {home.at, NULL};
    struct loop_child_spec child = {.argv = spec->argv,
                                    .environment = LOOP_WHOLE,
                                    .env = env,
                                    .cwd = line.home,
                                    .out = spec->out,
                                    .err = spec->err,
                                    .max_line = spec->max_line,
                                    .on_output = command_output,
                                    .on_exit = command_exit,
                                    .data = command};
    line.commands++;
    command->child = loop_child_start(transport->loop, &child, err);
    buf_free(&home);
    if (!command->child) {
        free(command);
        return NULL;
    }
    *vec_push(&transport->commands) = command;
    return command;
}

bool transport_command_write(struct transport_command *command, const void *data, size_t size) {
    return loop_child_write(command->child, data, size);
}

void transport_command_close_input(struct transport_command *command) {
    loop_child_close_input(command->child);
}

void transport_command_kill(struct transport_command *command) {
    if (!command || !command->child)
        return;
    command->killed = true;
    loop_child_kill(command->child, 0);
}

/* -------------------------------------------------------------------------------------- copies */

static void copy_free(struct transport_copy *copy) {
    struct transport *transport = copy->transport;
    size_t kept = 0;
    for (size_t i = 0; i < transport->copies.len; i++)
        if (transport->copies.at[i] != copy)
            transport->copies.at[kept++] = transport->copies.at[i];
    transport->copies.len = kept;
    loop_timer_stop(copy->timer);
    free(copy->remote);
    free(copy->local);
    free(copy->data);
    free(copy);
}

static bool copy_do(const struct transport_copy *copy, struct err *err) {
    bool put = copy->spec.kind == TRANSPORT_PUT;
    char *remote = path_join(line.home, copy->remote);
    char *folder = path_folder(put ? remote : copy->local);
    size_t size = 0;
    char *data = put ? NULL : file_read(remote, 0, &size, err);
    bool ok = file_make_dirs(folder, err);
    if (put)
        ok = ok && file_write(remote, copy->data, copy->spec.size, err);
    else
        ok = ok && data && file_write(copy->local, data, size, err);
    free(data);
    free(folder);
    free(remote);
    return ok;
}

static void copy_run(void *data) {
    struct transport_copy *copy = data;
    struct err err = {0};
    copy->timer = NULL;
    bool put = copy->spec.kind == TRANSPORT_PUT;
    line.puts += put;
    line.gets += !put;
    if (copy->cancelled)
        err_set(&err, ERR_CANCELLED, "cancelled");
    else if (put && line.put_fails)
        err_set(&err, ERR_ENVIRONMENT, "%s", line.put_fails);
    else if (!copy_do(copy, &err) && err.kind == ERR_NONE)
        err_set(&err, ERR_ENVIRONMENT, "it failed");
    copy->spec.on_done(copy->spec.context, &err);
    copy_free(copy);
}

struct transport_copy *transport_copy_start(struct transport *transport,
                                            const struct transport_copy_spec *spec,
                                            struct err *err) {
    if (!transport->ready || transport->ended) {
        err_set(err, ERR_ENVIRONMENT, "not connected");
        return NULL;
    }
    struct transport_copy *copy = mem_alloc(1, sizeof *copy);
    *copy = (struct transport_copy){.transport = transport,
                                    .spec = *spec,
                                    .remote = mem_strdup(spec->remote),
                                    .local = mem_strdup(spec->local)};
    if (spec->data)
        copy->data = mem_dup(spec->data, MAX_OF(spec->size, 1));
    copy->timer = loop_timer_start(transport->loop, 0, 0, copy_run, copy);
    *vec_push(&transport->copies) = copy;
    return copy;
}

void transport_copy_cancel(struct transport_copy *copy) {
    if (copy)
        copy->cancelled = true;
}

/* --------------------------------------------------------------------------------- connections */

static void command_drop(struct transport_command *command) {
    if (command->child) {
        loop_child_forget(command->child);
        loop_child_kill(command->child, 0);
    }
    command_free(command);
}

static void transport_lose(void *data) {
    struct transport *transport = data;
    transport->timer = NULL;
    transport->ended = true;
    struct transport_exit lost = {.end = TRANSPORT_LOST, .err = transport->why};
    while (transport->commands.len) {
        struct transport_command *command = transport->commands.at[0];
        command->spec.on_exit(command->spec.data, &lost);
        command_drop(command);
    }
    while (transport->copies.len) {
        struct transport_copy *copy = transport->copies.at[0];
        copy->spec.on_done(copy->spec.context, &transport->why);
        copy_free(copy);
    }
    line_forget(transport);
    transport->callbacks.on_closed(transport->callbacks.data, &transport->why);
}

/* Every connection is cut, as by a network that is gone. */
static CC_UNUSED void line_cut(bool cut) {
    line.cut = cut;
    for (size_t i = 0; cut && i < COUNT_OF(line.open); i++) {
        struct transport *transport = line.open[i];
        if (!transport || transport->ended)
            continue;
        err_set(&transport->why, ERR_ENVIRONMENT, "the network is gone");
        loop_timer_stop(transport->timer);
        transport_lose(transport);
    }
}

static void transport_connect(void *data) {
    struct transport *transport = data;
    transport->timer = NULL;
    if (line.cut || line.refuses != ERR_NONE) {
        err_set(&transport->why, line.cut ? ERR_ENVIRONMENT : line.refuses,
                line.cut ? "no route to host" : "it is refused");
        transport_lose(transport);
    } else if (line.asks) {
        struct transport_question question = {.ask = TRANSPORT_ASK_HOST_KEY};
        snprintf(question.text, sizeof question.text, "%s", line.asks);
        transport->callbacks.on_question(transport->callbacks.data, &question);
    } else {
        transport->ready = true;
        transport->callbacks.on_ready(transport->callbacks.data);
    }
}

void transport_answer(struct transport *transport, const char *answer) {
    bool yes = answer && strcmp(answer, "yes") == 0;
    line.asks = yes ? NULL : line.asks;
    line.refuses = yes ? ERR_NONE : ERR_CANCELLED;
    transport->timer = loop_timer_start(transport->loop, 0, 0, transport_connect, transport);
}

struct transport *transport_open_ssh(struct loop *loop, const struct transport_host *host,
                                     const struct transport_callbacks *callbacks, struct err *err) {
    (void)host, (void)err;
    struct transport *transport = mem_alloc(1, sizeof *transport);
    *transport = (struct transport){.loop = loop, .callbacks = *callbacks};
    transport->timer = loop_timer_start(loop, 0, 0, transport_connect, transport);
    line.open[line.opened++ % (int)COUNT_OF(line.open)] = transport;
    return transport;
}

struct transport *transport_open_local(struct loop *loop, const char *home,
                                       const struct transport_callbacks *callbacks) {
    (void)home;
    return transport_open_ssh(loop, NULL, callbacks, NULL);
}

void transport_close(struct transport *transport) {
    if (!transport)
        return;
    loop_timer_stop(transport->timer);
    while (transport->commands.len)
        command_drop(transport->commands.at[0]);
    while (transport->copies.len)
        copy_free(transport->copies.at[0]);
    line_forget(transport);
    vec_free(&transport->commands);
    vec_free(&transport->copies);
    free(transport);
}

bool transport_is_lost(const struct transport *transport) {
    return transport->ended;
}

const char *transport_describe(const struct transport *transport) {
    (void)transport;
    return "ubuntu@double";
}

char **transport_known_names(const char *ssh_config, size_t *count) {
    (void)ssh_config;
    *count = 0;
    return NULL;
}

#endif
