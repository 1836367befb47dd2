/* SPDX-License-Identifier: Apache-2.0 */
/* The program: what a kernel becomes once its inputs are known. It is a flat sequence of device
 * instructions. Their operands are access patterns over HBM, SBUF and PSUM, and each has the source
 * span it came from. Loops are unrolled (or folded: nki_fold), calls inlined, shapes known. */
#ifndef HONE_NKI_PROGRAM_H
#define HONE_NKI_PROGRAM_H

#include "base/base.h"
#include "nki/syntax/syntax.h"

#define NKI_MAX_DIMS 6     /* partition and up to 5 free dimensions */
#define NKI_PARTITIONS 128 /* of SBUF and PSUM, all generations */

enum nki_generation {
#define GENERATION(id, number, ...) NKI_##id = number,
#include "nki/program/generations.def"
#undef GENERATION
};
#define NKI_GENERATION_DEFAULT NKI_GEN3 /* the default generation */
/* Finds a generation by "trn2" or "gen3", in any case; 0 when there is none. */
enum nki_generation nki_generation_find(const char *name);
const char *nki_generation_name(enum nki_generation generation);  /* "trn2" */
const char *nki_generation_alias(enum nki_generation generation); /* "gen3" */
/* Bytes of an SBUF partition that a kernel can use. */
int64_t nki_generation_sbuf_bytes(enum nki_generation generation);

enum nki_space { NKI_HBM, NKI_SBUF, NKI_PSUM };

/* The members of nisa.engine and their values. UNKNOWN leaves the choice to the device. */
enum nki_engine {
    NKI_ENGINE_UNKNOWN,
    NKI_ENGINE_TENSOR,
    NKI_ENGINE_SCALAR,
    NKI_ENGINE_GPSIMD,
    NKI_ENGINE_DMA,
    NKI_ENGINE_VECTOR,
    NKI_ENGINE_SYNC,
    NKI_ENGINE_COUNT
};
const char *nki_engine_name(enum nki_engine engine); /* "vector" */

/* ---- operators: nl.* names that stand as op= of an instruction ------------------------------ */

/* X(ID, "name", flags), with the flags b binary ALU, u unary ALU, r legal reduction, i bitvec, c
 * comparison, a activation function, 4 trn3 only. */
#define NKI_FUNC_TABLE(X)                                  \
    X(ADD, "add", "br")                                    \
    X(SUBTRACT, "subtract", "b")                           \
    X(MULTIPLY, "multiply", "br")                          \
    X(DIVIDE, "divide", "b")                               \
    X(MAXIMUM, "maximum", "br")                            \
    X(MINIMUM, "minimum", "br")                            \
    X(ABS_MAX, "abs_max", "b4")                            \
    X(ABS_MIN, "abs_min", "b4")                            \
    X(POWER, "power", "b")                                 \
    X(MOD, "mod", "b")                                     \
    X(FMOD, "fmod", "b")                                   \
    X(EQUAL, "equal", "bc")                                \
    X(NOT_EQUAL, "not_equal", "bc")                        \
    X(LESS, "less", "bc")                                  \
    X(LESS_EQUAL, "less_equal", "bc")                      \
    X(GREATER, "greater", "bc")                            \
    X(GREATER_EQUAL, "greater_equal", "bc")                \
    X(LOGICAL_AND, "logical_and", "br")                    \
    X(LOGICAL_OR, "logical_or", "br")                      \
    X(LOGICAL_XOR, "logical_xor", "br")                    \
    X(LOGICAL_NOT, "logical_not", "u")                     \
    X(BITWISE_AND, "bitwise_and", "bri")                   \
    X(BITWISE_OR, "bitwise_or", "bri")                     \
    X(BITWISE_XOR, "bitwise_xor", "bri")                   \
    X(LEFT_SHIFT, "left_shift", "bi")                      \
    X(RIGHT_SHIFT, "right_shift", "bi")                    \
    X(INVERT, "invert", "ui")                              \
    X(AVERAGE, "average", "r")                             \
    X(BYPASS, "bypass", "b")                               \
    X(COPY, "copy", "a")                                   \
    X(ABS, "abs", "ua")                                    \
    X(SQUARE, "square", "ua")                              \
    X(SIGN, "sign", "a")                                   \
    X(NEGATIVE, "negative", "")                            \
    X(RELU, "relu", "ua")                                  \
    X(PRELU, "prelu", "a")                                 \
    X(EXP, "exp", "a")                                     \
    X(LOG, "log", "a")                                     \
    X(SQRT, "sqrt", "a")                                   \
    X(RSQRT, "rsqrt", "ua")                                \
    X(RECIPROCAL, "reciprocal", "a")                       \
    X(SIN, "sin", "a")                                     \
    X(COS, "cos", "")                                      \
    X(TAN, "tan", "")                                      \
    X(ARCTAN, "arctan", "a")                               \
    X(TANH, "tanh", "a")                                   \
    X(SIGMOID, "sigmoid", "a")                             \
    X(SILU, "silu", "a")                                   \
    X(SILU_DX, "silu_dx", "a")                             \
    X(SOFTPLUS, "softplus", "a")                           \
    X(MISH, "mish", "a")                                   \
    X(GELU, "gelu", "a")                                   \
    X(GELU_DX, "gelu_dx", "a")                             \
    X(GELU_APPRX_TANH, "gelu_apprx_tanh", "a")             \
    X(GELU_APPRX_SIGMOID, "gelu_apprx_sigmoid", "a")       \
    X(GELU_APPRX_SIGMOID_DX, "gelu_apprx_sigmoid_dx", "a") \
    X(ERF, "erf", "a")                                     \
    X(ERF_DX, "erf_dx", "a")                               \
    X(CEIL, "ceil", "")                                    \
    X(FLOOR, "floor", "")                                  \
    X(TRUNC, "trunc", "")

enum nki_func {
    NKI_FUNC_NONE,
#define X(id, name, flags) NKI_FUNC_##id,
    NKI_FUNC_TABLE(X)
#undef X
        NKI_FUNC_COUNT
};
const char *nki_func_name(enum nki_func func);
bool nki_func_has(enum nki_func func, char flag);
enum nki_func nki_func_find(struct str name); /* NKI_FUNC_NONE when unknown */

/* ---- instructions --------------------------------------------------------------------------- */

/* The one table of instructions is nki/program/instructions.def. This folder reads names and
 * parameters from it; the device reads engines, limits, semantics and cost. */
enum nki_op {
#define INSTR(id, ...) NKI_OP_##id,
#include "nki/program/instructions.def"
#undef INSTR
    NKI_OP_COUNT
};
const char *nki_op_name(enum nki_op op); /* "tensor_scalar" */

/* Where each operand of an instruction is: NKI_<ID>_<parameter>, such as NKI_ACTIVATION_bias. */
enum nki_operand_place {
#define PARAM(id, name, ...) NKI_##id##_##name,
#define FIELD(...)
#define LEGACY(...)
#define INSTR(id, op, engines, check, exec, cost, summary, parameters) \
    NKI_BEFORE_##id = -1, parameters
#include "nki/program/instructions.def"
#undef INSTR
#undef LEGACY
#undef FIELD
#undef PARAM
};
#define NKI_DST 0 /* of every instruction */
/* .. also where it has another name, or is the one tile of what writes none. */
enum {
    NKI_TOPK_dst = NKI_TOPK_val_dst,
    NKI_RAND_SET_STATE_dst = NKI_RAND_SET_STATE_src_seeds,
    NKI_SET_RNG_SEED_dst = NKI_SET_RNG_SEED_src_seeds
};

/* Where something came from: a span of the kernel's file (or of a file that it imports), and the
 * call that led there. */
struct nki_loc {
    uint32_t file;         /* index into program->files */
    uint32_t line, column; /* from 1; column in bytes */
    uint32_t start, end;   /* byte span of the statement or call */
    int32_t caller;        /* index into program->locs, -1: the kernel's own body */
};

/* One allocation: the kernel asked for it, or it is an HBM tensor that the kernel was given or
 * returns. On chip a storage is `blocks` pieces of [partitions x block_bytes]. There is a block for
 * each position of the block dimensions (legacy dialect), otherwise one block. Within a partition
 * the blocks follow each other: byte b of a partition belongs to block b / block_bytes. Each block
 * lives, is placed and dies on its own. */
struct nki_storage {
    enum nki_space space;
    enum dtype dtype;
    const char *name; /* the label, or the variable it was assigned to, or "" */
    uint32_t loc;
    int n_dims;           /* as declared, block dimensions included */
    const int64_t *shape; /* ARRAY_MAX_DIMS long, 0 past n_dims; storages share it */
    uint32_t partitions;  /* on chip: 1..128 in a legal program; the device checks it */
    uint32_t blocks;
    uint64_t block_bytes;      /* per partition */
    uint64_t bytes;            /* HBM: whole size */
    bool zeroed;               /* PSUM of nl.zeros: unwritten reads as 0 instead of NaN */
    bool shared;               /* shared_hbm */
    int32_t input;             /* index of the kernel input; -1: it is none */
    int32_t output;            /* index of the returned tensor; -1: it is none */
    int32_t address_partition; /* manual placement; -1: automatic */
    int64_t address_byte;
    uint32_t again; /* on chip: number + 1 of the storage whose memory it takes over, because both
                     * are one tile of a loop's body on the device; 0: it has its own */
    const void *constant; /* nl.shared_constant: data in row-major order; otherwise NULL */
};

struct nki_ap;

/* A position that only the device knows. */
struct nki_indirect {
    bool vector;                /* one row index per partition (gather/scatter), or a scalar */
    bool columns;               /* one index for each element of a row: see nki_index_group */
    const struct nki_ap *index; /* SBUF tile of indices; NULL: a register */
    int32_t reg;
    int64_t step;            /* elements of the base for each unit of the index */
    bool skip_out_of_bounds; /* oob_mode.skip */
    int64_t limit;           /* index values from here on are out of bounds */
};

/* How many partitions share their positions where `columns` is set: in a group of that many,
 * element i of every row is at index[i % group, i / group] of the group's part of the index tile
 * (NkiTensor.indirect of the NKI 0.6 reference: 32 on the Tensor engine, 16 on the others). */
static inline int nki_index_group(enum nki_engine engine) {
    return engine == NKI_ENGINE_TENSOR ? 32 : 16;
}

/* An access pattern: the elements at offset + sum(step[d] * i[d]), d outermost first. On chip
 * dimension 0 is the partition: element (i0, i1..) lies in partition `partition + step[0] * i0`, at
 * the element offset + sum over d >= 1 within that partition. In HBM all dimensions count elements
 * from the start of the storage. Step 0 repeats (broadcast). */
struct nki_ap {
    uint32_t storage;   /* index into program->storages */
    uint16_t partition; /* of a tile that no device has, UINT16_MAX at most */
    uint8_t dtype;  /* enum dtype: what it is read as; another than the storage's after view() */
    uint8_t n_dims; /* >= 1; on chip >= 1 with the partition */
    int64_t offset;
    int64_t *step;  /* n_dims long; patterns of the same shape share these two, */
    int32_t *count; /* so nobody but their maker writes to them */
    const struct nki_indirect *indirect; /* NULL: none */
};
int64_t nki_ap_count(const struct nki_ap *ap); /* elements, all dimensions */
int64_t nki_ap_free(const struct nki_ap *ap);  /* elements per partition (on chip) */
struct nki_program;
/* As subscripts of the storage, "sbuf:tile[0:128, 0:512] f32"; otherwise as offset and steps. */
void nki_ap_print(const struct nki_program *program, const struct nki_ap *ap, struct buf *out);

/* A legacy mask that is not a plain box (a box shrinks the operands): the conjunction of c0 +
 * sum(c[d] * i[d]) >= 0 over the dimensions of the destination pattern. */
struct nki_mask {
    int n_terms;
    struct nki_mask_term {
        int64_t c0, c[NKI_MAX_DIMS];
    } term[4];
};

enum nki_operand_kind {
    NKI_OPERAND_NONE, /* not given, or None */
    NKI_OPERAND_AP,   /* ap */
    NKI_OPERAND_APS,  /* list.aps: several operands (dma_compute srcs, register lists) */
    NKI_OPERAND_INT,
    NKI_OPERAND_FLOAT,
    NKI_OPERAND_BOOL,
    NKI_OPERAND_FUNC,  /* i: enum nki_func */
    NKI_OPERAND_ENUM,  /* i: a member of reduce_cmd, dge_mode, oob_mode, perf_mode.. */
    NKI_OPERAND_DTYPE, /* i: enum dtype */
    NKI_OPERAND_INTS,  /* list.ints: masks, axes, patterns flattened [[step, num], ..] */
    NKI_OPERAND_REG    /* i: register number */
};
/* Members of nisa's enumerations that operands hold (nki.isa reference). */
enum nki_reduce_cmd {
    NKI_REDUCE_IDLE,
    NKI_REDUCE_RESET,
    NKI_REDUCE_REDUCE,
    NKI_REDUCE_RESET_REDUCE,
    NKI_REDUCE_LOAD_REDUCE
};
enum nki_dge_mode { NKI_DGE_UNKNOWN, NKI_DGE_SWDGE, NKI_DGE_HWDGE, NKI_DGE_NONE };
enum nki_oob_mode { NKI_OOB_ERROR, NKI_OOB_SKIP };
enum nki_perf_mode {
    NKI_PERF_NONE,
    NKI_PERF_DOUBLE_ROW,
    NKI_PERF_DOUBLE_COLUMN,
    NKI_PERF_DOUBLE_PIXEL,
    NKI_PERF_DOUBLE_ROW_SW_INTERLEAVE
};

#define NKI_MOST_LISTED ((size_t)4096)
/* There are very many of these, so they are packed. */
struct __attribute__((packed, aligned(4))) nki_operand {
    uint32_t kind : 8;
    uint32_t n : 24; /* of a list, NKI_MOST_LISTED at most */
    union {
        const struct nki_ap *ap;
        const struct nki_ap *const *aps;
        const int64_t *ints;
        int64_t i; /* INT, BOOL, FUNC, ENUM, DTYPE, REG */
        double f;
    };
};

/* What few instructions have. */
struct nki_more {
    const struct nki_mask *mask; /* NULL: none */
    const char *label;           /* name=, or NULL */
    uint32_t order_group;        /* number of the no_reorder block; 0: free */
    uint32_t mate;         /* of what two cores do together: the number + 1 of the other core's
                            * instruction, which is next to it; 0: it does it alone */
    uint32_t mark;         /* what others wait for it by, from 1; 0: none does */
    const uint32_t *after; /* the marks that it waits for, without operands that say so .. */
    uint32_t n_after;      /* .. how many */
};
extern const struct nki_more nki_nothing_more; /* what all others have */

/* operands[k] is parameter k of the instruction's row (the current dialect's order, dst first),
 * without `name` and `engine`, which are fields. A legacy dtype= is in dst, a legacy mask= in
 * `more`. */
struct nki_instr {
    uint8_t op;     /* enum nki_op */
    uint8_t engine; /* enum nki_engine as asked for; the device decides UNKNOWN */
    uint8_t n_operands;
    uint8_t core; /* of the launch: 0, or 1 where the program has two */
    uint32_t loc;
    const struct nki_operand *operands;
    const struct nki_more *more; /* never NULL */
};

/* A loop of which rounds were left out. A period is the rounds after which the loop does the same
 * again; from one to the next, operands in HBM move by the same step and each tile is a new one.
 * The periods left out belong behind those that were kept; at least one more follows there. */
struct nki_fold {
    uint32_t first, length;           /* instructions: of the first period kept; of a period */
    uint32_t first_storage, storages; /* that the first period kept makes; that each makes */
    uint32_t rounds;                  /* of the loop in a period */
    uint32_t kept;                    /* periods */
    uint64_t left_out;                /* periods */
};

/* A round of a loop whose rounds may run in any order (nl.affine_range of the legacy dialect), or a
 * program of a launch in that dialect. */
struct nki_round {
    uint32_t loop;   /* its loop's number; a loop that is entered again has another one */
    uint32_t around; /* number + 1 of the round that it is in; 0: it is in none */
    uint32_t loc;    /* of the loop */
    bool is_program;
    int64_t item; /* the index of the loop, or the number of the program */
};
#define NKI_ROUND_UNKNOWN UINT32_MAX
/* From instruction `first` on, until the next mark, instructions are of round number `round` - 1;
 * 0: of none. Rounds that were copied are unknown. */
struct nki_round_mark {
    uint32_t first, round;
};

/* nl.device_print: the tile is shown when the instructions before number `before` are done. */
struct nki_print {
    uint32_t before, loc;
    const char *text;
    const struct nki_ap *ap;
};
#define NKI_MOST_PRINTS 1000 /* later ones are not kept */

struct nki_program {
    struct arena *arena; /* owns all of the program */
    enum nki_dialect dialect;
    enum nki_generation generation;
    const char *release; /* of the package nki, "0.6", static; NULL: the legacy dialect */
    uint64_t rules;      /* of that release, bits of enum nki_rule */
    const char *kernel;  /* function name */
    VEC(struct nki_storage *)
    storages; /* rounds that were copied share those of the rounds that
               * they are like, see nki_storage_own */
    VEC(struct nki_instr) instrs;
    VEC(struct nki_loc) locs;
    VEC(const char *) files;
    VEC(uint32_t) outputs;        /* storages in the order they are returned */
    VEC(struct nki_fold) folds;   /* in the order of their instructions; none: all is here */
    VEC(struct nki_fold) repeats; /* long loops of which all periods are here, in the same order */
    VEC(struct nki_print) prints;
    VEC(struct nki_round) rounds;           /* legacy dialect: in the order they began */
    VEC(struct nki_round_mark) round_marks; /* in the order of instructions */
    bool returns_tuple;
    uint8_t cores; /* physical cores that a launch uses, whose instructions are woven together
                    * (nki_program_weave); 0 and 1: one */
    int n_registers;
    const char *kept; /* a name of the file whose value the call changed, for the next one to see;
                       * NULL: none */
    int kept_line;    /* where the file binds it; 0: not known */
    uint32_t n_marks; /* of instructions that others wait for */
};

/* ---- rows of the table ---------------------------------------------------------------------- */

/* What an instruction does with the tile that stands for a parameter. */
enum nki_role {
    NKI_ROLE_PLAIN,   /* there is no tile */
    NKI_ROLE_READS,   /* reads it */
    NKI_ROLE_STREAMS, /* reads one element for each of dst */
    NKI_ROLE_WRITES,  /* writes all of it */
    NKI_ROLE_UPDATES  /* writes some of it or adds to it, so it reads it as well */
};
/* Whether it writes all or some of the tile. */
static inline bool nki_role_writes(enum nki_role role) {
    return role == NKI_ROLE_WRITES || role == NKI_ROLE_UPDATES;
}
/* Whether it reads the tile and writes nothing. */
static inline bool nki_role_reads(enum nki_role role) {
    return role == NKI_ROLE_READS || role == NKI_ROLE_STREAMS;
}

struct nki_param {
    const char *name;     /* "bias" */
    const char *standard; /* "=None"; empty: the call must give it */
    enum nki_role role;
    unsigned takes; /* bit k: an operand of enum nki_operand_kind k may stand for it */
};
struct nki_op_row {
    const char *name;      /* "activation" */
    const char *engines;   /* letters of instructions.def; first: the default */
    const char *summary;   /* "dst = op(data * scale + bias)" */
    const char *signature; /* of the current dialect: "dst, op, data, bias=None, .., name=None" */
    const struct nki_param *params;
    uint8_t n_params;
};
const struct nki_op_row *nki_op_row(enum nki_op op);
bool nki_op_in_legacy(enum nki_op op); /* whether the legacy dialect has it */
/* Prints the legacy dialect's signature: "data, *, engine=None". Prints nothing when there is none.
 * mask=, dtype= and name= are left out, because all have them. */
void nki_op_print_legacy(enum nki_op op, struct buf *out);
/* Whether such a call has a parameter of that name. */
bool nki_op_takes_in_legacy(enum nki_op op, struct str name);
/* Finds an instruction by name, with or without "nisa."; NKI_OP_COUNT when kernels have no such
 * instruction. */
enum nki_op nki_op_find(struct str name);
enum nki_generation nki_op_generation(enum nki_op op);      /* the first that has it */
const char *nki_takes_text(unsigned takes);                 /* "a tile or a number" */
void nki_op_print_engines(enum nki_op op, struct buf *out); /* "Vector, Scalar, GpSimd" */
/* Prints the row for people: what the instruction does, its signatures and engines, and a line for
 * each parameter. */
void nki_op_explain(enum nki_op op, struct buf *out);
/* The same for a name of nki.language with its module: "nl.load", "nl.exp", "nl.float32". False:
 * there is no such name. */
bool nki_name_explain(struct str name, struct buf *out);
/* The names of an enumeration of nki.isa, in its order, without second names for the same: "reset",
 * .. of "reduce_cmd"; NULL past the last, and of what is none. */
const char *nki_enum_member_at(const char *type, size_t index);
/* A name of nki.language that is listed with its parameters, one at a time: "load"; NULL past the
 * last. *parameters is "" for what is not called. */
const char *nki_name_at(size_t index, const char **parameters, const char **what);
/* What a kernel is written for. */
struct nki_profile {
    enum nki_dialect dialect;
    const char *release;            /* NULL: the newest */
    enum nki_generation generation; /* 0: any */
};
/* The name of a module of NKI ("nki.language", also behind neuronxcc.) that is nearest to one that
 * is not there, among those that such a kernel can use: "copy" for "copyy". NULL: none is near. The
 * text is static. */
const char *nki_name_near(struct str module, struct str name, const struct nki_profile *profile);
const char *nki_op_engines(enum nki_op op);
/* The number of the operand for parameter `name`; -1 when there is none. Code that knows the
 * instruction uses NKI_<ID>_<parameter>. */
int nki_operand_index(enum nki_op op, struct str name);
/* The first operand after `after` that the instruction reads and does not write; -1: there is none.
 * The first of all (after NKI_DST) is what dst is made of. */
int nki_op_source(enum nki_op op, int after);
/* Whether engines' sequencers run it: loads, stores and sums of registers, branches. */
bool nki_op_of_sequencers(enum nki_op op);
/* Whether kernels call it with the parameters of its row. */
bool nki_op_is_called(enum nki_op op);
bool nki_op_streams(enum nki_op op); /* whether it works element by element */

/* ---- specialising --------------------------------------------------------------------------- */

enum nki_input_kind {
    NKI_INPUT_ARRAY,
    NKI_INPUT_INT,
    NKI_INPUT_FLOAT,
    NKI_INPUT_BOOL,
    NKI_INPUT_STR,
    NKI_INPUT_NONE,
    NKI_INPUT_DTYPE, /* s: its name */
    NKI_INPUT_TUPLE, /* these have items */
    NKI_INPUT_LIST,
    NKI_INPUT_DICT,   /* items have names: the keys */
    NKI_INPUT_RECORD, /* a dataclass or named tuple; s: the class; items have the fields' names */
    NKI_INPUT_MEMBER  /* of an Enum; s: "Class.MEMBER"; one item: its value */
};
/* An argument of the kernel call. Arrays need only dtype and shape; their data is not read. */
struct nki_input {
    const char *name; /* NULL: positional */
    const struct nki_input *items;
    size_t n_items;
    int32_t place; /* of an array: 1 + its place among those that the program is executed with; 0:
                    * it is that of the parameter */
    enum nki_input_kind kind;
    struct array array;
    int64_t i;
    double f;
    const char *s;
};

/* What evaluating a kernel may use. The largest kernels tried so far (published ones of 4096 x
 * 12288 x 5120) take 1.2 million steps, 300 MB and 0.4 million instructions. */
#define NKI_SEEN_DIMS 12
#define NKI_DEFAULT_STEPS ((size_t)20000000)
#define NKI_DEFAULT_BYTES ((size_t)768 << 20)
#define NKI_DEFAULT_INSTRUCTIONS ((size_t)2000000)

/* What an expression of the kernel's file stood for when it was evaluated. */
enum nki_seen_kind {
    NKI_SEEN_OTHER,
    NKI_SEEN_WHOLE,   /* a whole number: `whole` */
    NKI_SEEN_TILE,    /* a tensor: dtype, space, shape */
    NKI_SEEN_INDEX,   /* legacy: whole + sum(step[d] * i[d]) over i < shape */
    NKI_SEEN_REGISTER /* a number of the device */
};
struct nki_seen {
    enum nki_seen_kind kind;
    enum dtype dtype;
    enum nki_space space;
    bool shared; /* in nl.shared_hbm */
    int n_dims;
    int64_t whole, shape[NKI_SEEN_DIMS], step[NKI_SEEN_DIMS];
};
/* Who wants to know. It is told of each evaluation of an expression of the file, in order. */
struct nki_watch {
    void (*see)(void *data, const struct nki_node *node, const struct nki_seen *seen);
    void *data;
};

/* What a load found in a register, where it came to that. */
struct nki_number {
    bool is;
    int64_t value;
};

/* A Python that evaluates a kernel. It runs a program that talks to hone in messages (nki/trace):
 * four bytes of length, the lowest first, and so many bytes. */
struct nki_tracer {
    /* Starts the program. False and *err where it cannot. */
    bool (*start)(void *data, struct str program, struct err *err);
    /* Sends a message (none when it is empty) and waits for the next one, which is good until the
     * next call. False and *err when the program has ended or is over a limit, or the user
     * cancelled. */
    bool (*exchange)(void *data, struct str message, struct str *next, struct err *err);
    void (*stop)(void *data); /* also without start */
    void *data;
    const char *path; /* from where the file imports; NULL: from where it is */
    char python[40];  /* filled: the version that it is, "3.11.7" */
};

struct nki_specialise_options {
    const char *function; /* NULL: the one kernel in the file */
    enum nki_generation generation;
    const char *release; /* of the package nki, "0.6"; NULL: the newest */
    const struct nki_input *inputs;
    size_t n_inputs;
    const struct nki_number *told; /* by register: what an execution found, so that nothing has to
                                    * be assumed; NULL: nothing is known */
    size_t n_told;
    int grid[3];                /* SPMD launch grid; 0: none. In the current dialect its programs
                                 * are those of the physical cores */
    size_t max_instructions;    /* 0: the default above, as for the next two */
    size_t max_steps;           /* evaluation steps of the meta-program */
    size_t max_bytes;           /* memory of program and values */
    const volatile int *cancel; /* non-zero stops it; may be NULL */
    uint32_t fold_rounds; /* of a loop whose rounds are alike about so many are kept; 0: all */
    size_t fold_least;    /* .. where that leaves out so many instructions or more */
    bool *was_folded;     /* becomes true when some were left out; may be NULL */
    bool every_round;     /* no round of a loop is copied from those before it */
    bool every_error;     /* after an error it is looked for further ones that do not follow */
    bool partial;         /* inputs may be missing: evaluation goes as far as it can without
                           * them, and returns the program up to there */
    const struct nki_watch *watch; /* NULL: nobody */
    struct nki_tracer *tracer;     /* Python evaluates the kernel; NULL: hone's interpreter does.
                                    * Loops are not folded then, and the first error ends it */
};

/* Turns a kernel and its inputs into a program. Findings (errors and warnings with file, line,
 * column) go to diags. NULL when there was an error. Free with nki_program_free. The tree is needed
 * only during the call. */
struct nki_program *nki_specialise(const struct nki_tree *tree,
                                   const struct nki_specialise_options *options,
                                   struct diag_list *diags) CC_MUST_USE;
void nki_program_free(struct nki_program *program);
/* Adds a storage, which the program's memory keeps; returns its number. */
uint32_t nki_storage_add(struct nki_program *program, const struct nki_storage *storage);
/* Storage number `storage`, which no round that was copied shares any more: it may be changed. */
struct nki_storage *nki_storage_own(struct nki_program *program, uint32_t storage);
/* How many instructions it has, with those of rounds that were left out. */
uint64_t nki_program_count(const struct nki_program *program);
/* Where the kernel's own file led to place number `at`, which may be in a file that it imports;
 * NULL: there is no such number. */
const struct nki_loc *nki_loc_own(const struct nki_program *program, uint32_t at);
/* "line 12", "line 25 of gelu.py" for a place in an imported file, "a line" where it is unknown. */
void nki_loc_say(const struct nki_program *program, uint32_t at, struct buf *out);

/* ---- two cores ------------------------------------------------------------------------------- */

/* COLLECTIVE's kind. All ranks of the group have the tensors of the one at hand: each is given the
 * same inputs. */
enum nki_collective {
    NKI_COLLECTIVE_REDUCE,   /* dst = op over the ranks */
    NKI_COLLECTIVE_GATHER,   /* dst = all ranks' src, along dim */
    NKI_COLLECTIVE_SCATTER,  /* dst = this rank's part of op over the ranks */
    NKI_COLLECTIVE_SWAP,     /* part i of dst = this rank's part of rank i's src */
    NKI_COLLECTIVE_PASS,     /* dst = another rank's src */
    NKI_COLLECTIVE_COMBINE,  /* dst = another rank's op of src and other */
    NKI_COLLECTIVE_GATHER_V, /* other says how many elements, and from where */
    NKI_COLLECTIVE_SWAP_V,
};

/* Whether two cores do it together: what they exchange, and where they wait for each other. */
bool nki_op_meets(enum nki_op op);
/* Whether both cores of a launch name one destination: then it is one collective of the two. */
bool nki_collective_is_shared(const struct nki_instr *one, const struct nki_instr *other);
/* Puts the instructions of two cores, one core's behind the other's so far, into an order that has
 * both in step: up to where they meet, then the pair that meets, and so on. So the order of the
 * program is one in which it can be executed. False, with an error that names both sides, when the
 * cores do not meet in the same order, or do not fit each other there. */
bool nki_program_weave(struct nki_program *program, struct diag_list *diags);

/* ---- periods of a loop that are alike -------------------------------------------------------- */

/* What the rounds of a period made: [first, first + length) of the instructions, and so on. */
struct nki_period {
    uint32_t first, length, first_storage, storages;
};
/* What two periods of a loop have in common, and what moves from one to the other. */
struct nki_repeat;
/* Compares a period with the one that comes `apart` periods later. They are alike if they differ
 * only in where operands lie, and each uses its own tiles in the same way. NULL: they are not.
 * Valid while the program is. Free it with nki_repeat_free. */
struct nki_repeat *nki_repeat_find(const struct nki_program *program, struct nki_period one,
                                   struct nki_period other, uint32_t apart) CC_MUST_USE;
void nki_repeat_free(struct nki_repeat *repeat); /* accepts NULL */
/* Whether over many periods all moves as many times as far as from one to the next. */
bool nki_repeat_agrees(const struct nki_repeat *one, const struct nki_repeat *many);
/* Bytes that a further period takes. */
uint64_t nki_repeat_bytes(const struct nki_repeat *repeat);
/* Appends `times` periods that go on as from one period to the next. The other period is the last
 * that the program has. */
void nki_repeat_copy(struct nki_program *program, const struct nki_repeat *repeat, uint32_t times);

/* Appends a loop whose periods are alike to the program's repeats, if it is long, in place of those
 * within it. */
void nki_repeat_note(struct nki_program *program, const struct nki_fold *loop);
/* The program without most periods of its repeats, which are then its folds: about so many rounds
 * of each are kept. NULL: more than `most` instructions would be left, or something uses what would
 * be left out. Valid while the program is; free it with nki_program_free. */
struct nki_program *nki_program_shorten(const struct nki_program *program, uint32_t rounds,
                                        size_t most) CC_MUST_USE;

/* The program with loops whose rounds may run in any order begun at their last round. It shares all
 * but the list of instructions, which is in the arena; it is not to be freed. False where rounds
 * are not known (they were copied) or there are none. */
bool nki_program_turn(const struct nki_program *program, struct arena *arena,
                      struct nki_program *turned) CC_MUST_USE;

/* ---- what a program does with its inputs and outputs ---------------------------------------- */

#define NKI_FACT_OUTPUTS 64
/* Found by following storages through the instructions in order. When in doubt it says "depends": a
 * storage that is written in part keeps what it held. */
struct nki_facts {
    uint64_t inputs; /* bit i: argument i is an array (the first 64) */
    uint64_t read;   /* bit i: an instruction reads it */
    size_t n_outputs;
    struct {
        uint64_t inputs; /* inputs that its contents depend on */
        double written;  /* share of its elements; NAN: unknown */
        int input;       /* the argument that it is itself, written to in place; -1: none */
        int line;
        char name[40];
    } outputs[NKI_FACT_OUTPUTS];
    /* Where a float became narrower, by the type it was and the type it became: the line; 0:
     * nowhere. Whole numbers of 8 and 16 bits are narrower, too, where they become floats again. */
    int cast[DTYPE_COUNT][DTYPE_COUNT];
    enum dtype narrowest; /* operand of a matrix product; NONE: there is no product */
    int narrowest_line;
    double multiply_adds[2]; /* of products of float32, and of bfloat16 */
    char kept[40];           /* as that of the program; "": nothing */
    int kept_line;
};
/* What a candidate may do with the types of numbers: no narrower ones; products of float32 as sums
 * of products of bfloat16; anything that the tolerance takes. */
enum nki_precision { NKI_PRECISION_KEEP, NKI_PRECISION_SPLIT, NKI_PRECISION_ANY };
void nki_facts_find(const struct nki_program *program, struct nki_facts *facts);
/* Compares a candidate with the kernel it comes from. It finds an output that depends on no input
 * or is not written everywhere, an input that is no longer read, what is kept for the next call and
 * types that are narrower than the precision allows. Adds errors with codes "hone-candidate-..."
 * for `file`. */
void nki_facts_compare(const struct nki_facts *candidate, const struct nki_facts *original,
                       enum nki_precision precision, const char *file, struct diag_list *diags);
/* With split: finds products of bfloat16 that are too few to be sums for those of float32. Two for
 * each is the least. `needed`: multiply-adds of float32 that the task cannot do without. */
void nki_facts_check_split(const struct nki_facts *candidate, double needed, const char *file,
                           struct diag_list *diags);

#endif
