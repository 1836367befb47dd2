/* SPDX-License-Identifier: Apache-2.0 */
/* The syntax of kernels: tokens, the tree, looking things up in it, and source edits.
 *
 * The tree follows CPython's `ast` (kinds, field meaning), with some differences that make it
 * easier to use from C:
 *   - a parameter (NKI_ARG) carries its own default and form; there are no parallel lists;
 *   - constants are one kind with a sub-kind; `True` is a constant, not a name;
 *   - a name that a pattern of `match` binds is a name that is stored, like any other;
 *   - every node knows its parent, its exact bytes, and its place in the pre-order `tree->nodes`,
 *     in which a node's descendants follow it without gap: walking needs no recursion;
 *   - a statement that could not be parsed is an NKI_ERROR node (only when `tree->errors > 0`).
 * Offsets are bytes into `tree->source`; spans are half open. */
#ifndef HONE_NKI_SYNTAX_H
#define HONE_NKI_SYNTAX_H

#include "base/base.h"

/* Limits on foreign source. Passing one is a diagnostic of its own. */
#define NKI_MAX_SOURCE (8u << 20) /* bytes in a file */
#define NKI_MAX_DEPTH 200         /* nesting of the source and height of the tree */
#define NKI_MAX_NODES (2u << 20)  /* nodes of a tree; about 250 MiB */
#define NKI_MAX_ERRORS 50         /* syntax errors reported for a file */
#define NKI_NO_PYTHON "syntax"    /* the code of errors that Python reports, too */
#define NKI_MAX_FINDINGS 500      /* lints reported for a file */

struct nki_span {
    uint32_t start, end;
};

/* ---- tokens -------------------------------------------------------------------------------- */

/* Binary operators: X(ID, text, precedence). A higher precedence binds tighter. */
#define NKI_BINARY_TABLE(X)  \
    X(BIT_OR, "|", 7)        \
    X(BIT_XOR, "^", 8)       \
    X(BIT_AND, "&", 9)       \
    X(SHIFT_LEFT, "<<", 10)  \
    X(SHIFT_RIGHT, ">>", 10) \
    X(ADD, "+", 11)          \
    X(SUB, "-", 11)          \
    X(MUL, "*", 12)          \
    X(MATMUL, "@", 12)       \
    X(DIV, "/", 12)          \
    X(FLOOR_DIV, "//", 12)   \
    X(MOD, "%", 12)          \
    X(POW, "**", 14)
enum nki_binary {
#define X(id, text, precedence) NKI_##id,
    NKI_BINARY_TABLE(X)
#undef X
        NKI_BINARY_COUNT
};

#define NKI_COMPARE_TABLE(X) \
    X(EQ, "==")              \
    X(NOT_EQ, "!=")          \
    X(LT, "<")               \
    X(LT_E, "<=")            \
    X(GT, ">")               \
    X(GT_E, ">=")            \
    X(IS, "is")              \
    X(IS_NOT, "is not")      \
    X(IN, "in")              \
    X(NOT_IN, "not in")
enum nki_comparison {
#define X(id, text) NKI_CMP_##id,
    NKI_COMPARE_TABLE(X)
#undef X
        NKI_CMP_COUNT
};

enum nki_unary { NKI_UNARY_NOT, NKI_UNARY_MINUS, NKI_UNARY_PLUS, NKI_UNARY_INVERT };
enum nki_bool_op { NKI_AND, NKI_OR };

const char *nki_binary_text(enum nki_binary op);         /* "+" */
const char *nki_comparison_text(enum nki_comparison op); /* "not in" */
const char *nki_unary_text(enum nki_unary op);           /* "not", "-", "+", "~" */
const char *nki_bool_op_text(enum nki_bool_op op);       /* "and", "or" */

/* INDENT, DEDENT and END are empty. NEWLINE ends a logical line and covers its line end (it is
 * empty at the end of a file without one). Blank lines, comments, line ends inside brackets, a byte
 * order mark and backslash-newlines are trivia: they are the bytes between two tokens. */
enum nki_token_kind {
    NKI_TOKEN_END,
    NKI_TOKEN_NEWLINE,
    NKI_TOKEN_INDENT,
    NKI_TOKEN_DEDENT,
    NKI_TOKEN_NAME,
    NKI_TOKEN_KEYWORD, /* `word` says which */
    NKI_TOKEN_NUMBER,
    NKI_TOKEN_STRING, /* with prefix and quotes; an f-string is one token */
    NKI_TOKEN_OP,     /* `op` holds its bytes, first byte in the low 8 bits */
    NKI_TOKEN_ERROR,  /* bytes that are no token; reported when the token was made */
};
struct nki_token {
    uint32_t start, end;
    uint8_t kind; /* enum nki_token_kind */
    uint8_t word; /* enum nki_word, see parser.h */
    uint32_t op;  /* the operator's bytes, such as '<' | '<' << 8 | '=' << 16 */
};

/* ---- the tree ------------------------------------------------------------------------------ */

/* Node kinds: X(ID, "name"). Names are those of CPython's ast. */
#define NKI_KIND_TABLE(X)                                                  \
    X(MODULE, "Module")                                                    \
    /* statements: keep FUNCTION_DEF first and ERROR last */               \
    X(FUNCTION_DEF, "FunctionDef")                                         \
    X(CLASS_DEF, "ClassDef")                                               \
    X(RETURN, "Return")                                                    \
    X(DELETE, "Delete")                                                    \
    X(ASSIGN, "Assign")                                                    \
    X(AUG_ASSIGN, "AugAssign")                                             \
    X(ANN_ASSIGN, "AnnAssign")                                             \
    X(FOR, "For")                                                          \
    X(WHILE, "While")                                                      \
    X(IF, "If")                                                            \
    X(WITH, "With")                                                        \
    X(RAISE, "Raise")                                                      \
    X(TRY, "Try")                                                          \
    X(MATCH, "Match")                                                      \
    X(ASSERT, "Assert")                                                    \
    X(IMPORT, "Import")                                                    \
    X(IMPORT_FROM, "ImportFrom")                                           \
    X(GLOBAL, "Global")                                                    \
    X(NONLOCAL, "Nonlocal")                                                \
    X(EXPR, "Expr")                                                        \
    X(PASS, "Pass")                                                        \
    X(BREAK, "Break")                                                      \
    X(CONTINUE, "Continue")                                                \
    X(ERROR, "Error") /* expressions: keep BOOL_OP first and SLICE last */ \
    X(BOOL_OP, "BoolOp")                                                   \
    X(NAMED_EXPR, "NamedExpr")                                             \
    X(BIN_OP, "BinOp")                                                     \
    X(UNARY_OP, "UnaryOp")                                                 \
    X(LAMBDA, "Lambda")                                                    \
    X(IF_EXP, "IfExp")                                                     \
    X(DICT, "Dict")                                                        \
    X(SET, "Set")                                                          \
    X(LIST_COMP, "ListComp")                                               \
    X(SET_COMP, "SetComp")                                                 \
    X(DICT_COMP, "DictComp")                                               \
    X(GENERATOR_EXP, "GeneratorExp")                                       \
    X(AWAIT, "Await")                                                      \
    X(YIELD, "Yield")                                                      \
    X(YIELD_FROM, "YieldFrom")                                             \
    X(COMPARE, "Compare")                                                  \
    X(CALL, "Call")                                                        \
    X(FORMATTED_VALUE, "FormattedValue")                                   \
    X(JOINED_STR, "JoinedStr")                                             \
    X(CONSTANT, "Constant")                                                \
    X(ATTRIBUTE, "Attribute")                                              \
    X(SUBSCRIPT, "Subscript")                                              \
    X(STARRED, "Starred")                                                  \
    X(NAME, "Name")                                                        \
    X(LIST, "List")                                                        \
    X(TUPLE, "Tuple")                                                      \
    X(SLICE, "Slice") /* parts of other nodes */                           \
    X(COMPREHENSION, "comprehension")                                      \
    X(EXCEPT_HANDLER, "ExceptHandler")                                     \
    X(ARGUMENTS, "arguments")                                              \
    X(ARG, "arg")                                                          \
    X(KEYWORD, "keyword")                                                  \
    X(ALIAS, "alias")                                                      \
    X(WITH_ITEM, "withitem")                                               \
    X(MATCH_CASE, "match_case") /* patterns: keep MATCH_VALUE first */     \
    X(MATCH_VALUE, "MatchValue")                                           \
    X(MATCH_SEQUENCE, "MatchSequence")                                     \
    X(MATCH_STAR, "MatchStar")                                             \
    X(MATCH_MAPPING, "MatchMapping")                                       \
    X(MATCH_CLASS, "MatchClass")                                           \
    X(MATCH_KEYWORD, "keyword_pattern")                                    \
    X(MATCH_AS, "MatchAs")                                                 \
    X(MATCH_OR, "MatchOr")
enum nki_kind {
#define X(id, name) NKI_##id,
    NKI_KIND_TABLE(X)
#undef X
        NKI_KIND_COUNT
};

enum nki_constant {
    NKI_CONST_NONE,
    NKI_CONST_FALSE,
    NKI_CONST_TRUE,
    NKI_CONST_ELLIPSIS,
    NKI_CONST_INT,
    NKI_CONST_FLOAT,
    NKI_CONST_IMAGINARY,
    NKI_CONST_STRING,
    NKI_CONST_BYTES,
};
/* How a name, attribute, subscript, starred, list or tuple is used. */
enum nki_context { NKI_LOAD, NKI_STORE, NKI_DEL };
enum nki_arg_form {
    NKI_ARG_POSITIONAL_ONLY, /* before "/" */
    NKI_ARG_PLAIN,
    NKI_ARG_STAR,         /* *args */
    NKI_ARG_KEYWORD_ONLY, /* after "*" or "*args" */
    NKI_ARG_DOUBLE_STAR,  /* **kwargs */
};

struct nki_node;
/* An array in the tree's arena. Entries are never NULL, except for `**x` in `dict.keys`. */
struct nki_list {
    struct nki_node **at;
    uint32_t len;
};

/* Fields that may be NULL are marked "?". Texts (struct str) point into the source or the arena and
 * live as long as the tree. Fields without a type below are nodes. */
struct nki_node {
    uint8_t kind;            /* enum nki_kind */
    uint8_t context;         /* enum nki_context */
    uint8_t parens;          /* pairs of parentheses around it, which its span leaves out */
    uint8_t height;          /* 1 for a leaf; at most NKI_MAX_DEPTH */
    uint32_t start, end;     /* bytes; a def or class starts at its keyword, not its decorator */
    uint32_t id;             /* index in tree->nodes (pre-order) */
    uint32_t last;           /* id of the last descendant; its own id for a leaf */
    struct nki_node *parent; /* NULL for the module */
    union {
        struct {
            struct nki_list body;
        } module;

        struct {
            struct str name;
            struct nki_list decorators; /* expressions, without the "@" */
            struct nki_node *args;      /* NKI_ARGUMENTS */
            struct nki_node *returns;   /* ? annotation */
            struct nki_list body;
            struct nki_span name_span;
            bool is_async;
        } function_def;
        struct {
            struct str name;
            struct nki_list decorators, bases, keywords, body;
            struct nki_span name_span;
        } class_def;
        struct {
            struct nki_node *value;
        } return_; /* ? */
        struct {
            struct nki_list targets;
        } delete_;
        struct {
            struct nki_list targets;
            struct nki_node *value;
        } assign; /* a = b = value */
        struct {
            struct nki_node *target, *value;
            enum nki_binary op;
        } aug_assign;
        struct {
            struct nki_node *target, *annotation, *value;
        } ann_assign; /* value ? */
        struct {
            struct nki_node *target, *iter;
            struct nki_list body, orelse;
            uint32_t else_start; /* offset of `else`; 0 without one */
            bool is_async;
        } for_;
        struct {
            struct nki_node *test;
            struct nki_list body, orelse;
            uint32_t else_start;
        } while_;
        /* An elif is an NKI_IF that is alone in its parent's orelse and has is_elif set. */
        struct {
            struct nki_node *test;
            struct nki_list body, orelse;
            uint32_t else_start; /* offset of `else` or `elif` */
            bool is_elif;
        } if_;
        struct {
            struct nki_list items, body;
            bool is_async;
        } with_; /* NKI_WITH_ITEM */
        struct {
            struct nki_node *exc, *cause;
        } raise_; /* both ? */
        struct {
            struct nki_list body, handlers, orelse, finalbody;
        } try_;
        struct {
            struct nki_node *subject;
            struct nki_list cases; /* NKI_MATCH_CASE; NKI_ERROR where one could not be parsed */
        } match;
        struct {
            struct nki_node *test, *msg;
        } assert_; /* msg ? */
        struct {
            struct nki_list names;
        } import; /* NKI_ALIAS */
        struct {
            struct str module;     /* "neuronxcc.nki"; empty for `from . import` */
            struct nki_list names; /* NKI_ALIAS; `*` is an alias named "*" */
            uint32_t level;        /* leading dots */
        } import_from;
        struct {
            struct str *names;
            uint32_t len;
        } global; /* also nonlocal */
        struct {
            struct nki_node *value;
        } expr;
        struct {
            struct nki_list body;
        } error; /* the block after a bad header */

        struct {
            struct nki_list values;
            enum nki_bool_op op;
        } bool_op; /* two or more */
        struct {
            struct nki_node *target, *value;
        } named_expr;
        struct {
            struct nki_node *left, *right;
            enum nki_binary op;
            struct nki_span op_span;
        } bin_op;
        struct {
            struct nki_node *operand;
            enum nki_unary op;
        } unary_op;
        struct {
            struct nki_node *args, *body;
        } lambda;
        struct {
            struct nki_node *test, *body, *orelse;
        } if_exp; /* body if test else orelse */
        struct {
            struct nki_list keys, values;
        } dict; /* where keys.at[i] is NULL: **values.at[i] */
        struct {
            struct nki_list elts;
        } set;
        struct {
            struct nki_list elts;
        } list;
        /* The span includes the parentheses where it has its own (in_parens). */
        struct {
            struct nki_list elts;
            bool in_parens;
        } tuple;
        struct {
            struct nki_node *elt;
            struct nki_list generators;
        } comp; /* list, set, gen. */
        struct {
            struct nki_node *key, *value;
            struct nki_list generators;
        } dict_comp;
        struct {
            struct nki_node *value;
        } await;
        struct {
            struct nki_node *value;
        } yield; /* ?; also yield from */
        struct {
            struct nki_node *left;
            struct nki_list comparators;
            uint8_t *ops; /* enum nki_comparison, one for each comparator */
        } compare;
        struct {
            struct nki_node *func;
            struct nki_list args, keywords;
        } call; /* NKI_KEYWORD */
        /* f-strings. Their parts are NKI_CONSTANT strings and NKI_FORMATTED_VALUE, in order. */
        struct {
            struct nki_list values;
        } joined_str;
        struct {
            struct nki_node *value, *format_spec; /* format_spec: NKI_JOINED_STR ? */
            char conversion;                      /* 'r', 's', 'a' or 0 */
        } formatted_value;
        struct {
            enum nki_constant type;
            bool is_big;     /* an int outside int64; `integer` is saturated */
            int64_t integer; /* INT */
            double number;   /* INT (nearest), FLOAT, IMAGINARY */
            struct str text; /* STRING (UTF-8), BYTES; escapes are resolved */
        } constant;
        struct {
            struct nki_node *value;
            struct str attr;
            struct nki_span attr_span;
        } attribute;
        struct {
            struct nki_node *value, *slice;
        } subscript; /* a[i, j]: slice is a tuple */
        struct {
            struct nki_node *value;
        } starred;
        struct {
            struct str id;
        } name;
        struct {
            struct nki_node *lower, *upper, *step;
        } slice; /* all ? */

        struct {
            struct nki_node *target, *iter;
            struct nki_list ifs;
            bool is_async;
        } comprehension;
        struct {
            struct nki_node *type;
            struct str name;
            struct nki_list body;
        } except_handler;
        struct {
            struct nki_list args;
        } arguments; /* NKI_ARG in source order */
        struct {
            struct str name;
            struct nki_node *annotation, *default_value; /* both ? */
            struct nki_span name_span;
            enum nki_arg_form form;
        } arg;
        struct {
            struct str name;
            struct nki_node *value;
        } keyword; /* an empty name: **value */
        struct {
            struct str name, asname;
        } alias; /* asname is empty without `as` */
        struct {
            struct nki_node *context_expr, *optional_vars;
        } with_item; /* vars ? */
        struct {
            struct nki_node *pattern, *guard; /* guard ? */
            struct nki_list body;
        } match_case;
        struct {
            struct nki_node *value;
        } match_value; /* a literal (None, True and False, too) or a dotted name */
        struct {
            struct nki_list patterns;
        } match_list; /* sequence, or */
        struct {
            struct nki_node *name;
        } match_star; /* ?: *_ */
        struct {
            struct nki_list keys, patterns; /* as many of each */
            struct nki_node *rest;          /* ? */
        } match_mapping;
        struct {
            struct nki_node *cls;
            struct nki_list patterns, keywords; /* NKI_MATCH_KEYWORD */
        } match_class;
        struct {
            struct str name;
            struct nki_node *pattern;
        } match_keyword;
        struct {
            struct nki_node *pattern, *name; /* both ?; neither: _ */
        } match_as;
    };
};

/* One parsed file. All of it is in its arena, which nki_tree_free releases. */
struct nki_tree {
    struct arena *arena;
    const char *file;        /* as the user wrote it */
    struct str source;       /* a copy, followed by a zero byte */
    struct nki_node *module; /* never NULL */
    struct nki_node **nodes; /* pre-order: nodes[0] is the module */
    uint32_t n_nodes;
    struct nki_token *tokens; /* the last one is END */
    uint32_t n_tokens;
    struct nki_span *comments; /* from "#" to before the line end; in order */
    uint32_t n_comments;
    uint32_t *lines; /* offset of the start of each line */
    uint32_t n_lines;
    size_t errors; /* syntax errors found; 0: the tree is complete */
};

/* Parses a copy of `source`. Never NULL: what cannot be parsed becomes NKI_ERROR nodes. The
 * findings go to *diags (with `file` as their file), and their number to tree->errors. */
struct nki_tree *nki_parse(const char *file, struct str source,
                           struct diag_list *diags) CC_MUST_USE;
/* The same from a file. NULL with *err when it cannot be read or is larger than NKI_MAX_SOURCE. */
struct nki_tree *nki_parse_file(const char *path, struct diag_list *diags,
                                struct err *err) CC_MUST_USE;
void nki_tree_free(struct nki_tree *tree); /* accepts NULL */

/* ---- looking at it ------------------------------------------------------------------------- */

const char *nki_node_name(enum nki_kind kind); /* "FunctionDef" */
bool nki_is_statement(const struct nki_node *node);
bool nki_is_expression(const struct nki_node *node);

/* Lines and columns count from 1; columns are bytes. */
struct nki_place {
    int line, column;
};
struct nki_place nki_place_of(const struct nki_tree *tree, uint32_t offset);
/* The line with its line end. A line number out of range gives an empty span at the end. */
struct nki_span nki_line_span(const struct nki_tree *tree, int line);

struct str nki_text(const struct nki_tree *tree, struct nki_span span);
static inline struct nki_span nki_span_of(const struct nki_node *node) {
    return (struct nki_span){node->start, node->end};
}
/* The node's own text, without the parentheses around it. */
struct str nki_node_text(const struct nki_tree *tree, const struct nki_node *node);
/* The span with all parentheses that belong to the node. */
struct nki_span nki_outer_span(const struct nki_tree *tree, const struct nki_node *node);
/* How tightly an expression binds (as in NKI_BINARY_TABLE; atoms have 20). A node that is replaced
 * by text of lower precedence needs parentheses around it. */
int nki_precedence(const struct nki_node *node);

/* The index of the first token that ends after `offset`: the token there, or the next one. */
uint32_t nki_token_at(const struct nki_tree *tree, uint32_t offset);

/* To visit a node and everything below it, in source order:
 *     for (uint32_t i = node->id; i <= node->last; i++) look_at(tree->nodes[i]);
 * `i = n->last` inside the loop skips the rest of n. */

/* Whether `inner` is the node itself or below it. */
static inline bool nki_contains(const struct nki_node *outer, const struct nki_node *inner) {
    return inner->id >= outer->id && inner->id <= outer->last;
}
/* The nearest enclosing node of that kind (not the node itself); NULL when there is none. */
struct nki_node *nki_enclosing(const struct nki_node *node, enum nki_kind kind);
/* The statement that a node belongs to (itself when it is one); NULL for the module. */
struct nki_node *nki_statement_of(const struct nki_node *node);
/* The blocks of statements that a node holds (the handlers of a try count as one). Those of the
 * four that it lacks are NULL. */
void nki_blocks_of(const struct nki_node *node, const struct nki_list *blocks[4]);
/* The block that a statement is in, and its index there; NULL for anything else. */
const struct nki_list *nki_block_of(const struct nki_node *stmt, uint32_t *index);
/* Writes names and attributes, joined by dots ("nl.affine_range"), to `out`. False for anything
 * else. */
bool nki_dotted_name(const struct nki_node *node, struct buf *out);
/* Whether the node is exactly the dotted name, as in nki_is_dotted(call->call.func, "nl.load"). */
bool nki_is_dotted(const struct nki_node *node, const char *dotted);
/* The value of a keyword argument of a call; NULL when it is not given. */
struct nki_node *nki_keyword(const struct nki_node *call, const char *name);

/* A hash of what the source does. It is equal for sources that differ in comments, blank lines,
 * spacing, docstrings, redundant parentheses and commas, the spelling of numbers and strings, and
 * the names of a function's own variables. A source that does not parse is taken as it is
 * written. */
struct hash nki_source_hash(struct str source);

/* Adds a finding about a span of the tree's source, with file, line, column and end. */
struct diag *nki_report(const struct nki_tree *tree, struct diag_list *diags,
                        enum diag_severity severity, struct nki_span span, const char *code,
                        const char *format, ...) CC_PRINTF(6, 7);

/* Sorts the findings from index `first` on by their places in the source. */
void nki_sort_findings(struct diag_list *diags, size_t first);

/* ---- what kind of file it is --------------------------------------------------------------- */

enum nki_dialect {
    NKI_DIALECT_UNKNOWN, /* nothing shows it: treat it as current */
    NKI_DIALECT_LEGACY,  /* package neuronxcc.nki, values, masks */
    NKI_DIALECT_CURRENT, /* package nki, explicit dst= */
};
struct nki_dialect_info {
    enum nki_dialect dialect;
    struct nki_span seen; /* what showed it; empty when unknown */
    const char *why;      /* "imports neuronxcc"; never NULL */
};
struct nki_dialect_info nki_detect_dialect(const struct nki_tree *tree);
const char *nki_dialect_name(enum nki_dialect dialect); /* "legacy", "current", "unknown" */

/* The function of that name at module level (the last one when it is defined again), or NULL. */
struct nki_node *nki_find_function(const struct nki_tree *tree, struct str name);
/* The decorator that makes a function a kernel (nki.jit, jit, nki.jit(...), nki.trace, ...); NULL
 * for a plain function. */
struct nki_node *nki_kernel_decorator(const struct nki_node *function);
/* Whether a decorator, or what is called on a function, makes it a kernel. */
bool nki_makes_kernel(const struct nki_node *decorator);

/* A kernel that a function makes, or nki.jit(body) (made.c). */
struct nki_made {
    struct nki_node *function; /* the kernel itself */
    struct nki_node *factory;  /* the function that it is made by; NULL: none */
    struct str name;           /* at module level, `name = make(2.0)`; empty: the factory is called
                                * without arguments */
};
/* The one of that name (at module level, its own, or the factory's), else the last; without a name
 * (NULL) the last that has one at module level, or the first factory's. */
bool nki_find_made(const struct nki_tree *tree, const char *name, struct nki_made *made);
/* The kernel that a function at module level returns: one that it defines and decorates; NULL: it
 * returns none. */
struct nki_node *nki_made_by(const struct nki_node *factory);
/* By which name the kernel that nki_find_kernel gave is found again: the given one, if there is. */
struct str nki_kernel_name(const struct nki_tree *tree, const struct nki_node *kernel,
                           const char *given);

/* The function to run as the kernel. With a `name` it is the function of that name, decorated or
 * not. Without one (NULL) it is the only decorated function, or the last decorated one that no
 * other function calls. Where nothing is decorated at module level, it is what a factory makes, the
 * only function, or the one named kernel / nki_kernel / *_kernel. NULL with *err, which names the
 * candidates, when that leaves none or several. */
struct nki_node *nki_find_kernel(const struct nki_tree *tree, const char *name,
                                 struct err *err) CC_MUST_USE;

/* Names the functions of a file, other than the kernel, that could as well have been meant: the
 * decorated ones that no other function calls, or all decorated ones where each is called. Empty:
 * there is no doubt. */
void nki_print_other_kernels(const char *file, struct str text, struct buf *out);

/* Whether a file of that text has a function of that name, decorated or not. False with *err
 * (ERR_USAGE), which says what there is. A text that cannot be read as a kernel's file passes:
 * where it is compiled, it is said better what is wrong with it. */
bool nki_has_kernel(const char *file, struct str text, const char *name,
                    struct err *err) CC_MUST_USE;

/* ---- source edits -------------------------------------------------------------------------- */

struct nki_edit {
    struct nki_span span; /* what is replaced; empty for an insertion */
    int depth;            /* of the statement it was inserted after, otherwise 0 */
    char *text;
    size_t len;
};
/* Replacements in the source of one tree, in any order. Start with {.tree = tree}. */
struct nki_edits {
    const struct nki_tree *tree;
    VEC(struct nki_edit) all;
};
void nki_edits_free(struct nki_edits *edits);
/* Replaces a span by a copy of the text. Several insertions at one place keep their order. */
void nki_edit_replace(struct nki_edits *edits, struct nki_span span, struct str text);
/* Replaces a node; parentheses around it stay. */
void nki_edit_node(struct nki_edits *edits, const struct nki_node *node, struct str text);
void nki_edit_insert(struct nki_edits *edits, uint32_t offset, struct str text);
/* Inserts whole lines before or after a statement. `lines` are written as at column 0 and get the
 * statement's indentation and the file's line ends; a missing last line end is added. Before a
 * statement means before its decorators but after the comments above it. Adds nothing and returns
 * false for a statement that shares its line with another (`if x: a; b`), and before an elif. */
bool nki_edit_insert_before(struct nki_edits *edits, const struct nki_node *stmt,
                            struct str lines) CC_MUST_USE;
bool nki_edit_insert_after(struct nki_edits *edits, const struct nki_node *stmt,
                           struct str lines) CC_MUST_USE;
/* Removes a statement with its lines. When it is the only one of its block, `pass` takes its
 * place. */
void nki_edit_remove_stmt(struct nki_edits *edits, const struct nki_node *stmt);
/* Writes the new source to *out. False with *err when two replacements overlap. */
bool nki_edits_apply(const struct nki_edits *edits, struct buf *out, struct err *err) CC_MUST_USE;

/* From the start of the statement's first line (with its decorators) to after the line end of its
 * last, with a trailing comment. When the statement shares a line with another one or with its
 * block's header, the span has only its own bytes, and *shares is true (shares may be NULL). */
struct nki_span nki_stmt_lines(const struct nki_tree *tree, const struct nki_node *stmt,
                               bool *shares);
/* The same, with the comment lines directly above the statement that have its indentation. */
struct nki_span nki_stmt_lines_with_comments(const struct nki_tree *tree,
                                             const struct nki_node *stmt);
/* The blanks at the start of the line on which the statement starts. */
struct str nki_indent_of(const struct nki_tree *tree, const struct nki_node *stmt);
/* One step of indentation as the file uses it (four blanks when it uses none). */
struct str nki_indent_unit(const struct nki_tree *tree);
/* "\n" or "\r\n", whichever the file uses more. */
struct str nki_line_end(const struct nki_tree *tree);
/* The lines of a span, with the indentation `from` replaced by `to`. Blank lines, and lines that
 * start inside a string, stay as they are. A line indented less than `from` gets only `to`. */
void nki_reindent(const struct nki_tree *tree, struct nki_span lines, struct str from,
                  struct str to, struct buf *out);

/* ---- files that a kernel imports ------------------------------------------------------------- */

/* The file of the module "a.b" (a/b.py or a/b/__init__.py). It is searched from the folder of the
 * importing file, `up` folders higher. NULL when there is neither. Free the result. */
char *nki_import_path(const char *importer, struct str dotted, uint32_t up) CC_MUST_USE;

#endif
