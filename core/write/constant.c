/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays that forward makes of nothing: ranges and causal masks are computed on the GpSimd engine
 * (iota, affine_select), short lists are written into the kernel. */
#include <math.h>

#include "write/private.h"

#define WIDEST 2048 /* columns of a tile */
#define LISTED 8    /* numbers in a line */

struct constant {
    struct writer *writer;
    const struct graph_node *node;
    struct access access;
    struct buf leading; /* what loops over leading dimensions add to the first number */
    const char *r, *c;  /* where the tile begins */
    const char *rows, *columns;
    int64_t row_count, column_count;
    double row_step, column_step; /* of a plane */
};

static bool is_whole(double number) {
    return number == floor(number) && fabs(number) < 1 << 24;
}

static bool is_whole_plane(const struct constant *k) {
    bool whole = is_whole(k->node->constant->first);
    for (int d = 0; d < k->node->ndim; d++)
        whole &= is_whole(k->node->constant->steps[d]) &&
                 is_whole(k->node->constant->steps[d] * (double)k->node->shape[d]);
    return whole;
}

static void declare(struct constant *k, const char *name, const char *dtype) {
    write_line(k->writer, "%s = nl.ndarray((%s, %s), dtype=nl.%s, buffer=nl.sbuf)", name, k->rows,
               k->columns, dtype);
}

static void add_part(struct buf *sum, const char *variable, double times) {
    if (times == 0 || strcmp(variable, "0") == 0)
        return;
    buf_puts(sum, !sum->len ? times < 0 ? "-" : "" : times < 0 ? " - " : " + ");
    buf_puts(sum, variable);
    if (fabs(times) != 1)
        buf_printf(sum, " * %.9g", fabs(times));
}

static void add_number(struct buf *sum, double number) {
    if (!sum->len)
        buf_printf(sum, "%.9g", number);
    else if (number != 0)
        buf_printf(sum, " %c %.9g", number < 0 ? '-' : '+', fabs(number));
}

/* Integer tiles take integers. */
static const char *number_of(struct constant *k, double number) {
    return strstr(k->node->dtype, "float") ? write_number(k->writer, number)
                                           : arena_printf(k->writer->arena, "%.0f", number);
}

/* Whole numbers come out of one iota, as its pattern, multiplier and offset. */
static void fill_whole(struct constant *k) {
    struct buf offset = {0};
    buf_puts(&offset, k->leading.len ? k->leading.at : "");
    add_part(&offset, k->r, k->row_step);
    add_part(&offset, k->c, k->column_step);
    add_number(&offset, k->node->constant->first);
    write_line(k->writer,
               "nisa.iota(dst=tile, pattern=[[%.0f, %s]], offset=%s, channel_multiplier=%.0f)",
               k->column_step, k->columns, offset.at, k->row_step);
    buf_free(&offset);
}

/* Others are indices times a step; the row's part is added as one number for each row. */
static void fill_plane(struct constant *k) {
    struct writer *w = k->writer;
    struct buf first = {0};
    buf_puts(&first, k->leading.len ? k->leading.at : "");
    add_part(&first, k->r, k->row_step);
    add_number(&first, k->node->constant->first);
    declare(k, "index", "float32");
    write_line(w, "row = nl.ndarray((%s, 1), dtype=nl.float32, buffer=nl.sbuf)", k->rows);
    write_line(w, "nisa.iota(dst=index, pattern=[[1, %s]], offset=%s, channel_multiplier=0)",
               k->columns, k->c);
    write_line(w, "nisa.iota(dst=row, pattern=[[1, 1]], offset=0, channel_multiplier=1)");
    write_line(w,
               "nisa.tensor_scalar(dst=row, data=row, op0=nl.multiply, operand0=%s, op1=nl.add, "
               "operand1=%s)",
               write_number(w, k->row_step), first.at);
    write_line(w,
               "nisa.tensor_scalar(dst=tile, data=index, op0=nl.multiply, operand0=%s, op1=nl.add, "
               "operand1=row)",
               write_number(w, k->column_step));
    buf_free(&first);
}

/* row - column + offset >= 0 keeps what is there. */
static void fill_band(struct constant *k) {
    const struct graph_constant *band = k->node->constant;
    struct buf offset = {0};
    add_part(&offset, k->r, 1);
    add_part(&offset, k->c, -1);
    add_number(&offset, (double)band->offset);
    write_line(k->writer, "nisa.memset(dst=tile, value=%s)", number_of(k, band->below));
    write_line(k->writer,
               "nisa.affine_select(dst=tile, pattern=[[-1, %s]], channel_multiplier=1, "
               "on_true_tile=tile, on_false_value=%s, cmp_op=nl.greater_equal, offset=%s)",
               k->columns, number_of(k, band->above), offset.at);
    buf_free(&offset);
}

static const char *open_tiles(struct constant *k, const char *variable, const char *size, int64_t n,
                              int64_t tile) {
    struct writer *w = k->writer;
    if (n <= tile)
        return arena_printf(w->arena, "%lld", (long long)n);
    write_line(w, "for %s in range(0, %lld, %lld):", variable, (long long)n, (long long)tile);
    w->indent++;
    if (n % tile == 0)
        return arena_printf(w->arena, "%lld", (long long)tile);
    write_line(w, "%s = min(%lld, %lld - %s)", size, (long long)tile, (long long)n, variable);
    return size;
}

/* The stride of a dimension of the place; false where it consists of several. */
static bool stride_of(const struct dimension *dimension, int64_t *stride) {
    *stride = dimension->count ? dimension->at[0].stride : 1;
    return dimension->count <= 1;
}

static bool open_leading(struct constant *k, const struct view *to) {
    struct writer *w = k->writer;
    for (int d = 0; d < k->node->ndim - 2; d++) {
        int64_t stride;
        if (!stride_of(&to->dims[d], &stride))
            return false;
        if (k->node->shape[d] == 1)
            continue;
        const char *variable = arena_printf(w->arena, "b%d", d);
        write_line(w, "for %s in range(%lld):", variable, (long long)k->node->shape[d]);
        w->indent++;
        access_add(&k->access, variable, stride, k->node->shape[d] - 1);
        if (k->node->constant->kind == CONSTANT_PLANE)
            add_part(&k->leading, variable, k->node->constant->steps[d]);
    }
    return true;
}

static bool open_plane(struct constant *k, const struct view *to) {
    int ndim = k->node->ndim;
    int64_t row = 1, column;
    if (!stride_of(&to->dims[ndim - 1], &column) ||
        (ndim > 1 && !stride_of(&to->dims[ndim - 2], &row)))
        return false;
    k->column_count = k->node->shape[ndim - 1];
    k->row_count = ndim > 1 ? k->node->shape[ndim - 2] : 1;
    k->column_step = k->node->constant->steps[ndim - 1];
    k->row_step = ndim > 1 ? k->node->constant->steps[ndim - 2] : 0;
    k->rows = open_tiles(k, "r", "rows", k->row_count, PARTITIONS);
    k->columns = open_tiles(k, "c", "cols", k->column_count, WIDEST);
    k->r = k->row_count > PARTITIONS ? "r" : "0";
    k->c = k->column_count > WIDEST ? "c" : "0";
    if (strcmp(k->r, "0"))
        access_add(&k->access, "r", row, k->row_count - PARTITIONS);
    if (strcmp(k->c, "0"))
        access_add(&k->access, "c", column, k->column_count - WIDEST);
    k->access.rows = k->rows;
    k->access.row = row;
    k->access.cols[0] = k->columns;
    k->access.cols_most = WIDEST;
    k->access.strides[0] = column ? column : 1;
    k->access.col_count = 1;
    return true;
}

bool constant_emit(struct writer *writer, int index, const struct view *to) {
    const struct graph_node *node = &writer->graph->nodes[index];
    struct constant k = {.writer = writer, .node = node};
    int indent = writer->indent;
    bool band = node->constant->kind == CONSTANT_BAND;
    k.access = (struct access){.buffer = to->buffer, .offset = to->offset};
    write_blank(writer);
    write_line(writer, "# %s (line %d of the reference).", band ? "A mask" : "A range", node->line);
    bool ok = open_leading(&k, to) && open_plane(&k, to);
    if (ok) {
        declare(&k, "tile", node->dtype);
        (band ? fill_band : is_whole_plane(&k) ? fill_whole : fill_plane)(&k);
        write_line(writer, "nisa.dma_copy(dst=%s, src=tile)", write_access(writer, &k.access));
    } else {
        write_gap(writer, node, "its place is none of rows and columns");
    }
    writer->indent = indent;
    buf_free(&k.leading);
    return ok;
}

void constant_list(struct writer *writer, int index) {
    const struct graph_node *node = &writer->graph->nodes[index];
    const struct buffer *buffer = &writer->buffers.at[writer->values[index].view.buffer];
    struct constant of = {.writer = writer, .node = node};
    int64_t size = graph_size(node);
    write_blank(writer);
    write_line(writer, "# A list (line %d of the reference).", node->line);
    write_line(writer, "%s = nl.shared_constant(np.array([", buffer->name);
    for (int64_t i = 0; i < size; i += LISTED) {
        struct buf line = {0};
        for (int64_t k = i; k < MIN_OF(size, i + LISTED); k++)
            buf_printf(&line, "%s%s", k > i ? ", " : "", number_of(&of, node->constant->list[k]));
        write_line(writer, "    %s,", line.at);
        buf_free(&line);
    }
    struct buf shape = {0};
    for (int d = 0; d < node->ndim; d++)
        buf_printf(&shape, "%s%lld", d ? ", " : "", (long long)node->shape[d]);
    write_line(writer, "], dtype=np.%s).reshape((%s%s)))", node->dtype, shape.at,
               node->ndim == 1 ? "," : "");
    buf_free(&shape);
}
