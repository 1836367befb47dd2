/* SPDX-License-Identifier: Apache-2.0 */
/* Image and weights of a convolution in SBUF: what is summed over on the partitions, taps that are
 * multiplied together above each other. */
#include <stdlib.h>

#include "write/taps/private.h"

#define PIECES_SHARE 0.15 /* of SBUF that pixels may take before they are turned over */

const char *taps_number(const struct taps *t, int64_t value) {
    return arena_printf(t->writer->arena, "%lld", (long long)value);
}

static bool is_number(const char *text, long long *value) {
    return str_to_int(str_of(text), value);
}

const char *taps_sum(const struct taps *t, const char *a, const char *variable, int64_t times) {
    struct arena *arena = t->writer->arena;
    long long number;
    if (!times || !strcmp(variable, "0"))
        return a;
    const char *more = is_number(variable, &number) ? taps_number(t, number * times)
                       : times == 1                 ? variable
                                    : arena_printf(arena, "%s * %lld", variable, (long long)times);
    long long first, second;
    if (is_number(a, &first) && is_number(more, &second))
        return taps_number(t, first + second);
    if (!strcmp(a, "0"))
        return more;
    return is_number(a, &first) ? arena_printf(arena, "%s + %s", more, a)
                                : arena_printf(arena, "%s + %s", a, more);
}

const char *taps_slice(const struct taps *t, const char *at, const char *count, int64_t step) {
    struct arena *arena = t->writer->arena;
    long long n;
    const char *reach = count;
    if (step > 1)
        reach = is_number(count, &n)
                    ? taps_number(t, (n - 1) * step + 1)
                    : arena_printf(arena, "(%s - 1) * %lld + 1", count, (long long)step);
    const char *end = strcmp(at, "0") ? arena_printf(arena, "%s + %s", at, reach) : reach;
    if (is_number(at, &n)) {
        long long more;
        end = is_number(reach, &more) ? taps_number(t, n + more) : end;
    }
    return step > 1 ? arena_printf(arena, "%s:%s:%lld", at, end, (long long)step)
                    : arena_printf(arena, "%s:%s", at, end);
}

int64_t taps_depths(const struct taps *t) {
    return (t->summed.n + PARTITIONS - 1) / PARTITIONS;
}

int64_t taps_deep(const struct taps *t, int64_t rows) {
    int64_t step = t->row.image / t->unit / t->pitch, more = t->grid.row_step * (t->grid.rows - 1);
    return t->row.n > 1 ? (rows - 1) * step + more + 1 : more + 1;
}

/* Elements from a channel's first weight to the first tap's: weights go backwards where a
 * convolution is transposed. */
static int64_t taps_behind(const struct taps *t) {
    return MAX_OF(-t->grid.weights_row, 0) * (t->grid.rows - 1) +
           MAX_OF(-t->grid.weights_column, 0) * (t->grid.columns - 1);
}

int64_t taps_reach(const struct taps *t) {
    return llabs(t->grid.weights_row) * (t->grid.rows - 1) +
           llabs(t->grid.weights_column) * (t->grid.columns - 1) +
           t->summed.weights * (t->summed.n - 1) + 1;
}

/* Partitions of an operand's tile. */
static int64_t partitions_of(const struct taps *t) {
    return MIN_OF(t->summed.n, PARTITIONS) * t->stack_rows * t->stack_columns;
}

struct access taps_access(const struct taps *t, enum tap_array array) {
    const struct view *view = array == TAP_IMAGE     ? &t->image
                              : array == TAP_WEIGHTS ? &t->weights
                                                     : &t->out;
    struct access access = {.buffer = view->buffer, .offset = view->offset};
    bool inset = array == TAP_IMAGE && t->inset;
    if (inset)
        access = (struct access){.buffer = t->inset->view.buffer, .offset = t->inset_offset};
    for (int i = 0; i < t->loop_count; i++) {
        const struct term *term = &t->loops[i][array];
        access_add(&access, term->variable, inset ? inset_stride(t, term->stride) : term->stride,
                   term->most);
    }
    return access;
}

static void add_span(struct access *access, const struct span *span, int64_t stride) {
    if (strcmp(span->at, "0"))
        access_add(access, span->at, stride, span->most);
}

static void add_columns(struct access *access, const char *count, int64_t most, int64_t stride) {
    access->cols[access->col_count] = count;
    access->strides[access->col_count++] = stride ? stride : 1;
    access->cols_most = MAX_OF(access->cols_most, most);
}

static void declare(const struct taps *t, const char *name, const char *shape, const char *dtype,
                    const char *memory) {
    write_line(t->writer, "%s = nl.ndarray((%s), dtype=nl.%s, buffer=nl.%s)", name, shape, dtype,
               memory);
}

/* ---- weights --------------------------------------------------------------------------------- */

/* The taps, in loops over their rows and columns: variables, "0" where there is one. */
struct tap {
    const char *row, *column;
};
static struct tap open_taps(const struct taps *t) {
    struct tap tap = {"0", "0"};
    if (t->grid.rows > 1) {
        write_line(t->writer, "for i in range(%lld):", (long long)t->grid.rows);
        t->writer->indent++;
        tap.row = "i";
    }
    if (t->grid.columns > 1) {
        write_line(t->writer, "for j in range(%lld):", (long long)t->grid.columns);
        t->writer->indent++;
        tap.column = "j";
    }
    return tap;
}

/* "i // 2", "i % 2", simplified. */
static const char *divided(const struct taps *t, const char *variable, const char *op, int64_t by,
                           int64_t n) {
    bool rest = op[0] == '%';
    if (!strcmp(variable, "0") || by == 1)
        return rest && by == 1 ? "0" : variable;
    if (by >= n)
        return rest ? variable : "0";
    return arena_printf(t->writer->arena, "%s %s %lld", variable, op, (long long)by);
}

static const char *product_of(const struct taps *t, const char *text, int64_t times) {
    if (!strcmp(text, "0") || times == 1)
        return text;
    return arena_printf(t->writer->arena, strchr(text, ' ') ? "(%s) * %lld" : "%s * %lld", text,
                        (long long)times);
}

static const char *plus(const struct taps *t, const char *a, const char *b) {
    if (!strcmp(a, "0"))
        return b;
    return strcmp(b, "0") ? arena_printf(t->writer->arena, "%s + %s", a, b) : a;
}

/* The number of the product that a tap is in, and its place among those above each other. */
static const char *group_of(const struct taps *t, const struct tap *tap) {
    return plus(
        t, product_of(t, divided(t, tap->row, "//", t->stack_rows, t->grid.rows), t->groups_across),
        divided(t, tap->column, "//", t->stack_columns, t->grid.columns));
}

static const char *slot_of(const struct taps *t, const struct tap *tap) {
    return plus(
        t, product_of(t, divided(t, tap->row, "%", t->stack_rows, t->grid.rows), t->stack_columns),
        divided(t, tap->column, "%", t->stack_columns, t->grid.columns));
}

/* Weights that have channels side by side come as they lie. */
static void load_straight(struct taps *t, const struct span *channels) {
    struct writer *w = t->writer;
    struct tap tap = open_taps(t);
    struct span k = product_tiles(w, "k", "depth", t->summed.n, PARTITIONS);
    struct access access = taps_access(t, TAP_WEIGHTS);
    add_span(&access, channels, t->channel.weights);
    add_span(&access, &k, t->summed.weights);
    if (strcmp(tap.row, "0"))
        access_add(&access, tap.row, t->grid.weights_row, t->grid.rows - 1);
    if (strcmp(tap.column, "0"))
        access_add(&access, tap.column, t->grid.weights_column, t->grid.columns - 1);
    access.rows = k.size;
    access.row = t->summed.weights ? t->summed.weights : 1;
    add_columns(&access, channels->size, channels->width, t->channel.weights);
    const char *at = product_of(t, slot_of(t, &tap), t->summed.n);
    const char *group =
        plus(t, product_of(t, group_of(t, &tap), taps_depths(t)), product_tile_of(w, &k));
    write_line(w, "nisa.dma_copy(dst=weights[%s, %s, 0:%s], src=%s)", taps_slice(t, at, k.size, 1),
               group, channels->size, write_access(w, &access));
}

/* Rows of weights, which a channel has side by side, for up to 128 channels. */
static void bring_rows(struct taps *t, const struct span *channels, const struct span *o,
                       int64_t reach) {
    struct access access = taps_access(t, TAP_WEIGHTS);
    add_span(&access, channels, t->channel.weights);
    add_span(&access, o, t->channel.weights);
    access.offset -= taps_behind(t);
    access.rows = o->size;
    access.row = t->channel.weights;
    add_columns(&access, taps_number(t, reach), reach, 1);
    declare(t, "rows", arena_printf(t->writer->arena, "%s, %lld", o->size, (long long)reach),
            t->dtype, "sbuf");
    write_line(t->writer, "nisa.dma_copy(dst=rows, src=%s)", write_access(t->writer, &access));
}

/* What a tap has of those rows. */
static const char *rows_of(const struct taps *t, const struct tap *tap, const struct span *o,
                           const struct span *k) {
    const char *at = taps_sum(t, taps_number(t, taps_behind(t)), tap->row, t->grid.weights_row);
    at = taps_sum(t, at, tap->column, t->grid.weights_column);
    at = taps_sum(t, at, k->at, t->summed.weights);
    return arena_printf(t->writer->arena, "rows[0:%s, %s]", o->size,
                        taps_slice(t, at, k->size, t->summed.weights));
}

static void turn(struct taps *t, const char *from, const char *depth, const char *group,
                 const struct span *o) {
    struct writer *w = t->writer;
    declare(t, "turned", arena_printf(w->arena, "%s, %s", depth, o->size), t->dtype, "psum");
    write_line(w, "nisa.nc_transpose(dst=turned, data=%s)", from);
    write_line(w, "nisa.tensor_copy(dst=weights[0:%s, %s, %s], src=turned)", depth, group,
               taps_slice(t, o->at, o->size, 1));
}

/* Products of taps, in loops: where the first tap lies, and how many partitions it takes. */
static const char *depth_of(const struct taps *t, const struct tap *group) {
    struct arena *arena = t->writer->arena;
    long long down = t->stack_rows, across = t->stack_columns, n = t->summed.n;
    if (t->grid.rows % down)
        return arena_printf(arena, "min(%lld, %lld - %s * %lld) * %lld", down,
                            (long long)t->grid.rows, group->row, down, across * n);
    if (t->grid.columns % across)
        return arena_printf(arena, "min(%lld, %lld - %s * %lld) * %lld", across,
                            (long long)t->grid.columns, group->column, across, n);
    return taps_number(t, down * across * n);
}

static struct tap open_groups(const struct taps *t) {
    struct tap group = {"0", "0"};
    if (t->groups_down > 1) {
        write_line(t->writer, "for i in range(%lld):", (long long)t->groups_down);
        t->writer->indent++;
        group.row = "i";
    }
    if (t->groups_across > 1) {
        write_line(t->writer, "for j in range(%lld):", (long long)t->groups_across);
        t->writer->indent++;
        group.column = "j";
    }
    return group;
}

/* Taps that lie above each other are put side by side first, and turned over together. */
static void turn_stacked(struct taps *t, const struct span *o) {
    struct writer *w = t->writer;
    int indent = w->indent;
    int64_t together = partitions_of(t);
    struct span k = {"0", taps_number(t, t->summed.n), 0, t->summed.n};
    declare(t, "stacked",
            arena_printf(w->arena, "%s, %lld", o->size,
                         (long long)(together * t->groups_down * t->groups_across)),
            t->dtype, "sbuf");
    struct tap tap = open_taps(t);
    const char *at = plus(t, product_of(t, group_of(t, &tap), together),
                          product_of(t, slot_of(t, &tap), t->summed.n));
    write_line(w, "nisa.tensor_copy(dst=stacked[0:%s, %s], src=%s)", o->size,
               taps_slice(t, at, k.size, 1), rows_of(t, &tap, o, &k));
    w->indent = indent;
    struct tap group = open_groups(t);
    const char *number = plus(t, product_of(t, group.row, t->groups_across), group.column);
    const char *depth = depth_of(t, &group);
    if (strchr(depth, ' ')) {
        write_line(w, "depth = %s", depth);
        depth = "depth";
    }
    turn(t,
         arena_printf(w->arena, "stacked[0:%s, %s]", o->size,
                      taps_slice(t, product_of(t, number, together), depth, 1)),
         depth, number, o);
    w->indent = indent;
}

static void load_turned(struct taps *t, const struct span *channels) {
    struct writer *w = t->writer;
    int64_t reach = taps_reach(t);
    struct span o = product_tiles(w, "o", "high", channels->width, PARTITIONS);
    bring_rows(t, channels, &o, reach);
    if (t->stack_rows * t->stack_columns > 1) {
        turn_stacked(t, &o);
        return;
    }
    struct tap tap = open_taps(t);
    struct span k = product_tiles(w, "k", "depth", t->summed.n, PARTITIONS);
    turn(t, rows_of(t, &tap, &o, &k), k.size,
         plus(t, product_of(t, group_of(t, &tap), taps_depths(t)), product_tile_of(w, &k)), &o);
}

void taps_load_weights(struct taps *t, const struct span *channels) {
    struct writer *w = t->writer;
    int indent = w->indent;
    declare(t, "weights",
            arena_printf(w->arena, "%lld, %lld, %s", (long long)partitions_of(t),
                         (long long)(t->groups_down * t->groups_across * taps_depths(t)),
                         channels->size),
            t->dtype, "sbuf");
    (t->turns ? load_turned : load_straight)(t, channels);
    w->indent = indent;
}

/* ---- image ----------------------------------------------------------------------------------- */

/* Where a block's image begins in HBM, of taps so many rows and columns behind the first one. */
static struct access image_at(const struct taps *t, const struct span *rows, int64_t down,
                              int64_t across) {
    struct access access = taps_access(t, TAP_IMAGE);
    add_span(&access, rows, inset_stride(t, t->row.image));
    if (!t->inset)
        access.offset += (down * t->pitch + across - t->left) * t->unit;
    return access;
}

/* Channels lie apart: rows of pixels come as they are, once for each tap of those above each
 * other. */
static void load_channels(struct taps *t, const struct span *rows, const char *deep,
                          int64_t deepest) {
    struct writer *w = t->writer;
    int indent = w->indent;
    struct span k = product_tiles(w, "k", "depth", t->summed.n, PARTITIONS);
    for (int64_t i = 0; i < t->stack_rows; i++)
        for (int64_t j = 0; j < t->stack_columns; j++) {
            int64_t down = i * t->grid.row_step, across = j * t->grid.column_step;
            struct access access = image_at(t, rows, down, across);
            const char *high = down ? taps_sum(t, deep, taps_number(t, -down), 1) : deep;
            if (down && strchr(high, ' '))
                high = arena_printf(w->arena, "%s - %lld", deep, (long long)down);
            const char *width = taps_number(t, t->wide - across);
            add_span(&access, &k, t->summed.image);
            access.rows = k.size;
            access.row = t->summed.image ? t->summed.image : 1;
            if (deepest > 1)
                add_columns(&access, high, deepest - down, t->pitch * t->unit);
            add_columns(&access, width, t->wide - across, t->unit);
            int64_t at = (i * t->stack_columns + j) * t->summed.n;
            write_line(w, "nisa.dma_copy(dst=image[%s, %s, 0:%s, 0:%s], src=%s)",
                       taps_slice(t, taps_number(t, at), k.size, 1), product_tile_of(w, &k), high,
                       width, write_access(w, &access));
        }
    w->indent = indent;
}

/* Where a part of the pixels lies in a tile. */
static const char *inner_slice(const struct taps *t, const struct inner *inner,
                               const struct span *part) {
    const char *at = taps_sum(t, taps_number(t, inner->at), part->at, inner->step);
    return taps_slice(t, at, part->size, inner->step);
}

/* Pieces of pixels, each with at most 128 of them on the partitions: rows of them or parts of one.
 */
struct pieces {
    int64_t high, wide; /* pixels of one */
    int64_t down, across;
    bool together; /* they come in one tile, before the first one is turned */
};

static struct pieces pieces_of(struct taps *t, int64_t rows, bool is_exact) {
    static const int64_t values[] = {1, 0};
    int64_t wide = t->across.n, high = t->rows_join ? MAX_OF(PARTITIONS / wide, 1) : 1;
    struct pieces pieces = {.high = MIN_OF(high, rows), .wide = MIN_OF(wide, PARTITIONS)};
    pieces.down = (rows + pieces.high - 1) / pieces.high;
    pieces.across = (wide + pieces.wide - 1) / pieces.wide;
    double bytes = (double)(pieces.down * pieces.across * t->summed.n) * 4;
    bool fits = is_exact && pieces.down * pieces.across > 1 &&
                bytes <= t->writer->spec->sbuf_bytes * PIECES_SHARE;
    pieces.together =
        fits && write_choose(t->writer, t->index, "pieces",
                             "pixels that are turned over: come together (1), piece by piece (0)",
                             values, 2);
    return pieces;
}

/* Brings so many pieces, each of that many pixels: from one on down or across. */
static void bring_pieces(struct taps *t, const struct span *rows, const struct pieces *pieces,
                         const int64_t *first, const int64_t *count, int64_t pixels) {
    struct writer *w = t->writer;
    struct access access = image_at(t, rows, 0, 0);
    int64_t row = inset_stride(t, t->pitch * t->unit), column = inset_stride(t, t->unit);
    access.offset += first[0] * pieces->high * row + first[1] * pieces->wide * column;
    access.rows = taps_number(t, pixels);
    access.row = column;
    if (pieces->down > 1)
        add_columns(&access, taps_number(t, count[0]), count[0], pieces->high * row);
    if (pieces->across > 1)
        add_columns(&access, taps_number(t, count[1]), count[1], pieces->wide * column);
    add_columns(&access, taps_number(t, t->summed.n), t->summed.n, 1);
    const char *down = taps_slice(t, taps_number(t, first[0]), taps_number(t, count[0]), 1);
    const char *across = taps_slice(t, taps_number(t, first[1]), taps_number(t, count[1]), 1);
    write_line(w, "nisa.dma_copy(dst=pieces[0:%lld, %s, %s, 0:%lld], src=%s)", (long long)pixels,
               pieces->down > 1 ? down : "0", pieces->across > 1 ? across : "0",
               (long long)t->summed.n, write_access(w, &access));
}

/* All pieces: those that are whole, and the last ones. */
static void bring_together(struct taps *t, const struct span *rows, const struct pieces *pieces,
                           int64_t deep) {
    int64_t wide = t->across.n, full = pieces->high > 1 ? deep / pieces->high : pieces->down;
    int64_t full_across = wide / pieces->wide;
    int64_t each = pieces->high * pieces->wide;
    declare(t, "pieces",
            arena_printf(t->writer->arena, "%lld, %lld, %lld, %lld", (long long)each,
                         (long long)pieces->down, (long long)pieces->across,
                         (long long)t->summed.n),
            t->dtype, "sbuf");
    bring_pieces(t, rows, pieces, (int64_t[]){0, 0}, (int64_t[]){full, full_across}, each);
    if (full < pieces->down)
        bring_pieces(t, rows, pieces, (int64_t[]){full, 0}, (int64_t[]){1, 1},
                     deep % pieces->high * wide);
    if (full_across < pieces->across)
        bring_pieces(t, rows, pieces, (int64_t[]){0, full_across}, (int64_t[]){full, 1},
                     wide % pieces->wide);
}

/* Which of several pieces begins at a place. */
static const char *piece_at(const struct taps *t, const char *at, int64_t size) {
    return strcmp(at, "0") && size > 1
               ? arena_printf(t->writer->arena, "%s // %lld", at, (long long)size)
               : at;
}

/* A piece of rows and columns of pixels, at most 128 of them: turned over into the image. */
static void turn_pixels(struct taps *t, const struct span *rows, const struct pieces *pieces,
                        const struct span *r, const struct span *c) {
    struct writer *w = t->writer;
    struct access access = image_at(t, rows, 0, 0);
    bool whole = r->width > 1;
    const char *pixels = whole ? taps_number(t, r->width * t->across.n) : c->size;
    if (whole && !strcmp(r->size, "few")) {
        write_line(w, "pixels = few * %lld", (long long)t->across.n);
        pixels = "pixels";
    }
    add_span(&access, r, inset_stride(t, t->pitch * t->unit));
    add_span(&access, c, inset_stride(t, t->unit));
    access.rows = pixels;
    access.row = inset_stride(t, t->unit);
    add_columns(&access, taps_number(t, t->summed.n), t->summed.n, 1);
    const char *piece = "";
    if (pieces->together) {
        piece = arena_printf(w->arena, "%s, %s, ", piece_at(t, r->at, pieces->high),
                             piece_at(t, c->at, pieces->wide));
    } else {
        declare(t, "pieces", arena_printf(w->arena, "%s, %lld", pixels, (long long)t->summed.n),
                t->dtype, "sbuf");
        write_line(w, "nisa.dma_copy(dst=pieces, src=%s)", write_access(w, &access));
    }
    struct span k = product_tiles(w, "k", "depth", t->summed.n, PARTITIONS);
    const char *shape = arena_printf(w->arena, "%s, %s, %s", k.size, r->size, c->size);
    declare(t, "turned", shape, t->dtype, "psum");
    write_line(w, "nisa.nc_transpose(dst=turned, data=pieces[0:%s, %s%s])", pixels, piece,
               taps_slice(t, k.at, k.size, 1));
    write_line(w, "nisa.tensor_copy(dst=image[0:%s, %s, %s, %s], src=turned)", k.size,
               product_tile_of(w, &k), inner_slice(t, &t->down, r), inner_slice(t, &t->across, c));
}

/* Other taps of those above each other are copies of the first one, some pixels apart. */
static void stack_taps(struct taps *t, const char *deep) {
    struct writer *w = t->writer;
    long long exact;
    for (int64_t i = 0; i < t->stack_rows; i++)
        for (int64_t j = 0; j < t->stack_columns; j++) {
            int64_t down = i * t->grid.row_step, across = j * t->grid.column_step;
            int64_t at = (i * t->stack_columns + j) * t->summed.n;
            const char *rest = is_number(deep, &exact)
                                   ? taps_number(t, exact - down)
                                   : arena_printf(w->arena, "%s - %lld", deep, (long long)down);
            if (at)
                write_line(w,
                           "nisa.dma_copy(dst=image[%s, 0, 0:%s, 0:%lld], "
                           "src=image[0:%lld, 0, %lld:%s, %lld:%lld])",
                           taps_slice(t, taps_number(t, at), taps_number(t, t->summed.n), 1), rest,
                           (long long)(t->wide - across), (long long)t->summed.n, (long long)down,
                           deep, (long long)across, (long long)t->wide);
        }
}

/* Channels lie side by side: pixels are turned over. */
static void load_pixels(struct taps *t, const struct span *rows, const char *deep,
                        int64_t deepest) {
    struct writer *w = t->writer;
    int indent = w->indent;
    if (t->inset) {
        deepest = t->down.n;
        deep = taps_number(t, deepest);
    }
    long long exact;
    struct pieces pieces = pieces_of(t, deepest, is_number(deep, &exact));
    int64_t wide = t->across.n, high = pieces.high;
    struct span r = {"0", "1", 0, 1}, c = {"0", taps_number(t, wide), 0, wide};
    if (pieces.together)
        bring_together(t, rows, &pieces, deepest);
    if (deepest > 1) {
        r.width = high;
        r.at = "r";
        r.most = deepest - high;
        r.size = taps_number(t, high);
        write_line(w, "for r in range(0, %s, %lld):", deep, (long long)high);
        w->indent++;
        if (high > 1 && (!is_number(deep, &exact) || exact % high)) {
            write_line(w, "few = min(%lld, %s - r)", (long long)high, deep);
            r.size = "few";
        }
    }
    if (r.width == 1)
        c = product_tiles(w, "p", "some", wide, PARTITIONS);
    turn_pixels(t, rows, &pieces, &r, &c);
    w->indent = indent;
}

/* Channels lie apart: the pixels come together, and are put where they belong on chip. */
static void load_inset(struct taps *t, const struct span *rows) {
    struct writer *w = t->writer;
    int indent = w->indent;
    struct span k = product_tiles(w, "k", "depth", t->summed.n, PARTITIONS);
    struct span r = {"0", taps_number(t, t->down.n), 0, t->down.n};
    struct span c = {"0", taps_number(t, t->across.n), 0, t->across.n};
    struct access access = image_at(t, rows, 0, 0);
    add_span(&access, &k, inset_stride(t, t->summed.image));
    access.rows = k.size;
    access.row = t->summed.image ? inset_stride(t, t->summed.image) : 1;
    if (t->down.n > 1)
        add_columns(&access, r.size, r.width, inset_stride(t, t->pitch * t->unit));
    add_columns(&access, c.size, c.width, inset_stride(t, t->unit));
    declare(t, "pixels", arena_printf(w->arena, "%s, %s, %s", k.size, r.size, c.size), t->dtype,
            "sbuf");
    write_line(w, "nisa.dma_copy(dst=pixels, src=%s)", write_access(w, &access));
    write_line(w, "nisa.tensor_copy(dst=image[0:%s, %s, %s, %s], src=pixels)", k.size,
               product_tile_of(w, &k), inner_slice(t, &t->down, &r),
               inner_slice(t, &t->across, &c));
    w->indent = indent;
}

/* What lies around the pixels; all of the tile where something lies between them. */
static void fill_around(struct taps *t, int64_t deep) {
    const struct inner *down = &t->down, *across = &t->across;
    int64_t below = down->at + down->n, behind = across->at + across->n;
    const struct {
        int64_t row, rows, column, columns;
    } parts[] = {{0, down->at, 0, t->wide},
                 {below, deep, 0, t->wide},
                 {down->at, below, 0, across->at},
                 {down->at, below, behind, t->wide}};
    bool apart = down->step > 1 || across->step > 1;
    const char *number = write_number(t->writer, t->inset->number);
    if (apart)
        write_line(t->writer, "nisa.memset(dst=image, value=%s)", number);
    for (size_t i = 0; i < COUNT_OF(parts) && !apart; i++)
        if (parts[i].row < parts[i].rows && parts[i].column < parts[i].columns)
            write_line(t->writer,
                       "nisa.memset(dst=image[0:%lld, 0:%lld, %lld:%lld, %lld:%lld], value=%s)",
                       (long long)MIN_OF(t->summed.n, PARTITIONS), (long long)taps_depths(t),
                       (long long)parts[i].row, (long long)parts[i].rows,
                       (long long)parts[i].column, (long long)parts[i].columns, number);
}

void taps_load_image(struct taps *t, const struct span *rows) {
    struct writer *w = t->writer;
    int64_t step = t->row.image / t->unit / t->pitch, more = t->grid.row_step * (t->grid.rows - 1);
    int64_t deepest = taps_deep(t, rows->width);
    const char *deep = taps_number(t, deepest);
    long long exact;
    if (!is_number(rows->size, &exact)) {
        write_line(w, "deep = (%s - 1) * %lld + %lld", rows->size, (long long)step,
                   (long long)(more + 1));
        deep = "deep";
    }
    declare(t, "image",
            arena_printf(w->arena, "%lld, %lld, %s, %lld", (long long)partitions_of(t),
                         (long long)taps_depths(t), deep, (long long)t->wide),
            t->dtype, "sbuf");
    if (t->inset)
        fill_around(t, deepest);
    if (t->pixels_first)
        load_pixels(t, rows, deep, deepest);
    else if (t->inset)
        load_inset(t, rows);
    else
        load_channels(t, rows, deep, deepest);
    if (t->pixels_first || t->inset)
        stack_taps(t, deep);
}
