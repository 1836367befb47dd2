/* SPDX-License-Identifier: Apache-2.0 */
/* What a convolution goes along: pixels of rows and columns, channels, what is summed over; and the
 * grid that its taps lie in. */
#include <stdlib.h>

#include "write/taps/private.h"

static const struct dimension *dimension_of(const struct taps *t, enum tap_array array, int label) {
    const struct view *view = array == TAP_IMAGE     ? &t->image
                              : array == TAP_WEIGHTS ? &t->weights
                                                     : &t->out;
    const int *labels = array == TAP_IMAGE     ? t->node->terms[t->image_side]
                        : array == TAP_WEIGHTS ? t->node->terms[1 - t->image_side]
                                               : t->node->out;
    for (int d = 0; d < view->ndim; d++)
        if (labels[d] == label)
            return &view->dims[d];
    return NULL;
}

static bool add_label(struct taps *t, int label) {
    const struct dimension *dims[3];
    int64_t sizes[VIEW_MAX_FACTORS], strides[3][VIEW_MAX_FACTORS] = {0};
    struct cuts cuts = {0};
    for (enum tap_array i = TAP_IMAGE; i <= TAP_OUT; i++)
        if ((dims[i] = dimension_of(t, i, label)))
            dimension_cut(dims[i], &cuts);
    int count = cuts_sizes(&cuts, sizes);
    bool image = dims[TAP_IMAGE], weights = dims[TAP_WEIGHTS], out = dims[TAP_OUT];
    if (count < 0 || t->side_count + count > TAPS_SIDES || (!out && !(image && weights)))
        return false;
    enum tap_class class = !out       ? TAP_SUMMED
                           : !weights ? TAP_PIXEL
                           : image    ? TAP_BATCH
                                      : TAP_CHANNEL;
    for (enum tap_array i = TAP_IMAGE; i <= TAP_OUT; i++)
        if (dims[i] && !dimension_refine(dims[i], sizes, count, strides[i]))
            return false;
    for (int f = 0; f < count; f++)
        t->sides[t->side_count++] = (struct tap_side){class, sizes[f], strides[TAP_IMAGE][f],
                                                      strides[TAP_WEIGHTS][f], strides[TAP_OUT][f]};
    return true;
}

static bool add_labels(struct taps *t) {
    const int *image = t->node->terms[t->image_side], *weights = t->node->terms[1 - t->image_side];
    for (int d = 0; d < t->image.ndim; d++)
        if (!add_label(t, image[d]))
            return false;
    for (int d = 0; d < t->weights.ndim; d++) {
        bool seen = false;
        for (int e = 0; e < t->image.ndim; e++)
            seen |= image[e] == weights[d];
        if (!seen && !add_label(t, weights[d]))
            return false;
    }
    return true;
}

static void remove_side(struct taps *t, int at) {
    t->side_count--;
    memmove(&t->sides[at], &t->sides[at + 1], (size_t)(t->side_count - at) * sizeof *t->sides);
}

/* Sides of a class that every array runs through in one go are one. */
static void merge(struct taps *t) {
    for (int a = 0; a + 1 < t->side_count;) {
        struct tap_side *x = &t->sides[a], *y = x + 1;
        bool fits = x->class == y->class && x->image == y->image * y->n &&
                    x->weights == y->weights * y->n && x->out == y->out * y->n;
        if (!fits) {
            a++;
            continue;
        }
        y->n *= x->n;
        remove_side(t, a);
    }
}

/* Takes the only side of a class; one of one element where there is none. */
static bool take_only(struct taps *t, enum tap_class class, struct tap_side *side) {
    *side = (struct tap_side){.class = class, .n = 1};
    int found = 0;
    for (int s = t->side_count; s-- > 0;)
        if (t->sides[s].class == class) {
            *side = t->sides[s];
            remove_side(t, s);
            found++;
        }
    return found < 2;
}

static int64_t divisor_of(int64_t a, int64_t b) {
    return b ? divisor_of(b, a % b) : a;
}

/* ---- rows and columns ------------------------------------------------------------------------ */

static void find_unit(struct taps *t) {
    int64_t unit = 0;
    for (int s = 0; s < t->side_count; s++)
        if (t->sides[s].class == TAP_PIXEL)
            unit = divisor_of(unit, t->sides[s].image);
    for (int i = 1; i < t->count; i++)
        unit = divisor_of(unit, t->image_at[i] - t->image_at[0]);
    t->unit = unit ? unit : 1;
}

/* The pixel side with the smallest stride of those above `least`; -1: there is none. */
static int next_side(const struct taps *t, int64_t least) {
    int best = -1;
    for (int s = 0; s < t->side_count; s++)
        if (t->sides[s].class == TAP_PIXEL && t->sides[s].image > least &&
            (best < 0 || t->sides[s].image < t->sides[best].image))
            best = s;
    return best;
}

/* Whether rows of so many pixels have taps and columns in their places, and the grid then. */
static bool find_grid(struct taps *t, int64_t pitch) {
    struct tap_grid grid = {.rows = 1, .columns = 1};
    int64_t down[TAPS_MOST], across[TAPS_MOST];
    for (int i = 0; i < t->count; i++) {
        down[i] = t->image_at[i] / t->unit / pitch;
        across[i] = t->image_at[i] / t->unit % pitch;
        if (across[i] + (t->column.n - 1) * t->column.image / t->unit >= pitch)
            return false;
    }
    while (grid.columns < t->count && down[grid.columns] == down[0])
        grid.columns++;
    if (t->count % grid.columns)
        return false;
    grid.rows = t->count / grid.columns;
    if (grid.columns > 1) {
        grid.column_step = across[1] - across[0];
        grid.weights_column = t->weights_at[1] - t->weights_at[0];
    }
    if (grid.rows > 1) {
        grid.row_step = down[grid.columns] - down[0];
        grid.weights_row = t->weights_at[grid.columns] - t->weights_at[0];
    }
    for (int i = 0; i < t->count; i++) {
        int64_t r = i / grid.columns, c = i % grid.columns;
        if (down[i] != down[0] + r * grid.row_step ||
            across[i] != across[0] + c * grid.column_step ||
            t->weights_at[i] != t->weights_at[0] + r * grid.weights_row + c * grid.weights_column)
            return false;
    }
    t->pitch = pitch;
    t->first_column = across[0];
    t->grid = grid;
    return true;
}

/* Rows are as long as a dimension of the array says. */
static bool find_pitch(struct taps *t) {
    const struct buffer *buffer = &t->writer->buffers.at[t->image.buffer];
    int64_t stride = 1;
    for (int d = buffer->ndim; d-- > 0;) {
        stride *= buffer->shape[d];
        bool fits = stride % t->unit == 0 && stride > t->unit &&
                    (t->row.n == 1 || t->row.image % stride == 0);
        if (fits && find_grid(t, stride / t->unit))
            return true;
    }
    return false;
}

static bool find_pixels(struct taps *t) {
    find_unit(t);
    int at = next_side(t, 0);
    if (at < 0)
        return false;
    t->column = t->sides[at];
    remove_side(t, at);
    t->row = (struct tap_side){.class = TAP_PIXEL, .n = 1};
    int next = next_side(t, t->column.image);
    if (next >= 0) {
        t->row = t->sides[next];
        remove_side(t, next);
        if (find_pitch(t))
            return true;
        t->sides[t->side_count++] = t->row;
        t->row = (struct tap_side){.class = TAP_PIXEL, .n = 1};
    }
    return find_pitch(t);
}

/* ---- operands -------------------------------------------------------------------------------- */

/* Whether a view lies as another one does, but elsewhere. */
static bool lies_alike(const struct view *a, const struct view *b) {
    struct view moved = *b;
    moved.offset = a->offset;
    return view_is_same(a, &moved);
}

static void sort(struct taps *t) {
    for (int i = 1; i < t->count; i++)
        for (int k = i; k > 0 && t->image_at[k - 1] > t->image_at[k]; k--) {
            int64_t image = t->image_at[k], weights = t->weights_at[k];
            t->image_at[k] = t->image_at[k - 1];
            t->weights_at[k] = t->weights_at[k - 1];
            t->image_at[k - 1] = image;
            t->weights_at[k - 1] = weights;
        }
}

static bool take_operands(struct taps *t, const struct view *operands) {
    t->count = t->node->in_count / 2;
    t->image = operands[t->image_side];
    t->weights = operands[1 - t->image_side];
    for (int i = 0; i < t->count; i++) {
        const struct view *image = &operands[2 * i + t->image_side];
        const struct view *weights = &operands[2 * i + 1 - t->image_side];
        if (!lies_alike(&t->image, image) || !lies_alike(&t->weights, weights))
            return false;
        t->image_at[i] = image->offset;
        t->weights_at[i] = weights->offset;
    }
    sort(t);
    for (int i = 1; i < t->count; i++)
        if (t->image_at[i] == t->image_at[i - 1])
            return false;
    t->image.offset = t->image_at[0];
    t->weights.offset = t->weights_at[0];
    const struct buffer *all = t->writer->buffers.at;
    t->dtype = all[t->image.buffer].dtype;
    t->inset = all[t->image.buffer].inset;
    return (!all[t->image.buffer].is_made || t->inset) && !all[t->weights.buffer].is_made &&
           strcmp(t->dtype, all[t->weights.buffer].dtype) == 0;
}

bool taps_read(struct taps *t, const struct view *operands, const struct view *to) {
    t->out = *to;
    if (!take_operands(t, operands) || !add_labels(t))
        return false;
    merge(t);
    if (!take_only(t, TAP_SUMMED, &t->summed) || !take_only(t, TAP_CHANNEL, &t->channel) ||
        !find_pixels(t))
        return false;
    t->pixels_first = t->summed.image == 1 && t->summed.n <= t->unit;
    t->over = t->channel.out == 1 && t->channel.n > 1;
    t->turns = t->channel.n > 1 && t->channel.weights >= taps_reach(t) && t->summed.n > 1;
    return t->pixels_first || t->unit == 1;
}
