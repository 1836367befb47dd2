/* SPDX-License-Identifier: Apache-2.0 */
/* What the legacy compiler keeps on chip: loads that repeat stay resident, and results of the
 * Scalar engine wait in PSUM. This file decides; allocation.c carries it out. */
#include "device/compile/inner.h"

#include <stdlib.h>

/* The share of SBUF that repeated loads and what is live beside them may fill together. In
 * NKIBench's matmul_add_rmsnorm on trn1, which reads 98 MB, weights of 128 KiB a partition stay
 * resident. */
#define RESIDENT_SHARE 1.0

/* ---- loads that repeat ---------------------------------------------------------------------- */

/* One distinct piece of HBM that a line of the kernel loads, perhaps many times. */
struct piece {
    uint32_t site, first_block, first, last, loads;
};
struct site {
    uint64_t repeated; /* bytes per partition of loads that could be left out */
};
struct residency {
    struct allocation *allocation;
    uint32_t *writes; /* per block: instructions that write it */
    struct map keys;  /* access pattern -> piece number + 1 */
    VEC(struct piece) pieces;
    VEC(struct site) sites;
    struct map site_of; /* loc -> site number + 1 */
    uint32_t *piece_of; /* per instruction: piece number + 1; 0: not a plain load */
    uint64_t *usage;    /* live SBUF bytes per partition, per group of instructions */
};
#define GROUP 64

static void count_writes(struct residency *r) {
    const struct device_image *image = r->allocation->image;
    for (size_t i = 0; i < image->program->instrs.len; i++) {
        size_t n;
        const struct block_operand *operands = allocation_operands(r->allocation, i, &n);
        for (size_t k = 0; k < n && operands[k].is_dst; k++)
            for (uint32_t b = 0; b < operands[k].count; b++)
                r->writes[operands[k].first + b]++;
    }
}

/* Whether instruction i loads one whole block from HBM that nothing writes, and is the only one to
 * write the block. */
static bool is_plain_load(const struct residency *r, uint32_t i, uint32_t *block) {
    const struct device_image *image = r->allocation->image;
    const struct nki_instr *instr = &image->program->instrs.at[i];
    if (instr->op != NKI_OP_DMA_COPY || instr->more->mask)
        return false;
    size_t n;
    const struct block_operand *operands = allocation_operands(r->allocation, i, &n);
    if (!allocation_is_in(image, operands[0].first, NKI_SBUF)) /* a store, mostly */
        return false;
    const struct nki_ap *dst = instr->operands[NKI_DMA_COPY_dst].ap;
    const struct nki_ap *src = instr->operands[NKI_DMA_COPY_src].ap;
    if (dst->indirect || src->indirect || image->written[src->storage])
        return false;
    const struct nki_storage *from = image->program->storages.at[src->storage];
    const struct nki_storage *to = image->program->storages.at[dst->storage];
    *block = operands[0].first;
    return from->space == NKI_HBM && operands[0].count == 1 && r->writes[*block] == 1 &&
           (uint64_t)nki_ap_free(dst) * dtype_bytes(dst->dtype) == to->block_bytes &&
           (uint32_t)dst->count[0] == to->partitions;
}

static uint32_t number_of(struct map *map, const void *key, size_t size, uint32_t next) {
    struct map_entry *entry = map_put(map, (struct str){key, size});
    if (!entry->value)
        entry->value = (void *)(uintptr_t)(next + 1);
    return (uint32_t)(uintptr_t)entry->value - 1;
}

static void note_load(struct residency *r, uint32_t i, uint32_t block) {
    const struct device_image *image = r->allocation->image;
    const struct nki_instr *instr = &image->program->instrs.at[i];
    const struct nki_ap *dst = instr->operands[NKI_DMA_COPY_dst].ap;
    const struct nki_ap *src = instr->operands[NKI_DMA_COPY_src].ap;
    int64_t key[2 * NKI_MAX_DIMS + 8] = {instr->loc, src->storage, src->offset,   src->n_dims,
                                         dst->dtype, src->dtype,   dst->count[0], nki_ap_free(dst)};
    for (int d = 0; d < src->n_dims; d++) {
        key[8 + 2 * d] = src->step[d];
        key[9 + 2 * d] = src->count[d];
    }
    uint32_t site = number_of(&r->site_of, &instr->loc, sizeof instr->loc, (uint32_t)r->sites.len);
    if (site == r->sites.len)
        *vec_push(&r->sites) = (struct site){0};
    uint32_t piece = number_of(&r->keys, key, sizeof key, (uint32_t)r->pieces.len);
    uint64_t bytes = device_block_bytes(image, block);
    if (piece == r->pieces.len)
        *vec_push(&r->pieces) = (struct piece){.site = site, .first_block = block, .first = i};
    else
        r->sites.at[site].repeated += bytes;
    r->pieces.at[piece].loads++;
    r->pieces.at[piece].last = MAX_OF(r->pieces.at[piece].last, image->blocks[block].last);
    r->piece_of[i] = piece + 1;
}

static void add_usage(struct residency *r, uint32_t first, uint32_t last, int64_t bytes) {
    for (uint32_t g = first / GROUP; g <= last / GROUP; g++)
        r->usage[g] = (uint64_t)((int64_t)r->usage[g] + bytes);
}

/* What is live besides the loads in question: the most in each group of instructions. */
static void measure_usage(struct residency *r) {
    const struct device_image *image = r->allocation->image;
    uint32_t n = (uint32_t)image->program->instrs.len;
    int64_t *change = mem_alloc(n + 1, sizeof *change), live = 0;
    for (uint32_t b = 0; b < image->n_blocks; b++) {
        const struct device_block *block = &image->blocks[b];
        bool load = block->first_write != DEVICE_NEVER && r->piece_of[block->first_write];
        if (!allocation_is_in(image, b, NKI_SBUF) || block->first == DEVICE_NEVER || load)
            continue;
        change[block->first] += (int64_t)device_block_bytes(image, b);
        change[block->last + 1] -= (int64_t)device_block_bytes(image, b);
    }
    for (uint32_t i = 0; i < n; i++) {
        live += change[i];
        r->usage[i / GROUP] = MAX_OF(r->usage[i / GROUP], (uint64_t)live);
    }
    free(change);
}

static void keep(struct residency *r, const struct piece *piece, int64_t sign) {
    uint64_t bytes = device_block_bytes(r->allocation->image, piece->first_block);
    add_usage(r, piece->first, piece->last, (int64_t)bytes * sign);
}

/* Keeps all pieces of a site resident if they fit beside what is live; otherwise none of them. */
static bool keep_site(struct residency *r, uint32_t site) {
    uint64_t most =
        (uint64_t)((double)r->allocation->image->generation->sbuf_partition_bytes * RESIDENT_SHARE);
    bool fits = true;
    size_t done = 0;
    for (; fits && done < r->pieces.len; done++) {
        const struct piece *piece = &r->pieces.at[done];
        if (piece->site != site || piece->loads < 2)
            continue;
        keep(r, piece, 1);
        for (uint32_t g = piece->first / GROUP; g <= piece->last / GROUP; g++)
            fits &= r->usage[g] <= most;
    }
    if (fits)
        return true;
    for (size_t p = 0; p < done; p++)
        if (r->pieces.at[p].site == site && r->pieces.at[p].loads >= 2)
            keep(r, &r->pieces.at[p], -1);
    return false;
}

static void apply_residency(struct residency *r, bool *resident, const bool *kept) {
    const struct device_image *image = r->allocation->image;
    for (uint32_t i = 0; i < image->program->instrs.len; i++) {
        if (!r->piece_of[i])
            continue;
        const struct piece *piece = &r->pieces.at[r->piece_of[i] - 1];
        if (!kept[piece->site] || piece->first == i)
            continue;
        size_t n;
        uint32_t block = allocation_operands(r->allocation, i, &n)->first;
        r->allocation->alias[block] = piece->first_block;
        resident[i] = true;
    }
}

/* The next site to try: those that save most come first. */
static uint32_t next_site(const struct residency *r, const bool *tried) {
    uint32_t best = UINT32_MAX;
    for (uint32_t s = 0; s < r->sites.len; s++)
        if (!tried[s] && r->sites.at[s].repeated &&
            (best == UINT32_MAX || r->sites.at[s].repeated > r->sites.at[best].repeated))
            best = s;
    return best;
}

static bool is_in_fold(const struct nki_program *program, uint32_t i) {
    for (size_t f = 0; f < program->folds.len; f++) {
        const struct nki_fold *fold = &program->folds.at[f];
        if (i >= fold->first && i < fold->first + (fold->kept + 1) * fold->length)
            return true;
    }
    return false;
}

/* Whether the same would stay resident if nothing had been left out of loops: all that repeats
 * does, and nothing of it moves on from period to period. */
static bool holds_when_unfolded(const struct residency *r, const bool *kept) {
    const struct nki_program *program = r->allocation->image->program;
    for (size_t s = 0; s < r->sites.len && program->folds.len; s++)
        if (r->sites.at[s].repeated && !kept[s])
            return false;
    for (size_t p = 0; p < r->pieces.len && program->folds.len; p++)
        if (r->sites.at[r->pieces.at[p].site].repeated &&
            is_in_fold(program, r->pieces.at[p].first))
            return false;
    return true;
}

void allocation_find_resident_loads(struct allocation *allocation, bool *resident) {
    const struct device_image *image = allocation->image;
    size_t n = image->program->instrs.len;
    struct residency r = {.allocation = allocation};
    r.writes = mem_alloc(image->n_blocks, sizeof *r.writes);
    r.piece_of = mem_alloc(n, sizeof *r.piece_of);
    r.usage = mem_alloc(n / GROUP + 1, sizeof *r.usage);
    count_writes(&r);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t block;
        if (!allocation_hides(allocation, i) && is_plain_load(&r, i, &block))
            note_load(&r, i, block);
    }
    measure_usage(&r);
    bool *tried = mem_alloc(r.sites.len, sizeof *tried);
    bool *kept = mem_alloc(r.sites.len, sizeof *kept);
    for (uint32_t s; (s = next_site(&r, tried)) != UINT32_MAX;) {
        tried[s] = true;
        kept[s] = keep_site(&r, s);
    }
    apply_residency(&r, resident, kept);
    allocation->is_foldable &= holds_when_unfolded(&r, kept);
    free(tried);
    free(kept);
    free(r.writes);
    free(r.piece_of);
    free(r.usage);
    map_free(&r.keys);
    map_free(&r.site_of);
    vec_free(&r.pieces);
    vec_free(&r.sites);
}

/* ---- intermediates in PSUM ------------------------------------------------------------------ */

struct temporary {
    uint32_t writer, reader; /* instruction number + 1 */
    bool plain;              /* written once, read once */
};

static void note_temporary(struct temporary *temporary, uint32_t i, bool writes) {
    uint32_t *by = writes ? &temporary->writer : &temporary->reader;
    temporary->plain = *by == 0 && (temporary->plain || (!temporary->writer && !temporary->reader));
    *by = i + 1;
}

static bool takes_pair(enum nki_op op) {
    return op == NKI_OP_TENSOR_TENSOR || op == NKI_OP_SCALAR_TENSOR_TENSOR;
}

/* The compiler keeps some results of the Scalar engine in PSUM, where they do not compete with the
 * other input: those that fit a PSUM bank and that a single instruction reads, as one of two inputs
 * on the Vector engine. NKIBench's adamw on trn1 shows it. It writes PSUM although it multiplies no
 * matrices, and its Vector engine is active for less time than its instructions take from SBUF
 * alone. */
static bool is_psum_temporary(const struct device_image *image, uint32_t block,
                              const struct temporary *temporary) {
    if (!temporary->plain || !temporary->writer || !temporary->reader ||
        !allocation_is_in(image, block, NKI_SBUF))
        return false;
    uint64_t bank = image->generation->psum_partition_bytes / image->generation->psum_banks;
    uint32_t reader = temporary->reader - 1;
    return device_block_bytes(image, block) <= bank && device_block_bytes(image, block) > 4 &&
           image->engine[temporary->writer - 1] == NKI_ENGINE_SCALAR &&
           image->engine[reader] == NKI_ENGINE_VECTOR &&
           takes_pair((enum nki_op)image->program->instrs.at[reader].op);
}

void allocation_find_psum_temporaries(struct allocation *allocation) {
    const struct device_image *image = allocation->image;
    struct temporary *all = mem_alloc(image->n_blocks, sizeof *all);
    allocation->input_in_psum =
        mem_alloc(image->program->instrs.len, sizeof *allocation->input_in_psum);
    for (uint32_t i = 0; i < image->program->instrs.len; i++) {
        size_t n;
        const struct block_operand *operands = allocation_operands(allocation, i, &n);
        for (size_t k = 0; k < n; k++)
            for (uint32_t b = 0; b < operands[k].count; b++)
                note_temporary(&all[operands[k].first + b], i, operands[k].is_dst);
    }
    for (uint32_t b = 0; b < image->n_blocks; b++)
        if (is_psum_temporary(image, b, &all[b]))
            allocation->input_in_psum[all[b].reader - 1] = true;
    free(all);
}
