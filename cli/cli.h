/* SPDX-License-Identifier: Apache-2.0 */
/* The command line: one table of commands and options. Parsing, help, the manual page and shell
 * completion are made from it. A command is one row in commands.c and one function. */
#ifndef HONE_CLI_CLI_H
#define HONE_CLI_CLI_H

#include "cli/host/host.h"
#include "cli/kit/kit.h"
#include "cli/mcp/mcp.h"
#include "cli/person/person.h"
#include "cli/query/query.h"
#include "cli/words/words.h"
#include "cli/run/run.h"

extern const struct cli_command cli_commands[];

/* The row of that name, or NULL. */
const struct cli_command *cli_find(const char *name);

/* The whole program: parses, runs the command, and returns the exit status. */
int cli_main(int argc, char **argv);
/* ---- printed from the table ---------------------------------------------------------------- */

void cli_print_help(const struct cli_command *command, struct buf *out); /* NULL: all of hone */
void cli_print_man(struct buf *out);
void cli_print_version(struct buf *out);
/* Prints the configuration reference for the manual page: every section and setting. */
void settings_print_man(struct buf *out, void (*add)(struct buf *out, const char *text));

/* "321 MB" */
void cli_print_bytes(double bytes, struct buf *out);

/* ---- the commands of this folder ------------------------------------------------------------ */

int cli_workbench(const struct cli *cli);
int cli_new(const struct cli *cli);
int cli_sim(const struct cli *cli);
int cli_check(const struct cli *cli);
int cli_lift(const struct cli *cli);
int cli_migrate(const struct cli *cli);
int cli_sweep(const struct cli *cli);
int cli_model(const struct cli *cli);
int cli_config(const struct cli *cli);
int cli_clean(const struct cli *cli);
int cli_import(const struct cli *cli);
int cli_export(const struct cli *cli);
int cli_session(const struct cli *cli);
int cli_help(const struct cli *cli);
int cli_completion(const struct cli *cli);
int cli_runner(const struct cli *cli);

#endif
