/* SPDX-License-Identifier: Apache-2.0 */
/* The lexer's characters: UTF-8, line starts, names and numbers. Identifiers outside ASCII are
 * accepted by ranges of code points, not by Unicode's full tables. Letters of any script pass.
 * Punctuation, symbols, and blanks that look like ASCII do not. */
#include "nki/syntax/lexer.h"

uint32_t lexer_utf8(const char *text, uint32_t len, uint32_t *code) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char first = (unsigned char)text[0];
    if (first < 0x80) {
        *code = first;
        return 1;
    }
    uint32_t n = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || n > len)
        return 0;
    uint32_t value = first & (0xffu >> (n + 1));
    for (uint32_t i = 1; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        if ((c & 0xc0) != 0x80)
            return 0;
        value = value << 6 | (c & 0x3f);
    }
    if (value < least[n] || value > 0x10ffff || (value >= 0xd800 && value < 0xe000))
        return 0;
    *code = value;
    return n;
}

/* Reports the first byte that is NUL or not UTF-8. */
static void check_bytes(struct str source, struct nki_faults *faults) {
    for (uint32_t i = 0, length; i < source.len; i += length) {
        uint32_t code = 1;
        length = 1;
        if ((unsigned char)source.at[i] - 1u < 0x7f)
            continue;
        length = lexer_utf8(source.at + i, (uint32_t)source.len - i, &code);
        if (length && code)
            continue;
        struct nki_span span = {i, i + 1};
        if (length)
            nki_fault(faults, span, "found a NUL byte; a kernel is text without NUL bytes");
        else
            nki_fault(faults, span,
                      "found the byte 0x%02x, which is no UTF-8; save the file as "
                      "UTF-8",
                      (unsigned char)source.at[i]);
        return;
    }
}

void lexer_scan_lines(struct nki_tree *tree, struct nki_faults *faults) {
    VEC(uint32_t) lines = {0};
    struct str source = tree->source;
    *vec_push(&lines) = 0;
    for (uint32_t i = 0; i < source.len; i++)
        if (source.at[i] == '\n' || (source.at[i] == '\r' && source.at[i + 1] != '\n'))
            *vec_push(&lines) = i + 1;
    tree->lines = arena_dup(tree->arena, lines.at, lines.len * sizeof *lines.at);
    tree->n_lines = (uint32_t)lines.len;
    vec_free(&lines);
    check_bytes(source, faults);
}

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* Code points outside ASCII that are not part of a name. */
static bool is_symbol(uint32_t code) {
    static const struct {
        uint32_t first, last;
    } ranges[] = {
        {0x80, 0xa9},       {0xab, 0xb4},     {0xb6, 0xb6},     {0xb8, 0xb9},     {0xbb, 0xbf},
        {0xd7, 0xd7},       {0xf7, 0xf7},     {0x2000, 0x203e}, {0x2041, 0x2053}, {0x2055, 0x2070},
        {0x2190, 0x2bff},   {0x2e00, 0x2fff}, {0x3000, 0x3004}, {0x3008, 0x3020}, {0xe000, 0xf8ff},
        {0xfe10, 0xfe1f},   {0xfe30, 0xfe32}, {0xfeff, 0xff0f}, {0xff1a, 0xff20}, {0xffe0, 0xffff},
        {0x1f000, 0x1faff},
    };
    for (size_t i = 0; i < COUNT_OF(ranges); i++)
        if (code >= ranges[i].first && code <= ranges[i].last)
            return true;
    return false;
}

uint32_t lexer_name_end(const char *text, uint32_t at, uint32_t end) {
    uint32_t i = at;
    while (i < end) {
        uint32_t code, length;
        if (is_letter(text[i]) || (is_digit(text[i]) && i > at)) {
            i++;
            continue;
        }
        if ((unsigned char)text[i] < 0x80)
            break;
        length = lexer_utf8(text + i, end - i, &code);
        if (!length || is_symbol(code))
            break;
        i += length;
    }
    return i;
}

static bool is_digit_of(char c, int base) {
    if (base == 16)
        return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    return c >= '0' && c < '0' + base;
}

/* Digits with single underscores between them. Sets *problem when an underscore stands
 * elsewhere. */
static uint32_t digits_end(const char *text, uint32_t at, uint32_t end, int base) {
    while (at < end) {
        if (text[at] == '_' && at + 1 < end && is_digit_of(text[at + 1], base))
            at += 2;
        else if (is_digit_of(text[at], base))
            at++;
        else
            break;
    }
    return at;
}

static uint32_t prefixed_end(const char *text, uint32_t at, uint32_t end, const char **problem) {
    int base = (text[at + 1] | 0x20) == 'x' ? 16 : (text[at + 1] | 0x20) == 'o' ? 8 : 2;
    uint32_t stop = digits_end(text, at + 2, end, base);
    if (stop == at + 2)
        *problem = "digits are missing after the base prefix";
    return stop;
}

static uint32_t decimal_end(const char *text, uint32_t at, uint32_t end, const char **problem) {
    uint32_t start = at;
    bool is_whole = true;
    at = digits_end(text, at, end, 10);
    if (at < end && text[at] == '.') {
        is_whole = false;
        at++;
        if (at < end && is_digit(text[at]))
            at = digits_end(text, at, end, 10);
    }
    if (at < end && (text[at] | 0x20) == 'e') {
        uint32_t sign = at + 1 < end && (text[at + 1] == '+' || text[at + 1] == '-');
        if (at + 1 + sign < end && is_digit(text[at + 1 + sign])) {
            is_whole = false;
            at = digits_end(text, at + 1 + sign, end, 10);
        }
    }
    if (at < end && (text[at] | 0x20) == 'j')
        return at + 1;
    if (is_whole && text[start] == '0')
        for (uint32_t i = start; i < at; i++)
            if (text[i] != '0' && text[i] != '_')
                *problem = "a decimal number does not start with 0; octal is written 0o17";
    return at;
}

/* A keyword may follow a number without a blank, as in `1if x else 2`. */
static bool is_keyword_after_number(struct str word) {
    static const char *const words[] = {"and", "else", "for", "if", "in", "is", "not", "or"};
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (str_is(word, words[i]))
            return true;
    return false;
}

uint32_t lexer_number_end(const char *text, uint32_t at, uint32_t end, const char **problem) {
    uint32_t stop;
    if (text[at] == '0' && at + 1 < end && strchr("xXoObB", text[at + 1]) && text[at + 1])
        stop = prefixed_end(text, at, end, problem);
    else
        stop = decimal_end(text, at, end, problem);
    uint32_t rest = stop;
    while (rest < end && (is_letter(text[rest]) || is_digit(text[rest])))
        rest++;
    if (rest == stop || is_keyword_after_number((struct str){text + stop, rest - stop}))
        return stop;
    if (!*problem)
        *problem = "letters, digits or underscores follow it that do not belong there";
    return rest;
}
