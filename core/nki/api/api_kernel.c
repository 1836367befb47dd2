/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's boundary: arguments become values and input storages, and what it returns becomes
 * the program's outputs. */
#include "nki/api/api.h"

static bool returns_values(const struct nki_node *function) {
    const struct nki_list *body = &function->function_def.body;
    for (uint32_t i = 0; i < body->len; i++)
        if (body->at[i]->kind == NKI_RETURN && body->at[i]->return_.value)
            return true;
    return false;
}

static bool is_mutable(const struct nki_node *annotation) {
    return annotation && annotation->kind == NKI_ATTRIBUTE &&
           str_is(annotation->attribute.attr, "mutable_tensor");
}

/* The shape that `x: nt.tensor[128, 512]` says, when it is written in numbers; its length, or 0. */
static int annotated_shape(const struct nki_node *annotation, int64_t shape[ARRAY_MAX_DIMS]) {
    if (!annotation || annotation->kind != NKI_SUBSCRIPT ||
        annotation->subscript.value->kind != NKI_ATTRIBUTE)
        return 0;
    struct str name = annotation->subscript.value->attribute.attr;
    const struct nki_node *slice = annotation->subscript.slice;
    uint32_t n = slice->kind == NKI_TUPLE ? slice->tuple.elts.len : 1;
    if ((!str_is(name, "tensor") && !str_is(name, "mutable_tensor")) || n > ARRAY_MAX_DIMS)
        return 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct nki_node *size = slice->kind == NKI_TUPLE ? slice->tuple.elts.at[i] : slice;
        if (size->kind != NKI_CONSTANT || size->constant.type != NKI_CONST_INT)
            return 0;
        shape[i] = size->constant.integer;
    }
    return (int)n;
}

static const struct nki_node *annotation_of(const struct nki_node *node, struct str name) {
    const struct nki_node *function =
        node && node->kind != NKI_FUNCTION_DEF ? nki_enclosing(node, NKI_FUNCTION_DEF) : node;
    if (!function)
        return NULL;
    const struct nki_list *args = &function->function_def.args->arguments.args;
    for (uint32_t i = 0; i < args->len; i++)
        if (str_equal(args->at[i]->arg.name, name))
            return args->at[i]->arg.annotation;
    return NULL;
}

static bool fits_annotation(struct interp *in, const struct nki_node *node, struct str name,
                            const struct array *array) {
    int64_t shape[ARRAY_MAX_DIMS] = {0};
    const struct nki_node *annotation = annotation_of(node, name);
    int n = annotated_shape(annotation, shape);
    if (!n || (n == array->ndim && memcmp(shape, array->shape, (size_t)n * sizeof shape[0]) == 0))
        return true;
    int d = 0;
    while (d < n && d < array->ndim && shape[d] == array->shape[d])
        d++;
    return interp_error(in, annotation, "err_annotation_shape_mismatch",
                        "'" STR_FMT "' is annotated with %d dimensions and given %d; dimension %d "
                        "differs: %lld and %lld",
                        STR_ARG(name), n, array->ndim, d, (long long)(d < n ? shape[d] : 0),
                        (long long)(d < array->ndim ? array->shape[d] : 0));
}

/* In the legacy dialect parameters are read only, unless they say that they are mutable. The oldest
 * kernels return nothing and write their results into parameters. */
static bool is_immutable(struct interp *in, const struct nki_node *node, struct str name) {
    const struct nki_node *function =
        node && node->kind != NKI_FUNCTION_DEF ? nki_enclosing(node, NKI_FUNCTION_DEF) : node;
    if (interp_dialect(in) != NKI_DIALECT_LEGACY || !function || !returns_values(function))
        return false;
    const struct nki_list *args = &function->function_def.args->arguments.args;
    for (uint32_t i = 0; i < args->len; i++)
        if (str_equal(args->at[i]->arg.name, name))
            return !is_mutable(args->at[i]->arg.annotation);
    return false;
}

/* An input of 64 bits, which no operand has in this release. */
static bool refuse_wide(struct interp *in, const struct nki_node *node, enum dtype dtype,
                        struct str name) {
    return interp_error(in, node, "hone-dtype",
                        "the input for '" STR_FMT "' is %s, which the device does not have: pass "
                        "it as %s",
                        STR_ARG(name), dtype_name(dtype),
                        dtype == DTYPE_INT64 ? "int32" : "float32");
}

static bool array_parameter(struct interp *in, const struct nki_node *node,
                            const struct nki_input *input, size_t index, struct str name,
                            struct value *result) {
    const struct array *array = &input->array;
    if (array->ndim == 0) {
        *result = value_float(0);
        return interp_error(in, node, "hone-argument",
                            "the input for '" STR_FMT "' has no dimensions: pass a "
                            "number instead",
                            STR_ARG(name));
    }
    if (array->dtype == DTYPE_FLOAT64 || (array->dtype == DTYPE_INT64 && !api_has_int64(in)))
        return refuse_wide(in, node, array->dtype, name);
    struct tensor_request request = {.space = NKI_HBM,
                                     .dtype = array->dtype,
                                     .n_dims = array->ndim,
                                     .name = name,
                                     .address_partition = -1};
    memcpy(request.shape, array->shape, sizeof array->shape);
    struct tensor *t =
        fits_annotation(in, node, name, array) ? tensor_new(in, node, &request) : NULL;
    if (!t)
        return false;
    t->immutable = is_immutable(in, node, name);
    tensor_storage(in, t)->input = input->place ? input->place - 1 : (int32_t)index;
    *result = value_tensor(t);
    return true;
}

bool api_parameter(struct interp *in, const struct nki_node *node, const struct nki_input *input,
                   size_t index, struct str name, struct value *result) {
    switch (input->kind) {
    case NKI_INPUT_ARRAY: return array_parameter(in, node, input, index, name, result);
    case NKI_INPUT_INT: *result = value_int(input->i); return true;
    case NKI_INPUT_FLOAT: *result = value_float(input->f); return true;
    case NKI_INPUT_BOOL: *result = value_bool(input->i != 0); return true;
    case NKI_INPUT_STR: *result = value_string(in, str_of(input->s)); return true;
    case NKI_INPUT_NONE: *result = NONE_VALUE; return true;
    case NKI_INPUT_DTYPE:
        *result = (struct value){.kind = VALUE_DTYPE, .i = dtype_find(str_of(input->s))};
        return true;
    default: break; /* containers are the interpreter's */
    }
    return false;
}

/* A returned view stands for its storage. A view of the whole storage also gives the output its
 * shape. */
static bool add_output(struct interp *in, const struct nki_node *node, struct value value) {
    struct nki_program *program = interp_program(in);
    if (value.kind != VALUE_TENSOR)
        return interp_error(in, node, "hone-argument", "a kernel returns tensors; found %s",
                            value_type_name(value));
    const struct tensor *t = value.tensor;
    struct nki_storage *storage = nki_storage_own(program, t->storage);
    bool legacy = interp_dialect(in) == NKI_DIALECT_LEGACY;
    if (t->space != NKI_HBM)
        return interp_error(in, node, "hone-output",
                            "the returned tensor of shape %s is in %s: outputs must "
                            "be in nl.shared_hbm",
                            tensor_shape_text(in, t), t->space == NKI_SBUF ? "nl.sbuf" : "nl.psum");
    if (interp_rule(in, NKI_RULE_SHARED_OUTPUTS) && !storage->shared && storage->input < 0)
        return interp_error(in, node, "hone-output",
                            "the returned tensor of shape %s is in nl.hbm, which is private to a "
                            "core since NKI 0.3: make it in nl.shared_hbm",
                            tensor_shape_text(in, t));
    if (!legacy && !storage->shared && storage->input < 0) {
        interp_warn(in, node, "hone-output",
                    "the returned tensor of shape %s is in nl.hbm; nl.shared_hbm is the memory "
                    "for outputs and is taken instead",
                    tensor_shape_text(in, t));
        storage->shared = true;
    }
    uint64_t bytes = (uint64_t)tensor_count(t) * dtype_bytes(t->dtype);
    if (bytes == storage->bytes && t->n_dims <= ARRAY_MAX_DIMS && t->dtype == storage->dtype) {
        storage->n_dims = t->n_dims;
        int64_t *shape = ARENA_ARRAY(interp_arena(in), int64_t, ARRAY_MAX_DIMS);
        for (int d = 0; d < t->n_dims; d++)
            shape[d] = t->dim[d].size;
        storage->shape = shape;
    }
    if (storage->output < 0)
        storage->output = (int32_t)program->outputs.len;
    *vec_push(&program->outputs) = t->storage;
    return true;
}

/* The older legacy style writes its results into parameters and returns nothing. */
static bool written_parameters(struct interp *in, const struct nki_node *node) {
    struct nki_program *program = interp_program(in);
    size_t n = program->storages.len;
    bool *written = ARENA_ARRAY(interp_arena(in), bool, n);
    for (size_t i = 0; i < program->instrs.len; i++) {
        const struct nki_operand *dst = &program->instrs.at[i].operands[NKI_DST];
        if (program->instrs.at[i].n_operands && dst->kind == NKI_OPERAND_AP)
            written[dst->ap->storage] = true;
    }
    for (size_t s = 0; s < n; s++) {
        struct nki_storage *storage = program->storages.at[s];
        if (!written[s] || storage->input < 0)
            continue;
        storage->output = (int32_t)program->outputs.len;
        *vec_push(&program->outputs) = (uint32_t)s;
    }
    return program->outputs.len > 0 || interp_error(in, node, "err_tensor_output_not_written_to",
                                                    "the kernel returns nothing "
                                                    "and writes to none of its parameters");
}

/* The last statement of the kernel that returns something, for messages. */
static const struct nki_node *return_of(const struct nki_node *function) {
    if (function->kind != NKI_FUNCTION_DEF || !function->function_def.body.len)
        return function;
    const struct nki_list *body = &function->function_def.body;
    const struct nki_node *last = body->at[body->len - 1];
    return last->kind == NKI_RETURN ? last : function;
}

struct interp_launch api_launch_begin(struct interp *in) {
    const struct api *api = api_of(in);
    return (struct interp_launch){api->next_shared, api->instances};
}

void api_launch_next(struct interp *in, const struct interp_launch *launch, size_t instance) {
    struct api *api = api_of(in);
    api->next_shared = launch->first_shared;
    api->instances = launch->instances + instance;
}

void api_launch_end(struct interp *in, const struct interp_launch *launch) {
    api_of(in)->instances = launch->instances;
}

/* The values of a dict, in the order in which they were put in. */
static bool add_outputs_of(struct interp *in, const struct nki_node *node,
                           const struct value_dict *dict) {
    interp_program(in)->returns_tuple = true;
    for (size_t i = 0; i < dict->pairs.len; i++)
        if (!add_output(in, node, dict->pairs.at[i].value))
            return false;
    return true;
}

/* A parameter of the legacy dialect that was written has to be returned. */
static bool check_mutable(struct interp *in, const struct nki_node *node) {
    const struct nki_program *program = interp_program(in);
    for (size_t i = 0; interp_dialect(in) == NKI_DIALECT_LEGACY && i < program->instrs.len; i++) {
        const struct nki_instr *instr = &program->instrs.at[i];
        const struct nki_operand *dst = &instr->operands[NKI_DST];
        if (!instr->n_operands || dst->kind != NKI_OPERAND_AP)
            continue;
        const struct nki_storage *storage = program->storages.at[dst->ap->storage];
        if (storage->input >= 0 && storage->output < 0)
            return interp_error(in, node, "err_mutable_parameter_not_returned",
                                "the parameter %s is written, so it has to be returned",
                                storage->name);
    }
    return true;
}

bool api_return(struct interp *in, const struct nki_node *node, struct value value) {
    struct nki_program *program = interp_program(in);
    struct api *api = api_of(in);
    node = return_of(node);
    api->next_shared = 0;
    if (api->instances++ > 0) /* an SPMD launch has the outputs of its first instance */
        return true;
    if (value.kind == VALUE_NONE)
        return written_parameters(in, node);
    if (value.kind == VALUE_DICT)
        return add_outputs_of(in, node, value.dict);
    if (value.kind != VALUE_TUPLE && value.kind != VALUE_LIST)
        return add_output(in, node, value) && check_mutable(in, node);
    program->returns_tuple = true;
    for (size_t i = 0; i < value.seq->items.len; i++)
        if (!add_output(in, node, value.seq->items.at[i]))
            return false;
    return check_mutable(in, node);
}
