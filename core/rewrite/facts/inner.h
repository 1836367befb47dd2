/* SPDX-License-Identifier: Apache-2.0 */
/* What the rewriter knows of a kernel: its names (who binds, reads and writes them), its integers,
 * loops, index expressions, tile shapes and elementwise operations. All of it is worked out from
 * the source and the shapes of the inputs; what is not certain counts as not known. */
#ifndef HONE_REWRITE_FACTS_INNER_H
#define HONE_REWRITE_FACTS_INNER_H

#include "rewrite/facts/facts.h"

#define REWRITE_MAX_DIMS 8
#define REWRITE_MAX_TERMS 8
#define REWRITE_MAX_DEPTH 100  /* of expressions, and of names that are defined by names */
#define REWRITE_MAX_NESTING 24 /* of questions about tiles that lead to questions about tiles */

/* ---- the model ------------------------------------------------------------------------------ */

enum rewrite_module {
    REWRITE_NO_MODULE,
    REWRITE_NKI,
    REWRITE_NL,
    REWRITE_NISA,
    REWRITE_NUMPY,
    REWRITE_MATH
};

enum { REWRITE_BIND = 1, REWRITE_READ = 2, REWRITE_WRITE = 4 };
/* One appearance of a name in the kernel. */
struct rewrite_access {
    struct nki_node *node; /* NKI_NAME, or NKI_ARG for a parameter */
    struct nki_node *stmt;
    unsigned how; /* REWRITE_BIND, READ, WRITE */
};

/* Where nothing tells the dtype, it is DTYPE_NONE. `shape` counts the partition dimension. */
struct rewrite_tile {
    bool known;
    enum nki_space space;
    enum dtype dtype;
    int n_dims;
    int partition_dim; /* the dimensions before it are blocks; nearly always 0 */
    int64_t shape[REWRITE_MAX_DIMS];
};

struct rewrite_name {
    struct str id;
    VEC(struct rewrite_access) accesses; /* in source order */
    struct rewrite_name *alias;          /* union-find parent: names that may share memory */
    const struct nki_input *input;       /* of a parameter; NULL */
    bool is_param;
};

/* A `for` over one of the ranges. */
struct rewrite_loop {
    struct nki_node *node;
    struct str var;
    struct nki_node *count; /* the only argument, NULL when it has more */
    bool known;
    int64_t start, stop, step, trips;
};

/* base + sum of coefficient * loop variable, plus at most one arange. */
struct rewrite_affine {
    bool known;
    int64_t base;
    int n_terms;
    struct {
        const struct rewrite_loop *loop;
        int64_t coef;
    } term[REWRITE_MAX_TERMS];
    int64_t arange; /* its size; 0: there is none */
    int64_t arange_step;
    int arange_axis;
};

/* One dimension of a subscript. */
struct rewrite_dim {
    struct nki_node *node;
    struct rewrite_affine start; /* not known: depends on something else */
    int64_t size;                /* 0: unknown */
    bool drops;                  /* a plain index: the dimension goes away */
    bool full;                   /* the whole extent */
};
struct rewrite_region {
    bool known; /* base and every size are */
    struct rewrite_name *base;
    int n_dims;
    struct rewrite_dim dim[REWRITE_MAX_DIMS];
};

struct rewrite_site;
struct rewrite_row;
struct rewrite_decline {
    const char *row;
    int line;
    const char *reason;
};

/* Answers already found, by node id; keeps the analysis linear in the size of the kernel. */
struct rewrite_memo {
    int depth; /* of the question that is being answered */
    uint8_t *def_state, *int_state, *tile_state, *affine_state; /* 0: not asked yet */
    struct nki_node **defs;                                     /* by load */
    int64_t *ints;                                              /* by def, like the next two */
    struct rewrite_tile **tiles;
    struct rewrite_affine **affines;
};
enum { REWRITE_MEMO_NO = 1, REWRITE_MEMO_YES = 2 };

struct rewrite_model {
    const struct rewrite_request *request;
    struct rewrite_memo *memo;
    struct arena *arena;
    struct nki_tree *tree;
    struct nki_node *kernel;
    enum nki_dialect dialect;
    struct map names;                 /* struct rewrite_name * */
    struct map modules;               /* dotted text -> enum rewrite_module as a pointer */
    VEC(struct rewrite_loop *) loops; /* in source order */
    const char *nl, *nisa;            /* how the kernel calls them; NULL: not imported */
    VEC(struct rewrite_site) sites;
    VEC(struct rewrite_decline) declined;
};

/* Parses and analyses. NULL with *err (kernel) when the source does not parse or has no kernel. */
struct rewrite_model *rewrite_model_new(const struct rewrite_request *request,
                                        struct err *err) CC_MUST_USE;
void rewrite_model_free(struct rewrite_model *model); /* accepts NULL */

struct rewrite_name *rewrite_name_of(const struct rewrite_model *model, struct str id);
/* The representative of the names that may share memory with this one. */
struct rewrite_name *rewrite_root(struct rewrite_name *name);
/* The NAME (store) node that binds what this NAME (load) node reads: the nearest one before it in
 * its own block or one around it. NULL when several could be meant, or for a parameter. */
struct nki_node *rewrite_def_of(const struct rewrite_model *model, const struct nki_node *load);
/* Puts the loads that read this definition into *uses (arena). False when it is not clear for every
 * load of the name which definition it reads. */
struct rewrite_uses {
    struct nki_node **at;
    size_t len;
};
bool rewrite_uses_of(const struct rewrite_model *model, const struct nki_node *def,
                     struct rewrite_uses *uses);
/* Whether anything that may share memory with the name is written or bound anew: below the node
 * `within`, apart from the statement `except` (NULL: none); or in the nodes from..to (ids). */
bool rewrite_is_written(const struct rewrite_model *model, struct rewrite_name *name,
                        const struct nki_node *within, const struct nki_node *except);
bool rewrite_is_written_between(const struct rewrite_model *model, struct rewrite_name *name,
                                uint32_t from, uint32_t to);
/* The name at the root of a chain of subscripts, attributes and method calls; NULL when there is
 * none. */
struct nki_node *rewrite_root_node(const struct nki_node *expr);

/* The block a statement stands in; two statements with the same block run one after the other. */
const struct nki_list *rewrite_block_of(const struct nki_node *stmt);
/* The value assigned to this NAME (store) node; NULL when it is not a plain assignment. */
struct nki_node *rewrite_value_of_def(const struct nki_node *def);
bool rewrite_int(const struct rewrite_model *model, const struct nki_node *expr, int64_t *value);
/* `nl.tile_size.pmax` and the like. */
bool rewrite_tile_size(const struct nki_node *expr, int64_t *value);
struct rewrite_affine rewrite_affine_of(const struct rewrite_model *model,
                                        const struct nki_node *expr);
int64_t rewrite_coef(const struct rewrite_affine *affine, const struct rewrite_loop *loop);
bool rewrite_region_of(const struct rewrite_model *model, const struct nki_node *expr,
                       struct rewrite_region *region);
struct rewrite_tile rewrite_tile_of(const struct rewrite_model *model, const struct nki_node *expr);
/* The tile bound by a NAME (store) node. */
struct rewrite_tile rewrite_tile_of_def(const struct rewrite_model *model,
                                        const struct nki_node *def);
int64_t rewrite_tile_bytes(const struct rewrite_tile *tile); /* per partition, of one block */
/* Bytes per partition that the kernel's SBUF tiles take when each exists once. */
int64_t rewrite_sbuf_bytes(const struct rewrite_model *model);
/* Why the kernel as it stands cannot be right (sizes, capacity); NULL when nothing was found. */
const char *rewrite_why_illegal(const struct rewrite_model *model);

const struct rewrite_loop *rewrite_loop_of(const struct rewrite_model *model,
                                           const struct nki_node *node);
/* Loops around a node, outermost first; 0 when one of them is not a plain range loop or there is a
 * condition, function or other block in between. */
int rewrite_loops_around(const struct rewrite_model *model, const struct nki_node *node,
                         const struct rewrite_loop *loops[REWRITE_MAX_DIMS]);
/* Which of the first n of `loops` the integers of an expression depend on, as a bit set. False when
 * it depends on something else that is bound inside `outermost`. */
bool rewrite_depends(const struct rewrite_model *model, const struct nki_node *expr,
                     const struct nki_node *outermost, unsigned *depends,
                     const struct rewrite_loop *const *loops, int n);

/* ---- calls ---------------------------------------------------------------------------------- */

/* The module a call goes to and the name there ("load"); REWRITE_NO_MODULE for anything else. */
enum rewrite_module rewrite_call_of(const struct rewrite_model *model, const struct nki_node *call,
                                    struct str *name);
bool rewrite_is_call(const struct rewrite_model *model, const struct nki_node *node,
                     enum rewrite_module module, const char *name);
/* Argument by keyword or position (from 0; -1: keyword only); NULL when it is not given. */
struct nki_node *rewrite_arg(const struct nki_node *call, const char *keyword, int position);
/* An operator or engine constant such as nl.add or np.add: its last name; empty otherwise. */
struct str rewrite_op_name(const struct nki_node *expr);
/* Whether a call to it does nothing but return a result or fill its dst. */
bool rewrite_is_pure(enum rewrite_module module, struct str name);

/* A statement that makes one tile: `t = nl.f(..)`, or `nisa.f(dst=t, ..)` after `t =
 * nl.ndarray(..)`. */
struct rewrite_maker {
    struct nki_node *stmt, *call;
    struct nki_node *def;   /* NAME (store) that binds the tile */
    struct nki_node *alloc; /* the allocating statement; NULL: stmt binds it itself */
    struct nki_node
        *element; /* `v[i, ..] = nl.f(..)`: what is assigned, a part of def's tile; else NULL */
    enum rewrite_module module;
    struct str op; /* "load", "tensor_scalar" */
    struct rewrite_tile tile;
};
/* False when the statement is none, or when the tile is also written elsewhere. */
bool rewrite_maker_of(const struct rewrite_model *model, struct nki_node *stmt,
                      struct rewrite_maker *maker);
/* Whether the expression reads just what the maker makes. */
bool rewrite_reads(const struct rewrite_model *model, const struct nki_node *expr,
                   const struct rewrite_maker *maker);
/* Two plain names or subscripts that stand for the same memory at one place of the kernel. */
bool rewrite_same_view(const struct rewrite_model *model, const struct nki_node *a,
                       const struct nki_node *b);
/* None, or a keyword that is left out. */
bool rewrite_is_none(const struct nki_node *expr);
/* The number of a definition among the bindings of its name, from 0; keys of sites have it. */
int rewrite_ordinal(const struct rewrite_model *model, const struct nki_node *def);
/* The maker of what this expression, a plain name, reads; false when it is not one statement. */
bool rewrite_maker_of_use(const struct rewrite_model *model, const struct nki_node *expr,
                          struct rewrite_maker *maker);
/* Moves HBM data into a tile: nl.load, or dma_copy with an HBM source; *src is what it reads. */
bool rewrite_is_load(const struct rewrite_model *model, const struct rewrite_maker *maker,
                     struct nki_node **src);

/* ---- elementwise operations ----------------------------------------------------------------- */

enum rewrite_elementwise {
    REWRITE_NOT_ELEMENTWISE,
    REWRITE_SCALAR,   /* data op operand; operand a number or one per partition */
    REWRITE_TENSOR,   /* data op operand; operand a tile of the same shape */
    REWRITE_FUNCTION, /* op(data * scale + bias) on the Scalar engine */
    REWRITE_REDUCE,   /* op over the free dimension */
    REWRITE_COPY,
    REWRITE_RECIPROCAL,
};
/* What an instruction computes, whichever way the kernel spells it. */
struct rewrite_op {
    enum rewrite_elementwise kind;
    struct str op; /* "add", "exp" */
    struct nki_node *data, *operand;
    struct nki_node *scale, *bias; /* FUNCTION; NULL: 1 and 0 */
    struct nki_node *dtype;        /* dtype= of the legacy dialect; NULL */
    struct nki_node *engine;       /* as asked for; NULL */
    bool reverse;                  /* SCALAR: operand op data */
    bool operand_is_number;
    bool exact; /* nothing beyond these fields was given */
};
struct rewrite_op rewrite_op_of(const struct rewrite_model *model,
                                const struct rewrite_maker *maker);
/* A literal with this value, however it is wrapped: -1, 1.0, np.dtype(np.float32).type(1). */
bool rewrite_is_value(const struct nki_node *expr, double value);
bool rewrite_op_commutes(struct str op);
bool rewrite_op_is_arithmetic(struct str op); /* add, subtract, multiply, maximum, minimum */
/* The one statement that reads the maker's tile; NULL when there are more or none. */
struct nki_node *rewrite_only_use(const struct rewrite_model *model,
                                  const struct rewrite_maker *maker);
/* Is every name that the expression reads unchanged between two statements of one block? */
bool rewrite_same_between(const struct rewrite_model *model, const struct nki_node *expr,
                          const struct nki_node *from, const struct nki_node *to);

#endif
