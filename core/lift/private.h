/* SPDX-License-Identifier: Apache-2.0 */
/* Private to this folder: values, where they are kept, and the graph they become. */
#ifndef HONE_LIFT_PRIVATE_H
#define HONE_LIFT_PRIVATE_H

#include "lift/lift.h"

/* ---- forms: whole numbers that depend on variables ------------------------------------------- */

#define LIFT_VARS 64
#define LIFT_BOUND 32 /* variables from here on are bound by a reduction */
#define LIFT_SPARE 31 /* stands for the new dimension while alike values are made one */
#define LIFT_DIMS 20
#define FORM_TERMS 14

struct form_term {
    int var;
    int64_t step;
};
struct form {
    int64_t at;
    int count;
    struct form_term term[FORM_TERMS]; /* by variable, ascending; no step is 0 */
};

/* ---- values ---------------------------------------------------------------------------------- */

enum value_kind {
    VALUE_NUMBER,
    VALUE_PLACE,   /* the number that the form gives */
    VALUE_GATHER,  /* element `form` + n * a of input `place`, where a is a whole number */
    VALUE_LEAF,    /* element `form` of storage `place`, an input or a constant */
    VALUE_OPAQUE,  /* element `form` of what opaque piece `place` wrote */
    VALUE_NOTHING, /* memory that nobody wrote */
    VALUE_UNARY,
    VALUE_BINARY,
    VALUE_CAST,
    VALUE_WHERE,  /* a ? b : c */
    VALUE_REDUCE, /* func over low <= variable < low + n of a */
    VALUE_SCAN    /* h at the place `form`, with h[i] = a[i] * h[i - 1] + b[i], or func of the two;
                   * h[-1] is c */
};
typedef uint32_t value_id;
#define VALUE_NONE UINT32_MAX
/* Equal values are one row. A reduction's variable is LIFT_BOUND + height of its body, so that two
 * that differ by the name of it only are equal, too. */
struct value {
    uint8_t kind, func, dtype, height;
    uint32_t form; /* of lift->forms */
    uint32_t place;
    value_id a, b, c;
    double number;
    int64_t low, n;
    /* Not part of what it is: */
    uint64_t free;  /* the variables it depends on */
    uint64_t alike; /* hash of everything but the constants of forms */
    uint32_t loc;   /* of the instruction that made it first */
};

/* ---- memory ---------------------------------------------------------------------------------- */

struct extent {
    int64_t n, step;
};
/* Elements offset + sum(step * variable) of a storage; an on-chip one counts partition * row. */
struct piece {
    int64_t offset;
    int count; /* dimensions, step descending */
    struct extent dim[LIFT_DIMS];
    value_id value; /* variable i is dimension i */
};
struct store {
    VEC(struct piece) pieces; /* none has an element of another one */
    bool is_broken;           /* writes that cannot be told apart */
};
/* How a region has to be divided before it lies in one piece. */
struct cut {
    enum { CUT_NOTHING, CUT_AT, CUT_FACTOR, CUT_IMPOSSIBLE } kind;
    int var;
    int64_t at; /* the first of the second part; the size of the inner factor */
};

/* ---- the state ------------------------------------------------------------------------------- */

struct opaque_row {
    const char *what, *why;
    uint32_t loc;
    size_t times;
    bool matters;
};
struct swap {
    uint64_t mask;
    struct form to[LIFT_VARS];
};
/* What became of a value in the walk of this stamp. */
struct memo {
    uint32_t stamp;
    value_id is, beside;
};
/* Engines with sums of their own. */
enum { SUMS_OF_VECTOR, SUMS_OF_SCALAR, LIFT_SUMS };

struct lift {
    const struct nki_program *program;
    struct nki_storage sums[LIFT_SUMS]; /* storages behind those of the program */
    bool goes_on[LIFT_SUMS];            /* an instruction goes on with the sums of another one */
    const struct lift_limits *limits;
    struct arena *arena;
    VEC(struct form) forms;
    struct by_hash form_index;
    VEC(struct value) values;
    struct by_hash value_index;
    VEC(struct memo) memo; /* one for each value */
    uint32_t stamp, last_stamp;
    struct store *stores; /* those of storage s begin at store_base[s] */
    size_t *store_base;
    bool *is_whole; /* per storage: its blocks have one store */
    VEC(struct opaque_row) opaques;
    size_t max_values;
    uint32_t loc;          /* of the instruction at work */
    const char *limit;     /* what there is too much of to go on; NULL */
    bool hangs_on_numbers; /* a loop has the rounds that a number of the inputs says */
};

/* value.c: forms. */
struct form form_number(int64_t at);
struct form form_var(int var, int64_t step);
bool form_add(struct form *to, const struct form *from, int64_t times); /* false: too many terms */
int64_t form_step(const struct form *form, int var);
uint32_t form_keep(struct lift *l, const struct form *form);
static inline const struct form *form_of(const struct lift *l, uint32_t id) {
    return &l->forms.at[id];
}

/* value.c: rows, and what is put in the place of variables. */
static inline const struct value *value_of(const struct lift *l, value_id id) {
    return &l->values.at[id];
}
value_id value_keep(struct lift *l, struct value value);
value_id value_swap(struct lift *l, value_id id, const struct swap *swap);
value_id value_set(struct lift *l, value_id id, int var, struct form to);
bool value_is_number(const struct lift *l, value_id id, double number);
/* Whether one more reduction around it is too many. */
static inline bool value_is_deep(const struct lift *l, value_id id) {
    return id != VALUE_NONE && LIFT_BOUND + value_of(l, id)->height >= LIFT_VARS;
}
/* The value that is `a` where `var` is 0 and `b` where it is 1 and goes on like that; VALUE_NONE
 * where they are not alike. */
value_id value_join(struct lift *l, value_id a, value_id b, int var);

/* make.c: values in the simplest form that is known. */
value_id make_number(struct lift *l, double number);
value_id make_place(struct lift *l, const struct form *form);
value_id make_leaf(struct lift *l, uint32_t storage, const struct form *form, enum dtype dtype);
value_id make_gather(struct lift *l, uint32_t storage, const struct form *form, value_id index,
                     int64_t step);
value_id make_opaque(struct lift *l, uint32_t opaque, const struct form *form);
value_id make_nothing(struct lift *l);
value_id make_unary(struct lift *l, enum nki_func func, value_id a);
value_id make_binary(struct lift *l, enum nki_func func, value_id a, value_id b);
value_id make_cast(struct lift *l, enum dtype dtype, value_id a);
value_id make_where(struct lift *l, value_id a, value_id b, value_id c);
/* Over 0 <= var < n, where var is no bound variable. */
value_id make_reduce(struct lift *l, enum nki_func func, int var, int64_t n, value_id body);
/* A reduction like `from`, over another body that has its bound variable. */
value_id make_bound(struct lift *l, const struct value *from, int64_t low, value_id body);
/* The sum over 0 <= var < n of a product, where a factor that is 1 in one place and 0 elsewhere
 * chooses that place. `count` are the values of the variables. */
value_id make_sum(struct lift *l, int var, int64_t n, value_id body, const int64_t *count);
/* The same operation with other operands; `from` says all but these. */
value_id make_again(struct lift *l, const struct value *from, const value_id in[3],
                    const struct form *form);

/* scan.c: a scan like `from`, at another place, over operands that have its bound variable. */
value_id make_scan_again(struct lift *l, const struct value *from, const value_id in[3],
                         const struct form *form);

/* stores.c: a store for each storage, or for each block of one that no operand leaves. */
static inline const struct nki_storage *lift_storage(const struct lift *l, uint32_t id) {
    size_t own = l->program->storages.len;
    return id < own ? l->program->storages.at[id] : &l->sums[id - own];
}
/* Elements of a partition, or of all. */
int64_t lift_row_of(const struct nki_storage *storage);
void lift_stores_open(struct lift *l);
void lift_stores_close(struct lift *l);
struct store *lift_store_at(struct lift *l, uint32_t storage, int64_t offset);
/* store.c, digits.c */
/* The value of offset + sum(step[v] * v) of a storage over variables with `count` values each.
 * False, with a cut, where it does not lie in one piece. */
struct region {
    uint32_t storage;
    int64_t offset;
    int vars;
    int64_t count[LIFT_DIMS], step[LIFT_DIMS];
};
bool lift_store_read(struct lift *l, const struct region *region, value_id *value, struct cut *cut);
void lift_store_write(struct lift *l, const struct region *region, value_id value);
/* The shape in which all pieces of a storage in HBM are boxes: false where there is none. */
struct layout {
    int count;
    int64_t step[LIFT_DIMS + ARRAY_MAX_DIMS], size[LIFT_DIMS + ARRAY_MAX_DIMS];
};
bool lift_store_layout(struct lift *l, uint32_t storage, struct layout *layout);
/* merge.c: makes of alike pieces one. */
void lift_store_merge(struct lift *l, struct store *store);
/* Brings the dimensions of a piece into order and joins those that can be one. */
void piece_settle(struct lift *l, struct piece *piece);

/* step_sums.c: the storages of what engines add up. */
void lift_sums_open(struct lift *l);
/* step_tensor.c: one instruction. */
void lift_step(struct lift *l, const struct nki_instr *instr);

/* ---- the graph ------------------------------------------------------------------------------- */

#define NODE_DIMS 8
enum node_kind {
    NODE_INPUT,
    NODE_CONSTANT, /* fill, plane, or the data of a storage */
    NODE_PLANE,
    NODE_DATA,
    NODE_UNARY,
    NODE_BINARY,
    NODE_CAST,
    NODE_WHERE,
    NODE_REDUCE,
    NODE_SCAN,
    NODE_RECURRENCE,
    NODE_CONTRACT,
    NODE_RESHAPE,
    NODE_TRANSPOSE,
    NODE_BROADCAST,
    NODE_SLICE,
    NODE_WINDOWS,
    NODE_GATHER,
    NODE_UPDATE
};
struct node {
    enum node_kind kind;
    const char *op; /* its name in the graph */
    enum dtype dtype;
    int ndim;
    int64_t shape[NODE_DIMS];
    int in[3], in_count;
    int axes[NODE_DIMS], axis_count; /* of reduce, scan, windows, gather; order of transpose */
    int64_t first[NODE_DIMS], step[NODE_DIMS]; /* of slice and update */
    int terms[2][NODE_DIMS], out[NODE_DIMS];   /* of contract: labels */
    double fill, plane[NODE_DIMS + 1];
    uint32_t storage; /* of input and data */
    uint32_t loc;
};
/* The array that a value over so many variables with so many values is. */
struct emitted {
    value_id value;
    int count, node;
    int64_t n[LIFT_DIMS];
};
struct lifted {
    struct lift l;
    VEC(struct node) nodes;
    struct by_hash node_index;
    struct by_hash emit_index; /* rows of emitted */
    VEC(struct emitted) emitted;
    int *outputs;      /* nodes; -1: opaque */
    const char **whys; /* why an output has no node; NULL */
    uint32_t *why_locs;
    const char *why; /* of the value at work */
    uint32_t why_loc;
    int depth;
};
int node_add(struct lifted *lifted, struct node node);
int node_reshape(struct lifted *lifted, int in, const int64_t *shape, int ndim);
int node_transpose(struct lifted *lifted, int in, const int *order);
int node_slice(struct lifted *lifted, int in, const struct node *part);
int node_broadcast(struct lifted *lifted, int in, const int64_t *shape, int ndim);
int64_t node_size(const struct node *node);
/* Truths as the numbers 1 and 0. */
int node_float(struct lifted *lifted, int in);
/* An operator of numpy, its operands spread over each other. */
int node_binary(struct lifted *lifted, const char *op, int a, int b, uint32_t loc);
/* A number as an array without dimensions. */
int node_number(struct lifted *lifted, double number);
/* An array with an axis for each variable that the value depends on, in the order of `vars`; -1
 * with lifted->why. Variables are 0 <= v < n[v]. */
struct ranges {
    int64_t n[LIFT_VARS], low[LIFT_VARS];
};
int emit_value(struct lifted *lifted, value_id value, const struct ranges *ranges, int *vars,
               int *count);
/* The elements of a storage that a form names, an axis for each of `vars`. */
int emit_leaf(struct lifted *lifted, const struct value *leaf, const struct ranges *ranges,
              const int *vars, int count);
void emit_outputs(struct lifted *lifted);
int emit_fail(struct lifted *lifted, const char *why, uint32_t loc);
/* The elements that a form names along the last axis of an array. Of the other `count` axes those
 * of `own` are the variable of that number. An axis for each variable, in their order; -1 where the
 * elements lie in no part of it. */
int emit_along(struct lifted *lifted, int node, const struct form *form,
               const struct ranges *ranges, int count, uint64_t own);
/* emit_scan.c: a scan or gathered rows as the graph has them, an axis for each of `ndim` variables.
 */
int emit_scan(struct lifted *lifted, const struct value *scan, const struct ranges *ranges,
              int ndim);
int emit_gather(struct lifted *lifted, const struct value *gather, const struct ranges *ranges,
                int ndim);
/* emit_leaf.c: an input or constant as an array; -1: it has too many dimensions. */
int emit_source(struct lifted *lifted, uint32_t storage);
/* emit.c: the value with all `ndim` axes; those it does not depend on have one element. */
int emit_aligned(struct lifted *lifted, value_id value, const struct ranges *ranges, int ndim);

#endif
