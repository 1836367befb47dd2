/* SPDX-License-Identifier: Apache-2.0 */
/* Dependencies through memory: for each issue, the earlier issues that it must wait for. They
 * follow from what each read and wrote of a block (ranges of bytes and partitions). Of the reads of
 * one engine, only the newest of the same bytes is kept, because engines run in order. Where the
 * compiler may reorder, such reads are made to start in order. Transfers out of a tile are all
 * kept: they start in order, but an older one may end later, on another DMA engine. */
#include "device/compile/inner.h"

#include <stdlib.h>

#define MOST_ACCESSES 4096 /* kept per block; beyond it the oldest are merged */

/* A range of a block: partitions [p0, p1], bytes [low, high]. */
struct range {
    uint32_t p0, p1;
    int64_t low, high;
};
struct access {
    struct range range;
    uint32_t issue;
    uint8_t queue;
    bool write;
    bool overtaken; /* a read that a newer one of the same queue may end before */
};
struct history {
    VEC(struct access) all;
};

/* The histories of all blocks. Tiles live for a few instructions and there are many of them, so the
 * memory of a history goes to the next block when nothing touches the first any more. */
struct memory {
    struct history *blocks;
    struct history *others; /* of second buffers, where a change gives blocks such; else NULL */
    uint32_t *last; /* per block on chip: the instruction that touches it last, under any alias */
    VEC(struct history) spare;
};

static bool overlap(const struct range *a, const struct range *b) {
    return a->low <= b->high && b->low <= a->high && a->p0 <= b->p1 && b->p0 <= a->p1;
}

static bool covers(const struct range *a, const struct range *b) {
    return a->p0 <= b->p0 && a->p1 >= b->p1 && a->low <= b->low && a->high >= b->high;
}

static struct range range_of(const struct nki_ap *ap, const struct device_reach *reach) {
    int64_t at = ap->offset * reach->size;
    return (struct range){reach->p0, reach->p1, at + reach->low, at + reach->high};
}

static void add_producer(struct depends *depends, uint32_t from, uint32_t issue) {
    for (size_t i = from; i < depends->producer.len; i++)
        if (depends->producer.at[i] == issue)
            return;
    *vec_push(&depends->producer) = issue;
}

/* An access to what an older one has touched too; whether it takes its place. */
static bool meet(struct depends *depends, uint32_t from, const struct access *old,
                 const struct access *access) {
    bool waits = old->write || access->write;
    if (waits)
        add_producer(depends, from, old->issue);
    bool replaced =
        covers(&access->range, &old->range) &&
        (access->write || (!old->write && old->queue == access->queue && !old->overtaken));
    if (replaced && !waits && depends->orders)
        add_producer(depends, from, old->issue | DEPENDS_ORDER);
    return replaced;
}

/* Collects what the access waits for, and drops from the history what it replaces. */
static void touch(struct depends *depends, struct history *history, uint32_t from,
                  struct access access) {
    size_t kept = 0;
    for (size_t i = 0; i < history->all.len; i++) {
        const struct access *old = &history->all.at[i];
        bool meets = old->issue != access.issue && overlap(&old->range, &access.range);
        if (meets && meet(depends, from, old, &access))
            continue;
        if (kept != i)
            history->all.at[kept] = *old;
        kept++;
    }
    history->all.len = kept;
    if (history->all.len >= MOST_ACCESSES) {
        struct access *first = &history->all.at[0], *second = &history->all.at[1];
        second->range = (struct range){MIN_OF(first->range.p0, second->range.p0),
                                       MAX_OF(first->range.p1, second->range.p1),
                                       MIN_OF(first->range.low, second->range.low),
                                       MAX_OF(first->range.high, second->range.high)};
        second->write |= first->write;
        *first = *second;
        history->all.at[1] = history->all.at[--history->all.len];
    }
    *vec_push(&history->all) = access;
}

/* HBM needs watching only where something is both written and read. */
static bool is_watched(const struct device_image *image, const struct block_operand *operand) {
    uint32_t storage = image->blocks[operand->first].storage;
    return !allocation_is_in(image, operand->first, NKI_HBM) ||
           (image->written[storage] && image->read[storage]);
}

static struct memory memory_make(const struct allocation *allocation) {
    const struct device_image *image = allocation->image;
    struct memory memory = {.blocks = mem_alloc(image->n_blocks, sizeof *memory.blocks),
                            .last = mem_alloc(image->n_blocks, sizeof *memory.last)};
    if (allocation->change && allocation->change->kind == COMPILE_CHANGE_BUFFER)
        memory.others = mem_alloc(image->n_blocks, sizeof *memory.others);
    for (uint32_t b = 0; b < image->n_blocks; b++) {
        uint32_t *last = &memory.last[allocation->alias[b]];
        bool kept = allocation_is_in(image, b, NKI_HBM) || image->blocks[b].last == DEVICE_NEVER;
        *last = MAX_OF(*last, kept ? DEVICE_NEVER : image->blocks[b].last);
    }
    return memory;
}

static struct history *history_of(struct memory *memory, uint32_t block) {
    struct history *history = &memory->blocks[block];
    if (!history->all.at && memory->spare.len)
        *history = memory->spare.at[--memory->spare.len];
    return history;
}

static void forget(struct memory *memory, uint32_t block) {
    struct history *history = &memory->blocks[block];
    if (!history->all.at)
        return;
    history->all.len = 0;
    *vec_push(&memory->spare) = *history;
    *history = (struct history){0};
}

static void memory_free(struct memory *memory, size_t n_blocks) {
    for (size_t b = 0; b < n_blocks; b++)
        vec_free(&memory->blocks[b].all);
    for (size_t b = 0; memory->others && b < n_blocks; b++)
        vec_free(&memory->others[b].all);
    free(memory->others);
    for (size_t i = 0; i < memory->spare.len; i++)
        vec_free(&memory->spare.at[i].all);
    vec_free(&memory->spare);
    free(memory->blocks);
    free(memory->last);
}

/* From now on the block is its other buffer. */
static void take_turns(struct memory *memory, uint32_t block) {
    struct history other = memory->others[block];
    memory->others[block] = memory->blocks[block];
    memory->blocks[block] = other;
}

static void touch_operand(struct depends *depends, struct memory *memory,
                          const struct allocation *allocation, const struct block_operand *operand,
                          struct access access) {
    access.write = operand->is_dst;
    access.overtaken = (access.queue == QUEUE_DMA_IN || access.queue == QUEUE_DMA_OUT) &&
                       !allocation_is_in(allocation->image, operand->first, NKI_HBM);
    for (uint32_t b = operand->first; b < operand->first + operand->count; b++)
        touch(depends, history_of(memory, allocation->alias[b]), depends->base[access.issue],
              access);
}

static void touch_block(struct depends *depends, struct memory *memory, uint32_t block,
                        struct access access) {
    access.range = (struct range){0, UINT32_MAX, 0, INT64_MAX};
    access.write = true;
    touch(depends, history_of(memory, block), depends->base[access.issue], access);
}

/* Takes all that instruction i touches, and drops the history of what it is the last to touch. */
static void touch_instruction(struct depends *depends, struct memory *memory,
                              const struct allocation *allocation, struct access access) {
    size_t n;
    uint32_t i = allocation->issues.at[access.issue].instr;
    struct device_reach own[DEVICE_MAX_OPERANDS];
    const struct block_operand *operands = allocation_operands(allocation, i, &n);
    const struct device_reach *reaches = device_reaches(allocation->image, i, own);
    /* This buffer is its own, so nothing has touched it before. */
    if (allocation_renames(allocation, i))
        forget(memory, allocation->alias[operands[0].first]);
    if (memory->others && allocation_takes_turns(allocation, i))
        take_turns(memory, allocation->alias[operands[0].first]);
    for (size_t k = 0; k < n; k++) {
        access.range = range_of(operands[k].ap, &reaches[k]);
        if (is_watched(allocation->image, &operands[k]))
            touch_operand(depends, memory, allocation, &operands[k], access);
    }
    for (size_t k = 0; k < n; k++)
        for (uint32_t b = operands[k].first; b < operands[k].first + operands[k].count; b++)
            if (memory->last[allocation->alias[b]] == i)
                forget(memory, allocation->alias[b]);
}

/* Turns the edges round. While consumers are filled in, base[p + 1] is where the next consumer of p
 * goes. At the end it is where the consumers of p + 1 begin. */
static void list_consumers(struct depends *depends) {
    size_t n = depends->n;
    depends->consumer_base = mem_alloc(n + 2, sizeof *depends->consumer_base);
    depends->consumer = mem_alloc(depends->producer.len + 1, sizeof *depends->consumer);
    for (size_t p = 0; p < depends->producer.len; p++)
        depends->consumer_base[(depends->producer.at[p] & ~DEPENDS_ORDER) + 2]++;
    for (size_t s = 0; s < n; s++)
        depends->consumer_base[s + 2] += depends->consumer_base[s + 1];
    for (uint32_t s = 0; s < n; s++)
        for (uint32_t p = depends->base[s]; p < depends->base[s + 1]; p++) {
            uint32_t producer = depends->producer.at[p];
            uint32_t *next = &depends->consumer_base[(producer & ~DEPENDS_ORDER) + 1];
            depends->consumer[(*next)++] = s | (producer & DEPENDS_ORDER);
        }
}

/* ---- what keeps its order ------------------------------------------------------------------- */

/* Where queues may reorder: per queue, what has to be kept in order. */
struct fences {
    uint32_t fence[QUEUE_COUNT];      /* the last issue that nothing passes, + 1; 0 */
    VEC(uint32_t) since[QUEUE_COUNT]; /* issues since then */
    uint32_t group[QUEUE_COUNT],
        of[QUEUE_COUNT]; /* the last one in a no_reorder block, and which */
    uint32_t meeting;    /* the last one that meets the other core, + 1 */
};

static void fences_free(struct fences *fences) {
    for (int queue = 0; queue < QUEUE_COUNT; queue++)
        vec_free(&fences->since[queue]);
}

/* Whether nothing of its engine passes the instruction: those that go by what a register holds, and
 * what sets one or branches. No operand says which those are. */
static bool is_fence(const struct nki_instr *instr, const struct block_operand *operands,
                     size_t n) {
    if (instr->op == NKI_OP_REGISTER_LOAD || instr->op == NKI_OP_REGISTER_STORE ||
        instr->op == NKI_OP_REGISTER_MATH || instr->op == NKI_OP_LOOP_BRANCH)
        return true;
    for (size_t k = 0; k < instr->n_operands; k++)
        if (instr->operands[k].kind == NKI_OPERAND_REG)
            return true;
    for (size_t k = 0; k < n; k++)
        if (operands[k].ap->indirect && !operands[k].ap->indirect->index)
            return true;
    return false;
}

static void start_after(struct depends *depends, uint32_t producer) {
    *vec_push(&depends->producer) = producer | DEPENDS_ORDER;
}

static void keep_order(struct depends *depends, struct fences *fences,
                       const struct allocation *allocation, uint32_t s, uint8_t queue) {
    size_t n;
    uint32_t i = allocation->issues.at[s].instr;
    const struct nki_instr *instr = &allocation->image->program->instrs.at[i];
    const struct block_operand *operands = allocation_operands(allocation, i, &n);
    if (fences->fence[queue])
        start_after(depends, fences->fence[queue] - 1);
    if (instr->more->order_group) {
        if (fences->group[queue] && fences->of[queue] == instr->more->order_group)
            start_after(depends, fences->group[queue] - 1);
        fences->group[queue] = s + 1;
        fences->of[queue] = instr->more->order_group;
    }
    if (instr->more->mate) {
        if (fences->meeting)
            start_after(depends, fences->meeting - 1);
        fences->meeting = s + 1;
    }
    if (!is_fence(instr, operands, n)) {
        *vec_push(&fences->since[queue]) = s;
        return;
    }
    for (size_t k = 0; k < fences->since[queue].len; k++)
        start_after(depends, fences->since[queue].at[k]);
    fences->since[queue].len = 0;
    fences->fence[queue] = s + 1;
}

/* What the kernel orders without operands that say so (NkiInstruction.depends_on). marked[m] is the
 * last issue with mark m, plus 1; a mark that no issue has any more orders nothing. */
static void follow_marks(struct depends *depends, const struct nki_more *more, uint32_t issue,
                         uint32_t *marked) {
    for (uint32_t i = 0; i < more->n_after; i++)
        if (marked[more->after[i]])
            add_producer(depends, depends->base[issue], marked[more->after[i]] - 1);
    if (more->mark)
        marked[more->mark] = issue + 1;
}

struct depends *depends_make(const struct allocation *allocation, const struct issue_costs *costs) {
    const struct device_image *image = allocation->image;
    struct depends *depends = mem_alloc(1, sizeof *depends);
    depends->n = allocation->issues.len;
    depends->orders = allocation->reorders;
    depends->base = mem_alloc(allocation->issues.len + 1, sizeof *depends->base);
    struct memory memory = memory_make(allocation);
    uint32_t *marked = mem_alloc((size_t)image->program->n_marks + 1, sizeof *marked);
    struct fences fences = {0};
    for (uint32_t s = 0; s < allocation->issues.len; s++) {
        const struct issue *issue = &allocation->issues.at[s];
        struct access access = {.issue = s, .queue = issue_cost_at(costs, s)->queue};
        depends->base[s] = (uint32_t)depends->producer.len;
        if (issue->kind == ISSUE_SAVE || issue->kind == ISSUE_RELOAD)
            touch_block(depends, &memory, issue->block, access);
        else if (issue->kind == ISSUE_INSTR)
            touch_instruction(depends, &memory, allocation, access);
        if (issue->kind == ISSUE_INSTR && depends->orders && !allocation->legacy)
            keep_order(depends, &fences, allocation, s, access.queue);
        if (issue->kind == ISSUE_INSTR)
            follow_marks(depends, image->program->instrs.at[issue->instr].more, s, marked);
        if (costs->after && costs->after[s] && depends->orders)
            add_producer(depends, depends->base[s], (costs->after[s] - 1) | DEPENDS_ORDER);
    }
    depends->base[allocation->issues.len] = (uint32_t)depends->producer.len;
    list_consumers(depends);
    memory_free(&memory, image->n_blocks);
    fences_free(&fences);
    free(marked);
    return depends;
}

void depends_end_producers(struct depends *depends) {
    vec_free(&depends->producer);
}

void depends_free(struct depends *depends) {
    if (!depends)
        return;
    free(depends->base);
    free(depends->consumer_base);
    free(depends->consumer);
    vec_free(&depends->producer);
    free(depends);
}
