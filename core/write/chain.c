/* SPDX-License-Identifier: Apache-2.0 */
/* A product whose left operand is made of another product's results, row by row, as attention has
 * it: softmax(q k) v. The first product is made with its results turned over, so that what the
 * second one sums over lies on the partitions at once: nothing of it is turned or goes through HBM.
 * Sums of the operand's rows are one more column of the second product. What turned-over tiles
 * cannot find, the largest result of each row, comes from products as they were, of the rows that
 * are next. */
#include "write/products.h"
#include "write/rows.h"

int chain_sum(const struct chain *chain) {
    return chain->sum;
}

/* ---- finding one ----------------------------------------------------------------------------- */

static const struct graph_node *row_of(const struct writer *w, int node) {
    return &w->graph->nodes[node];
}

static bool is_named(const struct writer *w, int node, const char *name) {
    return strcmp(row_of(w, node)->name, name) == 0;
}

static bool has_shape_of(const struct writer *w, int a, int b) {
    const struct graph_node *x = row_of(w, a), *y = row_of(w, b);
    return x->ndim == y->ndim &&
           memcmp(x->shape, y->shape, (size_t)x->ndim * sizeof *x->shape) == 0;
}

/* The one dimension of an operand that is summed over; -1: there are several. */
static int summed_axis(const struct graph_node *product, int slot, int ndim) {
    int axis = -1;
    for (int d = 0; d < ndim; d++) {
        bool stays = false;
        for (int e = 0; e < product->ndim; e++)
            stays |= product->out[e] == product->terms[slot][d];
        if (!stays && axis >= 0)
            return -1;
        axis = stays ? axis : d;
    }
    return axis;
}

static bool goes_along(const struct graph_node *row, const char *alu, int axis) {
    return row->op->kind == GRAPH_REDUCE && strcmp(row->op->alu, alu) == 0 &&
           row->axis_count == 1 && row->axes[0] == axis;
}

static double number_of(const struct writer *w, int node) {
    const struct graph_node *row = row_of(w, node);
    return row->op->kind == GRAPH_CONSTANT && row->has_fill ? row->fill : 0;
}

/* What a node is the product's results times; 0: it is something else, or turns their order. */
static double scale_of(const struct writer *w, int node, int product) {
    double scale = 1;
    while (node != product) {
        const struct graph_node *row = row_of(w, node);
        bool divides = is_named(w, node, "divide"), multiplies = is_named(w, node, "multiply");
        if (row->in_count != 2 || (!divides && !multiplies))
            return 0;
        int slot = multiplies && number_of(w, row->in[0]) > 0 ? 0 : 1;
        double by = number_of(w, row->in[slot]);
        if (by <= 0)
            return 0;
        scale *= divides ? 1 / by : by;
        node = row->in[1 - slot];
    }
    return scale;
}

/* The product that is read, and nothing else but numbers. */
static bool find_scores(struct chain *c, const struct rows *own) {
    const struct writer *w = own->writer;
    c->scores = -1;
    for (size_t i = 0; i < own->leaves.len; i++) {
        int node = own->leaves.at[i].node;
        const struct graph_node *row = row_of(w, node);
        if (row->op->kind == GRAPH_CONSTANT && row->has_fill)
            continue;
        if (row->op->kind != GRAPH_CONTRACT || c->scores >= 0)
            return false;
        c->scores = node;
    }
    return c->scores >= 0 && w->values[c->scores].is_made && !w->values[c->scores].chain &&
           has_shape_of(w, c->scores, c->operand);
}

static bool find_extreme(struct chain *c, const struct rows *own, int axis) {
    c->extreme = -1;
    for (size_t i = 0; i < own->nodes.len; i++) {
        int node = own->nodes.at[i];
        const struct graph_node *row = row_of(own->writer, node);
        if (row->op->kind != GRAPH_REDUCE) {
            if (rows_is_scan(own, node))
                return false;
            continue;
        }
        if (c->extreme >= 0 || !goes_along(row, "maximum", axis))
            return false;
        c->extreme = node;
        c->scale = scale_of(own->writer, row->in[0], c->scores);
        if (c->scale == 0 || row->ndim != row_of(own->writer, c->operand)->ndim)
            return false;
    }
    return true;
}

static bool is_within(const struct chain *c, const struct rows *own, int node) {
    bool within = node == c->scores;
    for (size_t i = 0; i < own->nodes.len; i++)
        within |= own->nodes.at[i] == node;
    return within;
}

/* Nobody else needs what would lie nowhere, but sums of the operand's rows. */
static bool find_sum(struct chain *c, const struct rows *own, int axis) {
    const struct writer *w = own->writer;
    c->sum = -1;
    for (int i = 0; i < w->graph->count; i++) {
        const struct graph_node *row = row_of(w, i);
        for (int k = 0; w->values[i].users && k < row->in_count; k++) {
            if (!is_within(c, own, row->in[k]) || is_within(c, own, i) || i == c->node)
                continue;
            if (row->in[k] != c->operand || (c->sum >= 0 && c->sum != i) ||
                !goes_along(row, "add", axis))
                return false;
            c->sum = i;
        }
    }
    return c->sum < 0 || write_stage_of_users(w, c->sum) == write_stage_of_users(w, c->node);
}

/* The only node that needs another one; -1: there are several, or none. */
static int only_user(const struct writer *w, int node) {
    int user = -1;
    for (int i = 0; i < w->graph->count; i++) {
        const struct graph_node *row = row_of(w, i);
        for (int k = 0; w->values[i].users && k < row->in_count; k++) {
            if (row->in[k] == node && user >= 0 && user != i)
                return -1;
            user = row->in[k] == node ? i : user;
        }
    }
    return user;
}

/* exp(x - most) over its sum, applied to the result: whatever is subtracted drops out. */
static bool is_softmax(const struct chain *c, const struct writer *w) {
    if (c->extreme < 0 || c->sum < 0 || !is_named(w, c->operand, "exp"))
        return false;
    int difference = row_of(w, c->operand)->in[0], user = only_user(w, c->node);
    return is_named(w, difference, "subtract") && row_of(w, difference)->in[1] == c->extreme &&
           only_user(w, c->extreme) == difference && only_user(w, difference) == c->operand &&
           user >= 0 && only_user(w, c->sum) == user && is_named(w, user, "divide") &&
           row_of(w, user)->in[0] == c->node && row_of(w, user)->in[1] == c->sum;
}

static bool has_other_mates(const struct chain *c, const struct writer *w) {
    for (int i = 0; i < w->graph->count; i++)
        if (w->values[i].is_root && i != c->operand && i != c->sum &&
            w->values[i].leader == w->values[c->operand].leader)
            return true;
    return false;
}

static bool find_behind(struct chain *c, struct writer *w, int slot) {
    const struct graph_node *product = row_of(w, c->node);
    c->operand = product->in[slot];
    const struct graph_node *row = row_of(w, c->operand);
    int axis = summed_axis(product, slot, row->ndim);
    if (axis < 0 || !rows_is_fusable(row->op->kind) || row->op->kind == GRAPH_REDUCE ||
        w->apart[c->operand] || product->in[0] == product->in[1])
        return false;
    for (int i = 0; i < w->graph->output_count; i++)
        if (w->graph->outputs[i] == c->operand)
            return false;
    struct rows own = {.writer = w, .roots = &c->operand, .root_count = 1};
    rows_collect(&own);
    bool found = find_scores(c, &own) && find_extreme(c, &own, axis) && find_sum(c, &own, axis) &&
                 !has_other_mates(c, w);
    rows_free(&own);
    c->is_free = found && is_softmax(c, w);
    return found;
}

static void make_nowhere(struct writer *w, int node) {
    if (node < 0)
        return;
    w->values[node].is_root = w->values[node].is_made = true;
    w->values[node].leader = node;
}

void chain_choose(struct writer *w) {
    static const int64_t values[] = {1, 0};
    for (int i = 0; i < w->graph->count; i++) {
        struct chain *c = ARENA_NEW(w->arena, struct chain);
        c->node = i;
        const struct graph_node *row = row_of(w, i);
        if (row->op->kind != GRAPH_CONTRACT || row->in_count != 2 || !w->values[i].is_made ||
            (!find_behind(c, w, LEFT) && !find_behind(c, w, RIGHT)) ||
            !write_choose(w, i, "in_sbuf",
                          "what is made of the other product for it: stays in SBUF (1), goes "
                          "through HBM (0)",
                          values, 2))
            continue;
        w->values[i].chain = c;
        make_nowhere(w, c->operand);
        make_nowhere(w, c->sum);
    }
}
