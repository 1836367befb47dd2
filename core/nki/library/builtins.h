/* SPDX-License-Identifier: Apache-2.0 */
/* Checking arguments, and the tables by which names are found. Private to this folder. */
#ifndef HONE_NKI_BUILTINS_H
#define HONE_NKI_BUILTINS_H

#include "nki/python/inner.h"

#define NATIVE(name) \
    static bool name(struct interp *in, const struct call *call, struct value *result)

/* Checks that the call has between `least` and `most` positional arguments. */
bool builtin_arity(struct interp *in, const struct call *call, size_t least, size_t most);
/* The keyword argument; NULL when it is not given. */
const struct value *builtin_keyword(const struct call *call, const char *name);
/* Positional argument k or the keyword `name`; NULL when neither is given. */
const struct value *builtin_arg(const struct call *call, size_t k, const char *name);
bool builtin_int(struct interp *in, const struct call *call, struct value value, int64_t *i);
bool builtin_number(struct interp *in, const struct call *call, struct value value, double *f);
bool builtin_text(struct interp *in, const struct call *call, struct value value, struct str *text);
/* A member of an IntEnum as its number, and any other value as it is. */
struct value builtin_plain(struct value value);
/* `f`, which has no fraction, as an int. An error when it does not fit 64 bits. */
bool builtin_whole(struct interp *in, const struct call *call, double f, struct value *result);
/* isinstance(value, type), where `type` may be a class, a builtin type or a tuple of them. */
bool builtin_is_of(struct interp *in, struct value value, struct value type);
/* Whether a builtin is a type such as int. Sets *kind to the kind of its values. */
bool builtin_is_type(const struct value_native *native, enum value_kind *kind);
/* functools.wraps(f), dataclass and other decorators that change nothing here. */
bool builtin_decorator(struct interp *in, const struct call *call, struct value *result);
static inline struct value native_value(const struct value_native *native) {
    return (struct value){.kind = VALUE_NATIVE, .native = native};
}
const struct value_native *native_find(const struct value_native *rows, size_t n, struct str name);

extern const struct value_native builtin_functions[], builtin_types[], builtin_iterators[];
extern const size_t n_builtin_functions, n_builtin_types, n_builtin_iterators;
bool builtin_find(struct interp *in, struct str name, struct value *result);
const struct value_module *builtin_module(struct str path);
const struct value_native *named_tuple_method(struct str name);
/* Sorts in place, by the keywords key and reverse of the call. */
bool sort_items(struct interp *in, const struct call *call, struct value *items, size_t n);

/* The rows of methods and module attributes. */
struct method_table {
    const struct value_native *rows;
    size_t n;
};
extern const struct method_table str_methods, list_methods, tuple_methods, dict_methods,
    set_methods, int_methods, float_methods;
/* builtins_gaps.c: whether Python has the method, though hone does not: then that is hone's gap. */
bool builtin_name_is_gap(const char *module, struct str name);
bool builtin_is_gap(enum value_kind kind, bool is_set, struct str name);
extern const struct method_table math_functions, itertools_functions, functools_functions,
    operator_functions, copy_functions, dataclasses_functions, enum_functions,
    collections_functions;
/* copy.copy: a copy of the value that holds the same items. */
bool builtin_shallow(struct interp *in, struct value value, struct value *result);

#endif
