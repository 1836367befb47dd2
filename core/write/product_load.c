/* SPDX-License-Identifier: Apache-2.0 */
/* The operands of a product in SBUF. What is summed over has to lie on the partitions: an array
 * that has it side by side in memory is loaded as it lies, and turned over by the Tensor engine. */
#include "write/products.h"

#define RAW_SHARE 8 /* of SBUF that rows may take before they are turned */
#define GROUP 4     /* pieces that are turned before they leave PSUM: a bank holds so many */

static const char *number(const struct writer *w, int64_t value) {
    return arena_printf(w->arena, "%lld", (long long)value);
}

static void add_span(struct access *access, const struct span *span, int64_t stride) {
    if (strcmp(span->at, "0"))
        access_add(access, span->at, stride, span->most);
}

/* A tile of an array in HBM, with a side on the partitions and one in the free dimension. */
static const char *piece_of(const struct product *p, enum which which, const struct span *on,
                            int64_t on_stride, const struct span *along, int64_t along_stride) {
    struct access access = product_access(p, which);
    add_span(&access, on, on_stride);
    add_span(&access, along, along_stride);
    access.cols_most = along->width;
    access.rows = on->size;
    access.row = on_stride;
    access.cols[0] = along->size;
    access.strides[0] = along_stride ? along_stride : 1;
    access.col_count = 1;
    return write_access(p->writer, &access);
}

static const struct product_side *own_side(const struct product *p, enum which which) {
    return &p->main[which == LEFT ? ROW : COLUMN];
}

/* ---- turned ---------------------------------------------------------------------------------- */

/* A loop over 128 rows each of a span. */
static struct span open_rows(struct writer *w, const struct span *span) {
    long long rows;
    if (str_to_int(str_of(span->size), &rows))
        return product_tiles(w, "j", "wide", rows, PARTITIONS);
    write_line(w, "for j in range(0, %s, %d):", span->size, PARTITIONS);
    w->indent++;
    write_line(w, "wide = min(%d, %s - j)", PARTITIONS, span->size);
    return (struct span){"j", "wide", MAX_OF(span->width - PARTITIONS, 0), PARTITIONS};
}

/* Where the raw rows of a span lie in HBM: `tiles` times 128 of them, or one tile of `rows`. */
static const char *raw_rows(struct product *p, enum which which, const struct span *span,
                            const struct span *rows, int64_t tiles) {
    const struct product_side *sum = &p->main[SUMMED], *own = own_side(p, which);
    struct access access = product_access(p, which);
    add_span(&access, span, own->strides[which]);
    add_span(&access, rows, own->strides[which]);
    access.rows = tiles > 1 ? number(p->writer, PARTITIONS) : rows->size;
    access.row = own->strides[which];
    if (tiles > 1) {
        access.cols[access.col_count] = number(p->writer, tiles);
        access.strides[access.col_count++] = own->strides[which] * PARTITIONS;
    }
    access.cols[access.col_count] = number(p->writer, sum->n);
    access.strides[access.col_count++] = sum->strides[which];
    return write_access(p->writer, &access);
}

/* Lines that bring raw rows: `index` is of what lies before their columns, "[0:128, ". What is
 * wanted more than once is copied. */
static void bring_rows(struct product *p, const char *raw, const char *index, const char *from) {
    struct writer *w = p->writer;
    if (!product_copy(p)) {
        write_line(w, "nisa.dma_copy(dst=%s, src=%s)", raw, from);
        return;
    }
    long long n = p->main[SUMMED].n, each = product_copy(p);
    if (n < each)
        write_line(w, "nisa.memset(dst=%s, value=0.0)", raw);
    write_line(w, "nisa.dma_copy(dst=%s%s0:%lld], src=%s)", raw, index, n, from);
    write_line(w, "for h in range(%lld, %d, %lld):", each, PARTITIONS, each);
    write_line(w,
               "    nisa.tensor_copy(dst=%s%sh:h + %lld], src=%s%s0:%lld], "
               "engine=nisa.gpsimd_engine)",
               raw, index, n, raw, index, n);
}

/* Tiles of rows that one transfer brings: as many as the transfer's start is worth. */
static int64_t tiles_at_once(struct product *p, enum which which, const struct span *span) {
    static const char *const names[] = {[LEFT] = "left_transfer", [RIGHT] = "right_transfer"};
    int64_t values[WRITE_MAX_VALUES], tiles = span->width / PARTITIONS;
    long long exact;
    int count = 0;
    double most = p->writer->spec->sbuf_bytes / RAW_SHARE / (4 * (double)product_raw_columns(p));
    if (!str_to_int(str_of(span->size), &exact) || exact % PARTITIONS)
        return 1;
    for (int64_t n = MIN_OF(tiles, 64); n > 0 && count < WRITE_MAX_VALUES; n--)
        if (tiles % n == 0 && (n == 1 || (double)n <= most))
            values[count++] = n;
    return write_choose(p->writer, (int)(p->node - p->writer->graph->nodes), names[which],
                        "tiles of 128 rows that one transfer brings before they are turned", values,
                        count);
}

const char *product_make_rows(struct product *p, enum which which, const struct span *rows) {
    const struct product_side *sum = &p->main[SUMMED], *own = own_side(p, which);
    const struct made_rows wanted = {
        .node = p->writer->buffers.at[p->views[which].buffer].node,
        .n = own->n,
        .row_stride = own->strides[which],
        .columns = sum->n,
        .column_stride = sum->strides[which],
        .offset = p->views[which].offset,
        .at = rows->at,
        .most = rows->most,
        .rows = rows->size,
        .suffix = p->name,
    };
    if (!p->loop_count)
        return rows_make_operand(p->writer, &wanted);
    write_apart(p->writer, wanted.node);
    return NULL;
}

/* Rows that lie nowhere are made for the tile; false where they cannot be. */
static bool make_rows(struct product *p, enum which which, struct product_raw *turn,
                      const struct span *span) {
    struct span rows = turn->rows;
    if (strcmp(span->at, "0") && strcmp(rows.at, "0")) {
        write_apart(p->writer, p->writer->buffers.at[p->views[which].buffer].node);
        return false;
    }
    if (strcmp(span->at, "0"))
        rows = (struct span){span->at, rows.size, span->most, rows.width};
    turn->raw = p->make_rows(p, which, &rows);
    return turn->raw;
}

static void turn_one_by_one(struct product *p, enum which which, struct product_raw *turn,
                            const struct span *span) {
    struct writer *w = p->writer;
    turn->rows = open_rows(w, span);
    turn->tile = "";
    if (product_is_made(p, which)) {
        if (make_rows(p, which, turn, span))
            product_turn_rows(p, turn);
        return;
    }
    product_declare(
        p, turn->raw,
        arena_printf(w->arena, "%s, %lld", turn->rows.size, (long long)product_raw_columns(p)),
        p->dtype, "sbuf");
    bring_rows(p, turn->raw, arena_printf(w->arena, "[0:%s, ", turn->rows.size),
               raw_rows(p, which, span, &turn->rows, 1));
    product_turn_rows(p, turn);
}

/* Tiles of rows whose columns are one piece each: several leave PSUM at once, side by side. */
static void turn_pieces_of(struct product *p, const struct product_raw *turn, int64_t group) {
    struct writer *w = p->writer;
    int64_t depth = product_raw_columns(p);
    const char *all = number(w, group * PARTITIONS);
    product_declare(p, "turned", arena_printf(w->arena, "%lld, %s", (long long)depth, all),
                    p->dtype, "psum");
    write_line(w, "for q in range(%lld):", (long long)group);
    write_line(w,
               "    nisa.nc_transpose(dst=turned[0:%lld, q * %d:q * %d + %d], data=%s[0:%d, t + q, "
               "0:%lld])",
               (long long)depth, PARTITIONS, PARTITIONS, PARTITIONS, turn->raw, PARTITIONS,
               (long long)depth);
    const struct product_piece piece = {
        .which = turn->which,
        .name = turn->name,
        .index = arena_printf(w->arena, ", 0, %s]", product_slice(w, &turn->rows)),
        .from = "turned",
        .from_index = arena_printf(w->arena, ", 0:%s]", all),
        .depth = number(w, depth),
        .in_psum = true,
    };
    product_take(p, &piece);
}

/* Tiles of rows that are turned before they leave PSUM. */
static int64_t turned_at_once(struct product *p, enum which which, int64_t tiles) {
    static const char *const names[] = {[LEFT] = "left_turned", [RIGHT] = "right_turned"};
    int64_t group = MIN_OF(GROUP, tiles);
    while (tiles % group)
        group--;
    bool splits = p->halves || p->packed;
    const int64_t values[] = {splits ? group : 1, group, 1};
    return group == 1
               ? 1
               : write_choose(p->writer, (int)(p->node - p->writer->graph->nodes), names[which],
                              "tiles of 128 rows that leave PSUM turned at once", values, 3);
}

/* Raw tiles of 128 rows, those of a span, in a loop. */
static void turn_tiles(struct product *p, struct product_raw *turn, const struct span *rows,
                       int64_t tiles) {
    struct writer *w = p->writer;
    int64_t group =
        product_raw_columns(p) <= PARTITIONS ? turned_at_once(p, turn->which, tiles) : 1;
    if (group > 1)
        write_line(w, "for t in range(0, %lld, %lld):", (long long)tiles, (long long)group);
    else
        write_line(w, "for t in range(%lld):", (long long)tiles);
    w->indent++;
    turn->rows = (struct span){.size = number(w, group * PARTITIONS), .width = group * PARTITIONS};
    turn->rows.at = strcmp(rows->at, "0")
                        ? arena_printf(w->arena, "%s + t * %d", rows->at, PARTITIONS)
                        : arena_printf(w->arena, "t * %d", PARTITIONS);
    if (group > 1)
        turn_pieces_of(p, turn, group);
    else
        product_turn_rows(p, turn);
}

static void turn_several(struct product *p, enum which which, struct product_raw *turn,
                         const struct span *span, int64_t tiles) {
    struct writer *w = p->writer;
    struct span rows = product_tiles(w, "j", "wide", span->width, tiles * PARTITIONS);
    product_declare(p, turn->raw,
                    arena_printf(w->arena, "%d, %lld, %lld", PARTITIONS, (long long)tiles,
                                 (long long)product_raw_columns(p)),
                    p->dtype, "sbuf");
    bring_rows(p, turn->raw,
               arena_printf(w->arena, "[0:%d, 0:%lld, ", PARTITIONS, (long long)tiles),
               raw_rows(p, which, span, &rows, tiles));
    turn->tile = "t, ";
    turn_tiles(p, turn, &rows, tiles);
}

static void load_turned(struct product *p, enum which which, const char *name,
                        const struct span *span) {
    int indent = p->writer->indent;
    struct product_raw turn = {
        .which = which, .name = name, .raw = arena_printf(p->writer->arena, "raw%s", p->name)};
    int64_t tiles = product_is_made(p, which) ? 1 : tiles_at_once(p, which, span);
    if (tiles > 1)
        turn_several(p, which, &turn, span, tiles);
    else
        turn_one_by_one(p, which, &turn, span);
    p->writer->indent = indent;
}

/* ---- as it lies ------------------------------------------------------------------------------ */

void product_load_piece(struct product *p, enum which which, const char *name, const char *index,
                        const struct span *k, const struct span *span) {
    struct writer *w = p->writer;
    int indent = w->indent;
    const char *from = piece_of(p, which, k, p->main[SUMMED].strides[which], span,
                                own_side(p, which)->strides[which]);
    if (p->beside && !p->narrow) {
        const char *all = arena_printf(w->arena, ", 0:%s]", span->size);
        const char *at = product_open_copies(p, name);
        write_line(w, "nisa.dma_copy(dst=%s[%s%s, src=%s)", name, at, index ? index : all, from);
        w->indent = indent;
        return;
    }
    if (!p->halves && !p->narrow && !p->packed) {
        const char *part = index ? arena_printf(w->arena, "[0:%s%s", k->size, index) : "";
        write_line(w, "nisa.dma_copy(dst=%s%s, src=%s)", name, part, from);
        return;
    }
    const char *depth = product_depth(p, k);
    product_declare(p, "raw", arena_printf(w->arena, "%s, %s", depth, span->size), p->dtype,
                    "sbuf");
    const char *all = arena_printf(w->arena, ", 0:%s]", span->size);
    if (p->packed) {
        const char *at = product_open_copies(p, "raw");
        write_line(w, "nisa.dma_copy(dst=raw[%s%s, src=%s)", at, all, from);
        w->indent = indent;
        index = index ? index : all;
    } else {
        write_line(w, "nisa.dma_copy(dst=raw, src=%s)", from);
    }
    const struct product_piece piece = {.which = which,
                                        .name = name,
                                        .index = index,
                                        .from = "raw",
                                        .from_index = p->packed ? all : NULL,
                                        .depth = depth};
    product_take(p, &piece);
}

/* What is split is loaded in parts that leave room beside it. */
static struct span open_parts(const struct product *p, const struct span *span) {
    long long exact;
    bool splits = p->halves || p->narrow || p->packed;
    if (!splits || strcmp(span->at, "0") || !str_to_int(str_of(span->size), &exact))
        return *span;
    return product_tiles(p->writer, "s", "part", exact, 4 * PRODUCT_MOVING);
}

static void load_straight(struct product *p, enum which which, const char *name,
                          const struct span *span) {
    struct writer *w = p->writer;
    int indent = w->indent;
    struct span k = product_tiles(w, "k", "depth", p->main[SUMMED].n, PARTITIONS);
    struct span part = open_parts(p, span), within = part;
    if (strcmp(span->at, "0"))
        within.at = "0";
    product_load_piece(
        p, which, name,
        arena_printf(w->arena, ", %s, %s]", product_tile_of(w, &k), product_slice(w, &within)), &k,
        &part);
    w->indent = indent;
}

void product_load(struct product *p, enum which which, const char *name, const struct span *span) {
    int64_t n = p->main[SUMMED].n, tiles = (n + PARTITIONS - 1) / PARTITIONS;
    const struct span k = {.size = number(p->writer, MIN_OF(n, PARTITIONS))};
    product_declare_operand(p, which, name,
                            arena_printf(p->writer->arena, "%s, %lld, %s", product_depth(p, &k),
                                         (long long)tiles, span->size));
    (p->turns[which] ? load_turned : load_straight)(p, which, name, span);
}
