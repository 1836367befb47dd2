/* SPDX-License-Identifier: Apache-2.0 */
/* What the rewriter can write anew from the task's reference: the recorded graph and the search
 * over its schedules, which is made once and kept for all plans of a session. Private to this
 * folder. */
#ifndef HONE_TUNE_PROPOSER_ANEW_H
#define HONE_TUNE_PROPOSER_ANEW_H

#include "rewrite/rewrite.h"
#include "tune/events/events.h"

struct tune_context;
/* Shared by the rewriter and its jobs, which may outlive it. */
struct anew;

/* What is kept in *kept, where it is of this context; else a new one, which takes its place. NULL
 * where nothing may be written anew: no reference, or a target that may not run it. For the caller
 * to drop. */
struct anew *anew_take(struct anew **kept, const struct tune_context *context) CC_MUST_USE;
void anew_drop(struct anew *anew); /* accepts NULL */
/* Whether the search is still to be made. It may be under way in another job. */
bool anew_is_unsearched(const struct anew *anew);
/* On a worker thread: puts graph and task into request->anew. With `searches` the search is made,
 * too, on so many threads, unless that was done before; *summary gets a sentence of it, and
 * offer_us what each precision would take, in us, where another one would bring much; else NAN.
 * Waits for another job that is at it. False where what was recorded of the reference is gone from
 * the cache: nothing is written from the kernel in its place. */
struct anew_search {
    int threads; /* 0: no search is made */
    const volatile int *cancel;
};
bool anew_fill(struct anew *anew, struct rewrite_request *request, const struct anew_search *how,
               struct buf *summary, double offer_us[TUNE_PRECISIONS]);

#endif
