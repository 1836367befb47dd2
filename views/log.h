/* SPDX-License-Identifier: Apache-2.0 */
/* The session's log as rows of a list. */
#ifndef HONE_VIEWS_LOG_H
#define HONE_VIEWS_LOG_H

#include "tune/tune.h"

struct filter;

/* A row: a line of the log, or a piece of one that is broken between words. */
struct log_row {
    int log, from, len; /* index into state.logs; bytes of its text */
    int times;          /* that it was said; of the first piece */
};
/* seq -1: to be made anew. */
struct log_rows {
    VEC(struct log_row) all;
    int64_t seq, gone, seen; /* lines ever: dropped then, looked at */
    int cols;
};
/* Which lines pass. */
struct log_filter {
    enum tune_level level; /* the least */
    const char *phase;     /* NULL: any */
    int attempt;           /* -1: any */
    const struct filter *pattern;
};
/* Brings the rows up to date; `cols`: that a text has. Warnings and errors are broken to fit. */
void log_rows_update(struct log_rows *rows, const struct tune_state *state,
                     const struct log_filter *filter, int cols);
/* The first error among the findings that the log ends with; -1: it ends with none. */
int log_rows_cause(const struct log_rows *rows, const struct tune_state *state);

#endif
