/* SPDX-License-Identifier: Apache-2.0 */
/* Walks a program with memory in mind: life spans of what is on chip, spills where SBUF is too
 * small, and the instructions in the order they are issued. Instructions of the current dialect are
 * taken as they stand, because that dialect keeps the order that the kernel asks for. */
#include "device/compile/private.h"

#include <stdlib.h>

struct touch {
    uint32_t block;
    bool written;
    bool ends; /* what the round of a loop made is used no more: see ends_round */
};
struct walk {
    struct allocation *allocation;
    VEC(struct touch) touched; /* of instruction i: [touched_base[i], touched_base[i + 1]) */
    uint32_t *touched_base;
    size_t issues;       /* instructions that are not hidden */
    uint32_t *use_base;  /* per block: its uses, use_at[use_base[b] .. use_base[b + 1]] */
    uint32_t *use_at;    /* instructions, ascending; only for spilling, NULL else */
    uint32_t *use_next;  /* per block: index of its next use in use_at */
    uint8_t *state;      /* per block: enum place */
    uint8_t *copy;       /* per block: enum copy */
    uint32_t now;        /* the instruction that the walk has come to */
    uint32_t *last_use;  /* per block: the instruction that used it last */
    uint32_t *residence; /* per block in memory: its residence */
    VEC(uint32_t) live;  /* SBUF blocks in memory, for spilling */
    uint32_t *live_at;   /* per block: its place in `live` */
    uint64_t sbuf, psum;
    uint64_t capacity; /* of SBUF, for spilling; UINT64_MAX: never spill */
    bool partial;      /* a spill moves what is used of a tile, not the whole tile */
    uint32_t *later;   /* per block: the instruction that zeroes it, + 1, and was put off; 0 */
    uint32_t *reload;  /* per block in memory: the issue that read it back, + 1; 0: none did */
    uint64_t *dirty;   /* per block: bytes per partition written since it was last saved */
    bool *in_rounds;   /* per block: tiles of later rounds of a loop take it over */
};
enum place { PLACE_NOWHERE, PLACE_MEMORY, PLACE_SPILLED };

/* Whether a tile of a loop's body on the device is used no more in its round. The next round takes
 * the same addresses, but finds nothing there that it wants: until then they are for others. */
static bool ends_round(const struct walk *w, uint32_t i, uint32_t block) {
    const struct device_image *image = w->allocation->image;
    return w->in_rounds[w->allocation->alias[block]] && image->blocks[block].last == i;
}

/* The most blocks on chip that one instruction can name; further ones are left out. */
#define MOST_TOUCHED 256
static size_t touched_blocks(const struct walk *w, uint32_t i, struct touch *touched) {
    const struct allocation *allocation = w->allocation;
    size_t n, found = 0;
    const struct block_operand *operands = allocation_operands(allocation, i, &n);
    for (size_t k = 0; k < n; k++) {
        if (allocation_is_in(allocation->image, operands[k].first, NKI_HBM))
            continue;
        uint32_t end = operands[k].first + operands[k].count;
        for (uint32_t b = operands[k].first; b < end && found < MOST_TOUCHED; b++) {
            size_t at = 0;
            while (at < found && touched[at].block != allocation->alias[b])
                at++;
            if (at == found)
                touched[found++] = (struct touch){.block = allocation->alias[b]};
            touched[at].written |= operands[k].is_dst;
            touched[at].ends |= ends_round(w, i, b);
        }
    }
    return found;
}

static bool is_used_again(const struct walk *w, uint32_t block) {
    return w->use_next[block] < w->use_base[block + 1];
}

/* Of a walk that may spill. */
static uint32_t next_use(const struct walk *w, uint32_t block) {
    return is_used_again(w, block) ? w->use_at[w->use_next[block]] : DEVICE_NEVER;
}

static void list_instructions(struct walk *w) {
    const struct device_image *image = w->allocation->image;
    w->use_at = mem_alloc(w->touched.len + 1, sizeof *w->use_at);
    for (uint32_t i = 0; i < image->program->instrs.len; i++)
        for (uint32_t t = w->touched_base[i]; t < w->touched_base[i + 1]; t++)
            w->use_at[w->use_next[w->touched.at[t].block]++] = i;
    memcpy(w->use_next, w->use_base, image->n_blocks * sizeof *w->use_next);
}

static void list_uses(struct walk *w) {
    const struct device_image *image = w->allocation->image;
    size_t n_instrs = image->program->instrs.len;
    struct touch touched[MOST_TOUCHED];
    w->touched_base = mem_alloc(n_instrs + 1, sizeof *w->touched_base);
    for (uint32_t i = 0; i < n_instrs; i++) {
        size_t n = 0;
        if (!allocation_hides(w->allocation, i)) {
            n = touched_blocks(w, i, touched);
            w->issues++;
        }
        for (size_t k = 0; k < n; k++) {
            *vec_push(&w->touched) = touched[k];
            w->use_base[touched[k].block + 1]++;
        }
        w->touched_base[i + 1] = (uint32_t)w->touched.len;
    }
    for (size_t b = 0; b < image->n_blocks; b++) {
        w->use_base[b + 1] += w->use_base[b];
        w->use_next[b] = w->use_base[b];
    }
    if (w->capacity != UINT64_MAX)
        list_instructions(w);
}

/* Where else the same data is: nowhere, in a kernel input, or in HBM through an earlier spill. */
enum copy { COPY_NONE, COPY_INPUT, COPY_SPILL };

static void use_residence(struct walk *w, uint32_t block) {
    struct allocation *allocation = w->allocation;
    *vec_push(&allocation->uses) = w->residence[block];
    struct residence *residence = &allocation->residences.at[w->residence[block]];
    if (!residence->users++)
        residence->first_user = (uint32_t)allocation->issues.len - 1;
}

/* Ends the list of the issue's uses, which follows it. */
static void end_issue(struct allocation *allocation) {
    *vec_push(&allocation->use_base) = (uint32_t)allocation->uses.len;
}

static void push_issue(struct allocation *allocation, enum issue_kind kind, uint32_t instr,
                       uint32_t block, uint64_t bytes) {
    *vec_push(&allocation->issues) = (struct issue){(uint8_t)kind, instr, block, (uint32_t)bytes};
}

static void leave_memory(struct walk *w, uint32_t block, enum place to) {
    w->state[block] = (uint8_t)to;
    w->reload[block] = 0;
    if (to == PLACE_NOWHERE)
        w->dirty[block] = 0;
    if (!allocation_is_in(w->allocation->image, block, NKI_SBUF)) {
        w->psum -= device_block_bytes(w->allocation->image, block);
        return;
    }
    w->sbuf -= device_block_bytes(w->allocation->image, block);
    if (w->capacity == UINT64_MAX)
        return;
    uint32_t last = w->live.at[--w->live.len];
    w->live.at[w->live_at[block]] = last;
    w->live_at[last] = w->live_at[block];
}

static uint64_t times_partitions(const struct device_image *image, uint32_t block, uint64_t bytes) {
    return bytes * image->program->storages.at[image->blocks[block].storage]->partitions;
}

enum touching { USE_ANY, USE_READ, USE_WRITTEN };
/* Bytes per partition of a block that the instruction uses so, at most all that it has. */
static uint64_t touched_bytes(const struct allocation *allocation, uint32_t instr, uint32_t block,
                              enum touching use) {
    const struct device_image *image = allocation->image;
    struct device_reach own[DEVICE_MAX_OPERANDS];
    size_t n;
    const struct block_operand *operands = allocation_operands(allocation, instr, &n);
    const struct device_reach *reaches = device_reaches(image, instr, own);
    uint64_t whole = device_block_bytes(image, block), used = 0;
    for (size_t k = 0; k < n; k++)
        if (image->blocks[operands[k].first].storage == image->blocks[block].storage &&
            (use == USE_ANY || (use == USE_WRITTEN ? operands[k].is_dst : operands[k].is_src)))
            used += reaches[k].bytes;
    return MIN_OF(used, whole);
}

/* Bytes per partition of a block that the instruction uses. Of an input only these are read
 * back. */
static uint64_t used_bytes(const struct allocation *allocation, uint32_t instr, uint32_t block) {
    uint64_t used = touched_bytes(allocation, instr, block, USE_ANY);
    return used ? used : device_block_bytes(allocation->image, block);
}

/* Moves a block out, and saves it if HBM does not have it. */
static void evict(struct walk *w, uint32_t block, uint32_t instr) {
    if (w->copy[block] == COPY_NONE) {
        uint64_t whole = device_block_bytes(w->allocation->image, block);
        uint64_t bytes = w->partial ? MIN_OF(w->dirty[block], whole) : whole;
        push_issue(w->allocation, ISSUE_SAVE, instr, block, bytes);
        use_residence(w, block);
        end_issue(w->allocation);
        w->allocation->spill_save_bytes += times_partitions(w->allocation->image, block, bytes);
        w->copy[block] = COPY_SPILL;
        w->dirty[block] = 0;
    }
    leave_memory(w, block, PLACE_SPILLED);
}

/* The block to move out is the one needed last; this comes close to the spills published for
 * NKIBench's attention kernels. If that block is an input, the input used least recently goes
 * instead, because the compiler reads inputs again as its loops go. Matmul on trn1 does so: it
 * reads its right operand again for every row block as soon as the operand does not fit, and this
 * order does the same to cyclic reads. */
static uint32_t find_victim(const struct walk *w) {
    uint32_t oldest = UINT32_MAX, farthest = UINT32_MAX;
    for (size_t i = 0; i < w->live.len; i++) {
        uint32_t block = w->live.at[i];
        if (w->last_use[block] >= w->now)
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
        uint32_t victim = find_victim(w);
        if (victim == UINT32_MAX)
            return;
        evict(w, victim, instr);
    }
}

static void enter_memory(struct walk *w, uint32_t block, uint32_t instr) {
    struct allocation *allocation = w->allocation;
    uint64_t bytes = device_block_bytes(allocation->image, block);
    bool sbuf = allocation_is_in(allocation->image, block, NKI_SBUF);
    w->last_use[block] = w->now;
    if (sbuf)
        make_room(w, instr, bytes);
    w->residence[block] = (uint32_t)allocation->residences.len;
    *vec_push(&allocation->residences) =
        (struct residence){.block = block, .bytes = bytes, .needs = bytes, .psum = !sbuf};
    if (!allocation->legacy && sbuf && w->state[block] != PLACE_SPILLED)
        allocation->residences.at[w->residence[block]].needs = used_bytes(allocation, instr, block);
    if (w->state[block] == PLACE_SPILLED) {
        bool input = w->copy[block] == COPY_INPUT;
        uint64_t moved = input ? used_bytes(allocation, instr, block) : w->partial ? 0 : bytes;
        push_issue(allocation, ISSUE_RELOAD, instr, block, moved);
        if (!input && w->partial)
            w->reload[block] = (uint32_t)allocation->issues.len;
        use_residence(w, block);
        end_issue(allocation);
        *(input ? &allocation->reload_bytes : &allocation->spill_reload_bytes) +=
            times_partitions(allocation->image, block, moved);
    }
    w->state[block] = PLACE_MEMORY;
    *(sbuf ? &w->sbuf : &w->psum) += bytes;
    if (sbuf && w->capacity != UINT64_MAX) {
        w->live_at[block] = (uint32_t)w->live.len;
        *vec_push(&w->live) = block;
    }
    allocation->sbuf_peak = MAX_OF(allocation->sbuf_peak, w->sbuf);
    allocation->psum_peak = MAX_OF(allocation->psum_peak, w->psum);
}

/* Whether what the instruction reads first lies in HBM that nothing writes. */
static bool loads_from_inputs(const struct allocation *allocation, uint32_t i) {
    const struct device_image *image = allocation->image;
    size_t n, k = 0;
    const struct block_operand *operands = allocation_operands(allocation, i, &n);
    if (image->engine[i] != NKI_ENGINE_DMA || image->program->instrs.at[i].op != NKI_OP_DMA_COPY)
        return false;
    while (k < n && operands[k].is_dst)
        k++;
    return k < n && allocation_is_in(image, operands[k].first, NKI_HBM) &&
           !image->written[image->blocks[operands[k].first].storage];
}

/* When a load fills a buffer anew, what was in it lives on until its last user is over. */
static void rename_buffer(struct walk *w, uint32_t i, const struct touch *filled) {
    if (filled && allocation_renames(w->allocation, i) && w->state[filled->block] == PLACE_MEMORY)
        leave_memory(w, filled->block, PLACE_NOWHERE);
}

/* What a spill of the block would have to save now: nothing while all in it was loaded from inputs,
 * by one load or by several. */
static void note_written(struct walk *w, uint32_t i, uint32_t block, bool load) {
    bool first = w->allocation->image->blocks[block].first_write == i;
    w->dirty[block] += w->partial ? touched_bytes(w->allocation, i, block, USE_WRITTEN)
                                  : used_bytes(w->allocation, i, block);
    w->copy[block] = load && (first || w->copy[block] == COPY_INPUT) ? COPY_INPUT : COPY_NONE;
}

/* What is read of a tile that was moved out comes back; a part that is never read does not. */
static void note_read(struct walk *w, uint32_t i, uint32_t block) {
    struct allocation *allocation = w->allocation;
    struct issue *reload = &allocation->issues.at[w->reload[block] - 1];
    uint64_t whole = device_block_bytes(allocation->image, block);
    uint64_t more = MIN_OF(touched_bytes(allocation, i, block, USE_READ), whole - reload->bytes);
    reload->bytes += (uint32_t)more;
    allocation->spill_reload_bytes += times_partitions(allocation->image, block, more);
}

static void walk_instruction(struct walk *w, uint32_t i, bool absent) {
    size_t n = w->touched_base[i + 1] - w->touched_base[i];
    const struct touch *touched = n ? w->touched.at + w->touched_base[i] : NULL;
    /* These are used by this instruction, so none of them is moved out for another. */
    for (size_t k = 0; k < n; k++)
        w->last_use[touched[k].block] = w->now;
    if (!absent)
        rename_buffer(w, i, touched);
    for (size_t k = 0; k < n; k++)
        if (w->state[touched[k].block] != PLACE_MEMORY)
            enter_memory(w, touched[k].block, i);
    push_issue(w->allocation, absent ? ISSUE_ABSENT : ISSUE_INSTR, i, 0, 0);
    bool may_spill = w->capacity != UINT64_MAX;
    bool load = may_spill && loads_from_inputs(w->allocation, i);
    for (size_t k = 0; k < n; k++) {
        use_residence(w, touched[k].block);
        if (w->reload[touched[k].block])
            note_read(w, i, touched[k].block);
        if (touched[k].written && !absent && may_spill)
            note_written(w, i, touched[k].block, load);
        w->use_next[touched[k].block]++;
        if (touched[k].ends || !is_used_again(w, touched[k].block))
            leave_memory(w, touched[k].block, PLACE_NOWHERE);
    }
    end_issue(w->allocation);
}

/* Whether the instruction zeroes a tile in SBUF that is new. */
static bool zeroes_anew(const struct walk *w, uint32_t i) {
    const struct device_image *image = w->allocation->image;
    size_t n = w->touched_base[i + 1] - w->touched_base[i];
    if (n != 1 || image->program->instrs.at[i].op != NKI_OP_MEMSET)
        return false;
    uint32_t block = w->touched.at[w->touched_base[i]].block;
    return allocation_is_in(image, block, NKI_SBUF) && w->state[block] == PLACE_NOWHERE &&
           !w->later[block];
}

/* Where memory is scarce, a tile is zeroed when something else uses it first: until then it needs
 * no memory, and nobody saves zeros. */
static void walk_or_put_off(struct walk *w, uint32_t i, const bool *absent) {
    bool scarce = w->partial && w->capacity != UINT64_MAX;
    w->now = i;
    if (scarce && zeroes_anew(w, i)) {
        w->later[w->touched.at[w->touched_base[i]].block] = i + 1;
        return;
    }
    for (uint32_t t = w->touched_base[i]; scarce && t < w->touched_base[i + 1]; t++)
        w->last_use[w->touched.at[t].block] = i;
    for (uint32_t t = w->touched_base[i]; scarce && t < w->touched_base[i + 1]; t++) {
        uint32_t zeroing = w->later[w->touched.at[t].block];
        w->later[w->touched.at[t].block] = 0;
        if (zeroing)
            walk_instruction(w, zeroing - 1, absent[zeroing - 1]);
    }
    walk_instruction(w, i, absent[i]);
}

/* Tiles that are zeroed and never used. */
static void walk_rest(struct walk *w, const bool *absent) {
    for (uint32_t b = 0; b < w->allocation->image->n_blocks; b++)
        if (w->later[b])
            walk_instruction(w, w->later[b] - 1, absent[w->later[b] - 1]);
}

/* The most bytes per partition of SBUF that are live at once. */
static uint64_t most_live(const struct device_image *image) {
    uint32_t n = (uint32_t)image->program->instrs.len;
    int64_t *change = mem_alloc((size_t)n + 2, sizeof *change), live = 0, most = 0;
    for (uint32_t b = 0; b < image->n_blocks; b++)
        if (allocation_is_in(image, b, NKI_SBUF) && image->blocks[b].first != DEVICE_NEVER) {
            change[image->blocks[b].first] += (int64_t)device_block_bytes(image, b);
            change[image->blocks[b].last + 1] -= (int64_t)device_block_bytes(image, b);
        }
    for (uint32_t i = 0; i < n; i++) {
        live += change[i];
        most = MAX_OF(most, live);
    }
    free(change);
    return (uint64_t)most;
}

/* The part of a full SBUF that the compiler keeps free, so that what comes next can come early. It
 * is at most an eighth, and at most what does not fit anyway. */
#define SPARE_SHARE 8
static uint64_t spare_bytes(const struct device_image *image) {
    uint64_t capacity = image->generation->sbuf_partition_bytes, live = most_live(image);
    return live > capacity ? MIN_OF(capacity / SPARE_SHARE, live - capacity) : 0;
}

/* Where tiles share memory, it may be held for longer than each of them lives, and nobody looks. */
bool walk_has_room(const struct allocation *allocation) {
    const struct device_image *image = allocation->image;
    for (uint32_t b = 0; b < image->n_blocks; b++)
        if (allocation->alias[b] != b)
            return false;
    return most_live(image) <= image->generation->sbuf_partition_bytes;
}

/* Where tiles are moved out, what comes next can come early into what was kept free, and nowhere
 * else: a tile needs room in one piece, and what is left between the others is none. */
static void note_room(const struct walk *w, bool spills) {
    struct allocation *allocation = w->allocation;
    const struct device_image *image = allocation->image;
    allocation->sbuf_room = image->generation->sbuf_partition_bytes;
    if (spills && w->partial)
        allocation->sbuf_room =
            MIN_OF(allocation->sbuf_room, allocation->sbuf_peak + spare_bytes(image));
}

/* Per block, whether tiles of later rounds of a loop take it over. */
static bool *find_rounds(const struct allocation *allocation) {
    const struct device_image *image = allocation->image;
    bool *in_rounds = mem_alloc(image->n_blocks, sizeof *in_rounds);
    for (uint32_t b = 0; b < image->n_blocks; b++)
        if (image->program->storages.at[image->blocks[b].storage]->again)
            in_rounds[allocation->alias[b]] = true;
    return in_rounds;
}

void walk_program(struct allocation *allocation, const bool *absent, bool spills) {
    const struct device_image *image = allocation->image;
    struct walk w = {.allocation = allocation, .capacity = UINT64_MAX};
    if (spills)
        w.capacity = image->generation->sbuf_partition_bytes;
    w.use_base = mem_alloc(image->n_blocks + 1, sizeof *w.use_base);
    w.use_next = mem_alloc(image->n_blocks, sizeof *w.use_next);
    w.state = mem_alloc(image->n_blocks, 1);
    w.copy = mem_alloc(image->n_blocks, 1);
    w.last_use = mem_alloc(image->n_blocks, sizeof *w.last_use);
    w.residence = mem_alloc(image->n_blocks, sizeof *w.residence);
    w.dirty = mem_alloc(image->n_blocks, sizeof *w.dirty);
    w.partial = !allocation->legacy;
    if (spills && w.partial)
        w.capacity -= spare_bytes(image);
    w.later = mem_alloc(image->n_blocks, sizeof *w.later);
    w.reload = mem_alloc(image->n_blocks, sizeof *w.reload);
    w.live_at = mem_alloc(image->n_blocks, sizeof *w.live_at);
    w.in_rounds = find_rounds(allocation);
    list_uses(&w);
    /* No more than that without spills and renamed buffers. */
    vec_reserve(&allocation->issues, w.issues);
    vec_reserve(&allocation->use_base, w.issues + 1);
    vec_reserve(&allocation->uses, w.touched.len);
    *vec_push(&allocation->use_base) = 0;
    for (uint32_t i = 0; i < image->program->instrs.len; i++)
        if (!allocation_hides(allocation, i))
            walk_or_put_off(&w, i, absent);
    walk_rest(&w, absent);
    note_room(&w, spills);
    vec_free(&w.touched);
    free(w.touched_base);
    free(w.use_base);
    free(w.use_at);
    free(w.use_next);
    free(w.state);
    free(w.copy);
    free(w.last_use);
    free(w.residence);
    free(w.dirty);
    free(w.live_at);
    free(w.later);
    free(w.reload);
    free(w.in_rounds);
    vec_free(&w.live);
}
