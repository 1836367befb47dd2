/* SPDX-License-Identifier: Apache-2.0 */
/* Time. Monotonic for durations, wall for what is shown and stored. */
#ifndef HONE_BASE_CLOCK_H
#define HONE_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct buf;
struct str;

uint64_t clock_monotonic_ns(void);
int64_t clock_wall_ms(void); /* since 1970, UTC */
/* "0.842 ms", "12.4 µs", "1.31 s": three significant digits. */
void clock_print_duration(struct buf *out, double seconds);
/* "400us", "1.5 ms", "2 s", also with "µs": seconds, more than 0. False for anything else, also
 * for a number without a unit. */
bool clock_read_duration(struct str text, double *seconds);

#endif
