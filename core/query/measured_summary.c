/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of a summary: what neuron-explorer and neuron-profile print with `view
 * --output-format summary-json`. Its fields are those of the table Summary (Neuron SDK 2.32,
 * profile schema reference); their units follow from how their names end. */
#include <cjson/cJSON.h>
#include <math.h>

#include "query/private.h"

#define SHARE 1.0001   /* above it a share of 1 is none */
#define MOST_SHARE 1.5 /* above it, up to 100, it is in percent already */

static const char *unit_of(const char *name) {
    static const struct {
        const char *ending, *unit;
    } units[] = {{"_time_ns", "ns"},      {"_percent", "%"},   {"_bytes", "bytes"},
                 {"_size", "bytes"},      {"_flops", "flops"}, {"_cycle_count", "cycles"},
                 {"_cycles", "cycles"},   {"_count", "count"}, {"_time", "s"},
                 {"_intensity", "ratio"}, {"_ratio", "ratio"}};
    for (size_t i = 0; i < COUNT_OF(units); i++)
        if (str_ends(str_of(name), units[i].ending))
            return units[i].unit;
    return NULL;
}

static double number(const cJSON *object, const char *name) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    return cJSON_IsNumber(item) ? item->valuedouble : (double)NAN;
}

bool measured_is_summary(const cJSON *object) {
    const cJSON *item;
    int known = 0;
    if (!cJSON_IsObject(object))
        return false;
    cJSON_ArrayForEach(item, object) {
        known += cJSON_IsNumber(item) && unit_of(item->string);
    }
    return known >= 2;
}

/* A share of time from the times themselves; NAN: they are not there, or no share. */
static double share_of_times(const cJSON *summary, const char *name) {
    char time[120];
    snprintf(time, sizeof time, "%.*s", (int)(strlen(name) - strlen("_percent")), name);
    double share = number(summary, time) / number(summary, "total_time");
    return str_ends(str_of(time), "_time") && share >= 0 && share <= SHARE ? share : (double)NAN;
}

/* The tools print shares as fractions of 1; public profiles have others, too: percents, and sums
 * over cores. NAN: it cannot be trusted. */
static double percent_of(struct measured *measured, const cJSON *summary, const cJSON *item) {
    double value = item->valuedouble, share;
    if (strstr(item->string, "util_limit") || value <= SHARE)
        return 100 * (value <= SHARE ? MIN_OF(value, 1.0) : value);
    share = share_of_times(summary, item->string);
    if (!isnan(share)) {
        measured_warn(measured, "%s is %.4g, over 1: it was taken from the times.", item->string,
                      value);
        return 100 * MIN_OF(share, 1.0);
    }
    if (value > MOST_SHARE && value <= 100) {
        measured_warn(measured, "%s is %.4g: it was taken as percent.", item->string, value);
        return value;
    }
    measured_warn(measured, "%s is %.4g, over 1, and was left out.", item->string, value);
    return NAN;
}

/* From the first to the last instruction where the tool has that, else between the runtime's
 * notifications. */
static double latency_us(const cJSON *summary) {
    static const char *const times[] = {"total_exec_time", "total_time"};
    for (size_t i = 0; i < COUNT_OF(times); i++)
        if (number(summary, times[i]) > 0)
            return 1e6 * number(summary, times[i]);
    return NAN;
}

void measured_summary(struct measured *measured, const cJSON *summary) {
    const cJSON *item;
    cJSON_ArrayForEach(item, summary) {
        const char *unit = cJSON_IsNumber(item) ? unit_of(item->string) : NULL;
        if (!unit || strlen(item->string) > 100)
            continue;
        double value = !strcmp(unit, "%") ? percent_of(measured, summary, item) : item->valuedouble;
        if (isfinite(value))
            *vec_push(&measured->metrics) = (struct measured_metric){
                text_pool_keep(measured->texts, str_of(item->string)), unit, value};
    }
    measured->latency_us = latency_us(summary);
}
