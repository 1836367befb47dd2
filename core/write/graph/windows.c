/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions that were said with windows: a product that is summed over places in a window and
 * over other dimensions is the sum of a product for each place, of parts of the array itself. Where
 * nothing else is summed over, as for each channel alone, and windows have several dimensions, it
 * goes element by element. */
#include "write/graph/graph.h"

#define MOST_PLACES 64 /* of a window */
#define NODES_EACH 9   /* part of the array, part of the other, their shapes, product, add */

struct unfolding {
    struct graph_node *nodes;
    int count;
    int *now; /* where a node of the old graph is */
    struct arena *arena;
};
/* A product of windows: its operands, and where the window's dimensions are. */
struct product {
    const struct graph_node *contract, *windows, *other;
    int side;                   /* which operand has the windows */
    int places[GRAPH_MAX_DIMS]; /* the dimension of `other` for each dimension of the window */
    int64_t count;
    bool sums_more; /* than the places */
};

static bool is_out(const struct graph_node *contract, int label) {
    for (int d = 0; d < contract->ndim; d++)
        if (contract->out[d] == label)
            return true;
    return false;
}

static int place_of(const int *labels, int ndim, int label) {
    int found = -1;
    for (int d = 0; d < ndim; d++)
        if (labels[d] == label)
            found = found < 0 ? d : GRAPH_MAX_DIMS; /* twice */
    return found;
}

static bool is_place(const struct product *product, int d);

/* Whether each dimension that is not summed over is one of the result. */
static bool goes_by_elements(const struct product *product) {
    const struct graph_node *contract = product->contract;
    const int *labels = contract->terms[product->side], *own = contract->terms[1 - product->side];
    int first = product->windows->ndim - product->windows->axis_count;
    bool fits = contract->dtype && strstr(contract->dtype, "float");
    for (int d = 0; fits && d < first; d++)
        fits = place_of(contract->out, contract->ndim, labels[d]) < GRAPH_MAX_DIMS &&
               place_of(labels, first, labels[d]) == d;
    for (int d = 0; fits && d < product->other->ndim; d++)
        if (!is_place(product, d))
            fits = is_out(contract, own[d]) && place_of(own, product->other->ndim, own[d]) == d;
    return fits;
}

/* Whether operand `side` is such windows. */
static bool fits(const struct graph *graph, const struct graph_node *contract, int side,
                 struct product *product) {
    const struct graph_node *windows = &graph->nodes[contract->in[side]];
    const struct graph_node *other = &graph->nodes[contract->in[1 - side]];
    if (windows->op->kind != GRAPH_WINDOWS || !contract->dtype || !windows->dtype || !other->dtype)
        return false;
    const int *labels = contract->terms[side], *own = contract->terms[1 - side];
    const struct graph_node *source = &graph->nodes[windows->in[0]];
    int first = windows->ndim - windows->axis_count;
    bool sums_more = false;
    if (first != source->ndim)
        return false;
    *product = (struct product){contract, windows, other, side, {0}, 1, false};
    for (int d = 0; d < first; d++)
        sums_more |= !is_out(contract, labels[d]);
    for (int i = 0; i < windows->axis_count; i++) {
        int label = labels[first + i];
        product->places[i] = place_of(own, other->ndim, label);
        product->count *= windows->shape[first + i];
        if (is_out(contract, label) || product->places[i] < 0 ||
            product->places[i] >= GRAPH_MAX_DIMS || windows->axes[i] >= first ||
            other->shape[product->places[i]] != windows->shape[first + i] ||
            windows->shape[windows->axes[i]] + windows->shape[first + i] - 1 >
                source->shape[windows->axes[i]] ||
            place_of(labels, windows->ndim, label) != first + i || product->count > MOST_PLACES)
            return false;
    }
    product->sums_more = sums_more;
    return sums_more || (windows->axis_count > 1 && goes_by_elements(product));
}

static bool find(const struct graph *graph, const struct graph_node *node,
                 struct product *product) {
    return node->op->kind == GRAPH_CONTRACT && node->in_count == 2 &&
           (fits(graph, node, 0, product) || fits(graph, node, 1, product));
}

/* A node like another one, of another operation and of up to two operands. */
static struct graph_node *add(struct unfolding *u, const char *name, const struct graph_node *like,
                              int a, int b) {
    struct graph_node *node = &u->nodes[u->count++];
    *node = (struct graph_node){.op = graph_op_named(name),
                                .name = name,
                                .line = like->line,
                                .ndim = like->ndim,
                                .dtype = like->dtype,
                                .in_count = b < 0 ? 1 : 2,
                                .argument = -1};
    memcpy(node->shape, like->shape, sizeof node->shape);
    node->in = ARENA_ARRAY(u->arena, int, 2);
    node->in[0] = a;
    node->in[1] = b;
    return node;
}

/* The part of the array that place `at` of all windows is. */
static int add_part(struct unfolding *u, const struct product *product, const int64_t *at) {
    const struct graph_node *windows = product->windows;
    int source = u->now[windows->in[0]];
    struct graph_node *part = add(u, "slice", &u->nodes[source], source, -1);
    for (int d = 0; d < part->ndim; d++) {
        part->shape[d] = windows->shape[d];
        part->part[d] = (struct graph_range){0, part->shape[d], 1};
    }
    for (int i = 0; i < windows->axis_count; i++)
        part->part[windows->axes[i]].first += at[i];
    part->line = product->contract->line;
    return u->count - 1;
}

static bool is_place(const struct product *product, int d) {
    for (int i = 0; i < product->windows->axis_count; i++)
        if (product->places[i] == d)
            return true;
    return false;
}

/* What it is multiplied with there, without the dimensions of the window. */
static int add_weights(struct unfolding *u, const struct product *product, const int64_t *at) {
    int source = u->now[product->contract->in[1 - product->side]];
    struct graph_node *part = add(u, "slice", &u->nodes[source], source, -1);
    for (int d = 0; d < part->ndim; d++)
        part->part[d] = (struct graph_range){0, part->shape[d], 1};
    for (int i = 0; i < product->windows->axis_count; i++) {
        int d = product->places[i];
        part->part[d] = (struct graph_range){at[i], 1, 1};
        part->shape[d] = 1;
    }
    struct graph_node *narrow = add(u, "reshape", part, u->count - 1, -1);
    narrow->ndim = 0;
    for (int d = 0; d < part->ndim; d++)
        if (!is_place(product, d))
            narrow->shape[narrow->ndim++] = part->shape[d];
    return u->count - 1;
}

static void add_product(struct unfolding *u, const struct product *product, int array,
                        int weights) {
    const struct graph_node *contract = product->contract;
    int in[2] = {product->side ? weights : array, product->side ? array : weights}, kept = 0;
    struct graph_node *node = add(u, contract->name, contract, in[0], in[1]);
    node->out = contract->out;
    node->terms = arena_alloc(u->arena, 2, sizeof *node->terms);
    memcpy(node->terms[product->side], contract->terms[product->side], sizeof *node->terms);
    for (int d = 0; d < product->other->ndim; d++)
        if (!is_place(product, d))
            node->terms[1 - product->side][kept++] = contract->terms[1 - product->side][d];
}

/* A node with dimensions of these labels, in those of the result: others have one element. */
static int add_spread(struct unfolding *u, const struct product *product, int of,
                      const int *labels) {
    const struct graph_node *contract = product->contract;
    int order[GRAPH_MAX_DIMS], count = 0, ndim = u->nodes[of].ndim;
    for (int d = 0; d < contract->ndim; d++)
        for (int k = 0; k < ndim; k++)
            if (labels[k] == contract->out[d])
                order[count++] = k;
    struct graph_node *turned = add(u, "transpose", &u->nodes[of], of, -1);
    turned->axis_count = ndim;
    for (int d = 0; d < ndim; d++) {
        turned->axes[d] = order[d];
        turned->shape[d] = u->nodes[of].shape[order[d]];
    }
    struct graph_node *spread = add(u, "reshape", contract, u->count - 1, -1);
    for (int d = 0, at = 0; d < contract->ndim; d++) {
        bool own = at < ndim && labels[order[at]] == contract->out[d];
        spread->shape[d] = own ? turned->shape[at++] : 1;
    }
    spread->dtype = turned->dtype;
    return u->count - 1;
}

static void multiply(struct unfolding *u, const struct product *product, int array, int weights) {
    const int *own = product->contract->terms[1 - product->side];
    int labels[GRAPH_MAX_DIMS], kept = 0;
    for (int d = 0; d < product->other->ndim; d++)
        if (!is_place(product, d))
            labels[kept++] = own[d];
    int a = add_spread(u, product, array, product->contract->terms[product->side]);
    int b = add_spread(u, product, weights, labels);
    add(u, "multiply", product->contract, a, b);
}

static void unfold(struct unfolding *u, const struct product *product) {
    const struct graph_node *windows = product->windows;
    int total = -1;
    for (int64_t n = 0; n < product->count; n++) {
        int64_t at[GRAPH_MAX_DIMS], rest = n;
        for (int i = windows->axis_count - 1; i >= 0; i--) {
            int64_t size = windows->shape[windows->ndim - windows->axis_count + i];
            at[i] = rest % size;
            rest /= size;
        }
        int array = add_part(u, product, at);
        int weights = add_weights(u, product, at);
        (product->sums_more ? add_product : multiply)(u, product, array, weights);
        if (total >= 0)
            add(u, "add", product->contract, total, u->count - 1);
        total = u->count - 1;
    }
}

static void keep(struct unfolding *u, const struct graph_node *node) {
    struct graph_node *copy = &u->nodes[u->count++];
    *copy = *node;
    for (int i = 0; i < node->in_count; i++)
        copy->in[i] = u->now[node->in[i]];
}

void graph_unfold(struct graph *graph, struct arena *arena) {
    struct product product;
    size_t most = (size_t)graph->count;
    for (int i = 0; i < graph->count; i++)
        if (find(graph, &graph->nodes[i], &product))
            most += NODES_EACH * (size_t)product.count;
    if (most == (size_t)graph->count || most > GRAPH_MAX_NODES)
        return;
    struct unfolding u = {.arena = arena};
    u.nodes = ARENA_ARRAY(arena, struct graph_node, most);
    u.now = ARENA_ARRAY(arena, int, (size_t)graph->count);
    for (int i = 0; i < graph->count; i++) {
        if (find(graph, &graph->nodes[i], &product))
            unfold(&u, &product);
        else
            keep(&u, &graph->nodes[i]);
        u.now[i] = u.count - 1;
    }
    for (int i = 0; i < graph->argument_count; i++)
        if (graph->arguments[i].node >= 0)
            graph->arguments[i].node = u.now[graph->arguments[i].node];
    for (int i = 0; i < graph->output_count; i++)
        graph->outputs[i] = u.now[graph->outputs[i]];
    graph->nodes = u.nodes;
    graph->count = u.count;
}
