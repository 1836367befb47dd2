/* SPDX-License-Identifier: Apache-2.0 */
/* Products that sum over few numbers fill few rows of the PE array. Copies of both operands lie
 * above each other on the partitions, and products that follow each other take them in turn: each
 * has rows of the array for itself, so that they run at once (tiling mode of nki.isa.nc_matmul,
 * NKI 0.7). What each computes stays the same. */
#include "write/product/product.h"

/* Engines begin at multiples of 32; an operand that lies nowhere is made once. */
static bool can_lie_beside(const struct product *p) {
    return !p->halves && !p->packed && !p->writer->spec->older_dialect &&
           p->main[SUMMED].n <= PARTITIONS / 2 && p->main[COLUMN].n > PRODUCT_MOVING &&
           !product_is_made(p, LEFT) && !product_is_made(p, RIGHT);
}

void product_choose_beside(struct product *p) {
    int64_t values[3] = {2, 1, 4};
    if (!can_lie_beside(p))
        return;
    /* trn1 has halves alone. */
    bool quarters = p->main[SUMMED].n <= PARTITIONS / 4 && !p->writer->spec->is_trn1;
    int count = quarters ? 3 : 2;
    int64_t beside = write_choose(
        p->writer, (int)(p->node - p->writer->graph->nodes), "beside",
        "short products that run at once, each in rows of the array of its own", values, count);
    p->beside = beside > 1 ? PARTITIONS / beside : 0;
}

/* "left[h:h + 64, 0, m:m + 128]": of an operand the copy from a partition on. */
static const char *copy_of(const struct product *p, const char *operand, const char *at) {
    struct arena *arena = p->writer->arena;
    const char *index = strchr(operand, '['), *rest = index ? strchr(index, ',') : NULL;
    int name = (int)(index ? index - operand : (ptrdiff_t)strlen(operand));
    long long n = p->main[SUMMED].n;
    const char *own = strcmp(at, "0") ? arena_printf(arena, "%s:%s + %lld", at, at, n)
                                      : arena_printf(arena, "0:%lld", n);
    return arena_printf(arena, "%.*s[%s%s", name, operand, own, rest ? rest : "]");
}

void product_multiply_beside(struct product *p, const char *sums, const char *stationary,
                             const char *moving, const char *turn) {
    struct writer *w = p->writer;
    long long each = p->beside;
    const char *at = "0";
    if (turn) {
        at = "part";
        write_line(w, "part = %s %% %lld * %lld # its rows of the array", turn, PARTITIONS / each,
                   each);
    }
    write_line(w,
               "nisa.nc_matmul(dst=%s, stationary=%s, moving=%s, tile_position=(%s, 0), "
               "tile_size=(%lld, %d))",
               sums, copy_of(p, stationary, at), copy_of(p, moving, at), at, each, PARTITIONS);
}
