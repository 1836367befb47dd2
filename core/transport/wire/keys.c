/* SPDX-License-Identifier: Apache-2.0 */
/* The kind of a private key. Older formats have it in their header, OpenSSH's own in the public
 * part, which is not encrypted. No key is ever decrypted or kept here. */
#include "transport/wire/keys.h"

#include <stdlib.h>

#include "base/base.h"

#define FILE_LIMIT ((size_t)1 << 16)
#define HEAD 256

static int digit_of(char c) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* Decodes the first bytes of base64 text, which may be broken into lines. */
static size_t decode(struct str text, unsigned char *out, size_t most) {
    unsigned held = 0, bits = 0;
    size_t len = 0;
    for (size_t i = 0; i < text.len && len < most && text.at[i] != '='; i++) {
        int digit = digit_of(text.at[i]);
        if (digit < 0)
            continue;
        held = held << 6 | (unsigned)digit;
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            out[len++] = (unsigned char)(held >> bits);
        }
    }
    return len;
}

/* Takes a length and as many bytes, as SSH writes strings. */
static bool take_string(struct str *rest, struct str *value) {
    if (rest->len < 4)
        return false;
    const unsigned char *b = (const unsigned char *)rest->at;
    size_t len = (size_t)b[0] << 24 | (size_t)b[1] << 16 | (size_t)b[2] << 8 | b[3];
    if (len > rest->len - 4)
        len = rest->len - 4; /* only its beginning was decoded */
    *value = (struct str){rest->at + 4, len};
    rest->at += 4 + len;
    rest->len -= 4 + len;
    return true;
}

static enum key_kind openssh_kind(struct str body) {
    static const char magic[] = "openssh-key-v1";
    unsigned char head[HEAD];
    size_t len = decode(body, head, sizeof head);
    if (len <= sizeof magic + 4 || memcmp(head, magic, sizeof magic) != 0)
        return KEY_OTHER;
    struct str rest = {(const char *)head + sizeof magic, len - sizeof magic}, skipped, key, type;
    for (int i = 0; i < 3; i++) /* cipher, how the key is derived, its options */
        if (!take_string(&rest, &skipped))
            return KEY_OTHER;
    if (rest.len < 4)
        return KEY_OTHER;
    rest.at += 4; /* number of keys */
    rest.len -= 4;
    if (!take_string(&rest, &key) || !take_string(&key, &type))
        return KEY_OTHER;
    if (str_starts(type, "sk-"))
        return KEY_SECURITY;
    return str_is(type, "ssh-rsa") ? KEY_RSA : KEY_OTHER;
}

enum key_kind key_file_kind(const char *path) {
    static const char begin[] = "-----BEGIN OPENSSH PRIVATE KEY-----";
    struct err ignored;
    size_t size;
    char *text = file_read(path, FILE_LIMIT, &size, &ignored);
    if (!text)
        return KEY_ABSENT;
    enum key_kind kind = KEY_OTHER;
    const char *at = strstr(text, begin);
    if (at)
        kind = openssh_kind(str_of(at + sizeof begin - 1));
    else if (strstr(text, "-----BEGIN RSA PRIVATE KEY-----"))
        kind = KEY_RSA;
    explicit_bzero(text, size);
    free(text);
    return kind;
}
