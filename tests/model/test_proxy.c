/* SPDX-License-Identifier: Apache-2.0 */
/* The way to a service: certificates that nobody signed, and proxies that refuse, ask for a login
 * or do not exist. The server of this folder is the proxy too, and knows hosts that exist nowhere
 * else. */
#include "model/secure.h"

/* One try; `proxy` NULL: the environment's. */
static void ask_at(struct secure *secure, const char *address, const char *ca_file,
                   const char *proxy) {
    struct model_endpoint endpoint = {.api = "anthropic",
                                      .base_url = address,
                                      .model = "plain",
                                      .ca_file = ca_file,
                                      .proxy = proxy,
                                      .temperature = NAN,
                                      .retry_wait_s = 0.01,
                                      .retries = 1,
                                      .connect_limit_s = 5};
    if (str_starts(str_of(address), "https:"))
        endpoint.key.environment = "TEST_KEY";
    ask_endpoint(&secure->bench, &endpoint);
}

static void an_unknown_authority_is_not_trusted(void **state) {
    struct secure *secure = *state;
    char address[64];
    need_openssl(secure);
    snprintf(address, sizeof address, "https://127.0.0.1:%d", secure->port);
    ask_at(secure, address, NULL, "");
    assert_fails(&secure->bench, ERR_USAGE, "its certificate was not accepted");
    assert_fails(&secure->bench, ERR_USAGE, "ca_file");
    assert_int_equal(secure->bench.reply.tries, 1);
    ask_at(secure, address, secure->file, "");
    assert_answer(&secure->bench, "anthropic", "ca_file");
    setenv("SSL_CERT_FILE", secure->file, 1);
    ask_at(secure, address, NULL, "");
    assert_answer(&secure->bench, "anthropic", "SSL_CERT_FILE");
    unsetenv("SSL_CERT_FILE");
    ask_at(secure, address, "/no/such/file.pem", "");
    assert_fails(&secure->bench, ERR_USAGE, "ca_file");
}

static void a_certificate_is_for_its_host_alone(void **state) {
    struct secure *secure = *state;
    char address[64];
    need_openssl(secure);
    snprintf(address, sizeof address, "https://localhost:%d", secure->port);
    ask_at(secure, address, secure->file, "");
    assert_fails(&secure->bench, ERR_USAGE, "its certificate was not accepted");
    snprintf(address, sizeof address, "https://127.0.0.1:%d", secure->bench.port);
    ask_at(secure, address, secure->file, "");
    assert_fails(&secure->bench, ERR_USAGE, "does the server speak https?");
}

static void plain_requests_go_by_a_proxy(void **state) {
    static const char *const names[] = {"http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"};
    struct secure *secure = *state;
    char proxy[64], address[64];
    snprintf(proxy, sizeof proxy, "http://127.0.0.1:%d", secure->bench.port);
    ask_at(secure, "http://models.test", NULL, proxy);
    assert_answer(&secure->bench, "anthropic", "the setting proxy");
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        setenv(names[i], proxy, 1);
        ask_at(secure, "http://models.test", NULL, NULL);
        assert_answer(&secure->bench, "anthropic", names[i]);
        setenv("NO_PROXY", "example.com,models.test", 1);
        ask_at(secure, "http://models.test", NULL, NULL);
        assert_fails(&secure->bench, ERR_ENVIRONMENT, "models.test");
        ask_at(secure, "http://models.test", NULL, proxy);
        assert_answer(&secure->bench, "anthropic", "a proxy that is named for the model");
        unsetenv("NO_PROXY");
        ask_at(secure, "http://models.test", NULL, "");
        assert_fails(&secure->bench, ERR_ENVIRONMENT, "models.test");
        unsetenv(names[i]);
    }
    /* A proxy on another machine cannot reach a server on this machine. */
    setenv("http_proxy", "http://127.0.0.1:9", 1);
    snprintf(address, sizeof address, "http://localhost:%d", secure->bench.port);
    ask_at(secure, address, NULL, NULL);
    assert_answer(&secure->bench, "anthropic", "localhost");
    unsetenv("http_proxy");
}

static void secure_requests_go_through_a_proxy(void **state) {
    struct secure *secure = *state;
    char proxy[64], address[64];
    need_openssl(secure);
    snprintf(proxy, sizeof proxy, "127.0.0.1:%d", secure->bench.port);
    snprintf(address, sizeof address, "https://models.test:%d", secure->port);
    setenv("HTTPS_PROXY", proxy, 1);
    ask_at(secure, address, secure->file, NULL);
    assert_answer(&secure->bench, "anthropic", "CONNECT");
    ask_at(secure, address, NULL, NULL);
    assert_fails(&secure->bench, ERR_USAGE, "its certificate was not accepted");
    unsetenv("HTTPS_PROXY");
}

static void a_proxy_that_fails_is_named(void **state) {
    static const struct {
        const char *host, *login;
        enum err_kind kind;
        int tries;
        const char *words;
    } rows[] = {
        {"refused.test", "", ERR_USAGE, 1, "answered 403 when asked for the connection"},
        {"login.test", "", ERR_USAGE, 1, "it requires a login"},
        {"login.test", "me:wrong-pw-4711@", ERR_USAGE, 1, "it requires a login"},
        {"login.test", "me:my%20pw-4711@", ERR_NONE, 1, ""},
        {"gateway.test", "", ERR_NONE, 2, ""},
    };
    struct secure *secure = *state;
    char proxy[64], address[64];
    need_openssl(secure);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        snprintf(proxy, sizeof proxy, "http://%s127.0.0.1:%d", rows[i].login, secure->bench.port);
        snprintf(address, sizeof address, "https://%s:%d", rows[i].host, secure->port);
        ask_at(secure, address, secure->file, proxy);
        assert_fails(&secure->bench, rows[i].kind, rows[i].words);
        assert_int_equal(secure->bench.reply.tries, rows[i].tries);
        assert_null(strstr(secure->bench.reply.failure.text, "pw-4711"));
        assert_null(secure->bench.notes.at ? strstr(secure->bench.notes.at, "pw-4711") : NULL);
    }
    ask_at(secure, "http://login.test", NULL, "http://127.0.0.1:9");
    assert_fails(&secure->bench, ERR_ENVIRONMENT, "the proxy 127.0.0.1:9 cannot be reached");
    ask_at(secure, "http://models.test", NULL, "http://me:pw-4711@no-such-proxy.invalid:80");
    assert_fails(&secure->bench, ERR_USAGE, "the proxy no-such-proxy.invalid:80 cannot be reached");
    ask_at(secure, "http://models.test", NULL, "gopher://me:pw-4711@127.0.0.1:80");
    assert_fails(&secure->bench, ERR_USAGE, "roxy");
    assert_null(strstr(secure->bench.reply.failure.text, "pw-4711"));
    ask_at(secure, "http://models.test", NULL, "http://me:pw-4711@[127.0.0.1:80");
    assert_int_not_equal(secure->bench.reply.failure.kind, ERR_NONE);
    assert_null(strstr(secure->bench.reply.failure.text, "pw-4711"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_unknown_authority_is_not_trusted),
        cmocka_unit_test(a_certificate_is_for_its_host_alone),
        cmocka_unit_test(plain_requests_go_by_a_proxy),
        cmocka_unit_test(secure_requests_go_through_a_proxy),
        cmocka_unit_test(a_proxy_that_fails_is_named),
    };
    return cmocka_run_group_tests(tests, start_secure, end_secure);
}
