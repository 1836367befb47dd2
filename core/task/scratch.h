/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays on their way from the kernel to Python. Private to this folder. */
#ifndef HONE_TASK_SCRATCH_H
#define HONE_TASK_SCRATCH_H

#include "task/task.h"

/* Writes the array to a new file in `folder`. With NULL it goes into memory (/dev/shm) if there is
 * room, otherwise into the folder for temporary files. Returns the path as a new string; NULL and
 * *err on failure. */
char *task_scratch_write(const struct array *array, const char *folder,
                         struct err *err) CC_MUST_USE;
/* Removes what this process left in `folder`, or in the usual ones (NULL). */
void task_scratch_forget(const char *folder);

#endif
