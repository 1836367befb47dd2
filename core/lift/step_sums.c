/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions with a reduction beside their elements, and what engines add up over several of them
 * (reduce_cmd). Scalar and Vector have a number for each row of a tile; here they are two storages
 * more, which are followed where the program goes on with sums, and elsewhere stay empty. */
#include "lift/step.h"

#include <float.h>

#define NO_OPERAND (-1)

static const struct sums_row {
    enum nki_op op;
    int engine;
    int command, func, result, negate, first; /* operands; NO_OPERAND where it has none */
    enum nki_func usual;
} rows[] = {
    {NKI_OP_TENSOR_SCALAR_REDUCE, SUMS_OF_VECTOR, NKI_TENSOR_SCALAR_REDUCE_reduce_cmd,
     NKI_TENSOR_SCALAR_REDUCE_reduce_op, NKI_TENSOR_SCALAR_REDUCE_reduce_res,
     NKI_TENSOR_SCALAR_REDUCE_reduce_res_negate, NKI_TENSOR_SCALAR_REDUCE_reduce_init,
     NKI_FUNC_ADD},
    {NKI_OP_ACTIVATION, SUMS_OF_SCALAR, NKI_ACTIVATION_reduce_cmd, NKI_ACTIVATION_reduce_op,
     NKI_ACTIVATION_reduce_res, NO_OPERAND, NO_OPERAND, NKI_FUNC_ADD},
    {NKI_OP_ACTIVATION_REDUCE, SUMS_OF_SCALAR, NO_OPERAND, NO_OPERAND,
     NKI_ACTIVATION_REDUCE_reduce_res, NO_OPERAND, NO_OPERAND, NKI_FUNC_ADD},
    {NKI_OP_SELECT_REDUCE, SUMS_OF_VECTOR, NKI_SELECT_REDUCE_reduce_cmd, NO_OPERAND,
     NKI_SELECT_REDUCE_reduce_res, NO_OPERAND, NO_OPERAND, NKI_FUNC_MAXIMUM},
    {NKI_OP_RANGE_SELECT, SUMS_OF_VECTOR, NKI_RANGE_SELECT_reduce_cmd, NO_OPERAND,
     NKI_RANGE_SELECT_reduce_res, NO_OPERAND, NO_OPERAND, NKI_FUNC_MAXIMUM},
    {NKI_OP_ACTIVATE2, SUMS_OF_SCALAR, NKI_ACTIVATE2_reduce_cmd, NO_OPERAND, NO_OPERAND, NO_OPERAND,
     NO_OPERAND, NKI_FUNC_ADD},
    {NKI_OP_EXPONENTIAL, SUMS_OF_VECTOR, NKI_EXPONENTIAL_reduce_cmd, NO_OPERAND, NO_OPERAND,
     NO_OPERAND, NO_OPERAND, NKI_FUNC_ADD},
    {NKI_OP_TENSOR_SCALAR_CUMULATIVE, SUMS_OF_VECTOR, NKI_TENSOR_SCALAR_CUMULATIVE_reduce_cmd,
     NO_OPERAND, NO_OPERAND, NO_OPERAND, NO_OPERAND, NKI_FUNC_ADD},
};

static const struct sums_row *row_of(const struct nki_instr *instr) {
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if ((uint16_t)rows[i].op == instr->op)
            return &rows[i];
    return NULL;
}

static const struct nki_ap *result_of(const struct nki_instr *instr, const struct sums_row *row) {
    return row->result != NO_OPERAND && is_tile(instr, row->result)
               ? instr->operands[row->result].ap
               : NULL;
}

static int64_t command_of(const struct nki_instr *instr, const struct sums_row *row) {
    bool wanted = instr->op == (uint16_t)NKI_OP_TENSOR_SCALAR_REDUCE || result_of(instr, row) ||
                  (row->func != NO_OPERAND && has(instr, row->func));
    int64_t usual = wanted ? NKI_REDUCE_RESET_REDUCE : NKI_REDUCE_IDLE;
    return row->command == NO_OPERAND ? usual
                                      : (int64_t)instr_number(instr, row->command, (double)usual);
}

static enum nki_func func_of(const struct nki_instr *instr, const struct sums_row *row) {
    return row->func == NO_OPERAND ? row->usual : instr_func(instr, row->func, row->usual);
}

/* ---- the storages ------------------------------------------------------------------------------
 */

/* Whether a command means more than a fresh reduction of one instruction. */
static bool goes_on(const struct nki_instr *instr, const struct sums_row *row) {
    int64_t command = command_of(instr, row);
    if (instr->op == (uint16_t)NKI_OP_TENSOR_SCALAR_CUMULATIVE && command == NKI_REDUCE_LOAD_REDUCE)
        return false;
    return command == NKI_REDUCE_IDLE ? result_of(instr, row) != NULL
                                      : command != NKI_REDUCE_RESET_REDUCE;
}

void lift_sums_open(struct lift *l) {
    for (int i = 0; i < LIFT_SUMS; i++)
        l->sums[i] = (struct nki_storage){.space = NKI_SBUF,
                                          .dtype = DTYPE_FLOAT32,
                                          .name = "",
                                          .partitions = NKI_PARTITIONS,
                                          .blocks = 1,
                                          .block_bytes = sizeof(float),
                                          .zeroed = true,
                                          .input = -1,
                                          .output = -1};
    for (size_t i = 0; i < l->program->instrs.len; i++) {
        const struct nki_instr *instr = &l->program->instrs.at[i];
        const struct sums_row *row = row_of(instr);
        if (row && goes_on(instr, row))
            l->goes_on[row->engine] = true;
    }
}

static uint32_t storage_of(const struct lift *l, const struct sums_row *row) {
    return (uint32_t)l->program->storages.len + (uint32_t)row->engine;
}

/* All rows get a value that does not depend on the row. */
static void set_all(struct lift *l, const struct sums_row *row, value_id value) {
    struct region region = {.storage = storage_of(l, row),
                            .vars = 1,
                            .count = {NKI_PARTITIONS},
                            .step = {lift_row_of(&l->sums[row->engine])}};
    lift_store_write(l, &region, value);
}

static value_id identity(struct lift *l, enum nki_func func) {
    switch (func) {
    case NKI_FUNC_MULTIPLY: return make_number(l, 1);
    case NKI_FUNC_MAXIMUM: return make_number(l, -FLT_MAX);
    case NKI_FUNC_MINIMUM: return make_number(l, FLT_MAX);
    default: return make_number(l, 0);
    }
}

/* ---- from and to them --------------------------------------------------------------------------
 */

static value_id value_first(struct job *job, const value_id *in) {
    return job->inputs ? in[0] : job_take(job, job->arg[0], in);
}

static value_id value_negative(struct job *job, const value_id *in) {
    return make_unary(job->l, NKI_FUNC_NEGATIVE, in[0]);
}

/* A job over the first rows of the sums. */
static void begin_rows(struct job *job, struct lift *l, const struct nki_instr *instr,
                       const struct sums_row *row, struct shape *shape, int64_t count) {
    *job = (struct job){.l = l, .instr = instr, .value = value_first, .is_part = true};
    *shape = (struct shape){0};
    shape_put(shape, count, lift_row_of(&l->sums[row->engine]));
}

static struct address sums_address(const struct job *job, const struct sums_row *row,
                                   const struct shape *shape) {
    struct nki_ap ap = {.storage = storage_of(job->l, row), .dtype = DTYPE_FLOAT32};
    return job_address(job, &ap, shape);
}

/* Writes the first `count` rows, from an operand or a number. */
static const char *load_rows(struct lift *l, const struct nki_instr *instr,
                             const struct sums_row *row, int64_t count) {
    struct job job;
    struct shape shape;
    begin_rows(&job, l, instr, row, &shape, count);
    if (row->first == NO_OPERAND)
        job_fail(&job, "it begins with a number that is not followed");
    else if (job_begin(&job, &shape, 1)) {
        job.arg[0] = job_argument(&job, row->first, 0, count);
        job.out = sums_address(&job, row, &shape);
        job.has_out = true;
        job_run(&job);
    }
    return job.why;
}

/* Writes the sums to where the instruction wants them. */
static const char *write_rows(struct lift *l, const struct nki_instr *instr,
                              const struct sums_row *row) {
    const struct nki_ap *result = result_of(instr, row);
    struct job job;
    struct shape shapes[2];
    begin_rows(&job, l, instr, row, &shapes[0], nki_ap_count(result));
    shapes[1] = shape_of(l, result);
    if (row->negate != NO_OPERAND && instr_flag(instr, row->negate))
        job.value = value_negative;
    if (job_begin(&job, shapes, 2)) {
        job.in[job.inputs++] = sums_address(&job, row, &shapes[0]);
        job.out = job_address(&job, result, &shapes[1]);
        job.has_out = true;
        job_run(&job);
    }
    return job.why;
}

/* ---- reductions beside elements ----------------------------------------------------------------
 */

/* What is reduced over the free dimensions goes to `ap`, whose shape has the rows alone. */
static void reduce_to(struct job *job, struct address address, enum nki_func func) {
    int64_t each = nki_ap_free(job->instr->operands[NKI_DST].ap), size = 1;
    job->result = address;
    job->has_result = true;
    job->reduce = func;
    for (int v = job->vars - 1; v >= 0 && size < each; size *= job->count[v--])
        job->reduced |= 1u << v;
    if (job->masks)
        job_fail(job, "it reduces under a mask");
}

static void reduce_afresh(struct job *job, const struct sums_row *row) {
    const struct nki_ap *ap = result_of(job->instr, row), *dst = job->instr->operands[NKI_DST].ap;
    if (!ap)
        return;
    struct shape shape = shape_of(job->l, ap);
    shape_put(&shape, nki_ap_free(dst), 0);
    if (nki_ap_count(ap) != dst->count[0])
        return job_fail(job, "it reduces to several elements a partition");
    reduce_to(job, job_address(job, ap, &shape), func_of(job->instr, row));
    job->negates = row->negate != NO_OPERAND && instr_flag(job->instr, row->negate);
}

static void reduce_on(struct job *job, const struct sums_row *row) {
    const struct nki_ap *dst = job->instr->operands[NKI_DST].ap;
    enum nki_func func = func_of(job->instr, row);
    int64_t command = command_of(job->instr, row);
    struct shape shape = {0};
    if (command == NKI_REDUCE_RESET || command == NKI_REDUCE_RESET_REDUCE)
        set_all(job->l, row, identity(job->l, func));
    if (command == NKI_REDUCE_LOAD_REDUCE) {
        const char *why = load_rows(job->l, job->instr, row, dst->count[0]);
        if (why)
            job_fail(job, why);
    }
    if (command == NKI_REDUCE_RESET || command == NKI_REDUCE_IDLE)
        return;
    shape_put(&shape, dst->count[0], lift_row_of(&job->l->sums[row->engine]));
    shape_put(&shape, nki_ap_free(dst), 0);
    reduce_to(job, sums_address(job, row, &shape), func);
    job->adds = command != NKI_REDUCE_RESET_REDUCE;
}

void job_run_reducing(struct job *job, bool begun) {
    const struct sums_row *row = row_of(job->instr);
    struct lift *l = job->l;
    if (!l->goes_on[row->engine]) {
        if (begun)
            reduce_afresh(job, row);
        return job_run(job);
    }
    if (begun)
        reduce_on(job, row);
    job->is_part = true;
    job_run(job);
    if (!job->why && result_of(job->instr, row))
        job->why = write_rows(l, job->instr, row);
    if (job->why)
        job_give_up(job);
}

void lift_sums_lose(struct lift *l, const struct nki_instr *instr, value_id opaque) {
    const struct sums_row *row = row_of(instr);
    if (row && l->goes_on[row->engine])
        set_all(l, row, opaque);
}
