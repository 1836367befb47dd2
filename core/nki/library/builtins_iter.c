/* SPDX-License-Identifier: Apache-2.0 */
/* Builtin functions over iterables: zip, enumerate, sorted, sum, min, max and the like. Where
 * Python returns a lazy iterator, these return a list. */
#include "nki/library/builtins.h"

static bool items_of(struct interp *in, const struct call *call, struct value value,
                     const struct value_seq **items) {
    return interp_items(in, call->node, value, items) &&
           interp_spend(in, call->node, (*items)->items.len);
}

static struct value new_list(struct interp *in) {
    return value_list(in, NULL, 0);
}

NATIVE(do_zip) {
    const struct value_seq *all[16];
    size_t n = call->n_args, shortest = SIZE_MAX;
    if (!builtin_arity(in, call, 0, COUNT_OF(all)))
        return false;
    for (size_t k = 0; k < n; k++) {
        if (!items_of(in, call, call->args[k], &all[k]))
            return false;
        shortest = MIN_OF(shortest, all[k]->items.len);
    }
    *result = new_list(in);
    for (size_t i = 0; n && i < shortest; i++) {
        struct value row[COUNT_OF(all)];
        for (size_t k = 0; k < n; k++)
            row[k] = all[k]->items.at[i];
        if (!interp_spend(in, call->node, 1))
            return false;
        value_push(in, result->seq, value_tuple(in, row, n));
    }
    return true;
}

NATIVE(do_enumerate) {
    const struct value_seq *items;
    const struct value *start = builtin_arg(call, 1, "start");
    int64_t first = 0;
    if (!builtin_arity(in, call, 1, 2) || !items_of(in, call, call->args[0], &items) ||
        (start && !builtin_int(in, call, *start, &first)))
        return false;
    *result = new_list(in);
    for (size_t i = 0; i < items->items.len; i++) {
        struct value row[2] = {value_int(first + (int64_t)i), items->items.at[i]};
        if (!interp_spend(in, call->node, 1))
            return false;
        value_push(in, result->seq, value_tuple(in, row, 2));
    }
    return true;
}

NATIVE(do_reversed) {
    const struct value_seq *items;
    if (!builtin_arity(in, call, 1, 1) || !items_of(in, call, call->args[0], &items))
        return false;
    *result = new_list(in);
    for (size_t i = items->items.len; i-- > 0;)
        value_push(in, result->seq, items->items.at[i]);
    return true;
}

/* A stable merge sort with an ordering that may fail. */
static bool merge(struct interp *in, const struct call *call, struct value_pair *from,
                  struct value_pair *to, size_t run[3]) {
    size_t i = run[0], j = run[1];
    for (size_t k = run[0]; k < run[2]; k++) {
        bool right = i >= run[1];
        if (!right && j < run[2] && !op_less(in, call->node, from[j].key, from[i].key, &right))
            return false;
        to[k] = right ? from[j++] : from[i++];
    }
    return true;
}

static bool sort_pairs(struct interp *in, const struct call *call, struct value_pair *pairs,
                       size_t n) {
    struct value_pair *other = ARENA_ARRAY(in->heap, struct value_pair, n);
    struct value_pair *from = pairs, *to = other;
    for (size_t width = 1; width < n; width *= 2) {
        if (!interp_spend(in, call->node, n))
            return false;
        for (size_t at = 0; at < n; at += 2 * width) {
            size_t run[3] = {at, MIN_OF(at + width, n), MIN_OF(at + 2 * width, n)};
            if (!merge(in, call, from, to, run))
                return false;
        }
        struct value_pair *swap = from;
        from = to;
        to = swap;
    }
    if (from != pairs && n)
        memcpy(pairs, from, n * sizeof *pairs);
    return true;
}

bool sort_items(struct interp *in, const struct call *call, struct value *items, size_t n) {
    const struct value *key = builtin_keyword(call, "key");
    const struct value *reverse = builtin_keyword(call, "reverse");
    bool backwards = false;
    struct value_pair *pairs = ARENA_ARRAY(in->heap, struct value_pair, n);
    if (reverse && !interp_truth(in, call->node, *reverse, &backwards))
        return false;
    for (size_t i = 0; i < n; i++) {
        /* Equal items keep their order when the list is reversed before and after sorting. */
        struct value item = items[backwards ? n - 1 - i : i];
        pairs[i] = (struct value_pair){item, item};
        if (key && key->kind != VALUE_NONE &&
            !interp_call(in, call->node, *key, &item, 1, &pairs[i].key))
            return false;
    }
    if (!sort_pairs(in, call, pairs, n))
        return false;
    for (size_t i = 0; i < n; i++)
        items[i] = pairs[backwards ? n - 1 - i : i].value;
    return true;
}

NATIVE(do_sorted) {
    const struct value_seq *items;
    if (!builtin_arity(in, call, 1, 1) || !items_of(in, call, call->args[0], &items))
        return false;
    *result = value_list(in, items->items.at, items->items.len);
    return sort_items(in, call, result->seq->items.at, result->seq->items.len);
}

NATIVE(do_sum) {
    const struct value_seq *items;
    const struct value *start = builtin_arg(call, 1, "start");
    if (!builtin_arity(in, call, 1, 2) || !items_of(in, call, call->args[0], &items))
        return false;
    *result = start ? *start : value_int(0);
    for (size_t i = 0; i < items->items.len; i++)
        if (!op_binary(in, call->node, NKI_ADD, *result, items->items.at[i], result))
            return false;
    return true;
}

/* min and max; data tells which. */
NATIVE(do_extreme) {
    const struct value_seq *items;
    const struct value *key = builtin_keyword(call, "key");
    const struct value *fallback = builtin_keyword(call, "default");
    struct value spread = NONE_VALUE, best_key = NONE_VALUE, item_key;
    bool largest = call->data != NULL;
    if (!builtin_arity(in, call, 1, INTERP_MAX_TEMPS))
        return false;
    spread = call->n_args == 1 ? call->args[0] : value_tuple(in, call->args, call->n_args);
    if (!items_of(in, call, spread, &items))
        return false;
    if (!items->items.len && fallback) {
        *result = *fallback;
        return true;
    }
    if (!items->items.len)
        return interp_error(in, call->node, "ValueError", "%s() of nothing",
                            largest ? "max" : "min");
    for (size_t i = 0; i < items->items.len; i++) {
        bool better = i == 0;
        item_key = items->items.at[i];
        if (key && !interp_call(in, call->node, *key, &items->items.at[i], 1, &item_key))
            return false;
        if (i && !op_less(in, call->node, largest ? best_key : item_key,
                          largest ? item_key : best_key, &better))
            return false;
        if (!better)
            continue;
        *result = items->items.at[i];
        best_key = item_key;
    }
    return true;
}

/* any and all; data tells which. */
NATIVE(do_any) {
    const struct value_seq *items;
    bool stop_at = call->data != NULL, truth = !stop_at;
    if (!builtin_arity(in, call, 1, 1) || !items_of(in, call, call->args[0], &items))
        return false;
    for (size_t i = 0; i < items->items.len && truth != stop_at; i++)
        if (!interp_truth(in, call->node, items->items.at[i], &truth))
            return false;
    *result = value_bool(truth);
    return true;
}

NATIVE(do_map) {
    const struct value_seq *all[8];
    size_t shortest = SIZE_MAX;
    if (!builtin_arity(in, call, 2, COUNT_OF(all) + 1))
        return false;
    size_t n = call->n_args - 1;
    for (size_t k = 0; k < n; k++) {
        if (!items_of(in, call, call->args[k + 1], &all[k]))
            return false;
        shortest = MIN_OF(shortest, all[k]->items.len);
    }
    struct value list = new_list(in), callee = call->args[0];
    for (size_t i = 0; i < shortest; i++) {
        struct value row[COUNT_OF(all)], item;
        for (size_t k = 0; k < n; k++)
            row[k] = all[k]->items.at[i];
        if (!interp_call(in, call->node, callee, row, n, &item))
            return false;
        value_push(in, list.seq, item);
    }
    *result = list;
    return true;
}

NATIVE(do_filter) {
    const struct value_seq *items;
    if (!builtin_arity(in, call, 2, 2) || !items_of(in, call, call->args[1], &items))
        return false;
    struct value list = new_list(in), callee = call->args[0];
    for (size_t i = 0; i < items->items.len; i++) {
        struct value item = items->items.at[i], answer = item;
        bool keep;
        if (callee.kind != VALUE_NONE && !interp_call(in, call->node, callee, &item, 1, &answer))
            return false;
        if (!interp_truth(in, call->node, answer, &keep))
            return false;
        if (keep)
            value_push(in, list.seq, item);
    }
    *result = list;
    return true;
}

NATIVE(do_iter) {
    const struct value_seq *items;
    if (!builtin_arity(in, call, 1, 1) || !items_of(in, call, call->args[0], &items))
        return false;
    *result = value_list(in, items->items.at, items->items.len);
    return true;
}

/* Takes the first item off a list that iter() or a generator expression made. */
NATIVE(do_next) {
    if (!builtin_arity(in, call, 1, 2))
        return false;
    struct value over = call->args[0];
    if (over.kind != VALUE_LIST)
        return interp_error(in, call->node, "TypeError", "next() needs an iterator, not %s",
                            value_type_name(over));
    if (over.seq->items.len) {
        *result = over.seq->items.at[0];
        over.seq->items.len--;
        memmove(over.seq->items.at, over.seq->items.at + 1,
                over.seq->items.len * sizeof(struct value));
        return interp_spend(in, call->node, over.seq->items.len / 64);
    }
    if (call->n_args < 2)
        return interp_error(in, call->node, "StopIteration", "the iterator has no more items");
    *result = call->args[1];
    return true;
}

const struct value_native builtin_iterators[] = {
    {"zip", do_zip, NULL},           {"enumerate", do_enumerate, NULL},
    {"reversed", do_reversed, NULL}, {"sorted", do_sorted, NULL},
    {"sum", do_sum, NULL},           {"min", do_extreme, NULL},
    {"max", do_extreme, ""},         {"any", do_any, ""},
    {"all", do_any, NULL},           {"map", do_map, NULL},
    {"filter", do_filter, NULL},     {"iter", do_iter, NULL},
    {"next", do_next, NULL},
};
const size_t n_builtin_iterators = COUNT_OF(builtin_iterators);
