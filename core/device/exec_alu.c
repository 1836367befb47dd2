/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise instructions of the Vector, Scalar and GpSimd engines: fp32 inside, rounded to the
 * type of dst at the end; bitwise operators on raw integers; int32 arithmetic exact on GpSimd. */
#include "device/alu.h"
#include "device/exec.h"
#include "device/operands.h"

#include <math.h>

/* One step of a pipeline: value = func(value, operand), the other way round when reversed. */
struct step {
    alu_binary_fn *binary;
    alu_unary_fn *unary;
    bool reverse;
};

static bool make_step(struct exec *x, enum nki_func func, bool reverse, struct step *step) {
    *step = (struct step){alu_binary(func), alu_unary(func), reverse};
    if (step->binary)
        step->unary = NULL;
    return step->binary || step->unary ||
           exec_fail(x, "nl.%s is no operator of the engine", nki_func_name(func));
}

static void apply(const struct step *step, float *dst, const float *value, const float *operand,
                  size_t n) {
    if (step->unary)
        step->unary(dst, value, n);
    else if (step->reverse)
        step->binary(dst, operand, value, n);
    else
        step->binary(dst, value, operand, n);
}

/* Up to two steps over the same elements; `middle` holds the value between them, which dst cannot
 * when it is the second operand too. */
struct pipeline {
    struct step step[2];
    int n;
    float middle[STREAM_RUN];
};

static void run_pipeline(void *job, const struct chunk *chunk) {
    struct pipeline *pipeline = job;
    if (pipeline->n == 1) {
        apply(&pipeline->step[0], chunk->dst, chunk->src[0], chunk->src[1], chunk->n);
        return;
    }
    float *middle = chunk->dst == chunk->src[2] ? pipeline->middle : chunk->dst;
    apply(&pipeline->step[0], middle, chunk->src[0], chunk->src[1], chunk->n);
    apply(&pipeline->step[1], chunk->dst, middle, chunk->src[2], chunk->n);
}

/* ---- integers ------------------------------------------------------------------------------- */

struct int_step {
    alu_int_fn *run;
    bool reverse;
    int bits;
};

static void run_int_step(void *job, const struct int_chunk *chunk) {
    const struct int_step *step = job;
    const int64_t *a = chunk->src[0], *b = chunk->src[1];
    step->run(chunk->dst, step->reverse ? b : a, step->reverse ? a : b, chunk->n, step->bits);
}

static bool ints(struct exec *x, enum nki_func func, bool reverse, const struct view *dst,
                 const struct view *const src[2]) {
    struct int_step step = {alu_ints(func), reverse, 8 * (int)dtype_bytes(src[0]->dtype)};
    if (!step.run)
        return exec_fail(x, "nl.%s is no integer operator", nki_func_name(func));
    return stream_ints(
        x, &(struct int_stream){
               .dst = dst, .src = {src[0], src[1]}, .n_src = 2, .run = run_int_step, .job = &step});
}

/* ---- Vector and GpSimd ---------------------------------------------------------------------- */

static bool bitwise_scalar(struct exec *x) {
    struct view dst, data, operand[2];
    enum nki_func op1 = exec_func(x, TENSOR_SCALAR_OP1, NKI_FUNC_NONE);
    if (!exec_read(x, TENSOR_SCALAR_DATA, &data) ||
        !exec_scalar_int(x, TENSOR_SCALAR_OPERAND0, &data, &operand[0]) ||
        !exec_scalar_int(x, TENSOR_SCALAR_OPERAND1, &data, &operand[1]) ||
        !exec_write(x, TENSOR_SCALAR_DST, &dst))
        return false;
    if (!ints(x, exec_func(x, TENSOR_SCALAR_OP0, NKI_FUNC_NONE),
              exec_flag(x, TENSOR_SCALAR_REVERSE0), &dst,
              (const struct view *[]){&data, &operand[0]}))
        return false;
    return op1 == NKI_FUNC_NONE || ints(x, op1, exec_flag(x, TENSOR_SCALAR_REVERSE1), &dst,
                                        (const struct view *[]){&dst, &operand[1]});
}

bool exec_tensor_scalar(struct exec *x) {
    struct view dst, data, operand[2];
    struct pipeline pipeline;
    enum nki_func op0 = exec_func(x, TENSOR_SCALAR_OP0, NKI_FUNC_NONE);
    enum nki_func op1 = exec_func(x, TENSOR_SCALAR_OP1, NKI_FUNC_NONE);
    if (nki_func_has(op0, 'i'))
        return bitwise_scalar(x);
    pipeline.n = op1 == NKI_FUNC_NONE ? 1 : 2;
    if (!exec_read(x, TENSOR_SCALAR_DATA, &data) ||
        !exec_scalar(x, TENSOR_SCALAR_OPERAND0, &data, 0, &operand[0]) ||
        !exec_scalar(x, TENSOR_SCALAR_OPERAND1, &data, 0, &operand[1]) ||
        !exec_write(x, TENSOR_SCALAR_DST, &dst) ||
        !make_step(x, op0, exec_flag(x, TENSOR_SCALAR_REVERSE0), &pipeline.step[0]) ||
        (pipeline.n == 2 &&
         !make_step(x, op1, exec_flag(x, TENSOR_SCALAR_REVERSE1), &pipeline.step[1])))
        return false;
    return stream_floats(x, &(struct stream){.dst = &dst,
                                             .src = {&data, &operand[0], &operand[1]},
                                             .n_src = 1 + pipeline.n,
                                             .run = run_pipeline,
                                             .job = &pipeline});
}

static bool is_exact(const struct exec *x, const struct view *a, const struct view *b,
                     const struct view *dst) {
    return x->image->engine[x->i] == NKI_ENGINE_GPSIMD && dtype_is_int(a->dtype) &&
           dtype_is_int(b->dtype) && dtype_is_int(dst->dtype);
}

bool exec_tensor_tensor(struct exec *x) {
    struct view dst, a, b;
    struct pipeline pipeline = {.n = 1};
    enum nki_func op = exec_func(x, TENSOR_TENSOR_OP, NKI_FUNC_NONE);
    if (!exec_read(x, TENSOR_TENSOR_DATA1, &a) || !exec_read(x, TENSOR_TENSOR_DATA2, &b) ||
        !exec_write(x, TENSOR_TENSOR_DST, &dst))
        return false;
    if (nki_func_has(op, 'i') || (is_exact(x, &a, &b, &dst) && alu_ints(op)))
        return ints(x, op, false, &dst, (const struct view *[]){&a, &b});
    return make_step(x, op, false, &pipeline.step[0]) &&
           stream_floats(x, &(struct stream){.dst = &dst,
                                             .src = {&a, &b},
                                             .n_src = 2,
                                             .run = run_pipeline,
                                             .job = &pipeline});
}

bool exec_scalar_tensor_tensor(struct exec *x) {
    struct view dst, data, scalar, tile;
    struct pipeline pipeline = {.n = 2};
    if (!exec_read(x, STT_DATA, &data) || !exec_read(x, STT_OPERAND1, &tile) ||
        !exec_scalar(x, STT_OPERAND0, &data, 0, &scalar) || !exec_write(x, STT_DST, &dst))
        return false;
    return make_step(x, exec_func(x, STT_OP0, NKI_FUNC_BYPASS), exec_flag(x, STT_REVERSE0),
                     &pipeline.step[0]) &&
           make_step(x, exec_func(x, STT_OP1, NKI_FUNC_BYPASS), exec_flag(x, STT_REVERSE1),
                     &pipeline.step[1]) &&
           stream_floats(x, &(struct stream){.dst = &dst,
                                             .src = {&data, &scalar, &tile},
                                             .n_src = 3,
                                             .run = run_pipeline,
                                             .job = &pipeline});
}

static void run_unary(void *job, const struct chunk *chunk) {
    alu_unary_fn *const *unary = job;
    (*unary)(chunk->dst, chunk->src[0], chunk->n);
}

static bool map_unary(struct exec *x, size_t data, enum nki_func func) {
    struct view dst, src;
    alu_unary_fn *unary = alu_unary(func);
    if (!unary)
        return exec_fail(x, "nl.%s is no function of one argument", nki_func_name(func));
    return exec_read(x, data, &src) && exec_write(x, 0, &dst) &&
           stream_floats(
               x, &(struct stream){
                      .dst = &dst, .src = {&src}, .n_src = 1, .run = run_unary, .job = &unary});
}

bool exec_reciprocal(struct exec *x) {
    return map_unary(x, COPY_SRC, NKI_FUNC_RECIPROCAL);
}

bool exec_elementwise(struct exec *x) {
    return map_unary(x, ELEMENTWISE_DATA, exec_func(x, ELEMENTWISE_OP, NKI_FUNC_COPY));
}

/* ---- Scalar engine -------------------------------------------------------------------------- */

/* func((data op0 imm0) op1 imm1), with results folded into one accumulator per partition. */
struct activation {
    alu_unary_fn *func;
    bool plain;  /* scale 1 and bias 0: the function alone */
    bool affine; /* data * scale + bias */
    struct step step[2];
    bool leaky; /* prelu with `slope` for negative values */
    float slope;
    alu_fold_fn *fold; /* NULL: nothing is accumulated */
    float *acc;
    float middle[STREAM_RUN];
};

static void scale_and_add(float *dst, const struct chunk *chunk) {
    const float *data = chunk->src[0], *scale = chunk->src[1], *bias = chunk->src[2];
#pragma GCC ivdep
    for (size_t i = 0; i < chunk->n; i++)
        dst[i] = data[i] * scale[i] + bias[i];
}

static void run_activation(void *job, const struct chunk *chunk) {
    struct activation *activation = job;
    const float *value = chunk->src[0];
    if (!activation->plain) {
        value = activation->middle;
        if (activation->affine) {
            scale_and_add(activation->middle, chunk);
        } else {
            apply(&activation->step[0], activation->middle, chunk->src[0], chunk->src[1], chunk->n);
            apply(&activation->step[1], activation->middle, value, chunk->src[2], chunk->n);
        }
    }
    if (activation->leaky)
        for (size_t i = 0; i < chunk->n; i++)
            chunk->dst[i] = value[i] > 0 ? value[i] : activation->slope * value[i];
    else
        activation->func(chunk->dst, value, chunk->n);
    if (activation->fold)
        activation->acc[chunk->row] =
            activation->fold(activation->acc[chunk->row], chunk->dst, chunk->n);
}

static void reset(float *acc, float value) {
    for (size_t p = 0; p < NKI_PARTITIONS; p++)
        acc[p] = value;
}

/* Which command a call means: without one, an operator or a place for the result asks for a fresh
 * reduction. */
static int64_t command(const struct exec *x, size_t cmd, size_t op, size_t result) {
    bool wanted = exec_has(x, op) || exec_has(x, result);
    return exec_int(x, cmd, wanted ? REDUCE_RESET_REDUCE : REDUCE_IDLE);
}

static bool write_acc(struct exec *x, size_t k, const float *acc) {
    struct view result;
    if (!exec_has(x, k))
        return true;
    if (!exec_write(x, k, &result))
        return false;
    view_from_floats(&result, acc);
    return true;
}

static void start_acc(struct exec *x, struct activation *activation, enum nki_func op,
                      int64_t cmd) {
    activation->acc = x->scalar_acc;
    if (cmd == REDUCE_RESET || cmd == REDUCE_RESET_REDUCE)
        reset(x->scalar_acc, alu_identity(op));
    if (cmd == REDUCE_REDUCE || cmd == REDUCE_RESET_REDUCE)
        activation->fold = alu_fold(op);
}

static bool is_constant(const struct exec *x, size_t k, double value) {
    return x->instr->operands[k].kind != NKI_OPERAND_AP && exec_number(x, k, value) == value;
}

static bool activate(struct exec *x, struct activation *activation, size_t bias, size_t scale) {
    struct view dst, data, operand[2];
    activation->func = alu_unary(exec_func(x, ACTIVATION_OP, NKI_FUNC_COPY));
    activation->affine = true;
    activation->plain = is_constant(x, scale, 1) && is_constant(x, bias, 0);
    if (!activation->func)
        return exec_fail(x, "no such activation function");
    if (!exec_read(x, ACTIVATION_DATA, &data) || !exec_scalar(x, scale, &data, 1, &operand[0]) ||
        !exec_scalar(x, bias, &data, 0, &operand[1]) || !exec_write(x, ACTIVATION_DST, &dst))
        return false;
    return stream_floats(x, &(struct stream){.dst = &dst,
                                             .src = {&data, &operand[0], &operand[1]},
                                             .n_src = activation->plain ? 1 : 3,
                                             .rows = activation->fold != NULL,
                                             .run = run_activation,
                                             .job = activation});
}

bool exec_activation(struct exec *x) {
    struct activation activation = {0};
    start_acc(x, &activation, exec_func(x, ACTIVATION_REDUCE_OP, NKI_FUNC_ADD),
              command(x, ACTIVATION_REDUCE_CMD, ACTIVATION_REDUCE_OP, ACTIVATION_REDUCE_RES));
    return activate(x, &activation, ACTIVATION_BIAS, ACTIVATION_SCALE) &&
           write_acc(x, ACTIVATION_REDUCE_RES, x->scalar_acc);
}

bool exec_activation_reduce(struct exec *x) {
    struct activation activation = {0};
    start_acc(x, &activation, NKI_FUNC_ADD, REDUCE_RESET_REDUCE);
    return activate(x, &activation, ACTIVATION_REDUCE__BIAS, ACTIVATION_REDUCE__SCALE) &&
           write_acc(x, ACTIVATION_REDUCE__RES, x->scalar_acc);
}

bool exec_activate2(struct exec *x) {
    struct activation activation = {0};
    struct view dst, data, operand[2];
    enum nki_func func = exec_func(x, ACTIVATE2_OP, NKI_FUNC_COPY);
    activation.leaky = func == NKI_FUNC_PRELU;
    activation.slope = (float)exec_number(x, ACTIVATE2_RELU_PARAM, 0);
    activation.func = alu_unary(func);
    if (!activation.func && !activation.leaky)
        return exec_fail(x, "nl.%s is no activation function", nki_func_name(func));
    start_acc(x, &activation, exec_func(x, ACTIVATE2_REDUCE_OP, NKI_FUNC_ADD),
              command(x, ACTIVATE2_REDUCE_CMD, ACTIVATE2_REDUCE_OP, ACTIVATE2_REDUCE_RES));
    if (!make_step(x, exec_func(x, ACTIVATE2_OP0, NKI_FUNC_BYPASS),
                   exec_flag(x, ACTIVATE2_REVERSE0), &activation.step[0]) ||
        !make_step(x, exec_func(x, ACTIVATE2_OP1, NKI_FUNC_BYPASS),
                   exec_flag(x, ACTIVATE2_REVERSE1), &activation.step[1]) ||
        !exec_read(x, ACTIVATE2_DATA, &data) ||
        !exec_scalar(x, ACTIVATE2_IMM0, &data, 0, &operand[0]) ||
        !exec_scalar(x, ACTIVATE2_IMM1, &data, 0, &operand[1]) ||
        !exec_write(x, ACTIVATE2_DST, &dst))
        return false;
    return stream_floats(x, &(struct stream){.dst = &dst,
                                             .src = {&data, &operand[0], &operand[1]},
                                             .n_src = 3,
                                             .rows = activation.fold != NULL,
                                             .run = run_activation,
                                             .job = &activation}) &&
           write_acc(x, ACTIVATE2_REDUCE_RES, x->scalar_acc);
}

struct exponential {
    alu_unary_fn *exp;
    float *acc; /* NULL: no running sum */
};

static void run_exponential(void *job, const struct chunk *chunk) {
    const struct exponential *exponential = job;
    alu_binary(NKI_FUNC_SUBTRACT)(chunk->dst, chunk->src[0], chunk->src[1], chunk->n);
    exponential->exp(chunk->dst, chunk->dst, chunk->n);
    if (exponential->acc)
        exponential->acc[chunk->row] =
            alu_fold(NKI_FUNC_ADD)(exponential->acc[chunk->row], chunk->dst, chunk->n);
}

bool exec_exponential(struct exec *x) {
    struct view dst, src, most, start;
    struct exponential exponential = {.exp = alu_unary(NKI_FUNC_EXP)};
    int64_t cmd = exec_int(x, EXPONENTIAL_CMD,
                           exec_has(x, EXPONENTIAL_RES) ? REDUCE_RESET_REDUCE : REDUCE_IDLE);
    if (!exec_read(x, EXPONENTIAL_SRC, &src) || !exec_scalar(x, EXPONENTIAL_MAX, &src, 0, &most) ||
        !exec_scalar(x, EXPONENTIAL_INIT, &src, 0, &start) || !exec_write(x, EXPONENTIAL_DST, &dst))
        return false;
    if (cmd == REDUCE_RESET || cmd == REDUCE_RESET_REDUCE)
        reset(x->vector_acc, 0);
    for (int64_t p = 0; cmd == REDUCE_LOAD_REDUCE && p < dst.count[0]; p++)
        convert_load(start.dtype)(start.at + p * start.step[0], 0, &x->vector_acc[p], 1);
    if (cmd != REDUCE_IDLE && cmd != REDUCE_RESET)
        exponential.acc = x->vector_acc;
    return stream_floats(x, &(struct stream){.dst = &dst,
                                             .src = {&src, &most},
                                             .n_src = 2,
                                             .rows = exponential.acc != NULL,
                                             .run = run_exponential,
                                             .job = &exponential}) &&
           write_acc(x, EXPONENTIAL_RES, x->vector_acc);
}
