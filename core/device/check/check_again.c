/* SPDX-License-Identifier: Apache-2.0 */
/* Unrolled loops repeat their instructions, and checking each again takes long. An instruction has
 * passed when an earlier one of the same place passed and the two differ only in two things: which
 * tiles of one kind they use, and where in them or in HBM they read or write. It must also stay
 * within its tensors, and in PSUM as far from the start of a bank. */
#include "device/check/own.h"

static bool same_kind(const struct nki_storage *a, const struct nki_storage *b) {
    return a->space == b->space && a->dtype == b->dtype && a->partitions == b->partitions &&
           a->blocks == b->blocks && a->block_bytes == b->block_bytes && a->bytes == b->bytes &&
           a->address_partition == b->address_partition;
}

static bool same_shape(const struct nki_ap *a, const struct nki_ap *b) {
    if (a->dtype != b->dtype || a->n_dims != b->n_dims || a->partition != b->partition)
        return false;
    return (a->step == b->step && a->count == b->count) ||
           (memcmp(a->step, b->step, a->n_dims * sizeof *a->step) == 0 &&
            memcmp(a->count, b->count, a->n_dims * sizeof *a->count) == 0);
}

static bool stays_within(const struct check *c, const struct nki_ap *ap) {
    const int64_t most = (int64_t)1 << 40; /* above it sums may overflow */
    const struct nki_storage *storage = c->program->storages.at[ap->storage];
    int64_t low, high;
    if (ap->offset < 0 || ap->offset > most)
        return false;
    device_ap_span(c->program, ap, &low, &high);
    uint64_t bytes =
        storage->space == NKI_HBM ? storage->bytes : storage->block_bytes * storage->blocks;
    return low >= 0 && (high + 1) * (int64_t)dtype_bytes(ap->dtype) <= (int64_t)bytes;
}

/* Whether patterns of a tile in PSUM lie in the same way in their banks. */
static bool same_in_bank(const struct nki_storage *storage, const struct nki_ap *a,
                         const struct nki_ap *b) {
    int64_t bytes = (a->offset - b->offset) * (int64_t)dtype_bytes(a->dtype);
    return storage->block_bytes % PSUM_BANK_BYTES == 0 && bytes % PSUM_BANK_BYTES == 0;
}

/* Whether `ap` is as good as `old`, which passed. */
static bool is_like(const struct check *c, const struct nki_ap *ap, const struct nki_ap *old) {
    if (ap == old)
        return true;
    if (!ap || !old || ap->indirect || old->indirect || ap->storage >= c->program->storages.len ||
        !same_shape(ap, old))
        return false;
    const struct nki_storage *storage = c->program->storages.at[ap->storage];
    if (ap->storage != old->storage && !same_kind(storage, c->program->storages.at[old->storage]))
        return false;
    return ap->offset == old->offset ||
           (stays_within(c, ap) && (storage->space != NKI_PSUM || same_in_bank(storage, ap, old)));
}

static bool same_operand(const struct check *c, const struct nki_operand *a,
                         const struct nki_operand *b) {
    if (a->kind != b->kind || a->n != b->n)
        return false;
    switch ((enum nki_operand_kind)a->kind) {
    case NKI_OPERAND_AP: return is_like(c, a->ap, b->ap);
    case NKI_OPERAND_APS: return false;
    case NKI_OPERAND_INTS:
        return a->ints == b->ints || memcmp(a->ints, b->ints, a->n * sizeof *a->ints) == 0;
    default: return a->i == b->i;
    }
}

static bool same_instruction(const struct check *c, const struct nki_instr *a,
                             const struct nki_instr *b) {
    if (a->op != b->op || a->engine != b->engine || a->n_operands != b->n_operands ||
        a->more->mask || b->more->mask)
        return false;
    for (size_t k = 0; k < a->n_operands; k++)
        if (!same_operand(c, &a->operands[k], &b->operands[k]))
            return false;
    return true;
}

bool check_passed_before(struct check *c, size_t i) {
    const struct nki_instr *instr = &c->program->instrs.at[i];
    if (instr->loc >= c->program->locs.len || !c->passed[instr->loc])
        return false;
    size_t old = c->passed[instr->loc] - 1;
    if (!same_instruction(c, instr, &c->program->instrs.at[old]))
        return false;
    c->image->engine[i] = c->image->engine[old];
    c->image->kind[i] = c->image->kind[old];
    const struct nki_op_row *row = nki_op_row((enum nki_op)instr->op);
    for (size_t k = 0; k < instr->n_operands; k++)
        if (instr->operands[k].kind == NKI_OPERAND_AP && nki_role_writes(row->params[k].role))
            c->written[instr->operands[k].ap->storage] = true;
    return true;
}

void check_note_passed(struct check *c, size_t i) {
    uint32_t loc = c->program->instrs.at[i].loc;
    if (loc < c->program->locs.len)
        c->passed[loc] = (uint32_t)i + 1;
}
