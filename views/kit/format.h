/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as a person reads them: units, signs, three digits; "-" when not known. */
#ifndef HONE_VIEWS_KIT_FORMAT_H
#define HONE_VIEWS_KIT_FORMAT_H

#include <stdint.h>

struct shown {
    char text[40];
};
struct shown show_latency(double us);             /* "0.842 ms" */
struct shown show_elapsed(int64_t ms);            /* "12 s", "3 m 04 s" */
struct shown show_speedup(double times);          /* "1.61x" */
struct shown show_change(double from, double to); /* "-25.1 %" */
struct shown show_bytes(double bytes);            /* "105 MB" */
struct shown show_value(double value, const char *unit);
struct shown show_clock(int64_t wall_ms, int seconds);  /* "14:02" or "14:02:33", local time */
struct shown show_ago(int64_t wall_ms, int64_t now_ms); /* "3 h ago" */
struct shown show_count(double count);                  /* "61k" */
struct shown show_dollars(double dollars);              /* "$0.021"; "not reported" */

#endif
