/* SPDX-License-Identifier: Apache-2.0 */
/* What the subcommands of `hone host` share. Private to cli. */
#ifndef HONE_CLI_HOST_H
#define HONE_CLI_HOST_H

#include "cli/reach.h"

int host_doctor(const struct cli *cli);
int host_setup(const struct cli *cli);
/* conform.c */
int host_conform(const struct cli *cli);
/* host_list.c */
int host_list(const struct cli *cli);
/* Prints text of a host, made safe: "  NAME  found", wrapped at the terminal's edge for
 * `indent`. */
void host_say(int indent, const char *text);

#endif
