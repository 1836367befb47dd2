/* SPDX-License-Identifier: Apache-2.0 */
/* Whether two sources are the same kernel: a hash of the tree without what makes no difference.
 * Some other edits make none either (another order, x += 1 for x = x + 1), but this hash tells them
 * apart. */
#include "nki/syntax/parser.h"

static bool is_scope(const struct nki_node *node) {
    return node->kind == NKI_FUNCTION_DEF || node->kind == NKI_CLASS_DEF ||
           node->kind == NKI_LAMBDA || node->kind == NKI_LIST_COMP || node->kind == NKI_SET_COMP ||
           node->kind == NKI_DICT_COMP || node->kind == NKI_GENERATOR_EXP;
}

/* Whether a node is in the function's body, and in no inner scope. */
static bool is_own(const struct nki_node *function, const struct nki_node *node) {
    for (const struct nki_node *up = node->parent; up && up != function; up = up->parent)
        if (is_scope(up))
            return false;
    return true;
}

static void put(struct map *set, struct str name) {
    if (name.len)
        map_put(set, name);
}

/* Adds names that something outside could tell apart, or that are bound by other means than
 * assignment. */
static void fixed_add(const struct nki_node *function, const struct nki_node *node,
                      struct map *fixed) {
    bool in_body =
        function->function_def.body.len && node->id >= function->function_def.body.at[0]->id;
    if (node->kind == NKI_ARG)
        put(fixed, node->arg.name);
    else if (node->kind == NKI_FUNCTION_DEF)
        put(fixed, node->function_def.name);
    else if (node->kind == NKI_EXCEPT_HANDLER)
        put(fixed, node->except_handler.name);
    else if (node->kind == NKI_ALIAS && node->alias.asname.len)
        put(fixed, node->alias.asname);
    else if (node->kind == NKI_NAME && !in_body)
        put(fixed, node->name.id);
    else if (node->kind == NKI_GLOBAL || node->kind == NKI_NONLOCAL)
        for (uint32_t i = 0; i < node->global.len; i++)
            put(fixed, node->global.names[i]);
    struct str rest = node->kind == NKI_ALIAS ? node->alias.name : (struct str){0}, first;
    if (str_next(&rest, '.', &first))
        put(fixed, first);
}

/* Finds a function's own variables, in the order in which they are bound. */
static void marks_find(const struct nki_tree *tree, const struct nki_node *function,
                       struct map *marks) {
    struct map fixed = {0};
    bool has_class = false;
    for (uint32_t i = function->id + 1; i <= function->last; i++) {
        has_class |= tree->nodes[i]->kind == NKI_CLASS_DEF;
        fixed_add(function, tree->nodes[i], &fixed);
    }
    for (uint32_t i = function->id + 1; i <= function->last && !has_class; i++) {
        const struct nki_node *node = tree->nodes[i];
        if (node->kind == NKI_NAME && node->context == NKI_STORE && is_own(function, node) &&
            !map_find(&fixed, node->name.id))
            map_put(marks, node->name.id);
    }
    map_free(&fixed);
}

static void plain_print(const struct nki_tree *tree, struct buf *out) {
    const struct nki_list *body = &tree->module->module.body;
    for (uint32_t i = 0; i < body->len; i++) {
        struct map marks = {0};
        if (body->at[i]->kind == NKI_FUNCTION_DEF)
            marks_find(tree, body->at[i], &marks);
        const struct nki_plain plain = {tree, &marks};
        nki_dump_plain(&plain, body->at[i], out);
        map_free(&marks);
    }
}

struct hash nki_source_hash(struct str source) {
    struct diag_list ignored = {0};
    struct nki_tree *tree = nki_parse("kernel.py", source, &ignored);
    struct buf plain = {0};
    if (tree->errors)
        buf_add(&plain, str_trim(source).at, str_trim(source).len);
    else
        plain_print(tree, &plain);
    struct hash hash = hash_content(plain.at ? plain.at : "", plain.len);
    buf_free(&plain);
    nki_tree_free(tree);
    diag_free(&ignored);
    return hash;
}
