/* SPDX-License-Identifier: Apache-2.0 */
/* An agent's connection: its messages, and which of them a request is. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "mcp/private.h"

#define MOST_CALLS 64 /* of a client, under way */
#define META "io.modelcontextprotocol/"

void mcp_client_print(struct mcp_client *client, struct buf *line) {
    client->send(client->data, buf_str(line));
    buf_free(line);
}

void mcp_author_print(const struct mcp_client *client, struct buf *out) {
    buf_printf(out, "agent/%s", client->name[0] ? client->name : "unnamed");
}

/* Letters, digits and what stands in names of programs; the rest is left out. */
void mcp_client_name(struct mcp_client *client, const cJSON *info) {
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(info, "name");
    size_t len = 0;
    if (!cJSON_IsString(name))
        return;
    for (const char *at = name->valuestring; *at && len + 1 < sizeof client->name; at++)
        if ((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
            (*at >= '0' && *at <= '9') || strchr("-_.", *at))
            client->name[len++] = *at;
    client->name[len] = 0;
    if (!client->named)
        mcp_owner_comes(client, NULL);
    client->named = true;
}

/* ---------------------------------------------------------------------------------- requests */

static void refuse(struct mcp_client *client, const cJSON *id, enum mcp_error code,
                   const char *text) {
    struct buf line = {0};
    mcp_error_print(id, code, text, NULL, &line);
    mcp_client_print(client, &line);
}

static struct mcp_call *call_find(const struct mcp_client *client, const cJSON *id) {
    struct mcp_call *at = client->calls;
    while (at && !mcp_id_same(at->message.id, id))
        at = at->next;
    return at;
}

/* A request that says its revision itself. False: it was answered. */
static bool meta_check(struct mcp_call *call, const cJSON *revision) {
    const cJSON *can =
        cJSON_GetObjectItemCaseSensitive(call->message.meta, META "clientCapabilities");
    call->by_request = true;
    if (!cJSON_IsString(revision)) {
        mcp_call_error(call, MCP_INVALID_PARAMS, "%sprotocolVersion must be a text", META);
        return false;
    }
    if (strcmp(revision->valuestring, mcp_revision_of_requests()) != 0) {
        mcp_call_version_error(call, revision->valuestring);
        return false;
    }
    if (!cJSON_IsObject(can)) {
        mcp_call_error(call, MCP_INVALID_PARAMS, "%sclientCapabilities must be an object", META);
        return false;
    }
    mcp_client_name(call->client,
                    cJSON_GetObjectItemCaseSensitive(call->message.meta, META "clientInfo"));
    return true;
}

static const struct mcp_method *method_of(const struct mcp_call *call) {
    for (const struct mcp_method *at = mcp_methods; at->name; at++)
        if (!strcmp(at->name, call->message.method) &&
            (call->by_request ? at->by_request : at->before_that))
            return at;
    return NULL;
}

static void run(struct mcp_call *call) {
    const cJSON *revision =
        cJSON_GetObjectItemCaseSensitive(call->message.meta, META "protocolVersion");
    bool begins = !strcmp(call->message.method, "initialize");
    if (revision && !begins && !meta_check(call, revision))
        return;
    const struct mcp_method *method = method_of(call);
    if (!method)
        mcp_call_error(call, MCP_NO_METHOD, "there is no method %.80s in this revision",
                       call->message.method);
    else if (!call->by_request && !call->client->revision && !method->opens)
        mcp_call_error(call, MCP_INVALID_PARAMS,
                       "say which revision this is: call initialize first, or set "
                       "%sprotocolVersion (%s) in _meta of every request",
                       META, mcp_revision_of_requests());
    else
        method->run(call);
}

static void request(struct mcp_client *client, struct mcp_message *message) {
    size_t count = 0;
    for (const struct mcp_call *at = client->calls; at; at = at->next)
        count++;
    if (call_find(client, message->id) || count >= MOST_CALLS) {
        refuse(client, message->id, MCP_INVALID_REQUEST,
               count >= MOST_CALLS ? "64 requests are under way: wait for one of them"
                                   : "a request with this id is under way");
        mcp_message_free(message);
        return;
    }
    struct mcp_call *call = mem_alloc(1, sizeof *call);
    *call = (struct mcp_call){.client = client, .message = *message, .next = client->calls};
    client->calls = call;
    run(call);
}

/* ------------------------------------------------------------------------------ notifications */

static void notification(struct mcp_client *client, const struct mcp_message *message) {
    if (strcmp(message->method, "notifications/cancelled") != 0)
        return;
    const cJSON *id = cJSON_GetObjectItemCaseSensitive(message->params, "requestId");
    struct mcp_call *call = call_find(client, id);
    if (call)
        mcp_call_drop(call);
}

void mcp_client_line(struct mcp_client *client, struct str line, bool whole) {
    struct mcp_message message = {0};
    enum mcp_error code = MCP_PARSE_ERROR;
    const char *why = "";
    if (!whole) {
        refuse(client, NULL, MCP_INVALID_REQUEST, "this message is longer than 8 MiB");
        return;
    }
    if (!mcp_message_read(line, &message, &code, &why)) {
        refuse(client, message.id, code, why);
        mcp_message_free(&message);
        return;
    }
    if (message.is == MCP_REQUEST) {
        request(client, &message);
        return;
    }
    if (message.is == MCP_NOTIFICATION)
        notification(client, &message);
    mcp_message_free(&message);
}

/* ------------------------------------------------------------------------------ begin and end */

struct mcp_client *mcp_client_new(struct mcp_server *server, mcp_send_fn *send, void *data) {
    struct mcp_client *client = mem_alloc(1, sizeof *client);
    *client =
        (struct mcp_client){.server = server, .next = server->clients, .send = send, .data = data};
    server->clients = client;
    return client;
}

void mcp_client_goes_on(struct mcp_client *client, const struct mcp_client *before) {
    client->revision = before->revision;
    memcpy(client->name, before->name, sizeof client->name);
    client->named = before->named;
    mcp_owner_comes(client, before);
}

bool mcp_client_rests(const struct mcp_client *client) {
    return !client->calls;
}

void mcp_client_leave(struct mcp_client *client, const char *why) {
    while (client->calls) {
        struct mcp_call *call = client->calls;
        if (call->cancel)
            call->cancel(call);
        call->cancel = NULL;
        if (call->tool)
            mcp_call_failed(call, "%s", why);
        else
            mcp_call_error(call, MCP_INTERNAL_ERROR, "%s", why);
    }
}

void mcp_client_free(struct mcp_client *client) {
    if (!client)
        return;
    while (client->calls)
        mcp_call_drop(client->calls);
    struct mcp_client **place = &client->server->clients;
    while (*place != client)
        place = &(*place)->next;
    *place = client->next;
    mcp_owner_goes(client);
    free(client);
}
