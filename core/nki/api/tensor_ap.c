/* SPDX-License-Identifier: Apache-2.0 */
/* What instructions see of a view: its access pattern, with masks applied to it. */
#include "nki/api/api.h"

/* ---- masks ---------------------------------------------------------------------------------- */

struct box {
    int64_t low[TENSOR_MAX_DIMS], high[TENSOR_MAX_DIMS]; /* both included */
};

static int64_t floor_divide(int64_t a, int64_t b) {
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

/* How the dimensions of the mask lie on those of the view: aligned at the end as in numpy, or at
 * the front where only that fits. Returns the view's dimension for the mask's dimension 0 (may be <
 * 0). */
static int align_mask(const struct tensor *view, const struct index_expr *mask) {
    int shift = view->n_dims - mask->n_dims;
    for (int d = 0; d < mask->n_dims; d++) {
        int64_t size = d + shift < 0 ? 0 : view->dim[d + shift].size;
        if (mask->size[d] != 1 && size != 1 && mask->size[d] != size)
            return 0;
    }
    return shift;
}

/* The term over the view's dimensions. False where it does not concern this view, because it varies
 * along a dimension that the view repeats. */
static bool place_term(const struct tensor *view, const struct index_expr *mask,
                       const struct index_affine *term, int shift, struct tensor_affine *out) {
    *out = (struct tensor_affine){.c0 = term->c0};
    for (int d = 0; d < mask->n_dims; d++) {
        if (!term->c[d] || mask->size[d] == 1)
            continue;
        if (d + shift < 0 || d + shift >= view->n_dims ||
            view->dim[d + shift].size != mask->size[d])
            return false;
        out->c[d + shift] = term->c[d];
    }
    return true;
}

/* Cuts the box by a term over one dimension; false when the term spans several. */
static bool cut(struct box *box, const struct tensor_affine *term, int n_dims) {
    int only = -1;
    for (int d = 0; d < n_dims; d++) {
        if (!term->c[d])
            continue;
        if (only >= 0)
            return false;
        only = d;
    }
    if (only < 0) {
        if (term->c0 < 0)
            box->high[0] = box->low[0] - 1;
        return true;
    }
    int64_t c = term->c[only];
    if (c > 0) /* i >= -c0 / c, rounded up */
        box->low[only] = MAX_OF(box->low[only], -floor_divide(term->c0, c));
    else
        box->high[only] = MIN_OF(box->high[only], floor_divide(term->c0, -c));
    return true;
}

static int64_t term_minimum(const struct tensor_affine *term, const struct tensor *view) {
    int64_t low = term->c0;
    for (int d = 0; d < view->n_dims; d++)
        low += MIN_OF(term->c[d] * (view->dim[d].size - 1), 0);
    return low;
}

static void shrink(struct interp *in, struct tensor *view, const struct box *box) {
    for (int d = 0; d < view->n_dims; d++) {
        int64_t low = box->low[d];
        *(view->dim[d].part ? &view->partition : &view->offset) += low * view->dim[d].step;
        view->dim[d].size = box->high[d] - low + 1;
    }
    const struct tensor_bound *bounds = NULL;
    for (const struct tensor_bound *old = view->bounds; old; old = old->next) {
        struct tensor_bound *bound = arena_dup(interp_scratch(in), old, sizeof *old);
        for (int d = 0; d < view->n_dims; d++)
            bound->at.c0 += old->at.c[d] * box->low[d];
        bound->next = bounds;
        bounds = bound;
    }
    view->bounds = bounds;
}

bool tensor_mask(struct interp *in, const struct nki_node *node, struct tensor *view,
                 const struct index_expr *mask, struct tensor_clip *clip) {
    struct box box;
    *clip = (struct tensor_clip){0};
    if (!mask->mask)
        return interp_error(in, node, "err_unsupported_expression_in_mask",
                            "mask= takes a comparison of index expressions");
    for (int d = 0; d < view->n_dims; d++) {
        box.low[d] = 0;
        box.high[d] = view->dim[d].size - 1;
    }
    int shift = align_mask(view, mask);
    for (int k = 0; k < mask->n_terms; k++) {
        struct tensor_affine term;
        if (!place_term(view, mask, &mask->term[k], shift, &term))
            continue;
        if (!cut(&box, &term, view->n_dims))
            clip->rest[clip->n_rest++] = term;
    }
    for (int d = 0; d < view->n_dims; d++)
        if (box.high[d] < box.low[d]) {
            clip->empty = true;
            return true;
        }
    shrink(in, view, &box);
    int kept = 0;
    for (int k = 0; k < clip->n_rest; k++) {
        struct tensor_affine term = clip->rest[k];
        for (int d = 0; d < view->n_dims; d++)
            term.c0 += term.c[d] * box.low[d];
        if (term_minimum(&term, view) < 0)
            clip->rest[kept++] = term;
    }
    clip->n_rest = kept;
    return true;
}

/* Reports an index outside the tensor that no mask took away. */
static bool tensor_check_bounds(struct interp *in, const struct nki_node *node,
                                const struct tensor *view) {
    for (const struct tensor_bound *bound = view->bounds; bound; bound = bound->next) {
        int64_t low = bound->at.c0, high = low;
        for (int d = 0; d < view->n_dims; d++) {
            int64_t reach = bound->at.c[d] * (view->dim[d].size - 1);
            low += MIN_OF(reach, 0);
            high += MAX_OF(reach, 0);
        }
        if (low < 0 || high >= bound->limit)
            return interp_error(in, node, "err_tensor_access_out_of_bound",
                                "index out of range: dimension %d of %s is accessed at %lld to "
                                "%lld, but its size is %lld; mask what is outside",
                                bound->axis,
                                tensor_storage(in, view)->name[0] ? tensor_storage(in, view)->name
                                                                  : "the tensor",
                                (long long)low, (long long)high, (long long)bound->limit);
    }
    return true;
}

/* ---- access patterns ------------------------------------------------------------------------ */

struct pattern {
    int n;
    struct tensor_dim dim[TENSOR_MAX_DIMS + 1];
};

static bool can_join(const struct tensor_dim *outer, const struct tensor_dim *inner) {
    return outer->part == inner->part &&
           (outer->step == inner->step * inner->size || outer->size == 1);
}

/* Fewer dimensions with the same order of elements. `from` is the first dimension that may go. */
static void squeeze(struct pattern *p, int from, int wanted) {
    for (int d = from; d < p->n && p->n > wanted;) {
        if (p->dim[d].size != 1) {
            d++;
            continue;
        }
        memmove(&p->dim[d], &p->dim[d + 1], (size_t)(--p->n - d) * sizeof p->dim[0]);
    }
    for (int d = from; d + 1 < p->n && p->n > wanted;) {
        if (!can_join(&p->dim[d], &p->dim[d + 1])) {
            d++;
            continue;
        }
        p->dim[d + 1].size *= p->dim[d].size;
        memmove(&p->dim[d], &p->dim[d + 1], (size_t)(--p->n - d) * sizeof p->dim[0]);
    }
}

/* Joins all partition dimensions to one at the front. */
static bool gather_partitions(struct interp *in, const struct nki_node *node,
                              const struct pattern *all, struct pattern *p) {
    struct tensor_dim part = {.size = 1, .step = 1, .part = true};
    bool found = false;
    for (int d = all->n - 1; d >= 0; d--) {
        const struct tensor_dim *dim = &all->dim[d];
        if (!dim->part || (found && dim->size == 1))
            continue;
        if (!found || part.size == 1)
            part = *dim;
        else if (dim->step == part.step * part.size)
            part.size *= dim->size;
        else
            return interp_error(in, node, "err_failed_to_infer_tile_from_local_tensor",
                                "the partitions of an operand must be evenly "
                                "spaced");
        found = true;
    }
    /* A view without a partition dimension means one partition. A leading 1 stands for it. */
    int skip = !found && all->n && all->dim[0].size == 1;
    p->n = 0;
    p->dim[p->n++] = part;
    for (int d = skip; d < all->n; d++)
        if (!all->dim[d].part)
            p->dim[p->n++] = all->dim[d];
    return true;
}

/* Whether there is one partition dimension and it is in front already. */
static bool is_in_order(const struct pattern *p) {
    bool only = p->n > 0 && p->dim[0].part;
    for (int d = 1; d < p->n; d++)
        only &= !p->dim[d].part;
    return only;
}

static void copy_pattern(struct pattern *to, const struct pattern *from) {
    to->n = from->n;
    memcpy(to->dim, from->dim, (size_t)from->n * sizeof from->dim[0]);
}

/* Steps and counts, which many patterns share. */
struct ap_shape {
    int n;
    int64_t step[NKI_MAX_DIMS];
    int32_t count[NKI_MAX_DIMS];
};
#define SHAPES 1024   /* shapes kept, one for each hash */
#define PATTERNS 1024 /* patterns kept, in the same way */

static uint64_t hash_of(const struct pattern *p) {
    uint64_t hash = (uint64_t)p->n;
    for (int d = 0; d < p->n; d++)
        hash = (hash ^ (uint64_t)p->dim[d].step ^ (uint64_t)p->dim[d].size << 32) *
               0x9e3779b97f4a7c15ULL;
    return hash;
}

static int32_t count_of(const struct tensor_dim *dim) {
    return (int32_t)MIN_OF(dim->size, INT32_MAX);
}

static bool is_shape(const struct ap_shape *shape, const struct pattern *p) {
    if (!shape || shape->n != p->n)
        return false;
    for (int d = 0; d < p->n; d++)
        if (shape->step[d] != p->dim[d].step || shape->count[d] != count_of(&p->dim[d]))
            return false;
    return true;
}

static struct ap_shape *shape_of(struct interp *in, const struct pattern *p) {
    struct api *api = api_of(in);
    if (!api->shapes)
        api->shapes = ARENA_ARRAY(interp_scratch(in), struct ap_shape *, SHAPES);
    struct ap_shape **place = &api->shapes[hash_of(p) >> 32 & (SHAPES - 1)];
    if (is_shape(*place, p))
        return *place;
    struct ap_shape *shape = ARENA_NEW(interp_arena(in), struct ap_shape);
    shape->n = p->n;
    for (int d = 0; d < p->n; d++) {
        shape->step[d] = p->dim[d].step;
        shape->count[d] = count_of(&p->dim[d]);
    }
    return *place = shape;
}

static bool is_same(const struct nki_ap *a, const struct nki_ap *b) {
    return a->storage == b->storage && a->offset == b->offset && a->step == b->step &&
           a->count == b->count && a->partition == b->partition && a->dtype == b->dtype &&
           a->indirect == b->indirect;
}

/* With its hash beside it: the patterns themselves lie far apart. */
struct kept_pattern {
    uint64_t hash;
    const struct nki_ap *ap; /* NULL: none */
};

/* A tile is mostly written once and read once or more in the same way: these share a pattern. */
static const struct nki_ap *keep(struct interp *in, struct nki_ap ap) {
    struct api *api = api_of(in);
    if (!api->patterns)
        api->patterns = ARENA_ARRAY(interp_scratch(in), struct kept_pattern, PATTERNS);
    uint64_t hash = ((uint64_t)ap.storage ^ (uint64_t)ap.offset << 32 ^ (uintptr_t)ap.step) *
                    0x9e3779b97f4a7c15ULL;
    struct kept_pattern *place = &api->patterns[hash >> 32 & (PATTERNS - 1)];
    if (!place->ap || place->hash != hash || !is_same(place->ap, &ap))
        *place = (struct kept_pattern){hash, arena_dup(interp_arena(in), &ap, sizeof ap)};
    return place->ap;
}

const struct nki_ap *tensor_ap(struct interp *in, const struct nki_node *node,
                               const struct tensor *tensor, const int *order) {
    if (tensor->bounds && !tensor_check_bounds(in, node, tensor))
        return NULL;
    struct pattern all, p; /* they are large, so only what is used is filled */
    all.n = tensor->n_dims;
    for (int d = 0; d < tensor->n_dims; d++)
        all.dim[d] = tensor->dim[order ? order[d] : d];
    if (tensor->space == NKI_HBM || is_in_order(&all))
        copy_pattern(&p, &all);
    else if (!gather_partitions(in, node, &all, &p))
        return NULL;
    if (p.n > NKI_MAX_DIMS)
        squeeze(&p, tensor->space == NKI_HBM ? (tensor->indirect != NULL) : 1, NKI_MAX_DIMS);
    if (p.n > NKI_MAX_DIMS) {
        interp_error(in, node, "err_exceed_max_supported_dimension",
                     "an operand of shape %s has too many dimensions for an access pattern: at "
                     "most %d after joining contiguous ones",
                     tensor_shape_text(in, tensor), NKI_MAX_DIMS);
        return NULL;
    }
    struct ap_shape *shape = shape_of(in, &p);
    bool within = tensor->partition >= 0 && tensor->partition < UINT16_MAX;
    return keep(in, (struct nki_ap){.storage = tensor->storage,
                                    .partition = within ? (uint16_t)tensor->partition : UINT16_MAX,
                                    .dtype = (uint8_t)tensor->dtype,
                                    .n_dims = (uint8_t)p.n,
                                    .offset = tensor->offset,
                                    .step = shape->step,
                                    .count = shape->count,
                                    .indirect = tensor->indirect});
}
