/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles along the sides of a product, and where its arrays lie. */
#include "write/product/product.h"

static bool begins_at_zero(const struct span *span) {
    return strcmp(span->at, "0") == 0;
}

static const char *number(const struct writer *w, int64_t value) {
    return arena_printf(w->arena, "%lld", (long long)value);
}

struct access product_access(const struct product *p, enum which which) {
    struct access access = {.buffer = p->views[which].buffer, .offset = p->views[which].offset};
    for (int i = 0; i < p->loop_count; i++)
        access_add(&access, p->loops[i][which].variable, p->loops[i][which].stride,
                   p->loops[i][which].most);
    return access;
}

struct span product_tiles(struct writer *w, const char *variable, const char *size, int64_t n,
                          int64_t tile) {
    struct span span = {.at = "0", .size = number(w, MIN_OF(n, tile)), .width = MIN_OF(n, tile)};
    if (n <= tile)
        return span;
    write_line(w, "for %s in range(0, %lld, %lld):", variable, (long long)n, (long long)tile);
    w->indent++;
    span.at = variable;
    span.most = n - tile;
    if (n % tile == 0)
        return span;
    write_line(w, "%s = min(%lld, %lld - %s)", size, (long long)tile, (long long)n, variable);
    span.size = size;
    return span;
}

const char *product_slice(const struct writer *w, const struct span *span) {
    if (begins_at_zero(span))
        return arena_printf(w->arena, "0:%s", span->size);
    return arena_printf(w->arena, "%s:%s + %s", span->at, span->at, span->size);
}

const char *product_tile_of(const struct writer *w, const struct span *span) {
    return begins_at_zero(span) ? "0" : arena_printf(w->arena, "%s // %d", span->at, PARTITIONS);
}

void product_declare(const struct product *p, const char *name, const char *shape,
                     const char *dtype, const char *memory) {
    write_line(p->writer, "%s = nl.ndarray((%s), dtype=nl.%s, buffer=nl.%s)", name, shape, dtype,
               memory);
}

bool product_is_made(const struct product *p, enum which which) {
    return p->writer->buffers.at[p->views[which].buffer].is_made;
}

void product_open_loops(struct product *p) {
    struct writer *w = p->writer;
    for (int s = 0; s < p->count; s++) {
        const char *variable = arena_printf(w->arena, "b%d", s);
        write_line(w, "for %s in range(%lld):", variable, (long long)p->sides[s].n);
        w->indent++;
        for (int i = 0; i < ARRAYS; i++)
            p->loops[p->loop_count][i] =
                (struct term){variable, p->sides[s].strides[i], p->sides[s].n - 1};
        p->loop_count++;
    }
}
