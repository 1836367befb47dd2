/* SPDX-License-Identifier: Apache-2.0 */
/* Edits of a kernel's source: replaced spans, whole lines around statements, indentation. What is
 * not replaced stays byte for byte. The callers know what to edit. To see whether the result is
 * still a kernel, they parse the new text again. */
#include "nki/syntax/syntax.h"

#include <stdlib.h>

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\f';
}

static bool is_newline(char c) {
    return c == '\n' || c == '\r';
}

/* ---- lines and indentation ----------------------------------------------------------------- */

/* The start of the line that holds `offset`, after a byte order mark. */
static uint32_t line_start(const struct nki_tree *tree, uint32_t offset) {
    uint32_t start = tree->lines[nki_place_of(tree, offset).line - 1];
    return start == 0 && str_starts(tree->source, "\xef\xbb\xbf") ? 3 : start;
}

static uint32_t after_blanks(const struct nki_tree *tree, uint32_t at) {
    while (at < tree->source.len && is_blank(tree->source.at[at]))
        at++;
    return at;
}

/* Where a statement starts, with its decorators. */
static uint32_t stmt_start(const struct nki_tree *tree, const struct nki_node *stmt) {
    const struct nki_list *decorators = NULL;
    if (stmt->kind == NKI_FUNCTION_DEF)
        decorators = &stmt->function_def.decorators;
    else if (stmt->kind == NKI_CLASS_DEF)
        decorators = &stmt->class_def.decorators;
    if (!decorators || !decorators->len)
        return stmt->start;
    uint32_t first = nki_token_at(tree, nki_outer_span(tree, decorators->at[0]).start);
    return first ? tree->tokens[first - 1].start : stmt->start;
}

static bool is_semicolon(const struct nki_token *token) {
    return token->kind == NKI_TOKEN_OP && token->op == ';';
}

static bool is_comment_end(const struct nki_tree *tree, uint32_t offset) {
    uint32_t low = 0, high = tree->n_comments;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (tree->comments[middle].end < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low < tree->n_comments && tree->comments[low].end == offset;
}

/* Whether a backslash joins the line that starts at `line` to the one before. */
static bool is_joined(const struct nki_tree *tree, uint32_t line) {
    uint32_t end = line;
    while (end > 0 && line - end < 2 && is_newline(tree->source.at[end - 1]))
        end--;
    return end > 0 && tree->source.at[end - 1] == '\\' && !is_comment_end(tree, end);
}

/* The token that ends the statement's line; NULL when another statement follows on the line. */
static const struct nki_token *line_token(const struct nki_tree *tree,
                                          const struct nki_node *stmt) {
    if (stmt->end <= stmt->start)
        return NULL;
    uint32_t i = nki_token_at(tree, stmt->end - 1) + 1;
    if (i < tree->n_tokens && is_semicolon(&tree->tokens[i]))
        i++;
    if (i >= tree->n_tokens || tree->tokens[i].kind != NKI_TOKEN_NEWLINE)
        return NULL;
    const struct nki_token *token = &tree->tokens[i];
    bool is_open = token->start == token->end && is_joined(tree, token->end);
    return is_open ? NULL : token; /* open: the file ends with a backslash */
}

struct nki_span nki_stmt_lines(const struct nki_tree *tree, const struct nki_node *stmt,
                               bool *shares) {
    uint32_t start = stmt_start(tree, stmt), line = line_start(tree, start);
    const struct nki_token *end = line_token(tree, stmt);
    bool is_shared = !end || after_blanks(tree, line) != start || is_joined(tree, line);
    if (shares)
        *shares = is_shared;
    return is_shared ? (struct nki_span){start, stmt->end} : (struct nki_span){line, end->end};
}

struct nki_span nki_stmt_lines_with_comments(const struct nki_tree *tree,
                                             const struct nki_node *stmt) {
    bool shares;
    struct nki_span span = nki_stmt_lines(tree, stmt, &shares);
    if (shares)
        return span;
    struct str indent = nki_indent_of(tree, stmt);
    for (int line = nki_place_of(tree, span.start).line - 1; line >= 1; line--) {
        struct str text = nki_text(tree, nki_line_span(tree, line));
        if (text.len <= indent.len || text.at[indent.len] != '#' ||
            memcmp(text.at, indent.at, indent.len) != 0)
            break;
        span.start = tree->lines[line - 1];
    }
    return span;
}

struct str nki_indent_of(const struct nki_tree *tree, const struct nki_node *stmt) {
    uint32_t line = line_start(tree, stmt_start(tree, stmt));
    return nki_text(tree, (struct nki_span){line, after_blanks(tree, line)});
}

struct str nki_indent_unit(const struct nki_tree *tree) {
    for (uint32_t i = 0; i < tree->n_tokens; i++)
        if (tree->tokens[i].kind == NKI_TOKEN_INDENT) {
            uint32_t line = line_start(tree, tree->tokens[i].start);
            return nki_text(tree, (struct nki_span){line, tree->tokens[i].start});
        }
    return STR("    ");
}

struct str nki_line_end(const struct nki_tree *tree) {
    uint32_t with_return = 0;
    for (uint32_t i = 1; i < tree->n_lines; i++) {
        uint32_t end = tree->lines[i];
        with_return += end >= 2 && tree->source.at[end - 2] == '\r';
    }
    return 2 * with_return > tree->n_lines ? STR("\r\n") : STR("\n");
}

static bool is_inside_string(const struct nki_tree *tree, uint32_t offset) {
    const struct nki_token *token = &tree->tokens[nki_token_at(tree, offset)];
    return token->kind == NKI_TOKEN_STRING && token->start < offset;
}

static void reindent_line(const struct nki_tree *tree, struct nki_span line, struct str from,
                          struct str to, struct buf *out) {
    uint32_t text = after_blanks(tree, line.start);
    struct str all = nki_text(tree, line);
    bool is_empty = text >= line.end || is_newline(tree->source.at[text]);
    if (is_empty || is_inside_string(tree, line.start)) {
        buf_add(out, all.at, all.len);
        return;
    }
    buf_add(out, to.at, to.len);
    if (all.len >= from.len && memcmp(all.at, from.at, from.len) == 0)
        buf_add(out, all.at + from.len, all.len - from.len);
    else
        buf_add(out, tree->source.at + text, line.end - text);
}

void nki_reindent(const struct nki_tree *tree, struct nki_span lines, struct str from,
                  struct str to, struct buf *out) {
    for (uint32_t at = lines.start; at < lines.end;) {
        struct nki_span line = nki_line_span(tree, nki_place_of(tree, at).line);
        uint32_t end = MIN_OF(line.end, lines.end);
        reindent_line(tree, (struct nki_span){at, end}, from, to, out);
        at = end;
    }
}

/* ---- edits --------------------------------------------------------------------------------- */

void nki_edits_free(struct nki_edits *edits) {
    for (size_t i = 0; i < edits->all.len; i++)
        free(edits->all.at[i].text);
    vec_free(&edits->all);
}

void nki_edit_replace(struct nki_edits *edits, struct nki_span span, struct str text) {
    *vec_push(&edits->all) = (struct nki_edit){span, 0, mem_dup(text.at, text.len), text.len};
}

void nki_edit_node(struct nki_edits *edits, const struct nki_node *node, struct str text) {
    nki_edit_replace(edits, nki_span_of(node), text);
}

void nki_edit_insert(struct nki_edits *edits, uint32_t offset, struct str text) {
    nki_edit_replace(edits, (struct nki_span){offset, offset}, text);
}

/* Puts `indent` in front of each line that is not blank, and ends each line. */
static void indent_lines(struct str lines, struct str indent, struct str line_end,
                         struct buf *out) {
    struct str line;
    if (str_ends(lines, "\n"))
        lines.len--;
    while (str_next(&lines, '\n', &line)) {
        if (str_ends(line, "\r"))
            line.len--;
        if (str_trim(line).len)
            buf_add(out, indent.at, indent.len);
        buf_add(out, line.at, line.len);
        buf_add(out, line_end.at, line_end.len);
    }
}

bool nki_edit_insert_before(struct nki_edits *edits, const struct nki_node *stmt,
                            struct str lines) {
    bool shares;
    struct nki_span span = nki_stmt_lines(edits->tree, stmt, &shares);
    if (shares || (stmt->kind == NKI_IF && stmt->if_.is_elif))
        return false;
    struct buf text = {0};
    indent_lines(lines, nki_indent_of(edits->tree, stmt), nki_line_end(edits->tree), &text);
    nki_edit_insert(edits, span.start, buf_str(&text));
    buf_free(&text);
    return true;
}

static int depth_of(const struct nki_node *node) {
    int depth = 0;
    while ((node = node->parent))
        depth++;
    return depth;
}

bool nki_edit_insert_after(struct nki_edits *edits, const struct nki_node *stmt, struct str lines) {
    const struct nki_tree *tree = edits->tree;
    bool shares;
    struct nki_span span = nki_stmt_lines(tree, stmt, &shares);
    if (shares)
        return false;
    struct buf text = {0};
    struct str line_end = nki_line_end(tree);
    if (!is_newline(tree->source.at[span.end - 1]))
        buf_add(&text, line_end.at, line_end.len);
    indent_lines(lines, nki_indent_of(tree, stmt), line_end, &text);
    nki_edit_insert(edits, span.end, buf_str(&text));
    edits->all.at[edits->all.len - 1].depth = depth_of(stmt);
    buf_free(&text);
    return true;
}

static int line_of(const struct nki_tree *tree, uint32_t offset) {
    return nki_place_of(tree, offset).line;
}

/* The span of a statement that shares its line, with the ";" between it and its neighbour. */
static struct nki_span shared_span(const struct nki_tree *tree, const struct nki_node *stmt,
                                   const struct nki_list *block, uint32_t index) {
    struct nki_span span = {stmt_start(tree, stmt), stmt->end};
    const struct nki_node *before = index ? block->at[index - 1] : NULL;
    const struct nki_node *after = index + 1 < block->len ? block->at[index + 1] : NULL;
    if (before && line_of(tree, before->end) == line_of(tree, span.start))
        span.start = before->end;
    else if (after && line_of(tree, after->start) == line_of(tree, span.end))
        span.end = after->start;
    return span;
}

void nki_edit_remove_stmt(struct nki_edits *edits, const struct nki_node *stmt) {
    const struct nki_tree *tree = edits->tree;
    uint32_t index = 0;
    const struct nki_list *block = nki_block_of(stmt, &index);
    bool shares;
    struct nki_span span = nki_stmt_lines(tree, stmt, &shares);
    if (stmt->kind == NKI_IF && stmt->if_.is_elif) {
        if (stmt->if_.else_start)
            span.end = line_start(tree, stmt->if_.else_start);
    } else if (block && block->len == 1 && stmt->parent->kind != NKI_MODULE) {
        span = (struct nki_span){stmt_start(tree, stmt), stmt->end};
        nki_edit_replace(edits, span, STR("pass"));
        return;
    } else if (shares && block) {
        span = shared_span(tree, stmt, block, index);
    }
    /* Something must stand on a line that a backslash joins to the one before. */
    bool needed = shares && is_joined(tree, line_start(tree, span.start));
    nki_edit_replace(edits, span, needed ? STR("pass") : STR(""));
}

/* ---- applying ------------------------------------------------------------------------------ */

/* An edit, with its place in the order of the calls. */
struct ordered {
    const struct nki_edit *edit;
    size_t order;
};

/* The order of edits: by place. At one place, insertions come before the replacement that starts
 * there, and what follows an inner statement comes before what follows the one around it. Otherwise
 * they keep the order of the calls. */
static int by_place(const void *a, const void *b) {
    const struct ordered *left = a, *right = b;
    struct nki_span x = left->edit->span, y = right->edit->span;
    if (x.start != y.start)
        return x.start < y.start ? -1 : 1;
    if ((x.end > x.start) != (y.end > y.start))
        return x.end > x.start ? 1 : -1;
    if (left->edit->depth != right->edit->depth)
        return left->edit->depth > right->edit->depth ? -1 : 1;
    return left->order < right->order ? -1 : left->order > right->order;
}

/* What takes the place of something has the line ends of the file. */
static void put_lines(struct str text, struct str line_end, struct buf *out) {
    for (size_t i = 0; i < text.len; i++) {
        bool is_end = text.at[i] == '\n';
        if (text.at[i] == '\r' && i + 1 < text.len && text.at[i + 1] == '\n')
            continue;
        buf_add(out, is_end ? line_end.at : text.at + i, is_end ? line_end.len : 1);
    }
}

static bool splice(const struct nki_tree *tree, const struct ordered *all, size_t count,
                   struct buf *out, struct err *err) {
    uint32_t at = 0;
    struct str line_end = nki_line_end(tree);
    for (size_t i = 0; i < count; i++) {
        const struct nki_edit *edit = all[i].edit;
        if (edit->span.start < at || edit->span.end < edit->span.start ||
            edit->span.end > tree->source.len)
            return err_set(err, ERR_KERNEL, "%s:%d: two changes of the source overlap here",
                           tree->file, line_of(tree, MIN_OF(edit->span.start, at)));
        buf_add(out, tree->source.at + at, edit->span.start - at);
        put_lines((struct str){edit->text, edit->len}, line_end, out);
        at = edit->span.end;
    }
    buf_add(out, tree->source.at + at, tree->source.len - at);
    return true;
}

bool nki_edits_apply(const struct nki_edits *edits, struct buf *out, struct err *err) {
    size_t count = edits->all.len;
    struct ordered *all = mem_alloc(count, sizeof *all);
    for (size_t i = 0; i < count; i++)
        all[i] = (struct ordered){&edits->all.at[i], i};
    if (count)
        qsort(all, count, sizeof *all, by_place);
    bool ok = splice(edits->tree, all, count, out, err);
    free(all);
    return ok;
}
