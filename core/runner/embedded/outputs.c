/* SPDX-License-Identifier: Apache-2.0 */
/* What a kernel returned, as files that numpy reads. verify.c judges it. */
#include "runner/embedded/private.h"
#include "runner/embedded/npy.h"

#include <stdio.h>
#include <stdlib.h>

static bool write_output(const struct seed_run *run, const char *folder, size_t index,
                         struct err *err) {
    char name[48], file[64];
    snprintf(name, sizeof name, "output_%zu", index);
    snprintf(file, sizeof file, "%s.npy", name);
    char *path = path_join(folder, file);
    bool ok = npy_write(path, &run->outputs[index], err);
    if (ok)
        events_write(&(struct runner_event){.kind = RUNNER_ARTIFACT,
                                            .name = name,
                                            .text = path,
                                            .seed = run->seed,
                                            .array = &run->outputs[index]});
    free(path);
    return ok;
}

bool outputs_write(const struct seed_run *run, struct err *err) {
    const struct evaluation *evaluation = run->evaluation;
    char seed[48];
    snprintf(seed, sizeof seed, "seed_%lld", (long long)run->seed);
    char *folder = evaluation->reference ? path_join(evaluation->job.output_folder, seed)
                                         : mem_strdup(evaluation->job.output_folder);
    bool ok = file_make_dirs(folder, err);
    for (size_t i = 0; ok && i < evaluation->program->outputs.len; i++)
        ok = write_output(run, folder, i, err);
    free(folder);
    return ok;
}
