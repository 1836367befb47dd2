/* SPDX-License-Identifier: Apache-2.0 */
#include "base/kit/kit.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

bool str_equal(struct str a, struct str b) {
    return a.len == b.len && (a.len == 0 || memcmp(a.at, b.at, a.len) == 0);
}

bool str_is(struct str a, const char *b) {
    return str_equal(a, str_of(b));
}

bool str_starts(struct str text, const char *prefix) {
    size_t len = strlen(prefix);
    return text.len >= len && memcmp(text.at, prefix, len) == 0;
}

bool str_ends(struct str text, const char *suffix) {
    size_t len = strlen(suffix);
    return text.len >= len && memcmp(text.at + text.len - len, suffix, len) == 0;
}

struct str str_trim(struct str text) {
    while (text.len && isspace((unsigned char)text.at[0])) {
        text.at++;
        text.len--;
    }
    while (text.len && isspace((unsigned char)text.at[text.len - 1]))
        text.len--;
    return text;
}

enum str_reply str_reply(struct str text) {
    static const struct {
        const char *word;
        enum str_reply reply;
    } words[] = {{"yes", STR_YES}, {"y", STR_YES}, {"no", STR_NO}, {"n", STR_NO}};
    text = str_trim(text);
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (strlen(words[i].word) == text.len && strncasecmp(text.at, words[i].word, text.len) == 0)
            return words[i].reply;
    return STR_UNCLEAR;
}

bool str_next(struct str *rest, char separator, struct str *part) {
    if (!rest->at)
        return false;
    const char *end = rest->len ? memchr(rest->at, separator, rest->len) : NULL;
    if (!end) {
        *part = *rest;
        *rest = (struct str){NULL, 0};
        return true;
    }
    *part = (struct str){rest->at, (size_t)(end - rest->at)};
    *rest = (struct str){end + 1, rest->len - part->len - 1};
    return true;
}

bool str_to_int(struct str text, long long *value) {
    char copy[32];
    if (text.len == 0 || text.len >= sizeof copy || isspace((unsigned char)text.at[0]))
        return false;
    memcpy(copy, text.at, text.len);
    copy[text.len] = 0;
    char *end;
    errno = 0;
    long long parsed = strtoll(copy, &end, 10);
    if (errno || *end)
        return false;
    *value = parsed;
    return true;
}

bool str_to_double(struct str text, double *value) {
    char copy[64];
    if (text.len == 0 || text.len >= sizeof copy || isspace((unsigned char)text.at[0]))
        return false;
    memcpy(copy, text.at, text.len);
    copy[text.len] = 0;
    char *end;
    double parsed = strtod(copy, &end);
    if (*end)
        return false;
    *value = parsed;
    return true;
}

#define MAX_NAME 40

/* Levenshtein distance with swaps of neighbours (optimal string alignment), for two short texts. */
static size_t distance(const char *a, const char *b) {
    size_t rows[3][MAX_NAME + 1];
    size_t n = strlen(a), m = strlen(b);
    if (n > MAX_NAME || m > MAX_NAME)
        return MAX_NAME;
    for (size_t j = 0; j <= m; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t *now = rows[i % 3], *before = rows[(i + 2) % 3], *earlier = rows[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t best = before[j - 1] + (a[i - 1] != b[j - 1]);
            best = MIN_OF(best, MIN_OF(before[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                best = MIN_OF(best, earlier[j - 2] + 1);
            now[j] = best;
        }
    }
    return rows[n % 3][m];
}

const char *str_nearest(const char *text, const char *const *names) {
    const char *nearest = NULL;
    size_t least = MAX_OF((size_t)1, strlen(text) / 3) + 1;
    for (; *names; names++) {
        size_t off = distance(text, *names);
        bool begins = strlen(text) >= 2 && strncmp(text, *names, strlen(text)) == 0;
        if (begins)
            off = 1;
        if (off < least) {
            least = off;
            nearest = *names;
        }
    }
    return nearest;
}

static void buf_reserve(struct buf *buf, size_t more) {
    size_t need = buf->len + more + 1;
    if (need <= buf->cap)
        return;
    buf->cap = MAX_OF(need, buf->cap + buf->cap / 2 + 64);
    buf->at = mem_resize(buf->at, buf->cap, 1);
}

void buf_free(struct buf *buf) {
    free(buf->at);
    *buf = (struct buf){0};
}

void buf_clear(struct buf *buf) {
    buf->len = 0;
    if (buf->at)
        buf->at[0] = 0;
}

void buf_add(struct buf *buf, const char *text, size_t len) {
    buf_reserve(buf, len);
    if (len)
        memcpy(buf->at + buf->len, text, len);
    buf->len += len;
    buf->at[buf->len] = 0;
}

void buf_puts(struct buf *buf, const char *text) {
    buf_add(buf, text, strlen(text));
}

void buf_putc(struct buf *buf, char c) {
    buf_add(buf, &c, 1);
}

void buf_vprintf(struct buf *buf, const char *format, va_list args) {
    va_list again;
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, format, args);
    if (len > 0) {
        buf_reserve(buf, (size_t)len);
        vsnprintf(buf->at + buf->len, (size_t)len + 1, format, again);
        buf->len += (size_t)len;
    }
    va_end(again);
}

void buf_printf(struct buf *buf, const char *format, ...) {
    va_list args;
    va_start(args, format);
    buf_vprintf(buf, format, args);
    va_end(args);
}

char *buf_take(struct buf *buf) {
    buf_reserve(buf, 0);
    buf->at[buf->len] = 0;
    char *text = buf->at;
    *buf = (struct buf){0};
    return text;
}

struct str buf_str(const struct buf *buf) {
    return (struct str){buf->at ? buf->at : "", buf->len};
}
