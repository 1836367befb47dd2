/* SPDX-License-Identifier: Apache-2.0 */
/* What tests look at. Nobody else outside this room may include it. */
#ifndef HONE_LOOP_TESTING_H
#define HONE_LOOP_TESTING_H

#include "loop/loop.h"

/* Serves events until nothing is under way: no child, no one-shot timer, no job, nothing posted.
 * Repeating timers, watches and signals do not count. False when that took more than `limit_ms`, or
 * when loop_stop was called before. */
bool loop_run_until_idle(struct loop *loop, uint64_t limit_ms);

#endif
