/* SPDX-License-Identifier: Apache-2.0 */
/* Python's builtin types: making a value of one (int, list, dict), and finding which type a value
 * has. */
#include "nki/library/builtins.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static struct value type_of(struct interp *in, struct value value);

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
        return interp_error(in, call->node, "ValueError", "'" STR_FMT "' is not an integer",
                            (int)MIN_OF(text.len, sizeof copy), text.at);
    *result = value_int(i);
    return true;
}

NATIVE(make_int) {
    if (!builtin_arity(in, call, 0, 2))
        return false;
    struct value v = call->n_args ? builtin_plain(call->args[0]) : value_int(0);
    bool found;
    if (is_integer(v)) {
        *result = value_int(integer_of(v));
        return true;
    }
    if (v.kind == VALUE_FLOAT)
        return builtin_whole(in, call, trunc(v.f), result);
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
    struct value v = call->n_args ? builtin_plain(call->args[0]) : value_int(0);
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
        return interp_error(in, call->node, "ValueError", "'" STR_FMT "' is not a number",
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

bool builtin_is_type(const struct value_native *native, enum value_kind *kind) {
    if (native < builtin_types || native >= builtin_types + COUNT_OF(builtin_types))
        return false;
    *kind = *(const enum value_kind *)native->data;
    return true;
}

static bool native_matches(struct interp *in, struct value value, const struct value_native *type) {
    enum value_kind kind;
    if (!builtin_is_type(type, &kind)) {
        const char *dot = strrchr(type->name, '.');
        return (in->objects->is_of && in->objects->is_of(in, value, type)) ||
               strcmp(value_type_name(value), dot ? dot + 1 : type->name) == 0;
    }
    if (kind == VALUE_OBJECT)
        return true;
    if (value.kind == VALUE_OBJECT && value.object->cls->is_int)
        return native_matches(in, value.object->inner, type);
    if (kind == VALUE_TUPLE && value.kind == VALUE_OBJECT)
        return value.object->cls->form == CLASS_TUPLE;
    if (kind == VALUE_INT)
        return is_integer(value);
    if (kind == VALUE_CLASS)
        return value.kind == VALUE_CLASS ||
               (value.kind == VALUE_NATIVE && builtin_is_type(value.native, &kind));
    if (kind == VALUE_DICT && value.kind == VALUE_DICT)
        return value.dict->is_set == (strcmp(type->name, "dict") != 0);
    return value.kind == kind;
}

bool builtin_is_of(struct interp *in, struct value value, struct value type) {
    if (type.kind == VALUE_NONE)
        return value.kind == VALUE_NONE;
    if (type.kind == VALUE_NATIVE)
        return native_matches(in, value, type.native);
    if (type.kind == VALUE_CLASS)
        return value.kind == VALUE_OBJECT && class_is(value.object->cls, type.cls);
    if (type.kind == VALUE_ENUM)
        return strcmp(value_type_name(value), type.enumeration->member) == 0;
    if (type.kind == VALUE_MODULE) { /* nki.tensor and torch.Tensor, by their last name */
        const char *dot = strrchr(type.module->name, '.');
        return value.kind == VALUE_TENSOR && dot && strcasecmp(dot + 1, "tensor") == 0;
    }
    if (type.kind != VALUE_TUPLE)
        return false;
    for (size_t i = 0; i < type.seq->items.len; i++)
        if (type.seq->items.at[i].kind != VALUE_TUPLE &&
            builtin_is_of(in, value, type.seq->items.at[i]))
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
