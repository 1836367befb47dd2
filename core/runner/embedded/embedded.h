/* SPDX-License-Identifier: Apache-2.0 */
/* The embedded runner: an evaluation on the device model, in the process that `hone runner` is, and
 * the part of it that commands do in their own process. */
#ifndef HONE_RUNNER_EMBEDDED_EMBEDDED_H
#define HONE_RUNNER_EMBEDDED_EMBEDDED_H

#include "runner/protocol/protocol.h"

/* Finds compile errors, lints and broken hardware limits in this process, at once. Shapes come from
 * the job's inputs or from the cache of its reference. Without them only the source is checked.
 * Fills kernel_name, device, dialect, instructions, diagnostics and "compiles" of the result, which
 * the caller frees (runner_result_free). False and *err for a device that does not exist. */
bool runner_check(const struct runner_job *job, struct runner_result *result, struct err *err);
/* The embedded runner itself: a job on stdin, events on stdout. Returns the exit status of the
 * process. */
int runner_main(void);

/* One argument of a reference as the specialiser takes it, without a name. Its texts and data
 * remain the value's. */
struct nki_input;
void runner_input_of(const struct task_value *value, struct nki_input *input);

#endif
