/* SPDX-License-Identifier: Apache-2.0 */
/* Views derived from a view without moving data: reshape, broadcast, reinterpretation,
 * rearrange. The other methods that kernels call are in tensor_method.c. */
#include "nki/api/api.h"

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
        return interp_error(in, node, "hone-reshape",
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
                     tensor->space == NKI_HBM
                         ? "a view of shape %s with gaps cannot be reshaped in place: copy it first"
                         : "a tile of shape %s cannot be reshaped so: partitions stay what they "
                           "are, and elements with gaps between them apart; copy it first",
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
        interp_error(in, node, "hone-argument",
                     "the dtype to read a tensor as is missing; found None");
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

/* ---- t.rearrange(src, dst, fixed_sizes): splits, reorders and joins dimensions by name --------
 */

#define MAX_NAMES TENSOR_MAX_DIMS

struct names {
    int n;
    struct str name[MAX_NAMES];
    int64_t size[MAX_NAMES];
};

static bool add_name(struct interp *in, const struct nki_node *node, struct value v,
                     struct names *names) {
    if (v.kind != VALUE_STR || names->n == MAX_NAMES)
        return interp_error(in, node, "hone-reshape", "rearrange takes tuples of at most %d names",
                            MAX_NAMES);
    names->name[names->n++] = (struct str){v.str->at, v.str->len};
    return true;
}

static int find_name(const struct names *names, struct str name) {
    for (int i = 0; i < names->n; i++)
        if (str_equal(names->name[i], name))
            return i;
    return -1;
}

static bool is_group(struct value v) {
    return v.kind == VALUE_TUPLE || v.kind == VALUE_LIST;
}

static void fix_sizes(struct value fixed, struct names *names, int from) {
    for (int k = from; k < names->n; k++) {
        names->size[k] = 0;
        for (size_t i = 0; fixed.kind == VALUE_DICT && i < fixed.dict->pairs.len; i++) {
            const struct value_pair *pair = &fixed.dict->pairs.at[i];
            if (pair->key.kind == VALUE_STR && pair->value.kind == VALUE_INT &&
                str_equal((struct str){pair->key.str->at, pair->key.str->len}, names->name[k]))
                names->size[k] = pair->value.i;
        }
    }
}

/* The names that one source dimension splits into, with their sizes. One size may be missing: it is
 * what remains. */
static bool split_dim(struct interp *in, const struct nki_node *node, int64_t size, int from,
                      struct names *names) {
    int64_t known = 1;
    int hole = -1;
    for (int k = from; k < names->n; k++) {
        if (names->size[k])
            known *= names->size[k];
        else if (hole < 0)
            hole = k;
        else
            known = 0;
    }
    if (known <= 0 || size % known || (hole < 0 && known != size))
        return interp_error(in, node, "hone-reshape",
                            "rearrange: the sizes of a dimension of %lld elements "
                            "are not determined by fixed_sizes",
                            (long long)size);
    if (hole >= 0)
        names->size[hole] = size / known;
    return true;
}

static bool read_source(struct interp *in, const struct nki_node *node, const struct tensor *t,
                        const struct value *v, struct names *names) {
    const struct value_seq *src = is_group(v[0]) ? v[0].seq : NULL;
    if (!src || src->items.len != t->n_dims)
        return interp_error(in, node, "hone-reshape",
                            "rearrange: src names %d dimensions of shape %s", t->n_dims,
                            tensor_shape_text(in, t));
    for (size_t d = 0; d < src->items.len; d++) {
        int from = names->n;
        struct value item = src->items.at[d];
        for (size_t i = 0; i < (is_group(item) ? item.seq->items.len : 1); i++)
            if (!add_name(in, node, is_group(item) ? item.seq->items.at[i] : item, names))
                return false;
        fix_sizes(v[2], names, from);
        if (!split_dim(in, node, t->dim[d].size, from, names))
            return false;
    }
    return true;
}

/* Appends the dimension of each name of dst. joined[] says how many of them become one. */
static bool reorder(struct interp *in, const struct nki_node *node, const struct tensor *split,
                    struct value dst, const struct names *names, struct tensor *out) {
    struct names seen = {0};
    int64_t shape[TENSOR_MAX_DIMS];
    int n = 0;
    tensor_read(out, split);
    for (size_t d = 0; d < dst.seq->items.len && n < TENSOR_MAX_DIMS; d++) {
        struct value item = dst.seq->items.at[d];
        shape[n] = 1;
        for (size_t i = 0; i < (is_group(item) ? item.seq->items.len : 1); i++) {
            if (!add_name(in, node, is_group(item) ? item.seq->items.at[i] : item, &seen))
                return false;
            int k = find_name(names, seen.name[seen.n - 1]);
            if (k < 0)
                return interp_error(in, node, "hone-reshape",
                                    "rearrange: dst has a name that src has not");
            out->dim[seen.n - 1] = split->dim[k];
            shape[n] *= split->dim[k].size;
        }
        n++;
    }
    if (seen.n != names->n)
        return interp_error(in, node, "hone-reshape",
                            "rearrange: dst must name every dimension of src once");
    if (split->space != NKI_HBM && !out->dim[0].part)
        return interp_error(in, node, "hone-partition-dimension",
                            "rearrange cannot move the partition dimension");
    struct tensor *kept = tensor_keep(in, out);
    struct tensor *view = tensor_reshape(in, node, kept, shape, n);
    if (view)
        tensor_read(out, view);
    return view != NULL;
}

bool tensor_rearrange(struct interp *in, const struct call *call, struct value *result) {
    struct value v[3];
    struct names names = {0};
    const struct tensor *t = call->self.tensor;
    struct tensor out;
    if (!api_bind(in, call, "src, dst, fixed_sizes=None", v) ||
        !read_source(in, call->node, t, v, &names))
        return false;
    if (!is_group(v[1]))
        return interp_error(in, call->node, "hone-argument", "rearrange: dst is a tuple of names");
    struct tensor *split = tensor_reshape(in, call->node, t, names.size, names.n);
    if (!split || !reorder(in, call->node, split, v[1], &names, &out))
        return false;
    *result = value_tensor(tensor_keep(in, &out));
    return true;
}

/* ---- elements by a tile of positions --------------------------------------------------------- */

bool tensor_is_whole(struct interp *in, const struct nki_node *node, const struct tensor *t) {
    return !t->indirect || !t->indirect->columns ||
           interp_error(in, node, "hone-index",
                        "what .indirect() gives is taken as it is: select and reshape before it");
}

static bool want_newer(struct interp *in, const struct nki_node *node) {
    static const char name[] = "NkiTensor.indirect";
    const char *release = interp_program(in)->release;
    if (release && nki_release_has(NKI_DIALECT_CURRENT, release, str_of(name)))
        return true;
    return interp_error(
        in, node, "hone-newer-name", "%s came with NKI %s, and the kernel is for %s%s", name,
        release_of_name(str_of(name)), release ? "NKI " : "neuronxcc.nki", release ? release : "");
}

static bool want_columns(struct interp *in, const struct nki_node *node, const struct tensor *t,
                         const struct tensor *index) {
    if (t->space == NKI_HBM)
        return interp_error(in, node, "err_unsupported_memory",
                            ".indirect() works on tiles in SBUF and PSUM");
    if (t->n_dims != 2)
        return interp_error(in, node, "hone-shape",
                            ".indirect() takes a tile of two dimensions; found shape %s: join the "
                            "free ones with .flatten_dims() before",
                            tensor_shape_text(in, t));
    if (index->n_dims != 2 || tensor_partitions(index) != tensor_partitions(t))
        return interp_error(in, node, "hone-shape",
                            ".indirect() takes an index of two dimensions with the tile's %lld "
                            "partitions; found shape %s",
                            (long long)tensor_partitions(t), tensor_shape_text(in, index));
    return true;
}

/* NkiTensor.indirect: element i of each row is where the index says. */
bool tensor_columns(struct interp *in, const struct call *call, struct value *result) {
    struct value v[2];
    const struct tensor *t = call->self.tensor, *index;
    struct tensor out;
    if (!want_newer(in, call->node) || !api_bind(in, call, "index, num_elem=None", v) ||
        !api_want_tensor(in, call->node, "index", v[0], &index) ||
        !want_columns(in, call->node, t, index))
        return false;
    int64_t n = tensor_count(index);
    if (v[1].kind != VALUE_NONE && !api_want_int(in, call->node, "num_elem", v[1], &n))
        return false;
    if (n < 1 || n > TENSOR_MAX_ELEMENTS)
        return interp_error(in, call->node, "hone-shape", "num_elem is 1 or more; found %lld",
                            (long long)n);
    if (t->indirect || index->indirect)
        return interp_error(in, call->node, "hone-index", "a view has at most one dynamic index");
    struct nki_indirect *indirect = ARENA_NEW(interp_arena(in), struct nki_indirect);
    *indirect = (struct nki_indirect){.columns = true,
                                      .index = tensor_ap(in, call->node, index, NULL),
                                      .reg = -1,
                                      .step = t->dim[1].step,
                                      .limit = t->dim[1].size};
    tensor_read(&out, t);
    out.dim[1].size = n;
    out.indirect = indirect;
    *result = value_tensor(tensor_keep(in, &out));
    return indirect->index != NULL;
}
