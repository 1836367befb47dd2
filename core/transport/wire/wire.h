/* SPDX-License-Identifier: Apache-2.0 */
/* A way to a machine: commands run there, files go there and come back. It goes over SSH in this
 * process (libssh2), over the system's ssh client where libssh2 cannot, or stays on this machine.
 * All three behave the same. Nothing here knows what is run.
 *
 * Every call returns at once. Callbacks come from the loop's thread, never from within a call. A
 * connection is made once. When it is lost, everything on it ends with TRANSPORT_LOST, and
 * on_closed comes last. Whoever wants it back opens another. */
#ifndef HONE_TRANSPORT_WIRE_H
#define HONE_TRANSPORT_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "loop/loop.h"

struct transport;
struct transport_ops; /* a way: inner.h */

/* ------------------------------------------------------------------------------- connections */

/* A question only a person can answer. */
enum transport_ask {
    TRANSPORT_ASK_HOST_KEY,   /* first contact; "yes" writes the key to known_hosts */
    TRANSPORT_ASK_PASSPHRASE, /* of a key file; never stored */
    TRANSPORT_ASK_PASSWORD,   /* a password, or another answer that the server asks for */
};
struct transport_question {
    enum transport_ask ask;
    bool secret;    /* not shown while it is typed, and wiped after use */
    char text[512]; /* whole sentences: which host, which key, its fingerprint */
};

struct transport_callbacks {
    void (*on_ready)(void *data);
    /* One question at a time; transport_answer answers it. NULL: every question is declined. */
    void (*on_question)(void *data, const struct transport_question *question);
    /* A note for the person: "the system's ssh is used for trn2: it needs a jump host". May be
     * NULL. */
    void (*on_note)(void *data, const char *text);
    /* The last call. Usage: trying again does not help until the person changes something (unknown
     * host name, changed or refused host key, no key accepted). Environment: it may work later
     * (refused, timed out, cut). Cancelled: a question was declined. */
    void (*on_closed)(void *data, const struct err *why);
    void *data;
};

/* What to reach. Strings are copied. What is NULL or 0 is taken from ~/.ssh/config for `name`,
 * otherwise from the usual defaults. */
struct transport_host {
    const char *name; /* as the user writes it: an alias, a host name, user@host */
    const char *host, *user, *identity;
    int port;
    const char *ssh_config;  /* in place of ~/.ssh/config */
    const char *known_hosts; /* in place of ~/.ssh/known_hosts */
    const char *client;      /* "auto" (NULL), "libssh2", "ssh" */
    double connect_limit_s;  /* 0: 20 s */
    double keepalive_s;      /* 0: 15 s; after three without an answer the connection is lost */
};
/* Answers the open question; NULL declines. About a host's key, an answer that is neither yes nor
 * no is asked again, at most STR_REPLIES times in all. The transport wipes its copy of the text;
 * the caller wipes its own. */
void transport_answer(struct transport *transport, const char *answer);
/* Ends the connection and all on it, without further callbacks. Accepts NULL. Of this transport's
 * callbacks only on_closed may call it. */
void transport_close(struct transport *transport);
/* Whether the connection ended or never came about. What has failed since failed for that reason,
 * and on_closed follows. */
bool transport_is_lost(const struct transport *transport);
/* "ubuntu@10.0.0.5 (libssh2, ed25519 key)", for people. */
const char *transport_describe(const struct transport *transport);

/* -------------------------------------------------------------------------------- commands */

enum transport_end {
    TRANSPORT_EXITED,    /* status */
    TRANSPORT_SIGNALLED, /* signal, such as "KILL" */
    TRANSPORT_KILLED,    /* by transport_command_kill */
    TRANSPORT_LOST,      /* the connection went first; what became of it is unknown */
    TRANSPORT_REFUSED,   /* the machine did not run it; err says why */
};
struct transport_exit {
    enum transport_end end;
    int status;
    char signal[16];
    struct err err;
};

/* A command to run. All strings are copied. The arguments reach the program as they are, whatever
 * they contain. The program starts in the login folder. */
struct transport_command_spec {
    const char *const *argv; /* ends with NULL */
    const void *input;       /* written to its stdin, which is then closed */
    size_t input_len;
    bool keep_input;           /* stdin stays open for transport_command_write */
    enum loop_output out, err; /* LOOP_DISCARD, LOOP_LINES or LOOP_RAW */
    size_t max_line;           /* longer lines come in pieces; 0: 1 MiB */
    /* As in struct loop_child_spec. */
    void (*on_output)(void *data, enum loop_stream stream, struct str text, bool whole);
    void (*on_exit)(void *data, const struct transport_exit *exit); /* last; the handle is gone */
    void *data;
};
struct transport_command;
/* NULL and *err when the transport is not ready or closed. Any number of commands run at once: what
 * the server does not take now (MaxSessions) waits for its turn. */
struct transport_command *transport_command_start(struct transport *transport,
                                                  const struct transport_command_spec *spec,
                                                  struct err *err) CC_MUST_USE;
bool transport_command_write(struct transport_command *command, const void *data, size_t size);
void transport_command_close_input(struct transport_command *command);
/* Closes its channel. What the command does then is its own business. on_exit still comes. Accepts
 * NULL. */
void transport_command_kill(struct transport_command *command);

/* ----------------------------------------------------------------------------------- files */

/* Remote paths are relative to the login folder unless they begin with '/'. */
enum transport_copy_kind {
    TRANSPORT_PUT, /* local file or `data` to remote: written beside it, renamed */
    TRANSPORT_GET, /* remote to the local file: written beside it, renamed */
};
struct transport_copy_spec {
    enum transport_copy_kind kind;
    const char *remote, *local; /* local NULL: put `data` */
    const void *data;           /* copied */
    size_t size;
    int mode;           /* of a file that is put; 0: 0600 */
    bool make_dirs;     /* makes the missing folders above, 0700, in either direction */
    uint64_t max_bytes; /* a get of a larger file fails before it begins; 0: no limit */
    void (*on_progress)(void *data, uint64_t done, uint64_t total); /* may be NULL */
    /* The last call. *why has kind ERR_NONE when the whole file is there. Otherwise no file was
     * changed, and the text says what to do (no space left, permission denied, no such file). */
    void (*on_done)(void *data, const struct err *why);
    void *context; /* the callbacks' data */
};
struct transport_copy;
struct transport_copy *transport_copy_start(struct transport *transport,
                                            const struct transport_copy_spec *spec,
                                            struct err *err) CC_MUST_USE;
void transport_copy_cancel(struct transport_copy *copy); /* on_done still comes, as cancelled */

/* --------------------------------------------------------------------------- ~/.ssh/config */

/* The aliases without wildcards in the user's ssh configuration, for lists and completion. The
 * caller frees each of them and the array. */
char **transport_known_names(const char *ssh_config, size_t *count) CC_MUST_USE;

#endif
