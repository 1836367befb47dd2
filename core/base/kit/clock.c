/* SPDX-License-Identifier: Apache-2.0 */
#include "base/kit/kit.h"

#include <ctype.h>
#include <math.h>
#include <time.h>

uint64_t clock_monotonic_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int64_t clock_wall_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static const struct {
    double unit;
    const char *name;
} units[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "µs"}, {1e-9, "ns"}};

void clock_print_duration(struct buf *out, double seconds) {
    if (!isfinite(seconds) || seconds < 0) {
        buf_puts(out, "-");
        return;
    }
    size_t u = 0;
    /* Beside other latencies 0.842 ms reads better than 842 µs, hence the 0.1. */
    while (u + 1 < COUNT_OF(units) && seconds < units[u].unit * 0.1)
        u++;
    double value = seconds / units[u].unit;
    int decimals = value >= 100 ? 0 : value >= 10 ? 1 : value >= 1 ? 2 : 3;
    buf_printf(out, "%.*f %s", decimals, value, units[u].name);
}

static double unit_of(struct str name) {
    for (size_t i = 0; i < COUNT_OF(units); i++)
        if (str_is(name, units[i].name))
            return units[i].unit;
    return str_is(name, "us") ? 1e-6 : 0;
}

bool clock_read_duration(struct str text, double *seconds) {
    text = str_trim(text);
    size_t digits = 0;
    while (digits < text.len && (isdigit((unsigned char)text.at[digits]) || text.at[digits] == '.'))
        digits++;
    double number = 0;
    double unit = unit_of(str_trim((struct str){text.at + digits, text.len - digits}));
    if (!unit || !str_to_double((struct str){text.at, digits}, &number) || !(number > 0))
        return false;
    *seconds = number * unit;
    return true;
}
