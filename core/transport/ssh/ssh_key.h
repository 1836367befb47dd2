/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the libssh2 way: what can be said about keys without any cryptography. Implemented in
 * ssh_key.c; everything read here is foreign. */
#ifndef HONE_TRANSPORT_SSH_KEY_H
#define HONE_TRANSPORT_SSH_KEY_H

#include "transport/wire/inner.h"

enum ssh_key_state {
    SSH_KEY_ABSENT, /* no such file, or one that cannot be read */
    SSH_KEY_USABLE,
    SSH_KEY_UNSUPPORTED, /* needs the system's ssh; ssh_key.why says what for */
    SSH_KEY_UNKNOWN,     /* not a private key */
};
struct ssh_key {
    char *path;
    enum ssh_key_state state;
    bool locked;   /* under a passphrase */
    char type[64]; /* "ssh-ed25519"; "" when only the private part would tell */
    char *blob;    /* the public key as it goes over the wire; NULL: not known */
    size_t blob_len;
    char *text; /* the private key file; wiped by ssh_key_free */
    size_t text_len;
    const char *why; /* of SSH_KEY_UNSUPPORTED: "it is an RSA key, ..." */
};
/* Reads a private key file and what stands beside it (.pub, -cert.pub). For worker threads. */
void ssh_key_read(struct ssh_key *key, const char *path);
void ssh_key_free(struct ssh_key *key);
/* NULL, or why a key of this type needs the system's ssh. */
const char *ssh_key_obstacle(struct str type);
/* The type that stands at the start of a public key blob; empty when there is none. */
struct str ssh_key_type(struct str blob);
/* "ED25519" for "ssh-ed25519", as OpenSSH calls it. */
const char *ssh_key_title(struct str type);

/* Base64 with padding, as in key files; without in fingerprints. */
void ssh_base64_encode(struct buf *out, struct str bytes, bool padded);
/* Decodes; blanks and line ends are skipped. False for anything else. */
bool ssh_base64_decode(struct buf *out, struct str text) CC_MUST_USE;

#endif
