/* SPDX-License-Identifier: Apache-2.0 */
/* Private to core/runner. */
#ifndef HONE_RUNNER_PRIVATE_H
#define HONE_RUNNER_PRIVATE_H

#include "device/device.h"
#include "runner/runner.h"

/* walled.c: a wall, its level chosen, behind which a job finds what it needs; `self` is hone's own
 * program. NULL and *err. */
struct wall *runner_wall(const struct runner_job *job, const char *self,
                         struct err *err) CC_MUST_USE;
/* client.c: the limit of its address space; 0: none. */
uint64_t runner_memory_for(const struct runner_job *job);
/* "XDG_CACHE_HOME=...", because behind a wall HOME is another folder. To be freed. */
char *runner_cache_variable(void) CC_MUST_USE;

#endif
