/* SPDX-License-Identifier: Apache-2.0 */
/* What the compilers change without moving data: which instructions become a flag of another, which
 * buffers are renamed, and which engine runs what the kernel leaves open. This file decides;
 * walk.c carries it out. */
#include "device/compile/inner.h"

#include <math.h>
#include <stdlib.h>

/* ---- zeroing as a flag ---------------------------------------------------------------------- */

static bool zeroes_psum(const struct device_image *image, uint32_t i) {
    const struct nki_instr *instr = &image->program->instrs.at[device_like(image, i)];
    if (instr->op != NKI_OP_MEMSET || instr->more->mask ||
        instr->operands[NKI_MEMSET_dst].kind != NKI_OPERAND_AP)
        return false;
    const struct nki_operand *value = &instr->operands[NKI_MEMSET_value];
    bool zero = (value->kind == NKI_OPERAND_INT && value->i == 0) ||
                (value->kind == NKI_OPERAND_FLOAT && value->f == 0);
    const struct nki_ap *dst = instr->operands[NKI_MEMSET_dst].ap;
    return zero && image->program->storages.at[dst->storage]->space == NKI_PSUM;
}

static bool is_product(const struct device_image *image, uint32_t i) {
    uint16_t op = image->program->instrs.at[device_like(image, i)].op;
    return op == NKI_OP_NC_MATMUL || op == NKI_OP_NC_MATMUL_MX;
}

/* Goes from the end to the start, and keeps for each block the instruction that touches it next. */
void allocation_find_zero_flags(const struct allocation *allocation, bool *absent) {
    const struct device_image *image = allocation->image;
    uint32_t *next = mem_alloc(image->n_blocks, sizeof *next);
    memset(next, 0xff, image->n_blocks * sizeof *next);
    for (uint32_t i = (uint32_t)image->program->instrs.len; i-- > 0;) {
        size_t n;
        const struct block_operand *operands = allocation_operands(allocation, i, &n);
        bool flag = n > 0 && zeroes_psum(image, i);
        for (size_t k = 0; k < n; k++)
            for (uint32_t b = operands[k].first; b < operands[k].first + operands[k].count; b++) {
                flag &= next[b] != DEVICE_NEVER && is_product(image, next[b]);
                next[b] = i;
            }
        absent[i] |= flag;
    }
    free(next);
}

/* ---- renaming ------------------------------------------------------------------------------- */

/* Whether instruction i is a load from HBM that fills the whole of one block of SBUF. Then nothing
 * is left of what was there. */
bool allocation_renames(const struct allocation *allocation, uint32_t i) {
    const struct nki_program *program = allocation->image->program;
    if (!allocation->renames)
        return false;
    const struct nki_instr *instr = &program->instrs.at[device_like(allocation->image, i)];
    if (instr->op != NKI_OP_DMA_COPY || instr->more->mask)
        return false;
    size_t n;
    const struct block_operand *operands = allocation_operands(allocation, i, &n);
    const struct nki_ap *dst = instr->operands[NKI_DMA_COPY_dst].ap;
    const struct nki_storage *to = program->storages.at[dst->storage];
    const struct nki_operand *src = &instr->operands[NKI_DMA_COPY_src];
    return src->kind == NKI_OPERAND_AP && !dst->indirect && operands[0].count == 1 &&
           program->storages.at[src->ap->storage]->space == NKI_HBM && to->space == NKI_SBUF &&
           (uint64_t)nki_ap_free(dst) * dtype_bytes(dst->dtype) == to->block_bytes &&
           (uint32_t)dst->count[0] == to->partitions;
}

/* A product that is added to nothing. */
static bool begins_sum(const struct nki_instr *instr) {
    if (instr->op != NKI_OP_NC_MATMUL)
        return false;
    const struct nki_operand *accumulate = &instr->operands[NKI_NC_MATMUL_accumulate];
    return accumulate->kind == NKI_OPERAND_BOOL && !accumulate->i;
}

bool allocation_takes_turns(const struct allocation *allocation, uint32_t i) {
    const struct nki_program *program = allocation->image->program;
    const struct nki_instr *instr = &program->instrs.at[i];
    const struct compile_change *change = allocation->change;
    if (!change || change->kind != COMPILE_CHANGE_BUFFER ||
        (change->op != NKI_OP_COUNT && instr->op != change->op) || instr->more->mask ||
        instr->loc >= program->locs.len)
        return false;
    const struct nki_loc *loc = &program->locs.at[instr->loc];
    size_t n;
    const struct block_operand *operands = allocation_operands(allocation, i, &n);
    if (loc->file != change->file || loc->line != change->line || !n || !operands[0].is_dst ||
        (operands[0].is_src && !begins_sum(instr)) || operands[0].count != 1)
        return false;
    const struct nki_ap *dst = operands[0].ap;
    const struct nki_storage *to = program->storages.at[dst->storage];
    return to->space != NKI_HBM && !dst->indirect &&
           (uint64_t)nki_ap_free(dst) * dtype_bytes(dst->dtype) == to->block_bytes &&
           (uint32_t)dst->count[0] == to->partitions;
}

/* ---- engines -------------------------------------------------------------------------------- */

/* How far back the compiler balances. What is further back belongs to another phase of the
 * kernel. */
#define BALANCE_NS 20000.0

static void add_busy(struct balance *balance, enum nki_engine engine, double ns) {
    double *busy = engine == NKI_ENGINE_VECTOR ? &balance->vector_ns : &balance->scalar_ns;
    *busy += ns;
    double least = MIN_OF(balance->vector_ns, balance->scalar_ns);
    balance->vector_ns = MIN_OF(balance->vector_ns - least, BALANCE_NS);
    balance->scalar_ns = MIN_OF(balance->scalar_ns - least, BALANCE_NS);
}

/* A copy out of PSUM that names no engine. Sharing copies within SBUF as well, or scalings that
 * Scalar could do, made rows of both dialects worse (gqa, decode attention, experts). */
static bool leaves_psum(const struct device_image *image, uint32_t i) {
    const struct nki_instr *instr = &image->program->instrs.at[device_like(image, i)];
    const struct nki_operand *src = &instr->operands[NKI_TENSOR_COPY_src];
    return instr->op == NKI_OP_TENSOR_COPY && instr->engine == NKI_ENGINE_UNKNOWN &&
           src->kind == NKI_OPERAND_AP && dtype_is_float(src->ap->dtype) &&
           image->program->storages.at[src->ap->storage]->space == NKI_PSUM;
}

/* What instructions of a kind take on Vector and on Scalar, with and without an input in PSUM; one
 * more than that, 0: not known yet. */
struct estimate {
    double more[4];
};

/* In whole ns: nobody knows the compiler's estimate better. Only so do its choices in a long loop
 * repeat after some time, and the loop can be folded. */
static double busy_on(const struct allocation *allocation, struct estimate *estimates, uint32_t i,
                      enum nki_engine engine) {
    struct cost_place place = {engine, allocation->input_in_psum && allocation->input_in_psum[i]};
    double *more = &estimates[allocation->image->kind[i]]
                        .more[(engine == NKI_ENGINE_VECTOR ? 2 : 0) + place.input_in_psum];
    if (*more <= 0)
        *more =
            1 + rint(cost_of(allocation->image->program, i, place, allocation->table).interval_ns);
    return *more - 1;
}

static enum nki_engine less_busy(const struct allocation *allocation, struct estimate *estimates,
                                 uint32_t i, const struct balance *balance) {
    double vector = balance->vector_ns + busy_on(allocation, estimates, i, NKI_ENGINE_VECTOR);
    double scalar = balance->scalar_ns + busy_on(allocation, estimates, i, NKI_ENGINE_SCALAR);
    return vector < scalar ? NKI_ENGINE_VECTOR : NKI_ENGINE_SCALAR;
}

/* Where instruction i begins a period of a folded loop. */
static void note_balance(struct allocation *allocation, uint32_t i, const struct balance *balance) {
    for (size_t f = 0; f < allocation->gaps.len; f++) {
        const struct nki_fold *fold = &allocation->folds[f];
        const struct gap *gap = &allocation->gaps.at[f];
        uint32_t end = fold->first + fold->kept * fold->length, kept = gap->kept * gap->length;
        if (i + kept >= end && i <= end && (end - i) % fold->length == 0)
            allocation->balances.at[gap->balance + gap->kept - (end - i) / fold->length] = *balance;
    }
}

/* One past the last copy whose engine is to be chosen: how busy engines are matters until then. */
static uint32_t choices_end(const struct allocation *allocation) {
    uint32_t end = (uint32_t)allocation->image->program->instrs.len;
    while (end &&
           (allocation_hides(allocation, end - 1) || !leaves_psum(allocation->image, end - 1)))
        end--;
    return end;
}

void allocation_choose_engines(struct allocation *allocation, bool shares, const bool *absent) {
    const struct device_image *image = allocation->image;
    size_t n = image->program->instrs.len;
    struct balance balance = {0};
    allocation->engine = mem_alloc(n + 1, sizeof *allocation->engine);
    memcpy(allocation->engine, image->engine, n);
    /* On trn1, Vector and Scalar cannot reach PSUM at once (architecture guide). */
    bool chooses = shares && image->generation->generation != NKI_GEN2;
    uint32_t end = chooses ? choices_end(allocation) : 0;
    struct estimate *estimates = mem_alloc(end ? image->kinds.len : 1, sizeof *estimates);
    for (uint32_t i = 0; i < end; i++) {
        if (allocation_hides(allocation, i))
            continue;
        note_balance(allocation, i, &balance);
        if (leaves_psum(image, i))
            allocation->engine[i] = (uint8_t)less_busy(allocation, estimates, i, &balance);
        enum nki_engine engine = (enum nki_engine)allocation->engine[i];
        if ((engine == NKI_ENGINE_VECTOR || engine == NKI_ENGINE_SCALAR) && !absent[i])
            add_busy(&balance, engine, busy_on(allocation, estimates, i, engine));
    }
    free(estimates);
}
