/* SPDX-License-Identifier: Apache-2.0 */
/* Every interface against a server of our own: what comes, what goes wrong, what it costs. */
#include "model/serve.h"

#include <sys/stat.h>

/* ----------------------------------------------------------------------------------- the tests */

static void answers_stream_over_every_interface(void **state) {
    static const char *const models[] = {"plain", "bytes", "returns", "slow"};
    struct bench *bench = *state;
    set_aws();
    for (size_t a = 0; a < COUNT_OF(http_apis); a++) {
        for (size_t m = 0; m < COUNT_OF(models); m++) {
            /* Frames have lengths. Line ends in them are ordinary bytes. */
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
    endpoint.price = (struct model_price){NAN, NAN, NAN, NAN, 0};
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
        {"later", ERR_ENVIRONMENT, "come back tomorrow (not before 1440 min from now)"},
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
    } rows[] = {{"stall", "stopped in the middle"}, {"silent", "no answer began"}};
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
    struct model_endpoint endpoint = {.api = "openai",
                                      .base_url = "http://127.0.0.1:9/v1",
                                      .model = "m",
                                      .retries = -1,
                                      .proxy = "",
                                      .temperature = NAN};
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
    set_aws();
    for (size_t a = 0; a < COUNT_OF(http_apis); a++) {
        ask(bench, http_apis[a], "huge");
        assert_int_equal(bench->reply.failure.kind, ERR_NONE);
        assert_int_equal(strlen(bench->text), 100u * 100 * 1024);
        ask(bench, http_apis[a], "giant");
        assert_int_equal(bench->reply.failure.kind, ERR_NONE);
        assert_int_equal(strlen(bench->text), 10u << 20);
    }
}

static void bytes_that_are_no_text_are_replaced(void **state) {
    struct bench *bench = *state;
    for (size_t a = 0; a < 3; a++) { /* a frame's checksum would be wrong */
        ask(bench, http_apis[a], "bad-text");
        assert_int_equal(bench->reply.failure.kind, ERR_NONE);
        assert_string_equal(bench->text, "before \xef\xbf\xbd\xef\xbf\xbd after");
    }
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

/* The keyring's program, as it is called. Here it is a script that knows one entry. */
static void a_key_comes_from_the_keyring(void **state) {
#ifndef __APPLE__
    static const char script[] = "#!/bin/sh\n[ \"$*\" = 'lookup service hone account me' ] && "
                                 "exec echo sk-from-keyring\nexit 1\n";
    struct bench *bench = *state;
    struct err err = {0};
    char folder[] = "/tmp/hone-keyring-XXXXXX", path[64], search[4096], url[64];
    const char *before = getenv("PATH");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/secret-tool", folder);
    assert_true(file_write(path, script, sizeof script - 1, &err));
    assert_int_equal(chmod(path, 0700), 0);
    char *old = mem_strdup(before ? before : "/usr/bin:/bin");
    snprintf(search, sizeof search, "%s:%s", folder, old);
    setenv("PATH", search, 1);
    struct model_endpoint endpoint = endpoint_of(bench, "openai", url);
    endpoint.model = "plain";
    endpoint.key = (struct model_key_source){.keyring = "hone me"};
    ask_endpoint(bench, &endpoint);
    assert_answer(bench, "openai", "key_keyring");
    endpoint.key.keyring = "hone somebody";
    ask_endpoint(bench, &endpoint);
    assert_fails(bench, ERR_USAGE, "the keyring failed (exit status 1)");
    setenv("PATH", old, 1);
    free(old);
    unlink(path);
    rmdir(folder);
#else
    (void)state;
#endif
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
    char path[] = "/tmp/hone-aws-XXXXXX", base[64], url[64];
    int fd = mkstemp(path);
    struct err err = {0};
    const char *text = "[default]\naws_access_key_id = X\n[work]\naws_access_key_id = AKIDEXAMPLE\n"
                       "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY\n";
    assert_true(fd >= 0);
    close(fd);
    assert_true(file_write(path, text, strlen(text), &err));
    set_aws();
    setenv("AWS_SHARED_CREDENTIALS_FILE", path, 1);
    setenv("AWS_SECRET_ACCESS_KEY", "wrong", 1);
    struct model_endpoint endpoint = endpoint_of(bench, "bedrock", url);
    endpoint.model = "plain";
    endpoint.profile = "work";
    ask_endpoint(bench, &endpoint);
    assert_answer(bench, "bedrock", "profile");
    unlink(path);
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
    struct model_endpoint endpoint = {
        .api = "command", .command = says, .temperature = NAN, .retries = -1};
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

/* An agent gets the key that its section names, and no other. */
static void a_command_sees_what_its_section_names(void **state) {
    struct bench *bench = *state;
    const char *const says[] = {"sh", "-c", "env | sed s/^/=/", NULL};
    const char *const names[] = {"AGENT_KEY", NULL};
    struct model_endpoint endpoint = {
        .api = "command", .command = says, .temperature = NAN, .retries = -1};
    setenv("AGENT_KEY", "sk-agent", 1);
    ask_endpoint(bench, &endpoint);
    assert_null(strstr(bench->text, "AGENT_KEY"));
    assert_null(strstr(bench->text, "TEST_KEY"));
    assert_non_null(strstr(bench->text, "=PATH="));
    endpoint.env = names;
    ask_endpoint(bench, &endpoint);
    assert_non_null(strstr(bench->text, "=AGENT_KEY=sk-agent"));
    assert_null(strstr(bench->text, "TEST_KEY"));
    unsetenv("AGENT_KEY");
}

static void answer_for(void *data) {
    struct bench *bench = data;
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
        struct model_callbacks callbacks = {
            .on_text = on_stream_text, .on_done = on_stream_done, .data = &streams[i]};
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
        struct model_request request = {
            .endpoint = &endpoints[i], .messages = &message, .count = 1};
        struct model_callbacks callbacks = {.on_done = on_done, .data = bench};
        assert_non_null(model_ask(client, &request, &callbacks, &err));
    }
    bench->done = false;
    assert_false(loop_run_until(bench->loop, &never, 300));
    model_client_free(client);
    assert_false(loop_run_until(bench->loop, &never, 50));
    assert_false(bench->done);
}

static void prices_are_of_this_model_and_no_other(void **state) {
    static const struct {
        const char *model;
        double output;
    } rows[] = {{"claude-sonnet-4-20250514", 15},
                {"us.anthropic.claude-sonnet-4-20250514-v1:0", 15},
                {"anthropic/claude-haiku-5-5", 0.5},
                {"claude-opus-4-1@20250805", 75},
                {"global.anthropic.claude-opus-4-8", 25},
                {"claude-3-5-haiku-latest", 4},
                {"gpt-4o-mini-2024-07-18", 0.6},
                {"openai/gpt-5", 10},
                {"gpt-5.5-2026-04-23", 30},
                {"gpt-5.5-pro", NAN},
                {"gpt-5-codex", NAN},
                {"claude-opus-4-9", NAN},
                {"claude-opus-45", NAN},
                {"not-claude-opus-5", NAN},
                {"my-own-model", NAN}};
    struct err err = {0};
    (void)state;
    struct model_prices *prices = model_prices_load(&err);
    assert_non_null(prices);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        double output = model_prices_find(prices, rows[i].model).output;
        if (!(output == rows[i].output || (isnan(output) && isnan(rows[i].output))))
            fail_msg("%s: %g", rows[i].model, output);
    }
    model_prices_free(prices);
}

static void prices_are_the_users_first(void **state) {
    static const char text[] =
        "[claude-sonnet-4-5]\noutput = 12\n[mine]\ninput = 1\nup_to = 1000\n";
    struct err err = {0};
    char folder[] = "/tmp/hone-prices-XXXXXX", path[80];
    (void)state;
    assert_non_null(mkdtemp(folder));
    setenv("XDG_CONFIG_HOME", folder, 1);
    snprintf(path, sizeof path, "%s/hone", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/hone/prices.ini", folder);
    assert_true(file_write(path, text, sizeof text - 1, &err));
    struct model_prices *prices = model_prices_load(&err);
    assert_non_null(prices);
    struct model_price price = model_prices_find(prices, "claude-sonnet-4-5-20250929");
    assert_true(price.input == 3 && price.output == 12 && price.up_to == 0);
    price = model_prices_find(prices, "mine");
    assert_true(price.input == 1 && isnan(price.output) && price.up_to == 1000);
    model_prices_free(prices);
    assert_true(file_write(path, "[x]\nwater = 1\n", 14, &err));
    assert_null(model_prices_load(&err));
    assert_non_null(strstr(err.text, "allowed are input"));
    unlink(path);
    *strrchr(path, '/') = 0;
    rmdir(path);
    rmdir(folder);
    unsetenv("XDG_CONFIG_HOME");
}

static void what_is_cached_counts(void **state) {
    struct model_price price = {2, 10, 0.2, 2.5, 1000};
    struct model_usage usage = {100, 50, 300, 600};
    (void)state;
    assert_float_equal(model_price_of(&price, &usage),
                       (100 * 2 + 50 * 10 + 300 * 0.2 + 600 * 2.5) / 1e6, 1e-12);
    usage.input = 101; /* longer prompts cost something else */
    assert_true(isnan(model_price_of(&price, &usage)));
    price.up_to = 0;
    assert_false(isnan(model_price_of(&price, &usage)));
    price.cache_read = NAN;
    assert_true(isnan(model_price_of(&price, &usage)));
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
        cmocka_unit_test(a_key_comes_from_the_keyring),
        cmocka_unit_test(bedrock_takes_names_with_colons_and_slashes),
        cmocka_unit_test(bedrock_finds_credentials),
        cmocka_unit_test(a_command_is_a_model),
        cmocka_unit_test(a_command_sees_what_its_section_names),
        cmocka_unit_test(a_person_is_a_model),
        cmocka_unit_test(many_streams_run_at_once),
        cmocka_unit_test(a_client_is_freed_with_requests_under_way),
        cmocka_unit_test(prices_are_of_this_model_and_no_other),
        cmocka_unit_test(prices_are_the_users_first),
        cmocka_unit_test(what_is_cached_counts),
    };
    return cmocka_run_group_tests(tests, start, end);
}
