/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel migrated in this process, with what its inputs tell about it. */
#include "runner/embedded/private.h"

/* The shapes of the kernel's arguments, where they are known. */
static void find_shapes(struct evaluation *evaluation) {
    const struct runner_job *job = &evaluation->job;
    struct buf missing = {0};
    struct err none = {0};
    if (!inputs_open_files(evaluation, &none) || !here_find_kernel(evaluation, &none))
        return;
    if (job->reference_path && !job->input_count)
        evaluation->shapes = task_inputs_cached(job->reference_path, 0, true);
    if (!evaluation->shapes) {
        inputs_print_missing(evaluation, &missing);
        if (!missing.len)
            evaluation->shapes = inputs_from_job(evaluation);
    }
    buf_free(&missing);
}

bool runner_migrate(const struct runner_job *job, const char *from, const char *to,
                    struct migration *out, struct err *err) {
    struct evaluation evaluation = {.job = *job,
                                    .generation = device_generation_ask(job->device, err)};
    if (!evaluation.generation)
        return false;
    evaluation.arena = arena_new();
    find_shapes(&evaluation);
    struct migrate_options options = {.from = from,
                                      .to = to,
                                      .function = job->kernel_name,
                                      .generation = evaluation.generation->generation};
    if (evaluation.shapes)
        options.inputs = inputs_for_specialiser(&evaluation, evaluation.shapes, &options.n_inputs);
    bool ok = migrate_kernel(job->kernel_path, str_of(job->kernel_text), &options, out, err);
    task_inputs_free(evaluation.shapes);
    nki_tree_free(evaluation.tree);
    diag_free(&evaluation.diags);
    arena_free(evaluation.arena);
    return ok;
}
