/* SPDX-License-Identifier: Apache-2.0 */
/* The spans of a whole program from the schedule of one of which rounds of loops were left out:
 * those of a loop's last steady periods come again and again, each time a step later. */
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

struct whole {
    const struct folded *folded;
    uint32_t *order; /* issues in the order they were scheduled */
    double start_ns;
    struct device_span *next[QUEUE_COUNT];
};

/* How far what comes in the schedule of gap `g` has moved in the program, when `done` periods of
 * those left out have passed. */
static uint32_t moved(const struct folded *folded, uint32_t instr, size_t g, uint64_t done) {
    const struct allocation *allocation = folded->allocation;
    int64_t by = 0;
    for (size_t f = 0; f <= g && f < allocation->gaps.len; f++) {
        const struct nki_fold *fold = &allocation->folds[f];
        uint64_t left = allocation->gaps.at[f].left_out, passed = f < g ? left : done;
        if (instr >= fold->first) /* hidden periods are in front of those that are kept */
            by += ((int64_t)passed - (int64_t)(left - fold->left_out)) * (int64_t)fold->length;
    }
    return (uint32_t)(instr + by);
}

static void add_turns(struct whole *whole, uint32_t from, uint32_t to, size_t g, uint64_t done) {
    const struct folded *folded = whole->folded;
    const struct steady *steady = g < folded->allocation->gaps.len ? &folded->steady[g] : NULL;
    for (uint32_t turn = from; turn < to; turn++) {
        uint32_t s = whole->order[turn];
        const struct issue *issue = &folded->allocation->issues.at[s];
        uint8_t queue = issue_cost_at(folded->costs, s)->queue;
        if (issue->kind == ISSUE_ABSENT)
            continue;
        double ahead = whole->start_ns + folded_shift(folded, s) +
                       (done ? (double)(done / steady->period) * steady->step_ns : 0);
        *whole->next[queue]++ =
            (struct device_span){moved(folded, issue->instr, g, done), queue,
                                 ahead + folded->time->start[s], ahead + folded->time->end[s]};
    }
}

/* Where the spans of each queue begin; returns how many there are. */
static size_t count_spans(const struct folded *folded, size_t first[QUEUE_COUNT + 1]) {
    const struct allocation *allocation = folded->allocation;
    memset(first, 0, (QUEUE_COUNT + 1) * sizeof *first);
    for (uint32_t s = 0; s < allocation->issues.len; s++)
        if (allocation->issues.at[s].kind != ISSUE_ABSENT)
            first[issue_cost_at(folded->costs, s)->queue + 1] += folded_weight(folded, s);
    for (int queue = 0; queue < QUEUE_COUNT; queue++)
        first[queue + 1] += first[queue];
    return first[QUEUE_COUNT];
}

static void add_all(struct whole *whole) {
    const struct folded *folded = whole->folded;
    uint32_t turn = 0;
    size_t g = 0;
    for (; g < folded->allocation->gaps.len; g++) {
        const struct steady *steady = &folded->steady[g];
        uint64_t left = folded->allocation->gaps.at[g].left_out;
        add_turns(whole, turn, steady->from, g, 0);
        for (uint64_t done = 0; done <= left; done += steady->period)
            add_turns(whole, steady->from, steady->since, g, done);
        turn = steady->since;
    }
    add_turns(whole, turn, (uint32_t)folded->allocation->issues.len, g, 0);
}

void spans_of_whole(const struct folded *folded, double start_ns, struct device_profile *profile) {
    size_t first[QUEUE_COUNT + 1], n = folded->allocation->issues.len;
    struct whole whole = {folded, mem_alloc(n + 1, sizeof *whole.order), start_ns, {0}};
    vec_free(&profile->spans);
    vec_reserve(&profile->spans, count_spans(folded, first));
    profile->spans.len = first[QUEUE_COUNT];
    for (uint32_t s = 0; s < n; s++)
        whole.order[folded->time->turn[s]] = s;
    for (int queue = 0; queue < QUEUE_COUNT; queue++)
        whole.next[queue] = profile->spans.at + first[queue];
    add_all(&whole);
    for (int queue = 0; queue < QUEUE_COUNT; queue++)
        spans_sort(profile->spans.at + first[queue], first[queue + 1] - first[queue]);
    free(whole.order);
}
