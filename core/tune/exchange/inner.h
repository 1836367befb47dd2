/* SPDX-License-Identifier: Apache-2.0 */
/* Files that follow from a session, and what comes into it from files. For the rooms of tune. */
#ifndef HONE_TUNE_EXCHANGE_INNER_H
#define HONE_TUNE_EXCHANGE_INNER_H

#include "tune/exchange/exchange.h"
#include "tune/session/inner.h"

/* export.c: writes the derived tables and files: of one attempt; of all whose status differs from
 * `before`; when a session is opened, of all about which the log knows more than they. */
void tune_export(struct tune_session *session, int attempt);
void tune_export_changed(struct tune_session *session, const enum tune_status *before,
                         size_t count);
void tune_export_mend(struct tune_session *session);
/* checkpoints.c: when it is opened for writing, and of one attempt before it is named to a person:
 * what is missing is written again from the log, what was altered is moved aside first. Left: when
 * the session was written last, as nanoseconds of its files, before it is opened. */
void tune_checkpoints_mend(struct tune_session *session);
int64_t tune_left_ns(const char *folder);
/* kept.c: when it is opened for writing: copies of the task's files that are missing or altered are
 * put back where the same file is elsewhere. Of what cannot be, the person is told. */
void tune_kept_mend(struct tune_session *session);
/* slices.c: nothing more is made. The session is closed, or its files are elsewhere now. */
void tune_slices_forget(struct tune_session *session);
/* The row of a decided attempt; nothing for one that is not decided. */
void tune_experiment_print(const struct tune_state *state, const struct tune_attempt *attempt,
                           struct buf *out);

/* files.c: the files that the task is made of. Begin: writes them down for a session that has none
 * yet. Check: whether they are on disk as the session has them; where they are not, the event
 * "changed" has stopped the loop by then, with `again` the step that ran begins again. False also
 * while a large file is read. Ready: whether all hashes are known; if not, reading begins. Known:
 * it ended. Take: those on disk count from now on. Restore: writes the session's own copies, which
 * may be impossible for a large file. Place: where they are read from, on disk or from the
 * session's own copies. */
void tune_files_begin(struct tune_session *session);
bool tune_files_check(struct tune_session *session, bool again);
bool tune_files_ready(struct tune_session *session);
void tune_files_known(struct tune_session *session);
bool tune_files_take(struct tune_session *session);
bool tune_files_restore(struct tune_session *session, struct err *err) CC_MUST_USE;
bool tune_files_place(struct tune_session *session, struct err *err) CC_MUST_USE;

/* large.c: whether large files are being read or copied. Forgets the hashes of large files. */
bool tune_large_is_busy(const struct tune_session *session);
void tune_large_forget(struct tune_session *session);

/* look.c: a worker looks at the files of the task, and only then does the loop's thread. Is over: a
 * look has just ended; otherwise one begins, and files_looked of the driver is called at its end.
 * For: the same since that evaluation ended. Compare: as tune_files_check, when the look is over.
 * Await: the same as is over, but it mostly is after a short wait; with `data`, the files that are
 * to be taken were read whole. End: what was learnt of the disk does not count any more, as after
 * each turn of the loop: a person acts anew. What the last look found in the cache of references:
 * shapes of the inputs (NULL: none), whether the reference was recorded, names of files that it
 * read. Beyond: what it found in the first kernel (NULL: it did not look). */
bool tune_look_is_over(struct tune_session *session);
bool tune_look_is_over_for(struct tune_session *session, const struct tune_evaluation *evaluation);
void tune_look_and_compare(struct tune_session *session);
bool tune_look_await(struct tune_session *session, bool data);
void tune_look_end(struct tune_session *session);
bool tune_look_is_busy(const struct tune_session *session);
const struct task_inputs *tune_look_shapes(const struct tune_session *session);
bool tune_look_graph(const struct tune_session *session);
const struct diag_list *tune_look_beyond(const struct tune_session *session);
size_t tune_look_reads(const struct tune_session *session, char *const **names);
void tune_look_forget(struct tune_session *session);

/* found.c: files that turned out to belong to the task when it ran (what the reference read or
 * imported, and what a candidate with that source imports; NULL: no candidate) join those of the
 * session. Versions: notes which Python and numpy made the inputs, once they are there. */
void tune_files_found(struct tune_session *session, const char *source);
void tune_files_versions(struct tune_session *session);

/* remember.c: the optimisation memory as a file, and what the loop does to it. */
#define TUNE_REWRITES "optimization_memory/rewrites.json" /* in a session's folder */
/* Its text, piece by piece, until fn returns false. */
typedef bool tune_piece_fn(void *data, struct str piece);
bool tune_memory_print(const struct tune_state *state, tune_piece_fn *fn, void *data) CC_MUST_USE;
void tune_export_memory(struct tune_session *session);
/* Writes it where the session has experiences and no such file. */
void tune_memory_mend(struct tune_session *session);
void tune_import_memory(struct tune_session *session);
/* The members that say what an experience of this session applies to. */
void tune_memory_applies_to(const struct tune_state *state, struct arena *arena,
                            struct tune_experience *item);
/* Expires what the attempt contradicts. */
void tune_memory_contradict(struct tune_session *session, int lane,
                            const struct tune_attempt *attempt);

/* ingest.c: puts a profile among the artefacts, on a worker thread. */
void tune_ingest_start(struct tune_session *session, int attempt, const char *path);
void tune_ingest_forget(struct tune_session *session);

#endif
