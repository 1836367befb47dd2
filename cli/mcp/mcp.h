/* SPDX-License-Identifier: Apache-2.0 */
/* `hone mcp`: a session for agents, over standard input and output. */
#ifndef HONE_CLI_MCP_H
#define HONE_CLI_MCP_H

#include "cli/kit/kit.h"

int cli_mcp(const struct cli *cli);

#endif
