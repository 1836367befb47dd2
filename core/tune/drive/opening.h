/* SPDX-License-Identifier: Apache-2.0 */
/* The log read back when a session is opened. Private to this room. */
#ifndef HONE_TUNE_DRIVE_OPENING_H
#define HONE_TUNE_DRIVE_OPENING_H

#include "tune/session/inner.h"

/* err->kind ERR_NONE: the log was read whole. */
typedef void tune_opening_done_fn(struct tune_session *session, struct err *err);

/* Reads all of it. */
bool tune_opening_read(struct tune_session *session, struct err *err) CC_MUST_USE;
/* Reads for some milliseconds. The loop reads what is left: state->opening is true until then, and
 * `done` is called at the end. When nothing is left `done` is not called. */
bool tune_opening_start(struct tune_session *session, tune_opening_done_fn *done,
                        struct err *err) CC_MUST_USE;
void tune_opening_forget(struct tune_session *session);
/* An event that was read. */
void tune_opening_apply(struct tune_session *session, const struct store_event *event);

/* follow.c: of a session that is read-only, new events of another process are read as they come. */
void tune_follow_begin(struct tune_session *session);
void tune_follow_end(struct tune_session *session);

#endif
