/* SPDX-License-Identifier: Apache-2.0 */
/* The embedded runner: the process that `hone runner` is. It reads a job from stdin, takes the
 * kernel through parse, inputs, specialise, check, time, execute and compare, and writes events. A
 * kernel that brings it down takes nobody else along. The files beside it do the stages. */
#include "runner/embedded/private.h"

#include "calibrate/calibrate.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MAX_JOB_BYTES ((size_t)64 << 20)
#define MAX_ERROR_REASON 200
#define REFERENCE_S 120.0 /* time for one answer of the reference about one seed */

static double seconds_since(uint64_t start_ns) {
    return (double)(clock_monotonic_ns() - start_ns) * 1e-9;
}

/* --------------------------------------------------------------------------------- the verdict */

bool evaluation_tell_diags(struct evaluation *evaluation) {
    struct diag_list *list = &evaluation->diags;
    const struct diag *first = NULL;
    for (size_t i = 0; i < list->all.len; i++) {
        const struct diag *diag = &list->all.at[i];
        if (i >= evaluation->diags_told)
            events_write(&(struct runner_event){.kind = RUNNER_DIAGNOSTIC, .diag = diag});
        if (!first && diag->severity == DIAG_ERROR)
            first = diag;
    }
    evaluation->diags_told = list->all.len;
    const char *kernel = evaluation->job.kernel_path;
    bool elsewhere = first && kernel && first->file && strcmp(first->file, kernel) != 0;
    if (first)
        task_judge(&evaluation->result.verdict.compiles, TASK_NO, "%.80s%sline %d: %.*s",
                   elsewhere ? path_base(first->file) : "", elsewhere ? ", " : "", first->line,
                   MAX_ERROR_REASON, first->message);
    return !first;
}

void evaluation_finish(struct evaluation *evaluation) {
    const char *python =
        evaluation->reference ? task_reference_python(evaluation->reference) : NULL;
    snprintf(evaluation->result.python, sizeof evaluation->result.python, "%s",
             python ? python : "");
    if (evaluation->inputs_s > 0)
        events_phase("inputs", evaluation->inputs_s);
    events_result(&evaluation->result);
    loop_stop(evaluation->loop);
}

static void fail(struct evaluation *evaluation, const struct err *err) {
    evaluation->result.failure = *err;
    evaluation_finish(evaluation);
}

/* ---------------------------------------------------------------------------------- the stages */

static void on_compile_work(void *data) {
    compile_work(data);
}

static void on_compile_done(void *data) {
    struct evaluation *evaluation = data;
    const struct runner_job *job = &evaluation->job;
    if (!evaluation->compiled || job->check_only || job->no_verify ||
        evaluation->result.failure.kind != ERR_NONE)
        shapes_next(evaluation);
    else
        verify_start(evaluation);
}

static void compile(struct evaluation *evaluation) {
    loop_job_start(evaluation->loop, on_compile_work, on_compile_done, evaluation);
}

static void choose_tolerance(struct evaluation *evaluation) {
    double own = evaluation->shapes->tolerance;
    evaluation->result.tolerance = evaluation->job.tolerance > 0 ? evaluation->job.tolerance
                                   : own > 0                     ? own
                                                                 : TASK_TOLERANCE;
}

/* As the reference is asked for it. */
static int64_t first_seed(const struct evaluation *evaluation) {
    return task_seed_of_shape(evaluation->job.seeds[0], evaluation->sums.shape);
}

static void on_first_inputs(void *data, struct task_inputs *inputs, const struct err *err) {
    struct evaluation *evaluation = data;
    if (!inputs) {
        fail(evaluation, err);
        return;
    }
    task_inputs_free(evaluation->shapes);
    evaluation->shapes = inputs;
    choose_tolerance(evaluation);
    if (!evaluation->job.check_only && !evaluation->job.no_verify)
        task_reference_forward(evaluation->reference, first_seed(evaluation));
    compile(evaluation);
}

static void ask_reference(struct evaluation *evaluation) {
    struct err err = {0};
    const struct task_walling inside = {.level = "inside"};
    double limit_s = evaluation->job.time_limit_s;
    struct task_reference_limits limits = {/* its own limit comes first, so that it is blamed */
                                           .seed_s = limit_s > 0 ? fmin(limit_s / 3, REFERENCE_S)
                                                                 : REFERENCE_S,
                                           .memory_bytes = evaluation->job.memory_limit,
                                           .wall = getenv("HONE_WALL") ? &inside : NULL};
    evaluation->reference =
        task_reference_open(evaluation->loop, evaluation->job.reference_path, &limits, &err);
    if (evaluation->reference)
        evaluation_begin_shape(evaluation);
    else
        fail(evaluation, &err);
}

void evaluation_begin_shape(struct evaluation *evaluation) {
    bool numbers = !evaluation->job.check_only && !evaluation->job.no_verify;
    if (!evaluation->reference)
        ask_reference(evaluation);
    else
        (numbers ? task_reference_prepare : task_reference_shapes)(
            evaluation->reference, first_seed(evaluation), on_first_inputs, evaluation);
}

/* Nothing says what the shapes are. So only a check can go on, with what the source alone shows. */
static void without_inputs(struct evaluation *evaluation, const char *missing) {
    if (evaluation->job.check_only) {
        task_judge(&evaluation->result.verdict.compiles, TASK_NOT_ASKED,
                   "the shapes of %s are not known, so only the source was checked", missing);
        evaluation_finish(evaluation);
        return;
    }
    struct err err;
    err_set(&err, ERR_USAGE,
            "the inputs of %s are not known: give --reference FILE, or --input "
            "NAME=SHAPE:DTYPE for each of %s",
            evaluation->result.kernel_name, missing);
    fail(evaluation, &err);
}

static void find_inputs(struct evaluation *evaluation) {
    const struct runner_job *job = &evaluation->job;
    if (job->reference_path && !job->input_count) {
        struct task_inputs *shapes =
            job->check_only ? task_inputs_cached(job->reference_path, job->seeds[0], true) : NULL;
        if (shapes)
            on_first_inputs(evaluation, shapes, NULL);
        else
            evaluation_begin_shape(evaluation);
        return;
    }
    struct buf missing = {0};
    struct err err = {0};
    if (!inputs_open_files(evaluation, &err) || !inputs_name_parameters(evaluation, &err)) {
        fail(evaluation, &err);
        return;
    }
    inputs_print_missing(evaluation, &missing);
    if (missing.len) {
        without_inputs(evaluation, missing.at);
    } else {
        evaluation->shapes = inputs_from_job(evaluation);
        choose_tolerance(evaluation);
        compile(evaluation);
    }
    buf_free(&missing);
}

static bool find_kernel(struct evaluation *evaluation) {
    struct err err = {0};
    if (evaluation_find_kernel(evaluation, &err))
        return true;
    diag_add(&evaluation->diags, DIAG_ERROR, "", evaluation->job.kernel_path, 1, 1, "%s", err.text);
    return evaluation_tell_diags(evaluation);
}

static void parse(struct evaluation *evaluation) {
    const struct runner_job *job = &evaluation->job;
    uint64_t start = clock_monotonic_ns();
    events_phase("parse", -1);
    evaluation->tree = nki_parse(job->kernel_path, str_of(job->kernel_text), &evaluation->diags);
    evaluation_name_language(evaluation);
    evaluation_lint(evaluation);
    events_phase("parse", seconds_since(start));
    if (evaluation_tell_diags(evaluation) && find_kernel(evaluation))
        find_inputs(evaluation);
    else
        evaluation_finish(evaluation);
}

bool evaluation_choose_constants(struct evaluation *evaluation, struct err *err) {
    const struct runner_job *job = &evaluation->job;
    evaluation->constants = *device_constants_of(evaluation->generation->generation);
    if (job->constants && !calibrate_constants(job->constants, &evaluation->constants, err))
        return false;
    if (job->pessimistic) {
        device_constants_worsen(&evaluation->constants, DEVICE_FITTED);
        device_constants_worsen(&evaluation->constants, DEVICE_GUESSED);
    }
    return true;
}

static void begin(void *data) {
    struct evaluation *evaluation = data;
    struct err err = {0};
    evaluation->generation = device_generation_ask(evaluation->job.device, &err);
    if (!evaluation->generation || !evaluation_choose_constants(evaluation, &err)) {
        fail(evaluation, &err);
        return;
    }
    snprintf(evaluation->result.device, sizeof evaluation->result.device, "%s",
             evaluation->generation->name);
    if (!evaluation->job.memory_limit)
        evaluation->job.memory_limit = runner_usual_memory();
    if (!evaluation->job.kernel_text) {
        char *text = file_read(evaluation->job.kernel_path, NKI_MAX_SOURCE, NULL, &err);
        evaluation->job.kernel_text = arena_strdup(evaluation->arena, text);
        free(text);
    }
    if (evaluation->job.kernel_text)
        parse(evaluation);
    else
        fail(evaluation, &err);
}

/* --------------------------------------------------------------------------------- the process */

static bool read_job(struct evaluation *evaluation, struct err *err) {
    struct buf text = {0};
    char chunk[65536];
    ssize_t n;
    while ((n = read(STDIN_FILENO, chunk, sizeof chunk)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 || text.len + (size_t)n > MAX_JOB_BYTES)
            break;
        buf_add(&text, chunk, (size_t)n);
    }
    bool ok = n == 0 && runner_job_parse(buf_str(&text), evaluation->arena, &evaluation->job, err);
    if (n != 0)
        err_set(err, ERR_USAGE, "the job cannot be read, or is larger than 64 MiB");
    buf_free(&text);
    return ok;
}

static void free_evaluation(struct evaluation *evaluation) {
    task_reference_free(evaluation->reference);
    loop_free(evaluation->loop);
    task_inputs_free(evaluation->shapes);
    free(evaluation->runs);
    device_profile_free(evaluation->profile);
    device_causes_free(evaluation->causes);
    device_unload(evaluation->image);
    if (evaluation->program)
        nki_program_free(evaluation->program);
    if (evaluation->tree)
        nki_tree_free(evaluation->tree);
    runner_result_free(&evaluation->result);
    diag_free(&evaluation->diags);
    arena_free(evaluation->arena);
}

/* The reference is a child of this process. It must neither look into this process nor outlive
 * it. */
static void stand_apart(void) {
    const char *wall = getenv("HONE_WALL");
    os_keep_private();
    if (wall && strcmp(wall, wall_name(WALL_BUBBLEWRAP)) == 0)
        (void)!os_limit_processes(wall_processes_most());
}

int runner_main(void) {
    stand_apart();
    if (getenv(RUNNER_SERIES)) {
        os_end_unheard(STDOUT_FILENO);
        evaluation_series();
        return 0;
    }
    struct evaluation evaluation = {.arena = arena_new(), .loop = loop_new()};
    struct err err = {0};
    os_end_unheard(STDOUT_FILENO);
    if (read_job(&evaluation, &err)) {
        loop_timer_start(evaluation.loop, 0, 0, begin, &evaluation);
        loop_run(evaluation.loop);
    } else {
        evaluation.result.failure = err;
        events_result(&evaluation.result);
    }
    free_evaluation(&evaluation);
    os_end_descendants(getpid());
    return 0;
}
