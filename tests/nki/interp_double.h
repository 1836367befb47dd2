/* SPDX-License-Identifier: Apache-2.0 */
/* A stand-in for the modules of NKI, so that the interpreter is tested alone: one tensor type
 * without data, one module `nki.language`, and a return value that is kept as text. */
#ifndef HONE_TESTS_NKI_INTERP_DOUBLE_H
#define HONE_TESTS_NKI_INTERP_DOUBLE_H

#include "nki/nki.h"
#include "nki/python/python.h"

static struct buf returned; /* repr of what the last kernel returned */
static struct buf seen;     /* what the double was asked for, in order */

static bool double_load(struct interp *in, const struct call *call, struct value *result) {
    struct value values[2];
    bool given[2];
    if (!interp_bind(in, call, interp_signature(in, "src, *, dtype=None"), values, given))
        return false;
    struct str name = interp_target_name(in);
    buf_printf(&seen, "load(" STR_FMT ") ", STR_ARG(name));
    struct nki_instr instr = {
        .op = NKI_OP_TENSOR_COPY, .loc = interp_loc(in, call->node), .more = &nki_nothing_more};
    *result = (struct value){.kind = VALUE_TENSOR};
    return interp_emit(in, call->node, &instr);
}

static bool double_get(struct interp *in, const struct nki_node *node,
                       const struct value_module *module, struct str name, struct value *result) {
    static const struct value_native load = {"nl.load", double_load, NULL};
    (void)node, (void)module;
    if (str_is(name, "NKIObject"))
        return interp_builtin(in, "NKIObject", result);
    *result = (struct value){.kind = VALUE_NATIVE, .native = &load};
    if (str_is(name, "float32"))
        *result = (struct value){.kind = VALUE_DTYPE, .i = DTYPE_FLOAT32};
    return str_is(name, "load") || str_is(name, "float32") || str_is(name, "jit");
}

static const struct value_module *double_module(struct interp *in, struct str path) {
    static const struct value_module language = {"nki.language", double_get};
    (void)in;
    return str_is(path, "nki.language") || str_is(path, "nki") ? &language : NULL;
}

static bool double_binary(struct interp *in, const struct nki_node *node, enum nki_binary op,
                          struct value a, struct value b, struct value *result) {
    (void)in, (void)node, (void)b;
    buf_printf(&seen, "binary(%s) ", nki_binary_text(op));
    *result = a;
    return true;
}

static bool double_compare(struct interp *in, const struct nki_node *node, enum nki_comparison op,
                           struct value a, struct value b, struct value *result) {
    (void)node;
    *result = value_bool(value_equal(in, a, b) == (op == NKI_CMP_EQ));
    return true;
}

static bool double_unary(struct interp *in, const struct nki_node *node, enum nki_unary op,
                         struct value a, struct value *result) {
    (void)in, (void)node, (void)op;
    *result = a;
    return true;
}

static bool double_inplace(struct interp *in, const struct nki_node *node, enum nki_binary op,
                           struct value target, struct value b, struct value *result) {
    (void)in, (void)node, (void)b;
    buf_printf(&seen, "inplace(%s) ", nki_binary_text(op));
    *result = target;
    return true;
}

static bool double_getattr(struct interp *in, const struct nki_node *node, struct value object,
                           struct str name, struct value *result) {
    struct value shape[2] = {value_int(128), value_int(512)};
    (void)object;
    if (str_is(name, "shape"))
        *result = value_tuple(in, shape, 2);
    else if (str_is(name, "dtype"))
        *result = (struct value){.kind = VALUE_DTYPE, .i = DTYPE_FLOAT32};
    else
        return interp_error(in, node, "AttributeError", "tensor has no attribute '" STR_FMT "'",
                            STR_ARG(name));
    return true;
}

static bool double_getitem(struct interp *in, const struct nki_node *node, struct value object,
                           struct value key, struct value *result) {
    (void)node;
    buf_puts(&seen, "get[");
    value_print(in, key, &seen);
    buf_puts(&seen, "] ");
    *result = object;
    return true;
}

static bool double_setitem(struct interp *in, const struct nki_node *node, struct value object,
                           struct value key, struct value item) {
    (void)in, (void)node, (void)object, (void)key, (void)item;
    buf_puts(&seen, "set ");
    return true;
}

static bool double_call(struct interp *in, const struct call *call, struct value callee,
                        struct value *result) {
    (void)result;
    return interp_error(in, call->node, "TypeError", "%s cannot be called",
                        value_type_name(callee));
}

static bool double_truth(struct interp *in, const struct nki_node *node, struct value value,
                         bool *truth) {
    (void)value;
    *truth = true;
    return interp_error(in, node, "err_ambiguous_tensor_truth_value",
                        "a tensor has no truth value");
}

static bool double_length(struct interp *in, const struct nki_node *node, struct value value,
                          int64_t *len) {
    (void)in, (void)node, (void)value;
    *len = 128;
    return true;
}

static bool double_enter(struct interp *in, const struct nki_node *node, struct value context,
                         struct value *result) {
    (void)in, (void)node;
    buf_puts(&seen, "enter ");
    *result = context;
    return true;
}

static bool double_leave(struct interp *in, const struct nki_node *node, struct value context) {
    (void)in, (void)node, (void)context;
    buf_puts(&seen, "leave ");
    return true;
}

static bool double_parameter(struct interp *in, const struct nki_node *node,
                             const struct nki_input *input, size_t index, struct str name,
                             struct value *result) {
    (void)in, (void)node, (void)index, (void)name;
    *result = input->kind == NKI_INPUT_ARRAY   ? (struct value){.kind = VALUE_TENSOR}
              : input->kind == NKI_INPUT_FLOAT ? value_float(input->f)
                                               : value_int(input->i);
    return true;
}

static struct interp_launch double_launch_begin(struct interp *in) {
    (void)in;
    return (struct interp_launch){0};
}

static void double_launch_next(struct interp *in, const struct interp_launch *launch,
                               size_t instance) {
    (void)in;
    (void)launch;
    (void)instance;
}

static void double_launch_end(struct interp *in, const struct interp_launch *launch) {
    (void)in;
    (void)launch;
}

static bool double_return(struct interp *in, const struct nki_node *node, struct value value) {
    (void)node;
    value_print(in, value, &returned);
    return true;
}

static bool double_grid_axis(struct value tuple, struct str name, struct value *result) {
    (void)tuple, (void)name, (void)result;
    return false;
}

/* In place of NKI's own. */
const struct interp_objects api_objects = {
    .module = double_module,
    .binary = double_binary,
    .compare = double_compare,
    .unary = double_unary,
    .inplace = double_inplace,
    .grid_axis = double_grid_axis,
    .getattr = double_getattr,
    .getitem = double_getitem,
    .setitem = double_setitem,
    .call = double_call,
    .truth = double_truth,
    .length = double_length,
    .enter = double_enter,
    .leave = double_leave,
    .parameter = double_parameter,
    .returned = double_return,
    .launch_begin = double_launch_begin,
    .launch_next = double_launch_next,
    .launch_end = double_launch_end,
};

/* Runs the function `k` of the source. The result, the error, or the notes and the result. */
static const char *run_with(const char *source, struct nki_specialise_options *options) {
    struct diag_list diags = {0};
    buf_clear(&returned);
    buf_clear(&seen);
    options->function = options->function ? options->function : "k";
    struct nki_tree *tree = nki_parse("k.py", str_of(source), &diags);
    struct nki_program *program = nki_specialise(tree, options, &diags);
    struct buf out = {0};
    for (size_t i = 0; i < diags.all.len; i++) {
        if (diags.all.at[i].severity == DIAG_NOTE && strcmp(diags.all.at[i].code, "print") == 0)
            buf_printf(&out, "%s\n", diags.all.at[i].message);
        else if (out.len || program)
            buf_printf(&out, "| %s\n", diags.all.at[i].message);
        else
            diag_print(&diags.all.at[i], &out);
    }
    if (program)
        buf_add(&out, returned.at ? returned.at : "", returned.len);
    buf_clear(&returned);
    buf_add(&returned, out.at ? out.at : "", out.len);
    buf_free(&out);
    nki_program_free(program);
    nki_tree_free(tree);
    diag_free(&diags);
    return returned.at;
}

#endif
