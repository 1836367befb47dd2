/* SPDX-License-Identifier: Apache-2.0 */
/* What is decided of a product by Strassen's scheme, and what it means for its error. */
#include "write/strassen/private.h"

#include <stdio.h>

#define LARGEST 2048 /* rows of the result that stay, as the best guess */
#define DEEPEST 5    /* tiles that are summed over in PSUM, as the best guess */
#define NARROWEST 64 /* columns of a product that the Tensor engine takes at its full rate */

static int64_t choose_one(const struct fast *f, const char *name, const char *title,
                          const int64_t *values, int count) {
    struct product *p = f->p;
    return write_choose(p->writer, (int)(p->node - p->writer->graph->nodes), name, title, values,
                        count);
}

/* Columns of a sum in PSUM that divide a block's evenly, and into whole tiles where those are
 * turned; 0: there are none that are worth it. */
static int64_t find_width(const struct product *p, int64_t columns) {
    for (int64_t width = MIN_OF(columns, PRODUCT_MOVING); width >= NARROWEST; width--)
        if (columns % width == 0 && !(p->turns[RIGHT] && width % PARTITIONS))
            return width;
    return 0;
}

/* Rows that lie nowhere are made once, a tile with all that is summed over. */
static bool can_be_made(const struct product *p, enum which which) {
    return !product_is_made(p, which) || (p->turns[which] && !p->loop_count);
}

/* Elements of a partition for sums on their way: two tiles, while others are worked on. Of blocks
 * that stay all are there, too. */
static double raw_elements(const struct fast *f, enum which which) {
    double sum = (double)(strassen_depth(f) * strassen_block(f, which));
    double all = (double)(f->depth / PARTITIONS * strassen_part(f, which));
    if (f->early && which == LEFT)
        all *= 2;
    if (f->once[which]) /* rows that are made are counted with what makes them */
        return all + 2 * (sum + (product_is_made(f->p, which) ? 0 : (double)f->depth));
    return 4.0 * (double)(f->p->turns[which] ? f->depth >> f->levels
                                             : strassen_chunk(f, which) * strassen_block(f, which));
}

/* Whether the result's part and two of each operand's sums leave room for each other. Each product
 * makes a tile of rows at most. */
static bool fits(const struct fast *f) {
    if (f->early && f->rows / PARTITIONS > strassen_products(f))
        return false;
    double done = (double)(f->rows / PARTITIONS) * (double)f->columns;
    double sums = 2.0 * (double)strassen_depth(f) *
                  (double)(strassen_block(f, LEFT) + strassen_block(f, RIGHT));
    return 4 * (done * (f->stays ? 2 : 1) + sums + raw_elements(f, LEFT) +
                raw_elements(f, RIGHT)) <=
           f->room;
}

/* Puts the largest value that is not above `largest` first, as the best guess. */
static void prefer(int64_t *values, int count, int64_t largest) {
    for (int i = 0; i < count; i++)
        if (values[i] <= largest) {
            int64_t best = values[i];
            memmove(&values[1], values, (size_t)i * sizeof *values);
            values[0] = best;
            return;
        }
}

/* Parts of a side of `n` in multiples of `unit` that divide it and fit; returns how many. */
static int list_parts(struct fast *f, int64_t *part, int64_t n, int64_t unit, int64_t *values) {
    int count = 0;
    for (int64_t size = n; size >= unit && count < WRITE_MAX_VALUES; size -= unit) {
        *part = size;
        if (n % size == 0 && fits(f))
            values[count++] = size;
    }
    return count;
}

/* Longer sums leave PSUM less often, shorter ones leave room for more of the result. */
static void choose_depth(struct fast *f) {
    int64_t values[WRITE_MAX_VALUES], unit = f->depth;
    int count = list_parts(f, &f->depth, f->p->main[SUMMED].n, unit, values);
    prefer(values, count, DEEPEST * unit);
    f->depth = choose_one(f, "fast_depth", "summed over until results are added to", values, count);
    f->part.main[SUMMED].n = f->depth >> f->levels;
}

static void choose_part(struct fast *f) {
    const struct product *p = f->p;
    int64_t values[WRITE_MAX_VALUES], narrow = f->width << f->levels;
    f->columns = f->stays ? p->main[COLUMN].n : narrow;
    int count = list_parts(f, &f->rows, p->main[ROW].n, PARTITIONS << f->levels, values);
    prefer(values, count, LARGEST);
    f->rows = choose_one(f, "fast_rows", "rows of the result that stay until they are done", values,
                         count);
    if (f->stays)
        return;
    count = list_parts(f, &f->columns, p->main[COLUMN].n, narrow, values);
    f->columns = choose_one(f, "fast_columns",
                            "columns of the result that stay until they are done", values, count);
}

/* Each block of an operand is in several sums: where its rows are turned over, each of them would
 * be brought and turned for every sum. */
static void choose_once(struct fast *f) {
    static const char *const keys[] = {[LEFT] = "left_once", [RIGHT] = "right_once"};
    for (enum which i = LEFT; i <= RIGHT; i++) {
        if (product_is_made(f->p, i))
            continue;
        f->once[i] = f->p->turns[i];
        const int64_t values[] = {fits(f), 0};
        f->once[i] = f->p->turns[i] &&
                     choose_one(f, keys[i],
                                "blocks that are turned over: once, and stay in SBUF for the sums "
                                "that they are in (1), for each of those sums (0)",
                                values, 2);
    }
}

/* In a stage of rows: results of the part that comes next, beside those of the part before. */
static void choose_stays(struct fast *f) {
    int64_t columns = f->columns;
    f->columns = f->p->main[COLUMN].n;
    f->stays = f->rows_last;
    const int64_t values[] = {fits(f), 0};
    f->stays = f->rows_last &&
               choose_one(f, "results_stay",
                          "results of the part of the rows that is next: stay in SBUF (1), go "
                          "through HBM (0)",
                          values, 2);
    f->columns = f->stays ? f->columns : columns;
}

static void choose_early(struct fast *f) {
    f->early = f->stays && product_is_made(f->p, LEFT);
    const int64_t values[] = {fits(f), 0};
    f->early =
        f->early && choose_one(f, "made_early",
                               "rows that are made for the next products: a tile while each of the "
                               "products before is multiplied (1), all before the first (0)",
                               values, 2);
}

static void choose_engines(struct fast *f) {
    static const int64_t values[] = {2, 3, 1};
    int64_t by = choose_one(f, "summed_by",
                            "sums of operands' blocks: by GpSimd (2), of the left one by GpSimd "
                            "and of the right one by Vector (3), by Vector (1)",
                            values, COUNT_OF(values));
    f->by_gpsimd[LEFT] = by != 1;
    f->by_gpsimd[RIGHT] = by == 2;
}

static struct fast at_levels(struct product *p, int levels, double room) {
    struct fast f = {.p = p, .part = *p, .levels = levels, .room = room};
    f.depth = (int64_t)PARTITIONS << levels;
    for (enum which i = LEFT; i <= RIGHT; i++) {
        f.once[i] = product_is_made(p, i);
        f.depth = f.once[i] ? p->main[SUMMED].n : f.depth;
    }
    f.part.main[SUMMED].n = f.depth >> levels;
    f.width = find_width(p, p->main[COLUMN].n >> levels);
    f.rows = (int64_t)PARTITIONS << levels;
    f.columns = f.width << levels;
    return f;
}

/* Sides that divide into blocks of whole tiles, memory for the smallest part, and an error that is
 * allowed. */
static bool is_legal(struct product *p, int levels, double room) {
    int64_t unit = (int64_t)PARTITIONS << levels;
    bool exact = strcmp(p->dtype, "float32") == 0 && strcmp(p->node->dtype, "float32") == 0 &&
                 !product_copy(p);
    if (!can_be_made(p, LEFT) || !can_be_made(p, RIGHT) || !exact || p->main[ROW].n % unit ||
        p->main[SUMMED].n % unit || p->main[COLUMN].n % (1 << levels))
        return false;
    double allowed;
    struct fast f = at_levels(p, levels, room);
    return f.width && product_error(p, levels, &allowed) <= allowed && fits(&f);
}

static int choose_levels(struct product *p, double room) {
    int64_t values[FAST_MAX_LEVELS + 1] = {0};
    int count = 1;
    for (int levels = 1; levels <= FAST_MAX_LEVELS; levels++)
        if (is_legal(p, levels, room))
            values[count++] = levels;
    const struct fast f = {.p = p};
    int levels = count == 1
                     ? 0
                     : (int)choose_one(&f, "strassen",
                                       "blocks are multiplied: each with each (0), by Strassen in "
                                       "7 products for 8 (1), twice so in 49 for 64 (2)",
                                       values, count);
    product_note_error(p, levels);
    return levels;
}

/* Says what it is, and how exact: in the kernel, and for those who look at the schedule. */
static void tell(struct product *p, int levels) {
    struct writer *w = p->writer;
    double allowed, error = product_error(p, levels, &allowed);
    const char *dtype = strcmp(product_dtype(p), p->dtype)
                            ? "sums in fp32 before bf16 products"
                            : "fp32 throughout, sums before products";
    const char *note =
        arena_printf(w->arena, "%s: error bound %.1e of %.1e allowed", dtype, error, allowed);
    write_note(w, (int)(p->node - w->graph->nodes), "strassen", note);
    write_blank(w);
    write_line(w, "# A matrix product (line %d of the reference) by Strassen: %s.", p->node->line,
               levels == 1 ? "7 products for 8" : "49 products for 64");
    write_line(w, "# Its numbers: %s.", note);
}

bool strassen_open(struct product *p, double room, bool rows_last, struct fast *f) {
    int levels = choose_levels(p, room);
    if (!levels)
        return false;
    *f = at_levels(p, levels, room);
    f->rows_last = rows_last;
    choose_once(f);
    choose_stays(f);
    choose_early(f);
    choose_depth(f);
    choose_part(f);
    choose_engines(f);
    tell(p, levels);
    return true;
}
