/* SPDX-License-Identifier: Apache-2.0 */
/* hone clean: empties the cache. Sessions and the constants of hosts stay, and a hone at work makes
 * again what it still needs. */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "task/task.h"

void cli_print_bytes(double bytes, struct buf *out) {
    static const char *const units[] = {"bytes", "KB", "MB", "GB", "TB"};
    size_t unit = 0;
    while (bytes >= 1024 && unit + 1 < COUNT_OF(units)) {
        bytes /= 1024;
        unit++;
    }
    buf_printf(out, "%.*f %s", unit && bytes < 10 ? 1 : 0, bytes, units[unit]);
}

static void print_json(const char *folder, uint64_t freed) {
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "folder", folder);
    cJSON_AddNumberToObject(object, "freed_bytes", (double)freed);
    cli_json_line(object);
}

int cli_clean(const struct cli *cli) {
    char *folder = path_cache("references");
    uint64_t freed = task_cache_empty();
    struct buf size = {0};
    cli_print_bytes((double)freed, &size);
    if (cli_has(cli, "json"))
        print_json(folder, freed);
    else
        cli_say(stdout, "%s: %s freed\n", folder, size.at);
    struct buf kept = {0};
    if (!cli_has(cli, "json"))
        calibrate_print_hosts(&kept);
    fputs(kept.len ? kept.at : "", stdout);
    buf_free(&kept);
    buf_free(&size);
    free(folder);
    return CLI_OK;
}
