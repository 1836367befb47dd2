/* SPDX-License-Identifier: Apache-2.0 */
/* Frames that lie over a screen: a question, a message, a text to write. */
#ifndef HONE_TUI_POPUP_H
#define HONE_TUI_POPUP_H

#include "tui/cells/cells.h"
#include "tui/widgets/field.h"

/* Clears a rectangle of at most that size in the middle of the area, frames it, and writes `hint`
 * at its lower edge. Returns the area inside, with a margin of one column. */
struct tui_area tui_popup_draw(struct tui_area area, int rows, int cols, const char *title,
                               const char *hint);
/* Draws a text with a question. The height follows the length of the text. */
void tui_confirm_draw(struct tui_area area, const char *title, struct str text, const char *hint);
/* Draws a text to write, below an explanation. */
void tui_note_draw(struct tui_area area, const char *title, struct str text,
                   struct tui_field *field);

#endif
