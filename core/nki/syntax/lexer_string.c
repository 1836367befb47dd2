/* SPDX-License-Identifier: Apache-2.0 */
/* Where strings end, including f-strings with their replacement fields, and what a string token
 * consists of. A field may hold strings with the quotes of the f-string itself (Python 3.12). When
 * the text makes no sense that way, the first closing quote ends the string, as before 3.12. */
#include "nki/syntax/lexer.h"

#define MAX_NESTED_STRINGS 8
#define MAX_RETRIES 64 /* f-strings of a file that are read again by the old rule */

static bool is_newline(char c) {
    return c == '\n' || c == '\r';
}

bool lexer_is_string_prefix(struct str text) {
    static const char *const prefixes[] = {"r", "u", "b", "f", "br", "rb", "fr", "rf"};
    char lower[3] = {0};
    if (text.len == 0 || text.len > 2)
        return false;
    for (size_t i = 0; i < text.len; i++)
        lower[i] = (char)(text.at[i] | 0x20);
    for (size_t i = 0; i < COUNT_OF(prefixes); i++)
        if (strcmp(lower, prefixes[i]) == 0)
            return true;
    return false;
}

/* The present string: its quotes, and what its prefix says. */
struct quoted {
    const char *text;
    uint32_t body, end; /* after the opening quotes; end of the text */
    char quote;
    bool is_triple, is_format, is_raw;
};

static struct quoted open_string(const char *text, uint32_t at, uint32_t end) {
    struct quoted q = {.text = text, .end = end};
    for (; at < end && !lexer_is_quote(text[at]); at++) {
        q.is_format |= (text[at] | 0x20) == 'f';
        q.is_raw |= (text[at] | 0x20) == 'r';
    }
    q.quote = text[at];
    q.is_triple = end - at >= 3 && text[at + 1] == q.quote && text[at + 2] == q.quote;
    q.body = at + (q.is_triple ? 3 : 1);
    return q;
}

/* The length of the closing quotes at `at`; 0 when the string does not end there. */
static uint32_t closing(const struct quoted *q, uint32_t at) {
    if (q->text[at] != q->quote)
        return 0;
    if (!q->is_triple)
        return 1;
    return q->end - at >= 3 && q->text[at + 1] == q->quote && q->text[at + 2] == q->quote ? 3 : 0;
}

/* Skips a backslash and what it escapes. */
static uint32_t after_escape(const struct quoted *q, uint32_t at) {
    if (at + 2 < q->end && q->text[at + 1] == '\r' && q->text[at + 2] == '\n')
        return at + 3;
    return MIN_OF(at + 2, q->end);
}

/* The end of the string by its quotes alone. 0 when it is not closed; *stop is then where it
 * ends. */
static uint32_t plain_end(const struct quoted *q, uint32_t *stop) {
    uint32_t at = q->body, quotes;
    while (at < q->end) {
        if ((quotes = closing(q, at)))
            return at + quotes;
        if (is_newline(q->text[at]) && !q->is_triple)
            break;
        at = q->text[at] == '\\' ? after_escape(q, at) : at + 1;
    }
    *stop = at;
    return 0;
}

static uint32_t format_end(const struct quoted *q, int nesting);

/* Skips a string inside a replacement field; `at` is its first quote. 0: not closed. */
static uint32_t after_inner_string(const struct quoted *q, uint32_t at, int nesting) {
    uint32_t start = at, stop;
    while (start > q->body && at - start < 2 &&
           lexer_is_string_prefix((struct str){q->text + start - 1, at - start + 1}))
        start--;
    struct quoted inner = open_string(q->text, start, q->end);
    if (!inner.is_format)
        return plain_end(&inner, &stop);
    return nesting < MAX_NESTED_STRINGS ? format_end(&inner, nesting + 1) : 0;
}

/* Skips the format spec of a field up to its "}", with the fields inside it. */
static uint32_t spec_end(const struct quoted *q, uint32_t at) {
    int depth = 0;
    for (; at < q->end; at++) {
        char c = q->text[at];
        if (c == '}' && depth-- == 0)
            return at;
        if (c == '{')
            depth++;
        if (closing(q, at) || (is_newline(c) && !q->is_triple))
            return 0;
    }
    return 0;
}

/* From after a "{" to its "}". 0 when the field is not closed inside the string. */
static uint32_t field_close(const struct quoted *q, uint32_t at, int nesting) {
    int depth = 0;
    while (at < q->end) {
        char c = q->text[at];
        if (lexer_is_quote(c)) {
            at = after_inner_string(q, at, nesting);
            if (!at)
                return 0;
            continue;
        }
        if (is_newline(c) && !q->is_triple)
            return 0;
        if (c == '}' && depth == 0)
            return at;
        if (c == ':' && depth == 0)
            return spec_end(q, at + 1);
        depth += strchr("([{", c) && c ? 1 : strchr(")]}", c) && c ? -1 : 0;
        if (depth < 0)
            return 0;
        at++;
    }
    return 0;
}

/* Skips an escape in an f-string. A "{" after a backslash still opens a field. */
static uint32_t after_format_escape(const struct quoted *q, uint32_t at) {
    char next = at + 1 < q->end ? q->text[at + 1] : '\0';
    if (next == '{' || next == '}')
        return at + 1;
    if (next == 'N' && !q->is_raw && at + 2 < q->end && q->text[at + 2] == '{') {
        const char *brace = memchr(q->text + at, '}', q->end - at);
        if (brace)
            return (uint32_t)(brace - q->text) + 1;
    }
    return after_escape(q, at);
}

static uint32_t format_end(const struct quoted *q, int nesting) {
    uint32_t at = q->body, quotes;
    while (at < q->end) {
        char c = q->text[at];
        if ((quotes = closing(q, at)))
            return at + quotes;
        if (is_newline(c) && !q->is_triple)
            return 0;
        if (c == '\\') {
            at = after_format_escape(q, at);
        } else if (c == '{' && at + 1 < q->end && q->text[at + 1] == '{') {
            at += 2;
        } else if (c == '{') {
            uint32_t close = field_close(q, at + 1, nesting);
            if (!close)
                return 0;
            at = close + 1;
        } else {
            at++;
        }
    }
    return 0;
}

bool lexer_find_string_end(const char *text, struct nki_span *span, int *retries) {
    struct quoted q = open_string(text, span->start, span->end);
    uint32_t end = 0, stop = q.end;
    if (q.is_format && *retries < MAX_RETRIES) {
        end = format_end(&q, 0);
        *retries += end == 0;
    }
    if (!end)
        end = plain_end(&q, &stop);
    span->end = end ? end : stop;
    return end != 0;
}

struct nki_string_parts nki_split_string(struct str source, struct nki_span token) {
    struct quoted q = open_string(source.at, token.start, token.end);
    struct nki_string_parts parts = {.is_raw = q.is_raw, .is_format = q.is_format};
    for (uint32_t i = token.start; i < q.body && !lexer_is_quote(source.at[i]); i++)
        parts.is_bytes |= (source.at[i] | 0x20) == 'b';
    parts.body = (struct nki_span){q.body, token.end - (q.is_triple ? 3 : 1)};
    return parts;
}

/* Whether the "=" at `at` ends a self-documenting field's expression, as in f"{x = !r}". */
static bool is_debug_equals(const char *text, uint32_t start, uint32_t at, uint32_t end) {
    if (at > start && strchr("=!<>", text[at - 1]))
        return false;
    for (at++; at < end && (text[at] == ' ' || text[at] == '\t'); at++)
        continue;
    return at < end && (text[at] == '}' || text[at] == '!' || text[at] == ':') &&
           !(text[at] == '!' && at + 1 < end && text[at + 1] == '=');
}

uint32_t nki_field_end(struct str source, uint32_t at, uint32_t end) {
    struct quoted q = {.text = source.at, .body = at, .end = end};
    uint32_t start = at;
    int depth = 0;
    while (at < end) {
        char c = source.at[at];
        if (lexer_is_quote(c)) {
            uint32_t after = after_inner_string(&q, at, 0);
            if (!after)
                return end;
            at = after;
            continue;
        }
        if (depth == 0 && (c == '}' || c == ':'))
            return at;
        if (depth == 0 && c == '!' && !(at + 1 < end && source.at[at + 1] == '='))
            return at;
        if (depth == 0 && c == '=' && is_debug_equals(source.at, start, at, end))
            return at;
        depth += strchr("([{", c) && c ? 1 : strchr(")]}", c) && c && depth ? -1 : 0;
        at++;
    }
    return end;
}
