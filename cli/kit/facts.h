/* SPDX-License-Identifier: Apache-2.0 */
/* What help and manual page say besides commands and settings. Each is a table that ends with a
 * NULL name. Private to cli. */
#ifndef HONE_CLI_FACTS_H
#define HONE_CLI_FACTS_H

struct cli_fact {
    const char *name, *text;
};
extern const struct cli_fact cli_statuses[];  /* "0", and what it means in a few words */
extern const struct cli_fact cli_variables[]; /* of the environment */
extern const struct cli_fact cli_files[];     /* also in doc/files.md */
extern const struct cli_fact cli_examples[];  /* a command, and what it does */

#endif
