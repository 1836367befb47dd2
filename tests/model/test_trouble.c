/* SPDX-License-Identifier: Apache-2.0 */
/* What goes wrong on the way to a model: ends and silences at any moment, errors of every kind, and
 * requests that are cancelled at any point. */
#include "model/serve.h"

#include <arpa/inet.h>
#include <sys/socket.h>

/* One try, short limits. */
static void ask_once(struct bench *bench, const char *api, const char *model) {
    char url[64];
    struct model_endpoint endpoint = endpoint_of(bench, api, url);
    endpoint.model = model;
    endpoint.retries = -1;
    endpoint.first_limit_s = 0.4;
    endpoint.stall_limit_s = 0.3;
    ask_endpoint(bench, &endpoint);
}

/* Tries again at once. */
static void ask_often(struct bench *bench, const char *api, const char *model) {
    char url[64];
    struct model_endpoint endpoint = endpoint_of(bench, api, url);
    endpoint.model = model;
    endpoint.retry_wait_s = 0.01;
    ask_endpoint(bench, &endpoint);
}

static void a_stream_that_ends_anywhere_is_no_answer(void **state) {
    struct bench *bench = *state;
    char model[40];
    set_aws();
    for (size_t a = 0; a < COUNT_OF(http_apis); a++) {
        bool whole = false;
        for (int bytes = 0; bytes < 3000 && !whole; bytes += 37) {
            snprintf(model, sizeof model, "cut-after-%d", bytes);
            ask_once(bench, http_apis[a], model);
            whole = bench->reply.failure.kind == ERR_NONE;
            if (whole)
                assert_answer(bench, http_apis[a], model);
            else
                assert_fails(bench, ERR_ENVIRONMENT, "ended in the middle");
            assert_true(whole || bench->reply.failed == MODEL_FAILED_DISCONNECTED);
            assert_memory_equal(bench->text, ANSWER, strlen(bench->text));
        }
        assert_true(whole);
    }
}

static void what_may_pass_is_tried_again(void **state) {
    static const struct {
        const char *model, *words;
    } rows[] = {{"seconds", "not now; try 2 of 5 in 1 s"},
                {"date", "try 2 of 5 in"},
                {"past", "try 2 of 5 in 0 s"},
                {"millis", "try 2 of 5 in 1 s"},
                {"full", "529, the service is overloaded"},
                {"fails", "sorry"},
                {"reset", "the connection broke in the middle"}};
    struct bench *bench = *state;
    set_aws();
    for (size_t a = 0; a < COUNT_OF(http_apis); a++) {
        for (size_t i = 0; i < COUNT_OF(rows); i++) {
            bool slow = !strcmp(rows[i].model, "seconds") || !strcmp(rows[i].model, "date");
            if (slow && a > 0) /* what the headers say is the same for all */
                continue;
            ask_often(bench, http_apis[a], rows[i].model);
            assert_answer(bench, http_apis[a], rows[i].model);
            assert_int_equal(bench->reply.tries, 2);
            assert_non_null(strstr(bench->notes.at, rows[i].words));
            assert_true(!slow || bench->reply.elapsed_s >= 0.9);
        }
    }
}

static void what_is_wrong_with_the_request_is_said_once(void **state) {
    struct bench *bench = *state;
    set_aws();
    for (size_t a = 0; a < COUNT_OF(http_apis); a++) {
        ask_often(bench, http_apis[a], "declines");
        assert_fails(bench, ERR_USAGE, "your prompt");
        assert_int_equal(bench->reply.tries, 1);
        ask_often(bench, http_apis[a], "quota");
        assert_fails(bench, ERR_USAGE, "no credit left: You exceeded your quota");
        assert_int_equal(bench->reply.failed, MODEL_FAILED_KEY);
        assert_int_equal(bench->reply.tries, 1);
    }
}

static void broken_frames_are_found(void **state) {
    struct bench *bench = *state;
    set_aws();
    ask_once(bench, "bedrock", "wrong-sum");
    assert_fails(bench, ERR_ENVIRONMENT, "checksum");
    ask_once(bench, "bedrock", "wrong-prelude");
    assert_fails(bench, ERR_ENVIRONMENT, "not an AWS event stream");
}

static void ends_have_reasons(void **state) {
    struct bench *bench = *state;
    set_aws();
    for (size_t a = 0; a < COUNT_OF(http_apis); a++) {
        ask_once(bench, http_apis[a], "long");
        assert_int_equal(bench->reply.failure.kind, ERR_NONE);
        assert_int_equal(bench->reply.stop, MODEL_STOP_LENGTH);
        assert_int_equal(bench->reply.failed, MODEL_FAILED_TRUNCATED);
        ask_once(bench, http_apis[a], "filtered");
        assert_int_equal(bench->reply.failure.kind, ERR_NONE);
        assert_int_equal(bench->reply.stop, MODEL_STOP_REFUSED);
        assert_int_equal(bench->reply.failed, MODEL_FAILED_REFUSED);
    }
}

static void silences_have_limits(void **state) {
    struct bench *bench = *state;
    set_aws();
    for (size_t a = 0; a < COUNT_OF(http_apis); a++) {
        ask_once(bench, http_apis[a], "stall");
        assert_fails(bench, ERR_ENVIRONMENT, "the answer stopped in the middle: nothing more came");
        assert_int_equal(bench->reply.failed, MODEL_FAILED_STALL);
        ask_once(bench, http_apis[a], "silent");
        assert_fails(bench, ERR_ENVIRONMENT, "no answer began");
        ask_once(bench, http_apis[a], "pings");
        assert_fails(bench, ERR_ENVIRONMENT, "only keep-alive signals");
    }
}

/* A port that is open, where nobody reads what comes: no TLS, no answer. */
static void a_deaf_server_is_left_after_a_while(void **state) {
    struct bench *bench = *state;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    char url[64];
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(fd, 8), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    struct model_endpoint endpoint = {.api = "openai",
                                      .base_url = url,
                                      .model = "plain",
                                      .proxy = "",
                                      .temperature = NAN,
                                      .retries = -1,
                                      .connect_limit_s = 0.3,
                                      .first_limit_s = 60};
    snprintf(url, sizeof url, "https://127.0.0.1:%d/v1", ntohs(address.sin_port));
    ask_endpoint(bench, &endpoint);
    assert_fails(bench, ERR_ENVIRONMENT, "time");
    endpoint.first_limit_s = 0.6; /* nobody waited for the one above, so it comes first */
    snprintf(url, sizeof url, "http://127.0.0.1:%d/v1", ntohs(address.sin_port));
    ask_endpoint(bench, &endpoint);
    assert_fails(bench, ERR_ENVIRONMENT, "no answer began");
    close(fd);
}

/* Thinking counts as a beginning. It goes on for longer than the limit until the first word. */
static void thinking_is_no_silence(void **state) {
    struct bench *bench = *state;
    set_aws();
    for (size_t a = 0; a < COUNT_OF(http_apis); a++) {
        ask_once(bench, http_apis[a], "thinks");
        assert_answer(bench, http_apis[a], "thinks");
        assert_true(bench->reply.first_s > 0.4);
    }
}

static void servers_may_be_careless(void **state) {
    static const char *const models[] = {"open", "untyped", "null-error"};
    struct bench *bench = *state;
    for (size_t a = 0; a < COUNT_OF(http_apis); a++) {
        for (size_t m = 0; m < COUNT_OF(models); m++) {
            bool frames = !strcmp(http_apis[a], "bedrock");
            if (frames && m > 0)
                continue;
            set_aws();
            ask(bench, http_apis[a], models[m]);
            assert_answer(bench, http_apis[a], models[m]);
            assert_int_equal(bench->reply.tries, 1);
            assert_true(bench->reply.elapsed_s < 10);
        }
    }
}

static void addresses_may_end_in_a_slash(void **state) {
    static const struct {
        const char *api, *path;
    } rows[] = {{"anthropic", "/"},
                {"anthropic", "/v1"},
                {"anthropic", "/v1/"},
                {"openai", "/v1/"},
                {"responses", "/v1//"}};
    struct bench *bench = *state;
    char url[64];
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct model_endpoint endpoint = endpoint_of(bench, rows[i].api, url);
        snprintf(url, sizeof url, "http://127.0.0.1:%d%s", bench->port, rows[i].path);
        endpoint.model = "plain";
        ask_endpoint(bench, &endpoint);
        assert_answer(bench, rows[i].api, rows[i].path);
    }
}

/* What a server refuses is left out, at once and from then on. */
static void servers_may_be_older(void **state) {
    static const struct {
        const char *api;
        int tries;
    } rows[] = {{"anthropic", 2}, {"openai", 3}, {"bedrock", 2}};
    struct bench *bench = *state;
    set_aws();
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        ask_once(bench, rows[i].api, "old");
        assert_answer(bench, rows[i].api, "old");
        assert_int_equal(bench->reply.tries, rows[i].tries);
        assert_non_null(strstr(bench->notes.at, "asking again without it"));
        ask_once(bench, rows[i].api, "old");
        assert_answer(bench, rows[i].api, "old");
        assert_int_equal(bench->reply.tries, 1);
    }
}

/* ---------------------------------------------------------------------------------- cancelling */

struct cancelling {
    struct bench *bench;
    struct loop_timer *timer;
};

static void cancel_it(void *data) {
    struct cancelling *cancelling = data;
    cancelling->timer = NULL;
    model_cancel(cancelling->bench->call);
    model_cancel(cancelling->bench->call);
}

static void a_request_is_cancelled_at_any_moment(void **state) {
    static const char *const models[] = {"slow", "bytes", "busy", "silent", "malformed", "open"};
    struct bench *bench = *state;
    set_aws();
    for (size_t a = 0; a < COUNT_OF(http_apis); a++) {
        for (size_t m = 0; m < COUNT_OF(models); m++) {
            for (uint64_t ms = 0; ms < 40; ms = ms * 2 + 1) {
                struct cancelling cancelling = {bench, NULL};
                cancelling.timer = loop_timer_start(bench->loop, ms, 0, cancel_it, &cancelling);
                char url[64];
                struct model_endpoint endpoint = endpoint_of(bench, http_apis[a], url);
                endpoint.model = models[m];
                endpoint.retry_wait_s = 0.05;
                ask_endpoint(bench, &endpoint);
                loop_timer_stop(cancelling.timer);
                bool cancelled = bench->reply.failure.kind == ERR_CANCELLED;
                assert_true(cancelled || !strcmp(bench->text, ANSWER));
                assert_memory_equal(bench->text, ANSWER, strlen(bench->text));
            }
        }
    }
}

/* Cancelled by whoever hears that it is tried again, and by whoever hears that it begins again. */
static void a_request_is_cancelled_between_two_tries(void **state) {
    struct bench *bench = *state;
    const char *const fails[] = {"sh", "-c", "exit 3", NULL};
    struct model_endpoint command = {
        .api = "command", .command = fails, .temperature = NAN, .retry_wait_s = 0.01};
    bool never = false;
    set_aws();
    for (int again = 0; again < 2; again++) {
        bench->cancel_told = !again;
        bench->cancel_again = again;
        for (size_t a = 0; a < COUNT_OF(http_apis); a++) {
            ask_often(bench, http_apis[a], "malformed");
            assert_int_equal(bench->reply.failure.kind, ERR_CANCELLED);
            assert_int_equal(bench->reply.tries, 1);
            assert_false(loop_run_until(bench->loop, &never, 40));
        }
        ask_endpoint(bench, &command);
        assert_int_equal(bench->reply.failure.kind, ERR_CANCELLED);
        assert_false(loop_run_until(bench->loop, &never, 40));
    }
    bench->cancel_told = bench->cancel_again = false;
}

struct pair {
    struct model_call *calls[8];
    int left, pieces;
    bool done;
};

static void pair_text(void *data, struct str piece) {
    struct pair *pair = data;
    (void)piece;
    if (++pair->pieces == 3) /* from within libcurl: its own request, and others */
        for (size_t i = 0; i < COUNT_OF(pair->calls); i++)
            model_cancel(pair->calls[i]);
}

static void pair_done(void *data, const struct model_reply *reply) {
    struct pair *pair = data;
    assert_int_equal(reply->failure.kind, ERR_CANCELLED);
    pair->done = --pair->left == 0;
}

static void requests_cancel_each_other(void **state) {
    struct bench *bench = *state;
    struct err err = {0};
    char url[64];
    set_aws();
    for (size_t a = 0; a < COUNT_OF(http_apis); a++) {
        struct pair pair = {.left = COUNT_OF(pair.calls)};
        struct model_endpoint endpoint = endpoint_of(bench, http_apis[a], url);
        endpoint.model = "slow";
        struct model_message message = {MODEL_USER, STR("go"), false};
        struct model_request request = {.endpoint = &endpoint, .messages = &message, .count = 1};
        struct model_callbacks callbacks = {
            .on_text = pair_text, .on_done = pair_done, .data = &pair};
        for (size_t i = 0; i < COUNT_OF(pair.calls); i++)
            assert_non_null(pair.calls[i] = model_ask(bench->client, &request, &callbacks, &err));
        assert_true(loop_run_until(bench->loop, &pair.done, LIMIT_MS));
        assert_int_equal(pair.pieces, 3);
    }
}

/* Anything may be under way when a program ends. */
static void a_client_ends_whatever_runs(void **state) {
    static const char *const models[] = {"slow", "stall", "silent", "later", "bytes", "thinks"};
    struct bench *bench = *state;
    struct err err = {0};
    char url[64];
    bool never = false;
    set_aws();
    for (uint64_t ms = 1; ms < 200; ms *= 3) {
        struct model_client *client = model_client_new(bench->loop);
        for (size_t a = 0; a < COUNT_OF(http_apis); a++) {
            for (size_t m = 0; m < COUNT_OF(models); m++) {
                struct model_endpoint endpoint = endpoint_of(bench, http_apis[a], url);
                endpoint.model = models[m];
                struct model_message message = {MODEL_USER, STR("go"), false};
                struct model_request request = {
                    .endpoint = &endpoint, .messages = &message, .count = 1};
                struct model_callbacks callbacks = {.on_done = on_done, .data = bench};
                assert_non_null(model_ask(client, &request, &callbacks, &err));
            }
        }
        assert_false(loop_run_until(bench->loop, &never, ms));
        bench->done = false;
        model_client_free(client);
        assert_false(loop_run_until(bench->loop, &never, 20));
        assert_false(bench->done);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stream_that_ends_anywhere_is_no_answer),
        cmocka_unit_test(what_may_pass_is_tried_again),
        cmocka_unit_test(what_is_wrong_with_the_request_is_said_once),
        cmocka_unit_test(broken_frames_are_found),
        cmocka_unit_test(ends_have_reasons),
        cmocka_unit_test(silences_have_limits),
        cmocka_unit_test(a_deaf_server_is_left_after_a_while),
        cmocka_unit_test(thinking_is_no_silence),
        cmocka_unit_test(servers_may_be_careless),
        cmocka_unit_test(addresses_may_end_in_a_slash),
        cmocka_unit_test(servers_may_be_older),
        cmocka_unit_test(a_request_is_cancelled_at_any_moment),
        cmocka_unit_test(a_request_is_cancelled_between_two_tries),
        cmocka_unit_test(requests_cancel_each_other),
        cmocka_unit_test(a_client_ends_whatever_runs),
    };
    return cmocka_run_group_tests(tests, start, end);
}
