/* SPDX-License-Identifier: Apache-2.0 */
/* A decoder for the byte sequences of xterm and its relatives: characters, keys with modifiers, the
 * mouse in SGR form, bracketed paste. tui/term reads the terminal. */
#include "tui/keys/keys.h"

#include <stdio.h>
#include <stdlib.h>

#define MAX_PASTE (1u << 20)
#define MAX_SEQUENCE 64
#define ESC 0x1b

static const struct {
    uint32_t code;
    const char *name;
} named[] = {
#define X(id, name) {TUI_KEY_##id, name},
    TUI_KEY_TABLE(X)
#undef X
        {' ', "Space"},
};

bool tui_key_equal(struct tui_key a, struct tui_key b) {
    return a.code == b.code && a.modifiers == b.modifiers;
}

bool tui_key_parse(struct str name, struct tui_key *key) {
    static const struct {
        char letter;
        uint32_t modifier;
    } prefixes[] = {{'C', TUI_CTRL}, {'M', TUI_ALT}, {'S', TUI_SHIFT}};
    *key = (struct tui_key){0, 0};
    for (size_t i = 0; i < COUNT_OF(prefixes); i++)
        if (name.len > 2 && name.at[1] == '-' && name.at[0] == prefixes[i].letter) {
            key->modifiers |= prefixes[i].modifier;
            name.at += 2;
            name.len -= 2;
            i = (size_t)-1;
        }
    for (size_t i = 0; i < COUNT_OF(named); i++)
        if (str_is(name, named[i].name))
            key->code = named[i].code;
    if (key->code)
        return true;
    return name.len > 0 && text_decode(name, &key->code) == name.len && key->code != TEXT_INVALID &&
           !text_is_unsafe(key->code);
}

void tui_key_print(struct tui_key key, struct buf *out) {
    if (key.modifiers & TUI_CTRL)
        buf_puts(out, "C-");
    if (key.modifiers & TUI_ALT)
        buf_puts(out, "M-");
    if (key.modifiers & TUI_SHIFT)
        buf_puts(out, "S-");
    for (size_t i = 0; i < COUNT_OF(named); i++)
        if (key.code == named[i].code) {
            buf_puts(out, named[i].name);
            return;
        }
    char bytes[4];
    buf_add(out, bytes, text_encode(key.code, bytes));
}

struct tui_decoder {
    struct buf bytes;
    size_t start; /* bytes before it are used up */
    struct buf paste;
    bool pasting;
    bool skipping; /* inside a sequence that is too long to mean anything */
};

struct tui_decoder *tui_decoder_new(void) {
    return mem_alloc(1, sizeof(struct tui_decoder));
}

void tui_decoder_free(struct tui_decoder *decoder) {
    if (!decoder)
        return;
    buf_free(&decoder->bytes);
    buf_free(&decoder->paste);
    free(decoder);
}

void tui_decoder_feed(struct tui_decoder *decoder, const void *bytes, size_t size) {
    if (decoder->start == decoder->bytes.len) {
        buf_clear(&decoder->bytes);
        decoder->start = 0;
    }
    buf_add(&decoder->bytes, bytes, size);
}

static struct str waiting(const struct tui_decoder *decoder) {
    return (struct str){decoder->bytes.at + decoder->start, decoder->bytes.len - decoder->start};
}

bool tui_decoder_waits(const struct tui_decoder *decoder) {
    return decoder->start < decoder->bytes.len && !decoder->pasting;
}

/* The key that the last byte of a sequence stands for; the next is for the number before a '~'. */
static uint32_t key_of_letter(char letter) {
    static const struct {
        char letter;
        uint32_t code;
    } table[] = {
        {'A', TUI_KEY_UP},   {'B', TUI_KEY_DOWN}, {'C', TUI_KEY_RIGHT}, {'D', TUI_KEY_LEFT},
        {'H', TUI_KEY_HOME}, {'F', TUI_KEY_END},  {'Z', TUI_KEY_TAB},   {'P', TUI_KEY_F1},
        {'Q', TUI_KEY_F2},   {'R', TUI_KEY_F3},   {'S', TUI_KEY_F4},    {'M', TUI_KEY_ENTER},
    };
    for (size_t i = 0; i < COUNT_OF(table); i++)
        if (table[i].letter == letter)
            return table[i].code;
    return 0;
}

static uint32_t key_of_number(int number) {
    static const struct {
        int number;
        uint32_t code;
    } table[] = {
        {1, TUI_KEY_HOME},    {2, TUI_KEY_INSERT},    {3, TUI_KEY_DELETE}, {4, TUI_KEY_END},
        {5, TUI_KEY_PAGE_UP}, {6, TUI_KEY_PAGE_DOWN}, {7, TUI_KEY_HOME},   {8, TUI_KEY_END},
        {11, TUI_KEY_F1},     {12, TUI_KEY_F2},       {13, TUI_KEY_F3},    {14, TUI_KEY_F4},
        {15, TUI_KEY_F5},     {17, TUI_KEY_F6},       {18, TUI_KEY_F7},    {19, TUI_KEY_F8},
        {20, TUI_KEY_F9},     {21, TUI_KEY_F10},      {23, TUI_KEY_F11},   {24, TUI_KEY_F12},
    };
    for (size_t i = 0; i < COUNT_OF(table); i++)
        if (table[i].number == number)
            return table[i].code;
    return 0;
}

/* xterm sends 1 + a mask of shift 1, alt 2, control 4. */
static uint32_t modifiers_of(int number) {
    int mask = number > 1 ? number - 1 : 0;
    return (mask & 1 ? TUI_SHIFT : 0u) | (mask & 2 ? TUI_ALT : 0u) | (mask & 4 ? TUI_CTRL : 0u);
}

static bool mouse_event(const int *numbers, bool press, struct tui_event *event) {
    int button = numbers[0];
    event->col = numbers[1] - 1;
    event->row = numbers[2] - 1;
    if (event->row < 0 || event->col < 0 || !press)
        return false;
    if (button & 64) {
        event->kind = TUI_EVENT_WHEEL;
        event->wheel = button & 1 ? 1 : -1;
        return true;
    }
    event->kind = TUI_EVENT_CLICK;
    return (button & 0x23) == 0; /* the left button, pressed, not dragged */
}

/* Reads "\e[ < numbers letter". Returns its length, 0 when it is not complete. One longer than
 * MAX_SEQUENCE means nothing, even before its end has come. */
static size_t take_csi(struct str text, struct tui_event *event, bool *known) {
    size_t at = 2;
    bool mouse = at < text.len && text.at[at] == '<';
    int numbers[4] = {0}, count = 0;
    for (at += mouse; at < text.len; at++) {
        char c = text.at[at];
        if (c >= '0' && c <= '9' && count < 4) {
            numbers[count] = MIN_OF(numbers[count] * 10 + (c - '0'), 100000);
        } else if (c == ';') {
            count++;
        } else if ((unsigned char)c < 0x20 || (unsigned char)c > 0x7e) {
            return at; /* it was broken off, and what follows is something new */
        } else if (c >= 0x40) {
            break;
        }
    }
    if (at >= text.len)
        return text.len > MAX_SEQUENCE ? text.len : 0;
    char letter = text.at[at];
    if (at > MAX_SEQUENCE)
        return at + 1;
    if (mouse && (letter == 'M' || letter == 'm')) {
        *known = mouse_event(numbers, letter == 'M', event);
        return at + 1;
    }
    uint32_t code = letter == '~' ? key_of_number(numbers[0]) : key_of_letter(letter);
    *known = code != 0;
    event->key = (struct tui_key){code, modifiers_of(numbers[1])};
    if (letter == 'Z')
        event->key.modifiers |= TUI_SHIFT;
    return at + 1;
}

/* One byte below 0x20 or 0x7f. */
static struct tui_key control_key(unsigned char byte) {
    switch (byte) {
    case '\r':
    case '\n': return (struct tui_key){TUI_KEY_ENTER, 0};
    case '\t': return (struct tui_key){TUI_KEY_TAB, 0};
    case 0x7f:
    case 0x08: return (struct tui_key){TUI_KEY_BACKSPACE, 0};
    case 0: return (struct tui_key){' ', TUI_CTRL};
    default: return (struct tui_key){byte < 0x1b ? byte + 'a' - 1u : byte + '@' + 0u, TUI_CTRL};
    }
}

/* Reads a plain character or control. Returns its length, 0 when it is not complete. */
static size_t take_character(struct str text, bool final, struct tui_event *event, bool *known) {
    unsigned char byte = (unsigned char)text.at[0];
    if (byte < 0x20 || byte == 0x7f) {
        event->key = control_key(byte);
        *known = true;
        return 1;
    }
    size_t need = byte < 0xc0 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
    if (text.len < need && !final)
        return 0;
    uint32_t code;
    size_t len = text_decode(text, &code);
    *known = code != TEXT_INVALID && !text_is_unsafe(code);
    event->key = (struct tui_key){code, 0};
    return len;
}

static size_t take_escape(struct str text, bool final, struct tui_event *event, bool *known) {
    if (text.len == 1 || (text.at[1] == ESC && final)) {
        if (!final)
            return 0;
        event->key = (struct tui_key){TUI_KEY_ESCAPE, 0};
        *known = true;
        return 1;
    }
    if (text.at[1] == '[') {
        size_t len = take_csi(text, event, known);
        return len == 0 && final ? text.len : len;
    }
    if (text.at[1] == 'O') {
        if (text.len < 3 && !final)
            return 0;
        uint32_t code = text.len < 3 ? 0 : key_of_letter(text.at[2]);
        event->key = (struct tui_key){code, 0};
        *known = code != 0;
        return MIN_OF(text.len, (size_t)3);
    }
    if (text.at[1] == ESC) {
        event->key = (struct tui_key){TUI_KEY_ESCAPE, 0};
        *known = true;
        return 1;
    }
    size_t len = take_character((struct str){text.at + 1, text.len - 1}, final, event, known);
    event->key.modifiers |= TUI_ALT;
    return len ? len + 1 : 0;
}

static void use_up(struct tui_decoder *decoder, size_t len) {
    explicit_bzero(decoder->bytes.at + decoder->start, len); /* it may be part of a passphrase */
    decoder->start += len;
}

/* Whether a sequence continues after all of these bytes. */
static bool is_unended(struct str text) {
    return text.len > MAX_SEQUENCE && text.at[0] == ESC && text.at[1] == '[' &&
           (unsigned char)text.at[text.len - 1] >= 0x20 &&
           (unsigned char)text.at[text.len - 1] < 0x40;
}

/* Drops bytes up to the end of the sequence. True when there are more after it. */
static bool skip_sequence(struct tui_decoder *decoder, bool final) {
    struct str text = waiting(decoder);
    size_t len = 0;
    while (len < text.len && text.at[len] >= 0x20 && text.at[len] < 0x40)
        len++;
    decoder->skipping = len == text.len && !final;
    if (len < text.len && text.at[len] >= 0x40 && text.at[len] < 0x7f)
        len++;
    use_up(decoder, len);
    return decoder->start < decoder->bytes.len;
}

/* Moves bytes into the paste. True when its end has come. */
static bool take_paste(struct tui_decoder *decoder) {
    static const char end[] = "\x1b[201~";
    const size_t end_len = sizeof end - 1;
    struct str text = waiting(decoder);
    const char *found = text.len ? memmem(text.at, text.len, end, end_len) : NULL;
    size_t keep = found ? 0 : MIN_OF(text.len, end_len - 1);
    size_t len = found ? (size_t)(found - text.at) : text.len - keep;
    size_t room = MAX_PASTE - MIN_OF(decoder->paste.len, (size_t)MAX_PASTE);
    buf_add(&decoder->paste, text.at, MIN_OF(len, room));
    use_up(decoder, len + (found ? end_len : 0));
    return found != NULL;
}

bool tui_decoder_next(struct tui_decoder *decoder, bool final, struct tui_event *event) {
    if (!decoder->pasting && decoder->paste.len) {
        explicit_bzero(decoder->paste.at, decoder->paste.len);
        buf_clear(&decoder->paste);
    }
    for (;;) {
        *event = (struct tui_event){0};
        if (decoder->pasting) {
            if (!take_paste(decoder))
                return false;
            decoder->pasting = false;
            event->kind = TUI_EVENT_PASTE;
            event->paste = buf_str(&decoder->paste);
            return true;
        }
        if (decoder->skipping && !skip_sequence(decoder, final))
            return false;
        struct str text = waiting(decoder);
        if (text.len == 0)
            return false;
        if (text.len >= 6 && memcmp(text.at, "\x1b[200~", 6) == 0) {
            decoder->start += 6;
            decoder->pasting = true;
            buf_clear(&decoder->paste);
            continue;
        }
        bool known = false;
        size_t len = text.at[0] == ESC ? take_escape(text, final, event, &known)
                                       : take_character(text, final, event, &known);
        if (len == 0)
            return false;
        decoder->skipping = len == text.len && !final && is_unended(text);
        use_up(decoder, len);
        if (known)
            return true;
    }
}
