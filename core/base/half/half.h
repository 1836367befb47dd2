/* SPDX-License-Identifier: Apache-2.0 */
/* IEEE 754 binary16 by its bits, for compilers without a type for it (gcc 11 on x86-64, clang
 * before 15). It rounds to nearest even. What is too large becomes infinite. A NaN keeps its sign
 * and the upper bits of its payload, and is quiet. All expressions are plain and without branches,
 * so that loops vectorise. */
#ifndef HONE_BASE_HALF_HALF_H
#define HONE_BASE_HALF_HALF_H

#include <stdint.h>

static inline uint32_t half_float_bits(float value) {
    union {
        float f;
        uint32_t u;
    } pun = {.f = value};
    return pun.u;
}

static inline float half_bits_float(uint32_t bits) {
    union {
        uint32_t u;
        float f;
    } pun = {.u = bits};
    return pun.f;
}

/* The number that the 16 bits of a half stand for, exactly. */
static inline float half_to_float(uint16_t code) {
    uint32_t sign = (uint32_t)(code & 0x8000) << 16, rest = code & 0x7fff;
    /* Subnormal halves are whole multiples of 2^-24. */
    uint32_t small = half_float_bits((float)(int32_t)rest * 0x1p-24f);
    uint32_t usual = (rest << 13) + ((127u - 15) << 23);
    uint32_t special = rest << 13 | 0x7f800000u | (rest > 0x7c00 ? 0x00400000u : 0);
    uint32_t bits = rest < 0x0400 ? small : usual;
    return half_bits_float((rest >= 0x7c00 ? special : bits) | sign);
}

/* The bits of the half that is nearest to a number. */
static inline uint16_t half_from_float(float value) {
    uint32_t bits = half_float_bits(value), rest = bits & 0x7fffffffu;
    uint32_t usual = ((rest + 0xfffu + (rest >> 13 & 1)) >> 13) - ((127u - 15) << 10);
    /* The last place of 0.5 is the smallest half, so adding 0.5 rounds to it. */
    uint32_t small = half_float_bits(half_bits_float(rest) + 0.5f) - half_float_bits(0.5f);
    uint32_t code = rest < 0x38800000u ? small : usual;
    code = rest >= 0x477ff000u ? 0x7c00 : code;
    code = rest > 0x7f800000u ? 0x7e00 | (rest >> 13 & 0x1ff) : code;
    return (uint16_t)(code | (bits >> 16 & 0x8000));
}

/* As half_from_float, but rounded once. Through a float it would be rounded twice. */
static inline uint16_t half_from_double(double value) {
    union {
        double f;
        uint64_t u;
    } pun = {.f = value};
    uint64_t rest = pun.u & INT64_MAX, whole = (rest & 0xfffffffffffffu) | 1ull << 52;
    uint16_t sign = (uint16_t)(pun.u >> 48 & 0x8000);
    int exponent = (int)(rest >> 52) - 1023;
    if (rest > 0x7ff0000000000000u)
        return (uint16_t)(sign | 0x7e00 | (rest >> 42 & 0x1ff));
    if (exponent > 15 || exponent < -25)
        return (uint16_t)(sign | (exponent > 15 ? 0x7c00 : 0));
    int shift = exponent < -14 ? 28 - exponent : 42;
    uint64_t base = exponent < -14 ? 0 : (uint64_t)(exponent + 14) << 10;
    uint64_t rounded = (whole + (1ull << (shift - 1)) - 1 + (whole >> shift & 1)) >> shift;
    return (uint16_t)(sign | (base + rounded));
}

#endif
