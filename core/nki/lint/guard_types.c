/* SPDX-License-Identifier: Apache-2.0 */
/* Classes that a candidate may ask for but not have. type and Enum make classes with names from
 * strings, and through those arrays of any memory. So they may stand only where nobody but Python
 * looks at them. An object of the file's own also sees what it is given: what is in its brackets,
 * on the other side of an operator, or compared with it. So what surrounds such a class must be a
 * class too. */
#include "nki/lint/guard.h"

#define MAX_ALIASES 8 /* depth of names for names for types */

static const char *const asks[] = {"isinstance", "issubclass", NULL};
static const char *const prints[] = {"str", "repr", "print", "isinstance", "issubclass", NULL};

static bool is_annotation(const struct nki_node *node) {
    const struct nki_node *up = node->parent;
    return (up->kind == NKI_ARG && up->arg.annotation == node) ||
           (up->kind == NKI_FUNCTION_DEF && up->function_def.returns == node) ||
           (up->kind == NKI_ANN_ASSIGN && up->ann_assign.annotation == node);
}

bool guard_is_type_place(const struct nki_node *node) {
    for (const struct nki_node *at = node; at->parent; at = at->parent) {
        const struct nki_node *up = at->parent;
        if (is_annotation(at))
            return true;
        if (nki_is_statement(up) || up->kind == NKI_ARG || up->kind == NKI_CALL ||
            up->kind == NKI_LAMBDA)
            return false;
    }
    return false;
}

/* ---- what is surely a class ----------------------------------------------------------------- */

const struct guard_target *guard_import_of(const struct guard *guard, const struct nki_node *node) {
    const struct guard_target *target =
        node->kind == NKI_NAME ? map_get(&guard->imports, node->name.id) : NULL;
    for (const struct guard_target *at = target; at; at = at->next)
        if (at->kind == GUARD_REFUSED)
            return NULL;
    return target && !map_find(&guard->bound, node->name.id) ? target : NULL;
}

static const struct nki_node *root_of(const struct nki_node *node) {
    while (node->kind == NKI_ATTRIBUTE)
        node = node->attribute.value;
    return node;
}

/* Decorators of the file may replace a class by anything. */
static bool is_foreign(const struct guard *guard, const struct nki_list *decorators,
                       uint32_t from) {
    for (uint32_t i = from; i < decorators->len; i++) {
        const struct nki_node *node = decorators->at[i];
        if (!guard_import_of(guard, root_of(node->kind == NKI_CALL ? node->call.func : node)))
            return false;
    }
    return true;
}

/* Whether the file binds the name, and only to classes. */
static bool is_own_class(const struct guard *guard, struct str name) {
    bool is = false;
    for (uint32_t i = 0; i < guard->tree->n_nodes; i++) {
        const struct nki_node *node = guard->tree->nodes[i];
        bool is_other =
            (node->kind == NKI_NAME && node->context != NKI_LOAD &&
             str_equal(node->name.id, name)) ||
            (node->kind == NKI_ARG && str_equal(node->arg.name, name)) ||
            (node->kind == NKI_FUNCTION_DEF && str_equal(node->function_def.name, name)) ||
            (node->kind == NKI_EXCEPT_HANDLER && str_equal(node->except_handler.name, name));
        bool is_class = node->kind == NKI_CLASS_DEF && str_equal(node->class_def.name, name);
        if (is_other || (is_class && !is_foreign(guard, &node->class_def.decorators, 0)))
            return false;
        is |= is_class;
    }
    return is;
}

static bool are_classes(const struct guard *guard, const struct nki_list *list);

static bool is_class(const struct guard *guard, const struct nki_node *node) {
    const struct nki_node *root = root_of(node);
    switch ((enum nki_kind)node->kind) {
    case NKI_NAME:
    case NKI_ATTRIBUTE:
        return root->kind == NKI_NAME &&
               (guard_import_of(guard, root) || !map_find(&guard->bound, root->name.id) ||
                (root == node && is_own_class(guard, root->name.id)));
    case NKI_CONSTANT: return true;
    case NKI_TUPLE:
    case NKI_LIST: return are_classes(guard, &node->list.elts);
    case NKI_SUBSCRIPT: return is_class(guard, node->subscript.value);
    case NKI_BIN_OP:
        return node->bin_op.op == NKI_BIT_OR && is_class(guard, node->bin_op.left) &&
               is_class(guard, node->bin_op.right);
    case NKI_CALL:
        return node->call.func->kind == NKI_NAME && str_is(node->call.func->name.id, "type") &&
               !map_find(&guard->bound, STR("type"));
    default: return false;
    }
}

static bool are_classes(const struct guard *guard, const struct nki_list *list) {
    bool are = true;
    for (uint32_t i = 0; are && i < list->len; i++)
        are = is_class(guard, list->at[i]);
    return are;
}

/* ---- where it stands ------------------------------------------------------------------------ */

/* The node with the brackets, unions and tuples of classes that surround it. */
static const struct nki_node *whole_type(const struct guard *guard, const struct nki_node *node) {
    for (const struct nki_node *at = node, *up = at->parent; up; at = up, up = at->parent) {
        bool is_part = up->kind == NKI_TUPLE || up->kind == NKI_LIST;
        if (up->kind == NKI_SUBSCRIPT)
            is_part = up->subscript.value == at ? at == node : is_class(guard, up->subscript.value);
        else if (up->kind == NKI_BIN_OP && up->bin_op.op == NKI_BIT_OR)
            is_part = is_class(guard, up->bin_op.left == at ? up->bin_op.right : up->bin_op.left);
        if (!is_part)
            return at;
    }
    return node;
}

/* Whether the file may ask a field of a dataclass for its type. */
static bool reads_type(const struct guard *guard) {
    for (uint32_t i = 0; i < guard->tree->n_nodes; i++) {
        const struct nki_node *node = guard->tree->nodes[i];
        const struct nki_node *of = node->kind == NKI_ATTRIBUTE ? node->attribute.value : NULL;
        const struct nki_node *made = of && of->kind == NKI_CALL ? of->call.func : NULL;
        bool is_dtype = made && made->kind == NKI_ATTRIBUTE &&
                        str_is(made->attribute.attr, "dtype") &&
                        guard_import_of(guard, made->attribute.value);
        if ((of && str_is(node->attribute.attr, "type") && !is_dtype) ||
            (node->kind == NKI_CONSTANT && node->constant.type == NKI_CONST_STRING &&
             str_is(node->constant.text, "type")))
            return true;
    }
    return false;
}

static bool is_asked(const struct guard *guard, const struct nki_node *node, enum allow_use use,
                     int depth);

/* Whether the assignment is another name for a type, which only types and questions use. */
static bool is_alias(const struct guard *guard, const struct nki_node *assign, enum allow_use use,
                     int depth) {
    const struct nki_list *targets = &assign->assign.targets;
    if (targets->len != 1 || targets->at[0]->kind != NKI_NAME || guard_in_class(assign) ||
        depth >= MAX_ALIASES)
        return false;
    for (uint32_t i = 0; i < guard->tree->n_nodes; i++) {
        const struct nki_node *node = guard->tree->nodes[i];
        if (node->kind == NKI_NAME && node->context == NKI_LOAD &&
            str_equal(node->name.id, targets->at[0]->name.id) &&
            !is_asked(guard, node, use, depth + 1))
            return false;
    }
    return true;
}

/* Whether the node is the class of an isinstance, a part of an annotation, or a part of another
 * name for a type. */
static bool is_asked(const struct guard *guard, const struct nki_node *node, enum allow_use use,
                     int depth) {
    const struct nki_node *whole = whole_type(guard, node);
    bool is_maker = use == ALLOW_TYPE || use == ALLOW_ENUM;
    if (guard->in_text)
        return true;
    if (is_annotation(whole))
        return whole->parent->kind != NKI_ANN_ASSIGN || !is_maker || !guard_in_class(whole) ||
               !reads_type(guard);
    return guard_is_called_by(guard, whole, asks) ||
           ((whole != node || depth) && whole->parent->kind == NKI_ASSIGN &&
            is_alias(guard, whole->parent, use, depth));
}

/* Whether the node itself is a base. A base made with the brackets of typing may be one that is not
 * seen here. */
static bool is_base(const struct nki_node *node) {
    const struct nki_node *up = node->parent;
    bool has_brackets = up->kind == NKI_SUBSCRIPT && up->subscript.value == node;
    const struct nki_node *base = has_brackets ? up : node;
    const struct nki_node *class = base->parent;
    for (uint32_t i = 0; class->kind == NKI_CLASS_DEF && i < class->class_def.bases.len; i++)
        if (class->class_def.bases.at[i] == base)
            return true;
    return false;
}

static bool is_compared(const struct guard *guard, const struct nki_node *call) {
    const struct nki_node *up = call->parent;
    return up->kind == NKI_COMPARE && is_class(guard, up->compare.left) &&
           are_classes(guard, &up->compare.comparators);
}

static bool is_told(const struct guard *guard, const struct nki_node *call) {
    const struct nki_node *name = guard_attribute_of(call);
    if (call->call.args.len != 1 || call->call.keywords.len || !guard_is_plain_call(call))
        return false;
    return is_compared(guard, call) || call->parent->kind == NKI_FORMATTED_VALUE ||
           guard_is_called_by(guard, call, prints) ||
           (name && (str_is(name->attribute.attr, "__name__") ||
                     str_is(name->attribute.attr, "__qualname__")));
}

bool guard_type_fits(struct guard *guard, const struct nki_node *node, enum allow_use use) {
    const struct nki_node *call = use == ALLOW_TYPE ? guard_call_of(node) : NULL;
    bool may_be_base = use == ALLOW_CLASS || use == ALLOW_ENUM;
    return call ? is_told(guard, call)
                : is_asked(guard, node, use, 0) || (may_be_base && is_base(node));
}

bool guard_decorates_own(const struct guard *guard, const struct nki_node *node) {
    const struct nki_node *call = guard_call_of(node);
    const struct nki_node *whole = call && guard_is_plain_call(call) ? call : node;
    const struct nki_node *class = whole->parent;
    const struct nki_list *all = class->kind == NKI_CLASS_DEF ? &class->class_def.decorators : NULL;
    for (uint32_t i = 0; all && i < all->len; i++)
        if (all->at[i] == whole)
            return is_foreign(guard, all, i + 1);
    return false;
}
