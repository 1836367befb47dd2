/* SPDX-License-Identifier: Apache-2.0 */
/* What the rewriter expects of its edits, from the embedded device model. Private to this
 * folder. */
#ifndef HONE_TUNE_REWRITE_SCREEN_H
#define HONE_TUNE_REWRITE_SCREEN_H

#include "tune/rewrite.h"

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
};
/* Specialises and times the source; numbers are not computed. *cancel non-zero gives up. */
void rewrite_estimate(const struct rewrite_request *request, struct str source, struct arena *arena,
                      const volatile int *cancel, struct rewrite_estimate *estimate);
/* NAN when it was not reported. */
double rewrite_estimate_metric(const struct rewrite_estimate *estimate, const char *name);

/* An edit that can be made, and what is expected of it. Texts live in the offers' arena. */
struct rewrite_offer {
    const char *key, *title, *what, *why;
    int first_line, last_line;
    const char *metric;
    enum tune_direction direction;
    double size;    /* relative change of the metric, positive */
    double latency; /* relative change of the latency, negative: faster */
    bool modelled;  /* from the device model; else from the profile alone */
};
struct rewrite_offers {
    struct arena *arena;
    VEC(struct rewrite_offer) all; /* best first */
    size_t looked_at;              /* edits that were tried */
    size_t declined;               /* places where a precondition failed */
    bool modelled; /* the model takes the kernel: only what it calls faster is there */
};
/* Which keys not to offer. */
typedef bool rewrite_closed_fn(const void *data, const char *key);
struct rewrite_screen {
    rewrite_closed_fn *is_closed; /* NULL: none are */
    const void *data;
    const volatile int *cancel; /* may be NULL */
    double budget_s;            /* wall clock */
};
/* Finds the edits of the menu and ranks them: by the model as far as the budget goes. Where no
 * single edit is faster, pairs are tried. False with *err when the source does not parse. */
bool rewrite_offers_make(const struct rewrite_request *request, const struct rewrite_screen *screen,
                         struct rewrite_offers *offers, struct err *err) CC_MUST_USE;

#endif
