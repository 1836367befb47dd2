/* SPDX-License-Identifier: Apache-2.0 */
/* Products of two by two blocks with seven multiplications instead of eight (Strassen, "Gaussian
 * elimination is not optimal", 1969): which blocks are summed, and what that does to the error.
 * Knows nothing of kernels. */
#ifndef HONE_WRITE_FAST_FAST_H
#define HONE_WRITE_FAST_FAST_H

#include "base/base.h"

#define FAST_PRODUCTS 7
#define FAST_MAX_LEVELS                                                      \
    2 /* more sums than products gain: each level wants blocks half as large \
       */

enum fast_array { FAST_LEFT, FAST_RIGHT, FAST_RESULT, FAST_ARRAYS };
/* A block of an array in a sum; `sign` is 1 or -1, and 1 for the first of a sum. */
struct fast_term {
    int row, column, sign;
};
/* A product: which blocks of the operands are summed, and to which of the result it is added. */
struct fast_product {
    struct fast_term terms[FAST_ARRAYS][2];
    int counts[FAST_ARRAYS];
};
/* All FAST_PRODUCTS, in an order in which every product begins at most one block of the result and
 * with a plus sign, so that blocks are done one after the other. */
const struct fast_product *fast_products(void);
/* Whether the product is the first, or the last, that is added to the block of its result's term.
 */
bool fast_is_first(int product, const struct fast_term *term);
bool fast_is_last(int product, const struct fast_term *term);

/* The relative L2 error of sums of `count` products, added up in fp32 one after the other: their
 * terms err independently, each sum by at most half a unit of its last place, and evenly. */
double fast_sum_error(int64_t count);
/* The relative L2 error of a product in `levels`, of that of the products it is made of. The blocks
 * of an array are taken to be alike in size and independent, so that errors add up as squares; sums
 * are in fp32. Each level about doubles the error: operands are sums of more blocks than the result
 * that is left when they cancel. */
double fast_error(double error, int levels);

#endif
