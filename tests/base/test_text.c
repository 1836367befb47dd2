/* SPDX-License-Identifier: Apache-2.0 */
/* The sanitiser: whatever comes in, what goes out is valid UTF-8 without controls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <locale.h>
#include <stdlib.h>

#include "base/base.h"

static void expect_safe(struct str in, const char *out) {
    struct buf safe = {0};
    text_sanitise(&safe, in);
    assert_string_equal(safe.at ? safe.at : "", out);
    buf_free(&safe);
}

static void specials_become_visible(void **state) {
    (void)state;
    expect_safe(STR("plain text\n\tµs → 漢字"), "plain text\n\tµs → 漢字");
    expect_safe(STR("\x1b[31mred\x07"), "␛[31mred␇");
    expect_safe(STR("a\x00z"), "a␀z");
    expect_safe(STR("\x7f"), "␡");
    expect_safe(STR("\xc2\x9b"
                    "5m"),
                "<U+009B>5m");
    expect_safe(STR("if \xe2\x80\xae x"), "if <U+202E> x");
    expect_safe(STR("a\xe2\x80\x8b"
                    "b\xef\xbb\xbf"),
                "a<U+200B>b<U+FEFF>");
    expect_safe(STR("\xf3\xa0\x81\x81"), "<U+E0041>");
    expect_safe(STR("\xee\x80\x80"), "<U+E000>");
}

static void bytes_that_are_no_text_become_visible(void **state) {
    (void)state;
    expect_safe(STR("\xff\xfe"), "\\xff\\xfe");
    expect_safe(STR("\xc0\xaf"), "\\xc0\\xaf");          /* overlong */
    expect_safe(STR("\xed\xa0\x80"), "\\xed\\xa0\\x80"); /* a surrogate */
    expect_safe(STR("\xe2\x80"), "\\xe2\\x80");          /* cut short */
    expect_safe(STR("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
}

static void marks_stay_with_their_character_up_to_a_limit(void **state) {
    (void)state;
    expect_safe(STR("e\xcc\x81"), "e\xcc\x81");
    expect_safe(STR("\xcc\x81"), "<U+0301>");
    expect_safe(STR("a\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81"),
                "a\xcc\x81\xcc\x81\xcc\x81\xcc\x81<U+0301>");
    assert_int_equal(text_columns(STR("e\xcc\x81")), 1);
    assert_int_equal(text_columns(STR("漢字")), 4);
    expect_safe(STR("\xe2\x9c\x94\xef\xb8\x8f!"), "\xe2\x9c\x94!");
}

static void a_carriage_return_overwrites_the_line(void **state) {
    (void)state;
    expect_safe(STR("first\n 10%\r 20%\r100%\nlast\r\n"), "first\n100%\nlast\n");
    expect_safe(STR("kept\r"), "kept");
}

/* Random bytes, weighted towards those that start something. */
static void random_bytes_are_made_safe(void **state) {
    (void)state;
    static const unsigned char heads[] = {0x1b, 0xc2, 0xe2, 0xf3, 0xcc,
                                          0x80, 0x9b, '\r', 'a',  0xff};
    uint64_t seed = 12345;
    char bytes[64];
    for (int turn = 0; turn < 20000; turn++) {
        size_t len = (size_t)turn % sizeof bytes;
        for (size_t i = 0; i < len; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            unsigned pick = (unsigned)(seed >> 33);
            bytes[i] = (char)(pick & 1 ? heads[(pick >> 1) % sizeof heads] : pick >> 8);
        }
        struct buf safe = {0};
        text_sanitise(&safe, (struct str){bytes, len});
        struct str rest = buf_str(&safe);
        while (rest.len) {
            uint32_t code;
            size_t used = text_decode(rest, &code);
            assert_true(code != TEXT_INVALID);
            assert_true(code == '\n' || code == '\t' || !text_is_unsafe(code));
            rest.at += used;
            rest.len -= used;
        }
        buf_free(&safe);
    }
}

static void printed_json_is_utf_8_and_safe_to_show(void **state) {
    (void)state;
    struct buf out = {0};
    text_json(&out,
              STR("{\n\t\"a\": \"\xff\xfe \xc2\x9b \xe2\x80\xae \xc3\xa4 \xf3\xa0\x80\x81\"\n}"));
    assert_string_equal(out.at, "{\n\t\"a\": \"\xef\xbf\xbd\xef\xbf\xbd \\u009b \\u202e \xc3\xa4 "
                                "\\udb40\\udc01\"\n}");
    buf_free(&out);
}

int main(void) {
    setlocale(LC_ALL, "C.UTF-8");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(specials_become_visible),
        cmocka_unit_test(bytes_that_are_no_text_become_visible),
        cmocka_unit_test(marks_stay_with_their_character_up_to_a_limit),
        cmocka_unit_test(a_carriage_return_overwrites_the_line),
        cmocka_unit_test(random_bytes_are_made_safe),
        cmocka_unit_test(printed_json_is_utf_8_and_safe_to_show),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
