/* SPDX-License-Identifier: Apache-2.0 */
/* Looking at a tree: places, texts, tokens, neighbours in the tree, names. Nothing here changes the
 * tree or knows what the names in a kernel mean. */
#include "nki/syntax/syntax.h"
#include "nki/syntax/testing.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- operators ----------------------------------------------------------------------------- */

#define X_TEXT(id, text, ...) text,

const char *nki_binary_text(enum nki_binary op) {
    static const char *const texts[] = {NKI_BINARY_TABLE(X_TEXT)};
    return texts[op];
}

const char *nki_comparison_text(enum nki_comparison op) {
    static const char *const texts[] = {NKI_COMPARE_TABLE(X_TEXT)};
    return texts[op];
}

const char *nki_unary_text(enum nki_unary op) {
    static const char *const texts[] = {"not", "-", "+", "~"};
    return texts[op];
}

const char *nki_bool_op_text(enum nki_bool_op op) {
    return op == NKI_AND ? "and" : "or";
}

int nki_precedence(const struct nki_node *node) {
#define X(id, text, precedence) precedence,
    static const int binary[] = {NKI_BINARY_TABLE(X)};
#undef X
    switch (node->kind) {
    case NKI_NAMED_EXPR:
    case NKI_YIELD:
    case NKI_YIELD_FROM:
    case NKI_STARRED:
    case NKI_SLICE: return 0;
    case NKI_TUPLE: return node->tuple.in_parens ? 20 : 0;
    case NKI_LAMBDA: return 1;
    case NKI_IF_EXP: return 2;
    case NKI_BOOL_OP: return node->bool_op.op == NKI_OR ? 3 : 4;
    case NKI_COMPARE: return 6;
    case NKI_BIN_OP: return binary[node->bin_op.op];
    case NKI_UNARY_OP: return node->unary_op.op == NKI_UNARY_NOT ? 5 : 13;
    case NKI_AWAIT: return 15;
    default: return 20;
    }
}

bool nki_is_statement(const struct nki_node *node) {
    return node->kind >= NKI_FUNCTION_DEF && node->kind <= NKI_ERROR;
}

bool nki_is_expression(const struct nki_node *node) {
    return node->kind >= NKI_BOOL_OP && node->kind <= NKI_SLICE;
}

/* ---- places and texts ---------------------------------------------------------------------- */

struct nki_place nki_place_of(const struct nki_tree *tree, uint32_t offset) {
    uint32_t low = 0, high = tree->n_lines;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (tree->lines[middle] <= offset)
            low = middle;
        else
            high = middle;
    }
    return (struct nki_place){(int)low + 1, (int)(offset - tree->lines[low]) + 1};
}

struct nki_span nki_line_span(const struct nki_tree *tree, int line) {
    uint32_t size = (uint32_t)tree->source.len;
    if (line < 1 || (uint32_t)line > tree->n_lines)
        return (struct nki_span){size, size};
    return (struct nki_span){tree->lines[line - 1],
                             (uint32_t)line < tree->n_lines ? tree->lines[line] : size};
}

struct str nki_text(const struct nki_tree *tree, struct nki_span span) {
    return (struct str){tree->source.at + span.start, span.end - span.start};
}

struct str nki_node_text(const struct nki_tree *tree, const struct nki_node *node) {
    return nki_text(tree, nki_span_of(node));
}

uint32_t nki_token_at(const struct nki_tree *tree, uint32_t offset) {
    uint32_t low = 0, high = tree->n_tokens - 1;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (tree->tokens[middle].end > offset)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

/* An f-string is one token, so inside it parentheses are found by the bytes. */
static struct nki_span outer_span_by_bytes(const struct nki_tree *tree,
                                           const struct nki_node *node) {
    struct nki_span span = nki_span_of(node);
    for (int i = 0; i < node->parens; i++) {
        uint32_t start = span.start, end = span.end;
        while (start > 0 && is_blank(tree->source.at[start - 1]))
            start--;
        while (end < tree->source.len && is_blank(tree->source.at[end]))
            end++;
        if (start == 0 || tree->source.at[start - 1] != '(' || tree->source.at[end] != ')')
            break;
        span = (struct nki_span){start - 1, end + 1};
    }
    return span;
}

struct nki_span nki_outer_span(const struct nki_tree *tree, const struct nki_node *node) {
    struct nki_span span = nki_span_of(node);
    if (!node->parens)
        return span;
    uint32_t first = nki_token_at(tree, node->start);
    uint32_t after = nki_token_at(tree, node->end ? node->end - 1 : 0) + 1;
    if (tree->tokens[first].start != node->start)
        return outer_span_by_bytes(tree, node);
    for (int i = 0; i < node->parens && first > 0 && after < tree->n_tokens; i++) {
        span.start = tree->tokens[--first].start;
        span.end = tree->tokens[after++].end;
    }
    return span;
}

void nki_print(const struct nki_tree *tree, struct buf *out) {
    uint32_t at = 0;
    for (uint32_t i = 0; i < tree->n_tokens; i++) {
        const struct nki_token *token = &tree->tokens[i];
        buf_add(out, tree->source.at + at, token->start - at);
        buf_add(out, tree->source.at + token->start, token->end - token->start);
        at = token->end;
    }
}

struct diag *nki_report(const struct nki_tree *tree, struct diag_list *diags,
                        enum diag_severity severity, struct nki_span span, const char *code,
                        const char *format, ...) {
    struct nki_place from = nki_place_of(tree, span.start), to = nki_place_of(tree, span.end);
    struct buf text = {0};
    va_list args;
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    struct diag *diag = diag_add(diags, severity, code, tree->file, from.line, from.column, "%s",
                                 text.at ? text.at : "");
    diag->end_line = to.line;
    diag->end_column = to.column;
    buf_free(&text);
    return diag;
}

static int by_place(const void *a, const void *b) {
    const struct diag *left = a, *right = b;
    if (left->line != right->line)
        return left->line < right->line ? -1 : 1;
    if (left->column != right->column)
        return left->column < right->column ? -1 : 1;
    return strcmp(left->code, right->code);
}

void nki_sort_findings(struct diag_list *diags, size_t first) {
    if (diags->all.len > first + 1)
        qsort(diags->all.at + first, diags->all.len - first, sizeof *diags->all.at, by_place);
}

/* ---- neighbours ---------------------------------------------------------------------------- */

struct nki_node *nki_enclosing(const struct nki_node *node, enum nki_kind kind) {
    struct nki_node *above = node->parent;
    while (above && above->kind != kind)
        above = above->parent;
    return above;
}

struct nki_node *nki_statement_of(const struct nki_node *node) {
    union {
        const struct nki_node *in;
        struct nki_node *out; /* the caller owns the tree; the lookup itself is const */
    } found = {.in = node};
    while (found.out && !nki_is_statement(found.out))
        found.out = found.out->parent;
    return found.out;
}

void nki_blocks_of(const struct nki_node *node, const struct nki_list *blocks[4]) {
    for (int i = 0; i < 4; i++)
        blocks[i] = NULL;
    switch (node->kind) {
    case NKI_MODULE: blocks[0] = &node->module.body; break;
    case NKI_FUNCTION_DEF: blocks[0] = &node->function_def.body; break;
    case NKI_CLASS_DEF: blocks[0] = &node->class_def.body; break;
    case NKI_FOR:
        blocks[0] = &node->for_.body;
        blocks[1] = &node->for_.orelse;
        break;
    case NKI_WHILE:
        blocks[0] = &node->while_.body;
        blocks[1] = &node->while_.orelse;
        break;
    case NKI_IF:
        blocks[0] = &node->if_.body;
        blocks[1] = &node->if_.orelse;
        break;
    case NKI_WITH: blocks[0] = &node->with_.body; break;
    case NKI_TRY:
        blocks[0] = &node->try_.body;
        blocks[1] = &node->try_.handlers;
        blocks[2] = &node->try_.orelse;
        blocks[3] = &node->try_.finalbody;
        break;
    case NKI_MATCH: blocks[0] = &node->match.cases; break;
    case NKI_MATCH_CASE: blocks[0] = &node->match_case.body; break;
    case NKI_EXCEPT_HANDLER: blocks[0] = &node->except_handler.body; break;
    case NKI_ERROR: blocks[0] = &node->error.body; break;
    default: break;
    }
}

const struct nki_list *nki_block_of(const struct nki_node *stmt, uint32_t *index) {
    const struct nki_list *blocks[4];
    if (!stmt->parent)
        return NULL;
    nki_blocks_of(stmt->parent, blocks);
    for (int i = 0; i < 4 && blocks[i]; i++)
        for (uint32_t j = 0; j < blocks[i]->len; j++)
            if (blocks[i]->at[j] == stmt) {
                *index = j;
                return blocks[i];
            }
    return NULL;
}

/* ---- names --------------------------------------------------------------------------------- */

bool nki_dotted_name(const struct nki_node *node, struct buf *out) {
    const struct nki_node *base = node;
    while (base->kind == NKI_ATTRIBUTE)
        base = base->attribute.value;
    if (base->kind != NKI_NAME)
        return false;
    buf_add(out, base->name.id.at, base->name.id.len);
    while (base != node) {
        base = base->parent;
        buf_putc(out, '.');
        buf_add(out, base->attribute.attr.at, base->attribute.attr.len);
    }
    return true;
}

bool nki_is_dotted(const struct nki_node *node, const char *dotted) {
    size_t len = strlen(dotted);
    for (; node->kind == NKI_ATTRIBUTE; node = node->attribute.value) {
        struct str attr = node->attribute.attr;
        if (len < attr.len + 2 || memcmp(dotted + len - attr.len, attr.at, attr.len) != 0 ||
            dotted[len - attr.len - 1] != '.')
            return false;
        len -= attr.len + 1;
    }
    return node->kind == NKI_NAME && str_equal(node->name.id, (struct str){dotted, len});
}

struct nki_node *nki_keyword(const struct nki_node *call, const char *name) {
    for (uint32_t i = 0; i < call->call.keywords.len; i++)
        if (str_is(call->call.keywords.at[i]->keyword.name, name))
            return call->call.keywords.at[i]->keyword.value;
    return NULL;
}
