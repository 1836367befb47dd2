/* SPDX-License-Identifier: Apache-2.0 */
/* The event loop itself: running and stopping, timers, posts from other threads, worker jobs,
 * watched descriptors, signals. Child processes are in child.c. libuv does the work; its types do
 * not leave this folder. */
#include "loop/handles.h"
#include "loop/testing.h"

#include <signal.h>
#include <stdlib.h>

#define PATIENCE_MS 5000 /* for jobs, at the loop's end */

struct loop_timer {
    uv_timer_t uv;
    struct loop *loop;
    loop_fn *fn;
    void *data;
    bool repeats;
};

struct loop_watch {
    uv_poll_t uv;
    loop_watch_fn *fn;
    void *data;
};

struct loop_signal {
    uv_signal_t uv;
    loop_signal_fn *fn;
    void *data;
};

struct job {
    uv_work_t uv;
    struct loop *loop;
    loop_fn *work, *done;
    void *data;
    bool owns_data; /* done is called in any case */
};

static void free_handle(uv_handle_t *handle) {
    free(handle);
}

void loop_close_handle(void *handle) {
    if (handle && !uv_is_closing(handle))
        uv_close(handle, free_handle);
}

/* ------------------------------------------------------------------------------ posts, running */

static size_t posts_waiting(struct loop *loop) {
    uv_mutex_lock(&loop->mutex);
    size_t count = loop->posts.len;
    uv_mutex_unlock(&loop->mutex);
    return count;
}

static void run_posts(uv_async_t *wake) {
    struct loop *loop = wake->data;
    VEC(struct posted) now = {0};
    uv_mutex_lock(&loop->mutex);
    now.at = loop->posts.at;
    now.len = loop->posts.len;
    loop->posts.at = NULL;
    loop->posts.len = loop->posts.cap = 0;
    uv_mutex_unlock(&loop->mutex);
    for (size_t i = 0; i < now.len; i++)
        now.at[i].fn(now.at[i].data);
    vec_free(&now);
}

void loop_post(struct loop *loop, loop_fn *fn, void *data) {
    uv_mutex_lock(&loop->mutex);
    *vec_push(&loop->posts) = (struct posted){fn, data};
    uv_mutex_unlock(&loop->mutex);
    uv_async_send(loop->wake);
}

static void on_child_signal(uv_signal_t *reaper, int signum) {
    (void)signum;
    loop_reap_children(reaper->data);
}

struct loop *loop_new(void) {
    struct loop *loop = mem_alloc(1, sizeof *loop);
    if (uv_loop_init(&loop->uv) != 0 || uv_mutex_init(&loop->mutex) != 0)
        HONE_BUG("the event loop cannot start");
    loop->wake = mem_alloc(1, sizeof *loop->wake);
    loop->reaper = mem_alloc(1, sizeof *loop->reaper);
    if (uv_async_init(&loop->uv, loop->wake, run_posts) != 0 ||
        uv_signal_init(&loop->uv, loop->reaper) != 0 ||
        uv_signal_start(loop->reaper, on_child_signal, SIGCHLD) != 0)
        HONE_BUG("the event loop cannot start");
    loop->wake->data = loop->reaper->data = loop;
    loop->wall_ms = clock_wall_ms();
    loop->elapsed_ns = os_elapsed_ns();
    signal(SIGPIPE, SIG_IGN); /* a child that closed its input must not end hone */
    return loop;
}

int64_t loop_wall_ms(const struct loop *loop) {
    return loop->wall_ms + (int64_t)((os_elapsed_ns() - loop->elapsed_ns) / 1000000);
}

static void close_any(uv_handle_t *handle, void *data) {
    (void)data;
    loop_close_handle(handle);
}

static void on_deadline(uv_timer_t *timer) {
    *(bool *)timer->data = true;
}

/* Waits until nothing is left, and for jobs that own their data only so long. */
static bool jobs_end(struct loop *loop) {
    bool late = false;
    uv_timer_t *deadline = mem_alloc(1, sizeof *deadline);
    uv_timer_init(&loop->uv, deadline);
    deadline->data = &late;
    uv_update_time(&loop->uv);
    uv_timer_start(deadline, on_deadline, PATIENCE_MS, 0);
    while (loop->jobs && (!late || loop->shared_jobs))
        uv_run(&loop->uv, UV_RUN_ONCE);
    loop_close_handle(deadline);
    uv_run(&loop->uv, loop->jobs ? UV_RUN_NOWAIT : UV_RUN_DEFAULT);
    return !loop->jobs;
}

void loop_free(struct loop *loop) {
    if (!loop)
        return;
    loop->closing = true;
    loop_drop_children(loop);
    uv_walk(&loop->uv, close_any, NULL);
    if (!jobs_end(loop)) {
        os_exit_at_once();
        return; /* the job ends in it */
    }
    if (uv_loop_close(&loop->uv) != 0)
        HONE_BUG("the event loop has handles left");
    uv_mutex_destroy(&loop->mutex);
    vec_free(&loop->posts);
    vec_free(&loop->children);
    free(loop);
}

void loop_run(struct loop *loop) {
    loop->stopped = false;
    while (!loop->stopped)
        uv_run(&loop->uv, UV_RUN_ONCE);
}

void loop_stop(struct loop *loop) {
    loop->stopped = true;
    uv_async_send(loop->wake);
}

/* Serves events until `done` or, without it, until nothing is under way. */
static bool serve(struct loop *loop, const bool *done, uint64_t limit_ms) {
    bool late = false;
    uv_timer_t *deadline = mem_alloc(1, sizeof *deadline);
    uv_timer_init(&loop->uv, deadline);
    deadline->data = &late;
    if (limit_ms)
        uv_timer_start(deadline, on_deadline, limit_ms, 0);
    loop->stopped = false;
    bool reached = false;
    while (!late && !loop->stopped) {
        reached = done ? *done : !loop->under_way && !posts_waiting(loop);
        if (reached)
            break;
        uv_run(&loop->uv, UV_RUN_ONCE);
    }
    loop_close_handle(deadline);
    return reached;
}

bool loop_run_until_idle(struct loop *loop, uint64_t limit_ms) {
    return serve(loop, NULL, limit_ms);
}

bool loop_run_until(struct loop *loop, const bool *done, uint64_t limit_ms) {
    return serve(loop, done, limit_ms);
}

/* -------------------------------------------------------------------------------------- timers */

void loop_timer_stop(struct loop_timer *timer) {
    if (!timer)
        return;
    if (!timer->repeats && !uv_is_closing((uv_handle_t *)timer))
        timer->loop->under_way--;
    loop_close_handle(timer);
}

static void on_timer(uv_timer_t *uv) {
    struct loop_timer *timer = (struct loop_timer *)uv;
    loop_fn *fn = timer->fn;
    void *data = timer->data;
    if (!timer->repeats)
        loop_timer_stop(timer);
    fn(data);
}

struct loop_timer *loop_timer_start(struct loop *loop, uint64_t delay_ms, uint64_t repeat_ms,
                                    loop_fn *fn, void *data) {
    struct loop_timer *timer = mem_alloc(1, sizeof *timer);
    uv_timer_init(&loop->uv, &timer->uv);
    timer->loop = loop;
    timer->fn = fn;
    timer->data = data;
    timer->repeats = repeat_ms != 0;
    if (!timer->repeats)
        loop->under_way++;
    uv_update_time(&loop->uv); /* the delay counts from now, not from the last event */
    uv_timer_start(&timer->uv, on_timer, delay_ms, repeat_ms);
    return timer;
}

/* --------------------------------------------------------------------------------- worker jobs */

static void job_work(uv_work_t *uv) {
    struct job *job = (struct job *)uv;
    job->work(job->data);
}

static void job_done(uv_work_t *uv, int status) {
    struct job *job = (struct job *)uv;
    job->loop->under_way--;
    job->loop->jobs--;
    job->loop->shared_jobs -= !job->owns_data;
    if (job->owns_data || (status == 0 && !job->loop->closing && job->done))
        job->done(job->data);
    free(job);
}

static void job_start(struct loop *loop, loop_fn *work, loop_fn *done, struct job like) {
    struct job *job = mem_alloc(1, sizeof *job);
    *job = like;
    job->loop = loop;
    job->work = work;
    job->done = done;
    loop->under_way++;
    loop->jobs++;
    loop->shared_jobs += !job->owns_data;
    if (uv_queue_work(&loop->uv, &job->uv, job_work, job_done) != 0)
        HONE_BUG("no worker thread");
}

void loop_job_start(struct loop *loop, loop_fn *work, loop_fn *done, void *data) {
    job_start(loop, work, done, (struct job){.data = data});
}

void loop_job_start_owned(struct loop *loop, loop_fn *work, loop_fn *done, void *data) {
    job_start(loop, work, done, (struct job){.data = data, .owns_data = true});
}

/* ---------------------------------------------------------------------------- watches, signals */

static int to_uv(int events) {
    return (events & LOOP_READABLE ? UV_READABLE : 0) | (events & LOOP_WRITABLE ? UV_WRITABLE : 0);
}

static void on_ready(uv_poll_t *uv, int status, int events) {
    struct loop_watch *watch = (struct loop_watch *)uv;
    int ours =
        (events & UV_READABLE ? LOOP_READABLE : 0) | (events & UV_WRITABLE ? LOOP_WRITABLE : 0);
    /* A descriptor in trouble counts as both. Its owner finds out at the next read or write. */
    watch->fn(watch->data, status < 0 ? LOOP_READABLE | LOOP_WRITABLE : ours);
}

struct loop_watch *loop_watch_start(struct loop *loop, int fd, int events, loop_watch_fn *fn,
                                    void *data) {
    struct loop_watch *watch = mem_alloc(1, sizeof *watch);
    watch->fn = fn;
    watch->data = data;
    if (uv_poll_init(&loop->uv, &watch->uv, fd) != 0) {
        free(watch);
        return NULL;
    }
    uv_poll_start(&watch->uv, to_uv(events), on_ready);
    return watch;
}

void loop_watch_change(struct loop_watch *watch, int events) {
    if (events)
        uv_poll_start(&watch->uv, to_uv(events), on_ready);
    else
        uv_poll_stop(&watch->uv);
}

void loop_watch_stop(struct loop_watch *watch) {
    loop_close_handle(watch);
}

static void on_signal(uv_signal_t *uv, int signum) {
    struct loop_signal *signal = (struct loop_signal *)uv;
    signal->fn(signal->data, signum);
}

struct loop_signal *loop_signal_start(struct loop *loop, int signum, loop_signal_fn *fn,
                                      void *data) {
    struct loop_signal *signal = mem_alloc(1, sizeof *signal);
    uv_signal_init(&loop->uv, &signal->uv);
    signal->fn = fn;
    signal->data = data;
    uv_signal_start(&signal->uv, on_signal, signum);
    return signal;
}

void loop_signal_stop(struct loop_signal *signal) {
    loop_close_handle(signal);
}
