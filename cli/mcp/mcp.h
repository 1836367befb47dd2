/* SPDX-License-Identifier: Apache-2.0 */
/* `hone mcp`: a session for agents, over standard input and output; and agents that join a
 * workbench. */
#ifndef HONE_CLI_MCP_H
#define HONE_CLI_MCP_H

#include "cli/kit/kit.h"

int cli_mcp(const struct cli *cli);

/* host.c: agents may join the session of this process, which a person holds. NULL and *err when
 * they cannot. To be closed before the session. */
struct loop;
struct tune_session;
struct mcp_host;
struct mcp_host *mcp_host_open(struct loop *loop, struct tune_session *session,
                               const struct config *config, struct err *err) CC_MUST_USE;
void mcp_host_changed(struct mcp_host *host); /* the session did; accepts NULL */
void mcp_host_close(struct mcp_host *host);   /* accepts NULL */
/* A hone mcp that holds the session of a task, or of the folder `session` (NULL: the task's own),
 * gives it to this process: waits until that is done. No other hone mcp takes it before the wish
 * ends, which is when agents can join, or when this process ends. NULL: there is no session yet. */
struct mcp_wish;
struct mcp_wish *mcp_host_take(const char *task, const char *session) CC_MUST_USE;
/* The parts of it: the wish for the session in a folder; asking who holds it, who may be about to
 * listen. Whether it was given up. */
struct mcp_wish *mcp_wish_begin(const char *folder) CC_MUST_USE;
bool mcp_host_ask(const char *folder);
void mcp_wish_end(struct mcp_wish *wish); /* accepts NULL */

#endif
