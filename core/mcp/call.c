/* SPDX-License-Identifier: Apache-2.0 */
/* A call under way: how it ends, and how far it is. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mcp/private.h"

static void call_free(struct mcp_call *call) {
    struct mcp_call **place = &call->client->calls;
    while (*place && *place != call)
        place = &(*place)->next;
    if (*place)
        *place = call->next;
    mcp_message_free(&call->message);
    free(call);
}

void mcp_call_drop(struct mcp_call *call) {
    if (call->cancel)
        call->cancel(call);
    call_free(call);
}

void mcp_call_result(struct mcp_call *call, cJSON *result) {
    struct buf line = {0};
    if (call->by_request) {
        cJSON *meta = cJSON_AddObjectToObject(result, "_meta");
        cJSON *info = cJSON_AddObjectToObject(meta, "io.modelcontextprotocol/serverInfo");
        cJSON_AddStringToObject(result, "resultType", "complete");
        cJSON_AddStringToObject(info, "name", "hone");
        cJSON_AddStringToObject(info, "version", call->client->server->options.version);
    }
    mcp_result_print(call->message.id, result, &line);
    mcp_client_print(call->client, &line);
    call_free(call);
}

void mcp_call_error(struct mcp_call *call, enum mcp_error code, const char *format, ...) {
    struct buf text = {0}, line = {0};
    va_list args;
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    mcp_error_print(call->message.id, code, text.at, NULL, &line);
    mcp_client_print(call->client, &line);
    buf_free(&text);
    call_free(call);
}

void mcp_call_version_error(struct mcp_call *call, const char *asked) {
    struct buf line = {0};
    cJSON *data = cJSON_CreateObject();
    cJSON *supported = cJSON_AddArrayToObject(data, "supported");
    for (size_t i = 0; mcp_revisions[i]; i++)
        cJSON_AddItemToArray(supported, cJSON_CreateString(mcp_revisions[i]));
    cJSON_AddStringToObject(data, "requested", asked);
    mcp_error_print(call->message.id, MCP_NO_VERSION, "Unsupported protocol version", data, &line);
    mcp_client_print(call->client, &line);
    call_free(call);
}

/* ------------------------------------------------------------------------------------ of tools */

static cJSON *text_part(const char *text) {
    cJSON *part = cJSON_CreateObject();
    cJSON_AddStringToObject(part, "type", "text");
    cJSON_AddStringToObject(part, "text", text);
    return part;
}

static cJSON *link_part(const char *uri) {
    cJSON *part = cJSON_CreateObject();
    cJSON_AddStringToObject(part, "type", "resource_link");
    cJSON_AddStringToObject(part, "uri", uri);
    cJSON_AddStringToObject(part, "name", uri + strlen("hone://"));
    return part;
}

/* How the rest is had, and which end of a list stays. */
static const struct {
    const char *tool, *more;
    bool newest; /* the newest is last, and stays */
} tools[] = {
    {"profile", "fewer lines; why and query of a line; the resource has the whole profile", false},
    {"query", "LIMIT and OFFSET in sql, fewer columns, aggregates", false},
    {"history", "a smaller last; query's table attempts, with LIMIT and OFFSET", true},
    {"notes", "query's tables, with LIMIT and OFFSET", true},
    {"docs", "one name in place of words, and a release", false},
    {"check", "mend what is said first, and check again", false},
    {"evaluate", "fewer kernels at once", false},
    {"compare", "the sources are resources: hone://attempt/NUMBER/kernel.py", false},
};

static void bound(const struct mcp_call *call, cJSON *answer) {
    const char *tool = call->tool ? call->tool->name : "", *more = "ask for less at once";
    bool newest = false;
    if (!strcmp(tool, "migrate")) /* half a kernel is none */
        return;
    for (size_t i = 0; i < COUNT_OF(tools); i++)
        if (!strcmp(tools[i].tool, tool)) {
            more = tools[i].more;
            newest = tools[i].newest;
        }
    mcp_bound(answer, newest, more);
}

void mcp_call_done(struct mcp_call *call, cJSON *structured, const char *uri) {
    bound(call, structured);
    cJSON *result = cJSON_CreateObject();
    cJSON *content = cJSON_AddArrayToObject(result, "content");
    char *text = cJSON_PrintUnformatted(structured);
    cJSON_AddItemToArray(content, text_part(text ? text : "{}"));
    if (uri)
        cJSON_AddItemToArray(content, link_part(uri));
    cJSON_AddItemToObject(result, "structuredContent", structured);
    free(text);
    mcp_call_result(call, result);
}

void mcp_call_failed(struct mcp_call *call, const char *format, ...) {
    struct buf text = {0};
    va_list args;
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    cJSON *result = cJSON_CreateObject();
    cJSON *content = cJSON_AddArrayToObject(result, "content");
    cJSON_AddItemToArray(content, text_part(text.at));
    cJSON_AddTrueToObject(result, "isError");
    buf_free(&text);
    mcp_call_result(call, result);
}

void mcp_call_progress(struct mcp_call *call, double total, const char *format, ...) {
    struct buf text = {0}, line = {0};
    if (!call->message.token)
        return;
    va_list args;
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    cJSON *params = cJSON_CreateObject();
    cJSON_AddItemToObject(params, "progressToken", mcp_id_copy(call->message.token));
    cJSON_AddNumberToObject(params, "progress", ++call->progress);
    if (!isnan(total))
        cJSON_AddNumberToObject(params, "total", total);
    cJSON_AddStringToObject(params, "message", text.at);
    mcp_notification_print("notifications/progress", params, &line);
    mcp_client_print(call->client, &line);
    buf_free(&text);
}

void mcp_call_stands(struct mcp_call *call, const char *before) {
    char text[sizeof call->told];
    const struct tune_state *state = mcp_state(call);
    const char *doing = state->steps[state->step].doing;
    snprintf(text, sizeof text, "%s%s%s%s", before, tune_step_word(state->step), doing ? ": " : "",
             doing ? doing : "");
    int awaited = tune_session_wants_kernel(call->client->server->options.session);
    if (state->wait == TUNE_WAIT_GATE)
        snprintf(text, sizeof text, "a person decides: %s", tune_step_word(state->wait_step));
    else if (awaited)
        snprintf(text, sizeof text, "%sthe kernel of plan %d is awaited", before, awaited);
    else if (!state->running && !call->client->server->options.drives)
        snprintf(text, sizeof text, "%sa person starts the loop", before);
    if (!strcmp(text, call->told))
        return;
    memcpy(call->told, text, sizeof text);
    mcp_call_progress(call, NAN, "%s", text);
}
