/* SPDX-License-Identifier: Apache-2.0 */
/* Private to this folder: a stage over tiles of rows while it is written. */
#ifndef HONE_WRITE_ROWS_H
#define HONE_WRITE_ROWS_H

#include "write/private.h"

#define ROWS_MAX_SIDES 24

/* An array that a stage reads; the last one is what it writes. */
struct leaf {
    int node; /* -1: the result */
    struct view view;
    int64_t strides[ROWS_MAX_SIDES];
    struct product *product; /* its tiles are made here; NULL: they lie in a buffer */
};
enum side_role { SIDE_LOOP, SIDE_PARTITION, SIDE_COLUMN };
/* A part of the domain along which every array has one stride. */
struct side {
    int64_t n;
    bool is_column;
    enum side_role role;
    const char *variable; /* of the loop over it; NULL: none */
    int64_t most;         /* that it is */
};
/* A tile in SBUF, or a number. */
struct tile {
    const char *name, *dtype;
    bool narrow; /* one element of each row */
    bool is_number;
    double number;
};
struct rows {
    struct writer *writer;
    int root;
    VEC(int) nodes;
    VEC(struct leaf) leaves;
    int64_t shape[GRAPH_MAX_DIMS]; /* of the domain */
    int ndim;
    unsigned columns; /* dimensions that reductions go along; bit 0 is the last one */
    struct side sides[ROWS_MAX_SIDES];
    int side_count;
    bool is_copy;              /* nothing is computed */
    bool in_chunks;            /* rows are taken piece by piece */
    bool loaded_ahead;         /* what is the same for all rows */
    const char *count, *width; /* rows and columns of a tile: numbers or variables */
    int64_t chunk;             /* columns of a piece */
    struct tile *tiles;        /* by node */
    int helpers;               /* tiles that stand for no node, so far */
};

/* Prints the line that makes a tile. */
void rows_declare(struct rows *rows, const struct tile *tile);
/* compute.c: prints what computes a node from the tiles of its operands; false with a gap told. */
bool rows_compute(struct rows *rows, int node);
/* The node's tile; of a number one that is filled with it. */
struct tile *rows_result(struct rows *rows, int node);
/* A reduction piece by piece. */
void rows_begin_sum(struct rows *rows, struct tile *sum);
void rows_add_sum(struct rows *rows, const struct tile *sum, const struct tile *part);

#endif
