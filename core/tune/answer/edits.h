/* SPDX-License-Identifier: Apache-2.0 */
/* Changes to a kernel as models write them: search/replace blocks and unified diffs. Private to
 * tune's readers of answers. */
#ifndef HONE_TUNE_ANSWER_EDITS_H
#define HONE_TUNE_ANSWER_EDITS_H

#include "base/base.h"

struct tune_edit {
    struct buf search, replace;
    size_t copies; /* how many more times the same stands in the answer */
};
struct tune_edits {
    VEC(struct tune_edit) list;
    bool open; /* the last block has no end */
};
/* The blocks of an answer, or else the hunks of its diff; equal ones once. */
void tune_edits_find(struct str answer, struct tune_edits *edits);
/* Puts each edit where its search text stands. False and *err (kernel), which tells the model what
 * to write instead, when the text stands nowhere or several times. */
bool tune_edits_apply(const struct tune_edits *edits, const char *source, struct buf *out,
                      struct err *err) CC_MUST_USE;
void tune_edits_free(struct tune_edits *edits);

/* Line numbers that were copied with the lines, as prompts and people show them: "  12  code", "12
 * | code", "12: code". */
struct tune_numbered {
    char mark; /* '|', ':', or ' ' for two blanks */
    long long first, last;
};
/* Whether every line that is not empty has a number, all written in the same way and none smaller
 * than the one before; with `in_turn` each must be one more than the one before. Then appends the
 * text without them to *out. */
bool tune_numbers_strip(struct str text, bool in_turn, struct tune_numbered *numbered,
                        struct buf *out);

#endif
