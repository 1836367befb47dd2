/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that look something up: codes and words, names of NKI, skills for agents. */
#ifndef HONE_CLI_WORDS_WORDS_H
#define HONE_CLI_WORDS_WORDS_H

#include "cli/kit/kit.h"

int cli_explain(const struct cli *cli);
int cli_docs(const struct cli *cli);
int cli_skills(const struct cli *cli);

#endif
