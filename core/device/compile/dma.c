/* SPDX-License-Identifier: Apache-2.0 */
/* A transfer's descriptors and how they load the DMA engines. There is one descriptor for each
 * partition and contiguous run, and one engine for every 8 descriptors (AWS Neuron DMA overview).
 * GpSimd writes one for each partition (foxl-ai/kiln: the packets counted of its expert kernel, and
 * what a row more costs its decoding kernel); the engines go over the runs all the same.
 * Of descriptors that the legacy compiler lays down, an engine takes short ones together.
 * This file does not know when a transfer runs. */
#include "device/compile/inner.h"

#include <math.h>

#define DESCRIPTORS_PER_ENGINE 8
#define DESCRIPTOR_MOST_BYTES 65536 /* a longer run is cut */
#define PACKED_LEAST_BYTES 512      /* nobody has seen shorter runs share a packet */

/* The elements that lie side by side at the inner end of an access pattern, and how many such runs
 * there are. On chip a run stays within a partition. */
static void runs_of(const struct nki_program *program, const struct nki_ap *ap, int64_t *run,
                    int64_t *runs) {
    bool on_chip = program->storages.at[ap->storage]->space != NKI_HBM;
    int64_t contiguous = 1;
    int d = ap->n_dims - 1;
    while (d >= (on_chip ? 1 : 0) && (ap->count[d] == 1 || ap->step[d] == contiguous)) {
        contiguous *= ap->count[d];
        d--;
    }
    *run = contiguous;
    *runs = MAX_OF(nki_ap_count(ap) / MAX_OF(contiguous, 1), 1);
}

static double descriptor_ns(double bytes, const struct device_constants *table) {
    return MAX_OF(table->dma_descriptor_ns + bytes * table->dma_byte_ns,
                  bytes * table->dma_sustained_byte_ns);
}

/* What a run takes of its engine: a descriptor, or its part of one that it shares. */
static double run_ns(const struct allocation *allocation, double bytes,
                     const struct device_constants *table) {
    double runs = allocation->packs && bytes >= PACKED_LEAST_BYTES
                      ? floor(table->dma_packet_bytes / bytes)
                      : 1;
    double alone = descriptor_ns(bytes, table);
    if (runs < 2)
        return alone;
    double packet = descriptor_ns(runs * bytes, table) + (runs - 1) * table->dma_run_ns;
    return MIN_OF(packet / runs, alone);
}

static struct transfer spread(const struct allocation *allocation, uint64_t descriptors,
                              double bytes_each, const struct device_constants *table) {
    const struct device_generation *generation = allocation->image->generation;
    struct transfer transfer = {.descriptors = descriptors,
                                .bytes = (uint64_t)((double)descriptors * bytes_each)};
    uint64_t engines = (descriptors + DESCRIPTORS_PER_ENGINE - 1) / DESCRIPTORS_PER_ENGINE;
    transfer.engines = (uint32_t)MIN_OF(engines, (uint64_t)generation->dma_engines);
    transfer.engines = MAX_OF(transfer.engines, 1u);
    double one = run_ns(allocation, bytes_each, table);
    transfer.engine_ns = cost_on_grid(ceil((double)descriptors / transfer.engines) * one);
    return transfer;
}

/* The engine that serves a partition: each serves the same number of them (AWS Neuron DMA
 * overview). */
static uint32_t engine_of(const struct device_generation *generation, uint32_t partition) {
    return partition * generation->dma_engines / NKI_PARTITIONS % generation->dma_engines;
}

enum nki_dge_mode transfer_dge(const struct device_image *image, size_t i) {
    const struct nki_instr *instr = &image->program->instrs.at[i];
    size_t k = instr->op == NKI_OP_DMA_COPY        ? NKI_DMA_COPY_dge_mode
               : instr->op == NKI_OP_DMA_TRANSPOSE ? NKI_DMA_TRANSPOSE_dge_mode
                                                   : instr->n_operands;
    bool asked = k < instr->n_operands && instr->operands[k].kind == NKI_OPERAND_ENUM;
    return asked ? (enum nki_dge_mode)instr->operands[k].i : NKI_DGE_UNKNOWN;
}

struct transfer transfer_of(const struct allocation *allocation, size_t i,
                            const struct device_constants *table) {
    const struct device_image *image = allocation->image;
    size_t n;
    const struct block_operand *operands = allocation_operands(allocation, i, &n);
    int64_t run = INT64_MAX, runs = 1;
    size_t bytes = 1;
    uint32_t partition = 0;
    int64_t partitions = 0; /* of tiles; 0: there is none */
    bool reads = false, writes = false;
    bool software = !allocation->legacy && transfer_dge(image, i) == NKI_DGE_SWDGE;
    const struct nki_program *program = image->program;
    bool transposes = program->instrs.at[i].op == NKI_OP_DMA_TRANSPOSE;
    for (size_t k = 0; k < n; k++) {
        const struct nki_ap *ap = operands[k].ap;
        software |= ap->indirect != NULL;
        if (program->storages.at[ap->storage]->space != NKI_HBM && !operands[k].is_index) {
            partition = ap->partition;
            partitions = MAX_OF(partitions, (int64_t)ap->count[0]);
        }
        /* A transpose is done on the way, so only the side that is read is cut into runs. */
        if (operands[k].is_index || (transposes && !operands[k].is_src)) {
            writes |= program->storages.at[ap->storage]->space == NKI_HBM && operands[k].is_dst;
            continue;
        }
        int64_t own_run, own_runs;
        runs_of(program, ap, &own_run, &own_runs);
        /* Repeated elements (step 0) cost descriptors on the writing side only. */
        run = MIN_OF(run, own_run);
        runs = MAX_OF(runs, own_runs);
        bytes = MAX_OF(bytes, dtype_bytes(ap->dtype));
        bool hbm = program->storages.at[ap->storage]->space == NKI_HBM;
        reads |= hbm && operands[k].is_src;
        writes |= hbm && operands[k].is_dst;
    }
    double each = (double)MAX_OF(run, 1) * (double)bytes;
    uint64_t descriptors = (uint64_t)runs;
    /* Every source is read. */
    if (program->instrs.at[i].op == NKI_OP_DMA_COMPUTE)
        descriptors *= MAX_OF(program->instrs.at[i].operands[NKI_DMA_COMPUTE_srcs].n, 1u);
    while (each > DESCRIPTOR_MOST_BYTES) {
        each /= 2;
        descriptors *= 2;
    }
    struct transfer transfer = spread(allocation, descriptors, each, table);
    if (transposes)
        transfer.engine_ns = cost_on_grid(
            transfer.engine_ns / 0.9); /* at most 90 % of the copy rate (Trainium2 guide) */
    transfer.reads_hbm = reads;
    transfer.writes_hbm = writes;
    transfer.software = software;
    transfer.written = partitions ? MIN_OF((uint64_t)partitions, descriptors) : descriptors;
    transfer.first = engine_of(image->generation, partition);
    return transfer;
}

struct transfer transfer_times(const struct allocation *allocation, const struct transfer *one,
                               uint32_t n, bool longer, const struct device_constants *table) {
    uint64_t descriptors = one->descriptors;
    double each = (double)one->bytes / (double)MAX_OF(descriptors, (uint64_t)1);
    if (longer && each * n <= DESCRIPTOR_MOST_BYTES)
        each *= n;
    else
        descriptors *= n;
    struct transfer transfer = spread(allocation, descriptors, each, table);
    transfer.first = one->first;
    transfer.reads_hbm = one->reads_hbm;
    transfer.writes_hbm = one->writes_hbm;
    transfer.software = one->software;
    transfer.written = one->written * (descriptors == one->descriptors ? 1 : n);
    return transfer;
}

struct transfer transfer_of_spill(const struct allocation *allocation, const struct issue *issue,
                                  const struct device_constants *table) {
    const struct device_image *image = allocation->image;
    const struct nki_storage *storage =
        image->program->storages.at[image->blocks[issue->block].storage];
    struct transfer transfer = spread(allocation, storage->partitions, (double)issue->bytes, table);
    transfer.reads_hbm = issue->kind == ISSUE_RELOAD;
    transfer.writes_hbm = issue->kind == ISSUE_SAVE;
    return transfer;
}
