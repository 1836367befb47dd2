/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of functions and lambdas: their forms, defaults and order. The specialiser binds
 * arguments to them. */
#include "nki/syntax/parser.h"

/* What came before the present parameter. */
struct so_far {
    uint32_t list; /* start of the pending list */
    bool has_slash, has_star, has_default, is_bare_star, allows_annotation;
};

static void mark_positional_only(struct nki_parser *p, struct so_far *before) {
    uint32_t n = (uint32_t)p->pending.len - before->list;
    if (n == 0 || before->has_slash || before->has_star) {
        parser_fail(p, "found '/', which stands once, after positional parameters and before '*'");
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        p->pending.at[before->list + i]->arg.form = NKI_ARG_POSITIONAL_ONLY;
    before->has_slash = true;
    parser_next(p);
}

static void parse_default(struct nki_parser *p, struct nki_node *node, struct so_far *before) {
    enum nki_arg_form form = node->arg.form;
    if (parser_at_op(p, OP1('='))) {
        if (form == NKI_ARG_STAR || form == NKI_ARG_DOUBLE_STAR)
            parser_fail(p, "a '*' or '**' parameter cannot have a default");
        parser_next(p);
        node->arg.default_value = parser_adopt(p, node, parse_expression(p));
        before->has_default |= form == NKI_ARG_PLAIN;
    } else if (form == NKI_ARG_PLAIN && before->has_default) {
        parser_fail_at(p, node, "a parameter without a default follows one that has a default");
    }
}

static void push_parameter(struct nki_parser *p, enum nki_arg_form form, uint32_t start,
                           struct so_far *before) {
    struct nki_node *node = parser_node(p, NKI_ARG, start);
    node->arg.form = form;
    node->arg.name = parser_need_name(p, "the name of a parameter", &node->arg.name_span);
    parser_close(p, node);
    if (before->allows_annotation && parser_accept_op(p, OP1(':')))
        node->arg.annotation = parser_adopt(p, node, parse_star_named(p));
    parse_default(p, node, before);
    parser_list_push(p, parser_close(p, node));
}

static void parse_star(struct nki_parser *p, struct so_far *before) {
    uint32_t start = p->token->start;
    if (before->has_star)
        parser_fail(p, "found a second '*' in the parameters; one is allowed");
    parser_next(p);
    before->has_star = true;
    before->is_bare_star = parser_at_op(p, OP1(','));
    if (!before->is_bare_star)
        push_parameter(p, NKI_ARG_STAR, start, before);
}

struct nki_node *parse_parameters(struct nki_parser *p, uint32_t close) {
    struct nki_node *node = parser_node(p, NKI_ARGUMENTS, p->token->start);
    struct so_far before = {.list = parser_list_start(p), .allows_annotation = close == OP1(')')};
    while (!parser_at_op(p, close) && !p->failed) {
        uint32_t start = p->token->start;
        if (parser_at_op(p, OP1('/'))) {
            mark_positional_only(p, &before);
        } else if (parser_at_op(p, OP1('*'))) {
            parse_star(p, &before);
        } else if (parser_accept_op(p, OP2('*', '*'))) {
            push_parameter(p, NKI_ARG_DOUBLE_STAR, start, &before);
            parser_accept_op(p, OP1(','));
            break;
        } else {
            push_parameter(p, before.has_star ? NKI_ARG_KEYWORD_ONLY : NKI_ARG_PLAIN, start,
                           &before);
            before.is_bare_star = false;
        }
        if (!parser_accept_op(p, OP1(',')))
            break;
    }
    if (before.is_bare_star)
        parser_fail(p, "a bare '*' must be followed by keyword-only parameters");
    node->arguments.args = parser_list_end(p, node, before.list);
    return parser_close(p, node);
}
