/* SPDX-License-Identifier: Apache-2.0 */
/* A Python that runs a program of hone's beside a piece of work, and talks with it in messages. It
 * is waited for: all of it happens on the thread that calls. */
#ifndef HONE_TASK_TRACER_H
#define HONE_TASK_TRACER_H

#include "base/base.h"

struct task_tracer;
struct task_tracer_limits {
    double time_s;               /* from start to stop; 0: TASK_TRACER_S */
    uint64_t memory_bytes;       /* of address space; 0: none */
    const volatile int *cancel;  /* non-zero ends it; NULL */
    const char *const *folders;  /* that its programs may read; ends with NULL; NULL: none */
    const char *python;          /* which one; NULL: as below */
    const char *level;           /* of its wall, as in task_walling; "inside": this process is behind
                                  * one, and it gets a narrower one if the system has it */
};
#define TASK_TRACER_S 120.0
/* Nothing is started. Limits are copied, but for the folders, which it needs until it starts. */
struct task_tracer *task_tracer_new(const struct task_tracer_limits *limits) CC_MUST_USE;
/* Starts HONE_PYTHON, else the python3 that references use, and gives it the program's text, which
 * finds its messages on standard input and output. False and *err (environment). */
bool task_tracer_start(struct task_tracer *tracer, struct str program, struct err *err);
/* Sends a message, unless it is empty, and waits for one, which is good until the next call. False
 * and *err (cancelled, or else kernel) when there comes none: the program ended, and how, or a limit
 * ended it. Afterwards there is nobody to talk to. */
bool task_tracer_exchange(struct task_tracer *tracer, struct str message, struct str *next,
                          struct err *err);
/* Ends the program. It may be started again. */
void task_tracer_stop(struct task_tracer *tracer);
void task_tracer_free(struct task_tracer *tracer); /* accepts NULL */

#endif
