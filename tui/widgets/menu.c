/* SPDX-License-Identifier: Apache-2.0 */
/* The searchable list: every word that is typed must occur in a row. It runs nothing, but says what
 * was chosen. */
#include "tui/widgets/menu.h"

#include "tui/widgets/popup.h"

static bool has_words(const struct tui_menu_row *row, struct str words) {
    struct str word;
    while (str_next(&words, ' ', &word)) {
        if (word.len && tui_find_text(str_of(row->name), word, 0) == SIZE_MAX &&
            tui_find_text(str_of(row->text), word, 0) == SIZE_MAX && !str_is(word, row->key) &&
            !(row->group && str_is(word, row->group)))
            return false;
    }
    return true;
}

/* What is shown: rows, by their index, and the headings of groups. */
static int heading_of(int row) {
    return -1 - row;
}

static bool is_heading(const struct tui_menu *menu, int at) {
    return at >= 0 && at < (int)menu->shown.len && menu->shown.at[at] < 0;
}

/* Adds a row. A heading goes before it when its group differs from that of the row before. */
static void show(struct tui_menu *menu, int row) {
    const char *group = menu->rows[row].group;
    int last = menu->shown.len ? menu->shown.at[menu->shown.len - 1] : -1;
    bool same =
        last >= 0 && group && menu->rows[last].group && strcmp(menu->rows[last].group, group) == 0;
    if (group && !same)
        *vec_push(&menu->shown) = heading_of(row);
    *vec_push(&menu->shown) = row;
}

/* The cursor stops at rows only. The heading above the first row of a group stays in sight. */
static void leave_heading(struct tui_menu *menu, int step) {
    struct tui_list *list = &menu->list;
    if (is_heading(menu, list->cursor))
        list->cursor += step < 0 && list->cursor > 0 ? -1 : 1;
    if (is_heading(menu, list->cursor - 1))
        list->top = MIN_OF(list->top, list->cursor - 1);
}

/* First come rows whose name begins with the first word, or whose key it is. Then come those whose
 * name has it, then those whose text has it. */
static int rank_of(const struct tui_menu_row *row, struct str first) {
    size_t at = first.len ? tui_find_text(str_of(row->name), first, 0) : 0;
    return at == 0 || str_is(first, row->key) ? 0 : at != SIZE_MAX ? 1 : 2;
}

static void narrow(struct tui_menu *menu) {
    struct str words = buf_str(&menu->filter.text), rest = words, first = {"", 0};
    str_next(&rest, ' ', &first);
    menu->shown.len = 0;
    for (int rank = 0; rank < 3; rank++)
        for (int i = 0; i < menu->count; i++)
            if (rank_of(&menu->rows[i], first) == rank && has_words(&menu->rows[i], words))
                show(menu, i);
    menu->list.count = (int)menu->shown.len;
    menu->list.cursor = menu->list.top = 0;
    leave_heading(menu, 1);
}

void tui_menu_open(struct tui_menu *menu, const struct tui_menu_row *rows, int count) {
    menu->rows = rows;
    menu->count = count;
    menu->list.rows = 1;
    menu->is_question = false;
    tui_field_set(&menu->filter, STR(""));
    narrow(menu);
}

void tui_menu_question(struct tui_menu *menu, const struct tui_menu_row *rows, int count) {
    tui_menu_open(menu, rows, count);
    menu->is_question = true;
}

void tui_menu_rows(struct tui_menu *menu, const struct tui_menu_row *rows, int count) {
    int cursor = menu->list.cursor, top = menu->list.top;
    menu->rows = rows;
    menu->count = count;
    narrow(menu);
    menu->list.top = top;
    tui_list_go(&menu->list, cursor);
}

void tui_menu_at(struct tui_menu *menu, int value) {
    for (size_t i = 0; i < menu->shown.len; i++)
        if (menu->shown.at[i] >= 0 && menu->rows[menu->shown.at[i]].value == value)
            tui_list_go(&menu->list, (int)i);
}

void tui_menu_free(struct tui_menu *menu) {
    tui_field_free(&menu->filter);
    vec_free(&menu->shown);
}

static bool move_of(struct tui_key key, enum tui_move *move) {
    static const struct {
        struct tui_key key;
        enum tui_move move;
    } moves[] = {
        {{TUI_KEY_UP, 0}, TUI_MOVE_UP},           {{TUI_KEY_DOWN, 0}, TUI_MOVE_DOWN},
        {{'p', TUI_CTRL}, TUI_MOVE_UP},           {{'n', TUI_CTRL}, TUI_MOVE_DOWN},
        {{TUI_KEY_PAGE_UP, 0}, TUI_MOVE_PAGE_UP}, {{TUI_KEY_PAGE_DOWN, 0}, TUI_MOVE_PAGE_DOWN},
    };
    for (size_t i = 0; i < COUNT_OF(moves); i++)
        if (tui_key_equal(moves[i].key, key)) {
            *move = moves[i].move;
            return true;
        }
    return false;
}

static bool ends_question(const struct tui_event *event) {
    return event->kind == TUI_EVENT_KEY &&
           (event->key.code == TUI_KEY_ENTER || event->key.code == TUI_KEY_ESCAPE ||
            tui_key_equal(event->key, (struct tui_key){'c', TUI_CTRL}));
}

enum tui_answer tui_menu_event(struct tui_menu *menu, const struct tui_event *event) {
    enum tui_move move;
    if (event->kind == TUI_EVENT_WHEEL) {
        tui_list_scroll(&menu->list, event->wheel * 3);
        leave_heading(menu, event->wheel);
        return TUI_ANSWER_OPEN;
    }
    if (event->kind == TUI_EVENT_KEY && move_of(event->key, &move)) {
        bool up = move == TUI_MOVE_UP || move == TUI_MOVE_PAGE_UP;
        tui_list_move(&menu->list, move);
        leave_heading(menu, up ? -1 : 1);
        return TUI_ANSWER_OPEN;
    }
    if (menu->is_question && !ends_question(event))
        return TUI_ANSWER_OPEN;
    enum tui_answer answer = tui_field_event(&menu->filter, event);
    if (answer == TUI_ANSWER_CHANGED)
        narrow(menu);
    return answer;
}

int tui_menu_chosen(const struct tui_menu *menu) {
    int row = menu->list.cursor;
    bool there = row >= 0 && row < (int)menu->shown.len && !is_heading(menu, row);
    return there ? menu->rows[menu->shown.at[row]].value : -1;
}

static void draw_heading(const struct tui_menu *menu, struct tui_area area, int row) {
    int first = heading_of(menu->shown.at[menu->list.top + row]);
    tui_say(tui_ink(area, TUI_TITLE), row + 2, 2, "%s", menu->rows[first].group);
}

static void draw_row(const struct tui_menu *menu, struct tui_area area, int row, int name_cols) {
    const struct tui_menu_row *item = &menu->rows[menu->shown.at[menu->list.top + row]];
    int line = row + 2;
    bool here = menu->list.top + row == menu->list.cursor;
    struct tui_area look = here ? tui_paper(area, TUI_PAPER_CURSOR) : area;
    tui_fill(look, (struct tui_rect){line, 0, 1, area.cols}, " ");
    tui_say(look, line, 0, "%s", here ? "›" : " ");
    tui_say(tui_ink(look, item->dim ? TUI_DIM : TUI_KEY), line, 2, "%s", item->key);
    tui_put_short(tui_ink(look, item->dim ? TUI_DIM : TUI_STRONG), line,
                  (struct tui_rect){0, 12, 1, name_cols}, str_of(item->name));
    tui_put_short(tui_ink(look, item->dim ? TUI_DIM : TUI_PLAIN), line,
                  (struct tui_rect){0, 14 + name_cols, 1, area.cols - 15 - name_cols},
                  str_of(item->text));
}

/* What the row under the cursor says has a line of its own where it has no room in its row. */
static void draw_rest(const struct tui_menu *menu, struct tui_area box, int name_cols) {
    int row = menu->list.cursor;
    if (row < 0 || row >= (int)menu->shown.len || is_heading(menu, row))
        return;
    const char *text = menu->rows[menu->shown.at[row]].text;
    if (text && (int)text_columns(str_of(text)) > box.cols - 15 - name_cols)
        tui_put_short(tui_ink(box, TUI_DIM), 1, (struct tui_rect){0, 2, 1, box.cols - 3},
                      str_of(text));
}

/* All rows with the headings of their groups. The frame keeps this height while typing narrows. */
static int lines_of(const struct tui_menu *menu) {
    int lines = menu->count;
    const char *last = NULL;
    for (int i = 0; i < menu->count; i++) {
        const char *group = menu->rows[i].group;
        lines += group && (!last || strcmp(last, group) != 0);
        last = group;
    }
    return lines;
}

static void draw_filter(struct tui_menu *menu, struct tui_area box) {
    if (menu->is_question) {
        tui_say(tui_ink(box, TUI_DIM), 0, 2, "other keys wait until this is answered");
        return;
    }
    tui_say(tui_ink(box, TUI_KEY), 0, 0, "/");
    tui_field_draw(&menu->filter, tui_area_part(box, (struct tui_rect){0, 2, 1, box.cols - 2}));
}

/* The frame's two lines, the field and the line below it; a list of few rows has some room. */
enum { MENU_AROUND = 4, MENU_LEAST = 4 };

void tui_menu_draw(struct tui_menu *menu, struct tui_area area, const char *title) {
    int rows = MIN_OF(area.rows - 2, MAX_OF(lines_of(menu), MENU_LEAST) + MENU_AROUND);
    struct tui_area box =
        tui_popup_draw(area, rows, MIN_OF(area.cols - 4, 100), title,
                       menu->is_question ? "Enter chooses   Esc leaves it as it is"
                                         : "Enter chooses   type to narrow   Esc back");
    if (box.rows < 4 || box.cols < 16)
        return;
    draw_filter(menu, box);
    tui_list_fit(&menu->list, (int)menu->shown.len, box.rows - 2);
    int name_cols = 8;
    for (int i = 0; i < menu->count; i++)
        name_cols = MAX_OF(name_cols, (int)text_columns(str_of(menu->rows[i].name)));
    name_cols = MIN_OF(name_cols, MAX_OF((box.cols - 13) / 2, 4));
    for (int i = 0; i < menu->list.rows && menu->list.top + i < menu->list.count; i++)
        if (is_heading(menu, menu->list.top + i))
            draw_heading(menu, box, i);
        else
            draw_row(menu, box, i, name_cols);
    draw_rest(menu, box, name_cols);
    if (menu->list.count == 0)
        tui_say(tui_ink(box, TUI_DIM), 2, 2, "nothing matches; Backspace widens the search");
    struct tui_rect body = {2, 0, box.rows - 2, box.cols};
    tui_list_draw_bar(&menu->list, tui_area_part(box, body));
}
