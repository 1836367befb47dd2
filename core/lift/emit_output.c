/* SPDX-License-Identifier: Apache-2.0 */
/* The outputs: their pieces as arrays, put together. */
#include "lift/private.h"

static int64_t piece_size(const struct piece *piece) {
    int64_t size = 1;
    for (int d = 0; d < piece->count; d++)
        size *= piece->dim[d].n;
    return size;
}

/* A piece as an array with an axis for each of its dimensions. */
static int emit_piece(struct lifted *lifted, const struct piece *piece, int64_t *shape) {
    struct ranges ranges = {0};
    int vars[LIFT_VARS], count = 0, order[NODE_DIMS] = {0}, n = 0;
    int64_t kept[NODE_DIMS] = {0};
    if (piece->count > NODE_DIMS)
        return emit_fail(lifted, "its tiles make more than 8 loops",
                         value_of(&lifted->l, piece->value)->loc);
    for (int d = 0; d < piece->count; d++)
        ranges.n[d] = shape[d] = piece->dim[d].n;
    int node = emit_value(lifted, piece->value, &ranges, vars, &count);
    if (node < 0)
        return node;
    for (int d = 0; d < piece->count; d++) {
        kept[d] = 1;
        for (int i = 0; i < count; i++)
            if (vars[i] == d) {
                order[n++] = i;
                kept[d] = shape[d];
            }
    }
    if (count)
        node = node_transpose(lifted, node, order);
    node = node_reshape(lifted, node, kept, piece->count);
    return node_broadcast(lifted, node, shape, piece->count);
}

static int cast_to(struct lifted *lifted, int node, enum dtype dtype) {
    struct node cast = lifted->nodes.at[node];
    if (cast.dtype == dtype)
        return node;
    cast = (struct node){.kind = NODE_CAST,
                         .op = "cast",
                         .dtype = dtype,
                         .ndim = cast.ndim,
                         .in = {node},
                         .in_count = 1,
                         .loc = cast.loc};
    memcpy(cast.shape, lifted->nodes.at[node].shape, sizeof cast.shape);
    return node_add(lifted, cast);
}

/* Writes a piece to its box of an array in the shape of the layout. */
static int update(struct lifted *lifted, int whole, const struct piece *piece,
                  const struct layout *layout) {
    int64_t shape[NODE_DIMS] = {0}, address = piece->offset;
    int made = emit_piece(lifted, piece, shape);
    struct node node = lifted->nodes.at[whole];
    if (made < 0)
        return made;
    node.kind = NODE_UPDATE;
    node.op = "update";
    node.in_count = 2;
    node.in[0] = whole;
    int64_t box[NODE_DIMS];
    for (int j = 0; j < layout->count; j++) {
        node.first[j] = address / layout->step[j];
        address %= layout->step[j];
        node.step[j] = 1;
        box[j] = 1;
        for (int d = 0; d < piece->count; d++)
            if (piece->dim[d].step == layout->step[j])
                box[j] = piece->dim[d].n;
    }
    node.in[1] = cast_to(lifted, node_reshape(lifted, made, box, layout->count), node.dtype);
    memcpy(node.plane, (double[NODE_DIMS + 1]){0}, sizeof node.plane);
    node.fill = 0;
    node.loc = value_of(&lifted->l, piece->value)->loc;
    return node_add(lifted, node);
}

static int empty_array(struct lifted *lifted, const struct layout *layout, enum dtype dtype) {
    struct node node = {
        .kind = NODE_CONSTANT, .op = "constant", .dtype = dtype, .ndim = layout->count};
    memcpy(node.shape, layout->size, (size_t)layout->count * sizeof *node.shape);
    return node_add(lifted, node);
}

static int emit_pieces(struct lifted *lifted, uint32_t id, enum dtype dtype) {
    struct lift *l = &lifted->l;
    const struct store *store = lift_store_at(l, id, 0);
    struct layout layout;
    if (!lift_store_layout(l, id, &layout))
        return emit_fail(lifted, "its parts are not boxes of one shape",
                         value_of(l, store->pieces.at[0].value)->loc);
    int node = empty_array(lifted, &layout, dtype);
    for (size_t i = 0; node >= 0 && i < store->pieces.len; i++)
        node = update(lifted, node, &store->pieces.at[i], &layout);
    return node;
}

#define MOST_PIECES 64

static int emit_output(struct lifted *lifted, uint32_t id) {
    struct lift *l = &lifted->l;
    const struct nki_storage *storage = l->program->storages.at[id];
    struct store *store = lift_store_at(l, id, 0);
    int64_t size = 1, written = 0, shape[NODE_DIMS] = {0};
    for (int d = 0; d < storage->n_dims; d++)
        size *= storage->shape[d];
    if (storage->n_dims > NODE_DIMS)
        return emit_fail(lifted, "it has more than 8 dimensions", storage->loc);
    if (store->is_broken)
        return emit_fail(lifted, "its elements are written in a way that is not followed",
                         storage->loc);
    lift_store_merge(l, store);
    for (size_t i = 0; i < store->pieces.len; i++)
        written += piece_size(&store->pieces.at[i]);
    if (written != size)
        return emit_fail(lifted, "some of its elements are never written", storage->loc);
    if (store->pieces.len > MOST_PIECES)
        return emit_fail(lifted, "its tiles follow no common rule", storage->loc);
    int node = store->pieces.len == 1 ? emit_piece(lifted, &store->pieces.at[0], shape)
                                      : emit_pieces(lifted, id, storage->dtype);
    if (node < 0)
        return node;
    node = node_reshape(lifted, node, storage->shape, storage->n_dims);
    return cast_to(lifted, node, storage->dtype);
}

void emit_outputs(struct lifted *lifted) {
    const struct nki_program *program = lifted->l.program;
    for (size_t i = 0; i < program->outputs.len; i++) {
        lifted->why = NULL;
        lifted->outputs[i] = emit_output(lifted, program->outputs.at[i]);
        lifted->whys[i] = lifted->why;
        lifted->why_locs[i] = lifted->why_loc;
    }
}
