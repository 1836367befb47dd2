/* SPDX-License-Identifier: Apache-2.0 */
/* For the rooms of transport: what all ways to a machine share. A way is a row of struct
 * transport_ops over a struct transport. transport.c keeps the promises of wire.h: callbacks in
 * order, from the loop, never from within a call; one question at a time; everything ends. sftp.c
 * copies files over any way that can start the "sftp" subsystem. lines.c splits output, and quote.c
 * writes an argument vector as one line of shell.
 *
 * The functions with which a way reports (transport_ready ... transport_copy_end) may be called at
 * any time, also from within its ops. What they announce is delivered on a later turn of the loop.
 * Output is the exception: transport_command_bytes and _line call on_output at once. So only the
 * way's own loop callbacks may call these two. Meanwhile on_output may start, write to and kill
 * commands and copies, but never close the transport. */
#ifndef HONE_TRANSPORT_WIRE_INNER_H
#define HONE_TRANSPORT_WIRE_INNER_H

#include "transport/wire/wire.h"

/* Where a connection goes, with all defaults and ssh_config applied. It is in the transport's
 * arena. Lists end with NULL. */
struct transport_route {
    const char *name;        /* as the user wrote it, for messages */
    const char *host, *user; /* never NULL for SSH */
    int port;
    const char *host_key_name;      /* the name in known_hosts (HostKeyAlias); NULL: host */
    const char *const *identities;  /* private key files in the order to try; they need not exist */
    bool identities_only;           /* of the agent's keys, use only those in `identities` */
    const char *agent;              /* path of the agent's socket; NULL: no agent */
    const char *const *known_hosts; /* files to look in; the first one is written to */
    double connect_limit_s, keepalive_s;
    const struct transport_host *asked; /* what the caller asked for, for the system's client */
    bool strict; /* StrictHostKeyChecking yes: no question about unknown keys */
};

/* One way to a machine. */
struct transport_ops {
    /* Begins to connect. transport_ready, transport_end or transport_unable follows. */
    void (*open)(struct transport *transport);
    /* The answer to what transport_ask asked; NULL declines. The way copies and wipes it. */
    void (*answer)(struct transport *transport, const char *answer);
    /* Frees transport->own and all that it holds, at once and silently. Every command and copy of
     * this way was dropped before. Called once for each open. */
    void (*close)(struct transport *transport);
    /* Runs command->argv, or the subsystem when that is not NULL. */
    void (*command_start)(struct transport_command *command);
    /* There is more in command->input (see transport_command_peek), or its end was announced. */
    void (*command_input)(struct transport_command *command);
    /* Ends it; transport_command_end with TRANSPORT_KILLED must follow. */
    void (*command_kill)(struct transport_command *command);
    /* Frees command->own. The caller frees the command itself. */
    void (*command_drop)(struct transport_command *command);
    /* NULL: files go over the "sftp" subsystem. Otherwise the rules are those of commands:
     * transport_copy_end must follow copy_start, and copy_cancel makes it come soon (cancelled). */
    void (*copy_start)(struct transport_copy *copy);
    void (*copy_cancel)(struct transport_copy *copy);
    void (*copy_drop)(struct transport_copy *copy);
};

struct transport_command {
    struct transport *transport;
    struct transport_command_spec spec; /* plain values and callbacks; argv and input are below */
    char **argv;                        /* ends with NULL; NULL for a subsystem */
    const char *subsystem;              /* "sftp" or NULL */
    struct buf input;                   /* what the way has not taken yet: from input_at on */
    size_t input_at;
    bool input_over; /* no more will be added */
    bool ended;      /* transport_command_end was called */
    struct buf lines[2];
    struct transport_exit exit;
    void *own; /* the way's part */
};

struct transport_copy {
    struct transport *transport;
    struct transport_copy_spec spec; /* plain values and callbacks; pointers are below */
    char *remote, *local;            /* local NULL: put `bytes` */
    void *bytes;
    bool cancelled, ended, noted;
    uint64_t done, total, reported_ns;
    struct err why;
    void *own;
};

enum transport_state {
    TRANSPORT_OPENING,
    TRANSPORT_READY,
    TRANSPORT_ENDED,
};

struct transport_event;
struct transport_sftp;

struct transport {
    struct loop *loop;
    const struct transport_ops *ops, *fallback; /* fallback: see transport_unable */
    struct transport_callbacks callbacks;
    struct arena *arena;
    struct transport_route route;
    enum transport_state state;
    char description[256];              /* for transport_describe; the way writes it */
    void *own;                          /* the way's part */
    bool open;                          /* ops->open was called, and ops->close was not yet */
    bool asking;                        /* a question waits for its answer */
    int unclear;                        /* answers to it that were neither yes nor no */
    struct transport_question question; /* the last one; it holds no secret */
    bool announcing;                    /* callbacks are running */
    struct err why;                     /* why it ended */
    VEC(struct transport_event) events;
    struct loop_timer *announce;
    VEC(struct transport_command *) commands;
    VEC(struct transport_copy *) copies;
    struct transport_sftp *sftp;
};

/* A transport that opens the first way. It opens the second (may be NULL) when the first reports
 * transport_unable. It takes over the arena, with what route points to. */
struct transport_ways {
    const struct transport_ops *ops, *fallback;
};
struct transport *transport_new(struct loop *loop, const struct transport_ways *ways,
                                const struct transport_callbacks *callbacks, struct arena *arena,
                                const struct transport_route *route) CC_MUST_USE;

/* For the way that only finds out which way to take (choice.c). In a callback of the loop, closes
 * it and opens the others. */
void transport_proceed(struct transport *transport, const struct transport_ways *ways);

/* ------------------------------------------------------------------------- what a way reports */

void transport_ready(struct transport *transport);
/* Asks a question, one at a time. ops->answer follows, with NULL when nobody is there to answer. */
void transport_ask(struct transport *transport, const struct transport_question *question);
void transport_note(struct transport *transport, const char *format, ...) CC_PRINTF(2, 3);
/* The connection ended or could not be made. On a later turn the way's close is called. Then
 * commands end with TRANSPORT_LOST, copies fail, and on_closed comes last. */
void transport_end(struct transport *transport, const struct err *why);
/* This way cannot do it, and `reason` says why ("needs a jump host"). transport->fallback is opened
 * instead, with a note. Without a fallback this is the end, as a usage error. Only before
 * transport_ready. */
void transport_unable(struct transport *transport, const char *reason);

/* Reports output as it came, at most one piece for each call of on_output. It is split into lines
 * if the caller asked for that. */
void transport_command_bytes(struct transport_command *command, enum loop_stream stream,
                             struct str bytes);
/* Reports output that is already split. */
void transport_command_line(struct transport_command *command, enum loop_stream stream,
                            struct str text, bool whole);
/* The next bytes of input, at most `most`. The view holds until the next call. Empty: nothing
 * now. */
struct str transport_command_peek(const struct transport_command *command, size_t most);
void transport_command_take(struct transport_command *command, size_t size);
/* All its output was reported. Delivers what is left of a line; on_exit follows. */
void transport_command_end(struct transport_command *command, const struct transport_exit *exit);
/* A command for the transport itself. It is started, reported and ended like any other. */
struct transport_command *
transport_subsystem_start(struct transport *transport, const char *name,
                          const struct transport_command_spec *spec) CC_MUST_USE;

/* on_progress follows, at most ten times a second. */
void transport_copy_progress(struct transport_copy *copy, uint64_t done, uint64_t total);
/* `why` NULL or of kind ERR_NONE: the whole file is there. */
void transport_copy_end(struct transport_copy *copy, const struct err *why);

/* --------------------------------------------------------------------------------- the parts */

/* Adds `bytes` to what *line holds. Calls fn for each line, without its end, and for each piece of
 * a line that grows to `most` bytes (whole is false). fn may not free *line. */
typedef void transport_line_fn(void *data, struct str text, bool whole);
void transport_split_lines(struct buf *line, struct str bytes, size_t most, transport_line_fn *fn,
                           void *data);
/* Prints argv as one line that sh, bash, zsh, fish, csh and tcsh all read as these arguments. */
void transport_quote(struct buf *out, const char *const *argv);

/* Copies over the "sftp" subsystem, which is opened when the first copy comes and closed when it is
 * idle. */
void transport_sftp_copy(struct transport *transport, struct transport_copy *copy);
void transport_sftp_cancel(struct transport_copy *copy);
void transport_sftp_drop(struct transport_copy *copy);
void transport_sftp_free(struct transport *transport);

/* ---------------------------------------------------------------------------------- the ways */

#include "transport/wire/keys.h"
#include "transport/wire/settings.h"
#include "transport/wire/sftp.h"

#endif
