/* SPDX-License-Identifier: Apache-2.0 */
/* What Python and a reference have to see behind a wall. Private to this folder. */
#ifndef HONE_TASK_ENCLOSURE_H
#define HONE_TASK_ENCLOSURE_H

#include "task/task.h"

/* Shows where a Python program on PATH has its libraries, which are the folders that its links lead
 * through. Also shows what PYTHONPATH and the user's own site-packages add. */
void enclosure_add_python(struct wall *wall, const char *program);

/* Whether there is such a program. */
bool enclosure_has_program(const char *program);

#endif
