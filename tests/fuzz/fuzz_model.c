/* SPDX-License-Identifier: Apache-2.0 */
/* Foreign bytes as the answers of services: event streams, frames with right and wrong checksums,
 * events of every interface, answers that come as a whole. Built with -DHONE_LIBFUZZER it is an
 * entry point for libFuzzer. As a program it mutates recorded streams for a number of rounds. */
#include <math.h>
#include <stdlib.h>

#include "fuzz/fuzz.h"
#include "model/keys/credentials.h"
#include "model/frame.h"
#include "model/private.h"

#define SECRET "sk-fuzz-0123456789abcdef"

/* What a reader of the answer relies on. */
static void check_text(struct str text, const char *what) {
    uint32_t code;
    if (text.len && memmem(text.at, text.len, SECRET, sizeof SECRET - 1))
        HONE_BUG("a secret came through");
    while (text.len) {
        size_t size = text_decode(text, &code);
        if (code == TEXT_INVALID || code == 0)
            HONE_BUG(what);
        text.at += size;
        text.len -= size;
    }
}

static void on_text(void *data, struct str piece) {
    struct buf *streamed = data;
    buf_add(streamed, piece.at, piece.len);
}

static void check_call(const struct model_call *call, const struct buf *streamed) {
    const struct model_usage *usage = &call->reply.usage;
    check_text(buf_str(&call->text), "an answer is no text");
    check_text(str_of(call->wrong.text), "an error is no text");
    check_text(str_of(call->reply.model), "a model's name is no text");
    check_text(str_of(call->reply.reason), "a reason is no text");
    if (!str_equal(buf_str(&call->text), buf_str(streamed)))
        HONE_BUG("what streamed is not the answer");
    if (call->wrong.kind != ERR_NONE && !*call->wrong.text)
        HONE_BUG("a failure without a reason");
    if (usage->input < 0 || usage->output < 0 || usage->cache_read < 0 || usage->cache_write < 0)
        HONE_BUG("fewer tokens than none");
    if (usage->input > MODEL_MOST_COUNTED || usage->output > MODEL_MOST_COUNTED ||
        usage->cache_read > MODEL_MOST_COUNTED || usage->cache_write > MODEL_MOST_COUNTED ||
        call->reply.thinking > usage->output || call->reply.thinking < 0)
        HONE_BUG("a count that cannot be");
    if ((call->reply.failed != MODEL_FAILED_NOT) != (*call->reply.reason != 0))
        HONE_BUG("a failure and its reason do not go together");
    for (const char *at = call->wrong.text; *at; at++)
        if (*at == '\x1b')
            HONE_BUG("an error that moves the cursor");
}

static void begin(struct model_call *call, const char *api, struct buf *streamed) {
    *call = (struct model_call){.api = model_api_find(api),
                                .kept.endpoint = {.model = "test", .max_tokens = 4096},
                                .callbacks = {.on_text = on_text, .data = streamed},
                                .reply = {.usage = {NAN, NAN, NAN, NAN}, .thinking = NAN}};
    redact_add(&call->redact, STR(SECRET));
}

static void end(struct model_call *call, struct buf *streamed) {
    model_call_end_declined(call);
    model_call_conclude(call);
    check_call(call, streamed);
    redact_forget(&call->redact);
    buf_free(&call->text);
    buf_free(&call->tail);
    buf_free(&call->declined);
    buf_free(streamed);
}

/* In pieces of 1, 2, 3, ... bytes, or of `step`. */
static void feed(const char *api, struct str bytes, size_t step) {
    struct model_call call;
    struct model_stream stream = {0};
    struct buf streamed = {0};
    begin(&call, api, &streamed);
    for (size_t piece = step ? step : 1; bytes.len; piece += !step) {
        size_t size = MIN_OF(piece, bytes.len);
        char *copy = mem_dup(bytes.at, size); /* its own block, for the sanitiser */
        bool fine = model_stream_feed(&stream, &call, (struct str){copy, size});
        free(copy);
        if (!fine)
            break;
        bytes.at += size;
        bytes.len -= size;
    }
    model_stream_free(&stream);
    end(&call, &streamed);
}

/* Lines "NAME JSON" as frames with right checksums; "!NAME JSON" as exceptions. */
static void feed_frames(struct str lines) {
    struct buf frames = {0};
    struct str line, name;
    while (str_next(&lines, '\n', &line)) {
        bool exception = str_starts(line, "!");
        if (!str_next(&line, ' ', &name))
            continue;
        name.at += exception;
        name.len -= exception;
        name.len = MIN_OF(name.len, (size_t)60000);
        frame_put(&frames, exception ? "exception" : "event", name,
                  line.at ? line : (struct str){"", 0});
    }
    feed("bedrock", buf_str(&frames), 0);
    buf_free(&frames);
}

static void feed_whole(const char *api, struct str text) {
    struct model_call call;
    struct buf streamed = {0};
    cJSON *object = cJSON_ParseWithLength(text.at ? text.at : "", text.len);
    begin(&call, api, &streamed);
    if (object && call.api->whole)
        (void)call.api->whole(&call, object);
    end(&call, &streamed);
    cJSON_Delete(object);
}

#define WAYS 11

/* The first byte says what the others are read as. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const apis[] = {"anthropic", "openai", "responses", "bedrock"};
    struct str bytes = {(const char *)data + 1, size - 1};
    if (!size)
        return 0;
    int how = data[0] % WAYS;
    if (how < 4)
        feed(apis[how], bytes, 0);
    else if (how < 8)
        feed(apis[how - 4], bytes, SIZE_MAX);
    else if (how == 8)
        feed_frames(bytes);
    else if (how == 9)
        for (size_t i = 0; i < COUNT_OF(apis); i++)
            feed_whole(apis[i], bytes);
    else {
        struct credentials found = {0};
        (void)credentials_parse(bytes, &found);
        credentials_wipe(&found);
    }
    return 0;
}

#ifndef HONE_LIBFUZZER

static const char *const examples[] = {
    "{\"content\": [{\"type\": \"text\", \"text\": \"a\"}], \"stop_reason\": \"end_turn\", "
    "\"usage\": "
    "{\"input_tokens\": 25}}",
    "{\"choices\": [{\"message\": {\"content\": \"a\", \"refusal\": null}, \"finish_reason\": "
    "\"stop\"}], "
    "\"usage\": {\"prompt_tokens\": 25, \"prompt_tokens_details\": {\"cached_tokens\": 30}}}",
    "{\"status\": \"incomplete\", \"output\": [{\"content\": [{\"text\": \"a\"}]}], \"model\": "
    "\"m\"}",
    "{\"AccessKeyId\": \"A\", \"SecretAccessKey\": \"S\", \"Token\": \"T\"}",
    "data: {\"type\": \"error\", \"error\": {\"type\": \"overloaded_error\", \"message\": \"" SECRET
    "\"}}\n\n",
    "event: response.failed\ndata: {\"type\": \"response.failed\", \"response\": {\"error\": "
    "{\"code\": "
    "\"server_error\", \"message\": \"x\"}}}\n\ndata: {\"error\": null, \"choices\": []}\n\n",
    "!throttlingException {\"message\": \"" SECRET
    "\"}\n!validationException {}\ncontentBlockDelta "
    "{\"delta\": {\"text\": \"" SECRET "\"}}\n",
};
static const char *const pieces[] = {"\n",
                                     "\r",
                                     "\r\n\r\n",
                                     "data: ",
                                     "event: ",
                                     ": ",
                                     "{",
                                     "}",
                                     "[",
                                     "]",
                                     "\"",
                                     "null",
                                     "-1",
                                     "1e999",
                                     "\\u0000",
                                     "\\ud800",
                                     "\x1b[2J",
                                     "\xff",
                                     "\xe2\x9c",
                                     "\xef\xbb\xbf",
                                     "[DONE]",
                                     "\"text\":\"\"",
                                     SECRET,
                                     "sk-fuzz-0123",
                                     "456789abcdef",
                                     "99999999999999999999",
                                     "\"error\":",
                                     "1e18",
                                     "\"refusal\":",
                                     "\"stop_reason\":",
                                     "\"usage\":",
                                     "\"reasoning_tokens\":"};

/* Recorded streams as they travel, the last one as its lines. Each comes after each way to read
 * it. */
static void begin_streams(struct fuzz *fuzz) {
    static const char *const files[] = {"anthropic.sse",          "openai.sse",
                                        "compatible.sse",         "responses.sse",
                                        "bedrock.events",         "anthropic-thinking.sse",
                                        "anthropic-refusal.sse",  "openai-thinking.sse",
                                        "openai-refusal.sse",     "openai-absurd.sse",
                                        "responses-thinking.sse", "responses-refusal.sse",
                                        "bedrock-thinking.events"};
    struct err err = {0};
    char *lines = file_read(HONE_SOURCE_DIR "/tests/model/streams/bedrock.events", 0, NULL, &err);
    for (int how = 0; how < WAYS; how++) {
        for (size_t i = 0; i < COUNT_OF(files); i++) {
            struct buf *example = fuzz_example(fuzz);
            buf_putc(example, (char)how);
            frame_read_stream(files[i], example);
        }
        struct buf *example = fuzz_example(fuzz);
        buf_putc(example, (char)how);
        buf_puts(example, lines ? lines : "");
    }
    free(lines);
}

static const struct fuzz_target target = {.name = "model",
                                          .heads = WAYS,
                                          .begin = begin_streams,
                                          FUZZ_TABLE(example, examples),
                                          FUZZ_TABLE(piece, pieces)};

int main(int argc, char **argv) {
    return fuzz_main(&target, argc, argv);
}
#endif
