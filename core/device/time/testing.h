/* SPDX-License-Identifier: Apache-2.0 */
/* What tests and benchmarks look at. Nobody else outside this room may include it. */
#ifndef HONE_DEVICE_TIME_TESTING_H
#define HONE_DEVICE_TIME_TESTING_H

#include "device/time/time.h"

/* As device_time, with other constants than those of the image's generation (NULL: those). */
struct device_profile *device_time_with(const struct device_image *image,
                                        const struct device_constants *constants) CC_MUST_USE;
/* How a value is known. */
enum device_how { DEVICE_DOCUMENTED, DEVICE_MEASURED, DEVICE_FITTED, DEVICE_GUESSED };

/* A row of constants.def: of trn1, trn2 and trn3 in this order. */
struct device_constant {
    const char *name, *what, *unit;
    bool less_is_worse; /* kernels are slower where it is less, as with a rate */
    double value[3];
    struct device_known {
        enum device_how how;
        double percent; /* by which it may be off */
    } known[3];
    const char *source;
    size_t offset; /* in struct device_constants */
};
/* Row by row; NULL past the last. */
const struct device_constant *device_constant_at(size_t index);
/* How it is known for a generation. */
struct device_known device_constant_known(const struct device_constant *constant,
                                          enum nki_generation generation);
/* Its place among the values. */
static inline double *device_constant_in(struct device_constants *constants,
                                         const struct device_constant *constant) {
    return (double *)((char *)constants + constant->offset);
}
static inline double device_constant_value(const struct device_constants *constants,
                                           const struct device_constant *constant) {
    return *(const double *)((const char *)constants + constant->offset);
}
/* Moves the constants that are known as `how` to the end of their range that makes kernels slower;
 * one that is nought to the worst of any generation. Those that differ from constants.def are a
 * host's own and stay. */
void device_constants_worsen(struct device_constants *constants, enum device_how how);

/* As device_time_with, but without the passes whose bits are set. */
struct device_profile *device_time_without(const struct device_image *image,
                                           const struct device_constants *constants,
                                           uint32_t passes) CC_MUST_USE;
/* The bit of a pass of passes.def by its name; 0 when there is none. */
uint32_t device_pass_find(const char *name);

#endif
