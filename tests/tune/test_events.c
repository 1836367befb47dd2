/* SPDX-License-Identifier: Apache-2.0 */
/* The table of events: what is written comes back, what is odd reads as unknown, and the page of
 * events is what the table says. As each test of the loop ends, fake.h checks that whole sessions
 * come back. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tune/events/event_table.h"
#include "tune/events/testing.h"
#include "tune/state/inner.h"
#include "tune/state/json.h"

#define PAGE HONE_SOURCE_DIR "/doc/events.md"

struct bench {
    struct arena *arena;
    struct tune_event event;
    struct buf text;
};

static bool reads(struct bench *bench, const char *type, const char *json) {
    if (!bench->arena)
        bench->arena = arena_new();
    return tune_event_read(bench->arena, type, json, &bench->event);
}

static const char *written(struct bench *bench) {
    buf_clear(&bench->text);
    tune_event_write(&bench->event, bench->event.lane, &bench->text);
    return bench->text.at;
}

static void bench_end(struct bench *bench) {
    arena_free(bench->arena);
    buf_free(&bench->text);
}

static void an_example_of_every_event_comes_back(void **state) {
    (void)state;
    for (int i = 0; i < TUNE_EVENTS; i++) {
        struct buf text = {0};
        tune_event_example((enum tune_event_is)i, &text);
        if (!tune_event_is_as_written(tune_event_type((enum tune_event_is)i), text.at))
            fail_msg("%s", text.at);
        buf_free(&text);
    }
}

static void events_of_before_the_table_come_back(void **state) {
    (void)state;
    static const struct {
        const char *type, *json;
    } all[] = {
        {"resumed", "{}"},
        {"lane", "{\"lane\":3}"},
        {"lane_fan", "{\"lane\":1,\"samples\":2}"},
        {"step", "{\"step\":\"plan\"}"},
        {"step", "{\"step\":\"plan\",\"lanes\":[]}"},
        {"step", "{\"step\":\"plan\",\"lanes\":[0,2]}"},
        {"progress", "{\"step\":\"verify\",\"doing\":null,\"done\":0,\"total\":null,\"lane\":0}"},
        {"stop", "{\"text\":\"no plan: \\\"x\\\"\\n\\u001b\"}"},
        {"pause", "{\"text\":null,\"environment\":true,\"again\":true}"},
        {"spent", "{\"tokens\":null,\"dollars\":0.1}"},
        {"spent", "{\"step\":\"verify\",\"rest\":false,\"device\":1.0000000000000002e-07}"},
        {"verdict", "{\"attempt\":1,\"compiles\":\"yes\",\"compiles_why\":null,\"correct\":\"no\","
                    "\"correct_why\":\"seed 3\"}"},
        {"verdict", "{\"attempt\":1,\"faster\":\"inconclusive\",\"faster_why\":\"a\",\"ratio\":1.5,"
                    "\"low\":null,\"high\":2,\"seen\":0.02,\"confirmed\":false}"},
        {"modelled", "{\"attempt\":0,\"latency_us\":12.5,\"floor_us\":null}"},
        {"modelled", "{\"attempt\":0,\"latency_us\":12.5,\"floor_us\":1,\"metrics\":[],"
                     "\"lines\":[{\"line\":3,\"us\":1,\"share\":0.3,\"engine\":null}],"
                     "\"bounds\":[],\"bound_by\":null}"},
        {"session", "{\"function\":\"kernel\"}"},
        {"session", "{\"function\":\"kernel\",\"tolerance\":null}"},
        {"session", "{\"gates\":{\"plan\":\"auto\"},\"origins\":{\"gate\":\"--gate\"}}"},
        {"experience",
         "{\"title\":\"t\",\"summary\":\"s\",\"slow\":null,\"fast\":null,"
         "\"applies_to\":null,\"family\":\"softmax\",\"generation\":null,"
         "\"dialect\":null,\"speedup\":1.2,\"is\":\"approved\",\"source\":\"hone\","
         "\"key\":null,\"evidence\":null,\"expired\":null,\"recorded_ms\":1767276000000,"
         "\"imported\":true}"},
        {"act", "{\"action\":\"another\",\"text\":null}"},
        {"act", "{\"action\":\"budget\",\"index\":1,\"number\":null}"},
        {"act", "{\"action\":\"leave-hunk\",\"index\":0,\"text\":null}"},
        {"act", "{\"action\":\"gate\",\"step\":\"all\",\"gate\":\"auto\"}"},
    };
    for (size_t i = 0; i < COUNT_OF(all); i++)
        if (!tune_event_is_as_written(all[i].type, all[i].json))
            fail_msg("%s %s", all[i].type, all[i].json);
}

static void what_is_missing_or_odd_reads_as_not_told(void **state) {
    (void)state;
    struct bench bench = {0};
    assert_true(reads(&bench, "outage", " { } "));
    assert_null(bench.event.outage.model);
    assert_int_equal(bench.event.outage.tries, TUNE_EVENT_NO_INT);
    assert_true(isnan(bench.event.outage.wait_s));
    assert_int_equal(bench.event.lane, -1);
    assert_true(reads(&bench, "outage",
                      "{\"model\":7,\"tries\":\"x\",\"wait_s\":{\"a\":[1,{}]},"
                      "\"newer\":[[],{\"b\":null}],\"kind\":\"limit\"}"));
    assert_null(bench.event.outage.model);
    assert_true(isnan(bench.event.outage.wait_s));
    assert_string_equal(bench.event.outage.kind, "limit");
    assert_true(reads(&bench, "step_end", "{\"step\":\"dance\",\"is\":\"ok\",\"lane\":1e99}"));
    assert_int_equal(bench.event.step_end.step, TUNE_STEPS);
    assert_int_equal(bench.event.step_end.is, TUNE_IS_OK);
    assert_int_equal(bench.event.lane, -1);
    assert_true(reads(&bench, "entered", "{\"notes\":[1,\"x\",1e99,2],\"memory\":3}"));
    assert_int_equal(bench.event.entered.notes.count, 2);
    assert_int_equal(bench.event.entered.notes.at[1], 2);
    assert_false(bench.event.entered.memory.given);
    bench_end(&bench);
}

static void what_is_no_object_is_no_event(void **state) {
    (void)state;
    static const char *const wrong[] = {"",
                                        "[]",
                                        "null",
                                        "{",
                                        "{\"text\"}",
                                        "{\"text\":}",
                                        "{\"text\":\"a}",
                                        "{\"text\":\"\\x\"}",
                                        "{\"text\":\"\\ud800\"}",
                                        "{\"text\":1.2.3}",
                                        "{\"text\":\"a\" \"b\":1}"};
    struct bench bench = {0};
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        if (reads(&bench, "stop", wrong[i]))
            fail_msg("%s", wrong[i]);
    assert_false(reads(&bench, "dance", "{}"));
    bench_end(&bench);
}

static void texts_and_numbers_are_kept_exactly(void **state) {
    (void)state;
    struct bench bench = {0};
    assert_true(reads(&bench, "stop", "{\"text\":\"\\u00e4\\ud83d\\ude00\\/\\t\"}"));
    assert_string_equal(bench.event.stop.text, "\xc3\xa4\xf0\x9f\x98\x80/\t");
    bench.event.stop.text = "a\xff"
                            "b\x1f";
    assert_string_equal(written(&bench), "{\"text\":\"a\xef\xbf\xbd"
                                         "b\\u001f\"}");
    static const double numbers[] = {0, 1, -1, 0.1, 1e15, 1e21, 1.0 / 3, 5e-324, 1767276000123};
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        bench.event = *TUNE_EVENT(SAMPLE, sample, .us = numbers[i]);
        bench.event.lane = -1;
        char *text = mem_strdup(written(&bench));
        assert_true(reads(&bench, "sample", text));
        assert_true(fabs(bench.event.sample.us - numbers[i]) <= fabs(numbers[i]) * 1e-15);
        free(text);
    }
    bench_end(&bench);
}

/* Where hone itself reads a number, every bit is as strtod's. */
static void numbers_are_read_as_strtod_does(void **state) {
    (void)state;
    static const char *const odd[] = {
        "-0",
        "0.0000",
        "9007199254740993",
        "9007199254740992.5",
        "9223372036854775808",
        "9999999999999999999e27",
        "1e-27",
        "4.35",
        "0.1e1",
        "18014398509481985e1",
        "0.00084892138842869306",
        "0.00000000000000000000015155773581267531",
        "0.00000000000000000000000000000000000000000000000000000000015",
        "000000000000000000000000000000000000000000000000000000000012"};
    uint64_t random = 88172645463325252u;
    int read = 0;
    for (size_t i = 0; i < 30000; i++) {
        char text[400];
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        double value = (double)(random >> 11) * pow(10, (double)(random % 37) - 26);
        value = i % 2 ? value : -value;
        if (i % 3 == 0)
            snprintf(text, sizeof text, "%.17g", value);
        else if (i % 3 == 1)
            snprintf(text, sizeof text, "%.*e", (int)(random >> 32 & 15) + 3, value);
        else
            snprintf(text, sizeof text, "%.*f", (int)(random >> 32 & 15), value);
        if (i < COUNT_OF(odd))
            snprintf(text, sizeof text, "%s", odd[i]);
        double mine = NAN, its = strtod(text, NULL);
        if (!tune_event_number(str_of(text), &mine))
            continue;
        read++;
        if (memcmp(&mine, &its, sizeof mine) != 0)
            fail_msg("%s is %.17g, not %.17g", text, its, mine);
    }
    assert_true(read > 15000);
    double small = 0; /* as most times in seconds are: zeros in front do not count as digits */
    assert_true(tune_event_number(STR("0.0015155773581267531"), &small));
    static const char *const none[] = {"",   "-",   ".",   "1.",    ".5",
                                       "1e", "1e+", "--1", "1.2.3", "0x1"};
    for (size_t i = 0; i < COUNT_OF(none); i++) {
        double value;
        assert_false(tune_event_number(str_of(none[i]), &value));
    }
}

static void the_page_is_what_the_table_says(void **state) {
    (void)state;
    struct err err = {0};
    struct buf whole = {0};
    char *page = file_read(PAGE, 0, NULL, &err);
    const char *mark = page ? strstr(page, "## Events\n") : NULL;
    assert_non_null(mark);
    buf_add(&whole, page, (size_t)(mark - page));
    tune_events_print(&whole);
    if (getenv("HONE_REGEN"))
        assert_true(file_write(PAGE, whole.at, whole.len, &err));
    else if (strcmp(page, whole.at) != 0)
        fail_msg("doc/events.md is not what events.def says; HONE_REGEN=1 writes it anew");
    buf_free(&whole);
    free(page);
}

/* A value of any shape, small numbers and odd texts among it. */
static cJSON *any_value(uint64_t *seed, int depth) {
    static const char *const texts[] = {"", "a\"b\\c/d", "\n\t\b\f\r\x01\x1f",
                                        "gr\xc3\xbc\xc3\x9f \x7f"};
    static const double numbers[] = {0,   1,    -17,     1e15,          123456789012345, -1e16, 0.1,
                                     2.5, 1e21, 1.0 / 3, 1767276000123, 5e-324,          1e308};
    *seed = *seed * 6364136223846793005U + 1442695040888963407U;
    unsigned draw = (unsigned)(*seed >> 33);
    if (depth > 4 || draw % 8 < 5) {
        switch (draw / 8 % 4) {
        case 0: return cJSON_CreateNull();
        case 1: return cJSON_CreateBool(draw / 32 % 2);
        case 2: return cJSON_CreateString(texts[draw / 32 % COUNT_OF(texts)]);
        default: return cJSON_CreateNumber(numbers[draw / 32 % COUNT_OF(numbers)]);
        }
    }
    bool list = draw % 8 == 5;
    cJSON *value = list ? cJSON_CreateArray() : cJSON_CreateObject();
    for (unsigned i = draw / 8 % 5; i-- > 0;)
        if (list)
            cJSON_AddItemToArray(value, any_value(seed, depth + 1));
        else
            cJSON_AddItemToObject(value, texts[i % COUNT_OF(texts)], any_value(seed, depth + 1));
    return value;
}

static void json_is_printed_as_cjson_does(void **state) {
    (void)state;
    uint64_t seed = 7;
    for (int i = 0; i < 2000; i++) {
        cJSON *value = any_value(&seed, 0);
        for (int wide = 0; wide < 2; wide++) {
            struct buf mine = {0};
            char *its = wide ? cJSON_Print(value) : cJSON_PrintUnformatted(value);
            tune_json_print(value, wide, &mine);
            assert_string_equal(mine.at, its);
            buf_free(&mine);
            free(its);
        }
        cJSON_Delete(value);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_example_of_every_event_comes_back),
        cmocka_unit_test(events_of_before_the_table_come_back),
        cmocka_unit_test(what_is_missing_or_odd_reads_as_not_told),
        cmocka_unit_test(what_is_no_object_is_no_event),
        cmocka_unit_test(texts_and_numbers_are_kept_exactly),
        cmocka_unit_test(numbers_are_read_as_strtod_does),
        cmocka_unit_test(json_is_printed_as_cjson_does),
        cmocka_unit_test(the_page_is_what_the_table_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
