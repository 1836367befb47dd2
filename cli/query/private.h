/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this room share. */
#ifndef HONE_CLI_QUERY_PRIVATE_H
#define HONE_CLI_QUERY_PRIVATE_H

#include <stdio.h>

#include "cli/kit/kit.h"
#include "query/query.h"
#include "runner/runner.h"

/* ---- what is asked about -------------------------------------------------------------------- */

/* A kernel, or an attempt of a session. What of it is needed is found when it is needed. */
struct subject {
    const struct cli *cli;
    char *name;    /* as it was given, without #N */
    char *session; /* its folder; NULL: there is none */
    int attempt;   /* -1: not given */
    struct runner_timed timed;
};
/* Finds out what `text` names: a kernel, a task, a session, each with #N behind it or not. False
 * and *err (usage) when it names nothing, or an attempt of no session. */
bool subject_open(struct subject *subject, const struct cli *cli, const char *text,
                  struct err *err) CC_MUST_USE;
void subject_close(struct subject *subject);
/* Loads a part of it into a query: a query_load_fn. */
bool subject_load(void *data, struct query *query, enum query_part part, struct err *err);

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

#endif
