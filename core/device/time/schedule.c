/* SPDX-License-Identifier: Apache-2.0 */
/* The schedule: a simulation from event to event. An issue can start when what it depends on is
 * visible, its memory is granted and its queue is free. The compilers reorder (nl.no_reorder says
 * where the current one may not): a queue takes, of the issues that are ready within a window, the
 * earliest in program order. Without that pass every queue takes its issues in program order.
 * Memory is granted in program order, which bounds how far a queue runs ahead and makes a deadlock
 * impossible. The result is deterministic. */
#include "device/time/run.h"

#include <math.h>
#include <stdlib.h>

/* How far compilers reorder: this many issues past the oldest that is not done. The value is set on
 * the latencies published for NKIBench's baselines, of the legacy dialect; of the current one,
 * half of it and twice as much name fewer of the published pairs right. */
#define WINDOW 128
#define ALL_QUEUES ((1u << QUEUE_COUNT) - 1)
/* Transfers of either direction wait for the engine that issues them. */
#define DMA_QUEUES (1u << QUEUE_DMA_IN | 1u << QUEUE_DMA_OUT)

/* ---- heaps ---------------------------------------------------------------------------------- */

static bool before(const struct entry *a, const struct entry *b) {
    return a->key < b->key || (a->key <= b->key && a->issue < b->issue);
}

static void heap_push(struct heap *heap, struct entry entry) {
    (void)vec_push(&heap->all);
    size_t at = heap->all.len - 1;
    while (at && before(&entry, &heap->all.at[(at - 1) / 2])) {
        heap->all.at[at] = heap->all.at[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap->all.at[at] = entry;
}

static struct entry heap_pop(struct heap *heap) {
    struct entry first = heap->all.at[0], last = heap->all.at[--heap->all.len];
    size_t at = 0, child;
    while ((child = 2 * at + 1) < heap->all.len) {
        if (child + 1 < heap->all.len && before(&heap->all.at[child + 1], &heap->all.at[child]))
            child++;
        if (!before(&heap->all.at[child], &last))
            break;
        heap->all.at[at] = heap->all.at[child];
        at = child;
    }
    if (heap->all.len)
        heap->all.at[at] = last;
    return first;
}

/* ---- the state of a run --------------------------------------------------------------------- */

static bool is_dma(const struct run *run, uint32_t s) {
    uint8_t queue = run->issues[s].queue;
    return queue == QUEUE_DMA_IN || queue == QUEUE_DMA_OUT;
}

static void blame(struct run *run, uint32_t s, int32_t cause, enum device_wait why) {
    if (!run->keeps)
        return;
    run->time->cause[s] = cause;
    if (run->time->why)
        run->time->why[s] = (struct reason){.last = (uint8_t)why, .since = -1};
}

/* The same of an issue that was ready at `since` and has to wait for something more. */
static void blame_again(struct run *run, uint32_t s, int32_t cause, enum device_wait why,
                        double since) {
    if (!run->keeps)
        return;
    struct reason *reason = run->time->why ? &run->time->why[s] : NULL;
    if (reason && reason->since < 0) {
        reason->before = reason->last;
        reason->before_cause = run->time->cause[s];
        reason->since = since;
    }
    if (reason)
        reason->last = (uint8_t)why;
    run->time->cause[s] = cause;
}

static void hold_until(struct run *run, uint32_t s, double when, int32_t cause,
                       enum device_wait why) {
    if (when > run->issues[s].ready) {
        run->issues[s].ready = when;
        blame(run, s, cause, why);
    }
}

/* Something has happened to issue s or to its queue, which may start at another time now. */
static void refresh(struct run *run, uint32_t s) {
    run->stale |= (uint8_t)(1u << run->issues[s].queue);
}

static void offer(struct run *run, uint32_t s) {
    refresh(run, s);
    heap_push(&run->queues[run->issues[s].queue].later,
              (struct entry){.key = run->issues[s].ready, .issue = s});
}

/* Issue s waits for one thing less. */
static void release(struct run *run, uint32_t s) {
    if (--run->issues[s].waits)
        return;
    if (!run->allocation->reorders)
        refresh(run, s);
    else if (s < run->admitted)
        offer(run, s);
}

/* Lets in the issues that come within the compiler's window now that issue s is done. */
static void move_window(struct run *run, uint32_t s) {
    size_t n = run->allocation->issues.len;
    while (run->oldest < n && run->issues[run->oldest].done)
        run->oldest++;
    for (; run->admitted < n && run->admitted < run->oldest + WINDOW; run->admitted++) {
        hold_until(run, run->admitted, run->now.start, (int32_t)s, DEVICE_WAIT_WINDOW);
        if (!run->issues[run->admitted].waits)
            offer(run, run->admitted);
    }
}

/* ---- memory --------------------------------------------------------------------------------- */

static void skip_other_memory(struct run *run, struct pool *pool) {
    while (pool->next < run->allocation->residences.len &&
           run->allocation->residences.at[pool->next].psum != pool->psum)
        pool->next++;
}

/* Grants residences in order while they fit. `force` grants one even if it does not. */
static bool grant(struct run *run, struct pool *pool, bool force) {
    bool any = false;
    for (skip_other_memory(run, pool); pool->next < run->allocation->residences.len;
         skip_other_memory(run, pool)) {
        const struct residence *residence = &run->allocation->residences.at[pool->next];
        uint64_t bytes = residence->bytes, needs = residence->needs;
        while (pool->used + needs > pool->capacity && pool->returned.all.len) {
            struct entry back = heap_pop(&pool->returned);
            pool->used -= back.value;
            if (back.key > pool->when) {
                pool->when = back.key;
                pool->cause = (int32_t)back.issue;
            }
        }
        if (pool->used + needs > pool->capacity && !force)
            return any;
        force = false;
        any = true;
        pool->used += bytes;
        pool->granted = pool->next;
        uint32_t s = run->allocation->residences.at[pool->next++].first_user;
        hold_until(run, s, pool->when, pool->cause, DEVICE_WAIT_ROOM);
        release(run, s);
    }
    return any;
}

static void settle_memory(struct run *run, uint32_t s) {
    const struct allocation *allocation = run->allocation;
    bool sbuf = false, psum = false;
    for (uint32_t u = allocation->use_base.at[s]; u < allocation->use_base.at[s + 1]; u++) {
        uint32_t r = allocation->uses.at[u];
        const struct residence *residence = &allocation->residences.at[r];
        struct use *use = &run->residences[r];
        use->over = MAX_OF(use->over, run->now.visible);
        if (--use->left)
            continue;
        heap_push(residence->psum ? &run->psum.returned : &run->sbuf.returned,
                  (struct entry){use->over, residence->bytes, s});
        *(residence->psum ? &psum : &sbuf) = true;
    }
    if (sbuf)
        grant(run, &run->sbuf, false);
    if (psum)
        grant(run, &run->psum, false);
}

/* ---- engines -------------------------------------------------------------------------------- */

static double scalar_table_load(struct run *run, uint16_t set) {
    if (!set || set == run->function_set)
        return 0;
    run->function_set = set;
    return run->schedule->table->scalar_table_ns;
}

/* The Tensor engine's clock is set anew for each window of time. It is halved when the engine was
 * busy for less than a share of the window before. A window begins with the first product after the
 * end of the one before. */
static double pe_slow_extra(struct run *run, double start, const struct issue_cost *cost) {
    const struct device_constants *table = run->schedule->table;
    struct pe_clock *clock = &run->pe_clock;
    double over = start - clock->since - table->pe_window_ns;
    if (table->pe_window_ns <= 0)
        return 0;
    if (over >= 0) {
        bool idle = over >= table->pe_window_ns;
        clock->slow = idle || clock->busy < table->pe_window_share * table->pe_window_ns;
        clock->since = start;
        clock->busy = 0;
    }
    clock->busy += cost->active_ns;
    double extra = clock->slow ? cost->interval_ns : 0;
    run->time->throttled_ns += extra;
    return extra;
}

static double wait_for_port(struct run *run, uint32_t s, double start) {
    if (run->port_free <= start)
        return start;
    blame_again(run, s, run->port_last, DEVICE_WAIT_PORT, start);
    return run->port_free;
}

/* A product of a part of the array waits for those that are in this part, one of the whole array
 * for all. */
static double wait_for_tiles(struct run *run, uint32_t s, const struct issue_cost *cost,
                             double start) {
    const struct pe_tiles *tiles = &run->pe_tiles;
    double ready = start;
    if (tiles->all_free <= start)
        return start;
    for (unsigned left = cost->tiles ? cost->tiles : UINT16_MAX; left; left &= left - 1) {
        int tile = __builtin_ctz(left);
        if (tiles->free[tile] > start) {
            start = tiles->free[tile];
            blame_again(run, s, tiles->last[tile], DEVICE_WAIT_QUEUE, ready);
        }
    }
    return start;
}

/* When the next product of another part may begin. */
static double pe_taken_until(const struct device_constants *table, struct moment product) {
    double all = product.end - product.start;
    return product.start + cost_on_grid(MAX_OF(MIN_OF(table->pe_issue_ns, all),
                                               all * (1 - table->pe_beside_share)));
}

/* The other parts take the next product at once. */
static void keep_tiles(struct run *run, uint32_t s, const struct issue_cost *cost) {
    struct pe_tiles *tiles = &run->pe_tiles;
    for (unsigned left = cost->tiles; left; left &= left - 1) {
        tiles->free[__builtin_ctz(left)] = run->now.end;
        tiles->last[__builtin_ctz(left)] = (int32_t)s;
    }
    tiles->all_free = MAX_OF(tiles->all_free, run->now.end);
    run->queues[QUEUE_TENSOR].free = pe_taken_until(run->schedule->table, run->now);
}

static void run_on_engine(struct run *run, uint32_t s, double start) {
    const struct issue_cost *cost = issue_cost_at(run->schedule->costs, s);
    double interval = cost->interval_ns, latency = cost->latency_ns, extra = 0;
    bool tensor = cost->queue == QUEUE_TENSOR && (int)cost->queue != run->lifted;
    if (tensor)
        start = wait_for_tiles(run, s, cost, start);
    if ((int)cost->queue == run->lifted)
        interval = latency = 0;
    else if (cost->queue == QUEUE_SCALAR)
        extra = scalar_table_load(run, cost->function_set);
    else if (tensor && cost->active_ns > 0)
        extra = pe_slow_extra(run, start, cost);
    else if (cost->port && run->port_queue != cost->queue)
        start = wait_for_port(run, s, start);
    run->now = (struct moment){start, start + interval + extra, start + latency + extra};
    run->queues[cost->queue].free = run->now.end;
    if (tensor && cost->tiles)
        keep_tiles(run, s, cost);
    if (cost->port && interval > 0) {
        run->port_queue = cost->queue;
        run->port_free = run->now.end;
        run->port_last = (int32_t)s;
    }
}

/* ---- transfers ------------------------------------------------------------------------------ */

/* All engines are free at the same time, and the transfer takes all of them. */
static void use_engines_alike(struct run *run, uint32_t s, double ready, double *first,
                              double *last) {
    *first = MAX_OF(ready, run->engine_free[0]);
    if (*first > ready)
        blame_again(run, s, run->engine_last[0], DEVICE_WAIT_DMA, ready);
    *last = *first + issue_cost_at(run->schedule->costs, s)->transfer.engine_ns;
    run->engine_free[0] = *last;
    run->engine_last[0] = (int32_t)s;
}

static void tell_engines_apart(struct run *run) {
    for (uint32_t e = 1; run->engines_alike && e < run->engines; e++) {
        run->engine_free[e] = run->engine_free[0];
        run->engine_last[e] = run->engine_last[0];
    }
    run->engines_alike = false;
}

static void use_engines(struct run *run, uint32_t s, double ready, double *first, double *last) {
    const struct transfer *transfer = &issue_cost_at(run->schedule->costs, s)->transfer;
    double latest = 0;
    tell_engines_apart(run);
    *first = INFINITY;
    *last = 0;
    for (uint32_t k = 0; k < transfer->engines; k++) {
        uint32_t e = (transfer->first + k) % run->engines;
        double start = MAX_OF(ready, run->engine_free[e]);
        if (start > ready && start + transfer->engine_ns >= *last)
            blame_again(run, s, run->engine_last[e], DEVICE_WAIT_DMA, ready);
        run->engine_free[e] = start + transfer->engine_ns;
        run->engine_last[e] = (int32_t)s;
        *first = MIN_OF(*first, start);
        latest = MAX_OF(latest, start);
        *last = MAX_OF(*last, run->engine_free[e]);
    }
    run->engines_alike = transfer->engines == run->engines && *first >= latest;
}

static void delay_engines(struct run *run, const struct transfer *transfer, double late) {
    uint32_t engines = run->engines_alike ? 1 : transfer->engines;
    uint32_t first = run->engines_alike ? 0 : transfer->first;
    for (uint32_t k = 0; k < engines; k++)
        run->engine_free[(first + k) % run->engines] += late;
}

static void run_transfer(struct run *run, uint32_t s, double at) {
    const struct issue_cost *cost = issue_cost_at(run->schedule->costs, s);
    const struct device_constants *table = run->schedule->table;
    struct queue_state *queue = &run->queues[cost->queue];
    if (run->lifted == QUEUE_DMA_IN || run->lifted == QUEUE_DMA_OUT) {
        run->now = (struct moment){at, at, at};
        queue->free = at;
        return;
    }
    enum nki_engine issuer = (enum nki_engine)cost->issuer;
    double issued = at + cost->issue_ns, ready = issued + cost->start_ns;
    run->issuer_free[issuer] = queue->free = issued;
    run->issuer_last[issuer] = (int32_t)s;
    double first, last;
    if (run->engines_alike && cost->transfer.engines == run->engines)
        use_engines_alike(run, s, ready, &first, &last);
    else
        use_engines(run, s, ready, &first, &last);
    double late = run->hbm ? hbm_delay(run->hbm, &cost->transfer, first, last) : 0;
    if (late > 0)
        delay_engines(run, &cost->transfer, late);
    run->now = (struct moment){first, last + late, last + late + table->dma_complete_ns};
}

/* ---- the run -------------------------------------------------------------------------------- */

/* When a queue that may reorder could start its next issue if that met no other core. */
static double earliest_start(const struct queue_state *queue) {
    if (queue->held)
        return queue->held_at;
    if (queue->now.all.len)
        return queue->free;
    return queue->later.all.len ? MAX_OF(queue->free, queue->later.all.at[0].key) : INFINITY;
}

/* The same of any queue. */
static double own_start(const struct run *run, const struct queue_state *queue) {
    if (run->allocation->reorders)
        return earliest_start(queue);
    if (queue->head == queue->order.len)
        return INFINITY;
    uint32_t s = queue->order.at[queue->head];
    if (run->issues[s].waits)
        return INFINITY;
    double start = MAX_OF(queue->free, run->issues[s].ready);
    return is_dma(run, s) ? MAX_OF(start, run->issuer_free[run->issues[s].issuer]) : start;
}

static bool meets(const struct run *run, uint32_t s) {
    return run->mate && run->mate[s];
}

/* When the other core comes to where it meets issue s; INFINITY: its time is not known yet. */
static double peer_start(const struct run *run, uint32_t s) {
    const struct run *peer = run->peer;
    uint32_t t = run->mate[s] - 1;
    const struct queue_state *queue = &peer->queues[peer->issues[t].queue];
    if (peer->issues[t].done)
        return peer->met[t];
    bool next = peer->allocation->reorders
                    ? queue->held == t + 1
                    : queue->head < queue->order.len && queue->order.at[queue->head] == t;
    return next ? own_start(peer, queue) : INFINITY;
}

/* The issue that the queue has come to and that meets the other core, + 1; 0: it is another one. */
static uint32_t meeting_of(const struct run *run, const struct queue_state *queue) {
    if (run->allocation->reorders)
        return queue->held;
    uint32_t s = queue->order.at[queue->head];
    return meets(run, s) ? s + 1 : 0;
}

/* When the queue could start its next issue. */
static double next_start(const struct run *run, const struct queue_state *queue) {
    double start = own_start(run, queue);
    uint32_t meeting = run->mate && start < INFINITY ? meeting_of(run, queue) : 0;
    return meeting ? MAX_OF(start, peer_start(run, meeting - 1)) : start;
}

/* Whether nothing but the other core keeps a queue. */
static bool waits_for_peer(const struct run *run) {
    for (int i = 0; run->mate && i < QUEUE_COUNT; i++) {
        const struct queue_state *queue = &run->queues[i];
        if (own_start(run, queue) < INFINITY && next_start(run, queue) == INFINITY)
            return true;
    }
    return false;
}

static uint32_t take_next(struct run *run, struct queue_state *queue, double start) {
    if (!run->allocation->reorders)
        return queue->order.at[queue->head++];
    if (queue->held) {
        uint32_t s = queue->held - 1;
        queue->held = 0;
        return s;
    }
    while (queue->later.all.len && queue->later.all.at[0].key <= start) {
        uint32_t s = heap_pop(&queue->later).issue;
        heap_push(&queue->now, (struct entry){.issue = s});
    }
    return heap_pop(&queue->now).issue;
}

static void tell_consumers(struct run *run, uint32_t s) {
    const struct depends *depends = run->schedule->depends;
    uint8_t queue = run->issues[s].queue;
    uint32_t furthest = s;
    for (uint32_t c = depends->consumer_base[s]; c < depends->consumer_base[s + 1]; c++) {
        uint32_t consumer = depends->consumer[c] & ~DEPENDS_ORDER;
        bool same = run->issues[consumer].queue == queue;
        /* A product may follow another into the same PSUM tile at once. */
        bool at_once = (depends->consumer[c] & DEPENDS_ORDER) || (same && queue == QUEUE_TENSOR);
        double seen = run->now.visible + (same ? 0 : run->schedule->table->semaphore_ns);
        /* A transfer's queue issues it after the other one, and need not wait until that moves. */
        bool queued = at_once && same && is_dma(run, s) && !run->allocation->legacy;
        if (at_once && !queued)
            hold_until(run, consumer, run->now.start, (int32_t)s, DEVICE_WAIT_ORDER);
        else if (!queued)
            hold_until(run, consumer, seen, (int32_t)s, DEVICE_WAIT_OPERAND);
        release(run, consumer);
        furthest = MAX_OF(furthest, consumer);
    }
    if (run->cut_of)
        steady_touch(run, s, furthest);
}

/* The issue meets the other core at `start`. If it was there first, it waited for the other core
 * from then on, and the path to it is the other core's. */
static void note_meeting(struct run *run, uint32_t s, double own, double start) {
    run->met[s] = start;
    if (start > own)
        blame_again(run, s, TIMELINE_PEER, DEVICE_WAIT_PEER, own);
}

static void note_cause(struct run *run, uint32_t s, const struct queue_state *queue) {
    if (queue->free > run->issues[s].ready)
        blame_again(run, s, queue->last, DEVICE_WAIT_QUEUE, run->issues[s].ready);
    if (is_dma(run, s) && !run->allocation->legacy) {
        enum nki_engine issuer = (enum nki_engine)run->issues[s].issuer;
        if (run->issuer_free[issuer] > MAX_OF(run->issues[s].ready, queue->free))
            blame_again(run, s, run->issuer_last[issuer], DEVICE_WAIT_ISSUER, run->issues[s].ready);
    }
}

/* Works out the starts that may have changed: with another core to meet, any of them. */
static void refresh_starts(struct run *run) {
    unsigned stale = run->mate ? ALL_QUEUES : run->stale;
    for (; stale; stale &= stale - 1) {
        int queue = __builtin_ctz(stale);
        run->starts[queue] = next_start(run, &run->queues[queue]);
    }
    run->stale = 0;
}

/* The queue that can start first, and when; NULL: none can. */
static struct queue_state *first_queue(struct run *run, double *start) {
    int first = -1;
    refresh_starts(run);
    *start = INFINITY;
    for (int i = 0; i < QUEUE_COUNT; i++)
        if (run->starts[i] < *start) {
            *start = run->starts[i];
            first = i;
        }
    return first < 0 ? NULL : &run->queues[first];
}

static void run_issue(struct run *run, struct queue_state *queue, uint32_t s, double start) {
    if (run->issues[s].absent) {
        run->now = (struct moment){start, start, start};
        queue->free = start;
    } else if (is_dma(run, s))
        run_transfer(run, s, start);
    else
        run_on_engine(run, s, start);
    if (!run->keeps)
        return;
    run->time->start[s] = run->now.start;
    run->time->end[s] = run->now.end;
    run->time->visible[s] = run->now.visible;
}

/* What a step came to: nothing can start; a queue has come to an issue that meets the other core,
 * and waits there; an issue is scheduled. */
enum step { STEP_STUCK, STEP_HELD, STEP_DONE };

/* A transfer waits for the engine that issues it. In program order own_start has seen to that. */
static double issuer_start(const struct run *run, uint32_t s, double start) {
    if (!is_dma(run, s) || run->allocation->legacy)
        return start;
    return MAX_OF(start, run->issuer_free[run->issues[s].issuer]);
}

static enum step advance(struct run *run) {
    double start;
    struct queue_state *queue = first_queue(run, &start);
    if (!queue)
        return STEP_STUCK;
    double own = run->mate ? own_start(run, queue) : start;
    bool held = queue->held != 0;
    uint32_t s = take_next(run, queue, start);
    if (run->allocation->reorders && meets(run, s) && !held) {
        queue->held = s + 1;
        queue->held_at = start;
        return STEP_HELD;
    }
    start = issuer_start(run, s, start);
    run->stale |= is_dma(run, s) ? DMA_QUEUES : 1u << run->issues[s].queue;
    if (run->cut_of)
        steady_note(run, s, start);
    run->issues[s].done = true;
    note_cause(run, s, queue);
    if (meets(run, s))
        note_meeting(run, s, own, start);
    run_issue(run, queue, s, start);
    queue->last = (int32_t)s;
    run->time->latency_ns = MAX_OF(run->time->latency_ns, run->now.visible);
    tell_consumers(run, s);
    if (run->allocation->reorders)
        move_window(run, s);
    settle_memory(run, s);
    return STEP_DONE;
}

static void reset_residences(struct run *run) {
    const struct allocation *allocation = run->allocation;
    for (size_t r = 0; r < allocation->residences.len; r++) {
        run->residences[r] = (struct use){.left = allocation->residences.at[r].users};
        run->issues[allocation->residences.at[r].first_user].waits++;
    }
}

static void reset_issues(struct run *run) {
    const uint32_t *base = run->schedule->depends->base;
    size_t n = run->allocation->issues.len;
    for (size_t s = 0; s < n; s++) {
        run->issues[s].ready = 0;
        run->issues[s].waits = base[s + 1] - base[s];
        run->issues[s].done = false;
        blame(run, (uint32_t)s, -1, DEVICE_WAIT_NOTHING);
    }
}

static void reset_memory(struct pool *pool, bool psum, uint64_t capacity) {
    pool->psum = psum;
    pool->capacity = capacity;
    pool->used = pool->when = 0;
    pool->next = pool->granted = pool->returned.all.len = 0;
    pool->cause = -1;
}

static void reset_engines(struct run *run) {
    for (int queue = 0; queue < QUEUE_COUNT; queue++) {
        struct queue_state *state = &run->queues[queue];
        state->head = state->later.all.len = state->now.all.len = 0;
        state->held = 0;
        state->free = 0;
        state->last = -1;
    }
    for (int e = 0; e < NKI_ENGINE_COUNT; e++) {
        run->issuer_free[e] = 0;
        run->issuer_last[e] = -1;
    }
    for (int e = 0; e < MOST_DMA_ENGINES; e++) {
        run->engine_free[e] = 0;
        run->engine_last[e] = 0;
    }
    run->engines = run->allocation->image->generation->dma_engines;
    run->engines_alike = true;
    run->pe_clock = (struct pe_clock){.since = -INFINITY};
    run->pe_tiles = (struct pe_tiles){0};
    run->port_free = 0;
    run->function_set = 0;
    run->stale = ALL_QUEUES;
}

static void reset(struct run *run, int lifted) {
    const struct device_generation *generation = run->allocation->image->generation;
    size_t n = run->allocation->issues.len;
    run->lifted = lifted;
    run->time->latency_ns = run->time->throttled_ns = 0;
    run->oldest = 0;
    run->admitted = (uint32_t)MIN_OF(n, (size_t)WINDOW);
    reset_engines(run);
    reset_issues(run);
    reset_residences(run);
    steady_reset(run);
    for (uint32_t s = 0; run->allocation->reorders && s < run->admitted; s++)
        if (!run->issues[s].waits)
            offer(run, s);
    const struct compile_change *change = run->allocation->change;
    bool endless = change && change->kind == COMPILE_CHANGE_ROOM;
    reset_memory(&run->sbuf, false, endless ? UINT64_MAX : run->allocation->sbuf_room);
    reset_memory(&run->psum, true, endless ? UINT64_MAX : generation->psum_partition_bytes);
    grant(run, &run->sbuf, false);
    grant(run, &run->psum, false);
}

static struct run *run_new(const struct schedule *schedule, struct timeline *time) {
    const struct allocation *allocation = schedule->allocation;
    struct run *run = mem_alloc(1, sizeof *run);
    run->schedule = schedule;
    run->allocation = allocation;
    run->time = time;
    run->keeps = true;
    run->issues = mem_alloc(allocation->issues.len + 1, sizeof *run->issues);
    run->residences = mem_alloc(allocation->residences.len + 1, sizeof *run->residences);
    for (uint32_t s = 0; s < allocation->issues.len; s++) {
        run->issues[s].queue = issue_cost_at(schedule->costs, s)->queue;
        run->issues[s].absent = allocation->issues.at[s].kind == ISSUE_ABSENT;
        if (is_dma(run, s))
            run->issues[s].issuer = issue_cost_at(schedule->costs, s)->issuer;
        if (!allocation->reorders)
            *vec_push(&run->queues[run->issues[s].queue].order) = s;
    }
    steady_open(run);
    return run;
}

static void run_free(struct run *run) {
    for (int queue = 0; queue < QUEUE_COUNT; queue++) {
        vec_free(&run->queues[queue].order);
        vec_free(&run->queues[queue].later.all);
        vec_free(&run->queues[queue].now.all);
    }
    vec_free(&run->sbuf.returned.all);
    vec_free(&run->psum.returned.all);
    steady_close(run);
    free(run->issues);
    free(run->residences);
    free(run->mate);
    free(run->met);
    free(run);
}

/* Nothing can go on when the kernel holds more than there is. Then the next residence in program
 * order gets its memory all the same. */
static bool force_memory(struct run *run) {
    skip_other_memory(run, &run->sbuf);
    skip_other_memory(run, &run->psum);
    struct pool *pool = run->psum.next < run->sbuf.next ? &run->psum : &run->sbuf;
    return grant(run, pool, true);
}

/* Schedules the next issue. */
static void go_on(struct run *run) {
    while (advance(run) == STEP_STUCK)
        if (!force_memory(run))
            HONE_BUG("the schedule is stuck");
}

void timeline_again(struct timeline *time, int lifted) {
    struct run *run = time->run;
    reset(run, lifted);
    for (size_t done = 0; done < run->allocation->issues.len && !run->is_enough; done++)
        go_on(run);
}

double timeline_latency(struct timeline *time, int lifted) {
    double latency_ns = time->latency_ns, throttled_ns = time->throttled_ns;
    if (time->run->cut_of)
        HONE_BUG("what repeats is found in times that are kept");
    time->run->keeps = false;
    timeline_again(time, lifted);
    time->run->keeps = true;
    double result = time->latency_ns;
    time->latency_ns = latency_ns;
    time->throttled_ns = throttled_ns;
    return result;
}

/* The one that is first of those that are not done; `n` when all are. */
static size_t first_of(struct timeline *const *times, size_t n, const size_t *done) {
    size_t first = n;
    double earliest = INFINITY;
    for (size_t k = 0; k < n; k++) {
        double start;
        if (done[k] == times[k]->run->allocation->issues.len)
            continue;
        (void)first_queue(times[k]->run, &start);
        if (first == n || start < earliest) {
            first = k;
            earliest = start;
        }
    }
    return first;
}

/* None can go on. The one that does not only wait for another one holds more memory than there
 * is. */
static void force_one(struct timeline *const *times, size_t n, const size_t *done) {
    for (int waiting = 0; waiting < 2; waiting++)
        for (size_t k = 0; k < n; k++) {
            struct run *run = times[k]->run;
            bool some = done[k] < run->allocation->issues.len;
            if (some && waits_for_peer(run) == (waiting != 0) && force_memory(run))
                return;
        }
    HONE_BUG("the schedules of two cores are stuck");
}

void timelines_together(struct timeline *const *times, size_t n, struct hbm *hbm, int lifted) {
    size_t done[MOST_CORES] = {0}, k;
    for (k = 0; k < n; k++) {
        reset(times[k]->run, lifted);
        times[k]->run->hbm = hbm;
    }
    while ((k = first_of(times, n, done)) < n) {
        enum step step = advance(times[k]->run);
        done[k] += step == STEP_DONE;
        if (step == STEP_STUCK)
            force_one(times, n, done);
    }
}

void timelines_meet(struct timeline *one, uint32_t s, struct timeline *other, uint32_t t) {
    struct timeline *times[2] = {one, other};
    for (int k = 0; k < 2; k++) {
        struct run *run = times[k]->run;
        size_t n = run->allocation->issues.len + 1;
        if (!run->mate) {
            run->mate = mem_alloc(n, sizeof *run->mate);
            run->met = mem_alloc(n, sizeof *run->met);
        }
        run->peer = times[1 - k]->run;
        run->mate[k ? t : s] = (k ? s : t) + 1;
    }
}

uint32_t folded_mate(const struct folded *folded, uint32_t s) {
    return folded->time->run->mate[s] - 1;
}

double folded_met(const struct folded *folded, uint32_t s) {
    return folded->time->run->met[s];
}

struct timeline *timeline_make(const struct schedule *schedule, int lifted) {
    struct timeline *time = timeline_new(schedule);
    timeline_again(time, lifted);
    return time;
}

struct timeline *timeline_new(const struct schedule *schedule) {
    size_t n = schedule->allocation->issues.len;
    struct timeline *time = mem_alloc(1, sizeof *time);
    time->start = mem_alloc(n + 1, sizeof *time->start);
    time->end = mem_alloc(n + 1, sizeof *time->end);
    time->visible = mem_alloc(n + 1, sizeof *time->visible);
    time->cause = mem_alloc(n + 1, sizeof *time->cause);
    time->run = run_new(schedule, time);
    return time;
}

void timeline_keep_reasons(struct timeline *time) {
    if (!time->why)
        time->why = mem_alloc(time->run->allocation->issues.len + 1, sizeof *time->why);
}

void timeline_free(struct timeline *time) {
    if (!time)
        return;
    run_free(time->run);
    free(time->start);
    free(time->end);
    free(time->visible);
    free(time->cause);
    free(time->why);
    free(time->turn);
    free(time);
}
