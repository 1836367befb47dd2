/* SPDX-License-Identifier: Apache-2.0 */
/* What a reference computes: its recorded graph, read, and where in a buffer the elements of an
 * array lie. Knows nothing of kernels. */
#ifndef HONE_WRITE_GRAPH_GRAPH_H
#define HONE_WRITE_GRAPH_GRAPH_H

#include "base/base.h"

#define GRAPH_MAX_DIMS 8
#define GRAPH_MAX_NODES 4000 /* more are a loop over single elements, which nobody reads */

enum graph_kind {
    GRAPH_OTHER, /* nothing here writes it */
    GRAPH_INPUT,
    GRAPH_CONSTANT,
    GRAPH_UNARY,
    GRAPH_BINARY,
    GRAPH_CAST,
    GRAPH_WHERE,
    GRAPH_REDUCE,
    GRAPH_SCAN,
    GRAPH_RECURRENCE, /* h = first * h + second along an axis; the third is before its beginning */
    GRAPH_CONTRACT,
    GRAPH_TAPS, /* a sum of such products, which differ by where their operands lie only */
    GRAPH_RESHAPE,
    GRAPH_TRANSPOSE,
    GRAPH_BROADCAST,
    GRAPH_SLICE,
    GRAPH_WINDOWS,
    GRAPH_UPDATE,
    GRAPH_CONCATENATE,
    /* Only until graph_lower has said them by the others: */
    GRAPH_ARGUMENT,    /* the place of the largest or smallest */
    GRAPH_GATHER,      /* whole slices by index */
    GRAPH_GATHER_ALONG /* one element of each row by index */
};
/* A row for each operation that is written. */
struct graph_op {
    const char *name; /* as in the graph */
    enum graph_kind kind;
    const char *alu;        /* the nl name of the operator, of binary ones, reductions and scans */
    const char *activation; /* the nl name of the Scalar engine's function, of unary ones */
};
struct graph_range {
    int64_t first, count, step;
};
/* A constant array that is not one number throughout. */
struct graph_constant {
    enum { CONSTANT_PLANE, CONSTANT_BAND, CONSTANT_LIST } kind;
    double first, steps[GRAPH_MAX_DIMS]; /* of a plane: at the first index, and along each axis */
    double below, above; /* of a band: where column - row <= offset, and elsewhere */
    int64_t offset;
    double *list;
};
struct graph_node {
    const struct graph_op *op;
    const char *name; /* of the operation */
    int line, ndim;
    int64_t shape[GRAPH_MAX_DIMS];
    const char *dtype; /* of NKI: float64 is float32 here, bool uint8 */
    int *in;
    int in_count, argument; /* of taps: the sum's number before */
    int axes[GRAPH_MAX_DIMS],
        axis_count; /* of reductions, scans, concatenate; order of transpose */
    struct graph_range part[GRAPH_MAX_DIMS];
    int (*terms)[GRAPH_MAX_DIMS], *out; /* of contract: a label for each dimension */
    bool has_fill;
    double fill;
    struct graph_constant *constant; /* of a constant without fill */
    /* Of taps: the function of Scalar that their results go through, or NULL. An operand behind all
     * pairs is added to each channel before. */
    const char *behind;
};
struct graph_argument {
    int node; /* -1: a number */
    const char *dtype, *name;
    bool is_keyword; /* the kernel is called with this name */
};
struct graph {
    struct graph_node *nodes;
    int count;
    struct graph_argument *arguments;
    int argument_count;
    int *outputs, output_count;
    bool one_output;
};
/* In the arena. NULL and *err (usage) for what is no graph, or one that was not recorded. */
struct graph *graph_read(struct str json, struct arena *arena, struct err *err) CC_MUST_USE;
int64_t graph_size(const struct graph_node *node);
/* The row of an operation; the one of GRAPH_OTHER for a name that is not written. */
const struct graph_op *graph_op_named(const char *name);

/* lower.c: choosing by index, said with comparisons, sums and products, as no engine jumps. What
 * cannot be said so stays and becomes a gap. */
void graph_lower(struct graph *graph, struct arena *arena);
/* windows.c: a product of windows that is summed over more than their places is the sum of products
 * of parts. */
void graph_unfold(struct graph *graph, struct arena *arena);
/* gather.c: a transposed convolution is one of the image with zeros between its pixels. */
void graph_gather(struct graph *graph, struct arena *arena);
/* sums.c: sums that are the same become one, and those around and within what stays two. */
void graph_divide_sums(struct graph *graph, struct arena *arena);
/* chain.c: of products of several arrays the small ones are multiplied first. */
void graph_shorten(struct graph *graph);

/* copy.c: a graph that is changed while it is copied. Whoever copies may add nodes between. */
struct graph_copy {
    struct arena *arena;
    const struct graph *from;
    struct graph *to;
    int *users;  /* of nodes of `from`, outputs among them */
    int *new_of; /* by node of `from`; where it is another one, users read that one */
};
/* In the arena, with room for `more` nodes than there are. */
void graph_copy_begin(struct graph_copy *copy, const struct graph *from, size_t more,
                      struct arena *arena);
void graph_copy_node(struct graph_copy *copy, int node);
/* A node that nobody reads: what is not added leaves its place, so that nodes keep their numbers
 * under all choices, and with them the keys of other choices. Returns its number. */
int graph_copy_nothing(struct graph_copy *copy);
/* Makes one of it out of a new node that nobody reads any more. */
void graph_copy_drop(struct graph_copy *copy, int made);
/* Outputs and arguments; returns the new graph. */
struct graph *graph_copy_end(struct graph_copy *copy);

/* ---- view.c: where elements lie -------------------------------------------------------------- */

/* A dimension consists of factors, outermost first, each with a stride of its own; so transposing,
 * cutting, spreading and most reshaping of an array needs no copy. */
#define VIEW_MAX_FACTORS 8

struct factor {
    int64_t n, stride; /* strides in elements; 0: the same element n times */
};
struct dimension {
    struct factor at[VIEW_MAX_FACTORS];
    int count; /* 0: one element */
};
struct view {
    int buffer;
    int64_t offset;
    int ndim;
    struct dimension dims[GRAPH_MAX_DIMS];
};
/* All of a buffer of that shape. */
struct view view_whole(int buffer, const int64_t *shape, int ndim);
/* The view of a node of kind reshape, transpose, broadcast, slice or windows, of its source's.
 * False where no strides say it: the source has to be copied first. */
bool view_through(const struct graph_node *node, const struct view *source, struct view *out);
bool view_reshape(const struct view *source, const int64_t *shape, int ndim, struct view *out);
/* The part of an array that ranges of its dimensions name. */
bool view_part(const struct view *source, const struct graph_range *part, struct view *out);
/* Whether the elements of both lie in the same places. */
bool view_is_same(const struct view *a, const struct view *b);
/* The view in as many dimensions as `shape`, spread to it as numpy does. */
bool view_spread(const struct view *source, const int64_t *shape, int ndim, struct view *out);
/* Divides the factors of a dimension so that they have the sizes given, outermost first. */
bool dimension_refine(const struct dimension *dimension, const int64_t *sizes, int count,
                      int64_t *strides);

/* Sizes of the blocks in which factors cut a dimension, ascending, of several arrays together. */
struct cuts {
    int64_t at[VIEW_MAX_FACTORS];
    int count; /* VIEW_MAX_FACTORS + 1: there are more */
};
void dimension_cut(const struct dimension *dimension, struct cuts *cuts);
/* The sizes of factors, outermost first, into which all of those arrays divide the dimension, at
 * most VIEW_MAX_FACTORS; -1 where they do not. */
int cuts_sizes(const struct cuts *cuts, int64_t *sizes);

#endif
