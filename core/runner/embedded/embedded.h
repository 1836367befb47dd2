/* SPDX-License-Identifier: Apache-2.0 */
/* The embedded runner: an evaluation on the device model, in the process that `hone runner` is, and
 * the part of it that commands do in their own process. */
#ifndef HONE_RUNNER_EMBEDDED_EMBEDDED_H
#define HONE_RUNNER_EMBEDDED_EMBEDDED_H

#include "device/device.h"
#include "migrate/migrate.h"
#include "runner/protocol/protocol.h"

/* Finds compile errors, lints and broken hardware limits in this process, at once. Shapes come from
 * the job's inputs or from the cache of its reference. Without them only the source is checked.
 * Fills kernel_name, device, dialect, instructions, diagnostics and "compiles" of the result, which
 * the caller frees (runner_result_free). False and *err for a device that does not exist. */
bool runner_check(const struct runner_job *job, struct runner_result *result, struct err *err);
/* What a kernel computes, as core/lift finds it. */
struct runner_lift {
    struct buf graph, words; /* JSON as of a recorded reference; lines for a person */
    bool whole;              /* nothing that an output hangs on stayed opaque */
    bool compared;           /* with the kernel's own results; else why not, in `unchecked` */
    double error;            /* relative L2 over so many elements */
    size_t elements, opaque, instructions;
    double tolerance; /* the reference's; 0: it has none */
    struct err unchecked;
};
/* Lifts a kernel for the inputs of the job's first seed, which are in the cache of its reference or
 * come from the job. With `compares` the kernel is executed on them. False and *err where it cannot
 * be read, does not compile or is too long. The caller frees with runner_lift_free. */
bool runner_lift(const struct runner_job *job, bool compares, struct runner_lift *lift,
                 struct err *err) CC_MUST_USE;
void runner_lift_free(struct runner_lift *lift);
/* Migrates a kernel (core/migrate) from one release of nki to another, with the shapes of the job's
 * inputs, or of its reference if the cache has them. */
bool runner_migrate(const struct runner_job *job, const char *from, const char *to,
                    struct migration *out, struct err *err) CC_MUST_USE;
/* A kernel with its whole timeline, nothing of its loops left out. */
struct runner_timed {
    struct nki_program *program;
    struct device_image *image;
    struct device_profile *profile;
    struct device_trace *trace;
    const struct device_generation *generation;
};
/* Times a kernel on the device model for the inputs of the job's first seed, which are found as for
 * runner_lift. The caller frees with runner_timed_free. */
bool runner_time(const struct runner_job *job, struct runner_timed *timed,
                 struct err *err) CC_MUST_USE;
void runner_timed_free(struct runner_timed *timed);
/* The embedded runner itself: a job on stdin, events on stdout. Returns the exit status of the
 * process. */
int runner_main(void);

/* A reference's arguments as the specialiser takes them, *count of them, in the arena. Their texts
 * and data remain the values'. */
struct nki_input;
struct nki_input *runner_inputs_of(struct arena *arena, const struct task_inputs *values,
                                   size_t *count);

#endif
