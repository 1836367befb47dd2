/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of an operand's blocks, as they lie in HBM. */
#include "write/strassen/private.h"

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
    write_line(w, "own = %s%s * %lld%s", from, strassen_place(f, left ? 0 : 1),
               (long long)strassen_block(f, chunk->which), turns ? at : "");
    write_line(w, "summed = %s%s * %lld%s", strassen_passes(f) > 1 ? "d + " : "",
               strassen_place(f, left ? 1 : 0), (long long)f->part.main[SUMMED].n, turns ? "" : at);
}

/* The chunk of a block in HBM. */
static const char *chunk_in_hbm(struct fast *f, const struct chunk *chunk) {
    struct product *p = f->p;
    enum which which = chunk->which;
    const struct product_side *own = &p->main[which == LEFT ? ROW : COLUMN],
                              *sum = &p->main[SUMMED];
    struct access access = product_access(p, which);
    bool turns = p->turns[which];
    int64_t span = turns ? PARTITIONS : strassen_block(f, which);
    int64_t tiles = strassen_chunk(f, which),
            depth = turns ? f->part.main[SUMMED].n : PARTITIONS * tiles;
    access_add(&access, "own", own->strides[which], own->n - span);
    access_add(&access, "summed", sum->strides[which], sum->n - depth);
    access.rows = strassen_number(f, PARTITIONS);
    access.row = turns ? own->strides[which] : sum->strides[which];
    if (!turns && tiles > 1) {
        access.cols[access.col_count] = strassen_number(f, tiles);
        access.strides[access.col_count++] = sum->strides[which] * PARTITIONS;
    }
    access.cols_most = turns ? depth : span;
    access.cols[access.col_count] = strassen_number(f, access.cols_most);
    access.strides[access.col_count++] = turns ? sum->strides[which] : own->strides[which];
    return write_access(p->writer, &access);
}

const char *strassen_engine(const struct fast *f, enum which which) {
    return f->by_gpsimd[which] ? ", engine=nisa.gpsimd_engine" : "";
}

/* Lines that sum a chunk of the blocks of a product. */
static void sum_chunk(struct fast *f, const struct chunk *chunk) {
    struct product *p = f->p;
    struct writer *w = p->writer;
    int indent = w->indent;
    write_line(w, "count = 0");
    strassen_open_blocks(f, chunk->which == LEFT ? "lefts" : "rights");
    write_addresses(f, chunk);
    const char *from = chunk_in_hbm(f, chunk);
    write_line(w, "if count == 0:");
    write_line(w, "    nisa.dma_copy(dst=%s, src=%s)", chunk->to, from);
    write_line(w, "else:");
    w->indent++;
    product_declare(p, "more", chunk->shape, p->dtype, "sbuf");
    write_line(w, "nisa.dma_copy(dst=more, src=%s)", from);
    strassen_add(f, "if", chunk->to, chunk->to, "more", strassen_engine(f, chunk->which));
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
    long long tiles = strassen_depth(f), at_once = strassen_chunk(f, which),
              span = strassen_block(f, which);
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
                     : arena_printf(arena, "%s[0:%d%s", strassen_next(f, which), PARTITIONS, index);
    if (takes)
        product_declare(p, "total", chunk.shape, p->dtype, "sbuf");
    sum_chunk(f, &chunk);
    const struct product_piece piece = {.which = which,
                                        .name = strassen_next(f, which),
                                        .index = index,
                                        .from = "total",
                                        .depth = strassen_number(f, PARTITIONS)};
    if (takes)
        product_take(p, &piece);
    w->indent = indent;
}

/* Tiles of 128 rows, which are summed and then turned. */
static void sum_turned(struct fast *f, enum which which, const char *from) {
    struct product *p = f->p;
    struct writer *w = p->writer;
    int indent = w->indent;
    struct span rows = product_tiles(w, "j", "wide", strassen_block(f, which), PARTITIONS);
    struct chunk chunk = {.which = which, .from = from, .at = rows.at, .times = 1, .to = "total"};
    chunk.shape = arena_printf(w->arena, "%d, %lld", PARTITIONS, (long long)f->part.main[SUMMED].n);
    product_declare(p, "total", chunk.shape, p->dtype, "sbuf");
    sum_chunk(f, &chunk);
    product_turn(&f->part, which, strassen_next(f, which), "total", &rows);
    w->indent = indent;
}

void strassen_sum(struct fast *f, enum which which, const struct span *own) {
    if (f->once[which])
        strassen_sum_whole(f, which, own);
    else
        (f->p->turns[which] ? sum_turned : sum_straight)(f, which, own->at);
}
