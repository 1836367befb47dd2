/* SPDX-License-Identifier: Apache-2.0 */
/* The NKI API as kernels see it: its modules, the functions of both dialects, and how calls become
 * instructions. Private to this folder. */
#ifndef HONE_NKI_API_H
#define HONE_NKI_API_H

#include "nki/api/tensor.h"

/* What values and modules of NKI do. An interpreter gets it as a table. */
extern const struct interp_objects api_objects;

#define API_MAX_OPERANDS 20

/* ---- state ---------------------------------------------------------------------------------- */

struct api_row;       /* an instruction's defaults, prepared (api_emit.c) */
struct api_binding;   /* how its signature is bound (api_isa.c) */
struct api_site;      /* an nl.loop_reduce call and what it reduces into */
struct api_constant { /* a tile of ones, or an identity; each is made once */
    int what;         /* enum api_constant_kind */
    enum dtype dtype;
    int64_t size;
    struct tensor *tile;
    struct api_constant *next;
};
enum api_constant_kind { API_ONES_ROW, API_IDENTITY };

struct api_shared {
    struct tensor *tensor;
    struct api_shared *next;
};

/* What needs a tile of the compiler's, which kernels that allocate their tiles do not have. */
enum api_implicit { API_IMPLICIT_VALUE, API_IMPLICIT_BIAS, API_IMPLICIT_TRANSPOSE };

/* Where the kernel asked for its first tile with an address of its own, and for the first without:
 * number + 1 of the program's location; 0: nowhere. */
struct api_placed {
    uint32_t own, automatic;
    bool told; /* that there are both */
};

struct api {
    const struct api_row *rows[NKI_OP_COUNT];
    const struct api_binding *bindings[3][NKI_OP_COUNT]; /* by the form of the signature */
    struct api_constant *constants;
    struct api_site *sites;
    uint32_t order_group, order_groups; /* of the present no_reorder block; how many there were */
    uint32_t order_depth;
    struct api_shared *shared;          /* outputs in order of creation */
    size_t next_shared, instances;      /* of an SPMD launch, whose instances share their outputs */
    const struct nki_more *more;        /* that the last instruction with some had; NULL */
    bool split;                         /* the last api_emit became several instructions */
    bool skipped;                       /* the last api_emit was masked away entirely */
    const struct index_expr **interned; /* index expressions seen, by hash */
    struct ap_shape **shapes;           /* of access patterns (tensor_ap.c), by hash */
    struct kept_pattern *patterns;      /* the last ones themselves, by hash */
    const char **names;                 /* of storages (tensor.c), by hash */
    const int64_t **declared;           /* their shapes, by hash */
    struct api_register *registers;     /* api_dynamic.c */
    int n_registers;
    struct api_unknown *unknown;
    struct api_loop *loop;          /* on the device, the innermost; NULL */
    struct value_dict *taken[2];    /* the names that tensors of each program were given */
    struct api_prepared *prepared;  /* a collective that was not triggered yet; NULL */
    struct api_placed placed[2];    /* tiles of the kernel in SBUF and in PSUM */
    bool allocates;                 /* the kernel allocates its tiles itself */
    enum api_implicit implicit;     /* what it did before that allocated kernels cannot .. */
    const struct nki_node *implied; /* .. and where; NULL: nothing */
};
struct api *api_of(struct interp *in);
/* api_create.c: the kernel does something of the kind (legacy dialect), or allocates a tile itself.
 * False after the error that it does both. */
bool api_implicit(struct interp *in, const struct nki_node *node, enum api_implicit what);
bool api_allocates(struct interp *in);

/* ---- building an instruction ---------------------------------------------------------------- */

struct api_build {
    struct interp *in;
    const struct nki_node *node;
    enum nki_op op;
    enum nki_engine engine;
    const char *label;
    const struct index_expr *mask;
    bool dynamic; /* a tile in it may have an index that only the device knows (legacy) */
    struct nki_operand operand[API_MAX_OPERANDS];
    const struct tensor *tensor[API_MAX_OPERANDS]; /* of AP operands; api_emit makes patterns */
};

/* Starts an instruction with every operand at its default. */
void api_start(struct api_build *b, struct interp *in, const struct nki_node *node, enum nki_op op);
/* Sets operand k, which is NKI_<ID>_<parameter>. */
void api_put_tensor(struct api_build *b, size_t k, const struct tensor *tensor);
void api_put(struct api_build *b, size_t k, struct nki_operand operand);
static inline struct nki_operand operand_int(int64_t i) {
    return (struct nki_operand){.kind = NKI_OPERAND_INT, .i = i};
}
static inline struct nki_operand operand_bool(bool b) {
    return (struct nki_operand){.kind = NKI_OPERAND_BOOL, .i = b};
}
static inline struct nki_operand operand_float(double f) {
    return (struct nki_operand){.kind = NKI_OPERAND_FLOAT, .f = f};
}
static inline struct nki_operand operand_func(enum nki_func func) {
    return (struct nki_operand){.kind = NKI_OPERAND_FUNC, .i = func};
}
static inline struct nki_operand operand_enum(int64_t number) {
    return (struct nki_operand){.kind = NKI_OPERAND_ENUM, .i = number};
}
/* Clips operands by the mask, orders their dimensions, makes their patterns and emits the
 * instruction. False after interp_error. */
bool api_emit(struct api_build *b);
/* The mask as the instruction's dst sees it; NULL: it has none. */
const struct index_expr *api_dst_mask(const struct api_build *b);
/* How many dimensions a pattern of the view needs: those of size 1 go, and contiguous ones join. */
int api_pattern_dims(const struct tensor *t);
/* The tensor as an operand that compute engines can read: a broadcast over partitions becomes a
 * tile. */
const struct tensor *api_operand(struct interp *in, const struct nki_node *node,
                                 const struct tensor *tensor);

/* A new on-chip tile of the same shape, with the partition at the same dimension. */
struct tensor *api_tile_like(struct interp *in, const struct nki_node *node,
                             const struct tensor *shape, enum nki_space space, enum dtype dtype);

/* Marks a fresh tile as the value of the expression at `node`, made by the last instruction. The
 * mask is over the tile's own dimensions. */
struct value api_produced(struct interp *in, const struct nki_node *node, const struct tensor *tile,
                          const struct index_expr *mask);

/* ---- parts of the lowering ------------------------------------------------------------------ */

enum dtype api_promote(enum dtype a, enum dtype b);
/* dst = src: by DMA where HBM is involved, otherwise by a copy on chip. Broadcasts src to dst. */
bool api_copy(struct interp *in, const struct nki_node *node, const struct tensor *dst,
              const struct tensor *src, const struct index_expr *mask);
bool api_memset(struct interp *in, const struct nki_node *node, const struct tensor *dst,
                double value);
struct tensor *api_constant_tile(struct interp *in, const struct nki_node *node,
                                 enum api_constant_kind kind, enum dtype dtype, int64_t size);

/* One nl.* function or operator to lower. */
struct api_op {
    struct interp *in;
    const struct nki_node *node; /* the expression, for places of errors */
    enum nki_func func;
    enum dtype dtype; /* of the result; DTYPE_NONE: by the dialect's rule */
    const struct index_expr *mask;
    const struct tensor *dst; /* write here instead of into a new tile */
    const char *name;         /* of the function, for errors; NULL: that of func */
};
/* What the current dialect has no operators for: false after interp_error, which says what to write
 * instead. True in the legacy dialect. */
bool api_take_operator(struct interp *in, const struct nki_node *node, const char *text,
                       enum nki_func func, bool both);
/* Whether nl.add(x, y) and its like take these: the same shape, and an operator that is on the
 * device. */
bool api_take_pair(const struct api_op *op, struct value x, struct value y);
bool api_lower_binary(const struct api_op *op, struct value x, struct value y,
                      struct value *result);
bool api_lower_unary(const struct api_op *op, struct value x, struct value *result);
/* nl.matmul; func is not used. */
bool api_lower_matmul(const struct api_op *op, const struct tensor *x, const struct tensor *y,
                      bool transpose_x, struct value *result);
/* A reduction by add, multiply, maximum, minimum, logical_and, average (mean) .. over the given
 * axes. */
struct api_reduction {
    struct value axes;
    bool keepdims, negate;
};
bool api_lower_reduce(const struct api_op *op, struct value x,
                      const struct api_reduction *reduction, struct value *result);
bool api_lower_variance(const struct api_op *op, struct value x,
                        const struct api_reduction *reduction, struct value *result);
bool api_lower_softmax(const struct api_op *op, struct value x, struct value axis,
                       struct value *result);
struct api_rms_norm {
    const struct tensor *x, *w;
    struct value axis;
    double n, epsilon;
};
bool api_lower_rms_norm(const struct api_op *op, const struct api_rms_norm *norm,
                        struct value *result);
/* Transposes x [P, F] on the Tensor engine into a new tile [F, P] of PSUM; NULL after an error. */
struct tensor *api_transposed(const struct api_op *op, const struct tensor *x);
bool api_lower_transpose(const struct api_op *op, const struct tensor *x, struct value *result);
/* dst = data op number, as one instruction. */
bool api_emit_scalar(const struct api_op *op, const struct tensor *data, struct nki_operand number,
                     bool reverse);
bool api_emit_unary(const struct api_op *op, const struct tensor *data);
/* `target[...] = item`, `target[...] op= item` and nl.loop_reduce. False after interp_error. */
bool api_assign(struct interp *in, const struct nki_node *node, const struct tensor *target,
                struct value item);
/* The function that an operator of Python means for tensors; NKI_FUNC_NONE: it means none. */
enum nki_func api_binary_func(enum nki_binary op);
bool api_accumulate(struct interp *in, const struct nki_node *node, enum nki_binary op,
                    const struct tensor *target, struct value item);
bool api_loop_reduce(struct interp *in, const struct call *call, struct value *result);

/* ---- arguments ------------------------------------------------------------------------------ */

bool api_want_tensor(struct interp *in, const struct nki_node *node, const char *what,
                     struct value value, const struct tensor **tensor);
bool api_want_dtype(struct interp *in, const struct nki_node *node, struct value value,
                    enum dtype *dtype);
bool api_want_int(struct interp *in, const struct nki_node *node, const char *what,
                  struct value value, int64_t *number);
bool api_want_number(struct value value, double *number); /* sets no error */
bool api_want_mask(struct interp *in, const struct nki_node *node, struct value value,
                   const struct index_expr **mask);
/* A member of an enumeration of nisa ("engine") by its name; false when it has none. */
bool api_enum_member(const char *type, struct str member, struct value *result);
/* The operator that an op= constant means: nl.add, np.add, or (legacy) a number's name.
 * NKI_FUNC_NONE when it means none. */
enum nki_func api_func_of(struct value value);
/* What a buffer= asks for. `own`: an allocator of nki.compiler says where the tile lies. */
struct api_buffer {
    enum nki_space space;
    bool shared, own;
};
/* None is SBUF. */
bool api_want_buffer(struct interp *in, const struct nki_node *node, struct value value,
                     struct api_buffer *buffer);

/* ---- native functions of nki.language, for its table of names ----------------------------------
 */

#define API_MAX_BOUND 16

/* Binds a call to the signature. An argument that is left out is VALUE_NONE. */
bool api_bind(struct interp *in, const struct call *call, const char *signature,
              struct value *values);

native_fn nl_par_dim, nl_ndarray, nl_filled, nl_full, nl_like, nl_rand, nl_shared_constant,
    nl_shared_identity_matrix;
native_fn nl_load, nl_store, nl_load_transpose2d, nl_transpose, nl_expand_dims, nl_broadcast_to,
    nl_gather_flattened, nl_ds, nl_arange, nl_cast, nl_atomic_rmw;
native_fn tensor_rearrange; /* methods of tensors */
native_fn tensor_columns;
/* A ufunc of numpy on numbers. */
bool api_numpy_call(struct interp *in, const struct call *call, enum nki_func func,
                    struct value *result);
native_fn nl_nothing, nl_context;

/* ---- tables of names ------------------------------------------------------------------------ */

bool api_language_name(struct interp *in, const struct nki_node *node, struct str name,
                       struct value *result);
bool api_numpy_name(struct interp *in, const struct nki_node *node, struct str name,
                    struct value *result);
bool api_buffer_name(struct str name, struct value *result);
struct value api_buffer_value(struct api_buffer buffer);
bool api_isa_call(struct interp *in, const struct call *call, struct value *result);
/* api_cores.c: nisa.sendrecv and nisa.core_barrier. */
native_fn api_sendrecv, api_core_barrier;
/* A name of nki.collectives. */
bool api_collectives_name(struct interp *in, struct str name, struct value *result);
/* Calls nl.<func>(...) as kernels write it. */
bool api_func_call(struct interp *in, const struct call *call, enum nki_func func,
                   struct value *result);
/* Host arrays: what numpy makes in kernels. Their elements are float64, whatever the dtype. They
 * live in the interpreter's arena. NULL or false after an error, which is reported. */
struct array *api_host_new(struct interp *in, const struct nki_node *node, enum dtype dtype,
                           const int64_t *shape, int n_dims);
struct array *api_host_copy(struct interp *in, const struct nki_node *node,
                            const struct array *array);
struct value api_host_value(struct array *array);
/* One with these elements, float64 whatever its dtype. */
bool api_host_given(struct interp *in, const struct nki_node *node, const struct array *array,
                    struct value *result);
bool api_host_shape(struct interp *in, const struct nki_node *node, struct value v, int64_t *shape,
                    int *n);
bool api_host_getitem(struct interp *in, const struct nki_node *node, struct array *array,
                      struct value key, struct value *result);
bool api_host_setitem(struct interp *in, const struct nki_node *node, struct array *array,
                      struct value key, struct value item);
bool api_host_attribute(struct interp *in, const struct nki_node *node, struct array *array,
                        struct str name, struct value *result);
bool api_host_binary(struct interp *in, const struct nki_node *node, enum nki_binary op,
                     struct value a, struct value b, struct value *result);
bool api_host_compare(struct interp *in, const struct nki_node *node, enum nki_comparison op,
                      struct value a, struct value b, struct value *result);
struct array *api_host_transpose(struct interp *in, const struct nki_node *node,
                                 const struct array *array);
double api_host_read(const struct array *array, int64_t index);
/* The i-th element of the array when it is broadcast to a shape. */
double api_host_at(const struct array *array, const struct array *shape, int64_t i);

/* ---- rows of api_objects that stand elsewhere ------------------------------------------------ */

bool api_grid_axis(struct value tuple, struct str name, struct value *result);
bool api_parameter(struct interp *in, const struct nki_node *node, const struct nki_input *input,
                   size_t index, struct str name, struct value *result);
bool api_return(struct interp *in, const struct nki_node *node, struct value value);
/* api_dynamic.c: what a register holds while the kernel is evaluated; false when v is none. As an
 * operand: a number, or the register where only the device knows it. */
bool api_register_value(struct interp *in, struct value v, int64_t *value);
extern const enum nki_engine api_sequencers[4]; /* the engines that have registers */
/* Of an NkiScalar int32 or int64; DTYPE_NONE: v is none. */
enum dtype api_scalar_dtype(struct interp *in, struct value v);
/* a op b, one of them a register; the device computes it. False after interp_error. */
bool api_scalar_binary(struct interp *in, const struct nki_node *node, enum nki_binary op,
                       struct value a, struct value b, struct value *result);
/* The NkiScalar that counts a loop of the device, in a round of which the number is known. None
 * after interp_error. */
struct value api_scalar_index(struct interp *in, const struct nki_node *node, int64_t value);
/* A number that is known while the kernel is evaluated: an int, or a register that holds one. False
 * without an error: it is none. */
bool api_known(struct interp *in, struct value v, int64_t *number);
struct nki_operand api_register_operand(struct interp *in, struct value v);
/* api_args.c: a class of NKI by its module and name, "nl" and "NkiTensor": what annotations and
 * isinstance() name. False without an error: there is none. And whether a value is of one. */
bool api_class_name(struct interp *in, const char *module, struct str name, struct value *result);
bool api_is_of(struct interp *in, struct value value, const struct value_native *type);
/* api_loops.c: what the call of an instruction returns, which emitted what comes from number
 * `first` on: an NkiInstruction since NKI 0.6, before that None. And its attributes. */
struct value api_instruction(struct interp *in, const struct nki_node *node, size_t first);
bool api_instruction_attribute(struct interp *in, struct value self, struct str name,
                               struct value *result);
/* api_grid.c. Whether coordinates are blocks, not tiles. */
bool api_grid_is_blocks(const struct api_grid *grid);
bool api_grid_getitem(struct interp *in, const struct nki_node *node, const struct api_grid *grid,
                      struct value key, struct value *result);
bool api_grid_attribute(struct interp *in, const struct nki_node *node, const struct api_grid *g,
                        struct str name, struct value *result);
extern const struct value_native api_grid_natives[];    /* ends with a row without name */
extern const struct value_native api_dynamic_natives[]; /* ends with a row without name */
/* A loop on the device: begin, then round before each round and once behind the last, next after
 * each, end. `decides` is the register that says how many; anything else: nobody else does. */
bool api_loop_begin(struct interp *in, const struct nki_node *node);
bool api_loop_round(struct interp *in, const struct nki_node *node, struct value decides);
void api_loop_next(struct interp *in);
void api_loop_end(struct interp *in);
/* For a tile that was made: nki_storage.again. */
uint32_t api_loop_tile(struct interp *in, uint32_t storage);
struct interp_launch api_launch_begin(struct interp *in);
void api_launch_next(struct interp *in, const struct interp_launch *launch, size_t instance);
void api_launch_end(struct interp *in, const struct interp_launch *launch);

#endif
