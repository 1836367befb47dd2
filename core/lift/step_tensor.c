/* SPDX-License-Identifier: Apache-2.0 */
/* Products and transposes, and which instruction is followed by what. */
#include "lift/step.h"

static value_id value_product(struct job *job, const value_id *in) {
    return make_binary(job->l, NKI_FUNC_MULTIPLY, in[0], in[1]);
}

static value_id value_same(struct job *job, const value_id *in) {
    (void)job;
    return in[0];
}

/* dst[m, n] (+)= sum over k of stationary[k, m] * moving[k, n], in the order k, m, n. Where nothing
 * was written before, nothing is added. */
static void step_matmul(struct lift *l, const struct nki_instr *instr) {
    const struct nki_ap *a = instr->operands[NKI_NC_MATMUL_stationary].ap;
    const struct nki_ap *b = instr->operands[NKI_NC_MATMUL_moving].ap;
    const struct nki_ap *dst = instr->operands[NKI_DST].ap;
    struct job job = {.l = l, .instr = instr, .value = value_product};
    int64_t k = a->count[0];
    struct shape of_b = shape_of(l, b), of_dst = shape_of(l, dst);
    struct shape shapes[3] = {shape_of(l, a)};
    shape_put(&shapes[0], nki_ap_free(b), 0);
    shape_put(&shapes[1], of_b.count[0], of_b.step[0]);
    shape_put(&shapes[1], nki_ap_free(a), 0);
    for (int d = 1; d < of_b.dims; d++)
        shape_put(&shapes[1], of_b.count[d], of_b.step[d]);
    shape_put(&shapes[2], k, 0);
    for (int d = 0; d < of_dst.dims; d++)
        shape_put(&shapes[2], of_dst.count[d], of_dst.step[d]);
    if (job_begin(&job, shapes, 3)) {
        job.in[job.inputs++] = job_address(&job, a, &shapes[0]);
        job.in[job.inputs++] = job_address(&job, b, &shapes[1]);
        job.result = job_address(&job, dst, &shapes[2]);
        for (int64_t v = 0, size = 1; v < job.vars && size < k; size *= job.count[v++])
            job.reduced |= 1u << v;
    }
    job.has_result = true;
    job.reduce = NKI_FUNC_ADD;
    job.adds = !has(instr, NKI_NC_MATMUL_accumulate) || instr_flag(instr, NKI_NC_MATMUL_accumulate);
    if (instr->more->mask || instr_number(instr, NKI_NC_MATMUL_perf_mode, 0) == NKI_PERF_DOUBLE_ROW)
        job_fail(&job, "it multiplies with a mask, or two rows at once");
    job_run(&job);
}

/* dst[f, p] = data[p, f], or the dimensions of a DMA in another order. */
static void step_transpose(struct lift *l, const struct nki_instr *instr) {
    static const uint8_t order[5][4] = {[2] = {1, 0}, [3] = {2, 1, 0}, [4] = {3, 1, 2, 0}};
    bool dma = instr->op == NKI_OP_DMA_TRANSPOSE;
    const struct nki_ap *src =
        instr->operands[dma ? NKI_DMA_TRANSPOSE_src : NKI_NC_TRANSPOSE_data].ap;
    const struct nki_ap *dst = instr->operands[NKI_DST].ap;
    struct job job = {.l = l, .instr = instr, .value = value_same};
    struct shape of_src = shape_of(l, src), shapes[2] = {shape_of(l, dst)};
    bool known = of_src.dims >= 2 && of_src.dims <= 4;
    for (int d = 0; known && d < of_src.dims; d++) {
        int from = dma ? order[of_src.dims][d] : (d + 1) % of_src.dims;
        shape_put(&shapes[1], of_src.count[from], of_src.step[from]);
    }
    if (!known || instr->more->mask)
        job_fail(&job, "it transposes in a way that is not followed");
    else if (job_begin(&job, shapes, 2)) {
        job.in[job.inputs++] = job_address(&job, src, &shapes[1]);
        job.out = job_address(&job, dst, &shapes[0]);
        job.has_out = true;
    }
    job_run(&job);
}

/* ---- all of them -------------------------------------------------------------------------------
 */

static step_fn *const steps[NKI_OP_COUNT] = {
    [NKI_OP_DMA_COPY] = step_dma,
    [NKI_OP_DMA_TRANSPOSE] = step_transpose,
    [NKI_OP_TENSOR_COPY] = step_stream,
    [NKI_OP_TENSOR_COPY_PREDICATED] = step_stream,
    [NKI_OP_MEMSET] = step_memset,
    [NKI_OP_NC_TRANSPOSE] = step_transpose,
    [NKI_OP_NC_MATMUL] = step_matmul,
    [NKI_OP_ACTIVATION] = step_activation,
    [NKI_OP_ACTIVATION_REDUCE] = step_activation,
    [NKI_OP_TENSOR_SCALAR] = step_stream,
    [NKI_OP_TENSOR_TENSOR] = step_stream,
    [NKI_OP_SCALAR_TENSOR_TENSOR] = step_stream,
    [NKI_OP_TENSOR_SCALAR_REDUCE] = step_stream,
    [NKI_OP_TENSOR_REDUCE] = step_reduce,
    [NKI_OP_TENSOR_PARTITION_REDUCE] = step_partition_reduce,
    [NKI_OP_RECIPROCAL] = step_stream,
    [NKI_OP_IOTA] = step_place,
    [NKI_OP_AFFINE_SELECT] = step_place,
    [NKI_OP_ELEMENTWISE] = step_stream,
    [NKI_OP_TENSOR_TENSOR_SCAN] = step_scan,
    [NKI_OP_TENSOR_SCALAR_CUMULATIVE] = step_cumulative,
    [NKI_OP_DMA_COMPUTE] = step_dma_sum,
    [NKI_OP_SELECT_REDUCE] = step_select,
    [NKI_OP_RANGE_SELECT] = step_range,
    [NKI_OP_BN_STATS] = step_statistics,
    [NKI_OP_BN_AGGR] = step_aggregate,
};

static void not_followed(struct lift *l, const struct nki_instr *instr) {
    struct job job = {.l = l, .instr = instr};
    job_fail(&job, "this instruction is not followed yet");
    job_run(&job);
}

/* Whether how often a loop is run is read from memory: the program is that of these inputs alone.
 */
static bool hangs_on_numbers(const struct nki_instr *instr) {
    return instr->op == NKI_OP_LOOP_BRANCH &&
           instr->operands[NKI_LOOP_BRANCH_dst].kind == NKI_OPERAND_REG;
}

void lift_step(struct lift *l, const struct nki_instr *instr) {
    l->loc = instr->loc;
    l->hangs_on_numbers |= hangs_on_numbers(instr);
    if (steps[instr->op])
        steps[instr->op](l, instr);
    else
        not_followed(l, instr);
}
