/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HONE_CLI_WORDS_PRIVATE_H
#define HONE_CLI_WORDS_PRIVATE_H

/* Prints the tables of doc/hardware.md. */
void cli_print_hardware(void);

#endif
