/* SPDX-License-Identifier: Apache-2.0 */
/* Dependencies through memory: for each issue the earlier issues it must wait for, found by what
 * they read and wrote of each block (byte and partition ranges). Of the reads of one queue only the
 * newest of the same bytes is kept: queues run in order, and where the compiler may reorder, such
 * reads are made to start in order. */
#include "device/time/allocation.h"

#include <stdlib.h>

#define MOST_ACCESSES 4096 /* remembered per block; beyond it the oldest are merged */

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
};
struct history {
    VEC(struct access) all;
};

static bool overlap(const struct range *a, const struct range *b) {
    return a->p0 <= b->p1 && b->p0 <= a->p1 && a->low <= b->high && b->low <= a->high;
}

static bool covers(const struct range *a, const struct range *b) {
    return a->p0 <= b->p0 && a->p1 >= b->p1 && a->low <= b->low && a->high >= b->high;
}

static struct range range_of(const struct nki_program *program, const struct nki_ap *ap) {
    int64_t low, high;
    device_ap_span(program, ap, &low, &high);
    int64_t bytes = (int64_t)dtype_bytes(ap->dtype);
    struct range range = {0, 0, low * bytes, high * bytes + bytes - 1};
    if (program->storages.at[ap->storage].space != NKI_HBM) {
        range.p0 = ap->partition;
        range.p1 = ap->partition + (uint32_t)((ap->count[0] - 1) * (ap->step[0] ? ap->step[0] : 0));
    }
    return range;
}

static void add_producer(struct depends *depends, uint32_t from, uint32_t issue) {
    for (size_t i = from; i < depends->producer.len; i++)
        if (depends->producer.at[i] == issue)
            return;
    *vec_push(&depends->producer) = issue;
}

/* Collects what the access waits for and forgets what it replaces. */
static void touch(struct depends *depends, struct history *history, uint32_t from,
                  struct access access) {
    size_t kept = 0;
    bool orders = depends->orders;
    for (size_t i = 0; i < history->all.len; i++) {
        struct access *old = &history->all.at[i];
        bool meets = old->issue != access.issue && overlap(&old->range, &access.range);
        bool waits = meets && (old->write || access.write);
        if (waits)
            add_producer(depends, from, old->issue);
        bool replaced = access.write ? covers(&access.range, &old->range)
                                     : !old->write && old->queue == access.queue &&
                                           covers(&access.range, &old->range);
        if (!replaced || old->issue == access.issue)
            history->all.at[kept++] = *old;
        else if (!waits && orders)
            add_producer(depends, from, old->issue | DEPENDS_ORDER);
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
static bool *watched_storages(const struct allocation *allocation) {
    const struct nki_program *program = allocation->image->program;
    bool *written = mem_alloc(program->storages.len, sizeof *written);
    bool *read = mem_alloc(program->storages.len, sizeof *read);
    for (size_t i = 0; i < program->instrs.len; i++) {
        size_t n;
        const struct block_operand *operands = allocation_operands(allocation, i, &n);
        for (size_t k = 0; k < n; k++) {
            written[operands[k].ap->storage] |= operands[k].is_dst;
            read[operands[k].ap->storage] |= operands[k].is_src;
        }
    }
    for (size_t s = 0; s < program->storages.len; s++)
        if (program->storages.at[s].space == NKI_HBM)
            written[s] = written[s] && read[s];
        else
            written[s] = true;
    free(read);
    return written;
}

static void touch_operand(struct depends *depends, struct history *histories,
                          const struct allocation *allocation, uint32_t from,
                          const struct block_operand *operand, struct access access) {
    access.range = range_of(allocation->image->program, operand->ap);
    access.write = operand->is_dst;
    for (uint32_t b = operand->first; b < operand->first + operand->count; b++)
        touch(depends, &histories[allocation->alias[b]], from, access);
}

static void touch_block(struct depends *depends, struct history *histories, uint32_t from,
                        uint32_t block, struct access access) {
    access.range = (struct range){0, UINT32_MAX, 0, INT64_MAX};
    touch(depends, &histories[block], from, access);
}

/* Turns the edges round. While a producer's consumers are filled in, base[p + 1] is where the next
 * goes; it ends where those of p + 1 begin. */
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

struct depends *depends_make(const struct allocation *allocation, const struct issue_cost *costs) {
    const struct device_image *image = allocation->image;
    struct depends *depends = mem_alloc(1, sizeof *depends);
    depends->n = allocation->issues.len;
    depends->orders = allocation->reorders;
    depends->base = mem_alloc(allocation->issues.len + 1, sizeof *depends->base);
    struct history *histories = mem_alloc(image->n_blocks, sizeof *histories);
    bool *watched = watched_storages(allocation);
    for (uint32_t s = 0; s < allocation->issues.len; s++) {
        const struct issue *issue = &allocation->issues.at[s];
        uint32_t from = depends->base[s] = (uint32_t)depends->producer.len;
        struct access access = {.issue = s, .queue = costs[s].queue};
        if (issue->kind == ISSUE_SAVE || issue->kind == ISSUE_RELOAD) {
            access.write = true;
            touch_block(depends, histories, from, issue->block, access);
            continue;
        }
        if (issue->kind == ISSUE_RESIDENT)
            continue;
        size_t n;
        const struct block_operand *operands = allocation_operands(allocation, issue->instr, &n);
        for (size_t k = 0; k < n; k++)
            if (watched[operands[k].ap->storage])
                touch_operand(depends, histories, allocation, from, &operands[k], access);
    }
    depends->base[allocation->issues.len] = (uint32_t)depends->producer.len;
    list_consumers(depends);
    for (size_t b = 0; b < image->n_blocks; b++)
        vec_free(&histories[b].all);
    free(histories);
    free(watched);
    return depends;
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
