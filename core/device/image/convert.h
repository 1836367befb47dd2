/* SPDX-License-Identifier: Apache-2.0 */
/* Conversion between the device's element types and the fp32 or integers in which its engines
 * compute. Other rooms get it with inner.h. */
#ifndef HONE_DEVICE_CONVERT_H
#define HONE_DEVICE_CONVERT_H

#include "device/image/image.h"

/* Takes n elements that are `stride` bytes apart (0 repeats one), from anywhere in memory, aligned
 * or not. */
typedef void convert_load_fn(const void *from, int64_t stride, float *to, size_t n);
typedef void convert_store_fn(const float *from, void *to, int64_t stride, size_t n);
convert_load_fn *convert_load(enum dtype dtype);
convert_store_fn *convert_store(enum dtype dtype);

/* The same with integers, exactly: sign or zero extended, then cut off to the type's width.
 * Elements of float types are taken by value and stored rounded. */
void convert_load_ints(enum dtype dtype, const void *from, int64_t stride, int64_t *to, size_t n);
void convert_store_ints(enum dtype dtype, const int64_t *from, void *to, int64_t stride, size_t n);

/* Copies elements of `size` bytes, unchanged, from one stride to another. */
void convert_copy(size_t size, const void *from, int64_t from_stride, void *to, int64_t to_stride,
                  size_t n);
/* Fills memory with what unwritten memory reads as: NaN in floats, 4 in integers. */
void convert_fill_unwritten(enum dtype dtype, void *to, size_t bytes);

#endif
