/* SPDX-License-Identifier: Apache-2.0 */
/* On what a latency rests: how it grows when all constants that are known in one way are a little
 * worse, as a share of how much worse they are. Where a documented constant is multiplied by a
 * fitted one, as the time of an element by how many of them a reciprocal takes, that part rests on
 * the fitted one. */
#include "device/time/run.h"

#include <math.h>
#include <stdlib.h>

#define WORSE 0.05 /* small against a constant, large against the steps of a schedule */

static struct device_constants worsened(const struct device_constants *constants,
                                        enum device_how how) {
    struct device_constants values = *constants;
    const struct device_constants *usual = device_constants_of(constants->generation);
    const struct device_constant *row;
    for (size_t i = 0; (row = device_constant_at(i)); i++) {
        double *value = device_constant_in(&values, row);
        bool is_own = fabs(*value - device_constant_value(usual, row)) > 0;
        if (!is_own && device_constant_known(row, constants->generation).how == how)
            *value = row->less_is_worse ? *value / (1 + WORSE) : *value * (1 + WORSE);
    }
    return values;
}

static double latency_ns(const struct allocation *allocation, const struct depends *depends,
                         const struct device_constants *constants) {
    struct issue_costs *costs = issue_costs_make(allocation, constants);
    struct schedule schedule = {allocation, depends, constants, costs};
    struct timeline *time = timeline_make(&schedule, -1);
    double ns = time->latency_ns + constants->start_ns + constants->end_ns;
    timeline_free(time);
    issue_costs_free(costs);
    return ns;
}

struct device_rests device_rests_of(const struct device_image *image,
                                    const struct device_constants *constants) {
    if (image->cores) /* both do much the same */
        image = image->cores[0].image;
    struct allocation *allocation = allocation_make(image, constants, 0);
    struct issue_costs *costs = issue_costs_make(allocation, constants);
    struct depends *depends = depends_make(allocation, costs);
    struct device_constants fitted = worsened(constants, DEVICE_FITTED);
    struct device_constants guessed = worsened(constants, DEVICE_GUESSED);
    double ns = latency_ns(allocation, depends, constants);
    double grown[] = {latency_ns(allocation, depends, &fitted) / ns - 1,
                      latency_ns(allocation, depends, &guessed) / ns - 1};
    depends_free(depends);
    issue_costs_free(costs);
    allocation_free(allocation);
    return (struct device_rests){fmin(1, fmax(0, grown[0] / WORSE)),
                                 fmin(1, fmax(0, grown[1] / WORSE))};
}
