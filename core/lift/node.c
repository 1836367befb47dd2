/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes of the graph; equal ones are one. */
#include "lift/private.h"

int64_t node_size(const struct node *node) {
    int64_t size = 1;
    for (int d = 0; d < node->ndim; d++)
        size *= node->shape[d];
    return size;
}

/* Everything but the line, in bytes that are equal for equal nodes. */
static void clean_of(const struct node *node, struct node *clean) {
    memset(clean, 0, sizeof *clean);
    clean->kind = node->kind;
    clean->op = node->op;
    clean->dtype = node->dtype;
    clean->ndim = node->ndim;
    clean->in_count = node->in_count;
    clean->axis_count = node->axis_count;
    clean->fill = node->fill;
    clean->storage = node->storage;
    memcpy(clean->shape, node->shape, sizeof clean->shape);
    memcpy(clean->in, node->in, sizeof clean->in);
    memcpy(clean->axes, node->axes, sizeof clean->axes);
    memcpy(clean->first, node->first, sizeof clean->first);
    memcpy(clean->step, node->step, sizeof clean->step);
    memcpy(clean->terms, node->terms, sizeof clean->terms);
    memcpy(clean->out, node->out, sizeof clean->out);
    memcpy(clean->plane, node->plane, sizeof clean->plane);
}

int node_add(struct lifted *lifted, struct node node) {
    struct node clean, other;
    clean_of(&node, &clean);
    uint64_t hash = hash_quick(&clean, sizeof clean);
    size_t at = 0, row;
    while (by_hash_next(&lifted->node_index, hash, &at, &row)) {
        clean_of(&lifted->nodes.at[row], &other);
        if (memcmp(&clean, &other, sizeof clean) == 0)
            return (int)row;
    }
    clean.loc = node.loc;
    *vec_push(&lifted->nodes) = clean;
    by_hash_put(&lifted->node_index, hash, lifted->nodes.len - 1);
    return (int)lifted->nodes.len - 1;
}

static struct node like(const struct lifted *lifted, int in, enum node_kind kind, const char *op) {
    const struct node *from = &lifted->nodes.at[in];
    struct node node = {.kind = kind,
                        .op = op,
                        .dtype = from->dtype,
                        .ndim = from->ndim,
                        .in = {in},
                        .in_count = 1,
                        .loc = from->loc};
    memcpy(node.shape, from->shape, sizeof node.shape);
    return node;
}

int node_float(struct lifted *lifted, int in) {
    struct node cast = like(lifted, in, NODE_CAST, "cast");
    if (cast.dtype != DTYPE_BOOL)
        return in;
    cast.dtype = DTYPE_FLOAT32;
    return node_add(lifted, cast);
}

int node_binary(struct lifted *lifted, const char *op, int a, int b, uint32_t loc) {
    const struct node *x = &lifted->nodes.at[a], *y = &lifted->nodes.at[b];
    struct node node = {.kind = NODE_BINARY,
                        .op = op,
                        .dtype = DTYPE_FLOAT32,
                        .ndim = MAX_OF(x->ndim, y->ndim),
                        .in = {a, b},
                        .in_count = 2,
                        .loc = loc};
    for (int d = 1; d <= node.ndim; d++) {
        int64_t own = d <= x->ndim ? x->shape[x->ndim - d] : 1;
        node.shape[node.ndim - d] = MAX_OF(own, d <= y->ndim ? y->shape[y->ndim - d] : 1);
    }
    return node_add(lifted, node);
}

int node_number(struct lifted *lifted, double number) {
    return node_add(lifted, (struct node){.kind = NODE_CONSTANT,
                                          .op = "constant",
                                          .dtype = DTYPE_FLOAT32,
                                          .fill = number});
}

static bool has_shape(const struct node *node, const int64_t *shape, int ndim) {
    return node->ndim == ndim && memcmp(node->shape, shape, (size_t)ndim * sizeof *shape) == 0;
}

int node_reshape(struct lifted *lifted, int in, const int64_t *shape, int ndim) {
    while (lifted->nodes.at[in].kind == NODE_RESHAPE)
        in = lifted->nodes.at[in].in[0];
    struct node node = like(lifted, in, NODE_RESHAPE, "reshape");
    if (has_shape(&node, shape, ndim))
        return in;
    memset(node.shape, 0, sizeof node.shape);
    memcpy(node.shape, shape, (size_t)ndim * sizeof *shape);
    node.ndim = ndim;
    return node_add(lifted, node);
}

int node_transpose(struct lifted *lifted, int in, const int *order) {
    struct node node = like(lifted, in, NODE_TRANSPOSE, "transpose");
    const struct node from = lifted->nodes.at[in];
    bool twice = from.kind == NODE_TRANSPOSE, same = true;
    node.in[0] = twice ? from.in[0] : in;
    for (int d = 0; d < node.ndim; d++) {
        node.axes[d] = twice ? from.axes[order[d]] : order[d];
        node.shape[d] = from.shape[order[d]];
        same &= node.axes[d] == d;
    }
    node.axis_count = node.ndim;
    return same ? node.in[0] : node_add(lifted, node);
}

int node_slice(struct lifted *lifted, int in, const struct node *part) {
    struct node node = like(lifted, in, NODE_SLICE, "slice");
    bool whole = has_shape(&node, part->shape, part->ndim);
    for (int d = 0; d < part->ndim; d++)
        whole &= part->step[d] > 0 || part->shape[d] == 1;
    memcpy(node.shape, part->shape, sizeof node.shape);
    memcpy(node.first, part->first, sizeof node.first);
    memcpy(node.step, part->step, sizeof node.step);
    return whole ? in : node_add(lifted, node);
}

int node_broadcast(struct lifted *lifted, int in, const int64_t *shape, int ndim) {
    struct node node = like(lifted, in, NODE_BROADCAST, "broadcast");
    if (has_shape(&node, shape, ndim))
        return in;
    memset(node.shape, 0, sizeof node.shape);
    memcpy(node.shape, shape, (size_t)ndim * sizeof *shape);
    node.ndim = ndim;
    return node_add(lifted, node);
}
