/* SPDX-License-Identifier: Apache-2.0 */
/* A text that is being typed: one line with history and completion, or several lines. */
#ifndef HONE_TUI_FIELD_H
#define HONE_TUI_FIELD_H

#include "tui/cells/cells.h"
#include "tui/keys/keys.h"

struct tui_field {
    struct buf text;
    size_t cursor;       /* byte offset, always between characters */
    bool many_lines;     /* Alt-Enter (or a paste) starts a new line */
    VEC(char *) history; /* oldest first */
    size_t history_at;   /* the one that is shown; history.len: the new one */
    size_t top;          /* the first column shown, when one line is too long */
};
void tui_field_free(struct tui_field *field);
void tui_field_set(struct tui_field *field, struct str text);

enum tui_answer {
    TUI_ANSWER_OPEN,      /* nothing happened, or the cursor moved */
    TUI_ANSWER_CHANGED,   /* the text changed */
    TUI_ANSWER_COMPLETE,  /* Tab: the caller may complete and call tui_field_set */
    TUI_ANSWER_DONE,      /* Enter; one line goes to the history */
    TUI_ANSWER_CANCELLED, /* Escape, Ctrl-C, Ctrl-G */
};
/* Handles the keys that readline users expect: C-a C-e C-b C-f C-k C-u C-w M-b M-f, arrows, Home,
 * End, Delete. Pasted text is inserted and never runs anything. */
enum tui_answer tui_field_event(struct tui_field *field, const struct tui_event *event);
/* Draws the text into the area, with the terminal's cursor in it. Many lines are wrapped at the
 * width, and scrolled so that the cursor is in sight. */
void tui_field_draw(struct tui_field *field, struct tui_area area);

#endif
