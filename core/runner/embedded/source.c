/* SPDX-License-Identifier: Apache-2.0 */
/* What is said of a kernel from its source alone: its dialect, the release it is for, and what the
 * compiler of that release refuses. */
#include "runner/embedded/private.h"

#include <stdio.h>

void evaluation_name_language(struct evaluation *evaluation) {
    struct runner_result *result = &evaluation->result;
    const char *asked = evaluation->job.release;
    struct nki_dialect_info dialect = nki_detect_dialect(evaluation->tree);
    const char *release = asked ? nki_release_find(asked) : nki_release_newest();
    snprintf(result->dialect, sizeof result->dialect, "%s", nki_dialect_name(dialect.dialect));
    if (dialect.dialect != NKI_DIALECT_LEGACY)
        snprintf(result->release, sizeof result->release, "%s",
                 release ? release : nki_release_newest());
}

bool evaluation_find_kernel(struct evaluation *evaluation, struct err *err) {
    const char *given = evaluation->job.kernel_name;
    evaluation->kernel = nki_find_kernel(evaluation->tree, given, err);
    if (!evaluation->kernel)
        return false;
    struct str name = nki_kernel_name(evaluation->tree, evaluation->kernel, given);
    snprintf(evaluation->result.kernel_name, sizeof evaluation->result.kernel_name, STR_FMT,
             STR_ARG(name));
    return true;
}

/* A check looks at all of the file and tells everything. An evaluation looks at what the kernel
 * needs, and at what refuses it. */
void evaluation_lint(struct evaluation *evaluation) {
    const struct runner_job *job = &evaluation->job;
    struct diag_list found = {0};
    struct err ignored = {0};
    struct nki_lint_options options = {.strict = job->strict,
                                       .release = job->release,
                                       .generation = evaluation->generation->generation};
    if (evaluation->tree->errors)
        return;
    if (!job->check_only || job->kernel_name)
        options.kernel = nki_find_kernel(evaluation->tree, job->kernel_name, &ignored);
    nki_lint(evaluation->tree, &options, &found);
    for (size_t i = 0; i < found.all.len; i++)
        if (job->check_only || found.all.at[i].severity == DIAG_ERROR)
            diag_copy(&evaluation->diags, &found.all.at[i]);
    diag_free(&found);
}
