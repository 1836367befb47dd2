/* SPDX-License-Identifier: Apache-2.0 */
/* Places where kernels are evaluated, one row of a table each. This file queues: a place runs as
 * many evaluations at once as it can without slowing each other, and the rest wait their turn. How
 * an evaluation is carried there is the row's business. */
#include "target/target.h"

#include <stdio.h>
#include <stdlib.h>

/* What a kind of target can do. The carrier calls callbacks->on_done once, last, and never before
 * `start` returns. */
struct target_kind {
    const char *name;
    void (*describe)(struct target_info *info);
    void *(*start)(struct loop *loop, const struct runner_job *job,
                   const struct runner_callbacks *callbacks, struct err *err);
    void (*cancel)(void *running);
    void (*drop)(void *running);        /* cancel and free, without a callback */
};

/* A job with copies of its strings and lists. */
struct kept_job {
    struct runner_job job;
    struct arena *arena;
};

struct target_run {
    struct target *target;
    struct kept_job kept;
    struct runner_callbacks callbacks;
    void *running;                  /* the kind's handle; NULL while it waits */
    struct loop_timer *timer;       /* tells of a run that ended before it ran */
    struct err early;
};

struct target {
    struct loop *loop;
    const struct target_kind *kind;
    struct target_info info;
    VEC(struct target_run *) runs;  /* waiting and running, in order */
    int running;
};

/* ------------------------------------------------------------------------------------------- sim */

static void sim_describe(struct target_info *info) {
    int cores = os_cpu_count();
    snprintf(info->what, sizeof info->what, "device model on this machine, %d core%s", cores,
             cores == 1 ? "" : "s");
    info->modelled = true;
    /* An evaluation keeps two cores busy while it verifies (runner/embedded.c). */
    info->parallel = MAX_OF(1, cores / 2);
}

static void *sim_start(struct loop *loop, const struct runner_job *job,
                       const struct runner_callbacks *callbacks, struct err *err) {
    return runner_start(loop, job, callbacks, err);
}

static void sim_cancel(void *running) {
    runner_cancel(running);
}

static void sim_drop(void *running) {
    runner_drop(running);
}

static const struct target_kind kinds[] = {
    {"sim", sim_describe, sim_start, sim_cancel, sim_drop},
};

const char *target_kind_name(size_t index) {
    return index < COUNT_OF(kinds) ? kinds[index].name : NULL;
}

/* ------------------------------------------------------------------------------------------ jobs */

static const void *keep(struct arena *arena, const void *data, size_t size) {
    return data ? arena_dup(arena, data, size) : NULL;
}

static void keep_job(struct kept_job *kept, const struct runner_job *job) {
    struct arena *arena = kept->arena = arena_new();
    kept->job = *job;
    const char **texts[] = {&kept->job.kernel_path, &kept->job.kernel_text,
                            &kept->job.kernel_name, &kept->job.incumbent_text,
                            &kept->job.reference_path, &kept->job.device,
                            &kept->job.artifact_folder};
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        *texts[i] = arena_strdup(arena, *texts[i]);
    kept->job.inputs = keep(arena, job->inputs, job->input_count * sizeof *job->inputs);
    kept->job.seeds = keep(arena, job->seeds, job->seed_count * sizeof *job->seeds);
    if (!job->command)
        return;
    size_t count = 0;
    while (job->command[count])
        count++;
    const char **command = ARENA_ARRAY(arena, const char *, count + 1);
    for (size_t i = 0; i < count; i++)
        command[i] = arena_strdup(arena, job->command[i]);
    kept->job.command = command;
}

static void free_run(struct target_run *run) {
    loop_timer_stop(run->timer);
    arena_free(run->kept.arena);
    free(run);
}

static void take_out(struct target_run *run) {
    struct target *target = run->target;
    size_t kept = 0;
    for (size_t i = 0; i < target->runs.len; i++)
        if (target->runs.at[i] != run)
            target->runs.at[kept++] = target->runs.at[i];
    target->runs.len = kept;
}

static void start_waiting(struct target *target);

static void on_event(void *data, const struct runner_event *event) {
    struct target_run *run = data;
    if (run->callbacks.on_event)
        run->callbacks.on_event(run->callbacks.data, event);
}

static void on_done(void *data, struct runner_result *result) {
    struct target_run *run = data;
    run->target->running--;
    take_out(run);
    start_waiting(run->target);
    run->callbacks.on_done(run->callbacks.data, result);
    free_run(run);
}

/* A run that ended without having run. */
static void tell_early(void *data) {
    struct target_run *run = data;
    struct runner_result result = {.failure = run->early};
    run->timer = NULL;
    take_out(run);
    run->callbacks.on_done(run->callbacks.data, &result);
    runner_result_free(&result);
    free_run(run);
}

static void end_early(struct target_run *run) {
    if (!run->timer)
        run->timer = loop_timer_start(run->target->loop, 0, 0, tell_early, run);
}

static void start_waiting(struct target *target) {
    for (size_t i = 0; i < target->runs.len && target->running < target->info.parallel; i++) {
        struct target_run *run = target->runs.at[i];
        if (run->running || run->timer)
            continue;
        struct runner_callbacks callbacks = {on_event, on_done, run};
        run->running = target->kind->start(target->loop, &run->kept.job, &callbacks, &run->early);
        if (run->running)
            target->running++;
        else
            end_early(run);
    }
}

/* --------------------------------------------------------------------------------------- targets */

struct target *target_open(struct loop *loop, const char *name, const struct target_options *options,
                           struct err *err) {
    (void)options;
    const struct target_kind *kind = NULL;
    struct buf names = {0};
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        buf_printf(&names, "%s%s", i ? ", " : "", kinds[i].name);
        if (name && strcmp(name, kinds[i].name) == 0)
            kind = &kinds[i];
    }
    if (!kind)
        err_set(err, ERR_USAGE, "there is no target %s; there are: %s",
                name ? name : "without a name", names.at);
    buf_free(&names);
    if (!kind)
        return NULL;
    struct target *target = mem_alloc(1, sizeof *target);
    target->loop = loop;
    target->kind = kind;
    snprintf(target->info.name, sizeof target->info.name, "%s", name);
    kind->describe(&target->info);
    return target;
}

void target_free(struct target *target) {
    if (!target)
        return;
    for (size_t i = 0; i < target->runs.len; i++) {
        struct target_run *run = target->runs.at[i];
        if (run->running)
            target->kind->drop(run->running);
        free_run(run);
    }
    vec_free(&target->runs);
    free(target);
}

const struct target_info *target_describe(const struct target *target) {
    return &target->info;
}

struct target_run *target_start(struct target *target, const struct runner_job *job,
                                const struct runner_callbacks *callbacks, struct err *err) {
    if (!job->kernel_path) {
        err_set(err, ERR_USAGE, "there is no kernel to evaluate");
        return NULL;
    }
    struct target_run *run = mem_alloc(1, sizeof *run);
    run->target = target;
    run->callbacks = *callbacks;
    keep_job(&run->kept, job);
    *vec_push(&target->runs) = run;
    start_waiting(target);
    return run;
}

void target_cancel(struct target_run *run) {
    if (!run)
        return;
    if (run->running) {
        run->target->kind->cancel(run->running);
        return;
    }
    if (!run->timer)
        err_set(&run->early, ERR_CANCELLED, "the evaluation was cancelled");
    end_early(run);
}
