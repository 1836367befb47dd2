/* SPDX-License-Identifier: Apache-2.0 */
/* Starting the embedded runner: hone itself as a child with limits, its output read as events. Any
 * number run at once; none of them can take hone down. */
#include "device/device.h"
#include "runner/runner.h"

#include <stdlib.h>

#define MAX_EVENT_BYTES ((size_t)16 << 20)
#define MIN_MEMORY ((uint64_t)1 << 30)
#define CANCEL_GRACE_MS 0

struct runner {
    struct loop_child *child;
    struct runner_reader *reader;
    struct runner_callbacks callbacks;
    int pid;
    bool skipping[2];           /* inside a line that was too long, per output */
};

static void on_output(void *data, enum loop_stream stream, struct str text, bool whole) {
    struct runner *runner = data;
    bool skipping = runner->skipping[stream];
    runner->skipping[stream] = !whole;
    /* No event is that long: a line over the limit is left out, end and all. */
    if (!whole || skipping)
        return;
    if (stream == LOOP_STDOUT)
        runner_reader_line(runner->reader, text);
    else
        runner_reader_noise(runner->reader, text);
}

static void on_exit_runner(void *data, const struct loop_exit *result) {
    struct runner *runner = data;
    task_scratch_clean(runner->pid);
    runner->callbacks.on_done(runner->callbacks.data,
                              runner_reader_finish(runner->reader, result));
    runner_reader_free(runner->reader);
    free(runner);
}

/* Three quarters of what is free: the rest is for the screen and for Python. The runner for hosts
 * weighs the memory that its stages use by itself; their address space is beyond any measure. */
static uint64_t memory_for(const struct runner_job *job) {
    if (job->predict_only)
        return 0;
    if (!os_can_limit_own_memory() && !job->command)
        return 0;
    if (job->memory_limit)
        return job->memory_limit;
    uint64_t free_bytes = os_available_memory();
    return free_bytes ? MAX_OF(free_bytes / 4 * 3, MIN_MEMORY) : 0;
}

struct runner *runner_start(struct loop *loop, const struct runner_job *job,
                            const struct runner_callbacks *callbacks, struct err *err) {
    char *self = job->command ? NULL : os_executable_path();
    if (!self && !job->command) {
        err_set(err, ERR_ENVIRONMENT, "hone cannot find its own program file to start a runner");
        return NULL;
    }
    const char *const own[] = {self, "runner", NULL};
    struct buf text = {0};
    runner_job_print(job, &text);
    buf_putc(&text, '\n');
    static const char *const pass[] = {"HONE_PYTHON", "HONE_CACHE_LIMIT", NULL};
    const char *const env[] = {device_blas_environment(), NULL};
    struct runner *runner = mem_alloc(1, sizeof *runner);
    runner->callbacks = *callbacks;
    runner->reader = runner_reader_new(callbacks->on_event, callbacks->data);
    struct loop_child_spec spec = {
        .argv = job->command ? job->command : own, .pass = pass, .env = env, .input = text.at,
        .input_len = text.len,
        .out = LOOP_LINES, .err = LOOP_LINES, .max_line = MAX_EVENT_BYTES,
        .time_limit_s = job->time_limit_s > 0 ? job->time_limit_s : RUNNER_TIME_LIMIT_S,
        .memory_limit = memory_for(job), .on_output = on_output, .on_exit = on_exit_runner,
        .data = runner};
    runner->child = loop_child_start(loop, &spec, err);
    buf_free(&text);
    free(self);
    if (!runner->child) {
        runner_reader_free(runner->reader);
        free(runner);
        return NULL;
    }
    runner->pid = loop_child_pid(runner->child);
    return runner;
}

void runner_cancel(struct runner *runner) {
    if (runner)
        loop_child_kill(runner->child, CANCEL_GRACE_MS);
}

void runner_drop(struct runner *runner) {
    if (!runner)
        return;
    loop_child_forget(runner->child);
    loop_child_kill(runner->child, CANCEL_GRACE_MS);
    task_scratch_clean(runner->pid);
    runner_reader_free(runner->reader);
    free(runner);
}
