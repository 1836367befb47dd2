/* SPDX-License-Identifier: Apache-2.0 */
/* Private to this folder: an instruction as loops over variables, each operand an address in them.
 */
#ifndef HONE_LIFT_STEP_H
#define HONE_LIFT_STEP_H

#include "lift/private.h"

#define JOB_OPERANDS 6

struct address {
    uint32_t storage;
    enum dtype dtype;
    int64_t offset, step[LIFT_DIMS];
    const struct nki_indirect *indirect;
};
struct argument {
    int operand; /* in job->in; -1: the number */
    double number;
};
struct job;
/* Makes the value of one element of dst from the values of the operands. */
typedef value_id job_fn(struct job *job, const value_id *in);

struct job {
    struct lift *l;
    const struct nki_instr *instr;
    int vars;
    int64_t count[LIFT_DIMS];
    uint32_t reduced; /* bit v: the result is a reduction over variable v */
    uint32_t scanned; /* bit v: an element follows from the one before along variable v; arg[0] is
                       * what comes before the first */
    struct address in[JOB_OPERANDS];
    int inputs;
    struct argument arg[4];
    struct form place; /* where an element is, for patterns and masks */
    struct form mask[4];
    int masks;
    struct address out;    /* elements, over all variables */
    struct address result; /* of the reduction, over those that are left */
    bool has_out, has_result;
    struct address table; /* of which an index chooses rows */
    bool has_table;
    bool adds; /* the result is added to what is there */
    enum nki_func reduce;
    bool is_average, negates;
    bool is_part; /* of what an instruction does: the others become opaque with it */
    job_fn *value;
    const char *why; /* it could not be done */
};

/* Dimensions of an operand with steps in elements of its storage, outermost first. */
struct shape {
    int dims;
    int64_t count[2 * NKI_MAX_DIMS], step[2 * NKI_MAX_DIMS];
};
struct shape shape_of(const struct lift *l, const struct nki_ap *ap);
void shape_put(struct shape *shape, int64_t count, int64_t step);
/* A job over the dimensions that all these have in common: false, with job->why, where there are
 * none. */
bool job_begin(struct job *job, const struct shape *shapes, int count);
struct address job_address(const struct job *job, const struct nki_ap *ap,
                           const struct shape *shape);
/* Operand k as a number or as a tile with one element for each of `partitions`, or one for all;
 * `each` elements of dst are in a partition. */
struct argument job_argument(struct job *job, int k, double missing, int64_t partitions);
value_id job_take(struct job *job, struct argument argument, const value_id *in);
/* A job over the elements of dst and of operands that stream; false: it is opaque now. */
bool job_stream(struct job *job, struct lift *l, const struct nki_instr *instr, const int *streams,
                int count);
/* Does it, in parts where operands lie in several pieces. */
void job_run(struct job *job);
/* An operand over the job's variables; false: it lies in several pieces, or job->why. */
bool job_read(struct job *job, const struct address *address, value_id *value, struct cut *cut);
void job_write(struct job *job, const struct address *address, value_id value);
void job_fail(struct job *job, const char *why);
/* The instruction's destinations hold from now on something that only it knows. */
void job_give_up(struct job *job);
/* step_sums.c: a job over dst, and the reduction of its elements that the instruction asks for;
 * `begun`: job_stream did not fail. */
void job_run_reducing(struct job *job, bool begun);
/* What the instruction's engine added up is not known any more. */
void lift_sums_lose(struct lift *l, const struct nki_instr *instr, value_id opaque);

/* What one name of an instruction does. */
typedef void step_fn(struct lift *l, const struct nki_instr *instr);
step_fn step_stream, step_reduce, step_partition_reduce, step_place, step_memset, step_activation,
    step_dma, step_dma_sum, step_scan, step_cumulative, step_select, step_range, step_statistics,
    step_aggregate;
/* The same, where `from` is the operand whose rows are chosen by index. */
void step_gather(struct lift *l, const struct nki_instr *instr, int from);

static inline bool has(const struct nki_instr *instr, int k) {
    return instr->operands[k].kind != NKI_OPERAND_NONE;
}
static inline bool is_tile(const struct nki_instr *instr, int k) {
    return instr->operands[k].kind == NKI_OPERAND_AP;
}
double instr_number(const struct nki_instr *instr, int k, double missing);
enum nki_func instr_func(const struct nki_instr *instr, int k, enum nki_func missing);
bool instr_flag(const struct nki_instr *instr, int k);

#endif
