/* SPDX-License-Identifier: Apache-2.0 */
/* What the names of nki.language mean, for people. */
#include "nki/program/program.h"

static const struct {
    const char *name, *parameters, *what;
} names[] = {
#define NAME(name, parameters, what) {name, parameters, what},
#include "nki/program/language.def"
#undef NAME
};

const char *nki_name_at(size_t index, const char **parameters, const char **what) {
    if (index >= COUNT_OF(names))
        return NULL;
    *parameters = names[index].parameters;
    *what = names[index].what;
    return names[index].name;
}

/* The part "load" of "nl.load" and its longer forms. Empty when it is no name of the language. */
static struct str last_name(struct str text) {
    static const char *const modules[] = {"nl.", "nki.language.", "neuronxcc.nki.language."};
    for (size_t i = 0; i < COUNT_OF(modules); i++) {
        size_t len = strlen(modules[i]);
        if (str_starts(text, modules[i]) && !memchr(text.at + len, '.', text.len - len))
            return (struct str){text.at + len, text.len - len};
    }
    return STR("");
}

static bool func_explain(struct str name, struct buf *out) {
    enum nki_func func = nki_func_find(name);
    if (func == NKI_FUNC_NONE)
        return false;
    bool two = nki_func_has(func, 'b');
    buf_printf(out,
               "nl." STR_FMT ": An operator, element by element%s%s.\n    nl." STR_FMT "(%s)\n",
               STR_ARG(name), nki_func_has(func, 'a') ? "; Scalar has it as an activation" : "",
               nki_func_has(func, 'r') ? "; reductions take it, too" : "", STR_ARG(name),
               two ? "x, y, dtype=None, mask=None" : "x, dtype=None, mask=None");
    return true;
}

static bool dtype_explain(struct str name, struct buf *out) {
    enum dtype dtype = dtype_find(name);
    if (dtype == DTYPE_NONE)
        return false;
    buf_printf(out, "nl." STR_FMT ": A dtype; an element takes %zu byte%s.\n", STR_ARG(name),
               (size_t)dtype_bytes(dtype), PLURAL(dtype_bytes(dtype)));
    return true;
}

bool nki_name_explain(struct str text, struct buf *out) {
    struct str name = last_name(text);
    if (!name.len)
        return false;
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (str_is(name, names[i].name)) {
            buf_printf(out, "nl.%s: %s\n", names[i].name, names[i].what);
            if (*names[i].parameters)
                buf_printf(out, "    nl.%s(%s)\n", names[i].name, names[i].parameters);
            return true;
        }
    return func_explain(name, out) || dtype_explain(name, out);
}
