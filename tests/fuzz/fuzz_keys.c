/* SPDX-License-Identifier: Apache-2.0 */
/* Foreign bytes as what a terminal sends: keys, sequences, mouse, pastes. The first byte says how
 * many bytes come at once. The others are sent. */
#include "fuzz/fuzz.h"
#include "tui/keys/keys.h"

#define MOST_PASTE (1u << 20)

/* A key that has a name is the key of that name. */
static void check_key(struct tui_key key) {
    struct buf name = {0};
    struct tui_key again;
    bool is_named = key.code > TUI_KEY_FIRST_ && key.code < TUI_KEY_LAST_;
    if (!is_named && (key.code >= TUI_KEY_FIRST_ || text_is_unsafe(key.code)))
        HONE_BUG("a key that no keyboard has");
    tui_key_print(key, &name);
    if (!tui_key_parse(buf_str(&name), &again) || !tui_key_equal(key, again))
        HONE_BUG("a key that its own name does not mean");
    buf_free(&name);
}

static void check_event(const struct tui_event *event) {
    if (event->kind == TUI_EVENT_KEY)
        check_key(event->key);
    else if (event->kind == TUI_EVENT_PASTE && event->paste.len > MOST_PASTE)
        HONE_BUG("a paste that was not cut");
    else if (event->row < 0 || event->col < 0)
        HONE_BUG("a click outside of every screen");
}

/* Takes the events that are there, and writes down what they were. */
static void take(struct tui_decoder *decoder, bool final, struct buf *told) {
    struct tui_event event;
    while (tui_decoder_next(decoder, final, &event)) {
        check_event(&event);
        buf_printf(told, "%d %x %x %d %d %d ", (int)event.kind, event.key.code, event.key.modifiers,
                   event.row, event.col, event.wheel);
        buf_add(told, event.paste.at ? event.paste.at : "", event.paste.len);
    }
}

static void decode(const uint8_t *data, size_t size, size_t step, struct buf *told) {
    struct tui_decoder *decoder = tui_decoder_new();
    for (size_t at = 0; at < size; at += step) {
        char *piece = mem_dup(data + at, MIN_OF(step, size - at)); /* a block of its own */
        tui_decoder_feed(decoder, piece, MIN_OF(step, size - at));
        mem_free_(piece);
        take(decoder, false, told);
    }
    take(decoder, true, told);
    if (tui_decoder_waits(decoder))
        HONE_BUG("bytes wait for what never comes");
    tui_decoder_free(decoder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct buf whole = {0}, pieces = {0};
    if (size < 2)
        return 0;
    decode(data + 1, size - 1, size, &whole);
    decode(data + 1, size - 1, 1 + data[0] % 64u, &pieces);
    if (!str_equal(buf_str(&whole), buf_str(&pieces)))
        HONE_BUG("bytes that mean something else in pieces");
    buf_free(&whole);
    buf_free(&pieces);
    return 0;
}

#ifndef HONE_LIBFUZZER

static const char *const examples[] = {
    "abc \xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\x01\x1a\r\t\x7f",
    "\x1b[A\x1b[1;5C\x1b[15~\x1b[3;2~\x1bOP\x1b[Z\x1b\x1b[B",
    "\x1b[<0;12;34M\x1b[<0;12;34m\x1b[<64;1;1M\x1b[<65;2;3M",
    "\x1b[200~pasted\n\x1b[31mtext\x1b[201~q\x1bx\x1b",
    "\x1b[?1;2c\x1b]11;rgb:0/0/0\x07\x1bP1$r\x1b\\\x1b[99999999999;8u",
};
static const char *const pieces[] = {"\x1b",     "\x1b[",     "\x1b[<",       "\x1bO",     ";",
                                     "~",        "\x1b[200~", "\x1b[2",       "\x1b[201~", "M",
                                     "99999999", "\xe2\x82",  "\xf0\x9f\x98", "\xff"};
static const struct fuzz_target target = {
    .name = "keys", .heads = 3, FUZZ_TABLE(example, examples), FUZZ_TABLE(piece, pieces)};

int main(int argc, char **argv) {
    return fuzz_main(&target, argc, argv);
}
#endif
