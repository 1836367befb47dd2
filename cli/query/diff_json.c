/* SPDX-License-Identifier: Apache-2.0 */
/* hone diff --json. */
#include <cjson/cJSON.h>
#include <math.h>

#include "cli/query/private.h"

static const struct device_profile *profile_of(const struct comparison *comparison, int side) {
    return comparison->sides[side]->timed.profile;
}

static cJSON *pair(double before, double after) {
    cJSON *object = cJSON_CreateObject();
    cJSON_AddNumberToObject(object, "before", before);
    cJSON_AddNumberToObject(object, "after", after);
    return object;
}

static cJSON *side_json(const struct subject *subject) {
    const struct device_profile *profile = subject->timed.profile;
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "name", subject->name);
    if (subject->attempt >= 0)
        cJSON_AddNumberToObject(object, "attempt", subject->attempt);
    else
        cJSON_AddNullToObject(object, "attempt");
    cJSON_AddStringToObject(object, "kernel", subject->timed.program->kernel);
    cJSON_AddStringToObject(object, "device", subject->timed.generation->name);
    cJSON_AddNumberToObject(object, "cores", MAX_OF(subject->timed.program->cores, 1));
    cJSON_AddNumberToObject(object, "latency_us", profile->latency_us);
    cJSON_AddNumberToObject(object, "floor_us", profile->floor_us);
    cJSON_AddStringToObject(object, "bound", profile->bound);
    struct buf limited = {0};
    profile_limited_print(profile, &limited);
    cJSON_AddStringToObject(object, "limited_by", limited.at ? limited.at : "");
    buf_free(&limited);
    return object;
}

static cJSON *engines_json(const struct comparison *comparison) {
    cJSON *object = cJSON_CreateObject();
    const char *engine;
    for (size_t i = 0; (engine = comparison_engine(i)); i++)
        cJSON_AddItemToObject(
            object, engine,
            pair(comparison_busy(comparison, 0, engine), comparison_busy(comparison, 1, engine)));
    return object;
}

static cJSON *metrics_json(const struct comparison *comparison) {
    cJSON *list = cJSON_CreateArray();
    const struct device_profile *before = profile_of(comparison, 0);
    for (size_t i = 0; i < before->metrics.len; i++) {
        const struct device_metric *was = &before->metrics.at[i];
        const struct device_metric *is = comparison_after(comparison, was->name);
        cJSON *object = pair(was->value, is ? is->value : (double)NAN);
        cJSON_AddStringToObject(object, "name", was->name);
        cJSON_AddStringToObject(object, "unit", was->unit);
        cJSON_AddItemToArray(list, object);
    }
    return list;
}

static void add_number_or_null(cJSON *object, const char *name, int line) {
    if (line)
        cJSON_AddNumberToObject(object, name, line);
    else
        cJSON_AddNullToObject(object, name);
}

static cJSON *lines_json(const struct comparison *comparison) {
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < comparison->lines.len; i++) {
        const struct diff_line *row = &comparison->lines.at[i];
        struct buf text = {0};
        cJSON *object = cJSON_CreateObject();
        buf_printf(&text, STR_FMT, STR_ARG(row->text));
        if (row->file)
            cJSON_AddStringToObject(object, "file", row->file);
        add_number_or_null(object, "line_before", row->line[0]);
        add_number_or_null(object, "line_after", row->line[1]);
        cJSON_AddItemToObject(object, "us", pair(row->us[0], row->us[1]));
        const char *engines[2];
        double was = comparison_line_busy(row, 0, &engines[0]);
        double is = comparison_line_busy(row, 1, &engines[1]);
        cJSON_AddItemToObject(object, "busy_us", pair(was, is));
        cJSON_AddStringToObject(object, "engine", engines[is > 0]);
        cJSON_AddItemToObject(object, "instructions",
                              pair((double)row->times[0], (double)row->times[1]));
        cJSON_AddStringToObject(object, "text", text.len ? text.at : "");
        cJSON_AddItemToArray(list, object);
        buf_free(&text);
    }
    return list;
}

void comparison_print_json(const struct comparison *comparison) {
    struct buf diff = {0};
    cJSON *object = cJSON_CreateObject();
    comparison_diff(comparison, &diff);
    cJSON_AddItemToObject(object, "before", side_json(comparison->sides[0]));
    cJSON_AddItemToObject(object, "after", side_json(comparison->sides[1]));
    cJSON_AddNumberToObject(object, "speedup",
                            profile_of(comparison, 0)->latency_us /
                                profile_of(comparison, 1)->latency_us);
    cJSON_AddItemToObject(object, "busy_us", engines_json(comparison));
    cJSON_AddItemToObject(object, "lines", lines_json(comparison));
    cJSON_AddItemToObject(object, "metrics", metrics_json(comparison));
    cJSON_AddStringToObject(object, "source", diff.len ? diff.at : "");
    cli_json_print(object);
    buf_free(&diff);
}
