/* SPDX-License-Identifier: Apache-2.0 */
/* Indexing tensors: integers, slices, nl.ds, ellipsis and None in both dialects, affine index
 * expressions and index tiles in the legacy one. Every axis of the tensor becomes an affine
 * function of the positions in the result. Steps and offsets follow from these functions. */
#include "nki/api/api.h"

/* How far an index may reach outside a tensor while a mask can still take it away. */
#define SLACK ((int64_t)1 << 20)

struct getitem {
    struct interp *in;
    const struct nki_node *node;
    const struct tensor *from;
    struct value part[TENSOR_MAX_DIMS * 2]; /* key without ellipsis: Nones, and one per axis */
    int n_parts;
    struct tensor_affine axis[TENSOR_MAX_DIMS]; /* over the dimensions of the result */
    bool defers[TENSOR_MAX_DIMS];               /* a mask may still forbid what is outside */
    struct tensor out;
};

static bool legacy(const struct getitem *g) {
    return interp_dialect(g->in) == NKI_DIALECT_LEGACY;
}

static bool is_full(struct value part) {
    return part.kind == VALUE_SLICE && part.slice->start.kind == VALUE_NONE &&
           part.slice->stop.kind == VALUE_NONE && part.slice->step.kind == VALUE_NONE;
}

/* A range, such as nl.affine_range, selects what a slice of the same numbers does. */
static struct value range_as_slice(const struct getitem *g, struct value part) {
    if (part.kind != VALUE_RANGE)
        return part;
    struct value_slice *slice = ARENA_NEW(interp_scratch(g->in), struct value_slice);
    *slice = (struct value_slice){.start = value_int(part.range->start),
                                  .stop = value_int(part.range->stop),
                                  .step = value_int(part.range->step)};
    return (struct value){.kind = VALUE_SLICE, .slice = slice};
}

/* Spreads the key over the axes. The ellipsis and what is left out become full slices. */
static bool split_key(struct getitem *g, struct value key, struct value_slice *full) {
    const struct value *items = &key;
    size_t n = 1;
    if (key.kind == VALUE_TUPLE) {
        items = key.seq->items.at;
        n = key.seq->items.len;
    }
    int named = 0, ellipses = 0, fresh = 0;
    for (size_t i = 0; i < n; i++) {
        ellipses += items[i].kind == VALUE_ELLIPSIS;
        fresh += items[i].kind == VALUE_NONE;
    }
    named = (int)n - ellipses - fresh;
    if (named > g->from->n_dims)
        return interp_error(g->in, g->node, "hone-index",
                            "too many indices: %d for a tensor of shape %s", named,
                            tensor_shape_text(g->in, g->from));
    if (ellipses > 1 || fresh > TENSOR_MAX_DIMS)
        return interp_error(g->in, g->node, "hone-index",
                            "an index has at most one ellipsis and %d new "
                            "axes",
                            TENSOR_MAX_DIMS);
    struct value whole = {.kind = VALUE_SLICE, .slice = full};
    int fill = g->from->n_dims - named;
    for (size_t i = 0; i < n; i++) {
        if (items[i].kind != VALUE_ELLIPSIS) {
            g->part[g->n_parts++] = range_as_slice(g, items[i]);
            continue;
        }
        for (; fill > 0; fill--)
            g->part[g->n_parts++] = whole;
    }
    for (; fill > 0; fill--)
        g->part[g->n_parts++] = whole;
    return true;
}

static bool only_device_knows(struct getitem *g) {
    return interp_error(g->in, g->node, "hone-dynamic",
                        "only the device knows this index: give it as .ap(pattern, "
                        "scalar_offset=index, indirect_dim=0) or t.select(dim, index)");
}

static bool slice_number(struct getitem *g, struct value v, int64_t missing, int64_t *number) {
    *number = missing;
    if (v.kind == VALUE_NONE)
        return true;
    if (v.kind == VALUE_FLOAT && v.f == (double)(int64_t)v.f)
        *number = (int64_t)v.f;
    else if (v.kind == VALUE_REGISTER && !api_known(g->in, v, number))
        return only_device_knows(g);
    else if (!api_known(g->in, v, number))
        return interp_error(g->in, g->node, "hone-argument",
                            "a slice of a tensor needs integers; found %s", value_type_name(v));
    if (*number > TENSOR_MAX_ELEMENTS || *number < -TENSOR_MAX_ELEMENTS)
        return interp_error(g->in, g->node, "err_tensor_access_out_of_bound",
                            "a slice reaches to %lld, which is far outside any tensor",
                            (long long)*number);
    return true;
}

static bool outside(struct getitem *g, int axis, int64_t low, int64_t high) {
    return interp_error(g->in, g->node, "err_tensor_access_out_of_bound",
                        "index out of range: dimension %d is read at %lld to %lld, but its size "
                        "is %lld (shape %s)",
                        axis, (long long)low, (long long)high, (long long)g->from->dim[axis].size,
                        tensor_shape_text(g->in, g->from));
}

static bool new_dim(struct getitem *g, int64_t size) {
    if (g->out.n_dims == TENSOR_MAX_DIMS)
        return interp_error(g->in, g->node, "err_exceed_max_supported_dimension",
                            "a tensor has at most %d dimensions", TENSOR_MAX_DIMS);
    g->out.dim[g->out.n_dims++] = (struct tensor_dim){.size = size};
    return true;
}

static bool take_slice(struct getitem *g, const struct value_slice *slice, int axis) {
    int64_t size = g->from->dim[axis].size, start, stop, step;
    if (!slice_number(g, slice->start, 0, &start) || !slice_number(g, slice->stop, size, &stop) ||
        !slice_number(g, slice->step, 1, &step))
        return false;
    if (step < 1)
        return interp_error(g->in, g->node, "hone-index",
                            "slice step is %lld: it must be 1 or more", (long long)step);
    if (start < 0)
        start += size;
    if (stop < 0)
        stop += size;
    if (start < 0 || stop <= start)
        return interp_error(g->in, g->node, "hone-index",
                            "the slice %lld:%lld of dimension %d (size %lld) "
                            "is empty",
                            (long long)start, (long long)stop, axis, (long long)size);
    int64_t count = (stop - start + step - 1) / step;
    if (stop > size && !legacy(g))
        return outside(g, axis, start, stop - 1);
    g->defers[axis] = stop > size;
    if (!new_dim(g, count))
        return false;
    struct tensor_dim *dim = &g->out.dim[g->out.n_dims - 1];
    dim->part = g->from->dim[axis].part;
    g->axis[axis] = (struct tensor_affine){.c0 = start};
    g->axis[axis].c[g->out.n_dims - 1] = step;
    return true;
}

static bool take_int(struct getitem *g, int64_t index, int axis, bool keep) {
    int64_t size = g->from->dim[axis].size, at = index < 0 ? index + size : index;
    g->axis[axis] = (struct tensor_affine){.c0 = at};
    if (at < 0 || (at >= size && !legacy(g)))
        return outside(g, axis, index, index);
    g->defers[axis] = at >= size;
    if (keep) {
        if (!new_dim(g, 1))
            return false;
        g->out.dim[g->out.n_dims - 1].part = g->from->dim[axis].part;
        g->axis[axis].c[g->out.n_dims - 1] = 1;
    }
    return true;
}

/* An integer drops its axis, with two exceptions: the partition stays, and a tile keeps two
 * dimensions (a tensor in HBM one). For the second, the last integers keep their axes. */
static void choose_kept(const struct getitem *g, bool *keep) {
    bool chip = g->from->space != NKI_HBM;
    int dims = 0, axis = 0;
    for (int i = 0; i < g->n_parts; i++) {
        bool none = g->part[i].kind == VALUE_NONE;
        keep[i] = none || g->part[i].kind == VALUE_SLICE || (chip && g->from->dim[axis].part);
        dims += keep[i];
        axis += !none;
    }
    for (int i = g->n_parts - 1; i >= 0 && dims < (chip ? 2 : 1); i--)
        if (!keep[i]) {
            keep[i] = true;
            dims++;
        }
}

/* The number of a tile of one number, where slices say the rest: an integer that only the device
 * knows. */
static bool take_dynamic(struct getitem *g, const struct tensor *tile, int axis, bool keep) {
    struct nki_indirect *indirect = ARENA_NEW(interp_arena(g->in), struct nki_indirect);
    if (g->out.indirect || g->from->space != NKI_HBM)
        return interp_error(g->in, g->node, "err_indirect_indices_free_dim",
                            "a tile of one number selects a row of one dimension of a tensor in "
                            "HBM");
    *indirect = (struct nki_indirect){.index = tensor_ap(g->in, g->node, tile, NULL),
                                      .reg = -1,
                                      .step = g->from->dim[axis].step,
                                      .limit = g->from->dim[axis].size};
    g->out.indirect = indirect;
    return indirect->index && (!keep || new_dim(g, 1));
}

static bool index_basic(struct getitem *g) {
    bool keep[TENSOR_MAX_DIMS * 2];
    choose_kept(g, keep);
    int axis = 0;
    for (int i = 0; i < g->n_parts; i++) {
        struct value part = g->part[i];
        int64_t known;
        bool ok;
        if (part.kind == VALUE_REGISTER && !api_known(g->in, part, &known))
            return only_device_knows(g);
        if (part.kind == VALUE_REGISTER)
            part = value_int(known);
        if (part.kind == VALUE_NONE)
            ok = new_dim(g, 1), axis--;
        else if (part.kind == VALUE_SLICE)
            ok = take_slice(g, part.slice, axis);
        else if (part.kind == VALUE_INT || part.kind == VALUE_BOOL)
            ok = take_int(g, part.kind == VALUE_INT ? part.i : part.b, axis, keep[i]);
        else if (part.kind == VALUE_TENSOR)
            ok = take_dynamic(g, part.tensor, axis, keep[i]);
        else if (part.kind == VALUE_FLOAT && part.f == (double)(int64_t)part.f)
            ok = take_int(g, (int64_t)part.f, axis, keep[i]);
        else
            return interp_error(g->in, g->node, "hone-index", "a tensor cannot be indexed with %s",
                                value_type_name(part));
        if (!ok)
            return false;
        axis++;
    }
    return true;
}

/* An index tile holds row numbers that only the device knows. */
static bool take_tile(struct getitem *g, const struct tensor *tile, int axis) {
    if (g->out.indirect || g->from->space != NKI_HBM)
        return interp_error(g->in, g->node, "err_indirect_indices_free_dim",
                            "an index tile selects rows of one dimension of a tensor in HBM");
    const struct nki_ap *ap = tensor_ap(g->in, g->node, tile, NULL);
    if (!ap)
        return false;
    struct nki_indirect *indirect = ARENA_NEW(interp_arena(g->in), struct nki_indirect);
    *indirect = (struct nki_indirect){.vector = true,
                                      .index = ap,
                                      .reg = -1,
                                      .step = g->from->dim[axis].step,
                                      .limit = g->from->dim[axis].size};
    g->out.indirect = indirect;
    g->out.indirect_dim = 0;
    return true;
}

/* An index with a tile of one number added to it. */
static bool take_number(struct getitem *g, const struct tensor *tile, int axis) {
    if (g->out.indirect || g->from->space == NKI_HBM || g->from->dim[axis].part)
        return interp_error(g->in, g->node, "err_indirect_indices_free_dim",
                            "a tile of one number is added to the index of one free dimension of a "
                            "tile");
    struct nki_indirect *indirect = ARENA_NEW(interp_arena(g->in), struct nki_indirect);
    *indirect = (struct nki_indirect){.index = tensor_ap(g->in, g->node, tile, NULL),
                                      .reg = -1,
                                      .step = g->from->dim[axis].step,
                                      .limit = g->from->dim[axis].size};
    g->out.indirect = indirect;
    return indirect->index != NULL;
}

/* An index tile [P, 1] gives the result its first dimension. */
static bool join_tiles(struct getitem *g, struct index_expr *joined) {
    for (int i = 0; i < g->n_parts; i++) {
        if (g->part[i].kind != VALUE_TENSOR)
            continue;
        const struct tensor *tile = g->part[i].tensor;
        int64_t n = tensor_partitions(tile);
        if (joined->n_dims == 0) {
            joined->n_dims = 2;
            joined->size[0] = joined->size[1] = 1;
        }
        if (tensor_free(tile) != 1 || (joined->size[0] != 1 && joined->size[0] != n))
            return interp_error(g->in, g->node, "hone-index",
                                "an index tile of shape %s does not fit: it "
                                "holds one row number for each partition of the result",
                                tensor_shape_text(g->in, tile));
        joined->size[0] = n;
    }
    return true;
}

/* The joined shape of all index arrays becomes the shape of the result. */
static bool join_shapes(struct getitem *g, struct index_expr *joined) {
    *joined = (struct index_expr){0};
    for (int i = 0; i < g->n_parts; i++) {
        struct index_expr shape = {0}, next = {0};
        if (g->part[i].kind == VALUE_INDEX) {
            index_read(&shape, g->part[i].index);
        } else {
            continue;
        }
        if (shape.n_dims < 2 && g->part[i].kind == VALUE_INDEX && g->from->space != NKI_HBM)
            return interp_error(g->in, g->node, "err_1d_arange_not_supported",
                                "a 1-D index expression cannot index a tile: add an axis, as in "
                                "nl.arange(n)[:, None]");
        if (!index_broadcast(joined, &shape, &next))
            return interp_error(g->in, g->node, "hone-shape",
                                "the index expressions cannot be broadcast to "
                                "one shape: sizes must be equal or 1");
        *joined = next;
    }
    return join_tiles(g, joined);
}

/* Rows are gathered by partition or block: no other dimension of the tensor may go with the
 * partitions where an index tile says the place (nki.errors, err_indirect_indices_free_dim). */
static bool is_gather_of_rows(const struct getitem *g) {
    bool tile = false, beside = false;
    for (int axis = 0; axis < g->n_parts; axis++) {
        tile |= g->part[axis].kind == VALUE_TENSOR;
        beside |= g->part[axis].kind == VALUE_INDEX && g->axis[axis].c[0] != 0;
    }
    return !tile || !beside || g->out.dim[0].size == 1 || g->from->space != NKI_HBM ||
           interp_error(g->in, g->node, "err_indirect_indices_free_dim",
                        "an index tile selects an element of each row: it selects whole rows, by "
                        "the dimension that becomes the partitions");
}

static bool index_advanced(struct getitem *g) {
    struct index_expr joined;
    if (!join_shapes(g, &joined))
        return false;
    for (int d = 0; d < joined.n_dims; d++)
        g->out.dim[g->out.n_dims++] = (struct tensor_dim){.size = joined.size[d]};
    for (int axis = 0; axis < g->n_parts; axis++) {
        struct value part = g->part[axis];
        bool whole = part.kind == VALUE_SLICE && is_full(part) && g->from->dim[axis].size == 1;
        if (part.kind == VALUE_INDEX) {
            struct index_affine at =
                index_align(&part.index->at, part.index->n_dims, joined.n_dims);
            g->axis[axis].c0 = at.c0;
            memcpy(g->axis[axis].c, at.c, sizeof at.c);
            g->defers[axis] = true;
            if (part.index->plus && !take_number(g, part.index->plus, axis))
                return false;
        } else if (part.kind == VALUE_TENSOR) {
            if (!take_tile(g, part.tensor, axis))
                return false;
        } else if (part.kind == VALUE_INT) {
            if (!take_int(g, part.i, axis, false))
                return false;
        } else if (!whole) {
            return interp_error(g->in, g->node,
                                "err_unsupported_mixing_basic_advanced_tensor_indexing",
                                "slices and index expressions cannot be mixed: give every "
                                "dimension an index expression or an integer");
        }
    }
    return !legacy(g) || is_gather_of_rows(g);
}

/* What reaches outside becomes a bound, which a mask may take away. Bounds of the indexed tensor
 * are kept. */
static bool make_bounds(struct getitem *g) {
    struct arena *arena = interp_scratch(g->in);
    for (int axis = 0; axis < g->from->n_dims; axis++) {
        if (!g->defers[axis])
            continue;
        int64_t low = g->axis[axis].c0, high = low;
        for (int d = 0; d < g->out.n_dims; d++) {
            int64_t reach = g->axis[axis].c[d] * (g->out.dim[d].size - 1);
            low += MIN_OF(reach, 0);
            high += MAX_OF(reach, 0);
        }
        if (low >= 0 && high < g->from->dim[axis].size)
            continue;
        if (low < -SLACK || high > g->from->dim[axis].size + SLACK)
            return outside(g, axis, low, high);
        struct tensor_bound *bound = ARENA_NEW(arena, struct tensor_bound);
        *bound = (struct tensor_bound){.next = g->out.bounds,
                                       .at = g->axis[axis],
                                       .limit = g->from->dim[axis].size,
                                       .axis = axis};
        g->out.bounds = bound;
    }
    for (const struct tensor_bound *old = g->from->bounds; old; old = old->next) {
        struct tensor_bound *bound = ARENA_NEW(arena, struct tensor_bound);
        *bound = (struct tensor_bound){.next = g->out.bounds,
                                       .limit = old->limit,
                                       .axis = old->axis,
                                       .at = {.c0 = old->at.c0}};
        for (int axis = 0; axis < g->from->n_dims; axis++) {
            bound->at.c0 += old->at.c[axis] * g->axis[axis].c0;
            for (int d = 0; d < g->out.n_dims; d++)
                bound->at.c[d] += old->at.c[axis] * g->axis[axis].c[d];
        }
        g->out.bounds = bound;
    }
    return true;
}

static bool make_steps(struct getitem *g) {
    bool has_part = false;
    int64_t part_step[TENSOR_MAX_DIMS] = {0};
    for (int axis = 0; axis < g->from->n_dims; axis++) {
        const struct tensor_dim *from = &g->from->dim[axis];
        *(from->part ? &g->out.partition : &g->out.offset) += from->step * g->axis[axis].c0;
        for (int d = 0; d < g->out.n_dims; d++)
            *(from->part ? &part_step[d] : &g->out.dim[d].step) += from->step * g->axis[axis].c[d];
    }
    for (int d = 0; d < g->out.n_dims; d++) {
        struct tensor_dim *dim = &g->out.dim[d];
        if (part_step[d] && dim->step && dim->size > 1)
            return interp_error(g->in, g->node, "hone-index",
                                "dimension %d of the index runs along the "
                                "partitions and along the free dimensions at once",
                                d);
        if (part_step[d]) {
            dim->part = true;
            dim->step = part_step[d];
        }
        has_part |= dim->part;
    }
    if (g->out.space != NKI_HBM && !has_part && g->out.dim[0].size == 1 && !g->out.dim[0].step)
        g->out.dim[0].part = true;
    return true;
}

static bool is_one_number(const struct getitem *g, struct value part) {
    return part.kind == VALUE_TENSOR && legacy(g) && tensor_partitions(part.tensor) == 1 &&
           tensor_free(part.tensor) == 1;
}

/* Index expressions go with integers and tiles of row numbers. In the older dialect a single number
 * on the device goes with slices, too, as an integer: published kernels use t[tile[0, 0], :, :]. */
static bool is_advanced(const struct getitem *g) {
    bool expressions = false, tiles = false, slices = false;
    for (int i = 0, axis = 0; i < g->n_parts; i++) {
        struct value part = g->part[i];
        bool one = is_one_number(g, part);
        expressions |= part.kind == VALUE_INDEX || (part.kind == VALUE_TENSOR && !one);
        tiles |= one;
        slices |= part.kind == VALUE_SLICE && (!is_full(part) || g->from->dim[axis].size > 1);
        axis += part.kind != VALUE_NONE;
    }
    return expressions || (tiles && !slices);
}

bool tensor_getitem(struct interp *in, const struct nki_node *node, const struct tensor *tensor,
                    struct value key, struct tensor **result) {
    struct getitem g; /* it is large, so only what is used is cleared */
    struct value_slice full = {0};
    if (key.kind == VALUE_ELLIPSIS) {
        struct tensor whole;
        tensor_read(&whole, tensor);
        *result = tensor_keep(in, &whole);
        return true;
    }
    if (!tensor_is_whole(in, node, tensor))
        return false;
    g.in = in;
    g.node = node;
    g.from = tensor;
    g.n_parts = 0;
    memset(g.axis, 0, tensor->n_dims * sizeof g.axis[0]);
    memset(g.defers, 0, sizeof g.defers);
    tensor_read(&g.out, tensor);
    g.out.n_dims = 0;
    g.out.bounds = NULL;
    if (!split_key(&g, key, &full))
        return false;
    bool advanced = is_advanced(&g);
    if (advanced && g.n_parts != tensor->n_dims)
        return interp_error(in, node, "err_unsupported_mixing_basic_advanced_tensor_indexing",
                            "None cannot be mixed with index expressions in the index of a "
                            "tensor");
    if (!(advanced ? index_advanced(&g) : index_basic(&g)) || !make_bounds(&g) || !make_steps(&g))
        return false;
    *result = tensor_keep(in, &g.out);
    return true;
}
