/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kit/say.h"

#include <stdlib.h>
#include <string.h>

/* Stand for the line ends of a format while it is filled in: the first that no argument has. */
static const char marks[] = "\x1e\x1d\x1c\x1f\x01\x02\x03\x04\x05\x06";

static size_t count_of(const char *text, char c) {
    size_t count = 0;
    for (; (text = strchr(text, c)); text++)
        count++;
    return count;
}

static void visible(struct buf *out, struct str text, char mark) {
    struct text_piece piece;
    while (text.len) {
        if (text.at[0] == mark) {
            buf_putc(out, '\n');
            text.at++;
            text.len--;
        } else if (text_next(&text, &piece)) {
            buf_add(out, piece.at, piece.len);
        }
    }
}

/* False: an argument has the mark, too. */
static bool print_with(char mark, const char *format, va_list args, struct buf *out) {
    char *marked = mem_strdup(format);
    struct buf text = {0};
    for (char *at = marked; (at = strchr(at, '\n'));)
        *at = mark;
/* It is the caller's format, which the compiler has checked, but for the marks. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    buf_vprintf(&text, marked, args);
#pragma GCC diagnostic pop
    bool ok = !text.at || count_of(text.at, mark) == count_of(marked, mark);
    if (ok)
        visible(out, buf_str(&text), mark);
    buf_free(&text);
    free(marked);
    return ok;
}

void cli_say(FILE *to, const char *format, ...) {
    struct buf out = {0};
    bool done = false;
    for (size_t i = 0; !done && marks[i]; i++) {
        va_list args;
        va_start(args, format);
        done = print_with(marks[i], format, args, &out);
        va_end(args);
    }
    if (out.len)
        fwrite(out.at, 1, out.len, to);
    buf_free(&out);
}
