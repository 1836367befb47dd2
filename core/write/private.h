/* SPDX-License-Identifier: Apache-2.0 */
/* Private to this folder: a kernel while it is written. */
#ifndef HONE_WRITE_PRIVATE_H
#define HONE_WRITE_PRIVATE_H

#include "write/graph/graph.h"
#include "write/write.h"

#define PARTITIONS 128
#define WRITE_MAX_LOOPS 32
#define WRITE_MAX_COLUMNS 24

/* Memory of a kernel in HBM. */
struct buffer {
    char *name;
    const char *dtype;
    int64_t shape[GRAPH_MAX_DIMS];
    int ndim;
    bool is_parameter, is_output;
    bool is_made; /* lies nowhere: the tiles of node's array are made where they are used */
    int node;     /* whose array it holds, or that is made; of a parameter: none */
};
/* What is known of a node's array while the kernel is written. */
struct value {
    bool has_view;   /* its elements lie in a buffer */
    bool has_number; /* all its elements are one number */
    bool is_root;    /* computed by a stage of its own; other nodes of a stage stay in SBUF */
    int users;
    int only_user; /* where there is one */
    int leader;    /* of a root: the last result of its stage */
    double number;
    struct view view;
    bool is_made; /* a product, or a sum of rows, whose tiles are made in the one stage that uses it
                   */
    struct product *product; /* of such a node */
    struct chain *chain; /* of one whose operand another product makes, and SBUF keeps; or NULL */
    double error;        /* of a product: its relative L2 error, as expected */
};
struct writer {
    struct arena *arena;
    struct graph *graph;
    const struct write_spec *spec;
    struct value *values;
    VEC(struct buffer) buffers;
    struct buf out;
    int indent;
    struct written *written;
    bool *apart;                /* nodes that could not be made where they are used */
    VEC(const char *) shadowed; /* names that a line of the kernel gives to something else */
    bool again;                 /* one of either was found: all is written once more */
};

/* Appends a line at the indentation of the moment. */
void write_line(struct writer *writer, const char *format, ...) CC_PRINTF(2, 3);
void write_blank(struct writer *writer);
/* The view of a node's array, which is put into a buffer first where it lies in none. False, with a
 * gap told, where that cannot be. */
bool write_view(struct writer *writer, int node, struct view *view);
/* How often lines of the kernel assign to a name, loops among them. */
int write_assigned(const struct writer *writer, const char *name);
/* A number as the kernel's Python has it; infinity is the largest float32. */
const char *write_number(struct writer *writer, double number);
/* From now on the node is computed by a stage of its own, and the kernel is written once more. */
void write_apart(struct writer *writer, int node);
void write_gap(struct writer *writer, const struct graph_node *node, const char *why);

/* choose.c: asks the schedule. `values` are all legal ones, the default first; `name` is the
 * choice's within the node's stage, `title` says what it decides ("rows of a block"), and what each
 * value means where they are no numbers ("sums leave PSUM: by Scalar (0), by Vector (1)"). Asking
 * twice gives the same answer and declares it once. */
int64_t write_choose(struct writer *writer, int node, const char *name, const char *title,
                     const int64_t *values, int count);

/* What the chosen value of a declared choice means for the error. */
void write_note(struct writer *writer, int node, const char *name, const char *note);

/* A loop variable's part of an address, and the largest value that it has. */
struct term {
    const char *variable;
    int64_t stride, most;
};
/* One tile of a buffer: `rows` partitions of stride `row`, `counts` of `strides` along the free
 * dimensions, at an offset that consists of a number and terms. */
struct access {
    int buffer;
    int64_t offset;
    struct term terms[WRITE_MAX_LOOPS];
    int term_count;
    const char *rows; /* a number or a variable, which is at most PARTITIONS */
    int64_t row;
    const char *cols[WRITE_MAX_COLUMNS]; /* as many as cols_most, where they are a variable */
    int64_t strides[WRITE_MAX_COLUMNS], cols_most;
    int col_count;
};
/* "x[m:m + 128, 0:512]", or an access pattern where slices do not say it; in the arena. */
const char *write_access(struct writer *writer, const struct access *access);
void access_add(struct access *access, const char *variable, int64_t stride, int64_t most);

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
 * rows there are, and where the view begins. False where there are no such tiles. */
bool product_match(struct product *product, int64_t rows, int64_t row_stride, int64_t column_stride,
                   int64_t offset);
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
