/* SPDX-License-Identifier: Apache-2.0 */
/* Answers that are none: cut off, used up by thinking, declined; and counts that cannot be true. */
#include "model/fed.h"

static const struct {
    const char *api, *file;
    enum model_failed failed;
    bool thought;
    double thinking;
    struct model_usage usage;
    const char *words; /* in the reason */
} rows[] = {
    {"anthropic",
     "anthropic-thinking.sse",
     MODEL_FAILED_TRUNCATED,
     true,
     NAN,
     {25, 4096, 7, 3},
     "thinking used up max_tokens (4096)"},
    {"anthropic",
     "anthropic-hidden.sse",
     MODEL_FAILED_TRUNCATED,
     true,
     NAN,
     {25, 4096, 7, 3},
     "thinking used up max_tokens (4096)"},
    {"anthropic",
     "anthropic-cut.sse",
     MODEL_FAILED_TRUNCATED,
     false,
     NAN,
     {25, 4096, 7, 3},
     "cut at max_tokens (4096)"},
    {"anthropic",
     "anthropic-context.sse",
     MODEL_FAILED_TRUNCATED,
     false,
     NAN,
     {25, 90, 7, 3},
     "filled the model's context"},
    {"anthropic",
     "anthropic-refusal.sse",
     MODEL_FAILED_REFUSED,
     false,
     NAN,
     {25, 4, 7, 3},
     "declined to answer: It reads like an attack."},
    {"anthropic", "anthropic-absurd.sse", MODEL_FAILED_NOT, false, NAN, {NAN, NAN, 7, NAN}, ""},
    {"openai",
     "openai-thinking.sse",
     MODEL_FAILED_TRUNCATED,
     false,
     4096,
     {28, 4096, 7, NAN},
     "thinking used up max_tokens (4096)"},
    {"openai",
     "compatible-thinking.sse",
     MODEL_FAILED_TRUNCATED,
     true,
     NAN,
     {25, 4096, NAN, NAN},
     "thinking used up max_tokens (4096)"},
    {"openai",
     "openai-cut.sse",
     MODEL_FAILED_TRUNCATED,
     false,
     4000,
     {28, 4096, 7, NAN},
     "cut at max_tokens (4096); 4000 of them were thinking"},
    {"openai",
     "openai-refusal.sse",
     MODEL_FAILED_REFUSED,
     false,
     NAN,
     {35, 8, NAN, NAN},
     "declined to answer: I cannot help with that."},
    {"openai",
     "openai-filter.sse",
     MODEL_FAILED_REFUSED,
     false,
     NAN,
     {35, 8, NAN, NAN},
     "declined to answer"},
    {"openai", "openai-absurd.sse", MODEL_FAILED_NOT, false, NAN, {10, NAN, NAN, NAN}, ""},
    {"responses",
     "responses-thinking.sse",
     MODEL_FAILED_TRUNCATED,
     true,
     4096,
     {28, 4096, 7, NAN},
     "thinking used up max_tokens (4096)"},
    {"responses",
     "responses-refusal.sse",
     MODEL_FAILED_REFUSED,
     false,
     0,
     {28, 8, 7, NAN},
     "declined to answer: I cannot help with that."},
    {"responses", "responses-absurd.sse", MODEL_FAILED_NOT, false, NAN, {NAN, 15, 7, NAN}, ""},
    {"bedrock",
     "bedrock-thinking.events",
     MODEL_FAILED_TRUNCATED,
     true,
     NAN,
     {25, 4096, NAN, NAN},
     "thinking used up max_tokens (4096)"},
    {"bedrock",
     "bedrock-guardrail.events",
     MODEL_FAILED_REFUSED,
     false,
     NAN,
     {25, 4, NAN, NAN},
     "declined to answer"},
    {"bedrock", "bedrock-absurd.events", MODEL_FAILED_NOT, false, NAN, {NAN, NAN, NAN, NAN}, ""},
};

static void assert_row(struct fed *fed, size_t i) {
    const struct model_reply *reply = &fed->call.reply;
    model_call_end_declined(&fed->call);
    model_call_conclude(&fed->call);
    if (reply->failed != rows[i].failed || !strstr(reply->reason, rows[i].words))
        fail_msg("%s: %s: %s", rows[i].file, model_failed_word(reply->failed), reply->reason);
    assert_int_equal(fed->call.wrong.kind, ERR_NONE);
    assert_int_equal(reply->thought, rows[i].thought);
    same_number(reply->thinking, rows[i].thinking);
    same_number(reply->usage.input, rows[i].usage.input);
    same_number(reply->usage.output, rows[i].usage.output);
    same_number(reply->usage.cache_read, rows[i].usage.cache_read);
    same_number(reply->usage.cache_write, rows[i].usage.cache_write);
}

static void answers_that_are_none_say_why(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct buf bytes = {0};
        frame_read_stream(rows[i].file, &bytes);
        for (size_t cut = 0; cut <= bytes.len; cut += cut % 2 ? 5 : 8) {
            struct fed fed;
            fed_begin(&fed, rows[i].api);
            assert_true(feed(&fed, (struct str){bytes.at, cut}));
            assert_true(feed(&fed, (struct str){bytes.at + cut, bytes.len - cut}));
            assert_row(&fed, i);
            fed_end(&fed);
        }
        buf_free(&bytes);
    }
}

static void whole_answers_say_why(void **state) {
    static const struct {
        const char *api, *text;
        enum model_failed failed;
        const char *words;
    } wholes[] = {
        {"openai",
         "{\"choices\": [{\"message\": {\"content\": null, \"refusal\": \"I cannot.\"}, "
         "\"finish_reason\": \"stop\"}]}",
         MODEL_FAILED_REFUSED, ": I cannot."},
        {"openai",
         "{\"choices\": [{\"message\": {\"content\": \"\", \"reasoning\": \"hm\"}, "
         "\"finish_reason\": \"length\"}]}",
         MODEL_FAILED_TRUNCATED, "thinking used up"},
        {"responses",
         "{\"status\": \"completed\", \"output\": [{\"type\": \"message\", \"content\": "
         "[{\"type\": \"refusal\", \"refusal\": \"I cannot.\"}]}]}",
         MODEL_FAILED_REFUSED, ": I cannot."},
        {"responses",
         "{\"status\": \"incomplete\", \"incomplete_details\": {\"reason\": "
         "\"content_filter\"}, \"output\": []}",
         MODEL_FAILED_REFUSED, "declined"},
        {"responses", "{\"status\": \"incomplete\", \"output\": [{\"type\": \"reasoning\"}]}",
         MODEL_FAILED_TRUNCATED, "thinking used up"},
        {"anthropic",
         "{\"content\": [{\"type\": \"thinking\", \"thinking\": \"hm\"}], "
         "\"stop_reason\": \"max_tokens\"}",
         MODEL_FAILED_TRUNCATED, "thinking used up"},
        {"anthropic",
         "{\"content\": [], \"stop_reason\": \"refusal\", \"stop_details\": "
         "{\"category\": \"bio\"}}",
         MODEL_FAILED_REFUSED, ": bio"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(wholes); i++) {
        struct fed fed;
        cJSON *object = cJSON_Parse(wholes[i].text);
        fed_begin(&fed, wholes[i].api);
        assert_non_null(object);
        assert_true(fed.call.api->whole(&fed.call, object));
        model_call_end_declined(&fed.call);
        model_call_conclude(&fed.call);
        if (fed.call.reply.failed != wholes[i].failed ||
            !strstr(fed.call.reply.reason, wholes[i].words))
            fail_msg("%s: %s", wholes[i].text, fed.call.reply.reason);
        fed_end(&fed);
        cJSON_Delete(object);
    }
}

/* The question is never repeated unchanged: first with more tokens, as long as there are more, then
 * with less thinking. */
static void the_next_question_is_another(void **state) {
    static const char *const steps[] = {"max_tokens 32768", "max_tokens 50000", "effort medium",
                                        "effort low", "effort off"};
    struct model_endpoint endpoint = {.effort = MODEL_EFFORT_HIGH};
    struct model_reply reply = {.stop = MODEL_STOP_LENGTH, .thought = true, .thinking = NAN};
    struct buf what = {0};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(steps); i++) {
        buf_clear(&what);
        assert_true(model_endpoint_relax(&endpoint, &reply, 50000, &what));
        assert_string_equal(what.at, steps[i]);
    }
    assert_false(model_endpoint_relax(&endpoint, &reply, 50000, NULL));
    buf_free(&what);
    endpoint = (struct model_endpoint){.max_tokens = 4000, .thinking_tokens = 3000};
    reply.stop = MODEL_STOP_CONTEXT; /* more tokens do not help */
    assert_true(model_endpoint_relax(&endpoint, &reply, 0, NULL));
    assert_int_equal(endpoint.max_tokens, 4000);
    assert_int_equal(endpoint.thinking_tokens, 1500);
    assert_true(model_endpoint_relax(&endpoint, &reply, 0, NULL));
    assert_int_equal(endpoint.effort, MODEL_EFFORT_OFF);
    assert_false(model_endpoint_relax(&endpoint, &reply, 0, NULL));
    endpoint = (struct model_endpoint){0};
    reply = (struct model_reply){.stop = MODEL_STOP_LENGTH, .max_tokens = 8192, .thinking = NAN};
    assert_false(model_endpoint_relax(&endpoint, &reply, 0, NULL)); /* it was given less */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_that_are_none_say_why),
        cmocka_unit_test(whole_answers_say_why),
        cmocka_unit_test(the_next_question_is_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
