/* SPDX-License-Identifier: Apache-2.0 */
/* The guard: a proposed kernel may import, name, reach and call only what allow.def lists.
 * Everything else is a finding. It reads the source alone. The idea: if every name is on the list
 * or is the file's own, no value that a candidate gets leads out of its arguments. Then, for a call
 * of a value or an attribute of one, only its own name has to be looked at. lint_candidate.c and
 * facts.c find cheating by what is computed, and a wall of the operating system stands behind all
 * of them. */
#include "nki/lint/guard.h"

void guard_add(struct guard *guard, enum lint_rule rule, const struct nki_node *node,
               struct str name) {
    if (guard->found.len < NKI_MAX_FINDINGS)
        *vec_push(&guard->found) = (struct guard_finding){.node = node, .rule = rule, .name = name};
}

/* Names that a file reads and never binds. Either a harness binds them, or they are an error. */
static void free_names(const struct nki_tree *from, struct map *names) {
    struct nki_lint_options none = {0};
    struct lint lint = {.tree = from, .options = &none};
    lint_bindings(&lint);
    for (uint32_t i = 0; i < from->n_nodes; i++)
        if (from->nodes[i]->kind == NKI_NAME && from->nodes[i]->context == NKI_LOAD &&
            lint_is_builtin(&lint, from->nodes[i]->name.id))
            map_put(names, from->nodes[i]->name.id);
    map_free(&lint.aliases);
    map_free(&lint.bound);
}

/* The keywords of the original's decorators, as they are written there. */
static void decorations_find(struct guard *guard) {
    const struct nki_tree *from = guard->original;
    for (uint32_t i = 0; i < from->n_nodes; i++) {
        const struct nki_node *node = from->nodes[i];
        if (node->kind == NKI_KEYWORD && node->parent->kind == NKI_CALL &&
            node->parent->parent->kind == NKI_FUNCTION_DEF)
            map_put(&guard->decorations, nki_node_text(from, node));
    }
}

void guard_run(struct guard *guard) {
    guard->arena = arena_new();
    guard->dialect = nki_detect_dialect(guard->tree).dialect;
    allow_init(&guard->allow, guard->release);
    if (guard->original && !guard->original->errors) {
        decorations_find(guard);
        free_names(guard->original, &guard->free);
    }
    guard_bindings(guard);
    guard_names(guard);
    guard_forms(guard);
}

void guard_free(struct guard *guard) {
    if (!guard->arena)
        return;
    allow_free(&guard->allow);
    map_free(&guard->imports);
    map_free(&guard->bound);
    map_free(&guard->own);
    map_free(&guard->locals);
    map_free(&guard->typed);
    map_free(&guard->decorations);
    map_free(&guard->free);
    vec_free(&guard->stars);
    vec_free(&guard->found);
    arena_free(guard->arena);
}
