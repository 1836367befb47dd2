/* SPDX-License-Identifier: Apache-2.0 */
/* Whole statements: inserting lines above one, replacing the call that makes a tile, removing
 * it. */
#include "rewrite/edit/edit.h"

#include "rewrite/facts/inner.h"

bool rewrite_insert_above(const struct rewrite_model *model, struct nki_edits *edits,
                          const struct nki_node *stmt, struct str lines) {
    bool shares = false;
    (void)nki_stmt_lines(model->tree, stmt, &shares);
    if (shares)
        return false;
    struct buf text = {0};
    struct str rest = lines, line, indent = nki_indent_of(model->tree, stmt);
    struct str end = nki_line_end(model->tree);
    while (str_next(&rest, '\n', &line)) {
        if (line.len)
            buf_add(&text, indent.at, indent.len);
        buf_add(&text, line.at, line.len);
        buf_add(&text, end.at, end.len);
    }
    nki_edit_insert(edits, nki_stmt_lines_with_comments(model->tree, stmt).start, buf_str(&text));
    buf_free(&text);
    return true;
}

void rewrite_set_call(const struct rewrite_model *model, const struct rewrite_maker *maker,
                      const char *nisa, const char *op, const char *args, struct nki_edits *edits) {
    const char *text;
    if (maker->alloc) {
        struct nki_node *dst = nki_keyword(maker->call, "dst");
        if (!dst)
            dst = rewrite_arg(maker->call, "dst", 0);
        text = arena_printf(model->arena, "%s.%s(dst=%s, %s)", nisa, op, rewrite_text(model, dst),
                            args);
    } else {
        text = arena_printf(model->arena, "%s.%s(%s)", nisa, op, args);
    }
    struct str indent = nki_indent_of(model->tree, maker->stmt);
    size_t before = maker->call->start - maker->stmt->start;
    const char *wrapped = rewrite_wrap(model, text, indent.len + before);
    struct buf lines = {0};
    for (const char *at = wrapped; *at; at++) {
        buf_putc(&lines, *at);
        if (*at == '\n')
            buf_add(&lines, indent.at, indent.len);
    }
    nki_edit_node(edits, maker->call, buf_str(&lines));
    buf_free(&lines);
}

void rewrite_remove_maker(const struct rewrite_maker *maker, struct nki_edits *edits) {
    if (maker->alloc)
        nki_edit_remove_stmt(edits, maker->alloc);
    if (maker->element)
        nki_edit_remove_stmt(edits, maker->def->parent);
    nki_edit_remove_stmt(edits, maker->stmt);
}
