/* SPDX-License-Identifier: Apache-2.0 */
/* The domain of a stage over rows, divided into sides along which every array has one stride; and
 * what each side becomes: partitions, columns of a tile, or a loop. */
#include "write/rows.h"

#define TILES 6   /* of an array at least */
#define LEAST 512 /* columns of a tile, for the sake of transfers, where there are few */

/* Spreads the stage's domain to a node's shape; false where they do not fit. */
bool rows_join(struct rows *rows, const struct graph_node *node) {
    if (node->ndim > rows->ndim) {
        int more = node->ndim - rows->ndim;
        memmove(rows->shape + more, rows->shape, (size_t)rows->ndim * sizeof *rows->shape);
        for (int d = 0; d < more; d++)
            rows->shape[d] = 1;
        rows->ndim = node->ndim;
    }
    int extra = rows->ndim - node->ndim;
    for (int d = 0; d < node->ndim; d++) {
        int64_t *side = &rows->shape[d + extra];
        if (*side == 1)
            *side = node->shape[d];
        else if (node->shape[d] != 1 && node->shape[d] != *side)
            return false;
    }
    return true;
}

/* Dimensions along which the node reduces, counted from the last: bit 0 is the last one. */
unsigned rows_axes(const struct writer *writer, int node) {
    const struct graph_node *row = &writer->graph->nodes[node];
    unsigned bits = 0;
    if (row->op->kind == GRAPH_REDUCE || row->op->kind == GRAPH_SCAN ||
        row->op->kind == GRAPH_RECURRENCE)
        for (int i = 0; i < row->axis_count; i++)
            bits |= 1u << (row->ndim - 1 - row->axes[i]);
    return bits;
}

/* Sizes of factors, outermost first, into which all arrays divide a dimension. */
static int common_factors(const struct rows *rows, int d, int64_t *sizes) {
    struct cuts cuts = {0};
    for (size_t i = 0; i < rows->leaves.len; i++)
        dimension_cut(&rows->leaves.at[i].view.dims[d], &cuts);
    return cuts_sizes(&cuts, sizes);
}

static bool divide(struct rows *rows) {
    for (int d = 0; d < rows->ndim; d++) {
        int64_t sizes[VIEW_MAX_FACTORS], strides[VIEW_MAX_FACTORS];
        int count = common_factors(rows, d, sizes);
        if (count < 0 || rows->side_count + count > ROWS_MAX_SIDES)
            return false;
        for (size_t i = 0; i < rows->leaves.len; i++) {
            struct leaf *leaf = &rows->leaves.at[i];
            if (!dimension_refine(&leaf->view.dims[d], sizes, count, strides))
                return false;
            for (int f = 0; f < count; f++)
                leaf->strides[rows->side_count + f] = strides[f];
        }
        unsigned bit = 1u << (rows->ndim - 1 - d);
        for (int f = 0; f < count; f++)
            rows->sides[rows->side_count++] = (struct side){
                .n = sizes[f], .is_column = rows->columns & bit, .is_across = rows->across & bit};
    }
    return true;
}

static void remove_side(struct rows *rows, int at) {
    rows->side_count--;
    memmove(&rows->sides[at], &rows->sides[at + 1],
            (size_t)(rows->side_count - at) * sizeof *rows->sides);
    for (size_t i = 0; i < rows->leaves.len; i++) {
        int64_t *strides = rows->leaves.at[i].strides;
        memmove(&strides[at], &strides[at + 1], (size_t)(rows->side_count - at) * sizeof *strides);
    }
}

/* Neighbours of one kind that every array runs through in one go become one. */
static void merge_sides(struct rows *rows) {
    for (int s = 0; s + 1 < rows->side_count;) {
        bool fits = rows->sides[s].is_column == rows->sides[s + 1].is_column &&
                    rows->sides[s].is_across == rows->sides[s + 1].is_across;
        for (size_t i = 0; fits && i < rows->leaves.len; i++) {
            const int64_t *strides = rows->leaves.at[i].strides;
            fits = strides[s] == strides[s + 1] * rows->sides[s + 1].n;
        }
        if (!fits) {
            s++;
            continue;
        }
        rows->sides[s + 1].n *= rows->sides[s].n;
        remove_side(rows, s);
    }
}

static void insert_side(struct rows *rows, int at, int64_t n) {
    memmove(&rows->sides[at + 1], &rows->sides[at],
            (size_t)(rows->side_count - at) * sizeof *rows->sides);
    for (size_t i = 0; i < rows->leaves.len; i++) {
        int64_t *strides = rows->leaves.at[i].strides;
        memmove(&strides[at + 1], &strides[at], (size_t)(rows->side_count - at) * sizeof *strides);
        strides[at] *= rows->sides[at + 1].n / n;
    }
    rows->side_count++;
    rows->sides[at].n = n;
    rows->sides[at + 1].n /= n;
    rows->sides[at].role = rows->sides[at + 1].role = SIDE_LOOP;
}

/* The largest divisor that is not above `most`. */
int64_t rows_divisor(int64_t n, int64_t most) {
    for (int64_t d = most < n ? most : n; d > 1; d--)
        if (n % d == 0)
            return d;
    return 1;
}

int64_t rows_column_elements(const struct rows *rows) {
    int64_t n = 1;
    for (int s = 0; s < rows->side_count; s++)
        if (rows->sides[s].is_column)
            n *= rows->sides[s].n;
    return n;
}

bool rows_divide(struct rows *rows) {
    if (!divide(rows))
        return false;
    merge_sides(rows);
    return true;
}

/* Products that are made here have tiles along one of their sides only. */
static bool fits_products(const struct rows *rows, int side) {
    for (size_t i = 0; i < rows->leaves.len; i++) {
        const struct leaf *leaf = &rows->leaves.at[i];
        if (leaf->product && !product_has_tiles_along(leaf->product, leaf->strides[side]))
            return false;
    }
    return true;
}

static int longest_row_side(const struct rows *rows) {
    int best = -1;
    for (int s = 0; s < rows->side_count; s++)
        if (!rows->sides[s].is_column && !rows->sides[s].is_across && fits_products(rows, s) &&
            (best < 0 || rows->sides[s].n > rows->sides[best].n))
            best = s;
    return best;
}

/* Every array runs along both sides, or along neither. */
static bool are_alike(const struct rows *rows, int a, int b) {
    for (size_t i = 0; i < rows->leaves.len; i++)
        if (rows->leaves.at[i].product ||
            !rows->leaves.at[i].strides[a] != !rows->leaves.at[i].strides[b])
            return false;
    return true;
}

/* Short rows: several of them lie beside each other in a partition. */
static void pack_rows(struct rows *rows, int last, int64_t width) {
    int64_t n = rows->sides[last].n;
    int most = longest_row_side(rows);
    if (most < 0 || n * 2 > width || rows->side_count == ROWS_MAX_SIDES ||
        !are_alike(rows, most, last))
        return;
    int64_t rest = rows->sides[most].n / PARTITIONS;
    int64_t packed = rows_divisor(rows->sides[most].n, MIN_OF(width / n, MAX_OF(rest, 1)));
    if (packed < 2)
        return;
    insert_side(rows, most, rows->sides[most].n / packed);
    rows->sides[most + 1].is_column = true;
    rows->sides[most].is_column = false;
}

/* Where nothing needs whole rows, the innermost side is the free dimension; where it is all there
 * is, it is folded over the partitions. */
static void choose_columns(struct rows *rows, int64_t width) {
    if (rows->columns || rows->side_count == 0)
        return;
    int last = rows->side_count - 1;
    if (rows->side_count == 1 && rows->sides[0].n > PARTITIONS) {
        /* Several tiles, so that the next one is loaded while one is worked on. */
        int64_t n = rows->sides[0].n;
        int64_t most = MIN_OF(width, MAX_OF(n / (TILES * PARTITIONS), LEAST));
        int64_t wide = rows_divisor(n, most);
        if (n / wide < PARTITIONS)
            wide = n / rows_divisor(n, PARTITIONS);
        if (wide < n) {
            insert_side(rows, 0, n / wide);
            last = 1;
        }
    }
    rows->sides[last].is_column = true;
    pack_rows(rows, last, width);
}

/* Of the row sides the longest one lies on the partitions; the others are loops. */
void rows_choose_sides(struct rows *rows, int64_t width) {
    choose_columns(rows, width);
    int best = longest_row_side(rows);
    for (int s = 0; s < rows->side_count; s++)
        rows->sides[s].role = rows->sides[s].is_column ? SIDE_COLUMN : SIDE_LOOP;
    if (best >= 0)
        rows->sides[best].role = SIDE_PARTITION;
}
