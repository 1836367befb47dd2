/* SPDX-License-Identifier: Apache-2.0 */
/* The third stage: logging in. It tries the agent's keys, then the key files, then what a person
 * can answer, each only if the server accepts it. It also has the message for when nothing
 * worked. */
#include "transport/ssh/ssh_auth.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST_CANDIDATES 64

/* -------------------------------------------------------------------------------- candidates */

static void leave_out(struct ssh_auth *auth, const char *what, const char *why) {
    if (!auth->obstacle.len)
        buf_printf(&auth->obstacle, "%s cannot be used: %s", what, why);
}

static bool same_key(const struct ssh_agent_key *held, const struct ssh_key *file) {
    return file->blob && file->blob_len == held->blob_len &&
           memcmp(file->blob, held->blob, held->blob_len) == 0;
}

static const struct ssh_key *file_of(const struct ssh_link *link,
                                     const struct ssh_agent_key *held) {
    for (size_t i = 0; i < link->n_keys; i++)
        if (same_key(held, &link->keys[i]))
            return &link->keys[i];
    return NULL;
}

/* The keys that the configuration names come first, then the rest, in the agent's order. */
static void add_held(struct ssh_link *link, bool named) {
    struct ssh_auth *auth = link->auth;
    for (size_t i = 0; auth->agent && i < auth->agent->n_keys; i++) {
        const struct ssh_agent_key *held = &auth->agent->keys[i];
        if ((file_of(link, held) != NULL) != named || auth->candidates.len >= MOST_CANDIDATES)
            continue;
        const char *why = ssh_key_obstacle(ssh_key_type((struct str){held->blob, held->blob_len}));
        if (why)
            leave_out(auth, "a key of the agent", why);
        else
            *vec_push(&auth->candidates) = (struct ssh_candidate){.held = held};
    }
}

static bool agent_has(const struct ssh_auth *auth, const struct ssh_key *file) {
    for (size_t i = 0; auth->agent && i < auth->agent->n_keys; i++)
        if (same_key(&auth->agent->keys[i], file))
            return true;
    return false;
}

static void add_files(struct ssh_link *link) {
    struct ssh_auth *auth = link->auth;
    for (size_t i = 0; i < link->n_keys; i++) {
        struct ssh_key *file = &link->keys[i];
        if (file->state == SSH_KEY_UNSUPPORTED)
            leave_out(auth, file->path, file->why);
        else if (file->state == SSH_KEY_USABLE && !agent_has(auth, file))
            *vec_push(&auth->candidates) = (struct ssh_candidate){.file = file};
        else if (file->state == SSH_KEY_UNKNOWN)
            transport_note(link->transport, "%s cannot be read as a private key", file->path);
    }
}

static void collect(struct ssh_link *link) {
    struct ssh_auth *auth = link->auth;
    add_held(link, true);
    if (!link->route.identities_only)
        add_held(link, false);
    add_files(link);
    auth->next = 0;
    ssh_auth_next(link);
}

static void agent_listed(void *data) {
    struct ssh_link *link = data;
    struct ssh_auth *auth = link->auth;
    auth->listing = false;
    if (auth->agent->failed) {
        transport_note(link->transport, "the keys of ssh-agent are not tried: %s",
                       auth->agent->problem);
        ssh_agent_free(auth->agent);
        auth->agent = NULL;
    }
    collect(link);
    ssh_link_wake(link);
}

/* While a key is tried: the agent has signed or failed. */
static void agent_changed(void *data) {
    struct ssh_link *link = data;
    if (link->auth->listing)
        agent_listed(link);
    else
        ssh_link_wake(link);
}

static void begin(struct ssh_link *link) {
    struct ssh_auth *auth = link->auth;
    link->stage = NULL;
    if (!auth->takes_keys || !link->route.agent) {
        collect(link);
        return;
    }
    auth->listing = true;
    auth->agent = ssh_agent_open(
        &(struct ssh_agent){.loop = link->loop, .changed = agent_changed, .data = link},
        link->route.agent);
    if (auth->agent->failed)
        agent_listed(link);
}

/* ----------------------------------------------------------------- what the server takes */

static void take_methods(struct ssh_auth *auth, const char *methods) {
    struct str rest = str_of(methods), method;
    auth->takes_keys = auth->takes_talk = auth->takes_password = false;
    while (str_next(&rest, ',', &method)) {
        auth->takes_keys |= str_is(method, "publickey");
        auth->takes_talk |= str_is(method, "keyboard-interactive");
        auth->takes_password |= str_is(method, "password");
    }
    struct buf safe = {0};
    text_sanitise(&safe, str_of(methods));
    snprintf(auth->methods, sizeof auth->methods, "%s", safe.len ? safe.at : "");
    buf_free(&safe);
}

/* True when the server's list is there. False while it is awaited, or when login is over. */
static bool list_methods(struct ssh_link *link) {
    const char *user = link->route.user;
    const char *methods = libssh2_userauth_list(link->session, user, (unsigned)strlen(user));
    if (methods) {
        take_methods(link->auth, methods);
        return true;
    }
    if (libssh2_userauth_authenticated(link->session))
        ssh_auth_done(link, "no authentication");
    else if (libssh2_session_last_errno(link->session) != LIBSSH2_ERROR_EAGAIN && !link->hung_up)
        ssh_link_end(link, ERR_ENVIRONMENT, "%s does not say how to log in: %s", link->route.name,
                     ssh_link_last_error(link));
    return false;
}

static void ask_first(struct ssh_link *link) {
    if (list_methods(link))
        begin(link);
}

static void ask_again(struct ssh_link *link) {
    if (list_methods(link))
        ssh_auth_next(link);
}

void ssh_auth_again(struct ssh_link *link) {
    link->stage = ask_again;
    ssh_link_wake(link);
}

/* ---------------------------------------------------------------------------------- the order */

void ssh_auth_next(struct ssh_link *link) {
    struct ssh_auth *auth = link->auth;
    link->stage = NULL;
    auth->tries = 0;
    auth->accepted = false;
    if (auth->takes_keys && auth->next < auth->candidates.len) {
        auth->now = auth->candidates.at[auth->next++];
        ssh_auth_try_key(link);
    } else {
        ssh_auth_ask(link);
    }
}

void ssh_auth_fail(struct ssh_link *link) {
    const struct ssh_auth *auth = link->auth;
    const struct transport_route *route = &link->route;
    if (auth->obstacle.len) {
        ssh_link_unable(link, "%s", auth->obstacle.at);
    } else if (!auth->takes_keys && !auth->takes_talk && !auth->takes_password) {
        ssh_link_unable(link, "the server accepts none of libssh2's ways to log in, only %s",
                        auth->methods);
    } else if (auth->locked.len) {
        ssh_link_end(link, ERR_USAGE,
                     "%s@%s was not reached: the passphrase of %s was wrong %d times", route->user,
                     route->name, auth->locked.at, SSH_AUTH_TRIES);
    } else if (!auth->refused_keys && auth->takes_keys) {
        ssh_link_end(
            link, ERR_USAGE,
            "%s@%s requires a key, and there is none to try: make one with ssh-keygen -t ed25519 "
            "and install it there with ssh-copy-id, or set identity to an existing one",
            route->user, route->name);
    } else {
        ssh_link_end(
            link, ERR_USAGE,
            "%s@%s accepted nothing that was tried (%zu key%s): is the user name right, and is one "
            "of the keys in ~/.ssh/authorized_keys there (ssh-copy-id)? It accepts: %s",
            route->user, route->name, auth->refused_keys, PLURAL(auth->refused_keys),
            auth->methods);
    }
}

void ssh_auth_done(struct ssh_link *link, const char *how) {
    ssh_auth_free(link);
    ssh_link_ready(link, how);
    ssh_link_wake(link);
}

void ssh_auth_set_secret(struct ssh_auth *auth, const char *secret) {
    if (auth->secret)
        explicit_bzero(auth->secret, strlen(auth->secret));
    free(auth->secret);
    auth->secret = mem_strdup(secret);
}

void ssh_auth_start(struct ssh_link *link) {
    link->auth = mem_alloc(1, sizeof *link->auth);
    link->stage = ask_first;
    ssh_link_limit(link);
    ssh_link_wake(link);
}

void ssh_auth_free(struct ssh_link *link) {
    struct ssh_auth *auth = link->auth;
    if (!auth)
        return;
    ssh_auth_set_secret(auth, NULL);
    ssh_agent_free(auth->agent);
    vec_free(&auth->candidates);
    buf_free(&auth->obstacle);
    buf_free(&auth->locked);
    free(auth);
    link->auth = NULL;
}
