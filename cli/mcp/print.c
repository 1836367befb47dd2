/* SPDX-License-Identifier: Apache-2.0 */
/* What the configuration of a client needs, so that it starts hone mcp: one table. */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/mcp/private.h"

/* TOML: a table [mcp_servers.hone]; else JSON: an object "hone" within one of that name. */
static const struct client {
    const char *name, *file, *within;
    bool toml, typed; /* typed: an entry says that it is a program, "type": "stdio" */
} clients[] = {
    {"claude", ".mcp.json beside your work (or: claude mcp add hone -- COMMAND)", "mcpServers",
     false, false},
    {"codex", "~/.codex/config.toml", "mcp_servers", true, false},
    {"cursor", ".cursor/mcp.json", "mcpServers", false, true},
    {"gemini", ".gemini/settings.json", "mcpServers", false, false},
    {"kiro", ".kiro/settings/mcp.json", "mcpServers", false, false},
    {"vscode", ".vscode/mcp.json", "servers", false, true},
};

static void json_print(const struct client *client, const char *hone, const char *task) {
    cJSON *root = cJSON_CreateObject();
    cJSON *entry = cJSON_AddObjectToObject(cJSON_AddObjectToObject(root, client->within), "hone");
    if (client->typed)
        cJSON_AddStringToObject(entry, "type", "stdio");
    cJSON_AddStringToObject(entry, "command", hone);
    cJSON *args = cJSON_AddArrayToObject(entry, "args");
    cJSON_AddItemToArray(args, cJSON_CreateString("mcp"));
    cJSON_AddItemToArray(args, cJSON_CreateString(task));
    cli_json_print(root);
}

/* A text as TOML's basic strings have it; those of JSON are the same. */
static char *quoted(const char *text) {
    cJSON *string = cJSON_CreateString(text);
    char *printed = cJSON_PrintUnformatted(string);
    struct buf safe = {0};
    text_json(&safe, str_of(printed));
    free(printed);
    cJSON_Delete(string);
    return buf_take(&safe);
}

static void toml_print(const struct client *client, const char *hone, const char *task) {
    char *command = quoted(hone), *path = quoted(task);
    printf("[%s.hone]\ncommand = %s\nargs = [\"mcp\", %s]\n", client->within, command, path);
    free(path);
    free(command);
}

int mcp_config_print(const struct cli *cli, const char *name) {
    char *hone = os_executable_path();
    const char *given = cli->args.len ? cli->args.at[0] : ".";
    char *task = file_exists(given) ? path_absolute(given) : mem_strdup(given);
    for (size_t i = 0; i < COUNT_OF(clients); i++) {
        const struct client *client = &clients[i];
        if (strcmp(client->name, name) != 0)
            continue;
        fprintf(stderr, "for %s:\n", client->file);
        (client->toml ? toml_print : json_print)(client, hone ? hone : "hone", task);
    }
    free(task);
    free(hone);
    return CLI_OK;
}
