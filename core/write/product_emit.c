/* SPDX-License-Identifier: Apache-2.0 */
/* A product as a stage of its own. A block of rows stays in SBUF while the right array passes by;
 * the right one stays, too, where it fits. */
#include "write/product.h"

#define STAYS 0.35 /* share of SBUF that the right array may take for good */

static const char *number(const struct writer *w, int64_t value) {
    return arena_printf(w->arena, "%lld", (long long)value);
}

double product_bytes(const struct product *p, double elements) {
    double tiles = (double)((p->main[SUMMED].n + PARTITIONS - 1) / PARTITIONS);
    return tiles * elements * (p->halves || strcmp(product_dtype(p), "float32") == 0 ? 4 : 2);
}

/* ---- what is decided ------------------------------------------------------------------------- */

/* Blocks of rows that divide them evenly and leave room: the best guess first. */
static int64_t choose_block(struct product *p, int64_t most) {
    int64_t rows = p->main[ROW].n, values[WRITE_MAX_VALUES], count = 0;
    for (int64_t block = most; block >= PARTITIONS && count < WRITE_MAX_VALUES; block -= PARTITIONS)
        if (block >= rows || rows % block == 0 || block == PARTITIONS)
            values[count++] = MIN_OF(block, rows);
    int node = (int)(p->node - p->writer->graph->nodes);
    return write_choose(p->writer, node, "block_rows", "rows of the left array in a block", values,
                        (int)count);
}

/* What stays in SBUF, and how many rows a block has. */
static void decide(struct product *p) {
    double room = p->writer->spec->sbuf_bytes;
    p->stays = product_bytes(p, (double)p->main[COLUMN].n) <= room * STAYS;
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
        return arena_printf(w->arena, "[0:%s, %s, %s]", k->size, product_tile_of(w, k),
                            product_slice(w, columns));
    if (p->turns[RIGHT])
        return arena_printf(w->arena, "[0:%s, %s, 0:%s]", k->size, product_tile_of(w, k),
                            columns->size);
    const char *name = arena_printf(w->arena, "right%s", p->name);
    product_declare_operand(p, name, arena_printf(w->arena, "%s, %s", k->size, columns->size));
    product_load_piece(p, RIGHT, name, "", k, columns);
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
    product_declare(p, name, shape, "float32", "psum");
    if (!p->stays && p->turns[RIGHT])
        product_load(p, RIGHT, arena_printf(w->arena, "right%s", p->name), columns);
    struct span k = product_tiles(w, "k", "depth", p->main[SUMMED].n, PARTITIONS);
    const char *right = right_part(p, &k, columns);
    struct span i = *rows;
    i.at = "0";
    if (banks > 1)
        i = product_tiles(w, "i", "high", rows->width, PARTITIONS);
    product_multiply_tiles(p,
                           arena_printf(w->arena, "%s[0:%s, %s, 0:%s]", name, i.size,
                                        product_tile_of(w, &i), columns->size),
                           arena_printf(w->arena, "[0:%s, %s, %s]", k.size, product_tile_of(w, &k),
                                        product_slice(w, p->left_stays ? rows : &i)),
                           right);
    w->indent = indent;
}

void product_evacuate(struct product *p, int64_t first, const char *to, const char *from,
                      const char *turn) {
    struct writer *w = p->writer;
    const int64_t values[] = {first, 0, 1, 2};
    int64_t how = write_choose(w, (int)(p->node - w->graph->nodes), "leaves_by",
                               "sums leave PSUM: by Scalar (0), by Vector (1), by both in turn (2)",
                               values, 4);
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

static void store(struct product *p, const struct span *rows, const struct span *columns) {
    struct writer *w = p->writer;
    int indent = w->indent;
    struct span i = *rows;
    i.at = "0";
    if (rows->width > PARTITIONS)
        i = product_tiles(w, "i", "high", rows->width, PARTITIONS);
    product_declare(p, "done", arena_printf(w->arena, "%s, %s", i.size, columns->size),
                    p->node->dtype, "sbuf");
    const char *turn = strcmp(i.at, "0") ? arena_printf(w->arena, "(i // %d)", PARTITIONS)
                       : strcmp(columns->at, "0")
                           ? arena_printf(w->arena, "(n // %d)", PRODUCT_MOVING)
                           : NULL;
    product_evacuate(p, !p->halves, "done",
                     arena_printf(w->arena, "sums[0:%s, %s, 0:%s]", i.size, product_tile_of(w, &i),
                                  columns->size),
                     turn);
    struct access access = product_access(p, RESULT);
    const struct product_side *row = &p->main[ROW], *column = &p->main[COLUMN];
    if (strcmp(rows->at, "0"))
        access_add(&access, rows->at, row->strides[RESULT], rows->most);
    if (strcmp(i.at, "0"))
        access_add(&access, i.at, row->strides[RESULT], i.most);
    if (strcmp(columns->at, "0"))
        access_add(&access, columns->at, column->strides[RESULT], columns->most);
    access.cols_most = PRODUCT_MOVING;
    access.rows = i.size;
    access.row = row->strides[RESULT];
    access.cols[0] = columns->size;
    access.strides[0] = column->strides[RESULT] ? column->strides[RESULT] : 1;
    access.col_count = 1;
    write_line(w, "nisa.dma_copy(dst=%s, src=done)", write_access(w, &access));
    w->indent = indent;
}

static void open_loops(struct product *p) {
    struct writer *w = p->writer;
    for (int s = 0; s < p->count; s++) {
        const char *variable = arena_printf(w->arena, "b%d", s);
        write_line(w, "for %s in range(%lld):", variable, (long long)p->sides[s].n);
        w->indent++;
        for (int i = 0; i < ARRAYS; i++)
            p->loops[p->loop_count][i] =
                (struct term){variable, p->sides[s].strides[i], p->sides[s].n - 1};
        p->loop_count++;
    }
}

static void emit(struct product *p) {
    struct writer *w = p->writer;
    int indent = w->indent;
    write_blank(w);
    write_line(w, "# A matrix product (line %d of the reference).", p->node->line);
    open_loops(p);
    int64_t n = p->main[COLUMN].n;
    struct span all = {"0", number(w, n), 0, n};
    if (p->stays)
        product_load(p, RIGHT, "right", &all);
    struct span rows = product_tiles(w, "m", "height", p->main[ROW].n, p->block);
    product_load(p, LEFT, "left", &rows);
    struct span columns = product_tiles(w, "n", "width", n, PRODUCT_MOVING);
    product_multiply(p, &rows, &columns);
    store(p, &rows, &columns);
    w->indent = indent;
}

bool product_emit(struct writer *writer, int index, const struct view *to) {
    struct product p;
    if (!product_open(&p, writer, index, to))
        return false;
    decide(&p);
    emit(&p);
    return true;
}
