/* SPDX-License-Identifier: Apache-2.0 */
/* Private to this folder: an address as digits, one for each step that occurs. A piece is a range
 * of each digit, and so is what is read, or it is cut until it is. */
#ifndef HONE_LIFT_DIGITS_H
#define HONE_LIFT_DIGITS_H

#include "lift/private.h"

#define MAX_DIGITS 24

struct radix {
    int count;
    int64_t step[MAX_DIGITS]; /* descending; each divides the one before */
    bool is_own[MAX_DIGITS];  /* a dimension of the piece has it */
    bool is_full;             /* there are more steps */
};
/* A range of each digit: low + sum(by[v] * v). */
struct digits {
    int64_t low[MAX_DIGITS], by[MAX_DIGITS][LIFT_DIMS];
};

void radix_put(struct radix *radix, int64_t step, bool is_own);
/* Whether the steps are a chain of which each divides the one before; takes out of it those of no
 * piece that do not. */
bool radix_fits(struct radix *radix);
/* The digits of an address. */
void radix_divide(const struct radix *radix, int64_t address, int64_t *digits);
/* The steps of a storage and of a piece of it. False where they are no chain. */
bool radix_of(const struct nki_storage *storage, const struct piece *piece, struct radix *radix);
/* The digits of a piece: from low[j] on, size[j] of them. False where no steps tell it so. */
bool radix_divide_piece(struct radix *radix, const struct piece *piece, int64_t *low,
                        int64_t *size);
bool radix_divide_region(const struct region *region, const struct radix *radix,
                         struct digits *digits);

/* How a region lies to a box of digits; CUT: in part, with how it has to be divided. */
enum relation { APART, WITHIN, CUT };
enum relation radix_relate(const struct region *region, const struct radix *radix,
                           const int64_t *low, const int64_t *size, struct cut *cut);
enum relation cut_impossible(struct cut *cut);

#endif
