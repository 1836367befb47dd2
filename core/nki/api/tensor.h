/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors as a kernel handles them: views of storages. Also the legacy index expressions and their
 * masks. Private to this folder. */
#ifndef HONE_NKI_TENSOR_H
#define HONE_NKI_TENSOR_H

#include "nki/python/python.h"

#define TENSOR_MAX_DIMS 12
#define INDEX_MAX_DIMS 8
#define INDEX_MAX_TERMS 4
#define TENSOR_MAX_ELEMENTS ((int64_t)1 << 37) /* of a storage or a view; above any memory */
#define INDEX_MAX_NUMBER ((int64_t)1 << 29)    /* in an index expression */

/* ---- index expressions (legacy nl.arange, nl.mgrid) ----------------------------------------- */

/* c0 + sum(c[d] * i[d]) over the positions i of an array of this shape. */
struct index_affine {
    int64_t c0, c[INDEX_MAX_DIMS];
};
struct tensor;
/* An affine expression, or (a mask) the conjunction of `term[k] >= 0`. */
struct index_expr {
    int n_dims;
    int mask;
    const struct tensor *plus; /* a tile of one number, which is added on the device; NULL */
    int64_t size[INDEX_MAX_DIMS];
    struct index_affine at;                    /* of an expression */
    int64_t n_terms;                           /* of a mask; 0: always true */
    struct index_affine term[INDEX_MAX_TERMS]; /* of masks only: copy with index_read */
};

void index_read(struct index_expr *scratch, const struct index_expr *from);
const struct index_expr *index_new(struct interp *in, const struct index_expr *copy);
struct value index_arange(struct interp *in, int64_t start, int64_t count, int64_t step);
bool index_binary(struct interp *in, const struct nki_node *node, enum nki_binary op,
                  struct value a, struct value b, struct value *result);
/* The sum of an expression and a tile of one number (either may be first). */
bool index_plus(struct interp *in, const struct nki_node *node, struct value a, struct value b,
                struct value *result);
bool index_compare(struct interp *in, const struct nki_node *node, enum nki_comparison op,
                   struct value a, struct value b, struct value *result);
bool index_unary(struct interp *in, const struct nki_node *node, enum nki_unary op, struct value a,
                 struct value *result);
/* expr[:, None]: None adds an axis of size 1, a full slice keeps one. */
bool index_getitem(struct interp *in, const struct nki_node *node, const struct index_expr *expr,
                   struct value key, struct value *result);
/* nl.mgrid[a:b, c:d]: a tuple of dense index expressions. */
bool index_grid(struct interp *in, const struct nki_node *node, struct value key,
                struct value *result);
/* Brings two shapes to a common one as numpy does. False, with no error set, when they differ. */
bool index_broadcast(const struct index_expr *a, const struct index_expr *b,
                     struct index_expr *joined);
/* The expression over the dimensions of `shape`, which has as many or more. */
struct index_affine index_align(const struct index_affine *affine, int from_dims, int to_dims);

/* ---- views ---------------------------------------------------------------------------------- */

/* One dimension of a view. In HBM the step counts elements. On chip it counts partitions when
 * `part` is set, otherwise elements within a partition. That includes block dimensions, because
 * blocks follow each other. */
struct tensor_dim {
    int64_t size, step;
    bool part;
};

/* c0 + sum(c[d] * i[d]) over the dimensions of a view. */
struct tensor_affine {
    int64_t c0, c[TENSOR_MAX_DIMS];
};

/* An index that may reach outside [0, limit). This is an error unless a mask forbids it. */
struct tensor_bound {
    const struct tensor_bound *next;
    struct tensor_affine at;
    int64_t limit;
    int axis; /* of the tensor that was indexed */
};

/* A value of nl.loop_reduce. It is combined with what it is assigned to, except in the first
 * iteration. */
struct tensor_loop {
    enum nki_func func;
    bool first;
};

struct tensor {
    uint32_t storage;
    enum dtype dtype;
    enum nki_space space;
    uint8_t n_dims;
    bool immutable;       /* a legacy kernel parameter */
    bool nothing;         /* its producer was masked away entirely */
    uint32_t scope;       /* the loop that it ends with; 0: none */
    uint32_t branch;      /* .. and the branch */
    uint8_t indirect_dim; /* the view's dimension that a vector index feeds */
    uint32_t producer;    /* instruction index + 1; 0: none */
    int64_t partition, offset;
    const struct nki_indirect *indirect;
    const struct tensor_bound *bounds;
    /* The expression whose value it is, so that an assignment can redirect its instruction. */
    const struct nki_node *origin;
    const struct index_expr *mask;          /* what the producer was masked with */
    const struct tensor_loop *loop;         /* a value of nl.loop_reduce: how it is assigned */
    struct tensor_dim dim[TENSOR_MAX_DIMS]; /* a kept view has only n_dims of them */
};

/* A view as a value. Values hold plain pointers, so nobody writes to a view that others can see. */
static inline struct value value_tensor(const struct tensor *tensor) {
    return (struct value){.kind = VALUE_TENSOR, .tensor = (struct tensor *)(uintptr_t)tensor};
}
/* tensor_read copies a view into a struct of full size, without origin and producer. tensor_keep
 * copies it back into the arena. */
void tensor_read(struct tensor *scratch, const struct tensor *from);
struct tensor *tensor_keep(struct interp *in, const struct tensor *scratch);

/* What nl.ndarray asks for. `part` is the index of the partition dimension. */
struct tensor_request {
    enum nki_space space;
    enum dtype dtype;
    int n_dims, part;
    int64_t shape[TENSOR_MAX_DIMS];
    bool shared, zeroed;
    struct str name;
    int32_t address_partition; /* -1: automatic */
    int64_t address_byte;
};
/* Adds a storage to the program and returns the view of the whole storage. NULL after
 * interp_error. */
struct tensor *tensor_new(struct interp *in, const struct nki_node *node,
                          const struct tensor_request *request);
/* A new on-chip tile with the partition first. */
struct tensor *tensor_tile(struct interp *in, const struct nki_node *node, enum nki_space space,
                           enum dtype dtype, const int64_t *shape, int n_dims);
struct nki_storage *tensor_storage(struct interp *in, const struct tensor *tensor);

int64_t tensor_count(const struct tensor *tensor);
int tensor_part(const struct tensor *tensor); /* the first partition dimension; -1 in HBM */
int64_t tensor_partitions(const struct tensor *tensor);
int64_t tensor_free(const struct tensor *tensor); /* elements per partition */
bool tensor_same_shape(const struct tensor *a, const struct tensor *b);
const char *tensor_shape_text(struct interp *in, const struct tensor *tensor);

/* t[key] in either dialect. */
bool tensor_getitem(struct interp *in, const struct nki_node *node, const struct tensor *tensor,
                    struct value key, struct tensor **result);
/* A method or an attribute ("reshape", "shape", "ap"). False without an error when it is
 * unknown. */
bool tensor_attribute(struct interp *in, const struct nki_node *node, struct tensor *tensor,
                      struct str name, struct value *result);
struct tensor *tensor_reshape(struct interp *in, const struct nki_node *node,
                              const struct tensor *tensor, const int64_t *shape, int n_dims);
/* The view repeated to `shape`: dimensions of size 1 are repeated, missing leading ones are
 * added. */
struct tensor *tensor_broadcast(struct interp *in, const struct nki_node *node,
                                const struct tensor *tensor, const int64_t *shape, int n_dims);
struct tensor *tensor_cast_view(struct interp *in, const struct nki_node *node,
                                const struct tensor *tensor, enum dtype dtype);

/* The access pattern of a view, for an instruction. The partition comes first. `order` names the
 * view's dimension for each position; NULL is the view's own order with the partition moved to the
 * front. NULL after interp_error. */
const struct nki_ap *tensor_ap(struct interp *in, const struct nki_node *node,
                               const struct tensor *tensor, const int *order);
/* Cuts a view to the box of a mask. False after interp_error. `empty` is set when nothing is left.
 * `rest` holds the terms that are no box, over the view's dimensions. */
struct tensor_clip {
    bool empty;
    int n_rest;
    struct tensor_affine rest[INDEX_MAX_TERMS];
};
bool tensor_mask(struct interp *in, const struct nki_node *node, struct tensor *view,
                 const struct index_expr *mask, struct tensor_clip *clip);

/* What a tensor, an index expression or a register is, for who watches the evaluation. */
void tensor_describe(struct interp *in, struct value value, struct nki_seen *seen);
/* Whether a view can be taken of the tensor: not of what .indirect() gives. False after
 * interp_error. */
bool tensor_is_whole(struct interp *in, const struct nki_node *node, const struct tensor *t);
/* A shape from a tuple, list or int. */
bool tensor_read_shape(struct interp *in, const struct nki_node *node, struct value value,
                       int64_t *shape, int *n_dims);

/* api_args.c: whether the kernel's release has int64, for what NkiScalars load and store. */
bool api_has_int64(struct interp *in);

#endif
