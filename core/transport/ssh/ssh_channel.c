/* SPDX-License-Identifier: Apache-2.0 */
/* The last stage: commands over channels. A turn opens waiting channels, and moves input and output
 * of all commands in small pieces for about a millisecond. The rest waits for the next turn. So
 * neither the loop nor a command waits for the bulk data of another. */
#include "transport/ssh/ssh_link.h"

#include <stdio.h>
#include <stdlib.h>

#define TURN_NS 1000000ull
#define PIECE_RAW ((size_t)1 << 16)   /* bytes read at once */
#define PIECE_LINES ((size_t)1 << 12) /* the same where lines are delivered one by one */
#define WINDOW (2u << 20)             /* bytes that a command may be ahead of us, as in OpenSSH */
#define PACKET 32768u
#define MOST_BACKLOG ((size_t)64 << 10) /* bytes that wait for the socket; more only adds delay */
#define LONGEST_LINE ((size_t)30000)    /* of a request; libssh2's largest packet holds it */

enum channel_state {
    CHANNEL_WAITING, /* waits for its turn to be opened */
    CHANNEL_OPENING,
    CHANNEL_STARTING,
    CHANNEL_RUNNING,
    CHANNEL_CLOSING, /* the command is over; waits for the server to close */
};
struct ssh_channel {
    struct ssh_link *link;
    struct transport_command *command; /* NULL: its owner is done with it */
    LIBSSH2_CHANNEL *channel;
    enum channel_state state;
    struct buf line;   /* of the request */
    struct buf script; /* a line too long for a request; it goes in front of the input */
    size_t script_at;
    bool eof_sent, gone;
};

/* -------------------------------------------------------------------------------- ending */

static void finish(struct ssh_channel *channel, const struct transport_exit *exit) {
    struct transport_command *command = channel->command;
    if (!command)
        return;
    channel->command = NULL;
    command->own = NULL;
    transport_command_end(command, exit);
}

static void refuse(struct ssh_channel *channel, const char *why) {
    const struct ssh_link *link = channel->link;
    struct transport_exit exit = {.end = TRANSPORT_REFUSED};
    err_set(&exit.err, ERR_ENVIRONMENT, "%s does not %s: %s", link->route.name,
            channel->command && channel->command->subsystem ? "offer file transfer (sftp)"
                                                            : "run commands for this user",
            why);
    finish(channel, &exit);
}

static void free_channel(struct ssh_channel *channel) {
    buf_free(&channel->line);
    buf_free(&channel->script);
    free(channel);
}

static void sweep(struct ssh_link *link) {
    size_t kept = 0;
    for (size_t i = 0; i < link->channels.len; i++) {
        struct ssh_channel *channel = link->channels.at[i];
        if (channel->gone && channel != link->opening)
            free_channel(channel);
        else
            link->channels.at[kept++] = channel;
    }
    link->channels.len = kept;
}

static bool has_open_channel(const struct ssh_link *link) {
    for (size_t i = 0; i < link->channels.len; i++)
        if (link->channels.at[i]->channel)
            return true;
    return false;
}

/* ------------------------------------------------------------------------------------- opening */

/* The input makes no sense any more. A closed connection is noticed elsewhere. */
static void broke(struct ssh_link *link) {
    if (!link->hung_up)
        ssh_link_end(link, ERR_ENVIRONMENT, "the connection to %s broke: %s", link->route.name,
                     ssh_link_last_error(link));
}

static LIBSSH2_CHANNEL *open_kind(struct ssh_link *link, const char *kind) {
    return libssh2_channel_open_ex(link->session, kind, (unsigned)strlen(kind), WINDOW, PACKET,
                                   NULL, 0);
}

static bool would_wait(const struct ssh_link *link) {
    return libssh2_session_last_errno(link->session) == LIBSSH2_ERROR_EAGAIN;
}

static bool was_refused(const struct ssh_link *link) {
    return libssh2_session_last_errno(link->session) == LIBSSH2_ERROR_CHANNEL_FAILURE;
}

/* A keep-alive: a channel of a kind that no server has. The refusal proves that the server lives,
 * and libssh2 takes it in. The replies to its own keep-alives libssh2 would keep in memory
 * forever. */
static void go_on_probing(struct ssh_link *link) {
    LIBSSH2_CHANNEL *odd = open_kind(link, "keepalive@hone");
    if (odd)
        libssh2_channel_free(odd);
    link->probing = !odd && would_wait(link);
    if (!odd && !link->probing && !was_refused(link))
        broke(link);
}

static void opened(struct ssh_link *link, struct ssh_channel *channel) {
    link->opening = NULL;
    if (channel->channel) {
        channel->state = channel->command ? CHANNEL_STARTING : CHANNEL_CLOSING;
    } else if (!was_refused(link)) {
        broke(link);
    } else if (has_open_channel(link) && channel->command) {
        channel->state = CHANNEL_WAITING; /* MaxSessions: waits until another one ends */
        link->full = true;
    } else {
        refuse(channel, ssh_link_last_error(link));
        channel->gone = true;
    }
}

static void go_on_opening(struct ssh_link *link) {
    struct ssh_channel *channel = link->opening;
    channel->channel = open_kind(link, "session");
    if (channel->channel || !would_wait(link))
        opened(link, channel);
}

/* libssh2 opens one channel at a time. */
static void open_next(struct ssh_link *link) {
    if (link->probing)
        go_on_probing(link);
    if (link->opening)
        go_on_opening(link);
    while (!link->probing && !link->opening && !link->over) {
        struct ssh_channel *next = NULL;
        for (size_t i = 0; i < link->channels.len && !next && !link->full; i++)
            if (link->channels.at[i]->state == CHANNEL_WAITING && link->channels.at[i]->command)
                next = link->channels.at[i];
        if (link->probe_wanted) {
            link->probe_wanted = false;
            link->probing = true;
            go_on_probing(link);
        } else if (next) {
            next->state = CHANNEL_OPENING;
            link->opening = next;
            go_on_opening(link);
        } else {
            return;
        }
    }
}

static void start(struct ssh_channel *channel) {
    const struct transport_command *command = channel->command;
    const char *kind = command->subsystem ? "subsystem" : "exec";
    int status = libssh2_channel_process_startup(channel->channel, kind, (unsigned)strlen(kind),
                                                 channel->line.at, (unsigned)channel->line.len);
    if (status == LIBSSH2_ERROR_EAGAIN)
        return;
    if (status == 0) {
        channel->state = CHANNEL_RUNNING;
        return;
    }
    refuse(channel, ssh_link_last_error(channel->link));
    channel->state = CHANNEL_CLOSING;
}

/* ------------------------------------------------------------------------------- moving bytes */

static struct str next_input(const struct ssh_channel *channel) {
    size_t left = channel->script.len - channel->script_at;
    if (left)
        return (struct str){channel->script.at + channel->script_at, MIN_OF(left, (size_t)PACKET)};
    return transport_command_peek(channel->command, PACKET);
}

static void took_input(struct ssh_channel *channel, size_t size) {
    if (channel->script_at < channel->script.len)
        channel->script_at += size;
    else
        transport_command_take(channel->command, size);
}

static void move_input(struct ssh_channel *channel, uint64_t until) {
    struct ssh_link *link = channel->link;
    while (channel->command && !channel->eof_sent) {
        struct str bytes = next_input(channel);
        if (!bytes.len)
            break;
        if (ssh_link_backlog(link) >= MOST_BACKLOG) {
            ssh_link_flush(link);
            if (ssh_link_backlog(link) >= MOST_BACKLOG)
                return; /* the socket will say when it takes more */
        }
        ssize_t n = libssh2_channel_write(channel->channel, bytes.at, bytes.len);
        if (n == LIBSSH2_ERROR_EAGAIN || n == 0)
            return;
        if (n < 0) { /* its stdin is closed, and nobody reads the rest */
            took_input(channel, bytes.len);
            continue;
        }
        took_input(channel, (size_t)n);
        if (clock_monotonic_ns() > until) {
            ssh_link_wake(link);
            return;
        }
    }
    if (channel->command && channel->command->input_over && !channel->eof_sent)
        channel->eof_sent = libssh2_channel_send_eof(channel->channel) != LIBSSH2_ERROR_EAGAIN;
}

/* True when something came. */
static bool read_piece(struct ssh_channel *channel, enum loop_stream stream) {
    struct ssh_link *link = channel->link;
    const struct transport_command_spec *spec = &channel->command->spec;
    enum loop_output mode = stream == LOOP_STDERR ? spec->err : spec->out;
    ssize_t n = libssh2_channel_read_ex(channel->channel,
                                        stream == LOOP_STDERR ? SSH_EXTENDED_DATA_STDERR : 0,
                                        link->piece, mode == LOOP_LINES ? PIECE_LINES : PIECE_RAW);
    if (n < 0 && n != LIBSSH2_ERROR_EAGAIN)
        broke(link);
    if (n <= 0)
        return false;
    transport_command_bytes(channel->command, stream, (struct str){link->piece, (size_t)n});
    return true;
}

static bool move_output(struct ssh_link *link) {
    bool moved = false;
    for (size_t i = 0; i < link->channels.len; i++) {
        struct ssh_channel *channel = link->channels.at[i];
        for (int stream = LOOP_STDOUT; stream <= LOOP_STDERR; stream++)
            if (channel->state == CHANNEL_RUNNING && channel->command)
                moved |= read_piece(channel, stream);
    }
    return moved;
}

/* Delivers pieces of all commands in turn. False when the time was up before everything was
 * delivered. */
static bool deliver(struct ssh_link *link, uint64_t until) {
    while (move_output(link))
        if (clock_monotonic_ns() > until)
            return false;
    return true;
}

static void fill_exit(struct ssh_channel *channel, struct transport_exit *exit) {
    char *signal = NULL;
    size_t size = 0;
    *exit = (struct transport_exit){.end = TRANSPORT_EXITED};
    libssh2_channel_get_exit_signal(channel->channel, &signal, &size, NULL, NULL, NULL, NULL);
    if (signal) {
        struct buf safe = {0};
        text_sanitise(&safe, (struct str){signal, strnlen(signal, size ? size : 15)});
        exit->end = TRANSPORT_SIGNALLED;
        snprintf(exit->signal, sizeof exit->signal, "%s", safe.len ? safe.at : "?");
        buf_free(&safe);
        libssh2_free(channel->link->session, signal);
    } else {
        exit->status = libssh2_channel_get_exit_status(channel->channel);
    }
}

/* Output has ended; the exit status comes before the server closes the channel. */
static void finish_if_over(struct ssh_channel *channel) {
    if (libssh2_channel_eof(channel->channel) != 1 ||
        libssh2_channel_wait_closed(channel->channel) != 0)
        return;
    struct transport_exit exit;
    fill_exit(channel, &exit);
    finish(channel, &exit);
    channel->state = CHANNEL_CLOSING;
}

static void go_on_closing(struct ssh_channel *channel) {
    if (libssh2_channel_close(channel->channel) == LIBSSH2_ERROR_EAGAIN ||
        libssh2_channel_free(channel->channel) == LIBSSH2_ERROR_EAGAIN)
        return;
    channel->channel = NULL;
    channel->gone = true;
    channel->link->full = false;
    ssh_link_wake(channel->link); /* another one may be opened now */
}

static void go_on(struct ssh_channel *channel, uint64_t until) {
    if (channel->state == CHANNEL_STARTING && channel->command)
        start(channel);
    if (channel->state == CHANNEL_RUNNING && channel->command)
        move_input(channel, until);
    if (channel->state == CHANNEL_RUNNING)
        finish_if_over(channel);
    if (channel->state == CHANNEL_CLOSING)
        go_on_closing(channel);
}

void ssh_serve(struct ssh_link *link) {
    uint64_t until = clock_monotonic_ns() + TURN_NS;
    if (!link->piece)
        link->piece = mem_resize(NULL, 1, PIECE_RAW);
    /* What libssh2 has taken in goes first. Only then does it take in more. */
    if (link->hold)
        link->hold = !deliver(link, until);
    open_next(link);
    if (!link->hold)
        link->hold = !deliver(link, until);
    for (size_t i = 0; i < link->channels.len; i++)
        go_on(link->channels.at[i], until);
    sweep(link);
    /* libssh2 takes in bytes only on behalf of something. */
    if (!link->hold && link->in_at < link->in_len && !link->channels.len && !link->probing)
        link->probe_wanted = true;
    if (link->hold || link->probe_wanted)
        ssh_link_wake(link);
}

/* --------------------------------------------------------------------------------- interface */

/* A request must fit into one packet. A longer one is read by sh from the beginning of its input,
 * byte by byte, so that nothing of the rest is taken. */
static void write_line(struct ssh_channel *channel, const struct transport_command *command) {
    if (command->subsystem) {
        buf_puts(&channel->line, command->subsystem);
        return;
    }
    const char *const *argv = (const char *const *)command->argv;
    transport_quote(&channel->line, argv);
    if (channel->line.len <= LONGEST_LINE)
        return;
    channel->script = channel->line;
    channel->line = (struct buf){0};
    buf_printf(&channel->line, "/bin/sh -c 'eval \"$(dd bs=1 count=%zu 2>/dev/null)\"'",
               channel->script.len);
}

void ssh_channel_start(struct transport_command *command) {
    struct ssh_link *link = command->transport->own;
    struct ssh_channel *channel = mem_alloc(1, sizeof *channel);
    channel->link = link;
    channel->command = command;
    write_line(channel, command);
    command->own = channel;
    *vec_push(&link->channels) = channel;
    ssh_link_wake(link);
}

/* Its owner hears of it at once. The server may close it much later, when the program notices that
 * nobody reads its output. */
void ssh_channel_kill(struct transport_command *command) {
    struct ssh_channel *channel = command->own;
    struct ssh_link *link = command->transport->own;
    finish(channel, &(struct transport_exit){.end = TRANSPORT_KILLED});
    if (channel->state == CHANNEL_WAITING)
        channel->gone = true;
    else if (channel->state != CHANNEL_OPENING)
        channel->state = CHANNEL_CLOSING;
    ssh_link_wake(link);
}

void ssh_channel_drop(struct transport_command *command) {
    struct ssh_channel *channel = command->own;
    channel->command = NULL;
}

void ssh_serve_free(struct ssh_link *link) {
    for (size_t i = 0; i < link->channels.len; i++)
        free_channel(link->channels.at[i]);
    vec_free(&link->channels);
    free(link->piece);
    link->piece = NULL;
}
