/* SPDX-License-Identifier: Apache-2.0 */
/* A stage over tiles of rows, printed: its loops, what it loads, what it computes and stores. */
#include <stdlib.h>

#include "write/rows.h"

/* What an instruction takes beside its elements where it reduces them, too, in element times. */
#define REDUCTION_ELEMENTS 124

static bool reads_row_constant(const struct rows *rows, const struct leaf *leaf) {
    for (int s = 0; s < rows->side_count; s++)
        if (rows->sides[s].role != SIDE_COLUMN && leaf->strides[s])
            return false;
    return true;
}

void rows_open_chunks(struct rows *rows) {
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

struct access rows_access(struct rows *rows, const struct leaf *leaf, bool narrow) {
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
            continue; /* rows_open_stack has those above each other */
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

const char *rows_place(struct rows *rows, const struct leaf *leaf, bool narrow) {
    struct access access = rows_access(rows, leaf, narrow);
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

bool rows_enter_products(struct rows *rows, bool whole_rows) {
    int products = 0;
    for (size_t i = 0; i < rows->leaves.len; i++)
        products += rows->leaves.at[i].product != NULL;
    for (size_t i = 0; i < rows->leaves.len; i++) {
        const struct leaf *leaf = &rows->leaves.at[i];
        struct access access = rows_access(rows, leaf, false);
        if (leaf->product &&
            !product_enter(leaf->product, &access, room_for_product(rows, products), whole_rows))
            return false;
    }
    return true;
}

static void begin_product_rows(struct rows *rows) {
    for (size_t i = 0; i < rows->leaves.len; i++) {
        const struct leaf *leaf = &rows->leaves.at[i];
        struct access access = rows_access(rows, leaf, false);
        if (leaf->product)
            product_begin_rows(leaf->product, &access);
    }
}

/* Loops over what lies neither on partitions nor in the free dimension. */
void rows_open_loops(struct rows *rows) {
    struct writer *w = rows->writer;
    for (int s = 0; s < rows->side_count; s++) {
        struct side *side = &rows->sides[s];
        if (side->role != SIDE_LOOP || side->n == 1 || side->is_across || side->is_summed)
            continue;
        side->variable = arena_printf(w->arena, "i%d", s);
        side->most = side->n - 1;
        write_line(w, "for %s in range(%lld):", side->variable, (long long)side->n);
        w->indent++;
    }
    rows->count = "1";
}

/* Elements of a side that lies around the one on the partitions; 1: there is none. */
static int64_t stacked(const struct rows *rows) {
    for (int s = 0; s < rows->side_count; s++)
        if (rows->sides[s].role == SIDE_STACK)
            return rows->sides[s].n;
    return 1;
}

const char *rows_open_stack(struct rows *rows, const struct leaf *leaf, struct access *access) {
    struct writer *w = rows->writer;
    int64_t n = 0, own = 0, around = 0;
    for (int s = 0; s < rows->side_count; s++) {
        if (rows->sides[s].role == SIDE_PARTITION) {
            n = rows->sides[s].n;
            own = leaf->strides[s];
        }
        if (rows->sides[s].role == SIDE_STACK)
            around = leaf->strides[s];
    }
    long long many = stacked(rows), each = n;
    if (many == 1 || around == own * n)
        return arena_printf(w->arena, "0:%s", rows->count);
    write_line(w, "for q in range(%lld):", many);
    w->indent++;
    access_add(access, "q", around, many - 1);
    access->rows = arena_printf(w->arena, "%lld", each);
    return arena_printf(w->arena, "q * %lld:q * %lld + %lld", each, each, each);
}

/* The loop over tiles of rows. */
void rows_open_tiles(struct rows *rows) {
    struct writer *w = rows->writer;
    for (int s = 0; s < rows->side_count; s++) {
        struct side *side = &rows->sides[s];
        if (side->role != SIDE_PARTITION)
            continue;
        rows->count = arena_printf(w->arena, "%lld",
                                   (long long)(MIN_OF(side->n, PARTITIONS) * stacked(rows)));
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

bool rows_is_narrow_leaf(const struct rows *rows, const struct leaf *leaf) {
    int64_t n = 1;
    for (int s = 0; s < rows->side_count; s++)
        if (rows->sides[s].role == SIDE_COLUMN) {
            n *= rows->sides[s].n;
            if (rows->sides[s].n > 1 && leaf->strides[s])
                return false;
        }
    return rows->columns || (n > 1 && !rows->is_copy);
}

/* One that was loaded already reads the same elements: of two views of an array. */
static const struct tile *same_tile(const struct rows *rows, const struct leaf *leaf) {
    for (const struct leaf *one = rows->leaves.at; one < leaf; one++) {
        bool same = !one->product && !leaf->product && !leaf->is_sum &&
                    one->view.buffer == leaf->view.buffer &&
                    one->view.offset == leaf->view.offset && rows->tiles[one->node].name;
        for (int s = 0; same && s < rows->side_count; s++)
            same = one->strides[s] == leaf->strides[s];
        if (same)
            return &rows->tiles[one->node];
    }
    return NULL;
}

/* ---- loads --------------------------------------------------------------------------------- */

/* What comes from HBM lies in SBUF first. */
static void bring_into_psum(struct rows *rows, struct tile *tile) {
    struct tile from = *tile;
    tile->name = arena_printf(rows->writer->arena, "%s_psum", from.name);
    tile->in_psum = true;
    write_line(rows->writer, "%s = nl.ndarray((%s, %s), dtype=nl.float32, buffer=nl.psum)",
               tile->name, rows->count, rows->width);
    rows_activate(rows, "copy", tile, &from, NULL, NULL, NULL);
}

void rows_load_leaf(struct rows *rows, struct leaf *leaf) {
    struct writer *w = rows->writer;
    if (same_tile(rows, leaf)) {
        rows->tiles[leaf->node] = *same_tile(rows, leaf);
        return;
    }
    const struct buffer *buffer = &w->buffers.at[leaf->view.buffer];
    bool narrow = rows_is_narrow_leaf(rows, leaf);
    const char *name = arena_printf(w->arena, "%s_t%d", buffer->name, leaf->node);
    struct tile *tile = &rows->tiles[leaf->node];
    for (size_t i = 0; leaf->is_sum && i < rows->leaves.len; i++) {
        const struct product *product = rows->leaves.at[i].product;
        if (!product || !product_fill_sum(product, leaf->node, name))
            continue;
        *tile = (struct tile){.name = name, .dtype = "float32", .narrow = true, .scale = 1};
        return;
    }
    if (leaf->is_sum) {
        (void)rows_make(rows, leaf); /* or all is written once more */
        return;
    }
    if (leaf->product && product_is_read(leaf->product)) {
        *tile = (struct tile){.name = "", .dtype = buffer->dtype, .scale = 1};
        return;
    }
    if (leaf->product) {
        struct access access = rows_access(rows, leaf, narrow);
        product_fill(leaf->product, &access, name);
        bool reduces = product_finds_extremes(leaf->product);
        /* Its sums leave PSUM by Scalar, unless it is told not to. */
        int64_t parts = product_parts(leaf->product);
        double more = (double)(parts * REDUCTION_ELEMENTS) / (double)rows->chunk;
        rows_busy(rows, reduces ? 1 + more : 0, !reduces, false);
        *tile = (struct tile){.name = name, .dtype = buffer->dtype, .narrow = narrow, .scale = 1};
        return;
    }
    if (rows_load_wide(rows, leaf, tile))
        return;
    *tile = rows_tile(rows, name, narrow ? "float32" : buffer->dtype, narrow);
    struct access access = rows_access(rows, leaf, narrow);
    int indent = w->indent;
    const char *at = rows_open_stack(rows, leaf, &access), *to = tile->name;
    if (w->indent > indent)
        to = arena_printf(w->arena, "%s[%s, 0:%s]", to, at, narrow ? "1" : rows->width);
    write_line(w, "nisa.dma_copy(dst=%s, src=%s)", to, write_access(w, &access));
    w->indent = indent;
    if (!narrow && rows_wants_psum(rows, leaf->node))
        bring_into_psum(rows, tile);
}

/* The largest of the first results of each row, used as if it were ROWS_ABOVE larger. */
static void sample_rows(struct rows *rows, const struct leaf *leaf) {
    const struct softmax *softmax = &rows->softmax;
    const struct graph_node *row = &rows->writer->graph->nodes[softmax->most];
    struct access access = rows_access(rows, leaf, false);
    const char *name = arena_printf(rows->writer->arena, "%s_%d", row->name, softmax->most);
    struct tile made = rows_tile(rows, name, "float32", true);
    product_sample(leaf->product, &access, made.name);
    double samples = (double)product_samples(rows->chunk);
    rows_busy(rows, samples / (double)rows->chunk, 0, false);
    made.scale = rows->tiles[row->in[0]].scale;
    made.bias = ROWS_ABOVE;
    rows->tiles[softmax->most] = made;
}

static void fill_power(struct rows *rows, const struct leaf *leaf) {
    struct writer *w = rows->writer;
    const struct softmax *softmax = &rows->softmax;
    struct access access = rows_access(rows, leaf, false);
    struct tile *of = &rows->tiles[softmax->difference];
    struct power power = {.tile = arena_printf(w->arena, "exp_%d", softmax->power),
                          .sums = arena_printf(w->arena, "exp_%d_sums", softmax->power)};
    tile_scale_and_bias(rows, of, &power.scale, &power.bias);
    struct tile made = rows_tile(rows, power.tile, w->graph->nodes[softmax->power].dtype, false);
    write_line(w, "%s = nl.ndarray((%s, %lld), dtype=nl.float32, buffer=nl.sbuf)", power.sums,
               rows->count, (long long)product_parts(leaf->product));
    product_fill_power(leaf->product, &access, &power);
    struct tile sum =
        rows_tile(rows, arena_printf(w->arena, "sum_%d", softmax->sum), "float32", true);
    write_line(w, "nisa.tensor_reduce(dst=%s, op=nl.add, data=%s, axis=1)", sum.name, power.sums);
    rows_busy(rows, 0, 1, false);
    rows->tiles[softmax->power] = made;
    rows->tiles[softmax->sum] = sum;
}

bool rows_compute_softmax(struct rows *rows, int node) {
    const struct softmax *softmax = &rows->softmax;
    const struct leaf *leaf = NULL;
    for (size_t i = 0; softmax->is_there && i < rows->leaves.len; i++)
        if (rows->leaves.at[i].product && rows->leaves.at[i].node == softmax->product)
            leaf = &rows->leaves.at[i];
    if (!leaf || !product_is_read(leaf->product))
        return false;
    if (node == softmax->most)
        sample_rows(rows, leaf);
    else if (node == softmax->power)
        fill_power(rows, leaf);
    return node == softmax->most || node == softmax->power || node == softmax->sum;
}

static void load_leaves(struct rows *rows, bool constant) {
    for (size_t i = 0; i < rows->leaves.len; i++) {
        struct leaf *leaf = &rows->leaves.at[i];
        bool ahead = rows_has_whole(rows) && reads_row_constant(rows, leaf);
        if (!leaf->is_result && ahead == constant)
            rows_load_leaf(rows, leaf);
    }
}

void rows_load(struct rows *rows) {
    begin_product_rows(rows);
    load_leaves(rows, false);
    if (!rows->loaded_ahead)
        load_leaves(rows, true);
}

bool rows_has_whole(const struct rows *rows) {
    return !rows->in_chunks || (!rows->is_carried && rows_column_elements(rows) <= rows->chunk);
}

/* Whether a node is computed of nothing but what is there before the loops. */
static bool is_ahead(const struct rows *rows, int node) {
    const struct graph_node *row = &rows->writer->graph->nodes[node];
    enum graph_kind kind = row->op->kind;
    bool elements = kind == GRAPH_UNARY || kind == GRAPH_BINARY || kind == GRAPH_CAST;
    if (!elements || rows_has_root(rows, node) || rows->plans[node].form == FORM_WINDOWS)
        return false;
    bool any = false;
    for (int i = 0; i < row->in_count; i++) {
        bool number = rows->writer->values[row->in[i]].has_number;
        if (!number && !rows->ahead[row->in[i]])
            return false;
        any |= !number;
    }
    return any;
}

/* What tiles need of them is not computed again for each. */
static bool compute_ahead(struct rows *rows) {
    struct busy busy = rows->busy;
    for (size_t i = 0; i < rows->leaves.len; i++) {
        const struct leaf *leaf = &rows->leaves.at[i];
        rows->ahead[leaf->node] |= !leaf->is_result && rows->tiles[leaf->node].name;
    }
    for (size_t i = 0; i < rows->nodes.len; i++) {
        int node = rows->nodes.at[i];
        if (!is_ahead(rows, node))
            continue;
        if (!rows_compute(rows, node))
            return false;
        rows->ahead[node] = true;
        if (rows->plans[node].form != FORM_UNUSED && !rows->tiles[node].narrow)
            (void)rows_result(rows, node);
    }
    rows->busy = busy;
    return true;
}

/* Constants over rows are loaded before the loops: as many partitions as a tile ever has. */
bool rows_load_ahead(struct rows *rows) {
    int64_t n = 1;
    for (int s = 0; s < rows->side_count; s++)
        if (rows->sides[s].role == SIDE_PARTITION)
            n = rows->sides[s].n;
    rows->count = arena_printf(rows->writer->arena, "%lld",
                               (long long)(MIN_OF(n, PARTITIONS) * stacked(rows)));
    rows->width = arena_printf(rows->writer->arena, "%lld", (long long)rows_column_elements(rows));
    rows->loaded_ahead = false;
    if (n > PARTITIONS && n % PARTITIONS)
        return true; /* the last tile has fewer rows */
    load_leaves(rows, true);
    rows->loaded_ahead = true;
    bool products = false;
    for (size_t i = 0; i < rows->leaves.len; i++)
        products |= rows->leaves.at[i].product || rows->leaves.at[i].is_sum;
    return products || compute_ahead(rows);
}

void rows_tell(struct rows *rows) {
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

void rows_store(struct rows *rows, int result, struct tile *tile) {
    struct leaf *out = &rows->leaves.at[rows->leaves.len - (size_t)rows->root_count];
    out += result;
    bool narrow = rows_is_narrow_leaf(rows, out);
    if (tile->narrow && !narrow)
        *tile = rows_widened(rows, tile, tile->dtype);
    if (tile->in_psum) { /* which transfers do not reach */
        struct tile out_of = rows_helper(rows, "stored", tile->dtype, false);
        rows_copy_tile(rows, &out_of, tile);
        *tile = out_of;
    }
    struct writer *w = rows->writer;
    struct access access = rows_access(rows, out, narrow);
    int indent = w->indent;
    const char *at = rows_open_stack(rows, out, &access), *from = tile->name;
    if (w->indent > indent && tile->of)
        from = arena_printf(w->arena, "%s[%s%s", tile->of, at, strchr(from, ','));
    else if (w->indent > indent)
        from = arena_printf(w->arena, "%s[%s, 0:%s]", from, at, narrow ? "1" : rows->width);
    write_line(w, "nisa.dma_copy(dst=%s, src=%s)", write_access(w, &access), from);
    w->indent = indent;
}

static void close_chunks(struct rows *rows) {
    for (int s = 0; s < rows->side_count; s++)
        if (rows->sides[s].role == SIDE_COLUMN && rows->sides[s].variable) {
            rows->writer->indent--;
            rows->sides[s].variable = NULL;
        }
}

/* The nodes from one on to another; `result` counts the results that were stored. */
bool rows_compute_nodes(struct rows *rows, size_t from, size_t to, int *result) {
    for (size_t i = from; i < to; i++) {
        int node = rows->nodes.at[i];
        if (rows->ahead && rows->ahead[node])
            continue;
        if (!rows_compute(rows, node))
            return false;
        if (rows_has_root(rows, node))
            rows_store(rows, (*result)++, rows_result(rows, node));
    }
    return true;
}

bool rows_emit_tile(struct rows *rows) {
    int root = rows->roots[0];
    bool sums = rows->in_chunks && rows->nodes.len && rows->root_count == 1 &&
                rows->writer->graph->nodes[root].op->kind == GRAPH_REDUCE;
    struct tile sum = {0};
    begin_product_rows(rows);
    if (sums)
        rows_begin_sum(rows, root, true, &sum);
    rows_open_chunks(rows);
    load_leaves(rows, false);
    if (!rows->loaded_ahead)
        load_leaves(rows, true);
    int results = 0;
    if (!sums && rows->nodes.len)
        return rows_compute_nodes(rows, 0, rows->nodes.len, &results);
    for (size_t i = 0; i < rows->nodes.len; i++)
        if (!rows->ahead[rows->nodes.at[i]] && !rows_compute(rows, rows->nodes.at[i]))
            return false;
    struct tile *result = rows_result(rows, root);
    if (sums) {
        rows_add_sum(rows, root, &sum, result);
        close_chunks(rows);
        result = &sum;
    }
    rows_store(rows, 0, result);
    return true;
}
