/* SPDX-License-Identifier: Apache-2.0 */
/* The arithmetic of the engines: one plain loop for each operator, chosen once for each
 * instruction. Private to this folder. */
#ifndef HONE_DEVICE_ALU_H
#define HONE_DEVICE_ALU_H

#include "device/image/inner.h"

/* dst may be the same array as a source. Otherwise they do not overlap. */
typedef void alu_binary_fn(float *dst, const float *a, const float *b, size_t n);
typedef void alu_unary_fn(float *dst, const float *a, size_t n);
alu_binary_fn *alu_binary(enum nki_func func); /* NULL: no such operator */
alu_unary_fn *alu_unary(enum nki_func func);   /* of the ALU and of activations */

/* 64-bit lanes hold integers exactly. Shifts need `bits`, the width of the data. NULL: no such
 * operator. */
typedef void alu_int_fn(int64_t *dst, const int64_t *a, const int64_t *b, size_t n, int bits);
alu_int_fn *alu_ints(enum nki_func func);

/* What a reduction starts from, and how n more elements fold into it. Sums run in 16 partial
 * sums. */
float alu_identity(enum nki_func func);
typedef float alu_fold_fn(float start, const float *a, size_t n);
alu_fold_fn *alu_fold(enum nki_func func); /* NULL: cannot reduce */
int64_t alu_identity_int(enum nki_func func);

#endif
