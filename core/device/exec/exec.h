/* SPDX-License-Identifier: Apache-2.0 */
/* What instructions compute. */
#ifndef HONE_DEVICE_EXEC_H
#define HONE_DEVICE_EXEC_H

#include "device/image/image.h"

/* What one execution takes at the least, and which places (of program->locs) take most of it. A
 * storage whose blocks are used at once counts as kept to the end. */
struct device_work {
    double seconds; /* of one thread */
    uint64_t bytes; /* at once */
    uint32_t slow_loc, large_loc;
};
void device_expect(const struct device_image *image, struct device_work *work);

/* Looks at a run: called before and after each instruction. False stops the run, which fails as
 * cancelled. Operands are read with device_watch_read during the call. */
struct exec;
typedef bool device_watch_fn(void *data, struct exec *run, size_t instruction, bool before);

struct device_limits {
    uint64_t memory_bytes;      /* for HBM, SBUF and PSUM contents; 0: 16 GiB */
    const volatile int *cancel; /* non-zero stops it; may be NULL */
    device_watch_fn *watch;     /* may be NULL */
    void *watching;             /* its data */
    bool unrounded;             /* tiles of narrow floats keep float32: not what the device does */
    struct nki_number *loaded;  /* gets what registers were loaded with, program->n_registers of
                                 * them; may be NULL */
};
/* Runs the program on the kernel's array inputs, which are in the order of nki_storage.input and
 * have the dtypes and shapes that it was specialised for. Allocates the data of outputs[0 ..
 * program->outputs.len); free each with free. Results are rounded to the operand's type, PSUM
 * accumulates in fp32, and uninitialised memory reads as NaN (integers: 4). False with *err; an
 * error of the kernel (an indirect index out of bounds) names the line. */
bool device_execute(const struct device_image *image, const struct array *inputs, size_t n_inputs,
                    struct array *outputs, const struct device_limits *limits,
                    struct err *err) CC_MUST_USE;

/* Copies what an operand of the watched instruction holds, in row-major order and as fp32, to `to`,
 * and returns how many elements. 0 where there are more than `most`, or only the device knows which
 * are meant. */
size_t device_watch_read(struct exec *run, const struct nki_ap *ap, size_t most, float *to);

/* The environment ("NAME=value") with which to start a process that executes programs, so that
 * OpenBLAS uses kernels made for this processor. NULL when it does so already. */
const char *device_blas_environment(void);

#endif
