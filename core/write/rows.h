/* SPDX-License-Identifier: Apache-2.0 */
/* Private to this folder: a stage over tiles of rows while it is written. */
#ifndef HONE_WRITE_ROWS_H
#define HONE_WRITE_ROWS_H

#include "write/private.h"

#define ROWS_MAX_SIDES 24
/* The largest of some results is used as if it were ROWS_ABOVE larger. Others may be so much and
 * ROWS_LARGEST above it: exp of fp32 goes from -87 to 88, and sums of products with it are not to
 * overflow either; fp16 has no such numbers. The smaller it is, the more exact are differences. */
#define ROWS_ABOVE 30
#define ROWS_LARGEST 70

/* An array that a stage reads or, after those, writes. */
struct leaf {
    int node;
    bool is_result;
    struct view view;
    int64_t strides[ROWS_MAX_SIDES];
    struct product *product; /* its tiles are made here; NULL: they lie in a buffer */
    bool is_sum;             /* of rows, and made here, too */
};
enum side_role {
    SIDE_LOOP,
    SIDE_PARTITION,
    SIDE_COLUMN,
    SIDE_STACK /* on the partitions, around those of SIDE_PARTITION */
};
/* A part of the domain along which every array has one stride. */
struct side {
    int64_t n;
    bool is_column;
    bool is_across; /* results are sums over it */
    bool is_summed; /* the same, in a stage of upright sums */
    enum side_role role;
    const char *variable; /* of the loop over it; NULL: none */
    int64_t most;         /* that it is */
};
/* A tile in SBUF, or a number. What a node is may lie a factor and a summand away from what the
 * tile holds: element * scale * by + bias + plus. The instruction that reads it applies them, as
 * most take a factor or a summand along. */
struct tile {
    const char *name, *dtype;
    bool narrow;  /* one element of each row */
    bool in_psum; /* not in SBUF */
    bool is_number;
    double number;
    double scale, bias;
    const char *by, *plus; /* tiles of one float32 for each row; NULL: none */
    const char *of;        /* a wider tile that it is a part of, whose name then says which; NULL */
    int64_t shift;         /* columns of that one before it */
};
/* How a node is computed. */
enum form { FORM_UNUSED, FORM_PLAIN, FORM_SIGMOID, FORM_RSQRT, FORM_WINDOWS };
struct plan {
    enum form form;
    bool is_inside; /* the stage computes it */
    int of;         /* the node that a form other than FORM_PLAIN takes */
    int sum;        /* the sum of this node's rows, which its own instruction may make; 0: none */
};
/* What engines are busy with, in nanoseconds a tile: to balance, not to tell. */
struct busy {
    double vector, scalar;
    bool divides; /* its columns may be divided between the two */
};
/* exp of a product's results less the largest of each row, divided by its sum: as what is
 * subtracted drops out, the largest of some results will do, and exp reads the results out of PSUM.
 */
struct softmax {
    bool is_there;
    int product, most, difference, power, sum; /* nodes */
};
#define ROWS_SHARES 8 /* parts of its columns that an instruction is divided into */
struct rows {
    struct writer *writer;
    const int *roots; /* ascending */
    int root_count;
    VEC(int) nodes;
    VEC(struct leaf) leaves;       /* the results are the last ones, in the order of roots */
    int64_t shape[GRAPH_MAX_DIMS]; /* of the domain */
    int ndim;
    unsigned columns; /* dimensions that reductions go along; bit 0 is the last one */
    unsigned across;  /* dimensions that results are sums over, in a stage of scans */
    unsigned summed;  /* the same, in a stage of upright sums */
    bool is_upright;  /* results are sums over rows, on the partitions */
    struct side sides[ROWS_MAX_SIDES];
    int side_count;
    bool is_copy;      /* nothing is computed */
    bool is_permuted;  /* and elements change places within rows, on chip */
    bool whole_rows;   /* tiles have all of the last dimension */
    bool is_nested;    /* made within another stage, for the rows of its tile */
    bool in_chunks;    /* rows are taken piece by piece */
    bool is_carried;   /* in chunks, from each of which scans go on in the next */
    const char *lane;  /* of what scans carry: their place in it */
    const char *step;  /* the same as a number */
    const char *place; /* part of a tile that node `placed` is computed into, or NULL */
    int placed;
    bool loaded_ahead;         /* what is the same for all rows */
    bool *ahead;               /* by node: computed or loaded before the loops; NULL: nothing is */
    const char *count, *width; /* rows and columns of a tile: numbers or variables */
    int64_t chunk;             /* columns of a tile, the most there are */
    int64_t tile_columns;      /* as they were printed last */
    bool uneven;               /* the last tile has fewer columns */
    int64_t pieces;            /* instructions that a tile takes */
    bool in_pieces;            /* the one that is printed is one of several */
    bool has_steps;            /* a tile takes every few columns of a wider one */
    struct tile *tiles;        /* by node */
    struct plan *plans;        /* by node */
    struct softmax softmax;    /* that is computed so */
    int helpers;               /* tiles that stand for no node, so far */
    const char *suffix;        /* of their names; NULL: none */
    /* Instructions that either Vector or Scalar can run, in order. They are weighed in a first pass
     * that prints into nothing. */
    VEC(struct busy) either;
    int *on_scalar; /* parts of ROWS_SHARES that are Scalar's */
    size_t either_met;
    struct busy busy;   /* of the instructions that have no choice */
    int64_t psum_bytes; /* of a partition, that tiles take */
};

/* choose.c: whether the tile of a node or of an array that is read lies in PSUM, which the schedule
 * says where instructions read it beside another tile. */
bool rows_wants_psum(struct rows *rows, int node);

/* rows.c: lines that make an array's part for the tile of rows, and its tile. False where its own
 * stage does not go over the same rows. */
bool rows_make(struct rows *rows, struct leaf *leaf);

/* stage.c: what a stage consists of. */
/* The nodes of a stage in order, and what they read. */
void rows_collect(struct rows *rows);
/* The shape of the domain and the dimensions that are reduced; false where nodes have no common
 * one. */
bool rows_measure(struct rows *rows);
bool rows_has_root(const struct rows *rows, int node);
bool rows_is_scan(const struct rows *rows, int node);
/* A result that is summed over dimensions other than the ones that scans go along. */
bool rows_is_across(const struct rows *rows, int node);
/* Whether scans are all that goes along rows, so that those may come in chunks. */
bool rows_has_scans_only(const struct rows *rows);
/* Whether a tile of everything that holds a whole row fits into SBUF. */
bool rows_fit(const struct rows *rows);
/* What `rows` holds; not itself. */
void rows_free(struct rows *rows);

/* stage.c: the sides that the arrays of a stage divide its domain into; false where they cannot.
 */
bool rows_join(struct rows *rows, const struct graph_node *node);
unsigned rows_axes(const struct writer *writer, int node);
bool rows_divide(struct rows *rows);
/* Divides a side: the outer part has `n` elements. And neighbours that every array runs through in
 * one go become one. */
void rows_insert_side(struct rows *rows, int at, int64_t n);
void rows_merge_sides(struct rows *rows);
void rows_choose_sides(struct rows *rows, int64_t width);
int64_t rows_divisor(int64_t n, int64_t most);
/* Columns of the domain's tiles together. */
int64_t rows_column_elements(const struct rows *rows);

/* rows_print.c: lines of a stage around those that compute. */
/* The comment above the stage. */
void rows_tell(struct rows *rows);
/* Loads what is the same for all tiles, and computes what depends on nothing else. */
bool rows_load_ahead(struct rows *rows);
/* Whether a tile has all columns. */
bool rows_has_whole(const struct rows *rows);
/* Loops over what lies neither on partitions nor in the free dimension. */
void rows_open_loops(struct rows *rows);
/* Brings what stays of the products that are made here into SBUF. */
bool rows_enter_products(struct rows *rows, bool whole_rows);
/* The loop over tiles of rows. */
void rows_open_tiles(struct rows *rows);
/* The loop over parts of rows, where they are taken piece by piece. */
void rows_open_chunks(struct rows *rows);
/* Where several rows of tiles lie above each other, a transfer brings one of them: opens a loop
 * over those and says where the access lies. Returns the partitions of the tile, "0:128". */
const char *rows_open_stack(struct rows *rows, const struct leaf *leaf, struct access *access);
/* An array's part in HBM that a tile is for; `narrow`: one element of each row. */
struct access rows_access(struct rows *rows, const struct leaf *leaf, bool narrow);
const char *rows_place(struct rows *rows, const struct leaf *leaf, bool narrow);
void rows_load_leaf(struct rows *rows, struct leaf *leaf);
/* An array that is one element wide along the columns. */
bool rows_is_narrow_leaf(const struct rows *rows, const struct leaf *leaf);
/* Writes a result, by its number among them. */
void rows_store(struct rows *rows, int result, struct tile *tile);
/* Whether a node is one of those of a softmax that have lines of their own, and then those. */
bool rows_compute_softmax(struct rows *rows, int node);
/* What a tile needs of the arrays that are read. */
void rows_load(struct rows *rows);
/* The nodes from one on to another; `result` counts the results that were stored. */
bool rows_compute_nodes(struct rows *rows, size_t from, size_t to, int *result);
/* All of a tile. */
bool rows_emit_tile(struct rows *rows);

/* wide.c: an array that is read in parts which lie some columns apart, or every few columns, is
 * loaded as it lies, and the tile is a part of what was loaded. False where that is not so. */
bool rows_load_wide(struct rows *rows, const struct leaf *leaf, struct tile *tile);
/* Which nodes go over all parts of windows, and their lines. */
void rows_plan_windows(struct rows *rows);
bool rows_compute_windows(struct rows *rows, int node);
/* Columns that are loaded beside those that are used, in widths of a tile. */
double rows_wide_tiles(const struct rows *rows);

/* phases.c: whether the next tile of rows is begun before this one is done with; and its loop. */
bool rows_has_phases(struct rows *rows);
bool rows_emit_phases(struct rows *rows);

/* permute.c: whether elements of a copy change places within rows, and are to do so on chip; then
 * the sides have their roles. And the lines for a tile of rows. */
bool permute_choose(struct rows *rows);
void permute_emit(struct rows *rows);

/* phases.c: a stage of upright sums: Vector adds up tiles, the Tensor engine their partitions. */
bool rows_emit_upright(struct rows *rows);
/* What those need before the loops. */
void rows_make_ones(struct rows *rows);

/* phases.c: a stage of scans whose rows come in chunks. */
bool rows_emit_carried(struct rows *rows);
/* What a scan by an operator begins with. */
double rows_scan_first(const char *alu);
/* What a scan begins with in a chunk, which is `first` for whole rows; and keeps its last column.
 */
const char *rows_scan_start(struct rows *rows, int node, const char *first);
void rows_keep_last(struct rows *rows, int node, const struct tile *tile);

/* pattern.c: which nodes are needed, and by which form. */
void rows_plan(struct rows *rows);
/* Every element of the node is known to be at least this. */
double rows_at_least(struct writer *writer, int node);

/* tile.c: lines that are instructions. Tiles are taken as they are, factors aside. */
struct tile rows_tile(struct rows *rows, const char *name, const char *dtype, bool narrow);
/* The one that a node is computed into. */
struct tile rows_node_tile(struct rows *rows, int node, const char *dtype, bool narrow);
struct tile rows_helper(struct rows *rows, const char *base, const char *dtype, bool narrow);
/* dst = op(data * scale + bias) on Scalar; `sum` gets the rows' sums where it is not NULL. */
void rows_activate(struct rows *rows, const char *op, const struct tile *dst,
                   const struct tile *data, const char *scale, const char *bias, const char *sum);
/* dst = (data op0 by0) op1 by1 on Vector; op1 may be NULL. The last `scalar` of ROWS_SHARES of the
 * columns are Scalar's. */
struct scalar_ops {
    const char *op0, *by0, *op1, *by1;
    bool reverse0;
    int scalar;
};
void rows_scalar(struct rows *rows, const struct tile *dst, const struct tile *data,
                 struct scalar_ops ops);
/* Whether of two tiles that Vector reads at once one is to be in PSUM. */
bool rows_pairs_by_psum(struct rows *rows);
void rows_tensor(struct rows *rows, const struct tile *dst, const struct tile *a,
                 const struct tile *b, const char *alu);
void rows_reciprocal(struct rows *rows, const struct tile *dst, const struct tile *data);
void rows_copy_tile(struct rows *rows, const struct tile *dst, const struct tile *data);
void rows_fill(struct rows *rows, const struct tile *dst, double number);
/* dst = from where `where` is not 0; the rest of dst stays. */
void rows_choose_elements(struct rows *rows, const struct tile *dst, const struct tile *from,
                          const struct tile *where);
/* Whether an instruction that either engine can run goes to Scalar. */
bool rows_on_scalar(struct rows *rows, double vector_units, double scalar_units);
void rows_busy(struct rows *rows, double vector_units, double scalar_units, bool narrow);

/* Tiles with factors and summands. Results are declared under the node's name. */
/* Applies what is pending; the tile then holds the node's elements. */
void tile_make_plain(struct rows *rows, struct tile *tile);
/* As operands of an activation: "2.0" or the name of a tile of one element a row. */
void tile_scale_and_bias(struct rows *rows, struct tile *tile, const char **scale,
                         const char **bias);
void tile_add(struct rows *rows, int node, struct tile a, struct tile b);
void tile_multiply(struct rows *rows, int node, struct tile a, struct tile b);
struct tile tile_scaled(struct rows *rows, struct tile tile, double by);
struct tile tile_moved(struct tile tile, double by);

/* compute.c: prints what computes a node from the tiles of its operands; false with a gap told. */
bool rows_compute(struct rows *rows, int node);
/* The node's tile, which holds its elements; of a number one that is filled with it. */
struct tile *rows_result(struct rows *rows, int node);
/* A tile as wide as the stage, filled with one element for each row or with a number. */
struct tile rows_widened(struct rows *rows, struct tile *tile, const char *dtype);
/* A reduction piece by piece. */
void rows_begin_sum(struct rows *rows, int node, bool narrow, struct tile *sum);
void rows_add_sum(struct rows *rows, int node, const struct tile *sum, struct tile *part);

#endif
