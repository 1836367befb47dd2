/* SPDX-License-Identifier: Apache-2.0 */
/* Where the time went between an attempt and its parent, by line. Lines that are the same in both
 * are compared one by one, those of a changed stretch together. */
#include <math.h>
#include <stdlib.h>

#include "tune/ask/sections.h"
#include "tune/read/read.h"

#define LEAST_SHARE 0.005 /* of the parent's latency: less is not told */

/* A line, or a stretch that was changed: numbers from 1, in the parent and here. */
struct moved {
    int old_line, old_count, line, count;
    double was_us, is_us; /* its part of the critical path */
    double busy_us;       /* how long engines are busy with it here; 0: not known */
};
typedef VEC(struct moved) moved_list;

/* What lines cost before and now. */
struct costs {
    struct tune_lines was, is;
    double least_us;
};

static double cost_of(const struct tune_lines *lines, int first, int count, double *busy_us) {
    double us = 0;
    *busy_us = 0;
    for (size_t i = 0; i < lines->len; i++) {
        const struct tune_line_cost *cost = &lines->at[i];
        if (cost->line < first || cost->line >= first + count || !isfinite(cost->us))
            continue;
        us += cost->us;
        *busy_us += isfinite(cost->busy_us) ? cost->busy_us : 0;
    }
    return us;
}

static void add(moved_list *list, const struct costs *costs, struct moved row) {
    double was_busy_us;
    row.was_us = cost_of(&costs->was, row.old_line, row.old_count, &was_busy_us);
    row.is_us = cost_of(&costs->is, row.line, row.count, &row.busy_us);
    if (fabs(row.is_us - row.was_us) >= costs->least_us)
        *vec_push(list) = row;
}

/* Lines from `line` on that are the same as those from `old_line` on: those that cost something. */
static void add_same(moved_list *list, const struct costs *costs, struct moved from, int count) {
    for (int i = 0; i < count; i++)
        add(list, costs, (struct moved){from.old_line + i, 1, from.line + i, 1, 0, 0, 0});
}

static int lines_of(struct str text) {
    int count = 0;
    struct str line;
    while (str_next(&text, '\n', &line))
        count++;
    return count;
}

/* Nothing where what lines cost is not known of one of them. */
static bool collect(moved_list *list, const struct tune_state *state,
                    const struct tune_attempt *parent, const struct tune_attempt *attempt) {
    if (!parent || !(parent->latency_us > 0))
        return false;
    const struct costs costs = {tune_lines(state, parent), tune_lines(state, attempt),
                                LEAST_SHARE * parent->latency_us};
    if (!costs.was.len || !costs.is.len)
        return false;
    struct str old = str_of(tune_source(state, parent)), now = str_of(tune_source(state, attempt));
    struct moved at = {.old_line = 1, .line = 1};
    size_t count;
    struct tune_hunk *hunks = tune_hunks(old, now, &count);
    for (size_t h = 0; h < count; h++) {
        const struct tune_hunk *hunk = &hunks[h];
        add_same(list, &costs, at, hunk->new_line - at.line);
        add(list, &costs,
            (struct moved){hunk->old_line, hunk->old_count, hunk->new_line, hunk->new_count, 0, 0,
                           0});
        at.old_line = hunk->old_line + hunk->old_count;
        at.line = hunk->new_line + hunk->new_count;
    }
    add_same(list, &costs, at, lines_of(now) + 1 - at.line);
    free(hunks);
    return true;
}

static int by_size(const void *a, const void *b) {
    const struct moved *x = a, *y = b;
    double one = fabs(x->is_us - x->was_us), other = fabs(y->is_us - y->was_us);
    return one > other ? -1 : one < other ? 1 : x->line - y->line;
}

static void range_print(struct buf *out, int line, int count) {
    if (count == 1)
        buf_printf(out, "line %d", line);
    else
        buf_printf(out, "lines %d to %d", line, line + count - 1);
}

static void moved_print(struct buf *out, const struct moved *row) {
    bool changed = row->old_count != 1 || row->count != 1;
    buf_printf(out, " %+.1f us on ", row->is_us - row->was_us);
    if (row->count)
        range_print(out, row->line, row->count);
    else
        range_print(out, row->old_line, row->old_count);
    if (!row->count)
        buf_puts(out, " of the parent, which is gone");
    else if (!row->old_count)
        buf_puts(out, ", which is new");
    else if (changed)
        buf_puts(out, ", rewritten");
    /* It waits for nobody any more, and nobody for it: that is not gone. */
    if (row->count && row->was_us > 0 && !(row->is_us > 0) && row->busy_us > 0)
        buf_printf(out, ", which goes on beside others, busy %.4g us", row->busy_us);
}

static void busy_print(struct buf *out, const struct tune_attempt *parent,
                       const struct tune_attempt *attempt) {
    for (size_t i = 0; i < attempt->bounds.len; i++)
        for (size_t k = 0; k < parent->bounds.len; k++) {
            const struct tune_bound *now = &attempt->bounds.at[i], *was = &parent->bounds.at[k];
            if (!strcmp(now->name, was->name) &&
                fabs(now->busy_us - was->busy_us) >= LEAST_SHARE * parent->latency_us)
                buf_printf(out, " %s busy %.4g -> %.4g us.", now->name, was->busy_us, now->busy_us);
        }
}

void tune_difference_print(const struct tune_state *state, const struct tune_attempt *attempt,
                           size_t most, struct buf *out) {
    const struct tune_attempt *parent = tune_state_attempt(state, attempt->parent);
    moved_list list = {0};
    if (!collect(&list, state, parent, attempt))
        return;
    if (list.len)
        qsort(list.at, list.len, sizeof *list.at, by_size);
    for (size_t i = 0; i < list.len && i < most; i++) {
        buf_puts(out, i ? "," : " Of the critical path:");
        moved_print(out, &list.at[i]);
    }
    buf_puts(out, list.len ? "." : "");
    busy_print(out, parent, attempt);
    vec_free(&list);
}

/* The line, or the stretch, that the critical path has more of than before; without one, what
 * limits the kernel now. */
void tune_obstacle_print(const struct tune_state *state, const struct tune_attempt *attempt,
                         struct buf *out) {
    const struct tune_attempt *parent = tune_state_attempt(state, attempt->parent);
    const struct moved *most = NULL;
    moved_list list = {0};
    struct buf limits = {0};
    (void)collect(&list, state, parent, attempt);
    for (size_t i = 0; i < list.len; i++) {
        double more_us = list.at[i].is_us - list.at[i].was_us;
        if (more_us > 0 && (!most || more_us > most->is_us - most->was_us))
            most = &list.at[i];
    }
    tune_limited_print(attempt, &limits);
    if (most)
        moved_print(out, most);
    else if (limits.len)
        buf_printf(out, " it is limited by %s", limits.at);
    buf_free(&limits);
    vec_free(&list);
}
