/* SPDX-License-Identifier: Apache-2.0 */
/* Python's builtin functions of single values: print, len, round, getattr and the like. Those that
 * take iterables are in builtins_iter.c. */
#include "nki/library/builtins.h"

#include <math.h>

NATIVE(do_print) {
    struct buf out = {0};
    const struct value *sep = builtin_keyword(call, "sep");
    for (size_t i = 0; i < call->n_args && out.len < INTERP_MAX_TEXT; i++) {
        if (i && sep && sep->kind == VALUE_STR)
            buf_add(&out, sep->str->at, sep->str->len);
        else if (i)
            buf_putc(&out, ' ');
        value_print(in, call->args[i], &out);
    }
    interp_note(in, call->node, buf_str(&out));
    buf_free(&out);
    *result = NONE_VALUE;
    return !in->failure.set;
}

NATIVE(do_len) {
    int64_t length;
    if (!builtin_arity(in, call, 1, 1) || !op_length(in, call->node, call->args[0], &length))
        return false;
    *result = value_int(length);
    return true;
}

NATIVE(do_abs) {
    if (!builtin_arity(in, call, 1, 1))
        return false;
    struct value v = builtin_plain(call->args[0]);
    bool found;
    if (v.kind == VALUE_FLOAT) {
        *result = value_float(fabs(v.f));
        return true;
    }
    if (is_integer(v))
        return integer_of(v) >= 0 ? (*result = value_int(integer_of(v)), true)
                                  : op_unary(in, call->node, NKI_UNARY_MINUS, v, result);
    if (!call_method(in, call->node, &(struct method_use){v, "__abs__", NULL, 0}, &found, result))
        return false;
    return found || interp_error(in, call->node, "TypeError", "abs() is not defined for %s",
                                 value_type_name(v));
}

NATIVE(do_divmod) {
    struct value pair[2];
    if (!builtin_arity(in, call, 2, 2) ||
        !op_binary(in, call->node, NKI_FLOOR_DIV, call->args[0], call->args[1], &pair[0]) ||
        !op_binary(in, call->node, NKI_MOD, call->args[0], call->args[1], &pair[1]))
        return false;
    *result = value_tuple(in, pair, 2);
    return true;
}

NATIVE(do_pow) {
    if (!builtin_arity(in, call, 2, 3) ||
        !op_binary(in, call->node, NKI_POW, call->args[0], call->args[1], result))
        return false;
    return call->n_args == 2 || op_binary(in, call->node, NKI_MOD, *result, call->args[2], result);
}

static bool round_to(struct interp *in, const struct call *call, double f, int64_t digits,
                     struct value *result) {
    if (digits > 300 || digits < -300)
        return interp_error(in, call->node, "ValueError", "round() to %lld digits",
                            (long long)digits);
    double scale = pow(10.0, (double)-digits), rounded;
    struct buf text = {0};
    if (digits >= 0) { /* the decimal text rounds exactly; a scaled number does not */
        buf_printf(&text, "%.*f", (int)digits, f);
        *result = value_float(str_to_double(buf_str(&text), &rounded) ? rounded : f);
    } else {
        *result = value_float(isfinite(scale) ? nearbyint(f / scale) * scale : 0);
    }
    buf_free(&text);
    return true;
}

NATIVE(do_round) {
    double f;
    int64_t digits = 0;
    if (!builtin_arity(in, call, 1, 2) || !builtin_number(in, call, call->args[0], &f))
        return false;
    bool given = call->n_args == 2 && call->args[1].kind != VALUE_NONE;
    if (given && !builtin_int(in, call, call->args[1], &digits))
        return false;
    if (is_integer(builtin_plain(call->args[0])) && digits >= 0) {
        *result = builtin_plain(call->args[0]);
        return true;
    }
    if (!given)
        return builtin_whole(in, call, nearbyint(f), result);
    if (!round_to(in, call, f, digits, result))
        return false;
    return !is_integer(builtin_plain(call->args[0])) || builtin_whole(in, call, result->f, result);
}

NATIVE(do_isinstance) {
    if (!builtin_arity(in, call, 2, 2))
        return false;
    *result = value_bool(builtin_is_of(in, call->args[0], call->args[1]));
    return true;
}

NATIVE(do_issubclass) {
    if (!builtin_arity(in, call, 2, 2))
        return false;
    struct value a = call->args[0], b = call->args[1];
    *result = value_bool(a.kind == VALUE_CLASS && b.kind == VALUE_CLASS ? class_is(a.cls, b.cls)
                                                                        : value_same(a, b));
    return true;
}

NATIVE(do_getattr) {
    struct str name;
    if (!builtin_arity(in, call, 2, 3) || !builtin_text(in, call, call->args[1], &name))
        return false;
    const struct value_str *key = interp_intern(in, name);
    if (call->n_args == 3 && !has_attr(in, call->node, call->args[0], key)) {
        *result = call->args[2];
        return !in->failure.set;
    }
    return get_attr_value(in, call->node, call->args[0], key, result);
}

NATIVE(do_hasattr) {
    struct str name;
    if (!builtin_arity(in, call, 2, 2) || !builtin_text(in, call, call->args[1], &name))
        return false;
    *result = value_bool(has_attr(in, call->node, call->args[0], interp_intern(in, name)));
    return !in->failure.set;
}

NATIVE(do_setattr) {
    struct str name;
    if (!builtin_arity(in, call, 3, 3) || !builtin_text(in, call, call->args[1], &name))
        return false;
    *result = NONE_VALUE;
    return set_attr(in, call->node, call->args[0], interp_intern(in, name), call->args[2]);
}

NATIVE(do_repr) {
    struct buf out = {0};
    if (!builtin_arity(in, call, 1, 1))
        return false;
    value_repr(in, call->args[0], &out);
    *result = value_take(in, &out);
    return !in->failure.set;
}

NATIVE(do_format) {
    struct buf out = {0};
    struct str spec = {"", 0};
    if (!builtin_arity(in, call, 1, 2) ||
        (call->n_args == 2 && !builtin_text(in, call, call->args[1], &spec)))
        return false;
    if (!format_value(in, call->node, call->args[0], spec, &out)) {
        buf_free(&out);
        return false;
    }
    *result = value_take(in, &out);
    return true;
}

NATIVE(do_hash) {
    if (!builtin_arity(in, call, 1, 1))
        return false;
    *result = value_int((int64_t)(value_hash(call->args[0]) >> 2));
    return true;
}

NATIVE(do_callable) {
    if (!builtin_arity(in, call, 1, 1))
        return false;
    struct value method, v = call->args[0];
    bool yes = v.kind == VALUE_FUNCTION || v.kind == VALUE_NATIVE || v.kind == VALUE_BOUND ||
               v.kind == VALUE_CLASS || v.kind == VALUE_FUNC ||
               find_method(in, v, "__call__", &method);
    *result = value_bool(yes);
    return true;
}

NATIVE(do_id) {
    if (!builtin_arity(in, call, 1, 1))
        return false;
    *result = value_int(call->args[0].i & 0xffffffffffff);
    return true;
}

/* chr, ord, bin, hex and oct, which kernels use for labels. */
NATIVE(do_base) {
    int64_t i;
    const char *prefix = call->data;
    if (!builtin_arity(in, call, 1, 1) || !builtin_int(in, call, call->args[0], &i))
        return false;
    uint64_t u = i < 0 ? 0 - (uint64_t)i : (uint64_t)i;
    if (prefix[1] == 'b') {
        char digits[65];
        int at = 64;
        digits[64] = 0;
        do {
            digits[--at] = (char)('0' + (u & 1));
        } while (u >>= 1);
        *result = value_text(in, "%s0b%s", i < 0 ? "-" : "", digits + at);
    } else if (prefix[1] == 'x') {
        *result = value_text(in, "%s0x%llx", i < 0 ? "-" : "", (unsigned long long)u);
    } else {
        *result = value_text(in, "%s0o%llo", i < 0 ? "-" : "", (unsigned long long)u);
    }
    return true;
}

NATIVE(do_ord) {
    struct str text;
    if (!builtin_arity(in, call, 1, 1) || !builtin_text(in, call, call->args[0], &text))
        return false;
    if (text.len != 1)
        return interp_error(in, call->node, "TypeError", "ord() needs one ASCII character");
    *result = value_int((unsigned char)text.at[0]);
    return true;
}

NATIVE(do_chr) {
    int64_t i;
    if (!builtin_arity(in, call, 1, 1) || !builtin_int(in, call, call->args[0], &i))
        return false;
    if (i < 0 || i > 127)
        return interp_error(in, call->node, "ValueError", "chr() knows ASCII only, not %lld",
                            (long long)i);
    *result = value_text(in, "%c", (int)i);
    return true;
}

const struct value_native builtin_functions[] = {
    {"print", do_print, NULL},
    {"len", do_len, NULL},
    {"abs", do_abs, NULL},
    {"divmod", do_divmod, NULL},
    {"pow", do_pow, NULL},
    {"round", do_round, NULL},
    {"isinstance", do_isinstance, NULL},
    {"issubclass", do_issubclass, NULL},
    {"getattr", do_getattr, NULL},
    {"hasattr", do_hasattr, NULL},
    {"setattr", do_setattr, NULL},
    {"repr", do_repr, NULL},
    {"ascii", do_repr, NULL},
    {"format", do_format, NULL},
    {"hash", do_hash, NULL},
    {"callable", do_callable, NULL},
    {"id", do_id, NULL},
    {"bin", do_base, "0b"},
    {"hex", do_base, "0x"},
    {"oct", do_base, "0o"},
    {"ord", do_ord, NULL},
    {"chr", do_chr, NULL},
};
const size_t n_builtin_functions = COUNT_OF(builtin_functions);
