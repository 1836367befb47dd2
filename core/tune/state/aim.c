/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of its parent that a plan is about, which need not lie together: their numbers as text,
 * and whether a line is one of them. */
#include <ctype.h>
#include <stdlib.h>

#include "tune/state/state.h"

#define MAX_LINE 100000000L

struct lines {
    int first, last;
};

/* The number at the front of *rest, which moves behind it; 0: there is none. */
static int take_number(struct str *rest) {
    long value = 0;
    while (rest->len && isdigit((unsigned char)*rest->at)) {
        value = MIN_OF(value * 10 + (*rest->at - '0'), MAX_LINE);
        *rest = (struct str){rest->at + 1, rest->len - 1};
    }
    return (int)value;
}

/* Whether what stands before the next number parts it from the last one: "31, 38", "31 and 38", and
 * not "31-38" or "31 to 38". *rest moves to that number. */
static bool take_gap(struct str *rest) {
    bool parts = false;
    while (rest->len && !isdigit((unsigned char)*rest->at)) {
        parts |= strchr(",;&", *rest->at) || str_starts(*rest, "and");
        *rest = (struct str){rest->at + 1, rest->len - 1};
    }
    return parts;
}

static bool lines_next(struct str *rest, struct lines *lines) {
    struct str at = *rest;
    take_gap(&at);
    if (!at.len)
        return false;
    lines->first = lines->last = take_number(&at);
    *rest = at;
    if (!take_gap(&at) && at.len) {
        lines->last = take_number(&at);
        *rest = at;
    }
    return true;
}

static void lines_print(struct buf *out, struct lines lines) {
    buf_printf(out, lines.last > lines.first ? "%d to %d" : "%d", lines.first, lines.last);
}

/* Adds lines after those of the text, as a part of the last ones where they follow on. */
static void add(struct tune_plan *plan, struct buf *text, struct lines *last, struct lines lines) {
    if (!plan->first_line)
        plan->first_line = lines.first;
    plan->last_line = lines.last;
    if (last->first && lines.first <= last->last + 1) {
        last->last = MAX_OF(last->last, lines.last);
        return;
    }
    if (last->first) {
        lines_print(text, *last);
        buf_puts(text, ", ");
    }
    *last = lines;
}

static void finish(struct tune_plan *plan, struct buf *text, struct lines last,
                   struct arena *arena) {
    if (text->len) {
        lines_print(text, last);
        plan->lines = arena_strdup(arena, text->at);
    }
    buf_free(text);
}

void tune_plan_aim(struct tune_plan *plan, struct str said, int most, struct arena *arena) {
    struct buf text = {0};
    struct lines lines, last = {0, 0};
    plan->first_line = plan->last_line = 0;
    plan->lines = NULL;
    while (lines_next(&said, &lines))
        if (lines.first > last.last && lines.first <= most && lines.last >= lines.first)
            add(plan, &text, &last, (struct lines){lines.first, MIN_OF(lines.last, most)});
    finish(plan, &text, last, arena);
}

void tune_plan_aim_at(struct tune_plan *plan, struct str old, struct str now, struct arena *arena) {
    size_t count;
    struct tune_hunk *hunks = tune_hunks(old, now, &count);
    struct buf text = {0};
    struct lines last = {0, 0};
    struct tune_plan found = {0};
    for (size_t i = 0; i < count; i++)
        if (hunks[i].old_count)
            add(&found, &text, &last,
                (struct lines){hunks[i].old_line, hunks[i].old_line + hunks[i].old_count - 1});
    finish(&found, &text, last, arena);
    free(hunks);
    if (!found.first_line)
        return;
    plan->first_line = found.first_line;
    plan->last_line = found.last_line;
    plan->lines = found.lines;
}

bool tune_plan_is_at(const struct tune_plan *plan, int line) {
    if (!plan->lines)
        return plan->first_line && line >= plan->first_line && line <= plan->last_line;
    struct str rest = str_of(plan->lines);
    struct lines lines;
    while (lines_next(&rest, &lines))
        if (line >= lines.first && line <= lines.last)
            return true;
    return false;
}

void tune_plan_lines_print(struct buf *out, const struct tune_plan *plan) {
    if (plan->lines)
        buf_puts(out, plan->lines);
    else if (plan->first_line)
        lines_print(out, (struct lines){plan->first_line, plan->last_line});
}
