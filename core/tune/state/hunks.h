/* SPDX-License-Identifier: Apache-2.0 */
/* Line differences between two sources, and the source that results when some are left out. */
#ifndef HONE_TUNE_HUNKS_H
#define HONE_TUNE_HUNKS_H

#include "base/base.h"

struct tune_hunk;

/* The changed runs from `old` to `new_`, in order; free the result with free. *count 0 when they
 * are equal. Sources that differ too much to be compared line by line give one hunk. */
struct tune_hunk *tune_hunks(struct str old, struct str new_, size_t *count) CC_MUST_USE;
/* `new_` with the hunks marked `left` as they were in `old`. A new string; free with free. */
char *tune_hunks_apply(struct str old, struct str new_, const struct tune_hunk *hunks,
                       size_t count) CC_MUST_USE;

/* Appends the unified diff of two sources, without the two first lines that name files. Nothing
 * when they are equal. */
void tune_diff_print(struct buf *out, const char *old, const char *now);
/* Appends the changed lines of one side, no more than so many, and says how many are left out. */
void tune_hunks_print(struct buf *out, const char *source, const struct tune_hunk *hunks,
                      size_t count, bool new_side);
#define TUNE_SNIPPET_LINES 30

#endif
