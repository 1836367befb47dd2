/* SPDX-License-Identifier: Apache-2.0 */
/* Private to this folder: a product as a stage, in a stage of rows, and behind another product. */
#ifndef HONE_WRITE_PRODUCTS_H
#define HONE_WRITE_PRODUCTS_H

#include "write/private.h"
#include "write/product/product.h"

/* product.c: finds what the product goes along; `to` is where its result lies. False, with a gap
 * told, where it cannot be written. */
bool product_open(struct product *p, struct writer *writer, int node, const struct view *to);
/* A view for a result that lies nowhere: strides that tell which side of the product they belong
 * to. False where the product cannot be written. */
bool product_layout(struct writer *writer, int node, struct view *view);

/* product_load.c: the operand's tiles in SBUF, called `name`: summed elements on the partitions,
 * then their tiles, then the span of its other side. */
void product_load(struct product *p, enum which which, const char *name, const struct span *span);
/* A piece of an operand into a part of its tile, with a span of summed elements on the partitions;
 * `index` is of the dimensions behind those, ", 0:512]", NULL: the tile is the piece. */
void product_load_piece(struct product *p, enum which which, const char *name, const char *index,
                        const struct span *k, const struct span *span);
/* What a product's make_rows is. */
const char *product_make_rows(struct product *p, enum which which, const struct span *rows);
/* product_emit.c: bytes of a partition that a span of an operand takes. */
double product_bytes(const struct product *p, double elements);
/* Lines that copy sums out of PSUM by the engine that the schedule says, of which `first` is the
 * best guess; `turn` counts the tiles, NULL: there is one. */
void product_evacuate(struct product *p, int64_t first, const char *to, const char *from,
                      const char *turn);
/* Adds up PSUM tiles "sums" of up to 128 rows of the left tile each, for a span of columns. */
void product_multiply(struct product *p, const struct span *rows, const struct span *columns);

/* A loop around the product: `term` is a variable with the stride of the result that it steps over.
 * False where no side has it. */
bool product_add_loop(struct product *p, const struct term *term);

#define CHAIN_BANK 512 /* sums of fp32 that a bank of PSUM holds */

/* A product whose left operand is made in SBUF of another product's results. */
struct chain {
    int node, operand, scores; /* the product, its left operand, and the product behind that */
    int extreme, sum;          /* the largest of each row, sums of the operand's rows; -1: none */
    double scale;              /* of what the largest is of */
    bool is_free;              /* results do not depend on `extreme`: any number near it will do */
    struct product *first;     /* the product behind the operand */
    int64_t block, group;      /* rows whose sums are in PSUM, tiles that are made at once */
    int64_t width;             /* columns of the second product, with those of sums */
    bool left_stays;
    bool samples;     /* of some results the largest is found, not of all */
    int64_t lead;     /* steps that the operand is made before it is multiplied */
    const char *tile; /* number of the tile of rows in its block */
};

/* chain_shift.c: what is subtracted from each row of the other product's results: the schedule says
 * what, and lines find it, first for the first block. */
void chain_choose_shift(struct product *p);
bool chain_looks(const struct chain *chain);
void chain_enter_shift(struct product *p);
/* In a block: what the block before it left, for it; and memory for the one that begins at `after`
 * (NULL: there is none). */
void chain_begin_shift(struct product *p, const char *after);
/* In a step of the block, with the columns from "n" on: a look at a part of the block after it. */
void chain_step_shift(struct product *p, const char *after);
void chain_end_shift(struct product *p, const char *after);
/* chain_emit.c: lines that multiply a tile of the other product: as it is, or turned over; `turn`
 * as in product_multiply_tiles. */
void chain_multiply(struct product *p, const char *sums, const struct span *rows,
                    const struct span *columns, const char *turn);

/* chain_emit.c: the product's left operand is made in SBUF of another product's results; of `room`
 * bytes a partition may be taken. In the loop over rows from `at` on a block of results is made;
 * tiles come from PSUM, and so do sums of the operand's rows. */
void chain_enter(struct product *p, double room);
void chain_begin(struct product *p, const struct span *rows);
const char *chain_place(const struct product *p, bool sum);
int chain_sum(const struct chain *chain);

#endif
