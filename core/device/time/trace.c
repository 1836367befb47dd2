/* SPDX-License-Identifier: Apache-2.0 */
/* What a schedule did and why, as places in the source: the critical path step by step, and for
 * what each queue waited how long. Issues that come from the same place and waited for the same are
 * one row, so a trace of a long program is short. */
#include "device/time/inner.h"
#include "device/time/run.h"

#include <stdlib.h>

struct tracer {
    const struct folded *folded; /* the core at hand */
    const struct allocation *allocation;
    struct map index; /* from what is in a row's `key` to its number + 1 */
    struct time_trace *trace;
    bool *on_path[MOST_CORES]; /* per issue of a core */
};

static void turn_to(struct tracer *tracer, const struct folded *core) {
    tracer->folded = core;
    tracer->allocation = core->allocation;
}

/* ---- rows ----------------------------------------------------------------------------------- */

struct time_place trace_place(const struct folded *folded, int64_t s) {
    if (s < 0)
        return (struct time_place){0};
    const struct nki_program *program = folded->allocation->image->program;
    const struct issue *issue = &folded->allocation->issues.at[s];
    const struct nki_instr *instr = &program->instrs.at[issue->instr];
    struct time_place place = {.op = instr->op};
    if (instr->loc < program->locs.len) {
        place.file = program->locs.at[instr->loc].file;
        place.line = program->locs.at[instr->loc].line;
    }
    place.queue =
        (uint8_t)(issue_cost_at(folded->costs, (size_t)s)->queue + folded->core * QUEUE_COUNT);
    place.kind = issue->kind == ISSUE_SAVE     ? TIME_SAVE
                 : issue->kind == ISSUE_RELOAD ? TIME_RELOAD
                                               : TIME_INSTRUCTION;
    return place;
}

/* Of an operand with more blocks only so many are looked at one by one. */
#define MOST_BLOCKS 16u

/* Whether one of the blocks of `a` is one of `b`, under whatever alias. */
static bool share_block(const struct allocation *allocation, const struct block_operand *a,
                        const struct block_operand *b) {
    if (a->first < b->first + b->count && b->first < a->first + a->count)
        return true;
    for (uint32_t i = a->first; i < a->first + MIN_OF(a->count, MOST_BLOCKS); i++)
        for (uint32_t k = b->first; k < b->first + MIN_OF(b->count, MOST_BLOCKS); k++)
            if (allocation->alias[i] == allocation->alias[k])
                return true;
    return false;
}

/* Whether issue s reads what `cause` writes, rather than only writing where that reads or writes.
 */
static bool reads_from(const struct allocation *allocation, uint32_t s, uint32_t cause) {
    const struct issue *issue = &allocation->issues.at[s], *other = &allocation->issues.at[cause];
    size_t n, m;
    if (issue->kind > ISSUE_ABSENT || other->kind > ISSUE_ABSENT)
        return true;
    const struct block_operand *own = allocation_operands(allocation, issue->instr, &n);
    const struct block_operand *its = allocation_operands(allocation, other->instr, &m);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; own[i].is_src && k < m; k++)
            if (its[k].is_dst && share_block(allocation, &own[i], &its[k]))
                return true;
    return false;
}

static enum device_wait wait_of(const struct tracer *tracer, uint32_t s, int64_t cause,
                                uint8_t noted) {
    enum device_wait why = (enum device_wait)noted;
    bool reuses = why == DEVICE_WAIT_OPERAND && cause >= 0 &&
                  !reads_from(tracer->allocation, s, (uint32_t)cause);
    return reuses ? DEVICE_WAIT_BUFFER : why;
}

/* The row of issue s, which waited for `cause` in the way that was noted. */
static uint32_t row_of(struct tracer *tracer, uint32_t s, int64_t cause, uint8_t noted) {
    struct time_key key;
    memset(&key, 0, sizeof key);
    key.place = trace_place(tracer->folded, s);
    key.wait = wait_of(tracer, s, cause, noted);
    key.cause = cause == TIMELINE_PEER
                    ? trace_place(tracer->folded->peer, folded_mate(tracer->folded, s))
                    : trace_place(tracer->folded, cause);
    struct map_entry *entry = map_put(&tracer->index, (struct str){(const char *)&key, sizeof key});
    if (!entry->value) {
        *vec_push(&tracer->trace->rows) = (struct time_row){.key = key};
        entry->value = (void *)(uintptr_t)tracer->trace->rows.len;
    }
    return (uint32_t)(uintptr_t)entry->value - 1;
}

/* ---- the path ------------------------------------------------------------------------------- */

static void add_step(void *data, const struct stretch *stretch) {
    struct tracer *tracer = data;
    turn_to(tracer, stretch->core);
    const struct issue *issue = &tracer->allocation->issues.at[stretch->s];
    if (issue->kind == ISSUE_ABSENT && stretch->until_ns <= stretch->from_ns)
        return;
    uint32_t number =
        row_of(tracer, stretch->s, stretch->cause, tracer->folded->time->why[stretch->s].last);
    struct time_row *row = &tracer->trace->rows.at[number];
    double start = tracer->folded->time->start[stretch->s] + stretch->ahead_ns;
    double go = MIN_OF(MAX_OF(start, stretch->from_ns), stretch->until_ns);
    struct time_step step = {number, start + tracer->trace->start_ns, go - stretch->from_ns,
                             stretch->until_ns - go};
    row->steps++;
    row->held_ns += step.held_ns;
    row->run_ns += step.run_ns;
    tracer->on_path[stretch->core->core][stretch->s] = true;
    if (tracer->trace->path.len < TIME_MOST_STEPS)
        *vec_push(&tracer->trace->path) = step;
}

static void turn_round(struct time_trace *trace) {
    for (size_t i = 0, k = trace->path.len; i + 1 < k; i++) {
        struct time_step step = trace->path.at[i];
        trace->path.at[i] = trace->path.at[--k];
        trace->path.at[k] = step;
    }
}

/* ---- idle time ------------------------------------------------------------------------------ */

struct at {
    double start;
    uint32_t s;
};

static int by_start(const void *a, const void *b) {
    const struct at *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->s < y->s ? -1 : x->s > y->s;
}

/* The queue of issue s did nothing from `from_ns` to `to_ns`, because s waited like that. */
static void add_idle(struct tracer *tracer, uint32_t s, uint32_t number, double from_ns,
                     double to_ns) {
    struct time_row *row = &tracer->trace->rows.at[number];
    double ns = to_ns - from_ns;
    uint64_t times = folded_weight(tracer->folded, s);
    if (ns <= 0)
        return;
    row->idles += times;
    row->idle_ns += (double)times * ns;
    if (ns <= row->longest_ns)
        return;
    row->longest_ns = ns;
    row->longest_at_ns = from_ns + folded_shift(tracer->folded, s) + tracer->trace->start_ns;
}

static void split_idle(struct tracer *tracer, uint32_t s, double from_ns) {
    const struct timeline *time = tracer->folded->time;
    const struct reason *why = &time->why[s];
    double since = MIN_OF(MAX_OF(why->since, from_ns), time->start[s]);
    uint32_t last = row_of(tracer, s, time->cause[s], why->last);
    if (why->since >= 0)
        add_idle(tracer, s, row_of(tracer, s, why->before_cause, why->before), from_ns, since);
    add_idle(tracer, s, last, since, time->start[s]);
}

/* The number that the instruction of issue s has in the whole program. */
static uint32_t number_of(const struct folded *core, uint32_t s) {
    uint32_t instr = core->allocation->issues.at[s].instr;
    return core->instrs ? core->instrs[instr] : instr;
}

static void note_span(struct tracer *tracer, uint32_t s, uint8_t lane, double idle_ns) {
    const struct folded *core = tracer->folded;
    const struct timeline *time = core->time;
    if (tracer->allocation->gaps.len || !tracer->trace->wants_spans)
        return;
    int32_t cause = time->cause[s];
    uint32_t row = row_of(tracer, s, cause, time->why[s].last);
    *vec_push(&tracer->trace->spans) = (struct time_reason){
        .instr = number_of(core, s),
        .row = row,
        .cause = cause == TIMELINE_PEER ? (int64_t)number_of(core->peer, folded_mate(core, s))
                 : cause < 0            ? -1
                                        : (int64_t)number_of(core, (uint32_t)cause),
        .queue = lane,
        .is_critical = tracer->on_path[core->core][s],
        .start_ns = time->start[s] + tracer->trace->start_ns,
        .idle_ns = idle_ns};
}

/* Where a queue has nothing to do in the rounds of a loop, what was left out of it passes at once,
 * before the queue's first issue behind the loop: `jumped` says which loops have passed. Where it
 * has, its issues there stand for those left out, and for the time between them. */
static void find_jumps(const struct tracer *tracer, const struct at *order, size_t n,
                       bool *jumped) {
    const struct folded *folded = tracer->folded;
    for (size_t g = 0; g < tracer->allocation->gaps.len; g++) {
        jumped[g] = false;
        for (size_t i = 0; i < n && !jumped[g]; i++) {
            uint32_t turn = folded->time->turn[order[i].s];
            jumped[g] = turn >= folded->steady[g].from && turn < folded->steady[g].since;
        }
    }
}

static double jump_before(const struct tracer *tracer, uint32_t s, bool *jumped) {
    const struct folded *folded = tracer->folded;
    double ns = 0;
    for (size_t g = 0; g < tracer->allocation->gaps.len; g++) {
        const struct steady *steady = &folded->steady[g];
        if (jumped[g] || folded->time->turn[s] < steady->since)
            continue;
        ns += (double)(tracer->allocation->gaps.at[g].left_out / steady->period) * steady->step_ns;
        jumped[g] = true;
    }
    return ns;
}

static void walk_queue(struct tracer *tracer, uint8_t number, const struct at *order, size_t n) {
    struct time_lane *lane = &tracer->trace->lanes[number];
    const struct timeline *time = tracer->folded->time;
    bool *jumped = mem_alloc(tracer->allocation->gaps.len + 1, sizeof *jumped);
    double until = 0, last = 0;
    find_jumps(tracer, order, n, jumped);
    for (size_t i = 0; i < n; i++) {
        uint32_t s = order[i].s;
        uint64_t times = folded_weight(tracer->folded, s);
        double jump = jump_before(tracer, s, jumped), start = time->start[s];
        double idle = i ? MAX_OF(start - until, 0) + jump : 0;
        if (!i) {
            lane->lead_ns = start + jump;
            until = start;
        }
        if (idle > 0)
            split_idle(tracer, s, start - idle);
        note_span(tracer, s, number, idle);
        lane->issues += times;
        lane->busy_ns += (double)times * MAX_OF(time->end[s] - MAX_OF(start, until), 0);
        until = MAX_OF(until, time->end[s]);
        last = MAX_OF(last, time->end[s] + folded_shift(tracer->folded, s));
    }
    lane->tail_ns = n ? tracer->trace->latency_ns - last : 0;
    if (n)
        lane->first = trace_place(tracer->folded, order[0].s);
    free(jumped);
}

static void walk_queues(struct tracer *tracer) {
    size_t n = tracer->allocation->issues.len, count;
    struct at *order = mem_alloc(n + 1, sizeof *order);
    for (uint8_t queue = 0; queue < QUEUE_COUNT; queue++) {
        count = 0;
        for (uint32_t s = 0; s < n; s++)
            if (issue_cost_at(tracer->folded->costs, s)->queue == queue &&
                tracer->allocation->issues.at[s].kind != ISSUE_ABSENT)
                order[count++] = (struct at){tracer->folded->time->start[s], s};
        if (count)
            qsort(order, count, sizeof *order, by_start);
        walk_queue(tracer, (uint8_t)(queue + tracer->folded->core * QUEUE_COUNT), order, count);
    }
    free(order);
}

/* ---- memory --------------------------------------------------------------------------------- */

/* A residence begins or ends. */
struct flow {
    double ns;
    uint32_t residence, tile;
    bool ends;
};

static int by_ns(const void *a, const void *b) {
    const struct flow *x = a, *y = b;
    if (x->ns != y->ns)
        return x->ns < y->ns ? -1 : 1;
    return y->ends - x->ends; /* what ends makes room for what begins */
}

static int by_most(const void *a, const void *b) {
    const struct time_tile *x = a, *y = b;
    if (x->most_bytes != y->most_bytes)
        return x->most_bytes > y->most_bytes ? -1 : 1;
    return x->place.line < y->place.line ? -1 : x->place.line > y->place.line;
}

/* The number of the tile that a residence belongs to: by where it is brought in. */
static uint32_t tile_of(const struct tracer *tracer, struct map *index,
                        const struct residence *residence) {
    struct time_trace *trace = tracer->trace;
    const struct device_image *image = tracer->allocation->image;
    uint32_t storage = image->blocks[residence->block].storage;
    struct {
        struct time_place place;
        const char *name;
    } key;
    memset(&key, 0, sizeof key);
    key.place = trace_place(tracer->folded, residence->first_user);
    key.place.kind = TIME_INSTRUCTION;
    key.name = image->program->storages.at[storage]->name;
    struct map_entry *entry = map_put(index, (struct str){(const char *)&key, sizeof key});
    if (!entry->value) {
        *vec_push(&trace->tiles) = (struct time_tile){
            .place = key.place, .name = key.name ? key.name : "", .psum = residence->psum};
        entry->value = (void *)(uintptr_t)trace->tiles.len;
    }
    return (uint32_t)(uintptr_t)entry->value - 1;
}

/* Adds up what is there at once, in all and of each tile. */
static void fill_memory(const struct tracer *tracer, const struct flow *flows, size_t n) {
    struct time_trace *trace = tracer->trace;
    uint64_t *now = mem_alloc(trace->tiles.len + 1, sizeof *now), sbuf = 0, psum = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t bytes = tracer->allocation->residences.at[flows[i].residence].bytes;
        struct time_tile *tile = &trace->tiles.at[flows[i].tile];
        uint64_t *all = tile->psum ? &psum : &sbuf, *own = &now[flows[i].tile];
        *all = flows[i].ends ? *all - bytes : *all + bytes;
        *own = flows[i].ends ? *own - bytes : *own + bytes;
        tile->most_bytes = MAX_OF(tile->most_bytes, *own);
        trace->sbuf_flight = MAX_OF(trace->sbuf_flight, sbuf);
        trace->psum_flight = MAX_OF(trace->psum_flight, psum);
    }
    free(now);
}

static bool is_of_a_loop(const struct allocation *allocation, uint32_t s) {
    for (size_t g = 0; g < allocation->gaps.len; g++) {
        const struct gap *gap = &allocation->gaps.at[g];
        if (s >= gap->first && s < gap->first + gap->length * gap->kept)
            return true;
    }
    return false;
}

/* When each residence is over. One that begins within a loop of which rounds were left out ends
 * soon after; any other lasts through what was left out. */
static double *find_ends(const struct tracer *tracer) {
    const struct allocation *allocation = tracer->allocation;
    double *ends = mem_alloc(allocation->residences.len + 1, sizeof *ends);
    for (uint32_t s = 0; s < allocation->issues.len; s++)
        for (uint32_t u = allocation->use_base.at[s]; u < allocation->use_base.at[s + 1]; u++) {
            uint32_t r = allocation->uses.at[u], first = allocation->residences.at[r].first_user;
            double shift = is_of_a_loop(allocation, first) ? folded_shift(tracer->folded, first)
                                                           : folded_shift(tracer->folded, s);
            ends[r] = MAX_OF(ends[r], tracer->folded->time->visible[s] + shift);
        }
    return ends;
}

static void walk_memory(struct tracer *tracer) {
    const struct timeline *time = tracer->folded->time;
    size_t n = tracer->allocation->residences.len;
    struct flow *flows = mem_alloc(2 * n + 1, sizeof *flows);
    struct map index = {0};
    double *ends = find_ends(tracer);
    for (uint32_t r = 0; r < n; r++) {
        const struct residence *residence = &tracer->allocation->residences.at[r];
        uint32_t number = tile_of(tracer, &index, residence);
        struct time_tile *tile = &tracer->trace->tiles.at[number];
        uint64_t times = folded_weight(tracer->folded, residence->first_user);
        double from = time->start[residence->first_user] +
                      folded_shift(tracer->folded, residence->first_user);
        double until = MAX_OF(ends[r], from);
        tile->count += times;
        tile->live_ns += (double)times * (until - from);
        tile->bytes = MAX_OF(tile->bytes, residence->bytes);
        flows[2 * (size_t)r] = (struct flow){from, r, number, false};
        flows[2 * (size_t)r + 1] = (struct flow){until, r, number, true};
    }
    if (n)
        qsort(flows, 2 * n, sizeof *flows, by_ns);
    fill_memory(tracer, flows, 2 * n);
    if (tracer->trace->tiles.len)
        qsort(tracer->trace->tiles.at, tracer->trace->tiles.len, sizeof *tracer->trace->tiles.at,
              by_most);
    map_free(&index);
    free(ends);
    free(flows);
}

/* ---- the trace ------------------------------------------------------------------------------ */

_Static_assert(TIME_LANES >= MOST_CORES * QUEUE_COUNT, "each queue of each core is a lane");

static void name_lanes(struct time_trace *trace, size_t cores) {
    static const char *const of_cores[MOST_CORES][QUEUE_COUNT] = {
        {"0 Tensor", "0 Vector", "0 Scalar", "0 GpSimd", "0 DMA in", "0 DMA out"},
        {"1 Tensor", "1 Vector", "1 Scalar", "1 GpSimd", "1 DMA in", "1 DMA out"}};
    trace->lane_count = (int)cores * QUEUE_COUNT;
    for (int lane = 0; lane < trace->lane_count; lane++)
        trace->lanes[lane].name =
            cores > 1 ? of_cores[lane / QUEUE_COUNT][lane % QUEUE_COUNT] : queue_names[lane];
}

/* Of `n` cores, of which `last` ends last. What is on chip is told of that one. */
static struct time_trace *trace_of(const struct timing *timing, const struct folded *cores,
                                   size_t n, size_t last) {
    struct time_trace *trace = mem_alloc(1, sizeof *trace);
    struct tracer tracer = {.trace = trace};
    for (size_t k = 0; k < n; k++)
        tracer.on_path[k] =
            mem_alloc(cores[k].allocation->issues.len + 1, sizeof *tracer.on_path[k]);
    trace->wants_spans = timing->all_spans;
    trace->start_ns = timing->table->start_ns;
    trace->end_ns = timing->table->end_ns;
    trace->latency_ns = cores[last].latency_ns;
    trace->sbuf_bytes = cores[last].allocation->sbuf_peak;
    trace->psum_bytes = cores[last].allocation->psum_peak;
    name_lanes(trace, n);
    way_walk(&cores[last], add_step, &tracer);
    turn_round(trace);
    for (size_t k = 0; k < n; k++) {
        turn_to(&tracer, &cores[k]);
        walk_queues(&tracer);
        free(tracer.on_path[k]);
    }
    turn_to(&tracer, &cores[last]);
    walk_memory(&tracer);
    taken_find(&cores[last], trace);
    map_free(&tracer.index);
    return trace;
}

static struct time_trace *trace_of_cores(const struct timing *timing) {
    struct together together;
    size_t last = 0;
    together_make(timing, &together);
    for (size_t k = 1; k < together.n; k++)
        if (together.cores[k].latency_ns > together.cores[last].latency_ns)
            last = k;
    struct time_trace *trace = trace_of(timing, together.cores, together.n, last);
    together_free(&together);
    return trace;
}

struct time_trace *time_trace_make(const struct device_image *image,
                                   const struct device_constants *constants, bool wants_spans) {
    if (!constants)
        constants = device_constants_of(image->generation->generation);
    struct device_constants on_grid = device_constants_on_grid(constants);
    struct timing timing = {
        .image = image, .table = &on_grid, .all_spans = wants_spans, .keeps_reasons = true};
    struct folded folded;
    if (image->cores)
        return trace_of_cores(&timing);
    if (!folded_make(&timing, -1, &folded))
        return NULL;
    struct time_trace *trace = trace_of(&timing, &folded, 1, 0);
    folded_free(&folded);
    return trace;
}

void time_trace_free(struct time_trace *trace) {
    if (!trace)
        return;
    vec_free(&trace->rows);
    vec_free(&trace->path);
    vec_free(&trace->spans);
    vec_free(&trace->tiles);
    vec_free(&trace->taken);
    free(trace);
}
