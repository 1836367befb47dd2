/* SPDX-License-Identifier: Apache-2.0 */
/* Finding what Python offers a kernel: builtins and methods by their names. */
#include "nki/library/builtins.h"
#include "nki/library/library.h"

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
    else if (kind == VALUE_INT || kind == VALUE_BOOL)
        table = &int_methods;
    else if (kind == VALUE_FLOAT)
        table = &float_methods;
    return table ? native_find(table->rows, table->n, name) : NULL;
}

const struct interp_library python_library = {
    .find = builtin_find,
    .module = builtin_module,
    .method = method_find,
    .tuple_method = named_tuple_method,
    .is_gap = builtin_is_gap,
    .name_is_gap = builtin_name_is_gap,
    .is_type = builtin_is_type,
};
