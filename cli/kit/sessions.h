/* SPDX-License-Identifier: Apache-2.0 */
/* Which session an argument means. Private to cli. */
#ifndef HONE_CLI_SESSIONS_H
#define HONE_CLI_SESSIONS_H

#include "base/base.h"

/* The folder of a task's session, or the session's folder itself: a new string. NULL and *err
 * (usage) when there is none. */
char *cli_session_of(const char *path, struct err *err) CC_MUST_USE;
/* Takes "#3" off the end of "TASK#3" and returns 3; -1: there is none, or a file has that name. */
int cli_attempt_split(char *name) CC_MUST_USE;

#endif
