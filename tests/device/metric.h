/* SPDX-License-Identifier: Apache-2.0 */
/* The metrics of a profile by name. */
#ifndef HONE_TESTS_DEVICE_METRIC_H
#define HONE_TESTS_DEVICE_METRIC_H

#include "device/device.h"

/* The value of a metric, or `missing`. */
static inline double profile_metric(const struct device_profile *profile, const char *name,
                                    double missing) {
    for (size_t i = 0; i < profile->metrics.len; i++)
        if (strcmp(profile->metrics.at[i].name, name) == 0)
            return profile->metrics.at[i].value;
    return missing;
}

#endif
