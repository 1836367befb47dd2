/* SPDX-License-Identifier: Apache-2.0 */
/* Login with one key. The server is first asked whether it accepts the key at all, so that nobody
 * is asked for a passphrase in vain. The agent signs when it is ready. Unlocking a file takes a
 * tenth of a second and more (bcrypt), so libssh2 does that on a worker thread. */
#include "transport/ssh/ssh_auth.h"

#include <stdio.h>
#include <stdlib.h>

/* ----------------------------------------------------------------------------- the agent signs */

enum { SHA2_256 = 2, SHA2_512 = 4 }; /* flags of a request to sign */

/* In what is signed (RFC 4252, 7) the name of the algorithm comes after session, user, service and
 * method. */
static uint32_t flags_for(struct str data) {
    for (int i = 0; i < 4; i++) {
        size_t skip = i == 1 ? 1 : 0; /* the message number */
        if (data.len < skip)
            return 0;
        data.at += skip;
        data.len -= skip;
        struct str text = ssh_key_type(data);
        data.at += MIN_OF(data.len, text.len + 4);
        data.len -= MIN_OF(data.len, text.len + 4);
    }
    if (data.len < 1)
        return 0;
    struct str algorithm = ssh_key_type((struct str){data.at + 1, data.len - 1});
    if (str_is(algorithm, "rsa-sha2-512"))
        return SHA2_512;
    return str_is(algorithm, "rsa-sha2-256") ? SHA2_256 : 0;
}

static LIBSSH2_USERAUTH_PUBLICKEY_SIGN_FUNC(sign_by_agent) {
    struct ssh_link *link = *abstract;
    struct ssh_auth *auth = link->auth;
    struct ssh_agent *agent = auth->agent;
    (void)session;
    auth->accepted = true;
    if (agent->failed)
        return -1;
    if (agent->has_signature) {
        if (!agent->signature.len)
            return -1;
        *sig = ssh_link_allocate(link, agent->signature.len);
        memcpy(*sig, agent->signature.at, agent->signature.len);
        *sig_len = agent->signature.len;
        return 0;
    }
    if (!agent->signing) {
        struct str bytes = {(const char *)data, data_len};
        const struct ssh_agent_key *held = auth->now.held;
        ssh_agent_sign(agent, (struct str){held->blob, held->blob_len}, bytes, flags_for(bytes));
    }
    return LIBSSH2_ERROR_EAGAIN;
}

static int user_key(struct ssh_link *link, struct str blob,
                    LIBSSH2_USERAUTH_PUBLICKEY_SIGN_FUNC((*sign))) {
    void *abstract = link;
    return libssh2_userauth_publickey(link->session, link->route.user,
                                      (const unsigned char *)blob.at, blob.len, sign, &abstract);
}

/* "ed25519 key" */
static void title(char out[64], struct str blob, const char *rest) {
    snprintf(out, 64, "%s key%s", blob.len ? ssh_key_title(ssh_key_type(blob)) : "", rest);
    for (char *c = out; *c; c++)
        *c = (char)(*c >= 'A' && *c <= 'Z' ? *c + 32 : *c);
}

static void try_held(struct ssh_link *link) {
    struct ssh_auth *auth = link->auth;
    struct str blob = {auth->now.held->blob, auth->now.held->blob_len};
    int status = user_key(link, blob, sign_by_agent);
    if (status == LIBSSH2_ERROR_EAGAIN || (status && link->hung_up))
        return;
    char how[64];
    title(how, blob, " of the agent");
    auth->refused_keys += status != 0;
    if (status == 0)
        ssh_auth_done(link, how);
    else if (auth->accepted && auth->agent->failed)
        ssh_link_end(link, ERR_ENVIRONMENT, "ssh-agent was asked to sign, but %s",
                     auth->agent->problem);
    else if (auth->accepted)
        ssh_auth_again(link);
    else
        ssh_auth_next(link);
}

/* ------------------------------------------------------------------------------ a file signs */

static void unlock(struct ssh_link *link);
static void ask_passphrase(struct ssh_link *link);

static void sign_in_file(struct ssh_link *link) {
    struct ssh_auth *auth = link->auth;
    const struct ssh_key *key = auth->now.file;
    const char *user = link->route.user;
    struct buf public = {0};
    if (key->blob) {
        buf_printf(&public, "%s ", key->type);
        ssh_base64_encode(&public, (struct str){key->blob, key->blob_len}, true);
    }
    auth->status =
        libssh2_userauth_publickey_frommemory(link->session, user, strlen(user), public.at,
                                              public.len, key->text, key->text_len, auth->secret);
    buf_free(&public);
}

static bool bad_signature(const struct ssh_link *link) {
    return strstr(ssh_link_last_error(link), "Invalid signature") != NULL;
}

static void wrong_passphrase(struct ssh_link *link) {
    struct ssh_auth *auth = link->auth;
    if (++auth->tries < SSH_AUTH_TRIES) {
        ask_passphrase(link);
        return;
    }
    buf_printf(&auth->locked, "%s%s", auth->locked.len ? " and " : "", auth->now.file->path);
    ssh_auth_next(link);
}

static void more_bytes(struct ssh_link *link) {
    if (link->in_at < link->in_len || link->hung_up)
        unlock(link);
}

static void unlocked(struct ssh_link *link) {
    struct ssh_auth *auth = link->auth;
    const struct ssh_key *key = auth->now.file;
    if (auth->status == LIBSSH2_ERROR_EAGAIN) {
        link->stage = more_bytes;
        return;
    }
    bool was_locked = auth->secret != NULL;
    ssh_auth_set_secret(auth, NULL);
    char how[64];
    title(how, (struct str){key->blob, key->blob_len}, "");
    if (auth->status == 0) {
        ssh_auth_done(link, how);
    } else if (link->hung_up) {
        link->stage = more_bytes; /* the turn reports that it is lost */
    } else if (was_locked && auth->status != LIBSSH2_ERROR_AUTHENTICATION_FAILED &&
               !bad_signature(link)) {
        wrong_passphrase(link);
    } else {
        auth->refused_keys++;
        if (!bad_signature(link) && auth->accepted)
            transport_note(link->transport, "the key %s cannot be used: %s", key->path,
                           ssh_link_last_error(link));
        ssh_auth_again(link);
    }
}

static void unlock(struct ssh_link *link) {
    ssh_link_job(link, sign_in_file, unlocked);
}

static void on_passphrase(struct ssh_link *link) {
    if (!link->answer) {
        ssh_link_end(link, ERR_CANCELLED, "the passphrase of %s was not given",
                     link->auth->now.file->path);
        return;
    }
    ssh_auth_set_secret(link->auth, link->answer);
    unlock(link);
}

static void ask_passphrase(struct ssh_link *link) {
    struct ssh_auth *auth = link->auth;
    struct transport_question question = {.ask = TRANSPORT_ASK_PASSPHRASE, .secret = true};
    snprintf(question.text, sizeof question.text,
             "%sThe key %s is locked. Its passphrase for %s@%s:",
             auth->tries ? "That was not the passphrase. " : "", auth->now.file->path,
             link->route.user, link->route.name);
    link->stage = NULL;
    ssh_link_ask(link, &question, on_passphrase);
}

static LIBSSH2_USERAUTH_PUBLICKEY_SIGN_FUNC(only_ask) {
    struct ssh_link *link = *abstract;
    (void)session, (void)sig, (void)sig_len, (void)data, (void)data_len;
    link->auth->accepted = true;
    return -1;
}

static void use_file(struct ssh_link *link) {
    if (link->auth->now.file->locked)
        ask_passphrase(link);
    else
        unlock(link);
}

static void probe_file(struct ssh_link *link) {
    struct ssh_auth *auth = link->auth;
    const struct ssh_key *key = auth->now.file;
    int status = user_key(link, (struct str){key->blob, key->blob_len}, only_ask);
    if (status == LIBSSH2_ERROR_EAGAIN || (status && link->hung_up))
        return;
    if (status == 0) { /* a server that lets in anybody who names a key */
        ssh_auth_done(link, "key");
    } else if (auth->accepted) {
        use_file(link);
    } else {
        auth->refused_keys++;
        ssh_auth_next(link);
    }
}

void ssh_auth_try_key(struct ssh_link *link) {
    struct ssh_auth *auth = link->auth;
    if (auth->now.held)
        auth->agent->has_signature = false;
    if (!auth->now.held && !auth->now.file->blob) {
        use_file(link);
        return;
    }
    link->stage = auth->now.held ? try_held : probe_file;
    ssh_link_wake(link);
}
