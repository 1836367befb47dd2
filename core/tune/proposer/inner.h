/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to whoever proposes, and what comes of them. For the rooms of tune. */
#ifndef HONE_TUNE_PROPOSER_INNER_H
#define HONE_TUNE_PROPOSER_INNER_H

#include "tune/ask/ask.h"
#include "tune/proposer/proposer.h"
#include "tune/session/inner.h"

/* affords.c. False: the question must not go out. Then the loop was stopped and reply->done is set,
 * or, for a lesson, *err says why. Else asking->hold is filled, and *max_tokens made smaller where
 * what is left would not pay for a longer answer. */
bool tune_reply_affords(struct tune_reply *reply, struct tune_asking *asking, int *max_tokens,
                        struct err *err);
/* values->guess_...: what nobody counted, by the answer's text; NAN stays where somebody did. */
void tune_budget_guess(const struct tune_state *state, int call, struct str answer,
                       struct tune_call *values);

/* propose.c: the plan and the rewrite step. */
void tune_plan_start(struct tune_session *session, int lane);
void tune_rewrite_start(struct tune_session *session, int lane);
struct tune_reply *tune_request(struct tune_work work, enum tune_work_is is,
                                struct tune_context *context);
void tune_request_end(struct tune_reply *reply);
void tune_replies_free(struct tune_session *session);

/* sweep_work.c: the plans that are left of a sweep, in place of asking for some; false: there are
 * none. Once one is chosen, each of them in a lane of its own. A value of a sweep as a candidate.
 * The table of a sweep that ended with this plan, in the log. */
bool tune_sweep_plan(struct tune_session *session, int lane);
bool tune_sweep_wants_lanes(const struct tune_session *session);
void tune_sweep_lanes_begin(struct tune_session *session);
void tune_sweep_rewrite(const struct tune_context *context, const struct tune_plan *plan,
                        struct tune_reply *reply);
void tune_sweep_tell(struct tune_session *session, const struct tune_plan *plan);

/* calls.c: what a proposer that asks language models tells of each question. A call is its number,
 * as in state->calls; -1 when it could not be written down, which the others accept. */
struct tune_question {
    enum tune_role role;
    const char *model;
    struct str prompt;                /* as it goes out, system first */
    double estimate;                  /* its tokens */
    double hold_tokens, hold_dollars; /* with the longest answer it may get; NAN */
    bool waits;                       /* for a person's answer */
    bool held;                        /* until a person sends it; the prompt is not made yet */
    int mends;                        /* the call whose answer could not be used, -1 */
    int repeats;                      /* the call that came to nothing, and is asked again; -1 */
};
struct model_reply;
int tune_reply_asked(struct tune_reply *reply, const struct tune_question *question);
/* One that was held goes out. */
void tune_reply_sent(struct tune_reply *reply, int call, const struct tune_question *question);
/* Whether questions are held. */
bool tune_reply_holds(const struct tune_reply *reply);
/* The answer to the call cannot be used, and why. `lost`: nothing of it goes back to be mended. */
void tune_reply_unread(struct tune_reply *reply, int call, struct str text, const char *why,
                       bool lost);
/* The context of the request as the state is now, in place of the one it began with; `call` as in
 * tune_context_question. */
const struct tune_context *tune_reply_context(struct tune_reply *reply, enum tune_role role,
                                              int call);
/* Whether a kernel as this one was tried, or is the one it comes from; *why says which. */
bool tune_reply_repeats(const struct tune_reply *reply, struct str source, const char *before,
                        struct buf *why);
void tune_reply_stream(struct tune_reply *reply, int call, struct str piece, bool again);
void tune_reply_answered(struct tune_reply *reply, int call, const struct model_reply *answer);
/* Which of so many models of a role is to be asked now. */
size_t tune_reply_turn(const struct tune_reply *reply, enum tune_role role, size_t models);

/* outage.c: a model whose service is out of order. What came of a question is told before:
 * nothing. */
struct tune_outage_news {
    enum tune_role role;
    const char *model, *kind, *text;
    int call, tries;
    double pause_s;   /* until that model may be asked again */
    const char *next; /* the model that the question goes to then; */
    double wait_s;    /* 0: at once */
};
void tune_reply_outage(struct tune_reply *reply, const struct tune_outage_news *news);
/* Seconds before try number `tries` + 1: `first`, doubled each time up to sixty times as much, a
 * fifth more or less; no less than the service asks for (NAN: it does not). */
double tune_outage_pause(double first_s, int tries, double asked_s);
/* Nobody can answer before a person did something: the loop pauses, the step begins again with
 * start. Nothing is closed. It is a finishing call. */
void tune_reply_paused(struct tune_reply *reply, const char *text);

#endif
