/* SPDX-License-Identifier: Apache-2.0 */
/* Statements of the older dialect: what writes to tiles becomes an instruction with a dst. */
#include "migrate/older.h"

/* ---- replacing a statement ------------------------------------------------------------------- */

/* Puts lines in place of a statement, or of its parts, and what has to come before it. */
static void put(struct older *o, struct nki_span span, struct str text) {
    struct migrate *m = o->m;
    bool can = !o->before.len || nki_edit_insert_before(&m->edits, o->stmt, buf_str(&o->before));
    if (!can)
        older_ask(o, "the tiles of this statement have to be made before it: put it on lines of "
                     "its own");
    else if (text.len)
        nki_edit_replace(&m->edits, span, text);
}

/* The lines of a text, indented as the statement is. */
static void indent_lines(const struct older *o, struct str lines, struct buf *out) {
    struct str indent = nki_indent_of(o->m->tree, o->stmt), line;
    while (str_next(&lines, '\n', &line)) {
        if (!line.len)
            continue;
        if (out->len)
            buf_printf(out, STR_FMT STR_FMT, STR_ARG(nki_line_end(o->m->tree)), STR_ARG(indent));
        buf_add(out, line.at, line.len);
    }
}

static void replace_stmt(struct older *o, const struct buf *lines) {
    struct buf text = {0};
    indent_lines(o, buf_str(lines), &text);
    put(o, nki_span_of(o->stmt), buf_str(&text));
    buf_free(&text);
    o->changed = true;
}

/* ---- assignments ----------------------------------------------------------------------------- */

static bool is_tile(const struct older *o, const struct nki_node *node) {
    return older_fact(o, node)->times && older_fact(o, node)->seen.kind == NKI_SEEN_TILE;
}

/* t[i_p, i_f] = value */
static bool write_tile(struct older *o, const struct nki_node *target,
                       const struct nki_node *value) {
    const struct nki_node *base = target;
    while (base->kind == NKI_SUBSCRIPT)
        base = base->subscript.value;
    const struct nki_seen *to = base->kind == NKI_NAME ? older_named(o, base) : NULL;
    if (target->kind != NKI_SUBSCRIPT || !to)
        return false;
    struct buf dst = {0}, lines = {0};
    const struct nki_node *slice = target->subscript.slice;
    older_begin_result(o);
    bool whole = slice->kind == NKI_CONSTANT && slice->constant.type == NKI_CONST_ELLIPSIS;
    if (whole && target->subscript.value == base && !older_blocks(o, base)) {
        buf_printf(&dst, STR_FMT, STR_ARG(base->name.id));
        older_cut(o, to, &dst);
    } else {
        older_print(o, target, &dst);
    }
    older_end_operand(o);
    older_print_write(o, buf_str(&dst), to, value, &lines);
    replace_stmt(o, &lines);
    buf_free(&dst);
    buf_free(&lines);
    return true;
}

/* y = nisa.f(..): the tile has the name. */
static bool make_tile(struct older *o, const struct nki_node *target,
                      const struct nki_node *value) {
    struct buf lines = {0};
    char name[128];
    bool reduces = older_is_reduction(o, value);
    if (target->kind != NKI_NAME || (!older_goes_before(o, value) && !reduces) ||
        target->name.id.len >= sizeof name)
        return false;
    memcpy(name, target->name.id.at, target->name.id.len);
    name[target->name.id.len] = '\0';
    for (uint32_t i = value->id; i <= value->last;
         i++) /* y = nisa.f(y): another tile of this name */
        if (o->m->tree->nodes[i]->kind == NKI_NAME &&
            str_equal(o->m->tree->nodes[i]->name.id, target->name.id))
            return false;
    struct buf dst = {0};
    buf_puts(&dst, name);
    older_begin_result(o);
    older_cut(o, older_tile(o, value), &dst);
    older_end_operand(o);
    older_print_tile(o, name, value, &lines);
    if (reduces) { /* all rounds have one tile */
        const struct nki_node *loop = older_outermost(o, value);
        if (!nki_edit_insert_before(&o->m->edits, loop, buf_str(&lines)))
            older_ask(o, "the tile of nl.loop_reduce is made before its loops: put them on lines "
                         "of their own");
        buf_clear(&lines);
    }
    older_print_write(o, buf_str(&dst), &older_fact(o, value)->seen, value, &lines);
    replace_stmt(o, &lines);
    buf_free(&lines);
    buf_free(&dst);
    return true;
}

/* Cuts a tile of which all is written: t, or t[...]. */
static void cut_whole(const struct older *o, const struct nki_node *slice,
                      const struct nki_seen *tile, struct buf *dst) {
    if (!slice || (slice->kind == NKI_CONSTANT && slice->constant.type == NKI_CONST_ELLIPSIS))
        older_cut(o, tile, dst);
}

/* psum[...] += nisa.nc_matmul(a, b), t += x */
static bool update(struct older *o, const struct nki_node *stmt) {
    const struct nki_node *target = stmt->aug_assign.target, *value = stmt->aug_assign.value;
    const struct nki_node *base = target;
    while (base->kind == NKI_SUBSCRIPT)
        base = base->subscript.value;
    const struct nki_seen *to = base->kind == NKI_NAME ? older_named(o, base) : NULL;
    const char *op = older_operator(stmt->aug_assign.op);
    if (!to || !op)
        return false;
    struct buf dst = {0}, lines = {0}, operand = {0};
    const struct nki_node *slice = target->kind == NKI_SUBSCRIPT ? target->subscript.slice : NULL;
    older_begin_result(o);
    if (slice && slice->kind == NKI_CONSTANT && slice->constant.type == NKI_CONST_ELLIPSIS)
        older_print(o, target->subscript.value, &dst);
    else
        older_print(o, target, &dst);
    if (target->kind == NKI_NAME || target->subscript.value == base)
        cut_whole(o, slice, to, &dst);
    older_end_operand(o);
    bool adds = stmt->aug_assign.op == NKI_ADD && to->space == NKI_PSUM;
    const struct nki_node *flipped =
        migrate_calls(o->m, value, "nl.matmul") ? migrate_keyword(value, "transpose_x") : NULL;
    bool product = flipped && flipped->keyword.value->kind == NKI_CONSTANT &&
                   flipped->keyword.value->constant.type == NKI_CONST_TRUE &&
                   migrate_arg(value, 0, "x") && migrate_arg(value, 1, "y");
    if (adds && older_op(o, value) == NKI_OP_NC_MATMUL) {
        older_print_instruction(o, value, buf_str(&dst), &lines);
    } else if (adds && product) {
        migrate_spell(o->m, "nisa.nc_matmul", &lines);
        buf_printf(&lines, "(dst=%s, stationary=", dst.at);
        older_print_outer(o, migrate_arg(value, 0, "x"), &lines);
        buf_puts(&lines, ", moving=");
        older_print_outer(o, migrate_arg(value, 1, "y"), &lines);
        buf_putc(&lines, ')');
    } else {
        older_print_outer(o, value, &operand);
        const struct nki_seen *tile = older_tile(o, value);
        bool wide = is_tile(o, value) && !(tile && older_is_column(tile) && !older_is_column(to));
        migrate_spell(o->m, wide ? "nisa.tensor_tensor" : "nisa.tensor_scalar", &lines);
        buf_printf(&lines,
                   wide ? "(dst=%s, data1=%s, data2=%s, op="
                        : "(dst=%s, data=%s, operand0=%s, op0=",
                   dst.at, dst.at, operand.at);
        migrate_spell(o->m, op, &lines);
        buf_putc(&lines, ')');
    }
    older_put_condition(o, value, &lines);
    replace_stmt(o, &lines);
    buf_free(&dst);
    buf_free(&lines);
    buf_free(&operand);
    return true;
}

/* ---- other statements ------------------------------------------------------------------------ */

/* nl.store(out[..], value=psum): DMA does not read PSUM. */
static bool store(struct older *o, const struct nki_node *stmt) {
    const struct nki_node *call = stmt->kind == NKI_EXPR ? stmt->expr.value : NULL;
    if (!migrate_calls(o->m, call, "nl.store"))
        return false;
    const struct nki_node *dst = migrate_arg(call, 0, "dst"),
                          *value = migrate_arg(call, 1, "value");
    if (!dst || !value || !is_tile(o, value))
        return false;
    struct buf lines = {0}, to = {0}, from = {0};
    older_print_outer(o, dst, &to);
    older_print_outer(o, value, &from);
    if (value->kind != NKI_SUBSCRIPT)
        older_cut(o, older_tile(o, value), &from);
    if (older_fact(o, value)->seen.space == NKI_PSUM) {
        const char *name = migrate_new_name(o->m, "stored");
        older_print_tile_in(o, name, value, NKI_SBUF, &lines);
        struct buf part = {0};
        buf_puts(&part, name);
        older_cut(o, older_tile(o, value), &part);
        migrate_spell(o->m, "nisa.tensor_copy", &lines);
        buf_printf(&lines, "(dst=%s, src=%s)\n", part.at, from.at);
        buf_clear(&from);
        buf_puts(&from, part.at);
        buf_free(&part);
    }
    migrate_spell(o->m, "nisa.dma_copy", &lines);
    buf_printf(&lines, "(dst=%s, src=%s)", to.at, from.at);
    older_put_condition(o, call, &lines);
    replace_stmt(o, &lines);
    buf_free(&lines);
    buf_free(&to);
    buf_free(&from);
    return true;
}

/* Any other call that runs under a condition. */
static bool run_if(struct older *o, const struct nki_node *stmt) {
    if (stmt->kind != NKI_EXPR || !o->n_conditions)
        return false;
    struct buf lines = {0};
    older_print_outer(o, stmt->expr.value, &lines);
    older_put_condition(o, stmt->expr.value, &lines);
    replace_stmt(o, &lines);
    buf_free(&lines);
    return true;
}

/* The expressions of a statement, printed in their places. */
static void print_expressions(struct older *o, const struct nki_node *stmt) {
    for (uint32_t i = stmt->id + 1; i <= stmt->last; i = o->m->tree->nodes[i]->last + 1) {
        const struct nki_node *node = o->m->tree->nodes[i];
        bool part = nki_is_expression(node) || node->kind == NKI_WITH_ITEM;
        if (!part)
            continue;
        struct buf text = {0};
        o->changed = false;
        older_print(o, node, &text);
        if (o->changed)
            put(o, nki_span_of(node), buf_str(&text));
        if (o->changed)
            buf_clear(&o->before);
        buf_free(&text);
    }
}

/* Whether a value is made of nl.arange or nl.mgrid alone: an index, or a mask. */
static bool is_index_value(const struct older *o, const struct nki_node *value) {
    const struct migrate_fact *fact = older_fact(o, value);
    bool grid =
        value->kind == NKI_SUBSCRIPT && migrate_is(o->m, value->subscript.value, "nl.mgrid");
    if (grid || (fact->times && fact->seen.kind == NKI_SEEN_INDEX))
        return true;
    bool mask = value->kind == NKI_COMPARE || value->kind == NKI_BOOL_OP ||
                (value->kind == NKI_BIN_OP && value->bin_op.op == NKI_BIT_AND);
    bool index = false;
    for (uint32_t i = value->id; mask && i <= value->last; i++)
        index |= o->m->facts[i].times && o->m->facts[i].seen.kind == NKI_SEEN_INDEX;
    return index;
}

/* The same of all that a statement assigns. */
static bool is_index_only(const struct older *o, const struct nki_node *stmt) {
    if (stmt->kind != NKI_ASSIGN || stmt->assign.value->kind != NKI_TUPLE)
        return stmt->kind == NKI_ASSIGN && is_index_value(o, stmt->assign.value);
    const struct nki_list *values = &stmt->assign.value->tuple.elts;
    for (uint32_t i = 0; i < values->len; i++)
        if (!is_index_value(o, values->at[i]))
            return false;
    return values->len > 0;
}

/* Keeps the names that an index expression is given. */
static void note_indices(struct older *o, const struct nki_node *stmt) {
    for (uint32_t i = stmt->id + 1; i < stmt->assign.value->id; i++)
        if (o->m->tree->nodes[i]->kind == NKI_NAME)
            map_put(&o->m->indices, o->m->tree->nodes[i]->name.id)->value = o->m;
}

static void migrate_stmt(struct older *o, const struct nki_node *stmt) {
    const struct nki_node *target = NULL, *value = NULL;
    if (stmt->kind == NKI_ASSIGN && stmt->assign.targets.len == 1) {
        target = stmt->assign.targets.at[0];
        value = stmt->assign.value;
    } else if (stmt->kind == NKI_ANN_ASSIGN && stmt->ann_assign.value) {
        target = stmt->ann_assign.target;
        value = stmt->ann_assign.value;
    }
    if (is_index_only(o, stmt)) {
        note_indices(o, stmt);
        return;
    }
    bool done = target && (write_tile(o, target, value) || make_tile(o, target, value));
    done = done || (stmt->kind == NKI_AUG_ASSIGN && update(o, stmt)) || store(o, stmt) ||
           run_if(o, stmt);
    if (!done)
        print_expressions(o, stmt);
}

/* Options of the decorator that the package nki has not. */
static void migrate_decorators(struct older *o, const struct nki_node *function) {
    static const char *const kept[] = {"grid", "lnc", "mode", "platform_target"};
    static const char *const other[] = {"nki.baremetal", "nki.benchmark", "nki.profile",
                                        "nki.trace"};
    const struct nki_node *decorator = nki_kernel_decorator(function);
    if (!decorator)
        return;
    const struct nki_node *name = decorator->kind == NKI_CALL ? decorator->call.func : decorator;
    bool others = false;
    for (size_t i = 0; i < COUNT_OF(other); i++)
        others |= migrate_is(o->m, name, other[i]);
    struct buf jit = {0};
    migrate_spell(o->m, "nki.jit", &jit);
    if (others)
        nki_edit_replace(&o->m->edits, nki_span_of(decorator), buf_str(&jit));
    for (uint32_t i = 0; !others && decorator->kind == NKI_CALL && i < decorator->call.keywords.len;
         i++) {
        bool keeps = false;
        for (size_t k = 0; k < COUNT_OF(kept); k++)
            keeps |= str_is(decorator->call.keywords.at[i]->keyword.name, kept[k]);
        if (!keeps)
            migrate_drop(o->m, decorator->call.keywords.at[i]);
    }
    buf_free(&jit);
}

static bool is_printed(const struct nki_node *node) {
    return nki_is_statement(node) && node->kind != NKI_FUNCTION_DEF &&
           node->kind != NKI_CLASS_DEF && node->kind != NKI_IMPORT &&
           node->kind != NKI_IMPORT_FROM && nki_enclosing(node, NKI_FUNCTION_DEF);
}

/* A file that imports nothing of NKI calls its modules by their usual names. */
static void add_imports(struct migrate *m) {
    const struct nki_list *body = &m->tree->module->module.body;
    for (size_t i = 0; i < m->aliases.len; i++)
        if (strcmp(m->aliases.entries[i].value, "nl") == 0 ||
            strcmp(m->aliases.entries[i].value, "nki") == 0)
            return;
    uint32_t first = 0;
    while (first + 1 < body->len && body->at[first]->kind == NKI_EXPR)
        first++; /* the docstring */
    if (!body->len ||
        !nki_edit_insert_before(&m->edits, body->at[first],
                                STR("import nki\nimport nki.isa as nisa\nimport nki.language as "
                                    "nl\n")))
        return;
    static const char *const names[][2] = {
        {"nki", "nki"}, {"nisa", "nisa"}, {"par_dim", "nl.par_dim"}, {"nl", "nl"}};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        map_put(&m->aliases, str_of(names[i][0]))->value = (void *)(uintptr_t)names[i][1];
        map_put(&m->outer, str_of(names[i][0]));
    }
    migrate_did(m, body->at[first], "imports nki");
}

/* Whether a statement calls NKI and was not evaluated. */
static bool is_unseen(const struct migrate *m, const struct nki_node *stmt) {
    struct buf name = {0};
    bool unseen = false;
    for (uint32_t i = stmt->id + 1; i <= stmt->last && !unseen; i++) {
        const struct nki_node *node = m->tree->nodes[i];
        buf_clear(&name);
        unseen = node->kind == NKI_CALL && !m->facts[i].times &&
                 migrate_name(m, node->call.func, &name) &&
                 (str_starts(buf_str(&name), "nl.") || str_starts(buf_str(&name), "nisa."));
    }
    buf_free(&name);
    return unseen;
}

/* The first statement of the kernel that was not reached is asked about. */
static bool ask_unseen(struct migrate *m, const struct nki_node *stmt) {
    bool plain = stmt->kind == NKI_EXPR || stmt->kind == NKI_ASSIGN;
    if (!m->kernel || !plain || !nki_contains(m->kernel, stmt) || !is_unseen(m, stmt))
        return false;
    migrate_ask(m, stmt,
                m->options->n_inputs
                    ? "this was not reached with these inputs, so what is unknown of tiles from "
                      "here on stays as it was: are they right?"
                    : "without inputs little is known of tiles: which are they (--input, "
                      "--reference)?");
    return true;
}

void older_migrate(struct migrate *m) {
    static const struct migrate_rule rule = {.since = "0.2"};
    struct older o = {.m = m};
    bool asked = false;
    m->rule = &rule;
    add_imports(m);
    for (uint32_t i = 1; i < m->tree->n_nodes; i++) {
        const struct nki_node *node = m->tree->nodes[i];
        if (node->kind == NKI_FUNCTION_DEF)
            migrate_decorators(&o, node);
        if (!is_printed(node))
            continue;
        o.stmt = node;
        o.question = NULL;
        o.changed = o.divides = false;
        older_read_mask(&o);
        size_t edits = m->edits.all.len;
        migrate_stmt(&o, node);
        if (o.question) /* it stays as it is */
            migrate_forget(m, edits);
        if (o.question)
            migrate_ask(m, node, o.question);
        else if (o.changed)
            migrate_did(m, node,
                        o.divides ? "said as the package nki has it; a division is a product with "
                                    "the reciprocal, so last bits may differ"
                                  : "said as the package nki has it");
        else if (!asked)
            asked = ask_unseen(m, node);
        buf_clear(&o.before);
    }
    older_forget_mask(&o);
    buf_free(&o.before);
}

/* ---- what is left over ----------------------------------------------------------------------- */

/* Whether all that a statement does is give names to index expressions. */
static bool is_index_stmt(const struct migrate *m, const struct nki_node *stmt) {
    if (stmt->kind != NKI_ASSIGN)
        return false;
    for (uint32_t i = stmt->id + 1; i < stmt->assign.value->id; i++) {
        const struct nki_node *node = m->tree->nodes[i];
        if (node->kind != NKI_TUPLE &&
            (node->kind != NKI_NAME || !map_find(&m->indices, node->name.id)))
            return false;
    }
    return true;
}

/* Whether a statement gives a value to a name that is alive. */
static bool gives_alive(const struct migrate *m, const struct nki_node *stmt,
                        const struct map *alive) {
    for (uint32_t i = stmt->id + 1; i < stmt->assign.value->id; i++)
        if (m->tree->nodes[i]->kind == NKI_NAME && map_find(alive, m->tree->nodes[i]->name.id))
            return true;
    return false;
}

/* Names that something other than an index expression reads, and what those are made of. */
static void find_alive(const struct migrate *m, struct map *alive) {
    for (size_t before = SIZE_MAX; before != alive->len;) {
        before = alive->len;
        for (uint32_t i = 1; i < m->tree->n_nodes; i++) {
            const struct nki_node *node = m->tree->nodes[i];
            if (node->kind != NKI_NAME || node->context != NKI_LOAD)
                continue;
            const struct nki_node *stmt = nki_statement_of(node);
            if (!is_index_stmt(m, stmt) || gives_alive(m, stmt, alive))
                map_put(alive, node->name.id);
        }
    }
}

void older_sweep(struct migrate *m) {
    struct map alive = {0};
    find_alive(m, &alive);
    for (uint32_t i = 1; i < m->tree->n_nodes; i++)
        if (is_index_stmt(m, m->tree->nodes[i]) && !gives_alive(m, m->tree->nodes[i], &alive))
            nki_edit_remove_stmt(&m->edits, m->tree->nodes[i]);
    map_free(&alive);
}
