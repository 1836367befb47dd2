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
    bool *joins;                    /* by sum: what is behind it is a part of its stage */
    int *begins;                    /* by node: the sum that it is behind of; 0: none */
};
/* What is behind a sum: the node that all of it is, the function that this is, or NULL. What is
 * added to each channel is the sum's other summand. */
struct behind {
    int end;
    const char *function;
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

/* ---- what is behind -------------------------------------------------------------------------- */

static int times_labelled(const struct finding *f, const struct graph_node *product, int operand,
                          int label) {
    int times = 0;
    for (int d = 0; d < f->nodes[product->in[operand]].ndim; d++)
        times += product->terms[operand][d] == label;
    return times;
}

/* Whether an array has a number for each channel, which is the only label of the result that one
 * operand has alone. */
static bool is_for_channels(const struct finding *f, const struct graph_node *product,
                            const struct graph_node *array) {
    int along = -1, shift = product->ndim - array->ndim;
    for (int d = 0; d < array->ndim; d++) {
        if (array->shape[d] == 1)
            continue;
        if (along >= 0 || array->shape[d] != product->shape[shift + d])
            return false;
        along = shift + d;
    }
    if (along < 0)
        return false;
    int weights = times_labelled(f, product, 0, product->out[along]) ? 0 : 1, alone = 0;
    for (int d = 0; d < product->ndim; d++)
        alone += times_labelled(f, product, weights, product->out[d]) &&
                 !times_labelled(f, product, 1 - weights, product->out[d]);
    return alone == 1 && !times_labelled(f, product, 1 - weights, product->out[along]);
}

static bool is_bias(const struct finding *f, const struct sum *sum) {
    if (sum->other < 0)
        return false;
    const struct graph_node *array = &f->nodes[sum->other];
    if (array->op->kind == GRAPH_BROADCAST)
        array = &f->nodes[array->in[0]];
    return array->dtype && !strcmp(array->dtype, "float32") &&
           is_for_channels(f, &f->nodes[sum->products[0]], array);
}

/* The function of Scalar that a node is of another one; NULL: none. */
static const char *function_of(const struct finding *f, const struct graph_node *row, int of) {
    if (row->op->kind == GRAPH_UNARY)
        return row->op->activation;
    bool limits = row->op->kind == GRAPH_BINARY && !strcmp(row->op->alu, "maximum") &&
                  is_zero(&f->nodes[row->in[row->in[0] == of]]);
    return limits ? "relu" : NULL;
}

static struct behind find_behind(const struct finding *f, int top, const struct sum *sum,
                                 int count) {
    struct behind behind = {.end = top};
    if (f->copy.users[top] != 1 || (sum->other >= 0 && !is_bias(f, sum)))
        return behind;
    for (int i = top + 1; i < count; i++) {
        const struct graph_node *row = &f->nodes[i];
        bool reads = row->in_count && (row->in[0] == top || row->in[row->in_count - 1] == top);
        if (!reads)
            continue;
        behind.function =
            same_shape(row, &f->nodes[top]) && row->dtype && !strcmp(row->dtype, "float32")
                ? function_of(f, row, top)
                : NULL;
        behind.end = behind.function ? i : top;
        break;
    }
    return behind;
}

static bool choose_joined(struct finding *f, int sum) {
    static const int64_t values[] = {1, 0};
    return write_choose(f->writer, sum, "behind",
                        "what is added to each channel, and a function behind: are a part of a "
                        "convolution's stage (1), of a stage of their own (0)",
                        values, 2);
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
        struct behind behind = find_behind(f, i, &sum, count);
        if (behind.end != i)
            f->begins[behind.end] = i;
        f->joins[i] = !f->apart[i] && (behind.end != i || is_bias(f, &sum)) &&
                      !f->writer->no_behind[i] && choose_joined(f, i);
    }
}

/* The sum of node `top` as one node, which stands for `node`, and another one for what is added
 * beside. */
static void take(struct finding *f, int top, int node, const struct sum *sum,
                 const char *function) {
    struct graph *to = f->copy.to;
    struct graph_node *made = &to->nodes[to->count++];
    bool bias = f->joins[top] && sum->other >= 0;
    *made = f->nodes[node];
    made->op = graph_op_named(made->name = "taps");
    made->in = ARENA_ARRAY(f->copy.arena, int, 2 * (size_t)sum->count + 1);
    made->in_count = 2 * sum->count + bias;
    for (int i = 0; i < 2 * sum->count; i++)
        made->in[i] = f->copy.new_of[f->nodes[sum->products[i / 2]].in[i % 2]];
    if (bias)
        made->in[2 * sum->count] = f->copy.new_of[sum->other];
    const struct graph_node *first = &f->nodes[sum->products[0]];
    made->terms = first->terms;
    made->out = first->out;
    made->line = first->line;
    made->argument = top;
    made->behind = function;
    f->copy.new_of[node] = to->count - 1;
    if (sum->other < 0 || bias) {
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

/* What is behind a sum, with it where they are one. */
static void copy_behind(struct finding *f, int node, int count) {
    struct sum sum;
    int top = f->begins[node];
    if (f->joins[top] && find(f, top, &sum)) {
        take(f, top, node, &sum, find_behind(f, top, &sum, count).function);
        return;
    }
    graph_copy_node(&f->copy, node);
    (void)graph_copy_nothing(&f->copy);
}

static void copy_top(struct finding *f, int node, int count) {
    struct sum sum;
    bool found = !f->apart[node] && find(f, node, &sum);
    if (found && f->joins[node] && find_behind(f, node, &sum, count).end != node) {
        (void)graph_copy_nothing(&f->copy);
        (void)graph_copy_nothing(&f->copy);
    } else if (found) {
        take(f, node, node, &sum, NULL);
    } else {
        graph_copy_node(&f->copy, node);
        (void)graph_copy_nothing(&f->copy);
    }
}

struct graph *taps_find(struct writer *writer, const struct graph *graph) {
    struct finding f = {.writer = writer, .nodes = graph->nodes};
    struct graph before = *graph; /* choices are about its nodes */
    size_t count = (size_t)graph->count + 1;
    graph_copy_begin(&f.copy, graph, 2 * count, writer->arena);
    writer->graph = &before;
    f.taken = ARENA_ARRAY(writer->arena, int, count);
    f.begins = ARENA_ARRAY(writer->arena, int, count);
    f.apart = ARENA_ARRAY(writer->arena, bool, count);
    f.joins = ARENA_ARRAY(writer->arena, bool, count);
    if (!writer->no_taps)
        writer->no_taps = ARENA_ARRAY(writer->arena, bool, count);
    if (!writer->no_behind)
        writer->no_behind = ARENA_ARRAY(writer->arena, bool, count);
    find_all(&f, graph->count);
    writer->graph = f.copy.to;
    for (int i = 0; i < graph->count; i++) {
        int top = f.taken[i];
        if (f.begins[i])
            copy_behind(&f, i, graph->count);
        else if (top == i && i)
            copy_top(&f, i, graph->count);
        else if (top && !f.apart[top])
            (void)graph_copy_nothing(&f.copy);
        else
            graph_copy_node(&f.copy, i);
    }
    return graph_copy_end(&f.copy);
}
