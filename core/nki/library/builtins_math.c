/* SPDX-License-Identifier: Apache-2.0 */
/* Python's module math. */
#include "nki/library/builtins.h"

#include <math.h>

struct math_row {
    double (*one)(double);
    bool to_int;
};

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
        return builtin_whole(in, call, r, result);
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

/* log2 and log10. Powers are exact; a number without a logarithm is an error. */
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

/* gcd and lcm of any number of integers; data is set for lcm. */
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
            return interp_error(in, call->node, "hone-gap-python", "lcm() over 64 bits");
        else if (!common)
            all = 0;
    }
    if (all > INT64_MAX)
        return interp_error(in, call->node, "hone-gap-python", "the result is over 64 bits");
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

/* prod, which starts from 1. */
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
        return interp_error(in, call->node, i < 0 ? "ValueError" : "hone-gap-python",
                            i < 0
                                ? "factorial() of %lld"
                                : "factorial() of %lld does not fit a 64-bit integer, and hone has "
                                  "no larger ones",
                            (long long)i);
    for (int64_t k = 2; k <= i; k++)
        all *= k;
    *result = value_int(all);
    return true;
}

/* comb and perm; data is set for perm. Each product is a whole number on the way. */
NATIVE(do_choose) {
    int64_t n, k = 0, all = 1;
    bool both = call->n_args == 2;
    if (!builtin_arity(in, call, call->data ? 1 : 2, 2) ||
        !builtin_int(in, call, call->args[0], &n) ||
        (both && !builtin_int(in, call, call->args[1], &k)))
        return false;
    k = both ? k : n;
    if (n < 0 || k < 0)
        return interp_error(in, call->node, "ValueError", "comb() and perm() of a negative number");
    bool none = k > n;
    k = none ? 0 : call->data ? k : MIN_OF(k, n - k);
    for (int64_t i = 1; i <= k; i++) {
        if (__builtin_mul_overflow(all, n - k + i, &all))
            return interp_error(in, call->node, "hone-gap-python",
                                "comb() and perm() over 64 bits, and hone has no larger integers");
        all = call->data ? all : all / i;
    }
    *result = value_int(none ? 0 : all);
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
    {"math.comb", do_choose, NULL},       {"math.perm", do_choose, ""},
    {"math.isclose", do_isclose, NULL},
};

const struct method_table math_functions = {math_rows, COUNT_OF(math_rows)};
