/* SPDX-License-Identifier: Apache-2.0 */
/* What each issue costs and which queue it is for. This is worked out once, for all schedules. */
#include "device/compile/inner.h"

#include <stdlib.h>

const char *const queue_names[QUEUE_COUNT] = {"Tensor", "Vector", "Scalar",
                                              "GpSimd", "DMA in", "DMA out"};

enum nki_engine queue_engine(enum queue queue) {
    static const enum nki_engine engines[QUEUE_COUNT] = {NKI_ENGINE_TENSOR, NKI_ENGINE_VECTOR,
                                                         NKI_ENGINE_SCALAR, NKI_ENGINE_GPSIMD,
                                                         NKI_ENGINE_DMA,    NKI_ENGINE_DMA};
    return engines[queue];
}

static enum queue queue_of_transfer(const struct device_image *image, size_t i) {
    const struct nki_operand *dst = &image->program->instrs.at[i].operands[NKI_DST];
    bool out = dst->kind == NKI_OPERAND_AP &&
               image->program->storages.at[dst->ap->storage]->space == NKI_HBM;
    return out ? QUEUE_DMA_OUT : QUEUE_DMA_IN;
}

static enum queue queue_of(const struct allocation *allocation, const struct issue *issue) {
    static const enum queue queues[NKI_ENGINE_COUNT] = {
        [NKI_ENGINE_UNKNOWN] = QUEUE_VECTOR, [NKI_ENGINE_TENSOR] = QUEUE_TENSOR,
        [NKI_ENGINE_SCALAR] = QUEUE_SCALAR,  [NKI_ENGINE_GPSIMD] = QUEUE_GPSIMD,
        [NKI_ENGINE_VECTOR] = QUEUE_VECTOR,  [NKI_ENGINE_SYNC] = QUEUE_GPSIMD};
    if (issue->kind == ISSUE_SAVE)
        return QUEUE_DMA_OUT;
    if (issue->kind == ISSUE_RELOAD)
        return QUEUE_DMA_IN;
    enum nki_engine engine = (enum nki_engine)allocation->engine[issue->instr];
    return engine == NKI_ENGINE_DMA ? queue_of_transfer(allocation->image, issue->instr)
                                    : queues[engine];
}

/* The set that holds an activation function; 0: it is in every set. Which functions share a set is
 * not published. Here exp shares one with the functions built on it. */
static uint16_t function_set(const struct nki_instr *instr) {
    if (instr->op != NKI_OP_ACTIVATION && instr->op != NKI_OP_ACTIVATION_REDUCE &&
        instr->op != NKI_OP_ACTIVATE2)
        return 0;
    switch (instr->operands[NKI_ACTIVATION_op].i) {
    case NKI_FUNC_COPY:
    case NKI_FUNC_SQUARE:
    case NKI_FUNC_ABS:
    case NKI_FUNC_SIGN:
    case NKI_FUNC_RELU: return 0;
    default: return (uint16_t)instr->operands[NKI_ACTIVATION_op].i;
    }
}

/* Who triggers a transfer: GpSimd where it writes the descriptors, otherwise the engine that the
 * kernel names, otherwise the Sync engine. */
static enum nki_engine issuer_of(const struct allocation *allocation, const struct issue *issue,
                                 const struct transfer *transfer) {
    uint8_t asked = allocation->image->program->instrs.at[issue->instr].engine;
    bool own = issue->kind == ISSUE_INSTR && asked > NKI_ENGINE_UNKNOWN &&
               asked < NKI_ENGINE_COUNT && asked != NKI_ENGINE_DMA;
    if (transfer->software)
        return NKI_ENGINE_GPSIMD;
    return own ? (enum nki_engine)asked : NKI_ENGINE_SYNC;
}

static double issue_ns(const struct allocation *allocation, const struct issue *issue,
                       const struct issue_cost *cost, const struct device_constants *table) {
    if (cost->transfer.software)
        return (double)cost->transfer.written * table->dma_software_ns;
    /* The compiler deals transfers among the blocks that make descriptors. */
    if (allocation->makes_descriptors)
        return table->dma_issue_ns / allocation->image->generation->dge_blocks;
    /* Without them, it lays descriptors down before the kernel starts. */
    bool is_static = allocation->legacy || cost->issuer == NKI_ENGINE_GPSIMD ||
                     (issue->kind == ISSUE_INSTR &&
                      transfer_dge(allocation->image, issue->instr) == NKI_DGE_NONE);
    return is_static ? table->dma_static_issue_ns : table->dma_issue_ns;
}

/* What passes between the issue of a transfer and its start besides dma_start_ns. While one block
 * makes the descriptors of a transfer, the other block is free for the next one, so that an issue
 * is over before they are made. Without the blocks, the legacy compiler makes GpSimd issue all
 * transfers, but a store waits for an engine, and a load for nobody. */
static double lead_ns(const struct allocation *allocation, const struct issue_cost *cost,
                      const struct device_constants *table) {
    if (allocation->makes_descriptors && !cost->transfer.software)
        return table->dma_issue_ns - cost->issue_ns;
    return cost->queue == QUEUE_DMA_OUT && allocation->legacy ? table->dma_wait_ns : 0;
}

static struct issue_cost cost_of_transfer(const struct allocation *allocation,
                                          const struct issue *issue,
                                          const struct device_constants *table) {
    bool spill = issue->kind == ISSUE_SAVE || issue->kind == ISSUE_RELOAD;
    struct issue_cost cost = {.queue = (uint8_t)queue_of(allocation, issue)};
    cost.transfer = spill ? transfer_of_spill(allocation, issue, table)
                          : transfer_of(allocation, issue->instr, table);
    cost.issuer = (uint8_t)issuer_of(allocation, issue, &cost.transfer);
    cost.issue_ns = cost_on_grid(issue_ns(allocation, issue, &cost, table));
    cost.start_ns = cost_on_grid(table->dma_start_ns + lead_ns(allocation, &cost, table));
    return cost;
}

static struct issue_cost cost_of_issue(const struct allocation *allocation,
                                       const struct issue *issue,
                                       const struct device_constants *table) {
    const struct device_image *image = allocation->image;
    struct issue_cost result = {.queue = (uint8_t)queue_of(allocation, issue)};
    if (issue->kind == ISSUE_ABSENT)
        return result;
    if (result.queue == QUEUE_DMA_IN || result.queue == QUEUE_DMA_OUT)
        return cost_of_transfer(allocation, issue, table);
    struct cost_place place = {(enum nki_engine)allocation->engine[issue->instr],
                               allocation->input_in_psum &&
                                   allocation->input_in_psum[issue->instr]};
    struct cost cost = cost_of(image->program, issue->instr, place, table);
    result.interval_ns = cost.interval_ns;
    result.latency_ns = cost.latency_ns;
    result.active_ns = cost.active_ns;
    result.port = cost.port;
    result.tiles = cost.tiles;
    if (allocation->again && allocation->again[issue->instr]) {
        result.interval_ns += cost.interval_ns;
        result.latency_ns += cost.interval_ns;
        result.active_ns += cost.active_ns;
    }
    if (result.queue == QUEUE_SCALAR)
        result.function_set = function_set(&image->program->instrs.at[issue->instr]);
    return result;
}

/* ---- costs that are the same ---------------------------------------------------------------- */

static bool same_transfer(const struct transfer *a, const struct transfer *b) {
    return a->engines == b->engines && a->first == b->first && a->engine_ns == b->engine_ns &&
           a->bytes == b->bytes && a->descriptors == b->descriptors &&
           a->reads_hbm == b->reads_hbm && a->writes_hbm == b->writes_hbm &&
           a->software == b->software && a->written == b->written;
}

static bool same_cost(const struct issue_cost *a, const struct issue_cost *b) {
    return a->interval_ns == b->interval_ns && a->latency_ns == b->latency_ns &&
           a->issue_ns == b->issue_ns && a->start_ns == b->start_ns &&
           a->active_ns == b->active_ns && a->function_set == b->function_set &&
           a->port == b->port && a->tiles == b->tiles && a->queue == b->queue &&
           a->issuer == b->issuer && same_transfer(&a->transfer, &b->transfer);
}

static uint64_t hash_of(const struct issue_cost *cost) {
    double times[] = {cost->interval_ns, cost->latency_ns, cost->transfer.engine_ns};
    uint64_t bits[COUNT_OF(times)], hash = cost->queue + 8 * (uint64_t)cost->transfer.first;
    memcpy(bits, times, sizeof bits);
    for (size_t i = 0; i < COUNT_OF(bits); i++)
        hash = (hash ^ bits[i]) * 0x9e3779b97f4a7c15ULL;
    return hash;
}

/* The numbers of costs, plus 1, by hash; 0: free. Half of them at least are free. */
struct places {
    uint32_t *at;
    size_t size;
};

static uint32_t *place_of(const struct places *places, const struct issue_costs *costs,
                          const struct issue_cost *cost) {
    size_t at = hash_of(cost) >> 32 & (places->size - 1);
    while (places->at[at] && !same_cost(&costs->all.at[places->at[at] - 1], cost))
        at = (at + 1) & (places->size - 1);
    return &places->at[at];
}

static void make_room(struct places *places, const struct issue_costs *costs) {
    free(places->at);
    places->size *= 2;
    places->at = mem_alloc(places->size, sizeof *places->at);
    for (uint32_t i = 0; i < costs->all.len; i++)
        *place_of(places, costs, &costs->all.at[i]) = i + 1;
}

static uint32_t number_of(struct issue_costs *costs, struct places *places,
                          const struct issue_cost *cost) {
    uint32_t *place = place_of(places, costs, cost);
    if (*place)
        return *place - 1;
    *vec_push(&costs->all) = *cost;
    *place = (uint32_t)costs->all.len;
    if (2 * costs->all.len > places->size)
        make_room(places, costs);
    return (uint32_t)costs->all.len - 1;
}

/* ---- costs that are known ------------------------------------------------------------------- */

/* What an instruction of a kind costs where it is. There are few places for each kind. */
struct known {
    uint32_t place, cost; /* the cost's number */
    uint32_t next;        /* of the same kind: number + 1; 0: none */
};
struct all_known {
    VEC(struct known) all;
    uint32_t *of_kind; /* number + 1 of one of them; 0: none */
};

/* All that decides about an issue's cost beside its kind. */
static uint32_t place_in(const struct allocation *allocation, const struct issue *issue) {
    uint32_t i = issue->instr;
    bool psum = allocation->input_in_psum && allocation->input_in_psum[i];
    bool again = allocation->again && allocation->again[i];
    const struct nki_program *program = allocation->image->program;
    bool product = program->instrs.at[device_like(allocation->image, i)].op == NKI_OP_NC_MATMUL;
    bool weights = product && cost_has_weights(program, i);
    return (uint32_t)allocation->engine[i] << 4 | (uint32_t)(issue->kind == ISSUE_ABSENT) << 3 |
           (uint32_t)psum << 2 | (uint32_t)again << 1 | (uint32_t)weights;
}

/* The cost's number; UINT32_MAX: it is not known. */
static uint32_t find_known(const struct all_known *known, uint32_t kind, uint32_t place) {
    for (uint32_t k = known->of_kind[kind]; k; k = known->all.at[k - 1].next)
        if (known->all.at[k - 1].place == place)
            return known->all.at[k - 1].cost;
    return UINT32_MAX;
}

static void note_known(struct all_known *known, uint32_t kind, uint32_t place, uint32_t cost) {
    *vec_push(&known->all) = (struct known){place, cost, known->of_kind[kind]};
    known->of_kind[kind] = (uint32_t)known->all.len;
}

/* ---- changes that are timed ----------------------------------------------------------------- */

static bool is_changed(const struct allocation *allocation, const struct issue *issue) {
    const struct nki_program *program = allocation->image->program;
    const struct nki_instr *instr = &program->instrs.at[issue->instr];
    const struct compile_change *change = allocation->change;
    if (issue->kind != ISSUE_INSTR || (change->op != NKI_OP_COUNT && instr->op != change->op) ||
        instr->loc >= program->locs.len)
        return false;
    const struct nki_loc *loc = &program->locs.at[instr->loc];
    return loc->file == change->file && loc->line == change->line;
}

static struct issue_cost cost_of_nothing(const struct issue_cost *cost) {
    struct issue_cost none = {
        .queue = cost->queue, .issuer = cost->issuer, .transfer = cost->transfer};
    none.transfer.engine_ns = 0;
    none.transfer.bytes = none.transfer.descriptors = none.transfer.written = 0;
    return none;
}

#define JOINED_MOST 8 /* transfers that are one */

/* The transfers of a group: the one that moves the bytes of all, and those that take none of the
 * DMA engines' time, but wait for it there. */
static void join_group(const struct allocation *allocation, struct places *places,
                       struct issue_costs *costs, const uint32_t *issues,
                       const struct device_constants *table) {
    uint32_t members[JOINED_MOST], n = allocation->change->times;
    for (uint32_t k = 0; k < n; k++)
        members[k] = allocation->issues.at[issues[k]].instr;
    if (!allocation_joins(allocation, members, n)) {
        costs->fails = true;
        return;
    }
    struct issue_cost whole = costs->all.at[costs->of[issues[0]]], none;
    whole.transfer = transfer_joined(allocation, members, n, table);
    none = cost_of_nothing(&whole);
    none.start_ns = whole.start_ns;
    uint32_t moves = whole.queue == QUEUE_DMA_IN ? 0 : n - 1;
    for (uint32_t k = 0; k < n; k++) {
        costs->of[issues[k]] = number_of(costs, places, k == moves ? &whole : &none);
        costs->after[issues[k]] = k ? issues[k - 1] + 1 : 0;
    }
}

static void join_transfers(const struct allocation *allocation, struct places *places,
                           struct issue_costs *costs, const struct device_constants *table) {
    uint32_t group[JOINED_MOST], n = 0, groups = 0, times = allocation->change->times;
    costs->fails = times < 2 || times > JOINED_MOST || allocation->gaps.len;
    costs->after = mem_alloc(allocation->issues.len + 1, sizeof *costs->after);
    for (uint32_t s = 0; s < allocation->issues.len && !costs->fails; s++) {
        if (!is_changed(allocation, &allocation->issues.at[s]))
            continue;
        group[n++] = s;
        if (n < times)
            continue;
        join_group(allocation, places, costs, group, table);
        groups++;
        n = 0;
    }
    costs->fails |= n || groups < 2;
}

static void change_costs(const struct allocation *allocation, struct places *places,
                         struct issue_costs *costs, const struct device_constants *table) {
    if (allocation->change && allocation->change->kind == COMPILE_CHANGE_JOINED)
        join_transfers(allocation, places, costs, table);
    if (!allocation->change || allocation->change->kind != COMPILE_CHANGE_WITHOUT)
        return;
    for (uint32_t s = 0; s < allocation->issues.len; s++) {
        if (!is_changed(allocation, &allocation->issues.at[s]))
            continue;
        struct issue_cost none = cost_of_nothing(&costs->all.at[costs->of[s]]);
        costs->of[s] = number_of(costs, places, &none);
    }
}

struct issue_costs *issue_costs_make(const struct allocation *allocation,
                                     const struct device_constants *table) {
    const struct device_image *image = allocation->image;
    struct issue_costs *costs = mem_alloc(1, sizeof *costs);
    struct places places = {.size = 64};
    struct all_known known = {.of_kind = mem_alloc(image->kinds.len + 1, sizeof *known.of_kind)};
    costs->of = mem_alloc(allocation->issues.len + 1, sizeof *costs->of);
    make_room(&places, costs);
    for (size_t s = 0; s < allocation->issues.len; s++) {
        const struct issue *issue = &allocation->issues.at[s];
        bool spill = issue->kind == ISSUE_SAVE || issue->kind == ISSUE_RELOAD;
        uint32_t kind = image->kind[issue->instr], place = place_in(allocation, issue);
        costs->of[s] = spill ? UINT32_MAX : find_known(&known, kind, place);
        if (costs->of[s] != UINT32_MAX)
            continue;
        struct issue_cost cost = cost_of_issue(allocation, issue, table);
        costs->of[s] = number_of(costs, &places, &cost);
        if (!spill)
            note_known(&known, kind, place, costs->of[s]);
    }
    change_costs(allocation, &places, costs, table);
    vec_free(&known.all);
    free(known.of_kind);
    free(places.at);
    return costs;
}

void issue_costs_free(struct issue_costs *costs) {
    if (!costs)
        return;
    vec_free(&costs->all);
    free(costs->of);
    free(costs->after);
    free(costs);
}
