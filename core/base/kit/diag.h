/* SPDX-License-Identifier: Apache-2.0 */
/* Diagnostics about a kernel's source: what a compiler prints. */
#ifndef HONE_BASE_DIAG_H
#define HONE_BASE_DIAG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/kit/cc.h"
#include "base/kit/mem.h"
#include "base/kit/str.h"

enum diag_severity { DIAG_ERROR, DIAG_WARNING, DIAG_NOTE };

/* One finding. Lines and columns count from 1 (columns in bytes); 0 means unknown.
 * The message says what was found, what is allowed and, where there is one, what to do. */
struct diag {
    enum diag_severity severity;
    char code[64];    /* documented code or error name, "" when there is none */
    char cause[12];   /* whose error: "user", "internal", "crash", "trace", "memory", "run";
                       * "" not told */
    const char *file; /* as the user named it; owned by the list */
    int line, column, end_line, end_column;
    char *message; /* owned by the list */
};

/* A list of findings. {0} is the empty one. */
struct diag_list {
    VEC(struct diag) all;
    size_t errors, warnings;
    VEC(char *) files;
};
void diag_free(struct diag_list *list);
/* Adds a finding and returns it, so that the caller can set the end of the span. */
struct diag *diag_add(struct diag_list *list, enum diag_severity severity, const char *code,
                      const char *file, int line, int column, const char *format, ...)
    CC_PRINTF(7, 8);
/* "file:line:col: error: message [code]", as compilers print it, without a line end. */
void diag_print(const struct diag *diag, struct buf *out);
const char *diag_severity_name(enum diag_severity severity);

#endif
