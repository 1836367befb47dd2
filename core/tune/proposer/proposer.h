/* SPDX-License-Identifier: Apache-2.0 */
/* Who proposes: given the context, plans; given a plan, a candidate source. The rewriter, a
 * language model and a person are all of this form; the loop does not know who made a plan. */
#ifndef HONE_TUNE_PROPOSER_H
#define HONE_TUNE_PROPOSER_H

#include "base/base.h"
#include "tune/proposer/preflight.h"
#include "tune/session/session.h"

struct loop;
struct tune_context;
struct tune_plan;
struct tune_reply;

/* The embedded rewriter: real source-to-source transformations, no network, no key. */
struct tune_proposer *tune_rewriter_new(struct loop *loop) CC_MUST_USE;
/* Language models, by what --proposer says ("models", "anthropic/claude-sonnet-4-5", "human"). NULL
 * and *err (usage) for what is no model. `config` outlives it. */
struct tune_proposer *tune_models_new(struct loop *loop, const struct config *config,
                                      const char *names, struct err *err) CC_MUST_USE;

/* Agents that hand kernels in by themselves (tune_session_submit): it proposes nothing, and the
 * loop stops where no kernel waits. */
struct tune_proposer *tune_agents_new(void) CC_MUST_USE;

/* A kernel with its plan, as an agent hands it in; `source` NULL: a plan alone, which the session's
 * proposer carries out when its turn comes, or an agent where there is none. It becomes an attempt
 * as a model's does: by the same gates, checks, budgets and decisions. The plan's key is not read;
 * its author is who hands it in. A plan alone must name one of the rewriter's by `strategy` where
 * the rewriter carries plans out. All is copied. Returns its number, from 1; or 0 and *err (usage),
 * which says what to do. It is in the log then, so no end of this process loses it. */
int tune_session_submit(struct tune_session *session, const struct tune_plan *plan,
                        const char *source, struct err *err) CC_MUST_USE;
/* The submission, a plan alone, whose kernel the loop waits for: nobody here writes it but an
 * agent. 0: none. */
int tune_session_wants_kernel(const struct tune_session *session);
/* No kernel comes for that plan, and why, for log, history and agents: the next one's turn comes.
 * False where it is not waited for. */
bool tune_session_give_up(struct tune_session *session, int number, const char *why);
/* Hands that kernel in. False and *err (usage) where it is not waited for. */
bool tune_session_carry_out(struct tune_session *session, int number, const char *author,
                            const char *source, struct err *err) CC_MUST_USE;

/* The finishing calls. Texts are copied. `count` 0: nothing left. */
void tune_reply_plans(struct tune_reply *reply, const struct tune_plan *plans, size_t count);
void tune_reply_candidate(struct tune_reply *reply, struct str source);
void tune_reply_lesson(struct tune_reply *reply, const struct tune_lesson *lesson);
/* It could not be done; `text` tells the person why. The plan is closed and the round goes on; hone
 * writes the lesson itself where one was asked for. */
void tune_reply_failed(struct tune_reply *reply, const char *text);

/* Before the finishing call, any number of times: the name of who answers (else the proposer's),
 * and a line for the log. */
void tune_reply_author(struct tune_reply *reply, const char *name);
void tune_reply_log(struct tune_reply *reply, const char *text);
/* What a kernel written anew would take in each precision, in us; NAN: not known. For the person
 * who decides which one the session allows. */
void tune_reply_offer(struct tune_reply *reply, const double us[TUNE_PRECISIONS]);

#endif
