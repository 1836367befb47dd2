/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions: one function for each kind of node, behind one dispatch. Operators are in
 * interp_ops.c, calls in interp_call.c, comprehensions in interp_comp.c. */
#include "nki/python/inner.h"

static struct cell *cell_of(struct interp *in, const struct nki_node *node) {
    return &in->frame->unit->cells[node->id];
}

/* `mask and mask` of index expressions joins them as & does. */
static bool join_masks(struct interp *in, const struct nki_node *node, uint32_t from,
                       struct value *result) {
    for (uint32_t i = from; i < node->bool_op.values.len; i++) {
        struct value left = *result, right;
        if (!eval(in, node->bool_op.values.at[i], &right) ||
            !in->objects->binary(in, node, NKI_BIT_AND, left, right, result))
            return false;
    }
    return true;
}

static bool eval_bool_op(struct interp *in, const struct nki_node *node, struct value *result) {
    const struct nki_list *values = &node->bool_op.values;
    bool stop_at = node->bool_op.op == NKI_OR;
    for (uint32_t i = 0; i < values->len; i++) {
        bool truth;
        if (!eval(in, values->at[i], result))
            return false;
        if (i + 1 == values->len)
            return true;
        if (result->kind == VALUE_INDEX && !stop_at)
            return join_masks(in, node, i + 1, result);
        if (!interp_truth(in, values->at[i], *result, &truth))
            return false;
        if (truth == stop_at)
            return true;
    }
    return true;
}

static bool eval_compare(struct interp *in, const struct nki_node *node, struct value *result) {
    struct value left, right;
    if (!eval(in, node->compare.left, &left))
        return false;
    const struct nki_list *others = &node->compare.comparators;
    for (uint32_t i = 0; i < others->len; i++) {
        enum nki_comparison op = node->compare.ops[i];
        if (!eval(in, others->at[i], &right) || !op_compare(in, node, op, left, right, result))
            return false;
        bool truth;
        if (i + 1 == others->len)
            return true;
        if (!interp_truth(in, node, *result, &truth))
            return false;
        if (!truth)
            return true;
        left = right;
    }
    return true;
}

/* Puts the items of a display into a new sequence; *x is spread out. */
static bool eval_items(struct interp *in, const struct nki_list *elts, struct value_seq **items) {
    struct value_seq *seq = seq_new(in, elts->len);
    seq->items.len = 0;
    for (uint32_t i = 0; i < elts->len; i++) {
        const struct nki_node *elt = elts->at[i];
        struct value value;
        if (elt->kind != NKI_STARRED) {
            if (!eval(in, elt, &value))
                return false;
            value_push(in, seq, value);
            continue;
        }
        const struct value_seq *spread;
        if (!eval(in, elt->starred.value, &value) || !interp_items(in, elt, value, &spread))
            return false;
        for (size_t k = 0; k < spread->items.len; k++)
            value_push(in, seq, spread->items.at[k]);
    }
    *items = seq;
    return true;
}

static bool eval_tuple(struct interp *in, const struct nki_node *node, struct value *result) {
    result->kind = VALUE_TUPLE;
    return eval_items(in, &node->tuple.elts, &result->seq);
}

static bool eval_list(struct interp *in, const struct nki_node *node, struct value *result) {
    result->kind = VALUE_LIST;
    return eval_items(in, &node->list.elts, &result->seq);
}

static bool eval_set(struct interp *in, const struct nki_node *node, struct value *result) {
    struct value_seq *items;
    if (!eval_items(in, &node->set.elts, &items))
        return false;
    *result = value_new_dict(in);
    result->dict->is_set = true;
    for (size_t i = 0; i < items->items.len; i++)
        value_dict_put(in, result->dict, items->items.at[i], NONE_VALUE);
    return true;
}

static bool eval_dict(struct interp *in, const struct nki_node *node, struct value *result) {
    struct value dict = value_new_dict(in), key, value;
    for (uint32_t i = 0; i < node->dict.values.len; i++) {
        const struct nki_node *key_node = node->dict.keys.at[i];
        if (key_node) {
            if (!eval(in, key_node, &key) || !eval(in, node->dict.values.at[i], &value))
                return false;
            if (key.kind == VALUE_LIST || (key.kind == VALUE_DICT))
                return interp_error(in, key_node, "TypeError", "a %s cannot be a key of a dict",
                                    value_type_name(key));
            value_dict_put(in, dict.dict, key, value);
            continue;
        }
        if (!eval(in, node->dict.values.at[i], &value))
            return false;
        if (value.kind != VALUE_DICT)
            return interp_error(in, node->dict.values.at[i], "TypeError",
                                "'**' needs a dict here, not %s", value_type_name(value));
        for (size_t k = 0; k < value.dict->pairs.len; k++)
            value_dict_put(in, dict.dict, value.dict->pairs.at[k].key,
                           value.dict->pairs.at[k].value);
    }
    *result = dict;
    return true;
}

static bool eval_optional(struct interp *in, const struct nki_node *node, struct value *result) {
    *result = NONE_VALUE;
    return !node || eval(in, node, result);
}

static bool eval_slice(struct interp *in, const struct nki_node *node, struct value *result) {
    struct value_slice slice;
    if (!eval_optional(in, node->slice.lower, &slice.start) ||
        !eval_optional(in, node->slice.upper, &slice.stop) ||
        !eval_optional(in, node->slice.step, &slice.step))
        return false;
    result->kind = VALUE_SLICE;
    result->slice = arena_dup(in->heap, &slice, sizeof slice);
    return true;
}

#define MOST_KEY_PARTS 6

/* The key of a tensor. Nobody keeps it, so slices and their tuple need no memory of their own. */
struct passing_key {
    struct value_seq seq;
    struct value items[MOST_KEY_PARTS];
    struct value_slice slices[MOST_KEY_PARTS];
};

static bool eval_passing_slice(struct interp *in, const struct nki_node *node,
                               struct value_slice *slice, struct value *result) {
    *result = (struct value){.kind = VALUE_SLICE, .slice = slice};
    return eval_optional(in, node->slice.lower, &slice->start) &&
           eval_optional(in, node->slice.upper, &slice->stop) &&
           eval_optional(in, node->slice.step, &slice->step);
}

static bool eval_passing_key(struct interp *in, const struct nki_node *node,
                             struct passing_key *key, struct value *result) {
    const struct nki_list *elts = &node->tuple.elts;
    for (uint32_t i = 0; i < elts->len; i++) {
        const struct nki_node *elt = elts->at[i];
        if (!(elt->kind == NKI_SLICE ? eval_passing_slice(in, elt, &key->slices[i], &key->items[i])
                                     : eval(in, elt, &key->items[i])))
            return false;
    }
    key->seq.items.at = key->items;
    key->seq.items.len = key->seq.items.cap = elts->len;
    *result = (struct value){.kind = VALUE_TUPLE, .seq = &key->seq};
    return true;
}

static bool key_may_pass(struct value object, const struct nki_node *slice) {
    bool plain = object.kind == VALUE_TENSOR && slice->kind == NKI_TUPLE &&
                 slice->tuple.elts.len <= MOST_KEY_PARTS;
    for (uint32_t i = 0; plain && i < slice->tuple.elts.len; i++)
        plain = slice->tuple.elts.at[i]->kind != NKI_STARRED;
    return plain;
}

bool eval_key(struct interp *in, const struct nki_node *node, struct value *key) {
    return eval(in, node, key);
}

static bool eval_subscript(struct interp *in, const struct nki_node *node, struct value *result) {
    struct value object, key;
    struct passing_key passing;
    if (!eval(in, node->subscript.value, &object))
        return false;
    bool ok = key_may_pass(object, node->subscript.slice)
                  ? eval_passing_key(in, node->subscript.slice, &passing, &key)
                  : eval(in, node->subscript.slice, &key);
    return ok && get_item(in, node, object, key, result);
}

static bool eval_formatted(struct interp *in, const struct nki_node *node, struct buf *out) {
    struct value value, spec = NONE_VALUE;
    if (!eval(in, node->formatted_value.value, &value))
        return false;
    if (node->formatted_value.format_spec && !eval(in, node->formatted_value.format_spec, &spec))
        return false;
    if (node->formatted_value.conversion == 'r' || node->formatted_value.conversion == 'a') {
        struct buf text = {0};
        value_repr(in, value, &text);
        value = value_take(in, &text);
    }
    return format_value(in, node, value,
                        spec.kind == VALUE_STR ? text_of(spec) : (struct str){"", 0}, out);
}

static bool eval_joined(struct interp *in, const struct nki_node *node, struct value *result) {
    struct buf out = {0};
    const struct nki_list *parts = &node->joined_str.values;
    for (uint32_t i = 0; i < parts->len; i++) {
        const struct nki_node *part = parts->at[i];
        struct value value;
        bool good;
        if (part->kind == NKI_FORMATTED_VALUE) {
            good = eval_formatted(in, part, &out);
        } else {
            good = eval(in, part, &value);
            if (good)
                value_print(in, value, &out);
        }
        if (!good || !interp_room(in, part, out.len, 1)) {
            buf_free(&out);
            return false;
        }
    }
    *result = value_take(in, &out);
    return true;
}

static bool eval_yield(struct interp *in, const struct nki_node *node, struct value *result) {
    struct value value = NONE_VALUE;
    struct value_seq *yields = in->frame->yields;
    if (node->yield.value && !eval(in, node->yield.value, &value))
        return false;
    *result = NONE_VALUE;
    if (!yields)
        return interp_error(in, node, "SyntaxError", "'yield' outside of a function");
    if (node->kind == NKI_YIELD) {
        value_push(in, yields, value);
        return true;
    }
    const struct value_seq *items;
    if (!interp_items(in, node, value, &items))
        return false;
    for (size_t i = 0; i < items->items.len; i++)
        value_push(in, yields, items->items.at[i]);
    return true;
}

static bool eval_attribute(struct interp *in, const struct nki_node *node, struct value *result) {
    struct value object;
    if (!eval(in, node->attribute.value, &object))
        return false;
    struct cell *cell = cell_of(in, node);
    if (object.kind == VALUE_MODULE && cell->attr.module == object.module) {
        *result = *cell->attr.value;
        return true;
    }
    if (!get_attr_value(in, node, object, cell->attr.name, result))
        return false;
    if (object.kind == VALUE_MODULE && result->kind != VALUE_NONE) {
        cell->attr.value = arena_dup(in->heap, result, sizeof *result);
        cell->attr.module = object.module;
    }
    return true;
}

static bool eval_rest(struct interp *in, const struct nki_node *node, struct value *result) {
    bool truth;
    struct value operand;
    switch ((enum nki_kind)node->kind) {
    case NKI_UNARY_OP:
        return eval(in, node->unary_op.operand, &operand) &&
               op_unary(in, node, node->unary_op.op, operand, result);
    case NKI_IF_EXP:
        return eval_truth(in, node->if_exp.test, &truth) &&
               eval(in, truth ? node->if_exp.body : node->if_exp.orelse, result);
    case NKI_NAMED_EXPR:
        if (!eval(in, node->named_expr.value, result))
            return false;
        return assign_target(in, node->named_expr.target, *result);
    case NKI_LAMBDA:
        *result = make_function(in, node);
        return function_defaults(in, result->function);
    case NKI_DICT: return eval_dict(in, node, result);
    case NKI_SET: return eval_set(in, node, result);
    case NKI_LIST_COMP:
    case NKI_SET_COMP:
    case NKI_DICT_COMP:
    case NKI_GENERATOR_EXP: return eval_comprehension(in, node, result);
    case NKI_YIELD:
    case NKI_YIELD_FROM: return eval_yield(in, node, result);
    case NKI_JOINED_STR: return eval_joined(in, node, result);
    case NKI_BOOL_OP: return eval_bool_op(in, node, result);
    case NKI_AWAIT: return interp_error(in, node, "SyntaxError", "kernels cannot await");
    case NKI_STARRED:
        return interp_error(in, node, "SyntaxError", "'*' is allowed in calls and displays only");
    default:
        return interp_error(in, node, "SyntaxError", "%s cannot be evaluated here",
                            nki_node_name(node->kind));
    }
}

static bool eval_binary(struct interp *in, const struct nki_node *node, struct value *result) {
    struct value a, b;
    if (!eval(in, node->bin_op.left, &a) || !eval(in, node->bin_op.right, &b))
        return false;
    enum nki_binary op = node->bin_op.op;
    if (a.kind == VALUE_INT && b.kind == VALUE_INT) { /* nearly all are of this kind */
        int64_t r;
        if ((op == NKI_ADD && !__builtin_add_overflow(a.i, b.i, &r)) ||
            (op == NKI_MUL && !__builtin_mul_overflow(a.i, b.i, &r)) ||
            (op == NKI_SUB && !__builtin_sub_overflow(a.i, b.i, &r))) {
            *result = value_int(r);
            return true;
        }
    }
    return op_binary(in, node, op, a, b, result);
}

static bool eval_node(struct interp *in, const struct nki_node *node, struct value *result) {
    switch ((enum nki_kind)node->kind) {
    case NKI_CONSTANT:
        if (node->constant.type == NKI_CONST_IMAGINARY)
            return interp_error(in, node, "hone-gap-python",
                                "hone knows no complex numbers in kernels");
        if (node->constant.is_big)
            return interp_error(in, node, "hone-gap-python",
                                "whole numbers in kernels have at most 63 bits; write %g for a "
                                "float",
                                node->constant.number);
        *result = cell_of(in, node)->constant;
        return true;
    case NKI_NAME: {
        struct ref ref = cell_of(in, node)->ref;
        if (ref.kind == REF_FRAME && ref.depth == 0) {
            *result = in->frame->slots[ref.slot];
            if (!is_unset(*result))
                return true;
        }
        return load_ref(in, node, ref, result);
    }
    case NKI_BIN_OP: return eval_binary(in, node, result);
    case NKI_ATTRIBUTE: return eval_attribute(in, node, result);
    case NKI_CALL: return eval_call(in, node, result);
    case NKI_SUBSCRIPT: return eval_subscript(in, node, result);
    case NKI_SLICE: return eval_slice(in, node, result);
    case NKI_TUPLE: return eval_tuple(in, node, result);
    case NKI_LIST: return eval_list(in, node, result);
    case NKI_COMPARE: return eval_compare(in, node, result);
    default: return eval_rest(in, node, result);
    }
}

/* Tells who watches what an expression of the kernel's own file stands for. */
static void tell(struct interp *in, const struct nki_node *node, struct value value) {
    struct nki_seen seen = {0};
    if (in->frame->unit->tree != in->tree)
        return;
    if (value.kind == VALUE_INT) {
        seen.kind = NKI_SEEN_WHOLE;
        seen.whole = value.i;
    } else if (value.kind >= VALUE_DTYPE) {
        in->objects->describe(in, value, &seen);
    }
    in->options->watch->see(in->options->watch->data, node, &seen);
}

bool eval(struct interp *in, const struct nki_node *node, struct value *result) {
    bool ok = eval_node(in, node, result);
    if (ok && in->options->watch)
        tell(in, node, *result);
    return ok;
}

bool eval_truth(struct interp *in, const struct nki_node *node, bool *truth) {
    struct value value;
    if (!eval(in, node, &value))
        return false;
    if (value.kind == VALUE_BOOL) {
        *truth = value.b;
        return true;
    }
    return interp_truth(in, node, value, truth);
}
