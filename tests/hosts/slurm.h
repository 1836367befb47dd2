/* SPDX-License-Identifier: Apache-2.0 */
/* A private Slurm cluster for a test (slurm.py), and what a test can do to it. */
#ifndef HONE_TESTS_HOSTS_SLURM_H
#define HONE_TESTS_HOSTS_SLURM_H

#include <stdbool.h>

#include "base/base.h"

struct slurm;
/* Starts it in `folder`, with `nodes` nodes ("n1", ...) of `cpus` each, and sets SLURM_CONF. NULL
 * when there can be none here; *why says why. */
struct slurm *slurm_start(const char *folder, int nodes, int cpus, struct err *why);
/* Ends it and all its jobs. Accepts NULL. */
void slurm_stop(struct slurm *slurm);
const char *slurm_conf(const struct slurm *slurm);
/* A node (with its jobs) or "slurmctld" dies, or comes back. A test that cannot continue is
 * ended. */
void slurm_kill(struct slurm *slurm, const char *name);
void slurm_revive(struct slurm *slurm, const char *name);
/* How many processes of the cluster have the word in their command line. */
int slurm_left(struct slurm *slurm, const char *word);

#endif
