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

#endif
