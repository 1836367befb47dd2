/* SPDX-License-Identifier: Apache-2.0 */
/* A list of rows to choose from: narrowed down by typing, or the answers to a question. */
#ifndef HONE_TUI_MENU_H
#define HONE_TUI_MENU_H

#include "tui/widgets/field.h"
#include "tui/widgets/list.h"

struct tui_menu_row {
    const char *name, *key, *text; /* key and text may be "" */
    int value;                     /* what tui_menu_chosen returns */
    bool dim;                      /* shown, but not possible now */
    const char *group;             /* rows of one group come together, under its name; NULL: none */
};
/* {0} is closed. The caller owns the rows and keeps them as long as the menu is open. */
struct tui_menu {
    const struct tui_menu_row *rows;
    int count;
    struct tui_field filter;
    struct tui_list list;
    bool is_question; /* letters do nothing: who typed them may have meant what lies below */
    VEC(int) shown;   /* indexes into rows */
};
void tui_menu_open(struct tui_menu *menu, const struct tui_menu_row *rows, int count);
/* The same as a question that opened by itself; it takes arrows, Enter and Esc only. */
void tui_menu_question(struct tui_menu *menu, const struct tui_menu_row *rows, int count);
/* Gives the same list other rows. What was typed, and the cursor, stay. */
void tui_menu_rows(struct tui_menu *menu, const struct tui_menu_row *rows, int count);
/* The cursor goes to the row of that value, if it is shown. */
void tui_menu_at(struct tui_menu *menu, int value);
void tui_menu_free(struct tui_menu *menu);
enum tui_answer tui_menu_event(struct tui_menu *menu, const struct tui_event *event);
/* The value of the row under the cursor; -1 when no row is shown. */
int tui_menu_chosen(const struct tui_menu *menu);
void tui_menu_draw(struct tui_menu *menu, struct tui_area area, const char *title);

#endif
