/* SPDX-License-Identifier: Apache-2.0 */
/* What evaluations may use of this machine. */
#ifndef HONE_RUNNER_MACHINE_MACHINE_H
#define HONE_RUNNER_MACHINE_MACHINE_H

#include "runner/protocol/protocol.h"

/* Limits of the embedded runner that the job leaves open, as the settings say ([limits]), and that
 * it takes its turn. */
struct config;
void runner_limits(struct runner_job *job, const struct config *config);
/* Memory that one evaluation may use when nothing says so: three quarters of the machine's, so
 * that what fits does not depend on what else runs. 0: not known. */
uint64_t runner_usual_memory(void);
/* How many evaluations run side by side on this machine: each keeps two processors busy and should
 * have some memory. */
int runner_side_by_side(const struct config *config);

#endif
