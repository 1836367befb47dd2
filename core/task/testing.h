/* SPDX-License-Identifier: Apache-2.0 */
/* What tests look at. Nobody else outside this room may include it. */
#ifndef HONE_TASK_TESTING_H
#define HONE_TASK_TESTING_H

#include "task/closure.h"

/* The file of that name; NULL: there is none. */
const struct task_file *task_closure_named(const struct task_closure *closure, const char *name);

#endif
