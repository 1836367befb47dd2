/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the way over the system's ssh client. Private to this folder. */
#ifndef HONE_TRANSPORT_CLIENT_OWN_H
#define HONE_TRANSPORT_CLIENT_OWN_H

#include "transport/client/client.h"
#include "transport/wire/inner.h"

/* --------------------------------------------------------------- client_ask.c: ssh's questions */

/* Answers what ssh asks through SSH_ASKPASS. A small script in the folder carries the question to
 * hone and the answer back through fifos, never through a command line, a file or the
 * environment. */
struct asker;
struct asker_callbacks {
    void (*on_question)(void *data, const struct transport_question *question);
    void (*on_note)(void *data, const char *text);
    void *data;
};
struct asker *asker_new(struct loop *loop, const struct client_folder *folder,
                        const struct asker_callbacks *callbacks, struct err *err) CC_MUST_USE;
void asker_free(struct asker *asker);                       /* accepts NULL */
void asker_answer(struct asker *asker, const char *answer); /* NULL declines */
/* Lines for the child's environment, ending with NULL. The asker owns them. */
const char *const *asker_environment(const struct asker *asker);

/* ------------------------------------------------------------- client_failure.c: what ssh says */

/* Makes an error, with its kind and sentences, of what ssh wrote to stderr. `connected` when the
 * connection was there before. */
void client_explain(const struct transport_route *route, struct str said, bool connected,
                    struct err *err);

/* ------------------------------------------------------------- client_mux.c: sessions over it */

/* Sessions of the master connection, by the proxy mode of OpenSSH's multiplexing (PROTOCOL.mux,
 * client 7.4 and newer): SSH's connection protocol (RFC 4254) over a local socket. */
struct mux;
struct mux_callbacks {
    void (*on_ready)(void *data);
    void (*on_gone)(void *data, const char *why); /* the master closed it, or writes nonsense */
    void *data;
};
/* NULL: nobody listens at `path` yet. */
struct mux *mux_open(struct loop *loop, const char *path,
                     const struct mux_callbacks *callbacks) CC_MUST_USE;
void mux_free(struct mux *mux); /* accepts NULL */
void mux_command_start(struct mux *mux, struct transport_command *command);
void mux_command_input(struct transport_command *command);
void mux_command_kill(struct transport_command *command);
void mux_command_drop(struct transport_command *command);

#endif
