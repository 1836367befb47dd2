/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over dimensions. Two that are the same are one, as where a variance takes the mean once
 * more. One over dimensions around and within those that stay, as of a group's channels where those
 * lie innermost, goes over the outer ones first: rows of what lies side by side stay whole. */
#include "write/graph/graph.h"

#define LEAST_AROUND 64 /* elements around what stays */
#define MOST_WITHIN 64  /* and within: more are a row of their own */

struct summing {
    struct graph_node *nodes;
    int count;
    int *now; /* where a node of the old graph is */
    struct arena *arena;
};

static bool reduces(const struct graph_node *node, int axis) {
    for (int i = 0; i < node->axis_count; i++)
        if (node->axes[i] == axis)
            return true;
    return false;
}

static bool is_same(const struct graph_node *a, const struct graph_node *b) {
    bool same = a->op == b->op && a->op->kind == GRAPH_REDUCE && a->in_count == 1 &&
                a->in[0] == b->in[0] && a->ndim == b->ndim && a->axis_count == b->axis_count &&
                a->dtype && b->dtype && !strcmp(a->dtype, b->dtype);
    for (int i = 0; same && i < a->axis_count; i++)
        same = reduces(b, a->axes[i]);
    return same;
}

/* The axes around the last dimension that stays, where others are within it; how many. */
static int axes_around(const struct graph_node *of, const struct graph_node *node, int *around) {
    int kept = of->ndim - 1, count = 0;
    int64_t outer = 1, inner = 1;
    while (kept >= 0 && (reduces(node, kept) || of->shape[kept] == 1))
        kept--;
    for (int d = 0; d < of->ndim; d++) {
        if (!reduces(node, d))
            continue;
        *(d < kept ? &outer : &inner) *= of->shape[d];
        if (d < kept)
            around[count++] = d;
    }
    bool worth = kept >= 0 && outer >= LEAST_AROUND && inner > 1 && inner <= MOST_WITHIN;
    return worth ? count : 0;
}

static bool may_divide(const struct graph_node *of, const struct graph_node *node) {
    return node->op->kind == GRAPH_REDUCE && node->ndim == of->ndim && node->dtype &&
           strcmp(node->dtype, "float32") == 0 && of->dtype && strcmp(of->dtype, "float32") == 0 &&
           node->op->alu && strcmp(node->op->alu, "multiply") != 0;
}

static int add(struct summing *s, const struct graph_node *like, int in) {
    struct graph_node *node = &s->nodes[s->count];
    *node = *like;
    node->in = ARENA_ARRAY(s->arena, int, (size_t)like->in_count + 1);
    node->in[0] = in;
    return s->count++;
}

/* One of the same axes that is there already; -1: there is none. */
static int find_same(const struct summing *s, const struct graph_node *node) {
    for (int i = 0; i < s->count; i++)
        if (is_same(&s->nodes[i], node))
            return i;
    return -1;
}

/* The reduction over `axes` of a new node. */
static int reduce(struct summing *s, const struct graph_node *like, int in, const int *axes,
                  int count) {
    struct graph_node part = *like;
    part.in = &in;
    part.axis_count = count;
    memcpy(part.axes, axes, (size_t)count * sizeof *axes);
    memcpy(part.shape, s->nodes[in].shape, sizeof part.shape);
    for (int i = 0; i < count; i++)
        part.shape[axes[i]] = 1;
    int same = find_same(s, &part);
    return same >= 0 ? same : add(s, &part, in);
}

/* Whether an operand is one of few numbers, each the same for the elements of a short last
 * dimension and for those of many rows: tiles could not have what is around that dimension beside
 * it. */
static bool is_spread_within(const struct graph_node *of, const struct graph_node *node) {
    int last = node->ndim - 1;
    if (of->ndim != node->ndim || last < 1 || of->shape[last] != 1 || of->shape[last - 1] < 2 ||
        node->shape[last] < 2 || node->shape[last] > MOST_WITHIN || !of->dtype ||
        strcmp(of->dtype, "float32"))
        return false;
    return graph_size(node) / graph_size(of) >= LEAST_AROUND * node->shape[last];
}

/* Whether an operand is one row for many, of float32. */
static bool is_of_columns(const struct graph_node *of, const struct graph_node *node) {
    return of->op->kind != GRAPH_CONSTANT && of->ndim && of->shape[of->ndim - 1] > 1 &&
           node->shape[node->ndim - 1] == of->shape[of->ndim - 1] && of->dtype && node->dtype &&
           !strcmp(of->dtype, "float32") && !strcmp(node->dtype, "float32") &&
           graph_size(node) / graph_size(of) >= LEAST_AROUND;
}

/* A node of one operand, with the shape and dtype of another. */
static struct graph_node of_one(const struct graph_node *like, const char *name) {
    struct graph_node made = *like;
    made.in_count = 1;
    made.axis_count = 0;
    made.has_fill = false;
    made.constant = NULL;
    made.terms = NULL;
    made.name = name;
    made.op = graph_op_named(name);
    return made;
}

/* One over it: once, not for each of the rows that are divided. */
static int invert(struct summing *s, int of) {
    for (int i = 0; i < s->count; i++)
        if (s->nodes[i].op->kind == GRAPH_UNARY && s->nodes[i].in[0] == of &&
            !strcmp(s->nodes[i].name, "reciprocal"))
            return i;
    struct graph_node made = of_one(&s->nodes[of], "reciprocal");
    return add(s, &made, of);
}

/* The operand with its numbers in all those places, as an array of its own. */
static int spread_within(struct summing *s, int of, const struct graph_node *node) {
    int last = node->ndim - 1;
    struct graph_node wide = of_one(&s->nodes[of], "broadcast");
    wide.shape[last] = node->shape[last];
    wide.line = node->line;
    for (int i = 0; i + 1 < s->count; i++) /* of another user */
        if (s->nodes[i].op == wide.op && s->nodes[i].in[0] == of &&
            !memcmp(s->nodes[i].shape, wide.shape, sizeof wide.shape) &&
            s->nodes[i + 1].op->kind == GRAPH_CAST && s->nodes[i + 1].in[0] == i)
            return i + 1;
    int view = add(s, &wide, of);
    wide.op = graph_op_named(wide.name = "copy");
    return add(s, &wide, view);
}

static void take(struct summing *s, const struct graph *graph, int index) {
    const struct graph_node *node = &graph->nodes[index];
    int around[GRAPH_MAX_DIMS], within[GRAPH_MAX_DIMS], count = 0, rest = 0;
    if (node->op->kind == GRAPH_REDUCE && node->in_count == 1) {
        const struct graph_node *of = &graph->nodes[node->in[0]];
        int in = s->now[node->in[0]];
        if (may_divide(of, node))
            count = axes_around(of, node, around);
        for (int i = 0; count && i < node->axis_count; i++) {
            bool outer = false;
            for (int k = 0; k < count; k++)
                outer |= around[k] == node->axes[i];
            if (!outer)
                within[rest++] = node->axes[i];
        }
        if (count)
            in = reduce(s, node, in, around, count);
        struct graph_node whole = *node;
        whole.in = &in;
        int same = count ? -1 : find_same(s, &whole);
        s->now[index] = count       ? reduce(s, node, in, within, rest)
                        : same >= 0 ? same
                                    : add(s, node, in);
        return;
    }
    int in[2] = {-1, -1};
    struct graph_node made = *node;
    for (int i = 0; node->op->kind == GRAPH_BINARY && i < 2; i++) {
        const struct graph_node *of = &graph->nodes[node->in[i]];
        bool spreads = is_spread_within(of, node);
        in[i] = s->now[node->in[i]];
        if (i && !strcmp(node->name, "divide") && (spreads || is_of_columns(of, node))) {
            in[1] = invert(s, in[1]);
            made.op = graph_op_named(made.name = "multiply");
        }
        if (spreads)
            in[i] = spread_within(s, in[i], node);
    }
    s->now[index] = add(s, &made, -1);
    for (int i = 0; i < node->in_count; i++)
        s->nodes[s->count - 1].in[i] = i < 2 && in[i] >= 0 ? in[i] : s->now[node->in[i]];
}

void graph_divide_sums(struct graph *graph, struct arena *arena) {
    struct summing s = {.arena = arena};
    s.nodes = ARENA_ARRAY(arena, struct graph_node, 6 * (size_t)graph->count + 1);
    s.now = ARENA_ARRAY(arena, int, (size_t)graph->count + 1);
    for (int i = 0; i < graph->count; i++)
        take(&s, graph, i);
    for (int i = 0; i < graph->argument_count; i++)
        if (graph->arguments[i].node >= 0)
            graph->arguments[i].node = s.now[graph->arguments[i].node];
    for (int i = 0; i < graph->output_count; i++)
        graph->outputs[i] = s.now[graph->outputs[i]];
    graph->nodes = s.nodes;
    graph->count = s.count;
}
