/* SPDX-License-Identifier: Apache-2.0 */
/* Amazon Bedrock's ConverseStream ("ConverseStream", Amazon Bedrock API reference). libcurl signs
 * (SigV4); the credentials come from credentials.c and metadata.c, or an API key of Bedrock. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "model/keys/keys.h"
#include "model/private.h"

/* From this version on libcurl certainly encodes the path before it signs it; 7.88 signs the path
 * as it is in the URL. For versions between, both ways of put_address work. */
#define CURL_ENCODES_PATH 0x080d00

static cJSON *text_block(struct str text) {
    cJSON *block = cJSON_CreateObject();
    cJSON_AddStringToObject(block, "text", text.at);
    return block;
}

static void add_cache_point(cJSON *list) {
    cJSON *block = cJSON_CreateObject();
    cJSON_AddStringToObject(cJSON_AddObjectToObject(block, "cachePoint"), "type", "default");
    cJSON_AddItemToArray(list, block);
}

static void print_body(struct model_call *call, struct buf *out) {
    const struct model_request *request = &call->kept.request;
    bool caches = !model_goes_without(call, MODEL_WITHOUT_CACHE);
    cJSON *body = cJSON_CreateObject();
    if (request->system.len) {
        cJSON *system = cJSON_AddArrayToObject(body, "system");
        cJSON_AddItemToArray(system, text_block(request->system));
        if (caches && request->cache_system)
            add_cache_point(system);
    }
    cJSON *list = cJSON_AddArrayToObject(body, "messages");
    for (size_t i = 0; i < request->count; i++) {
        const struct model_message *message = &request->messages[i];
        cJSON *row = cJSON_CreateObject();
        cJSON_AddItemToArray(list, row);
        cJSON_AddStringToObject(row, "role",
                                message->speaker == MODEL_ASSISTANT ? "assistant" : "user");
        cJSON *content = cJSON_AddArrayToObject(row, "content");
        cJSON_AddItemToArray(content, text_block(message->text));
        if (caches && message->cache)
            add_cache_point(content);
    }
    cJSON *inference = cJSON_AddObjectToObject(body, "inferenceConfig");
    cJSON *more = cJSON_CreateObject();
    bool thinks = model_effort_add_bedrock(call, more);
    if (!model_effort_is_unlimited(more))
        cJSON_AddNumberToObject(inference, "maxTokens", call->kept.endpoint.max_tokens);
    if (more->child)
        cJSON_AddItemToObject(body, "additionalModelRequestFields", more);
    else
        cJSON_Delete(more);
    if (!thinks && model_takes_temperature(call))
        cJSON_AddNumberToObject(inference, "temperature", call->kept.endpoint.temperature);
    model_json_take(body, out);
}

static void add_encoded(struct buf *out, const char *text) {
    for (const char *at = text; *at; at++) {
        bool plain = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
                     (*at >= '0' && *at <= '9') || strchr("-_.~", *at);
        if (plain)
            buf_putc(out, *at);
        else
            buf_printf(out, "%%%02X", (unsigned char)*at);
    }
}

/* A model's name may hold ':' and '/'. SigV4 signs the path with each segment encoded once more
 * than it travels ("Create a signed AWS API request", IAM user guide). An old libcurl signs the
 * URL's path as it stands, so the URL gets the encoded path and the request line the one to
 * send. */
static void put_address(struct model_post *post, const char *base, const char *model) {
    struct buf encoded = {0}, signed_name = {0};
    add_encoded(&encoded, model);
    /* A slash inside a name must stay part of its segment. */
    const char *sent = strchr(model, '/') ? encoded.at : model;
    add_encoded(&signed_name, sent);
    if (curl_version_info(CURLVERSION_NOW)->version_num >= CURL_ENCODES_PATH) {
        buf_printf(&post->url, "%s/model/%s/converse-stream", base, sent);
    } else {
        buf_printf(&post->url, "%s/model/%s/converse-stream", base, signed_name.at);
        buf_printf(&post->target, "/model/%s/converse-stream", sent);
    }
    buf_free(&encoded);
    buf_free(&signed_name);
}

static void put_login(struct model_post *post, const struct credentials *found,
                      const char *region) {
    if (found->bearer.len) {
        model_post_secret(post, "Authorization: Bearer ", found->bearer.at);
        return;
    }
    snprintf(post->signing, sizeof post->signing, "aws:amz:%s:bedrock", region);
    struct buf user;
    model_join_secret(found->access_key.at, ":", &user);
    model_join_secret(user.at, found->secret_key.at, &post->secret);
    model_wipe(&user);
    if (found->session_token.len)
        model_post_secret(post, "X-Amz-Security-Token: ", found->session_token.at);
}

static void put_request(struct model_call *call, const char *region, struct model_post *post) {
    struct str set = model_call_base(call, "");
    struct buf base = {0};
    if (set.len)
        buf_add(&base, set.at, set.len);
    else
        buf_printf(&base, "https://bedrock-runtime.%s.amazonaws.com", region);
    put_address(post, base.at, call->kept.endpoint.model);
    print_body(call, &post->body);
    buf_free(&base);
}

static const char *usual_region(void) {
    const char *region = getenv("AWS_REGION");
    region = region && *region ? region : getenv("AWS_DEFAULT_REGION");
    return region && *region ? region : "us-east-1";
}

/* With an API key of Bedrock, or with none. */
static bool prepare(struct model_call *call, const char *key, struct model_post *post,
                    struct err *err) {
    const char *region = call->kept.endpoint.region;
    (void)err;
    put_request(call, region ? region : usual_region(), post);
    if (*key)
        model_post_secret(post, "Authorization: Bearer ", key);
    return true;
}

static void send_request(struct model_call *call, const struct credentials *found) {
    const struct model_endpoint *endpoint = &call->kept.endpoint;
    struct model_post post = {0};
    const char *region = endpoint->region ? endpoint->region
                         : *found->region ? found->region
                                          : "us-east-1";
    put_request(call, region, &post);
    put_login(&post, found, region);
    redact_add(&call->redact, buf_str(&found->bearer));
    redact_add(&call->redact, buf_str(&found->access_key));
    redact_add(&call->redact, buf_str(&found->secret_key));
    redact_add(&call->redact, buf_str(&found->session_token));
    model_http_start(call, &post);
}

static void fail(struct model_call *call, const struct err *err) {
    model_call_fail(call, MODEL_FAILED_KEY, "%s: %s", model_call_name(call), err->text);
    model_call_end_try(call);
}

static void on_metadata(void *data, struct credentials *found) {
    struct model_call *call = data;
    struct err err = {0};
    call->own = NULL;
    /* The files may still say which region. */
    if (found->access_key.len || credentials_find(call->kept.endpoint.profile, found, &err))
        send_request(call, found);
    else
        fail(call, &err);
}

/* The role of an instance or container counts as the default profile. */
static void find_credentials(struct model_call *call) {
    const char *profile = call->kept.endpoint.profile;
    struct credentials found = {0};
    struct err err = {0};
    if (credentials_find(profile, &found, &err))
        send_request(call, &found);
    else if (profile && strcmp(profile, "default") != 0)
        fail(call, &err);
    else
        call->own = metadata_ask(call->client->loop, on_metadata, call);
    credentials_wipe(&found);
}

/* keyed.c gets the key, unless AWS's credentials are needed. */
static bool takes_key(const struct model_call *call) {
    return model_key_is_named(&call->kept.endpoint.key);
}

static void start(struct model_call *call) {
    enum model_trust trust;
    if (takes_key(call))
        model_keyed_start(call);
    else if (model_call_trusts(call, &trust))
        trust == MODEL_TRUST_NOTHING ? model_keyed_start(call) : find_credentials(call);
}

static void stop(struct model_call *call) {
    if (takes_key(call)) {
        model_keyed_stop(call);
        return;
    }
    metadata_forget(call->own);
    call->own = NULL;
}

/* --------------------------------------------------------------------------------- its answers */

static void take_usage(struct model_call *call, const cJSON *usage) {
    struct model_usage *own = &call->reply.usage;
    model_call_usage(&own->input, usage, "inputTokens");
    model_call_usage(&own->output, usage, "outputTokens");
    model_call_usage(&own->cache_read, usage, "cacheReadInputTokens");
    model_call_usage(&own->cache_write, usage, "cacheWriteInputTokens");
}

static void on_delta(struct model_call *call, const cJSON *object) {
    const cJSON *delta = cJSON_GetObjectItemCaseSensitive(object, "delta");
    const char *text = model_json_text(delta, "text");
    if (cJSON_GetObjectItemCaseSensitive(delta, "reasoningContent"))
        model_call_thinks(call);
    else
        model_call_lives(call);
    if (text)
        model_call_text(call, str_of(text));
}

static void on_stop(struct model_call *call, const cJSON *object) {
    static const struct {
        const char *reason;
        enum model_stop stop;
    } rows[] = {{"end_turn", MODEL_STOP_END},
                {"stop_sequence", MODEL_STOP_END},
                {"max_tokens", MODEL_STOP_LENGTH},
                {"model_context_window_exceeded", MODEL_STOP_CONTEXT},
                {"guardrail_intervened", MODEL_STOP_REFUSED},
                {"content_filtered", MODEL_STOP_REFUSED}};
    const char *reason = model_json_text(object, "stopReason");
    enum model_stop stop = MODEL_STOP_OTHER;
    for (size_t i = 0; reason && i < COUNT_OF(rows); i++)
        if (!strcmp(rows[i].reason, reason))
            stop = rows[i].stop;
    model_call_finish(call, stop);
}

static void on_usage(struct model_call *call, const cJSON *object) {
    take_usage(call, cJSON_GetObjectItemCaseSensitive(object, "usage"));
}

static const struct {
    const char *type;
    void (*take)(struct model_call *call, const cJSON *object);
} events[] = {{"contentBlockDelta", on_delta}, {"messageStop", on_stop}, {"metadata", on_usage}};

static void event(struct model_call *call, const char *name, struct str data) {
    cJSON *object = cJSON_ParseWithLength(data.at ? data.at : "", data.len);
    if (!object)
        model_call_fail(call, MODEL_FAILED_GARBLED, "%s: an event of its stream is not JSON",
                        model_call_name(call));
    for (size_t i = 0; object && i < COUNT_OF(events); i++)
        if (!strcmp(events[i].type, name))
            events[i].take(call, object);
    cJSON_Delete(object);
}

const struct model_api model_api_bedrock = {.name = "bedrock",
                                            .is_service = true,
                                            .framing = MODEL_FRAMES,
                                            .prepare = prepare,
                                            .event = event,
                                            .start = start,
                                            .stop = stop};
