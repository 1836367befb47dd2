/* SPDX-License-Identifier: Apache-2.0 */
/* Prompts: the usual jobs in words, one table. */
#include "mcp/private.h"

static const struct {
    const char *name, *argument, *title, *text;
} prompts[] = {
#define PROMPT(name, argument, title, text) {name, argument, title, text},
#include "mcp/prompts.def"
#undef PROMPT
};

void mcp_prompts_list(struct mcp_call *call) {
    cJSON *result = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(result, "prompts");
    for (size_t i = 0; i < COUNT_OF(prompts); i++) {
        cJSON *row = cJSON_CreateObject(), *argument = cJSON_CreateObject();
        cJSON_AddStringToObject(row, "name", prompts[i].name);
        cJSON_AddStringToObject(row, "title", prompts[i].title);
        cJSON_AddStringToObject(argument, "name", prompts[i].argument);
        cJSON_AddFalseToObject(argument, "required");
        cJSON_AddItemToArray(cJSON_AddArrayToObject(row, "arguments"), argument);
        cJSON_AddItemToArray(list, row);
    }
    mcp_put_kept(call, result, 3600000);
    mcp_call_result(call, result);
}

static void text_print(struct buf *out, const char *text, const char *value) {
    const char *place = strstr(text, "{}");
    buf_add(out, text, (size_t)(place - text));
    buf_puts(out, value);
    buf_puts(out, place + strlen("{}"));
}

static void prompt_answer(struct mcp_call *call, size_t index, const char *value) {
    struct buf text = {0}, said = {0};
    if (value && *value)
        buf_printf(&said, "%s: %s", prompts[index].argument, value);
    text_print(&text, prompts[index].text, said.at ? said.at : "");
    cJSON *result = cJSON_CreateObject(), *message = cJSON_CreateObject();
    cJSON_AddStringToObject(result, "description", prompts[index].title);
    cJSON_AddStringToObject(message, "role", "user");
    cJSON *content = cJSON_AddObjectToObject(message, "content");
    cJSON_AddStringToObject(content, "type", "text");
    cJSON_AddStringToObject(content, "text", text.at);
    cJSON_AddItemToArray(cJSON_AddArrayToObject(result, "messages"), message);
    buf_free(&text);
    buf_free(&said);
    mcp_call_result(call, result);
}

void mcp_prompt_get(struct mcp_call *call) {
    const cJSON *params = call->message.params;
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(params, "name");
    const cJSON *args = cJSON_GetObjectItemCaseSensitive(params, "arguments");
    for (size_t i = 0; cJSON_IsString(name) && i < COUNT_OF(prompts); i++) {
        if (strcmp(prompts[i].name, name->valuestring) != 0)
            continue;
        const cJSON *value = cJSON_GetObjectItemCaseSensitive(args, prompts[i].argument);
        if (value && !cJSON_IsString(value))
            mcp_call_error(call, MCP_INVALID_PARAMS, "\"%s\" must be a text", prompts[i].argument);
        else
            prompt_answer(call, i, value ? value->valuestring : NULL);
        return;
    }
    mcp_call_error(call, MCP_INVALID_PARAMS, "there is no such prompt; prompts/list has them");
}
