/* SPDX-License-Identifier: Apache-2.0 */
/* The constants of timing as a value: the clock takes them with each kernel, so that a host may
 * have its own. Their names, defaults and sources stand in constants.def. */
#ifndef HONE_DEVICE_CONSTANTS_H
#define HONE_DEVICE_CONSTANTS_H

#include "base/base.h"
#include "nki/nki.h"

/* One number per row of constants.def, in its unit. */
struct device_constants {
    enum nki_generation generation;
#define CONSTANT(field, what, unit, worse, ...) double field;
#include "device/time/constants.def"
#undef CONSTANT
};
/* Those of constants.def. */
const struct device_constants *device_constants_of(enum nki_generation generation);

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
/* By its name; NULL when there is none such. */
const struct device_constant *device_constant_find(struct str name);
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

#endif
