/* SPDX-License-Identifier: Apache-2.0 */
/* The unencrypted parts of key files: the kind of key, its public part, whether it is locked. They
 * show whether to ask for a passphrase, and whether libssh2 can use the key. Formats: RFC 4253 and
 * 5656 for public keys, OpenSSH's PROTOCOL.key for private ones. libssh2 does the signing. */
#include "base/libssh2.h"
#include "transport/ssh/ssh_key.h"
#include "transport/ssh/testing.h"

#include <stdio.h>
#include <stdlib.h>

#define MOST_KEY_BYTES 65536
#define OPENSSH_MAGIC "openssh-key-v1" /* and its zero byte */

/* ------------------------------------------------------------------------------------- base64 */

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void ssh_base64_encode(struct buf *out, struct str bytes, bool padded) {
    for (size_t i = 0; i < bytes.len; i += 3) {
        size_t n = MIN_OF(bytes.len - i, (size_t)3);
        uint32_t group = 0;
        for (size_t k = 0; k < 3; k++)
            group = group << 8 | (k < n ? (unsigned char)bytes.at[i + k] : 0u);
        for (size_t k = 0; k < 4; k++)
            if (k <= n)
                buf_putc(out, digits[group >> (18 - 6 * k) & 63]);
            else if (padded)
                buf_putc(out, '=');
    }
}

static int digit_of(char c) {
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

bool ssh_base64_decode(struct buf *out, struct str text) {
    uint32_t group = 0;
    int have = 0;
    bool padded = false;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.at[i];
        if (strchr(" \t\r\n", c) && c)
            continue;
        padded |= c == '=';
        if (c == '=')
            continue;
        int digit = digit_of(c);
        if (digit < 0 || padded)
            return false;
        group = (group << 6 | (uint32_t)digit) & 0xffffff;
        if (++have >= 2) {
            buf_putc(out, (char)(group >> (have == 2 ? 4 : have == 3 ? 2 : 0)));
            have = have == 4 ? 0 : have;
        }
    }
    return have != 1;
}

/* ---------------------------------------------------------------------------------- key types */

struct key_type {
    const char *name, *title, *obstacle;
};
#if LIBSSH2_VERSION_NUM < 0x010b00
#define RSA_OBSTACLE "it is an RSA key, which libssh2 " LIBSSH2_VERSION " can only use with SHA-1"
#else
#define RSA_OBSTACLE NULL
#endif
#define TOUCH_OBSTACLE "it is a hardware security key"
static const struct key_type key_types[] = {
    {"ssh-ed25519", "ED25519", NULL},
    {"ecdsa-sha2-nistp256", "ECDSA", NULL},
    {"ecdsa-sha2-nistp384", "ECDSA", NULL},
    {"ecdsa-sha2-nistp521", "ECDSA", NULL},
    {"ssh-rsa", "RSA", RSA_OBSTACLE},
    {"ssh-dss", "DSA", "it is a DSA key"},
    {"sk-ssh-ed25519@openssh.com", "ED25519-SK", TOUCH_OBSTACLE},
    {"sk-ecdsa-sha2-nistp256@openssh.com", "ECDSA-SK", TOUCH_OBSTACLE},
};

static const struct key_type *find_type(struct str name) {
    for (size_t i = 0; i < COUNT_OF(key_types); i++)
        if (str_is(name, key_types[i].name))
            return &key_types[i];
    return NULL;
}

const char *ssh_key_obstacle(struct str type) {
    const struct key_type *known = find_type(type);
    if (known)
        return known->obstacle;
    return memmem(type.at, type.len, "-cert-", 6) ? "it is a certificate"
                                                  : "libssh2 does not know its type";
}

const char *ssh_key_title(struct str type) {
    const struct key_type *known = find_type(type);
    return known ? known->title : "unknown";
}

static bool take_string(struct str *rest, struct str *text) {
    if (rest->len < 4)
        return false;
    const unsigned char *at = (const unsigned char *)rest->at;
    size_t size = (size_t)at[0] << 24 | (size_t)at[1] << 16 | (size_t)at[2] << 8 | at[3];
    if (size > rest->len - 4)
        return false;
    *text = (struct str){rest->at + 4, size};
    rest->at += 4 + size;
    rest->len -= 4 + size;
    return true;
}

struct str ssh_key_type(struct str blob) {
    struct str type;
    return take_string(&blob, &type) ? type : STR("");
}

/* ----------------------------------------------------------------------------------- key files */

static void set_blob(struct ssh_key *key, struct str blob) {
    struct str type = ssh_key_type(blob);
    if (!type.len || type.len >= sizeof key->type || key->blob)
        return;
    memcpy(key->type, type.at, type.len);
    key->blob = mem_dup(blob.at, blob.len);
    key->blob_len = blob.len;
}

/* "ssh-ed25519 AAAA... comment" */
static void parse_public(struct ssh_key *key, struct str text) {
    struct str line, type, code;
    struct buf blob = {0};
    if (str_next(&text, '\n', &line) && (line = str_trim(line), str_next(&line, ' ', &type)) &&
        str_next(&line, ' ', &code) && ssh_base64_decode(&blob, code) &&
        str_equal(ssh_key_type(buf_str(&blob)), type))
        set_blob(key, buf_str(&blob));
    buf_free(&blob);
}

/* What stands between "-----BEGIN <label>-----" and its END. */
static bool armoured(struct str text, struct str *label, struct str *body) {
    static const char begin[] = "-----BEGIN ", end[] = "-----END ";
    const char *at = memmem(text.at, text.len, begin, sizeof begin - 1);
    if (!at)
        return false;
    struct str rest = {at + sizeof begin - 1,
                       text.len - (size_t)(at - text.at) - (sizeof begin - 1)};
    const char *dashes = memmem(rest.at, rest.len, "-----", 5);
    if (!dashes)
        return false;
    *label = (struct str){rest.at, (size_t)(dashes - rest.at)};
    const char *from = dashes + 5;
    rest = (struct str){from, rest.len - (size_t)(from - rest.at)};
    const char *stop = memmem(rest.at, rest.len, end, sizeof end - 1);
    *body = (struct str){rest.at, stop ? (size_t)(stop - rest.at) : 0};
    return stop != NULL;
}

/* OpenSSH's own format has the public part in clear, even when the rest is locked. */
static bool parse_openssh(struct ssh_key *key, struct str body) {
    struct buf bytes = {0};
    struct str cipher, kdf, options, public;
    bool good = ssh_base64_decode(&bytes, body) && bytes.len > sizeof OPENSSH_MAGIC + 4 &&
                memcmp(bytes.at, OPENSSH_MAGIC, sizeof OPENSSH_MAGIC) == 0;
    if (good) {
        struct str rest = {bytes.at + sizeof OPENSSH_MAGIC, bytes.len - sizeof OPENSSH_MAGIC};
        good = take_string(&rest, &cipher) && take_string(&rest, &kdf) &&
               take_string(&rest, &options) && rest.len > 4;
        rest.at += good ? 4 : 0; /* how many keys: always one */
        rest.len -= good ? 4 : 0;
        good = good && take_string(&rest, &public) && ssh_key_type(public).len;
        if (good) {
            key->locked = !str_is(cipher, "none");
            free(key->blob); /* the file itself is surer than a .pub beside it */
            key->blob = NULL;
            set_blob(key, public);
        }
    }
    if (bytes.at)
        explicit_bzero(bytes.at, bytes.cap);
    buf_free(&bytes);
    return good;
}

static bool parse_private(struct ssh_key *key, struct str text) {
    struct str label, body;
    if (!armoured(text, &label, &body))
        return false;
    if (str_is(label, "OPENSSH PRIVATE KEY"))
        return parse_openssh(key, body);
    if (!str_ends(label, "PRIVATE KEY"))
        return false;
    key->locked = str_starts(label, "ENCRYPTED") || memmem(body.at, body.len, "ENCRYPTED", 9);
    if (str_starts(label, "RSA"))
        snprintf(key->type, sizeof key->type, "ssh-rsa");
    else if (str_starts(label, "DSA"))
        snprintf(key->type, sizeof key->type, "ssh-dss");
    return true;
}

void ssh_key_parse(struct ssh_key *key, struct str private, struct str public) {
    parse_public(key, public);
    key->state = SSH_KEY_UNKNOWN;
    if (!parse_private(key, private))
        return;
    key->state = SSH_KEY_USABLE;
    key->why = key->type[0] ? ssh_key_obstacle(str_of(key->type)) : NULL;
    if (key->why)
        key->state = SSH_KEY_UNSUPPORTED;
}

static char *read_beside(const char *path, const char *suffix, size_t *size) {
    struct buf name = {0};
    buf_printf(&name, "%s%s", path, suffix);
    char *text = file_read(name.at, MOST_KEY_BYTES, size, NULL);
    buf_free(&name);
    return text;
}

void ssh_key_read(struct ssh_key *key, const char *path) {
    *key = (struct ssh_key){.path = mem_strdup(path)};
    key->text = file_read(path, MOST_KEY_BYTES, &key->text_len, NULL);
    if (!key->text)
        return;
    size_t public_len = 0, certificate_len = 0;
    char *public = read_beside(path, ".pub", &public_len);
    char *certificate = read_beside(path, "-cert.pub", &certificate_len);
    ssh_key_parse(key, (struct str){key->text, key->text_len}, (struct str){public, public_len});
    if (certificate && key->state == SSH_KEY_USABLE) {
        key->state = SSH_KEY_UNSUPPORTED;
        key->why = "a certificate stands beside it";
    }
    free(public);
    free(certificate);
}

void ssh_key_free(struct ssh_key *key) {
    if (key->text)
        explicit_bzero(key->text, key->text_len);
    free(key->text);
    free(key->blob);
    free(key->path);
    *key = (struct ssh_key){0};
}
