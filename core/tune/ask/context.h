/* SPDX-License-Identifier: Apache-2.0 */
/* What a proposer sees: assembled from the state alone, so that the prompt screen shows exactly
 * what is sent. */
#ifndef HONE_TUNE_CONTEXT_H
#define HONE_TUNE_CONTEXT_H

#include "base/base.h"
#include "tune/state/state.h"

struct tune_section {
    const char *name; /* "kernel", "profile", "lines", "notes", "rejections", "memory" … */
    char *text;
};

/* A direction that is not to be taken again, and what became of it: "attempt 3, revert". */
struct tune_closed {
    const char *key, *how, *title; /* title: in words; NULL */
    bool in_others;                /* plans of which it is one edit of several are closed, too */
    bool by_title;                 /* so are other plans under its title: it had its second turn */
};
/* Whether it closes the plan of this key, in which several edits are joined by "+". */
bool tune_closed_takes(const struct tune_closed *closed, const char *key);

/* One request's view of the session. Valid until it is freed; the state may move on. */
struct tune_context {
    int round, attempt; /* attempt: the parent to start from */
    const char *task, *function, *path, *device, *source;
    int lnc;          /* physical cores of the model's launches; 0: as the kernel's file does */
    bool pessimistic; /* the model's fitted and guessed constants at their unfavourable end */
    const char *precision;      /* "keep", "split" or "any" */
    bool once;                  /* a planner is asked for the kernel of its plan, too */
    bool only_certain;          /* gains inside the model's error are not kept */
    bool takes_current;         /* the target is known to run kernels of the current dialect */
    const char *reference_path; /* its inputs' shapes are in the task cache; NULL */
    const char *bound_by;       /* one that limits it now: "Vector", "DMA"; NULL */
    const char *limited_by;     /* the same in words: "DMA and Vector alike"; NULL */
    int first_line, last_line;  /* that the plan is about; 0: not known */
    double latency_us, floor_us, tolerance;
    /* Directions not to take again: keys of plans that failed, were reverted or were rejected on
     * this parent, or on an earlier one where the edit is the same. */
    VEC(struct tune_closed) closed;
    /* Keys of plans that were carried out here and kept, before the person came back: not what is
     * wanted first. */
    VEC(const char *) left;
    /* Per source line, from the profile. */
    VEC(struct tune_line_cost) lines;
    VEC(struct tune_metric) metrics;
    VEC(struct tune_bound) bounds;
    /* Only in a repair turn: what the compiler or the check said. NULL otherwise. */
    const char *repair_error, *repair_source;
    VEC(struct tune_part_change) changes; /* of prompts, by the person */
    VEC(struct tune_section) sections;
    struct arena *arena; /* owns every text above */
};

/* The context of the next proposal of a lane; free with tune_context_free. */
struct tune_context *tune_context_build(const struct tune_state *state, int lane) CC_MUST_USE;
/* The context of a lesson about its attempt: what was planned, what was measured, both kernels. The
 * same rules. */
struct tune_context *tune_context_lesson(const struct tune_state *state, int lane) CC_MUST_USE;
/* The context of a lane's next question of a role. With `call` >= 0 it is that of this call, which
 * is held, or of the call that mends its answer. The same rules. */
struct tune_context *tune_context_question(const struct tune_state *state, int lane,
                                           enum tune_role role, int call) CC_MUST_USE;
void tune_context_free(struct tune_context *context);
/* The pages of `hone docs` that its kernel needs, and the guides: more than a question holds. */
/* Calls with each file that the kernel imports, as the session keeps it: its name, and the same
 * from the kernel's folder on (NULL: it is not below it). */
typedef void tune_import_fn(void *data, const char *name, const char *beside, const char *text);
void tune_imports_each(const struct tune_state *state, tune_import_fn *fn, void *data);
void tune_context_pages(const struct tune_context *context, const struct tune_state *state,
                        struct buf *out);
/* Whether a note or an experience goes into the next context. */
bool tune_context_has_note(const struct tune_state *state, size_t index);
bool tune_context_has_experience(const struct tune_state *state, size_t index);
/* The experiences that go into a context, gains and losses apart, with short snippets of their
 * code; then the directions that other agents closed. Appended; nothing when there are none. */
void tune_context_memory(const struct tune_state *state, struct buf *out);
void tune_context_closed(const struct tune_state *state, struct buf *out);
/* How the direction of a plan was closed: "attempt 3: revert"; NULL: it is open. By its title,
 * where that had its second turn, else by its key. */
const char *tune_context_closed_how(const struct tune_context *context,
                                    const struct tune_plan *plan);

#endif
