/* SPDX-License-Identifier: Apache-2.0 */
/* Prints an argument vector as one line for whatever login shell the far side has. SSH carries a
 * command as text, and the server passes it to the user's shell. Nothing is run here. */
#include "transport/wire/inner.h"

#include <string.h>

/* Characters without a special meaning in any shell, in any place. */
static bool is_plain(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("_-./,:+", c));
}

/* Bytes that some shell treats in its own way even within single quotes. For csh they are a line
 * end and '!', for others what is not valid in the locale. */
static bool is_hard(char c) {
    return c < ' ' || c > '~' || c == '!';
}

/* Puts a word in single quotes. A backslash goes outside of them, because fish gives it a meaning
 * inside. */
static void quote_word(struct buf *out, struct str word) {
    bool plain = word.len > 0;
    for (size_t i = 0; i < word.len; i++)
        plain = plain && is_plain(word.at[i]);
    if (plain) {
        buf_add(out, word.at, word.len);
        return;
    }
    buf_putc(out, '\'');
    for (size_t i = 0; i < word.len; i++) {
        char c = word.at[i];
        if (c == '\'' || c == '\\')
            buf_printf(out, "'\\%c'", c);
        else
            buf_putc(out, c);
    }
    buf_putc(out, '\'');
}

static void quote_words(struct buf *out, const char *const *argv) {
    for (size_t i = 0; argv[i]; i++) {
        if (i)
            buf_putc(out, ' ');
        quote_word(out, str_of(argv[i]));
    }
}

static bool has_hard(const char *const *argv) {
    for (size_t i = 0; argv[i]; i++)
        for (const char *c = argv[i]; *c; c++)
            if (is_hard(*c))
                return true;
    return false;
}

void transport_quote(struct buf *out, const char *const *argv) {
    if (!has_hard(argv)) {
        quote_words(out, argv);
        return;
    }
    /* The whole line goes to sh as one word, in which hard bytes are \0ooo for printf's %b. */
    struct buf line = {0}, word = {0};
    quote_words(&line, argv);
    for (size_t i = 0; i < line.len; i++) {
        char c = line.at[i];
        if (is_hard(c) || c == '\\')
            buf_printf(&word, "\\0%03o", (unsigned char)c);
        else
            buf_putc(&word, c);
    }
    buf_puts(out, "/bin/sh -c 'eval \"$(printf %b \"$1\")\"' sh ");
    quote_word(out, buf_str(&word));
    buf_free(&line);
    buf_free(&word);
}
