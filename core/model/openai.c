/* SPDX-License-Identifier: Apache-2.0 */
/* OpenAI's Chat Completions interface, which vLLM, llama.cpp, Ollama, LiteLLM and many others speak
 * too ("Chat" of OpenAI's API reference). Servers differ in what they leave out; everything but
 * the text is optional here. */
#include <math.h>

#include "model/private.h"

#define ADDRESS "https://api.openai.com/v1"

static void add_message(cJSON *list, const char *role, struct str text) {
    cJSON *row = cJSON_CreateObject();
    cJSON_AddItemToArray(list, row);
    cJSON_AddStringToObject(row, "role", role);
    cJSON_AddStringToObject(row, "content", text.at);
}

static void add_conversation(cJSON *body, const struct model_request *request) {
    cJSON *list = cJSON_AddArrayToObject(body, "messages");
    if (request->system.len)
        add_message(list, "system", request->system);
    for (size_t i = 0; i < request->count; i++)
        add_message(list,
                    request->messages[i].speaker == MODEL_ASSISTANT ? "assistant" : "user",
                    request->messages[i].text);
}

static bool prepare(struct model_call *call, const char *key, struct model_post *post,
                    struct err *err) {
    const struct model_endpoint *endpoint = &call->kept.endpoint;
    const char *base = endpoint->base_url ? endpoint->base_url : ADDRESS;
    (void)err;
    buf_printf(&post->url, "%s/chat/completions", base);
    if (*key)
        model_post_header(post, "Authorization: Bearer %s", key);
    model_post_header(post, "Accept: text/event-stream");
    cJSON *body = cJSON_CreateObject();
    cJSON_AddStringToObject(body, "model", endpoint->model);
    add_conversation(body, &call->kept.request);
    cJSON_AddTrueToObject(body, "stream");
    cJSON_AddTrueToObject(cJSON_AddObjectToObject(body, "stream_options"), "include_usage");
    /* OpenAI's own service knows the limit by a newer name than everybody else. */
    cJSON_AddNumberToObject(
        body, strstr(base, "//api.openai.com") ? "max_completion_tokens" : "max_tokens",
        endpoint->max_tokens);
    if (isfinite(endpoint->temperature))
        cJSON_AddNumberToObject(body, "temperature", endpoint->temperature);
    model_json_take(body, &post->body);
    return true;
}

static void take_usage(struct model_call *call, const cJSON *usage) {
    struct model_usage *own = &call->reply.usage;
    if (!cJSON_IsObject(usage))
        return;
    model_call_usage(&own->input, usage, "prompt_tokens");
    model_call_usage(&own->output, usage, "completion_tokens");
    model_call_usage(&own->cache_read,
                     cJSON_GetObjectItemCaseSensitive(usage, "prompt_tokens_details"),
                     "cached_tokens");
    /* prompt_tokens contains them. */
    if (own->input >= own->cache_read)
        own->input -= own->cache_read;
}

static enum model_stop stop_of(const char *reason) {
    if (!strcmp(reason, "stop"))
        return MODEL_STOP_END;
    if (!strcmp(reason, "length"))
        return MODEL_STOP_LENGTH;
    return strcmp(reason, "content_filter") ? MODEL_STOP_OTHER : MODEL_STOP_REFUSED;
}

static void take_choice(struct model_call *call, const cJSON *choice, const char *part) {
    const cJSON *delta = cJSON_GetObjectItemCaseSensitive(choice, part);
    const char *text = model_json_text(delta, "content");
    const char *refusal = model_json_text(delta, "refusal");
    const char *reason = model_json_text(choice, "finish_reason");
    if (text)
        model_call_text(call, str_of(text));
    if (reason)
        model_call_finish(call, stop_of(reason));
    if (refusal && *refusal)
        call->reply.stop = MODEL_STOP_REFUSED;
}

static void take_object(struct model_call *call, const cJSON *object, const char *part) {
    const cJSON *choices = cJSON_GetObjectItemCaseSensitive(object, "choices");
    const char *name = model_json_text(object, "model");
    if (name)
        snprintf(call->reply.model, sizeof call->reply.model, "%s", name);
    if (cJSON_IsArray(choices) && choices->child)
        take_choice(call, choices->child, part);
    take_usage(call, cJSON_GetObjectItemCaseSensitive(object, "usage"));
}

static void event(struct model_call *call, const char *name, struct str data) {
    (void)name;
    if (str_is(str_trim(data), "[DONE]")) {
        model_call_finish(call, call->reply.stop);
        return;
    }
    cJSON *object = cJSON_ParseWithLength(data.at, data.len);
    if (!object)
        model_call_fail(call, ERR_ENVIRONMENT, true, "%s: an event of its stream is no JSON",
                        model_call_name(call));
    else if (cJSON_GetObjectItemCaseSensitive(object, "error"))
        model_call_fail(call, ERR_ENVIRONMENT, true, "%s: %.300s", model_call_name(call),
                        model_json_error(object) ? model_json_error(object) : "no reason given");
    else
        take_object(call, object, "delta");
    cJSON_Delete(object);
}

static bool whole(struct model_call *call, const cJSON *object) {
    const cJSON *choices = cJSON_GetObjectItemCaseSensitive(object, "choices");
    if (!cJSON_IsArray(choices) || !choices->child)
        return false;
    take_object(call, object, "message");
    model_call_finish(call, call->reply.stop);
    return true;
}

const struct model_api model_api_openai = {
    .name = "openai", .is_service = true, .key_variable = "OPENAI_API_KEY", .framing = MODEL_SSE, .prepare = prepare,
    .event = event, .whole = whole, .start = model_keyed_start, .stop = model_keyed_stop};
