/* SPDX-License-Identifier: Apache-2.0 */
/* Products of several arrays of different sizes: small ones are multiplied with each other first,
 * so that fewer passes go over what is large. */
#include "write/graph/graph.h"

static bool is_product(const struct graph *graph, int node) {
    const struct graph_node *row = &graph->nodes[node];
    return row->in_count == 2 && strcmp(row->name, "multiply") == 0;
}

static int users_of(const struct graph *graph, int node) {
    int users = 0;
    for (int i = 0; i < graph->count; i++)
        for (int k = 0; k < graph->nodes[i].in_count; k++)
            users += graph->nodes[i].in[k] == node;
    for (int i = 0; i < graph->output_count; i++)
        users += graph->outputs[i] == node;
    for (int i = 0; i < graph->argument_count; i++)
        users += graph->arguments[i].node == node;
    return users;
}

/* The shape of two arrays together, in the place of `made`'s; its size. */
static int64_t spread(const struct graph_node *a, const struct graph_node *b,
                      struct graph_node *made) {
    made->ndim = a->ndim > b->ndim ? a->ndim : b->ndim;
    for (int d = 0; d < made->ndim; d++) {
        int own = d - (made->ndim - a->ndim), other = d - (made->ndim - b->ndim);
        int64_t n = own < 0 ? 1 : a->shape[own], m = other < 0 ? 1 : b->shape[other];
        made->shape[d] = n > m ? n : m;
    }
    return graph_size(made);
}

static void renumber(int *at, int count, int from, int to) {
    for (int i = 0; i < count; i++)
        if (at[i] == from)
            at[i] = to;
        else if (at[i] > from && at[i] <= to)
            at[i]--;
}

/* Moves a node behind others, up to the place `to`. */
static void move(struct graph *graph, int from, int to) {
    struct graph_node node = graph->nodes[from];
    memmove(&graph->nodes[from], &graph->nodes[from + 1],
            (size_t)(to - from) * sizeof *graph->nodes);
    graph->nodes[to] = node;
    for (int i = from; i < graph->count; i++)
        renumber(graph->nodes[i].in, graph->nodes[i].in_count, from, to);
    renumber(graph->outputs, graph->output_count, from, to);
    for (int i = 0; i < graph->argument_count; i++)
        renumber(&graph->arguments[i].node, 1, from, to);
}

/* (p * q) * other becomes (p * other) * q where that product is smaller. */
static bool shorten(struct graph *graph, int node, int side) {
    struct graph_node *outer = &graph->nodes[node];
    int inner = outer->in[side], other = outer->in[1 - side];
    struct graph_node *product = &graph->nodes[inner], made = *product;
    if (inner == other || !is_product(graph, inner) || strcmp(product->dtype, outer->dtype) ||
        strcmp(graph->nodes[other].dtype, outer->dtype) || users_of(graph, inner) != 1)
        return false;
    for (int k = 0; k < 2; k++) {
        const struct graph_node *kept = &graph->nodes[product->in[k]];
        if (kept->ndim == 0 || graph->nodes[other].ndim == 0 ||
            spread(kept, &graph->nodes[other], &made) >= graph_size(product))
            continue;
        int last = product->in[1 - k];
        made.in = product->in;
        made.in[0] = product->in[k];
        made.in[1] = other;
        *product = made;
        outer->in[0] = inner;
        outer->in[1] = last;
        move(graph, inner, node - 1);
        return true;
    }
    return false;
}

void graph_shorten(struct graph *graph) {
    for (int i = 0; i < graph->count; i++)
        while (is_product(graph, i) && (shorten(graph, i, 0) || shorten(graph, i, 1)))
            continue;
}
