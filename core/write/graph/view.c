/* SPDX-License-Identifier: Apache-2.0 */
/* Where the elements of an array lie: strides of what reshapes, cuts, turns and spreads it. */
#include "write/graph/graph.h"

static int64_t dimension_size(const struct dimension *dimension) {
    int64_t size = 1;
    for (int i = 0; i < dimension->count; i++)
        size *= dimension->at[i].n;
    return size;
}

struct view view_whole(int buffer, const int64_t *shape, int ndim) {
    struct view view = {.buffer = buffer, .ndim = ndim};
    int64_t stride = 1;
    for (int d = ndim; d-- > 0;) {
        view.dims[d].at[0] = (struct factor){shape[d], stride};
        view.dims[d].count = shape[d] != 1;
        stride *= shape[d];
    }
    return view;
}

/* Adds a factor inside the ones there are; one that goes on where the last ends becomes part of
 * it. */
static bool add_factor(struct dimension *dimension, struct factor factor) {
    if (factor.n == 1)
        return true;
    struct factor *last = dimension->count ? &dimension->at[dimension->count - 1] : NULL;
    if (last && last->stride == factor.stride * factor.n) {
        *last = (struct factor){last->n * factor.n, factor.stride};
        return true;
    }
    if (dimension->count == VIEW_MAX_FACTORS)
        return false;
    dimension->at[dimension->count++] = factor;
    return true;
}

bool view_reshape(const struct view *source, const int64_t *shape, int ndim, struct view *out) {
    struct factor all[GRAPH_MAX_DIMS * VIEW_MAX_FACTORS];
    int count = 0, at = 0;
    for (int d = 0; d < source->ndim; d++)
        for (int i = 0; i < source->dims[d].count; i++)
            all[count++] = source->dims[d].at[i];
    *out = (struct view){.buffer = source->buffer, .offset = source->offset, .ndim = ndim};
    for (int d = 0; d < ndim; d++)
        for (int64_t left = shape[d]; left > 1;) {
            if (at == count)
                return false;
            struct factor *outer = &all[at];
            if (left % outer->n == 0) {
                left /= outer->n;
                if (!add_factor(&out->dims[d], *outer))
                    return false;
                at++;
            } else if (outer->n % left == 0) {
                int64_t inner = outer->n / left;
                if (!add_factor(&out->dims[d], (struct factor){left, outer->stride * inner}))
                    return false;
                outer->n = inner;
                left = 1;
            } else {
                return false;
            }
        }
    return at == count;
}

/* Elements of a dimension of several factors are a range only where whole inner blocks are. */
static bool cut(const struct dimension *source, struct graph_range range, int64_t *offset,
                struct dimension *out) {
    *out = (struct dimension){0};
    if (range.first == 0 && range.step == 1 && range.count == dimension_size(source)) {
        *out = *source;
        return true;
    }
    if (source->count == 0)
        return range.count == 1;
    int64_t inner = 1;
    for (int i = 1; i < source->count; i++)
        inner *= source->at[i].n;
    struct factor outer = source->at[0];
    if (range.count == 1) { /* one element: its place in every factor */
        for (int i = source->count; i-- > 0; range.first /= source->at[i].n)
            *offset += range.first % source->at[i].n * source->at[i].stride;
        return true;
    }
    bool blocks =
        inner == 1 || (range.step == 1 && range.first % inner == 0 && range.count % inner == 0);
    if (!blocks)
        return false;
    *offset += range.first / inner * outer.stride;
    if (!add_factor(out, (struct factor){range.count / inner, outer.stride * range.step}))
        return false;
    for (int i = 1; i < source->count; i++)
        if (!add_factor(out, source->at[i]))
            return false;
    return true;
}

bool view_part(const struct view *source, const struct graph_range *part, struct view *out) {
    *out = (struct view){.buffer = source->buffer, .offset = source->offset, .ndim = source->ndim};
    for (int d = 0; d < source->ndim; d++) {
        /* A stride that runs backwards is no pattern that is documented. */
        if (part[d].step < 1 || !cut(&source->dims[d], part[d], &out->offset, &out->dims[d]))
            return false;
    }
    return true;
}

bool view_spread(const struct view *source, const int64_t *shape, int ndim, struct view *out) {
    *out = (struct view){.buffer = source->buffer, .offset = source->offset, .ndim = ndim};
    int extra = ndim - source->ndim;
    if (extra < 0)
        return false;
    for (int d = 0; d < ndim; d++) {
        const struct dimension *from = d < extra ? NULL : &source->dims[d - extra];
        int64_t size = from ? dimension_size(from) : 1;
        if (size == shape[d] && from)
            out->dims[d] = *from;
        else if (size == 1 && !add_factor(&out->dims[d], (struct factor){shape[d], 0}))
            return false;
        else if (size != 1)
            return false;
    }
    return true;
}

/* Windows overlap: the same elements are met along two dimensions. */
static bool view_windows(const struct graph_node *node, const struct view *source,
                         struct view *out) {
    int ndim = source->ndim;
    *out = *source;
    out->ndim = node->ndim;
    for (int i = 0; i < node->axis_count; i++) {
        struct dimension *along = &out->dims[node->axes[i]], *window = &out->dims[ndim + i];
        int64_t n = node->shape[ndim + i];
        *window = (struct dimension){0};
        if (n == 1)
            continue;
        if (along->count != 1)
            return false;
        window->at[window->count++] = (struct factor){n, along->at[0].stride};
        along->at[0].n -= n - 1;
        along->count = along->at[0].n > 1;
    }
    return true;
}

bool view_through(const struct graph_node *node, const struct view *source, struct view *out) {
    switch (node->op->kind) {
    case GRAPH_RESHAPE: return view_reshape(source, node->shape, node->ndim, out);
    case GRAPH_BROADCAST: return view_spread(source, node->shape, node->ndim, out);
    case GRAPH_SLICE: return view_part(source, node->part, out);
    case GRAPH_WINDOWS: return view_windows(node, source, out);
    case GRAPH_TRANSPOSE:
        *out = *source;
        for (int d = 0; d < node->ndim; d++)
            out->dims[d] = source->dims[node->axes[d]];
        return true;
    default: return false;
    }
}

bool dimension_refine(const struct dimension *dimension, const int64_t *sizes, int count,
                      int64_t *strides) {
    int64_t left = 1, stride = 0;
    int at = dimension->count;
    for (int i = count; i-- > 0;) {
        if (left == 1 && sizes[i] > 1) {
            if (at == 0)
                return false;
            left = dimension->at[--at].n;
            stride = dimension->at[at].stride;
        }
        strides[i] = sizes[i] > 1 ? stride : 0;
        if (left % sizes[i])
            return false;
        left /= sizes[i];
        stride *= sizes[i];
    }
    return left == 1 && at == 0;
}

static void add_cut(struct cuts *cuts, int64_t size) {
    int at = 0;
    if (size == 1 || cuts->count > VIEW_MAX_FACTORS)
        return;
    while (at < cuts->count && cuts->at[at] < size)
        at++;
    if (at < cuts->count && cuts->at[at] == size)
        return;
    if (cuts->count++ == VIEW_MAX_FACTORS)
        return;
    memmove(&cuts->at[at + 1], &cuts->at[at], (size_t)(cuts->count - 1 - at) * sizeof *cuts->at);
    cuts->at[at] = size;
}

void dimension_cut(const struct dimension *dimension, struct cuts *cuts) {
    int64_t inner = 1;
    for (int f = dimension->count; f-- > 0;)
        add_cut(cuts, inner *= dimension->at[f].n);
}

int cuts_sizes(const struct cuts *cuts, int64_t *sizes) {
    if (cuts->count > VIEW_MAX_FACTORS)
        return -1;
    for (int i = 0; i < cuts->count; i++) {
        int64_t inner = i ? cuts->at[i - 1] : 1;
        if (cuts->at[i] % inner)
            return -1;
        sizes[cuts->count - 1 - i] = cuts->at[i] / inner;
    }
    return cuts->count;
}

bool view_is_same(const struct view *a, const struct view *b) {
    bool same = a->buffer == b->buffer && a->offset == b->offset && a->ndim == b->ndim;
    for (int d = 0; same && d < a->ndim; d++) {
        same = a->dims[d].count == b->dims[d].count;
        for (int f = 0; same && f < a->dims[d].count; f++)
            same = a->dims[d].at[f].n == b->dims[d].at[f].n &&
                   a->dims[d].at[f].stride == b->dims[d].at[f].stride;
    }
    return same;
}
