/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise instructions of the Vector, Scalar and GpSimd engines. They compute in fp32 and round
 * to the type of dst at the end. Bitwise operators take raw integers, and int32 arithmetic is exact
 * on GpSimd. */
#include "device/exec/alu.h"
#include "device/exec/run.h"

#include <math.h>

/* One step of a pipeline: value = func(value, operand), or func(operand, value) when reversed. */
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

/* Up to two steps over the same elements. `middle` holds the value between them: dst cannot,
 * because it may be the second operand too. */
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
    enum nki_func op1 = exec_func(x, NKI_TENSOR_SCALAR_op1, NKI_FUNC_NONE);
    if (!exec_read(x, NKI_TENSOR_SCALAR_data, &data) ||
        !exec_scalar_int(x, NKI_TENSOR_SCALAR_operand0, &data, &operand[0]) ||
        !exec_scalar_int(x, NKI_TENSOR_SCALAR_operand1, &data, &operand[1]) ||
        !exec_write(x, NKI_TENSOR_SCALAR_dst, &dst))
        return false;
    if (!ints(x, exec_func(x, NKI_TENSOR_SCALAR_op0, NKI_FUNC_NONE),
              exec_flag(x, NKI_TENSOR_SCALAR_reverse0), &dst,
              (const struct view *[]){&data, &operand[0]}))
        return false;
    return op1 == NKI_FUNC_NONE || ints(x, op1, exec_flag(x, NKI_TENSOR_SCALAR_reverse1), &dst,
                                        (const struct view *[]){&dst, &operand[1]});
}

bool exec_tensor_scalar(struct exec *x) {
    struct view dst, data, operand[2];
    struct pipeline pipeline;
    enum nki_func op0 = exec_func(x, NKI_TENSOR_SCALAR_op0, NKI_FUNC_NONE);
    enum nki_func op1 = exec_func(x, NKI_TENSOR_SCALAR_op1, NKI_FUNC_NONE);
    if (nki_func_has(op0, 'i'))
        return bitwise_scalar(x);
    pipeline.n = op1 == NKI_FUNC_NONE ? 1 : 2;
    if (!exec_read(x, NKI_TENSOR_SCALAR_data, &data) ||
        !exec_scalar(x, NKI_TENSOR_SCALAR_operand0, &data, 0, &operand[0]) ||
        !exec_scalar(x, NKI_TENSOR_SCALAR_operand1, &data, 0, &operand[1]) ||
        !exec_write(x, NKI_TENSOR_SCALAR_dst, &dst) ||
        !make_step(x, op0, exec_flag(x, NKI_TENSOR_SCALAR_reverse0), &pipeline.step[0]) ||
        (pipeline.n == 2 &&
         !make_step(x, op1, exec_flag(x, NKI_TENSOR_SCALAR_reverse1), &pipeline.step[1])))
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
    enum nki_func op = exec_func(x, NKI_TENSOR_TENSOR_op, NKI_FUNC_NONE);
    if (!exec_read(x, NKI_TENSOR_TENSOR_data1, &a) || !exec_read(x, NKI_TENSOR_TENSOR_data2, &b) ||
        !exec_write(x, NKI_TENSOR_TENSOR_dst, &dst))
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
    if (!exec_read(x, NKI_SCALAR_TENSOR_TENSOR_data, &data) ||
        !exec_read(x, NKI_SCALAR_TENSOR_TENSOR_operand1, &tile) ||
        !exec_scalar(x, NKI_SCALAR_TENSOR_TENSOR_operand0, &data, 0, &scalar) ||
        !exec_write(x, NKI_SCALAR_TENSOR_TENSOR_dst, &dst))
        return false;
    return make_step(x, exec_func(x, NKI_SCALAR_TENSOR_TENSOR_op0, NKI_FUNC_BYPASS),
                     exec_flag(x, NKI_SCALAR_TENSOR_TENSOR_reverse0), &pipeline.step[0]) &&
           make_step(x, exec_func(x, NKI_SCALAR_TENSOR_TENSOR_op1, NKI_FUNC_BYPASS),
                     exec_flag(x, NKI_SCALAR_TENSOR_TENSOR_reverse1), &pipeline.step[1]) &&
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
    return exec_read(x, data, &src) && exec_write(x, NKI_DST, &dst) &&
           stream_floats(
               x, &(struct stream){
                      .dst = &dst, .src = {&src}, .n_src = 1, .run = run_unary, .job = &unary});
}

bool exec_reciprocal(struct exec *x) {
    return map_unary(x, NKI_RECIPROCAL_data, NKI_FUNC_RECIPROCAL);
}

bool exec_elementwise(struct exec *x) {
    return map_unary(x, NKI_ELEMENTWISE_data, exec_func(x, NKI_ELEMENTWISE_op, NKI_FUNC_COPY));
}

/* ---- Scalar engine -------------------------------------------------------------------------- */

/* func((data op0 imm0) op1 imm1), with results folded into one accumulator per partition. */
struct activation {
    alu_unary_fn *func;
    bool plain;  /* scale 1 and bias 0: only the function is left */
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

/* The command that a call means. Without one, an operator or a place for the result asks for a
 * fresh reduction. */
static int64_t command(const struct exec *x, size_t cmd, size_t op, size_t result) {
    bool wanted = exec_has(x, op) || exec_has(x, result);
    return exec_int(x, cmd, wanted ? NKI_REDUCE_RESET_REDUCE : NKI_REDUCE_IDLE);
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
    if (cmd == NKI_REDUCE_RESET || cmd == NKI_REDUCE_RESET_REDUCE)
        reset(x->scalar_acc, alu_identity(op));
    if (cmd == NKI_REDUCE_REDUCE || cmd == NKI_REDUCE_RESET_REDUCE)
        activation->fold = alu_fold(op);
}

static bool is_constant(const struct exec *x, size_t k, double value) {
    return x->instr->operands[k].kind != NKI_OPERAND_AP && exec_number(x, k, value) == value;
}

static bool activate(struct exec *x, struct activation *activation, size_t bias, size_t scale) {
    struct view dst, data, operand[2];
    activation->func = alu_unary(exec_func(x, NKI_ACTIVATION_op, NKI_FUNC_COPY));
    activation->affine = true;
    activation->plain = is_constant(x, scale, 1) && is_constant(x, bias, 0);
    if (!activation->func)
        return exec_fail(x, "no such activation function");
    if (!exec_read(x, NKI_ACTIVATION_data, &data) ||
        !exec_scalar(x, scale, &data, 1, &operand[0]) ||
        !exec_scalar(x, bias, &data, 0, &operand[1]) || !exec_write(x, NKI_ACTIVATION_dst, &dst))
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
    start_acc(
        x, &activation, exec_func(x, NKI_ACTIVATION_reduce_op, NKI_FUNC_ADD),
        command(x, NKI_ACTIVATION_reduce_cmd, NKI_ACTIVATION_reduce_op, NKI_ACTIVATION_reduce_res));
    return activate(x, &activation, NKI_ACTIVATION_bias, NKI_ACTIVATION_scale) &&
           write_acc(x, NKI_ACTIVATION_reduce_res, x->scalar_acc);
}

bool exec_activation_reduce(struct exec *x) {
    struct activation activation = {0};
    start_acc(x, &activation, NKI_FUNC_ADD, NKI_REDUCE_RESET_REDUCE);
    return activate(x, &activation, NKI_ACTIVATION_REDUCE_bias, NKI_ACTIVATION_REDUCE_scale) &&
           write_acc(x, NKI_ACTIVATION_REDUCE_reduce_res, x->scalar_acc);
}

bool exec_activate2(struct exec *x) {
    struct activation activation = {0};
    struct view dst, data, operand[2];
    enum nki_func func = exec_func(x, NKI_ACTIVATE2_op, NKI_FUNC_COPY);
    activation.leaky = func == NKI_FUNC_PRELU;
    activation.slope = (float)exec_number(x, NKI_ACTIVATE2_relu_param, 0);
    activation.func = alu_unary(func);
    if (!activation.func && !activation.leaky)
        return exec_fail(x, "nl.%s is no activation function", nki_func_name(func));
    start_acc(
        x, &activation, exec_func(x, NKI_ACTIVATE2_reduce_op, NKI_FUNC_ADD),
        command(x, NKI_ACTIVATE2_reduce_cmd, NKI_ACTIVATE2_reduce_op, NKI_ACTIVATE2_reduce_res));
    if (!make_step(x, exec_func(x, NKI_ACTIVATE2_op0, NKI_FUNC_BYPASS),
                   exec_flag(x, NKI_ACTIVATE2_reverse0), &activation.step[0]) ||
        !make_step(x, exec_func(x, NKI_ACTIVATE2_op1, NKI_FUNC_BYPASS),
                   exec_flag(x, NKI_ACTIVATE2_reverse1), &activation.step[1]) ||
        !exec_read(x, NKI_ACTIVATE2_data, &data) ||
        !exec_scalar(x, NKI_ACTIVATE2_imm0, &data, 0, &operand[0]) ||
        !exec_scalar(x, NKI_ACTIVATE2_imm1, &data, 0, &operand[1]) ||
        !exec_write(x, NKI_ACTIVATE2_dst, &dst))
        return false;
    return stream_floats(x, &(struct stream){.dst = &dst,
                                             .src = {&data, &operand[0], &operand[1]},
                                             .n_src = 3,
                                             .rows = activation.fold != NULL,
                                             .run = run_activation,
                                             .job = &activation}) &&
           write_acc(x, NKI_ACTIVATE2_reduce_res, x->scalar_acc);
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
    int64_t cmd = exec_int(x, NKI_EXPONENTIAL_reduce_cmd,
                           exec_has(x, NKI_EXPONENTIAL_reduce_res) ? NKI_REDUCE_RESET_REDUCE
                                                                   : NKI_REDUCE_IDLE);
    if (!exec_read(x, NKI_EXPONENTIAL_src, &src) ||
        !exec_scalar(x, NKI_EXPONENTIAL_max_value, &src, 0, &most) ||
        !exec_scalar(x, NKI_EXPONENTIAL_reduce_init, &src, 0, &start) ||
        !exec_write(x, NKI_EXPONENTIAL_dst, &dst))
        return false;
    if (cmd == NKI_REDUCE_RESET || cmd == NKI_REDUCE_RESET_REDUCE)
        reset(x->vector_acc, 0);
    for (int64_t p = 0; cmd == NKI_REDUCE_LOAD_REDUCE && p < dst.count[0]; p++)
        convert_load(start.dtype)(start.at + p * start.step[0], 0, &x->vector_acc[p], 1);
    if (cmd != NKI_REDUCE_IDLE && cmd != NKI_REDUCE_RESET)
        exponential.acc = x->vector_acc;
    return stream_floats(x, &(struct stream){.dst = &dst,
                                             .src = {&src, &most},
                                             .n_src = 2,
                                             .rows = exponential.acc != NULL,
                                             .run = run_exponential,
                                             .job = &exponential}) &&
           write_acc(x, NKI_EXPONENTIAL_reduce_res, x->vector_acc);
}
