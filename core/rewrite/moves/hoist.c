/* SPDX-License-Identifier: Apache-2.0 */
/* Statements that a loop does not change: they are done once before the loop instead of in each
 * step. */
#include "rewrite/moves/private.h"

/* Everything the call reads is the same in all iterations: integers that do not depend on a loop
 * from loops[at] on, and memory that nothing writes in there. */
static bool is_invariant(struct rewrite_model *model, const struct rewrite_row *row,
                         const struct rewrite_maker *maker, const struct rewrite_loop *const *loops,
                         int at, int n) {
    const struct nki_node *outer = loops[at]->node;
    for (uint32_t i = maker->call->id; i <= maker->call->last; i++) {
        const struct nki_node *node = model->tree->nodes[i];
        unsigned depends = 0;
        if (node->kind != NKI_NAME || (maker->alloc && rewrite_def_of(model, node) == maker->def))
            continue;
        struct rewrite_name *name = rewrite_name_of(model, node->name.id);
        if (!rewrite_depends(model, node, outer, &depends, loops, n) || depends >> at)
            return false;
        if (name && !map_get(&model->modules, node->name.id) &&
            rewrite_is_written(model, name, outer, maker->stmt)) {
            rewrite_decline(model, row, maker->stmt, STR_FMT " is changed inside the loop",
                            STR_ARG(name->id));
            return false;
        }
    }
    unsigned depends = 0;
    return !maker->alloc ||
           (rewrite_depends(model, rewrite_value_of_def(maker->def), outer, &depends, loops, n) &&
            !(depends >> at));
}

/* No other tile goes by this name inside the loop. */
static bool name_is_alone(const struct rewrite_model *model, const struct rewrite_maker *maker,
                          const struct nki_node *outer) {
    const struct rewrite_name *name = rewrite_name_of(model, maker->def->name.id);
    for (size_t i = 0; i < name->accesses.len; i++)
        if (name->accesses.at[i].how & REWRITE_BIND && name->accesses.at[i].node != maker->def &&
            nki_contains(outer, name->accesses.at[i].node))
            return false;
    return true;
}

static void look_at(struct rewrite_model *model, const struct rewrite_row *row,
                    struct nki_node *stmt) {
    struct rewrite_maker maker;
    const struct rewrite_loop *loops[REWRITE_MAX_DIMS];
    if (!rewrite_maker_of(model, stmt, &maker) || maker.element ||
        !rewrite_is_pure(maker.module, maker.op))
        return;
    int n = rewrite_loops_around(model, stmt, loops), at = n;
    while (at > 0 && is_invariant(model, row, &maker, loops, at - 1, n))
        at--;
    if (at == n)
        return;
    if (!name_is_alone(model, &maker, loops[at]->node)) {
        rewrite_decline(model, row, stmt, "another tile in the loop is called " STR_FMT " too",
                        STR_ARG(maker.def->name.id));
        return;
    }
    int64_t times = 1;
    for (int i = at; i < n; i++)
        times *= loops[i]->known ? loops[i]->trips : 2;
    struct str name = maker.def->name.id;
    struct rewrite_site *site = rewrite_site_add(model, row, stmt);
    site->node[0] = stmt;
    site->number[0] = at;
    site->key = arena_printf(model->arena, "hoist:" STR_FMT ".%d:" STR_FMT, STR_ARG(name),
                             rewrite_ordinal(model, maker.def), STR_ARG(loops[at]->var));
    site->title = arena_printf(model->arena, "Make " STR_FMT " once", STR_ARG(name));
    site->what = arena_printf(model->arena,
                              "Move what makes " STR_FMT " in front of the loop over " STR_FMT ".",
                              STR_ARG(name), STR_ARG(loops[at]->var));
    site->why =
        arena_printf(model->arena, "No step of the loop changes it, and it is made %lld times.",
                     (long long)times);
    site->gain = rewrite_share(model, stmt, 0.1) * (1 - 1.0 / (double)MAX_OF(times, 1)) * 0.9;
    site->size = site->gain;
}

void rewrite_find_hoist(struct rewrite_model *model, const struct rewrite_row *row) {
    for (uint32_t i = model->kernel->id; i <= model->kernel->last; i++) {
        struct nki_node *node = model->tree->nodes[i];
        if (node->kind == NKI_ASSIGN || node->kind == NKI_EXPR)
            look_at(model, row, node);
    }
}

/* The statement's lines as if they began at column 0. */
static void add_lines(const struct rewrite_model *model, const struct nki_node *stmt,
                      struct buf *lines) {
    bool shares = false;
    struct nki_span span = nki_stmt_lines(model->tree, stmt, &shares);
    nki_reindent(model->tree, span, nki_indent_of(model->tree, stmt), STR(""), lines);
}

bool rewrite_apply_hoist(struct rewrite_model *model, const struct rewrite_site *site,
                         struct nki_edits *edits, struct err *err) {
    struct rewrite_maker maker;
    const struct rewrite_loop *loops[REWRITE_MAX_DIMS];
    int n = rewrite_loops_around(model, site->node[0], loops);
    if (site->number[0] >= n || !rewrite_maker_of(model, site->node[0], &maker))
        return err_set(err, ERR_KERNEL, "the statement cannot be moved any more");
    struct buf lines = {0};
    if (maker.alloc)
        add_lines(model, maker.alloc, &lines);
    if (lines.len && lines.at[lines.len - 1] != '\n')
        buf_putc(&lines, '\n');
    add_lines(model, maker.stmt, &lines);
    while (lines.len && strchr("\r\n", lines.at[lines.len - 1]))
        lines.at[--lines.len] = 0;
    bool ok = rewrite_insert_above(model, edits, loops[site->number[0]]->node, buf_str(&lines));
    buf_free(&lines);
    if (maker.alloc)
        nki_edit_remove_stmt(edits, maker.alloc);
    nki_edit_remove_stmt(edits, maker.stmt);
    return ok || err_set(err, ERR_KERNEL, "there is no room for lines before the loop");
}
