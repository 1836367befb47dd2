/* SPDX-License-Identifier: Apache-2.0 */
/* What the lints share: their rules, the tree, and names as NKI knows them. */
#ifndef HONE_NKI_RULES_H
#define HONE_NKI_RULES_H

#include "nki/lint/lint.h"
#include "nki/release/release.h"

/* One line for each rule: X(ID, code, severity, strict only, message, help). "{}" in the message
 * is the name in question. Errors outside strict mode are what any Python refuses or what NKI
 * lacks. */
#define LINT_TABLE(X)                                                                              \
    X(RETURN_OUTSIDE, "hone-return-outside", ERROR, 0, "'return' stands outside a function",       \
      "Only the body of a def can return.")                                                        \
    X(LOOP_OUTSIDE, "hone-loop-outside", ERROR, 0, "'{}' stands outside a loop",                   \
      "break and continue belong to the body of a for or while in the same function.")             \
    X(REPEATED_KEYWORD, "hone-repeated-keyword", ERROR, 0,                                         \
      "the keyword argument '{}' is given twice", "Python refuses the call; remove one of them.")  \
    X(REPEATED_PARAMETER, "hone-repeated-parameter", ERROR, 0,                                     \
      "the parameter '{}' is declared twice", "Python refuses the function; rename one of them.")  \
    X(UNREACHABLE, "hone-unreachable", WARNING, 0,                                                 \
      "this is never reached: '{}' above it always leaves the block",                              \
      "Statements after return, raise, break or continue in the same block never run.")            \
    X(LOOP_SHADOW, "hone-loop-shadow", WARNING, 0,                                                 \
      "an enclosing loop has the loop variable '{}', too; its value is lost there",                \
      "Use another name, so that the outer loop's index stays usable below the inner loop.")       \
    X(PARAMETER_SHADOW, "hone-parameter-shadow", WARNING, 0,                                       \
      "the loop variable '{}' hides the parameter of that name",                                   \
      "After the first iteration the argument cannot be reached any more; rename one of them.")    \
    X(UNASSIGNED, "hone-unassigned", WARNING, 0,                                                   \
      "'{}' is used before it is assigned in this function",                                       \
      "A name that is assigned anywhere in a function is local in all of it.")                     \
    X(UNDEFINED, "hone-undefined", WARNING, 0, "'{}' is defined nowhere in this file",             \
      "It is no parameter, assignment, import, function or builtin; check the spelling or "        \
      "import it.")                                                                                \
    X(RANGE_OUTSIDE, "hone-range-outside-for", WARNING, 0,                                         \
      "{} has a meaning only in the header of a for; here it is a plain range",                    \
      "Loop over it directly: for i in nl.affine_range(n).")                                       \
    X(ASSERT_TUPLE, "hone-assert-tuple", WARNING, 0,                                               \
      "this assertion checks a tuple, which is always true",                                       \
      "Write assert condition, message without parentheses around both.")                          \
    X(IS_LITERAL, "hone-is-literal", WARNING, 0,                                                   \
      "'is' compares identity, not value; compare with == or !=",                                  \
      "The NKI compiler reads 'is' as == except for None; Python does not.")                       \
    X(REMOVED, "hone-removed-name", ERROR, 0, "{} is not in NKI",                                  \
      "An earlier release had the name.")                                                          \
    X(DEPRECATED, "hone-deprecated-name", WARNING, 0, "{} is deprecated",                          \
      "It still works, but will be removed.")                                                      \
    X(REMOVED_HOST, "hone-removed-host-name", WARNING, 0, "{} is not in NKI",                      \
      "The host side of neuronxcc.nki is gone; it does not matter where only the kernel is run.")  \
    X(JIT_KEYWORD, "hone-jit-keyword", WARNING, 0, "nki.jit does not take the argument '{}'",      \
      "Releases since NKI 0.3 refuse or ignore it.")                                               \
    X(REMOVED_KEYWORD, "hone-removed-keyword", ERROR, 0,                                           \
      "the argument '{}' is not in NKI any more",                                                  \
      "The parameter was renamed or removed after the release it was written for.")                \
    X(LEGACY_IMPORT, "hone-legacy-import", ERROR, 0,                                               \
      "'{}' is the legacy package; a kernel for the package nki cannot use it",                    \
      "Import nki, nki.language and nki.isa instead.")                                             \
    X(MIXED, "hone-mixed-packages", ERROR, 0, "{}; a kernel is of one of the packages",            \
      "neuronxcc.nki and nki each trace kernels by themselves, and take no tile of the other's. "  \
      "hone migrate rewrites the older one's part.")                                               \
    X(LEGACY_STORE, "hone-legacy-store", WARNING, 0,                                               \
      "assigning the result of {} to a tile is deprecated; pass the tile as dst=",                 \
      "Instructions write the tile given as dst; the old spelling is rewritten by the compiler.")  \
    X(LEGACY_VALUE, "hone-legacy-value", ERROR, 0,                                                 \
      "{} returns no tile; allocate one and pass it as dst=",                                      \
      "Instructions of the package nki write the tile given as dst and return a handle.")          \
    X(NEWER, "hone-newer-name", ERROR, 0, "the target's NKI does not have {} yet",                 \
      "The target's release is older than the name. Do without it, or take a newer release "       \
      "there.")                                                                                    \
    X(C_IMPORT, "hone-candidate-import", ERROR, 0, "a candidate may not import '{}'",              \
      "A kernel needs NKI and what computes constants: nki, neuronxcc, nkilib, numpy's "           \
      "arithmetic, "                                                                               \
      "math, functools, itertools, operator, typing, enum, dataclasses, and files of the task "    \
      "that "                                                                                      \
      "keep to the same. Remove the import.")                                                      \
    X(C_NAME, "hone-candidate-name", ERROR, 0, "'{}' is not among what a candidate may use",       \
      "Candidates keep to a list: NKI, arithmetic of numpy and math, Python's plain builtins and " \
      "containers, what the file itself defines. Compute it with those.")                          \
    X(UNKNOWN, "hone-unknown-name", ERROR, 0, "there is no name '{}'",                             \
      "No release of NKI that hone knows has it.")                                                 \
    X(KEYWORD, "hone-unknown-keyword", ERROR, 0, "there is no parameter '{}'",                     \
      "No release of NKI that hone knows has it for what is called here.")                         \
    X(MEMBER, "hone-unknown-member", ERROR, 0, "there is no name '{}'",                            \
      "No release of NKI that hone knows has it.")                                                 \
    X(C_UNKNOWN, "hone-candidate-unknown", ERROR, 0, "there is no name '{}'",                      \
      "The file does not define it, and NKI of the kernel's release does not have it.")            \
    X(C_ATTRIBUTE, "hone-candidate-attribute", ERROR, 0,                                           \
      "the attribute '{}' is not among what a candidate may reach",                                \
      "Attributes are those of tensors, arrays, numbers, text and containers, and those that the " \
      "file's own classes define.")                                                                \
    X(C_MODULE, "hone-candidate-module", ERROR, 0,                                                 \
      "a candidate may use the module '{}' only as module.name",                                   \
      "Do not assign a module or pass it on; write module.name where the name is needed.")         \
    X(C_ASSIGN, "hone-candidate-assign", ERROR, 0,                                                 \
      "a candidate may not change '{}', which is not its own",                                     \
      "Modules and what they hold stay as they are; use a local variable.")                        \
    X(C_USE, "hone-candidate-use", ERROR, 0, "a candidate may not use '{}' in this way",           \
      "type() is for comparing, Enum and other classes for class statements, getattr() for names " \
      "that stand there, nki.jit for the kernel with plain options, decorators for what others "   \
      "define.")                                                                                   \
    X(C_FORM, "hone-candidate-form", ERROR, 0, "a candidate may not have {}",                      \
      "A kernel is plain Python in plain ASCII names; write it without.")                          \
    X(C_KEPT, "hone-candidate-kept", ERROR, 0,                                                     \
      "'{}' comes from code that only the original kernel may have",                               \
      "The first kernel of the session goes beyond the list there. Unchanged code may "            \
      "stay; "                                                                                     \
      "new code may not use it unless the person allows it (:allow).")                             \
    X(C_CALL, "hone-candidate-call", ERROR, 0, "a candidate may not use '{}'",                     \
      "It runs, changes or measures code around the kernel. Write what is meant directly.")        \
    X(C_GLOBAL, "hone-candidate-global", ERROR, 0,                                                 \
      "a candidate may not keep '{}' from one call to the next",                                   \
      "What a call computes must follow from its arguments; use a local name.")                    \
    X(C_INTERNALS, "hone-candidate-internals", ERROR, 0,                                           \
      "a candidate may not look into Python through '{}'",                                         \
      "Frames, modules and classes lead to the reference and the measurement. Use the arguments.") \
    X(C_FILE, "hone-candidate-file", ERROR, 0, "a candidate may not read or write files: '{}'",    \
      "The kernel's inputs are its arguments; load them with dma_copy or nl.load.")                \
    X(C_SHAPE, "hone-candidate-shape", ERROR, 0,                                                   \
      "this takes another way for one exact shape: '{}'",                                          \
      "Compute from the shape (loops over shape // tile); an assert may name what is supported.")  \
    X(C_CONTENT, "hone-candidate-content", ERROR, 0,                                               \
      "this decides by the contents of the input '{}'",                                            \
      "The same work has to be done whatever the inputs hold; select element by element instead.") \
    X(C_DIALECT, "hone-candidate-dialect", ERROR, 0,                                               \
      "the candidate is written for {}, the kernel it comes from is not",                          \
      "Keep the imports and the instruction style of the kernel; its release takes no other.")     \
    X(C_NARROW, "hone-candidate-narrow", WARNING, 0,                                               \
      "'{}' is a narrower type that the kernel did not use before",                                \
      "The precision policy is \"keep\". The inputs' types are not known here, so this is not "    \
      "certain.")                                                                                  \
    X(CARRIED, "hone-carried-value", WARNING, 0,                                                   \
      "'{}' is carried from one round of nl.affine_range to the next",                             \
      "Rounds of nl.affine_range may run in any order, so the result is undefined unless the "     \
      "operation is a sum or the like. Use nl.sequential_range.")                                  \
    X(MASK_DIVIDES, "err_unsupported_expression_in_mask", ERROR, 0,                                \
      "the mask divides the loop's index '{}'",                                                    \
      "A mask is a sum of indices times constants (nki.errors). Split the loop in two, or use "    \
      "nl.static_range.")                                                                          \
    X(S_IDENTITY, "hone-strict-is", ERROR, 1, "the NKI compiler accepts '{}' with None only",      \
      "Compare with == or != instead.")                                                            \
    X(S_LAMBDA, "hone-strict-lambda", ERROR, 1, "the NKI compiler does not accept lambdas",        \
      "Write a function at module level.")                                                         \
    X(S_COMPREHENSION, "hone-strict-comprehension", ERROR, 1,                                      \
      "the NKI compiler accepts comprehensions of lists only", "Fill it in a loop.")               \
    X(S_SET, "hone-strict-set", ERROR, 1, "the NKI compiler does not accept sets",                 \
      "Use a list or a tuple.")                                                                    \
    X(S_WALRUS, "hone-strict-walrus", ERROR, 1, "the NKI compiler does not accept ':='",           \
      "Assign in a statement before.")                                                             \
    X(S_ASYNC, "hone-strict-async", ERROR, 1,                                                      \
      "the NKI compiler does not accept async, await and yield",                                   \
      "Kernels are straight-line programs; call functions directly.")                              \
    X(S_STAR, "hone-strict-star", ERROR, 1, "the NKI compiler does not expand '*'",                \
      "Write the elements one by one.")                                                            \
    X(S_DOUBLE_STAR, "hone-strict-double-star", ERROR, 1, "the NKI compiler does not expand '**'", \
      "Write the keywords one by one.")                                                            \
    X(S_VARARGS, "hone-strict-varargs", ERROR, 1,                                                  \
      "the NKI compiler does not accept the parameter *{}",                                        \
      "Use a fixed number of parameters or pass a tuple.")                                         \
    X(S_KWARGS, "hone-strict-kwargs", WARNING, 1, "the NKI compiler ignores the parameter **{}",   \
      "Declare the keywords that are used.")                                                       \
    X(S_KERNEL_STAR, "hone-strict-kernel-star", ERROR, 1,                                          \
      "a kernel's signature cannot have keyword-only parameters such as '{}'",                     \
      "Since NKI 0.3 a '*' in a kernel's signature is refused; remove it.")                        \
    X(S_FORMAT_SPEC, "hone-strict-format-spec", ERROR, 1,                                          \
      "the NKI compiler does not accept format specs in f-strings",                                \
      "Write {x} without the part after the colon.")                                               \
    X(S_MATMUL, "hone-strict-matmul", ERROR, 1, "the NKI compiler has no '@' operator",            \
      "Use nisa.nc_matmul.")                                                                       \
    X(S_CHAINED_IN, "hone-strict-chained-in", ERROR, 1,                                            \
      "the NKI compiler does not accept '{}' inside a chain of comparisons",                       \
      "Split the chain with 'and'.")                                                               \
    X(S_FOR_TARGET, "hone-strict-for-target", ERROR, 1,                                            \
      "the NKI compiler accepts a simple name only as loop variable",                              \
      "Loop over an index and take the element inside.")                                           \
    X(S_LOOP_ELSE, "hone-strict-loop-else", ERROR, 1,                                              \
      "the NKI compiler does not accept 'else' on a loop",                                         \
      "Keep a flag and test it after the loop.")                                                   \
    X(S_WITH, "hone-strict-with", ERROR, 1,                                                        \
      "the NKI compiler accepts 'with nl.no_reorder():' only",                                     \
      "Remove the context or move it out of the kernel.")                                          \
    X(S_INNER_DEF, "hone-strict-inner-def", ERROR, 1,                                              \
      "the NKI compiler accepts the inner function '{}' only as body of nl.fori_loop or "          \
      "nl.while_loop",                                                                             \
      "Move the function to module level and pass what it needs.")                                 \
    X(S_CLASS, "hone-strict-class", ERROR, 1,                                                      \
      "the NKI compiler does not accept a class inside a function",                                \
      "Move the class to module level.")                                                           \
    X(S_DELETE, "hone-strict-del", ERROR, 1, "the NKI compiler does not accept 'del'",             \
      "Let the name go out of use; tiles are freed after their last use.")                         \
    X(S_RAISE, "hone-strict-raise", ERROR, 1, "the NKI compiler does not accept 'raise'",          \
      "Use assert with a message.")                                                                \
    X(S_TRY, "hone-strict-try", ERROR, 1, "the NKI compiler does not accept 'try'",                \
      "Test the condition with if before.")                                                        \
    X(S_MATCH, "hone-strict-match", ERROR, 1, "the NKI compiler does not accept 'match'",          \
      "Test with if, elif and else.")                                                              \
    X(S_IMPORT, "hone-strict-import", ERROR, 1,                                                    \
      "the NKI compiler does not accept an import inside a function",                              \
      "Move the import to the top of the file.")                                                   \
    X(S_GLOBAL, "hone-strict-global", ERROR, 1,                                                    \
      "the NKI compiler does not accept 'global' and 'nonlocal'",                                  \
      "Pass a dict or an object and change it.")                                                   \
    X(S_DECORATOR, "hone-strict-decorator", ERROR, 1,                                              \
      "the NKI compiler does not know the decorator '{}'",                                         \
      "nki.jit, staticmethod and dataclass are accepted.")                                         \
    X(S_CLASS_BASE, "hone-strict-class-base", ERROR, 1,                                            \
      "the class '{}' must have the base NKIObject or Enum, and nothing else",                     \
      "The NKI compiler builds objects of these classes only.")                                    \
    X(S_CLASS_BODY, "hone-strict-class-body", ERROR, 1,                                            \
      "the NKI compiler accepts fields, assignments and functions only in a class",                \
      "Move other statements out of the class.")                                                   \
    X(S_RANGE, "hone-strict-range", ERROR, 1, "{} takes one to three positional arguments",        \
      "The NKI compiler refuses keywords and other counts.")                                       \
    X(S_INT32, "hone-strict-int32", ERROR, 1,                                                      \
      "{} does not fit 32 bits, as integers of the NKI compiler must",                             \
      "Split the constant or compute with float.")                                                 \
    X(S_DICT_KEY, "hone-strict-dict-key", ERROR, 1,                                                \
      "the keys of a dict must be strings for the NKI compiler",                                   \
      "Use a list, or strings such as f\"{i}\" as keys.")                                          \
    X(S_BUILTIN, "hone-strict-builtin", ERROR, 1,                                                  \
      "the NKI compiler does not have the builtin '{}'",                                           \
      "It knows range, len, print, min, max, abs, int, float, bool, str, tuple, list, dict, "      \
      "divmod, isinstance, type, slice and some of math.")                                         \
    X(S_SLICE_STEP, "hone-strict-slice-step", ERROR, 1, "the step of a slice must be positive",    \
      "Reverse with an access pattern instead.")

enum lint_rule {
#define X(id, ...) LINT_##id,
    LINT_TABLE(X)
#undef X
        LINT_COUNT
};

struct lint {
    const struct nki_tree *tree;
    const struct nki_lint_options *options;
    struct diag_list *diags;
    bool is_legacy;         /* dialect of the file */
    uint64_t rules;         /* of the release */
    struct map aliases;     /* local name -> what it stands for, e.g. "nisa" -> "nisa" */
    struct map bound;       /* every name that the file binds anywhere */
    struct map loop_bodies; /* strict: functions passed to nl.fori_loop or while_loop */
    struct map told;        /* deprecated names that were reported */
    struct map plain;       /* names that no row of releases.def is about */
    bool *reached;          /* by node id: what kernels of the compiler hold */
    size_t findings;
    bool imports_all; /* from x import * */
};

/* What completes a message; each field may be left out. */
struct lint_detail {
    struct str name;   /* replaces "{}" */
    const char *hint;  /* added after a semicolon */
    const char *since; /* the version of nki with which this began; added before the hint */
    bool is_warning;   /* though it is an error where it is certain */
};
void lint_report(struct lint *lint, enum lint_rule rule, struct nki_span span,
                 struct lint_detail detail);
void lint_node(struct lint *lint, enum lint_rule rule, const struct nki_node *node);
void lint_name(struct lint *lint, enum lint_rule rule, const struct nki_node *node,
               struct str name);
/* A dotted name whose first part is replaced by what it was imported as: nl, nisa, nki, or the
 * module's own name. False for anything but names and attributes. */
bool lint_canonical(const struct lint *lint, const struct nki_node *node, struct buf *out);
/* Whether a name can mean the builtin, because nothing in the file binds it. */
bool lint_is_builtin(const struct lint *lint, struct str name);

/* Whether every run of a kernel comes to the node (lint_certain.c; needs reached). Imports count as
 * passed by: compilers that do not run the file do not look at them. */
bool lint_is_certain(const struct lint *lint, const struct nki_node *node);

/* Whether the compiler of the release has a rule of its language. */
bool lint_rule(const struct lint *lint, enum nki_rule rule);
/* Whether what came with a release is in that of the target. NULL: it always is. */
bool lint_holds_since(const struct lint *lint, const char *since);
void lint_bindings(struct lint *lint); /* lint_names.c: fills aliases and bound */
void lint_api(struct lint *lint);      /* lint_api.c: removed and deprecated */
void lint_unknown(struct lint *lint);  /* lint_unknown.c: names of no release; needs reached */
void lint_calls(struct lint *lint);    /* lint_calls.c: keywords, members; needs reached */
void lint_mixed(struct lint *lint);    /* lint_mixed.c: both packages; needs reached */
void lint_flow(struct lint *lint);     /* lint_flow.c: order, loops, names */
void lint_reach(struct lint *lint);    /* lint_strict.c: fills reached */
void lint_strict(struct lint *lint);   /* .. the compiler's subset there */
void lint_strict_node(struct lint *lint, const struct nki_node *node); /* lint_subset.c */
void lint_strict_class(struct lint *lint, const struct nki_node *node);

#endif
