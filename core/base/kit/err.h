/* SPDX-License-Identifier: Apache-2.0 */
/* Expected failures: a function returns false and fills the caller's struct err. */
#ifndef HONE_BASE_ERR_H
#define HONE_BASE_ERR_H

#include <stdbool.h>

#include "base/kit/cc.h"

/* Whose fault it is. The exit status of a command follows from it (err_exit_status). */
enum err_kind {
    ERR_NONE,
    ERR_KERNEL,      /* the kernel failed: compile, correctness; exit 1 */
    ERR_USAGE,       /* what the user typed or configured; exit 2 */
    ERR_ENVIRONMENT, /* host, model, disk, python; exit 3 */
    ERR_DAMAGED,     /* a session on disk is not as hone wrote it, or is gone; exit 4 */
    ERR_CANCELLED,   /* the user or a budget stopped it */
    ERR_UNKNOWN,     /* a process ended without saying why; exit 3 */
    ERR_KINDS
};

/* The message is one or two sentences for the user: what happened, where, and what to do. */
struct err {
    enum err_kind kind;
    char text[512];
};

/* Fills *err (which may be NULL) and returns false, so that `return err_set(...)` reads well. */
bool err_set(struct err *err, enum err_kind kind, const char *format, ...) CC_PRINTF(3, 4);
/* Puts "what: " in front of the message. Returns false. */
bool err_prefix(struct err *err, const char *format, ...) CC_PRINTF(2, 3);
/* The word that protocols and JSON have: "kernel", "environment", "unknown"; "none" when there is
 * no error. */
const char *err_kind_name(enum err_kind kind);
/* Whether the same may well succeed when it is tried again, because nothing was found out about
 * what was tried. */
bool err_may_pass(const struct err *err);
int err_exit_status(const struct err *err);

#endif
