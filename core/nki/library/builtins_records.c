/* SPDX-License-Identifier: Apache-2.0 */
/* Python's modules for values made of named parts: dataclasses, enum, collections, and copy. */
#include "nki/library/builtins.h"

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

static const struct value_native copy_rows[] = {
    {"copy.copy", do_copy, NULL},
    {"copy.deepcopy", do_deepcopy, NULL},
};
const struct method_table copy_functions = {copy_rows, COUNT_OF(copy_rows)};

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

/* dataclasses.field(..): an object that the class statement reads. */
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

/* defaultdict(factory), OrderedDict() and dicts like Counter; data is set for defaultdict. */
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

static const struct value_native collections_rows[] = {
    {"collections.namedtuple", do_namedtuple, NULL},
    {"collections.defaultdict", do_dict, ""},
    {"collections.OrderedDict", do_dict, NULL},
};
const struct method_table collections_functions = {collections_rows, COUNT_OF(collections_rows)};

/* _replace(field=value) and _asdict() of a named tuple; data is set for the second. */
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

static const struct value_native dataclasses_rows[] = {
    {"dataclasses.dataclass", builtin_decorator, NULL},
    {"dataclasses.field", do_field, NULL},
    {"dataclasses.replace", do_replace, NULL},
    {"dataclasses.asdict", do_asdict, NULL},
};
const struct method_table dataclasses_functions = {dataclasses_rows, COUNT_OF(dataclasses_rows)};
static const struct value_native enum_rows[] = {
    {"enum.auto", do_auto, NULL},
    {"enum.unique", builtin_decorator, ""},
};
const struct method_table enum_functions = {enum_rows, COUNT_OF(enum_rows)};
