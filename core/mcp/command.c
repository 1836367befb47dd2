/* SPDX-License-Identifier: Apache-2.0 */
/* Tools that commands of hone answer, each in a child: what they work out may take long, and a call
 * that is given up ends it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "mcp/private.h"
#include "nki/nki.h"

#define MOST_ARGS 32
#define MOST_SECONDS 120.0
#define MOST_OUTPUT ((uint64_t)8 << 20)
#define MOST_WORDS 1000 /* bytes of what a command says of its failure */

struct mcp_command {
    struct mcp_call *call;
    struct mcp_turn turn;
    struct loop_child *child; /* NULL: it waits for its turn */
    struct loop_timer *tells; /* that it is still at work */
    uint64_t began_ns;
    mcp_answer_fn *answer;
    struct arena *arena;
    const char *args[MOST_ARGS];
    size_t count;
    char *folder; /* of a kernel that came as text; NULL: none */
    struct buf out, said;
};

/* ------------------------------------------------------------------------------- arguments */

void mcp_command_add(struct mcp_command *command, const char *option, const char *value) {
    const char *const both[] = {option, value};
    for (size_t i = 0; i < COUNT_OF(both); i++)
        if (both[i] && command->count + 1 < MOST_ARGS)
            command->args[command->count++] = arena_strdup(command->arena, both[i]);
}

struct mcp_command *mcp_command_new(struct mcp_call *call, const char *name,
                                    mcp_answer_fn *answer) {
    struct mcp_command *command = mem_alloc(1, sizeof *command);
    char *self = os_executable_path();
    *command = (struct mcp_command){.call = call, .answer = answer, .arena = arena_new()};
    mcp_command_add(command, self ? self : "hone", name);
    free(self);
    return command;
}

static void command_free(struct mcp_command *command) {
    mcp_turn_end(&command->turn);
    loop_timer_stop(command->tells);
    bool gone = !command->folder || file_remove_tree(command->folder, &(struct err){0});
    (void)gone; /* else os_sweep_scratch does it */
    free(command->folder);
    buf_free(&command->out);
    buf_free(&command->said);
    arena_free(command->arena);
    free(command);
}

/* A folder of this process, which os_sweep_scratch removes should it be killed. */
static char *folder_new(struct err *err) {
    const char *temporary = getenv("TMPDIR");
    char name[48];
    snprintf(name, sizeof name, "hone-%ld-agent-XXXXXX", (long)getpid());
    char *pattern = path_join(temporary && *temporary ? temporary : "/tmp", name);
    if (mkdtemp(pattern))
        return pattern;
    err_set(err, ERR_ENVIRONMENT, "cannot make the folder %s", pattern);
    free(pattern);
    return NULL;
}

/* The kernel as a file of its own. */
static bool source_add(struct mcp_command *command, const char *source, struct err *err) {
    command->folder = folder_new(err);
    if (!command->folder)
        return false;
    char *path = path_join(command->folder, "kernel.py");
    bool ok = file_write_private(path, source, strlen(source), err);
    mcp_command_add(command, path, NULL);
    free(path);
    return ok;
}

/* What `hone migrate` needs of the session: the inputs, the device. */
static void inputs_add(struct mcp_command *command) {
    const struct tune_state *state = mcp_state(command->call);
    mcp_command_add(command, tune_reference_file(state) ? "--reference" : NULL,
                    tune_reference_file(state));
    mcp_command_add(command, state->device ? "--device" : NULL, state->device);
    mcp_command_add(command, state->function ? "--kernel-name" : NULL, state->function);
}

/* What a profile hangs on beside them: release, cores, how constants are taken, modules. */
static bool launch_add(struct mcp_command *command) {
    const struct tune_state *state = mcp_state(command->call);
    const char *release = tune_release(state) ? nki_release_find(tune_release(state)) : NULL;
    const char *kernel = tune_kernel_file(state);
    if (release)
        mcp_command_add(command, "--release", release);
    if (state->lnc)
        mcp_command_add(command, "--lnc", state->lnc == 2 ? "2" : "1");
    if (state->is_pessimistic)
        mcp_command_add(command, "--pessimistic", NULL);
    if (kernel)
        mcp_command_add(command, "--as", kernel);
    return true;
}

bool mcp_command_source(struct mcp_command *command, struct err *err) {
    char name[64], *source = mcp_kernel_of(command->call, name, err);
    bool ok = source && source_add(command, source, err);
    free(source);
    if (ok)
        inputs_add(command);
    return ok;
}

bool mcp_command_kernel(struct mcp_command *command, struct err *err) {
    const struct mcp_call *call = command->call;
    const struct tune_state *state = mcp_state(call);
    bool attempt = mcp_int(call, "attempt", -1) >= 0;
    char number[16];
    if (mcp_text(call, "kernel") || mcp_text(call, "file") || (!attempt && state->incumbent < 0))
        return mcp_command_source(command, err) && launch_add(command);
    const struct tune_attempt *found = mcp_attempt_of(call, "attempt", err);
    struct tune_session *session = call->client->server->options.session;
    if (!found)
        return false;
    /* The child would read what lies there now. */
    if (tune_session_is_lost(session))
        return err_set(err, ERR_DAMAGED,
                       "the files of the session %.300s were removed or replaced while it is open: "
                       "what lies there now is not this session, which is in memory until it "
                       "is saved elsewhere",
                       tune_session_folder(session));
    snprintf(number, sizeof number, "%d", found->id);
    mcp_command_add(command, tune_session_folder(session), NULL);
    mcp_command_add(command, "--attempt", number);
    return true;
}

/* -------------------------------------------------------------------------------- the child */

static void on_output(void *data, enum loop_stream stream, struct str text, bool whole) {
    struct mcp_command *command = data;
    if (stream == LOOP_STDOUT) {
        buf_add(&command->out, text.at, text.len);
    } else if (command->said.len < MOST_WORDS) {
        buf_printf(&command->said, "%s" STR_FMT, command->said.len ? " " : "",
                   (int)MIN_OF(text.len, (size_t)MOST_WORDS), text.at);
        (void)whole;
    }
}

static void replace(struct buf *text, const char *what, const char *by) {
    struct buf out = {0};
    struct str rest = buf_str(text);
    const char *at;
    while (rest.len && (at = memmem(rest.at, rest.len, what, strlen(what)))) {
        buf_add(&out, rest.at, (size_t)(at - rest.at));
        buf_puts(&out, by);
        rest.len -= (size_t)(at - rest.at) + strlen(what);
        rest.at = at + strlen(what);
    }
    buf_add(&out, rest.at, rest.len);
    buf_free(text);
    *text = out;
}

/* Names of files in that folder are left without it. */
static void folder_forget(struct buf *text, const char *folder) {
    struct buf prefix = {0};
    buf_printf(&prefix, "%s/", folder ? folder : "");
    if (folder)
        replace(text, prefix.at, "");
    buf_free(&prefix);
}

/* "hone query: there is no ..", as a tool says it: an agent asked no command, knows none of its
 * options, and calls its own text kernel.py, wherever it was put. */
static void said_translate(struct mcp_command *command) {
    static const char *const words[][2] = {
        {"hone query --tables", "the tool query without sql and recipe"},
        {"hone query --recipes", "the tool query without sql and recipe"},
        {"--recipes", "the tool query without sql and recipe"},
        {"hone check", "the tool check"},
        {"--from", "\"from\""},
        {"--to ", "\"to\" "}};
    const char *kernel = tune_kernel_file(mcp_state(command->call));
    char *task = kernel ? path_folder(kernel) : NULL;
    struct buf own = {0}, advice = {0};
    buf_printf(&own, "hone %s: ", command->args[1]);
    buf_printf(&advice, " Try: hone %s --help", command->args[1]);
    replace(&command->said, own.at, "");
    replace(&command->said, advice.at, "");
    folder_forget(&command->said, command->folder);
    folder_forget(&command->said, task);
    for (size_t i = 0; i < COUNT_OF(words); i++)
        replace(&command->said, words[i][0], words[i][1]);
    buf_free(&own);
    buf_free(&advice);
    free(task);
}

static void failed(struct mcp_command *command, const struct loop_exit *exit) {
    struct buf how = {0};
    said_translate(command);
    struct str said = str_trim(buf_str(&command->said));
    loop_exit_print(exit, &how);
    if (said.len)
        mcp_call_failed(command->call, STR_FMT, STR_ARG(said));
    else
        mcp_call_failed(command->call, "hone %s ended with %s", command->args[1], how.at);
    buf_free(&how);
}

static void on_exit_command(void *data, const struct loop_exit *exit) {
    struct mcp_command *command = data;
    bool ended = exit->end == LOOP_EXITED && exit->status <= 1;
    folder_forget(&command->out, command->folder);
    cJSON *answer = ended && command->out.len ? cJSON_Parse(command->out.at) : NULL;
    if (answer)
        command->answer(command->call, answer);
    else
        failed(command, exit);
    command_free(command);
}

static void cancel(struct mcp_call *call) {
    struct mcp_command *command = call->work;
    if (command->child) {
        loop_child_forget(command->child);
        loop_child_kill(command->child, 0);
    }
    command_free(command);
}

/* Clients give up what they hear nothing of. */
static void on_tells(void *data) {
    const struct mcp_command *command = data;
    double seconds = (double)(clock_monotonic_ns() - command->began_ns) * 1e-9;
    mcp_call_progress(command->call, NAN, "%s: %.0f s so far", command->call->tool->name, seconds);
}

static void fail(struct mcp_command *command, const struct err *err) {
    struct mcp_call *call = command->call;
    command_free(command);
    mcp_call_failed(call, "%s", err->text);
}

static void go(void *data) {
    struct mcp_command *command = data;
    struct loop_child_spec spec = {.argv = command->args,
                                   .pass = (const char *const[]){"XDG_*", "TMPDIR", NULL},
                                   .own_session = true,
                                   .out = LOOP_RAW,
                                   .err = LOOP_LINES,
                                   .output_limit = MOST_OUTPUT,
                                   .time_limit_s = MOST_SECONDS,
                                   .on_output = on_output,
                                   .on_exit = on_exit_command,
                                   .data = command};
    struct err err = {0};
    command->child = loop_child_start(command->call->client->server->options.loop, &spec, &err);
    if (!command->child)
        fail(command, &err);
}

void mcp_command_run(struct mcp_command *command, struct err *err) {
    struct mcp_call *call = command->call;
    struct mcp_server *server = call->client->server;
    if (err->kind != ERR_NONE) {
        fail(command, err);
        return;
    }
    call->work = command;
    call->cancel = cancel;
    command->began_ns = clock_monotonic_ns();
    command->tells = loop_timer_start(server->options.loop, MCP_TELLS_EVERY_MS, MCP_TELLS_EVERY_MS,
                                      on_tells, command);
    command->turn = (struct mcp_turn){.client = call->client, .go = go, .data = command};
    mcp_turn_ask(&server->commands, &command->turn);
}
