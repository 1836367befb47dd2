/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this room share. */
#ifndef HONE_DEVICE_CAUSES_PRIVATE_H
#define HONE_DEVICE_CAUSES_PRIVATE_H

#include "device/causes/causes.h"
#include "device/image/inner.h"
#include "device/time/inner.h"

/* A place of the trace as a spot. */
struct device_spot causes_spot(const struct time_trace *trace, const struct time_place *place);
/* fold.c: the legs and segments of the trace's path. */
void causes_fold(const struct time_trace *trace, struct device_causes *causes);

#endif
