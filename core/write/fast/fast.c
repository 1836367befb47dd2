/* SPDX-License-Identifier: Apache-2.0 */
/* Strassen's seven products as a table, and the error that follows from it. */
#include "write/fast/fast.h"

#include <math.h>

#define UNIT 0x1p-24   /* roundoff of fp32 */
#define EVEN (1.0 / 3) /* mean square of what is spread evenly, of its largest square */

/* clang-format off */
static const struct fast_product products[FAST_PRODUCTS] = {
    {{{{0, 1, 1}, {1, 1, -1}}, {{1, 0, 1}, {1, 1, 1}},  {{0, 0, 1}}},             {2, 2, 1}},
    {{{{0, 0, 1}, {0, 1, 1}},  {{1, 1, 1}},             {{0, 0, -1}, {0, 1, 1}}}, {2, 1, 2}},
    {{{{1, 1, 1}},             {{1, 0, 1}, {0, 0, -1}}, {{0, 0, 1}, {1, 0, 1}}},  {1, 2, 2}},
    {{{{0, 0, 1}, {1, 1, 1}},  {{0, 0, 1}, {1, 1, 1}},  {{0, 0, 1}, {1, 1, 1}}},  {2, 2, 2}},
    {{{{1, 0, 1}, {0, 0, -1}}, {{0, 0, 1}, {0, 1, 1}},  {{1, 1, 1}}},             {2, 2, 1}},
    {{{{1, 0, 1}, {1, 1, 1}},  {{0, 0, 1}},             {{1, 0, 1}, {1, 1, -1}}}, {2, 1, 2}},
    {{{{0, 0, 1}},             {{0, 1, 1}, {1, 1, -1}}, {{0, 1, 1}, {1, 1, 1}}},  {1, 2, 2}},
};
/* clang-format on */

const struct fast_product *fast_products(void) {
    return products;
}

static bool adds_to(const struct fast_product *product, const struct fast_term *block) {
    for (int i = 0; i < product->counts[FAST_RESULT]; i++)
        if (product->terms[FAST_RESULT][i].row == block->row &&
            product->terms[FAST_RESULT][i].column == block->column)
            return true;
    return false;
}

bool fast_is_first(int product, const struct fast_term *term) {
    for (int i = 0; i < product; i++)
        if (adds_to(&products[i], term))
            return false;
    return true;
}

bool fast_is_last(int product, const struct fast_term *term) {
    for (int i = product + 1; i < FAST_PRODUCTS; i++)
        if (adds_to(&products[i], term))
            return false;
    return true;
}

double fast_sum_error(int64_t count) {
    /* Partial sums grow evenly, so their mean square is half of the last one's. */
    return UNIT * sqrt(EVEN * ((double)count / 2 + 1));
}

/* Mean squares of all four blocks of the result against that of the eight block products that they
 * are the sums of: what the error of each product becomes, and what rounding adds to it. */
static double grow(double square) {
    double sum = 0;
    for (int row = 0; row < 2; row++)
        for (int column = 0; column < 2; column++) {
            const struct fast_term block = {row, column, 1};
            double partial = 0;
            for (int i = 0; i < FAST_PRODUCTS; i++) {
                const int *counts = products[i].counts;
                if (!adds_to(&products[i], &block))
                    continue;
                double size = (double)counts[FAST_LEFT] * counts[FAST_RIGHT];
                int rounded = (counts[FAST_LEFT] > 1) + (counts[FAST_RIGHT] > 1);
                sum += size * (square + rounded * EVEN * UNIT * UNIT);
                partial += size;
                sum += fast_is_first(i, &block) ? 0 : partial * EVEN * UNIT * UNIT;
            }
        }
    return sum / 8;
}

double fast_error(double error, int levels) {
    double square = error * error;
    for (int i = 0; i < levels; i++)
        square = grow(square);
    return sqrt(square);
}
