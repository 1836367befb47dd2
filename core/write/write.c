/* SPDX-License-Identifier: Apache-2.0 */
/* The order of stages: which arrays are put into HBM, where, and what the kernel around them looks
 * like. */
#include "write/private.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "write/older/older.h"
#include "write/taps/taps.h"

/* ---- buffers --------------------------------------------------------------------------------- */

static bool is_taken(const struct writer *writer, const char *name) {
    for (size_t i = 0; i < writer->buffers.len; i++)
        if (strcmp(writer->buffers.at[i].name, name) == 0)
            return true;
    for (size_t i = 0; i < writer->shadowed.len; i++)
        if (strcmp(writer->shadowed.at[i], name) == 0)
            return true;
    static const char *const words[] = {"nl", "nisa", "nki", "np", "kernel", "min", "range"};
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (strcmp(words[i], name) == 0)
            return true;
    return false;
}

static char *unique_name(struct writer *writer, const char *base) {
    char *name = arena_strdup(writer->arena, base);
    for (int i = 2; is_taken(writer, name); i++)
        name = arena_printf(writer->arena, "%s_%d", base, i);
    return name;
}

static int add_buffer(struct writer *writer, const char *base, const char *dtype,
                      const int64_t *shape, int ndim) {
    struct buffer buffer = {.name = unique_name(writer, base), .dtype = dtype, .ndim = ndim};
    memcpy(buffer.shape, shape, (size_t)ndim * sizeof *shape);
    if (ndim == 0) {
        buffer.ndim = 1;
        buffer.shape[0] = 1;
    }
    *vec_push(&writer->buffers) = buffer;
    return (int)writer->buffers.len - 1;
}

static bool is_output(const struct graph *graph, int node) {
    for (int i = 0; i < graph->output_count; i++)
        if (graph->outputs[i] == node)
            return true;
    return false;
}

static void print_shape(struct buf *text, const struct buffer *buffer) {
    buf_putc(text, '(');
    for (int d = 0; d < buffer->ndim; d++)
        buf_printf(text, "%s%lld", d ? ", " : "", (long long)buffer->shape[d]);
    buf_puts(text, buffer->ndim == 1 ? ",)" : ")");
}

static void declare(struct writer *writer, const struct buffer *buffer) {
    struct buf shape = {0};
    print_shape(&shape, buffer);
    write_line(writer, "%s = nl.ndarray(%s, dtype=nl.%s, buffer=nl.%s)", buffer->name, shape.at,
               buffer->dtype, buffer->is_output ? "shared_hbm" : "private_hbm");
    buf_free(&shape);
}

int write_buffer(struct writer *writer, const char *base, const char *dtype, const int64_t *shape,
                 int ndim) {
    int number = add_buffer(writer, base, dtype, shape, ndim);
    writer->buffers.at[number].node = -1;
    declare(writer, &writer->buffers.at[number]);
    return number;
}

/* The same for a node's array. */
static int new_buffer(struct writer *writer, const char *base, const struct graph_node *node) {
    bool output = is_output(writer->graph, (int)(node - writer->graph->nodes));
    int number = add_buffer(writer, output ? "out" : base, node->dtype, node->shape, node->ndim);
    struct buffer *buffer = &writer->buffers.at[number];
    buffer->is_output = output;
    buffer->node = (int)(node - writer->graph->nodes);
    declare(writer, buffer);
    return number;
}

static bool is_told(const struct written *written, const struct write_gap *gap) {
    for (size_t i = 0; i < written->gaps.len; i++) {
        const struct write_gap *told = &written->gaps.at[i];
        if (told->line == gap->line && strcmp(told->what, gap->what) == 0 &&
            strcmp(told->why, gap->why) == 0)
            return true;
    }
    return false;
}

void write_gap(struct writer *writer, const struct graph_node *node, const char *why) {
    struct write_gap gap = {.line = node->line};
    snprintf(gap.what, sizeof gap.what, "%s", node->name);
    snprintf(gap.why, sizeof gap.why, "%s", why);
    if (!is_told(writer->written, &gap))
        *vec_push(&writer->written->gaps) = gap;
    write_line(writer, "# To be written: %s%s%s (line %d of the reference).", gap.what,
               *why ? ": " : "", gap.why, gap.line);
}

/* ---- values ---------------------------------------------------------------------------------- */

static bool is_view_kind(enum graph_kind kind) {
    return kind == GRAPH_RESHAPE || kind == GRAPH_TRANSPOSE || kind == GRAPH_BROADCAST ||
           kind == GRAPH_SLICE || kind == GRAPH_WINDOWS;
}

/* The array's own buffer: where its only user is a concatenation, the part of that one's. */
static struct view new_place(struct writer *writer, int node);

static struct view part_of_concatenation(struct writer *writer, int node, int whole) {
    const struct graph_node *joined = &writer->graph->nodes[whole];
    struct value *value = &writer->values[whole];
    if (!value->has_view) {
        value->view = new_place(writer, whole);
        value->has_view = true;
    }
    struct graph_range part[GRAPH_MAX_DIMS];
    for (int d = 0; d < joined->ndim; d++)
        part[d] = (struct graph_range){0, joined->shape[d], 1};
    int axis = joined->axes[0];
    for (int i = 0; i < joined->in_count && joined->in[i] != node; i++)
        part[axis].first += writer->graph->nodes[joined->in[i]].shape[axis];
    part[axis].count = writer->graph->nodes[node].shape[axis];
    struct view view;
    if (view_part(&value->view, part, &view))
        return view;
    const struct graph_node *row = &writer->graph->nodes[node];
    return view_whole(new_buffer(writer, row->name, row), row->shape, row->ndim);
}

/* The view of what a node was made of, from its own; false where it is no step that can be undone.
 */
static bool undo_step(const struct graph *graph, const struct graph_node *row, struct view *view) {
    struct view after = *view;
    if (row->op->kind == GRAPH_RESHAPE) {
        const struct graph_node *source = &graph->nodes[row->in[0]];
        return view_reshape(&after, source->shape, source->ndim, view);
    }
    for (int d = 0; row->op->kind == GRAPH_TRANSPOSE && d < row->ndim; d++)
        view->dims[row->axes[d]] = after.dims[d];
    return row->op->kind == GRAPH_TRANSPOSE || row->op->kind == GRAPH_CAST;
}

/* Where the only use of an array is to become a result in another shape or order, it is computed
 * into the result. */
static bool place_in_result(struct writer *writer, int node, struct view *place) {
    int steps[8], count = 0;
    for (int at = node; !is_output(writer->graph, at); count++) {
        const struct value *value = &writer->values[at];
        enum graph_kind kind = writer->graph->nodes[value->only_user].op->kind;
        if (count == 8 || value->users != 1 || (kind != GRAPH_RESHAPE && kind != GRAPH_TRANSPOSE))
            return false;
        at = steps[count] = value->only_user;
    }
    if (!count)
        return false;
    const struct graph_node *result = &writer->graph->nodes[steps[count - 1]];
    struct view view = view_whole(-1, result->shape, result->ndim);
    for (int i = count; i-- > 0;)
        if (!undo_step(writer->graph, &writer->graph->nodes[steps[i]], &view))
            return false;
    view.buffer = new_buffer(writer, "out", result);
    *place = view;
    return true;
}

static struct view new_place(struct writer *writer, int node) {
    const struct graph_node *row = &writer->graph->nodes[node];
    const struct value *value = &writer->values[node];
    const struct value *user = &writer->values[value->only_user];
    bool joins = value->users == 1 && !is_output(writer->graph, node) &&
                 writer->graph->nodes[value->only_user].op->kind == GRAPH_CONCATENATE;
    /* One level is enough: a list that grows step by step would nest without an end. */
    joins = joins && (row->op->kind != GRAPH_CONCATENATE || user->has_view);
    if (joins)
        return part_of_concatenation(writer, node, value->only_user);
    struct view place;
    if (place_in_result(writer, node, &place))
        return place;
    char base[40];
    snprintf(base, sizeof base, "%s_%d_hbm", row->name, node);
    return view_whole(new_buffer(writer, base, row), row->shape, row->ndim);
}

bool write_view(struct writer *writer, int node, struct view *view) {
    struct value *value = &writer->values[node];
    if (!value->has_view) {
        struct view place = new_place(writer, node);
        if (!rows_copy(writer, node, &place))
            return false;
        value->view = place;
        value->has_view = true;
    }
    *view = value->view;
    return true;
}

static bool take_view(struct writer *writer, int index) {
    const struct graph_node *node = &writer->graph->nodes[index];
    struct value *value = &writer->values[index], *source = &writer->values[node->in[0]];
    if (source->has_number) {
        value->has_number = true;
        value->number = source->number;
        return true;
    }
    struct view from;
    if (!write_view(writer, node->in[0], &from))
        return false;
    if (!view_through(node, &from, &value->view)) {
        /* No strides say it: once more, in order. */
        const struct graph_node *old = &writer->graph->nodes[node->in[0]];
        char base[40];
        snprintf(base, sizeof base, "%s_%d_hbm", old->name, node->in[0]);
        struct view place = view_whole(new_buffer(writer, base, old), old->shape, old->ndim);
        if (!rows_copy(writer, node->in[0], &place) || !view_through(node, &place, &value->view)) {
            write_gap(writer, node, "its pattern has too many strides");
            return false;
        }
        source->view = place;
    }
    value->has_view = true;
    return true;
}

static bool take_concatenation(struct writer *writer, int index) {
    const struct graph_node *node = &writer->graph->nodes[index];
    struct value *value = &writer->values[index];
    if (!value->has_view) {
        value->view = new_place(writer, index);
        value->has_view = true;
    }
    struct graph_range part[GRAPH_MAX_DIMS];
    for (int d = 0; d < node->ndim; d++)
        part[d] = (struct graph_range){0, node->shape[d], 1};
    int axis = node->axes[0];
    part[axis].count = 0;
    for (int i = 0; i < node->in_count; i++) {
        struct view place;
        part[axis].first += part[axis].count;
        part[axis].count = writer->graph->nodes[node->in[i]].shape[axis];
        const struct value *given = &writer->values[node->in[i]];
        bool fits = view_part(&value->view, part, &place);
        /* An array that is joined twice was computed into its first place only. */
        bool there = given->has_view && given->view.buffer == place.buffer &&
                     given->view.offset == place.offset;
        if (!fits || (!there && !rows_copy(writer, node->in[i], &place))) {
            write_gap(writer, node, "its parts do not fit");
            return false;
        }
    }
    return true;
}

/* The updates below one that no other node sees write the same buffer. */
static bool is_own_base(const struct writer *writer, int base) {
    const struct graph_node *row = &writer->graph->nodes[base];
    return row->op->kind == GRAPH_UPDATE && writer->values[base].users == 1 &&
           !is_output(writer->graph, base);
}

static struct buffer *take_padded(struct writer *writer, int index) {
    const struct graph_node *node = &writer->graph->nodes[index];
    struct value *value = &writer->values[index];
    const char *name = arena_printf(writer->arena, "padded_%d", index);
    int buffer = add_buffer(writer, name, node->dtype, node->shape, node->ndim);
    writer->buffers.at[buffer].is_made = true;
    writer->buffers.at[buffer].node = index;
    value->view = view_whole(buffer, node->shape, node->ndim);
    value->has_view = true;
    return &writer->buffers.at[buffer];
}

static bool take_update(struct writer *writer, int index) {
    const struct graph_node *node = &writer->graph->nodes[index];
    struct value *value = &writer->values[index];
    int base = node->in[0];
    const struct padding *padding = write_padding(writer, index);
    if (padding) {
        take_padded(writer, index)->padding = padding;
        return true;
    }
    const struct inset *inset = taps_inset(writer, index);
    if (inset) {
        take_padded(writer, index)->inset = inset;
        return true;
    }
    if (is_own_base(writer, base)) {
        value->view = writer->values[base].view;
    } else {
        value->view = new_place(writer, index);
        if (!rows_copy(writer, base, &value->view))
            return false;
    }
    struct view place;
    value->has_view = true;
    if (view_part(&value->view, node->part, &place) && rows_copy(writer, node->in[1], &place))
        return true;
    write_gap(writer, node, "the part does not fit");
    return false;
}

/* ---- stages ---------------------------------------------------------------------------------- */

/* A product that is made where it is used has a view, but lies nowhere. */
static bool take_made(struct writer *writer, int index) {
    struct value *value = &writer->values[index];
    value->product = product_made(writer, index, &value->view);
    if (!value->product)
        write_apart(writer, index);
    return value->has_view = value->product != NULL;
}

/* What is missing is memory that nobody writes, so that the rest can be printed. */
static void leave_out(struct writer *writer, int index) {
    const struct graph_node *node = &writer->graph->nodes[index];
    struct value *value = &writer->values[index];
    if (value->has_view)
        return;
    if (!node->dtype)
        writer->graph->nodes[index].dtype = "float32";
    char base[48];
    snprintf(base, sizeof base, "missing_%d", index);
    value->view = view_whole(new_buffer(writer, base, node), node->shape, node->ndim);
    value->has_view = true;
}

/* What a person can do about an operation that is not written. */
static const char *why_not(const struct graph_node *node) {
    return strcmp(node->name, "constant") == 0
               ? "a table of numbers, which forward should be given as an argument"
               : "";
}

static bool copy_result(struct writer *writer, int index, const struct view *place) {
    struct value *value = &writer->values[index];
    value->has_view = true;
    bool ok = rows_copy(writer, index, place);
    value->view = *place;
    return ok;
}

static bool take_product(struct writer *writer, int index) {
    struct value *value = &writer->values[index];
    if (value->is_made)
        return take_made(writer, index);
    struct view place = new_place(writer, index);
    bool inside = product_result_outside(writer, index, &place, &value->view);
    if (!inside)
        value->view = place;
    value->has_view = product_emit(writer, index, &value->view) &&
                      (!inside || copy_result(writer, index, &place));
    writer->written->stages += value->has_view;
    return value->has_view;
}

/* A tap that is all of what an array was padded around lies in the padded one, too, as others do.
 */
static void see_in_padded(const struct writer *writer, const struct graph_node *taps, int operand,
                          struct view *view) {
    const struct graph_node *nodes = writer->graph->nodes;
    for (int i = operand % 2; i < taps->in_count; i += 2) {
        const struct graph_node *part = &nodes[taps->in[i]];
        const struct graph_node *padded = part->in_count ? &nodes[part->in[0]] : NULL;
        if (part->op->kind != GRAPH_SLICE || padded->op->kind != GRAPH_UPDATE ||
            padded->in[1] != taps->in[operand])
            continue;
        struct view within;
        if (view_part(&writer->values[part->in[0]].view, padded->part, &within))
            *view = within;
        return;
    }
}

/* A convolution; its sum is written product by product where it cannot be one stage. */
static bool take_taps(struct writer *writer, int index) {
    const struct graph_node *node = &writer->graph->nodes[index];
    struct value *value = &writer->values[index];
    struct view *operands = ARENA_ARRAY(writer->arena, struct view, (size_t)node->in_count);
    for (int i = 0; i < node->in_count; i++)
        if (!write_view(writer, node->in[i], &operands[i]))
            return false;
        else if (i < node->in_count / 2 * 2)
            see_in_padded(writer, node, i, &operands[i]);
    value->view = new_place(writer, index);
    value->has_view = taps_emit(writer, index, operands, &value->view);
    writer->written->stages += value->has_view;
    bool behind = node->behind || node->in_count % 2; /* it may be that which cannot be */
    (behind ? writer->no_behind : writer->no_taps)[node->argument] = !value->has_view;
    writer->again |= !value->has_view;
    return value->has_view;
}

/* Rows that are made where they are used have a view, but lie nowhere. */
static bool take_made_rows(struct writer *writer, int index) {
    const struct graph_node *node = &writer->graph->nodes[index];
    struct value *value = &writer->values[index];
    value->view = view_whole((int)writer->buffers.len, node->shape, node->ndim);
    *vec_push(&writer->buffers) = (struct buffer){.name = arena_strdup(writer->arena, node->name),
                                                  .dtype = node->dtype,
                                                  .is_made = true,
                                                  .node = index};
    return value->has_view = true;
}

/* All results of a stage, when its last one is due. */
static bool take_rows(struct writer *writer, int leader) {
    if (writer->values[leader].is_made)
        return take_made_rows(writer, leader);
    int mates[WRITE_MAX_MATES];
    struct view places[WRITE_MAX_MATES];
    int count = write_mates(writer, leader, mates);
    for (int i = 0; i < count; i++)
        places[i] = writer->values[mates[i]].view = new_place(writer, mates[i]);
    bool ok = rows_emit(writer, mates, count, places);
    for (int i = 0; i < count; i++) {
        writer->values[mates[i]].has_view = ok;
        if (!ok)
            leave_out(writer, mates[i]);
    }
    writer->written->stages += ok;
    return ok;
}

static bool take_constant(struct writer *writer, int index) {
    const struct graph_node *node = &writer->graph->nodes[index];
    struct value *value = &writer->values[index];
    value->has_number = node->has_fill;
    value->number = node->fill;
    if (node->has_fill)
        return true;
    value->has_view = true;
    if (node->constant->kind == CONSTANT_LIST) {
        int buffer = add_buffer(writer, "listed", node->dtype, node->shape, node->ndim);
        value->view = view_whole(buffer, node->shape, node->ndim);
        constant_list(writer, index);
        return true;
    }
    value->view = new_place(writer, index);
    return constant_emit(writer, index, &value->view);
}

static bool take_node(struct writer *writer, int index) {
    const struct graph_node *node = &writer->graph->nodes[index];
    struct value *value = &writer->values[index];
    switch (node->op->kind) {
    case GRAPH_INPUT: return value->has_view;
    case GRAPH_CONSTANT: return take_constant(writer, index);
    case GRAPH_CONCATENATE: return take_concatenation(writer, index);
    case GRAPH_UPDATE: return take_update(writer, index);
    case GRAPH_CONTRACT: return take_product(writer, index);
    case GRAPH_TAPS: return take_taps(writer, index);
    case GRAPH_OTHER: write_gap(writer, node, why_not(node)); return false;
    default: break;
    }
    if (is_view_kind(node->op->kind))
        return take_view(writer, index);
    return !value->is_root || value->leader != index || take_rows(writer, index);
}

int write_stage_of_users(const struct writer *writer, int node) {
    int stage = -2;
    for (int i = node + 1; i < writer->graph->count; i++) {
        const struct graph_node *user = &writer->graph->nodes[i];
        bool uses = false;
        for (int k = 0; k < user->in_count; k++)
            uses |= user->in[k] == node;
        if (!uses || !writer->values[i].users) /* late.c leaves nodes that nobody needs any more */
            continue;
        int own = writer->values[i].leader;
        if (!rows_is_fusable(user->op->kind))
            return -1;
        if (!writer->values[i].is_root)
            own = write_stage_of_users(writer, i);
        if (own == -2)
            continue;
        if (own < 0 || (stage >= 0 && stage != own))
            return -1;
        stage = own;
    }
    return stage;
}

/* Products that one stage of rows uses are made in it, tile by tile, where the schedule says so. */
static void choose_made_product(struct writer *writer, int node) {
    static const int64_t values[] = {1, 0};
    const struct graph_node *row = &writer->graph->nodes[node];
    bool output = is_output(writer->graph, node) || row->ndim < 2;
    if (!output && !writer->apart[node] && write_stage_of_users(writer, node) >= 0)
        writer->values[node].is_made = write_choose(
            writer, node, "made_in_place",
            "the product: is made tile by tile where it is used (1), is put into HBM first (0)",
            values, 2);
}

static bool makes_products(const struct writer *writer, int stage) {
    for (int i = 0; i < writer->graph->count; i++)
        if (writer->graph->nodes[i].op->kind == GRAPH_CONTRACT && writer->values[i].is_made &&
            write_stage_of_users(writer, i) == stage)
            return true;
    return false;
}

/* The stage that makes products of which a result is an operand, or over whose results it goes as
 * a sum of rows; -1: there is none. */
static int stage_around(const struct writer *writer, int node) {
    const struct value *value = &writer->values[node];
    const struct graph_node *user = &writer->graph->nodes[value->only_user];
    bool operand = value->users == 1 && user->op->kind == GRAPH_CONTRACT &&
                   writer->values[value->only_user].is_made;
    int stage = write_stage_of_users(writer, operand ? value->only_user : node);
    bool sum = writer->graph->nodes[node].op->kind == GRAPH_REDUCE;
    return (operand || sum) && stage >= 0 && makes_products(writer, stage) ? stage : -1;
}

/* Whether all results of a stage can be made, tile by tile, in the stage that uses them. */
static bool may_be_beside(struct writer *writer, const int *mates, int count) {
    int stage = stage_around(writer, mates[0]);
    bool may = stage >= 0;
    for (int i = 0; may && i < count; i++)
        may = !writer->apart[mates[i]] && !writer->values[mates[i]].is_upright &&
              !is_output(writer->graph, mates[i]) && stage_around(writer, mates[i]) == stage &&
              mates[i] != stage && !rows_overlap(writer, mates[i], stage);
    return may;
}

/* Operands of products, and sums of rows that go over their results, are made beside them: products
 * need not wait until all of that has gone through HBM. */
static void choose_made_beside(struct writer *writer, int leader) {
    static const int64_t values[] = {1, 0};
    int mates[WRITE_MAX_MATES], count = write_mates(writer, leader, mates);
    if (!count || !may_be_beside(writer, mates, count) ||
        !write_choose(writer, leader, "made_beside",
                      "made for a tile: beside the products that need it (1), for HBM first (0)",
                      values, 2))
        return;
    for (int i = 0; i < count; i++) {
        writer->values[mates[i]].is_made = true;
        writer->values[mates[i]].leader = mates[i];
    }
}

static void choose_made(struct writer *writer) {
    for (int i = 0; i < writer->graph->count; i++)
        if (writer->graph->nodes[i].op->kind == GRAPH_CONTRACT)
            choose_made_product(writer, i);
    chain_choose(writer);
    for (int i = 0; i < writer->graph->count; i++)
        if (writer->values[i].leader == i && !writer->values[i].is_made)
            choose_made_beside(writer, i);
}

/* ---- parameters ------------------------------------------------------------------------------ */

/* The view of an input, from that of what the kernel is given. */
static bool undo_transform(struct writer *writer, int node, struct view view) {
    while (writer->graph->nodes[node].op->kind != GRAPH_INPUT) {
        if (!undo_step(writer->graph, &writer->graph->nodes[node], &view))
            return false;
        node = writer->graph->nodes[node].in[0];
    }
    writer->values[node].view = view;
    return writer->values[node].has_view = true;
}

static bool take_parameters(struct writer *writer, struct err *err) {
    const struct graph *graph = writer->graph;
    for (int i = 0; i < graph->argument_count; i++) {
        const struct graph_argument *argument = &graph->arguments[i];
        static const int64_t one = 1;
        const struct graph_node *node = argument->node < 0 ? NULL : &graph->nodes[argument->node];
        char base[24];
        snprintf(base, sizeof base, "x%d", i);
        int buffer = add_buffer(writer, argument->name ? argument->name : base,
                                node ? argument->dtype : "float32", node ? node->shape : &one,
                                node ? node->ndim : 1);
        writer->buffers.at[buffer].is_parameter = true;
        if (argument->is_keyword && strcmp(writer->buffers.at[buffer].name, argument->name))
            return err_set(err, ERR_USAGE,
                           "the input '%s' has a name that the kernel needs for something else; "
                           "give it another one",
                           argument->name);
        if (node &&
            !undo_transform(writer, argument->node, view_whole(buffer, node->shape, node->ndim)))
            return err_set(err, ERR_USAGE,
                           "transform_to_nki_inputs does more than reshape and transpose argument "
                           "%d of forward: such kernels are not written",
                           i);
    }
    for (int i = 0; i < graph->count; i++)
        if (graph->nodes[i].op->kind == GRAPH_INPUT && !writer->values[i].has_view)
            return err_set(err, ERR_USAGE,
                           "argument %d of forward is none of the kernel's after "
                           "transform_to_nki_inputs",
                           graph->nodes[i].argument);
    return true;
}

/* ---- the kernel ------------------------------------------------------------------------------ */

static bool has_list(const struct graph *graph) {
    for (int i = 0; i < graph->count; i++)
        if (graph->nodes[i].constant && graph->nodes[i].constant->kind == CONSTANT_LIST)
            return true;
    return false;
}

static void print_head(struct writer *writer) {
    write_line(writer, "import nki");
    write_line(writer, "import nki.isa as nisa");
    write_line(writer, "import nki.language as nl");
    if (has_list(writer->graph))
        write_line(writer, "import numpy as np");
    write_blank(writer);
    write_blank(writer);
    write_line(writer, "@nki.jit");
    struct buf names = {0}, shapes = {0};
    for (size_t i = 0; i < writer->buffers.len; i++) {
        const struct buffer *buffer = &writer->buffers.at[i];
        buf_printf(&names, "%s%s", i ? ", " : "", buffer->name);
        buf_printf(&shapes, "\n    %s: ", buffer->name);
        if (writer->graph->arguments[i].node >= 0)
            print_shape(&shapes, buffer);
        else
            buf_puts(&shapes, "no array; what it was is written into the kernel");
    }
    const char *function = writer->spec->function ? writer->spec->function : "kernel";
    write_line(writer, "def %s(%s):", function, names.at ? names.at : "");
    write_line(writer, "    \"\"\"%s, as its reference computes it.", writer->spec->name);
    write_line(writer, "%s", shapes.at ? shapes.at : "");
    write_line(writer, "    \"\"\"");
    buf_free(&names);
    buf_free(&shapes);
}

static void print_return(struct writer *writer) {
    const struct graph *graph = writer->graph;
    struct buf names = {0};
    for (int i = 0; i < graph->output_count; i++)
        buf_printf(&names, "%s%s", i ? ", " : "",
                   writer->buffers.at[writer->values[graph->outputs[i]].view.buffer].name);
    write_line(writer, "return %s", names.at);
    buf_free(&names);
}

/* A result that is a view of something else, or a number, is copied to a buffer of its own. */
static bool place_output(struct writer *writer, int index) {
    const struct graph_node *node = &writer->graph->nodes[index];
    struct value *value = &writer->values[index];
    bool is_placed = value->has_view && writer->buffers.at[value->view.buffer].is_output;
    if (is_placed && !is_view_kind(node->op->kind))
        return true;
    struct view whole = view_whole(value->view.buffer, node->shape, node->ndim);
    if (is_placed && writer->buffers.at[value->view.buffer].node == index &&
        view_is_same(&whole, &value->view))
        return true;
    struct view place = view_whole(new_buffer(writer, "out", node), node->shape, node->ndim);
    if (!rows_copy(writer, index, &place))
        return false;
    value->view = place;
    return value->has_view = true;
}

static void write_all(struct writer *writer) {
    writer->indent = 1;
    write_choose_roots(writer);
    choose_made(writer);
    for (int i = 0; i < writer->graph->count && !writer->again; i++)
        if (!take_node(writer, i))
            leave_out(writer, i);
    for (int i = 0; i < writer->graph->output_count; i++)
        (void)place_output(writer, writer->graph->outputs[i]);
    print_return(writer);
}

static bool has_empty(const struct graph *graph) {
    for (int i = 0; i < graph->count; i++)
        if (graph_size(&graph->nodes[i]) == 0)
            return true;
    return false;
}

/* A name of the kernel's own that is an argument's, too, would hide the argument. */
static void find_shadowed(struct writer *writer) {
    for (size_t i = 0; i < writer->buffers.len; i++) {
        const struct buffer *buffer = &writer->buffers.at[i];
        if (!buffer->is_parameter || write_assigned(writer, buffer->name) == 0)
            continue;
        *vec_push(&writer->shadowed) = buffer->name;
        writer->again = true;
    }
}

/* The text; in the older dialect where that is asked for. */
static char *take_text(struct writer *writer) {
    char *text = buf_take(&writer->out);
    if (!writer->spec->older_dialect)
        return text;
    struct older_array *arrays =
        ARENA_ARRAY(writer->arena, struct older_array, writer->buffers.len + 1);
    for (size_t i = 0; i < writer->buffers.len; i++) {
        const struct buffer *buffer = &writer->buffers.at[i];
        arrays[i] = (struct older_array){buffer->name, 1};
        for (int d = 0; d < buffer->ndim; d++)
            arrays[i].size *= buffer->shape[d];
    }
    char *older = older_kernel(text, arrays, writer->buffers.len);
    free(text);
    return older;
}

/* Once, from the parameters on. False where there is no kernel; again is set where all has to be
 * written once more. */
static bool write_once(struct writer *writer, const struct graph *graph, struct err *err) {
    writer->written = mem_alloc(1, sizeof *writer->written);
    writer->graph = write_late(writer, write_short(writer, taps_find(writer, graph)));
    size_t count = (size_t)writer->graph->count + 1;
    writer->values = ARENA_ARRAY(writer->arena, struct value, count);
    if (!writer->apart) /* nodes have the same numbers whenever it is written */
        writer->apart = ARENA_ARRAY(writer->arena, bool, count);
    writer->again = false;
    writer->indent = 0;
    buf_clear(&writer->out);
    writer->buffers.len = 0;
    bool ok = take_parameters(writer, err);
    if (ok) {
        print_head(writer);
        write_all(writer);
        find_shadowed(writer);
        writer->written->text = take_text(writer);
    }
    if (!ok || writer->again) {
        written_free(writer->written);
        writer->written = NULL;
    }
    return ok;
}

struct written *write_kernel(const struct write_spec *spec, struct err *err) {
    struct writer writer = {.arena = arena_new(), .spec = spec};
    writer.graph = graph_read(spec->graph, writer.arena, err);
    if (writer.graph && has_empty(writer.graph)) {
        err_set(err, ERR_USAGE,
                "an array of forward has no elements: such kernels are not written");
        writer.graph = NULL;
    }
    if (writer.graph) {
        const struct graph *graph = writer.graph;
        while (write_once(&writer, graph, err) && writer.again)
            continue;
    }
    buf_free(&writer.out);
    vec_free(&writer.buffers);
    vec_free(&writer.shadowed);
    arena_free(writer.arena);
    return writer.written;
}

void written_free(struct written *written) {
    if (!written)
        return;
    vec_free(&written->gaps);
    vec_free(&written->choices);
    free(written->text);
    free(written);
}
