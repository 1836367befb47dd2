/* SPDX-License-Identifier: Apache-2.0 */
/* A stage over tiles of rows: operations that go element by element, with reductions and scans
 * along dimensions that then lie whole in the free dimension of a tile. Row dimensions become
 * partitions and loops. */
#include "write/rows.h"

#include <math.h>
#include <stdlib.h>

#define CHUNK                                                                          \
    2048 /* elements of a tile along the free dimension where nothing needs them whole \
          */

bool rows_is_fusable(enum graph_kind kind) {
    return kind == GRAPH_UNARY || kind == GRAPH_BINARY || kind == GRAPH_CAST ||
           kind == GRAPH_WHERE || kind == GRAPH_REDUCE || kind == GRAPH_SCAN;
}

/* ---- what a stage consists of ---------------------------------------------------------------- */

static bool is_inner(const struct writer *writer, int node, int root) {
    return rows_is_fusable(writer->graph->nodes[node].op->kind) &&
           (node == root || !writer->values[node].is_root);
}

static int by_number(const void *a, const void *b) {
    return *(const int *)a - *(const int *)b;
}

/* The nodes of a stage in order, and what they read. */
static void collect(struct rows *rows, int root) {
    if (rows->is_copy) {
        *vec_push(&rows->leaves) = (struct leaf){.node = root};
        return;
    }
    VEC(int) todo = {0};
    char *seen = arena_alloc(rows->writer->arena, (size_t)rows->writer->graph->count + 1, 1);
    *vec_push(&todo) = root;
    seen[root] = 1;
    while (todo.len) {
        int node = todo.at[--todo.len];
        if (!is_inner(rows->writer, node, root)) {
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
    qsort(rows->nodes.at, rows->nodes.len, sizeof *rows->nodes.at, by_number);
}

static void rows_free(struct rows *rows) {
    vec_free(&rows->leaves);
    vec_free(&rows->nodes);
}

/* Spreads the stage's domain to a node's shape; false where they do not fit. */
static bool join(struct rows *rows, const struct graph_node *node) {
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
static unsigned axes_of(const struct writer *writer, int node) {
    const struct graph_node *row = &writer->graph->nodes[node];
    unsigned bits = 0;
    if (row->op->kind == GRAPH_REDUCE || row->op->kind == GRAPH_SCAN)
        for (int i = 0; i < row->axis_count; i++)
            bits |= 1u << (row->ndim - 1 - row->axes[i]);
    return bits;
}

/* Elements of a tile that hold a whole row, in SBUF's bytes. */
static bool row_fits(const struct rows *rows) {
    double elements = 1;
    for (int d = 0; d < rows->ndim; d++)
        if (rows->columns >> (rows->ndim - 1 - d) & 1)
            elements *= (double)rows->shape[d];
    double tiles = (double)(rows->nodes.len + rows->leaves.len + 2);
    return elements * 4 * tiles <= rows->writer->spec->sbuf_bytes * 0.9;
}

int rows_conflict(struct writer *writer, int root) {
    struct rows rows = {.writer = writer, .root = root};
    collect(&rows, root);
    int cut = -1;
    for (size_t i = rows.nodes.len; cut < 0 && i-- > 0;) {
        int node = rows.nodes.at[i];
        const struct graph_node *row = &writer->graph->nodes[node];
        unsigned axes = axes_of(writer, node);
        const struct graph_node *whole = axes ? &writer->graph->nodes[row->in[0]] : row;
        bool fits = join(&rows, whole) && (!axes || !rows.columns || axes == rows.columns);
        if (!fits)
            cut = node == root ? row->in[0] : node;
        rows.columns |= axes;
    }
    /* A row that is too long is reduced piece by piece, in a stage of its own. */
    for (size_t i = 0; cut < 0 && !row_fits(&rows) && i < rows.nodes.len; i++)
        if (axes_of(writer, rows.nodes.at[i]) && rows.nodes.at[i] != root)
            cut = rows.nodes.at[i];
    if (cut >= 0 &&
        (!rows_is_fusable(writer->graph->nodes[cut].op->kind) || writer->values[cut].is_root))
        cut = -1;
    rows_free(&rows);
    return cut;
}

/* ---- the domain, divided --------------------------------------------------------------------- */

static int by_size(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Sizes of factors, outermost first, into which all arrays divide a dimension. */
static int common_factors(const struct rows *rows, int d, int64_t *sizes) {
    int64_t cuts[64];
    int n = 0;
    cuts[n++] = 1;
    for (size_t i = 0; i < rows->leaves.len; i++) {
        const struct dimension *dim = &rows->leaves.at[i].view.dims[d];
        int64_t inner = 1;
        for (int f = dim->count; f-- > 0 && n < 63;)
            cuts[n++] = inner *= dim->at[f].n;
    }
    cuts[n++] = rows->shape[d];
    qsort(cuts, (size_t)n, sizeof *cuts, by_size);
    int count = 0;
    for (int i = n; i-- > 1;) {
        if (cuts[i] == cuts[i - 1])
            continue;
        if (cuts[i] % cuts[i - 1] || count == VIEW_MAX_FACTORS)
            return -1;
        sizes[count++] = cuts[i] / cuts[i - 1];
    }
    return count;
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
        for (int f = 0; f < count; f++)
            rows->sides[rows->side_count++] = (struct side){
                .n = sizes[f], .is_column = rows->columns >> (rows->ndim - 1 - d) & 1};
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
        bool fits = rows->sides[s].is_column == rows->sides[s + 1].is_column;
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
static int64_t divisor(int64_t n, int64_t most) {
    for (int64_t d = most < n ? most : n; d > 1; d--)
        if (n % d == 0)
            return d;
    return 1;
}

/* Where nothing needs whole rows, the innermost side is the free dimension; where it is all there
 * is, it is folded over the partitions. */
static void choose_columns(struct rows *rows) {
    if (rows->columns || rows->side_count == 0)
        return;
    int last = rows->side_count - 1;
    if (rows->side_count == 1 && rows->sides[0].n > PARTITIONS) {
        int64_t n = rows->sides[0].n, wide = divisor(n, CHUNK);
        if (n / wide < PARTITIONS)
            wide = n / divisor(n, PARTITIONS);
        if (wide < n) {
            insert_side(rows, 0, n / wide);
            last = 1;
        }
    }
    rows->sides[last].is_column = true;
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

/* Of the row sides the longest one lies on the partitions; the others are loops. */
static void choose_partitions(struct rows *rows) {
    int best = -1;
    for (int s = 0; s < rows->side_count; s++) {
        struct side *side = &rows->sides[s];
        side->role = side->is_column ? SIDE_COLUMN : SIDE_LOOP;
        if (!side->is_column && fits_products(rows, s) &&
            (best < 0 || side->n > rows->sides[best].n))
            best = s;
    }
    if (best >= 0)
        rows->sides[best].role = SIDE_PARTITION;
}

/* The domain as a whole can be counted. */
static bool is_countable(const struct rows *rows) {
    int64_t size = 1;
    for (int d = 0; d < rows->ndim; d++)
        if (__builtin_mul_overflow(size, rows->shape[d], &size))
            return false;
    return true;
}

/* The product whose tiles are made for a view, if it lies nowhere. */
static struct product *product_behind(const struct writer *writer, const struct view *view) {
    const struct buffer *buffer = &writer->buffers.at[view->buffer];
    return buffer->is_made ? writer->values[buffer->node].product : NULL;
}

/* Whether the tiles of products that are made here lie as the stage's do. */
static bool match_products(const struct rows *rows) {
    for (size_t i = 0; i < rows->leaves.len; i++) {
        const struct leaf *leaf = &rows->leaves.at[i];
        int64_t row = 0, column = 0, count = 0;
        int columns = 0;
        for (int s = 0; s < rows->side_count; s++) {
            if (rows->sides[s].role == SIDE_PARTITION) {
                row = leaf->strides[s];
                count = rows->sides[s].n;
            }
            if (rows->sides[s].role != SIDE_COLUMN)
                continue;
            column = leaf->strides[s];
            columns++;
        }
        if (leaf->product &&
            (columns != 1 || !product_match(leaf->product, count, row, column, leaf->view.offset)))
            return false;
    }
    return true;
}

static bool prepare(struct rows *rows, const struct view *to) {
    collect(rows, rows->root);
    for (size_t i = 0; i < rows->nodes.len; i++) {
        const struct graph_node *row = &rows->writer->graph->nodes[rows->nodes.at[i]];
        unsigned axes = axes_of(rows->writer, rows->nodes.at[i]);
        rows->columns |= axes;
        if (!join(rows, row) || (axes && !join(rows, &rows->writer->graph->nodes[row->in[0]])))
            return false;
    }
    if (!rows->nodes.len && !join(rows, &rows->writer->graph->nodes[rows->root]))
        return false;
    if (!is_countable(rows))
        return false;
    size_t kept = 0;
    for (size_t i = 0; i < rows->leaves.len; i++) {
        struct leaf leaf = rows->leaves.at[i];
        struct view view;
        if (rows->writer->values[leaf.node].has_number)
            continue;
        if (!rows->writer->values[leaf.node].has_view)
            return false;
        view = rows->writer->values[leaf.node].view;
        if (!view_spread(&view, rows->shape, rows->ndim, &leaf.view))
            return false;
        leaf.product = product_behind(rows->writer, &view);
        rows->leaves.at[kept++] = leaf;
    }
    rows->leaves.len = kept;
    struct leaf out = {.node = -1};
    if (!view_spread(to, rows->shape, rows->ndim, &out.view))
        return false;
    *vec_push(&rows->leaves) = out;
    if (!divide(rows))
        return false;
    merge_sides(rows);
    choose_columns(rows);
    choose_partitions(rows);
    return match_products(rows);
}

/* ---- the stage, printed ---------------------------------------------------------------------- */

static int64_t column_elements(const struct rows *rows) {
    int64_t n = 1;
    for (int s = 0; s < rows->side_count; s++)
        if (rows->sides[s].role == SIDE_COLUMN)
            n *= rows->sides[s].n;
    return n;
}

static bool reads_row_constant(const struct rows *rows, const struct leaf *leaf) {
    for (int s = 0; s < rows->side_count; s++)
        if (rows->sides[s].role != SIDE_COLUMN && leaf->strides[s])
            return false;
    return true;
}

static void open_chunks(struct rows *rows) {
    struct writer *w = rows->writer;
    int64_t n = column_elements(rows);
    int columns = 0;
    for (int s = 0; s < rows->side_count; s++)
        columns += rows->sides[s].role == SIDE_COLUMN;
    rows->width = arena_printf(w->arena, "%lld", (long long)n);
    if (!rows->in_chunks || n <= CHUNK || columns != 1)
        return;
    int64_t chunk = divisor(n, CHUNK) >= CHUNK / 4 ? divisor(n, CHUNK) : CHUNK;
    for (int s = 0; s < rows->side_count; s++)
        if (rows->sides[s].role == SIDE_COLUMN) {
            rows->sides[s].variable = "c";
            rows->sides[s].most = n - chunk;
        }
    rows->chunk = chunk;
    write_line(w, "for c in range(0, %lld, %lld):", (long long)n, (long long)chunk);
    w->indent++;
    rows->width = arena_printf(w->arena, "%lld", (long long)chunk);
    if (n % chunk) {
        write_line(w, "cols = min(%lld, %lld - c)", (long long)chunk, (long long)n);
        rows->width = "cols";
    }
}

static struct access access_of(struct rows *rows, const struct leaf *leaf, bool narrow) {
    struct access access = {.buffer = leaf->view.buffer,
                            .offset = leaf->view.offset,
                            .rows = rows->count,
                            .cols_most = rows->chunk};
    for (int s = 0; s < rows->side_count; s++) {
        const struct side *side = &rows->sides[s];
        if (side->variable && !(side->role == SIDE_COLUMN && narrow))
            access_add(&access, side->variable, leaf->strides[s], side->most);
        if (side->role == SIDE_PARTITION)
            access.row = leaf->strides[s];
        if (side->role != SIDE_COLUMN)
            continue;
        access.cols[access.col_count] =
            narrow           ? "1"
            : side->variable ? rows->width
                             : arena_printf(rows->writer->arena, "%lld", (long long)side->n);
        access.strides[access.col_count++] = leaf->strides[s];
    }
    if (!access.col_count) {
        access.cols[0] = "1";
        access.strides[access.col_count++] = 1;
    }
    if (narrow) {
        access.col_count = 1;
        access.strides[0] = 1;
    }
    return access;
}

static const char *place_of(struct rows *rows, const struct leaf *leaf, bool narrow) {
    struct access access = access_of(rows, leaf, narrow);
    return write_access(rows->writer, &access);
}

/* What a partition of SBUF has left for each product whose tiles are made here. */
static double room_for_product(const struct rows *rows, int products) {
    double width =
        (double)(rows->in_chunks ? MIN_OF(column_elements(rows), CHUNK) : column_elements(rows));
    double wide = (double)rows->leaves.len;
    for (size_t i = 0; i < rows->nodes.len; i++)
        wide += rows->writer->graph->nodes[rows->nodes.at[i]].op->kind != GRAPH_REDUCE;
    return (rows->writer->spec->sbuf_bytes * 0.9 - wide * 4 * width) / products;
}

static bool enter_products(struct rows *rows) {
    int products = 0;
    for (size_t i = 0; i < rows->leaves.len; i++)
        products += rows->leaves.at[i].product != NULL;
    for (size_t i = 0; i < rows->leaves.len; i++) {
        const struct leaf *leaf = &rows->leaves.at[i];
        struct access access = access_of(rows, leaf, false);
        if (leaf->product && !product_enter(leaf->product, &access,
                                            room_for_product(rows, products), !rows->in_chunks))
            return false;
    }
    return true;
}

static void begin_product_rows(struct rows *rows) {
    for (size_t i = 0; i < rows->leaves.len; i++) {
        const struct leaf *leaf = &rows->leaves.at[i];
        struct access access = access_of(rows, leaf, false);
        if (leaf->product)
            product_begin_rows(leaf->product, &access);
    }
}

/* Loops over what lies neither on partitions nor in the free dimension. */
static void open_loops(struct rows *rows) {
    struct writer *w = rows->writer;
    for (int s = 0; s < rows->side_count; s++) {
        struct side *side = &rows->sides[s];
        if (side->role != SIDE_LOOP || side->n == 1)
            continue;
        side->variable = arena_printf(w->arena, "i%d", s);
        side->most = side->n - 1;
        write_line(w, "for %s in range(%lld):", side->variable, (long long)side->n);
        w->indent++;
    }
    rows->count = "1";
}

/* The loop over tiles of rows. */
static void open_rows(struct rows *rows) {
    struct writer *w = rows->writer;
    for (int s = 0; s < rows->side_count; s++) {
        struct side *side = &rows->sides[s];
        if (side->role != SIDE_PARTITION)
            continue;
        rows->count = arena_printf(w->arena, "%lld", (long long)MIN_OF(side->n, PARTITIONS));
        if (side->n <= PARTITIONS)
            continue;
        side->variable = "r";
        side->most = side->n - PARTITIONS;
        write_line(w, "for r in range(0, %lld, %d):", (long long)side->n, PARTITIONS);
        w->indent++;
        if (side->n % PARTITIONS) {
            write_line(w, "rows = min(%d, %lld - r)", PARTITIONS, (long long)side->n);
            rows->count = "rows";
        }
    }
}

/* An array that is one element wide along the columns. */
static bool is_narrow_leaf(const struct rows *rows, const struct leaf *leaf) {
    if (!rows->columns)
        return false;
    for (int s = 0; s < rows->side_count; s++)
        if (rows->sides[s].role == SIDE_COLUMN && rows->sides[s].n > 1 && leaf->strides[s])
            return false;
    return true;
}

static void load_leaf(struct rows *rows, struct leaf *leaf) {
    struct writer *w = rows->writer;
    const struct buffer *buffer = &w->buffers.at[leaf->view.buffer];
    struct tile *tile = &rows->tiles[leaf->node];
    bool narrow = is_narrow_leaf(rows, leaf);
    *tile = (struct tile){.narrow = narrow, .dtype = narrow ? "float32" : buffer->dtype};
    tile->name = arena_printf(w->arena, "%s_t%d", buffer->name, leaf->node);
    if (leaf->product) {
        struct access access = access_of(rows, leaf, narrow);
        product_fill(leaf->product, &access, tile->name);
        return;
    }
    rows_declare(rows, tile);
    write_line(w, "nisa.dma_copy(dst=%s, src=%s)", tile->name, place_of(rows, leaf, narrow));
}

static void load_leaves(struct rows *rows, bool constant) {
    for (size_t i = 0; i + 1 < rows->leaves.len; i++) {
        struct leaf *leaf = &rows->leaves.at[i];
        bool ahead = !rows->in_chunks && reads_row_constant(rows, leaf);
        if (ahead == constant)
            load_leaf(rows, leaf);
    }
}

/* Constants over rows are loaded before the loops: as many partitions as a tile ever has. */
static void load_ahead(struct rows *rows) {
    int64_t n = 1;
    for (int s = 0; s < rows->side_count; s++)
        if (rows->sides[s].role == SIDE_PARTITION)
            n = rows->sides[s].n;
    rows->count = arena_printf(rows->writer->arena, "%lld", (long long)MIN_OF(n, PARTITIONS));
    rows->width = arena_printf(rows->writer->arena, "%lld", (long long)column_elements(rows));
    if (n > PARTITIONS && n % PARTITIONS)
        return; /* the last tile has fewer rows */
    load_leaves(rows, true);
    rows->loaded_ahead = true;
}

static void tell(struct rows *rows) {
    struct writer *w = rows->writer;
    struct buf text = {0};
    int first = 0, last = 0;
    for (size_t i = 0; i < rows->nodes.len; i++) {
        const struct graph_node *row = &w->graph->nodes[rows->nodes.at[i]];
        if (i < 6)
            buf_printf(&text, "%s%s", i ? ", " : "", row->name);
        else if (i == 6)
            buf_puts(&text, ", ...");
        first = !first || (row->line && row->line < first) ? row->line : first;
        last = row->line > last ? row->line : last;
    }
    write_blank(w);
    if (!rows->nodes.len)
        write_line(w, "# A copy in the order that is needed.");
    else if (first == last)
        write_line(w, "# %s (line %d of the reference)", text.at, first);
    else
        write_line(w, "# %s (lines %d to %d of the reference)", text.at, first, last);
    buf_free(&text);
}

static void store(struct rows *rows, const struct tile *tile) {
    const struct leaf *out = &rows->leaves.at[rows->leaves.len - 1];
    bool narrow = tile->narrow;
    write_line(rows->writer, "nisa.dma_copy(dst=%s, src=%s)", place_of(rows, out, narrow),
               tile->name);
}

static bool has_inner_columns(const struct rows *rows) {
    for (size_t i = 0; i < rows->nodes.len; i++)
        if (axes_of(rows->writer, rows->nodes.at[i]) &&
            (rows->nodes.at[i] != rows->root ||
             rows->writer->graph->nodes[rows->root].op->kind == GRAPH_SCAN))
            return true;
    return false;
}

static bool emit_body(struct rows *rows) {
    struct writer *w = rows->writer;
    bool reduces = w->graph->nodes[rows->root].op->kind == GRAPH_REDUCE && rows->nodes.len > 0;
    struct tile sum = {0};
    if (reduces && rows->in_chunks)
        rows_begin_sum(rows, &sum);
    open_chunks(rows);
    load_leaves(rows, false);
    if (!rows->loaded_ahead)
        load_leaves(rows, true);
    for (size_t i = 0; i < rows->nodes.len; i++)
        if (!rows_compute(rows, rows->nodes.at[i]))
            return false;
    struct tile *result = rows_result(rows, rows->root);
    if (reduces && rows->in_chunks) {
        rows_add_sum(rows, &sum, result);
        for (int s = 0; s < rows->side_count; s++)
            if (rows->sides[s].role == SIDE_COLUMN && rows->sides[s].variable) {
                w->indent--;
                rows->sides[s].variable = NULL;
            }
        result = &sum;
    }
    store(rows, result);
    return true;
}

static bool emit(struct rows *rows, const struct view *to) {
    struct writer *w = rows->writer;
    rows->tiles = ARENA_ARRAY(w->arena, struct tile, (size_t)w->graph->count + 1);
    if (!prepare(rows, to))
        return false;
    rows->in_chunks =
        !has_inner_columns(rows) && (rows->columns == 0 || column_elements(rows) > CHUNK);
    tell(rows);
    int indent = w->indent;
    if (!rows->in_chunks)
        load_ahead(rows);
    open_loops(rows);
    bool ok = enter_products(rows);
    open_rows(rows);
    begin_product_rows(rows);
    ok = ok && emit_body(rows);
    w->indent = indent;
    return ok;
}

/* A stage that could not be written with products made in it is tried without. */
static bool put_apart(const struct rows *rows) {
    bool any = false;
    for (size_t i = 0; i < rows->leaves.len; i++)
        if (rows->leaves.at[i].product) {
            write_apart(rows->writer,
                        rows->writer->buffers.at[rows->leaves.at[i].view.buffer].node);
            any = true;
        }
    return any;
}

bool rows_emit(struct writer *writer, int root, const struct view *to) {
    struct rows rows = {.writer = writer, .root = root};
    size_t gaps = writer->written->gaps.len;
    bool ok = emit(&rows, to);
    bool apart = !ok && put_apart(&rows);
    if (!ok && !apart && writer->written->gaps.len == gaps)
        write_gap(writer, &writer->graph->nodes[root], "its arrays do not divide into tiles");
    rows_free(&rows);
    return ok;
}

bool rows_copy(struct writer *writer, int node, const struct view *to) {
    struct rows rows = {.writer = writer, .root = node, .is_copy = true};
    bool ok = emit(&rows, to);
    if (!ok)
        write_gap(writer, &writer->graph->nodes[node], "it cannot be copied to where it belongs");
    rows_free(&rows);
    return ok;
}
