/* SPDX-License-Identifier: Apache-2.0 */
/* The blocks of Strassen's products in a kernel: tables, and loops over them. */
#include "write/strassen/private.h"

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

void strassen_tables(struct fast *f) {
    struct writer *w = f->p->writer;
    write_line(w, "# Of each product: blocks that are summed, as row, column and sign; blocks that "
                  "it is added to,");
    write_line(w, "# and whether it is the first or the last of them.");
    write_table(f, "lefts", FAST_LEFT);
    write_table(f, "rights", FAST_RIGHT);
    write_table(f, "results", FAST_RESULT);
}

void strassen_open_blocks(struct fast *f, const char *table) {
    struct writer *w = f->p->writer;
    for (int i = 0; i < f->levels; i++) {
        write_line(w, "for %s in %s[%s]:", i ? "t" : "s", table, i ? "inner" : "p");
        w->indent++;
    }
}

const char *strassen_place(const struct fast *f, int axis) {
    struct arena *arena = f->p->writer->arena;
    return f->levels == 1 ? arena_printf(arena, "s[%d]", axis)
                          : arena_printf(arena, "(s[%d] * 2 + t[%d])", axis, axis);
}

const char *strassen_mark(const struct fast *f, int at) {
    struct arena *arena = f->p->writer->arena;
    return f->levels == 1 ? arena_printf(arena, "s[%d] > 0", at)
                          : arena_printf(arena, "s[%d] * t[%d] > 0", at, at);
}

void strassen_add(struct fast *f, const char *word, const char *to, const char *from,
                  const char *more, const char *engine) {
    struct writer *w = f->p->writer;
    write_line(w, "%s %s:", word, strassen_mark(f, 2));
    write_line(w, "    nisa.tensor_tensor(dst=%s, data1=%s, data2=%s, op=nl.add%s)", to, from, more,
               engine);
    write_line(w, "else:");
    write_line(w, "    nisa.tensor_tensor(dst=%s, data1=%s, data2=%s, op=nl.subtract%s)", to, from,
               more, engine);
}
