/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a floor. Private to this folder. */
#ifndef HONE_DEVICE_TIME_FLOOR_H
#define HONE_DEVICE_TIME_FLOOR_H

#include "device/time/time.h"

/* Adds a product that takes `once_ns` at the PE array's bf16 peak, and needs `passes` of that in
 * its own precision. */
void floor_add_product(struct floor_parts *parts, double once_ns, int passes);
/* Sets the profile's floors from its parts. */
void floor_set(struct device_profile *profile, const struct device_generation *generation);

#endif
