/* SPDX-License-Identifier: Apache-2.0 */
/* The causes of a program's latency as it stands; for the device's door, which shortens it before.
 */
#ifndef HONE_DEVICE_CAUSES_INNER_H
#define HONE_DEVICE_CAUSES_INNER_H

#include "device/causes/causes.h"

/* As device_causes_of (device.h); `reasons`: where nothing was left out of the program, those of
 * its spans are there, too. NULL when the schedule does not become steady in what was kept. */
struct device_causes *causes_make(const struct device_image *image,
                                  const struct device_constants *constants,
                                  bool reasons) CC_MUST_USE;

#endif
