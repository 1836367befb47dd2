/* SPDX-License-Identifier: Apache-2.0 */
/* Schemas: of one value, and of what each tool answers. */
#include <cjson/cJSON.h>

#include "mcp/private.h"

enum {
#define TOOL(id, name, run, reads, first, title, text) TOOL_##id,
#define ARG(tool, name, kind, needed, choices, text)
#include "mcp/tools.def"
#undef TOOL
#undef ARG
};

static const struct {
    int tool;
    const char *name;
    enum mcp_kind kind;
    bool always;
    const char *text;
} answers[] = {
#define ANSWER(tool, name, kind, always, text) {TOOL_##tool, name, MCP_##kind, always, text},
#include "mcp/answers.def"
#undef ANSWER
};

cJSON *mcp_schema_of(enum mcp_kind kind, const char *text) {
    static const struct {
        const char *type, *items; /* of an array: the type of its items, NULL: any */
    } kinds[] = {
        [MCP_TEXT] = {"string", NULL},     [MCP_WHOLE] = {"integer", NULL},
        [MCP_NUMBER] = {"number", NULL},   [MCP_FLAG] = {"boolean", NULL},
        [MCP_TEXTS] = {"array", "string"}, [MCP_OBJECT] = {"object", NULL},
        [MCP_ROWS] = {"array", "object"},  [MCP_LIST] = {"array", NULL},
    };
    cJSON *schema = cJSON_CreateObject();
    cJSON_AddStringToObject(schema, "type", kinds[kind].type);
    if (*text)
        cJSON_AddStringToObject(schema, "description", text);
    if (kinds[kind].items)
        cJSON_AddStringToObject(cJSON_AddObjectToObject(schema, "items"), "type",
                                kinds[kind].items);
    return schema;
}

cJSON *mcp_answer_schema(int tool) {
    cJSON *schema = cJSON_CreateObject(), *always = cJSON_CreateArray();
    cJSON_AddStringToObject(schema, "type", "object");
    cJSON *properties = cJSON_AddObjectToObject(schema, "properties");
    for (size_t i = 0; i < COUNT_OF(answers); i++) {
        if (answers[i].tool != tool)
            continue;
        cJSON_AddItemToObject(properties, answers[i].name,
                              mcp_schema_of(answers[i].kind, answers[i].text));
        if (answers[i].always)
            cJSON_AddItemToArray(always, cJSON_CreateString(answers[i].name));
    }
    if (cJSON_GetArraySize(always))
        cJSON_AddItemToObject(schema, "required", always);
    else
        cJSON_Delete(always);
    return schema;
}
