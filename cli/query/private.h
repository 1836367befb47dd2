/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this room share. */
#ifndef HONE_CLI_QUERY_PRIVATE_H
#define HONE_CLI_QUERY_PRIVATE_H

#include <stdio.h>

#include "cli/kit/kit.h"
#include "query/query.h"
#include "runner/runner.h"
#include "tune/tune.h"

/* ---- what is asked about -------------------------------------------------------------------- */

/* A kernel, an attempt of a session, or what a device's profiler wrote: a file, a folder. What of
 * it is needed is found when it is needed. */
struct subject {
    const struct cli *cli;
    char *name;                        /* as it was given, without #N */
    char *session;                     /* its folder; NULL: there is none */
    int attempt;                       /* -1: not given, until it is timed */
    bool is_file;                      /* the name is that of a profile */
    bool is_tables;                    /* tables in Parquet are below this folder: */
    char *tables;                      /* NULL: not looked at, or none */
    char *source;                      /* the kernel's text, once it is timed */
    struct tune_session_kernel kernel; /* of the session, once it was looked for */
    struct runner_timed timed;
};
/* Finds out what `text` names: a kernel, a task, a session, each with #N behind it or not. False
 * and *err (usage) when it names nothing, or an attempt of no session. */
bool subject_open(struct subject *subject, const struct cli *cli, const char *text,
                  struct err *err) CC_MUST_USE;
void subject_close(struct subject *subject);
/* Times it, once. Messages about what is wrong with the command line are on stderr when this is
 * false without a text in *err. */
bool subject_time(struct subject *subject, struct err *err) CC_MUST_USE;
/* Prints what it is: "softmax", "attempt 3 of softmax". */
void subject_print(const struct subject *subject, struct buf *out);
/* Loads a part of it into a query: a query_load_fn. */
bool subject_load(void *data, struct query *query, enum query_part part, struct err *err);

/* ---- changes -------------------------------------------------------------------------------- */

/* What changes would bring: "all", those that promise most, or one, "12:vector" (device_change's
 * words), as text or JSON on stdout. */
int what_if_print(const struct cli *cli, const char *asked, bool json);

/* ---- answers -------------------------------------------------------------------------------- */

enum print_how { PRINT_TEXT, PRINT_CSV, PRINT_JSON };
/* Prints the rows of an answer as they come; text is kept until the end, for its columns. */
struct printer {
    FILE *to;
    enum print_how how;
    size_t most, rows; /* rows to print, 0: all; rows so far */
    bool cut;          /* there were more */
    size_t columns;
    VEC(char *) cells; /* of text: names, then rows */
    VEC(bool) numbers; /* per column: it has nothing but numbers */
    struct buf line;
};
bool printer_row(void *data, const struct query_answer *row); /* a query_row_fn */
/* Ends the answer and frees the printer. False when it could not be written. */
bool printer_end(struct printer *printer, struct err *err) CC_MUST_USE;

/* ---- two of them ---------------------------------------------------------------------------- */

/* A line of the one kernel and what became of it in the other, with its part of the latency: the
 * parts of all lines sum to it. */
struct diff_line {
    const char *file;                      /* NULL: the kernel itself */
    int line[2];                           /* from 1; 0: it is not there */
    double us[2];                          /* its part of the latency, along the critical path */
    double engine_ns[2][NKI_ENGINE_COUNT]; /* how long engines are busy with it */
    uint64_t times[2];                     /* instructions */
    struct str text;                       /* of the newer side that has it */
};
struct comparison {
    const struct subject *sides[2];
    struct tune_hunk *hunks; /* of the source; free */
    size_t hunk_count;
    VEC(struct diff_line) lines; /* those that changed most first */
};
void comparison_make(struct comparison *comparison, const struct subject *before,
                     const struct subject *after);
void comparison_free(struct comparison *comparison);
/* How long the engine that is busiest with the line is so, in µs, and its name. */
double comparison_line_busy(const struct diff_line *line, int side, const char **engine);
/* The engines in the order they are shown; NULL past the last. How long each is busy, in µs. */
const char *comparison_engine(size_t index);
double comparison_busy(const struct comparison *comparison, int side, const char *engine);
/* The metric of that name afterwards; NULL: there is none. */
const struct device_metric *comparison_after(const struct comparison *comparison,
                                             const char *metric);
void comparison_print_json(const struct comparison *comparison);
/* The unified diff of the sources, as text without a line end that is not theirs. */
void comparison_diff(const struct comparison *comparison, struct buf *out);

/* What limits a profile, in the words of screens: "Scalar and Vector alike". */
void profile_limited_print(const struct device_profile *profile, struct buf *out);

#endif
