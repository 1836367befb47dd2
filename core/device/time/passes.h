/* SPDX-License-Identifier: Apache-2.0 */
/* The passes of passes.def. Private to this folder. */
#ifndef HONE_DEVICE_PASSES_H
#define HONE_DEVICE_PASSES_H

#include "base/base.h"

enum pass {
#define PASS(id, ...) PASS_##id,
#include "device/time/passes.def"
#undef PASS
    PASS_COUNT
};
#define PASS_BIT(id) (1u << PASS_##id)

#endif
