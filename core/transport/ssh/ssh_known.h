/* SPDX-License-Identifier: Apache-2.0 */
/* known_hosts files (sshd(8), SSH_KNOWN_HOSTS FILE FORMAT). Private to this folder. */
#ifndef HONE_TRANSPORT_SSH_KNOWN_H
#define HONE_TRANSPORT_SSH_KNOWN_H

#include "transport/wire/inner.h"

enum ssh_known_marker {
    SSH_KNOWN_KEY,       /* a plain line */
    SSH_KNOWN_AUTHORITY, /* @cert-authority */
    SSH_KNOWN_REVOKED,   /* @revoked */
};
struct ssh_known_line {
    const char *file; /* the caller owns it */
    int line;
    enum ssh_known_marker marker;
    bool portless;    /* it matched by the name without the port */
    char *type, *key; /* the key in base64 */
};
/* The lines that are about one host. {0} is the empty one. */
struct ssh_known {
    VEC(struct ssh_known_line) lines;
};
/* Adds the lines of a file that match host (in any case of letters) and port. For worker threads,
 * because each hashed name costs a computation. A file that does not exist adds nothing. */
void ssh_known_read(struct ssh_known *known, const char *file, const char *host, int port);
void ssh_known_free(struct ssh_known *known);

enum ssh_known_answer {
    SSH_KNOWN_SAME,
    SSH_KNOWN_NEW,        /* nothing is known about the host */
    SSH_KNOWN_OTHER_KIND, /* only keys of other types are known */
    SSH_KNOWN_CHANGED,    /* another key of this type is known, at *where */
    SSH_KNOWN_IS_REVOKED, /* this very key is revoked, at *where */
    SSH_KNOWN_CERTIFIED,  /* the host has to show a certificate, by *where */
};
enum ssh_known_answer ssh_known_check(const struct ssh_known *known, const char *type,
                                      const char *key, const struct ssh_known_line **where);
/* Prints the host key algorithms, those of the known keys first:
 * "ssh-ed25519,ecdsa-sha2-nistp256,...". So a host that is known by one key is not asked for
 * another. */
void ssh_known_order(const struct ssh_known *known, struct buf *out);
/* Prints "host" or "[host]:port" in lower case, as the file has it. */
void ssh_known_name(struct buf *out, const char *host, int port);
/* Appends a line; makes the file (0600) and its folder (0700). For worker threads. */
bool ssh_known_add(const char *file, const char *name, const char *type, const char *key,
                   struct err *err) CC_MUST_USE;

#endif
