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

/* Makes a kernel one for another release of NKI, beside the workbench, and hands it in as the
 * person's own. What becomes of it is said over the screen. */
struct migrating_here;
struct migrating_wanted {
    struct tune_session *session;
    struct migrating_here **place; /* of what runs; NULL is put there at its end */
    const char *source, *release;  /* copied; release "": the session's */
    void (*changed)(void *data);
    void *data;
};
void migrating_start(struct loop *loop, struct views *views, const struct migrating_wanted *wanted);
void migrating_drop(struct migrating_here **place); /* what runs says nothing any more */

#endif
