/* SPDX-License-Identifier: Apache-2.0 */
/* A secret while it is typed. Whoever asked for it takes out the text and wipes this. Bytes that a
 * deletion leaves behind are wiped at once. */
#include "tui/widgets/secret.h"

void tui_secret_wipe(struct tui_secret *secret) {
    explicit_bzero(secret, sizeof *secret);
}

static void insert(struct tui_secret *secret, struct str text) {
    if (text.len == 0 || secret->len + text.len >= sizeof secret->text)
        return;
    memcpy(secret->text + secret->len, text.at, text.len);
    secret->len += text.len;
    secret->text[secret->len] = 0;
}

static void paste(struct tui_secret *secret, struct str text) {
    struct str line;
    while (str_next(&text, '\n', &line)) {
        if (str_ends(line, "\r"))
            line.len--;
        insert(secret, line);
    }
}

static void take_last(struct tui_secret *secret) {
    size_t len = secret->len;
    while (len > 0 && ((unsigned char)secret->text[--len] & 0xc0) == 0x80)
        continue;
    explicit_bzero(secret->text + len, secret->len - len);
    secret->len = len;
}

static enum tui_answer key_typed(struct tui_secret *secret, struct tui_key key) {
    char bytes[4];
    if (key.code == TUI_KEY_ENTER)
        return TUI_ANSWER_DONE;
    if (key.code == TUI_KEY_ESCAPE ||
        (key.modifiers == TUI_CTRL && (key.code == 'c' || key.code == 'g')))
        return TUI_ANSWER_CANCELLED;
    if (key.code == TUI_KEY_BACKSPACE)
        take_last(secret);
    else if (key.modifiers == TUI_CTRL && key.code == 'u')
        tui_secret_wipe(secret);
    else if (key.code >= ' ' && key.code < TUI_KEY_FIRST_ && !key.modifiers)
        insert(secret, (struct str){bytes, text_encode(key.code, bytes)});
    else
        return TUI_ANSWER_OPEN;
    explicit_bzero(bytes, sizeof bytes);
    return TUI_ANSWER_CHANGED;
}

enum tui_answer tui_secret_event(struct tui_secret *secret, const struct tui_event *event) {
    if (event->kind == TUI_EVENT_KEY)
        return key_typed(secret, event->key);
    if (event->kind != TUI_EVENT_PASTE)
        return TUI_ANSWER_OPEN;
    paste(secret, event->paste);
    return TUI_ANSWER_CHANGED;
}

void tui_secret_draw(const struct tui_secret *secret, struct tui_area area, bool shown) {
    struct str text = {secret->text, secret->len};
    int width = (int)text_columns(text), hidden = MAX_OF(0, width - area.cols + 1);
    if (shown) {
        tui_put(area, 0, -hidden, text);
        tui_cursor(area, 0, width - hidden);
        return;
    }
    int count = 0;
    for (size_t i = 0; i < secret->len; i++)
        count += ((unsigned char)secret->text[i] & 0xc0) != 0x80;
    int dots = MIN_OF(count, area.cols - 1);
    tui_fill(area, (struct tui_rect){0, 0, 1, dots}, "•");
    tui_cursor(area, 0, dots);
}
