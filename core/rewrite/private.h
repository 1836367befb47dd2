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

/* anew.c: the offer to write the kernel anew, whose texts go into the arena. */
void rewrite_anew_offer(const struct rewrite_request *request, double now_us, struct arena *arena,
                        struct rewrite_offer *offer);
/* Writes the kernel that such a key names, with the name of the request's kernel. */
bool rewrite_anew_apply(const struct rewrite_request *request, const char *key, struct buf *out,
                        struct err *err);

#endif
