/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to whoever proposes, and what becomes of them. For the rooms of tune. */
#ifndef HONE_TUNE_PROPOSER_INNER_H
#define HONE_TUNE_PROPOSER_INNER_H

#include "tune/ask/ask.h"
#include "tune/proposer/proposer.h"
#include "tune/session/inner.h"

/* affords.c. Whether the question may go out. If not, the loop was stopped and reply->done is set;
 * for a lesson *err says why instead. If so, asking->hold is filled, and *max_tokens is made
 * smaller where what is left would not pay for a longer answer. */
bool tune_reply_affords(struct tune_reply *reply, struct tune_asking *asking, int *max_tokens,
                        struct err *err);
/* Sets values->guess_...: what nobody counted, from the answer's text. NAN stays where somebody
 * counted. */
void tune_budget_guess(const struct tune_state *state, int call, struct str answer,
                       struct tune_call *values);

/* propose.c: the plan and the rewrite step. */
void tune_plan_start(struct tune_session *session, int lane);
void tune_rewrite_start(struct tune_session *session, int lane);
struct tune_reply *tune_request(struct tune_work work, enum tune_work_is is,
                                struct tune_context *context);
void tune_request_end(struct tune_reply *reply);
void tune_replies_free(struct tune_session *session);

/* sweep_work.c: the plans that are left of a sweep, instead of asking for plans; false when
 * there are none. Whether the chosen plan's sweep gets a lane for each of its values, and
 * opening them. A value of a sweep as a candidate. Writes the table of a sweep that ends with
 * this plan to the log. */
bool tune_sweep_plan(struct tune_session *session, int lane);
bool tune_sweep_wants_lanes(const struct tune_session *session);
void tune_sweep_lanes_begin(struct tune_session *session);
void tune_sweep_rewrite(const struct tune_context *context, const struct tune_plan *plan,
                        struct tune_reply *reply);
void tune_sweep_tell(struct tune_session *session, const struct tune_plan *plan);

/* submit.c: the plan of the submission whose turn it is, instead of asking for plans; false when
 * none waits. A submission as a candidate; false for a plan of another kind. */
bool tune_submission_plan(struct tune_session *session, int lane);
bool tune_submission_rewrite(const struct tune_plan *plan, struct tune_reply *reply);
/* The answer to a rewrite is the kernel that an agent hands in for its own plan; `why` the proposer
 * does not write it, for the log (NULL). False for a plan of another kind. */
bool tune_submission_await(struct tune_reply *reply, const char *why);
/* The plan as a proposer is to carry it out. One that an agent handed in without a kernel may name,
 * as its strategy, an edit of the rewriter by its key. */
struct tune_plan tune_submission_carried(const struct tune_state *state,
                                         const struct tune_plan *plan);

/* calls.c: what a proposer tells of each question to a language model. A call is named by its
 * number in state->calls. It is -1 when it could not be written down, and the other functions
 * accept that. */
struct tune_question {
    enum tune_role role;
    const char *model;
    struct str prompt;                /* as it goes out, system first */
    double estimate;                  /* its tokens */
    double hold_tokens, hold_dollars; /* with the longest answer it may get; NAN */
    bool waits;                       /* for a person's answer */
    bool once;                        /* for a plan and its kernel */
    bool held;                        /* until a person sends it; its prompt is made then */
    int mends;                        /* the call whose answer could not be used, -1 */
    int repeats;                      /* the call that came to nothing, and is asked again; -1 */
};
struct model_reply;
int tune_reply_asked(struct tune_reply *reply, const struct tune_question *question);
/* A question that was held goes out. */
void tune_reply_sent(struct tune_reply *reply, int call, const struct tune_question *question);
/* Whether questions are held. */
bool tune_reply_holds(const struct tune_reply *reply);
/* The answer to the call cannot be used, and why. `lost`: it is not sent back to be mended. */
void tune_reply_unread(struct tune_reply *reply, int call, struct str text, const char *why,
                       bool lost);
/* The context of the request as the state is now, instead of the one it began with; `call` as in
 * tune_context_question. */
const struct tune_context *tune_reply_context(struct tune_reply *reply, enum tune_role role,
                                              int call);
/* Whether the kernel was tried before or is the one that it comes from; *why says which. */
bool tune_reply_repeats(const struct tune_reply *reply, struct str source, const char *before,
                        struct buf *why);
void tune_reply_stream(struct tune_reply *reply, int call, struct str piece, bool again);
void tune_reply_answered(struct tune_reply *reply, int call, const struct model_reply *answer);
/* Which of so many models of a role is asked now. */
size_t tune_reply_turn(const struct tune_reply *reply, enum tune_role role, size_t models);

/* outage.c: a model whose service is out of order. That the question came to nothing is told
 * before. */
struct tune_outage_news {
    enum tune_role role;
    const char *model, *kind, *text;
    int call, tries;
    double pause_s;   /* until that model may be asked again */
    const char *next; /* the model that the question goes to, */
    double wait_s;    /* after so long; 0: at once */
};
void tune_reply_outage(struct tune_reply *reply, const struct tune_outage_news *news);
/* Seconds before try number `tries` + 1: `first_s`, doubled each time up to sixty times as much,
 * give or take a fifth, and no less than the service asks for (NAN: it does not ask). */
double tune_outage_pause(double first_s, int tries, double asked_s);
/* Nobody can answer until a person does something: the loop pauses, and the step begins again with
 * start. No plan is closed. It is a finishing call. */
void tune_reply_paused(struct tune_reply *reply, const char *text);

#endif
