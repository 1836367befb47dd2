/* SPDX-License-Identifier: Apache-2.0 */
/* Every interface against a server of our own: what comes, what goes wrong, what it costs. */
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
    struct loop_child *server;
    int port;
    bool listening;
    /* of the last request */
    struct model_call *call;
    struct buf streamed, notes;
    struct model_reply reply;
    char *text;
    bool done;
    int again, pieces;
    int cancel_after;               /* pieces; 0: never */
};

/* ---------------------------------------------------------------------------------- the fixture */

static void on_port(void *data, enum loop_stream stream, struct str text, bool whole) {
    struct bench *bench = data;
    long long port;
    (void)whole;
    if (stream == LOOP_STDOUT && str_to_int(text, &port)) {
        bench->port = (int)port;
        bench->listening = true;
    }
}

static int start(void **state) {
    struct bench *bench = mem_alloc(1, sizeof *bench);
    struct err err = {0};
    bench->loop = loop_new();
    bench->client = model_client_new(bench->loop);
    const char *const argv[] = {"/usr/bin/python3", HONE_SOURCE_DIR "/tests/model/server.py", NULL};
    struct loop_child_spec spec = {.argv = argv, .keep_input = true, .out = LOOP_LINES,
                                   .err = LOOP_INHERIT, .on_output = on_port, .data = bench};
    bench->server = loop_child_start(bench->loop, &spec, &err);
    assert_non_null(bench->server);
    assert_true(loop_run_until(bench->loop, &bench->listening, LIMIT_MS));
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
}

static void on_note(void *data, const char *text) {
    struct bench *bench = data;
    buf_printf(&bench->notes, "%s\n", text);
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
    return (struct model_endpoint){.api = api, .base_url = url, .key.environment = "TEST_KEY",
                                   .temperature = NAN, .proxy = "", .region = "us-west-2",
                                   .price = {3, 15, 0.3, 3.75}};
}

static void ask_endpoint(struct bench *bench, const struct model_endpoint *endpoint) {
    struct err err = {0};
    struct model_message message = {MODEL_USER, STR("Make it \"faster\".\n"), true};
    struct model_request request = {.endpoint = endpoint, .system = STR("You know NKI."),
                                    .cache_system = true, .messages = &message, .count = 1};
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

static void ask(struct bench *bench, const char *api, const char *model) {
    char url[64];
    struct model_endpoint endpoint = endpoint_of(bench, api, url);
    endpoint.model = model;
    ask_endpoint(bench, &endpoint);
}

static const char *const http_apis[] = {"anthropic", "openai", "responses", "bedrock"};

static void set_aws(void) {
    setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE", 1);
    setenv("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", 1);
    setenv("AWS_CONFIG_FILE", "/nonexistent", 1);
    setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent", 1);
    unsetenv("AWS_BEARER_TOKEN_BEDROCK");
    unsetenv("AWS_SESSION_TOKEN");
}

static void assert_answer(struct bench *bench, const char *api, const char *model) {
    if (bench->reply.failure.kind != ERR_NONE || strcmp(bench->text, ANSWER) != 0)
        print_error("%s %s: %s\n%s\n", api, model, bench->reply.failure.text, bench->text);
    assert_int_equal(bench->reply.failure.kind, ERR_NONE);
    assert_string_equal(bench->text, ANSWER);
    assert_string_equal(bench->streamed.at, ANSWER);
    assert_int_equal(bench->reply.stop, MODEL_STOP_END);
}

static void assert_fails(struct bench *bench, enum err_kind kind, const char *words) {
    if (bench->reply.failure.kind != kind || !strstr(bench->reply.failure.text, words))
        print_error("kind %d: %s\n", bench->reply.failure.kind, bench->reply.failure.text);
    assert_int_equal(bench->reply.failure.kind, kind);
    assert_non_null(strstr(bench->reply.failure.text, words));
}

/* ------------------------------------------------------------------------------------- the tests */

static void answers_stream_over_every_interface(void **state) {
    static const char *const models[] = {"plain", "bytes", "returns", "slow"};
    struct bench *bench = *state;
    set_aws();
    for (size_t a = 0; a < COUNT_OF(http_apis); a++) {
        for (size_t m = 0; m < COUNT_OF(models); m++) {
            /* Frames have lengths; line ends in them are bytes like others. */
            if (!strcmp(http_apis[a], "bedrock") && !strcmp(models[m], "returns"))
                continue;
            ask(bench, http_apis[a], models[m]);
            assert_answer(bench, http_apis[a], models[m]);
            assert_int_equal(bench->reply.tries, 1);
            assert_true(bench->reply.first_s >= 0);
        }
    }
}

static void tokens_and_dollars_are_what_the_service_reports(void **state) {
    struct bench *bench = *state;
    set_aws();
    for (size_t a = 0; a < COUNT_OF(http_apis); a++) {
        ask(bench, http_apis[a], "plain");
        const struct model_usage *usage = &bench->reply.usage;
        bool writes = strcmp(http_apis[a], "openai") && strcmp(http_apis[a], "responses");
        assert_float_equal(usage->input, 25, 0);
        assert_float_equal(usage->output, 15, 0);
        assert_float_equal(usage->cache_read, 7, 0);
        assert_true(writes ? usage->cache_write == 3 : isnan(usage->cache_write));
        double dollars = (25 * 3 + 15 * 15 + 7 * 0.3 + (writes ? 3 * 3.75 : 0)) / 1e6;
        assert_float_equal(bench->reply.dollars, dollars, 1e-12);
    }
}

static void what_has_no_price_is_not_reported(void **state) {
    struct bench *bench = *state;
    char url[64];
    struct model_endpoint endpoint = endpoint_of(bench, "openai", url);
    endpoint.model = "plain";
    endpoint.price = (struct model_price){NAN, NAN, NAN, NAN};
    ask_endpoint(bench, &endpoint);
    assert_true(isnan(bench->reply.dollars));
}

static void passing_failures_are_tried_again(void **state) {
    static const char *const models[] = {"busy", "broken", "cut", "overloaded"};
    struct bench *bench = *state;
    char url[64];
    set_aws();
    for (size_t a = 0; a < COUNT_OF(http_apis); a++) {
        for (size_t m = 0; m < COUNT_OF(models); m++) {
            struct model_endpoint endpoint = endpoint_of(bench, http_apis[a], url);
            endpoint.model = models[m];
            endpoint.retry_wait_s = 0.01;
            ask_endpoint(bench, &endpoint);
            assert_answer(bench, http_apis[a], models[m]);
            assert_int_equal(bench->reply.tries, 2);
            assert_int_equal(bench->again, 1);
            assert_non_null(strstr(bench->notes.at, "try 2 of 5"));
        }
    }
}

static void final_failures_say_what_to_do(void **state) {
    static const struct {
        const char *model;
        enum err_kind kind;
        const char *words;
    } rows[] = {
        {"unauthorised", ERR_USAGE, "the key was not accepted"},
        {"long-prompt", ERR_USAGE, "prompt is too long: 300000"},
        {"moved", ERR_USAGE, "base_url"},
        {"page", ERR_USAGE, "text/html"},
        {"later", ERR_ENVIRONMENT, "come back tomorrow"},
        {"endless", ERR_ENVIRONMENT, "endless"},
    };
    struct bench *bench = *state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        ask(bench, "anthropic", rows[i].model);
        assert_fails(bench, rows[i].kind, rows[i].words);
        assert_int_equal(bench->reply.tries, 1);
        assert_null(strchr(bench->reply.failure.text, '\x1b'));
    }
}

static void malformed_streams_fail_after_some_tries(void **state) {
    struct bench *bench = *state;
    char url[64];
    set_aws();
    for (size_t a = 0; a < COUNT_OF(http_apis); a++) {
        struct model_endpoint endpoint = endpoint_of(bench, http_apis[a], url);
        endpoint.model = "malformed";
        endpoint.retries = 1;
        endpoint.retry_wait_s = 0.01;
        ask_endpoint(bench, &endpoint);
        assert_fails(bench, ERR_ENVIRONMENT, "malformed");
        assert_int_equal(bench->reply.tries, 2);
    }
}

static void a_silent_service_is_left_after_a_while(void **state) {
    static const struct {
        const char *model, *words;
    } rows[] = {{"stall", "in the middle of the answer"}, {"silent", "no answer began"}};
    struct bench *bench = *state;
    char url[64];
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct model_endpoint endpoint = endpoint_of(bench, "anthropic", url);
        endpoint.model = rows[i].model;
        endpoint.retries = -1;
        endpoint.first_limit_s = 0.3;
        endpoint.stall_limit_s = 0.2;
        ask_endpoint(bench, &endpoint);
        assert_fails(bench, ERR_ENVIRONMENT, rows[i].words);
    }
    assert_true(bench->reply.elapsed_s < 10);
}

static void a_service_that_is_not_there_is_named(void **state) {
    struct bench *bench = *state;
    struct model_endpoint endpoint = {.api = "openai", .base_url = "http://127.0.0.1:9/v1",
                                      .model = "m", .retries = -1, .proxy = "", .temperature = NAN};
    ask_endpoint(bench, &endpoint);
    assert_fails(bench, ERR_ENVIRONMENT, "127.0.0.1");
    endpoint.base_url = "http://no-such-host.invalid/v1";
    ask_endpoint(bench, &endpoint);
    assert_fails(bench, ERR_ENVIRONMENT, "no-such-host.invalid");
    endpoint.base_url = "file:///etc/passwd";
    ask_endpoint(bench, &endpoint);
    assert_fails(bench, ERR_USAGE, "http");
}

static void an_answer_that_comes_whole_is_taken(void **state) {
    struct bench *bench = *state;
    for (size_t a = 0; a < 3; a++) {
        ask(bench, http_apis[a], "whole");
        assert_answer(bench, http_apis[a], "whole");
        assert_float_equal(bench->reply.usage.output, 15, 0);
    }
}

static void ten_megabytes_are_an_answer(void **state) {
    struct bench *bench = *state;
    ask(bench, "openai", "huge");
    assert_int_equal(bench->reply.failure.kind, ERR_NONE);
    assert_int_equal(strlen(bench->text), 100u * 100 * 1024);
}

static void bytes_that_are_no_text_are_replaced(void **state) {
    struct bench *bench = *state;
    ask(bench, "openai", "bad-text");
    assert_int_equal(bench->reply.failure.kind, ERR_NONE);
    assert_string_equal(bench->text, "before \xef\xbf\xbd\xef\xbf\xbd after");
}

static void a_request_is_cancelled_in_the_middle(void **state) {
    struct bench *bench = *state;
    set_aws();
    for (size_t a = 0; a < COUNT_OF(http_apis); a++) {
        bench->cancel_after = 2;
        ask(bench, http_apis[a], "slow");
        assert_int_equal(bench->reply.failure.kind, ERR_CANCELLED);
        assert_int_equal(bench->pieces, 2);
        assert_string_equal(bench->text, "Keep w in SBUF ");
    }
}

static void a_key_comes_from_where_the_user_says(void **state) {
    struct bench *bench = *state;
    char url[64];
    struct model_endpoint endpoint = endpoint_of(bench, "anthropic", url);
    endpoint.model = "plain";
    endpoint.key = (struct model_key_source){.command = "printf sk-from-program"};
    ask_endpoint(bench, &endpoint);
    assert_answer(bench, "anthropic", "key_command");
    endpoint.key = (struct model_key_source){.command = "false"};
    ask_endpoint(bench, &endpoint);
    assert_fails(bench, ERR_USAGE, "key_command failed (exit status 1)");
    endpoint.key = (struct model_key_source){.environment = "NO_SUCH_KEY_VARIABLE"};
    ask_endpoint(bench, &endpoint);
    assert_fails(bench, ERR_USAGE, "NO_SUCH_KEY_VARIABLE");
}

static void bedrock_takes_names_with_colons_and_slashes(void **state) {
    static const char *const models[] = {
        "plain:0", "arn:aws:bedrock:us-west-2:123456789012:inference-profile/plain:0"};
    struct bench *bench = *state;
    set_aws();
    for (size_t i = 0; i < COUNT_OF(models); i++) {
        ask(bench, "bedrock", models[i]);
        assert_answer(bench, "bedrock", models[i]);
    }
    setenv("AWS_SESSION_TOKEN", "token/with+signs=", 1);
    ask(bench, "bedrock", models[0]);
    assert_answer(bench, "bedrock", "session token");
    setenv("AWS_SECRET_ACCESS_KEY", "wrong", 1);
    ask(bench, "bedrock", models[0]);
    assert_fails(bench, ERR_USAGE, "signature");
}

static void bedrock_finds_credentials(void **state) {
    struct bench *bench = *state;
    char path[] = "/tmp/hone-aws-XXXXXX", base[64];
    int fd = mkstemp(path);
    struct err err = {0};
    const char *text = "[default]\naws_access_key_id = X\n[work]\naws_access_key_id = AKIDEXAMPLE\n"
                       "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY\n";
    assert_true(fd >= 0);
    close(fd);
    assert_true(file_write(path, text, strlen(text), &err));
    set_aws();
    setenv("AWS_SHARED_CREDENTIALS_FILE", path, 1);
    setenv("AWS_PROFILE", "work", 1);
    setenv("AWS_SECRET_ACCESS_KEY", "wrong", 1);
    ask(bench, "bedrock", "plain");
    assert_answer(bench, "bedrock", "profile");
    unlink(path);
    unsetenv("AWS_PROFILE");
    unsetenv("AWS_ACCESS_KEY_ID");
    snprintf(base, sizeof base, "http://127.0.0.1:%d", bench->port);
    setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", base, 1);
    ask(bench, "bedrock", "plain");
    assert_answer(bench, "bedrock", "instance metadata");
    setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
    ask(bench, "bedrock", "plain");
    assert_fails(bench, ERR_USAGE, "no AWS credentials");
    setenv("AWS_BEARER_TOKEN_BEDROCK", "bedrock-key", 1);
    ask(bench, "bedrock", "plain");
    assert_answer(bench, "bedrock", "API key");
    unsetenv("AWS_EC2_METADATA_DISABLED");
}

static void a_command_is_a_model(void **state) {
    struct bench *bench = *state;
    const char *const says[] = {"sh", "-c", "cat; echo answer", NULL};
    const char *const fails[] = {"sh", "-c", "echo not logged in >&2; exit 3", NULL};
    const char *const missing[] = {"/no/such/agent", NULL};
    struct model_endpoint endpoint = {.api = "command", .command = says, .temperature = NAN,
                                      .retries = -1};
    ask_endpoint(bench, &endpoint);
    assert_int_equal(bench->reply.failure.kind, ERR_NONE);
    assert_string_equal(bench->text, "You know NKI.\n\nMake it \"faster\".\n\nanswer\n");
    assert_true(isnan(bench->reply.dollars) && isnan(bench->reply.usage.input));
    endpoint.command = fails;
    ask_endpoint(bench, &endpoint);
    assert_fails(bench, ERR_ENVIRONMENT, "exit status 3: not logged in");
    endpoint.command = missing;
    ask_endpoint(bench, &endpoint);
    assert_fails(bench, ERR_USAGE, "/no/such/agent");
}

static void answer_for(void *data) {
    struct bench *bench = data;
    assert_true(model_waits_for_person(bench->call));
    model_answer(bench->call, STR("by hand"));
}

static void a_person_is_a_model(void **state) {
    struct bench *bench = *state;
    struct model_endpoint endpoint = {.api = "human", .temperature = NAN};
    loop_timer_start(bench->loop, 50, 0, answer_for, bench);
    ask_endpoint(bench, &endpoint);
    assert_int_equal(bench->reply.failure.kind, ERR_NONE);
    assert_string_equal(bench->text, "by hand");
}

struct stream {
    struct bench *bench;
    size_t bytes;
    int *left;
    bool *done;
};

static void on_stream_text(void *data, struct str piece) {
    struct stream *stream = data;
    stream->bytes += piece.len;
}

static void on_stream_done(void *data, const struct model_reply *reply) {
    struct stream *stream = data;
    assert_int_equal(reply->failure.kind, ERR_NONE);
    if (--*stream->left == 0)
        *stream->done = true;
}

static void many_streams_run_at_once(void **state) {
    struct bench *bench = *state;
    struct stream streams[32];
    char url[64];
    struct err err = {0};
    int left = COUNT_OF(streams);
    bool done = false;
    struct model_endpoint endpoint = endpoint_of(bench, "openai", url);
    endpoint.model = "slow";
    struct model_message message = {MODEL_USER, STR("go"), false};
    struct model_request request = {.endpoint = &endpoint, .messages = &message, .count = 1};
    for (size_t i = 0; i < COUNT_OF(streams); i++) {
        streams[i] = (struct stream){bench, 0, &left, &done};
        struct model_callbacks callbacks = {.on_text = on_stream_text, .on_done = on_stream_done,
                                            .data = &streams[i]};
        assert_non_null(model_ask(bench->client, &request, &callbacks, &err));
    }
    assert_true(loop_run_until(bench->loop, &done, LIMIT_MS));
    for (size_t i = 0; i < COUNT_OF(streams); i++)
        assert_int_equal(streams[i].bytes, strlen(ANSWER));
}

static void a_client_is_freed_with_requests_under_way(void **state) {
    struct bench *bench = *state;
    struct model_client *client = model_client_new(bench->loop);
    char url[64];
    struct err err = {0};
    const char *const sleeps[] = {"sleep", "60", NULL};
    struct model_endpoint endpoints[3] = {endpoint_of(bench, "anthropic", url)};
    endpoints[0].model = "stall";
    endpoints[1] = (struct model_endpoint){.api = "command", .command = sleeps};
    endpoints[2] = (struct model_endpoint){.api = "human"};
    struct model_message message = {MODEL_USER, STR("go"), false};
    bool never = false;
    for (size_t i = 0; i < COUNT_OF(endpoints); i++) {
        struct model_request request = {.endpoint = &endpoints[i], .messages = &message, .count = 1};
        struct model_callbacks callbacks = {.on_done = on_done, .data = bench};
        assert_non_null(model_ask(client, &request, &callbacks, &err));
    }
    bench->done = false;
    assert_false(loop_run_until(bench->loop, &never, 300));
    model_client_free(client);
    assert_false(loop_run_until(bench->loop, &never, 50));
    assert_false(bench->done);
}

static void prices_come_from_the_table(void **state) {
    struct err err = {0};
    (void)state;
    struct model_prices *prices = model_prices_load(&err);
    assert_non_null(prices);
    assert_float_equal(model_prices_find(prices, "claude-sonnet-4-20250514").output, 15, 0);
    assert_float_equal(
        model_prices_find(prices, "us.anthropic.claude-sonnet-4-20250514-v1:0").input, 3, 0);
    assert_float_equal(model_prices_find(prices, "gpt-4o-mini-2024-07-18").input, 0.15, 0);
    assert_true(isnan(model_prices_find(prices, "my-own-model").input));
    model_prices_free(prices);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_stream_over_every_interface),
        cmocka_unit_test(tokens_and_dollars_are_what_the_service_reports),
        cmocka_unit_test(what_has_no_price_is_not_reported),
        cmocka_unit_test(passing_failures_are_tried_again),
        cmocka_unit_test(final_failures_say_what_to_do),
        cmocka_unit_test(malformed_streams_fail_after_some_tries),
        cmocka_unit_test(a_silent_service_is_left_after_a_while),
        cmocka_unit_test(a_service_that_is_not_there_is_named),
        cmocka_unit_test(an_answer_that_comes_whole_is_taken),
        cmocka_unit_test(ten_megabytes_are_an_answer),
        cmocka_unit_test(bytes_that_are_no_text_are_replaced),
        cmocka_unit_test(a_request_is_cancelled_in_the_middle),
        cmocka_unit_test(a_key_comes_from_where_the_user_says),
        cmocka_unit_test(bedrock_takes_names_with_colons_and_slashes),
        cmocka_unit_test(bedrock_finds_credentials),
        cmocka_unit_test(a_command_is_a_model),
        cmocka_unit_test(a_person_is_a_model),
        cmocka_unit_test(many_streams_run_at_once),
        cmocka_unit_test(a_client_is_freed_with_requests_under_way),
        cmocka_unit_test(prices_come_from_the_table),
    };
    return cmocka_run_group_tests(tests, start, end);
}
