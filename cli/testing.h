/* SPDX-License-Identifier: Apache-2.0 */
/* What tests look at. Nobody else outside this room may include it. */
#ifndef HONE_CLI_TESTING_H
#define HONE_CLI_TESTING_H

#include "cli/cli.h"

/* The first half of cli_main. True when cli->command is to be run. Otherwise help or a complaint
 * was printed, and *status is the exit status. `cli` starts empty; cli_fini frees what it holds. */
bool cli_read(struct cli *cli, int argc, char **argv, int *status) CC_MUST_USE;
void cli_fini(struct cli *cli);

#endif
