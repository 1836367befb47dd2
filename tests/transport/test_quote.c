/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments as one line of shell. Every shell that is installed must give back the same bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <unistd.h>

#include "transport/wire/inner.h"

#define PATIENCE_MS 60000

static const char *const shells[] = {
    "/bin/sh",      "/bin/bash",     "/usr/bin/zsh",  "/bin/zsh", "/usr/bin/fish",
    "/usr/bin/csh", "/usr/bin/tcsh", "/usr/bin/dash", "/bin/ksh", "/usr/bin/mksh",
};

/* What a shell must not touch. The first two make each word come back with a zero byte after it. */
static const char *const words[] = {
    "/usr/bin/printf",
    "%s\\0",
    "plain",
    "",
    " ",
    "two words",
    "it's",
    "'",
    "''",
    "'a'b'",
    "\"double\"",
    "back\\slash",
    "\\",
    "a\\\\b",
    "\\'",
    "$HOME",
    "${HOME}",
    "$(id)",
    "`id`",
    "a!b",
    "!",
    "!!",
    "!$",
    "line\nline",
    "\n",
    "ends\n",
    "\n\nbegins",
    "tab\there",
    "\r",
    "caf\xc3\xa9 \xe6\xb0\xb4",
    "\xff\xfe",
    "\x01\x7f",
    "*",
    "?",
    "[a-z]",
    "{a,b}",
    "~",
    "~root",
    "#no comment",
    "-n",
    "--",
    "a=b",
    "=ls",
    "a;b",
    "a&b",
    "a|b",
    "<in",
    ">out",
    "(x)",
    "%1",
    "%s%n",
    "@x",
    "^x^y",
    "a,b:c",
    "\\n",
    "\\0101",
    "%b",
    NULL,
};

struct record {
    struct buf out;
    bool done;
    struct loop_exit exit;
};

static void on_output(void *data, enum loop_stream stream, struct str text, bool whole) {
    (void)stream, (void)whole;
    buf_add(&((struct record *)data)->out, text.at, text.len);
}

static void on_exit_record(void *data, const struct loop_exit *result) {
    struct record *record = data;
    record->done = true;
    record->exit = *result;
}

static void run(const char *shell, const char *line, struct record *record) {
    struct loop *loop = loop_new();
    const char *argv[] = {shell, "-c", line, NULL};
    struct loop_child_spec spec = {.argv = argv,
                                   .out = LOOP_RAW,
                                   .err = LOOP_RAW,
                                   .on_output = on_output,
                                   .on_exit = on_exit_record,
                                   .data = record};
    struct err err = {0};
    assert_non_null(loop_child_start(loop, &spec, &err));
    assert_true(loop_run_until(loop, &record->done, PATIENCE_MS));
    loop_free(loop);
}

static void assert_same_in(const char *shell, const char *const *argv) {
    struct buf line = {0}, expected = {0};
    transport_quote(&line, argv);
    for (size_t i = 2; argv[i]; i++)
        buf_add(&expected, argv[i], strlen(argv[i]) + 1);
    struct record record = {0};
    run(shell, line.at, &record);
    if (record.out.len != expected.len ||
        (expected.len && memcmp(record.out.at, expected.at, expected.len) != 0))
        fail_msg("%s read %s as:\n%s", shell, line.at, record.out.at ? record.out.at : "");
    buf_free(&record.out);
    buf_free(&line);
    buf_free(&expected);
}

static void every_shell_reads_the_arguments_that_were_meant(void **state) {
    (void)state;
    for (size_t s = 0; s < COUNT_OF(shells); s++) {
        if (access(shells[s], X_OK) != 0)
            continue;
        assert_same_in(shells[s], words);
        for (size_t i = 2; words[i]; i++) { /* also alone, because each picks its own way */
            if (s > 1 && i % 4)
                continue;
            const char *one[] = {words[0], words[1], words[i], NULL};
            assert_same_in(shells[s], one);
        }
    }
}

static void any_bytes_come_through(void **state) {
    (void)state;
    char all[256];
    for (int i = 1; i < 256; i++)
        all[i - 1] = (char)i;
    all[255] = 0;
    const char *argv[] = {words[0], words[1], all, "next", NULL};
    for (size_t s = 0; s < COUNT_OF(shells); s++)
        if (access(shells[s], X_OK) == 0)
            assert_same_in(shells[s], argv);
}

static void plain_words_stay_readable(void **state) {
    (void)state;
    struct buf line = {0};
    transport_quote(&line, (const char *const[]){"python3", "-u", "a/b.py", "it's", NULL});
    assert_string_equal(line.at, "python3 -u a/b.py 'it'\\''s'");
    buf_free(&line);
}

/* ------------------------------------------------------------------------------------- lines */

static void note_line(void *data, struct str text, bool whole) {
    buf_add(data, text.at, text.len);
    buf_putc(data, whole ? '|' : '+');
}

static void lines_are_split_wherever_the_bytes_break(void **state) {
    (void)state;
    static const char text[] = "one\ntwo\n\nabcdefghijk\nabcdefgh\nlast";
    for (size_t step = 1; step < sizeof text; step++) {
        struct buf line = {0}, out = {0};
        for (size_t at = 0; at < sizeof text - 1; at += step) {
            struct str piece = {text + at, MIN_OF(step, sizeof text - 1 - at)};
            transport_split_lines(&line, piece, 8, note_line, &out);
        }
        assert_string_equal(line.at, "last");
        assert_string_equal(out.at, "one|two||abcdefgh+ijk|abcdefgh|");
        buf_free(&line);
        buf_free(&out);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_shell_reads_the_arguments_that_were_meant),
        cmocka_unit_test(any_bytes_come_through),
        cmocka_unit_test(plain_words_stay_readable),
        cmocka_unit_test(lines_are_split_wherever_the_bytes_break),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
