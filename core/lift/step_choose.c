/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions that choose: between two tiles, a range of a row, rows of a table by index. */
#include "lift/step.h"

#include <float.h>

/* A number, a number for each row, or a tile of as many elements as dst. */
static struct argument argument_of(struct job *job, int k) {
    const struct nki_ap *dst = job->instr->operands[NKI_DST].ap;
    const struct nki_operand *operand = &job->instr->operands[k];
    if (operand->kind != NKI_OPERAND_AP || nki_ap_free(operand->ap) != nki_ap_free(dst))
        return job_argument(job, k, 0, dst->count[0]);
    struct shape shape = shape_of(job->l, operand->ap);
    struct argument argument = {job->inputs, 0};
    if (nki_ap_count(operand->ap) != nki_ap_count(dst))
        job_fail(job, "its operands differ in size");
    else
        job->in[job->inputs++] = job_address(job, operand->ap, &shape);
    return argument;
}

/* ---- between two tiles -------------------------------------------------------------------------
 */

static value_id value_select(struct job *job, const value_id *in) {
    bool reverse = instr_flag(job->instr, NKI_SELECT_REDUCE_reverse_pred);
    value_id yes = job_take(job, job->arg[0], in), no = job_take(job, job->arg[1], in);
    return make_where(job->l, in[0], reverse ? no : yes, reverse ? yes : no);
}

void step_select(struct lift *l, const struct nki_instr *instr) {
    static const int tiles[] = {NKI_SELECT_REDUCE_predicate, NKI_SELECT_REDUCE_on_true,
                                NKI_SELECT_REDUCE_on_false};
    const struct nki_ap *dst = instr->operands[NKI_DST].ap;
    int streams[3] = {tiles[0]}, count = 1;
    struct job job;
    for (int i = 1; i < 3; i++) /* their dimensions are the job's, too */
        if (is_tile(instr, tiles[i]) &&
            nki_ap_count(instr->operands[tiles[i]].ap) == nki_ap_count(dst))
            streams[count++] = tiles[i];
    bool ok = job_stream(&job, l, instr, streams, count);
    if (ok) {
        job.arg[0] = argument_of(&job, tiles[1]);
        job.arg[1] = argument_of(&job, tiles[2]);
    }
    job.value = value_select;
    job_run_reducing(&job, ok && !job.why);
}

/* ---- a range of each row -----------------------------------------------------------------------
 */

static value_id value_range(struct job *job, const value_id *in) {
    static const int funcs[] = {NKI_RANGE_SELECT_comp_op0, NKI_RANGE_SELECT_comp_op1};
    struct lift *l = job->l;
    value_id place = make_place(l, &job->place), inside = VALUE_NONE;
    for (int i = 0; i < 2; i++) {
        enum nki_func usual = i ? NKI_FUNC_LESS : NKI_FUNC_GREATER_EQUAL;
        value_id one = make_binary(l, instr_func(job->instr, funcs[i], usual), place,
                                   job_take(job, job->arg[i], in));
        inside = i ? make_binary(l, NKI_FUNC_MULTIPLY, inside, one) : one;
    }
    return make_where(l, inside, in[0], make_number(l, -FLT_MAX));
}

void step_range(struct lift *l, const struct nki_instr *instr) {
    static const int streams[] = {NKI_RANGE_SELECT_on_true_tile};
    const struct nki_ap *dst = instr->operands[NKI_DST].ap;
    struct job job;
    bool ok = job_stream(&job, l, instr, streams, 1);
    if (ok) {
        int64_t size = 1;
        double start = instr_number(instr, NKI_RANGE_SELECT_range_start, 0);
        job.place = form_number((int64_t)start);
        for (int v = job.vars - 1; v >= 0 && size < nki_ap_free(dst); size *= job.count[v--]) {
            struct form term = form_var(v, size);
            form_add(&job.place, &term, 1);
        }
        if (start != (double)(int64_t)start)
            job_fail(&job, "its range begins between two elements");
        job.arg[0] = job_argument(&job, NKI_RANGE_SELECT_bound0, 0, dst->count[0]);
        job.arg[1] = job_argument(&job, NKI_RANGE_SELECT_bound1, 0, dst->count[0]);
    }
    job.value = value_range;
    job_run_reducing(&job, ok);
}

/* ---- rows by index -----------------------------------------------------------------------------
 */

static value_id value_row(struct job *job, const value_id *in) {
    const struct address *table = &job->table;
    struct form form = form_number(table->offset);
    bool fits = true;
    for (int v = 0; v < job->vars; v++) {
        struct form term = form_var(v, job->count[v] > 1 ? table->step[v] : 0);
        fits &= form_add(&form, &term, 1);
    }
    if (!fits)
        job_fail(job, "it has too many dimensions");
    return make_gather(job->l, table->storage, &form, in[0], table->indirect->step);
}

/* Whether nothing was written to what the indices choose from. */
static bool is_untouched(struct lift *l, const struct nki_ap *ap) {
    const struct nki_storage *storage = lift_storage(l, ap->storage);
    const struct store *store = lift_store_at(l, ap->storage, 0);
    return storage->space == NKI_HBM && storage->input >= 0 && ap->dtype == storage->dtype &&
           !store->pieces.len && !store->is_broken;
}

/* dst[p, ..] = src[index[p], ..] */
void step_gather(struct lift *l, const struct nki_instr *instr, int from) {
    const struct nki_ap *src = instr->operands[from].ap, *dst = instr->operands[NKI_DST].ap;
    const struct nki_indirect *indirect = src->indirect;
    struct job job = {.l = l, .instr = instr, .value = value_row, .has_table = true};
    struct shape shapes[] = {shape_of(l, src), shape_of(l, dst)}, index = {0};
    if (!indirect->vector || !indirect->index || indirect->step <= 0)
        job_fail(&job, "an address comes from a register");
    else if (indirect->skip_out_of_bounds)
        job_fail(&job, "it leaves out rows by their indices");
    else if (!is_untouched(l, src))
        job_fail(&job, "it chooses by index from what is no input");
    else if (nki_ap_count(indirect->index) != src->count[0] || instr->more->mask)
        job_fail(&job, "its indices differ in number from its rows");
    shapes[0].step[0] = 0;
    if (!job.why && job_begin(&job, shapes, 2)) {
        index = shape_of(l, indirect->index);
        shape_put(&index, nki_ap_free(src), 0);
        job.in[job.inputs++] = job_address(&job, indirect->index, &index);
        job.table = job_address(&job, src, &shapes[0]);
        job.out = job_address(&job, dst, &shapes[1]);
        job.has_out = true;
    }
    job_run(&job);
}
