/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the plan: life spans of what is on chip, loads the legacy compiler keeps resident, spills
 * where SBUF is too small. Instructions of the current dialect are taken as they stand: that
 * dialect keeps the order and the allocation the kernel asks for. */
#include "device/plan.h"

#include <stdlib.h>

/* Share of SBUF that repeated loads may fill with what is live beside them. NKIBench's
 * matmul_add_rmsnorm on trn1 reads 98 MB: its weights of 128 KiB a partition stay resident. */
#define RESIDENT_SHARE 1.0

uint64_t plan_block_bytes(const struct device_image *image, uint32_t block) {
    const struct nki_storage *storage = &image->program->storages.at[image->blocks[block].storage];
    return storage->block_bytes;
}

static void list_operands(struct plan *plan) {
    const struct device_image *image = plan->image;
    size_t n_instrs = image->program->instrs.len;
    plan->operand_base = mem_alloc(n_instrs + 1, sizeof *plan->operand_base);
    struct device_operand operands[DEVICE_MAX_OPERANDS];
    for (size_t i = 0; i < n_instrs; i++) {
        size_t n = device_operands(image, i, operands);
        for (size_t k = 0; k < n; k++) {
            const struct nki_ap *ap = operands[k].ap;
            uint32_t first, last;
            device_ap_blocks(image->program, ap, &first, &last);
            *vec_push(&plan->operands) =
                (struct plan_operand){.ap = ap,
                                      .first = image->block_base[ap->storage] + first,
                                      .count = last - first + 1,
                                      .is_dst = operands[k].is_dst,
                                      .is_src = operands[k].is_src,
                                      .is_index = operands[k].is_index};
        }
        plan->operand_base[i + 1] = (uint32_t)plan->operands.len;
    }
}

const struct plan_operand *plan_operands(const struct plan *plan, size_t i, size_t *n) {
    *n = plan->operand_base[i + 1] - plan->operand_base[i];
    return plan->operands.at + plan->operand_base[i];
}

static bool on_chip(const struct device_image *image, uint32_t block, enum nki_space space) {
    return image->program->storages.at[image->blocks[block].storage].space == space;
}

/* ---- loads that repeat ---------------------------------------------------------------------- */

/* One distinct piece of HBM that a line of the kernel loads, perhaps many times. */
struct piece {
    uint32_t site, first_block, first, last, loads;
};
struct site {
    uint64_t bytes, repeated; /* per partition: of its distinct pieces, of what need not move */
};
struct residency {
    struct plan *plan;
    uint32_t *writes; /* per block: instructions that write it */
    struct map keys;  /* access pattern -> piece number + 1 */
    VEC(struct piece) pieces;
    VEC(struct site) sites;
    struct map site_of; /* loc -> site number + 1 */
    uint32_t *piece_of; /* per instruction: piece number + 1, 0: not a load that counts */
    uint64_t *usage;    /* live SBUF bytes per partition, per group of instructions */
};
#define GROUP 64

static void count_writes(struct residency *r) {
    const struct device_image *image = r->plan->image;
    for (size_t i = 0; i < image->program->instrs.len; i++) {
        size_t n;
        const struct plan_operand *operands = plan_operands(r->plan, i, &n);
        for (size_t k = 0; k < n && operands[k].is_dst; k++)
            for (uint32_t b = 0; b < operands[k].count; b++)
                r->writes[operands[k].first + b]++;
    }
}

/* A load that fills one whole block from HBM that nothing writes, and the only write to it. */
static bool is_plain_load(const struct residency *r, uint32_t i, uint32_t *block) {
    const struct device_image *image = r->plan->image;
    const struct nki_instr *instr = &image->program->instrs.at[i];
    if (instr->op != NKI_OP_DMA_COPY || instr->mask)
        return false;
    const struct nki_ap *dst = instr->operands[0].ap, *src = instr->operands[1].ap;
    if (dst->indirect || src->indirect || image->written[src->storage])
        return false;
    const struct nki_storage *from = &image->program->storages.at[src->storage];
    const struct nki_storage *to = &image->program->storages.at[dst->storage];
    size_t n;
    const struct plan_operand *operands = plan_operands(r->plan, i, &n);
    *block = operands[0].first;
    uint32_t count = operands[0].count;
    return from->space == NKI_HBM && to->space == NKI_SBUF && count == 1 &&
           r->writes[*block] == 1 &&
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
    const struct device_image *image = r->plan->image;
    const struct nki_instr *instr = &image->program->instrs.at[i];
    const struct nki_ap *dst = instr->operands[0].ap, *src = instr->operands[1].ap;
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
    uint64_t bytes = plan_block_bytes(image, block);
    if (piece == r->pieces.len) {
        *vec_push(&r->pieces) = (struct piece){.site = site, .first_block = block, .first = i};
        r->sites.at[site].bytes += bytes;
    } else {
        r->sites.at[site].repeated += bytes;
    }
    r->pieces.at[piece].loads++;
    r->pieces.at[piece].last = MAX_OF(r->pieces.at[piece].last, image->blocks[block].last);
    r->piece_of[i] = piece + 1;
}

static void add_usage(struct residency *r, uint32_t first, uint32_t last, int64_t bytes) {
    for (uint32_t g = first / GROUP; g <= last / GROUP; g++)
        r->usage[g] = (uint64_t)((int64_t)r->usage[g] + bytes);
}

/* What is live besides the loads in question: the most within each group of instructions. */
static void measure_usage(struct residency *r) {
    const struct device_image *image = r->plan->image;
    uint32_t n = (uint32_t)image->program->instrs.len;
    int64_t *change = mem_alloc(n + 1, sizeof *change), live = 0;
    for (uint32_t b = 0; b < image->n_blocks; b++) {
        const struct device_block *block = &image->blocks[b];
        bool load = block->first_write != DEVICE_NEVER && r->piece_of[block->first_write];
        if (!on_chip(image, b, NKI_SBUF) || block->first == DEVICE_NEVER || load)
            continue;
        change[block->first] += (int64_t)plan_block_bytes(image, b);
        change[block->last + 1] -= (int64_t)plan_block_bytes(image, b);
    }
    for (uint32_t i = 0; i < n; i++) {
        live += change[i];
        r->usage[i / GROUP] = MAX_OF(r->usage[i / GROUP], (uint64_t)live);
    }
    free(change);
}

static void keep(struct residency *r, const struct piece *piece, int64_t sign) {
    uint64_t bytes = plan_block_bytes(r->plan->image, piece->first_block);
    add_usage(r, piece->first, piece->last, (int64_t)bytes * sign);
}

/* Keeps all pieces of a site resident if they fit beside what is live, else none of them. */
static bool keep_site(struct residency *r, uint32_t site) {
    uint64_t most =
        (uint64_t)((double)r->plan->image->generation->sbuf_partition_bytes * RESIDENT_SHARE);
    bool fits = r->sites.at[site].bytes <= most;
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
    const struct device_image *image = r->plan->image;
    for (uint32_t i = 0; i < image->program->instrs.len; i++) {
        if (!r->piece_of[i])
            continue;
        const struct piece *piece = &r->pieces.at[r->piece_of[i] - 1];
        if (!kept[piece->site] || piece->first == i)
            continue;
        uint32_t block = r->plan->operands.at[r->plan->operand_base[i]].first;
        r->plan->alias[block] = piece->first_block;
        resident[i] = true;
    }
}

/* Sites with the most to save come first. */
static uint32_t next_site(const struct residency *r, const bool *tried) {
    uint32_t best = UINT32_MAX;
    for (uint32_t s = 0; s < r->sites.len; s++)
        if (!tried[s] && r->sites.at[s].repeated &&
            (best == UINT32_MAX || r->sites.at[s].repeated > r->sites.at[best].repeated))
            best = s;
    return best;
}

static void find_resident_loads(struct plan *plan, bool *resident) {
    const struct device_image *image = plan->image;
    size_t n = image->program->instrs.len;
    struct residency r = {.plan = plan};
    r.writes = mem_alloc(image->n_blocks, sizeof *r.writes);
    r.piece_of = mem_alloc(n, sizeof *r.piece_of);
    r.usage = mem_alloc(n / GROUP + 1, sizeof *r.usage);
    count_writes(&r);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t block;
        if (is_plain_load(&r, i, &block))
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

/* A result of the Scalar engine that fits a PSUM bank and only one instruction reads, one of two
 * inputs on the Vector engine: the compiler keeps it in PSUM, where it does not compete with the
 * other input. NKIBench's adamw on trn1 writes PSUM although it multiplies no matrices, and its
 * Vector engine is active for less than its instructions take from SBUF alone. */
static bool is_psum_temporary(const struct device_image *image, uint32_t block,
                              const struct temporary *temporary) {
    if (!temporary->plain || !temporary->writer || !temporary->reader ||
        !on_chip(image, block, NKI_SBUF))
        return false;
    uint64_t bank = image->generation->psum_partition_bytes / image->generation->psum_banks;
    uint32_t reader = temporary->reader - 1;
    return plan_block_bytes(image, block) <= bank && plan_block_bytes(image, block) > 4 &&
           image->engine[temporary->writer - 1] == NKI_ENGINE_SCALAR &&
           image->engine[reader] == NKI_ENGINE_VECTOR &&
           takes_pair((enum nki_op)image->program->instrs.at[reader].op);
}

static void find_psum_temporaries(struct plan *plan) {
    const struct device_image *image = plan->image;
    struct temporary *all = mem_alloc(image->n_blocks, sizeof *all);
    plan->input_in_psum = mem_alloc(image->program->instrs.len, sizeof *plan->input_in_psum);
    for (uint32_t i = 0; i < image->program->instrs.len; i++) {
        size_t n;
        const struct plan_operand *operands = plan_operands(plan, i, &n);
        for (size_t k = 0; k < n; k++)
            for (uint32_t b = 0; b < operands[k].count; b++)
                note_temporary(&all[operands[k].first + b], i, operands[k].is_dst);
    }
    for (uint32_t b = 0; b < image->n_blocks; b++)
        if (is_psum_temporary(image, b, &all[b]))
            plan->input_in_psum[all[b].reader - 1] = true;
    free(all);
}

/* ---- walking the program with memory in mind ------------------------------------------------ */

struct touch {
    uint32_t block;
    bool written;
};
struct walk {
    struct plan *plan;
    VEC(struct touch) touched; /* by instruction i: [touched_base[i], touched_base[i + 1]) */
    uint32_t *touched_base;
    uint32_t *use_base;  /* per block: its uses, use_at[use_base[b] .. use_base[b + 1]] */
    uint32_t *use_at;    /* instructions, ascending */
    uint32_t *use_next;  /* per block: index of its next use */
    uint8_t *state;      /* per block: enum place */
    uint8_t *copy;       /* per block: enum copy */
    uint32_t *last_use;  /* per block: the instruction that used it last */
    uint32_t *residence; /* per block in memory: its residence */
    VEC(uint32_t) live;  /* SBUF blocks in memory */
    uint64_t sbuf, psum;
    uint64_t capacity; /* of SBUF, for spilling; UINT64_MAX: never spill */
};
enum place { PLACE_NOWHERE, PLACE_MEMORY, PLACE_SPILLED };

/* The blocks an instruction touches on chip, each once; false: more than fit the list. */
#define MOST_TOUCHED 256
static size_t touched_blocks(const struct plan *plan, uint32_t i, uint32_t *blocks, bool *written) {
    size_t n, found = 0;
    const struct plan_operand *operands = plan_operands(plan, i, &n);
    for (size_t k = 0; k < n; k++) {
        if (plan->image->program->storages.at[operands[k].ap->storage].space == NKI_HBM)
            continue;
        uint32_t end = operands[k].first + operands[k].count;
        for (uint32_t b = operands[k].first; b < end && found < MOST_TOUCHED; b++) {
            size_t at = 0;
            while (at < found && blocks[at] != plan->alias[b])
                at++;
            if (at == found) {
                blocks[found] = plan->alias[b];
                written[found++] = false;
            }
            written[at] |= operands[k].is_dst;
        }
    }
    return found;
}

static uint32_t next_use(const struct walk *w, uint32_t block) {
    uint32_t at = w->use_next[block];
    return at < w->use_base[block + 1] ? w->use_at[at] : DEVICE_NEVER;
}

static void list_uses(struct walk *w) {
    const struct device_image *image = w->plan->image;
    size_t n_instrs = image->program->instrs.len;
    uint32_t blocks[MOST_TOUCHED];
    bool written[MOST_TOUCHED];
    w->touched_base = mem_alloc(n_instrs + 1, sizeof *w->touched_base);
    for (uint32_t i = 0; i < n_instrs; i++) {
        size_t n = touched_blocks(w->plan, i, blocks, written);
        for (size_t k = 0; k < n; k++) {
            *vec_push(&w->touched) = (struct touch){blocks[k], written[k]};
            w->use_base[blocks[k] + 1]++;
        }
        w->touched_base[i + 1] = (uint32_t)w->touched.len;
    }
    for (size_t b = 0; b < image->n_blocks; b++) {
        w->use_base[b + 1] += w->use_base[b];
        w->use_next[b] = w->use_base[b];
    }
    w->use_at = mem_alloc(w->touched.len + 1, sizeof *w->use_at);
    for (uint32_t i = 0; i < n_instrs; i++)
        for (uint32_t t = w->touched_base[i]; t < w->touched_base[i + 1]; t++)
            w->use_at[w->use_next[w->touched.at[t].block]++] = i;
    for (size_t b = 0; b < image->n_blocks; b++)
        w->use_next[b] = w->use_base[b];
}

/* Where the same data is besides: nowhere, in a kernel input, in HBM by an earlier spill. */
enum copy { COPY_NONE, COPY_INPUT, COPY_SPILL };

static void use_residence(struct walk *w, uint32_t block) {
    struct plan *plan = w->plan;
    *vec_push(&plan->uses) = w->residence[block];
    struct residence *residence = &plan->residences.at[w->residence[block]];
    if (!residence->users++)
        residence->first_user = (uint32_t)plan->steps.len - 1;
}

/* The uses of a step follow it and end here. */
static void end_step(struct plan *plan) {
    *vec_push(&plan->use_base) = (uint32_t)plan->uses.len;
}

static void push_step(struct plan *plan, enum step_kind kind, uint32_t instr, uint32_t block,
                      uint64_t bytes) {
    *vec_push(&plan->steps) = (struct step){(uint8_t)kind, instr, block, (uint32_t)bytes};
}

static void leave_memory(struct walk *w, uint32_t block, enum place to) {
    w->state[block] = (uint8_t)to;
    if (!on_chip(w->plan->image, block, NKI_SBUF)) {
        w->psum -= plan_block_bytes(w->plan->image, block);
        return;
    }
    w->sbuf -= plan_block_bytes(w->plan->image, block);
    for (size_t i = 0; i < w->live.len; i++)
        if (w->live.at[i] == block) {
            w->live.at[i] = w->live.at[--w->live.len];
            return;
        }
}

static uint64_t times_partitions(const struct device_image *image, uint32_t block, uint64_t bytes) {
    return bytes * image->program->storages.at[image->blocks[block].storage].partitions;
}

/* Bytes per partition that the instruction uses of a block: no more is read back. */
static uint64_t used_bytes(const struct plan *plan, uint32_t instr, uint32_t block) {
    const struct device_image *image = plan->image;
    size_t n;
    const struct plan_operand *operands = plan_operands(plan, instr, &n);
    uint64_t whole = plan_block_bytes(image, block), used = 0;
    for (size_t k = 0; k < n; k++)
        if (operands[k].ap->storage == image->blocks[block].storage)
            used += (uint64_t)nki_ap_free(operands[k].ap) * dtype_bytes(operands[k].ap->dtype);
    return used ? MIN_OF(used, whole) : whole;
}

/* Moves a block out, saving it where HBM does not have it. */
static void evict(struct walk *w, uint32_t block, uint32_t instr) {
    if (w->copy[block] == COPY_NONE) {
        uint64_t bytes = plan_block_bytes(w->plan->image, block);
        push_step(w->plan, STEP_SAVE, instr, block, bytes);
        use_residence(w, block);
        end_step(w->plan);
        w->plan->spill_save_bytes += times_partitions(w->plan->image, block, bytes);
        w->copy[block] = COPY_SPILL;
    }
    leave_memory(w, block, PLACE_SPILLED);
}

/* What to move out: what is needed last, which comes close to the spills published for NKIBench's
 * attention kernels. If that is an input, it is the one used least recently instead, for the
 * compiler reads those again as its loops go: matmul on trn1 reads its right operand anew for every
 * row block as soon as it does not fit, as this order does to cyclic reads. */
static uint32_t find_victim(const struct walk *w, uint32_t instr) {
    uint32_t oldest = UINT32_MAX, farthest = UINT32_MAX;
    for (size_t i = 0; i < w->live.len; i++) {
        uint32_t block = w->live.at[i];
        if (w->last_use[block] >= instr)
            continue;
        bool input = w->copy[block] == COPY_INPUT;
        if (input && (oldest == UINT32_MAX || w->last_use[block] < w->last_use[oldest]))
            oldest = block;
        if (farthest == UINT32_MAX || next_use(w, block) > next_use(w, farthest))
            farthest = block;
    }
    bool input = farthest != UINT32_MAX && w->copy[farthest] == COPY_INPUT;
    return input ? oldest : farthest;
}

static void make_room(struct walk *w, uint32_t instr, uint64_t bytes) {
    while (w->sbuf + bytes > w->capacity) {
        uint32_t victim = find_victim(w, instr);
        if (victim == UINT32_MAX)
            return;
        evict(w, victim, instr);
    }
}

static void enter_memory(struct walk *w, uint32_t block, uint32_t instr) {
    struct plan *plan = w->plan;
    uint64_t bytes = plan_block_bytes(plan->image, block);
    bool sbuf = on_chip(plan->image, block, NKI_SBUF);
    w->last_use[block] = instr;
    if (sbuf)
        make_room(w, instr, bytes);
    w->residence[block] = (uint32_t)plan->residences.len;
    *vec_push(&plan->residences) =
        (struct residence){.block = block, .bytes = bytes, .psum = !sbuf};
    if (w->state[block] == PLACE_SPILLED) {
        bool input = w->copy[block] == COPY_INPUT;
        uint64_t moved = input ? used_bytes(plan, instr, block) : bytes;
        push_step(plan, STEP_RELOAD, instr, block, moved);
        use_residence(w, block);
        end_step(plan);
        *(input ? &plan->reload_bytes : &plan->spill_reload_bytes) +=
            times_partitions(plan->image, block, moved);
    }
    w->state[block] = PLACE_MEMORY;
    *(sbuf ? &w->sbuf : &w->psum) += bytes;
    if (sbuf)
        *vec_push(&w->live) = block;
    plan->sbuf_peak = MAX_OF(plan->sbuf_peak, w->sbuf);
    plan->psum_peak = MAX_OF(plan->psum_peak, w->psum);
}

static bool loads_from_inputs(const struct device_image *image, uint32_t i) {
    const struct nki_instr *instr = &image->program->instrs.at[i];
    if (instr->op != NKI_OP_DMA_COPY || instr->operands[1].kind != NKI_OPERAND_AP)
        return false;
    const struct nki_ap *src = instr->operands[1].ap;
    return image->program->storages.at[src->storage].space == NKI_HBM &&
           !image->written[src->storage];
}

static void walk_instruction(struct walk *w, uint32_t i, bool resident) {
    const struct touch *touched = w->touched.at + w->touched_base[i];
    size_t n = w->touched_base[i + 1] - w->touched_base[i];
    /* Used by this instruction: none of them is moved out for another. */
    for (size_t k = 0; k < n; k++)
        w->last_use[touched[k].block] = i;
    for (size_t k = 0; k < n; k++)
        if (w->state[touched[k].block] != PLACE_MEMORY)
            enter_memory(w, touched[k].block, i);
    push_step(w->plan, resident ? STEP_RESIDENT : STEP_INSTR, i, 0, 0);
    bool load = loads_from_inputs(w->plan->image, i);
    for (size_t k = 0; k < n; k++) {
        use_residence(w, touched[k].block);
        bool whole = load && w->plan->image->blocks[touched[k].block].first_write == i;
        if (touched[k].written && !resident)
            w->copy[touched[k].block] = whole ? COPY_INPUT : COPY_NONE;
        w->use_next[touched[k].block]++;
        if (next_use(w, touched[k].block) == DEVICE_NEVER)
            leave_memory(w, touched[k].block, PLACE_NOWHERE);
    }
    end_step(w->plan);
}

static void walk_program(struct plan *plan, const bool *resident) {
    const struct device_image *image = plan->image;
    struct walk w = {.plan = plan, .capacity = UINT64_MAX};
    if (image->program->dialect == NKI_DIALECT_LEGACY)
        w.capacity = image->generation->sbuf_partition_bytes;
    w.use_base = mem_alloc(image->n_blocks + 1, sizeof *w.use_base);
    w.use_next = mem_alloc(image->n_blocks, sizeof *w.use_next);
    w.state = mem_alloc(image->n_blocks, 1);
    w.copy = mem_alloc(image->n_blocks, 1);
    w.last_use = mem_alloc(image->n_blocks, sizeof *w.last_use);
    w.residence = mem_alloc(image->n_blocks, sizeof *w.residence);
    list_uses(&w);
    *vec_push(&plan->use_base) = 0;
    for (uint32_t i = 0; i < image->program->instrs.len; i++)
        walk_instruction(&w, i, resident[i]);
    vec_free(&w.touched);
    free(w.touched_base);
    free(w.use_base);
    free(w.use_at);
    free(w.use_next);
    free(w.state);
    free(w.copy);
    free(w.last_use);
    free(w.residence);
    vec_free(&w.live);
}

struct plan *plan_make(const struct device_image *image) {
    struct plan *plan = mem_alloc(1, sizeof *plan);
    plan->image = image;
    list_operands(plan);
    plan->reorders = image->program->dialect == NKI_DIALECT_LEGACY;
    plan->alias = mem_alloc(image->n_blocks, sizeof *plan->alias);
    for (uint32_t b = 0; b < image->n_blocks; b++)
        plan->alias[b] = b;
    bool *resident = mem_alloc(image->program->instrs.len, sizeof *resident);
    if (plan->reorders)
        find_resident_loads(plan, resident);
    if (plan->reorders)
        find_psum_temporaries(plan);
    walk_program(plan, resident);
    free(resident);
    return plan;
}

void plan_free(struct plan *plan) {
    if (!plan)
        return;
    vec_free(&plan->steps);
    vec_free(&plan->operands);
    free(plan->operand_base);
    vec_free(&plan->residences);
    vec_free(&plan->uses);
    vec_free(&plan->use_base);
    free(plan->alias);
    free(plan->input_in_psum);
    free(plan);
}
