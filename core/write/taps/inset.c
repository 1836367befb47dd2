/* SPDX-License-Identifier: Apache-2.0 */
/* An image with numbers around its pixels, and between them where a convolution is transposed: it
 * lies nowhere but in the tiles of convolutions, which are filled with the number before the pixels
 * are brought. */
#include "write/taps/private.h"

/* ---- which arrays ---------------------------------------------------------------------------- */

/* Whether nothing but convolutions reads an array, or parts of it. */
static bool is_read_by_taps(const struct writer *w, int node, bool parts) {
    const struct graph *graph = w->graph;
    bool any = false;
    for (int i = 0; i < graph->output_count; i++)
        if (graph->outputs[i] == node)
            return false;
    for (int i = node + 1; i < graph->count; i++)
        for (int k = 0; k < graph->nodes[i].in_count; k++) {
            enum graph_kind kind = graph->nodes[i].op->kind;
            if (graph->nodes[i].in[k] != node || !w->values[i].users)
                continue;
            if (kind != GRAPH_TAPS && (kind != GRAPH_SLICE || !parts))
                return false;
            if (kind == GRAPH_SLICE && !is_read_by_taps(w, i, false))
                return false;
            any = true;
        }
    return any;
}

/* Pixels are apart in two dimensions at most. */
static bool is_inset(const struct graph_node *row, const struct graph_node *of) {
    int inset = 0;
    for (int d = 0; of->ndim == row->ndim && d < row->ndim; d++) {
        const struct graph_range *part = &row->part[d];
        if (part->step < 1 || part->count != of->shape[d])
            return false;
        inset += part->count != row->shape[d];
    }
    return inset == 1 || inset == 2;
}

const struct inset *taps_inset(struct writer *w, int node) {
    static const int64_t values[] = {1, 0};
    const struct graph_node *row = &w->graph->nodes[node], *of = &w->graph->nodes[row->in[1]];
    const struct value *base = &w->values[row->in[0]], *value = &w->values[row->in[1]];
    if (!base->has_number || !value->has_view || w->apart[node] || !is_inset(row, of) ||
        w->buffers.at[value->view.buffer].is_made || !is_read_by_taps(w, node, true))
        return NULL;
    struct view whole = view_whole(value->view.buffer, of->shape, of->ndim);
    whole.offset = value->view.offset;
    if (!view_is_same(&whole, &value->view) ||
        !write_choose(w, node, "padded",
                      "what an image is padded with: is put into tiles (1), goes through HBM with "
                      "the image (0)",
                      values, 2))
        return NULL;
    struct inset *inset = ARENA_NEW(w->arena, struct inset);
    *inset = (struct inset){value->view, row, of, base->number};
    return inset;
}

/* ---- where its pixels lie -------------------------------------------------------------------- */

static int64_t stride_of(const struct graph_node *node, int dimension) {
    int64_t stride = 1;
    for (int d = node->ndim; d-- > dimension + 1;)
        stride *= node->shape[d];
    return stride;
}

/* The dimension that a stride goes along; -1: none. */
static int along(const struct graph_node *node, int64_t stride) {
    for (int d = 0; d < node->ndim; d++)
        if (node->shape[d] > 1 && stride >= stride_of(node, d) && stride % stride_of(node, d) == 0)
            return d;
    return -1;
}

int64_t inset_stride(const struct taps *t, int64_t stride) {
    const struct inset *inset = t->inset;
    int d = inset && stride ? along(inset->node, stride) : -1;
    return d < 0 ? stride : stride / stride_of(inset->node, d) * stride_of(inset->of, d);
}

/* The pixels of a dimension that a tile of `n` has, which begins at the array's index `first`. */
static struct inner inner_of(const struct graph_range *part, int64_t first, int64_t n) {
    struct inner inner = {.step = part->step};
    while (inner.from < part->count && part->first + inner.from * part->step < first)
        inner.from++;
    inner.at = part->first + inner.from * part->step - first;
    int64_t last = inner.from;
    while (last < part->count && part->first + last * part->step - first < n)
        last++;
    inner.n = last - inner.from;
    return inner;
}

static bool is_whole(const struct inset *inset, int dimension) {
    return inset->node->part[dimension].count == inset->node->shape[dimension];
}

/* Other sides do not go along what has numbers around it. */
static bool others_are_whole(const struct taps *t) {
    bool whole = true;
    for (int s = -1; s < t->side_count; s++) {
        int64_t stride = s < 0 ? t->summed.image : t->sides[s].image;
        int d = stride ? along(t->inset->node, stride) : -1;
        whole &= d < 0 || is_whole(t->inset, d);
    }
    return whole;
}

/* Which dimensions rows and columns are; rows: -1 where they are none that has numbers around. */
static bool find_dimensions(const struct taps *t, int *rows, int *columns) {
    const struct graph_node *node = t->inset->node;
    *columns = along(node, t->unit);
    *rows = along(node, t->unit * t->pitch);
    if (*columns < 0 || *rows == *columns || stride_of(node, *columns) != t->unit)
        return false;
    if (*rows >= 0 && is_whole(t->inset, *rows))
        *rows = -1;
    return *rows < 0 || stride_of(node, *rows) == t->unit * t->pitch;
}

/* Places them along one dimension, of which the tile begins at an index. */
static bool place(const struct taps *t, int dimension, int64_t index, int64_t n,
                  struct inner *inner) {
    const struct graph_node *node = t->inset->node;
    *inner = inner_of(&node->part[dimension], index, n);
    return inner->n > 0 && index + n <= node->shape[dimension];
}

bool inset_place(struct taps *t) {
    const struct inset *inset = t->inset;
    int64_t deep = taps_deep(t, t->block);
    t->down = (struct inner){0, 0, deep, 1};
    t->across = (struct inner){0, 0, t->wide, 1};
    t->rows_join = t->left + t->wide == t->pitch || t->wide == t->pitch;
    if (!inset)
        return true;
    int rows, columns;
    if (!find_dimensions(t, &rows, &columns) || !others_are_whole(t) || t->block < t->row.n)
        return false;
    int64_t rest = t->image.offset - t->left * t->unit;
    t->inset_offset = inset->view.offset;
    for (int d = 0; d < inset->node->ndim; d++) {
        int64_t stride = stride_of(inset->node, d), index = rest / stride;
        rest %= stride;
        if (d == columns && !place(t, d, index, t->wide, &t->across))
            return false;
        if (d == rows && !place(t, d, index, deep, &t->down))
            return false;
        if (d != rows && d != columns && !is_whole(inset, d))
            return false;
        index = d == columns ? t->across.from : d == rows ? t->down.from : index;
        t->inset_offset += index * stride_of(inset->of, d);
    }
    t->rows_join = t->across.n == inset->of->shape[columns];
    return true;
}
