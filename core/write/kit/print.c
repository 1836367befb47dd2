/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of the kernel, and how a tile of a buffer is named in them. */
#include "write/kit/kit.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

void write_line(struct writer *writer, const char *format, ...) {
    va_list args;
    va_start(args, format);
    for (int i = 0; *format && i < writer->indent; i++)
        buf_puts(&writer->out, "    ");
    buf_vprintf(&writer->out, format, args);
    buf_putc(&writer->out, '\n');
    va_end(args);
}

void access_add(struct access *access, const char *variable, int64_t stride, int64_t most) {
    if (stride)
        access->terms[access->term_count++] = (struct term){variable, stride, most};
}

static void add_term(struct buf *text, const char *variable, int64_t times) {
    if (text->len)
        buf_puts(text, " + ");
    buf_puts(text, variable);
    if (times != 1)
        buf_printf(text, " * %lld", (long long)times);
}

static void add_number(struct buf *text, int64_t number) {
    if (text->len && number)
        buf_printf(text, " + %lld", (long long)number);
    else if (!text->len)
        buf_printf(text, "%lld", (long long)number);
}

/* An index of each dimension of a buffer, as slices have them. */
struct indices {
    int64_t extent[GRAPH_MAX_DIMS], stride[GRAPH_MAX_DIMS];
    struct buf at[GRAPH_MAX_DIMS];
    const char *count[GRAPH_MAX_DIMS]; /* of a slice; NULL: one index */
    int64_t step[GRAPH_MAX_DIMS];
    int64_t last[GRAPH_MAX_DIMS]; /* the largest index of it */
    int ndim;
};

/* The dimension that a stride goes along, with how many elements it steps over; -1: none. */
static int dimension_of(const struct indices *indices, int64_t stride, int64_t *times) {
    for (int d = 0; d < indices->ndim; d++)
        if (indices->extent[d] > 1 && stride % indices->stride[d] == 0 &&
            stride / indices->stride[d] < indices->extent[d]) {
            *times = stride / indices->stride[d];
            return d;
        }
    return -1;
}

static bool place_terms(const struct access *access, struct indices *indices) {
    for (int i = 0; i < access->term_count; i++) {
        int64_t times;
        int d = dimension_of(indices, access->terms[i].stride, &times);
        if (d < 0)
            return false;
        add_term(&indices->at[d], access->terms[i].variable, times);
        indices->last[d] += times * access->terms[i].most;
    }
    int64_t rest = access->offset;
    for (int d = 0; d < indices->ndim; d++) {
        int64_t index = rest / indices->stride[d];
        rest %= indices->stride[d];
        if (index)
            add_number(&indices->at[d], index);
        indices->last[d] += index;
    }
    return rest == 0;
}

static bool place_slice(struct indices *indices, const char *count, int64_t most, int64_t stride,
                        int *last) {
    int64_t times;
    if (strcmp(count, "1") == 0)
        return true;
    int d = stride > 0 ? dimension_of(indices, stride, &times) : -1;
    if (d <= *last || indices->count[d])
        return false;
    *last = d;
    indices->count[d] = count;
    indices->step[d] = times;
    long long number;
    indices->last[d] += times * ((str_to_int(str_of(count), &number) ? number : most) - 1);
    return true;
}

static bool place_slices(const struct access *access, struct indices *indices) {
    int last = -1;
    if (!place_slice(indices, access->rows, PARTITIONS, access->row, &last))
        return false;
    for (int i = 0; i < access->col_count; i++)
        if (!place_slice(indices, access->cols[i], access->cols_most, access->strides[i], &last))
            return false;
    for (int d = 0; d < indices->ndim; d++)
        if (indices->last[d] >= indices->extent[d])
            return false;
    return last >= 0;
}

static void print_slice(struct buf *out, const struct buf *at, const char *count, int64_t step) {
    if (!at->len && step == 1)
        buf_printf(out, "0:%s", count);
    else if (step == 1)
        buf_printf(out, "%s:%s + %s", at->at, at->at, count);
    else
        buf_printf(out, "%s:%s%s(%s - 1) * %lld + 1:%lld", at->len ? at->at : "0",
                   at->len ? at->at : "", at->len ? " + " : "", count, (long long)step,
                   (long long)step);
}

static bool print_slices(const struct buffer *buffer, struct indices *indices, struct buf *out) {
    buf_printf(out, "%s[", buffer->name);
    for (int d = 0; d < indices->ndim; d++) {
        if (d)
            buf_puts(out, ", ");
        if (indices->count[d])
            print_slice(out, &indices->at[d], indices->count[d], indices->step[d]);
        else
            buf_puts(out, indices->at[d].len ? indices->at[d].at : "0");
    }
    buf_puts(out, "]");
    return true;
}

/* A slice of a dimension and an index beside it in the same one say the place by two loops. */
static bool print_as_slices(struct writer *writer, const struct access *access, struct buf *out) {
    const struct buffer *buffer = &writer->buffers.at[access->buffer];
    struct indices indices = {.ndim = buffer->ndim};
    int64_t stride = 1;
    for (int d = buffer->ndim; d-- > 0; stride *= buffer->shape[d]) {
        indices.extent[d] = buffer->shape[d];
        indices.stride[d] = stride;
    }
    bool ok = place_terms(access, &indices) && place_slices(access, &indices) &&
              print_slices(buffer, &indices, out);
    for (int d = 0; d < indices.ndim; d++)
        buf_free(&indices.at[d]);
    return ok;
}

static void print_as_pattern(struct writer *writer, const struct access *access, struct buf *out) {
    struct buf offset = {0};
    for (int i = 0; i < access->term_count; i++)
        add_term(&offset, access->terms[i].variable, access->terms[i].stride);
    if (access->offset || !offset.len)
        add_number(&offset, access->offset);
    buf_printf(out, "%s.ap(pattern=[[%lld, %s]", writer->buffers.at[access->buffer].name,
               (long long)access->row, access->rows);
    for (int i = 0; i < access->col_count; i++)
        buf_printf(out, ", [%lld, %s]", (long long)access->strides[i], access->cols[i]);
    buf_printf(out, "], offset=%s)", offset.at);
    buf_free(&offset);
}

void write_apart(struct writer *writer, int node) {
    writer->apart[node] = true;
    writer->again = true;
}

const char *write_access(struct writer *writer, const struct access *access) {
    struct buf out = {0};
    const struct buffer *buffer = &writer->buffers.at[access->buffer];
    if (buffer->is_made) { /* somebody wants it in memory */
        write_apart(writer, buffer->node);
        return "";
    }
    if (!print_as_slices(writer, access, &out)) {
        buf_clear(&out);
        print_as_pattern(writer, access, &out);
    }
    const char *text = arena_strdup(writer->arena, out.at);
    buf_free(&out);
    return text;
}

/* "for name in …", "name = …" */
static bool assigns(struct str line, const char *name) {
    line = str_trim(line);
    if (str_starts(line, "for "))
        line = (struct str){line.at + 4, line.len - 4};
    size_t len = strlen(name);
    if (!str_starts(line, name))
        return false;
    struct str rest = {line.at + len, line.len - len};
    return str_starts(rest, " = ") || str_starts(rest, " in ");
}

int write_assigned(const struct writer *writer, const char *name) {
    int times = 0;
    struct str text = buf_str(&writer->out);
    for (struct str line; str_next(&text, '\n', &line);)
        times += assigns(line, name);
    return times;
}

const char *write_number(struct writer *writer, double number) {
    if (isinf(number) || fabs(number) > 3.4028235e38)
        return number > 0 ? "3.4028235e38" : "-3.4028235e38";
    if (number == floor(number) && fabs(number) < 1e15)
        return arena_printf(writer->arena, "%.1f", number);
    return arena_printf(writer->arena, "%.9g", number);
}

void write_blank(struct writer *writer) {
    buf_putc(&writer->out, '\n');
}
