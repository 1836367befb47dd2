/* SPDX-License-Identifier: Apache-2.0 */
/* What can be said about keys without any cryptography. Everything that is read here comes from
 * outside. Private to this folder. */
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
    bool locked;   /* a passphrase protects it */
    char type[64]; /* "ssh-ed25519"; "" when only the private part shows it */
    char *blob;    /* the public key as it goes over the wire; NULL: unknown */
    size_t blob_len;
    char *text; /* the private key file; wiped by ssh_key_free */
    size_t text_len;
    const char *why; /* for SSH_KEY_UNSUPPORTED: "it is an RSA key, ..." */
};
/* Reads a private key file and the files beside it (.pub, -cert.pub). For worker threads. */
void ssh_key_read(struct ssh_key *key, const char *path);
void ssh_key_free(struct ssh_key *key);
/* Why a key of this type needs the system's ssh, or NULL. */
const char *ssh_key_obstacle(struct str type);
/* The type at the start of a public key blob; empty when there is none. */
struct str ssh_key_type(struct str blob);
/* "ED25519" for "ssh-ed25519", as OpenSSH calls it. */
const char *ssh_key_title(struct str type);

/* Base64: with padding as in key files, without as in fingerprints. */
void ssh_base64_encode(struct buf *out, struct str bytes, bool padded);
/* Decodes, and skips blanks and line ends. False for anything else. */
bool ssh_base64_decode(struct buf *out, struct str text) CC_MUST_USE;

#endif
