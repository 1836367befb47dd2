/* SPDX-License-Identifier: Apache-2.0 */
/* The last part of loading. Private to this folder. */
#ifndef HONE_DEVICE_PLACE_H
#define HONE_DEVICE_PLACE_H

#include "device/image/inner.h"

/* Checks that what is on chip fits and that manual addresses do not overlap. Reports what does not
 * fit, with what is live there. Called last by device_load; false when it reported an error. */
bool device_place(struct device_image *image, struct diag_list *diags) CC_MUST_USE;

#endif
