/* SPDX-License-Identifier: Apache-2.0 */
/* Private to device: the last part of loading. */
#ifndef HONE_DEVICE_PLACE_H
#define HONE_DEVICE_PLACE_H

#include "device/image/inner.h"

/* Gives every block on chip its address (manual addresses kept) and reports what does not
 * fit, with what is live there. Called last by device_load; false when it reported an error. */
bool device_place(struct device_image *image, struct diag_list *diags) CC_MUST_USE;

#endif
