/* SPDX-License-Identifier: Apache-2.0 */
/* Methods of int, bool and float, as kernels use them for sizes. */
#include "nki/library/builtins.h"

#include <math.h>

/* int.bit_length, int.bit_count: both of the number without its sign. */
static uint64_t magnitude(struct value value) {
    int64_t i = integer_of(value);
    return i < 0 ? 0 - (uint64_t)i : (uint64_t)i;
}

NATIVE(do_bit_length) {
    int64_t bits = 0;
    for (uint64_t left = magnitude(call->self); left; left >>= 1)
        bits++;
    *result = value_int(bits);
    return builtin_arity(in, call, 0, 0);
}

NATIVE(do_bit_count) {
    int64_t bits = 0;
    for (uint64_t left = magnitude(call->self); left; left &= left - 1)
        bits++;
    *result = value_int(bits);
    return builtin_arity(in, call, 0, 0);
}

NATIVE(do_is_integer) {
    bool whole =
        is_integer(call->self) || (isfinite(call->self.f) && floor(call->self.f) == call->self.f);
    *result = value_bool(whole);
    return builtin_arity(in, call, 0, 0);
}

/* A float has at most 53 binary places behind its point, so doubling it ends. */
NATIVE(do_ratio) {
    double f = number_of(call->self), below = 1;
    if (!builtin_arity(in, call, 0, 0))
        return false;
    if (!isfinite(f))
        return interp_error(in, call->node, "ValueError",
                            "a number that is not finite is no ratio");
    while (!is_integer(call->self) && floor(f) != f)
        f *= 2, below *= 2;
    struct value parts[2] = {call->self, value_int(1)};
    if (!is_integer(call->self) &&
        (!builtin_whole(in, call, f, &parts[0]) || !builtin_whole(in, call, below, &parts[1])))
        return false;
    *result = value_tuple(in, parts, 2);
    return true;
}

NATIVE(do_itself) {
    *result = call->self;
    return builtin_arity(in, call, 0, 0);
}

static const struct value_native int_rows[] = {
    {"bit_length", do_bit_length, NULL}, {"bit_count", do_bit_count, NULL},
    {"is_integer", do_is_integer, NULL}, {"as_integer_ratio", do_ratio, NULL},
    {"conjugate", do_itself, NULL},
};
const struct method_table int_methods = {int_rows, COUNT_OF(int_rows)};

static const struct value_native float_rows[] = {
    {"is_integer", do_is_integer, NULL},
    {"as_integer_ratio", do_ratio, NULL},
    {"conjugate", do_itself, NULL},
};
const struct method_table float_methods = {float_rows, COUNT_OF(float_rows)};
