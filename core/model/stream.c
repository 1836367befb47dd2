/* SPDX-License-Identifier: Apache-2.0 */
/* The body of an answer that streams: bytes become events, events go to the interface. Other files
 * know where the bytes come from, and what to do with an answer that is not a stream. */
#include "model/private.h"

static void on_sse(void *data, const char *event, struct str text) {
    struct model_call *call = data;
    if (call->wrong.kind == ERR_NONE)
        call->api->event(call, event, text);
}

/* Exceptions in a stream ("ConverseStreamOutput", Amazon Bedrock API reference); all except those
 * about the request itself may pass. */
static void take_exception(struct model_call *call, const struct frames_message *message) {
    cJSON *object = cJSON_ParseWithLength(message->payload.at, message->payload.len);
    const char *words = model_json_error(object);
    enum model_failed failed =
        strstr(message->event, "ccessDenied") ? MODEL_FAILED_KEY
        : strstr(message->event, "alidation") || strstr(message->event, "otFound")
            ? MODEL_FAILED_REQUEST
            : MODEL_FAILED_OVERLOAD;
    model_call_fail(call, failed, "%s: %s: %.300s", model_call_name(call), message->event,
                    words            ? words
                    : *message->text ? message->text
                                     : "no reason given");
    cJSON_Delete(object);
}

static void on_frame(void *data, const struct frames_message *message) {
    struct model_call *call = data;
    if (call->wrong.kind != ERR_NONE)
        return;
    if (strcmp(message->type, "event") != 0)
        take_exception(call, message);
    else
        call->api->event(call, message->event, message->payload);
}

bool model_stream_feed(struct model_stream *stream, struct model_call *call, struct str bytes) {
    struct err err = {0};
    if (call->api->framing == MODEL_SSE) {
        if (!sse_feed(&stream->sse, bytes, on_sse, call))
            model_call_fail(call, MODEL_FAILED_USELESS, "%s: an event of its stream is too long",
                            model_call_name(call));
    } else if (!frames_feed(&stream->frames, bytes, on_frame, call, &err)) {
        model_call_fail(call, MODEL_FAILED_GARBLED, "%s: %s", model_call_name(call), err.text);
    }
    return call->wrong.kind == ERR_NONE;
}

void model_stream_free(struct model_stream *stream) {
    sse_free(&stream->sse);
    frames_free(&stream->frames);
}
