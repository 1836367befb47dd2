/* SPDX-License-Identifier: Apache-2.0 */
/* Starting the embedded runner: hone itself as a child with limits, whose output is read as events.
 * As many run at once as the machine's budget allows (machine/ledger.c). None of them can take hone
 * down. */
#include "device/device.h"
#include "runner/machine/inner.h"
#include "runner/private.h"

#include <stdio.h>
#include <stdlib.h>

#define MAX_EVENT_BYTES ((size_t)16 << 20)
#define CANCEL_GRACE_MS 0
#define OUTPUT_LIMIT ((uint64_t)1 << 30) /* profiles are files */
#define ASK_MS 200                       /* between two looks at what the machine has left */
#define LOOK_MS 50                       /* first look at what the child uses; then less often */
#define LONGEST_LOOK_MS 1000

struct runner {
    struct loop *loop;
    struct loop_child *child; /* NULL: it waits for its turn */
    struct runner_reader *reader;
    struct runner_callbacks callbacks;
    struct wall *wall; /* NULL: another program, which is trusted */
    struct buf job;    /* as it is sent */
    char *self;
    struct arena *arena;        /* holds `command` */
    const char **command;       /* argv of another program; NULL: hone itself */
    struct ledger_claim *claim; /* NULL: it needs no turn */
    struct loop_timer *timer;   /* asks again, or looks at the child */
    uint64_t look_ms;
    char waits[24]; /* what it waits for, as last reported */
    bool raised;    /* it was started again with more memory */
    double time_limit_s;
    uint64_t memory_limit;
    int pid;
    bool skipping[2]; /* per output: inside a line that was too long */
};

static void runner_free(struct runner *runner) {
    loop_timer_stop(runner->timer);
    ledger_claim_free(runner->claim);
    arena_free(runner->arena);
    runner_reader_free(runner->reader);
    wall_free(runner->wall);
    buf_free(&runner->job);
    free(runner->self);
    free(runner);
}

static void on_output(void *data, enum loop_stream stream, struct str text, bool whole) {
    struct runner *runner = data;
    bool skipping = runner->skipping[stream];
    runner->skipping[stream] = !whole;
    /* No event is that long. A line over the limit is left out, with its end. */
    if (!whole || skipping)
        return;
    if (stream == LOOP_STDOUT)
        runner_reader_line(runner->reader, text);
    else
        runner_reader_noise(runner->reader, text);
}

static bool launch(struct runner *runner, struct err *err);

static void tidy(void *data) {
    (void)data;
    task_cache_tidy();
}

static void nothing(void *data) {
    (void)data;
}

/* Does what the runner cannot do from behind its wall. */
static void after_evaluation(const struct runner *runner, struct runner_result *result) {
    if (!runner->wall)
        return;
    snprintf(result->wall, sizeof result->wall, "%s", wall_name(runner->wall->level));
    if (result->python[0])
        task_python_remember(result->python);
    loop_job_start_owned(runner->loop, tidy, nothing, NULL);
}

/* When the wall itself could not be set up, tries the next weaker one, unless the settings forbid
 * it. */
static bool goes_on(struct runner *runner, const struct loop_exit *result) {
    return runner->wall && !runner_reader_heard(runner->reader) && result->end == LOOP_EXITED &&
           result->status == 1 && wall_weaken(runner->wall) && launch(runner, NULL);
}

static void ask_soon(struct runner *runner, uint64_t delay_ms);

/* What the kernel needs is known only when it is compiled. If that is more than was put aside for
 * it, the evaluation starts again with as much. */
static bool begins_anew(struct runner *runner, const struct runner_result *result) {
    if (!runner->claim || runner->raised || result->failure.kind != ERR_ENVIRONMENT ||
        result->needs_bytes <= ledger_reserved(runner->claim))
        return false;
    runner->raised = true;
    ledger_raise(runner->claim, result->needs_bytes);
    if (runner->callbacks.on_event)
        runner->callbacks.on_event(runner->callbacks.data,
                                   &(struct runner_event){.kind = RUNNER_RESTART, .local = true});
    runner_reader_free(runner->reader);
    runner->reader = runner_reader_new(runner->callbacks.on_event, runner->callbacks.data);
    runner->child = NULL;
    ask_soon(runner, 0);
    return true;
}

static void on_exit_runner(void *data, const struct loop_exit *result) {
    struct runner *runner = data;
    loop_timer_stop(runner->timer);
    runner->timer = NULL;
    if (goes_on(runner, result))
        return;
    task_scratch_clean(runner->pid);
    struct runner_result *gathered = runner_reader_finish(runner->reader, result);
    if (begins_anew(runner, gathered))
        return;
    after_evaluation(runner, gathered);
    runner->callbacks.on_done(runner->callbacks.data, gathered);
    runner_free(runner);
}

/* The runner for hosts watches the memory of its stages itself. Their address space says nothing
 * about it. */
uint64_t runner_memory_for(const struct runner_job *job) {
    if (job->predict_only)
        return 0;
    if (!os_can_limit_own_memory() && !job->command)
        return 0;
    return job->memory_limit ? job->memory_limit : runner_usual_memory();
}

static void look(void *data) {
    struct runner *runner = data;
    ledger_look(runner->claim, runner->loop);
    runner->look_ms = MIN_OF(runner->look_ms * 2, (uint64_t)LONGEST_LOOK_MS);
    runner->timer = loop_timer_start(runner->loop, runner->look_ms, 0, look, runner);
}

static void began(struct runner *runner) {
    runner->pid = loop_child_pid(runner->child);
    if (!runner->claim)
        return;
    ledger_began(runner->claim, runner->pid);
    runner->look_ms = LOOK_MS;
    runner->timer = loop_timer_start(runner->loop, LOOK_MS, 0, look, runner);
}

static bool launch(struct runner *runner, struct err *err) {
    static const char *const pass[] = {"HONE_PYTHON", "HONE_CACHE_LIMIT", NULL};
    const char *const own[] = {runner->self, "runner", NULL};
    char *cache = runner_cache_variable(), *base = task_user_base();
    const char *blas = device_blas_environment();
    char aside[48];
    snprintf(aside, sizeof aside, RUNNER_ASIDE "=%llu",
             runner->claim ? (unsigned long long)ledger_reserved(runner->claim) : 0ull);
    const char *const env[] = {cache, base, aside, blas, NULL};
    struct loop_child_spec spec = {.argv = runner->command ? runner->command : own,
                                   .pass = pass,
                                   .env = env,
                                   .input = runner->job.at,
                                   .input_len = runner->job.len,
                                   .out = LOOP_LINES,
                                   .err = LOOP_LINES,
                                   .max_line = MAX_EVENT_BYTES,
                                   .output_limit = OUTPUT_LIMIT,
                                   .wall = runner->wall,
                                   .time_limit_s = runner->time_limit_s,
                                   .memory_limit = runner->memory_limit,
                                   .cpu_limit_s =
                                       runner->wall ? runner->time_limit_s * os_cpu_count() : 0,
                                   .on_output = on_output,
                                   .on_exit = on_exit_runner,
                                   .data = runner};
    do
        runner->child = loop_child_start(runner->loop, &spec, err);
    while (!runner->child && runner->wall && wall_weaken(runner->wall));
    free(cache);
    free(base);
    if (runner->child && runner->wall)
        runner_reader_wall(runner->reader, wall_name(runner->wall->level));
    if (runner->child)
        began(runner);
    return runner->child != NULL;
}

/* ------------------------------------------------------------------------------- its turn */

/* Without a child nothing was done. The failure is all there is. */
static void end_without(struct runner *runner, const struct err *failure) {
    struct runner_result result = {.failure = *failure};
    runner->callbacks.on_done(runner->callbacks.data, &result);
    runner_result_free(&result);
    runner_free(runner);
}

/* Shows what it waits for when that changes, and logs it once. The numbers in the sentence change
 * all the time and do not count. */
static void tell_waiting(struct runner *runner, const struct buf *why) {
    bool first = !runner->waits[0];
    if (!why->len || !strncmp(runner->waits, why->at, sizeof runner->waits - 1))
        return;
    snprintf(runner->waits, sizeof runner->waits, "%s", why->at);
    const struct runner_event events[] = {
        {.kind = RUNNER_PHASE, .name = why->at, .seconds = -1},
        {.kind = RUNNER_LOG, .name = "machine", .text = why->at, .severity = DIAG_NOTE},
    };
    for (size_t i = 0; runner->callbacks.on_event && i < (first ? 2 : 1); i++)
        runner->callbacks.on_event(runner->callbacks.data, &events[i]);
}

static void ask(void *data) {
    struct runner *runner = data;
    struct buf why = {0};
    struct err err = {0};
    runner->timer = NULL;
    enum ledger_answer answer = ledger_ask(runner->claim, &why);
    if (answer == LEDGER_NO)
        err_set(&err, ERR_ENVIRONMENT, "%.300s", why.at);
    if (answer == LEDGER_WAIT) {
        tell_waiting(runner, &why);
        ask_soon(runner, ASK_MS);
    } else if (answer == LEDGER_NO || !launch(runner, &err)) {
        end_without(runner, &err);
    }
    buf_free(&why);
}

static void ask_soon(struct runner *runner, uint64_t delay_ms) {
    runner->timer = loop_timer_start(runner->loop, delay_ms, 0, ask, runner);
}

/* Starts at once where the machine has what it takes. Otherwise asks again later. */
static bool begin(struct runner *runner, struct err *err) {
    struct buf why = {0};
    bool goes = !runner->claim || ledger_ask(runner->claim, &why) == LEDGER_GO;
    buf_free(&why);
    if (goes)
        return launch(runner, err);
    ask_soon(runner, 0);
    return true;
}

static const char **command_keep(struct arena *arena, const char *const *command) {
    size_t count = 0;
    while (command[count])
        count++;
    const char **kept = ARENA_ARRAY(arena, const char *, count + 1);
    for (size_t i = 0; i < count; i++)
        kept[i] = arena_strdup(arena, command[i]);
    return kept;
}

static struct runner *runner_new(struct loop *loop, const struct runner_job *job,
                                 const struct runner_callbacks *callbacks) {
    struct runner *runner = mem_alloc(1, sizeof *runner);
    runner->loop = loop;
    runner->callbacks = *callbacks;
    runner->reader = runner_reader_new(callbacks->on_event, callbacks->data);
    runner->arena = arena_new();
    runner->command = job->command ? command_keep(runner->arena, job->command) : NULL;
    runner->claim = job->takes_turns ? ledger_claim_new(job) : NULL;
    runner->self = job->command ? NULL : os_executable_path();
    runner->time_limit_s = job->time_limit_s > 0 ? job->time_limit_s : RUNNER_TIME_LIMIT_S;
    runner->memory_limit = runner_memory_for(job);
    runner_job_print(job, &runner->job);
    buf_putc(&runner->job, '\n');
    return runner;
}

struct runner *runner_start(struct loop *loop, const struct runner_job *job,
                            const struct runner_callbacks *callbacks, struct err *err) {
    struct runner *runner = runner_new(loop, job, callbacks);
    bool ok = job->command != NULL;
    if (!job->command && !runner->self)
        err_set(err, ERR_ENVIRONMENT, "hone cannot find its own program file to start a runner");
    else if (!job->command)
        ok = (runner->wall = runner_wall(job, runner->self, err)) != NULL;
    if (ok && begin(runner, err))
        return runner;
    runner_free(runner);
    return NULL;
}

static void on_cancelled(void *data) {
    struct err err = {0};
    err_set(&err, ERR_CANCELLED, "the evaluation was cancelled");
    end_without(data, &err);
}

void runner_cancel(struct runner *runner) {
    if (!runner)
        return;
    if (runner->child) {
        loop_child_kill(runner->child, CANCEL_GRACE_MS);
        return;
    }
    loop_timer_stop(runner->timer);
    runner->timer = loop_timer_start(runner->loop, 0, 0, on_cancelled, runner);
}

void runner_drop(struct runner *runner) {
    if (!runner)
        return;
    if (runner->child) {
        loop_child_forget(runner->child);
        loop_child_kill(runner->child, CANCEL_GRACE_MS);
        task_scratch_clean(runner->pid);
    }
    runner_free(runner);
}
