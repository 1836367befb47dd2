/* SPDX-License-Identifier: Apache-2.0 */
/* Element types under NKI's names, and raw arrays of them. */
#ifndef HONE_BASE_DTYPE_H
#define HONE_BASE_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/kit/str.h"

/* X(ID, "nki name", bytes, kind): kind f float, i signed, u unsigned, b boolean, x packed. */
#define DTYPE_TABLE(X)                              \
    X(BOOL, "bool_", 1, 'b')                        \
    X(INT8, "int8", 1, 'i')                         \
    X(INT16, "int16", 2, 'i')                       \
    X(INT32, "int32", 4, 'i')                       \
    X(UINT8, "uint8", 1, 'u')                       \
    X(UINT16, "uint16", 2, 'u')                     \
    X(UINT32, "uint32", 4, 'u')                     \
    X(FLOAT32, "float32", 4, 'f')                   \
    X(TFLOAT32, "tfloat32", 4, 'f')                 \
    X(BFLOAT16, "bfloat16", 2, 'f')                 \
    X(FLOAT16, "float16", 2, 'f')                   \
    X(FLOAT8_E4M3, "float8_e4m3", 1, 'f')           \
    X(FLOAT8_E4M3FN, "float8_e4m3fn", 1, 'f')       \
    X(FLOAT8_E5M2, "float8_e5m2", 1, 'f')           \
    X(FLOAT8_E8M0FNU, "float8_e8m0fnu", 1, 'f')     \
    X(FLOAT8_E4M3FN_X4, "float8_e4m3fn_x4", 4, 'x') \
    X(FLOAT8_E5M2_X4, "float8_e5m2_x4", 4, 'x')     \
    X(FLOAT4_E2M1FN_X4, "float4_e2m1fn_x4", 2, 'x') \
    X(INT64, "int64", 8, 'i')                       \
    X(FLOAT64, "float64", 8, 'f')

/* INT64 and FLOAT64 exist only on the host side (numpy). No operand of the device has them. */
enum dtype {
    DTYPE_NONE,
#define X(id, name, bytes, kind) DTYPE_##id,
    DTYPE_TABLE(X)
#undef X
        DTYPE_COUNT
};

const char *dtype_name(enum dtype dtype);
size_t dtype_bytes(enum dtype dtype);
char dtype_kind(enum dtype dtype);
bool dtype_is_float(enum dtype dtype);
bool dtype_is_int(enum dtype dtype); /* signed, unsigned and boolean */
/* Finds a type by its name in NKI or numpy ("bool" and "bool_" both); DTYPE_NONE when unknown. */
enum dtype dtype_find(struct str name);

#define ARRAY_MAX_DIMS 8

/* A dense row-major array on the host. Whoever made the array owns `data`. */
struct array {
    enum dtype dtype;
    int ndim;
    int64_t shape[ARRAY_MAX_DIMS];
    void *data;
};
int64_t array_count(const struct array *array); /* elements; 1 for a scalar array (ndim 0) */
size_t array_bytes(const struct array *array);

#endif
