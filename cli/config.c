/* SPDX-License-Identifier: Apache-2.0 */
/* hone config: what is set, and where each value came from. Also the configuration reference, from
 * the table in base/config/config.def. base reads and checks the files. */
#include "cli/cli.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>

#include "task/task.h"

/* -- what is set ------------------------------------------------------------------------------ */

static void show_value(const struct config *config, const char *section,
                       const struct config_row *row, struct buf *out) {
    struct config_origin origin;
    const char *value = config_get(config, section, row->key, &origin);
    struct buf where = {0};
    config_origin_print(&origin, &where);
    buf_printf(out, "  %-16s %-34s %s\n", row->key, value ? value : "-", where.at);
    buf_free(&where);
}

static void put_value(const struct config *config, const char *section,
                      const struct config_row *row, cJSON *list) {
    struct config_origin origin;
    const char *value = config_get(config, section, row->key, &origin);
    struct buf where = {0}, allowed = {0};
    config_origin_print(&origin, &where);
    config_print_allowed(row, &allowed);
    cJSON *item = cJSON_CreateObject();
    cJSON_AddStringToObject(item, "section", section);
    cJSON_AddStringToObject(item, "key", row->key);
    cJSON_AddItemToObject(item, "value", value ? cJSON_CreateString(value) : cJSON_CreateNull());
    cJSON_AddStringToObject(item, "origin", where.at);
    cJSON_AddStringToObject(item, "allowed", allowed.at);
    cJSON_AddStringToObject(item, "what", row->what);
    cJSON_AddItemToArray(list, item);
    buf_free(&where);
    buf_free(&allowed);
}

static bool begins_section(size_t i) {
    return i == 0 || strcmp(config_rows[i].section, config_rows[i - 1].section) != 0;
}

/* Shows all rows of the section that begins at row `first`, under the name it was given. */
static void show_section(const struct config *config, size_t first, const char *section,
                         struct buf *out, cJSON *list) {
    if (out)
        buf_printf(out, "[%s]\n", section);
    for (size_t i = first; i < config_row_count && (i == first || !begins_section(i)); i++) {
        if (list)
            put_value(config, section, &config_rows[i], list);
        else
            show_value(config, section, &config_rows[i], out);
    }
}

static void show_all(const struct config *config, struct buf *out, cJSON *list) {
    for (size_t i = 0; i < config_row_count; i++) {
        struct str word = str_of(config_rows[i].section);
        if (!begins_section(i))
            continue;
        if (!str_ends(word, " *")) {
            show_section(config, i, config_rows[i].section, out, list);
            continue;
        }
        char kind[32], section[128];
        const char *name;
        snprintf(kind, sizeof kind, "%.*s", (int)word.len - 2, word.at);
        for (size_t n = 0; (name = config_name(config, kind, n)); n++) {
            snprintf(section, sizeof section, "%s %s", kind, name);
            show_section(config, i, section, out, list);
        }
    }
}

/* -- the reference ---------------------------------------------------------------------------- */

static void heading_of(const char *section, char out[48]) {
    struct str word = str_of(section);
    bool named = str_ends(word, " *");
    snprintf(out, 48, "[%.*s%s]", (int)(named ? word.len - 2 : word.len), word.at,
             named ? " NAME" : "");
}

static void settings_print_markdown(struct buf *out) {
    for (size_t i = 0; i < config_row_count; i++) {
        const struct config_row *row = &config_rows[i];
        char heading[48];
        heading_of(row->section, heading);
        if (begins_section(i))
            buf_printf(
                out, "%s`%s`\n\n| setting | allowed | default | what it is |\n|---|---|---|---|\n",
                i ? "\n" : "", heading);
        buf_printf(out, "| `%s`%s | ", row->key, row->task_may ? " ¹" : "");
        config_print_allowed(row, out);
        buf_printf(out, " | %s%s%s | %s |\n", row->preset ? "`" : "",
                   row->preset ? row->preset : "", row->preset ? "`" : "", row->what);
    }
}

void settings_print_man(struct buf *out, void (*add)(struct buf *out, const char *text)) {
    for (size_t i = 0; i < config_row_count; i++) {
        const struct config_row *row = &config_rows[i];
        char heading[48];
        heading_of(row->section, heading);
        if (begins_section(i)) {
            buf_puts(out, ".SS ");
            add(out, heading);
            buf_putc(out, '\n');
        }
        buf_puts(out, ".TP\n.B ");
        add(out, row->key);
        buf_putc(out, '\n');
        add(out, row->what);
        struct buf more = {0};
        buf_puts(&more, " Allowed: ");
        config_print_allowed(row, &more);
        if (row->preset)
            buf_printf(&more, "; default: %s", row->preset);
        buf_puts(&more, ".\n");
        add(out, more.at);
        buf_free(&more);
    }
}

/* -- the command ------------------------------------------------------------------------------ */

static void print_json(const struct config *config) {
    cJSON *list = cJSON_CreateArray();
    show_all(config, NULL, list);
    cli_json_print(list);
}

static void show_cache(struct buf *out) {
    char *folder = path_cache("references");
    buf_printf(out, "%s holds ", folder);
    cli_print_bytes((double)task_cache_bytes(), out);
    buf_puts(out, " of ");
    cli_print_bytes((double)task_cache_limit(), out);
    buf_puts(out, "; hone clean empties it\n");
    free(folder);
}

static void print_text(const struct config *config) {
    struct buf text = {0}, safe = {0};
    show_all(config, &text, NULL);
    show_cache(&text);
    calibrate_print_hosts(&text);
    if (!config_name(config, "host", 0) && !config_name(config, "cluster", 0))
        buf_puts(&text, "no [host NAME] and no [cluster NAME]; hone host add makes one\n");
    text_sanitise(&safe, buf_str(&text));
    fputs(safe.at, stdout);
    buf_free(&text);
    buf_free(&safe);
}

int cli_config(const struct cli *cli) {
    struct err err = {0};
    if (cli_has(cli, "path")) {
        char *path = config_user_path();
        cli_say(stdout, "%s\n", path);
        free(path);
        return CLI_OK;
    }
    if (cli_has(cli, "reference")) {
        struct buf text = {0};
        settings_print_markdown(&text);
        fputs(text.at, stdout);
        buf_free(&text);
        return CLI_OK;
    }
    struct config *config = settings_load(cli->args.len ? cli->args.at[0] : ".", &err);
    if (!config)
        return cli_fail(cli, &err);
    if (cli_has(cli, "json"))
        print_json(config);
    else
        print_text(config);
    config_free(config);
    return CLI_OK;
}
