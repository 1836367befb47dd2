/* SPDX-License-Identifier: Apache-2.0 */
/* A session while it is open: its state, its folder, and who is told of what happens. */
#ifndef HONE_TUNE_SESSION_H
#define HONE_TUNE_SESSION_H

#include "base/base.h"
#include "tune/session/proposes.h"

struct tune_session;
struct tune_state;

/* `changed` is called after events were stored and applied, on the loop's thread; within one call
 * of tune_session_act or tune_session_open at most once for each event. */
void tune_session_on_change(struct tune_session *session, void (*changed)(void *), void *context);
/* Called once for a session that was opened early, when its log is read: err->kind is ERR_NONE, or
 * says why the session cannot go on. Then it can only be closed, but not by this callback. */
void tune_session_on_opened(struct tune_session *session,
                            void (*opened)(void *, const struct err *err), void *context);
/* Raw events as they are stored, for hone run --json: type, payload (JSON text of an object). */
void tune_session_on_event(struct tune_session *session,
                           void (*event)(void *, int64_t seq, const char *type, const char *json),
                           void *context);
const struct tune_state *tune_session_state(const struct tune_session *session);
/* Writes down what came of the session so far. This happens by itself whenever the loop stops; it
 * is for those who end it before. `why` NULL: as the state says. */
void tune_session_summarise(struct tune_session *session, const char *why);
/* About the place where evaluations run (state->place; `changed` is called when it changes). Watch:
 * somebody looks at it now, so cores and memory are kept fresh for half a minute. Answer: answers
 * its question, NULL declines; the caller wipes its own text. Retry: connects again now, and asks a
 * question now that waits for a model's service. Each does nothing where there is nothing to do. */
void tune_session_watch(struct tune_session *session);
void tune_session_answer(struct tune_session *session, const char *answer);
void tune_session_retry(struct tune_session *session);

/* Where the session is kept, and what goes on elsewhere when this process ends now: for a hone that
 * is ended from outside. */
void tune_session_left(const struct tune_session *session, struct buf *out);

/* The session's folder. What it keeps under a content hash, as text in a new string; NULL and *err
 * when there is nothing, or ERR_DAMAGED when the bytes are not those that were stored. */
const char *tune_session_folder(const struct tune_session *session);
/* Who proposes in this process: "rewriter", "agents", models by their names; NULL: nobody. */
const char *tune_session_proposer(const struct tune_session *session);
/* What was odd about its files when it was opened, although no event is doubtful; NULL: nothing. */
const char *tune_session_note(const struct tune_session *session);
/* What was wrong in its folder and was made good, or could not be: lines in a new string, each of
 * which is told once; NULL: nothing. */
char *tune_session_notes(struct tune_session *session) CC_MUST_USE;
char *tune_session_artefact(const struct tune_session *session, const char *hash,
                            struct err *err) CC_MUST_USE;

#endif
