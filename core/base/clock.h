/* SPDX-License-Identifier: Apache-2.0 */
/* Time. Monotonic for durations, wall for what is shown and stored. */
#ifndef HONE_BASE_CLOCK_H
#define HONE_BASE_CLOCK_H

#include <stdint.h>

struct buf;

uint64_t clock_monotonic_ns(void);
int64_t clock_wall_ms(void); /* since 1970, UTC */
/* "0.842 ms", "12.4 µs", "1.31 s": three significant digits. */
void clock_print_duration(struct buf *out, double seconds);

#endif
