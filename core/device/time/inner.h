/* SPDX-License-Identifier: Apache-2.0 */
/* Timing a program as it stands; for the device's door, which shortens it before. */
#ifndef HONE_DEVICE_TIME_INNER_H
#define HONE_DEVICE_TIME_INNER_H

#include "device/time/time.h"

/* As device_time_with (device.h). `all_spans`: those of rounds that were left out are there, too,
 * with the numbers that their instructions have when nothing is. NULL when the schedule does not
 * become steady in what was kept. */
struct device_profile *time_profile(const struct device_image *image,
                                    const struct device_constants *constants,
                                    bool all_spans) CC_MUST_USE;
/* The latency of such a profile, in microseconds, from one schedule; 0 where there is none. */
double time_latency(const struct device_image *image, const struct device_constants *constants);

#endif
