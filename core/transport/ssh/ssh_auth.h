/* SPDX-License-Identifier: Apache-2.0 */
/* The login of the libssh2 way. ssh_auth.c decides what is tried in which order, ssh_auth_key.c
 * tries one key, ssh_auth_ask.c what a person has to answer. Private to this folder. */
#ifndef HONE_TRANSPORT_SSH_AUTH_H
#define HONE_TRANSPORT_SSH_AUTH_H

#include "transport/ssh/ssh_link.h"

/* A key to try: one that the agent holds, or a file. */
struct ssh_candidate {
    const struct ssh_agent_key *held; /* NULL: a file */
    struct ssh_key *file;
};
struct ssh_auth {
    struct ssh_agent *agent;                     /* NULL: there is none, or it does not answer */
    bool listing;                                /* the agent was asked for its keys */
    bool takes_keys, takes_talk, takes_password; /* what the server accepts now */
    char methods[128];                           /* the same in the server's words */
    VEC(struct ssh_candidate) candidates;
    size_t next;
    struct ssh_candidate now;
    bool accepted; /* the server accepts the key that is tried */
    int tries;     /* of a passphrase or password */
    char *secret;  /* the passphrase or password that is tried */
    int status;    /* libssh2's, from a job */
    size_t refused_keys;
    struct buf obstacle; /* why a key was left out that the system's ssh can use */
    struct buf locked;   /* key files that were not unlocked */
};

#define SSH_AUTH_TRIES 3

/* Tries the next key; after the last one, what a person can answer; then ends. */
void ssh_auth_next(struct ssh_link *link);
/* The signature of a key was not enough. The key may have been the first of two factors, so the
 * server is asked what it accepts now. */
void ssh_auth_again(struct ssh_link *link);
void ssh_auth_done(struct ssh_link *link, const char *how);
void ssh_auth_set_secret(struct ssh_auth *auth, const char *secret);
void ssh_auth_try_key(struct ssh_link *link);
void ssh_auth_ask(struct ssh_link *link);
/* Nothing is left to try. */
void ssh_auth_fail(struct ssh_link *link);

#endif
