/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel's whole timeline, in this process: what questions to a profile are answered from. */
#include "runner/embedded/private.h"

#include <stdlib.h>

/* The first error among the findings says more than that there is one. */
static bool refused(const struct evaluation *evaluation, struct err *err) {
    for (size_t i = 0; i < evaluation->diags.all.len; i++) {
        const struct diag *diag = &evaluation->diags.all.at[i];
        if (diag->severity == DIAG_ERROR)
            return err_set(err, ERR_KERNEL, "%.120s:%d: %.240s; hone check shows all findings",
                           diag->file, diag->line, diag->message);
    }
    return err_set(err, ERR_KERNEL, "%.200s has no profile; hone check says why",
                   evaluation->job.kernel_path);
}

static bool time_it(struct evaluation *evaluation, struct runner_timed *timed, struct err *err) {
    const struct device_constants *constants = &evaluation->constants;
    evaluation->image =
        device_load(evaluation->program, evaluation->generation, &evaluation->diags);
    if (!evaluation->image)
        return refused(evaluation, err);
    evaluation->profile = device_time_with(evaluation->image, constants);
    if (!evaluation->profile)
        return refused(evaluation, err);
    evaluation_use_task_floor(evaluation);
    *timed = (struct runner_timed){evaluation->program, evaluation->image, evaluation->profile,
                                   device_trace_make(evaluation->image, constants),
                                   evaluation->generation};
    evaluation->program = NULL;
    evaluation->image = NULL;
    return true;
}

bool runner_time(const struct runner_job *job, struct runner_timed *timed, struct err *err) {
    static const int64_t first_seed[] = {0};
    struct evaluation evaluation = {.job = *job,
                                    .generation = device_generation_ask(job->device, err)};
    *timed = (struct runner_timed){0};
    if (!evaluation.generation)
        return false;
    if (!evaluation.job.seeds)
        evaluation.job.seeds = first_seed;
    evaluation.arena = arena_new();
    bool ok = evaluation_choose_constants(&evaluation, err) &&
              inputs_open_files(&evaluation, err) && here_find_kernel(&evaluation, err) &&
              here_find_inputs(&evaluation, err);
    if (ok && !here_specialise(&evaluation, err))
        ok = refused(&evaluation, err);
    ok = ok && time_it(&evaluation, timed, err);
    task_inputs_free(evaluation.shapes);
    device_unload(evaluation.image);
    if (evaluation.program)
        nki_program_free(evaluation.program);
    nki_tree_free(evaluation.tree);
    diag_free(&evaluation.diags);
    arena_free(evaluation.arena);
    return ok;
}

void runner_timed_free(struct runner_timed *timed) {
    device_trace_free(timed->trace);
    device_profile_free(timed->profile);
    device_unload(timed->image);
    if (timed->program)
        nki_program_free(timed->program);
    *timed = (struct runner_timed){0};
}
