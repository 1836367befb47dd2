/* SPDX-License-Identifier: Apache-2.0 */
/* How steps change the source: arguments of calls, what was done, questions as comments. */
#include <stdio.h>
#include <stdlib.h>

#include "migrate/private.h"

#define MARK "# hone migrate"
#define COLUMNS 96

/* ---- arguments ------------------------------------------------------------------------------- */

const struct nki_node *migrate_keyword(const struct nki_node *call, const char *name) {
    for (uint32_t i = 0; i < call->call.keywords.len; i++)
        if (str_is(call->call.keywords.at[i]->keyword.name, name))
            return call->call.keywords.at[i];
    return NULL;
}

const struct nki_node *migrate_arg(const struct nki_node *call, uint32_t index, const char *name) {
    const struct nki_node *keyword = migrate_keyword(call, name);
    if (keyword)
        return keyword->keyword.value;
    for (uint32_t i = 0; i <= index && i < call->call.args.len; i++) {
        if (call->call.args.at[i]->kind == NKI_STARRED)
            return NULL;
        if (i == index)
            return call->call.args.at[i];
    }
    return NULL;
}

/* Where an argument stands, with its parentheses. */
static struct nki_span span_of(const struct migrate *m, const struct nki_node *arg) {
    return arg->kind == NKI_KEYWORD ? nki_span_of(arg) : nki_outer_span(m->tree, arg);
}

static bool is_op(const struct nki_token *token, char op) {
    return token->kind == NKI_TOKEN_OP && token->op == (uint32_t)(unsigned char)op;
}

/* The index of the first token of an argument. */
static uint32_t token_of(const struct migrate *m, uint32_t offset) {
    return nki_token_at(m->tree, offset);
}

/* Whether an edit takes out the byte there. */
static bool is_taken(const struct migrate *m, uint32_t offset) {
    for (size_t i = 0; i < m->edits.all.len; i++)
        if (m->edits.all.at[i].span.start <= offset && m->edits.all.at[i].span.end > offset)
            return true;
    return false;
}

/* The comma behind an argument goes with it; the last one takes that before it, unless it went with
 * its own argument. */
void migrate_drop(struct migrate *m, const struct nki_node *arg) {
    struct nki_span span = span_of(m, arg);
    const struct nki_token *tokens = m->tree->tokens;
    uint32_t first = token_of(m, span.start), next = token_of(m, span.end);
    if (is_op(&tokens[next], ',') && !is_taken(m, tokens[next].start))
        span.end = tokens[next + 1].start;
    else if (first > 0 && is_op(&tokens[first - 1], ',') && !is_taken(m, tokens[first - 1].start))
        span.start = tokens[first - 1].start;
    nki_edit_replace(&m->edits, span, STR(""));
}

bool migrate_name_args(struct migrate *m, const struct nki_node *call, uint32_t index,
                       const char *const *names) {
    uint32_t known = index;
    while (names[known - index])
        known++;
    bool clear = call->call.args.len <= known;
    for (uint32_t i = 0; i < call->call.args.len; i++)
        clear = clear && call->call.args.at[i]->kind != NKI_STARRED;
    if (!clear) {
        migrate_ask(m, call, "arguments stand in another order now: which of these is which?");
        return false;
    }
    for (uint32_t i = index; i < call->call.args.len && names[i - index]; i++) {
        const struct nki_node *arg = call->call.args.at[i];
        struct nki_span span = span_of(m, arg);
        bool bare = arg->kind == NKI_NAMED_EXPR && !arg->parens; /* as name=(a := b) only */
        struct buf name = {0};
        buf_printf(&name, "%s=%s", names[i - index], bare ? "(" : "");
        nki_edit_insert(&m->edits, span.start, buf_str(&name));
        if (bare)
            nki_edit_insert(&m->edits, span.end, STR(")"));
        buf_free(&name);
    }
    return true;
}

void migrate_forget(struct migrate *m, size_t count) {
    while (m->edits.all.len > count)
        free(m->edits.all.at[--m->edits.all.len].text);
}

void migrate_replace(struct migrate *m, const struct nki_node *node, struct str text) {
    nki_edit_replace(&m->edits, nki_outer_span(m->tree, node), text);
}

/* ---- what is told ---------------------------------------------------------------------------- */

static void tell(struct migrate *m, const struct nki_node *node, bool asks, char *text) {
    *vec_push(&m->out->steps) =
        (struct migrate_step){nki_place_of(m->tree, node->start).line, m->rule->since, text, asks};
    m->out->questions += asks;
}

void migrate_did(struct migrate *m, const struct nki_node *node, const char *format, ...) {
    struct buf text = {0};
    va_list args;
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    tell(m, node, false, buf_take(&text));
}

/* Breaks a text into comment lines. */
static void print_comment(const char *text, struct buf *out) {
    size_t column = 0;
    struct str rest = str_of(text), word;
    while (str_next(&rest, ' ', &word)) {
        if (column && column + word.len + 1 > COLUMNS) {
            buf_putc(out, '\n');
            column = 0;
        }
        buf_puts(out, column ? " " : out->len ? "# " : "");
        buf_add(out, word.at, word.len);
        column += word.len + 1;
    }
    buf_putc(out, '\n');
}

/* Whether the question stands above the statement from an earlier migration. */
static bool is_asked(const struct migrate *m, const struct nki_node *stmt, struct str comment) {
    struct nki_span lines = nki_stmt_lines_with_comments(m->tree, stmt);
    struct str text = nki_text(m->tree, (struct nki_span){lines.start, stmt->start});
    for (size_t i = 0; i + comment.len <= text.len; i++)
        if (memcmp(text.at + i, comment.at, comment.len) == 0)
            return true;
    return false;
}

bool migrate_is_asked(const struct migrate *m, const struct nki_node *stmt) {
    return stmt && is_asked(m, stmt, str_of(MARK));
}

void migrate_ask(struct migrate *m, const struct nki_node *node, const char *question) {
    const struct nki_node *stmt = nki_statement_of(node);
    struct buf text = {0}, comment = {0};
    buf_printf(&text, MARK " (NKI %s): %s", m->rule->since, question);
    print_comment(text.at, &comment);
    struct str first = {comment.at, (size_t)(strchr(comment.at, '\n') - comment.at)};
    bool asked = stmt && is_asked(m, stmt, first);
    if (stmt && !asked)
        (void)!nki_edit_insert_before(&m->edits, stmt, buf_str(&comment));
    if (!asked || !m->round)
        tell(m, node, true, mem_strdup(question));
    buf_free(&text);
    buf_free(&comment);
}

const char *migrate_new_name(struct migrate *m, const char *stem) {
    char name[64];
    do
        snprintf(name, sizeof name, "%.40s_%d", stem, ++m->made);
    while (migrate_binds(m, str_of(name)));
    return arena_strdup(m->tree->arena, name);
}
