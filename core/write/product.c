/* SPDX-License-Identifier: Apache-2.0 */
/* A product of two arrays on the Tensor engine. The rows of the left one lie in the columns of the
 * stationary operand, both have what is summed over on the partitions, and PSUM adds up. A block of
 * rows stays in SBUF while the right array passes by; the right one stays, too, where it fits. */
#include "write/private.h"

#include <stdlib.h>

#define MAX_SIDES 24
#define MOVING 512 /* columns of the moving operand; a PSUM bank holds so many sums of fp32 */
#define STAYS 0.35 /* share of SBUF that the right array may take for good */

enum which { LEFT, RIGHT, RESULT, ARRAYS };
enum class { BATCH, ROW, COLUMN, SUMMED, CLASSES };
struct side {
    enum class class;
    int64_t n, strides[ARRAYS];
};
struct product {
    struct writer *writer;
    const struct graph_node *node;
    struct view views[ARRAYS];
    struct side sides[MAX_SIDES];
    int count;
    struct side main[CLASSES]; /* the ones that become tiles */
    struct term loops[MAX_SIDES][ARRAYS];
    int loop_count;
    const char *dtype;
    bool turns[2];          /* the array lies with its summed elements side by side */
    bool stays;             /* all of the right array is loaded first */
    const char *k, *k_size; /* in the loop over what is summed */
    int64_t block;
};

/* ---- sides ----------------------------------------------------------------------------------- */

static const struct dimension *dimension_of(const struct product *p, enum which which, int label) {
    const int *labels = which == RESULT ? p->node->out : p->node->terms[which];
    for (int d = 0; d < p->views[which].ndim; d++)
        if (labels[d] == label)
            return &p->views[which].dims[d];
    return NULL;
}

static int by_size(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int common_sizes(const struct dimension *dims[ARRAYS], int64_t *sizes) {
    int64_t cuts[40];
    int n = 0, count = 0;
    cuts[n++] = 1;
    for (int i = 0; i < ARRAYS; i++) {
        int64_t inner = 1;
        for (int f = dims[i] ? dims[i]->count : 0; f-- > 0;)
            cuts[n++] = inner *= dims[i]->at[f].n;
    }
    qsort(cuts, (size_t)n, sizeof *cuts, by_size);
    for (int i = n; i-- > 1;) {
        if (cuts[i] == cuts[i - 1])
            continue;
        if (cuts[i] % cuts[i - 1] || count == VIEW_MAX_FACTORS)
            return -1;
        sizes[count++] = cuts[i] / cuts[i - 1];
    }
    return count;
}

static bool add_label(struct product *p, int label) {
    const struct dimension *dims[ARRAYS];
    for (enum which i = LEFT; i < ARRAYS; i++)
        dims[i] = dimension_of(p, i, label);
    enum class class = dims[RESULT] ? dims[LEFT] && dims[RIGHT] ? BATCH
                                      : dims[LEFT]              ? ROW
                                                                : COLUMN
                                    : SUMMED;
    if (class == SUMMED && !(dims[LEFT] && dims[RIGHT]))
        return false;
    int64_t sizes[VIEW_MAX_FACTORS], strides[ARRAYS][VIEW_MAX_FACTORS] = {0};
    int count = common_sizes(dims, sizes);
    if (count < 0 || p->count + count > MAX_SIDES)
        return false;
    for (enum which i = LEFT; i < ARRAYS; i++)
        if (dims[i] && !dimension_refine(dims[i], sizes, count, strides[i]))
            return false;
    for (int f = 0; f < count; f++)
        p->sides[p->count++] = (struct side){
            class, sizes[f], {strides[LEFT][f], strides[RIGHT][f], strides[RESULT][f]}};
    return true;
}

static bool add_labels(struct product *p) {
    for (enum which i = LEFT; i <= RIGHT; i++)
        for (int d = 0; d < p->views[i].ndim; d++) {
            int label = p->node->terms[i][d];
            bool seen = false;
            for (int e = 0; e < p->views[LEFT].ndim && i == RIGHT; e++)
                seen |= p->node->terms[LEFT][e] == label;
            if (!seen && !add_label(p, label))
                return false;
        }
    return true;
}

/* Sides of a class that every array runs through in one go are one. */
static void merge(struct product *p) {
    for (int a = 0; a + 1 < p->count;) {
        struct side *x = &p->sides[a], *y = x + 1;
        bool fits = x->class == y->class;
        for (int i = 0; i < ARRAYS; i++)
            fits &= x->strides[i] == y->strides[i] * y->n;
        if (!fits) {
            a++;
            continue;
        }
        y->n *= x->n;
        memmove(x, y, (size_t)(p->count - a - 1) * sizeof *x);
        p->count--;
    }
}

/* The longest side of a class becomes tiles; the others are loops. */
static void choose(struct product *p) {
    for (enum class class = ROW; class < CLASSES; class ++) {
        p->main[class] = (struct side){.class = class, .n = 1};
        int best = -1;
        for (int s = 0; s < p->count; s++)
            if (p->sides[s].class == class && (best < 0 || p->sides[s].n > p->sides[best].n))
                best = s;
        if (best < 0)
            continue;
        p->main[class] = p->sides[best];
        p->count--;
        memmove(&p->sides[best], &p->sides[best + 1], (size_t)(p->count - best) * sizeof *p->sides);
    }
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* Opens a loop over tiles of a side; returns the text of a tile's size. */
static const char *open_tiles(struct writer *w, const char *variable, const char *size, int64_t n,
                              int64_t tile) {
    if (n <= tile)
        return arena_printf(w->arena, "%lld", (long long)n);
    write_line(w, "for %s in range(0, %lld, %lld):", variable, (long long)n, (long long)tile);
    w->indent++;
    if (n % tile == 0)
        return arena_printf(w->arena, "%lld", (long long)tile);
    write_line(w, "%s = min(%lld, %lld - %s)", size, (long long)tile, (long long)n, variable);
    return size;
}

static const char *place_of(const struct writer *w, const char *at, const char *size) {
    if (strcmp(at, "0") == 0)
        return arena_printf(w->arena, "0:%s", size);
    return arena_printf(w->arena, "%s:%s + %s", at, at, size);
}

static struct access access_of(const struct product *p, enum which which) {
    struct access access = {.buffer = p->views[which].buffer, .offset = p->views[which].offset};
    for (int i = 0; i < p->loop_count; i++)
        access_add(&access, p->loops[i][which].variable, p->loops[i][which].stride,
                   p->loops[i][which].most);
    return access;
}

/* Columns of a tile of an operand: a block of rows of the left one. */
static int64_t tile_size(const struct product *p, enum which which) {
    return which == LEFT ? p->block : MOVING;
}

/* A tile of an array: along `on` on the partitions, along `along` in the free dimension. */
static const char *tile_of(const struct product *p, enum which which, const struct side *on,
                           const char *on_at, const char *on_size, const struct side *along,
                           const char *at, const char *size) {
    struct access access = access_of(p, which);
    if (strcmp(on_at, "0"))
        access_add(&access, on_at, on->strides[which], on->n - PARTITIONS);
    if (strcmp(at, "0"))
        access_add(&access, at, along->strides[which], along->n - tile_size(p, which));
    access.cols_most = tile_size(p, which);
    access.rows = on_size;
    access.row = on->strides[which];
    access.cols[0] = size;
    access.strides[0] = along->strides[which] ? along->strides[which] : 1;
    access.col_count = 1;
    return write_access(p->writer, &access);
}

static void declare(const struct product *p, const char *name, const char *shape, const char *dtype,
                    const char *memory) {
    write_line(p->writer, "%s = nl.ndarray((%s), dtype=nl.%s, buffer=nl.%s)", name, shape, dtype,
               memory);
}

/* Where an operand is loaded: summed elements on the partitions, then their tiles, then `side` from
 * `from` on. */
struct target {
    enum which which;
    const struct side *side;
    const char *name, *from, *size;
};

/* Rows as they lie, each turned over by the Tensor engine piece by piece. */
static void load_turned(struct product *p, const struct target *to) {
    struct writer *w = p->writer;
    const struct side *sum = &p->main[SUMMED];
    int indent = w->indent;
    write_line(w, "for j in range(0, %s, %d):", to->size, PARTITIONS);
    w->indent++;
    write_line(w, "wide = min(%d, %s - j)", PARTITIONS, to->size);
    declare(p, "raw", arena_printf(w->arena, "wide, %lld", (long long)sum->n), p->dtype, "sbuf");
    struct access access = access_of(p, to->which);
    if (strcmp(to->from, "0"))
        access_add(&access, to->from, to->side->strides[to->which],
                   to->side->n - tile_size(p, to->which));
    int64_t span = strcmp(to->from, "0") ? tile_size(p, to->which) : to->side->n;
    access_add(&access, "j", to->side->strides[to->which], MAX_OF(span - PARTITIONS, 0));
    access.rows = "wide";
    access.row = to->side->strides[to->which];
    access.cols[0] = arena_printf(w->arena, "%lld", (long long)sum->n);
    access.strides[0] = sum->strides[to->which];
    access.col_count = 1;
    write_line(w, "nisa.dma_copy(dst=raw, src=%s)", write_access(w, &access));
    const char *size = open_tiles(w, "k", "depth", sum->n, PARTITIONS);
    const char *k = sum->n > PARTITIONS ? "k" : "0";
    declare(p, "turned", arena_printf(w->arena, "%s, wide", size), p->dtype, "psum");
    write_line(w, "nisa.nc_transpose(dst=turned, data=raw[0:wide, %s])", place_of(w, k, size));
    write_line(w, "nisa.tensor_copy(dst=%s[0:%s, %s, j:j + wide], src=turned)", to->name, size,
               strcmp(k, "0") ? "k // 128" : "0");
    w->indent = indent;
}

static void load_straight(struct product *p, const struct target *to) {
    struct writer *w = p->writer;
    const struct side *sum = &p->main[SUMMED];
    int indent = w->indent;
    const char *size = open_tiles(w, "k", "depth", sum->n, PARTITIONS);
    const char *k = sum->n > PARTITIONS ? "k" : "0";
    write_line(w, "nisa.dma_copy(dst=%s[0:%s, %s, 0:%s], src=%s)", to->name, size,
               strcmp(k, "0") ? "k // 128" : "0", to->size,
               tile_of(p, to->which, sum, k, size, to->side, to->from, to->size));
    w->indent = indent;
}

static void load(struct product *p, const struct target *to) {
    const struct side *sum = &p->main[SUMMED];
    int64_t tiles = (sum->n + PARTITIONS - 1) / PARTITIONS;
    declare(p, to->name,
            arena_printf(p->writer->arena, "%lld, %lld, %s", (long long)MIN_OF(sum->n, PARTITIONS),
                         (long long)tiles, to->size),
            p->dtype, "sbuf");
    (p->turns[to->which] ? load_turned : load_straight)(p, to);
}

static void multiply(struct product *p, const char *rows, const char *n, const char *columns) {
    struct writer *w = p->writer;
    const struct side *sum = &p->main[SUMMED];
    int64_t banks = (p->block + PARTITIONS - 1) / PARTITIONS;
    /* Each block of rows begins with a bank: a product stays within one. */
    const char *bank = arena_printf(w->arena, "%d", MOVING);
    int indent = w->indent;
    declare(p, "sums",
            arena_printf(w->arena, "%lld, %lld, %s", (long long)MIN_OF(p->block, PARTITIONS),
                         (long long)banks, banks > 1 ? bank : columns),
            "float32", "psum");
    if (!p->stays && p->turns[RIGHT])
        load(p, &(struct target){RIGHT, &p->main[COLUMN], "right", n, columns});
    const char *size = open_tiles(w, "k", "depth", sum->n, PARTITIONS);
    const char *k = sum->n > PARTITIONS ? "k" : "0", *tile = strcmp(k, "0") ? "k // 128" : "0";
    if (!p->stays && !p->turns[RIGHT]) {
        declare(p, "right", arena_printf(w->arena, "%s, 1, %s", size, columns), p->dtype, "sbuf");
        write_line(w, "nisa.dma_copy(dst=right[0:%s, 0, 0:%s], src=%s)", size, columns,
                   tile_of(p, RIGHT, sum, k, size, &p->main[COLUMN], n, columns));
    }
    const char *high =
        p->block > PARTITIONS ? open_tiles(w, "i", "high", p->block, PARTITIONS) : rows;
    const char *i = p->block > PARTITIONS ? "i" : "0";
    write_line(w,
               "nisa.nc_matmul(dst=sums[0:%s, %s, 0:%s], stationary=left[0:%s, %s, %s], "
               "moving=right[0:%s, %s, %s])",
               high, strcmp(i, "0") ? "i // 128" : "0", columns, size, tile, place_of(w, i, high),
               size, !p->stays && !p->turns[RIGHT] ? "0" : tile,
               place_of(w, p->stays ? n : "0", columns));
    w->indent = indent;
}

static void store(struct product *p, const char *m, const char *rows, const char *n,
                  const char *columns) {
    struct writer *w = p->writer;
    int indent = w->indent;
    const char *high =
        p->block > PARTITIONS ? open_tiles(w, "i", "high", p->block, PARTITIONS) : rows;
    const char *i = p->block > PARTITIONS ? "i" : "0";
    declare(p, "done", arena_printf(w->arena, "%s, %s", high, columns), p->node->dtype, "sbuf");
    write_line(w, "nisa.tensor_copy(dst=done, src=sums[0:%s, %s, 0:%s])", high,
               strcmp(i, "0") ? "i // 128" : "0", columns);
    struct access access = access_of(p, RESULT);
    const struct side *row = &p->main[ROW], *column = &p->main[COLUMN];
    if (strcmp(m, "0"))
        access_add(&access, m, row->strides[RESULT], row->n - p->block);
    if (strcmp(i, "0"))
        access_add(&access, i, row->strides[RESULT], p->block - PARTITIONS);
    if (strcmp(n, "0"))
        access_add(&access, n, column->strides[RESULT], column->n - MOVING);
    access.cols_most = MOVING;
    access.rows = high;
    access.row = row->strides[RESULT];
    access.cols[0] = columns;
    access.strides[0] = column->strides[RESULT] ? column->strides[RESULT] : 1;
    access.col_count = 1;
    write_line(w, "nisa.dma_copy(dst=%s, src=done)", write_access(w, &access));
    w->indent = indent;
}

static void open_loops(struct product *p) {
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

/* Blocks of rows that divide them evenly and leave room: the best guess first. */
static int64_t choose_block(struct product *p, int64_t most) {
    int64_t rows = p->main[ROW].n, values[WRITE_MAX_VALUES], count = 0;
    for (int64_t block = most; block >= PARTITIONS && count < WRITE_MAX_VALUES; block -= PARTITIONS)
        if (block >= rows || rows % block == 0 || block == PARTITIONS)
            values[count++] = MIN_OF(block, rows);
    int node = (int)(p->node - p->writer->graph->nodes);
    return write_choose(p->writer, node, "block_rows", "rows of the left array in a block", values,
                        (int)count);
}

/* What stays in SBUF, and how many rows a block has. */
static void decide(struct product *p) {
    const struct side *sum = &p->main[SUMMED], *column = &p->main[COLUMN];
    int width = strcmp(p->dtype, "float32") == 0 ? 4 : 2;
    double tiles = (double)((sum->n + PARTITIONS - 1) / PARTITIONS);
    double room = p->writer->spec->sbuf_bytes;
    for (enum which i = LEFT; i <= RIGHT; i++) {
        const struct side *own = &p->main[i == LEFT ? ROW : COLUMN];
        p->turns[i] = sum->strides[i] == 1 && own->strides[i] != 1 && own->n > 1;
    }
    p->stays = tiles * (double)column->n * width <= room * STAYS;
    p->block = p->turns[RIGHT] && !p->stays ? 2 * PARTITIONS : 4 * PARTITIONS;
    while (p->block > PARTITIONS && tiles * (double)p->block * width > room * STAYS)
        p->block -= PARTITIONS;
    p->block = choose_block(p, p->block);
}

static bool has_extra_sums(const struct product *p) {
    for (int s = 0; s < p->count; s++)
        if (p->sides[s].class == SUMMED)
            return true;
    return false;
}

static void emit(struct product *p) {
    struct writer *w = p->writer;
    int indent = w->indent;
    write_blank(w);
    write_line(w, "# A matrix product (line %d of the reference).", p->node->line);
    open_loops(p);
    struct target right = {RIGHT, &p->main[COLUMN], "right", "0",
                           arena_printf(w->arena, "%lld", (long long)p->main[COLUMN].n)};
    if (p->stays)
        load(p, &right);
    /* Rows that do not fill the last block make it smaller than a partition tile. */
    const char *rows = open_tiles(w, "m", "height", p->main[ROW].n, p->block);
    const char *m = p->main[ROW].n > p->block ? "m" : "0";
    load(p, &(struct target){LEFT, &p->main[ROW], "left", m, rows});
    const char *columns = open_tiles(w, "n", "width", p->main[COLUMN].n, MOVING);
    const char *n = p->main[COLUMN].n > MOVING ? "n" : "0";
    multiply(p, rows, n, columns);
    store(p, m, rows, n, columns);
    w->indent = indent;
}

bool product_emit(struct writer *writer, int index, const struct view *to) {
    const struct graph_node *node = &writer->graph->nodes[index];
    struct product p = {.writer = writer, .node = node};
    if (node->in_count != 2) {
        write_gap(writer, node, "a product of more than two arrays");
        return false;
    }
    for (enum which i = LEFT; i <= RIGHT; i++)
        if (!write_view(writer, node->in[i], &p.views[i]))
            return false;
    p.views[RESULT] = *to;
    const char *types[2];
    for (int i = 0; i < 2; i++)
        types[i] = writer->buffers.at[p.views[i].buffer].dtype;
    bool narrow = strcmp(types[0], types[1]) == 0 &&
                  (!strcmp(types[0], "bfloat16") || !strcmp(types[0], "float16"));
    p.dtype = narrow ? types[0] : "float32";
    if (!add_labels(&p)) {
        write_gap(writer, node, "its arrays do not divide into tiles");
        return false;
    }
    merge(&p);
    choose(&p);
    decide(&p);
    if (has_extra_sums(&p)) {
        write_gap(writer, node, "a sum over dimensions that do not lie side by side");
        return false;
    }
    emit(&p);
    return true;
}
