/* SPDX-License-Identifier: Apache-2.0 */
/* A product by Strassen's scheme, as a stage of its own and in a stage of rows. */
#include "write/strassen/private.h"

#define MORE_ROOM 1.5 /* tiles of a stage's rows are not there all at once */

static void declare_memory(struct fast *f) {
    strassen_tables(f);
    strassen_declare_kept(f);
}

static void emit(struct fast *f) {
    struct writer *w = f->p->writer;
    int indent = w->indent;
    declare_memory(f);
    product_open_loops(f->p);
    strassen_declare_done(f);
    write_line(w, "for step in range(%lld):", (long long)strassen_steps(f) + 1);
    w->indent++;
    strassen_step(f);
    w->indent = indent;
}

bool strassen_emit(struct product *p) {
    struct fast f;
    if (!strassen_open(p, p->writer->spec->sbuf_bytes, false, &f))
        return false;
    emit(&f);
    return true;
}

bool strassen_enter(struct product *p, double room) {
    struct writer *w = p->writer;
    struct fast *f = arena_alloc(w->arena, 1, sizeof *f);
    p->fast = NULL;
    if (p->count || p->tiled_rows != p->main[ROW].n || !strassen_open(p, room * MORE_ROOM, true, f))
        return false;
    p->fast = f;
    p->extreme = NULL;
    declare_memory(f);
    if (f->early)
        strassen_make_first(f);
    if (!f->stays) {
        product_declare(p, strassen_named(f, "product"),
                        arena_printf(w->arena, "%lld, %lld", (long long)p->main[ROW].n,
                                     (long long)p->main[COLUMN].n),
                        p->dtype, "private_hbm");
        strassen_declare_done(f);
    }
    write_line(w, "%s = 0", strassen_named(f, "made"));
    return true;
}

/* With the tile of rows from `at` on: its share of the products of the part of the rows after the
 * one that it belongs to. The first one has all of its own part's, too. */
void strassen_begin(struct product *p, const char *at) {
    struct fast *f = p->fast;
    struct writer *w = p->writer;
    int indent = w->indent;
    long long all = strassen_steps(f), part = strassen_part_steps(f);
    /* What stays is not done before the part that the stage works on. */
    write_line(w, "%s = min(%lld, %lld + (%s // %d%s) * %lld // %lld) + 1",
               strassen_named(f, "until"), all, part, at, PARTITIONS, f->stays ? "" : " + 1", part,
               (long long)(f->rows / PARTITIONS));
    write_line(w, "for step in range(%s, %s): # products of the next %lld rows",
               strassen_named(f, "made"), strassen_named(f, "until"), (long long)f->rows);
    w->indent++;
    strassen_step(f);
    w->indent = indent;
    write_line(w, "%s = %s", strassen_named(f, "made"), strassen_named(f, "until"));
}

void strassen_fill(const struct product *p, const struct access *access, const char *row,
                   const char *column, const char *tile) {
    struct writer *w = p->writer;
    product_declare(p, tile, arena_printf(w->arena, "%s, %s", access->rows, access->cols[0]),
                    p->dtype, "sbuf");
    if (p->fast->stays) {
        write_line(w,
                   "nisa.activation(dst=%s, op=nl.copy, data=%s[0:%s, %s // %d %% %lld, "
                   "%s:%s + %s])",
                   tile, strassen_named(p->fast, "ready"), access->rows, row, PARTITIONS,
                   (long long)(p->fast->rows / PARTITIONS), column, column, access->cols[0]);
        return;
    }
    write_line(w, "nisa.dma_copy(dst=%s, src=%s[%s:%s + %s, %s:%s + %s])", tile,
               strassen_named(p->fast, "product"), row, row, access->rows, column, column,
               access->cols[0]);
}
