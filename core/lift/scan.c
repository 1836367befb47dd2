/* SPDX-License-Identifier: Apache-2.0 */
/* Running sums, running maxima and recurrences: instructions that go along a row, and their values.
 * A scan that begins with the last element of another one is the rest of that one. */
#include "lift/step.h"

#include <math.h>

/* h[i] = a[i] * h[i - 1] + b[i], or a maximum or minimum of h[i - 1] and b[i]. */
struct scan {
    enum nki_func func; /* NKI_FUNC_ADD for the first */
    int var;            /* i, which begins with 0 */
    value_id a, b;      /* of one element; a of a maximum is VALUE_NONE */
    value_id before;    /* h[-1], which does not depend on i */
};

/* ---- values ------------------------------------------------------------------------------------
 */

static int bound_of(const struct lift *l, value_id a, value_id b, value_id c) {
    int height = 0;
    const value_id in[] = {a, b, c};
    for (int i = 0; i < 3; i++)
        if (in[i] != VALUE_NONE)
            height = MAX_OF(height, value_of(l, in[i])->height);
    return LIFT_BOUND + height;
}

static value_id rename_in(struct lift *l, value_id id, int from, struct form to) {
    return id == VALUE_NONE ? id : value_set(l, id, from, to);
}

/* The place in an earlier scan from which on this one goes on; -1: it is one of its own. */
static int64_t goes_on(struct lift *l, const struct scan *scan) {
    const struct value before = *value_of(l, scan->before);
    const struct form *place = form_of(l, before.form);
    if (before.kind != VALUE_SCAN || before.func != scan->func || place->count)
        return -1;
    struct form moved = form_var(scan->var, 1);
    int bound = LIFT_BOUND + before.height - 1;
    moved.at = place->at + 1;
    bool same = rename_in(l, before.a, bound, moved) == scan->a &&
                rename_in(l, before.b, bound, moved) == scan->b;
    return same ? moved.at : -1;
}

static value_id keep(struct lift *l, enum nki_func func, const value_id in[3],
                     const struct form *form) {
    struct value value = {.kind = VALUE_SCAN,
                          .func = (uint8_t)func,
                          .a = in[0],
                          .b = in[1],
                          .c = in[2],
                          .form = form_keep(l, form)};
    return value_keep(l, value);
}

static bool is_too_deep(struct lift *l, value_id a, value_id b, value_id c) {
    bool deep = value_is_deep(l, a) || value_is_deep(l, b) || value_is_deep(l, c);
    if (deep)
        l->limit = "scans within scans";
    return deep;
}

static value_id make_scan(struct lift *l, const struct scan *scan) {
    struct form place = form_var(scan->var, 1);
    if (is_too_deep(l, scan->a, scan->b, scan->before))
        return scan->b;
    int64_t first = goes_on(l, scan);
    if (first >= 0) {
        const struct value before = *value_of(l, scan->before);
        place.at = first;
        return keep(l, scan->func, (const value_id[]){before.a, before.b, before.c}, &place);
    }
    struct form bound = form_var(bound_of(l, scan->a, scan->b, scan->before), 1);
    const value_id in[] = {rename_in(l, scan->a, scan->var, bound),
                           rename_in(l, scan->b, scan->var, bound), scan->before};
    return keep(l, scan->func, in, &place);
}

value_id make_scan_again(struct lift *l, const struct value *from, const value_id in[3],
                         const struct form *form) {
    int old = LIFT_BOUND + from->height - 1;
    if (is_too_deep(l, in[0], in[1], in[2]))
        return in[1];
    struct form bound = form_var(bound_of(l, in[0], in[1], in[2]), 1);
    const value_id own[] = {rename_in(l, in[0], old, bound), rename_in(l, in[1], old, bound),
                            in[2]};
    return keep(l, from->func, own, form);
}

/* ---- what a step does --------------------------------------------------------------------------
 */

/* a * h + b, or the larger or smaller of h and b. */
struct linear {
    enum nki_func func;
    value_id a, b;
};

static bool is_extreme(enum nki_func func) {
    return func == NKI_FUNC_MAXIMUM || func == NKI_FUNC_MINIMUM;
}

/* k times what depends on h; a part that is 0 stays so. */
static value_id times(struct lift *l, value_id part, value_id k) {
    return value_is_number(l, part, 0) ? part : make_binary(l, NKI_FUNC_MULTIPLY, part, k);
}

/* Whether h is still as it was. */
static bool is_plain(const struct lift *l, const struct linear *h) {
    return h->func == NKI_FUNC_ADD && value_is_number(l, h->a, 1) && value_is_number(l, h->b, 0);
}

/* func of h and of a value that does not depend on it. False where that is no linear step. */
static bool apply(struct job *job, enum nki_func func, bool h_is_first, struct linear *h,
                  value_id k) {
    struct lift *l = job->l;
    value_id minus = make_number(l, -1);
    if (is_extreme(func) && (is_plain(l, h) || h->func == func)) {
        h->b = is_plain(l, h) ? k : make_binary(l, func, h->b, k);
        h->func = func;
        return true;
    }
    if (h->func != NKI_FUNC_ADD && !(func == NKI_FUNC_MULTIPLY && value_is_number(l, k, 1)) &&
        !(func == NKI_FUNC_ADD && value_is_number(l, k, 0)))
        return false;
    switch (func) {
    case NKI_FUNC_ADD: h->b = make_binary(l, NKI_FUNC_ADD, h->b, k); return true;
    case NKI_FUNC_SUBTRACT:
        if (!h_is_first)
            *h = (struct linear){h->func, times(l, h->a, minus), times(l, h->b, minus)};
        h->b = make_binary(l, NKI_FUNC_ADD, h->b, h_is_first ? times(l, k, minus) : k);
        return true;
    case NKI_FUNC_MULTIPLY:
        *h = (struct linear){h->func, times(l, h->a, k), times(l, h->b, k)};
        return true;
    default: return false;
    }
}

/* The one variable that the scan goes along; -1: there is one element. */
static int scanned_var(const struct job *job) {
    for (int v = 0; v < job->vars; v++)
        if (job->scanned >> v & 1 && job->count[v] > 1)
            return v;
    return -1;
}

static value_id along(struct job *job, const struct linear *step, value_id before) {
    struct lift *l = job->l;
    int var = scanned_var(job);
    bool extreme = is_extreme(step->func);
    struct scan scan = {step->func, var, extreme ? VALUE_NONE : step->a, step->b, before};
    if (value_of(l, step->b)->kind == VALUE_NOTHING || value_of(l, before)->kind == VALUE_NOTHING)
        return make_nothing(l);
    if (var >= 0)
        return make_scan(l, &scan);
    if (extreme)
        return make_binary(l, step->func, before, step->b);
    return make_binary(l, NKI_FUNC_ADD, make_binary(l, NKI_FUNC_MULTIPLY, step->a, before),
                       step->b);
}

static struct linear unchanged(struct lift *l) {
    return (struct linear){NKI_FUNC_ADD, make_number(l, 1), make_number(l, 0)};
}

static value_id not_linear(struct job *job) {
    job_fail(job, "a step of it is not linear in the one before");
    return make_nothing(job->l);
}

static value_id value_scan(struct job *job, const value_id *in) {
    const struct nki_instr *instr = job->instr;
    struct linear h = unchanged(job->l);
    bool ok = apply(job, instr_func(instr, NKI_TENSOR_TENSOR_SCAN_op0, NKI_FUNC_MULTIPLY),
                    instr_flag(instr, NKI_TENSOR_TENSOR_SCAN_reverse0), &h, in[0]) &&
              apply(job, instr_func(instr, NKI_TENSOR_TENSOR_SCAN_op1, NKI_FUNC_ADD),
                    !instr_flag(instr, NKI_TENSOR_TENSOR_SCAN_reverse1), &h, in[1]);
    return ok ? along(job, &h, job_take(job, job->arg[0], in)) : not_linear(job);
}

/* op1 of (src op0 imm0) and of what is there so far. */
static value_id value_cumulative(struct job *job, const value_id *in) {
    const struct nki_instr *instr = job->instr;
    struct linear h = unchanged(job->l);
    value_id one =
        make_binary(job->l, instr_func(instr, NKI_TENSOR_SCALAR_CUMULATIVE_op0, NKI_FUNC_BYPASS),
                    in[0], job_take(job, job->arg[1], in));
    bool ok = apply(job, instr_func(instr, NKI_TENSOR_SCALAR_CUMULATIVE_op1, NKI_FUNC_ADD), false,
                    &h, one);
    return ok ? along(job, &h, job_take(job, job->arg[0], in)) : not_linear(job);
}

/* ---- instructions ------------------------------------------------------------------------------
 */

static void take_scanned(struct job *job, int64_t each) {
    int64_t size = 1;
    for (int v = job->vars - 1; v >= 0 && size < each; size *= job->count[v--])
        job->scanned |= 1u << v;
}

void step_scan(struct lift *l, const struct nki_instr *instr) {
    static const int streams[] = {NKI_TENSOR_TENSOR_SCAN_data0, NKI_TENSOR_TENSOR_SCAN_data1};
    const struct nki_ap *dst = instr->operands[NKI_DST].ap;
    struct job job;
    if (job_stream(&job, l, instr, streams, 2)) {
        job.arg[0] = job_argument(&job, NKI_TENSOR_TENSOR_SCAN_initial, 0, dst->count[0]);
        take_scanned(&job, nki_ap_free(dst));
    }
    if (instr->more->mask)
        job_fail(&job, "it has a mask");
    job.value = value_scan;
    job_run(&job);
}

void step_cumulative(struct lift *l, const struct nki_instr *instr) {
    static const int streams[] = {NKI_TENSOR_SCALAR_CUMULATIVE_src};
    const struct nki_ap *dst = instr->operands[NKI_DST].ap;
    enum nki_func func = instr_func(instr, NKI_TENSOR_SCALAR_CUMULATIVE_op1, NKI_FUNC_ADD);
    int64_t command = (int64_t)instr_number(instr, NKI_TENSOR_SCALAR_CUMULATIVE_reduce_cmd,
                                            NKI_REDUCE_RESET_REDUCE);
    struct job job;
    if (job_stream(&job, l, instr, streams, 1)) {
        double first = func == NKI_FUNC_MULTIPLY  ? 1
                       : func == NKI_FUNC_MAXIMUM ? -INFINITY
                       : func == NKI_FUNC_MINIMUM ? INFINITY
                                                  : 0;
        job.arg[0] = (struct argument){-1, first};
        if (command == NKI_REDUCE_LOAD_REDUCE)
            job.arg[0] = job_argument(&job, NKI_TENSOR_SCALAR_CUMULATIVE_imm1, 0, dst->count[0]);
        job.arg[1] = job_argument(&job, NKI_TENSOR_SCALAR_CUMULATIVE_imm0, 0, dst->count[0]);
        take_scanned(&job, nki_ap_free(dst));
    }
    if ((command != NKI_REDUCE_RESET_REDUCE && command != NKI_REDUCE_LOAD_REDUCE) ||
        l->goes_on[SUMS_OF_VECTOR])
        job_fail(&job, "it goes on with the engine's sums");
    if (instr->more->mask)
        job_fail(&job, "it has a mask");
    job.value = value_cumulative;
    job_run(&job);
}
