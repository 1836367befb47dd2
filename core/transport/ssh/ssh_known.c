/* SPDX-License-Identifier: Apache-2.0 */
/* known_hosts: which lines are about a host, what they say about a key, and adding a line.
 * Patterns, markers and line numbers are read here, because libssh2's collection supports none of
 * the three. Of libssh2 only the HMAC is used, for hashed names. ssh_verify.c asks the user. */
#include "base/libssh2.h"
#include "transport/ssh/ssh_known.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "transport/ssh/ssh_key.h"
#include "transport/ssh/testing.h"

#define MOST_BYTES ((size_t)16 << 20)
#define MOST_MATCHES 256
#define DEFAULT_PORT 22
#define SHA1_BYTES 20

static const char *const usual_order[] = {
    "ssh-ed25519",  "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521",
#if LIBSSH2_VERSION_NUM >= 0x010b00
    "rsa-sha2-512", "rsa-sha2-256",
#endif
};

void ssh_known_name(struct buf *out, const char *host, int port) {
    struct buf name = {0};
    buf_printf(&name, port == DEFAULT_PORT ? "%s" : "[%s]:%d", host, port);
    for (size_t i = 0; i < name.len; i++)
        buf_putc(out, (char)tolower((unsigned char)name.at[i]));
    buf_free(&name);
}

/* ------------------------------------------------------------------------------------ matching */

/* '*' and '?' as in a shell. The time grows at most with the product of the lengths. */
static bool matches_pattern(struct str name, struct str pattern) {
    size_t n = 0, p = 0, star = (size_t)-1, again = 0;
    while (n < name.len) {
        bool one = p < pattern.len && pattern.at[p] != '*' &&
                   (pattern.at[p] == '?' ||
                    tolower((unsigned char)pattern.at[p]) == (unsigned char)name.at[n]);
        if (one) {
            n++, p++;
        } else if (p < pattern.len && pattern.at[p] == '*') {
            star = p++;
            again = n;
        } else if (star != (size_t)-1) {
            p = star + 1;
            n = ++again;
        } else {
            return false;
        }
    }
    while (p < pattern.len && pattern.at[p] == '*')
        p++;
    return p == pattern.len;
}

/* Whether a list has a pattern that matches, and none with '!' that matches. */
static bool matches_list(struct str name, struct str list) {
    struct str pattern;
    bool found = false;
    while (str_next(&list, ',', &pattern)) {
        bool not = pattern.len && pattern.at[0] == '!';
        if (not )
            pattern = (struct str){pattern.at + 1, pattern.len - 1};
        bool hit = pattern.len && matches_pattern(name, pattern);
        if (hit && not )
            return false;
        found |= hit;
    }
    return found;
}

static bool is_sha1(struct str code) {
    struct buf bytes = {0};
    bool good = ssh_base64_decode(&bytes, code) && bytes.len == SHA1_BYTES;
    buf_free(&bytes);
    return good;
}

/* "|1|salt|hash" with hash = HMAC-SHA1(salt, name). libssh2 computes it for any key. With a hash of
 * another length libssh2 1.10 would lose memory. */
static bool matches_hash(LIBSSH2_SESSION *session, const char *name, struct str hashed) {
    struct str version, salt, hash;
    hashed = (struct str){hashed.at + 1, hashed.len - 1};
    if (!str_next(&hashed, '|', &version) || !str_is(version, "1") ||
        !str_next(&hashed, '|', &salt) || !str_next(&hashed, '|', &hash) || !is_sha1(hash))
        return false;
    struct buf salt_text = {0}, hash_text = {0};
    buf_add(&salt_text, salt.at, salt.len);
    buf_add(&hash_text, hash.at, hash.len);
    LIBSSH2_KNOWNHOSTS *one = libssh2_knownhost_init(session);
    static const char key[] = "AAAA";
    int kind = LIBSSH2_KNOWNHOST_KEYENC_BASE64 | LIBSSH2_KNOWNHOST_KEY_SSHRSA;
    bool found = false;
    if (one && salt_text.len && hash_text.len &&
        libssh2_knownhost_addc(one, hash_text.at, salt_text.at, key, sizeof key - 1, NULL, 0,
                               LIBSSH2_KNOWNHOST_TYPE_SHA1 | kind, NULL) == 0)
        found = libssh2_knownhost_check(one, name, key, sizeof key - 1,
                                        LIBSSH2_KNOWNHOST_TYPE_PLAIN | kind,
                                        NULL) != LIBSSH2_KNOWNHOST_CHECK_NOTFOUND;
    if (one)
        libssh2_knownhost_free(one);
    buf_free(&salt_text);
    buf_free(&hash_text);
    return found;
}

/* ------------------------------------------------------------------------------------- reading */

struct wanted {
    LIBSSH2_SESSION *session;
    struct buf name, portless; /* "[host]:port" and "host", which is empty for port 22 */
};

static struct str next_word(struct str *rest) {
    size_t n = 0;
    while (rest->len && strchr(" \t", rest->at[0]) && rest->at[0])
        rest->at++, rest->len--;
    while (n < rest->len && rest->at[n] != ' ' && rest->at[n] != '\t')
        n++;
    struct str word = {rest->at, n};
    rest->at += n;
    rest->len -= n;
    return word;
}

static bool matches(const struct wanted *wanted, const struct buf *name, struct str hosts) {
    if (!name->len)
        return false;
    if (hosts.at[0] == '|')
        return matches_hash(wanted->session, name->at, hosts);
    return matches_list(buf_str(name), hosts);
}

static char *copy_str(struct str text) {
    char *copy = mem_alloc(1, text.len + 1);
    memcpy(copy, text.at, text.len);
    return copy;
}

static void read_line(struct ssh_known *known, const struct wanted *wanted, struct str line,
                      struct ssh_known_line like) {
    struct str word = next_word(&line);
    if (!word.len || word.at[0] == '#')
        return;
    if (word.at[0] == '@') {
        if (!str_is(word, "@cert-authority") && !str_is(word, "@revoked"))
            return;
        like.marker = str_is(word, "@revoked") ? SSH_KNOWN_REVOKED : SSH_KNOWN_AUTHORITY;
        word = next_word(&line);
    }
    struct str type = next_word(&line), key = next_word(&line);
    if (!word.len || !type.len || !key.len || memchr(line.at, 0, line.len))
        return;
    like.portless = false;
    if (!matches(wanted, &wanted->name, word)) {
        like.portless = true;
        if (!matches(wanted, &wanted->portless, word))
            return;
    }
    if (known->lines.len >= MOST_MATCHES)
        return;
    like.type = copy_str(type);
    like.key = copy_str(key);
    *vec_push(&known->lines) = like;
}

void ssh_known_parse(struct ssh_known *known, const char *file, struct str text, const char *host,
                     int port) {
    struct wanted wanted = {.session = libssh2_session_init()};
    if (!wanted.session)
        return;
    ssh_known_name(&wanted.name, host, port);
    if (port != DEFAULT_PORT)
        ssh_known_name(&wanted.portless, host, DEFAULT_PORT);
    struct str line;
    for (int number = 1; str_next(&text, '\n', &line); number++)
        read_line(known, &wanted, str_trim(line),
                  (struct ssh_known_line){.file = file, .line = number});
    buf_free(&wanted.name);
    buf_free(&wanted.portless);
    libssh2_session_free(wanted.session);
}

void ssh_known_read(struct ssh_known *known, const char *file, const char *host, int port) {
    size_t size;
    char *text = file_read(file, MOST_BYTES, &size, NULL);
    if (text)
        ssh_known_parse(known, file, (struct str){text, size}, host, port);
    free(text);
}

void ssh_known_free(struct ssh_known *known) {
    for (size_t i = 0; i < known->lines.len; i++) {
        free(known->lines.at[i].type);
        free(known->lines.at[i].key);
    }
    vec_free(&known->lines);
}

/* ------------------------------------------------------------------------------------ judging */

/* The first line with that marker whose type and key are as given; NULL: any. */
static const struct ssh_known_line *find(const struct ssh_known *known,
                                         enum ssh_known_marker marker, const char *type,
                                         const char *key) {
    for (size_t i = 0; i < known->lines.len; i++) {
        const struct ssh_known_line *line = &known->lines.at[i];
        if (line->marker != marker || (line->portless && marker == SSH_KNOWN_KEY && !key))
            continue; /* without its port it may vouch for a key, not accuse one */
        if ((!type || strcmp(line->type, type) == 0) && (!key || strcmp(line->key, key) == 0))
            return line;
    }
    return NULL;
}

enum ssh_known_answer ssh_known_check(const struct ssh_known *known, const char *type,
                                      const char *key, const struct ssh_known_line **where) {
    if ((*where = find(known, SSH_KNOWN_REVOKED, type, key)))
        return SSH_KNOWN_IS_REVOKED;
    if ((*where = find(known, SSH_KNOWN_KEY, type, key)))
        return SSH_KNOWN_SAME;
    if ((*where = find(known, SSH_KNOWN_KEY, type, NULL)))
        return SSH_KNOWN_CHANGED;
    if ((*where = find(known, SSH_KNOWN_AUTHORITY, NULL, NULL)))
        return SSH_KNOWN_CERTIFIED;
    if ((*where = find(known, SSH_KNOWN_KEY, NULL, NULL)))
        return SSH_KNOWN_OTHER_KIND;
    return SSH_KNOWN_NEW;
}

/* A key of type "ssh-rsa" signs with SHA-2 under other names. */
static bool serves(const char *algorithm, const char *type) {
    return strcmp(algorithm, type) == 0 ||
           (strncmp(algorithm, "rsa-sha2-", 9) == 0 && strcmp(type, "ssh-rsa") == 0);
}

void ssh_known_order(const struct ssh_known *known, struct buf *out) {
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < COUNT_OF(usual_order); i++) {
            bool is_known = false;
            for (size_t k = 0; k < known->lines.len; k++)
                is_known |= known->lines.at[k].marker == SSH_KNOWN_KEY &&
                            serves(usual_order[i], known->lines.at[k].type);
            if (is_known == (pass == 0))
                buf_printf(out, "%s%s", out->len ? "," : "", usual_order[i]);
        }
}

/* ------------------------------------------------------------------------------------- adding */

static bool ends_with_line(const char *file) {
    size_t size;
    char *text = file_read(file, MOST_BYTES, &size, NULL);
    bool good = !text || !size || text[size - 1] == '\n';
    free(text);
    return good;
}

bool ssh_known_add(const char *file, const char *name, const char *type, const char *key,
                   struct err *err) {
    char *folder = path_folder(file);
    bool good = file_is_dir(folder) || file_make_dirs(folder, err);
    if (good && !file_exists(file)) {
        chmod(folder, 0700);
        int fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        if (fd >= 0)
            close(fd);
    }
    free(folder);
    if (!good)
        return false;
    struct buf line = {0};
    buf_printf(&line, "%s%s %s %s\n", ends_with_line(file) ? "" : "\n", name, type, key);
    good = file_append(file, line.at, line.len, err);
    buf_free(&line);
    return good;
}
