/* SPDX-License-Identifier: Apache-2.0 */
/* The values of number and string tokens, and joining strings that are written one after
 * another. */
#include "nki/syntax/lexer.h"

#include <math.h>

/* ---- numbers ------------------------------------------------------------------------------- */

static int digit_value(char c) {
    return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
}

/* Whole numbers are exact up to int64. Beyond, they are saturated and have is_big. */
static void set_integer(struct nki_node *node, struct str digits, int base) {
    int64_t value = 0;
    double number = 0;
    for (size_t i = 0; i < digits.len; i++) {
        int digit = digit_value(digits.at[i]);
        number = number * base + digit;
        if (node->constant.is_big || __builtin_mul_overflow(value, base, &value) ||
            __builtin_add_overflow(value, digit, &value)) {
            node->constant.is_big = true;
            value = INT64_MAX;
        }
    }
    node->constant.type = NKI_CONST_INT;
    node->constant.integer = value;
    if (!node->constant.is_big)
        node->constant.number = (double)value;
    else if (base != 10 || !str_to_double(digits, &node->constant.number))
        node->constant.number = number;
}

/* The token's text without underscores, in the arena. */
static struct str clean_number(struct nki_parser *p) {
    struct str text = nki_text(p->tree, (struct nki_span){p->token->start, p->token->end});
    if (!memchr(text.at, '_', text.len))
        return text;
    char *clean = arena_alloc(p->arena, 1, text.len + 1);
    size_t len = 0;
    for (size_t i = 0; i < text.len; i++)
        if (text.at[i] != '_')
            clean[len++] = text.at[i];
    return (struct str){clean, len};
}

static int base_of(struct str text) {
    if (text.len < 2 || text.at[0] != '0')
        return 10;
    char c = (char)(text.at[1] | 0x20);
    return c == 'x' ? 16 : c == 'o' ? 8 : c == 'b' ? 2 : 10;
}

static bool is_whole(struct str text) {
    for (size_t i = 0; i < text.len; i++)
        if (text.at[i] < '0' || text.at[i] > '9')
            return false;
    return true;
}

static void set_float(struct nki_node *node, struct str text) {
    bool is_imaginary = (text.at[text.len - 1] | 0x20) == 'j';
    text.len -= is_imaginary;
    node->constant.type = is_imaginary ? NKI_CONST_IMAGINARY : NKI_CONST_FLOAT;
    if (!str_to_double(text, &node->constant.number))
        node->constant.number = HUGE_VAL; /* Python reads 1e999 as inf */
}

struct nki_node *parse_number(struct nki_parser *p) {
    struct nki_node *node = parser_node(p, NKI_CONSTANT, p->token->start);
    struct str text = clean_number(p);
    int base = base_of(text);
    if (base != 10)
        set_integer(node, (struct str){text.at + 2, text.len - 2}, base);
    else if (is_whole(text))
        set_integer(node, text, 10);
    else
        set_float(node, text);
    parser_next(p);
    return parser_close(p, node);
}

/* ---- escapes ------------------------------------------------------------------------------- */

/* A string piece that is being decoded. */
struct decoder {
    struct nki_parser *p;
    struct nki_string_parts string;
    const char *text;
    uint32_t at, end;
    struct buf out;
};

static void put_utf8(struct buf *out, uint32_t code) {
    if (code < 0x80) {
        buf_putc(out, (char)code);
        return;
    }
    static const unsigned char lead[] = {0, 0xc0, 0xe0, 0xf0};
    int extra = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    buf_putc(out, (char)(lead[extra] | code >> (6 * extra)));
    while (extra-- > 0)
        buf_putc(out, (char)(0x80 | (code >> (6 * extra) & 0x3f)));
}

/* Puts one byte of a bytes literal, or one code point of a string. */
static void put_code(struct decoder *d, uint32_t code) {
    if (d->string.is_bytes)
        buf_putc(&d->out, (char)code);
    else
        put_utf8(&d->out, code);
}

static void put_hex(struct decoder *d, uint32_t digits) {
    struct nki_span span = {d->at - 2, MIN_OF(d->at + digits, d->end)};
    uint32_t code = 0, n = 0;
    for (; n < digits && d->at < d->end; n++, d->at++) {
        char c = d->text[d->at];
        if (!((c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')))
            break;
        code = code << 4 | (uint32_t)digit_value(c);
    }
    if (n < digits) {
        struct nki_node place = {.start = span.start, .end = span.end};
        parser_fail_at(d->p, &place, "this escape needs %u hexadecimal digits, found %u", digits,
                       n);
    } else if (code > 0x10ffff) {
        struct nki_node place = {.start = span.start, .end = span.end};
        parser_fail_at(d->p, &place, "U+%X is no code point; the last one is U+10FFFF", code);
    } else {
        put_code(d, code);
    }
}

static void put_octal(struct decoder *d) {
    uint32_t code = 0;
    for (int n = 0; n < 3 && d->at < d->end; n++, d->at++) {
        char c = d->text[d->at];
        if (c < '0' || c > '7')
            break;
        code = code << 3 | (uint32_t)(c - '0');
    }
    put_code(d, d->string.is_bytes ? code & 0xff : code);
}

/* Decodes what follows a backslash. An unknown escape keeps the backslash, as in Python. So does
 * the name of a character (\N{...}), for which there is no table here. */
static void put_escape(struct decoder *d) {
    static const char from[] = "\\'\"abfnrtv", to[] = "\\'\"\a\b\f\n\r\t\v";
    if (d->at >= d->end) {
        buf_putc(&d->out, '\\');
        return;
    }
    char c = d->text[d->at];
    const char *known = c ? strchr(from, c) : NULL;
    if (c >= '0' && c <= '7') {
        put_octal(d);
        return;
    }
    d->at++;
    if (known)
        buf_putc(&d->out, to[known - from]);
    else if (c == '\r' || c == '\n')
        d->at += c == '\r' && d->at < d->end && d->text[d->at] == '\n';
    else if (c == 'x')
        put_hex(d, 2);
    else if ((c == 'u' || c == 'U') && !d->string.is_bytes)
        put_hex(d, c == 'u' ? 4 : 8);
    else {
        buf_putc(&d->out, '\\');
        d->at--; /* the character itself may be special */
        if (c != '{' && c != '}') {
            buf_putc(&d->out, c);
            d->at++;
        }
    }
}

static bool is_doubled_brace(const struct decoder *d, char c) {
    return d->string.is_format && (c == '{' || c == '}') && d->at < d->end && d->text[d->at] == c;
}

static void decode(struct decoder *d) {
    while (d->at < d->end && !d->p->failed) {
        char c = d->text[d->at++];
        if (c == '\\' && !d->string.is_raw) {
            put_escape(d);
            continue;
        }
        if (c == '\r') {
            d->at += d->at < d->end && d->text[d->at] == '\n';
            c = '\n';
        }
        d->at += is_doubled_brace(d, c);
        buf_putc(&d->out, c);
    }
}

static bool is_verbatim(struct str text, struct nki_string_parts string) {
    if (memchr(text.at, '\r', text.len) || (!string.is_raw && memchr(text.at, '\\', text.len)))
        return false;
    return !string.is_format ||
           (!memchr(text.at, '{', text.len) && !memchr(text.at, '}', text.len));
}

struct nki_node *parser_string_piece(struct nki_parser *p, struct nki_span span,
                                     struct nki_string_parts string) {
    struct nki_node *node = parser_node(p, NKI_CONSTANT, span.start);
    node->end = span.end;
    node->constant.type = string.is_bytes ? NKI_CONST_BYTES : NKI_CONST_STRING;
    node->constant.text = nki_text(p->tree, span);
    if (is_verbatim(node->constant.text, string))
        return node;
    struct decoder d = {
        .p = p, .string = string, .text = p->tree->source.at, .at = span.start, .end = span.end};
    decode(&d);
    node->constant.text =
        (struct str){arena_strndup(p->arena, d.out.at ? d.out.at : "", d.out.len), d.out.len};
    buf_free(&d.out);
    return node;
}

/* ---- strings one after another ------------------------------------------------------------- */

/* Joins the constants pending[from..to) into the first of them. */
static struct nki_node *join_run(struct nki_parser *p, size_t from, size_t to) {
    struct nki_node *first = p->pending.at[from];
    struct buf text = {0};
    if (to == from + 1)
        return first;
    for (size_t i = from; i < to; i++) {
        const struct nki_node *piece = p->pending.at[i];
        buf_add(&text, piece->constant.text.at, piece->constant.text.len);
        first->end = MAX_OF(first->end, piece->end);
    }
    first->constant.text.at = arena_strndup(p->arena, text.at ? text.at : "", text.len);
    first->constant.text.len = text.len;
    buf_free(&text);
    return first;
}

/* Joins runs of constants among the pending parts of an f-string, and drops empty ones. */
static void join_parts(struct nki_parser *p, uint32_t start) {
    size_t kept = start, n = p->pending.len, next;
    for (size_t i = start; i < n; i = next) {
        next = i + 1;
        if (p->pending.at[i]->kind != NKI_CONSTANT) {
            p->pending.at[kept++] = p->pending.at[i];
            continue;
        }
        while (next < n && p->pending.at[next]->kind == NKI_CONSTANT)
            next++;
        struct nki_node *joined = join_run(p, i, next);
        if (joined->constant.text.len)
            p->pending.at[kept++] = joined;
    }
    p->pending.len = kept;
}

/* Takes one string token and pushes what it holds. */
static void push_string(struct nki_parser *p, struct nki_string_parts string) {
    uint32_t start = p->token->start, end = p->token->end;
    if (string.is_format) {
        parse_format_string(p, string);
    } else {
        struct nki_node *piece = parser_string_piece(p, string.body, string);
        piece->start = start;
        piece->end = end;
        parser_list_push(p, piece);
    }
    parser_next(p);
}

struct nki_node *parse_strings(struct nki_parser *p) {
    uint32_t start = p->token->start, list = parser_list_start(p);
    bool has_bytes = false, has_text = false, has_format = false;
    while (p->token->kind == NKI_TOKEN_STRING) {
        struct nki_string_parts string =
            nki_split_string(p->tree->source, (struct nki_span){p->token->start, p->token->end});
        has_bytes |= string.is_bytes;
        has_text |= !string.is_bytes;
        has_format |= string.is_format;
        if (has_bytes && has_text)
            parser_fail(p, "strings and bytes stand side by side; they cannot be joined");
        else
            push_string(p, string);
    }
    if (!has_format && p->pending.len > list) {
        struct nki_node *node = join_run(p, list, p->pending.len);
        p->pending.len = list;
        node->start = start;
        return parser_close(p, node);
    }
    struct nki_node *node = parser_node(p, NKI_JOINED_STR, start);
    join_parts(p, list);
    node->joined_str.values = parser_list_end(p, node, list);
    return parser_close(p, node);
}
