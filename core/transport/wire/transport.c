/* SPDX-License-Identifier: Apache-2.0 */
/* What all transports have in common: they take calls, keep what was asked of them, and announce
 * what happened in the order in which it happened, from the loop and never from within a call. How
 * a machine is reached is the business of the ops. */
#include "transport/wire/inner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_MAX_LINE ((size_t)1 << 20)
#define PROGRESS_NS 100000000ull
#define INPUT_SLACK ((size_t)1 << 16) /* how much taken input may stay in front of the rest */

enum event_kind {
    EVENT_READY,
    EVENT_QUESTION,
    EVENT_DECLINED, /* nobody answers questions */
    EVENT_NOTE,
    EVENT_UNABLE,
    EVENT_ENDING, /* the way is closed, and everything on it has to end */
    EVENT_EXIT,
    EVENT_PROGRESS,
    EVENT_COPIED,
    EVENT_CLOSED,
};

struct transport_event {
    enum event_kind kind;
    union {
        char *text;
        struct transport_question *question;
        struct transport_command *command;
        struct transport_copy *copy;
    };
};

/* ------------------------------------------------------------------------------- announcing */

static void announce(void *data);

static struct transport_event *add_event(struct transport *transport, enum event_kind kind) {
    struct transport_event *event = vec_push(&transport->events);
    *event = (struct transport_event){.kind = kind};
    if (!transport->announce && !transport->announcing)
        transport->announce = loop_timer_start(transport->loop, 0, 0, announce, transport);
    return event;
}

static void free_command(struct transport_command *command) {
    for (size_t i = 0; command->argv && command->argv[i]; i++)
        free(command->argv[i]);
    free(command->argv);
    if (command->input.at)
        explicit_bzero(command->input.at, command->input.cap);
    buf_free(&command->input);
    buf_free(&command->lines[0]);
    buf_free(&command->lines[1]);
    free(command);
}

static void drop_command(struct transport_command *command) {
    struct transport *transport = command->transport;
    if (command->own)
        transport->ops->command_drop(command);
    command->own = NULL;
}

static void forget_command(struct transport_command *command) {
    struct transport *transport = command->transport;
    for (size_t i = 0; i < transport->commands.len; i++)
        if (transport->commands.at[i] == command) {
            memmove(&transport->commands.at[i], &transport->commands.at[i + 1],
                    (transport->commands.len - i - 1) * sizeof(struct transport_command *));
            transport->commands.len--;
            break;
        }
}

static void announce_exit(struct transport_command *command) {
    drop_command(command);
    forget_command(command);
    if (command->spec.on_exit)
        command->spec.on_exit(command->spec.data, &command->exit);
    free_command(command);
}

static void free_copy(struct transport_copy *copy) {
    free(copy->remote);
    free(copy->local);
    free(copy->bytes);
    free(copy);
}

static void drop_copy(struct transport_copy *copy) {
    const struct transport_ops *ops = copy->transport->ops;
    if (!copy->own)
        return;
    if (ops->copy_drop)
        ops->copy_drop(copy);
    else
        transport_sftp_drop(copy);
    copy->own = NULL;
}

static void announce_copied(struct transport_copy *copy) {
    struct transport *transport = copy->transport;
    drop_copy(copy);
    for (size_t i = 0; i < transport->copies.len; i++)
        if (transport->copies.at[i] == copy)
            transport->copies.at[i--] = transport->copies.at[--transport->copies.len];
    if (copy->spec.on_done)
        copy->spec.on_done(copy->spec.context, &copy->why);
    free_copy(copy);
}

static void announce_progress(struct transport_copy *copy) {
    copy->noted = false;
    if (!copy->ended && copy->spec.on_progress)
        copy->spec.on_progress(copy->spec.context, copy->done, copy->total);
}

/* Closes the way, and frees what it holds for commands and copies. */
static void close_way(struct transport *transport) {
    transport_sftp_free(transport);
    for (size_t i = 0; i < transport->copies.len; i++)
        drop_copy(transport->copies.at[i]);
    for (size_t i = 0; i < transport->commands.len; i++)
        drop_command(transport->commands.at[i]);
    transport->ops->close(transport);
    transport->own = NULL;
    transport->open = false;
}

static void open_way(struct transport *transport, const struct transport_ops *ops) {
    transport->ops = ops;
    transport->open = true;
    ops->open(transport);
}

static void end_all(struct transport *transport) {
    close_way(transport);
    struct transport_exit lost = {.end = TRANSPORT_LOST, .err = transport->why};
    for (size_t i = 0; i < transport->commands.len; i++)
        transport_command_end(transport->commands.at[i], &lost);
    for (size_t i = 0; i < transport->copies.len; i++)
        transport_copy_end(transport->copies.at[i], &transport->why);
    add_event(transport, EVENT_CLOSED);
}

static void switch_way(struct transport *transport, const char *reason) {
    const struct transport_ops *next = transport->fallback;
    close_way(transport);
    transport->fallback = NULL;
    transport->asking = false;
    transport_note(transport, "the system's ssh is used for %s: %s", transport->route.name, reason);
    open_way(transport, next);
}

static void announce_question(struct transport *transport, struct transport_question *question) {
    if (transport->asking)
        transport->callbacks.on_question(transport->callbacks.data, question);
    explicit_bzero(question, sizeof *question);
    free(question);
}

static void announce_note(struct transport *transport, char *text) {
    if (transport->callbacks.on_note)
        transport->callbacks.on_note(transport->callbacks.data, text);
    free(text);
}

static void announce_ready(struct transport *transport) {
    if (transport->state == TRANSPORT_READY && transport->callbacks.on_ready)
        transport->callbacks.on_ready(transport->callbacks.data);
}

static void announce_event(struct transport *transport, const struct transport_event *event) {
    switch (event->kind) {
    case EVENT_READY: announce_ready(transport); break;
    case EVENT_QUESTION: announce_question(transport, event->question); break;
    case EVENT_DECLINED: transport_answer(transport, NULL); break;
    case EVENT_NOTE: announce_note(transport, event->text); break;
    case EVENT_UNABLE:
        switch_way(transport, event->text);
        free(event->text);
        break;
    case EVENT_ENDING: end_all(transport); break;
    case EVENT_EXIT: announce_exit(event->command); break;
    case EVENT_PROGRESS: announce_progress(event->copy); break;
    case EVENT_COPIED: announce_copied(event->copy); break;
    case EVENT_CLOSED: break;
    }
}

static void free_event(const struct transport_event *event) {
    if (event->kind == EVENT_QUESTION)
        free(event->question);
    else if (event->kind == EVENT_NOTE || event->kind == EVENT_UNABLE)
        free(event->text);
}

/* One turn. What is announced meanwhile waits for the next turn, so that nobody can hold up the
 * loop. */
static void announce(void *data) {
    struct transport *transport = data;
    size_t count = transport->events.len;
    transport->announce = NULL;
    transport->announcing = true;
    for (size_t i = 0; i < count; i++) {
        struct transport_event event = transport->events.at[i];
        transport->events.at[i].kind = EVENT_CLOSED; /* holds nothing any more */
        if (event.kind == EVENT_CLOSED) {            /* the transport may be gone afterwards */
            transport->announcing = false;
            if (transport->callbacks.on_closed)
                transport->callbacks.on_closed(transport->callbacks.data, &transport->why);
            return;
        }
        announce_event(transport, &event);
    }
    transport->announcing = false;
    size_t left = transport->events.len - count;
    memmove(transport->events.at, transport->events.at + count,
            left * sizeof(struct transport_event));
    transport->events.len = left;
    if (left)
        transport->announce = loop_timer_start(transport->loop, 0, 0, announce, transport);
}

/* -------------------------------------------------------------------------- what a way reports */

void transport_ready(struct transport *transport) {
    if (transport->state != TRANSPORT_OPENING)
        return;
    transport->state = TRANSPORT_READY;
    add_event(transport, EVENT_READY);
}

static void put_question(struct transport *transport, const struct transport_question *question) {
    transport->asking = true;
    if (transport->callbacks.on_question)
        add_event(transport, EVENT_QUESTION)->question = mem_dup(question, sizeof *question);
    else
        add_event(transport, EVENT_DECLINED);
}

void transport_ask(struct transport *transport, const struct transport_question *question) {
    transport->unclear = 0;
    transport->question = *question;
    put_question(transport, question);
}

static void ask_once_more(struct transport *transport) {
    struct transport_question question = transport->question;
    snprintf(question.text, sizeof question.text, "Please answer yes or no. %.480s",
             transport->question.text);
    put_question(transport, &question);
}

void transport_answer(struct transport *transport, const char *answer) {
    if (!transport->asking || transport->state == TRANSPORT_ENDED)
        return;
    transport->asking = false;
    if (answer && transport->question.ask == TRANSPORT_ASK_HOST_KEY) {
        enum str_reply reply = str_reply(str_of(answer));
        if (reply == STR_UNCLEAR && ++transport->unclear < STR_REPLIES) {
            ask_once_more(transport);
            return;
        }
        answer = reply == STR_YES ? "yes" : "no";
    } else if (answer && !*answer && !transport->question.secret) {
        answer = NULL;
    }
    transport->ops->answer(transport, answer);
}

void transport_note(struct transport *transport, const char *format, ...) {
    struct buf text = {0};
    va_list args;
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    add_event(transport, EVENT_NOTE)->text = buf_take(&text);
}

void transport_end(struct transport *transport, const struct err *why) {
    if (transport->state == TRANSPORT_ENDED)
        return;
    transport->state = TRANSPORT_ENDED;
    transport->asking = false;
    transport->why = *why;
    add_event(transport, EVENT_ENDING);
}

void transport_unable(struct transport *transport, const char *reason) {
    if (transport->state != TRANSPORT_OPENING)
        return;
    if (transport->fallback) {
        add_event(transport, EVENT_UNABLE)->text = mem_strdup(reason);
        return;
    }
    struct err why;
    err_set(&why, ERR_USAGE,
            "%s cannot be reached with libssh2: %s; the system's ssh can do it "
            "(client = ssh)",
            transport->route.name, reason);
    transport_end(transport, &why);
}

/* ------------------------------------------------------------------------------ the transport */

struct transport *transport_new(struct loop *loop, const struct transport_ways *ways,
                                const struct transport_callbacks *callbacks, struct arena *arena,
                                const struct transport_route *route) {
    struct transport *transport = mem_alloc(1, sizeof *transport);
    transport->loop = loop;
    transport->callbacks = *callbacks;
    transport->fallback = ways->fallback;
    transport->arena = arena;
    transport->route = *route;
    snprintf(transport->description, sizeof transport->description, "%s", route->name);
    open_way(transport, ways->ops);
    return transport;
}

void transport_proceed(struct transport *transport, const struct transport_ways *ways) {
    close_way(transport);
    transport->fallback = ways->fallback;
    open_way(transport, ways->ops);
}

void transport_close(struct transport *transport) {
    if (!transport)
        return;
    if (transport->announcing)
        HONE_BUG("a transport was closed from within one of its callbacks");
    loop_timer_stop(transport->announce);
    if (transport->open)
        close_way(transport);
    for (size_t i = 0; i < transport->events.len; i++)
        free_event(&transport->events.at[i]);
    for (size_t i = 0; i < transport->commands.len; i++)
        free_command(transport->commands.at[i]);
    for (size_t i = 0; i < transport->copies.len; i++)
        free_copy(transport->copies.at[i]);
    vec_free(&transport->events);
    vec_free(&transport->commands);
    vec_free(&transport->copies);
    arena_free(transport->arena);
    free(transport);
}

bool transport_is_lost(const struct transport *transport) {
    return transport->state == TRANSPORT_ENDED;
}

const char *transport_describe(const struct transport *transport) {
    return transport->description;
}

static bool check_ready(const struct transport *transport, struct err *err) {
    if (transport->state == TRANSPORT_READY)
        return true;
    if (transport->state == TRANSPORT_ENDED)
        return err_set(err, ERR_ENVIRONMENT, "the connection to %s is closed: %s",
                       transport->route.name, transport->why.text);
    return err_set(err, ERR_ENVIRONMENT, "%s is not connected yet", transport->route.name);
}

/* --------------------------------------------------------------------------------- commands */

static char **copy_argv(const char *const *argv) {
    size_t count = 0;
    while (argv[count])
        count++;
    char **copy = mem_alloc(count + 1, sizeof *copy);
    for (size_t i = 0; i < count; i++)
        copy[i] = mem_strdup(argv[i]);
    return copy;
}

static struct transport_command *new_command(struct transport *transport,
                                             const struct transport_command_spec *spec) {
    struct transport_command *command = mem_alloc(1, sizeof *command);
    command->transport = transport;
    command->spec = *spec;
    if (!command->spec.max_line)
        command->spec.max_line = DEFAULT_MAX_LINE;
    buf_add(&command->input, spec->input, spec->input_len);
    command->input_over = !spec->keep_input;
    command->spec.input = NULL;
    command->spec.argv = NULL;
    *vec_push(&transport->commands) = command;
    return command;
}

struct transport_command *transport_command_start(struct transport *transport,
                                                  const struct transport_command_spec *spec,
                                                  struct err *err) {
    if (!check_ready(transport, err))
        return NULL;
    struct transport_command *command = new_command(transport, spec);
    command->argv = copy_argv(spec->argv);
    transport->ops->command_start(command);
    return command;
}

struct transport_command *transport_subsystem_start(struct transport *transport, const char *name,
                                                    const struct transport_command_spec *spec) {
    struct transport_command *command = new_command(transport, spec);
    command->subsystem = name;
    transport->ops->command_start(command);
    return command;
}

bool transport_command_write(struct transport_command *command, const void *data, size_t size) {
    if (command->input_over || command->ended)
        return false;
    buf_add(&command->input, data, size);
    command->transport->ops->command_input(command);
    return true;
}

void transport_command_close_input(struct transport_command *command) {
    if (command->input_over || command->ended)
        return;
    command->input_over = true;
    command->transport->ops->command_input(command);
}

void transport_command_kill(struct transport_command *command) {
    if (command && !command->ended && command->transport->state != TRANSPORT_ENDED)
        command->transport->ops->command_kill(command);
}

struct str transport_command_peek(const struct transport_command *command, size_t most) {
    size_t left = command->input.len - command->input_at;
    return (struct str){left ? command->input.at + command->input_at : "", MIN_OF(left, most)};
}

void transport_command_take(struct transport_command *command, size_t size) {
    struct buf *input = &command->input;
    command->input_at += size;
    size_t left = input->len - command->input_at;
    if (left && (command->input_at < INPUT_SLACK || command->input_at < left))
        return;
    if (left)
        memmove(input->at, input->at + command->input_at, left);
    input->len = left;
    command->input_at = 0;
}

void transport_command_line(struct transport_command *command, enum loop_stream stream,
                            struct str text, bool whole) {
    enum loop_output mode = stream == LOOP_STDERR ? command->spec.err : command->spec.out;
    if (mode != LOOP_DISCARD && command->spec.on_output && !command->ended)
        command->spec.on_output(command->spec.data, stream, text, whole);
}

static void line_out(void *data, struct str text, bool whole) {
    transport_command_line(data, LOOP_STDOUT, text, whole);
}

static void line_err(void *data, struct str text, bool whole) {
    transport_command_line(data, LOOP_STDERR, text, whole);
}

void transport_command_bytes(struct transport_command *command, enum loop_stream stream,
                             struct str bytes) {
    bool is_err = stream == LOOP_STDERR;
    enum loop_output mode = is_err ? command->spec.err : command->spec.out;
    if (mode == LOOP_LINES)
        transport_split_lines(&command->lines[is_err], bytes, command->spec.max_line,
                              is_err ? line_err : line_out, command);
    else if (mode == LOOP_RAW)
        transport_command_line(command, stream, bytes, true);
}

void transport_command_end(struct transport_command *command, const struct transport_exit *exit) {
    if (command->ended)
        return;
    for (int i = 0; i < 2; i++)
        if (command->lines[i].len) {
            transport_command_line(command, i ? LOOP_STDERR : LOOP_STDOUT,
                                   buf_str(&command->lines[i]), true);
            buf_clear(&command->lines[i]);
        }
    command->ended = true;
    command->exit = *exit;
    add_event(command->transport, EVENT_EXIT)->command = command;
}

/* ------------------------------------------------------------------------------------- copies */

struct transport_copy *transport_copy_start(struct transport *transport,
                                            const struct transport_copy_spec *spec,
                                            struct err *err) {
    if (!check_ready(transport, err))
        return NULL;
    if (!spec->remote || (spec->kind == TRANSPORT_GET && !spec->local)) {
        err_set(err, ERR_USAGE, "a copy needs a remote and a local path");
        return NULL;
    }
    struct transport_copy *copy = mem_alloc(1, sizeof *copy);
    copy->transport = transport;
    copy->spec = *spec;
    copy->spec.remote = copy->spec.local = NULL;
    copy->spec.data = NULL;
    copy->remote = mem_strdup(spec->remote);
    copy->local = mem_strdup(spec->local);
    copy->bytes = spec->local ? NULL : mem_dup(spec->data, spec->size);
    *vec_push(&transport->copies) = copy;
    if (transport->ops->copy_start)
        transport->ops->copy_start(copy);
    else
        transport_sftp_copy(transport, copy);
    return copy;
}

void transport_copy_cancel(struct transport_copy *copy) {
    if (!copy || copy->ended || copy->cancelled || copy->transport->state == TRANSPORT_ENDED)
        return;
    copy->cancelled = true;
    if (copy->transport->ops->copy_cancel)
        copy->transport->ops->copy_cancel(copy);
    else
        transport_sftp_cancel(copy);
}

void transport_copy_progress(struct transport_copy *copy, uint64_t done, uint64_t total) {
    copy->done = done;
    copy->total = total;
    uint64_t now = clock_monotonic_ns();
    if (copy->noted || copy->ended || !copy->spec.on_progress ||
        now - copy->reported_ns < PROGRESS_NS)
        return;
    copy->noted = true;
    copy->reported_ns = now;
    add_event(copy->transport, EVENT_PROGRESS)->copy = copy;
}

void transport_copy_end(struct transport_copy *copy, const struct err *why) {
    if (copy->ended)
        return;
    copy->ended = true;
    copy->why = why ? *why : (struct err){0};
    add_event(copy->transport, EVENT_COPIED)->copy = copy;
}
