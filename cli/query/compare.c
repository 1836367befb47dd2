/* SPDX-License-Identifier: Apache-2.0 */
/* Two kernels side by side: which lines became which, and what each costs before and after. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/query/private.h"

#define AROUND 3 /* lines of the source around a change */

/* The line of the other side that a line became, or (`back`) was; 0: none. A hunk of as many lines
 * as before is taken line by line. */
static int other_line(const struct comparison *comparison, int line, bool back) {
    int moved = 0;
    for (size_t i = 0; i < comparison->hunk_count; i++) {
        const struct tune_hunk *hunk = &comparison->hunks[i];
        int from = back ? hunk->new_line : hunk->old_line;
        int here = back ? hunk->new_count : hunk->old_count;
        int there = back ? hunk->old_count : hunk->new_count;
        if (line < from)
            break;
        if (line < from + here)
            return here == there ? line + moved : 0;
        moved += there - here;
    }
    return line + moved;
}

static struct str text_of(const char *source, int line) {
    struct str rest = str_of(source), text = {"", 0};
    for (int i = 0; i < line; i++)
        if (!str_next(&rest, '\n', &text))
            return (struct str){"", 0};
    return str_trim(text);
}

static const char *file_of(const struct subject *subject, const struct device_line *line) {
    const struct nki_program *program = subject->timed.program;
    return line->file && line->file < program->files.len ? program->files.at[line->file] : NULL;
}

static struct diff_line *row_of(struct comparison *comparison, const char *file, int before,
                                int after) {
    for (size_t i = 0; i < comparison->lines.len; i++) {
        struct diff_line *row = &comparison->lines.at[i];
        bool same_file = !row->file == !file && (!file || !strcmp(row->file, file));
        if (same_file && row->line[0] == before && row->line[1] == after)
            return row;
    }
    *vec_push(&comparison->lines) = (struct diff_line){.file = file, .line = {before, after}};
    return &comparison->lines.at[comparison->lines.len - 1];
}

/* Imported files are taken to be the same on both sides. */
static void add_side(struct comparison *comparison, int side) {
    const struct subject *subject = comparison->sides[side];
    const struct device_profile *profile = subject->timed.profile;
    for (size_t i = 0; i < profile->lines.len; i++) {
        const struct device_line *line = &profile->lines.at[i];
        const char *file = file_of(subject, line);
        int number = (int)line->line;
        int other = file ? number : other_line(comparison, number, side == 1);
        int before = side ? other : number, after = side ? number : other;
        struct diff_line *row = row_of(comparison, file, before, after);
        row->us[side] += line->share * profile->latency_us;
        row->times[side] += line->instructions;
    }
}

static int by_change(const void *a, const void *b) {
    const struct diff_line *x = a, *y = b;
    double one = fabs(x->us[1] - x->us[0]), other = fabs(y->us[1] - y->us[0]);
    if (one > other || one < other)
        return one > other ? -1 : 1;
    return x->line[1] != y->line[1] ? (x->line[1] < y->line[1] ? -1 : 1)
                                    : (x->line[0] > y->line[0]) - (x->line[0] < y->line[0]);
}

void comparison_make(struct comparison *comparison, const struct subject *before,
                     const struct subject *after) {
    *comparison = (struct comparison){.sides = {before, after}};
    comparison->hunks =
        tune_hunks(str_of(before->source), str_of(after->source), &comparison->hunk_count);
    add_side(comparison, 0);
    add_side(comparison, 1);
    for (size_t i = 0; i < comparison->lines.len; i++) {
        struct diff_line *row = &comparison->lines.at[i];
        int side = row->line[1] ? 1 : 0;
        if (!row->file)
            row->text = text_of(comparison->sides[side]->source, row->line[side]);
    }
    if (comparison->lines.len)
        qsort(comparison->lines.at, comparison->lines.len, sizeof *comparison->lines.at, by_change);
}

void comparison_free(struct comparison *comparison) {
    free(comparison->hunks);
    vec_free(&comparison->lines);
}

/* ---- numbers -----------------------------------------------------------------------------------
 */

double comparison_busy(const struct comparison *comparison, int side, const char *engine) {
    const struct device_profile *profile = comparison->sides[side]->timed.profile;
    for (size_t i = 0; i < profile->bounds.len; i++)
        if (!strcmp(profile->bounds.at[i].name, engine))
            return profile->bounds.at[i].busy_ns / 1e3;
    return 0;
}

const char *comparison_engine(size_t index) {
    static const char *const engines[] = {"Tensor", "Vector", "Scalar", "GpSimd", "DMA"};
    return index < COUNT_OF(engines) ? engines[index] : NULL;
}

const struct device_metric *comparison_after(const struct comparison *comparison,
                                             const char *metric) {
    const struct device_profile *profile = comparison->sides[1]->timed.profile;
    for (size_t i = 0; i < profile->metrics.len; i++)
        if (!strcmp(profile->metrics.at[i].name, metric))
            return &profile->metrics.at[i];
    return NULL;
}

/* ---- the source ----------------------------------------------------------------------------- */

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
static size_t near_hunks(const struct comparison *comparison, size_t first) {
    const struct tune_hunk *hunks = comparison->hunks;
    size_t n = 1;
    while (first + n < comparison->hunk_count && hunks[first + n].old_line -
                                                         hunks[first + n - 1].old_line -
                                                         hunks[first + n - 1].old_count <=
                                                     2 * AROUND)
        n++;
    return n;
}

static void add_hunks(const struct comparison *comparison, size_t first, size_t n,
                      struct buf *out) {
    const char *old = comparison->sides[0]->source, *now = comparison->sides[1]->source;
    const struct tune_hunk *one = &comparison->hunks[first], *last = one + n - 1;
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

void comparison_diff(const struct comparison *comparison, struct buf *out) {
    for (size_t i = 0; i < comparison->hunk_count;) {
        size_t n = near_hunks(comparison, i);
        add_hunks(comparison, i, n, out);
        i += n;
    }
}
