/* SPDX-License-Identifier: Apache-2.0 */
/* The schedule: every engine takes its instructions in order, transfers go through two queues (in,
 * out) that share the descriptor generator and the DMA engines; a step starts when its lane is
 * free, what it depends on is visible, and its memory can be had. Memory is handed out in program
 * order, so that an engine runs ahead as far as SBUF and PSUM allow. Lanes are advanced in the
 * order of their next start, which makes the result deterministic. */
#include "device/plan.h"

#include <math.h>
#include <stdlib.h>

#define MOST_DMA_ENGINES 64

const char *const lane_names[LANE_COUNT] = {"Tensor", "Vector", "Scalar",
                                            "GpSimd", "DMA in", "DMA out"};

enum nki_engine lane_engine(enum lane lane) {
    static const enum nki_engine engines[LANE_COUNT] = {
        NKI_ENGINE_TENSOR, NKI_ENGINE_VECTOR, NKI_ENGINE_SCALAR,
        NKI_ENGINE_GPSIMD, NKI_ENGINE_DMA,    NKI_ENGINE_DMA};
    return engines[lane];
}

static enum lane lane_of_transfer(const struct device_image *image, size_t i) {
    const struct nki_operand *dst = &image->program->instrs.at[i].operands[0];
    bool out = dst->kind == NKI_OPERAND_AP &&
               image->program->storages.at[dst->ap->storage].space == NKI_HBM;
    return out ? LANE_DMA_OUT : LANE_DMA_IN;
}

uint8_t *timeline_lanes(const struct plan *plan) {
    static const enum lane lanes[NKI_ENGINE_COUNT] = {
        [NKI_ENGINE_UNKNOWN] = LANE_VECTOR, [NKI_ENGINE_TENSOR] = LANE_TENSOR,
        [NKI_ENGINE_SCALAR] = LANE_SCALAR,  [NKI_ENGINE_GPSIMD] = LANE_GPSIMD,
        [NKI_ENGINE_VECTOR] = LANE_VECTOR,  [NKI_ENGINE_SYNC] = LANE_GPSIMD};
    uint8_t *result = mem_alloc(plan->steps.len, 1);
    for (size_t s = 0; s < plan->steps.len; s++) {
        const struct step *step = &plan->steps.at[s];
        enum nki_engine engine = (enum nki_engine)plan->image->engine[step->instr];
        if (step->kind == STEP_SAVE)
            result[s] = LANE_DMA_OUT;
        else if (step->kind == STEP_RELOAD)
            result[s] = LANE_DMA_IN;
        else if (engine == NKI_ENGINE_DMA)
            result[s] = (uint8_t)lane_of_transfer(plan->image, step->instr);
        else
            result[s] = (uint8_t)lanes[engine];
    }
    return result;
}

/* ---- memory ------------------------------------------------------------------------------------ */

/* Memory that comes back at a time: a heap, earliest first. */
struct give {
    double when;
    uint64_t bytes;
    uint32_t step;
};
struct pool {
    uint64_t capacity, used;
    VEC(struct give) heap;
    double when;                /* the newest memory given out was free from then on */
    int32_t cause;
};

static void heap_push(struct pool *pool, struct give give) {
    (void)vec_push(&pool->heap);
    size_t at = pool->heap.len - 1;
    while (at && pool->heap.at[(at - 1) / 2].when > give.when) {
        pool->heap.at[at] = pool->heap.at[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    pool->heap.at[at] = give;
}

static struct give heap_pop(struct pool *pool) {
    struct give first = pool->heap.at[0], last = pool->heap.at[--pool->heap.len];
    size_t at = 0, child;
    while ((child = 2 * at + 1) < pool->heap.len) {
        if (child + 1 < pool->heap.len && pool->heap.at[child + 1].when < pool->heap.at[child].when)
            child++;
        if (pool->heap.at[child].when >= last.when)
            break;
        pool->heap.at[at] = pool->heap.at[child];
        at = child;
    }
    if (pool->heap.len)
        pool->heap.at[at] = last;
    return first;
}

/* ---- the state of a run ------------------------------------------------------------------------ */

struct run {
    const struct plan *plan;
    const struct depends *depends;
    const struct cost_table *table;
    struct timeline *time;
    int lifted;
    VEC(uint32_t) queue[LANE_COUNT];
    size_t head[LANE_COUNT];
    double lane_free[LANE_COUNT];
    int32_t lane_last[LANE_COUNT];
    double engine_free[MOST_DMA_ENGINES];
    int32_t engine_last[MOST_DMA_ENGINES];
    uint32_t engine_next;       /* where the next narrow transfer goes */
    double issuer_free;
    int32_t issuer_last;
    struct pool sbuf, psum;
    size_t taken, reserved;     /* memory events done; of the next step: found room */
    bool force;
    bool *takes_memory;         /* per step */
    uint32_t *give_base;        /* per step: its entries in plan->gives */
    double pe_warm_at, pe_last_end;
    int scalar_set;             /* activation functions that are loaded */
    bool *done;
};

/* What a step could start with: when, and which step held it up. */
struct offer {
    bool possible;
    double start;
    int32_t cause;
};

static void wait_for(struct offer *offer, double when, int32_t cause) {
    if (when > offer->start) {
        offer->start = when;
        offer->cause = cause;
    }
}

static double seen_at(const struct run *run, uint32_t producer, uint8_t lane) {
    double when = run->time->visible[producer];
    return run->time->lane[producer] == lane ? when : when + run->table->semaphore_ns;
}

static bool ready(const struct run *run, uint32_t s, struct offer *offer) {
    uint8_t lane = run->time->lane[s];
    for (uint32_t p = run->depends->base[s]; p < run->depends->base[s + 1]; p++) {
        uint32_t producer = run->depends->producer.at[p];
        if (!run->done[producer])
            return false;
        /* One PE instruction may follow another into the same PSUM tile at once. */
        if (lane == LANE_TENSOR && run->time->lane[producer] == LANE_TENSOR)
            continue;
        wait_for(offer, seen_at(run, producer, lane), (int32_t)producer);
    }
    return true;
}

static struct pool *pool_of(struct run *run, uint32_t block) {
    const struct device_image *image = run->plan->image;
    bool psum = image->program->storages.at[image->blocks[block].storage].space == NKI_PSUM;
    return psum ? &run->psum : &run->sbuf;
}

/* Makes sure, once, that the next step to take memory can have it: pops what comes back until it
 * fits and remembers when that is. False: too little has come back so far. */
static bool make_room(struct run *run, uint32_t s) {
    const struct plan *plan = run->plan;
    for (size_t e = run->taken + run->reserved;
         e < plan->takes.len && plan->takes.at[e].step == s; e++) {
        uint32_t block = plan->takes.at[e].block;
        struct pool *pool = pool_of(run, block);
        uint64_t bytes = plan_block_bytes(plan->image, block);
        while (pool->used + bytes > pool->capacity && pool->heap.len) {
            struct give give = heap_pop(pool);
            pool->used -= give.bytes;
            if (give.when > pool->when) {
                pool->when = give.when;
                pool->cause = (int32_t)give.step;
            }
        }
        if (pool->used + bytes > pool->capacity && !run->force)
            return false;
        pool->used += bytes;
        run->reserved++;
    }
    return true;
}

static bool memory_ready(struct run *run, uint32_t s, struct offer *offer) {
    const struct memory_event *takes = run->plan->takes.at;
    if (!run->takes_memory[s])
        return true;
    if (takes[run->taken].step != s || !make_room(run, s))
        return false;
    for (size_t e = run->taken; e < run->taken + run->reserved; e++) {
        const struct pool *pool = pool_of(run, takes[e].block);
        wait_for(offer, pool->when, pool->cause);
    }
    return true;
}

static void settle_memory(struct run *run, uint32_t s) {
    const struct plan *plan = run->plan;
    if (run->takes_memory[s]) {
        run->taken += run->reserved;
        run->reserved = 0;
    }
    for (uint32_t g = run->give_base[s]; g < run->give_base[s + 1]; g++) {
        uint32_t block = plan->gives.at[g].block;
        heap_push(pool_of(run, block),
                  (struct give){run->time->visible[s], plan_block_bytes(plan->image, block), s});
    }
}

/* ---- engines ----------------------------------------------------------------------------------- */

/* The set an activation function is loaded with; 0: in every set. Which functions share a set is
 * not published; exp stands with what is built on it. */
static int function_set(const struct nki_instr *instr) {
    if (instr->op != NKI_OP_ACTIVATION && instr->op != NKI_OP_ACTIVATION_REDUCE &&
        instr->op != NKI_OP_ACTIVATE2)
        return 0;
    switch (instr->operands[1].i) {
    case NKI_FUNC_COPY:
    case NKI_FUNC_SQUARE:
    case NKI_FUNC_ABS:
    case NKI_FUNC_SIGN:
    case NKI_FUNC_RELU:
        return 0;
    default:
        return (int)instr->operands[1].i;
    }
}

static double scalar_table_load(struct run *run, const struct nki_instr *instr) {
    int set = function_set(instr);
    if (!set || set == run->scalar_set)
        return 0;
    run->scalar_set = set;
    return run->table->scalar_table_ns;
}

/* After idling the Tensor engine runs at half its clock for a while (Neuron Explorer, summary
 * page). */
static double pe_cold_extra(struct run *run, double start, double interval) {
    const struct cost_table *table = run->table;
    if (table->pe_cold_ns <= 0)
        return 0;
    if (start - run->pe_last_end > table->pe_idle_ns)
        run->pe_warm_at = start + table->pe_cold_ns;
    double extra = start < run->pe_warm_at ? MIN_OF(interval, run->pe_warm_at - start) : 0;
    run->time->throttled_ns += extra;
    return extra;
}

static void run_on_engine(struct run *run, uint32_t s, const struct offer *offer) {
    const struct step *step = &run->plan->steps.at[s];
    const struct nki_program *program = run->plan->image->program;
    uint8_t lane = run->time->lane[s];
    struct cost cost = {0, 0};
    if ((int)lane != run->lifted)
        cost = cost_of(program, step->instr, (enum nki_engine)run->plan->image->engine[step->instr],
                       run->table);
    double extra = 0;
    if (lane == LANE_SCALAR && run->lifted != LANE_SCALAR)
        extra = scalar_table_load(run, &program->instrs.at[step->instr]);
    if (lane == LANE_TENSOR && run->lifted != LANE_TENSOR)
        extra = pe_cold_extra(run, offer->start, cost.interval_ns);
    run->time->start[s] = offer->start;
    run->time->end[s] = offer->start + cost.interval_ns + extra;
    run->time->visible[s] = offer->start + cost.latency_ns + extra;
    if (lane == LANE_TENSOR)
        run->pe_last_end = run->time->end[s];
    run->lane_free[lane] = run->time->end[s];
}

/* ---- transfers --------------------------------------------------------------------------------- */

static struct transfer transfer_of_step(const struct run *run, const struct step *step) {
    if (step->kind == STEP_INSTR)
        return transfer_of(run->plan->image, step->instr, run->table);
    return transfer_of_block(run->plan->image, step->block, step->kind == STEP_SAVE, run->table);
}

static double issue_ns(const struct run *run) {
    /* The legacy compiler lays descriptors down before the kernel starts. */
    bool static_descriptors = run->plan->image->program->dialect == NKI_DIALECT_LEGACY;
    return static_descriptors ? run->table->dma_static_issue_ns : run->table->dma_issue_ns;
}

static void run_transfer(struct run *run, uint32_t s, const struct offer *offer) {
    struct timeline *time = run->time;
    uint8_t lane = time->lane[s];
    if (run->lifted == LANE_DMA_IN || run->lifted == LANE_DMA_OUT) {
        time->start[s] = time->end[s] = time->visible[s] = offer->start;
        run->lane_free[lane] = offer->start;
        return;
    }
    struct transfer transfer = transfer_of_step(run, &run->plan->steps.at[s]);
    double issued = offer->start + issue_ns(run);
    run->issuer_free = issued;
    run->issuer_last = (int32_t)s;
    run->lane_free[lane] = issued;
    uint32_t engines = run->plan->image->generation->dma_engines;
    double first = INFINITY, last = 0;
    for (uint32_t k = 0; k < transfer.engines; k++) {
        uint32_t e = (run->engine_next + k) % engines;
        double start = MAX_OF(issued + run->table->dma_start_ns, run->engine_free[e]);
        if (start > issued + run->table->dma_start_ns && start >= last - transfer.engine_ns)
            time->cause[s] = run->engine_last[e];
        run->engine_free[e] = start + transfer.engine_ns;
        run->engine_last[e] = (int32_t)s;
        first = MIN_OF(first, start);
        last = MAX_OF(last, run->engine_free[e]);
    }
    run->engine_next = (run->engine_next + transfer.engines) % engines;
    time->start[s] = first;
    time->end[s] = last;
    time->visible[s] = last + run->table->dma_complete_ns;
}

/* ---- the run ----------------------------------------------------------------------------------- */

static bool offer_of(struct run *run, uint8_t lane, struct offer *offer) {
    if (run->head[lane] == run->queue[lane].len)
        return false;
    uint32_t s = run->queue[lane].at[run->head[lane]];
    *offer = (struct offer){.start = 0, .cause = -1};
    wait_for(offer, run->lane_free[lane], run->lane_last[lane]);
    if (run->plan->steps.at[s].kind != STEP_RESIDENT &&
        (lane == LANE_DMA_IN || lane == LANE_DMA_OUT))
        wait_for(offer, run->issuer_free, run->issuer_last);
    return ready(run, s, offer) && memory_ready(run, s, offer);
}

static void take_step(struct run *run, uint8_t lane, const struct offer *offer) {
    uint32_t s = run->queue[lane].at[run->head[lane]++];
    run->time->cause[s] = offer->cause;
    if (run->plan->steps.at[s].kind == STEP_RESIDENT)
        run->time->start[s] = run->time->end[s] = run->time->visible[s] = offer->start;
    else if (lane == LANE_DMA_IN || lane == LANE_DMA_OUT)
        run_transfer(run, s, offer);
    else
        run_on_engine(run, s, offer);
    run->lane_last[lane] = (int32_t)s;
    run->done[s] = true;
    run->time->latency_ns = MAX_OF(run->time->latency_ns, run->time->visible[s]);
    settle_memory(run, s);
}

static bool advance(struct run *run) {
    struct offer best = {.start = INFINITY}, offer;
    int chosen = -1;
    for (uint8_t lane = 0; lane < LANE_COUNT; lane++)
        if (offer_of(run, lane, &offer) && offer.start < best.start) {
            best = offer;
            chosen = lane;
        }
    if (chosen < 0)
        return false;
    take_step(run, (uint8_t)chosen, &best);
    return true;
}

static void run_begin(struct run *run) {
    const struct plan *plan = run->plan;
    size_t n = plan->steps.len;
    run->done = mem_alloc(n, sizeof *run->done);
    run->takes_memory = mem_alloc(n, sizeof *run->takes_memory);
    run->give_base = mem_alloc(n + 1, sizeof *run->give_base);
    for (size_t e = 0; e < plan->takes.len; e++)
        run->takes_memory[plan->takes.at[e].step] = true;
    for (size_t e = 0; e < plan->gives.len; e++)
        run->give_base[plan->gives.at[e].step + 1]++;
    for (size_t s = 0; s < n; s++) {
        run->give_base[s + 1] += run->give_base[s];
        *vec_push(&run->queue[run->time->lane[s]]) = (uint32_t)s;
    }
    for (int lane = 0; lane < LANE_COUNT; lane++)
        run->lane_last[lane] = -1;
    run->issuer_last = run->sbuf.cause = run->psum.cause = -1;
    run->sbuf.capacity = plan->image->generation->sbuf_partition_bytes;
    run->psum.capacity = plan->image->generation->psum_partition_bytes;
    run->pe_last_end = -INFINITY;
}

static void run_end(struct run *run) {
    for (int lane = 0; lane < LANE_COUNT; lane++)
        vec_free(&run->queue[lane]);
    vec_free(&run->sbuf.heap);
    vec_free(&run->psum.heap);
    free(run->done);
    free(run->takes_memory);
    free(run->give_base);
}

struct timeline *timeline_make(const struct plan *plan, const struct depends *depends,
                               const struct cost_table *table, int lifted) {
    size_t n = plan->steps.len;
    struct timeline *time = mem_alloc(1, sizeof *time);
    time->start = mem_alloc(n, sizeof *time->start);
    time->end = mem_alloc(n, sizeof *time->end);
    time->visible = mem_alloc(n, sizeof *time->visible);
    time->cause = mem_alloc(n, sizeof *time->cause);
    time->lane = timeline_lanes(plan);
    struct run run = {.plan = plan, .depends = depends, .table = table, .time = time,
                      .lifted = lifted};
    run_begin(&run);
    for (size_t step = 0; step < n;) {
        /* When no lane can go on because what comes back is not enough (the kernel holds more than
         * there is), the next in program order gets its memory all the same. */
        bool moved = advance(&run);
        if (!moved && run.force)
            HONE_BUG("the schedule is stuck");
        run.force = !moved;
        step += moved;
    }
    run_end(&run);
    return time;
}

void timeline_free(struct timeline *time) {
    if (!time)
        return;
    free(time->start);
    free(time->end);
    free(time->visible);
    free(time->cause);
    free(time->lane);
    free(time);
}
