/* SPDX-License-Identifier: Apache-2.0 */
/* Places where kernels are evaluated. This file finds the kind that a name belongs to, and keeps
 * what people can see of the place. It also has the queue: a place runs as many evaluations at once
 * as it can without slowing each other, and the rest wait for their turn. How an evaluation gets to
 * a place is the business of its kind (target/kind). */
#include "target/target.h"

#include <stdio.h>
#include <stdlib.h>

#include "target/host/host.h"
#include "target/kind/kind.h"
#include "target/slurm/slurm.h"

static const struct target_kind *const kinds[] = {&target_sim, &target_slurm, &target_ssh};

/* A job, with copies of its strings and lists. */
struct kept_job {
    struct runner_job job;
    struct arena *arena;
};

struct target_run {
    struct target *target;
    struct kept_job kept;
    struct runner_callbacks callbacks;
    void *running; /* the kind's handle; NULL while it waits */
    int64_t since_ms;
    struct loop_timer *timer; /* reports a run that ended before it ran */
    struct err early;
};

struct target {
    struct loop *loop;
    const struct target_kind *kind;
    void *self; /* the kind's instance */
    struct target_board *board;
    VEC(struct target_run *) runs; /* waiting and running, in order */
    int running;
    void (*changed)(void *data);
    void *changed_data;
    struct loop_timer *telling; /* `changed` is about to be called */
};

/* ---------------------------------------------------------------------------------------- jobs */

static const void *keep(struct arena *arena, const void *data, size_t size) {
    return data ? arena_dup(arena, data, size) : NULL;
}

static const struct runner_input *keep_inputs(struct arena *arena, const struct runner_job *job) {
    struct runner_input *inputs = ARENA_ARRAY(arena, struct runner_input, job->input_count);
    for (size_t i = 0; i < job->input_count; i++) {
        inputs[i] = job->inputs[i];
        inputs[i].file = arena_strdup(arena, inputs[i].file);
    }
    return inputs;
}

static void keep_job(struct kept_job *kept, const struct runner_job *job) {
    struct arena *arena = kept->arena = arena_new();
    kept->job = *job;
    const char **texts[] = {
        &kept->job.kernel_path,     &kept->job.kernel_text,    &kept->job.kernel_name,
        &kept->job.incumbent_text,  &kept->job.reference_path, &kept->job.device,
        &kept->job.artifact_folder, &kept->job.output_folder,  &kept->job.session,
        &kept->job.occasion,        &kept->job.model,          &kept->job.constants,
        &kept->job.parent_text};
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        *texts[i] = arena_strdup(arena, *texts[i]);
    kept->job.inputs = keep_inputs(arena, job);
    kept->job.settings = NULL; /* those of the place, not of the caller */
    kept->job.setting_count = 0;
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
    target_tell(run->target->board);
    start_waiting(run->target);
    run->callbacks.on_done(run->callbacks.data, result);
    free_run(run);
}

/* Reports a run that ended without having run. */
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

/* The oldest that waits, those that are to be first before the others; NULL: none does. */
static struct target_run *next_waiting(const struct target *target) {
    struct target_run *next = NULL;
    for (size_t i = 0; i < target->runs.len; i++) {
        struct target_run *run = target->runs.at[i];
        bool waits = !run->running && !run->timer;
        if (waits && (!next || (run->kept.job.first && !next->kept.job.first)))
            next = run;
    }
    return next;
}

static void start_waiting(struct target *target) {
    struct target_run *run;
    while (target->running < target->board->info.parallel && (run = next_waiting(target))) {
        struct runner_callbacks callbacks = {on_event, on_done, run};
        run->running = target->kind->start(target->self, &run->kept.job, &callbacks, &run->early);
        if (run->running)
            target->running++;
        else
            end_early(run);
    }
}

/* ------------------------------------------------------------------------------------- targets */

static void tell(void *data);

static const struct target_kind *find_kind(const char *name, const struct target_options *options,
                                           struct err *err) {
    struct buf names = {0};
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        if (name && *name && kinds[i]->takes(name, options)) {
            buf_free(&names);
            return kinds[i];
        }
        if (kinds[i]->list)
            kinds[i]->list(options, &names);
    }
    err_set(err, ERR_USAGE, "there is no target %.60s; there are: %.300s",
            name && *name ? name : "without a name", names.len > 2 ? names.at + 2 : "none");
    buf_free(&names);
    return NULL;
}

struct target *target_open(struct loop *loop, const char *name,
                           const struct target_options *options, struct err *err) {
    static const struct target_options none = {0};
    options = options ? options : &none;
    const struct target_kind *kind = find_kind(name, options, err);
    if (!kind)
        return NULL;
    struct target *target = mem_alloc(1, sizeof *target);
    struct target_board *board = mem_alloc(1, sizeof *board);
    *target = (struct target){.loop = loop, .kind = kind, .board = board};
    board->told = tell;
    board->told_data = target;
    board->info.parallel = 1;
    board->info.kind = kind->name;
    snprintf(board->info.name, sizeof board->info.name, "%s", name);
    board->status.since_ms = clock_wall_ms();
    target->self = kind->open(loop, name, options, board, err);
    if (target->self)
        return target;
    target_free(target);
    return NULL;
}

void target_free(struct target *target) {
    if (!target)
        return;
    loop_timer_stop(target->telling);
    target->changed = NULL;
    for (size_t i = 0; i < target->runs.len; i++) {
        struct target_run *run = target->runs.at[i];
        if (run->running)
            target->kind->drop(run->running);
        free_run(run);
    }
    if (target->self)
        target->kind->close(target->self);
    vec_free(&target->runs);
    vec_free(&target->board->status.cores);
    vec_free(&target->board->status.entries);
    free(target->board);
    free(target);
}

const struct target_info *target_describe(const struct target *target) {
    return &target->board->info;
}

/* ------------------------------------------------------------------------------ what is to see */

static void tell_changed(void *data) {
    struct target *target = data;
    target->telling = NULL;
    if (target->changed)
        target->changed(target->changed_data);
}

static void tell(void *data) {
    struct target *target = data;
    if (target->changed && !target->telling)
        target->telling = loop_timer_start(target->loop, 0, 0, tell_changed, target);
}

void target_listen(struct target *target, void (*changed)(void *data), void *data) {
    target->changed = changed;
    target->changed_data = data;
}

static void entry_fill(const struct target_run *run, struct target_entry *entry) {
    const struct runner_job *job = &run->kept.job;
    *entry = (struct target_entry){.since_ms = run->since_ms};
    snprintf(entry->kernel, sizeof entry->kernel, "%s",
             job->kernel_name ? job->kernel_name : path_base(job->kernel_path));
    snprintf(entry->state, sizeof entry->state, "%s", run->running ? "running" : "waiting");
    if (!run->running)
        snprintf(entry->reason, sizeof entry->reason, "%d other%s run%s", run->target->running,
                 PLURAL(run->target->running), run->target->running == 1 ? "s" : "");
    else if (run->target->kind->look)
        run->target->kind->look(run->running, entry);
}

const struct target_status *target_look(const struct target *target) {
    struct target_board *board = target->board;
    board->status.entries.len = 0;
    for (size_t i = 0; i < target->runs.len; i++)
        entry_fill(target->runs.at[i], vec_push(&board->status.entries));
    return &board->status;
}

void target_watch(struct target *target) {
    target->board->watched_ms = clock_wall_ms();
}

const struct target_question *target_asks(const struct target *target) {
    return target->board->asks ? &target->board->question : NULL;
}

void target_answer(struct target *target, const char *answer) {
    if (target->board->asks && target->kind->answer)
        target->kind->answer(target->self, answer);
}

void target_retry(struct target *target) {
    if (target->kind->retry)
        target->kind->retry(target->self);
}

/* ---------------------------------------------------------------------- commands of the runner */

struct target_ask {
    const struct target_kind *kind;
    void *asked;                 /* the kind's handle */
    struct target_ask_spec spec; /* the caller's callbacks */
};

static void on_ask_event(void *data, const char *name, const struct cJSON *event) {
    struct target_ask *ask = data;
    if (ask->spec.on_event)
        ask->spec.on_event(ask->spec.data, name, event);
}

static void on_ask_line(void *data, struct str line) {
    struct target_ask *ask = data;
    if (ask->spec.on_line)
        ask->spec.on_line(ask->spec.data, line);
}

static void on_ask_done(void *data, const struct err *why) {
    struct target_ask *ask = data;
    struct target_ask_spec spec = ask->spec;
    free(ask);
    spec.on_done(spec.data, why);
}

struct target_ask *target_ask_start(struct target *target, const struct target_ask_spec *spec,
                                    struct err *err) {
    const struct target_board *board = target->board;
    if (!target->kind->ask) {
        err_set(err, ERR_USAGE, "%s (%s) has no runner that could be asked", board->info.name,
                board->info.what);
        return NULL;
    }
    if (board->status.state != TARGET_READY) {
        err_set(err, ERR_ENVIRONMENT, "%s: %s", board->info.name, board->status.text);
        return NULL;
    }
    struct target_ask *ask = mem_alloc(1, sizeof *ask);
    *ask = (struct target_ask){.kind = target->kind, .spec = *spec};
    struct target_ask_spec own = {.argv = spec->argv,
                                  .limit_s = spec->limit_s,
                                  .on_event = on_ask_event,
                                  .on_line = on_ask_line,
                                  .on_done = on_ask_done,
                                  .data = ask};
    ask->asked = target->kind->ask(target->self, &own, err);
    if (ask->asked)
        return ask;
    free(ask);
    return NULL;
}

void target_ask_drop(struct target_ask *ask) {
    if (!ask)
        return;
    ask->kind->ask_drop(ask->asked);
    free(ask);
}

/* ---------------------------------------------------------------------------------------- runs */

struct target_run *target_start(struct target *target, const struct runner_job *job,
                                const struct runner_callbacks *callbacks, struct err *err) {
    if (!job->kernel_path) {
        err_set(err, ERR_USAGE, "there is no kernel to evaluate");
        return NULL;
    }
    struct target_run *run = mem_alloc(1, sizeof *run);
    run->target = target;
    run->callbacks = *callbacks;
    run->since_ms = clock_wall_ms();
    keep_job(&run->kept, job);
    *vec_push(&target->runs) = run;
    start_waiting(target);
    target_tell(target->board);
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
