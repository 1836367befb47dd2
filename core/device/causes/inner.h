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

/* what_if.c: as device_causes_try (device.h), of the program as it stands. Where rounds were left
 * out, changes with which the schedule does not become steady are not told. */
void causes_try(struct device_causes *causes, const struct device_image *image,
                const struct device_constants *constants);

/* A spot, and what the critical path has of it. */
struct causes_sum {
    struct device_spot spot;
    double us;
};
typedef VEC(struct causes_sum) causes_sum_list;
/* What one turn of a leg has of each spot, the largest first. */
void causes_leg_sums(const struct device_causes *causes, const struct device_leg *leg,
                     causes_sum_list *sums);
/* Adds what segments from `first` on have of each spot, and sorts: the largest first. Spots of two
 * cores are apart, or one of both. */
void causes_sums(const struct device_causes *causes, size_t first, bool apart,
                 causes_sum_list *sums);

#endif
