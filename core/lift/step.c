/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions that make each element of one: copies, element-wise operators, masks, patterns. */
#include "lift/step.h"

static const struct nki_ap *tile(const struct nki_instr *instr, int k) {
    return instr->operands[k].ap;
}

static void add_input(struct job *job, const struct nki_ap *ap) {
    struct shape shape = shape_of(job->l, ap);
    job->in[job->inputs++] = job_address(job, ap, &shape);
}

static void set_out(struct job *job, const struct nki_ap *ap) {
    struct shape shape = shape_of(job->l, ap);
    job->out = job_address(job, ap, &shape);
    job->has_out = true;
}

static void take_mask(struct job *job, const struct nki_ap *dst) {
    const struct nki_mask *mask = job->instr->more->mask;
    job->masks = mask ? mask->n_terms : 0;
    for (int t = 0; t < job->masks; t++) {
        job->mask[t] = form_number(mask->term[t].c0);
        int v = job->vars - 1;
        for (int d = dst->n_dims - 1; d >= 0; d--)
            for (int64_t size = 1; v >= 0 && size < dst->count[d]; v--) {
                struct form term = form_var(v, mask->term[t].c[d] * size);
                form_add(&job->mask[t], &term, 1);
                size *= job->count[v];
            }
    }
}

bool job_stream(struct job *job, struct lift *l, const struct nki_instr *instr, const int *streams,
                int count) {
    struct shape shapes[JOB_OPERANDS] = {shape_of(l, tile(instr, NKI_DST))};
    *job = (struct job){.l = l, .instr = instr};
    for (int i = 0; i < count; i++) {
        if (!is_tile(instr, streams[i]))
            return job_fail(job, "an operand is none"), false;
        shapes[i + 1] = shape_of(l, tile(instr, streams[i]));
    }
    if (!job_begin(job, shapes, count + 1))
        return false;
    set_out(job, tile(instr, NKI_DST));
    for (int i = 0; i < count; i++)
        add_input(job, tile(instr, streams[i]));
    take_mask(job, tile(instr, NKI_DST));
    return true;
}

/* ---- operators ---------------------------------------------------------------------------------
 */

/* As the engines have it: comparisons are 1 or 0, bits are not followed. */
static value_id operate(struct job *job, enum nki_func func, bool reverse, value_id a, value_id b) {
    struct lift *l = job->l;
    if (nki_func_has(func, 'i') || func == NKI_FUNC_MOD || func == NKI_FUNC_FMOD)
        job_fail(job, "it works on bits or remainders");
    if (!nki_func_has(func, 'b') && func != NKI_FUNC_AVERAGE)
        return make_unary(l, func, a);
    return reverse ? make_binary(l, func, b, a) : make_binary(l, func, a, b);
}

static value_id value_copy(struct job *job, const value_id *in) {
    (void)job;
    return in[0];
}

static value_id value_tensor_tensor(struct job *job, const value_id *in) {
    return operate(job, instr_func(job->instr, NKI_TENSOR_TENSOR_op, NKI_FUNC_NONE), false, in[0],
                   in[1]);
}

static value_id value_tensor_scalar(struct job *job, const value_id *in) {
    const struct nki_instr *instr = job->instr;
    enum nki_func op1 = instr_func(instr, NKI_TENSOR_SCALAR_op1, NKI_FUNC_NONE);
    value_id value = operate(job, instr_func(instr, NKI_TENSOR_SCALAR_op0, NKI_FUNC_NONE),
                             instr_flag(instr, NKI_TENSOR_SCALAR_reverse0), in[0],
                             job_take(job, job->arg[0], in));
    return op1 == NKI_FUNC_NONE ? value
                                : operate(job, op1, instr_flag(instr, NKI_TENSOR_SCALAR_reverse1),
                                          value, job_take(job, job->arg[1], in));
}

static value_id value_scalar_tensor_tensor(struct job *job, const value_id *in) {
    const struct nki_instr *instr = job->instr;
    value_id value = operate(job, instr_func(instr, NKI_SCALAR_TENSOR_TENSOR_op0, NKI_FUNC_BYPASS),
                             instr_flag(instr, NKI_SCALAR_TENSOR_TENSOR_reverse0), in[0],
                             job_take(job, job->arg[0], in));
    return operate(job, instr_func(instr, NKI_SCALAR_TENSOR_TENSOR_op1, NKI_FUNC_BYPASS),
                   instr_flag(instr, NKI_SCALAR_TENSOR_TENSOR_reverse1), value, in[1]);
}

static value_id value_elementwise(struct job *job, const value_id *in) {
    return make_unary(job->l, instr_func(job->instr, NKI_ELEMENTWISE_op, NKI_FUNC_COPY), in[0]);
}

static value_id value_reciprocal(struct job *job, const value_id *in) {
    return make_unary(job->l, NKI_FUNC_RECIPROCAL, in[0]);
}

static value_id value_predicated(struct job *job, const value_id *in) {
    bool reverse = instr_flag(job->instr, NKI_TENSOR_COPY_PREDICATED_reverse_pred);
    value_id src = job->arg[0].operand == -2 ? in[2] : job_take(job, job->arg[0], in);
    return make_where(job->l, in[0], reverse ? in[1] : src, reverse ? src : in[1]);
}

static value_id value_scalar_reduce(struct job *job, const value_id *in) {
    const struct nki_instr *instr = job->instr;
    return operate(job, instr_func(instr, NKI_TENSOR_SCALAR_REDUCE_op0, NKI_FUNC_BYPASS),
                   instr_flag(instr, NKI_TENSOR_SCALAR_REDUCE_reverse0), in[0],
                   job_take(job, job->arg[0], in));
}

static const struct stream_row {
    enum nki_op op;
    job_fn *value;
    int streams[2]; /* 0: none, as that is dst */
    int argument[2];
} streams[] = {
    {NKI_OP_TENSOR_COPY, value_copy, {NKI_TENSOR_COPY_src}, {0}},
    {NKI_OP_TENSOR_TENSOR,
     value_tensor_tensor,
     {NKI_TENSOR_TENSOR_data1, NKI_TENSOR_TENSOR_data2},
     {0}},
    {NKI_OP_TENSOR_SCALAR,
     value_tensor_scalar,
     {NKI_TENSOR_SCALAR_data},
     {NKI_TENSOR_SCALAR_operand0, NKI_TENSOR_SCALAR_operand1}},
    {NKI_OP_SCALAR_TENSOR_TENSOR,
     value_scalar_tensor_tensor,
     {NKI_SCALAR_TENSOR_TENSOR_data, NKI_SCALAR_TENSOR_TENSOR_operand1},
     {NKI_SCALAR_TENSOR_TENSOR_operand0}},
    {NKI_OP_ELEMENTWISE, value_elementwise, {NKI_ELEMENTWISE_data}, {0}},
    {NKI_OP_RECIPROCAL, value_reciprocal, {NKI_RECIPROCAL_data}, {0}},
    {NKI_OP_TENSOR_COPY_PREDICATED, value_predicated, {NKI_TENSOR_COPY_PREDICATED_predicate}, {0}},
    {NKI_OP_TENSOR_SCALAR_REDUCE,
     value_scalar_reduce,
     {NKI_TENSOR_SCALAR_REDUCE_data},
     {NKI_TENSOR_SCALAR_REDUCE_operand0}},
};

static const struct stream_row *row_of(const struct nki_instr *instr) {
    for (size_t i = 0; i < COUNT_OF(streams); i++)
        if ((uint16_t)streams[i].op == instr->op)
            return &streams[i];
    HONE_BUG("an instruction without a row");
}

void step_stream(struct lift *l, const struct nki_instr *instr) {
    const struct stream_row *row = row_of(instr);
    struct job job;
    bool ok = job_stream(&job, l, instr, row->streams, 1 + (row->streams[1] != 0));
    for (int i = 0; ok && i < 2; i++)
        job.arg[i] = row->argument[i]
                         ? job_argument(&job, row->argument[i], 0, tile(instr, NKI_DST)->count[0])
                         : (struct argument){-1, 0};
    job.value = row->value;
    if (ok && instr->op == NKI_OP_TENSOR_COPY_PREDICATED) {
        add_input(&job, tile(instr, NKI_DST));
        job.arg[0] = (struct argument){-1, instr_number(instr, NKI_TENSOR_COPY_PREDICATED_src, 0)};
        if (is_tile(instr, NKI_TENSOR_COPY_PREDICATED_src)) {
            job.arg[0].operand = -2;
            if (nki_ap_count(tile(instr, NKI_TENSOR_COPY_PREDICATED_src)) !=
                nki_ap_count(tile(instr, NKI_DST)))
                job_fail(&job, "its operands differ in size");
            else
                add_input(&job, tile(instr, NKI_TENSOR_COPY_PREDICATED_src));
        }
    }
    if (instr->op == NKI_OP_TENSOR_SCALAR_REDUCE)
        return job_run_reducing(&job, ok);
    job_run(&job);
}

static value_id value_sum(struct job *job, const value_id *in) {
    value_id sum = in[0];
    for (int i = 1; i < job->inputs; i++)
        sum = make_binary(job->l, NKI_FUNC_ADD, sum, in[i]);
    return sum;
}

/* dst = the sum of all sources, of which dst may be one. */
void step_dma_sum(struct lift *l, const struct nki_instr *instr) {
    const struct nki_operand *srcs = &instr->operands[NKI_DMA_COMPUTE_srcs];
    struct job job = {.l = l, .instr = instr, .value = value_sum};
    struct shape shapes[JOB_OPERANDS + 1] = {shape_of(l, tile(instr, NKI_DST))};
    if (srcs->n == 0 || srcs->n > JOB_OPERANDS || instr->more->mask)
        job_fail(&job, "it adds up more than is followed");
    for (uint32_t i = 0; !job.why && i < srcs->n; i++)
        shapes[i + 1] = shape_of(l, srcs->aps[i]);
    if (!job.why && job_begin(&job, shapes, (int)srcs->n + 1)) {
        set_out(&job, tile(instr, NKI_DST));
        for (uint32_t i = 0; i < srcs->n; i++)
            add_input(&job, srcs->aps[i]);
    }
    job_run(&job);
}

void step_dma(struct lift *l, const struct nki_instr *instr) {
    struct job job;
    if (tile(instr, NKI_DMA_COPY_src)->indirect && !tile(instr, NKI_DST)->indirect)
        return step_gather(l, instr, NKI_DMA_COPY_src);
    job_stream(&job, l, instr, (const int[]){NKI_DMA_COPY_src}, 1);
    job.value = value_copy;
    job_run(&job);
}

/* ---- activation --------------------------------------------------------------------------------
 */

static value_id value_activation(struct job *job, const value_id *in) {
    struct lift *l = job->l;
    value_id value = make_binary(l, NKI_FUNC_MULTIPLY, in[0], job_take(job, job->arg[1], in));
    value = make_binary(l, NKI_FUNC_ADD, value, job_take(job, job->arg[0], in));
    return make_unary(l, instr_func(job->instr, NKI_ACTIVATION_op, NKI_FUNC_COPY), value);
}

void step_activation(struct lift *l, const struct nki_instr *instr) {
    struct job job;
    bool both = instr->op == NKI_OP_ACTIVATION_REDUCE;
    int bias = both ? NKI_ACTIVATION_REDUCE_bias : NKI_ACTIVATION_bias;
    int scale = both ? NKI_ACTIVATION_REDUCE_scale : NKI_ACTIVATION_scale;
    bool ok = job_stream(&job, l, instr, (const int[]){NKI_ACTIVATION_data}, 1);
    if (ok) {
        job.arg[0] = job_argument(&job, bias, 0, tile(instr, NKI_DST)->count[0]);
        job.arg[1] = job_argument(&job, scale, 1, tile(instr, NKI_DST)->count[0]);
    }
    job.value = value_activation;
    job_run_reducing(&job, ok);
}

/* ---- patterns and masks ------------------------------------------------------------------------
 */

/* offset + p * channel + sum(step * i), as a form over the job's variables. */
static void take_pattern(struct job *job, int pattern, int offset, int channel) {
    const struct nki_operand *operand = &job->instr->operands[pattern];
    int64_t size = 1;
    int v = job->vars - 1;
    job->place = form_number((int64_t)instr_number(job->instr, offset, 0));
    for (int d = (int)operand->n / 2 - 1; d >= 0; d--) {
        int64_t count = operand->ints[2 * d + 1], inner = 1;
        for (; v >= 0 && inner < count; v--) {
            struct form term = form_var(v, operand->ints[2 * d] * inner);
            form_add(&job->place, &term, 1);
            inner *= job->count[v];
        }
        if (inner != count)
            job_fail(job, "its pattern has another shape than its tile");
        size *= count;
    }
    for (int64_t inner = 1; v >= 0; v--) {
        struct form term = form_var(v, (int64_t)instr_number(job->instr, channel, 0) * inner);
        form_add(&job->place, &term, 1);
        inner *= job->count[v];
    }
}

/* The pattern's own dimensions have to be dimensions of the job. */
static bool begin_pattern(struct job *job, struct lift *l, const struct nki_instr *instr,
                          int pattern, int stream) {
    const struct nki_operand *operand = &instr->operands[pattern];
    int dims = (int)operand->n / 2;
    struct shape shapes[3] = {shape_of(l, tile(instr, NKI_DST))};
    *job = (struct job){.l = l, .instr = instr};
    if (operand->kind != NKI_OPERAND_INTS || dims >= NKI_MAX_DIMS)
        return job_fail(job, "its pattern is not known"), false;
    shape_put(&shapes[1], shapes[0].count[0], 0);
    for (int d = 0; d < dims; d++)
        shape_put(&shapes[1], operand->ints[2 * d + 1], 0);
    if (stream)
        shapes[2] = shape_of(l, tile(instr, stream));
    if (!job_begin(job, shapes, stream ? 3 : 2))
        return false;
    set_out(job, tile(instr, NKI_DST));
    if (stream)
        add_input(job, tile(instr, stream));
    take_mask(job, tile(instr, NKI_DST));
    return true;
}

static value_id value_place(struct job *job, const value_id *in) {
    (void)in;
    return make_place(job->l, &job->place);
}

static value_id value_affine(struct job *job, const value_id *in) {
    enum nki_func func = instr_func(job->instr, NKI_AFFINE_SELECT_cmp_op, NKI_FUNC_EQUAL);
    struct lift *l = job->l;
    value_id place = make_place(l, &job->place);
    value_id condition = make_binary(l, func, place, make_number(l, 0));
    if (value_of(l, place)->kind == VALUE_NUMBER) {
        double at = value_of(l, place)->number;
        bool holds = func == NKI_FUNC_EQUAL        ? at == 0
                     : func == NKI_FUNC_NOT_EQUAL  ? at != 0
                     : func == NKI_FUNC_LESS       ? at < 0
                     : func == NKI_FUNC_LESS_EQUAL ? at <= 0
                     : func == NKI_FUNC_GREATER    ? at > 0
                                                   : at >= 0;
        condition = make_number(l, holds);
    }
    return make_where(l, condition, in[0], job_take(job, job->arg[0], in));
}

void step_place(struct lift *l, const struct nki_instr *instr) {
    struct job job;
    bool selects = instr->op == NKI_OP_AFFINE_SELECT;
    int pattern = selects ? NKI_AFFINE_SELECT_pattern : NKI_IOTA_pattern;
    if (begin_pattern(&job, l, instr, pattern, selects ? NKI_AFFINE_SELECT_on_true_tile : 0)) {
        take_pattern(&job, pattern, selects ? NKI_AFFINE_SELECT_offset : NKI_IOTA_offset,
                     selects ? NKI_AFFINE_SELECT_channel_multiplier : NKI_IOTA_channel_multiplier);
        if (selects)
            job.arg[0] = job_argument(&job, NKI_AFFINE_SELECT_on_false_value, 0,
                                      tile(instr, NKI_DST)->count[0]);
    }
    job.value = selects ? value_affine : value_place;
    job_run(&job);
}

static value_id value_memset(struct job *job, const value_id *in) {
    (void)in;
    return make_number(job->l, (float)instr_number(job->instr, NKI_MEMSET_value, 0));
}

void step_memset(struct lift *l, const struct nki_instr *instr) {
    struct job job;
    job_stream(&job, l, instr, NULL, 0);
    job.value = value_memset;
    job_run(&job);
}

/* ---- reductions --------------------------------------------------------------------------------
 */

static void set_result(struct job *job, const struct shape *shape, enum nki_func func) {
    job->result = job_address(job, tile(job->instr, NKI_DST), shape);
    job->has_result = true;
    job->reduce = func;
    job->is_average = func == NKI_FUNC_AVERAGE;
    if (nki_func_has(func, 'i'))
        job_fail(job, "it works on bits or remainders");
    if (job->instr->more->mask)
        job_fail(job, "it has a mask");
}

/* The last dimensions of the tile go; what is left are those of dst. */
void step_reduce(struct lift *l, const struct nki_instr *instr) {
    struct job job = {.l = l, .instr = instr};
    const struct nki_ap *data = tile(instr, NKI_TENSOR_REDUCE_data), *dst = tile(instr, NKI_DST);
    int64_t each = nki_ap_count(data) / nki_ap_count(dst), size = 1;
    struct shape shapes[] = {shape_of(l, data), shape_of(l, dst)};
    shape_put(&shapes[1], each, 0);
    if (job_begin(&job, shapes, 2)) {
        add_input(&job, data);
        set_result(&job, &shapes[1], instr_func(instr, NKI_TENSOR_REDUCE_op, NKI_FUNC_ADD));
        job.negates = instr_flag(instr, NKI_TENSOR_REDUCE_negate);
        for (int v = job.vars - 1; v >= 0 && size < each; size *= job.count[v--])
            job.reduced |= 1u << v;
    }
    job.value = value_copy;
    job_run(&job);
}

void step_partition_reduce(struct lift *l, const struct nki_instr *instr) {
    struct job job = {.l = l, .instr = instr};
    const struct nki_ap *data = tile(instr, NKI_TENSOR_PARTITION_REDUCE_data);
    struct shape of_dst = shape_of(l, tile(instr, NKI_DST));
    struct shape shapes[] = {shape_of(l, data), {0}};
    shape_put(&shapes[1], data->count[0], 0);
    for (int d = 1; d < of_dst.dims; d++)
        shape_put(&shapes[1], of_dst.count[d], of_dst.step[d]);
    if (job_begin(&job, shapes, 2)) {
        add_input(&job, data);
        set_result(&job, &shapes[1],
                   instr_func(instr, NKI_TENSOR_PARTITION_REDUCE_op, NKI_FUNC_ADD));
        for (int64_t v = 0, size = 1; v < job.vars && size < data->count[0]; size *= job.count[v++])
            job.reduced |= 1u << v;
    }
    job.value = value_copy;
    job_run(&job);
}
