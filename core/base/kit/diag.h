/* SPDX-License-Identifier: Apache-2.0 */
/* Diagnostics of a kernel's source, such as a compiler prints. */
#ifndef HONE_BASE_DIAG_H
#define HONE_BASE_DIAG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/kit/cc.h"
#include "base/kit/mem.h"
#include "base/kit/str.h"

enum diag_severity { DIAG_ERROR, DIAG_WARNING, DIAG_NOTE };

/* One finding. Lines and columns count from 1 (columns in bytes); 0 means unknown. The message says
 * what was found, what is allowed and, if something can be done, what to do. */
struct diag {
    enum diag_severity severity;
    char code[64];    /* a documented code or the name of an error; "" when there is none */
    char cause[12];   /* whose error: "user", "internal", "crash", "trace", "memory", "run"; ""
                       * unknown */
    const char *file; /* as the user named it; the list owns it */
    int line, column, end_line, end_column;
    char *message; /* the list owns it */
};

/* A list of findings. {0} is the empty one. */
struct diag_list {
    VEC(struct diag) all;
    size_t errors, warnings;
    VEC(char *) files;
};
void diag_free(struct diag_list *list);
/* Adds a finding and returns it, so that the caller can set where its span ends. */
struct diag *diag_add(struct diag_list *list, enum diag_severity severity, const char *code,
                      const char *file, int line, int column, const char *format, ...)
    CC_PRINTF(7, 8);
/* Adds a diagnostic of another list. */
void diag_copy(struct diag_list *list, const struct diag *diag);
/* Takes out the findings from number `from` on. */
void diag_forget(struct diag_list *list, size_t from);
/* Prints "file:line:col: error: message [code]" as compilers do, without a line end. */
void diag_print(const struct diag *diag, struct buf *out);
const char *diag_severity_name(enum diag_severity severity);

#endif
