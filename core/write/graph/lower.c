/* SPDX-License-Identifier: Apache-2.0 */
/* Choosing by index, said with what tiles can do: an index is compared with the places along the
 * axis, and the one that is equal counts. */
#include "write/graph/graph.h"

#define MOST_NEW 8 /* nodes that one is said with */

struct lowering {
    const struct graph *old;
    struct arena *arena;
    struct graph_node *nodes;
    int count;
    int *now; /* where a node of the old graph is */
    int line;
};

struct shape {
    int64_t at[GRAPH_MAX_DIMS];
    int ndim;
};

static struct shape shape_of(const struct graph_node *node) {
    struct shape shape = {.ndim = node->ndim};
    memcpy(shape.at, node->shape, sizeof shape.at);
    return shape;
}

/* A node with up to three operands, which are numbers of the new graph; -1 ends them. */
static struct graph_node *add(struct lowering *l, const char *name, const int in[3],
                              struct shape shape, const char *dtype) {
    struct graph_node *node = &l->nodes[l->count++];
    *node = (struct graph_node){.op = graph_op_named(name),
                                .name = name,
                                .line = l->line,
                                .ndim = shape.ndim,
                                .dtype = dtype,
                                .argument = -1};
    memcpy(node->shape, shape.at, sizeof node->shape);
    node->in = ARENA_ARRAY(l->arena, int, 4);
    while (node->in_count < 3 && in[node->in_count] >= 0) {
        node->in[node->in_count] = in[node->in_count];
        node->in_count++;
    }
    return node;
}

static int last(const struct lowering *l) {
    return l->count - 1;
}

static int add_number(struct lowering *l, double number) {
    struct graph_node *node = add(l, "constant", (int[]){-1, -1, -1}, (struct shape){0}, "float32");
    node->has_fill = true;
    node->fill = number;
    return last(l);
}

/* 0, 1, 2, … along an axis of an array of `ndim` dimensions. */
static int add_places(struct lowering *l, int ndim, int axis, int64_t n) {
    struct shape shape = {.ndim = ndim};
    for (int d = 0; d < ndim; d++)
        shape.at[d] = d == axis ? n : 1;
    struct graph_node *node = add(l, "constant", (int[]){-1, -1, -1}, shape, "float32");
    node->has_fill = n == 1;
    node->constant = ARENA_NEW(l->arena, struct graph_constant);
    node->constant->kind = CONSTANT_PLANE;
    node->constant->steps[axis] = 1;
    return last(l);
}

static struct graph_node *add_reduction(struct lowering *l, const char *name, int of, int axis,
                                        const char *dtype) {
    struct shape shape = shape_of(&l->nodes[of]);
    shape.at[axis] = 1;
    struct graph_node *node = add(l, name, (int[]){of, -1, -1}, shape, dtype);
    node->axes[0] = axis;
    node->axis_count = 1;
    return node;
}

static bool is_like(const struct graph_node *node, struct shape shape) {
    return node->ndim == shape.ndim &&
           memcmp(node->shape, shape.at, (size_t)shape.ndim * sizeof *shape.at) == 0;
}

/* The first place where the array has its largest element: of the places where it is as large, the
 * smallest. */
static bool lower_argument(struct lowering *l, const struct graph_node *node) {
    int x = l->now[node->in[0]], axis = node->axes[0];
    struct shape whole = shape_of(&l->nodes[x]);
    const char *dtype = l->nodes[x].dtype;
    bool largest = strcmp(node->op->alu, "maximum") == 0;
    struct shape one = whole;
    one.at[axis] = 1;
    if (!dtype || !node->dtype || !is_like(node, one))
        return false;
    add_reduction(l, largest ? "max" : "min", x, axis, dtype);
    add(l, "equal", (int[]){x, last(l), -1}, whole, "uint8");
    int is_it = last(l), places = add_places(l, whole.ndim, axis, whole.at[axis]);
    int none = add_number(l, (double)whole.at[axis]);
    add(l, "where", (int[]){is_it, places, none}, whole, "float32");
    add_reduction(l, "min", last(l), axis, "float32");
    /* A copy and no cast: a place is a whole number, and nothing of it is to be cut off. */
    add(l, "copy", (int[]){last(l), -1, -1}, shape_of(node), node->dtype);
    return true;
}

/* One element of each row: all others count as nothing. */
static bool lower_along(struct lowering *l, const struct graph_node *node) {
    int x = l->now[node->in[0]], index = l->now[node->in[1]], axis = node->axes[0];
    struct shape whole = shape_of(&l->nodes[x]);
    if (l->nodes[index].ndim != whole.ndim || l->nodes[index].shape[axis] != 1 || !node->dtype)
        return false;
    for (int d = 0; d < whole.ndim; d++)
        if (d != axis && (l->nodes[index].shape[d] != whole.at[d] || node->shape[d] != whole.at[d]))
            return false;
    int places = add_places(l, whole.ndim, axis, whole.at[axis]);
    add(l, "equal", (int[]){index, places, -1}, whole, "uint8");
    int is_it = last(l), nothing = add_number(l, 0);
    add(l, "where", (int[]){is_it, x, nothing}, whole, node->dtype);
    add_reduction(l, "sum", last(l), axis, node->dtype);
    return node->shape[axis] == 1;
}

static void label(struct graph_node *product, const struct graph_node *x, int axis, int indices,
                  struct arena *arena) {
    product->terms = arena_alloc(arena, 2, sizeof *product->terms);
    product->out = ARENA_ARRAY(arena, int, GRAPH_MAX_DIMS);
    for (int d = 0; d <= indices; d++)
        product->terms[0][d] = d; /* the last one is summed over */
    int out = 0;
    for (int d = 0; d < x->ndim; d++) {
        product->terms[1][d] = d == axis ? indices : indices + 1 + d;
        if (d == axis)
            for (int i = 0; i < indices; i++)
                product->out[out++] = i;
        else
            product->out[out++] = indices + 1 + d;
    }
}

/* The shape of x with the dimensions of the index instead of one of its own. */
static struct shape gathered(const struct graph_node *x, int axis, const struct shape *index) {
    struct shape shape = {0};
    for (int d = 0; d < x->ndim; d++)
        if (d != axis)
            shape.at[shape.ndim++] = x->shape[d];
        else
            for (int i = 0; i < index->ndim; i++)
                shape.at[shape.ndim++] = index->at[i];
    return shape;
}

/* Whole slices: a product with rows that are one where the index is and zero elsewhere. */
static bool lower_gather(struct lowering *l, const struct graph_node *node) {
    int x = l->now[node->in[0]], index = l->now[node->in[1]], axis = node->axes[0];
    const char *dtype = l->nodes[x].dtype;
    struct shape hot = shape_of(&l->nodes[index]);
    int64_t n = l->nodes[x].shape[axis];
    bool fits = dtype && strstr(dtype, "float") && hot.ndim < GRAPH_MAX_DIMS &&
                hot.ndim + l->nodes[x].ndim - 1 <= GRAPH_MAX_DIMS;
    if (!fits || strcmp(dtype, node->dtype ? node->dtype : "") != 0 ||
        !is_like(node, gathered(&l->nodes[x], axis, &hot)))
        return false;
    hot.at[hot.ndim++] = 1;
    add(l, "reshape", (int[]){index, -1, -1}, hot, l->nodes[index].dtype);
    int column = last(l), places = add_places(l, 1, 0, n);
    hot.at[hot.ndim - 1] = n;
    add(l, "equal", (int[]){column, places, -1}, hot, "uint8");
    add(l, "cast", (int[]){last(l), -1, -1}, hot, dtype);
    struct graph_node *product = add(l, "contract", (int[]){last(l), x, -1}, shape_of(node), dtype);
    label(product, &l->nodes[x], axis, hot.ndim - 1, l->arena);
    return true;
}

static bool lower(struct lowering *l, const struct graph_node *node) {
    switch (node->op->kind) {
    case GRAPH_ARGUMENT: return lower_argument(l, node);
    case GRAPH_GATHER: return lower_gather(l, node);
    case GRAPH_GATHER_ALONG: return lower_along(l, node);
    default: return false;
    }
}

static void keep(struct lowering *l, const struct graph_node *node) {
    struct graph_node *copy = &l->nodes[l->count++];
    *copy = *node;
    for (int i = 0; i < node->in_count; i++)
        copy->in[i] = l->now[node->in[i]];
    if (node->op->kind >= GRAPH_ARGUMENT)
        copy->op = graph_op_named("");
}

void graph_lower(struct graph *graph, struct arena *arena) {
    int chosen = 0;
    for (int i = 0; i < graph->count; i++)
        chosen += graph->nodes[i].op->kind >= GRAPH_ARGUMENT;
    if (chosen == 0)
        return;
    struct lowering l = {.old = graph, .arena = arena};
    l.nodes =
        ARENA_ARRAY(arena, struct graph_node, (size_t)graph->count + MOST_NEW * (size_t)chosen);
    l.now = ARENA_ARRAY(arena, int, (size_t)graph->count);
    for (int i = 0; i < graph->count; i++) {
        const struct graph_node *node = &graph->nodes[i];
        int before = l.count;
        l.line = node->line;
        if (!lower(&l, node)) {
            l.count = before;
            keep(&l, node);
        }
        l.now[i] = last(&l);
    }
    for (int i = 0; i < graph->argument_count; i++)
        if (graph->arguments[i].node >= 0)
            graph->arguments[i].node = l.now[graph->arguments[i].node];
    for (int i = 0; i < graph->output_count; i++)
        graph->outputs[i] = l.now[graph->outputs[i]];
    graph->nodes = l.nodes;
    graph->count = l.count;
}
