/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes UTF-8, and gives a visible form to every code point that could deceive people or damage a
 * terminal. It decides what is shown, not where: columns, clipping and colours are the canvas's. */
#include "base/kit/kit.h"

#include <stdio.h>
#include <wchar.h>

/* Ranges that are shown as <U+...>: they are invisible, reorder text, or mean nothing. */
static const struct {
    uint32_t first, last;
} unsafe_ranges[] = {
    {0x00, 0x1f},       {0x7f, 0x9f},       {0xad, 0xad},        {0x34f, 0x34f},   {0x61c, 0x61c},
    {0x115f, 0x1160},   {0x17b4, 0x17b5},   {0x180b, 0x180f},    {0x200b, 0x200f}, {0x2028, 0x202e},
    {0x2060, 0x206f},   {0x3164, 0x3164},   {0xd800, 0xdfff},    {0xe000, 0xf8ff}, {0xfdd0, 0xfdef},
    {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},   {0xffa0, 0xffa0},    {0xfff0, 0xfffb}, {0xfffe, 0xffff},
    {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff}, {0xf0000, 0x10ffff},
};

static bool is_tail(unsigned char byte) {
    return (byte & 0xc0) == 0x80;
}

size_t text_decode(struct str text, uint32_t *code) {
    *code = TEXT_INVALID;
    if (text.len == 0)
        return 0;
    const unsigned char *at = (const unsigned char *)text.at;
    if (at[0] < 0x80) {
        *code = at[0];
        return 1;
    }
    size_t len = at[0] >= 0xf0 && at[0] < 0xf5   ? 4
                 : at[0] >= 0xe0 && at[0] < 0xf0 ? 3
                 : at[0] >= 0xc2 && at[0] < 0xe0 ? 2
                                                 : 0;
    if (len == 0 || len > text.len)
        return 1;
    uint32_t value = at[0] & (0xffu >> (len + 1));
    for (size_t i = 1; i < len; i++) {
        if (!is_tail(at[i]))
            return 1;
        value = value << 6 | (at[i] & 0x3fu);
    }
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (value < least[len] || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff))
        return 1;
    *code = value;
    return len;
}

size_t text_encode(uint32_t code, char out[4]) {
    static const unsigned char heads[] = {0, 0, 0xc0, 0xe0, 0xf0};
    size_t len = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = len - 1; i > 0; i--) {
        out[i] = (char)(0x80 | (code & 0x3f));
        code >>= 6;
    }
    out[0] = (char)(heads[len] | code);
    return len;
}

bool text_is_unsafe(uint32_t code) {
    if (code >= 0x20 && code < 0x7f)
        return false;
    for (size_t i = 0; i < COUNT_OF(unsafe_ranges); i++)
        if (code <= unsafe_ranges[i].last)
            return code >= unsafe_ranges[i].first;
    return true;
}

static int columns_of(uint32_t code) {
    return code < 0x7f && code >= 0x20 ? 1 : wcwidth((wchar_t)code);
}

static void show(struct text_piece *piece, uint32_t code, unsigned char byte) {
    piece->altered = true;
    int len;
    if (code == TEXT_INVALID) {
        len = snprintf(piece->at, sizeof piece->at, "\\x%02x", byte);
    } else if ((code < 0x20 || code == 0x7f) && wcwidth(0x2400) == 1) {
        uint32_t picture = code == 0x7f ? 0x2421 : 0x2400 + code;
        len = (int)text_encode(picture, piece->at);
        piece->at[len] = 0;
        piece->width = 1;
    } else if (code < 0x20 || code == 0x7f) {
        len = snprintf(piece->at, sizeof piece->at, "^%c", code ^ 0x40);
    } else {
        len = snprintf(piece->at, sizeof piece->at, "<U+%04X>", code);
    }
    piece->len = (uint8_t)len;
    if (!piece->width)
        piece->width = (uint8_t)len;
}

/* A selector after a character asks for its text or picture form. Both look like the character. */
static bool is_presentation(uint32_t code) {
    return code == 0xfe0e || code == 0xfe0f;
}

static void take_marks(struct str *rest, struct text_piece *piece) {
    for (int marks = 0; marks < TEXT_MAX_MARKS && rest->len;) {
        uint32_t code;
        size_t len = text_decode(*rest, &code);
        bool drop = is_presentation(code);
        if (!drop && (code < 0x300 || text_is_unsafe(code) || columns_of(code) != 0))
            return;
        if (!drop) {
            memcpy(piece->at + piece->len, rest->at, len);
            piece->len = (uint8_t)(piece->len + len);
        }
        marks++;
        rest->at += len;
        rest->len -= len;
    }
}

bool text_next(struct str *rest, struct text_piece *piece) {
    if (rest->len == 0)
        return false;
    *piece = (struct text_piece){0};
    uint32_t code;
    size_t len = text_decode(*rest, &code);
    unsigned char byte = (unsigned char)rest->at[0];
    int columns = code == TEXT_INVALID || text_is_unsafe(code) ? -1 : columns_of(code);
    if (columns <= 0) {
        show(piece, code, byte);
        rest->at += len;
        rest->len -= len;
        return true;
    }
    memcpy(piece->at, rest->at, len);
    piece->len = (uint8_t)len;
    piece->width = (uint8_t)columns;
    rest->at += len;
    rest->len -= len;
    if (rest->len && (unsigned char)rest->at[0] >= 0x80)
        take_marks(rest, piece);
    return true;
}

size_t text_columns(struct str text) {
    size_t columns = 0;
    struct text_piece piece;
    while (text_next(&text, &piece))
        columns += piece.width;
    return columns;
}

void text_sanitise(struct buf *out, struct str text) {
    size_t line = out->len;
    struct text_piece piece;
    while (text.len) {
        char c = text.at[0];
        if (c == '\n' || c == '\t') {
            buf_putc(out, c);
            line = c == '\n' ? out->len : line;
        } else if (c == '\r') {
            if (text.len > 1 && text.at[1] != '\n' && out->at) {
                out->len = line;
                out->at[line] = 0;
            }
        } else {
            text_next(&text, &piece);
            buf_add(out, piece.at, piece.len);
            continue;
        }
        text.at++;
        text.len--;
    }
}

const char *text_typewriter(uint32_t code, const char **name) {
    static const struct {
        uint32_t first, last;
        const char *name, *typed;
    } rows[] = {
        {0x00a0, 0x00a0, "a non-breaking space", " "},
        {0x00ab, 0x00ab, "a typographic quote", "\""},
        {0x00ad, 0x00ad, "a soft hyphen", ""},
        {0x00b4, 0x00b4, "an accent", "'"},
        {0x00bb, 0x00bb, "a typographic quote", "\""},
        {0x00d7, 0x00d7, "a multiplication sign", "*"},
        {0x00f7, 0x00f7, "a division sign", "/"},
        {0x2000, 0x200a, "a typographic space", " "},
        {0x200b, 0x200d, "an invisible character", ""},
        {0x2010, 0x2011, "a typographic hyphen", "-"},
        {0x2012, 0x2015, "a dash", "-"},
        {0x2018, 0x201b, "a curly quote", "'"},
        {0x201c, 0x201f, "a curly quote", "\""},
        {0x2026, 0x2026, "an ellipsis", "..."},
        {0x202f, 0x202f, "a non-breaking space", " "},
        {0x2032, 0x2032, "a prime", "'"},
        {0x205f, 0x205f, "a typographic space", " "},
        {0x2060, 0x2060, "an invisible character", ""},
        {0x2212, 0x2212, "a typographic minus", "-"},
        {0x2217, 0x2217, "a typographic asterisk", "*"},
        {0x2260, 0x2260, "a sign for unequal", "!="},
        {0x2264, 0x2264, "a sign for at most", "<="},
        {0x2265, 0x2265, "a sign for at least", ">="},
        {0x3000, 0x3000, "a wide space", " "},
        {0xfeff, 0xfeff, "an invisible character", ""},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (code < rows[i].first || code > rows[i].last)
            continue;
        if (name)
            *name = rows[i].name;
        return rows[i].typed;
    }
    return NULL;
}

void text_json(struct buf *out, struct str json) {
    uint32_t code;
    for (size_t len; (len = text_decode(json, &code)); json.at += len, json.len -= len)
        if (code == TEXT_INVALID)
            buf_puts(out, "\xef\xbf\xbd");
        else if (code >= 0x10000 && text_is_unsafe(code))
            buf_printf(out, "\\u%04x\\u%04x", 0xd800 + ((code - 0x10000) >> 10),
                       0xdc00 + (code & 0x3ff));
        else if (code >= 0x7f && text_is_unsafe(code))
            buf_printf(out, "\\u%04x", code);
        else
            buf_add(out, json.at, len);
}
