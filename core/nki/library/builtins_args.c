/* SPDX-License-Identifier: Apache-2.0 */
/* What all builtins share: checking the arguments of a call. A wrong argument gets Python's own
 * message. */
#include "nki/library/builtins.h"

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

struct value builtin_plain(struct value value) {
    return value.kind == VALUE_OBJECT && value.object->cls->is_int ? value.object->inner : value;
}

bool builtin_int(struct interp *in, const struct call *call, struct value value, int64_t *i) {
    value = builtin_plain(value);
    if (!is_integer(value))
        return interp_error(in, call->node, "TypeError", "%.*s() needs an integer, not %s",
                            name_length(call), builtin_name(call), value_type_name(value));
    *i = integer_of(value);
    return true;
}

bool builtin_number(struct interp *in, const struct call *call, struct value value, double *f) {
    value = builtin_plain(value);
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

bool builtin_whole(struct interp *in, const struct call *call, double f, struct value *result) {
    if (!(f > -9.2e18 && f < 9.2e18))
        return interp_error(in, call->node, "hone-gap-python", "%g does not fit a 64-bit integer",
                            f);
    *result = value_int((int64_t)f);
    return true;
}
