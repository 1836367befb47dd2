/* SPDX-License-Identifier: Apache-2.0 */
/* Binary operators and reductions of the ALU, in fp32 and in integers. Their loops call no
 * functions, so that they vectorise; functions of one argument are in functions.c. Comparisons give
 * 1 and 0. Maximum and minimum pass NaN on. */
#include "device/exec/alu.h"

#include <math.h>

#define BINARY_TABLE(X)                                             \
    X(ADD, p + q)                                                   \
    X(SUBTRACT, p - q)                                              \
    X(MULTIPLY, p *q)                                               \
    X(DIVIDE, p / q)                                                \
    X(MAXIMUM, p > q || p != p ? p : q)                             \
    X(MINIMUM, p < q || p != p ? p : q)                             \
    X(ABS_MAX, fabsf(p) > fabsf(q) || p != p ? fabsf(p) : fabsf(q)) \
    X(ABS_MIN, fabsf(p) < fabsf(q) || p != p ? fabsf(p) : fabsf(q)) \
    X(POWER, powf(p, q))                                            \
    X(MOD, p - floorf(p / q) * q)                                   \
    X(FMOD, fmodf(p, q))                                            \
    X(EQUAL, p == q ? 1.0f : 0.0f)                                  \
    X(NOT_EQUAL, p != q ? 1.0f : 0.0f)                              \
    X(LESS, p < q ? 1.0f : 0.0f)                                    \
    X(LESS_EQUAL, p <= q ? 1.0f : 0.0f)                             \
    X(GREATER, p > q ? 1.0f : 0.0f)                                 \
    X(GREATER_EQUAL, p >= q ? 1.0f : 0.0f)                          \
    X(LOGICAL_AND, (p != 0.0f) & (q != 0.0f) ? 1.0f : 0.0f)         \
    X(LOGICAL_OR, (p != 0.0f) | (q != 0.0f) ? 1.0f : 0.0f)          \
    X(LOGICAL_XOR, (p != 0.0f) != (q != 0.0f) ? 1.0f : 0.0f)        \
    X(AVERAGE, p + q)

#define X(id, expression)                                                           \
    static void binary_##id(float *dst, const float *a, const float *b, size_t n) { \
        _Pragma("GCC ivdep") for (size_t i = 0; i < n; i++) {                       \
            float p = a[i], q = b[i];                                               \
            dst[i] = expression;                                                    \
        }                                                                           \
    }
BINARY_TABLE(X)
#undef X

static void binary_BYPASS(float *dst, const float *a, const float *b, size_t n) {
    (void)b;
    if (dst != a)
        memcpy(dst, a, n * sizeof *dst);
}

alu_binary_fn *alu_binary(enum nki_func func) {
    static alu_binary_fn *const table[NKI_FUNC_COUNT] = {[NKI_FUNC_BYPASS] = binary_BYPASS,
#define X(id, expression) [NKI_FUNC_##id] = binary_##id,
                                                         BINARY_TABLE(X)
#undef X
    };
    return table[func];
}

/* ---- reductions ----------------------------------------------------------------------------- */

#define LANES 16

/* Partial results in LANES lanes that the compiler keeps in vector registers. */
#define FOLD(name, start_value, expression)                           \
    static float fold_##name(float start, const float *a, size_t n) { \
        float lane[LANES];                                            \
        size_t whole = n / LANES * LANES;                             \
        for (size_t k = 0; k < LANES; k++)                            \
            lane[k] = start_value;                                    \
        for (size_t i = 0; i < whole; i += LANES)                     \
            for (size_t k = 0; k < LANES; k++) {                      \
                float p = lane[k], q = a[i + k];                      \
                lane[k] = expression;                                 \
            }                                                         \
        float p = start, q;                                           \
        for (size_t k = 0; whole && k < LANES; k++) {                 \
            q = lane[k];                                              \
            p = expression;                                           \
        }                                                             \
        for (size_t i = whole; i < n; i++) {                          \
            q = a[i];                                                 \
            p = expression;                                           \
        }                                                             \
        return p;                                                     \
    }
FOLD(ADD, 0.0f, p + q)
FOLD(MULTIPLY, 1.0f, p *q)
FOLD(MAXIMUM, -INFINITY, (p > q || p != p ? p : q))
FOLD(MINIMUM, INFINITY, (p < q || p != p ? p : q))
FOLD(ABS_MAX, 0.0f, (fabsf(p) > fabsf(q) || p != p ? fabsf(p) : fabsf(q)))
FOLD(ABS_MIN, INFINITY, (fabsf(p) < fabsf(q) || p != p ? fabsf(p) : fabsf(q)))
FOLD(LOGICAL_AND, 1.0f, ((p != 0.0f) & (q != 0.0f) ? 1.0f : 0.0f))
FOLD(LOGICAL_OR, 0.0f, ((p != 0.0f) | (q != 0.0f) ? 1.0f : 0.0f))
FOLD(LOGICAL_XOR, 0.0f, ((p != 0.0f) != (q != 0.0f) ? 1.0f : 0.0f))

static float fold_SUBTRACT(float start, const float *a, size_t n) {
    return start - fold_ADD(0.0f, a, n);
}

static const struct {
    alu_fold_fn *fold;
    float identity;
} folds[NKI_FUNC_COUNT] = {
    [NKI_FUNC_ADD] = {fold_ADD, 0.0f},
    [NKI_FUNC_AVERAGE] = {fold_ADD, 0.0f},
    [NKI_FUNC_SUBTRACT] = {fold_SUBTRACT, 0.0f},
    [NKI_FUNC_MULTIPLY] = {fold_MULTIPLY, 1.0f},
    [NKI_FUNC_MAXIMUM] = {fold_MAXIMUM, -INFINITY},
    [NKI_FUNC_MINIMUM] = {fold_MINIMUM, INFINITY},
    [NKI_FUNC_ABS_MAX] = {fold_ABS_MAX, 0.0f},
    [NKI_FUNC_ABS_MIN] = {fold_ABS_MIN, INFINITY},
    [NKI_FUNC_LOGICAL_AND] = {fold_LOGICAL_AND, 1.0f},
    [NKI_FUNC_LOGICAL_OR] = {fold_LOGICAL_OR, 0.0f},
    [NKI_FUNC_LOGICAL_XOR] = {fold_LOGICAL_XOR, 0.0f},
};

float alu_identity(enum nki_func func) {
    return folds[func].identity;
}

alu_fold_fn *alu_fold(enum nki_func func) {
    return folds[func].fold;
}

/* ---- integers ------------------------------------------------------------------------------- */

static uint64_t width_mask(int bits) {
    return bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

/* Shifts fill with zeros. A shift by the width or more gives 0. */
static int64_t shift_right(int64_t value, int64_t by, int bits) {
    return by < 0 || by >= bits ? 0 : (int64_t)(((uint64_t)value & width_mask(bits)) >> by);
}

static int64_t shift_left(int64_t value, int64_t by, int bits) {
    return by < 0 || by >= bits ? 0 : (int64_t)(((uint64_t)value << by) & width_mask(bits));
}

/* Rounds towards minus infinity, as Python does. Division by zero gives 0. */
static int64_t divide_floor(int64_t p, int64_t q) {
    if (q == 0)
        return 0;
    return p / q - (p % q != 0 && (p < 0) != (q < 0));
}

#define INT_TABLE(X)                                  \
    X(ADD, (int64_t)((uint64_t)p + (uint64_t)q))      \
    X(SUBTRACT, (int64_t)((uint64_t)p - (uint64_t)q)) \
    X(MULTIPLY, (int64_t)((uint64_t)p * (uint64_t)q)) \
    X(DIVIDE, divide_floor(p, q))                     \
    X(MOD, q ? p - divide_floor(p, q) * q : 0)        \
    X(FMOD, q ? p % q : 0)                            \
    X(MAXIMUM, p > q ? p : q)                         \
    X(MINIMUM, p < q ? p : q)                         \
    X(EQUAL, p == q)                                  \
    X(NOT_EQUAL, p != q)                              \
    X(LESS, p < q)                                    \
    X(LESS_EQUAL, p <= q)                             \
    X(GREATER, p > q)                                 \
    X(GREATER_EQUAL, p >= q)                          \
    X(LOGICAL_AND, p &&q)                             \
    X(LOGICAL_OR, p || q)                             \
    X(LOGICAL_XOR, !p != !q)                          \
    X(BITWISE_AND, p &q)                              \
    X(BITWISE_OR, p | q)                              \
    X(BITWISE_XOR, p ^ q)                             \
    X(LEFT_SHIFT, shift_left(p, q, bits))             \
    X(RIGHT_SHIFT, shift_right(p, q, bits))           \
    X(INVERT, (q & 0) | ~p)                           \
    X(BYPASS, (q & 0) | p)

#define X(id, expression)                                                                         \
    static void ints_##id(int64_t *dst, const int64_t *a, const int64_t *b, size_t n, int bits) { \
        (void)bits;                                                                               \
        for (size_t i = 0; i < n; i++) {                                                          \
            int64_t p = a[i], q = b[i];                                                           \
            dst[i] = expression;                                                                  \
        }                                                                                         \
    }
INT_TABLE(X)
#undef X

alu_int_fn *alu_ints(enum nki_func func) {
    static alu_int_fn *const table[NKI_FUNC_COUNT] = {
#define X(id, expression) [NKI_FUNC_##id] = ints_##id,
        INT_TABLE(X)
#undef X
    };
    return table[func];
}

int64_t alu_identity_int(enum nki_func func) {
    switch (func) {
    case NKI_FUNC_BITWISE_AND: return -1;
    case NKI_FUNC_MULTIPLY:
    case NKI_FUNC_LOGICAL_AND: return 1;
    case NKI_FUNC_MAXIMUM: return INT64_MIN;
    case NKI_FUNC_MINIMUM: return INT64_MAX;
    default: return 0;
    }
}
