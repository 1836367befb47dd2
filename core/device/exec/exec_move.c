/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions that move data without computing: DMA with gather and scatter, copies, fills,
 * shuffles and the gathers of GpSimd. */
#include "device/exec/run.h"

#include <stdlib.h>

/* ---- DMA ------------------------------------------------------------------------------------ */

static bool is_vector(const struct nki_ap *ap) {
    return ap->indirect && ap->indirect->vector;
}

/* The row indices of an indirect operand. An index that is out of bounds and may be skipped becomes
 * -1. */
static bool read_rows(struct exec *x, const struct nki_ap *ap, int64_t **rows) {
    const struct nki_indirect *indirect = ap->indirect;
    struct view index;
    if (!exec_read_ap(x, indirect->index, &index))
        return false;
    size_t n = (size_t)view_count(&index);
    *rows = arena_alloc(x->scratch, n, sizeof **rows);
    view_to_ints(&index, *rows);
    for (int d = 0; d < ap->count[0]; d++) {
        int64_t row = (*rows)[d];
        if (row >= 0 && row <= (int64_t)1 << 40 && (indirect->limit <= 0 || row < indirect->limit))
            continue;
        if (!indirect->skip_out_of_bounds)
            return exec_fail(x, "index %lld of row %d is out of bounds: it must be below %lld",
                             (long long)row, d, (long long)indirect->limit);
        (*rows)[d] = -1;
    }
    return true;
}

/* The view of one row of an indirect operand. */
static bool row_view(struct exec *x, const struct nki_ap *ap, const struct view *whole, int64_t row,
                     struct view *view) {
    const struct nki_storage *storage = x->program->storages.at[ap->storage];
    const uint8_t *low, *high;
    const uint8_t *base = whole->at - ap->offset * (int64_t)dtype_bytes(whole->dtype);
    *view = *whole;
    view->count[0] = 1;
    view->at += row * ap->indirect->step * (int64_t)dtype_bytes(whole->dtype);
    view_range(view, &low, &high);
    if (low >= base && high <= base + storage->bytes)
        return true;
    return exec_fail(x, "index %lld leads out of `%s`", (long long)row, storage->name);
}

bool exec_gather_ap(struct exec *x, const struct nki_ap *ap, struct view *view) {
    int64_t *rows;
    if (!is_vector(ap))
        return true;
    if (!read_rows(x, ap, &rows))
        return false;
    size_t size = dtype_bytes(view->dtype), row_bytes = (size_t)view_free(view) * size;
    uint8_t *bytes = arena_alloc(x->scratch, (size_t)view->count[0], row_bytes);
    convert_fill_unwritten(view->dtype, bytes, (size_t)view->count[0] * row_bytes);
    for (int64_t i = 0; i < view->count[0]; i++) {
        struct view row;
        if (rows[i] < 0)
            continue;
        if (!row_view(x, ap, view, rows[i], &row))
            return false;
        view_to_bytes(&row, bytes + (size_t)i * row_bytes);
    }
    view->at = bytes;
    view->storage = DEVICE_NEVER;
    int64_t step = (int64_t)size;
    for (int d = view->n_dims - 1; d >= 0; d--) {
        view->step[d] = step;
        step *= view->count[d];
    }
    return true;
}

/* Rows that a gather skips leave dst as it is. So the rows of dst are copied to where the gather
 * would read them. */
static bool keep_skipped(struct exec *x, const struct view *dst, struct view *src) {
    const struct nki_ap *ap = x->instr->operands[NKI_DMA_COPY_src].ap;
    int64_t *rows;
    if (!is_vector(ap) || !ap->indirect->skip_out_of_bounds)
        return true;
    if (!read_rows(x, ap, &rows))
        return false;
    size_t n = (size_t)view_count(dst), row = n / (size_t)src->count[0];
    float *floats = arena_alloc(x->scratch, n, sizeof *floats);
    uint8_t *bytes = arena_alloc(x->scratch, n, dtype_bytes(dst->dtype));
    bool same = dst->dtype == src->dtype;
    size_t size = dtype_bytes(dst->dtype);
    if (same)
        view_to_bytes(dst, bytes);
    else
        view_to_floats(dst, floats);
    for (int64_t i = 0; i < src->count[0]; i++) {
        if (rows[i] >= 0)
            continue;
        uint8_t *to = src->at + (size_t)i * row * dtype_bytes(src->dtype);
        if (same)
            memcpy(to, bytes + (size_t)i * row * size, row * size);
        else
            device_from_float(src->dtype, floats + (size_t)i * row, to, row);
    }
    return true;
}

/* Writes row i of what is scattered, `bytes`, to the row of dst that its index names. */
static bool write_row(struct exec *x, const struct nki_ap *ap, const struct view *dst, int64_t i,
                      int64_t to, const uint8_t *bytes) {
    struct view row;
    const struct nki_mask *mask = x->instr->more->mask;
    if (to < 0)
        return true;
    if (!row_view(x, ap, dst, to, &row))
        return false;
    uint8_t *saved =
        mask ? arena_alloc(x->scratch, (size_t)view_count(&row), dtype_bytes(row.dtype)) : NULL;
    if (mask)
        view_to_bytes(&row, saved);
    view_from_bytes(&row, bytes);
    if (mask)
        exec_put_back(&row, i, mask, saved);
    return true;
}

static bool scatter(struct exec *x, const struct view *dst, const struct view *src) {
    const struct nki_ap *ap = x->instr->operands[NKI_DMA_COPY_dst].ap;
    int64_t *rows;
    if (!read_rows(x, ap, &rows))
        return false;
    size_t n = (size_t)view_count(src), per_row = n / (size_t)dst->count[0];
    size_t size = dtype_bytes(dst->dtype);
    uint8_t *bytes = arena_alloc(x->scratch, n, size);
    struct view flat = {.at = bytes,
                        .dtype = dst->dtype,
                        .n_dims = 1,
                        .count = {(int64_t)n},
                        .step = {(int64_t)size},
                        .storage = DEVICE_NEVER};
    if (!view_copy(x, &flat, src))
        return false;
    for (int64_t i = 0; i < dst->count[0]; i++)
        if (!write_row(x, ap, dst, i, rows[i], bytes + (size_t)i * per_row * size))
            return false;
    return true;
}

bool exec_dma_copy(struct exec *x) {
    struct view dst, src;
    const struct nki_ap *from = x->instr->operands[NKI_DMA_COPY_src].ap;
    if (!exec_read(x, NKI_DMA_COPY_src, &src) || !exec_gather_ap(x, from, &src))
        return false;
    bool gathered = is_vector(from);
    if (is_vector(x->instr->operands[NKI_DMA_COPY_dst].ap))
        return exec_modify(x, NKI_DMA_COPY_dst, &dst) && scatter(x, &dst, &src);
    if (!(gathered ? exec_modify(x, NKI_DMA_COPY_dst, &dst)
                   : exec_write(x, NKI_DMA_COPY_dst, &dst)))
        return false;
    return keep_skipped(x, &dst, &src) && view_copy(x, &dst, &src);
}

static int compare_rows(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Each row is read, changed and written by itself, so of a row that is named twice one of the sums
 * is lost, and nobody knows which. */
static bool rows_are_unique(struct exec *x, const int64_t *rows, size_t n) {
    int64_t *sorted = arena_alloc(x->scratch, n, sizeof *sorted);
    memcpy(sorted, rows, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, compare_rows);
    for (size_t i = 1; i < n; i++)
        if (sorted[i] >= 0 && sorted[i] == sorted[i - 1])
            return exec_fail(x,
                             "row %lld is named twice, and one of its sums would be lost: name "
                             "every row once",
                             (long long)sorted[i]);
    return true;
}

/* Writes the sums to the rows of dst that its indices name. */
static bool scatter_add(struct exec *x, const struct view *dst, const float *sum, size_t n) {
    const struct nki_ap *ap = x->instr->operands[NKI_DMA_COMPUTE_dst].ap;
    int64_t *rows;
    if (!read_rows(x, ap, &rows) || !rows_are_unique(x, rows, (size_t)dst->count[0]))
        return false;
    size_t size = dtype_bytes(dst->dtype), per_row = n / (size_t)dst->count[0];
    uint8_t *bytes = arena_alloc(x->scratch, n, size);
    device_from_float(dst->dtype, sum, bytes, n);
    for (int64_t i = 0; i < dst->count[0]; i++)
        if (!write_row(x, ap, dst, i, rows[i], bytes + (size_t)i * per_row * size))
            return false;
    return true;
}

bool exec_dma_compute(struct exec *x) {
    const struct nki_operand *srcs = &x->instr->operands[NKI_DMA_COMPUTE_srcs];
    size_t n = (size_t)nki_ap_count(x->instr->operands[NKI_DMA_COMPUTE_dst].ap);
    float *sum = arena_alloc(x->scratch, n, sizeof *sum);
    float *next = arena_alloc(x->scratch, n, sizeof *next);
    struct view dst;
    for (uint32_t i = 0; i < srcs->n; i++) {
        struct view src;
        if (!exec_read_ap(x, srcs->aps[i], &src) || !exec_gather_ap(x, srcs->aps[i], &src))
            return false;
        view_to_floats(&src, next);
        for (size_t k = 0; k < n; k++)
            sum[k] += next[k];
    }
    if (!exec_modify(x, NKI_DMA_COMPUTE_dst, &dst))
        return false;
    if (is_vector(x->instr->operands[NKI_DMA_COMPUTE_dst].ap))
        return scatter_add(x, &dst, sum, n);
    view_from_floats(&dst, sum);
    return true;
}

/* ---- copies and fills ----------------------------------------------------------------------- */

bool exec_copy(struct exec *x) {
    struct view dst, src;
    return exec_read(x, NKI_TENSOR_COPY_src, &src) && exec_write(x, NKI_TENSOR_COPY_dst, &dst) &&
           view_copy(x, &dst, &src);
}

bool exec_memset(struct exec *x) {
    struct view dst;
    if (!exec_write(x, NKI_MEMSET_dst, &dst))
        return false;
    uint8_t element[8] = {0};
    int64_t whole = exec_int(x, NKI_MEMSET_value, 0);
    float value = (float)exec_number(x, NKI_MEMSET_value, 0);
    bool is_float = x->instr->operands[NKI_MEMSET_value].kind == NKI_OPERAND_FLOAT;
    if (dtype_is_int(dst.dtype) && !is_float)
        convert_store_ints(dst.dtype, &whole, element, 0, 1);
    else
        device_from_float(dst.dtype, &value, element, 1);
    struct view one = dst;
    one.at = element;
    one.storage = DEVICE_NEVER;
    memset(one.step, 0, sizeof one.step);
    return view_copy(x, &dst, &one);
}

bool exec_stream_shuffle(struct exec *x) {
    const int64_t *mask = x->instr->operands[NKI_NC_STREAM_SHUFFLE_shuffle_mask].ints;
    struct view dst, src;
    if (!exec_read(x, NKI_NC_STREAM_SHUFFLE_src, &src) ||
        !exec_modify(x, NKI_NC_STREAM_SHUFFLE_dst, &dst))
        return false;
    size_t row = (size_t)view_free(&src) * dtype_bytes(src.dtype);
    uint8_t *bytes = arena_alloc(x->scratch, (size_t)src.count[0], row);
    view_to_bytes(&src, bytes);
    for (int64_t p = 0; p < dst.count[0]; p++) {
        int64_t from = p / 32 * 32 + mask[p % 32];
        struct view one = dst;
        if (mask[p % 32] == 255 || from >= src.count[0])
            continue;
        one.count[0] = 1;
        one.at += p * dst.step[0];
        view_from_bytes(&one, bytes + (size_t)from * row);
    }
    return true;
}

/* ---- gathers on GpSimd ---------------------------------------------------------------------- */

/* Each of the 8 cores serves 16 partitions with one list of indices. The list lies column by column
 * in the rows of these partitions. An index counts elements, however many are read there. */
bool exec_local_gather(struct exec *x) {
    struct view dst, src, index;
    if (!exec_read(x, NKI_LOCAL_GATHER_src_buffer, &src) ||
        !exec_read(x, NKI_LOCAL_GATHER_index, &index) || !exec_write(x, NKI_LOCAL_GATHER_dst, &dst))
        return false;
    size_t size = dtype_bytes(src.dtype),
           each = (size_t)exec_int(x, NKI_LOCAL_GATHER_num_elem_per_idx, 1);
    size_t width = (size_t)view_free(&src), columns = (size_t)view_free(&index);
    size_t valid = (size_t)exec_int(x, NKI_LOCAL_GATHER_num_valid_indices, (int64_t)columns * 16);
    size_t partitions = (size_t)src.count[0], out_width = valid * each;
    uint8_t *from = arena_alloc(x->scratch, partitions * width, size);
    uint8_t *to = arena_alloc(x->scratch, partitions * out_width, size);
    int64_t *indices = arena_alloc(x->scratch, partitions * columns, sizeof *indices);
    view_to_bytes(&src, from);
    view_to_ints(&index, indices);
    for (size_t p = 0; p < partitions; p++)
        for (size_t i = 0; i < valid; i++) {
            int64_t at = indices[(p / 16 * 16 + i % 16) * columns + i / 16];
            if (at < 0 || (size_t)at + each > width)
                return exec_fail(x, "index %lld of partition %zu is out of bounds, a row holds %zu",
                                 (long long)at, p, width);
            memcpy(to + (p * out_width + i * each) * size, from + (p * width + (size_t)at) * size,
                   each * size);
        }
    view_from_bytes(&dst, to);
    return true;
}

bool exec_n_gather(struct exec *x) {
    struct view dst, src, index;
    if (!exec_read(x, NKI_NC_N_GATHER_data, &src) ||
        !exec_read(x, NKI_NC_N_GATHER_indices, &index) || !exec_write(x, NKI_NC_N_GATHER_dst, &dst))
        return false;
    size_t size = dtype_bytes(src.dtype), partitions = (size_t)src.count[0];
    size_t width = (size_t)view_free(&src), n = (size_t)view_free(&index);
    uint8_t *from = arena_alloc(x->scratch, partitions * width, size);
    uint8_t *to = arena_alloc(x->scratch, partitions * n, size);
    int64_t *indices = arena_alloc(x->scratch, partitions * n, sizeof *indices);
    view_to_bytes(&src, from);
    view_to_ints(&index, indices);
    for (size_t i = 0; i < partitions * n; i++) {
        if (indices[i] < 0 || indices[i] >= (int64_t)width)
            return exec_fail(x, "index %lld of partition %zu is out of bounds, a row holds %zu",
                             (long long)indices[i], i / n, width);
        memcpy(to + i * size, from + (i / n * width + (size_t)indices[i]) * size, size);
    }
    view_from_bytes(&dst, to);
    return true;
}
