/* SPDX-License-Identifier: Apache-2.0 */
/* From syntax tree to latency: specialise, check, time, each a phase of the evaluation. It runs on
 * a worker thread, so that Python can be served meanwhile. */
#include "runner/embedded/private.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_RESULT_LINES 5000
/* Instructions that folding loops has to leave out: for fewer, looking for a steady state costs
 * more. Where the timeline is kept, as many as it has no room for. */
#define FOLD_LEAST 20000
#define FOLD_LEAST_SHOWN 1000000

static double seconds_since(uint64_t start_ns) {
    return (double)(clock_monotonic_ns() - start_ns) * 1e-9;
}

static struct nki_specialise_options options_with(const struct evaluation *evaluation,
                                                  const char *function,
                                                  const struct nki_input *inputs, size_t n_inputs) {
    const struct runner_job *job = &evaluation->job;
    return (struct nki_specialise_options){.function = function,
                                           .generation = evaluation->generation->generation,
                                           .release = evaluation->job.release,
                                           .inputs = inputs,
                                           .n_inputs = n_inputs,
                                           .grid = {job->lnc},
                                           .max_instructions = (size_t)job->instruction_limit,
                                           .max_steps = (size_t)job->step_limit,
                                           .max_bytes = (size_t)job->value_limit};
}

static struct nki_specialise_options options_for(struct evaluation *evaluation,
                                                 const char *function) {
    size_t count;
    const struct nki_input *inputs = inputs_for_specialiser(evaluation, evaluation->shapes, &count);
    return options_with(evaluation, function, inputs, count);
}

static void copy(char *to, size_t size, const char *from) {
    snprintf(to, size, "%s", from ? from : "");
}

/* Names of engines as they are shown, in the order of enum nki_engine. */
static const char *engine_title(enum nki_engine engine) {
    static const char *const titles[NKI_ENGINE_COUNT] = {"",    "Tensor", "Scalar", "GpSimd",
                                                         "DMA", "Vector", "Sync"};
    return titles[engine];
}

static void add_line(struct runner_result *result, const struct device_line *line) {
    enum nki_engine busiest = NKI_ENGINE_UNKNOWN;
    for (enum nki_engine e = NKI_ENGINE_UNKNOWN; e < NKI_ENGINE_COUNT; e++)
        if (line->engine_ns[e] > line->engine_ns[busiest])
            busiest = e;
    struct runner_line row = {.line = (int)line->line,
                              .share = line->share,
                              .us = line->share * result->latency_us,
                              .calls = (double)line->engine_calls[busiest],
                              .busy_us = line->engine_ns[busiest] / 1e3,
                              .instructions = line->instructions,
                              .hbm_bytes = line->hbm_bytes};
    copy(row.engine, sizeof row.engine, engine_title(busiest));
    *vec_push(&result->lines) = row;
}

static void take_profile(struct evaluation *evaluation) {
    const struct device_profile *profile = evaluation->profile;
    struct runner_result *result = &evaluation->result;
    result->latency_us = profile->latency_us;
    result->floor_us = profile->floor_us;
    result->floor_split_us = profile->floor_split_us;
    result->floor_any_us = profile->floor_any_us;
    struct device_interval doubt =
        device_interval_of(result->device, result->dialect, profile->bound);
    result->low_us = doubt.rows ? profile->latency_us * doubt.low : 0;
    result->high_us = doubt.rows ? profile->latency_us * doubt.high : 0;
    copy(result->floor_bound, sizeof result->floor_bound, profile->floor_bound);
    copy(result->bound, sizeof result->bound, profile->bound);
    for (size_t i = 0; i < profile->metrics.len; i++)
        events_metric(profile->metrics.at[i].name, profile->metrics.at[i].value,
                      profile->metrics.at[i].unit);
    for (size_t i = 0; i < profile->lines.len && result->lines.len < MAX_RESULT_LINES; i++)
        if (profile->lines.at[i].file == 0)
            add_line(result, &profile->lines.at[i]);
    for (size_t i = 0; i < profile->bounds.len; i++) {
        struct runner_bound row = {.busy_us = profile->bounds.at[i].busy_ns / 1000,
                                   .without_us = profile->bounds.at[i].without_ns / 1000};
        copy(row.name, sizeof row.name, profile->bounds.at[i].name);
        *vec_push(&result->bounds) = row;
    }
    task_judge_latency(&result->verdict, result->latency_us, result->floor_any_us);
}

void evaluation_tell_sample(double us, bool incumbent) {
    events_write(&(struct runner_event){
        .kind = RUNNER_SAMPLE, .value = us, .incumbent = incumbent, .modelled = true});
}

static void write_profile(struct evaluation *evaluation) {
    if (!evaluation->job.artifact_folder)
        return;
    struct err err = {0};
    char *path = path_join(evaluation->job.artifact_folder, "profile.json");
    if (file_make_dirs(evaluation->job.artifact_folder, &err) &&
        profile_write(evaluation, path, &err))
        events_write(
            &(struct runner_event){.kind = RUNNER_ARTIFACT, .name = "profile", .text = path});
    else
        evaluation->result.failure = err;
    free(path);
}

void evaluation_use_task_floor(struct evaluation *evaluation) {
    const struct task_work *work = evaluation->shapes ? &evaluation->shapes->work : NULL;
    if (!work || !work->known)
        return;
    struct device_need need = {.read_bytes = work->read_bytes,
                               .written_bytes = work->written * sizeof(float)};
    need.multiply_adds[DEVICE_NEED_FP32] = work->fp32;
    need.multiply_adds[DEVICE_NEED_BF16] = work->bf16;
    need.multiply_adds[DEVICE_NEED_FP8] = work->fp8;
    device_floor_of_task(evaluation->profile, evaluation->generation, &need);
}

static void tell_work(const struct evaluation *evaluation) {
    const struct task_work *work = evaluation->shapes ? &evaluation->shapes->work : NULL;
    if (work && work->known)
        events_metric("task_flops", 2 * (work->fp32 + work->bf16 + work->fp8), "flops");
}

/* Two more schedules: where one takes long, nobody waits for them. Of a folded program a part
 * would stand for the whole. */
#define MOST_FOR_RESTS 400000

static void tell_rests(struct evaluation *evaluation) {
    if (evaluation->program->instrs.len > MOST_FOR_RESTS || evaluation->program->folds.len)
        return;
    struct device_rests rests = device_rests_of(evaluation->image, &evaluation->constants);
    if (evaluation->causes) {
        evaluation->causes->fitted = rests.fitted;
        evaluation->causes->guessed = rests.guessed;
    }
    events_metric("fitted_rules_percent", 100 * rests.fitted, "%");
    events_metric("guessed_rules_percent", 100 * rests.guessed, "%");
}

static void time_kernel(struct evaluation *evaluation) {
    uint64_t start = clock_monotonic_ns();
    events_phase("time", -1);
    if (!evaluation->profile)
        evaluation->profile = device_time_with(evaluation->image, &evaluation->constants);
    evaluation_use_task_floor(evaluation);
    if (shapes_is_later(evaluation)) {
        events_phase("time", seconds_since(start));
        return;
    }
    tell_work(evaluation);
    if (!shapes_are_several(evaluation))
        evaluation_tell_sample(evaluation->profile->latency_us, false);
    take_profile(evaluation);
    evaluation->causes = device_causes_of(evaluation->image, &evaluation->constants,
                                          evaluation->job.artifact_folder != NULL);
    tell_rests(evaluation);
    if (evaluation->causes)
        device_causes_try(evaluation->causes, evaluation->image, &evaluation->constants);
    if (evaluation->causes)
        evaluation->result.causes = causes_json(evaluation->causes);
    events_phase("time", seconds_since(start));
    write_profile(evaluation);
    if (!shapes_are_several(evaluation)) /* of several the times are a mean */
        events_timed(&evaluation->result);
}

/* The latency of the kernel to beat, with the same inputs; 0 when it does not compile. */
static double time_incumbent(struct evaluation *evaluation) {
    struct diag_list diags = {0};
    double us = 0;
    struct nki_tree *tree =
        nki_parse("incumbent.py", str_of(evaluation->job.incumbent_text), &diags);
    struct nki_specialise_options options = options_for(evaluation, evaluation->job.kernel_name);
    options.fold_least = FOLD_LEAST;
    options.tracer = tracing_new(evaluation, tree);
    if (!tree->errors)
        us = device_kernel_latency(tree, &options, &evaluation->constants, &diags);
    tracing_free(options.tracer);
    nki_tree_free(tree);
    diag_free(&diags);
    return us;
}

static void judge_speed(struct evaluation *evaluation) {
    if (!evaluation->job.incumbent_text)
        return;
    uint64_t start = clock_monotonic_ns();
    events_phase("incumbent", -1);
    double was = time_incumbent(evaluation), is = evaluation->result.latency_us;
    evaluation->sums.incumbent_us = was;
    if (shapes_are_several(evaluation)) {
        events_phase("incumbent", seconds_since(start)); /* judged when all are timed */
        return;
    }
    if (was > 0) {
        evaluation_tell_sample(was, true);
        task_judge_speed(&evaluation->result.verdict,
                         (struct task_samples){&was, 1, true, evaluation->result.lnc},
                         (struct task_samples){&is, 1, true, evaluation->result.lnc});
    } else {
        task_judge(&evaluation->result.verdict.faster, TASK_INCONCLUSIVE,
                   "the incumbent does not compile");
    }
    events_phase("incumbent", seconds_since(start));
}

static void refuse(struct evaluation *evaluation, uint32_t at, const char *code, const char *format,
                   ...) CC_PRINTF(4, 5);
static void refuse(struct evaluation *evaluation, uint32_t at, const char *code, const char *format,
                   ...) {
    const struct nki_program *program = evaluation->program;
    const struct nki_loc *loc = at < program->locs.len ? &program->locs.at[at] : NULL;
    bool named = loc && loc->file < program->files.len;
    struct buf text = {0};
    va_list args;
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    diag_add(&evaluation->diags, DIAG_ERROR, code,
             named ? program->files.at[loc->file] : evaluation->job.kernel_path,
             loc ? (int)loc->line : 0, loc ? (int)loc->column : 0, "%s", text.at);
    buf_free(&text);
}

#define BESIDE_BYTES ((uint64_t)256 << 20) /* program, reference and inputs, roughly */

/* Without it, this process could be killed for lack of memory, or another one in its place. */
static bool is_put_aside(struct evaluation *evaluation, uint64_t bytes) {
    const char *text = getenv(RUNNER_ASIDE);
    uint64_t aside = text ? strtoull(text, NULL, 10) : 0;
    if (!aside || bytes <= aside)
        return true;
    evaluation->result.needs_bytes = bytes + BESIDE_BYTES;
    return err_set(&evaluation->result.failure, ERR_ENVIRONMENT,
                   "executing the kernel needs %.1f GB, of which %.1f GB were put aside",
                   (double)evaluation->result.needs_bytes * 1e-9, (double)aside * 1e-9);
}

/* Whether running the kernel for all seeds can end within the limits of time and memory. */
static bool execution_fits(struct evaluation *evaluation) {
    const struct runner_job *job = &evaluation->job;
    struct device_work work;
    device_expect(evaluation->image, &work);
    evaluation->live_bytes = work.bytes;
    double limit_s = job->time_limit_s > 0 ? job->time_limit_s : RUNNER_TIME_LIMIT_S;
    size_t seeds = job->reference_path ? job->seed_count : 1;
    double seconds = work.seconds * (double)seeds / (double)MIN_OF(seeds, VERIFY_PARALLEL);
    if (job->memory_limit && work.bytes > job->memory_limit)
        refuse(evaluation, work.large_loc, "hone-memory",
               "executing the kernel needs %.1f GiB for the tensors that are live here; an "
               "evaluation may use %.1f GiB (limits.memory_mb)",
               (double)work.bytes / (1 << 30), (double)job->memory_limit / (1 << 30));
    else if (seconds > limit_s)
        refuse(evaluation, work.slow_loc, "hone-time",
               "executing the kernel for %zu seed%s takes at least %.0f s of processor time, most "
               "of it here; an evaluation may take %.0f s (limits.evaluation_s)",
               seeds, PLURAL(seeds), seconds, limit_s);
    if (job->unrounded)
        diag_add(&evaluation->diags, DIAG_NOTE, "hone-unrounded", job->kernel_path, 0, 0,
                 "tiles of narrow floats keep float32 here, as nki.simulate has it with "
                 "NKI_PRECISE_FP=0; the device rounds them");
    return evaluation_tell_diags(evaluation) && is_put_aside(evaluation, work.bytes);
}

struct nki_program *compile_every_round(struct evaluation *evaluation, size_t most) {
    struct nki_specialise_options options = options_for(evaluation, evaluation->result.kernel_name);
    struct diag_list diags = {0};
    options.every_round = true;
    options.max_instructions = most;
    struct nki_program *program =
        tracing_specialise(evaluation, evaluation->tree, &options, &diags);
    diag_free(&diags);
    return program;
}

struct nki_program *compile_for(const struct evaluation *evaluation,
                                const struct task_inputs *inputs, const struct nki_number *told,
                                size_t n_told, struct arena *arena, struct diag_list *diags) {
    size_t count;
    const struct nki_input *list = runner_inputs_of(arena, inputs, &count);
    struct nki_specialise_options options =
        options_with(evaluation, evaluation->result.kernel_name, list, count);
    options.told = told;
    options.n_told = n_told;
    return tracing_specialise(evaluation, evaluation->tree, &options, diags);
}

/* Specialises and checks. *folded: whether rounds of loops were left out. */
static void compile(struct evaluation *evaluation, uint32_t rounds, bool *folded) {
    struct nki_specialise_options options = options_for(evaluation, evaluation->result.kernel_name);
    uint64_t start = clock_monotonic_ns();
    options.fold_rounds = rounds;
    options.fold_least = evaluation->job.artifact_folder ? FOLD_LEAST_SHOWN : FOLD_LEAST;
    options.was_folded = folded;
    options.every_error = true;
    *folded = false;
    events_phase("specialise", -1);
    evaluation->program =
        tracing_specialise(evaluation, evaluation->tree, &options, &evaluation->diags);
    events_phase("specialise", seconds_since(start));
    if (!evaluation->program || evaluation->diags.errors)
        return;
    start = clock_monotonic_ns();
    os_keep_memory();
    events_phase("check", -1);
    evaluation->image =
        device_load(evaluation->program, evaluation->generation, &evaluation->diags);
    events_phase("check", seconds_since(start));
}

/* With loops folded where only the latency is asked for. Where that cannot be had, and where there
 * is an error, all rounds are evaluated. */
static void compile_folded(struct evaluation *evaluation) {
    const struct runner_job *job = &evaluation->job;
    size_t findings = evaluation->diags.all.len;
    bool folded = false, may = job->no_verify && !job->check_only && !job->no_time;
    uint32_t rounds = may ? device_fold_rounds(NULL) : 0;
    while (rounds) {
        compile(evaluation, rounds, &folded);
        if (folded && evaluation->image)
            evaluation->profile = device_time_with(evaluation->image, &evaluation->constants);
        if (!folded || evaluation->profile)
            return;
        rounds = evaluation->image ? device_fold_rounds(evaluation->program) : 0;
        struct device_kernel kernel = {evaluation->program, evaluation->image, NULL};
        device_kernel_free(&kernel);
        evaluation->program = NULL;
        evaluation->image = NULL;
        diag_forget(&evaluation->diags, findings);
    }
    compile(evaluation, 0, &folded);
}

static void tell_size(struct evaluation *evaluation) {
    evaluation->result.instructions = nki_program_count(evaluation->program);
    evaluation->result.lnc = evaluation->program->cores;
}

void compile_work(struct evaluation *evaluation) {
    const struct runner_job *job = &evaluation->job;
    compile_folded(evaluation);
    if (evaluation->program && !shapes_is_later(evaluation))
        tell_size(evaluation);
    if (!evaluation_tell_diags(evaluation) || !evaluation->image)
        return;
    if (!job->check_only && !job->no_verify && !execution_fits(evaluation))
        return;
    task_judge(&evaluation->result.verdict.compiles, TASK_YES, "%s", "");
    evaluation->compiled = true;
    if (job->check_only || job->no_time)
        return;
    time_kernel(evaluation);
    judge_speed(evaluation);
}
