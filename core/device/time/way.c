/* SPDX-License-Identifier: Apache-2.0 */
/* The critical path: from the issue that ends last back to the first, each time to what the issue
 * waited for. */
#include "device/time/run.h"

#include <stdlib.h>

/* Within a folded loop the way goes round the last steady periods until all that were left out have
 * been passed. */
struct way {
    const struct folded *folded;
    uint64_t *left;  /* periods still to be passed, per gap */
    double ahead_ns; /* by which issues here are later in the whole program */
};

static void pass(struct way *way, size_t g, uint64_t periods) {
    const struct steady *steady = &way->folded->steady[g];
    way->left[g] -= periods;
    way->ahead_ns -= (double)(periods / steady->period) * steady->step_ns;
}

/* From a loop to what an issue there waited for before the loop. */
static void leave_gaps(struct way *way, int32_t cause) {
    const struct allocation *allocation = way->folded->allocation;
    for (size_t g = 0; g < allocation->gaps.len; g++)
        if (way->left[g] && (cause < 0 || (uint32_t)cause < allocation->gaps.at[g].first))
            pass(way, g, way->left[g]);
}

static uint32_t go_round(struct way *way, uint32_t s) {
    const struct allocation *allocation = way->folded->allocation;
    for (size_t g = 0; g < allocation->gaps.len; g++) {
        const struct gap *gap = &allocation->gaps.at[g];
        const struct steady *steady = &way->folded->steady[g];
        while (way->left[g] && s >= gap->first && way->folded->time->turn[s] < steady->from) {
            s += steady->period * gap->length;
            pass(way, g, steady->period);
        }
    }
    return s;
}

static struct way start_way(const struct folded *folded, uint32_t last) {
    const struct allocation *allocation = folded->allocation;
    struct way way = {.folded = folded, .ahead_ns = folded_shift(folded, last)};
    way.left = mem_alloc(allocation->gaps.len + 1, sizeof *way.left);
    for (size_t g = 0; g < allocation->gaps.len; g++)
        if (folded->time->turn[last] >= folded->steady[g].since)
            way.left[g] = allocation->gaps.at[g].left_out;
    return way;
}

static uint32_t last_to_end(const struct folded *folded) {
    uint32_t last = 0;
    double latest = -1;
    for (uint32_t s = 0; s < folded->allocation->issues.len; s++) {
        double visible = folded->time->visible[s] + folded_shift(folded, s);
        if (visible > latest) {
            latest = visible;
            last = s;
        }
    }
    return last;
}

static bool share_queue(const struct folded *folded, uint32_t s, uint32_t other) {
    return issue_cost_at(folded->costs, s)->queue == issue_cost_at(folded->costs, other)->queue;
}

/* To the issue that the stretch waited for. */
static uint32_t go_back(struct way *way, struct stretch *stretch) {
    const struct folded *folded = way->folded;
    const struct timeline *time = folded->time;
    uint32_t s = go_round(way, (uint32_t)stretch->cause);
    stretch->cause = (int32_t)s;
    double end = share_queue(folded, stretch->s, s) ? time->end[s] : time->visible[s];
    stretch->from_ns = MIN_OF(end + way->ahead_ns, stretch->until_ns);
    return s;
}

/* To the other core, which came later to where both met. No rounds are left out of either. */
static uint32_t go_across(struct way *way, struct stretch *stretch) {
    stretch->from_ns = MIN_OF(folded_met(way->folded, stretch->s), stretch->until_ns);
    uint32_t mate = folded_mate(way->folded, stretch->s);
    way->folded = way->folded->peer;
    return mate;
}

void way_walk(const struct folded *folded, stretch_fn *fn, void *data) {
    if (!folded->allocation->issues.len)
        return;
    uint32_t s = last_to_end(folded);
    struct stretch stretch = {.until_ns = folded->latency_ns};
    struct way way = start_way(folded, s);
    for (bool more = true; more; stretch.until_ns = stretch.from_ns) {
        stretch.core = way.folded;
        stretch.s = s;
        stretch.ahead_ns = way.ahead_ns;
        stretch.cause = way.folded->time->cause[s];
        stretch.from_ns = 0;
        more = stretch.cause != -1;
        if (stretch.cause == TIMELINE_PEER)
            s = go_across(&way, &stretch);
        else
            leave_gaps(&way, stretch.cause);
        if (stretch.cause >= 0)
            s = go_back(&way, &stretch);
        fn(data, &stretch);
    }
    free(way.left);
}
