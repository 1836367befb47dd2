/* SPDX-License-Identifier: Apache-2.0 */
/* Statements: one function for each kind of node, behind one dispatch. Loops are in interp_loop.c,
 * definitions in interp_class.c, exceptions in interp_except.c, imports in interp_import.c, match
 * in interp_match.c. */
#include "nki/python/inner.h"

struct str target_name(const struct nki_node *target) {
    if (target->kind == NKI_NAME)
        return target->name.id;
    if (target->kind == NKI_ATTRIBUTE)
        return target->attribute.attr;
    if (target->kind == NKI_SUBSCRIPT && target->subscript.value->kind == NKI_NAME)
        return target->subscript.value->name.id;
    return (struct str){"", 0};
}

static bool eval_for(struct interp *in, const struct nki_node *target, const struct nki_node *node,
                     struct value *value) {
    if (node->kind == NKI_CALL) {
        in->target_node = node;
        in->target = target_name(target);
    }
    return eval(in, node, value);
}

static const struct nki_list *pattern_elts(const struct nki_node *target) {
    return target->kind == NKI_TUPLE ? &target->tuple.elts : &target->list.elts;
}

/* a, *b, c = value */
static bool unpack(struct interp *in, const struct nki_node *target, struct value value) {
    const struct nki_list *elts = pattern_elts(target);
    const struct value_seq *items;
    if (!interp_items(in, target, value, &items))
        return false;
    size_t n = items->items.len, star = elts->len;
    for (uint32_t i = 0; i < elts->len; i++)
        if (elts->at[i]->kind == NKI_STARRED)
            star = i;
    bool has_star = star < elts->len;
    if (has_star ? n + 1 < elts->len : n != elts->len)
        return interp_error(in, target, "ValueError", "%zu values cannot be unpacked into %u names",
                            n, elts->len);
    size_t extra = has_star ? n + 1 - elts->len : 0;
    for (size_t i = 0; i < elts->len; i++) {
        const struct nki_node *elt = elts->at[i];
        struct value item;
        if (i == star) {
            item = value_list(in, items->items.at + i, extra);
            elt = elt->starred.value;
        } else {
            item = items->items.at[i < star ? i : i + extra - 1];
        }
        if (!assign_target(in, elt, item))
            return false;
    }
    return true;
}

bool assign_target(struct interp *in, const struct nki_node *target, struct value value) {
    struct value object, key;
    switch ((enum nki_kind)target->kind) {
    case NKI_NAME: store_ref(in, in->frame->unit->cells[target->id].ref, value); return true;
    case NKI_SUBSCRIPT:
        return eval(in, target->subscript.value, &object) &&
               eval_key(in, target->subscript.slice, &key) &&
               set_item(in, target, object, key, value);
    case NKI_ATTRIBUTE:
        return eval(in, target->attribute.value, &object) &&
               set_attr(in, target, object, in->frame->unit->cells[target->id].attr.name, value);
    case NKI_TUPLE:
    case NKI_LIST: return unpack(in, target, value);
    case NKI_STARRED: return assign_target(in, target->starred.value, value);
    default:
        return interp_error(in, target, "SyntaxError", "%s cannot be assigned to",
                            nki_node_name(target->kind));
    }
}

static enum flow exec_assign(struct interp *in, const struct nki_node *stmt) {
    struct value value;
    const struct nki_list *targets = &stmt->assign.targets;
    if (!eval_for(in, targets->at[0], stmt->assign.value, &value))
        return FLOW_ERROR;
    for (uint32_t i = 0; i < targets->len; i++)
        if (!assign_target(in, targets->at[i], value))
            return FLOW_ERROR;
    return FLOW_NEXT;
}

/* Whether a tensor has the shape that nt.tensor[128, 512] says. Sizes that are no numbers here say
 * nothing. The legacy compiler compares them. */
static bool fits_annotation(struct interp *in, const struct nki_node *stmt, struct value value) {
    const struct nki_node *of = stmt->ann_assign.annotation, *sizes;
    struct nki_seen seen = {0};
    if (in->dialect != NKI_DIALECT_LEGACY || of->kind != NKI_SUBSCRIPT ||
        of->subscript.value->kind != NKI_ATTRIBUTE ||
        !str_is(of->subscript.value->attribute.attr, "tensor") || value.kind != VALUE_TENSOR)
        return true;
    in->objects->describe(in, value, &seen);
    sizes = of->subscript.slice;
    int n = sizes->kind == NKI_TUPLE ? (int)sizes->tuple.elts.len : 1;
    for (int d = 0; d < MAX_OF(n, seen.n_dims); d++) {
        const struct nki_node *size = sizes->kind == NKI_TUPLE ? sizes->tuple.elts.at[d] : sizes;
        struct value said;
        if (n != seen.n_dims || !eval(in, size, &said))
            return in->failure.set ||
                   interp_error(in, of, "err_annotation_shape_mismatch",
                                "the annotation has %d dimensions, the tensor %d", n, seen.n_dims);
        if (said.kind == VALUE_INT && said.i != seen.shape[d])
            return interp_error(in, of, "err_annotation_shape_mismatch",
                                "the annotation says %lld for dimension %d, the tensor has %lld",
                                (long long)said.i, d, (long long)seen.shape[d]);
    }
    return true;
}

static enum flow exec_ann_assign(struct interp *in, const struct nki_node *stmt) {
    struct value value;
    if (!stmt->ann_assign.value)
        return FLOW_NEXT;
    if (!eval_for(in, stmt->ann_assign.target, stmt->ann_assign.value, &value) ||
        !fits_annotation(in, stmt, value) || !assign_target(in, stmt->ann_assign.target, value))
        return FLOW_ERROR;
    return FLOW_NEXT;
}

/* `op=` on a value that changes in place: a list, dict or tensor. Sets *done to false when it is a
 * plain op. */
static bool in_place(struct interp *in, const struct nki_node *stmt, struct value old,
                     struct value operand, bool *done, struct value *result) {
    enum nki_binary op = stmt->aug_assign.op;
    static const char *const methods[NKI_BINARY_COUNT] = {
        [NKI_BIT_OR] = "__ior__",
        [NKI_BIT_XOR] = "__ixor__",
        [NKI_BIT_AND] = "__iand__",
        [NKI_SHIFT_LEFT] = "__ilshift__",
        [NKI_SHIFT_RIGHT] = "__irshift__",
        [NKI_ADD] = "__iadd__",
        [NKI_SUB] = "__isub__",
        [NKI_MUL] = "__imul__",
        [NKI_MATMUL] = "__imatmul__",
        [NKI_DIV] = "__itruediv__",
        [NKI_FLOOR_DIV] = "__ifloordiv__",
        [NKI_MOD] = "__imod__",
        [NKI_POW] = "__ipow__",
    };
    *done = true;
    if (old.kind == VALUE_TENSOR)
        return in->objects->inplace(in, stmt, op, old, operand, result);
    if (old.kind == VALUE_OBJECT)
        return call_method(in, stmt, &(struct method_use){old, methods[op], &operand, 1}, done,
                           result);
    if (old.kind == VALUE_LIST && op == NKI_ADD) {
        const struct value_seq *items;
        if (!interp_items(in, stmt, operand, &items) ||
            !interp_room(in, stmt, old.seq->items.len + items->items.len, sizeof(struct value)))
            return false;
        for (size_t i = 0, n = items->items.len; i < n; i++)
            value_push(in, old.seq, items->items.at[i]);
        *result = old;
        return true;
    }
    *done = false;
    return true;
}

static bool combine(struct interp *in, const struct nki_node *stmt, struct value old,
                    struct value *result) {
    struct value operand;
    bool done;
    if (!eval(in, stmt->aug_assign.value, &operand) ||
        !in_place(in, stmt, old, operand, &done, result))
        return false;
    return done || op_binary(in, stmt, stmt->aug_assign.op, old, operand, result);
}

/* target[key] op= value evaluates the object and the key once. An element of a tensor is updated
 * through the view that the subscript gives. */
static bool augment_item(struct interp *in, const struct nki_node *stmt) {
    const struct nki_node *target = stmt->aug_assign.target;
    struct value object, key, old, result;
    if (!eval(in, target->subscript.value, &object) ||
        !eval_key(in, target->subscript.slice, &key) || !get_item(in, target, object, key, &old) ||
        !combine(in, stmt, old, &result))
        return false;
    if (object.kind == VALUE_TENSOR && old.kind == VALUE_TENSOR)
        return true;
    return set_item(in, target, object, key, result);
}

static enum flow exec_aug_assign(struct interp *in, const struct nki_node *stmt) {
    const struct nki_node *target = stmt->aug_assign.target;
    struct value object, old, result;
    if (target->kind == NKI_SUBSCRIPT)
        return augment_item(in, stmt) ? FLOW_NEXT : FLOW_ERROR;
    struct cell *cell = &in->frame->unit->cells[target->id];
    if (target->kind == NKI_ATTRIBUTE) {
        const struct value_str *name = cell->attr.name;
        if (!eval(in, target->attribute.value, &object) ||
            !get_attr_value(in, target, object, name, &old) || !combine(in, stmt, old, &result) ||
            !set_attr(in, target, object, name, result))
            return FLOW_ERROR;
        return FLOW_NEXT;
    }
    if (target->kind != NKI_NAME) {
        interp_error(in, target, "SyntaxError",
                     "%s cannot be the target of an augmented assignment",
                     nki_node_name(target->kind));
        return FLOW_ERROR;
    }
    if (!load_ref(in, target, cell->ref, &old) || !combine(in, stmt, old, &result))
        return FLOW_ERROR;
    store_ref(in, cell->ref, result);
    return FLOW_NEXT;
}

static bool delete_target(struct interp *in, const struct nki_node *target) {
    struct value object, key;
    switch ((enum nki_kind)target->kind) {
    case NKI_NAME:
        if (!load_ref(in, target, in->frame->unit->cells[target->id].ref, &object))
            return false;
        store_ref(in, in->frame->unit->cells[target->id].ref, UNSET_VALUE);
        return true;
    case NKI_SUBSCRIPT:
        return eval(in, target->subscript.value, &object) &&
               eval_key(in, target->subscript.slice, &key) && del_item(in, target, object, key);
    case NKI_TUPLE:
    case NKI_LIST: {
        const struct nki_list *elts = pattern_elts(target);
        for (uint32_t i = 0; i < elts->len; i++)
            if (!delete_target(in, elts->at[i]))
                return false;
        return true;
    }
    default: return interp_error(in, target, "TypeError", "this cannot be deleted");
    }
}

static enum flow exec_delete(struct interp *in, const struct nki_node *stmt) {
    for (uint32_t i = 0; i < stmt->delete_.targets.len; i++)
        if (!delete_target(in, stmt->delete_.targets.at[i]))
            return FLOW_ERROR;
    return FLOW_NEXT;
}

static enum flow exec_return(struct interp *in, const struct nki_node *stmt) {
    const struct nki_node *value = stmt->return_.value;
    if (!value)
        return FLOW_RETURN;
    if (value->kind == NKI_CALL) { /* the result has the name that the caller assigns it to */
        in->target_node = value;
        in->target = in->frame->target;
    }
    return eval(in, value, &in->frame->result) ? FLOW_RETURN : FLOW_ERROR;
}

static enum flow exec_assert(struct interp *in, const struct nki_node *stmt) {
    bool truth;
    struct value message;
    if (!eval_truth(in, stmt->assert_.test, &truth))
        return FLOW_ERROR;
    if (truth)
        return FLOW_NEXT;
    struct str text = nki_node_text(in->frame->unit->tree, stmt->assert_.test);
    struct buf out = {0};
    if (stmt->assert_.msg) {
        if (!eval(in, stmt->assert_.msg, &message))
            return FLOW_ERROR;
        value_print(in, message, &out);
    } else {
        buf_add(&out, text.at, MIN_OF(text.len, (size_t)200));
        buf_puts(&out, " is false");
    }
    interp_error(in, stmt, "AssertionError", "assertion failed: %s", out.at ? out.at : "");
    buf_free(&out);
    return FLOW_ERROR;
}

static bool leave_context(struct interp *in, const struct nki_node *node, struct value context) {
    bool found;
    struct value ignored, args[3] = {NONE_VALUE, NONE_VALUE, NONE_VALUE};
    if (context.kind != VALUE_OBJECT)
        return in->objects->leave(in, node, context);
    return call_method(in, node, &(struct method_use){context, "__exit__", args, 3}, &found,
                       &ignored);
}

static bool enter_context(struct interp *in, const struct nki_node *node, struct value context,
                          struct value *bound) {
    bool found;
    if (context.kind != VALUE_OBJECT)
        return in->objects->enter(in, node, context, bound);
    if (!call_method(in, node, &(struct method_use){context, "__enter__", NULL, 0}, &found, bound))
        return false;
    return found || interp_error(in, node, "TypeError", "%s is no context for 'with'",
                                 value_type_name(context));
}

/* Enters item k and those after it. The length of the list bounds the depth. */
static enum flow with_item(struct interp *in, const struct nki_node *stmt, uint32_t k) {
    if (k == stmt->with_.items.len)
        return exec_block(in, &stmt->with_.body);
    const struct nki_node *item = stmt->with_.items.at[k];
    const struct nki_node *expr = item->with_item.context_expr;
    struct value context, bound = NONE_VALUE;
    if (!eval(in, expr, &context) || !enter_context(in, expr, context, &bound))
        return FLOW_ERROR;
    if (item->with_item.optional_vars && !assign_target(in, item->with_item.optional_vars, bound))
        return FLOW_ERROR;
    bool may_take = context.kind == VALUE_OBJECT; /* what it decides comes first, as in try */
    in->tries += may_take;
    enum flow flow = with_item(in, stmt, k + 1);
    in->tries -= may_take;
    if (flow == FLOW_ERROR)
        return may_take && context_takes(in, expr, context) ? FLOW_NEXT : FLOW_ERROR;
    return leave_context(in, expr, context) ? flow : FLOW_ERROR;
}

static enum flow exec_with(struct interp *in, const struct nki_node *stmt) {
    if (stmt->with_.items.len > NKI_MAX_DEPTH) {
        interp_error(in, stmt, "SyntaxError", "more than %d contexts in one 'with'", NKI_MAX_DEPTH);
        return FLOW_ERROR;
    }
    return with_item(in, stmt, 0);
}

/* Whether the name is the index of a loop around it whose tiles end with it. */
static bool is_index(const struct nki_node *name) {
    for (const struct nki_node *up = name->parent; up && up->kind != NKI_FUNCTION_DEF;
         up = up->parent) {
        const struct nki_node *func = up->kind == NKI_FOR && up->for_.iter->kind == NKI_CALL
                                          ? up->for_.iter->call.func
                                          : NULL;
        bool ends = func && func->kind == NKI_ATTRIBUTE &&
                    (str_is(func->attribute.attr, "affine_range") ||
                     str_is(func->attribute.attr, "sequential_range"));
        if (up->kind == NKI_FOR && up->for_.target->kind == NKI_NAME &&
            str_equal(up->for_.target->name.id, name->name.id))
            return ends;
    }
    return false;
}

static bool asks_index(struct interp *in, const struct nki_node *stmt) {
    struct cell *cell = &in->frame->unit->cells[stmt->id];
    if (in->dialect != NKI_DIALECT_LEGACY)
        return false;
    const struct nki_node *test = stmt->if_.test;
    for (uint32_t i = test->id; !cell->by_index && i <= test->last; i++) {
        const struct nki_node *node = in->frame->unit->tree->nodes[i];
        if (node->kind == NKI_NAME && is_index(node))
            cell->by_index = BY_INDEX_YES;
    }
    if (!cell->by_index)
        cell->by_index = BY_INDEX_NO;
    return cell->by_index == BY_INDEX_YES;
}

/* A branch that depends on the index of a loop ends the tiles that are made in it, by NKI's
 * documentation (legacy). */
static enum flow exec_branch(struct interp *in, const struct nki_list *body, bool by_index) {
    if (by_index)
        *vec_push(&in->branches) = ++in->n_scopes;
    enum flow flow = exec_block(in, body);
    in->branches.len -= by_index;
    return flow;
}

static enum flow exec_if(struct interp *in, const struct nki_node *stmt) {
    bool truth, by_index = false;
    /* An elif is an if alone in the else of the one before. A loop keeps the stack flat. */
    while (true) {
        if (!eval_truth(in, stmt->if_.test, &truth))
            return FLOW_ERROR;
        by_index = by_index || asks_index(in, stmt);
        if (truth)
            return exec_branch(in, &stmt->if_.body, by_index);
        const struct nki_list *orelse = &stmt->if_.orelse;
        if (orelse->len != 1 || orelse->at[0]->kind != NKI_IF)
            return exec_branch(in, orelse, by_index);
        stmt = orelse->at[0];
        if (!interp_step(in, stmt))
            return FLOW_ERROR;
    }
}

static enum flow exec_error(struct interp *in, const struct nki_node *stmt) {
    interp_error(in, stmt, "SyntaxError", "this statement could not be parsed");
    return FLOW_ERROR;
}

static enum flow exec_pass(struct interp *in, const struct nki_node *stmt) {
    (void)in, (void)stmt;
    return FLOW_NEXT;
}

static enum flow exec_break(struct interp *in, const struct nki_node *stmt) {
    (void)in;
    return stmt->kind == NKI_BREAK ? FLOW_BREAK : FLOW_CONTINUE;
}

static enum flow exec_expr(struct interp *in, const struct nki_node *stmt) {
    struct value ignored;
    return eval(in, stmt->expr.value, &ignored) ? FLOW_NEXT : FLOW_ERROR;
}

static enum flow (*const statements[NKI_KIND_COUNT])(struct interp *, const struct nki_node *) = {
    [NKI_FUNCTION_DEF] = exec_function_def,
    [NKI_CLASS_DEF] = exec_class_def,
    [NKI_RETURN] = exec_return,
    [NKI_DELETE] = exec_delete,
    [NKI_ASSIGN] = exec_assign,
    [NKI_AUG_ASSIGN] = exec_aug_assign,
    [NKI_ANN_ASSIGN] = exec_ann_assign,
    [NKI_FOR] = exec_for,
    [NKI_WHILE] = exec_while,
    [NKI_IF] = exec_if,
    [NKI_WITH] = exec_with,
    [NKI_RAISE] = exec_raise,
    [NKI_TRY] = exec_try,
    [NKI_MATCH] = exec_match,
    [NKI_ASSERT] = exec_assert,
    [NKI_IMPORT] = exec_import,
    [NKI_IMPORT_FROM] = exec_import_from,
    [NKI_GLOBAL] = exec_pass,
    [NKI_NONLOCAL] = exec_pass,
    [NKI_EXPR] = exec_expr,
    [NKI_PASS] = exec_pass,
    [NKI_BREAK] = exec_break,
    [NKI_CONTINUE] = exec_break,
    [NKI_ERROR] = exec_error,
};

enum flow exec(struct interp *in, const struct nki_node *stmt) {
    size_t temps = in->n_temps, keywords = in->n_keywords;
    if (!interp_step(in, stmt))
        return FLOW_ERROR;
    enum flow flow =
        statements[stmt->kind] ? statements[stmt->kind](in, stmt) : exec_error(in, stmt);
    if (flow != FLOW_ERROR || !in->recovery || !recover(in, stmt))
        return flow;
    in->n_temps = temps;
    in->n_keywords = keywords;
    return FLOW_NEXT;
}

enum flow exec_block(struct interp *in, const struct nki_list *body) {
    for (uint32_t i = 0; i < body->len; i++) {
        enum flow flow = exec(in, body->at[i]);
        if (flow != FLOW_NEXT)
            return flow;
    }
    return FLOW_NEXT;
}
