/* SPDX-License-Identifier: Apache-2.0 */
/* A graph that is changed while it is copied. */
#include "write/graph/graph.h"

static void count_users(struct graph_copy *copy) {
    const struct graph *from = copy->from;
    for (int i = 0; i < from->count; i++)
        for (int k = 0; k < from->nodes[i].in_count; k++)
            copy->users[from->nodes[i].in[k]]++;
    for (int i = 0; i < from->output_count; i++)
        copy->users[from->outputs[i]]++;
}

void graph_copy_begin(struct graph_copy *copy, const struct graph *from, size_t more,
                      struct arena *arena) {
    size_t count = (size_t)from->count;
    *copy = (struct graph_copy){.arena = arena, .from = from, .to = ARENA_NEW(arena, struct graph)};
    *copy->to = *from;
    copy->to->count = 0;
    copy->to->nodes = ARENA_ARRAY(arena, struct graph_node, count + more + 1);
    copy->users = ARENA_ARRAY(arena, int, count + 1);
    copy->new_of = ARENA_ARRAY(arena, int, count + 1);
    count_users(copy);
}

void graph_copy_node(struct graph_copy *copy, int node) {
    const struct graph_node *row = &copy->from->nodes[node];
    struct graph_node *made = &copy->to->nodes[copy->to->count];
    *made = *row;
    made->in = ARENA_ARRAY(copy->arena, int, (size_t)row->in_count + 1);
    for (int i = 0; i < row->in_count; i++)
        made->in[i] = copy->new_of[row->in[i]];
    copy->new_of[node] = copy->to->count++;
}

void graph_copy_drop(struct graph_copy *copy, int made) {
    copy->to->nodes[made] = (struct graph_node){
        .op = graph_op_named("constant"), .name = "constant", .dtype = "float32", .has_fill = true};
}

int graph_copy_nothing(struct graph_copy *copy) {
    graph_copy_drop(copy, copy->to->count);
    return copy->to->count++;
}

struct graph *graph_copy_end(struct graph_copy *copy) {
    const struct graph *from = copy->from;
    struct graph *to = copy->to;
    to->outputs = ARENA_ARRAY(copy->arena, int, (size_t)from->output_count + 1);
    for (int i = 0; i < from->output_count; i++)
        to->outputs[i] = copy->new_of[from->outputs[i]];
    to->arguments =
        ARENA_ARRAY(copy->arena, struct graph_argument, (size_t)from->argument_count + 1);
    for (int i = 0; i < from->argument_count; i++) {
        to->arguments[i] = from->arguments[i];
        if (from->arguments[i].node >= 0)
            to->arguments[i].node = copy->new_of[from->arguments[i].node];
    }
    return to;
}
