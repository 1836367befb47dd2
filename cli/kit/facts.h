/* SPDX-License-Identifier: Apache-2.0 */
/* Private to cli: what help and manual page say beside commands and settings, each as a table that
 * ends with a NULL name. */
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
