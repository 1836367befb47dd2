/* SPDX-License-Identifier: Apache-2.0 */
/* Why the spans of the timeline begin when they do, and the way along the critical path: from the
 * lists `waits` and `reasons` of the profile (core/runner/PROTOCOL.md). A profile of a host, or of
 * an older version, has none. */
#include "views/profile/private.h"

#include <stdio.h>

#define MAX_WAITS 100000

/* What is said before the place that was waited for. */
static const struct {
    const char *wait, *words;
} phrases[] = {
    {"operand", "for the result of"},
    {"buffer", "for its tile, in use by"},
    {"order", "for the start of"},
    {"room", "for room on chip, held by"},
    {"queue", "for its queue, behind"},
    {"port", "for the SBUF port, held by"},
    {"issuer", "for its issuer, behind"},
    {"dma", "for DMA engines, busy with"},
    {"window", "for the compiler's order, behind"},
    {"peer", "for the other core to come to"},
};

static const char *phrase_of(const char *wait) {
    for (size_t i = 0; i < COUNT_OF(phrases); i++)
        if (!strcmp(phrases[i].wait, wait))
            return phrases[i].words;
    return "for";
}

/* ---- reading -------------------------------------------------------------------------------- */

/* [wait, line, operation, lane] */
static bool read_wait(const char **at, struct timeline_wait *wait) {
    double line;
    if (!timeline_read_text(at, wait->wait, sizeof wait->wait) ||
        !timeline_read_number(at, &line) || line > INT32_MAX ||
        !timeline_read_text(at, wait->op, sizeof wait->op) ||
        !timeline_read_text(at, wait->queue, sizeof wait->queue))
        return false;
    wait->line = (int)line;
    *at += strspn(*at, " ]"); /* a second one ends the list, and then no text follows */
    return true;
}

void timeline_read_waits(struct timeline *timeline, const char *from) {
    const char *end = strstr(from, "\"reasons\"");
    struct timeline_wait wait = {0};
    while (from < end && timeline->waits.len < MAX_WAITS && read_wait(&from, &wait) && from < end)
        *vec_push(&timeline->waits) = wait;
}

/* [wait, instruction or -1, ns, 1 on the critical path] of the next span. */
bool timeline_read_reason(struct timeline *timeline, const char **at) {
    double wait, cause, idle, critical;
    const char *from = *at;
    if (timeline->reasons >= timeline->order.len || !timeline_read_number(&from, &wait))
        return false;
    from += strspn(from, ", ");
    from += *from == '-';
    if (!timeline_read_number(&from, &cause) || !timeline_read_number(&from, &idle) ||
        !timeline_read_number(&from, &critical))
        return false;
    *at = from + strspn(from, " ]");
    uint8_t number = timeline->order.at[timeline->reasons++];
    if (number >= timeline->n_queues)
        return true;
    struct timeline_queue *queue = &timeline->queues[number];
    if (queue->cursor >= queue->spans.len)
        return false;
    struct timeline_span *span = &queue->spans.at[queue->cursor++];
    span->wait = wait < (double)timeline->waits.len ? (uint32_t)wait + 1 : 0;
    span->idle = idle;
    span->critical = critical > 0;
    return true;
}

/* ---- drawing -------------------------------------------------------------------------------- */

void timeline_draw_cause(const struct timeline *timeline, struct tui_area area,
                         const struct timeline_span *span) {
    int col = 2;
    if (!span->wait)
        return;
    const struct timeline_wait *wait = &timeline->waits.at[span->wait - 1];
    if (span->critical)
        col = tui_say(tui_ink(area, TUI_STRONG), 0, col, "critical  ");
    if (!wait->op[0]) {
        tui_say(tui_ink(area, TUI_DIM), 0, col, "waited for nothing");
        return;
    }
    col = tui_say(area, 0, col, "waited ");
    if (span->idle > 0)
        col = tui_say(area, 0, col, "%s ", show_latency(span->idle / 1e3).text);
    col = tui_say(area, 0, col, "%s ", phrase_of(wait->wait));
    col = tui_say(tui_ink(area, TUI_CALL), 0, col, "%s", wait->op);
    if (wait->line)
        col = tui_say(area, 0, col, ", line %d", wait->line);
    tui_say(area, 0, col, " (%s)", wait->queue);
}

/* ---- the critical path ---------------------------------------------------------------------- */

/* Whether span `index` of queue `q` comes before the other one. */
static bool is_before(const struct timeline *timeline, int q, size_t index, int r, size_t other) {
    double a = timeline->queues[q].spans.at[index].start;
    double b = timeline->queues[r].spans.at[other].start;
    return a < b || (a <= b && (q < r || (q == r && index < other)));
}

/* The first span of a queue that does not begin before `start`. */
static size_t first_from(const struct timeline_queue *queue, double start) {
    size_t low = 0, high = queue->spans.len;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (queue->spans.at[middle].start < start)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The critical span of queue `q` that is next to the one at the cursor, after or before it;
 * SIZE_MAX: there is none. */
static size_t critical_in(const struct timeline *timeline, int q, int here, int step) {
    const struct timeline_queue *queue = &timeline->queues[q], *from = &timeline->queues[here];
    size_t at = first_from(queue, from->spans.at[from->cursor].start);
    while (at < queue->spans.len && !is_before(timeline, here, from->cursor, q, at))
        at++; /* those that begin with it, and come no later */
    if (step < 0)
        while (at > 0 && !is_before(timeline, q, at - 1, here, from->cursor))
            at--;
    for (; step > 0 ? at < queue->spans.len : at > 0; at += step > 0 ? 1 : (size_t)-1) {
        size_t index = step > 0 ? at : at - 1;
        if (queue->spans.at[index].critical)
            return index;
    }
    return SIZE_MAX;
}

bool timeline_step_critical(struct timeline *timeline, int *queue, int step) {
    int found = -1;
    size_t index = 0;
    if (*queue < 0 || *queue >= timeline->n_queues || timeline->text ||
        !timeline->queues[*queue].spans.len)
        return false;
    for (int q = 0; q < timeline->n_queues; q++) {
        size_t at = critical_in(timeline, q, *queue, step);
        if (at == SIZE_MAX)
            continue;
        if (found < 0 || is_before(timeline, q, at, found, index) == (step > 0)) {
            found = q;
            index = at;
        }
    }
    if (found < 0)
        return false;
    timeline->queues[found].cursor = index;
    *queue = found;
    return true;
}
