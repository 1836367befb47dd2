/* SPDX-License-Identifier: Apache-2.0 */
/* Modules of Python's standard library that kernels lean on: math, functools, itertools, enum,
 * dataclasses, typing, collections, copy and operator, as far as a meta-program needs them. */
#include "nki/library/builtins.h"

#include <math.h>
#include <stdio.h>

/* ---- math ----------------------------------------------------------------------------------- */

struct math_row {
    double (*one)(double);
    bool to_int;
};

static bool finite_int(struct interp *in, const struct call *call, double f, struct value *result) {
    if (!(f > -9.2e18 && f < 9.2e18))
        return interp_error(in, call->node, "OverflowError", "%g does not fit a 64-bit integer", f);
    *result = value_int((int64_t)f);
    return true;
}

NATIVE(do_math) {
    const struct math_row *row = call->data;
    double f;
    if (!builtin_arity(in, call, 1, 1))
        return false;
    if (row->to_int && is_integer(call->args[0])) {
        *result = value_int(integer_of(call->args[0]));
        return true;
    }
    if (!builtin_number(in, call, call->args[0], &f))
        return false;
    double r = row->one(f);
    if (isnan(r) && !isnan(f))
        return interp_error(in, call->node, "ValueError", "%g is outside of the function's domain",
                            f);
    if (row->to_int)
        return finite_int(in, call, r, result);
    *result = value_float(r);
    return true;
}

NATIVE(do_log) {
    double f, base;
    if (!builtin_arity(in, call, 1, 2) || !builtin_number(in, call, call->args[0], &f) ||
        (call->n_args == 2 && !builtin_number(in, call, call->args[1], &base)))
        return false;
    if (f <= 0 || (call->n_args == 2 && (base <= 0 || base == 1)))
        return interp_error(in, call->node, "ValueError", "the logarithm of %g", f);
    *result = value_float(call->n_args == 2 ? log(f) / log(base) : log(f));
    return true;
}

/* log2 and log10: exact for powers, an error for numbers without a logarithm. */
NATIVE(do_log_base) {
    double f;
    if (!builtin_arity(in, call, 1, 1) || !builtin_number(in, call, call->args[0], &f))
        return false;
    if (f <= 0)
        return interp_error(in, call->node, "ValueError", "the logarithm of %g", f);
    *result = value_float(call->data ? log10(f) : log2(f));
    return true;
}

/* pow, fmod, atan2, copysign, hypot; data tells which. */
NATIVE(do_math_two) {
    double a, b;
    char which = *(const char *)call->data;
    if (!builtin_arity(in, call, 2, 2) || !builtin_number(in, call, call->args[0], &a) ||
        !builtin_number(in, call, call->args[1], &b))
        return false;
    if (which == 'm' && b == 0)
        return interp_error(in, call->node, "ValueError", "fmod by zero");
    *result = value_float(which == 'p'   ? pow(a, b)
                          : which == 'm' ? fmod(a, b)
                          : which == 'a' ? atan2(a, b)
                          : which == 'h' ? hypot(a, b)
                                         : copysign(a, b));
    return true;
}

static uint64_t gcd(uint64_t a, uint64_t b) {
    while (b) {
        uint64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

static uint64_t size_of(int64_t i) {
    return i < 0 ? 0 - (uint64_t)i : (uint64_t)i;
}

/* gcd and lcm of any number of integers; data tells lcm. */
NATIVE(do_gcd) {
    uint64_t all = call->data ? 1 : 0;
    for (size_t k = 0; k < call->n_args; k++) {
        int64_t i;
        if (!builtin_int(in, call, call->args[k], &i))
            return false;
        uint64_t common = gcd(all, size_of(i));
        if (!call->data)
            all = common;
        else if (common && __builtin_mul_overflow(all / common, size_of(i), &all))
            return interp_error(in, call->node, "OverflowError", "lcm() over 64 bits");
        else if (!common)
            all = 0;
    }
    if (all > INT64_MAX)
        return interp_error(in, call->node, "OverflowError", "the result is over 64 bits");
    *result = value_int((int64_t)all);
    return true;
}

NATIVE(do_isqrt) {
    int64_t i;
    if (!builtin_arity(in, call, 1, 1) || !builtin_int(in, call, call->args[0], &i))
        return false;
    if (i < 0)
        return interp_error(in, call->node, "ValueError", "isqrt() of a negative number");
    int64_t root = (int64_t)sqrt((double)i);
    while (root > 0 && root > i / root)
        root--;
    while ((root + 1) <= i / (root + 1))
        root++;
    *result = value_int(root);
    return true;
}

/* prod, and what starts from 1. */
NATIVE(do_prod) {
    const struct value_seq *items;
    const struct value *start = builtin_keyword(call, "start");
    if (!builtin_arity(in, call, 1, 1) || !interp_items(in, call->node, call->args[0], &items))
        return false;
    *result = start ? *start : value_int(1);
    for (size_t i = 0; i < items->items.len; i++)
        if (!op_binary(in, call->node, NKI_MUL, *result, items->items.at[i], result))
            return false;
    return interp_spend(in, call->node, items->items.len);
}

/* isinf, isnan, isfinite. */
NATIVE(do_is_float) {
    double f;
    char which = *(const char *)call->data;
    if (!builtin_arity(in, call, 1, 1) || !builtin_number(in, call, call->args[0], &f))
        return false;
    *result = value_bool(which == 'i' ? isinf(f) : which == 'n' ? isnan(f) : isfinite(f));
    return true;
}

NATIVE(do_factorial) {
    int64_t i, all = 1;
    if (!builtin_arity(in, call, 1, 1) || !builtin_int(in, call, call->args[0], &i))
        return false;
    if (i < 0 || i > 20)
        return interp_error(in, call->node, "OverflowError", "factorial() of %lld", (long long)i);
    for (int64_t k = 2; k <= i; k++)
        all *= k;
    *result = value_int(all);
    return true;
}

NATIVE(do_isclose) {
    double a, b, rel = 1e-9, abs_tol = 0;
    const struct value *rel_arg = builtin_keyword(call, "rel_tol");
    const struct value *abs_arg = builtin_keyword(call, "abs_tol");
    if (!builtin_arity(in, call, 2, 2) || !builtin_number(in, call, call->args[0], &a) ||
        !builtin_number(in, call, call->args[1], &b) ||
        (rel_arg && !builtin_number(in, call, *rel_arg, &rel)) ||
        (abs_arg && !builtin_number(in, call, *abs_arg, &abs_tol)))
        return false;
    *result = value_bool(a == b || fabs(a - b) <= fmax(rel * fmax(fabs(a), fabs(b)), abs_tol));
    return true;
}

static const struct math_row math_ceil = {ceil, true}, math_floor = {floor, true},
                             math_trunc = {trunc, true}, math_sqrt = {sqrt, false},
                             math_exp = {exp, false}, math_sin = {sin, false},
                             math_cos = {cos, false}, math_tan = {tan, false},
                             math_tanh = {tanh, false}, math_fabs = {fabs, false},
                             math_erf = {erf, false}, math_atan = {atan, false},
                             math_expm1 = {expm1, false}, math_log1p = {log1p, false};

static const struct value_native math_rows[] = {
    {"math.ceil", do_math, &math_ceil},   {"math.floor", do_math, &math_floor},
    {"math.trunc", do_math, &math_trunc}, {"math.sqrt", do_math, &math_sqrt},
    {"math.exp", do_math, &math_exp},     {"math.sin", do_math, &math_sin},
    {"math.cos", do_math, &math_cos},     {"math.tan", do_math, &math_tan},
    {"math.tanh", do_math, &math_tanh},   {"math.fabs", do_math, &math_fabs},
    {"math.erf", do_math, &math_erf},     {"math.atan", do_math, &math_atan},
    {"math.expm1", do_math, &math_expm1}, {"math.log1p", do_math, &math_log1p},
    {"math.log", do_log, NULL},           {"math.log2", do_log_base, NULL},
    {"math.log10", do_log_base, ""},      {"math.pow", do_math_two, "p"},
    {"math.fmod", do_math_two, "m"},      {"math.atan2", do_math_two, "a"},
    {"math.hypot", do_math_two, "h"},     {"math.copysign", do_math_two, "c"},
    {"math.gcd", do_gcd, NULL},           {"math.lcm", do_gcd, ""},
    {"math.isqrt", do_isqrt, NULL},       {"math.prod", do_prod, NULL},
    {"math.isinf", do_is_float, "i"},     {"math.isnan", do_is_float, "n"},
    {"math.isfinite", do_is_float, "f"},  {"math.factorial", do_factorial, NULL},
    {"math.isclose", do_isclose, NULL},
};

/* ---- functools, itertools, copy, typing ----------------------------------------------------- */

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

/* What functools.partial gives: calls the first argument with the others in front. */
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

/* wraps(f), lru_cache(..), contextmanager and other decorators without meaning here. */
NATIVE(do_decorator) {
    static const struct value_native identity = {"decorator", do_decorator, ""};
    bool direct = call->data || (call->n_args == 1 && call->args[0].kind == VALUE_FUNCTION);
    (void)in;
    *result = direct && call->n_args ? call->args[0] : native_value(&identity);
    return true;
}

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

/* The next choice of k out of n in order (permutations: all of different items); false at the
 * end. */
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
        pick[i] = i + 1 == k ? SIZE_MAX : 0; /* next_choice counts it up to the first */
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

NATIVE(do_copy) {
    return builtin_arity(in, call, 1, 1) && builtin_shallow(in, call->args[0], result);
}

static bool deep(struct interp *in, const struct call *call, struct value v, int depth,
                 struct value *result) {
    if (depth > 40)
        return interp_error(in, call->node, "RecursionError", "deepcopy() of values nested deeply");
    if (!interp_step(in, call->node) || !builtin_shallow(in, v, result))
        return false;
    if (v.kind == VALUE_LIST || v.kind == VALUE_TUPLE) {
        if (v.kind == VALUE_TUPLE)
            *result = value_tuple(in, v.seq->items.at, v.seq->items.len);
        for (size_t i = 0; i < v.seq->items.len; i++)
            if (!deep(in, call, v.seq->items.at[i], depth + 1, &result->seq->items.at[i]))
                return false;
    } else if (v.kind == VALUE_DICT) {
        for (size_t i = 0; i < v.dict->pairs.len; i++)
            if (!deep(in, call, v.dict->pairs.at[i].value, depth + 1,
                      &result->dict->pairs.at[i].value))
                return false;
    } else if (v.kind == VALUE_OBJECT && v.object->cls->form == CLASS_PLAIN) {
        for (uint32_t i = 0; i < v.object->attrs.len; i++)
            if (!deep(in, call, v.object->attrs.at[i].value, depth + 1,
                      &result->object->attrs.at[i].value))
                return false;
    }
    return true;
}

NATIVE(do_deepcopy) {
    return builtin_arity(in, call, 1, 2) && deep(in, call, call->args[0], 0, result);
}

/* dataclasses.replace(object, field=value) */
NATIVE(do_replace) {
    if (!builtin_arity(in, call, 1, 1) || !builtin_shallow(in, call->args[0], result))
        return false;
    if (result->kind != VALUE_OBJECT)
        return interp_error(in, call->node, "TypeError", "replace() needs an object, not %s",
                            value_type_name(*result));
    for (size_t i = 0; i < call->n_keywords; i++)
        attrs_put(in, &result->object->attrs, interp_intern(in, call->keywords[i].name),
                  call->keywords[i].value);
    return true;
}

NATIVE(do_asdict) {
    if (!builtin_arity(in, call, 1, 1))
        return false;
    if (call->args[0].kind != VALUE_OBJECT)
        return interp_error(in, call->node, "TypeError", "asdict() needs an object, not %s",
                            value_type_name(call->args[0]));
    const struct value_object *o = call->args[0].object;
    *result = value_new_dict(in);
    for (size_t i = 0; i < o->cls->fields.len; i++) {
        const struct value *value = attrs_find(&o->attrs, o->cls->fields.at[i].name);
        value_dict_put(in, result->dict,
                       (struct value){.kind = VALUE_STR, .str = o->cls->fields.at[i].name},
                       value ? *value : NONE_VALUE);
    }
    return true;
}

/* dataclasses.field(..): an object the class statement understands. */
NATIVE(do_field) {
    struct value cls;
    if (!builtin_arity(in, call, 0, 0) || !interp_builtin(in, "field", &cls))
        return false;
    *result = object_new(in, cls.cls);
    for (size_t i = 0; i < call->n_keywords; i++)
        attrs_put(in, &result->object->attrs, interp_intern(in, call->keywords[i].name),
                  call->keywords[i].value);
    return true;
}

NATIVE(do_auto) {
    struct value cls;
    if (!builtin_arity(in, call, 0, 0) || !interp_builtin(in, "auto", &cls))
        return false;
    *result = object_new(in, cls.cls);
    return true;
}

static bool field_names(struct interp *in, const struct call *call, struct value spec,
                        const struct value_seq **names) {
    if (spec.kind != VALUE_STR)
        return interp_items(in, call->node, spec, names);
    struct value_seq *seq = seq_new(in, 0);
    struct str rest = text_of(spec), part;
    char separator = memchr(rest.at, ',', rest.len) ? ',' : ' ';
    while (str_next(&rest, separator, &part))
        if (str_trim(part).len)
            value_push(in, seq, value_string(in, str_trim(part)));
    *names = seq;
    return true;
}

NATIVE(do_namedtuple) {
    struct value base;
    struct str name;
    const struct value_seq *names;
    if (!builtin_arity(in, call, 2, 2) || !builtin_text(in, call, call->args[0], &name) ||
        !interp_builtin(in, "NamedTuple", &base) || !field_names(in, call, call->args[1], &names))
        return false;
    struct value_class *cls = class_new(in, arena_strndup(in->heap, name.at, name.len), base.cls);
    size_t n = names->items.len;
    cls->fields.at = ARENA_ARRAY(in->heap, struct field, n);
    cls->fields.len = cls->fields.cap = n;
    for (size_t i = 0; i < n; i++) {
        struct str field;
        if (!builtin_text(in, call, names->items.at[i], &field))
            return false;
        cls->fields.at[i] =
            (struct field){interp_intern(in, field), UNSET_VALUE, UNSET_VALUE, true};
    }
    *result = (struct value){.kind = VALUE_CLASS, .cls = cls};
    return true;
}

/* defaultdict(factory), OrderedDict() and Counter-like dicts; data tells defaultdict. */
NATIVE(do_dict) {
    struct value factory = NONE_VALUE, type;
    struct call rest = *call;
    if (call->data && call->n_args) {
        factory = call->args[0];
        rest.args++;
        rest.n_args--;
    }
    if (!interp_builtin(in, "dict", &type) || !call_value(in, &rest, type, result))
        return false;
    result->dict->factory = factory;
    return true;
}

/* A named tuple's _replace(field=value) and _asdict(); data tells the second. */
NATIVE(do_named) {
    const struct value_object *o = call->self.object;
    struct value dict = value_new_dict(in), cls = {.kind = VALUE_CLASS, .cls = o->cls};
    for (size_t i = 0; i < o->cls->fields.len; i++) {
        const struct value_str *name = o->cls->fields.at[i].name;
        const struct value *value = attrs_find(&o->attrs, name);
        for (size_t k = 0; k < call->n_keywords && !call->data; k++)
            if (str_is(call->keywords[k].name, name->at))
                value = &call->keywords[k].value;
        value_dict_put(in, dict.dict, (struct value){.kind = VALUE_STR, .str = name},
                       value ? *value : NONE_VALUE);
    }
    *result = dict;
    if (call->data)
        return builtin_arity(in, call, 0, 0);
    size_t n = dict.dict->pairs.len;
    struct value *args = ARENA_ARRAY(in->heap, struct value, n);
    for (size_t i = 0; i < n; i++)
        args[i] = dict.dict->pairs.at[i].value;
    return builtin_arity(in, call, 0, 0) && interp_call(in, call->node, cls, args, n, result);
}

const struct value_native *named_tuple_method(struct str name) {
    static const struct value_native rows[] = {{"_replace", do_named, NULL},
                                               {"_asdict", do_named, ""}};
    return native_find(rows, COUNT_OF(rows), name);
}

/* operator.add and so on; data is the operator. */
NATIVE(do_operator) {
    static const enum nki_binary ops[] = {NKI_ADD, NKI_SUB,       NKI_MUL,
                                          NKI_DIV, NKI_FLOOR_DIV, NKI_MOD};
    return builtin_arity(in, call, 2, 2) &&
           op_binary(in, call->node, ops[*(const char *)call->data - '0'], call->args[0],
                     call->args[1], result);
}

/* typing.cast(type, value), Optional[int] and the like. */
NATIVE(do_typing) {
    (void)in;
    *result = call->n_args ? call->args[call->n_args - 1] : NONE_VALUE;
    return true;
}

/* A kernel means the same everywhere: its environment is empty. */
NATIVE(do_getenv) {
    if (!builtin_arity(in, call, 1, 2))
        return false;
    *result = call->n_args == 2 ? call->args[1] : NONE_VALUE;
    return true;
}

static const struct value_native functools_rows[] = {
    {"functools.reduce", do_reduce, NULL},   {"functools.partial", do_partial, NULL},
    {"functools.wraps", do_decorator, NULL}, {"functools.lru_cache", do_decorator, NULL},
    {"functools.cache", do_decorator, NULL}, {"functools.total_ordering", do_decorator, ""},
};
static const struct value_native itertools_rows[] = {
    {"itertools.product", do_product, NULL},
    {"itertools.chain", do_chain, NULL},
    {"itertools.accumulate", do_accumulate, NULL},
    {"itertools.repeat", do_repeat, NULL},
    {"itertools.combinations", do_combinations, NULL},
    {"itertools.permutations", do_combinations, ""},
    {"itertools.islice", do_islice, NULL},
};
static const struct value_native copy_rows[] = {
    {"copy.copy", do_copy, NULL},
    {"copy.deepcopy", do_deepcopy, NULL},
};
static const struct value_native dataclasses_rows[] = {
    {"dataclasses.dataclass", do_decorator, NULL},
    {"dataclasses.field", do_field, NULL},
    {"dataclasses.replace", do_replace, NULL},
    {"dataclasses.asdict", do_asdict, NULL},
};
static const struct value_native enum_rows[] = {
    {"enum.auto", do_auto, NULL},
    {"enum.unique", do_decorator, ""},
};
static const struct value_native collections_rows[] = {
    {"collections.namedtuple", do_namedtuple, NULL},
    {"collections.defaultdict", do_dict, ""},
    {"collections.OrderedDict", do_dict, NULL},
};
static const struct value_native operator_rows[] = {
    {"operator.add", do_operator, "0"},      {"operator.sub", do_operator, "1"},
    {"operator.mul", do_operator, "2"},      {"operator.truediv", do_operator, "3"},
    {"operator.floordiv", do_operator, "4"}, {"operator.mod", do_operator, "5"},
};
static const struct value_native os_rows[] = {{"os.getenv", do_getenv, NULL}};
static const struct value_native typing_any = {"typing", do_typing, NULL};

/* ---- the modules ---------------------------------------------------------------------------- */

struct builtin_module {
    struct value_module base;
    const struct value_native *rows;
    size_t n;
    const char *types; /* builtin names it also offers, each with blanks around it */
    bool any_name;     /* typing: every name stands for itself */
};

static bool module_constant(struct interp *in, const struct value_module *module, struct str name,
                            struct value *result) {
    if (strcmp(module->name, "os") == 0 && str_is(name, "environ")) {
        *result = value_new_dict(in);
        return true;
    }
    static const struct {
        const char *name;
        double value;
    } constants[] = {{"pi", M_PI}, {"e", M_E}, {"tau", 2 * M_PI}, {"inf", INFINITY}, {"nan", NAN}};
    if (strcmp(module->name, "math") != 0)
        return false;
    for (size_t i = 0; i < COUNT_OF(constants); i++) {
        if (!str_is(name, constants[i].name))
            continue;
        *result = value_float(constants[i].value);
        return true;
    }
    return false;
}

static bool module_get(struct interp *in, const struct nki_node *node,
                       const struct value_module *base, struct str name, struct value *result) {
    const struct builtin_module *module = (const struct builtin_module *)base;
    (void)node;
    for (size_t i = 0; i < module->n; i++) {
        const char *dot = strrchr(module->rows[i].name, '.');
        if (!str_is(name, dot + 1))
            continue;
        *result = native_value(&module->rows[i]);
        return true;
    }
    if (module_constant(in, base, name, result))
        return true;
    const char *types = module->types ? module->types : "";
    char padded[44];
    if (name.len < sizeof padded - 3) {
        snprintf(padded, sizeof padded, " " STR_FMT " ", STR_ARG(name));
        if (strstr(types, padded))
            return builtin_find(in, name, result);
    }
    if (!module->any_name)
        return false;
    if (str_is(name, "TYPE_CHECKING"))
        *result = value_bool(false);
    else if (str_is(name, "NamedTuple"))
        return builtin_find(in, name, result);
    else
        *result = native_value(&typing_any);
    return true;
}

#define MODULE(name, rows, types) \
    { {name, module_get}, rows, COUNT_OF(rows), types, false }
static const struct builtin_module modules[] = {
    MODULE("math", math_rows, NULL),
    MODULE("functools", functools_rows, NULL),
    MODULE("itertools", itertools_rows, NULL),
    MODULE("copy", copy_rows, NULL),
    MODULE("dataclasses", dataclasses_rows, NULL),
    MODULE("enum", enum_rows, " Enum  IntEnum  StrEnum  Flag  IntFlag "),
    MODULE("collections", collections_rows, NULL),
    MODULE("operator", operator_rows, NULL),
    MODULE("os", os_rows, NULL),
    {{"builtins", module_get},
     NULL,
     0,
     " int  float  bool  str  tuple  list  dict  set  range ",
     false},
    {{"typing", module_get}, NULL, 0, NULL, true},
    {{"typing_extensions", module_get}, NULL, 0, NULL, true},
    {{"abc", module_get}, NULL, 0, NULL, true},
    {{"__future__", module_get}, NULL, 0, NULL, true},
};

const struct value_module *builtin_module(struct str path) {
    for (size_t i = 0; i < COUNT_OF(modules); i++)
        if (str_is(path, modules[i].base.name))
            return &modules[i].base;
    return NULL;
}
