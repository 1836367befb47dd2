/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions by falling precedence, down to subscripts and calls. What has no operators (names,
 * literals, displays) is in parser_atom.c. Chains of operators are loops. So the depth of the
 * recursion follows the nesting of the source, and parser_enter bounds it. */
#include "nki/syntax/parser.h"

static const struct {
    uint32_t op;
    enum nki_binary binary;
} binary_ops[] = {
    {OP1('|'), NKI_BIT_OR},
    {OP1('^'), NKI_BIT_XOR},
    {OP1('&'), NKI_BIT_AND},
    {OP2('<', '<'), NKI_SHIFT_LEFT},
    {OP2('>', '>'), NKI_SHIFT_RIGHT},
    {OP1('+'), NKI_ADD},
    {OP1('-'), NKI_SUB},
    {OP1('*'), NKI_MUL},
    {OP1('@'), NKI_MATMUL},
    {OP1('/'), NKI_DIV},
    {OP2('/', '/'), NKI_FLOOR_DIV},
    {OP1('%'), NKI_MOD},
};

static const int binary_precedence[] = {
#define X(id, text, precedence) precedence,
    NKI_BINARY_TABLE(X)
#undef X
};

static bool at_binary(const struct nki_parser *p, int precedence, enum nki_binary *op) {
    if (p->token->kind != NKI_TOKEN_OP)
        return false;
    for (size_t i = 0; i < COUNT_OF(binary_ops); i++)
        if (binary_ops[i].op == p->token->op) {
            *op = binary_ops[i].binary;
            return binary_precedence[*op] >= precedence;
        }
    return false;
}

static struct nki_node *binary_node(struct nki_parser *p, uint32_t start, struct nki_node *left,
                                    enum nki_binary op) {
    struct nki_node *node = parser_node(p, NKI_BIN_OP, start);
    node->bin_op.op = op;
    node->bin_op.op_span = (struct nki_span){p->token->start, p->token->end};
    node->bin_op.left = parser_adopt(p, node, left);
    parser_next(p);
    return node;
}

static struct nki_node *parse_unary(struct nki_parser *p);

static struct nki_node *parse_power(struct nki_parser *p) {
    uint32_t start = p->token->start;
    struct nki_node *left = parse_primary(p);
    if (!parser_at_op(p, OP2('*', '*')))
        return left;
    struct nki_node *node = binary_node(p, start, left, NKI_POW);
    parser_enter(p);
    node->bin_op.right = parser_adopt(p, node, parse_unary(p));
    parser_leave(p);
    return parser_close(p, node);
}

static struct nki_node *unary_node(struct nki_parser *p, enum nki_unary op,
                                   struct nki_node *(*parse_operand)(struct nki_parser *p)) {
    struct nki_node *node = parser_node(p, NKI_UNARY_OP, p->token->start);
    parser_next(p);
    parser_enter(p);
    node->unary_op.op = op;
    node->unary_op.operand = parser_adopt(p, node, parse_operand(p));
    parser_leave(p);
    return parser_close(p, node);
}

static struct nki_node *parse_unary(struct nki_parser *p) {
    if (parser_at_op(p, OP1('-')))
        return unary_node(p, NKI_UNARY_MINUS, parse_unary);
    if (parser_at_op(p, OP1('+')))
        return unary_node(p, NKI_UNARY_PLUS, parse_unary);
    if (parser_at_op(p, OP1('~')))
        return unary_node(p, NKI_UNARY_INVERT, parse_unary);
    return parse_power(p);
}

struct nki_node *parse_binary(struct nki_parser *p, int precedence) {
    uint32_t start = p->token->start;
    struct nki_node *left = parse_unary(p);
    enum nki_binary op;
    while (at_binary(p, precedence, &op)) {
        struct nki_node *node = binary_node(p, start, left, op);
        node->bin_op.right = parser_adopt(p, node, parse_binary(p, binary_precedence[op] + 1));
        left = parser_close(p, node);
    }
    return left;
}

/* ---- comparisons, not, and, or ------------------------------------------------------------- */

static const struct {
    uint32_t op;
    enum nki_comparison comparison;
} comparisons[] = {
    {OP2('=', '='), NKI_CMP_EQ},   {OP2('!', '='), NKI_CMP_NOT_EQ}, {OP1('<'), NKI_CMP_LT},
    {OP2('<', '='), NKI_CMP_LT_E}, {OP1('>'), NKI_CMP_GT},          {OP2('>', '='), NKI_CMP_GT_E},
};

static bool accept_word_comparison(struct nki_parser *p, enum nki_comparison *op) {
    if (parser_accept_word(p, NKI_WORD_IN)) {
        *op = NKI_CMP_IN;
        return true;
    }
    if (parser_accept_word(p, NKI_WORD_IS)) {
        *op = parser_accept_word(p, NKI_WORD_NOT) ? NKI_CMP_IS_NOT : NKI_CMP_IS;
        return true;
    }
    if (!parser_accept_word(p, NKI_WORD_NOT))
        return false;
    *op = NKI_CMP_NOT_IN;
    return parser_need_word(p, NKI_WORD_IN, "'in' after 'not'");
}

static bool accept_comparison(struct nki_parser *p, enum nki_comparison *op) {
    if (p->token->kind == NKI_TOKEN_KEYWORD)
        return accept_word_comparison(p, op);
    if (p->token->kind != NKI_TOKEN_OP)
        return false;
    for (size_t i = 0; i < COUNT_OF(comparisons); i++)
        if (comparisons[i].op == p->token->op) {
            *op = comparisons[i].comparison;
            parser_next(p);
            return true;
        }
    return false;
}

static struct nki_node *parse_comparison(struct nki_parser *p) {
    uint32_t start = p->token->start;
    struct nki_node *left = parse_binary(p, binary_precedence[NKI_BIT_OR]);
    enum nki_comparison op;
    if (!accept_comparison(p, &op))
        return left;
    struct nki_node *node = parser_node(p, NKI_COMPARE, start);
    VEC(uint8_t) ops = {0};
    uint32_t list = parser_list_start(p);
    do {
        *vec_push(&ops) = (uint8_t)op;
        parser_list_push(p, parse_binary(p, binary_precedence[NKI_BIT_OR]));
    } while (accept_comparison(p, &op));
    node->compare.left = parser_adopt(p, node, left);
    node->compare.comparators = parser_list_end(p, node, list);
    node->compare.ops = arena_dup(p->arena, ops.at, ops.len);
    vec_free(&ops);
    return parser_close(p, node);
}

static struct nki_node *parse_inversion(struct nki_parser *p) {
    if (parser_at_word(p, NKI_WORD_NOT))
        return unary_node(p, NKI_UNARY_NOT, parse_inversion);
    return parse_comparison(p);
}

static struct nki_node *parse_bool_op(struct nki_parser *p, enum nki_bool_op op) {
    enum nki_word word = op == NKI_AND ? NKI_WORD_AND : NKI_WORD_OR;
    uint32_t start = p->token->start;
    struct nki_node *first = op == NKI_AND ? parse_inversion(p) : parse_bool_op(p, NKI_AND);
    if (!parser_at_word(p, word))
        return first;
    struct nki_node *node = parser_node(p, NKI_BOOL_OP, start);
    uint32_t list = parser_list_start(p);
    parser_list_push(p, first);
    while (parser_accept_word(p, word))
        parser_list_push(p, op == NKI_AND ? parse_inversion(p) : parse_bool_op(p, NKI_AND));
    node->bool_op.op = op;
    node->bool_op.values = parser_list_end(p, node, list);
    return parser_close(p, node);
}

struct nki_node *parse_disjunction(struct nki_parser *p) {
    return parse_bool_op(p, NKI_OR);
}

/* ---- whole expressions --------------------------------------------------------------------- */

static struct nki_node *parse_lambda(struct nki_parser *p) {
    struct nki_node *node = parser_node(p, NKI_LAMBDA, p->token->start);
    parser_next(p);
    node->lambda.args = parser_adopt(p, node, parse_parameters(p, OP1(':')));
    parser_need_op(p, OP1(':'), "':' after the parameters of the lambda");
    node->lambda.body = parser_adopt(p, node, parse_expression(p));
    return parser_close(p, node);
}

static struct nki_node *parse_conditional(struct nki_parser *p) {
    uint32_t start = p->token->start;
    struct nki_node *body = parse_disjunction(p);
    if (!parser_accept_word(p, NKI_WORD_IF))
        return body;
    struct nki_node *node = parser_node(p, NKI_IF_EXP, start);
    node->if_exp.body = parser_adopt(p, node, body);
    node->if_exp.test = parser_adopt(p, node, parse_disjunction(p));
    parser_need_word(p, NKI_WORD_ELSE, "'else' of the conditional expression");
    node->if_exp.orelse = parser_adopt(p, node, parse_expression(p));
    return parser_close(p, node);
}

struct nki_node *parse_expression(struct nki_parser *p) {
    parser_enter(p);
    struct nki_node *node =
        parser_at_word(p, NKI_WORD_LAMBDA) ? parse_lambda(p) : parse_conditional(p);
    parser_leave(p);
    return node;
}

struct nki_node *parse_named_expression(struct nki_parser *p) {
    uint32_t start = p->token->start;
    struct nki_node *target = parse_expression(p);
    if (!parser_at_op(p, OP2(':', '=')))
        return target;
    if (target->kind != NKI_NAME || target->parens) {
        parser_fail_at(p, target, "':=' assigns to a name only");
        return target;
    }
    struct nki_node *node = parser_node(p, NKI_NAMED_EXPR, start);
    parser_next(p);
    target->context = NKI_STORE;
    node->named_expr.target = parser_adopt(p, node, target);
    node->named_expr.value = parser_adopt(p, node, parse_expression(p));
    return parser_close(p, node);
}

static struct nki_node *starred(struct nki_parser *p) {
    struct nki_node *node = parser_node(p, NKI_STARRED, p->token->start);
    parser_next(p);
    node->starred.value = parser_adopt(p, node, parse_binary(p, binary_precedence[NKI_BIT_OR]));
    return parser_close(p, node);
}

struct nki_node *parse_star_named(struct nki_parser *p) {
    return parser_at_op(p, OP1('*')) ? starred(p) : parse_named_expression(p);
}

bool parser_at_expression(const struct nki_parser *p) {
    static const enum nki_word words[] = {NKI_WORD_FALSE, NKI_WORD_NONE,   NKI_WORD_TRUE,
                                          NKI_WORD_AWAIT, NKI_WORD_LAMBDA, NKI_WORD_NOT};
    static const uint32_t ops[] = {OP1('('), OP1('['), OP1('{'), OP1('-'),
                                   OP1('+'), OP1('~'), OP1('*'), OP3('.', '.', '.')};
    switch (p->token->kind) {
    case NKI_TOKEN_NAME:
    case NKI_TOKEN_NUMBER:
    case NKI_TOKEN_STRING: return true;
    case NKI_TOKEN_KEYWORD:
        for (size_t i = 0; i < COUNT_OF(words); i++)
            if (p->token->word == words[i])
                return true;
        return false;
    default:
        for (size_t i = 0; i < COUNT_OF(ops); i++)
            if (parser_at_op(p, ops[i]))
                return true;
        return false;
    }
}

/* One `element` or, with commas, a tuple of them. */
static struct nki_node *tuple_of(struct nki_parser *p,
                                 struct nki_node *(*element)(struct nki_parser *p)) {
    uint32_t start = p->token->start;
    struct nki_node *first = element(p);
    if (!parser_at_op(p, OP1(',')))
        return first;
    struct nki_node *node = parser_node(p, NKI_TUPLE, start);
    uint32_t list = parser_list_start(p);
    parser_list_push(p, first);
    while (parser_accept_op(p, OP1(',')) && parser_at_expression(p))
        parser_list_push(p, element(p));
    node->tuple.elts = parser_list_end(p, node, list);
    return parser_close(p, node);
}

static struct nki_node *star_expression(struct nki_parser *p) {
    return parser_at_op(p, OP1('*')) ? starred(p) : parse_expression(p);
}

struct nki_node *parse_expression_list(struct nki_parser *p) {
    return tuple_of(p, star_expression);
}

static struct nki_node *star_target(struct nki_parser *p) {
    return parser_at_op(p, OP1('*')) ? starred(p) : parse_binary(p, binary_precedence[NKI_BIT_OR]);
}

struct nki_node *parse_target_list(struct nki_parser *p) {
    struct nki_node *target = tuple_of(p, star_target);
    parser_set_context(p, target, NKI_STORE);
    return target;
}

struct nki_node *parse_yield_or_list(struct nki_parser *p) {
    if (!parser_at_word(p, NKI_WORD_YIELD))
        return parse_expression_list(p);
    struct nki_node *node = parser_node(p, NKI_YIELD, p->token->start);
    parser_next(p);
    if (parser_accept_word(p, NKI_WORD_FROM)) {
        node->kind = NKI_YIELD_FROM;
        node->yield.value = parser_adopt(p, node, parse_expression(p));
    } else if (parser_at_expression(p)) {
        node->yield.value = parser_adopt(p, node, parse_expression_list(p));
    }
    return parser_close(p, node);
}

/* ---- targets ------------------------------------------------------------------------------- */

static const char *what_it_is(const struct nki_node *node) {
    switch (node->kind) {
    case NKI_CALL: return "the result of a call";
    case NKI_CONSTANT:
    case NKI_JOINED_STR: return "a constant";
    case NKI_COMPARE: return "a comparison (did you mean '=' instead of '==')";
    case NKI_IF_EXP: return "a conditional expression";
    case NKI_LAMBDA: return "a lambda";
    default: return "an expression";
    }
}

static void set_list_context(struct nki_parser *p, struct nki_list list, enum nki_context context) {
    for (uint32_t i = 0; i < list.len; i++)
        parser_set_context(p, list.at[i], context);
}

void parser_set_context(struct nki_parser *p, struct nki_node *node, enum nki_context context) {
    if (p->failed)
        return;
    node->context = (uint8_t)context;
    switch (node->kind) {
    case NKI_NAME:
    case NKI_ATTRIBUTE:
    case NKI_SUBSCRIPT: return;
    case NKI_TUPLE: set_list_context(p, node->tuple.elts, context); return;
    case NKI_LIST: set_list_context(p, node->list.elts, context); return;
    case NKI_STARRED:
        if (context == NKI_STORE) {
            parser_set_context(p, node->starred.value, context);
            return;
        }
        break;
    default: break;
    }
    parser_fail_at(p, node,
                   "cannot %s %s; a name, attribute, subscript or a list of them is "
                   "allowed here",
                   context == NKI_DEL ? "delete" : "assign to", what_it_is(node));
}
