/* SPDX-License-Identifier: Apache-2.0 */
/* The Tensor engine: products through OpenBLAS in fp32, and transposes. Operands in fp32 with unit
 * steps are multiplied where they lie. Others become fp32 panels first: every other type that the
 * array takes is exact in fp32, and tfloat32 is rounded when it is stored. The sum over the
 * contraction has OpenBLAS's order, because that of the array is not documented. */
#include "base/openblas.h"
#include "device/exec/run.h"

#include <stdlib.h>

/* A matrix in fp32: rows of `width` elements whose starts are `pitch` elements apart. */
struct matrix {
    float *at;
    int64_t rows, width, pitch;
};

/* Whether the free dimensions are one run of fp32. sgemm then takes the operand as it is. */
static bool as_matrix(const struct view *view, struct matrix *matrix) {
    if (view->dtype != DTYPE_FLOAT32)
        return false;
    int64_t expected = 4, width = 1;
    for (int d = view->n_dims - 1; d >= 1; d--) {
        if (view->count[d] != 1 && view->step[d] != expected)
            return false;
        expected *= view->count[d];
        width *= view->count[d];
    }
    int64_t pitch = view->count[0] > 1 ? view->step[0] : width * 4;
    if (pitch < width * 4 || pitch % 4 || (uintptr_t)view->at % 4)
        return false;
    *matrix = (struct matrix){(float *)(void *)view->at, view->count[0], width, pitch / 4};
    return true;
}

static float *panel(struct exec *x, int which, size_t n) {
    if (x->panel_size[which] < n) {
        free(x->panel[which]);
        x->panel_size[which] = (n + 4095) / 4096 * 4096;
        x->panel[which] = aligned_alloc(64, x->panel_size[which] * sizeof(float));
        if (!x->panel[which])
            HONE_BUG("no memory for a panel");
    }
    return x->panel[which];
}

static struct matrix load_matrix(struct exec *x, int which, const struct view *view) {
    struct matrix matrix;
    if (as_matrix(view, &matrix))
        return matrix;
    int64_t width = view_free(view);
    matrix =
        (struct matrix){panel(x, which, (size_t)view_count(view)), view->count[0], width, width};
    view_to_floats(view, matrix.at);
    return matrix;
}

static void multiply(const struct matrix *a, const struct matrix *b, float beta,
                     const struct matrix *c) {
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)c->rows, (int)c->width, (int)a->rows,
                1.0f, a->at, (int)a->pitch, b->at, (int)b->pitch, beta, c->at, (int)c->pitch);
}

/* double_row: [K, 2, M] and [K, 2, N] hold two products that are added. */
static void multiply_rows(struct matrix a, struct matrix b, int halves, float beta,
                          const struct matrix *c) {
    a.width /= halves;
    b.width /= halves;
    for (int half = 0; half < halves; half++) {
        multiply(&a, &b, half ? 1.0f : beta, c);
        a.at += a.width;
        b.at += b.width;
    }
}

enum add { ADD_NOWHERE, ADD_EVERYWHERE, ADD_WHERE_WRITTEN };

/* Where the product is added to what is there. With accumulate=False this is nowhere, with True
 * everywhere, and when it is left open, wherever something was written before (the ISA reference's
 * rule of the first write). The legacy compiler finds the first write itself, so there True is as
 * good as open. */
static enum add where_to_add(struct exec *x, const struct view *dst, size_t k) {
    const uint8_t *base;
    enum { AUTO, YES, NO } asked = !exec_has(x, k) ? AUTO : exec_flag(x, k) ? YES : NO;
    if (asked == NO)
        return ADD_NOWHERE;
    if (asked == YES && x->program->dialect != NKI_DIALECT_LEGACY)
        return ADD_EVERYWHERE;
    switch (exec_cells(x, dst, &base)->state) {
    case CELLS_NONE: return ADD_NOWHERE;
    case CELLS_ALL: return ADD_EVERYWHERE;
    default: return ADD_WHERE_WRITTEN;
    }
}

/* Writes the product to dst, rounded to its type. What is there is added where `add` says so. */
static void merge(struct exec *x, const struct view *dst, const float *product, enum add add) {
    const uint8_t *base;
    const struct psum_cells *cells = exec_cells(x, dst, &base);
    struct walk walk;
    convert_load_fn *load = convert_load(dst->dtype);
    convert_store_fn *store = convert_store(dst->dtype);
    walk_start(&walk, &dst, 1, false);
    do {
        int64_t step = walk_step(&walk, 0);
        for (int64_t i = 0; i < walk_run(&walk); i++, product++) {
            uint8_t *at = walk.at[0] + i * step;
            float old = 0.0f, sum;
            bool written = add == ADD_EVERYWHERE || cells->state == CELLS_ALL ||
                           (cells->state == CELLS_SOME && cells->map[(at - base) / 2]);
            if (add != ADD_NOWHERE && written)
                load(at, 0, &old, 1);
            sum = *product + old;
            store(&sum, at, 0, 1);
        }
    } while (walk_next(&walk));
}

/* Writes the product a x b into operand 0. `accumulate` is the number of the operand that says
 * whether it is added. */
static bool write_product(struct exec *x, struct matrix a, struct matrix b, int halves,
                          size_t accumulate) {
    struct view dst;
    struct matrix c;
    bool forced = exec_flag(x, accumulate);
    if (!(forced ? exec_read(x, NKI_NC_MATMUL_dst, &dst) : exec_target(x, NKI_NC_MATMUL_dst, &dst)))
        return false;
    enum add add = where_to_add(x, &dst, accumulate);
    if (add != ADD_WHERE_WRITTEN && as_matrix(&dst, &c)) {
        multiply_rows(a, b, halves, add == ADD_EVERYWHERE ? 1.0f : 0.0f, &c);
        exec_mark_cells(x, &dst);
        return true;
    }
    int64_t m = a.width / halves, n = b.width / halves;
    c = (struct matrix){arena_alloc(x->scratch, (size_t)(m * n), sizeof(float)), m, n, n};
    multiply_rows(a, b, halves, 0.0f, &c);
    merge(x, &dst, c.at, add);
    exec_mark_cells(x, &dst);
    return true;
}

bool exec_matmul(struct exec *x) {
    struct view stationary, moving;
    if (!exec_read(x, NKI_NC_MATMUL_stationary, &stationary) ||
        !exec_read(x, NKI_NC_MATMUL_moving, &moving))
        return false;
    int halves = exec_int(x, NKI_NC_MATMUL_perf_mode, NKI_PERF_NONE) == NKI_PERF_DOUBLE_ROW ? 2 : 1;
    return write_product(x, load_matrix(x, 0, &stationary), load_matrix(x, 1, &moving), halves,
                         NKI_NC_MATMUL_accumulate);
}

static bool load_mx(struct exec *x, size_t data, size_t scale, struct matrix *matrix) {
    struct view values, scales;
    if (!exec_read(x, data, &values) || !exec_read(x, scale, &scales))
        return false;
    int64_t width = view_free(&values);
    *matrix = (struct matrix){exec_mx_load(x, &values, &scales), 4 * values.count[0], width, width};
    return true;
}

bool exec_matmul_mx(struct exec *x) {
    struct matrix a, b;
    return load_mx(x, NKI_NC_MATMUL_MX_stationary, NKI_NC_MATMUL_MX_stationary_scale, &a) &&
           load_mx(x, NKI_NC_MATMUL_MX_moving, NKI_NC_MATMUL_MX_moving_scale, &b) &&
           write_product(x, a, b, 1, NKI_NC_MATMUL_MX_accumulate);
}

/* ---- transposes ----------------------------------------------------------------------------- */

/* The view [F, P] of a tile [P, F]; its free dimensions count as one. */
static struct view transposed(struct exec *x, const struct view *src) {
    size_t size = dtype_bytes(src->dtype), rows = (size_t)src->count[0];
    size_t width = (size_t)view_free(src);
    uint8_t *flat = arena_alloc(x->scratch, rows * width, size);
    view_to_bytes(src, flat);
    return (struct view){.at = flat,
                         .dtype = src->dtype,
                         .n_dims = 2,
                         .count = {(int64_t)width, (int64_t)rows},
                         .step = {(int64_t)size, (int64_t)(width * size)},
                         .storage = DEVICE_NEVER};
}

bool exec_transpose(struct exec *x) {
    struct view dst, src;
    if (!exec_read(x, NKI_NC_TRANSPOSE_data, &src))
        return false;
    struct view turned = transposed(x, &src);
    return exec_write(x, NKI_NC_TRANSPOSE_dst, &dst) && view_copy(x, &dst, &turned);
}

bool exec_dma_transpose(struct exec *x) {
    static const uint8_t order[5][4] = {[2] = {1, 0}, [3] = {2, 1, 0}, [4] = {3, 1, 2, 0}};
    struct view dst, src;
    if (!exec_read(x, NKI_DMA_TRANSPOSE_src, &src) || !exec_write(x, NKI_DMA_TRANSPOSE_dst, &dst))
        return false;
    if (!exec_gather_ap(x, x->instr->operands[NKI_DMA_TRANSPOSE_src].ap, &src))
        return false;
    struct view turned = src;
    for (int d = 0; d < src.n_dims; d++) {
        turned.count[d] = src.count[order[src.n_dims][d]];
        turned.step[d] = src.step[order[src.n_dims][d]];
    }
    return view_copy(x, &dst, &turned);
}
