/* SPDX-License-Identifier: Apache-2.0 */
/* Who proposes, as a session sees it: given the context, plans; given a plan, a candidate. The
 * rewriter, a language model and a person are each one of these. */
#ifndef HONE_TUNE_PROPOSES_H
#define HONE_TUNE_PROPOSES_H

#include "base/base.h"
#include "tune/state/state.h"

struct loop;
struct tune_context;
struct tune_plan;
struct tune_reply;

/* What a model learnt: `title` and `text` of an experience, or `text` and `diagnosis` of a note
 * (right: yes; wrong: no; unclear: inconclusive; not said: unknown). */
struct tune_lesson {
    const char *title, *text;
    enum tune_answer diagnosis;
};
/* Asks for a lesson as below. False when nobody has this role; then hone writes it itself. */
typedef bool tune_lesson_fn(void *self, const struct tune_context *context,
                            struct tune_reply *reply);
struct tune_role_view;

/* Both calls return at once. The proposer answers later, on the event loop's thread, by exactly one
 * of the finishing tune_reply_ calls; answering inside the call is allowed. `context`, `plan` and
 * `reply` stay valid until then, or until cancel returns. */
struct tune_proposer {
    const char *name; /* shown as the author of what it makes */
    void *self;
    bool repairs; /* is asked again when its candidate does not compile */
    /* asked the same again, it answers something else; else it is asked once, and everything it
     * offers is used */
    bool draws;
    /* no prompt goes to anybody: it reads neither notes nor experiences */
    bool asks_nobody;
    bool by_key;  /* carries out its own plans only, known by their keys */
    int parallel; /* requests at once, at most; 0: one */
    /* Answer with plans, best first; none means there is nothing left to propose. */
    void (*plan)(void *self, const struct tune_context *context, struct tune_reply *reply);
    /* Answer with the whole new source. context->repair_error set: a repair turn for `plan`. */
    void (*rewrite)(void *self, const struct tune_context *context, const struct tune_plan *plan,
                    struct tune_reply *reply);
    /* Answer with a lesson, when there is somebody to ask. NULL: hone writes them. */
    tune_lesson_fn *summarise, *reflect;
    /* Gives up this request; no answer to it may come afterwards. NULL: it always answers inside
     * the call. */
    void (*cancel)(void *self, struct tune_reply *reply);
    void (*free)(void *self); /* may be NULL */
    /* A person's answer to state->calls[call], which waits for one; NULL where none ever does. */
    void (*answer)(void *self, int call, struct str text);
    /* The person wants state->calls[call], which is held, to go out; NULL where none ever is. */
    void (*send)(void *self, int call);
    /* What waits for a service is tried now; NULL where nothing ever waits. */
    void (*retry)(void *self);
    const struct tune_role_view *roles; /* who is asked for each role; NULL: no models */
};

#endif
