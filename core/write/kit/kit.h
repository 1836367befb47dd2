/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel while it is written: its lines, how they name tiles, and what the schedule says. */
#ifndef HONE_WRITE_KIT_KIT_H
#define HONE_WRITE_KIT_KIT_H

#include "write/graph/graph.h"
#include "write/spec/spec.h"

#define PARTITIONS 128
#define WRITE_MAX_LOOPS 32
#define WRITE_MAX_COLUMNS 24

/* An array with numbers before and after the columns of another one. */
struct padding {
    struct view of;
    int64_t columns, low, inner; /* with them; where those of the other one begin, and how many */
    double number;
};
/* An image with numbers around its pixels, or between them: node puts the array `of`, which lies
 * where the view says, into an array of those numbers. */
struct inset {
    struct view view;
    const struct graph_node *node, *of;
    double number;
};
/* Memory of a kernel in HBM. */
struct buffer {
    char *name;
    const char *dtype;
    int64_t shape[GRAPH_MAX_DIMS];
    int ndim;
    bool is_parameter, is_output;
    bool is_made; /* lies nowhere: the tiles of node's array are made where they are used */
    int node;     /* whose array it holds, or that is made; of a parameter: none */
    const struct padding *padding; /* it lies nowhere but padded in tiles, or NULL */
    const struct inset *inset;     /* the same, in those of convolutions */
};
/* What is known of a node's array while the kernel is written. */
struct value {
    bool has_view;   /* its elements lie in a buffer */
    bool has_number; /* all its elements are one number */
    bool is_root;    /* computed by a stage of its own; other nodes of a stage stay in SBUF */
    bool is_upright; /* a sum over rows, which lie on the partitions; columns stay apart */
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
    bool *apart;     /* nodes that could not be made where they are used */
    bool *no_taps;   /* sums that could not be written as one stage, by the taps' `argument` */
    bool *no_behind; /* the same, for what is behind those sums */
    VEC(const char *) shadowed; /* names that a line of the kernel gives to something else */
    bool again;                 /* one of either was found: all is written once more */
};

/* print.c: appends a line at the indentation of the moment. */
void write_line(struct writer *writer, const char *format, ...) CC_PRINTF(2, 3);
void write_blank(struct writer *writer);
/* How often lines of the kernel assign to a name, loops among them. */
int write_assigned(const struct writer *writer, const char *name);
/* A number as the kernel's Python has it; infinity is the largest float32. */
const char *write_number(struct writer *writer, double number);

/* choices.c: asks the schedule. `values` are all legal ones, the default first; `name` is the
 * choice's within the node's stage, `title` says what it decides ("rows of a block"), and what each
 * value means where they are no numbers ("sums leave PSUM: by Scalar (0), by Vector (1)"). Asking
 * twice gives the same answer and declares it once. */
int64_t write_choose(struct writer *writer, int node, const char *name, const char *title,
                     const int64_t *values, int count);

/* What the chosen value of a declared choice means for the error. */
void write_note(struct writer *writer, int node, const char *name, const char *note);

/* abreast.c: lines of a loop whose steps may run side by side, from its own line to the last one of
 * the kernel so far: "for s in range(count)", or of every `step` numbers. Asks the schedule how
 * many do, as far as dependences and SBUF allow, and says them anew. The choice is the node's. */
struct steps {
    size_t loop; /* where its line begins */
    const char *variable;
    int64_t count, step;
    bool waits; /* several side by side are faster as far as that is known */
};
void write_abreast(struct writer *writer, int node, const struct steps *steps);

/* From now on the node is computed by a stage of its own, and the kernel is written once more. */
void write_apart(struct writer *writer, int node);

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

#endif
