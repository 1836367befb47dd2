/* SPDX-License-Identifier: Apache-2.0 */
/* A session whose files were removed while a command used it. Private to cli. */
#ifndef HONE_CLI_SAVED_H
#define HONE_CLI_SAVED_H

#include "base/base.h"

struct tune_session;

/* Whether the session's files are gone. Then the session was written where its folder was, or else
 * among hone's own files. `said` says where to, and how to go on, or why it could not be written.
 * `task` is as on the command line. */
bool saved_elsewhere(struct tune_session *session, const char *task, struct buf *said);

#endif
