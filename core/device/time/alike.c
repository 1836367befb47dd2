/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the periods of a folded loop are alike: first its instructions, then what is issued for
 * them. */
#include "device/time/run.h"

/* ---- instructions --------------------------------------------------------------------------- */

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
        b->more->mask)
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

/* ---- issues --------------------------------------------------------------------------------- */

/* How two lists of numbers may differ: those from `first` on by `by`, the others not at all. */
struct shifted {
    uint32_t first, by;
};
static bool same_numbers(const uint32_t *a, const uint32_t *b, size_t n, struct shifted shifted) {
    for (size_t i = 0; i < n; i++) {
        bool inside = (a[i] & ~DEPENDS_ORDER) >= shifted.first;
        if (b[i] != a[i] + (inside ? shifted.by : 0))
            return false;
    }
    return true;
}

/* The first residence that issue s or a later one brings in. */
static uint32_t residence_at(const struct allocation *allocation, uint32_t s) {
    uint32_t low = 0, high = (uint32_t)allocation->residences.len;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (allocation->residences.at[middle].first_user < s)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Issue s and the one `by` later are alike. The later one uses residences that lie `shifted`
 * further on. */
static bool same_issue(const struct schedule *schedule, const struct gap *gap, uint32_t s,
                       uint32_t by, struct shifted shifted) {
    const struct allocation *allocation = schedule->allocation;
    const struct depends *depends = schedule->depends;
    uint32_t t = s + by, n = depends->base[s + 1] - depends->base[s];
    if (allocation->issues.at[s].kind != allocation->issues.at[t].kind ||
        schedule->costs->of[s] != schedule->costs->of[t] ||
        depends->base[t + 1] - depends->base[t] != n ||
        !same_numbers(depends->producer.at + depends->base[s],
                      depends->producer.at + depends->base[t], n, (struct shifted){gap->first, by}))
        return false;
    const uint32_t *base = allocation->use_base.at;
    return base[s + 1] - base[s] == base[t + 1] - base[t] &&
           same_numbers(allocation->uses.at + base[s], allocation->uses.at + base[t],
                        base[s + 1] - base[s], shifted);
}

/* Issues behind the loop do not wait for periods before `to`. */
static bool waits_late(const struct schedule *schedule, const struct gap *gap, uint32_t to) {
    const struct depends *depends = schedule->depends;
    uint32_t end = gap->first + (gap->kept + 1) * gap->length;
    for (uint32_t s = end; s < depends->n; s++)
        for (uint32_t e = depends->base[s]; e < depends->base[s + 1]; e++) {
            uint32_t p = depends->producer.at[e] & ~DEPENDS_ORDER;
            if (p >= gap->first && p < gap->first + to * gap->length)
                return false;
        }
    return true;
}

bool alike_issues(const struct schedule *schedule, const struct gap *gap, uint32_t period,
                  uint32_t at) {
    const struct allocation *allocation = schedule->allocation;
    uint32_t by = period * gap->length, end = gap->first + (gap->kept + 1) * gap->length;
    struct shifted residences = {.first = residence_at(allocation, gap->first)};
    residences.by = residence_at(allocation, gap->first + by) - residences.first;
    for (uint32_t s = gap->first + (at - 2 * period) * gap->length; s + by < end; s++)
        if (!same_issue(schedule, gap, s, by, residences))
            return false;
    return waits_late(schedule, gap, at);
}
