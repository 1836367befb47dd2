/* SPDX-License-Identifier: Apache-2.0 */
/* The last known state of hosts, for `hone host list`. It is a small JSON file that is replaced as
 * a whole. When two programs write at once, one state may be lost; the next contact with the host
 * mends that. */
#include "cli/kit/known.h"

#include <stdio.h>
#include <stdlib.h>

#define MAX_FILE ((size_t)4 << 20)

cJSON *known_load(void) {
    char *path = path_state("hosts.json");
    struct err err;
    char *text = file_read(path, MAX_FILE, NULL, &err);
    cJSON *all = text ? cJSON_Parse(text) : NULL;
    free(text);
    free(path);
    if (cJSON_IsObject(all))
        return all;
    cJSON_Delete(all);
    return cJSON_CreateObject();
}

static void save(const cJSON *all) {
    char *path = path_state("hosts.json"), *folder = path_folder(path);
    char *text = cJSON_Print(all);
    struct err err;
    if (text && file_make_private(folder, &err) &&
        !file_write_private(path, text, strlen(text), &err))
        cli_say(stderr, "hone: %s\n", err.text);
    free(text);
    free(folder);
    free(path);
}

static cJSON *entry_of(const struct target_info *info, const struct target_status *status) {
    bool connected = status->state == TARGET_READY;
    size_t free_cores = 0;
    for (size_t i = 0; i < status->cores.len; i++)
        free_cores += strcmp(status->cores.at[i].state, "free") == 0 ||
                      strcmp(status->cores.at[i].state, "idle") == 0;
    cJSON *entry = cJSON_CreateObject();
    cJSON_AddStringToObject(entry, "kind", info->kind ? info->kind : "");
    cJSON_AddNumberToObject(entry, "when_ms", (double)clock_wall_ms());
    cJSON_AddBoolToObject(entry, "connected", connected);
    cJSON_AddStringToObject(entry, "text", connected ? "connected" : status->text);
    cJSON_AddStringToObject(entry, "host", status->host);
    cJSON_AddStringToObject(entry, "release", status->release);
    cJSON_AddNumberToObject(entry, "cores", (double)status->cores.len);
    cJSON_AddNumberToObject(entry, "cores_free", (double)free_cores);
    return entry;
}

void known_note(const struct target_info *info, const struct target_status *status) {
    bool settled = status->state == TARGET_READY || status->state == TARGET_FAILED ||
                   status->state == TARGET_LOST;
    if (!settled || !info->kind || strcmp(info->kind, "sim") == 0)
        return;
    cJSON *all = known_load();
    cJSON_DeleteItemFromObjectCaseSensitive(all, info->name);
    cJSON_AddItemToObject(all, info->name, entry_of(info, status));
    save(all);
    cJSON_Delete(all);
}

static void print_age(double seconds, struct buf *out) {
    static const struct {
        double unit;
        const char *name;
    } units[] = {{86400, "d"}, {3600, "h"}, {60, "min"}};
    for (size_t i = 0; i < COUNT_OF(units); i++)
        if (seconds >= units[i].unit) {
            buf_printf(out, "%.0f %s ago", seconds / units[i].unit, units[i].name);
            return;
        }
    buf_puts(out, "just now");
}

void known_print(const cJSON *seen, int64_t now_ms, struct buf *out) {
    const cJSON *when = cJSON_GetObjectItemCaseSensitive(seen, "when_ms");
    const char *texts[] = {cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(seen, "text")),
                           cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(seen, "release"))};
    const cJSON *cores = cJSON_GetObjectItemCaseSensitive(seen, "cores");
    const cJSON *free_cores = cJSON_GetObjectItemCaseSensitive(seen, "cores_free");
    if (!cJSON_IsNumber(when)) {
        buf_puts(out, "never");
        return;
    }
    print_age(((double)now_ms - when->valuedouble) / 1000, out);
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        if (texts[i] && *texts[i])
            buf_printf(out, "%s%s", i ? ", " : ": ", texts[i]);
    if (cJSON_IsNumber(cores) && cores->valuedouble > 0 && cJSON_IsNumber(free_cores))
        buf_printf(out, ", %d of %d cores free", free_cores->valueint, cores->valueint);
}
