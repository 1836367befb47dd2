/* SPDX-License-Identifier: Apache-2.0 */
/* Private to this folder: stages of a kernel while it is written. */
#ifndef HONE_WRITE_PRIVATE_H
#define HONE_WRITE_PRIVATE_H

#include "write/kit/kit.h"
#include "write/write.h"

/* The view of a node's array, which is put into a buffer first where it lies in none. False, with a
 * gap told, where that cannot be. */
bool write_view(struct writer *writer, int node, struct view *view);
/* A new buffer in HBM and its line in the kernel; `base` is made unique. Returns its number. */
int write_buffer(struct writer *writer, const char *base, const char *dtype, const int64_t *shape,
                 int ndim);
void write_gap(struct writer *writer, const struct graph_node *node, const char *why);

/* short.c: the graph with sums of a few elements made out of their parts, in the arena; becomes the
 * writer's. */
struct graph *write_short(struct writer *writer, const struct graph *graph);

/* late.c: the graph with factors of products' operands applied to their results, in the arena;
 * becomes the writer's. */
struct graph *write_late(struct writer *writer, const struct graph *graph);

/* choose.c: which arrays stages put into HBM, and which of them share a stage. */
#define WRITE_MAX_MATES 8
void write_choose_roots(struct writer *writer);
/* The results of a stage in order, at most WRITE_MAX_MATES; returns how many. */
int write_mates(const struct writer *writer, int leader, int *mates);

/* rows.c: lines that make a tile of an array that lies nowhere, as an operand of a product wants
 * it: 128 rows at most, `rows` of them of `n` from the one that `at` names on, and all columns. Its
 * name, NULL where there is none: then the array is put into HBM. Names of its own end in `suffix`.
 */
struct made_rows {
    int node;
    int64_t n, row_stride, columns, column_stride, offset;
    const char *at, *rows, *suffix;
    int64_t most; /* that `at` is */
};
const char *rows_make_operand(struct writer *writer, const struct made_rows *wanted);
/* rows.c: lines that compute a node for a tile of a product's results that is turned over: what is
 * summed over next lies on all partitions. Its name; NULL where there is none. Tiles of the product
 * and of its largest results in each row, which is `most` times `scale`, are there already. */
struct made_over {
    int node, product, extreme; /* extreme: node of those, -1: none is needed */
    const char *sums, *most, *suffix;
    double scale;
    int64_t columns;
};
const char *rows_make_over(struct writer *writer, const struct made_over *wanted);
/* Whether stages of two roots have a node or an array in common. */
bool rows_overlap(struct writer *writer, int first, int second);
/* Bytes of a partition that a tile of rows takes while it is made. */
double rows_made_bytes(struct writer *writer, int root);

/* rows.c: element-wise operations, reductions and scans over tiles of rows. */
bool rows_is_fusable(enum graph_kind kind);
/* The node that a stage cannot compute beside its roots and that must be a root, too; -1 when there
 * is none. */
int rows_conflict(struct writer *writer, const int *roots, int count);
/* Whether the stage of a root reads a node's array from HBM. */
bool rows_reads(struct writer *writer, int root, int node);
/* Whether the stages of two roots read a common array, or the second one reads the first. */
bool rows_share(struct writer *writer, int first, int second);
/* Whether one stage can compute them: they have one domain, and its tiles fit. */
bool rows_can_share(struct writer *writer, const int *roots, int count);
/* Computes roots, ascending, and puts each where its view says. */
bool rows_emit(struct writer *writer, const int *roots, int count, const struct view *to);
/* Copies an array to where `to` says. */
bool rows_copy(struct writer *writer, int node, const struct view *to);

/* constant.c: fills a buffer of its own with a constant array that is not one number. */
bool constant_emit(struct writer *writer, int node, const struct view *to);
/* The list as the line that makes the node's buffer. */
void constant_list(struct writer *writer, int node);

/* product.c: a product as a stage of its own. */
bool product_emit(struct writer *writer, int node, const struct view *to);

/* Where the batches of a result lie innermost: a place in which its rows lie side by side, from
 * which it is copied in the end. False where that is so already, or is not wanted. */
bool product_result_outside(struct writer *writer, int node, const struct view *view,
                            struct view *place);

/* wide.c: where an update only pads the columns of an array, and stages of rows read parts of that,
 * how: the tiles are padded, and it lies nowhere. NULL where that is not so, or is not wanted. */
const struct padding *write_padding(struct writer *writer, int node);

/* The one stage that uses a node, through nodes that it computes beside others; -1: there are
 * several, or one that is not of rows. */
int write_stage_of_users(const struct writer *writer, int node);

/* chain.c: products whose operand is made of another product's results, as attention has them, are
 * marked where all of that can stay in SBUF and the schedule wants it so. Their operands, and sums
 * of those, then lie nowhere. */
void chain_choose(struct writer *writer);

/* product_tile.c: a product that is no stage of its own; the stage that uses it has its tiles made.
 * First its view, whose strides tell the sides of the product apart; NULL where there is none. */
struct product *product_made(struct writer *writer, int node, struct view *view);
/* Whether tiles may lie along what has this stride. */
bool product_has_tiles_along(const struct product *product, int64_t stride);
/* Says what has the strides of the tiles' rows, on the partitions, and of their columns, how many
 * of both there are, and where the view begins. False where there are no such tiles. */
bool product_match(struct product *product, const int64_t *tile, int64_t row_stride,
                   int64_t column_stride, int64_t offset);
/* Says before the loops that the largest of each row is wanted ("maximum"), or the smallest. */
void product_want(struct product *product, const char *extreme);
/* After a tile of whole rows was filled: the name of a tile with those extremes of parts of each
 * row, which were found on the way; NULL: they were not. */
const char *product_extremes(const struct product *product, const char *tile, const char *extreme);
/* Says before the loops that nothing keeps the product's results: exp reads them out of PSUM. It
 * holds where product_is_read says so once the loops are entered. */
void product_read(struct product *product, bool reads);
bool product_is_read(const struct product *product);
/* Of those: lines that find the largest of the first results of each row, of which there are so
 * many. */
#define PRODUCT_SAMPLE 8 /* one of so many results is looked at */
int64_t product_samples(int64_t columns);
void product_sample(struct product *product, const struct access *access, const char *to);
/* And that fill a tile with exp(results * scale + bias), and `sums` with what parts of its rows add
 * up to. */
struct power {
    const char *tile, *scale, *bias, *sums;
};
void product_fill_power(struct product *product, const struct access *access,
                        const struct power *power);
/* Parts that a tile of whole rows leaves PSUM in. */
int64_t product_parts(const struct product *product);
/* Whether they are to be found on the way. */
bool product_finds_extremes(const struct product *product);
/* Once loops over all but rows are open, which `outer` has: brings what stays into SBUF, of which
 * `room` bytes a partition may be taken. Says whether tiles are whole rows. False where that cannot
 * be. */
bool product_enter(struct product *product, const struct access *outer, double room,
                   bool whole_rows);
/* In the loop over rows: brings the rows' operand. */
void product_begin_rows(struct product *product, const struct access *access);
/* Declares a tile in SBUF, and fills it with a part of those rows. */
void product_fill(struct product *product, const struct access *access, const char *tile);
/* The same for the sums of its operand's rows; false where the product does not make them. */
bool product_fill_sum(const struct product *product, int node, const char *tile);

#endif
