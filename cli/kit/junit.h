/* SPDX-License-Identifier: Apache-2.0 */
/* What a command found, as JUnit XML, which CI systems read. Private to cli. */
#ifndef HONE_CLI_JUNIT_H
#define HONE_CLI_JUNIT_H

#include "base/base.h"

/* How a case came out. An error is not the kernel's: it comes from a host, the disk or a
 * reference. */
enum junit_outcome { JUNIT_PASSED, JUNIT_FAILED, JUNIT_SKIPPED, JUNIT_ERROR };

struct junit {
    const char *suite; /* "hone sim" */
    const char *place; /* the kernel's path: the class of every case */
    double seconds;    /* of all cases */
    struct buf properties, cases;
    int counts[JUNIT_ERROR + 1];
};

/* Adds a case. `why` is one sentence, or "" or NULL where there is nothing to say. Texts are
 * copied. */
void junit_add(struct junit *junit, const char *name, enum junit_outcome outcome, const char *why);
/* Writes the whole file. False and *err (environment) when it cannot be written. */
bool junit_write(const struct junit *junit, const char *file, struct err *err) CC_MUST_USE;
void junit_fini(struct junit *junit);

struct runner_result;
/* Adds the cases compiles, correct, one for each seed, and credible. */
void junit_add_result(struct junit *junit, const struct runner_result *result);
struct diag_list;
/* Adds a case for each error that was found, or one that says there are none. */
void junit_add_diags(struct junit *junit, const struct diag_list *diags);

#endif
