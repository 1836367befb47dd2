/* SPDX-License-Identifier: Apache-2.0 */
/* Private to this folder: a product of two arrays while it is written. The rows of the left one lie
 * in the columns of the stationary operand, both have what is summed over on the partitions, and
 * PSUM adds up. */
#ifndef HONE_WRITE_PRODUCT_H
#define HONE_WRITE_PRODUCT_H

#include "write/private.h"

#define PRODUCT_MAX_SIDES 24
#define PRODUCT_SHORT \
    256 /* summed elements up to which bringing sums out takes longer than multiplying */
#define PRODUCT_MOVING \
    512 /* columns of the moving operand; a PSUM bank holds so many sums of fp32 */

enum which { LEFT, RIGHT, RESULT, ARRAYS };
enum class { BATCH, ROW, COLUMN, SUMMED, CLASSES };
/* A part of the product's domain along which each array has one stride. */
struct product_side {
    enum class class;
    int label;
    int64_t n, strides[ARRAYS];
};
/* Tiles along a side: where one begins, which is a variable or "0", and how long it is. */
struct span {
    const char *at, *size;
    int64_t most, width; /* the largest of both */
};
struct product {
    struct writer *writer;
    const struct graph_node *node;
    struct view views[ARRAYS];
    struct product_side sides[PRODUCT_MAX_SIDES]; /* the ones that are loops */
    int count;
    struct product_side main[CLASSES]; /* the ones that become tiles */
    struct term loops[PRODUCT_MAX_SIDES][ARRAYS];
    int loop_count;
    const char *dtype;
    bool turns[2];    /* the array lies with its summed elements side by side */
    bool halves;      /* each product is made of bf16 products of high and low halves */
    int64_t packed;   /* partitions of one half where halves lie above each other; 0: they do not */
    bool narrow;      /* operands of fp32 are rounded to bf16 */
    bool stays;       /* all of the right array is loaded first */
    int64_t block;    /* rows that are multiplied while a part of the right array is there */
    struct span rows; /* of the left array that are in SBUF, where tiles are made one by one */
    int64_t tiled_rows;  /* that the stage which uses the tiles goes over in one loop */
    bool left_early;     /* rows are turned over a tile before they are multiplied */
    bool left_stays;     /* all of the left array is loaded before the loop over its rows */
    int64_t banks;       /* of PSUM that a part of a tile takes */
    const char *within;  /* index of the sums where products belong; NULL: they are all */
    const char *extreme; /* "maximum" or "minimum", which rows of the tiles are wanted; or NULL */
    const char *extreme_to; /* where those of the columns that leave PSUM belong */
    bool ahead;             /* a tile is made while the one before is worked on */
    struct fast *fast;      /* of tiles that are made by Strassen's scheme; or NULL */
    struct chain *chain;    /* of tiles whose left operand another product makes; or NULL */
    bool is_read;           /* nothing keeps results: what takes them reads PSUM */
    bool over;              /* the right operand is the stationary one: sums are turned over */
    const char *name;       /* what its tiles are called by: names of several products differ */
};
/* product.c: finds what the product goes along; `to` is where its result lies. False, with a gap
 * told, where it cannot be written. */
bool product_open(struct product *p, struct writer *writer, int node, const struct view *to);
struct access product_access(const struct product *p, enum which which);
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
/* Opens a loop over tiles of a side. */
struct span product_tiles(struct writer *w, const char *variable, const char *size, int64_t n,
                          int64_t tile);
/* "n:n + width" */
const char *product_slice(const struct writer *w, const struct span *span);
/* "n // 128": the number of a tile */
const char *product_tile_of(const struct writer *w, const struct span *span);
/* Turns over a tile `raw` of rows of an operand, which are those of the span in `name`. */
void product_turn(struct product *p, enum which which, const char *name, const char *raw,
                  const struct span *rows);
void product_declare(const struct product *p, const char *name, const char *shape,
                     const char *dtype, const char *memory);

/* product_split.c: how the schedule wants products of fp32. */
void product_choose_numbers(struct product *p);
/* Numbers on their way into an operand's tile, from fp32 in SBUF or PSUM. Indices are of what lies
 * behind the partitions: ", 0:512]"; NULL: all of a tile. */
struct product_piece {
    enum which which;
    const char *name, *index, *from, *from_index;
    const char *depth; /* partitions of both */
    bool in_psum;
};
void product_take(struct product *p, const struct product_piece *piece);
/* A bound of the relative L2 error when so many levels of the product are Strassen's: MARGIN times
 * what is expected of it and of the products before, together; and what the task allows. */
double product_error(const struct product *p, int levels, double *allowed);
/* So many levels were chosen: counts for the products that come. */
void product_note_error(const struct product *p, int levels);
/* The dtype of an operand's tiles, or of its halves. */
const char *product_dtype(const struct product *p);
void product_declare_operand(struct product *p, enum which which, const char *name,
                             const char *shape);
/* Whether an operand has its low halves in a tile of their own. */
bool product_has_low(const struct product *p, enum which which);
/* Partitions of an operand's tile for a span of summed elements. */
const char *product_depth(const struct product *p, const struct span *k);
/* Opens a loop over the copies of a piece on the partitions, and returns where one belongs:
 * "h:h + 64". What no copy fills of `raw` is 0. */
const char *product_open_copies(struct product *p, const char *raw);
/* The lines that multiply; operands have their index behind their name. */
void product_multiply_tiles(struct product *p, const char *sums, const char *left_part,
                            const char *right_part);

/* product_emit.c: bytes of a partition that a span of an operand takes. */
double product_bytes(const struct product *p, double elements);
/* Lines that copy sums out of PSUM by the engine that the schedule says, of which `first` is the
 * best guess; `turn` counts the tiles, NULL: there is one. */
void product_evacuate(struct product *p, int64_t first, const char *to, const char *from,
                      const char *turn);
/* Opens loops over the sides that are not tiles. */
void product_open_loops(struct product *p);
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
/* chain_emit.c: lines that multiply a tile of the other product: as it is, or turned over. */
void chain_multiply(struct product *p, const char *sums, const struct span *rows,
                    const struct span *columns);

/* chain_emit.c: the product's left operand is made in SBUF of another product's results; of `room`
 * bytes a partition may be taken. In the loop over rows from `at` on a block of results is made;
 * tiles come from PSUM, and so do sums of the operand's rows. */
void chain_enter(struct product *p, double room);
void chain_begin(struct product *p, const struct span *rows);
const char *chain_place(const struct product *p, bool sum);
int chain_sum(const struct chain *chain);

/* product_fast.c: the product with fewer multiplications, where the schedule says so and its error
 * allows it. False: it does not. */
bool product_emit_fast(struct product *p);
/* The same for a product whose tiles a stage of rows uses, of which `room` bytes of a partition may
 * be taken. In its loop over rows from `at` on the next ones are multiplied; tiles come from where
 * a row and a column begin. */
bool product_enter_fast(struct product *p, double room);
void product_begin_fast(struct product *p, const char *at);
void product_fill_fast(const struct product *p, const struct access *access, const char *row,
                       const char *column, const char *tile);

#endif
