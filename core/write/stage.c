/* SPDX-License-Identifier: Apache-2.0 */
/* What a stage over tiles of rows consists of: the nodes that it computes, the arrays that it
 * reads, and which results one stage can compute. Its domain, divided into sides along which every
 * array has one stride; and what each side becomes: partitions, columns of a tile, or a loop. */
#include <stdlib.h>

#include "write/rows.h"

#define TILES 6            /* of an array at least */
#define LEAST 512          /* columns of a tile, for the sake of transfers, where there are few */
#define LARGEST_AGAIN 1024 /* columns of a tile that has arrays several times */
#define LEAST_STACKED 8    /* rows that lie above others */
#define LEAST_FOLDED 128   /* the same where there would be few rows, too */

bool rows_is_fusable(enum graph_kind kind) {
    return kind == GRAPH_UNARY || kind == GRAPH_BINARY || kind == GRAPH_CAST ||
           kind == GRAPH_WHERE || kind == GRAPH_REDUCE || kind == GRAPH_SCAN ||
           kind == GRAPH_RECURRENCE;
}

/* ---- what a stage consists of ---------------------------------------------------------------- */

static bool is_among(const int *roots, int count, int node) {
    for (int i = 0; i < count; i++)
        if (roots[i] == node)
            return true;
    return false;
}

bool rows_has_root(const struct rows *rows, int node) {
    return is_among(rows->roots, rows->root_count, node);
}

bool rows_is_scan(const struct rows *rows, int node) {
    enum graph_kind kind = rows->writer->graph->nodes[node].op->kind;
    return kind == GRAPH_SCAN || kind == GRAPH_RECURRENCE;
}

/* The dimensions that scans go along, of the first one; 0: there is none. */
static unsigned scanned(const struct rows *rows) {
    for (size_t i = 0; i < rows->nodes.len; i++)
        if (rows_is_scan(rows, rows->nodes.at[i]))
            return rows_axes(rows->writer, rows->nodes.at[i]);
    return 0;
}

bool rows_is_across(const struct rows *rows, int node) {
    unsigned scans = scanned(rows);
    return scans && rows_has_root(rows, node) &&
           rows->writer->graph->nodes[node].op->kind == GRAPH_REDUCE &&
           !(rows_axes(rows->writer, node) & scans);
}

bool rows_has_scans_only(const struct rows *rows) {
    for (size_t i = 0; i < rows->nodes.len; i++) {
        int node = rows->nodes.at[i];
        if (rows_axes(rows->writer, node) && !rows_is_scan(rows, node) &&
            !rows_is_across(rows, node))
            return false;
    }
    return scanned(rows);
}

/* Takes the dimensions that a node goes along into the stage's; false where those are others. */
static bool join_axes(struct rows *rows, int node) {
    unsigned axes = rows_axes(rows->writer, node);
    unsigned *all = rows_is_across(rows, node) ? &rows->across : &rows->columns;
    bool fits = !axes || !*all || axes == *all;
    *all |= axes;
    return fits;
}

static bool is_inner(const struct rows *rows, int node) {
    return rows_is_fusable(rows->writer->graph->nodes[node].op->kind) &&
           (rows_has_root(rows, node) || !rows->writer->values[node].is_root);
}

static int by_number(const void *a, const void *b) {
    return *(const int *)a - *(const int *)b;
}

/* The nodes of a stage in order, and what they read. */
void rows_collect(struct rows *rows) {
    if (rows->is_copy) {
        *vec_push(&rows->leaves) = (struct leaf){.node = rows->roots[0]};
        return;
    }
    VEC(int) todo = {0};
    char *seen = mem_alloc((size_t)rows->writer->graph->count + 1, 1);
    for (int i = 0; i < rows->root_count; i++) {
        *vec_push(&todo) = rows->roots[i];
        seen[rows->roots[i]] = 1;
    }
    while (todo.len) {
        int node = todo.at[--todo.len];
        if (!is_inner(rows, node)) {
            *vec_push(&rows->leaves) = (struct leaf){.node = node};
            continue;
        }
        *vec_push(&rows->nodes) = node;
        const struct graph_node *row = &rows->writer->graph->nodes[node];
        for (int i = 0; i < row->in_count; i++)
            if (!seen[row->in[i]]) {
                seen[row->in[i]] = 1;
                *vec_push(&todo) = row->in[i];
            }
    }
    vec_free(&todo);
    free(seen);
    qsort(rows->nodes.at, rows->nodes.len, sizeof *rows->nodes.at, by_number);
}

void rows_free(struct rows *rows) {
    vec_free(&rows->leaves);
    vec_free(&rows->nodes);
    vec_free(&rows->either);
    free(rows->tiles);
    free(rows->plans);
}

/* Whether a node has more than one element along the dimensions that lie in the free one. */
static bool is_wide(const struct rows *rows, int node) {
    const struct graph_node *row = &rows->writer->graph->nodes[node];
    bool wide = false;
    if (row->op->kind == GRAPH_REDUCE && rows_axes(rows->writer, node) == rows->columns)
        return false;
    for (int d = 0; d < row->ndim; d++)
        wide |= (rows->columns >> (row->ndim - 1 - d) & 1) && row->shape[d] > 1;
    return wide;
}

/* Elements of a tile that hold a whole row, in SBUF's bytes. */
bool rows_fit(const struct rows *rows) {
    double elements = 1, tiles = 2;
    for (int d = 0; d < rows->ndim; d++)
        if (rows->columns >> (rows->ndim - 1 - d) & 1)
            elements *= (double)rows->shape[d];
    for (size_t i = 0; i < rows->nodes.len; i++)
        tiles += is_wide(rows, rows->nodes.at[i]);
    for (size_t i = 0; i < rows->leaves.len; i++)
        tiles += is_wide(rows, rows->leaves.at[i].node);
    return elements * 4 * tiles <= rows->writer->spec->sbuf_bytes * 0.9;
}

int rows_conflict(struct writer *writer, const int *roots, int count) {
    struct rows rows = {.writer = writer, .roots = roots, .root_count = count};
    rows_collect(&rows);
    int cut = -1;
    for (size_t i = rows.nodes.len; cut < 0 && i-- > 0;) {
        int node = rows.nodes.at[i];
        const struct graph_node *row = &writer->graph->nodes[node];
        bool reduces = row->op->kind == GRAPH_REDUCE;
        bool apart =
            reduces && !is_among(roots, count, node) && writer->values[roots[0]].is_upright;
        const struct graph_node *whole = reduces ? &writer->graph->nodes[row->in[0]] : row;
        bool fits = rows_join(&rows, whole);
        if (apart)
            cut = node;
        else if (!join_axes(&rows, node) || !fits)
            cut = is_among(roots, count, node) ? row->in[0] : node;
    }
    /* A row that is too long is reduced piece by piece, in a stage of its own. */
    bool in_one = rows_fit(&rows) || rows_has_scans_only(&rows);
    for (size_t i = 0; cut < 0 && !in_one && i < rows.nodes.len; i++)
        if (rows_axes(writer, rows.nodes.at[i]) && !is_among(roots, count, rows.nodes.at[i]))
            cut = rows.nodes.at[i];
    if (cut >= 0 &&
        (!rows_is_fusable(writer->graph->nodes[cut].op->kind) || writer->values[cut].is_root))
        cut = -1;
    rows_free(&rows);
    return cut;
}

static bool has_leaf(const struct rows *rows, int node) {
    for (size_t i = 0; i < rows->leaves.len; i++)
        if (rows->leaves.at[i].node == node)
            return true;
    return false;
}

bool rows_reads(struct writer *writer, int root, int node) {
    struct rows rows = {.writer = writer, .roots = &root, .root_count = 1};
    rows_collect(&rows);
    bool reads = has_leaf(&rows, node);
    rows_free(&rows);
    return reads;
}

static bool has_node(const struct rows *rows, int node) {
    for (size_t i = 0; i < rows->nodes.len; i++)
        if (rows->nodes.at[i] == node)
            return true;
    return has_leaf(rows, node) && rows->writer->graph->nodes[node].op->kind != GRAPH_CONSTANT;
}

bool rows_overlap(struct writer *writer, int first, int second) {
    struct rows a = {.writer = writer, .roots = &first, .root_count = 1};
    struct rows b = {.writer = writer, .roots = &second, .root_count = 1};
    rows_collect(&a);
    rows_collect(&b);
    bool overlap = false;
    for (size_t i = 0; i < a.nodes.len; i++) /* but b may read what a makes */
        overlap |= a.nodes.at[i] != first && has_node(&b, a.nodes.at[i]);
    for (size_t i = 0; i < a.leaves.len; i++)
        overlap |= has_node(&b, a.leaves.at[i].node);
    rows_free(&a);
    rows_free(&b);
    return overlap;
}

static bool is_constant(const struct graph_node *node) {
    return node->op->kind == GRAPH_CONSTANT;
}

bool rows_share(struct writer *writer, int first, int second) {
    struct rows a = {.writer = writer, .roots = &first, .root_count = 1};
    struct rows b = {.writer = writer, .roots = &second, .root_count = 1};
    rows_collect(&a);
    rows_collect(&b);
    bool shares = has_leaf(&b, first);
    for (size_t i = 0; i < a.leaves.len; i++)
        shares |= !is_constant(&writer->graph->nodes[a.leaves.at[i].node]) &&
                  has_leaf(&b, a.leaves.at[i].node);
    rows_free(&a);
    rows_free(&b);
    return shares;
}

/* Stages of upright sums have nothing else that goes along rows. */
static bool are_upright(const struct rows *rows) {
    for (int i = 0; i < rows->root_count; i++)
        if (!rows->writer->values[rows->roots[i]].is_upright ||
            rows_axes(rows->writer, rows->roots[i]) != rows_axes(rows->writer, rows->roots[0]))
            return false;
    return !rows->is_copy && rows->root_count > 0;
}

/* The shape of a stage's domain, and how many tiles it would hold at once. */
bool rows_measure(struct rows *rows) {
    bool ok = true;
    rows->is_upright = are_upright(rows);
    for (size_t i = 0; ok && i < rows->nodes.len; i++) {
        const struct graph_node *row = &rows->writer->graph->nodes[rows->nodes.at[i]];
        ok = join_axes(rows, rows->nodes.at[i]) && rows_join(rows, row) &&
             (row->op->kind != GRAPH_REDUCE || !rows->is_upright ||
              rows_has_root(rows, rows->nodes.at[i])) &&
             (row->op->kind != GRAPH_REDUCE ||
              rows_join(rows, &rows->writer->graph->nodes[row->in[0]]));
        for (int k = 0; k < row->in_count; k++) /* it is complete after the others only */
            ok = ok && !rows_is_across(rows, row->in[k]);
    }
    if (rows->is_upright) {
        rows->summed = rows->columns;
        rows->columns = 0;
    }
    return ok;
}

/* What goes element by element may be computed where rows lie whole. */
static bool fits_domain(const struct rows *one, const struct rows *all) {
    return one->is_upright == all->is_upright && one->ndim == all->ndim &&
           (one->columns == all->columns || !one->columns) &&
           memcmp(one->shape, all->shape, (size_t)one->ndim * sizeof *one->shape) == 0;
}

/* Upright sums are complete after all rows only. */
static bool reads_own_roots(const struct rows *rows) {
    for (size_t i = 0; i < rows->nodes.len; i++) {
        const struct graph_node *row = &rows->writer->graph->nodes[rows->nodes.at[i]];
        for (int k = 0; k < row->in_count; k++)
            if (rows_has_root(rows, row->in[k]))
                return true;
    }
    return false;
}

bool rows_can_share(struct writer *writer, const int *roots, int count) {
    struct rows all = {.writer = writer, .roots = roots, .root_count = count};
    rows_collect(&all);
    bool upright = false;
    for (int i = 0; i < count; i++)
        upright |= writer->values[roots[i]].is_upright;
    bool ok = rows_measure(&all) && upright == all.is_upright &&
              !(upright && reads_own_roots(&all)) &&
              (upright || rows_fit(&all) || rows_has_scans_only(&all)) &&
              all.leaves.len + (size_t)count <= 12;
    for (int i = 0; ok && i < count; i++) {
        struct rows one = {.writer = writer, .roots = &roots[i], .root_count = 1};
        rows_collect(&one);
        ok = rows_measure(&one) && fits_domain(&one, &all);
        rows_free(&one);
    }
    rows_free(&all);
    return ok;
}

/* ---- the domain ------------------------------------------------------------------------------ */

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
            rows->sides[rows->side_count++] = (struct side){.n = sizes[f],
                                                            .is_column = rows->columns & bit,
                                                            .is_across = rows->across & bit,
                                                            .is_summed = rows->summed & bit};
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
void rows_merge_sides(struct rows *rows) {
    for (int s = 0; s + 1 < rows->side_count;) {
        bool fits = rows->sides[s].is_column == rows->sides[s + 1].is_column &&
                    rows->sides[s].is_across == rows->sides[s + 1].is_across &&
                    rows->sides[s].is_summed == rows->sides[s + 1].is_summed;
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

void rows_insert_side(struct rows *rows, int at, int64_t n) {
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
    rows_merge_sides(rows);
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
            rows->sides[s].is_summed == rows->is_upright &&
            (best < 0 || rows->sides[s].n > rows->sides[best].n))
            best = s;
    return best;
}

/* Whether elements of side `a` may lie beside those of column `b` in a tile: every array runs along
 * both, or along neither. One that runs along the column only is the same for all rows; a tile then
 * has it several times, which is worth it where it stays for all tiles. */
enum beside { BESIDE_NOT, BESIDE_ALIKE, BESIDE_AGAIN };
static enum beside may_lie_beside(const struct rows *rows, int a, int b) {
    enum beside beside = BESIDE_ALIKE;
    for (size_t i = 0; i < rows->leaves.len; i++) {
        const struct leaf *leaf = &rows->leaves.at[i];
        if (leaf->is_result && rows->is_upright)
            continue;
        if (leaf->product || (leaf->strides[a] && !leaf->strides[b]))
            return BESIDE_NOT;
        if (!leaf->strides[a] && leaf->strides[b])
            beside = BESIDE_AGAIN;
    }
    return beside;
}

static int64_t columns_so_far(const struct rows *rows) {
    int64_t n = 1;
    for (int s = 0; s < rows->side_count; s++)
        n *= rows->sides[s].is_column ? rows->sides[s].n : 1;
    return n;
}

static bool choose_folded(struct rows *rows) {
    static const int64_t values[] = {1, 0};
    return rows->is_nested || rows->is_copy ||
           write_choose(rows->writer, rows->roots[rows->root_count - 1], "folded",
                        "short rows that do not lie side by side: share a tile (1), have one each "
                        "(0)",
                        values, 2);
}

/* Rows that are loops, where tiles have few columns: they become columns, too, or a part of them.
 * Returns the innermost side. */
static int fold_loops(struct rows *rows, int last, int64_t width) {
    for (int s = last; s-- > 0 && columns_so_far(rows) < LEAST;) {
        int64_t most = width / columns_so_far(rows);
        if (rows->sides[s].is_column || rows->sides[s].is_across || s == longest_row_side(rows) ||
            rows->sides[s].n == 1 || most < 2 || rows->side_count == ROWS_MAX_SIDES)
            continue;
        int64_t part =
            rows->sides[s].n <= most ? rows->sides[s].n : rows_divisor(rows->sides[s].n, most);
        if (part < 2 || !may_lie_beside(rows, s, last))
            continue;
        if (!choose_folded(rows))
            return last;
        if (part < rows->sides[s].n) {
            rows_insert_side(rows, s, rows->sides[s].n / part);
            s++;
            last++;
        }
        rows->sides[s].is_column = true;
    }
    return last;
}

/* Short rows: several of them lie beside each other in a partition. */
static void pack_rows(struct rows *rows, int last, int64_t width) {
    int64_t n = columns_so_far(rows);
    int most = longest_row_side(rows);
    enum beside beside = most < 0 ? BESIDE_NOT : may_lie_beside(rows, most, last);
    if (!beside || rows->side_count == ROWS_MAX_SIDES)
        return;
    if (beside == BESIDE_AGAIN)
        width = MIN_OF(width, LARGEST_AGAIN);
    if (n * 2 > width)
        return;
    int64_t rest = rows->sides[most].n / PARTITIONS;
    int64_t packed = rows_divisor(rows->sides[most].n, MIN_OF(width / n, MAX_OF(rest, 1)));
    int64_t left = packed ? rows->sides[most].n / packed : 0;
    if (packed < 2 || (beside == BESIDE_AGAIN && left > PARTITIONS && left % PARTITIONS) ||
        (beside == BESIDE_AGAIN && !choose_folded(rows)))
        return;
    rows_insert_side(rows, most, rows->sides[most].n / packed);
    rows->sides[most + 1].is_column = true;
    rows->sides[most].is_column = false;
}

static bool has_products(const struct rows *rows) {
    for (size_t i = 0; i < rows->leaves.len; i++)
        if (rows->leaves.at[i].product || rows->leaves.at[i].is_sum)
            return true;
    return false;
}

/* Into how many rows the last side is folded where the other ones would leave most partitions
 * empty; 1: it is not. */
static int64_t rows_of_last(const struct rows *rows) {
    int last = rows->side_count - 1;
    int64_t n = rows->sides[last].n, most = 1;
    for (int s = 0; s < last; s++)
        most = MAX_OF(most, rows->sides[s].n);
    if (rows->is_nested || has_products(rows) || rows->side_count == ROWS_MAX_SIDES)
        return 1;
    int64_t folded = rows_divisor(n, MIN_OF(PARTITIONS, n / LEAST_FOLDED));
    return folded >= 2 * most ? folded : 1;
}

/* Where nothing needs whole rows, the innermost side is the free dimension; where it is all there
 * is, or nearly so, it is folded over the partitions. */
static void choose_columns(struct rows *rows, int64_t width) {
    if (rows->columns || rows->side_count == 0)
        return;
    int last = rows->side_count - 1;
    int64_t folded = last && !rows->is_upright ? rows_of_last(rows) : 1;
    if (folded > 1) {
        rows_insert_side(rows, last, folded);
        last++;
    } else if (rows->side_count == 1 && rows->sides[0].n > PARTITIONS) {
        /* Several tiles, so that the next one is loaded while one is worked on. */
        int64_t n = rows->sides[0].n;
        int64_t most = MIN_OF(width, MAX_OF(n / (TILES * PARTITIONS), LEAST));
        int64_t wide = rows_divisor(n, most);
        if (n / wide < PARTITIONS)
            wide = n / rows_divisor(n, PARTITIONS);
        if (wide < n) {
            rows_insert_side(rows, 0, n / wide);
            last = 1;
        }
    }
    rows->sides[last].is_column = true;
    if (!has_products(rows) && !rows->is_upright)
        last = fold_loops(rows, last, width);
    pack_rows(rows, last, width);
}

/* Rows that leave most partitions empty lie above each other: a part of a loop does. */
static void stack_rows(struct rows *rows, int partition) {
    static const int64_t values[] = {1, 0};
    int64_t n = rows->sides[partition].n;
    if (rows->is_nested || rows->is_copy || rows->is_upright || rows->across || rows->whole_rows ||
        n < LEAST_STACKED || n * 2 > PARTITIONS || has_products(rows) ||
        rows->side_count == ROWS_MAX_SIDES)
        return;
    for (size_t i = 0; i < rows->nodes.len; i++)
        if (rows_is_scan(rows, rows->nodes.at[i]))
            return;
    for (int s = rows->side_count; s-- > 0;) {
        int64_t many =
            rows->sides[s].role == SIDE_LOOP ? rows_divisor(rows->sides[s].n, PARTITIONS / n) : 1;
        if (many < 2)
            continue;
        if (!write_choose(rows->writer, rows->roots[rows->root_count - 1], "stacked",
                          "rows that leave partitions empty: lie above each other (1), come one by "
                          "one (0)",
                          values, 2))
            return;
        enum side_role roles[ROWS_MAX_SIDES + 1];
        for (int k = 0; k < rows->side_count; k++)
            roles[k < s ? k : k + 1] = rows->sides[k].role;
        roles[s] = SIDE_LOOP;
        roles[s + 1] = SIDE_STACK;
        rows_insert_side(rows, s, rows->sides[s].n / many);
        for (int k = 0; k < rows->side_count; k++)
            rows->sides[k].role = roles[k];
        return;
    }
}

/* Of the row sides the longest one lies on the partitions; the others are loops. */
void rows_choose_sides(struct rows *rows, int64_t width) {
    choose_columns(rows, width);
    int best = longest_row_side(rows);
    for (int s = 0; s < rows->side_count; s++)
        rows->sides[s].role = rows->sides[s].is_column ? SIDE_COLUMN : SIDE_LOOP;
    if (best < 0)
        return;
    rows->sides[best].role = SIDE_PARTITION;
    stack_rows(rows, best);
}
