/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the allocation: the passes of the compilers in their order, and loops of which periods were
 * left out. */
#include "device/compile/private.h"

#include <stdlib.h>

/* Runs the passes in the order that the compilers run them. */
static void compile(struct allocation *allocation, uint32_t passes, bool *absent) {
    bool legacy = allocation->legacy;
    if (legacy && passes & PASS_BIT(RESIDENCY))
        allocation_find_resident_loads(allocation, absent);
    if (legacy && passes & PASS_BIT(PSUM_INPUTS))
        allocation_find_psum_temporaries(allocation);
    if (legacy && passes & PASS_BIT(RECOMPUTES))
        allocation_find_recomputed(allocation);
    if (passes & PASS_BIT(ZERO_FLAGS))
        allocation_find_zero_flags(allocation, absent);
    allocation->renames = legacy && passes & PASS_BIT(RENAMING);
    allocation->makes_descriptors =
        legacy && passes & PASS_BIT(DGE) && allocation->image->generation->dge_blocks > 0;
    allocation->packs = legacy && passes & PASS_BIT(PACKETS) && !allocation->makes_descriptors;
    allocation_choose_engines(allocation, passes & PASS_BIT(SHARED_COPIES), absent);
}

/* ---- loops of which periods were left out ---------------------------------------------------- */

static void hide(struct allocation *allocation, const struct nki_fold *fold, uint32_t periods) {
    size_t n = allocation->image->program->instrs.len;
    if (periods && !allocation->hides)
        allocation->hides = mem_alloc(n + 1, sizeof *allocation->hides);
    for (uint32_t i = fold->first; i < fold->first + periods * fold->length; i++)
        allocation->hides[i] = true;
}

/* The folds of the program, in as short periods as there are. */
static void find_parts(struct allocation *allocation, const struct hiding *hiding) {
    const struct nki_program *program = allocation->image->program;
    bool known = hiding && hiding->folds;
    allocation->is_foldable = true;
    allocation->folds = mem_alloc(program->folds.len + 1, sizeof *allocation->folds);
    if (known)
        memcpy(allocation->folds, hiding->folds, program->folds.len * sizeof *hiding->folds);
    for (size_t f = 0; f < program->folds.len && allocation->is_foldable && !known; f++) {
        allocation->folds[f] = program->folds.at[f];
        allocation->is_foldable = alike_fold(allocation->image, &program->folds.at[f]);
        if (allocation->is_foldable)
            allocation->folds[f] = alike_parts(allocation->image, &program->folds.at[f]);
    }
}

static void make_gaps(struct allocation *allocation, const struct hiding *hiding) {
    const struct nki_program *program = allocation->image->program;
    uint32_t gone = 0, cuts = 0;
    find_parts(allocation, hiding);
    for (size_t f = 0; f < program->folds.len; f++) {
        const struct nki_fold *fold = &allocation->folds[f];
        uint32_t less = hiding ? hiding->hidden[f] : 0;
        hide(allocation, fold, less);
        *vec_push(&allocation->gaps) = (struct gap){.first = fold->first - gone,
                                                    .length = fold->length,
                                                    .kept = fold->kept - less,
                                                    .left_out = fold->left_out + less,
                                                    .balance = cuts};
        gone += less * fold->length;
        cuts += fold->kept - less + 1;
    }
    for (uint32_t i = 0; i < cuts; i++)
        *vec_push(&allocation->balances) = (struct balance){0, 0};
}

/* Where the compiler chooses engines by how busy they are, the choices may never repeat. */
static bool balance_repeats(const struct allocation *allocation, const struct gap *gap) {
    const struct balance *last = &allocation->balances.at[gap->balance + gap->kept];
    for (uint32_t period = 1; 3 * period <= gap->kept; period++)
        if (last[0].vector_ns == last[-(int64_t)period].vector_ns &&
            last[0].scalar_ns == last[-(int64_t)period].scalar_ns)
            return true;
    return false;
}

/* Spills depend on all that comes; so do not leave anything out where there are any. */
static void end_gaps(struct allocation *allocation) {
    uint32_t r = 0;
    for (size_t s = 0; s < allocation->issues.len && allocation->gaps.len; s++)
        allocation->is_foldable &= allocation->issues.at[s].kind <= ISSUE_ABSENT;
    for (size_t g = 0; g < allocation->gaps.len; g++) {
        while (r < allocation->residences.len &&
               allocation->residences.at[r].first_user < allocation->gaps.at[g].first)
            r++;
        allocation->gaps.at[g].residence = r;
        allocation->is_foldable &= balance_repeats(allocation, &allocation->gaps.at[g]);
    }
}

/* The block whose memory a block has: its own, or that of a tile of an earlier round of a loop on
 * the device. */
static uint32_t taken_over(const struct device_image *image, uint32_t block) {
    uint32_t s = image->blocks[block].storage, again = image->program->storages.at[s]->again;
    return again ? image->block_base[again - 1] + block - image->block_base[s] : block;
}

static void list_operands(struct allocation *allocation) {
    const struct device_image *image = allocation->image;
    struct device_operand operands[DEVICE_MAX_OPERANDS];
    size_t n_instrs = image->program->instrs.len;
    allocation->operand_base = mem_alloc(n_instrs + 1, sizeof *allocation->operand_base);
    vec_reserve(&allocation->operands, 2 * n_instrs);
    for (size_t i = 0; i < n_instrs; i++) {
        size_t n = device_operands(image, i, operands);
        for (size_t k = 0; k < n; k++) {
            uint32_t first, last;
            device_ap_blocks(image->program, operands[k].ap, &first, &last);
            *vec_push(&allocation->operands) =
                (struct block_operand){.ap = operands[k].ap,
                                       .first = image->block_base[operands[k].ap->storage] + first,
                                       .count = last - first + 1,
                                       .is_dst = operands[k].is_dst,
                                       .is_src = operands[k].is_src,
                                       .is_index = operands[k].is_index};
        }
        allocation->operand_base[i + 1] = (uint32_t)allocation->operands.len;
    }
}

struct allocation *allocation_make(const struct device_image *image,
                                   const struct device_constants *table, uint32_t without) {
    return allocation_hiding(image, table, without, NULL);
}

struct allocation *allocation_hiding(const struct device_image *image,
                                     const struct device_constants *table, uint32_t without,
                                     const struct hiding *hiding) {
    struct allocation *allocation = mem_alloc(1, sizeof *allocation);
    allocation->image = image;
    allocation->table = table;
    allocation->legacy = image->program->dialect == NKI_DIALECT_LEGACY;
    allocation->reorders = allocation->legacy || !(without & PASS_BIT(REORDERS));
    allocation->alias = mem_alloc(image->n_blocks, sizeof *allocation->alias);
    for (uint32_t b = 0; b < image->n_blocks; b++)
        allocation->alias[b] = taken_over(image, b);
    list_operands(allocation);
    make_gaps(allocation, hiding);
    bool *absent = mem_alloc(image->program->instrs.len, sizeof *absent);
    compile(allocation, ~without, absent);
    bool may_spill =
        allocation->legacy || (!(without & PASS_BIT(SPILLS)) && device_image_spills(image));
    bool spills = may_spill && !walk_has_room(allocation);
    walk_program(allocation, absent, spills);
    end_gaps(allocation);
    free(absent);
    return allocation;
}

void allocation_free(struct allocation *allocation) {
    if (!allocation)
        return;
    vec_free(&allocation->operands);
    free(allocation->operand_base);
    vec_free(&allocation->issues);
    vec_free(&allocation->residences);
    vec_free(&allocation->uses);
    vec_free(&allocation->use_base);
    vec_free(&allocation->gaps);
    vec_free(&allocation->balances);
    free(allocation->hides);
    free(allocation->folds);
    free(allocation->alias);
    free(allocation->input_in_psum);
    free(allocation->again);
    free(allocation->engine);
    free(allocation);
}
