/* SPDX-License-Identifier: Apache-2.0 */
/* How the embedded rewriter goes about it:
 *
 *     source + inputs ──rewrite_model_new──▶ model ──row.find──▶ sites ──row.apply──▶ edits
 *
 * facts makes the model, moves finds and makes edits, edit is what they write with; here they are
 * ranked by what the device model expects of them, and a chosen one becomes a new source. */
#ifndef HONE_REWRITE_PRIVATE_H
#define HONE_REWRITE_PRIVATE_H

#include "rewrite/moves/inner.h"
#include "rewrite/rewrite.h"

#define REWRITE_MAX_METRICS 64

/* A source as the model sees it. */
struct rewrite_estimate {
    double latency_us; /* 0: the model does not take it, see why */
    struct {
        const char *name; /* arena */
        double value;
    } metrics[REWRITE_MAX_METRICS];
    size_t n_metrics;
    const char *why; /* arena; the first error */
    double work;     /* instructions that were made for it */
};

struct rewrite_lines {
    int first, last;
};

/* anew.c: the offer to write the kernel anew, whose texts go into the arena. */
void rewrite_anew_offer(const struct rewrite_request *request, double now_us, struct arena *arena,
                        struct rewrite_offer *offer);
/* Writes the kernel that such a key names, with the name of the request's kernel. */
bool rewrite_anew_apply(const struct rewrite_request *request, const char *key, struct buf *out,
                        struct err *err);

/* keep.c: puts the written kernel, a file for itself, in the place of the request's kernel, with
 * the line ends of its file and the rest of that as it is. False where the written one is all of
 * the new file: then *lost says what goes with the kernel, where there is anything. *lines is from
 * the first to the last line that goes. */
bool rewrite_keep_rest(const struct rewrite_request *request, struct str written, struct buf *out,
                       struct buf *lost, struct rewrite_lines *lines);

#endif
