/* SPDX-License-Identifier: Apache-2.0 */
/* A convolution as a stage of its own. */
#include "write/fast/fast.h"
#include "write/taps/private.h"

#define IMAGE_SHARE 0.2   /* of SBUF that a tile of the image may take */
#define WEIGHTS_SHARE 0.4 /* .. that weights may take */
#define LARGEST_ROW 8192  /* columns of a tile of the image */

/* ---- what is decided ------------------------------------------------------------------------- */

/* As many taps as fit lie above each other: whole rows of taps, or a part of one. */
static void choose_stack(struct taps *t) {
    int64_t room = t->summed.n < PARTITIONS ? PARTITIONS / t->summed.n : 1;
    int64_t most = room >= t->grid.columns
                       ? MIN_OF(room / t->grid.columns, t->grid.rows) * t->grid.columns
                       : MAX_OF(room, 1);
    const int64_t values[] = {most, 1, MIN_OF(room, t->grid.columns)};
    int64_t together = most == 1 ? 1
                                 : write_choose(t->writer, t->index, "stacked",
                                                "taps that lie above each other on the partitions, "
                                                "for one product",
                                                values, 3);
    t->stack_columns = MIN_OF(together, t->grid.columns);
    t->stack_rows = together / t->stack_columns;
    t->groups_down = (t->grid.rows + t->stack_rows - 1) / t->stack_rows;
    t->groups_across = (t->grid.columns + t->stack_columns - 1) / t->stack_columns;
}

/* Columns of a tile of the image: whole rows lie side by side in HBM. */
static void choose_columns(struct taps *t) {
    int64_t needed = (t->column.n - 1) * t->column.image / t->unit +
                     t->grid.column_step * (t->grid.columns - 1) + 1;
    bool whole = (t->row.n > 1 || t->grid.rows > 1) && t->pitch <= needed + needed / 4;
    t->left = whole ? t->first_column : 0;
    t->wide = whole ? t->pitch : needed;
}

static bool choose_block(struct taps *t) {
    double row = (double)(t->wide * taps_depths(t)) * 4;
    double room = t->writer->spec->sbuf_bytes * IMAGE_SHARE;
    int64_t step = t->row.n > 1 ? t->row.image / t->unit / t->pitch : 1;
    int64_t more = t->grid.row_step * (t->grid.rows - 1), rows = (int64_t)(room / row);
    if (t->wide > LARGEST_ROW || rows < more + 1)
        return false;
    int64_t most = MIN_OF((rows - more - 1) / step + 1, t->row.n), values[4], count = 0;
    for (int64_t block = most; block > 0 && count < 4; block /= 2)
        values[count++] = block;
    t->block = count == 1
                   ? most
                   : write_choose(t->writer, t->index, "image_rows",
                                  "rows of the result whose image is in SBUF", values, (int)count);
    return true;
}

static bool choose_channels(struct taps *t) {
    double each = (double)(t->groups_down * t->groups_across * taps_depths(t)) * 4;
    double room = t->writer->spec->sbuf_bytes * WEIGHTS_SHARE;
    int64_t most = (int64_t)(room / each), step = t->over ? PRODUCT_MOVING : PARTITIONS;
    t->channels = t->channel.n <= most ? t->channel.n : most / step * step;
    return t->channels > 0;
}

static bool decide(struct taps *t) {
    choose_stack(t);
    choose_columns(t);
    return choose_block(t) && choose_channels(t) && inset_place(t);
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* Returns the innermost one; of count 0: there is none. */
static struct steps open_loops(struct taps *t) {
    struct writer *w = t->writer;
    struct steps steps = {0};
    for (int s = 0; s < t->side_count; s++) {
        const struct tap_side *side = &t->sides[s];
        const char *variable = arena_printf(w->arena, "b%d", s);
        steps = (struct steps){w->out.len, variable, side->n, 1, t->pixels_first};
        write_line(w, "for %s in range(%lld):", variable, (long long)side->n);
        w->indent++;
        t->loops[t->loop_count][TAP_IMAGE] = (struct term){variable, side->image, side->n - 1};
        t->loops[t->loop_count][TAP_WEIGHTS] = (struct term){variable, side->weights, side->n - 1};
        t->loops[t->loop_count++][TAP_OUT] = (struct term){variable, side->out, side->n - 1};
    }
    return steps;
}

struct span taps_parts(struct writer *w, const char *variable, const char *size,
                       const struct span *span, int64_t part) {
    long long exact;
    if (str_to_int(str_of(span->size), &exact))
        return product_tiles(w, variable, size, exact, part);
    write_line(w, "for %s in range(0, %s, %lld):", variable, span->size, (long long)part);
    w->indent++;
    write_line(w, "%s = min(%lld, %s - %s)", size, (long long)part, span->size, variable);
    return (struct span){variable, size, MAX_OF(span->width - part, 0), part};
}

/* The image that a product of taps takes, for some pixels. */
static const char *image_part(const struct taps *t, const char *depth, const char *tile,
                              const struct span *y, const struct span *x, const char *i,
                              const char *j) {
    int64_t down = t->row.n > 1 ? t->row.image / t->unit / t->pitch : 1;
    int64_t across = t->column.image / t->unit;
    const char *row = taps_sum(t, "0", i, t->stack_rows * t->grid.row_step);
    const char *column =
        taps_sum(t, taps_number(t, t->left), j, t->stack_columns * t->grid.column_step);
    row = taps_sum(t, row, y->at, down);
    column = taps_sum(t, column, x->at, across);
    return arena_printf(t->writer->arena, "image[0:%s, %s, %s, %s]", depth, tile,
                        taps_slice(t, row, y->size, down), taps_slice(t, column, x->size, across));
}

/* Partitions that the product of taps of a group takes. */
static const char *group_depth(struct taps *t, const char *i, const char *j, const struct span *k) {
    struct writer *w = t->writer;
    long long down = t->stack_rows, across = t->stack_columns, n = t->summed.n;
    bool rows = t->grid.rows % down, columns = t->grid.columns % across;
    if (down * across == 1)
        return k->size;
    if (!rows && !columns)
        return taps_number(t, down * across * n);
    write_line(w, "depth = min(%lld, %lld - %s * %lld) * %lld", rows ? down : across,
               (long long)(rows ? t->grid.rows : t->grid.columns), rows ? i : j,
               rows ? down : across, rows ? across * n : n);
    return "depth";
}

/* All products of some pixels and channels into `sums`. */
static void multiply(struct taps *t, const struct span *o, const struct span *y,
                     const struct span *x) {
    struct writer *w = t->writer;
    int indent = w->indent;
    const char *i = "0", *j = "0";
    if (t->groups_down > 1) {
        write_line(w, "for i in range(%lld):", (long long)t->groups_down);
        w->indent++;
        i = "i";
    }
    if (t->groups_across > 1) {
        write_line(w, "for j in range(%lld):", (long long)t->groups_across);
        w->indent++;
        j = "j";
    }
    struct span k = product_tiles(w, "k", "depth", t->summed.n, PARTITIONS);
    const char *depth = group_depth(t, i, j, &k);
    const char *number = taps_sum(t, "0", i, t->groups_across * taps_depths(t));
    number = taps_sum(t, number, j, taps_depths(t));
    if (strcmp(k.at, "0"))
        number = strcmp(number, "0")
                     ? arena_printf(w->arena, "%s + %s", number, product_tile_of(w, &k))
                     : product_tile_of(w, &k);
    const char *image = image_part(t, depth, product_tile_of(w, &k), y, x, i, j);
    const char *weights =
        arena_printf(w->arena, "weights[0:%s, %s, %s]", depth, number, product_slice(w, o));
    write_line(w, "nisa.nc_matmul(dst=sums, stationary=%s, moving=%s)", t->over ? image : weights,
               t->over ? weights : image);
    w->indent = indent;
}

static void declare(const struct taps *t, const char *name, const char *shape, bool psum) {
    write_line(t->writer, "%s = nl.ndarray((%s), dtype=nl.%s, buffer=nl.%s)", name, shape,
               psum ? "float32" : t->node->dtype, psum ? "psum" : "sbuf");
}

static struct access out_at(const struct taps *t, const struct span *channels, const struct span *o,
                            const struct span *rows) {
    struct access access = taps_access(t, TAP_OUT);
    const struct {
        const struct span *span;
        int64_t stride;
    } all[] = {{channels, t->channel.out}, {o, t->channel.out}, {rows, t->row.out}};
    for (size_t i = 0; i < COUNT_OF(all); i++)
        if (strcmp(all[i].span->at, "0"))
            access_add(&access, all[i].span->at, all[i].stride, all[i].span->most);
    return access;
}

static void add_columns(struct access *access, const struct span *span, int64_t stride) {
    access->cols[access->col_count] = span->size;
    access->strides[access->col_count++] = stride ? stride : 1;
    access->cols_most = MAX_OF(access->cols_most, span->width);
}

/* Channels on the partitions: the pixels of a block are stored together. */
static void emit_channels(struct taps *t, const struct span *channels, const struct span *rows) {
    struct writer *w = t->writer;
    int indent = w->indent;
    struct span o = taps_parts(w, "o", "high", channels, PARTITIONS);
    int inner = w->indent;
    struct span all = {"0", taps_number(t, t->column.n), 0, t->column.n};
    declare(t, "done", arena_printf(w->arena, "%s, %s, %s", o.size, rows->size, all.size), false);
    int64_t high = MAX_OF(PRODUCT_MOVING / t->column.n, 1);
    struct span y = taps_parts(w, "y", "few", rows, high);
    struct span x = product_tiles(w, "x", "some", t->column.n, PRODUCT_MOVING);
    declare(t, "sums", arena_printf(w->arena, "%s, %s, %s", o.size, y.size, x.size), true);
    multiply(t, &o, &y, &x);
    const char *to = arena_printf(w->arena, "done[0:%s, %s, %s]", o.size, product_slice(w, &y),
                                  product_slice(w, &x));
    behind_leave(t, to, &o, NULL);
    w->indent = inner;
    struct access access = out_at(t, channels, &o, rows);
    access.rows = o.size;
    access.row = t->channel.out ? t->channel.out : 1;
    if (t->row.n > 1)
        add_columns(&access, rows, t->row.out);
    add_columns(&access, &all, t->column.out);
    write_line(w, "nisa.dma_copy(dst=%s, src=done)", write_access(w, &access));
    w->indent = indent;
}

/* Pixels on the partitions: those of whole rows, or of a part of one. */
static void emit_pixels(struct taps *t, const struct span *channels, const struct span *rows) {
    struct writer *w = t->writer;
    int indent = w->indent;
    bool merges = t->row.out == t->column.out * t->column.n;
    int64_t high = merges ? MAX_OF(PARTITIONS / t->column.n, 1) : 1;
    struct span y = taps_parts(w, "y", "few", rows, MIN_OF(high, t->row.n));
    struct span x = product_tiles(w, "x", "some", t->column.n, PARTITIONS);
    const char *pixels = x.size;
    long long exact;
    if (y.width > 1 && str_to_int(str_of(y.size), &exact)) {
        pixels = taps_number(t, exact * t->column.n);
    } else if (y.width > 1) {
        write_line(w, "pixels = %s * %lld", y.size, (long long)t->column.n);
        pixels = "pixels";
    }
    struct span o = taps_parts(w, "o", "width", channels, PRODUCT_MOVING);
    declare(t, "sums", arena_printf(w->arena, "%s, %s", pixels, o.size), true);
    multiply(t, &o, &y, &x);
    declare(t, "done", arena_printf(w->arena, "%s, %s", pixels, o.size), false);
    behind_leave(t, "done", &o, pixels);
    struct access access = out_at(t, channels, &o, rows);
    if (strcmp(y.at, "0"))
        access_add(&access, y.at, t->row.out, y.most);
    if (strcmp(x.at, "0"))
        access_add(&access, x.at, t->column.out, x.most);
    access.rows = pixels;
    access.row = t->column.out;
    add_columns(&access, &o, t->channel.out);
    write_line(w, "nisa.dma_copy(dst=%s, src=done)", write_access(w, &access));
    w->indent = indent;
}

static void emit(struct taps *t) {
    struct writer *w = t->writer;
    int indent = w->indent;
    write_blank(w);
    write_line(w, "# A convolution of %d taps (line %d of the reference).", t->count,
               t->node->line);
    bool weights_differ = false;
    for (int s = 0; s < t->side_count; s++)
        weights_differ |= t->sides[s].weights != 0;
    struct span channels = {"0", taps_number(t, t->channel.n), 0, t->channel.n};
    if (t->channels < t->channel.n)
        channels = product_tiles(w, "c", "width", t->channel.n, t->channels);
    if (!weights_differ)
        taps_load_weights(t, &channels);
    behind_load(t, &channels);
    struct steps images = open_loops(t);
    if (weights_differ)
        taps_load_weights(t, &channels);
    struct span rows = product_tiles(w, "h", "tall", t->row.n, t->block);
    taps_load_image(t, &rows);
    (t->over ? emit_pixels : emit_channels)(t, &channels, &rows);
    w->indent = indent;
    if (images.count) /* the Tensor engine, which turns pixels, does not wait for the next image */
        write_abreast(w, t->index, &images);
}

static int64_t size_of(const struct view *view) {
    int64_t size = 1;
    for (int d = 0; d < view->ndim; d++)
        for (int f = 0; f < view->dims[d].count; f++)
            size *= view->dims[d].at[f].n;
    return size;
}

bool taps_emit(struct writer *writer, int node, const struct view *operands,
               const struct view *to) {
    bool second = size_of(&operands[1]) > size_of(&operands[0]);
    for (int i = 0; i < 2; i++) { /* the image is mostly the larger one */
        struct taps t = {.writer = writer,
                         .node = &writer->graph->nodes[node],
                         .index = node,
                         .image_side = i != second};
        const struct view *bias = &operands[t.node->in_count - 1];
        if (!taps_read(&t, operands, to) || !behind_read(&t, bias) || !decide(&t))
            continue;
        writer->values[node].error = fast_sum_error(t.summed.n * t.count);
        emit(&t);
        return true;
    }
    for (int i = 0; i < 2; i++) {
        const struct buffer *buffer = &writer->buffers.at[operands[i].buffer];
        if (!buffer->inset)
            continue;
        write_apart(writer, buffer->node);
        return true;
    }
    return false;
}
