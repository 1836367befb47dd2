/* SPDX-License-Identifier: Apache-2.0 */
/* What tests and benchmarks look through, for nobody else outside this room. */
#ifndef HONE_DEVICE_TIME_TESTING_H
#define HONE_DEVICE_TIME_TESTING_H

#include "device/time/time.h"

/* How a value of constants.def is known. */
enum device_how { DEVICE_DOCUMENTED, DEVICE_MEASURED, DEVICE_FITTED, DEVICE_GUESSED };
/* A row of it: of trn1, trn2 and trn3 in this order. */
struct device_constant {
    const char *name, *unit;
    double value[3];
    enum device_how how[3];
    const char *source;
};
/* Row by row; NULL past the last. */
const struct device_constant *device_constant_at(size_t index);

/* As device_time, but without the passes whose bits are set. */
struct device_profile *device_time_without(const struct device_image *image,
                                           uint32_t passes) CC_MUST_USE;
/* The bit of a pass of passes.def by its name; 0 when there is none such. */
uint32_t device_pass_find(const char *name);

#endif
