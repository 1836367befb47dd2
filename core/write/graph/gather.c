/* SPDX-License-Identifier: Apache-2.0 */
/* Transposed convolutions. A sum of products that are added into parts of zeros, or a product whose
 * window lies within its pixels in the result, would write single elements. It is a convolution of
 * the image with zeros between its pixels, whose result is written whole. */
#include "write/graph/graph.h"

#define MOST_TAPS 32
#define NODES_EACH 5 /* that a tap takes at most */

struct gathering {
    struct graph_copy copy;
    const struct graph_node *nodes; /* of the graph before */
    bool *gone;                     /* by node: another one has taken its place */
};
/* A product, and where its results begin. */
struct tap {
    int product;
    int64_t first[GRAPH_MAX_DIMS]; /* in the result's dimensions */
    int64_t at[GRAPH_MAX_DIMS];    /* in those of the weights that are the window; else 0 */
};
struct transposed {
    struct tap taps[MOST_TAPS];
    int count, image;              /* which operand */
    int64_t shape[GRAPH_MAX_DIMS]; /* of the result */
    int64_t step[GRAPH_MAX_DIMS];  /* between pixels; 0: none of its dimensions */
    bool window[GRAPH_MAX_DIMS];   /* dimensions of the weights that are it */
    int ndim, out[GRAPH_MAX_DIMS]; /* labels of the result */
    bool is_windowed;
    int apart[GRAPH_MAX_DIMS]; /* labels before pixels and the window become one dimension */
};

static bool is_fp32(const struct graph_node *node) {
    return node->dtype && strcmp(node->dtype, "float32") == 0;
}

static bool is_product(const struct graph_node *node) {
    return node->op->kind == GRAPH_CONTRACT && node->in_count == 2 && is_fp32(node);
}

static bool is_zero(const struct graph_node *node) {
    return node->op->kind == GRAPH_CONSTANT && node->has_fill && node->fill == 0;
}

/* The dimension of an operand that has a label; -1: none. */
static int labelled(const struct gathering *g, const struct graph_node *product, int operand,
                    int label) {
    for (int d = 0; d < g->nodes[product->in[operand]].ndim; d++)
        if (product->terms[operand][d] == label)
            return d;
    return -1;
}

static bool same_part(const struct graph_node *a, const struct graph_node *b, int ndim) {
    return memcmp(a->part, b->part, (size_t)ndim * sizeof *a->part) == 0;
}

/* ---- added into parts of zeros --------------------------------------------------------------- */

/* What an update adds to the part that it writes; -1: it does something else. */
static int added_product(const struct gathering *g, int update) {
    const struct graph_node *row = &g->nodes[update], *sum = &g->nodes[row->in[1]];
    if (is_product(sum))
        return is_zero(&g->nodes[row->in[0]]) && g->copy.users[row->in[1]] == 1 ? row->in[1] : -1;
    if (sum->op->kind != GRAPH_BINARY || strcmp(sum->op->alu, "add") ||
        g->copy.users[row->in[1]] != 1)
        return -1;
    for (int i = 0; i < 2; i++) {
        const struct graph_node *part = &g->nodes[sum->in[1 - i]];
        bool before = part->op->kind == GRAPH_SLICE && part->in[0] == row->in[0] &&
                      same_part(part, row, row->ndim) && g->copy.users[sum->in[1 - i]] == 1;
        bool zero =
            is_zero(part) || (part->op->kind == GRAPH_SLICE && is_zero(&g->nodes[part->in[0]]));
        before |= zero && is_zero(&g->nodes[row->in[0]]);
        if (before && is_product(&g->nodes[sum->in[i]]) && g->copy.users[sum->in[i]] == 1)
            return sum->in[i];
    }
    return -1;
}

/* All updates down to the zeros, the last one first. */
static bool collect(const struct gathering *g, int node, struct transposed *t) {
    *t = (struct transposed){.ndim = g->nodes[node].ndim};
    memcpy(t->shape, g->nodes[node].shape, sizeof t->shape);
    for (int at = node; !is_zero(&g->nodes[at]); at = g->nodes[at].in[0]) {
        const struct graph_node *row = &g->nodes[at];
        bool inner = at == node || g->copy.users[at] == 2; /* of a part, and of the next update */
        if (row->op->kind != GRAPH_UPDATE || !is_fp32(row) || !inner || t->count == MOST_TAPS)
            return false;
        struct tap *tap = &t->taps[t->count++];
        tap->product = added_product(g, at);
        if (tap->product < 0)
            return false;
        for (int d = 0; d < row->ndim; d++) {
            bool whole = row->part[d].count == row->shape[d];
            tap->first[d] = row->part[d].first;
            if (row->part[d].step < 1 || (t->count > 1 && whole != !t->step[d]) ||
                (t->count > 1 && !whole && t->step[d] != row->part[d].step))
                return false;
            t->step[d] = whole ? 0 : row->part[d].step;
        }
    }
    return t->count > 0;
}

static bool are_alike(const struct gathering *g, const struct transposed *t) {
    const struct graph_node *first = &g->nodes[t->taps[0].product];
    for (int i = 1; i < t->count; i++) {
        const struct graph_node *row = &g->nodes[t->taps[i].product];
        bool alike = row->ndim == first->ndim && row->in[t->image] == first->in[t->image] &&
                     !memcmp(row->out, first->out, (size_t)row->ndim * sizeof *row->out);
        for (int k = 0; alike && k < 2; k++) {
            const struct graph_node *a = &g->nodes[row->in[k]], *b = &g->nodes[first->in[k]];
            alike = a->ndim == b->ndim &&
                    !memcmp(row->terms[k], first->terms[k], (size_t)a->ndim * sizeof(int)) &&
                    !memcmp(a->shape, b->shape, (size_t)a->ndim * sizeof *a->shape);
        }
        if (!alike)
            return false;
    }
    return true;
}

/* Whether one operand has all dimensions along which pixels lie apart, and the other none. */
static bool find_image(const struct gathering *g, struct transposed *t) {
    const struct graph_node *product = &g->nodes[t->taps[0].product];
    for (t->image = 0; t->image < 2; t->image++) {
        bool fits = true;
        int apart = 0;
        for (int d = 0; d < t->ndim; d++) {
            if (!t->step[d])
                continue;
            apart++;
            fits &= labelled(g, product, t->image, t->out[d]) >= 0 &&
                    labelled(g, product, 1 - t->image, t->out[d]) < 0;
        }
        if (fits && apart && apart <= 2 && is_fp32(&g->nodes[product->in[t->image]]) &&
            is_fp32(&g->nodes[product->in[1 - t->image]]) && are_alike(g, t))
            return true;
    }
    return false;
}

static bool find_sum(const struct gathering *g, int node, struct transposed *t) {
    if (g->nodes[node].op->kind != GRAPH_UPDATE || !collect(g, node, t))
        return false;
    const struct graph_node *product = &g->nodes[t->taps[0].product];
    memcpy(t->out, product->out, sizeof *product->out * (size_t)product->ndim);
    bool spread = false; /* one whose parts have no pixels between is one of padding */
    for (int d = 0; d < t->ndim; d++)
        spread |= t->step[d] > 1;
    return (spread || t->count > 1) && product->ndim == t->ndim && find_image(g, t);
}

/* ---- a window within pixels ------------------------------------------------------------------ */

/* Pairs of dimensions of a product that are one in the reshaped one: pixels, and the window. */
static bool find_pairs(const struct gathering *g, const struct graph_node *row,
                       const struct graph_node *product, struct transposed *t) {
    const struct graph_node *from = &g->nodes[row->in[0]];
    int e = 0;
    for (int d = 0; d < from->ndim && e < row->ndim; d++, e++) {
        int64_t k = d + 1 < from->ndim ? from->shape[d + 1] : 1;
        t->out[e] = t->apart[d];
        if (row->shape[e] == from->shape[d] && row->shape[e] > 1)
            continue;
        if (d + 1 == from->ndim || row->shape[e] != from->shape[d] * k || k < 2)
            return row->shape[e] == from->shape[d] && d + 1 == from->ndim;
        int at = labelled(g, product, 1 - t->image, t->apart[d + 1]);
        if (at < 0 || labelled(g, product, t->image, t->apart[d + 1]) >= 0)
            return false;
        t->step[e] = k;
        t->window[at] = true;
        d++;
    }
    return e == row->ndim;
}

/* The product that is reshaped, transposed before or not; -1: there is none. */
static int reshaped_product(const struct gathering *g, const struct graph_node *row) {
    if (row->op->kind != GRAPH_RESHAPE || g->copy.users[row->in[0]] != 1)
        return -1;
    int of = row->in[0];
    if (g->nodes[of].op->kind == GRAPH_TRANSPOSE)
        of = g->nodes[of].in[0];
    return is_product(&g->nodes[of]) && g->copy.users[of] == 1 ? of : -1;
}

static void find_labels(const struct gathering *g, const struct graph_node *row,
                        const struct graph_node *product, struct transposed *t) {
    const struct graph_node *from = &g->nodes[row->in[0]];
    for (int d = 0; d < from->ndim; d++)
        t->apart[d] = product->out[from == product ? d : from->axes[d]];
}

static bool find_window(const struct gathering *g, int node, struct transposed *t) {
    const struct graph_node *row = &g->nodes[node];
    int of = reshaped_product(g, row);
    if (of < 0)
        return false;
    const struct graph_node *product = &g->nodes[of];
    for (int image = 0; image < 2; image++) {
        *t = (struct transposed){.ndim = row->ndim, .image = image, .is_windowed = true};
        memcpy(t->shape, row->shape, sizeof t->shape);
        t->taps[0].product = of;
        t->count = 1;
        find_labels(g, row, product, t);
        if (find_pairs(g, row, product, t) && find_image(g, t) && t->image == image)
            break;
        t->count = 0;
    }
    int64_t taps = 1;
    for (int d = 0; d < t->ndim; d++)
        taps *= t->step[d] ? t->step[d] : 1;
    if (!t->count || taps < 2 || taps > MOST_TAPS)
        return false;
    for (t->count = 0; t->count < taps; t->count++) {
        struct tap *tap = &t->taps[t->count];
        int64_t rest = t->count;
        tap->product = of;
        for (int d = t->ndim; d-- > 0;) {
            if (!t->step[d])
                continue;
            tap->first[d] = rest % t->step[d];
            rest /= t->step[d];
        }
    }
    return true;
}

/* ---- the convolution ------------------------------------------------------------------------- */

static struct graph_node *add(struct gathering *g, const char *name, const struct graph_node *like,
                              int a, int b) {
    struct graph_node *node = &g->copy.to->nodes[g->copy.to->count++];
    *node = (struct graph_node){.op = graph_op_named(name),
                                .name = name,
                                .line = like->line,
                                .ndim = like->ndim,
                                .dtype = like->dtype,
                                .in_count = (a >= 0) + (b >= 0),
                                .argument = -1};
    memcpy(node->shape, like->shape, sizeof node->shape);
    node->in = ARENA_ARRAY(g->copy.arena, int, 2);
    node->in[0] = a;
    node->in[1] = b;
    return node;
}

static int last(const struct gathering *g) {
    return g->copy.to->count - 1;
}

/* The latest and the earliest place where results begin. */
static int64_t latest(const struct transposed *t, int d, bool earliest) {
    int64_t found = t->taps[0].first[d];
    for (int i = 1; i < t->count; i++)
        if ((t->taps[i].first[d] < found) == earliest)
            found = t->taps[i].first[d];
    return found;
}

/* The image with zeros around and between its pixels. */
static int add_image(struct gathering *g, const struct transposed *t) {
    const struct graph_node *product = &g->nodes[t->taps[0].product];
    const struct graph_node *image = &g->nodes[product->in[t->image]];
    struct graph_node *zeros = add(g, "constant", image, -1, -1);
    zeros->has_fill = true;
    struct graph_node *inset =
        add(g, "update", image, last(g), g->copy.new_of[product->in[t->image]]);
    inset->line = zeros->line = product->line;
    for (int d = 0; d < image->ndim; d++)
        inset->part[d] = (struct graph_range){0, image->shape[d], 1};
    for (int d = 0; d < t->ndim; d++) {
        int own = t->step[d] ? labelled(g, product, t->image, t->out[d]) : -1;
        if (own < 0)
            continue;
        inset->part[own].first = latest(t, d, false);
        inset->part[own].step = t->step[d];
        inset->shape[own] = latest(t, d, false) - latest(t, d, true) + t->shape[d];
    }
    memcpy(zeros->shape, inset->shape, sizeof zeros->shape);
    return last(g);
}

static int add_part(struct gathering *g, const struct transposed *t, const struct tap *tap,
                    int image) {
    const struct graph_node *product = &g->nodes[tap->product];
    struct graph_node *part = add(g, "slice", &g->copy.to->nodes[image], image, -1);
    for (int d = 0; d < part->ndim; d++)
        part->part[d] = (struct graph_range){0, part->shape[d], 1};
    for (int d = 0; d < t->ndim; d++) {
        int own = t->step[d] ? labelled(g, product, t->image, t->out[d]) : -1;
        if (own < 0)
            continue;
        part->part[own].first = latest(t, d, false) - tap->first[d];
        part->part[own].count = part->shape[own] = t->shape[d];
    }
    part->line = product->line;
    return last(g);
}

/* The weights of a tap, without the dimensions of the window. */
static int add_weights(struct gathering *g, const struct transposed *t, const struct tap *tap) {
    const struct graph_node *product = &g->nodes[tap->product];
    int source = g->copy.new_of[product->in[1 - t->image]];
    if (!t->is_windowed)
        return source;
    const struct graph_node *all = &g->copy.to->nodes[source];
    struct graph_node *part = add(g, "slice", all, source, -1);
    for (int d = 0; d < part->ndim; d++)
        part->part[d] = (struct graph_range){0, part->shape[d], 1};
    for (int d = 0, e = 0; d < product->ndim; d++, e++) {
        if (!t->step[e])
            continue;
        int at = labelled(g, product, 1 - t->image, t->apart[++d]);
        part->part[at] = (struct graph_range){tap->first[e], 1, 1};
        part->shape[at] = 1;
    }
    struct graph_node *narrow = add(g, "reshape", part, last(g), -1);
    narrow->ndim = 0;
    for (int d = 0; d < part->ndim; d++)
        if (!t->window[d])
            narrow->shape[narrow->ndim++] = part->shape[d];
    return last(g);
}

static int add_product(struct gathering *g, const struct transposed *t, const struct tap *tap,
                       int image) {
    const struct graph_node *product = &g->nodes[tap->product];
    int part = add_part(g, t, tap, image), weights = add_weights(g, t, tap), kept = 0;
    struct graph_node *node =
        add(g, product->name, product, t->image ? weights : part, t->image ? part : weights);
    node->ndim = t->ndim;
    memcpy(node->shape, t->shape, sizeof node->shape);
    node->out = ARENA_ARRAY(g->copy.arena, int, GRAPH_MAX_DIMS);
    memcpy(node->out, t->out, (size_t)t->ndim * sizeof *node->out);
    node->terms = arena_alloc(g->copy.arena, 2, sizeof *node->terms);
    memcpy(node->terms[t->image], product->terms[t->image], sizeof *node->terms);
    for (int d = 0; d < g->nodes[product->in[1 - t->image]].ndim; d++)
        if (!t->window[d])
            node->terms[1 - t->image][kept++] = product->terms[1 - t->image][d];
    return last(g);
}

static void gather(struct gathering *g, int node, const struct transposed *t) {
    int image = add_image(g, t), total = -1;
    for (int i = 0; i < t->count; i++) {
        int product = add_product(g, t, &t->taps[i], image);
        if (total >= 0)
            add(g, "add", &g->copy.to->nodes[product], total, product);
        total = last(g);
    }
    g->copy.new_of[node] = total;
}

static bool find(const struct gathering *g, int node, struct transposed *t) {
    return is_fp32(&g->nodes[node]) && (find_sum(g, node, t) || find_window(g, node, t));
}

/* Those that are found, the last ones first: what is a part of one is none of its own. */
static size_t find_all(struct gathering *g, int count, bool *found) {
    struct transposed t;
    size_t most = 0;
    for (int i = count; i-- > 0;) {
        found[i] = !g->gone[i] && find(g, i, &t);
        if (!found[i])
            continue;
        most += NODES_EACH * (size_t)t.count + 2;
        for (int at = i; !t.is_windowed && !is_zero(&g->nodes[at]); at = g->nodes[at].in[0])
            g->gone[at] = true;
    }
    return most;
}

/* What nobody reads any more is not written. */
static void drop_unread(struct gathering *g) {
    struct graph *to = g->copy.to;
    bool *read = ARENA_ARRAY(g->copy.arena, bool, (size_t)to->count + 1);
    for (int i = 0; i < to->output_count; i++)
        read[to->outputs[i]] = true;
    for (int i = to->count; i-- > 0;)
        for (int k = 0; read[i] && k < to->nodes[i].in_count; k++)
            read[to->nodes[i].in[k]] = true;
    for (int i = 0; i < to->count; i++)
        if (!read[i] && to->nodes[i].op->kind != GRAPH_INPUT)
            graph_copy_drop(&g->copy, i);
}

void graph_gather(struct graph *graph, struct arena *arena) {
    size_t count = (size_t)graph->count + 1;
    struct gathering g = {.nodes = graph->nodes, .gone = ARENA_ARRAY(arena, bool, count)};
    bool *found = ARENA_ARRAY(arena, bool, count);
    struct transposed t;
    graph_copy_begin(&g.copy, graph, 0, arena); /* who uses what */
    size_t most = find_all(&g, graph->count, found);
    if (!most || most + count > GRAPH_MAX_NODES)
        return;
    graph_copy_begin(&g.copy, graph, most, arena);
    for (int i = 0; i < graph->count; i++)
        if (found[i] && find(&g, i, &t))
            gather(&g, i, &t);
        else
            graph_copy_node(&g.copy, i);
    *graph = *graph_copy_end(&g.copy);
    drop_unread(&g);
}
