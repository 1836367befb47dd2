/* SPDX-License-Identifier: Apache-2.0 */
/* A window onto many rows: a cursor that stays in sight, or a text that scrolls. */
#ifndef HONE_TUI_LIST_H
#define HONE_TUI_LIST_H

#include "tui/cells/cells.h"

struct tui_list {
    int cursor, top; /* numbers of rows among all rows */
    int count, rows; /* how many there are, and how many fit; tui_list_fit sets them */
    bool follow;     /* stay at the end while rows are added */
    bool aims;       /* tui_list_aim; until it is moved */
};

enum tui_move {
    TUI_MOVE_UP,
    TUI_MOVE_DOWN,
    TUI_MOVE_PAGE_UP,
    TUI_MOVE_PAGE_DOWN,
    TUI_MOVE_HALF_UP,
    TUI_MOVE_HALF_DOWN,
    TUI_MOVE_FIRST,
    TUI_MOVE_LAST,
};

/* Takes over the sizes, and moves the window so that the cursor is in it. Call it before
 * drawing. */
void tui_list_fit(struct tui_list *list, int count, int rows);
/* Moves the cursor. A list that can follow follows again when the cursor reaches its end. */
void tui_list_move(struct tui_list *list, enum tui_move move);
void tui_list_go(struct tui_list *list, int row);
/* Goes to a row that somebody comes from elsewhere to see: it shows a third of the window below the
 * top, with what belongs to it around, whatever size the window gets. */
void tui_list_aim(struct tui_list *list, int row);
/* Moves the window and drags the cursor along. */
void tui_list_scroll(struct tui_list *list, int rows);
/* Draws a thumb in the column right of an area, where its frame is, when there is more than
 * fits. */
void tui_list_draw_bar(const struct tui_list *list, struct tui_area area);

/* The byte offset of the needle in text at or after `from`, in either case of ASCII letters.
 * SIZE_MAX when it is not there. */
size_t tui_find_text(struct str text, struct str needle, size_t from);

/* Draws a row of names of which one is chosen. The areas that were drawn go to `spots`, for the
 * mouse. */
void tui_tabs_draw(struct tui_area area, const char *const *names, int count, int chosen,
                   struct tui_rect *spots);

#endif
