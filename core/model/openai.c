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
        add_message(list, request->messages[i].speaker == MODEL_ASSISTANT ? "assistant" : "user",
                    request->messages[i].text);
}

static bool prepare(struct model_call *call, const char *key, struct model_post *post,
                    struct err *err) {
    const struct model_endpoint *endpoint = &call->kept.endpoint;
    struct str base = model_call_base(call, ADDRESS);
    (void)err;
    buf_printf(&post->url, STR_FMT "/chat/completions", STR_ARG(base));
    if (*key)
        model_post_secret(post, "Authorization: Bearer ", key);
    model_post_header(post, "Accept: text/event-stream");
    cJSON *body = cJSON_CreateObject();
    cJSON_AddStringToObject(body, "model", endpoint->model);
    add_conversation(body, &call->kept.request);
    cJSON_AddTrueToObject(body, "stream");
    if (!model_goes_without(call, MODEL_WITHOUT_USAGE))
        cJSON_AddTrueToObject(cJSON_AddObjectToObject(body, "stream_options"), "include_usage");
    /* OpenAI's own service knows the limit by a newer name than everybody else. */
    bool newer = strstr(post->url.at, "//api.openai.com/") ||
                 model_goes_without(call, MODEL_WITHOUT_OLD_LIMIT);
    cJSON_AddNumberToObject(body, newer ? "max_completion_tokens" : "max_tokens",
                            endpoint->max_tokens);
    const char *effort = model_effort_ask(call);
    if (effort)
        cJSON_AddStringToObject(body, "reasoning_effort", effort);
    if (model_takes_temperature(call))
        cJSON_AddNumberToObject(body, "temperature", endpoint->temperature);
    model_json_take(body, &post->body);
    return true;
}

void model_openai_usage(struct model_call *call, const cJSON *usage, const char *input,
                        const char *output) {
    struct model_usage *own = &call->reply.usage;
    char details[40];
    if (!cJSON_IsObject(usage))
        return;
    snprintf(details, sizeof details, "%s_details", input);
    const cJSON *cache = cJSON_GetObjectItemCaseSensitive(usage, details);
    snprintf(details, sizeof details, "%s_details", output);
    const cJSON *thinking = cJSON_GetObjectItemCaseSensitive(usage, details);
    *own = (struct model_usage){NAN, NAN, NAN, NAN};
    model_call_usage(&own->input, usage, input);
    model_call_usage(&own->output, usage, output);
    model_call_usage(&own->cache_read, cache, "cached_tokens");
    model_call_usage(&own->cache_write, cache, "cache_write_tokens");
    double cached = (isnan(own->cache_read) ? 0 : own->cache_read) +
                    (isnan(own->cache_write) ? 0 : own->cache_write);
    if (own->input >= cached)
        own->input -= cached;
    else if (own->input < cached) /* a part is no more than the whole */
        own->cache_read = own->cache_write = NAN;
    model_call_usage(&call->reply.thinking, thinking, "reasoning_tokens");
    if (call->reply.thinking > own->output)
        call->reply.thinking = NAN;
}

/* Codes and types of errors that come again however often it is tried; all others may pass. */
static enum model_failed failed_of(const char *code) {
    static const struct {
        const char *part;
        enum model_failed failed;
    } rows[] = {{"insufficient_quota", MODEL_FAILED_KEY}, {"authentication", MODEL_FAILED_KEY},
                {"permission", MODEL_FAILED_KEY},         {"billing", MODEL_FAILED_KEY},
                {"invalid_api_key", MODEL_FAILED_KEY},    {"invalid", MODEL_FAILED_REQUEST},
                {"not_found", MODEL_FAILED_REQUEST},      {"context_length", MODEL_FAILED_REQUEST}};
    for (size_t i = 0; code && i < COUNT_OF(rows); i++)
        if (strstr(code, rows[i].part))
            return rows[i].failed;
    return MODEL_FAILED_OVERLOAD;
}

bool model_openai_declines(struct model_call *call, const cJSON *object) {
    const cJSON *error = cJSON_GetObjectItemCaseSensitive(object, "error");
    const char *code = model_json_text(error, "code"), *words = model_json_error(object);
    if (!code || !(strstr(code, "content_filter") || strstr(code, "content_policy")))
        return false;
    model_call_declines(call, str_of(words ? words : ""));
    model_call_finish(call, MODEL_STOP_REFUSED);
    return true;
}

void model_openai_fail(struct model_call *call, const cJSON *object) {
    if (model_openai_declines(call, object))
        return;
    const cJSON *error = cJSON_GetObjectItemCaseSensitive(object, "error");
    const cJSON *from = cJSON_IsObject(error) ? error : object;
    const char *words = model_json_error(object), *code = model_json_text(from, "code");
    enum model_failed failed = failed_of(code);
    if (failed == MODEL_FAILED_OVERLOAD)
        failed = failed_of(model_json_text(from, "type"));
    model_call_fail(call, failed, "%s: %s%s%.300s", model_call_name(call), code ? code : "",
                    code ? ": " : "", words ? words : "it failed; no reason given");
}

static void take_usage(struct model_call *call, const cJSON *usage) {
    model_openai_usage(call, usage, "prompt_tokens", "completion_tokens");
}

static enum model_stop stop_of(const char *reason) {
    if (!strcmp(reason, "stop"))
        return MODEL_STOP_END;
    if (!strcmp(reason, "length"))
        return MODEL_STOP_LENGTH;
    return strcmp(reason, "content_filter") ? MODEL_STOP_OTHER : MODEL_STOP_REFUSED;
}

/* It has several names: reasoning, reasoning_content, reasoning_details, thinking. */
static bool thinks(const cJSON *delta) {
    for (const cJSON *part = cJSON_IsObject(delta) ? delta->child : NULL; part; part = part->next)
        if (strstr(part->string, "reasoning") || !strcmp(part->string, "thinking"))
            return !cJSON_IsNull(part) && !(cJSON_IsString(part) && !*part->valuestring);
    return false;
}

static void take_choice(struct model_call *call, const cJSON *choice, const char *part) {
    const cJSON *delta = cJSON_GetObjectItemCaseSensitive(choice, part);
    const char *text = model_json_text(delta, "content");
    const char *refusal = model_json_text(delta, "refusal");
    const char *reason = model_json_text(choice, "finish_reason");
    if (thinks(delta))
        model_call_thinks(call);
    else if (cJSON_IsObject(delta) && delta->child)
        model_call_lives(call);
    if (text)
        model_call_text(call, str_of(text));
    if (refusal && *refusal)
        model_call_declines(call, str_of(refusal));
    /* One that declines ends as others do. */
    if (reason)
        model_call_finish(call, call->declined.len ? MODEL_STOP_REFUSED : stop_of(reason));
}

static void take_object(struct model_call *call, const cJSON *object, const char *part) {
    const cJSON *choices = cJSON_GetObjectItemCaseSensitive(object, "choices");
    model_call_answers(call, model_json_text(object, "model"));
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
        model_call_fail(call, MODEL_FAILED_GARBLED, "%s: an event of its stream is not JSON",
                        model_call_name(call));
    else if (!model_json_is_empty(cJSON_GetObjectItemCaseSensitive(object, "error")))
        model_openai_fail(call, object);
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
    .name = "openai", .key_variable = "OPENAI_API_KEY", .address = ADDRESS, MODEL_API_KEYED};
