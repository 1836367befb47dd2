/* SPDX-License-Identifier: Apache-2.0 */
/* What the lexer and the parts of the parser share. Private to this folder. */
#ifndef HONE_NKI_PARSER_H
#define HONE_NKI_PARSER_H

#include "nki/syntax/syntax.h"

/* Hard keywords, sorted by their bytes, because the lexer searches by bisection. */
#define NKI_WORD_TABLE(X)   \
    X(FALSE, "False")       \
    X(NONE, "None")         \
    X(TRUE, "True")         \
    X(AND, "and")           \
    X(AS, "as")             \
    X(ASSERT, "assert")     \
    X(ASYNC, "async")       \
    X(AWAIT, "await")       \
    X(BREAK, "break")       \
    X(CLASS, "class")       \
    X(CONTINUE, "continue") \
    X(DEF, "def")           \
    X(DEL, "del")           \
    X(ELIF, "elif")         \
    X(ELSE, "else")         \
    X(EXCEPT, "except")     \
    X(FINALLY, "finally")   \
    X(FOR, "for")           \
    X(FROM, "from")         \
    X(GLOBAL, "global")     \
    X(IF, "if")             \
    X(IMPORT, "import")     \
    X(IN, "in")             \
    X(IS, "is")             \
    X(LAMBDA, "lambda")     \
    X(NONLOCAL, "nonlocal") \
    X(NOT, "not")           \
    X(OR, "or")             \
    X(PASS, "pass")         \
    X(RAISE, "raise")       \
    X(RETURN, "return")     \
    X(TRY, "try")           \
    X(WHILE, "while")       \
    X(WITH, "with")         \
    X(YIELD, "yield")
enum nki_word {
#define X(id, text) NKI_WORD_##id,
    NKI_WORD_TABLE(X)
#undef X
        NKI_WORD_COUNT
};

/* The bytes of operators, packed as in nki_token.op. */
#define OP1(a) ((uint32_t)(unsigned char)(a))
#define OP2(a, b) (OP1(a) | OP1(b) << 8)
#define OP3(a, b, c) (OP2(a, b) | OP1(c) << 16)

/* Counts the syntax errors of one file, and reports at most NKI_MAX_ERRORS of them. */
struct nki_faults {
    const struct nki_tree *tree;
    struct diag_list *diags;
    size_t count; /* found, reported or not */
};
void nki_fault(struct nki_faults *faults, struct nki_span span, const char *format, ...)
    CC_PRINTF(3, 4);
/* What Python takes, and hone does not. */
void nki_gap(struct nki_faults *faults, struct nki_span span, const char *format, ...)
    CC_PRINTF(3, 4);

/* ---- lexer --------------------------------------------------------------------------------- */

/* Fills tree->tokens with the tokens of the whole file, and makes its comments and lines. */
void nki_lex_file(struct nki_tree *tree, struct nki_faults *faults);
/* The tokens of a part of the source that is one expression (a replacement field of an f-string).
 * Line ends mean nothing there, and END ends the list. It is in the tree's arena. */
struct nki_token *nki_lex_part(struct nki_tree *tree, struct nki_span part,
                               struct nki_faults *faults);
/* The parts of a string token: its prefix and the span between its quotes. */
struct nki_string_parts {
    struct nki_span body;
    bool is_raw, is_bytes, is_format;
};
struct nki_string_parts nki_split_string(struct str source, struct nki_span token);
/* The end of the replacement field's expression that starts at `at`: the offset of the "!", ":",
 * "=" or "}" after it, or `end` when there is none before that. */
uint32_t nki_field_end(struct str source, uint32_t at, uint32_t end);

/* ---- parser -------------------------------------------------------------------------------- */

/* After an error `failed` is set, and `token` points to a token that matches nothing. So every rule
 * returns soon without a check of its own. The statement that contains the error recovers. */
struct nki_parser {
    struct nki_tree *tree;
    struct arena *arena;
    struct nki_faults *faults;
    const struct nki_token *tokens;
    const struct nki_token *token; /* the current one */
    uint32_t at;
    uint32_t nodes; /* made so far, with those thrown away */
    int depth;
    bool failed;
    VEC(struct nki_node *) pending; /* children of unfinished lists, innermost last */
};

/* parser.c: tokens and nodes */
void parser_fail(struct nki_parser *p, const char *format, ...) CC_PRINTF(2, 3);
/* The same, about a node instead of the current token. */
void parser_fail_at(struct nki_parser *p, const struct nki_node *node, const char *format, ...)
    CC_PRINTF(3, 4);
/* Fails with "found X, expected <expected>". */
void parser_expected(struct nki_parser *p, const char *expected);
void parser_next(struct nki_parser *p);
bool parser_enter(struct nki_parser *p); /* one level deeper; false: too deep */
void parser_leave(struct nki_parser *p);
struct nki_node *parser_node(struct nki_parser *p, enum nki_kind kind, uint32_t start);
/* Ends the node where the last token that was taken ends. */
struct nki_node *parser_close(struct nki_parser *p, struct nki_node *node);
/* Makes `child` (may be NULL) a child of `parent`, and returns it. */
struct nki_node *parser_adopt(struct nki_parser *p, struct nki_node *parent,
                              struct nki_node *child);
/* Lists: remember the start, push, then move what was pushed into the arena. */
uint32_t parser_list_start(const struct nki_parser *p);
void parser_list_push(struct nki_parser *p, struct nki_node *node);
struct nki_list parser_list_end(struct nki_parser *p, struct nki_node *parent, uint32_t start);

static inline bool parser_at_op(const struct nki_parser *p, uint32_t op) {
    return p->token->kind == NKI_TOKEN_OP && p->token->op == op;
}
static inline bool parser_at_word(const struct nki_parser *p, enum nki_word word) {
    return p->token->kind == NKI_TOKEN_KEYWORD && p->token->word == word;
}
bool parser_accept_op(struct nki_parser *p, uint32_t op);
bool parser_accept_word(struct nki_parser *p, enum nki_word word);
bool parser_need_op(struct nki_parser *p, uint32_t op, const char *expected);
bool parser_need_word(struct nki_parser *p, enum nki_word word, const char *expected);
/* Takes a name. When there is none, it fails and returns an empty one. */
struct str parser_need_name(struct nki_parser *p, const char *what, struct nki_span *span);
uint32_t parser_last_end(const struct nki_parser *p);

/* syntax_fields.c: the children in source order, in `some` when they fit, otherwise in the
 * arena. */
#define NKI_SOME_CHILDREN 16
struct nki_node **nki_children_into(const struct nki_tree *tree, const struct nki_node *node,
                                    struct nki_node **some, uint32_t *count);

/* parser_expr.c, parser_atom.c. Every function returns a node, even after a failure. */
struct nki_node *parse_expression(struct nki_parser *p);
struct nki_node *parse_named_expression(struct nki_parser *p); /* with := */
struct nki_node *parse_star_named(struct nki_parser *p);       /* *x or with := */
/* One expression or, with commas, a tuple; starred elements allowed. */
struct nki_node *parse_expression_list(struct nki_parser *p);
struct nki_node *parse_yield_or_list(struct nki_parser *p);
struct nki_node *parse_target_list(struct nki_parser *p); /* for ... in, with ... as */
struct nki_node *parse_disjunction(struct nki_parser *p); /* no lambda, no if-else */
struct nki_node *parse_binary(struct nki_parser *p, int precedence);
struct nki_node *parse_primary(struct nki_parser *p);
bool parser_at_expression(const struct nki_parser *p); /* whether one can start here */
/* Takes the arguments of a call or of a class, with the closing bracket. */
void parse_call_arguments(struct nki_parser *p, struct nki_node *parent, struct nki_list *args,
                          struct nki_list *keywords);
/* Marks a parsed expression as assigned or deleted; fails where it cannot be. */
void parser_set_context(struct nki_parser *p, struct nki_node *node, enum nki_context context);

/* parser_params.c: parameters up to `close` (")" of a def, ":" of a lambda), which is not taken. */
struct nki_node *parse_parameters(struct nki_parser *p, uint32_t close);

/* parser_literal.c */
struct nki_node *parse_number(struct nki_parser *p);
struct nki_node *parse_strings(struct nki_parser *p);
/* parser_fstring.c: pushes the parts of an f-string's body onto the pending list. */
void parse_format_string(struct nki_parser *p, struct nki_string_parts string);
/* A string constant of the source bytes in `span`, escapes resolved unless raw. */
struct nki_node *parser_string_piece(struct nki_parser *p, struct nki_span span,
                                     struct nki_string_parts string);

/* parser_match.c: whether a match statement starts here ("match" is a name elsewhere), and it. */
bool parser_at_match(const struct nki_parser *p);
struct nki_node *parse_match(struct nki_parser *p);

/* NULL when no compound statement starts here. */
struct nki_node *parse_compound_statement(struct nki_parser *p);
/* Takes one line of statements, or one compound statement, and pushes it onto the pending list. */
void parse_statement_line(struct nki_parser *p);
/* After an error in what began at `start`: skips its line, takes the block below, and makes them a
 * node NKI_ERROR. */
struct nki_node *parser_recover(struct nki_parser *p, uint32_t start);
/* Takes ":" and the statements below it. */
struct nki_list parse_suite(struct nki_parser *p, struct nki_node *parent, const char *after);

/* ---- comparing ------------------------------------------------------------------------------ */

/* The dump with which two sources are compared. Unlike the dump for people, it leaves nothing open.
 * It omits docstrings, and writes the names in `marks` as their places there. */
struct nki_plain {
    const struct nki_tree *tree;
    const struct map *marks;
};
void nki_dump_plain(const struct nki_plain *plain, const struct nki_node *node, struct buf *out);

#endif
