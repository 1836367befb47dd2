/* SPDX-License-Identifier: Apache-2.0 */
/* Private to hone sim: an evaluation with what was asked of it, and how it is printed. */
#ifndef HONE_CLI_SIM_H
#define HONE_CLI_SIM_H

#include "calibrate/calibrate.h"
#include "cli/cli.h"
#include "cli/kit/kit.h"

struct sim {
    const struct cli *cli;
    struct cli_job job;
    struct runner_result result;
    struct runner_prediction prediction; /* by the SDK's compiler, where there is one */
    struct buf unpredicted;              /* why there is no prediction */
    struct buf shown;                    /* tiles: of device_print, of --break; lines */
    struct config *config;
    double limit_us;              /* --fail-above; 0: none */
    struct calibrate_record host; /* of --constants */
    char *compared;               /* --compare: the text of a kernel that is right */
    bool done, predicted, shows_progress;
};

/* sim.c: prints why the latency is more than --fail-above allows, as a sentence without its end.
 * False: it is not, or there is no limit or no latency. */
bool cli_sim_is_too_slow(const struct sim *sim, struct buf *why);
/* sim_json.c: one object on standard output. */
void cli_sim_print_json(const struct sim *sim);
/* sim_text.c: lines for a person on standard output. */
void cli_sim_print_text(const struct sim *sim);

#endif
