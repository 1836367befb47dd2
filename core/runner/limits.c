/* SPDX-License-Identifier: Apache-2.0 */
/* The budget of evaluations on this machine: what the settings say, and what the machine has where
 * they say nothing. */
#include "runner/runner.h"

#define MEGABYTE ((uint64_t)1 << 20)
#define LEAST_MEMORY (1024 * MEGABYTE)    /* of an evaluation, whatever the machine has */
#define SHARE_OF_MEMORY (2048 * MEGABYTE) /* that evaluations side by side should have */

uint64_t runner_usual_memory(void) {
    uint64_t total = os_total_memory();
    return total ? MAX_OF(total / 4 * 3, LEAST_MEMORY) : 0;
}

static double setting(const struct config *config, const char *key) {
    return config_get(config, "limits", key, NULL) ? config_number(config, "limits", key) : 0;
}

void runner_limits(struct runner_job *job, const struct config *config) {
    if (!(job->time_limit_s > 0))
        job->time_limit_s = setting(config, "evaluation_s");
    if (!job->memory_limit)
        job->memory_limit = (uint64_t)setting(config, "memory_mb") * MEGABYTE;
    if (!job->instruction_limit)
        job->instruction_limit = (uint64_t)setting(config, "instructions");
    if (!job->step_limit)
        job->step_limit = (uint64_t)setting(config, "steps");
    if (!job->value_limit)
        job->value_limit = (uint64_t)setting(config, "values_mb") * MEGABYTE;
}

int runner_side_by_side(const struct config *config) {
    int set = (int)setting(config, "evaluations"), most = os_cpu_count() / 2;
    uint64_t memory = runner_usual_memory() / SHARE_OF_MEMORY;
    if (set > 0)
        return set;
    if (memory && (uint64_t)most > memory)
        most = (int)memory;
    return MAX_OF(1, most);
}
