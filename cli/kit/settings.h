/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration as a command sees it. */
#ifndef HONE_CLI_SETTINGS_H
#define HONE_CLI_SETTINGS_H

#include "cli/kit/kit.h"

/* Loads the user's file, the file beside the task (a folder, a kernel file, the name of a seed, or
 * NULL), and the environment. NULL and *err when one of them is wrong. */
struct config *settings_load(const char *task, struct err *err) CC_MUST_USE;

#endif
