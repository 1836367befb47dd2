/* SPDX-License-Identifier: Apache-2.0 */
/* Statements with blocks: if, loops, with, try, functions and classes; match is in
 * parser_match.c. */
#include "nki/syntax/parser.h"

/* A compound statement ends where its last inner statement ends, not at the line end. */
static struct nki_node *close_block(struct nki_node *node, struct nki_list body) {
    if (body.len)
        node->end = MAX_OF(node->end, body.at[body.len - 1]->end);
    return node;
}

static struct nki_list parse_else(struct nki_parser *p, struct nki_node *node,
                                  uint32_t *else_start) {
    struct nki_list none = {0};
    uint32_t start = p->token->start;
    if (!parser_accept_word(p, NKI_WORD_ELSE))
        return none;
    *else_start = start;
    return parse_suite(p, node, "'else'");
}

static struct nki_node *parse_if(struct nki_parser *p);

static struct nki_list parse_elif(struct nki_parser *p, struct nki_node *node) {
    uint32_t list = parser_list_start(p);
    node->if_.else_start = p->token->start;
    struct nki_node *inner = parse_if(p);
    inner->if_.is_elif = true;
    parser_list_push(p, inner);
    return parser_list_end(p, node, list);
}

/* From "if" or "elif" on. */
static struct nki_node *parse_if(struct nki_parser *p) {
    struct nki_node *node = parser_node(p, NKI_IF, p->token->start);
    parser_enter(p);
    parser_next(p);
    node->if_.test = parser_adopt(p, node, parse_named_expression(p));
    parser_close(p, node);
    node->if_.body = parse_suite(p, node, "the condition");
    close_block(node, node->if_.body);
    node->if_.orelse = parser_at_word(p, NKI_WORD_ELIF)
                           ? parse_elif(p, node)
                           : parse_else(p, node, &node->if_.else_start);
    parser_leave(p);
    return close_block(node, node->if_.orelse);
}

static struct nki_node *parse_while(struct nki_parser *p) {
    struct nki_node *node = parser_node(p, NKI_WHILE, p->token->start);
    parser_next(p);
    node->while_.test = parser_adopt(p, node, parse_named_expression(p));
    parser_close(p, node);
    node->while_.body = parse_suite(p, node, "the condition");
    close_block(node, node->while_.body);
    node->while_.orelse = parse_else(p, node, &node->while_.else_start);
    return close_block(node, node->while_.orelse);
}

static struct nki_node *parse_for(struct nki_parser *p) {
    struct nki_node *node = parser_node(p, NKI_FOR, p->token->start);
    parser_next(p);
    node->for_.target = parser_adopt(p, node, parse_target_list(p));
    parser_need_word(p, NKI_WORD_IN, "'in' after the loop variable");
    node->for_.iter = parser_adopt(p, node, parse_expression_list(p));
    parser_close(p, node);
    node->for_.body = parse_suite(p, node, "the loop header");
    close_block(node, node->for_.body);
    node->for_.orelse = parse_else(p, node, &node->for_.else_start);
    return close_block(node, node->for_.orelse);
}

/* ---- with ---------------------------------------------------------------------------------- */

static void push_with_item(struct nki_parser *p) {
    struct nki_node *node = parser_node(p, NKI_WITH_ITEM, p->token->start);
    node->with_item.context_expr = parser_adopt(p, node, parse_expression(p));
    if (parser_accept_word(p, NKI_WORD_AS)) {
        struct nki_node *target = parse_primary(p);
        parser_set_context(p, target, NKI_STORE);
        node->with_item.optional_vars = parser_adopt(p, node, target);
    }
    parser_list_push(p, parser_close(p, node));
}

/* Whether the "(" here encloses all items of the statement: after its ")" comes ":". */
static bool is_item_group(const struct nki_parser *p) {
    int depth = 0;
    if (!parser_at_op(p, OP1('(')))
        return false;
    for (const struct nki_token *token = p->token;
         token->kind != NKI_TOKEN_NEWLINE && token->kind != NKI_TOKEN_END; token++) {
        if (token->kind != NKI_TOKEN_OP)
            continue;
        if (token->op == OP1('(') || token->op == OP1('[') || token->op == OP1('{'))
            depth++;
        else if (token->op == OP1(')') || token->op == OP1(']') || token->op == OP1('}'))
            depth--;
        if (depth == 0)
            return token[1].kind == NKI_TOKEN_OP && token[1].op == OP1(':');
    }
    return false;
}

static struct nki_node *parse_with(struct nki_parser *p) {
    struct nki_node *node = parser_node(p, NKI_WITH, p->token->start);
    parser_next(p);
    bool is_group = is_item_group(p);
    if (is_group)
        parser_next(p);
    uint32_t list = parser_list_start(p);
    do {
        if (is_group && parser_at_op(p, OP1(')')))
            break;
        push_with_item(p);
    } while (parser_accept_op(p, OP1(',')));
    node->with_.items = parser_list_end(p, node, list);
    if (is_group)
        parser_need_op(p, OP1(')'), "',' or ')' after a context");
    parser_close(p, node);
    node->with_.body = parse_suite(p, node, "the context");
    return close_block(node, node->with_.body);
}

/* ---- try ----------------------------------------------------------------------------------- */

static void push_handler(struct nki_parser *p) {
    struct nki_node *node = parser_node(p, NKI_EXCEPT_HANDLER, p->token->start);
    parser_next(p);
    if (parser_at_op(p, OP1('*'))) {
        nki_gap(p->faults, (struct nki_span){p->token->start, p->token->end},
                "hone does not know groups of exceptions yet; use except");
        parser_next(p);
    }
    if (!parser_at_op(p, OP1(':'))) {
        node->except_handler.type = parser_adopt(p, node, parse_expression(p));
        if (parser_accept_word(p, NKI_WORD_AS))
            node->except_handler.name = parser_need_name(p, "a name after 'as'", NULL);
    }
    parser_close(p, node);
    node->except_handler.body = parse_suite(p, node, "'except'");
    parser_list_push(p, close_block(node, node->except_handler.body));
}

static struct nki_node *parse_try(struct nki_parser *p) {
    struct nki_node *node = parser_node(p, NKI_TRY, p->token->start);
    uint32_t ignored;
    parser_next(p);
    parser_close(p, node);
    node->try_.body = parse_suite(p, node, "'try'");
    uint32_t list = parser_list_start(p);
    while (parser_at_word(p, NKI_WORD_EXCEPT))
        push_handler(p);
    node->try_.handlers = parser_list_end(p, node, list);
    if (node->try_.handlers.len)
        node->try_.orelse = parse_else(p, node, &ignored);
    if (parser_accept_word(p, NKI_WORD_FINALLY))
        node->try_.finalbody = parse_suite(p, node, "'finally'");
    else if (!node->try_.handlers.len)
        parser_fail_at(p, node, "this 'try' has no 'except' and no 'finally'");
    close_block(node, node->try_.body);
    close_block(node, node->try_.handlers);
    close_block(node, node->try_.orelse);
    return close_block(node, node->try_.finalbody);
}

/* ---- functions and classes ----------------------------------------------------------------- */

/* "[T: int]" behind the name of a function, a class or a type (Python 3.12). */
static void skip_type_parameters(struct nki_parser *p) {
    int depth = 0;
    if (!parser_at_op(p, OP1('[')))
        return;
    nki_gap(p->faults, (struct nki_span){p->token->start, p->token->end},
            "hone does not know parameters of types yet; leave them out");
    do {
        depth += parser_at_op(p, OP1('[')) - parser_at_op(p, OP1(']'));
        parser_next(p);
    } while (depth && p->token->kind != NKI_TOKEN_NEWLINE && p->token->kind != NKI_TOKEN_END);
}

static struct nki_node *parse_def(struct nki_parser *p) {
    struct nki_node *node = parser_node(p, NKI_FUNCTION_DEF, p->token->start);
    parser_next(p);
    node->function_def.name =
        parser_need_name(p, "the name of the function", &node->function_def.name_span);
    skip_type_parameters(p);
    parser_need_op(p, OP1('('), "'(' and the parameters");
    node->function_def.args = parser_adopt(p, node, parse_parameters(p, OP1(')')));
    parser_need_op(p, OP1(')'), "',' or ')' in the parameters");
    if (parser_accept_op(p, OP2('-', '>')))
        node->function_def.returns = parser_adopt(p, node, parse_expression_list(p));
    parser_close(p, node);
    node->function_def.body = parse_suite(p, node, "the function header");
    return close_block(node, node->function_def.body);
}

static struct nki_node *parse_class(struct nki_parser *p) {
    struct nki_node *node = parser_node(p, NKI_CLASS_DEF, p->token->start);
    parser_next(p);
    node->class_def.name = parser_need_name(p, "the name of the class", &node->class_def.name_span);
    skip_type_parameters(p);
    if (parser_accept_op(p, OP1('(')))
        parse_call_arguments(p, node, &node->class_def.bases, &node->class_def.keywords);
    parser_close(p, node);
    node->class_def.body = parse_suite(p, node, "the class header");
    return close_block(node, node->class_def.body);
}

/* "async" before def, for or with. */
static struct nki_node *parse_async(struct nki_parser *p) {
    uint32_t start = p->token->start;
    struct nki_node *node = NULL;
    parser_next(p);
    if (parser_at_word(p, NKI_WORD_DEF)) {
        node = parse_def(p);
        node->function_def.is_async = true;
    } else if (parser_at_word(p, NKI_WORD_FOR)) {
        node = parse_for(p);
        node->for_.is_async = true;
    } else if (parser_at_word(p, NKI_WORD_WITH)) {
        node = parse_with(p);
        node->with_.is_async = true;
    } else {
        parser_expected(p, "'def', 'for' or 'with' after 'async'");
        node = parser_node(p, NKI_ERROR, start);
    }
    node->start = start;
    return node;
}

static struct nki_node *parse_decorated(struct nki_parser *p) {
    uint32_t list = parser_list_start(p);
    while (parser_accept_op(p, OP1('@'))) {
        parser_list_push(p, parse_named_expression(p));
        if (p->token->kind != NKI_TOKEN_NEWLINE)
            parser_expected(p, "the end of the line after the decorator");
        parser_next(p);
    }
    struct nki_node *node;
    if (parser_at_word(p, NKI_WORD_CLASS)) {
        node = parse_class(p);
        node->class_def.decorators = parser_list_end(p, node, list);
        return node;
    }
    if (parser_at_word(p, NKI_WORD_ASYNC)) {
        node = parse_async(p);
    } else if (parser_at_word(p, NKI_WORD_DEF)) {
        node = parse_def(p);
    } else {
        parser_expected(p, "'def' or 'class' after a decorator");
        node = parser_node(p, NKI_FUNCTION_DEF, 0);
    }
    if (node->kind != NKI_FUNCTION_DEF)
        parser_fail_at(p, node, "a decorator belongs to a function or a class");
    struct nki_list decorators = parser_list_end(p, node, list);
    if (!p->failed)
        node->function_def.decorators = decorators;
    return node;
}

/* ---- which one it is ----------------------------------------------------------------------- */

static const struct {
    enum nki_word word;
    struct nki_node *(*parse)(struct nki_parser *p);
} compound[] = {
    {NKI_WORD_IF, parse_if},   {NKI_WORD_FOR, parse_for},     {NKI_WORD_WHILE, parse_while},
    {NKI_WORD_DEF, parse_def}, {NKI_WORD_WITH, parse_with},   {NKI_WORD_CLASS, parse_class},
    {NKI_WORD_TRY, parse_try}, {NKI_WORD_ASYNC, parse_async},
};

struct nki_node *parse_compound_statement(struct nki_parser *p) {
    if (parser_at_op(p, OP1('@')))
        return parse_decorated(p);
    if (parser_at_match(p))
        return parse_match(p);
    for (size_t i = 0; i < COUNT_OF(compound); i++)
        if (parser_at_word(p, compound[i].word))
            return compound[i].parse(p);
    return NULL;
}
