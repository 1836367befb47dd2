/* SPDX-License-Identifier: Apache-2.0 */
/* What a product of two arrays goes along: sides of its domain, which of them become tiles, and in
 * what order the arrays have them. */
#include "write/products.h"

/* ---- sides ----------------------------------------------------------------------------------- */

static const struct dimension *dimension_of(const struct product *p, enum which which, int label) {
    const int *labels = which == RESULT ? p->node->out : p->node->terms[which];
    for (int d = 0; d < p->views[which].ndim; d++)
        if (labels[d] == label)
            return &p->views[which].dims[d];
    return NULL;
}

static bool add_label(struct product *p, int label) {
    const struct dimension *dims[ARRAYS];
    for (enum which i = LEFT; i < ARRAYS; i++)
        dims[i] = dimension_of(p, i, label);
    enum class class = dims[RESULT] ? dims[LEFT] && dims[RIGHT] ? BATCH
                                      : dims[LEFT]              ? ROW
                                                                : COLUMN
                                    : SUMMED;
    if (class == SUMMED && !(dims[LEFT] && dims[RIGHT]))
        return false;
    int64_t sizes[VIEW_MAX_FACTORS], strides[ARRAYS][VIEW_MAX_FACTORS] = {0};
    struct cuts cuts = {0};
    for (enum which i = LEFT; i < ARRAYS; i++)
        if (dims[i])
            dimension_cut(dims[i], &cuts);
    int count = cuts_sizes(&cuts, sizes);
    if (count < 0 || p->count + count > PRODUCT_MAX_SIDES)
        return false;
    for (enum which i = LEFT; i < ARRAYS; i++)
        if (dims[i] && !dimension_refine(dims[i], sizes, count, strides[i]))
            return false;
    for (int f = 0; f < count; f++)
        p->sides[p->count++] = (struct product_side){
            class, label, sizes[f], {strides[LEFT][f], strides[RIGHT][f], strides[RESULT][f]}};
    return true;
}

static bool add_labels(struct product *p) {
    for (enum which i = LEFT; i <= RIGHT; i++)
        for (int d = 0; d < p->views[i].ndim; d++) {
            int label = p->node->terms[i][d];
            bool seen = false;
            for (int e = 0; e < p->views[LEFT].ndim && i == RIGHT; e++)
                seen |= p->node->terms[LEFT][e] == label;
            if (!seen && !add_label(p, label))
                return false;
        }
    return true;
}

/* Sides of a class that every array runs through in one go are one. */
static void merge(struct product *p) {
    for (int a = 0; a + 1 < p->count;) {
        struct product_side *x = &p->sides[a], *y = x + 1;
        bool fits = x->class == y->class;
        for (int i = 0; i < ARRAYS; i++)
            fits &= x->strides[i] == y->strides[i] * y->n;
        if (!fits) {
            a++;
            continue;
        }
        y->n *= x->n;
        memmove(x, y, (size_t)(p->count - a - 1) * sizeof *x);
        p->count--;
    }
}

/* The longest side of a class becomes tiles; the others are loops. */
static void choose(struct product *p) {
    for (enum class class = ROW; class < CLASSES; class ++) {
        p->main[class] = (struct product_side){.class = class, .n = 1};
        int best = -1;
        for (int s = 0; s < p->count; s++)
            if (p->sides[s].class == class && (best < 0 || p->sides[s].n > p->sides[best].n))
                best = s;
        if (best < 0)
            continue;
        p->main[class] = p->sides[best];
        p->count--;
        memmove(&p->sides[best], &p->sides[best + 1], (size_t)(p->count - best) * sizeof *p->sides);
    }
}

/* ---- opening --------------------------------------------------------------------------------- */

static const char *operand_dtype(const struct product *p) {
    const struct buffer *all = p->writer->buffers.at;
    const char *left = all[p->views[LEFT].buffer].dtype, *right = all[p->views[RIGHT].buffer].dtype;
    bool narrow =
        strcmp(left, right) == 0 && (!strcmp(left, "bfloat16") || !strcmp(left, "float16"));
    return narrow ? left : "float32";
}

static const char *choose_sides(struct product *p) {
    merge(p);
    choose(p);
    for (int s = 0; s < p->count; s++)
        if (p->sides[s].class == SUMMED)
            return "a sum over dimensions that do not lie side by side";
    return NULL;
}

static void find_turns(struct product *p) {
    const struct product_side *sum = &p->main[SUMMED];
    for (enum which i = LEFT; i <= RIGHT; i++) {
        const struct product_side *own = &p->main[i == LEFT ? ROW : COLUMN];
        p->turns[i] = sum->strides[i] == 1 && own->strides[i] != 1 && own->n > 1;
    }
}

/* ---- batches that lie innermost -------------------------------------------------------------- */

static bool has_label(const int *labels, int ndim, int label) {
    for (int d = 0; d < ndim; d++)
        if (labels[d] == label)
            return true;
    return false;
}

static bool is_batch(const struct writer *w, const struct graph_node *node, int label) {
    return has_label(node->out, node->ndim, label) &&
           has_label(node->terms[LEFT], w->graph->nodes[node->in[LEFT]].ndim, label) &&
           has_label(node->terms[RIGHT], w->graph->nodes[node->in[RIGHT]].ndim, label);
}

/* The dimensions of a view by their stride, the largest first; false where one has several. */
static bool order_dimensions(const struct view *view, int *order, int *count) {
    *count = 0;
    for (int d = 0; d < view->ndim; d++) {
        if (view->dims[d].count > 1 || (view->dims[d].count && !view->dims[d].at[0].stride))
            return false;
        if (!view->dims[d].count || view->dims[d].at[0].n == 1)
            continue;
        int k = (*count)++;
        for (; k > 0 && view->dims[order[k - 1]].at[0].stride < view->dims[d].at[0].stride; k--)
            order[k] = order[k - 1];
        order[k] = d;
    }
    return *count > 1;
}

/* The last one that is no batch goes behind the batches; false where it is the last one. */
static bool move_last(const struct writer *w, const struct graph_node *node, const int *labels,
                      int *order, int count) {
    int last = count - 1;
    while (last >= 0 && is_batch(w, node, labels[order[last]]))
        last--;
    if (last < 0 || last == count - 1)
        return false;
    int moved = order[last];
    memmove(&order[last], &order[last + 1], (size_t)(count - 1 - last) * sizeof *order);
    order[count - 1] = moved;
    return true;
}

/* Where each batch would be fetched element by element, its rows are to lie side by side: a new
 * buffer, as the array's view is there. False where that is so already, or is not wanted. */
static bool bring_outside(struct writer *w, int index, enum which which, const struct view *view,
                          struct view *place) {
    static const char *const names[ARRAYS] = {"left_batches", "right_batches", "batches"};
    static const int64_t values[] = {1, 0};
    const struct graph_node *node = &w->graph->nodes[index];
    const int *labels = which == RESULT ? node->out : node->terms[which];
    int order[GRAPH_MAX_DIMS], count;
    if (!order_dimensions(view, order, &count) || !move_last(w, node, labels, order, count) ||
        !write_choose(w, index, names[which],
                      "batches that lie innermost: are brought outside of rows first (1), are read "
                      "and written one by one (0)",
                      values, 2))
        return false;
    int64_t shape[GRAPH_MAX_DIMS], stride = 1;
    *place = (struct view){.ndim = view->ndim};
    for (int i = count; i-- > 0;) {
        struct dimension *to = &place->dims[order[i]];
        shape[i] = view->dims[order[i]].at[0].n;
        to->at[to->count++] = (struct factor){shape[i], stride};
        stride *= shape[i];
    }
    int array = which == RESULT ? index : node->in[which];
    const char *base = arena_printf(w->arena, "%s_%d_rows", w->graph->nodes[array].name, array);
    const char *dtype = which == RESULT ? node->dtype : w->buffers.at[view->buffer].dtype;
    place->buffer = write_buffer(w, base, dtype, shape, count);
    return true;
}

bool product_result_outside(struct writer *writer, int index, const struct view *view,
                            struct view *place) {
    return writer->graph->nodes[index].in_count == 2 &&
           bring_outside(writer, index, RESULT, view, place);
}

static bool find_operand(struct product *p, int index, enum which which) {
    struct view place;
    int of = p->node->in[which];
    if (!write_view(p->writer, of, &p->views[which]))
        return false;
    if (p->writer->buffers.at[p->views[which].buffer].is_made ||
        !bring_outside(p->writer, index, which, &p->views[which], &place))
        return true;
    p->views[which] = place;
    return rows_copy(p->writer, of, &place);
}

/* ---- sums over dimensions that lie apart ----------------------------------------------------- */

/* Whether an operand runs through all that is summed over in one go, in the order of the sides. */
static bool sums_in_one_go(struct product *p, enum which which) {
    const struct product_side *outer = NULL;
    p->count = 0;
    if (!add_labels(p))
        return false;
    for (int s = 0; s < p->count; s++) {
        const struct product_side *side = &p->sides[s];
        if (side->class != SUMMED)
            continue;
        if (outer && outer->strides[which] != side->strides[which] * side->n)
            return false;
        outer = side;
    }
    return true;
}

/* Copies an operand so that what is summed over lies innermost, in the order of the left one. */
static bool put_sums_inside(struct product *p, enum which which) {
    struct writer *w = p->writer;
    int of = p->node->in[which], order[GRAPH_MAX_DIMS], count = 0;
    const struct graph_node *node = &w->graph->nodes[of];
    const struct buffer *buffer = &w->buffers.at[p->views[which].buffer];
    if (buffer->is_made) {
        write_apart(w, buffer->node);
        return false;
    }
    for (int d = 0; d < node->ndim; d++)
        if (has_label(p->node->out, p->node->ndim, p->node->terms[which][d]))
            order[count++] = d;
    for (int e = 0; e < p->views[LEFT].ndim; e++)
        for (int d = 0; d < node->ndim; d++)
            if (p->node->terms[which][d] == p->node->terms[LEFT][e] &&
                !has_label(p->node->out, p->node->ndim, p->node->terms[LEFT][e]))
                order[count++] = d;
    int64_t shape[GRAPH_MAX_DIMS], stride = 1;
    struct view place = {.ndim = node->ndim};
    for (int i = count; i-- > 0;) {
        shape[i] = node->shape[order[i]];
        place.dims[order[i]] = (struct dimension){{{shape[i], stride}}, 1};
        stride *= shape[i];
    }
    const char *base = arena_printf(w->arena, "%s_%d_sums", node->name, of);
    place.buffer = write_buffer(w, base, buffer->dtype, shape, count);
    p->views[which] = place;
    return count == node->ndim && rows_copy(w, of, &place);
}

static void group_sides(struct product *p) {
    for (int i = 1; i < p->count; i++)
        for (int k = i; k > 0 && p->sides[k - 1].class > p->sides[k].class; k--) {
            struct product_side side = p->sides[k];
            p->sides[k] = p->sides[k - 1];
            p->sides[k - 1] = side;
        }
}

/* The sides once more, with operands whose sums lie side by side; why there are none, else. */
static const char *find_sides_in_order(struct product *p) {
    for (enum which i = LEFT; i <= RIGHT; i++)
        if (!sums_in_one_go(p, i) && !put_sums_inside(p, i))
            return "a sum over dimensions that do not lie side by side";
    p->count = 0;
    if (!add_labels(p))
        return "its arrays do not divide into tiles";
    group_sides(p);
    return choose_sides(p);
}

bool product_open(struct product *p, struct writer *writer, int index, const struct view *to) {
    const struct graph_node *node = &writer->graph->nodes[index];
    *p = (struct product){.writer = writer,
                          .node = node,
                          .name = "",
                          .views = {[RESULT] = *to},
                          .make_rows = product_make_rows};
    if (node->in_count != 2) {
        write_gap(writer, node, "a product of more than two arrays");
        return false;
    }
    for (enum which i = LEFT; i <= RIGHT; i++)
        if (!find_operand(p, index, i))
            return false;
    p->dtype = operand_dtype(p);
    const char *why = "its arrays do not divide into tiles";
    if (add_labels(p) && (why = choose_sides(p)))
        why = find_sides_in_order(p);
    if (why)
        write_gap(writer, node, why);
    find_turns(p);
    product_choose_numbers(p);
    product_note_error(p, 0);
    return !why;
}

/* ---- a result that lies nowhere -------------------------------------------------------------- */

static bool goes_on(const struct product_side *outer, const struct product_side *inner) {
    return outer->strides[LEFT] == inner->strides[LEFT] * inner->n &&
           outer->strides[RIGHT] == inner->strides[RIGHT] * inner->n;
}

/* Strides of the result that tell the sides apart: between two that are not one for the operands
 * lies a gap, so that nobody who uses the result runs through both in one go. */
static void lay_out(struct product *p) {
    static const enum class order[] = {COLUMN, ROW, BATCH};
    int64_t stride = 1;
    const struct product_side *inner = NULL;
    for (size_t c = 0; c < COUNT_OF(order); c++)
        for (int s = p->count; s-- > 0;) {
            struct product_side *side = &p->sides[s];
            if (side->class != order[c])
                continue;
            if (inner && !(inner->class == side->class && goes_on(side, inner)))
                stride++;
            side->strides[RESULT] = stride;
            stride *= side->n;
            inner = side;
        }
}

bool product_layout(struct writer *writer, int index, struct view *view) {
    const struct graph_node *node = &writer->graph->nodes[index];
    struct product p = {.writer = writer, .node = node};
    if (node->in_count != 2)
        return false;
    for (enum which i = LEFT; i <= RIGHT; i++)
        if (!writer->values[node->in[i]].has_view)
            return false;
        else
            p.views[i] = writer->values[node->in[i]].view;
    p.views[RESULT] = view_whole(-1, node->shape, node->ndim);
    for (int d = 0; d < node->ndim; d++)
        p.views[RESULT].dims[d].at[0].stride = 0;
    if (!add_labels(&p))
        return false;
    lay_out(&p);
    *view = (struct view){.ndim = node->ndim};
    for (int s = 0; s < p.count; s++)
        for (int d = 0; d < node->ndim; d++)
            if (p.sides[s].class != SUMMED && node->out[d] == p.sides[s].label)
                view->dims[d].at[view->dims[d].count++] =
                    (struct factor){p.sides[s].n, p.sides[s].strides[RESULT]};
    return true;
}
