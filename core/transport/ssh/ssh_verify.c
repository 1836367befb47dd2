/* SPDX-License-Identifier: Apache-2.0 */
/* The second stage: whether this is the server that it was before. A key in known_hosts is accepted
 * silently. A new key is shown, and the person is asked. A changed or revoked key ends the
 * connection. No setting changes that. */
#include "transport/ssh/ssh_link.h"

#include <stdio.h>
#include <stdlib.h>

static void fingerprint(const struct ssh_link *link, struct buf *out) {
    const char *hash = libssh2_hostkey_hash(link->session, LIBSSH2_HOSTKEY_HASH_SHA256);
    buf_puts(out, "SHA256:");
    if (hash)
        ssh_base64_encode(out, (struct str){hash, 32}, false);
}

static void write_known(struct ssh_link *link) {
    struct buf name = {0};
    ssh_known_name(&name, link->route.host_key_name, link->route.port);
    link->job_err = (struct err){0};
    (void)!ssh_known_add(link->route.known_hosts[0], name.at, link->host_type, link->host_key,
                         &link->job_err);
    buf_free(&name);
}

static void known_written(struct ssh_link *link) {
    if (link->job_err.kind != ERR_NONE)
        transport_note(link->transport, "the key of %s could not be remembered: %s",
                       link->route.name, link->job_err.text);
    ssh_auth_start(link);
}

static void on_answer(struct ssh_link *link) {
    struct str said = link->answer ? str_trim(str_of(link->answer)) : STR("");
    if (!str_is(said, "yes")) {
        ssh_link_end(link, ERR_CANCELLED, "the key of %s was not accepted; nothing was sent to it",
                     link->route.name);
        return;
    }
    if (link->route.known_hosts[0])
        ssh_link_job(link, write_known, known_written);
    else
        ssh_auth_start(link);
}

static void ask(struct ssh_link *link, const struct ssh_known_line *other) {
    const struct transport_route *route = &link->route;
    struct transport_question question = {.ask = TRANSPORT_ASK_HOST_KEY};
    struct buf print = {0}, text = {0};
    fingerprint(link, &print);
    if (route->strict) {
        ssh_link_end(link, ERR_USAGE,
                     "known_hosts has no key of %s (it shows %s %s), and "
                     "StrictHostKeyChecking is yes in your ssh configuration: add the key there",
                     route->name, ssh_key_title(str_of(link->host_type)), print.at);
        buf_free(&print);
        return;
    }
    buf_printf(&text,
               "The authenticity of %s (%s port %d) is not known yet.\n%s key fingerprint is "
               "%s.\n",
               route->name, link->address, route->port, ssh_key_title(str_of(link->host_type)),
               print.at);
    if (other)
        buf_printf(&text,
                   "%s line %d has a key of another kind for it (%s): be sure before you "
                   "accept.\n",
                   other->file, other->line, other->type);
    buf_puts(&text, "Connect and remember this key? Answer yes or no.");
    snprintf(question.text, sizeof question.text, "%s", text.at);
    buf_free(&print);
    buf_free(&text);
    ssh_link_ask(link, &question, on_answer);
}

static void refuse_changed(struct ssh_link *link, const struct ssh_known_line *where) {
    struct buf print = {0}, name = {0};
    fingerprint(link, &print);
    ssh_known_name(&name, link->route.host_key_name, link->route.port);
    ssh_link_end(
        link, ERR_USAGE,
        "The key of %s HAS CHANGED: line %d of %s has another %s key than the "
        "%s that it shows now. Somebody may be listening in. If the host was set up anew and "
        "the fingerprint is right: ssh-keygen -f %s -R '%s'",
        link->route.name, where->line, where->file, ssh_key_title(str_of(link->host_type)),
        print.at, where->file, name.at);
    buf_free(&print);
    buf_free(&name);
}

static bool keep_host_key(struct ssh_link *link) {
    size_t size;
    int kind;
    const char *blob = libssh2_session_hostkey(link->session, &size, &kind);
    struct str type = ssh_key_type((struct str){blob, blob ? size : 0});
    if (!type.len)
        return false;
    struct buf name = {0}, key = {0};
    buf_add(&name, type.at, type.len);
    ssh_base64_encode(&key, (struct str){blob, size}, true);
    link->host_type = buf_take(&name);
    link->host_key = buf_take(&key);
    return true;
}

/* Only keys of other types are known. If libssh2 cannot check these types (RSA with SHA-2 before
 * 1.11), the system's ssh can. */
static void other_kind(struct ssh_link *link, const struct ssh_known_line *where) {
    for (size_t i = 0; i < link->known.lines.len; i++) {
        const struct ssh_known_line *line = &link->known.lines.at[i];
        const char *why = ssh_key_obstacle(str_of(line->type));
        if (why && line->marker == SSH_KNOWN_KEY && !line->portless) {
            ssh_link_unable(link,
                            "known_hosts has a key for it (%s, line %d) that libssh2 cannot "
                            "check: %s",
                            line->file, line->line, why);
            return;
        }
    }
    ask(link, where);
}

static void verify(struct ssh_link *link) {
    const struct ssh_known_line *where;
    switch (ssh_known_check(&link->known, link->host_type, link->host_key, &where)) {
    case SSH_KNOWN_SAME: ssh_auth_start(link); break;
    case SSH_KNOWN_NEW: ask(link, NULL); break;
    case SSH_KNOWN_OTHER_KIND: other_kind(link, where); break;
    case SSH_KNOWN_CHANGED: refuse_changed(link, where); break;
    case SSH_KNOWN_IS_REVOKED:
        ssh_link_end(link, ERR_USAGE,
                     "the key that %s shows is marked @revoked in line %d of %s; it is "
                     "not to be trusted",
                     link->route.name, where->line, where->file);
        break;
    case SSH_KNOWN_CERTIFIED:
        ssh_link_unable(link, "its host key is certified (@cert-authority in %s line %d)",
                        where->file, where->line);
        break;
    }
}

void ssh_verify_start(struct ssh_link *link) {
    link->stage = NULL;
    if (keep_host_key(link))
        verify(link);
    else
        ssh_link_end(link, ERR_ENVIRONMENT, "%s showed no host key", link->route.name);
}
