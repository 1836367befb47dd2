/* SPDX-License-Identifier: Apache-2.0 */
/* What a test expects on the screen of a terminal. Include cmocka before it. */
#ifndef HONE_TESTS_SESSION_EXPECT_H
#define HONE_TESTS_SESSION_EXPECT_H

#include <stdio.h>

#include "session/terminal.h"

static inline void expect(struct terminal *terminal, const char *text) {
    if (!terminal_wait(terminal, text, true)) {
        fprintf(stderr, "'%s' does not show on:\n%s\n", text, terminal_screen(terminal));
        fail();
    }
}

static inline void expect_gone(struct terminal *terminal, const char *text) {
    if (!terminal_wait(terminal, text, false)) {
        fprintf(stderr, "'%s' still shows on:\n%s\n", text, terminal_screen(terminal));
        fail();
    }
}

#endif
