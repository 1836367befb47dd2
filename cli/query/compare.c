/* SPDX-License-Identifier: Apache-2.0 */
/* Two kernels side by side: which lines became which, and what each costs before and after. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/query/private.h"

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
        for (enum nki_engine e = NKI_ENGINE_UNKNOWN; e < NKI_ENGINE_COUNT; e++)
            row->engine_ns[side][e] += line->engine_ns[e];
    }
}

double comparison_line_busy(const struct diff_line *line, int side, const char **engine) {
    static const char *const titles[NKI_ENGINE_COUNT] = {
        [NKI_ENGINE_TENSOR] = "Tensor", [NKI_ENGINE_VECTOR] = "Vector",
        [NKI_ENGINE_SCALAR] = "Scalar", [NKI_ENGINE_GPSIMD] = "GpSimd",
        [NKI_ENGINE_DMA] = "DMA",       [NKI_ENGINE_SYNC] = "Sync"};
    enum nki_engine busiest = NKI_ENGINE_UNKNOWN;
    for (enum nki_engine e = NKI_ENGINE_UNKNOWN; e < NKI_ENGINE_COUNT; e++)
        if (line->engine_ns[side][e] > line->engine_ns[side][busiest])
            busiest = e;
    *engine = titles[busiest] ? titles[busiest] : "";
    return line->engine_ns[side][busiest] / 1e3;
}

static int by_change(const void *a, const void *b) {
    const struct diff_line *x = a, *y = b;
    double one = fabs(x->us[1] - x->us[0]), other = fabs(y->us[1] - y->us[0]);
    const char *engine;
    if (one > other || one < other)
        return one > other ? -1 : 1;
    one = fabs(comparison_line_busy(x, 1, &engine) - comparison_line_busy(x, 0, &engine));
    other = fabs(comparison_line_busy(y, 1, &engine) - comparison_line_busy(y, 0, &engine));
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

void comparison_diff(const struct comparison *comparison, struct buf *out) {
    tune_diff_print(out, comparison->sides[0]->source, comparison->sides[1]->source);
}
