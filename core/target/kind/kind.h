/* SPDX-License-Identifier: Apache-2.0 */
/* What a kind of target can do. */
#ifndef HONE_TARGET_KIND_H
#define HONE_TARGET_KIND_H

#include "target/board/board.h"

/* A kind of target is a table of functions on an instance of it (`self`, from `open`) and on its
 * runs (`run`, from `start`). */
struct target_kind {
    const char *name;
    /* Whether a target of that name is one of this kind. The kinds are asked in order. */
    bool (*takes)(const char *name, const struct target_options *options);
    /* Appends ", NAME" for each name that this kind knows, for messages. May be NULL. */
    void (*list)(const struct target_options *options, struct buf *out);
    /* Fills board->info. The caller owns options and board, and keeps the board as long as the
     * instance. */
    void *(*open)(struct loop *loop, const char *name, const struct target_options *options,
                  struct target_board *board, struct err *err);
    void (*close)(void *self); /* all runs were dropped before */
    /* Calls callbacks->on_done once, as the last call, and never before this returns. The job does
     * not change until then. At most board->info.parallel are started at once. */
    void *(*start)(void *self, const struct runner_job *job,
                   const struct runner_callbacks *callbacks, struct err *err);
    void (*cancel)(void *run); /* on_done still comes */
    void (*drop)(void *run);   /* frees it without a callback */
    /* What a run is doing: fills id, state and reason. NULL: it is simply running. */
    void (*look)(const void *run, struct target_entry *entry);
    void (*answer)(void *self, const char *answer); /* may be NULL */
    void (*retry)(void *self);                      /* may be NULL */
    /* As in target_ask_start, and the drop of what it returned. NULL: it has no runner to ask. */
    void *(*ask)(void *self, const struct target_ask_spec *spec, struct err *err);
    void (*ask_drop)(void *asked);
};
/* sim.c: the device model on this machine. */
extern const struct target_kind target_sim;

#endif
