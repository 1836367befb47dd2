/* SPDX-License-Identifier: Apache-2.0 */
/* Private to this folder: the recorded graph of a reference, read. */
#ifndef HONE_WRITE_GRAPH_H
#define HONE_WRITE_GRAPH_H

#include "write/write.h"

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
    GRAPH_CONTRACT,
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
    int in_count, argument;
    int axes[GRAPH_MAX_DIMS],
        axis_count; /* of reductions, scans, concatenate; order of transpose */
    struct graph_range part[GRAPH_MAX_DIMS];
    int (*terms)[GRAPH_MAX_DIMS], *out; /* of contract: a label for each dimension */
    bool has_fill;
    double fill;
    struct graph_constant *constant; /* of a constant without fill */
};
struct graph_argument {
    int node; /* -1: a number */
    const char *dtype, *name;
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

#endif
