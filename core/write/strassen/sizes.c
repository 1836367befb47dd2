/* SPDX-License-Identifier: Apache-2.0 */
/* How large the parts of the product are, and what they are called. */
#include "write/strassen/private.h"

#define CHUNK 2048 /* elements of a partition that are summed at once */

const char *strassen_named(const struct fast *f, const char *what) {
    return arena_printf(f->p->writer->arena, "%s%s", what, f->p->name);
}

const char *strassen_now(const struct fast *f, enum which which) {
    return strassen_named(f, which == LEFT ? "left" : "right");
}

const char *strassen_next(const struct fast *f, enum which which) {
    return strassen_named(f, which == LEFT ? "next_left" : "next_right");
}

const char *strassen_number(const struct fast *f, int64_t value) {
    return arena_printf(f->p->writer->arena, "%lld", (long long)value);
}

int64_t strassen_products(const struct fast *f) {
    return f->levels == 1 ? FAST_PRODUCTS : FAST_PRODUCTS * FAST_PRODUCTS;
}

int64_t strassen_block(const struct fast *f, enum which which) {
    return (which == LEFT ? f->rows : f->columns) >> f->levels;
}

int64_t strassen_part(const struct fast *f, enum which which) {
    return which == LEFT ? f->rows : f->columns;
}

int64_t strassen_depth(const struct fast *f) {
    return (f->depth >> f->levels) / PARTITIONS;
}

int64_t strassen_chunk(const struct fast *f, enum which which) {
    int64_t tiles = strassen_depth(f), most = MAX_OF(CHUNK / strassen_block(f, which), 1);
    int64_t chunk = MIN_OF(tiles, most);
    while (tiles % chunk)
        chunk--;
    return chunk;
}

int64_t strassen_passes(const struct fast *f) {
    return f->p->main[SUMMED].n / f->depth;
}

int64_t strassen_uses(const struct fast *f, enum which which) {
    return which == LEFT ? f->p->main[COLUMN].n / f->columns : f->p->main[ROW].n / f->rows;
}

int64_t strassen_steps(const struct fast *f) {
    return strassen_products(f) * strassen_passes(f) * strassen_uses(f, LEFT) *
           strassen_uses(f, RIGHT);
}

int64_t strassen_part_steps(const struct fast *f) {
    return strassen_products(f) * strassen_passes(f) * strassen_uses(f, LEFT);
}

const char *strassen_shape(const struct fast *f, enum which which) {
    return arena_printf(f->p->writer->arena, "%d, %lld, %lld", PARTITIONS,
                        (long long)strassen_depth(f), (long long)strassen_block(f, which));
}
