/* SPDX-License-Identifier: Apache-2.0 */
/* A tile as text: what its numbers are like, its corners, and a map of their size. */
#include "diagnose/private.h"

#include <math.h>
#include <stdlib.h>

#define TABLE_ROWS 4 /* of each end */
#define TABLE_COLUMNS 4
#define MAP_ROWS 8
#define MAP_COLUMNS 64

struct facts {
    size_t count, nans, infinities, zeros;
    double low, high, sum, squares; /* of the finite ones */
};

static struct facts facts_of(const struct diagnose_tile *tile) {
    struct facts facts = {.count = tile->rows * tile->columns, .low = INFINITY, .high = -INFINITY};
    for (size_t i = 0; i < facts.count; i++) {
        double x = tile->at[i];
        facts.nans += isnan(x);
        facts.infinities += isinf(x);
        facts.zeros += x == 0;
        if (!isfinite(x))
            continue;
        facts.low = fmin(facts.low, x);
        facts.high = fmax(facts.high, x);
        facts.sum += x;
        facts.squares += x * x;
    }
    return facts;
}

static void print_share(struct buf *out, const char *what, size_t count, size_t of) {
    if (count == of)
        buf_printf(out, "  %s all", what);
    else if (count)
        buf_printf(out, "  %s %zu (%.3g %%)", what, count, 100.0 * (double)count / (double)of);
}

static void print_facts(const struct facts *facts, struct buf *out) {
    size_t finite = facts->count - facts->nans - facts->infinities;
    if (finite) {
        double mean = facts->sum / (double)finite;
        double spread = sqrt(fmax(facts->squares / (double)finite - mean * mean, 0));
        buf_printf(out, "    min %.6g  max %.6g  mean %.6g  deviation %.3g", facts->low,
                   facts->high, mean, spread);
    } else {
        buf_puts(out, "    no finite number");
    }
    print_share(out, "NaN", facts->nans, facts->count);
    print_share(out, "infinite", facts->infinities, facts->count);
    print_share(out, "zero", facts->zeros, facts->count);
    buf_putc(out, '\n');
}

/* The indices shown of n: some of each end. */
static size_t shown_of(size_t n, size_t ends, size_t *list) {
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        if (i < ends || i + ends >= n)
            list[count++] = i;
    return count;
}

static void print_table(const struct diagnose_tile *tile, struct buf *out) {
    size_t rows[2 * TABLE_ROWS], columns[2 * TABLE_COLUMNS];
    size_t n_rows = shown_of(tile->rows, TABLE_ROWS, rows);
    size_t n_columns = shown_of(tile->columns, TABLE_COLUMNS, columns);
    buf_puts(out, "          ");
    for (size_t c = 0; c < n_columns; c++)
        buf_printf(out, "%s%10zu", c && columns[c] != columns[c - 1] + 1 ? "  …" : "", columns[c]);
    buf_putc(out, '\n');
    for (size_t r = 0; r < n_rows; r++) {
        if (r && rows[r] != rows[r - 1] + 1)
            buf_puts(out, "         …\n");
        buf_printf(out, "%10zu", rows[r]);
        for (size_t c = 0; c < n_columns; c++)
            buf_printf(out, "%s%10.4g", c && columns[c] != columns[c - 1] + 1 ? "  …" : "",
                       (double)tile->at[rows[r] * tile->columns + columns[c]]);
        buf_putc(out, '\n');
    }
}

/* The mean magnitude of a part; NaN where it has one, else infinite where it has such. */
static double size_of(const struct diagnose_tile *tile, const size_t rows[2],
                      const size_t columns[2]) {
    double sum = 0;
    for (size_t r = rows[0]; r < rows[1]; r++)
        for (size_t c = columns[0]; c < columns[1]; c++) {
            double x = fabs((double)tile->at[r * tile->columns + c]);
            if (isnan(x))
                return NAN;
            sum += x;
        }
    return sum / (double)((rows[1] - rows[0]) * (columns[1] - columns[0]));
}

static char mark_of(double size, double most) {
    static const char marks[] = ".:-=+*#%@";
    if (isnan(size))
        return '!';
    if (isinf(size))
        return '^';
    if (size == 0)
        return ' ';
    return marks[MIN_OF((size_t)(size / most * (sizeof marks - 1)), sizeof marks - 2)];
}

/* Each character is the size of a part of the tile. */
static void print_map(const struct diagnose_tile *tile, struct buf *out) {
    size_t rows = MIN_OF(tile->rows, (size_t)MAP_ROWS);
    size_t columns = MIN_OF(tile->columns, (size_t)MAP_COLUMNS);
    double sizes[MAP_ROWS][MAP_COLUMNS], most = 0;
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < columns; c++) {
            const size_t of_row[2] = {r * tile->rows / rows, (r + 1) * tile->rows / rows};
            const size_t of_column[2] = {c * tile->columns / columns,
                                         (c + 1) * tile->columns / columns};
            sizes[r][c] = size_of(tile, of_row, of_column);
            most = isfinite(sizes[r][c]) ? fmax(most, sizes[r][c]) : most;
        }
    buf_puts(out, "    mean size of parts: blank 0, . to @ up to the largest, ^ infinite, "
                  "! not a number\n");
    for (size_t r = 0; r < rows; r++) {
        buf_printf(out, "%10zu |", r * tile->rows / rows);
        for (size_t c = 0; c < columns; c++)
            buf_putc(out, mark_of(sizes[r][c], most));
        buf_puts(out, "|\n");
    }
}

void diagnose_tile_print(const struct diagnose_tile *tile, struct buf *out) {
    struct facts facts = facts_of(tile);
    if (!facts.count)
        return;
    print_facts(&facts, out);
    print_table(tile, out);
    if (facts.count >= 16)
        print_map(tile, out);
}
