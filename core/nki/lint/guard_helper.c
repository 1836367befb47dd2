/* SPDX-License-Identifier: Apache-2.0 */
/* Files of the task that a kernel imports. They belong to the task's owner, and candidates may use
 * them as far as they keep to the list. Two things are not for candidates: what a helper defines
 * with files, modules or processes in it, and what it imports. The kernel and the reference are not
 * helpers. */
#include "nki/lint/guard.h"

#include <stdlib.h>

#include "nki/syntax/syntax.h"

static void export(struct guard_helper *helper, struct str name, const struct map *tainted) {
    if (name.len && !map_find(tainted, name) && !guard_is_dunder(name) &&
        !map_find(&helper->guard.imports, name))
        map_put(&helper->exports, name);
}

/* What the file binds at its top, in statements that keep to the list. */
static void exports_find(struct guard_helper *helper, const struct map *tainted) {
    for (uint32_t i = 1; i < helper->tree->n_nodes; i++) {
        const struct nki_node *node = helper->tree->nodes[i];
        if (node->kind == NKI_FUNCTION_DEF || node->kind == NKI_CLASS_DEF) {
            export(helper,
                   node->kind == NKI_CLASS_DEF ? node->class_def.name : node->function_def.name,
                   tainted);
            i = node->last;
        } else if (node->kind == NKI_NAME && node->context == NKI_STORE) {
            export(helper, node->name.id, tainted);
        }
    }
}

static void look_at(struct guard *from, struct guard_helper *helper) {
    struct diag_list ignored = {0};
    struct map tainted = {0};
    helper->tree = nki_parse_file(helper->path, &ignored, NULL);
    diag_free(&ignored);
    if (!helper->tree || helper->tree->errors)
        return;
    helper->guard = (struct guard){.tree = helper->tree,
                                   .original = helper->tree,
                                   .release = from->release,
                                   .files = from->files,
                                   .path = helper->path,
                                   .depth = from->depth + 1};
    guard_run(&helper->guard);
    guard_excuse(&helper->guard, &tainted);
    exports_find(helper, &tainted);
    map_free(&tainted);
}

static const struct guard_helper *helper_at(struct guard *guard, char *path) {
    struct guard_files *files = guard->files;
    for (size_t i = 0; i < files->all.len; i++)
        if (!strcmp(files->all.at[i]->path, path)) {
            free(path);
            return files->all.at[i];
        }
    struct guard_helper *helper = mem_alloc(1, sizeof *helper);
    helper->path = path;
    *vec_push(&files->all) = helper; /* before it is read, because helpers may import each other */
    look_at(guard, helper);
    return helper;
}

static bool is_same_file(const char *path, const char *other) {
    return other && (!strcmp(path, other) || !strcmp(path_base(path), path_base(other)));
}

const struct guard_helper *guard_helper_find(struct guard *guard, struct str dotted,
                                             uint32_t level) {
    struct guard_files *files = guard->files;
    if (!files || !guard->path || level > 8 || dotted.len > 500 ||
        guard->depth >= GUARD_MAX_DEPTH || files->all.len >= GUARD_MAX_HELPERS)
        return NULL;
    char *path = nki_import_path(guard->path, dotted, level ? level - 1 : 0);
    if (!path)
        return NULL;
    if (is_same_file(path, files->kernel) || is_same_file(path, files->reference)) {
        free(path);
        return NULL;
    }
    const struct guard_helper *helper = helper_at(guard, path);
    if (!helper->tree || helper->tree->errors)
        return NULL;
    for (size_t i = 0; i < helper->guard.own.len; i++)
        map_put(&guard->own, (struct str){helper->guard.own.entries[i].key,
                                          helper->guard.own.entries[i].key_len});
    return helper;
}

void guard_files_free(struct guard_files *files) {
    for (size_t i = 0; i < files->all.len; i++) {
        struct guard_helper *helper = files->all.at[i];
        guard_free(&helper->guard);
        map_free(&helper->exports);
        nki_tree_free(helper->tree);
        free(helper->path);
        free(helper);
    }
    vec_free(&files->all);
}
