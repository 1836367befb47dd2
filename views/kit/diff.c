/* SPDX-License-Identifier: Apache-2.0 */
/* Turns two sources and the hunks between them into rows. It does not look for differences: the
 * hunks come from core/tune, so that what is shown is what is taken or left out. */
#include "views/kit/diff.h"

#include <ctype.h>

#define AROUND 3

static void push(struct diff *diff, enum diff_kind kind, int old_line, int new_line, int hunk) {
    const struct diff_row row = {kind, old_line, new_line, hunk, 0, 0, 0};
    *vec_push(&diff->unified) = row;
    if (kind == DIFF_SAME || kind == DIFF_HEAD)
        *vec_push(&diff->sides) = row;
}

static void push_hunk(struct diff *diff, const struct tune_hunk *hunk, int index) {
    int pairs = MIN_OF(hunk->old_count, hunk->new_count);
    for (int i = 0; i < hunk->old_count; i++) {
        push(diff, DIFF_REMOVED, hunk->old_line + i, 0, index);
        if (i < pairs)
            diff->unified.at[diff->unified.len - 1].other = hunk->new_line + i;
    }
    for (int i = 0; i < hunk->new_count; i++) {
        push(diff, DIFF_ADDED, 0, hunk->new_line + i, index);
        if (i < pairs)
            diff->unified.at[diff->unified.len - 1].other = hunk->old_line + i;
    }
    for (int i = 0; i < MAX_OF(hunk->old_count, hunk->new_count); i++) {
        enum diff_kind kind = i < pairs             ? DIFF_CHANGED
                              : i < hunk->old_count ? DIFF_REMOVED
                                                    : DIFF_ADDED;
        *vec_push(&diff->sides) = (struct diff_row){kind,
                                                    i < hunk->old_count ? hunk->old_line + i : 0,
                                                    i < hunk->new_count ? hunk->new_line + i : 0,
                                                    index,
                                                    0,
                                                    0,
                                                    0};
    }
    diff->added += hunk->new_count;
    diff->removed += hunk->old_count;
}

/* The line before which a hunk stands. An insertion may name the line before it or the one after
 * it, so the run of equal lines is counted on both sides and the shorter one counts. */
static void build(struct diff *diff, const struct tune_hunk *hunks, size_t count) {
    int old_at = 1, new_at = 1, old_total = (int)diff->old.lines.len;
    int new_total = (int)diff->new_.lines.len;
    for (size_t i = 0; i <= count; i++) {
        int old_to = i < count ? hunks[i].old_line : old_total + 1;
        int new_to = i < count ? hunks[i].new_line : new_total + 1;
        int same = MIN_OF(old_to - old_at, new_to - new_at);
        int lead = i == 0 ? 0 : MIN_OF(same, AROUND);
        int tail = i == count ? 0 : MIN_OF(same - lead, AROUND);
        for (int k = 0; k < lead; k++)
            push(diff, DIFF_SAME, old_at + k, new_at + k, -1);
        if (i == count)
            return;
        push(diff, DIFF_HEAD, old_at + same, new_at + same, (int)i);
        for (int k = same - tail; k < same; k++)
            push(diff, DIFF_SAME, old_at + k, new_at + k, -1);
        push_hunk(diff, &hunks[i], (int)i);
        old_at += same + hunks[i].old_count;
        new_at += same + hunks[i].new_count;
    }
}

/* Lines of blanks do not count. */
static void measure_line(struct diff_row *head, struct str line) {
    int indent = source_indent(line);
    if (indent < 0)
        return;
    head->indent = head->widest ? MIN_OF(head->indent, indent) : indent;
    head->widest = MAX_OF(head->widest, (int)text_columns(line));
}

static void measure(const struct diff *diff, struct diff_row *rows, size_t count) {
    struct diff_row *head = NULL;
    for (size_t i = 0; i < count; i++) {
        if (rows[i].kind == DIFF_HEAD)
            head = &rows[i];
        else if (head && rows[i].old_line)
            measure_line(head, source_line(&diff->old, rows[i].old_line));
        if (head && rows[i].kind != DIFF_HEAD && rows[i].new_line)
            measure_line(head, source_line(&diff->new_, rows[i].new_line));
    }
}

void diff_set(struct diff *diff, const char *old, const char *new_, const struct tune_hunk *hunks,
              size_t count) {
    if (diff->old.text == old && diff->new_.text == new_ && diff->n_hunks == count)
        return;
    source_set(&diff->old, old);
    source_set(&diff->new_, new_);
    diff->n_hunks = count;
    diff->unified.len = diff->sides.len = 0;
    diff->added = diff->removed = 0;
    build(diff, hunks, count);
    measure(diff, diff->unified.at, diff->unified.len);
    measure(diff, diff->sides.at, diff->sides.len);
}

int diff_row_across(const struct diff *diff, bool from_sides, int row) {
    size_t n_from = from_sides ? diff->sides.len : diff->unified.len;
    size_t count = from_sides ? diff->unified.len : diff->sides.len;
    const struct diff_row *to = from_sides ? diff->unified.at : diff->sides.at;
    if (row < 0 || (size_t)row >= n_from)
        return 0;
    const struct diff_row *at = from_sides ? &diff->sides.at[row] : &diff->unified.at[row];
    for (size_t i = 0; i < count; i++) {
        bool head = at->kind == DIFF_HEAD && to[i].kind == DIFF_HEAD && to[i].hunk == at->hunk;
        bool line =
            at->kind != DIFF_HEAD && to[i].kind != DIFF_HEAD &&
            (at->new_line ? to[i].new_line == at->new_line : to[i].old_line == at->old_line);
        if (head || line)
            return (int)i;
    }
    return 0;
}

void diff_free(struct diff *diff) {
    source_free(&diff->old);
    source_free(&diff->new_);
    vec_free(&diff->unified);
    vec_free(&diff->sides);
}

static bool is_word(char c) {
    return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

bool diff_words(struct str a, struct str b, size_t *start, size_t *a_end, size_t *b_end) {
    size_t least = MIN_OF(a.len, b.len), head = 0, tail = 0;
    while (head < least && a.at[head] == b.at[head])
        head++;
    while (tail < least - head && a.at[a.len - 1 - tail] == b.at[b.len - 1 - tail])
        tail++;
    while (head > 0 && is_word(a.at[head - 1]) &&
           ((head < a.len && is_word(a.at[head])) || (head < b.len && is_word(b.at[head]))))
        head--;
    while (tail > 0 && is_word(a.at[a.len - tail]) &&
           ((a.len - tail > head && is_word(a.at[a.len - tail - 1])) ||
            (b.len - tail > head && is_word(b.at[b.len - tail - 1]))))
        tail--;
    *start = head;
    *a_end = a.len - tail;
    *b_end = b.len - tail;
    size_t blank = 0;
    while (blank < head && isspace((unsigned char)a.at[blank]))
        blank++;
    /* Where only a bracket or a blank is the same, marking all the rest helps nobody. */
    return head - blank + tail >= 3 && head + tail < MAX_OF(a.len, b.len);
}
