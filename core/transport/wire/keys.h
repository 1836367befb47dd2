/* SPDX-License-Identifier: Apache-2.0 */
/* What kind of key a private key file holds, as far as the file shows it without a passphrase.
 * Private to the rooms of transport. */
#ifndef HONE_TRANSPORT_KEYS_H
#define HONE_TRANSPORT_KEYS_H

enum key_kind {
    KEY_ABSENT, /* no such file, or not readable */
    KEY_OTHER,  /* ed25519, ecdsa, or the file does not show it */
    KEY_RSA,
    KEY_SECURITY, /* on a security key: sk-... */
};
enum key_kind key_file_kind(const char *path);

#endif
