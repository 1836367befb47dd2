/* SPDX-License-Identifier: Apache-2.0 */
/* What a kernel computes, in this process: its program is lifted, and the graph is held against
 * what the device model makes of the first seed's inputs. */
#include "lift/lift.h"
#include "runner/embedded/private.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK_WORK 1.5e8 /* elements of arrays that are computed to compare: some seconds */

bool here_find_kernel(struct evaluation *evaluation, struct err *err) {
    const struct runner_job *job = &evaluation->job;
    evaluation->tree = nki_parse(job->kernel_path, str_of(job->kernel_text), &evaluation->diags);
    if (evaluation->tree->errors)
        return err_set(err, ERR_KERNEL, "%s cannot be read; hone check says why", job->kernel_path);
    if (!evaluation_find_kernel(evaluation, err))
        return false;
    return inputs_name_parameters(evaluation, err);
}

bool here_find_inputs(struct evaluation *evaluation, struct err *err) {
    const struct runner_job *job = &evaluation->job;
    struct buf missing = {0};
    if (job->reference_path && !job->input_count)
        evaluation->shapes = task_inputs_cached(job->reference_path, job->seeds[0], false);
    else {
        inputs_print_missing(evaluation, &missing);
        if (!missing.len)
            evaluation->shapes = inputs_with_data(evaluation, err);
    }
    if (!evaluation->shapes && err->kind == ERR_NONE)
        err_set(err, ERR_USAGE,
                "the inputs%s%s are not known; give --reference FILE or --input "
                "NAME=4096x1024:float32",
                missing.len ? " " : "", missing.len ? missing.at : "");
    buf_free(&missing);
    return evaluation->shapes != NULL;
}

bool here_specialise(struct evaluation *evaluation, struct err *err) {
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
                                             .max_bytes = (size_t)job->value_limit};
    evaluation->program = nki_specialise(evaluation->tree, &options, &evaluation->diags);
    if (evaluation->program && !evaluation->diags.errors)
        return true;
    return err_set(err, ERR_KERNEL, "%s does not compile; hone check says why", job->kernel_path);
}

/* The kernel's own results. */
static bool execute(struct evaluation *evaluation, struct array *outputs, struct err *err) {
    size_t count = 0;
    evaluation->image =
        device_load(evaluation->program, evaluation->generation, &evaluation->diags);
    if (!evaluation->image)
        return err_set(err, ERR_KERNEL, "it breaks a limit of the hardware; hone check says which");
    struct array *inputs =
        inputs_for_device(evaluation, evaluation->shapes, evaluation->arena, &count);
    struct device_limits limits = {.memory_bytes = 0};
    return device_execute(evaluation->image, inputs, count, outputs, &limits, err);
}

static void compare(struct evaluation *evaluation, const struct lifted *lifted,
                    struct runner_lift *lift) {
    size_t n = evaluation->program->outputs.len, count = 0;
    struct array *outputs = mem_alloc(n + 1, sizeof *outputs);
    lift->compared = execute(evaluation, outputs, &lift->unchecked);
    if (lift->compared) {
        const struct array *inputs =
            inputs_for_device(evaluation, evaluation->shapes, evaluation->arena, &count);
        lift->error = lifted_check(lifted, inputs, outputs, CHECK_WORK, &lift->elements);
    }
    for (size_t i = 0; i < n; i++)
        free(outputs[i].data);
    free(outputs);
}

static bool lift_program_of(struct evaluation *evaluation, bool compares, struct runner_lift *lift,
                            struct err *err) {
    struct lifted *lifted = lift_program(evaluation->program, NULL, err);
    if (!lifted)
        return false;
    lift->instructions = evaluation->program->instrs.len;
    lift->whole = lifted_is_whole(lifted);
    lift->opaque = lifted_opaque_count(lifted);
    lift->tolerance = evaluation->shapes->tolerance;
    size_t count = 0;
    const struct nki_input *inputs = inputs_for_specialiser(evaluation, evaluation->shapes, &count);
    lifted_print_graph(lifted, inputs, count, &lift->graph);
    lifted_print_words(lifted, &lift->words);
    if (compares && lift->whole)
        compare(evaluation, lifted, lift);
    lifted_free(lifted);
    return true;
}

bool runner_lift(const struct runner_job *job, bool compares, struct runner_lift *lift,
                 struct err *err) {
    static const int64_t first_seed[] = {0};
    struct evaluation evaluation = {.job = *job,
                                    .generation = device_generation_ask(job->device, err)};
    *lift = (struct runner_lift){.error = NAN};
    if (!evaluation.generation)
        return false;
    if (!evaluation.job.seeds)
        evaluation.job.seeds = first_seed;
    evaluation.arena = arena_new();
    bool ok = inputs_open_files(&evaluation, err) && here_find_kernel(&evaluation, err) &&
              here_find_inputs(&evaluation, err) && here_specialise(&evaluation, err) &&
              lift_program_of(&evaluation, compares, lift, err);
    task_inputs_free(evaluation.shapes);
    device_unload(evaluation.image);
    if (evaluation.program)
        nki_program_free(evaluation.program);
    nki_tree_free(evaluation.tree);
    diag_free(&evaluation.diags);
    arena_free(evaluation.arena);
    return ok;
}

void runner_lift_free(struct runner_lift *lift) {
    buf_free(&lift->graph);
    buf_free(&lift->words);
}
