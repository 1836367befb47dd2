/* SPDX-License-Identifier: Apache-2.0 */
/* cmocka, whose comparison of floats takes NAN for any number, in single precision. Here
 * NAN is no number, and numbers are compared as they are. */
#ifndef HONE_TESTS_CMOCKA_H
#define HONE_TESTS_CMOCKA_H

#include_next <cmocka.h>
#include <math.h>

#undef assert_float_equal
#define assert_float_equal(a, b, epsilon) \
    assert_near_((double)(a), (double)(b), (double)(epsilon), __FILE__, __LINE__)

static inline void assert_near_(double a, double b, double epsilon, const char *file, int line) {
    if (a == b || fabs(a - b) <= epsilon)
        return;
    print_error("%.17g is not %.17g, or within %g of it\n", a, b, epsilon);
    _fail(file, line);
}

#endif
