/* SPDX-License-Identifier: Apache-2.0 */
/* Which functions and classes the NKI compiler reads (the kernel and what it
 * calls by name, or all kernels of the file), and the walk over them. What the compiler refuses
 * there is in lint_subset.c. */
#include "nki/lint/rules.h"

/* What is still to be looked at, and what was looked at. */
struct reach {
    const struct lint *lint;
    bool *seen; /* by node id */
    VEC(const struct nki_node *) queue;
};

static void reach_node(struct reach *reach, const struct nki_node *node) {
    if (reach->seen[node->id])
        return;
    reach->seen[node->id] = true;
    *vec_push(&reach->queue) = node;
}

/* Functions and classes at module level by name. */
static void index_module(const struct nki_tree *tree, struct map *index) {
    for (uint32_t i = 0; i < tree->n_nodes; i++) {
        struct nki_node *node = tree->nodes[i];
        if (node->kind == NKI_FUNCTION_DEF)
            map_put(index, node->function_def.name)->value = node;
        else if (node->kind == NKI_CLASS_DEF)
            map_put(index, node->class_def.name)->value = node;
        else
            continue;
        i = node->last;
    }
}

static void reach_roots(struct reach *reach, const struct map *index) {
    const struct nki_node *kernel = reach->lint->options->kernel;
    if (kernel) {
        reach_node(reach, kernel);
        return;
    }
    for (size_t i = 0; i < index->len; i++) {
        const struct nki_node *node = index->entries[i].value;
        if (node->kind == NKI_FUNCTION_DEF && nki_kernel_decorator(node))
            reach_node(reach, node);
    }
    if (reach->queue.len)
        return;
    for (size_t i = 0; i < index->len; i++)
        reach_node(reach, index->entries[i].value);
}

static void mark_one(struct reach *reach, const struct nki_node *root, const struct map *index) {
    for (uint32_t i = root->id; i <= root->last; i++) {
        const struct nki_node *node = reach->lint->tree->nodes[i];
        const struct nki_node *named = node->kind == NKI_NAME && node->context == NKI_LOAD
                                           ? map_get(index, node->name.id)
                                           : NULL;
        reach->lint->reached[i] = true;
        if (named)
            reach_node(reach, named);
    }
}

/* Inner functions are accepted as the bodies of the two loops that take a function. */
static void collect_loop_bodies(struct lint *lint) {
    struct buf name = {0};
    for (uint32_t i = 0; i < lint->tree->n_nodes; i++) {
        const struct nki_node *node = lint->tree->nodes[i];
        const struct nki_node *call = node->parent;
        if (call && call->kind == NKI_KEYWORD)
            call = call->parent;
        if (node->kind != NKI_NAME || !call || call->kind != NKI_CALL)
            continue;
        buf_clear(&name);
        if (lint_canonical(lint, call->call.func, &name) &&
            (str_is(buf_str(&name), "nl.fori_loop") || str_is(buf_str(&name), "nl.while_loop")))
            map_put(&lint->loop_bodies, node->name.id);
    }
    buf_free(&name);
}

void lint_reach(struct lint *lint) {
    struct map index = {0};
    struct reach reach = {.lint = lint, .seen = mem_alloc(lint->tree->n_nodes, sizeof(bool))};
    lint->reached = mem_alloc(lint->tree->n_nodes, sizeof *lint->reached);
    index_module(lint->tree, &index);
    reach_roots(&reach, &index);
    for (size_t i = 0; i < reach.queue.len; i++)
        mark_one(&reach, reach.queue.at[i], &index);
    vec_free(&reach.queue);
    mem_free_(reach.seen);
    map_free(&index);
}

void lint_strict(struct lint *lint) {
    collect_loop_bodies(lint);
    for (uint32_t i = 0; i < lint->tree->n_nodes; i++) {
        const struct nki_node *node = lint->tree->nodes[i];
        if (!lint->reached[i])
            continue;
        if (node->kind == NKI_CLASS_DEF && !nki_enclosing(node, NKI_FUNCTION_DEF) &&
            !nki_enclosing(node, NKI_CLASS_DEF))
            lint_strict_class(lint, node);
        lint_strict_node(lint, node);
    }
}
