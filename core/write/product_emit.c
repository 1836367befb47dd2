/* SPDX-License-Identifier: Apache-2.0 */
/* A product as a stage of its own. A block of rows stays in SBUF while the right array passes by;
 * the right one stays, too, where it fits. */
#include "write/products.h"
#include "write/strassen/strassen.h"

#define STAYS 0.35 /* share of SBUF that the right array may take for good */
#define TAKES 0.75 /* .. that a block of rows may take, beside one that stays or by itself */
#define BANKS 8    /* of PSUM: each 128 rows of a block have one */
#define LEAVES_REDUCED 3

static const char *number(const struct writer *w, int64_t value) {
    return arena_printf(w->arena, "%lld", (long long)value);
}

double product_bytes(const struct product *p, double elements) {
    double tiles = (double)((p->main[SUMMED].n + PARTITIONS - 1) / PARTITIONS);
    return tiles * elements *
           (p->halves || p->packed || strcmp(product_dtype(p), "float32") == 0 ? 4 : 2);
}

/* ---- what is decided ------------------------------------------------------------------------- */

/* Larger blocks let the right array pass by less often. They leave less of PSUM and SBUF to what
 * comes next, so they are for the clock to judge. */
static int64_t add_larger(const struct product *p, int64_t most, int64_t *values, int64_t count) {
    int64_t rows = p->main[ROW].n, banks = p->turns[LEFT] || p->turns[RIGHT] ? BANKS - 2 : BANKS;
    double room = p->writer->spec->sbuf_bytes * (p->stays ? STAYS : TAKES);
    for (int64_t block = most + PARTITIONS; block <= banks * PARTITIONS; block += PARTITIONS)
        if (block <= rows && rows % block == 0 && product_bytes(p, (double)block) <= room &&
            count < WRITE_MAX_VALUES)
            values[count++] = block;
    return count;
}

/* Blocks of rows that divide them evenly and leave room: the best guess first. */
static int64_t choose_block(struct product *p, int64_t most) {
    int64_t rows = p->main[ROW].n, values[WRITE_MAX_VALUES], count = 0;
    for (int64_t block = most; block >= PARTITIONS && count < WRITE_MAX_VALUES; block -= PARTITIONS)
        if (block >= rows || rows % block == 0 || block == PARTITIONS)
            values[count++] = MIN_OF(block, rows);
    count = add_larger(p, most, values, count);
    int node = (int)(p->node - p->writer->graph->nodes);
    return write_choose(p->writer, node, "block_rows", "rows of the left array in a block", values,
                        (int)count);
}

/* Products with an array that passes by begin as soon as its first piece is there. */
static bool choose_stays(struct product *p) {
    static const int64_t values[] = {1, 0};
    bool fits = product_bytes(p, (double)p->main[COLUMN].n) <= p->writer->spec->sbuf_bytes * STAYS;
    return fits && write_choose(p->writer, (int)(p->node - p->writer->graph->nodes), "right_stays",
                                "of the right array: all stays in SBUF (1), a piece comes for each "
                                "product (0)",
                                values, 2);
}

/* What stays in SBUF, and how many rows a block has. */
static void decide(struct product *p) {
    double room = p->writer->spec->sbuf_bytes;
    p->stays = choose_stays(p);
    p->block = p->turns[RIGHT] && !p->stays ? 2 * PARTITIONS : 4 * PARTITIONS;
    while (p->block > PARTITIONS && product_bytes(p, (double)p->block) > room * STAYS)
        p->block -= PARTITIONS;
    p->block = choose_block(p, p->block);
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* The part of the right tiles that a product takes: all of the array stays, its columns were loaded
 * for all that is summed, or a piece is loaded for each product. */
static const char *right_part(struct product *p, const struct span *k, const struct span *columns) {
    struct writer *w = p->writer;
    if (p->stays)
        return arena_printf(w->arena, "[0:%s, %s, %s]", product_depth(p, k), product_tile_of(w, k),
                            product_slice(w, columns));
    if (p->turns[RIGHT])
        return arena_printf(w->arena, "[0:%s, %s, 0:%s]", product_depth(p, k),
                            product_tile_of(w, k), columns->size);
    const char *name = arena_printf(w->arena, "right%s", p->name);
    product_declare_operand(p, RIGHT, name,
                            arena_printf(w->arena, "%s, %s", product_depth(p, k), columns->size));
    product_load_piece(p, RIGHT, name, NULL, k, columns);
    return "";
}

void product_multiply(struct product *p, const struct span *rows, const struct span *columns) {
    struct writer *w = p->writer;
    int indent = w->indent;
    int64_t banks = (rows->width + PARTITIONS - 1) / PARTITIONS;
    /* Each block of rows begins with a bank: a product stays within one. */
    const char *width = banks > 1 ? number(w, PRODUCT_MOVING) : columns->size;
    const char *name = arena_printf(w->arena, "sums%s", p->name);
    const char *shape =
        banks > 1 ? arena_printf(w->arena, "%d, %lld, %s", PARTITIONS, (long long)banks, width)
                  : arena_printf(w->arena, "%s, 1, %s", rows->size, width);
    if (!p->within)
        product_declare(p, name, shape, "float32", "psum");
    if (!p->stays && p->turns[RIGHT])
        product_load(p, RIGHT, arena_printf(w->arena, "right%s", p->name), columns);
    struct span k = product_tiles(w, "k", "depth", p->main[SUMMED].n, PARTITIONS);
    const char *right = right_part(p, &k, columns);
    struct span i = *rows;
    i.at = "0";
    if (banks > 1)
        i = product_tiles(w, "i", "high", rows->width, PARTITIONS);
    const char *part = p->within ? p->within
                                 : arena_printf(w->arena, "[0:%s, %s, 0:%s]", i.size,
                                                product_tile_of(w, &i), columns->size);
    const char *turn =
        strcmp(i.at, "0")          ? arena_printf(w->arena, "%s // %d", i.at, PARTITIONS)
        : strcmp(columns->at, "0") ? arena_printf(w->arena, "%s // %d", columns->at, PRODUCT_MOVING)
        : strcmp(rows->at, "0")    ? arena_printf(w->arena, "%s // %d", rows->at, PARTITIONS)
                                   : NULL;
    product_multiply_tiles(p, arena_printf(w->arena, "%s%s", name, part),
                           arena_printf(w->arena, "[0:%s, %s, %s]", product_depth(p, &k),
                                        product_tile_of(w, &k),
                                        product_slice(w, p->left_stays ? rows : &i)),
                           right, turn);
    w->indent = indent;
}

static int64_t leaves_by(const struct product *p, int64_t first) {
    const int64_t values[] = {p->extreme ? LEAVES_REDUCED : first, 0, 1, 2};
    return write_choose(p->writer, (int)(p->node - p->writer->graph->nodes), "leaves_by",
                        "sums leave PSUM: by Scalar (0), by Vector (1), by both in turn (2), by "
                        "Vector that finds their extremes, too (3)",
                        values, 4);
}

bool product_finds_extremes(const struct product *p) {
    return p->extreme && leaves_by(p, 0) == LEAVES_REDUCED;
}

void product_evacuate(struct product *p, int64_t first, const char *to, const char *from,
                      const char *turn) {
    struct writer *w = p->writer;
    int64_t how = leaves_by(p, first);
    if (how == LEAVES_REDUCED) {
        write_line(w,
                   "nisa.tensor_scalar_reduce(dst=%s, data=%s, op0=nl.multiply, operand0=1.0, "
                   "reduce_op=nl.%s, reduce_res=%s)",
                   to, from, p->extreme, p->extreme_to);
        return;
    }
    if (how == 2 && !turn)
        how = 0;
    if (how == 2) {
        write_line(w, "if %s %% 2:", turn);
        w->indent++;
    }
    if (how)
        write_line(w, "nisa.tensor_copy(dst=%s, src=%s)", to, from);
    if (how == 2) {
        w->indent--;
        write_line(w, "else:");
        w->indent++;
    }
    if (how != 1)
        write_line(w, "nisa.activation(dst=%s, op=nl.copy, data=%s)", to, from);
    w->indent -= how == 2;
}

/* Columns of results that one transfer stores. */
static int64_t choose_stored(struct product *p) {
    static const int64_t widths[] = {2048, 4096, 1024};
    int64_t n = p->main[COLUMN].n, values[COUNT_OF(widths) + 1], count = 0;
    double tiles = (double)((p->block + PARTITIONS - 1) / PARTITIONS);
    bool is_short = p->packed > 0;
    if (!is_short)
        values[count++] = PRODUCT_MOVING;
    for (size_t i = 0; i < COUNT_OF(widths); i++)
        if (n % widths[i] == 0 &&
            tiles * 2 * 4 * (double)widths[i] <= p->writer->spec->sbuf_bytes * STAYS)
            values[count++] = widths[i];
    if (is_short)
        values[count++] = PRODUCT_MOVING;
    return count == 1
               ? PRODUCT_MOVING
               : write_choose(p->writer, (int)(p->node - p->writer->graph->nodes), "stored",
                              "columns of results that one transfer stores", values, (int)count);
}

/* The tiles of 128 rows of a block: opens a loop over them, if there are several. */
static struct span open_high(struct product *p, const struct span *rows) {
    struct span i = *rows;
    i.at = "0";
    return rows->width > PARTITIONS ? product_tiles(p->writer, "i", "high", rows->width, PARTITIONS)
                                    : i;
}

/* Stores columns of a tile of rows, which `i` is within a block. */
static void store(struct product *p, const struct span *rows, const struct span *i,
                  const struct span *columns, const char *done) {
    struct access access = product_access(p, RESULT);
    const struct product_side *row = &p->main[ROW], *column = &p->main[COLUMN];
    if (strcmp(rows->at, "0"))
        access_add(&access, rows->at, row->strides[RESULT], rows->most);
    if (strcmp(i->at, "0"))
        access_add(&access, i->at, row->strides[RESULT], i->most);
    if (strcmp(columns->at, "0"))
        access_add(&access, columns->at, column->strides[RESULT], columns->most);
    access.cols_most = columns->width;
    access.rows = i->size;
    access.row = row->strides[RESULT];
    access.cols[0] = columns->size;
    access.strides[0] = column->strides[RESULT] ? column->strides[RESULT] : 1;
    access.col_count = 1;
    write_line(p->writer, "nisa.dma_copy(dst=%s, src=%s)", write_access(p->writer, &access), done);
}

/* Sums of a span of columns leave PSUM, to `within` of the columns that are stored together; NULL:
 * they are stored at once. */
static void finish(struct product *p, const struct span *rows, const struct span *columns,
                   const struct span *within) {
    struct writer *w = p->writer;
    int indent = w->indent;
    struct span i = open_high(p, rows);
    const char *turn = strcmp(i.at, "0") ? arena_printf(w->arena, "(i // %d)", PARTITIONS)
                       : strcmp(columns->at, "0")
                           ? arena_printf(w->arena, "(n // %d)", PRODUCT_MOVING)
                           : NULL;
    const char *tile = product_tile_of(w, &i), *to = "done";
    if (within)
        to = arena_printf(w->arena, "done[0:%s, %s, %s]", i.size, tile, product_slice(w, within));
    else
        product_declare(p, "done", arena_printf(w->arena, "%s, %s", i.size, columns->size),
                        p->node->dtype, "sbuf");
    product_evacuate(p, p->packed ? 2 : !p->halves, to,
                     arena_printf(w->arena, "sums[0:%s, %s, 0:%s]", i.size, tile, columns->size),
                     turn);
    if (!within)
        store(p, rows, &i, columns, "done");
    w->indent = indent;
}

/* All results of a block of rows, of which several tiles of columns are stored together. */
static void multiply_wide(struct product *p, const struct span *rows, int64_t width) {
    struct writer *w = p->writer;
    int64_t tiles = (rows->width + PARTITIONS - 1) / PARTITIONS;
    const char *high = tiles > 1 ? number(w, PARTITIONS) : rows->size;
    struct span stored = product_tiles(w, "c", "wide", p->main[COLUMN].n, width);
    product_declare(p, "done",
                    arena_printf(w->arena, "%s, %lld, %s", high, (long long)tiles, stored.size),
                    p->node->dtype, "sbuf");
    int indent = w->indent;
    struct span within = product_tiles(w, "n", "width", width, PRODUCT_MOVING), columns = within;
    columns.most += stored.most;
    if (strcmp(stored.at, "0")) {
        write_line(w, "at = %s + n", stored.at);
        columns.at = "at";
    }
    product_multiply(p, rows, &columns);
    finish(p, rows, &columns, &within);
    w->indent = indent;
    struct span i = open_high(p, rows);
    store(p, rows, &i, &stored,
          arena_printf(w->arena, "done[0:%s, %s, 0:%s]", i.size, product_tile_of(w, &i),
                       stored.size));
    w->indent = indent;
}

static void multiply_block(struct product *p, const struct span *rows) {
    int64_t width = choose_stored(p);
    if (width > PRODUCT_MOVING) {
        multiply_wide(p, rows, width);
        return;
    }
    struct span columns = product_tiles(p->writer, "n", "width", p->main[COLUMN].n, PRODUCT_MOVING);
    product_multiply(p, rows, &columns);
    finish(p, rows, &columns, NULL);
}

static void emit(struct product *p) {
    struct writer *w = p->writer;
    int indent = w->indent;
    write_blank(w);
    write_line(w, "# A matrix product (line %d of the reference).", p->node->line);
    product_open_loops(p);
    int64_t n = p->main[COLUMN].n;
    struct span all = {"0", number(w, n), 0, n};
    if (p->stays)
        product_load(p, RIGHT, "right", &all);
    struct span rows = product_tiles(w, "m", "height", p->main[ROW].n, p->block);
    product_load(p, LEFT, "left", &rows);
    multiply_block(p, &rows);
    w->indent = indent;
}

bool product_emit(struct writer *writer, int index, const struct view *to) {
    struct product p;
    if (!product_open(&p, writer, index, to))
        return false;
    if (!strassen_emit(&p)) {
        decide(&p);
        emit(&p);
    }
    return true;
}
