/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions over free dimensions, and what is made of them: mean, variance, softmax, RMS norm. */
#include "nki/api/api.h"

/* ---- axes ----------------------------------------------------------------------------------- */

struct axes {
    bool reduced[TENSOR_MAX_DIMS];
    int n;
};

static bool read_axes(const struct api_op *op, const struct tensor *x, struct value value,
                      struct axes *axes) {
    const struct value *items = &value;
    size_t n = 1;
    *axes = (struct axes){.n = 0};
    if (value.kind == VALUE_TUPLE || value.kind == VALUE_LIST) {
        items = value.seq->items.at;
        n = value.seq->items.len;
    }
    for (size_t i = 0; i < n; i++) {
        int64_t axis;
        if (!api_want_int(op->in, op->node, "axis", items[i], &axis))
            return false;
        if (axis < 0)
            axis += x->n_dims;
        if (axis < 0 || axis >= x->n_dims)
            return interp_error(op->in, op->node, "hone-axis",
                                "axis %lld is out of range for a tensor of "
                                "shape %s",
                                (long long)items[i].i, tensor_shape_text(op->in, x));
        if (x->dim[axis].part && x->dim[axis].size > 1)
            return interp_error(op->in, op->node, "hone-axis",
                                "axis %lld is the partition dimension: "
                                "reductions run over free dimensions; transpose first or use a "
                                "matmul with ones",
                                (long long)axis);
        axes->n += !axes->reduced[axis];
        axes->reduced[axis] = true;
    }
    return true;
}

/* The shape after the reduction; a tile keeps two dimensions. */
static void reduced_shape(const struct tensor *x, const struct axes *axes, bool keepdims,
                          struct tensor *shape) {
    tensor_read(shape, x);
    int kept = x->n_dims - axes->n;
    bool keep = keepdims || kept < 2;
    shape->n_dims = 0;
    for (int d = 0; d < x->n_dims; d++) {
        if (axes->reduced[d] && (!keep || (!keepdims && shape->n_dims >= 2)))
            continue;
        struct tensor_dim dim = x->dim[d];
        if (axes->reduced[d])
            dim.size = 1;
        shape->dim[shape->n_dims++] = dim;
    }
}

/* Puts the reduced dimensions last, where the instruction takes them. */
static void reduced_last(const struct tensor *x, const struct axes *axes, struct tensor *view) {
    tensor_read(view, x);
    int at = 0;
    for (int d = 0; d < x->n_dims; d++)
        if (!axes->reduced[d])
            view->dim[at++] = x->dim[d];
    for (int d = 0; d < x->n_dims; d++)
        if (axes->reduced[d])
            view->dim[at++] = x->dim[d];
}

static bool is_last(const struct tensor *x, const struct axes *axes) {
    for (int d = 0; d < x->n_dims - axes->n; d++)
        if (axes->reduced[d])
            return false;
    return true;
}

/* dst = func over the last n dimensions of data. */
static bool emit_reduce(const struct api_op *op, const struct tensor *data, int n, bool negate) {
    struct api_build b;
    int64_t *list = ARENA_ARRAY(interp_arena(op->in), int64_t, (size_t)n);
    for (int i = 0; i < n; i++)
        list[i] = data->n_dims - n + i;
    api_start(&b, op->in, op->node, NKI_OP_TENSOR_REDUCE);
    b.mask = op->mask;
    api_put_tensor(&b, NKI_TENSOR_REDUCE_dst, op->dst);
    api_put(&b, NKI_TENSOR_REDUCE_op, operand_func(op->func));
    api_put_tensor(&b, NKI_TENSOR_REDUCE_data, data);
    api_put(&b, NKI_TENSOR_REDUCE_axis,
            (struct nki_operand){.kind = NKI_OPERAND_INTS, .n = (uint32_t)n, .ints = list});
    api_put(&b, NKI_TENSOR_REDUCE_negate, operand_bool(negate));
    return api_emit(&b);
}

static struct tensor *new_tile(const struct api_op *op, const struct tensor *shape,
                               enum dtype dtype) {
    return api_tile_like(op->in, op->node, shape, NKI_SBUF, dtype);
}

static bool multiply_by(const struct api_op *op, const struct tensor *dst,
                        const struct tensor *data, double number) {
    struct api_op scale = *op;
    scale.func = NKI_FUNC_MULTIPLY;
    scale.dst = dst;
    return api_emit_scalar(&scale, data, operand_float(number), false);
}

/* The finished value: in the caller's tile, or in a new one. */
static bool produced(const struct api_op *op, const struct tensor *tile, struct value *result) {
    *result = op->dst ? value_tensor(tile) : api_produced(op->in, op->node, tile, op->mask);
    return true;
}

bool api_lower_reduce(const struct api_op *op, struct value x,
                      const struct api_reduction *reduction, struct value *result) {
    const struct tensor *data;
    struct axes axes;
    struct tensor shape, view;
    if (!api_want_tensor(op->in, op->node, nki_func_name(op->func), x, &data) ||
        !(data = api_operand(op->in, op->node, data)) ||
        !read_axes(op, data, reduction->axes, &axes))
        return false;
    reduced_shape(data, &axes, reduction->keepdims, &shape);
    if (!is_last(data, &axes) && interp_dialect(op->in) != NKI_DIALECT_LEGACY)
        return interp_error(op->in, op->node, "hone-axis",
                            "the axes to reduce must be the last ones of shape %s: exchange "
                            "dimensions of the view first, with .permute",
                            tensor_shape_text(op->in, data));
    if (!is_last(data, &axes)) {
        reduced_last(data, &axes, &view);
        data = tensor_keep(op->in, &view);
    }
    bool mean = op->func == NKI_FUNC_AVERAGE;
    enum dtype dtype = op->dtype ? op->dtype : data->dtype;
    struct api_op part = *op;
    const struct tensor *dst = op->dst ? op->dst : new_tile(op, &shape, dtype);
    part.func = mean ? NKI_FUNC_ADD : op->func;
    part.dst = mean ? new_tile(op, &shape, DTYPE_FLOAT32) : dst;
    if (!dst || !part.dst || !emit_reduce(&part, data, axes.n, reduction->negate))
        return false;
    int64_t n = tensor_count(data) / tensor_count(&shape);
    if (mean && !multiply_by(op, dst, part.dst, 1.0 / (double)n))
        return false;
    return produced(op, dst, result);
}

/* ---- composites ----------------------------------------------------------------------------- */

static bool binary_into(const struct api_op *op, enum nki_func func, const struct tensor *dst,
                        const struct tensor *x, const struct tensor *y) {
    struct api_op one = *op;
    struct value ignored;
    one.func = func;
    one.dst = dst;
    return api_lower_binary(&one, value_tensor(x), value_tensor(y), &ignored);
}

static bool unary_into(const struct api_op *op, enum nki_func func, const struct tensor *dst,
                       const struct tensor *x) {
    struct api_op one = *op;
    one.func = func;
    one.dst = dst;
    return api_emit_unary(&one, x);
}

static const struct tensor *reduce_to(const struct api_op *op, enum nki_func func,
                                      const struct tensor *x, struct value axes, bool negate) {
    struct api_op one = *op;
    struct value result;
    struct api_reduction reduction = {.axes = axes, .keepdims = true, .negate = negate};
    one.func = func;
    one.dst = NULL;
    one.dtype = DTYPE_FLOAT32;
    return api_lower_reduce(&one, value_tensor(x), &reduction, &result) ? result.tensor : NULL;
}

/* mean((x - mean(x))^2) */
bool api_lower_variance(const struct api_op *op, struct value x,
                        const struct api_reduction *reduction, struct value *result) {
    const struct tensor *data, *mean, *squares;
    if (!api_want_tensor(op->in, op->node, "nl.var", x, &data) ||
        !(mean = reduce_to(op, NKI_FUNC_AVERAGE, data, reduction->axes, false)))
        return false;
    struct tensor *centred = new_tile(op, data, DTYPE_FLOAT32);
    struct tensor *square = new_tile(op, data, DTYPE_FLOAT32);
    if (!centred || !square || !binary_into(op, NKI_FUNC_SUBTRACT, centred, data, mean) ||
        !unary_into(op, NKI_FUNC_SQUARE, square, centred) ||
        !(squares = reduce_to(op, NKI_FUNC_ADD, square, reduction->axes, false)))
        return false;
    const struct tensor *dst =
        op->dst ? op->dst : new_tile(op, squares, op->dtype ? op->dtype : data->dtype);
    int64_t n = tensor_count(data) / tensor_count(squares);
    return dst && multiply_by(op, dst, squares, 1.0 / (double)n) && produced(op, dst, result);
}

/* exp(x - max) / sum; the maximum is the activation's bias */
bool api_lower_softmax(const struct api_op *op, struct value x, struct value axis,
                       struct value *result) {
    const struct tensor *data, *negative, *sum;
    if (!api_want_tensor(op->in, op->node, "nl.softmax", x, &data) ||
        !(data = api_operand(op->in, op->node, data)) ||
        !(negative = reduce_to(op, NKI_FUNC_MAXIMUM, data, axis, true)))
        return false;
    struct tensor *power = new_tile(op, data, DTYPE_FLOAT32);
    struct tensor *inverse = new_tile(op, negative, DTYPE_FLOAT32);
    struct api_build b;
    if (!power || !inverse)
        return false;
    if (tensor_free(negative) == 1) {
        api_start(&b, op->in, op->node, NKI_OP_ACTIVATION);
        b.mask = op->mask;
        api_put_tensor(&b, NKI_ACTIVATION_dst, power);
        api_put(&b, NKI_ACTIVATION_op, operand_func(NKI_FUNC_EXP));
        api_put_tensor(&b, NKI_ACTIVATION_data, data);
        api_put_tensor(&b, NKI_ACTIVATION_bias, negative);
        if (!api_emit(&b))
            return false;
    } else if (!binary_into(op, NKI_FUNC_ADD, power, data, negative) ||
               !unary_into(op, NKI_FUNC_EXP, power, power)) {
        return false;
    }
    const struct tensor *dst =
        op->dst ? op->dst : new_tile(op, data, op->dtype ? op->dtype : data->dtype);
    return dst && (sum = reduce_to(op, NKI_FUNC_ADD, power, axis, false)) &&
           unary_into(op, NKI_FUNC_RECIPROCAL, inverse, sum) &&
           binary_into(op, NKI_FUNC_MULTIPLY, dst, power, inverse) && produced(op, dst, result);
}

/* x / sqrt(sum(x^2) / n + epsilon) * w */
bool api_lower_rms_norm(const struct api_op *op, const struct api_rms_norm *norm,
                        struct value *result) {
    const struct tensor *x = norm->x, *sum;
    struct tensor *square = new_tile(op, x, DTYPE_FLOAT32);
    struct tensor *scaled = new_tile(op, x, DTYPE_FLOAT32);
    if (!square || !scaled || !unary_into(op, NKI_FUNC_SQUARE, square, x) ||
        !(sum = reduce_to(op, NKI_FUNC_ADD, square, norm->axis, false)))
        return false;
    struct tensor *mean = new_tile(op, sum, DTYPE_FLOAT32);
    struct tensor *inverse = new_tile(op, sum, DTYPE_FLOAT32);
    struct api_op add = *op;
    add.func = NKI_FUNC_ADD;
    add.dst = mean;
    if (!mean || !inverse || !multiply_by(op, mean, sum, 1.0 / norm->n) ||
        !api_emit_scalar(&add, mean, operand_float(norm->epsilon), false) ||
        !unary_into(op, NKI_FUNC_RSQRT, inverse, mean) ||
        !binary_into(op, NKI_FUNC_MULTIPLY, scaled, x, inverse))
        return false;
    const struct tensor *dst =
        op->dst ? op->dst : new_tile(op, x, op->dtype ? op->dtype : x->dtype);
    return dst && binary_into(op, NKI_FUNC_MULTIPLY, dst, scaled, norm->w) &&
           produced(op, dst, result);
}
