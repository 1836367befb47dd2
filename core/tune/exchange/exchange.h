/* SPDX-License-Identifier: Apache-2.0 */
/* A session and other files: what is exported of it, what is taken over from other agents and
 * sessions. */
#ifndef HONE_TUNE_EXCHANGE_H
#define HONE_TUNE_EXCHANGE_H

#include "store/store.h"
#include "tune/session/session.h"

/* What an import took in, and a line "file:line: what is wrong" for each thing it did not. */
struct tune_import_report {
    size_t files, experiences, attempts;
    size_t fit, known;     /* of the experiences: apply to this task; of all: were there already */
    size_t altered;        /* files of exports that are not as they were exported */
    struct buf complaints; /* free with buf_free */
};
/* Takes over what other agents or other sessions learnt and tried, from a file or a folder
 * (formats: tune/foreign). Experiences come in as proposed, attempts only to be read. What is from
 * an export of hone that was changed since (SHA256SUMS) says so in its source. Adds to *report. */
bool tune_session_import(struct tune_session *session, const char *path,
                         struct tune_import_report *report, struct err *err);
/* Writes a session's folder as a bundle that tells all, and that reproduces without hone's own
 * files: see bundle.c. `folder` must not exist or be empty; it appears whole or not at all. The
 * only thing that runs is `evaluate` (NULL: nothing): it is called with the task as it will be
 * given away, before the folder appears. False and *err of it end the export. */
struct tune_bundle_made {
    const char *kernel, *reference; /* files; the latter NULL: none */
    const char *function, *device;
    const char *release;  /* of NKI that the kernel is for; NULL: the newest */
    const char *tracing;  /* who evaluates it; NULL: hone */
    int lnc;              /* physical cores of its launches; 0: as the kernel's file does */
    int64_t seed;         /* the first of the session's */
    double tolerance;     /* 0: not known */
    bool holds;           /* the kernel is correct in the session, by the device model's own run */
    bool is_inside_model; /* which the device model cannot run */
    const char *lacks;    /* a file of the task that is gone or changed; NULL: it is whole */
};
typedef bool tune_bundle_fn(void *data, const struct tune_bundle_made *made, struct err *err);
bool tune_bundle_write(const char *session, const char *folder, tune_bundle_fn *evaluate,
                       void *data, struct err *err);
/* Before a kernel is named to a person: its checkpoint is what the log says. */
void tune_checkpoint_ensure(struct tune_session *session, int attempt);
/* Goes through a whole session on disk: what store finds, and whether checkpoints and
 * experiments.jsonl agree with the log. Changes nothing. */
bool tune_session_check(const char *session, store_check_fn *fn, void *data, struct err *err);
/* Saves what is true of a damaged session into a new folder, which must not exist. Events behind
 * the end of the new log go to behind/events.jsonl in it, with the kernels of these events in files
 * beside. */
struct tune_repaired {
    struct store_repaired store;
    size_t kernels;
    size_t missing;   /* artefacts that the new log names, and nothing has any more; */
    struct buf names; /* the first of them; free it with buf_free */
};
bool tune_session_repair(const char *session, const char *to, struct tune_repaired *done,
                         struct err *err);
/* Gets a row of a table: "attempts", "samples", "seeds", "metrics", "lines", whose columns are in
 * store/tables.c, and "rounds", whose are in query/tables.def. False ends it. */
typedef bool tune_row_fn(void *data, const char *table, const struct store_cell *cells,
                         size_t count, struct err *err);
/* Makes the rows of a session from its log, whatever the tables in session.db say, of the tables
 * that are wanted (NULL: all). False and *err when there is no session; ERR_DAMAGED when the log is
 * not as it was written: rows that came before are then not all. */
typedef bool tune_wants_fn(void *data, const char *table);
bool tune_session_rows(const char *session, tune_wants_fn *wants, tune_row_fn *put, void *data,
                       struct err *err) CC_MUST_USE;
/* The kernel and the reference that a session's folder is about: new strings, the latter may be
 * NULL. */
bool tune_session_about(const char *session, char **kernel, char **reference, struct err *err);
/* The function that a session tunes as its kernel: a new string; NULL: it was told none, or it
 * cannot be read. */
char *tune_session_function(const char *session) CC_MUST_USE;
/* An attempt of a session and what it is evaluated with, for questions to its profile: new strings,
 * NULL where the session does not say. */
struct tune_session_kernel {
    int attempt;
    char *source, *kernel, *reference; /* the text; the files that it is evaluated with */
    char *function, *device, *release, *tracing;
    char *measured; /* hash of the profile that a device gave; NULL: none did */
    int lnc;
    bool is_pessimistic;
};
/* `attempt` -1: the best one, or the first kernel where there is none. Usage error when there is no
 * such attempt. Free it with tune_session_kernel_free. */
bool tune_session_kernel(const char *session, int attempt, struct tune_session_kernel *found,
                         struct err *err);
void tune_session_kernel_free(struct tune_session_kernel *found);

#endif
