/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that agents handed in: whose turn it is, and what became of each. It follows from the
 * plans, attempts and rejections of the state. */
#ifndef HONE_TUNE_SUBMISSION_H
#define HONE_TUNE_SUBMISSION_H

#include "tune/state/state.h"

/* QUEUED: its turn comes. UNDER_WAY: a lane follows it. ENDED: it is an attempt that was decided
 * about, or it was refused before it became one. */
enum tune_submission_is {
    TUNE_SUBMISSION_QUEUED,
    TUNE_SUBMISSION_UNDER_WAY,
    TUNE_SUBMISSION_ENDED
};
struct tune_submission_view {
    enum tune_submission_is is;
    int lane, attempt;       /* -1: none */
    bool refused;            /* it ended before it was an attempt */
    enum tune_status status; /* REJECTED also where it was refused; OPEN until it ended */
    bool by_loop;            /* it was refused by hone, not by a person */
    const char *reason;      /* of the status; NULL */
};
/* What became of submission number `number`, from 1. False: there is none. */
bool tune_submission_look(const struct tune_state *state, int number,
                          struct tune_submission_view *view) CC_MUST_USE;
/* Whether what was decided about the attempt is still a proposal: a person is asked about it. */
bool tune_attempt_awaits(const struct tune_state *state, const struct tune_attempt *attempt);
/* The submission that a plan belongs to; NULL: none. */
const struct tune_submission *tune_submission_of(const struct tune_state *state,
                                                 const struct tune_plan *plan);
/* The number of the one whose turn is next; 0: none waits. */
int tune_submission_next(const struct tune_state *state);

#endif
