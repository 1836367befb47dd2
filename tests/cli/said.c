/* SPDX-License-Identifier: Apache-2.0 */
/* What commands print for people: nothing that a name or a text of others has acts on the
 * terminal, nor makes a line of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "cli/kit/say.h"

static void assert_said(char *said, const char *expected) {
    if (strcmp(said, expected) != 0)
        fail_msg("%s", said);
    free(said);
}

#define SAY(expected, ...)                       \
    do {                                         \
        char *said = NULL;                       \
        size_t size = 0;                         \
        FILE *to = open_memstream(&said, &size); \
        assert_non_null(to);                     \
        cli_say(to, __VA_ARGS__);                \
        fclose(to);                              \
        assert_said(said, expected);             \
    } while (0)

static void line_ends_of_the_format_are_kept(void **unused) {
    (void)unused;
    SAY("a\n  b 3\n", "%s\n  b %d\n", "a", 3);
    SAY("", "%s", "");
}

static void what_arguments_bring_is_visible(void **unused) {
    (void)unused;
    SAY("^[[2Jx is whole\n", "%s is whole\n", "\x1b[2Jx");
    SAY("a^Jb^Ic^M\n", "%s\n", "a\nb\tc\r");
    SAY("^^^]^J\n", "%s\n", "\x1e\x1d\n"); /* what stands for a line end meanwhile */
    SAY("\\xff\n", "%s\n", "\xff");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(line_ends_of_the_format_are_kept),
        cmocka_unit_test(what_arguments_bring_is_visible),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
