/* SPDX-License-Identifier: Apache-2.0 */
/* What tests and benchmarks look at. Nobody else outside this room may include it. */
#ifndef HONE_DEVICE_TIME_TESTING_H
#define HONE_DEVICE_TIME_TESTING_H

#include "device/time/time.h"

/* As device_time_with, but without the passes whose bits are set. */
struct device_profile *device_time_without(const struct device_image *image,
                                           const struct device_constants *constants,
                                           uint32_t passes) CC_MUST_USE;
/* The bit of a pass of passes.def by its name; 0 when there is none. */
uint32_t device_pass_find(const char *name);

#endif
