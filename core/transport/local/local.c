/* SPDX-License-Identifier: Apache-2.0 */
/* The way that stays on this machine. Commands are children of hone that start in a home folder,
 * and worker jobs copy files (local_copy.c). It behaves like the ways over SSH, so that users of a
 * transport need not know the difference. */
#include "transport/local/own.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define GRACE_MS 2000

/* The variables that commands on this machine see besides those of loop/environment.c: a cluster's
 * settings, proxies for packages, and the paths of the device's tools, which a login shell on
 * another machine would have. */
static const char *const passed[] = {
    "SLURM_*",     "SBATCH_*",   "SQUEUE_*",         "SINFO_*",    "SACCT_*",
    "KRB5CCNAME",  "http_proxy", "https_proxy",      "no_proxy",   "HTTP_PROXY",
    "HTTPS_PROXY", "NO_PROXY",   "SSL_CERT_FILE",    "AWS_REGION", "AWS_DEFAULT_REGION",
    "HF_HOME",     "HONE_ROOT",  "HONE_LOCK_FOLDER", NULL};

struct run {
    struct loop_child *child;
    struct transport_exit failed; /* the exit of a command that did not start */
    bool input_closed;
};

static const struct {
    int number;
    const char *name;
} signals[] = {
    {SIGABRT, "ABRT"}, {SIGALRM, "ALRM"}, {SIGBUS, "BUS"},   {SIGFPE, "FPE"},   {SIGHUP, "HUP"},
    {SIGILL, "ILL"},   {SIGINT, "INT"},   {SIGKILL, "KILL"}, {SIGPIPE, "PIPE"}, {SIGQUIT, "QUIT"},
    {SIGSEGV, "SEGV"}, {SIGTERM, "TERM"}, {SIGUSR1, "USR1"}, {SIGUSR2, "USR2"}, {SIGXCPU, "XCPU"},
};

static void name_signal(int number, char *name, size_t size) {
    snprintf(name, size, "%d", number);
    for (size_t i = 0; i < COUNT_OF(signals); i++)
        if (signals[i].number == number)
            snprintf(name, size, "%s", signals[i].name);
}

/* ------------------------------------------------------------------------------------ commands */

static void on_output(void *data, enum loop_stream stream, struct str text, bool whole) {
    transport_command_line(data, stream, text, whole);
}

static void on_exit_of_child(void *data, const struct loop_exit *result) {
    struct transport_command *command = data;
    struct run *run = command->own;
    struct transport_exit out = {.end = TRANSPORT_EXITED, .status = result->status};
    run->child = NULL;
    if (result->end == LOOP_KILLED) {
        out.end = TRANSPORT_KILLED;
    } else if (result->end == LOOP_SIGNALLED) {
        out.end = TRANSPORT_SIGNALLED;
        name_signal(result->signum, out.signal, sizeof out.signal);
    }
    transport_command_end(command, &out);
}

static void local_command_input(struct transport_command *command) {
    struct run *run = command->own;
    struct str input = transport_command_peek(command, SIZE_MAX);
    if (!run->child)
        return;
    if (input.len)
        loop_child_write(run->child, input.at, input.len);
    transport_command_take(command, input.len);
    if (command->input_over && !run->input_closed) {
        loop_child_close_input(run->child);
        run->input_closed = true;
    }
}

/* Runs the command through sh, so that a missing program is exit status 127 and a line on stderr,
 * as with a login shell on another machine. */
static const char **make_argv(char *const *argv) {
    static const char *const shell[] = {"/bin/sh", "-c", "exec \"$@\"", "sh"};
    VEC(const char *) all = {0};
    for (size_t i = 0; i < COUNT_OF(shell); i++)
        *vec_push(&all) = shell[i];
    for (; *argv; argv++)
        *vec_push(&all) = *argv;
    *vec_push(&all) = NULL;
    return all.at;
}

static void local_command_start(struct transport_command *command) {
    const struct local *local = command->transport->own;
    struct run *run = mem_alloc(1, sizeof *run);
    const char **argv = make_argv(command->argv);
    const char *env[] = {local->home_line, NULL};
    struct loop_child_spec spec = {.argv = argv,
                                   .pass = passed,
                                   .env = env,
                                   .cwd = local->home,
                                   .own_session = true,
                                   .keep_input = true,
                                   .out = command->spec.out,
                                   .err = command->spec.err,
                                   .max_line = command->spec.max_line,
                                   .on_output = on_output,
                                   .on_exit = on_exit_of_child,
                                   .data = command};
    command->own = run;
    run->child = loop_child_start(command->transport->loop, &spec, &run->failed.err);
    free(argv);
    if (run->child) {
        local_command_input(command);
        return;
    }
    run->failed.end = TRANSPORT_REFUSED;
    transport_command_end(command, &run->failed);
}

static void local_command_kill(struct transport_command *command) {
    const struct run *run = command->own;
    loop_child_kill(run->child, GRACE_MS);
}

static void local_command_drop(struct transport_command *command) {
    struct run *run = command->own;
    if (run->child) {
        loop_child_forget(run->child);
        loop_child_kill(run->child, GRACE_MS);
    }
    free(run);
}

/* ------------------------------------------------------------------------------------- the way */

static void local_open(struct transport *transport) {
    struct local *local = mem_alloc(1, sizeof *local);
    const char *home = transport->route.host;
    struct buf line = {0};
    buf_printf(&line, "HOME=%s", home);
    local->home = home;
    local->home_line = buf_take(&line);
    transport->own = local;
    snprintf(transport->description, sizeof transport->description, "this machine");
    if (file_is_dir(home)) {
        transport_ready(transport);
        return;
    }
    struct err err;
    err_set(&err, ERR_USAGE, "%s is not a folder, but commands on this machine should start there",
            home);
    transport_end(transport, &err);
}

static void local_close(struct transport *transport) {
    struct local *local = transport->own;
    free(local->home_line);
    free(local);
}

static const struct transport_ops transport_local_ops = {
    .open = local_open,
    .close = local_close,
    .command_start = local_command_start,
    .command_input = local_command_input,
    .command_kill = local_command_kill,
    .command_drop = local_command_drop,
    .copy_start = local_copy_start,
    .copy_cancel = local_copy_cancel,
    .copy_drop = local_copy_drop,
};

struct transport *transport_open_local(struct loop *loop, const char *home,
                                       const struct transport_callbacks *callbacks) {
    struct arena *arena = arena_new();
    const char *own = home ? home : getenv("HOME");
    struct transport_route route = {.name = "this machine",
                                    .host = arena_strdup(arena, own && *own ? own : "/")};
    struct transport_ways ways = {.ops = &transport_local_ops};
    return transport_new(loop, &ways, callbacks, arena, &route);
}
