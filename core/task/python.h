/* SPDX-License-Identifier: Apache-2.0 */
/* A Python child with the harness in it, found and started on demand. Private to this folder. */
#ifndef HONE_TASK_PYTHON_H
#define HONE_TASK_PYTHON_H

#include "task/task.h"

/* What Python runs, in one file: the harness, what works without numbers, what records, and the
 * start. It is part of the program. */
struct str python_program(void);

struct python;
struct python_callbacks {
    void (*on_ready)(void *data);
    /* Gets a line of JSON from the harness. */
    void (*on_answer)(void *data, struct str json);
    /* No Python could be used, or the present one ended. python_start may be called again. */
    void (*on_end)(void *data, const struct err *err);
    void *data;
};
/* `wall` as in task.h, copied. */
struct python *python_new(struct loop *loop, const char *reference_path,
                          const struct task_reference_limits *limits,
                          const struct python_callbacks *callbacks);
/* Of the Pythons that would be tried and are there, the n-th from 0; NULL: there are fewer. A new
 * string. */
char *python_choice(size_t n) CC_MUST_USE;
/* Shows a wall every Python that may be tried. */
void python_add_places(struct wall *wall);
void python_free(struct python *python); /* accepts NULL; no callbacks come after it */
/* Starts it if it does not run. on_ready or on_end follows, but never before this returns. */
void python_start(struct python *python);
const char *python_found(const struct python *python);
bool python_is_ready(const struct python *python);
void python_send(struct python *python, struct str line);
/* Ends the child without a callback. */
void python_stop(struct python *python);

#endif
