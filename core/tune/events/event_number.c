/* SPDX-License-Identifier: Apache-2.0 */
/* Decimal text as a double, rounded once as strtod does. It reads the numbers that events mostly
 * have: up to 19 digits, with a power of ten whose power of five fits into 64 bits. Long sessions
 * have millions of them. */
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "tune/events/event_table.h"

#define MOST_DIGITS 19 /* of an integer that 64 bits hold */
#define MOST_READ 60   /* characters; one with more leaves a rest that is no number */
#define MOST_TENS 27   /* 5^27 < 2^64 */
#define BITS 53        /* of a double's digits */

__extension__ typedef unsigned __int128 wide;

struct decimal {
    uint64_t digits;
    int tens; /* times ten to this power */
    bool minus;
};

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

size_t tune_event_number_length(const char *text) {
    const char *at = text;
    while (is_digit(*at) || *at == '.' || *at == '-' || *at == '+' || *at == 'e' || *at == 'E')
        at++;
    return (size_t)(at - text);
}

static bool exponent_read(struct str text, int *tens) {
    size_t at = text.len && (*text.at == '-' || *text.at == '+');
    int value = 0;
    if (text.len == at || text.len - at > 3)
        return false;
    for (size_t i = at; i < text.len; i++) {
        if (!is_digit(text.at[i]))
            return false;
        value = value * 10 + (text.at[i] - '0');
    }
    *tens += *text.at == '-' ? -value : value;
    return true;
}

/* Adds digits to those before, and returns how many there were. *count grows by those that count:
 * not by zeros at the beginning. With more than 19 of those the sum does not matter. */
static int digits_read(struct str *text, uint64_t *digits, int *count) {
    size_t at = 0, most = MIN_OF(text->len, (size_t)MOST_READ);
    uint64_t sum = *digits;
    int counted = *count;
    for (; at < most && is_digit(text->at[at]); at++) {
        sum = sum * 10 + (uint64_t)(text->at[at] - '0');
        counted += counted || sum;
    }
    *digits = sum;
    *count = counted;
    *text = (struct str){text->at + at, text->len - at};
    return (int)at;
}

/* Splits the text; false when it is no such number, or one with more digits. */
static bool decimal_read(struct str text, struct decimal *decimal) {
    *decimal = (struct decimal){.minus = text.len && *text.at == '-'};
    struct str rest = {text.at + decimal->minus, text.len - decimal->minus};
    int count = 0, whole = digits_read(&rest, &decimal->digits, &count), part = 0;
    if (whole && rest.len && *rest.at == '.') {
        rest = (struct str){rest.at + 1, rest.len - 1};
        part = digits_read(&rest, &decimal->digits, &count);
        if (!part)
            return false;
    }
    decimal->tens = -part;
    if (!whole || count > MOST_DIGITS)
        return false;
    return !rest.len || ((*rest.at == 'e' || *rest.at == 'E') &&
                         exponent_read((struct str){rest.at + 1, rest.len - 1}, &decimal->tens));
}

static uint64_t power_of_five(int power) {
    static const uint64_t powers[] = {1, 5, 25, 125, 625, 3125, 15625, 78125, 390625};
    uint64_t value = powers[power % 9];
    for (; power >= 9; power -= 9)
        value *= 1953125;
    return value;
}

/* 2 to a power that a double can hold by far. */
static double power_of_two(int power) {
    uint64_t bits = (uint64_t)(power + 1023) << 52;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static int length_of(wide value) {
    uint64_t high = (uint64_t)(value >> 64), low = (uint64_t)value;
    return high ? 128 - __builtin_clzll(high) : low ? 64 - __builtin_clzll(low) : 0;
}

/* Rounds to the nearest value with 53 bits, of two to the even one. `more`: something was cut off
 * behind the bits. */
static double rounded(wide value, bool more, int twos) {
    int over = length_of(value) - BITS;
    if (over <= 0)
        return (double)(uint64_t)value * power_of_two(twos);
    wide half = (wide)1 << (over - 1), rest = value & ((half << 1) - 1);
    uint64_t kept = (uint64_t)(value >> over);
    kept += rest > half || (rest == half && (more || (kept & 1)));
    return (double)kept * power_of_two(twos + over);
}

/* Where both are exact as doubles, one operation rounds once. */
static bool exact(const struct decimal *decimal, double *value) {
    static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                  1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    size_t power = (size_t)abs(decimal->tens);
    if (FLT_EVAL_METHOD != 0 || decimal->digits >> BITS || power >= COUNT_OF(tens))
        return false;
    double digits = (double)decimal->digits;
    *value = decimal->tens < 0 ? digits / tens[power] : digits * tens[power];
    *value = decimal->minus ? -*value : *value;
    return true;
}

bool tune_event_number(struct str text, double *value) {
    struct decimal decimal;
    if (!decimal_read(text, &decimal) || abs(decimal.tens) > MOST_TENS)
        return false;
    if (exact(&decimal, value))
        return true;
    wide digits = decimal.digits;
    uint64_t fives = power_of_five(abs(decimal.tens));
    if (decimal.tens >= 0) {
        *value = rounded(digits * fives, false, decimal.tens);
    } else {
        /* With 64 more bits the quotient has more than 53, or the division leaves no rest. */
        int up = digits ? 127 - length_of(digits) : 0;
        wide raised = digits << up, quotient = raised / fives;
        *value = rounded(quotient, quotient * fives != raised, decimal.tens - up);
    }
    *value = decimal.minus ? -*value : *value;
    return true;
}
