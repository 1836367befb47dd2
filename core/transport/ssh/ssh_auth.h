/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the login of the libssh2 way: ssh_auth.c decides what is tried in which order,
 * ssh_auth_key.c tries one key, ssh_auth_ask.c what a person has to answer. */
#ifndef HONE_TRANSPORT_SSH_AUTH_H
#define HONE_TRANSPORT_SSH_AUTH_H

#include "transport/ssh/ssh_link.h"

/* A key to try: one the agent holds, or a file. */
struct ssh_candidate {
    const struct ssh_agent_key *held; /* NULL: a file */
    struct ssh_key *file;
};
struct ssh_auth {
    struct ssh_agent *agent;                     /* NULL: none, or it does not answer */
    bool listing;                                /* the agent is asked for its keys */
    bool takes_keys, takes_talk, takes_password; /* what the server takes now */
    char methods[128];                           /* in its words */
    VEC(struct ssh_candidate) candidates;
    size_t next;
    struct ssh_candidate now;
    bool accepted; /* the server would take the key that is tried */
    int tries;     /* of a passphrase or password */
    char *secret;  /* the passphrase or password that is tried */
    int status;    /* of libssh2, from a job */
    size_t refused_keys;
    struct buf obstacle; /* why a key was left out that the system's ssh can use */
    struct buf locked;   /* key files that were not unlocked */
};

#define SSH_AUTH_TRIES 3

/* The next key; after the last one, what a person can answer; then the end. */
void ssh_auth_next(struct ssh_link *link);
/* A key's signature was not enough. Asks the server what it accepts now, because the key may have
 * been the first of two factors, and goes on. */
void ssh_auth_again(struct ssh_link *link);
void ssh_auth_done(struct ssh_link *link, const char *how);
void ssh_auth_set_secret(struct ssh_auth *auth, const char *secret);
void ssh_auth_try_key(struct ssh_link *link);
void ssh_auth_ask(struct ssh_link *link);
/* Nothing is left to try. */
void ssh_auth_fail(struct ssh_link *link);

#endif
