/* SPDX-License-Identifier: Apache-2.0 */
/* The interpreter of kernel Python and its values: what the names in a kernel stand for while it is
 * specialised. It evaluates Python and knows nothing of NKI. One table (struct interp_objects)
 * gives modules and tensors their meaning, another (struct interp_library) has the builtins. */
#ifndef HONE_NKI_PYTHON_H
#define HONE_NKI_PYTHON_H

#include "nki/program/program.h"
#include "nki/release/release.h"

struct interp;

enum value_kind {
    VALUE_NONE,
    VALUE_BOOL,
    VALUE_INT,
    VALUE_FLOAT,
    VALUE_STR,
    VALUE_ELLIPSIS,
    VALUE_SLICE, /* slice: start, stop, step */
    VALUE_TUPLE,
    VALUE_LIST,
    VALUE_DICT,
    VALUE_RANGE,
    VALUE_FUNCTION, /* def or lambda of the kernel's file, with its closure */
    VALUE_CLASS,
    VALUE_OBJECT,
    VALUE_BOUND,  /* bound: self + function or native */
    VALUE_NATIVE, /* a builtin written in C */
    VALUE_MODULE, /* nki, nl, nisa, math, np, ... : attributes by a native lookup */
    /* from here on the API side owns meaning and operators */
    VALUE_DTYPE,       /* i: enum dtype */
    VALUE_FUNC,        /* i: enum nki_func; nl.exp: callable and an op= constant */
    VALUE_ENUM,        /* enumeration: members of nisa.engine, reduce_cmd, buffers ... */
    VALUE_TENSOR,      /* tensor: a view of a storage (tensor.h) */
    VALUE_INDEX,       /* index: legacy arange/mgrid expression or mask (tensor.h) */
    VALUE_REGISTER,    /* i: register number */
    VALUE_HOST,        /* host: numpy constant, host array (tensor.h) */
    VALUE_GRID,        /* grid: tiles of a tensor (api_grid.c) */
    VALUE_INSTRUCTION, /* instruction: what a call of one returned (api_loops.c) */
    VALUE_KIND_COUNT
};

struct value {
    enum value_kind kind;
    union {
        bool b;
        int64_t i;
        double f;
        const struct value_str *str;
        struct value_slice *slice;
        struct value_seq *seq; /* TUPLE (immutable), LIST */
        struct value_dict *dict;
        struct value_range *range;
        struct value_function *function;
        struct value_class *cls;
        struct value_object *object;
        struct value_bound *bound;
        const struct value_native *native;
        const struct value_module *module;
        const struct value_enum *enumeration;
        struct tensor *tensor;
        const struct index_expr *index;
        struct array *host;
        const struct api_grid *grid;
        const struct api_instruction *instruction;
    };
};

struct value_str {
    size_t len;
    const char *at;
};
struct value_slice {
    struct value start, stop, step;
}; /* VALUE_NONE where it was left out */
/* Its items are in an arena, so add to it with value_push, never with vec_push. */
struct value_seq {
    VEC(struct value) items;
};
struct value_range {
    int64_t start, stop, step;
    bool is_scope;        /* tiles that a loop over it makes end with it (legacy) */
    bool any_order;       /* rounds of a loop over it may run in any order (legacy) */
    bool on_device;       /* a loop over it stays one on the device .. */
    struct value decides; /* .. with so many rounds as this register says; None: as written */
};
struct value_pair {
    struct value key, value;
};
/* Pairs in an arena, in the order in which they were put. A set is a dict without values. Change it
 * with value_dict_put and value_dict_remove only. */
struct value_dict {
    VEC(struct value_pair) pairs;
    uint32_t *slots;
    size_t n_slots;
    bool is_set;
    struct value factory;
}; /* of a defaultdict, otherwise None */
struct value_bound {
    struct value self, callee;
};
struct value_enum {
    const char *type, *member;
    int64_t number;
};

/* A call as a native sees it. Keywords are in source order. node is the call expression, for
 * spans. */
struct call {
    const struct nki_node *node;
    const struct value *args;
    size_t n_args;
    const struct value_keyword {
        struct str name;
        struct value value;
    } * keywords;
    size_t n_keywords;
    struct value self; /* of a bound native, otherwise VALUE_NONE */
    const void *data;  /* data of the native that is called */
};
/* A function written in C. Returns false after interp_error. */
typedef bool native_fn(struct interp *in, const struct call *call, struct value *result);
struct value_native {
    const char *name; /* as messages show it: "nl.load" */
    native_fn *run;
    const void *data; /* a row of a table; it becomes call->data */
};
struct value_module {
    const char *name; /* "nki.language" */
    /* Fills *result. False when there is no such attribute; the interpreter then reports it, unless
     * the lookup called interp_error itself. */
    bool (*get)(struct interp *in, const struct nki_node *node, const struct value_module *module,
                struct str name, struct value *result);
};

#define NONE_VALUE ((struct value){.kind = VALUE_NONE})
static inline struct value value_int(int64_t i) {
    return (struct value){.kind = VALUE_INT, .i = i};
}
static inline struct value value_bool(bool b) {
    return (struct value){.kind = VALUE_BOOL, .b = b};
}
static inline struct value value_float(double f) {
    return (struct value){.kind = VALUE_FLOAT, .f = f};
}
struct value value_string(struct interp *in, struct str text);
struct value value_tuple(struct interp *in, const struct value *items, size_t n);
struct value value_list(struct interp *in, const struct value *items, size_t n);
struct value value_bind(struct interp *in, struct value self, const struct value_native *native);
void value_push(struct interp *in, struct value_seq *seq, struct value item);
struct value value_new_dict(struct interp *in);
void value_dict_put(struct interp *in, struct value_dict *dict, struct value key,
                    struct value item);
/* The pair with the key; NULL when there is none. */
struct value_pair *value_dict_find(struct interp *in, const struct value_dict *dict,
                                   struct value key);
bool value_dict_remove(struct interp *in, struct value_dict *dict, struct value key);
const char *value_type_name(struct value value); /* "int", "tensor", .. for messages */
/* Prints the value like repr, for print, f-strings and messages. */
void value_print(struct interp *in, struct value value, struct buf *out);
/* Python's equality. Tensors and index expressions are compared by identity here. */
bool value_equal(struct interp *in, struct value a, struct value b);

/* ---- what the interpreter offers to the API side -------------------------------------------- */

struct arena *interp_arena(struct interp *in);   /* lives as long as the program */
struct arena *interp_scratch(struct interp *in); /* lives until the program is made */
struct nki_program *interp_program(struct interp *in);
/* The loop whose tiles end with it and that is being evaluated, by a number; 0: there is none. */
uint32_t interp_scope(const struct interp *in);
bool interp_scope_is_open(const struct interp *in, uint32_t scope);
/* The same of branches that depend on the index of such a loop. */
uint32_t interp_branch(const struct interp *in);
bool interp_branch_is_open(const struct interp *in, uint32_t branch);
/* Whether what is evaluated is a function that the kernel calls, and no kernel itself. */
bool interp_in_helper(const struct interp *in);
/* A loop on the device begins (1) or ends (-1). */
void interp_on_device(struct interp *in, int more);
/* The body of a loop that the device traces once, and that is called here for each round. What it
 * changes in Python is then changed once: every round begins with what Python held before the
 * first, and what the first left stays. round comes before each call, next behind it. next is true
 * when the first round changed something, in *name. End it always. */
struct interp_traced;
struct interp_traced *interp_traced_begin(struct interp *in, struct value body);
void interp_traced_round(struct interp *in, struct interp_traced *traced);
bool interp_traced_next(struct interp *in, struct interp_traced *traced, struct str *name);
void interp_traced_end(struct interp_traced *traced);
/* Instructions from here on (until it is called with false) are of no round of a loop: what is made
 * once and used by all. */
void interp_for_all_rounds(struct interp *in, bool begins);
/* Whether tiles are placed by the compiler whatever the kernel says (@force_auto_alloc). */
bool interp_auto_allocates(const struct interp *in);
const struct nki_specialise_options *interp_options(const struct interp *in);
enum nki_dialect interp_dialect(const struct interp *in);
/* Whether a rule of the language holds in the kernel's release; false in the legacy dialect. */
bool interp_rule(const struct interp *in, enum nki_rule rule);
/* Adds an error at the node, with the call stack as notes, and stops the evaluation. Returns false.
 * An exception that the kernel raises takes the same way. */
bool interp_error(struct interp *in, const struct nki_node *node, const char *code,
                  const char *format, ...) CC_PRINTF(4, 5);
void interp_warn(struct interp *in, const struct nki_node *node, const char *code,
                 const char *format, ...) CC_PRINTF(4, 5); /* once for each place and code */
/* Appends an instruction to the program and sets its loc. False after interp_error, when the budget
 * of instructions or memory is used up. */
bool interp_emit(struct interp *in, const struct nki_node *node, const struct nki_instr *instr);
/* How many physical cores run the present launch: 2, or 1. */
int interp_cores(const struct interp *in);
/* nl.program_id(axis) of the SPMD instance that is being evaluated. */
int interp_program_id(const struct interp *in, int axis);
/* The three dimensions of the launch; 0 where it has none. */
const int *interp_grid(const struct interp *in);
/* Counts work that C code does for a kernel (n items of a loop). False after interp_error, when a
 * budget is used up or the user cancelled. */
bool interp_spend(struct interp *in, const struct nki_node *node, uint64_t steps);
/* What took the memory, for the message that says why none is left. */
enum grown {
    GROWN_LISTS,
    GROWN_DICTS,
    GROWN_TEXTS,
    GROWN_ARRAYS,
    GROWN_TILES, /* what their blocks will take on the device; not in an arena */
    GROWN_PROGRAM,
    GROWN_SOURCES,
    GROWN_OBJECTS,
    GROWN_COUNT
};
void interp_grew(struct interp *in, enum grown what, uint64_t items, uint64_t bytes);
/* The index into program->locs for a node under the present call stack. */
uint32_t interp_loc(struct interp *in, const struct nki_node *node);
bool interp_call(struct interp *in, const struct nki_node *node, struct value callee,
                 const struct value *args, size_t n_args, struct value *result);
/* The items of anything that a kernel can iterate over (tuple, list, range, dict, str ..). */
bool interp_items(struct interp *in, const struct nki_node *node, struct value value,
                  const struct value_seq **items);
/* A builtin of Python, or a name of its standard library that needs no module in hone: "NKIObject",
 * "Enum", "range". False when there is none. */
bool interp_builtin(struct interp *in, const char *name, struct value *result);
bool interp_truth(struct interp *in, const struct nki_node *node, struct value value, bool *truth);
/* The name that the result of the call is being assigned to ("x_tile"), for labels of storages. ""
 * when there is none. */
struct str interp_target_name(const struct interp *in);
/* Binds a call to a signature like "dst, src, *, engine=None". Fills values[k] for parameter k of
 * the signature (VALUE_NONE and given[k] = false where it was left out). Errors name the call. The
 * parsed signature is kept. */
struct signature;
const struct signature *interp_signature(struct interp *in, const char *text);
size_t signature_count(const struct signature *signature);
struct str signature_name(const struct signature *signature, size_t k);
bool interp_bind(struct interp *in, const struct call *call, const struct signature *signature,
                 struct value *values, bool *given);

/* Where the API side keeps its own state, from the arena. *slot is NULL at the start. */
struct api;
struct api **interp_api(struct interp *in);

/* ---- what the interpreter does not know itself ---------------------------------------------- */

/* A launch kernel[grid](..) inside the evaluation: where its shared tensors start. */
struct interp_launch {
    size_t first_shared, instances;
};

/* What values of kind VALUE_DTYPE and beyond do, and which modules there are. Whoever makes an
 * interpreter gives it this table (api_objects is NKI's). Each function returns false after
 * interp_error. `op` is the operator of the syntax tree. */
struct interp_objects {
    /* A module by its import path ("neuronxcc.nki.language", "numpy"); NULL when there is none. */
    const struct value_module *(*module)(struct interp *in, struct str path);
    /* Operators where one side is such a value. */
    bool (*binary)(struct interp *in, const struct nki_node *node, enum nki_binary op,
                   struct value a, struct value b, struct value *result);
    bool (*compare)(struct interp *in, const struct nki_node *node, enum nki_comparison op,
                    struct value a, struct value b, struct value *result);
    bool (*unary)(struct interp *in, const struct nki_node *node, enum nki_unary op, struct value a,
                  struct value *result);
    /* target op= b for a tensor target (name or subscript): accumulation into PSUM, update in
     * place. *result is what the target name is bound to afterwards. */
    bool (*inplace)(struct interp *in, const struct nki_node *node, enum nki_binary op,
                    struct value target, struct value b, struct value *result);
    /* An axis .p, .x, .y .. of a tuple that nl.mgrid[..] returned; false when it has no such
     * axis. */
    bool (*grid_axis)(struct value tuple, struct str name, struct value *result);
    bool (*getattr)(struct interp *in, const struct nki_node *node, struct value object,
                    struct str name, struct value *result);
    bool (*getitem)(struct interp *in, const struct nki_node *node, struct value object,
                    struct value key, struct value *result);
    bool (*setitem)(struct interp *in, const struct nki_node *node, struct value object,
                    struct value key, struct value item);
    /* Calling a VALUE_FUNC (nl.exp(x)), a VALUE_DTYPE (np.float32(1)) or VALUE_ENUM. */
    bool (*call)(struct interp *in, const struct call *call, struct value callee,
                 struct value *result);
    bool (*truth)(struct interp *in, const struct nki_node *node, struct value value, bool *truth);
    /* len(). The ranges of nl.affine_range and its kin are VALUE_RANGE and do not come here. */
    bool (*length)(struct interp *in, const struct nki_node *node, struct value value,
                   int64_t *len);
    /* `with nl.no_reorder():` and other contexts. enter returns the value that `as` binds. */
    bool (*enter)(struct interp *in, const struct nki_node *node, struct value context,
                  struct value *result);
    bool (*leave)(struct interp *in, const struct nki_node *node, struct value context);
    /* Parameter k of the kernel, from the options' inputs; and what the kernel returned. */
    bool (*parameter)(struct interp *in, const struct nki_node *node, const struct nki_input *input,
                      size_t index, struct str name, struct value *result);
    bool (*returned)(struct interp *in, const struct nki_node *node, struct value value);
    /* Loops on the device: begin, then round before each round and once behind the last, next
     * after each, end. `decides` is the register that says how many rounds there are. */
    bool (*loop_begin)(struct interp *in, const struct nki_node *node);
    bool (*loop_round)(struct interp *in, const struct nki_node *node, struct value decides);
    void (*loop_next)(struct interp *in);
    void (*loop_end)(struct interp *in);
    /* What a register holds; false when the value is none. */
    bool (*register_value)(struct interp *in, struct value value, int64_t *holds);
    /* An array of numpy's, with the elements as numpy has them in float64. */
    bool (*array)(struct interp *in, const struct nki_node *node, const struct array *array,
                  struct value *result);
    /* isinstance() of a class of NKI, which is a native of this table's modules. */
    bool (*is_of)(struct interp *in, struct value value, const struct value_native *type);
    /* What such a value is, for who watches the evaluation. */
    void (*describe)(struct interp *in, struct value value, struct nki_seen *seen);
    /* Launches: begin comes first, next before each instance (counted from 0), end after the
     * last. */
    struct interp_launch (*launch_begin)(struct interp *in);
    void (*launch_next)(struct interp *in, const struct interp_launch *launch, size_t instance);
    void (*launch_end)(struct interp *in, const struct interp_launch *launch);
};

/* Python's own names. The interpreter finds them through this table; the only one is
 * python_library. */
struct interp_library {
    /* Finds a builtin by name: a function, a type, an exception. False when there is none. */
    bool (*find)(struct interp *in, struct str name, struct value *result);
    /* A module of the standard library; NULL when there is none. */
    const struct value_module *(*module)(struct str path);
    /* A method of a type of Python, or of every named tuple; NULL when there is none. */
    const struct value_native *(*method)(enum value_kind kind, bool is_set, struct str name);
    const struct value_native *(*tuple_method)(struct str name);
    /* Whether Python has such a method, which is missing here. */
    bool (*is_gap)(enum value_kind kind, bool is_set, struct str name);
    /* Whether a module of Python has such a name ("builtins": those that need no import). */
    bool (*name_is_gap)(const char *module, struct str name);
    /* Whether the builtin is a type ("int"). Sets *kind to the kind of its values. */
    bool (*is_type)(const struct value_native *native, enum value_kind *kind);
};

/* Another way to evaluate a kernel's file than the interpreter's own: the functions of the kernel
 * are natives then (nki/trace). Each function returns false after interp_error. */
struct interp_tracing {
    /* Evaluates the file at module level. */
    bool (*begin)(struct interp *in);
    /* What the file has under the name, or what the function of that name makes (factory). Whether
     * the kernel launches itself on the cores. */
    bool (*kernel)(struct interp *in, struct str name, bool factory, struct value *callee,
                   bool *launches);
    /* An option of the kernel's decorator. False, without an error: it has no such one. */
    bool (*option)(struct interp *in, struct str name, struct value *value);
    void (*end)(struct interp *in); /* comes in any case, also without begin */
};

/* Does nki_specialise's work with these objects and this library, and with that tracing where the
 * options have a tracer. */
struct nki_program *
interp_specialise(const struct nki_tree *tree, const struct nki_specialise_options *options,
                  const struct interp_objects *objects, const struct interp_library *library,
                  const struct interp_tracing *tracing, struct diag_list *diags) CC_MUST_USE;

#endif
