/* SPDX-License-Identifier: Apache-2.0 */
/* A product of two arrays while it is written. The rows of the left one lie in the columns of the
 * stationary operand, both have what is summed over on the partitions, and PSUM adds up. Here is
 * what every way to multiply needs: tiles, rows that are turned over, and numbers on their way into
 * an operand. */
#ifndef HONE_WRITE_PRODUCT_PRODUCT_H
#define HONE_WRITE_PRODUCT_PRODUCT_H

#include "write/kit/kit.h"

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
    int64_t beside;   /* partitions of one of the copies of short operands whose products run at
                       * once, each in rows of the array of its own; 0: there are none */
    bool narrow;      /* operands of fp32 are rounded to bf16 */
    bool stays;       /* all of the right array is loaded first */
    int64_t block;    /* rows that are multiplied while a part of the right array is there */
    struct span rows; /* of the left array that are in SBUF, where tiles are made one by one */
    int64_t tiled_rows;    /* that the stage which uses the tiles goes over in one loop */
    int64_t tiled_columns; /* and columns, outside of loops over other parts of them */
    bool left_early;       /* rows are turned over a tile before they are multiplied */
    bool left_stays;       /* all of the left array is loaded before the loop over its rows */
    int64_t banks;         /* of PSUM that a part of a tile takes */
    const char *within;    /* index of the sums where products belong; NULL: they are all */
    const char *extreme;   /* "maximum" or "minimum", which rows of the tiles are wanted; or NULL */
    const char *extreme_to; /* where those of the columns that leave PSUM belong */
    bool ahead;             /* a tile is made while the one before is worked on */
    struct fast *fast;      /* of tiles that are made by Strassen's scheme; or NULL */
    struct chain *chain;    /* of tiles whose left operand another product makes; or NULL */
    bool is_read;           /* nothing keeps results: what takes them reads PSUM */
    bool over;              /* the right operand is the stationary one: sums are turned over */
    const char *name;       /* what its tiles are called by: names of several products differ */
    /* Lines that make a tile of rows of an operand that lies nowhere, from a variable on, with all
     * that is summed over; the tile's name, or NULL where it cannot be made. */
    const char *(*make_rows)(struct product *p, enum which which, const struct span *rows);
};

/* tiles.c: where an array lies, in the loops that are open. */
struct access product_access(const struct product *p, enum which which);
/* Whether an operand lies nowhere: its rows are made where they are used. */
bool product_is_made(const struct product *p, enum which which);
/* Opens loops over the sides that are not tiles. */
void product_open_loops(struct product *p);
/* Opens a loop over tiles of a side. */
struct span product_tiles(struct writer *w, const char *variable, const char *size, int64_t n,
                          int64_t tile);
/* "n:n + width" */
const char *product_slice(const struct writer *w, const struct span *span);
/* "n // 128": the number of a tile */
const char *product_tile_of(const struct writer *w, const struct span *span);
void product_declare(const struct product *p, const char *name, const char *shape,
                     const char *dtype, const char *memory);

/* turn.c: rows of an operand, in SBUF, that are to be turned over. */
struct product_raw {
    enum which which;
    const char *name, *raw;
    const char *tile; /* of the raw rows, with a comma behind it; "": there is one */
    struct span rows; /* within the tile */
};
/* Columns of rows that will be turned, of which some may be there more than once. */
int64_t product_raw_columns(const struct product *p);
/* Lines that turn over all columns of raw rows, in groups as large as PSUM takes at once. */
void product_turn_rows(struct product *p, const struct product_raw *turn);
/* Turns over a tile `raw` of rows of an operand, which are those of the span in `name`. */
void product_turn(struct product *p, enum which which, const char *name, const char *raw,
                  const struct span *rows);

/* split.c: how the schedule wants products of fp32. */
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
/* Partitions of one of the copies of what is summed over, one above the other; 0: there are
 * none. */
static inline int64_t product_copy(const struct product *p) {
    return p->packed ? p->packed : p->beside;
}
/* Opens a loop over the copies of a piece on the partitions, and returns where one belongs:
 * "h:h + 64". What no copy fills of `raw` is 0. */
const char *product_open_copies(struct product *p, const char *raw);
/* The lines that multiply; operands have their index behind their name. `turn` counts products that
 * follow each other, "(n // 512)"; NULL: nothing does. */
void product_multiply_tiles(struct product *p, const char *sums, const char *left_part,
                            const char *right_part, const char *turn);

/* beside.c: whether short products are made several at once. */
void product_choose_beside(struct product *p);
/* The lines that make one such product, of operands with their index behind their name. */
void product_multiply_beside(struct product *p, const char *sums, const char *stationary,
                             const char *moving, const char *turn);

#endif
