/* SPDX-License-Identifier: Apache-2.0 */
/* A stage over tiles of rows: operations that go element by element, with reductions and scans
 * along dimensions that then lie whole in the free dimension of a tile. Row dimensions become
 * partitions and loops. Several results of one domain are computed by one stage. */
#include "write/rows.h"

#include <stdlib.h>

/* Elements of a tile along the free dimension where nothing needs them whole. */
#define CHUNK 2048
#define ENOUGH 4096      /* larger tiles gain nothing by themselves */
#define WORTH_PIECES 512 /* columns of a tile that are worth more than one instruction */
#define TEMPORARIES 3    /* tiles that live at once beside what is read and written */
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
        int64_t row = 0, column = 0, tile[2] = {0, 0};
        int columns = 0;
        for (int s = 0; s < rows->side_count; s++) {
            if (rows->sides[s].role == SIDE_PARTITION) {
                row = leaf->strides[s];
                tile[0] = rows->sides[s].n;
            }
            if (rows->sides[s].role != SIDE_COLUMN)
                continue;
            column = leaf->strides[s];
            tile[1] = rows->sides[s].n;
            columns++;
        }
        if (leaf->product &&
            (columns != 1 || !product_match(leaf->product, tile, row, column, leaf->view.offset)))
            return false;
    }
    return true;
}

static bool makes_products(const struct rows *rows) {
    bool makes = false;
    for (size_t i = 0; i < rows->leaves.len; i++)
        makes |= rows->leaves.at[i].product != NULL;
    return makes;
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
        const struct buffer *buffer = &rows->writer->buffers.at[view.buffer];
        if (buffer->inset) { /* which only convolutions read */
            write_apart(rows->writer, buffer->node);
            return false;
        }
        leaf.is_sum = !leaf.product && buffer->is_made && !buffer->padding;
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
        bool is_scan = rows_is_scan(rows, node);
        if (rows_axes(rows->writer, node) && !rows->is_upright &&
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
    bool products = makes_products(rows); /* a part of a row takes several of their tiles */
    double tiles = 2 * ((double)(rows->leaves.len + TEMPORARIES) + rows_wide_tiles(rows));
    for (size_t i = 0; i < COUNT_OF(widths) - products; i++)
        if ((double)widths[i] * 4 * tiles <= rows->writer->spec->sbuf_bytes * 0.95)
            values[count++] = widths[i];
    if (!count)
        return CHUNK;
    if (rows->is_nested) /* rows are whole, or it has a stage of its own */
        return values[0];
    if (values[0] > ENOUGH && count > 1) { /* offered, but gains nothing by itself */
        values[0] = values[1];
        values[1] = widths[0];
    }
    return write_choose(rows->writer, rows->roots[rows->root_count - 1], "columns",
                        "columns of a tile at most", values, count);
}

/* Scans over rows that do not fit, and sums over what they do not go along, take their rows in
 * chunks. False where those do not lie side by side. */
static bool choose_carried(struct rows *rows) {
    bool chunks = rows_has_scans_only(rows), products = makes_products(rows);
    int columns = 0;
    rows->is_carried = rows->across || (chunks && !rows_fit(rows));
    if (!rows->is_carried)
        return true;
    for (int s = 0; s < rows->side_count; s++)
        columns += rows->sides[s].role == SIDE_COLUMN;
    chunks &= columns == 1;
    rows->in_chunks = true;
    rows->chunk = chunks ? choose_width(rows) : rows_column_elements(rows);
    return !products && (chunks || rows_fit(rows));
}

/* Only tiles of whole rows are padded. */
static bool reads_padded(const struct rows *rows) {
    const struct writer *w = rows->writer;
    for (size_t i = 0; i < rows->leaves.len; i++) {
        const struct value *value = &w->values[rows->leaves.at[i].node];
        if (value->has_view && w->buffers.at[value->view.buffer].padding)
            return true;
    }
    return false;
}

static bool prepare(struct rows *rows, const struct view *to) {
    rows_collect(rows);
    if (!rows_measure(rows))
        return false;
    rows->whole_rows |= reads_padded(rows);
    rows->columns |= rows->whole_rows && !rows->columns;
    if (!rows->nodes.len && !rows_join(rows, &rows->writer->graph->nodes[rows->roots[0]]))
        return false;
    if (!is_countable(rows) || !spread_leaves(rows, to) || !rows_divide(rows))
        return false;
    rows->is_permuted = permute_choose(rows);
    if (rows->is_permuted)
        return true;
    rows->chunk = CHUNK;
    if (!has_inner_columns(rows) && !rows->is_copy)
        rows->chunk = choose_width(rows);
    rows_choose_sides(rows, rows->chunk);
    int64_t n = rows_column_elements(rows);
    rows->in_chunks = !has_inner_columns(rows) && (rows->columns == 0 || n > rows->chunk);
    if (rows->is_upright && n > rows->chunk)
        return false;
    return choose_carried(rows) && match_products(rows);
}

/* ---- the stage ------------------------------------------------------------------------------- */

/* The stage once; what it prints may be thrown away. */
static bool emit_once(struct rows *rows) {
    size_t count = (size_t)rows->writer->graph->count + 1;
    int indent = rows->writer->indent;
    int64_t chunk = rows->chunk;
    memset(rows->tiles, 0, count * sizeof *rows->tiles);
    rows->helpers = 0;
    rows->either_met = 0;
    rows->psum_bytes = 0;
    for (int s = 0; s < rows->side_count; s++)
        rows->sides[s].variable = NULL;
    memset(rows->ahead, 0, count * sizeof *rows->ahead);
    bool ok = true;
    if (rows_has_whole(rows) && !rows->is_permuted) {
        rows->chunk = rows_column_elements(rows);
        ok = rows_load_ahead(rows);
    }
    if (rows->is_upright)
        rows_make_ones(rows);
    rows_open_loops(rows);
    bool phases = !rows->is_upright && rows_has_phases(rows);
    ok = ok && rows_enter_products(rows, rows_has_whole(rows) && !phases);
    if (phases) {
        ok = ok && rows_emit_phases(rows);
    } else if (rows->is_upright) {
        ok = ok && rows_emit_upright(rows);
    } else if (rows->is_carried) {
        ok = ok && rows_emit_carried(rows);
    } else if (rows->is_permuted) {
        rows_open_tiles(rows);
        permute_emit(rows);
    } else {
        rows_open_tiles(rows);
        ok = ok && rows_emit_tile(rows);
    }
    rows->writer->indent = indent;
    rows->tile_columns = rows->chunk;
    rows->chunk = chunk;
    return ok;
}

/* What both are busy with, as the instructions are shared now. */
static struct busy shared_time(const struct rows *rows) {
    struct busy busy = rows->busy;
    for (size_t i = 0; i < rows->either.len; i++) {
        double share = (double)rows->on_scalar[i] / ROWS_SHARES;
        busy.vector += rows->either.at[i].vector * (1 - share);
        busy.scalar += rows->either.at[i].scalar * share;
    }
    return busy;
}

/* Instructions that either engine can run go to Scalar while that makes the busier one less busy,
 * the ones that Vector spends most time on first. */
static void balance(struct rows *rows) {
    for (;;) {
        struct busy busy = shared_time(rows);
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
        rows->on_scalar[best - rows->either.at] = ROWS_SHARES;
    }
}

/* One instruction's columns are divided so that both engines are busy for as long. */
static void divide(struct rows *rows) {
    struct busy now = shared_time(rows);
    double least = MAX_OF(now.vector, now.scalar);
    size_t which = rows->either.len;
    int share = 0;
    for (size_t i = 0; i < rows->either.len; i++) {
        int before = rows->on_scalar[i];
        for (int part = 1; part < ROWS_SHARES && rows->either.at[i].divides; part++) {
            rows->on_scalar[i] = part;
            struct busy busy = shared_time(rows);
            double longer = MAX_OF(busy.vector, busy.scalar);
            if (longer < least) {
                least = longer;
                which = i;
                share = part;
            }
        }
        rows->on_scalar[i] = before;
    }
    if (which < rows->either.len)
        rows->on_scalar[which] = share;
}

/* Where Scalar and Vector take turns on a tile, each would wait for the other. */
static int64_t choose_pieces(struct rows *rows) {
    static const int64_t values[] = {2, 1, 4};
    bool turns = rows->busy.scalar > 0.3 * rows->busy.vector && rows->busy.vector > 0;
    if (!rows->in_chunks || rows->columns || rows->is_upright || rows->is_copy ||
        rows->is_carried || rows->uneven || rows->has_steps || rows->tile_columns % 4 ||
        rows->tile_columns < WORTH_PIECES || !turns)
        return 1;
    return write_choose(rows->writer, rows->roots[rows->root_count - 1], "pieces",
                        "instructions that share the columns of a tile", values, 3);
}

enum sharing { SHARING_NONE = 0, SHARING_WHOLE = 1, SHARING_DIVIDED = 2, SHARING_ALL = 3 };

/* Shares instructions as the schedule says; whether any may be Scalar's. */
static bool share(struct rows *rows) {
    /* Vector brings in what products multiply: the next tile waits for what it does with this one.
     */
    bool products = makes_products(rows), divides = false;
    const int64_t values[] = {products ? SHARING_ALL : SHARING_WHOLE, SHARING_NONE,
                              products ? SHARING_WHOLE : SHARING_ALL, SHARING_DIVIDED};
    for (size_t i = 0; i < rows->either.len; i++)
        divides |=
            rows->either.at[i].divides && rows->pieces == 1 && !rows->uneven && !rows->has_steps;
    int64_t how = !rows->either.len
                      ? SHARING_NONE
                      : write_choose(rows->writer, rows->roots[rows->root_count - 1], "balance",
                                     "what Scalar can run, too: is shared with it (1), is left to "
                                     "Vector (0), is shared and one tile divided (2), is left to "
                                     "Scalar (3)",
                                     values, divides ? 4 : 3);
    if (how == SHARING_NONE)
        return false;
    rows->on_scalar = ARENA_ARRAY(rows->writer->arena, int, rows->either.len + 1);
    for (size_t i = 0; i < rows->either.len && how == SHARING_ALL; i++)
        rows->on_scalar[i] = ROWS_SHARES;
    balance(rows);
    if (how == SHARING_DIVIDED)
        divide(rows);
    return true;
}

static bool emit(struct rows *rows, const struct view *to) {
    struct writer *w = rows->writer;
    rows->tiles = mem_alloc((size_t)w->graph->count + 1, sizeof *rows->tiles);
    rows->plans = mem_alloc((size_t)w->graph->count + 1, sizeof *rows->plans);
    rows->ahead = ARENA_ARRAY(w->arena, bool, (size_t)w->graph->count + 1);
    if (!prepare(rows, to))
        return false;
    rows_plan(rows);
    rows_tell(rows);
    size_t length = w->out.len;
    rows->pieces = 1;
    if (!emit_once(rows))
        return false;
    rows->pieces = choose_pieces(rows);
    if (!share(rows) && rows->pieces == 1)
        return true;
    w->out.len = length;
    w->out.at[length] = 0;
    return emit_once(rows);
}

/* ---- a stage within another one -------------------------------------------------------------- */

static struct side *partition_of(struct rows *rows) {
    for (int s = 0; s < rows->side_count; s++)
        if (rows->sides[s].role == SIDE_PARTITION)
            return &rows->sides[s];
    return NULL;
}

/* Whether both lie in the same way: along rows only, and one for each. */
static bool goes_with(struct rows *rows, const struct leaf *leaf, struct rows *own) {
    const struct side *side = partition_of(rows), *own_side = partition_of(own);
    const struct leaf *result = &own->leaves.at[own->leaves.len - 1];
    bool same = side && own_side && side->n == own_side->n && !own->in_chunks &&
                leaf->view.offset == result->view.offset;
    for (int s = 0; same && s < rows->side_count; s++)
        same = &rows->sides[s] == side || leaf->strides[s] == 0;
    for (int s = 0; same && s < own->side_count; s++)
        same = own->sides[s].role != SIDE_LOOP || own->sides[s].n == 1;
    return same && leaf->strides[side - rows->sides] == result->strides[own_side - own->sides];
}

/* A tile's name says which array it is of: one that is read in both ways would be mistaken. */
static bool reads_the_same(const struct rows *rows, const struct rows *own) {
    for (size_t i = 0; i < rows->leaves.len; i++)
        for (size_t k = 0; k + 1 < own->leaves.len; k++)
            if (rows->leaves.at[i].node == own->leaves.at[k].node)
                return true;
    return false;
}

static bool has_made(const struct rows *rows) {
    for (size_t i = 0; i < rows->leaves.len; i++)
        if (rows->leaves.at[i].product || rows->leaves.at[i].is_sum)
            return true;
    return false;
}

/* The nested stage's lines, for the rows of a tile. */
static bool make_tile(struct rows *own, struct tile *made) {
    int result = 0;
    size_t count = own->nodes.len;
    own->chunk = rows_column_elements(own);
    own->width = arena_printf(own->writer->arena, "%lld", (long long)own->chunk);
    own->pieces = 1;
    rows_plan(own);
    for (size_t i = 0; i + 1 < own->leaves.len; i++)
        rows_load_leaf(own, &own->leaves.at[i]);
    if (!rows_compute_nodes(own, 0, count - 1, &result) ||
        !rows_compute(own, own->nodes.at[count - 1]))
        return false;
    *made = *rows_result(own, own->roots[0]);
    return true;
}

/* The same for the tile of the stage around it. */
static bool make_sum(struct rows *rows, struct rows *own, struct tile *made) {
    partition_of(own)->variable = partition_of(rows)->variable;
    partition_of(own)->most = partition_of(rows)->most;
    own->count = rows->count;
    own->helpers = rows->helpers;
    bool ok = make_tile(own, made) && made->narrow;
    rows->helpers = own->helpers;
    rows->busy.vector += own->busy.vector;
    rows->busy.scalar += own->busy.scalar;
    return ok;
}

/* Whether the stage's tiles are rows as a product wants them. */
static bool makes_rows(struct rows *own, const struct made_rows *wanted) {
    const struct side *rows = partition_of(own);
    const struct leaf *result = &own->leaves.at[own->leaves.len - 1];
    bool same = rows && rows->n == wanted->n && !own->in_chunks && wanted->offset == 0 &&
                result->view.offset == 0 && own->side_count == 2;
    for (int s = 0; same && s < own->side_count; s++)
        same = own->sides[s].role == SIDE_PARTITION
                   ? result->strides[s] == wanted->row_stride
                   : own->sides[s].role == SIDE_COLUMN && own->sides[s].n == wanted->columns &&
                         result->strides[s] == wanted->column_stride;
    return same;
}

const char *rows_make_operand(struct writer *w, const struct made_rows *wanted) {
    struct rows own = {.writer = w, .roots = &wanted->node, .root_count = 1};
    size_t count = (size_t)w->graph->count + 1;
    struct tile made = {0};
    own.tiles = mem_alloc(count, sizeof *own.tiles);
    own.plans = mem_alloc(count, sizeof *own.plans);
    own.suffix = wanted->suffix;
    own.whole_rows = own.is_nested = true;
    bool ok = prepare(&own, &w->values[wanted->node].view) && !own.is_carried && !has_made(&own) &&
              makes_rows(&own, wanted);
    if (ok) {
        partition_of(&own)->variable = strcmp(wanted->at, "0") ? wanted->at : NULL;
        partition_of(&own)->most = wanted->most;
        own.count = wanted->rows;
        ok = make_tile(&own, &made) && !made.narrow;
    }
    if (!ok)
        write_apart(w, wanted->node);
    rows_free(&own);
    return ok ? made.name : NULL;
}

const char *rows_make_over(struct writer *w, const struct made_over *wanted) {
    struct rows own = {.writer = w, .roots = &wanted->node, .root_count = 1};
    size_t count = (size_t)w->graph->count + 1;
    own.tiles = mem_alloc(count, sizeof *own.tiles);
    own.plans = mem_alloc(count, sizeof *own.plans);
    own.suffix = wanted->suffix;
    own.is_nested = true;
    own.chunk = wanted->columns;
    own.count = arena_printf(w->arena, "%d", PARTITIONS);
    own.width = arena_printf(w->arena, "%lld", (long long)wanted->columns);
    own.pieces = 1;
    rows_collect(&own);
    rows_plan(&own);
    own.tiles[wanted->product] =
        (struct tile){.name = wanted->sums, .dtype = "float32", .scale = 1};
    if (wanted->extreme >= 0)
        own.tiles[wanted->extreme] =
            (struct tile){.name = wanted->most, .dtype = "float32", .scale = wanted->scale};
    bool ok = true;
    for (size_t i = 0; ok && i < own.nodes.len; i++)
        ok = own.nodes.at[i] == wanted->extreme || rows_compute(&own, own.nodes.at[i]);
    const char *name = ok ? rows_result(&own, wanted->node)->name : NULL;
    rows_free(&own);
    return name;
}

double rows_made_bytes(struct writer *writer, int root) {
    struct rows own = {.writer = writer, .roots = &root, .root_count = 1};
    rows_collect(&own);
    const struct graph_node *row = &writer->graph->nodes[root];
    double tiles = (double)(own.nodes.len + own.leaves.len);
    rows_free(&own);
    return 2 * 4 * tiles * (double)row->shape[row->ndim - 1];
}

bool rows_make(struct rows *rows, struct leaf *leaf) {
    struct writer *w = rows->writer;
    struct rows own = {.writer = w, .roots = &leaf->node, .root_count = 1, .is_nested = true};
    size_t count = (size_t)w->graph->count + 1;
    own.tiles = mem_alloc(count, sizeof *own.tiles);
    own.plans = mem_alloc(count, sizeof *own.plans);
    bool ok = prepare(&own, &w->values[leaf->node].view) && !own.is_carried && !has_made(&own) &&
              goes_with(rows, leaf, &own) && !reads_the_same(rows, &own) &&
              make_sum(rows, &own, &rows->tiles[leaf->node]);
    if (!ok)
        write_apart(w, leaf->node);
    if (!ok) /* what is printed until then is thrown away */
        rows->tiles[leaf->node] = (struct tile){"missing", "float32", .narrow = true, .scale = 1};
    rows_free(&own);
    return ok;
}

/* A stage that could not be written with products made in it is tried without. */
static bool put_apart(const struct rows *rows) {
    bool any = false;
    for (size_t i = 0; i < rows->leaves.len; i++)
        if (rows->leaves.at[i].product || rows->leaves.at[i].is_sum) {
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
    for (int i = 0; !ok && i < count; i++)
        if (writer->values[roots[i]].is_upright) {
            write_apart(writer, roots[i]);
            apart = true;
        }
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
