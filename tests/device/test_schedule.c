/* SPDX-License-Identifier: Apache-2.0 */
/* The schedule against one that is slow and plain. The plain one has no heaps, no moving windows
 * and no lists of who waits for whom: at every step it looks at all issues. Both must agree to the
 * last bit, on random programs with transfers, products and scarce memory, in both dialects, and
 * with each resource lifted. Also what holds for every schedule: no engine does two things at once,
 * no byte is lost, and more work is never faster. */
#include "device/metric.h"
#include "device/time/run.h"

#include "build.h"

/* ---- random programs ------------------------------------------------------------------------ */

#define N_SBUF 6
#define N_PSUM 3

struct random {
    struct build b;
    uint32_t seed;
    uint32_t sbuf[N_SBUF], psum[N_PSUM], in, out;
};

static uint32_t draw(struct random *r, uint32_t below) {
    r->seed = r->seed * 1664525 + 1013904223;
    return (r->seed >> 10) % below;
}

/* Tiles of all sizes. Every few instructions one is given up for a new one, so that memory comes
 * and goes. Legacy programs may need more than there is. */
static uint32_t new_tile(struct random *r, enum nki_space space) {
    static const int widths[] = {64, 512, 2048, 8192};
    bool legacy = r->b.program->dialect == NKI_DIALECT_LEGACY;
    int width = space == NKI_PSUM ? 512 : widths[draw(r, COUNT_OF(widths))] * (legacy ? 2 : 1);
    return build_tile(&r->b, space, DTYPE_FLOAT32, 128, width);
}

static struct nki_operand some_part(struct random *r, uint32_t storage, int columns) {
    int all = (int)r->b.program->storages.at[storage]->shape[1];
    int at = all > columns ? (int)draw(r, (uint32_t)(all - columns) / 32 + 1) * 32 : 0;
    return tile(build_part(&r->b, storage, 0, 128, MIN_OF(at, all - columns), columns));
}

static struct nki_operand some_sbuf(struct random *r, int columns) {
    return some_part(r, r->sbuf[draw(r, N_SBUF)], columns);
}

static void add_compute(struct random *r) {
    static const enum nki_func functions[] = {NKI_FUNC_EXP, NKI_FUNC_COPY, NKI_FUNC_TANH};
    static const enum nki_engine engines[] = {NKI_ENGINE_VECTOR, NKI_ENGINE_SCALAR,
                                              NKI_ENGINE_GPSIMD};
    struct nki_instr *instr;
    switch (draw(r, 4)) {
    case 0:
        RUN(&r->b, ACTIVATION, some_sbuf(r, 64), func(functions[draw(r, 3)]), some_sbuf(r, 64));
        return;
    case 1:
        RUN(&r->b, TENSOR_TENSOR, some_sbuf(r, 64), some_sbuf(r, 64), some_sbuf(r, 64),
            func(NKI_FUNC_ADD));
        return;
    case 2: RUN(&r->b, MEMSET, some_sbuf(r, 64), number(0)); return;
    default:
        instr = RUN(&r->b, TENSOR_COPY, some_sbuf(r, 32), some_sbuf(r, 32));
        instr->engine = (uint8_t)engines[draw(r, COUNT_OF(engines))];
    }
}

/* The same line of the kernel loads one of a few pieces again, for one use. */
static void add_repeated_load(struct random *r) {
    uint32_t loaded = build_tile(&r->b, NKI_SBUF, DTYPE_FLOAT32, 128, 64);
    struct nki_operand all = tile(build_all(&r->b, loaded));
    RUN(&r->b, DMA_COPY, all, tile(build_part(&r->b, r->in, 0, 128, 64 * (int)draw(r, 3), 64)))
        ->loc = 0;
    RUN(&r->b, TENSOR_COPY, some_sbuf(r, 64), all);
}

/* Products of the whole array and of parts of it. */
static void add_product(struct random *r) {
    static const int sizes[] = {32, 64, 128};
    int64_t *part = ARENA_ARRAY(r->b.program->arena, int64_t, 4);
    int rows = sizes[draw(r, 3)], columns = sizes[1 + draw(r, 2)];
    int row = rows * (int)draw(r, 128 / (uint32_t)rows);
    int column = columns * (int)draw(r, 128 / (uint32_t)columns);
    memcpy(part, (int64_t[]){row, column, rows, columns}, 4 * sizeof *part);
    bool whole = draw(r, 3) == 0;
    int first = whole ? 0 : row, n = whole ? 128 : rows;
    uint32_t moving = r->sbuf[draw(r, N_SBUF)];
    RUN(&r->b, NC_MATMUL, tile(build_part(&r->b, r->psum[draw(r, N_PSUM)], 0, 64, 0, 64)),
        tile(build_part(&r->b, r->sbuf[0], first, n, 0, 64)),
        tile(build_part(&r->b, moving, first, n, 0, 64)), none(), none(), none(), none(),
        whole ? none() : integers(part, 2), whole ? none() : integers(part + 2, 2));
}

static void add_instruction(struct random *r) {
    switch (draw(r, 9)) {
    case 0:
    case 1: build_copy(&r->b, some_sbuf(r, 64).ap, some_part(r, r->in, 64).ap); return;
    case 2: build_copy(&r->b, some_part(r, r->out, 64).ap, some_sbuf(r, 64).ap); return;
    case 3: add_product(r); return;
    case 4: RUN(&r->b, TENSOR_COPY, some_sbuf(r, 64), some_part(r, r->psum[0], 64)); return;
    case 5:
        if (draw(r, 2))
            r->psum[draw(r, N_PSUM)] = new_tile(r, NKI_PSUM);
        else
            r->sbuf[draw(r, N_SBUF)] = new_tile(r, NKI_SBUF);
        return;
    case 6: add_repeated_load(r); return;
    default: add_compute(r);
    }
}

static struct random random_program(uint32_t seed, enum nki_dialect dialect, int n) {
    struct random r = {.b = build_start(seed / 2 % 2 ? "trn2" : "trn3"), .seed = seed * 77};
    r.b.program->dialect = dialect;
    r.in = build_input(&r.b, DTYPE_FLOAT32, 128, 256, NULL);
    r.out = build_output(&r.b, DTYPE_FLOAT32, 128, 256);
    for (int i = 0; i < N_SBUF; i++)
        r.sbuf[i] = new_tile(&r, NKI_SBUF);
    for (int i = 0; i < N_PSUM; i++)
        r.psum[i] = new_tile(&r, NKI_PSUM);
    build_copy(&r.b, some_part(&r, r.out, 64).ap, some_sbuf(&r, 64).ap);
    for (int i = 0; i < n; i++)
        add_instruction(&r);
    return r;
}

/* ---- what is timed -------------------------------------------------------------------------- */

struct timed {
    struct device_image *image;
    struct allocation *allocation;
    struct issue_costs *costs;
    struct depends *depends;
    struct schedule schedule;
};

static struct timed prepare(struct random *r) {
    struct timed t = {.image = device_load(r->b.program, r->b.generation, &r->b.diags)};
    if (!t.image)
        fail_msg("%s", r->b.diags.all.at[0].message);
    const struct device_constants *table = device_constants_of(r->b.generation->generation);
    t.allocation = allocation_make(t.image, table, 0);
    t.costs = issue_costs_make(t.allocation, table);
    t.depends = depends_make(t.allocation, t.costs);
    t.schedule = (struct schedule){t.allocation, t.depends, table, t.costs};
    return t;
}

static void discard(struct timed *t, struct random *r) {
    depends_free(t->depends);
    issue_costs_free(t->costs);
    allocation_free(t->allocation);
    device_unload(t->image);
    build_end(&r->b);
}

/* ---- the slow schedule ---------------------------------------------------------------------- */

#define SIGHT 128 /* of the compilers, in issues */

struct memory {
    bool psum;
    uint64_t capacity, used;
    double when; /* when the memory granted last became free */
};
struct slow {
    const struct schedule *schedule;
    const struct allocation *allocation;
    int lifted;
    size_t n, n_residences;
    bool *started;
    double *start, *end, *visible;
    double *admitted; /* per issue: when it came into the window; INFINITY: not yet */
    bool *granted, *returned;
    double *granted_at; /* per residence */
    struct memory memories[2];
    double queue_free[QUEUE_COUNT], issuer_free[NKI_ENGINE_COUNT], dma_free[64];
    double pe_since, pe_busy, port_free, pe_part_free[4][4];
    bool pe_slow;
    uint8_t port_queue;
    uint16_t function_set;
};

static bool is_transfer(const struct slow *w, size_t s) {
    return issue_cost_at(w->schedule->costs, s)->queue == QUEUE_DMA_IN ||
           issue_cost_at(w->schedule->costs, s)->queue == QUEUE_DMA_OUT;
}

static uint8_t issuer(const struct slow *w, size_t s) {
    return issue_cost_at(w->schedule->costs, s)->issuer;
}

/* Until when the issue waits for another one. INFINITY: the other one has not started. */
static double wait_for(const struct slow *w, size_t s, uint32_t edge) {
    size_t p = edge & ~DEPENDS_ORDER;
    uint8_t mine = issue_cost_at(w->schedule->costs, s)->queue,
            other = issue_cost_at(w->schedule->costs, p)->queue;
    if (!w->started[p])
        return INFINITY;
    if ((edge & DEPENDS_ORDER) && mine == other && is_transfer(w, s) && !w->allocation->legacy)
        return 0; /* in the order of their queue */
    if ((edge & DEPENDS_ORDER) || (mine == QUEUE_TENSOR && other == QUEUE_TENSOR))
        return w->start[p];
    return w->visible[p] + (mine == other ? 0 : w->schedule->table->semaphore_ns);
}

/* When everything that the issue needs is there, except its queue. */
static double ready_at(const struct slow *w, size_t s) {
    double ready = w->allocation->reorders ? w->admitted[s] : 0;
    const struct depends *depends = w->schedule->depends;
    for (uint32_t e = depends->base[s]; e < depends->base[s + 1]; e++)
        ready = MAX_OF(ready, wait_for(w, s, depends->producer.at[e]));
    for (size_t r = 0; r < w->n_residences; r++)
        if (w->allocation->residences.at[r].first_user == s)
            ready = MAX_OF(ready, w->granted[r] ? w->granted_at[r] : INFINITY);
    return ready;
}

/* The issue that the queue takes next, and when. It is the first of the queue that has not started.
 * Where the compiler reorders, it is the first of those that are ready, if there is one. SIZE_MAX:
 * none. */
static size_t next_of(const struct slow *w, uint8_t queue, double *at) {
    double earliest = INFINITY;
    size_t best = SIZE_MAX;
    for (size_t s = 0; s < w->n; s++) {
        if (w->started[s] || issue_cost_at(w->schedule->costs, s)->queue != queue)
            continue;
        double ready = ready_at(w, s);
        if (!w->allocation->reorders) {
            *at = MAX_OF(ready, w->queue_free[queue]);
            if (is_transfer(w, s))
                *at = MAX_OF(*at, w->issuer_free[issuer(w, s)]);
            return isfinite(ready) ? s : SIZE_MAX;
        }
        earliest = MIN_OF(earliest, ready);
    }
    *at = MAX_OF(earliest, w->queue_free[queue]);
    for (size_t s = 0; isfinite(earliest) && s < w->n && best == SIZE_MAX; s++)
        if (!w->started[s] && issue_cost_at(w->schedule->costs, s)->queue == queue &&
            ready_at(w, s) <= *at)
            best = s;
    return best;
}

/* The array is four by four parts; tiles 0 is all of them. */
static bool takes_part(const struct issue_cost *cost, int row, int column) {
    return !cost->tiles || (cost->tiles >> (4 * row + column) & 1);
}

static double when_parts_are_free(const struct slow *w, const struct issue_cost *cost, double at) {
    for (int row = 0; row < 4; row++)
        for (int column = 0; column < 4; column++)
            if (takes_part(cost, row, column))
                at = MAX_OF(at, w->pe_part_free[row][column]);
    return at;
}

static void take_parts(struct slow *w, const struct issue_cost *cost, size_t s) {
    for (int row = 0; row < 4; row++)
        for (int column = 0; column < 4; column++)
            if (takes_part(cost, row, column))
                w->pe_part_free[row][column] = w->end[s];
    double issue = MIN_OF(w->end[s] - w->start[s], w->schedule->table->pe_issue_ns);
    if (cost->tiles) /* the default table lets parts work at once */
        w->queue_free[QUEUE_TENSOR] = w->start[s] + issue;
}

static void run_compute(struct slow *w, size_t s, double at) {
    const struct issue_cost *cost = issue_cost_at(w->schedule->costs, s);
    const struct device_constants *table = w->schedule->table;
    double interval = cost->interval_ns, latency = cost->latency_ns, extra = 0;
    bool product = cost->queue == QUEUE_TENSOR && w->lifted != QUEUE_TENSOR;
    if (product)
        at = when_parts_are_free(w, cost, at);
    if ((int)cost->queue == w->lifted) {
        interval = latency = 0;
    } else if (cost->queue == QUEUE_SCALAR && cost->function_set &&
               cost->function_set != w->function_set) {
        w->function_set = cost->function_set;
        extra = table->scalar_table_ns;
    } else if (cost->queue == QUEUE_TENSOR && table->pe_window_ns > 0) {
        if (at - w->pe_since - table->pe_window_ns >= 0) {
            w->pe_slow = at - w->pe_since - table->pe_window_ns >= table->pe_window_ns ||
                         w->pe_busy < table->pe_window_share * table->pe_window_ns;
            w->pe_since = at;
            w->pe_busy = 0;
        }
        w->pe_busy += cost->active_ns;
        extra = w->pe_slow ? interval : 0;
    }
    if ((int)cost->queue != w->lifted && cost->port && w->port_queue != cost->queue)
        at = MAX_OF(at, w->port_free);
    w->start[s] = at;
    w->end[s] = w->queue_free[cost->queue] = at + interval + extra;
    w->visible[s] = at + latency + extra;
    if (product)
        take_parts(w, cost, s);
    if (cost->port && interval > 0) {
        w->port_queue = cost->queue;
        w->port_free = w->end[s];
    }
}

static void run_move(struct slow *w, size_t s, double at) {
    const struct issue_cost *cost = issue_cost_at(w->schedule->costs, s);
    const struct device_constants *table = w->schedule->table;
    if (w->lifted == QUEUE_DMA_IN || w->lifted == QUEUE_DMA_OUT) {
        w->start[s] = w->end[s] = w->visible[s] = w->queue_free[cost->queue] = at;
        return;
    }
    double issued = at + cost->issue_ns;
    w->issuer_free[issuer(w, s)] = w->queue_free[cost->queue] = issued;
    w->start[s] = INFINITY;
    for (uint32_t k = 0; k < cost->transfer.engines; k++) {
        double *free_at = &w->dma_free[(cost->transfer.first + k) %
                                       w->allocation->image->generation->dma_engines];
        double from = MAX_OF(issued + cost->start_ns, *free_at);
        *free_at = from + cost->transfer.engine_ns;
        w->start[s] = MIN_OF(w->start[s], from);
        w->end[s] = MAX_OF(w->end[s], *free_at);
    }
    w->visible[s] = w->end[s] + table->dma_complete_ns;
}

static bool uses(const struct slow *w, size_t s, size_t r) {
    for (uint32_t u = w->allocation->use_base.at[s]; u < w->allocation->use_base.at[s + 1]; u++)
        if (w->allocation->uses.at[u] == r)
            return true;
    return false;
}

/* When all users of a granted residence are over. INFINITY: some are still to come. */
static double over_at(const struct slow *w, size_t r) {
    double over = 0;
    if (!w->granted[r])
        return INFINITY;
    for (size_t s = 0; s < w->n; s++)
        if (uses(w, s, r))
            over = MAX_OF(over, w->started[s] ? w->visible[s] : INFINITY);
    return over;
}

/* Takes back the memory that is free first, of issues that have started. */
static bool take_back(struct slow *w, struct memory *memory) {
    size_t best = SIZE_MAX;
    for (size_t r = 0; r < w->n_residences; r++)
        if (w->allocation->residences.at[r].psum == memory->psum && !w->returned[r] &&
            isfinite(over_at(w, r)) && (best == SIZE_MAX || over_at(w, r) < over_at(w, best)))
            best = r;
    if (best == SIZE_MAX)
        return false;
    w->returned[best] = true;
    memory->used -= w->allocation->residences.at[best].bytes;
    memory->when = MAX_OF(memory->when, over_at(w, best));
    return true;
}

/* Grants residences in order as long as they fit. `force` grants one that does not. */
static bool grant_memory(struct slow *w, struct memory *memory, bool force) {
    bool any = false;
    for (size_t r = 0; r < w->n_residences; r++) {
        const struct residence *residence = &w->allocation->residences.at[r];
        if (residence->psum != memory->psum || w->granted[r])
            continue;
        while (memory->used + residence->needs > memory->capacity && take_back(w, memory))
            continue;
        if (memory->used + residence->needs > memory->capacity && !force)
            return any;
        force = false;
        any = w->granted[r] = true;
        memory->used += residence->bytes;
        w->granted_at[r] = memory->when;
    }
    return any;
}

/* The window reaches this far past the first issue that has not started. */
static void look_ahead(struct slow *w, double now) {
    size_t oldest = 0;
    while (oldest < w->n && w->started[oldest])
        oldest++;
    for (size_t s = 0; s < w->n && s < oldest + SIGHT; s++)
        if (!isfinite(w->admitted[s]))
            w->admitted[s] = now;
}

static bool step(struct slow *w) {
    size_t best = SIZE_MAX;
    double best_at = INFINITY;
    for (uint8_t queue = 0; queue < QUEUE_COUNT; queue++) {
        double at = INFINITY;
        size_t s = next_of(w, queue, &at);
        if (s != SIZE_MAX && at < best_at) {
            best = s;
            best_at = at;
        }
    }
    if (best == SIZE_MAX)
        return false;
    /* Who issues the transfer is looked at when it is chosen. */
    if (w->allocation->reorders && !w->allocation->legacy && is_transfer(w, best))
        best_at = MAX_OF(best_at, w->issuer_free[issuer(w, best)]);
    if (w->allocation->issues.at[best].kind == ISSUE_ABSENT)
        w->start[best] = w->end[best] = w->visible[best] =
            w->queue_free[issue_cost_at(w->schedule->costs, best)->queue] = best_at;
    else if (is_transfer(w, best))
        run_move(w, best, best_at);
    else
        run_compute(w, best, best_at);
    w->started[best] = true;
    look_ahead(w, w->start[best]);
    grant_memory(w, &w->memories[0], false);
    grant_memory(w, &w->memories[1], false);
    return true;
}

/* When nothing can go on, the next residence in program order gets its memory all the same. */
static bool force_next(struct slow *w) {
    for (size_t r = 0; r < w->n_residences; r++)
        if (!w->granted[r])
            return grant_memory(w, &w->memories[w->allocation->residences.at[r].psum], true);
    return false;
}

static struct slow slow_schedule(const struct schedule *schedule, int lifted) {
    const struct allocation *allocation = schedule->allocation;
    const struct device_generation *generation = allocation->image->generation;
    struct slow w = {.schedule = schedule,
                     .allocation = allocation,
                     .lifted = lifted,
                     .n = allocation->issues.len,
                     .n_residences = allocation->residences.len,
                     .memories = {{.capacity = generation->sbuf_partition_bytes},
                                  {.psum = true, .capacity = generation->psum_partition_bytes}},
                     .pe_since = -INFINITY};
    w.started = mem_alloc(w.n, sizeof *w.started);
    w.start = mem_alloc(w.n, sizeof *w.start);
    w.end = mem_alloc(w.n, sizeof *w.end);
    w.visible = mem_alloc(w.n, sizeof *w.visible);
    w.admitted = mem_alloc(w.n, sizeof *w.admitted);
    w.granted = mem_alloc(w.n_residences + 1, sizeof *w.granted);
    w.returned = mem_alloc(w.n_residences + 1, sizeof *w.returned);
    w.granted_at = mem_alloc(w.n_residences + 1, sizeof *w.granted_at);
    for (size_t s = 0; s < w.n; s++)
        w.admitted[s] = s < SIGHT ? 0 : INFINITY;
    grant_memory(&w, &w.memories[0], false);
    grant_memory(&w, &w.memories[1], false);
    for (size_t done = 0; done < w.n;)
        if (step(&w))
            done++;
        else
            assert_true(force_next(&w));
    return w;
}

static void slow_free(struct slow *w) {
    free(w->started);
    free(w->start);
    free(w->end);
    free(w->visible);
    free(w->admitted);
    free(w->granted);
    free(w->returned);
    free(w->granted_at);
}

/* ---- they agree ----------------------------------------------------------------------------- */

static void assert_same(uint32_t seed, const struct timed *t, int lifted) {
    struct timeline *fast = timeline_make(&t->schedule, lifted);
    struct slow slow = slow_schedule(&t->schedule, lifted);
    for (size_t s = 0; s < slow.n; s++)
        if (fast->start[s] != slow.start[s] || fast->end[s] != slow.end[s] ||
            fast->visible[s] != slow.visible[s])
            fail_msg("seed %u, lifted %d, issue %zu of %zu: %.17g to %.17g, slowly %.17g to %.17g",
                     seed, lifted, s, slow.n, fast->start[s], fast->visible[s], slow.start[s],
                     slow.visible[s]);
    slow_free(&slow);
    timeline_free(fast);
}

/* A latency with a queue lifted is that of a schedule of its own, and leaves the timeline as it
 * is. */
static void assert_same_latency(const struct timed *t, int lifted) {
    struct timeline *kept = timeline_make(&t->schedule, -1);
    struct timeline *own = timeline_make(&t->schedule, lifted);
    double latency_ns = kept->latency_ns;
    size_t n = t->allocation->issues.len;
    double *ends = mem_dup(kept->end, n * sizeof *ends);
    int32_t *causes = mem_dup(kept->cause, n * sizeof *causes);
    assert_true(timeline_latency(kept, lifted) == own->latency_ns);
    assert_true(kept->latency_ns == latency_ns);
    assert_memory_equal(kept->end, ends, n * sizeof *ends);
    assert_memory_equal(kept->cause, causes, n * sizeof *causes);
    free(ends);
    free(causes);
    timeline_free(kept);
    timeline_free(own);
}

static void the_slow_schedule_is_the_same(void **state) {
    (void)state;
    size_t seen[ISSUE_RELOAD + 1] = {0};
    for (uint32_t seed = 1; seed <= 40; seed++) {
        bool legacy = seed % 2;
        struct random r =
            random_program(seed, legacy ? NKI_DIALECT_LEGACY : NKI_DIALECT_CURRENT, 160);
        struct timed t = prepare(&r);
        assert_same(seed, &t, -1);
        assert_same(seed, &t, (int)(seed % QUEUE_COUNT));
        assert_same_latency(&t, (int)(seed % QUEUE_COUNT));
        for (size_t s = 0; s < t.allocation->issues.len; s++)
            seen[t.allocation->issues.at[s].kind]++;
        discard(&t, &r);
    }
    for (size_t kind = 0; kind < COUNT_OF(seen); kind++)
        assert_true(seen[kind] > 0);
}

/* ---- what always holds ---------------------------------------------------------------------- */

static bool on_one_engine(const struct issue_cost *a, const struct issue_cost *b) {
    bool apart = a->tiles && b->tiles && !(a->tiles & b->tiles);
    return a->queue == b->queue && a->queue < QUEUE_DMA_IN && !apart;
}

static void assert_one_thing_at_a_time(const struct timed *t, const struct timeline *time) {
    for (size_t s = 0; s < t->allocation->issues.len; s++)
        for (size_t p = 0; p < s; p++)
            if (on_one_engine(issue_cost_at(t->costs, s), issue_cost_at(t->costs, p)))
                assert_true(time->start[s] >= time->end[p] || time->start[p] >= time->end[s]);
}

/* All transfers together never load the DMA engines with more than they can take. */
static void assert_engines_keep_up(const struct timed *t, const struct timeline *time) {
    double busy = 0, last = 0, first = INFINITY;
    for (size_t s = 0; s < t->allocation->issues.len; s++) {
        if (issue_cost_at(t->costs, s)->queue < QUEUE_DMA_IN ||
            t->allocation->issues.at[s].kind == ISSUE_ABSENT)
            continue;
        busy += issue_cost_at(t->costs, s)->transfer.engine_ns *
                issue_cost_at(t->costs, s)->transfer.engines;
        first = MIN_OF(first, time->start[s]);
        last = MAX_OF(last, time->end[s]);
        assert_true(time->end[s] - time->start[s] >=
                    issue_cost_at(t->costs, s)->transfer.engine_ns - 1e-6);
    }
    assert_true(busy <= (last - first) * t->image->generation->dma_engines + 1e-3);
}

/* The bytes that went through HBM, by the profile, are those that the instructions move. */
static void assert_bytes_are_kept(const struct timed *t) {
    const struct nki_program *program = t->image->program;
    struct device_profile *profile = device_time(t->image);
    double moved = (double)(t->allocation->spill_save_bytes + t->allocation->spill_reload_bytes +
                            t->allocation->reload_bytes);
    for (size_t s = 0; s < t->allocation->issues.len; s++) {
        const struct issue *issue = &t->allocation->issues.at[s];
        const struct nki_instr *instr = &program->instrs.at[issue->instr];
        if (issue->kind == ISSUE_INSTR && instr->op == NKI_OP_DMA_COPY)
            moved += (double)nki_ap_count(instr->operands[NKI_DST].ap) * sizeof(float);
    }
    double told = profile_metric(profile, "hbm_read_bytes", -1) +
                  profile_metric(profile, "hbm_write_bytes", -1);
    assert_true(fabs(told - moved) < 0.5);
    device_profile_free(profile);
}

static void engines_and_bytes_are_conserved(void **state) {
    (void)state;
    for (uint32_t seed = 100; seed < 130; seed++) {
        struct random r =
            random_program(seed, seed % 2 ? NKI_DIALECT_LEGACY : NKI_DIALECT_CURRENT, 300);
        struct timed t = prepare(&r);
        struct timeline *time = timeline_make(&t.schedule, -1);
        assert_one_thing_at_a_time(&t, time);
        assert_engines_keep_up(&t, time);
        assert_bytes_are_kept(&t);
        timeline_free(time);
        discard(&t, &r);
    }
}

static double latency_of(uint32_t seed, int n) {
    struct random r = random_program(seed, NKI_DIALECT_CURRENT, n);
    struct timed t = prepare(&r);
    struct timeline *time = timeline_make(&t.schedule, -1);
    double latency = time->latency_ns;
    timeline_free(time);
    discard(&t, &r);
    return latency;
}

/* A longer program begins with all instructions of the shorter one. The legacy compiler is left
 * out, because a reordering schedule may be lucky (Graham's anomalies). */
static void more_work_is_never_faster(void **state) {
    (void)state;
    for (uint32_t seed = 200; seed < 210; seed++) {
        double before = 0;
        for (int n = 0; n < 200; n += 10) {
            double latency = latency_of(seed, n);
            assert_true(latency >= before);
            before = latency;
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_slow_schedule_is_the_same),
        cmocka_unit_test(engines_and_bytes_are_conserved),
        cmocka_unit_test(more_work_is_never_faster),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
