/* SPDX-License-Identifier: Apache-2.0 */
/* Lines for a person at a terminal. */
#ifndef HONE_CLI_KIT_SAY_H
#define HONE_CLI_KIT_SAY_H

#include <stdarg.h>
#include <stdio.h>

#include "base/base.h"

/* Prints like fprintf, with what the arguments bring made visible: names of files, of hosts, texts
 * of others. Only line ends that stand in the format itself act on the terminal. */
void cli_say(FILE *to, const char *format, ...) CC_PRINTF(2, 3);

#endif
