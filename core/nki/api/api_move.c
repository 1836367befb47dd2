/* SPDX-License-Identifier: Apache-2.0 */
/* nl functions that move data or change its shape: load, store, transposes, broadcasts, and the
 * objects that index (nl.ds, nl.arange). */
#include "nki/api/api.h"

/* The shape of a loaded tile is that of the source; one dimension becomes (n, 1). */
static struct tensor *loaded_tile(struct interp *in, const struct nki_node *node,
                                  const struct tensor *src, enum dtype dtype) {
    int64_t shape[TENSOR_MAX_DIMS];
    int n = src->n_dims;
    for (int d = 0; d < n; d++)
        shape[d] = src->dim[d].size;
    if (n == 1)
        shape[n++] = 1;
    return tensor_tile(in, node, NKI_SBUF, dtype ? dtype : src->dtype, shape, n);
}

bool nl_load(struct interp *in, const struct call *call, struct value *result) {
    struct value v[4];
    const struct tensor *src;
    enum dtype dtype;
    const struct index_expr *mask;
    if (!api_bind(in, call,
                  interp_dialect(in) == NKI_DIALECT_LEGACY
                      ? "src, *, mask=None, dtype=None, name=None"
                      : "src, dtype=None",
                  v))
        return false;
    bool legacy = interp_dialect(in) == NKI_DIALECT_LEGACY;
    if (!api_want_tensor(in, call->node, "the source of nl.load", v[0], &src) ||
        !api_want_dtype(in, call->node, legacy ? v[2] : v[1], &dtype) ||
        !api_want_mask(in, call->node, legacy ? v[1] : NONE_VALUE, &mask))
        return false;
    /* What shared_constant makes is written as if it lay in HBM, and loaded. */
    if (src->space != NKI_HBM && !tensor_storage(in, src)->constant)
        return interp_error(in, call->node, "err_unsupported_memory",
                            "nl.load takes a tensor in HBM; this is in %s already",
                            src->space == NKI_PSUM ? "PSUM" : "SBUF");
    struct tensor *tile = loaded_tile(in, call->node, src, dtype);
    struct tensor *dst = tile;
    if (tile && src->n_dims == 1) {
        struct tensor flat;
        tensor_read(&flat, tile);
        flat.n_dims = 1;
        dst = tensor_keep(in, &flat);
    }
    if (!tile || !api_copy(in, call->node, dst, src, mask))
        return false;
    *result = api_produced(in, call->node, tile, mask);
    return true;
}

static bool writable(struct interp *in, const struct nki_node *node, const struct tensor *dst) {
    if (dst->immutable)
        return interp_error(in, node, "err_cannot_update_immutable_parameter",
                            "a kernel parameter cannot be written: annotate it nt.mutable_tensor "
                            "and return it");
    return true;
}

bool nl_store(struct interp *in, const struct call *call, struct value *result) {
    struct value v[3];
    const struct tensor *dst, *src;
    const struct index_expr *mask = NULL;
    bool legacy = interp_dialect(in) == NKI_DIALECT_LEGACY;
    if (!api_bind(in, call, legacy ? "dst, value, *, mask=None" : "dst, value", v) ||
        !api_want_tensor(in, call->node, "the destination of nl.store", v[0], &dst) ||
        (legacy && !api_want_mask(in, call->node, v[2], &mask)) || !writable(in, call->node, dst))
        return false;
    *result = NONE_VALUE;
    double number;
    if (legacy && api_want_number(v[1], &number)) {
        struct tensor *tile = loaded_tile(in, call->node, dst, dst->dtype);
        if (!tile || !api_memset(in, call->node, tile, number))
            return false;
        v[1] = value_tensor(tile);
    }
    if (!api_want_tensor(in, call->node, "the value of nl.store", v[1], &src))
        return false;
    if (dst->space != NKI_HBM)
        return interp_error(in, call->node, "err_unsupported_memory",
                            "nl.store writes to HBM; this is a tile in %s: assign it, or copy",
                            dst->space == NKI_PSUM ? "PSUM" : "SBUF");
    if (!legacy && src->space == NKI_PSUM)
        return interp_error(in, call->node, "err_unsupported_memory",
                            "nl.store takes a tile in SBUF, this one is in PSUM: copy it first, "
                            "with nisa.tensor_copy");
    if (tensor_count(dst) != tensor_count(src)) {
        int64_t shape[TENSOR_MAX_DIMS];
        for (int d = 0; d < dst->n_dims; d++)
            shape[d] = dst->dim[d].size;
        if (!legacy || !(src = tensor_broadcast(in, call->node, src, shape, dst->n_dims)))
            return legacy ? false
                          : interp_error(in, call->node,
                                         "err_store_dst_shape_smaller_than_other_shape",
                                         "nl.store: value has shape %s, dst has shape %s: they "
                                         "must hold the same number of elements",
                                         tensor_shape_text(in, src), tensor_shape_text(in, dst));
    }
    return api_copy(in, call->node, dst, src, mask);
}

/* dst += value in HBM: a DMA that adds. */
bool nl_atomic_rmw(struct interp *in, const struct call *call, struct value *result) {
    struct value v[4];
    const struct tensor *dst, *src;
    if (!api_bind(in, call, "dst, value, op, *, mask=None", v) ||
        !api_want_tensor(in, call->node, "dst", v[0], &dst) ||
        !api_want_tensor(in, call->node, "value", v[1], &src))
        return false;
    const struct nki_ap **aps = ARENA_ARRAY(interp_arena(in), const struct nki_ap *, 2);
    struct api_build b;
    *result = NONE_VALUE;
    if (!(aps[0] = tensor_ap(in, call->node, src, NULL)) ||
        !(aps[1] = tensor_ap(in, call->node, dst, NULL)))
        return false;
    api_start(&b, in, call->node, NKI_OP_DMA_COMPUTE);
    api_put_tensor(&b, NKI_DMA_COMPUTE_dst, dst);
    api_put(&b, NKI_DMA_COMPUTE_srcs,
            (struct nki_operand){.kind = NKI_OPERAND_APS, .n = 2, .aps = aps});
    api_put(&b, NKI_DMA_COMPUTE_reduce_op, operand_func(NKI_FUNC_ADD));
    return api_emit(&b);
}

/* The source with its two dimensions exchanged. */
static const struct tensor *exchanged(struct interp *in, const struct tensor *src) {
    struct tensor turned;
    tensor_read(&turned, src);
    turned.dim[0] = src->dim[1];
    turned.dim[1] = src->dim[0];
    for (const struct tensor_bound *old = turned.bounds; old; old = old->next) {
        struct tensor_bound *bound = arena_dup(interp_arena(in), old, sizeof *old);
        bound->at.c[0] = old->at.c[1];
        bound->at.c[1] = old->at.c[0];
        bound->next = turned.bounds == old ? NULL : turned.bounds;
        turned.bounds = bound;
    }
    return tensor_keep(in, &turned);
}

/* `size` of a tensor's positions along a dimension, from `from` on. */
static const struct tensor *part_of(struct interp *in, const struct tensor *whole, int dim,
                                    int64_t from, int64_t size) {
    struct tensor part;
    tensor_read(&part, whole);
    part.offset += from * part.dim[dim].step;
    part.dim[dim].size = size;
    return tensor_keep(in, &part);
}

/* More rows than a tile has partitions, one tile after the other. */
static bool load_rows_turned(const struct api_op *op, const struct tensor *src,
                             const struct tensor *tile) {
    int64_t rows = src->dim[0].size, columns = src->dim[1].size, n;
    for (int64_t from = 0; from < rows; from += n) {
        n = MIN_OF(rows - from, (int64_t)NKI_PARTITIONS);
        struct tensor *loaded =
            tensor_tile(op->in, op->node, NKI_SBUF, src->dtype, (int64_t[]){n, columns}, 2);
        struct tensor *turned =
            loaded && api_copy(op->in, op->node, loaded, part_of(op->in, src, 0, from, n), NULL)
                ? api_transposed(op, loaded)
                : NULL;
        if (!turned || !api_copy(op->in, op->node, part_of(op->in, tile, 1, from, n), turned, NULL))
            return false;
    }
    return true;
}

/* The DMA engine transposes elements of two bytes. fp32 is loaded as it lies and turned on the
 * Tensor engine: a batched product with nl.load_transpose2d has the same counts of instructions as
 * the one with products by the identity (kda-for-trainium). What has a mask, and other types, is
 * fetched element by element. */
static bool load_turned(const struct api_op *op, const struct tensor *src,
                        const struct index_expr *mask, struct value *result) {
    struct interp *in = op->in;
    int64_t shape[2] = {src->dim[1].size, src->dim[0].size};
    bool turns = src->dtype == DTYPE_FLOAT32 && !mask && shape[0] <= NKI_PARTITIONS;
    if (turns && shape[1] <= NKI_PARTITIONS) {
        struct tensor *loaded =
            tensor_tile(in, op->node, NKI_SBUF, src->dtype, (int64_t[]){shape[1], shape[0]}, 2);
        return loaded && api_copy(in, op->node, loaded, src, NULL) &&
               api_lower_transpose(op, loaded, result);
    }
    struct tensor *tile =
        tensor_tile(in, op->node, NKI_SBUF, op->dtype ? op->dtype : src->dtype, shape, 2);
    if (!tile)
        return false;
    if (turns) {
        if (!load_rows_turned(op, src, tile))
            return false;
    } else if (dtype_bytes(src->dtype) == 2 && tile->dtype == src->dtype && !mask) {
        struct api_build b;
        api_start(&b, in, op->node, NKI_OP_DMA_TRANSPOSE);
        api_put_tensor(&b, NKI_DMA_TRANSPOSE_dst, tile);
        api_put_tensor(&b, NKI_DMA_TRANSPOSE_src, src);
        if (!api_emit(&b))
            return false;
    } else if (!api_copy(in, op->node, tile, exchanged(in, src), mask)) {
        return false;
    }
    *result = api_produced(in, op->node, tile, mask);
    return true;
}

bool nl_load_transpose2d(struct interp *in, const struct call *call, struct value *result) {
    struct value v[3];
    const struct tensor *src;
    const struct index_expr *mask;
    struct api_op op = {.in = in, .node = call->node};
    if (!api_bind(in, call, "src, *, mask=None, dtype=None", v) ||
        !api_want_tensor(in, call->node, "the source of nl.load_transpose2d", v[0], &src) ||
        !api_want_mask(in, call->node, v[1], &mask) ||
        !api_want_dtype(in, call->node, v[2], &op.dtype))
        return false;
    if (src->indirect)
        return interp_error(in, call->node, "err_indirect_indices_are_not_supported_with_nki_api",
                            "nl.load_transpose2d takes no rows that a tile selects: load them with "
                            "nl.load, and transpose the tile");
    if (src->n_dims != 2)
        return interp_error(in, call->node, "hone-shape",
                            "nl.load_transpose2d takes two dimensions; the "
                            "source has shape %s",
                            tensor_shape_text(in, src));
    return load_turned(&op, src, mask, result);
}

/* In the legacy dialect a tile of two dimensions (nki.errors, err_exceed_max_supported_dimension).
 */
static bool takes_transpose(struct interp *in, const struct nki_node *node,
                            const struct tensor *x) {
    return x->n_dims <= 2 || interp_dialect(in) != NKI_DIALECT_LEGACY ||
           interp_error(in, node, "err_exceed_max_supported_dimension",
                        "nl.transpose takes two dimensions; x has shape %s",
                        tensor_shape_text(in, x));
}

bool nl_transpose(struct interp *in, const struct call *call, struct value *result) {
    struct value v[3];
    struct api_op op = {.in = in, .node = call->node};
    const struct tensor *x;
    return api_bind(in, call, "x, dtype=None, mask=None", v) &&
           api_want_tensor(in, call->node, "x", v[0], &x) &&
           api_want_dtype(in, call->node, v[1], &op.dtype) &&
           api_want_mask(in, call->node, v[2], &op.mask) && takes_transpose(in, call->node, x) &&
           api_lower_transpose(&op, x, result);
}

bool nl_expand_dims(struct interp *in, const struct call *call, struct value *result) {
    struct value v[2];
    const struct tensor *x;
    int64_t axis, shape[TENSOR_MAX_DIMS + 1];
    if (!api_bind(in, call, "data, axis", v) ||
        !api_want_tensor(in, call->node, "data", v[0], &x) ||
        !api_want_int(in, call->node, "axis", v[1], &axis))
        return false;
    if (axis < 0)
        axis += x->n_dims + 1;
    if (axis < 0 || axis > x->n_dims || x->n_dims == TENSOR_MAX_DIMS)
        return interp_error(in, call->node, "hone-axis",
                            "axis is out of range for a tensor of shape %s",
                            tensor_shape_text(in, x));
    for (int d = 0; d < axis; d++)
        shape[d] = x->dim[d].size;
    shape[axis] = 1;
    for (int d = (int)axis; d < x->n_dims; d++)
        shape[d + 1] = x->dim[d].size;
    struct tensor *view = tensor_reshape(in, call->node, x, shape, x->n_dims + 1);
    *result = value_tensor(view);
    return view != NULL;
}

/* A broadcast over partitions is made at once, because the tile may change before the broadcast is
 * used. In the current dialect every broadcast is a new tile. */
bool nl_broadcast_to(struct interp *in, const struct call *call, struct value *result) {
    struct value v[3];
    const struct tensor *x;
    enum dtype dtype;
    int64_t shape[TENSOR_MAX_DIMS];
    int n;
    if (!api_bind(in, call, "src, shape, dtype=None", v) ||
        !api_want_tensor(in, call->node, "src", v[0], &x) ||
        !tensor_read_shape(in, call->node, v[1], shape, &n) ||
        !api_want_dtype(in, call->node, v[2], &dtype))
        return false;
    const struct tensor *view = tensor_broadcast(in, call->node, x, shape, n);
    if (view && interp_dialect(in) != NKI_DIALECT_LEGACY && x->space != NKI_HBM) {
        struct tensor *tile =
            tensor_tile(in, call->node, NKI_SBUF, dtype ? dtype : x->dtype, shape, n);
        bool ok = tile && (view = api_operand(in, call->node, view)) &&
                  api_copy(in, call->node, tile, view, NULL);
        *result = value_tensor(tile);
        return ok;
    }
    if (!view || !(view = api_operand(in, call->node, view)))
        return false;
    *result = value_tensor(view);
    return true;
}

bool nl_gather_flattened(struct interp *in, const struct call *call, struct value *result) {
    struct value v[5];
    const struct tensor *data, *indices;
    enum dtype dtype;
    if (!api_bind(in, call, "data, indices, axis=0, dtype=None, mask=None", v) ||
        !api_want_tensor(in, call->node, "data", v[0], &data) ||
        !api_want_tensor(in, call->node, "indices", v[1], &indices) ||
        !api_want_dtype(in, call->node, v[3], &dtype))
        return false;
    struct tensor *dst =
        api_tile_like(in, call->node, indices, NKI_SBUF, dtype ? dtype : data->dtype);
    struct api_build b;
    if (!dst)
        return false;
    api_start(&b, in, call->node, NKI_OP_NC_N_GATHER);
    api_put_tensor(&b, NKI_NC_N_GATHER_dst, dst);
    api_put_tensor(&b, NKI_NC_N_GATHER_data, data);
    api_put_tensor(&b, NKI_NC_N_GATHER_indices, indices);
    if (!api_emit(&b))
        return false;
    *result = api_produced(in, call->node, dst, NULL);
    return true;
}

/* nl.ds(start, size): the slice start : start + size. */
bool nl_ds(struct interp *in, const struct call *call, struct value *result) {
    struct value v[2];
    int64_t size, start;
    if (!api_bind(in, call, "start, size", v) ||
        !api_want_int(in, call->node, "the size of nl.ds", v[1], &size))
        return false;
    if (v[0].kind == VALUE_INDEX && v[0].index->n_dims == 0)
        v[0] = value_int(v[0].index->at.c0);
    if (!api_known(in, v[0], &start) &&
        !api_want_int(in, call->node, "the start of nl.ds", v[0], &start))
        return false;
    struct value_slice *slice = ARENA_NEW(interp_arena(in), struct value_slice);
    *slice = (struct value_slice){value_int(start), value_int(start + size), NONE_VALUE};
    *result = (struct value){.kind = VALUE_SLICE, .slice = slice};
    return true;
}

bool nl_arange(struct interp *in, const struct call *call, struct value *result) {
    struct value v[3];
    int64_t start = 0, stop, step = 1;
    if (interp_dialect(in) != NKI_DIALECT_LEGACY)
        return interp_error(in, call->node, "hone-removed-name",
                            "nl.arange does not exist any more: index with "
                            "slices, nl.ds or .ap()");
    if (!api_bind(in, call, "start, stop=None, step=None", v) ||
        !api_want_int(in, call->node, "nl.arange", v[v[1].kind != VALUE_NONE], &stop) ||
        (v[1].kind != VALUE_NONE && !api_want_int(in, call->node, "nl.arange", v[0], &start)) ||
        (v[2].kind != VALUE_NONE && !api_want_int(in, call->node, "nl.arange", v[2], &step)))
        return false;
    int64_t count = step > 0 ? (stop - start + step - 1) / step : 0;
    if (step < 1 || count < 1 || stop > INDEX_MAX_NUMBER || start < -INDEX_MAX_NUMBER)
        return interp_error(in, call->node, "hone-index",
                            "nl.arange(%lld, %lld, %lld) is empty or too large", (long long)start,
                            (long long)stop, (long long)step);
    *result = index_arange(in, start, count, step);
    return true;
}

/* nl.static_cast(x, dtype) and tile.astype(dtype). */
bool nl_cast(struct interp *in, const struct call *call, struct value *result) {
    struct value v[3];
    struct api_op op = {.in = in, .node = call->node, .func = NKI_FUNC_COPY};
    return api_bind(in, call, "x, dtype, mask=None", v) &&
           api_want_dtype(in, call->node, v[1], &op.dtype) &&
           api_want_mask(in, call->node, v[2], &op.mask) && api_lower_unary(&op, v[0], result);
}
