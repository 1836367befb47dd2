/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to profiles and sessions; two of them side by side. */
#ifndef HONE_CLI_QUERY_QUERY_H
#define HONE_CLI_QUERY_QUERY_H

#include "cli/kit/kit.h"

int cli_query(const struct cli *cli);
int cli_diff(const struct cli *cli);
int cli_profile(const struct cli *cli);

#endif
