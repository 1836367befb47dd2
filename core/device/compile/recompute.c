/* SPDX-License-Identifier: Apache-2.0 */
/* What the compiler of the legacy dialect computes twice. When an activation writes its elements
 * and their sum, and both are used, each of the two results gets a stream of instructions of its
 * own, back to the matrix products it comes from. This file decides; issues.c carries it out. */
#include "device/compile/inner.h"

#include <stdlib.h>

#define NONE UINT32_MAX

/* The instructions that wrote what a block holds now, newest first. */
struct writers {
    uint32_t *newest;  /* per block */
    uint32_t *earlier; /* per instruction: the one that wrote the same block before it */
    bool *read;        /* per block: it was read since it was last written */
};

static void note_write(struct writers *writers, uint32_t block, uint32_t i) {
    writers->earlier[i] = writers->read[block] ? NONE : writers->newest[block];
    writers->newest[block] = i;
    writers->read[block] = false;
}

/* Whether it is an activation that writes two things, both of which are used later. */
static bool has_two_results(const struct allocation *allocation, uint32_t i) {
    const struct device_image *image = allocation->image;
    uint16_t op = image->program->instrs.at[i].op;
    if (op != NKI_OP_ACTIVATION && op != NKI_OP_ACTIVATION_REDUCE)
        return false;
    size_t n, used = 0;
    const struct block_operand *operands = allocation_operands(allocation, i, &n);
    for (size_t k = 0; k < n; k++)
        used += operands[k].is_dst && image->blocks[operands[k].first].last > i;
    return used > 1;
}

/* Marks the instructions that wrote the block, and those that wrote the PSUM which these read. */
static void mark_stream(struct allocation *allocation, const struct writers *writers,
                        uint32_t block) {
    const struct device_image *image = allocation->image;
    for (uint32_t w = writers->newest[block]; w != NONE; w = writers->earlier[w]) {
        if (image->engine[w] == NKI_ENGINE_DMA || allocation->again[w])
            continue;
        allocation->again[w] = true;
        size_t n;
        const struct block_operand *operands = allocation_operands(allocation, w, &n);
        for (size_t k = 0; k < n; k++)
            if (operands[k].is_src && operands[k].first != block &&
                allocation_is_in(image, operands[k].first, NKI_PSUM))
                mark_stream(allocation, writers, operands[k].first);
    }
}

static void mark_activation(struct allocation *allocation, const struct writers *writers,
                            uint32_t i) {
    size_t n;
    const struct block_operand *operands = allocation_operands(allocation, i, &n);
    const struct nki_ap *data =
        allocation->image->program->instrs.at[i].operands[NKI_ACTIVATION_data].ap;
    allocation->again[i] = true;
    for (size_t k = 0; k < n; k++)
        if (operands[k].ap == data)
            mark_stream(allocation, writers, operands[k].first);
}

void allocation_find_recomputed(struct allocation *allocation) {
    const struct device_image *image = allocation->image;
    size_t n_instrs = image->program->instrs.len;
    struct writers writers = {mem_alloc(image->n_blocks, sizeof *writers.newest),
                              mem_alloc(n_instrs, sizeof *writers.earlier),
                              mem_alloc(image->n_blocks, sizeof *writers.read)};
    memset(writers.newest, 0xff, image->n_blocks * sizeof *writers.newest);
    memset(writers.earlier, 0xff, n_instrs * sizeof *writers.earlier);
    allocation->again = mem_alloc(n_instrs + 1, sizeof *allocation->again);
    for (uint32_t i = 0; i < n_instrs; i++) {
        size_t n;
        const struct block_operand *operands = allocation_operands(allocation, i, &n);
        if (has_two_results(allocation, i))
            mark_activation(allocation, &writers, i);
        for (size_t k = 0; k < n; k++)
            for (uint32_t b = operands[k].first; b < operands[k].first + operands[k].count; b++)
                writers.read[b] |= operands[k].is_src && !operands[k].is_dst;
        for (size_t k = 0; k < n; k++)
            if (operands[k].is_dst && !allocation_is_in(image, operands[k].first, NKI_HBM))
                note_write(&writers, operands[k].first, i);
    }
    free(writers.newest);
    free(writers.earlier);
    free(writers.read);
}
