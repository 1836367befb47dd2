/* SPDX-License-Identifier: Apache-2.0 */
/* The tiles of a line of a kernel, for the workbench: the kernel runs in a child. */
#ifndef HONE_CLI_TILES_H
#define HONE_CLI_TILES_H

#include "loop/loop.h"
#include "tune/tune.h"
#include "views/views.h"

struct tiles_wanted {
    const struct tune_state *state; /* the session that the kernel is of */
    const struct config *config;    /* the wall's settings; lives as long as the run */
    const char *source;             /* copied */
    int line, round;
    void (*changed)(void *data); /* there is something to draw */
    void *data;
};
/* Runs the kernel for the first seed and shows the tiles over the screen when they are there. What
 * goes wrong is said there, too. NULL when nothing could be started; that has been said. */
struct tiles;
struct tiles *tiles_start(struct loop *loop, struct views *views,
                          const struct tiles_wanted *wanted);
void tiles_drop(struct tiles *tiles); /* accepts NULL; ends what runs */

#endif
