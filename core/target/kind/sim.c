/* SPDX-License-Identifier: Apache-2.0 */
/* The target `sim`: for each evaluation the embedded runner, as a child of hone on this machine.
 * What the child does is the runner's business. */
#include "target/kind/kind.h"

#include <stdio.h>
#include <stdlib.h>

struct sim {
    struct loop *loop;
    struct task_walling wall; /* what the settings say, and their text */
    const struct config *config;
};

static bool sim_takes(const char *name, const struct target_options *options) {
    (void)options;
    return strcmp(name, "sim") == 0;
}

static void sim_list(const struct target_options *options, struct buf *out) {
    (void)options;
    buf_puts(out, ", sim");
}

static void *sim_open(struct loop *loop, const char *name, const struct target_options *options,
                      struct target_board *board, struct err *err) {
    (void)name, (void)err;
    struct sim *sim = mem_alloc(1, sizeof *sim);
    int cores = os_cpu_count();
    sim->loop = loop;
    sim->config = options->config;
    if (options->config)
        sim->wall = (struct task_walling){config_get(options->config, "wall", "level", NULL),
                                          config_get(options->config, "wall", "read", NULL)};
    snprintf(board->info.what, sizeof board->info.what, "device model on this machine, %d core%s",
             cores, PLURAL(cores));
    board->info.modelled = true;
    board->info.parallel = runner_side_by_side(options->config);
    return sim;
}

static void sim_close(void *self) {
    free(self);
}

static void *sim_start(void *self, const struct runner_job *job,
                       const struct runner_callbacks *callbacks, struct err *err) {
    struct sim *sim = self;
    if (job->model) {
        err_set(err, ERR_USAGE,
                "a task of the kind \"model\" runs a whole model, which the device "
                "model cannot: give --target with a host or a cluster");
        return NULL;
    }
    struct runner_job walled = *job;
    if (!walled.wall.level)
        walled.wall = sim->wall;
    runner_limits(&walled, sim->config);
    return runner_start(sim->loop, &walled, callbacks, err);
}

static void sim_cancel(void *run) {
    runner_cancel(run);
}

static void sim_drop(void *run) {
    runner_drop(run);
}

const struct target_kind target_sim = {.name = "sim",
                                       .takes = sim_takes,
                                       .list = sim_list,
                                       .open = sim_open,
                                       .close = sim_close,
                                       .start = sim_start,
                                       .cancel = sim_cancel,
                                       .drop = sim_drop};
