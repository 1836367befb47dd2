/* SPDX-License-Identifier: Apache-2.0 */
/* A difference as rows to show: unified, or the two sides next to each other. */
#ifndef HONE_VIEWS_KIT_DIFF_H
#define HONE_VIEWS_KIT_DIFF_H

#include "tune/tune.h"
#include "views/kit/source.h"

enum diff_kind { DIFF_SAME, DIFF_REMOVED, DIFF_ADDED, DIFF_CHANGED, DIFF_HEAD };

struct diff_row {
    enum diff_kind kind;
    int old_line, new_line; /* from 1; 0: nothing on that side */
    int hunk;               /* -1: none */
    int other;              /* unified: the line on the other side it was made from, or 0 */
    int indent, widest;     /* DIFF_HEAD: columns, of the lines up to the next one: what all are
                             * indented by at least, and the longest */
};

struct diff {
    struct source old, new_;
    size_t n_hunks;
    int added, removed;
    bool in_sides; /* as it was drawn last: which of the two lists */
    int followed;  /* the hunk that was gone through then; -1: none */
    VEC(struct diff_row) unified, sides;
};
/* Builds the rows with three lines around every hunk, unless they are there already for the same
 * two texts. */
void diff_set(struct diff *diff, const char *old, const char *new_, const struct tune_hunk *hunks,
              size_t count);
void diff_free(struct diff *diff);
/* The row of the one list that shows what a row of the other shows: the same head, or the same
 * line. */
int diff_row_across(const struct diff *diff, bool from_sides, int row);
/* The bytes in which two lines differ, between what is the same at both ends. False when too little
 * is the same to be worth showing. */
bool diff_words(struct str a, struct str b, size_t *start, size_t *a_end, size_t *b_end);

#endif
