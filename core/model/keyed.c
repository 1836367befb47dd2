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

bool model_call_trusts(struct model_call *call, enum model_trust *trust) {
    struct err err = {0};
    if (model_trust_find(&call->kept.endpoint, trust, &err)) {
        call->keyless = *trust == MODEL_TRUST_NOTHING;
        return true;
    }
    model_call_fail(call, MODEL_FAILED_KEY, "%s: %s", model_call_name(call), err.text);
    model_call_end_try(call);
    return false;
}

void model_keyed_start(struct model_call *call) {
    enum model_trust trust;
    if (!model_call_trusts(call, &trust))
        return;
    if (trust == MODEL_TRUST_NOTHING)
        send_request(call, "");
    else
        call->own = model_key_get(call->client->loop, &call->kept.endpoint.key,
                                  call->api->key_variable, on_key, call);
}

void model_keyed_stop(struct model_call *call) {
    model_key_forget(call->own);
    call->own = NULL;
}
