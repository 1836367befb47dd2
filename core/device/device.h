/* SPDX-License-Identifier: Apache-2.0 */
/* A NeuronCore: its generations, limits, the execution of a program, and its timing.
 *
 *     program ──device_load──▶ image ──┬─▶ device_execute  numbers, once per seed
 *     (limits checked, engines chosen, └─▶ device_time     the schedule: latency, metrics, timeline
 *      life spans known)
 */
#ifndef HONE_DEVICE_DEVICE_H
#define HONE_DEVICE_DEVICE_H

#include "device/exec/exec.h"
#include "device/image/image.h"
#include "device/time/time.h"

/* Checks every limit: partition and free sizes, engines and buffers, dtypes, capacity, placement,
 * accumulation. Reports all it finds, up to 50 errors, each with file, line, column, what was found
 * and what is allowed. NULL when there was an error. The program must outlive the image. */
struct device_image *device_load(const struct nki_program *program,
                                 const struct device_generation *generation,
                                 struct diag_list *diags) CC_MUST_USE;
void device_unload(struct device_image *image); /* accepts NULL */

#endif
