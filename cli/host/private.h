/* SPDX-License-Identifier: Apache-2.0 */
/* What the subcommands of `hone host` share. */
#ifndef HONE_CLI_HOST_PRIVATE_H
#define HONE_CLI_HOST_PRIVATE_H

#include "cli/host/host.h"
#include "cli/host/reach.h"

/* doctor.c */
int host_doctor(const struct cli *cli);
int host_setup(const struct cli *cli);
/* conform.c */
int host_conform(const struct cli *cli);
/* list.c */
int host_list(const struct cli *cli);

#endif
