/* SPDX-License-Identifier: Apache-2.0 */
/* The match statement. "match", "case" and "_" are names everywhere else. A pattern is no
 * expression: its nodes are a kind of their own, and what it binds are names that are stored. */
#include "nki/syntax/parser.h"

static bool at_name(const struct nki_parser *p, const struct nki_token *token, const char *name) {
    return token->kind == NKI_TOKEN_NAME &&
           str_is(nki_text(p->tree, (struct nki_span){token->start, token->end}), name);
}

/* "match" is a name, unless its line ends in ":" and an indented "case" follows. */
bool parser_at_match(const struct nki_parser *p) {
    if (!at_name(p, p->token, "match"))
        return false;
    const struct nki_token *token = p->token + 1;
    while (token->kind != NKI_TOKEN_NEWLINE && token->kind != NKI_TOKEN_END)
        token++;
    return token->kind == NKI_TOKEN_NEWLINE && token[-1].kind == NKI_TOKEN_OP &&
           token[-1].op == OP1(':') && token[1].kind == NKI_TOKEN_INDENT &&
           at_name(p, &token[2], "case");
}

/* ---- literals and names ---------------------------------------------------------------------- */

static struct nki_node *parse_pattern(struct nki_parser *p);

static struct nki_node *value_pattern(struct nki_parser *p, struct nki_node *value) {
    struct nki_node *node = parser_node(p, NKI_MATCH_VALUE, value->start);
    if (value->kind == NKI_JOINED_STR)
        parser_fail_at(p, value, "a pattern cannot be an f-string");
    node->match_value.value = parser_adopt(p, node, value);
    return parser_close(p, node);
}

/* A number with its sign, or a complex one: -1, 1 + 2j. Above the precedence of shifts, so that "|"
 * is left to the pattern. */
static struct nki_node *parse_number_value(struct nki_parser *p) {
    struct nki_node *value = parse_binary(p, 11), *at = value;
    if (at->kind == NKI_BIN_OP && (at->bin_op.op == NKI_ADD || at->bin_op.op == NKI_SUB) &&
        at->bin_op.right->kind == NKI_CONSTANT &&
        at->bin_op.right->constant.type == NKI_CONST_IMAGINARY)
        at = at->bin_op.left;
    if (at->kind == NKI_UNARY_OP && at->unary_op.op == NKI_UNARY_MINUS)
        at = at->unary_op.operand;
    if (!p->failed && (at->kind != NKI_CONSTANT || at->constant.type < NKI_CONST_INT ||
                       at->constant.type > NKI_CONST_IMAGINARY))
        parser_fail_at(p, value, "a pattern is no expression; write the value as a literal");
    return value;
}

static bool at_literal(const struct nki_parser *p) {
    return p->token->kind == NKI_TOKEN_NUMBER || p->token->kind == NKI_TOKEN_STRING ||
           parser_at_op(p, OP1('-')) || parser_at_word(p, NKI_WORD_NONE) ||
           parser_at_word(p, NKI_WORD_TRUE) || parser_at_word(p, NKI_WORD_FALSE);
}

static struct nki_node *parse_literal(struct nki_parser *p) {
    if (p->token->kind == NKI_TOKEN_STRING)
        return parse_strings(p);
    return p->token->kind == NKI_TOKEN_KEYWORD ? parse_primary(p) : parse_number_value(p);
}

static struct nki_node *parse_plain_name(struct nki_parser *p, enum nki_context context) {
    struct nki_node *node = parser_node(p, NKI_NAME, p->token->start);
    node->name.id = parser_need_name(p, "a name in the pattern", NULL);
    node->context = (uint8_t)context;
    return parser_close(p, node);
}

/* a.b.c; a name alone, too. */
static struct nki_node *parse_dotted_name(struct nki_parser *p) {
    uint32_t start = p->token->start;
    struct nki_node *node = parse_plain_name(p, NKI_LOAD);
    while (parser_accept_op(p, OP1('.'))) {
        struct nki_node *outer = parser_node(p, NKI_ATTRIBUTE, start);
        outer->attribute.value = parser_adopt(p, outer, node);
        outer->attribute.attr =
            parser_need_name(p, "a name after '.'", &outer->attribute.attr_span);
        node = parser_close(p, outer);
    }
    return node;
}

/* The name that a pattern binds; NULL: it is "_". */
static struct nki_node *parse_capture(struct nki_parser *p) {
    if (!at_name(p, p->token, "_"))
        return parse_plain_name(p, NKI_STORE);
    parser_next(p);
    return NULL;
}

/* ---- patterns of several parts --------------------------------------------------------------- */

static struct nki_node *parse_star(struct nki_parser *p) {
    struct nki_node *node = parser_node(p, NKI_MATCH_STAR, p->token->start);
    parser_next(p);
    node->match_star.name = parser_adopt(p, node, parse_capture(p));
    return parser_close(p, node);
}

static struct nki_node *parse_element(struct nki_parser *p) {
    return parser_at_op(p, OP1('*')) ? parse_star(p) : parse_pattern(p);
}

static void check_stars(struct nki_parser *p, const struct nki_list *list) {
    int stars = 0;
    for (uint32_t i = 0; i < list->len && !p->failed; i++) {
        stars += list->at[i]->kind == NKI_MATCH_STAR;
        if (stars > 1)
            parser_fail_at(p, list->at[i], "a sequence of patterns may have one '*' only");
    }
}

/* The rest of a sequence behind its first element, up to `close` (0: the ":" or "if" of the case),
 * which is not taken. */
static struct nki_node *rest_of_sequence(struct nki_parser *p, struct nki_node *node,
                                         struct nki_node *first, char close) {
    uint32_t list = parser_list_start(p);
    if (first)
        parser_list_push(p, first);
    while (!p->failed && (!first || parser_accept_op(p, OP1(',')))) {
        bool ends = close ? parser_at_op(p, OP1(close))
                          : parser_at_op(p, OP1(':')) || parser_at_word(p, NKI_WORD_IF);
        if (ends)
            break;
        first = parse_element(p);
        parser_list_push(p, first);
    }
    node->match_list.patterns = parser_list_end(p, node, list);
    check_stars(p, &node->match_list.patterns);
    return parser_close(p, node);
}

/* (pattern) is the pattern; (a, b) and () are sequences. */
static struct nki_node *parse_group(struct nki_parser *p) {
    struct nki_node *node = parser_node(p, NKI_MATCH_SEQUENCE, p->token->start);
    parser_next(p);
    struct nki_node *first = parser_at_op(p, OP1(')')) ? NULL : parse_element(p);
    bool is_group = first && first->kind != NKI_MATCH_STAR && !parser_at_op(p, OP1(','));
    if (is_group) {
        parser_need_op(p, OP1(')'), "',' or ')' in the pattern");
        first->parens += first->parens < UINT8_MAX;
        return first;
    }
    rest_of_sequence(p, node, first, ')');
    parser_need_op(p, OP1(')'), "',' or ')' in the pattern");
    return parser_close(p, node);
}

static struct nki_node *parse_bracket(struct nki_parser *p) {
    struct nki_node *node = parser_node(p, NKI_MATCH_SEQUENCE, p->token->start);
    parser_next(p);
    rest_of_sequence(p, node, NULL, ']');
    parser_need_op(p, OP1(']'), "',' or ']' in the pattern");
    return parser_close(p, node);
}

static struct nki_node *parse_key(struct nki_parser *p) {
    if (at_literal(p))
        return parse_literal(p);
    struct nki_node *key = parse_dotted_name(p);
    if (key->kind == NKI_NAME)
        parser_fail_at(p, key, "the key of a pattern is a literal or a name with a dot");
    return key;
}

static void parse_rest(struct nki_parser *p, struct nki_node *node) {
    parser_next(p);
    node->match_mapping.rest = parser_adopt(p, node, parse_plain_name(p, NKI_STORE));
    parser_accept_op(p, OP1(','));
    if (!parser_at_op(p, OP1('}')))
        parser_expected(p, "'}' after the rest of the mapping");
}

/* {key: pattern, .., **rest}. Keys and patterns are gathered apart: the pending list is one. */
static struct nki_node *parse_mapping(struct nki_parser *p) {
    struct nki_node *node = parser_node(p, NKI_MATCH_MAPPING, p->token->start);
    VEC(struct nki_node *) keys = {0};
    uint32_t list = parser_list_start(p);
    parser_next(p);
    while (!p->failed && !parser_at_op(p, OP1('}'))) {
        if (parser_at_op(p, OP2('*', '*'))) {
            parse_rest(p, node);
            break;
        }
        *vec_push(&keys) = parser_adopt(p, node, parse_key(p));
        parser_need_op(p, OP1(':'), "':' between key and pattern");
        parser_list_push(p, parse_pattern(p));
        if (!parser_accept_op(p, OP1(',')))
            break;
    }
    parser_need_op(p, OP1('}'), "',' or '}' in the pattern");
    node->match_mapping.patterns = parser_list_end(p, node, list);
    node->match_mapping.keys.len = (uint32_t)keys.len;
    if (keys.len)
        node->match_mapping.keys.at = arena_dup(p->arena, keys.at, keys.len * sizeof *keys.at);
    vec_free(&keys);
    return parser_close(p, node);
}

static struct nki_node *parse_keyword_pattern(struct nki_parser *p) {
    struct nki_node *node = parser_node(p, NKI_MATCH_KEYWORD, p->token->start);
    node->match_keyword.name = parser_need_name(p, "the name of an attribute", NULL);
    parser_next(p);
    node->match_keyword.pattern = parser_adopt(p, node, parse_pattern(p));
    return parser_close(p, node);
}

/* Cls(a, b, name=c), from the "(" on. Those by position come first. */
static struct nki_node *parse_class(struct nki_parser *p, struct nki_node *cls) {
    struct nki_node *node = parser_node(p, NKI_MATCH_CLASS, cls->start);
    node->match_class.cls = parser_adopt(p, node, cls);
    uint32_t list = parser_list_start(p), n_plain = 0;
    parser_next(p);
    while (!p->failed && !parser_at_op(p, OP1(')'))) {
        const struct nki_token *next = p->token + 1;
        bool is_keyword =
            p->token->kind == NKI_TOKEN_NAME && next->kind == NKI_TOKEN_OP && next->op == OP1('=');
        bool is_late = !is_keyword && p->pending.len - list > n_plain;
        if (is_late)
            parser_fail(p, "a pattern by position follows one by name");
        parser_list_push(p, is_keyword ? parse_keyword_pattern(p) : parse_pattern(p));
        n_plain += !is_keyword;
        if (!parser_accept_op(p, OP1(',')))
            break;
    }
    parser_need_op(p, OP1(')'), "',' or ')' in the pattern");
    struct nki_list all = parser_list_end(p, node, list);
    n_plain = MIN_OF(n_plain, all.len);
    node->match_class.patterns = (struct nki_list){all.at, n_plain};
    if (all.len > n_plain)
        node->match_class.keywords = (struct nki_list){all.at + n_plain, all.len - n_plain};
    return parser_close(p, node);
}

/* ---- patterns -------------------------------------------------------------------------------- */

static struct nki_node *parse_named(struct nki_parser *p) {
    const struct nki_token *next = p->token + 1;
    bool is_plain = next->kind != NKI_TOKEN_OP || (next->op != OP1('.') && next->op != OP1('('));
    if (is_plain) {
        struct nki_node *node = parser_node(p, NKI_MATCH_AS, p->token->start);
        node->match_as.name = parser_adopt(p, node, parse_capture(p));
        return parser_close(p, node);
    }
    struct nki_node *name = parse_dotted_name(p);
    return parser_at_op(p, OP1('(')) ? parse_class(p, name) : value_pattern(p, name);
}

static struct nki_node *parse_closed(struct nki_parser *p) {
    if (at_literal(p))
        return value_pattern(p, parse_literal(p));
    if (p->token->kind == NKI_TOKEN_NAME)
        return parse_named(p);
    if (parser_at_op(p, OP1('(')))
        return parse_group(p);
    if (parser_at_op(p, OP1('[')))
        return parse_bracket(p);
    if (parser_at_op(p, OP1('{')))
        return parse_mapping(p);
    uint32_t start = p->token->start;
    parser_expected(p, "a pattern");
    return parser_node(p, NKI_MATCH_AS, start);
}

/* Whether every subject matches. */
static bool takes_all(const struct nki_node *pattern) {
    while (pattern->kind == NKI_MATCH_AS && pattern->match_as.pattern)
        pattern = pattern->match_as.pattern;
    if (pattern->kind != NKI_MATCH_OR)
        return pattern->kind == NKI_MATCH_AS;
    const struct nki_list *list = &pattern->match_list.patterns;
    return list->len && takes_all(list->at[list->len - 1]);
}

static struct nki_node *parse_or(struct nki_parser *p) {
    uint32_t start = p->token->start, list = parser_list_start(p);
    struct nki_node *first = parse_closed(p);
    if (!parser_at_op(p, OP1('|')))
        return first;
    struct nki_node *node = parser_node(p, NKI_MATCH_OR, start);
    parser_list_push(p, first);
    while (parser_accept_op(p, OP1('|'))) {
        if (takes_all(first))
            parser_fail_at(p, first, "this takes everything, so nothing after it is reached");
        first = parse_closed(p);
        parser_list_push(p, first);
    }
    node->match_list.patterns = parser_list_end(p, node, list);
    return parser_close(p, node);
}

static struct nki_node *parse_pattern(struct nki_parser *p) {
    uint32_t start = p->token->start;
    if (!parser_enter(p))
        return parser_node(p, NKI_MATCH_AS, start);
    struct nki_node *pattern = parse_or(p);
    if (parser_accept_word(p, NKI_WORD_AS)) {
        struct nki_node *node = parser_node(p, NKI_MATCH_AS, start);
        if (at_name(p, p->token, "_"))
            parser_fail(p, "'_' is no name that 'as' can bind");
        else if (pattern->kind == NKI_MATCH_AS && !pattern->match_as.pattern)
            parser_fail_at(p, pattern, "this takes everything; 'as' would name it twice");
        node->match_as.pattern = parser_adopt(p, node, pattern);
        node->match_as.name = parser_adopt(p, node, parse_plain_name(p, NKI_STORE));
        pattern = parser_close(p, node);
    }
    parser_leave(p);
    return pattern;
}

/* ---- what a pattern binds -------------------------------------------------------------------- */

/* Puts the names that a pattern binds into a set. A name stands once; every alternative of "|"
 * binds the same. The tree's height bounds the depth. */
static void gather(struct nki_parser *p, const struct nki_node *pattern, struct map *names);

static void gather_name(struct nki_parser *p, const struct nki_node *name, struct map *names) {
    if (!name || p->failed)
        return;
    if (map_find(names, name->name.id))
        parser_fail_at(p, name, "the pattern binds '" STR_FMT "' twice", STR_ARG(name->name.id));
    map_put(names, name->name.id);
}

static void gather_all(struct nki_parser *p, const struct nki_list *list, struct map *names) {
    for (uint32_t i = 0; i < list->len && !p->failed; i++)
        gather(p, list->at[i], names);
}

static void gather_either(struct nki_parser *p, const struct nki_list *list, struct map *names) {
    struct map first = {0};
    gather(p, list->at[0], &first);
    for (uint32_t i = 1; i < list->len && !p->failed; i++) {
        struct map other = {0};
        gather(p, list->at[i], &other);
        bool same = other.len == first.len;
        for (size_t k = 0; k < other.len; k++)
            same &= map_find(&first, str_of(other.entries[k].key)) != NULL;
        if (!same)
            parser_fail_at(p, list->at[i], "alternatives of a pattern bind different names");
        map_free(&other);
    }
    for (size_t k = 0; k < first.len; k++) {
        if (map_find(names, str_of(first.entries[k].key)))
            parser_fail_at(p, list->at[0], "the pattern binds '%s' twice", first.entries[k].key);
        map_put(names, str_of(first.entries[k].key));
    }
    map_free(&first);
}

static void gather(struct nki_parser *p, const struct nki_node *pattern, struct map *names) {
    switch ((enum nki_kind)pattern->kind) {
    case NKI_MATCH_SEQUENCE: gather_all(p, &pattern->match_list.patterns, names); return;
    case NKI_MATCH_OR: gather_either(p, &pattern->match_list.patterns, names); return;
    case NKI_MATCH_STAR: gather_name(p, pattern->match_star.name, names); return;
    case NKI_MATCH_MAPPING:
        gather_all(p, &pattern->match_mapping.patterns, names);
        gather_name(p, pattern->match_mapping.rest, names);
        return;
    case NKI_MATCH_CLASS:
        gather_all(p, &pattern->match_class.patterns, names);
        gather_all(p, &pattern->match_class.keywords, names);
        return;
    case NKI_MATCH_KEYWORD: gather(p, pattern->match_keyword.pattern, names); return;
    case NKI_MATCH_AS:
        if (pattern->match_as.pattern)
            gather(p, pattern->match_as.pattern, names);
        gather_name(p, pattern->match_as.name, names);
        return;
    default: return;
    }
}

/* ---- the statement --------------------------------------------------------------------------- */

/* Without brackets, a comma makes a sequence. */
static struct nki_node *parse_case_pattern(struct nki_parser *p) {
    uint32_t start = p->token->start;
    struct nki_node *first = parse_element(p);
    if (!parser_at_op(p, OP1(','))) {
        if (first->kind == NKI_MATCH_STAR)
            parser_fail_at(p, first, "'*' stands in a sequence of patterns only");
        return first;
    }
    return rest_of_sequence(p, parser_node(p, NKI_MATCH_SEQUENCE, start), first, 0);
}

static struct nki_node *parse_case(struct nki_parser *p) {
    struct nki_node *node = parser_node(p, NKI_MATCH_CASE, p->token->start);
    struct map names = {0};
    parser_next(p);
    node->match_case.pattern = parser_adopt(p, node, parse_case_pattern(p));
    if (!p->failed)
        gather(p, node->match_case.pattern, &names);
    map_free(&names);
    if (parser_accept_word(p, NKI_WORD_IF))
        node->match_case.guard = parser_adopt(p, node, parse_named_expression(p));
    parser_close(p, node);
    node->match_case.body = parse_suite(p, node, "the pattern");
    if (node->match_case.body.len)
        node->end = node->match_case.body.at[node->match_case.body.len - 1]->end;
    return node;
}

/* A case with an error becomes a node NKI_ERROR, and the next one is parsed. */
static void push_case(struct nki_parser *p) {
    uint32_t start = p->token->start, list = parser_list_start(p);
    struct nki_node *node = NULL;
    if (at_name(p, p->token, "case"))
        node = parse_case(p);
    else
        parser_expected(p, "'case' in the block of 'match'");
    if (!p->failed) {
        parser_list_push(p, node);
        return;
    }
    p->pending.len = list;
    parser_list_push(p, parser_recover(p, start));
}

static void check_reached(struct nki_parser *p, const struct nki_list *cases) {
    for (uint32_t i = 0; i + 1 < cases->len; i++) {
        const struct nki_node *node = cases->at[i];
        if (node->kind == NKI_MATCH_CASE && !node->match_case.guard &&
            takes_all(node->match_case.pattern)) {
            nki_fault(p->faults, nki_span_of(node->match_case.pattern),
                      "this takes everything, so no case after it is reached");
            return;
        }
    }
}

/* From the end of the header's line to the end of the block. */
static void parse_cases(struct nki_parser *p, struct nki_node *node) {
    uint32_t list = parser_list_start(p);
    parser_next(p);
    parser_next(p);
    while (p->token->kind != NKI_TOKEN_DEDENT && p->token->kind != NKI_TOKEN_END)
        push_case(p);
    node->match.cases = parser_list_end(p, node, list);
    if (p->token->kind == NKI_TOKEN_DEDENT)
        parser_next(p);
}

struct nki_node *parse_match(struct nki_parser *p) {
    struct nki_node *node = parser_node(p, NKI_MATCH, p->token->start);
    parser_next(p);
    node->match.subject =
        parser_adopt(p, node,
                     p->token[1].kind == NKI_TOKEN_OP && p->token[1].op == OP2(':', '=')
                         ? parse_named_expression(p)
                         : parse_expression_list(p));
    parser_close(p, node);
    parser_need_op(p, OP1(':'), "':' after the subject");
    parser_enter(p);
    if (p->token->kind == NKI_TOKEN_NEWLINE)
        parse_cases(p, node);
    parser_leave(p);
    check_reached(p, &node->match.cases);
    if (node->match.cases.len)
        node->end = MAX_OF(node->end, node->match.cases.at[node->match.cases.len - 1]->end);
    return node;
}
