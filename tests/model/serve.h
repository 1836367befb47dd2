/* SPDX-License-Identifier: Apache-2.0 */
/* The service of tests/model/server.py and one request at a time to it, for the tests of this
 * folder. */
#ifndef HONE_TESTS_MODEL_SERVE_H
#define HONE_TESTS_MODEL_SERVE_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "loop/loop.h"
#include "model/model.h"

#define ANSWER "Keep w in SBUF \xe2\x9c\x93 across i.\n```python\nx = 1\n```\n"
#define LIMIT_MS 30000

struct bench {
    struct loop *loop;
    struct model_client *client;
    int port;
    bool listening;
    /* of the last request */
    struct model_call *call;
    struct buf streamed, notes;
    struct model_reply reply;
    char *text;
    bool done;
    int again, pieces;
    int cancel_after;               /* after this many pieces; 0: never */
    bool cancel_told, cancel_again; /* when a note comes; when a new try begins */
};

/* --------------------------------------------------------------------------------- the fixture */

static void on_port(void *data, enum loop_stream stream, struct str text, bool whole) {
    struct bench *bench = data;
    long long port;
    (void)whole;
    if (stream == LOOP_STDOUT && str_to_int(text, &port)) {
        bench->port = (int)port;
        bench->listening = true;
    }
}

/* Starts tests/model/server.py; with a certificate (and its key) it speaks TLS. Returns its
 * port. */
static int serve(struct bench *bench, const char *certificate) {
    struct err err = {0};
    const char *const argv[] = {"/usr/bin/python3", HONE_SOURCE_DIR "/tests/model/server.py",
                                certificate, NULL};
    struct loop_child_spec spec = {.argv = argv,
                                   .keep_input = true,
                                   .out = LOOP_LINES,
                                   .err = LOOP_INHERIT,
                                   .on_output = on_port,
                                   .data = bench};
    bench->listening = false;
    assert_non_null(loop_child_start(bench->loop, &spec, &err));
    assert_true(loop_run_until(bench->loop, &bench->listening, LIMIT_MS));
    return bench->port;
}

static int start(void **state) {
    static const char *const names[] = {"http_proxy",  "HTTP_PROXY", "https_proxy",
                                        "HTTPS_PROXY", "all_proxy",  "ALL_PROXY",
                                        "no_proxy",    "NO_PROXY",   "SSL_CERT_FILE"};
    struct bench *bench = mem_alloc(1, sizeof *bench);
    for (size_t i = 0; i < COUNT_OF(names); i++)
        unsetenv(names[i]);
    bench->loop = loop_new();
    bench->client = model_client_new(bench->loop);
    serve(bench, NULL);
    setenv("TEST_KEY", "sk-test-4711", 1);
    *state = bench;
    return 0;
}

static int end(void **state) {
    struct bench *bench = *state;
    model_client_free(bench->client);
    loop_free(bench->loop);
    buf_free(&bench->streamed);
    buf_free(&bench->notes);
    free(bench->text);
    free(bench);
    return 0;
}

static void on_text(void *data, struct str piece) {
    struct bench *bench = data;
    buf_add(&bench->streamed, piece.at, piece.len);
    bench->pieces++;
    if (bench->cancel_after && bench->pieces >= bench->cancel_after)
        model_cancel(bench->call);
}

static void on_again(void *data) {
    struct bench *bench = data;
    buf_clear(&bench->streamed);
    bench->again++;
    if (bench->cancel_again)
        model_cancel(bench->call);
}

static void on_note(void *data, const char *text) {
    struct bench *bench = data;
    buf_printf(&bench->notes, "%s\n", text);
    if (bench->cancel_told)
        model_cancel(bench->call);
}

static void on_done(void *data, const struct model_reply *reply) {
    struct bench *bench = data;
    bench->reply = *reply;
    free(bench->text);
    bench->text = mem_alloc(reply->text.len + 1, 1);
    memcpy(bench->text, reply->text.at, reply->text.len);
    bench->done = true;
}

static struct model_endpoint endpoint_of(struct bench *bench, const char *api, char url[64]) {
    bool bedrock = !strcmp(api, "bedrock");
    snprintf(url, 64, "http://127.0.0.1:%d%s", bench->port,
             bedrock || !strcmp(api, "anthropic") ? "" : "/v1");
    return (struct model_endpoint){.api = api,
                                   .base_url = url,
                                   .key.environment = bedrock ? NULL : "TEST_KEY",
                                   .profile = bedrock ? "default" : NULL,
                                   .temperature = NAN,
                                   .proxy = "",
                                   .region = "us-west-2",
                                   .price = {3, 15, 0.3, 3.75, 0}};
}

static void ask_endpoint(struct bench *bench, const struct model_endpoint *endpoint) {
    struct err err = {0};
    struct model_message message = {MODEL_USER, STR("Make it \"faster\".\n"), true};
    struct model_request request = {.endpoint = endpoint,
                                    .system = STR("You know NKI."),
                                    .cache_system = true,
                                    .messages = &message,
                                    .count = 1};
    struct model_callbacks callbacks = {on_text, on_again, on_note, on_done, bench};
    buf_clear(&bench->streamed);
    buf_clear(&bench->notes);
    bench->done = false;
    bench->again = bench->pieces = 0;
    bench->call = model_ask(bench->client, &request, &callbacks, &err);
    assert_non_null(bench->call);
    assert_true(loop_run_until(bench->loop, &bench->done, LIMIT_MS));
    bench->cancel_after = 0;
}

CC_UNUSED static void ask(struct bench *bench, const char *api, const char *model) {
    char url[64];
    struct model_endpoint endpoint = endpoint_of(bench, api, url);
    endpoint.model = model;
    ask_endpoint(bench, &endpoint);
}

CC_UNUSED static const char *const http_apis[] = {"anthropic", "openai", "responses", "bedrock"};

CC_UNUSED static void set_aws(void) {
    setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE", 1);
    setenv("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", 1);
    setenv("AWS_CONFIG_FILE", "/nonexistent", 1);
    setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent", 1);
    unsetenv("AWS_BEARER_TOKEN_BEDROCK");
    unsetenv("AWS_SESSION_TOKEN");
}

CC_UNUSED static void assert_answer(struct bench *bench, const char *api, const char *model) {
    if (bench->reply.failure.kind != ERR_NONE || strcmp(bench->text, ANSWER) != 0)
        print_error("%s %s: %s\n%s\n", api, model, bench->reply.failure.text, bench->text);
    assert_int_equal(bench->reply.failure.kind, ERR_NONE);
    assert_string_equal(bench->text, ANSWER);
    assert_string_equal(bench->streamed.at, ANSWER);
    assert_int_equal(bench->reply.stop, MODEL_STOP_END);
    assert_int_equal(bench->reply.failed, MODEL_FAILED_NOT);
    assert_string_equal(bench->reply.reason, "");
}

CC_UNUSED static void assert_fails(struct bench *bench, enum err_kind kind, const char *words) {
    if (bench->reply.failure.kind != kind || !strstr(bench->reply.failure.text, words))
        print_error("kind %d: %s\n", bench->reply.failure.kind, bench->reply.failure.text);
    assert_int_equal(bench->reply.failure.kind, kind);
    assert_non_null(strstr(bench->reply.failure.text, words));
}

#endif
