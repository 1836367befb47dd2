/* SPDX-License-Identifier: Apache-2.0 */
/* The embedded rewriter: source-to-source transformations of NKI kernels, ranked by the device
 * model, and kernels written anew from what the reference computes. It knows the language and the
 * device, and nothing of the loop that asks it. */
#ifndef HONE_REWRITE_REWRITE_H
#define HONE_REWRITE_REWRITE_H

#include "rewrite/facts/facts.h"
#include "rewrite/moves/moves.h"
#include "schedule/schedule.h"

/* What a kernel can be written anew from: the graph of its reference and what the search over its
 * schedules found. Everything in it stays the caller's. */
struct rewrite_anew {
    struct str graph; /* meta.json of the recorded reference, or what a kernel was lifted to */
    bool is_lifted;   /* its lines are a kernel's */
    const char *task; /* its name, for the first comment */
    enum write_precision precision;
    double tolerance;             /* relative L2 that counts as correct; 0: unknown */
    const struct schedule *found; /* NULL: it is not offered, and keys still work */
};
/* What the request's kernel computes for its inputs, in the form of such a graph, for a reference
 * that cannot be recorded. It is found from the program alone, so what is written from it has to be
 * verified. A new string; NULL and *err: it does not compile, or a part of it stays opaque. */
char *rewrite_lift(const struct rewrite_request *request, const volatile int *cancel,
                   struct err *err) CC_MUST_USE;
/* Searches the schedules of request->anew for the request's generation, inputs and pessimism.
 * `budget` and the errors as for schedule_search; `threads` judge at once. */
struct rewrite_effort {
    size_t budget;
    int threads;                /* 0: as many as processors */
    const volatile int *cancel; /* may be NULL */
};
struct schedule *rewrite_anew_search(const struct rewrite_request *request,
                                     const struct rewrite_effort *effort,
                                     struct err *err) CC_MUST_USE;

/* An edit that can be made, and what is expected of it. Texts live in the offers' arena. */
struct rewrite_offer {
    const char *key, *title, *what, *why;
    int first_line, last_line;
    const char *metric;
    enum rewrite_direction direction;
    double size;    /* relative change of the metric, positive */
    double latency; /* relative change of the latency, negative: faster */
    bool modelled;  /* the device model made the numbers; else the profile alone */
};
struct rewrite_declined {
    const char *id; /* of the transformation */
    int line;
    const char *reason;
};
/* An edit that was timed and is not faster. */
struct rewrite_lost {
    const char *title;
    double latency;  /* relative change of the latency; NAN: the device model refuses it */
    const char *why; /* then: its first error */
};
struct rewrite_offers {
    struct arena *arena;
    VEC(struct rewrite_offer)
    all;              /* best first; the kernel written anew after edits that bring
                       * much, unless it is far faster */
    size_t looked_at; /* edits that were tried, and the kernel written anew that is among them */
    /* Places where a precondition failed, in the order in which they were looked at; texts in the
     * arena. */
    VEC(struct rewrite_declined) declined;
    VEC(struct rewrite_lost) lost; /* in the order in which they were timed, texts in the arena */
    double anew_us; /* the kernel written anew, where it is not faster either; else NAN */
    bool ended;     /* the budget ended before all edits were looked at */
    bool modelled; /* the device model takes the kernel; then only what it calls faster is listed */
};
/* Which keys not to offer. */
typedef bool rewrite_closed_fn(const void *data, const char *key);
struct rewrite_screen {
    rewrite_closed_fn *is_closed; /* NULL: none are */
    const void *data;
    const volatile int *cancel; /* may be NULL */
    double budget; /* instructions of all kernels that are timed: the same on every machine */
};
/* Finds the edits of the menu and ranks them: by the model as far as the budget goes. Where no
 * single edit is faster, pairs are tried. The kernel written anew is among them where the model
 * calls it faster; its key names every choice of its schedule. False with *err when the source does
 * not parse. */
bool rewrite_offers_make(const struct rewrite_request *request, const struct rewrite_screen *screen,
                         struct rewrite_offers *offers, struct err *err) CC_MUST_USE;

/* Applies the edit with this key ("a+b": one after the other) and puts the new source into *out.
 * False with *err when there is no such edit any more, or what it gives would not be legal. */
bool rewrite_apply(const struct rewrite_request *request, const char *key, struct buf *out,
                   struct err *err) CC_MUST_USE;

#endif
