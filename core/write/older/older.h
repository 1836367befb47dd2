/* SPDX-License-Identifier: Apache-2.0 */
/* A written kernel in the words of the older dialect (neuronxcc.nki). It knows the lines that this
 * house writes, and no others. */
#ifndef HONE_WRITE_OLDER_H
#define HONE_WRITE_OLDER_H

#include "base/base.h"

/* An array in HBM: access patterns become index expressions over its elements in a row. */
struct older_array {
    const char *name;
    int64_t size; /* elements */
};
/* The kernel's text, said anew. Instructions return what they make, sums of products are added to
 * zeroes in PSUM, patterns, masks and places along an axis are expressions of nl.arange, and loops
 * are unrolled as they are in the current dialect. A new string. */
char *older_kernel(const char *text, const struct older_array *arrays, size_t count) CC_MUST_USE;

#endif
