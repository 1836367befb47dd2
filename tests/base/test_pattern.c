/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns: what matches, where a pattern is wrong, and that no pattern takes long over any
 * text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "base/base.h"

static struct pattern *pattern_of(const char *text, unsigned flags) {
    struct err err = {0};
    struct pattern *pattern = pattern_new(str_of(text), flags, NULL, &err);
    if (!pattern)
        fail_msg("%s: %s", text, err.text);
    return pattern;
}

static bool matches(const char *text, unsigned flags, struct str subject) {
    struct pattern *pattern = pattern_of(text, flags);
    bool found = pattern_matches(pattern, subject);
    pattern_free(pattern);
    return found;
}

static void a_capital_letter_makes_case_count(void **state) {
    (void)state;
    assert_true(matches("dma", PATTERN_SMART_CASE, STR("a DMA queue")));
    assert_false(matches("Dma", PATTERN_SMART_CASE, STR("a DMA queue")));
    assert_true(matches("DMA", PATTERN_SMART_CASE, STR("a DMA queue")));
    assert_false(matches("dma", 0, STR("a DMA queue")));
    assert_true(matches("Dma", PATTERN_ANY_CASE, STR("a DMA queue")));
    assert_true(matches("\xc3\xa9t\xc3\xa9", PATTERN_SMART_CASE, STR("\xc3\x89T\xc3\x89")));
    assert_false(matches("\xc3\x89t\xc3\xa9", PATTERN_SMART_CASE, STR("\xc3\xa9t\xc3\xa9")));
}

static void a_capital_letter_of_an_escape_is_none(void **state) {
    (void)state;
    assert_true(matches("\\Sma", PATTERN_SMART_CASE, STR("a DMA queue")));
    assert_true(matches("\\p{Lu}ma", PATTERN_SMART_CASE, STR("a DMA queue")));
    assert_true(matches("\\x{44}ma", PATTERN_SMART_CASE, STR("a DMA queue")));
}

static void matches_are_found_one_after_another(void **state) {
    struct str text = STR("b1 b22 \xc2\xb5 b333");
    struct pattern *pattern = pattern_of("b(\\d+)", 0);
    struct pattern_span span = {0};
    size_t starts[] = {0, 3, 10}, count = 0;
    (void)state;
    assert_int_equal(pattern_groups(pattern), 1);
    for (; pattern_find(pattern, text, span.end, &span) == PATTERN_FOUND; count++)
        assert_int_equal(span.start, starts[count]);
    assert_int_equal(count, 3);
    assert_int_equal(pattern_find(pattern, text, 3, &span), PATTERN_FOUND);
    assert_true(str_is(pattern_group(pattern, text, 1), "22"));
    assert_null(pattern_group(pattern, text, 2).at);
    assert_int_equal(pattern_find(pattern, text, text.len, &span), PATTERN_NONE);
    assert_int_equal(pattern_find(pattern, text, text.len + 9, &span), PATTERN_NONE);
    assert_int_equal(pattern_find(pattern, text, 8, &span), PATTERN_FOUND); /* inside a character */
    assert_int_equal(span.start, 10);
    pattern_free(pattern);
}

static void lines_are_told_apart_where_that_is_asked(void **state) {
    (void)state;
    assert_true(matches("^two$", PATTERN_LINES, STR("one\ntwo\nthree")));
    assert_false(matches("^two$", 0, STR("one\ntwo\nthree")));
    assert_true(matches("", 0, STR("")));
    assert_true(matches("^$", 0, (struct str){0}));
}

static void a_wrong_pattern_is_told_with_its_place(void **state) {
    static const struct {
        const char *pattern, *says;
        size_t offset;
    } rows[] = {
        {"a(b", "at character 4: missing closing parenthesis", 3},
        {"\xc2\xb5\xc2\xb5[z-a]", "at character 6: range out of order in character class", 7},
        {"*x", "at character 1: quantifier does not follow a repeatable item", 0},
        {"x\\C", "at character 4: using \\C is disabled by the application", 3},
        {"ab\xff", "at character 3: UTF-8 error: illegal byte (0xfe or 0xff)", 2},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct err err = {0};
        size_t offset = 99;
        assert_null(pattern_new(str_of(rows[i].pattern), 0, &offset, &err));
        if (!str_starts(str_of(err.text), rows[i].says) || offset != rows[i].offset)
            fail_msg("%s: at %zu: %s", rows[i].pattern, offset, err.text);
        assert_int_equal(err.kind, ERR_USAGE);
    }
}

static void a_pattern_has_a_longest_length(void **state) {
    struct buf text = {0};
    struct err err = {0};
    (void)state;
    for (size_t i = 0; i < PATTERN_MAX + 1; i++)
        buf_putc(&text, 'a');
    assert_null(pattern_new(buf_str(&text), 0, NULL, &err));
    assert_non_null(strstr(err.text, "at most 4000 bytes"));
    buf_clear(&text);
    for (size_t i = 0; i < 600; i++)
        buf_putc(&text, '(');
    assert_null(pattern_new(buf_str(&text), 0, NULL, &err));
    buf_free(&text);
}

static void any_bytes_can_be_searched(void **state) {
    (void)state;
    assert_true(matches("tail", 0, STR("\xff\xfe\x80 head\xc3 tail")));
    assert_true(matches("^.\xc2\xb5$", 0, STR("x\xc2\xb5")));
    assert_false(matches("head.tail", 0, STR("head\xfftail")));
    assert_true(matches("b$", 0, STR("a\0b")));
    assert_true(matches("a\\x00b", 0, STR("a\0b")));
}

/* A line of n times a piece, with an end at which the patterns fail. */
static struct str long_line(struct buf *buf, const char *piece, size_t n, const char *end) {
    for (size_t i = 0; i < n; i++)
        buf_puts(buf, piece);
    buf_puts(buf, end);
    return buf_str(buf);
}

/* Without a limit most of them would take longer than the age of the universe. */
static void catastrophic_patterns_come_back_with_an_answer(void **state) {
    static const char *const patterns[] = {
        "(a+)+$",
        "(a|aa)+$",
        "(a*)*b\\1$",
        "^(([a-z])+.)+[A-Z]([a-z])+$",
        "(.*)(.*)(.*)x",
        "(?:a?){60}b$",
        "(x+x+)+y",
        "(?=(a+))a*b\\1$",
        "((a{1,9}){1,9}){1,9}$",
        "(a?|b)*c$",
        "(?R)?a$",
        "(?:(?:a+)(?1)?b?()?)+$",
    };
    struct buf buf = {0};
    struct str line = long_line(&buf, "a", 20000, "!");
    (void)state;
    for (size_t i = 0; i < COUNT_OF(patterns); i++) {
        struct pattern *pattern = pattern_of(patterns[i], PATTERN_ANY_CASE);
        struct pattern_span span;
        int found = pattern_find(pattern, line, 0, &span);
        assert_int_not_equal(found, PATTERN_FOUND);
        assert_int_equal(pattern_is_costly(pattern), found == PATTERN_COSTLY);
        assert_false(pattern_matches(pattern, line));
        pattern_free(pattern);
        assert_false(matches(patterns[i], PATTERN_ONCE, line));
    }
    buf_free(&buf);
}

static void a_long_text_is_searched_to_its_end(void **state) {
    struct buf buf = {0};
    struct str text = long_line(&buf, "a line of the log, as there are many\n", 100000, "the end");
    (void)state;
    assert_true(matches("the end", PATTERN_SMART_CASE, text));
    assert_true(matches("^(the|an?) end$", PATTERN_SMART_CASE | PATTERN_LINES, text));
    assert_true(matches("l\\w+ of .* many\nthe", 0, text));
    buf_free(&buf);
}

static void what_only_one_of_two_engines_knows_is_told(void **state) {
    static const struct {
        const char *pattern, *says;
        size_t offset;
    } rows[] = {
        {"\\s*Latency: ([0-9.e+-]+)", NULL, 0},
        {"(?i)a(?:b)(?=c)(?!d)(?<=e)(?<!f)(?P<n>g)(?P=n)(?#h)(?i-s:j)(k)(?(2)l|m)", NULL, 0},
        {"[](?<n>\\K]", NULL, 0},
        {"a\\\\K", NULL, 0},
        {"ab\\Kc", "does not know this escape", 2},
        {"\\x{41}", "two digits", 0},
        {"a\\z", "\\Z", 1},
        {"a(?<name>b)", "(?P<name>", 1},
        {"(?'name'b)", "(?P<name>", 0},
        {"(?|(a)|(b))", "what follows (?", 0},
        {"(a)(?R)?", "what follows (?", 3},
        {"(?-i)a", "what follows (?", 0},
        {"(*FAIL)", "no verbs", 0},
        {"x[a[:digit:]]", "by name", 3},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        size_t offset = 0;
        const char *said = pattern_not_python(str_of(rows[i].pattern), &offset);
        if (!said != !rows[i].says || (said && !strstr(said, rows[i].says)) ||
            (said && offset != rows[i].offset))
            fail_msg("%s: %s at %zu", rows[i].pattern, said ? said : "nothing", offset);
    }
    assert_true(pattern_is_pythons(STR("\\u00b5s")));
    assert_true(pattern_is_pythons(STR("x\\N{DIGIT ONE}")));
    assert_true(pattern_is_pythons(STR("(?ai:x)")));
    assert_false(pattern_is_pythons(STR("\\\\u(?i)x")));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_capital_letter_makes_case_count),
        cmocka_unit_test(a_capital_letter_of_an_escape_is_none),
        cmocka_unit_test(matches_are_found_one_after_another),
        cmocka_unit_test(lines_are_told_apart_where_that_is_asked),
        cmocka_unit_test(a_wrong_pattern_is_told_with_its_place),
        cmocka_unit_test(a_pattern_has_a_longest_length),
        cmocka_unit_test(any_bytes_can_be_searched),
        cmocka_unit_test(catastrophic_patterns_come_back_with_an_answer),
        cmocka_unit_test(a_long_text_is_searched_to_its_end),
        cmocka_unit_test(what_only_one_of_two_engines_knows_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
