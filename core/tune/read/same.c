/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a kernel was tried before, whatever its comments, spacing and names look like. It
 * compares sources, not what they compute. */
#include <math.h>

#include "nki/nki.h"
#include "tune/state/inner.h"
#include "tune/read/read.h"

/* When a person wrote another kernel or went back, some attempts were left unjudged. Their kernels
 * may come again. */
static bool was_tried(const struct tune_attempt *attempt) {
    if (attempt->outdated)
        return false;
    return attempt->status == TUNE_STATUS_OPEN || attempt->verdict.compiles != TUNE_ANSWER_UNKNOWN;
}

static void attempt_print(struct buf *out, const struct tune_attempt *attempt) {
    buf_printf(out, "same as #%d (", attempt->id);
    if (!isnan(attempt->speedup))
        buf_printf(out, "%.2fx, ", attempt->speedup);
    if (attempt->status == TUNE_STATUS_OPEN)
        buf_puts(out, "under way)");
    else if (attempt->verdict.compiles == TUNE_ANSWER_NO)
        buf_puts(out, "does not compile)");
    else if (attempt->verdict.correct == TUNE_ANSWER_NO)
        buf_puts(out, "not correct)");
    else
        buf_printf(out, "%s)", tune_status_word(attempt->status));
}

/* Elsewhere it was compared with other kernels. Only a kernel that failed need not be run here. */
static bool import_failed(const struct tune_import *row, const char *normal) {
    return row->normal && !strcmp(row->normal, normal) && row->is == TUNE_STATUS_FAILED;
}

/* The first attempt with the kernel; -1. */
static int tried_before(const struct tune_state *state, const char *normal) {
    size_t at = 0;
    int first = -1, id;
    while ((id = tune_normal_next(state, normal, &at)) >= 0)
        if ((first < 0 || id < first) && was_tried(&state->attempts.at[id]))
            first = id;
    return first;
}

bool tune_same_find(const struct tune_state *state, struct str source, const char *before,
                    struct buf *why) {
    struct hash hash = nki_source_hash(source), parent = nki_source_hash(str_of(before));
    if (!strcmp(hash.hex, parent.hex) || !str_trim(source).len) {
        buf_puts(why, "the rewrite changes nothing");
        return true;
    }
    int tried = tried_before(state, hash.hex);
    if (tried >= 0) {
        attempt_print(why, &state->attempts.at[tried]);
        return true;
    }
    for (size_t i = 0; i < state->imports.len; i++)
        if (import_failed(&state->imports.at[i], hash.hex)) {
            buf_printf(why, "same as %s of %s, which failed there",
                       state->imports.at[i].name ? state->imports.at[i].name : "an attempt",
                       state->imports.at[i].agent ? state->imports.at[i].agent : "another agent");
            return true;
        }
    return false;
}
