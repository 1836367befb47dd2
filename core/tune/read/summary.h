/* SPDX-License-Identifier: Apache-2.0 */
/* What came of a session so far, for somebody who was not there. It is counted from the state,
 * which is a function of the log, so it is the same whenever it is looked at. */
#ifndef HONE_TUNE_SUMMARY_H
#define HONE_TUNE_SUMMARY_H

#include "tune/state/state.h"

/* An attempt that became the incumbent. */
struct tune_rung {
    int attempt;
    char strategy[80]; /* as the scores name it */
};
/* Attempts that did not become the incumbent, and plans and questions that came to nothing, by why.
 * A reason in words, of a person or a service, has its own row, because it belongs to all that the
 * row counts. What was measured or compiled has a reason of its own each time, and the last one is
 * told. */
struct tune_failing {
    char what[80];      /* "does not compile (user)", "not faster" */
    int count, attempt; /* attempt: the last one, -1: none */
    bool each;          /* why is of the last one only */
    const char *why;    /* NULL */
};
struct tune_cost {
    const char *role, *model;
    int asked, failed;
    double tokens, dollars; /* NAN: nobody reported any */
    double seconds;         /* from question to answer */
    bool guessed;           /* some tokens are estimates by the texts */
};
struct tune_summary {
    VEC(struct tune_rung) ladder;    /* in the order they were made */
    VEC(struct tune_failing) failed; /* the most frequent first */
    VEC(struct tune_cost) costs;     /* by role, then model, as they came first */
    VEC(int) notes, memory;          /* indices: notes that count, experiences of this session */
};
/* Free with tune_summary_free. */
void tune_summary_make(const struct tune_state *state, struct tune_summary *summary);
void tune_summary_free(struct tune_summary *summary);
/* What stands between a row's `what` and its `why`. */
const char *tune_failing_between(const struct tune_failing *row);

/* How much faster than its parent: "1.21x (95 %: 1.19 to 1.23)", "1.21x (modelled)". */
void tune_ratio_print(struct buf *out, const struct tune_state *state,
                      const struct tune_attempt *attempt);
/* As text for people. `folder` is where the kernels are (NULL: not said), `why` is why it ended
 * (NULL: as the state says). */
void tune_summary_print(const struct tune_state *state, const char *folder, const char *why,
                        struct buf *out);

#endif
