/* SPDX-License-Identifier: Apache-2.0 */
/* One evaluation inside the embedded runner's process. */
#ifndef HONE_RUNNER_EMBEDDED_PRIVATE_H
#define HONE_RUNNER_EMBEDDED_PRIVATE_H

#include "device/device.h"
#include "nki/nki.h"
#include "runner/embedded/embedded.h"
#include "runner/machine/machine.h"
#include "runner/protocol/inner.h"

struct evaluation;

/* One seed on its way: inputs, the kernel's outputs, the comparison. */
struct seed_run {
    struct evaluation *evaluation;
    int64_t seed;
    struct task_inputs *inputs;
    struct array *outputs; /* as many as the program has; data is freed after comparing */
    uint64_t asked_ns;
    double execute_s;
    struct err err; /* of the execution */
    struct task_comparison comparison;
    bool executed, compared, told;
};

struct evaluation {
    struct loop *loop;
    struct arena *arena;
    struct runner_job job;
    const struct device_generation *generation;
    struct diag_list diags;
    size_t diags_told;
    struct nki_tree *tree;
    const struct nki_node *kernel;
    struct task_inputs *shapes; /* the first seed's arguments, or those made from the job */
    struct task_reference *reference;
    struct nki_program *program;
    struct device_image *image;
    struct device_profile *profile;
    struct runner_result result;
    struct seed_run *runs;
    size_t run_count, next_run, running, parallel;
    uint64_t live_bytes;                   /* most that a run has at once */
    double inputs_s, execute_s, compare_s; /* sums over the seeds */
    volatile int cancel;
    bool stopping, compiled;
};

/* Ends the evaluation with what the result holds by now; called once, on the loop's thread. */
void evaluation_finish(struct evaluation *evaluation);
/* Writes findings that were not told yet; false when there are errors among all of them, which
 * then settles "compiles". */
bool evaluation_tell_diags(struct evaluation *evaluation);

/* compile.c: specialises, checks and times on a worker thread; fills the result. */
void compile_work(struct evaluation *evaluation);

/* Seeds that run at once, where there are the cores and the memory. */
#define VERIFY_PARALLEL ((size_t)2)
/* verify.c: runs all seeds and compares them, then finishes. */
void verify_start(struct evaluation *evaluation);

/* inputs.c */
/* Completes the job's inputs that are files: dtype and shape from the header of an .npy, held
 * against what the job says. False and *err (usage) for a file that cannot be used. */
bool inputs_open_files(struct evaluation *evaluation, struct err *err) CC_MUST_USE;
/* False and *err (usage) when the job names an input that the kernel has no parameter for. */
bool inputs_name_parameters(const struct evaluation *evaluation, struct err *err);
/* The job's inputs as arguments in the order of the kernel's parameters, without numbers. */
struct task_inputs *inputs_from_job(const struct evaluation *evaluation) CC_MUST_USE;
/* The same with numbers: of the files, or random ones. NULL and *err when a file cannot be read. */
struct task_inputs *inputs_with_data(const struct evaluation *evaluation,
                                     struct err *err) CC_MUST_USE;
/* Arguments as the specialiser takes them; names only where they came from the job. */
struct nki_input *inputs_for_specialiser(struct evaluation *evaluation,
                                         const struct task_inputs *inputs);
/* Arguments as the device takes them, by the kernel's parameters (parameters that are not arrays
 * are empty there). The list lives in the arena, the data in `inputs`. */
struct array *inputs_for_device(const struct evaluation *evaluation,
                                const struct task_inputs *inputs, struct arena *arena,
                                size_t *count);
/* Names of the parameters that an argument is needed for, comma separated. */
void inputs_print_missing(const struct evaluation *evaluation, struct buf *out);

/* outputs.c: what a seed's run returned, as .npy files in the job's output folder: output_0.npy and
 * on, in a folder of the seed where there is a reference. False and *err when it cannot be
 * written. */
bool outputs_write(const struct seed_run *run, struct err *err);

/* profile.c: the profile as the artefact "profile". */
bool profile_write(const struct device_profile *profile, const struct nki_program *program,
                   const struct device_image *image, const char *path, struct err *err);

#endif
