/* SPDX-License-Identifier: Apache-2.0 */
/* Which sums are those of a convolution's taps. */
#include <string.h>

#include "write/taps/taps.h"

#define MOST_TAPS 64

struct finding {
    struct writer *writer;
    struct graph_copy copy;
    const struct graph_node *nodes; /* of the graph before */
    int *taken;                     /* by node: the sum that it is a part of; 0: none */
    bool *apart;                    /* by sum: the schedule wants a stage for each product */
};
struct sum {
    int products[MOST_TAPS], parts[2 * MOST_TAPS]; /* parts: all nodes that become one */
    int count, part_count;
    int other; /* one more summand, -1: there is none */
};

static bool is_add(const struct graph_node *node) {
    return node->op->kind == GRAPH_BINARY && strcmp(node->op->alu, "add") == 0;
}

static bool is_product(const struct graph_node *node) {
    return node->op->kind == GRAPH_CONTRACT && node->in_count == 2 && node->dtype &&
           strcmp(node->dtype, "float32") == 0;
}

static bool is_zero(const struct graph_node *node) {
    return node->op->kind == GRAPH_CONSTANT && node->has_fill && node->fill == 0;
}

static bool same_shape(const struct graph_node *a, const struct graph_node *b) {
    return a->ndim == b->ndim &&
           memcmp(a->shape, b->shape, (size_t)a->ndim * sizeof *a->shape) == 0;
}

static bool same_labels(const int *a, const int *b, int count) {
    return memcmp(a, b, (size_t)count * sizeof *a) == 0;
}

/* Whether two products differ by where their operands lie only. */
static bool are_alike(const struct finding *f, int first, int second) {
    const struct graph_node *a = &f->nodes[first], *b = &f->nodes[second];
    bool alike = same_shape(a, b) && same_labels(a->out, b->out, a->ndim);
    for (int i = 0; alike && i < 2; i++) {
        const struct graph_node *x = &f->nodes[a->in[i]], *y = &f->nodes[b->in[i]];
        alike = same_shape(x, y) && x->dtype && y->dtype && !strcmp(x->dtype, y->dtype) &&
                same_labels(a->terms[i], b->terms[i], x->ndim);
    }
    return alike;
}

static bool collect(const struct finding *f, int node, struct sum *sum);

static bool add_summand(const struct finding *f, int top, int node, struct sum *sum) {
    const struct graph_node *row = &f->nodes[node];
    bool whole = same_shape(row, &f->nodes[top]) && f->copy.users[node] == 1;
    if (is_zero(row))
        return true;
    if (whole && is_add(row))
        return collect(f, node, sum);
    if (!whole || !is_product(row) || sum->count == MOST_TAPS ||
        (sum->count && !are_alike(f, sum->products[0], node))) {
        bool first = sum->other < 0;
        sum->other = node;
        return first;
    }
    sum->products[sum->count++] = node;
    sum->parts[sum->part_count++] = node;
    return true;
}

static bool collect(const struct finding *f, int node, struct sum *sum) {
    const struct graph_node *row = &f->nodes[node];
    if (sum->part_count == 2 * MOST_TAPS)
        return false;
    sum->parts[sum->part_count++] = node;
    return add_summand(f, node, row->in[0], sum) && add_summand(f, node, row->in[1], sum);
}

static bool find(const struct finding *f, int node, struct sum *sum) {
    const struct graph_node *row = &f->nodes[node];
    *sum = (struct sum){.other = -1};
    return is_add(row) && row->dtype && !strcmp(row->dtype, "float32") && collect(f, node, sum) &&
           sum->count > 1;
}

/* Short images with channels innermost may be faster product by product. */
static bool choose_apart(struct finding *f, int sum) {
    static const int64_t values[] = {1, 0};
    return !write_choose(f->writer, sum, "taps",
                         "the products of a convolution are one stage (1), a stage each (0)",
                         values, 2);
}

/* Larger sums first, so that none is a part of one that was found. */
static void find_all(struct finding *f, int count) {
    struct sum sum;
    for (int i = count; i-- > 0;) {
        if (f->taken[i] || !find(f, i, &sum))
            continue;
        for (int k = 0; k < sum.part_count; k++)
            f->taken[sum.parts[k]] = i;
        f->apart[i] = f->writer->no_taps[i] || choose_apart(f, i);
    }
}

/* The sum as one node, and another one for what is added beside. */
static void take(struct finding *f, int node, const struct sum *sum) {
    struct graph *to = f->copy.to;
    struct graph_node *made = &to->nodes[to->count++];
    *made = f->nodes[node];
    made->op = graph_op_named(made->name = "taps");
    made->in = ARENA_ARRAY(f->copy.arena, int, 2 * (size_t)sum->count);
    made->in_count = 2 * sum->count;
    for (int i = 0; i < made->in_count; i++)
        made->in[i] = f->copy.new_of[f->nodes[sum->products[i / 2]].in[i % 2]];
    const struct graph_node *first = &f->nodes[sum->products[0]];
    made->terms = first->terms;
    made->out = first->out;
    made->line = first->line;
    made->argument = node;
    f->copy.new_of[node] = to->count - 1;
    if (sum->other < 0) {
        (void)graph_copy_nothing(&f->copy);
        return;
    }
    struct graph_node *added = &to->nodes[to->count++];
    *added = f->nodes[node];
    added->in = ARENA_ARRAY(f->copy.arena, int, 2);
    added->in[0] = f->copy.new_of[node];
    added->in[1] = f->copy.new_of[sum->other];
    f->copy.new_of[node] = to->count - 1;
}

struct graph *taps_find(struct writer *writer, const struct graph *graph) {
    struct finding f = {.writer = writer, .nodes = graph->nodes};
    struct sum sum;
    struct graph before = *graph; /* choices are about its nodes */
    graph_copy_begin(&f.copy, graph, (size_t)graph->count, writer->arena);
    writer->graph = &before;
    f.taken = ARENA_ARRAY(writer->arena, int, (size_t)graph->count + 1);
    f.apart = ARENA_ARRAY(writer->arena, bool, (size_t)graph->count + 1);
    if (!writer->no_taps)
        writer->no_taps = ARENA_ARRAY(writer->arena, bool, (size_t)graph->count + 1);
    find_all(&f, graph->count);
    writer->graph = f.copy.to;
    for (int i = 0; i < graph->count; i++) {
        int top = f.taken[i];
        if (top && top != i && !f.apart[top]) {
            (void)graph_copy_nothing(&f.copy);
            continue;
        }
        if (top != i || !i || f.apart[i] || !find(&f, i, &sum)) {
            graph_copy_node(&f.copy, i);
            if (top == i && i)
                (void)graph_copy_nothing(&f.copy);
            continue;
        }
        take(&f, i, &sum);
    }
    return graph_copy_end(&f.copy);
}
