/* SPDX-License-Identifier: Apache-2.0 */
/* The interfaces without HTTP: any program that reads a prompt on standard input and prints an
 * answer, and a person who is shown the prompt and writes one. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/private.h"

#define GRACE_MS 2000
#define MAX_NAMES 64

/* The variables that every such program sees; the section can name more (env). */
static const char *const usual_names[] = {"TERM",           "XDG_CONFIG_HOME", "XDG_DATA_HOME",
                                          "XDG_STATE_HOME", "SSL_CERT_FILE",   "SSL_CERT_DIR"};

struct running {
    struct model_call *call;
    struct loop_child *child;
    struct buf said; /* the end of its standard error */
};

static void add_part(struct buf *out, const char *title, struct str text) {
    if (!text.len)
        return;
    if (out->len)
        buf_puts(out, "\n\n");
    if (title)
        buf_printf(out, "%s\n\n", title);
    buf_add(out, text.at, text.len);
}

/* The conversation as one text; speakers are named only where there is more than one turn. */
static void print_conversation(const struct model_request *request, struct buf *out) {
    add_part(out, NULL, request->system);
    for (size_t i = 0; i < request->count; i++) {
        bool ours = request->messages[i].speaker == MODEL_USER;
        const char *title = request->count == 1 ? NULL : ours ? "[user]" : "[your earlier answer]";
        add_part(out, title, request->messages[i].text);
    }
    buf_putc(out, '\n');
}

static void on_output(void *data, enum loop_stream stream, struct str text, bool whole) {
    struct running *running = data;
    struct model_call *call = running->call;
    (void)whole;
    call->heard_ns = clock_monotonic_ns();
    if (stream == LOOP_STDOUT) {
        model_call_text(call, text);
        return;
    }
    if (running->said.len > 2000)
        buf_clear(&running->said);
    buf_add(&running->said, text.at, MIN_OF(text.len, 400));
    buf_putc(&running->said, '\n');
}

static void on_exit_command(void *data, const struct loop_exit *exit) {
    struct running *running = data;
    struct model_call *call = running->call;
    const char *program = call->kept.endpoint.command[0];
    struct buf how = {0};
    loop_exit_print(exit, &how);
    struct str said = str_trim(buf_str(&running->said));
    enum model_failed failed =
        exit->end == LOOP_TIMED_OUT ? MODEL_FAILED_USELESS : MODEL_FAILED_GARBLED;
    if (exit->end == LOOP_EXITED && exit->status == 0 && call->text.len)
        model_call_finish(call, MODEL_STOP_END);
    else if (exit->end == LOOP_EXITED && exit->status == 0)
        model_call_fail(call, MODEL_FAILED_GARBLED, "%s printed no answer", program);
    else
        model_call_fail(call, failed, "%s ended with %s%s" STR_FMT, program, how.at,
                        said.len ? ": " : "", (int)MIN_OF(said.len, 250), said.at ? said.at : "");
    call->own = NULL;
    buf_free(&how);
    buf_free(&running->said);
    free(running);
    model_call_end_try(call);
}

static void name_environment(const struct model_endpoint *endpoint, const char **names) {
    size_t count = 0;
    for (size_t i = 0; i < COUNT_OF(usual_names); i++)
        names[count++] = usual_names[i];
    for (size_t i = 0; endpoint->env && endpoint->env[i] && count + 1 < MAX_NAMES; i++)
        names[count++] = endpoint->env[i];
    names[count] = NULL;
}

/* As the system looks for it when it is started. */
static bool is_there(const char *program) {
    struct str rest = str_of(getenv("PATH")), folder;
    if (strchr(program, '/'))
        return access(program, X_OK) == 0;
    bool found = false;
    while (!found && str_next(&rest, ':', &folder)) {
        struct buf path = {0};
        folder = folder.len ? folder : STR(".");
        buf_printf(&path, STR_FMT "/%s", STR_ARG(folder), program);
        found = access(path.at, X_OK) == 0 && !file_is_dir(path.at);
        buf_free(&path);
    }
    return found;
}

static void command_look(struct model_call *call) {
    const char *program = call->kept.endpoint.command[0];
    if (is_there(program))
        model_call_finish(call, MODEL_STOP_END);
    else
        model_call_fail(call, MODEL_FAILED_REQUEST, "the program %s is not there, or cannot be run",
                        program);
    model_call_end_try(call);
}

/* The words of the command for another folder: those that name a file from here keep naming it. */
static const char *const *words_of(struct model_call *call) {
    const char *const *given = call->kept.endpoint.command;
    size_t count = 0;
    while (given[count])
        count++;
    const char **words = ARENA_ARRAY(call->kept.arena, const char *, count + 1);
    for (size_t i = 0; i < count; i++) {
        bool names = i ? file_exists(given[i]) : strchr(given[i], '/') != NULL;
        char *path = names && call->kept.request.folder ? path_absolute(given[i]) : NULL;
        words[i] = path ? arena_strdup(call->kept.arena, path) : given[i];
        free(path);
    }
    return words;
}

static void command_start(struct model_call *call) {
    const struct model_endpoint *endpoint = &call->kept.endpoint;
    if (call->kept.request.only_connects) {
        command_look(call);
        return;
    }
    struct running *running = mem_alloc(1, sizeof *running);
    struct buf prompt = {0};
    struct err err = {0};
    running->call = call;
    print_conversation(&call->kept.request, &prompt);
    const char *names[MAX_NAMES];
    name_environment(endpoint, names);
    struct loop_child_spec spec = {.argv = words_of(call),
                                   .pass = names,
                                   .own_session = true,
                                   .cwd = call->kept.request.folder,
                                   .input = prompt.at,
                                   .input_len = prompt.len,
                                   .out = LOOP_RAW,
                                   .err = LOOP_LINES,
                                   .max_line = 1u << 16,
                                   .on_output = on_output,
                                   .time_limit_s =
                                       endpoint->first_limit_s + 10 * endpoint->stall_limit_s,
                                   .on_exit = on_exit_command,
                                   .data = running};
    running->child = loop_child_start(call->client->loop, &spec, &err);
    buf_free(&prompt);
    if (running->child) {
        call->own = running;
        return;
    }
    free(running);
    model_call_fail(call, MODEL_FAILED_REQUEST, "%s", err.text);
    model_call_end_try(call);
}

static void command_stop(struct model_call *call) {
    struct running *running = call->own;
    call->own = NULL;
    loop_child_forget(running->child);
    loop_child_kill(running->child, GRACE_MS);
    buf_free(&running->said);
    free(running);
}

const struct model_api model_api_command = {
    .name = "command", .start = command_start, .stop = command_stop};

/* A person has no time limit; the answer comes by model_answer. */
static void human_start(struct model_call *call) {
    if (!call->kept.request.only_connects) {
        model_call_note(call, "the prompt waits for your answer");
        return;
    }
    model_call_finish(call, MODEL_STOP_END);
    model_call_end_try(call);
}

static bool waits_for_person(const struct model_call *call) {
    return call->api == &model_api_human && !call->settled;
}

void model_answer(struct model_call *call, struct str text) {
    if (!waits_for_person(call))
        return;
    model_call_text(call, text);
    model_call_finish(call, MODEL_STOP_END);
    model_call_end_try(call);
}

const struct model_api model_api_human = {.name = "human", .start = human_start};
