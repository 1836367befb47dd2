/* SPDX-License-Identifier: Apache-2.0 */
/* Messages: what lines mean, the same here as in the runner on hosts, which reads the same corpus
 * (tests/remote/test_messages.py); and patterns that both engines take. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "runner/runner.h"
#include "runner/messages/testing.h"

static const char *or_none(struct str text) {
    static char kept[2][64];
    static int which;
    char *at = kept[which = !which];
    snprintf(at, sizeof kept[0], STR_FMT, STR_ARG(text.len ? text : STR("-")));
    return at;
}

/* "code | cause | row | line" */
static void expect_line(struct str rest) {
    struct str fields[3], line;
    char code[MESSAGE_CODE] = "";
    struct message message = {0};
    for (size_t i = 0; i < 3; i++) {
        assert_true(str_next(&rest, '|', &fields[i]));
        fields[i] = str_trim(fields[i]);
    }
    line = str_trim(rest);
    message_code(line, code);
    if (!message_by_text(line, &message))
        message.name = STR("");
    if (!str_is(fields[0], or_none(str_of(code))) || !str_is(fields[1], message_cause(code)) ||
        !str_is(fields[2], or_none(message.name)))
        fail_msg(STR_FMT ": %s, %s, %s", STR_ARG(line), or_none(str_of(code)), message_cause(code),
                 or_none(message.name));
}

static void lines_mean_what_the_corpus_says(void **state) {
    struct err err = {0};
    size_t size = 0, count = 0;
    char *text = file_read(HONE_SOURCE_DIR "/tests/runner/messages.txt", 1 << 20, &size, &err);
    struct str rest = {text, size}, line;
    (void)state;
    assert_non_null(text);
    while (str_next(&rest, '\n', &line))
        if (line.len && *line.at != '#') {
            expect_line(line);
            count++;
        }
    assert_true(count > 40);
    free(text);
}

static void both_engines_read_every_pattern(void **state) {
    const char *text;
    size_t count = 0, offset = 0;
    (void)state;
    for (; (text = message_pattern(count)); count++) {
        struct err err = {0};
        struct pattern *pattern = pattern_new(str_of(text), 0, NULL, &err);
        const char *unlike = pattern_not_python(str_of(text), &offset);
        if (!pattern || unlike || pattern_is_pythons(str_of(text)))
            fail_msg("%s: %s", text, unlike ? unlike : err.text);
        pattern_free(pattern);
    }
    assert_true(count > 30);
}

static void every_code_is_found_again(void **state) {
    struct message message, again;
    size_t count = 0;
    (void)state;
    for (; message_at(count, &message); count++) {
        char code[MESSAGE_CODE];
        snprintf(code, sizeof code, STR_FMT, STR_ARG(message.name));
        assert_true(message_by_code(code, &again));
        assert_string_equal(again.what, message.what);
        assert_true(str_equal(again.name, message.name));
        assert_true(*message.what && *message.fix);
    }
    assert_true(count > 50);
}

static void causes_follow_from_codes(void **state) {
    static const char *const rows[][2] = {
        {"NCC_EVRF007", "user"}, {"NCC_IXYZ999", "internal"},
        {"F134", "crash"},       {"F137", "memory"},
        {"70", "crash"},         {"TEN404", "internal"},
        {"NLA001", "user"},      {"hone-candidate-import", "user"},
        {"", "trace"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_string_equal(message_cause(rows[i][0]), rows[i][1]);
}

static void statuses_and_lints_are_codes_too(void **state) {
    struct message message;
    (void)state;
    assert_true(message_by_code("EVRF007", &message));
    assert_true(str_is(message.name, "NCC_EVRF007"));
    assert_true(message_by_code("NRT_EXEC_OOB", &message));
    assert_true(str_is(message.name, "NRT_EXEC_OOB"));
    assert_string_equal(message.kind, "kernel");
    assert_true(message_by_code("hone-candidate-import", &message) && message.is_own);
    assert_false(message_by_code("NCC_IXYZ999", &message));
    assert_false(message_by_code("NRT_FAILURE", &message));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_mean_what_the_corpus_says),
        cmocka_unit_test(both_engines_read_every_pattern),
        cmocka_unit_test(every_code_is_found_again),
        cmocka_unit_test(causes_follow_from_codes),
        cmocka_unit_test(statuses_and_lints_are_codes_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
