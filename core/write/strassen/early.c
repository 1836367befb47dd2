/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of an operand that lie nowhere, made for the next part of the result while this one is
 * multiplied: a tile before each product, turned behind it. Vector makes a tile while the Tensor
 * engine multiplies, and neither waits for the other. */
#include "write/strassen/private.h"

static const char *coming(const struct fast *f) {
    return strassen_named(f, "next_whole_left");
}

/* The tile of this step's product, and where its rows begin. */
static const char *number_of(const struct fast *f) {
    return strassen_named(f, "early");
}

static const char *rows_of(const struct fast *f) {
    return strassen_named(f, "later");
}

static int64_t all_rows(const struct fast *f) {
    return f->p->main[ROW].n;
}

void strassen_make_first(struct fast *f) {
    struct writer *w = f->p->writer;
    int indent = w->indent;
    const struct span all = {.at = "0"};
    write_line(w, "# The rows of the first part.");
    strassen_declare_whole(f, LEFT, coming(f));
    struct span rows = product_tiles(w, "j", "wide", f->rows, PARTITIONS);
    strassen_turn_rows(f, LEFT, coming(f), strassen_make_rows(f, LEFT, &all, &rows), &rows);
    w->indent = indent;
}

/* Whether this step has a tile: of the part's rows, and not behind the last part. */
static const char *has_tile(const struct fast *f) {
    return arena_printf(f->p->writer->arena, "%s < %lld and %s < %lld", number_of(f),
                        (long long)(f->rows / PARTITIONS), rows_of(f), (long long)all_rows(f));
}

void strassen_make_early(struct fast *f, const struct span *own) {
    struct writer *w = f->p->writer;
    int indent = w->indent;
    write_line(w, "if p == 0%s:", f->levels > 1 ? " and inner == 0" : "");
    write_line(w, "    %s = %s", strassen_whole(f, LEFT), coming(f));
    f->early_raw = NULL;
    if (all_rows(f) == f->rows) /* there is one part */
        return;
    w->indent++;
    write_line(w, "if %s < %lld:", own->at, (long long)(all_rows(f) - f->rows));
    w->indent++;
    strassen_declare_whole(f, LEFT, coming(f));
    w->indent = indent;
    write_line(w, "%s = step %% %lld", number_of(f), (long long)strassen_products(f));
    write_line(w, "%s = %s + %lld + %s * %d", rows_of(f), own->at, (long long)f->rows, number_of(f),
               PARTITIONS);
    write_line(w, "if %s: # a tile of rows for the next part", has_tile(f));
    w->indent++;
    const struct span all = {.at = "0"}, rows = {rows_of(f), strassen_number(f, PARTITIONS),
                                                 all_rows(f) - PARTITIONS, PARTITIONS};
    f->early_raw = strassen_make_rows(f, LEFT, &all, &rows);
    w->indent = indent;
}

void strassen_turn_early(struct fast *f) {
    struct writer *w = f->p->writer;
    int indent = w->indent;
    if (!f->early_raw)
        return;
    write_line(w, "if step < %lld and %s: # which is turned now", (long long)strassen_steps(f),
               has_tile(f));
    w->indent++;
    const char *at = strassen_named(f, "to");
    write_line(w, "%s = %s * %d", at, number_of(f), PARTITIONS);
    const struct span rows = {at, strassen_number(f, PARTITIONS), f->rows - PARTITIONS, PARTITIONS};
    strassen_turn_rows(f, LEFT, coming(f), f->early_raw, &rows);
    w->indent = indent;
}
