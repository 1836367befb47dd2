/* SPDX-License-Identifier: Apache-2.0 */
/* The constants of timing as a value. The clock takes them with each kernel, so that a host may
 * have its own. Their names, defaults and sources are in constants.def. */
#ifndef HONE_DEVICE_COST_H
#define HONE_DEVICE_COST_H

#include "base/base.h"
#include "nki/nki.h"

/* One number for each row of constants.def, in its unit. */
struct device_constants {
    enum nki_generation generation;
#define CONSTANT(field, what, unit, worse, ...) double field;
#include "device/cost/constants.def"
#undef CONSTANT
};
/* The constants that constants.def has for a generation. */
const struct device_constants *device_constants_of(enum nki_generation generation);
/* The same with the times that a schedule adds up on the grid of cost_on_grid. */
struct device_constants device_constants_on_grid(const struct device_constants *constants);

/* How a value is known. */
enum device_how { DEVICE_DOCUMENTED, DEVICE_MEASURED, DEVICE_FITTED, DEVICE_GUESSED };

/* A row of constants.def; the arrays are for trn1, trn2 and trn3 in this order. */
struct device_constant {
    const char *name, *what, *unit;
    bool less_is_worse; /* kernels get slower when it is less, as with a rate */
    double value[3];
    struct device_known {
        enum device_how how;
        double percent; /* by how much it may be off */
    } known[3];
    const char *source;
    size_t offset; /* in struct device_constants */
};
/* Row by row; NULL past the last. */
const struct device_constant *device_constant_at(size_t index);
/* Finds a row by its name; NULL when there is none. */
const struct device_constant *device_constant_find(struct str name);
/* How a constant is known for a generation. */
struct device_known device_constant_known(const struct device_constant *constant,
                                          enum nki_generation generation);
/* The place of a constant among the values. */
static inline double *device_constant_in(struct device_constants *constants,
                                         const struct device_constant *constant) {
    return (double *)((char *)constants + constant->offset);
}
static inline double device_constant_value(const struct device_constants *constants,
                                           const struct device_constant *constant) {
    return *(const double *)((const char *)constants + constant->offset);
}
/* Moves the constants that are known as `how` to that end of their range which makes kernels
 * slower. One that is 0 moves to the worst value of any generation. Those that differ from
 * constants.def are a host's own and stay. */
void device_constants_worsen(struct device_constants *constants, enum device_how how);

#endif
