/* SPDX-License-Identifier: Apache-2.0 */
/* A product by Strassen's scheme, once or twice: 7 products of sums of blocks instead of 8, 49
 * instead of 64. A part of the result stays in SBUF until all products of its blocks have been
 * added to it; sums of operands' blocks that are wanted again are kept in HBM. As a stage of its
 * own it goes over the result at once; in a stage of rows that uses it, the next part of the rows
 * is multiplied while the stage works on the one before, and stays in SBUF where both fit. Rows
 * that have to be turned over are turned once where they fit, too, and blocks of those are summed.
 */
#ifndef HONE_WRITE_STRASSEN_STRASSEN_H
#define HONE_WRITE_STRASSEN_STRASSEN_H

#include "write/product/product.h"

/* The product as a stage, where the schedule says so and its error allows it. False: it does not.
 */
bool strassen_emit(struct product *p);
/* The same for a product whose tiles a stage of rows uses, of which `room` bytes of a partition may
 * be taken. In its loop over rows from `at` on the next ones are multiplied; tiles come from where
 * a row and a column begin. */
bool strassen_enter(struct product *p, double room);
void strassen_begin(struct product *p, const char *at);
void strassen_fill(const struct product *p, const struct access *access, const char *row,
                   const char *column, const char *tile);

#endif
