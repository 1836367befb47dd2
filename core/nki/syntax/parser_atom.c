/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions that are read from left to right without operators: names, literals, brackets and
 * their comprehensions, and the attributes, calls and subscripts after them. */
#include "nki/syntax/parser.h"

static struct nki_node *constant(struct nki_parser *p, enum nki_constant type) {
    struct nki_node *node = parser_node(p, NKI_CONSTANT, p->token->start);
    node->constant.type = type;
    parser_next(p);
    return parser_close(p, node);
}

static bool at_for(const struct nki_parser *p) {
    return parser_at_word(p, NKI_WORD_FOR) ||
           (parser_at_word(p, NKI_WORD_ASYNC) && p->tokens[p->at + 1].kind == NKI_TOKEN_KEYWORD &&
            p->tokens[p->at + 1].word == NKI_WORD_FOR);
}

static struct nki_node *parse_clause(struct nki_parser *p) {
    struct nki_node *node = parser_node(p, NKI_COMPREHENSION, p->token->start);
    node->comprehension.is_async = parser_accept_word(p, NKI_WORD_ASYNC);
    parser_next(p);
    node->comprehension.target = parser_adopt(p, node, parse_target_list(p));
    parser_need_word(p, NKI_WORD_IN, "'in' after the target of the comprehension");
    node->comprehension.iter = parser_adopt(p, node, parse_disjunction(p));
    uint32_t list = parser_list_start(p);
    while (parser_accept_word(p, NKI_WORD_IF))
        parser_list_push(p, parse_disjunction(p));
    node->comprehension.ifs = parser_list_end(p, node, list);
    return parser_close(p, node);
}

/* The clauses "for ... in ... if ...", which become children of `parent`. */
static struct nki_list parse_generators(struct nki_parser *p, struct nki_node *parent) {
    uint32_t list = parser_list_start(p);
    while (at_for(p))
        parser_list_push(p, parse_clause(p));
    return parser_list_end(p, parent, list);
}

static struct nki_node *comprehension(struct nki_parser *p, enum nki_kind kind, uint32_t start,
                                      struct nki_node *elt) {
    struct nki_node *node = parser_node(p, kind, start);
    if (elt->kind == NKI_STARRED)
        parser_fail_at(p, elt, "a comprehension cannot unpack with '*'");
    node->comp.elt = parser_adopt(p, node, elt);
    node->comp.generators = parse_generators(p, node);
    return node;
}

/* The rest of a list, set or parenthesised tuple after its first element. Takes the closing
 * bracket. */
static struct nki_list rest_of_display(struct nki_parser *p, struct nki_node *node,
                                       struct nki_node *first, char close) {
    static const char *const expected[] = {"',' or ')'", "',' or ']'", "',' or '}'"};
    uint32_t list = parser_list_start(p);
    parser_list_push(p, first);
    while (parser_accept_op(p, OP1(',')) && !parser_at_op(p, OP1(close)))
        parser_list_push(p, parse_star_named(p));
    parser_need_op(p, OP1(close), expected[close == ')' ? 0 : close == ']' ? 1 : 2]);
    return parser_list_end(p, node, list);
}

static struct nki_node *empty_tuple(struct nki_parser *p, uint32_t start) {
    struct nki_node *node = parser_node(p, NKI_TUPLE, start);
    node->tuple.in_parens = true;
    return parser_close(p, node);
}

static struct nki_node *add_parens(struct nki_parser *p, struct nki_node *node) {
    parser_need_op(p, OP1(')'), "',' or ')'");
    if (node->kind == NKI_STARRED)
        parser_fail_at(p, node, "'*' unpacks inside a list, tuple or call only");
    node->parens += node->parens < UINT8_MAX;
    return node;
}

static struct nki_node *parse_group(struct nki_parser *p) {
    uint32_t start = p->token->start;
    parser_next(p);
    if (parser_accept_op(p, OP1(')')))
        return empty_tuple(p, start);
    if (parser_at_word(p, NKI_WORD_YIELD))
        return add_parens(p, parse_yield_or_list(p));
    struct nki_node *first = parse_star_named(p);
    if (at_for(p)) {
        struct nki_node *node = comprehension(p, NKI_GENERATOR_EXP, start, first);
        parser_need_op(p, OP1(')'), "')' after the generator");
        return parser_close(p, node);
    }
    if (!parser_at_op(p, OP1(',')))
        return add_parens(p, first);
    struct nki_node *node = parser_node(p, NKI_TUPLE, start);
    node->tuple.in_parens = true;
    node->tuple.elts = rest_of_display(p, node, first, ')');
    return parser_close(p, node);
}

static struct nki_node *parse_list_display(struct nki_parser *p) {
    uint32_t start = p->token->start;
    parser_next(p);
    if (parser_accept_op(p, OP1(']')))
        return parser_close(p, parser_node(p, NKI_LIST, start));
    struct nki_node *first = parse_star_named(p);
    struct nki_node *node;
    if (at_for(p)) {
        node = comprehension(p, NKI_LIST_COMP, start, first);
        parser_need_op(p, OP1(']'), "']' after the comprehension");
    } else {
        node = parser_node(p, NKI_LIST, start);
        node->list.elts = rest_of_display(p, node, first, ']');
    }
    return parser_close(p, node);
}

/* ---- dictionaries and sets ----------------------------------------------------------------- */

static struct nki_node *dict_value(struct nki_parser *p) {
    parser_need_op(p, OP1(':'), "':' between key and value");
    return parse_expression(p);
}

/* Pushes one key (NULL for `**x`) and one value. */
static void push_entry(struct nki_parser *p) {
    if (parser_accept_op(p, OP2('*', '*'))) {
        parser_list_push(p, NULL);
        parser_list_push(p, parse_binary(p, 7));
        return;
    }
    parser_list_push(p, parse_expression(p));
    parser_list_push(p, dict_value(p));
}

/* Splits the pending key, value, key, value ... into the two lists of the node. */
static void split_entries(struct nki_parser *p, struct nki_node *node, uint32_t start) {
    uint32_t n = (uint32_t)(p->pending.len - start) / 2;
    struct nki_node **both = ARENA_ARRAY(p->arena, struct nki_node *, 2 * (size_t)n);
    for (uint32_t i = 0; i < n; i++) {
        both[i] = parser_adopt(p, node, p->pending.at[start + 2 * i]);
        both[n + i] = parser_adopt(p, node, p->pending.at[start + 2 * i + 1]);
    }
    node->dict.keys = (struct nki_list){both, n};
    node->dict.values = (struct nki_list){both + n, n};
    p->pending.len = start;
}

/* A dictionary from its first entry on. That entry's key (NULL for `**x`) and value are pending. */
static struct nki_node *rest_of_dict(struct nki_parser *p, uint32_t start, uint32_t list) {
    struct nki_node *node = parser_node(p, NKI_DICT, start);
    while (parser_accept_op(p, OP1(',')) && !parser_at_op(p, OP1('}')))
        push_entry(p);
    parser_need_op(p, OP1('}'), "',' or '}'");
    split_entries(p, node, list);
    return parser_close(p, node);
}

static struct nki_node *dict_comprehension(struct nki_parser *p, uint32_t start,
                                           struct nki_node *key, struct nki_node *value) {
    struct nki_node *node = parser_node(p, NKI_DICT_COMP, start);
    node->dict_comp.key = parser_adopt(p, node, key);
    node->dict_comp.value = parser_adopt(p, node, value);
    node->dict_comp.generators = parse_generators(p, node);
    parser_need_op(p, OP1('}'), "'}' after the comprehension");
    return parser_close(p, node);
}

/* After `{key`: the value and the rest of a dictionary or a comprehension. */
static struct nki_node *dict_after_key(struct nki_parser *p, uint32_t start, struct nki_node *key) {
    struct nki_node *value = dict_value(p);
    if (at_for(p))
        return dict_comprehension(p, start, key, value);
    uint32_t list = parser_list_start(p);
    parser_list_push(p, key);
    parser_list_push(p, value);
    return rest_of_dict(p, start, list);
}

static struct nki_node *set_after_first(struct nki_parser *p, uint32_t start,
                                        struct nki_node *first) {
    struct nki_node *node;
    if (at_for(p)) {
        node = comprehension(p, NKI_SET_COMP, start, first);
        parser_need_op(p, OP1('}'), "'}' after the comprehension");
    } else {
        node = parser_node(p, NKI_SET, start);
        node->set.elts = rest_of_display(p, node, first, '}');
    }
    return parser_close(p, node);
}

static struct nki_node *parse_braces(struct nki_parser *p) {
    uint32_t start = p->token->start, list = parser_list_start(p);
    parser_next(p);
    if (parser_accept_op(p, OP1('}')))
        return parser_close(p, parser_node(p, NKI_DICT, start));
    if (parser_at_op(p, OP2('*', '*'))) {
        push_entry(p);
        return rest_of_dict(p, start, list);
    }
    struct nki_node *first = parse_star_named(p);
    if (parser_at_op(p, OP1(':')) && first->kind != NKI_STARRED)
        return dict_after_key(p, start, first);
    return set_after_first(p, start, first);
}

/* ---- atoms --------------------------------------------------------------------------------- */

static struct nki_node *parse_keyword_atom(struct nki_parser *p) {
    if (parser_at_word(p, NKI_WORD_NONE))
        return constant(p, NKI_CONST_NONE);
    if (parser_at_word(p, NKI_WORD_TRUE))
        return constant(p, NKI_CONST_TRUE);
    if (parser_at_word(p, NKI_WORD_FALSE))
        return constant(p, NKI_CONST_FALSE);
    parser_expected(p, "an expression");
    return parser_node(p, NKI_ERROR, 0);
}

static struct nki_node *parse_name(struct nki_parser *p) {
    struct nki_node *node = parser_node(p, NKI_NAME, p->token->start);
    node->name.id = nki_text(p->tree, (struct nki_span){p->token->start, p->token->end});
    parser_next(p);
    return parser_close(p, node);
}

static struct nki_node *parse_atom(struct nki_parser *p) {
    switch (p->token->kind) {
    case NKI_TOKEN_NAME: return parse_name(p);
    case NKI_TOKEN_NUMBER: return parse_number(p);
    case NKI_TOKEN_STRING: return parse_strings(p);
    case NKI_TOKEN_KEYWORD: return parse_keyword_atom(p);
    default: break;
    }
    if (parser_at_op(p, OP1('(')))
        return parse_group(p);
    if (parser_at_op(p, OP1('[')))
        return parse_list_display(p);
    if (parser_at_op(p, OP1('{')))
        return parse_braces(p);
    if (parser_at_op(p, OP3('.', '.', '.')))
        return constant(p, NKI_CONST_ELLIPSIS);
    parser_expected(p, "an expression");
    return parser_node(p, NKI_ERROR, 0);
}

/* ---- attributes, calls, subscripts --------------------------------------------------------- */

static struct nki_node *parse_keyword_argument(struct nki_parser *p) {
    struct nki_node *node = parser_node(p, NKI_KEYWORD, p->token->start);
    if (!parser_accept_op(p, OP2('*', '*'))) {
        node->keyword.name = parser_need_name(p, "a keyword", NULL);
        parser_need_op(p, OP1('='), "'=' after the keyword");
    }
    node->keyword.value = parser_adopt(p, node, parse_expression(p));
    return parser_close(p, node);
}

static bool at_keyword_argument(const struct nki_parser *p) {
    if (parser_at_op(p, OP2('*', '*')))
        return true;
    const struct nki_token *following = p->tokens + p->at + 1;
    return p->token->kind == NKI_TOKEN_NAME && following->kind == NKI_TOKEN_OP &&
           following->op == OP1('=');
}

/* In a call, "*" takes a whole expression, as in f(*a if b else c). */
static struct nki_node *starred_argument(struct nki_parser *p) {
    struct nki_node *node = parser_node(p, NKI_STARRED, p->token->start);
    parser_next(p);
    node->starred.value = parser_adopt(p, node, parse_expression(p));
    return parser_close(p, node);
}

/* Pushes one positional argument. A generator must be the only one. */
static void push_positional(struct nki_parser *p, bool is_after_keyword) {
    uint32_t start = p->token->start;
    struct nki_node *node =
        parser_at_op(p, OP1('*')) ? starred_argument(p) : parse_named_expression(p);
    if (at_for(p))
        node = parser_close(p, comprehension(p, NKI_GENERATOR_EXP, start, node));
    if (is_after_keyword && node->kind != NKI_STARRED)
        parser_fail_at(p, node,
                       "a positional argument stands after a keyword argument; give it a "
                       "keyword or move it to the front");
    parser_list_push(p, node);
}

/* Splits the pending arguments into positional ones and keywords, each in order. */
static void split_arguments(struct nki_parser *p, struct nki_node *parent, uint32_t start,
                            struct nki_list *lists) {
    uint32_t n = (uint32_t)p->pending.len - start;
    if (n == 0)
        return;
    struct nki_node **all = ARENA_ARRAY(p->arena, struct nki_node *, n);
    uint32_t used = 0;
    for (int is_keyword = 0; is_keyword < 2; is_keyword++) {
        lists[is_keyword].at = all + used;
        for (uint32_t i = 0; i < n; i++)
            if ((p->pending.at[start + i]->kind == NKI_KEYWORD) == is_keyword)
                all[used++] = parser_adopt(p, parent, p->pending.at[start + i]);
        lists[is_keyword].len = used - (is_keyword ? lists[0].len : 0);
    }
    p->pending.len = start;
}

void parse_call_arguments(struct nki_parser *p, struct nki_node *parent, struct nki_list *args,
                          struct nki_list *keywords) {
    uint32_t list = parser_list_start(p);
    bool has_keyword = false;
    while (!parser_at_op(p, OP1(')')) && !p->failed) {
        if (at_keyword_argument(p)) {
            has_keyword = true;
            parser_list_push(p, parse_keyword_argument(p));
        } else {
            push_positional(p, has_keyword);
        }
        if (!parser_accept_op(p, OP1(',')))
            break;
    }
    parser_need_op(p, OP1(')'), "',' or ')' in the arguments");
    struct nki_list lists[2] = {0};
    split_arguments(p, parent, list, lists);
    *args = lists[0];
    *keywords = lists[1];
}

static struct nki_node *parse_call(struct nki_parser *p, uint32_t start, struct nki_node *func) {
    struct nki_node *node = parser_node(p, NKI_CALL, start);
    parser_next(p);
    node->call.func = parser_adopt(p, node, func);
    parse_call_arguments(p, node, &node->call.args, &node->call.keywords);
    return parser_close(p, node);
}

static struct nki_node *slice_part(struct nki_parser *p, struct nki_node *node) {
    if (parser_at_op(p, OP1(':')) || parser_at_op(p, OP1(',')) || parser_at_op(p, OP1(']')))
        return NULL;
    return parser_adopt(p, node, parse_expression(p));
}

static struct nki_node *parse_slice(struct nki_parser *p) {
    uint32_t start = p->token->start;
    struct nki_node *lower = NULL;
    if (!parser_at_op(p, OP1(':'))) {
        lower = parse_star_named(p);
        if (!parser_at_op(p, OP1(':')))
            return lower;
    }
    struct nki_node *node = parser_node(p, NKI_SLICE, start);
    parser_next(p);
    node->slice.lower = parser_adopt(p, node, lower);
    node->slice.upper = slice_part(p, node);
    if (parser_accept_op(p, OP1(':')))
        node->slice.step = slice_part(p, node);
    return parser_close(p, node);
}

static struct nki_node *parse_slices(struct nki_parser *p) {
    uint32_t start = p->token->start;
    struct nki_node *first = parse_slice(p);
    if (!parser_at_op(p, OP1(',')))
        return first;
    struct nki_node *node = parser_node(p, NKI_TUPLE, start);
    uint32_t list = parser_list_start(p);
    parser_list_push(p, first);
    while (parser_accept_op(p, OP1(',')) && !parser_at_op(p, OP1(']')))
        parser_list_push(p, parse_slice(p));
    node->tuple.elts = parser_list_end(p, node, list);
    return parser_close(p, node);
}

static struct nki_node *parse_subscript(struct nki_parser *p, uint32_t start,
                                        struct nki_node *value) {
    struct nki_node *node = parser_node(p, NKI_SUBSCRIPT, start);
    parser_next(p);
    node->subscript.value = parser_adopt(p, node, value);
    node->subscript.slice = parser_adopt(p, node, parse_slices(p));
    parser_need_op(p, OP1(']'), "',' or ']' in the subscript");
    return parser_close(p, node);
}

static struct nki_node *parse_attribute(struct nki_parser *p, uint32_t start,
                                        struct nki_node *value) {
    struct nki_node *node = parser_node(p, NKI_ATTRIBUTE, start);
    parser_next(p);
    node->attribute.value = parser_adopt(p, node, value);
    node->attribute.attr = parser_need_name(p, "a name after '.'", &node->attribute.attr_span);
    return parser_close(p, node);
}

static struct nki_node *parse_await(struct nki_parser *p) {
    struct nki_node *node = parser_node(p, NKI_AWAIT, p->token->start);
    parser_next(p);
    parser_enter(p);
    node->await.value = parser_adopt(p, node, parse_primary(p));
    parser_leave(p);
    return parser_close(p, node);
}

struct nki_node *parse_primary(struct nki_parser *p) {
    uint32_t start = p->token->start;
    if (parser_at_word(p, NKI_WORD_AWAIT))
        return parse_await(p);
    struct nki_node *node = parse_atom(p);
    for (;;) {
        if (parser_at_op(p, OP1('.')))
            node = parse_attribute(p, start, node);
        else if (parser_at_op(p, OP1('(')))
            node = parse_call(p, start, node);
        else if (parser_at_op(p, OP1('[')))
            node = parse_subscript(p, start, node);
        else
            return node;
    }
}
