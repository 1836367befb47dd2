/* SPDX-License-Identifier: Apache-2.0 */
/* Short reductions: the sum of a few elements is a few additions of parts of the array, as where
 * an image is pooled. What lies beside those elements then stays in the free dimension; an
 * instruction that reduces would have to have them there alone. */
#include <stdlib.h>
#include <string.h>

#include "write/private.h"

#define MOST_ELEMENTS 16 /* that are reduced to one */
#define MOST_ADDED 256   /* nodes instead of one */

struct shortened {
    struct writer *writer;
    struct graph_copy copy;
    int *part_of;   /* by node of the old graph: its part for the element of the moment, 0: none */
    int *last_user; /* by node of the old graph: one of its users, and whether there are others */
    bool *several, *whole, *gone; /* gone: what it was made of has its shape already */
    bool squeezes;                /* what is made has no dimension for what is reduced */
};

static const struct graph_node *row_of(const struct shortened *s, int node) {
    return &s->copy.from->nodes[node];
}

static bool is_elementwise(const struct graph_node *row) {
    enum graph_kind kind = row->op->kind;
    return kind == GRAPH_UNARY || kind == GRAPH_BINARY || kind == GRAPH_CAST || kind == GRAPH_WHERE;
}

static bool is_scan(const struct graph_node *row) {
    return row->op->kind == GRAPH_SCAN || row->op->kind == GRAPH_RECURRENCE;
}

/* Who uses what, and which arrays are in HBM anyway: `whole`. */
static void look(struct shortened *s) {
    const struct graph *graph = s->copy.from;
    for (int i = 0; i < graph->count; i++)
        for (int k = 0; k < graph->nodes[i].in_count; k++) {
            int of = graph->nodes[i].in[k];
            s->several[of] |= s->last_user[of] && s->last_user[of] != i;
            s->last_user[of] = i;
            s->whole[of] |= !rows_is_fusable(graph->nodes[i].op->kind);
        }
    for (int i = 0; i < graph->output_count; i++)
        s->whole[graph->outputs[i]] = true;
    for (int i = 0; i < graph->count; i++)
        s->whole[i] |= !rows_is_fusable(graph->nodes[i].op->kind) || is_scan(&graph->nodes[i]);
}

/* ---- which ones ------------------------------------------------------------------------------ */

static int64_t elements_of(const struct graph_node *operand, const struct graph_node *row) {
    int64_t n = 1;
    for (int i = 0; i < row->axis_count; i++)
        n *= operand->shape[row->axes[i]];
    return n;
}

static bool is_reduced(const struct graph_node *row, int axis) {
    for (int i = 0; i < row->axis_count; i++)
        if (row->axes[i] == axis)
            return true;
    return false;
}

/* Where all that becomes of a reduction is its array without the dimensions of one element, it is
 * made in that shape; the stage that goes on with it need not be another one. */
static bool is_squeezed(const struct shortened *s, int node) {
    const struct graph_node *row = row_of(s, node), *user = row_of(s, s->last_user[node]);
    bool same = !s->several[node] && s->copy.users[node] == 1 && user->op->kind == GRAPH_RESHAPE &&
                user->ndim == row->ndim - row->axis_count;
    for (int d = 0, to = 0; same && d < row->ndim; d++)
        if (!is_reduced(row, d))
            same = user->shape[to++] == row->shape[d];
    return same;
}

/* Nodes that say one element of the operand; above MOST_ADDED where parts do not say it. */
static int added_for(const struct shortened *s, int node) {
    const struct graph_node *row = row_of(s, node);
    if (row->op->kind == GRAPH_CONSTANT)
        return row->has_fill ? 2 : MOST_ADDED + 1;
    if (s->whole[node])
        return 2;
    if (!is_elementwise(row) || s->several[node])
        return MOST_ADDED + 1;
    int added = 1;
    for (int i = 0; i < row->in_count && added <= MOST_ADDED; i++)
        added += added_for(s, row->in[i]);
    return added;
}

static bool reads_scan(const struct shortened *s, int node) {
    const struct graph_node *row = row_of(s, node);
    if (s->whole[node] || !is_elementwise(row))
        return is_scan(row);
    for (int i = 0; i < row->in_count; i++)
        if (reads_scan(s, row->in[i]))
            return true;
    return false;
}

/* Whether elements that stay apart lie between those that are reduced to one, or behind them. */
static bool has_kept_inside(const struct graph_node *operand, const struct graph_node *row) {
    bool outer = false;
    for (int d = 0; d < operand->ndim; d++)
        if (is_reduced(row, d))
            outer |= operand->shape[d] > 1;
        else if (outer && operand->shape[d] > 1)
            return true;
    return false;
}

/* Whether an array is windows of another one, or some of them: each element is in several of them,
 * so that parts are shifts of what is loaded once. */
static bool is_windowed(const struct shortened *s, int node) {
    const struct graph_node *row = row_of(s, node);
    while (row->op->kind == GRAPH_SLICE)
        row = row_of(s, row->in[0]);
    return row->op->kind == GRAPH_WINDOWS;
}

/* The nodes that take the place of a reduction; 0 where it stays. */
static size_t added_by(const struct shortened *s, int node) {
    const struct graph_node *row = row_of(s, node);
    if (row->op->kind != GRAPH_REDUCE || !row->dtype || !strstr(row->dtype, "float"))
        return 0;
    const struct graph_node *operand = row_of(s, row->in[0]);
    int64_t n = elements_of(operand, row);
    bool fits = n > 1 && n <= MOST_ELEMENTS && operand->ndim == row->ndim && operand->dtype &&
                strstr(operand->dtype, "float");
    int each = fits ? added_for(s, row->in[0]) : 0;
    return fits && (each + 1) * n <= MOST_ADDED ? (size_t)((each + 1) * n) : 0;
}

static bool is_wanted(const struct shortened *s, int node) {
    const struct graph_node *row = row_of(s, node), *operand = row_of(s, row->in[0]);
    /* What scans make stays on chip where their stage sums it up. */
    bool first =
        (has_kept_inside(operand, row) || is_windowed(s, row->in[0])) && !reads_scan(s, row->in[0]);
    const int64_t values[] = {first, !first};
    return write_choose(
        s->writer, s->copy.new_of[node], "parts",
        "the few elements of each sum: are added part by part (1), by an instruction that sums (0)",
        values, 2);
}

/* ---- in parts -------------------------------------------------------------------------------- */

static struct graph_node *add(struct shortened *s, const struct graph_node *like) {
    struct graph_node *row = &s->copy.to->nodes[s->copy.to->count++];
    *row = *like;
    row->in = ARENA_ARRAY(s->copy.arena, int, (size_t)like->in_count + 3);
    return row;
}

/* The places along the axes, counted from the last one, of element number `at`. */
struct element {
    int64_t first[GRAPH_MAX_DIMS];
    unsigned reduced;
};
static struct element element_at(const struct graph_node *operand, const struct graph_node *row,
                                 int64_t at) {
    struct element element = {0};
    for (int i = row->axis_count; i-- > 0;) {
        int64_t n = operand->shape[row->axes[i]];
        int from_last = operand->ndim - 1 - row->axes[i];
        element.first[from_last] = at % n;
        element.reduced |= 1u << from_last;
        at /= n;
    }
    return element;
}

/* The shape of one element: the dimensions of what is reduced have one, or are not there. */
static void shrink(const struct shortened *s, struct graph_node *row,
                   const struct element *element) {
    int64_t shape[GRAPH_MAX_DIMS];
    int ndim = 0;
    for (int d = 0; d < row->ndim; d++) {
        bool reduced = element->reduced >> (row->ndim - 1 - d) & 1;
        if (!reduced || !s->squeezes)
            shape[ndim++] = reduced ? 1 : row->shape[d];
    }
    memcpy(row->shape, shape, sizeof shape);
    row->ndim = ndim;
}

static int part_of(struct shortened *s, int node, const struct element *element);

/* A view of an array that is there. */
static struct graph_node *add_view(struct shortened *s, const char *name,
                                   const struct graph_node *like, int of) {
    struct graph_node *row = add(s, like);
    row->op = graph_op_named(row->name = name);
    row->in[0] = of;
    row->in_count = 1;
    row->axis_count = 0;
    row->constant = NULL;
    return row;
}

static int add_slice(struct shortened *s, int node, const struct element *element) {
    const struct graph_node *old = row_of(s, node);
    struct graph_node *row = add_view(s, "slice", old, s->copy.new_of[node]);
    for (int d = 0; d < row->ndim; d++) {
        int from_last = row->ndim - 1 - d;
        bool one = element->reduced >> from_last & 1 && old->shape[d] > 1;
        row->shape[d] = one ? 1 : old->shape[d];
        row->part[d] = (struct graph_range){one ? element->first[from_last] : 0, row->shape[d], 1};
    }
    if (s->squeezes)
        shrink(s, add_view(s, "reshape", row, s->copy.to->count - 1), element);
    return s->copy.to->count - 1;
}

static int add_operation(struct shortened *s, int node, const struct element *element) {
    const struct graph_node *old = row_of(s, node);
    int in[4] = {0};
    for (int i = 0; i < old->in_count && i < 4; i++)
        in[i] = part_of(s, old->in[i], element);
    struct graph_node *row = add(s, old);
    memcpy(row->in, in, (size_t)MIN_OF(old->in_count, 4) * sizeof *in);
    shrink(s, row, element);
    return s->copy.to->count - 1;
}

static int part_of(struct shortened *s, int node, const struct element *element) {
    const struct graph_node *row = row_of(s, node);
    if (!s->part_of[node] && (row->op->kind == GRAPH_CONSTANT || s->whole[node]))
        s->part_of[node] = row->ndim ? add_slice(s, node, element) : s->copy.new_of[node];
    else if (!s->part_of[node])
        s->part_of[node] = add_operation(s, node, element);
    return s->part_of[node];
}

static int add_both(struct shortened *s, int node, int a, int b) {
    struct graph_node *row = add(s, row_of(s, node)), *one = &s->copy.to->nodes[a];
    row->op = graph_op_named(row->name = row->op->alu);
    row->ndim = one->ndim;
    memcpy(row->shape, one->shape, sizeof row->shape);
    row->in[0] = a;
    row->in[1] = b;
    row->in_count = 2;
    row->axis_count = 0;
    row->dtype = "float32";
    return s->copy.to->count - 1;
}

static void replace(struct shortened *s, int node) {
    const struct graph_node *row = row_of(s, node), *operand = row_of(s, row->in[0]);
    int64_t n = elements_of(operand, row);
    int all = 0;
    s->squeezes = is_squeezed(s, node);
    for (int64_t at = 0; at < n; at++) {
        struct element element = element_at(operand, row, at);
        memset(s->part_of, 0, (size_t)s->copy.from->count * sizeof *s->part_of);
        int part = part_of(s, row->in[0], &element);
        all = at ? add_both(s, node, all, part) : part;
    }
    s->copy.to->nodes[all].dtype = row->dtype;
    s->copy.new_of[node] = all;
}

static void take(struct shortened *s, int node) {
    graph_copy_node(&s->copy, node);
    size_t added = added_by(s, node);
    int at = s->copy.new_of[node], end = at + 1 + (int)added;
    if (added && is_wanted(s, node)) {
        replace(s, node);
        graph_copy_drop(&s->copy, at);
        s->gone[node] = s->squeezes;
    } else if (row_of(s, node)->op->kind == GRAPH_RESHAPE && s->gone[row_of(s, node)->in[0]]) {
        graph_copy_drop(&s->copy, at);
        s->copy.new_of[node] = s->copy.new_of[row_of(s, node)->in[0]];
    }
    while (s->copy.to->count < end)
        (void)graph_copy_nothing(&s->copy);
}

struct graph *write_short(struct writer *writer, const struct graph *graph) {
    struct arena *arena = writer->arena;
    size_t count = (size_t)graph->count + 1, more = 0;
    struct shortened s = {.writer = writer, .copy.from = graph};
    s.part_of = ARENA_ARRAY(arena, int, count);
    s.last_user = ARENA_ARRAY(arena, int, count);
    s.several = ARENA_ARRAY(arena, bool, count);
    s.whole = ARENA_ARRAY(arena, bool, count);
    s.gone = ARENA_ARRAY(arena, bool, count);
    look(&s);
    for (int i = 0; i < graph->count; i++)
        more += added_by(&s, i);
    graph_copy_begin(&s.copy, graph, more, arena);
    writer->graph = s.copy.to;
    for (int i = 0; i < graph->count; i++)
        take(&s, i);
    return graph_copy_end(&s.copy);
}
