/* SPDX-License-Identifier: Apache-2.0 */
/* A difference as a unified diff, as patch takes it. */
#include <stdlib.h>

#include "tune/state/state.h"

#define AROUND 3 /* lines of the source around a change */

static void add_lines(struct buf *out, const char *source, int from, int count, char mark) {
    struct str rest = str_of(source), line;
    for (int n = 1; n < from + count && str_next(&rest, '\n', &line); n++) {
        if (n < from)
            continue;
        buf_putc(out, mark);
        buf_add(out, line.at, line.len);
        buf_putc(out, '\n');
    }
}

static int count_lines(const char *source) {
    struct str rest = str_of(source), line;
    int count = 0;
    while (str_next(&rest, '\n', &line))
        count++;
    return count;
}

/* How many hunks from number `first` on stand under one head, because they are near each other. */
static size_t near_hunks(const struct tune_hunk *hunks, size_t count, size_t first) {
    size_t n = 1;
    while (first + n < count && hunks[first + n].old_line - hunks[first + n - 1].old_line -
                                        hunks[first + n - 1].old_count <=
                                    2 * AROUND)
        n++;
    return n;
}

static void add_hunks(const char *old, const char *now, const struct tune_hunk *one, size_t n,
                      struct buf *out) {
    const struct tune_hunk *last = one + n - 1;
    int before = MIN_OF(AROUND, one->old_line - 1);
    int after =
        MAX_OF(MIN_OF(AROUND, count_lines(old) - (last->old_line + last->old_count - 1)), 0);
    int old_count = last->old_line + last->old_count + after - (one->old_line - before);
    int new_count = last->new_line + last->new_count + after - (one->new_line - before);
    buf_printf(out, "@@ -%d,%d +%d,%d @@\n", one->old_line - before, old_count,
               one->new_line - before, new_count);
    int at = one->old_line - before;
    for (const struct tune_hunk *hunk = one; hunk <= last; hunk++) {
        add_lines(out, old, at, hunk->old_line - at, ' ');
        add_lines(out, old, hunk->old_line, hunk->old_count, '-');
        add_lines(out, now, hunk->new_line, hunk->new_count, '+');
        at = hunk->old_line + hunk->old_count;
    }
    add_lines(out, old, at, after, ' ');
}

void tune_diff_print(struct buf *out, const char *old, const char *now) {
    size_t count = 0;
    struct tune_hunk *hunks = tune_hunks(str_of(old), str_of(now), &count);
    for (size_t i = 0; i < count;) {
        size_t n = near_hunks(hunks, count, i);
        add_hunks(old, now, &hunks[i], n, out);
        i += n;
    }
    free(hunks);
}
