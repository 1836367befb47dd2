/* SPDX-License-Identifier: Apache-2.0 */
/* A stage over tiles of rows: operations that go element by element, with reductions and scans
 * along dimensions that then lie whole in the free dimension of a tile. Row dimensions become
 * partitions and loops. Several results of one domain are computed by one stage. */
#include "write/rows.h"

#include <math.h>
#include <stdlib.h>

/* Elements of a tile along the free dimension where nothing needs them whole. */
#define CHUNK 2048
#define ENOUGH 4096      /* larger tiles gain nothing by themselves */
#define WORTH_PIECES 512 /* columns of a tile that are worth more than one instruction */
#define TEMPORARIES 3    /* tiles that live at once beside what is read and written */

bool rows_is_fusable(enum graph_kind kind) {
    return kind == GRAPH_UNARY || kind == GRAPH_BINARY || kind == GRAPH_CAST ||
           kind == GRAPH_WHERE || kind == GRAPH_REDUCE || kind == GRAPH_SCAN;
}

/* ---- what a stage consists of ---------------------------------------------------------------- */

static bool is_root_here(const struct rows *rows, int node) {
    for (int i = 0; i < rows->root_count; i++)
        if (rows->roots[i] == node)
            return true;
    return false;
}

static bool is_inner(const struct rows *rows, int node) {
    return rows_is_fusable(rows->writer->graph->nodes[node].op->kind) &&
           (is_root_here(rows, node) || !rows->writer->values[node].is_root);
}

static int by_number(const void *a, const void *b) {
    return *(const int *)a - *(const int *)b;
}

/* The nodes of a stage in order, and what they read. */
static void collect(struct rows *rows) {
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

static void rows_free(struct rows *rows) {
    vec_free(&rows->leaves);
    vec_free(&rows->nodes);
    vec_free(&rows->either);
    free(rows->tiles);
    free(rows->plans);
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

static bool is_among(const int *roots, int count, int node) {
    for (int i = 0; i < count; i++)
        if (roots[i] == node)
            return true;
    return false;
}

int rows_conflict(struct writer *writer, const int *roots, int count) {
    struct rows rows = {.writer = writer, .roots = roots, .root_count = count};
    collect(&rows);
    int cut = -1;
    for (size_t i = rows.nodes.len; cut < 0 && i-- > 0;) {
        int node = rows.nodes.at[i];
        const struct graph_node *row = &writer->graph->nodes[node];
        unsigned axes = rows_axes(writer, node);
        const struct graph_node *whole = axes ? &writer->graph->nodes[row->in[0]] : row;
        bool fits = rows_join(&rows, whole) && (!axes || !rows.columns || axes == rows.columns);
        if (!fits)
            cut = is_among(roots, count, node) ? row->in[0] : node;
        rows.columns |= axes;
    }
    /* A row that is too long is reduced piece by piece, in a stage of its own. */
    for (size_t i = 0; cut < 0 && !row_fits(&rows) && i < rows.nodes.len; i++)
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
    collect(&rows);
    bool reads = has_leaf(&rows, node);
    rows_free(&rows);
    return reads;
}

static bool is_constant(const struct graph_node *node) {
    return node->op->kind == GRAPH_CONSTANT;
}

bool rows_share(struct writer *writer, int first, int second) {
    struct rows a = {.writer = writer, .roots = &first, .root_count = 1};
    struct rows b = {.writer = writer, .roots = &second, .root_count = 1};
    collect(&a);
    collect(&b);
    bool shares = has_leaf(&b, first);
    for (size_t i = 0; i < a.leaves.len; i++)
        shares |= !is_constant(&writer->graph->nodes[a.leaves.at[i].node]) &&
                  has_leaf(&b, a.leaves.at[i].node);
    rows_free(&a);
    rows_free(&b);
    return shares;
}

/* The shape of a stage's domain, and how many tiles it would hold at once. */
static bool measure(struct rows *rows) {
    bool ok = true;
    for (size_t i = 0; ok && i < rows->nodes.len; i++) {
        const struct graph_node *row = &rows->writer->graph->nodes[rows->nodes.at[i]];
        unsigned axes = rows_axes(rows->writer, rows->nodes.at[i]);
        ok = (!axes || !rows->columns || axes == rows->columns) && rows_join(rows, row) &&
             (!axes || rows_join(rows, &rows->writer->graph->nodes[row->in[0]]));
        rows->columns |= axes;
    }
    return ok;
}

/* What goes element by element may be computed where rows lie whole. */
static bool fits_domain(const struct rows *one, const struct rows *all) {
    return one->ndim == all->ndim && (one->columns == all->columns || !one->columns) &&
           memcmp(one->shape, all->shape, (size_t)one->ndim * sizeof *one->shape) == 0;
}

bool rows_can_share(struct writer *writer, const int *roots, int count) {
    struct rows all = {.writer = writer, .roots = roots, .root_count = count};
    collect(&all);
    bool ok = measure(&all) && row_fits(&all) && all.leaves.len + (size_t)count <= 12;
    for (int i = 0; ok && i < count; i++) {
        struct rows one = {.writer = writer, .roots = &roots[i], .root_count = 1};
        collect(&one);
        ok = measure(&one) && fits_domain(&one, &all);
        rows_free(&one);
    }
    rows_free(&all);
    return ok;
}

/* ---- the arrays of a stage ------------------------------------------------------------------- */

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

static bool spread_leaves(struct rows *rows, const struct view *to) {
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
    for (int i = 0; i < rows->root_count; i++) {
        struct leaf out = {.node = rows->roots[i], .is_result = true};
        if (!view_spread(&to[i], rows->shape, rows->ndim, &out.view))
            return false;
        *vec_push(&rows->leaves) = out;
    }
    return true;
}

static bool has_inner_columns(const struct rows *rows) {
    for (size_t i = 0; i < rows->nodes.len; i++) {
        int node = rows->nodes.at[i];
        bool is_scan = rows->writer->graph->nodes[node].op->kind == GRAPH_SCAN;
        if (rows_axes(rows->writer, node) &&
            (rows->root_count > 1 || node != rows->roots[0] || is_scan))
            return true;
    }
    return false;
}

/* Columns of a tile where nothing needs whole rows: two tiles of everything fit. */
static int64_t choose_width(struct rows *rows) {
    static const int64_t widths[] = {8192, 4096, 3072, 2048, 1024, 512};
    int64_t values[COUNT_OF(widths)];
    int count = 0;
    bool products = false; /* a part of a row takes several of their tiles */
    for (size_t i = 0; i < rows->leaves.len; i++)
        products |= rows->leaves.at[i].product != NULL;
    double tiles = 2 * (double)(rows->leaves.len + TEMPORARIES);
    for (size_t i = 0; i < COUNT_OF(widths) - products; i++)
        if ((double)widths[i] * 4 * tiles <= rows->writer->spec->sbuf_bytes * 0.95)
            values[count++] = widths[i];
    if (!count)
        return CHUNK;
    if (values[0] > ENOUGH && count > 1) { /* offered, but gains nothing by itself */
        values[0] = values[1];
        values[1] = widths[0];
    }
    return write_choose(rows->writer, rows->roots[rows->root_count - 1], "columns",
                        "columns of a tile at most", values, count);
}

static bool prepare(struct rows *rows, const struct view *to) {
    collect(rows);
    if (!measure(rows))
        return false;
    if (!rows->nodes.len && !rows_join(rows, &rows->writer->graph->nodes[rows->roots[0]]))
        return false;
    if (!is_countable(rows) || !spread_leaves(rows, to) || !rows_divide(rows))
        return false;
    rows->chunk = CHUNK;
    if (!has_inner_columns(rows) && !rows->is_copy)
        rows->chunk = choose_width(rows);
    rows_choose_sides(rows, rows->chunk);
    int64_t n = rows_column_elements(rows);
    rows->in_chunks = !has_inner_columns(rows) && (rows->columns == 0 || n > rows->chunk);
    return match_products(rows);
}

/* ---- the stage, printed ---------------------------------------------------------------------- */

static bool reads_row_constant(const struct rows *rows, const struct leaf *leaf) {
    for (int s = 0; s < rows->side_count; s++)
        if (rows->sides[s].role != SIDE_COLUMN && leaf->strides[s])
            return false;
    return true;
}

static void open_chunks(struct rows *rows) {
    struct writer *w = rows->writer;
    int64_t n = rows_column_elements(rows), most = rows->chunk;
    int columns = 0;
    struct side *along = NULL;
    for (int s = 0; s < rows->side_count; s++)
        if (rows->sides[s].role == SIDE_COLUMN) {
            along = &rows->sides[s];
            columns++;
        }
    rows->width = arena_printf(w->arena, "%lld", (long long)n);
    bool cuts = rows->in_chunks && n > most && columns == 1;
    rows->chunk = n;
    if (!cuts)
        return;
    int64_t even = rows_divisor(n, most);
    rows->chunk = even >= most / 4 ? even : most;
    along->variable = "c";
    along->most = n - rows->chunk;
    write_line(w, "for c in range(0, %lld, %lld):", (long long)n, (long long)rows->chunk);
    w->indent++;
    rows->width = arena_printf(w->arena, "%lld", (long long)rows->chunk);
    rows->uneven = n % rows->chunk;
    if (rows->uneven) {
        write_line(w, "cols = min(%lld, %lld - c)", (long long)rows->chunk, (long long)n);
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
    double width = (double)(rows->in_chunks ? MIN_OF(rows_column_elements(rows), rows->chunk)
                                            : rows_column_elements(rows));
    double wide = (double)rows->leaves.len;
    for (size_t i = 0; i < rows->nodes.len; i++)
        wide += rows->writer->graph->nodes[rows->nodes.at[i]].op->kind != GRAPH_REDUCE;
    return (rows->writer->spec->sbuf_bytes * 0.9 - wide * 4 * width) / products;
}

/* Whether a tile has all columns. */
static bool has_whole_rows(const struct rows *rows) {
    return !rows->in_chunks || rows_column_elements(rows) <= rows->chunk;
}

static bool enter_products(struct rows *rows, bool whole_rows) {
    int products = 0;
    for (size_t i = 0; i < rows->leaves.len; i++)
        products += rows->leaves.at[i].product != NULL;
    for (size_t i = 0; i < rows->leaves.len; i++) {
        const struct leaf *leaf = &rows->leaves.at[i];
        struct access access = access_of(rows, leaf, false);
        if (leaf->product &&
            !product_enter(leaf->product, &access, room_for_product(rows, products), whole_rows))
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
    int64_t n = 1;
    for (int s = 0; s < rows->side_count; s++)
        if (rows->sides[s].role == SIDE_COLUMN) {
            n *= rows->sides[s].n;
            if (rows->sides[s].n > 1 && leaf->strides[s])
                return false;
        }
    return rows->columns || (n > 1 && !rows->is_copy);
}

static void load_leaf(struct rows *rows, struct leaf *leaf) {
    struct writer *w = rows->writer;
    const struct buffer *buffer = &w->buffers.at[leaf->view.buffer];
    bool narrow = is_narrow_leaf(rows, leaf);
    const char *name = arena_printf(w->arena, "%s_t%d", buffer->name, leaf->node);
    struct tile *tile = &rows->tiles[leaf->node];
    if (leaf->product) {
        struct access access = access_of(rows, leaf, narrow);
        product_fill(leaf->product, &access, name);
        rows_busy(rows, 0, 1, false); /* its sums leave PSUM by Scalar, unless it is told not to */
        *tile = (struct tile){.name = name, .dtype = buffer->dtype, .narrow = narrow, .scale = 1};
        return;
    }
    *tile = rows_tile(rows, name, narrow ? "float32" : buffer->dtype, narrow);
    write_line(w, "nisa.dma_copy(dst=%s, src=%s)", tile->name, place_of(rows, leaf, narrow));
}

static void load_leaves(struct rows *rows, bool constant) {
    for (size_t i = 0; i < rows->leaves.len; i++) {
        struct leaf *leaf = &rows->leaves.at[i];
        bool ahead = !rows->in_chunks && reads_row_constant(rows, leaf);
        if (!leaf->is_result && ahead == constant)
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
    rows->width = arena_printf(rows->writer->arena, "%lld", (long long)rows_column_elements(rows));
    rows->loaded_ahead = false;
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

static void store(struct rows *rows, int result, struct tile *tile) {
    struct leaf *out = &rows->leaves.at[rows->leaves.len - (size_t)rows->root_count];
    out += result;
    bool narrow = is_narrow_leaf(rows, out);
    if (tile->narrow && !narrow)
        *tile = rows_widened(rows, tile, tile->dtype);
    write_line(rows->writer, "nisa.dma_copy(dst=%s, src=%s)", place_of(rows, out, narrow),
               tile->name);
}

static void close_chunks(struct rows *rows) {
    for (int s = 0; s < rows->side_count; s++)
        if (rows->sides[s].role == SIDE_COLUMN && rows->sides[s].variable) {
            rows->writer->indent--;
            rows->sides[s].variable = NULL;
        }
}

/* The nodes from one on to another; `result` counts the results that were stored. */
static bool compute(struct rows *rows, size_t from, size_t to, int *result) {
    for (size_t i = from; i < to; i++) {
        int node = rows->nodes.at[i];
        if (!rows_compute(rows, node))
            return false;
        if (is_root_here(rows, node))
            store(rows, (*result)++, rows_result(rows, node));
    }
    return true;
}

static bool emit_body(struct rows *rows) {
    int root = rows->roots[0];
    bool sums = rows->in_chunks && rows->nodes.len && rows->root_count == 1 &&
                rows->writer->graph->nodes[root].op->kind == GRAPH_REDUCE;
    struct tile sum = {0};
    if (sums)
        rows_begin_sum(rows, &sum);
    open_chunks(rows);
    load_leaves(rows, false);
    if (!rows->loaded_ahead)
        load_leaves(rows, true);
    int results = 0;
    if (!sums && rows->nodes.len)
        return compute(rows, 0, rows->nodes.len, &results);
    for (size_t i = 0; i < rows->nodes.len; i++)
        if (!rows_compute(rows, rows->nodes.at[i]))
            return false;
    struct tile *result = rows_result(rows, root);
    if (sums) {
        rows_add_sum(rows, &sum, result);
        close_chunks(rows);
        result = &sum;
    }
    store(rows, 0, result);
    return true;
}

/* ---- two phases ------------------------------------------------------------------------------ */

static struct side *partition_side(struct rows *rows) {
    for (int s = 0; s < rows->side_count; s++)
        if (rows->sides[s].role == SIDE_PARTITION)
            return &rows->sides[s];
    return NULL;
}

/* The nodes up to a reduction, which is the one after `from` others; 0: there is none. */
static size_t up_to_reduction(const struct rows *rows, size_t from) {
    for (size_t i = from; i < rows->nodes.len; i++)
        if (rows->writer->graph->nodes[rows->nodes.at[i]].op->kind == GRAPH_REDUCE)
            return i + 1;
    return 0;
}

/* Whether the next tile of rows is begun before this one is done with. Engines take their
 * instructions in order: of two reductions with work between them, as a softmax has, the first one
 * of a tile would wait for all that the other engines still do with the tile before. */
static bool has_phases(struct rows *rows) {
    static const int64_t values[] = {1, 0};
    const struct side *side = partition_side(rows);
    bool makes = false;
    for (size_t i = 0; i < rows->leaves.len; i++)
        makes |= rows->leaves.at[i].product != NULL;
    size_t first = up_to_reduction(rows, 0);
    return makes && !rows->in_chunks && side && side->n > PARTITIONS && first &&
           up_to_reduction(rows, first) &&
           write_choose(rows->writer, rows->roots[rows->root_count - 1], "phases",
                        "the next tile is begun before this one is done with (1), or not (0)",
                        values, 2);
}

/* What the first phase made is called "now_" later on: its names are those of the next tile then.
 */
static void rename_tiles(struct rows *rows, const struct tile *before) {
    struct buf said = {0};
    for (int i = 0; i < rows->writer->graph->count; i++) {
        struct tile *tile = &rows->tiles[i];
        const char **names[] = {&tile->name, &tile->by, &tile->plus};
        bool made = tile->name != before[i].name;
        for (size_t k = 0; k < COUNT_OF(names) && made; k++) {
            if (!*names[k])
                continue;
            const char *now = arena_printf(rows->writer->arena, "now_%s", *names[k]);
            const char *line = arena_printf(rows->writer->arena, "%s = %s\n", now, *names[k]);
            if (!said.at || !strstr(said.at, line))
                write_line(rows->writer, "%s = %s", now, *names[k]);
            buf_puts(&said, line);
            *names[k] = now;
        }
    }
    buf_free(&said);
}

static void load(struct rows *rows) {
    begin_product_rows(rows);
    load_leaves(rows, false);
    if (!rows->loaded_ahead)
        load_leaves(rows, true);
}

/* How far the stage was printed, and on which tile. */
struct progress {
    struct tile *tiles;
    int helpers;
    size_t either_met;
    const char *variable, *count;
};

static void change_places(struct rows *rows, struct progress *other) {
    struct side *side = partition_side(rows);
    struct progress here = {rows->tiles, rows->helpers, rows->either_met, side->variable,
                            rows->count};
    rows->tiles = other->tiles;
    rows->helpers = other->helpers;
    rows->either_met = other->either_met;
    side->variable = other->variable;
    rows->count = other->count;
    *other = here;
}

/* Begins the part of the loop that is for the next tile. */
static void open_next(struct rows *rows, struct progress *other, const char *why) {
    write_line(rows->writer, "if ahead < %lld:  # %s", (long long)partition_side(rows)->n, why);
    rows->writer->indent++;
    change_places(rows, other);
}

static void close_next(struct rows *rows, struct progress *other) {
    rows->writer->indent--;
    change_places(rows, other);
}

/* The loop over rows once its first tile is begun. */
static bool emit_steady(struct rows *rows, struct progress next, int results) {
    struct writer *w = rows->writer;
    size_t first = up_to_reduction(rows, 0), second = up_to_reduction(rows, first);
    const struct side *side = partition_side(rows);
    size_t either = rows->either.len;
    struct busy busy = rows->busy;
    int again = 0;
    next.variable = "ahead";
    next.count = side->n % PARTITIONS ? "coming" : rows->count;
    open_rows(rows);
    rename_tiles(rows, next.tiles);
    write_line(w, "ahead = r + %d", PARTITIONS);
    open_next(rows, &next, "the next tile comes while this one is worked on");
    if (side->n % PARTITIONS)
        write_line(w, "coming = min(%d, %lld - ahead)", PARTITIONS, (long long)side->n);
    load(rows);
    close_next(rows, &next);
    rows->busy = busy;
    bool ok = compute(rows, first, second, &results);
    busy = rows->busy;
    size_t met = rows->either.len;
    open_next(rows, &next, "and is reduced before this one ends");
    ok = ok && compute(rows, 0, first, &again);
    close_next(rows, &next);
    rows->busy = busy; /* all this was counted with the first tile */
    rows->either.len = rows->on_scalar ? either : met;
    return ok && compute(rows, second, rows->nodes.len, &results);
}

/* The first tile, and the loop. */
static bool emit_phases(struct rows *rows) {
    size_t count = (size_t)rows->writer->graph->count + 1;
    struct progress next = {.tiles = ARENA_ARRAY(rows->writer->arena, struct tile, count),
                            .helpers = rows->helpers,
                            .either_met = rows->either_met};
    int results = 0;
    open_chunks(rows);
    rows->count = arena_printf(rows->writer->arena, "%d", PARTITIONS);
    memcpy(next.tiles, rows->tiles, count * sizeof *next.tiles);
    load(rows);
    return compute(rows, 0, up_to_reduction(rows, 0), &results) && emit_steady(rows, next, results);
}

/* The stage once; what it prints may be thrown away. */
static bool emit_once(struct rows *rows) {
    size_t count = (size_t)rows->writer->graph->count + 1;
    int indent = rows->writer->indent;
    int64_t chunk = rows->chunk;
    memset(rows->tiles, 0, count * sizeof *rows->tiles);
    rows->helpers = 0;
    rows->either_met = 0;
    for (int s = 0; s < rows->side_count; s++)
        rows->sides[s].variable = NULL;
    if (!rows->in_chunks)
        load_ahead(rows);
    open_loops(rows);
    bool phases = has_phases(rows);
    bool ok = enter_products(rows, has_whole_rows(rows) && !phases);
    if (phases) {
        ok = ok && emit_phases(rows);
    } else {
        open_rows(rows);
        begin_product_rows(rows);
        ok = ok && emit_body(rows);
    }
    rows->writer->indent = indent;
    rows->tile_columns = rows->chunk;
    rows->chunk = chunk;
    return ok;
}

/* Instructions that either engine can run go to Scalar while that makes the busier one less busy,
 * the ones that Vector spends most time on first. */
static void balance(struct rows *rows) {
    rows->on_scalar = ARENA_ARRAY(rows->writer->arena, bool, rows->either.len + 1);
    struct busy busy = rows->busy;
    for (size_t i = 0; i < rows->either.len; i++)
        busy.vector += rows->either.at[i].vector;
    for (;;) {
        const struct busy *best = NULL;
        for (size_t i = 0; i < rows->either.len; i++) {
            const struct busy *at = &rows->either.at[i];
            bool gains = MAX_OF(busy.vector - at->vector, busy.scalar + at->scalar) <
                         MAX_OF(busy.vector, busy.scalar);
            if (!rows->on_scalar[i] && gains && (!best || at->vector > best->vector))
                best = at;
        }
        if (!best)
            return;
        rows->on_scalar[best - rows->either.at] = true;
        busy.vector -= best->vector;
        busy.scalar += best->scalar;
    }
}

/* Where Scalar and Vector take turns on a tile, each would wait for the other. */
static int64_t choose_pieces(struct rows *rows) {
    static const int64_t values[] = {2, 1, 4};
    bool turns = rows->busy.scalar > 0.3 * rows->busy.vector && rows->busy.vector > 0;
    if (!rows->in_chunks || rows->columns || rows->is_copy || rows->uneven ||
        rows->tile_columns % 4 || rows->tile_columns < WORTH_PIECES || !turns)
        return 1;
    return write_choose(rows->writer, rows->roots[rows->root_count - 1], "pieces",
                        "instructions that share the columns of a tile", values, 3);
}

static bool chooses_engines(struct rows *rows) {
    static const int64_t values[] = {1, 0};
    return rows->either.len &&
           write_choose(rows->writer, rows->roots[rows->root_count - 1], "balance",
                        "what Scalar can run is shared with it (1) or left to Vector (0)", values,
                        2);
}

static bool emit(struct rows *rows, const struct view *to) {
    struct writer *w = rows->writer;
    rows->tiles = mem_alloc((size_t)w->graph->count + 1, sizeof *rows->tiles);
    rows->plans = mem_alloc((size_t)w->graph->count + 1, sizeof *rows->plans);
    if (!prepare(rows, to))
        return false;
    rows_plan(rows);
    tell(rows);
    size_t length = w->out.len;
    rows->pieces = 1;
    if (!emit_once(rows))
        return false;
    rows->pieces = choose_pieces(rows);
    if (chooses_engines(rows))
        balance(rows);
    else if (rows->pieces == 1)
        return true;
    w->out.len = length;
    w->out.at[length] = 0;
    return emit_once(rows);
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

bool rows_emit(struct writer *writer, const int *roots, int count, const struct view *to) {
    struct rows rows = {.writer = writer, .roots = roots, .root_count = count};
    size_t gaps = writer->written->gaps.len;
    bool ok = emit(&rows, to);
    bool apart = !ok && put_apart(&rows);
    if (!ok && !apart && writer->written->gaps.len == gaps)
        write_gap(writer, &writer->graph->nodes[roots[count - 1]],
                  "its arrays do not divide into tiles");
    rows_free(&rows);
    return ok;
}

bool rows_copy(struct writer *writer, int node, const struct view *to) {
    struct rows rows = {.writer = writer, .roots = &node, .root_count = 1, .is_copy = true};
    bool ok = emit(&rows, to);
    if (!ok)
        write_gap(writer, &writer->graph->nodes[node], "it cannot be copied to where it belongs");
    rows_free(&rows);
    return ok;
}
