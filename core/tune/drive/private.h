/* SPDX-License-Identifier: Apache-2.0 */
/* Private to drive: what its files share. */
#ifndef HONE_TUNE_DRIVE_PRIVATE_H
#define HONE_TUNE_DRIVE_PRIVATE_H

#include "tune/drive/drive.h"
#include "tune/exchange/inner.h"
#include "tune/proposer/inner.h"
#include "tune/read/read.h"
#include "tune/trial/trial.h"

/* options.c: the values of a new session with their origins, and what the command line changes of
 * one that exists. False with *err for a wrong list of seeds. The check comes before anything is
 * moved or made. */
bool tune_options_begin(struct tune_event_session *session, struct arena *arena,
                        const struct tune_options *options, struct err *err);
bool tune_options_change(struct tune_event_session *session, struct arena *arena,
                         const struct tune_state *state, const struct tune_options *options,
                         struct err *err);
/* What a run sets in the place of the session's own. The event lives as long as the arena. */
void tune_options_run(struct tune_event_run *event, struct arena *arena,
                      const struct tune_state *state, const struct tune_run *run);
bool tune_options_check(const struct tune_options *options, struct err *err);

/* budget.c: asked before a step and before a round. When a limit would be passed, the loop stops
 * with the reason and nothing begins. */
bool tune_budget_stops(struct tune_session *session, int lane, const struct tune_expected *expected,
                       const char *what);
/* Says in the log what a round is expected to cost, where there is something to say. */
void tune_budget_tell(struct tune_session *session, const struct tune_expected *expected);
bool tune_budget_stops_step(struct tune_session *session, int lane, enum tune_step step);
/* The same without stopping: while other lanes are at work, this one waits for what they leave. */
bool tune_budget_waits(const struct tune_session *session, int lane, enum tune_step step);
/* Sets the timer that gives up what runs before a limit of time, the clock's or the device's, is
 * reached. Called whenever work may have begun or ended. */
void tune_budget_watch(struct tune_session *session);

/* lanes.c: one step forward in a round; the end of a lane's part of a step. */
void tune_round_go_on(struct tune_session *session);
/* Whether another lane can begin its part of the step beside those that do it now. */
bool tune_lanes_can_start(const struct tune_session *session);
void tune_lane_done(struct tune_session *session, int lane, enum tune_step step,
                    enum tune_step_is is, const char *text);
/* How the step goes in a lane, and which step is its next. */
bool tune_step_wanted(const struct tune_session *session, int lane, enum tune_step step,
                      const char **skipped);
void tune_step_run(struct tune_session *session, int lane, enum tune_step step);
enum tune_step tune_step_after(const struct tune_session *session, int lane, enum tune_step step,
                               enum tune_step_is is);

/* session.c: as tune_session_act, right after a look at the files of the task. */
bool tune_act_looked(struct tune_session *session, const struct tune_action *action,
                     struct err *err);

/* rescue.c: tells of a session that was saved when its files went away, where it is newer than what
 * was here when this one was opened. */
void tune_rescued_tell(struct tune_session *session);
/* Where the session of a folder was saved to; a new string, NULL: it was not. */
char *tune_rescued_place(const char *folder) CC_MUST_USE;

/* decide.c */
void tune_decide(struct tune_session *session, int lane);

/* lessons.c: the last two steps. */
void tune_summarise(struct tune_session *session, int lane);
void tune_reflect(struct tune_session *session, int lane);
/* Writes down the lessons that came, in the order of the lanes. */
void tune_lessons_settle(struct tune_session *session);

/* recent.c */
void tune_recent_note(const struct tune_session *session);

/* drive.c */
extern const struct tune_driver tune_drive;

#endif
