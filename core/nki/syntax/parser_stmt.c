/* SPDX-License-Identifier: Apache-2.0 */
/* Simple statements, lines of them, and recovery. A statement with an error becomes an NKI_ERROR
 * node, and parsing goes on with the next line. Statements with blocks are in parser_compound.c. */
#include "nki/syntax/parser.h"

#include <stdio.h>

/* ---- assignments --------------------------------------------------------------------------- */

static const struct {
    uint32_t op;
    enum nki_binary binary;
} augmented[] = {
    {OP2('+', '='), NKI_ADD},
    {OP2('-', '='), NKI_SUB},
    {OP2('*', '='), NKI_MUL},
    {OP2('/', '='), NKI_DIV},
    {OP3('/', '/', '='), NKI_FLOOR_DIV},
    {OP2('%', '='), NKI_MOD},
    {OP2('@', '='), NKI_MATMUL},
    {OP3('*', '*', '='), NKI_POW},
    {OP3('<', '<', '='), NKI_SHIFT_LEFT},
    {OP3('>', '>', '='), NKI_SHIFT_RIGHT},
    {OP2('&', '='), NKI_BIT_AND},
    {OP2('|', '='), NKI_BIT_OR},
    {OP2('^', '='), NKI_BIT_XOR},
};

static bool at_augmented(const struct nki_parser *p, enum nki_binary *op) {
    if (p->token->kind != NKI_TOKEN_OP)
        return false;
    for (size_t i = 0; i < COUNT_OF(augmented); i++)
        if (augmented[i].op == p->token->op) {
            *op = augmented[i].binary;
            return true;
        }
    return false;
}

static bool is_single_target(const struct nki_node *node) {
    return node->kind == NKI_NAME || node->kind == NKI_ATTRIBUTE || node->kind == NKI_SUBSCRIPT;
}

static struct nki_node *parse_augmented(struct nki_parser *p, uint32_t start,
                                        struct nki_node *target, enum nki_binary op) {
    struct nki_node *node = parser_node(p, NKI_AUG_ASSIGN, start);
    if (!is_single_target(target))
        parser_fail_at(p, target,
                       "an augmented assignment changes one name, attribute or "
                       "subscript");
    parser_next(p);
    parser_set_context(p, target, NKI_STORE);
    node->aug_assign.op = op;
    node->aug_assign.target = parser_adopt(p, node, target);
    node->aug_assign.value = parser_adopt(p, node, parse_yield_or_list(p));
    return parser_close(p, node);
}

static struct nki_node *parse_annotated(struct nki_parser *p, uint32_t start,
                                        struct nki_node *target) {
    struct nki_node *node = parser_node(p, NKI_ANN_ASSIGN, start);
    if (!is_single_target(target))
        parser_fail_at(p, target, "an annotation belongs to one name, attribute or subscript");
    parser_next(p);
    parser_set_context(p, target, NKI_STORE);
    node->ann_assign.target = parser_adopt(p, node, target);
    node->ann_assign.annotation = parser_adopt(p, node, parse_expression(p));
    if (parser_accept_op(p, OP1('=')))
        node->ann_assign.value = parser_adopt(p, node, parse_yield_or_list(p));
    return parser_close(p, node);
}

static struct nki_node *parse_assign(struct nki_parser *p, uint32_t start, struct nki_node *first) {
    struct nki_node *node = parser_node(p, NKI_ASSIGN, start);
    struct nki_node *value = first;
    uint32_t list = parser_list_start(p);
    while (parser_accept_op(p, OP1('='))) {
        parser_set_context(p, value, NKI_STORE);
        parser_list_push(p, value);
        value = parse_yield_or_list(p);
    }
    node->assign.targets = parser_list_end(p, node, list);
    node->assign.value = parser_adopt(p, node, value);
    return parser_close(p, node);
}

static struct nki_node *parse_expression_statement(struct nki_parser *p) {
    uint32_t start = p->token->start;
    enum nki_binary op;
    struct nki_node *value = parse_yield_or_list(p);
    if (parser_at_op(p, OP1('=')))
        return parse_assign(p, start, value);
    if (at_augmented(p, &op))
        return parse_augmented(p, start, value, op);
    if (parser_at_op(p, OP1(':')) && is_single_target(value))
        return parse_annotated(p, start, value);
    struct nki_node *node = parser_node(p, NKI_EXPR, start);
    node->expr.value = parser_adopt(p, node, value);
    return parser_close(p, node);
}

/* ---- statements with a keyword ------------------------------------------------------------- */

static bool at_statement_end(const struct nki_parser *p) {
    return p->token->kind == NKI_TOKEN_NEWLINE || p->token->kind == NKI_TOKEN_END ||
           parser_at_op(p, OP1(';'));
}

static void parse_return(struct nki_parser *p, struct nki_node *node) {
    if (!at_statement_end(p))
        node->return_.value = parser_adopt(p, node, parse_expression_list(p));
}

static void parse_raise(struct nki_parser *p, struct nki_node *node) {
    if (at_statement_end(p))
        return;
    node->raise_.exc = parser_adopt(p, node, parse_expression(p));
    if (parser_accept_word(p, NKI_WORD_FROM))
        node->raise_.cause = parser_adopt(p, node, parse_expression(p));
}

static void parse_assert(struct nki_parser *p, struct nki_node *node) {
    node->assert_.test = parser_adopt(p, node, parse_expression(p));
    if (parser_accept_op(p, OP1(',')))
        node->assert_.msg = parser_adopt(p, node, parse_expression(p));
}

static void parse_delete(struct nki_parser *p, struct nki_node *node) {
    uint32_t list = parser_list_start(p);
    do {
        struct nki_node *target = parse_primary(p);
        parser_set_context(p, target, NKI_DEL);
        parser_list_push(p, target);
    } while (parser_accept_op(p, OP1(',')) && parser_at_expression(p));
    node->delete_.targets = parser_list_end(p, node, list);
}

static void parse_scope_names(struct nki_parser *p, struct nki_node *node) {
    VEC(struct str) names = {0};
    do
        *vec_push(&names) = parser_need_name(p, "a name", NULL);
    while (parser_accept_op(p, OP1(',')));
    node->global.names = arena_dup(p->arena, names.at, names.len * sizeof *names.at);
    node->global.len = (uint32_t)names.len;
    vec_free(&names);
}

/* "a.b.c": the text from its first name to its last. */
static struct str parse_dotted(struct nki_parser *p) {
    uint32_t start = p->token->start;
    struct str name = parser_need_name(p, "the name of a module", NULL);
    while (parser_accept_op(p, OP1('.')))
        name = parser_need_name(p, "a name after '.'", NULL);
    if (p->failed)
        return name;
    return nki_text(p->tree, (struct nki_span){start, parser_last_end(p)});
}

static void push_alias(struct nki_parser *p, bool is_dotted) {
    struct nki_node *node = parser_node(p, NKI_ALIAS, p->token->start);
    node->alias.name = is_dotted ? parse_dotted(p) : parser_need_name(p, "a name to import", NULL);
    if (parser_accept_word(p, NKI_WORD_AS))
        node->alias.asname = parser_need_name(p, "a name after 'as'", NULL);
    parser_list_push(p, parser_close(p, node));
}

static void parse_import(struct nki_parser *p, struct nki_node *node) {
    uint32_t list = parser_list_start(p);
    do
        push_alias(p, true);
    while (parser_accept_op(p, OP1(',')));
    node->import.names = parser_list_end(p, node, list);
}

static void parse_import_names(struct nki_parser *p) {
    if (parser_at_op(p, OP1('*'))) {
        struct nki_node *star = parser_node(p, NKI_ALIAS, p->token->start);
        star->alias.name = STR("*");
        parser_next(p);
        parser_list_push(p, parser_close(p, star));
        return;
    }
    bool is_group = parser_accept_op(p, OP1('('));
    do {
        if (is_group && parser_at_op(p, OP1(')')))
            break;
        push_alias(p, false);
    } while (parser_accept_op(p, OP1(',')));
    if (is_group)
        parser_need_op(p, OP1(')'), "',' or ')' in the list of imported names");
}

static void parse_import_from(struct nki_parser *p, struct nki_node *node) {
    for (;;) {
        if (parser_accept_op(p, OP1('.')))
            node->import_from.level++;
        else if (parser_accept_op(p, OP3('.', '.', '.')))
            node->import_from.level += 3;
        else
            break;
    }
    if (!node->import_from.level || !parser_at_word(p, NKI_WORD_IMPORT))
        node->import_from.module = parse_dotted(p);
    parser_need_word(p, NKI_WORD_IMPORT, "'import' and the names to import");
    uint32_t list = parser_list_start(p);
    parse_import_names(p);
    node->import_from.names = parser_list_end(p, node, list);
}

static const struct {
    enum nki_word word;
    enum nki_kind kind;
    void (*parse)(struct nki_parser *p, struct nki_node *node); /* NULL: only the keyword */
} simple[] = {
    {NKI_WORD_RETURN, NKI_RETURN, parse_return},
    {NKI_WORD_PASS, NKI_PASS, NULL},
    {NKI_WORD_BREAK, NKI_BREAK, NULL},
    {NKI_WORD_CONTINUE, NKI_CONTINUE, NULL},
    {NKI_WORD_ASSERT, NKI_ASSERT, parse_assert},
    {NKI_WORD_IMPORT, NKI_IMPORT, parse_import},
    {NKI_WORD_FROM, NKI_IMPORT_FROM, parse_import_from},
    {NKI_WORD_RAISE, NKI_RAISE, parse_raise},
    {NKI_WORD_DEL, NKI_DELETE, parse_delete},
    {NKI_WORD_GLOBAL, NKI_GLOBAL, parse_scope_names},
    {NKI_WORD_NONLOCAL, NKI_NONLOCAL, parse_scope_names},
};

/* "type X = int" (Python 3.12); "type" is a name elsewhere. */
static void skip_type(struct nki_parser *p) {
    struct nki_span span = {p->token->start, p->token->end};
    if (p->token->kind != NKI_TOKEN_NAME || p->token[1].kind != NKI_TOKEN_NAME ||
        !str_is(nki_text(p->tree, span), "type"))
        return;
    nki_gap(p->faults, span, "hone does not know the statement type yet; leave the word out");
    parser_next(p);
}

/* parser_stmt.c, parser_compound.c */
static struct nki_node *parse_simple_statement(struct nki_parser *p) {
    skip_type(p);
    for (size_t i = 0; i < COUNT_OF(simple); i++) {
        if (!parser_at_word(p, simple[i].word))
            continue;
        struct nki_node *node = parser_node(p, simple[i].kind, p->token->start);
        parser_next(p);
        if (simple[i].parse)
            simple[i].parse(p, node);
        return parser_close(p, node);
    }
    return parse_expression_statement(p);
}

/* ---- lines and recovery -------------------------------------------------------------------- */

static void skip_block(struct nki_parser *p) {
    int depth = 0;
    nki_fault(p->faults, (struct nki_span){p->token->start, p->token->end},
              "the source nests more than %d deep here; move the inner blocks into functions",
              NKI_MAX_DEPTH);
    do {
        depth += p->token->kind == NKI_TOKEN_INDENT;
        depth -= p->token->kind == NKI_TOKEN_DEDENT;
        parser_next(p);
    } while (depth && p->token->kind != NKI_TOKEN_END);
}

/* The statements of an indented block, from INDENT to DEDENT. */
static void push_block(struct nki_parser *p) {
    if (p->depth >= NKI_MAX_DEPTH) {
        skip_block(p);
        return;
    }
    p->depth++;
    parser_next(p);
    while (p->token->kind != NKI_TOKEN_DEDENT && p->token->kind != NKI_TOKEN_END)
        parse_statement_line(p);
    p->depth--;
    if (p->token->kind == NKI_TOKEN_DEDENT)
        parser_next(p);
}

/* Skips to after the end of the line, or of the block when the error is at its end. Then takes the
 * block below it, so that errors in there are reported as well. */
struct nki_node *parser_recover(struct nki_parser *p, uint32_t start) {
    p->failed = false;
    if (p->nodes > NKI_MAX_NODES)
        p->at = p->tree->n_tokens - 1; /* nothing more of this file */
    p->token = &p->tokens[p->at];
    struct nki_node *node = parser_node(p, NKI_ERROR, start);
    while (p->token->kind != NKI_TOKEN_NEWLINE && p->token->kind != NKI_TOKEN_END &&
           p->token->kind != NKI_TOKEN_DEDENT && p->token->kind != NKI_TOKEN_INDENT)
        parser_next(p);
    parser_close(p, node);
    if (p->token->kind == NKI_TOKEN_NEWLINE)
        parser_next(p);
    uint32_t list = parser_list_start(p);
    if (p->token->kind == NKI_TOKEN_INDENT)
        push_block(p);
    node->error.body = parser_list_end(p, node, list);
    if (node->error.body.len)
        node->end = node->error.body.at[node->error.body.len - 1]->end;
    return node;
}

static void end_line(struct nki_parser *p) {
    if (p->token->kind == NKI_TOKEN_NEWLINE)
        parser_next(p);
    else if (p->token->kind != NKI_TOKEN_END)
        parser_expected(p, "an operator or the end of the statement");
}

/* Takes the statements of one line, separated by ";", with the line end. */
static void push_simple_statements(struct nki_parser *p) {
    for (;;) {
        parser_list_push(p, parse_simple_statement(p));
        if (!parser_accept_op(p, OP1(';')) || p->token->kind == NKI_TOKEN_NEWLINE)
            break;
    }
    end_line(p);
}

/* Refuses "else" and its like where no statement takes them. */
static void refuse_clause(struct nki_parser *p) {
    if (parser_at_word(p, NKI_WORD_ELSE) || parser_at_word(p, NKI_WORD_ELIF))
        parser_fail(p, "this branch follows no 'if' or loop; check the indentation");
    else if (parser_at_word(p, NKI_WORD_EXCEPT) || parser_at_word(p, NKI_WORD_FINALLY))
        parser_fail(p, "this clause follows no 'try'; check the indentation");
}

void parse_statement_line(struct nki_parser *p) {
    uint32_t start = p->token->start, list = parser_list_start(p);
    if (p->token->kind == NKI_TOKEN_INDENT) {
        parser_fail(p, "this line is indented, but no block starts above it");
    } else {
        refuse_clause(p);
        struct nki_node *node = parse_compound_statement(p);
        if (node)
            parser_list_push(p, node);
        else
            push_simple_statements(p);
    }
    if (!p->failed)
        return;
    p->pending.len = list;
    parser_list_push(p, parser_recover(p, start));
}

struct nki_list parse_suite(struct nki_parser *p, struct nki_node *parent, const char *after) {
    uint32_t list = parser_list_start(p);
    char expected[80];
    snprintf(expected, sizeof expected, "':' after %s", after);
    if (!parser_need_op(p, OP1(':'), expected))
        return parser_list_end(p, parent, list);
    if (p->token->kind != NKI_TOKEN_NEWLINE) {
        push_simple_statements(p);
        return parser_list_end(p, parent, list);
    }
    parser_next(p);
    if (p->token->kind == NKI_TOKEN_INDENT)
        push_block(p);
    else
        nki_fault(p->faults, nki_span_of(parent), "no indented block follows %s", after);
    return parser_list_end(p, parent, list);
}
