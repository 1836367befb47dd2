/* SPDX-License-Identifier: Apache-2.0 */
/* How most HTTP interfaces begin a try: get the key, put the request together, send it. */
#include "model/private.h"

static void send_request(struct model_call *call, const char *key) {
    struct model_post post = {0};
    struct err err = {0};
    redact_add(&call->redact, str_of(key));
    if (call->api->prepare(call, key, &post, &err)) {
        model_http_start(call, &post);
        return;
    }
    model_post_free(&post);
    model_call_fail(call, MODEL_FAILED_REQUEST, "%s", err.text);
    model_call_end_try(call);
}

static void on_key(void *data, const char *key, const struct err *err) {
    struct model_call *call = data;
    call->own = NULL;
    if (key) {
        send_request(call, key);
        return;
    }
    model_call_fail(call, MODEL_FAILED_KEY, "%s: %s", model_call_name(call), err->text);
    model_call_end_try(call);
}

/* A server of one's own needs no key unless the configuration names one. */
static bool needs_key(const struct model_call *call) {
    const struct model_endpoint *endpoint = &call->kept.endpoint;
    return model_key_is_named(&endpoint->key) ||
           !(endpoint->base_url && call->api != &model_api_anthropic);
}

void model_keyed_start(struct model_call *call) {
    if (needs_key(call))
        call->own = model_key_get(call->client->loop, &call->kept.endpoint.key,
                                  call->api->key_variable, on_key, call);
    else
        send_request(call, "");
}

void model_keyed_stop(struct model_call *call) {
    model_key_forget(call->own);
    call->own = NULL;
}
