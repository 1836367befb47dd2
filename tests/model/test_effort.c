/* SPDX-License-Identifier: Apache-2.0 */
/* How much a model should think, as each interface is told, and what is left out where it is
 * refused. The server answers with the "TYPE:BUDGET,EFFORT,NOVA'S EFFORT,MAX_TOKENS,TEMPERATURE"
 * that it takes. */
#include "model/serve.h"

static const struct {
    const char *api, *model;
    enum model_effort effort;
    int thinking_tokens;
    const char *said;
    int tries; /* of the first question; the second has one try */
} rows[] = {
    {"anthropic", "asked", MODEL_EFFORT_UNSET, 0, ":,,,10000,0.5", 1},
    {"anthropic", "asked", MODEL_EFFORT_OFF, 0, "disabled:,,,10000,0.5", 1},
    {"anthropic", "asked", MODEL_EFFORT_HIGH, 0, "adaptive:,high,,10000,", 1},
    {"anthropic", "asked-max", MODEL_EFFORT_MAX, 0, "adaptive:,high,,10000,", 2},
    {"anthropic", "asked-adaptive", MODEL_EFFORT_LOW, 0, "enabled:2048,,,10000,", 2},
    {"anthropic", "asked-adaptive", MODEL_EFFORT_MEDIUM, 0, "enabled:7500,,,10000,", 2},
    {"anthropic", "asked", MODEL_EFFORT_UNSET, 3000, "enabled:3000,,,10000,", 1},
    {"anthropic", "asked-budget", MODEL_EFFORT_UNSET, 3000, "adaptive:,,,10000,", 2},
    {"anthropic", "asked-budget", MODEL_EFFORT_LOW, 3000, "adaptive:,low,,10000,", 1},
    {"anthropic", "asked-budget", MODEL_EFFORT_OFF, 3000, "adaptive:,low,,10000,", 2},
    {"anthropic", "asked-any", MODEL_EFFORT_MAX, 0, ":,,,10000,0.5", 4},
    {"anthropic", "asked-warm", MODEL_EFFORT_UNSET, 0, ":,,,10000,", 2},
    {"anthropic", "asked-much", MODEL_EFFORT_UNSET, 0, ":,,,9000,0.5", 2},
    {"openai", "asked", MODEL_EFFORT_UNSET, 0, ":,,,10000,0.5", 1},
    {"openai", "asked", MODEL_EFFORT_OFF, 0, ":,none,,10000,0.5", 1},
    {"openai", "asked", MODEL_EFFORT_MAX, 0, ":,xhigh,,10000,0.5", 1},
    {"openai", "asked", MODEL_EFFORT_MEDIUM, 5000, ":,medium,,10000,0.5", 1},
    {"openai", "asked-word", MODEL_EFFORT_OFF, 0, ":,minimal,,10000,0.5", 2},
    {"openai", "asked-word", MODEL_EFFORT_MAX, 0, ":,high,,10000,0.5", 2},
    {"openai", "asked-any", MODEL_EFFORT_OFF, 0, ":,,,10000,0.5", 4},
    {"openai", "asked-warm-any", MODEL_EFFORT_LOW, 0, ":,,,10000,", 3},
    {"openai", "asked-much", MODEL_EFFORT_UNSET, 0, ":,,,9000,0.5", 2},
    {"responses", "asked", MODEL_EFFORT_HIGH, 0, ":,high,,10000,0.5", 1},
    {"responses", "asked-word", MODEL_EFFORT_MAX, 0, ":,high,,10000,0.5", 2},
    {"bedrock", "us.anthropic.claude-x/asked", MODEL_EFFORT_HIGH, 0, "adaptive:,high,,10000,", 1},
    {"bedrock", "anthropic.claude-x/asked-adaptive", MODEL_EFFORT_HIGH, 0, "enabled:7500,,,10000,",
     2},
    {"bedrock", "amazon.nova-2-lite/asked", MODEL_EFFORT_LOW, 0, ":,,low,10000,0.5", 1},
    {"bedrock", "amazon.nova-2-lite/asked", MODEL_EFFORT_MAX, 0, ":,,high,,", 1},
    {"bedrock", "amazon.nova-2-lite/asked-any", MODEL_EFFORT_LOW, 0, ":,,,10000,0.5", 2},
    {"bedrock", "openai.gpt-oss-120b/asked", MODEL_EFFORT_MAX, 0, ":,high,,10000,0.5", 1},
    {"bedrock", "meta.llama/asked", MODEL_EFFORT_HIGH, 0, ":,,,10000,0.5", 1},
};

static struct model_endpoint endpoint_at(struct bench *bench, size_t i, char url[64]) {
    struct model_endpoint endpoint = endpoint_of(bench, rows[i].api, url);
    endpoint.model = rows[i].model;
    endpoint.effort = rows[i].effort;
    endpoint.thinking_tokens = rows[i].thinking_tokens;
    endpoint.max_tokens = 10000;
    endpoint.temperature = 0.5;
    endpoint.retries = -1;
    return endpoint;
}

static void each_interface_is_told_its_way(void **state) {
    struct bench *bench = *state;
    char url[64];
    set_aws();
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct model_endpoint endpoint = endpoint_at(bench, i, url);
        for (int again = 0; again < 2; again++) {
            ask_endpoint(bench, &endpoint);
            if (bench->reply.failure.kind != ERR_NONE || strcmp(bench->text, rows[i].said) != 0)
                fail_msg("row %zu, %s: %s %s", i, rows[i].model, bench->text,
                         bench->reply.failure.text);
            assert_int_equal(bench->reply.tries, again ? 1 : rows[i].tries);
        }
    }
}

static void on_second(void *data, const struct model_reply *reply) {
    struct bench *second = data;
    second->reply.tries = reply->tries;
    second->reply.failed = reply->failed;
    second->done = true;
}

/* Two at once: the second is asked again with what the first found out. */
static void questions_at_once_learn_from_each_other(void **state) {
    struct bench *bench = *state;
    char url[64];
    struct model_endpoint endpoint = endpoint_of(bench, "anthropic", url);
    endpoint.model = "asked-any-warm-much";
    endpoint.effort = MODEL_EFFORT_HIGH;
    endpoint.temperature = 0.5;
    endpoint.retries = -1;
    struct bench second = {0};
    struct err err = {0};
    struct model_message message = {MODEL_USER, STR("go"), false};
    struct model_request request = {.endpoint = &endpoint, .messages = &message, .count = 1};
    struct model_callbacks callbacks = {.on_done = on_second, .data = &second};
    assert_non_null(model_ask(bench->client, &request, &callbacks, &err));
    ask_endpoint(bench, &endpoint);
    assert_true(loop_run_until(bench->loop, &second.done, LIMIT_MS));
    assert_int_equal(bench->reply.failed, MODEL_FAILED_NOT);
    assert_int_equal(second.reply.failed, MODEL_FAILED_NOT);
    assert_string_equal(bench->text, ":,,,9000,");
    assert_int_equal(bench->reply.max_tokens, 9000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_interface_is_told_its_way),
        cmocka_unit_test(questions_at_once_learn_from_each_other),
    };
    return cmocka_run_group_tests(tests, start, end);
}
