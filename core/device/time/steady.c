/* SPDX-License-Identifier: Apache-2.0 */
/* When a schedule repeats itself. At the start of each period of a folded loop the state of the run
 * is noted: who is free when, what waits for what, which memory is held. Times and numbers in it
 * count from the period's first issue. Two equal states have equal futures as long as the periods
 * go on, so what lies between them repeats. Times lie on a grid (issues.c) on which sums are exact,
 * so states can be compared bit by bit. */
#include "device/time/run.h"

#include <math.h>
#include <stdlib.h>

#define NO_GAP UINT32_MAX
/* Schedules; each hides more periods, until what is left out is a multiple of the period. */
#define MOST_TRIES 4

/* How often it is looked whether the periods to come are alike, before the loop is over. */
#define MOST_LOOKS 4

/* A note: the state as a hash of 128 bits. */
struct cut {
    uint32_t turn;
    bool noted, inside; /* inside: so far nothing behind the loop has been issued or made ready */
    double now_ns, throttled_ns;
    unsigned char state[HASH_BYTES];
};

/* What is watched for in a gap. */
struct watch {
    uint32_t first; /* its first cut */
    uint32_t end;   /* the period after whose start nothing is noted any more */
    uint32_t tries;
    uint32_t ended;  /* residences of the gap before this one have ended */
    uint32_t least;  /* the fewest periods after which a state came back; UINT32_MAX: none did */
    uint32_t period; /* of the states, where `end` is known */
};

static void put(struct words *words, uint64_t word) {
    *vec_push(&words->all) = word;
}

static void put_number(struct words *words, double number) {
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    put(words, bits);
}

/* A time that is past has no effect any more: all of them count as 0. */
static double ahead(double time, double now) {
    return time > now ? time - now : 0;
}

static void put_time(struct words *words, double time, double now) {
    put_number(words, ahead(time, now));
}

/* Two small numbers and a time in one word, and in a second one where the time is to come. There
 * are hundreds of these in a note, and the time of most is past. */
static uint64_t *put_pair(uint64_t *at, uint32_t high, uint32_t low, double time) {
    *at++ = (uint64_t)high << 32 | (uint64_t)(low & UINT32_MAX >> 1) << 1 | (time > 0);
    if (time > 0)
        memcpy(at++, &time, sizeof time);
    return at;
}

/* Where the words of `n` pairs may be written; what was written ends at `at`. */
static uint64_t *begin_pairs(struct words *words, size_t n) {
    vec_reserve(&words->all, words->all.len + 2 * n + 1);
    return words->all.at + words->all.len;
}

static void end_pairs(struct words *words, const uint64_t *at) {
    words->all.len = (size_t)(at - words->all.at);
}

/* ---- gaps ----------------------------------------------------------------------------------- */

/* The last gap that begins at issue s or before. */
static uint32_t gap_before(const struct allocation *allocation, uint32_t s) {
    uint32_t low = 0, high = (uint32_t)allocation->gaps.len;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (allocation->gaps.at[middle].first <= s)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? low - 1 : NO_GAP;
}

static uint32_t start_of(const struct gap *gap, uint32_t period) {
    return gap->first + period * gap->length;
}

void steady_open(struct run *run) {
    const struct allocation *allocation = run->allocation;
    if (!allocation->gaps.len)
        return;
    uint32_t cuts = 0;
    run->cut_of = mem_alloc(allocation->issues.len + 1, sizeof *run->cut_of);
    for (size_t g = 0; g < allocation->gaps.len; g++)
        for (uint32_t p = 0; p <= allocation->gaps.at[g].kept; p++)
            run->cut_of[start_of(&allocation->gaps.at[g], p)] = ++cuts;
    run->time->turn = mem_alloc(allocation->issues.len + 1, sizeof *run->time->turn);
    run->cuts = mem_alloc(cuts + 1, sizeof *run->cuts);
    run->watches = mem_alloc(allocation->gaps.len, sizeof *run->watches);
    for (run->n_seen = 2; run->n_seen < 2 * cuts;)
        run->n_seen *= 2;
    run->seen = mem_alloc(run->n_seen, sizeof *run->seen);
    run->reach = mem_alloc(allocation->gaps.len, sizeof *run->reach);
}

void steady_reset(struct run *run) {
    const struct allocation *allocation = run->allocation;
    run->turns = 0;
    run->is_enough = false;
    if (run->seen)
        memset(run->seen, 0, run->n_seen * sizeof *run->seen);
    for (size_t g = 0, cut = 0; g < allocation->gaps.len; g++) {
        run->reach[g] = 0;
        run->watches[g] = (struct watch){.first = (uint32_t)cut,
                                         .end = UINT32_MAX,
                                         .least = UINT32_MAX,
                                         .ended = allocation->gaps.at[g].residence};
        for (uint32_t p = 0; p <= allocation->gaps.at[g].kept; p++)
            run->cuts[cut++].noted = false;
    }
}

void steady_close(struct run *run) {
    free(run->cuts);
    free(run->watches);
    free(run->seen);
    free(run->cut_of);
    free(run->reach);
    vec_free(&run->words.all);
}

void steady_touch(struct run *run, uint32_t s, uint32_t touched) {
    uint32_t gap = gap_before(run->allocation, s);
    if (gap != NO_GAP && touched > run->reach[gap])
        run->reach[gap] = touched;
}

/* ---- the state ------------------------------------------------------------------------------ */

/* The issues from low up to high: those that something has happened to and that are not done. */
struct window {
    uint32_t low, high, base, end; /* end: of the loop */
    double now;
};

/* An issue by its distance from the period's first one. All issues behind the loop are one. */
static void put_issue(struct words *words, uint32_t issue, const struct window *window) {
    put(words, issue < window->end ? issue - window->base : UINT32_MAX);
}

static uint32_t first_user(const struct run *run, size_t residence) {
    const struct allocation *allocation = run->allocation;
    return residence < allocation->residences.len ? allocation->residences.at[residence].first_user
                                                  : (uint32_t)allocation->issues.len;
}

static struct window window_of(const struct run *run, uint32_t gap, uint32_t s) {
    struct window window = {.low = s, .high = MAX_OF(s, run->reach[gap]) + 1, .base = s};
    if (run->allocation->reorders) {
        window.low = MIN_OF(s, run->oldest);
        window.high = MAX_OF(window.high, run->admitted);
    }
    for (int q = 0; q < QUEUE_COUNT && !run->allocation->reorders; q++) {
        const struct queue_state *queue = &run->queues[q];
        if (queue->head < queue->order.len)
            window.low = MIN_OF(window.low, queue->order.at[queue->head]);
        if (queue->head)
            window.high = MAX_OF(window.high, queue->order.at[queue->head - 1] + 1);
    }
    window.high = MAX_OF(window.high, first_user(run, run->sbuf.granted) + 1);
    window.high = MAX_OF(window.high, first_user(run, run->psum.granted) + 1);
    return window;
}

static int by_key(const void *a, const void *b) {
    const struct entry *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->issue < y->issue ? -1 : x->issue > y->issue;
}

static int by_issue(const void *a, const void *b) {
    const struct entry *x = a, *y = b;
    return x->issue < y->issue ? -1 : x->issue > y->issue;
}

/* A heap's entries in an order that does not depend on the order in which they came. */
static void put_heap(struct words *words, const struct heap *heap, const struct window *window,
                     bool memory) {
    size_t n = heap->all.len;
    struct entry *sorted = mem_dup(heap->all.at, n * sizeof *sorted);
    if (n)
        qsort(sorted, n, sizeof *sorted, memory ? by_key : by_issue);
    put(words, n);
    for (size_t i = 0; i < n; i++) {
        put_time(words, sorted[i].key, window->now);
        put(words, memory ? sorted[i].value : sorted[i].issue - window->base);
    }
    free(sorted);
}

/* The time of all of them, where it is the same. */
static void put_dma_engines(struct words *words, const struct run *run, double now) {
    uint32_t engines = run->engines_alike ? 1 : run->engines, alike = 1;
    double first = ahead(run->engine_free[0], now);
    while (alike < engines && ahead(run->engine_free[alike], now) == first)
        alike++;
    put(words, alike < engines);
    for (uint32_t e = 0; e < (alike < engines ? engines : 1); e++)
        put_time(words, run->engine_free[e], now);
}

static void put_queues(struct words *words, const struct run *run, const struct window *window) {
    for (int q = 0; q < QUEUE_COUNT; q++) {
        const struct queue_state *queue = &run->queues[q];
        put_time(words, queue->free, window->now);
        if (run->allocation->reorders) {
            put_heap(words, &queue->later, window, false);
            put_heap(words, &queue->now, window, false);
        } else {
            bool more = queue->head < queue->order.len;
            put_issue(words, more ? queue->order.at[queue->head] : window->end, window);
        }
    }
    for (int e = 0; e < NKI_ENGINE_COUNT; e++)
        put_time(words, run->issuer_free[e], window->now);
    put_dma_engines(words, run, window->now);
}

static void put_tiles(struct words *words, const struct pe_tiles *tiles, double now) {
    put_time(words, tiles->all_free, now);
    for (int tile = 0; tiles->all_free > now && tile < PE_TILES; tile++)
        put_time(words, tiles->free[tile], now);
}

static void put_engines(struct words *words, const struct run *run, const struct window *window) {
    const struct pe_clock *clock = &run->pe_clock;
    double age = window->now - clock->since;
    put_number(words, age > 2 * run->schedule->table->pe_window_ns ? INFINITY : age);
    put_number(words, clock->busy);
    put(words, clock->slow);
    put_tiles(words, &run->pe_tiles, window->now);
    put_time(words, run->port_free, window->now);
    put(words, run->port_queue);
    put(words, run->function_set);
    if (run->allocation->reorders) {
        put(words, run->oldest - window->base);
        put_issue(words, run->admitted, window);
    }
}

static void put_pool(struct words *words, const struct run *run, const struct pool *pool,
                     const struct window *window) {
    put(words, pool->used);
    put_time(words, pool->when, window->now);
    put_issue(words, first_user(run, pool->next), window);
    put_heap(words, &pool->returned, window, true);
}

/* Tiles that the loop has made and that are in use. None of those that have ended is looked at
 * again: there are as many as there were rounds. */
static void put_residences(struct words *words, const struct run *run, struct watch *watch,
                           const struct window *window) {
    const struct allocation *allocation = run->allocation;
    size_t n = allocation->residences.len;
    while (watch->ended < n && !run->residences[watch->ended].left)
        watch->ended++;
    size_t end = watch->ended;
    while (end < n && allocation->residences.at[end].first_user < window->high)
        end++;
    uint64_t *at = begin_pairs(words, end - watch->ended);
    for (size_t r = watch->ended; r < end; r++)
        if (run->residences[r].left)
            at = put_pair(at, allocation->residences.at[r].first_user - window->base,
                          run->residences[r].left, ahead(run->residences[r].over, window->now));
    end_pairs(words, at);
}

static void put_issues(struct words *words, const struct run *run, const struct window *window) {
    put(words, UINT64_MAX); /* behind the tiles */
    put(words, window->high - window->base);
    uint64_t *at = begin_pairs(words, window->high - window->low);
    for (uint32_t s = window->low; s < window->high; s++) {
        const struct pending *issue = &run->issues[s];
        if (!issue->done)
            at = put_pair(at, s - window->base, issue->waits, ahead(issue->ready, window->now));
    }
    end_pairs(words, at);
}

static bool same_state(const struct cut *a, const struct cut *b) {
    return a->noted && b->noted && a->inside && b->inside &&
           memcmp(a->state, b->state, sizeof a->state) == 0;
}

/* The state has come back twice, so that what reaches from one period into the next is steady,
 * too. */
static bool repeats(const struct cut *cuts, uint32_t at, uint32_t period) {
    return same_state(&cuts[at], &cuts[at - period]) &&
           same_state(&cuts[at], &cuts[at - 2 * period]);
}

/* The cut before this one with the same state, which this one takes the place of; UINT32_MAX: there
 * is none. */
static uint32_t seen_before(struct run *run, uint32_t cut) {
    uint64_t hash;
    memcpy(&hash, run->cuts[cut].state, sizeof hash);
    size_t at = hash & (run->n_seen - 1);
    while (run->seen[at] && !same_state(&run->cuts[run->seen[at] - 1], &run->cuts[cut]))
        at = (at + 1) & (run->n_seen - 1);
    uint32_t before = run->seen[at];
    run->seen[at] = cut + 1;
    return before ? before - 1 : UINT32_MAX;
}

/* Whether all loops are steady, and something left out of one is no whole number of its periods:
 * then this schedule is only good for knowing that. */
static bool hides_more(const struct run *run) {
    bool more = false;
    for (size_t g = 0; g < run->allocation->gaps.len; g++) {
        if (run->watches[g].end == UINT32_MAX)
            return false;
        more |= run->allocation->gaps.at[g].left_out % run->watches[g].period != 0;
    }
    return more;
}

/* Once the state has come back twice and the periods to come are alike, only one more round of
 * states is noted. */
static void watch_for_end(struct run *run, uint32_t g, uint32_t cut) {
    struct watch *watch = &run->watches[g];
    uint32_t before = seen_before(run, cut), at = cut - watch->first, period = cut - before;
    if (before == UINT32_MAX || before < watch->first)
        return;
    watch->least = MIN_OF(watch->least, period);
    if (at < 2 * period || watch->end != UINT32_MAX || watch->tries == MOST_LOOKS ||
        !repeats(run->cuts + watch->first, at, period))
        return;
    watch->tries++;
    if (!alike_issues(run->schedule, &run->allocation->gaps.at[g], period, at))
        return;
    watch->end = at + period;
    watch->period = period;
    run->is_enough = g + 1 == run->allocation->gaps.len && hides_more(run);
}

static void note(struct run *run, uint32_t s, double now) {
    const struct allocation *allocation = run->allocation;
    uint32_t g = gap_before(allocation, s);
    const struct gap *gap = &allocation->gaps.at[g];
    uint32_t number = run->cut_of[s] - 1;
    struct cut *cut = &run->cuts[number];
    if (number - run->watches[g].first > run->watches[g].end)
        return;
    struct window window = window_of(run, g, s);
    const struct balance *balance =
        &allocation->balances.at[gap->balance + (s - gap->first) / gap->length];
    struct words *words = &run->words;
    words->all.len = 0;
    window.now = now;
    window.end = start_of(gap, gap->kept + 1);
    *cut = (struct cut){.turn = run->time->turn[s],
                        .noted = true,
                        .now_ns = now,
                        .throttled_ns = run->time->throttled_ns};
    cut->inside = window.low >= gap->first && window.high <= window.end;
    if (!cut->inside)
        return;
    put_queues(words, run, &window);
    put_engines(words, run, &window);
    put_pool(words, run, &run->sbuf, &window);
    put_pool(words, run, &run->psum, &window);
    put_residences(words, run, &run->watches[g], &window);
    put_issues(words, run, &window);
    put_number(words, balance->vector_ns);
    put_number(words, balance->scalar_ns);
    hash_bytes(words->all.at, words->all.len * sizeof *words->all.at, cut->state);
    watch_for_end(run, g, number);
}

void steady_note(struct run *run, uint32_t s, double now) {
    run->time->turn[s] = run->turns++;
    if (run->cut_of[s])
        note(run, s, now);
}

/* ---- steadiness ----------------------------------------------------------------------------- */

static bool find_in_gap(const struct run *run, const struct gap *gap, const struct watch *watch,
                        struct steady *steady) {
    const struct cut *cuts = run->cuts + watch->first;
    for (uint32_t period = watch->least; period <= gap->kept / 3; period++)
        for (uint32_t at = gap->kept - period; at >= 2 * period; at--) {
            if (!repeats(cuts, at, period))
                continue;
            if (!alike_issues(run->schedule, gap, period, at))
                break;
            const struct cut *now = &cuts[at], *before = &cuts[at - period];
            *steady = (struct steady){.at = at,
                                      .period = period,
                                      .step_ns = now->now_ns - before->now_ns,
                                      .throttled_ns = now->throttled_ns - before->throttled_ns,
                                      .since_ns = now->now_ns,
                                      .from = before->turn,
                                      .since = now->turn};
            return true;
        }
    return false;
}

/* One for each gap of the allocation; false when the schedule is not steady in one of them. */
static bool steady_find(const struct timeline *timeline, struct steady *steady) {
    const struct run *run = timeline->run;
    for (size_t g = 0; g < run->allocation->gaps.len; g++)
        if (!find_in_gap(run, &run->allocation->gaps.at[g], &run->watches[g], &steady[g]))
            return false;
    return true;
}

/* ---- what was left out ---------------------------------------------------------------------- */

void folded_free(struct folded *folded) {
    timeline_free(folded->time);
    depends_free(folded->depends);
    issue_costs_free(folded->costs);
    free(folded->steady);
    allocation_free(folded->allocation);
    *folded = (struct folded){0};
}

double rounds_shift(const struct rounds *rounds, uint32_t turn) {
    double shift = 0;
    for (size_t g = 0; g < rounds->n; g++) {
        const struct steady *steady = &rounds->steady[g];
        if (turn >= steady->since)
            shift += (double)(rounds->gaps[g].left_out / steady->period) * steady->step_ns;
    }
    return shift;
}

uint64_t rounds_weight(const struct rounds *rounds, uint32_t turn) {
    for (size_t g = 0; g < rounds->n; g++) {
        const struct steady *steady = &rounds->steady[g];
        if (turn >= steady->from && turn < steady->since)
            return 1 + rounds->gaps[g].left_out / steady->period;
    }
    return 1;
}

struct rounds folded_rounds(const struct folded *folded) {
    const struct allocation *allocation = folded->allocation;
    return (struct rounds){allocation->gaps.len, allocation->gaps.at, allocation->folds,
                           folded->steady};
}

double folded_shift(const struct folded *folded, uint32_t s) {
    struct rounds rounds = folded_rounds(folded);
    return rounds.n ? rounds_shift(&rounds, folded->time->turn[s]) : 0;
}

uint64_t folded_weight(const struct folded *folded, uint32_t s) {
    struct rounds rounds = folded_rounds(folded);
    return rounds.n ? rounds_weight(&rounds, folded->time->turn[s]) : 1;
}

/* All that a schedule needs; no time yet. False when nothing may be left out of the program,
 * or the change cannot be made. */
static bool prepare(const struct timing *timing, const struct hiding *hiding,
                    struct folded *folded) {
    const struct device_constants *table = timing->table;
    *folded = (struct folded){0};
    folded->allocation = allocation_hiding(timing->image, table, timing->without, hiding);
    folded->allocation->change = timing->change;
    if (!folded->allocation->is_foldable)
        return false;
    folded->costs = issue_costs_make(folded->allocation, table);
    if (folded->costs->fails)
        return false;
    folded->depends = depends_make(folded->allocation, folded->costs);
    if (!folded->allocation->gaps.len)
        depends_end_producers(folded->depends);
    folded->schedule = (struct schedule){folded->allocation, folded->depends, table, folded->costs};
    folded->steady = mem_alloc(folded->allocation->gaps.len + 1, sizeof *folded->steady);
    return true;
}

static void schedule_it(const struct timing *timing, int lifted, const struct hiding *hiding,
                        struct folded *folded) {
    if (!prepare(timing, hiding, folded))
        return;
    folded->time = timeline_new(&folded->schedule);
    if (timing->keeps_reasons)
        timeline_keep_reasons(folded->time);
    timeline_again(folded->time, lifted);
}

static void add_what_was_left_out(struct folded *folded) {
    const struct timeline *time = folded->time;
    folded->latency_ns = time->latency_ns;
    folded->throttled_ns = time->throttled_ns;
    if (!folded->allocation->gaps.len)
        return;
    folded->latency_ns = 0;
    for (uint32_t s = 0; s < folded->allocation->issues.len; s++) {
        double visible = time->visible[s] + folded_shift(folded, s);
        folded->latency_ns = MAX_OF(folded->latency_ns, visible);
    }
    for (size_t g = 0; g < folded->allocation->gaps.len; g++)
        folded->throttled_ns +=
            folded->steady[g].throttled_ns *
            (double)(folded->allocation->gaps.at[g].left_out / folded->steady[g].period);
}

/* What is left out has to be a multiple of the period. Where it is not, as many of the kept rounds
 * are hidden, too; true when there were some. A period is at most a third of what is kept, so some
 * stay. */
static bool hide_more(const struct folded *folded, uint32_t *hidden) {
    bool more = false;
    for (size_t g = 0; g < folded->allocation->gaps.len; g++) {
        uint32_t period = folded->steady[g].period;
        uint32_t over = (uint32_t)(folded->allocation->gaps.at[g].left_out % period);
        more |= over != 0;
        hidden[g] += over ? period - over : 0;
    }
    return more;
}

static struct nki_fold *folds_of(const struct folded *folded) {
    const struct allocation *allocation = folded->allocation;
    return mem_dup(allocation->folds, allocation->gaps.len * sizeof *allocation->folds);
}

/* The periods that are hidden of each fold of a schedule, and the folds. Free both. */
static struct hiding hiding_of(const struct folded *folded) {
    size_t n = folded->allocation->gaps.len;
    struct hiding hiding = {.hidden = mem_alloc(n + 1, sizeof *hiding.hidden),
                            .folds = folds_of(folded)};
    for (size_t g = 0; g < n; g++)
        hiding.hidden[g] =
            (uint32_t)(folded->allocation->gaps.at[g].left_out - hiding.folds[g].left_out);
    return hiding;
}

static bool make_hiding(const struct timing *timing, int lifted, struct hiding *hiding,
                        struct folded *folded) {
    bool found = false, steady = true;
    for (int tries = 0; tries < MOST_TRIES && steady && !found; tries++) {
        schedule_it(timing, lifted, hiding, folded);
        steady = folded->time && steady_find(folded->time, folded->steady);
        found = steady && !hide_more(folded, hiding->hidden);
        if (steady && !found && !hiding->folds)
            hiding->folds = folds_of(folded);
        if (found)
            add_what_was_left_out(folded);
        else
            folded_free(folded);
    }
    free(hiding->hidden);
    free(hiding->folds);
    return found;
}

bool folded_make(const struct timing *timing, int lifted, struct folded *folded) {
    size_t n = timing->image->program->folds.len;
    struct hiding hiding = {.hidden = mem_alloc(n + 1, sizeof *hiding.hidden)};
    return make_hiding(timing, lifted, &hiding, folded);
}

bool folded_again(const struct timing *timing, int lifted, struct folded *folded,
                  double *latency_ns) {
    size_t n = folded->allocation->gaps.len;
    timeline_again(folded->time, lifted);
    bool steady = steady_find(folded->time, folded->steady);
    struct hiding hiding = hiding_of(folded);
    if (!steady)
        memset(hiding.hidden, 0, n * sizeof *hiding.hidden);
    if (steady && !hide_more(folded, hiding.hidden)) {
        add_what_was_left_out(folded);
        free(hiding.hidden);
        free(hiding.folds);
    } else {
        folded_free(folded); /* no two of them at once */
        if (!make_hiding(timing, lifted, &hiding, folded))
            return false;
    }
    *latency_ns = folded->latency_ns;
    return true;
}

void folded_prepare(const struct timing *timing, struct folded *folded) {
    if (!prepare(timing, NULL, folded))
        HONE_BUG("a program of a core has folds");
    folded->time = timeline_new(&folded->schedule);
    if (timing->keeps_reasons)
        timeline_keep_reasons(folded->time);
}
