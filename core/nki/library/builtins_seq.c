/* SPDX-License-Identifier: Apache-2.0 */
/* Methods of list, tuple, range, dict and set. */
#include "nki/library/builtins.h"

#define LIST(call) ((call)->self.seq)
#define DICT(call) ((call)->self.dict)

/* ---- lists ---------------------------------------------------------------------------------- */

NATIVE(do_append) {
    if (!builtin_arity(in, call, 1, 1) ||
        (LIST(call)->items.len >= INTERP_MAX_ITEMS &&
         !interp_room(in, call->node, LIST(call)->items.len + 1, sizeof(struct value))))
        return false;
    value_push(in, LIST(call), call->args[0]);
    *result = NONE_VALUE;
    return true;
}

NATIVE(do_extend) {
    const struct value_seq *items;
    *result = NONE_VALUE;
    if (!builtin_arity(in, call, 1, 1) || !interp_items(in, call->node, call->args[0], &items) ||
        !interp_room(in, call->node, LIST(call)->items.len + items->items.len,
                     sizeof(struct value)))
        return false;
    for (size_t i = 0, n = items->items.len; i < n; i++)
        value_push(in, LIST(call), items->items.at[i]);
    return true;
}

static int64_t place(const struct value_seq *seq, int64_t i) {
    int64_t n = (int64_t)seq->items.len;
    return i < 0 ? MAX_OF(i + n, 0) : MIN_OF(i, n);
}

NATIVE(do_insert) {
    int64_t i;
    *result = NONE_VALUE;
    if (!builtin_arity(in, call, 2, 2) || !builtin_int(in, call, call->args[0], &i))
        return false;
    struct value_seq *seq = LIST(call);
    size_t at = (size_t)place(seq, i);
    value_push(in, seq, NONE_VALUE);
    memmove(seq->items.at + at + 1, seq->items.at + at,
            (seq->items.len - 1 - at) * sizeof(struct value));
    seq->items.at[at] = call->args[1];
    return interp_spend(in, call->node, (seq->items.len - at) / 64);
}

NATIVE(do_pop) {
    int64_t i = -1;
    struct value_seq *seq = LIST(call);
    if (!builtin_arity(in, call, 0, 1) ||
        (call->n_args && !builtin_int(in, call, call->args[0], &i)))
        return false;
    if (i < 0)
        i += (int64_t)seq->items.len;
    if (i < 0 || i >= (int64_t)seq->items.len)
        return interp_error(in, call->node, "IndexError", "pop from %s",
                            seq->items.len ? "outside of the list" : "an empty list");
    *result = seq->items.at[i];
    seq->items.len--;
    memmove(seq->items.at + i, seq->items.at + i + 1,
            (seq->items.len - (size_t)i) * sizeof(struct value));
    return interp_spend(in, call->node, (seq->items.len - (size_t)i) / 64);
}

static bool find_item(struct interp *in, const struct call *call, size_t *at) {
    const struct value_seq *items;
    if (!builtin_arity(in, call, 1, 3) || !interp_items(in, call->node, call->self, &items) ||
        !interp_spend(in, call->node, items->items.len / 4))
        return false;
    for (*at = 0; *at < items->items.len; ++*at)
        if (value_equal(in, items->items.at[*at], call->args[0]))
            return true;
    struct buf text = {0};
    value_repr(in, call->args[0], &text);
    interp_error(in, call->node, "ValueError", "%.100s is not in the %s", text.at ? text.at : "",
                 value_type_name(call->self));
    buf_free(&text);
    return false;
}

NATIVE(do_remove) {
    size_t at;
    *result = NONE_VALUE;
    if (!find_item(in, call, &at))
        return false;
    return del_item(in, call->node, call->self, value_int((int64_t)at));
}

NATIVE(do_index) {
    size_t at;
    if (!find_item(in, call, &at))
        return false;
    *result = value_int((int64_t)at);
    return true;
}

NATIVE(do_count) {
    const struct value_seq *items;
    int64_t n = 0;
    if (!builtin_arity(in, call, 1, 1) || !interp_items(in, call->node, call->self, &items))
        return false;
    for (size_t i = 0; i < items->items.len; i++)
        n += value_equal(in, items->items.at[i], call->args[0]);
    *result = value_int(n);
    return interp_spend(in, call->node, items->items.len / 4);
}

NATIVE(do_reverse) {
    struct value_seq *seq = LIST(call);
    for (size_t i = 0, j = seq->items.len; i + 1 < j; i++) {
        struct value swap = seq->items.at[--j];
        seq->items.at[j] = seq->items.at[i];
        seq->items.at[i] = swap;
    }
    *result = NONE_VALUE;
    return builtin_arity(in, call, 0, 0) && interp_spend(in, call->node, seq->items.len / 8);
}

NATIVE(do_sort) {
    struct value_seq *seq = LIST(call);
    *result = NONE_VALUE;
    size_t n = seq->items.len;
    struct value *copy = arena_dup(in->heap, seq->items.at, n * sizeof *copy);
    if (!builtin_arity(in, call, 0, 0) || !sort_items(in, call, copy, n))
        return false;
    if (seq->items.len == n && n)
        memcpy(seq->items.at, copy, n * sizeof *copy);
    return true;
}

NATIVE(do_clear) {
    *result = NONE_VALUE;
    LIST(call)->items.len = 0;
    return builtin_arity(in, call, 0, 0);
}

NATIVE(do_copy) {
    return builtin_arity(in, call, 0, 0) && builtin_shallow(in, call->self, result);
}

bool builtin_shallow(struct interp *in, struct value value, struct value *result) {
    *result = value;
    if (value.kind == VALUE_LIST) {
        *result = value_list(in, value.seq->items.at, value.seq->items.len);
    } else if (value.kind == VALUE_DICT) {
        *result = value_new_dict(in);
        result->dict->is_set = value.dict->is_set;
        for (size_t i = 0; i < value.dict->pairs.len; i++)
            value_dict_put(in, result->dict, value.dict->pairs.at[i].key,
                           value.dict->pairs.at[i].value);
    } else if (value.kind == VALUE_OBJECT && value.object->cls->form == CLASS_PLAIN) {
        *result = object_new(in, value.object->cls);
        for (uint32_t i = 0; i < value.object->attrs.len; i++)
            attrs_put(in, &result->object->attrs, value.object->attrs.at[i].name,
                      value.object->attrs.at[i].value);
    }
    return true;
}

static const struct value_native list_rows[] = {
    {"append", do_append, NULL}, {"extend", do_extend, NULL},   {"insert", do_insert, NULL},
    {"pop", do_pop, NULL},       {"remove", do_remove, NULL},   {"index", do_index, NULL},
    {"count", do_count, NULL},   {"reverse", do_reverse, NULL}, {"sort", do_sort, NULL},
    {"clear", do_clear, NULL},   {"copy", do_copy, NULL},
};
const struct method_table list_methods = {list_rows, COUNT_OF(list_rows)};

static const struct value_native tuple_rows[] = {
    {"index", do_index, NULL},
    {"count", do_count, NULL},
};
const struct method_table tuple_methods = {tuple_rows, COUNT_OF(tuple_rows)};

/* ---- dicts ---------------------------------------------------------------------------------- */

/* keys, values, items; data tells which. */
NATIVE(do_views) {
    char which = *(const char *)call->data;
    const struct value_dict *dict = DICT(call);
    struct value list = value_list(in, NULL, 0);
    if (!builtin_arity(in, call, 0, 0) || !interp_spend(in, call->node, dict->pairs.len / 4))
        return false;
    for (size_t i = 0; i < dict->pairs.len; i++) {
        struct value pair[2] = {dict->pairs.at[i].key, dict->pairs.at[i].value};
        value_push(in, list.seq,
                   which == 'k'   ? pair[0]
                   : which == 'v' ? pair[1]
                                  : value_tuple(in, pair, 2));
    }
    *result = list;
    return true;
}

/* get, pop, setdefault; data: 'g', 'p', 's'. */
NATIVE(do_get) {
    char how = *(const char *)call->data;
    if (!builtin_arity(in, call, 1, 2))
        return false;
    const struct value_pair *pair = value_dict_find(in, DICT(call), call->args[0]);
    struct value fallback = call->n_args > 1 ? call->args[1] : NONE_VALUE;
    if (!pair && how == 'p' && call->n_args < 2)
        return get_item(in, call->node, call->self, call->args[0], result);
    *result = pair ? pair->value : fallback;
    if (pair && how == 'p')
        value_dict_remove(in, DICT(call), call->args[0]);
    if (!pair && how == 's')
        value_dict_put(in, DICT(call), call->args[0], fallback);
    return true;
}

NATIVE(do_update) {
    struct value_dict *dict = DICT(call);
    *result = NONE_VALUE;
    if (!builtin_arity(in, call, 0, 1))
        return false;
    if (call->n_args && call->args[0].kind != VALUE_DICT)
        return interp_error(in, call->node, "TypeError", "update() needs a dict, not %s",
                            value_type_name(call->args[0]));
    for (size_t i = 0; call->n_args && i < call->args[0].dict->pairs.len; i++)
        value_dict_put(in, dict, call->args[0].dict->pairs.at[i].key,
                       call->args[0].dict->pairs.at[i].value);
    for (size_t i = 0; i < call->n_keywords; i++)
        value_dict_put(
            in, dict,
            (struct value){.kind = VALUE_STR, .str = interp_intern(in, call->keywords[i].name)},
            call->keywords[i].value);
    return true;
}

NATIVE(do_dict_clear) {
    *DICT(call) = (struct value_dict){.is_set = DICT(call)->is_set};
    *result = NONE_VALUE;
    return builtin_arity(in, call, 0, 0);
}

NATIVE(do_popitem) {
    struct value_dict *dict = DICT(call);
    if (!dict->pairs.len)
        return interp_error(in, call->node, "KeyError", "popitem() of an empty dict");
    struct value_pair last = dict->pairs.at[dict->pairs.len - 1];
    struct value pair[2] = {last.key, last.value};
    value_dict_remove(in, dict, last.key);
    *result = dict->is_set ? last.key : value_tuple(in, pair, 2);
    return builtin_arity(in, call, 0, 0);
}

static const struct value_native dict_rows[] = {
    {"get", do_get, "g"},          {"keys", do_views, "k"},        {"values", do_views, "v"},
    {"items", do_views, "i"},      {"pop", do_get, "p"},           {"setdefault", do_get, "s"},
    {"update", do_update, NULL},   {"clear", do_dict_clear, NULL}, {"copy", do_copy, NULL},
    {"popitem", do_popitem, NULL},
};
const struct method_table dict_methods = {dict_rows, COUNT_OF(dict_rows)};

/* ---- sets ----------------------------------------------------------------------------------- */

NATIVE(do_add) {
    *result = NONE_VALUE;
    if (!builtin_arity(in, call, 1, 1))
        return false;
    value_dict_put(in, DICT(call), call->args[0], NONE_VALUE);
    return true;
}

NATIVE(do_discard) {
    *result = NONE_VALUE;
    if (!builtin_arity(in, call, 1, 1))
        return false;
    if (!value_dict_remove(in, DICT(call), call->args[0]) && call->data)
        return get_item(in, call->node, value_new_dict(in), call->args[0], result);
    return true;
}

static bool as_set(struct interp *in, const struct call *call, struct value value,
                   struct value *set) {
    struct value type;
    return interp_builtin(in, "set", &type) && interp_call(in, call->node, type, &value, 1, set);
}

/* union, intersection, difference, symmetric_difference; data is the operator. */
NATIVE(do_set_op) {
    static const enum nki_binary ops[] = {NKI_BIT_OR, NKI_BIT_AND, NKI_SUB, NKI_BIT_XOR};
    struct value other;
    *result = call->self;
    for (size_t i = 0; i < call->n_args; i++)
        if (!as_set(in, call, call->args[i], &other) ||
            !op_binary(in, call->node, ops[*(const char *)call->data - '0'], *result, other,
                       result))
            return false;
    return true;
}

NATIVE(do_set_update) {
    const struct value_seq *items;
    *result = NONE_VALUE;
    if (!builtin_arity(in, call, 1, 1) || !interp_items(in, call->node, call->args[0], &items))
        return false;
    for (size_t i = 0; i < items->items.len; i++)
        value_dict_put(in, DICT(call), items->items.at[i], NONE_VALUE);
    return true;
}

NATIVE(do_subset) {
    struct value other;
    if (!builtin_arity(in, call, 1, 1) || !as_set(in, call, call->args[0], &other))
        return false;
    return op_compare(in, call->node, call->data ? NKI_CMP_GT_E : NKI_CMP_LT_E, call->self, other,
                      result);
}

NATIVE(do_disjoint) {
    struct value other, both;
    bool truth;
    if (!builtin_arity(in, call, 1, 1) || !as_set(in, call, call->args[0], &other) ||
        !op_binary(in, call->node, NKI_BIT_AND, call->self, other, &both) ||
        !interp_truth(in, call->node, both, &truth))
        return false;
    *result = value_bool(!truth);
    return true;
}

static const struct value_native set_rows[] = {
    {"add", do_add, NULL},
    {"discard", do_discard, NULL},
    {"remove", do_discard, ""},
    {"union", do_set_op, "0"},
    {"intersection", do_set_op, "1"},
    {"difference", do_set_op, "2"},
    {"symmetric_difference", do_set_op, "3"},
    {"update", do_set_update, NULL},
    {"isdisjoint", do_disjoint, NULL},
    {"issubset", do_subset, NULL},
    {"issuperset", do_subset, ""},
    {"clear", do_dict_clear, NULL},
    {"copy", do_copy, NULL},
    {"pop", do_popitem, NULL},
};
const struct method_table set_methods = {set_rows, COUNT_OF(set_rows)};
