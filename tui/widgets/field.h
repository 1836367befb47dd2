/* SPDX-License-Identifier: Apache-2.0 */
/* A text being typed: one line with history and completion, or several lines. */
#ifndef HONE_TUI_FIELD_H
#define HONE_TUI_FIELD_H

#include "tui/cells/cells.h"
#include "tui/keys/keys.h"

struct tui_field {
    struct buf text;
    size_t cursor;       /* byte offset, always between characters */
    bool many_lines;     /* Alt-Enter (or a paste) starts a new line */
    VEC(char *) history; /* oldest first */
    size_t history_at;   /* which one shows; history.len: the new one */
    size_t top;          /* first column that shows, when one line is too long */
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
/* What readline users expect: C-a C-e C-b C-f C-k C-u C-w M-b M-f, arrows, Home, End, Delete.
 * Pasted text is inserted and never runs anything. */
enum tui_answer tui_field_event(struct tui_field *field, const struct tui_event *event);
/* Draws the text into the area with the terminal's cursor in it; many lines are wrapped at the
 * width and scrolled so that the cursor shows. */
void tui_field_draw(struct tui_field *field, struct tui_area area);

#endif
