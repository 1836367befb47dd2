/* SPDX-License-Identifier: Apache-2.0 */
/* device: a NeuronCore. Include this header, not its parts. */
#ifndef HONE_DEVICE_DEVICE_H
#define HONE_DEVICE_DEVICE_H

#include "device/image/image.h"

#endif
