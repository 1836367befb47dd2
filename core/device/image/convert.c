/* SPDX-License-Identifier: Apache-2.0 */
/* Element types and their conversion: bit layouts, rounding to nearest even, saturation. Loops are
 * plain so that the compiler can vectorise them. Which loop runs is chosen once for each
 * instruction. Sources: IEEE 754 for the wide types; OCP 8-bit floating point specification 1.0 for
 * e4m3fn, e5m2 and e8m0; NKI data types for e4m3 (IEEE-like, largest finite 240) and for casts to
 * integers (round to nearest even, saturate). */
#include "device/image/convert.h"

#include <math.h>

#include "base/half/half.h"

/* Storage is bytes, which any type may read at any address. */
typedef float any_f32 __attribute__((aligned(1), may_alias));
typedef double any_f64 __attribute__((aligned(1), may_alias));
typedef uint8_t any_u8 __attribute__((may_alias));
typedef int8_t any_i8 __attribute__((may_alias));
typedef uint16_t any_u16 __attribute__((aligned(1), may_alias));
typedef int16_t any_i16 __attribute__((aligned(1), may_alias));
typedef uint32_t any_u32 __attribute__((aligned(1), may_alias));
typedef int32_t any_i32 __attribute__((aligned(1), may_alias));
typedef int64_t any_i64 __attribute__((aligned(1), may_alias));
/* The compiler's own half type, where it has one: processors convert whole vectors of it. */
#ifdef HONE_FLOAT16
typedef _Float16 any_f16 __attribute__((aligned(1), may_alias));
#define LOAD_F16(value) ((float)(value))
#define STORE_F16(value) ((any_f16)(value))
#else
typedef uint16_t any_f16 __attribute__((aligned(1), may_alias));
#define LOAD_F16 half_to_float
#define STORE_F16 half_from_float
#endif

/* ---- decoding ------------------------------------------------------------------------------- */

static inline float decode_bf16(uint16_t code) {
    return half_bits_float((uint32_t)code << 16);
}

/* Moves sign, exponent and mantissa into place, then applies the difference of the biases as a
 * factor. So it is right for subnormals too. `special` is the first code of the all-ones
 * exponent. */
static inline float decode_fp8(uint8_t code, int mantissa, float scale) {
    float magnitude = half_bits_float((uint32_t)(code & 0x7f) << (23 - mantissa)) * scale;
    return half_bits_float(half_float_bits(magnitude) | (uint32_t)(code & 0x80) << 24);
}

static inline float decode_e4m3(uint8_t code) {
    float value = decode_fp8(code, 3, 0x1p120f);
    float special =
        half_bits_float((code & 7) ? 0x7fc00000u : 0x7f800000u | (uint32_t)(code & 0x80) << 24);
    return (code & 0x78) == 0x78 ? special : value;
}

static inline float decode_e4m3fn(uint8_t code) {
    float value = decode_fp8(code, 3, 0x1p120f);
    return (code & 0x7f) == 0x7f ? half_bits_float(0x7fc00000u) : value;
}

static inline float decode_e5m2(uint8_t code) {
    float value = decode_fp8(code, 2, 0x1p112f);
    float special =
        half_bits_float((code & 3) ? 0x7fc00000u : 0x7f800000u | (uint32_t)(code & 0x80) << 24);
    return (code & 0x7c) == 0x7c ? special : value;
}

static inline float decode_e8m0(uint8_t code) {
    float value = half_bits_float(code ? (uint32_t)code << 23 : 0x00400000u);
    return code == 0xff ? half_bits_float(0x7fc00000u) : value;
}

/* ---- encoding ------------------------------------------------------------------------------- */

static inline uint16_t encode_bf16(float value) {
    uint32_t bits = half_float_bits(value);
    uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1)) >> 16;
    uint32_t quiet = (bits >> 16) | 0x40u;
    return (uint16_t)((bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
}

struct fp8 {
    int mantissa, bias;
    uint32_t top;           /* the largest finite code */
    uint32_t overflow, nan; /* codes for what is beyond it (infinity or NaN), and for NaN */
};

static inline uint8_t encode_fp8(float value, struct fp8 format) {
    uint32_t bits = half_float_bits(value), sign = bits >> 24 & 0x80, rest = bits & 0x7fffffffu;
    int shift = 23 - format.mantissa;
    uint32_t rounded = rest + ((1u << (shift - 1)) - 1) + (rest >> shift & 1);
    uint32_t code = (rounded >> shift) - ((uint32_t)(127 - format.bias) << format.mantissa);
    /* Below the smallest normal, the code counts units of the last place. Adding a number whose own
     * last place is that unit rounds to it. */
    float unit = half_bits_float((uint32_t)(127 + 1 - format.bias - format.mantissa + 23) << 23);
    uint32_t small = half_float_bits(half_bits_float(rest) + unit) - half_float_bits(unit);
    bool subnormal = rest < (uint32_t)(127 + 1 - format.bias) << 23;
    code = subnormal ? small : code;
    code = !subnormal && code > format.top ? format.overflow : code;
    code = rest > 0x7f800000u ? format.nan : code;
    return (uint8_t)(code | sign);
}

static inline uint8_t encode_e4m3(float value) {
    return encode_fp8(value, (struct fp8){3, 7, 0x77, 0x78, 0x7c});
}

static inline uint8_t encode_e4m3fn(float value) {
    return encode_fp8(value, (struct fp8){3, 7, 0x7e, 0x7f, 0x7f});
}

static inline uint8_t encode_e5m2(float value) {
    return encode_fp8(value, (struct fp8){2, 15, 0x7b, 0x7c, 0x7e});
}

static inline uint8_t encode_e8m0(float value) {
    uint32_t bits = half_float_bits(value);
    uint32_t rounded = (bits + 0x3fffffu + (bits >> 23 & 1)) >> 23;
    return (uint8_t)(bits >= 0x7f800000u || rounded >= 0xff ? 0xff : rounded);
}

static float convert_round_tf32(float value) {
    uint32_t bits = half_float_bits(value);
    uint32_t rounded = (bits + 0xfffu + (bits >> 13 & 1)) & ~0x1fffu;
    return half_bits_float((bits & 0x7fffffffu) >= 0x7f800000u ? bits : rounded);
}

/* Rounds to nearest even and keeps the value within the type. NaN becomes 0. */
#define SATURATE(name, type, low, high)                            \
    static inline type name(float value) {                         \
        float whole = rintf(value);                                \
        whole = whole != whole ? 0.0f : whole;                     \
        whole = whole < (float)(low) ? (float)(low) : whole;       \
        type held = whole >= (float)(high) ? (high) : (type)whole; \
        return held;                                               \
    }
SATURATE(encode_i8, int8_t, INT8_MIN, INT8_MAX)
SATURATE(encode_i16, int16_t, INT16_MIN, INT16_MAX)
SATURATE(encode_i32, int32_t, INT32_MIN, INT32_MAX)
SATURATE(encode_u8, uint8_t, 0, UINT8_MAX)
SATURATE(encode_u16, uint16_t, 0, UINT16_MAX)
SATURATE(encode_u32, uint32_t, 0, UINT32_MAX)
SATURATE(encode_i64, int64_t, INT64_MIN, INT64_MAX)

#define AS_IS(value) ((float)(value))
#define NAN_OF(value) ((void)(value), half_bits_float(0x7fc00000u))
#define TO_BOOL(value) ((value) != 0.0f)
#define NONE_OF(value) ((void)(value), 0)

/* X(dtype, type in memory, to float, from float) */
#define CODEC_TABLE(X)                                     \
    X(BOOL, any_u8, AS_IS, TO_BOOL)                        \
    X(INT8, any_i8, AS_IS, encode_i8)                      \
    X(INT16, any_i16, AS_IS, encode_i16)                   \
    X(INT32, any_i32, AS_IS, encode_i32)                   \
    X(UINT8, any_u8, AS_IS, encode_u8)                     \
    X(UINT16, any_u16, AS_IS, encode_u16)                  \
    X(UINT32, any_u32, AS_IS, encode_u32)                  \
    X(FLOAT32, any_f32, AS_IS, AS_IS)                      \
    X(TFLOAT32, any_f32, AS_IS, convert_round_tf32)        \
    X(BFLOAT16, any_u16, decode_bf16, encode_bf16)         \
    X(FLOAT16, any_f16, LOAD_F16, STORE_F16)               \
    X(FLOAT8_E4M3, any_u8, decode_e4m3, encode_e4m3)       \
    X(FLOAT8_E4M3FN, any_u8, decode_e4m3fn, encode_e4m3fn) \
    X(FLOAT8_E5M2, any_u8, decode_e5m2, encode_e5m2)       \
    X(FLOAT8_E8M0FNU, any_u8, decode_e8m0, encode_e8m0)    \
    X(FLOAT8_E4M3FN_X4, any_u32, NAN_OF, NONE_OF)          \
    X(FLOAT8_E5M2_X4, any_u32, NAN_OF, NONE_OF)            \
    X(FLOAT4_E2M1FN_X4, any_u16, NAN_OF, NONE_OF)          \
    X(INT64, any_i64, AS_IS, encode_i64)                   \
    X(FLOAT64, any_f64, AS_IS, (any_f64))

#define X(id, type, load, store)                                                    \
    static void load_##id(const void *from, int64_t stride, float *to, size_t n) {  \
        const type *run = from;                                                     \
        const char *at = from;                                                      \
        if (stride == (int64_t)sizeof(type)) {                                      \
            for (size_t i = 0; i < n; i++)                                          \
                to[i] = load(run[i]);                                               \
        } else {                                                                    \
            for (size_t i = 0; i < n; i++)                                          \
                to[i] = load(*(const type *)(at + (int64_t)i * stride));            \
        }                                                                           \
    }                                                                               \
    static void store_##id(const float *from, void *to, int64_t stride, size_t n) { \
        type *run = to;                                                             \
        char *at = to;                                                              \
        if (stride == (int64_t)sizeof(type)) {                                      \
            for (size_t i = 0; i < n; i++)                                          \
                run[i] = store(from[i]);                                            \
        } else {                                                                    \
            for (size_t i = 0; i < n; i++)                                          \
                *(type *)(at + (int64_t)i * stride) = store(from[i]);               \
        }                                                                           \
    }
CODEC_TABLE(X)
#undef X

static const struct {
    convert_load_fn *load;
    convert_store_fn *store;
} codecs[DTYPE_COUNT] = {
#define X(id, type, ...) [DTYPE_##id] = {load_##id, store_##id},
    CODEC_TABLE(X)
#undef X
};

convert_load_fn *convert_load(enum dtype dtype) {
    return codecs[dtype].load;
}

convert_store_fn *convert_store(enum dtype dtype) {
    return codecs[dtype].store;
}

void device_to_float(enum dtype dtype, const void *from, float *to, size_t n) {
    codecs[dtype].load(from, (int64_t)dtype_bytes(dtype), to, n);
}

void device_from_float(enum dtype dtype, const float *from, void *to, size_t n) {
    codecs[dtype].store(from, to, (int64_t)dtype_bytes(dtype), n);
}

/* ---- integers ------------------------------------------------------------------------------- */

static int64_t load_int(enum dtype dtype, const void *at) {
    float value;
    switch (dtype) {
    case DTYPE_BOOL:
    case DTYPE_UINT8: return *(const any_u8 *)at;
    case DTYPE_INT8: return *(const any_i8 *)at;
    case DTYPE_UINT16: return *(const any_u16 *)at;
    case DTYPE_INT16: return *(const any_i16 *)at;
    case DTYPE_UINT32: return *(const any_u32 *)at;
    case DTYPE_INT32: return *(const any_i32 *)at;
    case DTYPE_INT64: return *(const any_i64 *)at;
    default: codecs[dtype].load(at, 0, &value, 1); return encode_i32(value);
    }
}

static void store_int(enum dtype dtype, int64_t value, void *at) {
    float rounded = (float)value;
    switch (dtype_bytes(dtype) + (dtype_is_int(dtype) ? 0 : 100)) {
    case 1: *(any_u8 *)at = dtype == DTYPE_BOOL ? value != 0 : (uint8_t)value; break;
    case 2: *(any_u16 *)at = (uint16_t)value; break;
    case 4: *(any_u32 *)at = (uint32_t)value; break;
    case 8: *(any_i64 *)at = value; break;
    default: codecs[dtype].store(&rounded, at, 0, 1);
    }
}

void convert_load_ints(enum dtype dtype, const void *from, int64_t stride, int64_t *to, size_t n) {
    const char *at = from;
    for (size_t i = 0; i < n; i++)
        to[i] = load_int(dtype, at + (int64_t)i * stride);
}

void convert_store_ints(enum dtype dtype, const int64_t *from, void *to, int64_t stride, size_t n) {
    char *at = to;
    for (size_t i = 0; i < n; i++)
        store_int(dtype, from[i], at + (int64_t)i * stride);
}

/* ---- raw bytes ------------------------------------------------------------------------------ */

#define COPY_LOOP(type)            \
    for (size_t i = 0; i < n; i++) \
    *(type *)(out + (int64_t)i * to_stride) = *(const type *)(in + (int64_t)i * from_stride)

void convert_copy(size_t size, const void *from, int64_t from_stride, void *to, int64_t to_stride,
                  size_t n) {
    const char *in = from;
    char *out = to;
    if (from_stride == (int64_t)size && to_stride == (int64_t)size)
        memmove(to, from, n * size);
    else if (size == 8)
        COPY_LOOP(any_i64);
    else if (size == 4)
        COPY_LOOP(any_u32);
    else if (size == 2)
        COPY_LOOP(any_u16);
    else
        COPY_LOOP(any_u8);
}

void convert_fill_unwritten(enum dtype dtype, void *to, size_t bytes) {
    if (!dtype_is_int(dtype)) {
        memset(to, 0xff, bytes); /* all ones are a NaN in every float type */
        return;
    }
    size_t size = dtype_bytes(dtype);
    if (size == 1)
        memset(to, 4, bytes);
    for (size_t i = 0; size > 1 && i < bytes / size; i++)
        store_int(dtype, 4, (char *)to + i * size);
}
