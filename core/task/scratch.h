/* SPDX-License-Identifier: Apache-2.0 */
/* Private to task: arrays on their way from the kernel to Python. */
#ifndef HONE_TASK_SCRATCH_H
#define HONE_TASK_SCRATCH_H

#include "task/task.h"

/* Writes the array to a new file in `folder`; NULL: in memory where there is room for it
 * (/dev/shm), else in the folder for temporary files. The path is a new string; NULL and *err on
 * failure. */
char *task_scratch_write(const struct array *array, const char *folder,
                         struct err *err) CC_MUST_USE;
/* Removes what this process left in `folder`, or in the usual ones (NULL). */
void task_scratch_forget(const char *folder);

#endif
