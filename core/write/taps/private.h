/* SPDX-License-Identifier: Apache-2.0 */
/* Private to this folder: a convolution while it is written. */
#ifndef HONE_WRITE_TAPS_PRIVATE_H
#define HONE_WRITE_TAPS_PRIVATE_H

#include "write/product/product.h"
#include "write/taps/taps.h"

#define TAPS_MOST 64
#define TAPS_SIDES 24

/* What a part of the domain belongs to: all three arrays, the image and the result, the weights and
 * the result, or both operands. */
enum tap_class { TAP_BATCH, TAP_PIXEL, TAP_CHANNEL, TAP_SUMMED };
struct tap_side {
    enum tap_class class;
    int64_t n, image, weights, out; /* strides */
};
/* Taps lie in a grid: where one begins in the image, in rows and columns of it, and in the
 * weights. */
struct tap_grid {
    int64_t rows, columns;               /* of taps */
    int64_t row_step, column_step;       /* of the image between them */
    int64_t weights_row, weights_column; /* may be negative */
};
/* Rows or columns of pixels in a tile of the image: where the first one lies, which one it is, how
 * many there are, and how far apart. */
struct inner {
    int64_t at, from, n, step;
};
struct taps {
    struct writer *writer;
    const struct graph_node *node;
    int index;
    int image_side; /* which operand the image is */
    struct view image, weights, out;
    int64_t image_at[TAPS_MOST], weights_at[TAPS_MOST]; /* of each tap, ascending in the image */
    int count;
    struct tap_side sides[TAPS_SIDES]; /* the ones that are loops */
    int side_count;
    struct tap_side row, column, channel, summed;
    int64_t unit, pitch;  /* elements between pixels, pixels between rows of the image */
    int64_t first_column; /* of the first tap */
    struct tap_grid grid;
    bool pixels_first; /* channels of a pixel lie side by side in the image */
    bool over;         /* .. in the result: pixels are its rows on the partitions */
    bool turns;        /* weights are turned over on chip */
    bool has_bias;     /* something is added to each channel */
    struct view bias;
    int64_t bias_stride; /* between channels */
    /* Decided: */
    int64_t stack_rows, stack_columns;  /* taps that lie above each other on the partitions */
    int64_t groups_down, groups_across; /* products that all taps take then */
    int64_t block;                      /* rows of the result whose image is in SBUF */
    int64_t left, wide;                 /* columns of a tile of the image: before the first tap's */
    int64_t channels;                   /* whose weights are in SBUF */
    const struct inset *inset;          /* the image lies so in tiles only, or NULL */
    struct inner down, across;          /* its pixels in a tile */
    int64_t inset_offset;               /* of the first one */
    bool rows_join;                     /* rows of pixels lie side by side in HBM */
    const char *dtype;
    const char *first_row;            /* of the block, "0" */
    struct term loops[TAPS_SIDES][3]; /* by image, weights, out */
    int loop_count;
};
enum tap_array { TAP_IMAGE, TAP_WEIGHTS, TAP_OUT };

/* sides.c: finds all that; false where it is no convolution that is written so. */
bool taps_read(struct taps *t, const struct view *operands, const struct view *to);

/* inset.c: places the image's pixels in a tile; false where no tile has them so. */
bool inset_place(struct taps *t);
/* A stride of the image, in the array that lies in HBM. */
int64_t inset_stride(const struct taps *t, int64_t stride);

/* load.c: lines that bring the weights of a span of channels, and the image of a span of rows of
 * the result. */
void taps_load_weights(struct taps *t, const struct span *channels);
void taps_load_image(struct taps *t, const struct span *rows);
struct access taps_access(const struct taps *t, enum tap_array array);
/* Rows of the image that so many of the result take. */
int64_t taps_deep(const struct taps *t, int64_t rows);
/* Elements between the first and the last one of a channel's weights. */
int64_t taps_reach(const struct taps *t);
/* Tiles of 128 of what is summed over. */
int64_t taps_depths(const struct taps *t);
const char *taps_number(const struct taps *t, int64_t value);
/* behind.c: reads what is added to each channel; false where it is not one number for each. Lines
 * that bring those of a span of channels. And those by which sums leave PSUM into `to`, for the
 * channels `o` of that span and, where pixels are rows, so many. */
bool behind_read(struct taps *t, const struct view *bias);
void behind_load(struct taps *t, const struct span *channels);
void behind_leave(struct taps *t, const char *to, const struct span *o, const char *pixels);

/* A loop over parts of a span, within it. */
struct span taps_parts(struct writer *w, const char *variable, const char *size,
                       const struct span *span, int64_t part);
/* "a:a + 4", or "a:a + 7:2"; `at` may be "0", `count` is a number or a variable. */
const char *taps_slice(const struct taps *t, const char *at, const char *count, int64_t step);
/* "3 + y * 2": a number and what a variable adds ("0": nothing). */
const char *taps_sum(const struct taps *t, const char *a, const char *variable, int64_t times);

#endif
