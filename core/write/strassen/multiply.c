/* SPDX-License-Identifier: Apache-2.0 */
/* The products, one in a step, and how they are added to the blocks of the result. */
#include "write/strassen/private.h"

/* Where a block's part belongs that is done: a slice of memory of the result's shape, or of the
 * result where it lies. */
static const char *result_place(struct fast *f) {
    struct product *p = f->p;
    const struct product_side *row = &p->main[ROW], *column = &p->main[COLUMN];
    if (f->rows_last)
        return arena_printf(p->writer->arena, "%s[to_row:to_row + %d, to_column:to_column + %lld]",
                            strassen_named(f, "product"), PARTITIONS, (long long)f->width);
    struct access access = product_access(p, RESULT);
    access_add(&access, "to_row", row->strides[RESULT], row->n - PARTITIONS);
    access_add(&access, "to_column", column->strides[RESULT], column->n - f->width);
    access.rows = strassen_number(f, PARTITIONS);
    access.row = row->strides[RESULT];
    access.cols_most = f->width;
    access.cols[0] = strassen_number(f, f->width);
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
    strassen_open_blocks(f, "results");
    write_line(w, "row = %s * %lld%s%s", strassen_place(f, 0),
               (long long)(strassen_block(f, LEFT) / PARTITIONS), strcmp(i->at, "0") ? " + " : "",
               strcmp(i->at, "0") ? product_tile_of(w, i) : "");
    write_line(w, "at = %s * %lld%s%s", strassen_place(f, 1), (long long)strassen_block(f, RIGHT),
               strcmp(j->at, "0") ? " + " : "", strcmp(j->at, "0") ? j->at : "");
    const char *done = arena_printf(w->arena, "%s[0:%d, row, at:at + %lld]",
                                    strassen_named(f, "done"), PARTITIONS, (long long)f->width);
    bool several = strassen_passes(f) > 1;
    write_line(w, "if %s%s:", several ? "d == 0 and " : "", strassen_mark(f, 3));
    write_line(w, "    nisa.activation(dst=%s, op=nl.copy, data=sums)", done);
    strassen_add(f, "elif", done, done, "sums", "");
    if (f->stays) {
        w->indent = indent;
        return;
    }
    const char *last =
        arena_printf(w->arena, "d == %lld and ", (long long)(f->p->main[SUMMED].n - f->depth));
    write_line(w, "if %s%s:", several ? last : "", strassen_mark(f, 4));
    w->indent++;
    store(f, rows, columns, done);
    w->indent = indent;
}

void strassen_declare_done(struct fast *f) {
    product_declare(f->p, strassen_named(f, "done"),
                    arena_printf(f->p->writer->arena, "%d, %lld, %lld", PARTITIONS,
                                 (long long)(f->rows / PARTITIONS), (long long)f->columns),
                    f->p->dtype, "sbuf");
}

static void multiply(struct fast *f, const struct span *rows, const struct span *columns) {
    struct writer *w = f->p->writer;
    struct arena *arena = w->arena;
    int indent = w->indent;
    if (f->stays) {
        write_line(w, "if before %% %lld == 0:", (long long)strassen_part_steps(f));
        w->indent++;
        strassen_declare_done(f);
        w->indent--;
    }
    struct span i = product_tiles(w, "i", "high", strassen_block(f, LEFT), PARTITIONS);
    struct span j = product_tiles(w, "j", "width", strassen_block(f, RIGHT), f->width);
    product_declare(f->p, "sums", arena_printf(arena, "%d, %lld", PARTITIONS, (long long)f->width),
                    "float32", "psum");
    write_line(w, "for k in range(%lld):", (long long)strassen_depth(f));
    w->indent++;
    product_multiply_tiles(
        &f->part, "sums", arena_printf(arena, "[0:%d, k, %s]", PARTITIONS, product_slice(w, &i)),
        arena_printf(arena, "[0:%d, k, %s]", PARTITIONS, product_slice(w, &j)), NULL);
    w->indent--;
    add_to_results(f, rows, columns, &i, &j);
    w->indent = indent;
    if (f->stays) {
        write_line(w, "if before %% %lld == %lld:", (long long)strassen_part_steps(f),
                   (long long)strassen_part_steps(f) - 1);
        write_line(w, "    %s = %s", strassen_named(f, "ready"), strassen_named(f, "done"));
    }
}

/* A loop's variable as a part of the number of a step: "m = step // 49 % 2 * 2048"; `inner` is how
 * many steps one of its rounds has. The span, whose variable is "0" where there is one round. */
static struct span open_part(struct fast *f, const char *variable, const char *step, int64_t n,
                             int64_t part, int64_t *inner) {
    struct writer *w = f->p->writer;
    struct span span = {"0", strassen_number(f, part), n - part, part};
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
    int64_t inner = strassen_products(f);
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

void strassen_step(struct fast *f) {
    struct product *p = f->p;
    struct writer *w = p->writer;
    struct span rows, columns;
    write_line(w, "if step > 0:");
    for (enum which i = LEFT; i <= RIGHT; i++)
        for (int low = 0; low <= product_has_low(p, i); low++)
            write_line(w, "    %s%s = %s%s", strassen_now(f, i), low ? "_low" : "",
                       strassen_next(f, i), low ? "_low" : "");
    write_line(w, "if step < %lld: # the operands of the next product",
               (long long)strassen_steps(f));
    w->indent++;
    open_step(f, "step", &rows, &columns);
    strassen_bring(f, LEFT, &rows, &columns);
    strassen_bring(f, RIGHT, &columns, &rows);
    w->indent--;
    write_line(w, "if step > 0: # the product whose operands are there");
    w->indent++;
    write_line(w, "before = step - 1");
    open_step(f, "before", &rows, &columns);
    multiply(f, &rows, &columns);
    w->indent--;
    if (f->early)
        strassen_turn_early(f);
}
