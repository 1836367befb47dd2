/* SPDX-License-Identifier: Apache-2.0 */
/* nl.* arithmetic of both dialects as instructions: elementwise, reductions, matrix products. One
 * call becomes the instructions that the compiler makes of that call alone; nothing is fused
 * here. */
#include "nki/api/api.h"

static bool is_legacy(struct interp *in) {
    return interp_dialect(in) == NKI_DIALECT_LEGACY;
}

static bool on_chip(const struct api_op *op, const struct tensor *t) {
    if (t->space == NKI_HBM)
        return interp_error(op->in, op->node, "err_unsupported_memory",
                            "an operand of shape %s is "
                            "in HBM: load it into SBUF first",
                            tensor_shape_text(op->in, t));
    return true;
}

/* The operation with its destination: the caller's, or a new tile of this shape. */
static bool settle(const struct api_op *op, const struct tensor *shape, enum dtype dtype,
                   struct api_op *settled) {
    *settled = *op;
    if (!op->dst)
        settled->dst =
            api_tile_like(op->in, op->node, shape, NKI_SBUF, op->dtype ? op->dtype : dtype);
    return settled->dst != NULL;
}

static bool finish(const struct api_op *op, const struct api_op *settled, struct value *result) {
    *result =
        op->dst ? value_tensor(op->dst) : api_produced(op->in, op->node, settled->dst, op->mask);
    return true;
}

/* ---- what the current dialect refuses -------------------------------------------------------- */

bool api_take_operator(struct interp *in, const struct nki_node *node, const char *text,
                       enum nki_func func, bool both) {
    if (is_legacy(in))
        return true;
    const char *name = func == NKI_FUNC_NONE ? "add" : nki_func_name(func);
    return interp_error(in, node, "hone-tensor-operator",
                        both ? "%s is not defined for tiles: write nisa.tensor_tensor(dst=.., "
                               "data1=.., data2=.., op=nl.%s)"
                             : "%s is not defined for tiles: write nisa.tensor_scalar(dst=.., "
                               "data=.., op0=nl.%s, operand0=..)",
                        text, name);
}

/* NKI's list of known issues (0.3 to 0.6): these are of the simulator alone. */
static bool on_device(const struct api_op *op, bool both) {
    const char *instead = op->func == NKI_FUNC_DIVIDE ? "multiply by nl.reciprocal"
                          : op->func == NKI_FUNC_MOD || op->func == NKI_FUNC_FMOD
                              ? "subtract the multiple, or compute on the host"
                          : op->func == NKI_FUNC_POWER && !both
                              ? "use nl.square, nisa.activation, or a tile of exponents"
                              : NULL;
    return !instead || interp_error(op->in, op->node, "hone-operator",
                                    "nl.%s%s is not on the device: %s", nki_func_name(op->func),
                                    op->func == NKI_FUNC_POWER ? " of a number" : "", instead);
}

bool api_take_pair(const struct api_op *op, struct value x, struct value y) {
    bool tx = x.kind == VALUE_TENSOR, ty = y.kind == VALUE_TENSOR;
    if (is_legacy(op->in) || (!tx && !ty))
        return true;
    if (!on_device(op, tx && ty))
        return false;
    if (!tx || !ty || x.tensor->space == NKI_HBM || y.tensor->space == NKI_HBM)
        return true;
    bool parts = tensor_partitions(x.tensor) == tensor_partitions(y.tensor);
    if (parts && tensor_free(x.tensor) == tensor_free(y.tensor))
        return true;
    return interp_error(op->in, op->node, parts ? "hone-shape" : "err_num_partition_mismatch",
                        "nl.%s: the tiles have shapes %s and %s, and nothing is repeated: use "
                        "nisa.tensor_scalar for a column, nl.broadcast_to for a row",
                        op->name ? op->name : nki_func_name(op->func),
                        tensor_shape_text(op->in, x.tensor), tensor_shape_text(op->in, y.tensor));
}

/* ---- elementwise, two inputs ---------------------------------------------------------------- */

static bool is_comparison(enum nki_func func) {
    return nki_func_has(func, 'c') || func == NKI_FUNC_LOGICAL_AND || func == NKI_FUNC_LOGICAL_OR ||
           func == NKI_FUNC_LOGICAL_XOR;
}

static enum dtype value_dtype(struct value v) {
    switch (v.kind) {
    case VALUE_TENSOR: return v.tensor->dtype;
    case VALUE_INT: return DTYPE_INT32;
    case VALUE_BOOL: return DTYPE_UINT8;
    default: return DTYPE_FLOAT32;
    }
}

static enum dtype binary_dtype(const struct api_op *op, struct value x, struct value y) {
    if (!is_legacy(op->in))
        return value_dtype(x.kind == VALUE_TENSOR ? x : y);
    if (is_comparison(op->func))
        return DTYPE_BOOL;
    enum dtype dtype = api_promote(value_dtype(x), value_dtype(y));
    return op->func == NKI_FUNC_DIVIDE && dtype_is_int(dtype) ? DTYPE_FLOAT32 : dtype;
}

static bool commutes(enum nki_func func) {
    switch (func) {
    case NKI_FUNC_SUBTRACT:
    case NKI_FUNC_DIVIDE:
    case NKI_FUNC_POWER:
    case NKI_FUNC_MOD:
    case NKI_FUNC_FMOD:
    case NKI_FUNC_LESS:
    case NKI_FUNC_LESS_EQUAL:
    case NKI_FUNC_GREATER:
    case NKI_FUNC_GREATER_EQUAL:
    case NKI_FUNC_LEFT_SHIFT:
    case NKI_FUNC_RIGHT_SHIFT: return false;
    default: return true;
    }
}

static void start_scalar(struct api_build *b, const struct api_op *op, const struct tensor *data,
                         bool reverse) {
    api_start(b, op->in, op->node, NKI_OP_TENSOR_SCALAR);
    b->mask = op->mask;
    api_put_tensor(b, NKI_TENSOR_SCALAR_dst, op->dst);
    api_put_tensor(b, NKI_TENSOR_SCALAR_data, data);
    api_put(b, NKI_TENSOR_SCALAR_op0, operand_func(op->func));
    api_put(b, NKI_TENSOR_SCALAR_reverse0, operand_bool(reverse && !commutes(op->func)));
}

bool api_emit_scalar(const struct api_op *op, const struct tensor *data, struct nki_operand number,
                     bool reverse) {
    struct api_build b;
    start_scalar(&b, op, data, reverse);
    api_put(&b, NKI_TENSOR_SCALAR_operand0, number);
    return api_emit(&b);
}

static bool with_number(const struct api_op *op, const struct tensor *x, struct value number,
                        bool reverse, struct value *result) {
    double real = 0;
    struct api_op settled;
    enum dtype dtype = binary_dtype(op, value_tensor(x), number);
    api_want_number(number, &real);
    struct nki_operand operand =
        number.kind == VALUE_INT ? operand_int(number.i) : operand_float(real);
    return on_chip(op, x) && (x = api_operand(op->in, op->node, x)) &&
           settle(op, x, dtype, &settled) && api_emit_scalar(&settled, x, operand, reverse) &&
           finish(op, &settled, result);
}

/* Whether t holds one number for each partition of data, or one for all: every free dimension has
 * size 1. */
static bool is_vector(const struct tensor *t, const struct tensor *data) {
    int64_t partitions = tensor_partitions(t);
    return tensor_free(t) == 1 && t->n_dims <= data->n_dims &&
           (partitions == 1 || partitions == tensor_partitions(data));
}

/* A vector operand of tensor_scalar is float32; bit operations take integers. */
static const struct tensor *widen_vector(const struct api_op *op, const struct tensor *t) {
    if (t->dtype == DTYPE_FLOAT32 || nki_func_has(op->func, 'i'))
        return t;
    struct tensor *wide = api_tile_like(op->in, op->node, t, NKI_SBUF, DTYPE_FLOAT32);
    return wide && api_copy(op->in, op->node, wide, t, NULL) ? wide : NULL;
}

/* data op vector, where the vector holds one number for each partition of data. */
static bool with_vector(const struct api_op *op, const struct tensor *data,
                        const struct tensor *vector, bool reverse, struct value *result) {
    int64_t sizes[TENSOR_MAX_DIMS];
    struct api_op settled;
    struct api_build b;
    enum dtype dtype = binary_dtype(op, value_tensor(reverse ? vector : data),
                                    value_tensor(reverse ? data : vector));
    for (int d = 0; d < data->n_dims; d++)
        sizes[d] = data->dim[d].part ? data->dim[d].size : 1;
    if (tensor_partitions(vector) != tensor_partitions(data))
        vector = tensor_broadcast(op->in, op->node, vector, sizes, data->n_dims);
    if (!vector || !(vector = api_operand(op->in, op->node, vector)) ||
        !(vector = widen_vector(op, vector)) || !(data = api_operand(op->in, op->node, data)) ||
        !settle(op, data, dtype, &settled))
        return false;
    start_scalar(&b, &settled, data, reverse);
    api_put_tensor(&b, NKI_TENSOR_SCALAR_operand0, vector);
    return api_emit(&b) && finish(op, &settled, result);
}

static bool join_shapes(const struct api_op *op, const struct tensor *x, const struct tensor *y,
                        struct tensor *shape) {
    const struct tensor *more = x->n_dims >= y->n_dims ? x : y, *less = more == x ? y : x;
    int shift = more->n_dims - less->n_dims;
    tensor_read(shape, more);
    for (int d = 0; d < less->n_dims; d++) {
        struct tensor_dim *dim = &shape->dim[d + shift];
        if (dim->size != less->dim[d].size && dim->size != 1 && less->dim[d].size != 1)
            return interp_error(op->in, op->node, "hone-shape",
                                "shapes %s and %s do not fit together: sizes "
                                "must be equal or 1",
                                tensor_shape_text(op->in, x), tensor_shape_text(op->in, y));
        if (dim->size == 1)
            dim->size = less->dim[d].size;
    }
    return true;
}

static const struct tensor *spread_to(const struct api_op *op, const struct tensor *t,
                                      const struct tensor *shape) {
    if (!tensor_same_shape(t, shape)) {
        int64_t sizes[TENSOR_MAX_DIMS];
        for (int d = 0; d < shape->n_dims; d++)
            sizes[d] = shape->dim[d].size;
        t = tensor_broadcast(op->in, op->node, t, sizes, shape->n_dims);
    }
    return t ? api_operand(op->in, op->node, t) : NULL;
}

/* The Vector engine reads only one operand from PSUM. The legacy compiler moves the other one. */
static bool emit_pair(const struct api_op *op, const struct tensor *x, const struct tensor *y) {
    if (x->space == NKI_PSUM && y->space == NKI_PSUM && is_legacy(op->in)) {
        struct tensor *bounce = api_tile_like(op->in, op->node, y, NKI_SBUF, y->dtype);
        if (!bounce || !api_copy(op->in, op->node, bounce, y, op->mask))
            return false;
        y = bounce;
    }
    struct api_build b;
    api_start(&b, op->in, op->node, NKI_OP_TENSOR_TENSOR);
    b.mask = op->mask;
    api_put_tensor(&b, NKI_TENSOR_TENSOR_dst, op->dst);
    api_put_tensor(&b, NKI_TENSOR_TENSOR_data1, x);
    api_put_tensor(&b, NKI_TENSOR_TENSOR_data2, y);
    api_put(&b, NKI_TENSOR_TENSOR_op, operand_func(op->func));
    return api_emit(&b);
}

static bool two_tiles(const struct api_op *op, struct value a, struct value b,
                      struct value *result) {
    const struct tensor *x = a.tensor, *y = b.tensor;
    if (!on_chip(op, x) || !on_chip(op, y))
        return false;
    bool same = tensor_same_shape(x, y);
    if (!same && is_vector(y, x))
        return with_vector(op, x, y, false, result);
    if (!same && is_vector(x, y))
        return with_vector(op, y, x, true, result);
    struct tensor shape;
    struct api_op settled;
    return join_shapes(op, x, y, &shape) && (x = spread_to(op, x, &shape)) &&
           (y = spread_to(op, y, &shape)) && settle(op, &shape, binary_dtype(op, a, b), &settled) &&
           emit_pair(&settled, x, y) && finish(op, &settled, result);
}

static bool two_numbers(const struct api_op *op, struct value x, struct value y,
                        struct value *result) {
    double a, b, r;
    if (!api_want_number(x, &a) || !api_want_number(y, &b))
        return interp_error(op->in, op->node, "hone-argument",
                            "nl.%s takes tiles and numbers; found %s and %s",
                            nki_func_name(op->func), value_type_name(x), value_type_name(y));
    switch (op->func) {
    case NKI_FUNC_ADD: r = a + b; break;
    case NKI_FUNC_SUBTRACT: r = a - b; break;
    case NKI_FUNC_MULTIPLY: r = a * b; break;
    case NKI_FUNC_DIVIDE: r = a / b; break;
    case NKI_FUNC_MAXIMUM: r = a > b ? a : b; break;
    case NKI_FUNC_MINIMUM: r = a < b ? a : b; break;
    default:
        return interp_error(op->in, op->node, "hone-argument", "nl.%s needs a tile",
                            nki_func_name(op->func));
    }
    *result = x.kind == VALUE_INT && y.kind == VALUE_INT && op->func != NKI_FUNC_DIVIDE
                  ? value_int((int64_t)r)
                  : value_float(r);
    return true;
}

bool api_lower_binary(const struct api_op *op, struct value x, struct value y,
                      struct value *result) {
    double number;
    bool tx = x.kind == VALUE_TENSOR, ty = y.kind == VALUE_TENSOR;
    if (tx && ty)
        return two_tiles(op, x, y, result);
    if (!tx && !ty)
        return two_numbers(op, x, y, result);
    struct value other = tx ? y : x;
    if (!api_want_number(other, &number))
        return interp_error(op->in, op->node, "hone-argument",
                            "nl.%s takes tiles and numbers; found %s", nki_func_name(op->func),
                            value_type_name(other));
    return with_number(op, tx ? x.tensor : y.tensor, other, !tx, result);
}

/* ---- elementwise, one input ----------------------------------------------------------------- */

static bool emit_one(const struct api_op *op, enum nki_op instruction, const struct tensor *x) {
    struct api_build b;
    api_start(&b, op->in, op->node, instruction);
    b.mask = op->mask;
    api_put_tensor(&b, NKI_DST, op->dst);
    api_put_tensor(&b, (size_t)nki_op_source(instruction, NKI_DST), x);
    if (instruction == NKI_OP_ACTIVATION && !nki_func_has(op->func, 'u') &&
        !api_implicit(op->in, op->node, API_IMPLICIT_BIAS))
        return false;
    if (instruction == NKI_OP_ACTIVATION)
        api_put(&b, NKI_ACTIVATION_op, operand_func(op->func));
    if (instruction == NKI_OP_ELEMENTWISE)
        api_put(&b, NKI_ELEMENTWISE_op, operand_func(op->func));
    return api_emit(&b);
}

static bool scalar_instead(const struct api_op *op, enum nki_func func, double number,
                           const struct tensor *x) {
    struct api_op other = *op;
    other.func = func;
    return api_emit_scalar(
        &other, x,
        number == -1 && nki_func_has(func, 'i') ? operand_int(-1) : operand_float(number), false);
}

bool api_emit_unary(const struct api_op *op, const struct tensor *x) {
    struct api_build b;
    bool legacy = is_legacy(op->in);
    switch (op->func) {
    case NKI_FUNC_COPY: return emit_one(op, NKI_OP_TENSOR_COPY, x);
    case NKI_FUNC_RECIPROCAL: return emit_one(op, NKI_OP_RECIPROCAL, x);
    case NKI_FUNC_NEGATIVE: return scalar_instead(op, NKI_FUNC_MULTIPLY, -1, x);
    case NKI_FUNC_LOGICAL_NOT: return scalar_instead(op, NKI_FUNC_EQUAL, 0, x);
    case NKI_FUNC_INVERT: return scalar_instead(op, NKI_FUNC_BITWISE_XOR, -1, x);
    case NKI_FUNC_RSQRT:
        if (!interp_rule(op->in, NKI_RULE_RSQRT_ON_CHIP))
            break;
        start_scalar(&b, op, x, false);
        b.engine = NKI_ENGINE_GPSIMD;
        api_put(&b, NKI_TENSOR_SCALAR_operand0, operand_float(0));
        return api_emit(&b);
    case NKI_FUNC_SIN:
        if (!legacy) /* it reduces the range, which the activation function does not */
            return emit_one(op, NKI_OP_ELEMENTWISE, x);
        break;
    default: break;
    }
    return emit_one(op, nki_func_has(op->func, 'a') ? NKI_OP_ACTIVATION : NKI_OP_ELEMENTWISE, x);
}

bool api_lower_unary(const struct api_op *op, struct value x, struct value *result) {
    const struct tensor *data;
    struct api_op settled;
    if (!api_want_tensor(op->in, op->node, nki_func_name(op->func), x, &data) ||
        !on_chip(op, data) || !(data = api_operand(op->in, op->node, data)))
        return false;
    enum dtype dtype = data->dtype;
    if (is_legacy(op->in) && op->func == NKI_FUNC_LOGICAL_NOT)
        dtype = DTYPE_BOOL;
    else if (is_legacy(op->in) && !dtype_is_float(dtype) && nki_func_has(op->func, 'a') &&
             op->func != NKI_FUNC_COPY && op->func != NKI_FUNC_ABS)
        dtype = DTYPE_FLOAT32;
    return settle(op, data, dtype, &settled) && api_emit_unary(&settled, data) &&
           finish(op, &settled, result);
}

/* ---- matrix products --------------------------------------------------------------------------
 */

static const struct tensor *into_sbuf(const struct api_op *op, const struct tensor *x) {
    if (x->space == NKI_SBUF)
        return api_operand(op->in, op->node, x);
    if (x->space == NKI_HBM) {
        interp_error(op->in, op->node, "err_unsupported_memory",
                     "an operand of shape %s is in HBM: "
                     "load it into SBUF first",
                     tensor_shape_text(op->in, x));
        return NULL;
    }
    struct tensor *copy = api_tile_like(op->in, op->node, x, NKI_SBUF, x->dtype);
    return copy && api_copy(op->in, op->node, copy, x, NULL) ? copy : NULL;
}

static bool emit_transpose(const struct api_op *op, const struct tensor *dst,
                           const struct tensor *x, enum nki_engine engine) {
    struct api_build b;
    api_start(&b, op->in, op->node, NKI_OP_NC_TRANSPOSE);
    b.mask = op->mask;
    b.engine = engine;
    api_put_tensor(&b, NKI_NC_TRANSPOSE_dst, dst);
    api_put_tensor(&b, NKI_NC_TRANSPOSE_data, x);
    return api_emit(&b);
}

struct tensor *api_transposed(const struct api_op *op, const struct tensor *x) {
    int64_t shape[2] = {tensor_free(x), tensor_partitions(x)};
    struct tensor *dst = tensor_tile(op->in, op->node, NKI_PSUM, x->dtype, shape, 2);
    return dst && api_implicit(op->in, op->node, API_IMPLICIT_TRANSPOSE) &&
                   emit_transpose(op, dst, x, NKI_ENGINE_TENSOR)
               ? dst
               : NULL;
}

bool api_lower_transpose(const struct api_op *op, const struct tensor *x, struct value *result) {
    const struct tensor *source = into_sbuf(op, x);
    struct tensor *turned = source ? api_transposed(op, source) : NULL;
    if (!turned)
        return false;
    struct tensor *dst =
        api_tile_like(op->in, op->node, turned, NKI_SBUF, op->dtype ? op->dtype : x->dtype);
    struct api_build b = {.in = op->in, .op = NKI_OP_NC_TRANSPOSE, .mask = op->mask};
    const struct index_expr *mask = api_dst_mask(&b);
    if (!dst || !api_copy(op->in, op->node, dst, turned, mask))
        return false;
    *result = api_produced(op->in, op->node, dst, mask);
    return true;
}

bool api_lower_matmul(const struct api_op *op, const struct tensor *x, const struct tensor *y,
                      bool transpose_x, struct value *result) {
    const struct tensor *stationary = into_sbuf(op, x), *moving = into_sbuf(op, y);
    if (!stationary || !moving)
        return false;
    if (!transpose_x) {
        struct api_op whole = *op;
        whole.mask = NULL;
        struct tensor *turned = api_transposed(&whole, stationary);
        if (!turned || !(stationary = into_sbuf(&whole, turned)))
            return false;
    }
    if (tensor_partitions(stationary) != tensor_partitions(moving))
        return interp_error(op->in, op->node, "err_num_partition_mismatch",
                            "nl.matmul: x has shape %s and y %s: the contraction is over %lld and "
                            "%lld elements",
                            tensor_shape_text(op->in, x), tensor_shape_text(op->in, y),
                            (long long)tensor_partitions(stationary),
                            (long long)tensor_partitions(moving));
    int64_t shape[2] = {tensor_free(stationary), tensor_free(moving)};
    struct tensor *dst = tensor_tile(op->in, op->node, NKI_PSUM, DTYPE_FLOAT32, shape, 2);
    struct api_build b;
    if (!dst)
        return false;
    api_start(&b, op->in, op->node, NKI_OP_NC_MATMUL);
    b.mask = op->mask;
    api_put_tensor(&b, NKI_NC_MATMUL_dst, dst);
    api_put_tensor(&b, NKI_NC_MATMUL_stationary, stationary);
    api_put_tensor(&b, NKI_NC_MATMUL_moving, moving);
    api_put(&b, NKI_NC_MATMUL_accumulate, operand_bool(false));
    if (!api_emit(&b))
        return false;
    *result = api_produced(op->in, op->node, dst, api_dst_mask(&b));
    return true;
}
