/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of an operand that are turned over by the Tensor engine: what is summed over has to lie on
 * the partitions. */
#include "write/product/product.h"

#define GROUP 4 /* pieces that are turned before they leave PSUM: a bank holds so many */

static const char *number(const struct writer *w, int64_t value) {
    return arena_printf(w->arena, "%lld", (long long)value);
}

/* Turns over `count` pieces of up to 128 columns of the raw rows from `k` on; they leave PSUM at
 * once. */
static void turn_pieces(struct product *p, const struct product_raw *turn, const char *k,
                        int64_t count, int64_t depth) {
    struct writer *w = p->writer;
    int indent = w->indent;
    const char *rows = turn->rows.size;
    product_declare(
        p, "turned",
        arena_printf(w->arena, "%lld, %lld, %s", (long long)depth, (long long)count, rows),
        p->dtype, "psum");
    const char *q = "0", *from = k;
    if (count > 1) {
        write_line(w, "for q in range(%lld):", (long long)count);
        w->indent++;
        q = "q";
        from = strcmp(k, "0") ? arena_printf(w->arena, "%s + q * %d", k, PARTITIONS)
                              : arena_printf(w->arena, "q * %d", PARTITIONS);
    }
    const struct span columns = {.at = from, .size = number(w, depth)};
    write_line(w, "nisa.nc_transpose(dst=turned[0:%lld, %s, 0:%s], data=%s[0:%s, %s%s])",
               (long long)depth, q, rows, turn->raw, rows, turn->tile, product_slice(w, &columns));
    w->indent = indent;
    const char *tile = strcmp(k, "0") ? arena_printf(w->arena, "%s // %d", k, PARTITIONS) : "0";
    const char *tiles =
        count == 1 ? tile : arena_printf(w->arena, "%s:%s + %lld", tile, tile, (long long)count);
    const struct product_piece piece = {
        .which = turn->which,
        .name = turn->name,
        .index = arena_printf(w->arena, ", %s, %s]", tiles, product_slice(w, &turn->rows)),
        .from = "turned",
        .from_index = count > 1 ? NULL : arena_printf(w->arena, ", 0, 0:%s]", rows),
        .depth = number(w, depth),
        .in_psum = true,
    };
    product_take(p, &piece);
}

int64_t product_raw_columns(const struct product *p) {
    return product_copy(p) ? PARTITIONS : p->main[SUMMED].n;
}

void product_turn_rows(struct product *p, const struct product_raw *turn) {
    struct writer *w = p->writer;
    int64_t n = product_raw_columns(p), whole = n / PARTITIONS, group = GROUP;
    int indent = w->indent;
    while (group > 1 && whole % group)
        group--;
    if (whole) {
        struct span k = product_tiles(w, "k", "depth", whole * PARTITIONS, group * PARTITIONS);
        turn_pieces(p, turn, k.at, group, PARTITIONS);
        w->indent = indent;
    }
    if (n % PARTITIONS)
        turn_pieces(p, turn, number(w, whole * PARTITIONS), 1, n % PARTITIONS);
}

void product_turn(struct product *p, enum which which, const char *name, const char *raw,
                  const struct span *rows) {
    const struct product_raw turn = {
        .which = which, .name = name, .raw = raw, .tile = "", .rows = *rows};
    product_turn_rows(p, &turn);
}
