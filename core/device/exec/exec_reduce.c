/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions, scans and statistics: instructions that fold the elements of one partition, or of all
 * partitions. They compute in fp32; bitwise operators take integers. */
#include "device/exec/alu.h"
#include "device/exec/run.h"

/* ---- along the free dimensions -------------------------------------------------------------- */

/* Each group of `size` consecutive elements of a row folds into one result. */
struct folding {
    alu_fold_fn *fold;
    float identity;
    size_t size, groups; /* groups per row */
    size_t row, at;      /* where the stream stands: row, element within it */
    float *result;
};

static void run_folding(void *job, const struct chunk *chunk) {
    struct folding *f = job;
    if (chunk->row != f->row) {
        f->row = chunk->row;
        f->at = 0;
    }
    for (size_t done = 0; done < chunk->n;) {
        size_t group = f->at / f->size, n = MIN_OF(f->size - f->at % f->size, chunk->n - done);
        float *result = &f->result[f->row * f->groups + group];
        *result = f->fold(f->at % f->size ? *result : f->identity, chunk->src[0] + done, n);
        f->at += n;
        done += n;
    }
}

static bool reduce_ints(struct exec *x, enum nki_func op, const struct view *dst,
                        const struct view *data) {
    size_t n = (size_t)view_count(data), n_dst = (size_t)view_count(dst);
    int64_t *values = arena_alloc(x->scratch, n, sizeof *values);
    int64_t *results = arena_alloc(x->scratch, n_dst, sizeof *results);
    alu_int_fn *run = alu_ints(op);
    if (!run)
        return exec_fail(x, "nl.%s cannot reduce integers", nki_func_name(op));
    view_to_ints(data, values);
    for (size_t i = 0; i < n_dst; i++) {
        results[i] = alu_identity_int(op);
        for (size_t k = 0; k < n / n_dst; k++)
            run(&results[i], &results[i], &values[i * (n / n_dst) + k], 1, 64);
    }
    view_from_ints(dst, results);
    return true;
}

bool exec_tensor_reduce(struct exec *x) {
    struct view dst, data;
    enum nki_func op = exec_func(x, NKI_TENSOR_REDUCE_op, NKI_FUNC_ADD);
    if (!exec_read(x, NKI_TENSOR_REDUCE_data, &data) || !exec_write(x, NKI_TENSOR_REDUCE_dst, &dst))
        return false;
    if (nki_func_has(op, 'i'))
        return reduce_ints(x, op, &dst, &data);
    size_t groups = (size_t)view_free(&dst), n = (size_t)view_count(&dst);
    struct folding f = {.fold = alu_fold(op),
                        .identity = alu_identity(op),
                        .groups = groups,
                        .size = (size_t)view_free(&data) / groups,
                        .row = SIZE_MAX};
    if (!f.fold)
        return exec_fail(x, "nl.%s cannot reduce", nki_func_name(op));
    f.result = arena_alloc(x->scratch, n, sizeof *f.result);
    if (!stream_floats(
            x, &(struct stream){
                   .src = {&data}, .n_src = 1, .rows = true, .run = run_folding, .job = &f}))
        return false;
    for (size_t i = 0; op == NKI_FUNC_AVERAGE && i < n; i++)
        f.result[i] /= (float)f.size;
    for (size_t i = 0; exec_flag(x, NKI_TENSOR_REDUCE_negate) && i < n; i++)
        f.result[i] = -f.result[i];
    view_from_floats(&dst, f.result);
    return true;
}

bool exec_partition_reduce(struct exec *x) {
    struct view dst, data;
    enum nki_func op = exec_func(x, NKI_TENSOR_PARTITION_REDUCE_op, NKI_FUNC_ADD);
    if (!exec_read(x, NKI_TENSOR_PARTITION_REDUCE_data, &data) ||
        !exec_write(x, NKI_TENSOR_PARTITION_REDUCE_dst, &dst))
        return false;
    size_t rows = (size_t)data.count[0], width = (size_t)view_free(&data);
    if (nki_func_has(op, 'i')) {
        int64_t *values = arena_alloc(x->scratch, rows * width, sizeof *values);
        view_to_ints(&data, values);
        for (size_t p = 1; p < rows; p++)
            alu_ints(op)(values, values, values + p * width, width, 64);
        view_from_ints(&dst, values);
        return true;
    }
    float *values = arena_alloc(x->scratch, rows * width, sizeof *values);
    view_to_floats(&data, values);
    for (size_t p = 1; p < rows; p++)
        alu_binary(op)(values, values, values + p * width, width);
    for (size_t i = 0; op == NKI_FUNC_AVERAGE && i < width; i++)
        values[i] /= (float)rows;
    view_from_floats(&dst, values);
    return true;
}

/* ---- with the Vector engine's accumulators -------------------------------------------------- */

struct scalar_reduce {
    alu_binary_fn *op;
    alu_unary_fn *unary; /* where op is NULL */
    bool reverse;
    alu_fold_fn *fold; /* NULL: not accumulated */
    float *acc;
};

static void run_scalar_reduce(void *job, const struct chunk *chunk) {
    struct scalar_reduce *s = job;
    const float *a = chunk->src[0], *b = chunk->src[1];
    if (s->op)
        s->op(chunk->dst, s->reverse ? b : a, s->reverse ? a : b, chunk->n);
    else
        s->unary(chunk->dst, a, chunk->n);
    if (s->fold)
        s->acc[chunk->row] = s->fold(s->acc[chunk->row], chunk->dst, chunk->n);
}

/* What the accumulators start from under a reduce_cmd. */
static void start(struct exec *x, int64_t cmd, float identity, const struct view *load) {
    for (int64_t p = 0; p < NKI_PARTITIONS; p++) {
        if (cmd == NKI_REDUCE_RESET || cmd == NKI_REDUCE_RESET_REDUCE)
            x->vector_acc[p] = identity;
        if (cmd == NKI_REDUCE_LOAD_REDUCE && p < load->count[0])
            convert_load(load->dtype)(load->at + p * load->step[0], 0, &x->vector_acc[p], 1);
    }
}

static bool write_acc(struct exec *x, size_t k, bool negate) {
    struct view result;
    float values[NKI_PARTITIONS];
    if (!exec_has(x, k))
        return true;
    if (!exec_write(x, k, &result))
        return false;
    for (size_t p = 0; p < NKI_PARTITIONS; p++)
        values[p] = negate ? -x->vector_acc[p] : x->vector_acc[p];
    view_from_floats(&result, values);
    return true;
}

bool exec_tensor_scalar_reduce(struct exec *x) {
    struct view dst, data, operand, load;
    enum nki_func op = exec_func(x, NKI_TENSOR_SCALAR_REDUCE_op0, NKI_FUNC_BYPASS);
    enum nki_func reduce = exec_func(x, NKI_TENSOR_SCALAR_REDUCE_reduce_op, NKI_FUNC_ADD);
    struct scalar_reduce s = {.op = alu_binary(op),
                              .unary = alu_unary(op),
                              .reverse = exec_flag(x, NKI_TENSOR_SCALAR_REDUCE_reverse0),
                              .fold = alu_fold(reduce),
                              .acc = x->vector_acc};
    int64_t cmd = exec_int(x, NKI_TENSOR_SCALAR_REDUCE_reduce_cmd, NKI_REDUCE_RESET_REDUCE);
    if ((!s.op && !s.unary) || !s.fold)
        return exec_fail(x, "nl.%s cannot be used here", nki_func_name(s.fold ? op : reduce));
    if (!exec_read(x, NKI_TENSOR_SCALAR_REDUCE_data, &data) ||
        !exec_scalar(x, NKI_TENSOR_SCALAR_REDUCE_operand0, &data, 0, &operand) ||
        !exec_scalar(x, NKI_TENSOR_SCALAR_REDUCE_reduce_init, &data, 0, &load) ||
        !exec_write(x, NKI_TENSOR_SCALAR_REDUCE_dst, &dst))
        return false;
    start(x, cmd, alu_identity(reduce), &load);
    if (cmd == NKI_REDUCE_IDLE || cmd == NKI_REDUCE_RESET)
        s.fold = NULL;
    return stream_floats(x, &(struct stream){.dst = &dst,
                                             .src = {&data, &operand},
                                             .n_src = 2,
                                             .rows = true,
                                             .run = run_scalar_reduce,
                                             .job = &s}) &&
           write_acc(x, NKI_TENSOR_SCALAR_REDUCE_reduce_res,
                     exec_flag(x, NKI_TENSOR_SCALAR_REDUCE_reduce_res_negate));
}

/* ---- scans ---------------------------------------------------------------------------------- */

/* result[i] = (data0[i] op0 result[i-1]) op1 data1[i], the state in fp32. */
struct scan {
    enum nki_func op[2];
    bool reverse[2];
    size_t row;
    float state;
    const struct view *initial;
};

static inline float combine(enum nki_func func, float a, float b) {
    switch (func) {
    case NKI_FUNC_ADD: return a + b;
    case NKI_FUNC_SUBTRACT: return a - b;
    case NKI_FUNC_MULTIPLY: return a * b;
    case NKI_FUNC_MAXIMUM: return a > b || a != a ? a : b;
    case NKI_FUNC_MINIMUM: return a < b || a != a ? a : b;
    default: {
        float result;
        alu_binary(func)(&result, &a, &b, 1);
        return result;
    }
    }
}

static void scan_any(struct scan *s, const struct chunk *chunk) {
    for (size_t i = 0; i < chunk->n; i++) {
        float a = chunk->src[0][i], b = chunk->src[1][i], old = s->state;
        float first = s->reverse[0] ? combine(s->op[0], old, a) : combine(s->op[0], a, old);
        s->state = s->reverse[1] ? combine(s->op[1], b, first) : combine(s->op[1], first, b);
        chunk->dst[i] = s->state;
    }
}

/* The recurrence of linear filters. Most scans are of this kind. */
static void scan_multiply_add(struct scan *s, const struct chunk *chunk) {
    float state = s->state;
    for (size_t i = 0; i < chunk->n; i++) {
        state = chunk->src[0][i] * state + chunk->src[1][i];
        chunk->dst[i] = state;
    }
    s->state = state;
}

static void run_scan(void *job, const struct chunk *chunk) {
    struct scan *s = job;
    if (chunk->row != s->row) {
        s->row = chunk->row;
        convert_load(s->initial->dtype)(s->initial->at + (int64_t)s->row * s->initial->step[0], 0,
                                        &s->state, 1);
    }
    if (s->op[0] == NKI_FUNC_MULTIPLY && s->op[1] == NKI_FUNC_ADD)
        scan_multiply_add(s, chunk);
    else
        scan_any(s, chunk);
}

bool exec_scan(struct exec *x) {
    struct view dst, a, b, initial;
    struct scan s = {.op = {exec_func(x, NKI_TENSOR_TENSOR_SCAN_op0, NKI_FUNC_MULTIPLY),
                            exec_func(x, NKI_TENSOR_TENSOR_SCAN_op1, NKI_FUNC_ADD)},
                     .reverse = {exec_flag(x, NKI_TENSOR_TENSOR_SCAN_reverse0),
                                 exec_flag(x, NKI_TENSOR_TENSOR_SCAN_reverse1)},
                     .row = SIZE_MAX,
                     .initial = &initial};
    if (!alu_binary(s.op[0]) || !alu_binary(s.op[1]))
        return exec_fail(x, "a scan takes operators of two arguments");
    if (!exec_read(x, NKI_TENSOR_TENSOR_SCAN_data0, &a) ||
        !exec_read(x, NKI_TENSOR_TENSOR_SCAN_data1, &b) ||
        !exec_scalar(x, NKI_TENSOR_TENSOR_SCAN_initial, &a, 0, &initial) ||
        !exec_write(x, NKI_TENSOR_TENSOR_SCAN_dst, &dst))
        return false;
    /* A copy of its own, because the initial value may lie in dst. */
    float values[NKI_PARTITIONS] = {0};
    for (int64_t p = 0; p < dst.count[0]; p++)
        convert_load(initial.dtype)(initial.at + p * initial.step[0], 0, &values[p], 1);
    initial = (struct view){.at = (uint8_t *)values, .dtype = DTYPE_FLOAT32, .step = {4}};
    return stream_floats(
        x, &(struct stream){
               .dst = &dst, .src = {&a, &b}, .n_src = 2, .rows = true, .run = run_scan, .job = &s});
}

struct cumulative {
    alu_binary_fn *op0;
    enum nki_func op1;
    float *acc;
};

static void run_cumulative(void *job, const struct chunk *chunk) {
    struct cumulative *c = job;
    float state = c->acc[chunk->row];
    c->op0(chunk->dst, chunk->src[0], chunk->src[1], chunk->n);
    for (size_t i = 0; i < chunk->n; i++) {
        state = combine(c->op1, chunk->dst[i], state);
        chunk->dst[i] = state;
    }
    c->acc[chunk->row] = state;
}

bool exec_cumulative(struct exec *x) {
    struct view dst, src, operand, load;
    struct cumulative c = {
        alu_binary(exec_func(x, NKI_TENSOR_SCALAR_CUMULATIVE_op0, NKI_FUNC_BYPASS)),
        exec_func(x, NKI_TENSOR_SCALAR_CUMULATIVE_op1, NKI_FUNC_ADD), x->vector_acc};
    if (!c.op0 || !alu_binary(c.op1))
        return exec_fail(x, "op0 and op1 must be operators of two arguments");
    if (!exec_read(x, NKI_TENSOR_SCALAR_CUMULATIVE_src, &src) ||
        !exec_scalar(x, NKI_TENSOR_SCALAR_CUMULATIVE_imm0, &src, 0, &operand) ||
        !exec_scalar(x, NKI_TENSOR_SCALAR_CUMULATIVE_imm1, &src, 0, &load) ||
        !exec_write(x, NKI_TENSOR_SCALAR_CUMULATIVE_dst, &dst))
        return false;
    start(x, exec_int(x, NKI_TENSOR_SCALAR_CUMULATIVE_reduce_cmd, NKI_REDUCE_RESET_REDUCE),
          alu_identity(c.op1), &load);
    return stream_floats(x, &(struct stream){.dst = &dst,
                                             .src = {&src, &operand},
                                             .n_src = 2,
                                             .rows = true,
                                             .run = run_cumulative,
                                             .job = &c});
}

/* ---- statistics ----------------------------------------------------------------------------- */

/* The count, the mean, and the variance times the count, of every second element of a row. */
static void half_stats(const float *row, size_t n, size_t first, float *stats) {
    double sum = 0, squares = 0;
    size_t count = n > first ? (n - first + 1) / 2 : 0;
    for (size_t i = first; i < n; i += 2)
        sum += row[i];
    double mean = count ? sum / (double)count : 0;
    for (size_t i = first; i < n; i += 2)
        squares += (row[i] - mean) * (row[i] - mean);
    stats[0] = (float)count;
    stats[1] = (float)mean;
    stats[2] = (float)squares;
}

bool exec_bn_stats(struct exec *x) {
    struct view dst, src;
    if (!exec_read(x, NKI_BN_STATS_data, &src) || !exec_write(x, NKI_BN_STATS_dst, &dst))
        return false;
    size_t rows = (size_t)src.count[0], n = (size_t)view_free(&src);
    float *values = arena_alloc(x->scratch, rows * n, sizeof *values), stats[NKI_PARTITIONS * 6];
    view_to_floats(&src, values);
    for (size_t p = 0; p < rows; p++) {
        half_stats(values + p * n, n, 0, &stats[p * 6]);
        half_stats(values + p * n, n, 1, &stats[p * 6 + 3]);
    }
    view_from_floats(&dst, stats);
    return true;
}

/* Mean and variance of a row of (count, mean, variance x count) triples. */
static void aggregate(const float *row, size_t n, float *result) {
    double count = 0, sum = 0, squares = 0;
    for (size_t i = 0; i + 2 < n; i += 3) {
        count += row[i];
        sum += (double)row[i] * row[i + 1];
    }
    double mean = count > 0 ? sum / count : 0;
    for (size_t i = 0; i + 2 < n; i += 3)
        squares += row[i + 2] + row[i] * (row[i + 1] - mean) * (row[i + 1] - mean);
    result[0] = (float)mean;
    result[1] = count > 0 ? (float)(squares / count) : 0.0f;
}

bool exec_bn_aggr(struct exec *x) {
    struct view dst, src;
    if (!exec_read(x, NKI_BN_AGGR_data, &src) || !exec_write(x, NKI_BN_AGGR_dst, &dst))
        return false;
    size_t rows = (size_t)src.count[0], n = (size_t)view_free(&src);
    float *values = arena_alloc(x->scratch, rows * n, sizeof *values), result[NKI_PARTITIONS * 2];
    view_to_floats(&src, values);
    for (size_t p = 0; p < rows; p++)
        aggregate(values + p * n, n, &result[p * 2]);
    view_from_floats(&dst, result);
    return true;
}
