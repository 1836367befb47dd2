/* SPDX-License-Identifier: Apache-2.0 */
/* Late normalisation: (x / r) @ w is (x @ w) / r where r is the same for all that is summed over.
 * The product then reads x as it is, and the division goes over its result. */
#include <stdio.h>

#include "write/private.h"

#define DEEPEST 4 /* factors of an operand that are looked through */

struct late {
    struct writer *writer;
    struct graph_copy copy;
};
/* A factor of a contraction's operand: node `by` multiplies or divides node `of` in `place`, which
 * is what the operation `user` reads there. */
struct factor_found {
    int place, by, of, user, slot;
};

static const struct graph_node *row_of(const struct late *late, int node) {
    return &late->copy.from->nodes[node];
}

static bool same_shape(const struct graph_node *a, const struct graph_node *b) {
    return a->ndim == b->ndim &&
           memcmp(a->shape, b->shape, (size_t)a->ndim * sizeof *a->shape) == 0;
}

/* Whether the factor meets the result's elements as it met those of operand `term`: along each of
 * its dimensions both have one label, in one place from the end. */
static bool meets_result(const struct late *late, int product, int term, int factor) {
    const struct graph_node *result = row_of(late, product), *by = row_of(late, factor);
    const struct graph_node *operand = row_of(late, result->in[term]);
    if (by->op->kind == GRAPH_CONSTANT || by->ndim > operand->ndim || by->ndim > result->ndim)
        return false;
    for (int d = 1; d <= by->ndim; d++)
        if (by->shape[by->ndim - d] != 1 &&
            result->terms[term][operand->ndim - d] != result->out[result->ndim - d])
            return false;
    return true;
}

/* The operation's array and its factor, where the factor can be applied later. */
static bool is_scaling(const struct late *late, int product, int term, int node, int *of, int *by) {
    const struct graph_node *row = row_of(late, node);
    bool divides = strcmp(row->name, "divide") == 0,
         multiplies = strcmp(row->name, "multiply") == 0;
    if (!divides && !multiplies)
        return false;
    for (int i = 0; i < (divides ? 1 : 2); i++) {
        *of = row->in[i];
        *by = row->in[1 - i];
        if (same_shape(row_of(late, *of), row) && meets_result(late, product, term, *by))
            return true;
    }
    return false;
}

/* Looks through the factors that the operand consists of, as far as nobody else uses them. */
static bool find(const struct late *late, int product, int term, struct factor_found *found) {
    int user = product, slot = term;
    for (int depth = 0; depth < DEEPEST; depth++) {
        int node = row_of(late, user)->in[slot];
        const struct graph_node *row = row_of(late, node);
        if (row->op->kind != GRAPH_BINARY || late->copy.users[node] != 1 ||
            (strcmp(row->name, "divide") && strcmp(row->name, "multiply")))
            return false;
        *found = (struct factor_found){.place = node, .user = user, .slot = slot};
        if (is_scaling(late, product, term, node, &found->of, &found->by))
            return true;
        if (!same_shape(row_of(late, row->in[0]), row))
            return false;
        user = node;
        slot = 0;
    }
    return false;
}

static bool is_wanted(const struct late *late, int product) {
    static const int64_t values[] = {1, 0};
    return write_choose(
        late->writer, product, "late",
        "what rows of the operand have in common: is applied to the result (1), to the operand (0)",
        values, 2);
}

/* Nodes are changed in the copy only. */
static void replace_input(struct late *late, int node, int slot, int by) {
    struct graph_node *row = &late->copy.to->nodes[late->copy.new_of[node]];
    int *in = ARENA_ARRAY(late->writer->arena, int, (size_t)row->in_count + 1);
    memcpy(in, row->in, (size_t)row->in_count * sizeof *in);
    in[slot] = by;
    row->in = in;
}

static void apply(struct late *late, int product, const struct factor_found *found) {
    struct graph *to = late->copy.to;
    int result = late->copy.new_of[product], scaled = to->count++;
    replace_input(late, found->user, found->slot, late->copy.new_of[found->of]);
    to->nodes[scaled] = to->nodes[late->copy.new_of[found->place]];
    struct graph_node *row = &to->nodes[scaled];
    row->ndim = to->nodes[result].ndim;
    memcpy(row->shape, to->nodes[result].shape, sizeof row->shape);
    row->dtype = to->nodes[result].dtype;
    row->in = ARENA_ARRAY(late->writer->arena, int, 3);
    row->in[0] = result;
    row->in[1] = late->copy.new_of[found->by];
    row->in_count = 2;
    late->copy.new_of[product] = scaled;
}

/* A product with the factor of one of its operands taken out, where there is one. */
static void take_factor(struct late *late, int node) {
    const struct graph_node *row = row_of(late, node);
    struct factor_found found;
    if (row->op->kind != GRAPH_CONTRACT || row->in_count != 2 || !row->dtype ||
        strcmp(row->dtype, "float32"))
        return;
    if (!find(late, node, 0, &found) && !find(late, node, 1, &found))
        return;
    if (is_wanted(late, late->copy.new_of[node]))
        apply(late, node, &found);
    else
        (void)graph_copy_nothing(&late->copy);
}

struct graph *write_late(struct writer *writer, const struct graph *graph) {
    struct late late = {.writer = writer};
    graph_copy_begin(&late.copy, graph, (size_t)graph->count, writer->arena);
    writer->graph = late.copy.to;
    for (int i = 0; i < graph->count; i++) {
        graph_copy_node(&late.copy, i);
        take_factor(&late, i);
    }
    return graph_copy_end(&late.copy);
}
