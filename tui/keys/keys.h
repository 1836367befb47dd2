/* SPDX-License-Identifier: Apache-2.0 */
/* What a person does at the terminal: from bytes to events, and keys by their names. */
#ifndef HONE_TUI_KEYS_H
#define HONE_TUI_KEYS_H

#include "base/base.h"

/* X(ID, name). Keys that are not characters; their codes lie above Unicode. */
#define TUI_KEY_TABLE(X)      \
    X(ENTER, "Enter")         \
    X(TAB, "Tab")             \
    X(ESCAPE, "Esc")          \
    X(BACKSPACE, "Backspace") \
    X(DELETE, "Delete")       \
    X(INSERT, "Insert")       \
    X(UP, "Up")               \
    X(DOWN, "Down")           \
    X(LEFT, "Left")           \
    X(RIGHT, "Right")         \
    X(HOME, "Home")           \
    X(END, "End")             \
    X(PAGE_UP, "PageUp")      \
    X(PAGE_DOWN, "PageDown")  \
    X(F1, "F1")               \
    X(F2, "F2")               \
    X(F3, "F3")               \
    X(F4, "F4")               \
    X(F5, "F5")               \
    X(F6, "F6")               \
    X(F7, "F7")               \
    X(F8, "F8")               \
    X(F9, "F9")               \
    X(F10, "F10")             \
    X(F11, "F11")             \
    X(F12, "F12")

enum tui_key_code {
    TUI_KEY_FIRST_ = 0x110000,
#define X(id, name) TUI_KEY_##id,
    TUI_KEY_TABLE(X)
#undef X
        TUI_KEY_LAST_
};

enum tui_modifier { TUI_CTRL = 1, TUI_ALT = 2, TUI_SHIFT = 4 };

/* A key: a code point or a tui_key_code. Shift is part of a character. It counts as a modifier only
 * for keys that are no characters. */
struct tui_key {
    uint32_t code;
    uint32_t modifiers;
};
bool tui_key_equal(struct tui_key a, struct tui_key b);
/* Reads "a", "C-r", "M-x", "S-Tab", "Space" or "Enter". False for any other text. */
bool tui_key_parse(struct str name, struct tui_key *key);
void tui_key_print(struct tui_key key, struct buf *out);

enum tui_event_kind { TUI_EVENT_KEY, TUI_EVENT_PASTE, TUI_EVENT_CLICK, TUI_EVENT_WHEEL };

struct tui_event {
    enum tui_event_kind kind;
    struct tui_key key; /* KEY */
    struct str paste;   /* PASTE: raw bytes, valid until the next call of the decoder */
    int row, col;       /* CLICK, WHEEL: from 0 */
    int wheel;          /* WHEEL: -1 up, 1 down */
};

/* Decodes what terminals send. A sequence that means nothing is dropped as a whole. A paste is cut
 * after 1 MiB. */
struct tui_decoder;
struct tui_decoder *tui_decoder_new(void) CC_MUST_USE;
void tui_decoder_free(struct tui_decoder *decoder);
void tui_decoder_feed(struct tui_decoder *decoder, const void *bytes, size_t size);
/* The next event; false when more bytes are needed. `final` says that none will come soon. Then a
 * lone escape byte is the Escape key, and no longer the start of something. */
bool tui_decoder_next(struct tui_decoder *decoder, bool final, struct tui_event *event);
/* Whether bytes wait that only `final` would decide. */
bool tui_decoder_waits(const struct tui_decoder *decoder);

#include "tui/keys/bindings.h"

#endif
