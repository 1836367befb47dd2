/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and writes event payloads with cJSON, so that foreign bytes and odd numbers neither make
 * broken JSON nor come back as something else. It knows no event. */
#include "tune/state/json.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "tune/events/events.h"

const cJSON *tune_json_at(const cJSON *object, const char *key) {
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

const char *tune_json_text(const cJSON *object, const char *key) {
    return cJSON_GetStringValue(tune_json_at(object, key));
}

double tune_json_number(const cJSON *object, const char *key) {
    const cJSON *item = tune_json_at(object, key);
    return cJSON_IsNumber(item) ? item->valuedouble : (double)NAN;
}

int tune_json_int(const cJSON *object, const char *key, int missing) {
    double value = tune_json_number(object, key);
    return value >= INT_MIN && value <= INT_MAX ? (int)value : missing;
}

int64_t tune_json_int64(const cJSON *object, const char *key, int64_t missing) {
    double value = tune_json_number(object, key);
    return fabs(value) < 9e18 ? (int64_t)value : missing;
}

bool tune_json_bool(const cJSON *object, const char *key) {
    return cJSON_IsTrue(tune_json_at(object, key));
}

/* Length of the well-formed UTF-8 sequence at `at`, 0 when there is none. */
static size_t utf8_length(const unsigned char *at) {
    static const struct {
        unsigned char mask, lead;
        size_t length;
        uint32_t least;
    } kinds[] = {{0x80, 0x00, 1, 0},
                 {0xe0, 0xc0, 2, 0x80},
                 {0xf0, 0xe0, 3, 0x800},
                 {0xf8, 0xf0, 4, 0x10000}};
    for (size_t k = 0; k < COUNT_OF(kinds); k++) {
        if ((at[0] & kinds[k].mask) != kinds[k].lead)
            continue;
        uint32_t point = at[0] & (unsigned char)~kinds[k].mask;
        for (size_t i = 1; i < kinds[k].length; i++) {
            if ((at[i] & 0xc0) != 0x80)
                return 0;
            point = point << 6 | (at[i] & 0x3f);
        }
        bool bad = point < kinds[k].least || point > 0x10ffff || (point >> 11) == 0x1b;
        return bad ? 0 : kinds[k].length;
    }
    return 0;
}

void tune_json_put_text(cJSON *object, const char *key, const char *text) {
    if (!text) {
        cJSON_AddNullToObject(object, key);
        return;
    }
    struct buf clean = {0};
    for (const unsigned char *at = (const unsigned char *)text; *at;) {
        size_t length = utf8_length(at);
        if (length)
            buf_add(&clean, (const char *)at, length);
        else
            buf_puts(&clean, "\xef\xbf\xbd");
        at += length ? length : 1;
    }
    char *whole = buf_take(&clean);
    cJSON_AddStringToObject(object, key, whole);
    free(whole);
}

void tune_json_put_number(cJSON *object, const char *key, double number) {
    if (isfinite(number))
        cJSON_AddNumberToObject(object, key, number);
    else
        cJSON_AddNullToObject(object, key);
}

void tune_json_put_bool(cJSON *object, const char *key, bool value) {
    cJSON_AddBoolToObject(object, key, value);
}

/* -------------------------------------------------------------------------------------- as text */

static void tabs(struct buf *out, int count) {
    while (count-- > 0)
        buf_putc(out, '\t');
}

static void value_print(const cJSON *value, int depth, struct buf *out);

/* `depth` of what stands inside; negative: on one line. */
static void members_print(const cJSON *object, int depth, struct buf *out) {
    bool wide = depth >= 0;
    buf_puts(out, wide ? "{\n" : "{");
    for (const cJSON *at = object->child; at; at = at->next) {
        tabs(out, depth);
        tune_text_print(out, at->string);
        buf_puts(out, wide ? ":\t" : ":");
        value_print(at, depth, out);
        buf_puts(out, at->next ? "," : "");
        buf_puts(out, wide ? "\n" : "");
    }
    tabs(out, depth - 1);
    buf_putc(out, '}');
}

static void items_print(const cJSON *list, int depth, struct buf *out) {
    buf_putc(out, '[');
    for (const cJSON *at = list->child; at; at = at->next) {
        value_print(at, depth, out);
        buf_puts(out, !at->next ? "" : depth < 0 ? "," : ", ");
    }
    buf_putc(out, ']');
}

/* cJSON itself reads nothing that is deeper than a thousand levels. */
static void value_print(const cJSON *value, int depth, struct buf *out) {
    int inside = depth < 0 ? depth : depth + 1;
    switch (value->type & 0xff) {
    case cJSON_False: buf_puts(out, "false"); break;
    case cJSON_True: buf_puts(out, "true"); break;
    case cJSON_Number: tune_number_print(out, value->valuedouble); break;
    case cJSON_String: tune_text_print(out, value->valuestring); break;
    case cJSON_Raw: buf_puts(out, value->valuestring); break;
    case cJSON_Array: items_print(value, inside, out); break;
    case cJSON_Object: members_print(value, inside, out); break;
    default: buf_puts(out, "null"); break;
    }
}

void tune_json_print(const cJSON *value, bool wide, struct buf *out) {
    value_print(value, wide ? 0 : -1, out);
}
