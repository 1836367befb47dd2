/* SPDX-License-Identifier: Apache-2.0 */
/* The methods of the protocol, one table; what a server says of itself. */
#include <stdlib.h>

#include "mcp/private.h"

#define KEPT_MS 3600000 /* tools and prompts of a hone stay the same */

static const char instructions[] =
    "hone tunes an NKI kernel for AWS Trainium against a reference. Begin with status and profile. "
    "check and evaluate try a kernel on the device model and change nothing. submit hands one in: "
    "it goes through the same checks, gates and budgets as every proposal, a person may approve or "
    "reject it, and wait tells what became of it.";

static void capabilities_put(cJSON *result) {
    cJSON *capabilities = cJSON_AddObjectToObject(result, "capabilities");
    cJSON_AddObjectToObject(capabilities, "tools");
    cJSON_AddObjectToObject(capabilities, "resources");
    cJSON_AddObjectToObject(capabilities, "prompts");
}

void mcp_put_kept(const struct mcp_call *call, cJSON *result, int ms) {
    if (!call->by_request)
        return;
    cJSON_AddNumberToObject(result, "ttlMs", ms);
    cJSON_AddStringToObject(result, "cacheScope", "private");
}

static void initialize(struct mcp_call *call) {
    const cJSON *params = call->message.params;
    const cJSON *offered = cJSON_GetObjectItemCaseSensitive(params, "protocolVersion");
    cJSON *result = cJSON_CreateObject();
    struct mcp_client *client = call->client;
    client->revision = mcp_revision_agreed(cJSON_IsString(offered) ? offered->valuestring : NULL);
    mcp_client_name(client, cJSON_GetObjectItemCaseSensitive(params, "clientInfo"));
    cJSON_AddStringToObject(result, "protocolVersion", client->revision);
    capabilities_put(result);
    cJSON *info = cJSON_AddObjectToObject(result, "serverInfo");
    cJSON_AddStringToObject(info, "name", "hone");
    cJSON_AddStringToObject(info, "version", client->server->options.version);
    cJSON_AddStringToObject(result, "instructions", instructions);
    mcp_call_result(call, result);
}

static void discover(struct mcp_call *call) {
    cJSON *result = cJSON_CreateObject();
    cJSON *versions = cJSON_AddArrayToObject(result, "supportedVersions");
    for (size_t i = 0; mcp_revisions[i]; i++)
        cJSON_AddItemToArray(versions, cJSON_CreateString(mcp_revisions[i]));
    capabilities_put(result);
    cJSON_AddStringToObject(result, "instructions", instructions);
    mcp_put_kept(call, result, KEPT_MS);
    mcp_call_result(call, result);
}

static void ping(struct mcp_call *call) {
    mcp_call_result(call, cJSON_CreateObject());
}

static void yield(struct mcp_call *call) {
    const struct mcp_options options = call->client->server->options;
    cJSON *result = cJSON_CreateObject();
    cJSON_AddBoolToObject(result, "yields", options.yield != NULL);
    mcp_call_result(call, result);
    if (options.yield)
        options.yield(options.data);
}

static void tools_list(struct mcp_call *call) {
    cJSON *result = cJSON_CreateObject();
    cJSON_AddItemToObject(result, "tools", mcp_tools_write());
    mcp_put_kept(call, result, KEPT_MS);
    mcp_call_result(call, result);
}

const struct mcp_method mcp_methods[] = {
    {"initialize", initialize, true, true, true},
    {"ping", ping, true, false, true},
    {MCP_YIELD_METHOD, yield, true, false, true},
    {"server/discover", discover, false, true, false},
    {"tools/list", tools_list, false, true, true},
    {"tools/call", mcp_tool_call, false, true, true},
    {"resources/list", mcp_resources_list, false, true, true},
    {"resources/templates/list", mcp_resource_templates_list, false, true, true},
    {"resources/read", mcp_resource_read, false, true, true},
    {"prompts/list", mcp_prompts_list, false, true, true},
    {"prompts/get", mcp_prompt_get, false, true, true},
    {NULL, NULL, false, false, false},
};
