/* SPDX-License-Identifier: Apache-2.0 */
/* Time: a monotonic clock for durations, the wall clock for what is shown and stored. */
#ifndef HONE_BASE_CLOCK_H
#define HONE_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct buf;
struct str;

uint64_t clock_monotonic_ns(void);
int64_t clock_wall_ms(void); /* since 1970, UTC */
/* Prints "0.842 ms", "12.4 µs" or "1.31 s", with three significant digits. */
void clock_print_duration(struct buf *out, double seconds);
/* Reads "400us", "1.5 ms" or "2 s", also with "µs", as seconds above 0. False for anything else,
 * and for a number without a unit. */
bool clock_read_duration(struct str text, double *seconds);

#endif
