/* SPDX-License-Identifier: Apache-2.0 */
/* Checks one after the other by the same child, which has started already when the next one is
 * asked for. It has the wall and the limits of any evaluation; what takes it down fails one check,
 * and the next one has a new child. */
#include "runner/private.h"

#include <stdlib.h>

#define MAX_EVENT_BYTES ((size_t)16 << 20)
#define OUTPUT_LIMIT ((uint64_t)1 << 30)
#define MOST_CHECKS 500 /* of one child: what leaks, does so within limits */

struct runner_checks {
    struct loop *loop;
    struct loop_child *child; /* NULL: none runs */
    struct wall *wall;
    struct buf seen; /* what its wall was made for */
    int done;        /* checks of this child */
    /* the one at work */
    struct runner_reader *reader; /* NULL: none */
    struct runner_callbacks callbacks;
    struct loop_timer *limit;
    uint64_t began_ns;
    bool late;
};

struct runner_checks *runner_checks_new(struct loop *loop) {
    struct runner_checks *checks = mem_alloc(1, sizeof *checks);
    checks->loop = loop;
    return checks;
}

/* The child and its wall; nothing is told. */
static void child_end(struct runner_checks *checks) {
    if (checks->child) {
        int pid = loop_child_pid(checks->child);
        loop_child_forget(checks->child);
        loop_child_kill(checks->child, 0);
        task_scratch_clean(pid);
    }
    wall_free(checks->wall);
    buf_free(&checks->seen);
    checks->child = NULL;
    checks->wall = NULL;
    checks->done = 0;
}

static void work_forget(struct runner_checks *checks) {
    loop_timer_stop(checks->limit);
    runner_reader_free(checks->reader);
    checks->limit = NULL;
    checks->reader = NULL;
    checks->late = false;
}

/* The last call about the check that is at work. */
static void finish(struct runner_checks *checks, struct loop_exit ended) {
    struct runner_reader *reader = checks->reader;
    struct runner_callbacks callbacks = checks->callbacks;
    ended.elapsed_s = (double)(clock_monotonic_ns() - checks->began_ns) * 1e-9;
    if (checks->late)
        ended.end = LOOP_TIMED_OUT;
    checks->reader = NULL;
    work_forget(checks);
    callbacks.on_done(callbacks.data, runner_reader_finish(reader, &ended));
    runner_reader_free(reader);
}

static void on_output(void *data, enum loop_stream stream, struct str text, bool whole) {
    struct runner_checks *checks = data;
    if (!checks->reader || !whole)
        return;
    if (stream == LOOP_STDERR) {
        runner_reader_noise(checks->reader, text);
        return;
    }
    runner_reader_line(checks->reader, text);
    if (runner_reader_ended(checks->reader)) {
        checks->done++;
        finish(checks, (struct loop_exit){.end = LOOP_EXITED});
    }
}

static void on_exit_child(void *data, const struct loop_exit *result) {
    struct runner_checks *checks = data;
    task_scratch_clean(loop_child_pid(checks->child));
    checks->child = NULL;
    child_end(checks);
    if (checks->reader)
        finish(checks, *result);
}

static void on_late(void *data) {
    struct runner_checks *checks = data;
    checks->limit = NULL;
    checks->late = true;
    loop_child_kill(checks->child, 0);
}

/* What the wall of a job hangs on. */
static void seen_print(const struct runner_job *job, struct buf *out) {
    const char *const parts[] = {job->kernel_path, job->reference_path, job->wall.level,
                                 job->wall.shown};
    for (size_t i = 0; i < COUNT_OF(parts); i++)
        buf_printf(out, "%s\n", parts[i] ? parts[i] : "");
    buf_printf(out, "%llu", (unsigned long long)job->memory_limit);
}

static double limit_of(const struct runner_job *job) {
    return job->time_limit_s > 0 ? job->time_limit_s : RUNNER_TIME_LIMIT_S;
}

static bool child_start(struct runner_checks *checks, const struct runner_job *job,
                        struct err *err) {
    static const char *const pass[] = {"HONE_CACHE_LIMIT", NULL};
    char *self = os_executable_path(), *cache = runner_cache_variable();
    const char *const argv[] = {self, "runner", NULL};
    const char *const env[] = {cache, RUNNER_SERIES "=1", NULL};
    struct loop_child_spec spec = {.argv = argv,
                                   .pass = pass,
                                   .env = env,
                                   .keep_input = true,
                                   .out = LOOP_LINES,
                                   .err = LOOP_LINES,
                                   .max_line = MAX_EVENT_BYTES,
                                   .output_limit = OUTPUT_LIMIT,
                                   .memory_limit = runner_memory_for(job),
                                   .cpu_limit_s = limit_of(job) * os_cpu_count(),
                                   .on_output = on_output,
                                   .on_exit = on_exit_child,
                                   .data = checks};
    checks->wall = self ? runner_wall(job, self, err) : NULL;
    spec.wall = checks->wall;
    while (checks->wall && !checks->child) {
        checks->child = loop_child_start(checks->loop, &spec, err);
        if (!checks->child && !wall_weaken(checks->wall))
            break;
    }
    free(self);
    free(cache);
    return checks->child != NULL;
}

/* A child that works for this job. */
static bool child_fits(struct runner_checks *checks, const struct runner_job *job,
                       struct err *err) {
    struct buf seen = {0};
    seen_print(job, &seen);
    bool same = checks->child && checks->done < MOST_CHECKS &&
                str_equal(buf_str(&seen), buf_str(&checks->seen));
    if (!same) {
        child_end(checks);
        same = child_start(checks, job, err);
        buf_add(&checks->seen, seen.at, seen.len);
    }
    buf_free(&seen);
    return same;
}

bool runner_checks_ask(struct runner_checks *checks, const struct runner_job *job,
                       const struct runner_callbacks *callbacks, struct err *err) {
    struct buf line = {0};
    if (checks->reader || !child_fits(checks, job, err))
        return false;
    runner_job_print(job, &line);
    buf_putc(&line, '\n');
    checks->callbacks = *callbacks;
    checks->reader = runner_reader_new(callbacks->on_event, callbacks->data);
    checks->began_ns = clock_monotonic_ns();
    checks->limit =
        loop_timer_start(checks->loop, (uint64_t)(limit_of(job) * 1000), 0, on_late, checks);
    bool sent = loop_child_write(checks->child, line.at, line.len);
    buf_free(&line);
    if (!sent) { /* it is ending */
        work_forget(checks);
        child_end(checks);
    }
    return sent;
}

void runner_checks_drop(struct runner_checks *checks, const void *data) {
    if (!checks->reader || checks->callbacks.data != data)
        return;
    work_forget(checks);
    child_end(checks);
}

void runner_checks_free(struct runner_checks *checks) {
    if (!checks)
        return;
    work_forget(checks);
    child_end(checks);
    free(checks);
}
