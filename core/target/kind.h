/* SPDX-License-Identifier: Apache-2.0 */
/* Private to target: what a kind of target can do, and the board on which it shows how it is. */
#ifndef HONE_TARGET_KIND_H
#define HONE_TARGET_KIND_H

#include "target/target.h"

/* What there is to see of a target. target.c owns it; the kind fills it and calls target_tell. The
 * entries of the status are gathered from the runs and are not the kind's. */
struct target_board {
    struct target_info info;
    struct target_status status;
    struct target_question question;
    bool asks;          /* `question` waits for an answer */
    int64_t watched_ms; /* wall clock: when somebody looked last; 0: never */
    struct target *target;
};
/* The board changed: who listens is told soon, never from within this call. */
void target_tell(struct target_board *board);
/* Sets the state and its sentence, with the time when the state is another than before. */
void target_show(struct target_board *board, enum target_state state, const char *format, ...)
    CC_PRINTF(3, 4);

/* A kind of target is a table of functions over an instance of it (`self`, from `open`) and its
 * runs (`run`, from `start`). */
struct target_kind {
    const char *name;
    /* Whether a target of that name is one of this kind; the kinds are asked in order. */
    bool (*takes)(const char *name, const struct target_options *options);
    /* Appends ", NAME" for each name there is, for messages. May be NULL. */
    void (*list)(const struct target_options *options, struct buf *out);
    /* Fills board->info; options and board stay the caller's, board as long as the instance. */
    void *(*open)(struct loop *loop, const char *name, const struct target_options *options,
                  struct target_board *board, struct err *err);
    void (*close)(void *self); /* all runs were dropped before */
    /* Calls callbacks->on_done once, last, never before it returns; the job stays as it is until
     * then. At most board->info.parallel are started at once. */
    void *(*start)(void *self, const struct runner_job *job,
                   const struct runner_callbacks *callbacks, struct err *err);
    void (*cancel)(void *run); /* on_done still comes */
    void (*drop)(void *run);   /* frees it without a callback */
    /* What a run is doing: fills id, state and reason. NULL: it is running. */
    void (*look)(const void *run, struct target_entry *entry);
    void (*answer)(void *self, const char *answer); /* may be NULL */
    void (*retry)(void *self);                      /* may be NULL */
    /* As target_ask_start, and the drop of what it returned. NULL: it has no runner to ask. */
    void *(*ask)(void *self, const struct target_ask_spec *spec, struct err *err);
    void (*ask_drop)(void *asked);
};
extern const struct target_kind target_sim, target_slurm, target_ssh;

#endif
