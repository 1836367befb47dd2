/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions as loops: the dimensions that their operands have in common, the parts in which
 * they are done, and what is written. */
#include "lift/step.h"
#include <stdio.h>

#define MOST_PARTS 4096 /* of one instruction */

double instr_number(const struct nki_instr *instr, int k, double missing) {
    const struct nki_operand *operand = &instr->operands[k];
    switch (operand->kind) {
    case NKI_OPERAND_FLOAT: return operand->f;
    case NKI_OPERAND_INT:
    case NKI_OPERAND_BOOL:
    case NKI_OPERAND_ENUM: return (double)operand->i;
    default: return missing;
    }
}

enum nki_func instr_func(const struct nki_instr *instr, int k, enum nki_func missing) {
    return has(instr, k) ? (enum nki_func)instr->operands[k].i : missing;
}

bool instr_flag(const struct nki_instr *instr, int k) {
    return has(instr, k) && instr->operands[k].i != 0;
}

void job_fail(struct job *job, const char *why) {
    if (!job->why)
        job->why = why;
}

/* ---- common dimensions -------------------------------------------------------------------------
 */

#define MOST_SIZES 40

static void put_size(int64_t *sizes, int *n, int64_t size) {
    int at = 0;
    while (at < *n && sizes[at] < size)
        at++;
    if ((at < *n && sizes[at] == size) || *n == MOST_SIZES)
        return;
    memmove(&sizes[at + 1], &sizes[at], (size_t)(*n - at) * sizeof *sizes);
    sizes[at] = size;
    ++*n;
}

static int64_t start_of(const struct lift *l, const struct nki_ap *ap) {
    const struct nki_storage *storage = lift_storage(l, ap->storage);
    return ap->offset +
           (storage->space == NKI_HBM ? 0 : (int64_t)ap->partition * lift_row_of(storage));
}

void shape_put(struct shape *shape, int64_t count, int64_t step) {
    shape->count[shape->dims] = count;
    shape->step[shape->dims++] = step;
}

struct shape shape_of(const struct lift *l, const struct nki_ap *ap) {
    const struct nki_storage *storage = lift_storage(l, ap->storage);
    struct shape shape = {0};
    for (int d = 0; d < ap->n_dims; d++)
        shape_put(&shape, ap->count[d],
                  ap->step[d] * (d == 0 && storage->space != NKI_HBM ? lift_row_of(storage) : 1));
    return shape;
}

bool job_begin(struct job *job, const struct shape *shapes, int count) {
    int64_t sizes[MOST_SIZES] = {1}, all = 0;
    int n = 1;
    for (int i = 0; i < count; i++) {
        int64_t size = 1;
        for (int d = shapes[i].dims - 1; d >= 0; d--)
            put_size(sizes, &n, size *= shapes[i].count[d]);
        if (i > 0 && size != all)
            return job_fail(job, "its operands differ in size"), false;
        all = size;
    }
    for (int k = n - 1; k > 0; k--) {
        if (sizes[k] % sizes[k - 1] || job->vars == LIFT_DIMS - 4)
            return job_fail(job, "its operands have no dimensions in common"), false;
        job->count[job->vars++] = sizes[k] / sizes[k - 1];
    }
    return true;
}

struct address job_address(const struct job *job, const struct nki_ap *ap,
                           const struct shape *shape) {
    struct address address = {.storage = ap->storage,
                              .dtype = ap->dtype,
                              .offset = start_of(job->l, ap),
                              .indirect = ap->indirect};
    int v = job->vars - 1;
    for (int d = shape->dims - 1; d >= 0; d--)
        for (int64_t size = 1; v >= 0 && size < shape->count[d]; v--) {
            address.step[v] = shape->step[d] * size;
            size *= job->count[v];
        }
    return address;
}

struct argument job_argument(struct job *job, int k, double missing, int64_t partitions) {
    struct argument argument = {-1, instr_number(job->instr, k, missing)};
    const struct nki_operand *operand = &job->instr->operands[k];
    if (operand->kind == NKI_OPERAND_REG)
        job_fail(job, "it takes a number from a register");
    if (operand->kind != NKI_OPERAND_AP)
        return argument;
    struct shape own = shape_of(job->l, operand->ap), shape = {0};
    int64_t all = 1;
    for (int v = 0; v < job->vars; v++)
        all *= job->count[v];
    shape_put(&shape, partitions, own.count[0] == 1 ? 0 : own.step[0]);
    shape_put(&shape, all / partitions, 0);
    argument.operand = job->inputs;
    job->in[job->inputs++] = job_address(job, operand->ap, &shape);
    return argument;
}

value_id job_take(struct job *job, struct argument argument, const value_id *in) {
    return argument.operand < 0 ? make_number(job->l, (float)argument.number)
                                : in[argument.operand];
}

/* ---- parts -------------------------------------------------------------------------------------
 */

static void cut_form(struct form *form, int var, int64_t at) {
    form->at += form_step(form, var) * at;
}

static void cut_address(struct address *address, int var, int64_t at) {
    address->offset += address->step[var] * at;
}

/* A part of a scan goes on with the last element that the part before it wrote. */
static void go_on(struct job *part, const struct job *whole, int var) {
    struct address before = part->out;
    before.offset -= before.step[var];
    for (int v = 0; v < part->vars; v++)
        if (whole->scanned >> v & 1) {
            if (v > var)
                before.offset += before.step[v] * (whole->count[v] - 1);
            before.step[v] = 0;
        }
    if (before.dtype != DTYPE_FLOAT32)
        job_fail(part, "a scan lies in several pieces that are rounded");
    if (part->arg[0].operand < 0)
        part->arg[0].operand = part->inputs++;
    part->in[part->arg[0].operand] = before;
}

/* The part of a job from element `first` of a variable on. */
static struct job part_of(const struct job *job, int var, int64_t first, int64_t n) {
    struct job part = *job;
    part.count[var] = n;
    for (int i = 0; i < job->inputs; i++)
        cut_address(&part.in[i], var, first);
    cut_address(&part.out, var, first);
    cut_address(&part.table, var, first);
    cut_address(&part.result, var, first);
    cut_form(&part.place, var, first);
    for (int i = 0; i < job->masks; i++)
        cut_form(&part.mask[i], var, first);
    part.adds |= (job->reduced >> var & 1) && first > 0;
    if ((job->scanned >> var & 1) && first > 0)
        go_on(&part, job, var);
    return part;
}

static void factor_form(struct form *form, int var, int new_var, int64_t inner) {
    struct form more = form_var(new_var, form_step(form, var) * inner);
    form_add(form, &more, 1);
}

/* Variable `var` of n becomes inner; a new one counts n / inner. */
static struct job factored(const struct job *job, int var, int64_t inner) {
    struct job made = *job;
    int outer = made.vars++;
    made.count[outer] = job->count[var] / inner;
    made.count[var] = inner;
    for (int i = 0; i < job->inputs; i++)
        made.in[i].step[outer] = job->in[i].step[var] * inner;
    made.out.step[outer] = job->out.step[var] * inner;
    made.table.step[outer] = job->table.step[var] * inner;
    made.result.step[outer] = job->result.step[var] * inner;
    factor_form(&made.place, var, outer, inner);
    for (int i = 0; i < job->masks; i++)
        factor_form(&made.mask[i], var, outer, inner);
    if (job->reduced >> var & 1)
        made.reduced |= 1u << outer;
    return made;
}

static bool run_parts(struct job *job, int *budget);

static bool run_cut(struct job *job, const struct cut *wanted, int *budget) {
    struct cut own = *wanted, *cut = &own;
    if (cut->kind == CUT_FACTOR && job->scanned >> cut->var & 1)
        own.kind = CUT_AT;
    if (cut->kind == CUT_FACTOR && job->vars < LIFT_DIMS - 2) {
        struct job made = factored(job, cut->var, cut->at);
        bool ok = run_parts(&made, budget);
        job->why = made.why;
        return ok;
    }
    if (cut->kind != CUT_AT)
        return job_fail(job, "an operand lies in memory in a way that is not followed"), false;
    for (int i = 0; i < 2; i++) {
        int64_t first = i ? cut->at : 0;
        struct job part =
            part_of(job, cut->var, first, i ? job->count[cut->var] - cut->at : cut->at);
        if (!run_parts(&part, budget)) {
            job->why = part.why;
            return false;
        }
    }
    return true;
}

/* ---- one part ----------------------------------------------------------------------------------
 */

static struct region region_of(const struct job *job, const struct address *address,
                               uint32_t without) {
    struct region region = {
        .storage = address->storage, .offset = address->offset, .vars = job->vars};
    for (int v = 0; v < job->vars; v++) {
        region.count[v] = without >> v & 1 ? 1 : job->count[v];
        region.step[v] = region.count[v] == 1 ? 0 : address->step[v];
    }
    return region;
}

static bool same_width(const struct job *job, const struct address *address) {
    enum dtype dtype = lift_storage(job->l, address->storage)->dtype;
    return dtype == address->dtype || (dtype_bytes(dtype) == dtype_bytes(address->dtype) &&
                                       dtype_is_int(dtype) && dtype_is_int(address->dtype));
}

/* Turns round the variables along which an address goes down. Returns which. */
static uint32_t turn(struct region *region) {
    uint32_t turned = 0;
    for (int v = 0; v < region->vars; v++)
        if (region->count[v] > 1 && region->step[v] < 0) {
            region->offset += region->step[v] * (region->count[v] - 1);
            region->step[v] = -region->step[v];
            turned |= 1u << v;
        }
    return turned;
}

/* The value in the order of the variables that were turned. */
static value_id turn_value(struct lift *l, const struct region *region, uint32_t turned,
                           value_id value) {
    for (int v = 0; v < region->vars; v++)
        if (turned >> v & 1) {
            struct form back = form_var(v, -1);
            back.at = region->count[v] - 1;
            value = value_set(l, value, v, back);
        }
    return value;
}

static bool read_one(struct job *job, const struct address *address, uint32_t without,
                     value_id *value, struct cut *cut) {
    struct region region = region_of(job, address, without);
    uint32_t turned = turn(&region);
    *cut = (struct cut){CUT_IMPOSSIBLE, 0, 0};
    if (!same_width(job, address))
        return job_fail(job, "it reads memory as another type"), false;
    if (address->indirect)
        return job_fail(job, "an address comes from memory"), false;
    bool ok = lift_store_read(job->l, &region, value, cut);
    if (ok)
        *value = turn_value(job->l, &region, turned, *value);
    else if (cut->kind == CUT_AT && turned >> cut->var & 1)
        cut->at = region.count[cut->var] - cut->at;
    return ok;
}

/* Whether one dimension may reach what another one does: by steps of 1 over 33 and 1 over 48. */
static bool overlaps(const struct region *region) {
    for (int v = 0; v < region->vars; v++) {
        int64_t inner = 0; /* how far those with shorter steps reach */
        for (int w = 0; w < region->vars; w++) {
            bool before =
                region->step[w] < region->step[v] || (region->step[w] == region->step[v] && w < v);
            if (before && w != v)
                inner += region->step[w] * (region->count[w] - 1);
        }
        if (region->count[v] > 1 && region->step[v] <= inner)
            return true;
    }
    return false;
}

/* Writes for the dimensions that are not broadcast; those that are repeat the last value. */
static void write_one(struct job *job, const struct address *address, uint32_t without,
                      value_id value) {
    struct region region = region_of(job, address, without);
    uint32_t turned = turn(&region);
    if (address->indirect)
        return job_fail(job, "an address comes from memory");
    if (!same_width(job, address))
        return job_fail(job, "it writes memory as another type");
    if (overlaps(&region))
        return job_fail(job, "it writes an element more than once");
    for (int v = 0; v < region.vars; v++) {
        if (region.count[v] == 1)
            value = value_set(job->l, value, v, form_number(0));
    }
    value = turn_value(job->l, &region, turned, value);
    lift_store_write(job->l, &region, make_cast(job->l, address->dtype, value));
}

static value_id masked(struct job *job, value_id value, value_id old) {
    value_id zero = make_number(job->l, 0), all = VALUE_NONE;
    for (int i = 0; i < job->masks; i++) {
        value_id place = make_place(job->l, &job->mask[i]);
        value_id one = value_of(job->l, place)->kind == VALUE_NUMBER
                           ? make_number(job->l, value_of(job->l, place)->number >= 0)
                           : make_binary(job->l, NKI_FUNC_GREATER_EQUAL, place, zero);
        all = all == VALUE_NONE ? one : make_binary(job->l, NKI_FUNC_MULTIPLY, all, one);
    }
    return make_where(job->l, all, value, old);
}

static value_id reduced(struct job *job, value_id value) {
    struct lift *l = job->l;
    double elements = 1;
    enum nki_func func = job->is_average ? NKI_FUNC_ADD : job->reduce;
    for (int v = job->vars - 1; v >= 0; v--) {
        if (!(job->reduced >> v & 1))
            continue;
        elements *= (double)job->count[v];
        value = func == NKI_FUNC_ADD ? make_sum(l, v, job->count[v], value, job->count)
                                     : make_reduce(l, func, v, job->count[v], value);
    }
    if (job->is_average)
        value = make_binary(l, NKI_FUNC_DIVIDE, value, make_number(l, elements));
    return job->negates ? make_unary(l, NKI_FUNC_NEGATIVE, value) : value;
}

static bool finish(struct job *job, value_id value, struct cut *cut) {
    value_id old = VALUE_NONE, total = VALUE_NONE;
    if (job->masks && !read_one(job, job->has_out ? &job->out : &job->result,
                                job->has_out ? 0 : job->reduced, &old, cut))
        return false;
    if (job->has_result) {
        total = reduced(job, value);
        value_id before = VALUE_NONE;
        if (job->adds && (job->is_average || job->negates))
            return job_fail(job, "an average is made of several pieces"), false;
        if (job->adds && !read_one(job, &job->result, job->reduced, &before, cut))
            return false;
        if (job->adds && value_of(job->l, before)->kind != VALUE_NOTHING)
            total = make_binary(job->l, job->reduce, before, total);
        if (job->masks && !job->has_out)
            total = masked(job, total, old);
    }
    if (job->has_out)
        write_one(job, &job->out, 0, job->masks ? masked(job, value, old) : value);
    if (job->has_result)
        write_one(job, &job->result, job->reduced, total);
    return true;
}

/* A scan goes along one variable; of several the outermost is done step by step. */
static bool several_scanned(const struct job *job, struct cut *cut) {
    int first = -1, count = 0;
    for (int v = job->vars - 1; v >= 0; v--)
        if (job->scanned >> v & 1 && job->count[v] > 1) {
            first = v;
            count++;
        }
    *cut = (struct cut){CUT_AT, first, 1};
    return count > 1;
}

static bool run_parts(struct job *job, int *budget) {
    value_id in[JOB_OPERANDS];
    struct cut cut;
    if (--*budget < 0 || job->l->limit)
        return job_fail(job, "it is made of too many pieces"), false;
    if (job->scanned && several_scanned(job, &cut))
        return run_cut(job, &cut, budget);
    for (int i = 0; i < job->inputs; i++)
        if (!read_one(job, &job->in[i], 0, &in[i], &cut))
            return run_cut(job, &cut, budget);
    value_id value = job->value(job, in);
    if (job->why)
        return false;
    return finish(job, value, &cut) ? !job->why : run_cut(job, &cut, budget);
}

bool job_read(struct job *job, const struct address *address, value_id *value, struct cut *cut) {
    return read_one(job, address, 0, value, cut);
}

void job_write(struct job *job, const struct address *address, value_id value) {
    write_one(job, address, 0, value);
}

/* ---- what is not followed ----------------------------------------------------------------------
 */

static uint32_t add_opaque(struct lift *l, const char *what, const char *why) {
    for (size_t i = 0; i < l->opaques.len; i++) {
        struct opaque_row *row = &l->opaques.at[i];
        if (row->loc == l->loc && row->why == why && row->what == what) {
            row->times++;
            return (uint32_t)i;
        }
    }
    *vec_push(&l->opaques) = (struct opaque_row){what, why, l->loc, 1, false};
    return (uint32_t)l->opaques.len - 1;
}

/* A tile holds from now on something that only the instruction knows. */
static void lose_tile(struct lift *l, const struct nki_instr *instr, const struct nki_ap *ap,
                      uint32_t opaque) {
    struct job job = {.l = l, .instr = instr};
    struct shape shape = shape_of(l, ap);
    bool is_plain = job_begin(&job, &shape, 1) && !ap->indirect;
    struct address address = job_address(&job, ap, &shape);
    struct region region = region_of(&job, &address, 0);
    struct form form = form_number(region.offset);
    for (int v = 0; v < region.vars; v++) {
        struct form term = form_var(v, region.step[v]);
        is_plain &= form_add(&form, &term, 1) && (region.count[v] == 1 || region.step[v] > 0);
    }
    if (is_plain && same_width(&job, &address))
        lift_store_write(l, &region, make_opaque(l, opaque, &form));
    else
        lift_store_at(l, ap->storage, ap->offset)->is_broken = true;
}

void job_give_up(struct job *job) {
    struct lift *l = job->l;
    const struct nki_instr *instr = job->instr;
    const struct nki_op_row *row = nki_op_row((enum nki_op)instr->op);
    uint32_t opaque = add_opaque(l, row->name, job->why);
    struct form nowhere = form_number(0);
    for (int k = 0; k < row->n_params && k < instr->n_operands; k++)
        if (nki_role_writes(row->params[k].role) && is_tile(instr, k))
            lose_tile(l, instr, instr->operands[k].ap, opaque);
    lift_sums_lose(l, instr, make_opaque(l, opaque, &nowhere));
}

void job_run(struct job *job) {
    int budget = MOST_PARTS;
    if (!job->why && !run_parts(job, &budget))
        job_fail(job, "an operand lies in memory in a way that is not followed");
    if (job->why && !job->is_part)
        job_give_up(job);
}
