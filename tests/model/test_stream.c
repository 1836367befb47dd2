/* SPDX-License-Identifier: Apache-2.0 */
/* Streams as the services document them (tests/model/streams), cut at every byte. */
#include "model/fed.h"

#define ANSWER "Keep w in SBUF \xe2\x9c\x93 across i.\n```python\ns = '\xf0\x9f\x98\x80'\n```\n"

static const struct {
    const char *api, *file;
    struct model_usage usage;
} streams[] = {
    {"anthropic", "anthropic.sse", {25, 15, 7, 3}},
    {"openai", "openai.sse", {25, 15, 7, 3}},
    {"openai", "compatible.sse", {25, 15, NAN, NAN}},
    {"responses", "responses.sse", {25, 15, 7, 3}},
    {"bedrock", "bedrock.events", {25, 15, 7, 3}},
};

static void assert_whole(const struct fed *fed, size_t row) {
    const struct model_usage *is = &fed->call.reply.usage, *wanted = &streams[row].usage;
    if (fed->call.wrong.kind != ERR_NONE)
        fail_msg("%s: %s", streams[row].file, fed->call.wrong.text);
    assert_true(fed->call.finished);
    assert_int_equal(fed->call.reply.stop, MODEL_STOP_END);
    assert_string_equal(fed->call.text.at, ANSWER);
    assert_string_equal(fed->streamed.at, ANSWER);
    same_number(is->input, wanted->input);
    same_number(is->output, wanted->output);
    same_number(is->cache_read, wanted->cache_read);
    same_number(is->cache_write, wanted->cache_write);
}

static void streams_are_read_as_documented(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(streams); i++) {
        struct buf bytes = {0};
        struct fed fed;
        frame_read_stream(streams[i].file, &bytes);
        fed_begin(&fed, streams[i].api);
        assert_true(feed(&fed, buf_str(&bytes)));
        assert_whole(&fed, i);
        if (strcmp(streams[i].api, "bedrock") != 0)
            assert_string_equal(strchr(fed.call.reply.model, '-'), "-test-1");
        fed_end(&fed);
        buf_free(&bytes);
    }
}

static void streams_may_be_cut_at_every_byte(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(streams); i++) {
        struct buf bytes = {0};
        struct fed fed;
        frame_read_stream(streams[i].file, &bytes);
        for (size_t cut = 0; cut <= bytes.len; cut++) {
            fed_begin(&fed, streams[i].api);
            assert_true(feed(&fed, (struct str){bytes.at, cut}));
            assert_memory_equal(fed.call.text.at ? fed.call.text.at : "", ANSWER,
                                fed.call.text.len);
            assert_true(feed(&fed, (struct str){bytes.at + cut, bytes.len - cut}));
            assert_whole(&fed, i);
            fed_end(&fed);
        }
        fed_begin(&fed, streams[i].api);
        for (size_t at = 0; at < bytes.len; at++)
            assert_true(feed(&fed, (struct str){bytes.at + at, 1}));
        assert_whole(&fed, i);
        fed_end(&fed);
        buf_free(&bytes);
    }
}

/* When a byte was flipped on its way, no text is taken from a frame that is not as it was sent. */
static void a_wrong_byte_in_a_frame_is_found(void **state) {
    struct buf bytes = {0};
    (void)state;
    frame_read_stream("bedrock.events", &bytes);
    for (size_t at = 0; at < bytes.len; at++) {
        struct fed fed;
        fed_begin(&fed, "bedrock");
        fed.expects_failure = true;
        bytes.at[at] ^= 0x10;
        feed(&fed, buf_str(&bytes));
        assert_false(fed.call.wrong.kind == ERR_NONE && fed.call.finished &&
                     !strcmp(fed.call.text.at, ANSWER));
        assert_memory_equal(fed.call.text.at ? fed.call.text.at : "", ANSWER, fed.call.text.len);
        bytes.at[at] ^= 0x10;
        fed_end(&fed);
    }
    buf_free(&bytes);
}

/* The check value of this CRC, as catalogues list it. */
static void checksums_are_those_of_ethernet(void **state) {
    (void)state;
    assert_int_equal(frame_crc(STR("123456789")), 0xcbf43926u);
    assert_int_equal(frame_crc(STR("")), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_are_read_as_documented),
        cmocka_unit_test(streams_may_be_cut_at_every_byte),
        cmocka_unit_test(a_wrong_byte_in_a_frame_is_found),
        cmocka_unit_test(checksums_are_those_of_ethernet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
