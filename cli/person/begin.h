/* SPDX-License-Identifier: Apache-2.0 */
/* Has hone new write a task while the event loop keeps running. */
#ifndef HONE_CLI_PERSON_BEGIN_H
#define HONE_CLI_PERSON_BEGIN_H

#include "base/base.h"
#include "loop/loop.h"

struct begin;
/* The task's folder, or why there is none: what hone new said, without escapes. With a skeleton
 * both are there. */
typedef void begin_fn(void *data, const char *folder, const char *why);

/* Starts `hone new`. `folder` NULL: the reference's own where it is called reference.py, else a
 * folder beside it with its name. NULL and *err when it cannot be started. */
struct begin *begin_start(struct loop *loop, const char *reference, const char *folder,
                          begin_fn *done, void *data, struct err *err) CC_MUST_USE;
/* Ends it; `done` is not called any more. Accepts NULL. */
void begin_free(struct begin *begin);

#endif
