/* SPDX-License-Identifier: Apache-2.0 */
/* Conversions against the definition of each type: decoding by ldexp, encoding by searching the
 * nearest code with ties to even. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "device/device.h"

static const struct small_float {
    enum dtype dtype;
    int exponent_bits, mantissa_bits, bias;
    unsigned top; /* largest finite code */
    bool has_infinity;
} small_floats[] = {
    {DTYPE_FLOAT8_E4M3, 4, 3, 7, 0x77, true},  {DTYPE_FLOAT8_E4M3FN, 4, 3, 7, 0x7e, false},
    {DTYPE_FLOAT8_E5M2, 5, 2, 15, 0x7b, true}, {DTYPE_FLOAT16, 5, 10, 15, 0x7bff, true},
    {DTYPE_BFLOAT16, 8, 7, 127, 0x7f7f, true},
};

static double decode(const struct small_float *type, unsigned code) {
    int mantissa = (int)(code & ((1u << type->mantissa_bits) - 1));
    int exponent = (int)(code >> type->mantissa_bits) & ((1 << type->exponent_bits) - 1);
    if (exponent == 0)
        return ldexp(mantissa, 1 - type->bias - type->mantissa_bits);
    return ldexp(mantissa + (1 << type->mantissa_bits),
                 exponent - type->bias - type->mantissa_bits);
}

static float load(enum dtype dtype, unsigned code) {
    uint16_t wide = (uint16_t)code;
    uint8_t narrow = (uint8_t)code;
    float value;
    device_to_float(dtype, dtype_bytes(dtype) == 1 ? (void *)&narrow : (void *)&wide, &value, 1);
    return value;
}

static unsigned store(enum dtype dtype, float value) {
    uint16_t wide = 0;
    uint8_t narrow = 0;
    bool one = dtype_bytes(dtype) == 1;
    device_from_float(dtype, &value, one ? (void *)&narrow : (void *)&wide, 1);
    return one ? narrow : wide;
}

static void every_code_decodes_to_its_value_and_back(void **state) {
    (void)state;
    for (size_t t = 0; t < COUNT_OF(small_floats); t++) {
        const struct small_float *type = &small_floats[t];
        unsigned sign = 1u << (type->exponent_bits + type->mantissa_bits);
        for (unsigned code = 0; code <= type->top; code++) {
            assert_true(load(type->dtype, code) == (float)decode(type, code));
            assert_true(load(type->dtype, code | sign) == -(float)decode(type, code));
            assert_int_equal(store(type->dtype, load(type->dtype, code)), code);
            assert_int_equal(store(type->dtype, load(type->dtype, code | sign)), code | sign);
        }
        assert_true(isnan(load(type->dtype, store(type->dtype, NAN))));
        float overflow = load(type->dtype, store(type->dtype, INFINITY));
        assert_true(type->has_infinity ? isinf(overflow) : isnan(overflow));
    }
}

static void encoding_rounds_to_nearest_even(void **state) {
    (void)state;
    for (size_t t = 0; t < COUNT_OF(small_floats); t++) {
        const struct small_float *type = &small_floats[t];
        for (unsigned code = 0; code < type->top; code++) {
            double low = decode(type, code), high = decode(type, code + 1),
                   middle = (low + high) / 2;
            if ((float)middle != middle || middle == 0)
                continue;
            assert_int_equal(store(type->dtype, (float)middle), code + (code & 1));
            assert_int_equal(store(type->dtype, nextafterf((float)middle, INFINITY)), code + 1);
            assert_int_equal(store(type->dtype, nextafterf((float)middle, 0)), code);
        }
    }
}

static void integers_round_to_even_and_saturate(void **state) {
    (void)state;
    static const struct {
        enum dtype dtype;
        float from;
        int64_t to;
    } cases[] = {
        {DTYPE_INT8, 2.5f, 2},
        {DTYPE_INT8, 3.5f, 4},
        {DTYPE_INT8, -2.5f, -2},
        {DTYPE_INT8, 1000, 127},
        {DTYPE_INT8, -1000, -128},
        {DTYPE_INT8, NAN, 0},
        {DTYPE_UINT8, -1, 0},
        {DTYPE_UINT8, 255.5f, 255},
        {DTYPE_UINT8, 254.5f, 254},
        {DTYPE_INT16, 40000, 32767},
        {DTYPE_UINT16, 70000, 65535},
        {DTYPE_INT32, 3e9f, INT32_MAX},
        {DTYPE_INT32, -3e9f, INT32_MIN},
        {DTYPE_INT32, 16777216, 16777216},
        {DTYPE_UINT32, 5e9f, UINT32_MAX},
        {DTYPE_UINT32, 3e9f, 3000000000},
        {DTYPE_BOOL, 0.25f, 1},
        {DTYPE_BOOL, 0, 0},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        int64_t value = 0;
        device_from_float(cases[i].dtype, &cases[i].from, &value, 1);
        size_t bits = 8 * dtype_bytes(cases[i].dtype);
        if (dtype_kind(cases[i].dtype) == 'i')
            value = (int64_t)((uint64_t)value << (64 - bits)) >> (64 - bits);
        assert_int_equal(value, cases[i].to);
    }
}

static void tfloat32_keeps_ten_bits(void **state) {
    (void)state;
    float from[3] = {1.0f + 0x1p-11f, 1.0f + 0x1.8p-10f, -3.14159274f}, to[3];
    device_from_float(DTYPE_TFLOAT32, from, to, 3);
    assert_true(to[0] == 1.0f);
    assert_true(to[1] == 1.0f + 0x1p-9f);
    assert_true(fabsf(to[2] - from[2]) <= 0x1p-10f && to[2] != from[2]);
}

static void scale_types_are_powers_of_two(void **state) {
    (void)state;
    uint8_t codes[3] = {127, 0, 255};
    float values[3], from = 8.0f;
    device_to_float(DTYPE_FLOAT8_E8M0FNU, codes, values, 3);
    assert_true(values[0] == 1.0f && values[1] == 0x1p-127f && isnan(values[2]));
    device_from_float(DTYPE_FLOAT8_E8M0FNU, &from, codes, 1);
    assert_int_equal(codes[0], 130);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_decodes_to_its_value_and_back),
        cmocka_unit_test(encoding_rounds_to_nearest_even),
        cmocka_unit_test(integers_round_to_even_and_saturate),
        cmocka_unit_test(tfloat32_keeps_ten_bits),
        cmocka_unit_test(scale_types_are_powers_of_two),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
