/* SPDX-License-Identifier: Apache-2.0 */
/* Views derived from a view without moving data: reshape, broadcast, reinterpretation. The methods
 * that kernels call are in tensor_method.c. */
#include "nki/api/tensor.h"

/* ---- reshape -------------------------------------------------------------------------------- */

struct reshape {
    struct tensor_dim old[TENSOR_MAX_DIMS]; /* without those of size 1 */
    int n_old;
    struct tensor *out;
};

/* Splits old dimensions [o0, o1), which are contiguous, into new ones [n0, n1). */
static bool split_group(struct reshape *r, int o0, int o1, int n0, int n1) {
    for (int o = o0; o + 1 < o1; o++) {
        const struct tensor_dim *a = &r->old[o], *b = &r->old[o + 1];
        if (a->part != b->part || a->step != b->step * b->size)
            return false;
    }
    int64_t step = r->old[o1 - 1].step;
    for (int n = n1 - 1; n >= n0; n--) {
        r->out->dim[n].step = step;
        r->out->dim[n].part = r->old[o1 - 1].part;
        step *= r->out->dim[n].size;
    }
    return true;
}

/* Pairs groups of old and new dimensions with equal products, as numpy does for a reshape without a
 * copy. */
static bool split_dims(struct reshape *r) {
    int o = 0, n = 0;
    while (o < r->n_old) {
        int o0 = o, n0 = n;
        int64_t old = r->old[o++].size, new = n < r->out->n_dims ? r->out->dim[n++].size : 1;
        while (old != new) {
            if (old < new &&o < r->n_old)
                old *= r->old[o++].size;
            else if (n < r->out->n_dims)
                new *= r->out->dim[n++].size;
            else
                return false;
        }
        if (!split_group(r, o0, o, n0, n))
            return false;
    }
    return true;
}

static bool resolve_shape(struct interp *in, const struct nki_node *node,
                          const struct tensor *tensor, const int64_t *shape, struct tensor *out) {
    int64_t count = tensor_count(tensor), known = 1;
    int hole = -1;
    for (int d = 0; d < out->n_dims; d++) {
        out->dim[d] = (struct tensor_dim){.size = shape[d]};
        if (shape[d] == -1 && hole < 0)
            hole = d;
        else if (shape[d] < 1 || shape[d] > count || known > count)
            known = -1;
        else
            known *= shape[d];
    }
    if (hole >= 0 && known > 0 && count % known == 0)
        out->dim[hole].size = count / known;
    else if (known != count)
        return interp_error(in, node, "",
                            "reshape of %s needs %lld elements; the new shape has "
                            "another number",
                            tensor_shape_text(in, tensor), (long long)count);
    return true;
}

struct tensor *tensor_reshape(struct interp *in, const struct nki_node *node,
                              const struct tensor *tensor, const int64_t *shape, int n_dims) {
    struct tensor out;
    tensor_read(&out, tensor);
    out.n_dims = (uint8_t)n_dims;
    if (!resolve_shape(in, node, tensor, shape, &out))
        return NULL;
    struct reshape r = {.out = &out};
    bool has_part = false;
    for (int d = 0; d < tensor->n_dims; d++)
        if (tensor->dim[d].size != 1)
            r.old[r.n_old++] = tensor->dim[d];
    if (!split_dims(&r) || out.bounds) {
        interp_error(in, node, "hone-reshape",
                     "a view of shape %s with gaps cannot be reshaped in place: "
                     "copy it first",
                     tensor_shape_text(in, tensor));
        return NULL;
    }
    for (int d = 0; d < n_dims; d++)
        has_part |= out.dim[d].part;
    if (out.space != NKI_HBM && !has_part && out.dim[0].size == 1)
        out.dim[0].part = true;
    return tensor_keep(in, &out);
}

/* ---- broadcast ------------------------------------------------------------------------------ */

struct tensor *tensor_broadcast(struct interp *in, const struct nki_node *node,
                                const struct tensor *tensor, const int64_t *shape, int n_dims) {
    struct tensor out;
    tensor_read(&out, tensor);
    int shift = n_dims - tensor->n_dims;
    bool fits = shift >= 0 && n_dims <= TENSOR_MAX_DIMS;
    for (int d = 0; fits && d < tensor->n_dims; d++)
        fits = tensor->dim[d].size == shape[d + shift] || tensor->dim[d].size == 1;
    if (!fits) {
        interp_error(in, node, "hone-shape",
                     "shape %s cannot be broadcast to the shape asked for: sizes "
                     "must be equal or 1",
                     tensor_shape_text(in, tensor));
        return NULL;
    }
    int64_t count = 1;
    for (int d = 0; d < n_dims; d++) {
        if (shape[d] < 1 || shape[d] > TENSOR_MAX_ELEMENTS / count) {
            interp_error(in, node, "hone-shape",
                         "the shape to broadcast to is empty or far too large");
            return NULL;
        }
        count *= shape[d];
    }
    out.n_dims = (uint8_t)n_dims;
    for (int d = 0; d < n_dims; d++) {
        struct tensor_dim dim = {.size = 1};
        if (d >= shift)
            dim = tensor->dim[d - shift];
        if (dim.size != shape[d])
            dim.step = 0;
        dim.size = shape[d];
        out.dim[d] = dim;
    }
    out.bounds = NULL;
    for (const struct tensor_bound *old = tensor->bounds; old; old = old->next) {
        struct tensor_bound *bound = arena_dup(interp_scratch(in), old, sizeof *old);
        memset(bound->at.c, 0, sizeof bound->at.c);
        for (int d = 0; d < tensor->n_dims; d++)
            bound->at.c[d + shift] = tensor->dim[d].size == 1 ? 0 : old->at.c[d];
        bound->next = out.bounds;
        out.bounds = bound;
    }
    return tensor_keep(in, &out);
}

/* ---- reinterpretation ----------------------------------------------------------------------- */

/* Multiplies the offset and every step within a partition by `by`, and divides them by `per`. */
static bool scale_steps(struct tensor *t, int64_t by, int64_t per) {
    for (int d = 0; d < t->n_dims - 1; d++) {
        if (t->dim[d].part)
            continue;
        if (t->dim[d].step * by % per)
            return false;
        t->dim[d].step = t->dim[d].step * by / per;
    }
    if (t->offset * by % per)
        return false;
    t->offset = t->offset * by / per;
    return true;
}

struct tensor *tensor_cast_view(struct interp *in, const struct nki_node *node,
                                const struct tensor *tensor, enum dtype dtype) {
    struct tensor out;
    if (dtype == DTYPE_NONE) {
        interp_error(in, node, "", "the dtype to read a tensor as is missing; found None");
        return NULL;
    }
    tensor_read(&out, tensor);
    int64_t from = (int64_t)dtype_bytes(tensor->dtype), to = (int64_t)dtype_bytes(dtype);
    struct tensor_dim *last = &out.dim[out.n_dims - 1];
    if (from != to) {
        bool ok = (last->step == 1 || last->size == 1) && !last->part &&
                  last->size * from % to == 0 && scale_steps(&out, from, to);
        if (!ok) {
            interp_error(in, node, "hone-reshape",
                         "a view of shape %s and dtype %s cannot be read as %s: the "
                         "last dimension must be contiguous and a multiple of the new size",
                         tensor_shape_text(in, tensor), dtype_name(tensor->dtype),
                         dtype_name(dtype));
            return NULL;
        }
        last->size = last->size * from / to;
        last->step = 1;
    }
    out.dtype = dtype;
    return tensor_keep(in, &out);
}
