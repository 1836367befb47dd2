/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the loop: libuv stays behind this header. Every libuv handle is a heap block of its
 * own, or is first in one, so that one function can close any handle. */
#ifndef HONE_LOOP_HANDLES_H
#define HONE_LOOP_HANDLES_H

#include <uv.h>

#include "loop/loop.h"

struct posted {
    loop_fn *fn;
    void *data;
};

struct loop {
    uv_loop_t uv;
    uv_async_t *wake;
    uv_signal_t *reaper; /* SIGCHLD */
    uv_mutex_t mutex;    /* guards posts, the only thing that other threads share */
    VEC(struct posted) posts;
    VEC(struct loop_child *) children;
    size_t under_way;   /* one-shot timers, jobs, children */
    size_t jobs;        /* of these */
    size_t shared_jobs; /* of these the ones whose data others may free */
    bool stopped, closing;
    int64_t wall_ms;     /* when the loop was made */
    uint64_t elapsed_ns; /* at that moment */
};

/* Closes the handle and frees the block that it is first in. A second call does nothing. */
void loop_close_handle(void *handle);
/* Finds which children ended, after SIGCHLD came. */
void loop_reap_children(struct loop *loop);
/* The environment of a child, as pointers to text that lives elsewhere. The caller owns the
 * list. */
char **loop_make_environment(const struct loop_child_spec *spec) CC_MUST_USE;
/* Kills and forgets all children, for loop_free. */
void loop_drop_children(struct loop *loop);

#endif
