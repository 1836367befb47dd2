/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel that is written anew takes the place of the old one in its file, and the rest of the
 * file stays: other functions, what they import, comments. Where a name would mean two things, the
 * new kernel takes the place of the whole file, and it is said what goes with it. */
#include "rewrite/private.h"

#define MOST_NAMES 8 /* of functions that go; the rest is counted */

/* Both files, and what is made of them. */
struct files {
    const struct nki_tree *old, *anew;
    const struct nki_node *kernel, *written; /* the functions */
    const char *name;                        /* of the kernel, as it was asked for; may be NULL */
};

/* ---- names of a module ----------------------------------------------------------------------- */

static bool is_of_module(const struct nki_node *node) {
    return !nki_enclosing(node, NKI_FUNCTION_DEF) && !nki_enclosing(node, NKI_CLASS_DEF) &&
           !nki_enclosing(node, NKI_LAMBDA);
}

/* The name that an import binds: the first part of `import a.b`. */
static struct str bound_by_alias(const struct nki_node *alias) {
    struct str name = alias->alias.name, first = name;
    if (alias->alias.asname.len)
        return alias->alias.asname;
    return alias->parent->kind == NKI_IMPORT && str_next(&name, '.', &first) ? first
                                                                             : alias->alias.name;
}

static struct str bound_by(const struct nki_node *node) {
    switch (node->kind) {
    case NKI_FUNCTION_DEF: return node->function_def.name;
    case NKI_CLASS_DEF: return node->class_def.name;
    case NKI_ALIAS: return bound_by_alias(node);
    case NKI_EXCEPT_HANDLER: return node->except_handler.name;
    case NKI_NAME: return node->context == NKI_LOAD ? (struct str){0} : node->name.id;
    default: return (struct str){0};
    }
}

/* The module that an import's name stands for: "nki.language" of `from nki import language`. */
static void print_module(const struct nki_node *alias, struct buf *out) {
    const struct nki_node *import = alias->parent;
    struct str bound = bound_by_alias(alias);
    if (import->kind == NKI_IMPORT_FROM) {
        for (uint32_t i = 0; i < import->import_from.level; i++)
            buf_putc(out, '.');
        buf_printf(out, STR_FMT "." STR_FMT, STR_ARG(import->import_from.module),
                   STR_ARG(alias->alias.name));
    } else {
        struct str name = alias->alias.asname.len ? alias->alias.name : bound;
        buf_add(out, name.at, name.len);
    }
}

static bool is_same_import(const struct nki_node *a, const struct nki_node *b) {
    struct buf one = {0}, two = {0};
    print_module(a, &one);
    print_module(b, &two);
    bool same = str_equal(buf_str(&one), buf_str(&two));
    buf_free(&one);
    buf_free(&two);
    return same;
}

enum meaning { UNBOUND, SAME, OTHER };

/* What the old file means by a name: `alias` imports it in the new one (NULL: Python's own). Only a
 * statement of the module itself is sure to have been run. */
static enum meaning meaning_of(const struct files *files, struct str name,
                               const struct nki_node *alias) {
    enum meaning found = UNBOUND;
    for (uint32_t i = 0; i < files->old->n_nodes; i++) {
        const struct nki_node *node = files->old->nodes[i];
        struct str bound = bound_by(node);
        bool is_star = node->kind == NKI_ALIAS && str_is(node->alias.name, "*");
        if (!is_star && (!bound.len || !str_equal(bound, name) || !is_of_module(node)))
            continue;
        if (is_star || !alias || node->kind != NKI_ALIAS ||
            node->parent->parent->kind != NKI_MODULE || !is_same_import(alias, node) ||
            node->start > files->kernel->start)
            return OTHER;
        found = SAME;
    }
    return found;
}

/* ---- whether the rest can stay --------------------------------------------------------------- */

static bool is_bound_in(const struct nki_tree *tree, struct str name) {
    for (uint32_t i = 0; i < tree->n_nodes; i++) {
        const struct nki_node *node = tree->nodes[i];
        struct str bound = node->kind == NKI_ARG ? node->arg.name : bound_by(node);
        if (bound.len && str_equal(bound, name))
            return true;
    }
    return false;
}

/* A name of the new kernel that the old file uses for something else; empty: none. */
static struct str clash_of(const struct files *files) {
    for (uint32_t i = 0; i < files->anew->n_nodes; i++) {
        const struct nki_node *node = files->anew->nodes[i];
        struct str name = {0};
        if (node->kind == NKI_ALIAS)
            name = bound_by_alias(node);
        else if (node->kind == NKI_NAME && !is_bound_in(files->anew, node->name.id))
            name = node->name.id;
        const struct nki_node *alias = node->kind == NKI_ALIAS ? node : NULL;
        if (name.len && meaning_of(files, name, alias) == OTHER)
            return name;
    }
    return (struct str){0};
}

static bool is_rest(const struct files *files, const struct nki_node *stmt) {
    bool is_text = stmt->kind == NKI_EXPR && stmt->expr.value->kind == NKI_CONSTANT;
    return stmt != files->kernel && stmt->kind != NKI_IMPORT && stmt->kind != NKI_IMPORT_FROM &&
           !is_text && stmt->kind != NKI_PASS;
}

static bool has_rest(const struct files *files) {
    const struct nki_list *body = &files->old->module->module.body;
    for (uint32_t i = 0; i < body->len; i++)
        if (is_rest(files, body->at[i]))
            return true;
    return false;
}

/* What the new file is made of has imports and one function. */
static const struct nki_node *find_written(const struct nki_tree *anew) {
    const struct nki_node *found = NULL;
    const struct nki_list *body = &anew->module->module.body;
    for (uint32_t i = 0; i < body->len; i++) {
        const struct nki_node *stmt = body->at[i];
        if (stmt->kind == NKI_FUNCTION_DEF && !found)
            found = stmt;
        else if (stmt->kind != NKI_IMPORT)
            return NULL;
    }
    return found;
}

/* ---- the new file ---------------------------------------------------------------------------- */

static void print_imports(const struct files *files, struct buf *out) {
    const struct nki_list *body = &files->anew->module->module.body;
    for (uint32_t i = 0; i < body->len; i++) {
        const struct nki_node *stmt = body->at[i];
        if (stmt->kind != NKI_IMPORT)
            continue;
        const struct nki_node *alias = stmt->import.names.at[0];
        if (meaning_of(files, bound_by_alias(alias), alias) == UNBOUND)
            buf_printf(out, STR_FMT "\n", STR_ARG(nki_node_text(files->anew, stmt)));
    }
}

/* Below the imports above the kernel. */
static bool add_imports(const struct files *files, struct nki_edits *edits) {
    const struct nki_list *body = &files->old->module->module.body;
    const struct nki_node *last = NULL;
    struct buf lines = {0};
    for (uint32_t i = 0; i < body->len && body->at[i] != files->kernel; i++)
        if (body->at[i]->kind == NKI_IMPORT || body->at[i]->kind == NKI_IMPORT_FROM)
            last = body->at[i];
    print_imports(files, &lines);
    bool ok = !lines.len || (last && nki_edit_insert_after(edits, last, buf_str(&lines)));
    buf_free(&lines);
    return ok;
}

/* What was made has the kernel where it is looked for. */
static bool is_found(const struct files *files, const struct buf *text) {
    struct diag_list findings = {0};
    struct nki_tree *tree = nki_parse("kernel.py", buf_str(text), &findings);
    const struct nki_node *kernel = nki_find_kernel(tree, files->name, NULL);
    bool ok = kernel && str_equal(kernel->function_def.name, files->kernel->function_def.name) &&
              nki_kernel_decorator(kernel);
    nki_tree_free(tree);
    diag_free(&findings);
    return ok;
}

static bool put_in_place(const struct files *files, struct buf *out) {
    bool shares, ok;
    struct nki_edits edits = {.tree = files->old};
    struct nki_span place = nki_stmt_lines(files->old, files->kernel, &shares);
    struct buf made = {0};
    struct err ignored = {0};
    nki_edit_replace(&edits, place,
                     nki_text(files->anew, nki_stmt_lines(files->anew, files->written, NULL)));
    ok = !shares && nki_kernel_decorator(files->kernel) && add_imports(files, &edits) &&
         nki_edits_apply(&edits, &made, &ignored) && is_found(files, &made);
    if (ok)
        buf_add(out, made.at, made.len);
    nki_edits_free(&edits);
    buf_free(&made);
    return ok;
}

/* ---- what goes ------------------------------------------------------------------------------- */

static struct str defined_by(const struct files *files, const struct nki_node *stmt) {
    bool defines = stmt->kind == NKI_FUNCTION_DEF || stmt->kind == NKI_CLASS_DEF;
    return defines && stmt != files->kernel ? bound_by(stmt) : (struct str){0};
}

static void print_lost(const struct files *files, struct str clash, struct buf *out) {
    const struct nki_list *body = &files->old->module->module.body;
    size_t count = 0, said = 0;
    for (uint32_t i = 0; i < body->len; i++)
        count += defined_by(files, body->at[i]).len > 0;
    if (count)
        buf_printf(out, "The rest of this file goes with it, and so %s ",
                   count > 1 ? "do" : "does");
    else
        buf_puts(out, "The rest of this file goes with it");
    for (uint32_t i = 0; i < body->len && said < MOST_NAMES; i++) {
        struct str name = defined_by(files, body->at[i]);
        if (name.len)
            buf_printf(out, "%s" STR_FMT,
                       !said++         ? ""
                       : said == count ? " and "
                                       : ", ",
                       STR_ARG(name));
    }
    if (said < count)
        buf_printf(out, " and %zu more", count - said);
    if (clash.len)
        buf_printf(out, ": " STR_FMT " means something else there", STR_ARG(clash));
    buf_putc(out, '.');
}

/* ---- both ------------------------------------------------------------------------------------ */

static bool make(const struct files *files, struct buf *out, struct buf *lost) {
    if (!files->kernel || !has_rest(files))
        return false;
    struct str clash = files->written ? clash_of(files) : (struct str){0};
    if (files->written && !clash.len && put_in_place(files, out))
        return true;
    print_lost(files, clash, lost);
    return false;
}

static void put_whole(const struct nki_tree *old, struct str written, struct buf *out) {
    struct nki_edits edits = {.tree = old};
    struct err ignored = {0};
    nki_edit_replace(&edits, (struct nki_span){0, (uint32_t)old->source.len}, written);
    if (!nki_edits_apply(&edits, out, &ignored))
        buf_add(out, written.at, written.len);
    nki_edits_free(&edits);
}

bool rewrite_keep_rest(const struct rewrite_request *request, struct str written, struct buf *out,
                       struct buf *lost, struct rewrite_lines *lines) {
    struct diag_list findings = {0};
    struct nki_tree *old = nki_parse("kernel.py", request->source, &findings);
    struct nki_tree *anew = nki_parse("kernel.py", written, &findings);
    struct files files = {old, anew, nki_find_kernel(old, request->function, NULL),
                          find_written(anew), request->function};
    bool kept = make(&files, out, lost);
    struct nki_span gone = {0, (uint32_t)MAX_OF(request->source.len, 1) - 1};
    if (kept)
        gone = (struct nki_span){nki_stmt_lines(old, files.kernel, NULL).start, files.kernel->end};
    else
        put_whole(old, written, out);
    *lines = (struct rewrite_lines){nki_place_of(old, gone.start).line,
                                    nki_place_of(old, gone.end).line};
    nki_tree_free(old);
    nki_tree_free(anew);
    diag_free(&findings);
    return kept;
}
