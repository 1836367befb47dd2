/* SPDX-License-Identifier: Apache-2.0 */
/* hone run. */
#ifndef HONE_CLI_RUN_H
#define HONE_CLI_RUN_H

#include "cli/kit/kit.h"

int cli_run(const struct cli *cli);

#endif
