/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of f-strings: literal pieces, replacement fields, conversions and format specs. The
 * expression of a field gets tokens of its own, so that its nodes have exact spans. */
#include "nki/syntax/lexer.h"

#define MAX_SPEC_LEVEL 2 /* a field may hold fields in its format spec; these hold none */

struct format {
    struct nki_parser *p;
    struct nki_string_parts string;
    const char *text;
    uint32_t at, end;
    int level;
};

static void fail(struct format *f, uint32_t at, const char *text) {
    struct nki_node place = {.start = at, .end = MIN_OF(at + 1, f->end)};
    parser_fail_at(f->p, &place, "%s", text);
}

static void push_literal(struct format *f, uint32_t start) {
    if (f->at > start)
        parser_list_push(f->p,
                         parser_string_piece(f->p, (struct nki_span){start, f->at}, f->string));
}

static struct nki_node *parse_part(struct nki_parser *p, struct nki_span part) {
    const struct nki_token *tokens = p->tokens;
    uint32_t at = p->at;
    p->tokens = p->token = nki_lex_part(p->tree, part, p->faults);
    p->at = 0;
    struct nki_node *node = parse_yield_or_list(p);
    if (p->token->kind != NKI_TOKEN_END)
        parser_expected(p, "the end of the expression in the f-string");
    p->tokens = tokens;
    p->at = at;
    if (!p->failed)
        p->token = &tokens[at];
    return node;
}

/* "=" after the expression pushes the expression's own text. True when it was there. */
static bool accept_debug(struct format *f, uint32_t start) {
    if (f->text[f->at] != '=')
        return false;
    f->at++;
    while (f->at < f->end && (f->text[f->at] == ' ' || f->text[f->at] == '\t'))
        f->at++;
    struct nki_string_parts raw = {.is_raw = true};
    parser_list_push(f->p, parser_string_piece(f->p, (struct nki_span){start, f->at}, raw));
    return true;
}

static void parse_conversion(struct format *f, struct nki_node *node) {
    if (f->at >= f->end || f->text[f->at] != '!')
        return;
    char c = f->at + 1 < f->end ? f->text[f->at + 1] : '\0';
    if (c != 'r' && c != 's' && c != 'a')
        fail(f, f->at, "a conversion in an f-string is !r, !s or !a");
    node->formatted_value.conversion = c;
    f->at += 2;
}

static void parse_pieces(struct format *f, bool is_spec);

static void parse_spec(struct format *f, struct nki_node *node) {
    if (f->at >= f->end || f->text[f->at] != ':')
        return;
    if (f->level == MAX_SPEC_LEVEL) {
        fail(f, f->at, "format specs of f-strings nest too deep here");
        return;
    }
    f->at++;
    f->level++;
    struct nki_node *spec = parser_node(f->p, NKI_JOINED_STR, f->at);
    uint32_t list = parser_list_start(f->p);
    parse_pieces(f, true);
    f->level--;
    spec->joined_str.values = parser_list_end(f->p, spec, list);
    spec->end = f->at;
    node->formatted_value.format_spec = parser_adopt(f->p, node, spec);
}

/* On entry `at` is at the "{" of a field, afterwards it is after its "}". */
static void parse_field(struct format *f) {
    struct nki_parser *p = f->p;
    struct nki_node *node = parser_node(p, NKI_FORMATTED_VALUE, f->at);
    uint32_t start = f->at + 1;
    uint32_t end = nki_field_end(p->tree->source, start, f->end);
    if (end >= f->end) {
        fail(f, f->at,
             "'{' of the f-string is never closed; expected '}' (write '{{' for a "
             "brace)");
        return;
    }
    struct str text = str_trim(nki_text(p->tree, (struct nki_span){start, end}));
    if (text.len == 0) {
        fail(f, f->at, "found no expression between '{' and '}' in the f-string");
        return;
    }
    node->formatted_value.value =
        parser_adopt(p, node, parse_part(p, (struct nki_span){start, end}));
    f->at = end;
    bool is_debug = accept_debug(f, start);
    parse_conversion(f, node);
    parse_spec(f, node);
    if (is_debug && !node->formatted_value.conversion && !node->formatted_value.format_spec)
        node->formatted_value.conversion = 'r';
    if (f->at >= f->end || f->text[f->at] != '}')
        fail(f, MIN_OF(f->at, f->end - 1), "expected '}' after the expression in the f-string");
    f->at++;
    node->end = f->at;
    parser_list_push(p, node);
}

static void skip_escape(struct format *f) {
    char next = f->at + 1 < f->end ? f->text[f->at + 1] : '\0';
    const char *brace = NULL;
    if (next == 'N' && f->at + 2 < f->end && f->text[f->at + 2] == '{')
        brace = memchr(f->text + f->at, '}', f->end - f->at);
    if (brace)
        f->at = (uint32_t)(brace - f->text) + 1;
    else
        f->at = MIN_OF(f->at + (next == '{' || next == '}' ? 1 : 2), f->end);
}

static void parse_pieces(struct format *f, bool is_spec) {
    uint32_t start = f->at;
    while (f->at < f->end && !f->p->failed) {
        char c = f->text[f->at];
        bool is_double = f->at + 1 < f->end && f->text[f->at + 1] == c && !is_spec;
        if (c == '\\' && !f->string.is_raw) {
            skip_escape(f);
        } else if ((c == '{' || c == '}') && is_double) {
            f->at += 2;
        } else if (c == '{') {
            push_literal(f, start);
            parse_field(f);
            start = f->at;
        } else if (c == '}' && is_spec) {
            break;
        } else if (c == '}') {
            fail(f, f->at, "found a single '}' in an f-string; write '}}' for a brace");
        } else {
            f->at++;
        }
    }
    f->at = MIN_OF(f->at, f->end);
    push_literal(f, start);
}

void parse_format_string(struct nki_parser *p, struct nki_string_parts string) {
    struct format f = {.p = p,
                       .string = string,
                       .text = p->tree->source.at,
                       .at = string.body.start,
                       .end = string.body.end};
    parse_pieces(&f, false);
}
