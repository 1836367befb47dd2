/* SPDX-License-Identifier: Apache-2.0 */
/* OpenAI's Responses interface ("Responses" and "Streaming events" of OpenAI's API reference).
 * Nothing is stored at the service. */
#include <math.h>

#include "model/private.h"

#define ADDRESS "https://api.openai.com/v1"

static void add_input(cJSON *body, const struct model_request *request) {
    cJSON *list = cJSON_AddArrayToObject(body, "input");
    for (size_t i = 0; i < request->count; i++) {
        bool ours = request->messages[i].speaker == MODEL_USER;
        cJSON *row = cJSON_CreateObject(), *part = cJSON_CreateObject();
        cJSON_AddItemToArray(list, row);
        cJSON_AddStringToObject(row, "role", ours ? "user" : "assistant");
        cJSON_AddItemToArray(cJSON_AddArrayToObject(row, "content"), part);
        cJSON_AddStringToObject(part, "type", ours ? "input_text" : "output_text");
        cJSON_AddStringToObject(part, "text", request->messages[i].text.at);
    }
}

static bool prepare(struct model_call *call, const char *key, struct model_post *post,
                    struct err *err) {
    const struct model_endpoint *endpoint = &call->kept.endpoint;
    const struct model_request *request = &call->kept.request;
    (void)err;
    buf_printf(&post->url, STR_FMT "/responses", STR_ARG(model_call_base(call, ADDRESS)));
    if (*key)
        model_post_secret(post, "Authorization: Bearer ", key);
    model_post_header(post, "Accept: text/event-stream");
    cJSON *body = cJSON_CreateObject();
    cJSON_AddStringToObject(body, "model", endpoint->model);
    if (request->system.len)
        cJSON_AddStringToObject(body, "instructions", request->system.at);
    add_input(body, request);
    cJSON_AddTrueToObject(body, "stream");
    cJSON_AddFalseToObject(body, "store");
    cJSON_AddNumberToObject(body, "max_output_tokens", endpoint->max_tokens);
    const char *effort = model_effort_ask(call);
    if (effort)
        cJSON_AddStringToObject(cJSON_AddObjectToObject(body, "reasoning"), "effort", effort);
    if (model_takes_temperature(call))
        cJSON_AddNumberToObject(body, "temperature", endpoint->temperature);
    model_json_take(body, &post->body);
    return true;
}

static void take_response(struct model_call *call, const cJSON *response) {
    model_call_answers(call, model_json_text(response, "model"));
    model_openai_usage(call, cJSON_GetObjectItemCaseSensitive(response, "usage"), "input_tokens",
                       "output_tokens");
}

static void on_text_delta(struct model_call *call, const cJSON *object) {
    const char *text = model_json_text(object, "delta");
    if (text)
        model_call_text(call, str_of(text));
}

static void on_completed(struct model_call *call, const cJSON *object) {
    take_response(call, cJSON_GetObjectItemCaseSensitive(object, "response"));
    model_call_finish(call, call->reply.stop);
}

static enum model_stop stop_of_incomplete(const cJSON *response) {
    const char *reason =
        model_json_text(cJSON_GetObjectItemCaseSensitive(response, "incomplete_details"), "reason");
    return reason && !strcmp(reason, "content_filter") ? MODEL_STOP_REFUSED : MODEL_STOP_LENGTH;
}

static void on_incomplete(struct model_call *call, const cJSON *object) {
    const cJSON *response = cJSON_GetObjectItemCaseSensitive(object, "response");
    take_response(call, response);
    model_call_finish(call, stop_of_incomplete(response));
}

static void on_refusal(struct model_call *call, const cJSON *object) {
    const char *words = model_json_text(object, "delta");
    model_call_declines(call, str_of(words ? words : ""));
}

static void on_failed(struct model_call *call, const cJSON *object) {
    const cJSON *response = cJSON_GetObjectItemCaseSensitive(object, "response");
    model_openai_fail(call, response ? response : object);
}

static const struct {
    const char *type;
    void (*take)(struct model_call *call, const cJSON *object);
} events[] = {
    {"response.output_text.delta", on_text_delta},
    {"response.completed", on_completed},
    {"response.incomplete", on_incomplete},
    {"response.refusal.delta", on_refusal},
    {"response.failed", on_failed},
    {"error", on_failed},
};

/* "response.output_item.added" of an item that is thought. */
static bool is_reasoning(const cJSON *object) {
    const char *type = model_json_text(cJSON_GetObjectItemCaseSensitive(object, "item"), "type");
    return type && !strcmp(type, "reasoning");
}

static void event(struct model_call *call, const char *name, struct str data) {
    cJSON *object = cJSON_ParseWithLength(data.at, data.len);
    const char *type = model_json_text(object, "type");
    if (!object && !str_is(str_trim(data), "[DONE]"))
        model_call_fail(call, MODEL_FAILED_GARBLED, "%s: an event of its stream is not JSON",
                        model_call_name(call));
    /* Items, their parts and what is thought; not what only says that it was received. */
    if (type && (strstr(type, "reasoning") || is_reasoning(object)))
        model_call_thinks(call);
    else if (type && (strstr(type, "output") || strstr(type, "part")))
        model_call_lives(call);
    for (size_t i = 0; object && i < COUNT_OF(events); i++)
        if (!strcmp(events[i].type, type ? type : name))
            events[i].take(call, object);
    cJSON_Delete(object);
}

static void take_item(struct model_call *call, const cJSON *item) {
    const cJSON *content = cJSON_GetObjectItemCaseSensitive(item, "content");
    const char *type = model_json_text(item, "type");
    if (type && !strcmp(type, "reasoning")) {
        model_call_thinks(call);
        return;
    }
    for (const cJSON *part = cJSON_IsArray(content) ? content->child : NULL; part;
         part = part->next) {
        if (model_json_text(part, "text"))
            model_call_text(call, str_of(model_json_text(part, "text")));
        if (model_json_text(part, "refusal"))
            model_call_declines(call, str_of(model_json_text(part, "refusal")));
    }
}

static bool whole(struct model_call *call, const cJSON *object) {
    const cJSON *output = cJSON_GetObjectItemCaseSensitive(object, "output");
    const char *status = model_json_text(object, "status");
    if (!cJSON_IsArray(output))
        return false;
    for (const cJSON *item = output->child; item; item = item->next)
        take_item(call, item);
    take_response(call, object);
    model_call_finish(call, status && !strcmp(status, "incomplete") ? stop_of_incomplete(object)
                                                                    : call->reply.stop);
    return true;
}

const struct model_api model_api_responses = {
    .name = "responses", .key_variable = "OPENAI_API_KEY", .address = ADDRESS, MODEL_API_KEYED};
