/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of one argument: what activation tables and the ALU's unary operators compute. They
 * follow standard mathematics and round once to fp32. The common ones are built on an exponential
 * and a logarithm that are written so that whole loops vectorise; the rest call libm. The device
 * approximates by piecewise polynomials. Only what is documented of that (sin outside [-pi, pi]) is
 * imitated. */
#include "device/exec/alu.h"

#include <math.h>

static inline double from_bits(uint64_t bits) {
    union {
        uint64_t u;
        double d;
    } pun = {.u = bits};
    return pun.d;
}

static inline uint64_t to_bits(double value) {
    union {
        double d;
        uint64_t u;
    } pun = {.d = value};
    return pun.u;
}

/* e^x to about 1e-14. With x = k ln 2 + r and |r| <= ln 2 / 2, it is a Taylor polynomial in r times
 * 2^k, which is put into the exponent. Adding 1.5 * 2^52 leaves k in the low bits. x is held within
 * +-200, because fp32 knows no difference beyond. */
static inline double exp_of(double x) {
    const double magic = 0x1.8p52;
    x = x > 200.0 ? 200.0 : x;
    x = x < -200.0 ? -200.0 : x;
    double shifted = x * 1.4426950408889634 + magic;
    double k = shifted - magic;
    double r = x - k * 0x1.62e42fefap-1 - k * 0x1.cf79abc9e3b39p-40;
    double p = 1.0 / 39916800;
    p = p * r + 1.0 / 3628800;
    p = p * r + 1.0 / 362880;
    p = p * r + 1.0 / 40320;
    p = p * r + 1.0 / 5040;
    p = p * r + 1.0 / 720;
    p = p * r + 1.0 / 120;
    p = p * r + 1.0 / 24;
    p = p * r + 1.0 / 6;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    return p * from_bits((to_bits(shifted) + 1023) << 52);
}

/* ln x for positive normal x. With x = 2^k m and m near 1, it is k ln 2 plus the series of 2
 * artanh((m-1)/(m+1)). */
static inline double log_positive(double x) {
    const double magic = 0x1.8p52;
    uint64_t bits = to_bits(x), half = 0x3fe6a09e667f3bcd;     /* sqrt(1/2) */
    uint64_t k = (bits - half + (UINT64_C(1024) << 52)) >> 52; /* exponent + 1024 */
    double m = from_bits(bits - ((k - 1024) << 52));
    double exponent = from_bits(to_bits(magic) + k) - magic - 1024.0;
    double s = (m - 1.0) / (m + 1.0), z = s * s, p = 1.0 / 17;
    p = p * z + 1.0 / 15;
    p = p * z + 1.0 / 13;
    p = p * z + 1.0 / 11;
    p = p * z + 1.0 / 9;
    p = p * z + 1.0 / 7;
    p = p * z + 1.0 / 5;
    p = p * z + 1.0 / 3;
    p = p * z + 1.0;
    return exponent * 0.6931471805599453 + 2.0 * s * p;
}

static inline double log_of(double x) {
    double value = log_positive(x);
    value = x == 0.0 ? -INFINITY : value;
    value = x == INFINITY ? INFINITY : value;
    return x >= 0.0 ? value : NAN;
}

static inline double sigmoid_of(double x) {
    return 1.0 / (1.0 + exp_of(-x));
}

static inline double tanh_of(double x) {
    double e = exp_of(2.0 * x), value = (e - 1.0) / (e + 1.0);
    return fabs(x) < 1e-3 ? x - x * x * x / 3.0 : value;
}

/* x times a gate that falls off exponentially on the left. */
static inline double gated(double x, double gate) {
    return x < -180.0 ? -0.0 : x * gate;
}

static inline double softplus_of(double x) {
    double e = exp_of(-fabs(x));
    double tail = e < 1e-4 ? e - 0.5 * e * e + e * e * e / 3.0 : log_positive(1.0 + e);
    return (x > 0.0 ? x : 0.0) + tail + (x - x);
}

static inline double mish_of(double x) {
    double e = exp_of(x), t = e * (e + 2.0);
    return gated(x, t / (t + 2.0));
}

static inline double gelu_tanh_of(double x) {
    double inner = 0.7978845608028654 * (x + 0.044715 * x * x * x);
    return gated(x, sigmoid_of(2.0 * inner));
}

static inline double normal_of(double x) { /* the normal distribution function */
    return 0.5 * erfc(-x * 0.7071067811865476);
}

static inline double gelu_dx_of(double x) {
    return normal_of(x) + x * 0.3989422804014327 * exp_of(-0.5 * x * x);
}

static inline double silu_dx_of(double x) {
    double s = sigmoid_of(x);
    return s * (1.0 + gated(x, 1.0 - s));
}

static inline double gelu_sigmoid_dx_of(double x) {
    double s = sigmoid_of(1.702 * x);
    return s + gated(x, 1.702 * s * (1.0 - s));
}

/* Outside [-pi, pi] the table continues with the cubic of its edge: sin(9) gives 27.65 (the NKI CPU
 * simulator's documented example). */
static inline double sin_of(double x) {
    const double pi = 3.141592653589793;
    double over = fabs(x) - pi, edge = over * over * over / 6.0 - over;
    return over > 0.0 ? (x < 0.0 ? -edge : edge) : sin(x);
}

#define UNARY_TABLE(X)                                             \
    X(COPY, x)                                                     \
    X(ABS, fabsf(x))                                               \
    X(SQUARE, x *x)                                                \
    X(SIGN, x != x ? x : (float)((x > 0.0f) - (x < 0.0f)))         \
    X(NEGATIVE, -x)                                                \
    X(RELU, x > 0.0f || x != x ? x : 0.0f)                         \
    X(LOGICAL_NOT, x == 0.0f ? 1.0f : 0.0f)                        \
    X(EXP, exp_of(x))                                              \
    X(LOG, log_of(x))                                              \
    X(SQRT, sqrtf(x))                                              \
    X(RSQRT, 1.0 / sqrt((double)x))                                \
    X(RECIPROCAL, 1.0f / x)                                        \
    X(SIN, sin_of(x))                                              \
    X(COS, cos((double)x))                                         \
    X(TAN, tan((double)x))                                         \
    X(ARCTAN, atan((double)x))                                     \
    X(TANH, tanh_of(x))                                            \
    X(SIGMOID, sigmoid_of(x))                                      \
    X(SILU, gated(x, sigmoid_of(x)))                               \
    X(SILU_DX, silu_dx_of(x))                                      \
    X(SOFTPLUS, softplus_of(x))                                    \
    X(MISH, mish_of(x))                                            \
    X(GELU, gated(x, normal_of(x)))                                \
    X(GELU_DX, gelu_dx_of(x))                                      \
    X(GELU_APPRX_TANH, gelu_tanh_of(x))                            \
    X(GELU_APPRX_SIGMOID, gated(x, sigmoid_of(1.702 * (double)x))) \
    X(GELU_APPRX_SIGMOID_DX, gelu_sigmoid_dx_of(x))                \
    X(ERF, erf((double)x))                                         \
    X(ERF_DX, 1.1283791670955126 * exp_of(-(double)x * (double)x)) \
    X(CEIL, ceilf(x))                                              \
    X(FLOOR, floorf(x))                                            \
    X(TRUNC, truncf(x))

#define X(id, expression)                                          \
    static void unary_##id(float *dst, const float *a, size_t n) { \
        _Pragma("GCC ivdep") for (size_t i = 0; i < n; i++) {      \
            float x = a[i];                                        \
            dst[i] = (float)(expression);                          \
        }                                                          \
    }
UNARY_TABLE(X)
#undef X

alu_unary_fn *alu_unary(enum nki_func func) {
    static alu_unary_fn *const table[NKI_FUNC_COUNT] = {
#define X(id, expression) [NKI_FUNC_##id] = unary_##id,
        UNARY_TABLE(X)
#undef X
    };
    return table[func];
}
