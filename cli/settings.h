/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration as a command sees it. */
#ifndef HONE_CLI_SETTINGS_H
#define HONE_CLI_SETTINGS_H

#include "cli/cli.h"

/* The user's file, that beside the task (a folder, a kernel file, the name of a seed, or NULL), the
 * environment. NULL and *err when one of them is wrong. */
struct config *settings_load(const char *task, struct err *err) CC_MUST_USE;
/* The configuration reference: every section and setting, for the manual page. */
void settings_print_man(struct buf *out, void (*add)(struct buf *out, const char *text));

#endif
