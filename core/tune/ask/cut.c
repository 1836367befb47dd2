/* SPDX-License-Identifier: Apache-2.0 */
/* Which lines of a section that is too long go out. What the sections say is context.c's, whether a
 * prompt fits is prompt.c's. */
#include "tune/ask/cut.h"
#include "tune/ask/sections.h"

#include <stdlib.h>

#define LONG_LINE ((size_t)2000) /* bytes of a line that go out */
#define HEAD 24                  /* lines of a kernel's beginning that stay: imports, signature */

/* How long a section may be in any context; kernels and plans are not listed. */
static const struct {
    const char *section;
    int lines;
} caps[] = {
    {"profile", 160},    {"profile before", 60}, {"cost per line", 60},
    {"causes", 60},      {"reference", 400},     {"imported files", 400},
    {"notes", 60},       {TUNE_EVERY_NOTE, 60},  {"rejections", 60},
    {"declined", 80},    {"tried before", 80},   {"not carried out", 60},
    {"stock", 40},       {"memory", 320},        {"closed directions", 80},
    {"api in use", 160}, {"measured", 80},       {"what has to be repaired", 120},
};

static const struct {
    const char *section;
    int least;
} victims[] = {
    {"dead ends", 0},
    {"memory", 0},
    {"closed directions", 0},
    {"strategies", 0},
    {"tried before", 4},
    {"stock", 4},
    {"not carried out", 4},
    {"profile before", 8},
    {"notes", 4},
    {TUNE_EVERY_NOTE, 4},
    {"answer", 20},
    {"api in use", 12},
    {"metrics", 0},
    {"api", 40},
    {"measured", 8},
    {"profile", 12},
    {"imported files", 40},
    {"reference", 40},
    {"limits", 6},
    {"declined", 8},
    {"rejections", 6},
    {"cost per line", 4},
    {"causes", 10},
    {"what has to be repaired", 20},
    {"slower", 60},
    {"faster", 60},
    {"kernel", 80},
    {"failed kernel", 80},
};

int tune_cut_most(struct str section) {
    for (size_t i = 0; i < COUNT_OF(caps); i++)
        if (str_is(section, caps[i].section))
            return caps[i].lines;
    return 0;
}

const char *tune_cut_victim(size_t index, int *least) {
    if (index >= COUNT_OF(victims))
        return NULL;
    *least = victims[index].least;
    return victims[index].section;
}

/* ---------------------------------------------------------------------------- which lines stay */

/* keep[i]: line i, from 0, stays. Returns how many it marked. */
static int mark(bool *keep, int lines, int from, int to) {
    int count = 0;
    for (int i = MAX_OF(from, 0); i <= to && i < lines; i++) {
        count += !keep[i];
        keep[i] = true;
    }
    return count;
}

/* Two thirds of what is allowed from the front, the rest from the end. */
static void keep_ends(bool *keep, int lines, int most) {
    mark(keep, lines, 0, most * 2 / 3 - 1);
    mark(keep, lines, lines - (most - most * 2 / 3), lines - 1);
}

static int by_share(const void *a, const void *b) {
    double x = ((const struct tune_line_cost *)a)->share,
           y = ((const struct tune_line_cost *)b)->share;
    return x < y ? 1 : x > y ? -1 : 0;
}

/* The head, the plan's lines, then more and more around the lines that cost most. */
static void keep_kernel(const struct tune_context *context, bool *keep, int lines, int most) {
    size_t count = context->lines.len;
    struct tune_line_cost *costs =
        arena_dup(context->arena, context->lines.at, count * sizeof *costs);
    if (count)
        qsort(costs, count, sizeof *costs, by_share);
    int left = most - mark(keep, lines, 0, MIN_OF(HEAD, most / 4) - 1);
    if (context->first_line > 0) {
        int last =
            MIN_OF(MAX_OF(context->last_line, context->first_line), context->first_line + left / 2);
        left -= mark(keep, lines, context->first_line - 6, last + 4);
    }
    for (int around = 2; around <= lines && left > 0; around *= 2)
        for (size_t i = 0; i < count && left > 0; i++) {
            int to = MIN_OF(costs[i].line - 1 + around, costs[i].line - 2 - around + left);
            left -= mark(keep, lines, costs[i].line - 1 - around, to);
        }
    for (int i = 0; i < lines && left > 0; i++)
        left -= mark(keep, lines, i, i);
}

/* ------------------------------------------------------------------------------------ printing */

static void line_print(struct str line, bool whole, struct buf *out) {
    size_t len = whole ? line.len : MIN_OF(line.len, LONG_LINE);
    while (len && len < line.len && ((unsigned char)line.at[len] & 0xc0) == 0x80)
        len--;
    buf_add(out, line.at, len);
    if (len < line.len)
        buf_printf(out, " [... %zu bytes left out ...]", line.len - len);
}

static int lines_of(struct str text) {
    int count = 0;
    for (size_t i = 0; i < text.len; i++)
        count += text.at[i] == '\n';
    return count + (text.len && text.at[text.len - 1] != '\n');
}

int tune_cut_print(const struct tune_context *context, struct str section, struct str text,
                   int most, struct buf *out) {
    bool kernel = str_is(section, "kernel") || str_is(section, "failed kernel");
    int lines = lines_of(text), gone = 0, told = 0;
    bool *keep = mem_alloc((size_t)lines + 1, sizeof *keep);
    if (most < 0 || lines <= most)
        mark(keep, lines, 0, lines - 1);
    else if (kernel)
        keep_kernel(context, keep, lines, most);
    else
        keep_ends(keep, lines, most);
    struct str line;
    for (int i = 0; i < lines && str_next(&text, '\n', &line); i++) {
        told = keep[i] ? 0 : told + 1;
        gone += !keep[i];
        if (!keep[i] && (i + 1 == lines || keep[i + 1]))
            buf_printf(out, "[... %d line%s left out ...]%s", told, PLURAL(told),
                       i + 1 < lines ? "\n" : "");
        if (!keep[i])
            continue;
        line_print(line, kernel || !tune_cut_most(section), out);
        if (i + 1 < lines)
            buf_putc(out, '\n');
    }
    free(keep);
    return gone;
}
