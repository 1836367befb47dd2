/* SPDX-License-Identifier: Apache-2.0 */
/* The interpreter's own structures, for its files and for the library, whose functions are written
 * in C. The API side sees python.h only. */
#ifndef HONE_NKI_INTERP_H
#define HONE_NKI_INTERP_H

#include "nki/python/python.h"

#define INTERP_MAX_CALLS 200        /* nested calls of kernel functions */
#define TEXT_STEP 64                /* characters that C code goes over in the time of a step */
#define INTERP_MAX_STACK (3u << 20) /* bytes of C stack below the entry */
#define INTERP_MAX_TEXT (16u << 20) /* bytes in one string */
#define INTERP_MAX_ITEMS (1u << 22) /* items in one container */
#define INTERP_MAX_TEMPS (1u << 16) /* arguments in flight */
#define INTERP_MAX_KEYWORDS (1u << 12)
#define INTERP_MAX_PRINTS 200        /* lines of print() kept as notes */
#define INTERP_MAX_UNITS 100         /* files imported */
#define INTERP_MODULE_STEPS 2000000u /* for one statement at module level */

/* "No value yet" in a slot; never seen by a kernel. */
#define UNSET_VALUE ((struct value){.kind = VALUE_KIND_COUNT})
static inline bool is_unset(struct value v) {
    return v.kind == VALUE_KIND_COUNT;
}
static inline bool is_api(struct value v) {
    return v.kind >= VALUE_DTYPE && v.kind < VALUE_KIND_COUNT;
}
static inline bool is_number(struct value v) {
    return v.kind == VALUE_INT || v.kind == VALUE_FLOAT || v.kind == VALUE_BOOL;
}
static inline bool is_integer(struct value v) {
    return v.kind == VALUE_INT || v.kind == VALUE_BOOL;
}
static inline int64_t integer_of(struct value v) {
    return v.kind == VALUE_BOOL ? v.b : v.i;
}
static inline double number_of(struct value v) {
    return v.kind == VALUE_FLOAT ? v.f : (double)integer_of(v);
}
static inline struct str text_of(struct value v) {
    return (struct str){v.str->at, v.str->len};
}

/* ---- names and scopes: made once for a file ------------------------------------------------- */

enum ref_kind { REF_NONE, REF_FRAME, REF_GLOBAL };
/* Where a name is: `depth` frames outwards, or in the unit's globals. */
struct ref {
    uint8_t kind;
    uint16_t depth;
    uint32_t slot;
};
/* What the interpreter knows about one node. Indexed by node->id. */
struct cell {
    union {
        struct ref ref;        /* NAME, ARG, FUNCTION_DEF, CLASS_DEF, ALIAS, handler */
        struct value constant; /* CONSTANT */
        struct {               /* ATTRIBUTE: its name, and the last module lookup */
            const struct value_str *name;
            const struct value_module *module;
            const struct value *value;
        } attr;
    };
    struct scope *scope; /* FUNCTION_DEF, LAMBDA, CLASS_DEF, comprehensions */
    bool irregular;      /* FOR: its rounds are not known to be alike */
    enum by_index {
        BY_INDEX_UNKNOWN,
        BY_INDEX_NO,
        BY_INDEX_YES
    } by_index; /* IF: whether its test asks for the index of a loop whose tiles end with it */
};

enum scope_kind { SCOPE_MODULE, SCOPE_FUNCTION, SCOPE_CLASS, SCOPE_BLOCK };
struct scope {
    enum scope_kind kind;
    struct scope *parent;
    struct scope *host; /* the scope whose frame holds the slots: itself, or that around a block */
    struct unit *unit;
    const struct nki_node *node;
    struct map names;           /* name -> slot + 1 */
    struct map outside;         /* names declared global (1) or nonlocal (2) */
    VEC(struct str) slot_names; /* of a host; "" for the slots of blocks */
    uint32_t n_params;          /* the first slots, in order */
    bool captured;              /* inner functions read its frame */
    bool yields;
    struct frame *free_frames; /* for reuse when not captured */
};

struct broken;

/* One source file. */
struct unit {
    const struct nki_tree *tree;
    struct nki_tree *own_tree; /* a tree parsed here, otherwise NULL */
    const char *path;
    const char *name; /* __name__ */
    uint32_t file;    /* index into program->files */
    struct cell *cells;
    struct scope *scope; /* SCOPE_MODULE */
    VEC(struct scope *) scopes;
    VEC(struct value) globals;
    VEC(const struct broken *) broken;      /* why a global has no value; NULL when it has one */
    VEC(const struct value_module *) stars; /* from .. import * */
    struct value module;                    /* the file as a module, for files that import it */
    uint64_t searched; /* the last search that looked into what its stars have */
    bool started;
};

/* What a name of a file leads to, at one time. */
struct held {
    struct unit *unit;
    uint32_t slot;
    uint64_t digest;
};

struct frame {
    struct frame *outer; /* where the function was defined */
    struct frame *caller;
    const struct value_function *function; /* NULL: a module or class body */
    struct scope *scope;
    struct unit *unit;
    const struct nki_node *call; /* the node of the call, in the caller */
    struct str target;           /* what the caller assigns the result to */
    int32_t site;                /* the call in program->locs; -1 none, -2 not looked up */
    struct value result;
    struct value_seq *yields;
    struct frame *next_free;
    struct value slots[];
};

/* ---- functions, classes, objects ------------------------------------------------------------ */

struct value_function {
    const struct nki_node *node; /* FUNCTION_DEF or LAMBDA */
    struct scope *scope;
    struct frame *closure;
    struct unit *unit;
    struct value *defaults; /* one for each parameter, unset where it has none */
    const char *name;
    const struct value_class *owner; /* of a method, for super() */
    enum function_form { FUNCTION_PLAIN, FUNCTION_STATIC, FUNCTION_CLASS, FUNCTION_PROPERTY } form;
    struct value_function *setter;
    bool is_kernel;                 /* nki.jit and the like */
    const struct nki_node *skipped; /* a decorator that is not known */
    int launch[3];                  /* the dimensions of kernel[grid]; 0: a plain call */
};

struct attr {
    const struct value_str *name; /* interned */
    struct value value;
};
struct attrs {
    struct attr *at;
    uint32_t len, cap;
};
struct field {
    const struct value_str *name;
    struct value default_value; /* unset: none */
    struct value factory;       /* unset: none */
    bool in_init;
};
enum class_form { CLASS_PLAIN, CLASS_ENUM, CLASS_TUPLE, CLASS_EXCEPTION };
struct value_class {
    const char *name;
    struct value_class *bases[8];
    int n_bases;
    struct attrs attrs;
    VEC(struct field) fields; /* in an arena */
    enum class_form form;
    bool is_data, frozen, is_int, is_flag, generated; /* generated: constructor from fields */
    bool lenient;              /* a dataclass that is an NKIObject: fields may be missing */
    VEC(struct value) members; /* of an Enum, in an arena */
    struct value (*make)(struct interp *, const struct call *);
};
struct value_object {
    struct value_class *cls;
    struct attrs attrs;
    struct value inner; /* of an Enum its value, of a namedtuple the tuple */
};

/* ---- the interpreter ------------------------------------------------------------------------ */

enum flow { FLOW_NEXT, FLOW_BREAK, FLOW_CONTINUE, FLOW_RETURN, FLOW_ERROR };

/* The loop that had gone round most often when a budget was used up. */
struct failure_loop {
    struct unit *unit;
    const struct nki_node *node; /* NULL: there was none */
    int64_t round, length;       /* length < 0: not known */
};
struct failure {
    bool set, fatal; /* fatal: a budget is used up, or cancelled; no except stops it */
    char code[64];
    char *message; /* in the heap */
    struct unit *unit;
    struct nki_span span;
    struct value exception; /* VALUE_OBJECT when raised or caught, otherwise None */
    struct failure_loop loop;
    struct trace_row {
        struct unit *unit;
        const struct nki_node *call;
        const char *callee;
    } trace[12];
    int n_trace, more_trace;
    const struct failure *first; /* of which it is the consequence, in another file; NULL */
};
/* A name that a statement at module level did not give its value, because it failed. */
struct broken {
    const char *why; /* what the name has no value for, in a sentence with its line */
    struct failure failure;
};

/* A round that is being evaluated. */
struct open_round {
    uint32_t loop, loc;
    uint32_t number; /* + 1, in the program; 0: it has no instruction yet */
    bool is_program;
    int64_t item;
};

struct interp {
    struct arena *heap; /* values; ends with the specialisation */
    struct nki_program *program;
    const struct nki_specialise_options *options;
    const struct interp_objects *objects;
    const struct interp_library *library;
    const struct interp_tracing *tracing; /* Python evaluates the file; NULL: the interpreter */
    struct trace *trace;                  /* its state */
    struct api *api;                      /* the API side's state; ends with the program */
    int grid[3], program_id[3];           /* of the SPMD instance that is being evaluated */
    uint8_t core;                         /* that runs it */
    bool on_cores;                        /* within a launch on several cores */
    const struct nki_tree *tree;
    struct diag_list *diags;
    enum nki_dialect dialect;
    struct frame *frame;
    const struct nki_node *native_call; /* the call that entered a native */
    const struct nki_node *target_node; /* the expression that is being assigned ... */
    struct str target;                  /* ... and to what */
    const char *stack_base;
    int depth;
    int tolerant;                  /* > 0: at module level, where errors are put off */
    int on_device;                 /* > 0: within loops that stay loops on the device */
    VEC(uint32_t) scopes;          /* loops whose tiles end with them, by number .. */
    VEC(uint32_t) branches;        /* .. and branches by their index */
    uint32_t n_scopes;             /* how many of both there were */
    VEC(struct open_round) rounds; /* that are being evaluated, of loops in any order */
    uint32_t n_round_loops;
    bool for_all_rounds; /* what is made belongs to none of them */
    bool auto_allocates; /* the file has a kernel with @force_auto_alloc */
    bool folding;        /* within a loop of which rounds are left out */
    bool copied;         /* some rounds of a loop were not evaluated but copied */
    bool unlike;         /* .. and were not what they should be */
    int printed;
    uint64_t steps, next_check, max_steps;
    size_t max_instructions, max_bytes;
    struct grown_bytes {
        uint64_t bytes, largest; /* largest: items of the largest value */
    } grown[GROWN_COUNT];
    struct value *temps;
    size_t n_temps;
    struct value_keyword *keywords;
    size_t n_keywords;
    struct failure failure;
    struct value handled;      /* the exception of the present except block */
    int tries;                 /* > 0: within try, whose handlers decide what an error means */
    struct recovery *recovery; /* all errors are looked for; NULL: the first ends it */
    VEC(struct unit *) units;
    VEC(struct nki_tree *) unparsed; /* imported files that are no Python */
    VEC(struct held) held;
    uint64_t search;     /* the search for a name through `import *` .. */
    int within_search;   /* .. and how many units deep it is */
    struct map interned; /* text -> struct value_str */
    struct map builtins; /* name -> struct value */
    struct signature_slot {
        const char *text;
        const struct signature *signature;
    } * signatures;
    struct loc_slot {
        uint64_t key;
        uint32_t loc;
    } * locs;
    size_t n_locs, loc_cap;
    VEC(uint64_t) warned;
};

/* interp.c */
struct interp *interp_new(const struct nki_tree *tree, const struct nki_specialise_options *options,
                          const struct interp_objects *objects,
                          const struct interp_library *library, struct diag_list *diags);
void interp_free(struct interp *in); /* frees all but the program */
/* Sets an error that no `except` of the kernel stops. */
bool interp_fatal(struct interp *in, const struct nki_node *node, const char *code,
                  const char *format, ...) CC_PRINTF(4, 5);
/* Sets the error of a name that has no value. `path`: of the file whose name it is; NULL: this one.
 */
bool interp_broken(struct interp *in, const struct nki_node *node, struct str name,
                   const char *path, const struct broken *broken);
void interp_report(struct interp *in); /* makes diagnostics of the failure */
void interp_note(struct interp *in, const struct nki_node *node, struct str text);
const struct value_str *interp_intern(struct interp *in, struct str text);

/* budget.c */
void budget_open(struct interp *in);
void budget_close(struct interp *in); /* the program lives on without it */
bool interp_check(struct interp *in, const struct nki_node *node);
static inline bool interp_step(struct interp *in, const struct nki_node *node) {
    return ++in->steps < in->next_check || interp_check(in, node);
}
/* Checks that there is room for a value of `count` items of `size` bytes (1: characters), and
 * counts filling it. */
bool interp_room(struct interp *in, const struct nki_node *node, uint64_t count, size_t size);
/* Whether there is room for `times` copies of so many instructions that take so many bytes. They
 * count as steps, one for each instruction. */
bool budget_allows(struct interp *in, uint64_t times, uint64_t instrs, uint64_t bytes);
/* Counts work without asking whether the budget has ended. The next step notices. */
void interp_count(struct interp *in, uint64_t steps);
/* After a budget has ended, each loop on the way out tells in which round it was. */
void budget_blame_loop(struct interp *in, const struct nki_node *loop, int64_t round,
                       int64_t length);
void budget_print_loop(const struct failure *failure, struct buf *out);

/* recover.c */
struct recovery *recovery_new(void) CC_MUST_USE;
void recovery_free(struct recovery *recovery); /* accepts NULL */
/* Passes over a statement that failed, so that evaluation goes on. False: it cannot, the failure is
 * the caller's. */
bool recover(struct interp *in, const struct nki_node *stmt);
bool recovery_has_found(const struct recovery *recovery); /* false for NULL */
/* Makes diagnostics of all causes, the first one first, and of the failure at which it ended. */
void recovery_report(struct interp *in);

/* interp_scope.c */
void scope_resolve(struct interp *in, struct unit *unit);
void scope_free(struct unit *unit);
uint32_t unit_global(struct unit *unit, struct str name); /* its slot; made when missing */
bool unit_find(const struct unit *unit, struct str name, uint32_t *slot);

/* interp_import.c */
/* Looks for a name in what the file imports with *. False without an error when it is not there. */
bool unit_find_in_stars(struct interp *in, const struct nki_node *node, struct unit *unit,
                        struct str name, struct value *result);
struct unit *unit_new(struct interp *in, const struct nki_tree *tree, const char *name);
bool unit_run(struct interp *in, struct unit *unit); /* evaluates its module level, tolerantly */
bool import_module(struct interp *in, const struct nki_node *node, struct str path,
                   struct value *result);
enum flow exec_import(struct interp *in, const struct nki_node *stmt);
enum flow exec_import_from(struct interp *in, const struct nki_node *stmt);
bool module_is_unknown(struct value value);
/* kept.c. What the names of all files hold before the kernel is called; afterwards, the first name
 * whose value the call changed becomes program->kept. Python keeps it for the next call. */
void kept_begin(struct interp *in);
void kept_end(struct interp *in);

/* interp_name.c */
bool load_ref(struct interp *in, const struct nki_node *node, struct ref ref, struct value *result);
void store_ref(struct interp *in, struct ref ref, struct value value);

/* interp_expr.c */
bool eval(struct interp *in, const struct nki_node *node, struct value *result);
bool eval_truth(struct interp *in, const struct nki_node *node, bool *truth);
bool eval_key(struct interp *in, const struct nki_node *node, struct value *key);
/* interp_loop.c */
bool eval_comprehension(struct interp *in, const struct nki_node *node, struct value *result);

/* interp_ops.c */
bool op_binary(struct interp *in, const struct nki_node *node, enum nki_binary op, struct value a,
               struct value b, struct value *result);
bool op_compare(struct interp *in, const struct nki_node *node, enum nki_comparison op,
                struct value a, struct value b, struct value *result);
bool op_unary(struct interp *in, const struct nki_node *node, enum nki_unary op, struct value a,
              struct value *result);
bool op_less(struct interp *in, const struct nki_node *node, struct value a, struct value b,
             bool *less);
bool op_length(struct interp *in, const struct nki_node *node, struct value v, int64_t *length);
int64_t range_length(const struct value_range *range);

/* interp_item.c */
bool get_item(struct interp *in, const struct nki_node *node, struct value object, struct value key,
              struct value *result);
bool set_item(struct interp *in, const struct nki_node *node, struct value object, struct value key,
              struct value item);
bool del_item(struct interp *in, const struct nki_node *node, struct value object,
              struct value key);

/* interp_attr.c: the value of an attribute, and the object that it is a method of (unset when it is
 * none). */
struct attribute {
    bool found;
    struct value value, self;
};
bool get_attr(struct interp *in, const struct nki_node *node, struct value object,
              const struct value_str *name, struct attribute *result);
bool get_attr_value(struct interp *in, const struct nki_node *node, struct value object,
                    const struct value_str *name, struct value *result);
bool set_attr(struct interp *in, const struct nki_node *node, struct value object,
              const struct value_str *name, struct value value);
bool has_attr(struct interp *in, const struct nki_node *node, struct value object,
              const struct value_str *name);
struct value *attrs_find(const struct attrs *attrs, const struct value_str *name);
void attrs_put(struct interp *in, struct attrs *attrs, const struct value_str *name,
               struct value value);
struct value *class_find(const struct value_class *cls, const struct value_str *name);
bool class_is(const struct value_class *cls, const struct value_class *base);
/* Finds a method of an object by name, such as "__add__". */
bool find_method(struct interp *in, struct value object, const char *name, struct value *method);
/* Calls object.name(args) when there is such a method, and sets *found. It takes at most 3
 * arguments. */
struct method_use {
    struct value object;
    const char *name;
    const struct value *args;
    size_t n;
};
bool call_method(struct interp *in, const struct nki_node *node, const struct method_use *use,
                 bool *found, struct value *result);

/* interp_call.c */
bool eval_call(struct interp *in, const struct nki_node *node, struct value *result);
bool call_value(struct interp *in, const struct call *call, struct value callee,
                struct value *result);
/* Before a launch of so many programs. Those of the current dialect are the physical cores of a
 * logical one; ours of the legacy dialect share one. False after interp_error. */
bool launch_on_cores(struct interp *in, const struct nki_node *node, int64_t programs);
/* kernel[grid](..): runs the instances one after the other. All of them write the same shared
 * tensors, so what the first one returns is the result. */
struct launch {
    struct value callee;
    const char *name;
    int size[3]; /* 0: it has no such dimension */
};
bool run_launch(struct interp *in, const struct call *call, const struct launch *launch,
                struct value *result);
/* specialise.c: whether a kernel that is launched on `degree` cores is what the options ask for;
 * false after an error. */
bool launch_agrees(struct interp *in, const struct nki_node *node, const char *kernel,
                   int64_t degree);
bool call_function(struct interp *in, const struct call *call, struct value_function *function,
                   struct value *result);
struct value make_function(struct interp *in, const struct nki_node *node);
bool function_defaults(struct interp *in, struct value_function *function);
struct frame *frame_new(struct interp *in, struct scope *scope, struct frame *outer);

/* interp_stmt.c */
enum flow exec_block(struct interp *in, const struct nki_list *body);
enum flow exec(struct interp *in, const struct nki_node *stmt);
bool assign_target(struct interp *in, const struct nki_node *target, struct value value);
/* The name that an assignment gives its value, for labels: `x = ..`, `x[..] = ..`, `self.x =
 * ..`. */
struct str target_name(const struct nki_node *target);

/* interp_match.c */
enum flow exec_match(struct interp *in, const struct nki_node *stmt);

/* interp_loop.c: how far a loop has come. */
struct iteration {
    struct value over;
    int64_t at, length;
    const struct value_seq *items;
};
enum flow exec_for(struct interp *in, const struct nki_node *stmt);
enum flow exec_while(struct interp *in, const struct nki_node *stmt);

/* regular.c: after how many rounds the loop does the same again, at other places; 0: nobody knows.
 * Asked after its first round, in its frame. `step`: of its index, positive. */
int64_t loop_period(struct interp *in, const struct nki_node *loop, int64_t step);

/* fold.c: a loop of which not all rounds may have to be evaluated. fold_round comes before each
 * round and may go on to a later one. */
struct fold {
    enum fold_state { FOLD_NOT, FOLD_FIRST, FOLD_COUNTING, FOLD_REST } state;
    bool leaves_out; /* rounds; otherwise they are copied */
    const struct nki_node *loop;
    int64_t period, kept;  /* rounds of a period; periods to keep, after the first */
    int64_t last;          /* the round after the last period, once some were left out or copied */
    size_t base, storages; /* of the program when the present period began */
    uint64_t tile_bytes;   /* when the second period began */
    int registers;
    uint32_t marks;
    struct nki_fold row;
    struct nki_repeat *repeat; /* what copies were made of, until they are compared */
};
struct fold fold_begin(struct interp *in, const struct nki_node *loop, const struct iteration *it);
void fold_round(struct fold *fold, struct interp *in, struct iteration *it);
void fold_end(struct fold *fold, struct interp *in);

/* interp_loop.c: a loop begins whose rounds may run in any order (or a launch, whose programs may),
 * goes to its next round, ends. */
void rounds_open(struct interp *in, const struct nki_node *loop, bool is_program);
void rounds_next(struct interp *in, int64_t item);
void rounds_close(struct interp *in);
void rounds_mark(struct interp *in); /* an instruction follows */
/* Instructions of rounds follow that are copied, of a loop in any order or of another one. */
void rounds_mark_copies(struct interp *in, bool any_order);

/* interp_class.c */
enum flow exec_function_def(struct interp *in, const struct nki_node *stmt);
enum flow exec_class_def(struct interp *in, const struct nki_node *stmt);
bool instantiate(struct interp *in, const struct call *call, struct value_class *cls,
                 struct value *result);
struct value_class *class_new(struct interp *in, const char *name, struct value_class *base);
struct value object_new(struct interp *in, struct value_class *cls);

/* interp_except.c */
enum flow exec_raise(struct interp *in, const struct nki_node *stmt);
enum flow exec_try(struct interp *in, const struct nki_node *stmt);
/* Calls a context's __exit__ for the failure that is set. True: it takes it, and it is gone. */
bool context_takes(struct interp *in, const struct nki_node *node, struct value context);
bool builtin_exception(struct interp *in, const char *name, struct value *result);

/* value_format.c */
void value_repr(struct interp *in, struct value value, struct buf *out);
bool format_value(struct interp *in, const struct nki_node *node, struct value value,
                  struct str spec, struct buf *out);
bool format_percent(struct interp *in, const struct nki_node *node, struct str format,
                    struct value args, struct value *result);
bool format_braces(struct interp *in, const struct call *call, struct str format,
                   struct value *result);

/* value.c */
struct value value_text(struct interp *in, const char *format, ...) CC_PRINTF(2, 3);
struct value value_take(struct interp *in, struct buf *buf); /* takes the text, frees *buf */
uint64_t value_hash(struct value value);
/* Makes the dict hold these pairs, whose keys differ, and nothing else. */
void value_dict_assign(struct interp *in, struct value_dict *dict, const struct value_pair *pairs,
                       size_t n);
bool value_same(struct value a, struct value b); /* Python's `is` */
struct value value_range_of(struct interp *in, int64_t start, int64_t stop, int64_t step);
struct value_seq *seq_new(struct interp *in, size_t n);

#endif
