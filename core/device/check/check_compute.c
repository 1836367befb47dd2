/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of the instructions with which the Vector, Scalar and GpSimd engines compute. Source: the
 * NKI ISA reference of NKI 0.6. The names of errors are those of the legacy nki.errors. */
#include "device/check/own.h"

/* ---- Scalar engine -------------------------------------------------------------------------- */

static void check_function(struct check *c, size_t k) {
    enum nki_func func = check_func(c, k);
    bool known = nki_func_has(func, 'a') && (func != NKI_FUNC_PRELU || c->op == NKI_OP_ACTIVATE2);
    if (!known)
        check_error(c, "hone-operator", "op=nl.%s is no activation function", nki_func_name(func));
}

static bool is_bias_type(enum dtype dtype) {
    return dtype == DTYPE_FLOAT32 || dtype == DTYPE_FLOAT16 || dtype == DTYPE_BFLOAT16;
}

/* On trn1 copy takes a number and every other function a tile; neuronx-cc names a tile of copy
 * NCC_IBVF043. The legacy compiler makes what it needs of either. */
static void check_number_or_tile(struct check *c, bool number, bool is_copy) {
    if (c->generation != NKI_GEN2 || number == is_copy || (c->legacy && !number))
        return;
    if (number)
        check_error(c, "err_activation_bias_invalid_type",
                    "bias must be a (P, 1) tile on trn1; numbers are possible from trn2 on");
    else
        check_error(c, "NCC_IBVF043",
                    "bias must be a number on trn1 where op is nl.copy; tiles are possible with "
                    "other functions");
}

static void check_bias(struct check *c, size_t k) {
    const struct nki_ap *bias = check_tile(c, k);
    const struct nki_operand *operand = &c->instr->operands[k];
    bool is_copy = check_func(c, NKI_ACTIVATION_op) == NKI_FUNC_COPY;
    if (!bias) {
        bool nonzero = operand->kind == NKI_OPERAND_FLOAT
                           ? operand->f != 0
                           : operand->kind == NKI_OPERAND_INT && operand->i != 0;
        if (nonzero)
            check_number_or_tile(c, true, is_copy);
        return;
    }
    check_number_or_tile(c, false, is_copy);
    check_vector(c, k, NKI_DST);
    if (!is_bias_type(bias->dtype))
        check_error(c, "err_activation_bias_invalid_type",
                    "bias is %s; float32, float16 and bfloat16 are allowed",
                    dtype_name(bias->dtype));
}

static void check_scale(struct check *c, size_t k) {
    const struct nki_ap *scale = check_tile(c, k);
    if (!scale || !check_same_partitions(c, k, NKI_DST))
        return;
    if (nki_ap_free(scale) != 1)
        check_error(c, "err_activation_scale_scalar_or_vector",
                    "scale has %lld elements per partition; one per partition or a number is "
                    "allowed",
                    (long long)nki_ap_free(scale));
    if (scale->dtype != DTYPE_FLOAT32)
        check_error(c, "err_activation_scale_invalid_type",
                    "scale is %s; a float32 vector or a "
                    "number is allowed",
                    dtype_name(scale->dtype));
}

static void check_result(struct check *c, size_t k) {
    if (check_tile(c, k))
        check_vector(c, k, NKI_DST);
}

void check_activation(struct check *c) {
    bool reduce = c->op == NKI_OP_ACTIVATION_REDUCE;
    size_t reduce_op = reduce ? (size_t)NKI_ACTIVATION_REDUCE_reduce_op : NKI_ACTIVATION_reduce_op;
    check_no_packed(c);
    check_function(c, NKI_ACTIVATION_op);
    check_same_shape(c, NKI_ACTIVATION_dst, NKI_ACTIVATION_data);
    check_bias(c, reduce ? (size_t)NKI_ACTIVATION_REDUCE_bias : NKI_ACTIVATION_bias);
    check_scale(c, reduce ? (size_t)NKI_ACTIVATION_REDUCE_scale : NKI_ACTIVATION_scale);
    check_result(c, reduce ? (size_t)NKI_ACTIVATION_REDUCE_reduce_res : NKI_ACTIVATION_reduce_res);
    enum nki_func func = check_func(c, reduce_op);
    if (func != NKI_FUNC_NONE && func != NKI_FUNC_ADD)
        check_error(c, "hone-operator", "reduce_op=nl.%s: the scalar engine reduces with add only",
                    nki_func_name(func));
}

void check_activate2(struct check *c) {
    static const enum nki_func pairs[][2] = {
        {NKI_FUNC_MULTIPLY, NKI_FUNC_ADD},    {NKI_FUNC_MULTIPLY, NKI_FUNC_SUBTRACT},
        {NKI_FUNC_MULTIPLY, NKI_FUNC_BYPASS}, {NKI_FUNC_ADD, NKI_FUNC_BYPASS},
        {NKI_FUNC_SUBTRACT, NKI_FUNC_BYPASS}, {NKI_FUNC_BYPASS, NKI_FUNC_BYPASS}};
    check_no_packed(c);
    check_function(c, NKI_ACTIVATE2_op);
    check_same_shape(c, NKI_ACTIVATE2_dst, NKI_ACTIVATE2_data);
    check_vector(c, NKI_ACTIVATE2_imm0, NKI_ACTIVATE2_dst);
    check_vector(c, NKI_ACTIVATE2_imm1, NKI_ACTIVATE2_dst);
    check_result(c, NKI_ACTIVATE2_reduce_res);
    enum nki_func op0 = check_func(c, NKI_ACTIVATE2_op0), op1 = check_func(c, NKI_ACTIVATE2_op1);
    op0 = op0 ? op0 : NKI_FUNC_BYPASS;
    op1 = op1 ? op1 : NKI_FUNC_BYPASS;
    for (size_t i = 0; i < COUNT_OF(pairs); i++)
        if (op0 == pairs[i][0] && op1 == pairs[i][1])
            return;
    check_error(c, "hone-operator",
                "op0=nl.%s with op1=nl.%s; multiply with add, subtract or bypass, and add, "
                "subtract or bypass with bypass are possible",
                nki_func_name(op0), nki_func_name(op1));
}

/* ---- Vector engine -------------------------------------------------------------------------- */

/* Bitwise operators work on integers: source, tile operand and destination. */
static void check_bitwise(struct check *c, enum nki_func func, size_t a, size_t b) {
    if (func == NKI_FUNC_NONE || !nki_func_has(func, 'i'))
        return;
    check_int_dtype(c, NKI_DST);
    check_int_dtype(c, a);
    check_int_dtype(c, b);
    if (c->engine != NKI_ENGINE_VECTOR)
        check_error(c, "hone-engine", "bitwise operators run on the vector engine only");
}

static void check_scalar_dtype(struct check *c, size_t k, enum nki_func func) {
    const struct nki_ap *ap = check_tile(c, k);
    if (ap && !c->legacy && func != NKI_FUNC_NONE && !nki_func_has(func, 'i') &&
        ap->dtype != DTYPE_FLOAT32)
        check_error(c, "hone-dtype", "%s is %s; arithmetic operators take float32 vectors",
                    check_param(c, k), dtype_name(ap->dtype));
}

/* The Scalar engine has multiply, add, and multiply then add. It cannot swap their operands. */
static void check_scalar_engine(struct check *c) {
    enum nki_func op0 = check_func(c, NKI_TENSOR_SCALAR_op0),
                  op1 = check_func(c, NKI_TENSOR_SCALAR_op1);
    bool both = op0 == NKI_FUNC_MULTIPLY && op1 == NKI_FUNC_ADD;
    bool one = op1 == NKI_FUNC_NONE && (op0 == NKI_FUNC_MULTIPLY || op0 == NKI_FUNC_ADD);
    if (!both && !one)
        check_error(c, "hone-engine",
                    "the scalar engine runs multiply, add, or multiply then add, not %s%s%s",
                    nki_func_name(op0), op1 ? " then " : "", op1 ? nki_func_name(op1) : "");
}

static void check_gpsimd_only(struct check *c, size_t k) {
    enum nki_func func = check_func(c, k);
    bool slow = func == NKI_FUNC_POWER || func == NKI_FUNC_RSQRT;
    if (slow && !c->legacy && c->engine != NKI_ENGINE_GPSIMD)
        check_error(c, c->instr->engine ? "hone-engine" : "err_unsupported_memory",
                    "%s=nl.%s runs on gpsimd, which reaches SBUF only; copy the operand to SBUF",
                    check_param(c, k), nki_func_name(func));
}

static bool is_unary(enum nki_func func) {
    return nki_func_has(func, 'u') && !nki_func_has(func, 'b');
}

static void check_operand(struct check *c, size_t op, size_t operand) {
    enum nki_func func = check_func(c, op);
    check_vector(c, operand, NKI_DST);
    check_scalar_dtype(c, operand, func);
    if (func != NKI_FUNC_NONE && !is_unary(func) &&
        c->instr->operands[operand].kind == NKI_OPERAND_NONE)
        check_error(c, "hone-operator", "%s=nl.%s needs %s", check_param(c, op),
                    nki_func_name(func), check_param(c, operand));
}

/* What GpSimd runs of tensor_scalar: rsqrt, by the references of both dialects, and power, which
 * the current one gives to GpSimd alone. */
static void check_gpsimd_scalar(struct check *c, size_t op) {
    enum nki_func func = check_func(c, op);
    bool power = func == NKI_FUNC_POWER && !c->legacy;
    if (func != NKI_FUNC_NONE && func != NKI_FUNC_RSQRT && !power)
        check_error(c, "hone-engine", "%s=nl.%s: the gpsimd engine runs tensor_scalar for rsqrt%s",
                    check_param(c, op), nki_func_name(func), c->legacy ? " only" : " and power");
}

void check_tensor_scalar(struct check *c) {
    enum nki_func op0 = check_func(c, NKI_TENSOR_SCALAR_op0),
                  op1 = check_func(c, NKI_TENSOR_SCALAR_op1);
    if (!c->legacy && op1 == NKI_FUNC_NONE &&
        c->instr->operands[NKI_TENSOR_SCALAR_operand1].kind != NKI_OPERAND_NONE)
        check_error(c, "hone-argument", "operand1 is given and op1 is not; name the operator");
    check_no_packed(c);
    check_alu(c, NKI_TENSOR_SCALAR_op0);
    check_alu(c, NKI_TENSOR_SCALAR_op1);
    check_one_class(c, NKI_TENSOR_SCALAR_op0, NKI_TENSOR_SCALAR_op1);
    check_same_shape(c, NKI_TENSOR_SCALAR_dst, NKI_TENSOR_SCALAR_data);
    check_operand(c, NKI_TENSOR_SCALAR_op0, NKI_TENSOR_SCALAR_operand0);
    check_operand(c, NKI_TENSOR_SCALAR_op1, NKI_TENSOR_SCALAR_operand1);
    check_bitwise(c, op0, NKI_TENSOR_SCALAR_data, NKI_TENSOR_SCALAR_operand0);
    check_bitwise(c, op1, NKI_TENSOR_SCALAR_data, NKI_TENSOR_SCALAR_operand1);
    check_gpsimd_only(c, NKI_TENSOR_SCALAR_op0);
    check_gpsimd_only(c, NKI_TENSOR_SCALAR_op1);
    if (c->instr->engine == NKI_ENGINE_GPSIMD) {
        check_gpsimd_scalar(c, NKI_TENSOR_SCALAR_op0);
        check_gpsimd_scalar(c, NKI_TENSOR_SCALAR_op1);
    }
    if (c->engine == NKI_ENGINE_SCALAR && c->instr->engine == NKI_ENGINE_SCALAR)
        check_scalar_engine(c);
}

void check_tensor_tensor(struct check *c) {
    check_no_packed(c);
    check_alu(c, NKI_TENSOR_TENSOR_op);
    check_same_shape(c, NKI_TENSOR_TENSOR_dst, NKI_TENSOR_TENSOR_data1);
    check_same_shape(c, NKI_TENSOR_TENSOR_dst, NKI_TENSOR_TENSOR_data2);
    check_not_both_psum(c, NKI_TENSOR_TENSOR_data1, NKI_TENSOR_TENSOR_data2);
    check_bitwise(c, check_func(c, NKI_TENSOR_TENSOR_op), NKI_TENSOR_TENSOR_data1,
                  NKI_TENSOR_TENSOR_data2);
    check_gpsimd_only(c, NKI_TENSOR_TENSOR_op);
}

static void check_arithmetic(struct check *c, size_t k) {
    check_alu(c, k);
    if (nki_func_has(check_func(c, k), 'i'))
        check_error(c, "hone-operator", "%s=nl.%s: bitwise operators are not possible here",
                    check_param(c, k), nki_func_name(check_func(c, k)));
}

void check_scalar_tensor_tensor(struct check *c) {
    check_no_packed(c);
    check_arithmetic(c, NKI_SCALAR_TENSOR_TENSOR_op0);
    check_arithmetic(c, NKI_SCALAR_TENSOR_TENSOR_op1);
    check_same_shape(c, NKI_SCALAR_TENSOR_TENSOR_dst, NKI_SCALAR_TENSOR_TENSOR_data);
    check_same_shape(c, NKI_SCALAR_TENSOR_TENSOR_dst, NKI_SCALAR_TENSOR_TENSOR_operand1);
    check_operand(c, NKI_SCALAR_TENSOR_TENSOR_op0, NKI_SCALAR_TENSOR_TENSOR_operand0);
    check_not_both_psum(c, NKI_SCALAR_TENSOR_TENSOR_data, NKI_SCALAR_TENSOR_TENSOR_operand1);
}

void check_scan(struct check *c) {
    check_no_packed(c);
    check_arithmetic(c, NKI_TENSOR_TENSOR_SCAN_op0);
    check_arithmetic(c, NKI_TENSOR_TENSOR_SCAN_op1);
    check_same_shape(c, NKI_TENSOR_TENSOR_SCAN_dst, NKI_TENSOR_TENSOR_SCAN_data0);
    check_same_shape(c, NKI_TENSOR_TENSOR_SCAN_dst, NKI_TENSOR_TENSOR_SCAN_data1);
    check_vector(c, NKI_TENSOR_TENSOR_SCAN_initial, NKI_TENSOR_TENSOR_SCAN_dst);
    check_not_both_psum(c, NKI_TENSOR_TENSOR_SCAN_data0, NKI_TENSOR_TENSOR_SCAN_data1);
}

static void check_running_op(struct check *c, size_t k) {
    enum nki_func func = check_func(c, k);
    if (func != NKI_FUNC_ADD && func != NKI_FUNC_SUBTRACT && func != NKI_FUNC_MULTIPLY &&
        func != NKI_FUNC_MAXIMUM && func != NKI_FUNC_MINIMUM)
        check_error(c, "hone-operator",
                    "%s=nl.%s; add, subtract, multiply, maximum and minimum are possible",
                    check_param(c, k), nki_func_name(func));
}

void check_cumulative(struct check *c) {
    check_no_packed(c);
    check_arithmetic(c, NKI_TENSOR_SCALAR_CUMULATIVE_op0);
    check_running_op(c, NKI_TENSOR_SCALAR_CUMULATIVE_op1);
    check_same_shape(c, NKI_TENSOR_SCALAR_CUMULATIVE_dst, NKI_TENSOR_SCALAR_CUMULATIVE_src);
    check_vector(c, NKI_TENSOR_SCALAR_CUMULATIVE_imm0, NKI_TENSOR_SCALAR_CUMULATIVE_dst);
    check_vector(c, NKI_TENSOR_SCALAR_CUMULATIVE_imm1, NKI_TENSOR_SCALAR_CUMULATIVE_dst);
    enum dtype dtype = check_tile(c, NKI_TENSOR_SCALAR_CUMULATIVE_src)->dtype;
    if (dtype == DTYPE_INT32 || dtype == DTYPE_UINT32)
        check_error(c, "hone-dtype", "src is %s; 32-bit integers are not possible",
                    dtype_name(dtype));
}

void check_tensor_scalar_reduce(struct check *c) {
    check_no_packed(c);
    check_arithmetic(c, NKI_TENSOR_SCALAR_REDUCE_op0);
    check_running_op(c, NKI_TENSOR_SCALAR_REDUCE_reduce_op);
    check_same_shape(c, NKI_TENSOR_SCALAR_REDUCE_dst, NKI_TENSOR_SCALAR_REDUCE_data);
    check_operand(c, NKI_TENSOR_SCALAR_REDUCE_op0, NKI_TENSOR_SCALAR_REDUCE_operand0);
    check_result(c, NKI_TENSOR_SCALAR_REDUCE_reduce_res);
    check_vector(c, NKI_TENSOR_SCALAR_REDUCE_reduce_init, NKI_TENSOR_SCALAR_REDUCE_dst);
    if (check_enum(c, NKI_TENSOR_SCALAR_REDUCE_reverse0, 0) && !c->legacy)
        check_error(c, "hone-argument", "reverse0 is not possible here");
    bool loads = check_enum(c, NKI_TENSOR_SCALAR_REDUCE_reduce_cmd, NKI_REDUCE_RESET_REDUCE) ==
                 NKI_REDUCE_LOAD_REDUCE;
    bool starts = c->instr->operands[NKI_TENSOR_SCALAR_REDUCE_reduce_init].kind != NKI_OPERAND_NONE;
    if (loads != starts)
        check_error(c, "hone-argument",
                    "%s: the two go together, a reduction starts at reduce_init with "
                    "reduce_cmd.load_reduce",
                    starts ? "reduce_init without reduce_cmd.load_reduce"
                           : "reduce_cmd.load_reduce without reduce_init");
}

/* Whether `axes` are the trailing dimensions. Dimensions count those of the tile; they are -1 where
 * the operand is not a plain dimension. */
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
    const struct nki_ap *dst = check_tile(c, NKI_TENSOR_REDUCE_dst);
    const struct nki_ap *data = check_tile(c, NKI_TENSOR_REDUCE_data);
    check_no_packed(c);
    check_reduce_op(c, NKI_TENSOR_REDUCE_op);
    check_same_partitions(c, NKI_TENSOR_REDUCE_dst, NKI_TENSOR_REDUCE_data);
    if (!is_trailing(&c->instr->operands[NKI_TENSOR_REDUCE_axis], data->n_dims, 1))
        check_error(c, "hone-axis",
                    "axis must name free dimensions of a tile of %d; the partitions are "
                    "reduced by tensor_partition_reduce or a matmul",
                    data->n_dims);
    if (nki_ap_free(data) % nki_ap_free(dst))
        check_error(c, "hone-shape",
                    "dst has %lld elements per partition, which do not divide the %lld of data",
                    (long long)nki_ap_free(dst), (long long)nki_ap_free(data));
    check_bitwise(c, check_func(c, NKI_TENSOR_REDUCE_op), NKI_TENSOR_REDUCE_data,
                  NKI_TENSOR_REDUCE_data);
    if (!c->legacy && check_enum(c, NKI_TENSOR_REDUCE_negate, 0) &&
        nki_func_has(check_func(c, NKI_TENSOR_REDUCE_op), 'i'))
        check_error(c, "hone-argument", "negate goes with arithmetic operators only, not nl.%s",
                    nki_func_name(check_func(c, NKI_TENSOR_REDUCE_op)));
}

void check_partition_reduce(struct check *c) {
    enum nki_func func = check_func(c, NKI_TENSOR_PARTITION_REDUCE_op);
    const struct nki_ap *dst = check_tile(c, NKI_TENSOR_PARTITION_REDUCE_dst);
    check_no_packed(c);
    if (func != NKI_FUNC_ADD && func != NKI_FUNC_AVERAGE && func != NKI_FUNC_MAXIMUM &&
        func != NKI_FUNC_BITWISE_OR && func != NKI_FUNC_BITWISE_AND)
        check_error(c, "hone-operator",
                    "op=nl.%s; add, average, maximum, bitwise_or and bitwise_and are possible",
                    nki_func_name(func));
    if (dst->count[0] != 1 ||
        nki_ap_free(dst) != nki_ap_free(check_tile(c, NKI_TENSOR_PARTITION_REDUCE_data)))
        check_error(c, "hone-shape", "dst is %d x %lld; 1 x %lld is needed", dst->count[0],
                    (long long)nki_ap_free(dst),
                    (long long)nki_ap_free(check_tile(c, NKI_TENSOR_PARTITION_REDUCE_data)));
    if (nki_func_has(func, 'i')) {
        check_int_dtype(c, NKI_TENSOR_PARTITION_REDUCE_dst);
        check_int_dtype(c, NKI_TENSOR_PARTITION_REDUCE_data);
    }
}

void check_exponential(struct check *c) {
    check_no_packed(c);
    check_same_shape(c, NKI_EXPONENTIAL_dst, NKI_EXPONENTIAL_src);
    check_vector(c, NKI_EXPONENTIAL_max_value, NKI_EXPONENTIAL_dst);
    check_vector(c, NKI_EXPONENTIAL_reduce_init, NKI_EXPONENTIAL_dst);
    check_result(c, NKI_EXPONENTIAL_reduce_res);
}

void check_bn_stats(struct check *c) {
    check_no_packed(c);
    check_same_partitions(c, NKI_BN_STATS_dst, NKI_BN_STATS_data);
    check_free_range(c, NKI_BN_STATS_data, 1, 512);
    check_free_range(c, NKI_BN_STATS_dst, 6, 6);
}

void check_bn_aggr(struct check *c) {
    check_no_packed(c);
    check_same_partitions(c, NKI_BN_AGGR_dst, NKI_BN_AGGR_data);
    check_free_range(c, NKI_BN_AGGR_dst, 2, 2);
    if (nki_ap_free(check_tile(c, NKI_BN_AGGR_data)) % 3)
        check_error(c, "hone-shape", "data has %lld elements per partition; triples are needed",
                    (long long)nki_ap_free(check_tile(c, NKI_BN_AGGR_data)));
}

void check_max8(struct check *c) {
    check_no_packed(c);
    check_same_partitions(c, NKI_MAX8_dst, NKI_MAX8_src);
    check_free_range(c, NKI_MAX8_src, 8, 16384);
    check_free_range(c, NKI_MAX8_dst, 8, 8);
}

void check_find_index8(struct check *c) {
    enum dtype dtype = check_tile(c, NKI_NC_FIND_INDEX8_dst)->dtype;
    check_no_packed(c);
    check_same_partitions(c, NKI_NC_FIND_INDEX8_dst, NKI_NC_FIND_INDEX8_data);
    check_same_shape(c, NKI_NC_FIND_INDEX8_dst, NKI_NC_FIND_INDEX8_vals);
    check_free_range(c, NKI_NC_FIND_INDEX8_data, 8, 16384);
    check_free_range(c, NKI_NC_FIND_INDEX8_vals, 8, 8);
    if (dtype != DTYPE_UINT16 && dtype != DTYPE_UINT32)
        check_error(c, "hone-dtype", "dst is %s; uint16 and uint32 are allowed", dtype_name(dtype));
}

void check_match_replace8(struct check *c) {
    check_no_packed(c);
    check_same_shape(c, NKI_NC_MATCH_REPLACE8_dst, NKI_NC_MATCH_REPLACE8_data);
    check_same_partitions(c, NKI_NC_MATCH_REPLACE8_data, NKI_NC_MATCH_REPLACE8_vals);
    check_free_range(c, NKI_NC_MATCH_REPLACE8_data, 8, 16384);
    check_free_range(c, NKI_NC_MATCH_REPLACE8_vals, 8, 8);
    if (check_tile(c, NKI_NC_MATCH_REPLACE8_dst_idx)) {
        check_same_shape(c, NKI_NC_MATCH_REPLACE8_dst_idx, NKI_NC_MATCH_REPLACE8_vals);
        check_int_dtype(c, NKI_NC_MATCH_REPLACE8_dst_idx);
    }
}

#define WIDE_SELECTED (1u << DTYPE_TFLOAT32 | 1u << DTYPE_INT32 | 1u << DTYPE_UINT32)

void check_select_reduce(struct check *c) {
    const struct nki_ap *predicate = check_tile(c, NKI_SELECT_REDUCE_predicate);
    const struct nki_ap *on_false = check_tile(c, NKI_SELECT_REDUCE_on_false);
    check_no_packed(c);
    if (predicate)
        check_same_shape(c, NKI_SELECT_REDUCE_dst, NKI_SELECT_REDUCE_predicate);
    check_int_dtype(c, NKI_SELECT_REDUCE_predicate);
    if (check_tile(c, NKI_SELECT_REDUCE_on_true))
        check_same_shape(c, NKI_SELECT_REDUCE_dst, NKI_SELECT_REDUCE_on_true);
    if (on_false && nki_ap_free(on_false) != 1)
        check_same_shape(c, NKI_SELECT_REDUCE_dst, NKI_SELECT_REDUCE_on_false);
    if (!c->legacy)
        check_not_dtype(c, NKI_SELECT_REDUCE_on_true, WIDE_SELECTED,
                        "tfloat32, int32 and uint32 are not possible");
    check_result(c, NKI_SELECT_REDUCE_reduce_res);
    check_not_both_psum(c, NKI_SELECT_REDUCE_predicate, NKI_SELECT_REDUCE_on_true);
    enum nki_func func = check_func(c, NKI_SELECT_REDUCE_reduce_op);
    if (func != NKI_FUNC_NONE && func != NKI_FUNC_MAXIMUM)
        check_error(c, "hone-operator", "reduce_op=nl.%s: only maximum is possible",
                    nki_func_name(func));
}

static void check_comparison(struct check *c, size_t k) {
    if (!nki_func_has(check_func(c, k), 'c') && check_func(c, k) != NKI_FUNC_NONE)
        check_error(c, "hone-operator", "%s=nl.%s is no comparison", check_param(c, k),
                    nki_func_name(check_func(c, k)));
}

/* Types of range_select: floats, between float32 bounds. */
static void check_range_types(struct check *c) {
    static const size_t bounds[] = {NKI_RANGE_SELECT_bound0, NKI_RANGE_SELECT_bound1};
    const struct nki_ap *data = check_tile(c, NKI_RANGE_SELECT_on_true_tile);
    if (dtype_is_int(data->dtype))
        check_error(c, "hone-dtype", "on_true_tile is %s; a float type is needed",
                    dtype_name(data->dtype));
    for (size_t k = 0; k < COUNT_OF(bounds); k++)
        check_not_dtype(c, bounds[k], ~(UINT64_C(1) << DTYPE_FLOAT32), "float32 is needed");
}

void check_range_select(struct check *c) {
    check_no_packed(c);
    if (!c->legacy)
        check_range_types(c);
    check_same_shape(c, NKI_RANGE_SELECT_dst, NKI_RANGE_SELECT_on_true_tile);
    check_comparison(c, NKI_RANGE_SELECT_comp_op0);
    check_comparison(c, NKI_RANGE_SELECT_comp_op1);
    check_vector(c, NKI_RANGE_SELECT_bound0, NKI_RANGE_SELECT_dst);
    check_vector(c, NKI_RANGE_SELECT_bound1, NKI_RANGE_SELECT_dst);
    check_result(c, NKI_RANGE_SELECT_reduce_res);
    const struct nki_operand *value = &c->instr->operands[NKI_RANGE_SELECT_on_false_value];
    if (value->kind == NKI_OPERAND_FLOAT && value->f > -3.4028e38)
        check_error(c, "hone-argument",
                    "on_false_value is %g; only the smallest float32 is possible", value->f);
    enum nki_func func = check_func(c, NKI_RANGE_SELECT_reduce_op);
    if (func != NKI_FUNC_NONE && func != NKI_FUNC_MAXIMUM)
        check_error(c, "hone-operator", "reduce_op=nl.%s: only maximum is possible",
                    nki_func_name(func));
}

/* ---- GpSimd --------------------------------------------------------------------------------- */

#define PATTERN_DIMS 4 /* of what the engine generates; the legacy compiler splits more */

static void check_pattern(struct check *c, size_t k) {
    const struct nki_operand *pattern = &c->instr->operands[k];
    const struct nki_ap *dst = check_tile(c, NKI_DST);
    int64_t count = 1;
    uint32_t most = c->legacy ? NKI_MAX_DIMS : PATTERN_DIMS;
    if (pattern->n % 2 || pattern->n > 2 * most) {
        check_error(c, "err_exceed_max_supported_dimension",
                    "pattern has %u numbers; up to %u pairs [step, number] are possible",
                    pattern->n, most);
        return;
    }
    for (uint32_t i = 1; i < pattern->n; i += 2) {
        int64_t n = pattern->ints[i];
        count = n < 1 || n > INT32_MAX || count > INT32_MAX ? -1 : count * n;
        if (count < 0)
            break;
    }
    if (count != nki_ap_free(dst))
        check_error(c, "hone-shape", "pattern makes %lld elements per partition, dst has %lld",
                    (long long)count, (long long)nki_ap_free(dst));
}

void check_affine_select(struct check *c) {
    check_no_packed(c);
    check_same_shape(c, NKI_AFFINE_SELECT_dst, NKI_AFFINE_SELECT_on_true_tile);
    check_pattern(c, NKI_AFFINE_SELECT_pattern);
    check_comparison(c, NKI_AFFINE_SELECT_cmp_op);
    if (check_tile(c, NKI_AFFINE_SELECT_on_false_value))
        check_vector(c, NKI_AFFINE_SELECT_on_false_value, NKI_AFFINE_SELECT_dst);
}

/* A place in a pattern is a whole number. */
static void check_whole(struct check *c, size_t k) {
    const struct nki_operand *operand = &c->instr->operands[k];
    if (operand->kind == NKI_OPERAND_FLOAT && operand->f != (double)(int64_t)operand->f)
        check_error(c, "hone-argument", "%s is %g; a whole number is needed", check_param(c, k),
                    operand->f);
}

void check_iota(struct check *c) {
    check_no_packed(c);
    check_whole(c, NKI_IOTA_offset);
    check_whole(c, NKI_IOTA_channel_multiplier);
    check_pattern(c, NKI_IOTA_pattern);
}

void check_dropout(struct check *c) {
    check_no_packed(c);
    check_same_shape(c, NKI_DROPOUT_dst, NKI_DROPOUT_data);
    check_vector(c, NKI_DROPOUT_prob, NKI_DROPOUT_dst);
    if (c->legacy)
        return;
    const struct nki_ap *prob = check_tile(c, NKI_DROPOUT_prob);
    bool whole = dtype_is_int(check_tile(c, NKI_DROPOUT_data)->dtype);
    check_same_dtype(c, NKI_DROPOUT_dst, NKI_DROPOUT_data);
    if (prob && (whole ? prob->dtype != DTYPE_FLOAT32 : dtype_is_int(prob->dtype)))
        check_error(c, "hone-dtype", "prob is %s and data is %s; %s is needed",
                    dtype_name(prob->dtype), dtype_name(check_tile(c, NKI_DROPOUT_data)->dtype),
                    whole ? "float32" : "a float type");
}

void check_sequence_bounds(struct check *c) {
    const struct nki_ap *dst = check_tile(c, NKI_SEQUENCE_BOUNDS_dst),
                        *ids = check_tile(c, NKI_SEQUENCE_BOUNDS_segment_ids);
    check_no_packed(c);
    for (size_t k = 0; k < c->instr->n_operands && !c->legacy; k++)
        check_not_dtype(c, k, ~(UINT64_C(1) << DTYPE_FLOAT32 | UINT64_C(1) << DTYPE_INT32),
                        "float32 and int32 are allowed");
    if (ids->count[0] != 1 || dst->count[0] != 1)
        check_error(c, "hone-shape", "%d partitions, exactly 1 is possible",
                    MAX_OF(ids->count[0], dst->count[0]));
    if (nki_ap_free(dst) != 2 * nki_ap_free(ids))
        check_error(c, "hone-shape", "dst has %lld elements, twice the %lld segment_ids are needed",
                    (long long)nki_ap_free(dst), (long long)nki_ap_free(ids));
}

void check_rng(struct check *c) {
    check_int_dtype(c, NKI_RNG_dst);
    if (c->engine == NKI_ENGINE_GPSIMD)
        check_generation(c, NKI_GEN3);
}

void check_rand2(struct check *c) {
    enum dtype dtype = check_tile(c, NKI_RAND2_dst)->dtype;
    const struct nki_operand *low = &c->instr->operands[NKI_RAND2_min],
                             *high = &c->instr->operands[NKI_RAND2_max];
    for (int k = NKI_RAND2_min; k <= NKI_RAND2_max; k++)
        if (c->instr->operands[k].kind == NKI_OPERAND_AP) {
            check_same_partitions(c, NKI_RAND2_dst, (size_t)k);
            check_free_range(c, (size_t)k, 1, 1);
        }
    if (low->kind != NKI_OPERAND_AP && high->kind != NKI_OPERAND_AP) {
        double from = low->kind == NKI_OPERAND_FLOAT ? low->f : (double)low->i;
        double to = high->kind == NKI_OPERAND_FLOAT ? high->f : (double)high->i;
        if (!(from < to))
            check_error(c, "hone-argument", "min is %g and max %g; min has to be below max", from,
                        to);
    }
    if (dtype_bytes(dtype) > 4 || dtype == DTYPE_BOOL)
        check_error(c, "hone-dtype", "dst is %s; floats and integers of 8 to 32 bits are allowed",
                    dtype_name(dtype));
}

/* XORWOW: 6 words for a lane of GpSimd, 24 for one of Vector's four generators a lane. */
void check_rand_state(struct check *c) {
    bool vector = c->engine == NKI_ENGINE_VECTOR;
    const struct nki_ap *words = check_tile(c, NKI_DST);
    if (!check_generation(c, vector ? NKI_GEN4 : NKI_GEN3))
        return;
    if (words->dtype != DTYPE_UINT32)
        check_error(c, "hone-dtype", "the state is %s; uint32 is needed", dtype_name(words->dtype));
    check_free_range(c, NKI_DST, vector ? 24 : 6, vector ? 24 : 6);
}

void check_rng_seed(struct check *c) {
    const struct nki_ap *seed = check_tile(c, NKI_DST);
    if (nki_ap_count(seed) != 1)
        check_error(c, "hone-shape",
                    "src_seeds has %lld elements; the seed is a tile of shape [1, 1]",
                    (long long)nki_ap_count(seed));
    if (dtype_bytes(seed->dtype) != 4)
        check_error(c, "hone-dtype", "the seed is %s; a type of 32 bits is needed",
                    dtype_name(seed->dtype));
}

void check_topk(struct check *c) {
    const struct nki_ap *val = check_tile(c, NKI_TOPK_val_dst),
                        *idx = check_tile(c, NKI_TOPK_idx_dst), *src = check_tile(c, NKI_TOPK_src);
    const struct nki_operand *count = &c->instr->operands[NKI_TOPK_n];
    int64_t n = count->kind == NKI_OPERAND_INT ? count->i : 0, k = nki_ap_free(val);
    check_same_partitions(c, NKI_TOPK_val_dst, NKI_TOPK_src);
    check_same_shape(c, NKI_TOPK_val_dst, NKI_TOPK_idx_dst);
    if (src->count[0] % 16)
        check_error(c, "hone-shape", "src has %d partitions; a multiple of 16 is needed",
                    src->count[0]);
    if (n < 8 || n >= 65536 || n > 16 * nki_ap_free(src))
        check_error(c, "hone-argument",
                    "n is %lld; 8 to 65535 are possible, and no more than the %lld elements of 16 "
                    "partitions of src",
                    (long long)n, (long long)(16 * nki_ap_free(src)));
    if (k > n || k >= 32768)
        check_error(c, "hone-shape",
                    "val_dst has %lld elements per partition, as many are asked for; at most n, "
                    "which is %lld, and 32767 are possible",
                    (long long)k, (long long)n);
    if (src->dtype != DTYPE_BFLOAT16 || val->dtype != DTYPE_BFLOAT16 || idx->dtype != DTYPE_UINT32)
        check_error(
            c, "hone-dtype",
            "src is %s, val_dst %s and idx_dst %s; bfloat16, bfloat16 and uint32 are needed",
            dtype_name(src->dtype), dtype_name(val->dtype), dtype_name(idx->dtype));
}

void check_nonzero(struct check *c) {
    const struct nki_ap *dst = check_tile(c, NKI_NONZERO_WITH_COUNT_dst),
                        *src = check_tile(c, NKI_NONZERO_WITH_COUNT_src);
    check_same_partitions(c, NKI_NONZERO_WITH_COUNT_dst, NKI_NONZERO_WITH_COUNT_src);
    if (nki_ap_free(dst) != nki_ap_free(src) + 1)
        check_error(c, "hone-shape",
                    "dst has %lld elements per partition; one more than the %lld of src",
                    (long long)nki_ap_free(dst), (long long)nki_ap_free(src));
    if (dst->dtype != DTYPE_INT32 || (src->dtype != DTYPE_FLOAT32 && src->dtype != DTYPE_INT32))
        check_error(c, "hone-dtype",
                    "dst is %s and src %s; int32, and float32 or int32, are needed",
                    dtype_name(dst->dtype), dtype_name(src->dtype));
}

/* Sequencers read any tile in SBUF, and write registers only. A branch may have nothing to compare.
 */
void check_sequencer(struct check *c) {
    const struct nki_ap *stored = c->op == NKI_OP_REGISTER_STORE ? check_tile(c, NKI_DST) : NULL;
    if (stored && nki_ap_count(stored) != 1)
        check_error(c, "hone-shape", "a register is stored to one element; dst has %lld",
                    (long long)nki_ap_count(stored));
    if (c->op == NKI_OP_REGISTER_STORE)
        return;
    enum nki_operand_kind kind = c->instr->operands[NKI_REGISTER_LOAD_dst].kind;
    bool none = c->op == NKI_OP_LOOP_BRANCH && kind == NKI_OPERAND_NONE;
    if (kind != NKI_OPERAND_REG && !none)
        check_error(c, "hone-argument", "dst must be a register");
}
