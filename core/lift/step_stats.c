/* SPDX-License-Identifier: Apache-2.0 */
/* Means and variances in two instructions: counts, means and sums of squares of every second
 * element (bn_stats), and what several of these make together (bn_aggr), which is the mean and the
 * variance of all elements. */
#include "lift/step.h"

#define MOST_GROUPS 128

/* ---- columns -----------------------------------------------------------------------------------
 */

/* Element `at` of each row of a tile. */
struct column {
    struct nki_ap ap;
    int64_t step;
    int32_t count;
};

static void column_of(struct column *column, const struct nki_ap *tile, int64_t at) {
    column->ap = *tile;
    column->step = tile->step[0];
    column->count = tile->count[0];
    column->ap.n_dims = 1;
    column->ap.step = &column->step;
    column->ap.count = &column->count;
    for (int d = tile->n_dims - 1; d > 0; d--) {
        column->ap.offset += at % tile->count[d] * tile->step[d];
        at /= tile->count[d];
    }
}

/* A job over the rows of a column, and over `each` elements more. */
static bool begin_rows(struct job *job, struct lift *l, const struct nki_instr *instr,
                       const struct nki_ap *ap, struct shape *shape, int64_t each) {
    *job = (struct job){.l = l, .instr = instr, .is_part = true};
    *shape = shape_of(l, ap);
    if (each > 0)
        shape_put(shape, each, 0);
    return job_begin(job, shape, 1);
}

static value_id value_set_to(struct job *job, const value_id *in) {
    return job->inputs ? in[0] : make_number(job->l, job->arg[0].number);
}

/* ---- bn_stats ----------------------------------------------------------------------------------
 */

static value_id value_element(struct job *job, const value_id *in) {
    (void)job;
    return in[0];
}

static value_id value_distance(struct job *job, const value_id *in) {
    value_id from_mean = make_binary(job->l, NKI_FUNC_SUBTRACT, in[0], in[1]);
    return make_unary(job->l, NKI_FUNC_SQUARE, from_mean);
}

/* Every second element of the rows, from `first` on, to three columns of dst. */
static const char *half(struct lift *l, const struct nki_instr *instr, const struct nki_ap *data,
                        int first) {
    int64_t step[] = {data->step[0], 2 * data->step[1]};
    int32_t count[] = {data->count[0], (data->count[1] - first + 1) / 2};
    struct nki_ap part = *data;
    struct column columns[3];
    part.offset += first * data->step[1];
    part.step = step;
    part.count = count;
    for (int i = 0; i < 3; i++)
        column_of(&columns[i], instr->operands[NKI_DST].ap, 3 * first + i);
    for (int i = 0; i < 3; i++) {
        struct job job;
        struct shape shape, of_part = shape_of(l, &part);
        bool sums = i > 0 && count[1] > 0;
        if (!begin_rows(&job, l, instr, &columns[i].ap, &shape, sums ? count[1] : 0))
            return job.why;
        job.arg[0] = (struct argument){-1, i == 0 ? count[1] : 0};
        job.value = !sums ? value_set_to : i == 1 ? value_element : value_distance;
        *(sums ? &job.result : &job.out) = job_address(&job, &columns[i].ap, &shape);
        job.has_out = !sums;
        job.has_result = sums;
        job.reduce = NKI_FUNC_ADD;
        job.is_average = i == 1;
        if (sums)
            job.in[job.inputs++] = job_address(&job, &part, &of_part);
        if (i == 2 && sums) {
            struct shape of_mean = shape_of(l, &columns[1].ap);
            shape_put(&of_mean, count[1], 0);
            job.in[job.inputs++] = job_address(&job, &columns[1].ap, &of_mean);
        }
        for (int64_t v = job.vars - 1, size = 1; sums && v >= 0 && size < count[1];
             size *= job.count[v--])
            job.reduced |= 1u << v;
        job_run(&job);
        if (job.why)
            return job.why;
    }
    return NULL;
}

void step_statistics(struct lift *l, const struct nki_instr *instr) {
    const struct nki_ap *data = instr->operands[NKI_BN_STATS_data].ap;
    const struct nki_ap *dst = instr->operands[NKI_DST].ap;
    struct job job = {.l = l, .instr = instr};
    if (data->n_dims != 2 || data->indirect || dst->indirect || nki_ap_free(dst) != 6 ||
        dst->dtype != DTYPE_FLOAT32 || instr->more->mask)
        job_fail(&job, "its rows are not followed");
    for (int first = 0; first < 2 && !job.why; first++)
        job.why = half(l, instr, data, first);
    if (job.why)
        job_give_up(&job);
}

/* ---- bn_aggr -----------------------------------------------------------------------------------
 */

struct group {
    value_id count, mean, squares;
};

/* The sum of a group's elements. */
static value_id sum_of(struct lift *l, const struct group *group) {
    const struct value mean = *value_of(l, group->mean);
    if (mean.kind == VALUE_BINARY && mean.func == NKI_FUNC_DIVIDE && mean.b == group->count)
        return mean.a;
    return make_binary(l, NKI_FUNC_MULTIPLY, group->mean, group->count);
}

/* The squares of the distances of a group's elements from the mean of all. */
static value_id squares_from(struct lift *l, const struct group *group, value_id mean) {
    const struct value sum = *value_of(l, group->squares);
    if (sum.kind == VALUE_REDUCE && sum.func == NKI_FUNC_ADD) {
        const struct value square = *value_of(l, sum.a);
        const struct value *from = square.kind == VALUE_UNARY ? value_of(l, square.a) : &square;
        if (square.func == NKI_FUNC_SQUARE && from->kind == VALUE_BINARY &&
            from->func == NKI_FUNC_SUBTRACT && from->b == group->mean) {
            struct form place = form_var(LIFT_SPARE, 1);
            place.at = sum.low;
            value_id x = value_set(l, from->a, LIFT_BOUND + sum.height - 1, place);
            x = make_unary(l, NKI_FUNC_SQUARE, make_binary(l, NKI_FUNC_SUBTRACT, x, mean));
            return make_reduce(l, NKI_FUNC_ADD, LIFT_SPARE, sum.n, x);
        }
    }
    value_id apart =
        make_unary(l, NKI_FUNC_SQUARE, make_binary(l, NKI_FUNC_SUBTRACT, group->mean, mean));
    return make_binary(l, NKI_FUNC_ADD, group->squares,
                       make_binary(l, NKI_FUNC_MULTIPLY, apart, group->count));
}

struct moments {
    value_id mean, variance;
};

static const char *aggregate(struct lift *l, const struct group *groups, int64_t count,
                             struct moments *made) {
    double elements = 0;
    value_id sum = make_number(l, 0), squares = make_number(l, 0);
    for (int64_t g = 0; g < count; g++) {
        if (value_of(l, groups[g].count)->kind != VALUE_NUMBER)
            return "its groups have no known size";
        elements += value_of(l, groups[g].count)->number;
    }
    if (elements <= 0)
        return "its groups have no elements";
    value_id all = make_number(l, elements);
    for (int64_t g = 0; g < count; g++)
        if (!value_is_number(l, groups[g].count, 0))
            sum = make_binary(l, NKI_FUNC_ADD, sum, sum_of(l, &groups[g]));
    made->mean = make_binary(l, NKI_FUNC_DIVIDE, sum, all);
    for (int64_t g = 0; g < count; g++)
        if (!value_is_number(l, groups[g].count, 0))
            squares =
                make_binary(l, NKI_FUNC_ADD, squares, squares_from(l, &groups[g], made->mean));
    made->variance = make_binary(l, NKI_FUNC_DIVIDE, squares, all);
    return NULL;
}

/* Reads column `at`, or writes it, over the rows as variables. */
static const char *take_column(struct lift *l, const struct nki_instr *instr,
                               const struct nki_ap *tile, int64_t at, value_id *value) {
    struct column column;
    struct shape shape;
    struct job job;
    struct cut cut;
    column_of(&column, tile, at);
    if (!begin_rows(&job, l, instr, &column.ap, &shape, 0))
        return job.why;
    struct address address = job_address(&job, &column.ap, &shape);
    bool ok = job_read(&job, &address, value, &cut);
    return ok ? NULL : "its groups lie in memory in several pieces";
}

static const char *put_column(struct lift *l, const struct nki_instr *instr, int64_t at,
                              value_id value) {
    struct column column;
    struct shape shape;
    struct job job;
    column_of(&column, instr->operands[NKI_DST].ap, at);
    if (!begin_rows(&job, l, instr, &column.ap, &shape, 0))
        return job.why;
    struct address address = job_address(&job, &column.ap, &shape);
    job_write(&job, &address, value);
    return job.why;
}

void step_aggregate(struct lift *l, const struct nki_instr *instr) {
    const struct nki_ap *data = instr->operands[NKI_BN_AGGR_data].ap;
    const struct nki_ap *dst = instr->operands[NKI_DST].ap;
    int64_t count = nki_ap_free(data) / 3;
    struct job job = {.l = l, .instr = instr};
    struct group groups[MOST_GROUPS];
    struct moments made;
    if (nki_ap_free(data) % 3 || count < 1 || count > MOST_GROUPS || nki_ap_free(dst) != 2 ||
        data->indirect || dst->indirect || instr->more->mask || data->count[0] != dst->count[0])
        job_fail(&job, "its groups are not followed");
    for (int64_t g = 0; g < count && !job.why; g++) {
        value_id *parts[] = {&groups[g].count, &groups[g].mean, &groups[g].squares};
        for (int i = 0; i < 3 && !job.why; i++)
            job.why = take_column(l, instr, data, 3 * g + i, parts[i]);
    }
    if (!job.why)
        job.why = aggregate(l, groups, count, &made);
    if (!job.why)
        job.why = put_column(l, instr, 0, made.mean);
    if (!job.why)
        job.why = put_column(l, instr, 1, made.variance);
    if (job.why)
        job_give_up(&job);
}
