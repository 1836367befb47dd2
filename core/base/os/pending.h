/* SPDX-License-Identifier: Apache-2.0 */
/* What this process makes in a folder of a person's choice, into which no later process would look
 * for what a killed one left. So it is noted in the user's state folder. */
#ifndef HONE_BASE_OS_PENDING_H
#define HONE_BASE_OS_PENDING_H

#include "base/kit/kit.h"

/* Notes that something is made that will get the place `path`; until then it has the path below,
 * beside that place. Should this process be killed, the first os_sweep_pending afterwards removes
 * it, whatever that process was started for, and the empty folders that were made for it. Where
 * nothing can be noted it stays until os_sweep looks into its folder. Undo does the same at once;
 * false: it is still there. End: it has its place, or is gone; NULL is accepted. */
struct os_pending;
struct os_pending *os_pending_begin(const char *path) CC_MUST_USE;
const char *os_pending_path(const struct os_pending *pending);
bool os_pending_undo(const struct os_pending *pending);
void os_pending_end(struct os_pending *pending);
void os_sweep_pending(void);

#endif
