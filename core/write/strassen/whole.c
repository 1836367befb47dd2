/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of an operand's blocks that were turned over once, and stay in SBUF. */
#include "write/strassen/private.h"

static const char *const wholes[] = {[LEFT] = "whole_left", [RIGHT] = "whole_right"};

/* A tile of rows of an operand, as it lies in HBM; its name. */
static const char *bring_rows(struct fast *f, enum which which, const struct span *own,
                              const struct span *rows) {
    struct product *p = f->p;
    struct writer *w = p->writer;
    const struct product_side *side = &p->main[which == LEFT ? ROW : COLUMN];
    product_declare(p, "raw", arena_printf(w->arena, "%d, %lld", PARTITIONS, (long long)f->depth),
                    p->dtype, "sbuf");
    struct access access = product_access(p, which);
    if (strcmp(own->at, "0"))
        access_add(&access, own->at, side->strides[which], own->most);
    access_add(&access, rows->at, side->strides[which], rows->most);
    if (strassen_passes(f) > 1)
        access_add(&access, "d", p->main[SUMMED].strides[which], p->main[SUMMED].n - f->depth);
    access.rows = strassen_number(f, PARTITIONS);
    access.row = side->strides[which];
    access.cols_most = f->depth;
    access.cols[access.col_count] = strassen_number(f, f->depth);
    access.strides[access.col_count++] = p->main[SUMMED].strides[which];
    write_line(w, "nisa.dma_copy(dst=raw, src=%s)", write_access(w, &access));
    return "raw";
}

const char *strassen_whole(const struct fast *f, enum which which) {
    return strassen_named(f, wholes[which]);
}

const char *strassen_make_rows(struct fast *f, enum which which, const struct span *own,
                               const struct span *rows) {
    struct span at = *rows;
    if (strcmp(own->at, "0")) {
        at.at = strassen_named(f, "made_from");
        at.most += own->most;
        write_line(f->p->writer, "%s = %s + %s", at.at, own->at, rows->at);
    }
    return f->p->make_rows(f->p, which, &at);
}

void strassen_declare_whole(struct fast *f, enum which which, const char *name) {
    product_declare(f->p, name,
                    arena_printf(f->p->writer->arena, "%d, %lld, %lld", PARTITIONS,
                                 (long long)(f->depth / PARTITIONS),
                                 (long long)strassen_part(f, which)),
                    f->p->dtype, "sbuf");
}

void strassen_turn_rows(struct fast *f, enum which which, const char *name, const char *raw,
                        const struct span *rows) {
    struct product whole = *f->p;
    whole.main[SUMMED].n = f->depth;
    whole.halves = whole.narrow = false;
    if (raw) /* else the operand is put into HBM, and all is written once more */
        product_turn(&whole, which, name, raw, rows);
}

/* Lines that bring all blocks of the stage's part of an operand, turned, with its first product. */
static void load_whole(struct fast *f, enum which which, const struct span *own) {
    struct writer *w = f->p->writer;
    int indent = w->indent;
    const char *name = strassen_whole(f, which);
    write_line(w, "if p == 0%s: # all of its blocks", f->levels > 1 ? " and inner == 0" : "");
    w->indent++;
    strassen_declare_whole(f, which, name);
    struct span rows = product_tiles(w, "j", "wide", strassen_part(f, which), PARTITIONS);
    bool is_made = product_is_made(f->p, which);
    const char *raw = (is_made ? strassen_make_rows : bring_rows)(f, which, own, &rows);
    strassen_turn_rows(f, which, name, raw, &rows);
    w->indent = indent;
}

/* The block of those that stay where variables say, whose names begin so. */
static const char *block_at(const struct fast *f, enum which which, const char *name) {
    return arena_printf(f->p->writer->arena, "%s[0:%d, %sdeep:%sdeep + %lld, %sown:%sown + %lld]",
                        strassen_whole(f, which), PARTITIONS, name, name,
                        (long long)strassen_depth(f), name, name,
                        (long long)strassen_block(f, which));
}

/* Lines that sum the blocks of a product, of those that stay. */
static void sum_blocks(struct fast *f, enum which which, const char *to) {
    struct writer *w = f->p->writer;
    int indent = w->indent;
    long long tiles = strassen_depth(f), block = strassen_block(f, which);
    const char *engine = strassen_engine(f, which), *part = block_at(f, which, "");
    const char *first = block_at(f, which, "first_");
    write_line(w, "count = 0");
    strassen_open_blocks(f, which == LEFT ? "lefts" : "rights");
    write_line(w, "own = %s * %lld", strassen_place(f, which == LEFT ? 0 : 1), block);
    write_line(w, "deep = %s * %lld", strassen_place(f, which == LEFT ? 1 : 0), tiles);
    write_line(w, "if count == 0:");
    write_line(w, "    first_own = own");
    write_line(w, "    first_deep = deep");
    write_line(w, "elif count == 1:");
    w->indent++;
    strassen_add(f, "if", to, first, part, engine);
    w->indent--;
    if (f->levels > 1) {
        write_line(w, "else:");
        w->indent++;
        strassen_add(f, "if", to, to, part, engine);
        w->indent--;
    }
    write_line(w, "count = count + 1");
    w->indent = indent;
    write_line(w, "if count == 1:");
    write_line(w, "    nisa.tensor_copy(dst=%s, src=%s%s)", to, first, engine);
}

void strassen_sum_whole(struct fast *f, enum which which, const struct span *own) {
    struct product *p = f->p;
    struct writer *w = p->writer;
    bool takes = strcmp(product_dtype(p), p->dtype);
    const char *index = arena_printf(w->arena, ", 0:%lld, 0:%lld]", (long long)strassen_depth(f),
                                     (long long)strassen_block(f, which));
    if (f->early && which == LEFT)
        strassen_make_early(f, own);
    else
        load_whole(f, which, own);
    if (!takes) {
        sum_blocks(f, which,
                   arena_printf(w->arena, "%s[0:%d%s", strassen_next(f, which), PARTITIONS, index));
        return;
    }
    product_declare(p, "total", strassen_shape(f, which), p->dtype, "sbuf");
    sum_blocks(f, which, "total");
    const struct product_piece piece = {.which = which,
                                        .name = strassen_next(f, which),
                                        .index = index,
                                        .from = "total",
                                        .depth = strassen_number(f, PARTITIONS)};
    product_take(p, &piece);
}
