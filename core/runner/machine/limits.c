/* SPDX-License-Identifier: Apache-2.0 */
/* The budget of evaluations on this machine: what the settings say, and where they say nothing,
 * what the machine has. */
#include "runner/machine/machine.h"

#define MEGABYTE ((uint64_t)1 << 20)
#define LEAST_MEMORY (1024 * MEGABYTE)    /* for one evaluation, whatever the machine has */
#define SHARE_OF_MEMORY (2048 * MEGABYTE) /* what each of several at once should have */

uint64_t runner_usual_memory(void) {
    uint64_t total = os_total_memory();
    return total ? MAX_OF(total / 4 * 3, LEAST_MEMORY) : 0;
}

static double setting(const struct config *config, const char *key) {
    return config_get(config, "limits", key, NULL) ? config_number(config, "limits", key) : 0;
}

/* One evaluation never gets more than all together. */
static void share(struct runner_job *job, const struct config *config) {
    uint64_t all = (uint64_t)setting(config, "machine_mb") * MEGABYTE;
    uint64_t one = !all ? 0 : job->memory_limit ? job->memory_limit : runner_usual_memory();
    if (all && (!one || one > all))
        job->memory_limit = all;
    int most = (int)setting(config, "machine_evaluations");
    job->takes_turns = true;
    job->machine_bytes = all;
    job->machine_children = most > 0 ? most : MAX_OF(os_cpu_count(), runner_side_by_side(config));
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
    share(job, config);
}

int runner_side_by_side(const struct config *config) {
    int set = (int)setting(config, "evaluations"), most = os_cpu_count() / 2;
    if (set > 0 || most < 2)
        return set > 0 ? set : 1;
    uint64_t memory = runner_usual_memory() / SHARE_OF_MEMORY;
    if (memory && (uint64_t)most > memory)
        most = (int)memory;
    return MAX_OF(1, most);
}
