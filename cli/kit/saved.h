/* SPDX-License-Identifier: Apache-2.0 */
/* Private to cli: a session that was taken away under a command. */
#ifndef HONE_CLI_SAVED_H
#define HONE_CLI_SAVED_H

#include "base/base.h"

struct tune_session;

/* Whether the session's files are gone. Then it was written where its folder was, else among hone's
 * own files, and `said` tells where to and how to go on, or why it could not be. `task`: as the
 * command line has it. */
bool saved_elsewhere(struct tune_session *session, const char *task, struct buf *said);

#endif
