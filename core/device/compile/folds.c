/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the instructions of a folded loop are alike in each of its periods, and in how short ones
 * they are. */
#include "device/compile/inner.h"

/* An instruction and the one a period later. */
struct pair {
    const struct device_image *image;
    const struct nki_fold *fold;
    const struct nki_instr *one, *next;
    uint32_t period; /* that `one` is in; the fold's `kept` is the one behind the gap */
};

static bool same_storage(const struct nki_storage *a, const struct nki_storage *b) {
    return a->space == b->space && a->dtype == b->dtype && a->partitions == b->partitions &&
           a->blocks == b->blocks && a->block_bytes == b->block_bytes && a->bytes == b->bytes &&
           a->zeroed == b->zeroed && a->address_partition == b->address_partition &&
           a->address_byte == b->address_byte && a->input == b->input && a->output == b->output;
}

/* Both use one tensor from before the loop, or each the same tile of its own period. */
static bool same_place(const struct pair *pair, const struct nki_ap *a, const struct nki_ap *b) {
    const struct nki_fold *fold = pair->fold;
    const struct nki_program *program = pair->image->program;
    if (a->storage == b->storage)
        return a->storage < fold->first_storage;
    uint32_t first = fold->first_storage + pair->period * fold->storages;
    const struct nki_storage *one = program->storages.at[a->storage];
    return a->storage >= first && a->storage < first + fold->storages &&
           b->storage == a->storage + fold->storages && one->space != NKI_HBM &&
           same_storage(one, program->storages.at[b->storage]);
}

/* Operands may move from period to period only in HBM that the program only reads or only
 * writes. */
static bool may_move(const struct pair *pair, const struct nki_ap *ap) {
    return pair->image->program->storages.at[ap->storage]->space == NKI_HBM &&
           !(pair->image->written[ap->storage] && pair->image->read[ap->storage]);
}

static bool same_pattern(const struct pair *pair, const struct nki_ap *a, const struct nki_ap *b) {
    if (a->indirect || b->indirect || a->dtype != b->dtype || a->n_dims != b->n_dims ||
        a->partition != b->partition || !same_place(pair, a, b))
        return false;
    for (int d = 0; d < a->n_dims; d++)
        if (a->step[d] != b->step[d] || a->count[d] != b->count[d])
            return false;
    return a->offset == b->offset || may_move(pair, a);
}

static bool same_operand(const struct pair *pair, const struct nki_operand *a,
                         const struct nki_operand *b) {
    if (a->kind != b->kind || a->n != b->n)
        return false;
    switch ((enum nki_operand_kind)a->kind) {
    case NKI_OPERAND_AP: return same_pattern(pair, a->ap, b->ap);
    case NKI_OPERAND_APS:
        for (uint32_t i = 0; i < a->n; i++)
            if (!same_pattern(pair, a->aps[i], b->aps[i]))
                return false;
        return true;
    case NKI_OPERAND_INTS:
        return a->n == 0 || memcmp(a->ints, b->ints, a->n * sizeof *a->ints) == 0;
    case NKI_OPERAND_REG: return false;
    case NKI_OPERAND_NONE: return true;
    default: return a->i == b->i;
    }
}

static bool same_instruction(const struct pair *pair) {
    const struct nki_instr *a = pair->one, *b = pair->next;
    if (a->op != b->op || a->engine != b->engine || a->n_operands != b->n_operands ||
        a->loc != b->loc || a->more->order_group != b->more->order_group || a->more->mask ||
        b->more->mask || a->more->mark || b->more->mark || a->more->n_after || b->more->n_after)
        return false;
    for (size_t k = 0; k < a->n_operands; k++)
        if (!same_operand(pair, &a->operands[k], &b->operands[k]))
            return false;
    return true;
}

static int64_t offset_of(const struct nki_operand *operand, uint32_t i) {
    return operand->kind == NKI_OPERAND_AP ? operand->ap->offset : operand->aps[i]->offset;
}

/* Operands move by the same step from each period to the next. Over the gap they move by one step
 * more for each period that was left out. */
static bool moves_evenly(const struct nki_program *program, const struct nki_fold *fold, size_t i) {
    const struct nki_instr *first = &program->instrs.at[i];
    for (size_t k = 0; k < first->n_operands; k++) {
        const struct nki_operand *operand = &first->operands[k];
        uint32_t n = operand->kind == NKI_OPERAND_AP ? 1 : operand->n;
        if (operand->kind != NKI_OPERAND_AP && operand->kind != NKI_OPERAND_APS)
            continue;
        for (uint32_t at = 0; at < n; at++) {
            int64_t start = offset_of(operand, at);
            int64_t step = offset_of(&first[fold->length].operands[k], at) - start;
            for (uint32_t p = 2; p <= fold->kept; p++) {
                int64_t steps = p + (p == fold->kept ? (int64_t)fold->left_out : 0), moved;
                if (__builtin_mul_overflow(steps, step, &moved) ||
                    offset_of(&first[p * fold->length].operands[k], at) - start != moved)
                    return false;
            }
        }
    }
    return true;
}

/* What comes after the loop's first period behind the gap may not use what earlier periods made. */
static bool ends_apart(const struct device_image *image, const struct nki_fold *fold) {
    const struct nki_program *program = image->program;
    uint32_t made = fold->first_storage + fold->kept * fold->storages;
    for (uint32_t i = fold->first + (fold->kept + 1) * fold->length; i < program->instrs.len; i++) {
        struct device_operand operands[DEVICE_MAX_OPERANDS];
        size_t n = device_operands(image, i, operands);
        for (size_t k = 0; k < n; k++)
            if (operands[k].ap->storage >= fold->first_storage && operands[k].ap->storage < made)
                return false;
    }
    return true;
}

/* Whether each kept part is like the one before it. In HBM, places may have moved. */
static bool are_parts_alike(const struct device_image *image, const struct nki_fold *part) {
    const struct nki_instr *instrs = image->program->instrs.at + part->first;
    for (uint32_t i = 0; i < part->kept * part->length; i++) {
        struct pair pair = {image, part, &instrs[i], &instrs[i + part->length], i / part->length};
        if (!same_instruction(&pair))
            return false;
    }
    return true;
}

struct nki_fold alike_parts(const struct device_image *image, const struct nki_fold *fold) {
    for (uint32_t n = fold->rounds; n > 1; n--) {
        struct nki_fold part = *fold;
        if (fold->rounds % n || fold->length % n || fold->storages % n)
            continue;
        part.rounds /= n;
        part.length /= n;
        part.storages /= n;
        part.kept *= n;
        part.left_out *= n;
        if (are_parts_alike(image, &part))
            return part;
    }
    return *fold;
}

bool alike_fold(const struct device_image *image, const struct nki_fold *fold) {
    if (fold->kept < 2 || (uint64_t)fold->first + (uint64_t)(fold->kept + 1) * fold->length >
                              image->program->instrs.len)
        return false;
    if (!are_parts_alike(image, fold))
        return false;
    for (uint32_t i = 0; i < fold->length; i++)
        if (!moves_evenly(image->program, fold, fold->first + i))
            return false;
    return ends_apart(image, fold);
}
