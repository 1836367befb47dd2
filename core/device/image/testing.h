/* SPDX-License-Identifier: Apache-2.0 */
/* What tests look at. Nobody else outside this room may include it. */
#ifndef HONE_DEVICE_IMAGE_TESTING_H
#define HONE_DEVICE_IMAGE_TESTING_H

#include "device/image/image.h"

/* Row by row; NULL past the last. */
const struct device_generation *device_generation_at(size_t index);
/* The engine that runs instruction i. */
enum nki_engine device_image_engine(const struct device_image *image, size_t i);

#endif
