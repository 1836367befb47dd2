/* SPDX-License-Identifier: Apache-2.0 */
/* Python's builtin functions and types, and finding builtins and methods by name. Functions over
 * iterables are in builtins_iter.c, methods in builtins_text.c and builtins_seq.c, modules in
 * builtins_modules.c. */
#include "nki/library/builtins.h"
#include "nki/library/library.h"

static bool type_matches(struct interp *in, struct value value, struct value type);
static struct value type_of(struct interp *in, struct value value);
static const char *builtin_name(const struct call *call);

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- arguments ------------------------------------------------------------------------------ */

static const char *builtin_name(const struct call *call) {
    const struct nki_node *func =
        call->node && call->node->kind == NKI_CALL ? call->node->call.func : NULL;
    if (func && func->kind == NKI_NAME)
        return func->name.id.at;
    return func && func->kind == NKI_ATTRIBUTE ? func->attribute.attr.at : "";
}

static int name_length(const struct call *call) {
    const struct nki_node *func =
        call->node && call->node->kind == NKI_CALL ? call->node->call.func : NULL;
    if (func && func->kind == NKI_NAME)
        return (int)func->name.id.len;
    return func && func->kind == NKI_ATTRIBUTE ? (int)func->attribute.attr.len : 0;
}

bool builtin_arity(struct interp *in, const struct call *call, size_t least, size_t most) {
    if (call->n_args >= least && call->n_args <= most)
        return true;
    if (least == most)
        return interp_error(in, call->node, "TypeError",
                            "%.*s() takes %zu arguments, %zu are given", name_length(call),
                            builtin_name(call), least, call->n_args);
    return interp_error(in, call->node, "TypeError",
                        "%.*s() takes %zu to %zu arguments, %zu are given", name_length(call),
                        builtin_name(call), least, most, call->n_args);
}

const struct value *builtin_keyword(const struct call *call, const char *name) {
    for (size_t i = 0; i < call->n_keywords; i++)
        if (str_is(call->keywords[i].name, name))
            return &call->keywords[i].value;
    return NULL;
}

const struct value *builtin_arg(const struct call *call, size_t k, const char *name) {
    return k < call->n_args ? &call->args[k] : builtin_keyword(call, name);
}

static struct value plain(struct value value) {
    return value.kind == VALUE_OBJECT && value.object->cls->is_int ? value.object->inner : value;
}

bool builtin_int(struct interp *in, const struct call *call, struct value value, int64_t *i) {
    value = plain(value);
    if (!is_integer(value))
        return interp_error(in, call->node, "TypeError", "%.*s() needs an integer, not %s",
                            name_length(call), builtin_name(call), value_type_name(value));
    *i = integer_of(value);
    return true;
}

bool builtin_number(struct interp *in, const struct call *call, struct value value, double *f) {
    value = plain(value);
    if (!is_number(value))
        return interp_error(in, call->node, "TypeError", "%.*s() needs a number, not %s",
                            name_length(call), builtin_name(call), value_type_name(value));
    *f = number_of(value);
    return true;
}

bool builtin_text(struct interp *in, const struct call *call, struct value value,
                  struct str *text) {
    if (value.kind != VALUE_STR)
        return interp_error(in, call->node, "TypeError", "%.*s() needs a str, not %s",
                            name_length(call), builtin_name(call), value_type_name(value));
    *text = text_of(value);
    return true;
}

/* ---- functions ------------------------------------------------------------------------------ */

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
    struct value v = plain(call->args[0]);
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
    if (digits >= 0) { /* the decimal text rounds exactly, a scaled number does not */
        buf_printf(&text, "%.*f", (int)digits, f);
        *result = value_float(str_to_double(buf_str(&text), &rounded) ? rounded : f);
    } else {
        *result = value_float(isfinite(scale) ? nearbyint(f / scale) * scale : 0);
    }
    buf_free(&text);
    return true;
}

static bool to_int(struct interp *in, const struct call *call, double f, struct value *result) {
    if (!(f > -9.2e18 && f < 9.2e18))
        return interp_error(in, call->node, "OverflowError", "%g does not fit a 64-bit integer", f);
    *result = value_int((int64_t)f);
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
    if (is_integer(plain(call->args[0])) && digits >= 0) {
        *result = plain(call->args[0]);
        return true;
    }
    if (!given)
        return to_int(in, call, nearbyint(f), result);
    if (!round_to(in, call, f, digits, result))
        return false;
    return !is_integer(plain(call->args[0])) || to_int(in, call, result->f, result);
}

NATIVE(do_isinstance) {
    if (!builtin_arity(in, call, 2, 2))
        return false;
    *result = value_bool(type_matches(in, call->args[0], call->args[1]));
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

/* chr, ord, bin, hex and oct of a kernel's labels. */
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

/* ---- types ---------------------------------------------------------------------------------- */

static bool text_to_int(struct interp *in, const struct call *call, struct str text,
                        struct value *result) {
    char copy[80], *end = copy;
    int64_t base = 10;
    const struct value *base_arg = builtin_arg(call, 1, "base");
    if (base_arg && !builtin_int(in, call, *base_arg, &base))
        return false;
    snprintf(copy, sizeof copy, STR_FMT, (int)MIN_OF(text.len, sizeof copy - 1), text.at);
    bool binary = base == 2 && (str_starts(text, "0b") || str_starts(text, "0B"));
    errno = 0;
    long long i = base == 0 || (base >= 2 && base <= 36)
                      ? strtoll(copy + (binary ? 2 : 0), &end, (int)base)
                      : 0;
    if (!text.len || text.len >= sizeof copy || *end || end == copy || errno)
        return interp_error(in, call->node, "ValueError", "'" STR_FMT "' is no integer",
                            (int)MIN_OF(text.len, sizeof copy), text.at);
    *result = value_int(i);
    return true;
}

NATIVE(make_int) {
    if (!builtin_arity(in, call, 0, 2))
        return false;
    struct value v = call->n_args ? plain(call->args[0]) : value_int(0);
    bool found;
    if (is_integer(v)) {
        *result = value_int(integer_of(v));
        return true;
    }
    if (v.kind == VALUE_FLOAT)
        return to_int(in, call, trunc(v.f), result);
    if (v.kind == VALUE_STR) {
        return text_to_int(in, call, str_trim(text_of(v)), result);
    }
    if (v.kind == VALUE_OBJECT &&
        (!call_method(in, call->node, &(struct method_use){v, "__int__", NULL, 0}, &found,
                      result) ||
         found))
        return found;
    return interp_error(in, call->node, "TypeError", "int() cannot convert a %s",
                        value_type_name(v));
}

NATIVE(make_float) {
    if (!builtin_arity(in, call, 0, 1))
        return false;
    struct value v = call->n_args ? plain(call->args[0]) : value_int(0);
    double f;
    if (is_number(v)) {
        *result = value_float(number_of(v));
        return true;
    }
    if (v.kind != VALUE_STR)
        return interp_error(in, call->node, "TypeError", "float() cannot convert a %s",
                            value_type_name(v));
    struct str text = str_trim(text_of(v));
    bool minus = text.len && text.at[0] == '-';
    struct str bare = {text.at + minus, text.len - minus};
    if (str_is(bare, "inf") || str_is(bare, "Infinity"))
        f = minus ? -INFINITY : INFINITY;
    else if (str_is(bare, "nan"))
        f = NAN;
    else if (!str_to_double(text, &f))
        return interp_error(in, call->node, "ValueError", "'" STR_FMT "' is no number",
                            STR_ARG(text));
    *result = value_float(f);
    return true;
}

NATIVE(make_bool) {
    bool truth = false;
    if (!builtin_arity(in, call, 0, 1) ||
        (call->n_args && !interp_truth(in, call->node, call->args[0], &truth)))
        return false;
    *result = value_bool(truth);
    return true;
}

NATIVE(make_str) {
    struct buf out = {0};
    if (!builtin_arity(in, call, 0, 3))
        return false;
    if (call->n_args)
        value_print(in, call->args[0], &out);
    *result = value_take(in, &out);
    return !in->failure.set;
}

NATIVE(make_tuple) {
    const struct value_seq *items = NULL;
    if (!builtin_arity(in, call, 0, 1) ||
        (call->n_args && !interp_items(in, call->node, call->args[0], &items)))
        return false;
    *result = items ? value_tuple(in, items->items.at, items->items.len) : value_tuple(in, NULL, 0);
    return true;
}

NATIVE(make_list) {
    if (!make_tuple(in, call, result))
        return false;
    result->kind = VALUE_LIST;
    return true;
}

NATIVE(make_set) {
    const struct value_seq *items = NULL;
    if (!builtin_arity(in, call, 0, 1) ||
        (call->n_args && !interp_items(in, call->node, call->args[0], &items)))
        return false;
    *result = value_new_dict(in);
    result->dict->is_set = true;
    for (size_t i = 0; items && i < items->items.len; i++)
        value_dict_put(in, result->dict, items->items.at[i], NONE_VALUE);
    return true;
}

static bool put_pairs(struct interp *in, const struct call *call, struct value_dict *dict,
                      struct value from) {
    const struct value_seq *items, *pair;
    if (from.kind == VALUE_DICT) {
        for (size_t i = 0; i < from.dict->pairs.len; i++)
            value_dict_put(in, dict, from.dict->pairs.at[i].key, from.dict->pairs.at[i].value);
        return true;
    }
    if (!interp_items(in, call->node, from, &items))
        return false;
    for (size_t i = 0; i < items->items.len; i++) {
        if (!interp_items(in, call->node, items->items.at[i], &pair))
            return false;
        if (pair->items.len != 2)
            return interp_error(in, call->node, "ValueError",
                                "dict() needs pairs, item %zu has %zu values", i, pair->items.len);
        value_dict_put(in, dict, pair->items.at[0], pair->items.at[1]);
    }
    return true;
}

NATIVE(make_dict) {
    struct value dict = value_new_dict(in);
    if (!builtin_arity(in, call, 0, 1) ||
        (call->n_args && !put_pairs(in, call, dict.dict, call->args[0])))
        return false;
    for (size_t i = 0; i < call->n_keywords; i++)
        value_dict_put(
            in, dict.dict,
            (struct value){.kind = VALUE_STR, .str = interp_intern(in, call->keywords[i].name)},
            call->keywords[i].value);
    *result = dict;
    return true;
}

NATIVE(make_range) {
    int64_t parts[3] = {0, 0, 1};
    if (!builtin_arity(in, call, 1, 3))
        return false;
    for (size_t i = 0; i < call->n_args; i++)
        if (!builtin_int(in, call, call->args[i], &parts[call->n_args == 1 ? 1 : i]))
            return false;
    if (parts[2] == 0)
        return interp_error(in, call->node, "ValueError", "the step of a range cannot be zero");
    *result = value_range_of(in, parts[0], parts[1], parts[2]);
    return true;
}

NATIVE(make_slice) {
    struct value_slice slice = {NONE_VALUE, NONE_VALUE, NONE_VALUE};
    if (!builtin_arity(in, call, 1, 3))
        return false;
    if (call->n_args == 1) {
        slice.stop = call->args[0];
    } else {
        slice.start = call->args[0];
        slice.stop = call->args[1];
        slice.step = call->n_args > 2 ? call->args[2] : NONE_VALUE;
    }
    *result =
        (struct value){.kind = VALUE_SLICE, .slice = arena_dup(in->heap, &slice, sizeof slice)};
    return true;
}

NATIVE(make_type) {
    if (!builtin_arity(in, call, 1, 1))
        return false;
    *result = type_of(in, call->args[0]);
    return true;
}

NATIVE(make_none) {
    *result = NONE_VALUE;
    return builtin_arity(in, call, 0, 0);
}

NATIVE(make_object) {
    *result = object_new(in, class_new(in, "object", NULL));
    return builtin_arity(in, call, 0, 0);
}

static const enum value_kind type_kinds[] = {
    VALUE_INT,  VALUE_FLOAT, VALUE_BOOL,  VALUE_STR,   VALUE_TUPLE,  VALUE_LIST, VALUE_DICT,
    VALUE_DICT, VALUE_RANGE, VALUE_SLICE, VALUE_CLASS, VALUE_OBJECT, VALUE_DICT, VALUE_NONE,
};
const struct value_native builtin_types[] = {
    {"int", make_int, &type_kinds[0]},        {"float", make_float, &type_kinds[1]},
    {"bool", make_bool, &type_kinds[2]},      {"str", make_str, &type_kinds[3]},
    {"tuple", make_tuple, &type_kinds[4]},    {"list", make_list, &type_kinds[5]},
    {"dict", make_dict, &type_kinds[6]},      {"set", make_set, &type_kinds[7]},
    {"range", make_range, &type_kinds[8]},    {"slice", make_slice, &type_kinds[9]},
    {"type", make_type, &type_kinds[10]},     {"object", make_object, &type_kinds[11]},
    {"frozenset", make_set, &type_kinds[12]}, {"bytes", make_str, &type_kinds[3]},
    {"NoneType", make_none, &type_kinds[13]},
};
const size_t n_builtin_types = COUNT_OF(builtin_types);

static bool native_is_type(const struct value_native *native, enum value_kind *kind) {
    if (native < builtin_types || native >= builtin_types + COUNT_OF(builtin_types))
        return false;
    *kind = *(const enum value_kind *)native->data;
    return true;
}

static bool native_matches(struct value value, const struct value_native *type) {
    enum value_kind kind;
    if (!native_is_type(type, &kind)) {
        const char *dot = strrchr(type->name, '.');
        return strcmp(value_type_name(value), dot ? dot + 1 : type->name) == 0;
    }
    if (kind == VALUE_OBJECT)
        return true;
    if (value.kind == VALUE_OBJECT && value.object->cls->is_int)
        return native_matches(value.object->inner, type);
    if (kind == VALUE_TUPLE && value.kind == VALUE_OBJECT)
        return value.object->cls->form == CLASS_TUPLE;
    if (kind == VALUE_INT)
        return is_integer(value);
    if (kind == VALUE_CLASS)
        return value.kind == VALUE_CLASS ||
               (value.kind == VALUE_NATIVE && native_is_type(value.native, &kind));
    if (kind == VALUE_DICT && value.kind == VALUE_DICT)
        return value.dict->is_set == (strcmp(type->name, "dict") != 0);
    return value.kind == kind;
}

static bool type_matches(struct interp *in, struct value value, struct value type) {
    if (type.kind == VALUE_NONE)
        return value.kind == VALUE_NONE;
    if (type.kind == VALUE_NATIVE)
        return native_matches(value, type.native);
    if (type.kind == VALUE_CLASS)
        return value.kind == VALUE_OBJECT && class_is(value.object->cls, type.cls);
    if (type.kind == VALUE_ENUM)
        return strcmp(value_type_name(value), type.enumeration->member) == 0;
    if (type.kind == VALUE_MODULE) { /* nki.tensor, torch.Tensor: by their last name */
        const char *dot = strrchr(type.module->name, '.');
        return value.kind == VALUE_TENSOR && dot && strcasecmp(dot + 1, "tensor") == 0;
    }
    if (type.kind != VALUE_TUPLE)
        return false;
    for (size_t i = 0; i < type.seq->items.len; i++)
        if (type.seq->items.at[i].kind != VALUE_TUPLE &&
            type_matches(in, value, type.seq->items.at[i]))
            return true;
    return false;
}

static struct value type_of(struct interp *in, struct value value) {
    if (value.kind == VALUE_OBJECT)
        return (struct value){.kind = VALUE_CLASS, .cls = value.object->cls};
    const char *name = value.kind == VALUE_NONE ? "NoneType" : value_type_name(value);
    const struct value_native *found = native_find(builtin_types, n_builtin_types, str_of(name));
    if (found)
        return native_value(found);
    return value_string(in, str_of(value_type_name(value)));
}

/* ---- finding -------------------------------------------------------------------------------- */

const struct value_native *native_find(const struct value_native *rows, size_t n, struct str name) {
    for (size_t i = 0; i < n; i++)
        if (str_is(name, rows[i].name))
            return &rows[i];
    return NULL;
}

static bool builtin_class(struct interp *in, struct str name, struct value *result) {
    static const struct {
        const char *name;
        enum class_form form;
        bool is_int, is_flag, generated;
    } classes[] = {
        {"NKIObject", CLASS_PLAIN, false, false, true},
        {"Enum", CLASS_ENUM, false, false, false},
        {"IntEnum", CLASS_ENUM, true, false, false},
        {"StrEnum", CLASS_ENUM, true, false, false},
        {"Flag", CLASS_ENUM, false, true, false},
        {"IntFlag", CLASS_ENUM, true, true, false},
        {"NamedTuple", CLASS_TUPLE, false, false, true},
        {"field", CLASS_PLAIN, false, false, false},
        {"auto", CLASS_PLAIN, false, false, false},
    };
    for (size_t i = 0; i < COUNT_OF(classes); i++) {
        if (!str_is(name, classes[i].name))
            continue;
        struct value_class *cls = class_new(in, classes[i].name, NULL);
        cls->form = classes[i].form;
        cls->is_int = classes[i].is_int;
        cls->is_flag = classes[i].is_flag;
        cls->generated = classes[i].generated;
        *result = (struct value){.kind = VALUE_CLASS, .cls = cls};
        return true;
    }
    return name.len < 40 &&
           builtin_exception(in, arena_strndup(in->heap, name.at, name.len), result);
}

bool builtin_find(struct interp *in, struct str name, struct value *result) {
    const struct value *made = map_get(&in->builtins, name);
    const struct value_native *native = NULL;
    if (made) {
        *result = *made;
        return true;
    }
    if ((native = native_find(builtin_functions, n_builtin_functions, name)) ||
        (native = native_find(builtin_types, n_builtin_types, name)) ||
        (native = native_find(builtin_iterators, n_builtin_iterators, name))) {
        *result = native_value(native);
        return true;
    }
    if (str_is(name, "NotImplemented") || str_is(name, "__doc__")) {
        *result = NONE_VALUE;
        return true;
    }
    if (!builtin_class(in, name, result))
        return false;
    map_put(&in->builtins, name)->value = arena_dup(in->heap, result, sizeof *result);
    return true;
}

static const struct value_native *method_find(enum value_kind kind, bool is_set, struct str name) {
    const struct method_table *table = NULL;
    if (kind == VALUE_LIST)
        table = &list_methods;
    else if (kind == VALUE_DICT)
        table = is_set ? &set_methods : &dict_methods;
    else if (kind == VALUE_STR)
        table = &str_methods;
    else if (kind == VALUE_TUPLE || kind == VALUE_RANGE)
        table = &tuple_methods;
    return table ? native_find(table->rows, table->n, name) : NULL;
}

const struct interp_library python_library = {
    .find = builtin_find,
    .module = builtin_module,
    .method = method_find,
    .tuple_method = named_tuple_method,
    .is_type = native_is_type,
};
