/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the loop: libuv stays behind this line. Every libuv handle is a heap block of its own
 * or stands first in one, so that closing any handle is one function. */
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
    uv_mutex_t mutex;    /* guards posts, the one thing shared with other threads */
    VEC(struct posted) posts;
    VEC(struct loop_child *) children;
    size_t under_way; /* one-shot timers, jobs, children */
    bool stopped, closing;
};

/* Closes the handle and frees the block it stands first in, once. */
void loop_close_handle(void *handle);
/* Looks which children ended (SIGCHLD came). */
void loop_reap_children(struct loop *loop);
/* The environment of a child, as pointers to text that lives elsewhere; the list is the
 * caller's. */
char **loop_make_environment(const struct loop_child_spec *spec) CC_MUST_USE;
/* Kills and forgets all children, for loop_free. */
void loop_drop_children(struct loop *loop);

#endif
