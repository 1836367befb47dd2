/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and writes event payloads. Private to tune. */
#ifndef HONE_TUNE_JSON_H
#define HONE_TUNE_JSON_H

#include <cjson/cJSON.h>

#include "base/base.h"

/* What is missing or of another type reads as NULL, NAN, `missing` or false. */
const char *tune_json_text(const cJSON *object, const char *key);
double tune_json_number(const cJSON *object, const char *key);
int tune_json_int(const cJSON *object, const char *key, int missing);
int64_t tune_json_int64(const cJSON *object, const char *key, int64_t missing);
bool tune_json_bool(const cJSON *object, const char *key);
const cJSON *tune_json_at(const cJSON *object, const char *key);
/* NULL texts and numbers that are not finite are written as null. Text that is not UTF-8 is stored
 * with its stray bytes replaced, because JSON has no way to say them. */
void tune_json_put_text(cJSON *object, const char *key, const char *text);
void tune_json_put_number(cJSON *object, const char *key, double number);
void tune_json_put_bool(cJSON *object, const char *key, bool value);
/* Appends the text of the value. It is what cJSON prints (`wide`: over lines, as cJSON_Print), in a
 * fraction of the time. What is raw stands as it is. */
void tune_json_print(const cJSON *value, bool wide, struct buf *out);

#endif
