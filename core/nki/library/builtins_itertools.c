/* SPDX-License-Identifier: Apache-2.0 */
/* Python's modules itertools, functools and operator. What itertools gives one by one is a list
 * here, because kernels are finite. */
#include "nki/library/builtins.h"

NATIVE(do_product) {
    const struct value *repeat = builtin_keyword(call, "repeat");
    const struct value_seq *all[16];
    size_t n = call->n_args, total = 1;
    int64_t times = 1;
    if ((repeat && !builtin_int(in, call, *repeat, &times)))
        return false;
    if (times < 0 || n * (size_t)times > COUNT_OF(all))
        return interp_error(in, call->node, "ValueError", "product() of more than 16 iterables");
    for (size_t k = 0; k < n; k++)
        if (!interp_items(in, call->node, call->args[k], &all[k]))
            return false;
    for (size_t k = n; k < n * (size_t)times; k++)
        all[k] = all[k - n];
    n *= (size_t)times;
    for (size_t k = 0; k < n; k++)
        if (__builtin_mul_overflow(total, all[k]->items.len, &total))
            total = SIZE_MAX;
    if (!interp_room(in, call->node, total, sizeof(struct value) * (n + 2)))
        return false;
    *result = value_list(in, NULL, 0);
    for (size_t i = 0; i < total; i++) {
        struct value row[COUNT_OF(all)];
        size_t rest = i;
        for (size_t k = n; k-- > 0; rest /= all[k]->items.len)
            row[k] = all[k]->items.at[rest % all[k]->items.len];
        value_push(in, result->seq, value_tuple(in, row, n));
    }
    return true;
}

NATIVE(do_chain) {
    struct value list = value_list(in, NULL, 0);
    for (size_t k = 0; k < call->n_args; k++) {
        const struct value_seq *items;
        if (!interp_items(in, call->node, call->args[k], &items) ||
            !interp_room(in, call->node, list.seq->items.len + items->items.len,
                         sizeof(struct value)))
            return false;
        for (size_t i = 0; i < items->items.len; i++)
            value_push(in, list.seq, items->items.at[i]);
    }
    *result = list;
    return true;
}

NATIVE(do_accumulate) {
    const struct value_seq *items;
    struct value all = NONE_VALUE;
    if (!builtin_arity(in, call, 1, 2) || !interp_items(in, call->node, call->args[0], &items))
        return false;
    struct value list = value_list(in, NULL, 0);
    for (size_t i = 0; i < items->items.len; i++) {
        struct value pair[2] = {all, items->items.at[i]};
        bool good = true;
        if (i == 0)
            all = pair[1];
        else if (call->n_args == 2)
            good = interp_call(in, call->node, call->args[1], pair, 2, &all);
        else
            good = op_binary(in, call->node, NKI_ADD, pair[0], pair[1], &all);
        if (!good)
            return false;
        value_push(in, list.seq, all);
    }
    *result = list;
    return true;
}

NATIVE(do_repeat) {
    int64_t n;
    if (!builtin_arity(in, call, 2, 2) || !builtin_int(in, call, call->args[1], &n))
        return false;
    struct value list = value_list(in, call->args, 1);
    return op_binary(in, call->node, NKI_MUL, list, value_int(n), result);
}

NATIVE(do_islice) {
    struct value_slice slice = {NONE_VALUE, NONE_VALUE, NONE_VALUE};
    const struct value_seq *items;
    if (!builtin_arity(in, call, 2, 4) || !interp_items(in, call->node, call->args[0], &items))
        return false;
    *(call->n_args == 2 ? &slice.stop : &slice.start) = call->args[1];
    if (call->n_args > 2)
        slice.stop = call->args[2];
    if (call->n_args > 3)
        slice.step = call->args[3];
    struct value list = value_list(in, items->items.at, items->items.len);
    return get_item(in, call->node, list, (struct value){.kind = VALUE_SLICE, .slice = &slice},
                    result);
}

/* The next choice of k out of n, in order. For permutations it is the next one of different items.
 * False at the end. */
static bool next_choice(size_t *pick, size_t k, size_t n, bool permutations) {
    while (true) {
        size_t at = k;
        while (at-- > 0 && ++pick[at] >= n)
            pick[at] = 0;
        if (at == SIZE_MAX)
            return false;
        bool fits = true;
        for (size_t i = 0; i < k && fits; i++)
            for (size_t j = 0; j < i && fits; j++)
                fits = permutations ? pick[i] != pick[j] : pick[j] < pick[i];
        if (fits)
            return true;
    }
}

/* combinations and permutations (data) of up to 8 of an iterable's items. */
NATIVE(do_combinations) {
    const struct value_seq *items;
    size_t pick[8];
    int64_t k;
    if (!builtin_arity(in, call, 1, 2) || !interp_items(in, call->node, call->args[0], &items))
        return false;
    k = (int64_t)items->items.len;
    if (call->n_args == 2 && !builtin_int(in, call, call->args[1], &k))
        return false;
    size_t n = items->items.len, tries = 1;
    if (k < 0 || k > (int64_t)COUNT_OF(pick))
        return interp_error(in, call->node, "ValueError", "choices of more than %zu items",
                            COUNT_OF(pick));
    for (int64_t i = 0; i < k; i++) {
        pick[i] = i + 1 == k ? SIZE_MAX : 0; /* so that next_choice starts with the first */
        if (__builtin_mul_overflow(tries, n, &tries))
            tries = SIZE_MAX;
    }
    *result = value_list(in, NULL, 0);
    if (!interp_spend(in, call->node, tries) || (n == 0 && k > 0))
        return !in->failure.set;
    while (k > 0 && next_choice(pick, (size_t)k, n, call->data != NULL)) {
        struct value row[COUNT_OF(pick)];
        for (int64_t i = 0; i < k; i++)
            row[i] = items->items.at[pick[i]];
        value_push(in, result->seq, value_tuple(in, row, (size_t)k));
    }
    return true;
}

static const struct value_native itertools_rows[] = {
    {"itertools.product", do_product, NULL},
    {"itertools.chain", do_chain, NULL},
    {"itertools.accumulate", do_accumulate, NULL},
    {"itertools.repeat", do_repeat, NULL},
    {"itertools.combinations", do_combinations, NULL},
    {"itertools.permutations", do_combinations, ""},
    {"itertools.islice", do_islice, NULL},
};
const struct method_table itertools_functions = {itertools_rows, COUNT_OF(itertools_rows)};

NATIVE(do_reduce) {
    const struct value_seq *items;
    size_t i = 0;
    if (!builtin_arity(in, call, 2, 3) || !interp_items(in, call->node, call->args[1], &items))
        return false;
    struct value callee = call->args[0], all;
    if (call->n_args == 3)
        all = call->args[2];
    else if (items->items.len)
        all = items->items.at[i++];
    else
        return interp_error(in, call->node, "TypeError", "reduce() of nothing without a start");
    for (; i < items->items.len; i++) {
        struct value pair[2] = {all, items->items.at[i]};
        if (!interp_call(in, call->node, callee, pair, 2, &all))
            return false;
    }
    *result = all;
    return true;
}

/* The object that functools.partial returns. It calls the first argument with the others in
 * front. */
struct partial {
    struct value callee;
    size_t n_args, n_keywords;
    struct value *args;
    struct value_keyword *keywords;
};

NATIVE(call_partial) {
    const struct partial *p = call->data;
    struct call full = *call;
    size_t n = p->n_args + call->n_args, k = p->n_keywords + call->n_keywords;
    struct value *args = ARENA_ARRAY(in->heap, struct value, n);
    struct value_keyword *keywords = ARENA_ARRAY(in->heap, struct value_keyword, k);
    memcpy(args, p->args, p->n_args * sizeof *args);
    if (call->n_args)
        memcpy(args + p->n_args, call->args, call->n_args * sizeof *args);
    size_t used = 0;
    for (size_t i = 0; i < p->n_keywords; i++) {
        bool again = false;
        for (size_t j = 0; j < call->n_keywords; j++)
            again |= str_equal(call->keywords[j].name, p->keywords[i].name);
        if (!again)
            keywords[used++] = p->keywords[i];
    }
    if (call->n_keywords)
        memcpy(keywords + used, call->keywords, call->n_keywords * sizeof *keywords);
    full.args = args;
    full.n_args = n;
    full.keywords = keywords;
    full.n_keywords = used + call->n_keywords;
    full.self = NONE_VALUE;
    return call_value(in, &full, p->callee, result);
}

NATIVE(do_partial) {
    if (!builtin_arity(in, call, 1, INTERP_MAX_TEMPS))
        return false;
    struct partial *p = ARENA_NEW(in->heap, struct partial);
    p->callee = call->args[0];
    p->n_args = call->n_args - 1;
    p->args = arena_dup(in->heap, call->args + 1, p->n_args * sizeof *p->args);
    p->n_keywords = call->n_keywords;
    p->keywords = arena_dup(in->heap, call->keywords, p->n_keywords * sizeof *p->keywords);
    struct value_native *native = ARENA_NEW(in->heap, struct value_native);
    *native = (struct value_native){"partial", call_partial, p};
    *result = native_value(native);
    return true;
}

/* wraps(f), lru_cache(..), contextmanager and other decorators that mean nothing here. */
bool builtin_decorator(struct interp *in, const struct call *call, struct value *result) {
    static const struct value_native identity = {"decorator", builtin_decorator, ""};
    bool direct = call->data || (call->n_args == 1 && call->args[0].kind == VALUE_FUNCTION);
    (void)in;
    *result = direct && call->n_args ? call->args[0] : native_value(&identity);
    return true;
}

static const struct value_native functools_rows[] = {
    {"functools.reduce", do_reduce, NULL},
    {"functools.partial", do_partial, NULL},
    {"functools.wraps", builtin_decorator, NULL},
    {"functools.lru_cache", builtin_decorator, NULL},
    {"functools.cache", builtin_decorator, NULL},
    {"functools.total_ordering", builtin_decorator, ""},
};
const struct method_table functools_functions = {functools_rows, COUNT_OF(functools_rows)};

/* operator.add and so on; data is the operator. */
NATIVE(do_operator) {
    static const enum nki_binary ops[] = {NKI_ADD, NKI_SUB,       NKI_MUL,
                                          NKI_DIV, NKI_FLOOR_DIV, NKI_MOD};
    return builtin_arity(in, call, 2, 2) &&
           op_binary(in, call->node, ops[*(const char *)call->data - '0'], call->args[0],
                     call->args[1], result);
}

static const struct value_native operator_rows[] = {
    {"operator.add", do_operator, "0"},      {"operator.sub", do_operator, "1"},
    {"operator.mul", do_operator, "2"},      {"operator.truediv", do_operator, "3"},
    {"operator.floordiv", do_operator, "4"}, {"operator.mod", do_operator, "5"},
};
const struct method_table operator_functions = {operator_rows, COUNT_OF(operator_rows)};
