/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the transport: what kind of key a private key file holds, as far as that can be told
 * without its passphrase. */
#ifndef HONE_TRANSPORT_KEYS_H
#define HONE_TRANSPORT_KEYS_H

enum key_kind {
    KEY_ABSENT, /* no such file, or not readable */
    KEY_OTHER,  /* ed25519, ecdsa, or not told by the file */
    KEY_RSA,
    KEY_SECURITY, /* on a security key: sk-... */
};
enum key_kind key_file_kind(const char *path);

#endif
