/* SPDX-License-Identifier: Apache-2.0 */
/* Our half type over all of its 65 536 codes: values by ldexp, rounding around every midpoint, and
 * a comparison with the compiler's own type where there is one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>

#include "base/base.h"
#include "base/half/half.h"

#define CODES 0x10000u
#define INFINITE 0x7c00u

static bool is_nan(unsigned code) {
    return (code & 0x7fff) > INFINITE;
}

/* The value of a finite code by the standard; for the infinite one, the value it would have. */
static double value_of(unsigned code) {
    unsigned exponent = code >> 10 & 31, mantissa = code & 0x3ff;
    double value =
        exponent ? ldexp(1024 + mantissa, (int)exponent - 25) : ldexp((double)mantissa, -24);
    return code & 0x8000 ? -value : value;
}

static void every_code_has_its_value_and_comes_back(void **state) {
    (void)state;
    for (unsigned code = 0; code < CODES; code++) {
        float value = half_to_float((uint16_t)code);
        if (is_nan(code)) {
            assert_true(isnan(value));
            assert_int_equal(half_from_float(value), code | 0x200);
            assert_int_equal(half_from_double(value), code | 0x200);
            continue;
        }
        if ((code & 0x7fff) == INFINITE)
            assert_true(isinf(value));
        else
            assert_true(value == (float)value_of(code));
        assert_int_equal(half_from_float(value), code);
        assert_int_equal(half_from_double(value), code);
    }
}

static void assert_nearest(double value, unsigned code) {
    for (unsigned sign = 0; sign <= 0x8000; sign += 0x8000) {
        double signed_value = sign ? -value : value;
        if ((float)value == value)
            assert_int_equal(half_from_float((float)signed_value), code | sign);
        assert_int_equal(half_from_double(signed_value), code | sign);
    }
}

static void what_lies_between_goes_to_the_nearest_and_ties_to_even(void **state) {
    (void)state;
    for (unsigned code = 0; code < INFINITE; code++) {
        double middle = (value_of(code) + value_of(code + 1)) / 2;
        assert_nearest(middle, code + (code & 1));
        assert_nearest(nextafterf((float)middle, 0), code);
        assert_nearest(nextafterf((float)middle, INFINITY), code + 1);
        assert_nearest(nextafter(middle, 0), code);
        assert_nearest(nextafter(middle, INFINITY), code + 1);
    }
}

static void what_is_beyond_is_infinite_and_what_is_tiny_nothing(void **state) {
    (void)state;
    const double large[] = {65520, 65536, 1e30, INFINITY}, small[] = {0, 1e-45, 1e-30, 0x1p-25};
    for (size_t i = 0; i < COUNT_OF(large); i++)
        assert_nearest(large[i], INFINITE);
    for (size_t i = 0; i < COUNT_OF(small); i++)
        assert_nearest(small[i], 0);
    assert_nearest(1e300, INFINITE);
    assert_nearest(5e-324, 0);
}

#ifdef HONE_FLOAT16

static uint16_t bits_of(_Float16 half) {
    uint16_t code;
    memcpy(&code, &half, sizeof code);
    return code;
}

static void check_float(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    if (!isnan(value)) {
        assert_int_equal(half_from_float(value), bits_of((_Float16)value));
        assert_int_equal(half_from_double(value), bits_of((_Float16)(double)value));
    }
}

static void the_compilers_own_type_agrees(void **state) {
    uint64_t random = 1;
    (void)state;
    for (unsigned code = 0; code < CODES; code++) {
        _Float16 half;
        memcpy(&half, &(uint16_t){(uint16_t)code}, sizeof half);
        float ours = half_to_float((uint16_t)code), theirs = (float)half;
        assert_true(isnan(theirs) ? isnan(ours) : memcmp(&ours, &theirs, sizeof ours) == 0);
        check_float(code << 16);
        random = random * 6364136223846793005u + 1442695040888963407u;
        check_float(code << 16 | (uint32_t)(random >> 48));
        double wide = ldexp((double)(random >> 11), (int)(random % 60) - 90);
        assert_int_equal(half_from_double(wide), bits_of((_Float16)wide));
    }
}

#else

static void the_compilers_own_type_agrees(void **state) {
    (void)state;
    print_message("this compiler has no _Float16\n");
    skip();
}

#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_has_its_value_and_comes_back),
        cmocka_unit_test(what_lies_between_goes_to_the_nearest_and_ties_to_even),
        cmocka_unit_test(what_is_beyond_is_infinite_and_what_is_tiny_nothing),
        cmocka_unit_test(the_compilers_own_type_agrees),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
