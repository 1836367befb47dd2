/* SPDX-License-Identifier: Apache-2.0 */
/* Scrolling, searching and tabs for views of rows of any kind. The caller knows what a row looks
 * like. This file only says which rows are shown. */
#include "tui/widgets/list.h"

static int clamp(int value, int low, int high) {
    return value < low ? low : value > high ? MAX_OF(high, low) : value;
}

void tui_list_fit(struct tui_list *list, int count, int rows) {
    list->count = MAX_OF(count, 0);
    list->rows = MAX_OF(rows, 1);
    if (list->follow)
        list->cursor = list->count - 1;
    list->cursor = clamp(list->cursor, 0, list->count - 1);
    if (list->aims)
        list->top = list->cursor - list->rows / 3;
    list->top = clamp(list->top, list->cursor - list->rows + 1, list->cursor);
    list->top = clamp(list->top, 0, list->count - list->rows);
}

void tui_list_go(struct tui_list *list, int row) {
    list->cursor = clamp(row, 0, list->count - 1);
    list->follow = list->aims = false;
    tui_list_fit(list, list->count, list->rows);
}

void tui_list_aim(struct tui_list *list, int row) {
    list->cursor = MAX_OF(row, 0);
    list->follow = false;
    list->aims = true;
}

void tui_list_move(struct tui_list *list, enum tui_move move) {
    int page = MAX_OF(list->rows - 1, 1), half = MAX_OF(list->rows / 2, 1);
    const int steps[] = {-1, 1, -page, page, -half, half, -list->count, list->count};
    tui_list_go(list, list->cursor + steps[move]);
}

void tui_list_scroll(struct tui_list *list, int rows) {
    list->follow = list->aims = false;
    list->top = clamp(list->top + rows, 0, list->count - list->rows);
    list->cursor = clamp(list->cursor, list->top, list->top + list->rows - 1);
    tui_list_fit(list, list->count, list->rows);
}

void tui_list_draw_bar(const struct tui_list *list, struct tui_area area) {
    if (list->count <= list->rows || area.rows < 2)
        return;
    int size = clamp(area.rows * list->rows / list->count, 1, area.rows - 1);
    int span = list->count - list->rows;
    int at = (list->top * (area.rows - size) + span / 2) / span;
    if (area.col + area.cols < area.canvas->cols)
        area.cols++;
    tui_fill(tui_ink(area, TUI_DIM), (struct tui_rect){at, area.cols - 1, size, 1},
             area.canvas->ascii ? "#" : "┃");
}

static char lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

size_t tui_find_text(struct str text, struct str needle, size_t from) {
    if (needle.len == 0 || needle.len > text.len)
        return SIZE_MAX;
    for (size_t at = from; at + needle.len <= text.len; at++) {
        size_t i = 0;
        while (i < needle.len && lower(text.at[at + i]) == lower(needle.at[i]))
            i++;
        if (i == needle.len)
            return at;
    }
    return SIZE_MAX;
}

void tui_tabs_draw(struct tui_area area, const char *const *names, int count, int chosen,
                   struct tui_rect *spots) {
    int col = 0;
    for (int i = 0; i < count; i++) {
        bool on = i == chosen;
        struct tui_area look =
            on ? tui_paper(tui_ink(area, TUI_STRONG), TUI_PAPER_PICKED) : tui_ink(area, TUI_DIM);
        int end = tui_say(look, 0, col, on && area.canvas->ascii ? "[%s]" : " %s ", names[i]);
        if (spots)
            spots[i] = (struct tui_rect){area.row, area.col + col, 1, end - col};
        col = end + 1;
    }
}
