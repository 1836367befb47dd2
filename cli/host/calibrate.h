/* SPDX-License-Identifier: Apache-2.0 */
/* One run of `hone calibrate`. */
#ifndef HONE_CLI_HOST_CALIBRATE_H
#define HONE_CLI_HOST_CALIBRATE_H

#include "calibrate/calibrate.h"
#include "cli/host/host.h"
#include "cli/host/reach.h"
#include "cli/kit/kit.h"
#include "runner/runner.h"

#define CANCEL_MS 10000 /* time to wait, after an interrupt, for what runs there to end */

struct calibration {
    const struct cli *cli;
    const char *host;
    struct arena *arena;
    enum nki_generation generation;
    enum nki_dialect dialect;
    struct reach reach;
    const char *occasion;
    size_t total, done; /* kernels */
    struct target_run *run;
    struct runner_result result; /* of the kernel that was run last */
    VEC(struct calibrate_made) made;
    VEC(struct calibrate_row) rows;
    VEC(struct left_out {
        const char *name;
        const char *why;
    })
    left_out;
    volatile int cancel;
    bool fitted, fit_over;
    struct calibrate_fit fit;
    char *path; /* where the constants are kept; NULL: nowhere */
};

/* calibrate_say.c. Says which kernel is run now. NULL: none any more. */
void calibrate_say_next(const struct calibration *c, const char *name);
void calibrate_say_measured(const struct calibration *c, const char *name, double us);
void calibrate_say_left_out(const struct calibration *c, const char *name, const char *why);
/* Prints what was found, as text or as one JSON object. */
void calibrate_say_all(const struct calibration *c);

#endif
