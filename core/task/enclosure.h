/* SPDX-License-Identifier: Apache-2.0 */
/* Private to task: what Python and a reference have to see behind a wall. */
#ifndef HONE_TASK_ENCLOSURE_H
#define HONE_TASK_ENCLOSURE_H

#include "task/task.h"

/* Adds where a Python program that is looked up on PATH has its libraries: the folders that its
 * links lead through. Also those that PYTHONPATH and the user's own site-packages add. */
void enclosure_add_python(struct wall *wall, const char *program);

/* Whether there is such a program. */
bool enclosure_has_program(const char *program);

#endif
