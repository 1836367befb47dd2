/* SPDX-License-Identifier: Apache-2.0 */
/* The commands for hosts and clusters. */
#ifndef HONE_CLI_HOST_HOST_H
#define HONE_CLI_HOST_HOST_H

#include "cli/kit/kit.h"

int cli_host(const struct cli *cli);
int cli_conform(const struct cli *cli);
int cli_calibrate(const struct cli *cli);

/* Prints a line for each host that has constants of its own, with where they are. Prints nothing
 * where there are none. */
void calibrate_print_hosts(struct buf *out);

/* Prints text of a host, made safe: "  NAME  found", wrapped at the terminal's edge and indented by
 * `indent`. */
void host_say(int indent, const char *text);

#endif
