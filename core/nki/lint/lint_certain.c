/* SPDX-License-Identifier: Apache-2.0 */
/* What every run of a kernel comes to, told from the source alone. */
#include "nki/lint/rules.h"

/* What a run may pass by: a branch, what follows an and or an or, what may be tried. Loops are
 * taken to have a round. */
static bool is_optional(const struct nki_node *node) {
    const struct nki_node *parent = node->parent;
    switch (parent->kind) {
    case NKI_IF: return node != parent->if_.test;
    case NKI_MATCH: return node != parent->match.subject;
    case NKI_IF_EXP: return node != parent->if_exp.test;
    case NKI_WHILE:
    case NKI_LAMBDA:
    case NKI_TRY:
    case NKI_COMPREHENSION: return true;
    case NKI_BOOL_OP: return parent->bool_op.values.at[0] != node;
    default: return false;
    }
}

/* Whether `other` may take a run of the function past the node. */
static bool leaves(const struct nki_node *other, const struct nki_node *function,
                   const struct nki_node *node) {
    const struct nki_node *loop = nki_enclosing(other, NKI_FOR);
    if (nki_enclosing(other, NKI_FUNCTION_DEF) != function || nki_contains(other, node))
        return false;
    switch (other->kind) {
    case NKI_RETURN:
    case NKI_RAISE: return true;
    case NKI_BREAK:
    case NKI_CONTINUE: return !loop || nki_contains(loop, node);
    default: return false;
    }
}

static bool is_left_before(const struct lint *lint, const struct nki_node *function,
                           const struct nki_node *node) {
    for (uint32_t i = function->id; i < node->id; i++)
        if (leaves(lint->tree->nodes[i], function, node))
            return true;
    return false;
}

enum { CALLS_DEEP = 6 }; /* functions that a call is followed through */

static bool is_certain_at(const struct lint *lint, const struct nki_node *node, int depth);

static bool is_called(const struct lint *lint, const struct nki_node *function, int depth) {
    if (nki_kernel_decorator(function) || function == lint->options->kernel)
        return true;
    for (uint32_t i = 0; depth > 0 && i < lint->tree->n_nodes; i++) {
        const struct nki_node *node = lint->tree->nodes[i];
        if (lint->reached[i] && node->kind == NKI_CALL && node->call.func->kind == NKI_NAME &&
            str_equal(node->call.func->name.id, function->function_def.name) &&
            is_certain_at(lint, node, depth - 1))
            return true;
    }
    return false;
}

static bool is_certain_at(const struct lint *lint, const struct nki_node *node, int depth) {
    const struct nki_node *function = nki_enclosing(node, NKI_FUNCTION_DEF);
    if (!function || is_left_before(lint, function, node))
        return false;
    if (node->id < function->function_def.body.at[0]->id)
        return true; /* a decorator, a default */
    for (; node != function; node = node->parent)
        if (is_optional(node))
            return false;
    return is_called(lint, function, depth);
}

bool lint_is_certain(const struct lint *lint, const struct nki_node *node) {
    return node->kind != NKI_ALIAS && is_certain_at(lint, node, CALLS_DEEP);
}
