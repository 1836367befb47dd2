/* SPDX-License-Identifier: Apache-2.0 */
/* Private to task: arrays on their way from the kernel to Python. */
#ifndef HONE_TASK_SCRATCH_H
#define HONE_TASK_SCRATCH_H

#include "task/task.h"

/* Writes the array to a new file, in memory where there is room for it (/dev/shm), else in the
 * folder for temporary files. The path is a new string; NULL and *err on failure. */
char *task_scratch_write(const struct array *array, struct err *err) CC_MUST_USE;

#endif
