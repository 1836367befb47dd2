/* SPDX-License-Identifier: Apache-2.0 */
/* The parser's entry and what all its parts use: errors, tokens, nodes and lists. It makes the
 * tokens, lets the grammar build the tree (parser_stmt.c, parser_expr.c and the files named there),
 * and numbers the nodes. It knows nothing of what a kernel means. */
#include "nki/syntax/parser.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static const struct nki_token nothing = {.kind = NKI_TOKEN_ERROR};

/* ---- errors -------------------------------------------------------------------------------- */

static void fault(struct nki_faults *faults, struct nki_span span, const char *code,
                  const char *format, va_list args) {
    char text[400];
    if (faults->count++ >= NKI_MAX_ERRORS || !faults->diags)
        return;
    vsnprintf(text, sizeof text, format, args);
    nki_report(faults->tree, faults->diags, DIAG_ERROR, span, code, "%s", text);
}

void nki_fault(struct nki_faults *faults, struct nki_span span, const char *format, ...) {
    va_list args;
    va_start(args, format);
    fault(faults, span, NKI_NO_PYTHON, format, args);
    va_end(args);
}

void nki_gap(struct nki_faults *faults, struct nki_span span, const char *format, ...) {
    va_list args;
    va_start(args, format);
    fault(faults, span, "hone-gap-python", format, args);
    va_end(args);
}

static void stop(struct nki_parser *p) {
    p->failed = true;
    p->token = &nothing;
}

/* Whether the lexer reported something on the rest of this logical line, such as a bracket that is
 * never closed. Then what the parser finds here is most likely a consequence. */
static bool is_reported(const struct nki_parser *p) {
    const struct nki_token *token = &p->tokens[p->at];
    while (token->kind != NKI_TOKEN_ERROR && token->kind != NKI_TOKEN_NEWLINE &&
           token->kind != NKI_TOKEN_END)
        token++;
    return token->kind == NKI_TOKEN_ERROR;
}

void parser_fail(struct nki_parser *p, const char *format, ...) {
    if (p->failed)
        return;
    if (!is_reported(p)) {
        char text[400];
        va_list args;
        va_start(args, format);
        vsnprintf(text, sizeof text, format, args);
        va_end(args);
        nki_fault(p->faults, (struct nki_span){p->token->start, p->token->end}, "%s", text);
    }
    stop(p);
}

void parser_fail_at(struct nki_parser *p, const struct nki_node *node, const char *format, ...) {
    if (p->failed)
        return;
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    nki_fault(p->faults, nki_span_of(node), "%s", text);
    stop(p);
}

/* The token's text for a message: cut short, and without anything but printable ASCII. */
static void quote_token(const struct nki_parser *p, char *out, size_t size) {
    struct str text = nki_text(p->tree, (struct nki_span){p->token->start, p->token->end});
    size_t len = 0;
    for (size_t i = 0; i < text.len && len + 5 < size; i++)
        if (text.at[i] >= ' ' && text.at[i] < 0x7f)
            out[len++] = text.at[i];
        else if (len == 0 || out[len - 1] != '?')
            out[len++] = '?';
    memcpy(out + len, text.len > len + 4 ? "..." : "", text.len > len + 4 ? 4 : 1);
}

void parser_expected(struct nki_parser *p, const char *expected) {
    static const char *const fixed[] = {
        [NKI_TOKEN_END] = "the end of the file", [NKI_TOKEN_NEWLINE] = "the end of the line",
        [NKI_TOKEN_INDENT] = "an indented line", [NKI_TOKEN_DEDENT] = "the end of the block",
        [NKI_TOKEN_STRING] = "a string",
    };
    enum nki_token_kind kind = p->token->kind;
    if (kind < COUNT_OF(fixed) && fixed[kind]) {
        parser_fail(p, "found %s, expected %s", fixed[kind], expected);
        return;
    }
    char text[44];
    quote_token(p, text, sizeof text);
    parser_fail(p, "found '%s', expected %s", text, expected);
}

/* ---- tokens -------------------------------------------------------------------------------- */

void parser_next(struct nki_parser *p) {
    if (p->failed || p->token->kind == NKI_TOKEN_END)
        return;
    p->token = &p->tokens[++p->at];
}

bool parser_accept_op(struct nki_parser *p, uint32_t op) {
    bool is_there = parser_at_op(p, op);
    if (is_there)
        parser_next(p);
    return is_there;
}

bool parser_accept_word(struct nki_parser *p, enum nki_word word) {
    bool is_there = parser_at_word(p, word);
    if (is_there)
        parser_next(p);
    return is_there;
}

bool parser_need_op(struct nki_parser *p, uint32_t op, const char *expected) {
    if (parser_accept_op(p, op))
        return true;
    parser_expected(p, expected);
    return false;
}

bool parser_need_word(struct nki_parser *p, enum nki_word word, const char *expected) {
    if (parser_accept_word(p, word))
        return true;
    parser_expected(p, expected);
    return false;
}

struct str parser_need_name(struct nki_parser *p, const char *what, struct nki_span *span) {
    struct nki_span here = {p->token->start, p->token->end};
    if (p->token->kind != NKI_TOKEN_NAME) {
        parser_expected(p, what);
        return STR("");
    }
    if (span)
        *span = here;
    parser_next(p);
    return nki_text(p->tree, here);
}

uint32_t parser_last_end(const struct nki_parser *p) {
    return p->at ? p->tokens[p->at - 1].end : p->tokens[0].start;
}

bool parser_enter(struct nki_parser *p) {
    if (p->depth++ < NKI_MAX_DEPTH)
        return true;
    parser_fail(p,
                "the source nests more than %d deep here; name the inner values or move them "
                "into functions",
                NKI_MAX_DEPTH);
    return false;
}

void parser_leave(struct nki_parser *p) {
    p->depth--;
}

/* ---- nodes --------------------------------------------------------------------------------- */

struct nki_node *parser_node(struct nki_parser *p, enum nki_kind kind, uint32_t start) {
    if (p->nodes++ == NKI_MAX_NODES) {
        parser_fail(p,
                    "the file has more than %u names, operators and other parts up to here; a "
                    "kernel may not have more",
                    NKI_MAX_NODES);
        stop(p);
    }
    struct nki_node *node = ARENA_NEW(p->arena, struct nki_node);
    node->kind = (uint8_t)kind;
    node->height = 1;
    node->start = node->end = start;
    return node;
}

struct nki_node *parser_close(struct nki_parser *p, struct nki_node *node) {
    node->end = MAX_OF(node->start, parser_last_end(p));
    return node;
}

struct nki_node *parser_adopt(struct nki_parser *p, struct nki_node *parent,
                              struct nki_node *child) {
    if (!child)
        return NULL;
    child->parent = parent;
    if (child->height < parent->height)
        return child;
    if (child->height >= NKI_MAX_DEPTH - 1 && parent->kind != NKI_MODULE) {
        parser_fail(p, "this nests more than %d deep; split it into several statements",
                    NKI_MAX_DEPTH);
        stop(p);
        return child;
    }
    parent->height = (uint8_t)(child->height + 1);
    return child;
}

uint32_t parser_list_start(const struct nki_parser *p) {
    return (uint32_t)p->pending.len;
}

void parser_list_push(struct nki_parser *p, struct nki_node *node) {
    *vec_push(&p->pending) = node;
}

struct nki_list parser_list_end(struct nki_parser *p, struct nki_node *parent, uint32_t start) {
    struct nki_list list = {.len = (uint32_t)p->pending.len - start};
    if (list.len)
        list.at = arena_dup(p->arena, p->pending.at + start, list.len * sizeof *list.at);
    p->pending.len = start;
    for (uint32_t i = 0; i < list.len; i++)
        parser_adopt(p, parent, list.at[i]);
    return list;
}

/* ---- the whole file ------------------------------------------------------------------------ */

static void parse_module(struct nki_parser *p) {
    uint32_t start = parser_list_start(p);
    while (p->token->kind != NKI_TOKEN_END) {
        if (p->token->kind == NKI_TOKEN_DEDENT)
            parser_next(p);
        else
            parse_statement_line(p);
    }
    p->tree->module->module.body = parser_list_end(p, p->tree->module, start);
}

/* Numbers the nodes in pre-order. The tree's height bounds the depth. */
static void number(struct nki_parser *p, struct nki_node *node) {
    *vec_push(&p->pending) = node;
    node->id = (uint32_t)p->pending.len - 1;
    struct nki_node *children[NKI_SOME_CHILDREN];
    uint32_t count;
    struct nki_node **all = nki_children_into(p->tree, node, children, &count);
    for (uint32_t i = 0; i < count; i++)
        number(p, all[i]);
    node->last = (uint32_t)p->pending.len - 1;
}

static void parse_source(struct nki_tree *tree, struct nki_faults *faults) {
    nki_lex_file(tree, faults);
    struct nki_parser p = {.tree = tree,
                           .arena = tree->arena,
                           .faults = faults,
                           .tokens = tree->tokens,
                           .token = tree->tokens};
    parse_module(&p);
    p.pending.len = 0;
    number(&p, tree->module);
    tree->nodes = arena_dup(tree->arena, p.pending.at, p.pending.len * sizeof *p.pending.at);
    tree->n_nodes = (uint32_t)p.pending.len;
    vec_free(&p.pending);
}

/* The tree of a file that is too large to read: no statements, and one token at the end. */
static void refuse_source(struct nki_tree *tree, struct nki_faults *faults, size_t size) {
    tree->lines = ARENA_NEW(tree->arena, uint32_t);
    tree->n_lines = 1;
    tree->tokens = ARENA_NEW(tree->arena, struct nki_token);
    tree->n_tokens = 1;
    tree->nodes = ARENA_NEW(tree->arena, struct nki_node *);
    tree->nodes[0] = tree->module;
    tree->n_nodes = 1;
    nki_fault(faults, (struct nki_span){0, 0}, "the file has %zu bytes; a kernel may have %u", size,
              NKI_MAX_SOURCE);
}

struct nki_tree *nki_parse(const char *file, struct str source, struct diag_list *diags) {
    struct arena *arena = arena_new();
    struct nki_tree *tree = ARENA_NEW(arena, struct nki_tree);
    struct nki_faults faults = {.tree = tree, .diags = diags};
    size_t first = diags ? diags->all.len : 0;
    bool is_large = source.len > NKI_MAX_SOURCE;
    tree->arena = arena;
    tree->file = arena_strdup(arena, file);
    tree->source.len = is_large ? 0 : source.len;
    tree->source.at = arena_strndup(arena, source.at, tree->source.len);
    tree->module = ARENA_NEW(arena, struct nki_node);
    tree->module->kind = NKI_MODULE;
    tree->module->height = 1;
    tree->module->end = (uint32_t)tree->source.len;
    if (is_large)
        refuse_source(tree, &faults, source.len);
    else
        parse_source(tree, &faults);
    tree->errors = faults.count;
    if (diags)
        nki_sort_findings(diags, first); /* the lexer reported before the parser did */
    return tree;
}

struct nki_tree *nki_parse_file(const char *path, struct diag_list *diags, struct err *err) {
    size_t size;
    char *text = file_read(path, NKI_MAX_SOURCE, &size, err);
    if (!text)
        return NULL;
    struct nki_tree *tree = nki_parse(path, (struct str){text, size}, diags);
    free(text);
    return tree;
}

void nki_tree_free(struct nki_tree *tree) {
    if (tree)
        arena_free(tree->arena);
}
