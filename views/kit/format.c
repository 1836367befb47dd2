/* SPDX-License-Identifier: Apache-2.0 */
/* Formats numbers for the screens. Nothing here knows what the numbers are about. */
#include "views/kit/format.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

#include "base/base.h"

static struct shown unknown(void) {
    return (struct shown){"-"};
}

struct shown show_latency(double us) {
    struct shown out = unknown();
    if (!isfinite(us))
        return out;
    if (us == 0) /* without a unit of its own */
        return (struct shown){"0 µs"};
    struct buf text = {0};
    clock_print_duration(&text, us * 1e-6);
    snprintf(out.text, sizeof out.text, "%s", text.at);
    buf_free(&text);
    return out;
}

struct shown show_elapsed(int64_t ms) {
    struct shown out;
    int64_t seconds = MAX_OF(ms, 0) / 1000;
    if (ms < 10000)
        snprintf(out.text, sizeof out.text, "%.1f s", (double)MAX_OF(ms, 0) / 1000);
    else if (seconds < 60)
        snprintf(out.text, sizeof out.text, "%d s", (int)seconds);
    else if (seconds < 3600)
        snprintf(out.text, sizeof out.text, "%d m %02d s", (int)(seconds / 60),
                 (int)(seconds % 60));
    else
        snprintf(out.text, sizeof out.text, "%d h %02d m", (int)(seconds / 3600),
                 (int)(seconds / 60 % 60));
    return out;
}

struct shown show_speedup(double times) {
    struct shown out = unknown();
    if (isfinite(times))
        snprintf(out.text, sizeof out.text, "%.2fx", times);
    return out;
}

struct shown show_change(double from, double to) {
    struct shown out = unknown();
    if (!isfinite(from) || !isfinite(to) || from == 0)
        return out;
    double change = (to - from) / fabs(from) * 100;
    if (fabs(change) < 0.05)
        snprintf(out.text, sizeof out.text, "=");
    else
        snprintf(out.text, sizeof out.text, fabs(change) < 1000 ? "%+.1f %%" : "%+.0f %%", change);
    return out;
}

/* Three significant digits with a prefix of the unit. */
static struct shown scaled(double value, double step, const char *const *units, size_t count) {
    struct shown out = unknown();
    if (!isfinite(value))
        return out;
    size_t u = 0;
    double size = fabs(value);
    while (u + 1 < count && size >= step * 0.9995) {
        size /= step;
        value /= step;
        u++;
    }
    int decimals = u == 0 || size >= 100 ? 0 : size >= 10 ? 1 : 2;
    snprintf(out.text, sizeof out.text, "%.*f%s", decimals, value, units[u]);
    return out;
}

struct shown show_bytes(double bytes) {
    static const char *const units[] = {" B", " kB", " MB", " GB", " TB"};
    return scaled(bytes, 1000, units, COUNT_OF(units));
}

struct shown show_count(double count) {
    static const char *const units[] = {"", "k", "M", "G", "T", "P"};
    return scaled(count, 1000, units, COUNT_OF(units));
}

struct shown show_value(double value, const char *unit) {
    struct shown out = unknown();
    if (!isfinite(value))
        return out;
    struct str name = str_of(unit ? unit : "");
    if (str_is(name, "s"))
        return show_latency(value * 1e6);
    if (str_is(name, "us") || str_is(name, "µs"))
        return show_latency(value);
    if (str_is(name, "bytes"))
        return show_bytes(value);
    if (str_is(name, "count") || str_is(name, "flops"))
        return show_count(value);
    if (str_is(name, "%") || str_is(name, "percent"))
        snprintf(out.text, sizeof out.text, "%.1f %%", value);
    else
        snprintf(out.text, sizeof out.text, "%.3g%s%.8s", value, name.len ? " " : "", name.at);
    return out;
}

struct shown show_clock(int64_t wall_ms, int seconds) {
    struct shown out = unknown();
    struct tm parts;
    time_t when = (time_t)(wall_ms / 1000);
    if (wall_ms > 0 && localtime_r(&when, &parts))
        strftime(out.text, sizeof out.text, seconds ? "%H:%M:%S" : "%H:%M", &parts);
    return out;
}

struct shown show_ago(int64_t wall_ms, int64_t now_ms) {
    static const struct {
        int64_t seconds;
        const char *unit;
    } units[] = {{86400, "d"}, {3600, "h"}, {60, "min"}};
    struct shown out = unknown();
    if (wall_ms <= 0)
        return out;
    int64_t seconds = MAX_OF(now_ms - wall_ms, 0) / 1000;
    snprintf(out.text, sizeof out.text, "just now");
    for (size_t i = COUNT_OF(units); i-- > 0;)
        if (seconds >= units[i].seconds)
            snprintf(out.text, sizeof out.text, "%d %s ago", (int)(seconds / units[i].seconds),
                     units[i].unit);
    return out;
}

struct shown show_dollars(double dollars) {
    struct shown out = {"not reported"};
    if (isfinite(dollars))
        snprintf(out.text, sizeof out.text,
                 dollars == 0    ? "$0"
                 : dollars < 0.1 ? "$%.2g"
                                 : "$%.2f",
                 dollars);
    return out;
}
