/* SPDX-License-Identifier: Apache-2.0 */
/* What instructions compute. */
#ifndef HONE_DEVICE_EXEC_H
#define HONE_DEVICE_EXEC_H

#include "device/image/image.h"

/* What one execution will take at the least, and the places (of program->locs) most of it goes to.
 * What a whole storage (several blocks used at once) takes is counted as kept to the end. */
struct device_work {
    double seconds; /* of one thread */
    uint64_t bytes; /* at once */
    uint32_t slow_loc, large_loc;
};
void device_expect(const struct device_image *image, struct device_work *work);

struct device_limits {
    uint64_t memory_bytes;      /* for HBM, SBUF and PSUM contents; 0: 16 GiB */
    const volatile int *cancel; /* non-zero stops it; may be NULL */
};
/* Runs the program on the kernel's array inputs (in the order of nki_storage.input; dtypes and
 * shapes as specialised) and allocates the data of outputs[0 .. program->outputs.len): free each
 * with free. Rounding to operand types, fp32 accumulation in PSUM, uninitialised memory reads as
 * NaN (integers: 4). False with *err: kernel errors (indirect index out of bounds) name the
 * line. */
bool device_execute(const struct device_image *image, const struct array *inputs, size_t n_inputs,
                    struct array *outputs, const struct device_limits *limits,
                    struct err *err) CC_MUST_USE;

/* The environment ("NAME=value") that a process which executes programs should be started with, so
 * that OpenBLAS uses kernels made for this processor; NULL when it does already. */
const char *device_blas_environment(void);

#endif
