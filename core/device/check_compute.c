/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of the instructions of the Vector, Scalar and GpSimd engines that compute.
 * Source: the NKI ISA reference of NKI 0.6; names of errors from the legacy nki.errors. */
#include "device/check.h"
#include "device/operands.h"

/* ---- Scalar engine -------------------------------------------------------------------------- */

static void check_function(struct check *c, size_t k) {
    enum nki_func func = check_func(c, k);
    bool known = nki_func_has(func, 'a') && (func != NKI_FUNC_PRELU || c->op == NKI_OP_ACTIVATE2);
    if (!known)
        check_error(c, "", "op=nl.%s is no activation function", nki_func_name(func));
}

static bool is_bias_type(enum dtype dtype) {
    return dtype == DTYPE_FLOAT32 || dtype == DTYPE_FLOAT16 || dtype == DTYPE_BFLOAT16;
}

static void check_bias(struct check *c, size_t k) {
    const struct nki_ap *bias = check_tile(c, k);
    const struct nki_operand *operand = &c->instr->operands[k];
    if (!bias) {
        bool nonzero = operand->kind == NKI_OPERAND_FLOAT
                           ? operand->f != 0
                           : operand->kind == NKI_OPERAND_INT && operand->i != 0;
        if (nonzero && c->generation == NKI_GEN2)
            check_error(c, "err_activation_bias_invalid_type",
                        "bias must be a (P, 1) tile on trn1; numbers are possible from trn2 on");
        return;
    }
    check_vector(c, k, 0);
    if (!is_bias_type(bias->dtype))
        check_error(c, "err_activation_bias_invalid_type",
                    "bias is %s; float32, float16 and bfloat16 are allowed",
                    dtype_name(bias->dtype));
}

static void check_scale(struct check *c, size_t k) {
    const struct nki_ap *scale = check_tile(c, k);
    if (!scale || !check_vector(c, k, 0))
        return;
    if (scale->dtype != DTYPE_FLOAT32)
        check_error(c, "err_activation_scale_invalid_type",
                    "scale is %s; a float32 vector or a "
                    "number is allowed",
                    dtype_name(scale->dtype));
}

static void check_result(struct check *c, size_t k) {
    if (check_tile(c, k))
        check_vector(c, k, 0);
}

void check_activation(struct check *c) {
    bool reduce = c->op == NKI_OP_ACTIVATION_REDUCE;
    size_t reduce_op = reduce ? (size_t)ACTIVATION_REDUCE__REDUCE_OP : ACTIVATION_REDUCE_OP;
    check_no_packed(c);
    check_function(c, ACTIVATION_OP);
    check_same_shape(c, ACTIVATION_DST, ACTIVATION_DATA);
    check_bias(c, reduce ? (size_t)ACTIVATION_REDUCE__BIAS : ACTIVATION_BIAS);
    check_scale(c, reduce ? (size_t)ACTIVATION_REDUCE__SCALE : ACTIVATION_SCALE);
    check_result(c, reduce ? (size_t)ACTIVATION_REDUCE__RES : ACTIVATION_REDUCE_RES);
    enum nki_func func = check_func(c, reduce_op);
    if (func != NKI_FUNC_NONE && func != NKI_FUNC_ADD)
        check_error(c, "", "reduce_op=nl.%s: the scalar engine reduces with add only",
                    nki_func_name(func));
}

void check_activate2(struct check *c) {
    static const enum nki_func pairs[][2] = {
        {NKI_FUNC_MULTIPLY, NKI_FUNC_ADD},    {NKI_FUNC_MULTIPLY, NKI_FUNC_SUBTRACT},
        {NKI_FUNC_MULTIPLY, NKI_FUNC_BYPASS}, {NKI_FUNC_ADD, NKI_FUNC_BYPASS},
        {NKI_FUNC_SUBTRACT, NKI_FUNC_BYPASS}, {NKI_FUNC_BYPASS, NKI_FUNC_BYPASS}};
    if (!check_generation(c, NKI_GEN4))
        return;
    check_no_packed(c);
    check_function(c, ACTIVATE2_OP);
    check_same_shape(c, ACTIVATE2_DST, ACTIVATE2_DATA);
    check_vector(c, ACTIVATE2_IMM0, 0);
    check_vector(c, ACTIVATE2_IMM1, 0);
    check_result(c, ACTIVATE2_REDUCE_RES);
    enum nki_func op0 = check_func(c, ACTIVATE2_OP0), op1 = check_func(c, ACTIVATE2_OP1);
    op0 = op0 ? op0 : NKI_FUNC_BYPASS;
    op1 = op1 ? op1 : NKI_FUNC_BYPASS;
    for (size_t i = 0; i < COUNT_OF(pairs); i++)
        if (op0 == pairs[i][0] && op1 == pairs[i][1])
            return;
    check_error(c, "",
                "op0=nl.%s with op1=nl.%s; multiply with add, subtract or bypass, and add, "
                "subtract or bypass with bypass are possible",
                nki_func_name(op0), nki_func_name(op1));
}

/* ---- Vector engine -------------------------------------------------------------------------- */

/* Bitwise operators work on integers: source, tile operand and destination. */
static void check_bitwise(struct check *c, enum nki_func func, size_t a, size_t b) {
    if (func == NKI_FUNC_NONE || !nki_func_has(func, 'i'))
        return;
    check_int_dtype(c, 0);
    check_int_dtype(c, a);
    check_int_dtype(c, b);
    if (c->engine != NKI_ENGINE_VECTOR)
        check_error(c, "", "bitwise operators run on the vector engine only");
}

static void check_scalar_dtype(struct check *c, size_t k, enum nki_func func) {
    const struct nki_ap *ap = check_tile(c, k);
    if (ap && !c->legacy && func != NKI_FUNC_NONE && !nki_func_has(func, 'i') &&
        ap->dtype != DTYPE_FLOAT32)
        check_error(c, "", "%s is %s; arithmetic operators take float32 vectors", check_param(c, k),
                    dtype_name(ap->dtype));
}

/* The Scalar engine has multiply, add, and multiply then add; it reverses nothing. */
static void check_scalar_engine(struct check *c) {
    enum nki_func op0 = check_func(c, TENSOR_SCALAR_OP0), op1 = check_func(c, TENSOR_SCALAR_OP1);
    bool both = op0 == NKI_FUNC_MULTIPLY && op1 == NKI_FUNC_ADD;
    bool one = op1 == NKI_FUNC_NONE && (op0 == NKI_FUNC_MULTIPLY || op0 == NKI_FUNC_ADD);
    if (!both && !one)
        check_error(c, "", "the scalar engine runs multiply, add, or multiply then add, not %s%s%s",
                    nki_func_name(op0), op1 ? " then " : "", op1 ? nki_func_name(op1) : "");
}

static void check_gpsimd_only(struct check *c, size_t k) {
    enum nki_func func = check_func(c, k);
    bool slow = func == NKI_FUNC_POWER || func == NKI_FUNC_RSQRT;
    if (slow && !c->legacy && c->engine != NKI_ENGINE_GPSIMD)
        check_error(c, "err_unsupported_memory",
                    "%s=nl.%s runs on gpsimd, which reaches SBUF only; copy the operand to SBUF",
                    check_param(c, k), nki_func_name(func));
}

static bool is_unary(enum nki_func func) {
    return nki_func_has(func, 'u') && !nki_func_has(func, 'b');
}

static void check_operand(struct check *c, size_t op, size_t operand) {
    enum nki_func func = check_func(c, op);
    check_vector(c, operand, 0);
    check_scalar_dtype(c, operand, func);
    if (func != NKI_FUNC_NONE && !is_unary(func) &&
        c->instr->operands[operand].kind == NKI_OPERAND_NONE)
        check_error(c, "", "%s=nl.%s needs %s", check_param(c, op), nki_func_name(func),
                    check_param(c, operand));
}

void check_tensor_scalar(struct check *c) {
    enum nki_func op0 = check_func(c, TENSOR_SCALAR_OP0), op1 = check_func(c, TENSOR_SCALAR_OP1);
    check_no_packed(c);
    check_alu(c, TENSOR_SCALAR_OP0);
    check_alu(c, TENSOR_SCALAR_OP1);
    check_one_class(c, TENSOR_SCALAR_OP0, TENSOR_SCALAR_OP1);
    check_same_shape(c, TENSOR_SCALAR_DST, TENSOR_SCALAR_DATA);
    check_operand(c, TENSOR_SCALAR_OP0, TENSOR_SCALAR_OPERAND0);
    check_operand(c, TENSOR_SCALAR_OP1, TENSOR_SCALAR_OPERAND1);
    check_bitwise(c, op0, TENSOR_SCALAR_DATA, TENSOR_SCALAR_OPERAND0);
    check_bitwise(c, op1, TENSOR_SCALAR_DATA, TENSOR_SCALAR_OPERAND1);
    check_gpsimd_only(c, TENSOR_SCALAR_OP0);
    check_gpsimd_only(c, TENSOR_SCALAR_OP1);
    if (c->engine == NKI_ENGINE_SCALAR && c->instr->engine == NKI_ENGINE_SCALAR)
        check_scalar_engine(c);
}

void check_tensor_tensor(struct check *c) {
    check_no_packed(c);
    check_alu(c, TENSOR_TENSOR_OP);
    check_same_shape(c, TENSOR_TENSOR_DST, TENSOR_TENSOR_DATA1);
    check_same_shape(c, TENSOR_TENSOR_DST, TENSOR_TENSOR_DATA2);
    check_not_both_psum(c, TENSOR_TENSOR_DATA1, TENSOR_TENSOR_DATA2);
    check_bitwise(c, check_func(c, TENSOR_TENSOR_OP), TENSOR_TENSOR_DATA1, TENSOR_TENSOR_DATA2);
    check_gpsimd_only(c, TENSOR_TENSOR_OP);
}

static void check_arithmetic(struct check *c, size_t k) {
    check_alu(c, k);
    if (nki_func_has(check_func(c, k), 'i'))
        check_error(c, "", "%s=nl.%s: bitwise operators are not possible here", check_param(c, k),
                    nki_func_name(check_func(c, k)));
}

void check_scalar_tensor_tensor(struct check *c) {
    check_no_packed(c);
    check_arithmetic(c, STT_OP0);
    check_arithmetic(c, STT_OP1);
    check_same_shape(c, STT_DST, STT_DATA);
    check_same_shape(c, STT_DST, STT_OPERAND1);
    check_operand(c, STT_OP0, STT_OPERAND0);
    check_not_both_psum(c, STT_DATA, STT_OPERAND1);
}

void check_scan(struct check *c) {
    check_no_packed(c);
    check_arithmetic(c, SCAN_OP0);
    check_arithmetic(c, SCAN_OP1);
    check_same_shape(c, SCAN_DST, SCAN_DATA0);
    check_same_shape(c, SCAN_DST, SCAN_DATA1);
    check_vector(c, SCAN_INITIAL, SCAN_DST);
    check_not_both_psum(c, SCAN_DATA0, SCAN_DATA1);
}

static void check_running_op(struct check *c, size_t k) {
    enum nki_func func = check_func(c, k);
    if (func != NKI_FUNC_ADD && func != NKI_FUNC_SUBTRACT && func != NKI_FUNC_MULTIPLY &&
        func != NKI_FUNC_MAXIMUM && func != NKI_FUNC_MINIMUM)
        check_error(c, "", "%s=nl.%s; add, subtract, multiply, maximum and minimum are possible",
                    check_param(c, k), nki_func_name(func));
}

void check_cumulative(struct check *c) {
    check_no_packed(c);
    check_arithmetic(c, CUMULATIVE_OP0);
    check_running_op(c, CUMULATIVE_OP1);
    check_same_shape(c, CUMULATIVE_DST, CUMULATIVE_SRC);
    check_vector(c, CUMULATIVE_IMM0, CUMULATIVE_DST);
    check_vector(c, CUMULATIVE_IMM1, CUMULATIVE_DST);
    enum dtype dtype = check_tile(c, CUMULATIVE_SRC)->dtype;
    if (dtype == DTYPE_INT32 || dtype == DTYPE_UINT32)
        check_error(c, "", "src is %s; 32-bit integers are not possible", dtype_name(dtype));
}

void check_tensor_scalar_reduce(struct check *c) {
    check_no_packed(c);
    check_arithmetic(c, TSR_OP0);
    check_running_op(c, TSR_REDUCE_OP);
    check_same_shape(c, TSR_DST, TSR_DATA);
    check_operand(c, TSR_OP0, TSR_OPERAND0);
    check_result(c, TSR_REDUCE_RES);
    check_vector(c, TSR_REDUCE_INIT, TSR_DST);
    if (check_enum(c, TSR_REVERSE0, 0) && !c->legacy)
        check_error(c, "", "reverse0 is not possible here");
}

/* Dimensions counted on the tile; -1 where the operand is no plain dimension. */
static bool is_trailing(const struct nki_operand *axes, int n_dims, int64_t first) {
    if (axes->kind != NKI_OPERAND_INT && axes->kind != NKI_OPERAND_INTS)
        return true;
    uint32_t n = axes->kind == NKI_OPERAND_INT ? 1 : axes->n;
    for (uint32_t i = 0; i < n; i++) {
        int64_t axis = axes->kind == NKI_OPERAND_INT ? axes->i : axes->ints[i];
        axis += axis < 0 ? n_dims : 0;
        if (axis < first || axis >= n_dims)
            return false;
    }
    return true;
}

void check_tensor_reduce(struct check *c) {
    const struct nki_ap *dst = check_tile(c, TENSOR_REDUCE_DST);
    const struct nki_ap *data = check_tile(c, TENSOR_REDUCE_DATA);
    check_no_packed(c);
    check_reduce_op(c, TENSOR_REDUCE_OP);
    check_same_partitions(c, TENSOR_REDUCE_DST, TENSOR_REDUCE_DATA);
    if (!is_trailing(&c->instr->operands[TENSOR_REDUCE_AXIS], data->n_dims, 1))
        check_error(c, "",
                    "axis must name free dimensions of a tile of %d; the partitions are "
                    "reduced by tensor_partition_reduce or a matmul",
                    data->n_dims);
    if (nki_ap_free(data) % nki_ap_free(dst))
        check_error(c, "",
                    "dst has %lld elements per partition, which do not divide the %lld of data",
                    (long long)nki_ap_free(dst), (long long)nki_ap_free(data));
    check_bitwise(c, check_func(c, TENSOR_REDUCE_OP), TENSOR_REDUCE_DATA, TENSOR_REDUCE_DATA);
}

void check_partition_reduce(struct check *c) {
    enum nki_func func = check_func(c, PARTITION_REDUCE_OP);
    const struct nki_ap *dst = check_tile(c, PARTITION_REDUCE_DST);
    check_no_packed(c);
    if (func != NKI_FUNC_ADD && func != NKI_FUNC_AVERAGE && func != NKI_FUNC_MAXIMUM &&
        func != NKI_FUNC_BITWISE_OR && func != NKI_FUNC_BITWISE_AND)
        check_error(c, "",
                    "op=nl.%s; add, average, maximum, bitwise_or and bitwise_and are possible",
                    nki_func_name(func));
    if (dst->count[0] != 1 || nki_ap_free(dst) != nki_ap_free(check_tile(c, PARTITION_REDUCE_DATA)))
        check_error(c, "", "dst is %d x %lld; 1 x %lld is needed", dst->count[0],
                    (long long)nki_ap_free(dst),
                    (long long)nki_ap_free(check_tile(c, PARTITION_REDUCE_DATA)));
    if (nki_func_has(func, 'i')) {
        check_int_dtype(c, PARTITION_REDUCE_DST);
        check_int_dtype(c, PARTITION_REDUCE_DATA);
    }
}

void check_exponential(struct check *c) {
    if (!check_generation(c, NKI_GEN4))
        return;
    check_no_packed(c);
    check_same_shape(c, EXPONENTIAL_DST, EXPONENTIAL_SRC);
    check_vector(c, EXPONENTIAL_MAX, 0);
    check_vector(c, EXPONENTIAL_INIT, 0);
    check_result(c, EXPONENTIAL_RES);
}

void check_bn_stats(struct check *c) {
    check_no_packed(c);
    check_same_partitions(c, COPY_DST, COPY_SRC);
    check_free_range(c, COPY_SRC, 1, 512);
    check_free_range(c, COPY_DST, 6, 6);
}

void check_bn_aggr(struct check *c) {
    check_no_packed(c);
    check_same_partitions(c, COPY_DST, COPY_SRC);
    check_free_range(c, COPY_DST, 2, 2);
    if (nki_ap_free(check_tile(c, COPY_SRC)) % 3)
        check_error(c, "", "data has %lld elements per partition; triples are needed",
                    (long long)nki_ap_free(check_tile(c, COPY_SRC)));
}

void check_max8(struct check *c) {
    check_no_packed(c);
    check_same_partitions(c, COPY_DST, COPY_SRC);
    check_free_range(c, COPY_SRC, 8, 16384);
    check_free_range(c, COPY_DST, 8, 8);
}

void check_find_index8(struct check *c) {
    enum dtype dtype = check_tile(c, FIND8_DST)->dtype;
    check_no_packed(c);
    check_same_partitions(c, FIND8_DST, FIND8_DATA);
    check_same_shape(c, FIND8_DST, FIND8_VALS);
    check_free_range(c, FIND8_DATA, 8, 16384);
    check_free_range(c, FIND8_VALS, 8, 8);
    if (dtype != DTYPE_UINT16 && dtype != DTYPE_UINT32)
        check_error(c, "", "dst is %s; uint16 and uint32 are allowed", dtype_name(dtype));
}

void check_match_replace8(struct check *c) {
    check_no_packed(c);
    check_same_shape(c, REPLACE8_DST, REPLACE8_DATA);
    check_same_partitions(c, REPLACE8_DATA, REPLACE8_VALS);
    check_free_range(c, REPLACE8_DATA, 8, 16384);
    check_free_range(c, REPLACE8_VALS, 8, 8);
    if (check_tile(c, REPLACE8_INDEX)) {
        check_same_shape(c, REPLACE8_INDEX, REPLACE8_VALS);
        check_int_dtype(c, REPLACE8_INDEX);
    }
}

void check_select_reduce(struct check *c) {
    const struct nki_ap *predicate = check_tile(c, SELECT_PREDICATE);
    const struct nki_ap *on_false = check_tile(c, SELECT_ON_FALSE);
    check_no_packed(c);
    if (predicate)
        check_same_shape(c, SELECT_DST, SELECT_PREDICATE);
    check_int_dtype(c, SELECT_PREDICATE);
    if (check_tile(c, SELECT_ON_TRUE))
        check_same_shape(c, SELECT_DST, SELECT_ON_TRUE);
    if (on_false && nki_ap_free(on_false) != 1)
        check_same_shape(c, SELECT_DST, SELECT_ON_FALSE);
    check_result(c, SELECT_RES);
    check_not_both_psum(c, SELECT_PREDICATE, SELECT_ON_TRUE);
    enum nki_func func = check_func(c, SELECT_OP);
    if (func != NKI_FUNC_NONE && func != NKI_FUNC_MAXIMUM)
        check_error(c, "", "reduce_op=nl.%s: only maximum is possible", nki_func_name(func));
}

static void check_comparison(struct check *c, size_t k) {
    if (!nki_func_has(check_func(c, k), 'c') && check_func(c, k) != NKI_FUNC_NONE)
        check_error(c, "", "%s=nl.%s is no comparison", check_param(c, k),
                    nki_func_name(check_func(c, k)));
}

void check_range_select(struct check *c) {
    if (!check_generation(c, NKI_GEN3))
        return;
    check_no_packed(c);
    check_same_shape(c, RANGE_DST, RANGE_ON_TRUE);
    check_comparison(c, RANGE_COMP0);
    check_comparison(c, RANGE_COMP1);
    check_vector(c, RANGE_BOUND0, 0);
    check_vector(c, RANGE_BOUND1, 0);
    check_result(c, RANGE_RES);
    const struct nki_operand *value = &c->instr->operands[RANGE_ON_FALSE];
    if (value->kind == NKI_OPERAND_FLOAT && value->f > -3.4028e38)
        check_error(c, "", "on_false_value is %g; only the smallest float32 is possible", value->f);
    enum nki_func func = check_func(c, RANGE_OP);
    if (func != NKI_FUNC_NONE && func != NKI_FUNC_MAXIMUM)
        check_error(c, "", "reduce_op=nl.%s: only maximum is possible", nki_func_name(func));
}

/* ---- GpSimd --------------------------------------------------------------------------------- */

static void check_pattern(struct check *c, size_t k) {
    const struct nki_operand *pattern = &c->instr->operands[k];
    const struct nki_ap *dst = check_tile(c, 0);
    int64_t count = 1;
    if (pattern->n % 2 || pattern->n > 2 * NKI_MAX_DIMS) {
        check_error(c, "err_exceed_max_supported_dimension",
                    "pattern must be up to %d pairs [step, number]", NKI_MAX_DIMS);
        return;
    }
    for (uint32_t i = 1; i < pattern->n; i += 2) {
        int64_t n = pattern->ints[i];
        count = n < 1 || n > INT32_MAX || count > INT32_MAX ? -1 : count * n;
        if (count < 0)
            break;
    }
    if (count != nki_ap_free(dst))
        check_error(c, "", "pattern makes %lld elements per partition, dst has %lld",
                    (long long)count, (long long)nki_ap_free(dst));
}

void check_affine_select(struct check *c) {
    check_no_packed(c);
    check_same_shape(c, AFFINE_DST, AFFINE_ON_TRUE);
    check_pattern(c, AFFINE_PATTERN);
    check_comparison(c, AFFINE_CMP);
    if (check_tile(c, AFFINE_ON_FALSE))
        check_vector(c, AFFINE_ON_FALSE, 0);
}

void check_iota(struct check *c) {
    check_no_packed(c);
    check_pattern(c, IOTA_PATTERN);
}

void check_dropout(struct check *c) {
    check_no_packed(c);
    check_same_shape(c, DROPOUT_DST, DROPOUT_DATA);
    check_vector(c, DROPOUT_PROB, 0);
    if (!c->legacy)
        check_same_dtype(c, DROPOUT_DST, DROPOUT_DATA);
}

void check_sequence_bounds(struct check *c) {
    const struct nki_ap *dst = check_tile(c, COPY_DST), *ids = check_tile(c, COPY_SRC);
    check_no_packed(c);
    if (ids->count[0] != 1 || dst->count[0] != 1)
        check_error(c, "", "%d partitions, exactly 1 is possible",
                    MAX_OF(ids->count[0], dst->count[0]));
    if (nki_ap_free(dst) != 2 * nki_ap_free(ids))
        check_error(c, "", "dst has %lld elements, twice the %lld segment_ids are needed",
                    (long long)nki_ap_free(dst), (long long)nki_ap_free(ids));
}

void check_rng(struct check *c) {
    check_int_dtype(c, 0);
    if (c->engine == NKI_ENGINE_GPSIMD)
        check_generation(c, NKI_GEN3);
}

void check_nonzero(struct check *c) {
    const struct nki_ap *dst = check_tile(c, NONZERO_DST), *src = check_tile(c, NONZERO_SRC);
    if (!check_generation(c, NKI_GEN3))
        return;
    check_same_partitions(c, NONZERO_DST, NONZERO_SRC);
    if (nki_ap_free(dst) != nki_ap_free(src) + 1)
        check_error(c, "", "dst has %lld elements per partition; one more than the %lld of src",
                    (long long)nki_ap_free(dst), (long long)nki_ap_free(src));
    if (dst->dtype != DTYPE_INT32 || (src->dtype != DTYPE_FLOAT32 && src->dtype != DTYPE_INT32))
        check_error(c, "", "dst is %s and src %s; int32, and float32 or int32, are needed",
                    dtype_name(dst->dtype), dtype_name(src->dtype));
}
