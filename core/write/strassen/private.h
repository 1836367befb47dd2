/* SPDX-License-Identifier: Apache-2.0 */
/* Private to this folder: a product by Strassen's scheme while it is written. */
#ifndef HONE_WRITE_STRASSEN_PRIVATE_H
#define HONE_WRITE_STRASSEN_PRIVATE_H

#include "write/fast/fast.h"
#include "write/strassen/strassen.h"

struct fast {
    struct product *p;
    struct product part; /* what one of the products is: its own sum is over fewer */
    int levels;
    int64_t rows, columns; /* of the result that stay in SBUF */
    int64_t depth;         /* of what is summed over until products are added to the result */
    int64_t width;         /* columns of a sum in PSUM */
    bool by_gpsimd[2];     /* sums of an operand's blocks */
    bool once[2];          /* an operand's blocks are turned once and stay, sums are of those */
    double room;           /* bytes of a partition that it may take */
    bool rows_last;        /* all columns of a part of the rows come one after the other */
    bool stays;            /* those of one part stay in SBUF until the stage has used them */
    bool early;            /* rows of the left operand, which lie nowhere, are made for the next
                            * part: a tile with each product of this one */
    const char *early_raw; /* the tile that was made last, not turned yet */
};

/* sizes.c: a name as this product has it: "done", in a stage that makes several "done_4". */
const char *strassen_named(const struct fast *f, const char *what);
/* An operand that is multiplied now, and the one that is made while that is done. */
const char *strassen_now(const struct fast *f, enum which which);
const char *strassen_next(const struct fast *f, enum which which);
const char *strassen_number(const struct fast *f, int64_t value);
int64_t strassen_products(const struct fast *f);
/* Elements of an operand's side: in a block, and in the part of the result that stays. */
int64_t strassen_block(const struct fast *f, enum which which);
int64_t strassen_part(const struct fast *f, enum which which);
/* Tiles of what is summed over: in one product, and whose blocks are summed at once. */
int64_t strassen_depth(const struct fast *f);
int64_t strassen_chunk(const struct fast *f, enum which which);
/* How often results are added to, until all is summed over. */
int64_t strassen_passes(const struct fast *f);
/* How many parts of the result have the same sums of an operand. */
int64_t strassen_uses(const struct fast *f, enum which which);
/* Steps of all products; those of a part of the rows, in a stage of rows. */
int64_t strassen_steps(const struct fast *f);
int64_t strassen_part_steps(const struct fast *f);
/* Of an operand's sum of blocks. */
const char *strassen_shape(const struct fast *f, enum which which);

/* decide.c: takes Strassen's scheme where the schedule says so: decides the rest, and says what it
 * is. */
bool strassen_open(struct product *p, double room, bool rows_last, struct fast *f);

/* blocks.c: the tables of blocks, as lines of the kernel. */
void strassen_tables(struct fast *f);
/* Opens a loop over the blocks of a product: s, and t within it. */
void strassen_open_blocks(struct fast *f, const char *table);
/* Where a block lies along an axis, in blocks; a sign or a flag of it. */
const char *strassen_place(const struct fast *f, int axis);
const char *strassen_mark(const struct fast *f, int at);
/* Branches for both signs, of which the first begins with "if" or "elif". */
void strassen_add(struct fast *f, const char *word, const char *to, const char *from,
                  const char *more, const char *engine);

/* sums.c: lines that sum an operand's blocks of one of the products: blocks as they lie in HBM, or
 * turned ones that stay in SBUF (whole.c). */
void strassen_sum(struct fast *f, enum which which, const struct span *own);
void strassen_sum_whole(struct fast *f, enum which which, const struct span *own);
const char *strassen_engine(const struct fast *f, enum which which);
/* whole.c: memory for all blocks of an operand's part, a tile of rows that is made, from a sum of
 * variables on (NULL: it cannot be), and such a tile turned over. */
void strassen_declare_whole(struct fast *f, enum which which, const char *name);
const char *strassen_make_rows(struct fast *f, enum which which, const struct span *own,
                               const struct span *rows);
void strassen_turn_rows(struct fast *f, enum which which, const char *name, const char *raw,
                        const struct span *rows);
/* The name of such memory. */
const char *strassen_whole(const struct fast *f, enum which which);

/* early.c: the rows of the first part; with a product the blocks of its part, and a tile of rows
 * for the next part; and that tile turned, behind the products that the Tensor engine has by then.
 */
void strassen_make_first(struct fast *f);
void strassen_make_early(struct fast *f, const struct span *own);
void strassen_turn_early(struct fast *f);

/* operands.c: memory for sums that are wanted again. */
void strassen_declare_kept(struct fast *f);
/* An operand of one of the products; `other` is the part of the other operand. */
void strassen_bring(struct fast *f, enum which which, const struct span *own,
                    const struct span *other);

/* multiply.c: a step of the loop over products: the operands of each are made before the product
 * before it is multiplied, as engines take their instructions in order. */
void strassen_step(struct fast *f);
void strassen_declare_done(struct fast *f);

#endif
