/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of cli/mcp share. Private to this folder. */
#ifndef HONE_CLI_MCP_PRIVATE_H
#define HONE_CLI_MCP_PRIVATE_H

#include "cli/mcp/mcp.h"

/* print.c: what a client's configuration needs, to stdout. */
int mcp_config_print(const struct cli *cli, const char *client);

#endif
