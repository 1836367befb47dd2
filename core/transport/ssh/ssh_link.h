/* SPDX-License-Identifier: Apache-2.0 */
/* One connection of the libssh2 way, from looking up the host to its last byte. A link goes through
 * stages. Each turn of the loop that brings bytes calls the stage once. Every libssh2 call works on
 * memory: `in` has what came from the socket before the turn, `out` what is to be sent after it. So
 * no call blocks, and the work of a turn has a bound. Private to this folder. */
#ifndef HONE_TRANSPORT_SSH_LINK_H
#define HONE_TRANSPORT_SSH_LINK_H

#include <netdb.h>

#include "base/libssh2.h"
#include "transport/wire/inner.h"
#include "transport/ssh/ssh_key.h"
#include "transport/ssh/ssh_known.h"

struct ssh_link;
struct ssh_dial;
struct ssh_auth;
struct ssh_agent;
struct ssh_talk;
struct ssh_channel;
typedef void ssh_link_fn(struct ssh_link *link);

struct ssh_link {
    struct loop *loop;
    struct transport *transport; /* NULL: closed, and only a job still holds the link */
    struct arena *arena;
    struct transport_route route; /* a copy, because jobs may outlive the transport */
    ssh_link_fn *stage;           /* NULL: nothing is expected, or the link is over */
    ssh_link_fn *answered;        /* for the open question; `answer` is NULL when declined */
    char *answer;

    int fd;
    struct loop_watch *watch;
    LIBSSH2_SESSION *session;
    struct ssh_block *blocks; /* what libssh2 has allocated */
    bool plain_blocks;        /* no blocks are kept, because libssh2 frees some behind our back */
    bool over;                /* the transport was told of the end */
    bool busy;                /* a job has the link, and the session too */
    bool mute;                /* libssh2 is being freed: it sends nothing and hears nothing */
    bool in_turn, turn_again;
    ssh_link_fn *work, *worked;
    struct loop_timer *soon, *limit, *keepalive;

    char *in;
    size_t in_at, in_len;
    bool hold;    /* bytes stay in `in` until those read before are handled */
    bool hung_up; /* the server closed, or net_errno says what happened */
    int net_errno;
    char goodbye[160]; /* what the server said when it disconnected */
    bool heard;        /* since the last tick of the keep-alive */
    int unanswered;
    struct buf out;
    size_t out_at;

    struct addrinfo *addresses; /* what getaddrinfo said */
    int lookup_status;
    struct ssh_known known;
    struct ssh_key *keys;
    size_t n_keys;
    char address[64]; /* the address that answered */

    char *host_type, *host_key; /* what the server showed, in base64 */
    struct err job_err;
    struct ssh_dial *dial;
    struct ssh_auth *auth;
    struct ssh_talk *talk; /* has the session while it exists */

    VEC(struct ssh_channel *) channels; /* in the order they came */
    struct ssh_channel *opening;
    bool probing; /* a keep-alive is under way in place of an opening */
    bool probe_wanted;
    bool full;   /* the server takes no more channels now */
    char *piece; /* the buffer for output */
};

/* ---- ssh_link.c */

/* Handles what there is, now or on the next turn. */
void ssh_link_turn(struct ssh_link *link);
void ssh_link_wake(struct ssh_link *link);
/* Memory that libssh2 may free. */
void *ssh_link_allocate(struct ssh_link *link, size_t size) CC_MUST_USE;
/* Runs work(link) on a worker thread, with the session when there is one. Then worked(link), unless
 * the transport was closed meanwhile. */
void ssh_link_job(struct ssh_link *link, ssh_link_fn *work, ssh_link_fn *worked);
/* Another part is about to use the session (busy or talk are set). Sends what is queued, and stops
 * listening. */
void ssh_link_lend(struct ssh_link *link);
/* Asks the person. Then link->answered = fn is called, with the answer in link->answer. */
void ssh_link_ask(struct ssh_link *link, const struct transport_question *question,
                  ssh_link_fn *fn);
void ssh_link_end(struct ssh_link *link, enum err_kind kind, const char *format, ...)
    CC_PRINTF(3, 4);
/* libssh2 cannot do it. The system's ssh takes over. */
void ssh_link_unable(struct ssh_link *link, const char *format, ...) CC_PRINTF(2, 3);
/* libssh2's message about its last error. */
const char *ssh_link_last_error(const struct ssh_link *link);
/* Makes the session over link->fd, at the start of a connection. */
bool ssh_link_make_session(struct ssh_link *link) CC_MUST_USE;
/* Starts the time to connect from now; again after a person was asked. */
void ssh_link_limit(struct ssh_link *link);
/* Sends as much of what is queued as the socket takes. */
void ssh_link_flush(struct ssh_link *link);
size_t ssh_link_backlog(const struct ssh_link *link);
/* Login is done. */
void ssh_link_ready(struct ssh_link *link, const char *how);

/* ---- the stages, in their order */

void ssh_dial_start(struct ssh_link *link); /* ssh_dial.c: to a connected socket */
void ssh_dial_free(struct ssh_link *link);
void ssh_verify_start(struct ssh_link *link); /* ssh_verify.c: whose host key it is */
void ssh_auth_start(struct ssh_link *link);   /* ssh_auth.c: who we are */
void ssh_auth_free(struct ssh_link *link);
void ssh_serve(struct ssh_link *link); /* ssh_channel.c: commands */
void ssh_serve_free(struct ssh_link *link);
void ssh_channel_start(struct transport_command *command);
void ssh_channel_kill(struct transport_command *command);
void ssh_channel_drop(struct transport_command *command);

/* ---- ssh_agent.c: a conversation with ssh-agent that waits for nobody */

struct ssh_agent_key {
    char *blob;
    size_t blob_len;
};
struct ssh_agent {
    struct loop *loop;
    loop_fn *changed; /* called when keys or a signature came, or it failed */
    void *data;
    int fd;
    struct loop_watch *watch;
    struct loop_timer *limit;
    struct buf out, in;
    size_t out_at;
    bool failed, listed;
    struct ssh_agent_key *keys;
    size_t n_keys;
    bool signing, has_signature; /* has_signature with an empty one: the agent refused */
    struct buf signature;        /* without the name of its algorithm */
    const char *problem;         /* why it failed */
};
/* Connects and asks for the keys. Never NULL; a failure is in the fields. */
struct ssh_agent *ssh_agent_open(const struct ssh_agent *like, const char *path) CC_MUST_USE;
void ssh_agent_sign(struct ssh_agent *agent, struct str blob, struct str data, uint32_t flags);
void ssh_agent_free(struct ssh_agent *agent);

/* ---- ssh_talk.c: keyboard-interactive, on a thread of its own: libssh2's call waits ----- */

/* Takes the session until worked(link) is called. Asks through ssh_link_ask. */
struct ssh_talk *ssh_talk_start(struct ssh_link *link, ssh_link_fn *worked) CC_MUST_USE;
int ssh_talk_result(const struct ssh_talk *talk); /* libssh2's */
bool ssh_talk_declined(const struct ssh_talk *talk);
/* libssh2 receives and sends with these on that thread. They are like recv and send, with
 * -errno. */
ssize_t ssh_talk_receive(struct ssh_link *link, void *buffer, size_t size);
ssize_t ssh_talk_send(struct ssh_link *link, const void *buffer, size_t size);
/* Ends the thread, at once when it waits. Accepts NULL. */
void ssh_talk_free(struct ssh_talk *talk);

#endif
