/* SPDX-License-Identifier: Apache-2.0 */
/* Keys: what a service sends back of them is not shown, and nothing of them stays in memory. */
#include "model/secure.h"

#include <fcntl.h>
#include <sys/mman.h>

#include "model/keys/redact.h"

static const char *key_of(const char *api) {
    return !strcmp(api, "bedrock") ? "bedrock-key" : "sk-test-4711";
}

/* Neither the key is there, nor what was cut off of it. */
static void assert_hidden(const struct bench *bench, const char *api) {
    const char *texts[] = {bench->reply.failure.text, bench->reply.model, bench->text,
                           bench->streamed.at, bench->notes.at};
    char begun[8];
    snprintf(begun, sizeof begun, "%.5s", key_of(api));
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        if (texts[i] && strstr(texts[i], begun))
            fail_msg("%s shows the key: %s", api, texts[i]);
}

static void what_comes_back_of_a_key_is_hidden(void **state) {
    static const struct {
        const char *model, *words;
    } rows[] = {{"echo", "[key] is no key, [key]!"},
                {"echo-cut", "xxx[key]"},
                {"echo-page", "<html>[key]</html>"},
                {"echo-retry", "503: <html>[key]</html>"}};
    struct bench *bench = *state;
    char url[64];
    set_aws();
    setenv("AWS_BEARER_TOKEN_BEDROCK", "bedrock-key", 1);
    for (size_t a = 0; a < COUNT_OF(http_apis); a++) {
        for (size_t i = 0; i < COUNT_OF(rows); i++) {
            struct model_endpoint endpoint = endpoint_of(bench, http_apis[a], url);
            endpoint.model = rows[i].model;
            endpoint.retries = 1;
            endpoint.retry_wait_s = 0.01;
            ask_endpoint(bench, &endpoint);
            assert_hidden(bench, http_apis[a]);
            assert_int_not_equal(bench->reply.failure.kind, ERR_NONE);
            assert_non_null(strstr(bench->reply.failure.text, rows[i].words));
        }
        ask(bench, http_apis[a], "echo-stream");
        assert_int_equal(bench->reply.failure.kind, ERR_NONE);
        assert_hidden(bench, http_apis[a]);
        assert_memory_equal(bench->text, "a [key] b ", 10);
        assert_true(str_ends(str_of(bench->text), "[key] ok"));
        assert_string_equal(bench->streamed.at, bench->text);
    }
    unsetenv("AWS_BEARER_TOKEN_BEDROCK");
}

static void streams_are_not_held_up(void **state) {
    struct redact redact = {0};
    struct buf out = {0};
    (void)state;
    redact_add(&redact, STR("sk-ant-0123456789"));
    redact_add(&redact, STR("short")); /* it would be in texts by chance */
    redact_stream(&redact, STR("Keep words"), false, &out);
    assert_string_equal(out.at, "Keep words"); /* the "s" is gone too */
    redact_stream(&redact, STR("k-an"), false, &out);
    assert_string_equal(out.at, "Keep words");
    redact_stream(&redact, STR("d short"), false, &out);
    assert_string_equal(out.at, "Keep wordsk-and short");
    redact_stream(&redact, STR(" sk-ant-0"), false, &out);
    redact_stream(&redact, STR("123456789 sk-ant-01"), true, &out);
    assert_string_equal(out.at, "Keep wordsk-and short [key] [key]");
    buf_free(&out);
    redact_forget(&redact);
}

/* ------------------------------------------------------------------------------- what is kept */

#define MASK 0x55
#define LENGTH 96 /* as long as keys are, and longer than what a register leaves on the stack */
#define CHUNK ((size_t)1 << 20)

/* Makes a key that is nowhere in this program as it is, in a file after some text. */
static void make_key(unsigned char hidden[LENGTH], const char *before, const char *path) {
    unsigned char bytes[LENGTH];
    for (size_t i = 0; i < LENGTH; i++) {
        hidden[i] = (unsigned char)(('a' + (i * 7 + 3) % 26) ^ MASK);
        bytes[i] = hidden[i] ^ MASK;
    }
    int fd = open(path, O_WRONLY | O_TRUNC | O_CREAT, 0600);
    assert_true(fd >= 0 && write(fd, before, strlen(before)) == (ssize_t)strlen(before));
    assert_int_equal(write(fd, bytes, sizeof bytes), sizeof bytes);
    explicit_bzero(bytes, sizeof bytes);
    close(fd);
}

static size_t count_in(const unsigned char *at, size_t size, const unsigned char hidden[LENGTH]) {
    size_t count = 0;
    const unsigned char *end = at + size;
    while ((at = memchr(at, hidden[0] ^ MASK, (size_t)(end - at)))) {
        size_t same = 0;
        while (same < LENGTH && at + same < end && (at[same] ^ MASK) == hidden[same])
            same++;
        count += same == LENGTH;
        at++;
    }
    return count;
}

/* How often the key is in this process's memory, freed or not. */
static size_t count_in_memory(const unsigned char hidden[LENGTH]) {
    char line[400];
    size_t count = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    int memory = open("/proc/self/mem", O_RDONLY);
    unsigned char *chunk =
        mmap(NULL, CHUNK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(maps && memory >= 0 && chunk != MAP_FAILED);
    while (fgets(line, sizeof line, maps)) {
        unsigned long long from, to;
        char rights[8];
        if (sscanf(line, "%llx-%llx %7s", &from, &to, rights) != 3 || rights[0] != 'r' ||
            rights[1] != 'w' || to - from > (1ull << 30))
            continue;
        for (; from < to; from += CHUNK - LENGTH) {
            bool own = (uintptr_t)chunk + CHUNK > from && (uintptr_t)chunk < from + CHUNK;
            ssize_t n = own ? 0 : pread(memory, chunk, MIN_OF(CHUNK, to - from), (off_t)from);
            count += n > 0 ? count_in(chunk, (size_t)n, hidden) : 0;
        }
    }
    munmap(chunk, CHUNK);
    close(memory);
    fclose(maps);
    return count;
}

static void nothing_of_a_key_stays_in_memory(void **state) {
    static const char *const models[] = {"plain", "unauthorised", "busy", "cut", "stall"};
    struct bench *bench = *state;
    unsigned char hidden[LENGTH];
    char path[] = "/tmp/hone-key-XXXXXX", command[64], url[64];
    close(mkstemp(path));
    make_key(hidden, "", path);
    snprintf(command, sizeof command, "cat %s", path);
    if (access("/proc/self/mem", R_OK) != 0) {
        print_message("skipped: this system does not show a process its memory\n");
        skip();
    }
    for (size_t a = 0; a < 3; a++) {
        for (size_t m = 0; m < COUNT_OF(models); m++) {
            struct model_endpoint endpoint = endpoint_of(bench, http_apis[a], url);
            endpoint.model = models[m];
            endpoint.key = (struct model_key_source){.command = command};
            endpoint.first_limit_s = endpoint.stall_limit_s = 0.3;
            endpoint.retry_wait_s = 0.01;
            endpoint.retries = 1;
            ask_endpoint(bench, &endpoint);
            if (count_in_memory(hidden))
                fail_msg("%s %s leaves the key in memory", http_apis[a], models[m]);
        }
    }
    set_aws();
    unsetenv("AWS_ACCESS_KEY_ID");
    setenv("AWS_SHARED_CREDENTIALS_FILE", path, 1);
    make_key(hidden, "[default]\naws_access_key_id = AKIDEXAMPLE\naws_secret_access_key = ", path);
    for (size_t m = 0; m < COUNT_OF(models); m++) {
        ask(bench, "bedrock", models[m]);
        assert_fails(bench, ERR_USAGE, "signature");
        if (count_in_memory(hidden))
            fail_msg("bedrock %s leaves the key in memory", models[m]);
    }
    unlink(path);
}

static void an_address_has_no_login(void **state) {
    struct bench *bench = *state;
    struct model_endpoint endpoint = {
        .api = "openai", .model = "m", .base_url = "http://me:pw-4711@127.0.0.1/v1"};
    struct model_message message = {MODEL_USER, STR("go"), false};
    struct model_request request = {.endpoint = &endpoint, .messages = &message, .count = 1};
    struct model_callbacks callbacks = {.on_done = on_done, .data = bench};
    struct err err = {0};
    assert_null(model_ask(bench->client, &request, &callbacks, &err));
    assert_int_equal(err.kind, ERR_USAGE);
    assert_null(strstr(err.text, "pw-4711"));
}

/* ---------------------------------------------------------------------------- where a key goes */

/* What the service at an address says about the key that came. The test server has every host's
 * name. */
static const char *key_at(struct secure *secure, struct model_endpoint *endpoint,
                          const char *host) {
    char address[200], proxy[64];
    snprintf(address, sizeof address, "https://%s:%d%s", host, secure->port,
             !strcmp(endpoint->api, "openai") || !strcmp(endpoint->api, "responses") ? "/v1" : "");
    snprintf(proxy, sizeof proxy, "http://127.0.0.1:%d", secure->bench.port);
    endpoint->base_url = address;
    endpoint->ca_file = secure->file;
    endpoint->proxy = proxy;
    endpoint->model = "says-key";
    endpoint->temperature = NAN;
    endpoint->retries = -1;
    ask_endpoint(&secure->bench, endpoint);
    if (secure->bench.reply.failure.kind != ERR_NONE)
        print_error("%s %s: %s\n", endpoint->api, host, secure->bench.reply.failure.text);
    return secure->bench.text;
}

static void set_usual_keys(void) {
    setenv("ANTHROPIC_API_KEY", "usual-4711", 1);
    setenv("OPENAI_API_KEY", "usual-4711", 1);
    set_aws();
    setenv("AWS_SESSION_TOKEN", "usual-4711", 1);
}

static void a_usual_key_goes_to_its_service_alone(void **state) {
    static const struct {
        const char *api, *host, *key;
    } rows[] = {
        {"anthropic", "api.anthropic.com", "default"},
        {"anthropic", "API.Anthropic.com", "default"},
        {"anthropic", "api.openai.com", "none"},
        {"anthropic", "models.test", "none"},
        {"anthropic", "api.anthropic.com.evil.test", "none"},
        {"anthropic", "127.0.0.1", "none"},
        {"openai", "api.openai.com", "default"},
        {"openai", "eu.api.openai.com", "default"},
        {"openai", "api.anthropic.com", "none"},
        {"openai", "x.api.openai.com.evil.test", "none"},
        {"openai", "models.test", "none"},
        {"responses", "api.openai.com", "default"},
        {"responses", "models.test", "none"},
        {"bedrock", "bedrock-runtime.us-west-2.amazonaws.com", "signed"},
        {"bedrock", "bedrock-runtime.s3.amazonaws.com", "none"},
        {"bedrock", "models.test", "none"},
        {"bedrock", "127.0.0.1", "none"},
    };
    struct secure *secure = *state;
    need_openssl(secure);
    set_usual_keys();
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct model_endpoint endpoint = {.api = rows[i].api, .region = "us-west-2"};
        assert_string_equal(key_at(secure, &endpoint, rows[i].host), rows[i].key);
    }
}

static void a_named_key_goes_where_its_section_says(void **state) {
    struct secure *secure = *state;
    need_openssl(secure);
    set_usual_keys();
    for (size_t a = 0; a < COUNT_OF(http_apis); a++) {
        struct model_endpoint endpoint = {.api = http_apis[a], .key.environment = "TEST_KEY"};
        assert_string_equal(key_at(secure, &endpoint, "models.test"), "named");
    }
    struct model_endpoint endpoint = {
        .api = "bedrock", .profile = "default", .region = "us-west-2"};
    assert_string_equal(key_at(secure, &endpoint, "models.test"), "signed");
}

/* Without TLS a key goes only to this machine, under any of its names. */
static void no_key_goes_over_plain_http(void **state) {
    static const char *const elsewhere[] = {
        "http://models.test/v1",    "http://api.anthropic.com",
        "http://api.openai.com/v1", "models.test",
        "http://127.evil.test/v1",  "http://localhost.evil.test/v1",
        "http://192.0.2.1:8000/v1"};
    struct secure *secure = *state;
    char proxy[64], address[64];
    set_usual_keys();
    snprintf(proxy, sizeof proxy, "http://127.0.0.1:%d", secure->bench.port);
    for (size_t a = 0; a < COUNT_OF(http_apis); a++) {
        bool bedrock = !strcmp(http_apis[a], "bedrock");
        struct model_endpoint endpoint = {.api = http_apis[a],
                                          .model = "says-key",
                                          .proxy = proxy,
                                          .temperature = NAN,
                                          .retries = -1,
                                          .region = "us-west-2"};
        for (size_t i = 0; i < COUNT_OF(elsewhere); i++) {
            endpoint.base_url = elsewhere[i];
            endpoint.key.environment = "TEST_KEY";
            ask_endpoint(&secure->bench, &endpoint);
            assert_fails(&secure->bench, ERR_USAGE, "over plain http");
            assert_int_equal(secure->bench.reply.failed, MODEL_FAILED_KEY);
            endpoint.key.environment = NULL;
            endpoint.profile = bedrock ? "default" : NULL;
            ask_endpoint(&secure->bench, &endpoint);
            assert_true(!bedrock || strstr(secure->bench.reply.failure.text, "over plain http"));
            assert_true(!*secure->bench.text || !strcmp(secure->bench.text, "none"));
            endpoint.profile = NULL;
        }
        endpoint.proxy = "http://192.0.2.1:3128";
        endpoint.key.environment = "TEST_KEY";
        endpoint.base_url = "http://127.0.0.1:8000/v1";
        ask_endpoint(&secure->bench, &endpoint);
        assert_fails(&secure->bench, ERR_USAGE, "over plain http");
        for (int host = 0; host < 2; host++) {
            snprintf(address, sizeof address, "http://%s:%d%s", host ? "localhost" : "127.0.0.1",
                     secure->bench.port, a == 1 || a == 2 ? "/v1" : "");
            endpoint.base_url = address;
            endpoint.proxy = "";
            ask_endpoint(&secure->bench, &endpoint);
            assert_string_equal(secure->bench.text, "named");
        }
    }
}

static void a_server_that_wants_a_key_is_told_apart(void **state) {
    struct bench *bench = *state;
    char url[64];
    set_usual_keys();
    for (size_t a = 0; a < COUNT_OF(http_apis); a++) {
        struct model_endpoint endpoint = endpoint_of(bench, http_apis[a], url);
        endpoint.model = "wants-key";
        endpoint.key.environment = endpoint.profile = NULL;
        ask_endpoint(bench, &endpoint);
        assert_fails(bench, ERR_USAGE, "it requires a key, and no key is set for this address");
        assert_int_equal(bench->reply.failed, MODEL_FAILED_KEY);
    }
}

/* Wherever an answer points, the key does not go there. */
static void a_redirect_gets_no_key(void **state) {
    struct secure *secure = *state;
    char url[64];
    for (size_t a = 0; a < COUNT_OF(http_apis); a++) {
        set_aws();
        struct model_endpoint endpoint = endpoint_of(&secure->bench, http_apis[a], url);
        endpoint.model = "moved";
        ask_endpoint(&secure->bench, &endpoint);
        assert_fails(&secure->bench, ERR_USAGE, "redirects elsewhere");
        assert_int_equal(secure->bench.reply.tries, 1);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_comes_back_of_a_key_is_hidden),
        cmocka_unit_test(streams_are_not_held_up),
        cmocka_unit_test(an_address_has_no_login),
        cmocka_unit_test(a_usual_key_goes_to_its_service_alone),
        cmocka_unit_test(a_named_key_goes_where_its_section_says),
        cmocka_unit_test(no_key_goes_over_plain_http),
        cmocka_unit_test(a_server_that_wants_a_key_is_told_apart),
        cmocka_unit_test(a_redirect_gets_no_key),
        cmocka_unit_test(nothing_of_a_key_stays_in_memory),
    };
    return cmocka_run_group_tests(tests, start_secure, end_secure);
}
