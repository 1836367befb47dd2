/* SPDX-License-Identifier: Apache-2.0 */
/* The spans of a whole program from the schedule of one of which rounds of loops were left out:
 * those of a loop's last steady periods come again and again, each time a step later. And the
 * trace: a program of which nothing was left out, with all that is known of each issue. */
#include "device/time/run.h"

#include <stdlib.h>

static int by_start(const void *a, const void *b) {
    const struct device_span *x = a, *y = b;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return x->instr < y->instr ? -1 : x->instr > y->instr;
}

/* Most come in order, and few are far from their place. */
#define MOST_STEPS 8 /* for each span, until sorting them all is cheaper */

void spans_sort(struct device_span *spans, size_t n) {
    size_t steps = 0;
    for (size_t i = 1; i < n; i++) {
        struct device_span span = spans[i];
        size_t at = i;
        for (; at && by_start(&span, &spans[at - 1]) < 0; at--)
            spans[at] = spans[at - 1];
        spans[at] = span;
        steps += i - at;
        if (steps > MOST_STEPS * n) {
            qsort(spans, n, sizeof *spans, by_start);
            return;
        }
    }
}

/* ---- the whole program ---------------------------------------------------------------------- */

struct spans_copy {
    struct device_span *turns; /* issues in the order they were scheduled */
    size_t n;
    struct gap *gaps;
    struct nki_fold *folds;
    struct steady *steady;
    struct rounds rounds; /* these */
};
struct whole {
    const struct spans_copy *copy;
    double start_ns;
    struct device_span *next[QUEUE_COUNT];
};

#define ABSENT QUEUE_COUNT    /* in the place of the queue */
#define TRIM_BYTES (16 << 20) /* so many of spans lie in no place that was freed */

struct spans_copy *spans_copy_make(const struct folded *folded) {
    const struct allocation *allocation = folded->allocation;
    struct rounds rounds = folded_rounds(folded);
    struct spans_copy *copy = mem_alloc(1, sizeof *copy);
    copy->n = allocation->issues.len;
    copy->turns = mem_alloc(copy->n + 1, sizeof *copy->turns);
    copy->gaps = mem_dup(rounds.gaps, rounds.n * sizeof *rounds.gaps);
    copy->folds = mem_dup(rounds.folds, rounds.n * sizeof *rounds.folds);
    copy->steady = mem_dup(rounds.steady, rounds.n * sizeof *rounds.steady);
    copy->rounds = (struct rounds){rounds.n, copy->gaps, copy->folds, copy->steady};
    for (uint32_t s = 0; s < copy->n; s++) {
        const struct issue *issue = &allocation->issues.at[s];
        bool absent = issue->kind == ISSUE_ABSENT;
        copy->turns[folded->time->turn[s]] = (struct device_span){
            issue->instr, absent ? (uint8_t)ABSENT : issue_cost_at(folded->costs, s)->queue,
            folded->time->start[s], folded->time->end[s]};
    }
    return copy;
}

void spans_copy_free(struct spans_copy *copy) {
    if (!copy)
        return;
    free(copy->gaps);
    free(copy->folds);
    free(copy->steady);
    free(copy->turns);
    free(copy);
}

/* How far what comes in the schedule of gap `g` has moved in the program, when `done` periods of
 * those left out have passed. */
static uint32_t moved(const struct rounds *rounds, uint32_t instr, size_t g, uint64_t done) {
    int64_t by = 0;
    for (size_t f = 0; f <= g && f < rounds->n; f++) {
        const struct nki_fold *fold = &rounds->folds[f];
        uint64_t left = rounds->gaps[f].left_out, passed = f < g ? left : done;
        if (instr >= fold->first) /* hidden periods are in front of those that are kept */
            by += ((int64_t)passed - (int64_t)(left - fold->left_out)) * (int64_t)fold->length;
    }
    return (uint32_t)(instr + by);
}

static void add_turns(struct whole *whole, uint32_t from, uint32_t to, size_t g, uint64_t done) {
    const struct rounds *rounds = &whole->copy->rounds;
    const struct steady *steady = g < rounds->n ? &rounds->steady[g] : NULL;
    for (uint32_t turn = from; turn < to; turn++) {
        const struct device_span *span = &whole->copy->turns[turn];
        if (span->queue == ABSENT)
            continue;
        double ahead = whole->start_ns + rounds_shift(rounds, turn) +
                       (done ? (double)(done / steady->period) * steady->step_ns : 0);
        *whole->next[span->queue]++ =
            (struct device_span){moved(rounds, span->instr, g, done), span->queue,
                                 ahead + span->start_ns, ahead + span->end_ns};
    }
}

/* Where the spans of each queue begin; returns how many there are. */
static size_t count_spans(const struct spans_copy *copy, size_t first[QUEUE_COUNT + 1]) {
    memset(first, 0, (QUEUE_COUNT + 1) * sizeof *first);
    for (uint32_t turn = 0; turn < copy->n; turn++)
        if (copy->turns[turn].queue != ABSENT)
            first[copy->turns[turn].queue + 1] += rounds_weight(&copy->rounds, turn);
    for (int queue = 0; queue < QUEUE_COUNT; queue++)
        first[queue + 1] += first[queue];
    return first[QUEUE_COUNT];
}

static void add_all(struct whole *whole) {
    const struct rounds *rounds = &whole->copy->rounds;
    uint32_t turn = 0;
    size_t g = 0;
    for (; g < rounds->n; g++) {
        const struct steady *steady = &rounds->steady[g];
        uint64_t left = rounds->gaps[g].left_out;
        add_turns(whole, turn, steady->from, g, 0);
        for (uint64_t done = 0; done <= left; done += steady->period)
            add_turns(whole, steady->from, steady->since, g, done);
        turn = steady->since;
    }
    add_turns(whole, turn, (uint32_t)whole->copy->n, g, 0);
}

void spans_of_whole(struct spans_copy *copy, double start_ns, struct device_profile *profile) {
    size_t first[QUEUE_COUNT + 1], n = count_spans(copy, first);
    struct whole whole = {copy, start_ns, {0}};
    vec_free(&profile->spans);
    if (n * sizeof *profile->spans.at >= TRIM_BYTES)
        os_return_memory();
    vec_reserve(&profile->spans, n);
    profile->spans.len = n;
    for (int queue = 0; queue < QUEUE_COUNT; queue++)
        whole.next[queue] = profile->spans.at + first[queue];
    add_all(&whole);
    for (int queue = 0; queue < QUEUE_COUNT; queue++)
        spans_sort(profile->spans.at + first[queue], first[queue + 1] - first[queue]);
    spans_copy_free(copy);
}

/* ---- the trace ------------------------------------------------------------------------------ */

static void put_transfer(const struct transfer *transfer, uint8_t issuer,
                         struct device_event *event) {
    event->is_transfer = true;
    event->issuer = issuer;
    event->bytes = transfer->bytes;
    event->descriptors = (uint32_t)MIN_OF(transfer->descriptors, (uint64_t)UINT32_MAX);
    event->first_engine = (uint8_t)transfer->first;
    event->engines = (uint8_t)transfer->engines;
    event->reads_hbm = transfer->reads_hbm;
    event->writes_hbm = transfer->writes_hbm;
    event->software = transfer->software;
}

static void put_product(const struct folded *core, struct device_event *event) {
    const struct nki_program *program = core->allocation->image->program;
    const struct nki_instr *instr = &program->instrs.at[event->instr];
    bool transpose = false;
    event->flops = cost_flops(program, instr, &transpose);
    event->transpose = transpose;
    if (event->flops > 0)
        event->passes = (uint8_t)cost_pe_passes(program, instr, core->allocation->table);
}

static enum device_event_kind kind_of(const struct issue *issue) {
    return issue->kind == ISSUE_SAVE     ? DEVICE_EVENT_SAVE
           : issue->kind == ISSUE_RELOAD ? DEVICE_EVENT_RELOAD
                                         : DEVICE_EVENT_INSTR;
}

static void put_event(const struct folded *core, uint32_t s, double start_ns,
                      struct device_event *event) {
    const struct issue *issue = &core->allocation->issues.at[s];
    const struct issue_cost *cost = issue_cost_at(core->costs, s);
    *event = (struct device_event){.instr = issue->instr,
                                   .queue = cost->queue,
                                   .kind = (uint8_t)kind_of(issue),
                                   .start_ns = start_ns + core->time->start[s],
                                   .end_ns = start_ns + core->time->end[s]};
    if (cost->queue == QUEUE_DMA_IN || cost->queue == QUEUE_DMA_OUT)
        put_transfer(&cost->transfer, cost->issuer, event);
    else
        put_product(core, event);
}

/* How long each queue had nothing to do before an event, from the events in the order of starts. */
static void put_waits(struct device_event *events, size_t n) {
    double free_since[QUEUE_COUNT] = {0};
    struct device_span *spans = mem_alloc(n + 1, sizeof *spans);
    for (size_t i = 0; i < n; i++)
        spans[i] = (struct device_span){(uint32_t)i, 0, events[i].start_ns, events[i].end_ns};
    spans_sort(spans, n);
    for (size_t i = 0; i < n; i++) {
        struct device_event *event = &events[spans[i].instr];
        double *since = &free_since[event->queue];
        event->waited_ns = MAX_OF(event->start_ns - *since, 0);
        *since = MAX_OF(*since, event->end_ns);
    }
    free(spans);
}

static void put_edges(const struct folded *core, const int32_t *event_of,
                      struct device_trace *trace) {
    const struct depends *depends = core->depends;
    for (uint32_t s = 0; s < depends->n; s++)
        for (uint32_t k = depends->consumer_base[s]; k < depends->consumer_base[s + 1]; k++) {
            uint32_t consumer = depends->consumer[k] & ~DEPENDS_ORDER;
            if (event_of[s] >= 0 && event_of[consumer] >= 0)
                *vec_push(&trace->edges) =
                    (struct device_edge){(uint32_t)event_of[s], (uint32_t)event_of[consumer],
                                         (depends->consumer[k] & DEPENDS_ORDER) != 0};
        }
}

/* Adds a core. Returns for each issue its event, or -1. */
static int32_t *trace_core(const struct folded *core, double start_ns, struct device_trace *trace) {
    size_t n = core->allocation->issues.len, first = trace->events.len;
    int32_t *event_of = mem_alloc(n + 1, sizeof *event_of);
    vec_reserve(&trace->events, first + n);
    for (uint32_t s = 0; s < n; s++) {
        bool absent = core->allocation->issues.at[s].kind == ISSUE_ABSENT;
        event_of[s] = absent ? -1 : (int32_t)trace->events.len;
        if (!absent)
            put_event(core, s, start_ns, &trace->events.at[trace->events.len++]);
    }
    put_waits(trace->events.at + first, trace->events.len - first);
    for (size_t i = first; i < trace->events.len; i++) {
        struct device_event *event = &trace->events.at[i];
        event->instr = core->instrs ? core->instrs[event->instr] : event->instr;
        event->queue = (uint16_t)(event->queue + core->core * QUEUE_COUNT);
    }
    put_edges(core, event_of, trace);
    return event_of;
}

/* When all cores are there: an event may wait for one of another core. */
static void put_causes(const struct folded *core, int32_t *const *event_of,
                       struct device_trace *trace) {
    for (uint32_t s = 0; s < core->allocation->issues.len; s++) {
        int32_t event = event_of[core->core][s], cause = core->time->cause[s];
        if (event < 0)
            continue;
        bool meets = cause == TIMELINE_PEER;
        const int32_t *others = event_of[meets ? core->peer->core : core->core];
        cause = meets ? (int32_t)folded_mate(core, s) : cause;
        trace->events.at[event].cause = cause < 0 ? -1 : others[cause];
    }
}

static void trace_cores(const struct folded *cores, size_t n, double start_ns,
                        struct device_trace *trace) {
    int32_t *event_of[MOST_CORES];
    for (size_t k = 0; k < n; k++)
        event_of[k] = trace_core(&cores[k], start_ns, trace);
    for (size_t k = 0; k < n; k++)
        put_causes(&cores[k], event_of, trace);
    for (size_t k = 0; k < n; k++)
        free(event_of[k]);
}

struct device_trace *device_trace_make(const struct device_image *image,
                                       const struct device_constants *constants) {
    struct device_trace *trace = mem_alloc(1, sizeof *trace);
    struct device_constants table = device_constants_on_grid(
        constants ? constants : device_constants_of(image->generation->generation));
    struct timing timing = {.image = image, .table = &table};
    struct together together;
    struct folded folded;
    if (image->cores) {
        together_make(&timing, &together);
        trace_cores(together.cores, together.n, table.start_ns, trace);
        together_free(&together);
    } else {
        folded_prepare(&timing, &folded);
        timeline_again(folded.time, -1);
        trace_cores(&folded, 1, table.start_ns, trace);
        folded_free(&folded);
    }
    return trace;
}

void device_trace_free(struct device_trace *trace) {
    if (!trace)
        return;
    vec_free(&trace->events);
    vec_free(&trace->edges);
    free(trace);
}
