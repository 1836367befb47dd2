/* SPDX-License-Identifier: Apache-2.0 */
/* What executing a program will take, found without executing it: the least time, and the most
 * memory at once. With it a caller refuses what will not fit before any of it is spent. */
#include "device/exec/run.h"

#include <stdlib.h>

/* The fastest processors do this much in one thread. So nothing is refused that could have been
 * done. */
#define ELEMENTS_PER_S 1e9
#define MACS_PER_S 5e10

static double elements_of(const struct nki_instr *instr) {
    double most = 0;
    for (size_t k = 0; k < instr->n_operands; k++)
        if (instr->operands[k].kind == NKI_OPERAND_AP)
            most = MAX_OF(most, (double)nki_ap_count(instr->operands[k].ap));
    return most;
}

static double seconds_of(const struct nki_instr *instr) {
    double seconds = elements_of(instr) / ELEMENTS_PER_S;
    if (instr->op == NKI_OP_NC_MATMUL &&
        instr->operands[NKI_NC_MATMUL_stationary].kind == NKI_OPERAND_AP &&
        instr->operands[NKI_NC_MATMUL_moving].kind == NKI_OPERAND_AP)
        seconds += (double)nki_ap_count(instr->operands[NKI_NC_MATMUL_moving].ap) *
                   (double)nki_ap_free(instr->operands[NKI_NC_MATMUL_stationary].ap) / MACS_PER_S;
    return seconds;
}

/* The place that takes most of the time. Places are few, so there is one sum for each. */
static void find_time(const struct nki_program *program, struct device_work *work) {
    double *sums = mem_alloc(program->locs.len + 1, sizeof *sums);
    for (size_t i = 0; i < program->instrs.len; i++) {
        const struct nki_instr *instr = &program->instrs.at[i];
        double seconds = seconds_of(instr);
        work->seconds += seconds;
        if (instr->loc < program->locs.len)
            sums[instr->loc] += seconds;
    }
    for (size_t i = 0; i < program->locs.len; i++)
        if (sums[i] > sums[work->slow_loc])
            work->slow_loc = (uint32_t)i;
    free(sums);
}

static uint64_t bytes_of(const struct device_image *image, uint32_t storage) {
    const struct nki_storage *at = image->program->storages.at[storage];
    if (at->space == NKI_HBM)
        return at->bytes;
    return at->block_bytes * (image->whole[storage] ? at->blocks : 1) * at->partitions;
}

/* Memory comes with a block's first use and goes after its last. What is returned stays. */
static void find_memory(const struct device_image *image, struct device_work *work) {
    const struct nki_program *program = image->program;
    size_t n = program->instrs.len;
    int64_t *change = mem_alloc(n + 2, sizeof *change);
    for (uint32_t b = 0; b < image->n_blocks; b++) {
        const struct device_block *block = &image->blocks[b];
        const struct nki_storage *storage = program->storages.at[block->storage];
        bool given = storage->input >= 0 && !image->written[block->storage];
        bool whole = image->whole[block->storage] && b != image->block_base[block->storage];
        if (block->first == DEVICE_NEVER || given || whole)
            continue;
        int64_t bytes = (int64_t)bytes_of(image, block->storage);
        change[block->first] += bytes;
        if (storage->output < 0 && !image->whole[block->storage])
            change[block->last + 1] -= bytes;
    }
    int64_t live = 0;
    for (size_t i = 0; i < n; i++) {
        live += change[i];
        if (live > 0 && (uint64_t)live > work->bytes) {
            work->bytes = (uint64_t)live;
            work->large_loc = program->instrs.at[i].loc;
        }
    }
    free(change);
}

void device_expect(const struct device_image *image, struct device_work *work) {
    *work = (struct device_work){0};
    find_time(image->program, work);
    find_memory(image, work);
}
