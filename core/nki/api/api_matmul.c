/* SPDX-License-Identifier: Apache-2.0 */
/* nl.matmul and nl.transpose: matrix products, with the transposes they need. */
#include "nki/api/api.h"

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

/* Transposes x [P, F] on the Tensor engine into a new PSUM tile [F, P]. */
static struct tensor *transposed(const struct api_op *op, const struct tensor *x) {
    int64_t shape[2] = {tensor_free(x), tensor_partitions(x)};
    struct tensor *dst = tensor_tile(op->in, op->node, NKI_PSUM, x->dtype, shape, 2);
    return dst && emit_transpose(op, dst, x, NKI_ENGINE_TENSOR) ? dst : NULL;
}

bool api_lower_transpose(const struct api_op *op, const struct tensor *x, struct value *result) {
    const struct tensor *source = into_sbuf(op, x);
    struct tensor *turned = source ? transposed(op, source) : NULL;
    if (!turned)
        return false;
    struct tensor *dst =
        api_tile_like(op->in, op->node, turned, NKI_SBUF, op->dtype ? op->dtype : x->dtype);
    if (!dst || !api_copy(op->in, op->node, dst, turned, NULL))
        return false;
    *result = api_produced(op->in, op->node, dst, op->mask);
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
        struct tensor *turned = transposed(&whole, stationary);
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
    *result = api_produced(op->in, op->node, dst, op->mask);
    return true;
}
