/* SPDX-License-Identifier: Apache-2.0 */
/* What tests look through, for nobody else outside this room. */
#ifndef HONE_CLI_TESTING_H
#define HONE_CLI_TESTING_H

#include "cli/cli.h"

/* The first half of cli_main: true when cli->command is to be run. Else help was printed or a
 * complaint made, and *status is the exit status. `cli` starts empty; cli_fini lets go of what it
 * holds. */
bool cli_read(struct cli *cli, int argc, char **argv, int *status) CC_MUST_USE;
void cli_fini(struct cli *cli);

#endif
