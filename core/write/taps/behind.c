/* SPDX-License-Identifier: Apache-2.0 */
/* How the sums of a convolution leave PSUM: with what is added to each channel, through a function
 * of Scalar. */
#include "write/taps/private.h"

/* The stride of a view along the channels; false where it has another one, too. */
static bool find_stride(struct taps *t) {
    int64_t stride = 0;
    for (int d = 0; d < t->bias.ndim; d++)
        for (int f = 0; f < t->bias.dims[d].count; f++) {
            const struct factor *factor = &t->bias.dims[d].at[f];
            if (factor->n == 1 || factor->stride == 0)
                continue;
            if (stride || factor->n != t->channel.n)
                return false;
            stride = factor->stride;
        }
    t->bias_stride = stride;
    return stride != 0;
}

bool behind_read(struct taps *t, const struct view *bias) {
    t->has_bias = t->node->in_count % 2;
    if (!t->has_bias)
        return true;
    return !t->writer->buffers.at[bias->buffer].is_made &&
           view_spread(bias, t->node->shape, t->node->ndim, &t->bias) && find_stride(t);
}

/* On the partitions as channels are, or the same for all pixels. */
void behind_load(struct taps *t, const struct span *channels) {
    struct writer *w = t->writer;
    if (!t->has_bias)
        return;
    int indent = w->indent;
    struct access access = {.buffer = t->bias.buffer, .offset = t->bias.offset};
    if (strcmp(channels->at, "0"))
        access_add(&access, channels->at, t->bias_stride, channels->most);
    access.col_count = 1;
    if (t->over) {
        access.rows = taps_number(t, PARTITIONS);
        access.cols[0] = channels->size;
        access.strides[0] = t->bias_stride;
        access.cols_most = channels->width;
        write_line(w, "bias = nl.ndarray((%d, %s), dtype=nl.float32, buffer=nl.sbuf)", PARTITIONS,
                   channels->size);
        write_line(w, "nisa.dma_copy(dst=bias, src=%s)", write_access(w, &access));
        return;
    }
    int64_t most = MIN_OF(channels->width, PARTITIONS);
    write_line(w, "bias = nl.ndarray((%lld, %lld), dtype=nl.float32, buffer=nl.sbuf)",
               (long long)most, (long long)((channels->width + PARTITIONS - 1) / PARTITIONS));
    struct span o = taps_parts(w, "o", "high", channels, PARTITIONS);
    if (strcmp(o.at, "0"))
        access_add(&access, o.at, t->bias_stride, o.most);
    access.rows = o.size;
    access.row = t->bias_stride;
    access.cols[0] = "1";
    access.strides[0] = access.cols_most = 1;
    const char *tile = product_tile_of(w, &o);
    write_line(w, "nisa.dma_copy(dst=bias[0:%s, %s], src=%s)", o.size, taps_slice(t, tile, "1", 1),
               write_access(w, &access));
    w->indent = indent;
}

/* By Vector, which can do no other function than this one. */
static void leave_by_vector(struct taps *t, const char *to, const char *bias) {
    bool limits = t->node->behind;
    if (!bias && !limits)
        write_line(t->writer, "nisa.tensor_copy(dst=%s, src=sums)", to);
    else
        write_line(t->writer, "nisa.tensor_scalar(dst=%s, data=sums, op0=nl.%s, operand0=%s%s)", to,
                   bias ? "add" : "maximum", bias ? bias : "0.0",
                   bias && limits ? ", op1=nl.maximum, operand1=0.0" : "");
}

static void leave_by_scalar(struct taps *t, const char *to, const char *bias) {
    const char *function = t->node->behind ? t->node->behind : "copy";
    write_line(t->writer, "nisa.activation(dst=%s, op=nl.%s, data=sums%s%s)", to, function,
               bias ? ", bias=" : "", bias ? bias : "");
}

/* Pixels are rows: what is added is not the same for all of one. */
static void leave_with_rows(struct taps *t, const char *to, const struct span *o,
                            const char *pixels) {
    write_line(t->writer, "nisa.tensor_tensor(dst=%s, data1=sums, data2=bias[0:%s, %s], op=nl.add)",
               to, pixels, taps_slice(t, o->at, o->size, 1));
    if (t->node->behind)
        write_line(t->writer, "nisa.activation(dst=%s, op=nl.%s, data=%s)", to, t->node->behind,
                   to);
}

void behind_leave(struct taps *t, const char *to, const struct span *o, const char *pixels) {
    static const int64_t values[] = {0, 1};
    const char *function = t->node->behind, *bias = NULL;
    if (t->has_bias && t->over) {
        leave_with_rows(t, to, o, pixels);
        return;
    }
    if (t->has_bias)
        bias = arena_printf(t->writer->arena, "bias[0:%s, %s]", o->size,
                            taps_slice(t, product_tile_of(t->writer, o), "1", 1));
    bool either = !function || !strcmp(function, "relu");
    bool vector =
        either && write_choose(t->writer, t->index, "leaves_by",
                               "sums leave PSUM: by Scalar (0), by Vector (1)", values, 2);
    (vector ? leave_by_vector : leave_by_scalar)(t, to, bias);
}
