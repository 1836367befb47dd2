/* SPDX-License-Identifier: Apache-2.0 */
/* Edits a short text. The text stays valid UTF-8 whatever is typed or pasted. What the text is for,
 * and where it is on the screen, is the caller's business. */
#include "tui/widgets/field.h"

static void tui_field_insert(struct tui_field *field, struct str text);

#include <stdlib.h>

#define MAX_FIELD 65536
#define MAX_HISTORY 200

void tui_field_free(struct tui_field *field) {
    buf_free(&field->text);
    for (size_t i = 0; i < field->history.len; i++)
        free(field->history.at[i]);
    vec_free(&field->history);
}

void tui_field_set(struct tui_field *field, struct str text) {
    buf_clear(&field->text);
    field->cursor = 0;
    field->top = 0;
    tui_field_insert(field, text);
}

/* Makes valid UTF-8 without controls. Line ends stay where the field may have many lines. */
static void clean(struct buf *out, struct str text, bool many_lines) {
    struct buf safe = {0};
    for (size_t i = 0; i < text.len; i++) {
        char c = text.at[i];
        if (c == '\r' && i + 1 < text.len && text.at[i + 1] == '\n')
            continue;
        buf_putc(&safe, c == '\r' ? '\n' : c == '\t' ? ' ' : c);
    }
    text_sanitise(out, buf_str(&safe));
    for (size_t i = 0; i < out->len && !many_lines; i++)
        if (out->at[i] == '\n')
            out->at[i] = ' ';
    buf_free(&safe);
}

static void tui_field_insert(struct tui_field *field, struct str text) {
    struct buf more = {0}, all = {0};
    clean(&more, text, field->many_lines);
    if (more.len && field->text.len + more.len <= MAX_FIELD) {
        struct str old = buf_str(&field->text);
        buf_add(&all, old.at, field->cursor);
        buf_add(&all, more.at, more.len);
        buf_add(&all, old.at + field->cursor, old.len - field->cursor);
        buf_free(&field->text);
        field->text = all;
        field->cursor += more.len;
    }
    buf_free(&more);
}

static size_t next_at(const struct tui_field *field, size_t at) {
    struct str rest = {field->text.at + at, field->text.len - at};
    struct text_piece piece;
    return text_next(&rest, &piece) ? field->text.len - rest.len : field->text.len;
}

static size_t previous_at(const struct tui_field *field, size_t at) {
    size_t previous = 0;
    for (size_t here = 0; here < at;) {
        previous = here;
        here = next_at(field, here);
    }
    return previous;
}

static bool is_word(char c) {
    return c != ' ' && c != '\n' && c != '/' && c != ',';
}

static size_t word_start(const struct tui_field *field, size_t at) {
    while (at > 0 && !is_word(field->text.at[at - 1]))
        at--;
    while (at > 0 && is_word(field->text.at[at - 1]))
        at--;
    return at;
}

static size_t word_end(const struct tui_field *field, size_t at) {
    while (at < field->text.len && !is_word(field->text.at[at]))
        at++;
    while (at < field->text.len && is_word(field->text.at[at]))
        at++;
    return at;
}

static enum tui_answer erase(struct tui_field *field, size_t from, size_t to) {
    if (from >= to)
        return TUI_ANSWER_OPEN;
    memmove(field->text.at + from, field->text.at + to, field->text.len - to);
    field->text.len -= to - from;
    field->text.at[field->text.len] = 0;
    field->cursor = from;
    return TUI_ANSWER_CHANGED;
}

static void remember(struct tui_field *field) {
    if (field->many_lines || field->text.len == 0)
        return;
    bool same = field->history.len &&
                strcmp(field->history.at[field->history.len - 1], field->text.at) == 0;
    if (!same && field->history.len == MAX_HISTORY) {
        free(field->history.at[0]);
        memmove(field->history.at, field->history.at + 1, (MAX_HISTORY - 1) * sizeof(char *));
        field->history.len--;
    }
    if (!same)
        *vec_push(&field->history) = mem_strdup(field->text.at);
    field->history_at = field->history.len;
}

static enum tui_answer recall(struct tui_field *field, int step) {
    size_t at = MIN_OF(field->history_at, field->history.len);
    if ((step < 0 && at == 0) || (step > 0 && at >= field->history.len))
        return TUI_ANSWER_OPEN;
    at += (size_t)step;
    tui_field_set(field, at < field->history.len ? str_of(field->history.at[at]) : STR(""));
    field->history_at = at;
    return TUI_ANSWER_CHANGED;
}

static size_t line_start(const struct tui_field *field) {
    size_t at = field->cursor;
    while (at > 0 && field->text.at[at - 1] != '\n')
        at--;
    return at;
}

static size_t line_end(const struct tui_field *field) {
    size_t at = field->cursor;
    while (at < field->text.len && field->text.at[at] != '\n')
        at++;
    return at;
}

static void move_line(struct tui_field *field, int step) {
    size_t column = field->cursor - line_start(field);
    field->cursor = step < 0 ? line_start(field) : line_end(field);
    if (step < 0 && field->cursor > 0)
        field->cursor--;
    else if (step > 0 && field->cursor < field->text.len)
        field->cursor++;
    size_t start = line_start(field), end = line_end(field);
    field->cursor = start;
    while (field->cursor < end && field->cursor - start < column)
        field->cursor = next_at(field, field->cursor);
}

/* One name for the editing keys, whether they are characters with Control or keys of their own. */
static enum tui_answer edit(struct tui_field *field, struct tui_key key) {
    static const struct {
        uint32_t control, code;
    } same[] = {{'a', TUI_KEY_HOME},   {'e', TUI_KEY_END},      {'b', TUI_KEY_LEFT},
                {'f', TUI_KEY_RIGHT},  {'p', TUI_KEY_UP},       {'n', TUI_KEY_DOWN},
                {'d', TUI_KEY_DELETE}, {'h', TUI_KEY_BACKSPACE}};
    uint32_t code = key.code;
    for (size_t i = 0; i < COUNT_OF(same) && key.modifiers == TUI_CTRL; i++)
        if (same[i].control == key.code)
            code = same[i].code;
    bool word = key.modifiers != 0 && code == key.code;
    switch (code) {
    case TUI_KEY_HOME: field->cursor = line_start(field); break;
    case TUI_KEY_END: field->cursor = line_end(field); break;
    case TUI_KEY_LEFT:
        field->cursor = word ? word_start(field, field->cursor) : previous_at(field, field->cursor);
        break;
    case TUI_KEY_RIGHT:
        field->cursor = word ? word_end(field, field->cursor) : next_at(field, field->cursor);
        break;
    case TUI_KEY_UP:
    case TUI_KEY_DOWN:
        if (!field->many_lines)
            return recall(field, code == TUI_KEY_UP ? -1 : 1);
        move_line(field, code == TUI_KEY_UP ? -1 : 1);
        break;
    case TUI_KEY_DELETE: return erase(field, field->cursor, next_at(field, field->cursor));
    case TUI_KEY_BACKSPACE:
        return erase(field,
                     word ? word_start(field, field->cursor) : previous_at(field, field->cursor),
                     field->cursor);
    }
    return TUI_ANSWER_OPEN;
}

static enum tui_answer control(struct tui_field *field, struct tui_key key) {
    switch (key.code) {
    case 'k': return erase(field, field->cursor, line_end(field));
    case 'u': return erase(field, line_start(field), field->cursor);
    case 'w': return erase(field, word_start(field, field->cursor), field->cursor);
    case 'c':
    case 'g': return TUI_ANSWER_CANCELLED;
    default: return edit(field, key);
    }
}

static enum tui_answer type(struct tui_field *field, struct tui_key key) {
    if (key.code >= TUI_KEY_FIRST_)
        return edit(field, key);
    if (key.modifiers & TUI_CTRL)
        return control(field, key);
    if (key.modifiers & TUI_ALT) {
        if (key.code == 'b' || key.code == 'f')
            field->cursor =
                key.code == 'b' ? word_start(field, field->cursor) : word_end(field, field->cursor);
        return TUI_ANSWER_OPEN;
    }
    char bytes[4];
    size_t len = text_encode(key.code, bytes);
    tui_field_insert(field, (struct str){bytes, len});
    return TUI_ANSWER_CHANGED;
}

enum tui_answer tui_field_event(struct tui_field *field, const struct tui_event *event) {
    if (event->kind == TUI_EVENT_PASTE) {
        tui_field_insert(field, event->paste);
        return TUI_ANSWER_CHANGED;
    }
    if (event->kind != TUI_EVENT_KEY)
        return TUI_ANSWER_OPEN;
    switch (event->key.code) {
    case TUI_KEY_ENTER:
        if (field->many_lines && event->key.modifiers) {
            tui_field_insert(field, STR("\n"));
            return TUI_ANSWER_CHANGED;
        }
        remember(field);
        return TUI_ANSWER_DONE;
    case TUI_KEY_ESCAPE: return TUI_ANSWER_CANCELLED;
    case TUI_KEY_TAB: return TUI_ANSWER_COMPLETE;
    default: return type(field, event->key);
    }
}

static void draw_line(struct tui_field *field, struct tui_area area) {
    struct str text = buf_str(&field->text);
    size_t at = text_columns((struct str){text.at, field->cursor});
    size_t cols = (size_t)MAX_OF(area.cols, 1);
    if (at < field->top)
        field->top = at;
    if (at >= field->top + cols)
        field->top = at - cols + 1;
    tui_put(area, 0, -(int)field->top, text);
    tui_cursor(area, 0, (int)(at - field->top));
}

/* Visits every character with its place when lines break at the width. It does not recurse. */
static void draw_lines(struct tui_field *field, struct tui_area area, int skip, int *cursor_row) {
    struct str rest = buf_str(&field->text);
    const char *start = rest.at;
    int row = 0, col = 0;
    struct text_piece piece;
    for (;;) {
        if ((size_t)(rest.at - start) == field->cursor) {
            *cursor_row = row;
            if (skip >= 0)
                tui_cursor(area, row - skip, MIN_OF(col, area.cols - 1));
        }
        bool end = rest.len && rest.at[0] == '\n';
        struct str before = rest;
        if (!text_next(&rest, &piece))
            return;
        if (end || col + piece.width > area.cols) {
            row++;
            col = 0;
        }
        if (!end && skip >= 0)
            tui_put(area, row - skip, col, (struct str){before.at, before.len - rest.len});
        col += end ? 0 : piece.width;
    }
}

void tui_field_draw(struct tui_field *field, struct tui_area area) {
    if (area.rows < 1 || area.cols < 1)
        return;
    if (!field->many_lines) {
        draw_line(field, area);
        return;
    }
    int cursor_row = 0;
    draw_lines(field, area, -1, &cursor_row);
    draw_lines(field, area, MAX_OF(0, cursor_row - area.rows + 1), &cursor_row);
}
