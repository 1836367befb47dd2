/* SPDX-License-Identifier: Apache-2.0 */
/* A product by Strassen's scheme, once or twice: 7 products of sums of blocks instead of 8, 49
 * instead of 64. A part of the result stays in SBUF until all products of its blocks have been
 * added to it; sums of operands' blocks that are wanted again are kept in HBM. As a stage of its
 * own it goes over the result at once; in a stage of rows that uses it, the next part of the rows
 * is multiplied while the stage works on the one before, and stays in SBUF where both fit. Rows
 * that have to be turned over are turned once where they fit, too, and blocks of those are summed.
 */
#include "write/product.h"

#include <stdio.h>

#include "write/fast/fast.h"

#define LARGEST 2048  /* rows of the result that stay, as the best guess */
#define DEEPEST 5     /* tiles that are summed over in PSUM, as the best guess */
#define CHUNK 2048    /* elements of a partition that are summed at once */
#define MORE_ROOM 1.5 /* tiles of a stage's rows are not there all at once */
#define NARROWEST 64  /* columns of a product that the Tensor engine takes at its full rate */

struct fast {
    struct product *p;
    struct product part; /* what one of the products is: its own sum is over fewer */
    int levels;
    int64_t rows, columns; /* of the result that stay in SBUF */
    int64_t depth;         /* of what is summed over until products are added to the result */
    int64_t width;         /* columns of a sum in PSUM */
    bool by_gpsimd[2];     /* sums of an operand's blocks */
    bool once[2];          /* an operand's blocks are turned once and stay, sums are of those */
    double room;           /* bytes of a partition that it may take */
    bool rows_last;        /* all columns of a part of the rows come one after the other */
    bool stays;            /* those of one part stay in SBUF until the stage has used them */
};

/* Of operands that are made while the products before are multiplied, and then. */
static const char *const names[] = {[LEFT] = "next_left", [RIGHT] = "next_right"};
static const char *const now[] = {[LEFT] = "left", [RIGHT] = "right"};
static const char *const wholes[] = {[LEFT] = "whole_left", [RIGHT] = "whole_right"};

/* As this product has it: "done", in a stage that makes several "done_4". */
static const char *named(const struct fast *f, const char *what) {
    return arena_printf(f->p->writer->arena, "%s%s", what, f->p->name);
}

static const char *number(const struct fast *f, int64_t value) {
    return arena_printf(f->p->writer->arena, "%lld", (long long)value);
}

static int64_t block_of(const struct fast *f, enum which which) {
    return (which == LEFT ? f->rows : f->columns) >> f->levels;
}

/* Tiles of what is summed over in one product. */
static int64_t depth_of(const struct fast *f) {
    return (f->depth >> f->levels) / PARTITIONS;
}

static int64_t passes_of(const struct fast *f) {
    return f->p->main[SUMMED].n / f->depth;
}

static int64_t products_of(const struct fast *f) {
    return f->levels == 1 ? FAST_PRODUCTS : FAST_PRODUCTS * FAST_PRODUCTS;
}

/* ---- what is decided ------------------------------------------------------------------------- */

static int64_t choose_one(const struct fast *f, const char *name, const char *title,
                          const int64_t *values, int count) {
    struct product *p = f->p;
    return write_choose(p->writer, (int)(p->node - p->writer->graph->nodes), name, title, values,
                        count);
}

/* Columns of a sum in PSUM that divide a block's evenly, and into whole tiles where those are
 * turned; 0: there are none that are worth it. */
static int64_t find_width(const struct product *p, int64_t columns) {
    for (int64_t width = MIN_OF(columns, PRODUCT_MOVING); width >= NARROWEST; width--)
        if (columns % width == 0 && !(p->turns[RIGHT] && width % PARTITIONS))
            return width;
    return 0;
}

/* Tiles of what is summed over whose blocks are summed at once. */
static int64_t chunk_of(const struct fast *f, enum which which) {
    int64_t tiles = depth_of(f), most = MAX_OF(CHUNK / block_of(f, which), 1);
    int64_t chunk = MIN_OF(tiles, most);
    while (tiles % chunk)
        chunk--;
    return chunk;
}

static int64_t part_of(const struct fast *f, enum which which) {
    return which == LEFT ? f->rows : f->columns;
}

/* Elements of a partition for sums on their way: two tiles, while others are worked on. Of blocks
 * that stay all are there, too. */
static double raw_elements(const struct fast *f, enum which which) {
    double sum = (double)(depth_of(f) * block_of(f, which));
    double all = (double)(f->depth / PARTITIONS * part_of(f, which));
    if (f->once[which])
        return all + 2 * (sum + (double)f->depth);
    return 4.0 * (double)(f->p->turns[which] ? f->depth >> f->levels
                                             : chunk_of(f, which) * block_of(f, which));
}

/* Whether the result's part and two of each operand's sums leave room for each other. */
static bool fits(const struct fast *f) {
    double done = (double)(f->rows / PARTITIONS) * (double)f->columns;
    double sums = 2.0 * (double)depth_of(f) * (double)(block_of(f, LEFT) + block_of(f, RIGHT));
    return 4 * (done * (f->stays ? 2 : 1) + sums + raw_elements(f, LEFT) +
                raw_elements(f, RIGHT)) <=
           f->room;
}

/* Puts the largest value that is not above `largest` first, as the best guess. */
static void prefer(int64_t *values, int count, int64_t largest) {
    for (int i = 0; i < count; i++)
        if (values[i] <= largest) {
            int64_t best = values[i];
            memmove(&values[1], values, (size_t)i * sizeof *values);
            values[0] = best;
            return;
        }
}

/* Parts of a side of `n` in multiples of `unit` that divide it and fit; returns how many. */
static int list_parts(struct fast *f, int64_t *part, int64_t n, int64_t unit, int64_t *values) {
    int count = 0;
    for (int64_t size = n; size >= unit && count < WRITE_MAX_VALUES; size -= unit) {
        *part = size;
        if (n % size == 0 && fits(f))
            values[count++] = size;
    }
    return count;
}

/* Longer sums leave PSUM less often, shorter ones leave room for more of the result. */
static void choose_depth(struct fast *f) {
    int64_t values[WRITE_MAX_VALUES], unit = f->depth;
    int count = list_parts(f, &f->depth, f->p->main[SUMMED].n, unit, values);
    prefer(values, count, DEEPEST * unit);
    f->depth = choose_one(f, "fast_depth", "summed over until results are added to", values, count);
    f->part.main[SUMMED].n = f->depth >> f->levels;
}

static void choose_part(struct fast *f) {
    const struct product *p = f->p;
    int64_t values[WRITE_MAX_VALUES], narrow = f->width << f->levels;
    f->columns = f->stays ? p->main[COLUMN].n : narrow;
    int count = list_parts(f, &f->rows, p->main[ROW].n, PARTITIONS << f->levels, values);
    prefer(values, count, LARGEST);
    f->rows = choose_one(f, "fast_rows", "rows of the result that stay until they are done", values,
                         count);
    if (f->stays)
        return;
    count = list_parts(f, &f->columns, p->main[COLUMN].n, narrow, values);
    f->columns = choose_one(f, "fast_columns",
                            "columns of the result that stay until they are done", values, count);
}

/* Each block of an operand is in several sums: where its rows are turned over, each of them would
 * be brought and turned for every sum. */
static void choose_once(struct fast *f) {
    static const char *const keys[] = {[LEFT] = "left_once", [RIGHT] = "right_once"};
    for (enum which i = LEFT; i <= RIGHT; i++) {
        f->once[i] = f->p->turns[i];
        const int64_t values[] = {fits(f), 0};
        f->once[i] = f->p->turns[i] &&
                     choose_one(f, keys[i],
                                "blocks that are turned over: once, and stay in SBUF for the sums "
                                "that they are in (1), for each of those sums (0)",
                                values, 2);
    }
}

/* In a stage of rows: results of the part that comes next, beside those of the part before. */
static void choose_stays(struct fast *f) {
    int64_t columns = f->columns;
    f->columns = f->p->main[COLUMN].n;
    f->stays = f->rows_last;
    const int64_t values[] = {fits(f), 0};
    f->stays = f->rows_last &&
               choose_one(f, "results_stay",
                          "results of the part of the rows that is next: stay in SBUF (1), go "
                          "through HBM (0)",
                          values, 2);
    f->columns = f->stays ? f->columns : columns;
}

static void choose_engines(struct fast *f) {
    static const int64_t values[] = {2, 3, 1};
    int64_t by = choose_one(f, "summed_by",
                            "sums of operands' blocks: by GpSimd (2), of the left one by GpSimd "
                            "and of the right one by Vector (3), by Vector (1)",
                            values, COUNT_OF(values));
    f->by_gpsimd[LEFT] = by != 1;
    f->by_gpsimd[RIGHT] = by == 2;
}

static struct fast at_levels(struct product *p, int levels, double room) {
    struct fast f = {.p = p, .part = *p, .levels = levels, .room = room};
    f.depth = (int64_t)PARTITIONS << levels;
    f.part.main[SUMMED].n = PARTITIONS;
    f.width = find_width(p, p->main[COLUMN].n >> levels);
    f.rows = (int64_t)PARTITIONS << levels;
    f.columns = f.width << levels;
    return f;
}

/* Sides that divide into blocks of whole tiles, memory for the smallest part, and an error that is
 * allowed. */
static bool is_legal(struct product *p, int levels, double room) {
    int64_t unit = (int64_t)PARTITIONS << levels;
    bool made = false, exact = strcmp(p->dtype, "float32") == 0 &&
                               strcmp(p->node->dtype, "float32") == 0 && !p->packed;
    for (enum which i = LEFT; i <= RIGHT; i++)
        made |= p->writer->buffers.at[p->views[i].buffer].is_made;
    if (made || !exact || p->main[ROW].n % unit || p->main[SUMMED].n % unit ||
        p->main[COLUMN].n % (1 << levels))
        return false;
    double allowed;
    struct fast f = at_levels(p, levels, room);
    return f.width && product_error(p, levels, &allowed) <= allowed && fits(&f);
}

static int choose_levels(struct product *p, double room) {
    int64_t values[FAST_MAX_LEVELS + 1] = {0};
    int count = 1;
    for (int levels = 1; levels <= FAST_MAX_LEVELS; levels++)
        if (is_legal(p, levels, room))
            values[count++] = levels;
    const struct fast f = {.p = p};
    int levels = count == 1
                     ? 0
                     : (int)choose_one(&f, "strassen",
                                       "blocks are multiplied: each with each (0), by Strassen in "
                                       "7 products for 8 (1), twice so in 49 for 64 (2)",
                                       values, count);
    product_note_error(p, levels);
    return levels;
}

/* ---- tables ---------------------------------------------------------------------------------- */

static void print_term(const struct fast_term *term, int product, bool result, struct buf *out) {
    buf_printf(out, "(%d, %d, %d", term->row, term->column, term->sign);
    if (result)
        buf_printf(out, ", %d, %d", fast_is_first(product, term), fast_is_last(product, term));
    buf_puts(out, ")");
}

/* "lefts = (((0, 0, 1), (1, 1, -1)), ...)" */
static void write_table(struct fast *f, const char *name, enum fast_array array) {
    struct writer *w = f->p->writer;
    struct buf text = {0};
    for (int i = 0; i < FAST_PRODUCTS; i++) {
        const struct fast_product *product = &fast_products()[i];
        int count = product->counts[array];
        buf_puts(&text, i ? ", (" : "(");
        for (int k = 0; k < count; k++) {
            buf_puts(&text, k ? ", " : "");
            print_term(&product->terms[array][k], i, array == FAST_RESULT, &text);
        }
        buf_puts(&text, count == 1 ? ",)" : ")");
    }
    write_line(w, "%s = (%s)", name, text.at);
    buf_free(&text);
}

static void write_tables(struct fast *f) {
    struct writer *w = f->p->writer;
    write_line(w, "# Of each product: blocks that are summed, as row, column and sign; blocks that "
                  "it is added to,");
    write_line(w, "# and whether it is the first or the last of them.");
    write_table(f, "lefts", FAST_LEFT);
    write_table(f, "rights", FAST_RIGHT);
    write_table(f, "results", FAST_RESULT);
}

/* Opens a loop over the blocks of a product: s, and t within it. */
static void open_terms(struct fast *f, const char *table) {
    struct writer *w = f->p->writer;
    for (int i = 0; i < f->levels; i++) {
        write_line(w, "for %s in %s[%s]:", i ? "t" : "s", table, i ? "inner" : "p");
        w->indent++;
    }
}

/* Where a block lies along an axis, in blocks. */
static const char *place_of(const struct fast *f, int axis) {
    struct arena *arena = f->p->writer->arena;
    return f->levels == 1 ? arena_printf(arena, "s[%d]", axis)
                          : arena_printf(arena, "(s[%d] * 2 + t[%d])", axis, axis);
}

/* A sign or a flag of a block. */
static const char *mark_of(const struct fast *f, int at) {
    struct arena *arena = f->p->writer->arena;
    return f->levels == 1 ? arena_printf(arena, "s[%d] > 0", at)
                          : arena_printf(arena, "s[%d] * t[%d] > 0", at, at);
}

/* Branches for both signs, of which the first begins with "if" or "elif". */
static void add_or_subtract(struct fast *f, const char *word, const char *to, const char *from,
                            const char *more, const char *engine) {
    struct writer *w = f->p->writer;
    write_line(w, "%s %s:", word, mark_of(f, 2));
    write_line(w, "    nisa.tensor_tensor(dst=%s, data1=%s, data2=%s, op=nl.add%s)", to, from, more,
               engine);
    write_line(w, "else:");
    write_line(w, "    nisa.tensor_tensor(dst=%s, data1=%s, data2=%s, op=nl.subtract%s)", to, from,
               more, engine);
}

/* ---- sums of an operand's blocks ------------------------------------------------------------- */

static const char *operand_shape(const struct fast *f, enum which which) {
    return arena_printf(f->p->writer->arena, "%d, %lld, %lld", PARTITIONS, (long long)depth_of(f),
                        (long long)block_of(f, which));
}

/* What is summed at once: `at` is where it begins within a block, of the side that goes on. */
struct chunk {
    enum which which;
    const char *from; /* where the stage's part of the operand begins */
    const char *at;   /* "0", or the loop's variable */
    int64_t most;     /* that `at` is, in elements of its side */
    int64_t times;    /* elements of its side that one of `at` is */
    const char *to, *shape;
};

static void write_addresses(struct fast *f, const struct chunk *chunk) {
    struct writer *w = f->p->writer;
    bool left = chunk->which == LEFT, turns = f->p->turns[chunk->which];
    struct arena *arena = w->arena;
    const char *at = strcmp(chunk->at, "0") == 0 ? ""
                     : chunk->times == 1
                         ? arena_printf(arena, " + %s", chunk->at)
                         : arena_printf(arena, " + %s * %lld", chunk->at, (long long)chunk->times);
    const char *from = strcmp(chunk->from, "0") ? arena_printf(arena, "%s + ", chunk->from) : "";
    write_line(w, "own = %s%s * %lld%s", from, place_of(f, left ? 0 : 1),
               (long long)block_of(f, chunk->which), turns ? at : "");
    write_line(w, "summed = %s%s * %lld%s", passes_of(f) > 1 ? "d + " : "",
               place_of(f, left ? 1 : 0), (long long)f->part.main[SUMMED].n, turns ? "" : at);
}

/* The chunk of a block in HBM. */
static const char *chunk_in_hbm(struct fast *f, const struct chunk *chunk) {
    struct product *p = f->p;
    enum which which = chunk->which;
    const struct product_side *own = &p->main[which == LEFT ? ROW : COLUMN],
                              *sum = &p->main[SUMMED];
    struct access access = product_access(p, which);
    bool turns = p->turns[which];
    int64_t span = turns ? PARTITIONS : block_of(f, which);
    int64_t tiles = chunk_of(f, which), depth = turns ? f->part.main[SUMMED].n : PARTITIONS * tiles;
    access_add(&access, "own", own->strides[which], own->n - span);
    access_add(&access, "summed", sum->strides[which], sum->n - depth);
    access.rows = number(f, PARTITIONS);
    access.row = turns ? own->strides[which] : sum->strides[which];
    if (!turns && tiles > 1) {
        access.cols[access.col_count] = number(f, tiles);
        access.strides[access.col_count++] = sum->strides[which] * PARTITIONS;
    }
    access.cols_most = turns ? depth : span;
    access.cols[access.col_count] = number(f, access.cols_most);
    access.strides[access.col_count++] = turns ? sum->strides[which] : own->strides[which];
    return write_access(p->writer, &access);
}

static const char *engine_of(const struct fast *f, enum which which) {
    return f->by_gpsimd[which] ? ", engine=nisa.gpsimd_engine" : "";
}

/* Lines that sum a chunk of the blocks of a product. */
static void sum_chunk(struct fast *f, const struct chunk *chunk) {
    struct product *p = f->p;
    struct writer *w = p->writer;
    int indent = w->indent;
    write_line(w, "count = 0");
    open_terms(f, chunk->which == LEFT ? "lefts" : "rights");
    write_addresses(f, chunk);
    const char *from = chunk_in_hbm(f, chunk);
    write_line(w, "if count == 0:");
    write_line(w, "    nisa.dma_copy(dst=%s, src=%s)", chunk->to, from);
    write_line(w, "else:");
    w->indent++;
    product_declare(p, "more", chunk->shape, p->dtype, "sbuf");
    write_line(w, "nisa.dma_copy(dst=more, src=%s)", from);
    add_or_subtract(f, "if", chunk->to, chunk->to, "more", engine_of(f, chunk->which));
    w->indent--;
    write_line(w, "count = count + 1");
    w->indent = indent;
}

/* Chunks with what is summed over on the partitions. */
static void sum_straight(struct fast *f, enum which which, const char *from) {
    struct product *p = f->p;
    struct writer *w = p->writer;
    struct arena *arena = w->arena;
    int indent = w->indent;
    long long tiles = depth_of(f), at_once = chunk_of(f, which), span = block_of(f, which);
    bool takes = strcmp(product_dtype(p), p->dtype);
    const char *at = "0", *index;
    if (at_once < tiles) {
        write_line(w, "for h in range(0, %lld, %lld):", tiles, at_once);
        w->indent++;
        at = "h";
    }
    index = at_once < tiles ? arena_printf(arena, ", h:h + %lld, 0:%lld]", at_once, span)
                            : arena_printf(arena, ", 0:%lld, 0:%lld]", at_once, span);
    if (at_once == 1)
        index = arena_printf(arena, ", %s, 0:%lld]", at, span);
    struct chunk chunk = {.which = which, .from = from, .at = at, .times = PARTITIONS};
    chunk.shape = at_once == 1 ? arena_printf(arena, "%d, %lld", PARTITIONS, span)
                               : arena_printf(arena, "%d, %lld, %lld", PARTITIONS, at_once, span);
    chunk.to = takes ? "total"
                     : arena_printf(arena, "%s[0:%d%s", named(f, names[which]), PARTITIONS, index);
    if (takes)
        product_declare(p, "total", chunk.shape, p->dtype, "sbuf");
    sum_chunk(f, &chunk);
    const struct product_piece piece = {.which = which,
                                        .name = named(f, names[which]),
                                        .index = index,
                                        .from = "total",
                                        .depth = number(f, PARTITIONS)};
    if (takes)
        product_take(p, &piece);
    w->indent = indent;
}

/* Tiles of 128 rows, which are summed and then turned. */
static void sum_turned(struct fast *f, enum which which, const char *from) {
    struct product *p = f->p;
    struct writer *w = p->writer;
    int indent = w->indent;
    struct span rows = product_tiles(w, "j", "wide", block_of(f, which), PARTITIONS);
    struct chunk chunk = {.which = which, .from = from, .at = rows.at, .times = 1, .to = "total"};
    chunk.shape = arena_printf(w->arena, "%d, %lld", PARTITIONS, (long long)f->part.main[SUMMED].n);
    product_declare(p, "total", chunk.shape, p->dtype, "sbuf");
    sum_chunk(f, &chunk);
    product_turn(&f->part, which, named(f, names[which]), "total", &rows);
    w->indent = indent;
}

/* Lines that bring all blocks of the stage's part of an operand, turned, with its first product. */
static void load_whole(struct fast *f, enum which which, const struct span *own) {
    struct product *p = f->p, whole = *p;
    struct writer *w = p->writer;
    int indent = w->indent;
    const struct product_side *side = &p->main[which == LEFT ? ROW : COLUMN];
    write_line(w, "if p == 0%s: # all of its blocks", f->levels > 1 ? " and inner == 0" : "");
    w->indent++;
    product_declare(p, named(f, wholes[which]),
                    arena_printf(w->arena, "%d, %lld, %lld", PARTITIONS,
                                 (long long)(f->depth / PARTITIONS), (long long)part_of(f, which)),
                    p->dtype, "sbuf");
    struct span rows = product_tiles(w, "j", "wide", part_of(f, which), PARTITIONS);
    product_declare(p, "raw", arena_printf(w->arena, "%d, %lld", PARTITIONS, (long long)f->depth),
                    p->dtype, "sbuf");
    struct access access = product_access(p, which);
    if (strcmp(own->at, "0"))
        access_add(&access, own->at, side->strides[which], own->most);
    access_add(&access, rows.at, side->strides[which], rows.most);
    if (passes_of(f) > 1)
        access_add(&access, "d", p->main[SUMMED].strides[which], p->main[SUMMED].n - f->depth);
    access.rows = number(f, PARTITIONS);
    access.row = side->strides[which];
    access.cols_most = f->depth;
    access.cols[access.col_count] = number(f, f->depth);
    access.strides[access.col_count++] = p->main[SUMMED].strides[which];
    write_line(w, "nisa.dma_copy(dst=raw, src=%s)", write_access(w, &access));
    whole.main[SUMMED].n = f->depth;
    whole.halves = whole.narrow = false;
    product_turn(&whole, which, named(f, wholes[which]), "raw", &rows);
    w->indent = indent;
}

/* The block of those that stay where variables say, whose names begin so. */
static const char *block_at(const struct fast *f, enum which which, const char *name) {
    return arena_printf(f->p->writer->arena, "%s[0:%d, %sdeep:%sdeep + %lld, %sown:%sown + %lld]",
                        named(f, wholes[which]), PARTITIONS, name, name, (long long)depth_of(f),
                        name, name, (long long)block_of(f, which));
}

/* Lines that sum the blocks of a product, of those that stay. */
static void sum_blocks(struct fast *f, enum which which, const char *to) {
    struct writer *w = f->p->writer;
    int indent = w->indent;
    long long tiles = depth_of(f), block = block_of(f, which);
    const char *engine = engine_of(f, which), *part = block_at(f, which, "");
    const char *first = block_at(f, which, "first_");
    write_line(w, "count = 0");
    open_terms(f, which == LEFT ? "lefts" : "rights");
    write_line(w, "own = %s * %lld", place_of(f, which == LEFT ? 0 : 1), block);
    write_line(w, "deep = %s * %lld", place_of(f, which == LEFT ? 1 : 0), tiles);
    write_line(w, "if count == 0:");
    write_line(w, "    first_own = own");
    write_line(w, "    first_deep = deep");
    write_line(w, "elif count == 1:");
    w->indent++;
    add_or_subtract(f, "if", to, first, part, engine);
    w->indent--;
    if (f->levels > 1) {
        write_line(w, "else:");
        w->indent++;
        add_or_subtract(f, "if", to, to, part, engine);
        w->indent--;
    }
    write_line(w, "count = count + 1");
    w->indent = indent;
    write_line(w, "if count == 1:");
    write_line(w, "    nisa.tensor_copy(dst=%s, src=%s%s)", to, first, engine);
}

static void sum_whole(struct fast *f, enum which which, const struct span *own) {
    struct product *p = f->p;
    struct writer *w = p->writer;
    bool takes = strcmp(product_dtype(p), p->dtype);
    const char *index = arena_printf(w->arena, ", 0:%lld, 0:%lld]", (long long)depth_of(f),
                                     (long long)block_of(f, which));
    load_whole(f, which, own);
    if (!takes) {
        sum_blocks(f, which,
                   arena_printf(w->arena, "%s[0:%d%s", named(f, names[which]), PARTITIONS, index));
        return;
    }
    product_declare(p, "total", operand_shape(f, which), p->dtype, "sbuf");
    sum_blocks(f, which, "total");
    const struct product_piece piece = {.which = which,
                                        .name = named(f, names[which]),
                                        .index = index,
                                        .from = "total",
                                        .depth = number(f, PARTITIONS)};
    product_take(p, &piece);
}

/* ---- sums that are kept ---------------------------------------------------------------------- */

/* How many parts of the result have the same sums of an operand. */
static int64_t uses_of(const struct fast *f, enum which which) {
    return which == LEFT ? f->p->main[COLUMN].n / f->columns : f->p->main[ROW].n / f->rows;
}

/* Parts of an operand whose sums are kept at a time: of the one that changes first, all. */
static int64_t kept_parts(const struct fast *f, enum which which) {
    bool changes_first = (which == LEFT) != f->rows_last;
    return changes_first ? uses_of(f, which == LEFT ? RIGHT : LEFT) : 1;
}

static void declare_kept(struct fast *f, enum which which) {
    struct product *p = f->p;
    int64_t count = products_of(f) * passes_of(f) * kept_parts(f, which);
    for (int low = 0; uses_of(f, which) > 1 && low <= product_has_low(p, which); low++)
        product_declare(
            p, arena_printf(p->writer->arena, "%s_kept%s", named(f, now[which]), low ? "_low" : ""),
            arena_printf(p->writer->arena, "%lld, %s", (long long)count, operand_shape(f, which)),
            product_dtype(p), "private_hbm");
}

/* Stores the sums, or loads them. */
static void copy_kept(struct fast *f, enum which which, const char *index, bool stores) {
    struct product *p = f->p;
    struct arena *arena = p->writer->arena;
    for (int low = 0; low <= product_has_low(p, which); low++) {
        const char *end = low ? "_low" : "";
        const char *kept = arena_printf(arena, "%s_kept%s[%s]", named(f, now[which]), end, index);
        const char *tile = arena_printf(arena, "%s%s", named(f, names[which]), end);
        write_line(p->writer, "nisa.dma_copy(dst=%s, src=%s)", stores ? kept : tile,
                   stores ? tile : kept);
    }
}

/* Which of the kept sums: by product, then by what is summed over, then by part. */
static const char *kept_index(const struct fast *f, enum which which, const struct span *own) {
    struct arena *arena = f->p->writer->arena;
    const char *index = f->levels == 1 ? "p" : arena_printf(arena, "p * %d + inner", FAST_PRODUCTS);
    if (passes_of(f) > 1)
        index = arena_printf(arena,
                             f->levels == 1 ? "%s * %lld + d // %lld" : "(%s) * %lld + d // %lld",
                             index, (long long)passes_of(f), (long long)f->depth);
    bool is_sum = f->levels > 1 || passes_of(f) > 1;
    if (kept_parts(f, which) > 1)
        index = arena_printf(arena, is_sum ? "(%s) * %lld + %s // %lld" : "%s * %lld + %s // %lld",
                             index, (long long)kept_parts(f, which), own->at,
                             (long long)part_of(f, which));
    return index;
}

/* An operand of one of the products; `other` is the part of the other operand. */
static void bring_operand(struct fast *f, enum which which, const struct span *own,
                          const struct span *other) {
    struct product *p = f->p;
    struct writer *w = p->writer;
    int indent = w->indent;
    bool keeps = uses_of(f, which) > 1;
    product_declare_operand(p, which, named(f, names[which]), operand_shape(f, which));
    if (keeps) {
        write_line(w, "if %s == 0:", other->at);
        w->indent++;
    }
    if (f->once[which])
        sum_whole(f, which, own);
    else
        (p->turns[which] ? sum_turned : sum_straight)(f, which, own->at);
    const char *index = kept_index(f, which, own);
    if (keeps) {
        copy_kept(f, which, index, true);
        w->indent--;
        write_line(w, "else:");
        w->indent++;
        copy_kept(f, which, index, false);
    }
    w->indent = indent;
}

/* ---- products -------------------------------------------------------------------------------- */

/* Where a block's part belongs that is done: a slice of memory of the result's shape, or of the
 * result where it lies. */
static const char *result_place(struct fast *f) {
    struct product *p = f->p;
    const struct product_side *row = &p->main[ROW], *column = &p->main[COLUMN];
    if (f->rows_last)
        return arena_printf(p->writer->arena, "%s[to_row:to_row + %d, to_column:to_column + %lld]",
                            named(f, "product"), PARTITIONS, (long long)f->width);
    struct access access = product_access(p, RESULT);
    access_add(&access, "to_row", row->strides[RESULT], row->n - PARTITIONS);
    access_add(&access, "to_column", column->strides[RESULT], column->n - f->width);
    access.rows = number(f, PARTITIONS);
    access.row = row->strides[RESULT];
    access.cols_most = f->width;
    access.cols[0] = number(f, f->width);
    access.strides[0] = column->strides[RESULT];
    access.col_count = 1;
    return write_access(p->writer, &access);
}

static void store(struct fast *f, const struct span *rows, const struct span *columns,
                  const char *done) {
    struct writer *w = f->p->writer;
    write_line(w, "to_row = %s + row * %d", rows->at, PARTITIONS);
    write_line(w, "to_column = %s + at", columns->at);
    write_line(w, "nisa.dma_copy(dst=%s, src=%s)", result_place(f), done);
}

/* Sums leave PSUM into every block that they are part of. */
static void add_to_results(struct fast *f, const struct span *rows, const struct span *columns,
                           const struct span *i, const struct span *j) {
    struct writer *w = f->p->writer;
    int indent = w->indent;
    open_terms(f, "results");
    write_line(w, "row = %s * %lld%s%s", place_of(f, 0),
               (long long)(block_of(f, LEFT) / PARTITIONS), strcmp(i->at, "0") ? " + " : "",
               strcmp(i->at, "0") ? product_tile_of(w, i) : "");
    write_line(w, "at = %s * %lld%s%s", place_of(f, 1), (long long)block_of(f, RIGHT),
               strcmp(j->at, "0") ? " + " : "", strcmp(j->at, "0") ? j->at : "");
    const char *done = arena_printf(w->arena, "%s[0:%d, row, at:at + %lld]", named(f, "done"),
                                    PARTITIONS, (long long)f->width);
    bool several = passes_of(f) > 1;
    write_line(w, "if %s%s:", several ? "d == 0 and " : "", mark_of(f, 3));
    write_line(w, "    nisa.activation(dst=%s, op=nl.copy, data=sums)", done);
    add_or_subtract(f, "elif", done, done, "sums", "");
    if (f->stays) {
        w->indent = indent;
        return;
    }
    const char *last =
        arena_printf(w->arena, "d == %lld and ", (long long)(f->p->main[SUMMED].n - f->depth));
    write_line(w, "if %s%s:", several ? last : "", mark_of(f, 4));
    w->indent++;
    store(f, rows, columns, done);
    w->indent = indent;
}

/* Steps of a part of the rows, in a stage of rows. */
static long long steps_of_part(const struct fast *f) {
    return (long long)(products_of(f) * passes_of(f) * uses_of(f, LEFT));
}

static void declare_done(struct fast *f) {
    product_declare(f->p, named(f, "done"),
                    arena_printf(f->p->writer->arena, "%d, %lld, %lld", PARTITIONS,
                                 (long long)(f->rows / PARTITIONS), (long long)f->columns),
                    f->p->dtype, "sbuf");
}

static void multiply(struct fast *f, const struct span *rows, const struct span *columns) {
    struct writer *w = f->p->writer;
    struct arena *arena = w->arena;
    int indent = w->indent;
    if (f->stays) {
        write_line(w, "if before %% %lld == 0:", steps_of_part(f));
        w->indent++;
        declare_done(f);
        w->indent--;
    }
    struct span i = product_tiles(w, "i", "high", block_of(f, LEFT), PARTITIONS);
    struct span j = product_tiles(w, "j", "width", block_of(f, RIGHT), f->width);
    product_declare(f->p, "sums", arena_printf(arena, "%d, %lld", PARTITIONS, (long long)f->width),
                    "float32", "psum");
    write_line(w, "for k in range(%lld):", (long long)depth_of(f));
    w->indent++;
    product_multiply_tiles(&f->part, "sums",
                           arena_printf(arena, "[0:%d, k, %s]", PARTITIONS, product_slice(w, &i)),
                           arena_printf(arena, "[0:%d, k, %s]", PARTITIONS, product_slice(w, &j)));
    w->indent--;
    add_to_results(f, rows, columns, &i, &j);
    w->indent = indent;
    if (f->stays) {
        write_line(w, "if before %% %lld == %lld:", steps_of_part(f), steps_of_part(f) - 1);
        write_line(w, "    %s = %s", named(f, "ready"), named(f, "done"));
    }
}

/* A loop's variable as a part of the number of a step: "m = step // 49 % 2 * 2048"; `inner` is how
 * many steps one of its rounds has. The span, whose variable is "0" where there is one round. */
static struct span open_part(struct fast *f, const char *variable, const char *step, int64_t n,
                             int64_t part, int64_t *inner) {
    struct writer *w = f->p->writer;
    struct span span = {"0", number(f, part), n - part, part};
    int64_t rounds = n / part;
    if (rounds > 1) {
        write_line(w, "%s = %s // %lld %% %lld * %lld", variable, step, (long long)*inner,
                   (long long)rounds, (long long)part);
        span.at = variable;
    }
    *inner *= rounds;
    return span;
}

/* Which product a step is of, and of which part of the result. */
static void open_step(struct fast *f, const char *step, struct span *rows, struct span *columns) {
    struct writer *w = f->p->writer;
    int64_t inner = products_of(f);
    if (f->levels > 1)
        write_line(w, "inner = %s %% %d", step, FAST_PRODUCTS);
    write_line(w, f->levels > 1 ? "p = %s // %d %% %d" : "p = %s %% %d", step, FAST_PRODUCTS,
               FAST_PRODUCTS);
    (void)open_part(f, "d", step, f->p->main[SUMMED].n, f->depth, &inner);
    if (f->rows_last)
        *columns = open_part(f, "n", step, f->p->main[COLUMN].n, f->columns, &inner);
    *rows = open_part(f, "m", step, f->p->main[ROW].n, f->rows, &inner);
    if (!f->rows_last)
        *columns = open_part(f, "n", step, f->p->main[COLUMN].n, f->columns, &inner);
}

static int64_t steps_of(const struct fast *f) {
    return products_of(f) * passes_of(f) * uses_of(f, LEFT) * uses_of(f, RIGHT);
}

/* A step of the loop over products: the operands of each are made before the product before it is
 * multiplied, as engines take their instructions in order. */
static void write_step(struct fast *f) {
    struct product *p = f->p;
    struct writer *w = p->writer;
    struct span rows, columns;
    write_line(w, "if step > 0:");
    for (enum which i = LEFT; i <= RIGHT; i++)
        for (int low = 0; low <= product_has_low(p, i); low++)
            write_line(w, "    %s%s = %s%s", named(f, now[i]), low ? "_low" : "",
                       named(f, names[i]), low ? "_low" : "");
    write_line(w, "if step < %lld: # the operands of the next product", (long long)steps_of(f));
    w->indent++;
    open_step(f, "step", &rows, &columns);
    bring_operand(f, LEFT, &rows, &columns);
    bring_operand(f, RIGHT, &columns, &rows);
    w->indent--;
    write_line(w, "if step > 0: # the product whose operands are there");
    w->indent++;
    write_line(w, "before = step - 1");
    open_step(f, "before", &rows, &columns);
    multiply(f, &rows, &columns);
}

static void declare_memory(struct fast *f) {
    write_tables(f);
    declare_kept(f, LEFT);
    declare_kept(f, RIGHT);
}

static void emit(struct fast *f) {
    struct writer *w = f->p->writer;
    int indent = w->indent;
    declare_memory(f);
    product_open_loops(f->p);
    declare_done(f);
    write_line(w, "for step in range(%lld):", (long long)steps_of(f) + 1);
    w->indent++;
    write_step(f);
    w->indent = indent;
}

/* Says what it is, and how exact: in the kernel, and for those who look at the schedule. */
static void tell(struct product *p, int levels) {
    struct writer *w = p->writer;
    double allowed, error = product_error(p, levels, &allowed);
    const char *dtype = strcmp(product_dtype(p), p->dtype)
                            ? "sums in fp32 before bf16 products"
                            : "fp32 throughout, sums before products";
    const char *note =
        arena_printf(w->arena, "%s: error bound %.1e of %.1e allowed", dtype, error, allowed);
    write_note(w, (int)(p->node - w->graph->nodes), "strassen", note);
    write_blank(w);
    write_line(w, "# A matrix product (line %d of the reference) by Strassen: %s.", p->node->line,
               levels == 1 ? "7 products for 8" : "49 products for 64");
    write_line(w, "# Its numbers: %s.", note);
}

/* Takes Strassen's scheme where the schedule says so: decides the rest, and says what it is. */
static bool open_fast(struct product *p, double room, bool rows_last, struct fast *f) {
    int levels = choose_levels(p, room);
    if (!levels)
        return false;
    *f = at_levels(p, levels, room);
    f->rows_last = rows_last;
    choose_once(f);
    choose_stays(f);
    choose_depth(f);
    choose_part(f);
    choose_engines(f);
    tell(p, levels);
    return true;
}

bool product_emit_fast(struct product *p) {
    struct fast f;
    if (!open_fast(p, p->writer->spec->sbuf_bytes, false, &f))
        return false;
    emit(&f);
    return true;
}

/* ---- in a stage of rows ---------------------------------------------------------------------- */

bool product_enter_fast(struct product *p, double room) {
    struct writer *w = p->writer;
    struct fast *f = arena_alloc(w->arena, 1, sizeof *f);
    p->fast = NULL;
    if (p->count || p->tiled_rows != p->main[ROW].n || !open_fast(p, room * MORE_ROOM, true, f))
        return false;
    p->fast = f;
    p->extreme = NULL;
    declare_memory(f);
    if (!f->stays) {
        product_declare(p, named(f, "product"),
                        arena_printf(w->arena, "%lld, %lld", (long long)p->main[ROW].n,
                                     (long long)p->main[COLUMN].n),
                        p->dtype, "private_hbm");
        declare_done(f);
    }
    write_line(w, "%s = 0", named(f, "made"));
    return true;
}

/* With the tile of rows from `at` on: its share of the products of the part of the rows after the
 * one that it belongs to. The first one has all of its own part's, too. */
void product_begin_fast(struct product *p, const char *at) {
    struct fast *f = p->fast;
    struct writer *w = p->writer;
    int indent = w->indent;
    long long all = steps_of(f), part = steps_of_part(f);
    /* What stays is not done before the part that the stage works on. */
    write_line(w, "%s = min(%lld, %lld + (%s // %d%s) * %lld // %lld) + 1", named(f, "until"), all,
               part, at, PARTITIONS, f->stays ? "" : " + 1", part,
               (long long)(f->rows / PARTITIONS));
    write_line(w, "for step in range(%s, %s): # products of the next %lld rows", named(f, "made"),
               named(f, "until"), (long long)f->rows);
    w->indent++;
    write_step(f);
    w->indent = indent;
    write_line(w, "%s = %s", named(f, "made"), named(f, "until"));
}

void product_fill_fast(const struct product *p, const struct access *access, const char *row,
                       const char *column, const char *tile) {
    struct writer *w = p->writer;
    product_declare(p, tile, arena_printf(w->arena, "%s, %s", access->rows, access->cols[0]),
                    p->dtype, "sbuf");
    if (p->fast->stays) {
        write_line(w,
                   "nisa.activation(dst=%s, op=nl.copy, data=%s[0:%s, %s // %d %% %lld, "
                   "%s:%s + %s])",
                   tile, named(p->fast, "ready"), access->rows, row, PARTITIONS,
                   (long long)(p->fast->rows / PARTITIONS), column, column, access->cols[0]);
        return;
    }
    write_line(w, "nisa.dma_copy(dst=%s, src=%s[%s:%s + %s, %s:%s + %s])", tile,
               named(p->fast, "product"), row, row, access->rows, column, column, access->cols[0]);
}
