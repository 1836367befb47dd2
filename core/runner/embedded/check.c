/* SPDX-License-Identifier: Apache-2.0 */
/* Checks a kernel in this process: parse, lint, specialise, limits. It is for commands and editors
 * that want findings at once. The budgets of the specialiser bound its time. */
#include "runner/embedded/private.h"

#include <stdio.h>
#include <stdlib.h>

static void check_with_inputs(struct evaluation *evaluation) {
    const struct runner_job *job = &evaluation->job;
    size_t n_inputs;
    const struct nki_input *inputs =
        inputs_for_specialiser(evaluation, evaluation->shapes, &n_inputs);
    struct nki_specialise_options options = {.function = evaluation->result.kernel_name,
                                             .generation = evaluation->generation->generation,
                                             .release = evaluation->job.release,
                                             .inputs = inputs,
                                             .n_inputs = n_inputs,
                                             .grid = {job->lnc},
                                             .max_instructions = (size_t)job->instruction_limit,
                                             .max_steps = (size_t)job->step_limit,
                                             .max_bytes = (size_t)job->value_limit,
                                             .every_error = true};
    evaluation->program = nki_specialise(evaluation->tree, &options, &evaluation->diags);
    if (!evaluation->program || evaluation->diags.errors)
        return;
    evaluation->result.instructions = evaluation->program->instrs.len;
    evaluation->result.lnc = evaluation->program->cores;
    evaluation->image =
        device_load(evaluation->program, evaluation->generation, &evaluation->diags);
}

/* Without shapes, what the kernel does before it needs them is checked against the limits all the
 * same. Only errors count. What only a whole program has to fulfil does not. */
static void check_without_inputs(struct evaluation *evaluation) {
    struct nki_specialise_options options = {.function = evaluation->result.kernel_name,
                                             .generation = evaluation->generation->generation,
                                             .release = evaluation->job.release,
                                             .max_instructions =
                                                 (size_t)evaluation->job.instruction_limit,
                                             .max_steps = (size_t)evaluation->job.step_limit,
                                             .max_bytes = (size_t)evaluation->job.value_limit,
                                             .partial = true};
    struct diag_list found = {0};
    evaluation->program = nki_specialise(evaluation->tree, &options, &found);
    if (evaluation->program)
        evaluation->image = device_load(evaluation->program, evaluation->generation, &found);
    for (size_t i = 0; i < found.all.len; i++) {
        const struct diag *diag = &found.all.at[i];
        if (diag->severity != DIAG_ERROR)
            continue;
        diag_copy(&evaluation->diags, diag);
    }
    diag_free(&found);
}

static void find_shapes(struct evaluation *evaluation, struct buf *missing) {
    const struct runner_job *job = &evaluation->job;
    if (job->reference_path && !job->input_count)
        evaluation->shapes =
            task_inputs_cached(job->reference_path, job->seeds ? job->seeds[0] : 0, true);
    if (evaluation->shapes)
        return;
    inputs_print_missing(evaluation, missing);
    if (!missing->len)
        evaluation->shapes = inputs_from_job(evaluation);
}

/* The further shapes of a task that has several, up to one with errors. */
static void check_other_shapes(struct evaluation *evaluation) {
    const struct runner_job *job = &evaluation->job;
    size_t count = evaluation->shapes->shape_count;
    int64_t seed = job->seeds ? job->seeds[0] : 0;
    for (size_t s = 1; s < count && evaluation->image && !evaluation->diags.errors; s++) {
        struct task_inputs *inputs =
            task_inputs_cached(job->reference_path, task_seed_of_shape(seed, s), true);
        if (!inputs)
            continue;
        struct device_kernel kernel = {evaluation->program, evaluation->image, NULL};
        device_kernel_free(&kernel);
        task_inputs_free(evaluation->shapes);
        evaluation->shapes = inputs;
        evaluation->image = NULL;
        check_with_inputs(evaluation);
    }
}

static void check_kernel(struct evaluation *evaluation) {
    struct task_judgement *compiles = &evaluation->result.verdict.compiles;
    struct err err = {0};
    struct buf missing = {0};
    if (!evaluation_find_kernel(evaluation, &err)) {
        diag_add(&evaluation->diags, DIAG_ERROR, "", evaluation->job.kernel_path, 1, 1, "%s",
                 err.text);
        return;
    }
    if (!inputs_name_parameters(evaluation, &err)) {
        diag_add(&evaluation->diags, DIAG_ERROR, "", evaluation->job.kernel_path, 0, 0, "%s",
                 err.text);
        return;
    }
    find_shapes(evaluation, &missing);
    if (evaluation->shapes) {
        check_with_inputs(evaluation);
        check_other_shapes(evaluation);
        if (evaluation->image)
            task_judge(compiles, TASK_YES, "%s", "");
    } else {
        check_without_inputs(evaluation);
        task_judge(compiles, TASK_NOT_ASKED,
                   "the shapes of %s are not known, so the kernel was checked only up to where it "
                   "needs them; give --reference FILE or --input NAME=4096x1024:float32",
                   missing.at);
    }
    buf_free(&missing);
}

static void check_source(struct evaluation *evaluation) {
    const struct runner_job *job = &evaluation->job;
    evaluation->tree = nki_parse(job->kernel_path, str_of(job->kernel_text), &evaluation->diags);
    evaluation_name_language(evaluation);
    if (evaluation->tree->errors)
        return;
    evaluation_lint(evaluation);
    if (!evaluation->diags.errors)
        check_kernel(evaluation);
}

bool runner_check(const struct runner_job *job, struct runner_result *result, struct err *err) {
    struct evaluation evaluation = {.job = *job,
                                    .generation = device_generation_ask(job->device, err)};
    if (!evaluation.generation)
        return false;
    evaluation.arena = arena_new();
    evaluation.job.check_only = true;
    snprintf(evaluation.result.device, sizeof evaluation.result.device, "%s",
             evaluation.generation->name);
    if (!inputs_open_files(&evaluation, err)) {
        arena_free(evaluation.arena);
        return false;
    }
    check_source(&evaluation);
    if (evaluation.diags.errors)
        task_judge(&evaluation.result.verdict.compiles, TASK_NO, "%zu error%s",
                   evaluation.diags.errors, PLURAL(evaluation.diags.errors));
    *result = evaluation.result;
    result->diagnostics = evaluation.diags;
    task_inputs_free(evaluation.shapes);
    device_unload(evaluation.image);
    if (evaluation.program)
        nki_program_free(evaluation.program);
    nki_tree_free(evaluation.tree);
    arena_free(evaluation.arena);
    return true;
}
