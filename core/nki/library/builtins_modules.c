/* SPDX-License-Identifier: Apache-2.0 */
/* The modules of Python's standard library that kernels import, and finding a name in one. Each has
 * what a meta-program needs of it. Their functions are in builtins_math.c, builtins_itertools.c and
 * builtins_records.c. */
#include "nki/library/builtins.h"

#include <math.h>
#include <stdio.h>

/* typing.cast(type, value), Optional[int] and the like. */
NATIVE(do_typing) {
    (void)in;
    *result = call->n_args ? call->args[call->n_args - 1] : NONE_VALUE;
    return true;
}

/* A kernel means the same everywhere, so its environment is empty. */
NATIVE(do_getenv) {
    if (!builtin_arity(in, call, 1, 2))
        return false;
    *result = call->n_args == 2 ? call->args[1] : NONE_VALUE;
    return true;
}

static const struct value_native os_rows[] = {{"os.getenv", do_getenv, NULL}};
static const struct method_table os_functions = {os_rows, COUNT_OF(os_rows)};
static const struct value_native typing_any = {"typing", do_typing, NULL};

struct builtin_module {
    struct value_module base;
    const struct method_table *functions;
    const char *types; /* builtin names that it also offers, each between blanks */
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
    for (size_t i = 0; module->functions && i < module->functions->n; i++) {
        const struct value_native *row = &module->functions->rows[i];
        if (!str_is(name, strrchr(row->name, '.') + 1))
            continue;
        *result = native_value(row);
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

#define MODULE(name, functions, types) \
    { {name, module_get}, functions, types, false }
static const struct builtin_module modules[] = {
    MODULE("math", &math_functions, NULL),
    MODULE("functools", &functools_functions, NULL),
    MODULE("itertools", &itertools_functions, NULL),
    MODULE("copy", &copy_functions, NULL),
    MODULE("dataclasses", &dataclasses_functions, NULL),
    MODULE("enum", &enum_functions, " Enum  IntEnum  StrEnum  Flag  IntFlag "),
    MODULE("collections", &collections_functions, NULL),
    MODULE("operator", &operator_functions, NULL),
    MODULE("os", &os_functions, NULL),
    {{"builtins", module_get},
     NULL,
     " int  float  bool  str  tuple  list  dict  set  range ",
     false},
    {{"typing", module_get}, NULL, NULL, true},
    {{"typing_extensions", module_get}, NULL, NULL, true},
    {{"abc", module_get}, NULL, NULL, true},
    {{"__future__", module_get}, NULL, NULL, true},
};

const struct value_module *builtin_module(struct str path) {
    for (size_t i = 0; i < COUNT_OF(modules); i++)
        if (str_is(path, modules[i].base.name))
            return &modules[i].base;
    return NULL;
}
