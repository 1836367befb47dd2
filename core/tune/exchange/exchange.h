/* SPDX-License-Identifier: Apache-2.0 */
/* A session and other files: what is exported of it, what is taken over from other agents and
 * sessions. */
#ifndef HONE_TUNE_EXCHANGE_H
#define HONE_TUNE_EXCHANGE_H

#include "tune/session/session.h"
#include "tune/state/inner.h"

/* What an import took in, and a line "file:line: what is wrong" for each thing it did not. */
struct tune_import_report {
    size_t files, experiences, attempts;
    size_t fit, known;     /* of the experiences: apply to this task; of all: were there already */
    struct buf complaints; /* free with buf_free */
};
/* Takes over what other agents, or other sessions, learnt and tried: a file or a folder of theirs
 * (formats: foreign.h). Experiences come in as proposed, attempts to be read only. Adds to
 * *report. */
bool tune_session_import(struct tune_session *session, const char *path,
                         struct tune_import_report *report, struct err *err);
/* Writes a session's folder as a bundle that tells all and reproduces without hone's own files: see
 * bundle.c. `folder` must not exist or be empty. Runs nothing, needs no task. */
bool tune_bundle_write(const char *session, const char *folder, struct err *err);
/* The kernel and the reference that a session's folder is about: new strings, the latter may be
 * NULL. */
bool tune_session_about(const char *session, char **kernel, char **reference, struct err *err);

/* export.c: the derived tables and files; all of them when `attempt` is -1. */
void tune_export(struct tune_session *session, int attempt);
void tune_experiments_print(const struct tune_state *state, struct buf *out); /* JSON Lines */

/* remember.c: the optimisation memory as a file, and what the loop does to it. */
void tune_memory_print(const struct tune_state *state, struct buf *out); /* rewrites.json */
void tune_export_memory(struct tune_session *session);
void tune_import_memory(struct tune_session *session);
/* The members that say what an experience of this session applies to. */
void tune_memory_applies_to(const struct tune_state *state, struct arena *arena,
                            struct tune_experience *item);
/* Expires what the attempt contradicts. */
void tune_memory_contradict(struct tune_session *session, const struct tune_attempt *attempt);

/* ingest.c: puts a profile among the artefacts, on a worker thread. */
void tune_ingest_start(struct tune_session *session, int attempt, const char *path);
void tune_ingest_forget(struct tune_session *session);

#endif
