/* SPDX-License-Identifier: Apache-2.0 */
/* Scans in the graph: running sums, products and maxima, recurrences of three operands; and rows
 * that an index chooses. */
#include "lift/private.h"

/* How many elements there are up to the last one that is asked for; -1: some lie before it all. */
static int64_t length_of(const struct form *place, const struct ranges *ranges) {
    int64_t low = place->at, high = place->at;
    for (int i = 0; i < place->count; i++) {
        const struct form_term *term = &place->term[i];
        *(term->step < 0 ? &low : &high) += term->step * (ranges->n[term->var] - 1);
    }
    return low < 0 ? -1 : high + 1;
}

/* The operands of all steps, and the array of them. */
struct steps {
    int a, b, before; /* nodes; a of a maximum is -1 */
    struct node row;
};

static int emit_steps(struct lifted *lifted, const struct value *scan, const struct ranges *ranges,
                      int ndim, struct steps *steps) {
    const value_id in[] = {scan->a, scan->b, scan->c};
    int made[3] = {-1, -1, -1};
    for (int i = 0; i < 3; i++) {
        if (in[i] == VALUE_NONE)
            continue;
        value_id own =
            i == 2 ? in[i]
                   : value_set(&lifted->l, in[i], LIFT_BOUND + scan->height - 1, form_var(ndim, 1));
        made[i] = emit_aligned(lifted, own, ranges, ndim + 1);
        if (made[i] < 0)
            return -1;
        made[i] = node_float(lifted, made[i]);
    }
    *steps = (struct steps){made[0], made[1], made[2], {.ndim = ndim + 1, .loc = scan->loc}};
    return 0;
}

static bool is_number(const struct lifted *lifted, int node, double number) {
    const struct node *row = &lifted->nodes.at[node];
    return row->kind == NODE_CONSTANT && row->ndim == 0 && row->fill == number;
}

static int emit_running(struct lifted *lifted, const struct steps *steps, const char *op, int in) {
    struct node node = steps->row;
    node.kind = NODE_SCAN;
    node.op = op;
    node.in[0] = node_broadcast(lifted, in, node.shape, node.ndim);
    node.in_count = 1;
    return node_add(lifted, node);
}

static int emit_recurrence(struct lifted *lifted, const struct steps *steps) {
    struct node node = steps->row;
    node.kind = NODE_RECURRENCE;
    node.op = "recurrence";
    node.in[0] = steps->a;
    node.in[1] = steps->b;
    node.in[2] = steps->before;
    node.in_count = 3;
    return node_add(lifted, node);
}

static int emit_whole(struct lifted *lifted, const struct value *scan, const struct steps *steps) {
    uint32_t loc = scan->loc;
    if (scan->func != NKI_FUNC_ADD) {
        bool most = scan->func == NKI_FUNC_MAXIMUM;
        int run = emit_running(lifted, steps, most ? "cummax" : "cummin", steps->b);
        const struct node *before = &lifted->nodes.at[steps->before];
        bool nothing = before->kind == NODE_CONSTANT && before->ndim == 0 &&
                       (most ? before->fill <= -1e30 : before->fill >= 1e30);
        return nothing ? run
                       : node_binary(lifted, most ? "maximum" : "minimum", run, steps->before, loc);
    }
    if (is_number(lifted, steps->a, 1)) {
        int run = emit_running(lifted, steps, "cumsum", steps->b);
        return is_number(lifted, steps->before, 0)
                   ? run
                   : node_binary(lifted, "add", run, steps->before, loc);
    }
    if (is_number(lifted, steps->b, 0)) {
        int run = emit_running(lifted, steps, "cumprod", steps->a);
        return is_number(lifted, steps->before, 1)
                   ? run
                   : node_binary(lifted, "multiply", run, steps->before, loc);
    }
    return emit_recurrence(lifted, steps);
}

int emit_scan(struct lifted *lifted, const struct value *scan, const struct ranges *outer,
              int ndim) {
    struct lift *l = &lifted->l;
    const struct form place = *form_of(l, scan->form);
    struct ranges ranges = *outer;
    struct steps steps;
    int64_t length = length_of(&place, outer);
    uint64_t own = 0;
    if (ndim >= NODE_DIMS || length < 1)
        return emit_fail(lifted, "a scan lies in memory in a way that is not followed", scan->loc);
    for (int i = 0; i < 3; i++) {
        value_id in = i == 0 ? scan->a : i == 1 ? scan->b : scan->c;
        own |= in == VALUE_NONE ? 0 : value_of(l, in)->free;
    }
    own &= ((uint64_t)1 << ndim) - 1;
    ranges.n[ndim] = length;
    ranges.low[ndim] = 0;
    if (emit_steps(lifted, scan, &ranges, ndim, &steps) < 0)
        return -1;
    steps.row.dtype = DTYPE_FLOAT32;
    steps.row.axes[0] = ndim;
    steps.row.axis_count = 1;
    for (int v = 0; v < ndim; v++)
        steps.row.shape[v] = own >> v & 1 ? ranges.n[v] : 1;
    steps.row.shape[ndim] = length;
    int made = emit_along(lifted, emit_whole(lifted, scan, &steps), &place, outer, ndim, own);
    return made >= 0 ? made
                     : emit_fail(lifted, "elements of a scan lie in no part of it", scan->loc);
}

/* Rows of `step` elements by index: the rows of the index's axes, and the elements of a row last.
 */
int emit_gather(struct lifted *lifted, const struct value *gather, const struct ranges *ranges,
                int ndim) {
    struct lift *l = &lifted->l;
    uint64_t own = value_of(l, gather->a)->free;
    int source = emit_source(lifted, gather->place);
    int index = source < 0 ? -1 : emit_aligned(lifted, gather->a, ranges, ndim);
    if (source < 0 || ndim >= NODE_DIMS)
        return emit_fail(lifted, "it has more than 8 dimensions", gather->loc);
    if (index < 0)
        return index;
    int64_t size = node_size(&lifted->nodes.at[source]);
    if (!dtype_is_int(lifted->nodes.at[index].dtype) || size % gather->n)
        return emit_fail(lifted, "its indices are computed, or choose no whole rows", gather->loc);
    struct node node = {.kind = NODE_GATHER,
                        .op = "gather",
                        .dtype = gather->dtype,
                        .ndim = ndim + 1,
                        .in_count = 2,
                        .axis_count = 1,
                        .loc = gather->loc};
    for (int v = 0; v < ndim; v++)
        node.shape[v] = own >> v & 1 ? ranges->n[v] : 1;
    node.shape[ndim] = gather->n;
    node.in[0] = node_reshape(lifted, source, (const int64_t[]){size / gather->n, gather->n}, 2);
    node.in[1] = node_broadcast(lifted, index, node.shape, ndim);
    int made =
        emit_along(lifted, node_add(lifted, node), form_of(l, gather->form), ranges, ndim, own);
    return made >= 0 ? made : emit_fail(lifted, "it takes rows apart by their index", gather->loc);
}
