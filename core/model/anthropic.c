/* SPDX-License-Identifier: Apache-2.0 */
/* Anthropic's Messages interface ("Messages" and "Streaming messages" of its API reference,
 * anthropic-version 2023-06-01). */
#include <math.h>

#include "model/private.h"

#define ADDRESS "https://api.anthropic.com"
#define VERSION "2023-06-01"

static cJSON *text_block(struct str text, bool cache) {
    cJSON *block = cJSON_CreateObject();
    cJSON_AddStringToObject(block, "type", "text");
    cJSON_AddStringToObject(block, "text", text.at);
    if (cache)
        cJSON_AddStringToObject(cJSON_AddObjectToObject(block, "cache_control"), "type",
                                "ephemeral");
    return block;
}

static void add_messages(cJSON *body, const struct model_request *request, bool caches) {
    cJSON *list = cJSON_AddArrayToObject(body, "messages");
    for (size_t i = 0; i < request->count; i++) {
        const struct model_message *message = &request->messages[i];
        cJSON *row = cJSON_CreateObject();
        cJSON_AddItemToArray(list, row);
        cJSON_AddStringToObject(row, "role",
                                message->speaker == MODEL_ASSISTANT ? "assistant" : "user");
        cJSON_AddItemToArray(cJSON_AddArrayToObject(row, "content"),
                             text_block(message->text, caches && message->cache));
    }
}

static bool prepare(struct model_call *call, const char *key, struct model_post *post,
                    struct err *err) {
    const struct model_endpoint *endpoint = &call->kept.endpoint;
    const struct model_request *request = &call->kept.request;
    struct str base = model_call_base(call, ADDRESS);
    bool caches = !model_goes_without(call, MODEL_WITHOUT_CACHE);
    (void)err;
    if (str_ends(base, "/v1")) /* people write it with and without */
        base.len -= 3;
    buf_printf(&post->url, STR_FMT "/v1/messages", STR_ARG(base));
    if (*key)
        model_post_secret(post, "x-api-key: ", key);
    model_post_header(post, "anthropic-version: " VERSION);
    model_post_header(post, "Accept: text/event-stream");
    cJSON *body = cJSON_CreateObject();
    cJSON_AddStringToObject(body, "model", endpoint->model);
    cJSON_AddNumberToObject(body, "max_tokens", endpoint->max_tokens);
    cJSON_AddTrueToObject(body, "stream");
    if (!model_effort_add(call, body) && model_takes_temperature(call))
        cJSON_AddNumberToObject(body, "temperature", endpoint->temperature);
    if (request->system.len)
        cJSON_AddItemToArray(cJSON_AddArrayToObject(body, "system"),
                             text_block(request->system, caches && request->cache_system));
    add_messages(body, request, caches);
    model_json_take(body, &post->body);
    return true;
}

static void take_usage(struct model_call *call, const cJSON *usage) {
    struct model_usage *own = &call->reply.usage;
    model_call_usage(&own->input, usage, "input_tokens");
    model_call_usage(&own->output, usage, "output_tokens");
    model_call_usage(&own->cache_read, usage, "cache_read_input_tokens");
    model_call_usage(&own->cache_write, usage, "cache_creation_input_tokens");
}

static enum model_stop stop_of(const char *reason) {
    static const struct {
        const char *reason;
        enum model_stop stop;
    } rows[] = {{"end_turn", MODEL_STOP_END},
                {"stop_sequence", MODEL_STOP_END},
                {"max_tokens", MODEL_STOP_LENGTH},
                {"model_context_window_exceeded", MODEL_STOP_CONTEXT},
                {"refusal", MODEL_STOP_REFUSED}};
    for (size_t i = 0; reason && i < COUNT_OF(rows); i++)
        if (!strcmp(rows[i].reason, reason))
            return rows[i].stop;
    return MODEL_STOP_OTHER;
}

static void on_start(struct model_call *call, const cJSON *object) {
    const cJSON *message = cJSON_GetObjectItemCaseSensitive(object, "message");
    take_usage(call, cJSON_GetObjectItemCaseSensitive(message, "usage"));
    model_call_answers(call, model_json_text(message, "model"));
}

/* "text_delta", "thinking_delta", "signature_delta". */
static void on_delta(struct model_call *call, const cJSON *object) {
    const cJSON *delta = cJSON_GetObjectItemCaseSensitive(object, "delta");
    const char *text = model_json_text(delta, "text"), *type = model_json_text(delta, "type");
    if (type && !strcmp(type, "thinking_delta"))
        model_call_thinks(call);
    else
        model_call_lives(call);
    if (text)
        model_call_text(call, str_of(text));
}

/* "thinking", "redacted_thinking": some models show nothing else of their thinking. */
static void on_block(struct model_call *call, const cJSON *object) {
    const cJSON *block = cJSON_GetObjectItemCaseSensitive(object, "content_block");
    const char *type = model_json_text(block, "type");
    if (type && strstr(type, "thinking"))
        model_call_thinks(call);
}

/* Newer models say why they declined to answer. */
static void take_refusal(struct model_call *call, const cJSON *from) {
    const cJSON *details = cJSON_GetObjectItemCaseSensitive(from, "stop_details");
    const char *words = model_json_text(details, "explanation");
    words = words ? words : model_json_text(details, "category");
    model_call_declines(call, str_of(words ? words : ""));
}

static void on_message_delta(struct model_call *call, const cJSON *object) {
    const cJSON *delta = cJSON_GetObjectItemCaseSensitive(object, "delta");
    const char *reason = model_json_text(delta, "stop_reason");
    take_usage(call, cJSON_GetObjectItemCaseSensitive(object, "usage"));
    if (reason)
        call->reply.stop = stop_of(reason);
    if (call->reply.stop == MODEL_STOP_REFUSED)
        take_refusal(call, delta);
}

static void on_stop(struct model_call *call, const cJSON *object) {
    (void)object;
    model_call_finish(call, call->reply.stop);
}

/* "Errors" of its API reference. */
static enum model_failed failed_of(const char *type) {
    static const struct {
        const char *type;
        enum model_failed failed;
    } rows[] = {
        {"overloaded_error", MODEL_FAILED_OVERLOAD}, {"api_error", MODEL_FAILED_OVERLOAD},
        {"rate_limit_error", MODEL_FAILED_OVERLOAD}, {"timeout_error", MODEL_FAILED_OVERLOAD},
        {"authentication_error", MODEL_FAILED_KEY},  {"permission_error", MODEL_FAILED_KEY},
        {"billing_error", MODEL_FAILED_KEY}};
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (!strcmp(rows[i].type, type))
            return rows[i].failed;
    return MODEL_FAILED_REQUEST;
}

/* An error in the middle of a stream. */
static void on_error(struct model_call *call, const cJSON *object) {
    const char *type = model_json_text(cJSON_GetObjectItemCaseSensitive(object, "error"), "type");
    const char *words = model_json_error(object);
    model_call_fail(call, failed_of(type ? type : "api_error"), "%s: %s: %.300s",
                    model_call_name(call), type ? type : "error",
                    words ? words : "no reason given");
}

static const struct {
    const char *type;
    void (*take)(struct model_call *call, const cJSON *object);
} events[] = {
    {"message_start", on_start},       {"content_block_start", on_block},
    {"content_block_delta", on_delta}, {"message_delta", on_message_delta},
    {"message_stop", on_stop},         {"error", on_error},
};

static void event(struct model_call *call, const char *name, struct str data) {
    cJSON *object = cJSON_ParseWithLength(data.at, data.len);
    const char *type = model_json_text(object, "type");
    if (!object)
        model_call_fail(call, MODEL_FAILED_GARBLED, "%s: an event of its stream is not JSON",
                        model_call_name(call));
    for (size_t i = 0; object && i < COUNT_OF(events); i++)
        if (!strcmp(events[i].type, type ? type : name))
            events[i].take(call, object);
    cJSON_Delete(object);
}

static bool whole(struct model_call *call, const cJSON *object) {
    const cJSON *content = cJSON_GetObjectItemCaseSensitive(object, "content");
    if (!cJSON_IsArray(content))
        return false;
    for (const cJSON *block = content->child; block; block = block->next)
        if (model_json_text(block, "text"))
            model_call_text(call, str_of(model_json_text(block, "text")));
        else if (model_json_text(block, "thinking"))
            model_call_thinks(call);
    take_usage(call, cJSON_GetObjectItemCaseSensitive(object, "usage"));
    model_call_finish(call, stop_of(model_json_text(object, "stop_reason")));
    if (call->reply.stop == MODEL_STOP_REFUSED)
        take_refusal(call, object);
    return true;
}

const struct model_api model_api_anthropic = {
    .name = "anthropic", .key_variable = "ANTHROPIC_API_KEY", .address = ADDRESS, MODEL_API_KEYED};
