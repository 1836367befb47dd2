/* SPDX-License-Identifier: Apache-2.0 */
/* The commands for hosts and clusters. */
#ifndef HONE_CLI_HOST_HOST_H
#define HONE_CLI_HOST_HOST_H

#include "cli/kit/kit.h"

int cli_host(const struct cli *cli);
int cli_conform(const struct cli *cli);
int cli_calibrate(const struct cli *cli);

/* Which hosts have constants of their own: a line for each, and where they are. Nothing where there
 * are none. */
void calibrate_print_hosts(struct buf *out);

/* Prints text of a host, made safe: "  NAME  found", wrapped at the terminal's edge and indented by
 * `indent`. */
void host_say(int indent, const char *text);

#endif
