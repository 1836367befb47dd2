/* SPDX-License-Identifier: Apache-2.0 */
#include "base/base.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

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
