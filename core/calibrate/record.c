/* SPDX-License-Identifier: Apache-2.0 */
/* The constants of a host as a file: ~/.local/state/hone/calibrated/HOST.json, for its owner
 * alone. */
#include "calibrate/calibrate.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>

#define FORMAT "hone-constants"
#define MAX_FILE ((size_t)1 << 20)
#define MOST_RATIO 1e3 /* a constant that differs more from constants.def is a damaged one */

/* What may stand in a file's name. Other characters of a host's name could lead to another
 * folder. */
static bool is_plain(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           strchr("@._-", c);
}

char *calibrate_path(const char *host) {
    struct buf name = {0};
    buf_puts(&name, "calibrated/");
    for (const char *c = host; *c; c++)
        if (is_plain(*c) && (c > host || *c != '.'))
            buf_putc(&name, *c);
        else
            buf_printf(&name, "%%%02x", (unsigned char)*c);
    buf_puts(&name, ".json");
    char *path = path_state(name.at);
    buf_free(&name);
    return path;
}

/* ---- writing -------------------------------------------------------------------------------- */

static cJSON *constants_of(const struct calibrate_fit *fit) {
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < fit->all.len; i++) {
        const struct calibrate_constant *c = &fit->all.at[i];
        if (!c->seen)
            continue;
        cJSON *row = cJSON_CreateObject();
        cJSON_AddStringToObject(row, "name", c->row->name);
        cJSON_AddStringToObject(row, "unit", c->row->unit);
        cJSON_AddNumberToObject(row, "was", c->was);
        cJSON_AddNumberToObject(row, "is", c->is);
        cJSON_AddNumberToObject(row, "low", c->low);
        cJSON_AddNumberToObject(row, "high", c->high);
        cJSON_AddItemToArray(list, row);
    }
    return list;
}

static cJSON *rows_of(const struct calibrate_row *rows, size_t count) {
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < count; i++) {
        cJSON *row = cJSON_CreateObject();
        cJSON_AddStringToObject(row, "name", rows[i].name);
        cJSON_AddNumberToObject(row, "measured_us", rows[i].measured_us);
        cJSON_AddNumberToObject(row, "before_us", rows[i].before_us);
        cJSON_AddNumberToObject(row, "after_us", rows[i].after_us);
        cJSON_AddItemToArray(list, row);
    }
    return list;
}

static bool write_private(const char *path, const char *text, struct err *err) {
    char *folder = path_folder(path);
    bool ok = file_make_private(folder, err) && file_write_private(path, text, strlen(text), err);
    free(folder);
    return ok;
}

bool calibrate_keep(const char *host, const char *release, const struct calibrate_fit *fit,
                    const struct calibrate_row *rows, size_t count, struct err *err) {
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "format", FORMAT);
    cJSON_AddNumberToObject(object, "version", 1);
    cJSON_AddStringToObject(object, "host", host);
    cJSON_AddStringToObject(object, "device", nki_generation_name(fit->constants.generation));
    cJSON_AddStringToObject(object, "release", release);
    cJSON_AddNumberToObject(object, "when_ms", (double)clock_wall_ms());
    cJSON_AddNumberToObject(object, "error_before", fit->before);
    cJSON_AddNumberToObject(object, "error_after", fit->after);
    cJSON_AddItemToObject(object, "constants", constants_of(fit));
    cJSON_AddItemToObject(object, "kernels", rows_of(rows, count));
    char *text = cJSON_Print(object), *path = calibrate_path(host);
    bool ok = text && write_private(path, text, err);
    free(path);
    free(text);
    cJSON_Delete(object);
    return ok;
}

/* ---- reading -------------------------------------------------------------------------------- */

static const char *text_of(struct arena *arena, const cJSON *object, const char *name) {
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
    return arena_strdup(arena, text ? text : "");
}

static double number_of(const cJSON *object, const char *name) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    return cJSON_IsNumber(item) && isfinite(item->valuedouble) ? item->valuedouble : 0;
}

/* The list in the file as the JSON object that a job carries. */
static const char *job_text(struct arena *arena, const cJSON *list) {
    cJSON *object = cJSON_CreateObject();
    const cJSON *row;
    cJSON_ArrayForEach(row, list) {
        const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(row, "name"));
        if (name)
            cJSON_AddNumberToObject(object, name, number_of(row, "is"));
    }
    char *text = cJSON_PrintUnformatted(object);
    const char *kept = arena_strdup(arena, text ? text : "{}");
    free(text);
    cJSON_Delete(object);
    return kept;
}

static bool take(const cJSON *object, struct calibrate_record *record, struct err *err) {
    struct arena *arena = record->arena = arena_new();
    const cJSON *kernels = cJSON_GetObjectItemCaseSensitive(object, "kernels");
    record->host = text_of(arena, object, "host");
    record->device = text_of(arena, object, "device");
    record->release = text_of(arena, object, "release");
    record->when_ms = (int64_t)fmax(0, fmin(number_of(object, "when_ms"), 1e15));
    record->before = number_of(object, "error_before");
    record->after = number_of(object, "error_after");
    record->kernels = (size_t)cJSON_GetArraySize(kernels);
    record->constants = job_text(arena, cJSON_GetObjectItemCaseSensitive(object, "constants"));
    enum nki_generation generation = nki_generation_find(record->device);
    struct device_constants constants = *device_constants_of(generation);
    if (strcmp(text_of(arena, object, "format"), FORMAT) != 0 || !generation)
        return err_set(err, ERR_USAGE, "it is not a file of hone calibrate");
    return calibrate_constants(record->constants, &constants, err);
}

bool calibrate_load(const char *host, struct calibrate_record *record, struct err *err) {
    bool is_file = strchr(host, '/') != NULL;
    char *path = is_file ? mem_strdup(host) : calibrate_path(host);
    *record = (struct calibrate_record){0};
    if (!is_file && !file_exists(path)) {
        free(path);
        return err_set(err, ERR_USAGE,
                       "%s has no constants of its own: hone calibrate %s finds them", host, host);
    }
    char *text = file_read(path, MAX_FILE, NULL, err);
    cJSON *object = text ? cJSON_Parse(text) : NULL;
    bool ok = text && take(object, record, err);
    if (text && !ok)
        err_prefix(err, "%s", path);
    if (!ok)
        calibrate_record_free(record);
    cJSON_Delete(object);
    free(text);
    free(path);
    return ok;
}

void calibrate_record_free(struct calibrate_record *record) {
    arena_free(record->arena);
    *record = (struct calibrate_record){0};
}

/* Whether a number is possible for that constant. */
static bool is_sane(const struct device_constant *row, const struct device_constants *base,
                    double value) {
    double usual = device_constant_value(base, row);
    if (!isfinite(value) || value < 0)
        return false;
    return usual <= 0 || (value > usual / MOST_RATIO && value < usual * MOST_RATIO);
}

bool calibrate_constants(const char *text, struct device_constants *constants, struct err *err) {
    cJSON *object = cJSON_Parse(text);
    const struct device_constants *base = device_constants_of(constants->generation);
    const cJSON *item;
    bool ok = cJSON_IsObject(object) ||
              err_set(err, ERR_USAGE, "constants of a device must be an object of numbers");
    cJSON_ArrayForEach(item, object) {
        const struct device_constant *row = device_constant_find(str_of(item->string));
        if (!ok || !row)
            continue;
        ok = cJSON_IsNumber(item) && is_sane(row, base, item->valuedouble);
        if (ok)
            *device_constant_in(constants, row) = item->valuedouble;
        else
            err_set(err, ERR_USAGE, "the constant %s has a value that no device has", row->name);
    }
    cJSON_Delete(object);
    return ok;
}
