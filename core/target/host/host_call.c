/* SPDX-License-Identifier: Apache-2.0 */
/* Commands and copies on a host. They are started over its transport, read as events of the
 * protocol, and end once, whatever becomes of the connection. What they are for is the caller's
 * business. */
#include <stdio.h>
#include <stdlib.h>

#include "target/host/host_own.h"

#define LIMIT_S 60.0
#define MAX_ARGV 80

struct host_call {
    struct host *host;
    struct host_call_spec spec;
    struct transport_command *command;
    struct loop_timer *limit;
    bool dropped, late;
    char last[300]; /* the last line of standard error */
};

struct host_copy {
    struct host *host;
    struct transport_copy *copy;
    host_done_fn *on_done;
    void *data;
    bool dropped;
};

/* --------------------------------------------------------------------------------------- calls */

static void call_forget(struct host_call *call) {
    struct host *host = call->host;
    loop_timer_stop(call->limit);
    call->limit = NULL;
    size_t kept = 0;
    for (size_t i = 0; i < host->calls.len; i++)
        if (host->calls.at[i] != call)
            host->calls.at[kept++] = host->calls.at[i];
    host->calls.len = kept;
}

static void keep_last(struct host_call *call, struct str line) {
    struct buf safe = {0};
    line = str_trim(line);
    text_sanitise(&safe, (struct str){line.at, MIN_OF(line.len, sizeof call->last - 1)});
    if (safe.len)
        snprintf(call->last, sizeof call->last, "%s", safe.at);
    buf_free(&safe);
}

static void read_event(struct host_call *call, struct str line) {
    size_t skip = strlen(RUNNER_SENTINEL);
    cJSON *event = str_starts(line, RUNNER_SENTINEL)
                       ? cJSON_ParseWithLength(line.at + skip, line.len - skip)
                       : NULL;
    const char *name = host_text(event, "event");
    if (strcmp(name, "error") == 0)
        keep_last(call, str_of(host_text(event, "text")));
    if (*name && call->spec.on_event)
        call->spec.on_event(call->spec.data, name, event);
    else if (!*name && call->spec.on_line)
        call->spec.on_line(call->spec.data, line);
    cJSON_Delete(event);
}

static void on_output(void *data, enum loop_stream stream, struct str text, bool whole) {
    struct host_call *call = data;
    if (call->dropped)
        return;
    if (stream == LOOP_STDERR)
        keep_last(call, text);
    else if (call->spec.on_bytes)
        call->spec.on_bytes(call->spec.data, text);
    else if (whole)
        read_event(call, text);
}

static void exit_judge(const struct host_call *call, const struct transport_exit *result,
                       struct err *err) {
    const char *said = call->last[0] ? ": " : "";
    if (call->late)
        err_set(err, ERR_ENVIRONMENT, "%s gave no answer within %.0f s%s%s", call->host->spec.name,
                call->spec.limit_s, said, call->last);
    else if (result->end == TRANSPORT_REFUSED)
        *err = result->err;
    else if (result->end == TRANSPORT_SIGNALLED)
        err_set(err, ERR_ENVIRONMENT, "a command on %s was killed by signal %s%s%s",
                call->host->spec.name, result->signal, said, call->last);
    else if (result->end == TRANSPORT_LOST)
        err_set(err, ERR_ENVIRONMENT, "the connection to %s was lost", call->host->spec.name);
    else if (result->end == TRANSPORT_KILLED)
        err_set(err, ERR_CANCELLED, "it was ended");
    else if (result->status)
        err_set(err, ERR_ENVIRONMENT, "a command on %s ended with exit status %d%s%s",
                call->host->spec.name, result->status, said, call->last);
}

static void on_exit_call(void *data, const struct transport_exit *result) {
    struct host_call *call = data;
    struct err err = {0};
    call_forget(call);
    exit_judge(call, result, &err);
    if (!call->dropped)
        call->spec.on_done(call->spec.data, &err, result->end == TRANSPORT_LOST);
    free(call);
}

static void on_limit(void *data) {
    struct host_call *call = data;
    call->limit = NULL;
    call->late = true;
    transport_command_kill(call->command);
}

static size_t put_argv(const struct host *host, const struct host_call_spec *spec,
                       const char *argv[MAX_ARGV]) {
    size_t count = 0;
    if (!spec->plain) {
        argv[count++] = host->python;
        argv[count++] = host->runner;
    }
    for (size_t i = 0; spec->argv[i]; i++) {
        if (count == MAX_ARGV - 1)
            HONE_BUG("a command with too many arguments");
        argv[count++] = spec->argv[i];
    }
    argv[count] = NULL;
    return count;
}

struct host_call *host_call_start(struct host *host, const struct host_call_spec *spec,
                                  struct err *err) {
    if (!host->transport || host->phase < HOST_PREPARING) {
        err_set(err, ERR_ENVIRONMENT, "there is no connection to %s", host->spec.name);
        return NULL;
    }
    const char *argv[MAX_ARGV];
    put_argv(host, spec, argv);
    struct host_call *call = mem_alloc(1, sizeof *call);
    call->host = host;
    call->spec = *spec;
    call->spec.argv = NULL;
    if (spec->limit_s == 0)
        call->spec.limit_s = LIMIT_S;
    struct transport_command_spec command = {.argv = argv,
                                             .out = spec->on_bytes ? LOOP_RAW : LOOP_LINES,
                                             .err = LOOP_LINES,
                                             .on_output = on_output,
                                             .on_exit = on_exit_call,
                                             .data = call};
    call->command = transport_command_start(host->transport, &command, err);
    if (!call->command) {
        free(call);
        return NULL;
    }
    *vec_push(&host->calls) = call;
    if (call->spec.limit_s > 0)
        call->limit =
            loop_timer_start(host->loop, (uint64_t)(call->spec.limit_s * 1000), 0, on_limit, call);
    return call;
}

void host_call_drop(struct host_call *call) {
    if (!call || call->dropped)
        return;
    call->dropped = true;
    loop_timer_stop(call->limit);
    call->limit = NULL;
    transport_command_kill(call->command);
}

/* -------------------------------------------------------------------------------------- copies */

static void copy_forget(struct host_copy *copy) {
    struct host *host = copy->host;
    size_t kept = 0;
    for (size_t i = 0; i < host->copies.len; i++)
        if (host->copies.at[i] != copy)
            host->copies.at[kept++] = host->copies.at[i];
    host->copies.len = kept;
}

static void on_copied(void *data, const struct err *why) {
    struct host_copy *copy = data;
    copy_forget(copy);
    bool lost = why->kind != ERR_NONE && transport_is_lost(copy->host->transport);
    if (!copy->dropped)
        copy->on_done(copy->data, why, lost);
    free(copy);
}

struct host_copy *host_copy_start(struct host *host, const struct transport_copy_spec *spec,
                                  host_done_fn *on_done, void *data, struct err *err) {
    if (!host->transport || host->phase < HOST_PREPARING) {
        err_set(err, ERR_ENVIRONMENT, "there is no connection to %s", host->spec.name);
        return NULL;
    }
    struct host_copy *copy = mem_alloc(1, sizeof *copy);
    *copy = (struct host_copy){.host = host, .on_done = on_done, .data = data};
    struct transport_copy_spec own = *spec;
    own.on_progress = NULL;
    own.on_done = on_copied;
    own.context = copy;
    copy->copy = transport_copy_start(host->transport, &own, err);
    if (!copy->copy) {
        free(copy);
        return NULL;
    }
    *vec_push(&host->copies) = copy;
    return copy;
}

void host_copy_drop(struct host_copy *copy) {
    if (!copy || copy->dropped)
        return;
    copy->dropped = true;
    transport_copy_cancel(copy->copy);
}

/* ------------------------------------------------------------------------------------- the end */

/* The transport was closed from this side, so nothing more comes from it. */
void host_calls_lose(struct host *host) {
    struct err err = {0};
    err_set(&err, ERR_ENVIRONMENT, "the connection to %s was lost", host->spec.name);
    while (host->calls.len) {
        struct host_call *call = host->calls.at[host->calls.len - 1];
        call_forget(call);
        if (!call->dropped)
            call->spec.on_done(call->spec.data, &err, true);
        free(call);
    }
    while (host->copies.len) {
        struct host_copy *copy = host->copies.at[host->copies.len - 1];
        copy_forget(copy);
        if (!copy->dropped)
            copy->on_done(copy->data, &err, true);
        free(copy);
    }
}

void host_calls_free(struct host *host) {
    for (size_t i = 0; i < host->calls.len; i++) {
        loop_timer_stop(host->calls.at[i]->limit);
        free(host->calls.at[i]);
    }
    for (size_t i = 0; i < host->copies.len; i++)
        free(host->copies.at[i]);
    vec_free(&host->calls);
    vec_free(&host->copies);
}
