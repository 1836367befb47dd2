/* SPDX-License-Identifier: Apache-2.0 */
/* A session while it is open: its state, its folder, who is told of what happens. */
#ifndef HONE_TUNE_SESSION_H
#define HONE_TUNE_SESSION_H

#include "base/base.h"
#include "tune/session/proposes.h"

struct tune_session;
struct tune_state;

/* `changed` is called after events were stored and applied, from the loop's thread, never inside
 * tune_session_act or tune_session_open of the same caller's stack more than once an event. */
void tune_session_on_change(struct tune_session *session, void (*changed)(void *), void *context);
/* Called once for a session that was opened early, when its log is read whole: err->kind ERR_NONE,
 * or why it cannot be gone on with; then it can only be closed, not by the callback itself. */
void tune_session_on_opened(struct tune_session *session,
                            void (*opened)(void *, const struct err *err), void *context);
/* Raw events as they are stored, for hone run --json: type, payload (JSON text of an object). */
void tune_session_on_event(struct tune_session *session,
                           void (*event)(void *, int64_t seq, const char *type, const char *json),
                           void *context);
const struct tune_state *tune_session_state(const struct tune_session *session);
/* Writes down what came of it so far, as happens by itself whenever the loop stops: for who ends it
 * before. `why` NULL: as the state says. */
void tune_session_summarise(struct tune_session *session, const char *why);
/* About the place evaluations run at (state->place; `changed` is called when that changes). Watch:
 * somebody looks at it now, so that cores and memory are kept fresh for the next half minute.
 * Answer: to the question it has, NULL declines; the caller wipes its own text. Retry: connect
 * again now; a question that waits for a model's service is asked now, too. All do nothing where
 * there is no such thing. */
void tune_session_watch(struct tune_session *session);
void tune_session_answer(struct tune_session *session, const char *answer);
void tune_session_retry(struct tune_session *session);

/* Where the session is kept, and what goes on elsewhere when this process ends now: for who is
 * ended from outside. */
void tune_session_left(const struct tune_session *session, struct buf *out);

/* The session's folder; what it keeps under a content hash, as text, a new string. NULL and *err:
 * nothing, or ERR_DAMAGED for other bytes than were stored. */
const char *tune_session_folder(const struct tune_session *session);
/* What was odd about its files when they were opened, though no event is doubtful; NULL: nothing.
 */
const char *tune_session_note(const struct tune_session *session);
char *tune_session_artefact(const struct tune_session *session, const char *hash,
                            struct err *err) CC_MUST_USE;

#endif
