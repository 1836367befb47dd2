/* SPDX-License-Identifier: Apache-2.0 */
/* The lexer: from source bytes to tokens, with Python's rules for lines, indentation and brackets.
 * It also makes the tables of comments and line starts. It reports bytes that are no token and
 * unclosed strings and brackets, and goes on after them. The parser decides what strings and
 * numbers mean. lexer_string.c finds where a string ends. */
#include "nki/syntax/lexer.h"

#define MAX_INDENTS 100

struct indent {
    uint32_t column;      /* a tab goes to the next multiple of 8 */
    uint32_t alternative; /* a tab is one column; both must give the same order */
};

struct lexer {
    struct nki_tree *tree;
    struct nki_faults *faults;
    const char *text; /* followed by a zero byte at `end` for a whole file */
    uint32_t at, end;
    bool is_part; /* one expression, in which line ends are blanks */
    VEC(struct nki_token) tokens;
    VEC(struct nki_span) comments;
    uint32_t brackets[NKI_MAX_DEPTH];
    uint32_t depth;
    struct indent indents[MAX_INDENTS];
    uint32_t n_indents;
    int retries; /* of f-strings; see lexer_find_string_end */
};

static const char *const words[] = {
#define X(id, text) text,
    NKI_WORD_TABLE(X)
#undef X
};

static struct nki_token *push(struct lexer *lx, enum nki_token_kind kind, uint32_t start,
                              uint32_t end) {
    struct nki_token *token = vec_push(&lx->tokens);
    *token = (struct nki_token){.start = start, .end = end, .kind = (uint8_t)kind};
    return token;
}

static char byte_at(const struct lexer *lx, uint32_t at) {
    return at < lx->end ? lx->text[at] : '\0';
}

static bool is_newline(char c) {
    return c == '\n' || c == '\r';
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* Skips one line end: "\n", "\r\n" or a lone "\r". */
static uint32_t after_newline(const struct lexer *lx, uint32_t at) {
    if (byte_at(lx, at) == '\r' && byte_at(lx, at + 1) == '\n')
        return at + 2;
    return at + 1;
}

/* ---- blanks, comments, lines --------------------------------------------------------------- */

static void skip_comment(struct lexer *lx) {
    uint32_t start = lx->at;
    while (lx->at < lx->end && !is_newline(lx->text[lx->at]))
        lx->at++;
    if (!lx->is_part)
        *vec_push(&lx->comments) = (struct nki_span){start, lx->at};
}

/* A backslash continues the line when a line end follows it at once. */
static bool skip_continuation(struct lexer *lx) {
    if (byte_at(lx, lx->at) != '\\' || !is_newline(byte_at(lx, lx->at + 1)))
        return false;
    lx->at = after_newline(lx, lx->at + 1);
    return true;
}

static void skip_blanks(struct lexer *lx) {
    for (;;) {
        char c = byte_at(lx, lx->at);
        if (lx->at < lx->end && (c == ' ' || c == '\t' || c == '\f'))
            lx->at++;
        else if (!skip_continuation(lx))
            return;
    }
}

static struct indent measure_indent(struct lexer *lx) {
    struct indent indent = {0};
    for (; lx->at < lx->end; lx->at++) {
        char c = lx->text[lx->at];
        if (c == ' ') {
            indent.column++;
            indent.alternative++;
        } else if (c == '\t') {
            indent.column = (indent.column / 8 + 1) * 8;
            indent.alternative++;
        } else if (c == '\f') {
            indent = (struct indent){0};
        } else {
            break;
        }
    }
    return indent;
}

static void fault_tabs(struct lexer *lx) {
    nki_fault(lx->faults, (struct nki_span){lx->at, lx->at + 1},
              "this line is indented with tabs where its block uses blanks (or the other way "
              "round); use one of them throughout");
}

static void open_indent(struct lexer *lx, struct indent indent) {
    if (indent.alternative <= lx->indents[lx->n_indents - 1].alternative)
        fault_tabs(lx);
    if (lx->n_indents == MAX_INDENTS) {
        nki_fault(lx->faults, (struct nki_span){lx->at, lx->at + 1},
                  "blocks nest more than %d deep here; move the inner ones into functions",
                  MAX_INDENTS - 1);
        push(lx, NKI_TOKEN_INDENT, lx->at, lx->at);
        push(lx, NKI_TOKEN_ERROR, lx->at, lx->at);
        lx->at = lx->end;
        return;
    }
    lx->indents[lx->n_indents++] = indent;
    push(lx, NKI_TOKEN_INDENT, lx->at, lx->at);
}

static void close_indents(struct lexer *lx, struct indent indent) {
    while (lx->n_indents > 1 && lx->indents[lx->n_indents - 1].column > indent.column) {
        lx->n_indents--;
        push(lx, NKI_TOKEN_DEDENT, lx->at, lx->at);
    }
    struct indent *top = &lx->indents[lx->n_indents - 1];
    if (top->column != indent.column)
        nki_fault(lx->faults, (struct nki_span){lx->at, lx->at + 1},
                  "this line is indented by %u columns, which is no enclosing block's "
                  "indentation; the nearest is %u",
                  indent.column, top->column);
    else if (top->alternative != indent.alternative)
        fault_tabs(lx);
}

/* At the start of a line outside brackets: skips blank lines and comments, then compares the
 * indentation with the open blocks. */
static void start_line(struct lexer *lx) {
    struct indent indent;
    for (;;) {
        indent = measure_indent(lx);
        if (byte_at(lx, lx->at) == '#')
            skip_comment(lx);
        if (lx->at >= lx->end)
            return;
        if (!is_newline(lx->text[lx->at]))
            break;
        lx->at = after_newline(lx, lx->at);
    }
    uint32_t column = lx->indents[lx->n_indents - 1].column;
    if (indent.column > column)
        open_indent(lx, indent);
    else
        close_indents(lx, indent);
}

/* ---- brackets ------------------------------------------------------------------------------ */

static int line_of(const struct lexer *lx, uint32_t offset) {
    return nki_place_of(lx->tree, offset).line;
}

static char closer_of(char open) {
    return open == '(' ? ')' : open == '[' ? ']' : '}';
}

static bool open_bracket(struct lexer *lx) {
    if (lx->depth == NKI_MAX_DEPTH) {
        nki_fault(lx->faults, (struct nki_span){lx->at, lx->at + 1},
                  "brackets nest more than %d deep here; name the inner values", NKI_MAX_DEPTH);
        push(lx, NKI_TOKEN_ERROR, lx->at, lx->at + 1);
        lx->depth = 0;
        lx->at = lx->end;
        return false;
    }
    lx->brackets[lx->depth++] = lx->at;
    return true;
}

static bool close_bracket(struct lexer *lx, char close) {
    struct nki_span here = {lx->at, lx->at + 1};
    if (lx->depth == 0) {
        nki_fault(lx->faults, here, "found '%c' without the bracket that it closes", close);
        return false;
    }
    uint32_t open_at = lx->brackets[--lx->depth];
    char open = lx->text[open_at];
    if (closer_of(open) == close)
        return true;
    nki_fault(lx->faults, here, "found '%c', expected '%c' for the '%c' on line %d", close,
              closer_of(open), open, line_of(lx, open_at));
    return false;
}

/* The innermost open bracket is never closed. Reports it and ends the logical line here. */
static void abandon_brackets(struct lexer *lx, uint32_t at) {
    uint32_t open_at = lx->brackets[lx->depth - 1];
    char open = lx->text[open_at];
    nki_fault(lx->faults, (struct nki_span){open_at, open_at + 1},
              "'%c' is never closed; expected '%c'", open, closer_of(open));
    lx->depth = 0;
    push(lx, NKI_TOKEN_ERROR, at, at);
    if (!lx->is_part)
        push(lx, NKI_TOKEN_NEWLINE, at, at);
}

/* ---- tokens -------------------------------------------------------------------------------- */

static int find_word(struct str text) {
    size_t low = 0, high = COUNT_OF(words);
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = strncmp(text.at, words[middle], text.len);
        if (order == 0 && words[middle][text.len])
            order = -1;
        if (order == 0)
            return (int)middle;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return -1;
}

/* Keywords that start a statement and cannot stand inside an expression. */
static bool only_starts_statement(int word) {
    switch (word) {
    case NKI_WORD_ASSERT:
    case NKI_WORD_BREAK:
    case NKI_WORD_CLASS:
    case NKI_WORD_CONTINUE:
    case NKI_WORD_DEF:
    case NKI_WORD_DEL:
    case NKI_WORD_GLOBAL:
    case NKI_WORD_IMPORT:
    case NKI_WORD_NONLOCAL:
    case NKI_WORD_PASS:
    case NKI_WORD_RAISE:
    case NKI_WORD_RETURN:
    case NKI_WORD_TRY:
    case NKI_WORD_WHILE:
    case NKI_WORD_WITH: return true;
    default: return false;
    }
}

/* Whether there are only blanks between the start of the line and `at`. Sets *start to the line's
 * start. */
static bool is_first_on_line(const struct lexer *lx, uint32_t at, uint32_t *start) {
    while (at > 0 && (lx->text[at - 1] == ' ' || lx->text[at - 1] == '\t'))
        at--;
    *start = at;
    return at > 0 && is_newline(lx->text[at - 1]);
}

static void lex_string(struct lexer *lx) {
    struct nki_span span = {lx->at, lx->end};
    bool ok = lexer_find_string_end(lx->text, &span, &lx->retries);
    if (!ok)
        nki_fault(lx->faults, (struct nki_span){lx->at, lx->at + 1},
                  "the string that starts here is not closed before the end of the %s",
                  span.end == lx->end && !is_newline(byte_at(lx, span.end)) ? "file" : "line");
    push(lx, ok ? NKI_TOKEN_STRING : NKI_TOKEN_ERROR, span.start, span.end);
    lx->at = span.end;
}

static void lex_name(struct lexer *lx) {
    uint32_t start = lx->at;
    uint32_t end = lexer_name_end(lx->text, start, lx->end);
    struct str text = {lx->text + start, end - start};
    if (end < lx->end && lexer_is_quote(lx->text[end]) && lexer_is_string_prefix(text)) {
        lex_string(lx);
        return;
    }
    int word = text.len >= 2 && text.len <= 8 ? find_word(text) : -1;
    uint32_t line_start;
    if (lx->depth && !lx->is_part && only_starts_statement(word) &&
        is_first_on_line(lx, start, &line_start)) {
        abandon_brackets(lx, line_start);
        lx->at = line_start;
        start_line(lx);
        return;
    }
    lx->at = end;
    struct nki_token *token = push(lx, word < 0 ? NKI_TOKEN_NAME : NKI_TOKEN_KEYWORD, start, end);
    token->word = (uint8_t)(word < 0 ? 0 : word);
}

static void lex_number(struct lexer *lx) {
    uint32_t start = lx->at;
    const char *problem = NULL;
    lx->at = lexer_number_end(lx->text, start, lx->end, &problem);
    if (problem)
        nki_fault(lx->faults, (struct nki_span){start, lx->at}, "'" STR_FMT "' is not a number: %s",
                  (int)MIN_OF(lx->at - start, 40u), lx->text + start, problem);
    push(lx, problem ? NKI_TOKEN_ERROR : NKI_TOKEN_NUMBER, start, lx->at);
}

static const char operators[][4] = {
    "**=", "//=", ">>=", "<<=", "...", "**", "//", ">>", "<<", "<=", ">=", "==",
    "!=",  "->",  "+=",  "-=",  "*=",  "/=", "%=", "&=", "|=", "^=", "@=", ":=",
    "+",   "-",   "*",   "/",   "%",   "@",  "&",  "|",  "^",  "~",  "<",  ">",
    "(",   ")",   "[",   "]",   "{",   "}",  ",",  ":",  ".",  ";",  "=",
};

static size_t operator_length(const struct lexer *lx) {
    size_t left = lx->end - lx->at;
    const char *text = lx->text + lx->at;
    for (size_t i = 0; i < COUNT_OF(operators); i++) {
        const char *op = operators[i];
        if (op[0] != text[0])
            continue;
        size_t len = op[1] ? op[2] ? 3 : 2 : 1;
        if (len <= left && memcmp(op, text, len) == 0)
            return len;
    }
    return 0;
}

static void lex_operator(struct lexer *lx, size_t len) {
    const char *text = lx->text + lx->at;
    bool ok = true;
    if (strchr("([{", text[0]) && !(ok = open_bracket(lx)))
        return;
    if (strchr(")]}", text[0]))
        ok = close_bracket(lx, text[0]);
    uint32_t end = lx->at + (uint32_t)len;
    struct nki_token *token = push(lx, ok ? NKI_TOKEN_OP : NKI_TOKEN_ERROR, lx->at, end);
    for (size_t i = 0; i < len; i++)
        token->op |= OP1(text[i]) << (8 * i);
    lx->at = end;
}

/* Characters that word processors and models write in place of those on a keyboard. */
static void fault_stray(struct lexer *lx, struct nki_span span, uint32_t code) {
    const char *name = "", *typed = text_typewriter(code, &name);
    if (!typed)
        nki_fault(lx->faults, span,
                  "found the character U+%04X, which has no meaning outside strings and comments",
                  code);
    else if (!*typed)
        nki_fault(lx->faults, span, "found %s (U+%04X); leave it out", name, code);
    else
        nki_fault(lx->faults, span, "found %s (U+%04X); write %s", name, code,
                  *typed == ' ' ? "a plain blank" : typed);
}

static void lex_stray(struct lexer *lx) {
    uint32_t start = lx->at, code = 0;
    uint32_t len = lexer_utf8(lx->text + start, lx->end - start, &code);
    unsigned char c = (unsigned char)lx->text[start];
    lx->at += len ? len : 1;
    struct nki_span span = {start, lx->at};
    push(lx, NKI_TOKEN_ERROR, start, lx->at);
    if (c == 0 || (c >= 0x80 && !len))
        return; /* the scan of the lines reported it */
    if (c == '\\')
        nki_fault(lx->faults, span,
                  "found '\\' that is not the last character of its line; it can "
                  "only join a line with the next one");
    else if (c > 0x20 && c < 0x7f)
        nki_fault(lx->faults, span, "found '%c', which has no meaning here", c);
    else
        fault_stray(lx, span, code);
}

static void lex_newline(struct lexer *lx) {
    uint32_t start = lx->at;
    lx->at = after_newline(lx, start);
    if (lx->depth || lx->is_part)
        return;
    push(lx, NKI_TOKEN_NEWLINE, start, lx->at);
    start_line(lx);
}

static void lex_token(struct lexer *lx) {
    char c = lx->text[lx->at];
    size_t op;
    if (is_newline(c))
        lex_newline(lx);
    else if (c == '#' && !lx->is_part)
        skip_comment(lx);
    else if (is_digit(c) || (c == '.' && is_digit(byte_at(lx, lx->at + 1))))
        lex_number(lx);
    else if (lexer_is_quote(c))
        lex_string(lx);
    else if (lexer_name_end(lx->text, lx->at, lx->end) > lx->at)
        lex_name(lx);
    else if ((op = operator_length(lx)) > 0)
        lex_operator(lx, op);
    else
        lex_stray(lx);
}

static void lex_all(struct lexer *lx) {
    for (;;) {
        skip_blanks(lx);
        if (lx->at >= lx->end)
            return;
        lex_token(lx);
    }
}

static void finish(struct lexer *lx) {
    uint32_t end = lx->end;
    if (lx->depth)
        abandon_brackets(lx, end);
    if (!lx->is_part && lx->tokens.len &&
        lx->tokens.at[lx->tokens.len - 1].kind != NKI_TOKEN_NEWLINE)
        push(lx, NKI_TOKEN_NEWLINE, end, end);
    for (; lx->n_indents > 1; lx->n_indents--)
        push(lx, NKI_TOKEN_DEDENT, end, end);
    push(lx, NKI_TOKEN_END, end, end);
}

void nki_lex_file(struct nki_tree *tree, struct nki_faults *faults) {
    struct lexer lx = {.tree = tree,
                       .faults = faults,
                       .text = tree->source.at,
                       .end = (uint32_t)tree->source.len,
                       .n_indents = 1};
    lexer_scan_lines(tree, faults);
    if (str_starts(tree->source, "\xef\xbb\xbf"))
        lx.at = 3;
    start_line(&lx);
    lex_all(&lx);
    finish(&lx);
    tree->tokens = arena_dup(tree->arena, lx.tokens.at, lx.tokens.len * sizeof *lx.tokens.at);
    tree->n_tokens = (uint32_t)lx.tokens.len;
    tree->comments =
        arena_dup(tree->arena, lx.comments.at, lx.comments.len * sizeof *lx.comments.at);
    tree->n_comments = (uint32_t)lx.comments.len;
    vec_free(&lx.tokens);
    vec_free(&lx.comments);
}

struct nki_token *nki_lex_part(struct nki_tree *tree, struct nki_span part,
                               struct nki_faults *faults) {
    struct lexer lx = {.tree = tree,
                       .faults = faults,
                       .text = tree->source.at,
                       .at = part.start,
                       .end = part.end,
                       .is_part = true,
                       .n_indents = 1};
    lex_all(&lx);
    finish(&lx);
    struct nki_token *tokens =
        arena_dup(tree->arena, lx.tokens.at, lx.tokens.len * sizeof *lx.tokens.at);
    vec_free(&lx.tokens);
    return tokens;
}
