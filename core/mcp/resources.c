/* SPDX-License-Identifier: Apache-2.0 */
/* Resources: the kernel, the reference, attempts with their profiles, the log. */
#include <stdio.h>
#include <stdlib.h>

#include "mcp/private.h"

#define PAGE 100     /* resources of one answer */
#define MOST_LOG 500 /* lines of the log */
#define SCHEME "hone://"

static void resource_put(cJSON *list, const char *uri, const char *title, const char *type) {
    cJSON *row = cJSON_CreateObject();
    cJSON_AddStringToObject(row, "uri", uri);
    cJSON_AddStringToObject(row, "name", uri + strlen(SCHEME));
    cJSON_AddStringToObject(row, "title", title);
    cJSON_AddStringToObject(row, "mimeType", type);
    cJSON_AddItemToArray(list, row);
}

static void fixed_put(cJSON *list, const struct tune_state *state) {
    resource_put(list, SCHEME "kernel", "The first kernel", "text/x-python");
    if (state->reference_source)
        resource_put(list, SCHEME "reference", "The reference", "text/x-python");
    resource_put(list, SCHEME "incumbent", "The best kernel so far, to go on from",
                 "text/x-python");
    resource_put(list, SCHEME "log", "The last lines of the log", "text/plain");
}

/* A page begins at the attempt that the cursor names. */
void mcp_resources_list(struct mcp_call *call) {
    const struct tune_state *state = mcp_state(call);
    const cJSON *cursor = cJSON_GetObjectItemCaseSensitive(call->message.params, "cursor");
    long long from = 0;
    if (cursor && (!cJSON_IsString(cursor) || !str_to_int(str_of(cursor->valuestring), &from) ||
                   from < 1 || (size_t)from >= state->attempts.len)) {
        mcp_call_error(call, MCP_INVALID_PARAMS, "this cursor is none of ours");
        return;
    }
    cJSON *result = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(result, "resources");
    if (!cursor)
        fixed_put(list, state);
    size_t end = MIN_OF((size_t)from + PAGE, state->attempts.len);
    for (size_t i = (size_t)from; i < end; i++) {
        const struct tune_attempt *attempt = &state->attempts.at[i];
        char uri[64];
        snprintf(uri, sizeof uri, SCHEME "attempt/%zu/kernel.py", i);
        resource_put(list, uri, attempt->plan.title ? attempt->plan.title : "The first kernel",
                     "text/x-python");
    }
    if (end < state->attempts.len) {
        char next[24];
        snprintf(next, sizeof next, "%zu", end);
        cJSON_AddStringToObject(result, "nextCursor", next);
    }
    mcp_put_kept(call, result, 0);
    mcp_call_result(call, result);
}

void mcp_resource_templates_list(struct mcp_call *call) {
    static const struct {
        const char *uri, *title, *type;
    } rows[] = {{SCHEME "attempt/{number}/kernel.py", "The kernel of an attempt", "text/x-python"},
                {SCHEME "attempt/{number}/profile", "Its profile", "application/json"}};
    cJSON *result = cJSON_CreateObject();
    cJSON *list = cJSON_AddArrayToObject(result, "resourceTemplates");
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        cJSON *row = cJSON_CreateObject();
        cJSON_AddStringToObject(row, "uriTemplate", rows[i].uri);
        cJSON_AddStringToObject(row, "name", rows[i].uri + strlen(SCHEME));
        cJSON_AddStringToObject(row, "title", rows[i].title);
        cJSON_AddStringToObject(row, "mimeType", rows[i].type);
        cJSON_AddItemToArray(list, row);
    }
    mcp_put_kept(call, result, 3600000);
    mcp_call_result(call, result);
}

/* ------------------------------------------------------------------------------------ reading */

static char *log_text(const struct tune_state *state) {
    struct buf text = {0};
    size_t from = state->logs.len > MOST_LOG ? state->logs.len - MOST_LOG : 0;
    for (size_t i = from; i < state->logs.len; i++)
        buf_printf(&text, "%s: %s\n", state->logs.at[i].phase, state->logs.at[i].text);
    return buf_take(&text);
}

static char *attempt_text(const struct mcp_call *call, struct str rest, const char **type,
                          struct err *err) {
    const struct tune_state *state = mcp_state(call);
    struct tune_session *session = call->client->server->options.session;
    struct str number = {0};
    long long id = -1;
    bool is = str_next(&rest, '/', &number) && str_to_int(number, &id) && id >= 0 && id < 1 << 30;
    const struct tune_attempt *attempt = is ? tune_state_attempt(state, (int)id) : NULL;
    if (attempt && str_is(rest, "kernel.py")) {
        *type = "text/x-python";
        return mcp_source_of(state, attempt, err);
    }
    *type = "application/json";
    return attempt && attempt->timeline && str_is(rest, "profile")
               ? tune_session_artefact(session, attempt->timeline, err)
               : NULL;
}

/* A new string; NULL: there is no such resource. */
static char *resource_text(const struct mcp_call *call, const char *uri, const char **type,
                           struct err *err) {
    const struct tune_state *state = mcp_state(call);
    struct str rest = str_of(uri);
    if (!str_starts(rest, SCHEME))
        return NULL;
    rest = (struct str){rest.at + strlen(SCHEME), rest.len - strlen(SCHEME)};
    *type = "text/x-python";
    if (str_is(rest, "kernel"))
        return mem_strdup(state->kernel_source);
    if (str_is(rest, "reference"))
        return mem_strdup(state->reference_source);
    if (str_is(rest, "incumbent"))
        return state->incumbent >= 0
                   ? tune_source_copy(state, tune_state_attempt(state, state->incumbent))
                   : mem_strdup(state->kernel_source);
    *type = "text/plain";
    if (str_is(rest, "log"))
        return log_text(state);
    if (!str_starts(rest, "attempt/"))
        return NULL;
    rest = (struct str){rest.at + strlen("attempt/"), rest.len - strlen("attempt/")};
    return attempt_text(call, rest, type, err);
}

void mcp_resource_read(struct mcp_call *call) {
    const cJSON *uri = cJSON_GetObjectItemCaseSensitive(call->message.params, "uri");
    const char *type = NULL;
    struct err err = {0};
    if (!cJSON_IsString(uri)) {
        mcp_call_error(call, MCP_INVALID_PARAMS, "\"uri\" must be a text");
        return;
    }
    char *text = resource_text(call, uri->valuestring, &type, &err);
    if (!text) {
        mcp_call_error(call, call->by_request ? MCP_INVALID_PARAMS : MCP_NO_RESOURCE,
                       "there is no resource %.100s%s%s", uri->valuestring,
                       err.text[0] ? ": " : "; resources/list has them", err.text);
        return;
    }
    cJSON *result = cJSON_CreateObject(), *row = cJSON_CreateObject();
    cJSON_AddStringToObject(row, "uri", uri->valuestring);
    cJSON_AddStringToObject(row, "mimeType", type);
    cJSON_AddStringToObject(row, "text", text);
    cJSON_AddItemToArray(cJSON_AddArrayToObject(result, "contents"), row);
    free(text);
    mcp_put_kept(call, result, 0);
    mcp_call_result(call, result);
}
