/* SPDX-License-Identifier: Apache-2.0 */
/* A private Slurm cluster for a test (slurm.py), and what can be done to it. */
#ifndef HONE_TESTS_HOSTS_SLURM_H
#define HONE_TESTS_HOSTS_SLURM_H

#include <stdbool.h>

#include "base/base.h"

struct slurm;
/* In `folder`, with that many nodes ("n1", ...) of `cpus` each; sets SLURM_CONF. NULL when there
 * can be none here: *why says it. */
struct slurm *slurm_start(const char *folder, int nodes, int cpus, struct err *why);
/* Ends it and all its jobs. Accepts NULL. */
void slurm_stop(struct slurm *slurm);
const char *slurm_conf(const struct slurm *slurm);
/* A node (its jobs with it) or "slurmctld" dies; comes back. A test that cannot go on is ended. */
void slurm_kill(struct slurm *slurm, const char *name);
void slurm_revive(struct slurm *slurm, const char *name);
/* How many processes of the cluster have the word in their command line. */
int slurm_left(struct slurm *slurm, const char *word);

#endif
